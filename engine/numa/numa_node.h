/* SPDX-License-Identifier: Apache-2.0
 *
 * One node as whoever places pods on NUMA nodes and CPUs sees it: its zones (NUMA nodes with amounts of resources), its
 * CPUs, and who has what of both. Amounts of all zones lie in one array of cells, zone by zone. Of one thread. */
#ifndef NEAP_ENGINE_NUMA_NUMA_NODE_H
#define NEAP_ENGINE_NUMA_NUMA_NODE_H

#include "engine/machine/accumulator.h"
#include "engine/machine/numa_hint.h"
#include "engine/object/amounts.h"

/* Resources of the zones of one node; there are no zones for further ones. */
#define NEAP_NUMA_RESOURCES_MAX 16
#define NEAP_NUMA_CELLS_MAX     (NEAP_NUMA_NODES_MAX * NEAP_NUMA_RESOURCES_MAX)

struct neap_numa_zone {
	int node; /* number of the operating system */
	struct neap_amounts total;
};

/* How much more a node is said to have than it has; above 1. */
struct neap_numa_ratio {
	uint32_t resource;
	double ratio;
};

struct neap_numa_spec {
	const struct neap_resources *resources; /* borrowed as long as the node lives */
	const struct neap_topology *topology;
	struct neap_cpu_layout *layout;     /* of the topology; NULL: it is made */
	const struct neap_cpuset *reserved; /* CPUs that no pod is given; NULL: none */
	const struct neap_numa_zone *zones; /* in any order */
	size_t zone_count;
	int max_refs; /* pods that may share a CPU */
	const struct neap_numa_ratio *ratios;
	size_t ratio_count;
	bool is_amplified; /* the zones' amounts have the ratios in them */
};

/* What a pod has. cells: as those of the node; NULL: none of it. */
struct neap_numa_held {
	char *uid;
	uint64_t *cpus; /* slots of the layout; NULL: none */
	int64_t *cells;
	enum neap_cpu_exclusive exclusive;
};

struct neap_numa_node {
	const struct neap_resources *names;
	struct neap_cpu_layout *layout;
	struct neap_cpu_use *use;
	int max_refs;
	uint64_t *reserved; /* slots */
	int zone_count, resource_count;
	bool has_left_out;                  /* resources beyond NEAP_NUMA_RESOURCES_MAX */
	uint64_t zones;                     /* all of them, as a set */
	int zone_node[NEAP_NUMA_NODES_MAX]; /* ascending */
	uint16_t reported[NEAP_NUMA_NODES_MAX]; /* resources of a zone, as bits */
	uint32_t resource[NEAP_NUMA_RESOURCES_MAX];
	double ratio[NEAP_NUMA_RESOURCES_MAX]; /* 1: none */
	uint64_t *zone_cpus;                   /* slots, zone by zone */
	int64_t *total, *used; /* cells; total is amplified, used is not */
	/* Of used, what a reservation and those that use it have both, which is to be taken off; NULL: nothing. */
	int64_t *twice;
	struct neap_numa_held *pods;
	size_t pod_count, pod_size;
};

/* NEAP_EINVAL: no usable topology, a zone twice; NEAP_ETOOLARGE: more than
 * NEAP_NUMA_NODES_MAX zones; NEAP_ENOMEM. Of more
 * than NEAP_NUMA_RESOURCES_MAX resources CPU and memory are there, and the first others. */
int neap_numa_node_new(const struct neap_numa_spec *spec, struct neap_numa_node **ret,
		       struct neap_error *err);
void neap_numa_node_free(struct neap_numa_node *node); /* NULL is fine */

/* What a pod got, as slots and cells of the node; either may be NULL. A pod that has something already keeps that. */
int neap_numa_node_hold(struct neap_numa_node *node, const char *uid,
			const uint64_t *cpus, const int64_t *cells,
			enum neap_cpu_exclusive exclusive, struct neap_error *err);
void neap_numa_node_release(struct neap_numa_node *node, const char *uid);
/* NULL: nothing is held. Borrowed until the next change. */
const struct neap_numa_held *neap_numa_node_find(const struct neap_numa_node *node,
						 const char *uid);
/* Who has CPUs of each zone, for neap_numa_merge. */
void neap_numa_node_states(const struct neap_numa_node *node,
			   enum neap_numa_state states[NEAP_NUMA_NODES_MAX]);
/* The zone of the NUMA node of that number; -1: none. */
int neap_numa_node_zone(const struct neap_numa_node *node, int64_t number);
/* Where the resource stands in a zone's cells; -1: no zone reports it. */
int neap_numa_node_resource(const struct neap_numa_node *node, uint32_t resource);
/* How many CPUs of the set lie in the zone. */
int neap_numa_node_cpus_in(const struct neap_numa_node *node, int zone,
			   const uint64_t *cpus);

/* Rounded up; as it is when the ratio is 1 or less. */
int64_t neap_numa_amplify(int64_t amount, double ratio);

#endif
