/* SPDX-License-Identifier: Apache-2.0
 *
 * Which owners had pods evicted lately. A pod of such an owner that was made since may be
 * the successor of one that left; it rests for a while, so that strategies that disagree,
 * or a load that swings, do not push the same work about. Kept in memory: after a restart
 * nobody rests. */
#ifndef NEAP_ENGINE_DESCHEDULE_MOVED_H
#define NEAP_ENGINE_DESCHEDULE_MOVED_H

#include "engine/deschedule/round.h"

struct neap_moved;

/* rest_usec: for so long. NULL without memory. */
struct neap_moved *neap_moved_new(int64_t rest_usec);
void neap_moved_free(struct neap_moved *moved); /* NULL is fine */
/* The pod was evicted. A pod without an owner has no successor. -NEAP_ENOMEM. */
int neap_moved_note(struct neap_moved *moved, const struct neap_world_pod *pod,
		    int64_t now_usec, struct neap_error *err);
/* A neap_round_rule_fn for allow; arg: struct neap_moved. */
const char *neap_moved_rule(void *arg, struct neap_round *round,
			    const struct neap_world_pod *pod);
/* How many owners are remembered. Forgets those that rest no more. */
size_t neap_moved_count(struct neap_moved *moved, int64_t now_usec);

#endif
