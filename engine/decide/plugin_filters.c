/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls the plugin filters and scores. */
#include "engine/decide/decide.h"

#include "engine/decide/decide_priv.h"

void neap_more_begin(struct neap_cycle *cycle)
{
	cycle->has_more_filters =
		cycle->more &&
		cycle->more->begin(cycle->more->arg, cycle->cluster, cycle->pod,
				   cycle->now_usec, cycle->is_choice);
}

bool neap_more_filter(struct neap_cycle *cycle, size_t from)
{
	const struct neap_decide_more *more = cycle->more;
	size_t kept = from;

	if (from == cycle->row_count)
		return true;
	if (!more->filter(more->arg, cycle->rows + from, cycle->row_count - from, false,
			  cycle->more_answers))
		return false;
	for (size_t i = from; i < cycle->row_count; i++) {
		uint32_t row = cycle->rows[i], answer = cycle->more_answers[i - from];

		if (!answer) {
			cycle->rows[kept++] = row;
			continue;
		}
		(void)neap_cycle_refuse(cycle, row, NEAP_REASON_MORE, answer);
		cycle->wakes |= NEAP_MOVED_ANY; /* nobody knows what they look at */
	}
	cycle->row_count = kept;
	return true;
}

bool neap_more_fits(struct neap_cycle *cycle, uint32_t row)
{
	uint32_t answer = 0;

	return !cycle->has_more_filters ||
	       (cycle->more->filter(cycle->more->arg, &row, 1, true, &answer) && !answer);
}

uint32_t neap_more_code(uint32_t reason)
{
	return (uint32_t)NEAP_REASON_MORE << NEAP_REASON_SHIFT | reason;
}

const char *neap_more_reason(const struct neap_decide *decide, uint32_t reason)
{
	/* Only read. */
	const struct neap_cycle *cycle =
		neap_decide_cycle((struct neap_decide *)(uintptr_t)decide);

	return cycle->more ? cycle->more->reason(cycle->more->arg, reason) : "";
}

void neap_more_add_scores(struct neap_cycle *cycle)
{
	const struct neap_decide_more *more = cycle->more;

	for (size_t i = 0;; i++) {
		int weight = more->score(more->arg, i, cycle->rows, cycle->row_count,
					 cycle->part);

		if (weight < 0)
			return;
		for (size_t n = 0; weight && n < cycle->row_count; n++)
			cycle->scores[n] += weight * cycle->part[n];
	}
}
