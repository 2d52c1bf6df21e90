/* SPDX-License-Identifier: Apache-2.0
 *
 * What neapd itself tells, as clients read it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/client/events.h"
#include "engine/base/mem.h"
#include "t/lib/kube_rig.h"

#define STEPS(rig, steps) kube_steps(rig, steps, NEAP_ARRAY_LEN(steps))
#define TEST(name)                                                                       \
	cmocka_unit_test_setup_teardown(test_##name, kube_rig_setup, kube_rig_teardown)

#define EVENTS "/api/v1/events"
#define SECOND 1000000LL

static const struct neap_client_note pod = {
	.api_version = "v1",
	.kind = "Pod",
	.ns = "default",
	.name = "p",
	.uid = "u-1",
	.field_path = "spec.containers{main}",
	.is_warning = true,
	.reason = "BackOff",
	.component = "kubelet",
	.host = "n1",
};
static const struct neap_client_note node = {
	.api_version = "v1",
	.kind = "Node",
	.ns = "",
	.name = "n1",
	.uid = "n1",
	.reason = "NodeNotReady",
	.component = "node-controller",
};

/* What was written before a write that is answered can be read. */
static void settle(struct kube_rig *rig)
{
	static int n;
	char body[64];

	(void)snprintf(body, sizeof(body), "{'metadata':{'labels':{'n':'%d'}}}", n++);
	assert_int_equal(kube_ask(rig, "MERGE /api/v1/namespaces/default", body), 200);
}

static size_t count_events(struct kube_rig *rig)
{
	settle(rig);
	assert_int_equal(kube_ask(rig, "GET " EVENTS, NULL), 200);
	return json_array_size(json_object_get(rig->body, "items"));
}

static void test_shape(void **state)
{
	static const struct kube_step steps[] = {
		{"GET " EVENTS "?fieldSelector=involvedObject.name=p,involvedObject.uid="
		 "u-1,"
		 "involvedObject.namespace=default,involvedObject.kind=Pod",
		 NULL,
		 200,
		 {"#items=1", "items.0.type=Warning", "items.0.reason=BackOff",
		  "items.0.message=back-off 10s", "items.0.source.component=kubelet",
		  "items.0.source.host=n1", "items.0.count=1"}},
		{"GET " EVENTS "?fieldSelector=involvedObject.name=p",
		 NULL,
		 200,
		 {"items.0.involvedObject.fieldPath=spec.containers{main}",
		  "items.0.involvedObject.apiVersion=v1",
		  "items.0.firstTimestamp=2026-09-21T13:33:20Z",
		  "items.0.lastTimestamp=2026-09-21T13:33:20Z",
		  "items.0.reportingComponent=kubelet", "items.0.metadata.name~p.",
		  "items.0.metadata.namespace=default"}},
		{"GET " EVENTS "?fieldSelector=involvedObject.kind=Node",
		 NULL,
		 200,
		 {"#items=1", "items.0.metadata.namespace=default",
		  "!items.0.involvedObject.namespace", "items.0.type=Normal",
		  "!items.0.source.host", "items.0.message=node ?n1? is lost: \xc3\xa4"}},
		/* The other view shows it as well. */
		{"GET /apis/events.k8s.io/v1/events?fieldSelector=regarding.kind=Node",
		 NULL,
		 200,
		 {"items.0.reportingController=node-controller",
		  "items.0.deprecatedCount=1"}},
	};
	struct kube_rig *rig = *state;

	kube_now = INT64_C(1789997600) * SECOND;
	neap_client_note(rig->client, &pod, "back-off %ds", 10);
	/* No UTF-8 is no reason to lose it. */
	neap_client_note(rig->client, &node, "node \xffn1\xc3 is lost: \xc3\xa4");
	settle(rig);
	STEPS(rig, steps);
}

/* The same again is counted; one that somebody deleted comes back with its count. */
static void test_repeated(void **state)
{
	static const struct kube_step counted[] = {
		{"GET " EVENTS,
		 NULL,
		 200,
		 {"#items=1", "items.0.count=3",
		  "items.0.firstTimestamp=2026-09-21T13:33:20Z",
		  "items.0.lastTimestamp=2026-09-21T13:34:00Z"}},
	};
	static const struct kube_step again[] = {
		{"GET " EVENTS,
		 NULL,
		 200,
		 {"#items=1", "items.0.count=4", "items.0.message=same",
		  "items.0.firstTimestamp=2026-09-21T13:33:20Z",
		  "items.0.lastTimestamp=2026-09-21T13:34:20Z"}},
	};
	struct kube_rig *rig = *state;

	kube_now = INT64_C(1789997600) * SECOND;
	for (int i = 0; i < 3; i++, kube_now += 20 * SECOND)
		neap_client_note(rig->client, &pod, "same");
	settle(rig);
	STEPS(rig, counted);
	assert_int_equal(kube_ask(rig, "DELETE /api/v1/namespaces/default/events", NULL),
			 200);
	assert_int_equal(count_events(rig), 0);
	neap_client_note(rig->client, &pod, "same");
	settle(rig);
	STEPS(rig, again);
	neap_client_note(rig->client, &pod, "other");
	assert_int_equal(count_events(rig), 2);
}

/* From the tenth on they are one. */
static void test_similar(void **state)
{
	static const struct kube_step steps[] = {
		{"GET " EVENTS "?fieldSelector=involvedObject.name=p",
		 NULL,
		 200,
		 {"#items=10", "items.9.count=3",
		  "items.9.message=(combined from similar events): try 11"}},
	};
	static const struct kube_step fresh[] = {
		{"GET " EVENTS, NULL, 200, {"#items=11", "items.10.message=try 12"}},
	};
	struct kube_rig *rig = *state;

	kube_now = INT64_C(1789997600) * SECOND;
	for (int i = 0; i < 12; i++, kube_now += SECOND)
		neap_client_note(rig->client, &pod, "try %d", i);
	settle(rig);
	STEPS(rig, steps);
	/* After ten minutes of silence nothing is similar. */
	kube_now += 601 * SECOND;
	neap_client_note(rig->client, &pod, "try 12");
	settle(rig);
	STEPS(rig, fresh);
}

/* 25 at once, then one in five minutes; others are heard meanwhile. */
static void test_spam(void **state)
{
	struct kube_rig *rig = *state;
	struct neap_client_note note = pod;
	char reason[16];

	kube_now = INT64_C(1789997600) * SECOND;
	note.reason = reason;
	for (int i = 0; i < 40; i++) {
		(void)snprintf(reason, sizeof(reason), "Reason%d", i);
		neap_client_note(rig->client, &note, "x");
	}
	assert_int_equal(count_events(rig), 25);
	neap_client_note(rig->client, &node, "x");
	assert_int_equal(count_events(rig), 26);
	kube_now += 299 * SECOND;
	neap_client_note(rig->client, &note, "x");
	assert_int_equal(count_events(rig), 26);
	kube_now += 2 * SECOND;
	neap_client_note(rig->client, &note, "x");
	assert_int_equal(count_events(rig), 27);
	neap_client_note(rig->client, &note, "x");
	kube_now += 300 * SECOND;
	neap_client_note(rig->client, &note, "x");
	/* What was not heard was counted. */
	assert_int_equal(count_events(rig), 27);
	for (size_t i = 0; i < 27; i++) {
		const json_t *event =
			json_array_get(json_object_get(rig->body, "items"), i);

		if (strcmp(kube_text(event, "reason"), "Reason39") == 0)
			assert_null(kube_differs(event, "count=5"));
	}
}

/* More objects than are remembered, names and messages as long as can be, and memory that
 * is short. */
static void test_bounds(void **state)
{
	static const char *const spaces[] = {"default", "", "nowhere"};
	struct kube_rig *rig = *state;
	struct neap_client_note note = pod;
	char name[254], message[3000];
	uint64_t start;

	kube_now = INT64_C(1789997600) * SECOND;
	memset(message, 'm', sizeof(message) - 1);
	message[sizeof(message) - 1] = '\0';
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	name[235] = '.';
	note.name = name;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(spaces); i++) {
		note.ns = spaces[i];
		neap_client_note(rig->client, &note, "%s", message);
	}
	assert_int_equal(count_events(rig), 2);
	assert_int_equal(strlen(kube_text(rig->body, "items.0.message")), 1024);
	note = pod;
	note.name = name;
	for (int i = 0; i < 4200; i++) {
		(void)snprintf(name, sizeof(name), "pod-%d", i);
		neap_client_note(rig->client, &note, "x");
	}
	assert_int_equal(count_events(rig), 4202);
	/* The first ones are forgotten, and told as new. */
	(void)snprintf(name, sizeof(name), "pod-0");
	neap_client_note(rig->client, &note, "x");
	assert_int_equal(count_events(rig), 4203);
	(void)snprintf(name, sizeof(name), "pod-4199");
	neap_client_note(rig->client, &note, "x");
	assert_int_equal(count_events(rig), 4203);
	note.reason = NULL;
	note.uid = NULL;
	note.component = NULL;
	for (uint64_t n = 1; n < 40; n++) {
		start = neap_mem_failures();
		neap_mem_fail_at(n);
		neap_client_note(rig->client, &note, "short of memory");
		neap_mem_fail_at(0);
		kube_run(rig, 0);
		if (neap_mem_failures() == start)
			break;
	}
	(void)count_events(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(shape), TEST(repeated), TEST(similar), TEST(spam), TEST(bounds),
	};

	return cmocka_run_group_tests_name("kube_note", tests, NULL, NULL);
}
