/* SPDX-License-Identifier: Apache-2.0
 *
 * Policies of kind reservation: what they are told, what they answer, and what becomes of
 * those that are no good. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "lua/place/place.h"
#include "t/lib/offer_rig.h"
#include "t/lib/patience.h"

#define NIGHT "match = function(ctx) return false, 'it is day', ctx.now_unix + 3600 end"
#define OPEN  "match = function() return true end"
#define BY_TEAM                                                                          \
	"needs = { 'pod.labels.team?', 'resv.labels.team?' }, match = function(_, pod, " \
	"resv) return pod.labels.team == resv.labels.team, 'of another team' end"

static int set_up(void **state)
{
	*state = offer_new();
	return 0;
}

static int tear_down(void **state)
{
	offer_free(*state);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)

/* --- answers --- */

static void test_nobody(void **state)
{
	struct offer_rig *rig = *state;

	offer_begin(rig, "{}");
	assert_int_equal(rig->asked.rule, NEAP_RESERVE_BY_OWNERS);
	assert_false(rig->asked.has_rank);
	assert_int_equal(rig->asked.pair_count, 0);
}

static void test_answers(void **state)
{
	struct offer_rig *rig = *state;

	offer_put(rig, "team", 0, BY_TEAM);
	offer_begin(rig, "{'labels':{'team':'a'}}");
	assert_int_equal(rig->asked.rule, NEAP_RESERVE_NARROWED);
	assert_string_equal(offer_ask(rig, "{'labels':{'team':'a'}}"), "open");
	assert_string_equal(offer_ask(rig, "{'labels':{'team':'b'}}"),
			    "policy team: of another team");
	assert_string_equal(offer_ask(rig, "{}"), "policy team: of another team");
	offer_begin(rig, "{}");
	assert_string_equal(offer_ask(rig, "{}"), "open");
	assert_string_equal(offer_ask(rig, "{'labels':{'team':'b'}}"),
			    "policy team: of another team");
	/* Decisions are its calls. */
	assert_int_equal(offer_slot(rig, "team")->stats.calls, 2);
	assert_int_equal(offer_slot(rig, "team")->stats.faults, 0);
	assert_int_equal(rig->failed, 0);
}

static void test_all_must_agree(void **state)
{
	struct offer_rig *rig = *state;

	offer_put(rig, "night", 0, NIGHT);
	offer_put(rig, "team", 1, BY_TEAM);
	offer_begin(rig, "{}");
	assert_string_equal(offer_ask(rig, "{}"),
			    "policy night: it is day again 1700003600");
	offer_put(rig, "night", 0,
		  "match = function(ctx) return true, nil, ctx.now_unix + 0.5 end");
	offer_put(rig, "later", 2,
		  "match = function(ctx) return true, 'unread', ctx.now_unix + 60 end");
	offer_begin(rig, "{}");
	assert_string_equal(offer_ask(rig, "{}"), "open again 1700000001");
	assert_string_equal(offer_ask(rig, "{'labels':{'team':'b'}}"),
			    "policy team: of another team");
}

/* Everything that a policy may look at, asserted there. */
static void test_what_it_sees(void **state)
{
	struct offer_rig *rig = *state;
	struct neap_reserve *reserve;

	offer_put(
		rig, "sees", 0,
		"needs = { 'pod.name', 'pod.namespace', 'pod.uid', 'pod.class', 'pod.priority', "
		"'pod.labels', 'pod.annotations.note', 'pod.requests.cpu', 'pod.images', "
		"'pod.ownerReferences', 'pod.is_daemon', 'resv.name', 'resv.uid', 'resv.node', "
		"'resv.node_labels.zone', 'resv.node_labels.rack?', 'resv.labels', "
		"'resv.annotations.note', 'resv.owners', 'resv.is_owner', 'resv.pods', "
		"'resv.allocatable.cpu', 'resv.allocated.cpu', 'resv.free.cpu', 'resv.order', "
		"'resv.free.gpu', 'resv.is_once', 'resv.age_s', 'resv.expires_unix' }, "
		"match = function(ctx, pod, resv) "
		"assert(pod.name == 'pod' and pod.namespace == 'default' and pod.uid == 'pod') "
		"assert(pod.class == 'prod' and pod.priority == 7 and pod.labels.a == 'b') "
		"assert(pod.annotations.note == 'x' and pod.requests.cpu == 500) "
		"assert(#pod.images == 1 and pod.images[1] == 'registry/web:1') "
		"assert(#pod.ownerReferences == 1 and not pod.is_daemon) "
		"local ref = pod.ownerReferences[1] "
		"assert(ref.kind == 'ReplicaSet' and ref.controller == true and ref.uid == 'u') "
		"assert(resv.name == 'r' and resv.uid == 'r' and resv.node == 'n1') "
		"assert(resv.node_labels.zone == 'z1' and resv.node_labels.rack == nil) "
		"assert(resv.labels.c == 'd' and resv.annotations.note == 'y') "
		"assert(#resv.owners == 1 and resv.owners[1].object.name == 'pod') "
		"assert(resv.owners[1].labelSelector:matches(pod.labels)) "
		"assert(resv.is_owner and resv.pods == 2 and resv.allocatable.cpu == 4000) "
		"assert(resv.allocated.cpu == 1500 and resv.free.cpu == 2500) "
		"assert(resv.free.gpu == 0 and resv.order == 3 and not resv.is_once) "
		"assert(resv.age_s == 100 and resv.expires_unix == ctx.now_unix - 100 + 86400) "
		"return true end");
	offer_begin(rig,
		    "{'labels':{'a':'b'},'annotations':{'note':'x'},'ownerReferences':[{"
		    "'apiVersion':'apps/v1','kind':'ReplicaSet','name':'web','uid':'u',"
		    "'controller':true}]}");
	reserve = offer_reserve(
		rig,
		offer_json("{'labels':{'c':'d','scheduling.koordinator.sh/"
			   "reservation-order':'3'},'annotations':{'note':'y'},"
			   "'creationTimestamp':'2023-11-14T22:11:40Z'}"),
		offer_json(
			"[{'object':{'name':'pod'},'labelSelector':{'matchLabels':{'a':"
			"'b'}}}]"));
	rig->pods = 2;
	assert_true(neap_amounts_set(&rig->allocated, NEAP_RESOURCE_CPU, 1500));
	for (int i = 0; i < 3; i++)
		if (strcmp(offer_match(rig, reserve, true), "open") != 0)
			fail_msg("%s", rig->last_failed);
	(void)neap_reserve_unref(reserve);
}

static void test_missing_is_no_fault(void **state)
{
	struct offer_rig *rig = *state;

	offer_put(rig, "pod", 0,
		  "needs = { 'pod.labels.team' }, match = function() return false end");
	offer_begin(rig, "{}");
	assert_int_equal(rig->asked.rule, NEAP_RESERVE_BY_OWNERS);
	assert_int_equal(offer_slot(rig, "pod")->stats.skipped, 1);
	offer_begin(rig, "{'labels':{'team':'a'}}");
	assert_string_equal(offer_ask(rig, "{}"), "policy pod: no reason given");

	offer_put(rig, "pod", 0,
		  "needs = { 'pod.annotations.x' }, match = function() return false end");
	offer_begin(rig, "{}");
	assert_int_equal(rig->asked.rule, NEAP_RESERVE_BY_OWNERS);

	/* A reservation that misses something: nothing is said of it. */
	offer_put(rig, "pod", 0,
		  "needs = { 'resv.labels.team' }, match = function() return false end");
	offer_begin(rig, "{}");
	assert_string_equal(offer_ask(rig, "{}"), "open");
	assert_string_equal(offer_ask(rig, "{'labels':{'team':'a'}}"),
			    "policy pod: no reason given");
	assert_int_equal(rig->failed, 0);
	assert_int_equal(offer_slot(rig, "pod")->stats.faults, 0);
}

static void test_replace(void **state)
{
	struct offer_rig *rig = *state;
	struct neap_reserve *reserve =
		offer_reserve(rig, offer_json("{}"), json_pack("[{}]"));

	offer_put(rig, "all", 0, "combine = 'replace', " OPEN);
	offer_begin(rig, "{}");
	assert_int_equal(rig->asked.rule, NEAP_RESERVE_REPLACED);
	assert_string_equal(offer_match(rig, reserve, false), "open");
	offer_put(rig, "team", 1, BY_TEAM);
	offer_begin(rig, "{'labels':{'team':'a'}}");
	assert_int_equal(rig->asked.rule, NEAP_RESERVE_REPLACED);
	assert_string_equal(offer_match(rig, reserve, false),
			    "policy team: of another team");
	/* One that has nothing to say of this reservation decides nothing. */
	offer_put(rig, "all", 0,
		  "combine = 'replace', needs = { 'resv.labels.team' }, " OPEN);
	offer_begin(rig, "{}");
	assert_string_equal(offer_match(rig, reserve, true), "open");
	assert_string_equal(offer_match(rig, reserve, false),
			    "its owners do not take the pod");
	offer_put(rig, "all", 0, "combine = 'narrow', " OPEN);
	offer_begin(rig, "{}");
	assert_int_equal(rig->asked.rule, NEAP_RESERVE_NARROWED);
	(void)neap_reserve_unref(reserve);
}

static void test_pairs(void **state)
{
	struct offer_rig *rig = *state;

	offer_put(rig, "team", 0,
		  "index = { 'team', { pod = 'app', reservation = 'for-app' } }, " OPEN);
	offer_put(rig, "zone", 1,
		  "index = { 'a', 'b', 'c', 'd', 'e', 'f', 'zone' }, " OPEN);
	offer_begin(rig, "{'labels':{'team':'x','app':'y'}}");
	assert_int_equal(rig->asked.pair_count, NEAP_RESERVE_PAIRS_MAX);
	assert_string_equal(rig->asked.pairs[0].pod, "team");
	assert_string_equal(rig->asked.pairs[0].reservation, "team");
	assert_string_equal(rig->asked.pairs[1].pod, "app");
	assert_string_equal(rig->asked.pairs[1].reservation, "for-app");
	assert_string_equal(rig->asked.pairs[7].pod, "f");
	neap_registry_remove(rig->registry, "reservation", "zone");
	offer_begin(rig, "{'labels':{'team':'x','app':'y'}}");
	/* They hold whether C has an index of them or not. */
	assert_string_equal(offer_ask(rig, "{'labels':{'team':'x','for-app':'y'}}"),
			    "open");
	assert_string_equal(offer_ask(rig, "{'labels':{'team':'x','for-app':'z'}}"),
			    "policy team: label app is not its");
	assert_string_equal(offer_ask(rig, "{'labels':{'for-app':'y'}}"),
			    "policy team: label team is not its");
	offer_begin(rig, "{'labels':{'app':'y'}}");
	assert_string_equal(offer_ask(rig, "{'labels':{'for-app':'y'}}"),
			    "policy team: label team is not its");
}

static void test_rank(void **state)
{
	struct offer_rig *rig = *state;
	struct neap_reserve *reserve =
		offer_reserve(rig, offer_json("{}"), json_pack("[{}]"));
	static const struct {
		const char *body;
		int rank;
	} rows[] = {
		{"rank = function() return 70 end", 70},
		{"rank = function() return 0 end", 0},
		{"rank = function() return 99.6 end", 100},
		{"rank = function() end", -1},
		{"rank = function(ctx) return ctx.hold end", -1},
		{"needs = { 'resv.free.cpu' }, rank = function(_, _, resv) return "
		 "resv.free.cpu // 100 end",
		 40},
		{"needs = { 'resv.labels.team' }, rank = function() return 1 end", -1},
	};
	static const char *const bad[] = {
		"rank = function() return 101 end",
		"rank = function() return -1 end",
		"rank = function() return 0/0 end",
		"rank = function() return '7' end",
		"rank = function() return true end",
		"rank = function() error('no idea') end",
		"rank = function() while true do end end",
	};

	offer_put(rig, "a", 0, OPEN);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		char body[300];

		(void)snprintf(body, sizeof(body), "%s, " OPEN, rows[i].body);
		offer_put(rig, "b", 1, body);
		offer_put(rig, "c", 2, "rank = function() return 5 end, " OPEN);
		offer_begin(rig, "{}");
		assert_true(rig->asked.has_rank);
		assert_int_equal(offer_rank(rig, reserve), rows[i].rank);
	}
	assert_int_equal(rig->failed, 0);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(bad); i++) {
		char body[300];

		(void)snprintf(body, sizeof(body), "%s, " OPEN, bad[i]);
		offer_put(rig, "b", 1, body);
		offer_begin(rig, "{}");
		rig->failed = 0;
		assert_int_equal(offer_rank(rig, reserve), -1);
		assert_int_equal(offer_rank(rig, reserve), -1);
		assert_int_equal(rig->failed, 1);
		assert_int_equal(offer_slot(rig, "b")->stats.faults, 1);
	}
	(void)neap_reserve_unref(reserve);
}

/* Within a decision it is kept, and it is gone in the next. */
static void test_memo(void **state)
{
	struct offer_rig *rig = *state;

	offer_put(
		rig, "once", 0,
		"match = function(ctx) ctx.memo.count = (ctx.memo.count or 0) + 1 return "
		"ctx.memo.count == 1, 'not the first' end");
	for (int i = 0; i < 2; i++) {
		offer_begin(rig, "{}");
		assert_string_equal(offer_ask(rig, "{}"), "open");
		assert_string_equal(offer_ask(rig, "{}"), "policy once: not the first");
	}
}

/* --- those that are no good --- */

static const struct {
	const char *body, *error;
} bad[] = {
	{"match = function() error('no idea') end", "no idea"},
	{"match = function() error({}) end", "non-string error"},
	{"match = function() end", "match returned a nil for reservation r"},
	{"match = function() return false, ('x'):rep(1001) end",
	 "false and a text of at most 1000 bytes is wanted"},
	{"match = function() return 1 end", "match returned a number"},
	{"match = function() return 'yes' end", "match returned a string"},
	{"match = function(ctx) return ctx.hold end", "match returned a userdata"},
	{"match = function() return false, {} end", "no text of a reason"},
	{"match = function() return false, 'x', 'later' end", "no time to come"},
	{"match = function(ctx) return false, 'x', ctx.now_unix end", "no time to come"},
	{"match = function() return true, nil, 1e300 end", "no time to come"},
	{"match = function() return true, nil, 0/0 end", "no time to come"},
	{"match = function(_, _, resv) return resv.labels.x == nil end",
	 "resv.labels is not declared"},
	{"match = function(_, _, resv) return resv.ownrs end",
	 "there is no resv.ownrs; did you mean 'owners'?"},
	{"needs = { 'resv.labels.team?' }, match = function(_, _, resv) return "
	 "resv.labels.x == nil end",
	 "resv.labels.x is not declared"},
	{"needs = { 'pod.labels.team?' }, match = function(_, pod) return pod.name == "
	 "'x' end",
	 "pod.name is not declared"},
	{"match = function() while true do end end", "stopped"},
	{"match = function() while true do pcall(error) end end", "stopped"},
	{"match = function() local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t end end",
	 ""},
	{"match = function() local function f() return 1 + f() end return f() end", ""},
	{"needs = { 'resv.owners' }, match = function(_, _, resv) for i = 1, 1e9 do "
	 "resv.owners[i] = {} end end",
	 ""},
	/* It takes some first: that does not count any more. */
	{"match = function(ctx) ctx.memo.n = (ctx.memo.n or 0) + 1 if ctx.memo.n == 2 then "
	 "error('late') end return true end",
	 "late"},
};

static void test_bad_ones(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(bad); i++) {
		struct offer_rig *rig = offer_new();
		struct neap_registry_slot *slot;

		offer_put(rig, "bad", 0, bad[i].body);
		offer_put(rig, "team", 1, BY_TEAM);
		for (int n = 0; n < 5; n++) {
			int before = rig->failed;

			offer_begin(rig, "{'labels':{'team':'a'}}");
			if (rig->asked.rule == NEAP_RESERVE_NARROWED && n > 2)
				break; /* out of service; team alone is asked */
			(void)offer_ask(rig, "{'labels':{'team':'a'}}");
			if (rig->failed == before)
				(void)offer_ask(rig, "{'labels':{'team':'a'}}");
			slot = offer_slot(rig, "bad");
			if (rig->failed == before && !slot->stats.is_failed)
				fail_msg("%s: it did not fail", bad[i].body);
			/* Once it has failed nobody is asked any more, and nobody is told
			 * again. */
			if (rig->failed > before)
				assert_string_equal(offer_ask(rig, "{}"), "failed");
			assert_true(rig->failed <= before + 1);
		}
		slot = offer_slot(rig, "bad");
		if (!strstr(slot->stats.last_error, bad[i].error))
			fail_msg("%s: %s", bad[i].body, slot->stats.last_error);
		if (!slot->stats.is_failed)
			fail_msg("%s: still in service", bad[i].body);
		assert_int_equal(rig->out_of_service, 1);
		assert_non_null(strstr(rig->last_failed, "reservation/bad@"));
		/* Without it the other one goes on. */
		offer_begin(rig, "{'labels':{'team':'a'}}");
		assert_int_equal(rig->asked.rule, NEAP_RESERVE_NARROWED);
		assert_string_equal(offer_ask(rig, "{}"), "policy team: of another team");
		offer_free(rig);
	}
}

/* One that is slow, but never too slow in one call, comes to an end with the decision's
 * budget. */
static void test_slow_one(void **state)
{
	struct offer_rig *rig = *state;
	int calls = 0;

	offer_put(rig, "slow", 0,
		  "match = function() local n = 0 for i = 1, 20000 do n = n + i % 7 end "
		  "return n > 0 end");
	offer_begin(rig, "{}");
	while (calls < 100000 && strcmp(offer_ask(rig, "{}"), "failed") != 0)
		calls++;
	assert_in_range(calls, 1, 99999);
	assert_int_equal(rig->failed, 1);
	if (offer_slot(rig, "slow")->stats.put_off != 1)
		print_message("%s\n", rig->last_failed);
	offer_begin(rig, "{}");
	assert_int_equal(rig->asked.rule, offer_slot(rig, "slow")->stats.is_failed
						  ? NEAP_RESERVE_BY_OWNERS
						  : NEAP_RESERVE_NARROWED);
}

static void test_reason_is_one_line(void **state)
{
	struct offer_rig *rig = *state;
	const char *text;

	offer_put(
		rig, "chatty", 0,
		"match = function() return false, 'no\\n\\27[31m\\xff' .. ('x'):rep(500) end");
	offer_begin(rig, "{}");
	text = offer_ask(rig, "{}");
	assert_non_null(strstr(text, "policy chatty: no??[31m?xxx"));
	assert_true(strlen(text) < NEAP_PLACE_REASON + 64);
}

/* --- loading --- */

static void test_refused_at_load(void **state)
{
	static const struct {
		const char *body, *error;
	} rows[] = {
		{"", "needs this function"},
		{OPEN ", rank = 1", "field 'rank': a function is wanted"},
		{OPEN ", combine = 'widen'", "field 'combine': \"narrow\""},
		{OPEN ", combine = true", "field 'combine'"},
		{OPEN ", index = 'team'", "field 'index': a list of 1 to 8"},
		{OPEN ", index = {}", "field 'index': a list of 1 to 8"},
		{OPEN ", index = { 'not a key' }", "field 'index': a key of a label"},
		{OPEN ", index = { { pod = 'a' } }", "field 'index': a key of a label"},
		{OPEN ", index = { { pod = 'a', reservation = 'b', node = 'c' } }",
		 "field 'index': a key of a label"},
		{OPEN ", index = { 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i' }",
		 "field 'index': a list of 1 to 8"},
		{OPEN ", needs = { 'resv.magic' }",
		 "a reservation has no 'magic'; known: name"},
		{OPEN ", needs = { 'resv.allocatable' }",
		 "a reservation has no 'allocatable'"},
		{OPEN ", needs = { 'node.free.cpu' }", "known: pod.FIELD, resv.FIELD"},
		{OPEN ", needs = { 'resv.labels', 'resv.labels.a' }", "is there twice"},
		{OPEN ", where = {}", "field 'where': of kinds qos and filter only"},
		{OPEN ", tick = 1", "a policy of kind reservation has no such field"},
		{OPEN ", examples = { { name = 'x', want = 'skip' } }", "wanted skip"},
		{OPEN ", examples = { { name = 'x', want = false } }", "wanted not open"},
		{OPEN ", examples = { { name = 'x', want = {} } }", "want"},
		{OPEN ", examples = { { name = 'x', want = { open = true, rank = 3 } } }",
		 "the policy has no rank"},
		{OPEN ", examples = { { name = 'x', want = { again_unix = 5 } } }",
		 "wanted want.again_unix 5; got none"},
		{OPEN ", examples = { { name = 'x\\0y', want = true } }",
		 "name: a text is wanted"},
		{OPEN
		 ", examples = { { name = 'x', pod = { uid = 'a\\0b' }, want = true } }",
		 "pod.uid: a text with a NUL byte"},
		{OPEN ", examples = { { name = 'x', now_unix = -1, want = true } }",
		 "now_unix"},
		{OPEN ", examples = { { name = 'x', reservation = { owner = {} }, want = "
		      "true } }",
		 "a reservation has no field 'owner'"},
		{OPEN
		 ", examples = { { name = 'x', reservation = { owners = { { "
		 "labelSelector = { matchExpressions = { { key = 'a', operator = 'In', "
		 "values = {} } } } } } }, want = true } }",
		 "spec.owners[0].labelSelector"},
		{OPEN
		 ", rank = function() return 5 end, examples = { { name = 'x', want = { "
		 "rank = 6 } } }",
		 "wanted want.rank 6; got 5"},
		{NIGHT ", examples = { { name = 'x', want = 'it is night' } }",
		 "wanted it is night; got it is day"},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_policy *policy = NULL;
		struct neap_error err = {0};
		char text[600];
		int rc;

		(void)snprintf(text, sizeof(text),
			       "return { api = 1, kind = 'reservation', name = 'x', %s }",
			       rows[i].body);
		rc = neap_policy_load(text, strlen(text), "p.lua", &policy, &err);
		if (rc == 0)
			rc = neap_policy_run_examples(policy, NULL, NULL, &err);
		neap_policy_free(policy);
		if (rc == 0 || !strstr(err.msg, rows[i].error))
			fail_msg("%s: %s", rows[i].body, err.msg);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nobody),
		TEST(answers),
		TEST(all_must_agree),
		TEST(what_it_sees),
		TEST(missing_is_no_fault),
		TEST(replace),
		TEST(pairs),
		TEST(rank),
		TEST(memo),
		cmocka_unit_test(test_bad_ones),
		TEST(slow_one),
		TEST(reason_is_one_line),
		cmocka_unit_test(test_refused_at_load),
	};

	patience_with_scripts();
	return cmocka_run_group_tests_name("reservation policies", tests, NULL, NULL);
}
