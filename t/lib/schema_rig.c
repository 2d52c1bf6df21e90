/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON and causes as texts in tables of tests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/buf.h"
#include "t/lib/schema_rig.h"

json_t *rig_json(const char *text)
{
	char *copy = strdup(text), *c;
	json_error_t where;
	json_t *json;

	assert_non_null(copy);
	for (c = copy; *c != '\0'; c++)
		if (*c == '\'')
			*c = '"';
	json = json_loads(copy, JSON_DECODE_ANY | JSON_ALLOW_NUL, &where);
	if (json == NULL)
		fail_msg("%s: %s", copy, where.text);
	free(copy);
	return json;
}

char *rig_causes(const struct neap_causes *causes)
{
	struct neap_buf buf;
	size_t i;

	neap_buf_init(&buf, NEAP_BUF_FILE);
	for (i = 0; i < causes->count; i++)
		neap_buf_addf(&buf, "%s%s|%s|%s", i > 0 ? "\n" : "",
			      causes->list[i].field, causes->list[i].reason,
			      causes->list[i].message);
	if (causes->more > 0)
		neap_buf_addf(&buf, "\n+%zu", causes->more);
	return neap_buf_take(&buf);
}

struct neap_schema *rig_schema(const char *text)
{
	struct neap_causes causes = {0};
	struct neap_schema *schema = NULL;
	struct neap_error err = {0};
	json_t *json = rig_json(text);

	if (neap_schema_parse(json, &schema, &causes, &err) < 0)
		fail_msg("%s: %s", text, rig_causes(&causes));
	assert_int_equal(causes.count, 0);
	json_decref(json); /* nothing of it is kept */
	return schema;
}

json_t *rig_json_many(const char *name, const char *item, size_t count)
{
	json_t *object = json_object(), *list = json_array(), *one = rig_json(item);
	size_t i;

	for (i = 0; i < count; i++)
		assert_int_equal(json_array_append(list, one), 0);
	json_decref(one);
	assert_int_equal(json_object_set_new(object, name, list), 0);
	return object;
}
