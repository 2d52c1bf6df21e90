/* SPDX-License-Identifier: Apache-2.0
 *
 * What goes when something else has gone: owners and their dependents, namespaces and
 * what is in them. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/task/task.h"
#include "engine/base/mem.h"
#include "t/lib/kube_rig.h"
#include "t/lib/patience.h"

#define STEPS(rig, steps) kube_steps(rig, steps, NEAP_ARRAY_LEN(steps))
#define TEST(name)                                                                       \
	cmocka_unit_test_setup_teardown(test_##name, kube_rig_setup, kube_rig_teardown)

#define MAPS  "/api/v1/namespaces/default/configmaps"
#define PODS  "/api/v1/namespaces/default/pods"
#define SETS  "/apis/apps/v1/namespaces/default/replicasets"
#define OTHER "/api/v1/namespaces/other"

/* A ConfigMap; its uid into buf. */
static const char *add_map(struct kube_rig *rig, const char *path, const char *name,
			   const char *owner, const char *owner_uid,
			   const char *second_uid, char *buf)
{
	char body[1024], ask[256], owners[512] = "";

	if (owner != NULL)
		(void)snprintf(owners, sizeof(owners),
			       ",'ownerReferences':[{'apiVersion':'v1','kind':"
			       "'ConfigMap','name':'%s','uid':'%s'}%s%s%s]",
			       owner, owner_uid,
			       second_uid ? ",{'apiVersion':'v1','kind':'ConfigMap',"
					    "'name':'second','uid':'"
					  : "",
			       second_uid ? second_uid : "", second_uid ? "'}" : "");
	(void)snprintf(body, sizeof(body), "{'metadata':{'name':'%s'%s}}", name, owners);
	(void)snprintf(ask, sizeof(ask), "POST %s", path);
	if (kube_ask(rig, ask, body) != 201)
		fail_msg("%s: %s", name, kube_text(rig->body, "message"));
	(void)snprintf(buf, 64, "%s", kube_text(rig->body, "metadata.uid"));
	return buf;
}

static void wait_gone(struct kube_rig *rig, const char *path)
{
	char ask[256];
	struct kube_step step = {ask, NULL, 404, {NULL}};

	(void)snprintf(ask, sizeof(ask), "GET %s", path);
	kube_until(rig, &step);
}

static void must_stay(struct kube_rig *rig, const char *path)
{
	char ask[256];

	kube_run(rig, 60);
	(void)snprintf(ask, sizeof(ask), "GET %s", path);
	assert_int_equal(kube_ask(rig, ask, NULL), 200);
}

/* Background: children and theirs go; who has another owner stays and loses the
 * reference. */
static void test_background(void **state)
{
	struct kube_rig *rig = *state;
	char a[64], b[64], second[64], other[64];

	add_map(rig, MAPS, "a", NULL, NULL, NULL, a);
	add_map(rig, MAPS, "second", NULL, NULL, NULL, second);
	add_map(rig, MAPS, "b", "a", a, NULL, b);
	add_map(rig, MAPS, "c", "b", b, NULL, other);
	add_map(rig, MAPS, "two", "a", a, second, other);
	add_map(rig, MAPS, "free", NULL, NULL, NULL, other);
	must_stay(rig, MAPS "/c");
	assert_int_equal(kube_ask(rig, "DELETE " MAPS "/a", NULL), 200);
	wait_gone(rig, MAPS "/b");
	wait_gone(rig, MAPS "/c");
	kube_until(rig, &(struct kube_step){"GET " MAPS "/two",
					    NULL,
					    200,
					    {"#metadata.ownerReferences=1",
					     "metadata.ownerReferences.0.name=second"}});
	must_stay(rig, MAPS "/free");
	assert_int_equal(kube_ask(rig, "DELETE " MAPS "/second", NULL), 200);
	wait_gone(rig, MAPS "/two");
	assert_int_equal(neap_kube_collect_count(rig->collect), 4);
}

static void test_orphan(void **state)
{
	struct kube_rig *rig = *state;
	char a[64], other[64];

	add_map(rig, MAPS, "a", NULL, NULL, NULL, a);
	add_map(rig, MAPS, "b", "a", a, NULL, other);
	assert_int_equal(
		kube_ask(rig, "DELETE " MAPS "/a", "{'propagationPolicy':'Orphan'}"),
		200);
	assert_string_not_equal(kube_text(rig->body, "metadata.deletionTimestamp"), "");
	wait_gone(rig, MAPS "/a");
	kube_until(rig,
		   &(struct kube_step){
			   "GET " MAPS "/b", NULL, 200, {"!metadata.ownerReferences"}});
	must_stay(rig, MAPS "/b");
	assert_int_equal(
		kube_ask(rig, "DELETE " MAPS "/b", "{'propagationPolicy':'Foreground'}"),
		400);
}

/* An owner that is no more, another of its name, or one that is added later. */
static void test_missing_owner(void **state)
{
	struct kube_rig *rig = *state;
	char a[64], other[64], body[512];

	add_map(rig, MAPS, "a", NULL, NULL, NULL, a);
	add_map(rig, MAPS, "b", "a", "00000000-0000-0000-0000-000000000000", NULL, other);
	wait_gone(rig, MAPS "/b");
	add_map(rig, MAPS, "c", NULL, NULL, NULL, other);
	(void)snprintf(body, sizeof(body),
		       "{'metadata':{'ownerReferences':[{'apiVersion':'v1','kind':"
		       "'ConfigMap','name':'nobody','uid':'u'}]}}");
	assert_int_equal(kube_ask(rig, "MERGE " MAPS "/c", body), 200);
	wait_gone(rig, MAPS "/c");
	/* Of a kind that is not known it is taken to be there. */
	assert_int_equal(kube_ask(rig, "POST " MAPS,
				  "{'metadata':{'name':'d','ownerReferences':[{"
				  "'apiVersion':'x.example/v1','kind':'Thing','name':'t',"
				  "'uid':'u'}]}}"),
			 201);
	must_stay(rig, MAPS "/d");
}

/* A reference to what is in a namespace, from what is in none: it says nothing, and an
 * event tells so. From elsewhere it names nobody. */
static void test_scope(void **state)
{
	struct kube_rig *rig = *state;
	char a[64], b[64], body[512];

	add_map(rig, MAPS, "a", NULL, NULL, NULL, a);
	(void)snprintf(body, sizeof(body),
		       "{'metadata':{'name':'n','ownerReferences':[{'apiVersion':'v1',"
		       "'kind':'ConfigMap','name':'a','uid':'%s'}]}}",
		       a);
	assert_int_equal(kube_ask(rig, "POST /api/v1/nodes", body), 201);
	assert_int_equal(
		kube_ask(rig, "POST /api/v1/nodes",
			 "{'metadata':{'name':'m','ownerReferences':[{'apiVersion':'v1',"
			 "'kind':'Pod','name':'none','uid':'u'}]}}"),
		201);
	kube_until(rig,
		   &(struct kube_step){
			   "GET /api/v1/namespaces/default/events?fieldSelector="
			   "involvedObject.name%3Dn",
			   NULL,
			   200,
			   {"#items=1", "items.0.reason=OwnerRefInvalidNamespace",
			    "items.0.type=Warning", "items.0.involvedObject.kind=Node",
			    "items.0.message~does not exist in namespace \"\""}});
	must_stay(rig, "/api/v1/nodes/m");
	assert_int_equal(kube_ask(rig, "DELETE " MAPS "/a", NULL), 200);
	must_stay(rig, "/api/v1/nodes/n");
	/* The same of a cluster-scoped owner, which counts. */
	assert_int_equal(kube_ask(rig, "GET /api/v1/nodes/m", NULL), 200);
	(void)snprintf(b, sizeof(b), "%s", kube_text(rig->body, "metadata.uid"));
	(void)snprintf(body, sizeof(body),
		       "{'metadata':{'name':'d','ownerReferences':[{'apiVersion':'v1',"
		       "'kind':'Node','name':'m','uid':'%s'}]}}",
		       b);
	assert_int_equal(kube_ask(rig, "POST " MAPS, body), 201);
	must_stay(rig, MAPS "/d");
	assert_int_equal(kube_ask(rig, "DELETE /api/v1/nodes/m", NULL), 200);
	wait_gone(rig, MAPS "/d");
	/* In another namespace there is none of the name. */
	assert_int_equal(
		kube_ask(rig, "POST /api/v1/namespaces", "{'metadata':{'name':'other'}}"),
		201);
	add_map(rig, MAPS, "a", NULL, NULL, NULL, a);
	add_map(rig, OTHER "/configmaps", "x", "a", a, NULL, b);
	wait_gone(rig, OTHER "/configmaps/x");
	kube_until(rig,
		   &(struct kube_step){
			   "GET " OTHER "/events?fieldSelector=involvedObject.name%3Dx",
			   NULL,
			   200,
			   {"#items=1", "items.0.reason=OwnerRefInvalidNamespace",
			    "items.0.involvedObject.kind=ConfigMap",
			    "items.0.message~does not exist in namespace \"other\""}});
	must_stay(rig, MAPS "/a");
}

/* Pods of a ReplicaSet: those on a node get their time. */
static void test_pods(void **state)
{
	struct kube_rig *rig = *state;
	char body[1024], uid[64];

	assert_int_equal(
		kube_ask(rig, "POST " SETS,
			 "{'metadata':{'name':'rs'},'spec':{'selector':{'matchLabels':{"
			 "'a':'b'}},'template':{'metadata':{'labels':{'a':'b'}},'spec':{"
			 "'containers':[{'name':'c','image':'i'}]}}}}"),
		201);
	(void)snprintf(uid, sizeof(uid), "%s", kube_text(rig->body, "metadata.uid"));
	for (int i = 0; i < 2; i++) {
		(void)snprintf(body, sizeof(body),
			       "{'metadata':{'name':'p%d','ownerReferences':[{"
			       "'apiVersion':'apps/v1','kind':'ReplicaSet','name':'rs',"
			       "'uid':'%s','controller':true}]},'spec':{%s'containers':[{"
			       "'name':'c','image':'i'}]}}",
			       i, uid, i ? "'nodeName':'n'," : "");
		assert_int_equal(kube_ask(rig, "POST " PODS, body), 201);
	}
	assert_int_equal(kube_ask(rig, "DELETE " SETS "/rs", NULL), 200);
	wait_gone(rig, PODS "/p0");
	kube_until(rig, &(struct kube_step){"GET " PODS "/p1",
					    NULL,
					    200,
					    {"metadata.deletionTimestamp",
					     "metadata.deletionGracePeriodSeconds=30"}});
	assert_int_equal(kube_ask(rig, "DELETE " PODS "/p1", "{'gracePeriodSeconds':0}"),
			 200);
	wait_gone(rig, PODS "/p1");
}

static void test_namespace(void **state)
{
	static const struct kube_step steps[] = {
		{"POST /api/v1/namespaces", "{'metadata':{'name':'other'}}", 201, {NULL}},
		{"POST " OTHER "/configmaps", "{'metadata':{'name':'a'}}", 201, {NULL}},
		{"POST " OTHER "/configmaps",
		 "{'metadata':{'name':'held','finalizers':['a.b/c']}}",
		 201,
		 {NULL}},
		{"POST " MAPS, "{'metadata':{'name':'a'}}", 201, {NULL}},
		{"DELETE " OTHER,
		 NULL,
		 200,
		 {"kind=Namespace", "status.phase=Terminating",
		  "metadata.deletionTimestamp"}},
		{"POST " OTHER "/configmaps",
		 "{'metadata':{'name':'b'}}",
		 403,
		 {"reason=Forbidden"}},
		{"DELETE " OTHER, NULL, 200, {"status.phase=Terminating"}},
	};
	struct kube_rig *rig = *state;

	STEPS(rig, steps);
	wait_gone(rig, OTHER "/configmaps/a");
	kube_until(rig, &(struct kube_step){"GET " OTHER "/configmaps/held",
					    NULL,
					    200,
					    {"metadata.deletionTimestamp"}});
	must_stay(rig, OTHER);
	assert_int_equal(kube_ask(rig, "MERGE " OTHER "/configmaps/held",
				  "{'metadata':{'finalizers':null}}"),
			 200);
	wait_gone(rig, OTHER);
	must_stay(rig, MAPS "/a");
	/* An empty one, and one of many pieces. */
	assert_int_equal(
		kube_ask(rig, "POST /api/v1/namespaces", "{'metadata':{'name':'other'}}"),
		201);
	assert_int_equal(kube_ask(rig, "DELETE " OTHER, NULL), 200);
	wait_gone(rig, OTHER);
	assert_int_equal(
		kube_ask(rig, "POST /api/v1/namespaces", "{'metadata':{'name':'other'}}"),
		201);
	for (int i = 0; i < 3 * NEAP_KUBE_COLLECT_PIECE / 2; i++) {
		char body[64];

		(void)snprintf(body, sizeof(body), "{'metadata':{'name':'m%d'}}", i);
		assert_int_equal(kube_ask(rig, "POST " OTHER "/configmaps", body), 201);
	}
	assert_int_equal(kube_ask(rig, "DELETE " OTHER, NULL), 200);
	wait_gone(rig, OTHER);
	assert_int_equal(neap_store_count(rig->store.store, "configmaps"), 1);
}

/* One of many owners, and so of a long text, is as much as several others: so many
 * slices more, for their counting as for the look at them. */
static void test_many_owners(void **state)
{
	enum {
		OWNERS = 320,
		COUNT = 60,
		SLICES = COUNT * (OWNERS / 16 + OWNERS * 64 / 2048) /
			 NEAP_KUBE_COLLECT_PIECE
	};
	neap_auto_buf struct neap_buf body = {0};
	struct kube_rig *rig = *state;
	struct neap_error err = {0};
	uint64_t before;

	for (int i = 0; i < COUNT; i++) {
		neap_buf_init(&body, 1024 * 1024);
		neap_buf_addf(&body, "{'metadata':{'name':'m%d','ownerReferences':[", i);
		for (int k = 0; k < OWNERS; k++)
			neap_buf_addf(&body,
				      "%s{'apiVersion':'x.io/v1','kind':'Nobody','name':"
				      "'n','uid':'u%d'}",
				      k > 0 ? "," : "", k);
		neap_buf_adds(&body, "]}}");
		assert_int_equal(kube_ask(rig, "POST " MAPS, body.data), 201);
		neap_buf_done(&body);
	}
	neap_kube_collect_free(rig->collect);
	before = neap_tasks_count(neap_kube_tasks(rig->kube));
	assert_int_equal(neap_kube_collect_new(rig->kube, &rig->collect, &err), 0);
	while (!kube_is_at_rest(rig))
		;
	assert_in_range(neap_tasks_count(neap_kube_tasks(rig->kube)) - before, 2 * SLICES,
			INT_MAX);
	must_stay(rig, MAPS "/m0");
}

/* Dependents of very many are let go, and so are these: in pieces. */
static void test_many_orphans(void **state)
{
	enum { COUNT = 2 * NEAP_KUBE_COLLECT_PIECE + 1 };
	struct kube_rig *rig = *state;
	struct neap_tasks *tasks = neap_kube_tasks(rig->kube);
	struct neap_error err = {0};
	const int64_t end =
		neap_clock_usec(CLOCK_MONOTONIC) + PATIENCE_MS * INT64_C(1000);
	char name[32], uid[64];

	for (int i = 0; i < COUNT; i++) {
		(void)snprintf(name, sizeof(name), "m%d", i);
		add_map(rig, MAPS, name, NULL, NULL, NULL, uid);
	}
	neap_kube_collect_free(rig->collect);
	rig->collect = NULL;
	assert_int_equal(kube_ask(rig, "DELETE " MAPS, "{'propagationPolicy':'Orphan'}"),
			 200);
	assert_int_equal(neap_store_count(rig->store.store, "configmaps"), COUNT);
	assert_int_equal(neap_kube_collect_new(rig->kube, &rig->collect, &err), 0);
	neap_tasks_set_times(tasks, 0, 0); /* a slice a turn */
	while (neap_store_count(rig->store.store, "configmaps")) {
		const uint64_t count = neap_kube_collect_count(rig->collect),
			       slices = neap_tasks_count(tasks);

		assert_int_not_equal(
			event_base_loop(rig->base, EVLOOP_ONCE | EVLOOP_NONBLOCK), -1);
		assert_true(neap_kube_collect_count(rig->collect) - count <=
			    (neap_tasks_count(tasks) - slices) * NEAP_KUBE_COLLECT_PIECE);
		assert_true(neap_clock_usec(CLOCK_MONOTONIC) < end);
		(void)usleep(100);
	}
	assert_int_equal(neap_kube_collect_count(rig->collect), COUNT);
}

/* What was half done goes on with the next start. */
static void test_restart(void **state)
{
	struct kube_rig *rig = *state;
	struct neap_error err = {0};
	char a[64], other[64];

	add_map(rig, MAPS, "a", NULL, NULL, NULL, a);
	add_map(rig, MAPS, "b", "a", a, NULL, other);
	assert_int_equal(
		kube_ask(rig, "POST /api/v1/namespaces", "{'metadata':{'name':'other'}}"),
		201);
	add_map(rig, OTHER "/configmaps", "x", NULL, NULL, NULL, other);
	neap_kube_collect_free(rig->collect);
	assert_int_equal(kube_ask(rig, "DELETE " MAPS "/a", NULL), 200);
	assert_int_equal(kube_ask(rig, "DELETE " OTHER, NULL), 200);
	must_stay(rig, MAPS "/b");
	assert_int_equal(neap_kube_collect_new(rig->kube, &rig->collect, &err), 0);
	wait_gone(rig, MAPS "/b");
	wait_gone(rig, OTHER);
}

/* References that say the same are one, with a warning; what differs stays. */
#define REF(uid, more)                                                                   \
	"{'apiVersion':'v1','kind':'Node','name':'n','uid':'" uid "'" more "}"

static void test_same_owner(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " MAPS "?dryRun=All",
		 "{'metadata':{'name':'m','ownerReferences':[" REF("u", "") "," REF(
			 "v", "") "," REF("u", "") "," REF("u",
							   ",'controller':true") "]}}",
		 201,
		 {"#metadata.ownerReferences=3", "metadata.ownerReferences.1.uid=v",
		  "metadata.ownerReferences.2.controller=true"}},
		{"POST " MAPS "?dryRun=All",
		 "{'metadata':{'name':'m','ownerReferences':[" REF(
			 "u", ",'controller':true") "," REF("u",
							    ",'controller':true") "]}}",
		 201,
		 {"#metadata.ownerReferences=1"}},
		{"POST " MAPS "?dryRun=All",
		 "{'metadata':{'name':'m','ownerReferences':[" REF(
			 "u", ",'controller':true") "," REF("v",
							    ",'controller':true") "]}}",
		 422,
		 {NULL}},
		{"POST " MAPS, "{'metadata':{'name':'m'}}", 201, {NULL}},
		{"MERGE " MAPS "/m?dryRun=All",
		 "{'metadata':{'ownerReferences':[" REF("u", "") "," REF("u", "") "]}}",
		 200,
		 {"#metadata.ownerReferences=1"}},
	};
	struct kube_rig *rig = *state;

	STEPS(rig, steps);
	assert_non_null(strstr(rig->head, "Warning: 299 - \".metadata.ownerReferences "
					  "contains duplicate entries; "));
	assert_non_null(strstr(rig->head, "duplicate UID(s) observed: u\""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(background),  TEST(orphan),       TEST(missing_owner),
		TEST(pods),        TEST(namespace),    TEST(restart),
		TEST(many_owners), TEST(many_orphans), TEST(scope),
		TEST(same_owner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
