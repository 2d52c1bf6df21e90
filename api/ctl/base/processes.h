/* SPDX-License-Identifier: Apache-2.0
 *
 * Processes of this machine by their control group. */
#ifndef NEAP_API_CTL_BASE_PROCESSES_H
#define NEAP_API_CTL_BASE_PROCESSES_H

#include <sys/types.h>

#include "engine/base/buf.h"
#include "engine/base/error.h"

/* Finds the processes in or below group ("neap-besteffort/podburn", without a mount),
 * lowest number first. The caller frees *ret, which is NULL when there are none. Returns
 * how many; errors: no memory, unreadable /proc. */
int neap_processes_find(const char *group, pid_t **ret, struct neap_error *err);
/* Signals the processes present at that moment; a reused process number is never hit.
 * Returns how many there were; error: a process that we may not signal. */
int neap_processes_signal(const char *group, int number, struct neap_error *err);
/* Appends the command line with blanks between words; nothing for a process that has
 * ended. */
void neap_processes_command(pid_t pid, struct neap_buf *out);

#endif
