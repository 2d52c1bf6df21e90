/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of keys; values and the text of kernel files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/machine/key.h"

#define FAILS  INT64_MIN
#define MAX    NEAP_KEY_CPU_MAX_MILLI
#define BURST  NEAP_KEY_CPU_BURST_USEC
#define SHARES NEAP_KEY_CPU_SHARES
#define IDLE   NEAP_KEY_CPU_IDLE
#define CPUS   NEAP_KEY_CPUSET_CPUS
#define LIMIT  NEAP_KEY_MEMORY_MAX_BYTES
#define PIDS   NEAP_KEY_PIDS_MAX
#define HIGH   NEAP_KEY_MEMORY_HIGH_BYTES

static struct neap_value number(int64_t n)
{
	struct neap_value value = {.form = NEAP_FORM_NUMBER, .number = n};

	return value;
}

static struct neap_value cpus(const char *list)
{
	struct neap_value value = {.form = NEAP_FORM_CPUSET};

	assert_int_equal(neap_cpuset_parse(&value.cpus, list, NULL), 0);
	return value;
}

static void table(void **state)
{
	(void)state;
	for (int i = 0; i < NEAP_KEY_COUNT; i++) {
		enum neap_key key = (enum neap_key)i;
		const struct neap_key_info *info = neap_key_get(key);

		assert_non_null(info->name);
		assert_int_equal(neap_key_find(info->name), key);
		assert_true(info->min <= info->max);
		assert_true(strlen(info->doc) > 10);
		assert_int_equal(info->is_for_policies,
				 key != NEAP_KEY_CPUSET_MEMS && key != NEAP_KEY_PIDS_MAX);
	}
	assert_int_equal(neap_key_find("cpu.max"), NEAP_KEY_COUNT);
	for (int i = 0; i < NEAP_CTL_COUNT; i++)
		assert_non_null(neap_controller_name((enum neap_controller)i));
}

static const struct {
	enum neap_key key;
	bool v2;
	const char *text;
	int64_t want;
} parse_rows[] = {
	{MAX, false, "-1\n", -1},
	{MAX, false, "150000\n", 1500},
	{MAX, false, "123456", 1234},
	{MAX, false, "1000", 10},
	{MAX, false, "max", FAILS},
	{MAX, false, "", FAILS},
	{MAX, true, "max 100000\n", -1},
	{MAX, true, "150000 100000\n", 1500},
	{MAX, true, "150000 50000\n", 3000},
	{MAX, true, "1000 1000000\n", 1},
	{MAX, true, "150000\n", FAILS},
	{MAX, true, "150000 x\n", FAILS},
	{MAX, true, "150000 0\n", FAILS},
	{MAX, true, "9223372036854775807 100000", FAILS},
	{BURST, false, "0\n", 0},
	{BURST, true, "20000\n", 20000},
	{BURST, true, "20000 1", FAILS},
	{SHARES, false, "1024\n", 1024},
	{SHARES, true, "39\n", 999},
	{SHARES, true, "1\n", 2},
	{SHARES, true, "10000\n", 262144},
	{SHARES, true, "0\n", 3},
	{SHARES, true, "10001\n", FAILS},
	{IDLE, false, "1\n", 1},
	{LIMIT, false, "9223372036854771712\n", -1},
	{LIMIT, false, "9223372036854710272\n", -1},
	{LIMIT, false, "9223372036854775807\n", -1},
	{LIMIT, false, "-1", -1},
	{LIMIT, false, "1073741824\n", 1073741824},
	{LIMIT, true, "max\n", -1},
	{LIMIT, true, "0\n", 0},
	{LIMIT, true, "maximum\n", FAILS},
	{LIMIT, true, "99999999999999999999\n", FAILS},
	{HIGH, true, "max\n", -1},
	{PIDS, false, "max\n", -1},
	{PIDS, true, "max\n", -1},
	{PIDS, true, "64\n", 64},
	{PIDS, false, "maximum\n", FAILS},
	{PIDS, false, "max 64\n", FAILS},
};

static void parse(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(parse_rows); i++) {
		struct neap_value value = number(FAILS);
		struct neap_error err;
		int rc = neap_value_parse(parse_rows[i].key, parse_rows[i].v2,
					  parse_rows[i].text, &value, &err);

		if (value.number != parse_rows[i].want ||
		    (rc < 0) != (value.number == FAILS))
			fail_msg("%s of %s: %lld", parse_rows[i].text,
				 neap_key_get(parse_rows[i].key)->name,
				 (long long)value.number);
	}
}

static const struct {
	enum neap_key key;
	int64_t value;
	const char *v1, *v2, *print;
} format_rows[] = {
	{MAX, -1, "-1", "max 100000", "max"},
	{MAX, 1500, "150000", "150000 100000", "1500"},
	{MAX, 10, "1000", "1000 100000", "10"},
	{BURST, 0, "0", "0", "0"},
	{SHARES, 1024, "1024", "39", "1024"},
	{SHARES, 2, "2", "1", "2"},
	{IDLE, 1, "1", "1", "1"},
	{LIMIT, -1, "-1", "max", "max"},
	{LIMIT, 4096, "4096", "4096", "4096"},
	{HIGH, -1, "max", "max", "max"},
	{NEAP_KEY_MEMORY_MIN_BYTES, 0, "0", "0", "0"},
	{PIDS, -1, "max", "max", "max"},
	{PIDS, 64, "64", "64", "64"},
};

static void format(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(format_rows); i++) {
		enum neap_key key = format_rows[i].key;
		struct neap_value value = number(format_rows[i].value), back;
		const char *want[] = {format_rows[i].v1, format_rows[i].v2};
		char buf[64];

		for (int v2 = 0; v2 < 2; v2++) {
			size_t len = neap_value_format(key, v2, NEAP_WEIGHT_LINEAR,
						       &value, buf, sizeof(buf));

			if (strcmp(buf, want[v2]) != 0 || len != strlen(buf))
				fail_msg("%s v%d: '%s'", want[v2], v2 + 1, buf);
			assert_int_equal(neap_value_parse(key, v2, buf, &back, NULL), 0);
			assert_true(neap_value_is_in_force(key, v2, NEAP_WEIGHT_LINEAR,
							   &value, &back));
		}
		assert_int_equal(neap_value_print(key, &value, buf, sizeof(buf)),
				 strlen(format_rows[i].print));
		assert_string_equal(buf, format_rows[i].print);
	}
}

static void cpu_sets(void **state)
{
	struct neap_value a = cpus("0-3,8"), b, none = cpus("");
	char buf[64];

	(void)state;
	assert_int_equal(
		neap_value_format(CPUS, true, NEAP_WEIGHT_LINEAR, &a, buf, sizeof(buf)),
		5);
	assert_string_equal(buf, "0-3,8");
	assert_int_equal(neap_value_parse(CPUS, false, "8,0-2,3\n", &b, NULL), 0);
	assert_true(neap_value_is_equal(CPUS, &a, &b));
	assert_false(neap_value_is_equal(CPUS, &a, &none));
	assert_int_equal(neap_value_parse(CPUS, true, "\n", &b, NULL), 0);
	assert_true(neap_value_is_equal(CPUS, &b, &none));
	b = a;
	assert_int_equal(neap_value_parse(CPUS, true, "0-x\n", &b, NULL), -NEAP_EINVAL);
	assert_true(neap_value_is_equal(CPUS, &a, &b));
}

/* Whatever shares are written on v2, reading back knows them again, and a second round
 * changes nothing. */
static void weights_round_trip(void **state)
{
	(void)state;
	for (int64_t shares = 2; shares <= 262144; shares += shares < 4096 ? 1 : 997)
		for (int curve = 0; curve < 2; curve++) {
			struct neap_value wish = number(shares), back;
			char buf[32], again[32];

			(void)neap_value_format(SHARES, true,
						(enum neap_weight_curve)curve, &wish, buf,
						sizeof(buf));
			assert_int_equal(neap_value_parse(SHARES, true, buf, &back, NULL),
					 0);
			if (!neap_value_is_in_force(SHARES, true,
						    (enum neap_weight_curve)curve, &wish,
						    &back))
				fail_msg("shares %lld, curve %d", (long long)shares,
					 curve);
			(void)neap_value_format(SHARES, true, NEAP_WEIGHT_LINEAR, &back,
						again, sizeof(again));
			assert_string_equal(buf, again);
		}
}

static void in_force(void **state)
{
	static const struct {
		const char *name;
		enum neap_key key;
		bool v2;
		int64_t wished, present;
		bool want;
	} rows[] = {
		{"shares v1 exact", SHARES, false, 2, 3, false},
		{"shares v2 same weight", SHARES, true, 1000, 998 + 1, true},
		{"shares v2 other weight", SHARES, true, 1024, 2048, false},
		{"whole page", LIMIT, true, 1000000, 999424, true},
		{"page of 64 KiB", LIMIT, true, 1000000, 983040, true},
		{"below the page", LIMIT, true, 1000000, 995328, false},
		{"above", LIMIT, true, 999424, 1000000, false},
		{"unlimited", LIMIT, true, -1, 0, false},
		{"limited", LIMIT, true, 100, -1, false},
		{"quota", MAX, true, 1500, 1501, false},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_value wished = number(rows[i].wished);
		struct neap_value present = number(rows[i].present);

		if (neap_value_is_in_force(rows[i].key, rows[i].v2, NEAP_WEIGHT_LINEAR,
					   &wished, &present) != rows[i].want)
			fail_msg("%s", rows[i].name);
	}
}

static void check(void **state)
{
	static const struct {
		enum neap_key key;
		int64_t value;
		bool want;
	} rows[] = {
		{MAX, -1, true},
		{MAX, -2, false},
		{MAX, 0, false},
		{MAX, 9, false},
		{MAX, 10, true},
		{MAX, INT64_C(175921860444), true},
		{MAX, INT64_C(175921860445), false},
		{BURST, -1, false},
		{BURST, 0, true},
		{BURST, 100000001, false},
		{SHARES, 1, false},
		{SHARES, 262145, false},
		{IDLE, 2, false},
		{IDLE, -1, false},
		{LIMIT, -1, true},
		{LIMIT, 0, true},
		{LIMIT, INT64_MIN, false},
		{PIDS, -1, true},
		{PIDS, 0, true},
		{PIDS, 4194304, true},
		{PIDS, 4194305, false},
		{CPUS, 1, false},
	};
	struct neap_value set = cpus("0"), quota = number(5);
	struct neap_error err;

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_value value = number(rows[i].value);

		if ((neap_value_check(rows[i].key, &value, &err) == 0) != rows[i].want)
			fail_msg("%s %lld", neap_key_get(rows[i].key)->name,
				 (long long)rows[i].value);
	}
	assert_int_equal(neap_value_check(CPUS, &set, &err), 0);
	assert_int_equal(neap_value_check(MAX, &set, &err), -NEAP_EINVAL);
	assert_string_equal(err.msg, "cpu.max_milli takes a number");
	assert_int_equal(neap_value_check(MAX, &quota, &err), -NEAP_EINVAL);
	assert_string_equal(err.msg,
			    "cpu.max_milli cannot be 5: 10..175921860444, or -1 for "
			    "unlimited");
}

static void enlarge(void **state)
{
	static const struct {
		enum neap_key key;
		int64_t old_value, new_value;
		bool want;
	} rows[] = {
		{MAX, 100, -1, true},  {MAX, -1, 100, false},  {MAX, -1, -1, false},
		{MAX, 100, 200, true}, {MAX, 200, 100, false}, {MAX, 5, 5, false},
		{BURST, 0, 1, true},   {LIMIT, 0, -1, true},   {PIDS, 64, -1, true},
	};
	static const struct {
		const char *old_cpus, *new_cpus, *want; /* NULL: leave */
	} sets[] = {
		{"2-3", "0-7", "0-7"}, {"0-3", "2-5", "0-5"}, {"0-3", "1-2", NULL},
		{"0-3", "0-3", NULL},  {"", "1", "1"},        {"1", "", NULL},
	};
	struct neap_value ret;

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_value a = number(rows[i].old_value),
				  b = number(rows[i].new_value);

		if (neap_value_enlarge(rows[i].key, &a, &b, &ret) != rows[i].want ||
		    (rows[i].want && ret.number != rows[i].new_value))
			fail_msg("row %zu", i);
	}
	for (size_t i = 0; i < NEAP_ARRAY_LEN(sets); i++) {
		struct neap_value a = cpus(sets[i].old_cpus), b = cpus(sets[i].new_cpus),
				  want;
		bool grows = neap_value_enlarge(CPUS, &a, &b, &ret);

		want = cpus(sets[i].want == NULL ? "" : sets[i].want);
		if (grows != (sets[i].want != NULL) ||
		    (grows && !neap_value_is_equal(CPUS, &ret, &want)))
			fail_msg("%s -> %s", sets[i].old_cpus, sets[i].new_cpus);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table),
		cmocka_unit_test(parse),
		cmocka_unit_test(format),
		cmocka_unit_test(cpu_sets),
		cmocka_unit_test(weights_round_trip),
		cmocka_unit_test(in_force),
		cmocka_unit_test(check),
		cmocka_unit_test(enlarge),
	};

	return cmocka_run_group_tests_name("key", tests, NULL, NULL);
}
