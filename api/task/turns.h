/* SPDX-License-Identifier: Apache-2.0
 *
 * A loop that knows how long its turns are: everybody else waits for the one at work. Told in CPU time of the
 * loop's thread, which neither waiting nor a busy machine changes. */
#ifndef NEAP_API_TASK_TURNS_H
#define NEAP_API_TASK_TURNS_H

#include "engine/base/base.h"

struct event_base;

/* Upper ends of the classes in which turns are counted; one more class has all that took longer. */
#define NEAP_TURN_BOUNDS 12
extern const int64_t neap_turn_bounds_usec[NEAP_TURN_BOUNDS];

struct neap_turns {
	uint64_t counts[NEAP_TURN_BOUNDS + 1];
	int64_t usec; /* of all */
};

/* As event_base_dispatch, and counts. */
void neap_turns_run(struct event_base *base, struct neap_turns *turns);
/* One turn of so long. */
void neap_turns_note(struct neap_turns *turns, int64_t usec);

#endif
