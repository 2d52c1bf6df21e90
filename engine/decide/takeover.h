/* SPDX-License-Identifier: Apache-2.0
 *
 * Reservations that take over running pods, or wait until these leave
 * (spec.preAllocation). */
#ifndef NEAP_ENGINE_DECIDE_TAKEOVER_H
#define NEAP_ENGINE_DECIDE_TAKEOVER_H

#include "engine/decide/decide.h"

/* After a decision without a node, for a Reservation that may wait: returns the row where
 * it would fit if the pods there left, with the least in the way. Returns 1; 0 when there
 * is none or it does not wait; -NEAP_ENOMEM. */
int neap_decide_wait(struct neap_decide *decide, const struct neap_pod *stand,
		     uint32_t *ret_row, struct neap_error *err);

/* --- within a decision --- */

struct neap_cycle;
struct neap_kept;
/* Returns whether the Reservation being placed takes pods over; rows then need no free
 * room. */
bool neap_kept_takes_over(const struct neap_kept *kept);
/* reasons: one per line. */
bool neap_takeover_fits(struct neap_cycle *cycle, uint32_t row, struct neap_buf *reasons);
int64_t neap_takeover_score(struct neap_cycle *cycle, uint32_t row);

#endif
