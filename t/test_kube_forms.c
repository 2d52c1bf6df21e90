/* SPDX-License-Identifier: Apache-2.0
 *
 * The small texts of a request: paths, selectors of labels and of fields, continue
 * tokens. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/kube/base/field_selector.h"
#include "api/kube/base/registry.h"
#include "api/kube/request/slow.h"
#include "engine/base/mem.h"
#include "engine/base/selector.h"

/* --- paths --- */

static void test_paths(void **state)
{
	static const struct {
		bool is_core;
		const char *path, *want; /* "plural ns name sub"; NULL: not served */
	} rows[] = {
		{true, "v1/pods", "pods //"},
		{true, "v1/pods/", "pods //"},
		{true, "v1//pods", NULL}, /* an empty one */
		{true, "/v1/pods", NULL},
		{true, "v1/namespaces", "namespaces //"},
		{true, "v1/namespaces/a", "namespaces /a/"},
		{true, "v1/namespaces/a/status", "namespaces /a/status"},
		{true, "v1/namespaces/a/finalize", "namespaces /a/finalize"},
		{true, "v1/namespaces/a/pods", "pods a//"},
		{true, "v1/namespaces/a/pods/b", "pods a/b/"},
		{true, "v1/namespaces/a/pods/b/binding", "pods a/b/binding"},
		{true, "v1/namespaces/status/pods", "pods status//"},
		{true, "v1/nodes/n", "nodes /n/"},
		{true, "v1/nodes/n/status", "nodes /n/status"},
		{true, "v1/watch/pods", "watch pods //"},
		{true, "v1/watch/namespaces", "watch namespaces //"},
		{true, "v1/watch/namespaces/a", "watch namespaces /a/"},
		{true, "v1/watch/namespaces/a/pods/b", "watch pods a/b/"},
		{false, "apps/v1/watch/namespaces/a/deployments",
		 "watch deployments a//"},
		{true, "v1/watch", NULL},
		{true, "v1/watch/nothings", NULL},
		{true, "v1/watch/namespaces/a/pods/b/log", NULL},
		{false, "apps/v1/deployments", "deployments //"},
		{false, "apps/v1/namespaces/a/deployments/d/scale",
		 "deployments a/d/scale"},
		{false, "policy/v1beta1/namespaces/a/poddisruptionbudgets",
		 "poddisruptionbudgets a//"},
		{true, "v1", " //"},
		{false, "apps", " //"},
		{false, "apps/v1", " //"},
		{true, "", NULL},
		{true, "v1/nothings", NULL},
		{true, "v2/pods", NULL},
		{true, "v1/pods/b", NULL},                  /* in no namespace */
		{true, "v1/namespaces/a/nodes", NULL},      /* in none */
		{true, "v1/namespaces/a/pods/b/c/d", NULL}, /* too deep */
		{true, "v1/a/b/c/d/e/f/g/h/i", NULL},
		{false, "apps/v1/namespaces/a", NULL},
		{true, "v1/deployments", NULL},
	};
	struct neap_kube_registry *registry = neap_kube_registry_new();
	struct neap_error err;

	(void)state;
	assert_int_equal(neap_kube_registry_add_all(registry, neap_kube_core_kinds, &err),
			 0);
	assert_int_equal(neap_kube_registry_add_all(registry, neap_kube_apps_kinds, &err),
			 0);
	assert_int_equal(
		neap_kube_registry_add_all(registry, neap_kube_other_kinds, &err), 0);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_kube_target target;
		char got[512];
		int ret = neap_kube_target_parse(registry, rows[i].is_core, rows[i].path,
						 &target, &err);

		if (ret < 0 || rows[i].want == NULL) {
			if ((ret < 0) != (rows[i].want == NULL))
				fail_msg("%s: %d", rows[i].path, ret);
			continue;
		}
		(void)snprintf(got, sizeof(got), "%s%s %s/%s/%s",
			       target.is_watch ? "watch " : "", target.plural, target.ns,
			       target.name, target.sub);
		if (strcmp(got, rows[i].want) != 0)
			fail_msg("%s: %s", rows[i].path, got);
	}
	neap_kube_registry_free(registry);
}

/* --- labels --- */

static void test_labels(void **state)
{
	/* Against {"app":"web","tier":"a","empty":"","size":"5"}: 1, 0; -1: no
	 * selector. */
	static const struct {
		const char *text;
		int want;
	} rows[] = {
		{"", 1},
		{"  ", 1},
		{"app=web", 1},
		{"app==web", 1},
		{"app = web", 1},
		{"app=db", 0},
		{"app!=web", 0},
		{"app!=db", 1},
		{"none!=x", 1},
		{"app", 1},
		{"none", 0},
		{"!app", 0},
		{"! none", 1},
		{"empty=", 1},
		{"app=", 0},
		{"app in (db, web)", 1},
		{"app in(web)", 1},
		{"app notin (web)", 0},
		{"none notin (web)", 1},
		{"app=web,tier in (a,b),!none", 1},
		{"app=web,tier in (b)", 0},
		{"app=web, tier=a", 1},
		{"example.com/x=1", 0},
		{",", -1},
		{"app=web,", -1},
		{"app=web,,tier", -1},
		{"=web", -1},
		{"!", -1},
		{"app web", -1},
		{"app in web", -1},
		{"app in (web", -1},
		{"app in (web))", -1},
		{"app=web=x", -1},
		{"app=a b", -1},
		{"app>1", 0},
		{"size>3", 1},
		{"size > 5", 0},
		{"size<6,app", 1},
		{"size<5", 0},
		{"none<5", 0},
		{"far>1", 0}, /* no number of 64 bits */
		{"size>", -1},
		{"size>x", -1},
		{"size>=4", -1},
		{"size>1.5", -1},
		{"size>-1", -1}, /* no value of a label */
		{"!size>1", -1},
		{">1", -1},
		{"-app=x", -1},
		{"app=not/a/value", -1},
	};
	json_t *labels =
		json_pack("{s:s, s:s, s:s, s:s, s:s}", "app", "web", "tier", "a", "empty",
			  "", "size", "5", "far", "99999999999999999999");

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_selector *selector = NULL;
		struct neap_error err = {0};
		int got = neap_selector_parse_text(rows[i].text, &selector, &err);

		if (got == 0)
			got = neap_selector_matches(selector, labels);
		else
			got = -1;
		neap_selector_free(selector);
		if (got != rows[i].want)
			fail_msg("'%s': %d %s", rows[i].text, got, err.msg);
	}
	json_decref(labels);
}

/* --- fields --- */

static void test_fields(void **state)
{
	/* Against default/p on n1. */
	static const struct {
		const char *text;
		int want;
	} rows[] = {
		{"metadata.name=p", 1},
		{"metadata.name==p", 1},
		{"metadata.name!=p", 0},
		{"metadata.namespace=default,metadata.name=p", 1},
		{"metadata.namespace=other,metadata.name=p", 0},
		{"spec.nodeName=n1", 1},
		{"spec.nodeName=", 0},
		{"status.phase=", 1},
		{"status.phase!=Failed,status.phase!=Succeeded", 1},
		{"spec.nodeName=n1,", 1},
		{"spec.nodeName=n\\,1", 0},
		{"spec.nodeName=n\\=1", 0},
		{"spec.other=x", -1},
		{"spec.nodeName", -1},
		{"=x", -1},
		{"!=x", -1},
	};
	static const char *const known[] = {"spec.nodeName", "status.phase", NULL};
	struct neap_object *object = NULL;
	struct neap_error err = {0};
	json_t *tree = json_pack("{s:{s:s, s:s}, s:{s:s}}", "metadata", "name", "p",
				 "namespace", "default", "spec", "nodeName", "n1");

	(void)state;
	assert_int_equal(neap_object_new_take(tree, known, 1, &object, &err), 0);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_field_selector selector;
		int got = neap_field_selector_parse(rows[i].text, known, true, &selector,
						    &err);

		got = got < 0 ? -1 : neap_field_selector_matches(&selector, object);
		neap_field_selector_done(&selector);
		if (got != rows[i].want)
			fail_msg("'%s': %d %s", rows[i].text, got, err.msg);
	}
	(void)neap_object_unref(object);
}

/* --- pages --- */

static void test_tokens(void **state)
{
	static const char *const bad[] = {"",     "x",        "!!!!",       "MQ",
					  "MS8v", "LTEvL25h", "MC8vbmFtZQ", "YS8vbmFtZQ"};
	struct neap_store_place place = {.version = INT64_MAX}, back;
	char token[NEAP_KUBE_CONTINUE_SIZE], name[NEAP_OBJECT_NAME];
	struct neap_error err;

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (size_t len = 1; len < sizeof(name); len++) {
		(void)snprintf(place.name, sizeof(place.name), "%.*s", (int)len, name);
		(void)snprintf(place.ns, sizeof(place.ns), "%.*s", (int)(len % 64), name);
		assert_int_equal(
			neap_kube_continue_parse(neap_kube_continue_format(&place, token),
						 &back, &err),
			0);
		assert_true(back.version == place.version);
		assert_string_equal(back.ns, place.ns);
		assert_string_equal(back.name, place.name);
		assert_int_equal(strcspn(token, "+/="), strlen(token));
	}
	for (size_t i = 0; i < NEAP_ARRAY_LEN(bad); i++)
		if (neap_kube_continue_parse(bad[i], &back, &err) != -NEAP_EINVAL)
			fail_msg("'%s'", bad[i]);
	memset(token, 'A', sizeof(token) - 1);
	token[sizeof(token) - 1] = '\0';
	assert_int_equal(neap_kube_continue_parse(token, &back, &err), -NEAP_EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_tokens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
