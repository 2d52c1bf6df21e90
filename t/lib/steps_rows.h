/* SPDX-License-Identifier: Apache-2.0
 *
 * What the corpus of t/lib/steps is made of. */
#ifndef NEAP_T_STEPS_ROWS_H
#define NEAP_T_STEPS_ROWS_H

#include <stddef.h>

/* The body of a function that returns the value. */
struct steps_value {
	const char *name, *text;
};
struct steps_source {
	const char *head, *each, *tail;
	int times;
};
struct steps_pair {
	const char *before, *body;
};

extern const struct steps_value steps_values[];
extern const struct steps_source steps_sources[];
extern const struct steps_pair steps_results[], steps_examples[];
/* NULL at the end: functions beside those of the sandbox. */
extern const char *const steps_more[];
extern const char *const steps_thirds[],
	*const steps_operators[],
		*const steps_uses[], *const steps_events[], *const steps_handlers[],
								    *const steps_bodies[];
extern const size_t steps_value_count, steps_source_count, steps_result_count,
	steps_example_count, steps_third_count, steps_operator_count, steps_use_count,
	steps_event_count, steps_handler_count, steps_body_count;

size_t steps_name_count(const char *const *names);

#endif
