/* SPDX-License-Identifier: Apache-2.0
 *
 * An object and a patch of one of the three kinds, with the schema of a kind or none.
 * Object and patch stay as they are and share nothing with what comes out; a merge patch
 * that is applied again changes nothing; a JSON patch with a test of what it gave passes;
 * no directive is left by a strategic one. */
#include <string.h>

#include "api/kube/patch/patch.h"
#include "t/fuzz/lib/fuzz.h"
#include "t/lib/patch_tables.h"

static const struct neap_schema *const schemas[] = {
	&table_pod, &table_deployment, &table_service, &table_node, NULL,
};

static bool is_directive(const char *name)
{
	return strcmp(name, "$patch") == 0 || strcmp(name, "$retainKeys") == 0 ||
	       strncmp(name, "$setElementOrder", 16) == 0 ||
	       strncmp(name, "$deleteFromPrimitiveList", 24) == 0;
}

static bool has_directive(const json_t *json)
{
	const char *name;
	json_t *child;
	size_t i;

	json_array_foreach (json, i, child)
		if (has_directive(child))
			return true;
	json_object_foreach ((json_t *)json, name, child)
		if (is_directive(name) || has_directive(child))
			return true;
	return false;
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

static json_t *apply(enum neap_patch_type type, const struct neap_schema *schema,
		     const json_t *object, const json_t *patch)
{
	struct neap_error err = {0};
	json_t *result = NULL;
	int rc = neap_patch_apply(type, schema, object, patch, &result, &err);

	if (rc < 0) {
		FUZZ_CHECK(!result && rc == -(int)err.code && *err.msg);
		FUZZ_CHECK(err.code == NEAP_EINVAL || err.code == NEAP_ECONFLICT ||
			   err.code == NEAP_ETOOLARGE);
		return NULL;
	}
	FUZZ_CHECK(result && is_own(result));
	return result;
}

static void check_again(enum neap_patch_type type, const json_t *object,
			const json_t *patch, const json_t *result)
{
	json_t *again = NULL, *more;

	if (type == NEAP_PATCH_MERGE)
		again = apply(type, NULL, result, patch);
	if (type == NEAP_PATCH_JSON &&
	    json_array_size(patch) < NEAP_PATCH_OPERATIONS_MAX) {
		more = json_deep_copy(patch);
		json_array_append_new(more,
				      json_pack("{s:s, s:s, s:o}", "op", "test", "path",
						"", "value", json_deep_copy(result)));
		again = apply(type, NULL, object, more);
		json_decref(more);
	}
	if (type == NEAP_PATCH_STRATEGIC) {
		FUZZ_CHECK(has_directive(object) || !has_directive(result));
		more = json_object();
		again = apply(type, NULL, result, more);
		json_decref(more);
	}
	FUZZ_CHECK(again && json_equal(again, result));
	json_decref(again);
}

static void check(enum neap_patch_type type, const struct neap_schema *schema,
		  const json_t *object, const json_t *patch)
{
	json_t *object_before = json_deep_copy(object);
	json_t *patch_before = json_deep_copy(patch);
	json_t *result = apply(type, schema, object, patch);

	FUZZ_CHECK(json_equal(object, object_before) && json_equal(patch, patch_before));
	if (result)
		check_again(type, object, patch, result);
	json_decref(result);
	json_decref(object_before);
	json_decref(patch_before);
}

/* A byte for the kind of patch and of object, the object in a line, the patch. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in;
	unsigned how;
	const char *line;
	json_t *object, *patch;
	size_t len;

	fuzz_in_init(&in, data, size);
	how = fuzz_byte(&in);
	line = fuzz_text_until(&in, '\n', &len);
	object = json_loadb(line, len, JSON_DECODE_ANY, NULL);
	patch = fuzz_rest_json(&in);
	if (object && patch)
		check((enum neap_patch_type)(how % 3), schemas[how / 3 % 5], object,
		      patch);
	json_decref(object);
	json_decref(patch);
	fuzz_in_done(&in);
	return 0;
}
