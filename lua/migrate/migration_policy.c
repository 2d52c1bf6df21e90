/* SPDX-License-Identifier: Apache-2.0
 *
 * Kind migration: order(ctx, jobs). The answer is the same jobs in another order. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/map.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "lua/migrate/migrate_policy.h"
#include "lua/migrate/plain_call.h"

static const char *const kube_qos[] = {"", "BestEffort", "Burstable", "Guaranteed"};

static const char *class_of(const struct neap_pod_order *order)
{
	static const char *const names[] = {"", "free", "batch", "mid", "prod", ""};

	return names[order->band];
}

static const char *qos_of(const struct neap_pod_order *order)
{
	static const char *const names[] = {"", "BE", "LS", "LSR", "LSE", ""};

	return names[order->qos];
}

static json_t *pod_new(const struct neap_migrate_waiting *one)
{
	const struct neap_pod_order *order = &one->order;

	return json_pack("{s:s, s:s, s:s, s:I, s:s, s:s, s:I, s:I, s:I}", "namespace",
			 one->job->pod_ns, "name", one->job->pod_name, "class",
			 class_of(order), "priority", (json_int_t)order->priority,
			 "kube_qos", kube_qos[order->kube_qos], "qos", qos_of(order),
			 "deletion_cost", (json_int_t)order->deletion_cost,
			 "eviction_cost", (json_int_t)order->eviction_cost,
			 "created_unix", (json_int_t)(order->created_usec / 1000000));
}

json_t *neap_order_jobs_new(const struct neap_migrate_waiting *list, size_t count)
{
	json_t *ret = json_array();

	for (size_t i = 0; ret && i < count; i++) {
		json_t *job = json_pack("{s:s, s:I, s:I}", "name", list[i].job->name,
					"created_unix",
					(json_int_t)(list[i].job->created_usec / 1000000),
					"siblings", (json_int_t)list[i].siblings);

		if (job && *list[i].batch)
			(void)json_object_set_new(job, "batch",
						  json_string(list[i].batch));
		if (job && list[i].pod)
			(void)json_object_set_new(job, "pod", pod_new(&list[i]));
		neap_json_push_new(&ret, job);
	}
	return ret;
}

/* --- the answer --- */

/* The places of jobs by name, counted from 1; NULL without memory. */
static struct neap_map *places_new(const json_t *jobs)
{
	struct neap_map *map = neap_map_new();
	const json_t *one;
	size_t i;

	json_array_foreach (jobs, i, one)
		if (map && !neap_map_set(map, neap_json_text(one, "name"),
					 (void *)(uintptr_t)(i + 1))) {
			neap_map_free(map);
			return NULL;
		}
	return map;
}

static int read_place(struct neap_map *places, const json_t *answer, size_t i,
		      bool *has_come, size_t *ret, struct neap_error *err)
{
	const char *name = neap_json_text(json_array_get(answer, i), "name");
	size_t place = (size_t)(uintptr_t)neap_map_find(places, name);

	if (place == 0 || has_come[place - 1])
		return neap_error_set(
			err, NEAP_EINVAL, "at %zu stands %s \"%.60s\"", i + 1,
			place == 0 ? "no job that was given," : "once more", name);
	has_come[place - 1] = true;
	*ret = place - 1;
	return 0;
}

static int read_order(const json_t *jobs, const json_t *answer, size_t *ret,
		      struct neap_error *err)
{
	size_t count = json_array_size(jobs);
	bool *has_come = neap_alloc_array(count + 1, sizeof(*has_come));
	struct neap_map *places = places_new(jobs);
	int rc = has_come && places ? 0 : neap_error_nomem(err);

	if (rc == 0 && (!json_is_array(answer) || json_array_size(answer) != count))
		rc = neap_error_set(err, NEAP_EINVAL,
				    "the %zu jobs in their order are wanted", count);
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = read_place(places, answer, i, has_come, &ret[i], err);
	free(has_come);
	neap_map_free(places);
	return rc;
}

enum neap_tick_verdict neap_policy_order(struct neap_policy *policy, const json_t *jobs,
					 int64_t now_unix, size_t *ret,
					 struct neap_error *err)
{
	const json_t *const args[NEAP_PLAIN_ARGS] = {jobs};
	struct neap_error own = {0};
	json_t *answer = NULL;
	bool is_wrong;
	int rc;

	if (!err)
		err = &own;
	rc = neap_plain_call(policy, "order", args, now_unix, &answer, &is_wrong, err);
	if (rc < 0)
		return is_wrong ? NEAP_TICK_WRONG : neap_policy_verdict_of(rc);
	rc = read_order(jobs, json_array_get(answer, 0), ret, err);
	json_decref(answer);
	if (rc == 0)
		return NEAP_TICK_WISHES;
	(void)neap_policy_in(policy, NEAP_REF_TICK, "order", err);
	return rc == -NEAP_EINVAL ? NEAP_TICK_WRONG : neap_policy_verdict_of(rc);
}
