/* SPDX-License-Identifier: Apache-2.0
 *
 * Notices that time went by without us, or was set: the machine was suspended, neapd was stopped or
 * got no CPU, somebody set the wall clock. */
#ifndef NEAP_API_DAEMON_CLOCK_H
#define NEAP_API_DAEMON_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "engine/log/log.h"

struct neap_clocks {
	int64_t mono_usec, boot_usec, real_usec;
};

struct neap_clocks neap_clocks_now(void);
/* Writes what happened between two looks as one sentence: -1 and nothing when it is nothing to tell,
 * else the level. late_usec: how long after its time the second one comes. */
int neap_clocks_compare(const struct neap_clocks *before, const struct neap_clocks *now,
			int64_t late_usec, char *buf, size_t size);

#endif
