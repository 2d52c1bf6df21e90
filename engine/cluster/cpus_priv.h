/* SPDX-License-Identifier: Apache-2.0
 *
 * Books of CPUs, shared by the files of engine/cluster/cluster*.c and cpus*.c. */
#ifndef NEAP_ENGINE_CLUSTER_CPUS_PRIV_H
#define NEAP_ENGINE_CLUSTER_CPUS_PRIV_H

#include "engine/cluster/cluster.h"
#include "engine/cluster/cpus.h"
#include "engine/numa/numa_object.h"

/* A NodeResourceTopology as it was told. */
struct neap_cluster_topology {
	struct neap_numa_facts facts;
	struct neap_cpu_layout
		*layout; /* NULL: there is no CPU topology that can be used */
	bool is_broken;  /* could not be read */
};

/* What a node says by its own labels and annotations. */
struct neap_cpus_said {
	struct neap_numa_ratio ratios[NEAP_NUMA_RESOURCES_MAX];
	size_t ratio_count;
	bool has_bad_ratio; /* one that cannot be read: then none counts */
	struct neap_cpu_rule rule;
	enum { NEAP_STRATEGY_UNSAID, NEAP_STRATEGY_MOST, NEAP_STRATEGY_LEAST } strategy;
};

/* --- what a node says: cpus_node.c --- */

/* Fills cpus_said, and takes what the node keeps for itself off its allocatable. Annotations that cannot be read are said
 * in trouble, and count as missing. NEAP_ENOMEM. */
int neap_cluster_read_cpus(struct neap_cluster *cluster, struct neap_cluster_node *node,
			   const json_t *tree, struct neap_error *err);

/* --- books: cpus.c --- */

void neap_cluster_free_topologies(struct neap_cluster *cluster);
/* The book of a node that is about to be as in now; that of the node itself when nothing changed. */
int neap_cluster_make_cpus(struct neap_cluster *cluster,
			   const struct neap_cluster_node *node,
			   const struct neap_cluster_node *now, struct neap_cpus **ret,
			   struct neap_error *err);
void neap_cluster_put_cpus(struct neap_cluster *cluster, struct neap_cluster_node *node,
			   struct neap_cpus *book);
void neap_cluster_drop_cpus(struct neap_cluster *cluster, struct neap_cluster_node *node);
/* With the recount of a row, behind its columns. */
void neap_cluster_count_cpus(struct neap_cluster *cluster,
			     struct neap_cluster_node *node);
/* A pod that has just got its seat, and one that is about to lose it. A pod that has CPUs already keeps these. */
void neap_cluster_hold_cpus(struct neap_cluster *cluster, const struct neap_pod *pod);
void neap_cluster_release_cpus(const struct neap_pod *pod);
/* What was assumed of a pod is over, or goes over to the pod as it is told now; false without memory. */
void neap_cluster_end_claim(struct neap_pod *pod);
bool neap_cluster_keep_claim(struct neap_pod *pod, const struct neap_pod *before);

/* --- seats: cluster.c --- */

int neap_cluster_check_seat(const struct neap_cluster *cluster,
			    const struct neap_pod *pod, uint32_t row,
			    struct neap_error *err);
int neap_cluster_assume_seat(struct neap_cluster *cluster, struct neap_pod *pod,
			     uint32_t row, struct neap_error *err);

#endif
