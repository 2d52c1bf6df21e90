/* SPDX-License-Identifier: Apache-2.0
 *
 * How much may be stored: objects, bytes, objects of one owner. What is refused when it
 * is full, what goes on all the same, and what controllers make of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "t/lib/patience.h"
#include "t/lib/workload_rig.h"

#define TEST(name)                                                                       \
	cmocka_unit_test_setup_teardown(test_##name, kube_rig_setup, kube_rig_teardown)
#define STEPS(rig, steps) kube_steps(rig, steps, NEAP_ARRAY_LEN(steps))

#define MAPS   "/api/v1/namespaces/default/configmaps"
#define PODS   "/api/v1/namespaces/default/pods"
#define EVENTS "/api/v1/namespaces/default/events"
#define LEASES "/apis/coordination.k8s.io/v1/namespaces/default/leases"
#define SETS   "/apis/apps/v1/namespaces/default/replicasets"
#define JOBS   "/apis/batch/v1/namespaces/default/jobs"
#define TEMPLATE                                                                         \
	"'template':{'metadata':{'labels':{'a':'b'}},'spec':{'restartPolicy':%s"         \
	"'containers':[{'name':'c','image':'i'}]}}"

static void limit(struct kube_rig *rig, size_t objects, uint64_t bytes, size_t owned)
{
	const struct neap_store_limits limits = {objects, bytes, owned};

	neap_store_set_limits(rig->store.store, &limits);
}

static struct neap_store_used used(struct kube_rig *rig)
{
	return neap_store_used(rig->store.store);
}

static void test_objects(void **state)
{
	static const struct kube_step fill[] = {
		{"POST " MAPS, "{'metadata':{'name':'a'}}", 201, {NULL}},
		{"POST " MAPS, "{'metadata':{'name':'b'},'data':{'k':'v'}}", 201, {NULL}},
	};
	static const struct kube_step full[] = {
		{"POST " MAPS,
		 "{'metadata':{'name':'c'}}",
		 403,
		 {"reason=Forbidden",
		  "message~configmaps \"c\" is forbidden: exceeded quota: --max-objects, "
		  "requested: objects=1, used: objects="}},
		{"POST " MAPS "?dryRun=All", "{'metadata':{'name':'c'}}", 403, {NULL}},
		/* What keeps others going has a tenth more. */
		{"POST " LEASES, "{'metadata':{'name':'l'}}", 201, {NULL}},
		{"PUT " LEASES "/m", "{'metadata':{'name':'m'}}", 201, {NULL}},
		/* Changes go on. */
		{"MERGE " MAPS "/a", "{'data':{'x':'y'}}", 200, {NULL}},
		{"DELETE " MAPS "/b", NULL, 200, {NULL}},
		{"DELETE " LEASES "/l", NULL, 200, {NULL}},
		{"DELETE " LEASES "/m", NULL, 200, {NULL}},
		{"POST " MAPS, "{'metadata':{'name':'c'}}", 201, {NULL}},
		{"POST " MAPS, "{'metadata':{'name':'d'}}", 403, {NULL}},
	};
	struct kube_rig *rig = *state;

	STEPS(rig, fill);
	for (int i = 0; used(rig).objects < 20; i++) {
		char body[64];

		(void)snprintf(body, sizeof(body), "{'metadata':{'name':'x%d'}}", i);
		assert_int_equal(kube_ask(rig, "POST " MAPS, body), 201);
	}
	limit(rig, used(rig).objects, 0, 0);
	STEPS(rig, full);
}

/* A pod that is there can be bound, and its status written, when nothing else grows. */
static void test_pods_go_on(void **state)
{
	static const struct kube_step fill[] = {
		{"POST " PODS,
		 "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','image':'i'}]}}",
		 201,
		 {NULL}},
	};
	static const struct kube_step full[] = {
		{"MERGE " PODS "/p", "{'metadata':{'labels':{'a':'b'}}}", 403, {NULL}},
		{"POST " PODS "/p/binding",
		 "{'metadata':{'name':'p'},'target':{'kind':'Node','name':'n'}}",
		 201,
		 {NULL}},
		{"MERGE " PODS "/p/status",
		 "{'status':{'phase':'Running'}}",
		 200,
		 {NULL}},
	};
	struct kube_rig *rig = *state;

	STEPS(rig, fill);
	limit(rig, 0, used(rig).bytes, 0);
	STEPS(rig, full);
}

static void test_bytes(void **state)
{
	static const struct kube_step fill[] = {
		{"POST " MAPS,
		 "{'metadata':{'name':'a','finalizers':['x.y/z']},'data':{'k':'v'}}",
		 201,
		 {NULL}},
	};
	static const struct kube_step full[] = {
		{"POST " MAPS,
		 "{'metadata':{'name':'c'}}",
		 403,
		 {"message~exceeded quota: --max-objects-size, requested: bytes"}},
		{"MERGE " MAPS "/a", "{'data':{'k':'a longer one'}}", 403, {NULL}},
		{"MERGE " MAPS "/a", "{'data':{'k':''}}", 200, {NULL}},
		/* A deletion, and what ends it. */
		{"DELETE " MAPS "/a", NULL, 200, {NULL}},
		{"MERGE " MAPS "/a", "{'metadata':{'finalizers':null}}", 200, {NULL}},
		{"GET " MAPS "/a", NULL, 404, {NULL}},
	};
	struct kube_rig *rig = *state;

	STEPS(rig, fill);
	limit(rig, 0, used(rig).bytes - 100, 0);
	STEPS(rig, full);
}

/* What is counted is what there is, whatever became of it on the way. */
static void test_counts(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " MAPS,
		 "{'metadata':{'name':'a','ownerReferences':[{'apiVersion':'v1','kind':'K',"
		 "'name':'n','uid':'u1'},{'apiVersion':'v1','kind':'K','name':'m','uid':"
		 "'u2'}]}}",
		 201,
		 {NULL}},
		{"POST " MAPS,
		 "{'metadata':{'name':'b','ownerReferences':[{'apiVersion':'v1','kind':'K',"
		 "'name':'n','uid':'u1'}]}}",
		 201,
		 {NULL}},
	};
	struct kube_rig *rig = *state;
	struct neap_store_used before = used(rig);

	/* Nobody takes them for left behind. */
	neap_kube_collect_free(rig->collect);
	rig->collect = NULL;
	STEPS(rig, steps);
	assert_int_equal(used(rig).objects, before.objects + 2);
	assert_int_equal(neap_store_owned(rig->store.store, "u1"), 2);
	assert_int_equal(neap_store_owned(rig->store.store, "u2"), 1);
	assert_int_equal(neap_store_owned_most(rig->store.store), 2);
	assert_int_equal(kube_ask(rig, "MERGE " MAPS "/a",
				  "{'metadata':{'ownerReferences':null}}"),
			 200);
	assert_int_equal(neap_store_owned(rig->store.store, "u1"), 1);
	assert_int_equal(neap_store_owned(rig->store.store, "u2"), 0);
	assert_int_equal(kube_ask(rig, "DELETE " MAPS "/a", NULL), 200);
	assert_int_equal(kube_ask(rig, "DELETE " MAPS "/b", NULL), 200);
	assert_int_equal(neap_store_owned(rig->store.store, "u1"), 0);
	assert_int_equal(used(rig).objects, before.objects);
	assert_int_equal(used(rig).bytes, before.bytes);
}

static size_t count(struct kube_rig *rig, const char *resource)
{
	json_t *list = workload_list(rig, resource, "default");
	size_t size = json_array_size(list);

	json_decref(list);
	return size;
}

/* A set of more pods than one owner may have gets as many as that, says so, and gets more
 * when it may. */
static void test_replicaset(void **state)
{
	static const struct kube_step says = {
		"GET " SETS "/s",
		NULL,
		200,
		{"status.replicas=7", "status.conditions.0.type=ReplicaFailure",
		 "status.conditions.0.status=True",
		 "status.conditions.0.message~exceeded quota: --max-owned"}};
	static const struct kube_step goes_on = {
		"GET " SETS "/s", NULL, 200, {"status.replicas=9"}};
	struct kube_rig *rig = *state;
	struct neap_workload_config config = workload_config(rig);
	struct neap_replicasets *sets;
	struct neap_error err = {0};
	char body[512];

	assert_int_equal(neap_replicasets_new(&config, &sets, &err), 0);
	limit(rig, 0, 0, 7);
	(void)snprintf(body, sizeof(body),
		       "{'metadata':{'name':'s'},'spec':{'replicas':2147483647,"
		       "'selector':{'matchLabels':{'a':'b'}}," TEMPLATE "}}",
		       "'Always',");
	assert_int_equal(kube_ask(rig, "POST " SETS, body), 201);
	workload_until(rig, &says);
	assert_int_equal(count(rig, "pods"), 7);
	assert_int_equal(kube_ask(rig, "GET " EVENTS, NULL), 200);
	assert_true(json_array_size(kube_at(rig->body, "items")) > 0);
	limit(rig, 0, 0, 9);
	for (int i = 0; i < PATIENCE_MS / 100; i++) {
		kube_now += INT64_C(1000000);
		if (kube_ask(rig, "GET " SETS "/s", NULL) == 200 &&
		    kube_differs(rig->body, goes_on.want[0]) == NULL)
			break;
		kube_run(rig, 100);
	}
	workload_until(rig, &goes_on);
	assert_int_equal(count(rig, "pods"), 9);
	neap_replicasets_free(sets);
}

static void test_job(void **state)
{
	struct kube_rig *rig = *state;
	struct neap_workload_config config = workload_config(rig);
	struct neap_jobs *jobs;
	struct neap_error err = {0};
	char body[512], *text;
	bool is_told = false;

	assert_int_equal(neap_jobs_new(&config, &jobs, &err), 0);
	limit(rig, 0, 0, 5);
	(void)snprintf(body, sizeof(body),
		       "{'metadata':{'name':'j'},'spec':{'parallelism':2147483647,"
		       "'completions':2147483647," TEMPLATE "}}",
		       "'Never',");
	assert_int_equal(kube_ask(rig, "POST " JOBS, body), 201);
	for (int i = 0; i < PATIENCE_MS / 10 && !is_told; i++) {
		kube_run(rig, 10);
		assert_int_equal(kube_ask(rig, "GET " EVENTS, NULL), 200);
		text = json_dumps(kube_at(rig->body, "items"), 0);
		is_told = strstr(text, "exceeded quota: --max-owned") != NULL;
		free(text);
	}
	assert_true(is_told);
	kube_run(rig, 200);
	assert_int_equal(count(rig, "pods"), 5);
	neap_jobs_free(jobs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(objects), TEST(bytes),      TEST(pods_go_on),
		TEST(counts),  TEST(replicaset), TEST(job),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
