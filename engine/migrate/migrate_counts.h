/* SPDX-License-Identifier: Apache-2.0
 *
 * The counts that the limits of migration need, updated as objects come and go, so that
 * an answer costs the same however many jobs exist. A job counts while it is active and
 * names a pod; a pod is loaded while it has such a job. */
#ifndef NEAP_ENGINE_MIGRATE_MIGRATE_COUNTS_H
#define NEAP_ENGINE_MIGRATE_MIGRATE_COUNTS_H

#include "engine/migrate/migrate_cluster.h"

/* Which jobs. */
enum neap_migrate_jobs {
	NEAP_JOBS_ACTIVE,
	NEAP_JOBS_BEGUN, /* active ones except those that wait for arbitration */
	NEAP_JOBS_COUNT
};

/* The pod in question; it need not be in the cluster. */
struct neap_migrate_who {
	const char *ns, *name, *uid;
};

/* Counts jobs for other pods, in its namespace or in all. A job without a pod's uid
 * counts as one for another pod. */
int64_t neap_migrate_count_others(const struct neap_migrate_cluster *cluster,
				  enum neap_migrate_jobs which,
				  const struct neap_migrate_who *who, bool of_namespace);
/* Counts loaded pods of the node other than this one. */
int64_t neap_migrate_count_node(const struct neap_migrate_cluster *cluster,
				enum neap_migrate_jobs which,
				const struct neap_migrate_who *who, const char *node);
/* Counts loaded pods of the pod's controller, without the pod itself if only jobs of its
 * own uid load it; ret_serving: those that are serving. */
int64_t neap_migrate_count_owner(const struct neap_migrate_cluster *cluster,
				 enum neap_migrate_jobs which,
				 const struct neap_migrate_pod *pod,
				 int64_t *ret_serving);
/* Counts all loaded pods of a controller. */
int64_t neap_migrate_count_owned(const struct neap_migrate_cluster *cluster,
				 enum neap_migrate_jobs which, const char *owner_uid);
/* Counts the pods of a controller that are not serving. */
int64_t neap_migrate_count_unserving(const struct neap_migrate_cluster *cluster,
				     const char *owner_uid);
/* Returns whether an active job names the pod, by uid or by name. */
bool neap_migrate_has_job(const struct neap_migrate_cluster *cluster,
			  const struct neap_migrate_who *who);

/* --- for migrate_cluster.c --- */

/* sign: 1 or -1. False without memory; the counts are then invalid. */
bool neap_migrate_counts_job(struct neap_migrate_cluster *cluster,
			     const struct neap_migrate_job *job, int sign);
bool neap_migrate_counts_pod(struct neap_migrate_cluster *cluster,
			     const struct neap_migrate_pod *pod, int sign);
/* The job is about to begin. Takes no memory. */
void neap_migrate_counts_begin(struct neap_migrate_cluster *cluster,
			       const struct neap_migrate_job *job);

#endif
