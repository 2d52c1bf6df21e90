/* SPDX-License-Identifier: Apache-2.0
 *
 * Load-aware filter and estimate, case by case: odd reports, annotations that cannot be
 * read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/decide/load.h"
#include "t/lib/cluster_rig.h"

#define UPDATED     "2026-01-01T04:00:00Z"
#define AT(time)    "2026-01-01T" time "Z"
#define SPEC(rest)  "{'metricCollectPolicy':{" rest "}}"
#define USED(cpu)   "'nodeMetric':{'nodeUsage':{'resources':{'cpu':'" cpu "'}}}"
#define ONE_POD(of) "'podsMetric':[{'namespace':'default','name':'p'," of "}]"
#define POD(used)   "'priority':'koord-prod','podUsage':{'resources':{" used "}}"
#define SCHEDULED(time)                                                                   \
	"'conditions':[{'type':'PodScheduled','status':'True','lastTransitionTime':'" AT( \
		time) "'}]"
#define FACTORS(json)                                                                    \
	"'scheduling.koordinator.sh/load-estimated-scaling-factors':'" json "'"
#define RAW(json)    "'node.koordinator.sh/raw-allocatable':'" json "'"
#define LIMITS(json) "'scheduling.koordinator.sh/usage-thresholds':'" json "'"
#define P95          "{'aggregated':{'usageThresholds':{'cpu':50},'usageAggregationType':'p95'}}"
#define AGGREGATED(list)                                                                    \
	"'nodeMetric':{'nodeUsage':{'resources':{'cpu':'1'}},'aggregatedNodeUsages':[" list \
	"]}"
#define OVER(cpu) "'usage':{'p95':{'resources':{'cpu':'" cpu "'}}}"
#define LONG_AGO  SCHEDULED("00:00:00")

/* A node of 96 CPUs with a pod p of 20, and the pod that is to be placed. A limit is 65 %
 * if args have none. */
struct row {
	const char *name, *args;
	const char *node;  /* annotations */
	const char *spec;  /* of the report */
	const char *usage; /* members of its status */
	const char *pod;   /* members of the status of p; NULL: there is none */
	const char *notes; /* annotations of the pod to be placed */
	const char *asks;  /* its requests */
	const char *want;
};

static const struct row rows[] = {
	{.name = "a pod that is reported counts with its usage",
	 .usage = USED("60") "," ONE_POD(POD("'cpu':'1'")),
	 .pod = LONG_AGO,
	 .want = "fits"},
	{.name = "... with none",
	 .usage = USED("60") "," ONE_POD(POD("'cpu':'0'")),
	 .pod = LONG_AGO,
	 .want = "fits"},
	{.name = "no podUsage",
	 .usage = USED("60") "," ONE_POD("'priority':'koord-prod'"),
	 .pod = LONG_AGO,
	 .want = "usage cpu"},
	{.name = "an empty podUsage",
	 .usage = USED("60") "," ONE_POD("'podUsage':{}"),
	 .pod = LONG_AGO,
	 .want = "usage cpu"},
	{.name = "no resources in podUsage",
	 .usage = USED("60") "," ONE_POD(POD("")),
	 .pod = LONG_AGO,
	 .want = "usage cpu"},
	{.name = "no usage of a production pod",
	 .args = "{'prodUsageThresholds':{'cpu':15}}",
	 .usage = USED("1") "," ONE_POD(POD("")),
	 .pod = LONG_AGO,
	 .asks = "'cpu':'1'",
	 .want = "usage cpu"},
	{.name = "a pod that runs since long, and nobody says when it got its place",
	 .usage = USED("60") "," ONE_POD(POD("'cpu':'1'")),
	 .pod = "'startTime':'" AT("00:00:00") "'",
	 .want = "usage cpu"},
	{.name = "... or that it has one",
	 .usage = USED("60") "," ONE_POD(POD("'cpu':'1'")),
	 .pod = "'startTime':'" AT(
		 "00:00:00") "','conditions':[{'type':'PodScheduled',"
			     "'status':'False','lastTransitionTime':'" AT(
				     "00:00:00") "'}]",
	 .want = "usage cpu"},
	{.name = "an aggregated usage over no time",
	 .args = P95,
	 .usage = AGGREGATED("{" OVER("60") "}"),
	 .want = "aggregated cpu"},
	{.name = "... beside one over a longer time",
	 .args = P95,
	 .usage = AGGREGATED("{'duration':'5m0s'," OVER("10") "},{" OVER("60") "}"),
	 .want = "fits"},
	{.name = "two over the same time: the last one",
	 .args = P95,
	 .usage = AGGREGATED(
		 "{'duration':'5m0s'," OVER("10") "},{'duration':'300s'," OVER("60") "}"),
	 .want = "aggregated cpu"},
	{.name = "a report every minute",
	 .spec = SPEC("'reportIntervalSeconds':60"),
	 .usage = USED("60") "," ONE_POD(POD("'cpu':'1'")),
	 .pod = SCHEDULED("03:59:30"),
	 .want = "usage cpu"},
	{.name = "... as where nothing is said",
	 .spec = SPEC("'reportIntervalSeconds':null"),
	 .usage = USED("60") "," ONE_POD(POD("'cpu':'1'")),
	 .pod = SCHEDULED("03:59:30"),
	 .want = "usage cpu"},
	{.name = "reports without an interval",
	 .spec = SPEC("'reportIntervalSeconds':0"),
	 .usage = USED("60") "," ONE_POD(POD("'cpu':'1'")),
	 .pod = SCHEDULED("03:59:30"),
	 .want = "fits"},
	{.name = "what the node had before it was amplified",
	 .node = RAW("{\\'cpu\\':\\'48\\'}"),
	 .usage = USED("60"),
	 .want = "usage cpu"},
	{.name = "... as a number",
	 .node = RAW("{\\'cpu\\':48,\\'memory\\':\\'1Gi\\'}"),
	 .usage = USED("60"),
	 .want = "usage cpu"},
	{.name = "... as a broken one",
	 .node = RAW("{\\'cpu\\':48.5}"),
	 .usage = USED("60"),
	 .want = "usage cpu"},
	{.name = "... which cannot be read",
	 .node = RAW("{\\'cpu\\':\\'48\\',\\'memory\\':\\'abc\\'}"),
	 .usage = USED("60"),
	 .want = "fits"},
	{.name = "... nor what no setting names",
	 .node = RAW("{\\'cpu\\':\\'48\\',\\'x/y\\':true}"),
	 .usage = USED("60"),
	 .want = "fits"},
	{.name = "... nor as a map",
	 .node = RAW("[\\'48\\']"),
	 .usage = USED("60"),
	 .want = "fits"},
	{.name = "a limit of the node",
	 .node = LIMITS("{\\'usageThresholds\\':{\\'cpu\\':50}}"),
	 .usage = USED("60"),
	 .want = "usage cpu"},
	{.name = "... beside what is no map",
	 .node = LIMITS("{\\'usageThresholds\\':{\\'cpu\\':50},\\'aggregatedUsage\\':5}"),
	 .usage = USED("60"),
	 .want = "fits"},
	{.name = "... beside a type that is no text",
	 .node = LIMITS("{\\'usageThresholds\\':{\\'cpu\\':50},\\'aggregatedUsage\\':{"
			"\\'usageAggregationType\\':95}}"),
	 .usage = USED("60"),
	 .want = "fits"},
	{.name = "... beside a duration that is no text",
	 .node = LIMITS("{\\'usageThresholds\\':{\\'cpu\\':50},\\'aggregatedUsage\\':{"
			"\\'usageAggregatedDuration\\':300}}"),
	 .usage = USED("60"),
	 .want = "fits"},
	{.name = "... beside what is not said",
	 .node = LIMITS(
		 "{\\'usageThresholds\\':{\\'cpu\\':50},\\'aggregatedUsage\\':null,"
		 "\\'prodUsageThresholds\\':null}"),
	 .usage = USED("60"),
	 .want = "usage cpu"},
	{.name = "a name without a factor",
	 .args = "{'usageThresholds':{'example.com/gpu':30}}",
	 .usage = USED("1"),
	 .asks = "'cpu':'1','example.com/gpu':'8'",
	 .want = "fits"},
	{.name = "... for which the pod has one",
	 .args = "{'allowCustomizeEstimation':true,'usageThresholds':{'example.com/"
		 "gpu':30}}",
	 .usage = USED("1"),
	 .notes = FACTORS("{\\'cpu\\':50,\\'example.com/gpu\\':50}"),
	 .asks = "'cpu':'1','example.com/gpu':'8'",
	 .want = "usage example.com/gpu"},
	{.name = "... and no say in it",
	 .args = "{'usageThresholds':{'example.com/gpu':30}}",
	 .usage = USED("1"),
	 .notes = FACTORS("{\\'cpu\\':50,\\'example.com/gpu\\':50}"),
	 .asks = "'cpu':'1','example.com/gpu':'8'",
	 .want = "fits"},
	{.name = "factors below 0",
	 .args = "{'allowCustomizeEstimation':true}",
	 .usage = USED("90"),
	 .notes = FACTORS("{\\'cpu\\':-100000}"),
	 .asks = "'cpu':'1'",
	 .want = "usage cpu"},
};

static json_t *parse(const char *text)
{
	char buf[1024];
	json_t *json;

	(void)snprintf(buf, sizeof(buf), "%s", text);
	for (char *c = buf; *c; c++)
		*c = (char)(*c == '\'' ? '"' : *c);
	json = json_loads(buf, 0, NULL);
	if (!json)
		fail_msg("no JSON: %s", buf);
	return json;
}

static struct neap_cluster *cluster_with(const char *args)
{
	struct neap_cluster *cluster = cluster_new();
	json_t *json = parse(args);
	struct neap_load_args read;
	struct neap_error err = {0};

	if (neap_load_args_read(&read, json, &err) < 0 ||
	    neap_cluster_set_load(cluster, &read, &err) < 0)
		fail_msg("%s: %s %s", args, err.field, err.msg);
	json_decref(json);
	return cluster;
}

static const char * or (const char *text, const char *other)
{
	return text ? text : other;
}

static void report(struct neap_cluster *cluster, const struct row *row)
{
	struct neap_error err = {0};
	struct neap_object *object;
	char status[1024];
	unsigned moved;

	(void)snprintf(status, sizeof(status), "{'updateTime':'" UPDATED "',%s}",
		       row->usage);
	object = cluster_object("n", "", "", or (row->spec, "{}"), status);
	if (neap_cluster_set_metric(cluster, object, &moved, &err) < 0)
		fail_msg("%s: %s", row->name, err.msg);
	(void)neap_object_unref(object);
}

static struct neap_pod *incoming(struct neap_cluster *cluster, const char *notes,
				 const char *asks)
{
	char meta[1024], spec[512];

	(void)snprintf(meta, sizeof(meta), "'annotations':{%s}", notes);
	(void)snprintf(spec, sizeof(spec),
		       "{'containers':[{'resources':{'requests':{%s}}}]}", asks);
	return cluster_pod(neap_cluster_resources(cluster), "in", meta, spec, "{}");
}

static void check(const struct row *row)
{
	static const char *const words[] = {"fits", "expired", "usage", "aggregated"};
	struct neap_cluster *cluster = cluster_with(or (row->args, "{}"));
	enum neap_load_answer answer;
	struct neap_load_ask ask;
	struct neap_pod *pod;
	char text[1024], got[128];
	uint32_t at = 0;
	int64_t now;

	assert_int_equal(neap_time_parse(UPDATED, &now, NULL), 0);
	(void)snprintf(text, sizeof(text), "'annotations':{%s}", or (row->node, ""));
	(void)cluster_set_node(cluster, "n", text, "{}",
			       "'cpu':'96','memory':'512Gi','example.com/gpu':'8'");
	report(cluster, row);
	(void)snprintf(text, sizeof(text), "{%s}", or (row->pod, ""));
	if (row->pod)
		(void)cluster_set_pod(cluster, "p", "",
				      "{'nodeName':'n','containers':[{'resources':{"
				      "'requests':{'cpu':'20'}}}]}",
				      text);
	pod = incoming(cluster, or (row->notes, ""), or (row->asks, ""));
	(void)neap_cluster_settle(cluster);
	neap_load_ask_init(&ask, cluster, pod, now);
	answer = neap_load_filter(&ask, neap_cluster_find_node(cluster, "n")->row, &at);
	assert_in_range(neap_load_score(&ask, neap_cluster_find_node(cluster, "n")->row),
			0, 100);
	(void)snprintf(got, sizeof(got), "%s%s%s", words[answer],
		       answer >= NEAP_LOAD_TOO_HIGH ? " " : "",
		       answer >= NEAP_LOAD_TOO_HIGH ? ask.load->args.names[at] : "");
	if (strcmp(got, row->want) != 0)
		fail_msg("%s: %s instead of %s", row->name, got, row->want);
	(void)neap_pod_unref(pod);
	neap_cluster_free(cluster);
}

static void test_filter(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		check(&rows[i]);
}

#define SHARE_OF_1GI INT64_C(751619277) /* 70 % */

/* Of a pod that asks for 1 CPU and 1Gi. */
static void test_estimate(void **state)
{
	static const struct {
		const char *notes;
		int64_t milli, bytes;
	} cases[] = {
		{"", 850, SHARE_OF_1GI},
		{FACTORS("{\\'cpu\\':50,\\'memory\\':50}"), 500, INT64_C(1) << 29},
		{FACTORS("{\\'cpu\\':50}"), 500, SHARE_OF_1GI},
		{FACTORS("{\\'cpu\\':null}"), 0, SHARE_OF_1GI},
		{FACTORS("{\\'cpu\\':0}"), 0, SHARE_OF_1GI},
		{FACTORS("{}"), 850, SHARE_OF_1GI},
		/* What cannot be read as a whole is not there. */
		{FACTORS("{\\'cpu\\':\\'50\\',\\'memory\\':50}"), 850, SHARE_OF_1GI},
		{FACTORS("{\\'cpu\\':50.0,\\'memory\\':50}"), 850, SHARE_OF_1GI},
		{FACTORS("{\\'memory\\':50,\\'x\\':true}"), 850, SHARE_OF_1GI},
		{FACTORS("{\\'memory\\':50,\\'cpu\\':9223372036854775808}"), 850,
		 SHARE_OF_1GI},
		{FACTORS("[50]"), 850, SHARE_OF_1GI},
		{FACTORS("{\\'a\\':1,\\'b\\':1,\\'c\\':1,\\'d\\':1,\\'e\\':1,\\'f\\':1,"
			 "\\'g\\':1,\\'h\\':1,\\'i\\':1,\\'j\\':1,\\'k\\':1,\\'l\\':1,"
			 "\\'m\\':1,\\'n\\':1,\\'o\\':1,\\'cpu\\':1,\\'memory\\':1}"),
		 850, SHARE_OF_1GI},
		/* Less than nothing is nothing, and more than a number holds is the
		 * largest. */
		{FACTORS("{\\'cpu\\':-50}"), 0, SHARE_OF_1GI},
		{FACTORS("{\\'cpu\\':-9223372036854775808,"
			 "\\'memory\\':9223372036854775807}"),
		 0, INT64_MAX},
	};
	struct neap_cluster *cluster = cluster_with("{'allowCustomizeEstimation':true}");

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(cases); i++) {
		struct neap_pod *pod =
			incoming(cluster, cases[i].notes, "'cpu':'1','memory':'1Gi'");
		int64_t got[NEAP_LOAD_NAMES_MAX];

		neap_load_estimate(neap_cluster_load(cluster), pod, got);
		if (got[0] != cases[i].milli || got[1] != cases[i].bytes)
			fail_msg("%s: %lld, %lld", cases[i].notes, (long long)got[0],
				 (long long)got[1]);
		(void)neap_pod_unref(pod);
	}
	neap_cluster_free(cluster);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_filter),
					   cmocka_unit_test(test_estimate)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
