/* SPDX-License-Identifier: Apache-2.0
 *
 * Notices that time passed unnoticed, or was set: the machine was suspended, neapd was
 * stopped or starved, or someone set the wall clock. */
#ifndef NEAP_API_DAEMON_CLOCK_H
#define NEAP_API_DAEMON_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "engine/log/log.h"

struct neap_clocks {
	int64_t mono_usec, boot_usec, real_usec;
};

struct neap_clocks neap_clocks_now(void);
/* Describes what happened between two readings in one sentence. Returns the log level, or
 * -1 when there is nothing to report. late_usec: how late the second reading is. */
int neap_clocks_compare(const struct neap_clocks *before, const struct neap_clocks *now,
			int64_t late_usec, char *buf, size_t size);

#endif
