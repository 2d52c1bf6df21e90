/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests as a kube-apiserver reads them: options in the query, versions and names in
 * bodies, what a word that is not understood does. The rows are what kube-apiserver
 * 1.20.2 answered, or what doc/api.md says instead. */
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
		{"APPLY " MAPS "/a?force=true", MAP("a"), 422, {"message~fieldManager"}},
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

/* --- versions and names of updates --- */

#define GROUP(g, p) "/apis/" g "/namespaces/default/" p
#define TEMPLATE                                                                         \
	"'selector':{'matchLabels':{'a':'b'}},'template':{'metadata':{'labels':"         \
	"{'a':'b'}},'spec':{'containers':[{'name':'c','image':'i'}]}}"

/* An update that says no version, version "0", and one of what is not there; whether a
 * deletion answers with the object. */
static void test_kinds(void **state)
{
	static const struct {
		const char *path, *more;
		bool is_free, is_made, is_shown;
	} rows[] = {
		{MAPS, "", true, false, false},
		{PODS, ",'spec':{'containers':[{'name':'c','image':'i'}]}", true, false,
		 true},
		{NS "/services", ",'spec':{'clusterIP':'None','ports':[{'port':80}]}",
		 true, true, true},
		{NS "/serviceaccounts", "", true, false, true},
		{NS "/events",
		 ",'involvedObject':{'kind':'Pod','namespace':'default','name':'x'}",
		 true, true, false},
		{"/api/v1/nodes", "", true, false, false},
		{"/api/v1/persistentvolumes",
		 ",'spec':{'capacity':{'storage':'1Gi'},'accessModes':['ReadWriteOnce'],"
		 "'hostPath':{'path':'/x'}}",
		 true, false, true},
		{NS "/persistentvolumeclaims",
		 ",'spec':{'accessModes':['ReadWriteOnce'],'resources':{'requests':"
		 "{'storage':'1Gi'}}}",
		 true, false, true},
		{GROUP("apps/v1", "deployments"), ",'spec':{" TEMPLATE "}", true, false,
		 false},
		{GROUP("coordination.k8s.io/v1", "leases"), ",'spec':{}", false, true,
		 false},
		{GROUP("policy/v1", "poddisruptionbudgets"), ",'spec':{'minAvailable':1}",
		 false, false, false},
		{"/apis/scheduling.k8s.io/v1/priorityclasses", ",'value':5", true, false,
		 false},
		{"/apis/storage.k8s.io/v1/storageclasses", ",'provisioner':'x'", true,
		 false, true},
		{"/apis/storage.k8s.io/v1/csinodes", ",'spec':{'drivers':[]}", false,
		 false, true},
		{"/apis/scheduling.koordinator.sh/v1alpha1/reservations",
		 ",'spec':{'template':{'spec':{}},'owners':[{'object':{'name':'x'}}],"
		 "'ttl':'1h'}",
		 false, false, false},
	};
	struct kube_rig *rig = *state;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		int refused = rows[i].is_free ? 200 : 422;
		const struct {
			const char *method, *name, *meta;
			int status;
		} steps[] = {
			{"POST", "", "'name':'u','resourceVersion':'7'", 400},
			{"POST", "", "'name':'u','resourceVersion':'0'", 201},
			{"PUT", "/u", "'name':'u'", refused},
			{"PUT", "/u", "'name':'u','resourceVersion':''", refused},
			{"PUT", "/u", "'name':'u','resourceVersion':'0'", refused},
			{"PUT", "/u", "'name':'u','resourceVersion':'1'", 409},
			{"PUT", "/u", "'name':'u','resourceVersion':'x'", 400},
			{"PUT", "/u", "'resourceVersion':'0'", 400},
			{"PUT", "/u", "'name':'v','resourceVersion':'0'", 400},
			{"MERGE", "/u", "'labels':{'a':'b'}", 200},
			{"MERGE", "/u", "'resourceVersion':'0'", refused},
			{"MERGE", "/u", "'resourceVersion':'1'", 409},
			{"MERGE", "/u", "'name':null", 400},
			{"PUT", "/made", "'name':'made'", rows[i].is_made ? 201 : 404},
			{"DELETE", "/u?gracePeriodSeconds=0", NULL, 200},
		};

		for (size_t k = 0; k < NEAP_ARRAY_LEN(steps); k++) {
			char ask[256], body[1024];
			int got;

			(void)snprintf(ask, sizeof(ask), "%s %s%s", steps[k].method,
				       rows[i].path, steps[k].name);
			(void)snprintf(body, sizeof(body), "{'metadata':{%s}%s}",
				       steps[k].meta ? steps[k].meta : "",
				       strcmp(steps[k].method, "MERGE") == 0
					       ? ""
					       : rows[i].more);
			got = kube_ask(rig, ask, steps[k].meta ? body : NULL);
			if (got != steps[k].status)
				fail_msg("%s %s: %d: %s", ask, body, got,
					 kube_text(rig->body, "message"));
		}
		if ((strcmp(kube_text(rig->body, "kind"), "Status") != 0) !=
		    rows[i].is_shown)
			fail_msg("DELETE %s: %s", rows[i].path,
				 kube_text(rig->body, "kind"));
	}
}

static void test_words(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " MAPS, MAP("a"), 201, {NULL}},
		/* What it is stays. */
		{"MERGE " MAPS "/a", "{'kind':'Secret'}", 422, {"reason=Invalid"}},
		{"STRATEGIC " MAPS "/a", "{'kind':'Secret'}", 200, {"kind=ConfigMap"}},
		{"MERGE " MAPS "/a", "{'apiVersion':'v2'}", 422, {NULL}},
		{"MERGE " MAPS "/a", "{'kind':5}", 422, {NULL}},
		{"MERGE " MAPS "/a", "{'kind':null}", 200, {"kind=ConfigMap"}},
		{"POST " MAPS, "{'kind':5,'metadata':{'name':'b'}}", 400, {NULL}},
		{"JSON " MAPS "/a",
		 "[{'op':'test','path':'/kind','value':'ConfigMap'},{'op':'test','path':"
		 "'/apiVersion','value':'v1'}]",
		 200,
		 {NULL}},
		{"JSON " MAPS "/a",
		 "[{'op':'replace','path':'','value':{}}]",
		 400,
		 {"message~name must be provided"}},
		{"MERGE " MAPS "/a", "{'metadata':null}", 400, {NULL}},
		{"MERGE " MAPS "/a",
		 "{'metadata':{'namespace':'x'}}",
		 400,
		 {"message~does not match the namespace on the request (default)"}},
		/* Times that none is are not dropped with those that are the server's. */
		{"POST " MAPS,
		 "{'metadata':{'name':'t','creationTimestamp':'yesterday'}}",
		 400,
		 {"message~creationTimestamp"}},
		{"POST " MAPS,
		 "{'metadata':{'name':'t','creationTimestamp':5}}",
		 400,
		 {NULL}},
		{"POST " MAPS,
		 "{'metadata':{'name':'t','deletionTimestamp':''}}",
		 400,
		 {NULL}},
		{"POST " MAPS,
		 "{'metadata':{'name':'t','creationTimestamp':'2020-01-01T00:00:00Z'}}",
		 201,
		 {"metadata.creationTimestamp=2026-09-21T14:13:20Z"}},
		/* What is in no namespace. */
		{"POST /api/v1/nodes",
		 "{'metadata':{'name':'n','namespace':'default'}}",
		 201,
		 {"!metadata.namespace"}},
		{"PUT /api/v1/nodes/n",
		 "{'metadata':{'name':'n','namespace':'other'}}",
		 200,
		 {"!metadata.namespace"}},
		{"MERGE /api/v1/nodes/n",
		 "{'metadata':{'namespace':'other'}}",
		 200,
		 {"!metadata.namespace"}},
		{"DELETE /api/v1/configmaps", NULL, 405, {NULL}},
		/* Finalizers. */
		{"MERGE " MAPS "/a",
		 "{'metadata':{'finalizers':['badname']}}",
		 422,
		 {"details.causes.0.field=metadata.finalizers[0]",
		  "message~name is neither a standard finalizer name nor is it fully "
		  "qualified"}},
		{"MERGE /api/v1/nodes/n",
		 "{'metadata':{'finalizers':['orphan','a/b','x.y']}}",
		 422,
		 {"details.causes.0.field=metadata.finalizers[2]"}},
	};

	STEPS(*state, steps);
}

#define RES      "/apis/scheduling.koordinator.sh/v1alpha1/reservations"
#define RES_TYPE "'kind':'Reservation','apiVersion':'scheduling.koordinator.sh/v1alpha1'"
#define RES_SPEC                                                                         \
	"'spec':{'template':{'spec':{}},'owners':[{'object':{'name':'x'}}],'ttl':'1h'}"
#define BARE_META "{\"metadata\":{\"name\":\"r\"}"

static void test_declared(void **state)
{
	static const char *const bare[] = {
		BARE_META "}", BARE_META ",\"kind\":\"Reservation\"}",
		BARE_META ",\"apiVersion\":\"scheduling.koordinator.sh/v1alpha1\"}"};
	static const struct kube_step steps[] = {
		{"POST " RES,
		 "{" RES_TYPE
		 ",'metadata':{'name':'r','creationTimestamp':'now'}," RES_SPEC "}",
		 400,
		 {NULL}},
		{"POST " RES,
		 "{" RES_TYPE ",'metadata':{'name':'r','labels':{'a':1}}," RES_SPEC "}",
		 400,
		 {NULL}},
		/* Single words, as there. */
		{"POST " RES,
		 "{" RES_TYPE ",'metadata':{'name':'r','finalizers':['word']}," RES_SPEC
		 "}",
		 201,
		 {NULL}},
		{"MERGE " RES "/r", "{'kind':null}", 422, {NULL}},
		{"MERGE " RES "/r", "{'kind':'Moon'}", 422, {NULL}},
		{"MERGE " RES "/r", "{'apiVersion':null}", 422, {NULL}},
		{"JSON " RES "/r",
		 "[{'op':'replace','path':'','value':{}}]",
		 422,
		 {NULL}},
	};
	struct kube_rig *rig = *state;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(bare); i++)
		assert_int_equal(
			kube_ask_with(rig, "POST " RES, "", bare[i], strlen(bare[i])),
			400);
	STEPS(rig, steps);
}

/* --- paths --- */

#define BIND "'target':{'kind':'Node','name':'n'}"

static void test_paths(void **state)
{
	static const struct kube_step steps[] = {
		{"GET /", NULL, 200, {"paths.0=/"}},
		{"GET /api/", NULL, 200, {"kind=APIVersions"}},
		{"GET /apis/", NULL, 200, {"kind=APIGroupList"}},
		{"OPTIONS " MAPS, NULL, 405, {"reason=MethodNotAllowed"}},
		{"OPTIONS /", NULL, 405, {NULL}},
		{"POST " PODS, POD("p"), 201, {NULL}},
		{"POST " NS "/bindings", "{" BIND "}", 400, {"message~metadata.name"}},
		{"POST " NS "/bindings",
		 "{'kind':'Pod','metadata':{'name':'p'}}",
		 400,
		 {NULL}},
		{"POST " NS "/bindings",
		 "{'metadata':{'name':'q'}," BIND "}",
		 404,
		 {NULL}},
		{"POST " NS "/bindings?dryRun=x",
		 "{'metadata':{'name':'p'}," BIND "}",
		 422,
		 {NULL}},
		{"POST " NS "/bindings?dryRun=All",
		 "{'metadata':{'name':'p'}," BIND "}",
		 201,
		 {"status=Success"}},
		{"GET " PODS "/p", NULL, 200, {"!spec.nodeName"}},
		{"POST " NS "/bindings",
		 "{'metadata':{'name':'p'}," BIND "}",
		 201,
		 {NULL}},
		{"GET " PODS "/p", NULL, 200, {"spec.nodeName=n"}},
		/* Known by name. */
		{"GET " NS "/secrets", NULL, 200, {"kind=SecretList", "items=[]"}},
		{"GET /api/v1/endpoints?limit=500", NULL, 200, {"#items=0"}},
		{"GET " NS "/secrets/a", NULL, 404, {"message=secrets \"a\" not found"}},
		{"GET /apis/batch/v1beta1/cronjobs",
		 NULL,
		 200,
		 {"apiVersion=batch/v1beta1"}},
		{"GET /apis/extensions/v1beta1/ingresses", NULL, 200, {"#items=0"}},
		{"POST " NS "/secrets", "{'metadata':{'name':'a'}}", 405, {NULL}},
		{"DELETE " NS "/secrets", NULL, 405, {NULL}},
		{"POST /api/v1/watch/pods", POD("p"), 405, {NULL}},
	};
	struct kube_rig *rig = *state;
	struct kube_watch watch;

	STEPS(rig, steps);
	assert_int_equal(kube_ask(rig, "POST " MAPS, MAP("a")), 201);
	assert_int_equal(kube_ask(rig, "POST " MAPS, MAP("b")), 201);
	kube_watch_open(rig, &watch,
			"/api/v1/watch/namespaces/default/configmaps/b?timeoutSeconds=1");
	kube_watch_wants(&watch, "ADDED b");
	kube_watch_wants(&watch, "end");
	kube_watch_close(&watch);
	kube_watch_open(rig, &watch, "/api/v1/watch/configmaps");
	kube_watch_wants(&watch, "ADDED a");
	kube_watch_wants(&watch, "ADDED b");
	kube_watch_close(&watch);
	kube_watch_open(rig, &watch, NS "/secrets?watch=1&timeoutSeconds=1");
	kube_watch_wants(&watch, "end");
	kube_watch_close(&watch);
	/* A reader may look, and no more. */
	kube_as(rig, "rose-token-of-16");
	assert_int_equal(kube_ask(rig, "POST " NS "/bindings",
				  "{'metadata':{'name':'p'}," BIND "}"),
			 403);
	kube_watch_open(rig, &watch, "/api/v1/watch/configmaps?resourceVersion=x");
	assert_int_equal(watch.status, 400);
	kube_watch_close(&watch);
}

/* --- what follows from it --- */

#define PDB(v) "/apis/policy/" v "/namespaces/default/poddisruptionbudgets"
#define NOBODY                                                                           \
	"spec.selector={\"matchExpressions\":[{\"key\":\"pdb.kubernetes.io/"             \
	"deprecated-v1beta1-empty-selector-match\",\"operator\":\"Exists\"}]}"

static void test_meaning(void **state)
{
	static const struct kube_step steps[] = {
		/* An empty selector means none of the pods, or all. */
		{"POST " PDB("v1beta1"),
		 "{'metadata':{'name':'b'},'spec':{'minAvailable':1,'selector':{}}}",
		 201,
		 {NOBODY}},
		{"GET " PDB("v1") "/b", NULL, 200, {NOBODY}},
		{"POST " PDB("v1"),
		 "{'metadata':{'name':'a'},'spec':{'minAvailable':1,'selector':{}}}",
		 201,
		 {"spec.selector={}"}},
		{"MERGE " PDB("v1beta1") "/a",
		 "{'metadata':{'labels':{'a':'b'}}}",
		 200,
		 {"spec.selector={}"}},
		{"MERGE " PDB("v1beta1") "/b",
		 "{'spec':{'selector':{'matchExpressions':null}}}",
		 200,
		 {NOBODY}},
		/* Nothing is left of what is empty. */
		{"POST " MAPS,
		 "{'metadata':{'name':'e','labels':{},'annotations':{},'finalizers':[],"
		 "'ownerReferences':[]}}",
		 201,
		 {"!metadata.labels", "!metadata.annotations", "!metadata.finalizers",
		  "!metadata.ownerReferences"}},
		{"MERGE " MAPS "/e",
		 "{'metadata':{'finalizers':['a/b']}}",
		 200,
		 {"metadata.finalizers=[\"a/b\"]"}},
		{"MERGE " MAPS "/e",
		 "{'metadata':{'finalizers':[]}}",
		 200,
		 {"!metadata.finalizers"}},
		/* A pod is told why it goes. */
		{"POST " PODS,
		 "{'metadata':{'name':'p'},'spec':{'nodeName':'n','containers':[{'name':"
		 "'c','image':'i'}]}}",
		 201,
		 {NULL}},
		{"POST " PODS "/p/eviction",
		 "{'metadata':{'name':'p'},'deleteOptions':{'dryRun':['All']}}",
		 201,
		 {NULL}},
		{"GET " PODS "/p", NULL, 200, {"!status.conditions"}},
		{"POST " PODS "/p/eviction", "{'metadata':{'name':'p'}}", 201, {NULL}},
		{"GET " PODS "/p",
		 NULL,
		 200,
		 {"metadata.deletionTimestamp",
		  "status.conditions.0.type=DisruptionTarget",
		  "status.conditions.0.status=True",
		  "status.conditions.0.reason=EvictionByEvictionAPI",
		  "status.conditions.0.lastTransitionTime=2026-09-21T14:13:20Z"}},
		/* Of a namespace that comes back through /finalize its finalizers
		 * count. */
		{"POST /api/v1/namespaces",
		 "{'metadata':{'name':'f'},'spec':{'finalizers':['kubernetes']}}",
		 201,
		 {NULL}},
		{"PUT /api/v1/namespaces/f/finalize",
		 "{'metadata':{'name':'f','labels':{'not':'taken'}},'spec':{'finalizers':"
		 "['kubernetes','a/b']}}",
		 200,
		 {"spec.finalizers=[\"kubernetes\",\"a/b\"]", "!metadata.labels.not"}},
		/* Whom it is meant for has to be said. */
		{"POST " PODS "/p/eviction", "{'metadata':{}}", 400, {"message~name"}},
		{"POST " PODS "/p/binding", "{'metadata':{}," BIND "}", 400, {NULL}},
		{"PUT /api/v1/namespaces/f/finalize",
		 "{'metadata':{'name':'f'},'spec':{'finalizers':['bad']}}",
		 422,
		 {"details.causes.0.field=spec.finalizers[0]"}},
		{"PUT /api/v1/namespaces/f/finalize",
		 "{'metadata':{'name':'g'},'spec':{}}",
		 400,
		 {NULL}},
		{"PUT /api/v1/namespaces/f/finalize",
		 "{'metadata':{'name':'f','resourceVersion':'1'}}",
		 409,
		 {NULL}},
		{"PUT /api/v1/namespaces/f/finalize",
		 "{'metadata':{'name':'f'}}",
		 200,
		 {"!spec.finalizers"}},
		{"GET /api/v1/namespaces/f/finalize", NULL, 405, {NULL}},
		{"PUT " MAPS "/e/finalize", MAP("e"), 404, {NULL}},
		{"PUT /api/v1/namespaces/none/finalize", MAP("none"), 404, {NULL}},
	};

	STEPS(*state, steps);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(flags), TEST(numbers),  TEST(options), TEST(kinds),
		TEST(words), TEST(declared), TEST(paths),   TEST(meaning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
