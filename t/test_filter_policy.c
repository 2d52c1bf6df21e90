/* SPDX-License-Identifier: Apache-2.0
 *
 * Policies of the kind filter: whom they refuse, how it is told, and that a bad one keeps
 * no pod from any node. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/decide/report.h"
#include "lua/place/place.h"
#include "t/lib/patience.h"
#include "t/lib/place_rig.h"

static int setup(void **state)
{
	*state = place_new();
	place_add_nodes(*state, 4);
	return 0;
}

static int teardown(void **state)
{
	place_free(*state);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

#define NOT_ODD                                                                          \
	"needs = { 'node.labels.odd?' }, allow = function(ctx, pod, node) "              \
	"return node.labels.odd == nil, 'it is odd' end"
#define ONLY_ODD                                                                         \
	"needs = { 'node.labels.odd?' }, allow = function(ctx, pod, node) "              \
	"return node.labels.odd ~= nil, 'it is even' end"

static void test_refuses(void **state)
{
	struct place_rig *rig = *state;

	place_put(rig, "filter", "only-odd", 0, ONLY_ODD);
	assert_string_equal(place_decide(rig, ""), "b");
	place_put(rig, "filter", "not-odd", 1, NOT_ODD);
	assert_string_equal(
		place_decide(rig, ""),
		"0/4 nodes are available: 2 node(s) not allowed by policy not-odd: it is odd, "
		"2 node(s) not allowed by policy only-odd: it is even.");
	/* A policy that comes, or goes, may help, and so may anything else. */
	assert_int_equal(neap_decide_wakes(rig->decide), NEAP_MOVED_ANY);
	assert_int_equal(rig->failed, 0);
}

static void test_where(void **state)
{
	struct place_rig *rig = *state;

	place_put(rig, "filter", "none", 0,
		  "where = { nodeSelector = { odd = 'yes' } }, "
		  "allow = function() return false, 'closed' end");
	/* Whatever labels the node has on which the scheduler runs. */
	assert_true(neap_policy_is_for(place_slot(rig, "filter", "none")->policy, NULL));
	assert_string_equal(place_decide(rig, ""), "a");
	place_put(rig, "filter", "only-odd", 1, ONLY_ODD);
	assert_string_equal(
		place_decide(rig, ""),
		"0/4 nodes are available: 2 node(s) not allowed by policy none: closed, "
		"2 node(s) not allowed by policy only-odd: it is even.");
	assert_int_equal(rig->failed, 0);
}

/* "a 57 score/few 7x2, b filter/not-odd node(s) not allowed ..." of policies alone. */
static void tell(struct place_rig *rig, const struct neap_report *report,
		 struct neap_buf *out)
{
	for (size_t i = 0; i < report->node_count; i++) {
		const struct neap_report_node *node = &report->nodes[i];

		neap_buf_addf(out, "%s%c", i ? ", " : "", 'a' + (char)node->row);
		for (size_t n = 0; n < node->reason_count; n++) {
			const struct neap_report_reason *reason =
				&report->reasons[node->reason + n];
			char buf[256];

			neap_buf_addf(out, " %s %s", reason->filter,
				      neap_decide_reason(rig->decide, reason->code, buf,
							 sizeof(buf)));
		}
		for (size_t n = NEAP_SCORE_COUNT;
		     !node->reason_count && n < report->score_count; n++) {
			const struct neap_report_score *score = &report->scores[n];

			neap_buf_addf(out, " %s", score->name);
			if (score->points)
				neap_buf_addf(out, " %dx%d", (int)score->points[node->at],
					      score->weight);
		}
	}
}

/* What is told of a decision has every policy by its name: of a pod that waits, and of
 * one that has a place. */
static void test_told_by_name(void **state)
{
	struct place_rig *rig = *state;
	struct neap_report report;
	struct neap_error err = {0};
	struct neap_buf out;

	place_put(rig, "filter", "not-odd", 0, NOT_ODD);
	place_put(rig, "filter", "broken", 1,
		  "allow = function() error('no') end, needs = {}");
	place_put(rig, "score", "free", 2,
		  "plan = function() return { weight = 3, { column = 'free_share.cpu', "
		  "weight = 1 } } end");
	place_put(rig, "score", "silent", 3, "plan = function() return {} end");
	(void)cluster_set_node(rig->cluster, "d", "'labels':{}", "{'unschedulable':true}",
			       "'cpu':'10','pods':'110'");
	for (int i = 0; i < 2; i++) {
		(void)cluster_set_pod(
			rig->cluster, "p", "",
			i ? "{'nodeName':'c','containers':[{'resources':{'requests':{"
			    "'cpu':'1'}}}]}"
			  : "{'containers':[{'resources':{'requests':{'cpu':'1'}}}]}",
			"{}");
		neap_buf_init(&out, NEAP_BUF_LINE);
		assert_int_equal(neap_decide_report(rig->decide,
						    neap_cluster_find_pod(rig->cluster,
									  "default", "p"),
						    &report, &err),
				 0);
		assert_int_equal(report.fitting, 2);
		tell(rig, &report, &out);
		assert_string_equal(
			out.data, "a score/free 90x3 score/silent, c score/free 90x3 "
				  "score/silent, b filter/not-odd node(s) not allowed by "
				  "policy not-odd: it is odd, d NodeUnschedulable "
				  "node(s) were unschedulable");
		assert_true(report.nodes[0].score >= 270);
		neap_report_done(&report);
		neap_buf_done(&out);
	}
}

static struct neap_shadow *add_shadow(struct place_rig *rig, const char *body)
{
	struct neap_registry_slot *slot = place_slot(rig, "filter", "p");
	struct neap_policy *policy = NULL;
	struct neap_error err = {0};
	char text[1024];

	(void)snprintf(text, sizeof(text),
		       "return { api = 1, kind = 'filter', name = 'p', %s }", body);
	assert_int_equal(neap_policy_load(text, strlen(text), "p.lua", &policy, &err), 0);
	slot->shadow = neap_shadow_new_take(policy, 0);
	assert_non_null(slot->shadow);
	return slot->shadow;
}

/* Another version is asked about the same nodes, and has no say. */
static void test_shadow(void **state)
{
	static const struct {
		const char *body;
		int same, different, faults;
		const char *active, *shadow; /* of the last difference, on node */
		const char *node;
	} shadows[] = {
		{NOT_ODD, 1, 0, 0, NULL, NULL, NULL},
		{"needs = { 'node.labels.odd?' }, allow = function(ctx, pod, node) return "
		 "node.labels.odd == nil, 'other words' end",
		 1, 0, 0, NULL, NULL, NULL},
		{ONLY_ODD, 0, 1, 0, "allowed", "refused: it is even", "a"},
		{"needs = { 'node.name' }, allow = function(ctx, pod, node) return "
		 "node.name ~= 'd' and node.name ~= 'b' and node.name ~= 'c', 'no' end",
		 0, 1, 0, "allowed", "refused: no", "c"},
		{"needs = { 'pod.labels.none' }, allow = function() return true end", 0,
		 1, 0, "allowed", "skip", "a"},
		{"needs = {}, allow = function() error('no') end", 0, 1, 1, "allowed",
		 "error: ", "a"},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(shadows); i++) {
		struct place_rig *rig = place_new();
		const json_t *last;
		json_t *json;

		place_add_nodes(rig, 4);
		place_put(rig, "filter", "p", 0, NOT_ODD);
		(void)add_shadow(rig, shadows[i].body);
		assert_string_equal(place_decide(rig, ""), "a");
		json = neap_shadow_json(place_slot(rig, "filter", "p")->shadow);
		last = json_object_get(json, "last_difference");
		if (json_integer_value(json_object_get(json, "calls")) != 1 ||
		    json_integer_value(json_object_get(json, "same")) !=
			    shadows[i].same ||
		    json_integer_value(json_object_get(json, "different")) !=
			    shadows[i].different ||
		    json_integer_value(json_object_get(json, "faults")) !=
			    shadows[i].faults)
			fail_msg("%zu: %s", i, json_dumps(json, 0));
		if (shadows[i].node) {
			const char *said =
				json_string_value(json_object_get(last, "shadow"));

			assert_string_equal(
				json_string_value(json_object_get(last, "node")),
				shadows[i].node);
			assert_string_equal(
				json_string_value(json_object_get(last, "active")),
				shadows[i].active);
			if (strncmp(said, shadows[i].shadow, strlen(shadows[i].shadow)) !=
			    0)
				fail_msg("%zu: %s", i, said);
			assert_string_equal(
				json_string_value(json_object_get(last, "pod")),
				"default/pod");
		}
		json_decref(json);
		place_free(rig);
	}
}

/* What a script does to the fields of one node is gone with the next, which has its own
 * or none. */
static void test_nodes_are_apart(void **state)
{
	struct place_rig *rig = place_new();

	(void)state;
	place_add_nodes(rig, 21);
	place_put(
		rig, "filter", "spoils", 0,
		"needs = { 'node.labels.odd?', 'node.name', 'node.pods', 'node.free.cpu', "
		"'node.labels.example.com/x?' }, allow = function(ctx, pod, node) "
		"local odd = (node.name:byte() - 97) % 2 == 1 "
		"assert(node.labels.odd == (odd and 'yes' or nil)) "
		"assert(node.pods == 0 and node.free.cpu == 10000) "
		"assert(node.labels['example.com/x'] == nil) "
		"node.free.cpu, node.pods, node.name = -1, nil, {} "
		"node.labels.odd, node.labels['example.com/x'] = 'spoilt', true "
		"return false, 'seen' end");
	assert_string_equal(place_decide(rig, ""),
			    "0/21 nodes are available: 21 node(s) not allowed by policy "
			    "spoils: seen.");
	assert_int_equal(rig->failed, 0);
	place_free(rig);
}

/* The fields as arguments, in the order of needs; nil is what is missing and may be. */
static void test_by_value(void **state)
{
	struct place_rig *rig = *state;

	place_put(rig, "filter", "values", 0,
		  "needs = { 'node.name', 'pod.name', 'node.labels.none?', "
		  "'node.free.cpu' }, by_value = true, "
		  "allow = function(ctx, pod, name, none, free, more) "
		  "assert(none == nil and more == nil and free == 10000) "
		  "return name == 'c', 'not c, but ' .. pod.name end");
	assert_string_equal(place_decide(rig, ""), "c");
	place_put(rig, "filter", "nothing", 1,
		  "by_value = true, allow = function(ctx, pod, more) return more ~= nil, "
		  "'none' end");
	assert_string_equal(
		place_decide(rig, ""),
		"0/4 nodes are available: 1 node(s) not allowed by policy nothing: none, "
		"3 node(s) not allowed by policy values: not c, but pod.");
	assert_int_equal(rig->failed, 0);
}

/* As many needs as there may be, and none. */
static void test_many_needs(void **state)
{
	struct place_rig *rig = *state;
	char body[4096] = "needs = { 'node.name'";
	size_t len = strlen(body);

	for (int i = 1; i < 64; i++)
		len += (size_t)snprintf(body + len, sizeof(body) - len,
					", 'node.labels.l%d?'", i);
	(void)snprintf(body + len, sizeof(body) - len,
		       " }, allow = function(ctx, pod, node) return node.name == 'd' "
		       "and node.labels.l63 == nil end");
	place_put(rig, "filter", "many", 0, body);
	assert_string_equal(place_decide(rig, ""), "d");
	place_put(rig, "filter", "none", 1, "allow = function() return false, 'all' end");
	assert_string_equal(
		place_decide(rig, ""),
		"0/4 nodes are available: 1 node(s) not allowed by policy none: "
		"all, 3 node(s) not allowed by policy many: no reason given.");
}

static void test_after_the_others(void **state)
{
	struct place_rig *rig = *state;

	/* Only nodes that are left: it raises for every other one. */
	(void)cluster_set_node(rig->cluster, "a", "", "{'unschedulable':true}",
			       "'cpu':'10','pods':'110'");
	place_put(rig, "filter", "sees", 0,
		  "needs = { 'node.name', 'node.free.cpu', 'node.pods', "
		  "'node.requested_share.cpu', 'pod.namespace' }, "
		  "allow = function(ctx, pod, node) assert(node.name ~= 'a') "
		  "assert(node.free.cpu == 10000 and node.pods == 0 and pod.namespace == "
		  "'default') assert(node.requested_share.cpu == 0.1) "
		  "return node.name == 'c' end");
	assert_string_equal(place_decide(rig, ""), "c");
	assert_int_equal(place_slot(rig, "filter", "sees")->stats.faults, 0);
}

static void test_missing_is_no_fault(void **state)
{
	struct place_rig *rig = *state;
	struct neap_policy_stats *stats;

	/* Nodes without the label are not asked about, and so open. */
	place_put(rig, "filter", "needs-it", 0,
		  "needs = { 'node.labels.odd' }, allow = function(ctx, pod, node) "
		  "return false, node.labels.odd end");
	for (int i = 0; i < 3; i++)
		assert_string_equal(place_decide(rig, ""), "a");
	/* A pod without it: nothing is said. */
	place_put(rig, "filter", "needs-it", 0,
		  "needs = { 'pod.labels.team' }, allow = function() return false end");
	stats = &place_slot(rig, "filter", "needs-it")->stats;
	assert_true(strlen(place_decide(rig, "")) == 1);
	assert_int_equal(stats->skipped, 1);
	assert_int_equal(stats->faults, 0);
	assert_string_equal(place_decide(rig, "'team':'x'"),
			    "0/4 nodes are available: 4 node(s) not allowed by policy "
			    "needs-it: no reason given.");
}

static void test_reasons_are_bounded(void **state)
{
	struct place_rig *rig = place_new();
	const char *text;
	size_t commas = 0;

	(void)state;
	place_add_nodes(rig, 60);
	place_put(rig, "filter", "chatty", 0,
		  "needs = { 'node.name' }, allow = function(ctx, pod, node) "
		  "return false, 'not\\n' .. node.name .. '\\xff' .. ('x'):rep(500) end");
	text = place_decide(rig, "");
	assert_true(strncmp(text, "0/60 nodes are available: ", 26) == 0);
	assert_non_null(
		strstr(text, "45 node(s) not allowed by policy chatty: other reasons"));
	assert_non_null(
		strstr(text, "1 node(s) not allowed by policy chatty: not?a?xxx"));
	for (const char *c = text; *c; c++) {
		commas += *c == ',';
		assert_true(*c != '\n' && (unsigned char)*c < 0x80);
	}
	assert_int_equal(commas, NEAP_PLACE_REASONS_MAX - 1);
	place_free(rig);
}

/* --- those that are no good --- */

static const struct {
	const char *body, *error;
} bad[] = {
	{"allow = function() error('no idea') end", "no idea"},
	{"allow = function() error({}) end", ""},
	{"allow = function() end", "allow returned a nil for node"},
	{"allow = function() return false, ('x'):rep(1001) end",
	 "a text of at most 1000 bytes, is wanted"},
	{"allow = function() return 1 end", "allow returned a number for node"},
	{"allow = function() return 'yes' end", "allow returned a string for node"},
	{"allow = function() return false, {} end",
	 "allow returned a boolean and a table"},
	{"allow = function(ctx, pod, node) return node.free.cpu > 0 end",
	 "node.free is not declared"},
	{"allow = function(ctx, pod, node) return node.requestd.cpu > 0 end",
	 "there is no node.requestd; did you mean 'requested'?"},
	{"needs = { 'node.free.cpu' }, allow = function(ctx, pod, node) return "
	 "node.free.memory > 0 end",
	 "node.free.memory is not declared"},
	{"needs = { 'node.free.cpu' }, allow = function(ctx, pod, node) node.free = nil "
	 "return node.free.cpu > 0 end",
	 "attempt to index"},
	{"allow = function() while true do end end", ""},
	{"allow = function() while true do pcall(error) end end", ""},
	{"allow = function() local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t end end",
	 ""},
	{"allow = function() local function f() return 1 + f() end return f() end",
	 ""}, /* its stack or its time, whichever ends first */
	/* It says no to some first: that does not count any more. */
	{"needs = { 'node.name' }, allow = function(ctx, pod, node) "
	 "if node.name == 'd' then error('late') end return false end",
	 "late"},
};

static void test_bad_ones(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(bad); i++) {
		struct place_rig *rig = place_new();
		struct neap_policy_stats *stats;

		place_add_nodes(rig, 4);
		place_put(rig, "filter", "bad", 0, bad[i].body);
		place_put(rig, "filter", "only-odd", 1, ONLY_ODD);
		stats = &place_slot(rig, "filter", "bad")->stats;
		for (int n = 0; n < 5; n++) {
			const char *node = place_decide(rig, "");

			if (strcmp(node, "b") != 0)
				fail_msg("%s: %s", bad[i].body, node);
		}
		if (!strstr(stats->last_error, bad[i].error))
			fail_msg("%s: %s", bad[i].body, stats->last_error);
		assert_true(stats->is_failed);
		assert_int_equal(rig->failed, 1);
		assert_true(stats->calls <= 3);
		place_free(rig);
	}
}

/* The fault comes with a later block, when nodes of an earlier one were refused: they are
 * asked about anew, of the others. */
static void test_late_fault(void **state)
{
	struct place_rig *rig = place_new();
	struct neap_decide_config config = {.percentage = 5};
	struct neap_error err;
	const char *text;

	(void)state;
	/* 100 nodes are enough, so that they are asked about in several blocks. */
	neap_decide_free(rig->decide);
	config.cluster = rig->cluster;
	config.more = neap_schedule_policies_more(rig->policies);
	assert_int_equal(neap_decide_new(&config, &rig->decide, &err), 0);
	place_add_nodes(rig, 300);
	place_put(
		rig, "filter", "late", 0,
		"needs = { 'node.name' }, allow = function(ctx, pod, node) "
		"if node.name == 'n299' then error('late') end return false, 'early' end");
	place_put(rig, "filter", "never", 1, "allow = function() return false, 'no' end");
	text = place_decide(rig, "");
	assert_string_equal(text, "0/300 nodes are available: 300 node(s) not allowed by "
				  "policy never: no.");
	assert_int_equal(place_slot(rig, "filter", "late")->stats.faults, 1);
	place_free(rig);
}

/* --- the other ways to ask --- */

static struct neap_pod *make_pod(struct place_rig *rig, int priority)
{
	char spec[256];

	(void)snprintf(
		spec, sizeof(spec),
		"{'priority':%d,'containers':[{'resources':{'requests':{'cpu':'6'}}}]}",
		priority);
	return cluster_pod(neap_cluster_resources(rig->cluster), "asker", "", spec, "{}");
}

static void test_rows(void **state)
{
	struct place_rig *rig = *state;
	struct neap_pod *pod = make_pod(rig, 0);
	const struct neap_refusal *refusals;
	uint32_t rows[] = {0, 1, 3};
	struct neap_verdict verdict;
	struct neap_error err;
	char buf[256];
	size_t count;

	place_put(rig, "filter", "not-odd", 0, NOT_ODD);
	assert_int_equal(neap_decide_rows(rig->decide, pod, rows, 3, &verdict, &err), 0);
	assert_int_equal(verdict.count, 1);
	assert_int_equal(verdict.rows[0], 0);
	refusals = neap_decide_refusals(rig->decide, &count);
	assert_int_equal(count, 2);
	assert_int_equal(refusals[0].row, 1);
	assert_string_equal(
		neap_decide_reason(rig->decide, refusals[1].code, buf, sizeof(buf)),
		"node(s) not allowed by policy not-odd: it is odd");
	(void)neap_pod_unref(pod);
}

/* Nobody is sent away from a node that a policy would not let the pod onto. */
static void test_preemption_asks(void **state)
{
	struct place_rig *rig = *state;
	struct neap_pod *pod = make_pod(rig, 100);
	struct neap_choice choice;
	struct neap_victims victims = {0};
	struct neap_error err;

	for (int i = 0; i < 4; i++) {
		char name[8], spec[256];

		(void)snprintf(name, sizeof(name), "p%d", i);
		(void)snprintf(spec, sizeof(spec),
			       "{'nodeName':'%c','priority':1,'containers':[{'resources':"
			       "{'requests':{'cpu':'9'}}}]}",
			       'a' + i);
		(void)cluster_set_pod(rig->cluster, name, "", spec, "{}");
	}
	place_put(
		rig, "filter", "d-only", 0,
		"needs = { 'node.name', 'node.free.cpu' }, allow = function(ctx, pod, node) "
		"return node.name == 'd' and node.free.cpu >= 6000, 'not d' end");
	assert_int_equal(neap_decide_pod(rig->decide, pod, &choice, &err), 0);
	assert_int_equal(neap_decide_preempt(rig->decide, pod, &victims, &err), 1);
	assert_string_equal(victims.node, "d");
	assert_int_equal(victims.count, 1);
	/* One that cannot tell lets nobody go. */
	place_put(rig, "filter", "d-only", 0, "allow = function() error('no idea') end");
	assert_int_equal(neap_decide_pod(rig->decide, pod, &choice, &err), 0);
	assert_int_equal(neap_decide_preempt(rig->decide, pod, &victims, &err), 1);
	assert_string_not_equal(victims.node, "");
	(void)neap_pod_unref(pod);
}

static void test_refused_at_load(void **state)
{
	static const struct {
		const char *text, *error;
	} rows[] = {
		{"return { api = 1, kind = 'filter', name = 'x' }",
		 "needs this function"},
		{"return { api = 1, kind = 'filter', name = 'x', allow = function() end, "
		 "needs = { 'node.magic' } }",
		 "there is no column 'magic'"},
		{"return { api = 1, kind = 'filter', name = 'x', allow = function() end, "
		 "needs = { 'node.pods_same.app' } }",
		 "is for terms of kind score only"},
		{"return { api = 1, kind = 'filter', name = 'x', allow = function() end, "
		 "needs = { 'free.cpu' } }",
		 "is no field"},
		{"return { api = 1, kind = 'filter', name = 'x', allow = function() end, "
		 "needs = { 'node.labels' } }",
		 "there is no column 'labels'"},
		{"return { api = 1, kind = 'filter', name = 'x', allow = function() end, "
		 "by_value = 1 }",
		 "field 'by_value': true or false is wanted"},
		{"return { api = 1, kind = 'score', name = 'x', plan = function() end, "
		 "by_value = true }",
		 "'by_value'"},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_policy *policy = NULL;
		struct neap_error err = {0};

		assert_true(neap_policy_load(rows[i].text, strlen(rows[i].text), "p.lua",
					     &policy, &err) < 0);
		if (!strstr(err.msg, rows[i].error))
			fail_msg("%s: %s", rows[i].text, err.msg);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(refuses),
		TEST(where),
		TEST(told_by_name),
		cmocka_unit_test(test_shadow),
		cmocka_unit_test(test_nodes_are_apart),
		TEST(many_needs),
		TEST(by_value),
		TEST(after_the_others),
		TEST(missing_is_no_fault),
		cmocka_unit_test(test_reasons_are_bounded),
		cmocka_unit_test(test_bad_ones),
		cmocka_unit_test(test_late_fault),
		TEST(rows),
		TEST(preemption_asks),
		cmocka_unit_test(test_refused_at_load),
	};

	patience_with_scripts();
	return cmocka_run_group_tests_name("filter policies", tests, NULL, NULL);
}
