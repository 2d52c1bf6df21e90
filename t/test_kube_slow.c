/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests about many objects go on in slices, in which they do no more than they have
 * time for; and deletions that the store does not take at once are asked for again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/store/write.h"
#include "api/task/task.h"
#include "engine/base/mem.h"
#include "t/lib/kube_rig.h"
#include "t/lib/patience.h"

#define TEST(name)                                                                       \
	cmocka_unit_test_setup_teardown(test_##name, kube_rig_setup, kube_rig_teardown)

#define MAPS  "/api/v1/namespaces/default/configmaps"
#define OTHER "/api/v1/namespaces/other"
#define COUNT 120
#define TABLE "Accept: application/json;as=Table;v=v1;g=meta.k8s.io\r\n"

static void add_maps(struct kube_rig *rig, const char *path, int count, size_t bytes)
{
	char *body = neap_alloc(bytes + 256), ask[128];

	assert_non_null(body);
	(void)snprintf(ask, sizeof(ask), "POST %s", path);
	for (int i = 0; i < count; i++) {
		int len = snprintf(
			body, 256,
			"{\"metadata\":{\"name\":\"m-%04d\",\"labels\":{\"even\":\"%s\"}},"
			"\"data\":{\"x\":\"",
			i, i % 2 ? "no" : "yes");

		memset(body + len, 'x', bytes);
		(void)snprintf(body + len + bytes, 8, "\"}}");
		if (kube_ask_with(rig, ask, "", body, strlen(body)) != 201)
			fail_msg("%d: %s", i, kube_text(rig->body, "message"));
	}
	free(body);
}

/* --- slices --- */

static void test_slices(void **state)
{
	static const struct {
		const char *name, *ask, *headers, *want;
		int status;
		uint64_t least; /* slices */
	} rows[] = {
		{"list", "GET " MAPS, "", "#items=120", 200, COUNT},
		{"nothing is chosen", "GET " MAPS "?labelSelector=even%3Dmaybe", "",
		 "#items=0", 200, COUNT},
		{"half is chosen", "GET " MAPS "?labelSelector=even%3Dyes", "",
		 "#items=60", 200, COUNT},
		{"a field", "GET " MAPS "?fieldSelector=metadata.name%3Dm-0007", "",
		 "items.0.metadata.name=m-0007", 200, COUNT},
		{"a page", "GET " MAPS "?limit=40", "", "#items=40", 200, 40},
		{"Table", "GET " MAPS "?limit=100", TABLE, "#rows=100", 200, 200},
		{"Table of a page", "GET " MAPS "?limit=10", TABLE, "#rows=10", 200, 20},
		{"delete some", "DELETE " MAPS "?labelSelector=even%3Dno", "",
		 "#items=60", 200, COUNT + COUNT / 2},
		{"they have gone", "GET " MAPS, "", "#items=60", 200, 60},
		{"only tried", "DELETE " MAPS "?dryRun=All", "", "#items=60", 200, 60},
		{"nothing went", "GET " MAPS, "", "#items=60", 200, 60},
	};
	struct kube_rig *rig = *state;
	struct neap_tasks *tasks = neap_kube_tasks(rig->kube);

	add_maps(rig, MAPS, COUNT, 10);
	neap_tasks_set_times(tasks, 0, 0);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		uint64_t before = neap_tasks_count(tasks);
		int status = kube_ask_with(rig, rows[i].ask, rows[i].headers, "", 0);
		const char *why = kube_differs(rig->body, rows[i].want);

		if (status != rows[i].status || why)
			fail_msg("%s: %d, %s", rows[i].name, status, why ? why : "");
		if (neap_tasks_count(tasks) - before < rows[i].least)
			fail_msg("%s: %llu slices are too few", rows[i].name,
				 (unsigned long long)(neap_tasks_count(tasks) - before));
	}
}

/* What there is comes in slices, too, and nothing of what happens meanwhile is lost. */
static void test_first_list(void **state)
{
	struct kube_rig *rig = *state;
	struct neap_tasks *tasks = neap_kube_tasks(rig->kube);
	uint64_t before = neap_tasks_count(tasks);
	struct kube_watch watch;
	char want[32];

	add_maps(rig, MAPS, COUNT, 10);
	neap_tasks_set_times(tasks, 0, 0);
	kube_watch_open(rig, &watch, MAPS "?watch=1");
	kube_watch_wants(&watch, "ADDED m-0000");
	assert_int_equal(kube_ask(rig, "POST " MAPS, "{'metadata':{'name':'a'}}"), 201);
	assert_int_equal(kube_ask(rig, "DELETE " MAPS "/m-0119", NULL), 200);
	for (int i = 1; i < COUNT; i++) {
		(void)snprintf(want, sizeof(want), "ADDED m-%04d", i);
		kube_watch_wants(&watch, want);
	}
	kube_watch_wants(&watch, "ADDED a");
	kube_watch_wants(&watch, "DELETED m-0119");
	kube_watch_close(&watch);
	assert_true(neap_tasks_count(tasks) - before >= COUNT);
}

/* A list that has begun is of one version, whatever is forgotten meanwhile. */
static void test_forgotten(void **state)
{
	static const struct kube_step found[] = {
		{"GET " MAPS, NULL, 200, {"#items=60", "items.0.metadata.name=m-0060"}}};
	struct kube_rig *rig = *state;

	add_maps(rig, MAPS, COUNT, 6000); /* more than the store remembers */
	neap_tasks_set_times(neap_kube_tasks(rig->kube), 0, 0);
	kube_send(rig, "GET " MAPS "?labelSelector=even%3Dyes", NULL);
	kube_run(rig, 2);
	{
		struct kube_rig other = *rig;
		char ask[128];

		other.fd = -1;
		other.body = NULL;
		for (int i = 0; i < COUNT / 2; i++) {
			(void)snprintf(ask, sizeof(ask), "DELETE " MAPS "/m-%04d", i);
			assert_int_equal(kube_ask(&other, ask, NULL), 200);
		}
		json_decref(other.body);
		(void)close(other.fd);
	}
	assert_int_equal(kube_receive(rig), 200);
	kube_steps(rig, found, 1);
}

/* --- requests --- */

/* Where the loop is busy each waits for its turn, with its body. A client that goes
 * before it comes looks like one that has said all: what it asked for is done. */
static void test_requests_wait(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " MAPS, "{'metadata':{'name':'a'},'data':{'x':'y'}}", 201, {NULL}},
		{"GET " MAPS "/a", NULL, 200, {"data.x=y"}},
		{"GET " MAPS, NULL, 200, {"#items=1"}},
		{"DELETE " MAPS "/a", NULL, 200, {NULL}},
		{"GET " MAPS "/a", NULL, 404, {NULL}},
	};
	struct kube_rig *rig = *state;
	struct neap_tasks *tasks = neap_http_tasks(rig->http);
	struct kube_watch watch;

	neap_tasks_set_times(tasks, 0, 0);
	kube_steps(rig, steps, NEAP_ARRAY_LEN(steps));
	assert_int_equal(neap_tasks_count(tasks), NEAP_ARRAY_LEN(steps));
	kube_watch_open(rig, &watch, MAPS "?watch=1");
	kube_watch_close(&watch);
	kube_send(rig, "POST " MAPS, "{'metadata':{'name':'b'}}");
	(void)close(rig->fd);
	rig->fd = -1;
	assert_true(comes_true(kube_ask(rig, "GET " MAPS "/b", NULL) == 200));
	assert_int_equal(kube_ask(rig, "DELETE " MAPS "/b", NULL), 200);
	kube_steps(rig, steps, NEAP_ARRAY_LEN(steps));
}

/* --- what the store does not take --- */

#define LARGE_BYTES ((size_t)1000 * 1000)

/* So much waits for the disk that nothing more is taken, for as long as it needs for
 * that. */
static void fill_queue(struct kube_rig *rig)
{
	char *text = neap_alloc(LARGE_BYTES + 1), name[32];
	struct neap_error err = {0};

	assert_non_null(text);
	memset(text, 'x', LARGE_BYTES);
	for (int i = 0; err.code == NEAP_OK; i++) {
		struct neap_store_write write = {.verb = NEAP_STORE_CREATE,
						 .resource = "fillers",
						 .ns = "",
						 .name = name};

		(void)snprintf(name, sizeof(name), "f-%d", i);
		write.object =
			json_pack("{s:{s:s}, s:s}", "metadata", "name", name, "x", text);
		(void)neap_store_write_take(rig->store.store, &write, &err);
	}
	assert_int_equal(err.code, NEAP_EUNAVAILABLE);
	free(text);
}

/* As kube_until, for as long as a slow disk needs for what fills the queue, and the
 * pauses between tries after it. */
static void wait_for(struct kube_rig *rig, const struct kube_step *step)
{
	for (int i = 0; i < 6000; i++) {
		if (kube_ask(rig, step->ask, step->body) == step->status &&
		    (!step->want[0] || !kube_differs(rig->body, step->want[0])))
			return;
		kube_run(rig, 10);
	}
	kube_steps(rig, step, 1);
}

static void changed(void *arg)
{
	fill_queue(arg);
}

/* With the next change of a resource, before anybody acts on it. */
static struct neap_store_watch *fill_with_change(struct kube_rig *rig,
						 const char *resource)
{
	struct neap_store *store = rig->store.store;
	struct neap_store_watch *watch;
	struct neap_store_event *event;
	struct neap_error err;

	assert_int_equal(neap_store_watch_new(store, resource, neap_store_version(store),
					      changed, rig, &watch, &err),
			 0);
	assert_int_equal(neap_store_watch_next(watch, &event, &err), 0);
	return watch;
}

static void test_collection_is_refused(void **state)
{
	static const struct kube_step none = {
		"GET " MAPS "?limit=1", NULL, 200, {"#items=0"}};
	struct kube_rig *rig = *state;

	add_maps(rig, MAPS, COUNT, 10);
	kube_send(rig, "DELETE " MAPS, NULL);
	fill_queue(rig);
	assert_int_equal(kube_receive(rig), 200);
	kube_steps(rig, &none, 1);
}

static void test_namespace_is_refused(void **state)
{
	static const struct kube_step gone = {"GET " OTHER, NULL, 404, {NULL}};
	struct kube_rig *rig = *state;
	struct neap_store_watch *watch;

	assert_int_equal(
		kube_ask(rig, "POST /api/v1/namespaces", "{'metadata':{'name':'other'}}"),
		201);
	add_maps(rig, OTHER "/configmaps", COUNT, 10);
	watch = fill_with_change(rig, "namespaces");
	assert_int_equal(kube_ask(rig, "DELETE " OTHER, NULL), 200);
	wait_for(rig, &gone);
	neap_store_watch_free(watch);
}

static void test_dependents_are_refused(void **state)
{
	static const struct kube_step none = {
		"GET " MAPS "?limit=1", NULL, 200, {"#items=0"}};
	struct kube_rig *rig = *state;
	struct neap_store_watch *watch;
	char body[512], uid[64];

	assert_int_equal(kube_ask(rig, "POST " MAPS, "{'metadata':{'name':'owner'}}"),
			 201);
	(void)snprintf(uid, sizeof(uid), "%s", kube_text(rig->body, "metadata.uid"));
	for (int i = 0; i < COUNT; i++) {
		(void)snprintf(body, sizeof(body),
			       "{'metadata':{'name':'m-%d','ownerReferences':[{"
			       "'apiVersion':'v1','kind':'ConfigMap','name':'owner',"
			       "'uid':'%s'}]}}",
			       i, uid);
		assert_int_equal(kube_ask(rig, "POST " MAPS, body), 201);
	}
	watch = fill_with_change(rig, "configmaps");
	assert_int_equal(kube_ask(rig, "DELETE " MAPS "/owner", NULL), 200);
	wait_for(rig, &none);
	neap_store_watch_free(watch);
}

static void let_go(struct kube_rig *rig, bool has_dependent)
{
	static const struct kube_step gone = {"GET " MAPS "/owner", NULL, 404, {NULL}};
	static const struct kube_step left = {
		"GET " MAPS "/dependent", NULL, 200, {"!metadata.ownerReferences"}};
	struct neap_store_watch *watch;
	char body[512];

	assert_int_equal(kube_ask(rig, "POST " MAPS, "{'metadata':{'name':'owner'}}"),
			 201);
	(void)snprintf(body, sizeof(body),
		       "{'metadata':{'name':'dependent','ownerReferences':[{"
		       "'apiVersion':'v1','kind':'ConfigMap','name':'owner',"
		       "'uid':'%s'}]}}",
		       kube_text(rig->body, "metadata.uid"));
	if (has_dependent)
		assert_int_equal(kube_ask(rig, "POST " MAPS, body), 201);
	watch = fill_with_change(rig, "configmaps");
	assert_int_equal(
		kube_ask(rig, "DELETE " MAPS "/owner", "{'propagationPolicy':'Orphan'}"),
		200);
	wait_for(rig, &gone);
	if (has_dependent)
		wait_for(rig, &left);
	neap_store_watch_free(watch);
}

/* What is refused is that the dependent is let go. */
static void test_orphan_is_refused(void **state)
{
	let_go(*state, true);
}

/* ... or that the finalizer "orphan" goes. */
static void test_end_of_orphans_is_refused(void **state)
{
	let_go(*state, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(slices),
		TEST(first_list),
		TEST(forgotten),
		TEST(requests_wait),
		TEST(collection_is_refused),
		TEST(namespace_is_refused),
		TEST(dependents_are_refused),
		TEST(orphan_is_refused),
		TEST(end_of_orphans_is_refused),
	};

	return cmocka_run_group_tests_name("kube_slow", tests, NULL, NULL);
}
