/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of --scheduler-config: what is read from good ones, and what is said of bad
 * ones. */
#include "api/schedule/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "engine/decide/settings.h"

#define HEAD                                                                             \
	"apiVersion: kubescheduler.config.k8s.io/v1\n"                                   \
	"kind: KubeSchedulerConfiguration\n"
#define PROFILE HEAD "profiles:\n- schedulerName: a\n"
#define ARGS(name, args)                                                                 \
	PROFILE "  pluginConfig:\n  - name: " name "\n    args: " args "\n"
#define PLUGINS(text) PROFILE "  plugins: " text "\n"

static struct neap_schedule_config *read_good(const char *text)
{
	struct neap_schedule_config *config = NULL;
	struct neap_error err = {0};

	if (neap_schedule_config_parse(text, strlen(text), "f.yaml", &config, &err) < 0)
		fail_msg("%s\n%s", err.msg, text);
	return config;
}

static void test_nothing_said_is_kube_schedulers(void **state)
{
	struct neap_schedule_config *config = read_good(HEAD);
	const struct neap_settings *settings = config->profiles[0].settings;
	int weights[NEAP_SCORE_COUNT];

	(void)state;
	neap_decide_weights(weights);
	assert_int_equal(config->profile_count, 1);
	assert_null(config->profiles[0].name);
	assert_memory_equal(settings->weights, weights, sizeof(weights));
	assert_int_equal(settings->filters_off, 0);
	assert_int_equal(settings->percentage, 0);
	assert_false(settings->never_preempts);
	assert_int_equal(config->pause_usec, 1000000);
	assert_int_equal(config->pause_max_usec, 10000000);
	assert_int_equal(config->note_count, 0);
	assert_false(config->has_load || config->has_cpus);
	config = neap_schedule_config_unref(config);
	config = read_good("{\"apiVersion\": \"kubescheduler.config.k8s.io/v1beta3\","
			   "\"kind\": \"KubeSchedulerConfiguration\","
			   "\"profiles\": [{}]}");
	assert_string_equal(config->profiles[0].name, "default-scheduler");
	(void)neap_schedule_config_unref(config);
	/* Koordinator's own example of NodeNUMAResource. */
	config = read_good(
		"apiVersion: kubescheduler.config.k8s.io/v1beta2\n"
		"kind: KubeSchedulerConfiguration\n"
		"profiles:\n"
		"- pluginConfig:\n"
		"  - name: NodeNUMAResource\n"
		"    args:\n"
		"      apiVersion: kubescheduler.config.k8s.io/v1beta2\n"
		"      kind: NodeNUMAResourceArgs\n"
		"      scoringStrategy:\n"
		"        type: LeastAllocated\n"
		"        resources:\n"
		"        - {name: cpu, weight: 1}\n"
		"        - {name: memory, weight: 1}\n"
		"        - {name: \"kubernetes.io/batch-cpu\", weight: 1}\n"
		"        - {name: \"kubernetes.io/batch-memory\", weight: 1}\n");
	assert_true(config->has_cpus);
	assert_int_equal(config->cpus.weight_count, 4);
	assert_string_equal(config->cpus.names[2], "kubernetes.io/batch-cpu");
	(void)neap_schedule_config_unref(config);
}

static void test_example(void **state)
{
	struct neap_schedule_config *config;
	struct neap_error err = {0};
	const struct neap_settings *plain, *batch, *koord;
	neap_auto_buf struct neap_buf text = {0};
	int weights[NEAP_SCORE_COUNT];

	(void)state;
	neap_buf_init(&text, NEAP_BUF_FILE);
	assert_int_equal(neap_file_load("doc/deploy/scheduler-config.yaml", &text, &err),
			 0);
	config = read_good(text.data);
	assert_int_equal(config->profile_count, 3);
	assert_int_equal(config->note_count, 0);
	plain = config->profiles[0].settings;
	batch = config->profiles[1].settings;
	koord = config->profiles[2].settings;
	/* It says of itself that it changes nothing. */
	neap_decide_weights(weights);
	assert_memory_equal(plain->weights, weights, sizeof(weights));
	assert_int_equal(plain->fit.count, 2);
	assert_int_equal(plain->trials.percent, 10);
	assert_int_equal(plain->trials.least, 100);
	assert_string_equal(config->profiles[1].name, "batch-scheduler");
	assert_int_equal(batch->weights[NEAP_SCORE_MOST_ALLOCATED], 5);
	assert_int_equal(batch->weights[NEAP_SCORE_LEAST_ALLOCATED], 0);
	assert_int_equal(batch->weights[NEAP_SCORE_BALANCED_ALLOCATION], 0);
	assert_int_equal(batch->fit.count, 3);
	assert_true(batch->has_added && batch->never_preempts);
	assert_int_equal(koord->weights[NEAP_SCORE_LOAD_AWARE], 1);
	assert_true(config->has_load);
	assert_int_equal(config->load.expiry_usec, 300000000);
	(void)neap_schedule_config_unref(config);
}

static void test_which_plugins(void **state)
{
	static const struct {
		const char *plugins;
		int image, taints, fit;     /* weights */
		bool has_ports, has_taints; /* filters */
		bool preempts;
	} rows[] = {
		{"{}", 1, 3, 1, true, true, true},
		{"{score: {disabled: [{name: ImageLocality}]}}", 0, 3, 1, true, true,
		 true},
		{"{score: {disabled: [{name: '*'}], enabled: [{name: ImageLocality}]}}",
		 1, 0, 0, true, true, true},
		{"{score: {enabled: [{name: TaintToleration, weight: 7}]}}", 1, 7, 1,
		 true, true, true},
		{"{filter: {disabled: [{name: NodePorts}, {name: TaintToleration}]}}", 1,
		 3, 1, false, false, true},
		{"{multiPoint: {disabled: [{name: TaintToleration}]}}", 1, 0, 1, true,
		 false, true},
		{"{multiPoint: {disabled: [{name: '*'}], enabled: [{name: "
		 "TaintToleration, weight: 4}, {name: NodePorts}]}}",
		 0, 4, 0, true, true, false},
		{"{multiPoint: {enabled: [{name: TaintToleration, weight: 4}]}, "
		 "score: {enabled: [{name: TaintToleration, weight: 9}]}}",
		 1, 9, 1, true, true, true},
		{"{multiPoint: {disabled: [{name: '*'}], enabled: [{name: "
		 "DefaultPreemption}]}, filter: {enabled: [{name: NodePorts}]}}",
		 0, 0, 0, true, false, true},
		{"{postFilter: {disabled: [{name: '*'}]}}", 1, 3, 1, true, true, false},
		{"{queueSort: {enabled: [{name: PrioritySort}]}, preFilter: {enabled: "
		 "[{name: NodePorts}]}, bind: {enabled: [{name: DefaultBinder}]}}",
		 1, 3, 1, true, true, true},
		{"{preScore: {disabled: [{name: ImageLocality}]}, score: {disabled: "
		 "[{name: ImageLocality}]}}",
		 0, 3, 1, true, true, true},
	};
	int ports = neap_settings_find_filter("NodePorts");
	int taints = neap_settings_find_filter("TaintToleration");

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		char text[1024];
		struct neap_schedule_config *config;
		const struct neap_settings *settings;

		(void)snprintf(text, sizeof(text), PLUGINS("%s"), rows[i].plugins);
		config = read_good(text);
		settings = config->profiles[0].settings;
		assert_int_equal(settings->weights[NEAP_SCORE_IMAGE_LOCALITY],
				 rows[i].image);
		assert_int_equal(settings->weights[NEAP_SCORE_TAINT_TOLERATION],
				 rows[i].taints);
		assert_int_equal(settings->weights[NEAP_SCORE_LEAST_ALLOCATED],
				 rows[i].fit);
		assert_int_equal(settings->filters_off >> ports & 1, !rows[i].has_ports);
		assert_int_equal(settings->filters_off >> taints & 1,
				 !rows[i].has_taints);
		assert_int_equal(settings->never_preempts, !rows[i].preempts);
		(void)neap_schedule_config_unref(config);
	}
}

static void test_what_has_no_effect_is_told(void **state)
{
	struct neap_schedule_config *config =
		read_good(HEAD "leaderElection: {leaderElect: true}\nparallelism: 4\n"
			       "profiles:\n- plugins:\n    score:\n      disabled:\n"
			       "      - name: Unheard\n");

	(void)state;
	assert_int_equal(config->note_count, 3);
	assert_string_equal(config->notes[0], "f.yaml: parallelism has no effect here");
	assert_string_equal(config->notes[1],
			    "f.yaml: leaderElection has no effect here");
	assert_string_equal(config->notes[2],
			    "f.yaml: profiles[0].plugins.score.disabled[0]: neap has no "
			    "plugin 'Unheard' anyway");
	(void)neap_schedule_config_unref(config);
}

static void test_cpus(void **state)
{
	struct neap_cpus_args args;
	struct neap_error err = {0};
	json_t *json =
		json_pack("{s:s, s:{s:s, s:[{s:s, s:i}]}, s:{s:s}}",
			  "defaultCPUBindPolicy", "SpreadByPCPUs", "scoringStrategy",
			  "type", "MostAllocated", "resources", "name", "memory",
			  "weight", 3, "numaScoringStrategy", "type", "MostAllocated");

	(void)state;
	assert_int_equal(neap_cpus_args_read(&args, json, &err), 0);
	assert_int_equal(args.default_bind, NEAP_BIND_SPREAD);
	assert_true(args.is_score_most_allocated && args.is_most_allocated);
	assert_int_equal(args.weight_count, 1);
	assert_string_equal(args.names[0], "memory");
	assert_int_equal(args.weights[0].weight, 3);
	assert_int_equal(args.max_refs, 1);
	json_decref(json);
	json = json_object();
	assert_int_equal(neap_cpus_args_read(&args, json, &err), 0);
	json_decref(json);
	assert_int_equal(args.default_bind, NEAP_BIND_FULL_PCPUS);
	assert_int_equal(args.weight_count, 2);
	assert_int_equal(args.max_refs, 1);
}

static const struct {
	const char *text, *message;
} bad[] = {
	{"", "f.yaml: has 0 documents, must have one"},
	{HEAD "---\n" HEAD, "f.yaml: has 2 documents, must have one"},
	{"[]", "f.yaml: must be an object"},
	{"kind: KubeSchedulerConfiguration",
	 "f.yaml: apiVersion: is missing: it is kubescheduler.config.k8s.io/v1"},
	{"apiVersion: kubescheduler.config.k8s.io/v1\n",
	 "f.yaml: kind: is missing: it is KubeSchedulerConfiguration"},
	{"apiVersion: kubescheduler.config.k8s.io/v2\nkind: KubeSchedulerConfiguration",
	 "f.yaml:1: apiVersion: 'kubescheduler.config.k8s.io/v2' is unknown: there are "
	 "kubescheduler.config.k8s.io/v1, kubescheduler.config.k8s.io/v1beta3, "
	 "kubescheduler.config.k8s.io/v1beta2"},
	{"apiVersion: kubescheduler.config.k8s.io/v1\nkind: Pod",
	 "f.yaml:2: kind: 'Pod' is unknown: there are KubeSchedulerConfiguration"},
	{HEAD "extenders:\n- urlPrefix: http://x\n",
	 "f.yaml:3: extenders: neap asks no extenders: leave them out"},
	{HEAD "percentageOfNodesToScore: 101\n",
	 "f.yaml:3: percentageOfNodesToScore: must be a whole number from 0 to 100"},
	{HEAD "podInitialBackoffSeconds: 0\n",
	 "f.yaml:3: podInitialBackoffSeconds: must be a whole number from 1 to 3600"},
	{HEAD "podInitialBackoffSeconds: 20\n",
	 "f.yaml:3: podInitialBackoffSeconds: the longest pause, 10 s, must not be "
	 "shorter than the first, 20 s"},
	{HEAD "podInitialBackoffSeconds: 5\npodMaxBackoffSeconds: 4\n",
	 "f.yaml:4: podMaxBackoffSeconds: the longest pause, 4 s, must not be shorter "
	 "than the first, 5 s"},
	{HEAD "profiles: {}\n", "f.yaml:3: profiles: must be a list"},
	{HEAD "profiles:\n- 5\n", "f.yaml:4: profiles[0]: must be an object"},
	{PROFILE "- schedulerName: b\n- schedulerName: a\n",
	 "f.yaml:6: profiles[2].schedulerName: 'a' is the name of profiles[0] already"},
	{PROFILE "- plugins: {}\n",
	 "f.yaml:5: profiles[1].schedulerName: is missing, which only a single profile "
	 "may do"},
	{HEAD "profiles:\n- schedulerName: ''\n",
	 "f.yaml:4: profiles[0].schedulerName: must be a name of 1 to 253 bytes"},
	{PROFILE "  plugin: {}\n",
	 "f.yaml:5: profiles[0].plugin: unknown field; there are schedulerName, plugins, "
	 "pluginConfig, percentageOfNodesToScore"},
	{PLUGINS("{score: []}"),
	 "f.yaml:5: profiles[0].plugins.score: must be an object"},
	{PLUGINS("{scores: {}}"),
	 "f.yaml:5: profiles[0].plugins.scores: unknown field; there are multiPoint, "
	 "filter, score, postFilter, preEnqueue, queueSort, preFilter, preScore, reserve, "
	 "permit, preBind, bind, postBind"},
	{PLUGINS("{score: {enabled: [{name: Coscheduled}]}}"),
	 "f.yaml:5: profiles[0].plugins.score.enabled[0]: neap has no plugin "
	 "'Coscheduled'"},
	{PLUGINS("{score: {enabled: [{name: ImageLocality}, {name: ImageLocality}]}}"),
	 "f.yaml:5: profiles[0].plugins.score.enabled[1]: 'ImageLocality' is there twice"},
	{PLUGINS("{score: {enabled: [{name: ImageLocality, weight: -1}]}}"),
	 "f.yaml:5: profiles[0].plugins.score.enabled[0].weight: must be a whole number "
	 "from 0 to 1000000"},
	{PLUGINS("{score: {enabled: [{}]}}"),
	 "f.yaml:5: profiles[0].plugins.score.enabled[0]: has no name of a plugin"},
	{PLUGINS("{score: {enabled: [{name: NodePorts}]}}"),
	 "f.yaml:5: profiles[0].plugins.score.enabled[0]: NodePorts has no part there"},
	{PLUGINS("{filter: {enabled: [{name: NodePorts, weight: 2}]}}"),
	 "f.yaml:5: profiles[0].plugins.filter.enabled[0]: a weight has an effect with "
	 "score.enabled and multiPoint.enabled only"},
	{PLUGINS("{bind: {disabled: [{name: DefaultBinder}]}}"),
	 "f.yaml:5: profiles[0].plugins.bind.disabled[0]: DefaultBinder cannot be left "
	 "out"},
	{PLUGINS("{preFilter: {disabled: [{name: NodePorts}]}}"),
	 "f.yaml:5: profiles[0].plugins.preFilter.disabled[0]: the parts of NodePorts go "
	 "together: name it at filter, score or multiPoint"},
	{PLUGINS("{multiPoint: {disabled: [{name: '*'}]}, preFilter: {enabled: [{name: "
		 "NodePorts}]}}"),
	 "f.yaml:5: profiles[0].plugins.preFilter.enabled[0]: the parts of NodePorts go "
	 "together: name it at filter, score or multiPoint"},
	{PLUGINS("{score: {enabled: [{name: DefaultPreemption}]}}"),
	 "f.yaml:5: profiles[0].plugins.score.enabled[0]: DefaultPreemption stands at "
	 "postFilter or multiPoint"},
	{ARGS("Coscheduled", "{}"),
	 "f.yaml:6: profiles[0].pluginConfig[0]: neap has no plugin 'Coscheduled'"},
	{ARGS("ImageLocality", "{}"),
	 "f.yaml:7: profiles[0].pluginConfig[0].args: ImageLocality has no arguments "
	 "here"},
	{ARGS("InterPodAffinity", "{}") "  plugins: {multiPoint: {disabled: [{name: "
					"InterPodAffinity}]}}\n",
	 "f.yaml:6: profiles[0].pluginConfig[0]: InterPodAffinity is disabled in this "
	 "profile"},
	{ARGS("InterPodAffinity", "{}") "  - name: InterPodAffinity\n",
	 "f.yaml:8: profiles[0].pluginConfig[1].name: 'InterPodAffinity' is there twice"},
	{ARGS("InterPodAffinity", "{kind: NodeAffinityArgs}"),
	 "f.yaml:7: profiles[0].pluginConfig[0].args.kind: must be InterPodAffinityArgs"},
	{ARGS("InterPodAffinity", "{apiVersion: v1}"),
	 "f.yaml:7: profiles[0].pluginConfig[0].args.apiVersion: must be "
	 "kubescheduler.config.k8s.io/v1, v1beta3 or v1beta2"},
	{ARGS("InterPodAffinity", "{hardPodAffinityWeight: 101}"),
	 "f.yaml:7: profiles[0].pluginConfig[0].args.hardPodAffinityWeight: must be a "
	 "whole number from 0 to 100"},
	{ARGS("InterPodAffinity", "{ignorePreferredTermsOfExistingPods: 1}"),
	 "f.yaml:7: profiles[0].pluginConfig[0].args.ignorePreferredTermsOfExistingPods: "
	 "must be true or false"},
	{ARGS("NodeResourcesFit", "{scoringStrategy: {type: RequestedToCapacityRatio}}"),
	 "f.yaml:7: profiles[0].pluginConfig[0].args.scoringStrategy.type: "
	 "'RequestedToCapacityRatio' is unknown: there are LeastAllocated, MostAllocated"},
	{ARGS("NodeResourcesFit", "{scoringStrategy: {resources: [{name: cpu}, {name: "
				  "cpu}]}}"),
	 "f.yaml:7: "
	 "profiles[0].pluginConfig[0].args.scoringStrategy.resources[1].name: 'cpu' is "
	 "there twice"},
	{ARGS("NodeResourcesFit", "{ignoredResources: [cpu]}"),
	 "f.yaml:7: profiles[0].pluginConfig[0].args.ignoredResources: [0]: must be the "
	 "name of an extended resource, like example.com/device"},
	{ARGS("NodeResourcesFit", "{ignoredResourceGroups: [a/b]}"),
	 "f.yaml:7: profiles[0].pluginConfig[0].args.ignoredResourceGroups: [0]: must be "
	 "the first part of names of extended resources, like example.com"},
	{ARGS("NodeResourcesBalancedAllocation", "{resources: [{name: cpu, weight: 2}]}"),
	 "f.yaml:7: profiles[0].pluginConfig[0].args.resources[0].weight: must be a whole "
	 "number from 1 to 1"},
	{ARGS("NodeAffinity", "{addedAffinity: {required: {}}}"),
	 "f.yaml:7: profiles[0].pluginConfig[0].args.addedAffinity.required: unknown "
	 "field; there are requiredDuringSchedulingIgnoredDuringExecution, "
	 "preferredDuringSchedulingIgnoredDuringExecution"},
	{ARGS("PodTopologySpread", "{defaultingType: System}"),
	 "f.yaml:7: profiles[0].pluginConfig[0].args.defaultingType: 'System' is unknown: "
	 "there are List"},
	{ARGS("DefaultPreemption",
	      "{minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0}"),
	 "f.yaml:7: profiles[0].pluginConfig[0].args.minCandidateNodesAbsolute: must not "
	 "be 0 with minCandidateNodesPercentage"},
	{ARGS("Reservation",
	      "{minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0}"),
	 "f.yaml:7: profiles[0].pluginConfig[0].args.minCandidateNodesAbsolute: must not "
	 "be 0 with minCandidateNodesPercentage"},
	{ARGS("Reservation", "{kind: ReservationsArgs}"),
	 "f.yaml:7: profiles[0].pluginConfig[0].args.kind: must be ReservationArgs"},
	{ARGS("Reservation", "{enablePreemption: 1}"),
	 "f.yaml:7: profiles[0].pluginConfig[0].args.enablePreemption: must be true or "
	 "false"},
	{ARGS("Reservation", "{gcDurationSeconds: 60}"),
	 "f.yaml:7: profiles[0].pluginConfig[0].args.gcDurationSeconds: is an option of "
	 "neapd: --reservation-gc-age (0: nothing is deleted)"},
	{ARGS("Reservation", "{disableGarbageCollection: true}"),
	 "f.yaml:7: profiles[0].pluginConfig[0].args.disableGarbageCollection: is an "
	 "option of neapd: --reservation-gc-age 0"},
	{ARGS("Reservation", "{gcIntervalSeconds: 60}"),
	 "f.yaml:7: profiles[0].pluginConfig[0].args.gcIntervalSeconds: has no effect "
	 "here: each Reservation is deleted at its own time"},
	{ARGS("Reservation", "{controllerWorkers: 2}"),
	 "f.yaml:7: profiles[0].pluginConfig[0].args.controllerWorkers: has no effect "
	 "here: there is one"},
	{ARGS("Reservation", "{}") "  plugins: {multiPoint: {disabled: [{name: "
				   "Reservation}]}}\n",
	 "f.yaml:6: profiles[0].pluginConfig[0]: Reservation is disabled in this "
	 "profile"},
	{PLUGINS("{multiPoint: {disabled: [{name: '*'}]}, postFilter: {enabled: [{name: "
		 "Reservation}]}}"),
	 "f.yaml:5: profiles[0].plugins.postFilter.enabled[0]: the parts of Reservation "
	 "go together: name it at filter, score or multiPoint"},
	{ARGS("LoadAwareScheduling", "{aggregated: {usage: {}}}"),
	 "f.yaml:7: profiles[0].pluginConfig[0].args.aggregated.usage: unknown field; "
	 "there are usageThresholds, usageAggregationType, usageAggregatedDuration, "
	 "scoreAggregationType, scoreAggregatedDuration"},
	{ARGS("LoadAwareScheduling", "{resourceWeights: {x/y: 1}}"),
	 "f.yaml:7: profiles[0].pluginConfig[0].args.estimatedScalingFactors: has none "
	 "for x/y, which has a weight"},
	{ARGS("LoadAwareScheduling", "{}") "- schedulerName: b\n  pluginConfig:\n"
					   "  - name: LoadAwareScheduling\n"
					   "    args: {dominantResourceWeight: 1}\n",
	 "f.yaml:11: profiles[1].pluginConfig[0].args: differs from another profile's: "
	 "these hold for the whole cluster"},
	{ARGS("NodeNUMAResource", "{defaultCPUBindPolicy: Whole}"),
	 "f.yaml:7: profiles[0].pluginConfig[0].args.defaultCPUBindPolicy: 'Whole' is "
	 "unknown: there are FullPCPUs, SpreadByPCPUs"},
	{ARGS("NodeNUMAResource", "{scoringStrategy: {resources: [{name: 'a b'}]}}"),
	 "f.yaml:7: profiles[0].pluginConfig[0].args.scoringStrategy.resources[0].name: "
	 "'a b' is no name of a resource"},
	{ARGS("NodeNUMAResource",
	      "{scoringStrategy: {resources: [{name: a/b}, {name: a/b}]}}"),
	 "f.yaml:7: profiles[0].pluginConfig[0].args.scoringStrategy.resources[1].name: "
	 "'a/b' is there twice"},
	{ARGS("NodeNUMAResource",
	      "{numaScoringStrategy: {resources: [{name: cpu, weight: 2}]}}"),
	 "f.yaml:7: profiles[0].pluginConfig[0].args.numaScoringStrategy.resources: must "
	 "be those of scoringStrategy, whose weights count for both"},
};

static void test_bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(bad); i++) {
		struct neap_schedule_config *config = NULL;
		struct neap_error err = {0};

		if (neap_schedule_config_parse(bad[i].text, strlen(bad[i].text), "f.yaml",
					       &config, &err) >= 0)
			fail_msg("taken: %s", bad[i].text);
		assert_null(config);
		assert_string_equal(err.msg, bad[i].message);
		assert_string_equal(err.field, "");
	}
}

static void test_no_memory(void **state)
{
	static const char text[] = PROFILE
		"  pluginConfig:\n"
		"  - name: NodeAffinity\n"
		"    args: {addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
		"{nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}}\n"
		"  - name: NodeResourcesFit\n"
		"    args: {ignoredResources: [a.b/c]}\n"
		"- schedulerName: b\n"
		"parallelism: 1\n";
	bool was_short = false;

	(void)state;
	for (uint64_t n = 1; n < 400; n++) {
		struct neap_schedule_config *config = NULL;
		struct neap_error err = {0};
		int ret;

		neap_mem_fail_at(n);
		ret = neap_schedule_config_parse(text, sizeof(text) - 1, "f", &config,
						 &err);
		neap_mem_fail_at(0);
		assert_true(ret == 0 || ret == -NEAP_ENOMEM);
		was_short |= ret < 0;
		(void)neap_schedule_config_unref(config);
	}
	assert_true(was_short);
}

/* What Reservations may do, and by whom they are compared, is theirs alone. */
static void test_reservations(void **state)
{
	struct neap_schedule_config *config = read_good(
		PROFILE
		"  plugins: {postFilter: {enabled: [{name: Reservation}]}, score: "
		"{enabled: [{name: Reservation, weight: 40}]}}\n"
		"  pluginConfig:\n  - name: Reservation\n    args: {apiVersion: "
		"kubescheduler.config.k8s.io/v1, kind: ReservationArgs, "
		"enablePreemption: true, enableClusterModePreAllocation: true, "
		"minCandidateNodesPercentage: 7, minCandidateNodesAbsolute: 3}\n");
	const struct neap_settings *settings = config->profiles[0].settings;

	(void)state;
	assert_true(settings->reservations_preempt && settings->takes_over_by_label);
	assert_int_equal(settings->reservation_trials.percent, 7);
	assert_int_equal(settings->reservation_trials.least, 3);
	assert_int_equal(settings->trials.percent, 10);
	assert_int_equal(settings->trials.least, 100);
	assert_int_equal(settings->weights[NEAP_SCORE_RESERVATION], 40);
	(void)neap_schedule_config_unref(config);
	config = read_good(PROFILE);
	settings = config->profiles[0].settings;
	assert_false(settings->reservations_preempt || settings->takes_over_by_label);
	assert_int_equal(settings->weights[NEAP_SCORE_RESERVATION], 5000);
	(void)neap_schedule_config_unref(config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_said_is_kube_schedulers),
		cmocka_unit_test(test_example),
		cmocka_unit_test(test_which_plugins),
		cmocka_unit_test(test_what_has_no_effect_is_told),
		cmocka_unit_test(test_cpus),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_reservations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
