/* SPDX-License-Identifier: Apache-2.0
 *
 * What is free on a node for one decision, and taking CPUs and amounts of NUMA nodes from it. Taking changes nothing:
 * what was got is recorded with neap_numa_node_hold. */
#ifndef NEAP_ENGINE_NUMA_NUMA_ROOM_H
#define NEAP_ENGINE_NUMA_NUMA_ROOM_H

#include "engine/numa/numa_node.h"

/* Bytes of the text of a refusal; what does not fit is left out, from some set of NUMA nodes on. */
#define NEAP_NUMA_WHY_MAX (24 * 1024)
/* Sets of NUMA nodes that are tried; beyond it only the smaller ones, and all of them together. */
#define NEAP_NUMA_SUBSETS_MAX 4096

struct neap_numa_room {
	const struct neap_numa_node *node; /* borrowed; not to be changed meanwhile */
	const struct neap_cpu_use *use;
	struct neap_cpu_use
		*own; /* a copy of the node's, when something is handed back */
	uint64_t cpus[NEAP_CPU_WORDS_MAX];
	int64_t cells[NEAP_NUMA_CELLS_MAX];
};

/* back: what is handed back for this decision, by pods that go, say; each has one reference of its CPUs.
 * neap_numa_room_close in any case. */
int neap_numa_room_open(struct neap_numa_room *room, const struct neap_numa_node *node,
			const struct neap_numa_held *back, size_t back_count,
			struct neap_error *err);
void neap_numa_room_close(struct neap_numa_room *room);
/* A zone's used amount as it counts against the amplified total: bound CPUs count as much as they are amplified to.
 * use: of the node, or of a room. */
int64_t neap_numa_counted(const struct neap_numa_node *node,
			  const struct neap_cpu_use *use, int zone, int resource,
			  int64_t used);

struct neap_numa_ask {
	const struct neap_amount *requests; /* as asked for, never amplified */
	size_t request_count;
	bool is_binding; /* wants CPUs of its own: cpus of them */
	int cpus;
	bool is_required; /* bind is, and not only preferred */
	enum neap_cpu_bind bind;
	enum neap_cpu_exclusive exclusive;
	bool is_most_allocated;
	const uint64_t *preferred; /* CPUs to be given first; NULL: none */
	/* A refusal for lack of NUMA nodes adds its whole text here, of which an error has only the beginning; NULL: that is
	 * enough. To be cleared before; what it has after anything else says nothing. */
	struct neap_buf *why;
};

struct neap_numa_grant {
	uint64_t cpus[NEAP_CPU_WORDS_MAX];
	int cpu_count;
	uint64_t
		nodes; /* zones of the node; 0: from none in particular, then cells are 0 */
	int64_t cells[NEAP_NUMA_CELLS_MAX];
};

/* All of it on those NUMA nodes, by their zones, 0: anywhere. NEAP_ENOFIT with the text
 * that people see. */
int neap_numa_take(const struct neap_numa_room *room, const struct neap_numa_ask *ask,
		   uint64_t nodes, struct neap_numa_grant *ret, struct neap_error *err);

/* Free CPUs that a required policy can use: those of wholly free cores, or one of each core; else all. */
void neap_numa_usable(const struct neap_numa_room *room, const struct neap_numa_ask *ask,
		      uint64_t *ret);

/* What a reservation keeps for the pods that it is for. */
struct neap_numa_kept {
	const uint64_t *cpus; /* free in the room as well */
	const int64_t *cells; /* NULL: no amounts of NUMA nodes */
	bool is_restricted; /* what it keeps is all that the pod gets, of what it has any of */
};
/* As neap_numa_take, from what is kept first. */
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
	bool is_most_allocated; /* else the emptier the better */
	const struct neap_numa_weight *weights;
	size_t count;
};

/* 0..100; requested and capacity by index of the weights, those with capacity 0 left out. */
int64_t neap_numa_score(const struct neap_numa_scoring *scoring, const int64_t *requested,
			const int64_t *capacity);
/* Of one of the resources; capacity above 0. */
static inline int64_t neap_numa_score_one(bool is_most, int64_t requested,
					  int64_t capacity)
{
	int64_t part = is_most                 ? requested
		       : requested <= capacity ? capacity - requested
					       : 0;

	part = part < capacity ? part : capacity;
	part = part > 0 ? part : 0;
	/* Exact as long as 101 times the capacity is below 2^53, and takes half the time of whole numbers. */
	if (capacity <= INT64_C(1) << 46)
		return (int64_t)((double)(part * 100) / (double)capacity);
	if (capacity > INT64_MAX / 100) {
		part /= 128;
		capacity /= 128;
	}
	return part * 100 / capacity;
}
/* Whether the resource counts for who asks: an extended one that it does not ask for does not. */
bool neap_numa_weighs(const struct neap_numa_ask *ask, uint32_t resource);
/* Of a grant from NUMA nodes, of all of them when from none in particular: what these have, and have given with it. CPUs
 * of a binding pod count over the whole machine, as in the reference. */
int64_t neap_numa_score_grant(const struct neap_numa_scoring *scoring,
			      const struct neap_numa_room *room,
			      const struct neap_numa_ask *ask,
			      const struct neap_numa_grant *grant);
/* Of the NUMA nodes that alone hold ask of the resource, the one that would have least left: how full it would be, 0 to 1.
 * CPU is free where it is so in amounts and in single CPUs. false: none holds it, or reports it. */
bool neap_numa_tightest(const struct neap_numa_room *room, uint32_t resource, int64_t ask,
			double *ret);
/* The same of cores that are wholly free, for milli of CPU, the last core whole: of the CPUs of that NUMA node. */
bool neap_numa_tightest_cores(const struct neap_numa_room *room, int64_t milli,
			      double *ret);
/* CPU that counts as requested on a node whose pods ask for requested and have bound milli of CPUs of their own. */
int64_t neap_numa_requested_cpu(int64_t requested, int64_t bound, double ratio);

/* --- hints --- */

struct neap_numa_hint_set {
	struct neap_numa_hints lists[NEAP_NUMA_RESOURCES_MAX]; /* of requested ones */
	size_t count;
	struct neap_numa_hint *hints; /* of all lists */
};

/* From which sets of NUMA nodes the pod could have what it asks for. kept: NULL: there is no reservation.
 * neap_numa_hints_done in any case. */
int neap_numa_hints_make(const struct neap_numa_room *room,
			 const struct neap_numa_ask *ask, enum neap_numa_policy policy,
			 const struct neap_numa_scoring *scoring,
			 const struct neap_numa_kept *kept,
			 struct neap_numa_hint_set *ret, struct neap_error *err);
void neap_numa_hints_done(struct neap_numa_hint_set *set);

/* Where the pod has to be taken from by that policy, when nobody else has hints: ret_nodes for neap_numa_take.
 * NEAP_ENOFIT with the texts that people see. */
int neap_numa_align(const struct neap_numa_room *room, const struct neap_numa_ask *ask,
		    enum neap_numa_policy policy, enum neap_numa_exclusive exclusive,
		    const struct neap_numa_scoring *scoring,
		    const struct neap_numa_kept *kept, uint64_t *ret_nodes,
		    struct neap_error *err);

#endif
