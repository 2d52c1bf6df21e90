/* SPDX-License-Identifier: Apache-2.0
 *
 * Which decisions are recorded: those that choose a node. And how much of one: it is made
 * on the loop. */
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
#include "engine/json/json.h"
#include "lua/replay/decisions.h"
#include "t/lib/place_rig.h"

#define NOW INT64_C(1700000000000000)

static size_t frames_of(const struct place_rig *rig)
{
	return neap_decisions_count(rig->decisions);
}

/* --- who asks --- */

static void test_who_asks(void **state)
{
	static const uint32_t rows[] = {0, 1, 2};
	struct place_rig *rig = place_new();
	struct neap_verdict verdict;
	struct neap_choice choice;
	struct neap_report report;
	struct neap_error err;
	struct neap_pod *pod;

	(void)state;
	place_add_nodes(rig, 3);
	place_put(rig, "filter", "p", 0,
		  "needs = {}, allow = function() return true end");
	(void)cluster_set_pod(rig->cluster, "p", "", "{'containers':[]}", "{}");
	pod = neap_cluster_find_pod(rig->cluster, "default", "p");
	neap_decide_set_now(rig->decide, NOW);
	/* explain, and an extender that asks for nobody's choice. */
	assert_int_equal(neap_decide_report(rig->decide, pod, &report, &err), 0);
	neap_report_done(&report);
	assert_int_equal(neap_decide_rows(rig->decide, pod, rows, 3, &verdict, &err), 0);
	assert_int_equal(neap_decide_scores(rig->decide, pod, rows, 3, &verdict, &err),
			 0);
	assert_int_equal(frames_of(rig), 0);
	/* A kube-scheduler's. */
	neap_decide_set_choice(rig->decide, true);
	assert_int_equal(neap_decide_rows(rig->decide, pod, rows, 3, &verdict, &err), 0);
	neap_decide_set_choice(rig->decide, false);
	assert_int_equal(frames_of(rig), 1);
	/* neap's own, which is over when it is made. */
	assert_int_equal(neap_decide_pod(rig->decide, pod, &choice, &err), 1);
	assert_int_equal(frames_of(rig), 2);
	assert_int_equal(neap_decide_report(rig->decide, pod, &report, &err), 0);
	neap_report_done(&report);
	assert_int_equal(frames_of(rig), 2);
	place_free(rig);
}

/* --- how much --- */

static int64_t last_of(const struct place_rig *rig, const char *name)
{
	neap_auto_json json_t *list = neap_decisions_list(rig->decisions);
	size_t count = json_array_size(list);

	assert_true(count > 0);
	return json_integer_value(json_object_get(json_array_get(list, count - 1), name));
}

/* Decides about that pod, or a small one; *ret_nodes: how many the frame has, if there is
 * one. Returns whether there is. */
static bool record(struct place_rig *rig, const char *meta, size_t *ret_nodes)
{
	static int64_t now_usec = NOW;
	size_t frames = frames_of(rig);
	struct neap_choice choice;
	struct neap_error err;
	struct neap_pod *pod = cluster_pod(neap_cluster_resources(rig->cluster), "new",
					   meta, "{'containers':[]}", "{}");
	neap_auto_json json_t *frame = NULL;

	now_usec += INT64_C(60000000);
	neap_decide_set_now(rig->decide, now_usec);
	neap_purse_fill(&rig->purse);
	assert_int_equal(neap_decide_pod(rig->decide, pod, &choice, &err), 1);
	(void)neap_pod_unref(pod);
	if (frames_of(rig) == frames)
		return false;
	assert_true(last_of(rig, "bytes") <= (int64_t)NEAP_DECISION_BYTES);
	frame = json_loads(neap_decisions_text(rig->decisions, last_of(rig, "number")), 0,
			   NULL);
	assert_non_null(frame);
	assert_int_equal(json_integer_value(json_object_get(frame, "cut")),
			 last_of(rig, "cut"));
	*ret_nodes = json_object_size(json_object_get(frame, "nodes"));
	return true;
}

static void add_nodes(struct place_rig *rig, int count, int labels)
{
	static char meta[8192];

	for (int i = 0; i < count; i++) {
		char name[16];
		size_t len;

		(void)snprintf(name, sizeof(name), "n%d", i);
		len = (size_t)snprintf(meta, sizeof(meta), "'labels':{'n':'%d'", i);
		for (int k = 0; k < labels; k++)
			len += (size_t)snprintf(meta + len, sizeof(meta) - len,
						",'label-%d':'%050d'", k, k);
		(void)snprintf(meta + len, sizeof(meta) - len, "}");
		(void)cluster_set_node(rig->cluster, name, meta, "{}",
				       "'cpu':'10','pods':'5000'");
	}
}

/* Nodes have room for as many as there is; the others are cut. */
static void test_long_nodes(void **state)
{
	struct place_rig *rig = place_new();
	size_t nodes = 0;

	(void)state;
	add_nodes(rig, 16, 10);
	assert_true(record(rig, "", &nodes));
	assert_int_equal(nodes, 16);
	assert_int_equal(last_of(rig, "cut"), 0);
	add_nodes(rig, 16, 90); /* some 5 KiB each */
	assert_true(record(rig, "", &nodes));
	assert_in_range(nodes, 4, 12);
	assert_int_equal(last_of(rig, "cut"), 16 - nodes);
	assert_int_equal(neap_decisions_left_out(rig->decisions), 0);
	place_free(rig);
}

/* All nodes have a line for each resource that there is. */
static void test_many_resources(void **state)
{
	struct place_rig *rig = place_new();
	size_t nodes = 0;

	(void)state;
	add_nodes(rig, 3, 1);
	assert_true(record(rig, "", &nodes));
	for (int i = 0; i < 8; i++) {
		char allocatable[8000], name[16];
		size_t len = (size_t)snprintf(allocatable, sizeof(allocatable),
					      "'pods':'100'");

		for (int k = 0; k < 20; k++)
			len += (size_t)snprintf(allocatable + len,
						sizeof(allocatable) - len,
						",'example.com/%d-%0150d':'1'", i, k);
		(void)snprintf(name, sizeof(name), "odd%d", i);
		(void)cluster_set_node(rig->cluster, name, "", "{}", allocatable);
	}
	/* Then there is nothing to replay. */
	assert_false(record(rig, "", &nodes));
	assert_int_equal(neap_decisions_left_out(rig->decisions), 1);
	place_free(rig);
}

/* To count the pod's equals takes time. */
static void test_many_pods(void **state)
{
	static const char labels[] =
		"'labels':{'a':'1','b':'1','c':'1','d':'1','e':'1','f':'1','g':'1',"
		"'h':'1'}";
	struct place_rig *rig = place_new();
	size_t nodes = 0;

	(void)state;
	add_nodes(rig, 3, 1);
	for (int i = 0; i < 1200; i++) {
		char name[16], meta[64];

		(void)snprintf(name, sizeof(name), "p%d", i);
		(void)snprintf(meta, sizeof(meta), "'labels':{'a':'%d'}", i);
		(void)cluster_set_pod(rig->cluster, name, meta,
				      "{'nodeName':'n1','containers':[]}", "{}");
	}
	assert_true(record(rig, labels, &nodes));
	assert_int_equal(nodes, 2);
	assert_int_equal(last_of(rig, "cut"), 1);
	assert_true(record(rig, "'labels':{'a':'1'}", &nodes));
	assert_int_equal(nodes, 3);
	place_free(rig);
}

static struct neap_pod *long_pod(struct place_rig *rig, size_t bytes)
{
	static char note[NEAP_DECISION_OBJECT_BYTES + 1];
	struct neap_error err = {0};
	struct neap_object *object = NULL;
	struct neap_pod *pod = NULL;

	memset(note, 'x', bytes);
	if (neap_object_new_take(json_pack("{s:{s:s,s:s,s:{s:s}},s:{s:[]}}", "metadata",
					   "name", "pod", "namespace", "default",
					   "annotations", "note", note, "spec",
					   "containers"),
				 NULL, 0, &object, &err) < 0 ||
	    neap_pod_new(object, neap_cluster_resources(rig->cluster), &pod, &err) < 0)
		fail_msg("%s", err.msg);
	(void)neap_object_unref(object);
	return pod;
}

/* To read a long pod again would hold up the loop. */
static void test_long_pod(void **state)
{
	struct place_rig *rig = place_new();
	struct neap_decisions *decisions = neap_decisions_new(0, 0);

	(void)state;
	add_nodes(rig, 3, 1);
	(void)neap_cluster_settle(rig->cluster);
	for (size_t i = 1; i <= 2; i++) {
		struct neap_pod *pod = long_pod(rig, NEAP_DECISION_OBJECT_BYTES / 2 * i);

		assert_int_equal(neap_decisions_begin(decisions, rig->cluster, pod, NOW),
				 i == 1);
		neap_decisions_end(decisions);
		assert_int_equal(neap_decisions_left_out(decisions), i - 1);
		(void)neap_pod_unref(pod);
	}
	neap_decisions_free(decisions);
	place_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_asks),       cmocka_unit_test(test_long_nodes),
		cmocka_unit_test(test_many_resources), cmocka_unit_test(test_many_pods),
		cmocka_unit_test(test_long_pod),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
