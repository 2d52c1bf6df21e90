/* SPDX-License-Identifier: Apache-2.0
 *
 * Examples. Of migration: { name =, params =, jobs = { ... }, want = { "name", ... } };
 * of evictor: { name =, params =, pod = { ... }, job = { ... }, want = "eviction" |
 * "deletion" | { patch =, take_back = } | { why = } }. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "lua/migrate/migrate_policy.h"
#include "lua/migrate/plain_call.h"
#include "lua/place/place_priv.h"

static int differs(const struct neap_place_row *row, const json_t *got)
{
	const json_t *want = json_object_get(row->json, "want");
	neap_auto_free char *text = neap_json_dump(got, JSON_ENCODE_ANY | JSON_SORT_KEYS);

	if (!row->index || json_equal(want, got))
		return 0;
	return neap_error_set(row->err, NEAP_ECONFLICT, "want: it answered %.200s",
			      text ? text : "?");
}

static int run_order(struct neap_place_row *row)
{
	const json_t *jobs = json_object_get(row->json, "jobs");
	size_t count = json_array_size(jobs);
	size_t *order = neap_alloc_array(count + 1, sizeof(*order));
	struct neap_error err = {0};
	json_t *got = json_array();
	int rc = 0;

	if (!order || !got)
		rc = neap_error_nomem(row->err);
	else if (!json_is_array(jobs) || count > NEAP_ORDER_MAX)
		rc = neap_place_row_fail(row, "jobs", "a list of jobs is wanted");
	else if (neap_policy_order(row->policy, jobs, NEAP_PLACE_ROW_UNIX, order, &err) !=
		 NEAP_TICK_WISHES) {
		*row->err = err;
		rc = -(int)err.code;
	}
	for (size_t i = 0; order && rc == 0 && i < count; i++)
		(void)json_array_append_new(
			got, json_string(neap_json_text(json_array_get(jobs, order[i]),
							"name")));
	if (rc == 0)
		rc = differs(row, got);
	json_decref(got);
	free(order);
	return rc;
}

static json_t *leave_new(const struct neap_leave *leave)
{
	switch (leave->how) {
	case NEAP_LEAVE_EVICTION:
		return json_string("eviction");
	case NEAP_LEAVE_DELETION:
		return json_string("deletion");
	case NEAP_LEAVE_PATCH:
		return json_pack("{s:O, s:O}", "patch", leave->patch, "take_back",
				 leave->take_back);
	case NEAP_LEAVE_STAYS:
	case NEAP_LEAVE_COUNT:
		break;
	}
	return json_pack("{s:s}", "why", leave->why);
}

/* In a wanted patch, false means that the value is removed, as in an answer. */
static void settle(json_t *want)
{
	json_t *patch, *map, *value;
	const char *name, *part, *key;

	json_object_foreach (want, name, patch) {
		json_object_foreach (json_object_get(patch, "metadata"), part, map) {
			json_object_foreach (map, key, value) {
				if (json_is_false(value))
					(void)json_object_set_new(map, key, json_null());
			}
		}
	}
}

static int run_leave(struct neap_place_row *row)
{
	const json_t *pod = json_object_get(row->json, "pod");
	const json_t *job = json_object_get(row->json, "job");
	struct neap_error err = {0};
	struct neap_leave leave;
	json_t *got;
	int rc;

	if (!json_is_object(pod))
		return neap_place_row_fail(row, "pod", "a pod is wanted");
	if (neap_policy_leave(row->policy, pod, job, NEAP_PLACE_ROW_UNIX, &leave, &err) !=
	    NEAP_TICK_WISHES) {
		*row->err = err;
		return -(int)err.code;
	}
	settle(json_object_get(row->json, "want"));
	got = leave_new(&leave);
	rc = got ? differs(row, got) : neap_error_nomem(row->err);
	json_decref(got);
	json_decref(leave.patch);
	json_decref(leave.take_back);
	return rc;
}

static int run_row(struct neap_place_row *row, void *arg)
{
	(void)arg;
	return strcmp(row->policy->kind->name, "migration") == 0 ? run_order(row)
								 : run_leave(row);
}

int neap_migrate_run_example(struct neap_policy *policy, int index,
			     struct neap_error *err)
{
	static const char *const order_fields[] = {"name", "params", "jobs", "want",
						   NULL};
	static const char *const leave_fields[] = {"name", "params", "pod",
						   "job",  "want",   NULL};
	bool is_order = strcmp(policy->kind->name, "migration") == 0;

	return neap_place_row_run(policy, index, is_order ? order_fields : leave_fields,
				  run_row, NULL, err);
}

int neap_migrate_needs_read(lua_State *L, int index, struct neap_policy *policy,
			    struct neap_error *err)
{
	(void)policy;
	if (lua_isnil(L, index))
		return 0;
	return neap_error_set(err, NEAP_EINVAL,
			      "field 'needs': all is shown; this kind has none");
}
