/* SPDX-License-Identifier: Apache-2.0
 *
 * A set of CPUs as 64-bit words. It lives on the stack or inside another struct and
 * allocates nothing. Members are operating system numbers (as in cpuset.cpus), never
 * hwloc's logical indexes. Made for sets of a few hundred CPUs: every operation touches
 * only the words up to the highest member ever added (len). */
#ifndef NEAP_ENGINE_MACHINE_CPUSET_H
#define NEAP_ENGINE_MACHINE_CPUSET_H

#include "engine/base/error.h"

/* The limit of Linux is 8192 CPUs. */
#define NEAP_CPU_MAX      8192
#define NEAP_CPUSET_WORDS (NEAP_CPU_MAX / 64)

/* Words at and above len are never read. Zero bytes are the empty set. */
struct neap_cpuset {
	uint32_t len;
	uint64_t word[NEAP_CPUSET_WORDS];
};

void neap_cpuset_clear(struct neap_cpuset *set);
void neap_cpuset_copy(struct neap_cpuset *to, const struct neap_cpuset *from);
/* Returns false and adds nothing for numbers outside 0..NEAP_CPU_MAX-1, which are never
 * members. */
bool neap_cpuset_add(struct neap_cpuset *set, int os_cpu);
void neap_cpuset_add_range(struct neap_cpuset *set, int first, int last);
void neap_cpuset_remove(struct neap_cpuset *set, int os_cpu);
bool neap_cpuset_has(const struct neap_cpuset *set, int os_cpu);
bool neap_cpuset_is_empty(const struct neap_cpuset *set);
bool neap_cpuset_is_equal(const struct neap_cpuset *a, const struct neap_cpuset *b);
/* Returns whether every member of a is in b. */
bool neap_cpuset_is_subset(const struct neap_cpuset *a, const struct neap_cpuset *b);
bool neap_cpuset_intersects(const struct neap_cpuset *a, const struct neap_cpuset *b);
int neap_cpuset_count(const struct neap_cpuset *set);
/* Returns the lowest member above after (start with -1), -1 at the end. */
int neap_cpuset_next(const struct neap_cpuset *set, int after);
/* Returns the highest member, -1 when empty. */
int neap_cpuset_last(const struct neap_cpuset *set);

/* The result may be one of the operands. */
void neap_cpuset_and(struct neap_cpuset *ret, const struct neap_cpuset *a,
		     const struct neap_cpuset *b);
void neap_cpuset_or(struct neap_cpuset *ret, const struct neap_cpuset *a,
		    const struct neap_cpuset *b);
void neap_cpuset_minus(struct neap_cpuset *ret, const struct neap_cpuset *a,
		       const struct neap_cpuset *b);

/* Parses a Linux CPU list: ids and a-b ranges separated by commas, in any order,
 * repetition allowed; "" is the empty set, and a range with b < a adds nothing. Blanks,
 * signs, hex and empty items are errors, and so are ranges ending above 4096 and ids from
 * NEAP_CPU_MAX on. *ret_set is written on success only. */
int neap_cpuset_parse(struct neap_cpuset *ret_set, const char *text,
		      struct neap_error *err);
/* The same for annotations and files of other programs: single ids up to INT32_MAX are
 * accepted, and those that no machine can have are dropped. */
int neap_cpuset_parse_told(struct neap_cpuset *ret_set, const char *text,
			   struct neap_error *err);
/* The same, and returns the dropped ids: ascending, each once, never NULL; the caller
 * frees them. */
int neap_cpuset_parse_beyond(struct neap_cpuset *ret_set, const char *text,
			     int **ret_beyond, size_t *ret_count, struct neap_error *err);
/* The same for the text of kernel files: trimmed, ranges up to NEAP_CPU_MAX; ids from
 * there on are errors. */
int neap_cpuset_parse_kernel(struct neap_cpuset *ret_set, const char *text,
			     struct neap_error *err);
/* Writes ids ascending, with neighbours joined even when there are only two ("0-1"); ""
 * when empty. Like snprintf: returns the full length, and writes at most size bytes with
 * the NUL. */
size_t neap_cpuset_format(const struct neap_cpuset *set, char *buf, size_t size);

/* Enough for the list of any set that fits a kernel file (NEAP_CPU_MAX / 2 single
 * ids). */
#define NEAP_CPUSET_TEXT 24576

#endif
