/* SPDX-License-Identifier: Apache-2.0
 *
 * The work of a loop in one turn, counted in steps of about 50 ns. A loop does a piece of
 * everything first, and then checks whether there are steps left; the rest is for its
 * next turn. */
#ifndef NEAP_API_WORKLOAD_LOOP_TURN_STEPS_H
#define NEAP_API_WORKLOAD_LOOP_TURN_STEPS_H

#include "engine/object/object.h"

struct neap_tasks;

/* Steps per turn: 10 ms. Fewer when other loops have used up the turn, or when the clock
 * shows that steps take longer. */
#define NEAP_STEPS      200000
#define NEAP_STEPS_USEC 10000
/* Steps of a write: per step of reading its text, because it is also copied, checked and
 * written; and for any write. */
#define NEAP_STEPS_WRITE     4
#define NEAP_STEPS_WRITE_ANY 500

struct neap_steps {
	int64_t left, until; /* the steady clock */
	int64_t clock_at;
	int64_t taken, most, all; /* of this turn, of any turn, of all turns */
};

void neap_steps_begin(struct neap_steps *steps, const struct neap_tasks *tasks);
void neap_steps_spend(struct neap_steps *steps, int64_t count);
bool neap_steps_has(const struct neap_steps *steps);
/* Steps for reading an object's text, and for writing it. */
int64_t neap_steps_of_text(const struct neap_object *object);
int64_t neap_steps_of_write(const struct neap_object *object);

#endif
