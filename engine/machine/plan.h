/* SPDX-License-Identifier: Apache-2.0
 *
 * From wishes to writes. Policies wish for (group, key, value, why). The plan merges the
 * wishes for each file, bounds the result, drops values already in force, and orders the
 * rest so that the kernel accepts every step: parents are enlarged first, children shrunk
 * first (spec cgroup-map 4, node-qos 6).
 *
 * Sizes: a node of 250 pods has about 750 groups; a tick wishes for at most a few hundred
 * files and usually changes none. Sorting is n log n; memory is one array of wishes and
 * one of writes, kept between ticks. */
#ifndef NEAP_ENGINE_MACHINE_PLAN_H
#define NEAP_ENGINE_MACHINE_PLAN_H

#include "engine/machine/key.h"
#include "engine/machine/path.h"

struct neap_wish {
	char group[NEAP_PATH_MAX]; /* below the hierarchy */
	enum neap_key key;
	struct neap_value value;
	char policy[64]; /* the policy that wishes, for the audit */
	char why[160];
	int rank; /* position of the policy in the configuration; the lowest wins */
	/* Restores the value that neap found at first: not bounded (on v2 it may be the
	 * empty CPU set), and any other wish for the file wins over it. */
	bool is_restore;
	/* The group's own value: it counts as a wish, and stays available when another
	 * wish wins (neap_plan_wish_own). */
	bool is_own;
};

/* A write, in order. A file may have two: an intermediate value on the way down (the
 * larger value, the union) and the exact value on the way up. */
struct neap_write {
	uint32_t wish; /* index of the merged wish behind it */
	bool is_exact; /* false: an intermediate value */
	char group[NEAP_PATH_MAX];
	enum neap_key key;
	struct neap_value old_value; /* the value expected there at that moment */
	struct neap_value value;
};

/* Bounds on what any policy can do to a group. 0 switches one off; a CPU set is never
 * emptied. In addition, cpu.burst_usec never exceeds the quota in force, and cpu.idle 1
 * is never set on a kubelet's own directories (neap_path_is_kube_class). */
struct neap_plan_bounds {
	int64_t be_cpu_floor_milli; /* quotas never go below it (default 20) */
	int be_cpus_floor;          /* CPU sets never get smaller (default 1) */
	int64_t memory_floor_bytes; /* memory.max and memory.high never go below it */
	struct neap_cpuset online;  /* other CPUs are dropped from sets; empty: unknown */
	/* How cpu.shares are written, to recognise equal values: on v2 many shares map to
	 * one weight. */
	bool cpu_is_v2;
	enum neap_weight_curve curve;
};

/* Reads the present value of a file. Returns 1 and fills *ret; 0 when the group or file
 * does not exist; -code when it cannot be read. Called once per wished file, and for
 * cpu.idle and the quota of a group with a wish for shares or burst. */
typedef int neap_plan_read_fn(void *arg, const char *group, enum neap_key key,
			      struct neap_value *ret, struct neap_error *err);

struct neap_plan;

struct neap_plan *neap_plan_new(void);
void neap_plan_free(struct neap_plan *plan);
/* Removes all wishes and writes, keeps the memory. */
void neap_plan_clear(struct neap_plan *plan);
/* Adds a wish: checks it against the key's range (the error says how) and copies it. The
 * group must satisfy neap_path_is_safe. At most NEAP_PLAN_WISHES_MAX (NEAP_ETOOLARGE). */
#define NEAP_PLAN_WISHES_MAX 65536
int neap_plan_add(struct neap_plan *plan, const struct neap_wish *wish,
		  struct neap_error *err);
/* Merges, bounds, compares with what read returns, and orders; afterwards the merged
 * wishes and the writes can be read. The order of adding matters only between wishes of
 * one policy for one file. Files that do not exist are counted and skipped; so are
 * unreadable files, counted separately, because one odd file must not block the node's
 * other writes. Fails only without memory; there are no writes then. */
int neap_plan_build(struct neap_plan *plan, const struct neap_plan_bounds *bounds,
		    neap_plan_read_fn *read, void *read_arg, struct neap_error *err);

/* Returns the number of wishes added since the plan was cleared, several for one file
 * included. */
size_t neap_plan_added(const struct neap_plan *plan);
/* Merged wishes, one per (group, key), sorted by group, then key. */
size_t neap_plan_wish_count(const struct neap_plan *plan);
const struct neap_wish *neap_plan_wish_get(const struct neap_plan *plan, size_t index);
/* Returns true when the merged value differs from the winning policy's wish; why says how
 * ("" otherwise). */
bool neap_plan_wish_was_bounded(const struct neap_plan *plan, size_t index,
				const char **ret_why);
/* Returns the group's own value for this file, bounded like a wish. False: it has none,
 * or the file does not exist or cannot be read. */
bool neap_plan_wish_own(const struct neap_plan *plan, size_t index,
			struct neap_value *ret);
size_t neap_plan_write_count(const struct neap_plan *plan);
const struct neap_write *neap_plan_write_get(const struct neap_plan *plan, size_t index);
size_t neap_plan_gone_count(const struct neap_plan *plan);
/* Returns the number of unreadable files; ret_first (may be NULL) is the first error,
 * NULL if none. */
size_t neap_plan_unread_count(const struct neap_plan *plan,
			      const struct neap_error **ret_first);

#endif
