/* SPDX-License-Identifier: Apache-2.0
 *
 * Decisions on small clusters: where a pod goes, or what is said when there is no
 * place. */
#include "engine/decide/decide.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "t/lib/cluster_rig.h"

#define ITEMS 5

struct node {
	const char *name, *meta, *spec, *allocatable;
};

struct pod {
	const char *name, *meta, *spec;
};

struct row {
	const char *name;
	struct node nodes[ITEMS];
	struct pod pods[ITEMS];
	struct pod pod;
	const char *want; /* a node; or the message */
};

#define CPU(n)   "'containers':[{'resources':{'requests':{'cpu':'" n "'}}}]"
#define ON(node) "'nodeName':'" node "'"
#define ZONE(z)  "'labels':{'zone':'" z "'}"
#define APP(a)   "'labels':{'app':'" a "'}"
#define PLAIN(name)                                                                      \
	{                                                                                \
		name, "", "{}", "'cpu':'4','pods':'9'"                                   \
	}
#define IN(name, z)                                                                      \
	{                                                                                \
		name, ZONE(z), "{}", "'cpu':'4','pods':'9'"                              \
	}
#define TAINT(k, v, e) "{'taints':[{'key':'" k "','value':'" v "','effect':'" e "'}]}"
#define TERM(app)                                                                        \
	"{'labelSelector':{'matchLabels':{'app':'" app "'}},'topologyKey':'zone'}"
#define REQUIRED(kind, app)                                                              \
	"'affinity':{'" kind                                                             \
	"':{'requiredDuringSchedulingIgnoredDuringExecution':[" TERM(app) "]}}"
#define PREFERRED(kind, app)                                                             \
	"'affinity':{'" kind "':{'preferredDuringSchedulingIgnoredDuringExecution':[{"   \
	"'weight':50,'podAffinityTerm':" TERM(app) "}]}}"
#define SPREAD(skew, when)                                                               \
	"'topologySpreadConstraints':[{'maxSkew':" skew ",'topologyKey':'zone',"         \
	"'whenUnsatisfiable':'" when "','labelSelector':{'matchLabels':{'app':'w'}}}]"

#define SOFT(app)                                                                        \
	"{'maxSkew':1,'topologyKey':'zone','whenUnsatisfiable':'ScheduleAnyway',"        \
	"'labelSelector':{'matchLabels':{'app':'" app "'}}}"
#define HASH(h) "'labels':{'app':'w','hash':'" h "'}"
#define AWAY(keys)                                                                        \
	"'affinity':{'podAntiAffinity':{'requiredDuringSchedulingIgnoredDuringExecution'" \
	":[{'labelSelector':{'matchLabels':{'app':'w'}},'topologyKey':'zone'," keys       \
	"}]}}"

static const struct row rows[] = {
	{"no nodes",
	 {{0}},
	 {{0}},
	 {"p", "", "{}"},
	 "no nodes available to schedule pods"},
	{"the emptier one",
	 {PLAIN("a"), PLAIN("b")},
	 {{"x", "", "{" ON("a") "," CPU("1") "}"}},
	 {"p", "", "{" CPU("1") "}"},
	 "b"},
	{"pods without requests spread, too",
	 {PLAIN("a"), PLAIN("b")},
	 {{"x", "", "{" ON("a") "}"}},
	 {"p", "", "{}"},
	 "b"},
	{"too many pods",
	 {{"a", "", "{}", "'cpu':'4','pods':'1'"}, {"b", "", "{}", "'cpu':'4'"}},
	 {{"x", "", "{" ON("a") "}"}},
	 {"p", "", "{}"},
	 "0/2 nodes are available: 2 Too many pods."},
	{"all that is short is told",
	 {PLAIN("a")},
	 {{0}},
	 {"p", "",
	  "{'containers':[{'resources':{'requests':{'cpu':'5','memory':'1','x/y':'1'}}}]}"},
	 "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 1 "
	 "Insufficient x/y."},
	{"taints of one text count together",
	 {{"a", "", TAINT("k", "v", "NoSchedule"), "'pods':'1'"},
	  {"b", "", TAINT("k", "v", "NoExecute"), "'pods':'1'"},
	  {"c", "", TAINT("k", "", "NoExecute"), "'pods':'1'"}},
	 {{0}},
	 {"p", "", "{}"},
	 "0/3 nodes are available: 1 node(s) had untolerated taint {k: }, 2 node(s) had "
	 "untolerated taint {k: v}."},
	{"preferably without a taint",
	 {{"a", "", TAINT("k", "v", "PreferNoSchedule"), "'cpu':'64','pods':'9'"},
	  {"b", "", "{}", "'cpu':'4','pods':'9'"}},
	 {{0}},
	 {"p", "", "{" CPU("1") "}"},
	 "b"},
	{"an empty list of terms takes none",
	 {PLAIN("a")},
	 {{0}},
	 {"p", "",
	  "{'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{"
	  "'nodeSelectorTerms':[]}}}}"},
	 "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."},
	{"by the name of the node",
	 {PLAIN("a"), PLAIN("b")},
	 {{0}},
	 {"p", "",
	  "{'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{"
	  "'nodeSelectorTerms':[{'matchFields':[{'key':'metadata.name','operator':'In',"
	  "'values':['b']}]}]}}}}"},
	 "b"},
	{"ports",
	 {PLAIN("a"), PLAIN("b")},
	 {{"x", "", "{" ON("a") ",'containers':[{'ports':[{'hostPort':80}]}]}"}},
	 {"p", "", "{'containers':[{'ports':[{'hostPort':80,'hostIP':'10.0.0.1'}]}]}"},
	 "b"},
	{"ports of all",
	 {PLAIN("a")},
	 {{"x", "",
	   "{" ON("a") ",'containers':[{'ports':[{'hostPort':80,'hostIP':'1.1.1.1'}]}]}"}},
	 {"p", "", "{'containers':[{'ports':[{'hostPort':80}]}]}"},
	 "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod "
	 "ports."},
	{"ports of other addresses and protocols",
	 {PLAIN("a")},
	 {{"x", "",
	   "{" ON("a") ",'containers':[{'ports':[{'hostPort':80,'hostIP':'1.1.1.1'},{"
		       "'hostPort':81,'protocol':'UDP'}]}]}"}},
	 {"p", "",
	  "{'containers':[{'ports':[{'hostPort':80,'hostIP':'1.1.1.2'},{'hostPort':81}]}]}"},
	 "a"},
	/* --- with other pods --- */
	{"near",
	 {IN("a", "1"), IN("b", "2"), IN("c", "2"), PLAIN("d")},
	 {{"x", APP("db"), "{" ON("b") "," CPU("3") "}"}},
	 {"p", "", "{" REQUIRED("podAffinity", "db") "," CPU("2") "}"},
	 "c"},
	{"near nobody",
	 {IN("a", "1"), PLAIN("d")},
	 {{0}},
	 {"p", APP("web"), "{" REQUIRED("podAffinity", "db") "}"},
	 "0/2 nodes are available: 2 node(s) didn't match pod affinity rules."},
	{"the first of those who want to be together",
	 {IN("a", "1"), PLAIN("d")},
	 {{0}},
	 {"p", APP("db"), "{" REQUIRED("podAffinity", "db") "}"},
	 "a"},
	{"away",
	 {IN("a", "1"), IN("b", "2"), IN("c", "2")},
	 {{"x", APP("db"), "{" ON("b") "}"}},
	 {"p", "", "{" REQUIRED("podAntiAffinity", "db") "}"},
	 "a"},
	{"away, and no place",
	 {IN("b", "2"), IN("c", "2")},
	 {{"x", APP("db"), "{" ON("b") "}"}},
	 {"p", "", "{" REQUIRED("podAntiAffinity", "db") "}"},
	 "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules."},
	{"others want to be away",
	 {IN("b", "2"), IN("c", "2")},
	 {{"x", "", "{" ON("b") "," REQUIRED("podAntiAffinity", "web") "}"}},
	 {"p", APP("web"), "{}"},
	 "0/2 nodes are available: 2 node(s) didn't satisfy existing pods anti-affinity "
	 "rules."},
	{"others of another kind do not",
	 {IN("b", "2")},
	 {{"x", "", "{" ON("b") "," REQUIRED("podAntiAffinity", "web") "}"}},
	 {"p", APP("db"), "{}"},
	 "b"},
	{"preferably near",
	 {IN("a", "1"), IN("b", "2"), IN("c", "2")},
	 {{"x", APP("db"), "{" ON("b") "," CPU("1") "}"}},
	 {"p", "", "{" PREFERRED("podAffinity", "db") "," CPU("1") "}"},
	 "c"},
	{"preferably away",
	 {IN("b", "2"), IN("c", "2"), IN("a", "1")},
	 {{"x", APP("db"), "{" ON("b") "," CPU("1") "}"}},
	 {"p", "", "{" PREFERRED("podAntiAffinity", "db") "," CPU("1") "}"},
	 "a"},
	{"spread",
	 {IN("a", "1"), IN("b", "2"), IN("c", "2")},
	 {{"x", APP("w"), "{" ON("b") "}"},
	  {"y", APP("w"), "{" ON("a") "}"},
	  {"z", APP("w"), "{" ON("a") "," CPU("0") "}"}},
	 {"p", APP("w"), "{" SPREAD("1", "DoNotSchedule") "}"},
	 "c"},
	{"spread, and no place",
	 {IN("a", "1"), {"b", ZONE("2"), "{}", "'pods':'0'"}, PLAIN("d")},
	 {{"y", APP("w"), "{" ON("a") "}"}},
	 {"p", APP("w"), "{" SPREAD("1", "DoNotSchedule") "}"},
	 "0/3 nodes are available: 1 Too many pods, 1 node(s) didn't match pod topology "
	 "spread constraints, 1 node(s) didn't match pod topology spread constraints "
	 "(missing required label)."},
	{"preferably spread",
	 {IN("a", "1"), IN("b", "2"), IN("c", "2")},
	 {{"x", APP("w"), "{" ON("b") "," CPU("1") "}"},
	  {"y", "", "{" ON("a") "," CPU("2") "}"}},
	 {"p", APP("w"), "{" SPREAD("1", "ScheduleAnyway") "," CPU("1") "}"},
	 "a"},
	{"preferably spread, by the ninth constraint",
	 {IN("a", "1"), IN("b", "2"), IN("c", "2")},
	 {{"x", APP("w"), "{" ON("b") "," CPU("1") "}"},
	  {"y", "", "{" ON("a") "," CPU("2") "}"}},
	 {"p", APP("w"),
	  "{'topologySpreadConstraints':[" SOFT("u") "," SOFT("u") "," SOFT("u") "," SOFT("u") "," SOFT(
		  "u") "," SOFT("u") "," SOFT("u") "," SOFT("u") "," SOFT("w") "]"
									       "," CPU("1") "}"},
	 "a"},
	{"spread among those of its own revision",
	 {IN("a", "1"), {"b", ZONE("2"), "{}", "'pods':'0'"}},
	 {{"x", HASH("1"), "{" ON("a") "}"}, {"y", HASH("1"), "{" ON("a") "}"}},
	 {"p", HASH("2"),
	  "{'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':'zone',"
	  "'whenUnsatisfiable':'DoNotSchedule','labelSelector':{'matchLabels':{'app':'w'}},"
	  "'matchLabelKeys':['hash','absent']}]}"},
	 "a"},
	{"an empty selector counts nobody",
	 {IN("a", "1"), {"b", ZONE("2"), "{}", "'pods':'0'"}},
	 {{"x", APP("w"), "{" ON("a") "}"}, {"y", APP("w"), "{" ON("a") "}"}},
	 {"p", APP("w"),
	  "{'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':'zone',"
	  "'whenUnsatisfiable':'DoNotSchedule','labelSelector':{}}]}"},
	 "a"},
	{"away from its own revision alone",
	 {IN("a", "1"), IN("b", "2")},
	 {{"x", HASH("1"), "{" ON("a") "}"}, {"y", HASH("2"), "{" ON("b") "}"}},
	 {"p", HASH("2"), "{" AWAY("'matchLabelKeys':['hash']") "}"},
	 "a"},
	{"away from other revisions",
	 {IN("a", "1"), IN("b", "2")},
	 {{"x", HASH("1"), "{" ON("a") "}"}, {"y", HASH("2"), "{" ON("b") "}"}},
	 {"p", HASH("2"), "{" AWAY("'mismatchLabelKeys':['hash']") "}"},
	 "b"},
};

static void check(const struct row *row)
{
	struct neap_cluster *cluster = cluster_new();
	const struct neap_decide_config config = {.cluster = cluster};
	struct neap_decide *decide = NULL;
	struct neap_choice choice = {0};
	struct neap_error err = {0};
	neap_auto_buf struct neap_buf said = {0};
	int ret;

	neap_buf_init(&said, 4096);
	for (int i = 0; i < ITEMS && row->nodes[i].name; i++)
		(void)cluster_set_node(cluster, row->nodes[i].name, row->nodes[i].meta,
				       row->nodes[i].spec, row->nodes[i].allocatable);
	for (int i = 0; i < ITEMS && row->pods[i].name; i++)
		(void)cluster_set_pod(cluster, row->pods[i].name, row->pods[i].meta,
				      row->pods[i].spec, "{}");
	(void)cluster_set_pod(cluster, row->pod.name, row->pod.meta, row->pod.spec, "{}");
	assert_int_equal(neap_decide_new(&config, &decide, &err), 0);
	ret = neap_decide_pod(decide, neap_cluster_find_pod(cluster, "default", "p"),
			      &choice, &err);
	if (ret < 0)
		neap_buf_adds(&said, err.msg);
	else if (ret)
		neap_buf_adds(&said, choice.node);
	else
		neap_decide_explain(decide, &said);
	if (strcmp(said.data, row->want) != 0)
		fail_msg("%s: %s", row->name, said.data);
	neap_decide_free(decide);
	neap_cluster_free(cluster);
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		check(&rows[i]);
}

/* Points as kube-scheduler gives them, one score at a time. */
#define ASKS  "{'containers':[{'resources':{'requests':{'cpu':'1','memory':'1Gi'}}}]}"
#define EIGHT "{},{},{},{},{},{},{},{}"
#define FULL  "{'containers':[" EIGHT "," EIGHT "," EIGHT "," EIGHT "]}"

static void test_points(void **state)
{
	static const struct {
		enum neap_score_id id;
		const char *spec;
		int64_t points;
	} points[] = {
		/* 4 CPUs and 8 GiB with 1 CPU and 2 GiB used, the pod asks for 1 CPU and
		 * 1 GiB. */
		{NEAP_SCORE_LEAST_ALLOCATED, ASKS, (50 + 62) / 2},
		{NEAP_SCORE_MOST_ALLOCATED, ASKS, (50 + 37) / 2},
		{NEAP_SCORE_BALANCED_ALLOCATION, ASKS, 93}, /* 1 - |.5 - .375| / 2 */
		{NEAP_SCORE_TAINT_TOLERATION, ASKS, 100},
		{NEAP_SCORE_IMAGE_LOCALITY, ASKS, 0},
		/* 32 times 100m and 200 MiB, as nothing is asked for: over the brim. */
		{NEAP_SCORE_LEAST_ALLOCATED, FULL, 0},
		{NEAP_SCORE_MOST_ALLOCATED, FULL, 100},
		/* 523 MiB lie there, of 2 containers. */
		{NEAP_SCORE_IMAGE_LOCALITY,
		 "{'initContainers':[{'image':'i:1'}],'containers':[{'image':'none'}]}",
		 100 * 500 / 1977},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(points); i++) {
		struct neap_cluster *cluster = cluster_new();
		int weights[NEAP_SCORE_COUNT] = {0};
		const struct neap_decide_config config = {.cluster = cluster,
							  .weights = weights};
		struct neap_decide *decide = NULL;
		struct neap_choice choice = {0};
		struct neap_error err;

		weights[points[i].id] = 1;
		for (int n = 0; n < 2; n++) {
			char name[2] = {(char)('a' + n), '\0'}, spec[256];

			(void)cluster_set_node(
				cluster, name, "", "{}",
				"'cpu':'4','memory':'8Gi','pods':'9'},'images':["
				"{'names':['i:1'],'sizeBytes':548405248}],"
				"'capacity':{");
			(void)snprintf(
				spec, sizeof(spec),
				"{'nodeName':'%s','containers':[{'resources':{'requests':{"
				"'cpu':'1','memory':'2Gi'}}}]}",
				name);
			(void)cluster_set_pod(cluster, name, "", spec, "{}");
		}
		(void)cluster_set_pod(cluster, "p", "", points[i].spec, "{}");
		assert_int_equal(neap_decide_new(&config, &decide, &err), 0);
		assert_int_equal(
			neap_decide_pod(decide,
					neap_cluster_find_pod(cluster, "default", "p"),
					&choice, &err),
			1);
		assert_int_equal(choice.fitting, 2);
		if (choice.score != points[i].points)
			fail_msg("score %d: %lld", points[i].id, (long long)choice.score);
		neap_decide_free(decide);
		neap_cluster_free(cluster);
	}
}

/* So many are looked at, each time beginning where the time before ended. */
static void test_enough(void **state)
{
	static const struct {
		int nodes, percentage;
		size_t fitting;
	} wanted[] = {
		{99, 0, 99},     {100, 0, 100},  {250, 0, 120},
		{250, 100, 250}, {600, 20, 120},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(wanted); i++) {
		struct neap_cluster *cluster = cluster_new();
		const struct neap_decide_config config = {
			.cluster = cluster, .percentage = wanted[i].percentage};
		struct neap_decide *decide = NULL;
		struct neap_choice choice = {0};
		struct neap_error err;
		uint32_t first;

		for (int n = 0; n < wanted[i].nodes; n++) {
			char name[16];

			(void)snprintf(name, sizeof(name), "n%d", n);
			(void)cluster_set_node(cluster, name, "", "{}", "'pods':'9'");
		}
		(void)cluster_set_pod(cluster, "p", "", "{}", "{}");
		assert_int_equal(neap_decide_new(&config, &decide, &err), 0);
		assert_int_equal(
			neap_decide_pod(decide,
					neap_cluster_find_pod(cluster, "default", "p"),
					&choice, &err),
			1);
		assert_int_equal(choice.fitting, wanted[i].fitting);
		first = choice.row;
		assert_int_equal(
			neap_decide_pod(decide,
					neap_cluster_find_pod(cluster, "default", "p"),
					&choice, &err),
			1);
		if (wanted[i].fitting < (size_t)wanted[i].nodes)
			assert_int_equal(choice.row, (first + wanted[i].fitting) %
							     (size_t)wanted[i].nodes);
		neap_decide_free(decide);
		neap_cluster_free(cluster);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_points),
		cmocka_unit_test(test_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
