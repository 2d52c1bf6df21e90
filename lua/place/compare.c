/* SPDX-License-Identifier: Apache-2.0 */
#include "lua/place/compare.h"

#include <stdio.h>

size_t neap_place_side_differs(const struct neap_place_side *a,
			       const struct neap_place_side *b, size_t from, size_t count)
{
	while (from < count && (a->points ? a->points[from] == b->points[from]
					  : !a->answers[from] == !b->answers[from]))
		from++;
	return from;
}

const char *neap_place_side_text(const struct neap_place_side *side, size_t i,
				 char buf[NEAP_PLACE_SIDE_TEXT])
{
	if (side->points)
		(void)snprintf(buf, NEAP_PLACE_SIDE_TEXT, "%lld points",
			       (long long)side->points[i]);
	else if (!side->answers[i])
		(void)snprintf(buf, NEAP_PLACE_SIDE_TEXT, "allowed");
	else
		(void)snprintf(buf, NEAP_PLACE_SIDE_TEXT, "refused: %s",
			       side->call->reasons[side->answers[i] - 1]);
	return buf;
}

size_t neap_place_weigh_fully(const struct neap_curve_score *score,
			      const struct neap_place *place, const uint32_t *rows,
			      size_t count, int64_t *left_usec, int64_t *ret)
{
	size_t done = neap_place_weigh(score, place, rows, count, left_usec, ret);

	for (size_t i = 0; i < done; i++)
		ret[i] *= score->weight;
	return done;
}
