/* SPDX-License-Identifier: Apache-2.0
 *
 * Decisions are recorded and tried again: what policies see is the same then, what
 * differs between two versions is listed, and what is recorded is bounded. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/policy/judge.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"
#include "lua/replay/decision_play.h"
#include "lua/replay/replay.h"
#include "t/lib/cpus_rig.h"
#include "t/lib/place_rig.h"

#define NOW INT64_C(1700000000000000)

static struct neap_inputs inputs_of(const struct place_rig *rig)
{
	const struct neap_recorders recorders = {.decisions = rig->decisions};
	struct neap_inputs inputs;

	neap_inputs_share(&recorders, &inputs);
	assert_non_null(inputs.decisions);
	return inputs;
}

static size_t frames_of(const struct place_rig *rig)
{
	return neap_decisions_count(rig->decisions);
}

/* --- the same is seen --- */

static void set_metric(struct neap_cluster *cluster, const char *name)
{
	struct neap_object *object = cluster_object(
		name, "", "", "{}",
		"{'updateTime':'2023-11-14T22:13:10Z','nodeMetric':{'nodeUsage':"
		"{'resources':{'cpu':'3','memory':'5Gi'}}}}");
	struct neap_error err;
	unsigned moved;

	assert_int_equal(neap_cluster_set_metric(cluster, object, &moved, &err), 0);
	(void)neap_object_unref(object);
}

static void fill(struct neap_cluster *cluster)
{
	static const struct cpus_machine two = {.nodes = 2, .cores = 4, .threads = 2};
	static const char *const names[] = {"a", "b", "c", "d"};

	(void)cpus_set_topology(cluster, "b", &two);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(names); i++) {
		char meta[100], spec[200];

		(void)snprintf(meta, sizeof(meta), "'labels':{'zone':'%s','rank':'%zu'}",
			       i < 2 ? "z1" : "z2", i);
		(void)cluster_set_node(cluster, names[i], i == 3 ? "'labels':{}" : meta,
				       "{}",
				       i ? "'cpu':'16','memory':'64Gi','pods':'110',"
					   "'example.com/gpu':'4'"
					 : "'cpu':'10500m','memory':'10Gi','pods':'50'");
		(void)snprintf(spec, sizeof(spec),
			       "{'nodeName':'%s','containers':[{'resources':{'requests':"
			       "{'cpu':'%zu','memory':'%zuMi'}}}]}",
			       names[i], i + 1, 100 * i);
		(void)cluster_set_pod(cluster, names[i], "'labels':{'app':'web'}", spec,
				      "{'phase':'Running'}");
	}
	(void)cluster_set_pod(cluster, "more", "'labels':{'app':'web','x':'y'}",
			      "{'nodeName':'b','containers':[]}", "{}");
	(void)cluster_set_pod(cluster, "others", "'labels':{'app':'db'}",
			      "{'nodeName':'b','containers':[]}", "{}");
	set_metric(cluster, "c");
}

struct seen {
	double number;
	const char *text;
	int64_t whole;
	bool has_whole;
};

static struct seen look(struct neap_cluster *cluster, const struct neap_pod *pod,
			const char *name, const char *node)
{
	uint32_t row = neap_cluster_find_node(cluster, node)->row;
	struct neap_column column;
	struct neap_column_view view;
	struct neap_error err;
	struct seen ret = {.text = NULL};

	assert_int_equal(neap_column_parse(name, &column, &err), 0);
	neap_column_open(&view, &column, cluster, pod, NOW);
	if (neap_column_is_text(column.family))
		ret.text = neap_column_text(&view, row);
	ret.number = neap_column_number(&view, row);
	if (!view.is_missing)
		ret.has_whole = neap_column_integer(&view, row, &ret.whole);
	neap_column_close(&view);
	return ret;
}

static void compare_columns(struct neap_cluster *cluster, const struct neap_pod *pod,
			    const struct neap_play *play)
{
	static const char *const columns[] = {"name",
					      "labels.zone",
					      "labels.rank",
					      "labels.none",
					      "pods",
					      "pods_same.app",
					      "pods_same.app@zone",
					      "pods_same.none",
					      "allocatable.cpu",
					      "allocatable.memory",
					      "allocatable.example.com/gpu",
					      "allocatable.none",
					      "requested.cpu",
					      "requested.memory",
					      "free.cpu",
					      "free.example.com/gpu",
					      "requested_share.cpu",
					      "free_share.memory",
					      "free_share.example.com/gpu",
					      "load_share.cpu",
					      "load_share.memory",
					      "load_share.none",
					      "numa_share.cpu",
					      "numa_share.memory",
					      "core_share"};
	static const char *const nodes[] = {"a", "b", "c", "d"};
	int found = 0;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(columns); i++) {
		for (size_t n = 0; n < NEAP_ARRAY_LEN(nodes); n++) {
			struct seen was = look(cluster, pod, columns[i], nodes[n]);
			struct seen is =
				look(play->cluster, play->pod, columns[i], nodes[n]);
			bool is_same = isnan(was.number) ? isnan(is.number)
							 : was.number == is.number;

			if (!is_same || was.has_whole != is.has_whole ||
			    was.whole != is.whole || !was.text != !is.text ||
			    (was.text && strcmp(was.text, is.text) != 0))
				fail_msg("%s of %s: %g (%lld), and %g (%lld) in the play",
					 columns[i], nodes[n], was.number,
					 (long long)was.whole, is.number,
					 (long long)is.whole);
			found += !isnan(was.number) || was.text;
		}
	}
	assert_true(found > 60);
}

static void test_columns(void **state)
{
	struct place_rig *rig = place_new();
	struct neap_choice choice;
	struct neap_inputs inputs;
	struct neap_play play;
	struct neap_error err = {0};
	struct neap_pod *pod;
	json_t *json = NULL;

	(void)state;
	fill(rig->cluster);
	pod = cluster_pod(
		neap_cluster_resources(rig->cluster), "new",
		"'labels':{'app':'web'},'annotations':{'a':'b',"
		"'kubectl.kubernetes.io/last-applied-configuration':'secret'}",
		"{'priority':5500,'containers':[{'image':'web:1','env':[{'name':"
		"'KEY','value':'secret'}],'resources':{'requests':{'cpu':"
		"'1500m','memory':'1Gi','magic':'2'}}}]}",
		"{}");
	neap_decide_set_now(rig->decide, NOW);
	assert_int_equal(neap_decide_pod(rig->decide, pod, &choice, &err), 1);
	inputs = inputs_of(rig);
	assert_int_equal(neap_decision_tape_get(inputs.decisions, NEAP_DECISION_OF_NODES,
						0, &json, &err),
			 0);
	assert_int_equal(neap_decision_tape_get(inputs.decisions, NEAP_DECISION_OF_NODES,
						1, &json, &err),
			 -NEAP_ENOTFOUND);
	if (neap_play_open(&play, json, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(play.count, 4);
	compare_columns(rig->cluster, pod, &play);
	assert_int_equal(play.pod->load.band, pod->load.band);
	assert_int_equal(play.pod->priority, 5500);
	assert_string_equal(play.pod->images[0], pod->images[0]);
	assert_int_equal(play.place.now_usec, NOW);
	neap_play_close(&play);
	{ /* only what a policy can see */
		char *text = json_dumps(json, 0);

		assert_null(strstr(text, "secret"));
		assert_non_null(strstr(text, "\"annotations\": {\"a\": \"b\"}"));
		free(text);
	}
	json_decref(json);
	neap_inputs_done(&inputs);
	(void)neap_pod_unref(pod);
	place_free(rig);
}

/* --- what differs --- */

#define SCORE(column, more)                                                              \
	"needs = {}, plan = function(ctx, pod) " more " return { { column = '" column    \
	"', curve = { { 0, 0 }, { 10, 100 } } } } end"
#define ODD                                                                              \
	"needs = { 'node.labels.odd?' }, allow = function(ctx, pod, node) return "       \
	"node.labels.odd == nil, 'it is odd' end"
#define ALL "needs = {}, allow = function() return true end"

static const struct row {
	const char *name, *kind, *older, *newer;
	int same, faults;
	bool is_failed;
	const char *first; /* of the differences, older and newer */
} rows[] = {
	{"the same score", "score", SCORE("pods", ""), SCORE("pods", ""), 3, 0, false,
	 NULL},
	{"other points", "score", SCORE("pods", ""), SCORE("allocatable.pods", ""), 0, 0,
	 false,
	 "[\"a: 0 points\", \"b: 0 points\", \"c: 0 points\", \"d: 0 points\"] [\"a: 100 "
	 "points\", \"b: 100 points\", \"c: 100 points\", \"d: 100 points\"]"},
	{"no opinion", "score", SCORE("pods", ""),
	 "needs = {}, plan = function(ctx, pod) return ctx.hold end", 0, 0, false,
	 "[\"a: 0 points\", \"b: 0 points\", \"c: 0 points\", \"d: 0 points\"] "
	 "\"hold\""},
	{"a weight", "score", SCORE("allocatable.pods", ""),
	 "needs = {}, plan = function() return { weight = 2, { column = "
	 "'allocatable.pods', curve = { { 0, 0 }, { 10, 100 } } } } end",
	 0, 0, false,
	 "[\"a: 100 points\", \"b: 100 points\", \"c: 100 points\", \"d: 100 points\"] "
	 "[\"a: 200 points\", \"b: 200 points\", \"c: 200 points\", \"d: 200 points\"]"},
	{"faults of a score", "score", SCORE("pods", ""), SCORE("pods", "error('no')"), 0,
	 3, true, NULL},
	{"faults of both", "score", SCORE("pods", "error('no')"),
	 SCORE("pods", "error('no')"), 3, 3, false, NULL},
	{"the same filter", "filter", ODD, ODD, 3, 0, false, NULL},
	{"other nodes", "filter", ODD, ALL, 0, 0, false,
	 "[\"b: refused: it is odd\", \"d: refused: it is odd\"] [\"b: allowed\", \"d: "
	 "allowed\"]"},
	{"a missing field", "filter", ODD,
	 "needs = { 'pod.labels.none' }, allow = function() return true end", 0, 0, false,
	 "[\"a: allowed\", \"b: refused: it is odd\", \"c: allowed\", \"d: refused: it "
	 "is odd\"] \"skip\""},
	{"faults of a filter", "filter", ODD,
	 "needs = {}, allow = function() error('no') end", 0, 3, true, NULL},
};

static struct neap_policy *load(const char *kind, const char *body)
{
	struct neap_policy *policy = NULL;
	struct neap_error err = {0};
	char text[1024];

	(void)snprintf(text, sizeof(text),
		       "return { api = 1, kind = '%s', name = 'p', %s }", kind, body);
	if (neap_policy_load(text, strlen(text), "p.lua", &policy, &err) < 0)
		fail_msg("%s", err.msg);
	return policy;
}

static void check_row(const struct row *row, const json_t *replay)
{
	const json_t *first = json_array_get(json_object_get(replay, "differences"), 0);
	int same = -1, faults = -1, is_failed = -1, ran = -1;
	char got[600] = "";

	assert_int_equal(json_unpack((json_t *)replay, "{s:i, s:i, s:b, s:i}", "same",
				     &same, "faults", &faults, "is_failed", &is_failed,
				     "ran", &ran),
			 0);
	if (row->first) {
		char *older =
			json_dumps(json_object_get(first, "older"), JSON_ENCODE_ANY);
		char *newer =
			json_dumps(json_object_get(first, "newer"), JSON_ENCODE_ANY);

		(void)snprintf(got, sizeof(got), "%s %s", older, newer);
		free(older);
		free(newer);
		assert_string_equal(json_string_value(json_object_get(first, "pod")),
				    "default/pod");
		assert_int_equal(json_integer_value(json_object_get(first, "unix")),
				 NOW / 1000000);
	}
	if (ran != 3 || same != row->same || faults != row->faults ||
	    is_failed != row->is_failed || (row->first && strcmp(row->first, got) != 0)) {
		json_dumpf(replay, stderr, JSON_INDENT(1));
		fail_msg("%s: %s", row->name, got);
	}
}

static void test_rows(void **state)
{
	struct place_rig *rig = place_new();
	struct neap_inputs inputs;

	(void)state;
	place_add_nodes(rig, 4);
	neap_decide_set_now(rig->decide, NOW);
	for (int i = 0; i < 3; i++)
		(void)place_decide(rig, "");
	inputs = inputs_of(rig);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_policy *older = load(rows[i].kind, rows[i].older);
		struct neap_policy *newer = load(rows[i].kind, rows[i].newer);
		struct neap_error err = {0};
		json_t *replay = NULL;

		assert_int_equal(
			neap_policy_replay(older, newer, &inputs, 5000000, &replay, &err),
			0);
		check_row(&rows[i], replay);
		json_decref(replay);
		neap_policy_free(older);
		neap_policy_free(newer);
	}
	neap_inputs_done(&inputs);
	place_free(rig);
}

/* A policy that is in service says nothing about what is recorded: nodes that it refuses
 * are tried as well. */
static void test_in_service(void **state)
{
	struct place_rig *rig = place_new();
	struct neap_policy *older = load("filter", ODD), *newer = load("filter", ALL);
	struct neap_inputs inputs;
	struct neap_error err;
	json_t *replay = NULL;

	(void)state;
	place_add_nodes(rig, 4);
	place_put(rig, "filter", "p", 0, ODD);
	place_put(rig, "filter", "q", 1, "needs = {}, allow = function() error() end");
	assert_string_equal(place_decide(rig, ""), "a");
	inputs = inputs_of(rig);
	assert_int_equal(
		neap_policy_replay(older, newer, &inputs, 5000000, &replay, &err), 0);
	assert_int_equal(
		json_array_size(json_object_get(
			json_array_get(json_object_get(replay, "differences"), 0),
			"newer")),
		2);
	json_decref(replay);
	neap_inputs_done(&inputs);
	neap_policy_free(older);
	neap_policy_free(newer);
	place_free(rig);
}

/* --- bounds --- */

static void test_bounds(void **state)
{
	struct place_rig *rig = place_new();
	struct neap_inputs inputs;
	struct neap_error err;
	json_t *json = NULL;
	const char *name;
	int64_t before = -1;
	json_t *node;
	size_t count;

	(void)state;
	place_add_nodes(rig, 500);
	neap_decide_set_now(rig->decide, NOW);
	for (int i = 0; i < 20; i++)
		(void)place_decide(rig, "");
	assert_int_equal(frames_of(rig), NEAP_DECISIONS_BURST);
	neap_decide_set_now(rig->decide, NOW + 900000);
	(void)place_decide(rig, "");
	assert_int_equal(frames_of(rig), NEAP_DECISIONS_BURST);
	neap_decide_set_now(rig->decide, NOW + 1000000);
	for (int i = 0; i < 5; i++)
		(void)place_decide(rig, "");
	assert_int_equal(frames_of(rig), NEAP_DECISIONS_BURST + 1);
	/* A clock that is set back ends nothing. */
	neap_decide_set_now(rig->decide, NOW - 3600000000);
	(void)place_decide(rig, "");
	assert_int_equal(frames_of(rig), NEAP_DECISIONS_BURST + 2);
	for (int i = 0; i < 200; i++) {
		neap_decide_set_now(rig->decide, NOW + 60000000 + i * 1000000);
		(void)place_decide(rig, "");
	}
	assert_int_equal(frames_of(rig), NEAP_DECISIONS_MAX);
	assert_true(neap_decisions_bytes(rig->decisions) <= NEAP_DECISIONS_BYTES);

	inputs = inputs_of(rig);
	assert_int_equal(neap_decision_tape_get(inputs.decisions, NEAP_DECISION_OF_NODES,
						0, &json, &err),
			 0);
	assert_int_equal(json_integer_value(json_object_get(json, "nodes_asked")), 500);
	count = json_object_size(json_object_get(json, "nodes"));
	assert_in_range(count, NEAP_DECISION_NODES / 2, NEAP_DECISION_NODES);
	/* Evenly: about as far from one to the next. */
	json_object_foreach (json_object_get(json, "nodes"), name, node) {
		int64_t number = -1;

		(void)neap_int_parse(name + 1, &number, NULL);
		if (number > before && before > 0)
			assert_int_equal(number - before, 32);
		before = number;
	}
	json_decref(json);
	neap_inputs_done(&inputs);
	place_free(rig);
}

static void test_bytes(void **state)
{
	struct place_rig *rig = place_new();
	struct neap_decisions *small = neap_decisions_new(2000, 0);
	struct neap_pod *pod;

	(void)state;
	place_add_nodes(rig, 4);
	pod = cluster_pod(neap_cluster_resources(rig->cluster), "pod", "'labels':{}",
			  "{'containers':[]}", "{}");
	for (uint32_t count = 0; count <= 4; count++) {
		static const uint32_t list[] = {0, 1, 2, 3};

		(void)neap_cluster_settle(rig->cluster);
		assert_true(neap_decisions_begin(small, rig->cluster, pod,
						 NOW + count * 2000000));
		neap_decisions_rows(small, list, count);
		neap_decisions_end(small);
		assert_true(neap_decisions_bytes(small) <= 2000);
	}
	assert_in_range(neap_decisions_count(small), 1, 3);
	neap_decisions_free(small);
	neap_decisions_free(NULL);
	(void)neap_pod_unref(pod);
	place_free(rig);
}

/* --- an upload, and without memory --- */

static void test_judge(void **state)
{
	static const char text[] =
		"return { api = 1, kind = 'score', name = 'p', needs = {},\n"
		"plan = function(ctx, pod) error('no') end }";
	struct place_rig *rig = place_new();
	struct neap_inputs inputs;
	struct neap_judge_input input = {
		.newer = {.text = text, .len = strlen(text), .origin = "p.lua"},
		.inputs = &inputs};
	struct neap_judgement verdict;
	struct neap_error err = {0};

	(void)state;
	place_add_nodes(rig, 3);
	for (int i = 0; i < 4; i++)
		(void)place_decide(rig, "");
	inputs = inputs_of(rig);
	assert_int_equal(neap_judge(&input, &verdict, &err), -NEAP_EINVAL);
	assert_int_equal(verdict.problems[0].line, 2);
	if (!strstr(err.msg, "(4 of 4 recorded decisions of this scheduler went wrong"))
		fail_msg("%s", err.msg);
	neap_judgement_done(&verdict);
	neap_inputs_done(&inputs);
	place_free(rig);
}

static void test_torture(void **state)
{
	struct place_rig *rig = place_new();
	struct neap_inputs inputs;
	int rc = -1;

	(void)state;
	fill(rig->cluster);
	(void)place_decide(rig, "'app':'web'");
	inputs = inputs_of(rig);
	for (uint64_t n = 1; rc < 0 && n < 20000; n += 7) {
		struct neap_policy *older = load("filter", ODD);
		struct neap_policy *newer = load("filter", ALL);
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
	place_free(rig);
}

/* A record that lacks anything is left out. */
static void test_torture_record(void **state)
{
	struct place_rig *rig = place_new();
	struct neap_pod *pod;
	bool is_recorded = false;

	(void)state;
	fill(rig->cluster);
	pod = cluster_pod(neap_cluster_resources(rig->cluster), "pod",
			  "'labels':{'app':'web'}", "{'containers':[]}", "{}");
	for (uint64_t n = 1; !is_recorded && n < 5000; n++) {
		static const uint32_t list[] = {0, 1, 2, 3};
		struct neap_decisions *decisions = neap_decisions_new(0, 0);
		uint64_t before;

		(void)neap_cluster_settle(rig->cluster);
		assert_true(neap_decisions_begin(decisions, rig->cluster, pod, NOW));
		neap_decisions_rows(decisions, list, 4);
		before = neap_mem_count();
		neap_mem_fail_at(n);
		neap_decisions_end(decisions);
		neap_mem_fail_at(0);
		is_recorded = neap_mem_count() - before < n;
		if (is_recorded != (neap_decisions_count(decisions) == 1))
			fail_msg("the allocation %llu failed, and %zu are recorded",
				 (unsigned long long)n, neap_decisions_count(decisions));
		neap_decisions_free(decisions);
	}
	assert_true(is_recorded);
	(void)neap_pod_unref(pod);
	place_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_columns),    cmocka_unit_test(test_rows),
		cmocka_unit_test(test_in_service), cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_bytes),      cmocka_unit_test(test_judge),
		cmocka_unit_test(test_torture),    cmocka_unit_test(test_torture_record),
	};

	neap_json_setup();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
