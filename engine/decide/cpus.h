/* SPDX-License-Identifier: Apache-2.0
 *
 * CPUs of its own and NUMA nodes of one pod on one node, shared by filter, score and claim. */
#ifndef NEAP_ENGINE_DECIDE_CPUS_H
#define NEAP_ENGINE_DECIDE_CPUS_H

#include "engine/cluster/cpus.h"

/* How far it is looked: what a filter promises, or all that the pod would get. */
enum neap_cpu_depth { NEAP_CPU_FILTER, NEAP_CPU_ALL };

/* What a reservation keeps for the pod, its stand being lifted off: CPUs, of which its owners have some perhaps, and what
 * these left of its cells. */
struct neap_cpu_kept {
	bool has_cells, is_restricted;
	uint64_t cpus[NEAP_CPU_WORDS_MAX];
	int64_t cells[NEAP_NUMA_CELLS_MAX];
};

/* Classes of nodes of which the answer is remembered; of the others each node is asked. */
#define NEAP_CPU_CLASSES_MAX 16

/* What is so on all nodes of a class. */
struct neap_cpu_known {
	uint16_t class;
	bool fits;   /* the filter lets it pass, whatever the pods there have */
	bool is_any; /* no NUMA policy: the score goes by the whole node */
};

/* What one answer is made in; 20 KB. */
struct neap_cpu_work {
	const struct neap_cpu_kept *kept; /* borrowed; NULL: there is none */
	struct neap_buf *why; /* as of struct neap_numa_ask; cleared by each answer */
	struct neap_cpu_known known[NEAP_CPU_CLASSES_MAX];
	size_t known_count;
	uint16_t fitting; /* a class that fits; UINT16_MAX, which is none: not known */
	struct neap_cpu_wish wish;
	struct neap_cpu_choice choice;
	/* By which nodes are compared; by which the sets of NUMA nodes of one. Of the same weights, which are borrowed. */
	struct neap_numa_scoring scoring, numa_scoring;
	struct neap_numa_ask ask;
	struct neap_numa_room room;   /* of the last answer 1 */
	struct neap_numa_grant grant; /* of the last answer 1 with depth ALL */
	bool can_help; /* of the last refusal: fewer pods on the node could */
};

/* A pod that asks for nothing has nothing to do with any of it. */
bool neap_cpu_concerns(const struct neap_pod *pod);
/* For the answers that follow; args are borrowed as long. */
void neap_cpu_work_begin(struct neap_cpu_work *work, const struct neap_cpus_args *args,
			 const struct neap_pod *pod);
/* 1: it gets something; 0: it fits, and gets nothing of that kind. -NEAP_ENOFIT with the text that people see;
 * -NEAP_ENOMEM. */
int neap_cpu_answer(struct neap_cpu_work *work, struct neap_cluster *cluster,
		    const struct neap_pod *pod, uint32_t row, enum neap_cpu_depth depth,
		    struct neap_error *err);
/* The same on the node of the book, of which load is what counts against its CPU; NULL: the node has none. Of a book that is
 * stale -NEAP_ENOMEM. */
int neap_cpu_answer_by(struct neap_cpu_work *work, const struct neap_cpus *book,
		       const struct neap_cpu_load *load, const struct neap_pod *pod,
		       enum neap_cpu_depth depth, struct neap_error *err);
/* All of it on the node of the book, by the wish and the choice, what is in back being free; into grant, and into room
 * when nothing is in back. 1: it gets something; 0: nothing. Errors as above. */
int neap_cpu_take(struct neap_cpu_work *work, const struct neap_cpus *book,
		  const struct neap_pod *pod, const struct neap_numa_held *back,
		  size_t back_count, struct neap_error *err);

/* --- room that is made for others: cpus_nominated.c --- */

/* Pods that wait for room on one node, of those that are looked at. */
#define NEAP_CPU_NOMINATED_MAX 64

struct neap_cpu_nominated {
	const struct neap_cpus *book; /* NULL: the node has none */
	struct neap_cpu_load load;    /* with them */
	const struct neap_pod *pods[NEAP_CPU_NOMINATED_MAX];
	size_t count;
};

/* Has the book of the row hold what pods of at least pod's priority will have there, for whom room is being made;
 * neap_cpu_nominated_end in any case, before the book changes otherwise. 0; -NEAP_ENOMEM. */
int neap_cpu_nominated_begin(struct neap_cpu_nominated *nominated,
			     struct neap_cluster *cluster, const struct neap_pod *pod,
			     uint32_t row, struct neap_error *err);
void neap_cpu_nominated_end(const struct neap_cpu_nominated *nominated);

#endif
