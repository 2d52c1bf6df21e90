/* SPDX-License-Identifier: Apache-2.0
 *
 * Looking into schemas, and the scalars that all tables share. */
#include "engine/base/schema.h"

#include <string.h>

const struct neap_schema neap_schema_any = {.type = NEAP_SCHEMA_ANY};
const struct neap_schema neap_schema_string = {.type = NEAP_SCHEMA_STRING};
const struct neap_schema neap_schema_int32 = {.type = NEAP_SCHEMA_INTEGER,
					      .format = NEAP_FORMAT_INT32};
const struct neap_schema neap_schema_int64 = {.type = NEAP_SCHEMA_INTEGER};
const struct neap_schema neap_schema_number = {.type = NEAP_SCHEMA_NUMBER};
const struct neap_schema neap_schema_boolean = {.type = NEAP_SCHEMA_BOOLEAN};
const struct neap_schema neap_schema_int_or_string = {.type = NEAP_SCHEMA_INT_OR_STRING};
const struct neap_schema neap_schema_quantity = {.type = NEAP_SCHEMA_QUANTITY};
const struct neap_schema neap_schema_time = {.type = NEAP_SCHEMA_STRING,
					     .format = NEAP_FORMAT_TIME};
const struct neap_schema neap_schema_micro_time = {.type = NEAP_SCHEMA_STRING,
						   .format = NEAP_FORMAT_MICRO_TIME};
const struct neap_schema neap_schema_duration = {.type = NEAP_SCHEMA_STRING,
						 .format = NEAP_FORMAT_DURATION};
const struct neap_schema neap_schema_bytes = {.type = NEAP_SCHEMA_STRING,
					      .format = NEAP_FORMAT_BYTES};
const struct neap_schema neap_schema_strings = {.type = NEAP_SCHEMA_LIST,
						.items = &neap_schema_string};
const struct neap_schema neap_schema_string_map = {.type = NEAP_SCHEMA_MAP,
						   .items = &neap_schema_string};
const struct neap_schema neap_schema_quantity_map = {.type = NEAP_SCHEMA_MAP,
						     .items = &neap_schema_quantity};
const struct neap_schema neap_schema_bytes_map = {.type = NEAP_SCHEMA_MAP,
						  .items = &neap_schema_bytes};

const struct neap_schema_field *neap_schema_field_find(const struct neap_schema *schema,
						       const char *name)
{
	for (size_t i = 0; i < schema->field_count; i++)
		if (strcmp(schema->fields[i].name, name) == 0)
			return &schema->fields[i];
	return NULL;
}
