/* SPDX-License-Identifier: Apache-2.0
 *
 * A policy's answer to one input, for comparison with another version's. Writes are a set
 * of target, key and value; their reasons and their order change nothing on the
 * machine. */
#ifndef NEAP_LUA_CALL_ANSWER_H
#define NEAP_LUA_CALL_ANSWER_H

#include <jansson.h>

#include "lua/call/policy.h"

struct neap_answer {
	enum neap_tick_verdict verdict;
	struct neap_policy_wish *wishes; /* owned; only with NEAP_TICK_WISHES */
	size_t count;
	const struct neap_policy_wish *
		*sorted; /* sorted by neap_answer_sort, without duplicates */
	size_t sorted_count;
	struct neap_error err; /* for faults and skips */
};

/* Call it before comparing or printing the answer. Fails only without memory. */
int neap_answer_sort(struct neap_answer *answer, struct neap_error *err);
void neap_answer_done(struct neap_answer *answer);
/* Raised, invalid, or over its budget. */
bool neap_answer_is_fault(const struct neap_answer *answer);
bool neap_answer_is_same(const struct neap_answer *a, const struct neap_answer *b);
/* ["besteffort cpu.max_milli=2400", ...], "hold", "skip" or "error: ..."; NULL without
 * memory. */
json_t *neap_answer_json(const struct neap_answer *answer);
/* A script can put any bytes into its texts; invalid UTF-8 becomes "?". */
json_t *neap_text_json(const char *text);

#endif
