/* SPDX-License-Identifier: Apache-2.0
 *
 * Token buckets of evictions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/migrate/limiter.h"

#define SECOND INT64_C(1000000)

static void test_limiter(void **state)
{
	struct neap_limiter *limiter = neap_limiter_new();
	int64_t now = 1000 * SECOND, five = 300 * SECOND;

	(void)state;
	assert_non_null(limiter);
	/* Two in five minutes, one at a time: one in 150 s. */
	assert_true(neap_limiter_has(limiter, "a", 2, five, 1, now));
	neap_limiter_take(limiter, "a", 2, five, 1, now);
	assert_false(neap_limiter_has(limiter, "a", 2, five, 1, now + 149 * SECOND));
	assert_true(neap_limiter_has(limiter, "a", 2, five, 1, now + 150 * SECOND));
	assert_true(neap_limiter_has(limiter, "b", 2, five, 1, now));
	/* It comes back, and does not pile up. */
	neap_limiter_give(limiter, "a", 2, five, 1, now);
	neap_limiter_give(limiter, "a", 2, five, 1, now);
	neap_limiter_take(limiter, "a", 2, five, 1, now);
	assert_false(neap_limiter_has(limiter, "a", 2, five, 1, now));
	assert_true(neap_limiter_has(limiter, "a", 0, five, 1, now));
	neap_limiter_free(limiter);
}

static void test_bucket(void **state)
{
	struct neap_bucket bucket = {0};
	int64_t now = 1000 * SECOND;

	(void)state;
	neap_bucket_set(&bucket, 2, 3, now);
	for (int i = 0; i < 3; i++) {
		assert_true(neap_bucket_has(&bucket, now));
		neap_bucket_take(&bucket, now);
	}
	assert_false(neap_bucket_has(&bucket, now));
	assert_true(neap_bucket_has(&bucket, now + SECOND / 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limiter),
		cmocka_unit_test(test_bucket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
