/* SPDX-License-Identifier: Apache-2.0
 *
 * How values are shown and what is wrong with them is said; formats of strings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/schema/schema_priv.h"
#include "t/lib/schema_rig.h"

static const char *const pull_values[] = {"Always", "Never", "IfNotPresent", NULL};

/* --- causes --- */

static void test_show(void **state)
{
	static const struct {
		const char *json, *want;
	} rows[] = {
		{"'a'", "\"a\""},
		{"'a\\\\\\'b\\n\\u0001'", "\"a\\\\\\\"b\\n\\x01\""},
		{"'\303\244'", "\"\303\244\""},
		{"1", "1"},
		{"-1.5", "-1.5"},
		{"2.0", "2"},
		{"1e21", "1e+21"},
		{"0.1", "0.1"},
		{"true", "true"},
		{"null", "null"},
		{"[1, {'a': null}]", "[1,{\"a\":null}]"},
		{"{}", "{}"},
	};
	char buf[64], small[16];
	json_t *json;
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		json = rig_json(rows[i].json);
		assert_string_equal(schema_show(json, buf, sizeof(buf)), rows[i].want);
		json_decref(json);
	}
	json = rig_json("'\303\244\303\244\303\244\303\244\303\244\303\244\303\244'");
	assert_string_equal(schema_show(json, small, sizeof(small)),
			    "\"\303\244\303\244\303\244\303\244\303\244...");
	json_decref(json);
	json = rig_json("['0123456789', '0123456789']");
	assert_string_equal(schema_show(json, small, sizeof(small)), "[\"0123456789...");
	json_decref(json);
	assert_string_equal(schema_show(NULL, buf, sizeof(buf)), "null");
}

static void test_causes(void **state)
{
	static const char *const want =
		"a|FieldValueInvalid|Invalid value: \"x\": must be 5\n"
		"b|FieldValueRequired|Required value\n"
		"b|FieldValueRequired|Required value: or c\n"
		"c|FieldValueForbidden|Forbidden: not here\n"
		"[0]|FieldValueNotSupported|Unsupported value: \"x\": supported values: "
		"\"Always\", \"Never\", \"IfNotPresent\"\n"
		"|FieldValueDuplicate|Duplicate value: \"x\"";
	struct neap_causes *causes = neap_alloc(sizeof(*causes));
	json_t *x = json_string("x");
	char *text, name[400];
	size_t i;

	(void)state;
	assert_non_null(causes);
	neap_causes_invalid(causes, "a", x, "must be %d", 5);
	neap_causes_required(causes, "b", "");
	neap_causes_required(causes, "b", "or c");
	neap_causes_forbidden(causes, "c", "not %s", "here");
	neap_causes_unsupported(causes, "[0]", x, pull_values);
	neap_causes_duplicate(causes, "", x);
	text = rig_causes(causes);
	assert_string_equal(text, want);
	free(text);
	neap_causes_infield(causes, 3, "spec.list%d", 7);
	assert_string_equal(causes->list[2].field, "b");
	assert_string_equal(causes->list[3].field, "spec.list7.c");
	assert_string_equal(causes->list[4].field, "spec.list7[0]");
	assert_string_equal(causes->list[5].field, "spec.list7");
	/* The rest is counted. */
	for (i = causes->count; i < NEAP_SCHEMA_CAUSES_MAX + 3; i++)
		neap_causes_add(causes, "X", "y", "z");
	assert_int_equal(causes->count, NEAP_SCHEMA_CAUSES_MAX);
	assert_int_equal(causes->more, 3);
	/* What is too long is cut between characters. */
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	memcpy(name + 254, "\303\244", 2);
	causes->count = 1;
	neap_causes_add(causes, "X", name, "%s%s", name, name);
	assert_int_equal(strlen(causes->list[1].field), 254);
	assert_int_equal(strlen(causes->list[1].message), 511);
	json_decref(x);
	free(causes);
}

/* --- formats --- */

static void test_formats(void **state)
{
	static const struct {
		enum neap_schema_format format;
		const char *fine[12], *bad[14];
	} rows[] = {
		{NEAP_FORMAT_TIME,
		 {"2026-01-02T03:04:05Z", "2026-01-02T03:04:05.5+01:00"},
		 {"", "2026-01-02", "2026-01-02t03:04:05Z", "2026-01-02T03:04:05z",
		  "2026-02-30T03:04:05Z", "2026-01-02T03:04:05"}},
		{NEAP_FORMAT_MICRO_TIME,
		 {"2026-01-02T03:04:05.000006Z", "2026-01-02T03:04:05.123456+01:00"},
		 {"2026-01-02T03:04:05Z", "2026-01-02T03:04:05.5Z",
		  "2026-01-02T03:04:05.1234567Z"}},
		{NEAP_FORMAT_DURATION,
		 {"1h30m", "-1.5h", "300ms", "0", "+5s", "1us", "1\302\265s", ".5s",
		  "1h1m1s1ms1us1ns", "2562047h"},
		 {"", "5", "-", "h", "1d", "1h 1m", ".s", "1.2.3s", "0x5s", "infs",
		  "2562048h", "1e3s", "+-1s"}},
		{NEAP_FORMAT_BYTES,
		 {"", "YQ==", "YWI=", "YWJj", "+/+/", "YW\nJj"},
		 {"Y", "YQ=", "YQ", "YQ==YQ==", "Y=Q=", "YW-j", "====", "YWJj="}},
		{NEAP_FORMAT_DATE,
		 {"2026-01-31"},
		 {"2026-02-30", "2026-1-1", "2026-01-31T00:00:00Z"}},
		{NEAP_FORMAT_IPV4, {"10.0.0.1"}, {"10.0.0", "256.0.0.1", "::1", ""}},
		{NEAP_FORMAT_IPV6, {"::1", "fe80::1"}, {"10.0.0.1", ":::1", ""}},
		{NEAP_FORMAT_CIDR,
		 {"10.0.0.0/8", "fe80::/64", "0.0.0.0/0"},
		 {"10.0.0.0", "10.0.0.0/33", "fe80::/129", "/8", "10.0.0.0/",
		  "10.0.0.0/8x"}},
		{NEAP_FORMAT_UUID,
		 {"01234567-89ab-cdef-0123-456789ABCDEF",
		  "0123456789abcdef0123456789abcdef"},
		 {"", "01234567-89ab-cdef-0123-456789abcde",
		  "0123456-789ab-cdef-0123-456789abcdef",
		  "01234567--89ab-cdef-0123-456789abcdef",
		  "g1234567-89ab-cdef-0123-456789abcdef"}},
		{NEAP_FORMAT_MAC,
		 {"00:11:22:33:44:aF", "00-11-22-33-44-55", "00:11:22:33:44:55:66:77",
		  "0011.2233.4455"},
		 {"", "00:11:22:33:44", "00:11-22:33:44:55", "0g:11:22:33:44:55",
		  "0011.2233:4455"}},
		{NEAP_FORMAT_HOSTNAME,
		 {"a", "node-1.example.com", "A9", "a-bc", "a.bc", "\303\274.de"},
		 {"", "-a", "a-", "a..b", ".a", "a.", "a_b", "a-.bc", "my-host", "a.b",
		  "1.2.3.4", "a.b1", "*.ab"}},
		{NEAP_FORMAT_ANY_DURATION,
		 {"1h30m", "-1.5h", "1d", "5 days", "3 weeks", "5 m", "P1D",
		  "10 minutes"},
		 {"", "5", "d", "5 years", "1.x"}},
		{NEAP_FORMAT_EMAIL,
		 {"a@b", "a.b+c@example.com", "A Name <a@b.cd>", "\"x y\"@b.cd",
		  "\"A, B\" <a@b>", "<a@b>"},
		 {"", "a", "@b", "a@", "a@b@c", "a b@c", ".a@b", "a..b@c", "A <a@b",
		  "a@b>", "\"a@b"}},
		{NEAP_FORMAT_URI,
		 {"https://example.com/a?b=c d", "mailto:a", "/a/b", "http:a", "http://",
		  "ftp://u:p@h:21/x", "http://[::1]:80/", "/a%41", "*", "a+b.c:x"},
		 {"", "a", "a b", "http://[::1", "http://a:b/", ":a", "/a%4",
		  "http://a b/", "1a:b", "#x", "/a\n"}},
		{NEAP_FORMAT_UUID3,
		 {"01234567-89ab-3def-0123-456789abcdef"},
		 {"01234567-89ab-4def-0123-456789abcdef", ""}},
		{NEAP_FORMAT_UUID4,
		 {"01234567-89ab-4def-8123-456789abcdef"},
		 {"01234567-89ab-4def-0123-456789abcdef",
		  "01234567-89ab-1def-8123-456789abcdef"}},
		{NEAP_FORMAT_UUID5,
		 {"0123456789AB5DEFB123456789ABCDEF"},
		 {"01234567-89ab-5def-c123-456789abcdef"}},
		{NEAP_FORMAT_HEX_COLOR,
		 {"#fff", "FFFFFF", "#0a0B0c"},
		 {"", "#ffff", "#ggg", "#", "##fff"}},
		{NEAP_FORMAT_RGB_COLOR,
		 {"rgb(1,2,255)", "rgb( 0 , 2 ,3 )"},
		 {"", "rgb(1,2,256)", "rgb(1,2)", "rgb(01,2,3)", "rgba(1,2,3)",
		  "rgb(1,2,3", "rgb(1,2,3) "}},
		{NEAP_FORMAT_BSON_ID,
		 {"507f1f77bcf86cd799439011"},
		 {"", "507f1f77bcf86cd79943901", "g07f1f77bcf86cd799439011"}},
		{NEAP_FORMAT_SSN,
		 {"111-22-3333", "111 22 3333"},
		 {"", "111223333", "111-2-33334", "111--22-333", "111-22-33333"}},
		{NEAP_FORMAT_NONE, {"", "anything"}, {NULL}},
		{NEAP_FORMAT_INT32, {"anything"}, {NULL}},
	};
	size_t i, j;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		for (j = 0; j < 12 && rows[i].fine[j] != NULL; j++)
			if (!schema_format_fits(rows[i].format, rows[i].fine[j],
						strlen(rows[i].fine[j])))
				fail_msg("%d: '%s' is fine", rows[i].format,
					 rows[i].fine[j]);
		for (j = 0; j < 14 && rows[i].bad[j] != NULL; j++)
			if (schema_format_fits(rows[i].format, rows[i].bad[j],
					       strlen(rows[i].bad[j])))
				fail_msg("%d: '%s' is not fine", rows[i].format,
					 rows[i].bad[j]);
	}
	/* What lies behind a NUL counts. */
	assert_false(schema_format_fits(NEAP_FORMAT_DURATION, "5s\0x", 4));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_show),
		cmocka_unit_test(test_causes),
		cmocka_unit_test(test_formats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
