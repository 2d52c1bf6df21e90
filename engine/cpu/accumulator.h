/* SPDX-License-Identifier: Apache-2.0
 *
 * Chooses a number of CPUs from the free ones of a node, as Koordinator's scheduler does:
 * whole cores or spread over cores, within one NUMA node or socket where possible,
 * emptiest or fullest first, away from the cores or nodes of exclusive pods. The count is
 * always exact.
 *
 * Allocates nothing and keeps no state: the same question has the same answer. */
#ifndef NEAP_ENGINE_CPU_ACCUMULATOR_H
#define NEAP_ENGINE_CPU_ACCUMULATOR_H

#include "engine/cpu/cpu_layout.h"

enum neap_cpu_bind { NEAP_BIND_DEFAULT, NEAP_BIND_FULL_PCPUS, NEAP_BIND_SPREAD };
enum neap_cpu_exclusive {
	NEAP_EXCLUSIVE_NONE,
	NEAP_EXCLUSIVE_PCPU, /* no other such pod on its cores */
	NEAP_EXCLUSIVE_NUMA  /* no other such pod on its NUMA nodes */
};

/* Holders of a node's CPUs, by slots of its layout. */
struct neap_cpu_use {
	const struct neap_cpu_layout *layout; /* borrowed */
	uint16_t *refs;                       /* by slot: how many pods hold it */
	uint64_t *pcpu, *numa; /* slots whose newest pod has that exclusive policy */
};

/* Nobody holds anything. */
int neap_cpu_use_new(const struct neap_cpu_layout *layout, struct neap_cpu_use **ret,
		     struct neap_error *err);
void neap_cpu_use_free(struct neap_cpu_use *use);
/* Sets one CPU: the number of pods that hold it and the newest pod's policy; 0 and NONE
 * when it is released. Unknown CPUs are ignored. */
void neap_cpu_use_set(struct neap_cpu_use *use, int os_cpu, int refs,
		      enum neap_cpu_exclusive exclusive);

/* A question. Sets of slots have as many words as the layout. */
struct neap_cpu_take {
	const struct neap_cpu_layout *layout;
	const struct neap_cpu_use *use; /* NULL: nothing is held */
	const uint64_t *available; /* slots with a free reference; no others are given */
	const uint64_t *preferred; /* given first, as far as available; NULL: none */
	int need;                  /* below 1: nothing */
	/* pods that may share a CPU; 1 or less: no sharing, and references do not
	 * count */
	int max_refs;
	enum neap_cpu_bind bind;
	enum neap_cpu_exclusive exclusive;
	bool is_most_allocated; /* the fullest node with room first; else the emptiest */
};

/* Writes need slots of available into ret; NEAP_ENOFIT, with ret empty, when it
 * cannot. */
int neap_accumulator_take(const struct neap_cpu_take *take, uint64_t *ret,
			  struct neap_error *err);

/* Returns whether some whole cores of a set of slots have exactly count CPUs together. */
bool neap_accumulator_can_make(const struct neap_cpu_layout *layout, const uint64_t *cpus,
			       int count);

#endif
