/* SPDX-License-Identifier: Apache-2.0
 *
 * The first steps of a process that neapd forked and that runs on its own. */
#ifndef NEAP_HW_PROCESS_H
#define NEAP_HW_PROCESS_H

#include "engine/base/error.h"

#define NEAP_PROCESS_FDS 32 /* the most that can be kept */

/* Closes all descriptors except those in keep (-1 is none) and 0 to 2. Those of the three
 * that are not in keep become /dev/null, so that no file opened later gets their
 * numbers. */
void neap_process_fds_keep(const int *keep, size_t count);
/* Removes all signal handlers of the daemon, ignores the signals of one list and blocks
 * those of the other; 0 ends a list. Returns a descriptor that reads the blocked ones. */
int neap_process_signals(const int *ignored, const int *blocked, struct neap_error *err);

#endif
