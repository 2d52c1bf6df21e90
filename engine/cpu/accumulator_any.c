/* SPDX-License-Identifier: Apache-2.0
 *
 * The last step: any free CPUs, first where CPUs were given already, then in the fullest
 * or emptiest socket and node, then on the cores with the fewest free CPUs. */
#include <string.h>

#include "engine/cpu/accumulator_priv.h"

struct rank {
	int given, socket, node, part;
};

static int compare_ranks(const struct work *work, const struct rank *a,
			 const struct rank *b)
{
	if (a->given != b->given)
		return b->given - a->given;
	if (a->socket != b->socket)
		return acc_compare(work, a->socket, b->socket);
	return acc_compare(work, a->node, b->node);
}

/* Ranks parts by what was given on their socket already, then by what is free. */
static void rank_parts(const struct work *work, const uint64_t *set, struct rank *ranks)
{
	const struct neap_cpu_layout *layout = work->layout;
	int given[NEAP_CPU_NODES_MAX], sockets[NEAP_CPU_NODES_MAX];
	int nodes[NEAP_CPU_NODES_MAX];

	acc_count_all(work->result, layout->sockets, layout->socket_count, given);
	acc_count_all(set, layout->sockets, layout->socket_count, sockets);
	acc_count_all(set, layout->nodes, layout->node_count, nodes);
	for (int i = 0; i < layout->part_count; i++) {
		const struct neap_cpu_part *part = &layout->parts[i];
		struct rank rank = {given[part->socket], sockets[part->socket],
				    nodes[part->node], i};
		int at = i;

		for (; at > 0 && compare_ranks(work, &rank, &ranks[at - 1]) < 0; at--)
			ranks[at] = ranks[at - 1];
		ranks[at] = rank;
	}
}

/* Finds cores of equal rank. socket -1: any. False: there are none. */
static bool cores_of(const struct work *work, const uint64_t *set,
		     const struct rank *ranks, int count, int free, int socket,
		     uint64_t *ret)
{
	const struct neap_cpu_layout *layout = work->layout;
	uint64_t any = 0;

	memset(ret, 0, (size_t)layout->words * sizeof(uint64_t));
	for (int k = 0; k < count; k++) {
		const struct neap_cpu_part *part = &layout->parts[ranks[k].part];

		if (socket >= 0 && part->socket != socket)
			continue;
		for (int i = part->first; i < part->last; i++) {
			ret[i] |=
				set[i] & part->mask[i] & cores_with(layout, set[i], free);
			any |= ret[i];
		}
	}
	return any != 0;
}

static int equal_ranks(const struct work *work, const struct rank *ranks, int from)
{
	int to = from + 1;

	while (to < work->layout->part_count &&
	       compare_ranks(work, &ranks[from], &ranks[to]) == 0)
		to++;
	return to - from;
}

/* Everything in a set, in its order: cores with fewer free CPUs first, then by socket,
 * which slots are in the order of, but references are not. */
static int list_all(const struct work *work, const uint64_t *set,
		    const struct rank *ranks, uint16_t *list)
{
	const struct neap_cpu_layout *layout = work->layout;
	uint64_t some[NEAP_CPU_WORDS_MAX];
	int count = 0;

	for (int from = 0, equal; from < layout->part_count; from += equal) {
		equal = equal_ranks(work, ranks, from);
		for (int free = 1; free <= layout->stride; free++)
			for (int s = 0; s < layout->socket_count; s++)
				if (cores_of(work, set, ranks + from, equal, free, s,
					     some))
					count = acc_list_add(work, some, list, count);
	}
	return count;
}

static void give_until_full(struct work *work, const uint64_t *set)
{
	const struct neap_cpu_part all = {.mask = work->layout->all,
					  .last = work->layout->words};

	acc_give_lowest(work, set, &all, work->left);
}

/* One sweep over the cores in order, taking what is in both set and sweep. */
static void sweep_all(struct work *work, const uint64_t *set, const uint64_t *sweep,
		      const struct rank *ranks, int least)
{
	const struct neap_cpu_layout *layout = work->layout;
	uint64_t some[NEAP_CPU_WORDS_MAX];

	for (int from = 0, equal; from < layout->part_count; from += equal) {
		equal = equal_ranks(work, ranks, from);
		for (int free = least; free <= layout->stride && work->left; free++) {
			if (!cores_of(work, set, ranks + from, equal, free, -1, some))
				continue;
			for (int i = 0; i < layout->words; i++)
				some[i] &= sweep[i];
			give_until_full(work, some);
		}
	}
}

static void give_any(struct work *work, const uint64_t *set, int size,
		     const struct rank *ranks)
{
	const struct neap_cpu_layout *layout = work->layout;
	uint64_t rest[NEAP_CPU_WORDS_MAX], sweep[NEAP_CPU_WORDS_MAX];

	if (size <= layout->per_core) {
		sweep_all(work, set, set, ranks, 1);
		return;
	}
	memcpy(rest, set, (size_t)layout->words * sizeof(uint64_t));
	for (int least = 1; least <= layout->stride && work->left; least++) {
		for (int i = 0; i < layout->words; i++) {
			sweep[i] = first_of_core(layout, rest[i]);
			rest[i] &= ~sweep[i];
		}
		sweep_all(work, set, sweep, ranks, least);
	}
}

bool acc_take_any(struct work *work, bool is_strict)
{
	struct rank ranks[NEAP_CPU_PARTS_MAX];
	uint64_t set[NEAP_CPU_WORDS_MAX];
	uint16_t list[NEAP_CPU_SLOTS_MAX];
	int size = 0;

	for (int i = 0; i < work->layout->words; i++) {
		set[i] = acc_free_of(work, i, is_strict);
		size += bits(set[i]);
	}
	rank_parts(work, set, ranks);
	if (work->is_shared)
		acc_list_walk(work, list, list_all(work, set, ranks, list));
	else
		give_any(work, set, size, ranks);
	return !work->left;
}
