/* SPDX-License-Identifier: Apache-2.0
 *
 * CPU sets: the list and mask texts, and all operations against a slow second
 * implementation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "engine/base/buf.h"
#include "engine/machine/cpuset.h"

/* canonical NULL: an error for user text; kernel says whether kernel text differs. */
static const struct {
	const char *text, *canonical; /* of what others told */
	const char *kernel;           /* NULL: as canonical; "!": error */
	bool is_told_only;            /* an error elsewhere */
} lists[] = {
	{"", "", NULL},
	{"0", "0", NULL},
	{"1,2,3,4,5", "1-5", NULL},
	{"1-5", "1-5", NULL},
	{"3-5,1-2", "1-5", NULL},
	{"1,1,1-2,2", "1-2", NULL},
	{"0,1", "0-1", NULL},
	{"7,5,6,0", "0,5-7", NULL},
	{"5-3", "", NULL},
	{"3-3", "3", NULL},
	{"007", "7", NULL},
	{"63,64", "63-64", NULL},
	{"62-65,127-128", "62-65,127-128", NULL},
	{"0-63", "0-63", NULL},
	{"64-127", "64-127", NULL},
	{"0-4096", "0-4096", NULL},
	{"4096", "4096", NULL},
	{"4097", "4097", NULL},
	{"8191", "8191", NULL},
	{"9000-5", "", NULL},
	{"8000-4096", "", NULL},
	{"0-4097", NULL, "0-4097"},
	{"4097-4097", NULL, "4097"},
	{"8190-8191", NULL, "8190-8191"},
	{"0-8192", NULL, "!"},
	{"8192", "", "!", true},
	{"0,9000", "0", "!", true},
	{"9000,5-6,8192,9000", "5-6", "!", true},
	{"9000-9001", NULL, "!"},
	{"9000,", NULL, "!"},
	{"2147483647", "", "!", true},
	{"2147483648", NULL, "!"},
	{"99999999999999999999", NULL, "!"},
	{"0-99999999999999999999", NULL, "!"},
	{"18446744073709551616", NULL, "!"},
	{"0-3\n", NULL, "0-3"},
	{" 0-3 \n", NULL, "0-3"},
	{"\n", NULL, ""},
	{"1-3-4", NULL, "!"},
	{"-1", NULL, "!"},
	{"+1", "1", NULL}, /* as Go reads numbers */
	{"0,+2-+3", "0,2-3", NULL},
	{"+", NULL, "!"},
	{"++1", NULL, "!"},
	{"+-1", NULL, "!"},
	{"-+1", NULL, "!"},
	{"1-", NULL, "!"},
	{"1--2", NULL, "!"},
	{"a", NULL, "!"},
	{"0-b", NULL, "!"},
	{"0x1", NULL, "!"},
	{"1 ,2", NULL, "!"},
	{"1, 2", NULL, "!"},
	{"1 2", NULL, "!"},
	{",", NULL, "!"},
	{"1,", NULL, "!"},
	{",1", NULL, "!"},
	{"1,,2", NULL, "!"},
	{"0-31:2/16", NULL, "!"},
	{"0-3\n4", NULL, "!"},
	{"all", NULL, "!"},
};

typedef int parse_fn(struct neap_cpuset *ret, const char *text, struct neap_error *err);

static void check_parse(parse_fn *parse, const char *text, const char *want)
{
	struct neap_cpuset set = {0};
	struct neap_error err = {0};
	char buf[64];
	int r;

	neap_cpuset_add(&set, 77);
	r = parse(&set, text, &err);
	neap_cpuset_format(&set, buf, sizeof(buf));
	if ((r < 0) != !want || strcmp(buf, want ? want : "77") != 0)
		fail_msg("'%s': %d, '%s'", text, r, buf);
	if (r < 0 && (r != -NEAP_EINVAL || !err.msg[0]))
		fail_msg("'%s': %d '%s'", text, r, err.msg);
	if (r < 0)
		return;
	/* What was printed reads back as the same set. */
	struct neap_cpuset back = {0};

	assert_int_equal(neap_cpuset_parse_kernel(&back, buf, NULL), 0);
	assert_true(neap_cpuset_is_equal(&set, &back));
}

static void list_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(lists); i++) {
		const char *kernel =
			lists[i].kernel ? lists[i].kernel : lists[i].canonical;

		check_parse(neap_cpuset_parse_told, lists[i].text, lists[i].canonical);
		check_parse(neap_cpuset_parse, lists[i].text,
			    lists[i].is_told_only ? NULL : lists[i].canonical);
		check_parse(neap_cpuset_parse_kernel, lists[i].text,
			    strcmp(kernel, "!") != 0 ? kernel : NULL);
	}
}

/* Format behaves as snprintf at every buffer size. */
static void format_sizes(void **state)
{
	struct neap_cpuset set = {0};
	char whole[64], part[64];
	size_t len;

	(void)state;
	assert_int_equal(neap_cpuset_parse(&set, "0-1,9,100-129,4000", NULL), 0);
	len = neap_cpuset_format(&set, whole, sizeof(whole));
	assert_int_equal(len, strlen(whole));
	for (size_t size = 0; size <= len + 1; size++) {
		memset(part, '#', sizeof(part));
		assert_int_equal(neap_cpuset_format(&set, part, size), len);
		if (size) {
			assert_memory_equal(part, whole, size - 1);
			assert_int_equal(part[size - 1], '\0');
		}
		assert_int_equal(part[size], '#');
	}
	assert_int_equal(neap_cpuset_format(&set, NULL, 0), len);
}

/* Every second CPU of the largest machine fits the text size of the header. */
static void format_longest(void **state)
{
	struct neap_cpuset set = {0}, back = {0};
	static char text[NEAP_CPUSET_TEXT];

	(void)state;
	for (int cpu = 1; cpu < NEAP_CPU_MAX; cpu += 2)
		neap_cpuset_add(&set, cpu);
	assert_true(neap_cpuset_format(&set, text, sizeof(text)) < sizeof(text));
	assert_int_equal(neap_cpuset_parse_kernel(&back, text, NULL), 0);
	assert_true(neap_cpuset_is_equal(&set, &back));
}

static void parse_beyond(void **state)
{
	struct neap_cpuset set = {0};
	int *beyond = NULL;
	char text[16];
	size_t count;

	(void)state;
	assert_int_equal(
		neap_cpuset_parse_beyond(&set, "2147483647,9,8192,09000,8191,9000,5000-4",
					 &beyond, &count, NULL),
		0);
	assert_int_equal(neap_cpuset_format(&set, text, sizeof(text)), 6);
	assert_string_equal(text, "9,8191");
	assert_int_equal(count, 3);
	assert_int_equal(beyond[0], 8192);
	assert_int_equal(beyond[1], 9000);
	assert_int_equal(beyond[2], INT32_MAX);
	free(beyond);
	assert_int_equal(neap_cpuset_parse_beyond(&set, "", &beyond, &count, NULL), 0);
	assert_true(beyond && count == 0 && neap_cpuset_is_empty(&set));
	free(beyond);
	beyond = NULL;
	assert_int_equal(
		neap_cpuset_parse_beyond(&set, "9000,2147483648", &beyond, &count, NULL),
		-NEAP_EINVAL);
	assert_null(beyond);
}

static void parse_too_long(void **state)
{
	static char text[NEAP_BUF_LINE + 3];
	struct neap_cpuset set = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(text) - 1; i++)
		text[i] = i % 2 ? ',' : '1';
	text[NEAP_BUF_LINE - 1] = '\0';
	assert_int_equal(neap_cpuset_parse(&set, text, NULL), 0);
	text[NEAP_BUF_LINE - 1] = ',';
	text[NEAP_BUF_LINE + 1] = '\0';
	assert_int_equal(neap_cpuset_parse(&set, text, NULL), -NEAP_ETOOLARGE);
}

/* The second implementation: one bool a CPU. */
struct slow {
	bool has[NEAP_CPU_MAX];
};

enum { SETS = 3 };

/* No row, no luck: xorshift with a fixed seed. */
static uint32_t draw(uint32_t *seed, uint32_t below)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed % below;
}

static void poison(struct neap_cpuset *set)
{
	for (uint32_t i = set->len; i < NEAP_CPUSET_WORDS; i++)
		set->word[i] = 0xdeadbeefdeadbeef;
}

/* Compares everything that can be asked; limit is above every member. */
static void compare(const struct neap_cpuset *set, const struct slow *slow, int limit)
{
	int count = 0, last = -1;

	for (int cpu = 0; cpu < limit; cpu++) {
		assert_int_equal(neap_cpuset_has(set, cpu), slow->has[cpu]);
		if (!slow->has[cpu])
			continue;
		assert_int_equal(neap_cpuset_next(set, last), cpu);
		count++;
		last = cpu;
	}
	assert_int_equal(neap_cpuset_next(set, last), -1);
	assert_int_equal(neap_cpuset_last(set), last);
	assert_int_equal(neap_cpuset_count(set), count);
	assert_int_equal(neap_cpuset_is_empty(set), count == 0);
}

static void compare_two(const struct neap_cpuset *a, const struct neap_cpuset *b,
			const struct slow *x, const struct slow *y, int limit)
{
	bool is_equal = true, is_subset = true, intersects = false;

	for (int cpu = 0; cpu < limit; cpu++) {
		is_equal &= x->has[cpu] == y->has[cpu];
		is_subset &= !x->has[cpu] || y->has[cpu];
		intersects |= x->has[cpu] && y->has[cpu];
	}
	assert_int_equal(neap_cpuset_is_equal(a, b), is_equal);
	assert_int_equal(neap_cpuset_is_subset(a, b), is_subset);
	assert_int_equal(neap_cpuset_intersects(a, b), intersects);
}

static void run_op(struct neap_cpuset *set, struct slow *slow, uint32_t *seed, int limit)
{
	int to = (int)draw(seed, SETS), a = (int)draw(seed, SETS),
	    b = (int)draw(seed, SETS);
	int first = (int)draw(seed, (uint32_t)limit + 20) - 10,
	    length = (int)draw(seed, 100) - 5;
	uint32_t op = draw(seed, 8);
	struct slow x = slow[a], y = slow[b];

	if (op == 0)
		assert_int_equal(neap_cpuset_add(&set[to], first),
				 first >= 0 && first < NEAP_CPU_MAX);
	else if (op == 1)
		neap_cpuset_remove(&set[to], first);
	else if (op == 2)
		neap_cpuset_add_range(&set[to], first, first + length);
	else if (op == 3)
		neap_cpuset_and(&set[to], &set[a], &set[b]);
	else if (op == 4)
		neap_cpuset_or(&set[to], &set[a], &set[b]);
	else if (op == 5)
		neap_cpuset_minus(&set[to], &set[a], &set[b]);
	else if (op == 6)
		neap_cpuset_copy(&set[to], &set[a]);
	else if (draw(seed, 4) == 0)
		neap_cpuset_clear(&set[to]);
	else
		return;
	for (int cpu = 0; cpu < NEAP_CPU_MAX; cpu++) {
		bool *has = &slow[to].has[cpu];

		if (op <= 1)
			*has = cpu == first ? op == 0 : *has;
		else if (op == 2)
			*has |= cpu >= first && cpu <= first + length;
		else if (op == 3)
			*has = x.has[cpu] && y.has[cpu];
		else if (op == 4)
			*has = x.has[cpu] || y.has[cpu];
		else if (op == 5)
			*has = x.has[cpu] && !y.has[cpu];
		else
			*has = op == 6 && x.has[cpu];
	}
}

static void against_slow(void **state)
{
	static const int limits[] = {8, 64, 65, 200, 1024, NEAP_CPU_MAX};
	static struct slow slow[SETS];

	(void)state;
	for (size_t l = 0; l < NEAP_ARRAY_LEN(limits); l++) {
		struct neap_cpuset set[SETS] = {0};
		uint32_t seed = 12345;
		int limit =
			limits[l] + 120 < NEAP_CPU_MAX ? limits[l] + 120 : NEAP_CPU_MAX;

		memset(slow, 0, sizeof(slow));
		for (int step = 0; step < (limit > 2000 ? 300 : 3000); step++) {
			run_op(set, slow, &seed, limits[l]);
			for (int i = 0; i < SETS; i++) {
				poison(&set[i]);
				compare(&set[i], &slow[i], limit);
				compare_two(&set[i], &set[(i + 1) % SETS], &slow[i],
					    &slow[(i + 1) % SETS], limit);
			}
		}
	}
}

static void odd_arguments(void **state)
{
	struct neap_cpuset set = {0};

	(void)state;
	assert_false(neap_cpuset_add(&set, -1));
	assert_false(neap_cpuset_add(&set, NEAP_CPU_MAX));
	assert_false(neap_cpuset_add(&set, INT32_MAX));
	assert_true(neap_cpuset_is_empty(&set));
	neap_cpuset_add_range(&set, INT32_MIN, INT32_MAX);
	assert_int_equal(neap_cpuset_count(&set), NEAP_CPU_MAX);
	neap_cpuset_remove(&set, INT32_MIN);
	neap_cpuset_remove(&set, INT32_MAX);
	assert_int_equal(neap_cpuset_count(&set), NEAP_CPU_MAX);
	assert_int_equal(neap_cpuset_next(&set, INT32_MIN), 0);
	assert_int_equal(neap_cpuset_next(&set, INT32_MAX), -1);
	assert_int_equal(neap_cpuset_next(&set, NEAP_CPU_MAX - 2), NEAP_CPU_MAX - 1);
	assert_false(neap_cpuset_has(&set, -1));
	assert_false(neap_cpuset_has(&set, NEAP_CPU_MAX));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(list_rows),      cmocka_unit_test(format_sizes),
		cmocka_unit_test(format_longest), cmocka_unit_test(parse_beyond),
		cmocka_unit_test(parse_too_long), cmocka_unit_test(against_slow),
		cmocka_unit_test(odd_arguments),
	};
	const char *only = getenv("CASE");

	if (only && *only)
		cmocka_set_test_filter(only);
	return cmocka_run_group_tests_name("cpuset", tests, NULL, NULL);
}
