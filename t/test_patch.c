/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON patches (RFC 6902, with all examples of its appendix), JSON merge patches (RFC
 * 7386, likewise), media types, and what hostile patches of all kinds may cost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "engine/json/json.h"
#include "t/lib/patch_rig.h"
#include "t/lib/patch_tables.h"

/* Of CPU for one hostile patch: many times what it takes, also under
 * sanitizers. */
#define SECONDS_MAX 20

/* clang-format off */
static const struct patch_case json_rows[] = {
	/* RFC 6902, appendix A */
	{"A.1 adding an object member", NULL, "{'foo':'bar'}", "[{'op':'add','path':'/baz','value':'qux'}]", "{'baz':'qux','foo':'bar'}"},
	{"A.2 adding an array element", NULL, "{'foo':['bar','baz']}", "[{'op':'add','path':'/foo/1','value':'qux'}]", "{'foo':['bar','qux','baz']}"},
	{"A.3 removing an object member", NULL, "{'baz':'qux','foo':'bar'}", "[{'op':'remove','path':'/baz'}]", "{'foo':'bar'}"},
	{"A.4 removing an array element", NULL, "{'foo':['bar','qux','baz']}", "[{'op':'remove','path':'/foo/1'}]", "{'foo':['bar','baz']}"},
	{"A.5 replacing a value", NULL, "{'baz':'qux','foo':'bar'}", "[{'op':'replace','path':'/baz','value':'boo'}]", "{'baz':'boo','foo':'bar'}"},
	{"A.6 moving a value", NULL, "{'foo':{'bar':'baz','waldo':'fred'},'qux':{'corge':'grault'}}", "[{'op':'move','from':'/foo/waldo','path':'/qux/thud'}]", "{'foo':{'bar':'baz'},'qux':{'corge':'grault','thud':'fred'}}"},
	{"A.7 moving an array element", NULL, "{'foo':['all','grass','cows','eat']}", "[{'op':'move','from':'/foo/1','path':'/foo/3'}]", "{'foo':['all','cows','eat','grass']}"},
	{"A.8 testing a value: success", NULL, "{'baz':'qux','foo':['a',2,'c']}", "[{'op':'test','path':'/baz','value':'qux'},{'op':'test','path':'/foo/1','value':2}]", "{'baz':'qux','foo':['a',2,'c']}"},
	{"A.9 testing a value: error", NULL, "{'baz':'qux'}", "[{'op':'test','path':'/baz','value':'bar'}]", NULL, NEAP_ECONFLICT, "[0]", "testing value /baz failed: test failed"},
	{"A.10 adding a nested member object", NULL, "{'foo':'bar'}", "[{'op':'add','path':'/child','value':{'grandchild':{}}}]", "{'foo':'bar','child':{'grandchild':{}}}"},
	{"A.11 ignoring unrecognized elements", NULL, "{'foo':'bar'}", "[{'op':'add','path':'/baz','value':'qux','xyz':123}]", "{'foo':'bar','baz':'qux'}"},
	{"A.12 adding to a nonexistent target", NULL, "{'foo':'bar'}", "[{'op':'add','path':'/baz/bat','value':'qux'}]", NULL, NEAP_ECONFLICT, "[0]", "add operation does not apply: doc is missing path: \"/baz/bat\": missing value"},
	{"A.13 invalid JSON patch document", NULL, "{'foo':'bar'}", "[{'op':'add','path':'/baz','value':'qux','op':'remove'}]", NULL, NEAP_ECONFLICT, "[0]", "error in remove for path: '/baz': Unable to remove nonexistent key: baz: missing value"},
	{"A.14 escape ordering", NULL, "{'/':9,'~1':10}", "[{'op':'test','path':'/~01','value':10}]", "{'/':9,'~1':10}"},
	{"A.15 comparing strings and numbers", NULL, "{'/':9,'~1':10}", "[{'op':'test','path':'/~01','value':'10'}]", NULL, NEAP_ECONFLICT, "[0]", "testing value /~01 failed: test failed"},
	{"A.16 adding an array value", NULL, "{'foo':['bar']}", "[{'op':'add','path':'/foo/-','value':['abc','def']}]", "{'foo':['bar',['abc','def']]}"},

	{"no operations", NULL, "{'a':1}", "[]", "{'a':1}"},
	{"replicas, as users write it", NULL, "{'spec':{'replicas':1}}", "[{'op':'replace','path':'/spec/replicas','value':2}]", "{'spec':{'replicas':2}}"},
	{"a label with a slash", NULL, "{'metadata':{'labels':{'example.com/team':'a'}}}", "[{'op':'replace','path':'/metadata/labels/example.com~1team','value':'b'}]", "{'metadata':{'labels':{'example.com/team':'b'}}}"},
	{"managedFields are emptied by kubectl", NULL, "{'metadata':{'resourceVersion':'5','managedFields':[{'manager':'a'}]}}",
		"[{'op':'replace','path':'/metadata/managedFields','value':[]},{'op':'test','path':'/metadata/resourceVersion','value':'5'}]",
		"{'metadata':{'resourceVersion':'5','managedFields':[]}}"},
	{"add replaces", NULL, "{'a':1}", "[{'op':'add','path':'/a','value':null}]", "{'a':null}"},
	{"the empty name", NULL, "{'':{'':1}}", "[{'op':'replace','path':'//','value':2}]", "{'':{'':2}}"},
	{"both escapes", NULL, "{'a/b~c':1}", "[{'op':'remove','path':'/a~1b~0c'}]", "{}"},
	{"the whole document is replaced", NULL, "{'a':1}", "[{'op':'replace','path':'','value':[1]}]", "[1]"},
	{"the whole document is added", NULL, "{'a':1}", "[{'op':'add','path':'','value':5},{'op':'test','path':'','value':5}]", "5"},
	{"a part becomes the document", NULL, "{'a':{'b':1}}", "[{'op':'move','from':'/a','path':''}]", "{'b':1}"},
	{"the document is copied into itself", NULL, "{'a':{'b':1}}", "[{'op':'copy','from':'','path':'/a/c'}]", "{'a':{'b':1,'c':{'a':{'b':1}}}}"},
	{"a copy is one", NULL, "{'a':{'b':1}}", "[{'op':'copy','from':'/a','path':'/c'},{'op':'add','path':'/c/b','value':2}]", "{'a':{'b':1},'c':{'b':2}}"},
	{"a move to where it is", NULL, "{'a':[1,2]}", "[{'op':'move','from':'/a/1','path':'/a/1'}]", "{'a':[1,2]}"},
	{"a move to its sibling by prefix", NULL, "{'a':1,'ab':{}}", "[{'op':'move','from':'/a','path':'/ab/c'}]", "{'ab':{'c':1}}"},
	{"a move to the end", NULL, "[1,2,3]", "[{'op':'move','from':'/0','path':'/-'}]", "[2,3,1]"},
	{"an index as long as the list", NULL, "[1]", "[{'op':'add','path':'/1','value':2}]", "[1,2]"},
	{"an item is replaced", NULL, "[1,[2]]", "[{'op':'replace','path':'/1/0','value':3}]", "[1,[3]]"},
	{"digits are a name in an object", NULL, "{'0':1,'-':2}", "[{'op':'remove','path':'/0'},{'op':'test','path':'/-','value':2}]", "{'-':2}"},
	{"1 is 1.0", NULL, "{'a':1,'b':1.0,'c':[0,-0.0]}", "[{'op':'test','path':'/a','value':1.0},{'op':'test','path':'/b','value':1},{'op':'test','path':'/c','value':[0.0,0]}]", "{'a':1,'b':1.0,'c':[0,-0.0]}"},
	{"members in any order", NULL, "{'a':{'b':[{'c':1,'d':null}],'e':true}}", "[{'op':'test','path':'/a','value':{'e':true,'b':[{'d':null,'c':1.0}]}}]", "{'a':{'b':[{'c':1,'d':null}],'e':true}}"},
	{"null is there", NULL, "{'a':null}", "[{'op':'test','path':'/a','value':null}]", "{'a':null}"},

	{"large numbers are not rounded", NULL, "{'a':9007199254740993}", "[{'op':'test','path':'/a','value':9007199254740992.0}]", NULL, NEAP_ECONFLICT, "[0]", "testing value /a failed"},
	{"a larger list is another", NULL, "{'a':[1,2]}", "[{'op':'test','path':'/a','value':[1]}]", NULL, NEAP_ECONFLICT, "[0]", "testing value /a failed"},
	{"a larger object is another", NULL, "{'a':{'b':1,'c':2}}", "[{'op':'test','path':'/a','value':{'b':1}}]", NULL, NEAP_ECONFLICT, "[0]", "testing value /a failed"},
	{"another member", NULL, "{'a':{'b':null}}", "[{'op':'test','path':'/a','value':{'c':null}}]", NULL, NEAP_ECONFLICT, "[0]", "testing value /a failed"},
	{"what is not there is not null", NULL, "{}", "[{'op':'test','path':'/a','value':null}]", NULL, NEAP_ECONFLICT, "[0]", "testing value /a failed"},
	{"true is not 1", NULL, "{'a':true}", "[{'op':'test','path':'/a','value':1}]", NULL, NEAP_ECONFLICT, "[0]", "testing value /a failed"},
	{"test below nothing", NULL, "{}", "[{'op':'test','path':'/a/b','value':1}]", NULL, NEAP_ECONFLICT, "[0]", "test operation does not apply: is missing path: /a/b: missing value"},
	{"all or nothing", NULL, "{'a':1}", "[{'op':'remove','path':'/a'},{'op':'test','path':'/a','value':1}]", NULL, NEAP_ECONFLICT, "[1]", "testing value /a failed"},
	{"replace of nothing", NULL, "{}", "[{'op':'replace','path':'/a','value':1}]", NULL, NEAP_ECONFLICT, "[0]", "replace operation does not apply: doc is missing key: /a: missing value"},
	{"replace below nothing", NULL, "{}", "[{'op':'replace','path':'/a/b','value':1}]", NULL, NEAP_ECONFLICT, "[0]", "replace operation does not apply: doc is missing path: /a/b: missing value"},
	{"the document cannot be removed", NULL, "{}", "[{'op':'remove','path':''}]", NULL, NEAP_ECONFLICT, "[0]", "remove operation does not apply: doc is missing path: \"\""},
	{"a path through a text", NULL, "{'a':'b'}", "[{'op':'add','path':'/a/b','value':1}]", NULL, NEAP_ECONFLICT, "[0]", "doc is missing path: \"/a/b\""},
	{"a path through null", NULL, "{'a':null}", "[{'op':'remove','path':'/a/b/c'}]", NULL, NEAP_ECONFLICT, "[0]", "doc is missing path: \"/a/b/c\""},
	{"an index behind the end", NULL, "[1]", "[{'op':'add','path':'/2','value':1}]", NULL, NEAP_ECONFLICT, "[0]", "error in add for path: '/2': Unable to access invalid index: 2: invalid index referenced"},
	{"remove at the end", NULL, "[1]", "[{'op':'remove','path':'/1'}]", NULL, NEAP_ECONFLICT, "[0]", "error in remove for path: '/1': Unable to access invalid index: 1"},
	{"remove of what comes", NULL, "[1]", "[{'op':'remove','path':'/-'}]", NULL, NEAP_ECONFLICT, "[0]", "value was not a proper array index: '-'"},
	{"a zero before an index", NULL, "[1,2]", "[{'op':'remove','path':'/01'}]", NULL, NEAP_ECONFLICT, "[0]", "value was not a proper array index: '01'"},
	{"an index with a sign", NULL, "[1,2]", "[{'op':'add','path':'/-1','value':1}]", NULL, NEAP_ECONFLICT, "[0]", "Unable to access invalid index: -1"},
	{"a name for an index", NULL, "[1,2]", "[{'op':'add','path':'/a','value':1}]", NULL, NEAP_ECONFLICT, "[0]", "value was not a proper array index: 'a'"},
	{"no index at all", NULL, "[1,2]", "[{'op':'add','path':'/','value':1}]", NULL, NEAP_ECONFLICT, "[0]", "value was not a proper array index: ''"},
	{"an index over all bounds", NULL, "[1,2]", "[{'op':'add','path':'/18446744073709551616','value':1}]", NULL, NEAP_ECONFLICT, "[0]", "Unable to access invalid index: 18446744073709551616"},
	{"test behind the end", NULL, "[1]", "[{'op':'test','path':'/5','value':null}]", NULL, NEAP_ECONFLICT, "[0]", "error in test for path: '/5': Unable to access invalid index: 5"},
	{"move from nothing", NULL, "{}", "[{'op':'move','from':'/a','path':'/b'}]", NULL, NEAP_ECONFLICT, "[0]", "move operation does not apply: doc is missing from path: /a: missing value"},
	{"move into nothing", NULL, "{'a':1}", "[{'op':'move','from':'/a','path':'/b/c'}]", NULL, NEAP_ECONFLICT, "[0]", "move operation does not apply: doc is missing destination path: /b/c: missing value"},
	{"move to an index that went with it", NULL, "[1,2]", "[{'op':'move','from':'/0','path':'/2'}]", NULL, NEAP_ECONFLICT, "[0]", "error in move for path: '/2': Unable to access invalid index: 2"},
	{"copy from nothing", NULL, "{}", "[{'op':'copy','from':'/a/b','path':'/b'}]", NULL, NEAP_ECONFLICT, "[0]", "copy operation does not apply: doc is missing from path: /a/b: missing value"},
	{"copy into nothing", NULL, "{'a':1}", "[{'op':'copy','from':'/a','path':'/b/c'}]", NULL, NEAP_ECONFLICT, "[0]", "copy operation does not apply: doc is missing destination path: /b/c: missing value"},

	{"move into its own child", NULL, "{'a':{'b':{}}}", "[{'op':'move','from':'/a','path':'/a/b/c'}]", NULL, NEAP_ECONFLICT, "[0].from", "move operation cannot move '/a' into its own child '/a/b/c'"},
	{"the document into itself", NULL, "{'a':{}}", "[{'op':'move','from':'','path':'/a/b'}]", NULL, NEAP_ECONFLICT, "[0].from", "into its own child"},
	{"no list", NULL, "{}", "{'op':'remove','path':'/a'}", NULL, NEAP_EINVAL, "", "json: cannot unmarshal object into Go value of type jsonpatch.Patch"},
	{"no operation", NULL, "{}", "[5]", NULL, NEAP_EINVAL, "[0]", "json: cannot unmarshal number into Go value of type jsonpatch.Operation"},
	{"an unknown operation", NULL, "{}", "[{'op':'set','path':'/a'}]", NULL, NEAP_ECONFLICT, "[0].op", "Unexpected kind: set"},
	{"operations are small letters", NULL, "{}", "[{'op':'Add','path':'/a','value':1}]", NULL, NEAP_ECONFLICT, "[0].op", "Unexpected kind: Add"},
	{"an operation without a word", NULL, "{}", "[{'path':'/a'}]", NULL, NEAP_ECONFLICT, "[0].op", "Unexpected kind: unknown"},
	{"without a path", NULL, "{}", "[{'op':'add','value':1}]", NULL, NEAP_ECONFLICT, "[0].path", "add operation failed to decode path"},
	{"a path that is no text", NULL, "{}", "[{'op':'add','path':5,'value':1}]", NULL, NEAP_ECONFLICT, "[0].path", "json: cannot unmarshal number into Go value of type string"},
	{"a path without a slash", NULL, "{'a':1}", "[{'op':'remove','path':'a'}]", NULL, NEAP_ECONFLICT, "[0].path", "\"a\" is no JSON pointer"},
	{"a wrong escape", NULL, "{'~2':1}", "[{'op':'remove','path':'/~2'}]", NULL, NEAP_ECONFLICT, "[0].path", "\"/~2\" is no JSON pointer"},
	{"an escape that ends early", NULL, "{'~':1}", "[{'op':'remove','path':'/~'}]", NULL, NEAP_ECONFLICT, "[0].path", "\"/~\" is no JSON pointer"},
	{"without a value", NULL, "{}", "[{'op':'add','path':'/a'}]", NULL, NEAP_ECONFLICT, "[0].value", "add operation missing value field"},
	{"test without a value", NULL, "{}", "[{'op':'test','path':'/a'}]", NULL, NEAP_ECONFLICT, "[0].value", "test operation missing value field"},
	{"without from", NULL, "{}", "[{'op':'copy','path':'/a'}]", NULL, NEAP_ECONFLICT, "[0].from", "copy operation failed to decode from: operation missing from field"},
	{"from is no pointer", NULL, "{}", "[{'op':'move','path':'/a','from':'b'}]", NULL, NEAP_ECONFLICT, "[0].from", "\"b\" is no JSON pointer"},
	{"malformed behind what does not fit", NULL, "{}", "[{'op':'remove','path':'/a'},{'op':'remove'}]", NULL, NEAP_ECONFLICT, "[1].path", "remove operation failed to decode path"},
};

static const struct patch_case merge_rows[] = {
	/* RFC 7386, section 3 and appendix A */
	{"section 3", NULL,
		"{'title':'Goodbye!','author':{'givenName':'John','familyName':'Doe'},'tags':['example','sample'],'content':'This will be unchanged'}",
		"{'title':'Hello!','phoneNumber':'+01-123-456-7890','author':{'familyName':null},'tags':['example']}",
		"{'title':'Hello!','author':{'givenName':'John'},'tags':['example'],'content':'This will be unchanged','phoneNumber':'+01-123-456-7890'}"},
	{"A 1", NULL, "{'a':'b'}", "{'a':'c'}", "{'a':'c'}"},
	{"A 2", NULL, "{'a':'b'}", "{'b':'c'}", "{'a':'b','b':'c'}"},
	{"A 3", NULL, "{'a':'b'}", "{'a':null}", "{}"},
	{"A 4", NULL, "{'a':'b','b':'c'}", "{'a':null}", "{'b':'c'}"},
	{"A 5", NULL, "{'a':['b']}", "{'a':'c'}", "{'a':'c'}"},
	{"A 6", NULL, "{'a':'c'}", "{'a':['b']}", "{'a':['b']}"},
	{"A 7", NULL, "{'a':{'b':'c'}}", "{'a':{'b':'d','c':null}}", "{'a':{'b':'d'}}"},
	{"A 8", NULL, "{'a':[{'b':'c'}]}", "{'a':[1]}", "{'a':[1]}"},
	{"A 9", NULL, "['a','b']", "['c','d']", "['c','d']"},
	{"A 10", NULL, "{'a':'b'}", "['c']", "['c']"},
	{"A 11", NULL, "{'a':'foo'}", "null", "null"},
	{"A 12", NULL, "{'a':'foo'}", "'bar'", "'bar'"},
	{"A 13", NULL, "{'e':null}", "{'a':1}", "{'e':null,'a':1}"},
	{"A 14", NULL, "[1,2]", "{'a':'b','c':null}", "{'a':'b'}"},
	{"A 15", NULL, "{}", "{'a':{'bb':{'ccc':null}}}", "{'a':{'bb':{}}}"},

	{"nulls in lists stay", NULL, "{}", "{'a':[null,{'b':null}]}", "{'a':[null,{'b':null}]}"},
	{"a label goes", NULL, "{'metadata':{'labels':{'a':'1','b':'2'}}}", "{'metadata':{'labels':{'a':null}}}", "{'metadata':{'labels':{'b':'2'}}}"},
	{"scale", NULL, "{'spec':{'replicas':1}}", "{'spec':{'replicas':3}}", "{'spec':{'replicas':3}}"},
	{"a text becomes a map", NULL, "{'a':'b'}", "{'a':{'c':null,'d':1}}", "{'a':{'d':1}}"},
	{"directives are data", NULL, "{'a':{'b':1}}", "{'a':{'$patch':'delete'}}", "{'a':{'b':1,'$patch':'delete'}}"},
};
/* clang-format on */

static void test_json(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(json_rows); i++)
		patch_case_run(NEAP_PATCH_JSON, &json_rows[i]);
}

static void test_merge(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(merge_rows); i++)
		patch_case_run(NEAP_PATCH_MERGE, &merge_rows[i]);
}

static void test_types(void **state)
{
	static const struct {
		const char *text;
		int want;
	} rows[] = {
		{"application/json-patch+json", NEAP_PATCH_JSON},
		{"application/merge-patch+json", NEAP_PATCH_MERGE},
		{"application/strategic-merge-patch+json", NEAP_PATCH_STRATEGIC},
		{"application/merge-patch+json; charset=utf-8", NEAP_PATCH_MERGE},
		{" Application/Merge-Patch+JSON ;charset=utf-8", NEAP_PATCH_MERGE},
		{"application/json", -1},
		{"application/apply-patch+yaml", -1},
		{"application/merge-patch+json2", -1},
		{"application/merge-patch", -1},
		{"application/merge-patch+json x", -1},
		{"", -1},
		{NULL, -1},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		enum neap_patch_type type = NEAP_PATCH_JSON;
		bool is_known = neap_patch_type_parse(rows[i].text, &type);

		if (is_known != (rows[i].want >= 0) ||
		    (is_known && (int)type != rows[i].want))
			fail_msg("%s", rows[i].text);
	}
}

/* --- what is hostile --- */

/* Frees object and patch; the error is told. */
static int apply_take(enum neap_patch_type type, const struct neap_schema *schema,
		      json_t *object, json_t *patch, json_t **ret, struct neap_error *err)
{
	clock_t start = clock();
	int rc;

	*err = (struct neap_error){0};
	*ret = NULL;
	rc = neap_patch_apply(type, schema, object, patch, ret, err);
	if ((double)(clock() - start) / CLOCKS_PER_SEC > SECONDS_MAX)
		fail_msg("it took too long (%d %s)", rc, err->msg);
	json_decref(object);
	json_decref(patch);
	return rc;
}

static void operation_add(json_t *patch, const char *op, const char *from,
			  const char *path)
{
	json_t *row = json_pack("{s:s, s:s, s:s}", "op", op, "from", from, "path", path);

	json_object_set_new(row, "value", json_true());
	json_array_append_new(patch, row);
}

static void test_hostile_copies(void **state)
{
	json_t *patch = json_array(), *result;
	struct neap_error err;
	char path[16];

	(void)state;
	for (int i = 0; i < 60; i++) {
		snprintf(path, sizeof(path), "/a%d", i);
		operation_add(patch, "copy", "", path);
	}
	assert_int_equal(apply_take(NEAP_PATCH_JSON, NULL, patch_parse("{'b':'c'}"),
				    patch, &result, &err),
			 -NEAP_ETOOLARGE);
	assert_non_null(strstr(err.msg, "Unable to complete the copy, the accumulated "
					"size increase of copy is "));
	assert_non_null(strstr(err.msg, ", exceeding the limit 3145728"));

	/* What is copied counts though it is thrown away. */
	patch = json_array();
	for (int i = 0; i < 5; i++)
		operation_add(patch, "copy", "/a", "/b");
	result = json_array();
	for (int i = 0; i < 100000; i++)
		json_array_append_new(result, json_integer(i));
	assert_int_equal(apply_take(NEAP_PATCH_JSON, NULL,
				    json_pack("{s:o}", "a", result), patch, &result,
				    &err),
			 -NEAP_ETOOLARGE);
}

/* Each operation makes the document one level deeper, or twice as deep. */
static void test_hostile_depth(void **state)
{
	json_t *patch = json_array(), *result, *deep = json_true();
	struct neap_error err;

	(void)state;
	for (int i = 0; i < 20; i++)
		operation_add(patch, "copy", "", "/a");
	assert_int_equal(apply_take(NEAP_PATCH_JSON, NULL, patch_parse("{'a':0}"), patch,
				    &result, &err),
			 0);
	json_decref(result);
	patch = json_array();
	for (int i = 0; i < NEAP_PATCH_DEPTH_MAX + 5; i++) {
		operation_add(patch, "add", "", "/b");
		json_object_set_new(json_array_get(patch, json_array_size(patch) - 1),
				    "value", json_object());
		operation_add(patch, "move", "/a", "/b/a");
		operation_add(patch, "move", "/b", "/a");
	}
	assert_int_equal(apply_take(NEAP_PATCH_JSON, NULL, patch_parse("{'a':0}"), patch,
				    &result, &err),
			 -NEAP_ETOOLARGE);
	assert_string_equal(err.msg, "the result has more than 1000 levels");

	for (int i = 2; i < NEAP_PATCH_DEPTH_MAX; i++)
		deep = json_pack("[o]", deep);
	for (int type = NEAP_PATCH_JSON; type <= NEAP_PATCH_STRATEGIC; type++) {
		json_t *object = json_pack("{s:O}", "a", deep);

		assert_int_equal(
			apply_take((enum neap_patch_type)type, NULL, object,
				   type == NEAP_PATCH_JSON ? json_array() : json_object(),
				   &result, &err),
			0);
		assert_true(json_equal(json_object_get(result, "a"), deep));
		json_decref(result);
		object = json_pack("{s:[O]}", "a", deep);
		assert_int_equal(apply_take((enum neap_patch_type)type, NULL, object,
					    json_object(), &result, &err),
				 -NEAP_ETOOLARGE);
		assert_string_equal(err.msg, "the object has more than 1000 levels");
		assert_int_equal(apply_take((enum neap_patch_type)type, NULL,
					    json_object(), json_pack("[[O]]", deep),
					    &result, &err),
				 -NEAP_ETOOLARGE);
		assert_string_equal(err.msg, "the patch has more than 1000 levels");
	}
	/* A value that fits at the top, and not deeper. */
	patch = json_array();
	operation_add(patch, "add", "", "/a");
	json_object_set(json_array_get(patch, 0), "value", json_array_get(deep, 0));
	json_incref(patch);
	assert_int_equal(
		apply_take(NEAP_PATCH_JSON, NULL, json_object(), patch, &result, &err),
		0);
	json_decref(result);
	json_object_set_new(json_array_get(patch, 0), "path", json_string("/b/c/d"));
	assert_int_equal(apply_take(NEAP_PATCH_JSON, NULL, patch_parse("{'b':{'c':{}}}"),
				    patch, &result, &err),
			 -NEAP_ETOOLARGE);
	assert_string_equal(err.field, "[0].path");
	json_decref(deep);
}

static void test_hostile_operations(void **state)
{
	json_t *patch = json_array(), *list = json_array(), *result;
	struct neap_error err;

	(void)state;
	for (int i = 0; i <= NEAP_PATCH_OPERATIONS_MAX; i++)
		operation_add(patch, "test", "", "");
	assert_int_equal(
		apply_take(NEAP_PATCH_JSON, NULL, json_true(), patch, &result, &err),
		-NEAP_ETOOLARGE);
	assert_string_equal(err.msg, "The allowed maximum operations in a JSON patch is "
				     "10000, got 10001");

	/* Each one moves half a million items along. */
	patch = json_array();
	for (int i = 0; i < NEAP_PATCH_OPERATIONS_MAX; i++)
		operation_add(patch, "add", "", "/0");
	for (int i = 0; i < 500000; i++)
		json_array_append_new(list, json_null());
	assert_int_equal(apply_take(NEAP_PATCH_JSON, NULL, list, patch, &result, &err),
			 -NEAP_ETOOLARGE);
	assert_non_null(strstr(err.msg, "the patch takes far more steps"));

	/* Each one has to look how deep a large value is. */
	patch = json_array();
	list = json_array();
	for (int i = 0; i < NEAP_PATCH_OPERATIONS_MAX / 2; i++) {
		operation_add(patch, "move", "/a", "/b/a");
		operation_add(patch, "move", "/b/a", "/a");
	}
	for (int i = 0; i < 300000; i++)
		json_array_append_new(list, json_null());
	assert_int_equal(apply_take(NEAP_PATCH_JSON, NULL,
				    json_pack("{s:o, s:{}}", "a", list, "b"), patch,
				    &result, &err),
			 -NEAP_ETOOLARGE);

	/* As many as there may be, in a list of the usual length. */
	patch = json_array();
	list = json_array();
	for (int i = 0; i < NEAP_PATCH_OPERATIONS_MAX; i++)
		operation_add(patch, "add", "", "/0");
	for (int i = 0; i < 1000; i++)
		json_array_append_new(list, json_null());
	assert_int_equal(apply_take(NEAP_PATCH_JSON, NULL, list, patch, &result, &err),
			 0);
	assert_int_equal(json_array_size(result), 11000);
	json_decref(result);
}

static void test_hostile_text(void **state)
{
	json_t *patch, *result;
	struct neap_error err;
	char *path = malloc(1000002);

	(void)state;
	memset(path, '/', 1000000);
	path[1000000] = '\0';
	patch = json_array();
	operation_add(patch, "remove", "", path);
	assert_int_equal(
		apply_take(NEAP_PATCH_JSON, NULL, json_object(), patch, &result, &err),
		-NEAP_ECONFLICT);
	/* A message is cut between characters. */
	for (int i = 1; i < 400; i += 2)
		memcpy(path + i, "\303\244", 2);
	path[401] = '\0';
	patch = json_array();
	operation_add(patch, "remove", "", path);
	assert_int_equal(
		apply_take(NEAP_PATCH_JSON, NULL, json_object(), patch, &result, &err),
		-NEAP_ECONFLICT);
	result = json_string(err.msg); /* NULL for what is no UTF-8 */
	assert_non_null(result);
	json_decref(result);

	/* No text of JSON could name such a member again. */
	patch = json_array();
	operation_add(patch, "add", "", "/a");
	json_object_set_new(json_array_get(patch, 0), "path", json_stringn("/a\0b", 4));
	assert_int_equal(
		apply_take(NEAP_PATCH_JSON, NULL, json_object(), patch, &result, &err),
		-NEAP_ECONFLICT);
	free(path);
	assert_int_equal(
		neap_patch_apply(NEAP_PATCH_JSON, NULL, NULL, NULL, &result, NULL),
		-NEAP_EINVAL);
}

/* Items that all merge into one, which grows. */
static void test_hostile_lists(void **state)
{
	json_t *containers = json_array(), *env, *patch, *result;
	struct neap_error err;
	char name[32];

	(void)state;
	for (int i = 0; i < 20000; i++) {
		snprintf(name, sizeof(name), "x%d", i);
		json_array_append_new(containers, json_pack("{s:s, s:[{s:s}]}", "name",
							    "a", "env", "name", name));
	}
	patch = json_pack("{s:{s:o}}", "spec", "containers", containers);
	assert_int_equal(apply_take(NEAP_PATCH_STRATEGIC, &table_pod,
				    patch_parse("{'spec':{'containers':[{'name':'a'}]}}"),
				    patch, &result, &err),
			 -NEAP_ETOOLARGE);
	assert_non_null(strstr(err.msg, "the patch takes far more steps"));

	/* The same with members, which only have to be copied. */
	containers = json_array();
	for (int i = 0; i < 20000; i++) {
		snprintf(name, sizeof(name), "x%d", i);
		json_array_append_new(containers,
				      json_pack("{s:s, s:b}", "name", "a", name, 1));
	}
	patch = json_pack("{s:{s:o}}", "spec", "containers", containers);
	assert_int_equal(apply_take(NEAP_PATCH_STRATEGIC, &table_pod,
				    patch_parse("{'spec':{'containers':[{'name':'a'}]}}"),
				    patch, &result, &err),
			 -NEAP_ETOOLARGE);

	/* Long lists that are what they seem. */
	env = json_array();
	for (int i = 0; i < 50000; i++) {
		snprintf(name, sizeof(name), "x%d", i);
		json_array_append_new(
			env, json_pack("{s:s, s:s}", "name", name, "value", "a"));
	}
	patch = json_pack("{s:{s:[{s:s, s:O}]}}", "spec", "containers", "name", "a",
			  "env", env);
	result = json_deep_copy(patch);
	json_object_set(
		json_array_get(
			json_object_get(json_object_get(patch, "spec"), "containers"), 0),
		"$setElementOrder/env", env);
	json_decref(env);
	assert_int_equal(apply_take(NEAP_PATCH_STRATEGIC, &table_pod, result, patch,
				    &result, &err),
			 0);
	json_decref(result);
}

static int setup(void **state)
{
	(void)state;
	neap_json_setup();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_hostile_copies),
		cmocka_unit_test(test_hostile_depth),
		cmocka_unit_test(test_hostile_operations),
		cmocka_unit_test(test_hostile_text),
		cmocka_unit_test(test_hostile_lists),
	};

	return cmocka_run_group_tests_name("patch", tests, setup, NULL);
}
