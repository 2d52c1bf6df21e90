/* SPDX-License-Identifier: Apache-2.0
 *
 * What a reader, an editor, a node and nobody may do with objects over HTTP.
 * t/test_kube_matrix.c has all that is served. */
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

#define ROSE "rose-token-of-16"
#define EDDY "eddy-token-of-16"
#define NODE "node-token-of-16"
#define MALL "mall-token-of-16"

#define PODS  "/api/v1/namespaces/default/pods"
#define NODES "/api/v1/nodes"
#define LEASE "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
#define CRDS_ "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define POD(name, node)                                                                  \
	"{'metadata':{'name':'" name "'},'spec':{'nodeName':'" node                      \
	"','containers':[{'name':'c','image':'i'}]}}"

static void make_objects(struct kube_rig *rig)
{
	static const struct kube_step steps[] = {
		{"POST /api/v1/namespaces",
		 "{'metadata':{'name':'kube-node-lease'}}",
		 201,
		 {NULL}},
		{"POST " PODS, POD("mine", "n1"), 201, {NULL}},
		{"POST " PODS, POD("yours", "n2"), 201, {NULL}},
		{"POST " NODES, "{'metadata':{'name':'n2'}}", 201, {NULL}},
	};

	STEPS(rig, steps);
}

static void test_reader(void **state)
{
	static const struct kube_step steps[] = {
		{"GET /api", NULL, 200, {NULL}},
		{"GET " PODS, NULL, 200, {"#items=2"}},
		{"GET /api/v1/pods", NULL, 200, {"#items=2"}},
		{"GET " PODS "/mine", NULL, 200, {NULL}},
		{"POST " PODS,
		 POD("x", ""),
		 403,
		 {"reason=Forbidden", "status=Failure", "details.kind=pods",
		  "message=pods is forbidden: User \"rose\" cannot create resource \"pods\" "
		  "in API group \"\" in the namespace \"default\""}},
		{"DELETE " PODS "/mine",
		 NULL,
		 403,
		 {"details.name=mine",
		  "message=pods \"mine\" is forbidden: User \"rose\" cannot delete resource "
		  "\"pods\" in API group \"\" in the namespace \"default\""}},
		{"DELETE " PODS "/nothere", NULL, 403, {NULL}},
		{"DELETE " PODS,
		 NULL,
		 403,
		 {"message~cannot deletecollection resource \"pods\""}},
		{"MERGE /apis/apps/v1/namespaces/default/deployments/d/scale",
		 "{}",
		 403,
		 {"details.group=apps",
		  "message=deployments.apps \"d\" is forbidden: User \"rose\" cannot patch "
		  "resource \"deployments/scale\" in API group \"apps\" in the namespace "
		  "\"default\""}},
		{"PUT " NODES "/n2/status",
		 "{}",
		 403,
		 {"message=nodes \"n2\" is forbidden: User \"rose\" cannot update resource "
		  "\"nodes/status\" in API group \"\" at the cluster scope"}},
		{"DELETE /api/v1/namespaces/default",
		 NULL,
		 403,
		 {"message~cannot delete resource \"namespaces\" in API group \"\" in the "
		  "namespace \"default\""}},
		{"POST " PODS "?dryRun=All", POD("x", ""), 403, {NULL}},
		{"POST /api/v1", "{}", 405, {"reason=MethodNotAllowed"}},
		{"GET /api/v1/nothings", NULL, 404, {"reason=NotFound"}},
	};

	make_objects(*state);
	kube_as(*state, ROSE);
	STEPS(*state, steps);
}

static void test_editor(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " PODS, POD("x", ""), 201, {NULL}},
		{"POST " PODS "/x/binding",
		 "{'target':{'kind':'Node','name':'n2'}}",
		 201,
		 {NULL}},
		{"DELETE " PODS "/x?gracePeriodSeconds=0", NULL, 200, {NULL}},
		{"MERGE " NODES "/n2", "{'spec':{'unschedulable':true}}", 200, {NULL}},
		{"POST /api/v1/namespaces", "{'metadata':{'name':'b'}}", 201, {NULL}},
		{"GET " CRDS_, NULL, 200, {NULL}},
		{"POST " CRDS_,
		 "{}",
		 403,
		 {"message=customresourcedefinitions.apiextensions.k8s.io is forbidden: User "
		  "\"eddy\" cannot create resource \"customresourcedefinitions\" in API group "
		  "\"apiextensions.k8s.io\" at the cluster scope"}},
		{"DELETE " CRDS_ "/x", NULL, 403, {NULL}},
		{"POST /apis/config.koordinator.sh/v1alpha1/clustercolocationprofiles",
		 "{}",
		 403,
		 {NULL}},
	};

	make_objects(*state);
	kube_as(*state, EDDY);
	STEPS(*state, steps);
}

static void test_node(void **state)
{
	static const struct kube_step steps[] = {
		{"GET " PODS, NULL, 200, {"#items=2"}},
		{"POST " NODES,
		 "{'metadata':{'name':'n3'}}",
		 403,
		 {"message~User \"system:node:n1\" cannot create resource \"nodes\" in API "
		  "group \"\" at the cluster scope: a node writes what has its own name "
		  "only"}},
		{"POST " NODES,
		 "{'metadata':{'name':'n1','labels':{'node-restriction.kubernetes.io/a':'b'}}}",
		 403,
		 {NULL}},
		{"POST " NODES,
		 "{'metadata':{'name':'n1'},'spec':{'taints':[{'key':'a','effect':"
		 "'NoSchedule'}]}}",
		 403,
		 {"message~a node may bring no taints but those of node.kubernetes.io"}},
		{"POST " NODES,
		 "{'metadata':{'name':'n1'},'spec':{'taints':[{'key':"
		 "'node.kubernetes.io/not-ready','effect':'NoSchedule'}]}}",
		 201,
		 {NULL}},
		{"MERGE " NODES "/n1", "{'metadata':{'labels':{'a':'b'}}}", 200, {NULL}},
		{"MERGE " NODES "/n1",
		 "{'spec':{'taints':null}}",
		 403,
		 {"message~a node may not change its taints"}},
		{"MERGE " NODES "/n1",
		 "{'metadata':{'ownerReferences':[{'apiVersion':'v1','kind':'ConfigMap',"
		 "'name':'none','uid':'u'}]}}",
		 403,
		 {"message~must be allowed to delete the object"}},
		{"MERGE " NODES "/n1",
		 "{'metadata':{'finalizers':['a.b/c']}}",
		 403,
		 {NULL}},
		{"MERGE " NODES "/n1/status",
		 "{'metadata':{'ownerReferences':[{'apiVersion':'v1','kind':'ConfigMap',"
		 "'name':'none','uid':'u'}]}}",
		 200,
		 {"!metadata.ownerReferences"}},
		{"MERGE " NODES "/n1/status",
		 "{'metadata':{'labels':{'node-restriction.kubernetes.io/a':'b'}}}",
		 403,
		 {NULL}},
		{"GET " NODES "/n1",
		 NULL,
		 200,
		 {"#spec.taints=1", "metadata.labels={\"a\":\"b\"}"}},
		{"MERGE " NODES "/n1/status",
		 "{'status':{'nodeInfo':{'kubeletVersion':'v1.2.3'}}}",
		 200,
		 {"status.nodeInfo.kubeletVersion=v1.2.3"}},
		{"MERGE " NODES "/n2/status", "{'status':{}}", 403, {NULL}},
		{"DELETE " NODES "/n1", NULL, 403, {NULL}},
		{"POST " LEASE, "{'metadata':{'name':'n1'},'spec':{}}", 201, {NULL}},
		{"MERGE " LEASE "/n1",
		 "{'spec':{'holderIdentity':'n1'}}",
		 200,
		 {"spec.holderIdentity=n1"}},
		{"POST " LEASE, "{'metadata':{'name':'n2'},'spec':{}}", 403, {NULL}},
		{"PUT " LEASE "/n2", "{'metadata':{'name':'n2'},'spec':{}}", 403, {NULL}},
		{"DELETE " LEASE "/n1", NULL, 200, {NULL}},
		{"PUT " LEASE "/n1",
		 "{'metadata':{'name':'n1','ownerReferences':[{'apiVersion':'v1','kind':"
		 "'Pod','name':'mine','uid':'u','blockOwnerDeletion':true}]},'spec':{}}",
		 403,
		 {"message~cannot set blockOwnerDeletion"}},
		{"PUT " LEASE "/n1", "{'metadata':{'name':'n1'},'spec':{}}", 201, {NULL}},
		{"MERGE " PODS "/mine/status",
		 "{'metadata':{'labels':{'app':'other'}},'status':{'phase':'Running'}}",
		 200,
		 {"status.phase=Running", "!metadata.labels"}},
		{"MERGE " PODS "/mine", "{'metadata':{'labels':{'a':'b'}}}", 403, {NULL}},
		{"MERGE " PODS "/yours/status",
		 "{'status':{'phase':'Running'}}",
		 403,
		 {"message~a node writes pods only that are bound to it"}},
		{"MERGE " PODS "/mine/status",
		 "{'status':{'phase':'Failed'}}",
		 200,
		 {"status.phase=Failed"}},
		{"MERGE " PODS "/mine/status",
		 "{'status':{'phase':'Running'}}",
		 403,
		 {"message~a pod that has ended stays so"}},
		{"DELETE " PODS "/yours", NULL, 403, {NULL}},
		{"DELETE " PODS "/nothere", NULL, 403, {NULL}},
		{"DELETE " PODS, NULL, 403, {NULL}},
		{"POST " PODS "/yours/eviction", "{}", 403, {NULL}},
		{"POST " PODS "/mine/eviction", "{}", 201, {"status=Success"}},
		{"POST " PODS, POD("x", "n1"), 403, {NULL}},
		{"POST /api/v1/namespaces/default/events",
		 "{'metadata':{'name':'e'},'involvedObject':{'kind':'Pod','namespace':"
		 "'default','name':'mine'},'reason':'x','message':'y','type':'Normal'}",
		 201,
		 {NULL}},
		{"DELETE /api/v1/namespaces/default/events/e", NULL, 403, {NULL}},
		{"MERGE /api/v1/namespaces/default/events/e",
		 "{'count':2}",
		 403,
		 {"message~a node writes events only whose source it is"}},
		{"POST /api/v1/namespaces/default/events",
		 "{'metadata':{'name':'own'},'involvedObject':{'kind':'Pod','namespace':"
		 "'default','name':'mine'},'reason':'x','message':'y','type':'Normal',"
		 "'source':{'host':'n1'}}",
		 201,
		 {NULL}},
		{"MERGE /api/v1/namespaces/default/events/own",
		 "{'count':2}",
		 200,
		 {"count=2"}},
		{"MERGE /api/v1/namespaces/default/events/own",
		 "{'source':{'host':'n2'}}",
		 403,
		 {NULL}},
		{"POST /apis/slo.koordinator.sh/v1alpha1/nodemetrics",
		 "{'metadata':{'name':'n1'}}",
		 201,
		 {NULL}},
		{"POST /apis/slo.koordinator.sh/v1alpha1/nodemetrics",
		 "{'metadata':{'name':'n2'}}",
		 403,
		 {NULL}},
	};

	make_objects(*state);
	kube_as(*state, NODE);
	STEPS(*state, steps);
}

/* Who holds up the end of an owner must be able to keep it. */
static void test_blocking(void **state)
{
#define OWNED(group, kind, name, blocks)                                                 \
	"{'metadata':{'name':'m','ownerReferences':[{'apiVersion':'" group               \
	"','kind':'" kind "','name':'" name "','uid':'u','blockOwnerDeletion':" blocks   \
	"}]}}"
	static const struct kube_step steps[] = {
		{"POST /api/v1/namespaces/default/configmaps?dryRun=All",
		 OWNED("apiextensions.k8s.io/v1", "CustomResourceDefinition", "x",
		       "true"),
		 403,
		 {"message=configmaps \"m\" is forbidden: cannot set blockOwnerDeletion "
		  "if an ownerReference refers to a resource you can't set finalizers on"}},
		{"POST /api/v1/namespaces/default/configmaps?dryRun=All",
		 OWNED("apiextensions.k8s.io/v1", "CustomResourceDefinition", "x",
		       "false"),
		 201,
		 {NULL}},
		{"POST /api/v1/namespaces/default/configmaps?dryRun=All",
		 OWNED("apps/v1", "Deployment", "x", "true"),
		 201,
		 {NULL}},
		{"POST /api/v1/namespaces/default/configmaps?dryRun=All",
		 OWNED("unknown.example/v1", "Thing", "x", "true"),
		 201,
		 {NULL}},
	};

	static const struct kube_step kept[] = {
		{"MERGE /api/v1/namespaces/default/configmaps/kept",
		 "{'data':{'a':'b'}}",
		 200,
		 {"metadata.ownerReferences.0.blockOwnerDeletion=true"}},
		{"MERGE /api/v1/namespaces/default/configmaps/kept?dryRun=All",
		 "{'metadata':{'ownerReferences':[{'apiVersion':'apiextensions.k8s.io/v1',"
		 "'kind':'CustomResourceDefinition','name':'other','uid':'u',"
		 "'blockOwnerDeletion':true}]}}",
		 403,
		 {NULL}},
	};
	struct kube_rig *rig = *state;
	char body[512];

	/* What an admin has set stays so in the hands of others. */
	assert_int_equal(kube_ask(rig, "GET " CRDS_, NULL), 200);
	(void)snprintf(body, sizeof(body),
		       "{'metadata':{'name':'kept','ownerReferences':[{'apiVersion':"
		       "'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition',"
		       "'name':'%s','uid':'%s','blockOwnerDeletion':true}]}}",
		       kube_text(rig->body, "items.0.metadata.name"),
		       kube_text(rig->body, "items.0.metadata.uid"));
	assert_int_equal(
		kube_ask(rig, "POST /api/v1/namespaces/default/configmaps", body), 201);
	kube_as(*state, EDDY);
	STEPS(*state, steps);
	STEPS(*state, kept);
}

static void test_nobody(void **state)
{
	static const struct kube_step unknown[] = {
		{"GET /api",
		 NULL,
		 401,
		 {"kind=Status", "reason=Unauthorized", "code=401"}},
		{"GET " PODS, NULL, 401, {"message=Unauthorized", "status=Failure"}},
		{"POST " PODS, "{}", 401, {"reason=Unauthorized"}},
		{"GET /openapi/v2", NULL, 401, {"reason=Unauthorized"}},
		{"GET /control/v1/status", NULL, 401, {"code=Unauthorized", "!kind"}},
	};
	static const struct kube_step no_role[] = {
		{"GET /api",
		 NULL,
		 403,
		 {"kind=Status", "reason=Forbidden", "code=403",
		  "message~user:mallory has no role here"}},
		{"DELETE " PODS, NULL, 403, {"reason=Forbidden"}},
	};
	static const struct kube_step known[] = {
		{"GET /api/v2/x/y/z/z/z/z/z",
		 NULL,
		 404,
		 {"kind=Status", "reason=NotFound",
		  "message=the server could not find the requested resource"}},
		{"GET /openapi/v3",
		 NULL,
		 404,
		 {"kind=Status", "reason=NotFound",
		  "message=the server could not find the requested resource"}},
		{"POST /openapi/v2",
		 "{}",
		 405,
		 {"kind=Status", "reason=MethodNotAllowed", "code=405"}},
		{"GET /apish", NULL, 404, {"!kind", "code=NotFound"}},
		{"GET /api/%2", NULL, 400, {"kind=Status", "reason=BadRequest"}},
	};
	struct kube_rig *rig = *state;

	kube_as(rig, "");
	STEPS(rig, unknown);
	(void)kube_ask(rig, "GET /apis", NULL);
	assert_non_null(strstr(rig->head, "WWW-Authenticate: Bearer"));
	kube_as(rig, "wrong-token-of-16");
	STEPS(rig, unknown);
	kube_as(rig, MALL);
	STEPS(rig, no_role);
	kube_as(rig, ROSE);
	STEPS(rig, known);
}

/* "kubectl --as": not done as somebody else, and not as oneself either. */
static void test_impersonation(void **state)
{
	static const char *const headers[] = {"Impersonate-User: rose\r\n",
					      "Impersonate-Group: dev\r\n"};
	static const char *const asks[] = {
		"DELETE " PODS "/mine", "GET " PODS,
		"POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews"};
	struct kube_rig *rig = *state;

	make_objects(rig);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(asks); i++)
		for (size_t k = 0; k < NEAP_ARRAY_LEN(headers); k++) {
			assert_int_equal(kube_ask_with(rig, asks[i], headers[k], NULL, 0),
					 403);
			assert_non_null(strstr(kube_text(rig->body, "message"),
					       "cannot impersonate resource"));
		}
	assert_int_equal(kube_ask(rig, "GET " PODS "/mine", NULL), 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(reader), TEST(editor),        TEST(node),
		TEST(nobody), TEST(impersonation), TEST(blocking),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
