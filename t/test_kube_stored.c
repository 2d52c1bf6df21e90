/* SPDX-License-Identifier: Apache-2.0
 *
 * How objects are stored: amounts as canonical texts, and compared by value. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(amounts),
		TEST(generation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
