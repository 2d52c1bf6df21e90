/* SPDX-License-Identifier: Apache-2.0
 *
 * Room that is made for a pod is kept for it until it has a place; and then it is
 * everybody's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "t/lib/schedule_rig.h"

#define TEST(name)                                                                       \
	cmocka_unit_test_setup_teardown(test_##name, schedule_setup, schedule_teardown)

#define PODS SCHEDULE_PODS

static void must(struct kube_rig *rig, const char *ask, const char *body)
{
	int status = kube_ask(rig, ask, body);

	if (status != 200 && status != 201)
		fail_msg("%s: %d %s", ask, status, kube_text(rig->body, "message"));
}

static void add_class(struct kube_rig *rig)
{
	must(rig, "POST /apis/scheduling.k8s.io/v1/priorityclasses",
	     "{'metadata':{'name':'high'},'value':1000}");
}

#define FOREIGN                                                                          \
	"{'metadata':{'name':'nominee'},'spec':{'schedulerName':'default-scheduler',"    \
	"'priorityClassName':'high','containers':[{'name':'c','image':'i','resources':{" \
	"'requests':{'cpu':'4'}}}]}}"

/* Room on a is kept for another scheduler's pod; how that ends. b takes no pods. */
static const struct {
	const char *ask, *body;
} ends[] = {
	{"DELETE " PODS "/nominee?gracePeriodSeconds=0", NULL},
	{"POST " PODS "/nominee/binding",
	 "{'metadata':{'name':'nominee'},'target':{'kind':'Node','name':'b'}}"},
	{"MERGE " PODS "/nominee/status", "{'status':{'nominatedNodeName':null}}"},
	{"MERGE " PODS "/nominee/status", "{'status':{'nominatedNodeName':'b'}}"},
	{"MERGE " PODS "/nominee/status", "{'status':{'phase':'Failed'}}"},
};

/* Long before all that wait are tried again in any case. */
static void comes_to(struct kube_rig *rig, const char *name, const char *node)
{
	char ask[128], want[64];

	(void)snprintf(ask, sizeof(ask), "GET " PODS "/%s", name);
	(void)snprintf(want, sizeof(want), "spec.nodeName=%s", node);
	schedule_until(rig, ask, want, NULL, NULL);
}

static void is_refused(struct kube_rig *rig, const char *name)
{
	char ask[128];

	(void)snprintf(ask, sizeof(ask), "GET " PODS "/%s", name);
	schedule_until(rig, ask, "status.conditions.0.status=False", NULL, NULL);
}

static void test_room_of_others(void **state)
{
	struct kube_rig *rig = *state;

	add_class(rig);
	schedule_add_node(rig, "a", "", "", "'cpu':'4'");
	schedule_add_node(rig, "b", "", "'unschedulable':true", "'cpu':'4'");
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		must(rig, "POST " PODS, FOREIGN);
		must(rig, "MERGE " PODS "/nominee/status",
		     "{'status':{'nominatedNodeName':'a'}}");
		schedule_add_pod(rig, "small", "", "'cpu':'1'", "");
		is_refused(rig, "small");
		must(rig, ends[i].ask, ends[i].body);
		comes_to(rig, "small", "a");
		must(rig, "DELETE " PODS "/small?gracePeriodSeconds=0", NULL);
		if (i)
			must(rig, "DELETE " PODS "/nominee?gracePeriodSeconds=0", NULL);
	}
}

#define ON_A         "'nodeSelector':{'on':'a'}"
#define TAINT        "[{'key':'k','effect':'NoSchedule'}]"
#define TAINTS(list) "{'spec':{'taints':" list "}}"

/* Room is made on a for high; small would fit beside what goes. */
static void make_room(struct kube_rig *rig)
{
	add_class(rig);
	schedule_add_node(rig, "a", "'labels':{'on':'a'}", "", "'cpu':'4'");
	schedule_add_node(rig, "b", "", "'taints':" TAINT, "'cpu':'4'");
	schedule_add_pod(rig, "low", "", "'cpu':'3'", ON_A);
	assert_string_equal(schedule_wait_node(rig, "low"), "a");
	schedule_add_pod(rig, "high", "", "'cpu':'4'", "'priorityClassName':'high'");
	schedule_until(rig, "GET " PODS "/high", "status.nominatedNodeName=a", NULL,
		       NULL);
	schedule_add_pod(rig, "small", "", "'cpu':'1'",
			 ON_A ",'tolerations':[{'operator':'Exists'}]");
	is_refused(rig, "small");
}

/* It takes another node than the one that room was made on. */
static void test_goes_elsewhere(void **state)
{
	struct kube_rig *rig = *state;

	make_room(rig);
	must(rig, "MERGE /api/v1/nodes/b", TAINTS("null"));
	comes_to(rig, "high", "b");
	comes_to(rig, "small", "a");
}

/* The node is none for it any more. */
static void test_gives_up(void **state)
{
	struct kube_rig *rig = *state;

	make_room(rig);
	must(rig, "MERGE /api/v1/nodes/a", TAINTS(TAINT));
	schedule_until(rig, "GET " PODS "/high", "!status.nominatedNodeName", NULL, NULL);
	comes_to(rig, "small", "a");
}

/* Whoever was deleted by its user may take its time: room is made elsewhere meanwhile. */
static void test_user_deletes(void **state)
{
	struct kube_rig *rig = *state;

	add_class(rig);
	schedule_add_node(rig, "a", "", "", "'cpu':'4'");
	schedule_add_pod(rig, "keep", "", "'cpu':'3'", "'priorityClassName':'high'");
	assert_string_equal(schedule_wait_node(rig, "keep"), "a");
	schedule_add_pod(rig, "ending", "", "'cpu':'1'",
			 "'terminationGracePeriodSeconds':86400");
	assert_string_equal(schedule_wait_node(rig, "ending"), "a");
	schedule_add_node(rig, "b", "", "", "'cpu':'4'");
	schedule_add_pod(rig, "low", "", "'cpu':'4'", "");
	assert_string_equal(schedule_wait_node(rig, "low"), "b");
	must(rig, "DELETE " PODS "/ending", NULL);
	/* The nomination is there before the first look. */
	schedule_add_pod(rig, "want", "", "'cpu':'4'",
			 "'priorityClassName':'high','schedulingGates':[{'name':'x/y'}]");
	must(rig, "MERGE " PODS "/want/status", "{'status':{'nominatedNodeName':'a'}}");
	must(rig, "MERGE " PODS "/want", "{'spec':{'schedulingGates':null}}");
	schedule_until(rig, "GET " PODS "/want", "status.nominatedNodeName=b", NULL,
		       NULL);
	schedule_until(rig, "GET " PODS "/low",
		       "status.conditions.1.reason=PreemptionByScheduler",
		       "metadata.deletionGracePeriodSeconds=30", NULL);
}

/* A victim is known by its condition, also to the next scheduler: nobody else has to go
 * while it ends. */
static void test_waits_for_victim(void **state)
{
	struct kube_rig *rig = *state;

	add_class(rig);
	schedule_add_node(rig, "a", "", "", "'cpu':'4'");
	schedule_add_pod(rig, "low", "", "'cpu':'4'", "");
	assert_string_equal(schedule_wait_node(rig, "low"), "a");
	schedule_add_pod(rig, "high", "", "'cpu':'4'", "'priorityClassName':'high'");
	schedule_until(rig, "GET " PODS "/low", "metadata.deletionGracePeriodSeconds=30",
		       NULL, NULL);
	/* Going from b would be cheaper. */
	schedule_add_node(rig, "b", "", "'unschedulable':true", "'cpu':'4'");
	schedule_add_pod(rig, "lowest", "", "'cpu':'4'", "'nodeName':'b'");
	schedule_stop();
	schedule_start(rig);
	must(rig, "MERGE /api/v1/nodes/b", "{'spec':{'unschedulable':null}}");
	schedule_wait_message(rig, "high",
			      "0/2 nodes are available: 2 Insufficient cpu. preemption: "
			      "not eligible due to a terminating pod on the nominated "
			      "node.");
	schedule_until(rig, "GET " PODS "/lowest", "!metadata.deletionTimestamp", NULL,
		       NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(room_of_others), TEST(goes_elsewhere),   TEST(gives_up),
		TEST(user_deletes),   TEST(waits_for_victim),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
