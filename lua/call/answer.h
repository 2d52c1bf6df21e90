/* SPDX-License-Identifier: Apache-2.0
 *
 * What a policy answered to one input, to be compared with what another version did. Writes are a set
 * of target, key and value: why they are wanted, and in which order they stand, changes nothing on
 * the machine. */
#ifndef NEAP_LUA_CALL_ANSWER_H
#define NEAP_LUA_CALL_ANSWER_H

#include <jansson.h>

#include "lua/run/policy.h"

struct neap_answer {
	enum neap_tick_verdict verdict;
	struct neap_policy_wish *wishes; /* owned; of NEAP_TICK_WISHES only */
	size_t count;
	const struct neap_policy_wish *
		*sorted; /* by neap_answer_sort, without repetitions */
	size_t sorted_count;
	struct neap_error err; /* of faults and skips */
};

/* To be called before the answer is compared or printed. Fails for want of memory only. */
int neap_answer_sort(struct neap_answer *answer, struct neap_error *err);
void neap_answer_done(struct neap_answer *answer);
/* Raised, wrong, or over its budget. */
bool neap_answer_is_fault(const struct neap_answer *answer);
bool neap_answer_is_same(const struct neap_answer *a, const struct neap_answer *b);
/* ["besteffort cpu.max_milli=2400", ...], "hold", "skip" or "error: ..."; NULL without memory. */
json_t *neap_answer_json(const struct neap_answer *answer);
/* A script may put any bytes into its texts; what is no UTF-8 becomes "?". */
json_t *neap_text_json(const char *text);

#endif
