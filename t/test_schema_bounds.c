/* SPDX-License-Identifier: Apache-2.0
 *
 * Hostile schemas and hostile objects: what is too large, what would take too long, and
 * what becomes of it without memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "engine/schema/schema.h"
#include "t/lib/schema_rig.h"

/* --- what is too large --- */

static void test_too_large(void **state)
{
	static const struct {
		const char *head, *middle, *tail;
		size_t times, braces;
		const char *want;
	} rows[] = {
		{"{'type': 'object', 'properties': {'a':", "{'type': 'array', 'items':",
		 "{'type': 'string'}", NEAP_SCHEMA_DEPTH_MAX, 2, "too deep"},
		{"{'type': 'object', 'properties': {'a': {'type': 'string'}}, 'not':",
		 "{'not':", "{}", NEAP_SCHEMA_DEPTH_MAX, 1, "too deep"},
	};
	struct neap_causes causes = {0};
	struct neap_schema *schema = NULL;
	struct neap_error err;
	struct neap_buf buf;
	json_t *json, *properties;
	size_t i, j;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		neap_buf_init(&buf, NEAP_BUF_FILE);
		neap_buf_adds(&buf, rows[i].head);
		for (j = 0; j < rows[i].times; j++)
			neap_buf_adds(&buf, rows[i].middle);
		neap_buf_adds(&buf, rows[i].tail);
		for (j = 0; j < rows[i].times + rows[i].braces; j++)
			neap_buf_addc(&buf, '}');
		json = rig_json(buf.data);
		neap_buf_done(&buf);
		assert_int_equal(neap_schema_parse(json, &schema, &causes, &err),
				 -NEAP_ETOOLARGE);
		assert_non_null(strstr(err.msg, rows[i].want));
		json_decref(json);
	}
	/* Too many nodes. */
	json = rig_json("{'type': 'object', 'properties': {}}");
	properties = json_object_get(json, "properties");
	for (i = 0; i < NEAP_SCHEMA_NODES_MAX; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "p%zu", i);
		assert_int_equal(json_object_set_new(properties, name,
						     rig_json("{'type': 'string'}")),
				 0);
	}
	assert_int_equal(neap_schema_parse(json, &schema, &causes, &err),
			 -NEAP_ETOOLARGE);
	/* One fewer is fine, and its fields are found. */
	assert_int_equal(json_object_del(properties, "p7"), 0);
	assert_int_equal(neap_schema_parse(json, &schema, &causes, &err), 0);
	assert_non_null(neap_schema_field_find(schema, "p0"));
	assert_non_null(neap_schema_field_find(schema, "p19999"));
	assert_null(neap_schema_field_find(schema, "p7"));
	neap_schema_free(schema);
	json_decref(json);
	/* Small patterns that become large ones. */
	json = rig_json("{'type': 'object', 'properties': {}}");
	properties = json_object_get(json, "properties");
	for (i = 0; i < 1000; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "p%zu", i);
		assert_int_equal(
			json_object_set_new(
				properties, name,
				rig_json(
					"{'type': 'string', 'pattern': '([ab]x){900}'}")),
			0);
	}
	assert_int_equal(neap_schema_parse(json, &schema, &causes, &err),
			 -NEAP_ETOOLARGE);
	json_decref(json);
	neap_schema_free(NULL);
}

/* --- time --- */

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* 'aaa...', 1 MiB. */
static const char *long_text(void)
{
	static char text[1024 * 1024];

	memset(text, 'a', sizeof(text) - 1);
	text[0] = text[sizeof(text) - 2] = '\'';
	return text;
}

static void test_time(void **state)
{
	static const struct {
		const char *schema, *item;
		size_t count;
		const char *want; /* part of the last cause; "": none */
	} rows[] = {
		/* goes back and tries again, for ever */
		{"{'type': 'string', 'pattern': '^(a+)+$'}",
		 "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab'", 1,
		 "takes too long"},
		{"{'type': 'string', 'pattern': '^(a+)+$'}",
		 "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab'", 100000,
		 "takes too long"},
		{"{'type': 'string', 'pattern': '^(a|aa)*[^ab]$'}",
		 "'aaaaaaaaaaaaaaaaab'", 10, "should match"},
		/* looks through all from each place anew, which PCRE2 does not count as
		 * steps */
		{"{'type': 'string', 'pattern': '[^bc]*[bc]'}", NULL, 1,
		 "takes too long"},
		/* usual ones, and many of them */
		{"{'type': 'string', 'pattern': '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'}",
		 "'abc-def'", 30000, ""},
		{"{'type': 'string', 'pattern': 'def'}", "'abc-def'", 10000, ""},
		{"{'x-kubernetes-int-or-string': true}", "1", 500000, ""},
		{"{'type': 'string', 'anyOf': [{'not': {'anyOf': [{'not': {'anyOf': [{'not': {'minLength': 1}},"
		 " {'maxLength': 0}]}}, {'maxLength': 0}]}}, {'maxLength': 0}]}",
		 "'abc'", 30000, "(not)"},
	};
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_causes causes = {0};
		struct neap_schema *schema;
		struct neap_buf buf;
		const char *item = rows[i].item != NULL ? rows[i].item : long_text();
		json_t *object = rig_json_many("l", item, rows[i].count);
		double begin;

		neap_buf_init(&buf, NEAP_BUF_FILE);
		neap_buf_addf(&buf, RIG_ROOT("'l': {'type': 'array', 'items': %s}"),
			      rows[i].schema);
		schema = rig_schema(buf.data);
		neap_buf_done(&buf);
		begin = now();
		assert_true(neap_schema_check(schema, object, &causes));
		/* Some 40 ms; a sanitizer takes ten times as long. */
		if (now() - begin > 3)
			fail_msg("%zu: %.1f s", i, now() - begin);
		if (*rows[i].want ? causes.count == 0 ||
					    strstr(causes.list[causes.count - 1].message,
						   rows[i].want) == NULL
				  : causes.count > 0)
			fail_msg("%zu: %zu causes, %s", i, causes.count,
				 causes.count > 0 ? causes.list[causes.count - 1].message
						  : "");
		json_decref(object);
		neap_schema_free(schema);
	}
}

/* Sets of many items, most of them different, are no square. */
static void test_time_of_sets(void **state)
{
	struct neap_schema *schema = rig_schema(RIG_ROOT(
		"'l': {'type': 'array', 'items': {'type': 'integer'}, 'x-kubernetes-list-type': 'set'}"));
	json_t *object = rig_json_many("l", "1", 0), *list = json_object_get(object, "l");
	struct neap_causes causes = {0};
	double begin = now();
	size_t i;

	(void)state;
	for (i = 0; i < 200000; i++)
		assert_int_equal(json_array_append_new(
					 list, json_integer((json_int_t)(i % 199999))),
				 0);
	assert_true(neap_schema_check(schema, object, &causes));
	assert_true(now() - begin < 20);
	assert_int_equal(causes.count, 1);
	assert_string_equal(causes.list[0].field, "l[199999]");
	json_decref(object);
	neap_schema_free(schema);
}

/* A few nodes whose defaults make a thousand times a thousand values. */
static void test_many_defaults(void **state)
{
	struct neap_causes causes = {0};
	struct neap_schema *schema = NULL;
	struct neap_error err;
	struct neap_buf buf;
	json_t *json, *object;
	size_t i;

	(void)state;
	neap_buf_init(&buf, NEAP_BUF_FILE);
	neap_buf_adds(
		&buf,
		"{'type': 'object', 'properties': {'l': {'type': 'array', 'items': {'type': 'object',"
		" 'properties': {");
	for (i = 0; i < 10000; i++)
		neap_buf_addf(&buf, "%s'p%zu': {'type': 'string', 'default': 'x'}",
			      i > 0 ? ", " : "", i);
	neap_buf_adds(&buf, "}}}}}");
	schema = rig_schema(buf.data);
	object = rig_json_many("l", "{}", 1);
	assert_true(neap_schema_default(schema, object));
	json_decref(object);
	object = rig_json("{'l': []}");
	for (i = 0; i < 100000; i++)
		assert_int_equal(json_array_append_new(json_object_get(object, "l"),
						       json_object()),
				 0);
	assert_false(neap_schema_default(schema, object));
	json_decref(object);
	neap_schema_free(schema);
	/* A schema that does it to itself. */
	neap_buf_clear(&buf);
	neap_buf_adds(&buf, "{'type': 'object', 'properties': {'r': ");
	for (i = 0; i < 3; i++) {
		size_t j;

		neap_buf_adds(&buf, "{'type': 'array', 'default': [{}");
		for (j = 0; j < 999; j++)
			neap_buf_adds(&buf, ", {}");
		neap_buf_adds(&buf,
			      "], 'items': {'type': 'object', 'properties': {'a': ");
	}
	neap_buf_adds(&buf, "{'type': 'string', 'default': 'x'}");
	for (i = 0; i < 3; i++)
		neap_buf_adds(&buf, "}}}");
	neap_buf_adds(&buf, "}}");
	json = rig_json(buf.data);
	assert_int_equal(neap_schema_parse(json, &schema, &causes, &err),
			 -NEAP_ETOOLARGE);
	json_decref(json);
	neap_buf_done(&buf);
}

/* --- memory --- */

/* Each allocation fails in turn; what is half done is given back. */
static void test_memory(void **state)
{
	static const char text[] = RIG_ROOT(
		"'a': {'type': 'array', 'x-kubernetes-list-type': 'set', 'items': {'type': 'string', 'pattern': '^a|b$',"
		" 'enum': ['a', 'b', 'c']}, 'default': ['b', 'a']},"
		"'b': {'type': 'integer', 'enum': [1, 2], 'default': 2},"
		"'metadata': {'type': 'object', 'properties': {'name': {'type': 'string', 'pattern': '^x'}}},"
		"'c': {'x-kubernetes-int-or-string': true, 'allOf': [{'minLength': 1}], 'maxLength': 5}");
	json_t *json = rig_json(text);
	json_t *object =
		rig_json("{'metadata': {'name': 'y'}, 'a': ['c', 'c'], 'c': ''}");
	struct neap_schema *schema = NULL;
	struct neap_causes causes = {0};
	struct neap_error err;
	uint64_t n;
	bool is_done = false;
	int rc;

	(void)state;
	for (n = 1; schema == NULL; n++) {
		neap_mem_fail_at(n);
		rc = neap_schema_parse(json, &schema, &causes, &err);
		neap_mem_fail_at(0);
		if (rc < 0 && (rc != -NEAP_ENOMEM || err.code != NEAP_ENOMEM))
			fail_msg("%d %s", rc, err.msg);
		assert_int_equal(causes.count, 0);
	}
	assert_true(n > 20);
	for (n = 1; !is_done; n++) {
		memset(&causes, 0, sizeof(causes));
		neap_mem_fail_at(n);
		is_done = neap_schema_check(schema, object, &causes);
		neap_mem_fail_at(0);
		assert_int_not_equal(causes.count, 0);
		if (!is_done)
			assert_string_equal(causes.list[causes.count - 1].reason,
					    "InternalError");
	}
	assert_true(n > 4);
	is_done = false;
	for (n = 1; !is_done; n++) {
		json_t *empty = json_object();

		assert_non_null(empty);
		neap_mem_fail_at(n);
		is_done = neap_schema_default(schema, empty);
		neap_mem_fail_at(0);
		json_decref(empty);
	}
	assert_true(n > 4);
	json_decref(object);
	json_decref(json);
	neap_schema_free(schema);
}

/* --- lists that are too long --- */

static void test_long_lists(void **state)
{
	static const struct neap_schema_bound bounds_rows[] = {{"a", 2}, {"c", 4}};
	static const struct neap_schema_bounds bounds = {bounds_rows, 2, 3, 1};
	static const struct {
		const char *object, *before;
		size_t values;
		const char *field, *message; /* NULL: all is well */
	} rows[] = {
		{"{'a': [1, 2], 'b': [1, 2, 3], 'c': [1, 2, 3, 4]}", NULL, 13, NULL,
		 NULL},
		{"{'a': [1, 2, 3]}", NULL, 5, "a",
		 "Too many: 3: must have at most 2 items"},
		{"{'x': {'a': {'k': 1, 'l': 2, 'm': 3}}}", NULL, 6, "x.a",
		 "Too many: 3: must have at most 2 items"},
		{"{'x': [{}, {'d': [1, 2, 3, 4]}]}", NULL, 9, "x[1].d",
		 "Too many: 4: must have at most 3 items"},
		{"{'a': [[1, 2, 3, 4]]}", NULL, 7, "a[0]",
		 "Too many: 4: must have at most 3 items"},
		/* The object itself has what members its kind has. */
		{"{'q': 1, 'r': 2, 's': 3, 't': 4}", NULL, 5, NULL, NULL},
		/* What was there may stay, and become shorter, in its place. */
		{"{'a': [1, 2, 3]}", "{'a': [4, 5, 6]}", 5, NULL, NULL},
		{"{'a': [1, 2, 3]}", "{'a': [4, 5, 6, 7]}", 5, NULL, NULL},
		{"{'a': [1, 2, 3, 4]}", "{'a': [4, 5, 6]}", 6, "a",
		 "Too many: 4: must have at most 2 items"},
		{"{'x': [{'a': [1, 2, 3]}]}", "{'x': [{'a': [1, 2, 3]}]}", 7, NULL, NULL},
		{"{'x': [{'a': [1, 2, 3]}]}", "{'a': [1, 2, 3]}", 7, "x[0].a",
		 "Too many: 3: must have at most 2 items"},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		json_t *object = rig_json(rows[i].object);
		json_t *before = rows[i].before ? rig_json(rows[i].before) : NULL;
		struct neap_causes causes = {0};

		assert_int_equal(
			neap_schema_check_bounds(&bounds, object, before, &causes),
			rows[i].values);
		assert_int_equal(neap_schema_values(object), rows[i].values);
		assert_int_equal(causes.count, rows[i].field != NULL);
		if (rows[i].field != NULL) {
			assert_string_equal(causes.list[0].reason, "FieldValueTooMany");
			assert_string_equal(causes.list[0].field, rows[i].field);
			assert_string_equal(causes.list[0].message, rows[i].message);
		}
		json_decref(object);
		json_decref(before);
	}
}

static int setup(void **state)
{
	(void)state;
	neap_json_setup();
	return 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_too_large),    cmocka_unit_test(test_time),
		cmocka_unit_test(test_time_of_sets), cmocka_unit_test(test_many_defaults),
		cmocka_unit_test(test_long_lists),   cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
