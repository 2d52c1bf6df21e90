/* SPDX-License-Identifier: Apache-2.0
 *
 * From wishes to writes. Policies wish (group, key, value, why); the plan merges the wishes for one
 * file, bounds them, drops what is already so, and orders the rest so that the kernel accepts every
 * step: parents are enlarged first, children shrunk first (spec cgroup-map 4, node-qos 6).
 *
 * Sizes: a node of 250 pods has some 750 groups; a tick wishes for a few hundred files at most and
 * usually changes none. Sorting is n log n; memory is one array each of wishes and writes, kept
 * between ticks. */
#ifndef NEAP_ENGINE_MACHINE_PLAN_H
#define NEAP_ENGINE_MACHINE_PLAN_H

#include "engine/machine/key.h"
#include "engine/machine/path.h"

struct neap_wish {
	char group[NEAP_PATH_MAX]; /* below the hierarchy */
	enum neap_key key;
	struct neap_value value;
	char policy[64]; /* who wishes, for the audit */
	char why[160];
	int rank; /* order of the policy in the configuration; FIRST merges take the lowest */
};

/* A write in the order in which it is to be done. old_value is what the plan believed to be there. */
struct neap_write {
	uint32_t wish; /* index of the merged wish it comes from */
	char group[NEAP_PATH_MAX];
	enum neap_key key;
	struct neap_value value;
};

/* Limits on what any policy can do to a group of best-effort or other work. */
struct neap_plan_bounds {
	int cpus_online;
	int64_t be_cpu_floor_milli; /* a quota never goes below it (default 20) */
	int be_cpus_floor;	    /* a CPU set never gets smaller (default 1) */
	int64_t memory_floor_bytes; /* memory.max and memory.high never go below it */
	struct neap_cpuset online;  /* CPUs outside are dropped from a set */
};

/* Present value of a file. Returns 1 and fills *ret, 0 when the group is gone or the file does not exist, -code when
 * it cannot be read. */
typedef int neap_plan_read_fn(void *arg, const char *group, enum neap_key key,
			      struct neap_value *ret, struct neap_error *err);

struct neap_plan;

struct neap_plan *neap_plan_new(void);
void neap_plan_free(struct neap_plan *plan);
/* Forgets wishes and writes, keeps the memory. */
void neap_plan_clear(struct neap_plan *plan);
/* Adds a wish; it is checked against the key's range (the error says how) and copied. */
int neap_plan_add(struct neap_plan *plan, const struct neap_wish *wish, struct neap_error *err);
/* Merges, bounds, compares with what read gives, orders. After it the merged wishes and the writes can be asked for.
 * Files that read answers 0 for are counted as gone and left out. */
int neap_plan_build(struct neap_plan *plan, const struct neap_plan_bounds *bounds,
		    neap_plan_read_fn *read, void *read_arg, struct neap_error *err);

/* Merged wishes, one per (group, key), sorted by group then key. */
size_t neap_plan_wish_count(const struct neap_plan *plan);
const struct neap_wish *neap_plan_wish_get(const struct neap_plan *plan, size_t index);
/* True when the merged value differs from what the winning policy wished; why says how ("" else). */
bool neap_plan_wish_was_bounded(const struct neap_plan *plan, size_t index, const char **ret_why);
size_t neap_plan_write_count(const struct neap_plan *plan);
const struct neap_write *neap_plan_write_get(const struct neap_plan *plan, size_t index);
size_t neap_plan_gone_count(const struct neap_plan *plan);

#endif
