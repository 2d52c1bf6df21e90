/* SPDX-License-Identifier: Apache-2.0
 *
 * Merging the NUMA hints of a pod. Each provider lists, per resource, the sets of NUMA
 * nodes it can serve the pod from (hints); merging finds the best common set, and the
 * policy decides whether it is good enough. Answers match Koordinator's topology manager.
 * Allocates nothing except in the buffer of a reason. */
#ifndef NEAP_ENGINE_CPU_NUMA_HINT_H
#define NEAP_ENGINE_CPU_NUMA_HINT_H

#include "engine/base/buf.h"

/* NUMA nodes of a machine that are distinguished. A set of nodes is a word with one bit
 * per position in the machine's list; operating system numbers may be much higher. */
#define NEAP_NUMA_NODES_MAX 64
/* Hint lists of all providers together. */
#define NEAP_NUMA_LISTS_MAX 64
/* Combinations tried in one merge; enough for any two resources on 9 NUMA nodes. */
#define NEAP_NUMA_STEPS_MAX (1 << 20)

enum neap_numa_policy {
	NEAP_NUMA_ANY, /* none */
	NEAP_NUMA_BEST_EFFORT,
	NEAP_NUMA_RESTRICTED,
	NEAP_NUMA_SINGLE
};
/* "" for ANY, "BestEffort", "Restricted", "SingleNUMANode". */
const char *neap_numa_policy_name(enum neap_numa_policy policy);
enum neap_numa_policy neap_numa_policy_parse(const char *text); /* ANY for other texts */

/* Whether single-NUMA pods and multi-NUMA pods avoid each other. */
enum neap_numa_exclusive {
	NEAP_NUMA_EXCLUSIVE_NONE,
	NEAP_NUMA_EXCLUSIVE_PREFERRED, /* acts as NONE */
	NEAP_NUMA_EXCLUSIVE_REQUIRED
};

/* Who uses CPUs of a NUMA node: nobody, only single-node pods, or also pods that span
 * nodes. */
enum neap_numa_state { NEAP_NUMA_IDLE, NEAP_NUMA_ALONE, NEAP_NUMA_SHARED };

struct neap_numa_hint {
	uint64_t nodes; /* 0: any */
	bool is_preferred;
	bool is_unsatisfied; /* in a result: narrower than one of its parts */
	int64_t score;
};

/* One provider's answer for one resource. A provider without an opinion gives no such
 * list; a list without hints means impossible. */
struct neap_numa_hints {
	const char *resource;
	/* ascending: fewer nodes first, then lower ones */
	const struct neap_numa_hint *hints;
	size_t count;
};

struct neap_numa_merge {
	enum neap_numa_policy policy;
	uint64_t all; /* all NUMA nodes of the machine */
	/* their numbers, ascending, for reasons; NULL: use positions */
	const int *numbers;
	enum neap_numa_exclusive exclusive;
	const enum neap_numa_state *states; /* by node; NULL: all idle */
	const struct neap_numa_hints *lists;
	size_t list_count;
};

/* Merges the hints. Returns true when the policy accepts the result; nodes 0 under SINGLE
 * and ANY means any node. The best preferred result is always found; among the others,
 * the best of the first NEAP_NUMA_STEPS_MAX combinations. Returns false for more than
 * NEAP_NUMA_LISTS_MAX lists. */
bool neap_numa_merge(const struct neap_numa_merge *merge, struct neap_numa_hint *ret);
/* For a refused pod: the number of reasons, and the text of one, appended to out. The
 * text lists every set of the hints: 5 KB for two resources on 8 NUMA nodes, doubling
 * with each further node. */
size_t neap_numa_reason_count(const struct neap_numa_merge *merge);
void neap_numa_reason(const struct neap_numa_merge *merge, size_t index,
		      struct neap_buf *out);
/* Returns whether a pod on these nodes respects the exclusive policy. */
bool neap_numa_keeps_off(uint64_t nodes, enum neap_numa_exclusive exclusive,
			 const enum neap_numa_state *states);
/* Returns the next set of the lowest count bits: the lexicographically next of the same
 * size, else the first of the next size. Starts with 0 and ends with 0. */
uint64_t neap_numa_next_subset(uint64_t set, int count);

#endif
