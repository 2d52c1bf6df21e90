/* SPDX-License-Identifier: Apache-2.0
 *
 * How tests wait: for what must come, again and again, as long as the busiest machine may
 * need. Only a test that fails waits so long. patience.c: and scripts are stopped by
 * their CPU budgets alone, not because the machine has no time for them, but for the test
 * of just that. */
#ifndef NEAP_T_LIB_PATIENCE_H
#define NEAP_T_LIB_PATIENCE_H

#include <event2/event.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/clock.h"

#define PATIENCE_MS 60000

/* Whether condition came true; it is looked at every 10 ms. */
#define comes_true(condition)                                                            \
	({                                                                               \
		int patience_left = PATIENCE_MS / 10;                                    \
                                                                                         \
		while (!(condition) && patience_left-- > 0)                              \
			(void)usleep(10000);                                             \
		patience_left >= 0;                                                      \
	})

/* As comes_true, with turns of an event loop (struct event_base) instead of rest. */
#define comes_true_in(base, condition)                                                   \
	({                                                                               \
		const int64_t patience_end =                                             \
			neap_clock_usec(CLOCK_MONOTONIC) + PATIENCE_MS * INT64_C(1000);  \
		bool patience_came;                                                      \
                                                                                         \
		while (!(patience_came = (condition)) &&                                 \
		       neap_clock_usec(CLOCK_MONOTONIC) < patience_end)                  \
			if (event_base_loop(base, EVLOOP_NONBLOCK) >= 0)                 \
				(void)usleep(100);                                       \
		patience_came;                                                           \
	})

/* Scripts get a hundred times their CPU budgets: where a test is not about time,
 * neither a sanitizer nor a host that gives this machine no time ends one. Before any
 * script runs. */
void patience_with_scripts(void);

#endif
