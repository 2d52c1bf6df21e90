/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests whose time is over: what is answered, and that nothing is left behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "engine/base/mem.h"
#include "t/lib/extender_rig.h"
#include "t/lib/place_rig.h"

/* When time is over at once, and when there is some. */
static void test_late(void **state)
{
	static const char *const names =
		"{" POD ",'NodeNames':['node-0','node-1','node-2']}";
	static const char *const candidates =
		"{" POD
		",'NodeNameToMetaVictims':{'node-1':{'Pods':[]},'node-2':{'Pods':[]}}}";
	static const struct {
		const char *ask;
		const char *late[5], *timely[5];
	} rows[] = {
		{FILTER,
		 {"Error~no time: 0 of 3 nodes", "!NodeNames"},
		 {"Error=", "#NodeNames=2"}},
		{PRIORITIZE,
		 {"#=0"},
		 {"#=2", "0.Host=node-0", "1.Host=node-2", "1.Score=10"}},
		/* node-1 is too small, which nobody looked at. */
		{PREEMPT,
		 {"#NodeNameToMetaVictims.node-1.Pods=0",
		  "#NodeNameToMetaVictims.node-2.Pods=0"},
		 {"!NodeNameToMetaVictims.node-1",
		  "#NodeNameToMetaVictims.node-2.Pods=0"}},
	};
	struct kube_rig *rig = *state;
	char uid[64];

	(void)snprintf(uid, sizeof(uid), "%s", extender_pod_uid(rig, "p", "1", false));
	for (int is_late = 1; is_late >= 0; is_late--)
		for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
			extender_step_usec = is_late ? DEADLINE_USEC : 0;
			assert_int_equal(extender_ask_as(rig, rows[i].ask,
							 i < 2 ? names : candidates, uid),
					 200);
			extender_must_be(rig, rows[i].ask,
					 is_late ? rows[i].late : rows[i].timely);
		}
	/* The scheduler's own loop is in no hurry afterwards. */
	extender_step_usec = DEADLINE_USEC;
	schedule_add_pod(rig, "own", "", "'cpu':'1'", "");
	assert_non_null(schedule_wait_node(rig, "own"));
	extender_step_usec = 0;
}

#define NODES 300

/* A filter about n0, n1, ..., whole or by name. */
static char *ask_about_many(const char *uid, bool is_whole)
{
	neap_auto_buf struct neap_buf out = {0};

	neap_buf_init(&out, NEAP_BUF_REPLY);
	neap_buf_addf(&out,
		      "{\"Pod\":{\"metadata\":{\"name\":\"p\",\"namespace\":\"default\","
		      "\"uid\":\"%s\"}},\"%s",
		      uid, is_whole ? "Nodes\":{\"items\":[" : "NodeNames\":[");
	for (int i = 0; i < NODES; i++)
		neap_buf_addf(&out,
			      is_whole ? "%s{\"metadata\":{\"name\":\"n%d\"}}"
				       : "%s\"n%d\"",
			      i ? "," : "", i);
	neap_buf_adds(&out, is_whole ? "]}}" : "]}");
	return neap_buf_take(&out);
}

/* Time is over when 256 nodes were looked at: those that fit are answered. */
static void test_some_nodes(void **state)
{
	static const char *const wants[][8] = {
		{"Error=", "#NodeNames=128", "NodeNames.127=n255",
		 "FailedNodes.n0=Insufficient cpu",
		 "FailedNodes.n256=node(s) were not looked at in time",
		 "FailedNodes.n299=node(s) were not looked at in time",
		 "FailedAndUnresolvableNodes={}", NULL},
		{"Error=", "#Nodes.items=128", "Nodes.items.127.metadata.name=n255",
		 "FailedNodes.n254=Insufficient cpu",
		 "FailedNodes.n257=node(s) were not looked at in time",
		 "FailedAndUnresolvableNodes={}", NULL}};
	struct kube_rig *rig = *state;
	char uid[64], name[16];

	for (int i = 0; i < NODES; i++) {
		(void)snprintf(name, sizeof(name), "n%d", i);
		schedule_add_node(rig, name, "", "",
				  i % 2 ? "'cpu':'4','memory':'8Gi'" : "'cpu':'1m'");
	}
	(void)snprintf(uid, sizeof(uid), "%s", extender_pod_uid(rig, "p", "1", false));
	extender_step_usec = DEADLINE_USEC / 2;
	for (int is_whole = 0; is_whole < 2; is_whole++) {
		char *body = ask_about_many(uid, is_whole);

		assert_int_equal(extender_ask(rig, FILTER, body, strlen(body)), 200);
		extender_must_be(rig, is_whole ? "whole" : "names", wants[is_whole]);
		free(body);
	}
	extender_step_usec = 0;
}

static bool is_second(void *arg)
{
	return ++*(int *)arg > 1;
}

/* A policy has its word on the nodes that were looked at; where it refuses them all
 * nothing is known that helps. */
static void test_some_refused(void **state)
{
	struct place_rig *rig = place_new();
	const struct neap_refusal *refusals;
	struct neap_verdict verdict;
	struct neap_error err;
	uint32_t rows[NODES];
	struct neap_pod *pod;
	size_t count;
	int looks = 0;

	(void)state;
	for (uint32_t i = 0; i < NODES; i++) {
		char name[16];

		rows[i] = i;
		(void)snprintf(name, sizeof(name), "n%d", (int)i);
		/* A few, so that slow machines ask the policies in their time, too. */
		(void)cluster_set_node(rig->cluster, name, "", "{}",
				       i % 32 == 7 ? "'cpu':'10','pods':'110'"
						   : "'cpu':'0','pods':'110'");
	}
	pod = cluster_pod(neap_cluster_resources(rig->cluster), "p", "",
			  "{'containers':[{'resources':{'requests':{'cpu':'1'}}}]}",
			  "{}");
	neap_decide_set_hurry(rig->decide, is_second, &looks);
	place_put(rig, "filter", "one", 0,
		  "needs = {'node.name'}, allow = function(ctx, pod, node) "
		  "return node.name == 'n7' end");
	assert_int_equal(neap_decide_rows(rig->decide, pod, rows, NODES, &verdict, &err),
			 0);
	assert_int_equal(verdict.count, 1);
	assert_int_equal(verdict.rows[0], 7);
	refusals = neap_decide_refusals(rig->decide, &count);
	assert_int_equal(count, NODES - 1);
	for (uint32_t i = 0; i < NODES - 1; i++)
		assert_int_equal(refusals[i].row, i < 7 ? i : i + 1);
	place_put(rig, "filter", "none", 1,
		  "needs = {'node.name'}, allow = function(ctx, pod, node) "
		  "return false end");
	looks = 0;
	assert_int_equal(neap_decide_rows(rig->decide, pod, rows, NODES, &verdict, &err),
			 -NEAP_EUNAVAILABLE);
	assert_string_equal(err.msg, "no time: 256 of 300 nodes were looked at");
	neap_decide_set_hurry(rig->decide, NULL, NULL);
	(void)neap_pod_unref(pod);
	place_free(rig);
}

/* One score after the other is asked, so that some are known when time is over. */
static void test_some_scores(void **state)
{
	static const char *const names = "{" POD ",'NodeNames':['node-0','node-2']}";
	struct kube_rig *rig = *state;
	int with_scores = 0;
	char uid[64];

	(void)snprintf(uid, sizeof(uid), "%s", extender_pod_uid(rig, "p", "1", false));
	for (int looks = 1; looks < 24; looks++) {
		extender_step_usec = DEADLINE_USEC / looks;
		assert_int_equal(extender_ask_as(rig, PRIORITIZE, names, uid), 200);
		if (!kube_differs(rig->body, "#=0"))
			continue;
		with_scores++;
		extender_must_be(rig, "names",
				 (const char *const[]){"#=1", "0.Host=node-2",
						       "0.Score=10", NULL});
	}
	/* node-2 has more room, which the third score knows. */
	assert_in_range(with_scores, 12, 22);
	extender_step_usec = 0;
}

/* The answer comes without the store's, and the binding after it. */
static void test_late_binding(void **state)
{
	struct kube_rig *rig = *state;
	char uid[64];

	(void)snprintf(uid, sizeof(uid), "%s", extender_pod_uid(rig, "p", "1", false));
	(void)event_del(rig->heard);
	assert_int_equal(extender_bind(rig, uid, "node-0"), 200);
	extender_must_be(rig, "late",
			 (const char *const[]){
				 "Error~no time: the binding is not on disk yet", NULL});
	/* Once more is for the same answer. */
	assert_int_equal(extender_bind(rig, uid, "node-0"), 200);
	extender_must_be(rig, "once more",
			 (const char *const[]){"Error~no time: ", NULL});
	assert_int_equal(extender_bind(rig, uid, "node-2"), 200);
	extender_must_be(
		rig, "elsewhere",
		(const char *const[]){"Error~is being bound to node node-0", NULL});
	assert_int_equal(event_add(rig->heard, NULL), 0);
	for (int i = 0; i < 4000; i++) {
		assert_int_equal(extender_bind(rig, uid, "node-0"), 200);
		if (!kube_differs(rig->body, "Error="))
			break;
		/* On a slow machine. */
		extender_must_be(rig, "again",
				 (const char *const[]){"Error~no time: ", NULL});
	}
	assert_int_equal(kube_ask(rig, "GET " SCHEDULE_PODS "/p", NULL), 200);
	assert_string_equal(kube_text(rig->body, "spec.nodeName"), "node-0");
}

/* Who asks for the binding that is on its way is answered with it, up to eight at a
 * time. */
static void test_asked_again(void **state)
{
	struct kube_rig *rig = *state;
	char uid[64];
	int asks[8];

	(void)snprintf(uid, sizeof(uid), "%s", extender_pod_uid(rig, "p", "1", false));
	(void)event_del(rig->heard);
	for (int i = 0; i < 8; i++) {
		asks[i] = extender_bind_start(rig, uid, "node-0");
		kube_run(rig, 20);
	}
	for (int i = 0; i < 2; i++) {
		assert_int_equal(extender_bind(rig, uid, i ? "node-2" : "node-0"), 200);
		extender_must_be(rig, i ? "elsewhere" : "one too many",
				 (const char *const[]){
					 "Error~is being bound to node node-0", NULL});
	}
	/* Two go, the first one among them, and make room. */
	for (int i = 0; i < 2; i++) {
		(void)close(asks[3 * i]);
		kube_run(rig, 50);
		asks[3 * i] = extender_bind_start(rig, uid, "node-0");
		kube_run(rig, 20);
	}
	assert_int_equal(event_add(rig->heard, NULL), 0);
	for (int i = 0; i < 8; i++) {
		assert_int_equal(extender_bind_end(rig, asks[i]), 200);
		extender_must_be(rig, "bound", (const char *const[]){"Error=", NULL});
	}
	assert_int_equal(kube_ask(rig, "GET " SCHEDULE_PODS "/p", NULL), 200);
	assert_string_equal(kube_text(rig->body, "spec.nodeName"), "node-0");
}

/* The extender goes while they wait. */
static void test_asked_at_the_end(void **state)
{
	struct kube_rig *rig = *state;
	char uid[64];
	int asks[2];

	(void)snprintf(uid, sizeof(uid), "%s", extender_pod_uid(rig, "p", "1", false));
	(void)event_del(rig->heard);
	for (int i = 0; i < 2; i++) {
		asks[i] = extender_bind_start(rig, uid, "node-0");
		kube_run(rig, 20);
	}
	for (int i = 0; i < 2; i++)
		(void)close(asks[i]);
}

/* An editor binds, but where pods run; who has no name does not. */
static void test_who_binds(void **state)
{
	static const char body[] =
		"{\"PodName\":\"p\",\"PodNamespace\":\"default\",\"PodUID\":\"u\","
		"\"Node\":\"node-0\"}";
	static const struct {
		const char *token;
		int open, closed;
	} who[] = {{"", 401, 401},
		   {"rose-token-of-16", 403, 403},
		   {"node-token-of-16", 403, 403},
		   {"eddy-token-of-16", 200, 403},
		   {"secret", 200, 200}};

	for (int is_closed = 0; is_closed < 2; is_closed++) {
		assert_int_equal(is_closed ? extender_setup_closed(state)
					   : extender_setup_binder(state),
				 0);
		for (size_t i = 0; i < NEAP_ARRAY_LEN(who); i++)
			assert_int_equal(extender_ask_who(*state, who[i].token, BIND,
							  body, strlen(body)),
					 is_closed ? who[i].closed : who[i].open);
		assert_int_equal(extender_teardown(state), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_late, extender_setup,
						extender_teardown),
		cmocka_unit_test_setup_teardown(test_some_nodes, extender_setup,
						extender_teardown),
		cmocka_unit_test(test_some_refused),
		cmocka_unit_test(test_who_binds),
		cmocka_unit_test_setup_teardown(test_some_scores, extender_setup,
						extender_teardown),
		cmocka_unit_test_setup_teardown(test_asked_again, extender_setup_patient,
						extender_teardown),
		cmocka_unit_test_setup_teardown(
			test_asked_at_the_end, extender_setup_patient, extender_teardown),
		cmocka_unit_test_setup_teardown(test_late_binding, extender_setup_binder,
						extender_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
