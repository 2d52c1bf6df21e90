/* SPDX-License-Identifier: Apache-2.0
 *
 * What a cluster has from its start, and what the server adds and refuses because of
 * other objects. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/kube/serve/embedded.h"
#include "engine/base/mem.h"
#include "t/lib/kube_rig.h"

#define STEPS(rig, steps) kube_steps(rig, steps, NEAP_ARRAY_LEN(steps))
#define TEST(name)        cmocka_unit_test_setup_teardown(test_##name, setup, kube_rig_teardown)

#define CLASSES "/apis/scheduling.k8s.io/v1/priorityclasses"
#define PODS    "/api/v1/namespaces/default/pods"
#define SPACES  "/api/v1/namespaces"
#define SPEC    "'containers':[{'name':'c','image':'i'}]"

static int setup(void **state)
{
	struct kube_rig *rig = kube_rig_start("127.0.0.1:0", NULL);
	struct neap_error err = {0};

	assert_int_equal(neap_kube_bootstrap(rig->kube, &err), 0);
	kube_until(rig,
		   &(struct kube_step){
			   "GET " CLASSES "/system-cluster-critical", NULL, 200, {NULL}});
	*state = rig;
	return 0;
}

static void test_bootstrap(void **state)
{
	struct kube_rig *rig = *state;
	static const struct kube_step steps[] = {
		{"GET " SPACES,
		 NULL,
		 200,
		 {"#items=4", "items.0.metadata.name=default",
		  "items.0.status.phase=Active",
		  "items.0.metadata.labels~{\"kubernetes.io/metadata.name\":\"default\"}",
		  "items.1.metadata.name=kube-node-lease",
		  "items.2.metadata.name=kube-public",
		  "items.3.metadata.name=kube-system"}},
		{"GET " CLASSES "/system-node-critical",
		 NULL,
		 200,
		 {"value=2000001000", "preemptionPolicy=PreemptLowerPriority"}},
		{"GET " CLASSES "/system-cluster-critical",
		 NULL,
		 200,
		 {"value=2000000000"}},
		/* What may not go. */
		{"DELETE " SPACES "/default",
		 NULL,
		 403,
		 {"reason=Forbidden",
		  "message=namespaces \"default\" is forbidden: this namespace may not be "
		  "deleted"}},
		{"DELETE " SPACES "/kube-system", NULL, 403, {NULL}},
		{"DELETE " SPACES "/kube-public?dryRun=All", NULL, 403, {NULL}},
		{"DELETE " CLASSES "/system-node-critical",
		 NULL,
		 403,
		 {"message=priorityclasses.scheduling.k8s.io \"system-node-critical\" is "
		  "forbidden: this is a system priority class and cannot be deleted"}},
		{"POST " CLASSES, "{'metadata':{'name':'mine'},'value':1}", 201, {NULL}},
		{"DELETE " CLASSES, NULL, 403, {"message~system priority class"}},
		{"DELETE " SPACES "/kube-node-lease", NULL, 200, {NULL}},
	};
	struct kube_step gone = {"GET " SPACES "/kube-node-lease", NULL, 404, {NULL}};
	struct neap_error err = {0};

	STEPS(rig, steps);
	kube_until(rig, &(struct kube_step){"GET " CLASSES "/mine", NULL, 404, {NULL}});
	assert_int_equal(kube_ask(rig, "GET " CLASSES, NULL), 200);
	assert_null(kube_differs(rig->body, "#items=2"));
	kube_until(rig, &gone);
	/* A start later it is there again, and nothing else is new. */
	assert_int_equal(neap_kube_bootstrap(rig->kube, &err), 0);
	gone.status = 200;
	kube_until(rig, &gone);
	assert_int_equal(kube_ask(rig, "GET " SPACES, NULL), 200);
	assert_null(kube_differs(rig->body, "#items=4"));
}

static void test_classes(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " CLASSES,
		 "{'metadata':{'name':'x'},'value':1000000001}",
		 422,
		 {"message~maximum allowed value of a user defined priority is 1000000000"}},
		{"POST " CLASSES,
		 "{'metadata':{'name':'system-mine'},'value':1}",
		 422,
		 {"message~reserved for system use only"}},
		{"POST " CLASSES,
		 "{'metadata':{'name':'one'},'value':10,'globalDefault':true}",
		 201,
		 {NULL}},
		{"POST " CLASSES,
		 "{'metadata':{'name':'two'},'value':20,'globalDefault':true}",
		 403,
		 {"message=priorityclasses.scheduling.k8s.io \"two\" is forbidden: "
		  "PriorityClass one is already marked as default. Only one default can "
		  "exist"}},
		{"POST " CLASSES, "{'metadata':{'name':'two'},'value':20}", 201, {NULL}},
		{"MERGE " CLASSES "/two", "{'globalDefault':true}", 403, {NULL}},
		{"MERGE " CLASSES "/one",
		 "{'description':'d'}",
		 200,
		 {"globalDefault=true"}},
		{"MERGE " CLASSES "/one", "{'globalDefault':false}", 200, {NULL}},
		{"MERGE " CLASSES "/two", "{'globalDefault':true}", 200, {NULL}},
		{"POST " PODS,
		 "{'metadata':{'name':'p'},'spec':{" SPEC "}}",
		 201,
		 {"spec.priority=20", "spec.priorityClassName=two"}},
	};

	STEPS(*state, steps);
}

static void test_priority(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " PODS,
		 "{'metadata':{'name':'plain'},'spec':{" SPEC "}}",
		 201,
		 {"spec.priority=0", "spec.preemptionPolicy=PreemptLowerPriority",
		  "!spec.priorityClassName"}},
		{"POST " PODS,
		 "{'metadata':{'name':'x'},'spec':{'priorityClassName':'nosuch'," SPEC
		 "}}",
		 403,
		 {"reason=Forbidden", "details.name=x", "details.kind=pods",
		  "message=pods \"x\" is forbidden: no PriorityClass with name nosuch was "
		  "found"}},
		{"POST " CLASSES,
		 "{'metadata':{'name':'batch'},'value':-5,'preemptionPolicy':'Never'}",
		 201,
		 {NULL}},
		{"POST " PODS,
		 "{'metadata':{'name':'b'},'spec':{'priorityClassName':'batch'," SPEC
		 "}}",
		 201,
		 {"spec.priority=-5", "spec.preemptionPolicy=Never"}},
		{"POST " PODS,
		 "{'metadata':{'name':'x'},'spec':{'priorityClassName':'batch',"
		 "'priority':7," SPEC "}}",
		 403,
		 {"message~the integer value of priority (7) must not be provided in pod "
		  "spec; priority admission controller computed -5"}},
		{"POST " PODS,
		 "{'metadata':{'name':'x'},'spec':{'priorityClassName':'batch',"
		 "'preemptionPolicy':'PreemptLowerPriority'," SPEC "}}",
		 403,
		 {"message~the string value of PreemptionPolicy"}},
		{"POST " PODS,
		 "{'metadata':{'name':'same'},'spec':{'priorityClassName':'batch',"
		 "'priority':-5," SPEC "}}",
		 201,
		 {NULL}},
		{"POST " PODS,
		 "{'metadata':{'name':'s'},'spec':{'priorityClassName':"
		 "'system-node-critical'," SPEC "}}",
		 201,
		 {"spec.priority=2000001000"}},
		/* The class may go; the pod keeps what it has. */
		{"DELETE " CLASSES "/batch", NULL, 200, {NULL}},
		{"MERGE " PODS "/b",
		 "{'metadata':{'labels':{'a':'b'}}}",
		 200,
		 {"spec.priority=-5"}},
		{"PUT " PODS "/b",
		 "{'metadata':{'name':'b'},'spec':{'priorityClassName':'batch'," SPEC
		 "}}",
		 200,
		 {"spec.priority=-5", "spec.preemptionPolicy=Never",
		  "#spec.tolerations=2"}},
		{"POST " PODS, "{'metadata':{'name':'none'}}", 422, {NULL}},
	};

	STEPS(*state, steps);
}

#define NOT_READY   "node.kubernetes.io/not-ready"
#define UNREACHABLE "node.kubernetes.io/unreachable"

static void test_tolerations(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " PODS,
		 "{'metadata':{'name':'a'},'spec':{" SPEC "}}",
		 201,
		 {"#spec.tolerations=2",
		  "spec.tolerations.0={\"effect\":\"NoExecute\",\"key\":\"" NOT_READY
		  "\",\"operator\":\"Exists\",\"tolerationSeconds\":300}",
		  "spec.tolerations.1.key=" UNREACHABLE}},
		{"POST " PODS,
		 "{'metadata':{'name':'b'},'spec':{'tolerations':[{'key':'" NOT_READY
		 "','operator':'Exists','effect':'NoExecute','tolerationSeconds':5}]," SPEC
		 "}}",
		 201,
		 {"#spec.tolerations=2", "spec.tolerations.0.tolerationSeconds=5",
		  "spec.tolerations.1.key=" UNREACHABLE}},
		{"POST " PODS,
		 "{'metadata':{'name':'c'},'spec':{'tolerations':[{'operator':'Exists'}]," SPEC
		 "}}",
		 201,
		 {"#spec.tolerations=1"}},
		{"POST " PODS,
		 "{'metadata':{'name':'d'},'spec':{'tolerations':[{'key':'" NOT_READY
		 "','operator':'Exists','effect':'NoSchedule'}]," SPEC "}}",
		 201,
		 {"#spec.tolerations=3"}},
		{"POST " PODS,
		 "{'metadata':{'name':'e'},'spec':{'tolerations':'x'," SPEC "}}",
		 400,
		 {NULL}},
	};

	STEPS(*state, steps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(bootstrap),
		TEST(classes),
		TEST(priority),
		TEST(tolerations),
	};

	return cmocka_run_group_tests_name("kube_admit", tests, NULL, NULL);
}
