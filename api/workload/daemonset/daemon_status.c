/* SPDX-License-Identifier: Apache-2.0 */
#include "api/workload/daemonset/daemonsets_priv.h"
#include "engine/json/json.h"

struct counts {
	int64_t desired, current, misplaced, ready, available, updated;
};

static void count_node(struct daemon *look, const struct daemon_node *node,
		       struct counts *counts)
{
	const struct daemon_pod *pod = &look->pods[node->first];

	if (!node->should_run) {
		counts->misplaced += node->count > 0;
		return;
	}
	counts->desired++;
	if (!node->count)
		return;
	counts->current++;
	if (pod->facts->pod.is_ready) {
		counts->ready++;
		counts->available += daemon_is_available(look, pod);
	}
	counts->updated += daemon_is_new(look, pod);
}

/* As a kube-apiserver does, omits zeros. */
static int put_number(json_t *status, const char *name, int64_t value)
{
	return json_object_set_new(status, name,
				   value ? json_integer(value) : json_null());
}

static json_t *status_new(const struct daemon *look, const struct counts *counts)
{
	json_t *status = json_pack("{s:I, s:I, s:I, s:I}", "desiredNumberScheduled",
				   (json_int_t)counts->desired, "currentNumberScheduled",
				   (json_int_t)counts->current, "numberMisscheduled",
				   (json_int_t)counts->misplaced, "numberReady",
				   (json_int_t)counts->ready);
	int ret = 0;

	ret |= put_number(status, "numberAvailable", counts->available);
	ret |= put_number(status, "numberUnavailable",
			  counts->desired - counts->available);
	ret |= put_number(status, "updatedNumberScheduled", counts->updated);
	ret |= put_number(status, "observedGeneration",
			  neap_tree_int(look->tree, "metadata.generation", 0));
	if (look->collisions != NEAP_MISSING)
		ret |= json_object_set_new(status, "collisionCount",
					   json_integer(look->collisions));
	return neap_json_made(ret == 0, status);
}

void daemon_status(struct daemon *look)
{
	const struct daemon_nodes *nodes = look->sets->nodes;
	struct counts counts = {0};
	struct neap_client_ask ask;
	json_t *status;

	for (size_t i = 0; i < daemon_nodes_count(nodes); i++)
		count_node(look, daemon_nodes_at(nodes, i), &counts);
	status = status_new(look, &counts);
	look->base.is_short = look->base.is_short || !status;
	if (!status || neap_tree_is_so(json_object_get(look->tree, "status"), status)) {
		json_decref(status);
		return;
	}
	neap_feed_spend(look->sets->feed, neap_steps_of_write(look->object));
	if (neap_look_ask(&look->base, ASK_OTHER, DAEMONSETS, look->base.owner->name,
			  &ask))
		neap_client_patch_take(look->sets->config.client, &ask, true,
				       json_pack("{s:{s:s}, s:o}", "metadata", "uid",
						 look->base.owner->uid, "status",
						 status));
	else
		json_decref(status);
}
