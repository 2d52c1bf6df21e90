/* SPDX-License-Identifier: Apache-2.0
 *
 * A set of CPUs as 64-bit words. Lies on the stack or inside another struct; needs no memory of
 * its own. Members are operating system numbers (what cpuset.cpus takes), never hwloc's logical
 * indexes. Sets of a few hundred CPUs are the usual case: every operation touches only the words
 * up to the highest member ever added (len), not the whole array. */
#ifndef NEAP_ENGINE_MACHINE_CPUSET_H
#define NEAP_ENGINE_MACHINE_CPUSET_H

#include "engine/base/error.h"

/* Linux itself ends at 8192 CPUs. */
#define NEAP_CPU_MAX      8192
#define NEAP_CPUSET_WORDS (NEAP_CPU_MAX / 64)

/* Words at and above len hold nothing and are never read. memset 0 is the empty set. */
struct neap_cpuset {
	uint32_t len;
	uint64_t word[NEAP_CPUSET_WORDS];
};

void neap_cpuset_clear(struct neap_cpuset *set);
void neap_cpuset_copy(struct neap_cpuset *to, const struct neap_cpuset *from);
/* Numbers outside 0..NEAP_CPU_MAX-1 are not added (false) and never members. */
bool neap_cpuset_add(struct neap_cpuset *set, int os_cpu);
void neap_cpuset_add_range(struct neap_cpuset *set, int first, int last);
void neap_cpuset_remove(struct neap_cpuset *set, int os_cpu);
bool neap_cpuset_has(const struct neap_cpuset *set, int os_cpu);
bool neap_cpuset_is_empty(const struct neap_cpuset *set);
bool neap_cpuset_is_equal(const struct neap_cpuset *a, const struct neap_cpuset *b);
/* Every member of a is in b. */
bool neap_cpuset_is_subset(const struct neap_cpuset *a, const struct neap_cpuset *b);
bool neap_cpuset_intersects(const struct neap_cpuset *a, const struct neap_cpuset *b);
int neap_cpuset_count(const struct neap_cpuset *set);
/* The lowest member above after (-1 starts), -1 at the end. */
int neap_cpuset_next(const struct neap_cpuset *set, int after);
/* The highest member, -1 when empty. */
int neap_cpuset_last(const struct neap_cpuset *set);

/* The result may be one of the operands. */
void neap_cpuset_and(struct neap_cpuset *ret, const struct neap_cpuset *a,
		     const struct neap_cpuset *b);
void neap_cpuset_or(struct neap_cpuset *ret, const struct neap_cpuset *a,
		    const struct neap_cpuset *b);
void neap_cpuset_minus(struct neap_cpuset *ret, const struct neap_cpuset *a,
		       const struct neap_cpuset *b);

/* Linux CPU list: ids and a-b ranges by commas, in any order, repeated or not; "" is the empty
 * set, b < a adds nothing. No blanks, signs, hex or empty items. A range ending above 4096 and an
 * id at or above NEAP_CPU_MAX are errors. *ret_set is written on success only. */
int neap_cpuset_parse(struct neap_cpuset *ret_set, const char *text,
		      struct neap_error *err);
/* The same for what others wrote into annotations and files: single ids up to INT32_MAX are fine,
 * and those that no machine has are left out. */
int neap_cpuset_parse_told(struct neap_cpuset *ret_set, const char *text,
			   struct neap_error *err);
/* That, and says what is left out: ascending, each once, never NULL; the caller frees it. */
int neap_cpuset_parse_beyond(struct neap_cpuset *ret_set, const char *text,
			     int **ret_beyond, size_t *ret_count, struct neap_error *err);
/* The same for text as kernel files give it: trimmed, ranges up to NEAP_CPU_MAX, an id there or
 * above is an error. */
int neap_cpuset_parse_kernel(struct neap_cpuset *ret_set, const char *text,
			     struct neap_error *err);
/* Linux CPU mask: hex words of 32 bits by commas, highest first ("ff,00000001"). */
int neap_cpuset_parse_mask(struct neap_cpuset *ret_set, const char *text,
			   struct neap_error *err);
/* Ascending, neighbours joined also when only two ("0-1"), "" when empty. As snprintf: returns the
 * length it wants, writes at most size bytes with the NUL. */
size_t neap_cpuset_format(const struct neap_cpuset *set, char *buf, size_t size);
size_t neap_cpuset_format_mask(const struct neap_cpuset *set, char *buf, size_t size);

/* Enough for the list of any set that fits a kernel file here (NEAP_CPU_MAX / 2 single ids). */
#define NEAP_CPUSET_TEXT 24576

#endif
