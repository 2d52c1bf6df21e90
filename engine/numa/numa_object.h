/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads NodeResourceTopology objects, and reads and writes a pod's allocation in its
 * annotation resource-status. */
#ifndef NEAP_ENGINE_NUMA_NUMA_OBJECT_H
#define NEAP_ENGINE_NUMA_NUMA_OBJECT_H

#include <jansson.h>

#include "engine/numa/cpu_policy.h"
#include "engine/numa/numa_room.h"

/* The facts of a NodeResourceTopology. */
struct neap_numa_facts {
	struct neap_topology *topology; /* NULL: no usable topology */
	struct neap_cpuset reserved;    /* CPUs not given to pods */
	struct neap_numa_zone *zones;   /* reserved CPUs are already subtracted */
	size_t zone_count;
	enum neap_numa_policy numa;
	bool is_kubelet_full;
	bool is_amplified;   /* the zones have amplification ratios */
	bool has_left_out;   /* some resources of zones were dropped as too many */
	bool has_more_zones; /* more than NEAP_NUMA_NODES_MAX zones; the first are used */
};

/* Unreadable annotations count as missing. The caller calls neap_numa_facts_done in any
 * case. NEAP_EINVAL: a zone's amounts, or the CPUs; NEAP_ENOMEM. */
int neap_numa_facts_read(const json_t *object, struct neap_resources *resources,
			 struct neap_numa_facts *ret, struct neap_error *err);
void neap_numa_facts_done(struct neap_numa_facts *facts);

/* Parses resource-status into slots and cells of the node. ret_cpus: as many words as the
 * layout; ret_cells: as many cells as the node. NUMA nodes, CPUs and resources that the
 * node does not have, and unreadable amounts, are skipped. NEAP_EINVAL, NEAP_ENOMEM. */
int neap_numa_status_read(const struct neap_numa_node *node, const char *text,
			  const struct neap_resources *resources, uint64_t *ret_cpus,
			  int64_t *ret_cells, struct neap_error *err);
/* Zones without amounts are omitted. A new reference; NULL without memory. */
json_t *neap_numa_status_write(const struct neap_numa_node *node,
			       const struct neap_numa_grant *grant);

#endif
