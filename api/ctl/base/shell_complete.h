/* SPDX-License-Identifier: Apache-2.0
 *
 * Shell completion: the words that may follow at the cursor, from the table of commands,
 * their usage texts and options, and neapd's table of options; names of policies,
 * versions and parameters from the daemon, if one answers within a second. The shells'
 * scripts call it at every TAB, so they never get out of date. */
#ifndef NEAP_API_CTL_BASE_SHELL_COMPLETE_H
#define NEAP_API_CTL_BASE_SHELL_COMPLETE_H

#include "api/ctl/base/ctl.h"

/* The hidden command: neapctl __complete [--neapd] -- WORD... , with the words after the
 * program's name up to the cursor; the last one is incomplete ("" for a new one). */
#define NEAP_COMPLETE_WORD "__complete"

struct neap_complete {
	const struct neap_command *const *commands;
	size_t command_count;
	const struct neap_option *globals;
};

/* Prints one candidate per line, "WORD<tab>description", and directives for the shell:
 * ":file", ":dir", ":command" (names of those too), ":nospace" (more follows). Prints
 * nothing else, whatever fails. Returns 0. */
int neap_complete(const struct neap_complete *table, int argc, char **argv);

#endif
