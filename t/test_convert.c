/* SPDX-License-Identifier: Apache-2.0
 *
 * Shares, weights, quotas. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "engine/machine/key.h"

#define FAILS INT64_MIN

static const struct {
	int64_t shares, linear, log;
} weight_rows[] = {
	{2, 1, 1},
	{1, 1, 1},
	{3, 1, 2},
	{28, 1, 7},
	{29, 2, 7},
	{1000, 39, 99},
	{1024, 39, 100},
	{2000, 77, 170},
	{50000, 1908, 2402},
	{262143, 9999, 10000},
	{262144, 10000, 10000},
	{INT64_MAX, 10000, 10000},
	{0, FAILS, FAILS},
	{-1, FAILS, FAILS},
	{INT64_MIN, FAILS, FAILS},
};

static void shares_to_weight(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(weight_rows); i++) {
		struct neap_error err;
		int64_t linear = FAILS, curve = FAILS;
		int rc = neap_shares_to_weight(weight_rows[i].shares, NEAP_WEIGHT_LINEAR,
					       &linear, &err);
		int rc_log = neap_shares_to_weight(weight_rows[i].shares, NEAP_WEIGHT_LOG,
						   &curve, &err);

		if (linear != weight_rows[i].linear || curve != weight_rows[i].log ||
		    (rc < 0) != (linear == FAILS) || rc != rc_log)
			fail_msg("shares %lld: %lld and %lld",
				 (long long)weight_rows[i].shares, (long long)linear,
				 (long long)curve);
	}
}

static void weight_to_shares(void **state)
{
	static const struct {
		int64_t weight, shares;
	} rows[] = {{1, 2},          {2, 28},    {39, 998},      {100, 2597},
		    {10000, 262144}, {0, FAILS}, {10001, FAILS}, {-1, FAILS}};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		int64_t shares = FAILS;
		int rc = neap_weight_to_shares(rows[i].weight, &shares, NULL);

		if (shares != rows[i].shares || (rc < 0) != (shares == FAILS))
			fail_msg("weight %lld: %lld", (long long)rows[i].weight,
				 (long long)shares);
	}
}

static void both_curves_never_fall(void **state)
{
	int64_t before[2] = {1, 1};

	(void)state;
	for (int64_t shares = 2; shares <= 262144; shares++)
		for (int curve = 0; curve < 2; curve++) {
			int64_t weight = 0;

			assert_int_equal(neap_shares_to_weight(
						 shares, (enum neap_weight_curve)curve,
						 &weight, NULL),
					 0);
			if (weight < before[curve] || weight > 10000)
				fail_msg("shares %lld", (long long)shares);
			before[curve] = weight;
		}
	assert_int_equal(before[0], 10000);
	assert_int_equal(before[1], 10000);
}

static void cpu_max(void **state)
{
	static const struct {
		const char *text;
		int64_t quota;
	} rows[] = {
		{"100000 100000", 100000},
		{"max 100000\n", -1},
		{"100000 not_a_number", 100000},
		{" 5000\t100000 \n", 5000},
		{"0 100000", 0},
		{"-1 100000", -1},
		{"100000", FAILS},
		{"max", FAILS},
		{"max\n", FAILS},
		{"", FAILS},
		{" ", FAILS},
		{"1 2 3", FAILS},
		{"not_a_number 100000", FAILS},
		{"-2 100000", FAILS},
		{"max100000 1", FAILS},
		{"1x 100000", FAILS},
		{"99999999999999999999 1", FAILS},
		{"9999999999999999999999999999999999 1", FAILS},
		{"invalid content", FAILS},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_error err;
		int64_t quota = FAILS;
		int rc = neap_cpu_max_parse(rows[i].text, &quota, &err);

		if (quota != rows[i].quota || (rc < 0) != (quota == FAILS))
			fail_msg("'%s': %lld", rows[i].text, (long long)quota);
	}
}

static void milli(void **state)
{
	static const struct {
		int64_t milli, shares, quota;
	} rows[] = {
		{0, 2, -1},
		{-1, 2, -1},
		{INT64_MIN, 2, -1},
		{1, 2, 1000},
		{3, 3, 1000},
		{10, 10, 1000},
		{11, 11, 1100},
		{500, 512, 50000},
		{1000, 1024, 100000},
		{2000, 2048, 200000},
		{255999, 262142, 25599900},
		{256000, 262144, 25600000},
		{INT64_MAX, 262144, INT64_MAX},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		if (neap_milli_to_shares(rows[i].milli) != rows[i].shares ||
		    neap_milli_to_quota(rows[i].milli) != rows[i].quota)
			fail_msg("%lldm: %lld %lld", (long long)rows[i].milli,
				 (long long)neap_milli_to_shares(rows[i].milli),
				 (long long)neap_milli_to_quota(rows[i].milli));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_to_weight),
		cmocka_unit_test(weight_to_shares),
		cmocka_unit_test(both_curves_never_fall),
		cmocka_unit_test(cpu_max),
		cmocka_unit_test(milli),
	};

	return cmocka_run_group_tests_name("convert", tests, NULL, NULL);
}
