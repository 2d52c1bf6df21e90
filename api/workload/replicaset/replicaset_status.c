/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/workload/replicaset/replicasets_priv.h"

struct counts {
	int64_t replicas, labeled, ready, available;
	int64_t after_usec; /* until one more is available; 0: none will be */
};

static struct counts count_pods(const struct look *look)
{
	int64_t min_ready_s = neap_tree_int(look->tree, "spec.minReadySeconds", 0), after;
	struct counts counts = {.replicas = (int64_t)look->count,
				.labeled = look->labeled};

	for (size_t i = 0; i < look->count; i++) {
		const struct neap_ranked_pod *pod = &look->pods[i];

		counts.ready += pod->facts->is_ready;
		counts.available +=
			neap_pod_is_available(pod->facts, min_ready_s, look->now, &after);
		if (after && (!counts.after_usec || after < counts.after_usec))
			counts.after_usec = after;
	}
	return counts;
}

/* The present conditions without ReplicaFailure, and that one when needed. A new array,
 * NULL without memory. */
static json_t *make_conditions(const struct look *look, int64_t diff)
{
	static const char failure[] = "ReplicaFailure";
	json_t *before = neap_tree_condition(look->tree, failure), *item;
	const json_t *list = neap_tree_at(look->tree, "status.conditions");
	json_t *conditions = json_array();
	const char *why;
	size_t i;

	json_array_foreach ((json_t *)(uintptr_t)list, i, item) {
		if (item != before && json_array_append(conditions, item) < 0)
			goto nomem;
	}
	if (!neap_rounds_refused(look->sets->rounds, &why))
		return conditions;
	item = before ? json_incref(before)
		      : json_pack("{s:s, s:s, s:s, s:s, s:o}", "type", failure, "status",
				  "True", "reason",
				  diff < 0 ? "FailedCreate" : "FailedDelete", "message",
				  why, "lastTransitionTime",
				  neap_tree_time_new(look->now));
	if (json_array_append_new(conditions, item) == 0)
		return conditions;
nomem:
	json_decref(conditions);
	return NULL;
}

/* As a kube-apiserver does, omits zeros. */
static int put_number(json_t *status, const char *name, int64_t value)
{
	return json_object_set_new(status, name,
				   value ? json_integer(value) : json_null());
}

static bool fill(json_t *status, const struct look *look, const struct counts *counts,
		 int64_t diff)
{
	json_t *conditions = make_conditions(look, diff);

	if (conditions && !json_array_size(conditions)) {
		json_decref(conditions);
		conditions = json_null();
	}
	return json_object_set_new(status, "conditions", conditions) == 0 &&
	       json_object_set_new(status, "replicas", json_integer(counts->replicas)) ==
		       0 &&
	       put_number(status, "fullyLabeledReplicas", counts->labeled) == 0 &&
	       put_number(status, "readyReplicas", counts->ready) == 0 &&
	       put_number(status, "availableReplicas", counts->available) == 0 &&
	       put_number(status, "observedGeneration",
			  neap_tree_int(look->tree, "metadata.generation", 0)) == 0;
}

int64_t neap_replicaset_status(struct look *look, int64_t diff)
{
	struct counts counts = count_pods(look);
	struct neap_round_ask what = {ASK_OTHER, RS, look->set->ns, look->set->name,
				      look->set->uid};
	json_t *status = json_object(), *patch;
	struct neap_client_ask ask;

	if (look->is_short || !fill(status, look, &counts, diff)) {
		json_decref(status);
		return -1;
	}
	if (neap_tree_is_so(json_object_get(look->tree, "status"), status)) {
		json_decref(status);
		return counts.after_usec;
	}
	patch = json_pack("{s:{s:s}, s:o}", "metadata", "uid", look->set->uid, "status",
			  status);
	neap_feed_spend(look->sets->feed, neap_steps_of_write(look->object));
	if (neap_rounds_ask(look->sets->rounds, &what, &ask))
		neap_client_patch_take(look->sets->config.client, &ask, true, patch);
	else
		json_decref(patch);
	return counts.after_usec;
}
