/* SPDX-License-Identifier: Apache-2.0
 *
 * CPUs of its own and NUMA nodes of one pod on one node, shared by filter, score and claim. */
#ifndef NEAP_ENGINE_DECIDE_CPUS_H
#define NEAP_ENGINE_DECIDE_CPUS_H

#include "engine/cluster/cpus.h"

/* How far it is looked: what a filter promises, or all that the pod would get. */
enum neap_cpu_depth { NEAP_CPU_FILTER, NEAP_CPU_ALL };

/* What one answer is made in; 20 KB. */
struct neap_cpu_work {
	struct neap_cpu_wish wish;
	struct neap_cpu_choice choice;
	struct neap_numa_scoring scoring;
	struct neap_numa_ask ask;
	struct neap_numa_room room;   /* of the last answer 1 */
	struct neap_numa_grant grant; /* of the last answer 1 with depth ALL */
	bool can_help; /* of the last refusal: fewer pods on the node could */
};

/* For the answers that follow. */
void neap_cpu_work_begin(struct neap_cpu_work *work, const struct neap_cluster *cluster,
			 const struct neap_pod *pod);
/* 1: it gets something; 0: it fits, and gets nothing of that kind. -NEAP_ENOFIT with the text that people see;
 * -NEAP_ENOMEM. */
int neap_cpu_answer(struct neap_cpu_work *work, struct neap_cluster *cluster,
		    const struct neap_pod *pod, uint32_t row, enum neap_cpu_depth depth,
		    struct neap_error *err);
/* All of it on the node of the book, by the wish and the choice, what is in back being free; into grant, and into room
 * when nothing is in back. 1: it gets something; 0: nothing. Errors as above. */
int neap_cpu_take(struct neap_cpu_work *work, const struct neap_cpus *book,
		  const struct neap_pod *pod, const struct neap_numa_held *back,
		  size_t back_count, struct neap_error *err);

/* --- room that is made for others: cpus_kept.c --- */

/* Pods that wait for room on one node, of those that are looked at. */
#define NEAP_CPU_KEPT_MAX 64

struct neap_cpu_kept {
	const struct neap_cpus *book; /* NULL: the node has none */
	struct neap_cpu_load load;    /* with them */
	const struct neap_pod *pods[NEAP_CPU_KEPT_MAX];
	size_t count;
};

/* Has the book of the row hold what pods of at least pod's priority will have there, for whom room is being made;
 * neap_cpu_kept_end in any case, before the book changes otherwise. 0; -NEAP_ENOMEM. */
int neap_cpu_kept_begin(struct neap_cpu_kept *kept, struct neap_cluster *cluster,
			const struct neap_pod *pod, uint32_t row, struct neap_error *err);
void neap_cpu_kept_end(const struct neap_cpu_kept *kept);

#endif
