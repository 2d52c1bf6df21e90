/* SPDX-License-Identifier: Apache-2.0
 *
 * The keys that neap may write. One table gives each key its name, its kernel files on
 * cgroup v1 and v2, its form, its limits, how wishes of several policies are merged, and
 * the order of writes between a parent and its children. The plan, the hand, the readings
 * and the Lua API all read this table; nobody can write a key that is not in it.
 *
 * A value is a number in the unit of the key's name, or a CPU set. */
#ifndef NEAP_ENGINE_MACHINE_KEY_H
#define NEAP_ENGINE_MACHINE_KEY_H

#include "engine/machine/cpuset.h"

#define NEAP_CFS_PERIOD_USEC 100000
#define NEAP_QUOTA_MIN_USEC  1000
#define NEAP_UNLIMITED       (-1) /* quota, memory limit */

/* The curve from cpu.shares to cpu.weight; the right one matches whatever else writes
 * weights on the node. */
enum neap_weight_curve { NEAP_WEIGHT_LINEAR, NEAP_WEIGHT_LOG };

/* The order does not matter; add keys before NEAP_KEY_COUNT. */
enum neap_key {
	NEAP_KEY_CPU_MAX_MILLI,  /* "cpu.max_milli": -1 unlimited */
	NEAP_KEY_CPU_BURST_USEC, /* "cpu.burst_usec" per period of 100 ms */
	NEAP_KEY_CPU_SHARES,     /* "cpu.shares": 2..262144; cpu.weight on v2 */
	NEAP_KEY_CPU_IDLE,       /* "cpu.idle": 0 or 1 */
	NEAP_KEY_CPUSET_CPUS,    /* "cpuset.cpus" */
	/* "cpuset.mems": NUMA nodes; on v1 required before a task can enter */
	NEAP_KEY_CPUSET_MEMS,
	NEAP_KEY_MEMORY_MAX_BYTES, /* "memory.max_bytes": -1 unlimited */
	NEAP_KEY_MEMORY_HIGH_BYTES,
	NEAP_KEY_MEMORY_LOW_BYTES,
	NEAP_KEY_MEMORY_MIN_BYTES,
	NEAP_KEY_PIDS_MAX, /* "pids.max": -1 unlimited */
	NEAP_KEY_COUNT
};

enum neap_controller {
	NEAP_CTL_CPU,
	NEAP_CTL_CPUACCT,
	NEAP_CTL_CPUSET,
	NEAP_CTL_MEMORY,
	NEAP_CTL_IO, /* blkio on v1 */
	NEAP_CTL_PIDS,
	/* the cgroup2 mount itself: pressure, on mixed v1/v2 machines too */
	NEAP_CTL_UNIFIED,
	NEAP_CTL_COUNT
};

enum neap_value_form { NEAP_FORM_NUMBER, NEAP_FORM_CPUSET };
/* Which of several wishes wins: the lowest number (for CPU sets the intersection), the
 * highest, or the wish of the policy configured first. -1 of a key with has_unlimited
 * counts as the largest. */
enum neap_merge { NEAP_MERGE_LOWEST, NEAP_MERGE_HIGHEST, NEAP_MERGE_FIRST };

struct neap_key_info {
	const char *name;              /* "cpu.max_milli" */
	const char *v1_file, *v2_file; /* NULL where that version has no such file */
	enum neap_controller controller;
	enum neap_value_form form;
	bool has_unlimited; /* -1 is a valid value */
	int64_t min, max;   /* besides -1 */
	enum neap_merge merge;
	/* A parent must be enlarged before its children, and shrunk after them (limits,
	 * CPU sets). */
	bool is_leveled;
	/* false: only neap itself writes it (cpuset.mems, pids.max) */
	bool is_for_policies;
	const char *doc;
};

struct neap_value {
	enum neap_value_form form;
	int64_t number;
	struct neap_cpuset cpus; /* valid when form is CPUSET */
};

const struct neap_key_info *neap_key_get(enum neap_key key);
/* Returns NEAP_KEY_COUNT when no key has that name. */
enum neap_key neap_key_find(const char *name);
const char *neap_controller_name(enum neap_controller controller);

/* Checks range and form. The error names the key, the value and the allowed range. */
int neap_value_check(enum neap_key key, const struct neap_value *value,
		     struct neap_error *err);
/* Compares numbers by value, CPU sets as sets. */
bool neap_value_is_equal(enum neap_key key, const struct neap_value *a,
			 const struct neap_value *b);
/* Returns whether present (from neap_value_parse) is the kernel's form of wished: equal,
 * memory rounded down to whole pages, or (v2) shares that give the same cpu.weight. Used
 * to skip needless writes and to verify a write. */
bool neap_value_is_in_force(enum neap_key key, bool v2, enum neap_weight_curve curve,
			    const struct neap_value *wished,
			    const struct neap_value *present);
/* Returns a > b, where -1 of a key with has_unlimited is the largest. */
bool neap_number_is_above(enum neap_key key, int64_t a, int64_t b);
/* Parses the text of a kernel file ("max 100000", "9223372036854771712", "0-3\n"). A
 * quota becomes milli, rounded down (v1: for the 100 ms period); a weight becomes the
 * lowest shares that the linear curve maps to it. *ret is unchanged on an error. */
int neap_value_parse(enum neap_key key, bool v2, const char *text, struct neap_value *ret,
		     struct neap_error *err);
/* Writes the text for the kernel file, without newline; cpu.max with its period ("max
 * 100000"), so it parses back. A weight uses the given curve. Like snprintf. */
size_t neap_value_format(enum neap_key key, bool v2, enum neap_weight_curve curve,
			 const struct neap_value *value, char *buf, size_t size);
/* Writes text for people and the audit: "1500", "max", "0-3". Like snprintf. */
size_t neap_value_print(enum neap_key key, const struct neap_value *value, char *buf,
			size_t size);

/* Pass 1 of a leveled write (parents first): computes a value that shrinks nothing.
 * Returns true with *ret = the larger of both (or the union) when that differs from old;
 * false when the file needs no write yet. */
bool neap_value_enlarge(enum neap_key key, const struct neap_value *old_value,
			const struct neap_value *new_value, struct neap_value *ret);

/* Conversions between the numbers of Kubernetes, cgroup v1 and cgroup v2. */

/* linear: 1 + (shares - 2) * 9999 / 262142, shares clamped to 2..262144; log: the curve
 * of runc 1.3.2 and crun 1.23. Zero and negative shares are an error. */
int neap_shares_to_weight(int64_t shares, enum neap_weight_curve curve,
			  int64_t *ret_weight, struct neap_error *err);
/* The inverse of the linear curve; weight must be 1..10000. */
int neap_weight_to_shares(int64_t weight, int64_t *ret_shares, struct neap_error *err);
/* Parses the quota in "200000 100000" or "max 100000" (NEAP_UNLIMITED). Two fields are
 * required. */
int neap_cpu_max_parse(const char *text, int64_t *ret_quota_usec, struct neap_error *err);
/* milli * 1024 / 1000, clamped to 2..262144. */
int64_t neap_milli_to_shares(int64_t milli);
/* milli * 100 for the 100 ms period, at least 1000; NEAP_UNLIMITED when <= 0. */
int64_t neap_milli_to_quota(int64_t milli);

#endif
