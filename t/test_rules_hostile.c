/* SPDX-License-Identifier: Apache-2.0
 *
 * The rules and what nobody would write: values of wrong types, lists of thousands, a
 * ConfigMap at its bound; and manifests of others, which break none. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "t/lib/json_rig.h"
#include "t/lib/rules_rig.h"

#define CASES "t/cases/manifests"
/* Items of a list in an object of a megabyte. */
#define MANY 40000

static struct neap_causes causes;

/* --- wrong types --- */

/* Puts value in place of the n-th value below at, counted from *n down; false when there
 * are fewer. */
static bool replace(json_t *at, size_t *n, json_t *value)
{
	const char *key;
	json_t *child;
	size_t i;
	void *tmp;

	json_object_foreach_safe(at, tmp, key, child)
	{
		if ((*n)-- == 0)
			return json_object_set(at, key, value) == 0;
		if (replace(child, n, value))
			return true;
	}
	json_array_foreach (at, i, child) {
		if ((*n)-- == 0)
			return json_array_set(at, i, value) == 0;
		if (replace(child, n, value))
			return true;
	}
	return false;
}

/* Each value of each manifest as a value of another type, new and as what was there
 * before. */
static void test_types(void **state)
{
	static const char *const values[] = {
		"null", "5",  "-0.5", "true",          "'a'",
		"''",   "[]", "{}",   "[[5,null,{}]]", "{'name':5,'':[]}"};
	size_t count = 0;

	(void)state;
	for (size_t k = 0; rules_kinds[k] != NULL; k++)
		for (size_t v = 0; v < NEAP_ARRAY_LEN(values); v++)
			for (size_t n = 0;; n++) {
				json_t *object = rules_object(rules_kinds[k], "");
				json_t *whole = rules_object(rules_kinds[k], "");
				json_t *value = json_rig_make(values[v]);
				size_t at = n;
				bool is_there = replace(object, &at, value);

				rules_check(rules_kind(rules_kinds[k]), object, NULL,
					    &causes);
				rules_check(rules_kind(rules_kinds[k]), object, whole,
					    &causes);
				rules_check(rules_kind(rules_kinds[k]), whole, object,
					    &causes);
				json_decref(object);
				json_decref(whole);
				json_decref(value);
				count++;
				if (!is_there)
					break;
			}
	assert_true(count > 5000);
}

/* --- sizes --- */

static double seconds(void)
{
	struct timespec now;

	assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now), 0);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Lists of many items, "%d" in which is their number; at a path without its last step. */
static const struct {
	const char *kind, *parent, *member, *item;
} lists[] = {
	{"Pod", "spec", "containers", "{'name':'c%d','image':'a'}"},
	{"Pod", "spec", "containers", "{'name':'c','image':'a'}"},
	{"Pod", "spec", "volumes", "{'name':'v%d','emptyDir':{}}"},
	{"Pod", "spec", "tolerations", "{'key':'k%d','operator':'Exists'}"},
	{"Pod", "spec", "tolerations", "{'operator':'Exists'}"},
	{"Pod", "spec", "schedulingGates", "{'name':'g%d'}"},
	{"Pod", "spec", "topologySpreadConstraints",
	 "{'maxSkew':1,'topologyKey':'k%d','whenUnsatisfiable':'DoNotSchedule'}"},
	{"Node", "spec", "taints", "{'key':'k%d','effect':'NoSchedule'}"},
	{"Node", "status", "addresses", "{'type':'Hostname','address':'a%d'}"},
	{"Service", "spec", "ports", "{'name':'p%d','port':%d,'nodePort':%d}"},
	{"CustomResourceDefinition", "spec", "versions",
	 "{'name':'v%d','served':true,'storage':false}"},
};

static json_t *make_list(const char *item, bool is_reversed)
{
	json_t *list = json_array();

	assert_non_null(list);
	for (int i = 0; i < MANY; i++) {
		int n = is_reversed ? MANY - i : i + 1;
		char text[256];

		(void)snprintf(text, sizeof(text), item, n, n, n);
		assert_int_equal(json_array_append_new(list, json_rig_make(text)), 0);
	}
	return list;
}

static void test_sizes(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(lists); i++) {
		json_t *object = rules_object(lists[i].kind, "");
		json_t *before = rules_object(lists[i].kind, "");
		double start;

		assert_int_equal(json_object_set_new(
					 json_object_get(object, lists[i].parent),
					 lists[i].member, make_list(lists[i].item, true)),
				 0);
		assert_int_equal(
			json_object_set_new(json_object_get(before, lists[i].parent),
					    lists[i].member,
					    make_list(lists[i].item, false)),
			0);
		start = seconds();
		memset(&causes, 0, sizeof(causes));
		rules_kind(lists[i].kind)->check(object, before, &causes);
		/* Some 40 ms; a list compared with itself would be a minute. */
		if (seconds() - start > 3)
			fail_msg("%s %s: %.1f s", lists[i].kind, lists[i].member,
				 seconds() - start);
		json_decref(object);
		json_decref(before);
	}
}

/* A mebibyte of values and one byte more, of texts and of base64. */
static void test_configmap(void **state)
{
	enum { MAX = 1024 * 1024 };
	static const struct {
		const char *member;
		size_t len;
		bool is_right;
	} rows[] = {
		{"data", MAX, true},
		{"data", MAX + 1, false},
		{"binaryData", (MAX - 1) / 3 * 4, true},
		{"binaryData", (MAX / 3 + 1) * 4, false},
	};
	const struct neap_kube_kind *kind = rules_kind("ConfigMap");

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		char *text = malloc(rows[i].len);
		json_t *object = json_object(), *values = json_object();

		assert_non_null(text);
		memset(text, 'A', rows[i].len);
		json_object_set_new(values, "a", json_stringn(text, rows[i].len));
		json_object_set_new(object, rows[i].member, values);
		memset(&causes, 0, sizeof(causes));
		kind->check(object, NULL, &causes);
		assert_int_equal(causes.count, rows[i].is_right ? 0 : 1);
		if (!rows[i].is_right) {
			assert_string_equal(causes.list[0].field, "[]");
			assert_string_equal(
				causes.list[0].message,
				"Too long: may not be more than 1048576 bytes");
		}
		json_decref(object);
		free(text);
	}
}

/* --- manifests as they come --- */

static const struct neap_kube_kind *find_kind(const char *name)
{
	const struct neap_kube_kind *const *const tables[] = {
		neap_kube_core_kinds, neap_kube_apps_kinds, neap_kube_other_kinds};

	for (size_t t = 0; t < NEAP_ARRAY_LEN(tables); t++)
		for (size_t i = 0; tables[t][i] != NULL; i++)
			if (strcmp(tables[t][i]->kind, name) == 0)
				return tables[t][i];
	return NULL;
}

/* An object with its defaults that the schema has found right. 1: it was looked at. */
static int check_manifest(const char *name)
{
	char path[512];
	json_error_t where;
	json_t *want, *object, *spec;
	const struct neap_kube_kind *kind;
	char *text;

	(void)snprintf(path, sizeof(path), CASES "/%s/want.json", name);
	want = json_load_file(path, 0, &where);
	object = json_object_get(want, "object");
	kind = object != NULL
		       ? find_kind(json_string_value(json_object_get(object, "kind")))
		       : NULL;
	spec = json_object_get(json_object_get(want, "object"), "apiVersion");
	if (kind == NULL || kind->check == NULL ||
	    strncmp(json_string_value(spec), "events.", strlen("events.")) == 0) {
		json_decref(want);
		return 0;
	}
	rules_check(kind, object, NULL, &causes);
	text = rules_text(&causes);
	if (causes.count > 0)
		fail_msg("%s: %s", name, text);
	free(text);
	rules_check(kind, object, object, &causes);
	assert_int_equal(causes.count, 0);
	json_decref(want);
	return 1;
}

static void test_manifests(void **state)
{
	struct dirent **list;
	int count = scandir(CASES, &list, NULL, alphasort), checked = 0;

	(void)state;
	assert_true(count > 2);
	for (int i = 0; i < count; i++) {
		if (list[i]->d_name[0] != '.')
			checked += check_manifest(list[i]->d_name);
		free(list[i]);
	}
	free(list);
	assert_true(checked > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_configmap),
		cmocka_unit_test(test_manifests),
	};

	neap_json_setup();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
