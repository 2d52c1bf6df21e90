/* SPDX-License-Identifier: Apache-2.0
 *
 * The owners whose pods were evicted recently. A pod of such an owner that was created
 * since may be the successor of an evicted one. It is not evicted for a while (it rests),
 * so that strategies that disagree, or a swinging load, do not move the same work again
 * and again. Kept in memory only: after a restart no pod rests. */
#ifndef NEAP_ENGINE_DESCHEDULE_MOVED_H
#define NEAP_ENGINE_DESCHEDULE_MOVED_H

#include "engine/deschedule/round.h"

struct neap_moved;

/* rest_usec: how long a successor rests. NULL without memory. */
struct neap_moved *neap_moved_new(int64_t rest_usec);
void neap_moved_free(struct neap_moved *moved); /* NULL is fine */
/* Records that the pod was evicted. A pod without an owner has no successor.
 * -NEAP_ENOMEM. */
int neap_moved_note(struct neap_moved *moved, const struct neap_world_pod *pod,
		    int64_t now_usec, struct neap_error *err);
/* A neap_round_rule_fn for before, so that a pod that rests is still counted by
 * strategies that compare nodes; arg: struct neap_moved. */
const char *neap_moved_rule(void *arg, struct neap_round *round,
			    const struct neap_world_pod *pod);
/* Returns the number of remembered owners, after dropping those whose time is over. */
size_t neap_moved_count(struct neap_moved *moved, int64_t now_usec);

#endif
