/* SPDX-License-Identifier: Apache-2.0
 *
 * Schemas of CustomResourceDefinitions: what is read, what is refused and in which words, objects of such
 * kinds, and that neither a hostile schema nor a hostile object takes long. */
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
#include "engine/base/json.h"
#include "engine/base/mem.h"
#include "engine/base/schema.h"

/* JSON with ' in place of ". */
static json_t *json_of(const char *text)
{
	char *copy = strdup(text), *c;
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

/* The schema of this text, which has to be right. */
static struct neap_schema *schema_of(const char *text)
{
	struct neap_causes causes = {0};
	struct neap_schema *schema = NULL;
	struct neap_error err = {0};
	json_t *json = json_of(text);

	if (neap_schema_parse(json, &schema, &causes, &err) < 0)
		fail_msg("%s: %s", text, text_of(&causes));
	assert_int_equal(causes.count, 0);
	json_decref(json); /* nothing of it is kept */
	return schema;
}

#define ROOT(properties) "{'type': 'object', 'properties': {" properties "}}"

/* --- what is refused --- */

static const struct {
	const char *schema, *want;
} bad[] = {
	{"[]", "|FieldValueInvalid|Invalid value: []: must be a schema object"},
	{"{}", "type|FieldValueRequired|Required value: must not be empty at the root"},
	{"{'type': 'array', 'items': {'type': 'string'}}",
	 "type|FieldValueInvalid|Invalid value: \"array\": must be object at the root"},
	{"{'type': 5}",
	 "type|FieldValueInvalid|Invalid value: 5: must be a string\n"
	 "type|FieldValueRequired|Required value: must not be empty at the root"},
	{ROOT("'spec': {}"),
	 "properties[spec].type|FieldValueRequired|Required value: must not be empty for specified object fields"},
	{ROOT("'spec': {'type': 'array', 'items': {}}"),
	 "properties[spec].items.type|FieldValueRequired|Required value: must not be empty for specified array items"},
	{ROOT("'spec': {'type': 'object', 'additionalProperties': {}}"),
	 "properties[spec].additionalProperties.type|FieldValueRequired|Required value: must not be empty for "
	 "specified object fields"},
	{ROOT("'spec': {'type': 'strin'}"),
	 "properties[spec].type|FieldValueNotSupported|Unsupported value: \"strin\": supported values: \"array\", "
	 "\"boolean\", \"integer\", \"number\", \"object\", \"string\""},
	{ROOT("'a': {'type': 'null'}"),
	 "properties[a].type|FieldValueForbidden|Forbidden: type cannot be set to null, use nullable as an alternative"},
	{ROOT("'a': {'type': 'array'}"),
	 "properties[a].items|FieldValueRequired|Required value: must be specified"},
	{ROOT("'a': {'type': 'array', 'items': [{'type': 'string'}]}"),
	 "properties[a].items|FieldValueForbidden|Forbidden: items must be a schema object and not an array"},
	{ROOT("'a': {'$ref': '#/x', 'type': 'string'}"),
	 "properties[a].$ref|FieldValueForbidden|Forbidden: $ref is not supported"},
	{ROOT("'a': {'type': 'object', 'patternProperties': {'a': {}}, 'definitions': {'b': {}}, 'id': 'x'}"),
	 "properties[a].id|FieldValueForbidden|Forbidden: id is not supported\n"
	 "properties[a].patternProperties|FieldValueForbidden|Forbidden: patternProperties is not supported\n"
	 "properties[a].definitions|FieldValueForbidden|Forbidden: definitions is not supported"},
	{ROOT("'a': {'type': 'array', 'items': {'type': 'string'}, 'uniqueItems': true}"),
	 "properties[a].uniqueItems|FieldValueForbidden|Forbidden: uniqueItems cannot be set to true since the "
	 "runtime complexity becomes quadratic"},
	{ROOT("'a': {'type': 'object', 'additionalProperties': false}"),
	 "properties[a].additionalProperties|FieldValueForbidden|Forbidden: additionalProperties cannot be set to false"},
	{ROOT("'a': {'type': 'object', 'additionalProperties': {'type': 'string'}, 'properties': {'b': {'type': 'string'}}}"),
	 "properties[a].additionalProperties|FieldValueForbidden|Forbidden: additionalProperties and properties are "
	 "mutual exclusive"},
	{ROOT("'a': {'type': 'object', 'x-kubernetes-preserve-unknown-fields': false}"),
	 "properties[a].x-kubernetes-preserve-unknown-fields|FieldValueInvalid|Invalid value: false: must be true or undefined"},
	{ROOT("'a': {'type': 'integer', 'x-kubernetes-int-or-string': true}"),
	 "properties[a].type|FieldValueForbidden|Forbidden: must be empty if x-kubernetes-int-or-string is true"},
	{ROOT("'a': {'type': 'object', 'x-kubernetes-embedded-resource': true}"),
	 "properties[a].properties|FieldValueRequired|Required value: must not be empty if "
	 "x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"},
	{ROOT("'a': {'type': 'string', 'pattern': '('}"),
	 "properties[a].pattern|FieldValueInvalid|Invalid value: \"(\": must be a valid regular expression, but "
	 "isn't: missing closing parenthesis at byte 1"},
	{ROOT("'a': {'type': 'string', 'minLength': -1, 'maxLength': 'x', 'minimum': 'y', 'multipleOf': 0, 'enum': {}}"),
	 "properties[a].minimum|FieldValueInvalid|Invalid value: \"y\": must be a number\n"
	 "properties[a].multipleOf|FieldValueInvalid|Invalid value: 0: must be greater than 0\n"
	 "properties[a].minLength|FieldValueInvalid|Invalid value: -1: must be a whole number, 0 or more\n"
	 "properties[a].maxLength|FieldValueInvalid|Invalid value: \"x\": must be a whole number, 0 or more\n"
	 "properties[a].enum|FieldValueInvalid|Invalid value: {}: must be an array"},
	/* logic */
	{ROOT("'a': {'type': 'string', 'allOf': [{'type': 'string', 'description': 'x', 'default': 'y', 'nullable': true}]}"),
	 "properties[a].allOf[0].description|FieldValueForbidden|Forbidden: must be empty to be structural\n"
	 "properties[a].allOf[0].default|FieldValueForbidden|Forbidden: must be undefined to be structural\n"
	 "properties[a].allOf[0].nullable|FieldValueForbidden|Forbidden: must be false to be structural\n"
	 "properties[a].allOf[0].type|FieldValueForbidden|Forbidden: must be empty to be structural"},
	{ROOT("'a': {'type': 'object', 'anyOf': [{'properties': {'b': {'minimum': 1}}}]}"),
	 "properties[a].properties[b]|FieldValueRequired|Required value: because it is defined in "
	 "properties[a].anyOf[0].properties[b]"},
	{ROOT("'a': {'type': 'array', 'items': {'type': 'object', 'properties': {'x': {'type': 'string'}}}, "
	      "'not': {'oneOf': [{'items': {'properties': {'x': {}, 'y': {}}}}]}}"),
	 "properties[a].items.properties[y]|FieldValueRequired|Required value: because it is defined in "
	 "properties[a].not.oneOf[0].items.properties[y]"},
	{ROOT("'a': {'type': 'string', 'anyOf': [{'type': 'integer'}, {'type': 'string'}]}"),
	 "properties[a].anyOf[0].type|FieldValueForbidden|Forbidden: must be empty to be structural\n"
	 "properties[a].anyOf[1].type|FieldValueForbidden|Forbidden: must be empty to be structural"},
	{ROOT("'a': {'type': 'string', 'oneOf': {}}"),
	 "properties[a].oneOf|FieldValueInvalid|Invalid value: {}: must be an array"},
	/* metadata */
	{ROOT("'metadata': {'type': 'object', 'properties': {'labels': {'type': 'object'}}}"),
	 "properties[metadata]|FieldValueForbidden|Forbidden: must not specify anything other than name and "
	 "generateName, but metadata is implicitly specified"},
	{ROOT("'metadata': {'type': 'string'}, 'kind': {'type': 'integer'}"),
	 "properties[kind].type|FieldValueInvalid|Invalid value: null: must be string\n"
	 "properties[metadata].type|FieldValueInvalid|Invalid value: null: must be object"},
	/* lists */
	{ROOT("'a': {'type': 'array', 'items': {'type': 'string'}, 'x-kubernetes-list-type': 'sets'}"),
	 "properties[a].x-kubernetes-list-type|FieldValueNotSupported|Unsupported value: \"sets\": supported values: "
	 "\"atomic\", \"set\", \"map\""},
	{ROOT("'a': {'type': 'string', 'x-kubernetes-list-type': 'set', 'x-kubernetes-map-type': 'flat'}"),
	 "properties[a].x-kubernetes-map-type|FieldValueNotSupported|Unsupported value: \"flat\": supported values: "
	 "\"atomic\", \"granular\"\n"
	 "properties[a].type|FieldValueInvalid|Invalid value: \"string\": must be object if x-kubernetes-map-type is specified\n"
	 "properties[a].type|FieldValueInvalid|Invalid value: \"string\": must be array if x-kubernetes-list-type is specified"},
	{ROOT("'a': {'type': 'array', 'items': {'type': 'object'}, 'x-kubernetes-list-type': 'map'}"),
	 "properties[a].x-kubernetes-list-map-keys|FieldValueRequired|Required value: must not be empty if "
	 "x-kubernetes-list-type is map"},
	{ROOT("'a': {'type': 'array', 'items': {'type': 'string'}, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['a']}"),
	 "properties[a].items.type|FieldValueInvalid|Invalid value: null: must be object if parent array's "
	 "x-kubernetes-list-type is map"},
	{ROOT("'a': {'type': 'array', 'items': {'type': 'object', 'properties': {'n': {'type': 'object'}}}, "
	      "'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['n', 'm', 'm', 5]}"),
	 "properties[a].items.properties[n].type|FieldValueInvalid|Invalid value: null: must be a scalar type if "
	 "parent array's x-kubernetes-list-type is map\n"
	 "properties[a].items.properties[n].default|FieldValueRequired|Required value: this property is in "
	 "x-kubernetes-list-map-keys, so it must have a default or be a required property\n"
	 "properties[a].x-kubernetes-list-map-keys|FieldValueInvalid|Invalid value: \"m\": entries must all be names of "
	 "item properties\n"
	 "properties[a].x-kubernetes-list-map-keys|FieldValueInvalid|Invalid value: \"m\": entries must all be names of "
	 "item properties\n"
	 "properties[a].x-kubernetes-list-map-keys|FieldValueInvalid|Invalid value: \"m\": must be there once\n"
	 "properties[a].x-kubernetes-list-map-keys|FieldValueInvalid|Invalid value: 5: entries must all be names of "
	 "item properties"},
	{ROOT("'a': {'type': 'array', 'items': {'type': 'object', 'nullable': true}, 'x-kubernetes-list-type': 'set'}"),
	 "properties[a].items.nullable|FieldValueForbidden|Forbidden: cannot be nullable when x-kubernetes-list-type is \"set\"\n"
	 "properties[a].items.x-kubernetes-map-type|FieldValueInvalid|Invalid value: null: must be atomic as item of a "
	 "list with x-kubernetes-list-type=set"},
	{ROOT("'a': {'type': 'array', 'items': {'type': 'string'}, 'x-kubernetes-list-map-keys': ['a']}"),
	 "properties[a].x-kubernetes-list-type|FieldValueInvalid|Invalid value: null: must be map if "
	 "x-kubernetes-list-map-keys is non-empty"},
	/* defaults */
	{ROOT("'a': {'type': 'integer', 'maximum': 5, 'default': 6}"),
	 "properties[a].default|FieldValueInvalid|Invalid value: 6: should be less than or equal to 5"},
	{ROOT("'a': {'type': 'object', 'default': {'b': 1, 'c': 2}, 'properties': {'b': {'type': 'string'}}}"),
	 "properties[a].default|FieldValueInvalid|Invalid value: {\"b\":1,\"c\":2}: must not have fields that the "
	 "schema does not name: c"},
	{ROOT("'a': {'type': 'object', 'default': {'b': 1}, 'properties': {'b': {'type': 'string'}}}"),
	 "properties[a].default.b|FieldValueTypeInvalid|Invalid value: \"integer\": b in body must be of type string: \"integer\""},
	{"{'type': 'object', 'required': [5]}",
	 "required|FieldValueInvalid|Invalid value: 5: must be a list of strings"},
	{ROOT("'a': 5"),
	 "properties[a]|FieldValueInvalid|Invalid value: 5: must be a schema object"},
};

static void test_bad(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(bad); i++) {
		struct neap_causes causes = {0};
		struct neap_schema *schema = NULL;
		struct neap_error err = {0};
		json_t *json = json_of(bad[i].schema);
		int rc = neap_schema_parse(json, &schema, &causes, &err);
		char *text = text_of(&causes);

		if (rc != -NEAP_EINVAL || strcmp(text, bad[i].want) != 0)
			fail_msg("%s: %d\n%s\nnot\n%s", bad[i].schema, rc, text,
				 bad[i].want);
		assert_null(schema);
		assert_int_equal(err.code, NEAP_EINVAL);
		assert_memory_equal(err.msg, causes.list[0].message, 10);
		free(text);
		json_decref(json);
	}
}

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
		json = json_of(buf.data);
		neap_buf_done(&buf);
		assert_int_equal(neap_schema_parse(json, &schema, &causes, &err),
				 -NEAP_ETOOLARGE);
		assert_non_null(strstr(err.msg, rows[i].want));
		json_decref(json);
	}
	/* Too many nodes. */
	json = json_of("{'type': 'object', 'properties': {}}");
	properties = json_object_get(json, "properties");
	for (i = 0; i < NEAP_SCHEMA_NODES_MAX; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "p%zu", i);
		assert_int_equal(json_object_set_new(properties, name,
						     json_of("{'type': 'string'}")),
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
	json = json_of("{'type': 'object', 'properties': {}}");
	properties = json_object_get(json, "properties");
	for (i = 0; i < 1000; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "p%zu", i);
		assert_int_equal(
			json_object_set_new(
				properties, name,
				json_of("{'type': 'string', 'pattern': '([ab]x){900}'}")),
			0);
	}
	assert_int_equal(neap_schema_parse(json, &schema, &causes, &err),
			 -NEAP_ETOOLARGE);
	json_decref(json);
	neap_schema_free(NULL);
}

/* --- objects --- */

/* The schema of one field "a"; its value; what is told. */
static const struct {
	const char *schema, *value, *want;
} checks[] = {
	{"{'type': 'integer', 'minimum': 1, 'maximum': 10}", "10", ""},
	{"{'type': 'integer', 'minimum': 1, 'maximum': 10}", "15",
	 "a|FieldValueInvalid|Invalid value: 15: a in body should be less than or equal to 10"},
	{"{'type': 'integer', 'minimum': 1, 'exclusiveMinimum': true}", "1",
	 "a|FieldValueInvalid|Invalid value: 1: a in body should be greater than 1"},
	{"{'type': 'number', 'maximum': 0.5, 'exclusiveMaximum': true}", "0.5",
	 "a|FieldValueInvalid|Invalid value: 0.5: a in body should be less than 0.5"},
	{"{'type': 'integer'}", "2.0", ""},
	{"{'type': 'integer'}", "2.5",
	 "a|FieldValueTypeInvalid|Invalid value: \"number\": a in body must be of type integer: \"number\""},
	{"{'type': 'integer', 'format': 'int32'}", "3000000000",
	 "a|FieldValueInvalid|Invalid value: 3000000000: a in body must be of type int32: \"3000000000\""},
	{"{'type': 'integer', 'format': 'int64'}", "3000000000", ""},
	{"{'type': 'number', 'multipleOf': 0.5}", "1.5", ""},
	{"{'type': 'number', 'multipleOf': 0.5}", "1.6",
	 "a|FieldValueInvalid|Invalid value: 1.6: a in body should be a multiple of 0.5"},
	{"{'type': 'string'}", "5",
	 "a|FieldValueTypeInvalid|Invalid value: \"integer\": a in body must be of type string: \"integer\""},
	{"{'type': 'string', 'nullable': true}", "null", ""},
	{"{'type': 'string'}", "null",
	 "a|FieldValueTypeInvalid|Invalid value: \"null\": a in body must be of type string: \"null\""},
	{"{'type': 'string', 'pattern': '^(\\\\d+|\\\\*)(/\\\\d+)?(\\\\s+(\\\\d+|\\\\*)(/\\\\d+)?){4}$'}",
	 "'*/5 * * * *'", ""},
	{"{'type': 'string', 'pattern': '^(\\\\d+|\\\\*)(/\\\\d+)?(\\\\s+(\\\\d+|\\\\*)(/\\\\d+)?){4}$'}",
	 "'* * * *'",
	 "a|FieldValueInvalid|Invalid value: \"* * * *\": a in body should match "
	 "'^(\\d+|\\*)(/\\d+)?(\\s+(\\d+|\\*)(/\\d+)?){4}$'"},
	{"{'type': 'string', 'pattern': 'b'}", "'abc'", ""},
	{"{'type': 'string', 'pattern': '^.$'}", "'\303\244'", ""},
	{"{'type': 'string', 'pattern': '^a$'}", "'a\\n'",
	 "a|FieldValueInvalid|Invalid value: \"a\\n\": a in body should match '^a$'"},
	{"{'type': 'string', 'minLength': 2}", "'\303\244'",
	 "a|FieldValueInvalid|Invalid value: \"\303\244\": a in body should be at least 2 chars long"},
	{"{'type': 'string', 'maxLength': 2}", "'\303\244\303\244'", ""},
	{"{'type': 'string', 'maxLength': 2}", "'abc'",
	 "a|FieldValueTooLong|Too long: may not be longer than 2"},
	{"{'type': 'string', 'minItems': 2}", "'a'", ""},
	{"{'type': 'string', 'format': 'date-time'}", "'yesterday'",
	 "a|FieldValueInvalid|Invalid value: \"yesterday\": a in body must be of type date-time: \"yesterday\""},
	{"{'type': 'string', 'format': 'ipv4'}", "'10.0.0.1'", ""},
	{"{'type': 'string', 'format': 'what-is-this'}", "'x'", ""},
	{"{'type': 'string', 'enum': ['x', 'y']}", "'z'",
	 "a|FieldValueNotSupported|Unsupported value: \"z\": supported values: \"x\", \"y\""},
	{"{'type': 'integer', 'enum': [1, 2]}", "2", ""},
	{"{'type': 'number', 'enum': [1, 2]}", "2.0", ""},
	{"{'type': 'integer', 'enum': [1, 2]}", "3",
	 "a|FieldValueNotSupported|Unsupported value: 3: supported values: \"1\", \"2\""},
	{"{'x-kubernetes-int-or-string': true, 'enum': [1, 'x']}", "'1'",
	 "a|FieldValueNotSupported|Unsupported value: \"1\": supported values: \"1\", \"x\""},
	{"{'x-kubernetes-int-or-string': true}", "'25%'", ""},
	{"{'anyOf': [{'type': 'integer'}, {'type': 'string'}], 'x-kubernetes-int-or-string': true}",
	 "7", ""},
	{"{'allOf': [{'anyOf': [{'type': 'integer'}, {'type': 'string'}]}, {'pattern': '^x'}], "
	 "'x-kubernetes-int-or-string': true}",
	 "'y'", "a|FieldValueInvalid|Invalid value: \"y\": a in body should match '^x'"},
	{"{'x-kubernetes-int-or-string': true}", "true",
	 "a|FieldValueTypeInvalid|Invalid value: \"boolean\": a in body must be of type integer,string: \"boolean\""},
	{"{'x-kubernetes-int-or-string': true, 'pattern': '^[0-9]+%$', 'maximum': 5, 'maxLength': 3}",
	 "'x%'",
	 "a|FieldValueInvalid|Invalid value: \"x%\": a in body should match '^[0-9]+%$'"},
	{"{'x-kubernetes-int-or-string': true, 'pattern': '^[0-9]+%$', 'maximum': 5, 'maxLength': 3}",
	 "6",
	 "a|FieldValueInvalid|Invalid value: 6: a in body should be less than or equal to 5"},
	{"{'x-kubernetes-preserve-unknown-fields': true}", "[1, {'x': null}]", ""},
	/* lists */
	{"{'type': 'array', 'items': {'type': 'string'}, 'minItems': 1}", "[]",
	 "a|FieldValueInvalid|Invalid value: []: a in body should have at least 1 items"},
	{"{'type': 'array', 'items': {'type': 'string'}, 'maxItems': 1}", "['x', 'y']",
	 "a|FieldValueTooMany|Too many: 2: must have at most 1 items"},
	{"{'type': 'array', 'items': {'type': 'string'}}", "['x', 5]",
	 "a[1]|FieldValueTypeInvalid|Invalid value: \"integer\": a[1] in body must be of type string: \"integer\""},
	{"{'type': 'array', 'items': {'type': 'string'}, 'x-kubernetes-list-type': 'set'}",
	 "['x', 'y', 'x', 'x']",
	 "a[2]|FieldValueDuplicate|Duplicate value: \"x\"\na[3]|FieldValueDuplicate|Duplicate value: \"x\""},
	{"{'type': 'array', 'items': {'type': 'number'}, 'x-kubernetes-list-type': 'set'}",
	 "[1, 1.0, 1.5]", "a[1]|FieldValueDuplicate|Duplicate value: 1"},
	{"{'type': 'array', 'items': {'type': 'object', 'x-kubernetes-map-type': 'atomic', "
	 "'x-kubernetes-preserve-unknown-fields': true}, 'x-kubernetes-list-type': 'set'}",
	 "[{'x': 1, 'y': 2}, {'y': 2, 'x': 1}]",
	 "a[1]|FieldValueDuplicate|Duplicate value: {\"y\":2,\"x\":1}"},
	{"{'type': 'array', 'items': {'type': 'object', 'required': ['n'], 'properties': {'n': {'type': 'string'}, "
	 "'p': {'type': 'integer', 'default': 1}, 'v': {'type': 'string'}}}, 'x-kubernetes-list-type': 'map', "
	 "'x-kubernetes-list-map-keys': ['n', 'p']}",
	 "[{'n': 'x'}, {'n': 'x', 'p': 2}, {'n': 'x', 'p': 1, 'v': 'w'}]",
	 "a[2]|FieldValueDuplicate|Duplicate value: {\"n\":\"x\",\"p\":1}"},
	{"{'type': 'array', 'items': {'type': 'object', 'required': ['n'], 'properties': {'n': {'type': 'string'}}}, "
	 "'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['n']}",
	 "[5, 'x']",
	 "a[0]|FieldValueTypeInvalid|Invalid value: \"integer\": a[0] in body must be of type object: \"integer\"\n"
	 "a[1]|FieldValueTypeInvalid|Invalid value: \"string\": a[1] in body must be of type object: \"string\""},
	/* objects */
	{"{'type': 'object', 'required': ['x', 'y'], 'properties': {'x': {'type': 'string'}}}",
	 "{}",
	 "a.x|FieldValueRequired|Required value\na.y|FieldValueRequired|Required value"},
	{"{'type': 'object', 'additionalProperties': {'type': 'integer'}, 'minProperties': 1, 'required': ['k']}",
	 "{'x.y': 'z'}",
	 "a.k|FieldValueRequired|Required value\n"
	 "a[x.y]|FieldValueTypeInvalid|Invalid value: \"string\": a[x.y] in body must be of type integer: \"string\""},
	{"{'type': 'object', 'additionalProperties': {'type': 'integer'}, 'minProperties': 1}",
	 "{}",
	 "a|FieldValueInvalid|Invalid value: {}: a in body should have at least 1 properties"},
	{"{'type': 'object', 'additionalProperties': true, 'maxProperties': 1}",
	 "{'x': 1, 'y': {}}",
	 "a|FieldValueTooMany|Too many: 2: must have at most 1 items"},
	{"{'type': 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true}",
	 "{'kind': 5}",
	 "a.apiVersion|FieldValueRequired|Required value\n"
	 "a.kind|FieldValueTypeInvalid|Invalid value: \"integer\": a.kind in body must be of type string: \"integer\""},
	/* logic */
	{"{'type': 'integer', 'allOf': [{'minimum': 1}, {'maximum': 5}]}", "7",
	 "a|FieldValueInvalid|Invalid value: 7: a in body should be less than or equal to 5"},
	{"{'type': 'object', 'properties': {'x': {'type': 'string'}, 'y': {'type': 'string'}}, "
	 "'oneOf': [{'required': ['x']}, {'required': ['y']}]}",
	 "{'x': 'z'}", ""},
	{"{'type': 'object', 'properties': {'x': {'type': 'string'}, 'y': {'type': 'string'}}, "
	 "'oneOf': [{'required': ['x']}, {'required': ['y']}]}",
	 "{'x': 'z', 'y': 'z'}",
	 "a|FieldValueInvalid|Invalid value: \"\": \"a\" must validate one and only one schema (oneOf). Found 2 valid "
	 "alternatives"},
	{"{'type': 'object', 'properties': {'x': {'type': 'string'}, 'y': {'type': 'string'}}, "
	 "'oneOf': [{'required': ['x', 'y']}, {'required': ['y']}]}",
	 "{}",
	 "a|FieldValueInvalid|Invalid value: \"\": \"a\" must validate one and only one schema (oneOf). Found none valid\n"
	 "a.y|FieldValueRequired|Required value"},
	{"{'type': 'string', 'anyOf': [{'pattern': '^x'}, {'pattern': 'y$'}]}", "'z'",
	 "a|FieldValueInvalid|Invalid value: \"\": \"a\" must validate at least one schema (anyOf)\n"
	 "a|FieldValueInvalid|Invalid value: \"z\": a in body should match '^x'"},
	{"{'type': 'string', 'not': {'pattern': '^x'}}", "'xy'",
	 "a|FieldValueInvalid|Invalid value: \"\": \"a\" must not validate the schema (not)"},
	{"{'type': 'string', 'not': {'anyOf': [{'enum': ['p']}, {'enum': ['q']}]}}",
	 "'r'", ""},
	{"{'type': 'object', 'additionalProperties': {'type': 'string'}, 'allOf': [{'minProperties': 1, 'minLength': 5, "
	 "'minItems': 7}]}",
	 "{}",
	 "a|FieldValueInvalid|Invalid value: {}: a in body should have at least 1 properties"},
	{"{'x-kubernetes-preserve-unknown-fields': true, 'minProperties': 1, 'minLength': 5, 'minItems': 7}",
	 "'abc'",
	 "a|FieldValueInvalid|Invalid value: \"abc\": a in body should be at least 5 chars long"},
	{"{'x-kubernetes-preserve-unknown-fields': true, 'minProperties': 1, 'minLength': 5, 'minItems': 2}",
	 "[5]",
	 "a|FieldValueInvalid|Invalid value: [5]: a in body should have at least 2 items"},
	{"{'x-kubernetes-preserve-unknown-fields': true, 'minProperties': 2, 'minLength': 5, 'minItems': 7}",
	 "{'x': 1}",
	 "a|FieldValueInvalid|Invalid value: {\"x\":1}: a in body should have at least 2 properties"},
};

static void test_check(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(checks); i++) {
		struct neap_causes causes = {0};
		struct neap_schema *schema;
		struct neap_buf buf;
		json_t *object = json_object();
		char *text;

		neap_buf_init(&buf, NEAP_BUF_FILE);
		neap_buf_addf(&buf, ROOT("'a': %s"), checks[i].schema);
		schema = schema_of(buf.data);
		neap_buf_done(&buf);
		assert_int_equal(
			json_object_set_new(object, "a", json_of(checks[i].value)), 0);
		assert_true(neap_schema_default(schema, object));
		assert_true(neap_schema_check(schema, object, &causes));
		text = text_of(&causes);
		if (strcmp(text, checks[i].want) != 0)
			fail_msg("%s, %s:\n%s\nnot\n%s", checks[i].schema,
				 checks[i].value, text, checks[i].want);
		free(text);
		json_decref(object);
		neap_schema_free(schema);
	}
}

/* A part of the Reservation of Koordinator. */
static const char reservation[] =
	"{'type': 'object', 'description': 'Reservation keeps room.', 'properties': {"
	" 'apiVersion': {'type': 'string', 'description': 'version'}, 'kind': {'type': 'string'},"
	" 'metadata': {'type': 'object'},"
	" 'spec': {'type': 'object', 'required': ['owners', 'template'], 'properties': {"
	"  'allocateOnce': {'type': 'boolean', 'default': true},"
	"  'expires': {'type': 'string', 'format': 'date-time'},"
	"  'owners': {'type': 'array', 'minItems': 1, 'items': {'type': 'object', 'properties': {"
	"   'labelSelector': {'type': 'object', 'properties': {"
	"    'matchLabels': {'type': 'object', 'additionalProperties': {'type': 'string'}}}},"
	"   'object': {'type': 'object', 'properties': {'name': {'type': 'string'}}}}}},"
	"  'taints': {'type': 'array', 'items': {'type': 'object', 'required': ['effect', 'key'], 'properties': {"
	"   'effect': {'type': 'string'}, 'key': {'type': 'string'}, 'tolerationSeconds': {'type': 'integer',"
	"   'format': 'int64', 'default': 30}}}},"
	"  'template': {'type': 'object', 'x-kubernetes-preserve-unknown-fields': true},"
	"  'ttl': {'type': 'string', 'default': '24h'}}},"
	" 'status': {'type': 'object', 'properties': {'allocatable': {'type': 'object', 'additionalProperties':"
	"  {'anyOf': [{'type': 'integer'}, {'type': 'string'}], 'x-kubernetes-int-or-string': true,"
	"   'pattern': '^(\\\\+|-)?(([0-9]+(\\\\.[0-9]*)?)|(\\\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\\\+|-)?"
	"(([0-9]+(\\\\.[0-9]*)?)|(\\\\.[0-9]+))))?$'}}}}}}";

static void note_path(void *arg, const char *path)
{
	neap_buf_addf(arg, "%s;", path);
}

static void test_reservation(void **state)
{
	struct neap_schema *schema = schema_of(reservation);
	struct neap_causes causes = {0};
	struct neap_buf paths;
	json_t *object = json_of(
		"{'apiVersion': 'scheduling.koordinator.sh/v1alpha1', 'kind': 'Reservation',"
		" 'metadata': {'name': 'a', 'labels': {'b': 'c'}}, 'typo': 1,"
		" 'spec': {'template': {'spec': {'containers': [{'name': 'x', 'unknown': null}]}},"
		"  'ttl': null, 'owners': [{'labelSelector': {'matchLabels': {'a': 'b'}}, 'frob': 5}],"
		"  'taints': [{'effect': 'NoSchedule'}]},"
		" 'status': {'allocatable': {'cpu': 4, 'memory': '8Gi', 'pods': 'many'}}}");
	json_t *want = json_of(
		"{'apiVersion': 'scheduling.koordinator.sh/v1alpha1', 'kind': 'Reservation',"
		" 'metadata': {'name': 'a', 'labels': {'b': 'c'}},"
		" 'spec': {'allocateOnce': true, 'template': {'spec': {'containers': [{'name': 'x', 'unknown': null}]}},"
		"  'ttl': '24h', 'owners': [{'labelSelector': {'matchLabels': {'a': 'b'}}}],"
		"  'taints': [{'effect': 'NoSchedule', 'tolerationSeconds': 30}]},"
		" 'status': {'allocatable': {'cpu': 4, 'memory': '8Gi', 'pods': 'many'}}}");
	char *text;

	(void)state;
	assert_string_equal(schema->doc, "Reservation keeps room.");
	assert_string_equal(neap_schema_field_find(schema, "apiVersion")->schema->doc,
			    "version");
	neap_buf_init(&paths, NEAP_BUF_LINE);
	assert_true(neap_schema_prune(schema, object, note_path, &paths));
	assert_string_equal(paths.data, "typo;spec.owners[0].frob;");
	assert_true(neap_schema_default(schema, object));
	assert_true(json_equal(object, want));
	assert_true(neap_schema_check(schema, object, &causes));
	text = text_of(&causes);
	assert_non_null(strstr(
		text,
		"spec.taints[0].key|FieldValueRequired|Required value\n"
		"status.allocatable[pods]|FieldValueInvalid|Invalid value: \"many\": "
		"status.allocatable[pods] in body should match '^("));
	assert_int_equal(causes.count, 2);
	assert_int_equal(neap_schema_find(schema, "spec.owners.labelSelector")->type,
			 NEAP_SCHEMA_OBJECT);
	free(text);
	neap_buf_done(&paths);
	json_decref(object);
	json_decref(want);
	neap_schema_free(schema);
}

static void test_metadata(void **state)
{
	static const struct neap_schema_field fields[] = {
		{.name = "name", .schema = &neap_schema_string},
		{.name = "labels", .schema = &neap_schema_string_map},
	};
	static const struct neap_schema metadata = {.name = "x.Meta",
						    NEAP_SCHEMA_FIELDS(fields)};
	struct neap_schema *schema = schema_of(ROOT(
		"'metadata': {'type': 'object', 'properties': {'name': {'type': 'string', 'maxLength': 3}}},"
		"'in': {'type': 'object', 'x-kubernetes-embedded-resource': true, 'properties': {'spec': {'type': 'object'}}}"));
	json_t *object = json_of(
		"{'metadata': {'name': 'long', 'labels': {'a': 5}, 'x': 1},"
		" 'in': {'kind': 'A', 'apiVersion': 'v1', 'metadata': {'name': 'longer', 'y': 1}, 'spec': {}, 'z': 1}}");
	struct neap_causes causes = {0};
	struct neap_buf paths;
	char *text;

	(void)state;
	neap_buf_init(&paths, NEAP_BUF_LINE);
	/* Any object, as long as nothing is known. */
	assert_ptr_equal(neap_schema_find(schema, "metadata"),
			 neap_schema_find(schema, "in.metadata"));
	assert_true(neap_schema_prune(schema, object, note_path, &paths));
	assert_string_equal(paths.data, "in.z;");
	neap_schema_set_metadata(schema, &metadata);
	neap_buf_clear(&paths);
	assert_true(neap_schema_prune(schema, object, note_path, &paths));
	assert_string_equal(paths.data, "metadata.x;in.metadata.y;");
	assert_string_equal(neap_schema_find(schema, "metadata")->name, "x.Meta");
	assert_true(neap_schema_check(schema, object, &causes));
	text = text_of(&causes);
	assert_string_equal(
		text,
		"metadata.labels[a]|FieldValueTypeInvalid|Invalid value: \"integer\": must be of type string: \"integer\"\n"
		"metadata.name|FieldValueTooLong|Too long: may not be longer than 3");
	free(text);
	neap_buf_done(&paths);
	json_decref(object);
	neap_schema_free(schema);
}

static void test_rules(void **state)
{
	struct neap_schema *schema = schema_of(
		"{'type': 'object', 'x-kubernetes-validations': [{'rule': 'self.a < self.b'}], 'properties': {"
		"'l': {'type': 'array', 'items': {'type': 'string', 'x-kubernetes-validations': [{'rule': 'x'}]}},"
		"'m': {'type': 'object', 'additionalProperties': {'type': 'object', 'x-kubernetes-validations': [],"
		" 'properties': {'n': {'type': 'string', 'x-kubernetes-validations': [{'rule': 'y'}]}}}}}}");
	struct neap_buf paths;

	(void)state;
	neap_buf_init(&paths, NEAP_BUF_LINE);
	assert_int_equal(neap_schema_rules(schema, note_path, &paths), 3);
	assert_string_equal(paths.data, ";l[*];m[*].n;");
	assert_int_equal(neap_schema_rules(schema, NULL, NULL), 3);
	neap_buf_done(&paths);
	neap_schema_free(schema);
}

/* Items of lists and values of maps have defaults, too: for null. */
static void test_default_items(void **state)
{
	struct neap_schema *schema = schema_of(ROOT(
		"'l': {'type': 'array', 'items': {'type': 'object', 'default': {'x': 'y'}, 'properties': {'x': {'type': 'string'},"
		" 'z': {'type': 'integer', 'default': 3}}}},"
		"'m': {'type': 'object', 'additionalProperties': {'type': 'string', 'default': 'd\\u0000'}},"
		"'n': {'type': 'object', 'additionalProperties': {'type': 'string', 'nullable': true, 'default': 'd'}},"
		"'o': {'type': 'object', 'default': {}, 'properties': {'p': {'type': 'number', 'default': 0.1}}}"));
	json_t *object = json_of(
		"{'l': [null, {}], 'm': {'a': null, 'b': 'c'}, 'n': {'a': null}}");
	json_t *want = json_of(
		"{'l': [{'x': 'y', 'z': 3}, {'z': 3}], 'm': {'a': 'd\\u0000', 'b': 'c'}, 'n': {'a': null},"
		" 'o': {'p': 0.1}}");

	(void)state;
	assert_true(neap_schema_prune(schema, object, NULL, NULL));
	assert_true(neap_schema_default(schema, object));
	assert_true(json_equal(object, want));
	json_decref(object);
	json_decref(want);
	neap_schema_free(schema);
}

/* --- time --- */

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A list of count items of that text. */
static json_t *many(const char *name, const char *item, size_t count)
{
	json_t *object = json_object(), *list = json_array(), *one = json_of(item);
	size_t i;

	for (i = 0; i < count; i++)
		assert_int_equal(json_array_append(list, one), 0);
	json_decref(one);
	assert_int_equal(json_object_set_new(object, name, list), 0);
	return object;
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
		 "'aaaaaaaaaaaaaaaaab'", 300000, "should match"},
		/* usual ones, and many of them */
		{"{'type': 'string', 'pattern': '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'}",
		 "'abc-def'", 200000, ""},
		{"{'x-kubernetes-int-or-string': true}", "1", 1000000, ""},
		{"{'type': 'string', 'anyOf': [{'not': {'anyOf': [{'not': {'anyOf': [{'not': {'minLength': 1}},"
		 " {'maxLength': 0}]}}, {'maxLength': 0}]}}, {'maxLength': 0}]}",
		 "'abc'", 100000, "(not)"},
	};
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_causes causes = {0};
		struct neap_schema *schema;
		struct neap_buf buf;
		json_t *object = many("l", rows[i].item, rows[i].count);
		double begin;

		neap_buf_init(&buf, NEAP_BUF_FILE);
		neap_buf_addf(&buf, ROOT("'l': {'type': 'array', 'items': %s}"),
			      rows[i].schema);
		schema = schema_of(buf.data);
		neap_buf_done(&buf);
		begin = now();
		assert_true(neap_schema_check(schema, object, &causes));
		/* Half a second; a sanitizer takes ten times as long. */
		if (now() - begin > 10)
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
	struct neap_schema *schema = schema_of(ROOT(
		"'l': {'type': 'array', 'items': {'type': 'integer'}, 'x-kubernetes-list-type': 'set'}"));
	json_t *object = many("l", "1", 0), *list = json_object_get(object, "l");
	struct neap_causes causes = {0};
	double begin = now();
	size_t i;

	(void)state;
	for (i = 0; i < 500000; i++)
		assert_int_equal(json_array_append_new(
					 list, json_integer((json_int_t)(i % 499999))),
				 0);
	assert_true(neap_schema_check(schema, object, &causes));
	assert_true(now() - begin < 20);
	assert_int_equal(causes.count, 1);
	assert_string_equal(causes.list[0].field, "l[499999]");
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
	schema = schema_of(buf.data);
	object = many("l", "{}", 1);
	assert_true(neap_schema_default(schema, object));
	json_decref(object);
	object = json_of("{'l': []}");
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
	json = json_of(buf.data);
	assert_int_equal(neap_schema_parse(json, &schema, &causes, &err),
			 -NEAP_ETOOLARGE);
	json_decref(json);
	neap_buf_done(&buf);
}

/* --- memory --- */

/* Each allocation fails in turn; what is half done is given back. */
static void test_memory(void **state)
{
	static const char text[] = ROOT(
		"'a': {'type': 'array', 'x-kubernetes-list-type': 'set', 'items': {'type': 'string', 'pattern': '^a|b$',"
		" 'enum': ['a', 'b', 'c']}, 'default': ['b', 'a']},"
		"'b': {'type': 'integer', 'enum': [1, 2], 'default': 2},"
		"'metadata': {'type': 'object', 'properties': {'name': {'type': 'string', 'pattern': '^x'}}},"
		"'c': {'x-kubernetes-int-or-string': true, 'allOf': [{'minLength': 1}], 'maxLength': 5}");
	json_t *json = json_of(text);
	json_t *object = json_of("{'metadata': {'name': 'y'}, 'a': ['c', 'c'], 'c': ''}");
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

static int setup(void **state)
{
	(void)state;
	neap_json_setup();
	return 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_reservation),
		cmocka_unit_test(test_metadata),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_default_items),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_time_of_sets),
		cmocka_unit_test(test_many_defaults),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
