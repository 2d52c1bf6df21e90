/* SPDX-License-Identifier: Apache-2.0
 *
 * Sets of fields as clients write them into managedFields, and objects and apply patches
 * of kinds with keyed lists and sets. Sums, differences and meets of sets have as many
 * fields as they must; a patch that is applied again changes nothing, and neither does
 * taking out what is still applied; an object does not differ from itself. */
#include <string.h>

#include "api/kube/apply/apply.h"
#include "engine/json/json.h"
#include "t/fuzz/lib/fuzz.h"
#include "t/lib/patch_tables.h"

static const struct neap_schema *const schemas[] = {
	&table_pod, &table_deployment, &table_service, &table_node, NULL,
};

static void tell(void *arg, const char *path)
{
	FUZZ_CHECK(path[0] == '.' || path[0] == '[');
	++*(size_t *)arg;
}

static size_t count(const json_t *set)
{
	size_t fields = 0;

	FUZZ_CHECK(apply_set_is(set));
	FUZZ_CHECK(apply_set_tell(set, tell, &fields) == 0);
	return fields;
}

static size_t count_both(const json_t *a, const json_t *b)
{
	json_t *both = NULL;
	size_t fields;

	FUZZ_CHECK(apply_set_meet(a, b, &both) == 0);
	fields = count(both);
	json_decref(both);
	return fields;
}

static void check_sets(const json_t *a, const json_t *b)
{
	json_t *sum = json_deep_copy(a), *left = json_deep_copy(a);
	size_t both = count_both(a, b);

	FUZZ_CHECK(count_both(b, a) == both && count_both(a, a) == count(a));
	FUZZ_CHECK(apply_set_add(sum, b) == 0);
	FUZZ_CHECK(count(sum) == count(a) + count(b) - both);
	FUZZ_CHECK(count_both(sum, b) == count(b));
	apply_set_drop(left, b);
	FUZZ_CHECK(count(left) == count(a) - both && count_both(left, b) == 0);
	json_decref(sum);
	json_decref(left);
}

static void check_trees(const json_t *set, const json_t *tops)
{
	json_t *rest = json_deep_copy(set);

	apply_set_drop_trees(rest, tops);
	FUZZ_CHECK(count(rest) <= count(set) && count_both(rest, tops) == 0);
	json_decref(rest);
}

static json_t *merged(const struct neap_schema *schema, const json_t *object,
		      const json_t *config)
{
	json_t *result = json_deep_copy(object), *patch = json_deep_copy(config), *own;
	struct neap_error err = {0};

	FUZZ_CHECK(apply_merge(schema, result, patch, &err) == 0);
	json_decref(patch);
	own = json_deep_copy(result);
	json_decref(result);
	return own;
}

static void compare(const struct neap_schema *schema, const json_t *before,
		    const json_t *after, json_t **ret_changed, json_t **ret_removed)
{
	struct neap_error err = {0};

	FUZZ_CHECK(apply_compare(schema, before, after, ret_changed, ret_removed, &err) ==
		   0);
	FUZZ_CHECK(apply_set_is(*ret_changed) && apply_set_is(*ret_removed));
}

static void check_patch(const struct neap_schema *schema, const json_t *object,
			const json_t *config, const json_t *written)
{
	struct neap_error err = {0};
	json_t *set = NULL, *changed = NULL, *removed = NULL, *result, *again;
	int rc = apply_set_of(schema, config, APPLY_NAMED, &set, &err);

	if (rc < 0) {
		FUZZ_CHECK(rc == -NEAP_EINVAL && !set && *err.msg);
		return;
	}
	result = merged(schema, object, config);
	again = merged(schema, result, config);
	FUZZ_CHECK(json_equal(result, again));
	compare(schema, result, again, &changed, &removed);
	FUZZ_CHECK(!json_object_size(changed) && !json_object_size(removed));
	json_decref(changed);
	json_decref(removed);
	FUZZ_CHECK(apply_prune(schema, again, set, set, &err) == 0);
	FUZZ_CHECK(json_equal(result, again));
	compare(schema, object, result, &changed, &removed);
	check_sets(set, changed);
	check_trees(set, removed);
	/* Whatever a client wrote that it is its own. */
	if (apply_set_is(written)) {
		check_sets(written, changed);
		check_trees(written, removed);
		check_sets(set, written);
		FUZZ_CHECK(apply_prune(schema, again, written, set, &err) == 0);
	}
	json_decref(changed);
	json_decref(removed);
	json_decref(result);
	json_decref(again);
	json_decref(set);
}

/* A byte for the kind, the object in a line, the patch in one, a set. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in;
	json_t *json[3];
	const char *line;
	size_t len;
	unsigned how;

	fuzz_in_init(&in, data, size);
	how = fuzz_byte(&in);
	for (size_t i = 0; i < 2; i++) {
		line = fuzz_text_until(&in, '\n', &len);
		json[i] = json_loadb(line, len, 0, NULL);
	}
	json[2] = fuzz_rest_json(&in);
	if (json_is_object(json[0]) && json_is_object(json[1]))
		check_patch(schemas[how % 5], json[0], json[1], json[2]);
	for (size_t i = 0; i < 3; i++)
		json_decref(json[i]);
	fuzz_in_done(&in);
	return 0;
}
