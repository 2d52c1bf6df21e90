/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cpu/numa_hint.h"

#include <string.h>

static const char *const policies[] = {
	[NEAP_NUMA_ANY] = "",
	[NEAP_NUMA_BEST_EFFORT] = "BestEffort",
	[NEAP_NUMA_RESTRICTED] = "Restricted",
	[NEAP_NUMA_SINGLE] = "SingleNUMANode",
};

const char *neap_numa_policy_name(enum neap_numa_policy policy)
{
	return policies[policy];
}

enum neap_numa_policy neap_numa_policy_parse(const char *text)
{
	for (size_t i = 0; i < NEAP_ARRAY_LEN(policies); i++)
		if (strcmp(policies[i], text) == 0)
			return (enum neap_numa_policy)i;
	return NEAP_NUMA_ANY;
}

static int count_of(uint64_t nodes)
{
	return __builtin_popcountll(nodes);
}

bool neap_numa_keeps_off(uint64_t nodes, enum neap_numa_exclusive exclusive,
			 const enum neap_numa_state *states)
{
	bool is_across = count_of(nodes) > 1;

	if (exclusive != NEAP_NUMA_EXCLUSIVE_REQUIRED || !states)
		return true;
	for (uint64_t left = nodes; left != 0; left &= left - 1)
		if (states[__builtin_ctzll(left)] ==
		    (is_across ? NEAP_NUMA_ALONE : NEAP_NUMA_SHARED))
			return false;
	return true;
}

/* --- merging --- */

struct walk {
	const struct neap_numa_merge *merge;
	struct neap_numa_hint best;
	bool is_for_preferred; /* only answers that are; else all, as if none were */
	int steps;
};

/* One hint of each of the first lists, put together. */
struct part {
	/* intersection; first: of the first list with an opinion; 0: none yet */
	uint64_t nodes, first;
	int widest;
	bool is_unsatisfied;
	int64_t score; /* of hints that equal nodes */
};

/* A narrower hint wins, or one as wide with a higher score. That is the reference's rule,
 * although it is not an order: the result depends on the sequence. */
static void offer(struct walk *walk, const struct part *part)
{
	const struct neap_numa_merge *merge = walk->merge;
	struct neap_numa_hint *best = &walk->best;
	int count = count_of(part->nodes), best_count = count_of(best->nodes);
	bool is_narrower =
		count < best_count || (count == best_count && part->nodes < best->nodes);

	if (walk->is_for_preferred) {
		if (!neap_numa_keeps_off(part->nodes, merge->exclusive, merge->states))
			return;
		/* The first one comes in place of the default, which is not preferred. */
		is_narrower = is_narrower || !best->is_preferred;
	}
	if (is_narrower || (count == best_count && part->score > best->score))
		*best = (struct neap_numa_hint){.nodes = part->nodes,
						.is_preferred = walk->is_for_preferred,
						.is_unsatisfied = part->is_unsatisfied ||
								  part->widest > count,
						.score = part->score};
}

/* False: no answer comes of it. */
static bool join(const struct walk *walk, struct part *part,
		 const struct neap_numa_hint *hint)
{
	uint64_t nodes;

	if (walk->is_for_preferred &&
	    (!hint->is_preferred ||
	     (hint->nodes != 0 && part->first != 0 && hint->nodes != part->first)))
		return false;
	if (walk->merge->policy == NEAP_NUMA_SINGLE &&
	    (!hint->is_preferred || count_of(hint->nodes) > 1))
		return false;
	part->is_unsatisfied = part->is_unsatisfied || hint->is_unsatisfied;
	if (hint->nodes == 0)
		return true;
	if (part->first == 0)
		part->first = hint->nodes;
	if (count_of(hint->nodes) > part->widest)
		part->widest = count_of(hint->nodes);
	nodes = part->nodes & hint->nodes;
	/* Those before are all at least as wide as what they have in common. */
	if (nodes != part->nodes)
		part->score = 0;
	if (nodes == hint->nodes)
		part->score += hint->score;
	part->nodes = nodes;
	return nodes != 0;
}

/* All combinations, one hint of each list, the last list turning fastest. */
static void look(struct walk *walk)
{
	static const struct neap_numa_hint impossible = {.is_unsatisfied = true};
	const struct neap_numa_merge *merge = walk->merge;
	struct part parts[NEAP_NUMA_LISTS_MAX + 1] = {{.nodes = merge->all}};
	size_t at[NEAP_NUMA_LISTS_MAX + 1] = {0}, deep = 0;

	for (;;) {
		const struct neap_numa_hints *list = &merge->lists[deep];

		if (deep == merge->list_count) {
			offer(walk, &parts[deep]);
		} else if (at[deep] < (list->count > 0 ? list->count : 1)) {
			const struct neap_numa_hint *hint =
				list->count > 0 ? &list->hints[at[deep]] : &impossible;

			if (++walk->steps > NEAP_NUMA_STEPS_MAX)
				return;
			at[deep]++;
			parts[deep + 1] = parts[deep];
			if (join(walk, &parts[deep + 1], hint))
				at[++deep] = 0;
			continue;
		}
		if (deep-- == 0)
			return;
	}
}

static bool is_any_impossible(const struct neap_numa_merge *merge)
{
	for (size_t i = 0; i < merge->list_count; i++)
		if (merge->lists[i].count == 0)
			return true;
	return false;
}

bool neap_numa_merge(const struct neap_numa_merge *merge, struct neap_numa_hint *ret)
{
	struct walk walk = {
		.merge = merge, .best.nodes = merge->all, .is_for_preferred = true};

	*ret = (struct neap_numa_hint){.is_preferred = true};
	if (merge->policy == NEAP_NUMA_ANY)
		return true;
	*ret = walk.best;
	if (merge->list_count > NEAP_NUMA_LISTS_MAX)
		return false;
	look(&walk);
	if (!walk.best.is_preferred) {
		walk.is_for_preferred = false;
		walk.steps = 0;
		look(&walk);
	}
	*ret = walk.best;
	if (merge->policy == NEAP_NUMA_BEST_EFFORT) {
		if (ret->is_unsatisfied)
			*ret = (struct neap_numa_hint){.nodes = merge->all};
		return true;
	}
	if (merge->policy == NEAP_NUMA_SINGLE && ret->nodes == merge->all)
		ret->nodes = 0;
	return ret->is_preferred && !is_any_impossible(merge);
}

/* --- why not --- */

/* The bits that others know, by numbers; where these are too high for a word, by
 * places. */
static uint64_t by_number(const struct neap_numa_merge *merge, uint64_t nodes)
{
	const int *numbers = merge->numbers;
	uint64_t told = 0;

	if (!numbers ||
	    numbers[NEAP_NUMA_NODES_MAX - 1 - __builtin_clzll(merge->all)] >= 64)
		return nodes;
	for (; nodes != 0; nodes &= nodes - 1)
		told |= UINT64_C(1) << numbers[__builtin_ctzll(nodes)];
	return told;
}

/* Binary, an even number of digits unless it is a power of four, as kubelet prints it. */
static void add_nodes(struct neap_buf *out, uint64_t nodes)
{
	char digits[NEAP_NUMA_NODES_MAX + 1];
	int count = NEAP_NUMA_NODES_MAX - __builtin_clzll(nodes), used = 0;

	if (count % 2 != 0 && (count == 1 || (nodes & (nodes - 1)) != 0))
		count++;
	while (count-- > 0)
		digits[used++] = nodes >> count & 1 ? '1' : '0';
	digits[used] = '\0';
	neap_buf_adds(out, digits);
}

static void add_hints(struct neap_buf *out, const struct neap_numa_merge *merge,
		      const struct neap_numa_hints *list, bool is_for_preferred)
{
	const char *before = "";

	neap_buf_adds(out, "[");
	for (size_t i = 0; i < list->count; i++) {
		if (is_for_preferred && !list->hints[i].is_preferred)
			continue;
		neap_buf_adds(out, before);
		if (list->hints[i].nodes == 0)
			neap_buf_adds(out, "any");
		else
			add_nodes(out, by_number(merge, list->hints[i].nodes));
		before = " ";
	}
	neap_buf_adds(out, "]");
}

static void tell_unaligned(const struct neap_numa_merge *merge, struct neap_buf *out)
{
	neap_buf_adds(out, "Unaligned NUMA Hint cause ");
	for (size_t i = 0; i < merge->list_count; i++) {
		if (i > 0)
			neap_buf_adds(out,
				      merge->policy == NEAP_NUMA_SINGLE ? "," : " & ");
		neap_buf_adds(out, merge->lists[i].resource);
		neap_buf_adds(out, " prefer ");
		add_hints(out, merge, &merge->lists[i], true);
		neap_buf_adds(out, " among ");
		add_hints(out, merge, &merge->lists[i], false);
	}
}

size_t neap_numa_reason_count(const struct neap_numa_merge *merge)
{
	size_t count = 0;

	for (size_t i = 0; i < merge->list_count; i++)
		count += merge->lists[i].count == 0;
	return count > 0 ? count : 1;
}

void neap_numa_reason(const struct neap_numa_merge *merge, size_t index,
		      struct neap_buf *out)
{
	if (!is_any_impossible(merge)) {
		tell_unaligned(merge, out);
		return;
	}
	for (size_t i = 0; i < merge->list_count; i++) {
		if (merge->lists[i].count > 0 || index-- > 0)
			continue;
		neap_buf_adds(out, "Unsatisfied NUMA ");
		neap_buf_adds(out, merge->lists[i].resource);
		return;
	}
}

/* --- subsets --- */

uint64_t neap_numa_next_subset(uint64_t set, int count)
{
	int size = count_of(set), top = count, move;
	uint64_t kept;

	/* The highest member that can move up, and those above it close behind it. */
	while (top > 0 && set >> (top - 1) & 1)
		top--;
	kept = top >= NEAP_NUMA_NODES_MAX ? set : set & ((UINT64_C(1) << top) - 1);
	if (kept == 0) {
		if (size >= count)
			return 0;
		return size + 1 == NEAP_NUMA_NODES_MAX ? ~UINT64_C(0)
						       : (UINT64_C(1) << (size + 1)) - 1;
	}
	move = NEAP_NUMA_NODES_MAX - 1 - __builtin_clzll(kept);
	kept &= ~(UINT64_C(1) << move);
	for (int i = count_of(set) - count_of(kept); i > 0; i--)
		kept |= UINT64_C(1) << ++move;
	return kept;
}
