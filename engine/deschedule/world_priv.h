/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files behind engine/deschedule/world.h. */
#ifndef NEAP_ENGINE_DESCHEDULE_WORLD_PRIV_H
#define NEAP_ENGINE_DESCHEDULE_WORLD_PRIV_H

#include "engine/base/map.h"
#include "engine/deschedule/world.h"

/* What the metrics API told of a pod. */
struct neap_world_measure {
	struct neap_amounts used;
};

struct neap_world_own {
	struct neap_map *nodes, *pods, *namespaces, *budgets, *claims, *groups;
	struct neap_map *measures[2]; /* of nodes by name; of pods by "NAMESPACE/NAME" */
	struct neap_resources *own_resources; /* NULL: they are borrowed */
	uint32_t resources_seen;    /* how many there were at the last settling */
	size_t node_size, pod_size; /* of the lists */
};

/* Reads the parts that neap_pod does not have; pod->pod is set. -NEAP_ENOMEM. */
int neap_world_read_pod(struct neap_world *world, struct neap_world_pod *pod,
			const json_t *tree, struct neap_error *err);
/* Drops the pod's owners from their groups, and frees it. Accepts NULL. */
void neap_world_free_pod(struct neap_world *world, struct neap_world_pod *pod);

/* Reads the object into a node that has none; the node is unchanged on failure. */
int neap_world_read_node(struct neap_world *world, struct neap_world_node *node,
			 struct neap_object *object, struct neap_error *err);
void neap_world_clear_node(struct neap_world_node *node);
void neap_world_free_node(struct neap_world_node *node);
int neap_world_read_metric(struct neap_world *world, struct neap_object *object,
			   struct neap_world_metric **ret, struct neap_error *err);
void neap_world_free_metric(struct neap_world_metric *metric);

#endif
