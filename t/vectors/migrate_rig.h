/* SPDX-License-Identifier: Apache-2.0
 *
 * The cluster of a case of the areas of migration. */
#ifndef NEAP_T_VECTORS_MIGRATE_RIG_H
#define NEAP_T_VECTORS_MIGRATE_RIG_H

#include "engine/migrate/job.h"

struct migrate_rig {
	struct neap_migrate_args args;
	struct neap_migrate_cluster cluster;
	int64_t now_usec;
};

/* Of args, pods, workloads, jobs and now. Has to be ended also when it fails. */
int migrate_rig_init(struct migrate_rig *rig, const json_t *given,
		     struct neap_error *err);
void migrate_rig_done(struct migrate_rig *rig);
/* Borrowed; NULL: there is none. */
json_t *migrate_rig_find(const json_t *list, const char *ns, const char *name);

#endif
