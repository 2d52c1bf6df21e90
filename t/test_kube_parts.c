/* SPDX-License-Identifier: Apache-2.0
 *
 * Subresources that do something: binding, eviction under budgets, scale. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "t/lib/declared_rig.h"
#include "t/lib/kube_rig.h"

#define STEPS(rig, steps) kube_steps(rig, steps, NEAP_ARRAY_LEN(steps))
#define TEST(name)                                                                       \
	cmocka_unit_test_setup_teardown(test_##name, kube_rig_setup, kube_rig_teardown)

#define PODS   "/api/v1/namespaces/default/pods"
#define DEPLOY "/apis/apps/v1/namespaces/default/deployments"
#define PDBS   "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
#define POD(name, more)                                                                  \
	"{'metadata':{'name':'" name "','labels':{'app':'x'}},'spec':{" more             \
	"'containers':[{'name':'c','image':'i'}]}}"
#define BINDING(node)                                                                    \
	"{'kind':'Binding','apiVersion':'v1','metadata':{'name':'p','annotations':{"     \
	"'why':'room'}},'target':{'kind':'Node','name':'" node "'}}"

static void test_bind(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " PODS "/p/binding",
		 BINDING("n1"),
		 404,
		 {"message=pods \"p\" not found"}},
		{"POST " PODS, POD("p", ""), 201, {NULL}},
		{"POST " PODS "/p/binding",
		 BINDING(""),
		 422,
		 {"details.causes.0.field=target.name"}},
		{"POST " PODS "/p/binding",
		 "{'metadata':{'name':'p'},'target':{'kind':'Moon','name':'n'}}",
		 422,
		 {"details.causes.0.field=target.kind"}},
		{"POST " PODS "/p/binding",
		 "{'metadata':{'name':'p','uid':'other'},'target':{'name':'n'}}",
		 409,
		 {"reason=Conflict"}},
		{"POST " PODS "/p/binding?dryRun=All",
		 BINDING("n1"),
		 201,
		 {"status=Success"}},
		{"GET " PODS "/p", NULL, 200, {"!spec.nodeName"}},
		{"POST " PODS "/p/binding",
		 BINDING("n1"),
		 201,
		 {"kind=Status", "status=Success"}},
		{"GET " PODS "/p",
		 NULL,
		 200,
		 {"spec.nodeName=n1", "metadata.annotations.why=room",
		  "status.conditions.0.type=PodScheduled",
		  "status.conditions.0.status=True",
		  "status.conditions.0.lastTransitionTime=2026-09-21T14:13:20Z"}},
		{"POST " PODS "/p/binding",
		 BINDING("n1"),
		 409,
		 {"reason=Conflict", "details.name=p",
		  "message=Operation cannot be fulfilled on pods/binding \"p\": pod p is "
		  "already assigned to node \"n1\"",
		  "details.kind=pods/binding"}},
		{"GET " PODS "?fieldSelector=spec.nodeName%3Dn1",
		 NULL,
		 200,
		 {"#items=1"}},
		{"POST " PODS, POD("q", "'nodeName':'n',"), 201, {NULL}},
		{"DELETE " PODS "/q", NULL, 200, {NULL}},
		{"POST " PODS "/q/binding", "{'target':{'name':'n'}}", 409, {NULL}},
	};

	STEPS(*state, steps);
}

#define READY(name)                                                                                       \
	{                                                                                                 \
		"MERGE " PODS "/" name "/status",                                                         \
			"{'status':{'phase':'Running','conditions':[{'type':'Ready','status':'True'}]}}", \
			200,                                                                              \
		{                                                                                         \
			NULL                                                                              \
		}                                                                                         \
	}
#define EVICT(name) "POST " PODS "/" name "/eviction"
#define EVICTION    "{'kind':'Eviction','apiVersion':'policy/v1'}"

static void test_evict(void **state)
{
	static const struct kube_step steps[] = {
		{EVICT("a"), EVICTION, 404, {"message=pods \"a\" not found"}},
		{"POST " PODS, POD("a", "'nodeName':'n',"), 201, {NULL}},
		{"POST " PODS, POD("b", "'nodeName':'n',"), 201, {NULL}},
		{"POST " PODS, POD("c", "'nodeName':'n',"), 201, {NULL}},
		{"POST " PODS, POD("pending", ""), 201, {NULL}},
		READY("a"),
		READY("b"),
		READY("c"),
		{"POST " PDBS,
		 "{'metadata':{'name':'pdb1'},'spec':{'minAvailable':2,'selector':{"
		 "'matchLabels':{'app':'x'}}}}",
		 201,
		 {NULL}},
		{EVICT("pending"),
		 "{'metadata':{'name':'pending','namespace':'default'}}",
		 201,
		 {NULL}},
		{EVICT("a"),
		 "{'kind':'Eviction','apiVersion':'policy/v1beta1','metadata':{'name':"
		 "'a'},'deleteOptions':{'preconditions':{'uid':'x'}}}",
		 409,
		 {NULL}},
		{EVICT("a"),
		 "{'deleteOptions':{'dryRun':['All']}}",
		 201,
		 {"status=Success"}},
		{EVICT("a"), EVICTION, 201, {"kind=Status", "status=Success"}},
		{EVICT("b"),
		 EVICTION,
		 429,
		 {"reason=TooManyRequests",
		  "message=Cannot evict pod as it would violate the pod's disruption "
		  "budget.",
		  "details.causes.0.reason=DisruptionBudget",
		  "details.causes.0.message=The disruption budget pdb1 needs 2 healthy "
		  "pods and has 2 currently"}},
		/* Again the one that goes already. */
		{EVICT("a"), EVICTION, 201, {NULL}},
		{"GET " PODS "/a", NULL, 200, {"metadata.deletionTimestamp"}},
		{"GET " PODS "/b", NULL, 200, {"!metadata.deletionTimestamp"}},
		{"MERGE " PDBS "/pdb1",
		 "{'spec':{'minAvailable':null,'maxUnavailable':'34%'}}",
		 200,
		 {NULL}},
		/* A third of three is two, rounded up: with one gone another may go. */
		{EVICT("b"), EVICTION, 201, {NULL}},
		{EVICT("c"),
		 EVICTION,
		 429,
		 {"details.causes.0.message=The disruption budget pdb1 needs 1 healthy "
		  "pods and has 1 currently"}},
	};

	STEPS(*state, steps);
}

/* Nothing new comes into a namespace that ends, neither a binding nor an eviction;
 * kubectl drain knows by the cause that it is to wait. */
#define ENDING "/api/v1/namespaces/ending"
#define ENDED(what)                                                                      \
	"reason=Forbidden",                                                              \
		"message=" what " is forbidden: unable to create new content in "        \
		"namespace ending because it is being terminated",                       \
		"#details.causes=1", "details.causes.0.reason=NamespaceTerminating",     \
		"details.causes.0.field=metadata.namespace",                             \
		"details.causes.0.message=namespace ending is being terminated"

static void test_ending(void **state)
{
	static const struct kube_step steps[] = {
		{"POST /api/v1/namespaces",
		 "{'metadata':{'name':'ending'}}",
		 201,
		 {NULL}},
		{"POST " ENDING "/pods",
		 "{'metadata':{'name':'p','finalizers':['example.com/x']},'spec':{"
		 "'containers':[{'name':'c','image':'i'}]}}",
		 201,
		 {NULL}},
		{"DELETE " ENDING, NULL, 200, {"status.phase=Terminating"}},
		{"POST " ENDING "/configmaps",
		 "{'metadata':{'name':'d'}}",
		 403,
		 {ENDED("configmaps \"d\""), "details.name=d",
		  "details.kind=configmaps"}},
		{"POST " ENDING "/configmaps",
		 "{'metadata':{'generateName':'d-'}}",
		 403,
		 {ENDED("configmaps \"d-\""), "details.name=d-"}},
		{"POST " ENDING "/configmaps",
		 "{}",
		 403,
		 {ENDED("configmaps \"Unknown\"")}},
		{"APPLY " ENDING "/configmaps/d?fieldManager=m",
		 "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'d'}}",
		 403,
		 {ENDED("configmaps \"d\"")}},
		{"PUT /apis/coordination.k8s.io/v1/namespaces/ending/leases/l",
		 "{'metadata':{'name':'l'}}",
		 403,
		 {ENDED("leases.coordination.k8s.io \"l\""),
		  "details.group=coordination.k8s.io"}},
		{"POST " ENDING "/pods/p/binding",
		 "{'metadata':{'name':'p'},'target':{'name':'n'}}",
		 403,
		 {ENDED("pods \"p\"")}},
		{"POST " ENDING "/pods/p/eviction",
		 "{'metadata':{'name':'p'}}",
		 403,
		 {ENDED("pods \"p\"")}},
		/* What is there is changed and deleted as ever. */
		{"MERGE " ENDING "/pods/p",
		 "{'metadata':{'labels':{'a':'b'}}}",
		 200,
		 {"metadata.labels.a=b"}},
		{"DELETE " ENDING "/pods/p", NULL, 200, {NULL}},
	};

	STEPS(*state, steps);
}

static void test_evict_unready(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " PODS, POD("a", "'nodeName':'n',"), 201, {NULL}},
		{"POST " PODS, POD("b", "'nodeName':'n',"), 201, {NULL}},
		{"POST " PODS, POD("done", "'nodeName':'n',"), 201, {NULL}},
		READY("a"),
		{"MERGE " PODS "/b/status",
		 "{'status':{'phase':'Running'}}",
		 200,
		 {NULL}},
		{"MERGE " PODS "/done/status",
		 "{'status':{'phase':'Failed'}}",
		 200,
		 {NULL}},
		{"POST " PDBS,
		 "{'metadata':{'name':'pdb'},'spec':{'minAvailable':'100%','selector':{"
		 "'matchLabels':{'app':'x'}}}}",
		 201,
		 {NULL}},
		{EVICT("a"), EVICTION, 429, {NULL}},
		{EVICT("b"), EVICTION, 429, {NULL}},
		{EVICT("done"), EVICTION, 201, {NULL}},
		{"MERGE " PDBS "/pdb", "{'spec':{'minAvailable':1}}", 200, {NULL}},
		{EVICT("a"), EVICTION, 429, {NULL}},
		/* It takes nothing away. */
		{EVICT("b"), EVICTION, 201, {NULL}},
	};

	STEPS(*state, steps);
}

static void test_scale(void **state)
{
	static const struct kube_step steps[] = {
		{"GET " DEPLOY "/d/scale", NULL, 404, {NULL}},
		{"POST " DEPLOY,
		 "{'metadata':{'name':'d'},'spec':{'replicas':2,'selector':{'matchLabels':"
		 "{'app':'x'},'matchExpressions':[{'key':'t','operator':'In','values':["
		 "'a','b']},{'key':'old','operator':'DoesNotExist'}]},'template':{"
		 "'metadata':{'labels':{'app':'x','t':'a'}},'spec':{'containers':[{'name':"
		 "'c','image':'i'}]}}}}",
		 201,
		 {NULL}},
		{"GET " DEPLOY "/d/scale",
		 NULL,
		 200,
		 {"kind=Scale", "apiVersion=autoscaling/v1", "metadata.name=d",
		  "spec.replicas=2", "status.replicas=0",
		  "status.selector=app=x,t in (a,b),!old",
		  "metadata.resourceVersion=@2"}},
		{"MERGE " DEPLOY "/d/scale",
		 "{'spec':{'replicas':3}}",
		 200,
		 {"kind=Scale", "spec.replicas=3"}},
		{"GET " DEPLOY "/d",
		 NULL,
		 200,
		 {"spec.replicas=3", "metadata.generation=2"}},
		{"PUT " DEPLOY "/d/scale",
		 "{'metadata':{'name':'d','resourceVersion':'@2'},'spec':{'replicas':4}}",
		 409,
		 {"reason=Conflict"}},
		{"PUT " DEPLOY "/d/scale",
		 "{'kind':'Scale','apiVersion':'autoscaling/v1','metadata':{'name':'d'},"
		 "'spec':{'replicas':4}}",
		 200,
		 {"spec.replicas=4"}},
		{"MERGE " DEPLOY "/d/scale?dryRun=All",
		 "{'spec':{'replicas':9}}",
		 200,
		 {"kind=Scale", "spec.replicas=9"}},
		{"MERGE " DEPLOY "/d/scale",
		 "{'spec':{'replicas':-1}}",
		 422,
		 {"details.causes.0.field=spec.replicas"}},
		{"MERGE " DEPLOY "/d/scale?dryRun=All",
		 "{'spec':null}",
		 200,
		 {"spec.replicas=0"}},
		{"MERGE " DEPLOY "/d/scale", "[]", 422, {NULL}},
		{"STRATEGIC " DEPLOY "/d/scale",
		 "{'spec':{'replicas':0}}",
		 200,
		 {"spec.replicas=0"}},
		{"GET " PODS "/p/scale", NULL, 404, {NULL}},
	};

	STEPS(*state, steps);
}

#define CRDS_ "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define POOLS "/apis/x.example/v1/namespaces/default/pools"

/* Replicas that do not stand in spec itself. */
static void test_scale_deep(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " CRDS_,
		 "{'metadata':{'name':'pools.x.example'},'spec':{'group':'x.example',"
		 "'scope':'Namespaced','names':{'plural':'pools','singular':'pool','kind':"
		 "'Pool','listKind':'PoolList'},'versions':[{'name':'v1','served':true,"
		 "'storage':true,'schema':{'openAPIV3Schema':{'type':'object',"
		 "'x-kubernetes-preserve-unknown-fields':true}},'subresources':{'scale':{"
		 "'specReplicasPath':'.spec.pool.size.replicas','statusReplicasPath':"
		 "'.status.replicas'}}}]}}",
		 201,
		 {NULL}},
		{"POST " POOLS,
		 "{'metadata':{'name':'a'},'spec':{'pool':{'size':{'replicas':2,'n':1}}}}",
		 201,
		 {NULL}},
		{"POST " POOLS, "{'metadata':{'name':'bare'}}", 201, {NULL}},
		{"POST " POOLS,
		 "{'metadata':{'name':'odd'},'spec':{'pool':'a text'}}",
		 201,
		 {NULL}},
		{"MERGE " POOLS "/a/scale",
		 "{'spec':{'replicas':3}}",
		 200,
		 {"spec.replicas=3"}},
		{"GET " POOLS "/a",
		 NULL,
		 200,
		 {"spec.pool.size.replicas=3", "spec.pool.size.n=1"}},
		{"MERGE " POOLS "/bare/scale",
		 "{'spec':{'replicas':4}}",
		 200,
		 {"spec.replicas=4"}},
		{"GET " POOLS "/bare", NULL, 200, {"spec.pool.size.replicas=4"}},
		{"MERGE " POOLS "/odd/scale",
		 "{'spec':{'replicas':4}}",
		 422,
		 {"details.causes.0.field=spec.pool"}},
		{"GET " POOLS "/odd", NULL, 200, {"spec.pool=a text"}},
	};

	STEPS(*state, steps);
}

/* Every body is decoded by a schema, and is meant for the object of the path. */
static void test_bodies(void **state)
{
#define SELF "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
#define BIND "POST " PODS "/p/binding"
#define TO   "'target':{'kind':'Node','name':'n1'}"
	static const struct kube_step steps[] = {
		{"POST " PODS, POD("p", ""), 201, {NULL}},
		{BIND,
		 "{'metadata':{'name':'p','annotations':{'x':{'deep':1}}}," TO "}",
		 400,
		 {"message~Binding in version \"v1\" cannot be handled as a Binding: "
		  "json: cannot unmarshal object into field metadata.annotations[x] of "
		  "type string"}},
		{BIND,
		 "{'target':{'name':'../no such'}}",
		 422,
		 {"details.causes.0.field=target.name"}},
		{BIND, "{'target':{'name':5}}", 400, {NULL}},
		{BIND, "{'target':[]}", 400, {NULL}},
		{BIND, "{}", 422, {"details.causes.0.field=target.name"}},
		{BIND, "[]", 400, {NULL}},
		{BIND, "{'kind':'Pod'," TO "}", 400, {NULL}},
		{BIND, "{'apiVersion':'v2'," TO "}", 400, {NULL}},
		{BIND, "{'metadata':{'name':'q'}," TO "}", 400, {NULL}},
		{BIND, "{'metadata':{'namespace':'other'}," TO "}", 400, {NULL}},
		{BIND,
		 "{'metadata':{'name':'p','annotations':{'no key':'x'}}," TO "}",
		 422,
		 {"details.causes.0.field=metadata.annotations"}},
		{BIND "?fieldValidation=Strict",
		 "{'wrong':1," TO "}",
		 400,
		 {"message~unknown field \"wrong\""}},
		{EVICT("p"), "{'metadata':{'name':'q'}}", 400, {NULL}},
		{EVICT("p"), "{'metadata':{'namespace':'other'}}", 400, {NULL}},
		{EVICT("p"), "{'kind':'Binding'}", 400, {NULL}},
		{EVICT("p"), "{'apiVersion':'v1'}", 400, {NULL}},
		{EVICT("p"), "{'deleteOptions':5}", 400, {NULL}},
		{EVICT("p"), "{'deleteOptions':{'dryRun':'All'}}", 400, {NULL}},
		{EVICT("p"),
		 "{'deleteOptions':{'gracePeriodSeconds':'0'}}",
		 400,
		 {"message~deleteOptions.gracePeriodSeconds"}},
		{"DELETE " PODS "/p", "{'preconditions':{'uid':5}}", 400, {NULL}},
		{"DELETE " PODS "/p", "{'kind':'Pod'}", 400, {NULL}},
		{"DELETE " PODS "/p", "[]", 400, {NULL}},
		{"DELETE " PODS "/p",
		 "{'propagationPolicy':'Sometimes'}",
		 422,
		 {"message~propagationPolicy: Unsupported value"}},
		{"DELETE " PODS "/p",
		 "{'propagationPolicy':'Orphan','orphanDependents':true}",
		 422,
		 {NULL}},
		{"DELETE " PODS, "{'gracePeriodSeconds':[]}", 400, {NULL}},
		{"GET " PODS "/p",
		 NULL,
		 200,
		 {"!metadata.annotations", "!spec.nodeName",
		  "!metadata.deletionTimestamp"}},
		{"POST " DEPLOY,
		 "{'metadata':{'name':'d'},'spec':{'selector':{'matchLabels':{'app':'x'}},"
		 "'template':{'metadata':{'labels':{'app':'x'}},'spec':{'containers':[{"
		 "'name':'c','image':'i'}]}}}}",
		 201,
		 {NULL}},
		{"PUT " DEPLOY "/d/scale", "{'spec':{'replicas':'3'}}", 400, {NULL}},
		{"PUT " DEPLOY "/d/scale",
		 "{'metadata':{'name':'e'},'spec':{'replicas':3}}",
		 400,
		 {NULL}},
		{"PUT " DEPLOY "/d/scale",
		 "{'kind':'Deployment','spec':{'replicas':3}}",
		 400,
		 {NULL}},
		{"MERGE " DEPLOY "/d/scale", "{'metadata':5}", 422, {NULL}},
		{"MERGE " DEPLOY "/d/scale", "{'spec':{'replicas':1.5}}", 422, {NULL}},
		{SELF, "{'spec':5}", 400, {NULL}},
		{SELF, "{'spec':{'resourceAttributes':{'verb':5}}}", 400, {NULL}},
		{"POST /apis/authorization.k8s.io/v1/subjectaccessreviews",
		 "{'spec':{'user':'u','groups':'dev','resourceAttributes':{'verb':"
		 "'get'}}}",
		 400,
		 {NULL}},
		/* One that waits at its gates is nobody's yet. */
		{"POST " PODS,
		 POD("gated", "'schedulingGates':[{'name':'a.b/c'}],"),
		 201,
		 {NULL}},
		{"POST " PODS "/gated/binding",
		 "{" TO "}",
		 409,
		 {"message=Operation cannot be fulfilled on pods/binding \"gated\": pod "
		  "gated has non-empty .spec.schedulingGates"}},
	};

	STEPS(*state, steps);
}

#define CLASSED                                                                          \
	"{'metadata':{'name':'c'},'spec':{'containers':[{'name':'c','image':'i',"        \
	"'resources':{'limits':{'cpu':'1','memory':'1Gi'}}}]}}"
#define CRDS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

/* What a status lacks follows from the object that is stored, not from the rest of the
 * body, which may be none. */
static void test_status_of_stored(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " PODS, CLASSED, 201, {"status.qosClass=Guaranteed"}},
		{"PUT " PODS "/c/status",
		 "{'metadata':{'name':'c'},'status':{'phase':'Running'}}",
		 200,
		 {"status.qosClass=Guaranteed", "status.phase=Running",
		  "spec.containers.0.resources.limits.cpu=1"}},
		{"PUT " PODS "/c/status",
		 "{'metadata':{'name':'c'},'spec':{'containers':[{'name':'x','image':'y'"
		 "}]}}",
		 200,
		 {"status.qosClass=Guaranteed", "status.phase=Pending",
		  "spec.containers.0.name=c", "#spec.containers=1"}},
		{"MERGE " PODS "/c/status",
		 "{'spec':null,'status':{'qosClass':null}}",
		 200,
		 {"status.qosClass=Guaranteed", "spec.containers.0.name=c"}},
		/* It is decoded all the same. */
		{"PUT " PODS "/c/status",
		 "{'metadata':{'name':'c'},'spec':{'containers':5}}",
		 400,
		 {NULL}},
		{"POST " CRDS, DEFINE("as", "'kind':'A'", "", ""), 201, {NULL}},
		{"MERGE " CRDS "/as.example.com/status",
		 "{'spec':{'versions':[{'name':'v7','served':true,'storage':true,"
		 "'schema':{'openAPIV3Schema':{'type':'object'}}}]},'status':{"
		 "'storedVersions':null}}",
		 200,
		 {"status.storedVersions=[\"v1\"]", "spec.versions.0.name=v1",
		  "metadata.generation=1"}},
		{"POST " DEPLOY,
		 "{'metadata':{'name':'d','labels':{'l':'1'}},'spec':{'selector':{"
		 "'matchLabels':{'app':'x'}},'template':{'metadata':{'labels':{'app':'x'"
		 "}},'spec':{'containers':[{'name':'c','image':'i'}]}}}}",
		 201,
		 {NULL}},
		{"PUT " DEPLOY "/d/status",
		 "{'metadata':{'name':'d'},'status':{'replicas':2}}",
		 200,
		 {"spec.replicas=1", "spec.template.spec.containers.0.name=c",
		  "status.replicas=2", "metadata.labels.l=1", "metadata.generation=1"}},
	};

	STEPS(*state, steps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(bind),          TEST(evict),
		TEST(evict_unready), TEST(ending),
		TEST(scale),         TEST(scale_deep),
		TEST(bodies),        TEST(status_of_stored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
