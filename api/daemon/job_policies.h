/* SPDX-License-Identifier: Apache-2.0
 *
 * Policies of the kinds migration and evictor for PodMigrationJobs. A profile may name
 * one of each for the jobs of its rounds. All other jobs, those of users among them, have
 * the first policy in service that no profile names. */
#ifndef NEAP_API_DAEMON_JOB_POLICIES_H
#define NEAP_API_DAEMON_JOB_POLICIES_H

#include "api/migrate/migrate.h"

/* For struct neap_migrate_config; arg is a struct neap_role_descheduler. */

/* The next policy sorts its jobs, within the places that these have in the list: each
 * call may take the time of one policy, so that a call of the loop asks one only. */
bool neap_job_policies_order(void *arg, struct neap_migrate_waiting *list, size_t count);
/* A pod whose profile names a policy stays while that one gives no answer. */
void neap_job_policies_leave(void *arg, const json_t *pod, const json_t *job,
			     struct neap_migrate_way *way);

#endif
