/* SPDX-License-Identifier: Apache-2.0
 *
 * How long is the longest step of a script that nothing interrupts? A corpus is
 * generated: every function that scripts have, every operator and every metamethod, with
 * the largest values that the limits allow, in endless loops; texts that are dear to
 * compile; results and examples that are dear to read; and what was written by hand. Each
 * runs under a small budget; a step is the CPU time of this thread beyond it. */
#ifndef NEAP_T_STEPS_H
#define NEAP_T_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#define STEPS_LONGEST 12

struct steps {
	int runs;
	/* The longest, longest first. */
	struct {
		char name[160];
		int64_t usec;
	} longest[STEPS_LONGEST];
};

/* is_long: every fourth pair of values, else every 160th; the seed says which. A script
 * that never comes back ends the program by an alarm, with its name. */
void steps_run(unsigned seed, bool is_long, struct steps *ret);
/* One of this name begins, NULL: none; it ends the program when it does not come back. */
void steps_begin(const char *name);
/* Notes one run and how long its step was. */
void steps_note(struct steps *steps, const char *name, int64_t usec);
/* CPU time that Lua needs for the largest table of colliding keys to be made anew, the
 * longest step that is known: a measure of the machine. 24 ms on that of the figures. */
int64_t steps_measure_usec(void);

#endif
