/* SPDX-License-Identifier: Apache-2.0
 *
 * Time zones: clocks and next times against values from another implementation, rules,
 * hostile files, and ctx.time as a script sees it. What needs zone files skips without
 * them (package tzdata). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "lua/call/policy.h"
#include "lua/vm/zone.h"
#include "lua/vm/zone_priv.h"

#define HOUR             3600
#define AT(hour, minute) ((hour)*HOUR + (minute)*60)

/* clang-format off */
static const struct {
	const char *zone;
	int64_t unix_s;
	struct neap_zone_clock want;
} clocks[] = {
	{"UTC", 0, {1970, 1, 1, 0, 0, 0, 4, 0}},
	{"UTC", -1, {1969, 12, 31, 23, 59, 59, 3, 0}},
	{"UTC", 1709164800, {2024, 2, 29, 0, 0, 0, 4, 0}},
	{"Asia/Shanghai", 1700000000, {2023, 11, 15, 6, 13, 20, 3, 28800}},
	{"Europe/Berlin", 1711846799, {2024, 3, 31, 1, 59, 59, 0, 3600}},
	{"Europe/Berlin", 1711846800, {2024, 3, 31, 3, 0, 0, 0, 7200}},
	{"Europe/Berlin", 1729990799, {2024, 10, 27, 2, 59, 59, 0, 7200}},
	{"Europe/Berlin", 1729990800, {2024, 10, 27, 2, 0, 0, 0, 3600}},
	{"Europe/Berlin", 3802586400, {2090, 7, 1, 12, 0, 0, 6, 7200}},
	{"Europe/Berlin", 3786951600, {2090, 1, 1, 12, 0, 0, 0, 3600}},
	{"America/New_York", 2530767599, {2050, 3, 13, 1, 59, 59, 0, -18000}},
	{"America/New_York", 2530767600, {2050, 3, 13, 3, 0, 0, 0, -14400}},
	{"Europe/Dublin", 2855862000, {2060, 7, 1, 0, 0, 0, 4, 3600}},
	{"Europe/Dublin", 2840140800, {2060, 1, 1, 0, 0, 0, 4, 0}},
	{"Asia/Kolkata", 1700000000, {2023, 11, 15, 3, 43, 20, 3, 19800}},
	{"Australia/Lord_Howe", 3155720400, {2070, 1, 1, 0, 0, 0, 3, 39600}},
	{"Australia/Lord_Howe", 3171360600, {2070, 7, 1, 0, 0, 0, 2, 37800}},
	{"Pacific/Apia", 1325239199, {2011, 12, 29, 23, 59, 59, 4, -36000}},
	{"Pacific/Apia", 1325239200, {2011, 12, 31, 0, 0, 0, 6, 50400}},
	{"America/Nuuk", 2540250000, {2050, 7, 1, 0, 0, 0, 5, -3600}},
	{"Pacific/Kiritimati", 1700000000, {2023, 11, 15, 12, 13, 20, 3, 50400}},
	{"Asia/Shanghai", -2500000000, {1890, 10, 12, 3, 39, 3, 0, 29143}},
	{"America/Sao_Paulo", 1541300400, {2018, 11, 4, 1, 0, 0, 0, -7200}},
	{"Africa/Casablanca", 1742000000, {2025, 3, 15, 0, 53, 20, 6, 0}},
};

static const struct {
	const char *name, *zone;
	int64_t unix_s;
	int second;
	int64_t want;
} nexts[] = {
	{"later today", "UTC", 1000, AT(22, 0), 79200},
	{"strictly after", "UTC", 79200, AT(22, 0), 79200 + 86400},
	{"one second before", "UTC", 79199, AT(22, 0), 79200},
	{"before 1970", "UTC", -1, 0, 0},
	{"midnight", "UTC", 0, 0, 86400},
	{"the same day there", "Asia/Shanghai", 1700000000, AT(22, 0), 1700056800},
	{"the day before a gap", "Europe/Berlin", 1711796400, AT(2, 30), 1711846800},
	{"just before a gap", "Europe/Berlin", 1711846799, AT(2, 30), 1711846800},
	{"at the end of a gap", "Europe/Berlin", 1711846800, AT(2, 30), 1711931400},
	{"first of two", "Europe/Berlin", 1729983600, AT(2, 30), 1729989000},
	{"the second is not taken", "Europe/Berlin", 1729989000, AT(2, 30), 1730079000},
	{"between the two", "Europe/Berlin", 1729990800, AT(2, 30), 1730079000},
	{"a day that never was", "Pacific/Apia", 1325235600, AT(22, 0), 1325318400},
	{"the day before it", "Pacific/Apia", 1325231999, AT(22, 0), 1325232000},
	{"a gap at midnight", "America/Sao_Paulo", 1541257200, 0, 1541300400},
	{"after a gap at midnight", "America/Sao_Paulo", 1541300400, 0, 1541383200},
	{"a gap by the rule", "America/New_York", 2530717200, AT(2, 15), 2530767600},
	{"after it", "America/New_York", 2530767600, AT(2, 15), 2530851300},
};

static const struct {
	const char *rule;
	int64_t unix_s;
	int32_t want; /* offset, NO: the rule is refused */
} rules[] = {
#define NO INT32_MAX
	{"CST-8", 0, 28800},
	{"<+0330>-3:30", 0, 12600},
	{"<-03>3", 0, -10800},
	{"CET-1CEST,M3.5.0,M10.5.0/3", 1711846799, 3600},
	{"CET-1CEST,M3.5.0,M10.5.0/3", 1711846800, 7200},
	{"IST-1GMT0,M10.5.0,M3.5.0/1", 2855862000, 3600},
	{"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", 2540250000, -3600},
	{"XXX3EDT4,0/0,J365/23", 1700000000, -14400},
	/* 2024-01-01T03:00Z: both changes at once */
	{"XXX3EDT4,0/0,J365/23", 1704078000, -14400},
	{"AAA0BBB,J60/0,J61/0", 1709251200, 3600}, /* 2024-03-01 */
	{"AAA0BBB,J60/0,J61/0", 1709164800, 0}, /* 2024-02-29 is no Julian day */
	{"AAA0BBB,59/0,60/0", 1709164800, 3600},
	{"", 0, NO}, {"AB0", 0, NO}, {"ABC", 0, NO}, {"ABC25", 0, NO}, {"ABC1x", 0, NO},
	{"<AB>1", 0, NO}, {"<ABC1", 0, NO}, {"ABC1DEF", 0, NO}, {"ABC1DEF,M3.5.0", 0, NO},
	{"ABC1DEF,M13.5.0,M1.1.1", 0, NO}, {"ABC1DEF,M0.5.0,M1.1.1", 0, NO},
	{"ABC1DEF,M3.6.0,M1.1.1", 0, NO}, {"ABC1DEF,M3.5.7,M1.1.1", 0, NO},
	{"ABC1DEF,J0,J1", 0, NO}, {"ABC1DEF,J366,J1", 0, NO}, {"ABC1DEF,366,1", 0, NO},
	{"ABC1DEF,1/168,1", 0, NO}, {"ABC1DEF,1/1:60,1", 0, NO}, {"ABC1DEF,1,1,", 0, NO},
	{"ABC1:", 0, NO}, {"ABC--1", 0, NO}, {"ABC9999999999", 0, NO},
};

static const struct {
	const char *name;
	bool is_name;
} names[] = {
	{"UTC", true}, {"Europe/Berlin", true}, {"Etc/GMT+8", true},
	{"", false}, {"/etc/passwd", false}, {"../../../etc/passwd", false},
	{"Europe/../UTC", false}, {"Europe//Berlin", false}, {"Europe/", false},
	{".", false}, {"Europe/Berlin\n", false}, {"-x", false}, {"Europe/.x", false},
	{"a b", false}, {"a\\b", false}, {"Europe/-x", false},
	{"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", false},
};
/* clang-format on */

static bool has_files(void)
{
	return access(NEAP_ZONE_FOLDER "/Europe/Berlin", R_OK) == 0;
}

static void need_files(void)
{
	if (!has_files()) {
		print_message("# skipped: no zone files, package tzdata\n");
		skip();
	}
}

static struct neap_zone *load(const char *name)
{
	struct neap_zone *zone = NULL;
	struct neap_error err;

	if (neap_zone_load(name, &zone, &err) < 0)
		fail_msg("%s: %s", name, err.msg);
	return zone;
}

static void test_clocks(void **state)
{
	(void)state;
	need_files();
	for (size_t i = 0; i < NEAP_ARRAY_LEN(clocks); i++) {
		const struct neap_zone_clock *want = &clocks[i].want;
		struct neap_zone *zone = load(clocks[i].zone);
		struct neap_zone_clock got;

		neap_zone_read_clock(zone, clocks[i].unix_s, &got);
		if (got.year != want->year || got.month != want->month ||
		    got.day != want->day || got.hour != want->hour ||
		    got.minute != want->minute || got.second != want->second ||
		    got.weekday != want->weekday || got.offset_s != want->offset_s)
			fail_msg("%s %lld: %d-%02d-%02d %02d:%02d:%02d, weekday %d, %d",
				 clocks[i].zone, (long long)clocks[i].unix_s,
				 (int)got.year, got.month, got.day, got.hour, got.minute,
				 got.second, got.weekday, got.offset_s);
		neap_zone_free(zone);
	}
}

static void test_next(void **state)
{
	(void)state;
	need_files();
	for (size_t i = 0; i < NEAP_ARRAY_LEN(nexts); i++) {
		struct neap_zone *zone = load(nexts[i].zone);
		int64_t got = neap_zone_next(zone, nexts[i].unix_s, nexts[i].second);

		if (got != nexts[i].want)
			fail_msg("%s: %lld, wanted %lld", nexts[i].name, (long long)got,
				 (long long)nexts[i].want);
		neap_zone_free(zone);
	}
}

/* --- files made here --- */

struct file {
	uint8_t data[4096];
	size_t len;
};

static void add(struct file *f, uint64_t value, int bytes)
{
	while (bytes-- > 0)
		f->data[f->len++] = (uint8_t)(value >> (8 * bytes));
}

static void add_header(struct file *f, int version, uint32_t times, uint32_t types,
		       uint32_t leaps)
{
	memcpy(f->data + f->len, "TZif", 4);
	f->len += 4;
	add(f, (uint64_t)version, 1);
	f->len += 15;
	add(f, 0, 8);
	add(f, leaps, 4);
	add(f, times, 4);
	add(f, types, 4);
	add(f, 0, 4);
}

/* Version 2: an empty first block, no transitions, one type, the rule. */
static void make_ruled(struct file *f, const char *rule)
{
	memset(f, 0, sizeof(*f));
	add_header(f, '2', 0, 0, 0);
	add_header(f, '2', 0, 1, 0);
	add(f, 0, 6);
	f->len += (size_t)snprintf((char *)f->data + f->len, 200, "\n%s\n", rule);
}

static void test_rules(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rules); i++) {
		struct neap_zone_rule rule;
		struct neap_zone *zone = NULL;
		struct neap_error err;
		struct file f;
		int rc;

		if (neap_zone_rule_parse(rules[i].rule, strlen(rules[i].rule), &rule) !=
		    (rules[i].want != NO))
			fail_msg("'%s': was it taken?", rules[i].rule);
		make_ruled(&f, rules[i].rule);
		rc = neap_zone_parse(f.data, f.len, &zone, &err);
		if (rc < 0 && rules[i].want != NO)
			fail_msg("'%s': %s", rules[i].rule, err.msg);
		if (rc == 0 && rules[i].want != NO &&
		    neap_zone_offset(zone, rules[i].unix_s) != rules[i].want)
			fail_msg("'%s' at %lld: %d", rules[i].rule,
				 (long long)rules[i].unix_s,
				 neap_zone_offset(zone, rules[i].unix_s));
		neap_zone_free(zone);
	}
}

static int parse(const struct file *f, size_t len, const char **ret_what)
{
	static struct neap_error err;
	struct neap_zone *zone = NULL;
	/* A block of just that length, so that a sanitizer sees a read behind it. */
	uint8_t *exact = neap_alloc(len);
	int rc;

	assert_non_null(exact);
	memcpy(exact, f->data, len);
	rc = neap_zone_parse(exact, len, &zone, &err);
	free(exact);
	neap_zone_free(zone);
	*ret_what = rc < 0 ? err.msg : "";
	return rc;
}

static void want_bad(const struct file *f, const char *want)
{
	const char *what;

	if (parse(f, f->len, &what) >= 0 || !strstr(what, want))
		fail_msg("wanted '%s', got '%s'", want, what);
}

static void test_bad_files(void **state)
{
	struct file f = {.len = 0};
	const char *what;

	(void)state;
	want_bad(&f, "its header is wrong");
	add_header(&f, 0, 0, 1, 0);
	want_bad(&f, "too short");
	add(&f, 0, 6);
	assert_int_equal(parse(&f, f.len, &what), 0);
	f.data[0] = 'X';
	want_bad(&f, "its header is wrong");

	memset(&f, 0, sizeof(f));
	add_header(&f, 0, 0, 0, 0);
	want_bad(&f, "no types");

	memset(&f, 0, sizeof(f));
	add_header(&f, 0, 0xffffffff, 0xffffffff, 0);
	want_bad(&f, "its header is wrong");

	memset(&f, 0, sizeof(f));
	add_header(&f, 0, 0, 1, 1);
	add(&f, 0, 6);
	add(&f, 0, 8);
	want_bad(&f, "leap seconds");

	memset(&f, 0, sizeof(f));
	add_header(&f, 0, 1, 1, 0);
	add(&f, 5, 4);
	add(&f, 1, 1);
	add(&f, 0, 6);
	want_bad(&f, "a transition to nowhere");

	memset(&f, 0, sizeof(f));
	add_header(&f, 0, 2, 1, 0);
	add(&f, 5, 4);
	add(&f, 5, 4);
	add(&f, 0, 2);
	add(&f, 0, 6);
	want_bad(&f, "transitions in no order");

	memset(&f, 0, sizeof(f));
	add_header(&f, 0, 0, 1, 0);
	add(&f, 26 * HOUR, 4);
	add(&f, 0, 2);
	want_bad(&f, "an offset of more than a day");

	make_ruled(&f, "nonsense");
	want_bad(&f, "its rule is wrong");
	make_ruled(&f, "");
	assert_int_equal(parse(&f, f.len, &what), 0);
	for (size_t len = 0; len < f.len; len++)
		assert_true(parse(&f, len, &what) < 0);
}

/* Offsets that jump a day to and fro every hour: whatever comes out, it comes out. */
static void test_wild_file(void **state)
{
	struct file f = {.len = 0};
	struct neap_zone *zone = NULL;
	struct neap_error err;

	(void)state;
	add_header(&f, 0, 200, 2, 0);
	for (int i = 0; i < 200; i++)
		add(&f, (uint64_t)i * HOUR, 4);
	for (int i = 0; i < 200; i++)
		add(&f, i & 1, 1);
	add(&f, 25 * HOUR, 4);
	add(&f, 0, 2);
	add(&f, (uint32_t)(-25 * HOUR), 4);
	add(&f, 0, 2);
	assert_int_equal(neap_zone_parse(f.data, f.len, &zone, &err), 0);
	for (int64_t now = -3 * 86400; now < 12 * 86400; now += 1777)
		assert_true(neap_zone_next(zone, now, (int)(now & 0x7fff)) > now);
	neap_zone_free(zone);
}

/* Every byte of a real file changed in turn: it is refused or gives some zone. */
static void test_mutations(void **state)
{
	static uint8_t data[NEAP_ZONE_BYTES];
	FILE *file;
	size_t len;

	(void)state;
	need_files();
	file = fopen(NEAP_ZONE_FOLDER "/Europe/Berlin", "r");
	assert_non_null(file);
	len = fread(data, 1, sizeof(data), file);
	fclose(file);
	for (size_t i = 0; i < len; i++) {
		static const uint8_t masks[] = {0xff, 0x80, 0x01};

		for (size_t k = 0; k < NEAP_ARRAY_LEN(masks); k++) {
			struct neap_zone *zone = NULL;
			struct neap_error err;

			data[i] ^= masks[k];
			if (neap_zone_parse(data, len, &zone, &err) == 0) {
				struct neap_zone_clock clock;

				neap_zone_read_clock(zone, 1700000000, &clock);
				assert_true(neap_zone_next(zone, 1700000000, 3600) >
					    1700000000);
			}
			neap_zone_free(zone);
			data[i] ^= masks[k];
		}
	}
}

static void test_names(void **state)
{
	struct neap_zone *zone = NULL;
	struct neap_error err;

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(names); i++) {
		int rc = neap_zone_load(names[i].name, &zone, &err);

		if (names[i].is_name ? rc != 0 && rc != -NEAP_ENOTFOUND
				     : rc != -NEAP_EINVAL)
			fail_msg("'%s': %d %s", names[i].name, rc, rc ? err.msg : "");
		if (rc == 0)
			neap_zone_free(zone);
	}
	assert_int_equal(neap_zone_load("Nowhere", &zone, &err), -NEAP_ENOTFOUND);
	assert_non_null(strstr(err.msg, "there is no time zone 'Nowhere'"));
	assert_true(neap_zone_load("Europe", &zone, &err) < 0);
}

/* --- as a script sees it --- */

/* clang-format off */
static const struct {
	const char *name, *body;
	int64_t now_unix;
	bool has_files;
} scripts[] = {
	{"utc", "local t = ctx.time.now('UTC') assert(t.year == 2023 and t.month == 11 and t.day == 14 and t.hour == 22 and t.minute == 13 and t.second == 20 and t.weekday == 2 and t.offset_s == 0)", 1700000000, false},
	{"zone", "assert(ctx.time.now('Asia/Shanghai').hour == 6 and ctx.time.next('22:00', 'Asia/Shanghai') == 1700056800)", 1700000000, true},
	{"next", "assert(ctx.time.next('22:13:20', 'UTC') == 1700086400 and ctx.time.next('22:13:21', 'UTC') == 1700000001 and ctx.time.next('6:00', 'UTC') == 1700028000)", 1700000000, false},
	{"between", "local b = ctx.time.is_between assert(b('22:00', '06:00', 'UTC') and not b('06:00', '22:00', 'UTC') and b('22:13:20', '22:13:21', 'UTC') and not b('22:13:21', '22:13:20', 'UTC'))", 1700000000, false},
	{"end of day", "local b = ctx.time.is_between assert(b('00:00', '24:00', 'UTC') and b('22:00', '24:00', 'UTC') and not b('00:00', '00:00', 'UTC') and not b('22:00', '22:00', 'UTC'))", 1700000000, false},
	{"ends are open", "assert(ctx.time.is_between('00:00', '00:01', 'UTC') and not ctx.time.is_between('23:00', '00:00', 'UTC'))", 86400, false},
	{"bad times", "for _, s in ipairs({ '', '24:00', '22', '22:0', '22:60', '22:00:60', '122:00', ':00', '22:00:', ' 22:00', '-1:00', '22:00x', ('9'):rep(99) }) do local t, m = ctx.time.next(s, 'UTC') assert(t == nil and m:find('no time of day'), s) end", 0, false},
	{"bad ends", "for _, s in ipairs({ '24:01', '24:00:01', '25:00', '' }) do for _, ends in ipairs({ { '00:00', s }, { s, '00:00' } }) do local ok, m = pcall(ctx.time.is_between, ends[1], ends[2], 'UTC') assert(not ok and m:find('no time of day'), s) end end assert(not pcall(ctx.time.is_between, '24:00', '24:00', 'UTC'))", 0, false},
	{"bad zones", "for _, z in ipairs({ '', '../etc/passwd', 'No/Where', '/etc/passwd' }) do local t, m = ctx.time.now(z) assert(t == nil and m:find('time zone'), z) end", 0, false},
	{"types", "assert(not pcall(ctx.time.now) and not pcall(ctx.time.next, {}, 'UTC') and not pcall(ctx.time.is_between, '1:00', '2:00'))", 0, false},
	{"no time", "local t, m = ctx.time.now('UTC') assert(t == nil and m:find('now_unix'))", INT64_MIN, false},
	{"late", "assert(ctx.time.now('UTC') == nil and ctx.time.next('1:00', 'UTC') == nil)", INT64_MAX, false},
	{"many zones", "for i = 1, 3 do for _, z in ipairs({ 'Asia/Tokyo', 'Asia/Seoul', 'Asia/Dubai', 'Asia/Kolkata', 'Asia/Dhaka', 'Europe/Paris', 'Europe/Rome', 'Europe/Oslo', 'Africa/Cairo', 'America/Lima' }) do assert(ctx.time.now(z).year == 2023) end end", 1700000000, true},
	{"read-only", "assert(not pcall(function() ctx.time.now = 5 end))", 0, false},
};
/* clang-format on */

static void test_scripts(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(scripts); i++) {
		struct neap_sample sample = {.now_unix = scripts[i].now_unix};
		struct neap_policy *policy = NULL;
		struct neap_policy_wish *wishes;
		struct neap_error err;
		char text[1000];
		size_t count;

		if (scripts[i].has_files && !has_files())
			continue;
		snprintf(text, sizeof(text),
			 "return { api = 1, kind = 'qos', name = 'x', tick = "
			 "function(ctx)\n%s return {} end }",
			 scripts[i].body);
		if (neap_policy_load(text, strlen(text), "p.lua", &policy, &err) < 0 ||
		    neap_policy_tick(policy, &sample, &wishes, &count, &err) !=
			    NEAP_TICK_WISHES)
			fail_msg("%s: %s", scripts[i].name, err.msg);
		free(wishes);
		neap_policy_free(policy);
	}
}

static void test_torture(void **state)
{
	int rc = -1;

	(void)state;
	need_files();
	for (uint64_t n = 1; rc < 0; n++) {
		struct neap_zone *zone = NULL;
		struct neap_error err;

		neap_mem_fail_at(n);
		rc = neap_zone_load("Europe/Berlin", &zone, &err);
		neap_mem_fail_at(0);
		if (rc < 0)
			assert_int_equal(rc, -NEAP_ENOMEM);
		else
			neap_zone_free(zone);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clocks),    cmocka_unit_test(test_next),
		cmocka_unit_test(test_rules),     cmocka_unit_test(test_bad_files),
		cmocka_unit_test(test_wild_file), cmocka_unit_test(test_mutations),
		cmocka_unit_test(test_names),     cmocka_unit_test(test_scripts),
		cmocka_unit_test(test_torture),
	};

	return cmocka_run_group_tests_name("zone", tests, NULL, NULL);
}
