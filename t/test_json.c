/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON from text and to text, with and without memory; UTF-8. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/utf8.h"
#include "engine/json/json.h"
#include "engine/json/json_fast.h"

static const char text[] =
	"{\"a rather long name of a member, so that its token has to grow more than once\":"
	"[1,2.5,true,null,\"and a text of some length, which grows as well, at least twice\"],"
	"\"b\":{\"c\":\"\xc3\xa4\",\"d\":[]}}";

static void test_parse(void **state)
{
	static const struct {
		const char *text;
		size_t flags;
		int code;
	} rows[] = {
		{text, 0, 0},
		{"[]", 0, 0},
		{"", 0, NEAP_EINVAL},
		{"{", 0, NEAP_EINVAL},
		{"5", 0, NEAP_EINVAL},
		{"5", JSON_DECODE_ANY, 0},
		{"{\"a\":1,\"a\":2}", JSON_REJECT_DUPLICATES, NEAP_EINVAL},
		{"[\"\xff\"]", 0, NEAP_EINVAL},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		json_t *json = NULL;
		json_error_t where = {.line = -5};
		int rc = neap_json_parse(rows[i].text, strlen(rows[i].text),
					 rows[i].flags, &json, &where);

		if (rc != -rows[i].code || (rc == 0) != (json != NULL))
			fail_msg("%s: %d", rows[i].text, rc);
		if (rc < 0 && where.text[0] == '\0')
			fail_msg("%s: no word why", rows[i].text);
		json_decref(json);
	}
}

static void test_note(void **state)
{
	static const struct {
		const char *text, *want; /* NULL: an error */
	} rows[] = {
		{"{\"a\":1}", "{\"a\":1}"},
		{"[]", "[]"},
		{"null", "{}"},
		{" null\n", "{}"},
		{"nullx", NULL},
		{"null null", NULL},
		{"5", NULL},
		{"\"null\"", NULL},
		{"", NULL},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		json_t *json = NULL;
		json_error_t where;
		int rc = neap_json_parse_note(rows[i].text, &json, &where);
		char *got = rc == 0 ? json_dumps(json, JSON_COMPACT) : NULL;

		if (rc != (rows[i].want ? 0 : -NEAP_EINVAL) ||
		    (got && strcmp(got, rows[i].want) != 0))
			fail_msg("%s: %d %s", rows[i].text, rc, got ? got : "");
		free(got);
		json_decref(json);
	}
}

/* What is read and written without jansson is what jansson reads and writes. */
static void as_jansson(const char *from, size_t len, size_t flags)
{
	json_error_t where;
	json_t *fast = neap_json_parse_fast(from, len, flags);
	json_t *wanted = json_loadb(from, len, flags, &where);
	char *text_wanted = wanted ? json_dumps(wanted, JSON_COMPACT) : NULL;
	neap_auto_buf struct neap_buf out = {0};

	neap_buf_init(&out, NEAP_BUF_REPLY);
	if (fast && (!wanted || !json_equal(fast, wanted)))
		fail_msg("read otherwise: %.*s", (int)len, from);
	if (wanted && neap_json_dump_fast(wanted, JSON_COMPACT, &out) &&
	    (!text_wanted || strcmp(out.data, text_wanted) != 0))
		fail_msg("written otherwise: %.*s: %s", (int)len, from, out.data);
	/* The order of members, too. */
	neap_buf_clear(&out);
	if (fast && neap_json_dump_fast(fast, JSON_COMPACT, &out))
		assert_string_equal(out.data, text_wanted);
	free(text_wanted);
	json_decref(fast);
	json_decref(wanted);
}

static const char *const odd[] = {
	"{\"b\":1,\"a\":{\"z\":[],\"y\":{}}}",
	" [ 1 , -2 ,\t0,-0, 123456789012345678,-999999999999999999 ]\n",
	"[1234567890123456789]",
	"[99999999999999999999]",
	"[01]",
	"[-]",
	"[1.5,1e3,2E-7]",
	"[true,false,null]",
	"[truefalse]",
	"[nul]",
	"[true",
	"[\"a\\\"\\\\\\/\\b\\f\\n\\r\\tz\"]",
	"[\"\\u0041\\u00e4\\u20AC\\u0001\"]",
	"[\"\\u0000\"]",
	"[\"\\ud83d\\ude00\"]",
	"[\"\\ud83d\"]",
	"[\"\\u12g4\"]",
	"[\"\\x\"]",
	"[\"\\",
	"[\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"]",
	"[\"\xc0\x80\"]",
	"[\"\xed\xa0\x80\"]",
	"[\"\\n\xff\"]",
	"[\"a\nb\"]",
	"[\"\x7f\"]",
	"{\"a\":1,\"a\":2,\"b\":3}",
	"{\"\":1}",
	"{\"a\\n\":1}",
	"{\"\xc3\xa4\":1}",
	"{\"\xff\":1}",
	"{\"a\":1,}",
	"{\"a\"1}",
	"{,}",
	"[1,]",
	"[1 2]",
	"[]]",
	"[] x",
	"{\"a\":[{\"b\":[[[{}]]]}]}",
	"",
	" ",
	"\"a\"",
	" \"a\\\"\\u00e4\" ",
	"\"a\" x",
	"\"a",
	"5",
};

static void test_fast(void **state)
{
	char deep[2000];
	uint32_t seed = 7;
	json_t *alone;

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(odd); i++) {
		size_t len = strlen(odd[i]);
		char changed[256];

		as_jansson(odd[i], len, 0);
		as_jansson(odd[i], len, JSON_REJECT_DUPLICATES);
		as_jansson(odd[i], len, JSON_DECODE_ANY);
		/* Cut at every place, and with every sort of character at a place. */
		for (size_t cut = 0; cut < len; cut++)
			as_jansson(odd[i], cut, 0);
		for (int round = 0; len > 0 && round < 500; round++) {
			static const char some[] = "\"\\{}[],:01-.eutn \n\x01\xc3\xa4";

			memcpy(changed, odd[i], len);
			for (int k = 0; k < 2; k++) {
				seed = seed * 1664525 + 1013904223;
				changed[(seed >> 8) % len] =
					some[(seed >> 20) % (sizeof(some) - 1)];
			}
			as_jansson(changed, len, 0);
			as_jansson(changed, len, JSON_DECODE_ANY);
		}
	}
	/* Too deep for both, and for one. */
	for (size_t depth = 200; depth < sizeof(deep) / 2; depth += 100) {
		memset(deep, '[', depth);
		memset(deep + depth, ']', depth);
		as_jansson(deep, depth * 2, 0);
	}
	/* The ones that come all day are read and written so. */
	as_jansson(text, strlen(text), 0);
	assert_null(neap_json_parse_fast(text, strlen(text), 0)); /* 2.5 */
	for (size_t i = 0; i < 2; i++) {
		json_t *json = neap_json_parse_fast(odd[i], strlen(odd[i]), 0);

		assert_non_null(json);
		json_decref(json);
	}
	/* So are texts, where they may stand alone. */
	assert_null(neap_json_parse_fast("\"a\"", 3, 0));
	alone = neap_json_parse_fast("\"a\"", 3, JSON_DECODE_ANY);
	assert_string_equal(json_string_value(alone), "a");
	json_decref(alone);
}

/* Fails the n-th allocation, or that one and all after it: `many`. */
static bool lacks(uint64_t n, bool many, int *ret_rc, char **ret_text)
{
	uint64_t before = neap_mem_failures();
	json_t *json = NULL;
	json_error_t where;
	int step;

	neap_mem_fail_at(n);
	*ret_rc = neap_json_parse(text, strlen(text), 0, &json, &where);
	/* One that fails again whenever the parser goes on. */
	for (step = 0; many && step < 3 && *ret_rc == -NEAP_ENOMEM; step++) {
		neap_mem_fail_at(n + (uint64_t)step);
		*ret_rc = neap_json_parse(text, strlen(text), 0, &json, &where);
	}
	*ret_text = json != NULL ? neap_json_dump(json, JSON_COMPACT) : NULL;
	neap_mem_fail_at(0);
	json_decref(json);
	return neap_mem_failures() > before;
}

/* Never half a tree, never half a text, never the end of the process. */
static void test_no_memory(void **state)
{
	uint64_t n;

	(void)state;
	neap_json_setup();
	for (int many = 0; many < 2; many++) {
		bool is_through = false;

		for (n = 1; !is_through; n++) {
			char *again = NULL;
			int rc;

			assert_true(n < 200);
			is_through = !lacks(n, many, &rc, &again);
			assert_true(rc == 0 || rc == -NEAP_ENOMEM);
			if (is_through)
				assert_non_null(again);
			if (again)
				assert_string_equal(again, text);
			free(again);
		}
		assert_true(n > 20);
	}
}

/* What a report leaves out can be told. */
static void test_failures(void **state)
{
	json_t *object;
	uint64_t before;

	(void)state;
	neap_json_setup();
	object = json_object();
	before = neap_json_failures();
	neap_json_set_text(object, "a", "b");
	assert_int_equal(neap_json_failures(), before);
	neap_mem_fail_at(2);
	neap_json_set_text(object, "c", "d");
	neap_mem_fail_at(0);
	assert_int_equal(neap_json_failures(), before + 1);
	assert_int_equal(json_object_size(object), 1);
	json_decref(object);
}

static void test_utf8(void **state)
{
	static const struct {
		const char *text;
		size_t left, want;
		uint32_t code;
	} rows[] = {
		{"a", 1, 1, 'a'},
		{"\xc3\xa4", 2, 2, 0xe4},
		{"\xc3\xa4", 1, 0, 0},
		{"\xe2\x82\xac", 3, 3, 0x20ac},
		{"\xe2\x82", 3, 0, 0},
		{"\xf0\x9f\x98\x80", 4, 4, 0x1f600},
		{"\xc0\xaf", 2, 0, 0},
		{"\xed\xa0\x80", 3, 0, 0},
		{"\xf4\x90\x80\x80", 4, 0, 0},
		{"\x80", 1, 0, 0},
		{"", 1, 1, 0},
		{"a", 0, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		uint32_t code = 0;
		size_t len = neap_utf8_next(rows[i].text, rows[i].left, &code);

		if (len != rows[i].want || (len && code != rows[i].code))
			fail_msg("row %zu: %zu bytes, %#x", i, len, (unsigned)code);
	}
	assert_true(neap_utf8_is_valid("a\xc3\xa4\0b", 5));
	assert_false(neap_utf8_is_valid("a\xc3", 2));
	assert_true(neap_utf8_is_valid("", 0));
}

static void test_full_buffer(void **state)
{
	neap_auto_buf struct neap_buf buf = {0};
	struct neap_error err = {0};

	(void)state;
	neap_buf_init(&buf, 4);
	neap_buf_adds(&buf, "12345");
	assert_int_equal(neap_buf_error(&buf, "file", &err), -NEAP_ETOOLARGE);
	assert_string_equal(err.msg, "file: over 4 bytes");
	neap_buf_clear(&buf);
	neap_mem_fail_at(1);
	neap_buf_adds(&buf, "1");
	neap_mem_fail_at(0);
	assert_true(neap_buf_failed(&buf));
	assert_int_equal(neap_buf_error(&buf, "file", &err), -NEAP_ENOMEM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),       cmocka_unit_test(test_note),
		cmocka_unit_test(test_fast),        cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_failures),    cmocka_unit_test(test_utf8),
		cmocka_unit_test(test_full_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
