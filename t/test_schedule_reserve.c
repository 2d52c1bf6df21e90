/* SPDX-License-Identifier: Apache-2.0
 *
 * Reservations in the scheduling loop: placed, used by those that they are for, kept from
 * others; those that take running pods over, and those that wait until these are gone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <event2/event.h>

#include "api/client/client.h"
#include "api/schedule/schedule_priv.h"
#include "engine/base/mem.h"
#include "engine/cluster/kept.h"
#include "engine/decide/decide.h"
#include "t/lib/patience.h"
#include "t/lib/schedule_rig.h"

#define TEST(name)                                                                       \
	cmocka_unit_test_setup_teardown(test_##name, schedule_setup, schedule_teardown)

#define PODS SCHEDULE_PODS
#define PATH SCHEDULE_RESERVATIONS

/* Whether the pod says that it uses the reservation of that name; NULL: none. */
static bool uses(struct kube_rig *rig, const char *pod, const char *name)
{
	char ask[128], want[128];
	const char *text;

	(void)snprintf(ask, sizeof(ask), "GET " PODS "/%s", pod);
	(void)snprintf(want, sizeof(want), "{\"name\":\"%s\",", name ? name : "");
	assert_int_equal(kube_ask(rig, ask, NULL), 200);
	text = json_string_value(json_object_get(
		json_object_get(json_object_get(rig->body, "metadata"), "annotations"),
		NEAP_KEY_RESERVATION_ALLOCATED));
	return name ? text && strncmp(text, want, strlen(want)) == 0 : !text;
}

static void until_uses(struct kube_rig *rig, const char *pod, const char *name)
{
	for (int i = 0; i < PATIENCE_MS / 5 && !uses(rig, pod, name); i++)
		kube_run(rig, 5);
	assert_true(uses(rig, pod, name));
}

static void says(struct kube_rig *rig, const char *name, const char *message)
{
	char ask[128], want[256];

	(void)snprintf(ask, sizeof(ask), "GET " PATH "/%s", name);
	(void)snprintf(want, sizeof(want), "status.conditions.0.message~%s", message);
	schedule_until(rig, ask, "status.conditions.0.type=Scheduled",
		       "status.conditions.0.reason=Unschedulable", want);
}

static void remove_pod(struct kube_rig *rig, const char *name)
{
	char ask[128];

	(void)snprintf(ask, sizeof(ask), "DELETE " PODS "/%s?gracePeriodSeconds=0", name);
	assert_int_equal(kube_ask(rig, ask, NULL), 200);
}

/* Whoever it is not for finds no room; whoever it is for does, and says whose that is. */
static void test_keeps(void **state)
{
	struct kube_rig *rig = *state;

	schedule_add_node(rig, "a", "", "", "'cpu':'4'");
	schedule_add_reservation(rig, "web", "", "'cpu':'3'", "", "'allocateOnce':false");
	schedule_wait_phase(rig, "web", "Available", "a");
	schedule_until(rig, "GET " PATH "/web", "status.allocatable.cpu=3",
		       "status.conditions.0.reason=Scheduled",
		       "status.conditions.1.reason=Available");
	schedule_add_pod(rig, "other", "", "'cpu':'2'", "");
	schedule_wait_message(rig, "other",
			      "0/1 nodes are available: 1 Insufficient cpu.");
	schedule_add_pod(rig, "web-0", "'app':'web'", "'cpu':'2'", "");
	assert_string_equal(schedule_wait_node(rig, "web-0"), "a");
	until_uses(rig, "web-0", "web");
	/* Of 4, 3 are kept and 2 of these used: 1 is free, and 1 is kept. */
	schedule_add_pod(rig, "small", "", "'cpu':'1'", "");
	assert_string_equal(schedule_wait_node(rig, "small"), "a");
	schedule_add_pod(rig, "web-1", "'app':'web'", "'cpu':'1'", "");
	assert_string_equal(schedule_wait_node(rig, "web-1"), "a");
	schedule_add_pod(rig, "late", "'app':'web'", "'cpu':'1'", "");
	schedule_until(rig, "GET " PODS "/late", "status.conditions.0.status=False", NULL,
		       NULL);
	/* With the reservation its room goes, but not what its owners have. */
	assert_int_equal(kube_ask(rig, "DELETE " PATH "/web", NULL), 200);
	remove_pod(rig, "web-0");
	assert_string_equal(schedule_wait_node(rig, "other"), "a");
}

/* The node with the reservation, although the other one is empty. */
static void test_is_preferred(void **state)
{
	struct kube_rig *rig = *state;

	schedule_add_node(rig, "a", "", "", "'cpu':'8'");
	schedule_add_pod(rig, "busy", "", "'cpu':'5'", "");
	assert_string_equal(schedule_wait_node(rig, "busy"), "a");
	schedule_add_reservation(rig, "web", "", "'cpu':'2'", "", "");
	schedule_wait_phase(rig, "web", "Available", "a");
	schedule_add_node(rig, "b", "", "", "'cpu':'8'");
	schedule_add_pod(rig, "web-0", "'app':'web'", "'cpu':'1'", "");
	assert_string_equal(schedule_wait_node(rig, "web-0"), "a");
	/* For one pod only: the next one goes where it likes. */
	schedule_add_pod(rig, "web-1", "'app':'web'", "'cpu':'1'", "");
	assert_string_equal(schedule_wait_node(rig, "web-1"), "b");
}

/* A reservation is refused as a pod is, and placed when there is room. */
static void test_waits_for_a_node(void **state)
{
	struct kube_rig *rig = *state;

	schedule_add_node(rig, "a", "", "", "'cpu':'1'");
	schedule_add_reservation(rig, "big", "", "'cpu':'3'", "", "");
	schedule_wait_phase(rig, "big", "Pending", "");
	says(rig, "big", "0/1 nodes are available: 1 Insufficient cpu.");
	schedule_until(
		rig,
		"GET /api/v1/namespaces/default/events?fieldSelector=involvedObject.name="
		"big,reason=FailedScheduling",
		"items.0.involvedObject.kind=Reservation", "items.0.count=1", NULL);
	schedule_add_node(rig, "b", "", "", "'cpu':'4'");
	schedule_wait_phase(rig, "big", "Available", "b");
}

/* Placed where the least is in the way, used by nobody, and Available when the pods are
 * gone. */
static void test_waiting(void **state)
{
	struct kube_rig *rig = *state;

	schedule_add_node(rig, "a", "", "", "'cpu':'4'");
	schedule_add_node(rig, "small", "", "", "'cpu':'2'");
	schedule_add_pod(rig, "one", "", "'cpu':'2'", "");
	schedule_add_pod(rig, "two", "", "'cpu':'2'", "");
	schedule_add_pod(rig, "three", "", "'cpu':'2'", "");
	assert_string_equal(schedule_wait_node(rig, "three"), "a");
	schedule_add_reservation(
		rig, "web", "", "'cpu':'3'", "",
		"'preAllocation':true,'preAllocationPolicy':{'mode':'Waiting'}");
	schedule_wait_phase(rig, "web", "Waiting", "a");
	schedule_until(rig, "GET " PATH "/web", "status.conditions.0.status=True",
		       "status.conditions.1.type=Ready",
		       "status.conditions.1.status=False");
	schedule_add_pod(rig, "web-0", "'app':'web'", "'cpu':'1'", "");
	schedule_until(rig, "GET " PODS "/web-0", "status.conditions.0.status=False",
		       NULL, NULL);
	/* What becomes free is the reservation's and not the next pod's. */
	for (const char *const *name = (const char *const[]){"one", "two", "three", NULL};
	     *name; name++) {
		char ask[128];

		(void)snprintf(ask, sizeof(ask), "GET " PODS "/%s", *name);
		assert_int_equal(kube_ask(rig, ask, NULL), 200);
		if (!kube_differs(rig->body, "spec.nodeName=a"))
			remove_pod(rig, *name);
	}
	schedule_wait_phase(rig, "web", "Available", "a");
	assert_string_equal(schedule_wait_node(rig, "web-0"), "a");
}

#define WAITS "'preAllocation':true,'preAllocationPolicy':{'mode':'Waiting'}"

/* Of two that wait on one node the older one has the room that is enough for one. */
static void test_waiting_in_order(void **state)
{
	struct kube_rig *rig = *state;

	schedule_add_node(rig, "a", "", "", "'cpu':'8'");
	schedule_add_pod(rig, "one", "", "'cpu':'4'", "");
	schedule_add_pod(rig, "two", "", "'cpu':'4'", "");
	assert_string_equal(schedule_wait_node(rig, "one"), "a");
	assert_string_equal(schedule_wait_node(rig, "two"), "a");
	schedule_add_reservation(rig, "y", "", "'cpu':'4'", "", WAITS);
	schedule_wait_phase(rig, "y", "Waiting", "a");
	kube_now += 1000000;
	schedule_add_reservation(rig, "x", "", "'cpu':'4'", "", WAITS);
	schedule_wait_phase(rig, "x", "Waiting", "a");
	remove_pod(rig, "one");
	schedule_wait_phase(rig, "y", "Available", "a");
	schedule_wait_phase(rig, "x", "Waiting", "a");
	remove_pod(rig, "two");
	schedule_wait_phase(rig, "x", "Available", "a");
}

#define TAKES "'allocatePolicy':'Restricted','preAllocation':true"

/* The pod stays where it is, and is the reservation's from then on. */
static void test_takes_over(void **state)
{
	struct kube_rig *rig = *state;

	schedule_add_node(rig, "a", "", "", "'cpu':'4'");
	schedule_add_pod(rig, "other", "", "'cpu':'2'", "");
	schedule_add_pod(rig, "web-0", "'app':'web'", "'cpu':'2'", "");
	assert_string_equal(schedule_wait_node(rig, "other"), "a");
	assert_string_equal(schedule_wait_node(rig, "web-0"), "a");
	schedule_add_reservation(rig, "web", "", "'cpu':'2'", "", TAKES);
	schedule_wait_phase(rig, "web", "Available", "a");
	until_uses(rig, "web-0", "web");
	assert_true(uses(rig, "other", NULL));
	/* The node is full, and not more than that. */
	schedule_add_pod(rig, "more", "", "'cpu':'1'", "");
	schedule_until(rig, "GET " PODS "/more", "status.conditions.0.status=False", NULL,
		       NULL);
	remove_pod(rig, "other");
	assert_string_equal(schedule_wait_node(rig, "more"), "a");
}

static void test_takes_several(void **state)
{
	struct kube_rig *rig = *state;

	schedule_add_node(rig, "a", "", "", "'cpu':'4'");
	schedule_add_pod(rig, "web-0", "'app':'web'", "'cpu':'2'", "");
	schedule_add_pod(rig, "web-1", "'app':'web'", "'cpu':'2'", "");
	assert_string_equal(schedule_wait_node(rig, "web-0"), "a");
	assert_string_equal(schedule_wait_node(rig, "web-1"), "a");
	schedule_add_reservation(rig, "web", "", "'cpu':'4'", "", TAKES);
	schedule_wait_phase(rig, "web", "Pending", "");
	says(rig, "web", "1 Insufficient cpu by node");
	assert_int_equal(kube_ask(rig, "DELETE " PATH "/web", NULL), 200);
	schedule_add_reservation(
		rig, "web", "", "'cpu':'4'", "",
		TAKES
		",'allocateOnce':false,'preAllocationPolicy':{'enableMultiple':true}");
	schedule_wait_phase(rig, "web", "Available", "a");
	until_uses(rig, "web-0", "web");
	until_uses(rig, "web-1", "web");
}

static void uid_of(struct kube_rig *rig, const char *name, char ret[64])
{
	char ask[128];

	(void)snprintf(ask, sizeof(ask), "GET " PATH "/%s", name);
	assert_int_equal(kube_ask(rig, ask, NULL), 200);
	(void)snprintf(ret, 64, "%s", kube_text(rig->body, "metadata.uid"));
}

/* Who was told of a place that never came to be is no owner of the next one. */
static void test_told_before(void **state)
{
	struct kube_rig *rig = *state;
	char uid[64], body[512];

	schedule_add_node(rig, "a", "", "", "'cpu':'8'");
	schedule_add_pod(rig, "web-0", "'app':'web'", "'cpu':'2'", "");
	schedule_add_pod(rig, "web-1", "'app':'web'", "'cpu':'3'", "");
	schedule_add_pod(rig, "other", "", "'cpu':'3'", "");
	assert_string_equal(schedule_wait_node(rig, "web-0"), "a");
	assert_string_equal(schedule_wait_node(rig, "web-1"), "a");
	assert_string_equal(schedule_wait_node(rig, "other"), "a");
	schedule_stop();
	schedule_add_reservation(rig, "web", "", "'cpu':'2'", "", TAKES);
	uid_of(rig, "web", uid);
	(void)snprintf(body, sizeof(body),
		       "{'metadata':{'annotations':{'" NEAP_KEY_RESERVATION_ALLOCATED
		       "':'{\\\"name\\\":\\\"web\\\",\\\"uid\\\":\\\"%s\\\"}'}}}",
		       uid);
	assert_int_equal(kube_ask(rig, "MERGE " PODS "/web-1", body), 200);
	assert_true(uses(rig, "web-1", "web"));
	schedule_start(rig);
	schedule_wait_phase(rig, "web", "Available", "a");
	until_uses(rig, "web-0", "web");
	assert_true(uses(rig, "web-1", NULL));
}

/* Whether the Reservation web is refused; false: it was placed before its change came. */
static bool is_refused(struct kube_rig *rig)
{
	for (;;) {
		assert_int_equal(kube_ask(rig, "GET " PATH "/web", NULL), 200);
		if (strstr(kube_text(rig->body, "status.conditions.0.message"),
			   "pre allocation is unsupported"))
			return true;
		if (!strcmp(kube_text(rig->body, "status.phase"), "Available"))
			return false;
		kube_run(rig, 5);
		kube_now += 500000;
	}
}

/* Who was told of a place is told otherwise when somebody changed the reservation
 * meanwhile. */
static void test_told_in_vain(void **state)
{
	const struct neap_client_ask ask = {
		.resource = RESERVATIONS, .ns = "", .name = "web"};
	struct kube_rig *rig = *state;
	bool is_done = false;

	/* A binding may begin and end within one turn, or before the change comes: then
	 * another one is begun, elsewhere. */
	for (int tries = 0; tries < 100 && !is_done; tries++) {
		if (tries) {
			assert_int_equal(schedule_teardown(state), 0);
			assert_int_equal(schedule_setup(state), 0);
			rig = *state;
		}
		schedule_add_node(rig, "a", "", "", "'cpu':'2'");
		schedule_add_pod(rig, "web-0", "'app':'web'", "'cpu':'2'", "");
		assert_string_equal(schedule_wait_node(rig, "web-0"), "a");
		schedule_add_reservation(rig, "web", "", "'cpu':'2'", "", TAKES);
		for (int i = 0; i < 100000 && !schedule_scheduler->bind_count; i++)
			(void)event_base_loop(rig->base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
		if (!schedule_scheduler->bind_count)
			continue;
		neap_client_patch_take(
			rig->client, &ask, false,
			json_pack("{s:{s:s}}", "spec", "allocatePolicy", "Aligned"));
		is_done = is_refused(rig);
	}
	assert_true(is_done);
	until_uses(rig, "web-0", NULL);
}

static void test_may_not_take(void **state)
{
	struct kube_rig *rig = *state;

	schedule_add_node(rig, "a", "", "", "'cpu':'4'");
	schedule_add_reservation(rig, "aligned", "", "'cpu':'1'", "",
				 "'allocatePolicy':'Aligned','preAllocation':true");
	says(rig, "aligned",
	     "0/1 nodes are available: 1 node(s) reservation pre allocation is "
	     "unsupported with current attributes.");
	schedule_add_reservation(rig, "cluster", "", "'cpu':'1'", "",
				 TAKES ",'preAllocationPolicy':{'mode':'Cluster'}");
	says(rig, "cluster",
	     "0/1 nodes are available: 1 reservation requires cluster mode "
	     "pre-allocation which is disabled.");
}

/* As if its binding to that node had been asked for; it is somebody else's pod, so that
 * nobody else asks. */
static struct bind *decide(struct neap_scheduler *scheduler, const char *name)
{
	struct neap_pod *pod = neap_cluster_find_pod(scheduler->cluster, "default", name);
	struct bind *bind = neap_alloc(sizeof(*bind));
	struct neap_choice choice;
	struct neap_claim *claim;
	struct neap_error err;

	assert_non_null(pod);
	assert_non_null(bind);
	assert_int_equal(neap_decide_pod(scheduler->decide, pod, &choice, &err), 1);
	assert_int_equal(
		neap_decide_claim(scheduler->decide, pod, choice.row, &claim, &err), 1);
	assert_string_equal(claim->reservation, "web");
	assert_int_equal(neap_cluster_assume_with(scheduler->cluster, pod, choice.row,
						  claim, &err),
			 0);
	neap_claim_free(claim);
	scheduler_add_bind(scheduler, pod, choice.node, bind);
	return bind;
}

static void add_owner(struct kube_rig *rig, const char *name, const char *scheduler,
		      const char *notes)
{
	char body[512];

	(void)snprintf(
		body, sizeof(body),
		"{'metadata':{'name':'%s','labels':{'app':'web'},'annotations':{%s}},"
		"'spec':{'schedulerName':'%s','containers':[{'name':'c','image':'i',"
		"'resources':{'requests':{'cpu':'3'}}}]}}",
		name, notes, scheduler);
	assert_int_equal(kube_ask(rig, "POST " PODS, body), 201);
}

/* What a pod was to use, and does not, is used by one that waits for it. */
static void test_not_used(void **state)
{
	const struct neap_client_failure failure = {.message = "no"};
	struct kube_rig *rig = *state;
	struct bind *bind;
	int64_t since;

	schedule_add_node(rig, "a", "", "", "'cpu':'4'");
	schedule_add_reservation(rig, "web", "", "'cpu':'3'", "", "");
	schedule_wait_phase(rig, "web", "Available", "a");
	add_owner(rig, "web-0", "other", "");
	kube_run(rig, 20);
	bind = decide(schedule_scheduler, "web-0");
	add_owner(rig, "web-1", "neap-scheduler",
		  "'" NEAP_KEY_RESERVATION_AFFINITY "':'{}'");
	schedule_wait_message(rig, "web-1",
			      "0/1 nodes are available: 1 node(s) no reservations match "
			      "reservation affinity.");
	since = kube_now;
	scheduler_bound(bind, NULL, &failure);
	assert_string_equal(schedule_wait_node(rig, "web-1"), "a");
	/* And not as all are tried that have waited for long. */
	assert_true(kube_now - since < NEAP_QUEUE_PARK_MAX_USEC / 2);
	until_uses(rig, "web-1", "web");
}

/* What was decided on an older state is not written onto one that has ended. */
static void test_ended_meanwhile(void **state)
{
	const struct neap_client_ask ask = {
		.resource = RESERVATIONS, .ns = "", .name = "big"};
	struct kube_rig *rig = *state;
	const struct neap_pod *stand;

	schedule_add_node(rig, "a", "", "", "'cpu':'1'");
	schedule_add_reservation(rig, "big", "", "'cpu':'3'", "", "");
	says(rig, "big", "1 Insufficient cpu");
	stand = neap_cluster_find_stand(schedule_scheduler->cluster, "big");
	assert_non_null(stand);
	neap_client_patch_take(rig->client, &ask, true,
			       json_pack("{s:{s:s}}", "status", "phase", "Failed"));
	scheduler_tell_unplaced(schedule_scheduler, stand, "no words");
	kube_run(rig, 50);
	says(rig, "big", "1 Insufficient cpu");
	schedule_wait_phase(rig, "big", "Failed", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(keeps),        TEST(is_preferred),     TEST(waits_for_a_node),
		TEST(waiting),      TEST(takes_over),       TEST(takes_several),
		TEST(may_not_take), TEST(waiting_in_order), TEST(told_before),
		TEST(told_in_vain), TEST(ended_meanwhile),  TEST(not_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
