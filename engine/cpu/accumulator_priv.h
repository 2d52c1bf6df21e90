/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by both halves: accumulator.c works on words, where slots are in the order of
 * CPU ids; accumulator_list.c on lists, where they are not. */
#ifndef NEAP_ENGINE_CPU_ACCUMULATOR_PRIV_H
#define NEAP_ENGINE_CPU_ACCUMULATOR_PRIV_H

#include "engine/cpu/accumulator.h"

struct work {
	const struct neap_cpu_layout *layout;
	const struct neap_cpu_take *take;
	uint64_t *result; /* slots */
	int left;
	bool is_shared; /* references count */
	uint64_t free[NEAP_CPU_WORDS_MAX];
	/* Held by a pod of the same exclusive policy: whole cores, or whole nodes. false
	 * when excluded is empty. */
	bool has_excluded;
	uint64_t excluded[NEAP_CPU_WORDS_MAX];
};

/* Counting bits is most of the work. Every x86-64 CPU of the last fifteen years has an
 * instruction for it, but a generic build may not use it unconditionally. So the code is
 * compiled in two forms and the right one is chosen at load time. Not with sanitizers,
 * which start too late for that. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                   \
	!defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define ACC_CLONES __attribute__((target_clones("default", "popcnt"), flatten))
#else
#define ACC_CLONES
#endif

static inline int bits(uint64_t w)
{
	return __builtin_popcountll(w);
}

/* The first slot of each core that has any. */
static inline uint64_t any_of_core(const struct neap_cpu_layout *layout, uint64_t w)
{
	for (int step = layout->stride / 2; step; step /= 2)
		w |= w >> step;
	return w & layout->low;
}

/* All slots of the cores that low names. */
static inline uint64_t whole_cores(const struct neap_cpu_layout *layout, uint64_t low)
{
	return layout->stride == 64 ? 0 - low : (low << layout->stride) - low;
}

/* The lowest slot of each core. */
static inline uint64_t first_of_core(const struct neap_cpu_layout *layout, uint64_t w)
{
	uint64_t seen = w & layout->low, first = seen;

	if (layout->stride == 2)
		return first | (w & ~seen & ~(seen << 1));
	for (int i = 1; i < layout->stride; i++) {
		uint64_t fresh = (w >> i) & layout->low & ~seen;

		first |= fresh << i;
		seen |= fresh;
	}
	return first;
}

/* All slots of the cores with exactly count bits. */
static inline uint64_t cores_with(const struct neap_cpu_layout *layout, uint64_t w,
				  int count)
{
	uint64_t sums = w, differ;

	if (layout->stride == 2) {
		uint64_t low = w & layout->low, high = (w >> 1) & layout->low;

		low = count == 2 ? low & high : count == 1 ? low ^ high : 0;
		return low | low << 1;
	}
	for (int step = 1; step < layout->stride; step *= 2) {
		/* Fields of 2 * step slots: the lower half of each. */
		uint64_t half = step == 1    ? 0x5555555555555555ULL
				: step == 2  ? 0x3333333333333333ULL
				: step == 4  ? 0x0f0f0f0f0f0f0f0fULL
				: step == 8  ? 0x00ff00ff00ff00ffULL
				: step == 16 ? 0x0000ffff0000ffffULL
					     : 0x00000000ffffffffULL;

		sums = (sums & half) + ((sums >> step) & half);
	}
	differ = sums ^ ((uint64_t)count * layout->low);
	return whole_cores(layout, layout->low & ~any_of_core(layout, differ));
}

/* Gives these slots of a word; count is their number, at most left. */
static inline void acc_give(struct work *work, int word, uint64_t slots, int count)
{
	work->result[word] |= slots;
	work->free[word] &= ~slots;
	work->left -= count;
}

static inline int acc_count_in(const uint64_t *set, const struct neap_cpu_part *part)
{
	int count = 0;

	for (int i = part->first; i < part->last; i++)
		count += bits(set[i] & part->mask[i]);
	return count;
}

static inline uint64_t acc_free_of(const struct work *work, int i, bool is_strict)
{
	return is_strict ? work->free[i] & ~work->excluded[i] : work->free[i];
}

static inline uint64_t acc_lowest(uint64_t slots, int count)
{
	uint64_t rest = slots;

	while (count-- > 0)
		rest &= rest - 1;
	return slots ^ rest;
}

/* The lowest count slots of a set. */
static inline void acc_give_lowest(struct work *work, const uint64_t *set,
				   const struct neap_cpu_part *part, int count)
{
	for (int i = part->first; i < part->last && count > 0; i++) {
		uint64_t slots = set[i] & part->mask[i];
		int have = bits(slots);

		if (have > count) {
			slots = acc_lowest(slots, count);
			have = count;
		}
		acc_give(work, i, slots, have);
		count -= have;
	}
}

/* Compares a with b: the fuller one first under MostAllocated. */
static inline int acc_compare(const struct work *work, int a, int b)
{
	return work->take->is_most_allocated ? a - b : b - a;
}

static inline void acc_count_all(const uint64_t *set, const struct neap_cpu_part *parts,
				 int count, int *ret)
{
	for (int i = 0; i < count; i++)
		ret[i] = acc_count_in(set, &parts[i]);
}

/* --- accumulator.c --- */

/* Cores whose CPUs are all free. */
void acc_find_whole(const struct work *work, bool is_strict, uint64_t *whole);
/* Gives CPUs of the lowest cores of a set within a part, ordered by references where
 * these count. */
void acc_give_cores(struct work *work, const uint64_t *whole,
		    const struct neap_cpu_part *part, int need);
/* Counts the free CPUs of each socket. */
void acc_count_sockets(const struct work *work, bool is_strict, int *ret);
/* Returns the first part with at least need CPUs; -1: none. sizes: the room of each part;
 * orders: the sort key; sockets: free CPUs of sockets, the tie breaker; NULL: none. */
int acc_pick(const struct work *work, const struct neap_cpu_part *parts, int count,
	     const int *sizes, const int *orders, const int *sockets, int need);

/* --- accumulator_mixed.c --- */

/* Whole cores of a machine whose cores have unequal numbers of CPUs. Returns true when
 * that was enough. */
bool acc_take_mixed(struct work *work);

/* --- accumulator_any.c --- */

/* Takes any free CPUs, in sweeps over all cores. Returns true when that was enough. */
bool acc_take_any(struct work *work, bool is_strict);

/* --- accumulator_list.c --- */

/* Adds whole free cores named by low, in the order of references, up to need CPUs,
 * splitting the last core. first, last: words. */
void acc_list_cores(struct work *work, const uint64_t *cores, int first, int last,
		    int need);
/* Gives need CPUs of a set, spread over cores; is_cut: at most one of each core. */
void acc_list_spread(struct work *work, const uint64_t *set, int first, int last,
		     bool is_cut, int need);
/* Appends the CPUs of a set of cores to list, by slot within a core and by references,
 * for acc_list_walk. All cores have the same number of CPUs in the set. */
int acc_list_add(const struct work *work, const uint64_t *set, uint16_t *list, int count);
/* Gives the rest from a list, spread over cores. */
void acc_list_walk(struct work *work, const uint16_t *list, int count);

#endif
