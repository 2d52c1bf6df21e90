/* SPDX-License-Identifier: Apache-2.0
 *
 * Schemas as tables of C: looking up, causes and how values are shown, formats, pruning, defaults, checks in
 * the words of built-in kinds, types that Go would not decode. Declared ones: test_schema_crd.c. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/schema.h"
#include "engine/base/schema_priv.h"

/* --- a kind, as api/kube has them --- */

static const struct neap_schema_field port_fields[] = {
	{.name = "name", .schema = &neap_schema_string},
	{.name = "containerPort", .schema = &neap_schema_int32, .is_required = true},
	{.name = "protocol", .schema = &neap_schema_string, .fallback = "\"TCP\""},
};
static const struct neap_schema port = {.name = "x.Port",
					NEAP_SCHEMA_FIELDS(port_fields)};
static const struct neap_schema ports = {.type = NEAP_SCHEMA_LIST, .items = &port};

static const char *const pull_values[] = {"Always", "Never", "IfNotPresent", NULL};
static const struct neap_schema pull = {.type = NEAP_SCHEMA_STRING,
					.values = pull_values};
static const struct neap_schema some_name = {
	.type = NEAP_SCHEMA_STRING,
	.min_length = 1,
	.max_length = 5,
	.minimum = NAN,
	.maximum = NAN,
	.has_limits = true,
	.pattern = "^[a-z]+$",
};
static const struct neap_schema replicas = {
	.type = NEAP_SCHEMA_INTEGER,
	.format = NEAP_FORMAT_INT32,
	.minimum = 0,
	.maximum = NAN,
	.min_length = NEAP_MISSING,
	.max_length = NEAP_MISSING,
	.has_limits = true,
};
static const struct neap_schema percent = {
	.type = NEAP_SCHEMA_NUMBER,
	.minimum = 0,
	.maximum = 100,
	.min_length = NEAP_MISSING,
	.max_length = NEAP_MISSING,
	.has_limits = true,
};
static const struct neap_schema some = {
	.type = NEAP_SCHEMA_LIST,
	.items = &neap_schema_string,
	.minimum = NAN,
	.maximum = NAN,
	.min_length = 1,
	.max_length = 2,
	.has_limits = true,
};
/* A circle, as JSONSchemaProps is one. */
static const struct neap_schema circle;
static const struct neap_schema circles = {.type = NEAP_SCHEMA_MAP, .items = &circle};
static const struct neap_schema_field circle_fields[] = {
	{.name = "type", .schema = &neap_schema_string, .is_required = true},
	{.name = "not", .schema = &circle},
	{.name = "properties", .schema = &circles},
};
static const struct neap_schema circle = {.name = "x.Circle",
					  NEAP_SCHEMA_FIELDS(circle_fields)};

static const struct neap_schema nullable = {.type = NEAP_SCHEMA_STRING,
					    .is_nullable = true};
static const struct neap_schema embedded = {.type = NEAP_SCHEMA_OBJECT,
					    .is_embedded = true};

static const struct neap_schema_field spec_fields[] = {
	{.name = "name", .schema = &some_name, .is_required = true},
	{.name = "ports",
	 .schema = &ports,
	 .merge = NEAP_LIST_MAP,
	 .merge_key = "containerPort"},
	{.name = "imagePullPolicy", .schema = &pull, .fallback = "\"Always\""},
	{.name = "replicas", .schema = &replicas, .fallback = "1"},
	{.name = "percent", .schema = &percent},
	{.name = "some", .schema = &some},
	{.name = "limits", .schema = &neap_schema_quantity_map},
	{.name = "labels", .schema = &neap_schema_string_map},
	{.name = "data", .schema = &neap_schema_bytes_map},
	{.name = "at", .schema = &neap_schema_time},
	{.name = "exactly", .schema = &neap_schema_micro_time},
	{.name = "ttl", .schema = &neap_schema_duration},
	{.name = "port", .schema = &neap_schema_int_or_string},
	{.name = "flag", .schema = &neap_schema_boolean, .fallback = "false"},
	{.name = "raw", .schema = &neap_schema_any},
	{.name = "nullable", .schema = &nullable},
	{.name = "circle", .schema = &circle},
	{.name = "embedded", .schema = &embedded},
};
static const struct neap_schema spec = {.name = "x.Spec",
					NEAP_SCHEMA_FIELDS(spec_fields)};
static const struct neap_schema_field kind_fields[] = {
	{.name = "kind", .schema = &neap_schema_string},
	{.name = "spec", .schema = &spec, .is_required = true, .fallback = "{}"},
};
static const struct neap_schema kind = {.name = "x.Kind",
					NEAP_SCHEMA_FIELDS(kind_fields)};

/* JSON with ' in place of ". */
static json_t *json_of(const char *text)
{
	char *copy = neap_strdup(text), *c;
	json_error_t where;
	json_t *json;

	assert_non_null(copy);
	for (c = copy; *c != '\0'; c++)
		if (*c == '\'')
			*c = '"';
	json = json_loads(copy, JSON_DECODE_ANY | JSON_ALLOW_NUL, &where);
	if (json == NULL)
		fail_msg("%s: %s", copy, where.text);
	free(copy);
	return json;
}

/* "field|reason|message" of each, a line each; and how many are not told. */
static char *text_of(const struct neap_causes *causes)
{
	struct neap_buf buf;
	size_t i;

	neap_buf_init(&buf, NEAP_BUF_FILE);
	for (i = 0; i < causes->count; i++)
		neap_buf_addf(&buf, "%s%s|%s|%s", i > 0 ? "\n" : "",
			      causes->list[i].field, causes->list[i].reason,
			      causes->list[i].message);
	if (causes->more > 0)
		neap_buf_addf(&buf, "\n+%zu", causes->more);
	return neap_buf_take(&buf);
}

/* --- looking --- */

static void test_find(void **state)
{
	static const struct {
		const char *path;
		const struct neap_schema *want;
	} rows[] = {
		{"", &kind},
		{"spec", &spec},
		{".spec.replicas", &replicas},
		{"spec.ports", &ports},
		{"spec.ports.name", &neap_schema_string},
		{"spec.ports[0]", &port},
		{"spec.ports[0].containerPort", &neap_schema_int32},
		{"spec.ports[0][1]", NULL},
		{"spec.limits", &neap_schema_quantity_map},
		{"spec.limits[cpu]", &neap_schema_quantity},
		{"spec.circle.not.properties.not.type", &neap_schema_string},
		{"spec.raw.a.b[3].c", &neap_schema_any},
		{"spec.nothing", NULL},
		{"spec.", NULL},
		{"spec..name", NULL},
		{"spec.ports[0", NULL},
		{"spec.name.x", NULL},
	};
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		if (neap_schema_find(&kind, rows[i].path) != rows[i].want)
			fail_msg("%s", rows[i].path);
	assert_ptr_equal(neap_schema_field_find(&spec, "replicas"), &spec_fields[3]);
	assert_null(neap_schema_field_find(&spec, "replica"));
	assert_null(neap_schema_field_find(&neap_schema_string, "x"));
}

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
		json = json_of(rows[i].json);
		assert_string_equal(schema_show(json, buf, sizeof(buf)), rows[i].want);
		json_decref(json);
	}
	json = json_of("'\303\244\303\244\303\244\303\244\303\244\303\244\303\244'");
	assert_string_equal(schema_show(json, small, sizeof(small)),
			    "\"\303\244\303\244\303\244\303\244\303\244...");
	json_decref(json);
	json = json_of("['0123456789', '0123456789']");
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
	text = text_of(causes);
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
		 {"00:11:22:33:44:aF", "00-11-22-33-44-55", "00:11:22:33:44:55:66:77"},
		 {"", "00:11:22:33:44", "00:11-22:33:44:55", "0g:11:22:33:44:55"}},
		{NEAP_FORMAT_HOSTNAME,
		 {"a", "node-1.example.com", "A9"},
		 {"", "-a", "a-", "a..b", ".a", "a.", "a_b", "a-.b"}},
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

/* --- shape --- */

static void note_path(void *arg, const char *path)
{
	neap_buf_addf(arg, "%s;", path);
}

static void test_prune(void **state)
{
	static const struct {
		const char *object, *want, *unknown;
	} rows[] = {
		{"{'kind': 'X', 'spec': {'name': 'a', 'nmae': 'b'}, 'x': {}}",
		 "{'kind': 'X', 'spec': {'name': 'a'}}", "spec.nmae;x;"},
		{"{'spec': {'ports': [{'name': 'a', 'x': 1}, {'y': null}, 5]}}",
		 "{'spec': {'ports': [{'name': 'a'}, {}, 5]}}",
		 "spec.ports[0].x;spec.ports[1].y;"},
		{"{'spec': {'name': null, 'nullable': null, 'labels': {'a': null, 'b': 'c'}}}",
		 "{'spec': {'nullable': null, 'labels': {'b': 'c'}}}", ""},
		{"{'spec': {'raw': {'a': null, 'b': {'c': 1}}, 'labels': {'any': 'thing'}}}",
		 "{'spec': {'raw': {'a': null, 'b': {'c': 1}}, 'labels': {'any': 'thing'}}}",
		 ""},
		{"{'spec': {'circle': {'not': {'not': {'x': 1}}, 'properties': {'k.l': {'y': 1}}}}}",
		 "{'spec': {'circle': {'not': {'not': {}}, 'properties': {'k.l': {}}}}}",
		 "spec.circle.not.not.x;spec.circle.properties[k.l].y;"},
		{"{'spec': {'embedded': {'kind': 'A', 'apiVersion': 'v1', 'metadata': {'a': 1}, 'spec': {}}}}",
		 "{'spec': {'embedded': {'kind': 'A', 'apiVersion': 'v1', 'metadata': {'a': 1}}}}",
		 "spec.embedded.spec;"},
		/* Types are for the check. */
		{"{'spec': {'name': {'a': 1}, 'ports': {'a': 1}, 'labels': [null]}}",
		 "{'spec': {'name': {'a': 1}, 'ports': {'a': 1}, 'labels': [null]}}", ""},
		{"[{'x': 1}]", "[{'x': 1}]", ""},
		{"5", "5", ""},
	};
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		json_t *object = json_of(rows[i].object), *want = json_of(rows[i].want);
		struct neap_buf paths;

		neap_buf_init(&paths, NEAP_BUF_LINE);
		assert_true(neap_schema_prune(&kind, object, note_path, &paths));
		assert_true(neap_schema_prune(&kind, object, NULL, NULL));
		if (!json_equal(object, want) || strcmp(paths.data, rows[i].unknown) != 0)
			fail_msg("%s: %s, %s", rows[i].object, paths.data,
				 json_dumps(object, JSON_ENCODE_ANY));
		neap_buf_done(&paths);
		json_decref(object);
		json_decref(want);
	}
}

/* Without an end: it is refused, not followed. */
static const struct neap_schema endless;
static const struct neap_schema_field endless_fields[] = {
	{.name = "again", .schema = &endless, .fallback = "{}"}};
static const struct neap_schema endless = {NEAP_SCHEMA_FIELDS(endless_fields)};

static void test_default(void **state)
{
	static const struct {
		const char *object, *want;
	} rows[] = {
		{"{}",
		 "{'spec': {'imagePullPolicy': 'Always', 'replicas': 1, 'flag': false}}"},
		{"{'spec': {'imagePullPolicy': 'Never', 'replicas': 0, 'flag': true, 'ports': [{}, 5, {'protocol': 'UDP'}]}}",
		 "{'spec': {'imagePullPolicy': 'Never', 'replicas': 0, 'flag': true, 'ports': [{'protocol': 'TCP'}, 5, {'protocol': 'UDP'}]}}"},
		{"{'spec': 'x'}", "{'spec': 'x'}"},
		{"[]", "[]"},
	};
	json_t *object;
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		json_t *want = json_of(rows[i].want);

		object = json_of(rows[i].object);
		assert_true(neap_schema_default(&kind, object));
		if (!json_equal(object, want))
			fail_msg("%s: %s", rows[i].object,
				 json_dumps(object, JSON_ENCODE_ANY));
		json_decref(object);
		json_decref(want);
	}
	object = json_object();
	assert_false(neap_schema_default(&endless, object));
	json_decref(object);
}

/* --- checks --- */

static void test_check(void **state)
{
	static const struct {
		const char *spec, *want;
	} rows[] = {
		{"{'name': 'a'}", ""},
		{"{}", "spec.name|FieldValueRequired|Required value"},
		{"{'name': ''}", "spec.name|FieldValueRequired|Required value"},
		{"{'name': 'abcdef'}",
		 "spec.name|FieldValueTooLong|Too long: may not be longer than 5"},
		{"{'name': 'A'}",
		 "spec.name|FieldValueInvalid|Invalid value: \"A\": should match '^[a-z]+$'"},
		{"{'name': 'a\\n'}",
		 "spec.name|FieldValueInvalid|Invalid value: \"a\\n\": should match '^[a-z]+$'"},
		{"{'name': 'a', 'replicas': -1}",
		 "spec.replicas|FieldValueInvalid|Invalid value: -1: must be greater than or equal to 0"},
		{"{'name': 'a', 'percent': 100.5}",
		 "spec.percent|FieldValueInvalid|Invalid value: 100.5: must be between 0 and 100, inclusive"},
		{"{'name': 'a', 'imagePullPolicy': 'always'}",
		 "spec.imagePullPolicy|FieldValueNotSupported|Unsupported value: \"always\": "
		 "supported values: \"Always\", \"Never\", \"IfNotPresent\""},
		{"{'name': 'a', 'imagePullPolicy': 'Always\\u0000'}",
		 "spec.imagePullPolicy|FieldValueNotSupported|Unsupported value: \"Always\\x00\": "
		 "supported values: \"Always\", \"Never\", \"IfNotPresent\""},
		{"{'name': 'a', 'some': []}",
		 "spec.some|FieldValueRequired|Required value"},
		{"{'name': 'a', 'some': ['a', 'b', 'c']}",
		 "spec.some|FieldValueTooMany|Too many: 3: must have at most 2 items"},
		{"{'name': 'a', 'some': ['a', 5]}",
		 "spec.some[1]|FieldValueTypeInvalid|Invalid value: \"integer\": must be of type string: \"integer\""},
		{"{'name': 'a', 'ports': [{'containerPort': 1}, {'name': 'x'}]}",
		 "spec.ports[1].containerPort|FieldValueRequired|Required value"},
		{"{'name': 'a', 'ports': [{'containerPort': 3000000000}]}",
		 "spec.ports[0].containerPort|FieldValueInvalid|Invalid value: 3000000000: must be of type int32: \"3000000000\""},
		{"{'name': 'a', 'limits': {'cpu': '500m', 'a/b': 'x', 'm': 2}}",
		 "spec.limits[a/b]|FieldValueInvalid|Invalid value: \"x\": quantities must match the regular "
		 "expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
		{"{'name': 'a', 'port': 1.5}",
		 "spec.port|FieldValueTypeInvalid|Invalid value: \"number\": must be of type integer,string: \"number\""},
		{"{'name': 'a', 'port': '80', 'nullable': null, 'at': '2026-01-02T03:04:05Z'}",
		 ""},
		{"{'name': 'a', 'at': null}",
		 "spec.at|FieldValueTypeInvalid|Invalid value: \"null\": must be of type string: \"null\""},
		{"{'name': 'a', 'ttl': '5'}",
		 "spec.ttl|FieldValueInvalid|Invalid value: \"5\": must be of type duration: \"5\""},
		{"{'name': 'a', 'circle': {'type': 'a', 'not': {}}}",
		 "spec.circle.not.type|FieldValueRequired|Required value"},
		{"{'name': 'a', 'embedded': {'kind': ''}}",
		 "spec.embedded.apiVersion|FieldValueRequired|Required value\n"
		 "spec.embedded.kind|FieldValueInvalid|Invalid value: \"\": must not be empty"},
		{"5",
		 "spec|FieldValueTypeInvalid|Invalid value: \"integer\": must be of type object: \"integer\""},
	};
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_causes causes = {0};
		json_t *object = json_object();
		char *text;

		assert_int_equal(
			json_object_set_new(object, "spec", json_of(rows[i].spec)), 0);
		assert_true(neap_schema_check(&kind, object, &causes));
		text = text_of(&causes);
		if (strcmp(text, rows[i].want) != 0)
			fail_msg("%s:\n%s\nnot\n%s", rows[i].spec, text, rows[i].want);
		free(text);
		json_decref(object);
	}
}

static void test_decode(void **state)
{
	static const struct {
		const char *spec, *field, *want; /* "": fine */
	} rows[] = {
		{"{'name': 'a', 'ports': [{'containerPort': 1}], 'labels': {'a': null}}",
		 "", ""},
		{"null", "", ""},
		{"{'replicas': 'x'}", "spec.replicas",
		 "json: cannot unmarshal string into field spec.replicas of type int32"},
		{"{'replicas': 1.5}", "spec.replicas",
		 "json: cannot unmarshal number 1.5 into field spec.replicas of type int32"},
		{"{'replicas': 3000000000}", "spec.replicas",
		 "json: cannot unmarshal number 3000000000 into field spec.replicas of type int32"},
		{"{'name': 5}", "spec.name",
		 "json: cannot unmarshal number 5 into field spec.name of type string"},
		{"{'ports': {}}", "spec.ports",
		 "json: cannot unmarshal object into field spec.ports of type array"},
		{"{'ports': [{}, {'containerPort': true}]}",
		 "spec.ports[1].containerPort",
		 "json: cannot unmarshal bool into field spec.ports[1].containerPort of type int32"},
		{"{'labels': {'a': 'b', 'c': 1}}", "spec.labels[c]",
		 "json: cannot unmarshal number 1 into field spec.labels[c] of type string"},
		{"[]", "spec",
		 "json: cannot unmarshal array into field spec of type object"},
		{"{'limits': {'cpu': 'lots'}}", "spec.limits[cpu]",
		 "spec.limits[cpu]: \"lots\": quantities must match the regular expression "
		 "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
		{"{'limits': {'cpu': 1.5, 'm': '1Gi', 'e': '1e3', 'n': '-1'}}", "", ""},
		{"{'at': 'yesterday'}", "spec.at",
		 "spec.at: \"yesterday\" is not a time such as 2026-01-02T03:04:05Z"},
		{"{'exactly': '2026-01-02T03:04:05Z'}", "spec.exactly",
		 "spec.exactly: \"2026-01-02T03:04:05Z\" is not a time with six decimals such as "
		 "2026-01-02T03:04:05.000006Z"},
		{"{'data': {'a': 'YQ'}}", "spec.data[a]",
		 "spec.data[a]: \"YQ\" is not base64"},
		{"{'port': 5}", "", ""},
		{"{'port': 5000000000}", "spec.port",
		 "json: cannot unmarshal number 5000000000 into field spec.port of type int32 or string"},
		{"{'raw': [1, {'a': 'b'}], 'unknown': {}}", "", ""},
	};
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_error err = {0};
		json_t *object = json_object();
		int rc;

		assert_int_equal(
			json_object_set_new(object, "spec", json_of(rows[i].spec)), 0);
		rc = neap_schema_decode(&kind, object, &err);
		if (rc != (*rows[i].want ? -NEAP_EINVAL : 0) ||
		    strcmp(err.msg, rows[i].want) != 0 ||
		    strcmp(err.field, rows[i].field) != 0)
			fail_msg("%s: %d %s: %s", rows[i].spec, rc, err.field, err.msg);
		json_decref(object);
	}
}

/* As deep as jansson reads, through a circle: 2,000 frames of each walker. */
static void test_deep(void **state)
{
	struct neap_causes causes = {0};
	struct neap_error err;
	struct neap_buf buf;
	json_t *object;
	size_t i;

	(void)state;
	neap_buf_init(&buf, NEAP_BUF_FILE);
	neap_buf_adds(&buf, "{\"spec\":{\"name\":\"a\",\"circle\":");
	for (i = 0; i < 2000; i++)
		neap_buf_adds(&buf, "{\"type\":\"a\",\"not\":");
	neap_buf_adds(&buf, "{\"x\":1,\"type\":5}");
	for (i = 0; i < 2002; i++)
		neap_buf_addc(&buf, '}');
	object = json_loads(buf.data, 0, NULL);
	assert_non_null(object);
	assert_int_equal(neap_schema_decode(&kind, object, &err), -NEAP_EINVAL);
	assert_true(neap_schema_default(&kind, object));
	assert_true(neap_schema_check(&kind, object, &causes));
	assert_int_equal(causes.count, 1);
	assert_true(neap_schema_prune(&kind, object, NULL, NULL));
	json_decref(object);
	neap_buf_done(&buf);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),   cmocka_unit_test(test_show),
		cmocka_unit_test(test_causes), cmocka_unit_test(test_formats),
		cmocka_unit_test(test_prune),  cmocka_unit_test(test_default),
		cmocka_unit_test(test_check),  cmocka_unit_test(test_decode),
		cmocka_unit_test(test_deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
