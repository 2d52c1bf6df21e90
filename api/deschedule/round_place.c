/* SPDX-License-Identifier: Apache-2.0 */
#include "api/deschedule/round_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/cluster/cpus.h"
#include "engine/decide/decide.h"
#include "engine/json/json.h"

/* What a controller makes anew of the pod's template: nothing that only this pod has. */
static int make_successor(const struct neap_pod *pod, const char *name,
			  struct neap_object **ret, struct neap_error *err)
{
	static const char *const of_pod[] = {
		"scheduling.koordinator.sh/resource-status",
		"scheduling.koordinator.sh/reservation-allocated",
		"scheduling.koordinator.sh/device-allocated", NULL};
	json_t *tree = neap_object_tree(pod->object);
	json_t *meta = json_object_get(tree, "metadata");
	json_t *annotations = json_object_get(meta, "annotations");

	if (!meta || json_object_set_new(meta, "name", json_string(name)) < 0 ||
	    json_object_set_new(meta, "uid", json_string(name)) < 0) {
		json_decref(tree);
		return neap_error_nomem(err);
	}
	for (size_t i = 0; of_pod[i]; i++)
		(void)json_object_del(annotations, of_pod[i]);
	(void)json_object_del(meta, "deletionTimestamp");
	(void)json_object_del(json_object_get(tree, "spec"), "nodeName");
	(void)json_object_del(tree, "status");
	return neap_object_new_take(tree, NULL, pod->object->version, ret, err);
}

static bool needs_place(const struct neap_world_pod *pod)
{
	bool has_controller = false;

	for (size_t i = 0; i < pod->owner_count; i++)
		has_controller = has_controller || pod->owners[i].is_controller;
	return has_controller && pod->node && (pod->flags & NEAP_WORLD_IS_LIVE);
}

static int refuse(const struct neap_decide *decide, struct neap_error *err)
{
	neap_auto_buf struct neap_buf text = {0};

	neap_buf_init(&text, NEAP_BUF_LINE);
	neap_decide_explain(decide, &text);
	return neap_error_set(err, NEAP_ENOFIT, "%s",
			      neap_buf_failed(&text) ? "no node fits" : text.data);
}

/* Decides and counts the successor. */
static int seat(struct neap_placer *placer, struct neap_pod *successor,
		const struct neap_placed *placed, char ret_node[NEAP_ROUND_NODE],
		struct neap_error *err)
{
	struct neap_choice choice = {0};
	struct neap_claim *claim = NULL;
	int rc;

	(void)neap_cluster_settle(placer->cluster);
	rc = neap_decide_pod(placer->decide, successor, &choice, err);
	if (rc <= 0)
		return rc < 0 ? rc : refuse(placer->decide, err);
	if (!placer->own_is_right && strcmp(choice.node, placed->node->name) == 0)
		return neap_error_set(err, NEAP_ENOFIT,
				      "its successor would land on the same node");
	(void)snprintf(ret_node, NEAP_ROUND_NODE, "%s", choice.node);
	rc = neap_decide_claim(placer->decide, successor, choice.row, &claim, err);
	if (rc >= 0)
		rc = neap_cluster_assume_with(placer->cluster, successor, choice.row,
					      claim, err);
	neap_claim_free(claim);
	return rc < 0 ? rc : 0;
}

static int place(struct neap_placer *placer, struct neap_placed *placed,
		 char ret_node[NEAP_ROUND_NODE], struct neap_error *err)
{
	const struct neap_object *object = placed->pod->object;
	struct neap_object *successor = NULL;
	struct neap_pod *pod;
	unsigned moved;
	int rc;

	(void)snprintf(placed->ns, sizeof(placed->ns), "%s", object->ns);
	(void)snprintf(placed->successor, sizeof(placed->successor), "neap.successor.%zu",
		       placer->count);
	rc = make_successor(placed->pod, placed->successor, &successor, err);
	if (rc < 0)
		return rc;
	rc = neap_cluster_set_pod(placer->cluster, successor, &moved, err);
	(void)neap_object_unref(successor);
	if (rc < 0)
		return rc;
	pod = neap_cluster_find_pod(placer->cluster, placed->ns, placed->successor);
	rc = seat(placer, pod, placed, ret_node, err);
	if (rc < 0)
		neap_cluster_remove_pod(placer->cluster, placed->ns, placed->successor,
					&moved);
	return rc;
}

int neap_placer_place(void *arg, const struct neap_world_pod *pod,
		      char ret_node[NEAP_ROUND_NODE], struct neap_error *err)
{
	struct neap_placer *placer = arg;
	const struct neap_object *object = pod->pod->object;
	struct neap_placed placed = {
		.pod = neap_cluster_find_pod(placer->cluster, object->ns, object->name)};
	int rc;

	*ret_node = '\0';
	if (!needs_place(pod) || !placed.pod)
		return 0;
	if (!neap_grow(&placer->list, placer->count, &placer->size,
		       sizeof(*placer->list)))
		return neap_error_nomem(err);
	placed.node = neap_cluster_lift(placer->cluster, placed.pod);
	if (!placed.node)
		return 0;
	rc = place(placer, &placed, ret_node, err);
	if (rc < 0) {
		neap_cluster_put_back(placer->cluster, placed.pod, placed.node);
		*ret_node = '\0';
		return rc;
	}
	placer->list[placer->count++] = placed;
	return 0;
}

void neap_placer_undo(struct neap_placer *placer)
{
	unsigned moved;

	while (placer->count) {
		const struct neap_placed *placed = &placer->list[--placer->count];

		neap_cluster_remove_pod(placer->cluster, placed->ns, placed->successor,
					&moved);
		neap_cluster_put_back(placer->cluster, placed->pod, placed->node);
	}
	(void)neap_cluster_take_moved(placer->cluster);
	free(placer->list);
	placer->list = NULL;
	placer->size = 0;
}
