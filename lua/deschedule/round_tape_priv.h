/* SPDX-License-Identifier: Apache-2.0
 *
 * Between round_frame.c, which makes a round out of a recording, and the replay, which
 * plays it. */
#ifndef NEAP_LUA_DESCHEDULE_ROUND_TAPE_PRIV_H
#define NEAP_LUA_DESCHEDULE_ROUND_TAPE_PRIV_H

#include "engine/cluster/cluster.h"
#include "engine/deschedule/landing.h"
#include "lua/deschedule/round_lines.h"
#include "lua/deschedule/round_tape.h"

/* A recording that is open. */
struct round_frame {
	const json_t *json; /* borrowed */
	struct neap_world *world;
	struct neap_cluster *cluster;
	struct neap_decide *decide;
	int64_t now_usec;
};

/* One call of a strategy, or all calls of a rule, in the frame. */
struct round_again {
	struct round_frame *frame;
	const json_t *run;     /* of the recording; NULL: it did not run */
	const json_t *profile; /* likewise; NULL: there is none */
	struct neap_round *round;
	struct neap_landing *landing;
	struct neap_evictor evictor;
	struct neap_round_rule rule;
	const json_t *kept, *not_now; /* what the rules said: reasons by pod */
	size_t said, wishes;          /* of those before it */
};

/* -NEAP_EINVAL: it is no recording; -NEAP_ENOMEM. */
int round_frame_open(struct round_frame *frame, const json_t *json,
		     struct neap_error *err);
void round_frame_close(struct round_frame *frame);
/* The profile of that name, NULL: there is none. */
const json_t *round_frame_profile(const struct round_frame *frame, const char *name);

/* Makes the state in which the run began: with what earlier ones evicted. at:
 * "deschedule" or "balance", whose rules apply. */
int round_again_open(struct round_again *run, struct round_frame *frame,
		     const json_t *json, const json_t *profile, const char *at,
		     struct neap_error *err);
void round_again_close(struct round_again *run);

#endif
