/* SPDX-License-Identifier: Apache-2.0
 *
 * Members of reports. */
#include "engine/base/json.h"

#include <math.h>

void neap_json_set_text(json_t *object, const char *name, const char *text)
{
	if (text != NULL && *text)
		(void)json_object_set_new(object, name, json_string(text));
}

void neap_json_set_int(json_t *object, const char *name, int64_t value)
{
	if (value != NEAP_MISSING)
		(void)json_object_set_new(object, name, json_integer(value));
}

void neap_json_set_real(json_t *object, const char *name, double value)
{
	if (isfinite(value))
		(void)json_object_set_new(object, name, json_real(value));
}
