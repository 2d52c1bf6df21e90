/* SPDX-License-Identifier: Apache-2.0
 *
 * A version that runs beside the one in service: asked about the same samples or decisions, under the
 * same budgets, with a memo of its own; what it wants is compared and counted, and never acts. */
#ifndef NEAP_LUA_RUN_SHADOW_H
#define NEAP_LUA_RUN_SHADOW_H

#include <jansson.h>

#include "lua/call/answer.h"
#include "lua/place/place.h"

struct neap_shadow;

/* Takes the policy over, also without memory (NULL). */
struct neap_shadow *neap_shadow_new_take(struct neap_policy *policy,
					 int64_t now_unix_usec);
void neap_shadow_free(struct neap_shadow *shadow);
const struct neap_policy *neap_shadow_policy(const struct neap_shadow *shadow);
/* After the version in service was asked about sample and answered verdict and wishes (borrowed). What
 * is left of the cycle's budget pays for it, so a shadow is the first to be put off. It ends by itself
 * like a policy in service: three faults in a row, or a killed state. */
void neap_shadow_ask(struct neap_shadow *shadow, const struct neap_sample *sample,
		     enum neap_tick_verdict verdict,
		     const struct neap_policy_wish *wishes, size_t count,
		     int64_t *left_usec);

/* --- of a decision about a place --- */

/* A decision begins: its pod is another. */
void neap_shadow_begin(struct neap_shadow *shadow);
/* After a score policy in service was asked about place: its verdict, and of WISHES what it scores by. What
 * counts is how many points times weight each of the rows is given. */
void neap_shadow_plan(struct neap_shadow *shadow, const struct neap_place *place,
		      enum neap_tick_verdict verdict,
		      const struct neap_curve_score *score, const uint32_t *rows,
		      size_t count, int64_t *left_usec);
/* After a filter policy in service was asked about the rows of a block: its verdict, and of WISHES its
 * answers. What counts is which of the rows are refused, not the words. */
void neap_shadow_allow(struct neap_shadow *shadow, const struct neap_place *place,
		       enum neap_tick_verdict verdict, const struct neap_place_call *call,
		       const uint32_t *answers, const uint32_t *rows, size_t count,
		       int64_t *left_usec);

/* { "version", "since_unix_usec", "is_failed", "calls", "same", "different", "faults", "put_off",
 *   "last_difference": { "unix", "active": [..] | "hold" | "skip", "shadow": .. }?, "last_error"? }
 * Of a decision the difference also has "pod" and "node", and says "40 points", "allowed" or "refused: why" of the
 * first node on which they differ. */
json_t *neap_shadow_json(const struct neap_shadow *shadow);

#endif
