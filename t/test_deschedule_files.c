/* SPDX-License-Identifier: Apache-2.0
 *
 * Users' configurations of the descheduler against the shipped strategies: files of our
 * own of the shapes that people have, and those of $NEAP_CONFIGS (default
 * ../shared/cases/configs) where they are there. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/deschedule/config/config.h"
#include "api/deschedule/play/play_open.h"
#include "api/deschedule/play/strategies.h"
#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

#define KOORD                                                                            \
	"apiVersion: descheduler/v1alpha2\n"                                             \
	"kind: DeschedulerConfiguration\n"                                               \
	"deschedulingInterval: 60s\n"                                                    \
	"profiles:\n"                                                                    \
	"- name: k\n"
#define POLICY                                                                           \
	"apiVersion: descheduler/v1alpha2\n"                                             \
	"kind: DeschedulerPolicy\n"                                                      \
	"profiles:\n"                                                                    \
	"- name: p\n"

static const struct {
	const char *name, *text;
	const char *want[6]; /* parts of faults, or with "? " of warnings, in any order */
} rows[] = {
	{"four strategies and the evictor",
	 POLICY
	 "  pluginConfig:\n"
	 "  - name: DefaultEvictor\n"
	 "    args:\n"
	 "      nodeFit: true\n"
	 "      minReplicas: 2\n"
	 "      minPodAge: 20m\n"
	 "      labelSelector: {matchExpressions: [{key: app, operator: Exists}]}\n"
	 "      podProtections:\n"
	 "        extraEnabled: [PodsWithPVC, PodsWithoutPDB]\n"
	 "        defaultDisabled: [PodsWithLocalStorage]\n"
	 "  - name: RemovePodsHavingTooManyRestarts\n"
	 "    args: {podRestartThreshold: 8, includingInitContainers: true,\n"
	 "           states: [CrashLoopBackOff], namespaces: {include: [a, b]}}\n"
	 "  - name: RemovePodsViolatingNodeTaints\n"
	 "    args: {excludedTaints: [spare=yes], includePreferNoSchedule: true}\n"
	 "  - name: RemovePodsViolatingTopologySpreadConstraint\n"
	 "    args: {constraints: [DoNotSchedule, ScheduleAnyway]}\n"
	 "  - name: LowNodeUtilization\n"
	 "    args:\n"
	 "      thresholds: {cpu: 20, memory: 20.5, pods: 20}\n"
	 "      targetThresholds: {cpu: 50, memory: 50, pods: 50}\n"
	 "      evictableNamespaces: {exclude: [kube-system]}\n"
	 "      evictionLimits: {node: 3}\n"
	 "  plugins:\n"
	 "    deschedule:\n"
	 "      enabled: [RemovePodsHavingTooManyRestarts, "
	 "RemovePodsViolatingNodeTaints]\n"
	 "    balance:\n"
	 "      enabled: [RemovePodsViolatingTopologySpreadConstraint, "
	 "LowNodeUtilization]\n",
	 {NULL}},
	{"life time, failed pods, affinity, duplicates",
	 POLICY "  pluginConfig:\n"
		"  - name: PodLifeTime\n"
		"    args: {maxPodLifeTimeSeconds: 86400, states: [Pending],\n"
		"           labelSelector: {matchLabels: {tier: batch}}}\n"
		"  - name: RemoveFailedPods\n"
		"    args: {reasons: [OutOfcpu], exitCodes: [1],\n"
		"           excludeOwnerKinds: [Job], minPodLifetimeSeconds: 60}\n"
		"  - name: RemovePodsViolatingNodeAffinity\n"
		"    args: {nodeAffinityType: "
		"[requiredDuringSchedulingIgnoredDuringExecution]}\n"
		"  - name: RemovePodsViolatingInterPodAntiAffinity\n"
		"    args: {}\n"
		"  - name: RemoveDuplicates\n"
		"    args: {excludeOwnerKinds: [ReplicaSet], namespaces: {exclude: "
		"[kube-system]}}\n"
		"  - name: HighNodeUtilization\n"
		"    args: {thresholds: {cpu: 20}, numberOfNodes: 2}\n"
		"  plugins:\n"
		"    deschedule: {enabled: [PodLifeTime, RemoveFailedPods,\n"
		"      RemovePodsViolatingNodeAffinity,\n"
		"      RemovePodsViolatingInterPodAntiAffinity]}\n"
		"    balance: {enabled: [RemoveDuplicates, HighNodeUtilization]}\n",
	 {NULL}},
	{"koordinator with LowNodeLoad and migration",
	 KOORD "  plugins:\n"
	       "    balance: {enabled: [{name: LowNodeLoad}]}\n"
	       "  pluginConfig:\n"
	       "  - name: MigrationController\n"
	       "    args:\n"
	       "      apiVersion: descheduler/v1alpha2\n"
	       "      kind: MigrationControllerArgs\n"
	       "      maxMigratingPerNode: 3\n"
	       "      maxMigratingPerWorkload: 20%\n"
	       "      evictQPS: \"5\"\n"
	       "      defaultJobMode: EvictDirectly\n"
	       "      namespaces: {exclude: [kube-system]}\n"
	       "      priorityThreshold: {value: 9000}\n"
	       "  - name: LowNodeLoad\n"
	       "    args:\n"
	       "      apiVersion: descheduler/v1alpha2\n"
	       "      kind: LowNodeLoadArgs\n"
	       "      nodeMetricExpirationSeconds: 300\n"
	       "      evictableNamespaces: {exclude: [kube-system]}\n"
	       "      detectorCacheTimeout: 10m\n"
	       "      lowThresholds: {cpu: 20, memory: 30}\n"
	       "      highThresholds: {cpu: 50, memory: 60.5}\n"
	       "      anomalyCondition: {consecutiveAbnormalities: 2}\n",
	 {NULL}},
	{"deprecated flags of the evictor",
	 POLICY "  pluginConfig:\n"
		"  - name: DefaultEvictor\n"
		"    args: {evictLocalStoragePods: true}\n"
		"  plugins: {balance: {enabled: [RemoveDuplicates]}}\n",
	 {"? deprecated", "? RemoveDuplicates has no pluginConfig"}},
	{"all taints",
	 POLICY "  pluginConfig:\n"
		"  - name: RemovePodsViolatingNodeTaints\n"
		"    args: {includedTaints: []}\n"
		"  plugins: {deschedule: {enabled: [RemovePodsViolatingNodeTaints]}}\n",
	 {"? f.yaml:7: profiles[0].pluginConfig[0].args.includedTaints: an empty list "
	  "means all taints"}},
	{"no thresholds",
	 KOORD "  plugins: {balance: {enabled: [{name: LowNodeLoad}]}}\n",
	 {"? has no thresholds: it does nothing"}},
	{"needed arguments",
	 POLICY "  pluginConfig:\n"
		"  - name: LowNodeUtilization\n"
		"  - name: PodLifeTime\n"
		"  plugins: {balance: {enabled: [LowNodeUtilization]},\n"
		"            deschedule: {enabled: [PodLifeTime]}}\n",
	 {"f.yaml:6: profiles[0].pluginConfig[0].targetThresholds",
	  "f.yaml:7: profiles[0].pluginConfig[1].maxPodLifeTimeSeconds"}},
	{"wrong values",
	 POLICY "  pluginConfig:\n"
		"  - name: RemovePodsHavingTooManyRestarts\n"
		"    args: {podRestartThreshold: 0}\n"
		"  - name: RemovePodsViolatingNodeTaints\n"
		"    args: {includedTaints: [a], excludedTaints: [b]}\n"
		"  - name: LowNodeUtilization\n"
		"    args: {thresholds: {cpu: 130}, targetThresholds: {cpu: 140}}\n"
		"  plugins: {balance: {enabled: [LowNodeUtilization]},\n"
		"            deschedule: {enabled: [RemovePodsHavingTooManyRestarts, "
		"RemovePodsViolatingNodeTaints]}}\n",
	 {"f.yaml:7: profiles[0].pluginConfig[0].args.podRestartThreshold",
	  "f.yaml:9: profiles[0].pluginConfig[1].args",
	  "f.yaml:11: profiles[0].pluginConfig[2].args.thresholds.cpu",
	  "f.yaml:11: profiles[0].pluginConfig[2].args.targetThresholds.cpu"}},
	{"arguments of older versions, and of the evictor",
	 POLICY "  pluginConfig:\n"
		"  - name: RemovePodsViolatingTopologySpreadConstraint\n"
		"    args:\n"
		"      includeSoftConstraints: true\n"
		"      nodeFit: true\n"
		"  - name: PodLifeTime\n"
		"    args:\n"
		"      maxPodLifeTimeSeconds: 60\n"
		"      podStatusPhases: [Pending]\n"
		"  plugins: {balance: {enabled: "
		"[RemovePodsViolatingTopologySpreadConstraint]},\n"
		"            deschedule: {enabled: [PodLifeTime]}}\n",
	 {"f.yaml:8: profiles[0].pluginConfig[0].args.includeSoftConstraints: is gone: "
	  "write constraints: [DoNotSchedule, ScheduleAnyway]",
	  "f.yaml:9: profiles[0].pluginConfig[0].args.nodeFit: belongs into the args of "
	  "DefaultEvictor",
	  "f.yaml:13: profiles[0].pluginConfig[1].args.podStatusPhases: is gone: write "
	  "states"}},
	{"a number in quotes",
	 KOORD "  plugins: {balance: {enabled: [{name: LowNodeLoad}]}}\n"
	       "  pluginConfig:\n"
	       "  - name: MigrationController\n"
	       "    args: {maxUnavailablePerWorkload: \"3\"}\n",
	 {"f.yaml:9: profiles[0].pluginConfig[0].args.maxUnavailablePerWorkload",
	  "? has no thresholds"}},
	{"low above high",
	 KOORD "  plugins: {balance: {enabled: [{name: LowNodeLoad}]}}\n"
	       "  pluginConfig:\n"
	       "  - name: LowNodeLoad\n"
	       "    args: {lowThresholds: {cpu: 60}, highThresholds: {cpu: 50}}\n",
	 {"f.yaml:9: profiles[0].pluginConfig[0].args.lowThresholds"}},
	{"two protections",
	 POLICY "  pluginConfig:\n"
		"  - name: DefaultEvictor\n"
		"    args: {evictDaemonSetPods: true, podProtections: {extraEnabled: "
		"[PodsWithPVC]}}\n"
		"  plugins: {balance: {enabled: [RemoveDuplicates]}}\n",
	 {"f.yaml:7: profiles[0].pluginConfig[0].args",
	  "? evictDaemonSetPods: is deprecated, and not together",
	  "? RemoveDuplicates has no pluginConfig"}},
};

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

static bool is_said(const struct neap_deschedule_lines *lines, const char *want)
{
	bool is_fault = strncmp(want, "? ", 2) != 0;

	for (size_t i = 0; i < lines->count; i++)
		if (lines->is_fault[i] == is_fault &&
		    strstr(lines->line[i], is_fault ? want : want + 2))
			return true;
	return false;
}

static void print(const struct neap_deschedule_lines *lines)
{
	for (size_t i = 0; i < lines->count; i++)
		print_message("%s %s\n",
			      lines->is_fault[i] ? "fault:" : "warning:", lines->line[i]);
}

static void test_rows(void **state)
{
	const struct neap_strategies *strategies = *state;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_deschedule_lines lines = {0};
		struct neap_deschedule_config *config = NULL;
		struct neap_error err = {0};
		size_t wanted = 0;
		int rc = neap_deschedule_config_parse(
			rows[i].text, strlen(rows[i].text), "f.yaml",
			neap_strategies_plugins(strategies), &config, &lines, &err);

		for (; wanted < 6 && rows[i].want[wanted]; wanted++)
			if (!is_said(&lines, rows[i].want[wanted])) {
				print(&lines);
				fail_msg("%s: not said: %s", rows[i].name,
					 rows[i].want[wanted]);
			}
		if (lines.count != wanted || (rc == 0) != (lines.faults == 0)) {
			print(&lines);
			fail_msg("%s: %zu lines, wanted %zu", rows[i].name, lines.count,
				 wanted);
		}
		(void)neap_deschedule_config_unref(config);
		neap_deschedule_lines_done(&lines);
	}
}

/* What can be read can run. */
static void test_opened(void **state)
{
	const struct neap_strategies *strategies = *state;

	for (size_t i = 0; i < 3; i++) {
		struct neap_deschedule_lines lines = {0};
		struct neap_deschedule_config *config = NULL;
		struct neap_play_set *set = NULL;
		struct neap_play_opening *opening = NULL;
		struct neap_error err = {0};

		assert_int_equal(neap_deschedule_config_parse(
					 rows[i].text, strlen(rows[i].text), "f.yaml",
					 neap_strategies_plugins(strategies), &config,
					 &lines, &err),
				 0);
		if (neap_play_set_new(config, NULL, NULL, NULL, &set, &err) < 0 ||
		    neap_play_opening_new(set, strategies, &opening, &err) < 0)
			fail_msg("%s: %s", rows[i].name, err.msg);
		neap_play_opening_work(opening);
		assert_int_equal(neap_play_opening_end(opening, &err), 0);
		for (size_t n = 0; n < config->profiles[0].plugin_count; n++)
			assert_string_equal(set->profiles[0].plugins[n].broken, "");
		neap_play_set_free(set);
		(void)neap_deschedule_config_unref(config);
		neap_deschedule_lines_done(&lines);
	}
}

/* Koordinator's defaults: one profile that carries out PodMigrationJobs, and does nothing
 * else; an only profile needs neither a name nor plugins. */
static void test_default_profile(void **state)
{
	static const struct {
		const char *text, *name;
		size_t warnings;
	} same[] = {
		{"", "koord-descheduler", 1},
		{"profiles: []\n", "koord-descheduler", 1},
		{"profiles:\n", "koord-descheduler", 1},
		{"profiles: [{}]\n", "koord-descheduler", 0},
		{"profiles: [{name: a}]\n", "a", 0},
		{"profiles: [{plugins: {balance: {enabled: []}}}]\n", "koord-descheduler",
		 0},
	};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(same); i++) {
		struct neap_deschedule_lines lines = {0};
		struct neap_deschedule_config *config = NULL;
		const struct neap_deschedule_profile *profile;
		struct neap_error err = {0};
		char text[256];

		(void)snprintf(text, sizeof(text),
			       "apiVersion: descheduler/v1alpha2\n"
			       "kind: DeschedulerConfiguration\n%s",
			       same[i].text);
		if (neap_deschedule_config_parse(text, strlen(text), "f.yaml",
						 neap_strategies_plugins(*state), &config,
						 &lines, &err) < 0)
			fail_msg("%s: %s", same[i].text, err.msg);
		assert_int_equal(lines.count, same[i].warnings);
		assert_int_equal(config->profile_count, 1);
		profile = &config->profiles[0];
		assert_string_equal(profile->name, same[i].name);
		assert_int_equal(profile->plugin_count, 1);
		assert_string_equal(profile->plugins[0].name, "MigrationController");
		assert_int_equal(profile->at_count[NEAP_AT_EVICT], 1);
		assert_int_equal(profile->at_count[NEAP_AT_FILTER], 1);
		(void)neap_deschedule_config_unref(config);
		neap_deschedule_lines_done(&lines);
	}
}

/* --- files of others --- */

/* Whether an expectation's first word takes the file. */
static bool is_taken(const char *dir, const char *name)
{
	neap_auto_buf struct neap_buf text = {0};
	struct neap_error err = {0};
	char file[512];

	(void)snprintf(file, sizeof(file), "%s/%s.expected.txt", dir, name);
	neap_buf_init(&text, NEAP_BUF_FILE);
	if (neap_file_load(file, &text, &err) < 0)
		fail_msg("%s", err.msg);
	return strncmp(text.data, "TAKEN", 5) == 0 ||
	       strncmp(text.data, "neap: TAKEN", 11) == 0;
}

/* An expectation names the lines of faults as "(line 12". */
static void check_places(const char *dir, const char *name,
			 const struct neap_deschedule_lines *lines)
{
	neap_auto_buf struct neap_buf text = {0};
	struct neap_error err = {0};
	char file[512], place[64];
	const char *at;

	(void)snprintf(file, sizeof(file), "%s/%s.expected.txt", dir, name);
	neap_buf_init(&text, NEAP_BUF_FILE);
	if (neap_file_load(file, &text, &err) < 0)
		fail_msg("%s", err.msg);
	/* Only the first line, as further ones explain. */
	text.data[strcspn(text.data, "\n")] = '\0';
	for (at = strstr(text.data, "line "); at; at = strstr(at + 1, "line ")) {
		bool is_there = false;

		(void)snprintf(place, sizeof(place), ":%ld: ", strtol(at + 5, NULL, 10));
		for (size_t i = 0; i < lines->count; i++)
			is_there = is_there || strstr(lines->line[i], place);
		(void)snprintf(place, sizeof(place), "(line %ld)",
			       strtol(at + 5, NULL, 10));
		for (size_t i = 0; i < lines->count; i++)
			is_there = is_there || strstr(lines->line[i], place);
		if (!is_there) {
			print(lines);
			fail_msg("%s: nothing said of %.10s", name, at);
		}
	}
}

static void check_file(const struct neap_strategies *strategies, const char *dir,
		       const char *entry)
{
	struct neap_deschedule_lines lines = {0};
	struct neap_deschedule_config *config = NULL;
	neap_auto_buf struct neap_buf text = {0};
	struct neap_error err = {0};
	char file[512], name[256];

	(void)snprintf(file, sizeof(file), "%s/%s", dir, entry);
	(void)snprintf(name, sizeof(name), "%.*s", (int)(strlen(entry) - 5), entry);
	neap_buf_init(&text, NEAP_BUF_FILE);
	assert_int_equal(neap_file_load(file, &text, &err), 0);
	(void)neap_deschedule_config_parse(text.data, text.len, entry,
					   neap_strategies_plugins(strategies), &config,
					   &lines, &err);
	if ((config != NULL) != is_taken(dir, name)) {
		print(&lines);
		fail_msg("%s: %s", file, config ? "taken" : "refused");
	}
	if (!config)
		check_places(dir, name, &lines);
	(void)neap_deschedule_config_unref(config);
	neap_deschedule_lines_done(&lines);
}

static void test_files(void **state)
{
	static const char *const folders[] = {"descheduler-policy", "koord-descheduler"};
	const char *root = getenv("NEAP_CONFIGS");
	size_t count = 0;

	root = root ? root : "../shared/cases/configs";
	for (size_t i = 0; i < NEAP_ARRAY_LEN(folders); i++) {
		struct dirent *entry;
		char dir[256];
		DIR *handle;

		(void)snprintf(dir, sizeof(dir), "%s/%s", root, folders[i]);
		handle = opendir(dir);
		while (handle && (entry = readdir(handle)) != NULL) {
			size_t len = strlen(entry->d_name);

			if (len < 5 || strcmp(entry->d_name + len - 5, ".yaml") != 0)
				continue;
			check_file(*state, dir, entry->d_name);
			count++;
		}
		if (handle)
			(void)closedir(handle);
	}
	if (!count)
		skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_opened),
		cmocka_unit_test(test_default_profile),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
