/* SPDX-License-Identifier: Apache-2.0
 *
 * The four verbs of the extender; bodies of a real kube-scheduler lie in
 * t/cases/extender. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/extender/extender_priv.h"
#include "t/lib/extender_rig.h"

/* --- as a kube-scheduler asks --- */

static json_t *load(const char *name)
{
	char path[256];
	json_error_t error;
	json_t *json;

	(void)snprintf(path, sizeof(path), "t/cases/extender/%s.request.json", name);
	json = json_load_file(path, 0, &error);
	if (!json)
		fail_msg("%s: %s", path, error.text);
	return json;
}

static void set_uid(json_t *body, const char *uid)
{
	json_t *meta = json_object_get(json_object_get(body, "Pod"), "metadata");

	assert_int_equal(json_object_set_new(meta, "uid", json_string(uid)), 0);
}

static void test_recorded(void **state)
{
	static const struct {
		const char *file, *ask, *pod, *want[8];
	} rows[] = {
		{"filter-names",
		 FILTER,
		 "px1",
		 {"#NodeNames=2", "NodeNames.0=node-0", "NodeNames.1=node-2",
		  "FailedNodes.node-1=Insufficient cpu", "FailedAndUnresolvableNodes={}",
		  "Nodes=null", "Error="}},
		{"prioritize-names",
		 PRIORITIZE,
		 "px1",
		 {"#=1", "0.Host=node-2", "0.Score=10"}},
		{"filter-full",
		 FILTER,
		 "px2",
		 {"#Nodes.items=2", "Nodes.items.0.metadata.name=node-0",
		  "Nodes.items.1.metadata.name=node-2", "NodeNames=null",
		  "FailedNodes.node-1=Insufficient cpu"}},
		{"prioritize-full",
		 PRIORITIZE,
		 "px2",
		 {"#=1", "0.Host=node-2", "0.Score=10"}},
	};
	struct kube_rig *rig = *state;
	const char *pod = "";
	char uid[64] = "";

	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		json_t *body = load(rows[i].file);

		if (strcmp(pod, rows[i].pod) != 0)
			(void)snprintf(uid, sizeof(uid), "%s",
				       extender_pod_uid(rig, rows[i].pod, "1", false));
		pod = rows[i].pod;
		set_uid(body, uid);
		for (size_t flags = 0; flags < 2; flags++) {
			char *text =
				json_dumps(body, flags ? JSON_INDENT(2) : JSON_COMPACT);

			assert_int_equal(
				extender_ask(rig, rows[i].ask, text, strlen(text)), 200);
			extender_must_be(rig, rows[i].file, rows[i].want);
			free(text);
		}
		json_decref(body);
	}
}

static void test_forms(void **state)
{
	static const struct {
		const char *name, *ask, *body;
		int status;
		const char *want[5];
	} rows[] = {
		{"small letters",
		 FILTER,
		 "{'pod':{'METADATA':{'Name':'p','Namespace':'default','UID':'<UID>'}},"
		 "'nodenames':['node-0']}",
		 200,
		 {"NodeNames.0=node-0"}},
		{"members of later versions",
		 FILTER,
		 "{" POD ",'Nodes':null,'NodeNames':['node-2'],'New':{'a':[{}]}}",
		 200,
		 {"NodeNames.0=node-2"}},
		{"nothing to choose from",
		 FILTER,
		 "{" POD ",'NodeNames':[]}",
		 200,
		 {"#NodeNames=0", "Error="}},
		{"a node that is not there",
		 FILTER,
		 "{" POD ",'NodeNames':['node-0','gone','node-2']}",
		 200,
		 {"#NodeNames=2", "FailedNodes.gone~not known",
		  "FailedAndUnresolvableNodes.gone~not known"}},
		{"what fits between what does not",
		 FILTER,
		 "{" POD ",'NodeNames':['a','node-2' ,\t'node-1','node-0','b' ]}",
		 200,
		 {"#NodeNames=2", "NodeNames.0=node-2", "NodeNames.1=node-0",
		  "FailedNodes.b~not known"}},
		{"an escape in a name",
		 FILTER,
		 "{" POD ",'NodeNames':['node-2','node\\u002d0']}",
		 400,
		 {"Error~is no name of a node"}},
		{"... has no points",
		 PRIORITIZE,
		 "{" POD ",'NodeNames':['gone','node-2']}",
		 200,
		 {"#=1", "0.Host=node-2", "0.Score=10"}},
		{"one node",
		 PRIORITIZE,
		 "{" POD ",'NodeNames':['node-2']}",
		 200,
		 {"#=0"}},
		{"no node is asked about",
		 PRIORITIZE,
		 "{" POD ",'NodeNames':[]}",
		 200,
		 {"#=0"}},
		{"no node that is known",
		 PRIORITIZE,
		 "{" POD ",'NodeNames':['gone','lost']}",
		 200,
		 {"#=0"}},
		{"another uid",
		 FILTER,
		 "{'Pod':{'metadata':{'name':'p','namespace':'default','uid':'1'}},"
		 "'NodeNames':['node-0']}",
		 200,
		 {"Error~knows no pod default/p", "!NodeNames"}},
		{"... with points",
		 PRIORITIZE,
		 "{'Pod':{'metadata':{'name':'p','namespace':'default','uid':'1'}},"
		 "'NodeNames':['node-0']}",
		 200,
		 {"#=0"}},
		{"... with victims",
		 PREEMPT,
		 "{'Pod':{'metadata':{'name':'p','namespace':'default','uid':'1'}},"
		 "'NodeNameToMetaVictims':{'node-0':{'Pods':[]}}}",
		 200,
		 {"NodeNameToMetaVictims={}"}},
		{"twice",
		 FILTER,
		 "{" POD ",'NodeNames':['node-0','node-0']}",
		 400,
		 {"Error~node-0 is there twice"}},
		{"both ways",
		 FILTER,
		 "{" POD ",'NodeNames':[],'Nodes':{'items':[]}}",
		 400,
		 {"Error~one or the other"}},
		{"no way", FILTER, "{" POD "}", 400, {"Error~neither NodeNames nor"}},
		{"two pods",
		 FILTER,
		 "{" POD "," POD ",'NodeNames':[]}",
		 400,
		 {"Error~Pod is there twice"}},
		{"no pod",
		 FILTER,
		 "{'Pod':null,'NodeNames':[]}",
		 400,
		 {"Error~a pod with namespace"}},
		{"a wrong name",
		 FILTER,
		 "{" POD ",'NodeNames':['node-0\\u0022']}",
		 400,
		 {"Error~no name of a node"}},
		{"a number for a name",
		 FILTER,
		 "{" POD ",'NodeNames':[1]}",
		 400,
		 {"Error~a string is expected"}},
		{"a name that is not UTF-8",
		 FILTER,
		 "{" POD ", \"NodeNames\": [\"\xdem\"]}",
		 400,
		 {"Error='?m' is no name of a node"}},
		{"a list", FILTER, "[]", 400, {"Error~a JSON object is expected"}},
		{"nothing", FILTER, "", 400, {"Error~a JSON object is expected"}},
		{"null", FILTER, "null", 400, {"Error~a JSON object is expected"}},
		{"more behind it",
		 FILTER,
		 "{" POD ",'NodeNames':[]} x",
		 400,
		 {"Error~more behind"}},
		{"a comma too many",
		 FILTER,
		 "{" POD ",'NodeNames':[],}",
		 400,
		 {"Error~a string is expected"}},
		{"a node without a name",
		 FILTER,
		 "{" POD ",'Nodes':{'items':[{}]}}",
		 400,
		 {"Error~without metadata.name"}},
		{"no bind over plain HTTP",
		 "POST /extender/v1/bind",
		 "{}",
		 404,
		 {"Error~nothing at"}},
		{"nothing else", "POST /extender/v1", "{}", 404, {"Error~nothing at"}},
	};
	struct kube_rig *rig = *state;
	char uid[64];

	(void)snprintf(uid, sizeof(uid), "%s", extender_pod_uid(rig, "p", "1", false));
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		int status = extender_ask_as(rig, rows[i].ask, rows[i].body, uid);

		if (status != rows[i].status)
			fail_msg("%s: %d %s", rows[i].name, status,
				 kube_text(rig->body, "Error"));
		extender_must_be(rig, rows[i].name, rows[i].want);
	}
}

#define LONG "a-name-that-is-longer-than-a-column-of-names-is"

/* Whatever the order, and whatever was asked before: names are looked for where they were
 * the last time. */
static void test_orders(void **state)
{
	static const struct {
		const char *names;
		int status;
		const char *want[5];
	} rows[] = {
		{"'node-0','node-1','node-2','" LONG "','node-4'",
		 200,
		 {"#NodeNames=4", "NodeNames.0=node-0", "NodeNames.2=" LONG,
		  "FailedNodes.node-1=Insufficient cpu", NULL}},
		{"'node-0','node-1','node-2','" LONG "','node-4'",
		 200,
		 {"#NodeNames=4", "NodeNames.2=" LONG, "NodeNames.3=node-4", NULL}},
		{"'node-4','" LONG "','node-2','node-0'",
		 200,
		 {"#NodeNames=4", "NodeNames.0=node-4", "NodeNames.1=" LONG,
		  "NodeNames.3=node-0", NULL}},
		{"'node-0','" LONG "'", 200, {"#NodeNames=2", "NodeNames.1=" LONG, NULL}},
		{"'node-0','" LONG "-x','" LONG "'",
		 200,
		 {"#NodeNames=2", "FailedNodes." LONG "-x~not known", NULL}},
		{"'node-','node-00','node-0','node-4'",
		 200,
		 {"#NodeNames=2", "FailedNodes.node-~not known",
		  "FailedNodes.node-00~not known", NULL}},
		{"'node-0','node-4','node-0'",
		 400,
		 {"Error~node-0 is there twice", NULL}},
		{"'" LONG "','" LONG "'", 400, {"Error~is there twice", NULL}},
		{"'node-0',''", 400, {"Error~no name of a node", NULL}},
		{"'node-0','node-4','" LONG "'", 200, {"#NodeNames=3", NULL}},
	};
	struct kube_rig *rig = *state;
	char uid[64], body[1024];

	(void)snprintf(uid, sizeof(uid), "%s", extender_pod_uid(rig, "p", "1", false));
	schedule_add_node(rig, LONG, "", "", "'cpu':'4','memory':'8Gi'");
	schedule_add_node(rig, "node-4", "", "", "'cpu':'4','memory':'8Gi'");
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		int status;

		(void)snprintf(body, sizeof(body), "{" POD ",'NodeNames':[%s]}",
			       rows[i].names);
		status = extender_ask_as(rig, FILTER, body, uid);
		if (status != rows[i].status)
			fail_msg("%s: %d %s", rows[i].names, status,
				 kube_text(rig->body, "Error"));
		extender_must_be(rig, rows[i].names, rows[i].want);
	}
	/* One that goes, whose row another gets. */
	assert_int_equal(kube_ask(rig, "DELETE " SCHEDULE_NODES "/node-0", NULL), 200);
	(void)snprintf(body, sizeof(body), "{" POD ",'NodeNames':['node-0','node-4']}");
	assert_int_equal(extender_ask_as(rig, FILTER, body, uid), 200);
	extender_must_be(rig, "without it",
			 (const char *const[]){"#NodeNames=1", "NodeNames.0=node-4",
					       "FailedNodes.node-0~not known", NULL});
	schedule_add_node(rig, "other", "", "", "'cpu':'4','memory':'8Gi'");
	(void)snprintf(body, sizeof(body),
		       "{" POD ",'NodeNames':['node-0','other','node-4']}");
	assert_int_equal(extender_ask_as(rig, FILTER, body, uid), 200);
	extender_must_be(rig, "with another",
			 (const char *const[]){"#NodeNames=2", "NodeNames.0=other",
					       "FailedNodes.node-0~not known", NULL});
}

/* A reason that no pod's going would end stands in both maps, so that such a node is not
 * tried for preemption; older kube-schedulers know only the first. */
static void test_final_reasons(void **state)
{
	static const char *const names =
		"{" POD ",'NodeNames':['node-1','shut','both','node-2']}";
	static const char shut[] = "node(s) were unschedulable";
	struct kube_rig *rig = *state;
	char uid[64], want[3][128];

	(void)snprintf(uid, sizeof(uid), "%s", extender_pod_uid(rig, "p", "1", false));
	schedule_add_node(rig, "shut", "", "'unschedulable':true", "'cpu':'4'");
	schedule_add_node(rig, "both", "", "'unschedulable':true", "'cpu':'1m'");
	(void)snprintf(want[0], sizeof(want[0]), "FailedNodes.shut=%s", shut);
	(void)snprintf(want[1], sizeof(want[1]), "FailedAndUnresolvableNodes.shut=%s",
		       shut);
	(void)snprintf(want[2], sizeof(want[2]), "FailedAndUnresolvableNodes.both=%s",
		       shut);
	assert_int_equal(extender_ask_as(rig, FILTER, names, uid), 200);
	extender_must_be(rig, "filter",
			 (const char *const[]){"#NodeNames=1", want[0], want[1], want[2],
					       "FailedNodes.node-1=Insufficient cpu",
					       "!FailedAndUnresolvableNodes.node-1",
					       NULL});
}

/* kube-scheduler 1.20 takes the text for a format. */
static void test_trouble(void **state)
{
	neap_auto_buf struct neap_buf out = {0};

	(void)state;
	neap_buf_init(&out, NEAP_BUF_LINE);
	answer_trouble("100% of \"a\\b\"\n%s", &out);
	assert_string_equal(out.data, "{\"Error\":\"100%% of \\\"a\\\\b\\\" %%s\"}\n");
}

/* prioritize about what filter let pass, when something happened between: nothing of
 * before is gone by. */
static void test_between(void **state)
{
	static const char *const names = "{" POD ",'NodeNames':['node-2','node-0']}";
	struct kube_rig *rig = *state;
	char uid[64];

	(void)snprintf(uid, sizeof(uid), "%s", extender_pod_uid(rig, "p", "1", false));
	for (int i = 0; i < 5; i++) {
		assert_int_equal(extender_ask_as(rig, FILTER, names, uid), 200);
		extender_must_be(rig, "filter",
				 i < 3 ? (const char *const[]){"#NodeNames=2", NULL}
				       : (const char *const[]){"#NodeNames=1",
							       "NodeNames.0=node-2",
							       NULL});
		if (i == 1) /* node-2 is the fuller one from now on */
			schedule_add_pod(rig, "large", "", "'cpu':'6500m'", "");
		if (i == 1)
			assert_string_equal(schedule_wait_node(rig, "large"), "node-2");
		if (i == 2) /* its row is another's */
			assert_int_equal(
				kube_ask(rig, "DELETE " SCHEDULE_NODES "/node-0", NULL),
				200);
		if (i == 2)
			schedule_add_node(rig, "other", "", "",
					  "'cpu':'64','memory':'64Gi'");
		if (i == 3) /* the pod is another one */
			assert_int_equal(
				kube_ask(rig, "DELETE " SCHEDULE_PODS "/p", NULL), 200);
		if (i == 3)
			(void)snprintf(uid, sizeof(uid), "%s",
				       extender_pod_uid(rig, "p", "1", false));
		assert_int_equal(
			extender_ask_as(
				rig, PRIORITIZE,
				i < 3 ? names : "{" POD ",'NodeNames':['node-2']}", uid),
			200);
		extender_must_be(rig, "prioritize",
				 i < 3 ? (const char *const[]){i == 1 ? "0.Host=node-0"
								      : "0.Host=node-2",
							       "0.Score=10", "#=1", NULL}
				       : (const char *const[]){"#=0", NULL});
	}
}

/* 413 above the bound, and below it a large body is read. */
static void test_large(void **state)
{
	static const size_t sizes[] = {NEAP_EXTENDER_BODY_MAX - 4096,
				       NEAP_EXTENDER_BODY_MAX + 1};
	struct kube_rig *rig = *state;
	char uid[64];

	(void)snprintf(uid, sizeof(uid), "%s", extender_pod_uid(rig, "p", "1", false));
	for (size_t i = 0; i < 2; i++) {
		char *body = malloc(sizes[i]);
		int n = snprintf(
			body, 512,
			"{\"Pod\":{\"metadata\":{\"name\":\"p\",\"namespace\":"
			"\"default\",\"uid\":\"%s\"}},\"NodeNames\":[\"node-0\"]",
			uid);

		assert_non_null(body);
		memset(body + n, ' ', sizes[i] - (size_t)n);
		body[sizes[i] - 1] = '}';
		assert_int_equal(extender_ask(rig, FILTER, body, sizes[i]),
				 i ? 413 : 200);
		free(body);
	}
}

/* --- making room --- */

static void test_bind(void **state)
{
	static const struct {
		const char *name, *pod, *uid, *node, *trouble;
	} rows[] = {
		{"no such pod", "q", NULL, "node-0", "there is no pod default/q"},
		{"another uid", "p", "1", "node-0", "there is no pod default/p"},
		{"no such node", "p", NULL, "gone", "there is no node gone"},
		{"bound", "p", NULL, "node-0", ""},
		{"once more", "p", NULL, "node-0", ""},
		{"elsewhere", "p", NULL, "node-2", "is on node node-0"},
	};
	struct kube_rig *rig = *state;
	char uid[64];

	(void)snprintf(uid, sizeof(uid), "%s", extender_pod_uid(rig, "p", "1", false));
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		const char *trouble = extender_bind_to(
			rig, rows[i].pod, rows[i].uid ? rows[i].uid : uid, rows[i].node);

		if (*rows[i].trouble ? !strstr(trouble, rows[i].trouble) : *trouble)
			fail_msg("%s: '%s'", rows[i].name, trouble);
		kube_run(rig, 5);
	}
	assert_int_equal(kube_ask(rig, "GET " SCHEDULE_PODS "/p", NULL), 200);
	assert_string_equal(kube_text(rig->body, "spec.nodeName"), "node-0");
	/* It counts there, and is judged no more. */
	assert_int_equal(
		extender_ask_as(rig, FILTER, "{" POD ",'NodeNames':['node-0']}", uid),
		200);
	extender_must_be(rig, "of a bound one",
			 (const char *const[]){"Error~is on node node-0 already", NULL});
	assert_int_equal(extender_ask_as(rig, PRIORITIZE,
					 "{" POD ",'NodeNames':['node-0','gone']}", uid),
			 200);
	extender_must_be(rig, "points of a bound one",
			 (const char *const[]){"#=0", NULL});
	assert_int_equal(
		extender_ask_as(
			rig, PREEMPT,
			"{" POD ",'NodeNameToMetaVictims':{'node-0':{'Pods':[]}}}", uid),
		200);
	extender_must_be(rig, "room for a bound one",
			 (const char *const[]){"NodeNameToMetaVictims={}", NULL});
}

static void test_preempt(void **state)
{
	struct kube_rig *rig = *state;
	char low[64], high[64], body[1024];
	static const char *const named =
		"{'Pod':{'metadata':{'name':'p','namespace':'default','uid':'%s'}},"
		"'NodeNameToMetaVictims':{'node-0':{'Pods':[{'UID':'%s'}],"
		"'NumPDBViolations':1},'node-1':{'Pods':[]},'node-2':{'Pods':[{'UID':"
		"'%s'}]},'gone':{'Pods':[]}}}";
	static const char *const whole =
		"{'Pod':{'metadata':{'name':'p','namespace':'default','uid':'%s'}},"
		"'NodeNameToMetaVictims':null,'NodeNameToVictims':{'node-0':{'Pods':[{"
		"'metadata':{'uid':'%s','name':'low'},'spec':{}}],'NumPDBViolations':1},"
		"'node-1':null,'node-2':{'Pods':[{'metadata':{'uid':'%s'}}]}}}";

	assert_int_equal(kube_ask(rig, "POST /apis/scheduling.k8s.io/v1/priorityclasses",
				  "{'metadata':{'name':'high'},'value':1000}"),
			 201);
	(void)snprintf(low, sizeof(low), "%s", extender_pod_uid(rig, "low", "3", false));
	assert_string_equal(extender_bind_to(rig, "low", low, "node-0"), "");
	(void)snprintf(high, sizeof(high), "%s", extender_pod_uid(rig, "p", "3", true));
	for (int i = 0; i < 2; i++) {
		/* node-1 is too small in any case; the victim is not on node-2. */
		(void)snprintf(body, sizeof(body), i ? whole : named, high, low, low);
		assert_int_equal(extender_ask_as(rig, PREEMPT, body, ""), 200);
		extender_must_be(
			rig, i ? "whole" : "by name",
			(const char *const[]){
				"NodeNameToMetaVictims.node-0.NumPDBViolations=1",
				"#NodeNameToMetaVictims.node-0.Pods=1",
				"!NodeNameToMetaVictims.node-1",
				"!NodeNameToMetaVictims.node-2",
				"!NodeNameToMetaVictims.gone", NULL});
		assert_string_equal(
			kube_text(rig->body, "NodeNameToMetaVictims.node-0.Pods.0.UID"),
			low);
	}
	/* Nobody is gone. */
	assert_int_equal(kube_ask(rig, "GET " SCHEDULE_PODS "/low", NULL), 200);
	assert_int_equal(
		extender_ask_as(rig, FILTER, "{" POD ",'NodeNames':['node-0']}", high),
		200);
	extender_must_be(
		rig, "after it",
		(const char *const[]){"FailedNodes.node-0=Insufficient cpu", NULL});
}

#define TEST(name)                                                                       \
	cmocka_unit_test_setup_teardown(test_##name, extender_setup, extender_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(recorded), TEST(forms),         TEST(orders),
		TEST(between),  TEST(final_reasons), cmocka_unit_test(test_trouble),
		TEST(large),    TEST(bind),          TEST(preempt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
