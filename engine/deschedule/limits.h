/* SPDX-License-Identifier: Apache-2.0
 *
 * How many evictions a round may make: for each node, namespace and workload, and in all.
 * The counters last for one round and count for all its strategies together. */
#ifndef NEAP_ENGINE_DESCHEDULE_LIMITS_H
#define NEAP_ENGINE_DESCHEDULE_LIMITS_H

#include "engine/deschedule/world.h"

#define NEAP_LIMITS_NONE INT64_MAX

/* 0: no pod may leave. */
struct neap_limits {
	int64_t per_node, per_namespace, per_workload, total; /* NEAP_LIMITS_NONE */
	/* asks for the total first, as DeschedulerPolicy does; else for the node first */
	bool is_total_first;
};

struct neap_limit_counts {
	int64_t total;
	uint32_t *nodes, *groups;    /* by index of the node, number of the group */
	struct neap_map *namespaces; /* uint32_t by name */
	struct neap_arena arena;
};

enum neap_limit {
	NEAP_LIMIT_NONE,
	NEAP_LIMIT_NODE,
	NEAP_LIMIT_NAMESPACE,
	NEAP_LIMIT_WORKLOAD,
	NEAP_LIMIT_TOTAL
};

int neap_limit_counts_init(struct neap_limit_counts *counts,
			   const struct neap_world *world, struct neap_error *err);
void neap_limit_counts_done(struct neap_limit_counts *counts);
/* Returns the limit that one more eviction would exceed. */
enum neap_limit neap_limits_find(const struct neap_limits *limits,
				 const struct neap_limit_counts *counts,
				 const struct neap_world_pod *pod);
/* Counts an eviction. -NEAP_ENOMEM, and nothing is counted. */
int neap_limit_counts_add(struct neap_limit_counts *counts,
			  const struct neap_world_pod *pod, struct neap_error *err);

/* Undoes the count of one eviction. */
void neap_limit_counts_remove(struct neap_limit_counts *counts,
			      const struct neap_world_pod *pod);

#endif
