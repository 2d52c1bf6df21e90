/* SPDX-License-Identifier: Apache-2.0
 *
 * Decisions with reservations are recorded and tried again with two versions of a policy
 * of kind reservation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "lua/replay/replay.h"
#include "t/lib/cluster_rig.h"
#include "t/lib/offer_rig.h"
#include "t/lib/patience.h"

/* Everything that a policy can see of a reservation, as a text. */
#define SEE                                                                              \
	"needs = { 'pod.name', 'pod.requests.cpu', 'resv.name', 'resv.uid', "            \
	"'resv.node', 'resv.node_labels.zone?', 'resv.labels', "                         \
	"'resv.annotations.why?', 'resv.owners', 'resv.order', 'resv.pods', "            \
	"'resv.allocatable.cpu', 'resv.allocated.cpu', 'resv.free.memory', "             \
	"'resv.is_owner', 'resv.is_once', 'resv.age_s', 'resv.expires_unix?' }, "        \
	"match = function(ctx, pod, r) return false, table.concat({ pod.name, "          \
	"pod.requests.cpu, r.name, r.uid, r.node, r.node_labels.zone or '-', "           \
	"r.labels.tier or '-', r.annotations.why or '-', #r.owners, r.order, r.pods, "   \
	"r.allocatable.cpu, r.allocated.cpu, r.free.memory, tostring(r.is_owner), "      \
	"tostring(r.is_once), r.age_s, r.expires_unix or '-' }, ' ') end"
#define OPEN "needs = { 'resv.name' }, match = function(ctx, pod, r) return true end"
#define NOT_A                                                                            \
	"needs = { 'resv.name' }, match = function(ctx, pod, r) return r.name ~= 'a', "  \
	"'not this one' end"
#define RANK(number)                                                                     \
	OPEN ", rank = function(ctx, pod, r) return r.name == 'b' and " number           \
	     " or nil end"

static struct neap_reserve *reserve(struct offer_rig *rig, const char *name)
{
	char meta[300];

	(void)snprintf(meta, sizeof(meta),
		       "{'name':'%s','uid':'u-%s','creationTimestamp':'2023-11-14T22:00:"
		       "00Z','labels':{'tier':'gold','scheduling.koordinator.sh/"
		       "reservation-order':'7'},'annotations':{'why':'%s'}}",
		       name, name, name);
	return offer_reserve(
		rig, offer_json(meta),
		offer_json("[{'labelSelector':{'matchLabels':{'app':'web'}}},"
			   "{'labelSelector':{}}]"));
}

/* A decision in which a and b are offered, and a once more. */
static void decide(struct offer_rig *rig, struct neap_cluster *cluster)
{
	struct neap_reserve *a = reserve(rig, "a"), *b = reserve(rig, "b");

	offer_begin(rig, "{'name':'web-0','labels':{'app':'web'}}");
	(void)neap_amounts_set(&rig->allocated, NEAP_RESOURCE_CPU, 1500);
	rig->pods = 2;
	(void)offer_match(rig, a, true);
	(void)offer_match(rig, b, true);
	(void)offer_match(rig, a, true);
	(void)neap_cluster_settle(cluster);
	assert_true(neap_decisions_begin(rig->decisions, cluster, rig->pod, OFFER_NOW));
	neap_decisions_end(rig->decisions);
	(void)neap_reserve_unref(a);
	(void)neap_reserve_unref(b);
}

static struct neap_policy *load(const char *body)
{
	struct neap_policy *policy = NULL;
	struct neap_error err = {0};
	char text[2048];

	(void)snprintf(text, sizeof(text),
		       "return { api = 1, kind = 'reservation', name = 'p', %s }", body);
	if (neap_policy_load(text, strlen(text), "p.lua", &policy, &err) < 0)
		fail_msg("%s", err.msg);
	return policy;
}

static struct neap_inputs inputs_of(const struct offer_rig *rig)
{
	const struct neap_recorders recorders = {.decisions = rig->decisions};
	struct neap_inputs inputs;

	neap_inputs_share(&recorders, &inputs);
	return inputs;
}

static json_t *replay_of(const struct neap_inputs *inputs, const char *older_body,
			 const char *newer_body)
{
	struct neap_policy *older = load(older_body), *newer = load(newer_body);
	struct neap_error err = {0};
	json_t *replay = NULL;

	if (neap_policy_replay(older, newer, inputs, 5000000, &replay, &err) < 0)
		fail_msg("%s", err.msg);
	neap_policy_free(older);
	neap_policy_free(newer);
	return replay;
}

/* "OLDER NEWER" of the first difference; "" when there is none. */
static const char *first_of(const json_t *replay)
{
	static char text[2000];
	const json_t *first = json_array_get(json_object_get(replay, "differences"), 0);
	char *older, *newer;

	if (!first)
		return "";
	older = json_dumps(json_object_get(first, "older"), JSON_ENCODE_ANY);
	newer = json_dumps(json_object_get(first, "newer"), JSON_ENCODE_ANY);
	(void)snprintf(text, sizeof(text), "%s %s", older, newer);
	free(older);
	free(newer);
	return text;
}

static const struct {
	const char *name, *older, *newer, *first;
	int same, faults;
	bool is_failed;
} rows[] = {
	{"the same", NOT_A, NOT_A, "", 3, 0, false},
	{"one opens", NOT_A, OPEN, "[\"a: refused: not this one\"] [\"a: open\"]", 0, 0,
	 false},
	{"other words", NOT_A,
	 "needs = { 'resv.name' }, match = function(ctx, pod, r) return r.name ~= 'a' end",
	 "", 3, 0, false},
	{"a rank", OPEN, RANK("5"), "[\"b: open\"] [\"b: open, rank 5\"]", 0, 0, false},
	{"another rank", RANK("5"), RANK("50"),
	 "[\"b: open, rank 5\"] [\"b: open, rank 50\"]", 0, 0, false},
	{"a missing field of one", OPEN,
	 "needs = { 'resv.labels.none' }, match = function() return true end",
	 "[\"a: open\", \"b: open\"] [\"a: skip\", \"b: skip\"]", 0, 0, false},
	{"a missing field of the pod", OPEN,
	 "needs = { 'pod.labels.none' }, match = function() return true end",
	 "[\"a: open\", \"b: open\"] \"skip\"", 0, 0, false},
	{"faults", OPEN, "needs = {}, match = function() error('no', 0) end",
	 "[\"a: open\", \"b: open\"] \"error: ", 0, 3, true},
	{"faults of rank", OPEN,
	 "needs = {}, match = function() return true end, rank = function() return 101 "
	 "end",
	 "[\"a: open\", \"b: open\"] \"error: ", 0, 3, true},
};

static void test_rows(void **state)
{
	struct offer_rig *rig = offer_new();
	struct neap_cluster *cluster = cluster_new();
	struct neap_inputs inputs;

	(void)state;
	offer_put(rig, "p", 0, OPEN);
	for (int i = 0; i < 3; i++)
		decide(rig, cluster);
	inputs = inputs_of(rig);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		json_t *replay = replay_of(&inputs, rows[i].older, rows[i].newer);
		int ran = -1, same = -1, faults = -1, is_failed = -1;
		const char *first = first_of(replay);

		assert_int_equal(json_unpack(replay, "{s:i, s:i, s:i, s:b}", "ran", &ran,
					     "same", &same, "faults", &faults,
					     "is_failed", &is_failed),
				 0);
		if (ran != 3 || same != rows[i].same || faults != rows[i].faults ||
		    is_failed != rows[i].is_failed ||
		    strncmp(first, rows[i].first, strlen(rows[i].first)) != 0 ||
		    !*first != !*rows[i].first) {
			json_dumpf(replay, stderr, JSON_INDENT(1));
			fail_msg("%s: %s", rows[i].name, first);
		}
		json_decref(replay);
	}
	neap_inputs_done(&inputs);
	neap_cluster_free(cluster);
	offer_free(rig);
}

/* What a version sees in the replay is what the one in service saw. */
static void test_seen(void **state)
{
	struct offer_rig *rig = offer_new();
	struct neap_cluster *cluster = cluster_new();
	struct neap_reserve *a;
	struct neap_inputs inputs;
	json_t *replay;
	char want[800];

	(void)state;
	offer_put(rig, "p", 0, SEE);
	a = reserve(rig, "a");
	decide(rig, cluster);
	offer_begin(rig, "{'name':'web-0','labels':{'app':'web'}}");
	(void)snprintf(want, sizeof(want), "\"a: refused: %s\"",
		       offer_match(rig, a, true) + strlen("policy p: "));
	assert_non_null(strstr(want, "web-0 500 a u-a n1 z1 gold a 2 7 2 4000 1500 "));
	inputs = inputs_of(rig);
	replay = replay_of(&inputs, OPEN, SEE);
	if (!strstr(first_of(replay), want))
		fail_msg("%s, and not %s", first_of(replay), want);
	json_decref(replay);
	neap_inputs_done(&inputs);
	(void)neap_reserve_unref(a);
	neap_cluster_free(cluster);
	offer_free(rig);
}

/* Where nothing was offered there is nothing to try; and more than 16 are cut. */
static void test_bounds(void **state)
{
	struct offer_rig *rig = offer_new();
	struct neap_cluster *cluster = cluster_new();
	struct neap_inputs inputs;
	struct neap_error err;
	json_t *replay, *json = NULL;

	(void)state;
	offer_put(rig, "p", 0, OPEN);
	offer_begin(rig, "{'name':'web-0'}");
	assert_true(neap_decisions_begin(rig->decisions, cluster, rig->pod, OFFER_NOW));
	neap_decisions_end(rig->decisions);
	inputs = inputs_of(rig);
	replay = replay_of(&inputs, OPEN, NOT_A);
	assert_int_equal(json_integer_value(json_object_get(replay, "frames")), 0);
	json_decref(replay);
	neap_inputs_done(&inputs);

	offer_begin(rig, "{'name':'web-0'}");
	for (int i = 0; i < 20; i++) {
		char name[16];
		struct neap_reserve *one;

		(void)snprintf(name, sizeof(name), "r%d", i);
		one = reserve(rig, name);
		(void)offer_match(rig, one, true);
		(void)neap_reserve_unref(one);
	}
	assert_true(neap_decisions_begin(rig->decisions, cluster, rig->pod, OFFER_NOW));
	neap_decisions_end(rig->decisions);
	inputs = inputs_of(rig);
	assert_int_equal(neap_decision_tape_get(inputs.decisions, NEAP_DECISION_OF_OFFERS,
						0, &json, &err),
			 0);
	assert_int_equal(json_integer_value(json_object_get(json, "reservations_asked")),
			 20);
	assert_int_equal(json_array_size(json_object_get(json, "reservations")),
			 NEAP_DECISION_OFFERS);
	json_decref(json);
	neap_inputs_done(&inputs);
	neap_cluster_free(cluster);
	offer_free(rig);
}

/* Texts of Reservations are read again: of long ones there are fewer, also where little
 * of them is recorded. */
static void test_long(void **state)
{
	static const char *const annotations[] = {
		"a", "kubectl.kubernetes.io/last-applied-configuration"};

	(void)state;
	for (size_t n = 0; n < NEAP_ARRAY_LEN(annotations); n++) {
		struct offer_rig *rig = offer_new();
		struct neap_cluster *cluster = cluster_new();
		json_t *list, *row;

		offer_put(rig, "p", 0, OPEN);
		offer_begin(rig, "{'name':'web-0'}");
		for (int i = 0; i < 10; i++) {
			char meta[11000];

			(void)snprintf(meta, sizeof(meta),
				       "{'name':'r%d','uid':'u%d','annotations':{'%s':"
				       "'%0*d'}}",
				       i, i, annotations[n], 10000, 0);
			(void)offer_ask(rig, meta);
		}
		assert_true(neap_decisions_begin(rig->decisions, cluster, rig->pod,
						 OFFER_NOW));
		neap_decisions_end(rig->decisions);
		list = neap_decisions_list(rig->decisions);
		row = json_array_get(list, 0);
		assert_true(json_integer_value(json_object_get(row, "bytes")) <=
			    (json_int_t)NEAP_DECISION_BYTES);
		assert_int_equal(json_integer_value(json_object_get(row, "cut")), 4);
		json_decref(list);
		neap_cluster_free(cluster);
		offer_free(rig);
	}
}

static void test_torture(void **state)
{
	struct offer_rig *rig = offer_new();
	struct neap_cluster *cluster = cluster_new();
	struct neap_inputs inputs;
	int rc = -1;

	(void)state;
	offer_put(rig, "p", 0, OPEN);
	decide(rig, cluster);
	inputs = inputs_of(rig);
	for (uint64_t n = 1; rc < 0 && n < 20000; n += 7) {
		struct neap_policy *older = load(OPEN), *newer = load(NOT_A);
		uint64_t before = neap_mem_count();
		struct neap_error err;
		json_t *replay = NULL;

		neap_mem_fail_at(n);
		rc = neap_policy_replay(older, newer, &inputs, 10000000, &replay, &err);
		neap_mem_fail_at(0);
		assert_true(rc == 0 || rc == -NEAP_ENOMEM);
		if (rc == 0 && neap_mem_count() - before >= n)
			rc = -1; /* a script's: it is a fault of the script then */
		json_decref(replay);
		neap_policy_free(older);
		neap_policy_free(newer);
	}
	assert_int_equal(rc, 0);
	neap_inputs_done(&inputs);
	neap_cluster_free(cluster);
	offer_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),    cmocka_unit_test(test_seen),
		cmocka_unit_test(test_bounds),  cmocka_unit_test(test_long),
		cmocka_unit_test(test_torture),
	};

	neap_json_setup();
	patience_with_scripts();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
