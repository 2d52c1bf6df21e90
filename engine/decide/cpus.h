/* SPDX-License-Identifier: Apache-2.0
 *
 * Exclusive CPUs and NUMA nodes of one pod on one node; shared by filter, score and
 * claim. */
#ifndef NEAP_ENGINE_DECIDE_CPUS_H
#define NEAP_ENGINE_DECIDE_CPUS_H

#include "engine/cluster/cpus.h"

/* How much of the answer is computed: what the filter needs, or everything the pod would
 * get. */
enum neap_cpu_depth { NEAP_CPU_FILTER, NEAP_CPU_ALL };

/* What a reservation keeps for the pod while its placeholder is lifted off: CPUs, some of
 * which owners may hold, and what the owners left of its cells. */
struct neap_cpu_kept {
	bool has_cells, is_restricted;
	uint64_t cpus[NEAP_CPU_WORDS_MAX];
	int64_t cells[NEAP_NUMA_CELLS_MAX];
};

/* Node classes whose answer is cached; nodes of other classes are each checked. */
#define NEAP_CPU_CLASSES_MAX 16

/* What holds on all nodes of a class. */
struct neap_cpu_known {
	uint16_t class;
	bool fits;   /* the filter accepts them, whatever pods are there */
	bool is_any; /* no NUMA policy: the score covers the whole node */
};

/* Working memory of one answer; 20 KB. */
struct neap_cpu_work {
	const struct neap_cpu_kept *kept; /* borrowed; NULL: none */
	struct neap_buf *why; /* as in struct neap_numa_ask; cleared by each answer */
	struct neap_cpu_known known[NEAP_CPU_CLASSES_MAX];
	size_t known_count;
	uint16_t fitting; /* a class that fits; UINT16_MAX: unknown */
	struct neap_cpu_wish wish;
	struct neap_cpu_choice choice;
	/* Weights for comparing nodes, and for comparing the NUMA node sets of one node.
	 * The weights are borrowed. */
	struct neap_numa_scoring scoring, numa_scoring;
	struct neap_numa_ask ask;
	struct neap_numa_room room;   /* from the last answer 1 */
	struct neap_numa_grant grant; /* from the last answer 1 with depth ALL */
	bool can_help; /* after a refusal: fewer pods on the node could help */
};

/* Returns whether any of this matters for the pod; false for a pod without requests. */
bool neap_cpu_concerns(const struct neap_pod *pod);
/* Prepares work for the following answers; args stay borrowed. */
void neap_cpu_work_begin(struct neap_cpu_work *work, const struct neap_cpus_args *args,
			 const struct neap_pod *pod);
/* Returns 1 when the pod gets something, 0 when it fits and gets nothing of that kind;
 * -NEAP_ENOFIT with the text that people see; -NEAP_ENOMEM. */
int neap_cpu_answer(struct neap_cpu_work *work, struct neap_cluster *cluster,
		    const struct neap_pod *pod, uint32_t row, enum neap_cpu_depth depth,
		    struct neap_error *err);
/* The same with the node's book; load is what counts against its CPU, NULL for a node
 * without a limit. -NEAP_ENOMEM when the book is stale. */
int neap_cpu_answer_by(struct neap_cpu_work *work, const struct neap_cpus *book,
		       const struct neap_cpu_load *load, const struct neap_pod *pod,
		       enum neap_cpu_depth depth, struct neap_error *err);
/* Takes everything for the pod by its wish and choice, treating what is in back as free,
 * into grant, and into room when back is empty. Returns 1 when the pod gets something,
 * else 0. Errors as above. */
int neap_cpu_take(struct neap_cpu_work *work, const struct neap_cpus *book,
		  const struct neap_pod *pod, const struct neap_numa_held *back,
		  size_t back_count, struct neap_error *err);

/* --- room that is made for others: nominated.c --- */

/* Nominated pods considered on one node. */
#define NEAP_CPU_NOMINATED_MAX 64

struct neap_cpu_nominated {
	const struct neap_cpus *book; /* NULL: the node has no book */
	struct neap_cpu_load load;    /* with them */
	const struct neap_pod *pods[NEAP_CPU_NOMINATED_MAX];
	size_t count;
};

/* Adds to the row's book what nominated pods of at least the pod's priority will hold
 * there. Always call neap_cpu_nominated_end, before the book changes in any other way.
 * Returns 0 or -NEAP_ENOMEM. */
int neap_cpu_nominated_begin(struct neap_cpu_nominated *nominated,
			     struct neap_cluster *cluster, const struct neap_pod *pod,
			     uint32_t row, struct neap_error *err);
void neap_cpu_nominated_end(const struct neap_cpu_nominated *nominated);

#endif
