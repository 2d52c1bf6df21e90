/* SPDX-License-Identifier: Apache-2.0
 *
 * Arbitration: which of the waiting jobs may begin. The waiting jobs are a query over all
 * jobs, so no state must be kept in step. */
#ifndef NEAP_ENGINE_MIGRATE_ARBITRATE_H
#define NEAP_ENGINE_MIGRATE_ARBITRATE_H

#include "engine/migrate/migrate_filter.h"
#include "engine/migrate/pod_order.h"

enum neap_migrate_verdict {
	NEAP_VERDICT_WAITS, /* until a later round */
	NEAP_VERDICT_PASSES,
	NEAP_VERDICT_FAILS /* for good */
};

/* Facts of a pod for arbitration: read once, valid until the pod or the arguments
 * change. */
struct neap_migrate_known {
	struct neap_pod_order order;
	enum neap_migrate_check check; /* neap_migrate_check_pod */
};

/* A waiting job; valid until the cluster changes. */
struct neap_migrate_waiting {
	struct neap_migrate_job *job;
	const struct neap_migrate_pod *pod; /* known; NULL: the pod does not exist */
	struct neap_pod_order order;
	/* uid of the Job that owns the pod, and the number of its pods that are being
	 * migrated; "": no Job. */
	const char *batch;
	int64_t siblings;
	enum neap_migrate_verdict verdict;
	enum neap_migrate_check check; /* that keeps it waiting, or fails it */
	/* A policy gave it its place, or none does. */
	bool is_placed;
	/* During the sort: the next job of the same Job. */
	const struct neap_migrate_waiting *next;
	bool is_behind;
};

/* Pending, not accepted yet, not paused, not being deleted, and its ttl is not over. */
bool neap_migrate_is_waiting(const struct neap_migrate_job *job, int64_t now_usec);
/* Pending or running, not paused, and its ttl is over. */
bool neap_migrate_is_overdue(const struct neap_migrate_job *job, int64_t now_usec);

/* Returns whether the job's pod is known, or does not exist. */
bool neap_migrate_is_known(const struct neap_migrate_cluster *cluster,
			   const struct neap_migrate_job *job);
/* Makes the pod known. -NEAP_ENOMEM. */
int neap_migrate_know(struct neap_migrate_cluster *cluster,
		      const struct neap_migrate_args *args, const json_t *pod,
		      struct neap_error *err);
/* Fills ret; a pod that is not known counts as missing. */
void neap_migrate_wait_init(const struct neap_migrate_cluster *cluster,
			    struct neap_migrate_job *job,
			    struct neap_migrate_waiting *ret);

/* Sorts by pod order (pod_order.h): jobs without a pod come first, jobs of one Job are
 * together, and Jobs with more migrating pods come first. -NEAP_ENOMEM. */
int neap_migrate_sort(struct neap_migrate_waiting *list, size_t count,
		      struct neap_error *err);
/* Decides on the jobs in that order. One that passes counts for the later ones, and is
 * marked in the cluster. ask->facts is filled in here. */
void neap_migrate_judge(struct neap_migrate_question *ask,
			struct neap_migrate_waiting *list, size_t count);

#endif
