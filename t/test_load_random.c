/* SPDX-License-Identifier: Apache-2.0
 *
 * Load-aware filter and score over random clusters, against a second computation that
 * goes by what the test told the cluster, pod by pod and without columns. */
#include "engine/decide/load.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/quantity.h"
#include "t/lib/cluster_rig.h"

#define NODES        6
#define PODS         24
#define ROUNDS       150
#define OPS          12
#define NOW          INT64_C(1800000000) /* seconds */
#define MIB          INT64_C(1048576)
#define CPU          0
#define MEMORY       1
#define USEC(s)      ((s)*INT64_C(1000000))
#define INTERVAL     60
#define TIME(s, buf) neap_time_format(USEC(s), 0, buf, 32)

/* Settings as JSON, and as the second computation wants them. */
struct settings {
	const char *json;
	int64_t usage[2], prod[2], aggregated[2], seconds; /* of p95; 0: the longest */
	bool filters_expired, passes_expired, with_system, by_prod, scores_p95;
	int64_t expiry, weights[2], dominant, factors[2], after_scheduled,
		after_initialized;
};

#define USUAL .expiry = 180, .factors = {85, 70}
#define P95   .filters_expired = true, .scores_p95 = true, .usage = {65, 95}

static const struct settings all_settings[] = {
	{.json = "{}",
	 USUAL,
	 .usage = {65, 95},
	 .filters_expired = true,
	 .weights = {1, 1}},
	{.json = "{'usageThresholds':{'cpu':40},'prodUsageThresholds':{'cpu':30,"
		 "'memory':20},'prodUsageIncludeSys':true,'scoreAccordingProdUsage':true,"
		 "'dominantResourceWeight':3,'resourceWeights':{'cpu':2,'memory':5},"
		 "'filterExpiredNodeMetrics':false}",
	 USUAL,
	 .usage = {40, 0},
	 .prod = {30, 20},
	 .with_system = true,
	 .by_prod = true,
	 .weights = {2, 5},
	 .dominant = 3},
	{.json = "{'aggregated':{'usageThresholds':{'memory':35,'cpu':25},"
		 "'usageAggregationType':'p95','usageAggregatedDuration':'5m0s',"
		 "'scoreAggregationType':'p95','scoreAggregatedDuration':'5m0s'},"
		 "'nodeMetricExpirationSeconds':90,"
		 "'enableScheduleWhenNodeMetricsExpired':true,"
		 "'estimatedSecondsAfterPodScheduled':100}",
	 P95,
	 .aggregated = {25, 35},
	 .seconds = 300,
	 .passes_expired = true,
	 .expiry = 90,
	 .weights = {1, 1},
	 .factors = {85, 70},
	 .after_scheduled = 100},
	{.json = "{'aggregated':{'usageThresholds':{'cpu':25},"
		 "'usageAggregationType':'p95','scoreAggregationType':'p95'},"
		 "'estimatedScalingFactors':{'cpu':120,'memory':33},"
		 "'estimatedSecondsAfterInitialized':50,"
		 "'estimatedSecondsAfterPodScheduled':20,'dominantResourceWeight':7}",
	 P95,
	 .aggregated = {25, 0},
	 .expiry = 180,
	 .dominant = 7,
	 .factors = {120, 33},
	 .after_scheduled = 20,
	 .after_initialized = 50},
};

struct node {
	bool is_there;
	int64_t capacity[2];
	bool has_raw;
	int64_t raw[2];
	int annotation; /* 0 none, 1 usage, 2 production, 3 p95 over 900 s, 4 broken */
};

enum class { PROD, MID, BATCH, FREE };

struct pod {
	bool is_there, is_assumed;
	int node; /* -1: none */
	enum class class;
	int64_t request[2], limit[2], scheduled, initialized; /* 0: none */
};

struct report {
	bool is_there, has_time, has_usage;
	int64_t time, usage[2], system[2];
	bool has_p95[2]; /* over 300 s, over 900 s */
	int64_t p95[2][2];
	bool has_pod[PODS], is_prod[PODS];
	int64_t pods[PODS][2];
};

static struct node nodes[NODES];
static struct pod pods[PODS];
static struct report reports[NODES];
static const struct settings *settings;
static uint32_t seed = 7;

static uint32_t roll(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

static void roll_amounts(int64_t ret[2], uint32_t milli, uint32_t mib)
{
	ret[CPU] = roll(milli);
	ret[MEMORY] = roll(mib) * MIB;
}

/* --- told to the cluster --- */

static void put_amounts(char *text, size_t size, const char *prefix, bool is_milli,
			const int64_t amounts[2])
{
	(void)snprintf(text, size, "{'%scpu':'%lld%s','%smemory':'%lldMi'}", prefix,
		       (long long)amounts[CPU], is_milli ? "" : "m", prefix,
		       (long long)(amounts[MEMORY] / MIB));
}

static void tell_node(struct neap_cluster *cluster, int at)
{
	static const char *const annotations[] = {
		"'x':'y'",
		"'scheduling.koordinator.sh/usage-thresholds':'{\\'usageThresholds\\':{"
		"\\'memory\\':15}}'",
		"'scheduling.koordinator.sh/usage-thresholds':'{\\'prodUsageThresholds\\':{"
		"\\'cpu\\':10}}'",
		"'scheduling.koordinator.sh/usage-thresholds':'{\\'aggregatedUsage\\':{"
		"\\'usageThresholds\\':{\\'cpu\\':12},\\'usageAggregationType\\':\\'p95\\',"
		"\\'usageAggregatedDuration\\':\\'15m0s\\'}}'",
		"'scheduling.koordinator.sh/usage-thresholds':'{\\'usageThresholds\\':{"
		"\\'cpu\\':1},\\'prodUsageThresholds\\':3}'"};
	struct node *node = &nodes[at];
	char name[8], meta[1024], raw[256] = "", allocatable[128];

	node->is_there = true;
	node->annotation = (int)roll(NEAP_ARRAY_LEN(annotations));
	node->has_raw = roll(3) == 0;
	roll_amounts(node->capacity, 64000, 65536);
	roll_amounts(node->raw, 32000, 32768);
	if (roll(10) == 0)
		node->capacity[CPU] = 0;
	if (node->has_raw)
		(void)snprintf(raw, sizeof(raw),
			       ",'node.koordinator.sh/raw-allocatable':'{\\'cpu\\':"
			       "\\'%lldm\\',\\'memory\\':\\'%lldMi\\'}'",
			       (long long)node->raw[CPU],
			       (long long)(node->raw[MEMORY] / MIB));
	(void)snprintf(name, sizeof(name), "n%d", at);
	(void)snprintf(meta, sizeof(meta), "'annotations':{%s%s}",
		       annotations[node->annotation], raw);
	(void)snprintf(allocatable, sizeof(allocatable),
		       "'cpu':'%lldm','memory':'%lldMi'", (long long)node->capacity[CPU],
		       (long long)(node->capacity[MEMORY] / MIB));
	(void)cluster_set_node(cluster, name, meta, "{}", allocatable);
}

static void fill_pod(struct pod *pod)
{
	memset(pod, 0, sizeof(*pod));
	pod->is_there = true;
	pod->node = -1;
	pod->class = (enum class)roll(4);
	if (roll(4))
		roll_amounts(pod->request, 4000, 4096);
	if (roll(2))
		roll_amounts(pod->limit, 6000, 6144);
	if (roll(3))
		pod->scheduled = NOW - roll(400);
	if (roll(2))
		pod->initialized = NOW - roll(400);
}

static struct neap_object *pod_object(const struct pod *pod, const char *name)
{
	static const char *const prefixes[] = {"", "kubernetes.io/mid-",
					       "kubernetes.io/batch-", ""};
	static const int priorities[] = {9000, 7999, 5500, 3000};
	char spec[1024], status[512], requests[128], limits[128], bind[32] = "", when[32];
	const char *prefix = prefixes[pod->class];
	bool is_milli = pod->class == MID || pod->class == BATCH;
	size_t used;

	put_amounts(requests, sizeof(requests), prefix, is_milli, pod->request);
	put_amounts(limits, sizeof(limits), prefix, is_milli, pod->limit);
	if (pod->node >= 0 && !pod->is_assumed)
		(void)snprintf(bind, sizeof(bind), "'nodeName':'n%d',", pod->node);
	(void)snprintf(spec, sizeof(spec),
		       "{%s'priority':%d,'containers':[{'resources':{'requests':%s,"
		       "'limits':%s}}]}",
		       bind, priorities[pod->class], requests, limits);
	(void)snprintf(status, sizeof(status), "{'conditions':[");
	used = strlen(status);
	if (pod->scheduled)
		(void)snprintf(status + used, sizeof(status) - used,
			       "{'type':'PodScheduled','status':'True',"
			       "'lastTransitionTime':'%s'},",
			       TIME(pod->scheduled, when));
	used = strlen(status);
	(void)snprintf(status + used, sizeof(status) - used,
		       "{'type':'Initialized','status':'%s','lastTransitionTime':'%s'}]}",
		       pod->initialized ? "True" : "False",
		       TIME(pod->initialized ? pod->initialized : NOW, when));
	return cluster_object(name, "default", "", spec, status);
}

static void tell_pod(struct neap_cluster *cluster, int at)
{
	struct neap_error err = {0};
	struct pod *pod = &pods[at];
	struct neap_object *object;
	unsigned moved;
	char name[8];

	(void)snprintf(name, sizeof(name), "p%d", at);
	if (pod->is_there && roll(3) == 0) {
		pod->is_there = false;
		neap_cluster_remove_pod(cluster, "default", name, &moved);
		return;
	}
	if (pod->is_there && pod->is_assumed)
		return; /* as it is */
	fill_pod(pod);
	pod->node = (int)roll(NODES);
	pod->is_assumed = roll(3) == 0 && nodes[pod->node].is_there;
	object = pod_object(pod, name);
	if (neap_cluster_set_pod(cluster, object, &moved, &err) < 0)
		fail_msg("%s", err.msg);
	(void)neap_object_unref(object);
	if (pod->is_assumed) {
		struct neap_cluster_node *node;
		char on[8];

		(void)snprintf(on, sizeof(on), "n%d", pod->node);
		node = neap_cluster_find_node(cluster, on);
		assert_non_null(node);
		assert_int_equal(neap_cluster_assume(
					 cluster,
					 neap_cluster_find_pod(cluster, "default", name),
					 node->row, &err),
				 0);
	}
}

static void tell_report(struct neap_cluster *cluster, int at)
{
	static const char *const durations[] = {"5m0s", "900s"};
	struct report *report = &reports[at];
	struct neap_error err = {0};
	struct neap_object *object;
	char name[8], status[8192] = "{", amounts[128], when[32];
	unsigned moved;

#define ADD(...)                                                                         \
	(void)snprintf(status + strlen(status), sizeof(status) - strlen(status),         \
		       __VA_ARGS__)
	memset(report, 0, sizeof(*report));
	(void)snprintf(name, sizeof(name), "n%d", at);
	if (roll(6) == 0) {
		neap_cluster_remove_metric(cluster, name, &moved);
		return;
	}
	report->is_there = true;
	report->has_time = roll(8) != 0;
	report->has_usage = roll(8) != 0;
	report->time = NOW - roll(200);
	if (report->has_time)
		ADD("'updateTime':'%s',", TIME(report->time, when));
	if (report->has_usage) {
		roll_amounts(report->usage, 20000, 20480);
		roll_amounts(report->system, 2000, 2048);
		put_amounts(amounts, sizeof(amounts), "", false, report->usage);
		ADD("'nodeMetric':{'nodeUsage':{'resources':%s},", amounts);
		put_amounts(amounts, sizeof(amounts), "", false, report->system);
		ADD("'systemUsage':{'resources':%s},'aggregatedNodeUsages':[", amounts);
		for (int i = 0; i < 2; i++) {
			report->has_p95[i] = roll(3) != 0;
			roll_amounts(report->p95[i], 20000, 20480);
			put_amounts(amounts, sizeof(amounts), "", false, report->p95[i]);
			ADD("%s{'duration':'%s','usage':{'%s':{'resources':%s}}}",
			    i ? "," : "", durations[i],
			    report->has_p95[i] ? "p95" : "p50", amounts);
		}
		ADD("]},");
	}
	ADD("'podsMetric':[{'namespace':'other','name':'p0'}");
	for (int i = 0; i < PODS; i++) {
		report->has_pod[i] = roll(2);
		report->is_prod[i] = roll(2);
		roll_amounts(report->pods[i], 3000, 3072);
		put_amounts(amounts, sizeof(amounts), "", false, report->pods[i]);
		if (report->has_pod[i])
			ADD(",{'namespace':'default','name':'p%d','priority':'%s',"
			    "'podUsage':{'resources':%s}}",
			    i, report->is_prod[i] ? "koord-prod" : "koord-batch",
			    amounts);
	}
	ADD("]}");
#undef ADD
	object = cluster_object(name, "", "",
				"{'metricCollectPolicy':{'reportIntervalSeconds':60}}",
				status);
	if (neap_cluster_set_metric(cluster, object, &moved, &err) < 0)
		fail_msg("%s", err.msg);
	(void)neap_object_unref(object);
}

/* --- the second computation --- */

static int64_t estimate(const struct pod *pod, int what)
{
	static const int64_t unasked[] = {250, 200 * MIB};
	int64_t request = pod->request[what], limit = pod->limit[what], guess;

	if (pod->class == FREE)
		return 0;
	if (!request && !limit)
		return pod->class == MID ? 0 : unasked[what];
	guess = llround((double)(request > limit ? request : limit) *
			(double)settings->factors[what] / 100.0);
	return limit && guess > limit ? limit : guess;
}

static int64_t above(int64_t a, int64_t b)
{
	return a > b ? a - b : 0;
}

struct totals {
	int64_t delta, estimated, prod;
};

static struct totals add_up(int node, int what)
{
	const struct report *report = &reports[node];
	struct totals totals = {0};

	for (int i = 0; i < PODS; i++) {
		const struct pod *pod = &pods[i];
		int64_t guess = estimate(pod, what), used = report->pods[i][what];
		bool is_fresh;

		if (!pod->is_there || pod->node != node)
			continue;
		is_fresh = !report->has_pod[i] || !report->has_time || pod->is_assumed ||
			   !pod->scheduled || pod->scheduled > report->time - INTERVAL;
		if (settings->after_initialized && pod->initialized) {
			if (pod->initialized + settings->after_initialized > report->time)
				is_fresh = true;
		} else if (settings->after_scheduled &&
			   pod->scheduled + settings->after_scheduled > report->time) {
			is_fresh = true;
		}
		totals.estimated += guess;
		if (is_fresh)
			totals.delta += above(guess, report->has_pod[i] ? used : 0);
		if (pod->class != PROD)
			continue;
		if (!report->has_pod[i] || !report->is_prod[i])
			totals.prod += guess;
		else
			totals.prod += used + (is_fresh ? above(guess, used) : 0);
	}
	if (settings->with_system)
		totals.prod += report->system[what];
	return totals;
}

static int64_t capacity_of(int node, int what)
{
	return nodes[node].has_raw ? nodes[node].raw[what] : nodes[node].capacity[what];
}

/* seconds -1: the plain usage. */
static int64_t usage_of(int node, int what, int64_t seconds)
{
	const struct report *report = &reports[node];
	struct totals totals = add_up(node, what);

	if (seconds < 0)
		return report->usage[what] + totals.delta;
	if (seconds == 0) {
		if (report->has_p95[1])
			return report->p95[1][what] + totals.delta;
		if (report->has_p95[0])
			return report->p95[0][what] + totals.delta;
		return report->usage[what] + totals.delta;
	}
	if (report->has_p95[seconds == 900])
		return report->p95[seconds == 900][what] + totals.delta;
	return totals.estimated;
}

static bool is_old(const struct report *report)
{
	return !report->has_time || NOW - report->time >= settings->expiry;
}

static void expect_filter(int node, const struct pod *pod, char *ret, size_t size)
{
	static const char *const names[] = {"cpu", "memory"};
	const struct report *report = &reports[node];
	int64_t usage[2] = {settings->usage[0], settings->usage[1]};
	int64_t prod[2] = {settings->prod[0], settings->prod[1]};
	int64_t aggregated[2] = {settings->aggregated[0], settings->aggregated[1]};
	int64_t seconds = settings->seconds, *limits;
	bool is_prod, is_aggregated;

	(void)snprintf(ret, size, "fits");
	if (nodes[node].annotation == 1)
		memcpy(usage, (int64_t[]){0, 15}, sizeof(usage));
	else if (nodes[node].annotation == 2)
		memcpy(prod, (int64_t[]){10, 0}, sizeof(prod));
	else if (nodes[node].annotation == 3)
		memcpy(aggregated, (int64_t[]){12, 0}, sizeof(aggregated));
	seconds = nodes[node].annotation == 3 ? 900 : seconds;
	is_prod = pod->class == PROD && (prod[CPU] || prod[MEMORY]);
	is_aggregated = !is_prod && (aggregated[CPU] || aggregated[MEMORY]);
	limits = is_prod ? prod : is_aggregated ? aggregated : usage;
	if (!report->is_there)
		return;
	if (settings->filters_expired && is_old(report)) {
		if (!settings->passes_expired)
			(void)snprintf(ret, size, "expired");
		return;
	}
	if (!report->has_usage)
		return;
	for (int what = 0; what < 2; what++) {
		int64_t all =
			is_prod ? add_up(node, what).prod
				: usage_of(node, what, is_aggregated ? seconds : -1);
		int64_t capacity = capacity_of(node, what);

		all += estimate(pod, what);
		if (!limits[what] || !capacity ||
		    lround((double)all / (double)capacity * 100) <= limits[what])
			continue;
		(void)snprintf(ret, size, "%s %s", is_aggregated ? "aggregated" : "usage",
			       names[what]);
		return;
	}
}

static int64_t expect_score(int node, const struct pod *pod)
{
	const struct report *report = &reports[node];
	int64_t sum = 0, least = 100, parts[2];

	if (!report->is_there || !report->has_usage || is_old(report))
		return 0;
	for (int what = 0; what < 2; what++) {
		int64_t all =
			settings->by_prod && pod->class == PROD
				? add_up(node, what).prod
				: usage_of(node, what,
					   settings->scores_p95 ? settings->seconds : -1);
		int64_t capacity = capacity_of(node, what);

		all += estimate(pod, what);
		parts[what] = capacity && all <= capacity
				      ? (capacity - all) * 100 / capacity
				      : 0;
		if (parts[what] < least)
			least = parts[what];
		sum += parts[what] * settings->weights[what];
	}
	sum += least * settings->dominant;
	return sum / (settings->weights[0] + settings->weights[1] + settings->dominant);
}

/* --- compared --- */

static void compare(struct neap_cluster *cluster, const struct pod *incoming)
{
	static const char *const words[] = {"fits", "expired", "usage", "aggregated"};
	struct neap_object *object = pod_object(incoming, "incoming");
	struct neap_error err = {0};
	struct neap_load_ask ask;
	struct neap_pod *pod = NULL;

	if (neap_pod_new(object, neap_cluster_resources(cluster), &pod, &err) < 0)
		fail_msg("%s", err.msg);
	(void)neap_object_unref(object);
	(void)neap_cluster_settle(cluster);
	neap_load_ask_init(&ask, cluster, pod, USEC(NOW));
	for (int i = 0; i < NODES; i++) {
		const struct neap_cluster_node *node;
		enum neap_load_answer answer;
		char name[8], want[64], got[64];
		uint32_t at = 0;

		(void)snprintf(name, sizeof(name), "n%d", i);
		node = neap_cluster_find_node(cluster, name);
		if (!nodes[i].is_there)
			continue;
		answer = neap_load_filter(&ask, node->row, &at);
		(void)snprintf(got, sizeof(got), "%s%s%s", words[answer],
			       answer >= NEAP_LOAD_TOO_HIGH ? " " : "",
			       answer >= NEAP_LOAD_TOO_HIGH ? ask.load->args.names[at]
							    : "");
		expect_filter(i, incoming, want, sizeof(want));
		if (strcmp(got, want) != 0)
			fail_msg("%s: %s instead of %s, with %s", name, got, want,
				 settings->json);
		if (neap_load_score(&ask, node->row) != expect_score(i, incoming))
			fail_msg("%s: another score with %s", name, settings->json);
	}
	(void)neap_pod_unref(pod);
}

static struct neap_cluster *start(void)
{
	struct neap_cluster *cluster = cluster_new();
	struct neap_load_args args;
	struct neap_error err = {0};
	char text[1024];
	json_t *json;

	(void)snprintf(text, sizeof(text), "%s", settings->json);
	for (char *c = text; *c; c++)
		*c = (char)(*c == '\'' ? '"' : *c);
	json = json_loads(text, 0, NULL);
	assert_non_null(json);
	if (neap_load_args_read(&args, json, &err) < 0 ||
	    neap_cluster_set_load(cluster, &args, &err) < 0)
		fail_msg("%s: %s %s", text, err.field, err.msg);
	json_decref(json);
	memset(nodes, 0, sizeof(nodes));
	memset(pods, 0, sizeof(pods));
	memset(reports, 0, sizeof(reports));
	return cluster;
}

static void change(struct neap_cluster *cluster)
{
	int node = (int)roll(NODES);
	uint32_t what = roll(8);
	char name[8];

	(void)snprintf(name, sizeof(name), "n%d", node);
	if (what == 0 && nodes[node].is_there && roll(4) == 0) {
		neap_cluster_remove_node(cluster, name);
		nodes[node].is_there = false;
	} else if (what == 0) {
		tell_node(cluster, node);
	} else if (what < 3) {
		tell_report(cluster, node);
	} else {
		tell_pod(cluster, (int)roll(PODS));
	}
}

static void test_against_naive(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(all_settings); i++) {
		struct neap_cluster *cluster;

		settings = &all_settings[i];
		cluster = start();
		for (int round = 0; round < ROUNDS; round++) {
			struct pod incoming;

			for (int n = 0; n < OPS; n++)
				change(cluster);
			fill_pod(&incoming);
			compare(cluster, &incoming);
		}
		neap_cluster_free(cluster);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_naive)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
