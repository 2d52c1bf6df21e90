/* SPDX-License-Identifier: Apache-2.0
 *
 * MigrationControllerArgs: what a descheduler's configuration says about migration. */
#ifndef NEAP_ENGINE_MIGRATE_MIGRATE_ARGS_H
#define NEAP_ENGINE_MIGRATE_MIGRATE_ARGS_H

#include <jansson.h>

#include "engine/base/selector.h"

/* How a pod leaves. */
enum neap_migrate_policy {
	NEAP_MIGRATE_EVICTION,
	NEAP_MIGRATE_DELETE,
	NEAP_MIGRATE_SOFT,
	NEAP_MIGRATE_POLICY_COUNT
};
extern const char *const neap_migrate_policies[NEAP_MIGRATE_POLICY_COUNT + 1];

/* Names in skipEvictionGates: checks that are off, whatever their own arguments say. */
enum neap_migrate_gate {
	NEAP_GATE_UNAVAILABLE_PER_WORKLOAD,
	NEAP_GATE_MIGRATING_PER_WORKLOAD,
	NEAP_GATE_MIGRATING_PER_NODE,
	NEAP_GATE_MIGRATING_PER_NAMESPACE,
	NEAP_GATE_MIGRATING_GLOBALLY,
	NEAP_GATE_EXPECTED_REPLICAS,
	NEAP_GATE_PVC,
	NEAP_GATE_BARE_PODS,
	NEAP_GATE_LOCAL_STORAGE,
	NEAP_GATE_SYSTEM_CRITICAL,
	NEAP_GATE_PRIORITY_THRESHOLD,
	NEAP_GATE_LABEL_SELECTOR,
	NEAP_GATE_NAMESPACES,
	NEAP_GATE_NODE_FIT,
	NEAP_GATE_COUNT
};

/* A number, or a percentage of a workload's replicas. */
struct neap_scaled {
	enum { NEAP_SCALED_UNSET, NEAP_SCALED_NUMBER, NEAP_SCALED_PERCENT } kind;
	int64_t value;
};

/* NULL leaves *ret unset. -NEAP_EINVAL: neither a whole number nor "N%". */
int neap_scaled_read(const json_t *value, struct neap_scaled *ret,
		     struct neap_error *err);
/* Returns the number for so many replicas: percentages are rounded down, 0 counts as 1,
 * unset is 10 % above 10 replicas, 2 from 4 on, else 1; never more than the replicas. */
int64_t neap_scaled_of(const struct neap_scaled *scaled, int64_t replicas);

/* A token bucket per object: max tokens in duration. */
struct neap_object_limit {
	int64_t duration_usec; /* 0: off */
	struct neap_scaled max;
	int64_t burst; /* at least 1 */
};

struct neap_migrate_args {
	bool dry_run;
	int64_t concurrent; /* looks at once; neap's loop has one thread */
	bool failed_bare_pods, all_bare_pods, local_storage, system_critical, ignore_pvc;
	bool has_threshold; /* pods of this priority and above stay */
	int64_t threshold;
	const char *threshold_name;      /* of a PriorityClass; NULL */
	struct neap_selector *selector;  /* NULL: all pods */
	const json_t *include, *exclude; /* namespaces; NULL */
	bool node_fit;
	struct neap_selector *node_selector; /* NULL: all nodes */
	bool skips[NEAP_GATE_COUNT];
	int64_t per_node, per_namespace, globally; /* 0: no limit */
	struct neap_scaled migrating, unavailable; /* of a workload */
	bool any_replicas;
	struct neap_object_limit workload_limit, namespace_limit;
	bool is_direct; /* defaultJobMode is EvictDirectly */
	int64_t ttl_usec;
	/* Scheduler names for whose pods a Reservation can be made. served: further names
	 * besides the configured ones, NULL-terminated, borrowed; NULL: none. */
	const json_t *schedulers;
	const char *const *served;
	double qps;
	int64_t burst;
	enum neap_migrate_policy policy;
	const json_t *delete_options; /* NULL: none */
	bool arbitrates;
	int64_t interval_usec;
	/* Time after which a job fails whose Reservation cannot be placed; an argument of
	 * neap's own. 0: only its ttl ends it. */
	int64_t unschedulable_usec;
	json_t *json; /* what the others point to */
};

/* Reads args with the defaults of Koordinator; NULL: all defaults. Errors name the field
 * ("objectLimiters.workload.duration"). */
int neap_migrate_args_init(struct neap_migrate_args *args, const json_t *json,
			   struct neap_error *err);
void neap_migrate_args_done(struct neap_migrate_args *args);

#endif
