/* SPDX-License-Identifier: Apache-2.0
 *
 * A version that runs beside the one in service, with the same samples, decisions or
 * rounds, the same budgets and its own memo. Its answers are compared and counted, and
 * never applied. */
#ifndef NEAP_LUA_RUN_SHADOW_H
#define NEAP_LUA_RUN_SHADOW_H

#include <jansson.h>

#include "lua/call/answer.h"
#include "lua/reserve/reserve.h"

struct neap_shadow;

/* Takes over the policy, even without memory (NULL). */
struct neap_shadow *neap_shadow_new_take(struct neap_policy *policy,
					 int64_t now_unix_usec);
void neap_shadow_free(struct neap_shadow *shadow);
/* Call it after the version in service answered sample with verdict and wishes
 * (borrowed). The rest of the cycle's budget pays for it, so shadows are put off first.
 * It stops by the same rules as a policy in service: three consecutive faults, or a
 * killed state. */
void neap_shadow_ask(struct neap_shadow *shadow, const struct neap_sample *sample,
		     enum neap_tick_verdict verdict,
		     const struct neap_policy_wish *wishes, size_t count,
		     int64_t *left_usec);

/* --- of a decision about a place --- */

/* Starts a decision about a new pod. */
void neap_shadow_begin(struct neap_shadow *shadow);
/* Call it after a score policy in service was called for place, with its verdict and, for
 * WISHES, its score. Compared is points times weight of each row. */
void neap_shadow_plan(struct neap_shadow *shadow, const struct neap_place *place,
		      enum neap_tick_verdict verdict,
		      const struct neap_curve_score *score, const uint32_t *rows,
		      size_t count, int64_t *left_usec);
/* Call it after a filter policy in service was called for a block of rows, with its
 * verdict and, for WISHES, its answers. Compared is which rows are refused, not the
 * texts. */
void neap_shadow_allow(struct neap_shadow *shadow, const struct neap_place *place,
		       enum neap_tick_verdict verdict, const struct neap_place_call *call,
		       const uint32_t *answers, const uint32_t *rows, size_t count,
		       int64_t *left_usec);

/* --- of offers of reservations: a decision counts as one call --- */

/* Starts a decision about a pod; what pod points to must stay until the next. */
void neap_shadow_begin_offers(struct neap_shadow *shadow,
			      const struct neap_place_pod *pod);
/* Call it after a policy in service was asked whether a reservation is open, with its
 * verdict and, for WISHES, what it said. Compared is which are open, not the texts. */
void neap_shadow_match(struct neap_shadow *shadow, const struct neap_reserve_offer *offer,
		       enum neap_tick_verdict verdict,
		       const struct neap_reserve_verdict *said, int64_t *left_usec);
/* ... and for its rank. */
void neap_shadow_rank(struct neap_shadow *shadow, const struct neap_reserve_offer *offer,
		      enum neap_tick_verdict verdict, int rank, int64_t *left_usec);

/* --- of descheduling rounds --- */

/* What a shadow said in a round, gathered on the round's thread. */
struct neap_shadow_tally {
	uint64_t calls, same, different, faults, put_off;
	/* These two go on from round to round, by the rules above. */
	int faults_in_row;
	bool is_failed;
	json_t *last; /* difference; NULL: none */
	char last_error[256];
};

/* Adds a call. active and own: what both said, as lines (lua/deschedule/round_lines.h);
 * NULL without memory. verdict, err and is_dead: of the shadow. */
void neap_shadow_tally_add(struct neap_shadow_tally *tally, int64_t now_unix,
			   const json_t *active, const json_t *own,
			   enum neap_tick_verdict verdict, const struct neap_error *err,
			   bool is_dead);
/* Forgets the round, but not the two that go on. */
void neap_shadow_tally_clear(struct neap_shadow_tally *tally);
/* Adds what was gathered. On the loop. */
void neap_shadow_add(struct neap_shadow *shadow, const struct neap_shadow_tally *tally);
/* The version that runs as a shadow, borrowed. */
struct neap_policy *neap_shadow_policy(const struct neap_shadow *shadow);

/* Returns { "version", "since_unix_usec", "is_failed", "calls", "same", "different",
 *   "faults", "put_off", "last_difference": { "unix", "active": [..] | "hold" | "skip",
 *   "shadow": .. }?, "last_error"? }
 * A difference in a decision also has "pod" and "node", and says "40 points", "allowed"
 * or "refused: why" for the first node that differs; or "reservation", and "open",
 * "refused: why", "rank 5" or "no rank" for the first one. */
json_t *neap_shadow_json(const struct neap_shadow *shadow);

#endif
