/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a pod that is evicted would land: its successor is placed by the decision core
 * among the pods that there are, those that leave in this round still on their nodes, and
 * those that wait placed before it. It counts there until the trial ends. So what a round
 * is told stays true for all its evictions together. */
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
/* Whether a Reservation is made before a pod goes, so that it never lands where it was;
 * at first it is not. */
void neap_landing_set_keeps_place(struct neap_landing *landing, bool keeps_place);
/* Whether a pod may come back to the node that it leaves; at first it may. A strategy
 * that moves load says no: such an eviction would be for nothing. */
void neap_landing_may_return(struct neap_landing *landing, bool may_return);
/* Whose questions they are: it says on which nodes a pod has to land. */
void neap_landing_set_round(struct neap_landing *landing, const struct neap_round *round);
/* How many successors there are, and takes those after the first count back, with their
 * pods on their nodes as before. */
size_t neap_landing_count(const struct neap_landing *landing);
void neap_landing_take_back(struct neap_landing *landing, size_t count);
/* Takes everything back. */
void neap_landing_end(struct neap_landing *landing);

/* After the strategies: looks again where each pod of the round will land, now that all
 * of them are known: pods of the same name come back only after the others have landed
 * and gone. Corrects the nodes in what the round said. The trial cannot go on then.
 * -NEAP_ENOMEM. */
int neap_landing_tell(struct neap_landing *landing, struct neap_round *round,
		      struct neap_error *err);

/* A neap_round_place_fn; arg: the landing, in a trial. Besides the node that is told
 * there has to be room while the pod still stands where it is. A pod that no controller
 * makes again, that is finished or has no node, needs no place: "". */
int neap_landing_place(void *arg, const struct neap_world_pod *pod,
		       char ret_node[NEAP_ROUND_NODE], struct neap_error *err);

#endif
