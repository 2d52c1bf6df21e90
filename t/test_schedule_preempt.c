/* SPDX-License-Identifier: Apache-2.0
 *
 * Room is made for a pod of higher priority: its victims are deleted with their grace, and what they leave is its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "t/lib/schedule_rig.h"

#define TEST(name)                                                                       \
	cmocka_unit_test_setup_teardown(test_##name, schedule_setup, schedule_teardown)

#define PODS   SCHEDULE_PODS
#define EVENTS "GET /api/v1/namespaces/default/events?fieldSelector=involvedObject.name="

static void add_class(struct kube_rig *rig, const char *body)
{
	assert_int_equal(
		kube_ask(rig, "POST /apis/scheduling.k8s.io/v1/priorityclasses", body),
		201);
}

static void add_classes(struct kube_rig *rig)
{
	add_class(rig, "{'metadata':{'name':'high'},'value':1000}");
	add_class(rig, "{'metadata':{'name':'middle'},'value':100}");
}

static void until(struct kube_rig *rig, const char *ask, const char *a, const char *b,
		  const char *c)
{
	struct kube_step step = {ask, NULL, 200, {a, b, c}};

	kube_until(rig, &step);
}

static void test_makes_room(void **state)
{
	struct kube_rig *rig = *state;

	add_classes(rig);
	schedule_add_node(rig, "a", "", "", "'cpu':'4'");
	schedule_add_pod(rig, "low", "", "'cpu':'2'", "");
	schedule_add_pod(rig, "keep", "", "'cpu':'2'", "'priorityClassName':'middle'");
	assert_string_equal(schedule_wait_node(rig, "low"), "a");
	assert_string_equal(schedule_wait_node(rig, "keep"), "a");
	schedule_add_pod(rig, "high", "", "'cpu':'2'", "'priorityClassName':'high'");
	until(rig, "GET " PODS "/high", "status.nominatedNodeName=a",
	      "status.conditions.0.message=0/1 nodes are available: 1 Insufficient cpu.",
	      NULL);
	until(rig, "GET " PODS "/low", "metadata.deletionGracePeriodSeconds=30",
	      "status.conditions.1.type=DisruptionTarget",
	      "status.conditions.1.reason=PreemptionByScheduler");
	until(rig, EVENTS "low,reason=Preempted", "#items=1", "items.0.type=Normal",
	      "items.0.message~ on node a");
	/* Somebody else does not get in between. */
	schedule_add_pod(rig, "sneaks", "", "'cpu':'2'", "'priorityClassName':'middle'");
	until(rig, "GET " PODS "/sneaks", "status.conditions.0.status=False", NULL, NULL);
	assert_int_equal(kube_ask(rig, "DELETE " PODS "/low?gracePeriodSeconds=0", NULL),
			 200);
	assert_string_equal(schedule_wait_node(rig, "high"), "a");
	assert_int_equal(kube_ask(rig, "GET " PODS "/keep", NULL), 200);
	assert_null(kube_differs(rig->body, "!metadata.deletionTimestamp"));
	assert_int_equal(kube_ask(rig, "GET " PODS "/sneaks", NULL), 200);
	assert_null(kube_differs(rig->body, "!spec.nodeName"));
}

/* A budget that allows nothing is kept as long as somebody else can go, be it a more important one. */
static void test_budget(void **state)
{
	struct kube_rig *rig = *state;

	add_classes(rig);
	assert_int_equal(
		kube_ask(rig,
			 "POST /apis/policy/v1/namespaces/default/poddisruptionbudgets",
			 "{'metadata':{'name':'x'},'spec':{'minAvailable':1,'selector':{"
			 "'matchLabels':{'app':'x'}}}}"),
		201);
	schedule_add_node(rig, "a", "", "", "'cpu':'2'");
	schedule_add_pod(rig, "low", "'app':'x'", "'cpu':'2'", "");
	assert_string_equal(schedule_wait_node(rig, "low"), "a");
	schedule_add_node(rig, "b", "", "", "'cpu':'2'");
	schedule_add_pod(rig, "more", "", "'cpu':'2'", "'priorityClassName':'middle'");
	assert_string_equal(schedule_wait_node(rig, "more"), "b");
	schedule_add_pod(rig, "high", "", "'cpu':'2'", "'priorityClassName':'high'");
	until(rig, "GET " PODS "/high", "status.nominatedNodeName=b", NULL, NULL);
	until(rig, "GET " PODS "/more", "metadata.deletionGracePeriodSeconds=30", NULL,
	      NULL);
	assert_int_equal(kube_ask(rig, "GET " PODS "/low", NULL), 200);
	assert_null(kube_differs(rig->body, "!metadata.deletionTimestamp"));
}

/* A pod that may not take room from others says so, and takes none. */
static void test_never(void **state)
{
	struct kube_rig *rig = *state;

	add_class(rig, "{'metadata':{'name':'polite'},'value':1000,'preemptionPolicy':"
		       "'Never'}");
	schedule_add_node(rig, "a", "", "", "'cpu':'4'");
	schedule_add_pod(rig, "low", "", "'cpu':'4'", "");
	assert_string_equal(schedule_wait_node(rig, "low"), "a");
	schedule_add_pod(rig, "high", "", "'cpu':'2'", "'priorityClassName':'polite'");
	schedule_wait_message(
		rig, "high",
		"0/1 nodes are available: 1 Insufficient cpu. preemption: not "
		"eligible due to preemptionPolicy=Never.");
	assert_int_equal(kube_ask(rig, "GET " PODS "/low", NULL), 200);
	assert_null(kube_differs(rig->body, "!metadata.deletionTimestamp"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(makes_room),
		TEST(budget),
		TEST(never),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
