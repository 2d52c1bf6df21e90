/* SPDX-License-Identifier: Apache-2.0
 *
 * CPU books, shared by the files of engine/cluster/cluster*.c and cpus*.c. */
#ifndef NEAP_ENGINE_CLUSTER_CPUS_PRIV_H
#define NEAP_ENGINE_CLUSTER_CPUS_PRIV_H

#include "engine/cluster/cluster.h"
#include "engine/cluster/cpus.h"
#include "engine/numa/numa_object.h"

/* A NodeResourceTopology as it was read. */
struct neap_cluster_topology {
	struct neap_numa_facts facts;
	struct neap_cpu_layout *layout; /* NULL: there is no usable CPU topology */
	bool is_broken;                 /* it could not be read */
};

/* What a node's own labels and annotations say. */
struct neap_cpus_said {
	struct neap_numa_ratio ratios[NEAP_NUMA_RESOURCES_MAX];
	size_t ratio_count;
	bool has_bad_ratio; /* one ratio cannot be read: all are ignored */
	struct neap_cpu_rule rule;
	enum { NEAP_STRATEGY_UNSAID, NEAP_STRATEGY_MOST, NEAP_STRATEGY_LEAST } strategy;
};

/* --- what a node says: cpus_node.c --- */

/* Fills cpus_said and subtracts what the node reserves for itself from its allocatable.
 * Unreadable annotations are reported in trouble and count as missing. NEAP_ENOMEM. */
int neap_cluster_read_cpus(struct neap_cluster *cluster, struct neap_cluster_node *node,
			   const json_t *tree, struct neap_error *err);

/* --- books: cpus.c --- */

void neap_cluster_free_topologies(struct neap_cluster *cluster);
/* Makes the book of a node that is about to become now; returns the node's present book
 * when nothing changed. */
int neap_cluster_make_cpus(struct neap_cluster *cluster,
			   const struct neap_cluster_node *node,
			   const struct neap_cluster_node *now, struct neap_cpus **ret,
			   struct neap_error *err);
void neap_cluster_put_cpus(struct neap_cluster *cluster, struct neap_cluster_node *node,
			   struct neap_cpus *book);
void neap_cluster_drop_cpus(struct neap_cluster *cluster, struct neap_cluster_node *node);
/* Recounts the book of a row; called after its columns. */
void neap_cluster_count_cpus(struct neap_cluster *cluster,
			     struct neap_cluster_node *node);
/* hold is called for a pod that just got its seat, the other for one that is about to
 * lose it. A pod that already holds CPUs keeps them. */
void neap_cluster_hold_cpus(struct neap_cluster *cluster, const struct neap_pod *pod);
void neap_cluster_release_cpus(const struct neap_pod *pod);
/* Ends what was assumed for a pod, or hands it over to the pod's new object. Returns
 * false without memory. */
void neap_cluster_end_claim(struct neap_pod *pod);
bool neap_cluster_keep_claim(struct neap_pod *pod, const struct neap_pod *before);

/* --- seats: cluster.c --- */

int neap_cluster_check_seat(const struct neap_cluster *cluster,
			    const struct neap_pod *pod, uint32_t row,
			    struct neap_error *err);
int neap_cluster_assume_seat(struct neap_cluster *cluster, struct neap_pod *pod,
			     uint32_t row, struct neap_error *err);

#endif
