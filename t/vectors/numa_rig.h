/* SPDX-License-Identifier: Apache-2.0
 *
 * A node with NUMA nodes, its pods and a question, put together from cases. */
#ifndef NEAP_T_VECTORS_NUMA_RIG_H
#define NEAP_T_VECTORS_NUMA_RIG_H

#include <jansson.h>

#include "engine/numa/numa_room.h"

struct numa_rig {
	struct neap_resources *resources;
	struct neap_topology *topology;
	/* of the machine; else there is one CPU for each NUMA node, to stand in for it */
	bool is_told;
	struct neap_numa_node *node;
	struct neap_numa_zone zones[8];
	struct neap_numa_ratio ratio;
	struct neap_numa_spec spec;
	struct neap_numa_ask ask;
	struct neap_amounts requests;
	struct neap_numa_room room;
	struct neap_numa_grant grant;
	uint64_t preferred[NEAP_CPU_WORDS_MAX];
};

/* numa_rig_done in any case. */
int numa_rig_init(struct numa_rig *rig, struct neap_error *err);
void numa_rig_done(struct numa_rig *rig);
/* What a pod that binds is refused with where the machine is not told. */
#define NUMA_RIG_UNTOLD "node(s) invalid CPU Topology"
/* rig->topology of the case. zones: NUMA nodes where it is null. */
int numa_rig_topology(struct numa_rig *rig, const json_t *given, int zones,
		      struct neap_error *err);
/* The node of rig->spec. */
int numa_rig_node(struct numa_rig *rig, struct neap_error *err);
/* One pod with CPUs as text, and cells (NULL: none). */
int numa_rig_hold(struct numa_rig *rig, const char *uid, const char *cpus,
		  const int64_t *cells, struct neap_error *err);
/* An amount of every zone's map, or the requests: {"cpu": "4"}. */
int numa_rig_amounts(struct numa_rig *rig, const json_t *map, struct neap_amounts *ret,
		     struct neap_error *err);
enum neap_cpu_bind numa_rig_bind(const char *name); /* NULL is "" */
/* A set of CPUs as text to slots of the node. */
int numa_rig_slots(const struct numa_rig *rig, const char *text, uint64_t *ret,
		   struct neap_error *err);
/* {"want_cpus", "want_numa_cpu_milli", "want_error"}; error NULL: rig->grant it is. */
int numa_rig_answer(const struct numa_rig *rig, const char *error, json_t **ret,
		    struct neap_error *err);

#endif
