/* SPDX-License-Identifier: Apache-2.0
 *
 * Quantities, durations, integers and times: rows, round trips, the calendar day by
 * day. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "engine/base/quantity.h"

#define FAILS INT64_MIN

/* Quantities; FAILS is an error. */
static const struct {
	const char *text;
	int64_t milli, units;
} quantities[] = {
	{"0", 0, 0},
	{"500m", 500, 1},
	{"2", 2000, 2},
	{"+2", 2000, 2},
	{"007", 7000, 7},
	{"1.5", 1500, 2},
	{"1.", 1000, 1},
	{".5", 500, 1},
	{"-1.5", -1500, -2},
	{"-1u", -1, -1},
	{"1n", 1, 1},
	{"1u", 1, 1},
	{"0n", 0, 0},
	{"1000u", 1, 1},
	{"1001u", 2, 1},
	{"1k", 1000000, 1000},
	{"1M", 1000000000, 1000000},
	{"1G", INT64_C(1000000000000), 1000000000},
	{"1T", INT64_C(1000000000000000), INT64_C(1000000000000)},
	{"1P", INT64_C(1000000000000000000), INT64_C(1000000000000000)},
	{"1E", FAILS, INT64_C(1000000000000000000)},
	{"9E", FAILS, INT64_C(9000000000000000000)},
	{"10E", FAILS, FAILS},
	{"1Ki", 1024000, 1024},
	{"128Mi", INT64_C(134217728000), 134217728},
	{"1.5Gi", INT64_C(1610612736000), 1610612736},
	{"1Ti", INT64_C(1099511627776000), INT64_C(1099511627776)},
	{"1Pi", INT64_C(1125899906842624000), INT64_C(1125899906842624)},
	{"7Ei", FAILS, INT64_C(8070450532247928832)},
	{"8Ei", FAILS, FAILS},
	{"0.00001Ki", 11, 1},
	{"1e3", 1000000, 1000},
	{"1E3", 1000000, 1000},
	{"1e+3", 1000000, 1000},
	{"1e-3", 1, 1},
	{"1e-99999999999", 1, 1},
	{"0e99999999999", 0, 0},
	{"1e99999999999", FAILS, FAILS},
	{"1e19", FAILS, FAILS},
	{"9223372036854775807", FAILS, INT64_MAX},
	{"-9223372036854775807", FAILS, -INT64_MAX},
	{"9223372036854775808", FAILS, FAILS},
	{"9223372036854775806.5", FAILS, INT64_MAX},
	{"9223372036854775807.5", FAILS, FAILS},
	{"1.000000000000000000000000001", 1001, 2},
	{"1.000000000000000000000000000", 1000, 1},
	{"100000000000000000000000n", INT64_C(100000000000000000),
	 INT64_C(100000000000000)},
	{"99999999999999999999Ei", FAILS, FAILS},
	{"0.00000000000000000000000000000000000000000000000001Ei", 1, 1},
	{"", FAILS, FAILS},
	{".", FAILS, FAILS},
	{"-", FAILS, FAILS},
	{"m", FAILS, FAILS},
	{"Ki", FAILS, FAILS},
	{"1e", FAILS, FAILS},
	{"e3", FAILS, FAILS},
	{"1e3Ki", FAILS, FAILS},
	{"1 ", FAILS, FAILS},
	{" 1", FAILS, FAILS},
	{"1K", FAILS, FAILS},
	{"1ki", FAILS, FAILS},
	{"1mm", FAILS, FAILS},
	{"--1", FAILS, FAILS},
	{"1.2.3", FAILS, FAILS},
	{"0x10", FAILS, FAILS},
	{"1,5", FAILS, FAILS},
	{"inf", FAILS, FAILS},
};

static void quantity_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(quantities); i++) {
		struct neap_error err = {0};
		int64_t milli = FAILS, units = FAILS;
		int r_milli = neap_quantity_parse_milli(quantities[i].text, &milli, &err);
		int r_units = neap_quantity_parse_units(quantities[i].text, &units, &err);

		if (milli != quantities[i].milli || units != quantities[i].units ||
		    (r_milli < 0) != (milli == FAILS) ||
		    (r_units < 0) != (units == FAILS))
			fail_msg("'%s': milli %lld, units %lld", quantities[i].text,
				 (long long)milli, (long long)units);
		if (r_units < 0 && err.code != NEAP_EINVAL)
			fail_msg("'%s': code %d", quantities[i].text, err.code);
	}
}

/* As a kube-apiserver shows what it was sent, and another text of the same amount; NULL:
 * refused. */
static const struct {
	const char *text, *want, *same;
} canonical[] = {
	{"0", "0", "0Ki"},
	{"0.0", "0", "-0"},
	{"500m", "500m", "0.5"},
	{"0.5", "500m", ".5"},
	{"1000m", "1", "1.0"},
	{"1", "1", "1e0"},
	{"1500m", "1500m", "1.5"},
	{"1000", "1k", "1e3"},
	{"1024", "1024", "1Ki"},
	{"128974848", "128974848", "123Mi"},
	{"1000000", "1M", "1000k"},
	{"1e3", "1e3", "1k"},
	{"1E3", "1e3", "1000"},
	{"1e4", "10e3", "10k"},
	{"12e-1", "1200e-3", "1200m"},
	{"1E", "1E", "1e18"},
	{"1024Mi", "1Gi", "1073741824"},
	{"1.5Gi", "1536Mi", "1610612736"},
	{"1.5Ki", "1536", "1536"},
	{"1.1Ki", "1126400m", "1126.4"},
	{"0.5Ki", "512", "512"},
	{"1023", "1023", "1023"},
	{"-1Ki", "-1Ki", "-1024"},
	{"+2", "2", "2"},
	{"007", "7", "7"},
	{"1u", "1m", "1n"},
	{"1.0005", "1001m", "1.001"},
	{"-1n", "-1m", "-1u"},
	{"0.1Ki", "102400m", "102.4"},
	{"0.00001Ki", "11m", "11m"},
	{"7790417744566877.307306157454433Ki", "7977387770436482362676m",
	 "7977387770436482362676000u"},
	{"8Ei", "9223372036854775807", "9Ei"},
	{"9999999999999999.999Ki", "9223372036854775807", "8Ei"},
	{"9223372036854775807", "9223372036854775807", "8Ei"},
	{"9223372036854775808", "9223372036854775808", "9223372036854775808000m"},
	{"1e21", "1e21", "1000E"},
	{"1000E", "1e21", "1e21"},
	{"1e900", "1e900", "1e900"},
	{"1e901", NULL, NULL},
	{"1e99999", NULL, NULL},
	{"1e-99999", "1e-3", "1m"},
	{"", NULL, NULL},
	{"1K", NULL, NULL},
	{"lots", NULL, NULL},
	{" 1", NULL, NULL},
};

static void canonical_rows(void **state)
{
	char longest[300];

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(canonical); i++) {
		const char *text = canonical[i].text, *want = canonical[i].want;
		char buf[NEAP_QUANTITY_SIZE] = "", again[NEAP_QUANTITY_SIZE] = "";
		int rc = neap_quantity_canonical(text, buf, NULL);

		if ((rc < 0) != !want || (want && strcmp(buf, want) != 0))
			fail_msg("'%s': '%s'", text, buf);
		if (!want)
			continue;
		if (neap_quantity_canonical(buf, again, NULL) < 0 ||
		    strcmp(again, buf) != 0)
			fail_msg("'%s' becomes '%s'", buf, again);
		if (!neap_quantity_is_same(text, canonical[i].same) ||
		    neap_quantity_is_same(text, "3141m"))
			fail_msg("'%s' and '%s'", text, canonical[i].same);
	}
	assert_false(neap_quantity_is_same("1", "one"));
	memset(longest, '9', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	for (size_t len = 0; len < sizeof(longest); len++) {
		char buf[NEAP_QUANTITY_SIZE];

		assert_int_equal(neap_quantity_canonical(longest + len, buf, NULL),
				 sizeof(longest) - 1 - len < 256 && longest[len]
					 ? 0
					 : -NEAP_EINVAL);
	}
}

/* Of any size, however written. */
static void compare_rows(void **state)
{
	static const struct {
		const char *less, *more;
	} order[] = {
		{"-1e30", "-1e29"},
		{"-1", "0"},
		{"0", "1m"},
		{"999m", "1"},
		{"1", "9223372036854775808"},
		{"1", "1e30"},
		{"1e30", "2e30"},
		{"10E", "1e30"},
		{"7Ei", "9223372036854775807"},
		{"9223372036854775807", "9223372036854775808"},
		{"9223372036854775807", "9223372036854775807.5"},
		{"12345678901234567890", "12345678901234567891"},
		{"1Gi", "1073741825"},
		{"99999999999999999999m", "100E"},
		{"9e899", "1e900"},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(order); i++) {
		const char *less = order[i].less, *more = order[i].more;
		int up = 0, down = 0, same = 1;

		assert_true(neap_quantity_compare(less, more, &up));
		assert_true(neap_quantity_compare(more, less, &down));
		assert_true(neap_quantity_compare(more, more, &same));
		if (up >= 0 || down <= 0 || same != 0)
			fail_msg("'%s' and '%s': %d, %d, %d", less, more, up, down, same);
	}
}

static const struct {
	int64_t milli;
	const char *text;
} milli_texts[] = {
	{0, "0"},
	{500, "500m"},
	{2000, "2"},
	{1500, "1500m"},
	{-1500, "-1500m"},
	{2000000, "2k"},
	{INT64_MAX, "9223372036854775807m"},
	{INT64_MIN, "-9223372036854775808m"},
};

static const struct {
	int64_t bytes;
	const char *text, *human;
} byte_texts[] = {
	{0, "0", "0 B"},
	{999, "999", "999 B"},
	{1000, "1000", "0.98 KiB"},
	{1024, "1Ki", "1.00 KiB"},
	{1536, "1536", "1.50 KiB"},
	{-1536, "-1536", "-1.50 KiB"},
	{15 * 1024 + 512, "15872", "15.5 KiB"},
	{134217728, "128Mi", "128 MiB"},
	{INT64_C(1072693248), "1023Mi", "1.00 GiB"},
	{INT64_C(1610612736), "1536Mi", "1.50 GiB"},
	{INT64_C(1) << 62, "4Ei", "4.00 EiB"},
	{INT64_MAX, "9223372036854775807", "8.00 EiB"},
	{INT64_MIN, "-8Ei", "-8.00 EiB"},
};

static void quantity_texts(void **state)
{
	char buf[32];
	int64_t back;

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(milli_texts); i++) {
		neap_quantity_format_milli(milli_texts[i].milli, buf, sizeof(buf));
		assert_string_equal(buf, milli_texts[i].text);
		if (milli_texts[i].milli == INT64_MIN)
			continue;
		assert_int_equal(neap_quantity_parse_milli(buf, &back, NULL), 0);
		assert_int_equal(back, milli_texts[i].milli);
	}
	for (size_t i = 0; i < NEAP_ARRAY_LEN(byte_texts); i++) {
		neap_bytes_format_human(byte_texts[i].bytes, buf, sizeof(buf));
		assert_string_equal(buf, byte_texts[i].human);
		neap_quantity_format_bytes(byte_texts[i].bytes, buf, sizeof(buf));
		assert_string_equal(buf, byte_texts[i].text);
		if (byte_texts[i].bytes == INT64_MIN)
			continue;
		assert_int_equal(neap_quantity_parse_units(buf, &back, NULL), 0);
		assert_int_equal(back, byte_texts[i].bytes);
	}
}

/* canonical NULL: not a duration. */
static const struct {
	const char *text;
	int64_t usec;
	const char *canonical;
} durations[] = {
	{"0", 0, "0s"},
	{"0s", 0, "0s"},
	{"60", 60000000, "1m"},
	{"1.5", 1500000, "1s500ms"},
	{"60s", 60000000, "1m"},
	{"90s", 90000000, "1m30s"},
	{"1m30s", 90000000, "1m30s"},
	{"1h30m", INT64_C(5400000000), "1h30m"},
	{"500ms", 500000, "500ms"},
	{"1.5h", INT64_C(5400000000), "1h30m"},
	{".5s", 500000, "500ms"},
	{"7us", 7, "7us"},
	{"7µs", 7, "7us"},
	{"1h2m3s4ms5us", INT64_C(3723004005), "1h2m3s4ms5us"},
	{"2562047788h", INT64_C(9223372036800000000), "2562047788h"},
	{"2562047789h", 0, NULL},
	{"99999999999999999999999999999999h", 0, NULL},
	{"9223372036854775807us1us", 0, NULL},
	{"", 0, NULL},
	{"-1s", 0, NULL},
	{"+1s", 1000000, "1s"},
	{"+0", 0, "0s"},
	{"+", 0, NULL},
	{"++1s", 0, NULL},
	{"+-1s", 0, NULL},
	{"1m+1s", 0, NULL},
	{"7\316\274s", 7, "7us"},
	{"1.h", INT64_C(3600000000), "1h"},
	{"3000ns", 3, "3us"},
	/* What is there at all is not 0. */
	{"1ns", 1, "1us"},
	{"0.4us", 1, "1us"},
	{"0ns", 0, "0s"},
	{"1m-1s", 0, NULL},
	{"s", 0, NULL},
	{"1m30", 0, NULL},
	{"1x", 0, NULL},
	{"1 s", 0, NULL},
	{"1s ", 0, NULL},
	{".s", 0, NULL},
	{"1..5s", 0, NULL},
	{"1d", 0, NULL},
};

static void duration_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(durations); i++) {
		int64_t usec = FAILS, back = FAILS;
		char buf[64];
		int r = neap_duration_parse(durations[i].text, &usec, NULL);

		if ((r < 0) != !durations[i].canonical)
			fail_msg("'%s': %d", durations[i].text, r);
		if (r < 0) {
			assert_int_equal(r, -NEAP_EINVAL);
			assert_int_equal(usec, FAILS);
			continue;
		}
		neap_duration_format(usec, buf, sizeof(buf));
		if (usec != durations[i].usec || strcmp(buf, durations[i].canonical) != 0)
			fail_msg("'%s': %lld, '%s'", durations[i].text, (long long)usec,
				 buf);
		assert_int_equal(neap_duration_parse(buf, &back, NULL), 0);
		assert_int_equal(back, usec);
	}
}

static const struct {
	const char *text;
	int64_t value; /* FAILS */
} ints[] = {
	{"0", 0},
	{"42\n", 42},
	{"-1 \t\r\n", -1},
	{"9223372036854775807", INT64_MAX},
	{"-9223372036854775807", -INT64_MAX},
	{"9223372036854775808", FAILS},
	{"18446744073709551615", FAILS},
	{"99999999999999999999999", FAILS},
	{"", FAILS},
	{"-", FAILS},
	{" 1", FAILS},
	{"+1", FAILS},
	{"1 2", FAILS},
	{"max", FAILS},
	{"0x1", FAILS},
};

static void int_rows(void **state)
{
	int64_t value;

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(ints); i++) {
		value = FAILS;
		int r = neap_int_parse(ints[i].text, &value, NULL);

		if (value != ints[i].value || (r < 0) != (value == FAILS))
			fail_msg("'%s': %lld", ints[i].text, (long long)value);
	}
	assert_int_equal(neap_int_parse("-9223372036854775808", &value, NULL), 0);
	assert_true(value == INT64_MIN);
}

static const struct {
	const char *text;
	int64_t usec;
	const char *utc; /* with 6 digits; NULL: refused */
} times[] = {
	{"1970-01-01T00:00:00Z", 0, "1970-01-01T00:00:00.000000Z"},
	{"2026-01-02T03:04:05Z", INT64_C(1767323045000000),
	 "2026-01-02T03:04:05.000000Z"},
	{"2026-01-02T03:04:05.5Z", INT64_C(1767323045500000),
	 "2026-01-02T03:04:05.500000Z"},
	{"2026-01-02t03:04:05.123456789z", INT64_C(1767323045123456),
	 "2026-01-02T03:04:05.123456Z"},
	{"2026-01-02T05:34:05+02:30", INT64_C(1767323045000000),
	 "2026-01-02T03:04:05.000000Z"},
	{"2026-01-01T23:04:05-04:00", INT64_C(1767323045000000),
	 "2026-01-02T03:04:05.000000Z"},
	{"1969-12-31T23:59:59.999999Z", -1, "1969-12-31T23:59:59.999999Z"},
	{"2000-02-29T00:00:00Z", INT64_C(951782400000000), "2000-02-29T00:00:00.000000Z"},
	{"2024-02-29T12:00:00Z", INT64_C(1709208000000000),
	 "2024-02-29T12:00:00.000000Z"},
	{"0001-01-01T00:00:00Z", INT64_C(-62135596800000000),
	 "0001-01-01T00:00:00.000000Z"},
	{"9999-12-31T23:59:59Z", INT64_C(253402300799000000),
	 "9999-12-31T23:59:59.000000Z"},
	{"1900-02-29T00:00:00Z", 0, NULL},
	{"2023-02-29T00:00:00Z", 0, NULL},
	{"2026-13-01T00:00:00Z", 0, NULL},
	{"2026-00-01T00:00:00Z", 0, NULL},
	{"2026-01-32T00:00:00Z", 0, NULL},
	{"2026-01-00T00:00:00Z", 0, NULL},
	{"2026-01-02T24:00:00Z", 0, NULL},
	{"2026-01-02T23:60:00Z", 0, NULL},
	{"2026-01-02T23:59:60Z", 0, NULL},
	{"2026-01-02T03:04:05", 0, NULL},
	{"2026-01-02 03:04:05Z", 0, NULL},
	{"2026-01-02T03:04:05.Z", 0, NULL},
	{"2026-01-02T03:04:05+24:00", 0, NULL},
	{"2026-01-02T03:04:05+1:00", 0, NULL},
	{"2026-01-02T03:04:05Z ", 0, NULL},
	{"26-01-02T03:04:05Z", 0, NULL},
	{"2026-1-2T03:04:05Z", 0, NULL},
	{"", 0, NULL},
};

static void time_rows(void **state)
{
	char buf[32];

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(times); i++) {
		int64_t usec = FAILS;
		int r = neap_time_parse(times[i].text, &usec, NULL);

		if ((r < 0) != !times[i].utc)
			fail_msg("'%s': %d", times[i].text, r);
		if (r < 0)
			continue;
		neap_time_format(usec, 6, buf, sizeof(buf));
		if (usec != times[i].usec || strcmp(buf, times[i].utc) != 0)
			fail_msg("'%s': %lld %s", times[i].text, (long long)usec, buf);
	}
	assert_string_equal(
		neap_time_format(INT64_C(1767323045123456), 0, buf, sizeof(buf)),
		"2026-01-02T03:04:05Z");
	assert_string_equal(
		neap_time_format(INT64_C(1767323045123456), 3, buf, sizeof(buf)),
		"2026-01-02T03:04:05.123Z");
	assert_string_equal(neap_time_format(INT64_MIN, 6, buf, sizeof(buf)),
			    "-290308-12-21T19:59:05.224192Z");
}

/* Every day of 800 years against the obvious calendar. */
static void time_every_day(void **state)
{
	static const int month_days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	int64_t day = -135140; /* 1600-01-01 */
	char want[32], got[32];

	(void)state;
	for (int year = 1600; year < 2400; year++) {
		bool is_leap = year % 400 == 0 || (year % 4 == 0 && year % 100 != 0);

		for (int month = 1; month <= 12; month++) {
			int days = month_days[month - 1] + (month == 2 && is_leap);

			for (int d = 1; d <= days; d++, day++) {
				int64_t usec;

				(void)snprintf(want, sizeof(want),
					       "%04d-%02d-%02dT00:00:00Z", year, month,
					       d);
				neap_time_format(day * 86400 * 1000000, 0, got,
						 sizeof(got));
				if (strcmp(want, got) != 0)
					fail_msg("%s: %s", want, got);
				assert_int_equal(neap_time_parse(got, &usec, NULL), 0);
				assert_true(usec == day * 86400 * 1000000);
			}
		}
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantity_rows), cmocka_unit_test(canonical_rows),
		cmocka_unit_test(compare_rows),  cmocka_unit_test(quantity_texts),
		cmocka_unit_test(duration_rows), cmocka_unit_test(int_rows),
		cmocka_unit_test(time_rows),     cmocka_unit_test(time_every_day),
	};
	const char *only = getenv("CASE");

	if (only && *only)
		cmocka_set_test_filter(only);
	return cmocka_run_group_tests_name("quantity", tests, NULL, NULL);
}
