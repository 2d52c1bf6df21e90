/* SPDX-License-Identifier: Apache-2.0
 *
 * A CPU that a pod has by its annotation resource-status is given to no other pod of its
 * node. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/client/client.h"
#include "t/lib/kube_rig.h"
#include "t/lib/patience.h"

#define PODS   "/api/v1/namespaces/default/pods"
#define STATUS "scheduling.koordinator.sh/resource-status"

#define TEST(name)                                                                       \
	cmocka_unit_test_setup_teardown(test_##name, kube_rig_setup, kube_rig_teardown)

static void must(struct kube_rig *rig, const char *ask, const char *body, int wanted)
{
	int status = kube_ask(rig, ask, body);

	if (status != wanted)
		fail_msg("%s: %d %s", ask, status, kube_text(rig->body, "message"));
}

static void add_pod(struct kube_rig *rig, const char *name)
{
	char body[512];

	(void)snprintf(body, sizeof(body),
		       "{'metadata':{'name':'%s'},'spec':{'containers':[{'name':'c',"
		       "'image':'i'}]}}",
		       name);
	must(rig, "POST " PODS, body, 201);
}

/* cpus "": no annotation. */
static void bind_pod(struct kube_rig *rig, const char *name, const char *node,
		     const char *cpus, int wanted)
{
	char ask[256], body[512], note[256] = "";

	if (*cpus)
		(void)snprintf(note, sizeof(note),
			       ",'annotations':{'" STATUS "':'{\\'cpuset\\':\\'%s\\'}'}",
			       cpus);
	(void)snprintf(ask, sizeof(ask), "POST " PODS "/%s/binding", name);
	(void)snprintf(body, sizeof(body),
		       "{'metadata':{'name':'%s'%s},'target':{'kind':'Node','name':"
		       "'%s'}}",
		       name, note, node);
	must(rig, ask, body, wanted);
}

static void annotate(struct kube_rig *rig, const char *name, const char *cpus, int wanted)
{
	char ask[256], body[512];

	(void)snprintf(ask, sizeof(ask), "MERGE " PODS "/%s", name);
	(void)snprintf(body, sizeof(body),
		       "{'metadata':{'annotations':{'" STATUS
		       "':'{\\'cpuset\\':\\'%s\\'}'}}}",
		       cpus);
	must(rig, ask, body, wanted);
}

static void finish(struct kube_rig *rig, const char *name)
{
	char ask[256];

	(void)snprintf(ask, sizeof(ask), "MERGE " PODS "/%s/status", name);
	must(rig, ask, "{'status':{'phase':'Succeeded'}}", 200);
}

static void test_binding_is_refused(void **state)
{
	struct kube_rig *rig = *state;

	add_pod(rig, "a");
	add_pod(rig, "b");
	bind_pod(rig, "a", "n1", "0-3", 201);
	bind_pod(rig, "b", "n1", "3-5", 409);
	assert_string_equal(kube_text(rig->body, "message"),
			    "Operation cannot be fulfilled on pods/binding \"b\": CPU 3 "
			    "of node n1 is given to pod default/a already");
	assert_string_equal(kube_text(rig->body, "reason"), "Conflict");
	must(rig, "GET " PODS "/b", NULL, 200);
	assert_string_equal(kube_text(rig->body, "spec.nodeName"), "");
	bind_pod(rig, "b", "n1", "4-5", 201);
	add_pod(rig, "c");
	bind_pod(rig, "c", "n2", "0-5", 201);
	add_pod(rig, "d");
	bind_pod(rig, "d", "n1", "", 201);
	/* Beside one that no machine has. */
	add_pod(rig, "e");
	bind_pod(rig, "e", "n1", "4,9000", 409);
	bind_pod(rig, "e", "n1", "6,9000", 201);
	add_pod(rig, "f");
	bind_pod(rig, "f", "n1", "6", 409);
}

static void test_dry_binding_is_refused(void **state)
{
	struct kube_rig *rig = *state;

	add_pod(rig, "a");
	add_pod(rig, "b");
	bind_pod(rig, "a", "n1", "0", 201);
	must(rig, "POST " PODS "/b/binding?dryRun=All",
	     "{'metadata':{'name':'b','annotations':{'" STATUS
	     "':'{\\'cpuset\\':\\'0\\'}'}},'target':{'name':'n1'}}",
	     409);
}

static void test_gone_pods_have_none(void **state)
{
	struct kube_rig *rig = *state;

	add_pod(rig, "a");
	add_pod(rig, "b");
	add_pod(rig, "c");
	bind_pod(rig, "a", "n1", "0-1", 201);
	finish(rig, "a");
	bind_pod(rig, "b", "n1", "0-1", 201);
	bind_pod(rig, "c", "n1", "1", 409);
	must(rig, "DELETE " PODS "/b?gracePeriodSeconds=0", NULL, 200);
	bind_pod(rig, "c", "n1", "1", 201);
}

static void test_annotation_is_refused(void **state)
{
	struct kube_rig *rig = *state;

	add_pod(rig, "a");
	add_pod(rig, "b");
	bind_pod(rig, "a", "n1", "0-3", 201);
	bind_pod(rig, "b", "n1", "4-5", 201);
	annotate(rig, "b", "2", 409);
	assert_string_equal(kube_text(rig->body, "message"),
			    "Operation cannot be fulfilled on pods \"b\": CPU 2 of node "
			    "n1 is given to pod default/a already");
	annotate(rig, "b", "5-7", 200);
	/* Its own are no matter, and not those that it had. */
	annotate(rig, "b", "6", 200);
	annotate(rig, "a", "0-5", 200);
	must(rig, "MERGE " PODS "/a", "{'metadata':{'labels':{'x':'y'}}}", 200);
	annotate(rig, "a", "5-6", 409);
}

/* A pod that says it before it is on a node has nothing yet. */
static void test_created_with_cpus(void **state)
{
	struct kube_rig *rig = *state;
	static const char with[] =
		"{'metadata':{'name':'%s','annotations':{'" STATUS
		"':'{\\'cpuset\\':\\'0\\'}'}},'spec':{%s'containers':[{'name':'c',"
		"'image':'i'}]}}";
	char body[512];

	(void)snprintf(body, sizeof(body), with, "waits", "");
	must(rig, "POST " PODS, body, 201);
	(void)snprintf(body, sizeof(body), with, "placed", "'nodeName':'n1',");
	must(rig, "POST " PODS, body, 201);
	(void)snprintf(body, sizeof(body), with, "second", "'nodeName':'n1',");
	must(rig, "POST " PODS, body, 409);
	assert_string_equal(kube_text(rig->body, "message"),
			    "Operation cannot be fulfilled on pods \"second\": CPU 0 of "
			    "node n1 is given to pod default/placed already");
	bind_pod(rig, "waits", "n1", "", 409);
	bind_pod(rig, "waits", "n2", "", 201);
}

/* What cannot be read gives nobody a CPU, and does not stop anybody. */
static void test_broken_lists(void **state)
{
	struct kube_rig *rig = *state;

	add_pod(rig, "a");
	add_pod(rig, "b");
	add_pod(rig, "c");
	bind_pod(rig, "a", "n1", "0,,x", 201);
	bind_pod(rig, "b", "n1", "0-1", 201);
	must(rig, "MERGE " PODS "/a", "{'metadata':{'annotations':{'" STATUS "':'{'}}}",
	     200);
	bind_pod(rig, "c", "n1", "0", 409);
}

/* Both are accepted in one turn of the loop: nothing of the first is to be seen yet. */
static int answered[2];

static void told(void *arg, struct neap_object *object,
		 const struct neap_client_failure *failure)
{
	int *status = arg;

	*status = object ? 201 : failure->code;
}

static void test_both_at_once(void **state)
{
	struct kube_rig *rig = *state;
	json_t *notes = json_pack("{s:s}", STATUS, "{\"cpuset\":\"1-2\"}");

	add_pod(rig, "a");
	add_pod(rig, "b");
	memset(answered, 0, sizeof(answered));
	for (int i = 0; i < 2; i++) {
		struct neap_client_ask ask = {.resource = "pods",
					      .ns = "default",
					      .name = i ? "b" : "a",
					      .told = told,
					      .arg = &answered[i]};

		neap_client_bind(rig->client, &ask,
				 &(struct neap_client_binding){.node = "n1",
							       .annotations = notes});
	}
	json_decref(notes);
	assert_int_equal(answered[1], 409);
	for (int i = 0; i < PATIENCE_MS && !answered[0]; i++)
		kube_run(rig, 1);
	assert_int_equal(answered[0], 201);
}

/* Those that were there before anybody asked for CPUs count, and what is missed is read
 * again. */
static void test_many_that_were_there(void **state)
{
	struct kube_rig *rig = *state;
	char name[32], cpus[32];

	for (int i = 0; i < 40; i++) {
		(void)snprintf(name, sizeof(name), "p%d", i);
		(void)snprintf(cpus, sizeof(cpus), "%d", i);
		add_pod(rig, name);
		bind_pod(rig, name, "n1", cpus, 201);
	}
	add_pod(rig, "late");
	bind_pod(rig, "late", "n1", "100,17", 409);
	/* More than the store remembers. */
	for (int i = 0; i < 300; i++) {
		char body[4300];

		(void)snprintf(body, sizeof(body),
			       "{'metadata':{'annotations':{'x':'%04000d'}}}", i);
		must(rig, "MERGE " PODS "/late", body, 200);
	}
	bind_pod(rig, "late", "n1", "100,17", 409);
	bind_pod(rig, "late", "n1", "100", 201);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(binding_is_refused),  TEST(dry_binding_is_refused),
		TEST(gone_pods_have_none), TEST(annotation_is_refused),
		TEST(created_with_cpus),   TEST(broken_lists),
		TEST(both_at_once),        TEST(many_that_were_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
