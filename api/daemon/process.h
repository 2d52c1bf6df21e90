/* SPDX-License-Identifier: Apache-2.0
 *
 * The data that every role of neapd shares. It exists before all roles and outlives
 * them. */
#ifndef NEAP_API_DAEMON_PROCESS_H
#define NEAP_API_DAEMON_PROCESS_H

#include <sys/types.h>

#include "api/config/config.h"
#include "engine/log/log.h"

struct event_base;

/* The account that the loop runs under. */
struct neap_account {
	uid_t uid;
	gid_t gid;
	char name[64];
};

struct neap_process {
	int argc;
	char **argv;
	struct neap_config config; /* from argv and its file, as of the last reload */
	struct neap_account account;
	struct neap_log log;
	struct event_base *base; /* set when root is given up */
	bool is_up;              /* the start is over */
	int exit_status;
};

#endif
