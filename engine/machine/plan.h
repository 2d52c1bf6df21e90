/* SPDX-License-Identifier: Apache-2.0
 *
 * From wishes to writes. Policies wish (group, key, value, why); the plan merges the
 * wishes for one file, bounds them, drops what is already so, and orders the rest so that
 * the kernel accepts every step: parents are enlarged first, children shrunk first (spec
 * cgroup-map 4, node-qos 6).
 *
 * Sizes: a node of 250 pods has some 750 groups; a tick wishes for a few hundred files at
 * most and usually changes none. Sorting is n log n; memory is one array each of wishes
 * and writes, kept between ticks. */
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
	int rank; /* order of the policy in the configuration, the lowest counts first */
	/* The value found before neap came is given back: taken as it is, not bounded (on
	 * v2 it may be the empty CPU set); any other wish for the file wins over it. */
	bool is_restore;
	/* What the group has by itself: a number that counts as a wish, and is known
	 * beside a wish that wins over it (neap_plan_wish_own). */
	bool is_own;
};

/* A write in the order in which it is to be done. A file may have two: a step on the way
 * down (the larger value, the union) and the exact value on the way up. */
struct neap_write {
	uint32_t wish; /* index of the merged wish it comes from */
	bool is_exact; /* false: only a step on the way */
	char group[NEAP_PATH_MAX];
	enum neap_key key;
	struct neap_value old_value; /* believed to be there at that moment */
	struct neap_value value;
};

/* Limits on what any policy can do to a group of best-effort or other work. 0 switches
 * one off; a CPU set is never emptied. Besides these: cpu.burst_usec never above the
 * quota in force, and no cpu.idle 1 on a kubelet's own directories
 * (neap_path_is_kube_class). */
struct neap_plan_bounds {
	int64_t be_cpu_floor_milli; /* a quota never goes below it (default 20) */
	int be_cpus_floor;          /* a CPU set never gets smaller (default 1) */
	int64_t memory_floor_bytes; /* memory.max and memory.high never go below it */
	struct neap_cpuset online;  /* others are dropped from a set; empty: not known */
	/* How cpu.shares are written, to tell whether they are so already: on v2 a weight
	 * stands for many shares. */
	bool cpu_is_v2;
	enum neap_weight_curve curve;
};

/* Present value of a file. Returns 1 and fills *ret, 0 when the group is gone or the file
 * does not exist, -code when it cannot be read. Asked once for each wished file, and for
 * the cpu.idle and the quota of a group that has shares or a burst wished for. */
typedef int neap_plan_read_fn(void *arg, const char *group, enum neap_key key,
			      struct neap_value *ret, struct neap_error *err);

struct neap_plan;

struct neap_plan *neap_plan_new(void);
void neap_plan_free(struct neap_plan *plan);
/* Forgets wishes and writes, keeps the memory. */
void neap_plan_clear(struct neap_plan *plan);
/* Adds a wish; it is checked against the key's range (the error says how) and copied. The
 * group must be neap_path_is_safe. At most NEAP_PLAN_WISHES_MAX (NEAP_ETOOLARGE). */
#define NEAP_PLAN_WISHES_MAX 65536
int neap_plan_add(struct neap_plan *plan, const struct neap_wish *wish,
		  struct neap_error *err);
/* Merges, bounds, compares with what read gives, orders. After it the merged wishes and
 * the writes can be asked for. The order of adding counts only among wishes of one policy
 * for one file. Files that read answers 0 for are counted as gone and left out; so are,
 * in a count of their own, files that cannot be read: one odd file must not keep the node
 * from its writes. Fails for want of memory only; there are no writes then. */
int neap_plan_build(struct neap_plan *plan, const struct neap_plan_bounds *bounds,
		    neap_plan_read_fn *read, void *read_arg, struct neap_error *err);

/* Wishes that were added since it was cleared, several for one file included. */
size_t neap_plan_added(const struct neap_plan *plan);
/* Merged wishes, one per (group, key), sorted by group then key. */
size_t neap_plan_wish_count(const struct neap_plan *plan);
const struct neap_wish *neap_plan_wish_get(const struct neap_plan *plan, size_t index);
/* True when the merged value differs from what the winning policy wished; why says how
 * ("" else). */
bool neap_plan_wish_was_bounded(const struct neap_plan *plan, size_t index,
				const char **ret_why);
/* What the group of this file has by itself, bounded as wishes are. False: nothing, or
 * the file is gone or cannot be read. */
bool neap_plan_wish_own(const struct neap_plan *plan, size_t index,
			struct neap_value *ret);
size_t neap_plan_write_count(const struct neap_plan *plan);
const struct neap_write *neap_plan_write_get(const struct neap_plan *plan, size_t index);
size_t neap_plan_gone_count(const struct neap_plan *plan);
/* Files that could not be read; ret_first (may be NULL) is why for the first, NULL if
 * none. */
size_t neap_plan_unread_count(const struct neap_plan *plan,
			      const struct neap_error **ret_first);

#endif
