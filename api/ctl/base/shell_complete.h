/* SPDX-License-Identifier: Apache-2.0
 *
 * Completion: which words may stand where the cursor is, from the table of commands, the usage text
 * and the options of each, and neapd's table of options; names of policies, versions and parameters
 * from the daemon, if one answers within a second. The scripts of the shells ask for it at every
 * TAB, so nothing in them can be older than the program. */
#ifndef NEAP_API_CTL_BASE_SHELL_COMPLETE_H
#define NEAP_API_CTL_BASE_SHELL_COMPLETE_H

#include "api/ctl/base/ctl.h"

/* The hidden first word that asks: neapctl __complete [--neapd] -- WORD... , the words behind the
 * program's name up to the cursor, the last one as far as it is written ("" for a new one). */
#define NEAP_COMPLETE_WORD "__complete"

struct neap_complete {
	const struct neap_command *const *commands;
	size_t command_count;
	const struct neap_option *globals;
};

/* Prints one candidate a line, "WORD<tab>what it is", and words for the shell: ":file", ":dir",
 * ":command" (names of those, too), ":nospace" (more is to follow). Says nothing else, whatever goes
 * wrong: 0. */
int neap_complete(const struct neap_complete *table, int argc, char **argv);

/* Exported for tests: the kind of the index-th positional word of a usage text, as it stands there
 * ("KIND/NAME"), "" when there is none. */
void neap_complete_usage(const struct neap_command *command,
			 const struct neap_option *globals, int index, char *buf,
			 size_t size);

#endif
