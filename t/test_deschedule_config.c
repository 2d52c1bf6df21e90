/* SPDX-License-Identifier: Apache-2.0
 *
 * Configurations of the descheduler in both forms: what is read from good ones, and what
 * is said of bad ones. The plugins are a table of the test's own. */
#include "api/deschedule/config/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/json/json.h"

/* --- plugins of the test --- */

static const struct {
	const char *name;
	unsigned points;
	const char *args[4]; /* whole numbers from 0 to 100, or objects of such */
} known[] = {
	{"DefaultEvictor",
	 NEAP_AT(NEAP_AT_FILTER) | NEAP_AT(NEAP_AT_BEFORE) | NEAP_AT(NEAP_AT_EVICT),
	 {"nodeFit", "minReplicas"}},
	{"MigrationController",
	 NEAP_AT(NEAP_AT_FILTER) | NEAP_AT(NEAP_AT_EVICT),
	 {"share"}},
	{"LowNodeUtilization",
	 NEAP_AT(NEAP_AT_BALANCE),
	 {"thresholds", "targetThresholds"}},
	{"RemoveDuplicates", NEAP_AT(NEAP_AT_BALANCE), {"namespaces"}},
	{"PodLifeTime", NEAP_AT(NEAP_AT_DESCHEDULE), {"maxPodLifeTimeSeconds"}},
	{"Uploaded", NEAP_AT(NEAP_AT_DESCHEDULE), {"share"}},
};

static unsigned points(void *arg, const char *name)
{
	(void)arg;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(known); i++)
		if (strcmp(known[i].name, name) == 0)
			return known[i].points;
	return 0;
}

static bool is_uploaded(void *arg, const char *name)
{
	(void)arg;
	return strcmp(name, "Uploaded") == 0;
}

static const char *name_at(void *arg, size_t index)
{
	(void)arg;
	return index < NEAP_ARRAY_LEN(known) ? known[index].name : NULL;
}

static int check_numbers(const json_t *value, const char *name, struct neap_error *err)
{
	const char *key;
	json_t *member;

	if (json_is_string(value))
		return neap_error_field(err, NEAP_EINVAL, name,
					"must be a number, not the text \"%s\"",
					json_string_value(value));
	json_object_foreach ((json_t *)value, key, member) {
		if (check_numbers(member, key, err) < 0)
			return neap_error_infield(err, "%s", name);
	}
	return 0;
}

static int check(void *arg, const char *name, const json_t *args,
		 void (*warn)(void *warn_arg, const char *field, const char *text),
		 void *warn_arg, struct neap_error *err)
{
	const char *key;
	json_t *value;
	size_t i = 0;

	(void)arg;
	while (strcmp(known[i].name, name) != 0)
		i++;
	json_object_foreach ((json_t *)args, key, value) {
		size_t n = 0;

		if (strcmp(key, "starved") == 0)
			return neap_error_field(err, NEAP_EUNAVAILABLE, key, "stopped");
		while (n < 4 && known[i].args[n] && strcmp(known[i].args[n], key) != 0)
			n++;
		if (n == 4 || !known[i].args[n])
			return neap_error_field(err, NEAP_EINVAL, key, "unknown field");
		if (check_numbers(value, key, err) < 0)
			return -NEAP_EINVAL;
		if (strcmp(key, "minReplicas") == 0 && json_integer_value(value) == 1)
			warn(warn_arg, key, "1 protects nothing");
	}
	return 0;
}

static const struct neap_deschedule_plugins plugins = {
	.points = points, .name = name_at, .is_uploaded = is_uploaded, .check = check};

static struct neap_deschedule_config *read_good(const char *text,
						struct neap_deschedule_lines *lines)
{
	struct neap_deschedule_config *config = NULL;
	struct neap_error err = {0};

	memset(lines, 0, sizeof(*lines));
	if (neap_deschedule_config_parse(text, strlen(text), "f.yaml", &plugins, &config,
					 lines, &err) < 0)
		fail_msg("%s\n%s", err.msg, text);
	return config;
}

#define KOORD                                                                            \
	"apiVersion: descheduler/v1alpha2\n"                                             \
	"kind: DeschedulerConfiguration\n"
#define POLICY                                                                           \
	"apiVersion: descheduler/v1alpha2\n"                                             \
	"kind: DeschedulerPolicy\n"

static const char *at(const struct neap_deschedule_profile *profile, int point, size_t i)
{
	return i < profile->at_count[point] ? profile->plugins[profile->at[point][i]].name
					    : "";
}

static void test_koordinator(void **state)
{
	struct neap_deschedule_lines lines;
	struct neap_deschedule_config *config =
		read_good(KOORD "deschedulingInterval: 90s\n"
				"dryRun: true\n"
				"maxNoOfPodsToEvictPerNode: 4\n"
				"nodeSelector: {matchLabels: {pool: web}}\n"
				"neap:\n"
				"  maxNoOfPodsToEvictPerWorkload: 2\n"
				"  window: {begin: \"22:00\", end: \"06:00\"}\n"
				"  dryRunPlugins: [RemoveDuplicates]\n"
				"profiles:\n"
				"- name: a\n"
				"  nodeSelector: {matchLabels: {x: z}}\n"
				"  plugins:\n"
				"    balance:\n"
				"      enabled:\n"
				"      - name: RemoveDuplicates\n"
				"      - name: LowNodeUtilization\n"
				"  pluginConfig:\n"
				"  - name: LowNodeUtilization\n"
				"    args:\n"
				"      apiVersion: descheduler/v1alpha2\n"
				"      kind: LowNodeUtilizationArgs\n"
				"      thresholds: {cpu: 20}\n"
				"- name: b\n"
				"  plugins:\n"
				"    evict: {disabled: [{name: '*'}], "
				"enabled: [{name: DefaultEvictor}]}\n"
				"    filter: {enabled: [{name: DefaultEvictor}]}\n"
				"    deschedule: {enabled: [{name: PodLifeTime}]}\n",
			  &lines);
	const struct neap_deschedule_profile *profile = &config->profiles[0];
	json_t *labels = json_pack("{s:s}", "pool", "web");

	(void)state;
	assert_int_equal(lines.count, 0);
	assert_int_equal(config->form, NEAP_DESCHEDULE_KOORDINATOR);
	assert_int_equal(config->interval_usec, 90000000);
	assert_true(config->dry_run);
	assert_int_equal(config->per_node, 4);
	assert_int_equal(config->per_namespace, -1);
	assert_int_equal(config->total, -1);
	assert_int_equal(config->per_workload, 2);
	assert_true(config->window.is_set);
	assert_int_equal(config->window.begin_s, 22 * 3600);
	assert_int_equal(config->window.end_s, 6 * 3600);
	assert_string_equal(config->window.zone, "UTC");
	assert_true(neap_selector_matches(config->nodes, labels));
	json_decref(labels);
	assert_int_equal(config->profile_count, 2);
	assert_string_equal(profile->name, "a");
	assert_non_null(profile->nodes);
	assert_string_equal(at(profile, NEAP_AT_BALANCE, 0), "RemoveDuplicates");
	assert_string_equal(at(profile, NEAP_AT_BALANCE, 1), "LowNodeUtilization");
	assert_string_equal(at(profile, NEAP_AT_EVICT, 0), "MigrationController");
	assert_string_equal(at(profile, NEAP_AT_FILTER, 0), "MigrationController");
	for (size_t i = 0; i < profile->plugin_count; i++) {
		bool is_low = strcmp(profile->plugins[i].name, "LowNodeUtilization") == 0;

		assert_int_equal(json_object_size(profile->plugins[i].args), is_low);
		assert_int_equal(profile->plugins[i].dry_run,
				 strcmp(profile->plugins[i].name, "RemoveDuplicates") ==
					 0);
	}
	profile = &config->profiles[1];
	assert_int_equal(profile->at_count[NEAP_AT_EVICT], 1);
	assert_string_equal(at(profile, NEAP_AT_EVICT, 0), "DefaultEvictor");
	assert_string_equal(at(profile, NEAP_AT_FILTER, 0), "MigrationController");
	assert_string_equal(at(profile, NEAP_AT_FILTER, 1), "DefaultEvictor");
	assert_int_equal(profile->at_count[NEAP_AT_BEFORE], 1);
	(void)neap_deschedule_config_unref(config);
}

static void test_upstream(void **state)
{
	struct neap_deschedule_lines lines;
	struct neap_deschedule_config *config =
		read_good(POLICY "nodeSelector: pool=web\n"
				 "gracePeriodSeconds: 7\n"
				 "evictionFailureEventNotification: yes\n"
				 "metricsProviders:\n"
				 "- source: KubernetesMetrics\n"
				 "- source: Prometheus\n"
				 "  prometheus:\n"
				 "    url: https://p:9090\n"
				 "    authToken: {secretReference: {namespace: m, "
				 "name: t}}\n"
				 "profiles:\n"
				 "- name: a\n"
				 "  pluginConfig:\n"
				 "  - name: DefaultEvictor\n"
				 "    args: &ev {minReplicas: 3}\n"
				 "  plugins:\n"
				 "    balance: {enabled: [RemoveDuplicates]}\n"
				 "- name: b\n"
				 "  pluginConfig:\n"
				 "  - name: DefaultEvictor\n"
				 "    args: {<<: *ev, nodeFit: 1}\n"
				 "  - name: PodLifeTime\n"
				 "  plugins:\n"
				 "    deschedule: {enabled: [PodLifeTime]}\n",
			  &lines);
	const struct neap_deschedule_profile *profile = &config->profiles[0];

	(void)state;
	assert_int_equal(config->form, NEAP_DESCHEDULE_UPSTREAM);
	assert_int_equal(config->interval_usec, -1);
	assert_int_equal(config->grace_s, 7);
	assert_true(config->tells_failures);
	assert_true(config->has_metrics);
	assert_string_equal(config->prometheus.url, "https://p:9090");
	assert_string_equal(config->prometheus.secret_ns, "m");
	assert_string_equal(config->prometheus.secret_name, "t");
	assert_string_equal(at(profile, NEAP_AT_FILTER, 0), "DefaultEvictor");
	assert_string_equal(at(profile, NEAP_AT_BEFORE, 0), "DefaultEvictor");
	assert_string_equal(at(profile, NEAP_AT_EVICT, 0), "DefaultEvictor");
	assert_string_equal(at(profile, NEAP_AT_BALANCE, 0), "RemoveDuplicates");
	assert_int_equal(json_object_size(config->profiles[1].plugins[0].args), 2);
	/* RemoveDuplicates has no arguments, which is said. */
	assert_int_equal(lines.count, 1);
	assert_string_equal(lines.line[0],
			    "f.yaml:18: profiles[0].plugins.balance.enabled[0]: "
			    "RemoveDuplicates has no pluginConfig: its defaults hold");
	neap_deschedule_lines_done(&lines);
	(void)neap_deschedule_config_unref(config);
}

static void test_config_map(void **state)
{
	struct neap_deschedule_lines lines;
	struct neap_deschedule_config *config =
		read_good("apiVersion: v1\n"
			  "kind: ConfigMap\n"
			  "metadata: {name: d}\n"
			  "data:\n"
			  "  other: x\n"
			  "  policy.yaml: |\n"
			  "    apiVersion: descheduler/v1alpha2\n"
			  "    kind: DeschedulerPolicy\n"
			  "    unheardOf: 1\n"
			  "    profiles: [{plugins: {balance: {enabled: []}}}]\n",
			  &lines);

	(void)state;
	assert_int_equal(config->profile_count, 1);
	assert_int_equal(lines.count, 1);
	assert_string_equal(lines.line[0],
			    "f.yaml:9: unheardOf: unknown field: it has no effect");
	neap_deschedule_lines_done(&lines);
	(void)neap_deschedule_config_unref(config);
}

/* --- what is wrong --- */

#define A KOORD "profiles:\n- name: a\n"
#define B POLICY "profiles:\n- name: a\n"

static const struct {
	const char *name, *text;
	const char *want[5]; /* all faults, in order */
} bad[] = {
	{"empty", "", {"f.yaml: has 0 documents, must have one"}},
	{"no kind", "apiVersion: descheduler/v1alpha2\n", {"f.yaml: kind: is missing"}},
	{"another kind",
	 "apiVersion: descheduler/v1alpha2\nkind: Pod\n",
	 {"f.yaml:2: kind: 'Pod' is not read: it is DeschedulerConfiguration"}},
	{"no profile", POLICY, {"f.yaml: profiles: there is none"}},
	{"no names",
	 KOORD "profiles: [{}, {name: a}]\n",
	 {"f.yaml:3: profiles[0]: has no name"}},
	{"strict in koordinator",
	 KOORD "unheardOf: 1\nprofiles: [{name: a, plugins: {}}]\n",
	 {"f.yaml:3: unheardOf: unknown field"}},
	{"did you mean",
	 KOORD "deschedulingIntervall: 1s\nprofiles: [{name: a, plugins: {}}]\n",
	 {"f.yaml:3: deschedulingIntervall: unknown field: did you mean "
	  "deschedulingInterval?"}},
	{"misplaced",
	 POLICY "podProtections: {extraEnabled: []}\n"
		"deschedulingInterval: 5m\n"
		"profiles:\n"
		"- name: a\n"
		"  nodeFit: true\n"
		"  plugins:\n"
		"    evict: {enabled: [DefaultEvictor]}\n",
	 {"f.yaml:3: podProtections: belongs into the args of DefaultEvictor",
	  "f.yaml:4: deschedulingInterval: is no key of a DeschedulerPolicy: neapd's "
	  "option is --descheduler-interval",
	  "f.yaml:7: profiles[0].nodeFit: belongs into the args of DefaultEvictor",
	  "f.yaml:9: profiles[0].plugins.evict: there is no such point"}},
	{"strategies under v1alpha2",
	 POLICY "strategies: {RemoveDuplicates: {enabled: true}}\n",
	 {"f.yaml:3: strategies: belongs to descheduler/v1alpha1: under v1alpha2 write "
	  "profiles",
	  "f.yaml: profiles: there is none"}},
	{"v1alpha1",
	 "apiVersion: descheduler/v1alpha1\n"
	 "kind: DeschedulerPolicy\n"
	 "evictLocalStoragePods: true\n"
	 "strategies:\n"
	 "  RemoveDuplicates: {enabled: true, params: {nodeFit: true}}\n"
	 "  LowNodeUtilization: {enabled: false}\n",
	 {"f.yaml:1: apiVersion: descheduler/v1alpha1 is not read: write "
	  "descheduler/v1alpha2",
	  "f.yaml:3: evictLocalStoragePods: belongs into the args of DefaultEvictor",
	  "f.yaml:5: strategies.RemoveDuplicates: goes into "
	  "profiles[].plugins.balance.enabled",
	  "f.yaml:5: strategies.RemoveDuplicates.params.nodeFit: becomes nodeFit",
	  "f.yaml:6: strategies.LowNodeUtilization: is disabled: leave it out"}},
	{"wrong point and unknown",
	 A "  plugins:\n"
	   "    deschedule:\n"
	   "      enabled:\n"
	   "      - name: RemoveDuplicate\n"
	   "      - name: LowNodeUtilization\n",
	 {"f.yaml:8: profiles[0].plugins.deschedule.enabled[0]: neap has no plugin "
	  "'RemoveDuplicate': did you mean RemoveDuplicates (a plugin of balance)?",
	  "f.yaml:9: profiles[0].plugins.deschedule.enabled[1]: LowNodeUtilization is a "
	  "plugin of balance, not of deschedule"}},
	{"two evictors",
	 A "  plugins:\n"
	   "    evict:\n"
	   "      enabled: [{name: DefaultEvictor}]\n",
	 {"f.yaml:6: profiles[0].plugins.evict: there are 2 evict plugins, and may be "
	  "one: add disabled"}},
	{"no evictor",
	 A "  plugins:\n"
	   "    evict: {disabled: [{name: MigrationController}]}\n",
	 {"f.yaml:6: profiles[0].plugins.evict: no evict plugin is left"}},
	{"all wrong values of arguments",
	 B "  pluginConfig:\n"
	   "  - name: LowNodeUtilization\n"
	   "    args:\n"
	   "      thresholds: {cpu: 30%}\n"
	   "      targetThresholds:\n"
	   "        memory: 1\n"
	   "        cpu: \"70%\"\n"
	   "  plugins: {balance: {enabled: [LowNodeUtilization]}}\n",
	 {"f.yaml:8: profiles[0].pluginConfig[0].args.thresholds.cpu: must be a number, "
	  "not the text \"30%\"",
	  "f.yaml:11: profiles[0].pluginConfig[0].args.targetThresholds.cpu: must be a "
	  "number"}},
	{"names as objects",
	 B "  plugins: {balance: {enabled: [{name: RemoveDuplicates}]}}\n",
	 {"f.yaml:5: profiles[0].plugins.balance.enabled[0]: must be the name of a "
	  "plugin as a plain text"}},
	{"names as texts",
	 A "  plugins: {balance: {enabled: [RemoveDuplicates]}}\n",
	 {"f.yaml:5: profiles[0].plugins.balance.enabled[0]: must be {name: PLUGIN}"}},
	{"config twice",
	 A "  plugins: {}\n"
	   "  pluginConfig: [{name: PodLifeTime}, {name: PodLifeTime}]\n",
	 {"f.yaml:6: profiles[0].pluginConfig[1].name: PodLifeTime is there twice"}},
	{"name twice",
	 A "  plugins: {}\n- {name: a, plugins: {}}\n",
	 {"f.yaml:6: profiles[1].name: 'a' is the name of profiles[0] already"}},
	{"two migrations",
	 A "  plugins: {}\n"
	   "  pluginConfig: [{name: MigrationController, args: {share: 1}}]\n"
	   "- name: b\n"
	   "  plugins: {}\n"
	   "  pluginConfig: [{name: MigrationController, args: {share: 1}}]\n"
	   "- name: c\n"
	   "  plugins: {}\n",
	 {"f.yaml:10: profiles[2]: the args of MigrationController differ"}},
	{"kind of arguments",
	 A "  plugins: {deschedule: {enabled: [{name: PodLifeTime}]}}\n"
	   "  pluginConfig: [{name: PodLifeTime, args: {kind: LowNodeLoadArgs}}]\n",
	 {"f.yaml:6: profiles[0].pluginConfig[0].args.kind: must be PodLifeTimeArgs"}},
	{"an interval as number",
	 KOORD "deschedulingInterval: 60\nprofiles: [{name: a, plugins: {}}]\n",
	 {"f.yaml:3: deschedulingInterval: must be a duration, a text like 5m"}},
	{"a window",
	 KOORD "neap: {window: {begin: \"6:00\", end: \"06:00\", zone: Nowhere}}\n"
	       "profiles: [{name: a, plugins: {}}]\n",
	 {"f.yaml:3: neap.window: begins when it ends", "f.yaml:3: neap.window.zone: "}},
	{"one dedented key",
	 A "  plugins:\n"
	   "    evict:\n"
	   "      enabled: []\n"
	   "   deschedule:\n"
	   "      enabled: []\n",
	 {"f.yaml:8: column 4: 'deschedule' stands 1 blank left of 'evict' (line 6); "
	  "where it belongs beside it, under 'plugins', add 1 ("}},
	{"one dedented key after a list of items",
	 KOORD "profiles:\n"
	       "  - name: a\n"
	       "    plugins:\n"
	       "      evict:\n"
	       "        enabled:\n"
	       "          - name: MigrationController\n"
	       "     deschedule:\n"
	       "        enabled: []\n",
	 {"f.yaml:9: column 6: 'deschedule' stands 1 blank left of 'evict' (line 6); "
	  "where it belongs beside it, under 'plugins', add 1 ("}},
	{"double keys", KOORD "dryRun: true\ndryRun: false\n", {"f.yaml:4: "}},
	{"a ConfigMap with nothing",
	 "kind: ConfigMap\ndata: {a: b}\n",
	 {"f.yaml:2: data: has no key with a DeschedulerConfiguration"}},
};

static void test_bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(bad); i++) {
		struct neap_deschedule_lines lines = {0};
		struct neap_deschedule_config *config = NULL;
		struct neap_error err = {0};
		size_t fault = 0;

		if (neap_deschedule_config_parse(bad[i].text, strlen(bad[i].text),
						 "f.yaml", &plugins, &config, &lines,
						 &err) != -NEAP_EINVAL)
			fail_msg("%s: taken", bad[i].name);
		for (size_t n = 0; n < lines.count; n++) {
			const char *want = fault < 5 ? bad[i].want[fault] : NULL;

			if (!lines.is_fault[n])
				continue;
			fault++;
			if (!want || strncmp(lines.line[n], want, strlen(want)) != 0)
				fail_msg("%s: %s\nwanted: %s", bad[i].name, lines.line[n],
					 want ? want : "no fault");
			if (fault == 1 && !strstr(err.msg, "f.yaml"))
				fail_msg("%s: %s", bad[i].name, err.msg);
		}
		if (fault < 5 && bad[i].want[fault])
			fail_msg("%s: not said: %s", bad[i].name, bad[i].want[fault]);
		neap_deschedule_lines_done(&lines);
	}
}

static void test_warnings(void **state)
{
	struct neap_deschedule_lines lines;
	struct neap_deschedule_config *config =
		read_good(B "  pluginConfig:\n"
			    "  - name: DefaultEvictor\n"
			    "    args:\n"
			    "      minReplicas: 1\n"
			    "  - name: PodLifeTime\n"
			    "  plugins: {}\n"
			    "maxNoOfPodsToEvictTotal: 0\n",
			  &lines);

	(void)state;
	assert_int_equal(config->total, 0);
	assert_int_equal(lines.count, 3);
	assert_string_equal(lines.line[0],
			    "f.yaml:11: maxNoOfPodsToEvictTotal: 0 allows no eviction "
			    "at all: leave it out for no limit");
	assert_string_equal(lines.line[1],
			    "f.yaml:8: profiles[0].pluginConfig[0].args.minReplicas: 1 "
			    "protects nothing");
	assert_string_equal(lines.line[2],
			    "f.yaml:9: profiles[0].pluginConfig[1]: PodLifeTime is "
			    "enabled at no point: this has no effect");
	neap_deschedule_lines_done(&lines);
	(void)neap_deschedule_config_unref(config);
}

/* What a policy that comes may put right is counted by itself. */
static void test_of_policies(void **state)
{
	static const struct {
		const char *text;
		size_t faults, of_policies;
	} cases[] = {
		{A "  plugins: {deschedule: {enabled: [{name: Later}]}}\n"
		   "  pluginConfig: [{name: Later, args: {a: 1}}]\n"
		   "neap: {dryRunPlugins: [Later]}\n",
		 3, 3},
		{A "  plugins: {deschedule: {enabled: [{name: Uploaded}]}}\n"
		   "  pluginConfig: [{name: Uploaded, args: {share: 'x'}}]\n",
		 1, 1},
		{A "  plugins: {balance: {enabled: [{name: Uploaded}]}}\n", 1, 1},
		{A "  plugins: {deschedule: {enabled: [{name: PodLifeTime}]}}\n"
		   "  pluginConfig: [{name: PodLifeTime, args: {share: 'x'}}]\n",
		 1, 0},
		{A "  plugins: {balance: {enabled: [{name: PodLifeTime}]}}\n", 1, 0},
		{A "  plugins: {balance: {enabled: [{name: Later}]}, balanc: {}}\n", 2,
		 1},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(cases); i++) {
		struct neap_deschedule_config *config = NULL;
		struct neap_deschedule_lines lines = {0};
		struct neap_error err = {0};

		assert_int_equal(neap_deschedule_config_parse(
					 cases[i].text, strlen(cases[i].text), "f.yaml",
					 &plugins, &config, &lines, &err),
				 -NEAP_EINVAL);
		if (lines.faults != cases[i].faults ||
		    lines.of_policies != cases[i].of_policies)
			fail_msg("%zu of %zu: %s", lines.of_policies, lines.faults,
				 cases[i].text);
		neap_deschedule_lines_done(&lines);
	}
}

/* A machine that gave a check too little time says nothing about the text. */
static void test_starved(void **state)
{
	static const char text[] = A "  pluginConfig: [{name: PodLifeTime, args: "
				     "{starved: 1}}]\n";
	struct neap_deschedule_config *config = NULL;
	struct neap_deschedule_lines lines = {0};
	struct neap_error err = {0};

	(void)state;
	assert_int_equal(neap_deschedule_config_parse(text, strlen(text), "f.yaml",
						      &plugins, &config, &lines, &err),
			 -NEAP_EUNAVAILABLE);
	assert_true(neap_deschedule_is_passing(&err));
	neap_deschedule_lines_done(&lines);
}

static void test_no_memory(void **state)
{
	static const char text[] = A "  plugins: {deschedule: {enabled: [{name: "
				     "PodLifeTime}]}}\n";
	bool is_done = false;

	(void)state;
	for (uint64_t n = 1; !is_done; n++) {
		struct neap_deschedule_lines lines = {0};
		struct neap_deschedule_config *config = NULL;
		struct neap_error err = {0};
		uint64_t failures = neap_mem_failures();
		int r;

		neap_mem_fail_at(n);
		r = neap_deschedule_config_parse(text, strlen(text), "f.yaml", &plugins,
						 &config, &lines, &err);
		neap_mem_fail_at(0);
		is_done = failures == neap_mem_failures();
		if (r != 0)
			assert_int_equal(r, -NEAP_ENOMEM);
		(void)neap_deschedule_config_unref(config);
		neap_deschedule_lines_done(&lines);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_koordinator), cmocka_unit_test(test_upstream),
		cmocka_unit_test(test_config_map),  cmocka_unit_test(test_bad),
		cmocka_unit_test(test_warnings),    cmocka_unit_test(test_of_policies),
		cmocka_unit_test(test_starved),     cmocka_unit_test(test_no_memory),
	};

	neap_json_setup();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
