/* SPDX-License-Identifier: Apache-2.0
 *
 * Merging of hints: questions at random, answered a second time by all combinations one
 * after the other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/cpu/numa_hint.h"

#define ROUNDS 30000
#define LISTS  4
#define HINTS  6

static uint64_t seed = 20261123;

static unsigned below(unsigned end)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (unsigned)(seed >> 33) % end;
}

/* --- the second one --- */

static int bits(uint64_t set)
{
	int count = 0;

	for (int i = 0; i < 64; i++)
		count += set >> i & 1;
	return count;
}

/* One combination by the words of the rules; nodes 0 when it is empty. */
static struct neap_numa_hint together(const struct neap_numa_merge *merge,
				      const struct neap_numa_hint *parts)
{
	struct neap_numa_hint ret = {.nodes = merge->all, .is_preferred = true};
	uint64_t first = 0;
	int widest = 0;

	for (size_t i = 0; i < merge->list_count; i++) {
		if (!parts[i].is_preferred)
			ret.is_preferred = false;
		if (parts[i].is_unsatisfied)
			ret.is_unsatisfied = true;
		if (parts[i].nodes == 0)
			continue;
		if (first == 0)
			first = parts[i].nodes;
		if (parts[i].nodes != first)
			ret.is_preferred = false;
		if (bits(parts[i].nodes) > widest)
			widest = bits(parts[i].nodes);
		ret.nodes &= parts[i].nodes;
	}
	for (size_t i = 0; i < merge->list_count; i++)
		if (parts[i].nodes == ret.nodes)
			ret.score += parts[i].score;
	if (widest > bits(ret.nodes))
		ret.is_unsatisfied = true;
	if (!neap_numa_keeps_off(ret.nodes, merge->exclusive, merge->states))
		ret.is_preferred = false;
	return ret;
}

static bool replaces(const struct neap_numa_hint *best, const struct neap_numa_hint *next)
{
	int was = bits(best->nodes), is = bits(next->nodes);

	if (next->is_preferred != best->is_preferred)
		return next->is_preferred;
	if (is != was)
		return is < was;
	return next->nodes < best->nodes || next->score > best->score;
}

static void all_of(const struct neap_numa_merge *merge, size_t deep,
		   struct neap_numa_hint *parts, struct neap_numa_hint *best)
{
	const struct neap_numa_hints *list = &merge->lists[deep];

	if (deep == merge->list_count) {
		struct neap_numa_hint next = together(merge, parts);

		if (next.nodes != 0 && replaces(best, &next))
			*best = next;
		return;
	}
	for (size_t i = 0; i < (list->count > 0 ? list->count : 1); i++) {
		parts[deep] = list->count > 0
				      ? list->hints[i]
				      : (struct neap_numa_hint){.is_unsatisfied = true};
		if (merge->policy == NEAP_NUMA_SINGLE &&
		    (!parts[deep].is_preferred || bits(parts[deep].nodes) > 1))
			continue;
		all_of(merge, deep + 1, parts, best);
	}
}

static bool slowly(const struct neap_numa_merge *merge, struct neap_numa_hint *ret)
{
	struct neap_numa_hint parts[LISTS];
	bool is_impossible = false;

	*ret = (struct neap_numa_hint){.nodes = merge->all};
	all_of(merge, 0, parts, ret);
	for (size_t i = 0; i < merge->list_count; i++)
		is_impossible = is_impossible || merge->lists[i].count == 0;
	if (merge->policy == NEAP_NUMA_BEST_EFFORT) {
		if (ret->is_unsatisfied)
			*ret = (struct neap_numa_hint){.nodes = merge->all};
		return true;
	}
	if (merge->policy == NEAP_NUMA_SINGLE && ret->nodes == merge->all)
		ret->nodes = 0;
	return ret->is_preferred && !is_impossible;
}

static void test_merge_at_random(void **state)
{
	int admitted = 0, unsatisfied = 0;

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		struct neap_numa_hint hints[LISTS][HINTS], fast, slow;
		struct neap_numa_hints lists[LISTS];
		enum neap_numa_state states[NEAP_NUMA_NODES_MAX];
		unsigned nodes = 1 + below(4);
		struct neap_numa_merge merge = {
			.policy = (enum neap_numa_policy)(1 + below(3)),
			.all = (UINT64_C(1) << nodes) - 1,
			.exclusive = (enum neap_numa_exclusive)below(3),
			.states = states,
			.lists = lists,
			.list_count = below(LISTS + 1)};
		bool was;

		for (int i = 0; i < NEAP_NUMA_NODES_MAX; i++)
			states[i] = (enum neap_numa_state)below(3);
		for (size_t i = 0; i < merge.list_count; i++) {
			lists[i] =
				(struct neap_numa_hints){"r", hints[i], below(HINTS + 1)};
			for (size_t k = 0; k < lists[i].count; k++)
				hints[i][k] = (struct neap_numa_hint){
					.nodes = below(8) == 0 ? 0 : below(1U << nodes),
					.is_preferred = below(3) > 0,
					.score = below(4)};
		}
		was = slowly(&merge, &slow);
		if (neap_numa_merge(&merge, &fast) != was || fast.nodes != slow.nodes ||
		    fast.is_preferred != slow.is_preferred ||
		    fast.is_unsatisfied != slow.is_unsatisfied ||
		    fast.score != slow.score)
			fail_msg("round %d: %llx instead of %llx", round,
				 (unsigned long long)fast.nodes,
				 (unsigned long long)slow.nodes);
		admitted += was;
		unsatisfied += slow.is_unsatisfied;
	}
	/* Or the questions would be too easy. */
	assert_in_range(admitted, ROUNDS / 10, ROUNDS - ROUNDS / 10);
	assert_in_range(unsatisfied, ROUNDS / 100, ROUNDS);
}

/* Many resources with many hints: preferred ones are found at once, and the rest has an
 * end. */
static void test_merge_has_an_end(void **state)
{
	static struct neap_numa_hint hints[255];
	struct neap_numa_hints lists[NEAP_NUMA_LISTS_MAX];
	struct neap_numa_merge merge = {.policy = NEAP_NUMA_RESTRICTED,
					.all = 255,
					.lists = lists,
					.list_count = NEAP_NUMA_LISTS_MAX};
	struct neap_numa_hint hint;
	uint64_t set = 0;

	(void)state;
	for (size_t i = 0; i < 255; i++) {
		set = neap_numa_next_subset(set, 8);
		hints[i] =
			(struct neap_numa_hint){.nodes = set, .is_preferred = i == 200};
	}
	for (size_t i = 0; i < NEAP_NUMA_LISTS_MAX; i++)
		lists[i] = (struct neap_numa_hints){"r", hints, 255};
	assert_true(neap_numa_merge(&merge, &hint));
	assert_int_equal(hint.nodes, hints[200].nodes);
	hints[200].is_preferred = false;
	assert_false(neap_numa_merge(&merge, &hint));
	merge.list_count++;
	assert_false(neap_numa_merge(&merge, &hint));
}

static void test_subsets(void **state)
{
	static const char *const wanted[] = {"0",   "1",   "2",   "3",   "01",
					     "02",  "03",  "12",  "13",  "23",
					     "012", "013", "023", "123", "0123"};
	uint64_t set = 0;

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(wanted); i++) {
		uint64_t want = 0;

		for (const char *c = wanted[i]; *c != '\0'; c++)
			want |= UINT64_C(1) << (*c - '0');
		set = neap_numa_next_subset(set, 4);
		assert_int_equal(set, want);
	}
	assert_int_equal(neap_numa_next_subset(set, 4), 0);
	assert_int_equal(neap_numa_next_subset(0, 0), 0);
	assert_int_equal(neap_numa_next_subset(0, 64), 1);
	assert_int_equal(neap_numa_next_subset(UINT64_C(1) << 63, 64), 3);
	assert_true(neap_numa_next_subset(UINT64_MAX << 1, 64) == UINT64_MAX);
	assert_int_equal(neap_numa_next_subset(UINT64_MAX, 64), 0);
}

static void test_reason(void **state)
{
	static const struct {
		uint64_t nodes;
		const char *text;
	} table[] = {{1, "01"},   {2, "10"},     {3, "11"},      {4, "100"}, {5, "0101"},
		     {8, "1000"}, {16, "10000"}, {17, "010001"}, {0, "any"}};
	char want[256];

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(table); i++) {
		struct neap_numa_hint hint = {.nodes = table[i].nodes};
		struct neap_numa_hints list = {"cpu", &hint, 1};
		struct neap_numa_merge merge = {.policy = NEAP_NUMA_RESTRICTED,
						.all = 255,
						.lists = &list,
						.list_count = 1};
		struct neap_buf text;

		(void)snprintf(want, sizeof(want),
			       "Unaligned NUMA Hint cause cpu prefer [] among [%s]",
			       table[i].text);
		neap_buf_init(&text, NEAP_BUF_LINE);
		assert_int_equal(neap_numa_reason_count(&merge), 1);
		neap_numa_reason(&merge, 0, &text);
		assert_string_equal(text.data, want);
		neap_buf_done(&text);
	}
}

/* Bits are those of the numbers, as everybody else prints them, unless these are too high
 * for a word. */
static void test_reason_by_number(void **state)
{
	static const struct {
		int numbers[3];
		const char *text;
	} table[] = {{{0, 2, 5}, "100100"},
		     {{0, 1, 63},
		      "1000000000000000000000000000000000000000000000000000000000000010"},
		     {{0, 1, 64}, "0110"},
		     {{33, 72, 73}, "0110"}};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(table); i++) {
		struct neap_numa_hint hint = {.nodes = 6};
		struct neap_numa_hints list = {"cpu", &hint, 1};
		struct neap_numa_merge merge = {.policy = NEAP_NUMA_RESTRICTED,
						.all = 7,
						.numbers = table[i].numbers,
						.lists = &list,
						.list_count = 1};
		struct neap_buf text;

		neap_buf_init(&text, NEAP_BUF_LINE);
		neap_numa_reason(&merge, 0, &text);
		assert_non_null(strstr(text.data, "among ["));
		assert_memory_equal(strstr(text.data, "among [") + 7, table[i].text,
				    strlen(table[i].text));
		assert_string_equal(text.data + text.len - 1, "]");
		neap_buf_done(&text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_merge_at_random),
		cmocka_unit_test(test_merge_has_an_end),
		cmocka_unit_test(test_subsets),
		cmocka_unit_test(test_reason),
		cmocka_unit_test(test_reason_by_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
