/* SPDX-License-Identifier: Apache-2.0
 *
 * YAML of manifests to JSON: scalars as kubectl reads them, structure, errors with their
 * lines, and texts that are made to cost much. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/yaml/yaml.h"
#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

/* want: the array of documents as JSON, or the message. */
struct row {
	const char *name, *yaml, *want;
};

static const struct row scalars[] = {
	{"text", "abc", "[\"abc\"]"},
	{"text with blanks", "a b  c", "[\"a b  c\"]"},
	{"quotes make texts", "['1', \"true\", '', \"~\", 'null']",
	 "[[\"1\",\"true\",\"\",\"~\",\"null\"]]"},
	{"null", "[~, null, Null, NULL, , nULL]",
	 "F:1: did not find expected node content"},
	{"null forms", "[~, null, Null, NULL, nULL]", "[[null,null,null,null,\"nULL\"]]"},
	{"null of a key", "a:\nb: ~", "[{\"a\":null,\"b\":null}]"},
	{"true", "[y, Y, yes, Yes, YES, true, True, TRUE, on, On, ON]",
	 "[[true,true,true,true,true,true,true,true,true,true,true]]"},
	{"false", "[n, N, no, No, NO, false, False, FALSE, off, Off, OFF]",
	 "[[false,false,false,false,false,false,false,false,false,false,false]]"},
	{"not quite booleans", "[yEs, tRUE, oN, nope, yes1]",
	 "[[\"yEs\",\"tRUE\",\"oN\",\"nope\",\"yes1\"]]"},
	{"integers", "[0, 1, -1, +1, 12345678901234, -0, 1_000_000, 1__0]",
	 "[[0,1,-1,1,12345678901234,0,1000000,10]]"},
	{"octal", "[0777, 0o17, 0O17, 00, -010, 0_7]", "[[511,15,15,0,-8,7]]"},
	{"no octal", "[08, 0o8, 0o]", "[[8,\"0o8\",\"0o\"]]"},
	{"hex, binary", "[0x1F, 0XfF, -0x10, 0b101, 0B1, 0xg, 0x, 0b2]",
	 "[[31,255,-16,5,1,\"0xg\",\"0x\",\"0b2\"]]"},
	{"ends of int64", "[9223372036854775807, -9223372036854775808]",
	 "[[9223372036854775807,-9223372036854775808]]"},
	{"over int64",
	 "[9223372036854775808, 18446744073709551615, -9223372036854775809]",
	 "[[9.2233720368547758e18,1.8446744073709552e19,-9.2233720368547758e18]]"},
	{"over uint64", "[18446744073709551616, 0xfffffffffffffffff]",
	 "[[1.8446744073709552e19,\"0xfffffffffffffffff\"]]"},
	{"reals", "[1.5, -0.25, .5, +.5, 1e-2, 2.5E+1, 6.02e23, 1_0.5, .5_0]",
	 "[[1.5,-0.25,0.5,0.5,0.01,25,6.02e23,10.5,0.5]]"},
	{"whole reals are integers", "[1.0, 1e3, 0.0, 5., -2.0e1, -0.0]",
	 "[[1,1000,0,5,-20,0]]"},
	{"no reals", "[., .e1, 1e, 1.2.3, 1e5.5, ._5, .5_, .5__0, 1e400, --1, 0x1p3]",
	 "[[\".\",\".e1\",\"1e\",\"1.2.3\",\"1e5.5\",\"._5\",\".5_\",\".5__0\",\"1e400\",\"--1\","
	 "\"0x1p3\"]]"},
	{"signs alone", "[+, '-', +a, -b, +-1, +_, -_]",
	 "[[\"+\",\"-\",\"+a\",\"-b\",\"+-1\",\"+_\",\"-_\"]]"},
	{"what JSON has not", "a: .inf", "F:1: .inf is no number that JSON has"},
	{"what JSON has not 2", "a:\n- -.INF", "F:2: -.INF is no number that JSON has"},
	{"what JSON has not 3", "\n.NaN", "F:2: .NaN is no number that JSON has"},
	{"infinite in quotes", "'.inf'", "[\".inf\"]"},
	{"times stay texts", "[2026-01-31, 2026-01-31T10:00:00Z, 10:30, 1:30:15]",
	 "[[\"2026-01-31\",\"2026-01-31T10:00:00Z\",\"10:30\",\"1:30:15\"]]"},
	{"quantities", "[100m, 1Gi, 1e3k, 24h, 5m0s, 0.5Ki]",
	 "[[\"100m\",\"1Gi\",\"1e3k\",\"24h\",\"5m0s\",\"0.5Ki\"]]"},
	{"addresses", "[10.0.0.1, 10.0, '10.0', fe80::1, 1.2.3.4/24]",
	 "[[\"10.0.0.1\",10,\"10.0\",\"fe80::1\",\"1.2.3.4/24\"]]"},
	{"escapes", "\"a\\tb\\n\\x41\\u00e4\\U0001F600\\\"\\/\"",
	 "[\"a\\tb\\nA\xc3\xa4\xf0\x9f\x98\x80\\\"/\"]"},
	{"literal", "a: |\n  x\n   y\n\n  z\n", "[{\"a\":\"x\\n y\\n\\nz\\n\"}]"},
	{"literal without end", "a: |-\n  x\n", "[{\"a\":\"x\"}]"},
	{"folded", "a: >-\n  x\n  y\n\n  z\n", "[{\"a\":\"x y\\nz\"}]"},
	{"literal numbers are texts", "a: |-\n  12\n", "[{\"a\":\"12\"}]"},
	{"plain over lines", "a: x\n  y\n", "[{\"a\":\"x y\"}]"},
};

static const struct row structure[] = {
	{"nothing", "", "[]"},
	{"comments only", "# a\n# b\n", "[]"},
	{"empty documents", "---\n---\n# c\n---\n...\n", "[]"},
	{"null is empty", "--- null\n--- a\n--- ~\n", "[\"a\"]"},
	{"documents", "a: 1\n---\nb: 2\n---\n- 3\n", "[{\"a\":1},{\"b\":2},[3]]"},
	{"directive", "%YAML 1.1\n---\na: 1\n", "[{\"a\":1}]"},
	{"empty containers are documents", "{}\n---\n[]\n", "[{},[]]"},
	{"nested", "a:\n  b:\n  - c: 1\n    d: 2\n  - - 3\n    - 4\n",
	 "[{\"a\":{\"b\":[{\"c\":1,\"d\":2},[3,4]]}}]"},
	{"flow", "{a: [1, {b: c}], d: {}}", "[{\"a\":[1,{\"b\":\"c\"}],\"d\":{}}]"},
	{"JSON", "{\"a\": [1, 2.5, true, null, \"x\\ny\"],\n\t\"b\": {\"c\": \"d\"}}\n",
	 "[{\"a\":[1,2.5,true,null,\"x\\ny\"],\"b\":{\"c\":\"d\"}}]"},
	{"list of maps at the indent of its key", "a:\n- b: 1\n- b: 2\n",
	 "[{\"a\":[{\"b\":1},{\"b\":2}]}]"},
	{"order is kept", "z: 1\ny1: 2\nx: 3\n", "[{\"z\":1,\"y1\":2,\"x\":3}]"},
	{"keys become texts", "80: a\n0x10: b\nyes: c\nOff: d\n1.5: e\n2.0: f\n",
	 "[{\"80\":\"a\",\"16\":\"b\",\"true\":\"c\",\"false\":\"d\",\"1.5\":\"e\","
	 "\"2\":\"f\"}]"},
	{"empty text as a key", "'': 1\n", "[{\"\":1}]"},
	{"long form of a key", "? a\n: 1\n", "[{\"a\":1}]"},
	{"windows lines", "a: 1\r\nb: 2\r\n", "[{\"a\":1,\"b\":2}]"},
	{"byte order mark",
	 "\xef\xbb\xbf"
	 "a: 1\n",
	 "[{\"a\":1}]"},
	{"alias of a scalar", "a: &x 5\nb: *x\n", "[{\"a\":5,\"b\":5}]"},
	{"alias of a map", "a: &x {c: [1]}\nb: *x\n",
	 "[{\"a\":{\"c\":[1]},\"b\":{\"c\":[1]}}]"},
	{"alias of a list in itself later", "- &x [1]\n- [*x, *x]\n",
	 "[[[1],[[1],[1]]]]"},
	{"anchor of a key", "&k a: 1\nb: *k\n", "[{\"a\":1,\"b\":\"a\"}]"},
	{"alias as a key", "- &k a\n- *k : 1\n", "[[\"a\",{\"a\":1}]]"},
	{"anchor given again", "- &x 1\n- *x\n- &x 2\n- *x\n", "[[1,1,2,2]]"},
	{"anchor of a document", "--- &x\na: 1\n", "[{\"a\":1}]"},
	{"merge", "a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  c: 3\n",
	 "[{\"a\":{\"b\":1,\"c\":2},\"d\":{\"c\":3,\"b\":1}}]"},
	{"merge behind", "a: &x {b: 1, c: 2}\nd:\n  c: 3\n  <<: *x\n",
	 "[{\"a\":{\"b\":1,\"c\":2},\"d\":{\"c\":3,\"b\":1}}]"},
	{"merge of several",
	 "- &x {b: 1, c: 2}\n- &y {c: 4, e: 5}\n- {<<: [*x, *y], b: 6}\n",
	 "[[{\"b\":1,\"c\":2},{\"c\":4,\"e\":5},{\"b\":6,\"c\":2,\"e\":5}]]"},
	{"merge in quotes is a key", "'<<': {a: 1}\n", "[{\"<<\":{\"a\":1}}]"},
	{"merge text is a value", "a: <<\n", "[{\"a\":\"<<\"}]"},
};

static const struct row wrong[] = {
	{"duplicate key", "a: 1\nb: 2\na: 3\n", "F:3: key \"a\" already set in map"},
	{"duplicate of other types", "1: a\n'1': b\n",
	 "F:2: key \"1\" already set in map"},
	{"duplicate, spelled otherwise", "yes: a\ntrue: b\n",
	 "F:2: key \"true\" already set in map"},
	{"duplicate inside", "a:\n  - b: 1\n    b: 2\n",
	 "F:3: key \"b\" already set in map"},
	{"merge twice", "a: &x {b: 1}\nd:\n  <<: *x\n  <<: *x\n",
	 "F:4: key \"<<\" already set in map"},
	{"merge of a text", "<<: a\n",
	 "F:1: map merge requires map or sequence of maps as the value"},
	{"merge of texts", "a: 1\n<<: [{}, b]\n",
	 "F:2: map merge requires map or sequence of maps as the value"},
	{"merge of null", "<<:\na: 1\n",
	 "F:1: map merge requires map or sequence of maps as the value"},
	{"tag", "a: !!str 1\n",
	 "F:1: a tag stands here (tag:yaml.org,2002:str): tags are not read, texts go in "
	 "quotes"},
	{"tag of a map", "a:\n  !x {b: 1}\n",
	 "F:2: a tag stands here (!x): tags are not read, texts go in quotes"},
	{"tag of a list", "!!seq [1]\n",
	 "F:1: a tag stands here (tag:yaml.org,2002:seq): tags are not read, texts go in "
	 "quotes"},
	{"binary", "a: !!binary aGk=\n",
	 "F:1: a tag stands here (tag:yaml.org,2002:binary): tags are not read, texts go in "
	 "quotes"},
	{"tag of a key", "!!str a: 1\n",
	 "F:1: a tag stands here (tag:yaml.org,2002:str): tags are not read, texts go in "
	 "quotes"},
	{"key is a list", "[a, b]: 1\n",
	 "F:1: a key must be a text, a number or a boolean"},
	{"key is a map", "a: 1\n? {b: c}\n: 1\n",
	 "F:2: a key must be a text, a number or a boolean"},
	{"key is null", "~: 1\n", "F:1: a key must be a text, a number or a boolean"},
	{"key is an alias of a list", "a: &x [1]\n*x : 1\n",
	 "F:2: a key must be a text, a number or a boolean"},
	{"unknown anchor", "a: 1\nb: *x\n", "F:2: unknown anchor 'x' referenced"},
	{"anchor of another document", "&x a\n---\n*x\n",
	 "F:3: unknown anchor 'x' referenced"},
	{"anchor in itself", "a: &x\n  b: *x\n", "F:2: anchor 'x' value contains itself"},
	{"anchor in itself, known before", "- &x 1\n- &x [*x]\n",
	 "F:2: anchor 'x' value contains itself"},
	{"NUL", "a: \"b\\0c\"\n", "F:1: a text with a NUL, or one that is no UTF-8"},
	{"NUL in a key", "\"b\\0c\": 1\n",
	 "F:1: a text with a NUL, or one that is no UTF-8"},
	{"no UTF-8", "a: \xff\n", "F: invalid leading UTF-8 octet at byte 3"},
	{"half a surrogate", "a: \"\\ud800\"\n",
	 "F:1: found invalid Unicode character escape code"},
	{"control character", "a: \x01\n",
	 "F: control characters are not allowed at byte 3"},
	{"tab as indent", "a:\n\tb: 1\n",
	 "F:2: found character that cannot start any token"},
	{"open list", "a: [1, 2\n", "F:2: did not find expected ',' or ']'"},
	{"open map", "{a: 1\n", "F:2: did not find expected ',' or '}'"},
	{"open quote", "a: \"x\n", "F:2: found unexpected end of stream"},
	{"wrong indent", "a: 1\n  b: 2\n",
	 "F:2: mapping values are not allowed in this context"},
	{"two values", "a: 1\nb\nc: 2\n", "F:3: could not find expected ':'"},
};

static void check(const struct row *row)
{
	neap_auto_free char *text = NULL;
	struct neap_error err = {0};
	json_t *json = NULL, *again = NULL;
	int r = neap_yaml_parse(row->yaml, strlen(row->yaml), "F", &json, &err);

	if (r < 0) {
		assert_null(json);
		assert_int_equal(err.code, -r);
		if (strcmp(err.msg, row->want) != 0)
			fail_msg("%s: \"%s\", want %s", row->name, err.msg, row->want);
		return;
	}
	text = neap_json_dump(json, JSON_COMPACT | JSON_ENCODE_ANY);
	assert_non_null(text);
	if (strcmp(text, row->want) != 0)
		fail_msg("%s: %s, want %s", row->name, text, row->want);
	/* JSON is YAML. */
	r = neap_yaml_parse(text, strlen(text), "F", &again, &err);
	if (r < 0 || !json_equal(json_array_get(again, 0), json))
		fail_msg("%s: does not come back: %s", row->name, err.msg);
	json_decref(again);
	json_decref(json);
}

static void test_scalars(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(scalars); i++)
		check(&scalars[i]);
}

static void test_structure(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(structure); i++)
		check(&structure[i]);
}

static void test_wrong(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(wrong); i++)
		check(&wrong[i]);
}

/* A copy that an alias stands for can be changed without the other. */
static void test_copies(void **state)
{
	static const char text[] = "a: &x {b: {c: 1}}\nd: *x\ne: {<<: *x}\n";
	struct neap_error err = {0};
	json_t *json = NULL, *root;

	(void)state;
	assert_int_equal(neap_yaml_parse(text, strlen(text), "F", &json, &err), 0);
	root = json_array_get(json, 0);
	assert_ptr_not_equal(json_object_get(root, "a"), json_object_get(root, "d"));
	assert_ptr_not_equal(json_object_get(json_object_get(root, "a"), "b"),
			     json_object_get(json_object_get(root, "d"), "b"));
	assert_ptr_not_equal(json_object_get(json_object_get(root, "a"), "b"),
			     json_object_get(json_object_get(root, "e"), "b"));
	json_decref(json);
}

/* --- what is made to cost much --- */

struct large {
	const char *name, *head, *repeat, *tail;
	int times;
	enum neap_code code; /* NEAP_OK: taken */
	const char *says;
};

static void large_check(const struct large *row)
{
	neap_auto_buf struct neap_buf text = {0};
	struct neap_error err = {0};
	json_t *json = NULL;
	int i, r;

	neap_buf_init(&text, 16 * 1024 * 1024);
	neap_buf_adds(&text, row->head);
	for (i = 0; i < row->times; i++)
		neap_buf_adds(&text, row->repeat);
	neap_buf_adds(&text, row->tail);
	assert_false(neap_buf_failed(&text));
	r = neap_yaml_parse(text.data, text.len, "F", &json, &err);
	if (r != -(int)row->code || (row->says && strstr(err.msg, row->says) == NULL))
		fail_msg("%s: %d, \"%s\"", row->name, r, err.msg);
	json_decref(json);
}

static void test_large(void **state)
{
	static const struct large rows[] = {
		{"lists in lists", "", "[", "", 100000, NEAP_ETOOLARGE,
		 "F:1: over 160 levels"},
		{"lists in lists, by blanks", "", "- ", "a\n", 200000, NEAP_ETOOLARGE,
		 "F:1: over 160 levels"},
		{"maps in maps", "", "{a: ", "", 100000, NEAP_ETOOLARGE,
		 "over 160 levels"},
		{"as deep as may be", "", "[", "]", 159, NEAP_EINVAL, "did not find"},
		{"over the size", "a: ", "0123456789abcdef", "\n", 4 * 1024 * 1024 / 16,
		 NEAP_ETOOLARGE, "F: over 4194304 bytes"},
		{"a long text", "a: ", "0123456789abcdef", "\n", 4 * 1024 * 1024 / 16 - 1,
		 NEAP_OK, NULL},
		{"a long number", "a: ", "0000000000000000", "7\n",
		 4 * 1024 * 1024 / 16 - 1, NEAP_OK, NULL},
		{"a long number of blanks", "a: 1", "_1_1_1_1_1_1_1_1", "\n",
		 4 * 1024 * 1024 / 16 - 1, NEAP_OK, NULL},
		{"1000 documents", "", "--- a\n", "", 1000, NEAP_OK, NULL},
		{"1001 documents", "", "--- a\n", "", 1001, NEAP_ETOOLARGE,
		 "F:1001: over 1000 documents"},
		{"many empty documents", "", "---\n", "", 400000, NEAP_OK, NULL},
		{"many values", "[", "a,", "]", 499999, NEAP_OK, NULL},
		{"more", "[", "a,", "]", 500000, NEAP_ETOOLARGE,
		 "F:1: over 500000 values"},
		{"many values far inside",
		 "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
		 "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
		 "a,", "", 1000000, NEAP_ETOOLARGE, "over 500000 values"},
		{"many lines", "", "- a\n", "", 499999, NEAP_OK, NULL},
		{"many anchors", "", "- &a a\n", "", 400000, NEAP_OK, NULL},
		{"many aliases", "- &a a\n", "- *a\n", "", 400000, NEAP_OK, NULL},
		{"many empty maps", "[", "{},", "]", 400000, NEAP_OK, NULL},
		{"many comments", "", "#\n", "", 2000000, NEAP_OK, NULL},
		{"many open keys", "", "? ", "", 100000, NEAP_EINVAL, NULL},
		{"many merges", "- &a {b: 1}\n", "- {<<: *a}\n", "", 90000, NEAP_OK,
		 NULL},
	};
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		large_check(&rows[i]);
}

/* Texts short, what they stand for long: by values, by text, by keys, by depth, by
 * merging. */
static void test_bombs(void **state)
{
	neap_auto_buf struct neap_buf text = {0};
	struct neap_error err = {0};
	json_t *json = NULL;
	size_t i, j;

	(void)state;
	neap_buf_init(&text, 4 * 1024 * 1024);
	neap_buf_adds(&text, "a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
	for (i = 1; i < 10; i++) {
		neap_buf_addf(&text, "a%zu: &a%zu [", i, i);
		for (j = 0; j < 9; j++)
			neap_buf_addf(&text, "*a%zu, ", i - 1);
		neap_buf_adds(&text, "]\n");
	}
	assert_int_equal(neap_yaml_parse(text.data, text.len, "F", &json, &err),
			 -NEAP_ETOOLARGE);
	assert_non_null(strstr(err.msg, "over 500000 values"));

	neap_buf_clear(&text);
	neap_buf_adds(&text, "a: &a ");
	for (i = 0; i < 100000; i++)
		neap_buf_adds(&text, "0123456789");
	neap_buf_adds(&text, "\nb: [");
	for (i = 0; i < 100; i++)
		neap_buf_adds(&text, "*a, ");
	neap_buf_adds(&text, "]\n");
	assert_int_equal(neap_yaml_parse(text.data, text.len, "F", &json, &err),
			 -NEAP_ETOOLARGE);
	assert_non_null(strstr(err.msg, "bytes of text"));

	neap_buf_clear(&text);
	neap_buf_adds(&text, "a: &a {? ");
	for (i = 0; i < 50000; i++)
		neap_buf_adds(&text, "0123456789");
	neap_buf_adds(&text, "x : 1}\nb: [");
	for (i = 0; i < 100; i++)
		neap_buf_adds(&text, "{<<: *a}, ");
	neap_buf_adds(&text, "]\n");
	assert_int_equal(neap_yaml_parse(text.data, text.len, "F", &json, &err),
			 -NEAP_ETOOLARGE);
	assert_non_null(strstr(err.msg, "bytes of text"));

	neap_buf_clear(&text);
	neap_buf_adds(&text, "- &a0 [[[[[[[[[[x]]]]]]]]]]\n");
	for (i = 1; i < 20; i++)
		neap_buf_addf(&text, "- &a%zu [[[[[[[[[[*a%zu]]]]]]]]]]\n", i, i - 1);
	assert_int_equal(neap_yaml_parse(text.data, text.len, "F", &json, &err),
			 -NEAP_ETOOLARGE);
	assert_non_null(strstr(err.msg, "over 160 levels"));
}

/* Each allocation of ours, and of jansson, fails once: an error, no leak, no half
 * result. */
static void test_no_memory(void **state)
{
	static const char text[] =
		"a: &x {b: [1, 2.5, yes, ~, text, 1_0]}\nc: *x\nd: {<<: [*x, {e: 1}], 5: 6, "
		"7.5: \"q\"}\n--- &y\n- *y2\n";
	struct neap_error err;
	json_t *json = NULL;
	int n, r = -NEAP_ENOMEM;

	(void)state;
	for (n = 1; r == -NEAP_ENOMEM; n++) {
		memset(&err, 0, sizeof(err));
		neap_mem_fail_at((uint64_t)n);
		r = neap_yaml_parse(text, strlen(text), "F", &json, &err);
		neap_mem_fail_at(0);
		assert_null(json);
		assert_int_equal(err.code, -r);
		assert_true(n < 10000);
	}
	assert_int_equal(r, -NEAP_EINVAL);
	assert_string_equal(err.msg, "F:5: unknown anchor 'y2' referenced");
	assert_true(n > 50);
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
		cmocka_unit_test(test_scalars),   cmocka_unit_test(test_structure),
		cmocka_unit_test(test_wrong),     cmocka_unit_test(test_copies),
		cmocka_unit_test(test_large),     cmocka_unit_test(test_bombs),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
