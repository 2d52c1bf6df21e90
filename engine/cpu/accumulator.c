/* SPDX-License-Identifier: Apache-2.0
 *
 * Three steps, as in the reference: whole cores of a node, of a socket, of several
 * sockets; then spread over the cores of a node, of a socket; finally any free CPUs. */
#include "engine/cpu/accumulator.h"

#include <limits.h>
#include <string.h>

#include "engine/cpu/accumulator_priv.h"

/* --- sets --- */

/* Excludes cores or nodes of pods with the same policy, and of what is given here. */
static void exclude(struct work *work, const uint64_t *held)
{
	const struct neap_cpu_layout *layout = work->layout;
	uint64_t any = 0;

	if (!work->has_excluded)
		for (int i = 0; i < layout->words; i++)
			any |= held[i];
	if (!work->has_excluded && !any)
		return;
	if (!work->has_excluded)
		memset(work->excluded, 0, (size_t)layout->words * sizeof(uint64_t));
	work->has_excluded = true;
	if (work->take->exclusive == NEAP_EXCLUSIVE_PCPU) {
		for (int i = 0; i < layout->words; i++)
			work->excluded[i] |=
				whole_cores(layout, any_of_core(layout, held[i]));
		return;
	}
	for (int n = 0; n < layout->node_count; n++) {
		const struct neap_cpu_part *node = &layout->nodes[n];

		if (acc_count_in(held, node) == 0)
			continue;
		for (int i = node->first; i < node->last; i++)
			work->excluded[i] |= node->mask[i];
	}
}

static void exclude_held(struct work *work)
{
	const struct neap_cpu_use *use = work->take->use;

	if (use && work->take->exclusive == NEAP_EXCLUSIVE_PCPU)
		exclude(work, use->pcpu);
	else if (use && work->take->exclusive == NEAP_EXCLUSIVE_NUMA)
		exclude(work, use->numa);
}

static void exclude_given(struct work *work)
{
	if (work->take->exclusive != NEAP_EXCLUSIVE_NONE)
		exclude(work, work->result);
}

/* --- the order of nodes and sockets --- */

int acc_pick(const struct work *work, const struct neap_cpu_part *parts, int count,
	     const int *sizes, const int *orders, const int *sockets, int need)
{
	int best = -1;

	for (int i = 0; i < count; i++) {
		int differ;

		if (sizes[i] < need)
			continue;
		if (best < 0) {
			best = i;
			continue;
		}
		differ = acc_compare(work, orders[i], orders[best]);
		if (!differ && sockets)
			differ = acc_compare(work, sockets[parts[i].socket],
					     sockets[parts[best].socket]);
		if (differ < 0)
			best = i;
	}
	return best;
}

/* --- whole cores --- */

void acc_find_whole(const struct work *work, bool is_strict, uint64_t *whole)
{
	const struct neap_cpu_layout *layout = work->layout;

	if (layout->is_even && layout->stride == 2) {
		for (int i = 0; i < layout->words; i++) {
			uint64_t set = acc_free_of(work, i, is_strict);
			uint64_t low = set & (set >> 1) & 0x5555555555555555ULL;

			whole[i] = low | low << 1;
		}
		return;
	}
	for (int i = 0; i < layout->words; i++) {
		uint64_t set = acc_free_of(work, i, is_strict);

		whole[i] = set & ~whole_cores(layout,
					      any_of_core(layout, layout->all[i] & ~set));
	}
}

void acc_give_cores(struct work *work, const uint64_t *whole,
		    const struct neap_cpu_part *part, int need)
{
	uint64_t cores[NEAP_CPU_WORDS_MAX];

	if (!work->is_shared) {
		acc_give_lowest(work, whole, part, need);
		return;
	}
	for (int i = part->first; i < part->last; i++)
		cores[i] = whole[i] & part->mask[i];
	acc_list_cores(work, cores, part->first, part->last, need);
}

/* Several of those with at least need CPUs. */
static bool has_several(const int *sizes, int count, int need)
{
	int have = 0;

	for (int i = 0; i < count; i++)
		have += sizes[i] >= need;
	return have > 1;
}

/* Several would be the first: sockets say which is, and are counted only then. */
static bool has_tie(const struct work *work, const int *sizes, const int *orders,
		    int count)
{
	int best = -1, ties = 0;

	for (int i = 0; i < count; i++) {
		int differ;

		if (sizes[i] < work->left)
			continue;
		differ = best < 0 ? -1 : acc_compare(work, orders[i], orders[best]);
		if (differ < 0) {
			best = i;
			ties = 0;
		}
		ties += differ == 0;
	}
	return ties > 0;
}

void acc_count_sockets(const struct work *work, bool is_strict, int *ret)
{
	const struct neap_cpu_layout *layout = work->layout;
	uint64_t set[NEAP_CPU_WORDS_MAX];

	for (int i = 0; i < layout->words; i++)
		set[i] = acc_free_of(work, i, is_strict);
	acc_count_all(set, layout->sockets, layout->socket_count, ret);
}

static bool take_node_cores(struct work *work, bool is_strict)
{
	const struct neap_cpu_layout *layout = work->layout;
	int sizes[NEAP_CPU_NODES_MAX], sockets[NEAP_CPU_NODES_MAX], best;
	uint64_t whole[NEAP_CPU_WORDS_MAX];
	bool has_sockets;

	acc_find_whole(work, is_strict, whole);
	acc_count_all(whole, layout->nodes, layout->node_count, sizes);
	has_sockets = has_tie(work, sizes, sizes, layout->node_count);
	if (has_sockets)
		acc_count_sockets(work, is_strict, sockets);
	best = acc_pick(work, layout->nodes, layout->node_count, sizes, sizes,
			has_sockets ? sockets : NULL, work->left);
	if (best >= 0)
		acc_give_cores(work, whole, &layout->nodes[best], work->left);
	return best >= 0;
}

/* From several sockets: the largest ones whole while they fit, then cores of the others,
 * smallest first. */
static void take_sockets(struct work *work, const uint64_t *whole, const int *sizes)
{
	const struct neap_cpu_layout *layout = work->layout;
	int order[NEAP_CPU_NODES_MAX], aside = 0, count = layout->socket_count;

	for (int i = 0; i < count; i++) {
		int at = i;

		for (; at > 0 && sizes[order[at - 1]] < sizes[i]; at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
	for (int i = 0; i < count && work->left; i++) {
		int size = sizes[order[i]];

		if (size > work->left)
			order[aside++] = order[i];
		else
			acc_give_cores(work, whole, &layout->sockets[order[i]], size);
	}
	/* From the largest to the smallest; equal ones are to come by id. */
	while (aside > 0 && work->left >= layout->per_core) {
		int from = aside - 1, room = work->left - work->left % layout->per_core;
		int size;

		while (from > 0 && sizes[order[from - 1]] == sizes[order[aside - 1]])
			from--;
		for (int i = from; i < aside && room > 0; i++) {
			size = sizes[order[i]] < room ? sizes[order[i]] : room;
			acc_give_cores(work, whole, &layout->sockets[order[i]], size);
			room -= size;
		}
		aside = from;
	}
}

static bool take_whole(struct work *work)
{
	const struct neap_cpu_layout *layout = work->layout;
	uint64_t whole[NEAP_CPU_WORDS_MAX];
	int sizes[NEAP_CPU_NODES_MAX], best = -1;
	bool is_strict =
		work->has_excluded && work->take->exclusive == NEAP_EXCLUSIVE_NUMA;

	for (int strict = is_strict; strict >= 0 && work->left <= layout->per_node;
	     strict--)
		if (take_node_cores(work, strict))
			return true;
	acc_find_whole(work, false, whole);
	acc_count_all(whole, layout->sockets, layout->socket_count, sizes);
	if (work->left <= layout->per_socket)
		best = acc_pick(work, layout->sockets, layout->socket_count, sizes, sizes,
				NULL, work->left);
	if (best >= 0)
		acc_give_cores(work, whole, &layout->sockets[best], work->left);
	else
		take_sockets(work, whole, sizes);
	return !work->left;
}

/* --- spread --- */

/* The first count of a set in the order of CPU ids. */
static void give_first(struct work *work, const uint64_t *set,
		       const struct neap_cpu_part *part, int count)
{
	const struct neap_cpu_layout *layout = work->layout;
	uint64_t some[NEAP_CPU_WORDS_MAX];

	if (layout->order == NEAP_CPU_BY_SLOT) {
		acc_give_lowest(work, set, part, count);
		return;
	}
	for (int thread = 0; thread < layout->stride && count > 0; thread++) {
		int have = 0;

		for (int i = part->first; i < part->last; i++) {
			some[i] = set[i] & part->mask[i] & layout->low << thread;
			have += bits(some[i]);
		}
		acc_give_lowest(work, some, part, count);
		count -= have;
	}
}

/* In sweeps: the first CPU of each core, then the second. set has at least count in
 * part. */
static void give_spread(struct work *work, const uint64_t *set,
			const struct neap_cpu_part *part, int size, int count)
{
	const struct neap_cpu_layout *layout = work->layout;
	uint64_t rest[NEAP_CPU_WORDS_MAX], sweep[NEAP_CPU_WORDS_MAX];

	if (size <= layout->per_core) {
		give_first(work, set, part, count);
		return;
	}
	for (int i = part->first; i < part->last; i++)
		rest[i] = set[i] & part->mask[i];
	while (count > 0) {
		int have = 0;

		for (int i = part->first; i < part->last; i++) {
			sweep[i] = first_of_core(layout, rest[i]);
			rest[i] &= ~sweep[i];
			have += bits(sweep[i]);
		}
		if (have <= count)
			acc_give_lowest(work, sweep, part, have);
		else
			give_first(work, sweep, part, count);
		count -= have;
	}
}

/* From one part. cut: one CPU of each core at most, NULL: all of set count. */
static void spread_in(struct work *work, const struct neap_cpu_part *part,
		      const uint64_t *set, const uint64_t *cut, int size)
{
	uint64_t some[NEAP_CPU_WORDS_MAX];

	if (!work->is_shared && work->layout->order != NEAP_CPU_ANYHOW) {
		if (cut)
			give_first(work, cut, part, work->left);
		else
			give_spread(work, set, part, size, work->left);
		return;
	}
	for (int i = part->first; i < part->last; i++)
		some[i] = set[i] & part->mask[i];
	acc_list_spread(work, some, part->first, part->last, cut != NULL, work->left);
}

/* strict: without excluded CPUs, and one CPU per core. */
static void find_set(const struct work *work, bool is_strict, bool excludes,
		     uint64_t *set, uint64_t *cut)
{
	int words = work->layout->words;

	for (int i = 0; i < words; i++)
		set[i] = acc_free_of(work, i, is_strict && excludes);
	for (int i = 0; is_strict && i < words; i++)
		cut[i] = first_of_core(work->layout, set[i]);
}

static bool spread_over_nodes(struct work *work, bool is_strict)
{
	const struct neap_cpu_layout *layout = work->layout;
	uint64_t set[NEAP_CPU_WORDS_MAX], cut[NEAP_CPU_WORDS_MAX];
	int sizes[NEAP_CPU_NODES_MAX], orders[NEAP_CPU_NODES_MAX];
	int sockets[NEAP_CPU_NODES_MAX], best, count = layout->node_count;
	bool has_sockets = false;

	find_set(work, is_strict, work->has_excluded, set, cut);
	acc_count_all(is_strict ? cut : set, layout->nodes, count, sizes);
	if (has_several(sizes, count, work->left)) {
		acc_count_all(set, layout->nodes, count, orders);
		has_sockets =
			!layout->nodes_are_sockets && has_tie(work, sizes, orders, count);
	}
	if (has_sockets)
		acc_count_all(set, layout->sockets, layout->socket_count, sockets);
	best = acc_pick(work, layout->nodes, count, sizes, orders,
			has_sockets ? sockets : NULL, work->left);
	if (best >= 0)
		spread_in(work, &layout->nodes[best], set, is_strict ? cut : NULL,
			  sizes[best]);
	return best >= 0;
}

static bool spread_over_sockets(struct work *work, bool is_strict)
{
	const struct neap_cpu_layout *layout = work->layout;
	uint64_t set[NEAP_CPU_WORDS_MAX], cut[NEAP_CPU_WORDS_MAX];
	int sizes[NEAP_CPU_NODES_MAX], best;
	/* Exclusion by nodes does not count here. */
	bool excludes =
		work->has_excluded && work->take->exclusive == NEAP_EXCLUSIVE_PCPU;

	find_set(work, is_strict, excludes, set, cut);
	acc_count_all(is_strict ? cut : set, layout->sockets, layout->socket_count,
		      sizes);
	best = acc_pick(work, layout->sockets, layout->socket_count, sizes, sizes, NULL,
			work->left);
	if (best >= 0)
		spread_in(work, &layout->sockets[best], set, is_strict ? cut : NULL,
			  sizes[best]);
	return best >= 0;
}

static bool take_spread(struct work *work)
{
	const struct neap_cpu_layout *layout = work->layout;

	for (int strict = 1; strict >= 0 && work->left <= layout->per_node; strict--)
		if (spread_over_nodes(work, strict))
			return true;
	for (int strict = 1; strict >= 0 && work->left <= layout->per_socket; strict--)
		if (spread_over_sockets(work, strict))
			return true;
	return false;
}

/* --- the whole --- */

/* Takes from work->free; if that is not enough, takes all of it. */
static void accumulate(struct work *work)
{
	const struct neap_cpu_layout *layout = work->layout;
	bool is_full = work->take->bind == NEAP_BIND_FULL_PCPUS;

	work->has_excluded = false;
	exclude_held(work);
	if (is_full && layout->is_mixed      ? acc_take_mixed(work)
	    : is_full || layout->stride == 1 ? take_whole(work)
					     : false)
		return;
	exclude_given(work);
	if (!is_full && take_spread(work))
		return;
	if (!work->has_excluded || !acc_take_any(work, true))
		(void)acc_take_any(work, false);
}

/* What is free in a run, and the most it may give. Without preferred CPUs only the second
 * run exists. */
static int set_free(struct work *work, bool is_preferred)
{
	const struct neap_cpu_take *take = work->take;
	int count = 0;

	if (!take->preferred) {
		for (int i = 0; i < work->layout->words; i++)
			work->free[i] = take->available[i] & work->layout->all[i];
		return INT_MAX;
	}
	for (int i = 0; i < work->layout->words; i++) {
		uint64_t set = take->available[i] & work->layout->all[i];

		set &= is_preferred ? take->preferred[i] : ~take->preferred[i];
		work->free[i] = set;
		count += bits(set);
	}
	return count;
}

ACC_CLONES
int neap_accumulator_take(const struct neap_cpu_take *take, uint64_t *ret,
			  struct neap_error *err)
{
	const struct neap_cpu_layout *layout = take->layout;
	uint64_t second[NEAP_CPU_WORDS_MAX];
	int need = take->need > 0 ? take->need : 0;
	struct work work;

	for (int i = 0; i < layout->words; i++)
		ret[i] = 0;
	work.layout = layout;
	work.take = take;
	work.is_shared = take->max_refs > 1 && take->use;
	work.result = ret;
	for (int run = take->preferred ? 0 : 1; run < 2 && need; run++) {
		int most = set_free(&work, run == 0);

		work.left = most < need ? most : need;
		need -= work.left;
		if (run && take->preferred) {
			/* What the first run gave is not part of the second. */
			for (int i = 0; i < layout->words; i++)
				second[i] = 0;
			work.result = second;
		}
		if (work.left)
			accumulate(&work);
		need += work.left;
		for (int i = 0; work.result == second && i < layout->words; i++)
			ret[i] |= second[i];
	}
	if (!need)
		return 0;
	for (int i = 0; i < layout->words; i++)
		ret[i] = 0;
	return neap_error_set(err, NEAP_ENOFIT,
			      "not enough cpus available to satisfy request");
}
