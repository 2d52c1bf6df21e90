/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests as a kube-apiserver reads them: options in the query, versions and names in bodies, what a word that is not
 * understood does. The rows are what kube-apiserver 1.20.2 answered, or what doc/api.md says instead. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "t/lib/kube_rig.h"

#define STEPS(rig, steps) kube_steps(rig, steps, NEAP_ARRAY_LEN(steps))
#define TEST(name)                                                                       \
	cmocka_unit_test_setup_teardown(test_##name, kube_rig_setup, kube_rig_teardown)

#define NS     "/api/v1/namespaces/default"
#define MAPS   NS "/configmaps"
#define PODS   NS "/pods"
#define MAP(n) "{'metadata':{'name':'" n "','labels':{'l':'1'}},'data':{'k':'v'}}"
#define POD(n)                                                                           \
	"{'metadata':{'name':'" n "'},'spec':{'containers':[{'name':'c','image':'i'}]}}"

/* --- flags and numbers of a query --- */

static void test_flags(void **state)
{
	static const struct {
		const char *query;
		bool is_watch;
	} rows[] = {
		{"watch=true", true},       {"watch=True", true},
		{"watch=1", true},          {"watch=t", true},
		{"watch=2", true},          {"watch=no", true},
		{"watch=", true},           {"watch", true},
		{"watch=1&watch=0", true},  {"watch=false", false},
		{"watch=FALSE", false},     {"watch=0", false},
		{"watch=0&watch=1", false}, {"x=1", false},
	};
	struct kube_rig *rig = *state;
	struct kube_watch watch;

	assert_int_equal(kube_ask(rig, "POST " MAPS, MAP("a")), 201);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		char query[128];

		(void)snprintf(query, sizeof(query), MAPS "?%s", rows[i].query);
		if (!rows[i].is_watch) {
			char ask[160];

			(void)snprintf(ask, sizeof(ask), "GET %s", query);
			assert_int_equal(kube_ask(rig, ask, NULL), 200);
			assert_string_equal(kube_text(rig->body, "kind"),
					    "ConfigMapList");
			continue;
		}
		kube_watch_open(rig, &watch, query);
		kube_watch_wants(&watch, "ADDED a");
		kube_watch_close(&watch);
	}
	/* A time that has passed ends a watch at once. */
	kube_watch_open(rig, &watch, MAPS "?watch=1&resourceVersion=1&timeoutSeconds=-1");
	assert_int_equal(watch.status, 200);
	kube_watch_close(&watch);
}

static void test_numbers(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " MAPS, MAP("a"), 201, {NULL}},
		{"POST " MAPS, MAP("b"), 201, {NULL}},
		{"GET " MAPS "?limit=-1", NULL, 200, {"#items=2"}},
		{"GET " MAPS "?limit=0", NULL, 200, {"#items=2"}},
		{"GET " MAPS "?limit=", NULL, 400, {"message~(limit)"}},
		{"GET " MAPS "?limit=1.5", NULL, 400, {"message~(limit)"}},
		{"GET " MAPS "?limit=99999999999999999999", NULL, 400, {NULL}},
		{"GET " MAPS "?timeoutSeconds=x",
		 NULL,
		 400,
		 {"message~(timeoutSeconds)"}},
		{"GET " MAPS "?timeoutSeconds=-1", NULL, 200, {"#items=2"}},
		{"GET " MAPS "?watch=1&limit=x", NULL, 400, {"message~(limit)"}},
		{"GET " MAPS "?watch=1&timeoutSeconds=1.5", NULL, 400, {NULL}},
		{"GET " MAPS "?resourceVersion=-1", NULL, 400, {"message~ParseUint"}},
		{"GET " MAPS "?watch=1&resourceVersion=x", NULL, 400, {NULL}},
		{"DELETE " MAPS "?limit=x", NULL, 400, {NULL}},
		{"DELETE " MAPS "/a?gracePeriodSeconds=x", NULL, 400, {NULL}},
		{"DELETE " MAPS "/a?gracePeriodSeconds=", NULL, 400, {NULL}},
		{"GET " MAPS "?labelSelector=l%3E0", NULL, 200, {"#items=2"}},
		{"GET " MAPS "?labelSelector=l%3E1", NULL, 200, {"#items=0"}},
		{"GET " MAPS "?labelSelector=l%3Ex", NULL, 400, {NULL}},
		{"DELETE " MAPS "/a?gracePeriodSeconds=-1", NULL, 200, {NULL}},
	};

	STEPS(*state, steps);
}

/* --- options of writes --- */

#define DRY "dryRun: Unsupported value: "

static void test_options(void **state)
{
	static const char long_name[] = "?fieldManager="
					"mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm"
					"mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm"
					"mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm";
	static const struct kube_step steps[] = {
		{"POST " MAPS "?dryRun=",
		 MAP("a"),
		 422,
		 {"message=CreateOptions.meta.k8s.io \"\" is invalid: " DRY
		  "\"\": supported values: \"All\"",
		  "details.causes.0.field=dryRun",
		  "details.causes.0.reason=FieldValueNotSupported"}},
		{"POST " MAPS "?dryRun=All&dryRun=x", MAP("a"), 422, {NULL}},
		{"GET " MAPS "/a", NULL, 404, {NULL}},
		{"GET " MAPS "?dryRun=x", NULL, 200, {NULL}}, /* of writes alone */
		{"POST " MAPS "?dryRun=All&dryRun=All", MAP("a"), 201, {NULL}},
		{"POST " MAPS "?fieldManager=m&force=1", MAP("a"), 201, {NULL}},
		{"PUT " MAPS "/a?dryRun=", MAP("a"), 422, {"message~UpdateOptions"}},
		{"MERGE " MAPS "/a?dryRun=", "{}", 422, {"message~PatchOptions"}},
		{"MERGE " MAPS "/a?force=false",
		 "{}",
		 422,
		 {"message=PatchOptions.meta.k8s.io \"\" is invalid: force: Forbidden: "
		  "may not be specified for non-apply patch"}},
		{"APPLY " MAPS "/a?force=true", MAP("a"), 415, {NULL}},
		{"MERGE " MAPS "/a?fieldValidation=strict",
		 "{}",
		 422,
		 {"details.causes.0.field=fieldValidation"}},
		{"MERGE " MAPS "/a?fieldValidation=", "{}", 200, {NULL}},
		/* What does not delete. */
		{"DELETE " MAPS "/a?dryRun=", NULL, 422, {"message~DeleteOptions"}},
		{"DELETE " MAPS "/a?dryRun=All&dryRun=x", NULL, 422, {NULL}},
		{"DELETE " MAPS "/a?propagationPolicy=", NULL, 422, {NULL}},
		{"DELETE " MAPS "/a?propagationPolicy=Foo",
		 NULL,
		 422,
		 {"details.causes.0.field=propagationPolicy"}},
		{"DELETE " MAPS "/a?propagationPolicy=Orphan&orphanDependents=1",
		 NULL,
		 422,
		 {NULL}},
		{"DELETE " MAPS "/a?uid=x", NULL, 409, {NULL}},
		{"DELETE " MAPS "?dryRun=", NULL, 422, {NULL}},
		{"DELETE " MAPS "/a", "{'dryRun':'All'}", 400, {"message~dryRun"}},
		{"DELETE " MAPS "/a", "{'dryRun':['']}", 422, {NULL}},
		{"DELETE " MAPS "/a", "{'dryRun':['All','x']}", 422, {NULL}},
		{"DELETE " MAPS "/a", "{'dryRun':['All','All']}", 200, {NULL}},
		{"DELETE " MAPS "/a", "{'preconditions':{'uid':5}}", 400, {NULL}},
		{"DELETE " MAPS "/a", "{'preconditions':{'uid':''}}", 409, {NULL}},
		{"DELETE " MAPS "/a", "{'preconditions':[]}", 400, {NULL}},
		{"DELETE " MAPS "/a", "{'propagationPolicy':''}", 422, {NULL}},
		{"DELETE " MAPS "/a", "{'propagationPolicy':'Foo'}", 422, {NULL}},
		{"DELETE " MAPS "/a", "{'orphanDependents':'false'}", 400, {NULL}},
		{"DELETE " MAPS "/a", "{'gracePeriodSeconds':'1'}", 400, {NULL}},
		{"DELETE " MAPS "/a", "{'kind':'Pod'}", 400, {NULL}},
		{"GET " MAPS "/a", NULL, 200, {NULL}},
		{"DELETE " MAPS "/a?orphanDependents=true",
		 NULL,
		 200,
		 {"metadata.finalizers=[\"orphan\"]"}},
	};
	struct kube_rig *rig = *state;
	char ask[256];

	STEPS(rig, steps);
	(void)snprintf(ask, sizeof(ask), "POST " MAPS "%s", long_name);
	assert_int_equal(kube_ask(rig, ask, MAP("m")), 422);
	assert_string_equal(kube_text(rig->body, "message"),
			    "CreateOptions.meta.k8s.io \"\" is invalid: fieldManager: "
			    "Too long: must have at most 128 bytes");
	ask[strlen(ask) - 1] = '\0';
	assert_int_equal(kube_ask(rig, ask, MAP("m")), 201);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(flags),
		TEST(numbers),
		TEST(options),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
