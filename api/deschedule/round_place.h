/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the successor of an evicted pod would land: neap's own decision core is asked in
 * the cluster of the snapshot, with the pod gone from its node. What was placed counts
 * until the end of the round, and is undone then. Policies of kind score and filter take
 * no part. */
#ifndef NEAP_API_DESCHEDULE_ROUND_PLACE_H
#define NEAP_API_DESCHEDULE_ROUND_PLACE_H

#include "engine/cluster/cluster.h"
#include "engine/deschedule/round.h"

struct neap_decide;

struct neap_placed {
	struct neap_pod *pod;           /* taken off */
	struct neap_cluster_node *node; /* its node */
	char ns[NEAP_OBJECT_NAMESPACE];
	char successor[32]; /* name in the cluster; "": it has none */
};

struct neap_placer {
	struct neap_cluster *cluster;
	struct neap_decide *decide;
	/* A successor may land on the pod's own node: right for pods that are broken, and
	 * without use where pods are moved. */
	bool own_is_right;
	struct neap_placed *list;
	size_t count, size;
};

/* A neap_round_place_fn; arg: a neap_placer. Pods that no controller makes anew, that are
 * finished or have no node need no place: "". */
int neap_placer_place(void *arg, const struct neap_world_pod *pod,
		      char ret_node[NEAP_ROUND_NODE], struct neap_error *err);
/* Puts everything back, and frees the list. */
void neap_placer_undo(struct neap_placer *placer);

#endif
