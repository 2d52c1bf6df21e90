/* SPDX-License-Identifier: Apache-2.0
 *
 * Who may do what with which objects: the decision by itself. */
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

/* --- the decision --- */

enum { R = 1, N = 2, E = 4, A = 8, ALL = 15 };

static const struct {
	int who; /* may */
	const char *verb, *group, *resource, *sub, *ns, *name;
	const char *before, *after; /* JSON with ' for " */
} decisions[] = {
	{ALL, "get", "", "pods", "", "a", "x", NULL, NULL},
	{ALL, "list", "", "pods", "", "", "", NULL, NULL},
	{ALL, "watch", "apiextensions.k8s.io", "customresourcedefinitions", "", "", "",
	 NULL, NULL},
	{ALL, "get", "*", "*", "", "", "", NULL, NULL},
	{ALL, "get", "apps", "deployments", "scale", "a", "x", NULL, NULL},
	{E | A, "create", "", "pods", "", "a", "", NULL, NULL},
	{E | A, "update", "", "nodes", "", "", "other", NULL, NULL},
	{E | A, "deletecollection", "", "pods", "", "a", "", NULL, NULL},
	{E | A, "create", "", "pods", "binding", "a", "x", NULL, NULL},
	{E | A, "delete", "", "namespaces", "", "", "a", NULL, NULL},
	{E | A, "create", "scheduling.koordinator.sh", "reservations", "", "", "", NULL,
	 NULL},
	{E | A, "*", "apps", "*", "", "", "", NULL, NULL},
	{A, "*", "*", "*", "", "", "", NULL, NULL},
	{A, "create", "*", "deployments", "", "", "", NULL, NULL},
	{A, "create", "apiextensions.k8s.io", "customresourcedefinitions", "", "", "",
	 NULL, NULL},
	{A, "patch", "apiextensions.k8s.io", "customresourcedefinitions", "status", "",
	 "x", NULL, NULL},
	{A, "*", "apiextensions.k8s.io", "*", "", "", "", NULL, NULL},
	{A, "delete", "config.koordinator.sh", "clustercolocationprofiles", "", "", "x",
	 NULL, NULL},
	{A, "create", "rbac.authorization.k8s.io", "roles", "", "a", "", NULL, NULL},
	{A, "create", "admissionregistration.k8s.io", "anything", "", "", "", NULL, NULL},
	{A, "create", "authorization.k8s.io", "subjectaccessreviews", "", "", "", NULL,
	 NULL},
	{ALL, "create", "authorization.k8s.io", "selfsubjectaccessreviews", "", "", "",
	 NULL, NULL},
	{ALL, "create", "authorization.k8s.io", "selfsubjectrulesreviews", "", "", "",
	 NULL, NULL},
	{ALL, "create", "authentication.k8s.io", "selfsubjectreviews", "", "", "", NULL,
	 NULL},
	{A, "get", "authorization.k8s.io", "selfsubjectaccessreviews", "", "", "x", NULL,
	 NULL},

	{N | E | A, "update", "", "nodes", "", "", "n1", NULL, NULL},
	{N | E | A, "patch", "", "nodes", "status", "", "n1", NULL, NULL},
	{N | E | A, "create", "", "nodes", "", "", "", NULL,
	 "{'metadata':{'name':'n1'}}"},
	{E | A, "create", "", "nodes", "", "", "", NULL, "{'metadata':{'name':'n2'}}"},
	{E | A, "create", "", "nodes", "", "", "", NULL,
	 "{'metadata':{'generateName':'n1'}}"},
	{E | A, "create", "", "nodes", "", "", "", NULL, NULL},
	{E | A, "update", "", "nodes", "", "", "n2", NULL, NULL},
	{E | A, "update", "", "nodes", "", "", "system:node:n1", NULL, NULL},
	{E | A, "delete", "", "nodes", "", "", "n1", NULL, NULL},
	{E | A, "*", "", "nodes", "", "", "n1", NULL, NULL},
	{N | E | A, "update", "", "nodes", "", "", "n1",
	 "{'spec':{'taints':[{'key':'a'}]}}",
	 "{'spec':{'taints':[{'key':'a'}],'podCIDR':'x'}}"},
	{E | A, "update", "", "nodes", "", "", "n1", "{'spec':{'taints':[{'key':'a'}]}}",
	 "{'spec':{}}"},
	{E | A, "update", "", "nodes", "", "", "n1", "{'spec':{}}",
	 "{'spec':{'taints':[{'key':'a'}]}}"},
	{N | E | A, "patch", "", "nodes", "", "", "n1",
	 "{'metadata':{'labels':{'a':'b'}}}",
	 "{'metadata':{'labels':{'a':'c','node-restriction.kubernetes.io':'no-prefix'}}}"},
	{N | E | A, "patch", "", "nodes", "status", "", "n1", "{'metadata':{}}",
	 "{'metadata':{'labels':{'kubernetes.io/hostname':'a','node.kubernetes.io/x':'b',"
	 "'a.kubelet.kubernetes.io/x':'b','topology.kubernetes.io/zone':'z'}}}"},
	{E | A, "patch", "", "nodes", "", "", "n1", "{'metadata':{}}",
	 "{'metadata':{'labels':{'node-role.kubernetes.io/control-plane':''}}}"},
	{E | A, "patch", "", "nodes", "", "", "n1",
	 "{'metadata':{'labels':{'a.k8s.io/x':''}}}", "{'metadata':{}}"},
	{N | E | A, "create", "", "nodes", "", "", "", NULL,
	 "{'metadata':{'name':'n1'},'spec':{'taints':[{'key':"
	 "'node.kubernetes.io/not-ready','effect':'NoSchedule'}]}}"},
	{E | A, "create", "", "nodes", "", "", "", NULL,
	 "{'metadata':{'name':'n1'},'spec':{'taints':[{'key':'mine'}]}}"},
	{N | E | A, "patch", "", "nodes", "", "", "n1", "{'spec':{}}",
	 "{'spec':{'unschedulable':true}}"},
	{E | A, "patch", "", "nodes", "", "", "n1", "{'spec':{'unschedulable':true}}",
	 "{'spec':{}}"},
	/* What says when an object goes is for those who may end it. */
	{E | A, "patch", "", "nodes", "", "", "n1", "{'metadata':{}}",
	 "{'metadata':{'ownerReferences':[{'uid':'u'}]}}"},
	{E | A, "create", "", "nodes", "", "", "", NULL,
	 "{'metadata':{'name':'n1','ownerReferences':[{'uid':'u'}]}}"},
	{E | A, "patch", "", "nodes", "", "", "n1", "{'metadata':{'finalizers':['a']}}",
	 "{'metadata':{}}"},
	{N | E | A, "patch", "", "nodes", "", "", "n1",
	 "{'metadata':{'finalizers':['a'],'ownerReferences':[]}}",
	 "{'metadata':{'finalizers':['a']}}"},
	{N | E | A, "create", "coordination.k8s.io", "leases", "", "kube-node-lease", "",
	 NULL, "{'metadata':{'name':'n1','ownerReferences':[{'uid':'u'}]}}"},
	{E | A, "create", "", "events", "", "a", "", NULL,
	 "{'metadata':{'name':'e','finalizers':['a.b/c']}}"},
	{E | A, "patch", "", "nodes", "", "", "n1", "{'metadata':{}}",
	 "{'metadata':{'labels':{'node-restriction.kubernetes.io/pool':'c'}}}"},
	{E | A, "patch", "", "nodes", "status", "", "n1",
	 "{'metadata':{'labels':{'x.node-restriction.kubernetes.io/pool':'c'}}}",
	 "{'metadata':{}}"},

	{N | E | A, "delete", "", "pods", "", "a", "x", "{'spec':{'nodeName':'n1'}}",
	 NULL},
	{E | A, "delete", "", "pods", "", "a", "x", "{'spec':{'nodeName':'n2'}}", NULL},
	{E | A, "delete", "", "pods", "", "a", "x", "{'spec':{}}", NULL},
	{E | A, "delete", "", "pods", "", "a", "x", NULL, NULL},
	{E | A, "delete", "", "pods", "", "a", "x", NULL, "{'spec':{'nodeName':'n1'}}"},
	{N | E | A, "patch", "", "pods", "status", "a", "x", "{'spec':{'nodeName':'n1'}}",
	 NULL},
	{N | E | A, "patch", "", "pods", "status", "a", "x",
	 "{'spec':{'nodeName':'n1'},'status':{'phase':'Running'}}",
	 "{'spec':{'nodeName':'n1'},'status':{'phase':'Failed'}}"},
	{N | E | A, "patch", "", "pods", "status", "a", "x",
	 "{'spec':{'nodeName':'n1'},'status':{'phase':'Failed'}}",
	 "{'spec':{'nodeName':'n1'},'status':{'phase':'Failed','reason':'x'}}"},
	{E | A, "patch", "", "pods", "status", "a", "x",
	 "{'spec':{'nodeName':'n1'},'status':{'phase':'Failed'}}",
	 "{'spec':{'nodeName':'n1'},'status':{'phase':'Running'}}"},
	{E | A, "patch", "", "pods", "status", "a", "x",
	 "{'spec':{'nodeName':'n1'},'status':{'phase':'Succeeded'}}",
	 "{'spec':{'nodeName':'n1'},'status':{}}"},
	{E | A, "patch", "", "pods", "", "a", "x", "{'spec':{'nodeName':'n1'}}", NULL},
	{N | E | A, "create", "", "pods", "eviction", "a", "x",
	 "{'spec':{'nodeName':'n1'}}", NULL},
	{E | A, "create", "", "pods", "binding", "a", "x", "{'spec':{'nodeName':'n1'}}",
	 NULL},
	{E | A, "create", "", "pods", "", "a", "", NULL, "{'spec':{'nodeName':'n1'}}"},

	{N | E | A, "create", "", "events", "", "a", "", NULL, NULL},
	{N | E | A, "create", "", "events", "", "a", "", NULL,
	 "{'source':{'component':'kubelet','host':'n1'}}"},
	{E | A, "create", "", "events", "", "a", "", NULL,
	 "{'source':{'component':'kubelet','host':'n2'}}"},
	{E | A, "create", "events.k8s.io", "events", "", "a", "", NULL,
	 "{'deprecatedSource':{'host':'n2'}}"},
	{N | E | A, "patch", "", "events", "", "a", "e", "{'source':{'host':'n1'}}",
	 NULL},
	{N | E | A, "patch", "events.k8s.io", "events", "", "a", "e",
	 "{'reportingInstance':'kubelet-n1'}", NULL},
	{E | A, "patch", "", "events", "", "a", "e", "{'source':{'host':'n2'}}", NULL},
	{E | A, "patch", "", "events", "", "a", "e", "{'reportingInstance':'xn1'}", NULL},
	{E | A, "patch", "", "events", "", "a", "e", NULL, NULL},
	{E | A, "update", "", "events", "", "a", "e", "{'source':{'host':'n1'}}",
	 "{'source':{'host':'n2'}}"},
	{E | A, "delete", "", "events", "", "a", "e", NULL, NULL},
	{N | E | A, "update", "coordination.k8s.io", "leases", "", "kube-node-lease",
	 "n1", NULL, NULL},
	{E | A, "update", "coordination.k8s.io", "leases", "", "kube-system", "n1", NULL,
	 NULL},
	{E | A, "update", "coordination.k8s.io", "leases", "", "kube-node-lease", "n2",
	 NULL, NULL},
	{N | E | A, "patch", "slo.koordinator.sh", "nodemetrics", "status", "", "n1",
	 NULL, NULL},
	{N | E | A, "delete", "scheduling.koordinator.sh", "devices", "", "", "n1", NULL,
	 NULL},
	{N | E | A, "update", "topology.node.k8s.io", "noderesourcetopologies", "", "",
	 "n1", NULL, NULL},
	{E | A, "update", "scheduling.koordinator.sh", "reservations", "", "", "n1", NULL,
	 NULL},
	{E | A, "deletecollection", "slo.koordinator.sh", "nodemetrics", "", "", "", NULL,
	 NULL},
};

/* The same where pods run. */
static const struct {
	int who;
	const char *verb, *group, *resource, *sub;
} running[] = {
	{ALL, "get", "", "pods", ""},
	{A, "create", "", "pods", ""},
	{A, "patch", "", "pods", ""},
	{A, "update", "", "pods", "ephemeralcontainers"},
	{A, "create", "", "pods", "binding"},
	{E | A, "create", "", "pods", "eviction"},
	{E | A, "delete", "", "pods", ""},
	{E | A, "deletecollection", "batch", "jobs", ""},
	{A, "create", "apps", "deployments", ""},
	{A, "patch", "apps", "replicasets", ""},
	{E | A, "patch", "apps", "deployments", "scale"},
	{A, "create", "batch", "jobs", ""},
	{A, "create", "", "podtemplates", ""},
	{A, "update", "", "replicationcontrollers", ""},
	{A, "*", "apps", "*", ""},
	{A, "create", "*", "*", ""},
	{A, "create", "", "configmaps", ""},
	{A, "patch", "", "configmaps", ""},
	{E | A, "delete", "", "configmaps", ""},
	{ALL, "get", "", "configmaps", ""},
	{E | A, "update", "apps", "deployments", "finalizers"},
	{E | A, "create", "scheduling.koordinator.sh", "reservations", ""},
};

static json_t *tree(const char *text)
{
	neap_auto_free char *copy = text ? neap_strdup(text) : NULL;
	json_t *json;

	for (char *at = copy; at && *at; at++)
		if (*at == '\'')
			*at = '"';
	json = copy ? json_loads(copy, 0, NULL) : NULL;
	assert_true(!text || json);
	return json;
}

static void test_decisions(void **state)
{
	static const struct {
		int bit;
		enum neap_http_role role;
		const char *user;
	} who[] = {
		{0, NEAP_HTTP_ANYBODY, "n1"}, {R, NEAP_HTTP_READER, "n1"},
		{N, NEAP_HTTP_NODE, "n1"},    {N, NEAP_HTTP_NODE, "system:node:n1"},
		{E, NEAP_HTTP_EDITOR, "eve"}, {A, NEAP_HTTP_ADMIN, "root"},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(decisions); i++) {
		json_t *before = tree(decisions[i].before),
		       *after = tree(decisions[i].after);

		for (size_t k = 0; k < NEAP_ARRAY_LEN(who); k++) {
			const struct neap_access_ask ask = {who[k].role,
							    who[k].user,
							    decisions[i].verb,
							    decisions[i].group,
							    decisions[i].resource,
							    decisions[i].sub,
							    decisions[i].ns,
							    decisions[i].name,
							    before,
							    after};

			if (neap_kube_may(&ask, NULL) !=
			    ((decisions[i].who & who[k].bit) != 0))
				fail_msg("row %zu: %s %s %s as %s %s", i, ask.verb,
					 ask.resource, ask.name,
					 neap_http_role_name(ask.role), ask.user);
		}
		json_decref(before);
		json_decref(after);
	}
}

static void test_running(void **state)
{
	static const struct {
		int bit;
		enum neap_http_role role;
	} who[] = {{R, NEAP_HTTP_READER}, {E, NEAP_HTTP_EDITOR}, {A, NEAP_HTTP_ADMIN}};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(running); i++)
		for (size_t k = 0; k < NEAP_ARRAY_LEN(who); k++) {
			const struct neap_access_ask ask = {
				.role = who[k].role,
				.user = "u",
				.verb = running[i].verb,
				.group = running[i].group,
				.resource = running[i].resource,
				.sub = running[i].sub,
				.ns = "a",
				.name = "x",
				.runs_pods = true,
			};

			if (neap_kube_may(&ask, NULL) !=
			    ((running[i].who & who[k].bit) != 0))
				fail_msg("row %zu: %s %s %s as %s", i, ask.verb,
					 ask.resource, ask.sub,
					 neap_http_role_name(ask.role));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_decisions),
					   cmocka_unit_test(test_running)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
