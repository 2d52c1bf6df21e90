/* SPDX-License-Identifier: Apache-2.0
 *
 * Watches over HTTP: from nothing, from a version, through selectors, as Tables, with
 * bookmarks, too old, and read slowly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "t/lib/kube_rig.h"

#define STEPS(rig, steps) kube_steps(rig, steps, NEAP_ARRAY_LEN(steps))
#define TEST(name)                                                                       \
	cmocka_unit_test_setup_teardown(test_##name, kube_rig_setup, kube_rig_teardown)

#define MAPS "/api/v1/namespaces/default/configmaps"
#define PODS "/api/v1/namespaces/default/pods"

static void add(struct kube_rig *rig, const char *name, const char *label)
{
	char body[256];

	(void)snprintf(body, sizeof(body),
		       "{'metadata':{'name':'%s','labels':{'l':'%s'}}}", name, label);
	assert_int_equal(kube_ask(rig, "POST " MAPS, body), 201);
}

static void change(struct kube_rig *rig, const char *name, const char *body)
{
	char ask[128];

	(void)snprintf(ask, sizeof(ask), "MERGE " MAPS "/%s", name);
	assert_int_equal(kube_ask(rig, ask, body), 200);
}

static void drop(struct kube_rig *rig, const char *name)
{
	char ask[128];

	(void)snprintf(ask, sizeof(ask), "DELETE " MAPS "/%s", name);
	assert_int_equal(kube_ask(rig, ask, NULL), 200);
}

static void wants(struct kube_watch *watch, const char *const *list)
{
	for (; *list != NULL; list++)
		kube_watch_wants(watch, *list);
}

#define WANTS(watch, ...) wants(watch, (const char *const[]){__VA_ARGS__, NULL})

static void test_from_nothing(void **state)
{
	static const char *const queries[] = {MAPS "?watch=true", MAPS "?watch=1",
					      MAPS "?watch=true&resourceVersion=0",
					      "/api/v1/configmaps?watch=true"};
	struct kube_rig *rig = *state;

	add(rig, "a", "1");
	add(rig, "b", "1");
	for (size_t i = 0; i < NEAP_ARRAY_LEN(queries); i++) {
		struct kube_watch watch;

		kube_watch_open(rig, &watch, queries[i]);
		assert_int_equal(watch.status, 200);
		WANTS(&watch, "ADDED a", "ADDED b", "-");
		add(rig, "c", "1");
		change(rig, "a", i % 2 ? "{'data':{'k':'v'}}" : "{'data':null}");
		drop(rig, "c");
		kube_watch_wants(&watch, "ADDED c");
		assert_null(kube_differs(watch.frame, "object.kind=ConfigMap"));
		assert_null(kube_differs(watch.frame, "object.apiVersion=v1"));
		if (i)
			kube_watch_wants(&watch, "MODIFIED a");
		kube_watch_wants(&watch, "DELETED c");
		kube_watch_wants(&watch, "-");
		kube_watch_close(&watch);
	}
}

static void test_from_a_version(void **state)
{
	struct kube_rig *rig = *state;
	struct kube_watch watch;
	char query[128], version[32];

	add(rig, "a", "1");
	assert_int_equal(kube_ask(rig, "GET " MAPS, NULL), 200);
	(void)snprintf(version, sizeof(version), "%s",
		       kube_text(rig->body, "metadata.resourceVersion"));
	(void)snprintf(query, sizeof(query), MAPS "?watch=true&resourceVersion=%s",
		       version);
	add(rig, "b", "1");
	change(rig, "a", "{'data':{'k':'v'}}");
	/* Changes nothing, and nobody is told. */
	change(rig, "a", "{'data':{'k':'v'}}");
	drop(rig, "b");
	kube_watch_open(rig, &watch, query);
	WANTS(&watch, "ADDED b", "MODIFIED a");
	kube_watch_wants(&watch, "DELETED b");
	/* The last state, with the version of the deletion. */
	assert_null(kube_differs(watch.frame, "object.metadata.labels.l=1"));
	assert_int_equal(
		strtoll(kube_text(watch.frame, "object.metadata.resourceVersion"), NULL,
			10),
		strtoll(version, NULL, 10) + 3);
	WANTS(&watch, "-");
	add(rig, "z", "1");
	WANTS(&watch, "ADDED z", "-");
	kube_watch_close(&watch);
	/* Another namespace's are not told. */
	kube_watch_open(
		rig, &watch,
		"/api/v1/namespaces/other/configmaps?watch=true&resourceVersion=1");
	WANTS(&watch, "-");
	kube_watch_close(&watch);
	/* From the future: silence until it is there. */
	(void)snprintf(query, sizeof(query), MAPS "?watch=true&resourceVersion=%lld",
		       strtoll(version, NULL, 10) + 6);
	kube_watch_open(rig, &watch, query);
	assert_int_equal(watch.status, 200);
	add(rig, "y", "1");
	add(rig, "x", "1");
	WANTS(&watch, "-");
	add(rig, "w", "1");
	WANTS(&watch, "ADDED w", "-");
	kube_watch_close(&watch);
}

static void test_selectors(void **state)
{
	struct kube_rig *rig = *state;
	struct kube_watch labels, fields, name;

	add(rig, "a", "1");
	add(rig, "b", "2");
	assert_int_equal(
		kube_ask(rig, "POST " PODS,
			 "{'metadata':{'name':'p'},'spec':{'containers':[{'name':"
			 "'c','image':'i'}]}}"),
		201);
	kube_watch_open(rig, &labels, MAPS "?watch=true&labelSelector=l%3D1");
	kube_watch_open(rig, &name, MAPS "?watch=true&fieldSelector=metadata.name%3Db");
	kube_watch_open(rig, &fields,
			"/api/v1/pods?watch=true&fieldSelector=spec.nodeName%3Dn");
	WANTS(&labels, "ADDED a", "-");
	WANTS(&name, "ADDED b", "-");
	WANTS(&fields, "-");
	change(rig, "b", "{'metadata':{'labels':{'l':'1'}}}");
	change(rig, "a", "{'metadata':{'labels':{'l':'2'}}}");
	change(rig, "a", "{'data':{'k':'v'}}");
	drop(rig, "a");
	drop(rig, "b");
	WANTS(&labels, "ADDED b", "DELETED a", "DELETED b", "-");
	WANTS(&name, "MODIFIED b", "DELETED b", "-");
	assert_int_equal(
		kube_ask(rig, "POST " PODS "/p/binding", "{'target':{'name':'n'}}"), 201);
	WANTS(&fields, "ADDED p", "-");
	assert_int_equal(kube_ask(rig, "DELETE " PODS "/p", "{'gracePeriodSeconds':9}"),
			 200);
	WANTS(&fields, "MODIFIED p", "-");
	kube_watch_close(&labels);
	kube_watch_close(&name);
	kube_watch_close(&fields);
}

static void test_initial_events(void **state)
{
	struct kube_rig *rig = *state;
	struct kube_watch watch;

	add(rig, "a", "1");
	kube_watch_open(rig, &watch,
			MAPS "?watch=true&allowWatchBookmarks=true&sendInitialEvents=true"
			     "&resourceVersionMatch=NotOlderThan");
	kube_watch_wants(&watch, "ADDED a");
	kube_watch_wants(&watch, "BOOKMARK ");
	assert_null(kube_differs(watch.frame, "object.kind=ConfigMap"));
	assert_null(kube_differs(watch.frame, "object.metadata.resourceVersion=@2"));
	assert_string_equal(json_string_value(json_object_get(
				    kube_at(watch.frame, "object.metadata.annotations"),
				    "k8s.io/initial-events-end")),
			    "true");
	add(rig, "b", "1");
	WANTS(&watch, "ADDED b", "-");
	kube_watch_close(&watch);
	/* Without bookmarks, and without initial ones. */
	kube_watch_open(rig, &watch, MAPS "?watch=true&sendInitialEvents=true");
	WANTS(&watch, "ADDED a", "ADDED b", "-");
	kube_watch_close(&watch);
	kube_watch_open(rig, &watch, MAPS "?watch=true&sendInitialEvents=false");
	WANTS(&watch, "-");
	add(rig, "c", "1");
	WANTS(&watch, "ADDED c", "-");
	kube_watch_close(&watch);
}

static void test_end(void **state)
{
	struct kube_rig *rig = *state;
	struct kube_watch watch, other;

	/* timeoutSeconds alone ends a watch. */
	kube_watch_open(rig, &other, MAPS "?watch=true&timeout=1s");
	kube_watch_open(rig, &watch, MAPS "?watch=true&timeoutSeconds=1&timeout=1h");
	kube_run(rig, 1100);
	WANTS(&watch, "end");
	add(rig, "later", "1");
	WANTS(&other, "ADDED later", "-");
	drop(rig, "later");
	WANTS(&other, "DELETED later", "-");
	kube_watch_close(&watch);
	kube_watch_close(&other);
	/* The last word is how far it came: another namespace's changes too. */
	kube_watch_open(rig, &watch,
			MAPS "?watch=true&timeoutSeconds=1"
			     "&allowWatchBookmarks=true"
			     "&labelSelector=l%3D1");
	add(rig, "a", "1");
	add(rig, "b", "2");
	WANTS(&watch, "ADDED a", "BOOKMARK ");
	assert_null(kube_differs(watch.frame, "object.metadata.resourceVersion=@5"));
	WANTS(&watch, "end");
	kube_watch_close(&watch);
	assert_int_equal(kube_ask(rig, "GET " MAPS "?watch=true&resourceVersion=x", NULL),
			 400);
	assert_int_equal(kube_ask(rig, "GET " MAPS "?watch=true&timeoutSeconds=x", NULL),
			 400);
	assert_int_equal(kube_ask(rig, "GET " MAPS "?watch=true&labelSelector=%3D", NULL),
			 400);
	assert_int_equal(
		kube_ask(rig, "GET " MAPS "?watch=true&fieldSelector=spec.x%3D1", NULL),
		400);
}

#define TABLE "Accept: application/json;as=Table;v=v1;g=meta.k8s.io,application/json"

static void test_tables(void **state)
{
	struct kube_rig *rig = *state;
	struct kube_watch watch;

	add(rig, "a", "1");
	kube_watch_open(rig, &watch,
			MAPS "?watch=true HTTP/1.1\r\n" TABLE "\r\nX-Rest: ");
	assert_non_null(kube_watch_next(&watch, 5000));
	assert_null(kube_differs(watch.frame, "type=ADDED"));
	assert_null(kube_differs(watch.frame, "object.kind=Table"));
	assert_null(kube_differs(watch.frame, "object.rows.0.cells.0=a"));
	assert_null(kube_differs(watch.frame,
				 "object.rows.0.object.kind=PartialObjectMetadata"));
	assert_null(kube_differs(watch.frame, "object.columnDefinitions.0.name=Name"));
	add(rig, "b", "1");
	assert_non_null(kube_watch_next(&watch, 5000));
	assert_null(kube_differs(watch.frame, "object.rows.0.cells.0=b"));
	assert_null(kube_differs(watch.frame, "object.columnDefinitions=null"));
	kube_watch_close(&watch);
}

static void test_metadata(void **state)
{
	static const char *const wants[] = {"type=ADDED",
					    "object.kind=PartialObjectMetadata",
					    "object.apiVersion=meta.k8s.io/v1",
					    "object.metadata.name=a", "!object.data"};
	struct kube_rig *rig = *state;
	struct kube_watch watch;

	add(rig, "a", "1");
	kube_watch_open(rig, &watch,
			MAPS "?watch=true HTTP/1.1\r\nAccept: application/json;as="
			     "PartialObjectMetadata;g=meta.k8s.io;v=v1\r\nX-Rest: ");
	assert_non_null(kube_watch_next(&watch, 5000));
	for (size_t i = 0; i < NEAP_ARRAY_LEN(wants); i++)
		assert_null(kube_differs(watch.frame, wants[i]));
	add(rig, "b", "1");
	assert_non_null(kube_watch_next(&watch, 5000));
	assert_null(kube_differs(watch.frame, "object.metadata.name=b"));
	assert_null(kube_differs(watch.frame, "!object.data"));
	kube_watch_close(&watch);
}

/* Fills what the store remembers. */
static void churn(struct kube_rig *rig, const char *name, int count)
{
	char *body = neap_alloc(70000), ask[128];

	assert_non_null(body);
	(void)snprintf(ask, sizeof(ask), "MERGE " MAPS "/%s", name);
	for (int i = 0; i < count; i++) {
		size_t len = (size_t)snprintf(body, 70000,
					      "{\"data\":{\"n\":\"%d\",\"x\":\"", i);

		memset(body + len, 'x', 60000);
		(void)snprintf(body + len + 60000, 70000 - len - 60000, "\"}}");
		assert_int_equal(kube_ask(rig, ask, body), 200);
	}
	free(body);
}

static void test_too_old(void **state)
{
	static const char *const wanted[] = {
		"type=ERROR",
		"object.kind=Status",
		"object.code=410",
		"object.reason=Expired",
		"object.message~too old resource version: 2 (",
	};
	struct kube_rig *rig = *state;
	struct kube_watch watch;

	add(rig, "a", "1");
	churn(rig, "a", 12);
	kube_watch_open(rig, &watch, MAPS "?watch=true&resourceVersion=2");
	assert_int_equal(watch.status, 200);
	assert_non_null(kube_watch_next(&watch, 5000));
	for (size_t i = 0; i < NEAP_ARRAY_LEN(wanted); i++)
		assert_null(kube_differs(watch.frame, wanted[i]));
	WANTS(&watch, "end");
	kube_watch_close(&watch);
	/* Nothing of this kind happened since: it goes on. */
	kube_watch_open(rig, &watch, PODS "?watch=true&resourceVersion=2");
	WANTS(&watch, "-");
	kube_watch_close(&watch);
}

/* One that reads nothing holds what its connection took and no more; when it reads on it
 * hears that it was too slow. One that reads misses nothing. */
static void test_slow(void **state)
{
	struct kube_rig *rig = *state;
	struct kube_watch slow, quick;
	const json_t *frame;
	int changes = 0;

	add(rig, "a", "1");
	kube_watch_open(rig, &slow, MAPS "?watch=true&resourceVersion=1");
	kube_watch_open(rig, &quick, MAPS "?watch=true&resourceVersion=1");
	WANTS(&quick, "ADDED a");
	for (int i = 0; i < 10; i++) {
		churn(rig, "a", 5);
		change(rig, "a", "{'data':null}");
		for (int k = 0; k < 6; k++)
			WANTS(&quick, "MODIFIED a");
	}
	WANTS(&quick, "-");
	/* Bounded by its socket and one piece. */
	while ((frame = kube_watch_next(&slow, 5000)) != NULL) {
		if (strcmp(kube_text(frame, "type"), "ERROR") == 0)
			break;
		changes++;
	}
	assert_non_null(frame);
	assert_true(changes < 40);
	assert_null(kube_differs(frame, "object.code=410"));
	WANTS(&slow, "end");
	kube_watch_close(&slow);
	kube_watch_close(&quick);
}

/* More objects than one piece holds, and changes meanwhile: everything comes once, in its
 * order. */
static void test_long_listing(void **state)
{
	struct kube_rig *rig = *state;
	struct kube_watch watch;
	char name[16], want[32];
	const int count = 600;

	for (int i = 0; i < count; i++) {
		(void)snprintf(name, sizeof(name), "m%03d", i);
		add(rig, name, "a-long-one-so-that-a-piece-is-full-soon-enough");
	}
	kube_watch_open(rig, &watch, MAPS "?watch=true");
	drop(rig, "m599");
	for (int i = 0; i < count; i++) {
		(void)snprintf(want, sizeof(want), "ADDED m%03d", i);
		kube_watch_wants(&watch, want);
	}
	WANTS(&watch, "DELETED m599", "-");
	kube_watch_close(&watch);
}

/* Those that are open when the server ends. */
static void test_server_ends(void **state)
{
	struct kube_rig *rig = *state;
	struct kube_watch watch;

	kube_watch_open(rig, &watch, MAPS "?watch=true");
	kube_rig_stop_kube(rig);
	WANTS(&watch, "end");
	kube_watch_close(&watch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(from_nothing), TEST(from_a_version),
		TEST(selectors),    TEST(initial_events),
		TEST(end),          TEST(tables),
		TEST(metadata),     TEST(too_old),
		TEST(slow),         TEST(long_listing),
		TEST(server_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
