/* SPDX-License-Identifier: Apache-2.0
 *
 * What two versions of a policy say about the same nodes: for shadows and replays. */
#ifndef NEAP_LUA_PLACE_COMPARE_H
#define NEAP_LUA_PLACE_COMPARE_H

#include "lua/place/place.h"

#define NEAP_PLACE_SIDE_TEXT (NEAP_PLACE_REASON + 16)

/* One of the two: points of a score, or answers of a filter, by row. Borrows all. */
struct neap_place_side {
	enum neap_tick_verdict verdict;
	const int64_t *points; /* times weight; NULL: of a filter */
	const struct neap_place_call *call;
	const uint32_t *answers;
	struct neap_error err;
};

/* Returns the first of count indexes from `from` on at which two that have answers
 * differ; count: none. Of a filter only which rows are refused counts, not the texts. */
size_t neap_place_side_differs(const struct neap_place_side *a,
			       const struct neap_place_side *b, size_t from,
			       size_t count);
/* "40 points", "allowed" or "refused: why". */
const char *neap_place_side_text(const struct neap_place_side *side, size_t i,
				 char buf[NEAP_PLACE_SIDE_TEXT]);
/* neap_place_weigh, times the weight. */
size_t neap_place_weigh_fully(const struct neap_curve_score *score,
			      const struct neap_place *place, const uint32_t *rows,
			      size_t count, int64_t *left_usec, int64_t *ret);

#endif
