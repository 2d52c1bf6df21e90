/* SPDX-License-Identifier: Apache-2.0
 *
 * CPUs that go with a place: one write, never twice, free again when binding fails. */
#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/client/client.h"
#include "api/schedule/view.h"
#include "engine/decide/decide.h"
#include "engine/json/json.h"
#include "engine/machine/cpuset.h"
#include "engine/numa/cpu_policy.h"
#include "t/lib/patience.h"
#include "t/lib/schedule_rig.h"

#define TEST(name)                                                                       \
	cmocka_unit_test_setup_teardown(test_##name, schedule_setup, schedule_teardown)

#define PODS    SCHEDULE_PODS
#define NRT     "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies"
#define TOO_FEW "0/1 nodes are available: 1 not enough cpus available to satisfy request."

/* cores of two threads, in two NUMA nodes; reserved: the kubelet's CPUs, "": none. */
static void put_topology(struct kube_rig *rig, const char *name, int cores,
			 const char *reserved)
{
	json_t *detail = json_array(), *notes, *object;
	char *text;
	char body[8192];

	for (int i = 0; i < cores * 2; i++)
		assert_int_equal(json_array_append_new(
					 detail, json_pack("{s:i, s:i, s:i, s:i}", "id",
							   i, "core", i / 2, "socket",
							   i / cores, "node", i / cores)),
				 0);
	object = json_pack("{s:o}", "detail", detail);
	text = json_dumps(object, JSON_COMPACT);
	json_decref(object);
	notes = json_pack("{s:s}", "node.koordinator.sh/cpu-topology", text);
	free(text);
	if (*reserved) {
		(void)snprintf(body, sizeof(body),
			       "{\"policy\":\"static\",\"reservedCPUs\":\"%s\"}",
			       reserved);
		assert_int_equal(
			json_object_set_new(notes,
					    "kubelet.koordinator.sh/cpu-manager-policy",
					    json_string(body)),
			0);
	}
	object = json_pack("{s:s, s:s, s:[s], s:[], s:{s:s, s:o}}", "apiVersion",
			   "topology.node.k8s.io/v1alpha1", "kind",
			   "NodeResourceTopology", "topologyPolicies", "None", "zones",
			   "metadata", "name", name, "annotations", notes);
	text = json_dumps(object, JSON_COMPACT);
	json_decref(object);
	assert_true(strlen(text) < sizeof(body));
	if (kube_ask_with(rig, "POST " NRT, "Content-Type: application/json\r\n", text,
			  strlen(text)) == 409) {
		char ask[256];

		(void)snprintf(ask, sizeof(ask), "MERGE " NRT "/%s", name);
		assert_int_equal(kube_ask_with(rig, ask,
					       "Content-Type: "
					       "application/merge-patch+json\r\n",
					       text, strlen(text)),
				 200);
	}
	free(text);
}

static void add_node(struct kube_rig *rig, const char *name, int cores,
		     const char *reserved)
{
	char room[64];

	put_topology(rig, name, cores, reserved);
	(void)snprintf(room, sizeof(room), "'cpu':'%d'", cores * 2);
	schedule_add_node(rig, name, "", "", room);
}

#define LSR "'koordinator.sh/qosClass':'LSR','koordinator.sh/priority-class':'koord-prod'"

static void add_pod(struct kube_rig *rig, const char *name, int cpus)
{
	char requests[32];

	(void)snprintf(requests, sizeof(requests), "'cpu':'%d'", cpus);
	schedule_add_pod(rig, name, LSR, requests, "");
}

/* note: of scheduling.koordinator.sh. */
static void add_noted(struct kube_rig *rig, const char *name, const char *labels,
		      const char *note, const char *text)
{
	char body[512];

	(void)snprintf(body, sizeof(body),
		       "{'metadata':{'name':'%s','labels':{%s},'annotations':{"
		       "'scheduling.koordinator.sh/%s':'%s'}},'spec':{'schedulerName':"
		       "'neap-scheduler','containers':[{'name':'c','image':'i',"
		       "'resources':{'requests':{'cpu':'2'},'limits':{'cpu':'2'}}}]}}",
		       name, labels, note, text);
	assert_int_equal(kube_ask(rig, "POST " PODS, body), 201);
}

static const char *cpus_in(const json_t *tree)
{
	static char cpus[256];
	const char *text = json_string_value(json_object_get(
		json_object_get(json_object_get(tree, "metadata"), "annotations"),
		NEAP_KEY_RESOURCE_STATUS));
	json_error_t where;
	json_t *status = NULL;

	cpus[0] = '\0';
	if (!text)
		return cpus;
	assert_int_equal(neap_json_parse(text, strlen(text), 0, &status, &where), 0);
	(void)snprintf(cpus, sizeof(cpus), "%s", kube_text(status, "cpuset"));
	json_decref(status);
	return cpus;
}

/* The CPUs of a pod that is bound, or will be. */
static const char *cpus_of(struct kube_rig *rig, const char *name)
{
	(void)schedule_wait_node(rig, name);
	return cpus_in(rig->body);
}

struct taken {
	char node[32];
	struct neap_cpuset cpus;
};

struct seen {
	struct taken nodes[8];
	size_t count, pods;
};

static bool take(void *arg, struct neap_object *object)
{
	struct seen *seen = arg;
	const char *node = neap_object_field(object, "spec.nodeName");
	json_t *tree = neap_object_tree(object);
	struct neap_cpuset set;
	size_t at = 0;

	assert_int_equal(neap_cpuset_parse(&set, cpus_in(tree), NULL), 0);
	json_decref(tree);
	if (!*node || neap_cpuset_is_empty(&set))
		return true;
	while (at < seen->count && strcmp(seen->nodes[at].node, node) != 0)
		at++;
	assert_true(at < 8);
	if (at == seen->count) {
		(void)snprintf(seen->nodes[at].node, sizeof(seen->nodes[at].node), "%s",
			       node);
		seen->count++;
	}
	if (neap_cpuset_intersects(&seen->nodes[at].cpus, &set))
		fail_msg("%s has CPUs of %s that another pod has, too", object->name,
			 node);
	neap_cpuset_or(&seen->nodes[at].cpus, &seen->nodes[at].cpus, &set);
	seen->pods++;
	return true;
}

/* No CPU of a node is in two pods; returns the number of pods that have some. */
static size_t check_all(struct kube_rig *rig)
{
	struct neap_store_place place = {0};
	struct seen *seen = calloc(1, sizeof(*seen));
	struct neap_error err = {0};
	size_t pods;

	assert_non_null(seen);
	assert_int_equal(
		neap_store_list(rig->store.store, "pods", NULL, &place, take, seen, &err),
		0);
	pods = seen->pods;
	free(seen);
	return pods;
}

/* --- in one write --- */

static void test_one_write(void **state)
{
	struct kube_rig *rig = *state;
	struct neap_store_watch *watch;
	struct neap_store_event *event;
	struct neap_error err = {0};
	bool is_seen = false;

	add_node(rig, "a", 4, "");
	assert_int_equal(neap_store_watch_new(rig->store.store, "pods",
					      neap_store_version(rig->store.store), NULL,
					      NULL, &watch, &err),
			 0);
	add_pod(rig, "p", 3);
	assert_string_equal(cpus_of(rig, "p"), "0-2");
	assert_string_equal(
		json_string_value(json_object_get(
			json_object_get(json_object_get(rig->body, "metadata"),
					"annotations"),
			NEAP_KEY_RESOURCE_SPEC)),
		"{\"preferredCPUBindPolicy\":\"FullPCPUs\"}");
	while (neap_store_watch_next(watch, &event, &err) > 0) {
		json_t *tree = neap_object_tree(event->object);

		if (*neap_object_field(event->object, "spec.nodeName")) {
			assert_string_equal(cpus_in(tree), "0-2");
			is_seen = true;
		} else {
			assert_string_equal(cpus_in(tree), "");
		}
		json_decref(tree);
	}
	assert_true(is_seen);
	neap_store_watch_free(watch);
}

/* Pods that ask for none get none, and say nothing. */
static void test_others_have_none(void **state)
{
	struct kube_rig *rig = *state;

	add_node(rig, "a", 4, "");
	schedule_add_pod(rig, "ls",
			 "'koordinator.sh/qosClass':'LS',"
			 "'koordinator.sh/priority-class':'koord-prod'",
			 "'cpu':'2'", "");
	schedule_add_pod(rig, "plain", "", "'cpu':'1500m'", "");
	assert_string_equal(cpus_of(rig, "ls"), "");
	assert_null(
		json_object_get(json_object_get(rig->body, "metadata"), "annotations"));
	assert_string_equal(cpus_of(rig, "plain"), "");
	/* What was copied from one that has CPUs is not its own. */
	add_pod(rig, "web", 2);
	assert_string_equal(cpus_of(rig, "web"), "0-1");
	add_noted(rig, "copy", "", "resource-status", "{\\'cpuset\\':\\'0-1\\'}");

	assert_string_equal(cpus_of(rig, "copy"), "");
	assert_null(json_object_get(kube_at(rig->body, "metadata.annotations"),
				    NEAP_KEY_RESOURCE_STATUS));
	assert_int_equal(check_all(rig), 1);
}

static void test_never_twice(void **state)
{
	struct kube_rig *rig = *state;
	char name[16];

	add_node(rig, "a", 8, "0-1");
	add_node(rig, "b", 8, "");
	add_node(rig, "c", 4, "");
	/* 14 + 16 + 8 CPUs for 19 pods of two. */
	for (int i = 0; i < 19; i++) {
		(void)snprintf(name, sizeof(name), "p%d", i);
		add_pod(rig, name, 2);
	}
	for (int i = 0; i < 19; i++) {
		(void)snprintf(name, sizeof(name), "p%d", i);
		assert_string_not_equal(cpus_of(rig, name), "");
	}
	assert_int_equal(check_all(rig), 19);
}

/* --- where there are too few --- */

static void test_waits_for_cpus(void **state)
{
	struct kube_rig *rig = *state;

	/* Of eight CPUs four are the kubelet's; the amounts know nothing of that. */
	add_node(rig, "a", 4, "0-3");
	add_pod(rig, "p", 2);
	assert_string_equal(cpus_of(rig, "p"), "4-5");
	add_pod(rig, "q", 4);
	schedule_wait_message(rig, "q", TOO_FEW);
	assert_int_equal(kube_ask(rig, "DELETE " PODS "/p?gracePeriodSeconds=0", NULL),
			 200);
	assert_string_equal(cpus_of(rig, "q"), "4-7");
	/* The kubelet gives some back. */
	add_pod(rig, "r", 2);
	schedule_wait_message(rig, "r", TOO_FEW);
	put_topology(rig, "a", 4, "0-1");
	assert_string_equal(cpus_of(rig, "r"), "2-3");
}

/* The best nodes have room, but not the CPUs; a node beyond the first look has. */
static void test_next_best(void **state)
{
	struct kube_rig *rig = *state;
	char name[8];

	for (int i = 0; i < NEAP_DECIDE_NODES_MIN + 10; i++) {
		(void)snprintf(name, sizeof(name), "n%d", i);
		add_node(rig, name, 16, "0-29");
	}
	add_node(rig, "z", 4, "");
	add_pod(rig, "p", 4);
	assert_string_equal(cpus_of(rig, "p"), "0-3");
	assert_string_equal(kube_text(rig->body, "spec.nodeName"), "z");
	add_pod(rig, "q", 5);
	schedule_wait_message(
		rig, "q",
		"0/111 nodes are available: 1 Insufficient cpu, 110 not enough cpus available "
		"to satisfy request.");
}

/* An annotation that cannot be read: it waits, and says which one. */
static void test_broken_annotation(void **state)
{
	struct kube_rig *rig = *state;

	add_node(rig, "a", 4, "");
	add_noted(rig, "p", LSR, "resource-spec", "{");

	schedule_until(rig, "GET " PODS "/p",
		       "status.conditions.0.message~" NEAP_KEY_RESOURCE_SPEC, NULL, NULL);
}

/* --- what happens between --- */

static bool is_created;

static void create(struct kube_rig *rig, const char *name,
		   void (*told)(void *arg, struct neap_object *object,
				const struct neap_client_failure *failure))
{
	struct neap_client_ask ask = {.resource = "pods",
				      .ns = "default",
				      .name = name,
				      .told = told,
				      .arg = rig};

	is_created = false;
	neap_client_create_take(
		rig->client, &ask,
		json_pack("{s:{s:s, s:{s:s, s:s}}, s:{s:s, s:[{s:s, s:s, s:{s:{s:s}, "
			  "s:{s:s}}}]}}",
			  "metadata", "name", name, "labels", "koordinator.sh/qosClass",
			  "LSR", "koordinator.sh/priority-class", "koord-prod", "spec",
			  "schedulerName", "neap-scheduler", "containers", "name", "c",
			  "image", "i", "resources", "requests", "cpu", "2", "limits",
			  "cpu", "2"));
	assert_true(comes_true_in(rig->base, is_created));
}

/* Before the scheduler hears of the new pod somebody else gives its CPUs away. */
static void bind_thief(void *arg, struct neap_object *object,
		       const struct neap_client_failure *failure)
{
	struct kube_rig *rig = arg;
	struct neap_client_ask ask = {
		.resource = "pods", .ns = "default", .name = "thief"};
	json_t *notes =
		json_pack("{s:s}", NEAP_KEY_RESOURCE_STATUS, "{\"cpuset\":\"0-1\"}");

	assert_non_null(object);
	assert_null(failure);
	is_created = true;
	neap_client_bind(
		rig->client, &ask,
		&(struct neap_client_binding){.node = "a", .annotations = notes});
	json_decref(notes);
}

static void test_refused_by_conflict(void **state)
{
	struct kube_rig *rig = *state;

	add_node(rig, "a", 4, "");
	schedule_add_pod(rig, "first", "", "'cpu':'1'", "");
	assert_string_equal(schedule_wait_node(rig, "first"), "a");
	assert_int_equal(kube_ask(rig, "POST " PODS,
				  "{'metadata':{'name':'thief'},'spec':{'schedulerName':"
				  "'nobody','containers':[{'name':'c','image':'i'}]}}"),
			 201);
	create(rig, "p", bind_thief);
	assert_string_equal(cpus_of(rig, "p"), "4-5");
	schedule_until(rig, "GET /api/v1/events?fieldSelector=reason=FailedScheduling",
		       "items.0.message=Operation cannot be fulfilled on pods/binding "
		       "\"p\": CPU 0 of node a is given to pod default/thief already",
		       "items.0.involvedObject.name=p", NULL);
	assert_int_equal(check_all(rig), 2);
	/* Nothing of the refused binding is left. */
	add_pod(rig, "q", 4);
	assert_string_equal(cpus_of(rig, "q"), "2-3,6-7");
}

static void delete_node(void *arg, struct neap_object *object,
			const struct neap_client_failure *failure)
{
	struct neap_client_ask ask = {.resource = "nodes", .ns = "", .name = "a"};
	struct kube_rig *rig = arg;

	assert_non_null(object);
	assert_null(failure);
	is_created = true;
	neap_client_delete(rig->client, &ask, NULL, -1);
}

static void test_node_goes(void **state)
{
	struct kube_rig *rig = *state;

	add_node(rig, "a", 4, "");
	schedule_add_pod(rig, "first", "", "'cpu':'1'", "");
	assert_string_equal(schedule_wait_node(rig, "first"), "a");
	create(rig, "p", delete_node);
	schedule_wait_message(rig, "p", "no nodes available to schedule pods");
	schedule_add_node(rig, "a", "", "", "'cpu':'8'");
	assert_string_equal(cpus_of(rig, "p"), "0-1");
	add_pod(rig, "q", 6);
	schedule_wait_message(rig, "q", "0/1 nodes are available: 1 Insufficient cpu.");
	add_pod(rig, "r", 4);
	assert_string_equal(cpus_of(rig, "r"), "4-7");
}

static void note_created(void *arg, struct neap_object *object,
			 const struct neap_client_failure *failure)
{
	(void)arg;
	assert_non_null(object);
	assert_null(failure);
	is_created = true;
}

/* As it is accepted; that may not be shown yet. */
static bool is_placed(struct kube_rig *rig)
{
	struct neap_object *object =
		neap_store_newest(rig->store.store, "pods", "default", "p");

	assert_non_null(object);
	return *neap_object_field(object, "spec.nodeName") != '\0';
}

/* Accepted, not shown yet: the new scheduler sees the pod unplaced and its CPUs free. */
static void test_restart(void **state)
{
	struct kube_rig *rig = *state;

	add_node(rig, "a", 4, "");
	create(rig, "p", note_created);
	assert_true(comes_true_in(rig->base, is_placed(rig)));
	assert_string_equal(neap_object_field(neap_store_find(rig->store.store, "pods",
							      "default", "p"),
					      "spec.nodeName"),
			    "");
	schedule_stop();
	schedule_start(rig);
	add_pod(rig, "q", 2);
	add_pod(rig, "r", 4);
	assert_string_not_equal(cpus_of(rig, "p"), "");
	assert_string_not_equal(cpus_of(rig, "q"), "");
	assert_string_not_equal(cpus_of(rig, "r"), "");
	assert_int_equal(check_all(rig), 3);
	/* And one that reads all of it again. */
	schedule_stop();
	schedule_start(rig);
	add_pod(rig, "s", 1);
	schedule_wait_message(rig, "s", "0/1 nodes are available: 1 Insufficient cpu.");
}

static void create_pod(struct kube_rig *rig, const char *name, const char *spec,
		       const char *cpus, const char *priority_class)
{
	struct neap_client_ask ask = {.resource = "pods", .ns = "default", .name = name};

	neap_client_create_take(
		rig->client, &ask,
		json_pack("{s:{s:s, s:{s:s, s:s}, s:{s:s}}, s:{s:s, s:s, s:[{s:s, s:s, "
			  "s:{s:{s:s}, s:{s:s}}}]}}",
			  "metadata", "name", name, "labels", "koordinator.sh/qosClass",
			  "LSR", "koordinator.sh/priority-class", "koord-prod",
			  "annotations", NEAP_KEY_RESOURCE_SPEC, spec, "spec",
			  "schedulerName", "neap-scheduler", "priorityClassName",
			  priority_class, "containers", "name", "c", "image", "i",
			  "resources", "requests", "cpu", cpus, "limits", "cpu", cpus));
}

/* Room is made for one, and at once somebody else comes who would fit into what is free:
 * as amounts go, into all of it. */
static void test_kept_for_whom_room_is_made(void **state)
{
	static const char full[] = "{\"requiredCPUBindPolicy\":\"FullPCPUs\"}";
	struct kube_rig *rig = *state;

	assert_int_equal(kube_ask(rig, "POST /apis/scheduling.k8s.io/v1/priorityclasses",
				  "{'metadata':{'name':'high'},'value':1000}"),
			 201);
	assert_int_equal(kube_ask(rig, "POST /apis/scheduling.k8s.io/v1/priorityclasses",
				  "{'metadata':{'name':'middle'},'value':100}"),
			 201);
	add_node(rig, "a", 4, "0-3");
	add_pod(rig, "low", 2);
	assert_string_equal(cpus_of(rig, "low"), "4-5");
	create_pod(rig, "high", full, "4", "high");
	create_pod(rig, "sneaks", "{}", "2", "middle");
	kube_until(rig, &(struct kube_step){"GET " PODS "/high",
					    NULL,
					    200,
					    {"status.nominatedNodeName=a"}});
	schedule_wait_message(rig, "sneaks", TOO_FEW);
	assert_int_equal(kube_ask(rig, "GET " PODS "/low", NULL), 200);
	assert_null(kube_differs(rig->body, "metadata.deletionGracePeriodSeconds=30"));
	assert_int_equal(kube_ask(rig, "DELETE " PODS "/low?gracePeriodSeconds=0", NULL),
			 200);
	assert_string_equal(cpus_of(rig, "high"), "4-7");
	assert_int_equal(kube_ask(rig, "DELETE " PODS "/high?gracePeriodSeconds=0", NULL),
			 200);
	assert_string_equal(cpus_of(rig, "sneaks"), "4-5");
}

static int told_count, refused_count;

static void told(void *arg, const char *trouble)
{
	(void)arg;
	told_count++;
	refused_count += trouble != NULL;
}

/* A kube-scheduler binds its pods through the extender while the loop places its own. */
static void test_extender_beside(void **state)
{
	struct kube_rig *rig = *state;
	char name[16], body[512], uid[8][64];

	add_node(rig, "a", 8, "");
	schedule_add_pod(rig, "first", "", "'cpu':'0'", "");
	assert_string_equal(schedule_wait_node(rig, "first"), "a");
	for (int i = 0; i < 8; i++) {
		(void)snprintf(body, sizeof(body),
			       "{'metadata':{'name':'x%d','labels':{" LSR
			       "}},'spec':{'schedulerName':'default-scheduler',"
			       "'containers':[{'name':'c','image':'i','resources':{"
			       "'requests':{'cpu':'1'},'limits':{'cpu':'1'}}}]}}",
			       i);
		assert_int_equal(kube_ask(rig, "POST " PODS, body), 201);
		(void)snprintf(uid[i], sizeof(uid[i]), "%s",
			       kube_text(rig->body, "metadata.uid"));
	}
	told_count = refused_count = 0;
	for (int i = 0; i < 4; i++) {
		(void)snprintf(name, sizeof(name), "p%d", i);
		create(rig, name, note_created);
		for (int n = 0; n < 2; n++) {
			struct neap_schedule_binding binding = {.ns = "default",
								.name = name,
								.uid = uid[i * 2 + n],
								.node = "a",
								.told = told};

			(void)snprintf(name, sizeof(name), "x%d", i * 2 + n);
			neap_scheduler_bind(schedule_scheduler, &binding);
		}
	}
	assert_true(comes_true_in(rig->base, told_count == 8));
	assert_int_equal(refused_count, 0);
	for (int i = 0; i < 8; i++) {
		(void)snprintf(name, sizeof(name), "x%d", i);
		assert_string_not_equal(cpus_of(rig, name), "");
	}
	for (int i = 0; i < 4; i++) {
		(void)snprintf(name, sizeof(name), "p%d", i);
		assert_string_not_equal(cpus_of(rig, name), "");
	}
	assert_int_equal(check_all(rig), 12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_write),
		TEST(others_have_none),
		TEST(never_twice),
		TEST(waits_for_cpus),
		TEST(next_best),
		TEST(broken_annotation),
		TEST(refused_by_conflict),
		TEST(node_goes),
		TEST(restart),
		TEST(kept_for_whom_room_is_made),
		TEST(extender_beside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
