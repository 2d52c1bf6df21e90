/* SPDX-License-Identifier: Apache-2.0
 *
 * What limits ask for, counted while objects come and go, so that an answer does not
 * depend on how many jobs there are. A job counts while it is active and names a pod; a
 * pod is loaded while it has such a job. */
#ifndef NEAP_ENGINE_MIGRATE_MIGRATE_COUNTS_H
#define NEAP_ENGINE_MIGRATE_MIGRATE_COUNTS_H

#include "engine/migrate/migrate_cluster.h"

/* Which jobs. */
enum neap_migrate_jobs {
	NEAP_JOBS_ACTIVE,
	NEAP_JOBS_BEGUN, /* but for those that wait for arbitration */
	NEAP_JOBS_COUNT
};

/* A pod that is asked about; it need not be in the cluster. */
struct neap_migrate_who {
	const char *ns, *name, *uid;
};

/* Jobs that are not about this pod, of its namespace or of all. A job without uid is
 * about another one. */
int64_t neap_migrate_count_others(const struct neap_migrate_cluster *cluster,
				  enum neap_migrate_jobs which,
				  const struct neap_migrate_who *who, bool of_namespace);
/* Loaded pods of the node beside this one. */
int64_t neap_migrate_count_node(const struct neap_migrate_cluster *cluster,
				enum neap_migrate_jobs which,
				const struct neap_migrate_who *who, const char *node);
/* Loaded pods of the pod's controller, but not itself where only jobs of its own uid load
 * it; ret_serving: those among them that serve. */
int64_t neap_migrate_count_owner(const struct neap_migrate_cluster *cluster,
				 enum neap_migrate_jobs which,
				 const struct neap_migrate_pod *pod,
				 int64_t *ret_serving);
/* All loaded pods of a controller. */
int64_t neap_migrate_count_owned(const struct neap_migrate_cluster *cluster,
				 enum neap_migrate_jobs which, const char *owner_uid);
/* Pods of a controller that do not serve. */
int64_t neap_migrate_count_unserving(const struct neap_migrate_cluster *cluster,
				     const char *owner_uid);
/* Whether an active job is about the pod, by its uid or by its name. */
bool neap_migrate_has_job(const struct neap_migrate_cluster *cluster,
			  const struct neap_migrate_who *who);

/* --- for migrate_cluster.c --- */

/* sign: 1 or -1. False without memory; the counts are then worth nothing. */
bool neap_migrate_counts_job(struct neap_migrate_cluster *cluster,
			     const struct neap_migrate_job *job, int sign);
bool neap_migrate_counts_pod(struct neap_migrate_cluster *cluster,
			     const struct neap_migrate_pod *pod, int sign);
/* The job is about to begin. Takes no memory. */
void neap_migrate_counts_begin(struct neap_migrate_cluster *cluster,
			       const struct neap_migrate_job *job);

#endif
