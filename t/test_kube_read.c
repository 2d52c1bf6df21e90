/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading over HTTP: discovery, single objects, lists, pages, selectors, Tables, and what
 * is refused. */
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

#define PODS "/api/v1/namespaces/default/pods"
#define POD(name, labels, more)                                                          \
	"{'kind':'Pod','apiVersion':'v1','metadata':{'name':'" name                      \
	"','labels':{" labels "}},'spec':{" more                                         \
	"'containers':[{'name':'c','image':'i'}]}}"

static void test_discovery(void **state)
{
	static const struct kube_step steps[] = {
		{"GET /api", NULL, 200, {"kind=APIVersions", "versions=[\"v1\"]"}},
		{"GET /apis?timeout=32s",
		 NULL,
		 200,
		 {"kind=APIGroupList", "groups.0.name=apps",
		  "groups.0.preferredVersion.groupVersion=apps/v1",
		  "groups~scheduling.koordinator.sh", "groups~policy/v1beta1"}},
		{"GET /apis/apps",
		 NULL,
		 200,
		 {"kind=APIGroup", "apiVersion=v1", "versions.0.version=v1"}},
		{"GET /apis/apps/v1",
		 NULL,
		 200,
		 {"kind=APIResourceList", "groupVersion=apps/v1",
		  "resources~\"deployments/scale\"", "resources~\"deployments/status\""}},
		{"GET /api/v1/",
		 NULL,
		 200,
		 {"groupVersion=v1",
		  "resources~{\"group\":\"policy\",\"kind\":\"Eviction\",\"name\":\"pods/"
		  "eviction\",\"namespaced\":true,\"singularName\":\"\",\"verbs\":["
		  "\"create\"],\"version\":\"v1\"}",
		  "resources~\"pods/binding\"", "resources~\"shortNames\":[\"po\"]",
		  "resources~\"categories\":[\"all\"]",
		  "resources~[\"create\",\"delete\",\"deletecollection\",\"get\","
		  "\"list\",\"patch\",\"update\",\"watch\"]"}},
		{"GET /apis/scheduling.koordinator.sh/v1alpha1",
		 NULL,
		 200,
		 {"resources~\"reservations/status\"",
		  "resources~\"singularName\":\"podmigrationjob\""}},
		{"GET /apis/none.example", NULL, 404, {"kind=Status", "reason=NotFound"}},
		{"GET /apis/apps/v9", NULL, 404, {"reason=NotFound"}},
		{"GET /api/v1/nothings", NULL, 404, {"reason=NotFound"}},
		{"GET /apis/apps/v1/pods", NULL, 404, {"reason=NotFound"}},
		{"PUT /api/v1/pods", "{}", 405, {"reason=MethodNotAllowed"}},
		{"POST " PODS "/x", "{}", 405, {"reason=MethodNotAllowed"}},
		{"GET /api/v1/namespaces/default/configmaps/x/status", NULL, 404, {NULL}},
	};

	STEPS(*state, steps);
}

static void test_get_and_list(void **state)
{
	static const struct kube_step steps[] = {
		{"GET " PODS,
		 NULL,
		 200,
		 {"kind=PodList", "apiVersion=v1", "items=[]",
		  "metadata.resourceVersion=@1", "!metadata.continue"}},
		{"POST " PODS, POD("b", "'app':'web'", ""), 201, {"metadata.name=b"}},
		{"POST " PODS, POD("a", "'app':'web'", ""), 201, {"metadata.name=a"}},
		{"GET " PODS "/a",
		 NULL,
		 200,
		 {"kind=Pod", "apiVersion=v1", "metadata.name=a",
		  "metadata.namespace=default", "spec.containers.0.image=i"}},
		{"GET " PODS "/nobody",
		 NULL,
		 404,
		 {"kind=Status", "status=Failure", "reason=NotFound", "code=404",
		  "message=pods \"nobody\" not found", "details.kind=pods",
		  "details.name=nobody"}},
		{"GET " PODS,
		 NULL,
		 200,
		 {"#items=2", "items.0.metadata.name=a", "items.1.metadata.name=b",
		  "!items.0.kind", "!items.0.apiVersion"}},
		{"GET /api/v1/pods?resourceVersion=0", NULL, 200, {"#items=2"}},
		{"GET /api/v1/namespaces/other/pods", NULL, 200, {"items=[]"}},
		{"GET /api/v1/namespaces/default",
		 NULL,
		 200,
		 {"kind=Namespace", "status.phase=Active"}},
		{"GET /api/v1/namespaces", NULL, 200, {"#items=1"}},
		{"POST /apis/scheduling.koordinator.sh/v1alpha1/reservations",
		 "{'metadata':{'name':'r'},'spec':{'template':{},"
		 "'owners':[{'object':{'name':'x'}}],'ttl':'1h'}}",
		 201,
		 {"kind=Reservation"}},
		{"GET /apis/scheduling.koordinator.sh/v1alpha1/reservations",
		 NULL,
		 200,
		 {"kind=ReservationList", "items.0.kind=Reservation",
		  "items.0.apiVersion=scheduling.koordinator.sh/v1alpha1"}},
	};

	STEPS(*state, steps);
}

static void add_maps(struct kube_rig *rig, int count)
{
	char text[256];

	for (int i = 0; i < count; i++) {
		(void)snprintf(text, sizeof(text),
			       "{'metadata':{'name':'m%03d','labels':{'odd':'%d'}}}", i,
			       i % 2);
		assert_int_equal(
			kube_ask(rig, "POST /api/v1/namespaces/default/configmaps", text),
			201);
	}
}

#define MAPS "/api/v1/namespaces/default/configmaps"

/* Pages show the state of the first one, whatever happens meanwhile. */
static void test_pages(void **state)
{
	struct kube_rig *rig = *state;
	char ask[1024], version[32];
	int count = 0, pages = 0;
	const char *next;

	add_maps(rig, 25);
	assert_int_equal(kube_ask(rig, "GET " MAPS "?limit=10", NULL), 200);
	(void)neap_strcopy(version, sizeof(version),
			   kube_text(rig->body, "metadata.resourceVersion"));
	for (;;) {
		char key[16];

		assert_string_equal(kube_text(rig->body, "metadata.resourceVersion"),
				    version);
		for (size_t i = 0; i < json_array_size(kube_at(rig->body, "items"));
		     i++) {
			char path[32], want[16];

			(void)snprintf(path, sizeof(path), "items.%zu.metadata.name", i);
			(void)snprintf(want, sizeof(want), "m%03d", count++);
			assert_string_equal(kube_text(rig->body, path), want);
		}
		pages++;
		next = kube_text(rig->body, "metadata.continue");
		if (*next == '\0')
			break;
		(void)snprintf(ask, sizeof(ask), "GET " MAPS "?limit=10&continue=%s",
			       next);
		/* The next one that would come goes, and one that is new comes not. */
		(void)snprintf(key, sizeof(key), "m%03d", count);
		(void)snprintf(version, sizeof(version), "%s",
			       kube_text(rig->body, "metadata.resourceVersion"));
		{
			char other[256], body[256];

			(void)snprintf(other, sizeof(other), "DELETE " MAPS "/%s", key);
			assert_int_equal(kube_ask(rig, other, NULL), 200);
			(void)snprintf(body, sizeof(body), "{'metadata':{'name':'%sx'}}",
				       key);
			assert_int_equal(kube_ask(rig, "POST " MAPS, body), 201);
		}
		assert_int_equal(kube_ask(rig, ask, NULL), 200);
	}
	assert_int_equal(count, 25);
	assert_int_equal(pages, 3);
	/* With a selector a page is full when it has so many that match. */
	assert_int_equal(
		kube_ask(rig, "GET " MAPS "?limit=5&labelSelector=odd%3D1", NULL), 200);
	assert_null(kube_differs(rig->body, "#items=5"));
	assert_string_not_equal(kube_text(rig->body, "metadata.continue"), "");
	/* A full last page is the last. */
	assert_int_equal(kube_ask(rig, "GET " MAPS "?limit=25", NULL), 200);
	assert_null(kube_differs(rig->body, "!metadata.continue"));
}

static void test_bad_places(void **state)
{
	static const struct kube_step steps[] = {
		{"GET " MAPS "?continue=xyz",
		 NULL,
		 400,
		 {"reason=BadRequest", "message~invalid continue token"}},
		{"GET " MAPS "?continue=%21%21%21%21", NULL, 400, {"reason=BadRequest"}},
		{"GET " MAPS "?limit=x", NULL, 400, {"reason=BadRequest"}},
		{"GET " MAPS "?limit=-1", NULL, 200, {"#items=3"}},
		{"GET " MAPS "?limit=x", NULL, 400, {"reason=BadRequest"}},
		{"GET " MAPS "?resourceVersion=abc", NULL, 400, {"reason=BadRequest"}},
		{"GET " MAPS "?resourceVersion=999999",
		 NULL,
		 504,
		 {"reason=Timeout", "message~Too large resource version",
		  "details.retryAfterSeconds=1",
		  "details.causes.0.reason=ResourceVersionTooLarge"}},
		{"GET " MAPS "?resourceVersion=1&resourceVersionMatch=Older",
		 NULL,
		 422,
		 {"reason=Invalid", "message~resourceVersionMatch: Unsupported value"}},
		{"GET " MAPS "?resourceVersionMatch=Exact",
		 NULL,
		 422,
		 {"message~forbidden unless resourceVersion is provided"}},
		{"GET " MAPS "?resourceVersion=0&resourceVersionMatch=Exact",
		 NULL,
		 422,
		 {"message~forbidden for resourceVersion"}},
		{"GET " MAPS "?resourceVersion=0&resourceVersionMatch=NotOlderThan",
		 NULL,
		 200,
		 {"#items=3"}},
		/* 999999/default/a, 1/default/a: of a store that was another, and with a
		 * choice of its own. */
		{"GET " MAPS "?continue=OTk5OTk5L2RlZmF1bHQvYQ",
		 NULL,
		 410,
		 {"reason=Expired", "message~start a new list"}},
		{"GET " MAPS "?continue=MS9kZWZhdWx0L2E&resourceVersion=1"
		 "&resourceVersionMatch=Exact",
		 NULL,
		 422,
		 {"message~forbidden when continue is provided"}},
		{"GET " MAPS "?watch=1&resourceVersionMatch=Exact&resourceVersion=1",
		 NULL,
		 422,
		 {"message~a watch takes"}},
		{"GET " MAPS "?watch=1&sendInitialEvents=true&resourceVersion=999999"
		 "&resourceVersionMatch=NotOlderThan",
		 NULL,
		 504,
		 {"details.causes.0.reason=ResourceVersionTooLarge"}},
		{"GET " MAPS "?resourceVersion=1&resourceVersionMatch=Exact",
		 NULL,
		 200,
		 {"items=[]", "metadata.resourceVersion=1"}},
	};

	add_maps(*state, 3);
	STEPS(*state, steps);
}

/* What is not remembered any more is told as a kube-apiserver does. */
static void test_gone(void **state)
{
	struct kube_rig *rig = *state;
	char body[70000], ask[700];

	add_maps(rig, 3);
	assert_int_equal(kube_ask(rig, "GET " MAPS "?limit=1", NULL), 200);
	(void)snprintf(ask, sizeof(ask), "GET " MAPS "?limit=1&continue=%s",
		       kube_text(rig->body, "metadata.continue"));
	for (int i = 0; i < 12; i++) {
		size_t len = (size_t)snprintf(body, sizeof(body),
					      "{\"data\":{\"n\":\"%d\",\"x\":\"", i);

		memset(body + len, 'x', 60000);
		(void)snprintf(body + len + 60000, sizeof(body) - len - 60000, "\"}}");
		assert_int_equal(kube_ask(rig, "MERGE " MAPS "/m000", body), 200);
	}
	assert_int_equal(kube_ask(rig, ask, NULL), 410);
	assert_string_equal(kube_text(rig->body, "reason"), "Expired");
	assert_int_equal(
		kube_ask(rig, "GET " MAPS "?resourceVersion=2&resourceVersionMatch=Exact",
			 NULL),
		410);
}

static void test_selectors(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " PODS,
		 POD("a", "'app':'web','tier':'x'", "'nodeName':'n1',"),
		 201,
		 {NULL}},
		{"POST " PODS, POD("b", "'app':'db'", "'nodeName':'n2',"), 201, {NULL}},
		{"POST " PODS, POD("c", "'old':'1'", ""), 201, {NULL}},
		{"GET " PODS "?labelSelector=app%3Dweb",
		 NULL,
		 200,
		 {"#items=1", "items.0.metadata.name=a"}},
		{"GET " PODS "?labelSelector=app%3D%3Dweb", NULL, 200, {"#items=1"}},
		{"GET " PODS "?labelSelector=app!%3Dweb", NULL, 200, {"#items=2"}},
		{"GET " PODS "?labelSelector=app+in+(web,db)", NULL, 200, {"#items=2"}},
		{"GET " PODS "?labelSelector=app+notin+(web)", NULL, 200, {"#items=2"}},
		{"GET " PODS "?labelSelector=app,tier", NULL, 200, {"#items=1"}},
		{"GET " PODS "?labelSelector=!app", NULL, 200, {"#items=1"}},
		{"GET " PODS "?labelSelector=app+near+x",
		 NULL,
		 400,
		 {"reason=BadRequest"}},
		{"GET " PODS "?labelSelector=app+in+x", NULL, 400, {"reason=BadRequest"}},
		{"GET /api/v1/pods?fieldSelector=spec.nodeName%3Dn1",
		 NULL,
		 200,
		 {"#items=1", "items.0.metadata.name=a"}},
		{"GET /api/v1/pods?fieldSelector=spec.nodeName%3D",
		 NULL,
		 200,
		 {"#items=1", "items.0.metadata.name=c"}},
		{"GET " PODS "?fieldSelector=status.phase!%3DFailed,metadata.name%3Db",
		 NULL,
		 200,
		 {"#items=1", "items.0.metadata.name=b"}},
		{"GET " PODS "?fieldSelector=spec.hostname%3Dx",
		 NULL,
		 400,
		 {"message~field label not supported: spec.hostname"}},
		{"GET /apis/scheduling.koordinator.sh/v1alpha1/reservations"
		 "?fieldSelector=status.phase%3DFailed",
		 NULL,
		 400,
		 {"message~field label not supported: status.phase"}},
	};

	STEPS(*state, steps);
}

#define TABLE                                                                            \
	"Accept: application/json;as=Table;v=v1;g=meta.k8s.io,"                          \
	"application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json\r\n"

static void test_tables(void **state)
{
	static const struct kube_step pods[] = {
		{"POST " PODS, POD("a", "'app':'web'", ""), 201, {NULL}},
		{"POST " PODS, POD("b", "", ""), 201, {NULL}},
	};
	static const char *const list_wants[] = {
		"kind=Table",
		"apiVersion=meta.k8s.io/v1",
		"columnDefinitions.0.name=Name",
		"columnDefinitions.0.format=name",
		"columnDefinitions.2.name=Status",
		"#rows=2",
		"rows.0.cells.0=a",
		"rows.0.cells.1=0/1",
		"rows.0.cells.2=Pending",
		"rows.0.cells.3=0",
		"rows.0.cells.4=0s",
		"rows.0.object.kind=PartialObjectMetadata",
		"rows.0.object.metadata.labels.app=web",
		"!rows.0.object.spec",
		"metadata.resourceVersion",
	};
	struct kube_rig *rig = *state;

	STEPS(rig, pods);
	assert_int_equal(kube_ask_with(rig, "GET " PODS "?limit=500", TABLE, NULL, 0),
			 200);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(list_wants); i++)
		if (kube_differs(rig->body, list_wants[i]))
			fail_msg("%s", kube_differs(rig->body, list_wants[i]));
	assert_int_equal(
		kube_ask_with(rig, "GET " PODS "/a?includeObject=Object", TABLE, NULL, 0),
		200);
	assert_null(kube_differs(rig->body, "#rows=1"));
	assert_null(kube_differs(rig->body, "rows.0.object.kind=Pod"));
	assert_int_equal(
		kube_ask_with(rig, "GET " PODS "/a?includeObject=None", TABLE, NULL, 0),
		200);
	assert_null(kube_differs(rig->body, "rows.0.object=null"));
	assert_int_equal(kube_ask_with(rig, "GET " PODS "?limit=1", TABLE, NULL, 0), 200);
	assert_null(kube_differs(rig->body, "#rows=1"));
	assert_null(kube_differs(rig->body, "metadata.continue"));
	assert_int_equal(
		kube_ask_with(rig, "GET " PODS, "Accept: text/plain\r\n", NULL, 0), 406);
	assert_null(kube_differs(rig->body, "reason=NotAcceptable"));
	assert_int_equal(
		kube_ask_with(rig, "GET " PODS,
			      "Accept: application/vnd.kubernetes.protobuf, */*\r\n",
			      NULL, 0),
		200);
	assert_null(kube_differs(rig->body, "kind=PodList"));
}

#define PARTIAL(list)                                                                    \
	"Accept: application/vnd.kubernetes.protobuf;as=PartialObjectMetadata" list      \
	";g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadata" list             \
	";g=meta.k8s.io;v=v1,application/json\r\n"

static void test_metadata(void **state)
{
	static const struct kube_step pods[] = {
		{"POST " PODS, POD("a", "'app':'web'", ""), 201, {NULL}},
		{"POST " PODS, POD("b", "", ""), 201, {NULL}},
	};
	static const struct {
		const char *ask, *headers, *body;
		const char *want[6];
	} rows[] = {
		{"GET " PODS,
		 PARTIAL("List"),
		 NULL,
		 {"kind=PartialObjectMetadataList", "apiVersion=meta.k8s.io/v1",
		  "#items=2", "items.0.kind=PartialObjectMetadata",
		  "items.0.metadata.labels.app=web", "!items.0.spec"}},
		{"GET " PODS "?limit=1",
		 PARTIAL("List"),
		 NULL,
		 {"#items=1", "metadata.continue", "items.0.apiVersion=meta.k8s.io/v1"}},
		{"GET " PODS "/a",
		 PARTIAL(""),
		 NULL,
		 {"kind=PartialObjectMetadata", "apiVersion=meta.k8s.io/v1",
		  "metadata.name=a", "!spec", "!status"}},
		{"MERGE " PODS "/a",
		 PARTIAL(""),
		 "{\"metadata\":{\"labels\":{\"x\":\"y\"}}}",
		 {"kind=PartialObjectMetadata", "metadata.labels.x=y", "!spec"}},
	};
	struct kube_rig *rig = *state;

	STEPS(rig, pods);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		assert_int_equal(kube_ask_with(rig, rows[i].ask, rows[i].headers,
					       rows[i].body,
					       rows[i].body ? strlen(rows[i].body) : 0),
				 200);
		for (size_t k = 0; k < 6 && rows[i].want[k]; k++)
			if (kube_differs(rig->body, rows[i].want[k]))
				fail_msg("%s", kube_differs(rig->body, rows[i].want[k]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(discovery), TEST(get_and_list), TEST(pages),  TEST(bad_places),
		TEST(gone),      TEST(selectors),    TEST(tables), TEST(metadata),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
