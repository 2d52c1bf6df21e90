/* SPDX-License-Identifier: Apache-2.0
 *
 * CPUs in lists: when references count, when ids do not follow the slots, and for
 * leftovers. Lists are sorted by counting, so the time is linear in the number of
 * CPUs. */
#include <string.h>

#include "engine/cpu/accumulator_priv.h"

/* Up to this length moving is faster than counting. */
#define FEW 16

static void give(struct work *work, int slot)
{
	acc_give(work, slot / 64, 1ULL << (slot % 64), 1);
}

static bool has(const uint64_t *set, int slot)
{
	return (set[slot / 64] >> (slot % 64) & 1) != 0;
}

/* Sorts by 8 bits of keys[], which go by slot and are at most most there; equal ones keep
 * their order. */
static void sort_by(uint16_t *list, int count, const uint32_t *keys, int shift,
		    uint32_t most)
{
	uint16_t sorted[NEAP_CPU_SLOTS_MAX];
	int at[257];

	memset(at, 0, (most + 2) * sizeof(*at));
	for (int i = 0; i < count; i++)
		at[(keys[list[i]] >> shift & 255) + 1]++;
	for (uint32_t i = 0; i < most; i++)
		at[i + 1] += at[i];
	for (int i = 0; i < count; i++)
		sorted[at[keys[list[i]] >> shift & 255]++] = list[i];
	for (int i = 0; i < count; i++)
		list[i] = sorted[i];
}

static void sort(uint16_t *list, int count, const uint32_t *keys)
{
	uint32_t most = 0;

	if (count <= FEW) {
		for (int i = 1; i < count; i++) {
			uint16_t slot = list[i];
			int at = i;

			for (; at > 0 && keys[list[at - 1]] > keys[slot]; at--)
				list[at] = list[at - 1];
			list[at] = slot;
		}
		return;
	}
	for (int i = 0; i < count; i++)
		most = keys[list[i]] > most ? keys[list[i]] : most;
	for (int shift = 0; shift < 32 && most >> shift; shift += 8)
		sort_by(list, count, keys, shift,
			most >> shift < 255 ? most >> shift : 255);
}

/* The first slots of cores in set, in the order of the references of the CPUs that they
 * have in it. */
static int list_cores(const struct work *work, const uint64_t *set, int first, int last,
		      uint16_t *cores)
{
	const struct neap_cpu_layout *layout = work->layout;
	uint32_t keys[NEAP_CPU_SLOTS_MAX];
	int count = 0;

	for (int i = first; i < last; i++)
		for (uint64_t low = any_of_core(layout, set[i]); low; low &= low - 1) {
			int slot = i * 64 + __builtin_ctzll(low);
			uint32_t sum = 0;

			for (int k = slot; work->is_shared && k < slot + layout->stride;
			     k++)
				sum += has(set, k) ? work->take->use->refs[k] : 0U;
			keys[slot] = sum;
			cores[count++] = (uint16_t)slot;
		}
	if (work->is_shared)
		sort(cores, count, keys);
	return count;
}

void acc_list_cores(struct work *work, const uint64_t *cores, int first, int last,
		    int need)
{
	uint16_t list[NEAP_CPU_SLOTS_MAX];
	int count = list_cores(work, cores, first, last, list);

	for (int i = 0; i < count; i++)
		for (int k = list[i]; k < list[i] + work->layout->stride && need > 0; k++)
			if (has(cores, k)) {
				give(work, k);
				need--;
			}
}

/* Sweeps over the list; a short one is taken as it is. */
static void walk(struct work *work, const uint16_t *list, int count, int need)
{
	uint16_t sweep[NEAP_CPU_SLOTS_MAX]; /* of each CPU in the list */
	uint16_t seen[NEAP_CPU_SLOTS_MAX];  /* of each core, by its first slot */
	int stride = work->layout->stride;
	bool is_short = count <= work->layout->per_core;

	for (int i = 0; i < count; i++)
		seen[list[i] / stride] = 0;
	for (int i = 0; i < count; i++)
		sweep[i] = is_short ? 0 : seen[list[i] / stride]++;
	for (int now = 0; need > 0 && now < stride; now++)
		for (int i = 0; i < count && need > 0; i++)
			if (sweep[i] == now) {
				give(work, list[i]);
				need--;
			}
}

void acc_list_walk(struct work *work, const uint16_t *list, int count)
{
	walk(work, list, count, work->left);
}

static int cut(const struct work *work, uint16_t *list, int count)
{
	uint64_t seen[NEAP_CPU_WORDS_MAX] = {0};
	int have = 0;

	for (int i = 0; i < count; i++) {
		int core = list[i] / work->layout->stride;

		if (has(seen, core))
			continue;
		seen[core / 64] |= 1ULL << (core % 64);
		list[have++] = list[i];
	}
	return have;
}

static void sort_by_refs(const struct work *work, uint16_t *list, int count)
{
	uint32_t keys[NEAP_CPU_SLOTS_MAX];

	if (!work->is_shared)
		return;
	for (int i = 0; i < count; i++)
		keys[list[i]] = work->take->use->refs[list[i]];
	sort(list, count, keys);
}

void acc_list_spread(struct work *work, const uint64_t *set, int first, int last,
		     bool is_cut, int need)
{
	const struct neap_cpu_layout *layout = work->layout;
	uint16_t list[NEAP_CPU_SLOTS_MAX];
	int count = 0;

	for (int i = 0; i < layout->cpus; i++) {
		int slot = layout->by_cpu[i];

		if (slot / 64 >= first && slot / 64 < last && has(set, slot))
			list[count++] = (uint16_t)slot;
	}
	sort_by_refs(work, list, count);
	if (is_cut)
		count = cut(work, list, count);
	walk(work, list, count, need);
}

int acc_list_add(const struct work *work, const uint64_t *set, uint16_t *list, int count)
{
	uint16_t cores[NEAP_CPU_SLOTS_MAX];
	int stride = work->layout->stride;
	int core_count = list_cores(work, set, 0, work->layout->words, cores);

	for (int i = 0; i < core_count; i++) {
		int from = count;

		for (int k = cores[i]; k < cores[i] + stride; k++)
			if (has(set, k))
				list[count++] = (uint16_t)k;
		if (count - from > 1)
			sort_by_refs(work, list + from, count - from);
	}
	return count;
}
