/* SPDX-License-Identifier: Apache-2.0
 *
 * Schemas of CustomResourceDefinitions: what is read, what is refused and in which words,
 * objects of such kinds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/buf.h"
#include "engine/schema/schema.h"
#include "t/lib/schema_rig.h"

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
	{RIG_ROOT("'spec': {}"),
	 "properties[spec].type|FieldValueRequired|Required value: must not be empty for specified object fields"},
	{RIG_ROOT("'spec': {'type': 'array', 'items': {}}"),
	 "properties[spec].items.type|FieldValueRequired|Required value: must not be empty for specified array items"},
	{RIG_ROOT("'spec': {'type': 'object', 'additionalProperties': {}}"),
	 "properties[spec].additionalProperties.type|FieldValueRequired|Required value: must not be empty for "
	 "specified object fields"},
	{RIG_ROOT("'spec': {'type': 'strin'}"),
	 "properties[spec].type|FieldValueNotSupported|Unsupported value: \"strin\": supported values: \"array\", "
	 "\"boolean\", \"integer\", \"number\", \"object\", \"string\""},
	{RIG_ROOT("'a': {'type': 'null'}"),
	 "properties[a].type|FieldValueForbidden|Forbidden: type cannot be set to null, use nullable as an alternative"},
	{RIG_ROOT("'a': {'type': 'array'}"),
	 "properties[a].items|FieldValueRequired|Required value: must be specified"},
	{RIG_ROOT("'a': {'type': 'array', 'items': [{'type': 'string'}]}"),
	 "properties[a].items|FieldValueForbidden|Forbidden: items must be a schema object and not an array"},
	{RIG_ROOT("'a': {'$ref': '#/x', 'type': 'string'}"),
	 "properties[a].$ref|FieldValueForbidden|Forbidden: $ref is not supported"},
	{RIG_ROOT(
		 "'a': {'type': 'object', 'patternProperties': {'a': {}}, 'definitions': {'b': {}}, 'id': 'x'}"),
	 "properties[a].id|FieldValueForbidden|Forbidden: id is not supported\n"
	 "properties[a].patternProperties|FieldValueForbidden|Forbidden: patternProperties is not supported\n"
	 "properties[a].definitions|FieldValueForbidden|Forbidden: definitions is not supported"},
	{RIG_ROOT(
		 "'a': {'type': 'array', 'items': {'type': 'string'}, 'uniqueItems': true}"),
	 "properties[a].uniqueItems|FieldValueForbidden|Forbidden: uniqueItems cannot be set to true since the "
	 "runtime complexity becomes quadratic"},
	{RIG_ROOT("'a': {'type': 'object', 'additionalProperties': false}"),
	 "properties[a].additionalProperties|FieldValueForbidden|Forbidden: additionalProperties cannot be set to false"},
	{RIG_ROOT(
		 "'a': {'type': 'object', 'additionalProperties': {'type': 'string'}, 'properties': {'b': {'type': 'string'}}}"),
	 "properties[a].additionalProperties|FieldValueForbidden|Forbidden: additionalProperties and properties are "
	 "mutual exclusive"},
	{RIG_ROOT(
		 "'a': {'type': 'object', 'x-kubernetes-preserve-unknown-fields': false}"),
	 "properties[a].x-kubernetes-preserve-unknown-fields|FieldValueInvalid|Invalid value: false: must be true or undefined"},
	{RIG_ROOT("'a': {'type': 'object', 'x-kubernetes-embedded-resource': true}"),
	 "properties[a].properties|FieldValueRequired|Required value: must not be empty if "
	 "x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"},
	{RIG_ROOT("'a': {'type': 'string', 'pattern': '('}"),
	 "properties[a].pattern|FieldValueInvalid|Invalid value: \"(\": must be a valid regular expression, but "
	 "isn't: missing closing parenthesis at byte 1"},
	{RIG_ROOT(
		 "'a': {'type': 'string', 'minLength': -1, 'maxLength': 'x', 'minimum': 'y', 'multipleOf': 0, 'enum': {}}"),
	 "properties[a].minimum|FieldValueInvalid|Invalid value: \"y\": must be a number\n"
	 "properties[a].multipleOf|FieldValueInvalid|Invalid value: 0: must be greater than 0\n"
	 "properties[a].minLength|FieldValueInvalid|Invalid value: -1: must be a whole number, 0 or more\n"
	 "properties[a].maxLength|FieldValueInvalid|Invalid value: \"x\": must be a whole number, 0 or more\n"
	 "properties[a].enum|FieldValueInvalid|Invalid value: {}: must be an array"},
	/* logic */
	{RIG_ROOT(
		 "'a': {'type': 'string', 'allOf': [{'type': 'string', 'description': 'x', 'default': 'y', 'nullable': true}]}"),
	 "properties[a].allOf[0].description|FieldValueForbidden|Forbidden: must be empty to be structural\n"
	 "properties[a].allOf[0].default|FieldValueForbidden|Forbidden: must be undefined to be structural\n"
	 "properties[a].allOf[0].nullable|FieldValueForbidden|Forbidden: must be false to be structural\n"
	 "properties[a].allOf[0].type|FieldValueForbidden|Forbidden: must be empty to be structural"},
	{RIG_ROOT(
		 "'a': {'type': 'object', 'anyOf': [{'properties': {'b': {'minimum': 1}}}]}"),
	 "properties[a].properties[b]|FieldValueRequired|Required value: because it is defined in "
	 "properties[a].anyOf[0].properties[b]"},
	{RIG_ROOT(
		 "'a': {'type': 'array', 'items': {'type': 'object', 'properties': {'x': {'type': 'string'}}}, "
		 "'not': {'oneOf': [{'items': {'properties': {'x': {}, 'y': {}}}}]}}"),
	 "properties[a].items.properties[y]|FieldValueRequired|Required value: because it is defined in "
	 "properties[a].not.oneOf[0].items.properties[y]"},
	{RIG_ROOT(
		 "'a': {'type': 'string', 'anyOf': [{'type': 'integer'}, {'type': 'string'}]}"),
	 "properties[a].anyOf[0].type|FieldValueForbidden|Forbidden: must be empty to be structural\n"
	 "properties[a].anyOf[1].type|FieldValueForbidden|Forbidden: must be empty to be structural"},
	{RIG_ROOT("'a': {'type': 'string', 'oneOf': {}}"),
	 "properties[a].oneOf|FieldValueInvalid|Invalid value: {}: must be an array"},
	/* metadata */
	{RIG_ROOT(
		 "'metadata': {'type': 'object', 'properties': {'labels': {'type': 'object'}}}"),
	 "properties[metadata]|FieldValueForbidden|Forbidden: must not specify anything other than name and "
	 "generateName, but metadata is implicitly specified"},
	{RIG_ROOT("'metadata': {'type': 'string'}, 'kind': {'type': 'integer'}"),
	 "properties[kind].type|FieldValueInvalid|Invalid value: null: must be string\n"
	 "properties[metadata].type|FieldValueInvalid|Invalid value: null: must be object"},
	/* lists */
	{RIG_ROOT(
		 "'a': {'type': 'array', 'items': {'type': 'string'}, 'x-kubernetes-list-type': 'sets'}"),
	 "properties[a].x-kubernetes-list-type|FieldValueNotSupported|Unsupported value: \"sets\": supported values: "
	 "\"atomic\", \"set\", \"map\""},
	{RIG_ROOT(
		 "'a': {'type': 'string', 'x-kubernetes-list-type': 'set', 'x-kubernetes-map-type': 'flat'}"),
	 "properties[a].x-kubernetes-map-type|FieldValueNotSupported|Unsupported value: \"flat\": supported values: "
	 "\"atomic\", \"granular\"\n"
	 "properties[a].type|FieldValueInvalid|Invalid value: \"string\": must be object if x-kubernetes-map-type is specified\n"
	 "properties[a].type|FieldValueInvalid|Invalid value: \"string\": must be array if x-kubernetes-list-type is specified"},
	{RIG_ROOT(
		 "'a': {'type': 'array', 'items': {'type': 'object'}, 'x-kubernetes-list-type': 'map'}"),
	 "properties[a].x-kubernetes-list-map-keys|FieldValueRequired|Required value: must not be empty if "
	 "x-kubernetes-list-type is map"},
	{RIG_ROOT(
		 "'a': {'type': 'array', 'items': {'type': 'string'}, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['a']}"),
	 "properties[a].items.type|FieldValueInvalid|Invalid value: null: must be object if parent array's "
	 "x-kubernetes-list-type is map"},
	{RIG_ROOT(
		 "'a': {'type': 'array', 'items': {'type': 'object', 'properties': {'n': {'type': 'object'}}}, "
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
	{RIG_ROOT(
		 "'a': {'type': 'array', 'items': {'type': 'object', 'nullable': true}, 'x-kubernetes-list-type': 'set'}"),
	 "properties[a].items.nullable|FieldValueForbidden|Forbidden: cannot be nullable when x-kubernetes-list-type is \"set\"\n"
	 "properties[a].items.x-kubernetes-map-type|FieldValueInvalid|Invalid value: null: must be atomic as item of a "
	 "list with x-kubernetes-list-type=set"},
	{RIG_ROOT(
		 "'a': {'type': 'array', 'items': {'type': 'string'}, 'x-kubernetes-list-map-keys': ['a']}"),
	 "properties[a].x-kubernetes-list-type|FieldValueInvalid|Invalid value: null: must be map if "
	 "x-kubernetes-list-map-keys is non-empty"},
	/* defaults */
	{RIG_ROOT("'a': {'type': 'integer', 'maximum': 5, 'default': 6}"),
	 "properties[a].default|FieldValueInvalid|Invalid value: 6: should be less than or equal to 5"},
	{RIG_ROOT(
		 "'a': {'type': 'object', 'default': {'b': 1, 'c': 2}, 'properties': {'b': {'type': 'string'}}}"),
	 "properties[a].default|FieldValueInvalid|Invalid value: {\"b\":1,\"c\":2}: must not have fields that the "
	 "schema does not name: c"},
	{RIG_ROOT(
		 "'a': {'type': 'object', 'default': {'b': 1}, 'properties': {'b': {'type': 'string'}}}"),
	 "properties[a].default.b|FieldValueTypeInvalid|Invalid value: \"integer\": b in body must be of type string: \"integer\""},
	{"{'type': 'object', 'required': [5]}",
	 "required|FieldValueInvalid|Invalid value: 5: must be a list of strings"},
	{RIG_ROOT("'a': 5"),
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
		json_t *json = rig_json(bad[i].schema);
		int rc = neap_schema_parse(json, &schema, &causes, &err);
		char *text = rig_causes(&causes);

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
	{"{'type': 'number', 'multipleOf': 0.1}", "0.3", ""},
	{"{'type': 'number', 'multipleOf': 0.1}", "0.30001",
	 "a|FieldValueInvalid|Invalid value: 0.30001: a in body should be a multiple of 0.1"},
	{"{'type': 'integer', 'multipleOf': 3}", "0", ""},
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
		neap_buf_addf(&buf, RIG_ROOT("'a': %s"), checks[i].schema);
		schema = rig_schema(buf.data);
		neap_buf_done(&buf);
		assert_int_equal(
			json_object_set_new(object, "a", rig_json(checks[i].value)), 0);
		assert_true(neap_schema_default(schema, object));
		assert_true(neap_schema_check(schema, object, &causes));
		text = rig_causes(&causes);
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
	struct neap_schema *schema = rig_schema(reservation);
	struct neap_causes causes = {0};
	struct neap_buf paths;
	json_t *object = rig_json(
		"{'apiVersion': 'scheduling.koordinator.sh/v1alpha1', 'kind': 'Reservation',"
		" 'metadata': {'name': 'a', 'labels': {'b': 'c'}}, 'typo': 1,"
		" 'spec': {'template': {'spec': {'containers': [{'name': 'x', 'unknown': null}]}},"
		"  'ttl': null, 'owners': [{'labelSelector': {'matchLabels': {'a': 'b'}}, 'frob': 5}],"
		"  'taints': [{'effect': 'NoSchedule'}]},"
		" 'status': {'allocatable': {'cpu': 4, 'memory': '8Gi', 'pods': 'many'}}}");
	json_t *want = rig_json(
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
	text = rig_causes(&causes);
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
	struct neap_schema *schema = rig_schema(RIG_ROOT(
		"'metadata': {'type': 'object', 'properties': {'name': {'type': 'string', 'maxLength': 3}}},"
		"'in': {'type': 'object', 'x-kubernetes-embedded-resource': true, 'properties': {'spec': {'type': 'object'}}}"));
	json_t *object = rig_json(
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
	text = rig_causes(&causes);
	assert_string_equal(
		text,
		"metadata.labels[a]|FieldValueTypeInvalid|Invalid value: \"integer\": must be of type string: \"integer\"\n"
		"metadata.name|FieldValueTooLong|Too long: may not be longer than 3");
	free(text);
	neap_buf_done(&paths);
	json_decref(object);
	neap_schema_free(schema);
}

/* Of the root kind and apiVersion may be missing, whatever is required; metadata may
 * not. */
static void test_route(void **state)
{
	struct neap_schema *schema = rig_schema(
		"{'type': 'object', 'required': ['apiVersion', 'kind', 'metadata', 'spec'], 'properties': {"
		"'kind': {'type': 'string', 'default': 'A', 'enum': ['A']}, 'spec': {'type': 'object'}}}");
	struct neap_causes causes = {0};
	json_t *object = rig_json("{}");
	char *text;

	(void)state;
	assert_true(neap_schema_default(schema, object));
	assert_int_equal(json_object_size(object), 0);
	assert_true(neap_schema_check(schema, object, &causes));
	text = rig_causes(&causes);
	assert_string_equal(text, "metadata|FieldValueRequired|Required value\n"
				  "spec|FieldValueRequired|Required value");
	free(text);
	json_decref(object);
	neap_schema_free(schema);
}

static void test_rules(void **state)
{
	struct neap_schema *schema = rig_schema(
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
	struct neap_schema *schema = rig_schema(RIG_ROOT(
		"'l': {'type': 'array', 'items': {'type': 'object', 'default': {'x': 'y'}, 'properties': {'x': {'type': 'string'},"
		" 'z': {'type': 'integer', 'default': 3}}}},"
		"'m': {'type': 'object', 'additionalProperties': {'type': 'string', 'default': 'd\\u0000'}},"
		"'n': {'type': 'object', 'additionalProperties': {'type': 'string', 'nullable': true, 'default': 'd'}},"
		"'o': {'type': 'object', 'default': {}, 'properties': {'p': {'type': 'number', 'default': 0.1}}}"));
	json_t *object = rig_json(
		"{'l': [null, {}], 'm': {'a': null, 'b': 'c'}, 'n': {'a': null}}");
	json_t *want = rig_json(
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

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad),           cmocka_unit_test(test_check),
		cmocka_unit_test(test_reservation),   cmocka_unit_test(test_metadata),
		cmocka_unit_test(test_route),         cmocka_unit_test(test_rules),
		cmocka_unit_test(test_default_items),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
