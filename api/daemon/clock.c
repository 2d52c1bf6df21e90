/* SPDX-License-Identifier: Apache-2.0 */
#include "api/daemon/clock.h"

#include <stdio.h>

#include "engine/base/clock.h"

/* Smaller differences come from a time server or a busy machine. */
#define JUMP_USEC 2000000
#define LATE_USEC 3000000

struct neap_clocks neap_clocks_now(void)
{
	return (struct neap_clocks){
		.mono_usec = neap_clock_usec(CLOCK_MONOTONIC),
		.boot_usec = neap_clock_usec(CLOCK_BOOTTIME),
		.real_usec = neap_clock_usec(CLOCK_REALTIME),
	};
}

int neap_clocks_compare(const struct neap_clocks *before, const struct neap_clocks *now,
			int64_t late_usec, char *buf, size_t size)
{
	int64_t boot = now->boot_usec - before->boot_usec;
	int64_t slept = boot - (now->mono_usec - before->mono_usec);
	int64_t set = now->real_usec - before->real_usec - boot;

	if (set >= JUMP_USEC || set <= -JUMP_USEC) {
		(void)snprintf(
			buf, size,
			"the clock was set %s by %.1f s: times in audit and history "
			"follow it, ticks and time-outs do not",
			set > 0 ? "forward" : "back",
			(double)(set > 0 ? set : -set) / 1e6);
		return NEAP_LOG_WARN;
	}
	if (slept >= JUMP_USEC) {
		(void)snprintf(buf, size, "the machine was suspended for %.1f s",
			       (double)slept / 1e6);
		return NEAP_LOG_INFO;
	}
	if (late_usec >= LATE_USEC) {
		(void)snprintf(
			buf, size,
			"this tick is %.1f s late: neapd was stopped, or got no CPU; "
			"what was set stayed",
			(double)late_usec / 1e6);
		return NEAP_LOG_WARN;
	}
	return -1;
}
