/* SPDX-License-Identifier: Apache-2.0
 *
 * Reservations whose room running pods have (spec.preAllocation): they take pods over, or wait until these are gone. */
#ifndef NEAP_ENGINE_DECIDE_TAKEOVER_H
#define NEAP_ENGINE_DECIDE_TAKEOVER_H

#include "engine/decide/decide.h"

/* After a decision without a place, about one that may wait: the row where it would fit if the pods there were gone, and
 * where the least of them is in the way. 1; 0: there is none, or it does not wait; -NEAP_ENOMEM. */
int neap_decide_wait(struct neap_decide *decide, const struct neap_pod *stand,
		     uint32_t *ret_row, struct neap_error *err);

/* --- within a decision --- */

struct neap_cycle;
struct neap_kept;
/* The Reservation that is being placed takes pods over: the rows ask for no room without that. */
bool neap_kept_takes_over(const struct neap_kept *kept);
/* reasons: one a line. */
bool neap_takeover_fits(struct neap_cycle *cycle, uint32_t row, struct neap_buf *reasons);
int64_t neap_takeover_score(struct neap_cycle *cycle, uint32_t row);

#endif
