/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON in tests. */
#include "t/lib/json_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

json_t *json_rig_make(const char *text)
{
	char *copy = strdup(text);
	json_error_t where;
	json_t *json;

	assert_non_null(copy);
	for (char *c = copy; *c; c++)
		if (*c == '\'')
			*c = '"';
	json = json_loads(copy, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &where);
	free(copy);
	if (json == NULL)
		fail_msg("%s in %s", where.text, text);
	return json;
}

void json_rig_check(const char *name, const json_t *got, const char *want)
{
	json_t *wanted = json_rig_make(want);
	char *text = got != NULL ? json_dumps(got, JSON_ENCODE_ANY) : NULL;
	bool is_same = json_equal(got, wanted);

	json_decref(wanted);
	if (!is_same)
		fail_msg("%s: got %s, wanted %s", name, text ? text : "nothing", want);
	free(text);
}
