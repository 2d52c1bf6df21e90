/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a pod may be migrated: for good (what the pod and its workload are), now (what
 * else is being migrated), and for those who make jobs whether one is wanted at all. */
#ifndef NEAP_ENGINE_MIGRATE_MIGRATE_FILTER_H
#define NEAP_ENGINE_MIGRATE_MIGRATE_FILTER_H

#include "engine/migrate/migrate_args.h"
#include "engine/migrate/migrate_cluster.h"

struct neap_limiter;

/* A check. The names are those of gates and of the label "check" of
 * neap_arbitration_waiting. */
enum neap_migrate_check {
	NEAP_CHECK_NONE, /* it may */
	/* for good */
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
	/* now */
	NEAP_CHECK_GLOBALLY,
	NEAP_CHECK_NODE,
	NEAP_CHECK_NAMESPACE,
	NEAP_CHECK_WORKLOAD_MIGRATING,
	NEAP_CHECK_WORKLOAD_UNAVAILABLE,
	/* of those who make jobs */
	NEAP_CHECK_EXISTING_JOB,
	NEAP_CHECK_SCHEDULER,
	NEAP_CHECK_LIMITER,
	NEAP_CHECK_COUNT
};

const char *neap_migrate_check_name(enum neap_migrate_check check);

struct neap_migrate_question {
	const struct neap_migrate_args *args;
	struct neap_migrate_cluster *cluster;
	const json_t *pod; /* NULL where facts are given, and they are enough */
	const struct neap_migrate_pod *facts; /* NULL: those of the cluster */
	/* Jobs that wait count only once they were let through. */
	bool arbitrates;
	/* Whether the pod fits another ready node of args->node_selector; NULL: is not
	 * asked. */
	bool (*fits_elsewhere)(void *arg, const json_t *pod);
	void *arg;
	/* The object limiter, as it is asked for new jobs; NULL: it is not asked. */
	struct neap_limiter *limiter;
	int64_t now_usec;
};

/* Each returns the first check that refuses the pod. */
enum neap_migrate_check neap_migrate_forbids(const struct neap_migrate_question *ask);
enum neap_migrate_check neap_migrate_holds(const struct neap_migrate_question *ask);
/* As a plugin of a descheduler asks before it makes a job: all of the above, too. The
 * second part is what other jobs change, and needs facts only. */
enum neap_migrate_check neap_migrate_refuses(const struct neap_migrate_question *ask);
enum neap_migrate_check
neap_migrate_refuses_ever(const struct neap_migrate_question *ask);
enum neap_migrate_check neap_migrate_refuses_now(const struct neap_migrate_question *ask);

/* The parts of neap_migrate_holds and others, one by one. */
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
