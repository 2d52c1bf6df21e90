/* SPDX-License-Identifier: Apache-2.0
 *
 * Whole cores of unequal size: cores with and without SMT, or with an offline sibling. A
 * core counts with the CPUs it has. Finding cores that add up to the exact count is a
 * subset sum over few distinct sizes, so it stays small. Small cores go first, so that
 * large ones stay whole for others. */
#include <string.h>

#include "engine/cpu/accumulator_priv.h"

#define SIZES (64 + 1)

/* Whole cores of a set of words, by their CPUs. */
static void count_sizes(const struct neap_cpu_layout *layout, const uint64_t *whole,
			const struct neap_cpu_part *part, int ret[SIZES])
{
	memset(ret, 0, SIZES * sizeof(*ret));
	for (int i = part->first; i < part->last; i++)
		for (uint64_t low = any_of_core(layout, whole[i] & part->mask[i]); low;
		     low &= low - 1)
			ret[bits(whole[i] & whole_cores(layout, low & -low))]++;
}

/* Computes every sum up to most as bits: those that cores of these sizes can add up
 * to. */
static void find_sums(const int counts[SIZES], int most, uint64_t *ret)
{
	int words = most / 64 + 1;

	memset(ret, 0, (size_t)words * sizeof(*ret));
	ret[0] = 1;
	for (int size = 1; size < SIZES; size++)
		/* Groups of 1, 2, 4 ... and the rest cover any number of them. */
		for (int left = counts[size], step = 1; left > 0;
		     left -= step, step *= 2) {
			int64_t by = (int64_t)(step < left ? step : left) * size;
			int skip = (int)(by / 64), rest = (int)(by % 64);

			for (int i = words - 1; i >= skip; i--) {
				ret[i] |= ret[i - skip] << rest;
				if (rest && i > skip)
					ret[i] |= ret[i - skip - 1] >> (64 - rest);
			}
		}
}

static bool has_sum(const uint64_t *sums, int sum)
{
	return (sums[sum / 64] >> (sum % 64) & 1) != 0;
}

static bool can_make(const int counts[SIZES], int sum)
{
	uint64_t sums[NEAP_CPU_WORDS_MAX + 1];

	if (sum < 0 || sum > NEAP_CPU_SLOTS_MAX)
		return false;
	find_sums(counts, sum, sums);
	return has_sum(sums, sum);
}

/* Returns the largest sum not above most. */
static int largest_sum(const int counts[SIZES], int most)
{
	uint64_t sums[NEAP_CPU_WORDS_MAX + 1];

	find_sums(counts, most, sums);
	while (!has_sum(sums, most))
		most--;
	return most;
}

/* Gives sum, which they can make, out of the parts in their order. */
static void give_sum(struct work *work, const uint64_t *whole,
		     const struct neap_cpu_part *const *parts, int count, int sum)
{
	const struct neap_cpu_layout *layout = work->layout;
	int rest[SIZES] = {0}, here[SIZES];
	uint64_t some[NEAP_CPU_WORDS_MAX];

	for (int p = 0; p < count; p++) {
		count_sizes(layout, whole, parts[p], here);
		for (int size = 1; size < SIZES; size++)
			rest[size] += here[size];
	}
	for (int p = 0; p < count && sum; p++) {
		count_sizes(layout, whole, parts[p], here);
		for (int size = 1; size < SIZES && sum; size++) {
			int cores = here[size] < sum / size ? here[size] : sum / size;

			rest[size] -= here[size];
			while (cores && !can_make(rest, sum - cores * size))
				cores--;
			if (!cores)
				continue;
			for (int i = parts[p]->first; i < parts[p]->last; i++)
				some[i] = whole[i] & cores_with(layout, whole[i], size);
			acc_give_cores(work, some, parts[p], cores * size);
			sum -= cores * size;
		}
	}
}

/* Takes from the first part that has exactly this many CPUs in whole cores; or, if
 * exactness is not needed, from the first with enough, splitting the last core. */
static bool take_part(struct work *work, const struct neap_cpu_part *parts, int count,
		      bool has_sockets, bool is_strict, bool is_exact)
{
	int sizes[NEAP_CPU_NODES_MAX], fits[NEAP_CPU_NODES_MAX];
	int sockets[NEAP_CPU_NODES_MAX], here[SIZES], best, sum;
	uint64_t whole[NEAP_CPU_WORDS_MAX], rest[NEAP_CPU_WORDS_MAX];
	const struct neap_cpu_part *part;

	acc_find_whole(work, is_strict, whole);
	acc_count_all(whole, parts, count, sizes);
	for (int i = 0; i < count; i++) {
		fits[i] = sizes[i];
		if (!is_exact || sizes[i] < work->left)
			continue;
		count_sizes(work->layout, whole, &parts[i], here);
		fits[i] = can_make(here, work->left) ? sizes[i] : -1;
	}
	if (has_sockets)
		acc_count_sockets(work, is_strict, sockets);
	best = acc_pick(work, parts, count, fits, sizes, has_sockets ? sockets : NULL,
			work->left);
	if (best < 0)
		return false;
	part = &parts[best];
	count_sizes(work->layout, whole, part, here);
	sum = largest_sum(here, work->left);
	give_sum(work, whole, &part, 1, sum);
	for (int i = part->first; i < part->last; i++)
		rest[i] = whole[i] & ~work->result[i];
	acc_give_cores(work, rest, part, work->left);
	return true;
}

/* From all sockets, the one with the most whole cores first. */
static bool take_all(struct work *work, bool is_exact)
{
	const struct neap_cpu_layout *layout = work->layout;
	const struct neap_cpu_part *order[NEAP_CPU_NODES_MAX];
	const struct neap_cpu_part all = {.mask = layout->all, .last = layout->words};
	int sizes[NEAP_CPU_NODES_MAX], counts[SIZES];
	uint64_t whole[NEAP_CPU_WORDS_MAX];

	acc_find_whole(work, false, whole);
	count_sizes(layout, whole, &all, counts);
	if (is_exact && !can_make(counts, work->left))
		return false;
	acc_count_all(whole, layout->sockets, layout->socket_count, sizes);
	for (int i = 0; i < layout->socket_count; i++) {
		int at = i;

		for (; at > 0 && sizes[order[at - 1] - layout->sockets] < sizes[i]; at--)
			order[at] = order[at - 1];
		order[at] = &layout->sockets[i];
	}
	give_sum(work, whole, order, layout->socket_count,
		 largest_sum(counts, work->left));
	return !work->left;
}

bool acc_take_mixed(struct work *work)
{
	const struct neap_cpu_layout *layout = work->layout;
	bool keeps_off =
		work->has_excluded && work->take->exclusive == NEAP_EXCLUSIVE_NUMA;

	for (int exact = 1; exact >= 0; exact--) {
		for (int strict = keeps_off; strict >= 0; strict--)
			if (take_part(work, layout->nodes, layout->node_count, true,
				      strict, exact))
				return true;
		if (take_part(work, layout->sockets, layout->socket_count, false, false,
			      exact) ||
		    take_all(work, exact))
			return true;
	}
	return false;
}

bool neap_accumulator_can_make(const struct neap_cpu_layout *layout, const uint64_t *cpus,
			       int count)
{
	const struct neap_cpu_part all = {.mask = layout->all, .last = layout->words};
	uint64_t whole[NEAP_CPU_WORDS_MAX];
	int counts[SIZES];

	for (int i = 0; i < layout->words; i++)
		whole[i] = cpus[i] &
			   ~whole_cores(layout,
					any_of_core(layout, layout->all[i] & ~cpus[i]));
	count_sizes(layout, whole, &all, counts);
	return can_make(counts, count);
}
