/* SPDX-License-Identifier: Apache-2.0
 *
 * Processes of this machine by the control group that they are in. */
#ifndef NEAP_API_CTL_BASE_PROCESSES_H
#define NEAP_API_CTL_BASE_PROCESSES_H

#include <sys/types.h>

#include "engine/base/buf.h"
#include "engine/base/error.h"

/* Those in group ("neap-besteffort/podburn", without a mount) or below it, lowest number
 * first. *ret is the caller's to free, NULL when there are none. Returns how many;
 * errors: no memory, no readable /proc. */
int neap_processes_find(const char *group, pid_t **ret, struct neap_error *err);
/* Signals those that still are there when it looks; a number that was given to another
 * process meanwhile is not hit. Returns how many there were; errors: a process that we
 * may not signal. */
int neap_processes_signal(const char *group, int number, struct neap_error *err);
/* Adds the command line, words parted by blanks; nothing for a process that went. */
void neap_processes_command(pid_t pid, struct neap_buf *out);

#endif
