/* SPDX-License-Identifier: Apache-2.0
 *
 * What a configuration says acts: with each argument a pod goes elsewhere than without
 * it, or not at all. */
#include "api/schedule/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/decide/settings.h"
#include "t/lib/cluster_rig.h"

#define ITEMS 4

struct node {
	const char *name, *meta, *spec, *allocatable;
};

struct pod {
	const char *name, *meta, *spec;
};

struct row {
	const char *name;
	const char *profile; /* YAML, in one line */
	struct node nodes[ITEMS];
	struct pod pods[ITEMS];
	const char *meta, *spec;    /* of the pod p */
	const char *without, *with; /* a node, or the message */
};

#define CPU(n)     "'containers':[{'resources':{'requests':{'cpu':'" n "'}}}]"
#define ASKS(what) "{'containers':[{'resources':{'requests':{" what "}}}]}"
#define ON(node)   "'nodeName':'" node "'"
#define ZONE(z)    "'labels':{'zone':'" z "'}"
#define APP(a)     "'labels':{'app':'" a "'}"
#define ARGS(n, a) "pluginConfig: [{name: " n ", args: " a "}]"
#define FIT(a)     ARGS("NodeResourcesFit", a)
#define ALONE(name)                                                                      \
	"plugins: {score: {disabled: [{name: '*'}], enabled: [{name: " name "}]}}"
#define TERM(app)                                                                        \
	"{'labelSelector':{'matchLabels':{'app':'" app "'}},'topologyKey':'zone'}"

static const struct row rows[] = {
	{"the fullest node",
	 FIT("{scoringStrategy: {type: MostAllocated}}"),
	 {{"a", "", "{}", "'cpu':'8','pods':'9'"},
	  {"b", "", "{}", "'cpu':'4','pods':'9'"}},
	 {{0}},
	 "",
	 "{" CPU("1") "}",
	 "a",
	 "b"},
	{"memory counts more",
	 ALONE("NodeResourcesFit") ", " FIT(
		 "{scoringStrategy: {resources: [{name: cpu, weight: 1}, {name: memory, "
		 "weight: 9}]}}"),
	 {{"a", "", "{}", "'cpu':'100','memory':'10Gi','pods':'9'"},
	  {"b", "", "{}", "'cpu':'2','memory':'16Gi','pods':'9'"}},
	 {{0}},
	 "",
	 ASKS("'cpu':'500m','memory':'2Gi'"),
	 "a",
	 "b"},
	{"a device counts",
	 FIT("{scoringStrategy: {resources: [{name: x.io/gpu}]}}"),
	 {{"a", "", "{}", "'cpu':'8','x.io/gpu':'2','pods':'9'"},
	  {"b", "", "{}", "'cpu':'4','x.io/gpu':'8','pods':'9'"}},
	 {{0}},
	 "",
	 ASKS("'cpu':'1','x.io/gpu':'1'"),
	 "a",
	 "b"},
	{"what a pod does not ask for does not count",
	 ALONE("NodeResourcesFit") ", " FIT(
		 "{scoringStrategy: {resources: [{name: cpu}, {name: kubernetes.io/batch-cpu}, "
		 "{name: hugepages-2Mi}]}}"),
	 {{"a", "", "{}", "'cpu':'8','memory':'1Gi','pods':'9'"},
	  {"b", "", "{}",
	   "'cpu':'7','memory':'64Gi','kubernetes.io/batch-cpu':'9','hugepages-2Mi':'2Gi',"
	   "'pods':'9'"}},
	 {{0}},
	 "",
	 ASKS("'cpu':'1','memory':'512Mi'"),
	 "b",
	 "a"},
	{"a device is not asked about",
	 FIT("{ignoredResources: [x.io/gpu]}"),
	 {{"a", "", "{}", "'cpu':'8','pods':'9'"}},
	 {{0}},
	 "",
	 ASKS("'x.io/gpu':'1'"),
	 "0/1 nodes are available: 1 Insufficient x.io/gpu.",
	 "a"},
	{"devices of a group are not asked about",
	 FIT("{ignoredResourceGroups: [x.io]}"),
	 {{"a", "", "{}", "'cpu':'8','pods':'9'"}},
	 {{0}},
	 "",
	 ASKS("'x.io/gpu':'1','x.io.y/z':'1'"),
	 "0/1 nodes are available: 1 Insufficient x.io.y/z, 1 Insufficient x.io/gpu.",
	 "0/1 nodes are available: 1 Insufficient x.io.y/z."},
	{"balance of other resources",
	 ALONE("NodeResourcesBalancedAllocation") ", " ARGS(
		 "NodeResourcesBalancedAllocation",
		 "{resources: [{name: cpu}, {name: memory}, {name: x.io/gpu}]}"),
	 {{"a", "", "{}", "'cpu':'10','memory':'10Gi','x.io/gpu':'1','pods':'9'"},
	  {"b", "", "{}", "'cpu':'9','memory':'10Gi','x.io/gpu':'10','pods':'9'"}},
	 {{0}},
	 "",
	 ASKS("'cpu':'1','memory':'1Gi','x.io/gpu':'1'"),
	 "a",
	 "b"},
	{"required affinity of others counts more",
	 ARGS("InterPodAffinity", "{hardPodAffinityWeight: 100}"),
	 {{"a", ZONE("1"), "{}", "'cpu':'8','pods':'9'"},
	  {"b", ZONE("2"), "{}", "'cpu':'8','pods':'9'"}},
	 {{"x", APP("w"),
	   "{" ON("b") ",'affinity':{'podAffinity':{"
		       "'requiredDuringSchedulingIgnoredDuringExecution':[" TERM(
			       "w") "]}}}"},
	  {"y", "",
	   "{" ON("a") ",'affinity':{'podAffinity':{"
		       "'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':50,"
		       "'podAffinityTerm':" TERM("w") "}]}}}"}},
	 APP("w"),
	 "{" CPU("1") "}",
	 "a",
	 "b"},
	{"wishes of others do not count",
	 ARGS("InterPodAffinity", "{ignorePreferredTermsOfExistingPods: true}"),
	 {{"a", ZONE("1"), "{}", "'cpu':'4','pods':'9'"},
	  {"b", ZONE("2"), "{}", "'cpu':'8','pods':'9'"}},
	 {{"y", "",
	   "{" ON("a") ",'affinity':{'podAffinity':{"
		       "'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':50,"
		       "'podAffinityTerm':" TERM("w") "}]}}}"}},
	 APP("w"),
	 "{" CPU("1") "}",
	 "a",
	 "b"},
	{"nodes of the profile alone",
	 ARGS("NodeAffinity",
	      "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
	      "{nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, "
	      "values: ['2']}]}]}}}"),
	 {{"a", ZONE("1"), "{}", "'cpu':'8','pods':'9'"},
	  {"b", ZONE("2"), "{}", "'cpu':'4','pods':'9'"}},
	 {{0}},
	 "",
	 "{" CPU("1") "}",
	 "a",
	 "b"},
	{"no node of the profile",
	 ARGS("NodeAffinity",
	      "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
	      "{nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, "
	      "values: [c]}]}]}}}"),
	 {{"a", ZONE("1"), "{}", "'cpu':'8','pods':'9'"}},
	 {{0}},
	 "",
	 "{" CPU("1") "}",
	 "a",
	 "0/1 nodes are available: 1 node(s) didn't match scheduler-enforced node "
	 "affinity."},
	{"nodes that the profile prefers",
	 ARGS("NodeAffinity",
	      "{addedAffinity: {preferredDuringSchedulingIgnoredDuringExecution: "
	      "[{weight: 9, preference: {matchExpressions: [{key: zone, operator: In, "
	      "values: ['2']}]}}]}}"),
	 {{"a", ZONE("1"), "{}", "'cpu':'8','pods':'9'"},
	  {"b", ZONE("2"), "{}", "'cpu':'4','pods':'9'"}},
	 {{0}},
	 "",
	 "{" CPU("1") "}",
	 "a",
	 "b"},
	{"a filter that is off",
	 "plugins: {filter: {disabled: [{name: NodeUnschedulable}, {name: "
	 "TaintToleration}]}}",
	 {{"a", "", "{'unschedulable':true,'taints':[{'key':'k','effect':'NoSchedule'}]}",
	   "'cpu':'8','pods':'9'"}},
	 {{0}},
	 "",
	 "{}",
	 "0/1 nodes are available: 1 node(s) were unschedulable.",
	 "a"},
	{"a score with another weight",
	 "plugins: {score: {enabled: [{name: TaintToleration, weight: 1}, {name: "
	 "NodeResourcesFit, weight: 20}]}}",
	 {{"a", "", "{'taints':[{'key':'k','effect':'PreferNoSchedule'}]}",
	   "'cpu':'64','pods':'9'"},
	  {"b", "", "{}", "'cpu':'4','pods':'9'"}},
	 {{0}},
	 "",
	 "{" CPU("1") "}",
	 "b",
	 "a"},
};

static struct neap_schedule_config *config_of(const char *profile)
{
	struct neap_schedule_config *config = NULL;
	struct neap_error err = {0};
	char text[2048];

	(void)snprintf(text, sizeof(text),
		       "{apiVersion: kubescheduler.config.k8s.io/v1, kind: "
		       "KubeSchedulerConfiguration, profiles: [{%s}]}",
		       profile);
	if (neap_schedule_config_parse(text, strlen(text), "f", &config, &err) < 0)
		fail_msg("%s", err.msg);
	return config;
}

static struct neap_decide *decide_new(struct neap_cluster *cluster,
				      const struct neap_schedule_config *config)
{
	const struct neap_decide_config from = {.cluster = cluster,
						.settings = config->profiles[0].settings};
	struct neap_decide *decide = NULL;
	struct neap_error err = {0};

	assert_int_equal(neap_decide_new(&from, &decide, &err), 0);
	return decide;
}

/* The node, or the message. */
static const char *where(const struct row *row, const char *profile, bool is_turned)
{
	static char text[512];
	struct neap_schedule_config *config = config_of(profile);
	struct neap_cluster *cluster = cluster_new();
	struct neap_choice choice = {0};
	struct neap_decide *decide;
	struct neap_error err = {0};
	struct neap_buf buf;
	int ret;

	for (int i = 0; i < ITEMS; i++) {
		const struct node *node = &row->nodes[is_turned ? ITEMS - 1 - i : i];

		if (node->name)
			(void)cluster_set_node(cluster, node->name, node->meta,
					       node->spec, node->allocatable);
	}
	for (int i = 0; i < ITEMS && row->pods[i].name; i++)
		(void)cluster_set_pod(cluster, row->pods[i].name, row->pods[i].meta,
				      row->pods[i].spec, "{}");
	(void)cluster_set_pod(cluster, "p", row->meta, row->spec, "{}");
	decide = decide_new(cluster, config);
	ret = neap_decide_pod(decide, neap_cluster_find_pod(cluster, "default", "p"),
			      &choice, &err);
	neap_buf_init(&buf, sizeof(text));
	neap_decide_explain(decide, &buf);
	(void)snprintf(text, sizeof(text), "%s",
		       ret > 0   ? choice.node
		       : ret < 0 ? err.msg
				 : buf.data);
	neap_buf_done(&buf);
	neap_decide_free(decide);
	neap_cluster_free(cluster);
	(void)neap_schedule_config_unref(config);
	return text;
}

/* In whichever order the nodes come. */
static void test_arguments(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		for (int turned = 0; turned < 2; turned++) {
			const char *node = where(&rows[i], "", turned);

			if (strcmp(node, rows[i].without) != 0)
				fail_msg("%s: without: %s", rows[i].name, node);
			node = where(&rows[i], rows[i].profile, turned);
			if (strcmp(node, rows[i].with) != 0)
				fail_msg("%s: with: %s", rows[i].name, node);
		}
}

static void test_percentage(void **state)
{
	static const struct {
		const char *profile;
		size_t fitting;
	} wanted[] = {{"", 120},
		      {"percentageOfNodesToScore: 80", 200},
		      {"percentageOfNodesToScore: 1", 100}};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(wanted); i++) {
		struct neap_schedule_config *config = config_of(wanted[i].profile);
		struct neap_cluster *cluster = cluster_new();
		struct neap_choice choice = {0};
		struct neap_decide *decide;
		struct neap_error err = {0};
		char name[16];

		for (int n = 0; n < 250; n++) {
			(void)snprintf(name, sizeof(name), "n%d", n);
			(void)cluster_set_node(cluster, name, "", "{}", "'pods':'9'");
		}
		(void)cluster_set_pod(cluster, "p", "", "{}", "{}");
		decide = decide_new(cluster, config);
		assert_int_equal(
			neap_decide_pod(decide,
					neap_cluster_find_pod(cluster, "default", "p"),
					&choice, &err),
			1);
		assert_int_equal(choice.fitting, wanted[i].fitting);
		neap_decide_free(decide);
		neap_cluster_free(cluster);
		(void)neap_schedule_config_unref(config);
	}
}

/* Three nodes where one pod would have to go, more important from node to node: the best
 * is found when all are compared, else the first that is looked at. */
static int32_t victim_of(const char *profile)
{
	struct neap_schedule_config *config = config_of(profile);
	struct neap_cluster *cluster = cluster_new();
	struct neap_victims victims = {0};
	struct neap_choice choice;
	struct neap_decide *decide;
	struct neap_error err = {0};
	struct neap_pod *pod;
	int32_t ret = -1;

	for (int i = 0; i < 3; i++) {
		char name[16], spec[256];

		(void)snprintf(name, sizeof(name), "n%d", i);
		(void)cluster_set_node(cluster, name, "", "{}", "'cpu':'1','pods':'9'");
		(void)snprintf(spec, sizeof(spec),
			       "{'priority':%d,'nodeName':'n%d'," CPU("1") "}", i + 1, i);
		(void)snprintf(name, sizeof(name), "x%d", i);
		(void)cluster_set_pod(cluster, name, "", spec, "{}");
	}
	(void)cluster_set_pod(cluster, "p", "", "{'priority':9," CPU("1") "}", "{}");
	pod = neap_cluster_find_pod(cluster, "default", "p");
	decide = decide_new(cluster, config);
	/* Where it begins depends on what happened before. */
	while (neap_cluster_generation(cluster) % 3 != 1)
		(void)cluster_set_pod(cluster, "other", "", "{}", "{}");
	assert_int_equal(neap_decide_pod(decide, pod, &choice, &err), 0);
	if (neap_decide_preempt(decide, pod, &victims, &err) > 0)
		ret = victims.pods[0]->priority;
	neap_decide_free(decide);
	neap_cluster_free(cluster);
	(void)neap_schedule_config_unref(config);
	return ret;
}

static void test_preemption(void **state)
{
	(void)state;
	assert_int_equal(victim_of(""), 1);
	assert_int_not_equal(
		victim_of(ARGS("DefaultPreemption", "{minCandidateNodesPercentage: 0, "
						    "minCandidateNodesAbsolute: 1}")),
		1);
	assert_int_equal(
		victim_of(ARGS("DefaultPreemption", "{minCandidateNodesPercentage: 100, "
						    "minCandidateNodesAbsolute: 1}")),
		1);
	assert_int_equal(
		victim_of(
			"plugins: {postFilter: {disabled: [{name: DefaultPreemption}]}}"),
		-1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_percentage),
		cmocka_unit_test(test_preemption),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
