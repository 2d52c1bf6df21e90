/* SPDX-License-Identifier: Apache-2.0
 *
 * The settings of the scheduler of a running neapd: --scheduler-config, and its
 * policies. */
#ifndef NEAP_API_DAEMON_ROLE_SCHEDULER_H
#define NEAP_API_DAEMON_ROLE_SCHEDULER_H

#include "api/daemon/process.h"
#include "lua/call/purse.h"

struct neap_client;
struct neap_daemon_api_config;
struct neap_policies_reserve;
struct neap_role_policies;
struct neap_schedule_config;
struct neap_schedule_policies;
struct neap_scheduler;

struct neap_role_scheduler {
	const struct neap_process *process;
	const struct neap_role_policies *policies;
	struct neap_schedule_config *settings;  /* NULL without --scheduler-config */
	struct neap_schedule_policies *placing; /* policies about nodes */
	struct neap_policies_reserve *matching; /* policies about reservations */
	struct neap_purse purse;                /* CPU time of both */
	struct neap_client *client;             /* takes its events; NULL: no events */
};

/* Reads --scheduler-config if it is given, as root if neapd has it. process is
 * borrowed. */
int neap_role_scheduler_load(struct neap_role_scheduler *role,
			     const struct neap_process *process, struct neap_error *err);
/* Makes the callers of the policies, and puts them and the settings into *ret. policies
 * is borrowed. */
int neap_role_scheduler_open(struct neap_role_scheduler *role,
			     const struct neap_role_policies *policies,
			     struct neap_daemon_api_config *ret, struct neap_error *err);
/* Logs the parts of --scheduler-config that have no effect. */
void neap_role_scheduler_tell(const struct neap_role_scheduler *role);
/* For SIGHUP: reads the file again. A file that cannot be used is logged, and the
 * scheduler goes on as before. scheduler may be NULL. */
void neap_role_scheduler_reload(struct neap_role_scheduler *role,
				struct neap_scheduler *scheduler);
/* Call it after the scheduler's end. */
void neap_role_scheduler_free(struct neap_role_scheduler *role);

#endif
