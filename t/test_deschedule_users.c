/* SPDX-License-Identifier: Apache-2.0
 *
 * What users' configurations of the descheduler come to: the arguments that the shipped
 * strategies run with, and the rules of the evictor, for both forms. The files are of our
 * own making, of the shapes that people have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/deschedule/config/config.h"
#include "api/deschedule/play/play.h"
#include "api/deschedule/play/play_open.h"
#include "api/deschedule/play/strategies.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

static const char upstream[] =
	"apiVersion: \"descheduler/v1alpha2\"\n"
	"kind: \"DeschedulerPolicy\"\n"
	"nodeSelector: \"pool in (web, batch)\"\n"
	"maxNoOfPodsToEvictPerNode: 5\n"
	"maxNoOfPodsToEvictPerNamespace: 20\n"
	"metricsCollector:\n"
	"  enabled: true\n"
	"profiles:\n"
	"  - name: tidy\n"
	"    pluginConfig:\n"
	"    - name: \"DefaultEvictor\"\n"
	"      args:\n"
	"        nodeFit: true\n"
	"        minReplicas: 2\n"
	"        nodeSelector: pool=web\n"
	"        evictLocalStoragePods: true\n"
	"        priorityThreshold:\n"
	"          value: 10000\n"
	"        labelSelector:\n"
	"          matchExpressions:\n"
	"          - {key: tier, operator: NotIn, values: [data]}\n"
	"    - name: \"PodLifeTime\"\n"
	"      args:\n"
	"        maxPodLifeTimeSeconds: 604800\n"
	"        states:\n"
	"        - \"Pending\"\n"
	"        - \"PodInitializing\"\n"
	"        namespaces:\n"
	"          include:\n"
	"          - \"shop\"\n"
	"          - \"shop-test\"\n"
	"        labelSelector:\n"
	"          matchLabels:\n"
	"            app: web\n"
	"    - name: \"RemoveFailedPods\"\n"
	"      args:\n"
	"        reasons: [NodeAffinity]\n"
	"        includingInitContainers: true\n"
	"        excludeOwnerKinds: [Job]\n"
	"        minPodLifetimeSeconds: 0\n"
	"        namespaces:\n"
	"          include: []\n"
	"          exclude: [kube-system]\n"
	"    - name: \"RemovePodsViolatingNodeTaints\"\n"
	"      args:\n"
	"        excludedTaints:\n"
	"        - dedicated=tests\n"
	"        namespaces:\n"
	"    - name: \"LowNodeUtilization\"\n"
	"      args:\n"
	"        thresholds:\n"
	"          \"cpu\" : 20\n"
	"          \"memory\": 20\n"
	"          \"example.com/card\": 10\n"
	"        targetThresholds:\n"
	"          \"cpu\" : 50\n"
	"          \"memory\": 50\n"
	"          \"example.com/card\": 90\n"
	"        numberOfNodes: 1\n"
	"        evictableNamespaces:\n"
	"          exclude:\n"
	"          - \"kube-system\"\n"
	"        metricsUtilization:\n"
	"          source: KubernetesMetrics\n"
	"    plugins:\n"
	"      deschedule:\n"
	"        enabled:\n"
	"          - \"PodLifeTime\"\n"
	"          - \"RemoveFailedPods\"\n"
	"          - \"RemovePodsViolatingNodeTaints\"\n"
	"      balance:\n"
	"        enabled:\n"
	"          - \"LowNodeUtilization\"\n"
	"  - name: spread\n"
	"    pluginConfig:\n"
	"    - name: DefaultEvictor\n"
	"      args: {priorityThreshold: {name: batch-low},\n"
	"             namespaceLabelSelector: {matchLabels: {team: shop}}}\n"
	"    - name: RemovePodsViolatingTopologySpreadConstraint\n"
	"    plugins: {balance: {enabled: "
	"[RemovePodsViolatingTopologySpreadConstraint]}}\n";

/* As the chart of Koordinator writes it, with strategies of the descheduler. */
static const char koordinator[] =
	"apiVersion: v1\n"
	"kind: ConfigMap\n"
	"metadata:\n"
	"  name: koord-descheduler-config\n"
	"  namespace: koordinator-system\n"
	"  resourceVersion: \"5\"\n"
	"data:\n"
	"  koord-descheduler-config: |\n"
	"    apiVersion: descheduler/v1alpha2\n"
	"    kind: DeschedulerConfiguration\n"
	"    enableContentionProfiling: true\n"
	"    healthzBindAddress: 0.0.0.0:10251\n"
	"    leaderElection:\n"
	"      resourceLock: leases\n"
	"      resourceName: koord-descheduler\n"
	"    deschedulingInterval: 2m\n"
	"    nodeSelector:\n"
	"      matchLabels:\n"
	"        pool: web\n"
	"    profiles:\n"
	"    - name: koord-descheduler\n"
	"      plugins:\n"
	"        evict:\n"
	"          disabled:\n"
	"          - name: \"*\"\n"
	"          enabled:\n"
	"          - name: MigrationController\n"
	"        deschedule:\n"
	"          disabled:\n"
	"          - name: \"*\"\n"
	"          enabled:\n"
	"          - name: RemovePodsHavingTooManyRestarts\n"
	"          - name: RemovePodsViolatingNodeAffinity\n"
	"        balance:\n"
	"          enabled:\n"
	"          - name: LowNodeLoad\n"
	"      pluginConfig:\n"
	"      - name: MigrationController\n"
	"        args:\n"
	"          apiVersion: descheduler/v1alpha2\n"
	"          kind: MigrationControllerArgs\n"
	"          evictionPolicy: Eviction\n"
	"          evictQPS: \"10\"\n"
	"          nodeFit: true\n"
	"          nodeSelector: pool=web\n"
	"          namespaces:\n"
	"            exclude: [kube-system, koordinator-system]\n"
	"          labelSelector: {matchLabels: {app: web}}\n"
	"          priorityThreshold: {name: batch-low}\n"
	"      - name: RemovePodsHavingTooManyRestarts\n"
	"        args:\n"
	"          apiVersion: descheduler/v1alpha2\n"
	"          kind: RemovePodsHavingTooManyRestartsArgs\n"
	"          podRestartThreshold: 30\n"
	"          labelSelector:\n"
	"            matchExpressions: [{key: app, operator: Exists}]\n"
	"          namespaces: {include: [shop]}\n"
	"      - name: RemovePodsViolatingNodeAffinity\n"
	"        args:\n"
	"          nodeAffinityType:\n"
	"          - requiredDuringSchedulingIgnoredDuringExecution\n"
	"      - name: LowNodeLoad\n"
	"        args:\n"
	"          apiVersion: descheduler/v1alpha2\n"
	"          kind: LowNodeLoadArgs\n"
	"          nodeFit: false\n"
	"          evictableNamespaces:\n"
	"            include: []\n"
	"            exclude: [kube-system, koordinator-system]\n"
	"          podSelectors:\n"
	"          - name: batch\n"
	"            selector: {matchLabels: {koordinator.sh/qosClass: BE}}\n"
	"          lowThresholds: {cpu: 25, memory: 35}\n"
	"          highThresholds: {cpu: 65, memory: 75.5}\n";

static bool priority_of(void *arg, const char *name, int64_t *ret)
{
	(void)arg;
	*ret = strcmp(name, "batch-low") == 0 ? 5000 : 2000001000;
	return strcmp(name, "no-class") != 0;
}

static int read_set(const struct neap_strategies *strategies, const char *text,
		    struct neap_play_set **ret, struct neap_error *err)
{
	struct neap_deschedule_lines lines = {0};
	struct neap_deschedule_config *config = NULL;
	struct neap_play_opening *opening = NULL;
	int rc = neap_deschedule_config_parse(text, strlen(text), "f.yaml",
					      neap_strategies_plugins(strategies),
					      &config, &lines, err);

	if (rc == 0)
		rc = neap_play_set_new(config, NULL, priority_of, NULL, ret, err);
	if (rc == 0)
		rc = neap_play_opening_new(*ret, strategies, &opening, err);
	if (rc == 0) {
		neap_play_opening_work(opening);
		rc = neap_play_opening_end(opening, err);
	}
	(void)neap_deschedule_config_unref(config);
	neap_deschedule_lines_done(&lines);
	return rc;
}

static struct neap_play_set *open_set(const struct neap_strategies *strategies,
				      const char *text)
{
	struct neap_play_set *set = NULL;
	struct neap_error err = {0};

	if (read_set(strategies, text, &set, &err) < 0)
		fail_msg("%s: %s", err.field, err.msg);
	return set;
}

/* The parameter at the path of the policy that a plugin runs, as JSON; the caller frees
 * it. */
static char *param(const struct neap_play_profile *profile, const char *plugin,
		   const char *path)
{
	json_t *values = NULL;
	char *text;

	for (size_t i = 0; i < profile->of->plugin_count; i++)
		if (strcmp(profile->plugins[i].name, plugin) == 0) {
			assert_string_equal(profile->plugins[i].broken, "");
			values = neap_policy_params(profile->plugins[i].policy);
		}
	assert_non_null(values);
	text = neap_json_at(values, path)
		       ? neap_json_dump(neap_json_at(values, path),
					JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS |
						JSON_REAL_PRECISION(6))
		       : neap_strdup("none");
	json_decref(values);
	return text;
}

struct want {
	const char *plugin, *path, *json;
};

static void check_params(const struct neap_play_profile *profile,
			 const struct want *wants, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char *is = param(profile, wants[i].plugin, wants[i].path);

		if (strcmp(is, wants[i].json) != 0)
			fail_msg("%s.%s: %s, wanted %s", wants[i].plugin, wants[i].path,
				 is, wants[i].json);
		free(is);
	}
}

static bool selects(const struct neap_selector *selector, const char *key,
		    const char *value)
{
	json_t *labels = json_pack("{s:s}", key, value);
	bool is = selector && neap_selector_matches(selector, labels);

	json_decref(labels);
	return is;
}

static void test_upstream(void **state)
{
	static const struct want wants[] = {
		{"PodLifeTime", "maxPodLifeTimeSeconds", "604800"},
		{"PodLifeTime", "states", "[\"Pending\",\"PodInitializing\"]"},
		{"PodLifeTime", "namespaces.include", "[\"shop\",\"shop-test\"]"},
		{"PodLifeTime", "labelSelector", "{\"matchLabels\":{\"app\":\"web\"}}"},
		{"RemoveFailedPods", "minPodLifetimeSeconds", "0"},
		{"RemoveFailedPods", "namespaces.exclude", "[\"kube-system\"]"},
		{"RemoveFailedPods", "excludeOwnerKinds", "[\"Job\"]"},
		{"RemovePodsViolatingNodeTaints", "excludedTaints",
		 "[\"dedicated=tests\"]"},
		{"RemovePodsViolatingNodeTaints", "namespaces", "null"},
		{"LowNodeUtilization", "thresholds",
		 "{\"cpu\":20.0,\"example.com/card\":10.0,\"memory\":20.0}"},
		{"LowNodeUtilization", "targetThresholds",
		 "{\"cpu\":50.0,\"example.com/card\":90.0,\"memory\":50.0}"},
		{"LowNodeUtilization", "evictableNamespaces.exclude",
		 "[\"kube-system\"]"},
		{"LowNodeUtilization", "metricsUtilization.source",
		 "\"KubernetesMetrics\""},
		{"LowNodeUtilization", "numberOfNodes", "1"},
	};
	static const struct want spread[] = {
		{"RemovePodsViolatingTopologySpreadConstraint", "constraints",
		 "[\"DoNotSchedule\"]"},
	};
	struct neap_play_set *set = open_set(*state, upstream);
	const struct neap_deschedule_config *config = set->config;
	const struct neap_evictor *evictor = &set->profiles[0].evictor;

	assert_int_equal(config->profile_count, 2);
	assert_int_equal(config->per_node, 5);
	assert_int_equal(config->per_namespace, 20);
	assert_true(config->has_metrics);
	assert_true(selects(config->nodes, "pool", "batch"));
	assert_false(selects(config->nodes, "pool", "data"));
	check_params(&set->profiles[0], wants, NEAP_ARRAY_LEN(wants));
	assert_true(evictor->fits_nodes);
	assert_int_equal(evictor->min_replicas, 2);
	assert_true(evictor->has_threshold);
	assert_int_equal(evictor->threshold, 10000);
	assert_true(selects(evictor->nodes, "pool", "web"));
	assert_true(selects(evictor->labels, "tier", "web"));
	assert_false(selects(evictor->labels, "tier", "data"));
	assert_false(evictor->keep & NEAP_KEEP_LOCAL);
	assert_true(evictor->keep & NEAP_KEEP_DAEMON);
	evictor = &set->profiles[1].evictor;
	assert_int_equal(evictor->threshold, 5000);
	assert_false(evictor->fits_nodes);
	assert_true(selects(evictor->namespaces, "team", "shop"));
	assert_true(evictor->keep & NEAP_KEEP_LOCAL);
	check_params(&set->profiles[1], spread, NEAP_ARRAY_LEN(spread));
	neap_play_set_free(set);
}

static void test_koordinator(void **state)
{
	static const struct want wants[] = {
		{"RemovePodsHavingTooManyRestarts", "podRestartThreshold", "30"},
		{"RemovePodsHavingTooManyRestarts", "namespaces.include", "[\"shop\"]"},
		{"RemovePodsHavingTooManyRestarts", "labelSelector",
		 "{\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"Exists\"}]}"},
		{"RemovePodsViolatingNodeAffinity", "nodeAffinityType",
		 "[\"requiredDuringSchedulingIgnoredDuringExecution\"]"},
		{"LowNodeLoad", "nodeFit", "false"},
		{"LowNodeLoad", "evictableNamespaces.exclude",
		 "[\"kube-system\",\"koordinator-system\"]"},
		{"LowNodeLoad", "highThresholds", "{\"cpu\":65.0,\"memory\":75.5}"},
		{"LowNodeLoad", "nodeMetricExpirationSeconds", "180"},
		{"LowNodeLoad", "podSelectors",
		 "[{\"name\":\"batch\",\"selector\":{\"matchLabels\":{"
		 "\"koordinator.sh/qosClass\":\"BE\"}}}]"},
	};
	struct neap_play_set *set = open_set(*state, koordinator);
	const struct neap_play_profile *profile = &set->profiles[0];
	const struct neap_migrate_args *args = &profile->migrate;

	assert_int_equal(set->config->interval_usec, 120000000);
	assert_true(selects(set->config->nodes, "pool", "web"));
	assert_false(profile->has_evictor);
	assert_true(profile->has_migrate);
	check_params(profile, wants, NEAP_ARRAY_LEN(wants));
	assert_true(args->node_fit);
	assert_true(selects(args->node_selector, "pool", "web"));
	assert_true(selects(args->selector, "app", "web"));
	assert_true(args->has_threshold);
	assert_int_equal(args->threshold, 5000);
	assert_int_equal(json_array_size(args->exclude), 2);
	assert_true(args->qps == 10);
	assert_int_equal(args->per_node, 2);
	neap_play_set_free(set);
}

#define EVICTOR(args)                                                                    \
	"apiVersion: descheduler/v1alpha2\n"                                             \
	"kind: DeschedulerPolicy\n"                                                      \
	"profiles:\n"                                                                    \
	"- pluginConfig: [{name: DefaultEvictor, args: {" args "}}]\n"                   \
	"  plugins: {balance: {enabled: [RemoveDuplicates]}}\n"

/* A threshold that no pod could reach that may leave at all is a slip, as upstream. */
static void test_thresholds(void **state)
{
	static const struct {
		const char *text, *want; /* part of the error; NULL: it is taken */
	} cases[] = {
		{EVICTOR("priorityThreshold: {value: 2000000000}"), NULL},
		{EVICTOR("priorityThreshold: {value: 2000000001}"),
		 "priorityThreshold.value: must be at most 2000000000"},
		{EVICTOR("priorityThreshold: {name: batch-low}"), NULL},
		{EVICTOR("priorityThreshold: {name: no-class}"), "no-class"},
		{EVICTOR("priorityThreshold: {name: very-high}"), "above 2000000000"},
		{EVICTOR("priorityThreshold: {name: batch-low, value: 1}"), "only one"},
	};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(cases); i++) {
		struct neap_play_set *set = NULL;
		struct neap_error err = {0};
		int rc = read_set(*state, cases[i].text, &set, &err);

		neap_play_set_free(set);
		if ((rc == 0) != !cases[i].want ||
		    (rc < 0 && !strstr(err.msg, cases[i].want)))
			fail_msg("%zu: %d %s", i, rc, err.msg);
	}
}

static int setup(void **state)
{
	struct neap_strategies *strategies = NULL;
	struct neap_error err = {0};

	neap_json_setup();
	if (neap_strategies_new("policies", NULL, &strategies, &err) < 0)
		fail_msg("%s", err.msg);
	*state = strategies;
	return 0;
}

static int teardown(void **state)
{
	neap_strategies_free(*state);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_upstream),
		cmocka_unit_test(test_koordinator),
		cmocka_unit_test(test_thresholds),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
