/* SPDX-License-Identifier: Apache-2.0
 *
 * Reservations placed and used over the API: a place, CPUs with it, and whom they go
 * to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "t/lib/schedule_rig.h"

#define TEST(name)                                                                       \
	cmocka_unit_test_setup_teardown(test_##name, schedule_setup, schedule_teardown)

#define PODS         SCHEDULE_PODS
#define RESERVATIONS SCHEDULE_RESERVATIONS
#define NRT          "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies"
#define LSR          "'koordinator.sh/qosClass':'LSR','koordinator.sh/priority-class':'koord-prod'"

static void must(struct kube_rig *rig, const char *ask, const char *body, int status)
{
	int got = kube_ask(rig, ask, body);

	if (got != status)
		fail_msg("%s: %d %s", ask, got, kube_text(rig->body, "message"));
}

/* A node of four cores with two threads. */
static void add_machine(struct kube_rig *rig, const char *name)
{
	char body[2048], detail[1024] = "";

	for (int i = 0; i < 8; i++)
		(void)snprintf(detail + strlen(detail), sizeof(detail) - strlen(detail),
			       "%s{\\\"id\\\":%d,\\\"core\\\":%d,\\\"socket\\\":0,"
			       "\\\"node\\\":0}",
			       i ? "," : "", i, i / 2);
	(void)snprintf(body, sizeof(body),
		       "{'metadata':{'name':'%s','annotations':{"
		       "'node.koordinator.sh/cpu-topology':'{\\\"detail\\\":[%s]}'}},"
		       "'topologyPolicies':['None'],'zones':[]}",
		       name, detail);
	must(rig, "POST " NRT, body, 201);
	schedule_add_node(rig, name, "", "", "'cpu':'8'");
}

/* Of 2 CPUs for pods of team x; labels, spec: of its template. */
static void add_reservation(struct kube_rig *rig, const char *name, const char *notes,
			    const char *labels, const char *spec)
{
	char body[2048];

	(void)snprintf(
		body, sizeof(body),
		"{'metadata':{'name':'%s','annotations':{%s}},'spec':{'allocateOnce':false,"
		"'owners':[{'labelSelector':{'matchLabels':{'team':'x'}}}],"
		"'template':{'metadata':{'labels':{%s}},'spec':{'schedulerName':"
		"'neap-scheduler','containers':[{'name':'c','image':'i','resources':{"
		"'requests':{'cpu':'2'},'limits':{'cpu':'2'}}}]%s}}}}",
		name, notes, labels, spec);
	must(rig, "POST " RESERVATIONS, body, 201);
}

static void wait_for(struct kube_rig *rig, const char *ask, const char *a, const char *b,
		     const char *c)
{
	const struct kube_step step = {
		.ask = ask, .status = 200, .want = {a, b, c, NULL}};

	kube_until(rig, &step);
}

static const char *annotation(const struct kube_rig *rig, const char *key)
{
	const char *text = json_string_value(
		json_object_get(kube_at(rig->body, "metadata.annotations"), key));

	return text ? text : "";
}

#define CPUS(rig) annotation(rig, "scheduling.koordinator.sh/resource-status")
#define USES(rig) annotation(rig, "scheduling.koordinator.sh/reservation-allocated")

static void add_pod(struct kube_rig *rig, const char *name, const char *team, int cpus)
{
	char labels[256], requests[32];

	(void)snprintf(labels, sizeof(labels), "'team':'%s'," LSR, team);
	(void)snprintf(requests, sizeof(requests), "'cpu':'%d'", cpus);
	schedule_add_pod(rig, name, labels, requests, "");
}

static void test_cpus(void **state)
{
	struct kube_rig *rig = *state;

	add_machine(rig, "a");
	add_reservation(rig, "r", "", LSR, "");
	wait_for(rig, "GET " RESERVATIONS "/r", "status.phase=Available",
		 "status.nodeName=a", "status.allocatable={\"cpu\":\"2\"}");
	assert_string_equal(CPUS(rig), "{\"cpuset\":\"0-1\"}");
	/* Others have others. */
	add_pod(rig, "m", "y", 2);
	assert_string_equal(schedule_wait_node(rig, "m"), "a");
	assert_string_equal(CPUS(rig), "{\"cpuset\":\"2-3\"}");
	assert_string_equal(USES(rig), "");
	add_pod(rig, "o", "x", 2);
	assert_string_equal(schedule_wait_node(rig, "o"), "a");
	assert_string_equal(CPUS(rig), "{\"cpuset\":\"0-1\"}");
	assert_non_null(strstr(USES(rig), "\"name\":\"r\""));
	/* Nothing of what is kept is left, and so it has of the node. */
	add_pod(rig, "p", "x", 2);
	assert_string_equal(schedule_wait_node(rig, "p"), "a");
	assert_string_equal(CPUS(rig), "{\"cpuset\":\"4-5\"}");
	/* Both go; what they had of it is kept again, for the next one. */
	must(rig, "DELETE " PODS "/o?gracePeriodSeconds=0", NULL, 200);
	must(rig, "DELETE " PODS "/p?gracePeriodSeconds=0", NULL, 200);
	add_pod(rig, "q", "y", 5);
	schedule_wait_message(rig, "q", "0/1 nodes are available: 1 Insufficient cpu.");
	add_pod(rig, "n", "x", 2);
	assert_string_equal(schedule_wait_node(rig, "n"), "a");
	assert_string_equal(CPUS(rig), "{\"cpuset\":\"0-1\"}");
}

/* A scheduler that begins anew finds all of it in the objects. */
static void test_again(void **state)
{
	struct kube_rig *rig = *state;

	add_machine(rig, "a");
	add_reservation(rig, "r", "", LSR, "");
	wait_for(rig, "GET " RESERVATIONS "/r", "status.phase=Available", NULL, NULL);
	schedule_stop();
	schedule_start(rig);
	add_pod(rig, "m", "y", 6);
	assert_string_equal(schedule_wait_node(rig, "m"), "a");
	assert_string_equal(CPUS(rig), "{\"cpuset\":\"2-7\"}");
	add_pod(rig, "o", "x", 2);
	assert_string_equal(schedule_wait_node(rig, "o"), "a");
	assert_string_equal(CPUS(rig), "{\"cpuset\":\"0-1\"}");
	schedule_stop();
	schedule_start(rig);
	add_pod(rig, "q", "x", 1);
	schedule_wait_message(rig, "q", "0/1 nodes are available: 1 Insufficient cpu.");
}

/* CPUs of a place that never came to be are nobody's. */
static void test_stale_cpus(void **state)
{
	struct kube_rig *rig = *state;

	add_machine(rig, "a");
	schedule_add_node(rig, "plain", "", "", "'cpu':'8'");
	add_reservation(rig, "r",
			"'scheduling.koordinator.sh/resource-status':'{\\\"cpuset\\\":"
			"\\\"0-1\\\"}'",
			"", ",'nodeName':'plain'");
	wait_for(rig, "GET " RESERVATIONS "/r", "status.phase=Available",
		 "status.nodeName=plain", NULL);
	assert_string_equal(CPUS(rig), "");
}

/* What cannot be read is told, and is not placed. */
static void test_broken_resize(void **state)
{
	struct kube_rig *rig = *state;

	add_machine(rig, "a");
	add_reservation(rig, "r",
			"'scheduling.koordinator.sh/reservation-resize-allocatable':'{'",
			LSR, "");
	wait_for(rig, "GET " RESERVATIONS "/r", "status.conditions.0.status=False",
		 "status.conditions.0.reason=Unschedulable",
		 "status.conditions.0.message~reservation-resize-allocatable");
	must(rig, "MERGE " RESERVATIONS "/r",
	     "{'metadata':{'annotations':{"
	     "'scheduling.koordinator.sh/reservation-resize-allocatable':'{\\\"resources"
	     "\\\":{\\\"cpu\\\":\\\"4\\\"}}'}}}",
	     200);
	/* When its pause is over. */
	schedule_until(rig, "GET " RESERVATIONS "/r", "status.phase=Available",
		       "status.allocatable={\"cpu\":\"4\"}", NULL);
}

/* The kubelet has CPUs of the node, which the amounts know nothing of. */
static void set_reserved(struct kube_rig *rig, const char *node, const char *cpus)
{
	char ask[128], body[256];

	(void)snprintf(ask, sizeof(ask), "MERGE " NRT "/%s", node);
	(void)snprintf(body, sizeof(body),
		       "{'metadata':{'annotations':{'kubelet.koordinator.sh/"
		       "cpu-manager-policy':'{\\\"policy\\\":\\\"static\\\","
		       "\\\"reservedCPUs\\\":\\\"%s\\\"}'}}}",
		       cpus);
	must(rig, ask, body, 200);
}

/* Where something is kept for the pod there are too few CPUs: it gets them on another
 * node. */
static void test_next_best(void **state)
{
	struct kube_rig *rig = *state;

	add_machine(rig, "a");
	add_reservation(rig, "r", "", "", "");
	wait_for(rig, "GET " RESERVATIONS "/r", "status.phase=Available", NULL, NULL);
	set_reserved(rig, "a", "0-3");
	add_machine(rig, "b");
	add_pod(rig, "p", "x", 6);
	assert_string_equal(schedule_wait_node(rig, "p"), "b");
	assert_string_equal(CPUS(rig), "{\"cpuset\":\"0-5\"}");
	assert_string_equal(USES(rig), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(cpus),          TEST(again),     TEST(stale_cpus),
		TEST(broken_resize), TEST(next_best),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
