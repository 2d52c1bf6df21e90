/* SPDX-License-Identifier: Apache-2.0
 *
 * What a process does first that neapd forked and that goes on by itself. */
#ifndef NEAP_HW_PROCESS_H
#define NEAP_HW_PROCESS_H

#include "engine/base/error.h"

#define NEAP_PROCESS_FDS 32 /* as many can be kept */

/* Closes all descriptors but these (-1 is none) and 0 to 2. What is not kept of those
 * three becomes /dev/null, so that no file opened later gets such a number. */
void neap_process_fds_keep(const int *keep, size_t count);
/* Takes away all handlers of the daemon, ignores the signals of one list and blocks those
 * of the other; 0 ends a list. Returns a descriptor that reads the blocked ones. */
int neap_process_signals(const int *ignored, const int *blocked, struct neap_error *err);

#endif
