/* SPDX-License-Identifier: Apache-2.0
 *
 * The order in which CPUs are picked for best-effort work: rows, and random machines
 * against the rule written down plainly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "engine/cpu/pick.h"

#define ROWS 16

static const struct {
	const char *name;
	struct neap_processor rows[ROWS]; /* cpu, core, socket, node */
	size_t count;
	const char *from; /* CPU list, NULL all */
	int wanted;
	const char *order; /* "" none */
} cases[] = {
	{"none wanted", {{0, 0, 0, 0}}, 1, NULL, 0, ""},
	{"negative count", {{0, 0, 0, 0}}, 1, NULL, -1, ""},
	{"no CPUs", {{0}}, 0, "", 1, ""},
	{"too few", {{0, 0, 0, 0}, {1, 0, 0, 0}}, 2, NULL, 3, ""},
	{"unknown CPUs do not count", {{0, 0, 0, 0}, {1, 0, 0, 0}}, 2, "0-5", 3, ""},
	{"unknown CPUs are passed over",
	 {{4, 0, 0, 0}, {5, 0, 0, 0}},
	 2,
	 "0-5",
	 2,
	 "4 5"},
	{"pairs of three sockets in turn, then one CPU of the next",
	 {{0, 0, 0, 0},
	  {1, 0, 0, 0},
	  {2, 1, 0, 0},
	  {3, 1, 0, 0},
	  {4, 0, 1, 1},
	  {5, 0, 1, 1},
	  {6, 1, 1, 1},
	  {7, 1, 1, 1},
	  {8, 0, 2, 2},
	  {9, 0, 2, 2},
	  {10, 1, 2, 2},
	  {11, 1, 2, 2}},
	 12,
	 NULL,
	 5,
	 "0 1 4 5 8"},
	{"a second round of pairs",
	 {{0, 0, 0, 0},
	  {1, 0, 0, 0},
	  {2, 1, 0, 0},
	  {3, 1, 0, 0},
	  {4, 0, 1, 1},
	  {5, 0, 1, 1}},
	 6,
	 NULL,
	 6,
	 "0 1 4 5 2 3"},
	{"siblings far apart",
	 {{0, 0, 0, 0}, {1, 1, 0, 0}, {2, 0, 0, 0}, {3, 1, 0, 0}},
	 4,
	 NULL,
	 4,
	 "0 2 1 3"},
	{"no pairs: lowest core first, not lowest CPU",
	 {{0, 9, 0, 0}, {1, 3, 0, 0}, {2, 5, 0, 0}},
	 3,
	 NULL,
	 3,
	 "1 2 0"},
	{"the larger bucket first",
	 {{0, 0, 0, 0}, {1, 0, 1, 1}, {2, 1, 1, 1}},
	 3,
	 NULL,
	 2,
	 "1 0"},
	{"equal buckets by the CPU of the lowest core",
	 {{0, 9, 0, 0}, {3, 1, 0, 0}, {1, 0, 1, 1}, {2, 5, 1, 1}},
	 4,
	 NULL,
	 2,
	 "1 3"},
	{"two nodes of one socket are two buckets",
	 {{0, 0, 0, 0}, {1, 0, 0, 0}, {2, 1, 0, 1}, {3, 1, 0, 1}},
	 4,
	 NULL,
	 3,
	 "0 1 2"},
	{"one core over two nodes is no pair",
	 {{0, 0, 0, 0}, {1, 0, 0, 1}},
	 2,
	 NULL,
	 2,
	 "0 1"},
	{"SMT4: two pairs of a core, an odd one alone",
	 {{0, 0, 0, 0},
	  {1, 0, 0, 0},
	  {2, 0, 0, 0},
	  {3, 0, 0, 0},
	  {4, 1, 0, 0},
	  {5, 1, 0, 0},
	  {6, 1, 0, 0}},
	 7,
	 NULL,
	 7,
	 "0 1 2 3 4 5 6"},
	{"three threads: the third waits for the singles",
	 {{0, 0, 0, 0}, {1, 0, 0, 0}, {2, 0, 0, 0}, {3, 1, 0, 0}, {4, 1, 0, 0}},
	 5,
	 NULL,
	 5,
	 "0 1 3 4 2"},
	{"a taken sibling leaves no pair",
	 {{0, 0, 0, 0}, {1, 0, 0, 0}, {2, 1, 0, 0}, {3, 1, 0, 0}},
	 4,
	 "1-3",
	 3,
	 "2 3 1"},
	/* After a round without a pair the singles begin at the first bucket, as the
	 * round ended there; when one CPU was left to take they begin where the pairs
	 * stopped. */
	{"singles begin at the first bucket",
	 {{0, 0, 0, 0}, {1, 1, 0, 0}, {2, 2, 0, 0}, {3, 0, 1, 1}, {4, 0, 1, 1}},
	 5,
	 NULL,
	 4,
	 "3 4 0 1"},
	{"a single is taken where the pairs stopped",
	 {{0, 0, 0, 0},
	  {1, 0, 0, 0},
	  {2, 1, 0, 0},
	  {3, 1, 0, 0},
	  {4, 0, 1, 1},
	  {5, 0, 1, 1}},
	 6,
	 NULL,
	 3,
	 "0 1 4"},
};

static void pick_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(cases); i++) {
		struct neap_topology *t = NULL;
		struct neap_cpuset from;
		int order[ROWS], got;
		char text[100] = "";

		assert_int_equal(neap_topology_new_from_processors(
					 cases[i].rows, cases[i].count, &t, NULL),
				 0);
		neap_cpuset_copy(&from, &t->online);
		if (cases[i].from)
			assert_int_equal(neap_cpuset_parse(&from, cases[i].from, NULL),
					 0);
		got = neap_pick_scatter(t, &from, cases[i].wanted, order);
		for (int k = 0; k < got; k++)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%d",
				 k ? " " : "", order[k]);
		if (strcmp(text, cases[i].order) != 0)
			fail_msg("%s: '%s', not '%s'", cases[i].name, text,
				 cases[i].order);
		neap_topology_unref(t);
	}
}

/* The rule once more, slowly: lists that are searched from the front each time. */
enum { CPUS = 40 };

struct slow_bucket {
	int node, socket, count;
	const struct neap_processor *cpu[CPUS];
};

static int by_core(const void *a, const void *b)
{
	const struct neap_processor *x = *(const struct neap_processor *const *)a;
	const struct neap_processor *y = *(const struct neap_processor *const *)b;

	return x->core != y->core ? x->core - y->core : x->os_cpu - y->os_cpu;
}

static int by_size(const void *a, const void *b)
{
	const struct slow_bucket *x = a, *y = b;

	return x->count != y->count ? y->count - x->count
				    : x->cpu[0]->os_cpu - y->cpu[0]->os_cpu;
}

static int slow_pick(const struct neap_processor *rows, int count, int wanted, int *order)
{
	struct slow_bucket bucket[CPUS] = {0};
	bool used[CPUS] = {0};
	int buckets = 0, need = wanted, got = 0, at = 0, before = -1;

	if (count < wanted || wanted <= 0)
		return 0;
	for (int i = 0; i < count; i++) {
		int b = 0;

		while (b < buckets && (bucket[b].node != rows[i].node ||
				       bucket[b].socket != rows[i].socket))
			b++;
		buckets += b == buckets;
		bucket[b].node = rows[i].node;
		bucket[b].socket = rows[i].socket;
		bucket[b].cpu[bucket[b].count++] = &rows[i];
	}
	if (buckets == 0)
		return 0;
	for (int b = 0; b < buckets; b++)
		qsort(bucket[b].cpu, (size_t)bucket[b].count, sizeof(bucket[b].cpu[0]),
		      by_core);
	qsort(bucket, (size_t)buckets, sizeof(bucket[0]), by_size);
	for (int width = 2; width >= 1; width--, before = -1) {
		for (; need >= width; at = (at + 1) % buckets) {
			if (at == 0 && before == need)
				break;
			if (at == 0)
				before = need;
			for (int j = 0; j + width <= bucket[at].count; j++) {
				int a = bucket[at].cpu[j]->os_cpu;
				int b = bucket[at].cpu[j + width - 1]->os_cpu;

				if (used[a] || used[b] ||
				    bucket[at].cpu[j]->core !=
					    bucket[at].cpu[j + width - 1]->core)
					continue;
				order[got++] = a;
				if (width == 2)
					order[got++] = b;
				used[a] = used[b] = true;
				need -= width;
				break;
			}
		}
	}
	return got;
}

static uint32_t draw(uint32_t *seed, uint32_t below)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed % below;
}

static void against_slow(void **state)
{
	uint32_t seed = 4711;

	(void)state;
	for (int round = 0; round < 4000; round++) {
		struct neap_processor rows[CPUS];
		int count = 0, want[CPUS], got[CPUS], wanted;
		uint32_t sockets = 1 + draw(&seed, 3), nodes = 1 + draw(&seed, 3);
		uint32_t cores = 1 + draw(&seed, 12);
		struct neap_topology *t = NULL;

		for (int cpu = 0; cpu < CPUS; cpu++) {
			if (draw(&seed, 4) == 0)
				continue;
			rows[count].os_cpu = cpu;
			rows[count].core = (int)draw(&seed, cores);
			rows[count].socket = (int)draw(&seed, sockets);
			rows[count].node = (int)draw(&seed, nodes);
			count++;
		}
		wanted = (int)draw(&seed, CPUS);
		assert_int_equal(
			neap_topology_new_from_processors(rows, (size_t)count, &t, NULL),
			0);
		int n = slow_pick(rows, count, wanted, want);

		assert_int_equal(n, wanted <= count ? wanted : 0);
		assert_int_equal(neap_pick_scatter(t, &t->online, wanted, got), n);
		if (memcmp(want, got, (size_t)n * sizeof(int)) != 0)
			fail_msg("round %d", round);
		neap_topology_unref(t);
	}
}

/* The largest machine, every CPU a bucket of its own or all in one. */
static void large(void **state)
{
	static struct neap_processor rows[NEAP_CPU_MAX];
	static int order[NEAP_CPU_MAX];

	(void)state;
	for (int form = 0; form < 2; form++) {
		struct neap_topology *t = NULL;

		for (int i = 0; i < NEAP_CPU_MAX; i++)
			rows[i] = (struct neap_processor){i, i / 2, form ? i : 0, 0};
		assert_int_equal(
			neap_topology_new_from_processors(rows, NEAP_CPU_MAX, &t, NULL),
			0);
		assert_int_equal(neap_pick_scatter(t, &t->online, NEAP_CPU_MAX, order),
				 NEAP_CPU_MAX);
		for (int i = 0; i < NEAP_CPU_MAX; i++)
			assert_int_equal(order[i], i);
		neap_topology_unref(t);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(pick_rows),
		cmocka_unit_test(against_slow),
		cmocka_unit_test(large),
	};
	const char *only = getenv("CASE");

	if (only && *only)
		cmocka_set_test_filter(only);
	return cmocka_run_group_tests_name("pick", tests, NULL, NULL);
}
