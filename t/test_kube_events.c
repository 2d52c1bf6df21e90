/* SPDX-License-Identifier: Apache-2.0
 *
 * Events in both their shapes: what is written in one reads right in the other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/kube/loops/event_ttl.h"
#include "engine/base/mem.h"
#include "t/lib/kube_rig.h"
#include "t/lib/patience.h"

#define STEPS(rig, steps) kube_steps(rig, steps, NEAP_ARRAY_LEN(steps))
#define TEST(name)                                                                       \
	cmocka_unit_test_setup_teardown(test_##name, kube_rig_setup, kube_rig_teardown)

#define CORE  "/api/v1/namespaces/default/events"
#define VIEW  "/apis/events.k8s.io/v1/namespaces/default/events"
#define TABLE "Accept: application/json;as=Table;v=v1;g=meta.k8s.io\r\n"

/* As a scheduler writes it. */
#define NEW(name, more)                                                                     \
	"{'kind':'Event','apiVersion':'events.k8s.io/v1','metadata':{'name':'" name         \
	"','namespace':'default'},'eventTime':'2026-11-20T23:19:38.702768Z',"               \
	"'reportingController':'default-scheduler','reportingInstance':'s-1',"              \
	"'action':'Binding','reason':'Scheduled','regarding':{'kind':'Pod','name':'p',"     \
	"'namespace':'default','uid':'u-1'},'note':'to {n0}, \\'x\\'','type':'Normal'" more \
	"}"

static void test_written_in_the_view(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " VIEW,
		 NEW("a", ""),
		 201,
		 {"apiVersion=events.k8s.io/v1", "kind=Event", "regarding.name=p",
		  "reportingController=default-scheduler", "!message",
		  "!reportingComponent", "eventTime=2026-11-20T23:19:38.702768Z"}},
		{"GET " CORE "/a",
		 NULL,
		 200,
		 {"apiVersion=v1", "involvedObject.name=p", "involvedObject.uid=u-1",
		  "reportingComponent=default-scheduler", "!note", "!regarding",
		  "message~to {n0}"}},
		{"GET " VIEW "/a", NULL, 200, {"note~to {n0}", "!involvedObject"}},
		{"GET " VIEW,
		 NULL,
		 200,
		 {"kind=EventList", "apiVersion=events.k8s.io/v1", "#items=1",
		  "items.0.regarding.kind=Pod", "!items.0.kind", "!items.0.count"}},
		{"GET /apis/events.k8s.io/v1/events", NULL, 200, {"#items=1"}},
		{"GET /api/v1/events", NULL, 200, {"items.0.involvedObject.kind=Pod"}},
		/* As a recorder goes on. */
		{"STRATEGIC " VIEW "/a",
		 "{'series':{'count':2,'lastObservedTime':'2026-11-20T23:20:00.000000Z'}}",
		 200,
		 {"series.count=2", "regarding.name=p", "!involvedObject"}},
		{"GET " CORE "/a",
		 NULL,
		 200,
		 {"series.count=2",
		  "series.lastObservedTime=2026-11-20T23:20:00.000000Z"}},
		{"MERGE " VIEW "/a",
		 "{'note':'other'}",
		 422,
		 {"message~message: Invalid"}},
		{"MERGE " CORE "/a", "{'message':'other'}", 200, {"message=other"}},
		{"GET " VIEW "/a", NULL, 200, {"note=other"}},
		{"DELETE " VIEW "/a", NULL, 200, {"kind=Status", "details.name=a"}},
		{"GET " CORE "/a", NULL, 404, {"message=events \"a\" not found"}},
		{"GET " VIEW "/a",
		 NULL,
		 404,
		 {"message=events.events.k8s.io \"a\" not found"}},
	};

	STEPS(*state, steps);
}

static void test_written_in_core(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " CORE,
		 "{'metadata':{'name':'b'},'involvedObject':{'kind':'Pod','name':'p',"
		 "'namespace':'default'},'message':'m [1,{\\'','reason':'Killing','count':3,"
		 "'source':{'component':'kubelet','host':'n0'},"
		 "'firstTimestamp':'2026-11-20T23:00:00Z',"
		 "'lastTimestamp':'2026-11-20T23:10:00Z','type':'Normal'}",
		 201,
		 {"message~m [1"}},
		{"GET " VIEW "/b",
		 NULL,
		 200,
		 {"deprecatedCount=3", "deprecatedSource.host=n0",
		  "deprecatedFirstTimestamp=2026-11-20T23:00:00Z",
		  "deprecatedLastTimestamp=2026-11-20T23:10:00Z", "eventTime=null",
		  "reportingController=", "note~m [1,{"}},
		{"GET " VIEW "/b", NULL, 200, {"!count", "!source", "!lastTimestamp"}},
		/* What core counts, the view may not change. */
		{"MERGE " VIEW "/b", "{'deprecatedCount':4}", 422, {"message~count"}},
		{"JSON " VIEW "/b",
		 "[{'op':'test','path':'/regarding/name','value':'p'},{'op':'add',"
		 "'path':'/metadata/labels','value':{'l':'1'}}]",
		 200,
		 {"regarding.name=p", "metadata.labels.l=1"}},
		{"GET " CORE "/b",
		 NULL,
		 200,
		 {"count=3", "source.component=kubelet", "metadata.labels.l=1",
		  "!deprecatedCount"}},
	};

	STEPS(*state, steps);
}

static void test_put(void **state)
{
	struct kube_rig *rig = *state;
	char body[2048];

	assert_int_equal(kube_ask(rig, "POST " VIEW, NEW("a", "")), 201);
	(void)snprintf(body, sizeof(body), "%s",
		       NEW("a", ",'series':{'count':7,"
				"'lastObservedTime':'2026-11-20T23:20:00.000000Z'}"));
	assert_int_equal(kube_ask(rig, "PUT " VIEW "/a", body), 200);
	assert_int_equal(kube_ask(rig, "GET " CORE "/a", NULL), 200);
	assert_null(kube_differs(rig->body, "series.count=7"));
	assert_null(kube_differs(rig->body, "involvedObject.uid=u-1"));
	/* In the shape of the other: its names are unknown here. */
	assert_int_equal(
		kube_ask(rig, "POST " VIEW "?fieldValidation=Strict",
			 NEW("c", ",'message':'x','involvedObject':{'name':'y'}")),
		400);
	assert_non_null(strstr(kube_text(rig->body, "message"), "unknown field"));
	/* Tried only. */
	assert_int_equal(kube_ask(rig, "POST " VIEW "?dryRun=All", NEW("d", "")), 201);
	assert_null(kube_differs(rig->body, "note~to"));
	assert_null(kube_differs(rig->body, "apiVersion=events.k8s.io/v1"));
	assert_int_equal(kube_ask(rig, "GET " VIEW "/d", NULL), 404);
}

static void test_checks(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " VIEW,
		 "{'metadata':{'name':'x'},'regarding':{'namespace':'default'},'type':'Other',"
		 "'deprecatedCount':1,'deprecatedSource':{'component':'c'},"
		 "'deprecatedFirstTimestamp':'2026-11-20T23:00:00Z'}",
		 422,
		 {"message~eventTime: Required value", "message~count: Invalid value",
		  "message~source: Invalid value: \"\": needs to be unset",
		  "message~firstTimestamp", "message~has invalid value: Other",
		  "details.kind=Event", "details.group=events.k8s.io"}},
		{"POST " VIEW,
		 "{'metadata':{'name':'x'},'regarding':{'namespace':'other'},'type':'Normal',"
		 "'eventTime':'2026-11-20T23:19:38.702768Z',"
		 "'series':{'count':0,'lastObservedTime':'2026-11-20T23:19:38.702768Z'}}",
		 422,
		 {"message~reportingController: Required",
		  "message~reportingInstance: Required", "message~action: Required",
		  "message~reason: Required", "message~series.count"}},
		/* A time without its six digits. */
		{"POST " VIEW,
		 "{'metadata':{'name':'x'},'regarding':{'namespace':'default'},"
		 "'eventTime':'yesterday'}",
		 400,
		 {"reason=BadRequest"}},
		{"POST " VIEW, "{'apiVersion':'v1','kind':'Event'}", 400, {NULL}},
	};

	STEPS(*state, steps);
}

static void test_selectors(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " VIEW, NEW("a", ""), 201, {NULL}},
		{"POST " CORE,
		 "{'metadata':{'name':'b'},'involvedObject':{'kind':'Node','name':'n'},"
		 "'reason':'Gone'}",
		 201,
		 {NULL}},
		{"GET " VIEW "?fieldSelector=regarding.kind%3DNode",
		 NULL,
		 200,
		 {"#items=1", "items.0.metadata.name=b"}},
		{"GET " VIEW "?fieldSelector=reportingController%3Ddefault-scheduler,"
		 "reason!%3DGone",
		 NULL,
		 200,
		 {"#items=1", "items.0.metadata.name=a"}},
		{"GET " CORE "?fieldSelector=involvedObject.uid%3Du-1",
		 NULL,
		 200,
		 {"#items=1", "items.0.metadata.name=a"}},
		{"MERGE " CORE "/b", "{'source':{'component':'kubelet'}}", 200, {NULL}},
		{"GET " CORE "?fieldSelector=source%3Dkubelet",
		 NULL,
		 200,
		 {"#items=1", "items.0.metadata.name=b"}},
		{"GET " VIEW "?fieldSelector=source%3Ddefault-scheduler",
		 NULL,
		 400,
		 {"message~field label not supported: source"}},
		{"GET " VIEW "?fieldSelector=involvedObject.uid%3Du-1",
		 NULL,
		 400,
		 {"message~field label not supported"}},
	};

	STEPS(*state, steps);
}

static void test_watches(void **state)
{
	struct kube_rig *rig = *state;
	struct kube_watch core, view;
	const json_t *frame;

	kube_watch_open(rig, &core, CORE "?watch=1&resourceVersion=1");
	kube_watch_open(rig, &view, VIEW "?watch=1&fieldSelector=regarding.name%3Dp");
	assert_int_equal(kube_ask(rig, "POST " VIEW, NEW("a", "")), 201);
	frame = kube_watch_next(&core, 5000);
	assert_null(kube_differs(frame, "object.involvedObject.name=p"));
	assert_null(kube_differs(frame, "object.apiVersion=v1"));
	frame = kube_watch_next(&view, 5000);
	assert_null(kube_differs(frame, "type=ADDED"));
	assert_null(kube_differs(frame, "object.regarding.name=p"));
	assert_null(kube_differs(frame, "object.apiVersion=events.k8s.io/v1"));
	assert_int_equal(kube_ask(rig, "MERGE " CORE "/a", "{'count':2}"), 200);
	frame = kube_watch_next(&view, 5000);
	assert_null(kube_differs(frame, "object.deprecatedCount=2"));
	assert_int_equal(kube_ask(rig, "DELETE " CORE "/a", NULL), 200);
	kube_watch_wants(&view, "DELETED a");
	kube_watch_close(&core);
	kube_watch_close(&view);
}

/* Large ones are renamed once for all who look. */
static void test_large(void **state)
{
	struct kube_rig *rig = *state;
	size_t size = (size_t)400 * 1024;
	char *body = malloc(size + 1024);
	struct kube_watch watches[3];
	const json_t *frame;

	assert_non_null(body);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(watches); i++)
		kube_watch_open(rig, &watches[i], VIEW "?watch=1&resourceVersion=1");
	for (int n = 0; n < 2; n++) {
		int len =
			snprintf(body, 1024,
				 "{\"metadata\":{\"name\":\"l%d\"},\"involvedObject\":{"
				 "\"namespace\":\"default\"},\"count\":7,\"message\":\"",
				 n);
		size_t at = (size_t)len;

		/* Quotes and backslashes, and what looks like members. */
		for (; at < size; at += 24)
			(void)snprintf(body + at, 25, "\\\"count\\\":%d,\\\\{[}%s", n,
				       "abcdefg");
		(void)snprintf(body + at, 3, "\"}");
		assert_int_equal(kube_ask_with(rig, "POST " CORE, "", body, at + 2), 201);
		for (size_t i = 0; i < NEAP_ARRAY_LEN(watches); i++) {
			frame = kube_watch_next(&watches[i], 5000);
			assert_null(kube_differs(frame, n ? "object.metadata.name=l1"
							  : "object.metadata.name=l0"));
			assert_null(kube_differs(frame, "object.deprecatedCount=7"));
			assert_null(kube_differs(frame, "!object.message"));
			assert_null(
				kube_differs(frame, n ? "object.note~\"count\":1,\\{[}"
						      : "object.note~\"count\":0,\\{[}"));
		}
	}
	for (size_t i = 0; i < NEAP_ARRAY_LEN(watches); i++)
		kube_watch_close(&watches[i]);
	free(body);
}

static void test_tables(void **state)
{
	struct kube_rig *rig = *state;

	assert_int_equal(kube_ask(rig, "POST " VIEW, NEW("a", "")), 201);
	assert_int_equal(
		kube_ask_with(rig, "GET " VIEW "?includeObject=Object", TABLE, NULL, 0),
		200);
	assert_null(kube_differs(rig->body, "kind=Table"));
	assert_null(kube_differs(rig->body, "rows.0.cells.3=pod/p"));
	assert_null(kube_differs(rig->body, "rows.0.cells.5=default-scheduler, s-1"));
	assert_null(kube_differs(rig->body, "rows.0.object.regarding.name=p"));
}

/* Discovery tells of both, and what is in a namespace goes once. */
static void test_around(void **state)
{
	struct kube_rig *rig = *state;
	static const struct kube_step steps[] = {
		{"GET /apis/events.k8s.io/v1",
		 NULL,
		 200,
		 {"resources.0.name=events", "resources.0.kind=Event"}},
		{"POST /api/v1/namespaces", "{'metadata':{'name':'n'}}", 201, {NULL}},
		{"POST /api/v1/namespaces/n/events",
		 "{'metadata':{'name':'e'},'involvedObject':{'namespace':'n'}}",
		 201,
		 {NULL}},
		{"POST /api/v1/namespaces/default/configmaps",
		 "{'metadata':{'name':'m'}}",
		 201,
		 {NULL}},
		{"DELETE /api/v1/namespaces/n", NULL, 200, {NULL}},
	};
	char body[512];

	assert_int_equal(kube_ask(rig, "POST " CORE,
				  "{'metadata':{'name':'o'},'involvedObject':{}}"),
			 201);
	/* An owner that is named in the other shape is there all the same. */
	(void)snprintf(body, sizeof(body),
		       "{'metadata':{'name':'owned','ownerReferences':[{'apiVersion':"
		       "'events.k8s.io/v1','kind':'Event','name':'o','uid':'%s'}]}}",
		       kube_text(rig->body, "metadata.uid"));
	assert_int_equal(
		kube_ask(rig, "POST /api/v1/namespaces/default/configmaps", body), 201);
	STEPS(rig, steps);
	kube_until(rig,
		   &(struct kube_step){"GET /api/v1/namespaces/n", NULL, 404, {NULL}});
	assert_int_equal(
		kube_ask(rig, "GET /api/v1/namespaces/default/configmaps/owned", NULL),
		200);
}

/* --- expiry --- */

static void add(struct kube_rig *rig, const char *name, const char *more)
{
	char body[2048];

	(void)snprintf(
		body, sizeof(body),
		"{'metadata':{'name':'%s'},'involvedObject':{'namespace':'default'}%s}",
		name, more);
	assert_int_equal(kube_ask(rig, "POST " CORE, body), 201);
}

static struct neap_kube_expire *start(struct kube_rig *rig, int64_t ttl_s,
				      size_t count_max, size_t bytes_max)
{
	struct neap_kube_expire_config config = {
		.ttl_s = ttl_s, .count_max = count_max, .bytes_max = bytes_max};
	struct neap_kube_expire *expire;
	struct neap_error err = {0};

	assert_int_equal(neap_kube_expire_new(rig->kube, &config, &expire, &err), 0);
	kube_run(rig, 5);
	return expire;
}

/* Names of those that are left, as "a b". */
static void wait_left(struct kube_rig *rig, const char *want)
{
	char left[1024] = "";
	const json_t *item;
	size_t i;

	for (int n = 0; n < PATIENCE_MS / 5; n++) {
		assert_int_equal(kube_ask(rig, "GET " CORE, NULL), 200);
		left[0] = '\0';
		json_array_foreach (kube_at(rig->body, "items"), i, item)
			(void)snprintf(left + strlen(left), sizeof(left) - strlen(left),
				       "%s%s", i ? " " : "",
				       kube_text(item, "metadata.name"));
		if (strcmp(left, want) == 0)
			return;
		kube_run(rig, 5);
	}
	assert_string_equal(left, want);
}

#define HOUR (INT64_C(3600) * 1000000)

static void test_age(void **state)
{
	struct kube_rig *rig = *state;
	int64_t before = kube_now;
	struct neap_kube_expire *expire;
	struct kube_watch watch;

	/* One that was there at the start, one that says that it happened again, one that
	 * lies. */
	add(rig, "old", "");
	add(rig, "series",
	    ",'lastTimestamp':'2026-09-21T15:03:20Z'"); /* 50 minutes later */
	add(rig, "liar", ",'lastTimestamp':'2999-01-01T00:00:00Z'");
	kube_now += HOUR - 1000000;
	expire = start(rig, 3600, 0, 0);
	add(rig, "new", "");
	wait_left(rig, "liar new old series");
	kube_watch_open(rig, &watch, CORE "?watch=1&resourceVersion=1");
	for (int i = 0; i < 4; i++)
		assert_non_null(kube_watch_next(&watch, 5000));
	kube_now += 1000000;
	add(rig, "newer", ""); /* somebody looks at the list */
	wait_left(rig, "liar new newer series");
	kube_watch_wants(&watch, "ADDED newer");
	kube_watch_wants(&watch, "DELETED old");
	kube_watch_close(&watch);
	/* What is written again stays for as long again. */
	kube_now += HOUR - 10 * 1000000;
	assert_int_equal(kube_ask(rig, "MERGE " CORE "/new", "{'count':2}"), 200);
	wait_left(rig, "liar new newer");
	kube_now += 11 * 1000000;
	add(rig, "last", "");
	wait_left(rig, "last new");
	assert_int_equal(neap_kube_expire_count(expire), 4);
	/* With a finalizer or not. */
	assert_int_equal(kube_ask(rig, "MERGE " CORE "/new",
				  "{'metadata':{'finalizers':['a.b/c']}}"),
			 200);
	kube_now += HOUR;
	add(rig, "end", "");
	wait_left(rig, "end");
	neap_kube_expire_free(expire);
	kube_now = before;
}

static void test_number(void **state)
{
	struct kube_rig *rig = *state;
	struct neap_kube_expire *expire;

	for (int i = 0; i < 9; i++)
		add(rig, (char[]){(char)('a' + i), '\0'}, "");
	/* Written again, it is the youngest. */
	assert_int_equal(kube_ask(rig, "MERGE " CORE "/a", "{'count':2}"), 200);
	expire = start(rig, 0, 4, 0);
	wait_left(rig, "a g h i");
	add(rig, "j", "");
	wait_left(rig, "a h i j");
	assert_int_equal(kube_ask(rig, "DELETE " CORE "/h", NULL), 200);
	add(rig, "k", "");
	wait_left(rig, "a i j k");
	neap_kube_expire_free(expire);
	/* By their bytes: the two that are largest do not fit together. */
	expire = start(rig, 0, 100, 1800);
	add(rig, "l", ",'reason':'0123456789'");
	wait_left(rig, "a i j k l");
	{
		char body[1600];

		(void)snprintf(body, sizeof(body), ",'message':'%01200d'", 0);
		add(rig, "m", body);
	}
	wait_left(rig, "l m");
	neap_kube_expire_free(expire);
	/* Without an age nothing goes by it. */
	kube_now += 100 * HOUR;
	expire = start(rig, 0, 100, 0);
	add(rig, "n", "");
	kube_run(rig, 30);
	wait_left(rig, "l m n");
	kube_now -= 100 * HOUR;
	neap_kube_expire_free(expire);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(written_in_the_view),
		TEST(written_in_core),
		TEST(put),
		TEST(checks),
		TEST(selectors),
		TEST(watches),
		TEST(tables),
		TEST(around),
		TEST(large),
		TEST(age),
		TEST(number),
	};

	return cmocka_run_group_tests_name("kube_events", tests, NULL, NULL);
}
