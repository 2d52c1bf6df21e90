/* SPDX-License-Identifier: Apache-2.0
 *
 * Policies of the kind score: what they return, what is made of it, and that none of them
 * can keep a pod from its place. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/decide/curve.h"
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

/* Points for odd nodes, with a weight beyond all other scores. */
#define ODD(weight)                                                                      \
	"plan = function() return { weight = " #weight                                   \
	", { column = 'labels.odd', is = 'yes' } } end"

static void test_points_decide(void **state)
{
	struct place_rig *rig = *state;

	assert_string_equal(place_decide(rig, ""), "a");
	place_put(rig, "score", "odd", 0, ODD(50));
	assert_string_equal(place_decide(rig, ""), "b");
	assert_int_equal(place_slot(rig, "score", "odd")->stats.calls, 1);
	/* A second row that says the opposite, with more weight. */
	place_put(
		rig, "score", "even", 1,
		"plan = function() return { weight = 51, { column = 'labels.odd', is = 'yes',"
		" missing = 100, curve = { { 0, 0 } } } } end");
	assert_string_equal(place_decide(rig, ""), "a");
	assert_int_equal(rig->failed, 0);
}

/* Another version is asked of the same decisions: what counts is the points that a node
 * gets by it. */
static void test_shadow(void **state)
{
	static const struct {
		const char *body;
		int same, faults;
		const char *active, *shadow, *node; /* NULL: they are the same */
	} shadows[] = {
		{"plan = function() return { weight = 50, { column = 'labels.odd', is = "
		 "{ 'no', 'yes' }, weight = 3 } } end",
		 1, 0, NULL, NULL, NULL},
		{ODD(49), 0, 0, "5000 points", "4900 points", "b"},
		{"plan = function(ctx) return ctx.hold end", 0, 0, "0 points", "hold",
		 "a"},
		{"plan = function() return 5 end", 0, 1, "0 points", "error: ", "a"},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(shadows); i++) {
		struct place_rig *rig = place_new();
		struct neap_policy *policy = NULL;
		struct neap_registry_slot *slot;
		struct neap_error err = {0};
		char text[1024];
		const json_t *last;
		json_t *json;

		place_add_nodes(rig, 4);
		place_put(rig, "score", "p", 0, ODD(50));
		(void)snprintf(text, sizeof(text),
			       "return { api = 1, kind = 'score', name = 'p', %s }",
			       shadows[i].body);
		assert_int_equal(
			neap_policy_load(text, strlen(text), "p.lua", &policy, &err), 0);
		slot = place_slot(rig, "score", "p");
		slot->shadow = neap_shadow_new_take(policy, 0);
		assert_non_null(slot->shadow);
		assert_string_equal(place_decide(rig, ""), "b");
		json = neap_shadow_json(slot->shadow);
		last = json_object_get(json, "last_difference");
		assert_int_equal(json_integer_value(json_object_get(json, "calls")), 1);
		assert_int_equal(json_integer_value(json_object_get(json, "same")),
				 shadows[i].same);
		assert_int_equal(json_integer_value(json_object_get(json, "different")),
				 1 - shadows[i].same);
		assert_int_equal(json_integer_value(json_object_get(json, "faults")),
				 shadows[i].faults);
		assert_true(!last == !shadows[i].node);
		if (last) {
			assert_string_equal(
				json_string_value(json_object_get(last, "node")),
				shadows[i].node);
			assert_string_equal(
				json_string_value(json_object_get(last, "active")),
				shadows[i].active);
			assert_int_equal(strncmp(json_string_value(
							 json_object_get(last, "shadow")),
						 shadows[i].shadow,
						 strlen(shadows[i].shadow)),
					 0);
		}
		json_decref(json);
		place_free(rig);
	}
}

static void test_same_again(void **state)
{
	struct place_rig *rig = *state;
	char first[64];

	place_put(rig, "score", "named", 0,
		  "plan = function() return { weight = 100, "
		  "{ column = 'name', is = { 'c', 'd' } } } end");
	(void)neap_strcopy(first, sizeof(first), place_decide(rig, ""));
	assert_string_equal(first, "c");
	for (int i = 0; i < 20; i++)
		assert_string_equal(place_decide(rig, ""), first);
}

static void test_pod_is_seen(void **state)
{
	struct place_rig *rig = *state;

	place_put(
		rig, "score", "by-label", 0,
		"needs = { 'pod.labels.to', 'pod.requests.cpu', 'pod.priority', 'pod.class' }, "
		"plan = function(ctx, pod) assert(pod.requests.cpu == 1000 and "
		"pod.priority == 7 and pod.class == 'prod') "
		"return { weight = 100, { column = 'name', is = pod.labels.to } } end");
	assert_string_equal(place_decide(rig, "'to':'d'"), "d");
	assert_string_equal(place_decide(rig, "'to':'c'"), "c");
	/* What is needed and missing: it has nothing to say. */
	assert_string_equal(place_decide(rig, ""), "a");
	assert_int_equal(place_slot(rig, "score", "by-label")->stats.skipped, 1);
	assert_int_equal(place_slot(rig, "score", "by-label")->stats.faults, 0);
}

/* --- those that are no good --- */

static const struct {
	const char *body;
	const char *error; /* a part of it */
	bool is_killed;    /* out of service at once */
} bad[] = {
	{"plan = function() error('no idea') end", "no idea", false},
	{"plan = function() return 7 end", "a list of terms is wanted", false},
	{"plan = function() return { 7 } end", "a table is wanted", false},
	{"plan = function() return { {} } end", "column: a name", false},
	{"plan = function() return { { column = 'free_share' } } end", "no column",
	 false},
	{"plan = function() return { { column = 'magic.cpu' } } end", "no column", false},
	{"plan = function() return { { column = 'pods_same' } } end", "no column", false},
	{"plan = function() return { { column = 'pods_same.@zone' } } end", "no column",
	 false},
	{"plan = function() return { { column = 'pods_same.app@' } } end", "no column",
	 false},
	{"plan = function() return { { column = 'pods_same.app@a@b' } } end", "no column",
	 false},
	{"plan = function() return { { column = 'pods_same.app' } } end", "curve: wanted",
	 false},
	{"plan = function() local t = {} for i = 1, 5 do t[i] = { column = "
	 "'pods_same.app', curve = { { 0, 1 } } } end return t end",
	 "at most 4 terms of pods_same", false},
	{"plan = function() return { { column = 'free.cpu' } } end", "curve: wanted",
	 false},
	{"plan = function() return { { column = 'free_share.cpu', colour = 1 } } end",
	 "no field 'colour'", false},
	{"plan = function() return { { column = 'free_share.cpu', weight = 0 } } end",
	 "above 0", false},
	{"plan = function() return { { column = 'free_share.cpu', weight = 0/0 } } end",
	 "above 0", false},
	{"plan = function() return { { column = 'free_share.cpu', missing = 101 } } end",
	 "missing: points", false},
	{"plan = function() return { { column = 'free_share.cpu', is = 'x' } } end",
	 "is: of name", false},
	/* C would read what is before the NUL alone. */
	{"plan = function() return { { column = 'name', is = '\\0x' } } end",
	 "is: a text of at most 63 bytes, without NUL", false},
	{"plan = function() return { { column = 'name', is = { 'a', 'b\\0c' } } } end",
	 "is: texts of at most 63 bytes, without NUL", false},
	{"plan = function() return { { column = 'name\\0x', is = 'x' } } end",
	 "column: a name", false},
	{"plan = function() return { { column = 'name', ['is\\0'] = 'x' } } end",
	 "no field '?'", false},
	{"plan = function() return { { column = 'free_share.cpu', curve = {} } } end",
	 "1 to 16 pairs", false},
	{"plan = function() return { { column = 'free_share.cpu', curve = { { 1, 1 }, { 1, 2 } } "
	 "} } end",
	 "x grows", false},
	{"plan = function() return { { column = 'free_share.cpu', curve = { { 0, 1 }, { 1, -1 } } "
	 "} } end",
	 "points from 0", false},
	{"plan = function() return { { column = 'free_share.cpu', curve = { { 0/0, 1 } } } } end",
	 "points from 0", false},
	{"plan = function() return { { column = 'free_share.cpu', curve = { { math.huge, 1 } } } "
	 "} end",
	 "points from 0", false},
	{"plan = function() return { weight = 101 } end", "0 to 100", false},
	{"plan = function() return { weight = -1 } end", "0 to 100", false},
	{"plan = function() local t = {} for i = 1, 33 do t[i] = { column = 'free_share.cpu' } end "
	 "return t end",
	 "at most 32", false},
	{"plan = function() return setmetatable({}, { __index = function() while true do end end "
	 "}) end",
	 NULL, false},
	{"plan = function(ctx, pod) return pod.name end", "pod.name is not declared",
	 false},
	{"plan = function(ctx, pod) return pod.prio end",
	 "there is no pod.prio; did you mean 'priority'?", false},
	{"plan = function(ctx) ctx.memo.x = ('x'):rep(60000) ctx.memo.y = ctx.memo.x .. 'y' "
	 "return nil end",
	 "ctx.memo", false},
	{"plan = function() while true do end end", "", true},
	{"plan = function() while true do pcall(error) end end", "", true},
	{"plan = function() local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t end end",
	 "", true},
};

static void test_bad_ones(void **state)
{
	for (size_t i = 0; i < NEAP_ARRAY_LEN(bad); i++) {
		struct place_rig *rig = place_new();
		struct neap_policy_stats *stats;

		(void)state;
		place_add_nodes(rig, 4);
		place_put(rig, "score", "bad", 0, bad[i].body);
		place_put(rig, "score", "odd", 1, ODD(50));
		stats = &place_slot(rig, "score", "bad")->stats;
		/* The others act as if it was not there, from the first decision on. */
		for (int n = 0; n < 5; n++)
			assert_string_equal(place_decide(rig, ""), "b");
		if (!bad[i].error) {
			assert_int_equal(stats->faults, 0);
			place_free(rig);
			continue;
		}
		if (!strstr(stats->last_error, bad[i].error))
			fail_msg("%s: %s", bad[i].body, stats->last_error);
		/* And after three faults nobody asks it any more. A memory that is full
		 * may be told both ways. */
		assert_true(stats->is_failed);
		assert_int_equal(rig->failed, 1);
		assert_true(stats->calls <= 3);
		if (bad[i].is_killed)
			assert_true(stats->spent > 0);
		assert_false(place_slot(rig, "score", "odd")->stats.is_failed);
		place_free(rig);
	}
}

static void test_refused_at_load(void **state)
{
	static const struct {
		const char *text, *error;
	} rows[] = {
		{"return { api = 1, kind = 'score', name = 'x' }", "needs this function"},
		{"return { api = 1, kind = 'score', name = 'x', plan = function() end, "
		 "needs = { 'node.free.cpu' } }",
		 "a term of the result names columns"},
		{"return { api = 1, kind = 'score', name = 'x', plan = function() end, "
		 "needs = { 'pod.magic' } }",
		 "a pod has no 'magic'"},
		{"return { api = 1, kind = 'score', name = 'x', plan = function() end, "
		 "needs = { 'pod.name', 'pod.name?' } }",
		 "is there twice"},
		{"return { api = 1, kind = 'score', name = 'x', plan = function() end, "
		 "where = { nodeSelector = { a = 'b' } } }",
		 "of kinds qos and filter only"},
		{"return { api = 1, kind = 'score', name = 'x', plan = function() end, "
		 "triggers = {} }",
		 "of kind qos only"},
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

static void ignore_row(void *arg, const char *name, const struct neap_error *row_err)
{
	(void)arg;
	(void)name;
	(void)row_err;
}

/* What an example may say of the pods of a node. */
static void test_pods_of_examples(void **state)
{
	static const struct {
		const char *pods;
		int failed;
	} rows[] = {
		{"0", 0},
		{"256", 0},
		{"{}", 0},
		{"{ { a = 'b' } }", 0},
		{"257", 1},
		{"-1", 1},
		{"-4294967296", 1},
		{"4294967296", 1},
		{"1.5", 1},
		{"'x'", 1},
		{"{ { a = 1 } }", 1},
	};
	char text[512];

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_policy *policy = NULL;
		struct neap_error err = {0};

		(void)snprintf(
			text, sizeof(text),
			"return { api = 1, kind = 'score', name = 'x', plan = "
			"function() return { { column = 'pods', curve = { { 0, 7 } "
			"} } } end, examples = { { name = 'e', pod = {}, nodes = { "
			"a = { pods = %s } }, want = { a = 7 } } } }",
			rows[i].pods);
		if (neap_policy_load(text, strlen(text), "p.lua", &policy, &err) < 0)
			fail_msg("%s: %s", rows[i].pods, err.msg);
		if (neap_policy_run_examples(policy, ignore_row, NULL, &err) !=
		    rows[i].failed)
			fail_msg("%s", rows[i].pods);
		neap_policy_free(policy);
	}
}

/* --- curves, once more and slowly --- */

static double slow_curve(const struct neap_curve_term *term, double x)
{
	size_t last = term->at_count - 1;

	if (isnan(x))
		return term->missing;
	if (x <= term->at[0].x)
		return term->at[0].points;
	for (size_t i = 1; i <= last; i++) {
		double part;

		if (x > term->at[i].x)
			continue;
		part = (x - term->at[i - 1].x) / (term->at[i].x - term->at[i - 1].x);
		return term->at[i - 1].points * (1 - part) + term->at[i].points * part;
	}
	return term->at[last].points;
}

static double slow_column(struct neap_cluster *cluster, const struct neap_pod *pod,
			  const struct neap_curve_term *term, uint32_t row)
{
	const struct neap_columns *columns = neap_cluster_settle(cluster);
	double all = (double)columns->allocatable[NEAP_RESOURCE_CPU][row];
	double used = (double)columns->used[NEAP_RESOURCE_CPU][row];
	const char *odd = neap_object_label(columns->nodes[row]->object, "odd");

	switch (term->column.family) {
	case NEAP_COLUMN_LABELS:
		return odd ? strcmp(odd, "yes") == 0 : NAN;
	case NEAP_COLUMN_PODS:
		return (double)columns->nodes[row]->pod_count;
	case NEAP_COLUMN_FREE:
		return all - used;
	case NEAP_COLUMN_REQUESTED_SHARE:
		return (used + (double)pod->requests[0].amount) / all;
	default:
		return 1 - (used + (double)pod->requests[0].amount) / all;
	}
}

static uint32_t draw(uint32_t *seed, uint32_t below)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 8) % below;
}

static void random_term(struct neap_curve_term *term, uint32_t *seed)
{
	static const char *const names[] = {"labels.odd", "pods", "free.cpu",
					    "requested_share.cpu", "free_share.cpu"};
	static const double scales[] = {1, 30, 10000, 1, 1};
	uint32_t which = draw(seed, 5);
	struct neap_error err;
	double x = scales[which] * (double)draw(seed, 20) / 20;

	memset(term, 0, sizeof(*term));
	assert_int_equal(neap_column_parse(names[which], &term->column, &err), 0);
	if (which == 0) {
		term->value_count = 1;
		(void)neap_strcopy(term->values[0], NEAP_CURVE_VALUE, "yes");
	}
	term->weight = (1 + draw(seed, 100)) / 7.0;
	term->missing = draw(seed, 101);
	term->at_count = 1 + draw(seed, NEAP_CURVE_POINTS_MAX);
	for (size_t i = 0; i < term->at_count; i++) {
		term->at[i].x = x;
		term->at[i].points = draw(seed, 101);
		x += scales[which] * (1 + (double)draw(seed, 20)) / 40;
	}
}

static void test_curves_random(void **state)
{
	enum { NODES = 700, ROUNDS = 60 };
	struct neap_cluster *cluster = cluster_new();
	struct neap_curve_score *score = neap_alloc(sizeof(*score));
	struct neap_pod *pod;
	uint32_t seed = 20261124, rows[NODES], near = 0;
	int64_t points[NODES];

	(void)state;
	assert_non_null(score);
	for (int i = 0; i < NODES; i++) {
		char name[32], spec[256], meta[64];

		(void)snprintf(name, sizeof(name), "n%d", i);
		(void)snprintf(meta, sizeof(meta), "'labels':{%s}",
			       i % 3 ? i % 3 == 1 ? "'odd':'yes'" : "'odd':'no'" : "");
		(void)cluster_set_node(cluster, name, meta, "{}",
				       "'cpu':'10','pods':'110'");
		(void)snprintf(spec, sizeof(spec),
			       "{'nodeName':'%s','containers':[{'resources':{'requests':"
			       "{'cpu':'%um'}}}]}",
			       name, draw(&seed, 11000));
		(void)cluster_set_pod(cluster, name, "", spec, "{}");
	}
	pod = cluster_pod(neap_cluster_resources(cluster), "one", "",
			  "{'containers':[{'resources':{'requests':{'cpu':'700m'}}}]}",
			  "{}");
	assert_int_equal(pod->requests[0].resource, NEAP_RESOURCE_CPU);
	(void)neap_cluster_settle(cluster);
	for (uint32_t i = 0; i < NODES; i++)
		rows[i] = (i * 11) % NODES;
	for (int round = 0; round < ROUNDS; round++) {
		score->count = 1 + draw(&seed, 5);
		for (size_t k = 0; k < score->count; k++)
			random_term(&score->terms[k], &seed);
		neap_curve_score(score, cluster, pod, 0, rows, NODES, points);
		for (int i = 0; i < NODES; i++) {
			double sum = 0, weights = 0, want;

			for (size_t k = 0; k < score->count; k++) {
				const struct neap_curve_term *term = &score->terms[k];

				sum += term->weight *
				       slow_curve(term, slow_column(cluster, pod, term,
								    rows[i]));
				weights += term->weight;
			}
			want = sum / weights;
			assert_in_range(points[i], 0, 100);
			/* At a half both neighbours are right. */
			if (fabs(want - floor(want) - 0.5) < 1e-6) {
				near++;
				continue;
			}
			assert_int_equal(points[i], (int64_t)floor(want + 0.5));
		}
	}
	assert_true(near < NODES * ROUNDS / 20);
	free(score);
	(void)neap_pod_unref(pod);
	neap_cluster_free(cluster);
}

/* Numbers in labels, and what is none. */
static void test_numbers_of_labels(void **state)
{
	static const struct {
		const char *value;
		double want;
	} rows[] = {{"12", 12},    {"0.25", 0.25}, {"-3.5", -3.5}, {"", NAN},
		    {"1e3", NAN},  {"0x10", NAN},  {".5", 0.5},    {"5.", 5},
		    {"inf", NAN},  {"nan", NAN},   {"-", NAN},     {".", NAN},
		    {"1.2.3", NAN}};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_cluster *cluster = cluster_new();
		struct neap_column column;
		struct neap_column_view view;
		struct neap_error err;
		struct neap_pod *pod;
		char meta[64];
		double got;

		(void)snprintf(meta, sizeof(meta), "'labels':{'n':'%s'}", rows[i].value);
		(void)cluster_set_node(cluster, "a", meta, "{}", "'cpu':'1','pods':'9'");
		pod = cluster_pod(neap_cluster_resources(cluster), "one", "",
				  "{'containers':[]}", "{}");
		assert_int_equal(neap_column_parse("labels.n", &column, &err), 0);
		neap_column_open(&view, &column, cluster, pod, 0);
		got = neap_column_number(&view, 0);
		if (isnan(rows[i].want) ? !isnan(got) : got != rows[i].want)
			fail_msg("'%s': %g", rows[i].value, got);
		(void)neap_pod_unref(pod);
		neap_cluster_free(cluster);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(points_decide),
		cmocka_unit_test(test_shadow),
		TEST(same_again),
		TEST(pod_is_seen),
		cmocka_unit_test(test_bad_ones),
		cmocka_unit_test(test_refused_at_load),
		cmocka_unit_test(test_pods_of_examples),
		cmocka_unit_test(test_curves_random),
		cmocka_unit_test(test_numbers_of_labels),
	};

	patience_with_scripts();
	return cmocka_run_group_tests_name("score policies", tests, NULL, NULL);
}
