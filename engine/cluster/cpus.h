/* SPDX-License-Identifier: Apache-2.0
 *
 * CPUs and NUMA nodes of the nodes of a cluster, and which pod has what of them. A node has such a book when its
 * NodeResourceTopology is told and usable; it is made anew when that or the node changes, from what its pods say
 * (annotation resource-status) and what was assumed. Of one thread. */
#ifndef NEAP_ENGINE_CLUSTER_CPUS_H
#define NEAP_ENGINE_CLUSTER_CPUS_H

#include "engine/cluster/cluster.h"
#include "engine/numa/cpu_policy.h"
#include "engine/numa/numa_room.h"

#define NEAP_CPUS_NAME 128 /* of a resource that is weighed */
/* How CPUs are given out, in all of the cluster; NodeNUMAResourceArgs. */
struct neap_cpus_args {
	enum neap_cpu_bind default_bind; /* of LSE and LSR pods; FULL_PCPUS */
	bool is_most_allocated; /* NUMA nodes and cores: the fullest first; false */
	int max_refs;           /* pods that may share a CPU; 1 */
	/* Of which resources, by name, and how much of the score; cpu 1, memory 1. Their numbers are those of the cluster, once
	 * neap_cluster_set_cpus has found them. */
	char names[NEAP_NUMA_RESOURCES_MAX][NEAP_CPUS_NAME];
	struct neap_numa_weight weights[NEAP_NUMA_RESOURCES_MAX];
	size_t weight_count;
	bool is_score_most_allocated; /* of the score; false */
};

/* The book of one node. */
struct neap_cpus {
	struct neap_numa_node *numa; /* pods go by "NAMESPACE/NAME" */
	struct neap_cpu_rule rule;
	bool is_most_allocated;    /* the node's label, else the arguments */
	struct neap_cpu_load load; /* of an amplified node; ratio 1: not */
	/* What of its topology cannot be used, or, where numa is NULL, why none of it; NULL: nothing. */
	const char *trouble;
	/* There was no memory for what some pod has: nothing may be given before the next neap_cluster_settle that has. */
	bool is_stale;
};

/* All of a book that most pods go by, as one number: what is so on one node of a class is so on all. */
enum {
	NEAP_CPUS_NONE,       /* no book */
	NEAP_CPUS_SINGLE = 1, /* the book itself is to be asked */
};
uint16_t neap_cpus_class(const struct neap_cpus *book);

/* What a pod is given on a node, beside its place. Owned by whoever got it. */
struct neap_claim {
	/* The reservation that it uses, which is there; "": none. */
	char reservation[NEAP_OBJECT_NAME], reservation_uid[NEAP_OBJECT_UID];
	bool is_ignoring; /* it may have what any reservation keeps, and uses none */
	/* Of a stand: pods that its reservation takes over, and whose CPUs it may have, too; the list is owned, the pods are
	 * borrowed from the cluster until it changes. */
	struct neap_pod **taken;
	size_t taken_count;
	/* Its CPUs and NUMA nodes, as resource-status has them; owned. NULL: none of that, and of what follows. */
	char *status;
	struct neap_cpu_choice choice;
	enum neap_cpu_exclusive exclusive;
	int words;       /* of the layout of the node */
	uint64_t cpus[]; /* slots */
};

void neap_cpus_args_init(struct neap_cpus_args *args);
/* Arguments of NodeNUMAResource, without apiVersion and kind; what is missing is as neap_cpus_args_init has it.
 * NEAP_EINVAL with the field. */
int neap_cpus_args_read(struct neap_cpus_args *ret, const json_t *json,
			struct neap_error *err);
/* Before any node is told, else NEAP_ECONFLICT. */
int neap_cluster_set_cpus(struct neap_cluster *cluster, const struct neap_cpus_args *args,
			  struct neap_error *err);
/* NodeResourceTopology as it is now, also before its node; *ret_moved: NEAP_MOVED_CPUS. -NEAP_ENOMEM: it is as it was. */
int neap_cluster_set_topology(struct neap_cluster *cluster, struct neap_object *object,
			      unsigned *ret_moved, struct neap_error *err);
void neap_cluster_remove_topology(struct neap_cluster *cluster, const char *name,
				  unsigned *ret_moved);
const struct neap_cpus_args *neap_cluster_cpus_args(const struct neap_cluster *cluster);
/* NULL: no topology is told of the node, and it says nothing of CPUs itself. Borrowed until the next change. */
const struct neap_cpus *neap_cluster_cpus(const struct neap_cluster *cluster,
					  uint32_t row);

/* Has the row counted again, with the CPUs of its pods, before the next decision. */
void neap_cluster_recount(struct neap_cluster *cluster, uint32_t row);
/* Nodes that give CPUs to pods of all kinds, have a NUMA policy, or are amplified. */
size_t neap_cluster_cpus_ruled(const struct neap_cluster *cluster);

/* As neap_cluster_assume, with what it is given; claim NULL: nothing of that kind. It is handed back with
 * neap_cluster_forget, by the time, or in place of it comes what the pod says when it is seen bound. */
int neap_cluster_assume_with(struct neap_cluster *cluster, struct neap_pod *pod,
			     uint32_t row, const struct neap_claim *claim,
			     struct neap_error *err);

/* What a pod that has its place is given there besides: it has that in place of what it says, until it is told again, or
 * that is taken back. claim NULL: nothing. NEAP_ECONFLICT, NEAP_ENOMEM: as before. */
int neap_cluster_give(struct neap_cluster *cluster, struct neap_pod *pod,
		      const struct neap_claim *claim, struct neap_error *err);
void neap_cluster_take_back(struct neap_cluster *cluster, struct neap_pod *pod);

#endif
