/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing over HTTP: creating, replacing, patching, status, generation, dry runs,
 * deleting, and what is refused. */
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

#define MAPS   "/api/v1/namespaces/default/configmaps"
#define PODS   "/api/v1/namespaces/default/pods"
#define NODES  "/api/v1/nodes"
#define DEPLOY "/apis/apps/v1/namespaces/default/deployments"
#define RES    "/apis/scheduling.koordinator.sh/v1alpha1/reservations"
#define POD(name, more)                                                                  \
	"{'kind':'Pod','apiVersion':'v1','metadata':{'name':'" name "'},'spec':{" more   \
	"'containers':[{'name':'c','image':'i'}]}}"
#define DEPLOYMENT(name)                                                                 \
	"{'metadata':{'name':'" name "'},'spec':{'replicas':2,'selector':{'matchLabels'" \
	":{'app':'x'}},'template':{'metadata':{'labels':{'app':'x'}},'spec':"            \
	"{'containers':[{'name':'c','image':'i:1'}]}}}}"
#define RESERVATION(name)                                                                \
	"{'metadata':{'name':'" name "'},'spec':{'template':{'spec':{'x':1}},'owners':"  \
	"[{'object':{'name':'x'}}],'ttl':'1h'}}"

static void test_create(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " MAPS "?fieldManager=kubectl-create",
		 "{'kind':'ConfigMap','apiVersion':'v1','metadata':{'name':'a','uid':'u',"
		 "'creationTimestamp':null,'generation':7,'resourceVersion':'','labels':{"
		 "'x':'y'}},'data':{'k':'v'}}",
		 201,
		 {"kind=ConfigMap", "apiVersion=v1", "metadata.namespace=default",
		  "metadata.creationTimestamp=2026-09-21T14:13:20Z",
		  "metadata.labels.x=y", "metadata.generation=7", "data.k=v"}},
		{"POST " MAPS,
		 "{'metadata':{'name':'a'}}",
		 409,
		 {"reason=AlreadyExists", "message=configmaps \"a\" already exists",
		  "details.kind=configmaps", "details.name=a"}},
		{"POST " RES, RESERVATION("r"), 201, {"metadata.generation=1"}},
		{"POST " RES,
		 RESERVATION("r"),
		 409,
		 {"message=reservations.scheduling.koordinator.sh \"r\" already exists"}},
		{"POST " MAPS,
		 "{'metadata':{'name':'No_Good'}}",
		 422,
		 {"reason=Invalid",
		  "message~ConfigMap \"No_Good\" is invalid: "
		  "metadata.name: Invalid value: \"No_Good\"",
		  "details.causes.0.field=metadata.name",
		  "details.causes.0.reason=FieldValueInvalid", "details.kind=ConfigMap"}},
		{"POST " MAPS,
		 "{'data':{}}",
		 422,
		 {"details.causes.0.reason=FieldValueRequired"}},
		{"POST /api/v1/namespaces/other/configmaps",
		 "{'metadata':{'name':'a'}}",
		 404,
		 {"message=namespaces \"other\" not found", "details.kind=namespaces"}},
		{"POST " MAPS,
		 "{'metadata':{'name':'b','namespace':'other'}}",
		 400,
		 {"reason=BadRequest"}},
		{"POST " MAPS,
		 "{'metadata':{'name':'b','resourceVersion':'@4'}}",
		 400,
		 {"reason=BadRequest"}},
		{"POST " MAPS,
		 "{'kind':'Pod','metadata':{'name':'b'}}",
		 400,
		 {"reason=BadRequest", "message~(Pod) does not match"}},
		{"POST " MAPS,
		 "{'apiVersion':'v2','metadata':{'name':'b'}}",
		 400,
		 {"reason=BadRequest"}},
		{"POST " MAPS, "nonsense", 400, {"reason=BadRequest"}},
		{"POST " MAPS, "[]", 400, {"reason=BadRequest"}},
		{"POST " MAPS,
		 "{'metadata':{'name':'b'},'data':{'k':1}}",
		 400,
		 {"reason=BadRequest", "message~data"}},
		{"POST " MAPS, "{'metadata':3}", 400, {"reason=BadRequest"}},
		{"POST /api/v1/configmaps", "{'metadata':{'name':'b'}}", 405, {NULL}},
		{"POST " PODS,
		 POD("p", ""),
		 201,
		 {"status.phase=Pending", "status.qosClass=BestEffort",
		  "spec.restartPolicy=Always", "spec.terminationGracePeriodSeconds=30"}},
	};

	STEPS(*state, steps);
}

/* Status comes with a Node alone; what is made of other fields sees name and uid. */
static void test_create_status(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " NODES,
		 "{'metadata':{'name':'n'},'status':{'capacity':{'cpu':'4'}}}",
		 201,
		 {"status.capacity.cpu=4", "status.allocatable.cpu=4"}},
		{"POST " PODS,
		 "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','image':"
		 "'i'}]},'status':{'phase':'Running','podIP':'1.2.3.4'}}",
		 201,
		 {"status.phase=Pending", "!status.podIP"}},
		{"POST " RES,
		 "{'metadata':{'name':'r'},'spec':{'template':{},'owners':[{'object':{"
		 "'name':'x'}}],'ttl':'1h'},'status':{'phase':'Available'}}",
		 201,
		 {"!status.phase", "spec.allocateOnce=true"}},
		{"POST /apis/batch/v1/namespaces/default/jobs",
		 "{'metadata':{'name':'j'},'spec':{'template':{'spec':{'restartPolicy':"
		 "'Never','containers':[{'name':'c','image':'i'}]}}}}",
		 201,
		 {"spec.template.metadata.labels~controller-uid", "spec.selector",
		  "metadata.labels~controller-uid"}},
		/* The selector is made once: a change that leaves it out is none to
		 * nothing. */
		{"MERGE /apis/batch/v1/namespaces/default/jobs/j",
		 "{'spec':{'selector':null,'template':{'metadata':{'labels':null}}}}",
		 422,
		 {"details.causes.0.field=spec.selector"}},
		{"POST /api/v1/namespaces",
		 "{'metadata':{'generateName':'ns-'}}",
		 201,
		 {"metadata.labels~\"kubernetes.io/metadata.name\":\"ns-"}},
	};

	STEPS(*state, steps);
}

static void test_generate_name(void **state)
{
	struct kube_rig *rig = *state;
	char first[64];

	assert_int_equal(
		kube_ask(rig, "POST " MAPS, "{'metadata':{'generateName':'g-'}}"), 201);
	(void)neap_strcopy(first, sizeof(first), kube_text(rig->body, "metadata.name"));
	assert_int_equal(strlen(first), 7);
	assert_int_equal(strspn(first + 2, "bcdfghjklmnpqrstvwxz2456789"), 5);
	assert_int_equal(
		kube_ask(rig, "POST " MAPS, "{'metadata':{'generateName':'g-'}}"), 201);
	assert_string_not_equal(first, kube_text(rig->body, "metadata.name"));
	assert_int_equal(
		kube_ask(
			rig, "POST " MAPS,
			"{'metadata':{'generateName':"
			"'0123456789012345678901234567890123456789012345678901234567890123'"
			"}}"),
		201);
	assert_int_equal(strlen(kube_text(rig->body, "metadata.name")), 63);
}

static void test_update(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " MAPS,
		 "{'metadata':{'name':'a'},'data':{'k':'1'}}",
		 201,
		 {"metadata.resourceVersion=@2"}},
		{"PUT " MAPS "/a",
		 "{'metadata':{'name':'a','resourceVersion':'@2'},'data':{'k':'2'}}",
		 200,
		 {"data.k=2", "metadata.resourceVersion=@3", "metadata.uid",
		  "metadata.creationTimestamp"}},
		{"PUT " MAPS "/a",
		 "{'metadata':{'name':'a','resourceVersion':'@2'},'data':{'k':'3'}}",
		 409,
		 {"reason=Conflict", "details.kind=configmaps",
		  "message=Operation cannot be fulfilled on configmaps \"a\": the object "
		  "has been modified; please apply your changes to the latest version "
		  "and try again"}},
		{"PUT " MAPS "/a",
		 "{'metadata':{'name':'a','uid':'other'},'data':{}}",
		 409,
		 {"reason=Conflict"}},
		/* Nothing changes. */
		{"PUT " MAPS "/a",
		 "{'metadata':{'name':'a'},'data':{'k':'2'}}",
		 200,
		 {"metadata.resourceVersion=@3"}},
		{"PUT " MAPS "/a",
		 "{'metadata':{'name':'a'},'data':{'k':'4'}}",
		 200,
		 {"metadata.name=a", "metadata.resourceVersion=@4"}},
		{"PUT " MAPS "/a", "{'metadata':{'name':'b'}}", 400, {NULL}},
		{"PUT " MAPS "/z",
		 "{'metadata':{'name':'z'}}",
		 404,
		 {"message=configmaps \"z\" not found"}},
		{"PUT /apis/coordination.k8s.io/v1/namespaces/default/leases/l",
		 "{'metadata':{'name':'l'},'spec':{'holderIdentity':'me'}}",
		 201,
		 {"spec.holderIdentity=me"}},
	};

	STEPS(*state, steps);
}

static void test_patch(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " PODS, POD("p", ""), 201, {NULL}},
		{"MERGE " PODS "/p",
		 "{'metadata':{'labels':{'a':'1','b':'2'}}}",
		 200,
		 {"metadata.labels={\"a\":\"1\",\"b\":\"2\"}"}},
		{"MERGE " PODS "/p",
		 "{'metadata':{'labels':{'a':null}}}",
		 200,
		 {"metadata.labels={\"b\":\"2\"}", "kind=Pod"}},
		{"STRATEGIC " PODS "/p",
		 "{'spec':{'containers':[{'name':'c','image':'j'}]}}",
		 200,
		 {"#spec.containers=1", "spec.containers.0.image=j"}},
		{"JSON " PODS "/p",
		 "[{'op':'replace','path':'/metadata/labels/b','value':'3'}]",
		 200,
		 {"metadata.labels.b=3"}},
		{"JSON " PODS "/p",
		 "[{'op':'test','path':'/metadata/labels/b','value':'4'}]",
		 422,
		 {"reason=Invalid"}},
		{"JSON " PODS "/p", "{}", 400, {NULL}},
		{"MERGE " PODS "/p", "[1]", 422, {NULL}},
		{"MERGE " PODS "/p",
		 "{'metadata':{'resourceVersion':'@1','labels':{'b':'9'}}}",
		 409,
		 {"reason=Conflict"}},
		{"MERGE " PODS "/p",
		 "{'metadata':{'uid':'x'}}",
		 422,
		 {"message~immutable"}},
		{"MERGE " PODS "/p",
		 "{'metadata':{'labels':{'b':'not ok'}}}",
		 422,
		 {"details.causes.0.field=metadata.labels"}},
		{"STRATEGIC " PODS "/p",
		 "{'metadata':{'labels':'x'}}",
		 422,
		 {"message~cannot restore map from string: ",
		  "message~field metadata.labels of type map"}},
		{"MERGE " PODS "/p",
		 "{'spec':{'containers':true}}",
		 422,
		 {"message~cannot restore slice from bool: "}},
		{"MERGE " PODS "/z", "{}", 404, {NULL}},
		{"PATCH " PODS "/p", "{}", 415, {"reason=UnsupportedMediaType"}},
		{"POST " RES, RESERVATION("r"), 201, {NULL}},
		{"STRATEGIC " RES "/r",
		 "{'spec':{'ttl':'2h'}}",
		 415,
		 {"reason=UnsupportedMediaType", "message~application/merge-patch+json"}},
		{"MERGE " RES "/r",
		 "{'spec':{'ttl':'2h'}}",
		 200,
		 {"spec.ttl=2h", "metadata.generation=2"}},
		{"MERGE " RES "/r",
		 "{'metadata':{'annotations':{'a':'b'}}}",
		 200,
		 {"metadata.generation=2"}},
		{"MERGE " RES "/r",
		 "{'spec':{'allocateOnce':'maybe'}}",
		 422,
		 {"details.causes.0.field=spec.allocateOnce"}},
	};

	STEPS(*state, steps);
}

static void test_status(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " RES, RESERVATION("r"), 201, {"metadata.generation=1"}},
		{"MERGE " RES "/r/status",
		 "{'spec':{'ttl':'9h'},'status':{'phase':'Available'}}",
		 200,
		 {"status.phase=Available", "spec.ttl=1h", "metadata.generation=1"}},
		{"MERGE " RES "/r",
		 "{'spec':{'ttl':'2h'},'status':{'phase':'Failed'}}",
		 200,
		 {"status.phase=Available", "spec.ttl=2h", "metadata.generation=2"}},
		{"GET " RES "/r/status", NULL, 200, {"kind=Reservation"}},
		{"POST " PODS, POD("p", ""), 201, {NULL}},
		{"STRATEGIC " PODS "/p/status",
		 "{'metadata':{'labels':{'a':'b'},'annotations':{'a':'b'},'finalizers':["
		 "'a.b/c'],'ownerReferences':[{'apiVersion':'v1','kind':'ConfigMap','name':"
		 "'m','uid':'u'}]},'status':{'phase':'Running','conditions':[{'type':"
		 "'Ready','status':'True'}]}}",
		 200,
		 {"status.phase=Running", "!metadata.labels", "!metadata.annotations",
		  "!metadata.finalizers", "!metadata.ownerReferences",
		  "status.conditions.0.type=Ready"}},
		/* A kubelet tells labels of its Node so; and nothing else. */
		{"POST /api/v1/nodes", "{'metadata':{'name':'n'}}", 201, {NULL}},
		{"MERGE /api/v1/nodes/n/status",
		 "{'metadata':{'labels':{'a':'b'},'annotations':{'c':'d'},'finalizers':["
		 "'a.b/c'],'ownerReferences':[{'apiVersion':'v1','kind':'ConfigMap','name':"
		 "'m','uid':'u'}]}}",
		 200,
		 {"metadata.labels.a=b", "metadata.annotations.c=d",
		  "!metadata.finalizers", "!metadata.ownerReferences"}},
		{"STRATEGIC " PODS "/p/status",
		 "{'status':{'conditions':[{'type':'PodScheduled','status':'False'}]}}",
		 200,
		 {"#status.conditions=2"}},
		{"PUT " PODS "/p", POD("p", ""), 200, {"status.phase=Running"}},
		{"GET " MAPS "/x/status", NULL, 404, {NULL}},
	};

	STEPS(*state, steps);
}

/* However many there are, an answer has so many headers and no more. */
static void many_unknown(struct kube_rig *rig)
{
	neap_auto_buf struct neap_buf body = {0};
	int count = 0;

	neap_buf_init(&body, NEAP_BUF_FILE);
	neap_buf_adds(&body, "{\"metadata\":{\"name\":\"many\"},\"a\\\"b\":1");
	for (int i = 0; i < 5000; i++)
		neap_buf_addf(&body, ",\"x%d\":1", i);
	neap_buf_adds(&body, "}");
	assert_int_equal(kube_ask_with(rig, "POST " MAPS, "", body.data, body.len), 201);
	for (const char *at = rig->head; (at = strstr(at, "Warning: ")) != NULL; at++)
		count++;
	assert_in_range(count, 10, 16);
}

static void test_fields(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " MAPS "?fieldValidation=Strict",
		 "{'metadata':{'name':'a'},'wrong':1}",
		 400,
		 {"message~strict decoding error: unknown field \"wrong\""}},
		{"POST " MAPS "?fieldValidation=Ignore",
		 "{'metadata':{'name':'a'},'wrong':1}",
		 201,
		 {"!wrong"}},
		{"POST " RES,
		 "{'metadata':{'name':'r'},'spec':{'nosuch':1,'template':{'spec':{"
		 "'anything':1}},'owners':[{'object':{'name':'x'}}],'ttl':'1h'}}",
		 201,
		 {"!spec.nosuch", "spec.template.spec.anything=1"}},
	};
	struct kube_rig *rig = *state;
	const char *body = "{\"metadata\":{\"name\":\"w\"},\"wrong\":1}";

	STEPS(rig, steps);
	assert_int_equal(kube_ask_with(rig, "POST " MAPS, "", body, strlen(body)), 201);
	assert_non_null(
		strstr(rig->head, "Warning: 299 - \"unknown field \\\"wrong\\\"\""));
	many_unknown(rig);
	/* Without a type it is JSON; with a foreign one it is nothing. */
	assert_int_equal(
		kube_ask_with(rig, "PUT " MAPS "/w",
			      "Content-Type: application/json; charset=utf-8\r\n", body,
			      strlen(body)),
		200);
	assert_int_equal(kube_ask_with(rig, "POST " MAPS,
				       "Content-Type: application/cbor\r\n", body,
				       strlen(body)),
			 415);
}

static void test_dry_run(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " MAPS "?dryRun=All",
		 "{'metadata':{'name':'a'}}",
		 201,
		 {"metadata.name=a", "metadata.uid", "!metadata.resourceVersion",
		  "kind=ConfigMap"}},
		{"GET " MAPS "/a", NULL, 404, {NULL}},
		{"POST " MAPS, "{'metadata':{'name':'a'},'data':{'k':'1'}}", 201, {NULL}},
		{"POST " MAPS "?dryRun=All", "{'metadata':{'name':'a'}}", 409, {NULL}},
		{"MERGE " MAPS "/a?dryRun=All",
		 "{'metadata':{'name':'a'},'data':{'k':'2'}}",
		 200,
		 {"data.k=2"}},
		{"PUT " MAPS "/a?dryRun=All",
		 "{'metadata':{'name':'a'},'data':{'k':'2'}}",
		 200,
		 {"data.k=2"}},
		{"DELETE " MAPS "/a?dryRun=All", NULL, 200, {NULL}},
		{"DELETE " MAPS "/a", "{'dryRun':['All']}", 200, {NULL}},
		{"DELETE " MAPS "?dryRun=All", NULL, 200, {NULL}},
		{"DELETE " MAPS, "{'dryRun':['All']}", 200, {NULL}},
		{"GET " MAPS "/a", NULL, 200, {"data.k=1"}},
		{"POST " MAPS "?dryRun=Some", "{'metadata':{'name':'z'}}", 422, {NULL}},
	};

	STEPS(*state, steps);
}

static void test_delete(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " MAPS, "{'metadata':{'name':'a'}}", 201, {NULL}},
		{"DELETE " MAPS "/a",
		 "{'preconditions':{'uid':'x'}}",
		 409,
		 {"reason=Conflict"}},
		{"DELETE " MAPS "/a",
		 "{'preconditions':{'resourceVersion':'@1'}}",
		 409,
		 {NULL}},
		{"DELETE " MAPS "/a", "[]", 400, {NULL}},
		{"DELETE " MAPS "/a",
		 "{'kind':'DeleteOptions','apiVersion':'v1',"
		 "'propagationPolicy':'Background'}",
		 200,
		 {"kind=Status", "status=Success", "details.name=a",
		  "details.kind=configmaps"}},
		{"DELETE " MAPS "/a", NULL, 404, {"message=configmaps \"a\" not found"}},
		/* Finalizers hold it; a deletion cannot be taken back. */
		{"POST " MAPS,
		 "{'metadata':{'name':'f','finalizers':['x.example/y']}}",
		 201,
		 {NULL}},
		{"DELETE " MAPS "/f",
		 NULL,
		 200,
		 {"metadata.deletionTimestamp=2026-09-21T14:13:20Z"}},
		{"MERGE " MAPS "/f",
		 "{'metadata':{'deletionTimestamp':null}}",
		 200,
		 {"metadata.deletionTimestamp"}},
		{"MERGE " MAPS "/f",
		 "{'metadata':{'finalizers':['x.example/y','x.example/z']}}",
		 422,
		 {"details.causes.0.reason=FieldValueForbidden"}},
		{"GET " MAPS "/f", NULL, 200, {NULL}},
		{"MERGE " MAPS "/f", "{'metadata':{'finalizers':null}}", 200, {NULL}},
		{"GET " MAPS "/f", NULL, 404, {NULL}},
		/* Collections. */
		{"POST " MAPS,
		 "{'metadata':{'name':'c1','labels':{'x':'1'}}}",
		 201,
		 {NULL}},
		{"POST " MAPS, "{'metadata':{'name':'c2'}}", 201, {NULL}},
		{"DELETE " MAPS "?labelSelector=x",
		 NULL,
		 200,
		 {"kind=ConfigMapList", "#items=1"}},
	};
	struct kube_rig *rig = *state;

	STEPS(rig, steps);
	kube_until(rig, &(struct kube_step){"GET " MAPS,
					    NULL,
					    200,
					    {"#items=1", "items.0.metadata.name=c2"}});
}

static void test_delete_pods(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " PODS, POD("free", ""), 201, {NULL}},
		{"DELETE " PODS "/free", NULL, 200, {NULL}},
		{"GET " PODS "/free", NULL, 404, {NULL}},
		{"POST " PODS, POD("p", "'nodeName':'n',"), 201, {NULL}},
		{"DELETE " PODS "/p",
		 NULL,
		 200,
		 {"metadata.deletionGracePeriodSeconds=30",
		  "metadata.deletionTimestamp=2026-09-21T14:13:50Z"}},
		{"DELETE " PODS "/p",
		 "{'gracePeriodSeconds':60}",
		 200,
		 {"metadata.deletionGracePeriodSeconds=30"}},
		{"DELETE " PODS "/p",
		 "{'gracePeriodSeconds':5}",
		 200,
		 {"metadata.deletionGracePeriodSeconds=5",
		  "metadata.deletionTimestamp=2026-09-21T14:13:25Z"}},
		{"DELETE " PODS "/p", "{'gracePeriodSeconds':0}", 200, {NULL}},
		{"GET " PODS "/p", NULL, 404, {NULL}},
		/* With a finalizer it goes when both have gone. */
		{"POST " PODS,
		 "{'metadata':{'name':'q','finalizers':['a.b/c']},'spec':{'nodeName':'n',"
		 "'containers':[{'name':'c','image':'i'}]}}",
		 201,
		 {NULL}},
		{"DELETE " PODS "/q?gracePeriodSeconds=7",
		 NULL,
		 200,
		 {"metadata.deletionGracePeriodSeconds=7"}},
		{"MERGE " PODS "/q", "{'metadata':{'finalizers':null}}", 200, {NULL}},
		{"GET " PODS "/q", NULL, 200, {NULL}},
		{"DELETE " PODS "/q", "{'gracePeriodSeconds':0}", 200, {NULL}},
		{"GET " PODS "/q", NULL, 404, {NULL}},
		/* A finished one has nothing to stop. */
		{"POST " PODS, POD("done", "'nodeName':'n',"), 201, {NULL}},
		{"MERGE " PODS "/done/status",
		 "{'status':{'phase':'Succeeded'}}",
		 200,
		 {NULL}},
		{"DELETE " PODS "/done", NULL, 200, {NULL}},
		{"GET " PODS "/done", NULL, 404, {NULL}},
	};

	STEPS(*state, steps);
}

/* uid, owner of a name that comes again. */
static void test_uids(void **state)
{
	struct kube_rig *rig = *state;
	char uid[64];

	assert_int_equal(kube_ask(rig, "POST " MAPS, "{'metadata':{'name':'a'}}"), 201);
	(void)neap_strcopy(uid, sizeof(uid), kube_text(rig->body, "metadata.uid"));
	assert_int_equal(strlen(uid), 36);
	assert_int_equal(kube_ask(rig, "DELETE " MAPS "/a", NULL), 200);
	assert_int_equal(kube_ask(rig, "POST " MAPS, "{'metadata':{'name':'a'}}"), 201);
	assert_string_not_equal(uid, kube_text(rig->body, "metadata.uid"));
}

static void test_generation(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " DEPLOY, DEPLOYMENT("d"), 201, {"metadata.generation=1"}},
		{"STRATEGIC " DEPLOY "/d",
		 "{'spec':{'replicas':3}}",
		 200,
		 {"metadata.generation=2"}},
		{"STRATEGIC " DEPLOY "/d/status",
		 "{'status':{'replicas':3}}",
		 200,
		 {"metadata.generation=2", "status.replicas=3"}},
		{"MERGE " DEPLOY "/d",
		 "{'metadata':{'labels':{'a':'b'}}}",
		 200,
		 {"metadata.generation=2"}},
		{"POST " NODES,
		 "{'metadata':{'name':'n'}}",
		 201,
		 {"!metadata.generation"}},
		{"STRATEGIC " NODES "/n",
		 "{'spec':{'unschedulable':true}}",
		 200,
		 {"!metadata.generation", "spec.unschedulable=true"}},
		{"STRATEGIC " NODES "/n",
		 "{'spec':{'unschedulable':null}}",
		 200,
		 {"!spec.unschedulable"}},
	};

	STEPS(*state, steps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(create), TEST(create_status), TEST(generate_name), TEST(update),
		TEST(patch),  TEST(status),        TEST(fields),        TEST(dry_run),
		TEST(delete), TEST(delete_pods),   TEST(uids),          TEST(generation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
