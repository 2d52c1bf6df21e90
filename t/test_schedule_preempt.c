/* SPDX-License-Identifier: Apache-2.0
 *
 * Room is made for a pod of higher priority: its victims are deleted with their grace,
 * and what they leave is its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/schedule/config.h"
#include "api/schedule/policies_reserve.h"
#include "engine/decide/decide.h"
#include "lua/call/purse.h"
#include "lua/run/registry.h"
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

static void remove_now(struct kube_rig *rig, const char *name)
{
	char ask[128];

	(void)snprintf(ask, sizeof(ask), "DELETE " PODS "/%s?gracePeriodSeconds=0", name);
	assert_int_equal(kube_ask(rig, ask, NULL), 200);
}

static void stays(struct kube_rig *rig, const char *name)
{
	char ask[128];

	(void)snprintf(ask, sizeof(ask), "GET " PODS "/%s", name);
	assert_int_equal(kube_ask(rig, ask, NULL), 200);
	assert_null(kube_differs(rig->body, "!metadata.deletionTimestamp"));
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

/* A budget that allows nothing is kept as long as somebody else can go, be it a more
 * important one. */
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

/* Of a pod with affinities ten nodes are tried at once, and the others soon, without
 * anything having moved. */
static void test_in_turns(void **state)
{
	static const char apart[] =
		"'priorityClassName':'middle','affinity':{'podAntiAffinity':{"
		"'requiredDuringSchedulingIgnoredDuringExecution':[{'labelSelector':{"
		"'matchLabels':{'app':'x'}},'topologyKey':'kubernetes.io/hostname'}]}}";
	struct kube_rig *rig = *state;
	char name[16];

	add_classes(rig);
	for (int i = 0; i < NEAP_PREEMPT_TRIALS_FAR + 2; i++) {
		(void)snprintf(name, sizeof(name), "node-%d", i);
		schedule_add_node(rig, name, "", "", "'cpu':'4'");
		(void)snprintf(name, sizeof(name), "high-%d", i);
		schedule_add_pod(rig, name, "", "'cpu':'3'",
				 "'priorityClassName':'high'");
		(void)schedule_wait_node(rig, name);
		(void)snprintf(name, sizeof(name), "low-%d", i);
		schedule_add_pod(rig, name, "", "'cpu':'1'", "");
		(void)schedule_wait_node(rig, name);
	}
	schedule_add_pod(rig, "new", "", "'cpu':'2'", apart);
	schedule_wait_message(rig, "new",
			      "0/12 nodes are available: 12 Insufficient cpu. "
			      "preemption: 0/12 nodes are available: 10 No preemption "
			      "victims found for incoming pod, 2 node(s) not tried yet.");
	schedule_wait_message(rig, "new",
			      "0/12 nodes are available: 12 Insufficient cpu. "
			      "preemption: 0/12 nodes are available: 12 No preemption "
			      "victims found for incoming pod.");
}

/* --- Reservations --- */

#define RESERVATIONS SCHEDULE_RESERVATIONS
#define BUDGETS      "/apis/policy/v1/namespaces/default/poddisruptionbudgets"

/* A scheduler of a profile in which they make room, too. */
static int setup_reservations(void **state)
{
	static const char text[] =
		"apiVersion: kubescheduler.config.k8s.io/v1\n"
		"kind: KubeSchedulerConfiguration\n"
		"profiles:\n- schedulerName: neap-scheduler\n"
		"  plugins: {postFilter: {enabled: [{name: Reservation}]}}\n"
		"  pluginConfig:\n  - name: Reservation\n"
		"    args: {kind: ReservationArgs, enablePreemption: true}\n";
	struct neap_error err = {0};

	if (neap_schedule_config_parse(text, strlen(text), "f", &schedule_settings,
				       &err) < 0)
		fail_msg("%s", err.msg);
	return schedule_setup(state);
}

static int teardown_reservations(void **state)
{
	int ret = schedule_teardown(state);

	schedule_settings = neap_schedule_config_unref(schedule_settings);
	return ret;
}

/* Room is made and locked before the pod is there that it is for: nobody gets in between,
 * however important. */
static void test_locks_the_room(void **state)
{
	struct kube_rig *rig = *state;

	add_classes(rig);
	schedule_add_node(rig, "a", "", "", "'cpu':'4'");
	schedule_add_pod(rig, "low", "", "'cpu':'2'", "");
	schedule_add_pod(rig, "keep", "", "'cpu':'2'", "'priorityClassName':'middle'");
	assert_string_equal(schedule_wait_node(rig, "low"), "a");
	assert_string_equal(schedule_wait_node(rig, "keep"), "a");
	schedule_add_reservation(rig, "web", "", "'cpu':'2'", "", "");
	until(rig, "GET " PODS "/low", "metadata.deletionGracePeriodSeconds=30",
	      "status.conditions.1.reason=PreemptionByScheduler", NULL);
	until(rig, "GET " RESERVATIONS "/web", "status.conditions.0.reason=Unschedulable",
	      "!status.nodeName", NULL);
	schedule_add_pod(rig, "sneaks", "", "'cpu':'2'", "'priorityClassName':'middle'");
	until(rig, "GET " PODS "/sneaks", "status.conditions.0.status=False", NULL, NULL);
	remove_now(rig, "low");
	schedule_wait_phase(rig, "web", "Available", "a");
	schedule_add_pod(rig, "web-0", "'app':'web'", "'cpu':'2'", "");
	assert_string_equal(schedule_wait_node(rig, "web-0"), "a");
	stays(rig, "keep");
	assert_int_equal(kube_ask(rig, "GET " PODS "/sneaks", NULL), 200);
	assert_null(kube_differs(rig->body, "!spec.nodeName"));
}

/* One that waits for its room and is deleted keeps it no more. */
static void test_gone_reservation(void **state)
{
	struct kube_rig *rig = *state;

	add_classes(rig);
	schedule_add_node(rig, "a", "", "", "'cpu':'4'");
	schedule_add_pod(rig, "low", "", "'cpu':'3'", "");
	assert_string_equal(schedule_wait_node(rig, "low"), "a");
	schedule_add_reservation(rig, "web", "", "'cpu':'4'", "", "");
	until(rig, "GET " PODS "/low", "metadata.deletionGracePeriodSeconds=30", NULL,
	      NULL);
	schedule_add_pod(rig, "small", "", "'cpu':'1'", "");
	until(rig, "GET " PODS "/small", "status.conditions.0.status=False", NULL, NULL);
	assert_int_equal(kube_ask(rig, "DELETE " RESERVATIONS "/web", NULL), 200);
	/* Long before all that wait are tried again in any case. */
	schedule_until(rig, "GET " PODS "/small", "spec.nodeName=a", NULL, NULL);
}

/* Pods that may not go, other reservations, and more important pods are left alone. */
static void test_spares(void **state)
{
	struct kube_rig *rig = *state;

	add_classes(rig);
	schedule_add_node(rig, "a", "", "", "'cpu':'2'");
	schedule_add_node(rig, "b", "", "", "'cpu':'2'");
	schedule_add_node(rig, "c", "", "", "'cpu':'2'");
	schedule_add_pod(rig, "safe",
			 "'scheduling.koordinator.sh/disable-preemptible':'true'",
			 "'cpu':'2'", "");
	(void)schedule_wait_node(rig, "safe");
	schedule_add_pod(rig, "high", "", "'cpu':'2'", "'priorityClassName':'high'");
	(void)schedule_wait_node(rig, "high");
	schedule_add_reservation(rig, "first", "", "'cpu':'2'", "'priority':1", "");
	schedule_wait_phase(rig, "first", "Available", "");
	schedule_add_reservation(rig, "second", "", "'cpu':'2'", "'priority':500", "");
	until(rig, "GET " RESERVATIONS "/second",
	      "status.conditions.0.reason=Unschedulable",
	      "status.conditions.0.message~3 No preemption victims found for incoming "
	      "pod",
	      NULL);
	stays(rig, "safe");
	stays(rig, "high");
	schedule_wait_phase(rig, "first", "Available", "");
	/* A pod does not take their room either. */
	schedule_add_pod(rig, "other", "", "'cpu':'2'", "'priorityClassName':'high'");
	until(rig, "GET " PODS "/other", "status.conditions.0.status=False",
	      "!status.nominatedNodeName", NULL);
	schedule_wait_phase(rig, "first", "Available", "");
}

/* Of two pods the one goes that no budget is about, though it is the more important
 * one. */
static void test_budgets(void **state)
{
	struct kube_rig *rig = *state;

	add_classes(rig);
	schedule_add_node(rig, "a", "", "", "'cpu':'2'");
	schedule_add_node(rig, "b", "", "", "'cpu':'2'");
	schedule_add_pod(rig, "guarded", "'app':'db'", "'cpu':'2'", "");
	(void)schedule_wait_node(rig, "guarded");
	schedule_add_pod(rig, "other", "", "'cpu':'2'", "'priorityClassName':'middle'");
	(void)schedule_wait_node(rig, "other");
	assert_int_equal(kube_ask(rig, "POST " BUDGETS,
				  "{'metadata':{'name':'db'},'spec':{'minAvailable':1,"
				  "'selector':{'matchLabels':{'app':'db'}}}}"),
			 201);
	kube_run(rig, 50);
	schedule_add_reservation(rig, "web", "", "'cpu':'2'", "", "");
	until(rig, "GET " PODS "/other", "metadata.deletionGracePeriodSeconds=30", NULL,
	      NULL);
	stays(rig, "guarded");
}

/* Without that profile they wait. */
static void test_off_by_default(void **state)
{
	struct kube_rig *rig = *state;

	schedule_add_node(rig, "a", "", "", "'cpu':'2'");
	schedule_add_pod(rig, "low", "", "'cpu':'2'", "");
	(void)schedule_wait_node(rig, "low");
	schedule_add_reservation(rig, "web", "", "'cpu':'2'", "", "");
	until(rig, "GET " RESERVATIONS "/web",
	      "status.conditions.0.message=0/1 nodes are available: 1 Insufficient cpu.",
	      NULL, NULL);
	stays(rig, "low");
}

/* --- policies of kind reservation --- */

static struct neap_registry *registry;
static struct neap_policies_reserve *policies;
static struct neap_purse purse;

static void put_policy(const char *name, const char *text)
{
	struct neap_policy *policy = NULL;
	struct neap_error err = {0};

	if (neap_policy_load(text, strlen(text), name, &policy, &err) < 0 ||
	    neap_registry_put_take(registry, policy, 0, 0, &err) < 0)
		fail_msg("%s: %s", name, err.msg);
	neap_scheduler_more_changed(schedule_scheduler);
}

static int64_t now(void)
{
	return kube_now;
}

/* A scheduler that asks policies, of which there are none yet. */
static int setup_policies(void **state)
{
	static const char *const names[] = {"neap-scheduler", NULL};
	static const struct neap_log log = {
		.fd = 2, .level = NEAP_LOG_WARN, .program = "test"};
	struct neap_scheduler_config config = {.names = names, .now = now, .log = &log};
	struct neap_error err = {0};
	struct kube_rig *rig;

	assert_int_equal(schedule_setup(state), 0);
	schedule_stop();
	rig = *state;
	registry = neap_registry_new();
	assert_non_null(registry);
	policies = neap_policies_reserve_new(&(struct neap_policies_reserve_config){
		.registry = registry, .purse = &purse, .log = &log});
	assert_non_null(policies);
	config.base = rig->base;
	config.client = rig->client;
	config.matcher = neap_policies_reserve_matcher(policies);
	config.purse = &purse;
	assert_int_equal(neap_scheduler_new(&config, &schedule_scheduler, &err), 0);
	return 0;
}

static int teardown_policies(void **state)
{
	int ret = schedule_teardown(state);

	neap_policies_reserve_free(policies);
	neap_registry_free(registry);
	return ret;
}

/* A reservation is full of a less important owner: that one goes when the policy opens
 * it, and not before. */
static void test_full_reservation(void **state)
{
	struct kube_rig *rig = *state;

	put_policy("p.lua",
		   "return { api = 1, kind = 'reservation', name = 'day', needs = "
		   "{ 'resv.owners', 'pod.priority' }, match = function(_, pod) return "
		   "pod.priority < 500, 'not by day' end }");
	add_classes(rig);
	schedule_add_node(rig, "a", "", "", "'cpu':'4'");
	assert_int_equal(
		kube_ask(
			rig, "POST " RESERVATIONS,
			"{'apiVersion':'scheduling.koordinator.sh/v1alpha1','kind':"
			"'Reservation','metadata':{'name':'web'},'spec':{'allocateOnce':"
			"false,'allocatePolicy':'Restricted','owners':[{'labelSelector':{"
			"'matchLabels':{'app':'web'}}}],'template':{'spec':{"
			"'schedulerName':'neap-scheduler','containers':[{'name':'c',"
			"'image':'x','resources':{'requests':{'cpu':'4'}}}]}}}}"),
		201);
	until(rig, "GET " RESERVATIONS "/web", "status.phase=Available", NULL, NULL);
	schedule_add_pod(rig, "low", "'app':'web'", "'cpu':'4'", "");
	assert_string_equal(schedule_wait_node(rig, "low"), "a");
	schedule_add_pod(rig, "high", "'app':'web'", "'cpu':'4'",
			 "'priorityClassName':'high'");
	until(rig, "GET " PODS "/high", "status.conditions.0.status=False",
	      "!status.nominatedNodeName", NULL);
	stays(rig, "low");
	put_policy("p.lua",
		   "return { api = 1, kind = 'reservation', name = 'day', needs = "
		   "{ 'resv.owners' }, match = function(_, _, resv) return "
		   "#resv.owners == 1 end }");
	schedule_until(rig, "GET " PODS "/low", "metadata.deletionGracePeriodSeconds=30",
		       "status.conditions.1.reason=PreemptionByScheduler", NULL);
	until(rig, "GET " PODS "/high", "status.nominatedNodeName=a", NULL, NULL);
	remove_now(rig, "low");
	assert_string_equal(schedule_wait_node(rig, "high"), "a");
	assert_non_null(
		strstr(json_string_value(json_object_get(
			       kube_at(rig->body, "metadata.annotations"),
			       "scheduling.koordinator.sh/reservation-allocated")),
		       "\"name\":\"web\""));
}

#define TEST_OF_THEM(name)                                                               \
	cmocka_unit_test_setup_teardown(test_##name, setup_reservations,                 \
					teardown_reservations)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(makes_room),
		TEST(budget),
		TEST(never),
		TEST(in_turns),
		TEST_OF_THEM(locks_the_room),
		TEST_OF_THEM(gone_reservation),
		TEST_OF_THEM(spares),
		TEST_OF_THEM(budgets),
		TEST(off_by_default),
		cmocka_unit_test_setup_teardown(test_full_reservation, setup_policies,
						teardown_policies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
