/* SPDX-License-Identifier: Apache-2.0
 *
 * Reservations for the pods of another scheduler, which asks neap as its extender: what
 * is kept counts for those that it is for, and is not there for anybody else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/cluster/kept.h"
#include "t/lib/extender_rig.h"

#define TEST(name)                                                                       \
	cmocka_unit_test_setup_teardown(test_##name, extender_setup, extender_teardown)

/* For pods with the label app=NAME, on that node; more: further members of its spec.
 * *ret: its uid. */
static void reserve(struct kube_rig *rig, const char *name, const char *node,
		    const char *requests, const char *more, char ret[64])
{
	char spec[128];

	(void)snprintf(spec, sizeof(spec), "'nodeName':'%s'", node);
	schedule_add_reservation(rig, name, "", requests, spec, more);
	schedule_wait_phase(rig, name, "Available", node);
	(void)snprintf(ret, 64, "%s", kube_text(rig->body, "metadata.uid"));
}

/* Of the scheduler "default-scheduler", with the label app=APP; more: further metadata.
 * *ret: its uid. */
static void add_pod(struct kube_rig *rig, const char *name, const char *app,
		    const char *cpu, const char *more, const char *spec, char ret[64])
{
	char body[1024];

	(void)snprintf(body, sizeof(body),
		       "{'metadata':{'name':'%s','labels':{'app':'%s'}%s%s},'spec':{"
		       "'schedulerName':'default-scheduler'%s%s,'containers':[{'name':"
		       "'c','image':'i','resources':{'requests':{'cpu':'%s'}}}]}}",
		       name, app, *more ? "," : "", more, *spec ? "," : "", spec, cpu);
	if (kube_ask(rig, "POST " SCHEDULE_PODS, body) != 201)
		fail_msg("%s: %s", name, kube_text(rig->body, "message"));
	(void)snprintf(ret, 64, "%s", kube_text(rig->body, "metadata.uid"));
}

static void ask_nodes(struct kube_rig *rig, const char *what, const char *name,
		      const char *uid, const char *const *want)
{
	char body[512];

	(void)snprintf(body, sizeof(body),
		       "{'Pod':{'metadata':{'name':'%s','namespace':'default','uid':"
		       "'<UID>'}},'NodeNames':['node-0','node-1','node-2']}",
		       name);
	assert_int_equal(extender_ask_as(rig, what, body, uid), 200);
	extender_must_be(rig, name, want);
}

/* What the pod says that it uses; "": nothing. */
static const char *used_by(struct kube_rig *rig, const char *pod)
{
	char ask[128];
	const char *text;

	(void)snprintf(ask, sizeof(ask), "GET " SCHEDULE_PODS "/%s", pod);
	assert_int_equal(kube_ask(rig, ask, NULL), 200);
	text = json_string_value(json_object_get(
		json_object_get(json_object_get(rig->body, "metadata"), "annotations"),
		NEAP_KEY_RESERVATION_ALLOCATED));
	return text ? text : "";
}

/* node-0 has 4 CPUs, of which 3 are kept, and node-2 has 8. */
static void test_kept(void **state)
{
	struct kube_rig *rig = *state;
	char room[64], other[64], owner[64], late[64], want[160];

	reserve(rig, "web", "node-0", "'cpu':'3'", "'allocateOnce':false", room);
	add_pod(rig, "other", "none", "2", "", "", other);
	ask_nodes(rig, FILTER, "other", other,
		  (const char *const[]){"#NodeNames=1", "NodeNames.0=node-2",
					"FailedNodes.node-0=Insufficient cpu",
					"FailedNodes.node-1=Insufficient cpu",
					"FailedAndUnresolvableNodes={}", NULL});
	add_pod(rig, "web-0", "web", "2", "", "", owner);
	ask_nodes(rig, FILTER, "web-0", owner,
		  (const char *const[]){"#NodeNames=2", "NodeNames.0=node-0",
					"NodeNames.1=node-2", NULL});
	/* The emptier one would have more points otherwise. */
	ask_nodes(rig, PRIORITIZE, "web-0", owner,
		  (const char *const[]){"0.Host=node-0", "0.Score=10", "!2", NULL});
	assert_string_equal(extender_bind_to(rig, "web-0", owner, "node-0"), "");
	(void)snprintf(want, sizeof(want), "{\"name\":\"web\",\"uid\":\"%s\"}", room);
	assert_string_equal(used_by(rig, "web-0"), want);
	/* One CPU is left of it and one of the node. */
	add_pod(rig, "web-1", "web", "2", "", "", late);
	ask_nodes(rig, FILTER, "web-1", late,
		  (const char *const[]){"#NodeNames=2", "NodeNames.0=node-0", NULL});
	assert_string_equal(extender_bind_to(rig, "web-1", late, "node-2"), "");
	assert_string_equal(used_by(rig, "web-1"), "");
}

/* A request that there was no time for leaves what is kept in its place. */
static void test_late(void **state)
{
	struct kube_rig *rig = *state;
	char room[64], other[64], owner[64];

	reserve(rig, "web", "node-0", "'cpu':'3'", "'allocateOnce':false", room);
	add_pod(rig, "other", "none", "2", "", "", other);
	add_pod(rig, "web-0", "web", "2", "", "", owner);
	extender_step_usec = DEADLINE_USEC;
	ask_nodes(rig, FILTER, "web-0", owner,
		  (const char *const[]){"Error~no time: 0 of 3 nodes", NULL});
	extender_step_usec = 0;
	ask_nodes(rig, FILTER, "other", other,
		  (const char *const[]){"#NodeNames=1", "NodeNames.0=node-2", NULL});
	ask_nodes(rig, FILTER, "web-0", owner,
		  (const char *const[]){"#NodeNames=2", "NodeNames.0=node-0", NULL});
}

/* What is kept by the time of the binding is as good as taken. */
static void test_kept_since(void **state)
{
	struct kube_rig *rig = *state;
	char room[64], other[64], owner[64];

	add_pod(rig, "other", "none", "2", "", "", other);
	ask_nodes(rig, FILTER, "other", other,
		  (const char *const[]){"#NodeNames=2", "NodeNames.0=node-0", NULL});
	reserve(rig, "web", "node-0", "'cpu':'3'", "'allocatePolicy':'Restricted'", room);
	assert_non_null(strstr(extender_bind_to(rig, "other", other, "node-0"),
			       "beside what is kept"));
	assert_string_equal(extender_bind_to(rig, "other", other, "node-2"), "");
	add_pod(rig, "small", "none", "1", "", "", other);
	assert_string_equal(extender_bind_to(rig, "small", other, "node-0"), "");
	add_pod(rig, "web-0", "web", "2", "", "", owner);
	assert_string_equal(extender_bind_to(rig, "web-0", owner, "node-0"), "");
	assert_non_null(strstr(used_by(rig, "web-0"), "web"));
}

/* One that must use a reservation goes nowhere else, and is told why where it cannot. */
static void test_required(void **state)
{
	static const char *const affinity =
		"'annotations':{'scheduling.koordinator.sh/reservation-affinity':'{}'}";
	struct kube_rig *rig = *state;
	char room[64], pod[64], want[160];

	add_pod(rig, "web-0", "web", "1", affinity, "", pod);
	ask_nodes(rig, FILTER, "web-0", pod,
		  (const char *const[]){"#NodeNames=0",
					"FailedNodes.node-2=node(s) no reservations "
					"match reservation affinity",
					"FailedAndUnresolvableNodes.node-2=node(s) no "
					"reservations match reservation affinity",
					NULL});
	reserve(rig, "web", "node-0", "'cpu':'1'", "'allocatePolicy':'Restricted'", room);
	ask_nodes(rig, FILTER, "web-0", pod,
		  (const char *const[]){"#NodeNames=1", "NodeNames.0=node-0", NULL});
	assert_non_null(strstr(extender_bind_to(rig, "web-0", pod, "node-2"),
			       "no reservation(s) to meet the requirements"));
	assert_string_equal(extender_bind_to(rig, "web-0", pod, "node-0"), "");
	(void)snprintf(want, sizeof(want), "{\"name\":\"web\",\"uid\":\"%s\"}", room);
	assert_string_equal(used_by(rig, "web-0"), want);
}

/* Who goes must be a pod, and one that may go; what is kept for others stays theirs. */
static void test_preempt(void **state)
{
	struct kube_rig *rig = *state;
	char room[64], low[64], safe[64], high[64], owner[64], body[1024];
	static const char *const ask =
		"{'Pod':{'metadata':{'name':'%s','namespace':'default','uid':'%s'}},"
		"'NodeNameToMetaVictims':{'node-0':{'Pods':[{'UID':'%s'}]}}}";

	assert_int_equal(kube_ask(rig, "POST /apis/scheduling.k8s.io/v1/priorityclasses",
				  "{'metadata':{'name':'high'},'value':1000}"),
			 201);
	reserve(rig, "web", "node-0", "'cpu':'2'", "", room);
	add_pod(rig, "low", "none", "1", "", "", low);
	assert_string_equal(extender_bind_to(rig, "low", low, "node-0"), "");
	add_pod(rig, "safe", "none", "1", "", "", safe);
	assert_int_equal(kube_ask(rig, "MERGE " SCHEDULE_PODS "/safe",
				  "{'metadata':{'labels':{'scheduling.koordinator.sh/"
				  "disable-preemptible':'true'}}}"),
			 200);
	assert_string_equal(extender_bind_to(rig, "safe", safe, "node-0"), "");
	add_pod(rig, "high", "none", "3", "", "'priorityClassName':'high'", high);
	add_pod(rig, "web-0", "web", "3", "", "'priorityClassName':'high'", owner);
	for (int i = 0; i < 5; i++) {
		const struct {
			const char *name, *uid, *victim, *want;
		} rows[] = {
			{"high", high, room, "!NodeNameToMetaVictims.node-0"},
			{"high", high, low, "!NodeNameToMetaVictims.node-0"},
			{"web-0", owner, room, "!NodeNameToMetaVictims.node-0"},
			{"web-0", owner, safe, "!NodeNameToMetaVictims.node-0"},
			{"web-0", owner, low, "#NodeNameToMetaVictims.node-0.Pods=1"},
		};

		(void)snprintf(body, sizeof(body), ask, rows[i].name, rows[i].uid,
			       rows[i].victim);
		assert_int_equal(extender_ask_as(rig, PREEMPT, body, ""), 200);
		extender_must_be(rig, rows[i].name,
				 (const char *const[]){rows[i].want, NULL});
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(kept), TEST(late), TEST(kept_since), TEST(required), TEST(preempt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
