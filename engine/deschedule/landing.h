/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the successor of an evicted pod would land: the decision core places it among the
 * existing pods, with the pods that leave in this round still on their nodes, and after
 * the pods that wait for a node. It counts there until the trial ends. So the answers of
 * a round hold for all its evictions together. */
#ifndef NEAP_ENGINE_DESCHEDULE_LANDING_H
#define NEAP_ENGINE_DESCHEDULE_LANDING_H

#include "engine/decide/decide.h"
#include "engine/deschedule/round.h"

struct neap_landing;

/* Both borrowed, and used only between begin and end. */
int neap_landing_new(struct neap_cluster *cluster, struct neap_decide *decide,
		     struct neap_landing **ret, struct neap_error *err);
/* Ends a trial. Accepts NULL. */
void neap_landing_free(struct neap_landing *landing);

/* Begins a trial: pods of the world that wait for a node get one first. */
int neap_landing_begin(struct neap_landing *landing, const struct neap_world *world,
		       int64_t now_usec, struct neap_error *err);
/* Says whether a Reservation is made before a pod leaves, so that it never lands on the
 * same node; initially false. */
void neap_landing_set_keeps_place(struct neap_landing *landing, bool keeps_place);
/* Says whether a successor may land on the node that the pod leaves; initially true. A
 * strategy that moves load sets false, because such an eviction would achieve nothing. */
void neap_landing_may_return(struct neap_landing *landing, bool may_return);
/* Sets the round whose questions are answered: it says on which nodes a pod must land. */
void neap_landing_set_round(struct neap_landing *landing, const struct neap_round *round);
/* The number of successors; and removing those after the first count, which puts their
 * pods back on their nodes. */
size_t neap_landing_count(const struct neap_landing *landing);
void neap_landing_take_back(struct neap_landing *landing, size_t count);
/* Ends the trial, and removes all its successors. */
void neap_landing_end(struct neap_landing *landing);

/* Call it after the strategies: computes again where each pod of the round will land, now
 * that all of them are known, because pods of the same name come back only after the
 * others have landed and gone. Corrects the nodes in the answers of the round. The trial
 * cannot continue after that. -NEAP_ENOMEM. */
int neap_landing_tell(struct neap_landing *landing, struct neap_round *round,
		      struct neap_error *err);

/* A neap_round_place_fn; arg is the landing, in a trial. The returned node must have room
 * while the pod is still on its node. A pod that no controller creates again, or that is
 * finished or has no node, needs no place: "". */
int neap_landing_place(void *arg, const struct neap_world_pod *pod,
		       char ret_node[NEAP_ROUND_NODE], struct neap_error *err);

#endif
