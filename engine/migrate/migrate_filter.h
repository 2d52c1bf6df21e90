/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a pod may be migrated: at all (by the pod and its workload), now (by what else
 * is being migrated), and, for those who create jobs, whether one should be created. */
#ifndef NEAP_ENGINE_MIGRATE_MIGRATE_FILTER_H
#define NEAP_ENGINE_MIGRATE_MIGRATE_FILTER_H

#include "engine/migrate/migrate_args.h"
#include "engine/migrate/migrate_cluster.h"

struct neap_limiter;

/* A check. The names are those of gates and of the label "check" of
 * neap_arbitration_waiting. */
enum neap_migrate_check {
	NEAP_CHECK_NONE, /* it may be migrated */
	/* refuses for good */
	NEAP_CHECK_EVICTION_COST,
	NEAP_CHECK_NAMESPACES,
	NEAP_CHECK_DAEMON_SET,
	NEAP_CHECK_MIRROR,
	NEAP_CHECK_STATIC,
	NEAP_CHECK_TERMINATING,
	NEAP_CHECK_BARE,
	NEAP_CHECK_PRIORITY,
	NEAP_CHECK_LOCAL_STORAGE,
	NEAP_CHECK_PVC,
	NEAP_CHECK_LABELS,
	NEAP_CHECK_REPLICAS,
	NEAP_CHECK_NODE_FIT,
	/* refuses now */
	NEAP_CHECK_GLOBALLY,
	NEAP_CHECK_NODE,
	NEAP_CHECK_NAMESPACE,
	NEAP_CHECK_WORKLOAD_MIGRATING,
	NEAP_CHECK_WORKLOAD_UNAVAILABLE,
	/* only for those who create jobs */
	NEAP_CHECK_EXISTING_JOB,
	NEAP_CHECK_SCHEDULER,
	NEAP_CHECK_LIMITER,
	NEAP_CHECK_COUNT
};

const char *neap_migrate_check_name(enum neap_migrate_check check);

enum neap_elsewhere {
	NEAP_ELSEWHERE_NO,
	NEAP_ELSEWHERE_FITS,
	NEAP_ELSEWHERE_UNKNOWN /* at the moment */
};

struct neap_migrate_question {
	const struct neap_migrate_args *args;
	struct neap_migrate_cluster *cluster;
	const json_t *pod; /* NULL where facts are given, and they are enough */
	const struct neap_migrate_pod *facts; /* NULL: those of the cluster */
	/* Waiting jobs count only after arbitration accepted them. */
	bool arbitrates;
	/* Returns whether the pod fits another ready node of args->node_selector; NULL:
	 * not checked. */
	enum neap_elsewhere (*fits_elsewhere)(void *arg,
					      const struct neap_migrate_args *args,
					      const char *ns, const char *name);
	void *arg;
	/* The object limiter, for new jobs; NULL: not checked. */
	struct neap_limiter *limiter;
	int64_t now_usec;
};

/* The checks at all, and the checks now. Each returns the first check that refuses the
 * pod. */
enum neap_migrate_check neap_migrate_forbids(const struct neap_migrate_question *ask);
enum neap_migrate_check neap_migrate_holds(const struct neap_migrate_question *ask);
/* All checks of a descheduler's plugin before it creates a job, including the above; then
 * in two parts. The second part depends on other jobs, and needs facts only. */
enum neap_migrate_check neap_migrate_refuses(const struct neap_migrate_question *ask);
enum neap_migrate_check
neap_migrate_refuses_ever(const struct neap_migrate_question *ask);
enum neap_migrate_check neap_migrate_refuses_now(const struct neap_migrate_question *ask);

/* The parts of neap_migrate_holds and others, one by one. */
enum neap_migrate_check neap_migrate_check_pod(const struct neap_migrate_question *ask);
enum neap_migrate_check
neap_migrate_check_globally(const struct neap_migrate_question *ask);
enum neap_migrate_check neap_migrate_check_node(const struct neap_migrate_question *ask);
enum neap_migrate_check
neap_migrate_check_namespace(const struct neap_migrate_question *ask);
enum neap_migrate_check
neap_migrate_check_workload(const struct neap_migrate_question *ask);
enum neap_migrate_check
neap_migrate_check_replicas(const struct neap_migrate_question *ask);
enum neap_migrate_check
neap_migrate_check_existing(const struct neap_migrate_question *ask);

#endif
