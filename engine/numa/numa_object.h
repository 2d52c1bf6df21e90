/* SPDX-License-Identifier: Apache-2.0
 *
 * NodeResourceTopology objects, and the allocation of a pod in its annotation resource-status, read and written. */
#ifndef NEAP_ENGINE_NUMA_NUMA_OBJECT_H
#define NEAP_ENGINE_NUMA_NUMA_OBJECT_H

#include <jansson.h>

#include "engine/numa/cpu_policy.h"
#include "engine/numa/numa_room.h"

/* What such an object tells of a node. */
struct neap_numa_facts {
	struct neap_topology *topology; /* NULL: none that can be used */
	struct neap_cpuset reserved;    /* CPUs that no pod is given */
	struct neap_numa_zone *zones;   /* CPU of the reserved ones is taken off */
	size_t zone_count;
	enum neap_numa_policy numa;
	bool is_kubelet_full;
	bool is_amplified;   /* it has ratios of its own in the zones */
	bool has_left_out;   /* resources of zones, as there are too many */
	bool has_more_zones; /* than NEAP_NUMA_NODES_MAX, which are the first ones */
};

/* What cannot be read of the annotations is passed over, as if it was not there. neap_numa_facts_done in any case.
 * NEAP_EINVAL: a zone's amounts, or the CPUs; NEAP_ENOMEM. */
int neap_numa_facts_read(const json_t *object, struct neap_resources *resources,
			 struct neap_numa_facts *ret, struct neap_error *err);
void neap_numa_facts_done(struct neap_numa_facts *facts);

/* Text of resource-status, as slots and cells of the node. ret_cpus: words of the layout, ret_cells: as the cells of
 * the node. NUMA nodes, CPUs and resources that the node has not are passed over, and amounts that cannot be read.
 * NEAP_EINVAL, NEAP_ENOMEM. */
int neap_numa_status_read(const struct neap_numa_node *node, const char *text,
			  const struct neap_resources *resources, uint64_t *ret_cpus,
			  int64_t *ret_cells, struct neap_error *err);
/* Zones without any amount are left out. A new reference; NULL without memory. */
json_t *neap_numa_status_write(const struct neap_numa_node *node,
			       const struct neap_numa_grant *grant);

#endif
