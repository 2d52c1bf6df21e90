/* SPDX-License-Identifier: Apache-2.0
 *
 * Schemas as tables of C: looking up, pruning, defaults, checks in the words of built-in
 * kinds, types that Go would not decode. Declared ones: test_schema_crd.c. */
#include <math.h>
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
#include "engine/schema/schema.h"
#include "t/lib/schema_rig.h"

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
		{"{'a': 1, 'spec': {'b': 1, 'ports': [{'c': 1, 'd': 1}], 'e': 1}, 'f': 1}",
		 "{'spec': {'ports': [{}]}}",
		 "a;spec.b;spec.ports[0].c;spec.ports[0].d;spec.e;f;"},
		{"{'spec': {'ports': [{'name': 'a', 'x': 1}, {'y': null}, 5]}}",
		 "{'spec': {'ports': [{'name': 'a'}, {}, 5]}}",
		 "spec.ports[0].x;spec.ports[1].y;"},
		{"{'spec': {'name': null, 'nullable': null, 'labels': {'a': null, 'b': 'c'}}}",
		 "{'spec': {'nullable': null, 'labels': {'a': null, 'b': 'c'}}}", ""},
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
		json_t *object = rig_json(rows[i].object), *want = rig_json(rows[i].want);
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
		json_t *want = rig_json(rows[i].want);

		object = rig_json(rows[i].object);
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

/* Of Go: where a type has no pointer, its zero value is as if it were missing. */
static void test_default_zero(void **state)
{
	static const struct neap_schema_field fields[] = {
		{.name = "text",
		 .schema = &neap_schema_string,
		 .fallback = "\"x\"",
		 .zero_is_missing = true},
		{.name = "number",
		 .schema = &neap_schema_int32,
		 .fallback = "3",
		 .zero_is_missing = true},
		{.name = "any",
		 .schema = &neap_schema_any,
		 .fallback = "[1]",
		 .zero_is_missing = true},
		{.name = "pointer", .schema = &neap_schema_int32, .fallback = "3"},
	};
	static const struct neap_schema zeros = {NEAP_SCHEMA_FIELDS(fields)};
	static const struct {
		const char *object, *want;
	} rows[] = {
		{"{}", "{'text': 'x', 'number': 3, 'any': [1], 'pointer': 3}"},
		{"{'text': '', 'number': 0, 'any': [], 'pointer': 0}",
		 "{'text': 'x', 'number': 3, 'any': [1], 'pointer': 0}"},
		{"{'text': 'y', 'number': 1, 'any': {}, 'pointer': 1}",
		 "{'text': 'y', 'number': 1, 'any': [1], 'pointer': 1}"},
		{"{'text': ' ', 'number': 0.0, 'any': false}",
		 "{'text': ' ', 'number': 3, 'any': [1], 'pointer': 3}"},
		{"{'text': 1, 'number': '0', 'any': true}",
		 "{'text': 1, 'number': '0', 'any': true, 'pointer': 3}"},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		json_t *object = rig_json(rows[i].object), *want = rig_json(rows[i].want);

		assert_true(neap_schema_default(&zeros, object));
		if (!json_equal(object, want))
			fail_msg("%s: %s", rows[i].object,
				 json_dumps(object, JSON_ENCODE_ANY));
		json_decref(object);
		json_decref(want);
	}
}

/* Decoding takes out what Go does not write: no struct, no amount, and nothing of another
 * type. */
static void test_decode_zero(void **state)
{
	static const struct neap_schema_field struct_fields[] = {
		{.name = "text", .schema = &neap_schema_string, .zero_is_missing = true},
	};
	static const struct neap_schema struct_of = {NEAP_SCHEMA_FIELDS(struct_fields)};
	static const struct neap_schema_field fields[] = {
		{.name = "text", .schema = &neap_schema_string, .zero_is_missing = true},
		{.name = "number", .schema = &neap_schema_int32, .zero_is_missing = true},
		{.name = "flag", .schema = &neap_schema_boolean, .zero_is_missing = true},
		{.name = "list", .schema = &neap_schema_strings, .zero_is_missing = true},
		{.name = "map",
		 .schema = &neap_schema_string_map,
		 .zero_is_missing = true},
		{.name = "struct", .schema = &struct_of, .zero_is_missing = true},
		{.name = "amount",
		 .schema = &neap_schema_quantity,
		 .zero_is_missing = true},
		{.name = "port",
		 .schema = &neap_schema_int_or_string,
		 .zero_is_missing = true},
		{.name = "any", .schema = &neap_schema_any, .zero_is_missing = true},
		{.name = "pointer", .schema = &neap_schema_boolean},
	};
	static const struct neap_schema zeros = {NEAP_SCHEMA_FIELDS(fields)};
	static const struct {
		const char *object, *want;
	} rows[] = {
		{"{'text': '', 'number': 0, 'flag': false, 'list': [], 'map': {}}", "{}"},
		{"{'text': 'x', 'number': 1, 'flag': true, 'list': [''], 'map': {'': ''}}",
		 "{'text': 'x', 'number': 1, 'flag': true, 'list': [''], 'map': {'': ''}}"},
		{"{'struct': {}, 'amount': 0, 'port': 0, 'any': [], 'pointer': false}",
		 "{'struct': {}, 'amount': '0', 'port': 0, 'any': [], 'pointer': false}"},
		{"{'struct': {'text': ''}}", "{'struct': {}}"},
		{"{'number': false}", NULL},
		{"{'flag': 0}", NULL},
		{"{'list': {}}", NULL},
		{"{'text': 0}", NULL},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		json_t *object = rig_json(rows[i].object),
		       *want = rows[i].want ? rig_json(rows[i].want) : NULL;
		struct neap_error err;
		int rc = neap_schema_decode(&zeros, object, &err);

		if (rc != (want ? 0 : -NEAP_EINVAL) ||
		    (want && !json_equal(object, want)))
			fail_msg("%s: %d %s", rows[i].object, rc,
				 json_dumps(object, JSON_ENCODE_ANY));
		json_decref(object);
		json_decref(want);
	}
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
		{"{'name': 'a', 'embedded': {'kind': 'p_q', 'apiVersion': 'a/b/c', "
		 "'metadata': {'labels': {'a b': 'c', 'd': 'e'}}}}",
		 "spec.embedded.apiVersion|FieldValueInvalid|Invalid value: \"a/b/c\": unexpected "
		 "GroupVersion string: a/b/c\n"
		 "spec.embedded.kind|FieldValueInvalid|Invalid value: \"p_q\": may have mixed "
		 "case, but should otherwise match: a DNS-1035 label must consist of lower case "
		 "alphanumeric characters or '-', start with an alphabetic character, and end with "
		 "an alphanumeric character\n"
		 "spec.embedded.metadata.labels|FieldValueInvalid|Invalid value: \"a b\": name part "
		 "must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
		 "with an alphanumeric character"},
		{"{'name': 'a', 'embedded': {'kind': 'Pod', 'apiVersion': 'apps/v1'}}",
		 ""},
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
			json_object_set_new(object, "spec", rig_json(rows[i].spec)), 0);
		assert_true(neap_schema_check(&kind, object, &causes));
		text = rig_causes(&causes);
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
		{"{'limits': {'cpu': ' 1', 'm': '1Gi  '}}", "", ""},
		{"{'limits': {'cpu': ' '}}", "spec.limits[cpu]",
		 "spec.limits[cpu]: \" \": quantities must match the regular expression "
		 "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
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
			json_object_set_new(object, "spec", rig_json(rows[i].spec)), 0);
		rc = neap_schema_decode(&kind, object, &err);
		if (rc != (*rows[i].want ? -NEAP_EINVAL : 0) ||
		    strcmp(err.msg, rows[i].want) != 0 ||
		    strcmp(err.field, rows[i].field) != 0)
			fail_msg("%s: %d %s: %s", rows[i].spec, rc, err.field, err.msg);
		json_decref(object);
	}
}

static void count_path(void *arg, const char *path)
{
	assert_true(strlen(path) < 1024);
	++*(size_t *)arg;
}

/* Many unknown fields at the end of a long way, and paths that are cut. */
static void test_many_unknown(void **state)
{
	json_t *object = json_object(), *inner = object, *next;
	clock_t begin = clock();
	size_t count = 0, i;
	char name[600];

	(void)state;
	for (i = 0; i < 1500; i++) {
		next = json_object();
		assert_int_equal(json_object_set_new(inner, "not", next), 0);
		inner = next;
	}
	for (i = 0; i < 200000; i++) {
		(void)snprintf(name, sizeof(name), "%zu", i);
		assert_int_equal(json_object_set_new(inner, name, json_null()), 0);
	}
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(json_object_set_new(object, name, json_null()), 0);
	assert_true(neap_schema_prune(&circle, object, count_path, &count));
	assert_int_equal(count, 200001);
	/* Each alone through 1,500 steps would take many seconds. */
	assert_true(clock() - begin < 3 * CLOCKS_PER_SEC);
	json_decref(object);
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
		cmocka_unit_test(test_find),         cmocka_unit_test(test_prune),
		cmocka_unit_test(test_default),      cmocka_unit_test(test_default_zero),
		cmocka_unit_test(test_decode_zero),  cmocka_unit_test(test_check),
		cmocka_unit_test(test_decode),       cmocka_unit_test(test_deep),
		cmocka_unit_test(test_many_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
