/* SPDX-License-Identifier: Apache-2.0
 *
 * An event loop that measures its turns, because everything else waits during one.
 * Measured in CPU time of the loop's thread, which excludes waiting and other
 * processes. */
#ifndef NEAP_API_TASK_TURNS_H
#define NEAP_API_TASK_TURNS_H

#include "engine/base/base.h"

struct event_base;

/* Upper bounds of the classes in which turns are counted; one more class has all longer
 * ones. */
#define NEAP_TURN_BOUNDS 12
extern const int64_t neap_turn_bounds_usec[NEAP_TURN_BOUNDS];

struct neap_turns {
	uint64_t counts[NEAP_TURN_BOUNDS + 1];
	int64_t usec; /* of all */
};

/* Like event_base_dispatch, with counting. */
void neap_turns_run(struct event_base *base, struct neap_turns *turns);
/* Counts one turn. */
void neap_turns_note(struct neap_turns *turns, int64_t usec);

/* Time that all loops working in pieces share in a turn. Each gets what it wants while
 * that much is left, and afterwards a tenth of it, so that none stops. */
#define NEAP_TURN_SHARED_USEC 30000
#define NEAP_TURN_LEAST_PART  10

/* Returns how many microseconds a callback may work in this turn; it wants usec. Others
 * may have used up the turn before. */
int64_t neap_turn_share(struct event_base *base, int64_t usec);

#endif
