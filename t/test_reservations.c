/* SPDX-License-Identifier: Apache-2.0
 *
 * Reservations after somebody has placed them: who uses them, when they end, when they go
 * away, and that all of it is right again after a restart at any moment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "t/lib/reservations_rig.h"

#define WANT(...) ((const char *const[KUBE_WANTS + 1]){__VA_ARGS__})

/* --- owners --- */

static void test_once(void **state)
{
	struct reservations_rig *rig = *state;
	const char *message;
	char uid[64];

	reservations_make(rig, "r", "");
	reservations_place(rig, "r", "n1", "Available");
	reservations_uid(rig, "GET " RESERVATIONS "/r", uid);
	reservations_pod(rig, "a", "n1", uid, 2);
	reservations_until(rig, "r",
			   WANT("status.phase=Succeeded",
				"status.allocated={\"cpu\":\"2\",\"memory\":\"1Gi\"}",
				"#status.currentOwners=1",
				"status.currentOwners.0.name=a",
				"status.conditions.0.status=True",
				"status.conditions.1.status=False",
				"status.conditions.1.reason=Succeeded"));
	assert_int_equal(reservations_events(rig, "r", "Succeeded", &message), 1);
	assert_string_equal(message, "Used by pod default/a");
	/* It stays so when the pod goes, and however long it is. */
	reservations_must(rig, "DELETE " PODS "/a?gracePeriodSeconds=0", NULL, 200);
	kube_now += DAY / 2;
	reservations_again(rig);
	reservations_rest(rig);
	reservations_until(rig, "r",
			   WANT("status.phase=Succeeded", "#status.currentOwners=1"));
	assert_int_equal(reservations_events(rig, "r", "Succeeded", NULL), 1);
}

/* Which pods count, one change after the other. */
static void test_many(void **state)
{
	struct reservations_rig *rig = *state;
	char uid[64], a[64], b[64];
	const char *first, *second;

	reservations_make(rig, "r", ",'allocateOnce':false");
	reservations_place(rig, "r", "n1", "Available");
	reservations_uid(rig, "GET " RESERVATIONS "/r", uid);
	reservations_pod(rig, "elsewhere", "n2", uid, 1);
	reservations_pod(rig, "unbound", "", uid, 1);
	reservations_pod(rig, "plain", "n1", NULL, 1);
	reservations_pod(rig, "a", "n1", uid, 1);
	reservations_pod(rig, "b", "n1", uid, 2);
	reservations_uid(rig, "GET " PODS "/a", a);
	reservations_uid(rig, "GET " PODS "/b", b);
	first = strcmp(a, b) < 0 ? "status.currentOwners.0.name=a"
				 : "status.currentOwners.0.name=b";
	second = strcmp(a, b) < 0 ? "status.currentOwners.1.name=b"
				  : "status.currentOwners.1.name=a";
	reservations_until(rig, "r",
			   WANT("status.phase=Available",
				"status.allocated={\"cpu\":\"3\",\"memory\":\"2Gi\"}",
				"#status.currentOwners=2", first, second,
				"status.conditions.1.status=True"));
	/* It ends; the other is deleted; the unbound one is bound. */
	workload_set_phase(rig->kube, "default", "a", "Failed", NULL);
	reservations_until(rig, "r",
			   WANT("status.allocated={\"cpu\":\"2\",\"memory\":\"1Gi\"}",
				"#status.currentOwners=1",
				"status.currentOwners.0.name=b"));
	reservations_must(rig, "DELETE " PODS "/b?gracePeriodSeconds=0", NULL, 200);
	reservations_until(rig, "r",
			   WANT("status.phase=Available", "status.allocated={}",
				"#status.currentOwners=0"));
	reservations_must(rig, "POST " PODS "/unbound/binding",
			  "{'target':{'kind':'Node','name':'n1'}}", 201);
	reservations_until(
		rig, "r",
		WANT("#status.currentOwners=1", "status.currentOwners.0.name=unbound"));
	/* The reservation goes, its owner stays as it is. */
	reservations_must(rig, "DELETE " RESERVATIONS "/r", NULL, 200);
	reservations_rest(rig);
	reservations_must(rig, "GET " PODS "/unbound", NULL, 200);
	assert_non_null(
		strstr(json_string_value(json_object_get(
			       kube_at(rig->kube->body, "metadata.annotations"),
			       "scheduling.koordinator.sh/reservation-allocated")),
		       uid));
}

/* An owner that is being deleted has its room until it is gone. */
static void test_deleting(void **state)
{
	struct reservations_rig *rig = *state;
	char uid[64];

	reservations_make(rig, "r", ",'allocateOnce':false");
	reservations_place(rig, "r", "n1", "Available");
	reservations_pod(rig, "a", "n1",
			 reservations_uid(rig, "GET " RESERVATIONS "/r", uid), 1);
	reservations_until(rig, "r", WANT("#status.currentOwners=1"));
	reservations_must(rig, "DELETE " PODS "/a", NULL, 200);
	reservations_rest(rig);
	reservations_until(rig, "r", WANT("#status.currentOwners=1"));
	reservations_must(rig, "DELETE " PODS "/a?gracePeriodSeconds=0", NULL, 200);
	reservations_until(rig, "r", WANT("#status.currentOwners=0"));
}

/* From one to the other; another pod of the same name; a uid that nobody has; what is no
 * JSON. */
static void test_moves(void **state)
{
	struct reservations_rig *rig = *state;
	char r[64], s[64];

	reservations_make(rig, "r", ",'allocateOnce':false");
	reservations_make(rig, "s", ",'allocateOnce':false");
	reservations_place(rig, "r", "n1", "Available");
	reservations_place(rig, "s", "n1", "Available");
	reservations_uid(rig, "GET " RESERVATIONS "/r", r);
	reservations_uid(rig, "GET " RESERVATIONS "/s", s);
	reservations_pod(rig, "a", "n1", r, 1);
	reservations_until(rig, "r", WANT("#status.currentOwners=1"));
	reservations_move(rig, "a", s);
	reservations_until(rig, "r", WANT("#status.currentOwners=0"));
	reservations_until(rig, "s", WANT("#status.currentOwners=1"));
	reservations_must(rig, "DELETE " PODS "/a?gracePeriodSeconds=0", NULL, 200);
	reservations_pod(rig, "a", "n1", s, 3);
	reservations_until(rig, "s",
			   WANT("#status.currentOwners=1",
				"status.allocated={\"cpu\":\"3\",\"memory\":\"1Gi\"}"));
	reservations_move(rig, "a", "nobody");
	reservations_until(rig, "s", WANT("#status.currentOwners=0"));
	reservations_move(rig, "a", r);
	reservations_until(rig, "r", WANT("#status.currentOwners=1"));
	reservations_must(rig, "MERGE " PODS "/a",
			  "{'metadata':{'annotations':{"
			  "'scheduling.koordinator.sh/reservation-allocated':'{x'}}}",
			  200);
	reservations_until(rig, "r", WANT("#status.currentOwners=0"));
}

/* Another reservation of the same name is another one. */
static void test_same_name(void **state)
{
	struct reservations_rig *rig = *state;
	char uid[64];

	reservations_make(rig, "r", ",'allocateOnce':false");
	reservations_place(rig, "r", "n1", "Available");
	reservations_pod(rig, "a", "n1",
			 reservations_uid(rig, "GET " RESERVATIONS "/r", uid), 1);
	reservations_until(rig, "r", WANT("#status.currentOwners=1"));
	reservations_must(rig, "DELETE " RESERVATIONS "/r", NULL, 200);
	reservations_make(rig, "r", ",'allocateOnce':false");
	reservations_place(rig, "r", "n1", "Available");
	reservations_rest(rig);
	reservations_until(rig, "r",
			   WANT("!status.currentOwners", "status.phase=Available"));
	reservations_move(rig, "a", reservations_uid(rig, "GET " RESERVATIONS "/r", uid));
	reservations_until(rig, "r", WANT("#status.currentOwners=1"));
}

/* Whatever the status says, and whatever happened while nobody looked: bound and not
 * told, told and gone, given to two, other amounts. */
static void test_repaired(void **state)
{
	static const struct {
		const char *name, *status, *want;
	} rows[] = {
		{"told of nobody", "'currentOwners':[],'allocated':{}",
		 "status.allocated={\"cpu\":\"1\",\"memory\":\"1Gi\"}"},
		{"twice",
		 "'currentOwners':[{'name':'a','namespace':'default','uid':'@'},"
		 "{'name':'a','namespace':'default','uid':'@'}],"
		 "'allocated':{'cpu':'2','memory':'2Gi'}",
		 "status.allocated={\"cpu\":\"1\",\"memory\":\"1Gi\"}"},
		{"one that is gone",
		 "'currentOwners':[{'name':'a','namespace':'default','uid':'@'},"
		 "{'name':'x','namespace':'default','uid':'zzz'}],"
		 "'allocated':{'cpu':'2','memory':'2Gi'}",
		 "status.allocated={\"cpu\":\"1\",\"memory\":\"1Gi\"}"},
		{"too much",
		 "'currentOwners':[{'name':'a','namespace':'default','uid':'@'}],"
		 "'allocated':{'cpu':'2','memory':'1Gi','example.com/x':'1'}",
		 "status.allocated={\"cpu\":\"1\",\"memory\":\"1Gi\"}"},
	};
	struct reservations_rig *rig = *state;
	char uid[64], body[1024];

	reservations_make(rig, "r", ",'allocateOnce':false");
	reservations_place(rig, "r", "n1", "Available");
	reservations_pod(rig, "a", "n1",
			 reservations_uid(rig, "GET " RESERVATIONS "/r", uid), 1);
	reservations_until(rig, "r", WANT("#status.currentOwners=1"));
	reservations_uid(rig, "GET " PODS "/a", uid);
	for (size_t i = 0; i < 2 * NEAP_ARRAY_LEN(rows); i++) {
		const char *from = rows[i / 2].status;
		size_t used = (size_t)snprintf(body, sizeof(body), "{'status':{");

		for (; *from; from++)
			used += (size_t)snprintf(body + used, sizeof(body) - used,
						 *from == '@' ? "%s" : "%.1s",
						 *from == '@' ? uid : from);
		(void)snprintf(body + used, sizeof(body) - used, "}}");
		print_message("%s\n", rows[i / 2].name);
		if (i % 2)
			reservations_stop(rig);
		reservations_must(rig, "MERGE " RESERVATIONS "/r/status", body, 200);
		if (i % 2)
			reservations_start(rig);
		reservations_until(rig, "r",
				   WANT(rows[i / 2].want, "#status.currentOwners=1",
					"status.currentOwners.0.name=a"));
	}
	/* While nobody looks the owner goes and another comes. */
	reservations_uid(rig, "GET " RESERVATIONS "/r", uid);
	reservations_stop(rig);
	reservations_must(rig, "DELETE " PODS "/a?gracePeriodSeconds=0", NULL, 200);
	reservations_pod(rig, "c", "n1", uid, 2);
	reservations_start(rig);
	reservations_until(
		rig, "r",
		WANT("#status.currentOwners=1", "status.currentOwners.0.name=c"));
}

/* What changes nothing is not written: pods that only report, the reservation that is
 * looked at again and again. */
static void test_quiet(void **state)
{
	struct reservations_rig *rig = *state;
	char uid[64];
	int64_t version;

	reservations_make(rig, "r", ",'allocateOnce':false");
	reservations_make(rig, "unplaced", "");
	reservations_place(rig, "r", "n1", "Available");
	reservations_pod(rig, "a", "n1",
			 reservations_uid(rig, "GET " RESERVATIONS "/r", uid), 1);
	reservations_until(rig, "r", WANT("#status.currentOwners=1"));
	/* Whatever is to be written about them is. */
	reservations_rest(rig);
	workload_set_phase(rig->kube, "default", "a", "Running", "True");
	version = neap_store_version(rig->kube->store.store);
	for (int i = 0; i < 3; i++) {
		reservations_again(rig);
		kube_now += 60 * SECOND;
		reservations_rest(rig);
	}
	assert_int_equal(neap_store_version(rig->kube->store.store), version);
}

/* --- the end --- */

static void test_expiry(void **state)
{
	static const struct {
		const char *name, *spec, *phase; /* NULL: not placed */
		int minutes;                     /* later */
		const char *why;                 /* NULL: it lives */
	} rows[] = {
		{"a-young", ",'ttl':'1h'", "Available", 59, NULL},
		{"a-old", ",'ttl':'1h'", "Available", 61,
		 "Expired: older than its ttl of 1h"},
		{"b-default", "", "Available", 24 * 60 - 1, NULL},
		{"b-default-old", "", "Available", 24 * 60 + 1,
		 "Expired: older than its ttl of 24h"},
		{"c-never", ",'ttl':'0'", "Available", 365 * 24 * 60, NULL},
		{"d-expires", ",'expires':'@30'", "Available", 31, "Expired at "},
		{"d-ttl-first", ",'ttl':'10m','expires':'@30'", "Available", 11,
		 "Expired: older than its ttl of 10m"},
		{"d-expires-first", ",'ttl':'2h','expires':'@30'", "Available", 31,
		 "Expired at "},
		{"d-ttl-off", ",'ttl':'0s','expires':'@30'", "Available", 31, NULL},
		{"e-unplaced", ",'ttl':'1h'", NULL, 61,
		 "Expired: older than its ttl of 1h"},
		{"e-unplaced-young", ",'ttl':'1h'", NULL, 59, NULL},
		{"f-waiting", ",'ttl':'1h'", "Waiting", 61,
		 "Expired: older than its ttl of 1h"},
		{"g-succeeded", ",'ttl':'1h'", "Succeeded", 61, NULL},
	};
	struct reservations_rig *rig = *state;
	const char *message;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		char spec[256], expires[32], ask[256];
		const char *at = strchr(rows[i].spec, '@');

		print_message("%s\n", rows[i].name);
		(void)neap_time_format(kube_now + 30 * 60 * SECOND, 0, expires,
				       sizeof(expires));
		(void)snprintf(spec, sizeof(spec), "%.*s%s%s",
			       at ? (int)(at - rows[i].spec) : (int)strlen(rows[i].spec),
			       rows[i].spec, at ? expires : "", at ? at + 3 : "");
		reservations_make(rig, rows[i].name, spec);
		if (rows[i].phase)
			reservations_place(rig, rows[i].name, "n1", rows[i].phase);
		reservations_rest(rig);
		kube_now += rows[i].minutes * 60 * SECOND;
		/* What was missed, and what only becomes due by a change. */
		if (i % 2) {
			reservations_again(rig);
		} else {
			(void)snprintf(ask, sizeof(ask), "MERGE " RESERVATIONS "/%s",
				       rows[i].name);
			reservations_must(rig, ask, "{'metadata':{'labels':{'x':'y'}}}",
					  200);
		}
		if (rows[i].why)
			reservations_until(
				rig, rows[i].name,
				WANT("status.phase=Failed",
				     rows[i].phase
					     ? "status.conditions.1.reason=Expired"
					     : "status.conditions.0.reason=Expired"));
		else
			reservations_rest(rig);
		assert_int_equal(
			reservations_events(rig, rows[i].name, "Expired", &message),
			rows[i].why != NULL);
		if (rows[i].why && !strstr(message, rows[i].why))
			fail_msg("%s: %s", rows[i].name, message);
		(void)snprintf(ask, sizeof(ask), "GET " RESERVATIONS "/%s", rows[i].name);
		reservations_must(rig, ask, NULL, 200);
		if (!rows[i].why && rows[i].phase &&
		    strcmp(kube_text(rig->kube->body, "status.phase"), rows[i].phase) !=
			    0)
			fail_msg("%s: it is %s", rows[i].name,
				 kube_text(rig->kube->body, "status.phase"));
		(void)snprintf(ask, sizeof(ask), "DELETE " RESERVATIONS "/%s",
			       rows[i].name);
		reservations_must(rig, ask, NULL, 200);
	}
}

/* By itself, without a change: within the shortest pause between looks. */
static void test_by_itself(void **state)
{
	struct reservations_rig *rig = *state;

	reservations_make(rig, "r", ",'ttl':'1s'");
	reservations_rest(rig);
	kube_now += 2 * SECOND;
	reservations_until(rig, "r", WANT("status.phase=Failed"));
}

static void test_node_gone(void **state)
{
	struct reservations_rig *rig = *state;
	const char *message;

	reservations_make(rig, "r", ",'ttl':'0'");
	reservations_make(rig, "other", ",'ttl':'0'");
	reservations_make(rig, "unplaced", ",'ttl':'0'");
	reservations_place(rig, "r", "n1", "Available");
	reservations_place(rig, "other", "n2", "Available");
	reservations_rest(rig);
	reservations_must(rig, "DELETE " NODES "/n1", NULL, 200);
	reservations_until(rig, "r",
			   WANT("status.phase=Failed", "status.nodeName=n1",
				"status.conditions.1.reason=Expired"));
	assert_int_equal(reservations_events(rig, "r", "Expired", &message), 1);
	assert_string_equal(message, "Node n1 is gone");
	/* Seen for a minute, then collected; those of other nodes live. */
	reservations_again(rig);
	reservations_rest(rig);
	reservations_until(rig, "r", WANT("status.phase=Failed"));
	kube_now += 61 * SECOND;
	reservations_again(rig);
	kube_until(rig->kube,
		   &(struct kube_step){"GET " RESERVATIONS "/r", NULL, 404, {NULL}});
	reservations_until(rig, "other", WANT("status.phase=Available"));
	reservations_must(rig, "GET " RESERVATIONS "/unplaced", NULL, 200);
	/* It went while nobody looked. */
	reservations_stop(rig);
	reservations_must(rig, "DELETE " NODES "/n2", NULL, 200);
	reservations_start(rig);
	reservations_until(rig, "other", WANT("status.phase=Failed"));
}

/* One that cannot be read says so, once for each reason. */
static void test_unusable(void **state)
{
	static const struct {
		const char *body; /* merged */
		int events;
		const char *says; /* the newest; NULL: it is refused */
	} rows[] = {
		{"{'metadata':{'annotations':{'node.koordinator.sh/reservation':'{'}}}",
		 1, "No pod can use it: annotation node.koordinator.sh/reservation: "},
		{"{'metadata':{'labels':{'x':'y'}}}", 1, ""},
		{"{'metadata':{'annotations':{'node.koordinator.sh/reservation':null}}}",
		 1, ""},
		{"{'spec':{'owners':[{'labelSelector':{'matchExpressions':[{'key':'a',"
		 "'operator':'In','values':[]}]}}]}}",
		 2, "No pod can use it: spec.owners[0].labelSelector"},
		{"{'spec':{'owners':[{}]}}", 2, NULL},
	};
	struct reservations_rig *rig = *state;
	const char *message;

	reservations_make(rig, "r", "");
	reservations_place(rig, "r", "n1", "Available");
	assert_int_equal(reservations_events(rig, "r", "Unusable", NULL), 0);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		reservations_must(rig, "MERGE " RESERVATIONS "/r", rows[i].body,
				  rows[i].says ? 200 : 422);
		assert_int_equal(reservations_events(rig, "r", "Unusable", &message),
				 rows[i].events);
		if (rows[i].says && !strstr(message, rows[i].says))
			fail_msg("%zu: %s", i, message);
	}
	reservations_until(rig, "r", WANT("status.phase=Available"));
}

static void test_collection(void **state)
{
	static const struct {
		const char *name, *phase;
		int64_t keep_usec;
		int hours;
		int status; /* of a GET then */
	} rows[] = {
		{"succeeded", "Succeeded", DAY, 23, 200},
		{"succeeded-old", "Succeeded", DAY, 25, 404},
		{"failed", "Failed", DAY, 23, 200},
		{"failed-old", "Failed", DAY, 25, 404},
		{"sooner", "Failed", DAY / 24, 2, 404},
		{"off", "Failed", 0, 1000, 200},
		{"available", "Available", DAY / 24, 20, 200},
	};
	struct reservations_rig *rig = *state;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		char ask[256];

		print_message("%s\n", rows[i].name);
		rig->keep_usec = rows[i].keep_usec;
		reservations_again(rig);
		reservations_make(rig, rows[i].name, "");
		reservations_place(rig, rows[i].name, "n1", rows[i].phase);
		reservations_rest(rig);
		kube_now += rows[i].hours * 3600 * SECOND;
		reservations_again(rig);
		reservations_rest(rig);
		(void)snprintf(ask, sizeof(ask), "GET " RESERVATIONS "/%s", rows[i].name);
		reservations_must(rig, ask, NULL, rows[i].status);
		(void)snprintf(ask, sizeof(ask), "DELETE " RESERVATIONS "/%s",
			       rows[i].name);
		(void)kube_ask(rig->kube, ask, NULL);
	}
}

/* --- the kind itself --- */

/* What the API makes of it, and refuses: paths are those of the object. */
static void test_kind(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " RESERVATIONS,
		 "{'metadata':{'name':'r'},'spec':{'template':{'namespace':'default','spec':{}},"
		 "'owners':[{'object':{'name':'a'}}]}}",
		 201,
		 {"spec.ttl=24h", "spec.allocateOnce=true", "!status",
		  "spec.template.namespace=default", "metadata.generation=1"}},
		{"MERGE " RESERVATIONS "/r/status",
		 "{'status':{'nodeName':''}}",
		 200,
		 {"status.phase=Pending", "metadata.generation=1"}},
		{"MERGE " RESERVATIONS "/r",
		 "{'spec':{'unschedulable':true},'status':{'phase':'Failed'}}",
		 200,
		 {"status.phase=Pending", "metadata.generation=2"}},
		{"POST " RESERVATIONS,
		 "{'metadata':{'name':'s'},'spec':{'owners':[{}]}}",
		 422,
		 {"#details.causes=2", "message~spec.template: Required value",
		  "message~spec.owners[0]"}},
		{"POST " RESERVATIONS,
		 "{'metadata':{'name':'s'},'spec':{'template':{'spec':{'containers':[{'name':'c',"
		 "'resources':{'requests':{'cpu':'-1'}}}]}},'owners':[{'object':{}}]}}",
		 422,
		 {"details.causes.0.field=spec.template.spec.containers[0].resources.requests"
		  "[cpu]"}},
		{"POST " RESERVATIONS,
		 "{'metadata':{'name':'s'}}",
		 422,
		 {"message~spec: Required value"}},
	};
	struct reservations_rig *rig = *state;

	kube_steps(rig->kube, steps, NEAP_ARRAY_LEN(steps));
}

/* --- without the kind --- */

static void test_no_kind(void **state)
{
	struct reservations_rig rig = {.keep_usec = DAY};
	int64_t version;

	(void)state;
	rig.kube = kube_rig_start("127.0.0.1:0", NULL);
	reservations_start(&rig);
	reservations_must(&rig, "POST /api/v1/namespaces",
			  "{'metadata':{'name':'default'}}", 201);
	reservations_must(&rig, "POST " NODES, "{'metadata':{'name':'n1'}}", 201);
	reservations_pod(&rig, "a", "n1", "some-uid", 1);
	reservations_rest(&rig);
	version = neap_store_version(rig.kube->store.store);
	reservations_rest(&rig);
	assert_int_equal(neap_store_version(rig.kube->store.store), version);
	reservations_stop(&rig);
	(void)kube_rig_teardown((void **)&rig.kube);
}

/* --- short of memory --- */

static void test_nomem(void **state)
{
	struct reservations_rig *rig = *state;
	struct neap_workload_config config = workload_config(rig->kube);
	struct neap_reservations *made;
	struct neap_error err;
	char uid[64];
	int fails = 0;

	for (int n = 1;; n++, fails++) {
		neap_mem_fail_at((uint64_t)n);
		if (neap_reservations_new(&config, DAY, &made, &err) == 0)
			break;
		assert_null(made);
	}
	neap_mem_fail_at(0);
	neap_reservations_free(made);
	assert_true(fails >= 5);
	/* Of what is heard and looked at: it is made up for. */
	reservations_make(rig, "r", ",'allocateOnce':false");
	reservations_place(rig, "r", "n1", "Available");
	reservations_uid(rig, "GET " RESERVATIONS "/r", uid);
	reservations_rest(rig);
	for (int n = 1; n < 12; n++) {
		char name[16], want[64];

		(void)snprintf(name, sizeof(name), "p%d", n);
		reservations_pod(rig, name, "n1", uid, 1);
		neap_mem_fail_at((uint64_t)n);
		kube_run(rig->kube, 30);
		neap_mem_fail_at(0);
		(void)snprintf(want, sizeof(want), "#status.currentOwners=%d", n);
		reservations_until(rig, "r", WANT(want));
	}
}

#define TEST(name)                                                                       \
	cmocka_unit_test_setup_teardown(test_##name, reservations_setup,                 \
					reservations_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(once),      TEST(many),
		TEST(deleting),  TEST(moves),
		TEST(same_name), TEST(repaired),
		TEST(quiet),     TEST(expiry),
		TEST(by_itself), TEST(node_gone),
		TEST(unusable),  TEST(collection),
		TEST(kind),      cmocka_unit_test(test_no_kind),
		TEST(nomem),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
