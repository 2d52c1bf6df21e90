/* SPDX-License-Identifier: Apache-2.0
 *
 * Settings and reports that are wrong, odd, or too large. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/decide/load.h"
#include "t/lib/cluster_rig.h"

static json_t *parse(const char *text)
{
	char buf[4096];
	json_t *json;

	(void)snprintf(buf, sizeof(buf), "%s", text);
	for (char *c = buf; *c; c++)
		*c = (char)(*c == '\'' ? '"' : *c);
	json = json_loads(buf, 0, NULL);
	if (!json)
		fail_msg("no JSON: %s", buf);
	return json;
}

static void test_settings(void **state)
{
	static const struct {
		const char *json, *field; /* "": taken */
	} rows[] = {
		{"{}", ""},
		{"{'usageThresholds':null,'aggregated':null}", ""},
		{"{'usageThresholds':{'cpu':101}}", "usageThresholds"},
		{"{'usageThresholds':{'cpu':'50'}}", "usageThresholds"},
		{"{'usageThresholds':[]}", "usageThresholds"},
		{"{'prodUsageThresholds':{'cpu':-1}}", "prodUsageThresholds"},
		{"{'nodeMetricExpirationSeconds':0}", "nodeMetricExpirationSeconds"},
		{"{'nodeMetricExpirationSeconds':9223372036854775807}",
		 "nodeMetricExpirationSeconds"},
		{"{'dominantResourceWeight':101}", "dominantResourceWeight"},
		{"{'resourceWeights':{'cpu':0,'memory':1}}", "resourceWeights"},
		{"{'resourceWeights':{'cpu':101}}", "resourceWeights"},
		{"{'estimator':'mine'}", "estimator"},
		{"{'resourceWeights':{'x/y':1}}", "estimatedScalingFactors"},
		{"{'resourceWeights':{'x/y':1},'estimatedScalingFactors':{'x/y':10}}",
		 ""},
		{"{'aggregated':{'usageAggregationType':'p42'}}", "usageAggregationType"},
		{"{'aggregated':{'scoreAggregationType':'p95','scoreAggregatedDuration':"
		 "'x'}}",
		 "scoreAggregatedDuration"},
		{"{'aggregated':[]}", "aggregated"},
		{"{'aggregated':{'usageAggregationType':95}}", "usageAggregationType"},
		{"{'aggregated':{'usageAggregatedDuration':300}}",
		 "usageAggregatedDuration"},
		{"{'filterExpiredNodeMetrics':'no'}", "filterExpiredNodeMetrics"},
		{"{'supportedResources':['a','b','c','d','e','f','g','h','i','j','k','l',"
		 "'m','n']}",
		 ""},
	};
	struct neap_load_args args;

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		json_t *json = parse(rows[i].json);
		struct neap_error err = {0};
		int ret = neap_load_args_read(&args, json, &err);

		if ((ret == 0) != !*rows[i].field ||
		    strcmp(err.field, rows[i].field) != 0)
			fail_msg("%s: %d, %s: %s", rows[i].json, ret, err.field, err.msg);
		json_decref(json);
	}
}

static void test_names(void **state)
{
	json_t *json = parse("{'supportedResources':['a','b','c','d','e','f','g','h','i',"
			     "'j','k','l','m','n','o']}");
	struct neap_load_args args;
	struct neap_error err = {0};

	(void)state;
	assert_int_equal(neap_load_args_read(&args, json, &err), -NEAP_ETOOLARGE);
	json_decref(json);
	json = parse("{'usageThresholds':{'zzz':5,'aaa':7}}");
	assert_int_equal(neap_load_args_read(&args, json, &err), 0);
	json_decref(json);
	assert_int_equal(args.count, 4);
	assert_string_equal(args.names[0], "aaa");
	assert_string_equal(args.names[3], "zzz");
	assert_int_equal(args.limits.usage[0], 7);
	assert_int_equal(args.limits.usage[1], 0); /* the default is replaced, wholly */
}

/* Whatever a report says, it is read; amounts at the end of the range do not turn
 * round. */
static void test_reports(void **state)
{
	static const char *const rows[] = {
		"{}",
		"{'nodeMetric':[]}",
		"{'nodeMetric':{'nodeUsage':7,'aggregatedNodeUsages':{'a':1}}}",
		"{'nodeMetric':{'nodeUsage':{'resources':{'cpu':'x','memory':[]}}}}",
		"{'nodeMetric':{'nodeUsage':{'resources':{'cpu':'9223372036854775',"
		"'memory':'9223372036854775807'}}},'podsMetric':[7,{},{'name':'p',"
		"'namespace':'default','podUsage':{'resources':{'cpu':'-5'}}}]}",
		"{'updateTime':'soon','podsMetric':'none'}",
		"{'updateTime':'2026-01-01T00:00:00Z','nodeMetric':{"
		"'aggregatedNodeUsages':[7,{'duration':'-1s'},{'duration':'5m','usage':{"
		"'p95':{'resources':{}}}}]}}",
	};
	struct neap_cluster *cluster = cluster_new();
	struct neap_load_args args;
	json_t *json = parse("{'filterExpiredNodeMetrics':false}");
	struct neap_error err = {0};
	struct neap_load_ask ask;
	uint32_t name;
	unsigned moved;

	(void)state;
	assert_int_equal(neap_load_args_read(&args, json, &err), 0);
	json_decref(json);
	assert_int_equal(neap_cluster_set_load(cluster, &args, &err), 0);
	/* The report is told before its node. */
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_object *object = cluster_object("n", "", "", "{}", rows[i]);
		int ret = neap_cluster_set_metric(cluster, object, &moved, &err);

		if (ret < 0)
			fail_msg("%s: %s", rows[i], err.msg);
		(void)neap_object_unref(object);
		(void)cluster_set_pod(cluster, "p", "",
				      "{'nodeName':'n','containers':[{'resources':{"
				      "'requests':{'memory':'9223372036854775807'}}}]}",
				      "{}");
		(void)cluster_set_node(cluster, "n", "", "{}",
				       "'cpu':'4','memory':'1Gi'");
		(void)neap_cluster_settle(cluster);
		neap_load_ask_init(&ask, cluster,
				   neap_cluster_find_pod(cluster, "default", "p"), 0);
		(void)neap_load_filter(&ask, 0, &name);
		assert_in_range(neap_load_score(&ask, 0), 0, 100);
	}
	assert_int_equal(neap_cluster_set_load(cluster, &args, &err), -NEAP_ECONFLICT);
	neap_cluster_remove_metric(cluster, "n", &moved);
	assert_int_equal(moved, NEAP_MOVED_LOAD);
	neap_cluster_remove_metric(cluster, "n", &moved);
	assert_int_equal(moved, 0);
	neap_cluster_free(cluster);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_settings),
					   cmocka_unit_test(test_names),
					   cmocka_unit_test(test_reports)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
