/* SPDX-License-Identifier: Apache-2.0
 *
 * The free CPUs and NUMA amounts of a node for one decision, and taking from them. Taking
 * changes nothing; the caller records the result with neap_numa_node_hold. */
#ifndef NEAP_ENGINE_NUMA_NUMA_ROOM_H
#define NEAP_ENGINE_NUMA_NUMA_ROOM_H

#include "engine/numa/numa_node.h"

/* Size of a refusal's text; sets of NUMA nodes that do not fit are left out. */
#define NEAP_NUMA_WHY_MAX (24 * 1024)
/* Sets of NUMA nodes that are tried; beyond it only the smaller sets and the full set. */
#define NEAP_NUMA_SUBSETS_MAX 4096

struct neap_numa_room {
	const struct neap_numa_node *node; /* borrowed; must not change meanwhile */
	const struct neap_cpu_use *use;
	struct neap_cpu_use
		*own; /* a copy of the node's, when something is handed back */
	uint64_t cpus[NEAP_CPU_WORDS_MAX];
	int64_t cells[NEAP_NUMA_CELLS_MAX];
};

/* back: what counts as free for this decision, such as the holdings of pods to be
 * preempted; each has one reference on its CPUs. The caller calls neap_numa_room_close in
 * any case. */
int neap_numa_room_open(struct neap_numa_room *room, const struct neap_numa_node *node,
			const struct neap_numa_held *back, size_t back_count,
			struct neap_error *err);
void neap_numa_room_close(struct neap_numa_room *room);
/* A zone's used amount as it counts against the amplified total: bound CPUs are amplified
 * too. use: of the node, or of a room. */
int64_t neap_numa_counted(const struct neap_numa_node *node,
			  const struct neap_cpu_use *use, int zone, int resource,
			  int64_t used);

struct neap_numa_ask {
	const struct neap_amount *requests; /* as requested, never amplified */
	size_t request_count;
	bool is_binding; /* wants exclusive CPUs, as many as cpus */
	int cpus;
	bool is_required; /* bind is required, not just preferred */
	enum neap_cpu_bind bind;
	enum neap_cpu_exclusive exclusive;
	bool is_most_allocated;
	const uint64_t *preferred; /* CPUs to give first; NULL: none */
	/* Receives the full text of a refusal for lack of NUMA nodes (an error holds its
	 * beginning); NULL: not wanted. The caller clears it before; its content means
	 * nothing after any other result. */
	struct neap_buf *why;
};

struct neap_numa_grant {
	uint64_t cpus[NEAP_CPU_WORDS_MAX];
	int cpu_count;
	uint64_t nodes; /* zones of the node; 0: no particular zones, and cells are 0 */
	int64_t cells[NEAP_NUMA_CELLS_MAX];
};

/* Takes everything from those NUMA nodes (zones; 0: anywhere). NEAP_ENOFIT with the text
 * that people see. */
int neap_numa_take(const struct neap_numa_room *room, const struct neap_numa_ask *ask,
		   uint64_t nodes, struct neap_numa_grant *ret, struct neap_error *err);

/* Writes the free CPUs that a required policy can use: those of wholly free cores, or one
 * per core; otherwise all. */
void neap_numa_usable(const struct neap_numa_room *room, const struct neap_numa_ask *ask,
		      uint64_t *ret);

/* What a reservation keeps for its pods. */
struct neap_numa_kept {
	const uint64_t *cpus; /* free in the room as well */
	const int64_t *cells; /* NULL: no NUMA amounts */
	/* of the resources it keeps, the pod gets only reserved ones */
	bool is_restricted;
};
/* Like neap_numa_take, taking reserved ones first. */
int neap_numa_take_kept(const struct neap_numa_room *room,
			const struct neap_numa_ask *ask, uint64_t nodes,
			const struct neap_numa_kept *kept, struct neap_numa_grant *ret,
			struct neap_error *err);

/* --- scores --- */

struct neap_numa_weight {
	uint32_t resource;
	int64_t weight;
};

struct neap_numa_scoring {
	bool is_most_allocated; /* true: fuller is better; else emptier */
	const struct neap_numa_weight *weights;
	size_t count;
};

/* Returns 0..100; requested and capacity are indexed like the weights, and those with
 * capacity 0 are left out. */
int64_t neap_numa_score(const struct neap_numa_scoring *scoring, const int64_t *requested,
			const int64_t *capacity);
/* For one resource; capacity above 0. */
static inline int64_t neap_numa_score_one(bool is_most, int64_t requested,
					  int64_t capacity)
{
	int64_t part = is_most                 ? requested
		       : requested <= capacity ? capacity - requested
					       : 0;

	part = part < capacity ? part : capacity;
	part = part > 0 ? part : 0;
	/* Exact as long as 101 * capacity is below 2^53, and twice as fast as
	 * integers. */
	if (capacity <= INT64_C(1) << 46)
		return (int64_t)((double)(part * 100) / (double)capacity);
	if (capacity > INT64_MAX / 100) {
		part /= 128;
		capacity /= 128;
	}
	return part * 100 / capacity;
}
/* Returns whether the resource counts for this request: extended resources count only if
 * requested. */
bool neap_numa_weighs(const struct neap_numa_ask *ask, uint32_t resource);
/* Scores a grant over its NUMA nodes (all of them when it names none), with the grant
 * included. CPUs of a binding pod count over the whole machine, as in the reference. */
int64_t neap_numa_score_grant(const struct neap_numa_scoring *scoring,
			      const struct neap_numa_room *room,
			      const struct neap_numa_ask *ask,
			      const struct neap_numa_grant *grant);
/* Of the NUMA nodes that can hold ask alone, finds the one that would have least left and
 * returns its fullness, 0 to 1. CPU must be free both as an amount and as single CPUs.
 * false: no node can hold it, or none reports the resource. */
bool neap_numa_tightest(const struct neap_numa_room *room, uint32_t resource, int64_t ask,
			double *ret);
/* The same for wholly free cores: milli of CPU rounded up to whole cores, as a share of
 * that NUMA node's CPUs. */
bool neap_numa_tightest_cores(const struct neap_numa_room *room, int64_t milli,
			      double *ret);
/* The CPU that counts as requested on a node whose pods request requested and hold bound
 * milli of exclusive CPUs. */
int64_t neap_numa_requested_cpu(int64_t requested, int64_t bound, double ratio);

/* --- hints --- */

struct neap_numa_hint_set {
	struct neap_numa_hints lists[NEAP_NUMA_RESOURCES_MAX]; /* of requested ones */
	size_t count;
	struct neap_numa_hint *hints; /* of all lists */
};

/* Lists the sets of NUMA nodes that can serve the pod. kept: NULL: no reservation. The
 * caller calls neap_numa_hints_done in any case. */
int neap_numa_hints_make(const struct neap_numa_room *room,
			 const struct neap_numa_ask *ask, enum neap_numa_policy policy,
			 const struct neap_numa_scoring *scoring,
			 const struct neap_numa_kept *kept,
			 struct neap_numa_hint_set *ret, struct neap_error *err);
void neap_numa_hints_done(struct neap_numa_hint_set *set);

/* Finds the NUMA nodes to take the pod from under that policy, when no other provider has
 * hints: ret_nodes for neap_numa_take. NEAP_ENOFIT with the texts that people see. */
int neap_numa_align(const struct neap_numa_room *room, const struct neap_numa_ask *ask,
		    enum neap_numa_policy policy, enum neap_numa_exclusive exclusive,
		    const struct neap_numa_scoring *scoring,
		    const struct neap_numa_kept *kept, uint64_t *ret_nodes,
		    struct neap_error *err);

#endif
