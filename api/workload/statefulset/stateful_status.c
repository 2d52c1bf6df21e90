/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/workload/statefulset/statefulsets_priv.h"
#include "engine/json/json.h"

struct counts {
	int64_t replicas, ready, available, current, updated;
};

static struct counts count_pods(struct stateful *look)
{
	struct counts counts = {.replicas = (int64_t)look->count};

	for (size_t i = 0; i < look->count; i++) {
		const struct stateful_pod *pod = &look->pods[i];

		counts.ready += stateful_is_ready(pod);
		counts.available += stateful_is_available(look, pod);
		if (pod->facts->is_deleting)
			continue;
		counts.current += stateful_is_of(pod, look->current);
		counts.updated += stateful_is_of(pod, look->update);
	}
	return counts;
}

/* All pods that have to be, and no others, are of the new revision and ready. */
static bool is_updated(const struct stateful *look, const struct counts *counts)
{
	return look->is_rolling && counts->replicas == look->replicas &&
	       counts->updated == look->replicas && counts->ready == look->replicas;
}

/* As a kube-apiserver does, omits zeros. */
static int put_number(json_t *status, const char *name, int64_t value)
{
	return json_object_set_new(status, name,
				   value ? json_integer(value) : json_null());
}

static json_t *status_new(const struct stateful *look, const struct counts *counts)
{
	json_t *status = json_pack("{s:I, s:I, s:I, s:s, s:s}", "replicas",
				   (json_int_t)counts->replicas, "availableReplicas",
				   (json_int_t)counts->available, "collisionCount",
				   (json_int_t)look->collisions, "currentRevision",
				   look->current, "updateRevision", look->update);
	int ret = 0;

	ret |= put_number(status, "readyReplicas", counts->ready);
	ret |= put_number(status, "currentReplicas", counts->current);
	ret |= put_number(status, "updatedReplicas", counts->updated);
	ret |= put_number(status, "observedGeneration",
			  neap_tree_int(look->tree, "metadata.generation", 0));
	return neap_json_made(ret == 0, status);
}

void stateful_status(struct stateful *look)
{
	struct counts counts = count_pods(look);
	struct neap_client_ask ask;
	json_t *status;

	if (is_updated(look, &counts)) {
		counts.current = counts.updated;
		memcpy(look->current, look->update, sizeof(look->current));
	}
	status = status_new(look, &counts);
	look->base.is_short = look->base.is_short || !status;
	if (!status || neap_tree_is_so(json_object_get(look->tree, "status"), status)) {
		json_decref(status);
		return;
	}
	neap_feed_spend(look->sets->feed, neap_steps_of_write(look->object));
	if (neap_look_ask(&look->base, ASK_OTHER, STATEFULSETS, look->base.owner->name,
			  &ask))
		neap_client_patch_take(look->sets->config.client, &ask, true,
				       json_pack("{s:{s:s}, s:o}", "metadata", "uid",
						 look->base.owner->uid, "status",
						 status));
	else
		json_decref(status);
}
