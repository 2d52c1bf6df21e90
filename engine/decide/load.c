/* SPDX-License-Identifier: Apache-2.0
 *
 * The filter and the score over the load columns, and their rows in the tables. */
#include "engine/decide/load.h"

#include <math.h>
#include <string.h>

#include "engine/decide/decide_priv.h"

void neap_load_ask_init(struct neap_load_ask *ask, const struct neap_cluster *cluster,
			const struct neap_pod *pod, int64_t now_usec)
{
	ask->load = neap_cluster_load(cluster);
	ask->is_prod = pod->load.band == NEAP_BAND_PROD;
	ask->now_usec = now_usec;
	neap_load_estimate(ask->load, pod, ask->estimate);
}

static bool is_expired(const struct neap_load_ask *ask, uint32_t row)
{
	return !(ask->load->flags[row] & NEAP_LOAD_HAS_TIME) ||
	       ask->now_usec - ask->load->update_usec[row] >= ask->load->args.expiry_usec;
}

/* Whether all is more than limit percent of capacity, rounded to whole percents. A
 * division is as dear as all the rest, and is needed close to the limit alone. */
static bool is_above(int64_t all, int64_t capacity, int64_t limit)
{
	if ((double)all * 100 < ((double)limit + 0.499) * (double)capacity)
		return false;
	return round((double)all / (double)capacity * 100) > (double)limit;
}

static enum neap_load_answer compare(const struct neap_load_ask *ask, uint32_t row,
				     enum neap_load_column used,
				     enum neap_load_column limits, uint32_t *ret_name)
{
	const struct neap_load *load = ask->load;

	for (uint32_t i = 0; i < load->args.count; i++) {
		int64_t limit = load->columns[limits][i][row];
		int64_t capacity = load->columns[NEAP_LOAD_CAPACITY][i][row];
		int64_t all;

		if (!limit || !capacity)
			continue;
		all = neap_amount_sum(load->columns[used][i][row], ask->estimate[i]);
		if (!is_above(all, capacity, limit))
			continue;
		*ret_name = i;
		return used == NEAP_LOAD_USED &&
				       load->flags[row] & NEAP_LOAD_IS_AGGREGATED
			       ? NEAP_LOAD_AGGREGATED_TOO_HIGH
			       : NEAP_LOAD_TOO_HIGH;
	}
	return NEAP_LOAD_FITS;
}

bool neap_load_can_refuse(const struct neap_cluster *cluster, const struct neap_pod *pod)
{
	return !pod->load.is_daemon && neap_cluster_load(cluster)->flags;
}

enum neap_load_answer neap_load_filter(const struct neap_load_ask *ask, uint32_t row,
				       uint32_t *ret_name)
{
	const struct neap_load_args *args = &ask->load->args;
	uint8_t flags = ask->load->flags ? ask->load->flags[row] : 0;
	bool is_prod = ask->is_prod && flags & NEAP_LOAD_HAS_PROD_LIMITS;

	if (!(is_prod || flags & NEAP_LOAD_HAS_LIMITS))
		return NEAP_LOAD_FITS;
	if (args->filters_expired && is_expired(ask, row))
		return args->passes_expired ? NEAP_LOAD_FITS : NEAP_LOAD_EXPIRED;
	if (!(flags & NEAP_LOAD_HAS_USAGE))
		return NEAP_LOAD_FITS;
	return is_prod ? compare(ask, row, NEAP_LOAD_PROD, NEAP_LOAD_PROD_LIMIT, ret_name)
		       : compare(ask, row, NEAP_LOAD_USED, NEAP_LOAD_LIMIT, ret_name);
}

/* The free part in whole points. Floating point is adjacent to the result and much faster
 * than integer division. */
static int64_t free_part(int64_t capacity, int64_t used)
{
	int64_t left = (capacity - used) * NEAP_SCORE_MAX, points;

	points = (int64_t)((double)left / (double)capacity);
	if (points * capacity > left)
		return points - 1;
	return (points + 1) * capacity <= left ? points + 1 : points;
}

/* Above 46 PB, a hundred times the capacity overflows. */
#define CAPACITY_MAX (INT64_MAX / NEAP_SCORE_MAX / 2)

static int64_t part_of(int64_t capacity, int64_t used)
{
	if (capacity <= 0 || used > capacity)
		return 0;
	if (capacity > CAPACITY_MAX)
		return (int64_t)((__int128)(capacity - used) * NEAP_SCORE_MAX / capacity);
	return free_part(capacity, used);
}

int64_t neap_load_score(const struct neap_load_ask *ask, uint32_t row)
{
	const struct neap_load *load = ask->load;
	const struct neap_load_args *args = &load->args;
	uint8_t flags = load->flags ? load->flags[row] : 0;
	bool is_prod = ask->is_prod && args->scores_prod;
	int64_t sum = 0, weights = args->dominant_weight, least = NEAP_SCORE_MAX;

	if (!(flags & NEAP_LOAD_HAS_USAGE) || is_expired(ask, row))
		return 0;
	for (size_t i = 0; i < args->count; i++) {
		int64_t used = load->columns[is_prod ? NEAP_LOAD_PROD : NEAP_LOAD_SCORED]
					    [i][row];
		int64_t part = part_of(load->columns[NEAP_LOAD_CAPACITY][i][row],
				       neap_amount_sum(used, ask->estimate[i]));

		least = part < least ? part : least;
		sum += part * args->weights[i];
		weights += args->weights[i];
	}
	/* Weights are 100 at most. */
	sum += least * args->dominant_weight;
	return weights ? (uint32_t)sum / (uint32_t)weights : 0;
}

/* --- the rows --- */

static bool prepare_filter(struct neap_cycle *cycle)
{
	if (!neap_load_can_refuse(cycle->cluster, cycle->pod))
		return false;
	neap_load_ask_init(&cycle->load, cycle->cluster, cycle->pod, cycle->now_usec);
	return true;
}

static bool is_calm(struct neap_cycle *cycle, uint32_t row)
{
	uint32_t name = 0;

	switch (neap_load_filter(&cycle->load, row, &name)) {
	case NEAP_LOAD_EXPIRED:
		return neap_cycle_refuse(cycle, row, NEAP_REASON_LOAD_EXPIRED, 0);
	case NEAP_LOAD_TOO_HIGH:
		return neap_cycle_refuse(cycle, row, NEAP_REASON_LOAD, name);
	case NEAP_LOAD_AGGREGATED_TOO_HIGH:
		return neap_cycle_refuse(cycle, row, NEAP_REASON_LOAD_AGGREGATED, name);
	case NEAP_LOAD_FITS:
		break;
	}
	return true;
}

static bool prepare_score(struct neap_cycle *cycle)
{
	if (!neap_cluster_load(cycle->cluster)->flags)
		return false;
	neap_load_ask_init(&cycle->load, cycle->cluster, cycle->pod, cycle->now_usec);
	return true;
}

static void score(struct neap_cycle *cycle, const uint32_t *rows, size_t count,
		  int64_t *ret)
{
	for (size_t i = 0; i < count; i++)
		ret[i] = neap_load_score(&cycle->load, rows[i]);
}

const struct neap_filter neap_filter_load = {
	"LoadAwareScheduling", prepare_filter, is_calm,
	NEAP_MOVED_LOAD | NEAP_MOVED_ROOM | NEAP_MOVED_POD_GONE};
const struct neap_score neap_score_load = {"LoadAwareScheduling", 0, NEAP_SCORE_AS_IS,
					   prepare_score, score};
