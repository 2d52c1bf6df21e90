/* SPDX-License-Identifier: Apache-2.0
 *
 * What a policy of a round answered, as lines for people, for comparison with another
 * version's: a sorted list of texts without duplicates, or a word such as
 * "error: ...". */
#ifndef NEAP_LUA_DESCHEDULE_ROUND_LINES_H
#define NEAP_LUA_DESCHEDULE_ROUND_LINES_H

#include "lua/deschedule/deschedule.h"

/* Lines of a difference that are listed; the others are counted. */
#define NEAP_ROUND_LINES_MAX 12

/* Lines that are collected. */
struct neap_lines {
	char **of;
	size_t count, size;
	bool is_failed; /* without memory */
};

void neap_lines_add(struct neap_lines *lines, const char *fmt, ...) NEAP_PRINTF(2, 3);
/* "keep NAMESPACE/NAME: why" */
void neap_lines_add_kept(struct neap_lines *lines, const struct neap_world_pod *pod,
			 const char *why);
/* Adds the questions and wishes since these numbers: "evict NAMESPACE/NAME: why",
 * "keep NAMESPACE/NAME (budget): reason", "cordon NODE". */
void neap_lines_add_round(struct neap_lines *lines, const struct neap_round *round,
			  size_t said_from, size_t wish_from);
/* Frees the lines and returns the list; with a verdict other than WISHES the word. NULL
 * without memory. */
json_t *neap_lines_take(struct neap_lines *lines, enum neap_tick_verdict verdict,
			const struct neap_error *err);
/* Returns what of says and other does not: the word, or lines, of which the last may be
 * "and 30 more". NULL without memory. */
json_t *neap_lines_only(const json_t *of, const json_t *other);

#endif
