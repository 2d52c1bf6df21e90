/* SPDX-License-Identifier: Apache-2.0
 *
 * `examples` of the kinds of rounds: complete objects become a world, and the real call
 * runs on it.
 *
 * deschedule: { name =, params = { ... }, now = "2026-01-01T00:00:00Z", evictor = {
 * ... }, limits = { total =, node =, namespace =, workload = }, cluster = { nodes = {
 * ... }, pods = { ... }, ... }, want = { evict = { "NS/NAME", ... }, count = } } or
 * with steps = { { after_s =, cluster =, want = }, ... }, which share what the policy
 * remembers. evict: the same with pod = "NS/NAME", want = true | "reason". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/base/text.h"
#include "engine/json/json.h"
#include "lua/deschedule/deschedule_priv.h"
#include "lua/place/place_priv.h"

struct example {
	struct neap_place_row *row;
	struct neap_world *world;
	struct neap_round *round;
	struct neap_evictor evictor;
	struct neap_limits limits;
	int64_t now_usec;
};

static const struct {
	const char *name, *resource;
} lists[] = {
	{"nodes", "nodes"},
	{"pods", "pods"},
	{"namespaces", "namespaces"},
	{"budgets", "poddisruptionbudgets"},
	{"claims", "persistentvolumeclaims"},
	{"nodeMetrics", "nodemetrics"},
	{"measured", "measured"},
};

static int add_list(struct example *ex, const json_t *cluster, size_t which)
{
	const json_t *list = json_object_get(cluster, lists[which].name), *one;
	size_t i;

	if (list && !json_is_array(list))
		return neap_place_row_fail(ex->row, lists[which].name,
					   "a list of objects is wanted");
	json_array_foreach ((json_t *)list, i, one) {
		int rc = neap_world_add(ex->world, lists[which].resource, one,
					ex->row->err);

		if (rc < 0)
			return neap_error_wrap(ex->row->err, "%s[%zu]", lists[which].name,
					       i + 1);
	}
	return 0;
}

static int fill_world(struct example *ex, const json_t *cluster)
{
	static const char *const names[] = {"nodes",    "pods",   "namespaces",
					    "budgets",  "claims", "nodeMetrics",
					    "measured", NULL};
	int rc = 0;

	if (!json_object_size(cluster))
		return neap_place_row_fail(ex->row, "cluster",
					   "lists of nodes and pods are wanted");
	rc = neap_place_row_check(ex->row, cluster, "cluster", names);
	for (size_t i = 0; rc == 0 && i < NEAP_ARRAY_LEN(lists); i++)
		rc = add_list(ex, cluster, i);
	return rc < 0 ? rc : neap_world_settle(ex->world, ex->row->err);
}

static int read_limits(struct example *ex, const json_t *json)
{
	struct neap_limits *limits = &ex->limits;
	const struct neap_member rows[] = {
		{"total", NEAP_MEMBER_INT, &limits->total, 0, INT32_MAX},
		{"node", NEAP_MEMBER_INT, &limits->per_node, 0, INT32_MAX},
		{"namespace", NEAP_MEMBER_INT, &limits->per_namespace, 0, INT32_MAX},
		{"workload", NEAP_MEMBER_INT, &limits->per_workload, 0, INT32_MAX},
		{NULL}};
	int rc;

	*limits = (struct neap_limits){NEAP_LIMITS_NONE, NEAP_LIMITS_NONE,
				       NEAP_LIMITS_NONE, NEAP_LIMITS_NONE, false};
	rc = json ? neap_members_read(json, rows, ex->row->err) : 0;
	return rc < 0 ? neap_error_wrap(ex->row->err, "limits.%s", ex->row->err->field)
		      : 0;
}

static int open_round(struct example *ex, const json_t *cluster)
{
	struct neap_round_args args = {
		.evictor = &ex->evictor, .now_usec = ex->now_usec, .limits = ex->limits};
	int rc = neap_world_new(NULL, &ex->world, ex->row->err);

	if (rc == 0)
		rc = fill_world(ex, cluster);
	args.world = ex->world;
	return rc < 0 ? rc : neap_round_new(&args, &ex->round, ex->row->err);
}

static void close_round(struct example *ex)
{
	neap_round_free(ex->round);
	neap_world_free(ex->world);
	ex->round = NULL;
	ex->world = NULL;
}

/* --- comparing --- */

static bool has_said(const struct neap_round *round, const char *key)
{
	char buf[NEAP_POD_KEY];

	for (size_t i = 0; i < round->said_count; i++) {
		const struct neap_object *object = round->said[i].pod->pod->object;

		if (round->said[i].answer.outcome == NEAP_ROUND_EVICTED &&
		    strcmp(neap_pod_key(object->ns, object->name, buf), key) == 0)
			return true;
	}
	return false;
}

static bool is_listed(const json_t *list, const char *key)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *text = json_string_value(json_array_get(list, i));

		if (text && strcmp(text, key) == 0)
			return true;
	}
	return false;
}

static int compare_evicted(struct example *ex, const json_t *list)
{
	char buf[NEAP_POD_KEY];

	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *key = json_string_value(json_array_get(list, i));

		if (!key || !strchr(key, '/'))
			return neap_place_row_fail(ex->row, "want.evict",
						   "texts as \"NAMESPACE/NAME\" are "
						   "wanted");
		if (!has_said(ex->round, key))
			return neap_error_set(ex->row->err, NEAP_ECONFLICT,
					      "%.120s was to be evicted and is not", key);
	}
	for (size_t i = 0; i < ex->round->said_count; i++) {
		const struct neap_round_said *said = &ex->round->said[i];
		const struct neap_object *object = said->pod->pod->object;

		if (said->answer.outcome == NEAP_ROUND_EVICTED &&
		    !is_listed(list, neap_pod_key(object->ns, object->name, buf)))
			return neap_error_set(
				ex->row->err, NEAP_ECONFLICT,
				"%.120s is evicted and was not to be: %.80s", buf,
				said->why);
	}
	return 0;
}

static int compare_round(struct example *ex, const json_t *want)
{
	static const char *const names[] = {"evict", "count", NULL};
	const json_t *evict = json_object_get(want, "evict");
	const json_t *count = json_object_get(want, "count");
	int rc;

	if (!json_object_size(want))
		return neap_place_row_fail(ex->row, "want",
					   "{ evict = { \"NAMESPACE/NAME\", ... } } or { "
					   "count = N } is wanted");
	rc = neap_place_row_check(ex->row, want, "want", names);
	if (rc == 0 && evict)
		rc = compare_evicted(ex, evict);
	if (rc == 0 && count &&
	    json_integer_value(count) != (json_int_t)ex->round->evicted_count)
		rc = neap_error_set(
			ex->row->err, NEAP_ECONFLICT, "wanted %lld evictions; got %zu",
			(long long)json_integer_value(count), ex->round->evicted_count);
	return rc;
}

/* --- running --- */

static int run_round(struct example *ex, const json_t *cluster, const json_t *want)
{
	struct neap_error err = {0};
	int rc = open_round(ex, cluster);

	if (rc == 0 && neap_policy_run_round(ex->row->policy, ex->round, "example",
					     &err) != NEAP_TICK_WISHES) {
		*ex->row->err = err;
		rc = -(int)err.code;
	}
	if (rc == 0 && ex->row->index)
		rc = compare_round(ex, want);
	close_round(ex);
	return rc;
}

static int run_steps(struct example *ex, const json_t *steps)
{
	static const char *const names[] = {"after_s", "cluster", "want", NULL};
	const json_t *step, *cluster = json_object_get(ex->row->json, "cluster");
	size_t i;

	json_array_foreach ((json_t *)steps, i, step) {
		const json_t *own = json_object_get(step, "cluster");
		int rc = neap_place_row_check(ex->row, step, "a step", names);

		ex->now_usec +=
			json_integer_value(json_object_get(step, "after_s")) * 1000000;
		if (rc == 0)
			rc = run_round(ex, own ? own : cluster,
				       json_object_get(step, "want"));
		if (rc < 0)
			return neap_error_wrap(ex->row->err, "step %zu", i + 1);
	}
	return 0;
}

static const struct neap_world_pod *pod_of(struct example *ex)
{
	const char *key = neap_json_text(ex->row->json, "pod");
	const char *slash = strchr(key, '/');
	char ns[NEAP_OBJECT_NAMESPACE];

	if (!slash || (size_t)(slash - key) >= sizeof(ns))
		return NULL;
	(void)snprintf(ns, sizeof(ns), "%.*s", (int)(slash - key), key);
	return neap_world_find_pod(ex->world, ns, slash + 1);
}

static int compare_kept(struct example *ex, const char *why)
{
	const json_t *want = json_object_get(ex->row->json, "want");
	const char *text = json_string_value(want);

	if (!ex->row->index)
		return 0;
	if (!json_is_true(want) && !text)
		return neap_place_row_fail(ex->row, "want", "true or a reason is wanted");
	if (text ? why && strcmp(text, why) == 0 : !why)
		return 0;
	return neap_error_set(ex->row->err, NEAP_ECONFLICT, "wanted %s; got %s",
			      text ? text : "true", why ? why : "true");
}

static int run_evict(struct example *ex)
{
	struct neap_policy *policy = ex->row->policy;
	const struct neap_world_pod *pod;
	const char *why = NULL;
	struct neap_error err = {0};
	int rc = open_round(ex, json_object_get(ex->row->json, "cluster"));

	if (rc == 0) {
		pod = pod_of(ex);
		if (!pod)
			rc = neap_place_row_fail(ex->row, "pod",
						 "\"NAMESPACE/NAME\" of a pod of the "
						 "cluster is wanted");
		for (int last = 0; rc == 0 && last <= 1 && !why; last++)
			if (neap_policy_ask_evict(policy, ex->round, pod, last, &why,
						  &err) != NEAP_TICK_WISHES) {
				*ex->row->err = err;
				rc = -(int)err.code;
			}
		if (rc == 0)
			rc = compare_kept(ex, why);
	}
	close_round(ex);
	return rc;
}

static int run_row(struct neap_place_row *row, void *arg)
{
	struct example *ex = arg;
	const json_t *now = json_object_get(row->json, "now");
	const json_t *steps = json_object_get(row->json, "steps");
	int rc;

	ex->row = row;
	neap_deschedule_forget(row->policy->deschedule);
	ex->now_usec = NEAP_PLACE_ROW_UNIX * 1000000;
	rc = neap_policy_check_params(row->policy, row->err);
	if (rc < 0 && row->index)
		return rc;
	if (rc < 0) /* it cannot run without arguments */
		return 0;
	if (now && (!json_is_string(now) ||
		    neap_time_parse(json_string_value(now), &ex->now_usec, NULL) < 0))
		return neap_place_row_fail(
			row, "now", "a time as \"2026-01-01T00:00:00Z\" is wanted");
	rc = neap_evictor_read(&ex->evictor, json_object_get(row->json, "evictor"),
			       row->err);
	if (rc == 0)
		rc = read_limits(ex, json_object_get(row->json, "limits"));
	if (rc < 0)
		return rc;
	if (strcmp(row->policy->kind->name, "evict") == 0)
		return run_evict(ex);
	if (json_array_size(steps))
		return run_steps(ex, steps);
	return run_round(ex, json_object_get(row->json, "cluster"),
			 json_object_get(row->json, "want"));
}

int neap_round_run_example(struct neap_policy *policy, int index, struct neap_error *err)
{
	static const char *const fields[] = {"name",   "params",  "now",  "evictor",
					     "limits", "cluster", "want", "steps",
					     "pod",    NULL};
	struct example ex = {0};
	int rc;

	neap_evictor_init(&ex.evictor);
	rc = neap_place_row_run(policy, index, fields, run_row, &ex, err);
	neap_deschedule_forget(policy->deschedule);
	neap_evictor_done(&ex.evictor);
	return rc;
}
