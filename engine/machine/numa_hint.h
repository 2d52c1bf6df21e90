/* SPDX-License-Identifier: Apache-2.0
 *
 * Agreeing on the NUMA nodes of a pod. Everyone who gives out something on a machine says for each resource from
 * which sets of NUMA nodes it could come (hints); merged, they say where all of it comes from, and the policy
 * says whether that is good enough. Answers are those of Koordinator's topology manager. No memory is allocated, but by
 * the buffer that a reason is put into. */
#ifndef NEAP_ENGINE_MACHINE_NUMA_HINT_H
#define NEAP_ENGINE_MACHINE_NUMA_HINT_H

#include "engine/base/buf.h"

/* NUMA nodes of a machine that are told apart. A set of them is a word, with a bit for
 * each by its place among them, and not by its number, which the operating system may
 * choose much higher. */
#define NEAP_NUMA_NODES_MAX 64
/* Resources of all who have hints together. */
#define NEAP_NUMA_LISTS_MAX 64
/* Hints looked at in one merge; enough for any two resources of 9 NUMA nodes in all combinations. */
#define NEAP_NUMA_STEPS_MAX (1 << 20)

enum neap_numa_policy {
	NEAP_NUMA_ANY, /* none */
	NEAP_NUMA_BEST_EFFORT,
	NEAP_NUMA_RESTRICTED,
	NEAP_NUMA_SINGLE
};
/* "" for ANY, "BestEffort", "Restricted", "SingleNUMANode". */
const char *neap_numa_policy_name(enum neap_numa_policy policy);
enum neap_numa_policy neap_numa_policy_parse(const char *text); /* ANY for all else */

/* Whether pods inside one NUMA node and pods across several keep off each other. */
enum neap_numa_exclusive {
	NEAP_NUMA_EXCLUSIVE_NONE,
	NEAP_NUMA_EXCLUSIVE_PREFERRED, /* acts as NONE */
	NEAP_NUMA_EXCLUSIVE_REQUIRED
};

/* Who has CPUs of a NUMA node: nobody, pods that have them of it alone, some that have them of others, too. */
enum neap_numa_state { NEAP_NUMA_IDLE, NEAP_NUMA_ALONE, NEAP_NUMA_SHARED };

struct neap_numa_hint {
	uint64_t nodes; /* 0: no matter which */
	bool is_preferred;
	bool is_unsatisfied; /* of an answer: it is narrower than some part of it */
	int64_t score;
};

/* What one who gives out says of one resource. Who has no opinion has none of these; no hints: it is impossible. */
struct neap_numa_hints {
	const char *resource;
	const struct neap_numa_hint *hints; /* ascending: fewer nodes first, then lower */
	size_t count;
};

struct neap_numa_merge {
	enum neap_numa_policy policy;
	uint64_t all;       /* the NUMA nodes of the machine */
	const int *numbers; /* of them, ascending, for reasons; NULL: their places */
	enum neap_numa_exclusive exclusive;
	const enum neap_numa_state *states; /* by node; NULL: all are idle */
	const struct neap_numa_hints *lists;
	size_t list_count;
};

/* Where all comes from. True: the policy takes it; nodes 0 under SINGLE and ANY says that it is no matter. The best
 * preferred answer is always found; of those that are not preferred the best of as many as
 * NEAP_NUMA_STEPS_MAX allows. More than NEAP_NUMA_LISTS_MAX lists: false. */
bool neap_numa_merge(const struct neap_numa_merge *merge, struct neap_numa_hint *ret);
/* For a pod that was refused: how many reasons there are, and one of them as people see it, which is added to out. It names
 * every set of the hints: 5 KB for two resources of 8 NUMA nodes, twice as much for each NUMA node more. */
size_t neap_numa_reason_count(const struct neap_numa_merge *merge);
void neap_numa_reason(const struct neap_numa_merge *merge, size_t index,
		      struct neap_buf *out);
/* Whether a pod on these nodes keeps to the exclusive policy. */
bool neap_numa_keeps_off(uint64_t nodes, enum neap_numa_exclusive exclusive,
			 const enum neap_numa_state *states);
/* The next set after set: of the same size and lexicographically next, or the first one that is larger by one; of the
 * lowest count bits. 0 starts, and is the end. */
uint64_t neap_numa_next_subset(uint64_t set, int count);

#endif
