/* SPDX-License-Identifier: Apache-2.0
 *
 * The keys that neap may write: one table says for each its name, its kernel file on
 * cgroup v1 and v2, its form, its limits, how the wishes of several policies are merged,
 * and in which direction a parent and its children must be written. The plan, the hand,
 * the readings and the Lua API all read this table; a key that is not here cannot be
 * written by anyone.
 *
 * A value is a number in the unit of the key's name, or a CPU set. */
#ifndef NEAP_ENGINE_MACHINE_KEY_H
#define NEAP_ENGINE_MACHINE_KEY_H

#include "engine/machine/convert.h"
#include "engine/machine/cpuset.h"

/* Order matters nowhere; new keys go before NEAP_KEY_COUNT. */
enum neap_key {
	NEAP_KEY_CPU_MAX_MILLI,    /* "cpu.max_milli": -1 unlimited */
	NEAP_KEY_CPU_BURST_USEC,   /* "cpu.burst_usec" per period of 100 ms */
	NEAP_KEY_CPU_SHARES,       /* "cpu.shares": 2..262144; cpu.weight on v2 */
	NEAP_KEY_CPU_IDLE,         /* "cpu.idle": 0 or 1 */
	NEAP_KEY_CPUSET_CPUS,      /* "cpuset.cpus" */
	NEAP_KEY_CPUSET_MEMS,      /* "cpuset.mems": NUMA nodes; on v1 before a task */
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
	NEAP_CTL_UNIFIED, /* the cgroup2 mount itself: pressure, also on mixed machines */
	NEAP_CTL_COUNT
};

enum neap_value_form { NEAP_FORM_NUMBER, NEAP_FORM_CPUSET };
/* Which of several wishes wins: the lowest number (or the common CPUs), the highest, or
 * that of the policy configured first. -1 of an unlimited key counts as the largest. */
enum neap_merge { NEAP_MERGE_LOWEST, NEAP_MERGE_HIGHEST, NEAP_MERGE_FIRST };

struct neap_key_info {
	const char *name;              /* "cpu.max_milli" */
	const char *v1_file, *v2_file; /* NULL where that version has none */
	enum neap_controller controller;
	enum neap_value_form form;
	bool has_unlimited; /* -1 is a value */
	int64_t min, max;   /* besides -1 */
	enum neap_merge merge;
	/* A parent must be enlarged before its children and shrunk after them (limits,
	 * CPU sets). */
	bool is_leveled;
	bool is_for_policies; /* false: only neap itself writes it (cpuset.mems, pids.max) */
	const char *doc;
};

struct neap_value {
	enum neap_value_form form;
	int64_t number;
	struct neap_cpuset cpus; /* valid when form is CPUSET */
};

const struct neap_key_info *neap_key_get(enum neap_key key);
/* NEAP_KEY_COUNT when there is none of that name. */
enum neap_key neap_key_find(const char *name);
/* The key that owns this v1 or v2 file name, NEAP_KEY_COUNT if none. */
enum neap_key neap_key_find_file(const char *file);
const char *neap_controller_name(enum neap_controller controller);

/* Range and form. The error names the key, the value and what is allowed. */
int neap_value_check(enum neap_key key, const struct neap_value *value,
		     struct neap_error *err);
/* Numbers by value, CPU sets as sets. */
bool neap_value_is_equal(enum neap_key key, const struct neap_value *a,
			 const struct neap_value *b);
/* What is present, as neap_value_parse gives it, is what the kernel makes of wished:
 * equal, or memory rounded down to whole pages, or (v2) shares that come out as the same
 * cpu.weight. For "is it so already" and for reading back what was written. */
bool neap_value_is_in_force(enum neap_key key, bool v2, enum neap_weight_curve curve,
			    const struct neap_value *wished,
			    const struct neap_value *present);
/* a > b, where -1 of a key that has_unlimited is the largest. */
bool neap_number_is_above(enum neap_key key, int64_t a, int64_t b);
/* Text as the kernel file shows it ("max 100000", "9223372036854771712", "0-3\n").
 * A quota becomes milli, rounded down (v1: of a period of 100 ms); a weight the lowest
 * shares that the linear curve turns into it. On an error *ret is as it was. */
int neap_value_parse(enum neap_key key, bool v2, const char *text, struct neap_value *ret,
		     struct neap_error *err);
/* Text as the kernel file takes it, without newline; cpu.max with its period ("max
 * 100000"), which also reads back. Weight uses the given curve. As snprintf. */
size_t neap_value_format(enum neap_key key, bool v2, enum neap_weight_curve curve,
			 const struct neap_value *value, char *buf, size_t size);
/* For people and audit: "1500", "max", "0-3". As snprintf. */
size_t neap_value_print(enum neap_key key, const struct neap_value *value, char *buf,
			size_t size);

/* Pass 1 of a leveled write (parents first): what to write so that nothing gets smaller.
 * True with *ret = the larger of both, or the union, when that differs from old; false:
 * leave as it is. */
bool neap_value_enlarge(enum neap_key key, const struct neap_value *old_value,
			const struct neap_value *new_value, struct neap_value *ret);

#endif
