/* SPDX-License-Identifier: Apache-2.0
 *
 * A version that runs beside the one in service: asked about the same samples, under the same
 * budgets, with a memo of its own; what it wants is compared and counted, never written. */
#ifndef NEAP_LUA_SHADOW_H
#define NEAP_LUA_SHADOW_H

#include <jansson.h>

#include "lua/answer.h"

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
/* { "version", "since_unix_usec", "is_failed", "calls", "same", "different", "faults", "put_off",
 *   "last_difference": { "unix", "active": [..] | "hold" | "skip", "shadow": .. }?, "last_error"? } */
json_t *neap_shadow_json(const struct neap_shadow *shadow);

#endif
