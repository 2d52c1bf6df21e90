/* SPDX-License-Identifier: Apache-2.0
 *
 * A node as seen by NUMA and CPU placement: its zones (NUMA nodes with resource amounts),
 * its CPUs, and which pod holds what. The amounts of all zones are one array of cells,
 * zone by zone. Single-threaded. */
#ifndef NEAP_ENGINE_NUMA_NUMA_NODE_H
#define NEAP_ENGINE_NUMA_NUMA_NODE_H

#include "engine/cpu/accumulator.h"
#include "engine/cpu/numa_hint.h"
#include "engine/object/amounts.h"

/* Resources tracked per zone; further ones are not tracked by zone. */
#define NEAP_NUMA_RESOURCES_MAX 16
#define NEAP_NUMA_CELLS_MAX     (NEAP_NUMA_NODES_MAX * NEAP_NUMA_RESOURCES_MAX)

struct neap_numa_zone {
	int node; /* operating system number */
	struct neap_amounts total;
};

/* The amplification ratio of a node's resource; above 1. */
struct neap_numa_ratio {
	uint32_t resource;
	double ratio;
};

struct neap_numa_spec {
	const struct neap_resources *resources; /* borrowed for the life of the node */
	const struct neap_topology *topology;
	/* built from the topology; NULL: the node builds it */
	struct neap_cpu_layout *layout;
	const struct neap_cpuset *reserved; /* CPUs not given to pods; NULL: none */
	const struct neap_numa_zone *zones; /* in any order */
	size_t zone_count;
	int max_refs; /* pods that may share a CPU */
	const struct neap_numa_ratio *ratios;
	size_t ratio_count;
	bool is_amplified; /* the zones' amounts already include the ratios */
};

/* What a pod holds. cells: as the node's; NULL: none. */
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
	uint64_t zones;                     /* all zones as a set */
	int zone_node[NEAP_NUMA_NODES_MAX]; /* ascending */
	uint16_t reported[NEAP_NUMA_NODES_MAX]; /* resources of a zone as bits */
	uint32_t resource[NEAP_NUMA_RESOURCES_MAX];
	double ratio[NEAP_NUMA_RESOURCES_MAX]; /* 1: none */
	uint64_t *zone_cpus;                   /* slots, zone by zone */
	int64_t *total, *used; /* cells; total is amplified, used is not */
	/* The part of used that a reservation and its owners both count, to be
	 * subtracted; NULL: nothing. */
	int64_t *twice;
	struct neap_numa_held *pods;
	size_t pod_count, pod_size;
};

/* NEAP_EINVAL: no usable topology, or a zone listed twice; NEAP_ETOOLARGE: more than
 * NEAP_NUMA_NODES_MAX zones; NEAP_ENOMEM. With more than NEAP_NUMA_RESOURCES_MAX
 * resources, CPU, memory and the first others are tracked. */
int neap_numa_node_new(const struct neap_numa_spec *spec, struct neap_numa_node **ret,
		       struct neap_error *err);
void neap_numa_node_free(struct neap_numa_node *node); /* NULL is fine */

/* Records what a pod got, as slots and cells of the node; either may be NULL. A pod that
 * already holds something keeps that. */
int neap_numa_node_hold(struct neap_numa_node *node, const char *uid,
			const uint64_t *cpus, const int64_t *cells,
			enum neap_cpu_exclusive exclusive, struct neap_error *err);
void neap_numa_node_release(struct neap_numa_node *node, const char *uid);
/* NULL: it holds nothing. Borrowed until the next change. */
const struct neap_numa_held *neap_numa_node_find(const struct neap_numa_node *node,
						 const char *uid);
/* Fills in who uses CPUs of each zone, for neap_numa_merge. */
void neap_numa_node_states(const struct neap_numa_node *node,
			   enum neap_numa_state states[NEAP_NUMA_NODES_MAX]);
/* Returns the zone of the NUMA node with that number; -1: none. */
int neap_numa_node_zone(const struct neap_numa_node *node, int64_t number);
/* Returns the resource's index within a zone's cells; -1: no zone reports it. */
int neap_numa_node_resource(const struct neap_numa_node *node, uint32_t resource);
/* Returns how many CPUs of the set are in the zone. */
int neap_numa_node_cpus_in(const struct neap_numa_node *node, int zone,
			   const uint64_t *cpus);

/* Rounded up; unchanged when the ratio is 1 or less. */
int64_t neap_numa_amplify(int64_t amount, double ratio);

#endif
