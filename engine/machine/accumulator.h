/* SPDX-License-Identifier: Apache-2.0
 *
 * Chooses so many CPUs out of those that are free on a node, as the scheduler of Koordinator does: whole cores or
 * spread over cores, in one NUMA node or socket where that is possible, the emptiest or the fullest one first, away
 * from the cores or nodes of pods that want to be alone. The count is always exact.
 *
 * No memory is allocated, and nothing is remembered: the same question has the same answer. */
#ifndef NEAP_ENGINE_MACHINE_ACCUMULATOR_H
#define NEAP_ENGINE_MACHINE_ACCUMULATOR_H

#include "engine/machine/cpu_layout.h"

enum neap_cpu_bind { NEAP_BIND_DEFAULT, NEAP_BIND_FULL_PCPUS, NEAP_BIND_SPREAD };
enum neap_cpu_exclusive {
	NEAP_EXCLUSIVE_NONE,
	NEAP_EXCLUSIVE_PCPU, /* no other such pod on its cores */
	NEAP_EXCLUSIVE_NUMA  /* ... on its NUMA nodes */
};

/* Who holds CPUs of a node, by slots of its layout. */
struct neap_cpu_use {
	const struct neap_cpu_layout *layout; /* borrowed */
	uint16_t *refs;                       /* of each slot: how many pods have it */
	uint64_t *pcpu, *numa; /* slots whose newest pod has that exclusive policy */
};

/* Nobody holds anything. */
int neap_cpu_use_new(const struct neap_cpu_layout *layout, struct neap_cpu_use **ret,
		     struct neap_error *err);
void neap_cpu_use_free(struct neap_cpu_use *use);
/* One CPU: how many pods have it, and the policy of the newest; 0 and NONE when it is given back. A CPU that is not
 * here is passed over. */
void neap_cpu_use_set(struct neap_cpu_use *use, int os_cpu, int refs,
		      enum neap_cpu_exclusive exclusive);

/* A question. Sets of slots have the words of the layout. */
struct neap_cpu_take {
	const struct neap_cpu_layout *layout;
	const struct neap_cpu_use *use; /* NULL: nobody holds anything */
	const uint64_t
		*available; /* those with a free reference; all else is never given */
	const uint64_t *preferred; /* given first, as far as available; NULL: none are */
	int need;                  /* below 1: nothing */
	int max_refs; /* pods that may share a CPU; 1 or less: no sharing, references do not count */
	enum neap_cpu_bind bind;
	enum neap_cpu_exclusive exclusive;
	bool is_most_allocated; /* the fullest node that has room first; else the emptiest */
};

/* need slots of available into ret, or NEAP_ENOFIT and none. */
int neap_accumulator_take(const struct neap_cpu_take *take, uint64_t *ret,
			  struct neap_error *err);

/* Whether some whole cores out of a set of slots have just so many CPUs. */
bool neap_accumulator_can_make(const struct neap_cpu_layout *layout, const uint64_t *cpus,
			       int count);

#endif
