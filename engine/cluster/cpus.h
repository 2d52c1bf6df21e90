/* SPDX-License-Identifier: Apache-2.0
 *
 * The CPU book of each node: its CPUs and NUMA nodes, and which pod holds which. A node
 * has a book when a usable NodeResourceTopology is known for it. The book is rebuilt when
 * the topology or the node changes, from the pods' resource-status annotations and from
 * what was assumed. Single-threaded. */
#ifndef NEAP_ENGINE_CLUSTER_CPUS_H
#define NEAP_ENGINE_CLUSTER_CPUS_H

#include "engine/cluster/cluster.h"
#include "engine/numa/cpu_policy.h"
#include "engine/numa/numa_room.h"

#define NEAP_CPUS_NAME 128 /* length of a weighted resource's name */
/* How CPUs are given out in the cluster: the arguments of NodeNUMAResource. */
struct neap_cpus_args {
	enum neap_cpu_bind default_bind; /* for LSE and LSR pods; default FULL_PCPUS */
	bool is_most_allocated; /* NUMA nodes and cores: fullest first; default false */
	int max_refs;           /* pods that may share a CPU; default 1 */
	/* Weighted resources by name; default cpu 1 and memory 1. neap_cluster_set_cpus
	 * resolves the names to the cluster's numbers. */
	char names[NEAP_NUMA_RESOURCES_MAX][NEAP_CPUS_NAME];
	struct neap_numa_weight weights[NEAP_NUMA_RESOURCES_MAX];
	size_t weight_count;
	bool is_score_most_allocated; /* the same for the score; default false */
};

/* The CPU book of one node. */
struct neap_cpus {
	struct neap_numa_node *numa; /* pods are keyed by "NAMESPACE/NAME" */
	struct neap_cpu_rule rule;
	bool is_most_allocated; /* from the node's label, else from the arguments */
	/* CPU load of an amplified node; ratio 1: not amplified */
	struct neap_cpu_load load;
	/* Which part of the topology is unusable, or, when numa is NULL, why all of it
	 * is. NULL: all is usable. */
	const char *trouble;
	/* Memory was short while a pod's CPUs were recorded. Nothing may be given out
	 * until a neap_cluster_settle succeeds. */
	bool is_stale;
};

/* All properties of a book that matter to most pods, as one number: nodes of one class
 * give the same answer. */
enum {
	NEAP_CPUS_NONE,       /* no book */
	NEAP_CPUS_SINGLE = 1, /* not decided by the class; ask the book itself */
};

/* What a pod is given on a node besides its place. Owned by the caller that received
 * it. */
struct neap_claim {
	/* The existing reservation that the pod uses; "": none. */
	char reservation[NEAP_OBJECT_NAME], reservation_uid[NEAP_OBJECT_UID];
	/* the pod may use any reservation's resources, and uses none by name */
	bool is_ignoring;
	/* For a reservation placeholder: running pods that the reservation takes over,
	 * and whose CPUs it may keep. The list is owned; the pods are borrowed until the
	 * cluster changes. */
	struct neap_pod **taken;
	size_t taken_count;
	/* CPUs and NUMA nodes as a resource-status annotation; owned. NULL: none, and the
	 * fields below are unused. */
	char *status;
	struct neap_cpu_choice choice;
	enum neap_cpu_exclusive exclusive;
	int words;       /* words of the node's CPU layout */
	uint64_t cpus[]; /* slots */
};

void neap_cpus_args_init(struct neap_cpus_args *args);
/* Reads the arguments of NodeNUMAResource, without apiVersion and kind. Missing members
 * keep the defaults of neap_cpus_args_init. NEAP_EINVAL with the field. */
int neap_cpus_args_read(struct neap_cpus_args *ret, const json_t *json,
			struct neap_error *err);
/* Must come before the first node, else NEAP_ECONFLICT. */
int neap_cluster_set_cpus(struct neap_cluster *cluster, const struct neap_cpus_args *args,
			  struct neap_error *err);
/* Adds or replaces a NodeResourceTopology, which may come before its node. *ret_moved:
 * NEAP_MOVED_CPUS. On -NEAP_ENOMEM nothing changed. */
int neap_cluster_set_topology(struct neap_cluster *cluster, struct neap_object *object,
			      unsigned *ret_moved, struct neap_error *err);
void neap_cluster_remove_topology(struct neap_cluster *cluster, const char *name,
				  unsigned *ret_moved);
const struct neap_cpus_args *neap_cluster_cpus_args(const struct neap_cluster *cluster);
/* NULL: no topology is known for the node, and its labels and annotations say nothing
 * about CPUs. Borrowed until the next change. */
const struct neap_cpus *neap_cluster_cpus(const struct neap_cluster *cluster,
					  uint32_t row);

/* Marks the row, with the CPUs of its pods, for a recount before the next decision. */
void neap_cluster_recount(struct neap_cluster *cluster, uint32_t row);
/* Number of nodes that assign CPUs to every pod, have a NUMA policy, or are amplified. */
size_t neap_cluster_cpus_ruled(const struct neap_cluster *cluster);

/* Like neap_cluster_assume, with what the pod is given; claim NULL: nothing. The claim
 * ends with neap_cluster_forget, by expiry, or when the bound pod arrives and its own
 * annotations replace it. */
int neap_cluster_assume_with(struct neap_cluster *cluster, struct neap_pod *pod,
			     uint32_t row, const struct neap_claim *claim,
			     struct neap_error *err);

/* Gives a placed pod CPUs or NUMA nodes later; they count in place of its annotations
 * until its object is set again or the claim is taken back. claim NULL: nothing. On
 * NEAP_ECONFLICT and NEAP_ENOMEM nothing changed. */
int neap_cluster_give(struct neap_cluster *cluster, struct neap_pod *pod,
		      const struct neap_claim *claim, struct neap_error *err);
void neap_cluster_take_back(struct neap_cluster *cluster, struct neap_pod *pod);

#endif
