/* SPDX-License-Identifier: Apache-2.0
 *
 * Suspended, stopped and reset clocks are told apart, and small things are not told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/daemon/neapd.h"
#include "engine/base/base.h"

#define SEC INT64_C(1000000)

static const struct {
	int64_t mono, boot, real, late;
	int level;
	const char *part;
} rows[] = {
	{1 * SEC, 1 * SEC, 1 * SEC, 0, -1, ""},
	{2 * SEC, 2 * SEC, 2 * SEC, 1 * SEC, -1, ""},
	/* A time server's step, and a busy machine. */
	{1 * SEC, 1 * SEC, 2 * SEC, 0, -1, ""},
	{1 * SEC, 1 * SEC, 3601 * SEC, 0, NEAP_LOG_WARN, "forward by 3600.0 s"},
	{1 * SEC, 1 * SEC, -86399 * SEC, 0, NEAP_LOG_WARN, "back by 86400.0 s"},
	{11 * SEC, 11 * SEC, 11 * SEC, 10 * SEC, NEAP_LOG_WARN, "10.0 s late"},
	{1 * SEC, 601 * SEC, 601 * SEC, 0, NEAP_LOG_INFO, "suspended for 600.0 s"},
	/* All three: the clock is the one that matters. */
	{11 * SEC, 611 * SEC, 0, 10 * SEC, NEAP_LOG_WARN, "back by 611.0 s"},
};

static void compares(void **state)
{
	const struct neap_clocks before = {50 * SEC, 90 * SEC, 1700000000 * SEC};
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		const struct neap_clocks now = {before.mono_usec + rows[i].mono,
						before.boot_usec + rows[i].boot,
						before.real_usec + rows[i].real};
		char text[160] = "";

		assert_int_equal(neap_clocks_compare(&before, &now, rows[i].late, text,
						     sizeof(text)),
				 rows[i].level);
		if (!strstr(text, rows[i].part))
			fail_msg("row %zu: %s", i, text);
		if (rows[i].level < 0)
			assert_string_equal(text, "");
	}
}

static void looks(void **state)
{
	const struct neap_clocks now = neap_clocks_now();
	char text[160] = "";

	(void)state;
	assert_true(now.mono_usec > 0 && now.boot_usec >= now.mono_usec - SEC);
	assert_true(now.real_usec > 1700000000 * SEC);
	assert_int_equal(neap_clocks_compare(&now, &now, 0, text, sizeof(text)), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(compares),
		cmocka_unit_test(looks),
	};

	return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
