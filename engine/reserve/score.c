/* SPDX-License-Identifier: Apache-2.0
 *
 * Which reservation, and which node by its reservation: the fuller the better, unless an
 * order is given. */
#include <string.h>

#include "engine/reserve/room.h"

int64_t neap_reserve_score(const struct neap_reserve_part *part,
			   const struct neap_amounts *requests)
{
	int64_t sum = 0, count = 0;

	for (size_t i = 0; i < part->allocatable->count; i++) {
		uint32_t resource = part->allocatable->of[i].resource;
		int64_t capacity = part->allocatable->of[i].amount;
		int64_t used =
			neap_amount_sum(neap_amounts_get(requests, resource),
					neap_amounts_get(part->allocated, resource));

		if (capacity <= 0)
			continue;
		count++;
		if (used <= capacity)
			sum += (int64_t)((__int128)used * 100 / capacity);
	}
	return count > 0 ? sum / count : 0;
}

static bool is_before(const struct neap_reserve_part *a, int64_t a_score,
		      const struct neap_reserve_part *b, int64_t b_score)
{
	if ((a->order != 0) != (b->order != 0))
		return a->order != 0;
	if (a->order != b->order)
		return a->order < b->order;
	if (a->order == 0 && a_score != b_score)
		return a_score > b_score;
	return strcmp(a->name, b->name) < 0;
}

size_t neap_reserve_nominate(const struct neap_reserve_part *parts, size_t count,
			     const struct neap_amounts *requests)
{
	int64_t best_score = neap_reserve_score(&parts[0], requests);
	size_t best = 0;

	for (size_t i = 1; i < count; i++) {
		int64_t score = neap_reserve_score(&parts[i], requests);

		if (is_before(&parts[i], score, &parts[best], best_score)) {
			best = i;
			best_score = score;
		}
	}
	return best;
}

void neap_reserve_order(int64_t *scores, const int64_t *orders, size_t count)
{
	size_t first = count;

	for (size_t i = 0; i < count; i++)
		if (orders[i] != 0 && (first == count || orders[i] < orders[first]))
			first = i;
	if (first < count)
		scores[first] = NEAP_RESERVE_SCORE_ORDER;
}
