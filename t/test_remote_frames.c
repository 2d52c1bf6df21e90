/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON that is cut into values while it comes, wherever the pieces end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/remote/frames.h"

static char seen[4096];

static bool take(void *arg, const char *text, size_t len)
{
	int *left = arg;
	size_t at = strlen(seen);

	assert_true(at + len + 2 < sizeof(seen));
	memcpy(seen + at, text, len);
	seen[at + len] = '\n';
	seen[at + len + 1] = '\0';
	return --*left != 0;
}

/* Feeds the text in pieces of so many bytes; the result of the last. */
static int feed(struct neap_frames *frames, const char *text, size_t piece,
		struct neap_error *err)
{
	size_t len = strlen(text);
	int rc = 0;

	seen[0] = '\0';
	for (size_t at = 0; at < len && rc == 0; at += piece)
		rc = neap_frames_feed(frames, text + at,
				      len - at < piece ? len - at : piece, err);
	return rc;
}

static void whole(const char *text, bool is_list, const char *want, const char *rest)
{
	for (size_t piece = 1; piece <= strlen(text); piece++) {
		struct neap_frames frames;
		struct neap_error err = {0};
		int left = -1;

		neap_frames_init(&frames, is_list, take, &left);
		assert_int_equal(feed(&frames, text, piece, &err), 0);
		assert_string_equal(seen, want);
		assert_true(neap_frames_is_whole(&frames));
		if (rest)
			assert_string_equal(frames.rest.data, rest);
		neap_frames_done(&frames);
	}
}

static void test_watch(void **state)
{
	(void)state;
	whole("{\"type\":\"ADDED\",\"object\":{\"a\":[1,{\"b\":\"}]\\\"{\"}]}}\n"
	      "{\"x\":\"\\\\\"} {\"y\":\"\\u00e4\xc3\xa4\"}\r\n{}\n",
	      false,
	      "{\"type\":\"ADDED\",\"object\":{\"a\":[1,{\"b\":\"}]\\\"{\"}]}}\n"
	      "{\"x\":\"\\\\\"}\n{\"y\":\"\\u00e4\xc3\xa4\"}\n{}\n",
	      NULL);
}

static void test_list(void **state)
{
	(void)state;
	whole("{\"kind\":\"PodList\",\"metadata\":{\"items\":\"no\",\"list\":[{\"x\":1}],"
	      "\"resourceVersion\":\"7\"},\"items\":[{\"a\":{\"items\":[{},{}]}},\n"
	      "{\"b\":\"]}\"} , {}],\"more\":[{\"items\":[1]}]}\n",
	      true, "{\"a\":{\"items\":[{},{}]}}\n{\"b\":\"]}\"}\n{}\n",
	      "{\"kind\":\"PodList\",\"metadata\":{\"items\":\"no\",\"list\":[{\"x\":1}],"
	      "\"resourceVersion\":\"7\"},\"items\":[],\"more\":[{\"items\":[1]}]}");
	whole("{\"items\":[]}", true, "", "{\"items\":[]}");
	whole("{\"items\":null,\"x\":1}", true, "", "{\"items\":null,\"x\":1}");
}

static void test_half(void **state)
{
	struct neap_frames frames;
	struct neap_error err = {0};
	int left = -1;

	(void)state;
	neap_frames_init(&frames, false, take, &left);
	assert_int_equal(feed(&frames, "{}{\"a\":", 3, &err), 0);
	assert_string_equal(seen, "{}\n");
	assert_false(neap_frames_is_whole(&frames));
	neap_frames_done(&frames);
	neap_frames_init(&frames, true, take, &left);
	assert_int_equal(feed(&frames, "{\"items\":[{}", 100, &err), 0);
	assert_false(neap_frames_is_whole(&frames));
	neap_frames_done(&frames);
	/* Whoever takes them has had enough. */
	left = 1;
	neap_frames_init(&frames, false, take, &left);
	assert_int_equal(feed(&frames, "{}{}", 100, &err), 1);
	assert_string_equal(seen, "{}\n");
	neap_frames_done(&frames);
}

static void test_faults(void **state)
{
	static const struct {
		const char *text, *why;
		bool is_list;
	} faults[] = {
		{"<!DOCTYPE html>", "has '<' where an object begins", false},
		{"[{}]", "begins with [", false},
		{"{}}", "a } too many", false},
		{"{} x {}", "has 'x' where an object begins", false},
		{"\"text\"", "has '\"' where an object begins", false},
		{"{\"items\":[1,{}]}", "has '1' where an object begins", true},
		{"{\"items\":[[]]}", "begins with [", true},
		{"<html>", "has '<' where an object begins", true},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(faults); i++) {
		struct neap_frames frames;
		struct neap_error err = {0};
		int left = -1;

		neap_frames_init(&frames, faults[i].is_list, take, &left);
		assert_int_equal(feed(&frames, faults[i].text, 1, &err), -NEAP_EINVAL);
		assert_non_null(strstr(err.msg, faults[i].why));
		neap_frames_done(&frames);
	}
}

/* A value without an end takes no more memory than the largest that there may be. */
static void test_bound(void **state)
{
	static char text[65536];
	struct neap_frames frames;
	struct neap_error err = {0};
	int left = -1, rc = 0;
	size_t fed = 0;

	(void)state;
	memset(text, 'a', sizeof(text));
	neap_frames_init(&frames, false, take, &left);
	assert_int_equal(neap_frames_feed(&frames, "{\"", 2, &err), 0);
	while (rc == 0 && fed < 4 * NEAP_FRAMES_MAX) {
		rc = neap_frames_feed(&frames, text, sizeof(text), &err);
		fed += sizeof(text);
	}
	assert_int_equal(rc, -NEAP_ETOOLARGE);
	assert_true(fed <= NEAP_FRAMES_MAX + sizeof(text));
	assert_true(frames.value.size <= 2 * NEAP_FRAMES_MAX);
	neap_frames_done(&frames);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_watch), cmocka_unit_test(test_list),
		cmocka_unit_test(test_half),  cmocka_unit_test(test_faults),
		cmocka_unit_test(test_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
