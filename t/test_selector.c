/* SPDX-License-Identifier: Apache-2.0
 *
 * Label selectors: what they match, what is refused and how Kubernetes would say it,
 * label syntax. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/base/selector.h"

#define TEN   "aaaaaaaaaa"
#define SIXTY TEN TEN TEN TEN TEN TEN

/* clang-format off */
/* "map" in front: a plain map of labels. */
static const struct {
	const char *selector, *labels;
	bool want;
} matches[] = {
	{"{}", "{}", true},
	{"{}", "{\"a\": \"b\"}", true},
	{"{}", NULL, true},
	{"{\"matchLabels\": {}, \"matchExpressions\": []}", "{}", true},
	{"{\"matchLabels\": null, \"matchExpressions\": null}", "{}", true},
	{"{\"matchLabels\": {\"a\": \"b\"}}", "{\"a\": \"b\", \"c\": \"d\"}", true},
	{"{\"matchLabels\": {\"a\": \"b\"}}", "{\"a\": \"bb\"}", false},
	{"{\"matchLabels\": {\"a\": \"b\"}}", "{}", false},
	{"{\"matchLabels\": {\"a\": \"b\"}}", NULL, false},
	{"{\"matchLabels\": {\"a\": \"b\"}}", "{\"a\": 1}", false},
	{"{\"matchLabels\": {\"a\": \"\"}}", "{\"a\": \"\"}", true},
	{"{\"matchLabels\": {\"a\": \"\"}}", "{}", false},
	{"{\"matchLabels\": {\"a\": \"b\"}}", "{\"a\": \"b\\u0000\"}", false},
	{"{\"matchLabels\": {\"a\": \"b\", \"c\": \"d\"}}", "{\"a\": \"b\"}", false},
	{"{\"matchExpressions\": [{\"key\": \"a\", \"operator\": \"In\", \"values\": [\"x\", \"y\"]}]}", "{\"a\": \"y\"}", true},
	{"{\"matchExpressions\": [{\"key\": \"a\", \"operator\": \"In\", \"values\": [\"x\", \"y\"]}]}", "{\"a\": \"z\"}", false},
	{"{\"matchExpressions\": [{\"key\": \"a\", \"operator\": \"In\", \"values\": [\"x\", \"y\"]}]}", "{}", false},
	{"{\"matchExpressions\": [{\"key\": \"a\", \"operator\": \"NotIn\", \"values\": [\"x\", \"y\"]}]}", "{\"a\": \"y\"}", false},
	{"{\"matchExpressions\": [{\"key\": \"a\", \"operator\": \"NotIn\", \"values\": [\"x\", \"y\"]}]}", "{\"a\": \"z\"}", true},
	{"{\"matchExpressions\": [{\"key\": \"a\", \"operator\": \"NotIn\", \"values\": [\"x\", \"y\"]}]}", "{}", true},
	{"{\"matchExpressions\": [{\"key\": \"a\", \"operator\": \"Exists\"}]}", "{\"a\": \"\"}", true},
	{"{\"matchExpressions\": [{\"key\": \"a\", \"operator\": \"Exists\", \"values\": []}]}", "{\"b\": \"\"}", false},
	{"{\"matchExpressions\": [{\"key\": \"a\", \"operator\": \"DoesNotExist\", \"values\": null}]}", "{\"b\": \"\"}", true},
	{"{\"matchExpressions\": [{\"key\": \"a\", \"operator\": \"DoesNotExist\"}]}", "{\"a\": \"\"}", false},
	{"{\"matchLabels\": {\"a\": \"b\"}, \"matchExpressions\": [{\"key\": \"a\", \"operator\": \"NotIn\", \"values\": [\"b\"]}]}", "{\"a\": \"b\"}", false},
	{"map{\"pool\": \"batch\", \"example.com/x.y_z-1\": \"1.0\"}", "{\"pool\": \"batch\", \"example.com/x.y_z-1\": \"1.0\", \"z\": \"\"}", true},
	{"map{\"pool\": \"batch\"}", "{\"pool\": \"web\"}", false},
	{"map{}", "{}", true},
};

static const struct {
	const char *selector, *field, *want;
} bad[] = {
	{"[]", "", "Invalid value: an object with matchLabels or matchExpressions is wanted"},
	{"{\"matchlabels\": {}, \"zz\": 1}", "matchlabels", "unknown field; known: matchLabels, matchExpressions"},
	{"{\"matchLabels\": []}", "matchLabels", "an object of labels is wanted"},
	{"{\"matchLabels\": {\"z\": \"\", \"a b\": \"c\"}}", "matchLabels", "Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"},
	{"{\"matchLabels\": {\"a\": \"b c\"}}", "matchLabels", "Invalid value: \"b c\": a valid label must be an empty string or consist of"},
	{"{\"matchLabels\": {\"a\": \"b\\nc\"}}", "matchLabels", "Invalid value: \"b?c\": "},
	{"{\"matchLabels\": {\"a\": 1}}", "matchLabels", "label 'a': Invalid value: a text is wanted"},
	{"{\"matchLabels\": {\"a\": \"x\\u0000\"}}", "matchLabels", "a text is wanted"},
	{"{\"matchLabels\": {\"a\": \"" SIXTY "aaaa\"}}", "matchLabels", "must be no more than 63 bytes"},
	{"{\"matchExpressions\": {}}", "matchExpressions", "a list of requirements is wanted"},
	{"{\"matchExpressions\": [5]}", "matchExpressions[0]", "an object with key, operator and values"},
	{"{\"matchExpressions\": [{\"key\": \"a\", \"op\": \"In\"}]}", "matchExpressions[0].op", "unknown field; known: key, operator, values"},
	{"{\"matchExpressions\": [{\"operator\": \"In\"}]}", "matchExpressions[0].key", "Required value"},
	{"{\"matchExpressions\": [{\"key\": \"/a\", \"operator\": \"In\"}]}", "matchExpressions[0].key", "Invalid value: \"/a\": prefix part must be non-empty"},
	{"{\"matchExpressions\": [{\"key\": \"a\"}]}", "matchExpressions[0].operator", "Required value: In, NotIn, Exists or DoesNotExist"},
	{"{\"matchExpressions\": [{\"key\": \"a\", \"operator\": \"Exists\"}, {\"key\": \"a\", \"operator\": \"in\"}]}", "matchExpressions[1].operator", "Invalid value: \"in\": not a valid selector operator"},
	{"{\"matchExpressions\": [{\"key\": \"a\", \"operator\": \"In\"}]}", "matchExpressions[0].values", "Required value: must be specified when `operator` is 'In' or 'NotIn'"},
	{"{\"matchExpressions\": [{\"key\": \"a\", \"operator\": \"NotIn\", \"values\": []}]}", "matchExpressions[0].values", "Required value: must"},
	{"{\"matchExpressions\": [{\"key\": \"a\", \"operator\": \"Exists\", \"values\": [\"\"]}]}", "matchExpressions[0].values", "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"},
	{"{\"matchExpressions\": [{\"key\": \"a\", \"operator\": \"In\", \"values\": \"b\"}]}", "matchExpressions[0].values", "a list of texts"},
	{"{\"matchExpressions\": [{\"key\": \"a\", \"operator\": \"In\", \"values\": [\"b\", 5]}]}", "matchExpressions[0].values[1]", "a text is wanted"},
	{"{\"matchExpressions\": [{\"key\": \"a\", \"operator\": \"In\", \"values\": [\"-\"]}]}", "matchExpressions[0].values[0]", "Invalid value: \"-\": a valid label"},
	{"map[]", "", "an object of labels is wanted"},
	{"map{\"a\": \"b\", \"c\": \"d e\"}", "c", "Invalid value: \"d e\""},
	{"map{\"a\": null}", "a", "a text is wanted"},
};

static const struct {
	const char *text;
	const char *want; /* NULL: fine */
} keys[] = {
	{"a", NULL}, {"A9", NULL}, {"a-b_c.d", NULL}, {"a--b", NULL},
	{"example.com/a", NULL}, {"a/b", NULL}, {"x-1.y/Z", NULL}, {"a--b.c/d", NULL},
	{SIXTY "aaa", NULL}, {SIXTY SIXTY SIXTY SIXTY TEN "aaa/b", NULL},
	{"", "name part must be non-empty"},
	{"a/", "name part must be non-empty"},
	{"/a", "prefix part must be non-empty"},
	{"a/b/c", "a qualified name must consist of"},
	{"-a", "name part must consist"}, {"a-", "name part must consist"},
	{".", "name part must consist"}, {"a b", "name part must consist"},
	{"\303\244", "name part must consist"},
	{SIXTY "aaaa", "name part must be no more than 63"},
	{SIXTY SIXTY SIXTY SIXTY TEN "aaaa/b", "prefix part must be no more than 253"},
	{"A/b", "prefix part a lowercase"}, {"-a/b", "prefix part a lowercase"},
	{"a-/b", "prefix part a lowercase"}, {"a..b/c", "prefix part a lowercase"},
	{".a/c", "prefix part a lowercase"}, {"a./c", "prefix part a lowercase"},
	{"a-.b/c", "prefix part a lowercase"}, {"a.-b/c", "prefix part a lowercase"},
	{"a_b/c", "prefix part a lowercase"},
};
/* clang-format on */

static int parse(const char *text, struct neap_selector **ret, struct neap_error *err)
{
	bool is_map = strncmp(text, "map", 3) == 0;
	json_t *json = json_loads(text + (is_map ? 3 : 0), JSON_ALLOW_NUL, NULL);
	int rc;

	if (!json)
		fail_msg("%s: no JSON", text);
	rc = is_map ? neap_selector_parse_map(json, ret, err)
		    : neap_selector_parse(json, ret, err);
	json_decref(json);
	return rc;
}

static void test_matches(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(matches); i++) {
		json_t *labels = matches[i].labels ? json_loads(matches[i].labels,
								JSON_ALLOW_NUL, NULL)
						   : NULL;
		struct neap_selector *selector = NULL, *copy;
		struct neap_error err;

		if (parse(matches[i].selector, &selector, &err) < 0)
			fail_msg("%s: %s %s", matches[i].selector, err.field, err.msg);
		copy = neap_alloc(neap_selector_size(selector));
		assert_non_null(copy);
		memcpy(copy, selector, neap_selector_size(selector));
		neap_selector_free(selector);
		if (neap_selector_matches(copy, labels) != matches[i].want)
			fail_msg("%s on %s", matches[i].selector,
				 matches[i].labels ? matches[i].labels : "nothing");
		neap_selector_free(copy);
		json_decref(labels);
	}
}

static void test_bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(bad); i++) {
		struct neap_selector *selector = NULL;
		struct neap_error err = {0};

		if (parse(bad[i].selector, &selector, &err) >= 0 || selector)
			fail_msg("%s was taken", bad[i].selector);
		if (strcmp(err.field, bad[i].field) != 0 || !strstr(err.msg, bad[i].want))
			fail_msg("%s: %s: %s", bad[i].selector, err.field, err.msg);
	}
	assert_int_equal(neap_selector_parse(NULL, NULL, NULL), -NEAP_EINVAL);
}

static void test_keys(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(keys); i++) {
		struct neap_error err = {0};
		int rc = neap_label_check_key(keys[i].text, &err);

		if (keys[i].want ? rc >= 0 || !strstr(err.msg, keys[i].want) : rc != 0)
			fail_msg("'%s': %d %s", keys[i].text, rc, err.msg);
	}
}

/* As many requirements and values as are allowed, then one more. */
static void test_limits(void **state)
{
	json_t *json = json_pack("{s:{}, s:[]}", "matchLabels", "matchExpressions");
	json_t *labels = json_object_get(json, "matchLabels");
	json_t *values, *row;
	struct neap_selector *selector = NULL;
	struct neap_error err;
	char name[80];

	(void)state;
	for (int i = 1; i < NEAP_SELECTOR_REQUIREMENTS; i++) {
		snprintf(name, sizeof(name), SIXTY "%03d", i);
		json_object_set_new(labels, name, json_string(name));
	}
	row = json_pack("{s:s, s:s, s:o}", "key", "a", "operator", "NotIn", "values",
			values = json_array());
	json_array_append_new(json_object_get(json, "matchExpressions"), row);
	for (int i = NEAP_SELECTOR_REQUIREMENTS; i <= NEAP_SELECTOR_VALUES; i++)
		json_array_append_new(values, json_string(SIXTY "bbb"));
	if (neap_selector_parse(json, &selector, &err) < 0)
		fail_msg("%s: %s", err.field, err.msg);
	assert_true(neap_selector_size(selector) < 65536);
	assert_true(neap_selector_matches(selector, labels));
	neap_selector_free(selector);

	json_array_append_new(values, json_string("c"));
	assert_int_equal(neap_selector_parse(json, &selector, &err), -NEAP_ETOOLARGE);
	assert_string_equal(err.field, "matchExpressions[0].values[449]");
	json_array_remove(values, 0);
	json_object_set_new(labels, "z", json_string("z"));
	assert_int_equal(neap_selector_parse(json, &selector, &err), -NEAP_ETOOLARGE);
	json_object_set_new(labels, "y", json_string("z"));
	assert_int_equal(neap_selector_parse(json, &selector, &err), -NEAP_ETOOLARGE);
	assert_string_equal(err.field, "matchLabels");
	json_decref(json);
}

static void test_torture(void **state)
{
	(void)state;
	for (uint64_t n = 1; n < 20; n++) {
		struct neap_selector *selector = NULL;
		struct neap_error err;
		int rc;

		neap_mem_fail_at(n);
		rc = parse("{\"matchLabels\": {\"a\": \"b\"}}", &selector, &err);
		neap_mem_fail_at(0);
		if (rc < 0)
			assert_int_equal(rc, -NEAP_ENOMEM);
		neap_selector_free(selector);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_matches), cmocka_unit_test(test_bad),
		cmocka_unit_test(test_keys),    cmocka_unit_test(test_limits),
		cmocka_unit_test(test_torture),
	};

	return cmocka_run_group_tests_name("selector", tests, NULL, NULL);
}
