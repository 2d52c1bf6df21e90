/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/base/clock.h"

int64_t neap_clock_usec(clockid_t clock)
{
	struct timespec now = {0};

	(void)clock_gettime(clock, &now); /* cannot fail with these clocks */
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t neap_clock_unix(void)
{
	return neap_clock_usec(CLOCK_REALTIME);
}

int64_t neap_clock_steady(void)
{
	return neap_clock_usec(CLOCK_MONOTONIC);
}
