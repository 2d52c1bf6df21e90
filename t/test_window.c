/* SPDX-License-Identifier: Apache-2.0
 *
 * Windows of samples: rows by hand, and random streams against sorting. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/machine/sample.h"

/* Samples 10, 20, ... at 1, 2, ... µs; count 0: nothing in the span. */
static const struct {
	const char *name;
	int size, added;
	int64_t now, span;
	int count;
	float last, avg, p50, p90, p99;
	int64_t covered;
} rows[] = {
	{"empty", 4, 0, 10, 10, 0, 0, 0, 0, 0, 0, 0},
	{"one", 4, 1, 1, 10, 1, 10, 10, 10, 10, 10, 0},
	{"two: the lower is the median", 4, 2, 2, 10, 2, 20, 15, 10, 20, 20, 1},
	{"all ten", 10, 10, 10, 10, 10, 100, 55, 50, 90, 100, 9},
	{"the span leaves its beginning out", 10, 10, 10, 3, 3, 100, 90, 90, 100, 100, 2},
	{"the ring keeps the newest", 3, 10, 10, 10, 3, 100, 90, 90, 100, 100, 2},
	{"older than the span", 4, 2, 100, 10, 0, 0, 0, 0, 0, 0, 0},
	{"just outside", 4, 2, 12, 10, 0, 0, 0, 0, 0, 0, 0},
	{"just inside", 4, 2, 11, 10, 1, 20, 20, 20, 20, 20, 0},
	{"samples after now do not count", 10, 10, 5, 3, 3, 50, 40, 40, 50, 50, 2},
	{"no span", 4, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0},
	{"negative span", 4, 2, 2, -5, 0, 0, 0, 0, 0, 0, 0},
	{"the longest span", 4, 4, INT64_MAX, INT64_MAX, 4, 40, 25, 20, 40, 40, 3},
	{"time before all", 4, 4, INT64_MIN, INT64_MAX, 0, 0, 0, 0, 0, 0, 0},
	{"size below 1", 0, 3, 3, 10, 1, 30, 30, 30, 30, 30, 0},
};

static void window_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_window *w = neap_window_new(rows[i].size);
		struct neap_window_result r = {.count = 0};
		bool has;

		for (int k = 1; k <= rows[i].added; k++)
			neap_window_add(w, k, (float)k * 10);
		has = neap_window_get(w, rows[i].now, rows[i].span, &r);
		if (has != (rows[i].count > 0) || r.count != rows[i].count)
			fail_msg("%s: count %d", rows[i].name, r.count);
		if (has && (r.value[NEAP_AGG_LAST] != rows[i].last ||
			    r.value[NEAP_AGG_AVG] != rows[i].avg ||
			    r.value[NEAP_AGG_P50] != rows[i].p50 ||
			    r.value[NEAP_AGG_P90] != rows[i].p90 ||
			    r.value[NEAP_AGG_P99] != rows[i].p99 ||
			    r.covered_usec != rows[i].covered))
			fail_msg("%s: last %g avg %g p50 %g p90 %g p99 %g", rows[i].name,
				 (double)r.value[NEAP_AGG_LAST],
				 (double)r.value[NEAP_AGG_AVG],
				 (double)r.value[NEAP_AGG_P50],
				 (double)r.value[NEAP_AGG_P90],
				 (double)r.value[NEAP_AGG_P99]);
		for (int a = 0; a < NEAP_AGG_COUNT; a++) {
			float one = -1;

			assert_int_equal(neap_window_get_one(w, rows[i].now, rows[i].span,
							     (enum neap_aggregate)a,
							     &one),
					 has);
			assert_true(one == (has ? r.value[a] : -1));
		}
		neap_window_free(w);
	}
}

static void missing_and_backwards(void **state)
{
	struct neap_window *w = neap_window_new(8);
	struct neap_window_result r;

	(void)state;
	neap_window_add(w, 1, NAN);
	assert_false(neap_window_get(w, 10, 100, &r));
	neap_window_add(w, 5, 1);
	neap_window_add(w, 5, 3); /* the same time is not back */
	neap_window_add(w, 6, NAN);
	neap_window_add(w, 4, NAN); /* a missing one does not empty it */
	assert_true(neap_window_get(w, 10, 100, &r));
	assert_int_equal(r.count, 2);
	neap_window_add(w, 4, 7);
	assert_true(neap_window_get(w, 10, 100, &r));
	assert_int_equal(r.count, 1);
	assert_true(r.value[NEAP_AGG_LAST] == 7);
	neap_window_clear(w);
	assert_false(neap_window_get(w, 10, 100, &r));
	assert_false(
		neap_window_get_one(w, 10, 100, (enum neap_aggregate)99, &r.value[0]));
	neap_window_free(w);
	neap_window_free(NULL);
	neap_mem_fail_at(1);
	assert_null(neap_window_new(8));
}

/* The second implementation: everything ever added, in a list. */
enum { ADDED = 6000 };
static int64_t all_time[ADDED];
static float all_value[ADDED];

static int by_value(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

static uint32_t draw(uint32_t *seed, uint32_t below)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed % below;
}

static void compare(const struct neap_window *w, int size, int added, int64_t now,
		    int64_t span)
{
	static const int percent[NEAP_AGG_COUNT] = {[NEAP_AGG_P50] = 50,
						    [NEAP_AGG_P90] = 90,
						    [NEAP_AGG_P95] = 95,
						    [NEAP_AGG_P99] = 99};
	static float sorted[ADDED];
	struct neap_window_result r;
	int count = 0, last = -1;
	double sum = 0;

	for (int i = added > size ? added - size : 0; i < added; i++) {
		if (all_time[i] <= now - span || all_time[i] > now)
			continue;
		sorted[count++] = all_value[i];
		sum += (double)all_value[i];
		last = i;
	}
	assert_int_equal(neap_window_get(w, now, span, &r), count > 0);
	if (!count)
		return;
	qsort(sorted, (size_t)count, sizeof(sorted[0]), by_value);
	assert_int_equal(r.count, count);
	assert_true(r.value[NEAP_AGG_LAST] == all_value[last]);
	assert_true(fabs((double)r.value[NEAP_AGG_AVG] - sum / count) < 0.01);
	for (int a = 0; a < NEAP_AGG_COUNT; a++)
		if (percent[a])
			assert_true(
				r.value[a] ==
				sorted[(int)ceil(percent[a] * (double)count / 100) - 1]);
}

static void against_slow(void **state)
{
	static const int sizes[] = {1, 2, 60, 300, 1000000};
	uint32_t seed = 99;

	(void)state;
	for (size_t s = 0; s < NEAP_ARRAY_LEN(sizes); s++) {
		struct neap_window *w = neap_window_new(sizes[s]);
		int size = sizes[s] < NEAP_WINDOW_SAMPLES_MAX ? sizes[s]
							      : NEAP_WINDOW_SAMPLES_MAX;
		int64_t time = 0;

		for (int i = 0; i < ADDED; i++) {
			time += draw(&seed, 5);
			all_time[i] = time;
			/* Few different values, both signs, some tiny, some huge. */
			all_value[i] = ldexpf((float)draw(&seed, 200) - 100,
					      (int)draw(&seed, 3) * 8 - 8);
			neap_window_add(w, time, all_value[i]);
			if (i % 97 == 0)
				compare(w, size, i + 1, time - draw(&seed, 3),
					1 + draw(&seed, (uint32_t)(i * 3 + 10)));
		}
		compare(w, size, ADDED, time, time + 1);
		neap_window_free(w);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(window_rows),
		cmocka_unit_test(missing_and_backwards),
		cmocka_unit_test(against_slow),
	};
	const char *only = getenv("CASE");

	if (only && *only)
		cmocka_set_test_filter(only);
	return cmocka_run_group_tests_name("window", tests, NULL, NULL);
}
