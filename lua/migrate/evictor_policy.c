/* SPDX-License-Identifier: Apache-2.0
 *
 * Kind evictor: leave(ctx, pod, job). The answer is "eviction", "deletion",
 * { patch =, take_back = }, or false and why not now. */
#include <string.h>

#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "lua/migrate/migrate_policy.h"
#include "lua/migrate/plain_call.h"

/* The parts that a patch may change: labels and annotations, because other evictors read
 * them there. */
static int check_patch(const json_t *patch, const char *name, struct neap_error *err)
{
	static const char *const parts[] = {"labels", "annotations"};
	const json_t *meta = json_object_get(patch, "metadata");
	size_t known = 0;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(parts); i++) {
		const json_t *map = json_object_get(meta, parts[i]), *value;
		const char *key;

		known += map != NULL;
		if (map && !json_is_object(map))
			return neap_error_set(err, NEAP_EINVAL,
					      "%s: metadata.%s is a table of texts", name,
					      parts[i]);
		json_object_foreach ((json_t *)(uintptr_t)map, key, value)
			if (!json_is_string(value) && !json_is_false(value))
				return neap_error_set(
					err, NEAP_EINVAL,
					"%s: metadata.%s[\"%.60s\"] is a text, or false "
					"to take it away",
					name, parts[i], key);
	}
	if (!json_is_object(patch) || json_object_size(patch) != 1 || known == 0 ||
	    known != json_object_size(meta))
		return neap_error_set(
			err, NEAP_EINVAL,
			"%s: { metadata = { labels = { ... }, annotations = "
			"{ ... } } } is wanted, and nothing else",
			name);
	return 0;
}

/* Lua has no null: false takes a value away. */
static json_t *patch_new(const json_t *from)
{
	json_t *ret = neap_json_deep_copy(from), *map, *value;
	const char *part, *key;

	json_object_foreach (json_object_get(ret, "metadata"), part, map) {
		json_object_foreach (map, key, value) {
			if (json_is_false(value) &&
			    json_object_set_new(map, key, json_null()) < 0) {
				json_decref(ret);
				return NULL;
			}
		}
	}
	return ret;
}

static int read_patches(const json_t *answer, struct neap_leave *ret,
			struct neap_error *err)
{
	static const char *const names[] = {"patch", "take_back", NULL};
	const json_t *patch = json_object_get(answer, "patch");
	const json_t *back = json_object_get(answer, "take_back");
	int rc = neap_members_check(answer, names, err);

	if (rc == 0)
		rc = check_patch(patch, "patch", err);
	if (rc == 0)
		rc = check_patch(back, "take_back", err);
	if (rc < 0)
		return rc;
	ret->how = NEAP_LEAVE_PATCH;
	ret->patch = patch_new(patch);
	ret->take_back = patch_new(back);
	if (ret->patch && ret->take_back)
		return 0;
	json_decref(ret->patch);
	json_decref(ret->take_back);
	ret->patch = ret->take_back = NULL;
	return neap_error_nomem(err);
}

static int read_answer(const json_t *results, struct neap_leave *ret,
		       struct neap_error *err)
{
	const json_t *how = json_array_get(results, 0);
	const char *text = json_string_value(how);
	const char *why = json_string_value(json_array_get(results, 1));

	if (text && strcmp(text, "eviction") == 0) {
		ret->how = NEAP_LEAVE_EVICTION;
	} else if (text && strcmp(text, "deletion") == 0) {
		ret->how = NEAP_LEAVE_DELETION;
	} else if (json_is_false(how) && why && *why) {
		ret->how = NEAP_LEAVE_STAYS;
		(void)neap_strcopy(ret->why, sizeof(ret->why), why);
	} else if (json_is_object(how)) {
		return read_patches(how, ret, err);
	} else {
		return neap_error_set(err, NEAP_EINVAL,
				      "\"eviction\", \"deletion\", { patch = ..., "
				      "take_back = ... }, or false and why is wanted");
	}
	return 0;
}

enum neap_tick_verdict neap_policy_leave(struct neap_policy *policy, const json_t *pod,
					 const json_t *job, int64_t now_unix,
					 struct neap_leave *ret, struct neap_error *err)
{
	const json_t *const args[NEAP_PLAIN_ARGS] = {pod, job};
	struct neap_error own = {0};
	json_t *results = NULL;
	bool is_wrong;
	int rc;

	memset(ret, 0, sizeof(*ret));
	if (!err)
		err = &own;
	rc = neap_plain_call(policy, "leave", args, now_unix, &results, &is_wrong, err);
	if (rc < 0)
		return is_wrong ? NEAP_TICK_WRONG : neap_policy_verdict_of(rc);
	rc = read_answer(results, ret, err);
	json_decref(results);
	if (rc == 0)
		return NEAP_TICK_WISHES;
	(void)neap_policy_in(policy, NEAP_REF_TICK, "leave", err);
	return rc == -NEAP_EINVAL ? NEAP_TICK_WRONG : neap_policy_verdict_of(rc);
}
