/* SPDX-License-Identifier: Apache-2.0
 *
 * The order of leveled writes. */
#include "engine/machine/level.h"

#include <stdlib.h>

#include "engine/base/mem.h"

/* One item in sortable form, with everything the comparison needs, because qsort passes
 * no argument. */
struct rank {
	uint32_t depth, group, key, index;
};

/* Inside a group. Growing: the quota makes room for the burst. Shrinking: the burst
 * leaves first. The kernel refuses shares on an idle group and resets them when idle
 * changes. */
static const uint8_t rank_down[NEAP_KEY_COUNT] = {
	[NEAP_KEY_CPU_IDLE] = 0,         [NEAP_KEY_CPU_MAX_MILLI] = 1,
	[NEAP_KEY_CPU_BURST_USEC] = 2,   [NEAP_KEY_CPU_SHARES] = 3,
	[NEAP_KEY_CPUSET_MEMS] = 4,      [NEAP_KEY_CPUSET_CPUS] = 5,
	[NEAP_KEY_MEMORY_MAX_BYTES] = 6, [NEAP_KEY_MEMORY_HIGH_BYTES] = 7,
	[NEAP_KEY_MEMORY_LOW_BYTES] = 8, [NEAP_KEY_MEMORY_MIN_BYTES] = 9,
	[NEAP_KEY_PIDS_MAX] = 10,
};

static int compare_u32(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

static int compare_inside(const struct rank *a, const struct rank *b, int direction)
{
	int order = compare_u32(a->group, b->group);

	if (order == 0)
		order = direction * compare_u32(a->key, b->key);
	return order != 0 ? order : compare_u32(a->index, b->index);
}

static int compare_down(const void *a, const void *b)
{
	const struct rank *left = a, *right = b;
	int order = compare_u32(left->depth, right->depth);

	return order != 0 ? order : compare_inside(left, right, 1);
}

static int compare_up(const void *a, const void *b)
{
	const struct rank *left = a, *right = b;
	int order = compare_u32(right->depth, left->depth);

	return order != 0 ? order : compare_inside(left, right, -1);
}

/* Parents first: what grows, and once and for all what has no levels. */
static int step_down(const struct neap_level_item *item, size_t index,
		     neap_level_write_fn *write, void *arg, struct neap_error *err)
{
	struct neap_value larger;

	if (!neap_key_get(item->key)->is_leveled) {
		if (!item->is_forced &&
		    neap_value_is_equal(item->key, item->old_value, item->new_value))
			return 0;
		return write(arg, index, true, item->old_value, item->new_value, err);
	}
	if (!neap_value_enlarge(item->key, item->old_value, item->new_value, &larger))
		return 0;
	return write(arg, index, neap_value_is_equal(item->key, &larger, item->new_value),
		     item->old_value, &larger, err);
}

/* Children first: the exact value, where the way down did not leave it already. */
static int step_up(const struct neap_level_item *item, size_t index,
		   neap_level_write_fn *write, void *arg, struct neap_error *err)
{
	struct neap_value larger;
	const struct neap_value *now = item->old_value;

	if (!neap_key_get(item->key)->is_leveled)
		return 0;
	if (neap_value_enlarge(item->key, item->old_value, item->new_value, &larger))
		now = &larger;
	if (neap_value_is_equal(item->key, now, item->new_value))
		return 0;
	return write(arg, index, true, now, item->new_value, err);
}

int neap_level_order(const struct neap_level_item *items, size_t count,
		     neap_level_write_fn *write, void *arg, struct neap_error *err)
{
	neap_auto_free struct rank *ranks = neap_alloc_array(count, sizeof(*ranks));
	int rc = 0;

	if (ranks == NULL)
		return neap_error_nomem(err);
	for (size_t i = 0; i < count; i++)
		ranks[i] = (struct rank){items[i].depth, items[i].group,
					 rank_down[items[i].key], (uint32_t)i};

	qsort(ranks, count, sizeof(*ranks), compare_down);
	for (size_t i = 0; i < count && rc == 0; i++)
		rc = step_down(&items[ranks[i].index], ranks[i].index, write, arg, err);

	qsort(ranks, count, sizeof(*ranks), compare_up);
	for (size_t i = 0; i < count && rc == 0; i++)
		rc = step_up(&items[ranks[i].index], ranks[i].index, write, arg, err);
	return rc;
}
