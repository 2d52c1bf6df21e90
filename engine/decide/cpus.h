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
	struct neap_cpu_known known[NEAP_CPU_CLASSES_MAX];
	size_t known_count;
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

#endif
