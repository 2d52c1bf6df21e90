/* SPDX-License-Identifier: Apache-2.0
 *
 * Bodies of extender requests that are not what they should be: real ones of
 * t/cases/extender, cut and broken. */
#include "api/extender/args.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "engine/base/mem.h"

static json_t *load(const char *name)
{
	char path[256];
	json_error_t error;
	json_t *json;

	(void)snprintf(path, sizeof(path), "t/cases/extender/%s.request.json", name);
	json = json_load_file(path, 0, &error);
	if (!json)
		fail_msg("%s: %s", path, error.text);
	return json;
}

static int read_any(const char *body, size_t len, int which)
{
	struct neap_extender_args args = {0};
	struct neap_error err = {0};
	char node[NEAP_OBJECT_NAME];
	char *copy = malloc(len + 1);
	int r;

	assert_non_null(copy);
	memcpy(copy, body, len);
	copy[len] = '\0';
	r = which == 0   ? neap_extender_read_nodes(copy, len, NULL, &args, &err)
	    : which == 1 ? neap_extender_read_victims(copy, len, &args, &err)
			 : neap_extender_read_binding(copy, len, &args, node, &err);
	if (r == 0)
		neap_extender_args_done(&args);
	else
		assert_true(*err.msg);
	free(copy);
	return r;
}

static void test_broken(void **state)
{
	static const struct {
		const char *file;
		int which;
	} rows[] = {{"filter-names", 0},
		    {"filter-full", 0},
		    {"preempt-names", 1},
		    {"preempt-full", 1},
		    {"bind", 2},
		    {"prioritize-full", 0},
		    {"prioritize-names", 0},
		    {"filter-managed-resource", 0}};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		json_t *json = load(rows[i].file);
		char *text = json_dumps(json, JSON_COMPACT);
		size_t len = strlen(text), step = len > 2000 ? 7 : 1;

		assert_int_equal(read_any(text, len, rows[i].which), 0);
		for (size_t n = 0; n < len; n += step)
			if (read_any(text, n, rows[i].which) != -NEAP_EINVAL)
				fail_msg("%s: %zu bytes of it pass", rows[i].file, n);
		for (size_t n = 0; n < len; n += step) {
			char before = text[n];

			for (const char *other = "\"{]\\\1,"; *other; other++) {
				text[n] = *other;
				(void)read_any(text, len, rows[i].which);
			}
			text[n] = before;
		}
		free(text);
		json_decref(json);
	}
}

static void test_deep(void **state)
{
	char body[2048] = "{\"x\":";
	size_t len = strlen(body);

	(void)state;
	memset(body + len, '[', sizeof(body) - len - 1);
	assert_int_equal(read_any(body, sizeof(body) - 1, 0), -NEAP_EINVAL);
}

/* Room that is kept is used again, whatever the request before was like; what fails
 * leaves none. */
static void test_room_is_kept(void **state)
{
	static const char head[] = "{\"Pod\":{\"metadata\":{\"name\":\"p\",\"namespace\":"
				   "\"d\",\"uid\":\"u\"}},\"NodeNames\":[";
	struct neap_extender_args args = {0};
	struct neap_error err = {0};
	char body[4096];

	(void)state;
	for (int i = 0; i < 6; i++) {
		size_t len = (size_t)snprintf(body, sizeof(body), "%s", head);
		const void *room = args.names;
		int count = i % 3 * 40;

		for (int n = 0; n < count; n++)
			len += (size_t)snprintf(body + len, sizeof(body) - len,
						"%s\"n%d\"", n ? "," : "", n);
		len += (size_t)snprintf(body + len, sizeof(body) - len, "]}");
		assert_int_equal(neap_extender_read_nodes(body, len, NULL, &args, &err),
				 0);
		assert_int_equal(args.count, count);
		if (i > 3)
			assert_ptr_equal(args.names, room);
		assert_null(args.nodes);
		for (int n = 0; n < count; n++)
			assert_int_equal(strtol(args.names[n].at + 1, NULL, 10), n);
		neap_extender_args_clear(&args);
		assert_int_equal(args.count, 0);
		assert_string_equal(args.name, "");
	}
	assert_int_equal(neap_extender_read_nodes("{", 1, NULL, &args, &err),
			 -NEAP_EINVAL);
	assert_null(args.names);
	assert_int_equal(args.size, 0);
	neap_extender_args_done(&args);
}

/* Names that are likely are taken only if they are the whole list, to the byte; they lie
 * in the request all the same. */
static void test_likely(void **state)
{
	static const char head[] = "{\"Pod\":{\"metadata\":{\"name\":\"p\",\"namespace\":"
				   "\"d\",\"uid\":\"u\"}},\"NodeNames\":[";
	static const char text[] = "\"a\",\"bc\"";
	struct neap_text names[] = {{text + 1, 1}, {text + 5, 2}};
	const struct neap_extender_list list = {text, sizeof(text) - 1, names, 2};
	static const struct {
		const char *names;
		bool is_likely;
		size_t count;
	} rows[] = {
		{"\"a\",\"bc\"", true, 2},
		{"\"a\",\"bd\"", false, 2},
		{"\"a\",\"bc\",\"d\"", false, 3},
		{"\"a\"", false, 1},
		{"\"a\", \"bc\"", false, 2},
		{"\"a\",\"bc\" ", false, 2},
		{"", false, 0},
	};
	struct neap_extender_args args = {0};
	struct neap_error err;
	char body[256];

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		size_t len = (size_t)snprintf(body, sizeof(body), "%s%s]}", head,
					      rows[i].names);

		assert_int_equal(neap_extender_read_nodes(body, len, &list, &args, &err),
				 0);
		assert_int_equal(args.is_likely, rows[i].is_likely);
		assert_int_equal(args.count, rows[i].count);
		for (size_t n = 0; n < args.count; n++)
			assert_in_range(args.names[n].at, body, body + len);
		if (args.is_likely)
			assert_memory_equal(args.names[1].at, "bc\"", 3);
		/* What is wrong behind them is wrong, and what is cut off is missing. */
		for (size_t cut = 1; cut < len; cut++) {
			neap_extender_args_clear(&args);
			assert_int_equal(neap_extender_read_nodes(body, len - cut, &list,
								  &args, &err),
					 -NEAP_EINVAL);
		}
	}
	neap_extender_args_done(&args);
}

/* As many nodes as there may be, and one more; each form. */
static void test_most(void **state)
{
	static const struct {
		const char *before, *each, *after;
		int which;
	} rows[] = {
		{",\"NodeNames\":[", "\"n\"", "]}", 0},
		{",\"NodeNames\": [\n", "\"n\" ", "]}", 0},
		{",\"Nodes\":{\"items\":[", "{\"metadata\":{\"name\":\"n\"}}", "]}}", 0},
		{",\"NodeNameToMetaVictims\":{", "\"n\":{}", "}}", 1}};
	static const char pod[] = "{\"Pod\":{\"metadata\":{\"name\":\"p\",\"namespace\":"
				  "\"d\",\"uid\":\"u\"}}";
	neap_auto_free char *body =
		neap_alloc((size_t)32 * (NEAP_EXTENDER_NODES_MAX + 8));

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		for (int more = 0; more < 2; more++) {
			char *at = stpcpy(stpcpy(body, pod), rows[i].before);

			for (int n = 0; n < NEAP_EXTENDER_NODES_MAX + more; n++)
				at = stpcpy(stpcpy(at, n ? "," : ""), rows[i].each);
			at = stpcpy(at, rows[i].after);
			assert_int_equal(
				read_any(body, (size_t)(at - body), rows[i].which),
				more ? -NEAP_EINVAL : 0);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_broken),       cmocka_unit_test(test_deep),
		cmocka_unit_test(test_room_is_kept), cmocka_unit_test(test_likely),
		cmocka_unit_test(test_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
