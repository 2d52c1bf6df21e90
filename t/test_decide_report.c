/* SPDX-License-Identifier: Apache-2.0
 *
 * What is told of a decision: every reason of every node, the points of the others; and
 * that telling changes nothing. */
#include "engine/decide/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "t/lib/cluster_rig.h"

struct rig {
	struct neap_cluster *cluster;
	struct neap_decide *decide;
};

static void rig_open(struct rig *rig)
{
	struct neap_decide_config config = {0};
	struct neap_error err = {0};

	rig->cluster = cluster_new();
	config.cluster = rig->cluster;
	if (neap_decide_new(&config, &rig->decide, &err) < 0)
		fail_msg("%s", err.msg);
}

static void rig_close(struct rig *rig)
{
	neap_decide_free(rig->decide);
	neap_cluster_free(rig->cluster);
}

static struct neap_pod *pod_of(struct rig *rig, const char *name)
{
	struct neap_pod *pod = neap_cluster_find_pod(rig->cluster, "default", name);

	assert_non_null(pod);
	return pod;
}

static struct neap_pod *add_pod(struct rig *rig, const char *name, const char *node,
				int cpus)
{
	char spec[256];

	(void)snprintf(spec, sizeof(spec),
		       "{%s%s%s'containers':[{'resources':{'requests':{'cpu':'%d'}}}]}",
		       *node ? "'nodeName':'" : "", node, *node ? "'," : "", cpus);
	(void)cluster_set_pod(rig->cluster, name, "", spec, "{}");
	return pod_of(rig, name);
}

/* "a: TaintToleration node(s) had ..., NodeResourcesFit Insufficient cpu" */
static const char *reasons(const struct rig *rig, const struct neap_report *report,
			   size_t index)
{
	static char text[1024];
	const struct neap_report_node *node = &report->nodes[index];
	const struct neap_columns *columns = neap_cluster_settle(rig->cluster);
	int len = snprintf(text, sizeof(text), "%s:", columns->nodes[node->row]->name);
	char buf[256];

	for (size_t i = node->reason; i < node->reason + node->reason_count; i++)
		len += snprintf(text + len, sizeof(text) - (size_t)len, "%s %s %s",
				i > node->reason ? "," : "", report->reasons[i].filter,
				neap_decide_reason(rig->decide, report->reasons[i].code,
						   buf, sizeof(buf)));
	return text;
}

static void test_every_reason(void **state)
{
	struct neap_report report;
	struct neap_error err = {0};
	struct rig rig;

	(void)state;
	rig_open(&rig);
	(void)cluster_set_node(
		rig.cluster, "a", "",
		"{'taints':[{'key':'k','value':'v','effect':'NoSchedule'}]}",
		"'cpu':'1','pods':'0'");
	(void)cluster_set_node(rig.cluster, "b", "", "{}", "'cpu':'8','pods':'9'");
	(void)cluster_set_node(rig.cluster, "c", "", "{'unschedulable':true}",
			       "'cpu':'8','pods':'9'");
	(void)cluster_set_node(rig.cluster, "d", "", "{}", "'cpu':'16','pods':'9'");
	(void)add_pod(&rig, "p", "", 2);
	if (neap_decide_report(rig.decide, pod_of(&rig, "p"), &report, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(report.node_count, 4);
	assert_int_equal(report.fitting, 2);
	assert_string_equal(reasons(&rig, &report, 0), "d:");
	assert_string_equal(reasons(&rig, &report, 1), "b:");
	assert_string_equal(reasons(&rig, &report, 2),
			    "a: TaintToleration node(s) had untolerated taint {k: v}, "
			    "NodeResourcesFit Insufficient cpu, NodeResourcesFit Too "
			    "many pods");
	assert_string_equal(reasons(&rig, &report, 3),
			    "c: NodeUnschedulable node(s) were unschedulable");
	neap_report_done(&report);
	rig_close(&rig);
}

/* What stops the pod everywhere hides nothing else. */
static void test_claim_and_more(void **state)
{
	struct neap_report report;
	struct neap_error err = {0};
	struct rig rig;

	(void)state;
	rig_open(&rig);
	(void)cluster_set_node(rig.cluster, "a", "", "{}", "'cpu':'1','pods':'9'");
	(void)cluster_set_pod(
		rig.cluster, "p", "",
		"{'nodeSelector':{'disk':'ssd'},'containers':[{}],'volumes':"
		"[{'persistentVolumeClaim':{'claimName':'none'}}]}",
		"{}");
	if (neap_decide_report(rig.decide, pod_of(&rig, "p"), &report, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(report.fitting, 0);
	assert_string_equal(reasons(&rig, &report, 0),
			    "a: VolumeBinding persistentvolumeclaim \"none\" not found, "
			    "NodeAffinity node(s) didn't match Pod's node "
			    "affinity/selector");
	neap_report_done(&report);
	rig_close(&rig);
}

/* The sum is what the decision says, and of each node the sum of its parts. */
static void test_points(void **state)
{
	struct neap_choice choice;
	struct neap_report report;
	struct neap_error err = {0};
	struct rig rig;
	char name[16], room[64];

	(void)state;
	rig_open(&rig);
	for (int i = 0; i < 20; i++) {
		(void)snprintf(name, sizeof(name), "n%d", i);
		(void)snprintf(room, sizeof(room), "'cpu':'%d','pods':'9'",
			       4 + i * 7 % 20);
		(void)cluster_set_node(rig.cluster, name, "", "{}", room);
	}
	(void)add_pod(&rig, "p", "", 3);
	assert_int_equal(neap_decide_report(rig.decide, pod_of(&rig, "p"), &report, &err),
			 0);
	assert_int_equal(report.fitting, 20);
	assert_int_equal(neap_decide_pod(rig.decide, pod_of(&rig, "p"), &choice, &err),
			 1);
	assert_int_equal(report.nodes[0].row, choice.row);
	assert_int_equal(report.nodes[0].score, choice.score);
	for (size_t i = 0; i < report.node_count; i++) {
		int64_t sum = 0;

		if (i)
			assert_true(report.nodes[i].score <= report.nodes[i - 1].score);
		for (int n = 0; n < NEAP_SCORE_COUNT; n++)
			if (report.scores[n].points)
				sum += report.scores[n].weight *
				       report.scores[n].points[report.nodes[i].at];
		assert_int_equal(sum, report.nodes[i].score);
	}
	assert_string_equal(report.scores[NEAP_SCORE_LEAST_ALLOCATED].name,
			    "LeastAllocated");
	assert_non_null(report.scores[NEAP_SCORE_LEAST_ALLOCATED].raw);
	assert_null(report.scores[NEAP_SCORE_MOST_ALLOCATED].raw); /* weight 0 */
	assert_null(report.scores[NEAP_SCORE_NODE_AFFINITY].raw);  /* nothing to say */
	neap_report_done(&report);
	rig_close(&rig);
}

/* As if it was not there: it fits where it is, however full that is with it. */
static void test_placed(void **state)
{
	struct neap_report report;
	struct neap_error err = {0};
	struct neap_pod *pod;
	struct rig rig;
	const struct neap_columns *columns;

	(void)state;
	rig_open(&rig);
	(void)cluster_set_node(rig.cluster, "a", "", "{}", "'cpu':'4','pods':'9'");
	(void)cluster_set_node(rig.cluster, "b", "", "{}", "'cpu':'2','pods':'9'");
	pod = add_pod(&rig, "p", "a", 4);
	(void)add_pod(&rig, "q", "a", 0);
	assert_int_equal(neap_decide_report(rig.decide, pod, &report, &err), 0);
	assert_int_equal(report.fitting, 1);
	assert_string_equal(reasons(&rig, &report, 0), "a:");
	assert_int_equal(report.nodes[0].pods, 1);
	assert_string_equal(reasons(&rig, &report, 1),
			    "b: NodeResourcesFit Insufficient cpu");
	neap_report_done(&report);
	columns = neap_cluster_settle(rig.cluster);
	assert_int_equal(columns->used[NEAP_RESOURCE_CPU][pod->seat.node->row], 4000);
	assert_int_equal(pod->seat.node->pod_count, 2);
	/* One that is assumed stays so. */
	pod = add_pod(&rig, "r", "", 2);
	assert_int_equal(
		neap_cluster_assume(rig.cluster, pod,
				    neap_cluster_find_node(rig.cluster, "b")->row, &err),
		0);
	assert_int_equal(neap_decide_report(rig.decide, pod, &report, &err), 0);
	neap_report_done(&report);
	assert_true(pod->seat.is_assumed);
	assert_string_equal(pod->seat.node->name, "b");
	neap_cluster_forget(rig.cluster, pod);
	assert_null(pod->seat.node);
	rig_close(&rig);
}

/* The nodes of 40 decisions on more nodes than one looks at, with reports in between or
 * without. */
static void decide_many(bool is_told, uint32_t *rows)
{
	struct neap_choice choice;
	struct neap_report report;
	struct neap_error err = {0};
	struct rig rig;
	char name[16];

	rig_open(&rig);
	for (int i = 0; i < 400; i++) {
		(void)snprintf(name, sizeof(name), "n%d", i);
		(void)cluster_set_node(rig.cluster, name, "", "{}",
				       "'cpu':'4','pods':'9'");
	}
	for (int i = 0; i < 40; i++) {
		struct neap_pod *pod;

		(void)snprintf(name, sizeof(name), "p%d", i);
		pod = add_pod(&rig, name, "", 1 + i % 3);
		if (is_told) {
			assert_int_equal(
				neap_decide_report(rig.decide, pod, &report, &err), 0);
			assert_int_equal(report.node_count, 400);
			neap_report_done(&report);
		}
		assert_int_equal(neap_decide_pod(rig.decide, pod, &choice, &err), 1);
		rows[i] = choice.row;
		assert_int_equal(neap_cluster_assume(rig.cluster, pod, choice.row, &err),
				 0);
		if (is_told) {
			assert_int_equal(
				neap_decide_report(rig.decide, pod, &report, &err), 0);
			neap_report_done(&report);
		}
	}
	rig_close(&rig);
}

static void test_disturbs_nothing(void **state)
{
	uint32_t with[40], without[40];

	(void)state;
	decide_many(true, with);
	decide_many(false, without);
	assert_memory_equal(with, without, sizeof(with));
}

static void test_the_best(void **state)
{
	struct neap_choice choice;
	struct neap_report report;
	struct neap_error err = {0};
	uint32_t rows[9];
	struct rig rig;
	char name[16], room[64];

	(void)state;
	rig_open(&rig);
	for (int i = 0; i < 9; i++) {
		(void)snprintf(name, sizeof(name), "n%d", i);
		(void)snprintf(room, sizeof(room), "'cpu':'%d','pods':'9'",
			       3 + i * 5 % 9);
		(void)cluster_set_node(rig.cluster, name, "", "{}", room);
	}
	(void)add_pod(&rig, "p", "", 3);
	assert_int_equal(neap_decide_pod(rig.decide, pod_of(&rig, "p"), &choice, &err),
			 1);
	assert_int_equal(neap_decide_fitting(rig.decide), 9);
	neap_decide_best(rig.decide, rows);
	assert_int_equal(rows[0], choice.row);
	assert_int_equal(neap_decide_report(rig.decide, pod_of(&rig, "p"), &report, &err),
			 0);
	for (int i = 0; i < 9; i++)
		assert_int_equal(rows[i], report.nodes[i].row);
	neap_report_done(&report);
	/* One that is the only one. */
	(void)add_pod(&rig, "q", "", 11);
	assert_int_equal(neap_decide_pod(rig.decide, pod_of(&rig, "q"), &choice, &err),
			 1);
	assert_int_equal(neap_decide_fitting(rig.decide), 1);
	neap_decide_best(rig.decide, rows);
	assert_int_equal(rows[0], choice.row);
	(void)add_pod(&rig, "r", "", 12);
	assert_int_equal(neap_decide_pod(rig.decide, pod_of(&rig, "r"), &choice, &err),
			 0);
	assert_int_equal(neap_decide_fitting(rig.decide), 0);
	neap_decide_best(rig.decide, rows);
	rig_close(&rig);
}

static void test_trouble(void **state)
{
	struct neap_report report;
	struct neap_error err = {0};
	struct rig rig;

	(void)state;
	rig_open(&rig);
	(void)cluster_set_node(rig.cluster, "a", "", "{}", "'cpu':'4','pods':'9'");
	(void)cluster_set_pod(rig.cluster, "p", "",
			      "{'containers':[{'resources':{'requests':{'cpu':'x'}}}]}",
			      "{}");
	assert_int_equal(neap_decide_report(rig.decide, pod_of(&rig, "p"), &report, &err),
			 -NEAP_EINVAL);
	assert_true(*err.msg != '\0');
	neap_report_done(&report);
	rig_close(&rig);
}

/* Whatever allocation fails: an error, nothing lost, and the pod is where it was. */
static void test_short_of_memory(void **state)
{
	struct neap_report report;
	struct neap_error err = {0};
	struct neap_pod *pod;
	struct rig rig;
	char name[16];
	int ret = -1;

	(void)state;
	for (uint64_t n = 1; n < 1000 && ret < 0; n++) {
		rig_open(&rig);
		for (int i = 0; i < 30; i++) {
			(void)snprintf(name, sizeof(name), "n%d", i);
			(void)cluster_set_node(rig.cluster, name, "", "{}",
					       i % 2 ? "'cpu':'4','pods':'9'"
						     : "'cpu':'1','pods':'0'");
		}
		pod = add_pod(&rig, "p", "n1", 2);
		(void)neap_cluster_settle(rig.cluster);
		neap_mem_fail_at(n);
		ret = neap_decide_report(rig.decide, pod, &report, &err);
		neap_mem_fail_at(0);
		assert_true(ret == 0 || ret == -NEAP_ENOMEM);
		assert_string_equal(pod->seat.node->name, "n1");
		neap_report_done(&report);
		rig_close(&rig);
		assert_true(n > 1 || ret < 0);
	}
	assert_int_equal(ret, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_reason),
		cmocka_unit_test(test_claim_and_more),
		cmocka_unit_test(test_points),
		cmocka_unit_test(test_placed),
		cmocka_unit_test(test_disturbs_nothing),
		cmocka_unit_test(test_the_best),
		cmocka_unit_test(test_trouble),
		cmocka_unit_test(test_short_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
