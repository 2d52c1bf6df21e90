/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/patch_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/json/json.h"

json_t *patch_parse(const char *text)
{
	char *copy = strdup(text);
	json_error_t where;
	json_t *json;

	for (char *c = copy; *c != '\0'; c++)
		if (*c == '\'')
			*c = '"';
	json = json_loads(copy, JSON_DECODE_ANY, &where);
	if (json == NULL)
		fail_msg("%s: %s", copy, where.text);
	free(copy);
	return json;
}

/* Nobody else has any of its parts. */
static bool is_own(const json_t *json)
{
	const char *name;
	json_t *child;
	size_t i;

	if (json->refcount == (size_t)-1)
		return true;
	if (json->refcount != 1)
		return false;
	json_array_foreach (json, i, child)
		if (!is_own(child))
			return false;
	json_object_foreach ((json_t *)json, name, child)
		if (!is_own(child))
			return false;
	return true;
}

static void check_result(const struct patch_case *row, json_t *result)
{
	json_t *want = patch_parse(row->want);
	char *text = json_dumps(result, JSON_ENCODE_ANY);

	if (!json_equal(want, result))
		fail_msg("%s: %s", row->name, text);
	if (!is_own(result))
		fail_msg("%s: %s shares with its source", row->name, text);
	free(text);
	json_decref(want);
}

static void check_error(const struct patch_case *row, int rc,
			const struct neap_error *err)
{
	if (rc != -(int)row->code || err->code != row->code)
		fail_msg("%s: %d %d: %s", row->name, rc, err->code, err->msg);
	if (strcmp(err->field, row->field != NULL ? row->field : "") != 0 ||
	    strstr(err->msg, row->msg) == NULL)
		fail_msg("%s: '%s': %s", row->name, err->field, err->msg);
}

void patch_case_run(enum neap_patch_type type, const struct patch_case *row)
{
	const char *only = getenv("CASE");
	json_t *object, *patch, *object_before, *patch_before;
	uint64_t n;

	if (only != NULL && *only != '\0' && strcmp(only, row->name) != 0)
		return;
	object = patch_parse(row->object);
	patch = patch_parse(row->patch);
	object_before = json_deep_copy(object);
	patch_before = json_deep_copy(patch);
	for (n = 0;; n++) {
		json_t *result = NULL;
		struct neap_error err = {0};
		uint64_t failures = neap_mem_failures();
		int rc;

		neap_mem_fail_at(n);
		rc = neap_patch_apply(type, row->schema, object, patch, &result, &err);
		neap_mem_fail_at(0);
		failures = neap_mem_failures() - failures;
		if ((rc == 0) != (result != NULL))
			fail_msg("%s: %d with a result", row->name, rc);
		if (rc == 0 && row->want == NULL)
			fail_msg("%s was taken", row->name);
		if (rc == 0)
			check_result(row, result);
		else if (failures == 0 && row->want != NULL)
			fail_msg("%s: %s: %s", row->name, err.field, err.msg);
		else if (failures == 0)
			check_error(row, rc, &err);
		else
			assert_int_equal(rc, -NEAP_ENOMEM);
		json_decref(result);
		if (!json_equal(object, object_before) ||
		    !json_equal(patch, patch_before))
			fail_msg("%s: its source changed", row->name);
		if (n > 0 && failures == 0)
			break;
	}
	json_decref(object);
	json_decref(patch);
	json_decref(object_before);
	json_decref(patch_before);
}
