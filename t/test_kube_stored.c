/* SPDX-License-Identifier: Apache-2.0
 *
 * How objects are stored: amounts as canonical texts, and compared by value; objects of
 * declared kinds that a later definition would refuse, and of several versions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "t/lib/kube_rig.h"

#define STEPS(rig, steps) kube_steps(rig, steps, NEAP_ARRAY_LEN(steps))
#define TEST(name)                                                                       \
	cmocka_unit_test_setup_teardown(test_##name, kube_rig_setup, kube_rig_teardown)

#define PODS   "/api/v1/namespaces/default/pods"
#define NODES  "/api/v1/nodes"
#define CLAIMS "/api/v1/namespaces/default/persistentvolumeclaims"
#define DEPLOY "/apis/apps/v1/namespaces/default/deployments"

#define POD(requests, limits) POD_NAMED("q", requests, limits)
#define POD_NAMED(name, requests, limits)                                                \
	"{'metadata':{'name':'" name "'},'spec':{'containers':[{'name':'c','image':'x'," \
	"'resources':{'requests':" requests ",'limits':" limits "}}]}}"
#define CLAIM(storage)                                                                   \
	"{'metadata':{'name':'c'},'spec':{'accessModes':['ReadWriteOnce'],"              \
	"'storageClassName':'','resources':{'requests':{'storage':'" storage "'}}}}"
#define DEPLOYMENT(requests)                                                             \
	"{'metadata':{'name':'web'},'spec':{'replicas':1,'selector':{'matchLabels':"     \
	"{'a':'b'}},'template':{'metadata':{'labels':{'a':'b'}},'spec':{'containers':"   \
	"[{'name':'c','image':'x','resources':{'requests':" requests "}}]}}}}"
#define RESOURCES "spec.containers.0.resources."
#define TEMPLATE  "spec.template." RESOURCES

static void test_amounts(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " PODS,
		 POD("{'cpu':0.5,'memory':'1536Mi'}", "{'cpu':1,'memory':'1.5Gi'}"),
		 201,
		 {RESOURCES "requests={\"cpu\":\"500m\",\"memory\":\"1536Mi\"}",
		  RESOURCES "limits={\"cpu\":\"1\",\"memory\":\"1536Mi\"}"}},
		/* Another spelling of the same is no change. */
		{"PUT " PODS "/q",
		 POD("{'cpu':'500m','memory':'1536Mi'}",
		     "{'cpu':'1000m','memory':'1536Mi'}"),
		 200,
		 {RESOURCES "limits.cpu=1"}},
		{"PUT " PODS "/q",
		 POD("{'cpu':'0.5','memory':1610612736}",
		     "{'cpu':'1','memory':'1610612736'}"),
		 200,
		 {RESOURCES "requests.memory=1536Mi"}},
		{"PUT " PODS "/q",
		 POD("{'cpu':'501m','memory':'1536Mi'}", "{'cpu':1,'memory':'1.5Gi'}"),
		 422,
		 {"message~spec.containers has changed"}},
		{"POST " PODS,
		 POD("{'cpu':'half'}", "{}"),
		 400,
		 {"message~requests[cpu]"}},
		{"POST " PODS, POD("{'cpu':true}", "{}"), 400, {"message~bool"}},
		/* Any size is an amount. */
		{"POST " PODS,
		 POD_NAMED("r", "{'memory':'9223372036854775808'}", "{}"),
		 201,
		 {RESOURCES "requests.memory=9223372036854775808"}},
		{"POST " CLAIMS,
		 CLAIM("1024Mi"),
		 201,
		 {"spec.resources.requests.storage=1Gi"}},
		{"PUT " CLAIMS "/c", CLAIM("1Gi"), 200, {NULL}},
		{"PUT " CLAIMS "/c", CLAIM("1048576Ki"), 200, {NULL}},
		{"PUT " CLAIMS "/c", CLAIM("2Gi"), 422, {"message~spec"}},
		{"POST " NODES,
		 "{'metadata':{'name':'n'},'status':{'capacity':{'cpu':4000e-3,"
		 "'memory':'16384Mi','pods':110}}}",
		 201,
		 {"status.allocatable={\"cpu\":\"4\",\"memory\":\"16Gi\",\"pods\":\"110\"}"}},
		{"MERGE " NODES "/n/status",
		 "{'status':{'capacity':{'cpu':'8000m'}}}",
		 200,
		 {"status.capacity.cpu=8"}},
	};

	STEPS(*state, steps);
}

/* The generation is raised by another amount, not by another spelling. */
static void test_generation(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " DEPLOY,
		 DEPLOYMENT("{'cpu':'1000m','memory':'1024Mi'}"),
		 201,
		 {TEMPLATE "requests={\"cpu\":\"1\",\"memory\":\"1Gi\"}"}},
		{"PUT " DEPLOY "/web",
		 DEPLOYMENT("{'cpu':1,'memory':'1Gi'}"),
		 200,
		 {"metadata.generation=1"}},
		{"PUT " DEPLOY "/web",
		 DEPLOYMENT("{'cpu':'1e0','memory':'1073741824'}"),
		 200,
		 {"metadata.generation=1", TEMPLATE "requests.memory=1Gi"}},
		{"STRATEGIC " DEPLOY "/web",
		 "{'spec':{'template':{'spec':{'containers':[{'name':'c','resources':"
		 "{'requests':{'cpu':'1.0'}}}]}}}}",
		 200,
		 {"metadata.generation=1", TEMPLATE "requests.cpu=1"}},
		{"PUT " DEPLOY "/web",
		 DEPLOYMENT("{'cpu':1,'memory':'1G'}"),
		 200,
		 {"metadata.generation=2", TEMPLATE "requests.memory=1G"}},
	};

	STEPS(*state, steps);
}

#define WHOLE(pod, container)                                                            \
	"{'metadata':{'name':'w'},'spec':{'resources':" pod                              \
	",'containers':[{'name':'c','image':'x','resources':" container "}]}}"

static void test_pod_resources(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " PODS "?fieldValidation=Strict",
		 WHOLE("{'requests':{'cpu':'3'},'limits':{'cpu':3,'memory':'1024Mi'}}",
		       "{'requests':{'cpu':'1'}}"),
		 201,
		 {"spec.resources.requests={\"cpu\":\"3\",\"memory\":\"1Gi\"}",
		  "spec.resources.limits.cpu=3", "status.qosClass=Guaranteed"}},
		{"MERGE " PODS "/w",
		 "{'spec':{'resources':{'requests':{'cpu':'2'}}}}",
		 422,
		 {"message~spec.resources"}},
		{"POST " PODS,
		 WHOLE("{'requests':{'cpu':'1'}}", "{'requests':{'cpu':'1001m'}}"),
		 422,
		 {"details.causes.0.field=spec.resources.requests[cpu]",
		  "#details.causes=1"}},
		{"POST " PODS,
		 WHOLE("{'limits':{'cpu':'1'}}",
		       "{'limits':{'cpu':'2'},'requests':{'cpu':1}}"),
		 422,
		 {"message~spec.containers[0].resources.limits[cpu]"}},
		{"POST " PODS,
		 WHOLE("{'requests':{'cpu':'2'},'limits':{'cpu':'1'}}", "{}"),
		 422,
		 {"message~must be less than or equal to cpu limit"}},
		{"POST " PODS,
		 WHOLE("{'requests':{'ephemeral-storage':'1'}}", "{}"),
		 422,
		 {"message~spec.resources.requests[ephemeral-storage]"}},
	};

	STEPS(*state, steps);
}

/* Go makes the zero value of a null in a map or a list. */
static void test_nulls(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " DEPLOY,
		 "{'metadata':{'name':'d','annotations':{'gone':null}},'spec':{'replicas':0,"
		 "'paused':null,'selector':{'matchLabels':{'a':'b'}},'template':{'metadata':"
		 "{'labels':{'a':'b','c':null}},'spec':{'nodeSelector':{'disk':null},"
		 "'containers':[{'name':'c','image':'x','args':['a',null]}]}}}}",
		 201,
		 {"metadata.annotations={\"gone\":\"\"}",
		  "spec.template.metadata.labels={\"a\":\"b\",\"c\":\"\"}",
		  "spec.template.spec.nodeSelector.disk=", "!spec.paused",
		  "spec.template.spec.containers.0.args=[\"a\",\"\"]"}},
		{"POST " PODS,
		 POD("{'cpu':'100m'}", "{'cpu':null}"),
		 422,
		 {"message~must be less than or equal to cpu limit of 0"}},
		/* A patch takes it away. */
		{"MERGE " DEPLOY "/d",
		 "{'metadata':{'annotations':{'gone':null}}}",
		 200,
		 {"!metadata.annotations.gone"}},
	};

	STEPS(*state, steps);
}

#define SETS    "/apis/apps/v1/namespaces/default/statefulsets"
#define CLASSES "/apis/scheduling.k8s.io/v1/priorityclasses"
#define BUDGETS "/apis/policy/v1/namespaces/default/poddisruptionbudgets"

/* What is counted: annotations of a Deployment, but for that of its controller; of a
 * PriorityClass nothing; of kinds that count nothing it is what their maker writes. A
 * deletion that waits is counted, too. */
static void test_generations(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " DEPLOY, DEPLOYMENT("{}"), 201, {"metadata.generation=1"}},
		{"MERGE " DEPLOY "/web",
		 "{'metadata':{'annotations':{'deployment.kubernetes.io/revision':'1'}}}",
		 200,
		 {"metadata.generation=1"}},
		{"MERGE " DEPLOY "/web",
		 "{'metadata':{'annotations':{'a':'b'}}}",
		 200,
		 {"metadata.generation=2"}},
		{"MERGE " DEPLOY "/web",
		 "{'metadata':{'annotations':{'deployment.kubernetes.io/revision':null},"
		 "'labels':{'c':'d'}}}",
		 200,
		 {"metadata.generation=2"}},
		{"MERGE " DEPLOY "/web",
		 "{'metadata':{'annotations':null,'finalizers':['t.example.com/x']}}",
		 200,
		 {"metadata.generation=3"}},
		{"DELETE " DEPLOY "/web", NULL, 200, {"metadata.generation=4"}},
		{"POST " CLASSES,
		 "{'metadata':{'name':'p','generation':5},'value':1}",
		 201,
		 {"metadata.generation=1"}},
		{"MERGE " CLASSES "/p",
		 "{'description':'x'}",
		 200,
		 {"metadata.generation=1"}},
		{"POST " PODS,
		 "{'metadata':{'name':'p','generation':7},'spec':{'containers':[{'name':'c',"
		 "'image':'x'}]}}",
		 201,
		 {"metadata.generation=7"}},
		{"MERGE " PODS "/p",
		 "{'metadata':{'generation':9,'labels':{'a':'b'}}}",
		 200,
		 {"metadata.generation=7"}},
	};

	STEPS(*state, steps);
}

/* A status that counts is there from the beginning. */
static void test_statuses(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " BUDGETS,
		 "{'metadata':{'name':'b'},'spec':{'minAvailable':1},'status':"
		 "{'expectedPods':7}}",
		 201,
		 {"status={\"currentHealthy\":0,\"desiredHealthy\":0,"
		  "\"disruptionsAllowed\":0,\"expectedPods\":0}"}},
		{"POST " DEPLOY, DEPLOYMENT("{}"), 201, {"status={}"}},
		{"POST " SETS,
		 "{'metadata':{'name':'s'},'spec':{'selector':{'matchLabels':{'a':'b'}},"
		 "'template':{'metadata':{'labels':{'a':'b'}},'spec':{'containers':[{'name':"
		 "'c','image':'x'}]}},'volumeClaimTemplates':[{'metadata':{'name':'d'},"
		 "'spec':{'accessModes':['ReadWriteOnce'],'resources':{'requests':{"
		 "'storage':'1'}}}}]}}",
		 201,
		 {"status.replicas=0", "spec.volumeClaimTemplates.0.apiVersion=v1",
		  "spec.volumeClaimTemplates.0.kind=PersistentVolumeClaim",
		  "spec.volumeClaimTemplates.0.status.phase=Pending"}},
		{"MERGE " SETS "/s", "{'spec':{'replicas':0}}", 200, {NULL}},
		{"MERGE " SETS "/s/status",
		 "{'status':{'replicas':1,'readyReplicas':0}}",
		 200,
		 {"status.replicas=1", "!status.readyReplicas"}},
		{"MERGE " SETS "/s/status",
		 "{'status':null}",
		 200,
		 {"status.replicas=0"}},
		{"PUT " BUDGETS "/b/status",
		 "{'metadata':{'name':'b','resourceVersion':'1'}}",
		 409,
		 {NULL}},
	};

	STEPS(*state, steps);
}

#define TEMPLATES "/api/v1/namespaces/default/podtemplates"

static void test_templates(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " TEMPLATES "?fieldValidation=Strict",
		 "{'metadata':{'name':'t'},'template':{'metadata':{'labels':{'a':'b'}},"
		 "'spec':{'containers':[{'name':'c','image':'i'}],'restartPolicy':"
		 "'Never'}}}",
		 201,
		 {"kind=PodTemplate", "template.spec.containers.0.imagePullPolicy=Always",
		  "!metadata.generation"}},
		{"STRATEGIC " TEMPLATES "/t",
		 "{'template':{'spec':{'containers':[{'name':'c','image':'j'}]}}}",
		 200,
		 {"#template.spec.containers=1", "template.spec.containers.0.image=j"}},
		{"MERGE " TEMPLATES "/t",
		 "{'template':{'spec':{'containers':[]}}}",
		 422,
		 {"message~template.spec.containers: Required value"}},
		{"POST " TEMPLATES,
		 "{'metadata':{'name':'u'}}",
		 422,
		 {"message~template.spec.containers: Required value"}},
		{"GET " TEMPLATES, NULL, 200, {"kind=PodTemplateList", "#items=1"}},
		{"DELETE " TEMPLATES "/t", NULL, 200, {"kind=PodTemplate"}},
	};

	STEPS(*state, steps);
}

#define REVISIONS "/apis/apps/v1/namespaces/default/controllerrevisions"

/* As the controllers of StatefulSets and DaemonSets keep what was. */
static void test_revisions(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " REVISIONS "?fieldValidation=Strict",
		 "{'metadata':{'name':'web-1','ownerReferences':[{'apiVersion':'x.io/v1',"
		 "'kind':'StatefulSet','name':'web','uid':'u','controller':true}]},'data':{"
		 "'spec':{'template':{'$patch':'replace','x':null}}},'revision':1}",
		 201,
		 {"kind=ControllerRevision", "revision=1",
		  "data.spec.template={\"$patch\":\"replace\",\"x\":null}"}},
		{"MERGE " REVISIONS "/web-1", "{'revision':3}", 200, {"revision=3"}},
		{"MERGE " REVISIONS "/web-1",
		 "{'data':{'spec':1}}",
		 422,
		 {"message~data"}},
		{"MERGE " REVISIONS "/web-1",
		 "{'revision':-1}",
		 422,
		 {"message~revision"}},
		{"POST " REVISIONS,
		 "{'metadata':{'name':'b'}}",
		 422,
		 {"message~data: Required value"}},
		{"GET " REVISIONS,
		 NULL,
		 200,
		 {"kind=ControllerRevisionList", "#items=1"}},
	};
	struct kube_rig *rig = *state;

	STEPS(rig, steps);
	assert_int_equal(kube_ask_with(rig, "GET " REVISIONS,
				       "Accept: application/json;as=Table;v=v1;"
				       "g=meta.k8s.io\r\n",
				       NULL, 0),
			 200);
	assert_null(kube_differs(rig->body, "rows.0.cells.1=statefulset.x.io/web"));
}

#define CRDS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define RATS "/apis/t.example.com/v1/namespaces/default/rats"
#define OLD  "/apis/t.example.com/v1beta1/namespaces/default/rats"

#define DEFINITION(versions)                                                                \
	"{'metadata':{'name':'rats.t.example.com'},'spec':{'group':'t.example.com',"        \
	"'names':{'kind':'Rat','plural':'rats'},'scope':'Namespaced','versions':[" versions \
	"]}}"
#define VERSION(name, stores, schema)                                                    \
	"{'name':'" name "','served':true,'storage':" stores                             \
	",'schema':{'openAPIV3Schema':{'type':'object','properties':{'spec':" schema     \
	"}}}}"
#define FIELDS(size, tail)                                                               \
	"{'type':'object','properties':{'size':{'type':'string'" size                    \
	"},'other':{'type':'string'},'list':{'type':'array','x-kubernetes-list-type':"   \
	"'map','x-kubernetes-list-map-keys':['name'],'items':{'type':'object',"          \
	"'required':['name'],'properties':{'name':{'type':'string'},'n':{'type':"        \
	"'integer'" tail "}}}},'plain':{'type':'array','items':{'type':'integer'" tail   \
	"}}}}"

static void define(struct kube_rig *rig, const char *definition)
{
	const struct kube_step served = {"GET " RATS, NULL, 200, {NULL}};

	if (kube_ask(rig, "POST " CRDS, definition) != 201)
		fail_msg("%s", kube_text(rig->body, "message"));
	kube_until(rig, &served);
}

/* What a later definition would refuse may stay, and all else may change. */
static void test_ratchet(void **state)
{
	static const struct kube_step before[] = {
		{"POST " RATS,
		 "{'metadata':{'name':'r'},'spec':{'size':'HUGE','other':'a','list':["
		 "{'name':'a','n':9},{'name':'b','n':9}],'plain':[9]}}",
		 201,
		 {NULL}},
		{"MERGE " CRDS "/rats.t.example.com",
		 DEFINITION(VERSION("v1", "true",
				    FIELDS(",'enum':['small','big']", ",'maximum':5"))),
		 200,
		 {NULL}},
	};
	static const struct kube_step steps[] = {
		{"POST " RATS,
		 "{'metadata':{'name':'s'},'spec':{'size':'HUGE'}}",
		 422,
		 {NULL}},
		{"MERGE " RATS "/r", "{'metadata':{'labels':{'a':'b'}}}", 200, {NULL}},
		{"MERGE " RATS "/r",
		 "{'spec':{'other':'b'}}",
		 200,
		 {"spec.size=HUGE", "spec.other=b"}},
		{"MERGE " RATS "/r",
		 "{'spec':{'size':'MAX'}}",
		 422,
		 {"message~spec.size: Unsupported value: \"MAX\"", "#details.causes=1"}},
		/* Items of a map are known by their keys, wherever they are. */
		{"MERGE " RATS "/r",
		 "{'spec':{'list':[{'name':'c','n':1},{'name':'b','n':9}]}}",
		 200,
		 {"#spec.list=2"}},
		{"MERGE " RATS "/r",
		 "{'spec':{'list':[{'name':'b','n':8}]}}",
		 422,
		 {"details.causes.0.field=spec.list[0].n", "#details.causes=1"}},
		{"MERGE " RATS "/r",
		 "{'spec':{'list':[{'name':'d','n':9}]}}",
		 422,
		 {"details.causes.0.field=spec.list[0].n"}},
		/* Any other list is as it was, or is not. */
		{"MERGE " RATS "/r",
		 "{'spec':{'plain':[9,1]}}",
		 422,
		 {"details.causes.0.field=spec.plain[0]"}},
		{"MERGE " RATS "/r", "{'spec':{'size':'big'}}", 200, {"spec.plain=[9]"}},
		{"MERGE " RATS "/r", "{'spec':{'size':'HUGE'}}", 422, {NULL}},
	};
	struct kube_rig *rig = *state;
	struct kube_step until = {"POST " RATS "?dryRun=All",
				  "{'metadata':{'name':'s'},'spec':{'size':'HUGE'}}",
				  422,
				  {NULL}};

	define(rig, DEFINITION(VERSION("v1", "true", FIELDS("", ""))));
	STEPS(rig, before);
	kube_until(rig, &until);
	STEPS(rig, steps);
}

/* Versions may say more or less of the same; each is checked by its own. */
static void test_versions(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " RATS,
		 "{'metadata':{'name':'a'},'spec':{'size':'HUGE'}}",
		 422,
		 {"message~spec.size"}},
		{"POST " OLD,
		 "{'metadata':{'name':'a'},'spec':{'size':'HUGE','more':1}}",
		 201,
		 {"!spec.more", "apiVersion=t.example.com/v1beta1"}},
		{"GET " RATS "/a", NULL, 200, {"spec.size=HUGE"}},
		{"MERGE " RATS "/a", "{'spec':{'other':'x'}}", 200, {NULL}},
		{"POST " CRDS "?dryRun=All",
		 DEFINITION(VERSION("v1", "true", FIELDS("", "")) "," VERSION(
			 "v2", "false", "{'type':'object'}")),
		 422,
		 {"details.causes.0.field=spec.versions[1].schema.openAPIV3Schema",
		  "message~only in what describes and what validates"}},
	};
	struct kube_rig *rig = *state;

	define(rig,
	       DEFINITION(
		       VERSION("v1", "true", FIELDS(",'enum':['small']", "")) "," VERSION(
			       "v1beta1", "false",
			       FIELDS(",'description':'How large.'", ""))));
	STEPS(rig, steps);
}

static void test_int_or_string(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " RATS,
		 "{'metadata':{'name':'a'},'spec':{'size':'10Gi'}}",
		 201,
		 {"spec.size=10Gi"}},
		{"POST " RATS,
		 "{'metadata':{'name':'b'},'spec':{'size':10}}",
		 422,
		 {NULL}},
		{"POST " RATS,
		 "{'metadata':{'name':'b'},'spec':{'size':'Gi'}}",
		 422,
		 {NULL}},
	};
	struct kube_rig *rig = *state;

	define(rig, DEFINITION(VERSION("v1", "true",
				       FIELDS(",'pattern':'^[0-9]+',"
					      "'x-kubernetes-int-or-string':true",
					      ""))));
	STEPS(rig, steps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(amounts),   TEST(generation), TEST(pod_resources), TEST(nulls),
		TEST(templates), TEST(revisions),  TEST(generations),   TEST(statuses),
		TEST(ratchet),   TEST(versions),   TEST(int_or_string),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
