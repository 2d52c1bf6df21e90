/* SPDX-License-Identifier: Apache-2.0
 *
 * Reviews: may I, what may I, may he, who am I. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/kube/request/rights.h"
#include "engine/base/mem.h"
#include "t/lib/kube_rig.h"

#define STEPS(rig, steps) kube_steps(rig, steps, NEAP_ARRAY_LEN(steps))
#define TEST(name)                                                                       \
	cmocka_unit_test_setup_teardown(test_##name, kube_rig_setup, kube_rig_teardown)

#define ROSE "rose-token-of-16"
#define EDDY "eddy-token-of-16"
#define NODE "node-token-of-16"

#define PODS "/api/v1/namespaces/default/pods"
#define POD(name, node)                                                                  \
	"{'metadata':{'name':'" name "'},'spec':{'nodeName':'" node                      \
	"','containers':[{'name':'c','image':'i'}]}}"

static void make_pods(struct kube_rig *rig)
{
	static const struct kube_step steps[] = {
		{"POST " PODS, POD("mine", "n1"), 201, {NULL}},
		{"POST " PODS, POD("yours", "n2"), 201, {NULL}},
	};

	STEPS(rig, steps);
}

#define AUTH_      "/apis/authorization.k8s.io/v1/"
#define MAY        "POST " AUTH_ "selfsubjectaccessreviews"
#define LIST       "POST " AUTH_ "selfsubjectrulesreviews"
#define WHO        "POST /apis/authentication.k8s.io/v1/selfsubjectreviews"
#define LOCAL      "POST " AUTH_ "namespaces/default/localsubjectaccessreviews"
#define TOKEN      "POST /apis/authentication.k8s.io/v1/tokenreviews"
#define ATTR(more) "{'spec':{'resourceAttributes':{" more "}}}"
#define PATH(verb, path)                                                                 \
	"{'spec':{'nonResourceAttributes':{'verb':'" verb "','path':'" path "'}}}"

static void test_may_i(void **state)
{
	static const struct kube_step rose[] = {
		{MAY,
		 ATTR("'verb':'list','resource':'pods','namespace':'default'"),
		 201,
		 {"status.allowed=true", "kind=SelfSubjectAccessReview",
		  "apiVersion=authorization.k8s.io/v1",
		  "spec.resourceAttributes.verb=list"}},
		{MAY,
		 ATTR("'verb':'create','resource':'pods'"),
		 201,
		 {"status.allowed=false"}},
		{MAY,
		 ATTR("'verb':'*','resource':'*','group':'*'"),
		 201,
		 {"status.allowed=false"}},
		{MAY, PATH("get", "/api"), 201, {"status.allowed=true"}},
		{MAY, PATH("get", "/nothing"), 201, {"status.allowed=false"}},
		{MAY, PATH("dance", "/api"), 201, {"status.allowed=false"}},
		{MAY, "{'spec':{}}", 422, {"reason=Invalid"}},
		{MAY, "[]", 400, {NULL}},
		{MAY, "{'kind':'Pod'}", 400, {NULL}},
		{"POST " AUTH_ "subjectaccessreviews",
		 "{'spec':{}}",
		 403,
		 {"reason=Forbidden"}},
		{LOCAL, "{'spec':{}}", 403, {"reason=Forbidden"}},
		{TOKEN, "{'spec':{'token':'" EDDY "'}}", 403, {"reason=Forbidden"}},
		{"POST /apis/authorization.k8s.io/v9/selfsubjectaccessreviews",
		 "{}",
		 404,
		 {"reason=NotFound"}},
		{WHO,
		 "{}",
		 201,
		 {"status.userInfo.username=rose",
		  "status.userInfo.groups=[\"system:authenticated\"]"}},
		{LIST,
		 "{'spec':{'namespace':'default'}}",
		 201,
		 {"#status.resourceRules=4", "status.incomplete=false",
		  "status.resourceRules.3.verbs=[\"get\",\"list\",\"watch\"]"}},
	};
	static const struct kube_step eddy[] = {
		{MAY,
		 ATTR("'verb':'create','resource':'pods'"),
		 201,
		 {"status.allowed=true"}},
		{MAY,
		 ATTR("'verb':'create','group':'apiextensions.k8s.io','resource':"
		      "'customresourcedefinitions'"),
		 201,
		 {"status.allowed=false"}},
		{WHO,
		 "{}",
		 201,
		 {"status.userInfo.groups=[\"dev\",\"system:authenticated\"]"}},
	};
	static const struct kube_step node[] = {
		{MAY,
		 ATTR("'verb':'delete','resource':'pods','namespace':'default','name':'mine'"),
		 201,
		 {"status.allowed=true"}},
		{MAY,
		 ATTR("'verb':'delete','resource':'pods','namespace':'default','name':'yours'"),
		 201,
		 {"status.allowed=false",
		  "status.reason=a node writes pods only that are bound to it"}},
		{MAY,
		 ATTR("'verb':'update','resource':'nodes','name':'n1'"),
		 201,
		 {"status.allowed=true"}},
		{LIST,
		 "{'spec':{'namespace':'kube-node-lease'}}",
		 201,
		 {"status.incomplete=true"}},
	};
	static const struct kube_step admin[] = {
		{MAY,
		 ATTR("'verb':'*','resource':'*','group':'*'"),
		 201,
		 {"status.allowed=true"}},
		{MAY, PATH("post", "/anything"), 201, {"status.allowed=true"}},
		{WHO,
		 "{}",
		 201,
		 {"status.userInfo.username=neap:admin",
		  "status.userInfo.groups=[\"system:masters\",\"system:authenticated\"]"}},
		{LIST, "{'spec':{}}", 400, {"message=no namespace on request"}},
		{LIST,
		 "{'spec':{'namespace':'default'}}",
		 201,
		 {"status.resourceRules.0.verbs=[\"*\"]", "!spec"}},
		{LOCAL,
		 "{'metadata':{'namespace':'default'},'spec':{'user':'rose',"
		 "'resourceAttributes':{'verb':'get','resource':'pods','namespace':"
		 "'default'}}}",
		 201,
		 {"status.allowed=true", "kind=LocalSubjectAccessReview"}},
		{LOCAL,
		 "{'spec':{'user':'rose','resourceAttributes':{'verb':'get','resource':"
		 "'pods','namespace':'other'}}}",
		 422,
		 {"message~must match metadata.namespace"}},
		{LOCAL,
		 "{'spec':{'user':'rose','resourceAttributes':{'verb':'get','resource':"
		 "'pods','namespace':'default'}}}",
		 422,
		 {"message~must match metadata.namespace"}},
		{LOCAL,
		 "{'spec':{'user':'rose','nonResourceAttributes':{'verb':'get','path':"
		 "'/'}}}",
		 422,
		 {NULL}},
		{TOKEN,
		 "{'spec':{'token':'" EDDY "'}}",
		 201,
		 {"kind=TokenReview", "status.authenticated=true",
		  "status.user.username=eddy"}},
		{TOKEN,
		 "{'spec':{'token':'secret'}}",
		 201,
		 {"status.user.username=neap:admin"}},
		{TOKEN,
		 "{'spec':{'token':'nobodys-token-of-16'}}",
		 201,
		 {"!status.authenticated", "status.user={}"}},
		{TOKEN, "{'spec':{}}", 400, {"message~token is required"}},
		{TOKEN, "{'spec':{'token':5}}", 400, {NULL}},
		{"POST " AUTH_ "subjectaccessreviews",
		 "{'spec':{'user':'x','groups':['dev'],'resourceAttributes':{'verb':'create',"
		 "'resource':'pods'}}}",
		 201,
		 {"status.allowed=true", "kind=SubjectAccessReview"}},
		{"POST " AUTH_ "subjectaccessreviews",
		 "{'spec':{'user':'rose','resourceAttributes':{'verb':'create','resource':"
		 "'pods'}}}",
		 201,
		 {"status.allowed=false"}},
		{"POST " AUTH_ "subjectaccessreviews",
		 "{'spec':{'user':'mallory','resourceAttributes':{'verb':'get','resource':"
		 "'pods'}}}",
		 201,
		 {"status.allowed=false"}},
	};
	static const struct kube_step discovery[] = {
		{"GET "
		 "/apis/authorization.k8s.io/v1",
		 NULL,
		 200,
		 {"#resources=4", "resources.0.verbs=[\"create\"]",
		  "resources.0.kind=SelfSubjectAccessReview"}},
		{"GET /apis/authentication.k8s.io",
		 NULL,
		 200,
		 {"preferredVersion.groupVersion=authentication.k8s.io/v1"}},
	};

	make_pods(*state);
	kube_as(*state, ROSE);
	STEPS(*state, rose);
	STEPS(*state, discovery);
	kube_as(*state, EDDY);
	STEPS(*state, eddy);
	kube_as(*state, NODE);
	STEPS(*state, node);
	kube_as(*state, "secret");
	STEPS(*state, admin);
}

/* Every rule of a list is a yes of the decision, and what is in none is a no. */
static bool has_word(const json_t *list, const char *word)
{
	const json_t *item;
	size_t i;

	json_array_foreach (list, i, item)
		if (strcmp(json_string_value(item), word) == 0 ||
		    strcmp(json_string_value(item), "*") == 0)
			return true;
	return false;
}

static bool is_listed(const json_t *rules, const char *verb, const char *group,
		      const char *resource)
{
	const json_t *rule;
	size_t i;

	json_array_foreach (rules, i, rule)
		if (!json_object_get(rule, "resourceNames") &&
		    has_word(json_object_get(rule, "verbs"), verb) &&
		    has_word(json_object_get(rule, "apiGroups"), group) &&
		    has_word(json_object_get(rule, "resources"), resource))
			return true;
	return false;
}

static void test_list_is_true(void **state)
{
	static const struct {
		const char *token, *user;
		enum neap_http_role role;
	} who[] = {{ROSE, "rose", NEAP_HTTP_READER},
		   {EDDY, "eddy", NEAP_HTTP_EDITOR},
		   {NODE, "n1", NEAP_HTTP_NODE}};
	static const char *const verbs[] = {"get",   "create", "update",
					    "patch", "delete", "deletecollection"};
	struct kube_rig *rig = *state;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(who); i++) {
		const json_t *rules;

		kube_as(rig, who[i].token);
		assert_int_equal(kube_ask(rig, LIST, "{'spec':{'namespace':'default'}}"),
				 201);
		rules = kube_at(rig->body, "status.resourceRules");
		for (size_t k = 0; k < neap_kube_registry_count(rig->registry); k++)
			for (size_t v = 0; v < NEAP_ARRAY_LEN(verbs); v++) {
				const struct neap_kube_kind *kind =
					neap_kube_registry_at(rig->registry, k);
				const struct neap_access_ask ask = {
					who[i].role,  who[i].user, verbs[v],  kind->group,
					kind->plural, "",          "default", "",
					NULL,         NULL};

				if (neap_kube_may(&ask, NULL) !=
				    is_listed(rules, verbs[v], kind->group, kind->plural))
					fail_msg("%s: %s %s", who[i].user, verbs[v],
						 kind->plural);
			}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {TEST(may_i), TEST(list_is_true)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
