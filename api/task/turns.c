/* SPDX-License-Identifier: Apache-2.0 */
#include "api/task/turns.h"

#include <event2/event.h>

#include "engine/base/clock.h"

const int64_t neap_turn_bounds_usec[NEAP_TURN_BOUNDS] = {
	100, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000, 200000, 500000, 1000000,
};

void neap_turns_note(struct neap_turns *turns, int64_t usec)
{
	size_t i = 0;

	while (i < NEAP_TURN_BOUNDS && usec > neap_turn_bounds_usec[i])
		i++;
	turns->counts[i]++;
	turns->usec += usec;
}

void neap_turns_run(struct event_base *base, struct neap_turns *turns)
{
	int64_t from = neap_clock_usec(CLOCK_THREAD_CPUTIME_ID);
	int ended;

	do {
		int64_t until;

		ended = event_base_loop(base, EVLOOP_ONCE);
		until = neap_clock_usec(CLOCK_THREAD_CPUTIME_ID);
		neap_turns_note(turns, until - from);
		from = until;
	} while (ended == 0 && !event_base_got_break(base) && !event_base_got_exit(base));
}

/* The base keeps the time at which it began to call back, to some milliseconds. A clock
 * that is set makes a few turns shorter or longer. */
int64_t neap_turn_share(struct event_base *base, int64_t usec)
{
	int64_t left = NEAP_TURN_SHARED_USEC, least = usec / NEAP_TURN_LEAST_PART;
	struct timeval began;

	if (event_base_gettimeofday_cached(base, &began) == 0)
		left -= neap_clock_unix() -
			((int64_t)began.tv_sec * 1000000 + began.tv_usec);
	if (left > usec)
		left = usec;
	return left > least ? left : least;
}
