/* SPDX-License-Identifier: Apache-2.0
 *
 * What one decision costs: "decide [NODES [PODS]]" has NODES nodes with PODS pods on each
 * (default 5000 and 20: 100,000 pods), kinds of pods in turn, each decided, assumed and
 * forgotten. CPU time of this thread, microseconds a decision, the median of ROUNDS. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/cluster/cpus.h"
#include "engine/decide/decide.h"
#include "engine/decide/load.h"

#define ROUNDS 51
/* On each node; it has room for ten more. */
#define PODS_MAX 100
/* 2026-01-01. */
#define REPORTED_USEC INT64_C(1767225600000000)

static struct neap_object *make(const char *name, const char *ns, const char *rest)
{
	static const char *const fields[] = {"spec.nodeName", NULL};
	struct neap_object *object = NULL;
	struct neap_error err = {0};
	char text[16384];

	(void)snprintf(
		text, sizeof(text),
		"{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\",\"uid\":\"%s\",%s",
		name, ns, name, rest);
	if (neap_object_new_take(json_loads(text, 0, NULL), fields, 1, &object, &err) <
	    0) {
		fprintf(stderr, "%s: %s\n", text, err.msg);
		exit(1);
	}
	return object;
}

static void add_node(struct neap_cluster *cluster, int i)
{
	struct neap_error err;
	struct neap_object *object;
	unsigned moved;
	char name[32], rest[2048];

	(void)snprintf(name, sizeof(name), "node-%d", i);
	(void)snprintf(
		rest, sizeof(rest),
		"\"labels\":{\"kubernetes.io/hostname\":\"%s\",\"zone\":\"z%d\",\"a\":\"1\","
		"\"b\":\"2\",\"c\":\"3\",\"d\":\"4\",\"e\":\"5\",\"f\":\"6\",\"disk\":\"%s\"}},"
		"\"spec\":{%s},\"status\":{\"allocatable\":{\"cpu\":\"64\",\"memory\":"
		"\"256Gi\",\"pods\":\"110\"}}}",
		name, i % 3, i % 10 ? "hdd" : "ssd",
		i % 7 ? ""
		      : "\"taints\":[{\"key\":\"k\",\"value\":\"v\",\"effect\":"
			"\"NoSchedule\"}]");
	object = make(name, "", rest);
	if (neap_cluster_set_node(cluster, object, &moved, &err) < 0)
		exit(1);
	(void)neap_object_unref(object);
}

/* The next pods want whole cores. */
static bool is_binding;

static struct neap_pod *add_pod(struct neap_cluster *cluster, const char *name,
				const char *node, const char *spec)
{
	struct neap_error err;
	struct neap_object *object;
	unsigned moved;
	char rest[2048];

	(void)snprintf(
		rest, sizeof(rest),
		"\"labels\":{\"app\":\"web\"%s}},\"spec\":{%s%s%s\"containers\":[{"
		"\"resources\":{\"requests\":{\"cpu\":\"%s\",\"memory\":\"1Gi\"}}}]%s},"
		"\"status\":{}}",
		is_binding ? ",\"koordinator.sh/qosClass\":\"LSR\"" : "",
		*node ? "\"nodeName\":\"" : "", node, *node ? "\"," : "",
		is_binding ? "4" : "500m", spec);
	object = make(name, "default", rest);
	if (neap_cluster_set_pod(cluster, object, &moved, &err) < 0)
		exit(1);
	(void)neap_object_unref(object);
	return neap_cluster_find_pod(cluster, "default", name);
}

static int compare(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* A report of every node, with every second pod in it. */
static void add_reports(struct neap_cluster *cluster, int nodes, int pods)
{
	static char rest[65536];

	for (int i = 0; i < nodes; i++) {
		struct neap_error err;
		struct neap_object *object;
		unsigned moved;
		char name[32];
		size_t used;

		(void)snprintf(name, sizeof(name), "node-%d", i);
		(void)snprintf(
			rest, sizeof(rest),
			"\"annotations\":{}},\"status\":{\"updateTime\":\"2026-01-01T00:00:00Z\","
			"\"nodeMetric\":{\"nodeUsage\":{\"resources\":{\"cpu\":\"%dm\",\"memory\":"
			"\"%dMi\"}}},\"podsMetric\":[{}",
			5000 + i % 7 * 1000, 9000 + i % 11 * 1000);
		for (int n = i; n < nodes * pods && strlen(rest) < 60000;
		     n += nodes * 2) {
			used = strlen(rest);
			(void)snprintf(
				rest + used, sizeof(rest) - used,
				",{\"namespace\":\"default\",\"name\":\"pod-%d\",\"priority\":"
				"\"koord-prod\",\"podUsage\":{\"resources\":{\"cpu\":\"100m\","
				"\"memory\":\"90Mi\"}}}",
				n);
		}
		used = strlen(rest);
		(void)snprintf(rest + used, sizeof(rest) - used, "]}}");
		object = make(name, "", rest);
		if (neap_cluster_set_metric(cluster, object, &moved, &err) < 0)
			exit(1);
		(void)neap_object_unref(object);
	}
	(void)neap_cluster_settle(cluster);
}

/* 2 NUMA nodes of 16 cores with 2 CPUs each. */
static void add_topologies(struct neap_cluster *cluster, int nodes)
{
	char rest[12288], name[32];
	size_t used = 0;

	used += (size_t)snprintf(
		rest, sizeof(rest),
		"\"annotations\":{\"node.koordinator.sh/cpu-topology\":\""
		"{\\\"detail\\\":[");
	for (int i = 0; i < 64; i++)
		used += (size_t)snprintf(
			rest + used, sizeof(rest) - used,
			"%s{\\\"id\\\":%d,\\\"core\\\":%d,\\\"socket\\\":%d,\\\"node\\\":%d}",
			i ? "," : "", i, i / 2, i / 32, i / 32);
	(void)snprintf(
		rest + used, sizeof(rest) - used,
		"]}\"}},\"zones\":[{\"name\":\"node-0\",\"type\":\"Node\",\"resources\":[{"
		"\"name\":\"cpu\",\"allocatable\":\"32\"}]},{\"name\":\"node-1\",\"type\":"
		"\"Node\",\"resources\":[{\"name\":\"cpu\",\"allocatable\":\"32\"}]}]}");
	for (int i = 0; i < nodes; i++) {
		struct neap_object *object;
		struct neap_error err;
		unsigned moved;

		(void)snprintf(name, sizeof(name), "node-%d", i);
		object = make(name, "", rest);
		if (neap_cluster_set_topology(cluster, object, &moved, &err) < 0)
			exit(1);
		(void)neap_object_unref(object);
	}
}

/* Filter and score of all rows, without the rest of a decision. */
static void measure_load(struct neap_cluster *cluster)
{
	const struct neap_columns *columns = neap_cluster_settle(cluster);
	struct neap_pod *pod = add_pod(cluster, "one", "", "");
	struct neap_load_ask ask;
	int64_t times[ROUNDS], sum = 0;
	uint32_t name;

	for (int i = 0; i < ROUNDS; i++) {
		int64_t start = neap_clock_usec(CLOCK_THREAD_CPUTIME_ID);

		neap_load_ask_init(&ask, cluster, pod, REPORTED_USEC);
		for (uint32_t row = 0; row < columns->rows; row++)
			if (neap_load_filter(&ask, row, &name) == NEAP_LOAD_FITS)
				sum += neap_load_score(&ask, row);
		times[i] = neap_clock_usec(CLOCK_THREAD_CPUTIME_ID) - start;
	}
	qsort(times, ROUNDS, sizeof(*times), compare);
	printf("%-44s %6" PRId64 " us  (%zu rows, %" PRId64 " points)\n",
	       "load-aware filter and score alone", times[ROUNDS / 2], columns->rows,
	       sum / ROUNDS);
}

static bool is_load_scored;

static void measure(struct neap_cluster *cluster, const char *what, int percentage,
		    const char *spec)
{
	int weights[NEAP_SCORE_COUNT];
	const struct neap_decide_config config = {
		.cluster = cluster, .percentage = percentage, .weights = weights};
	struct neap_pod *pod = add_pod(cluster, "one", "", spec);
	struct neap_decide *decide = NULL;
	struct neap_choice choice = {0};
	int64_t times[ROUNDS];
	struct neap_error err;
	int ret = 0;

	neap_decide_weights(weights);
	weights[NEAP_SCORE_LOAD_AWARE] = is_load_scored;
	if (neap_decide_new(&config, &decide, &err) < 0)
		exit(1);
	neap_decide_set_now(decide, REPORTED_USEC);
	for (int i = 0; i < ROUNDS; i++) {
		int64_t start = neap_clock_usec(CLOCK_THREAD_CPUTIME_ID);

		ret = neap_decide_pod(decide, pod, &choice, &err);
		if (ret > 0 && neap_cluster_assume(cluster, pod, choice.row, &err) == 0)
			neap_cluster_forget(cluster, pod);
		times[i] = neap_clock_usec(CLOCK_THREAD_CPUTIME_ID) - start;
	}
	qsort(times, ROUNDS, sizeof(*times), compare);
	printf("%-44s %6" PRId64 " us  (%zu looked at, %zu fit)\n", what,
	       times[ROUNDS / 2], choice.looked_at, choice.fitting);
	neap_decide_free(decide);
}

static int number_of(const char *text, int most)
{
	char *end;
	long number = strtol(text, &end, 10);

	if (*text && !*end && number > 0 && number <= most)
		return (int)number;
	fprintf(stderr,
		"usage: decide [NODES [PODS]]: 1 to %d nodes with 1 to %d pods on each, "
		"not '%s'\n",
		NEAP_CLUSTER_NODES_MAX, PODS_MAX, text);
	exit(2);
}

int main(int argc, char **argv)
{
	int nodes = argc > 1 ? number_of(argv[1], NEAP_CLUSTER_NODES_MAX) : 5000;
	int pods = argc > 2 ? number_of(argv[2], PODS_MAX) : 20;
	struct neap_cluster *cluster = NULL;
	struct neap_error err;
	int64_t start = neap_clock_usec(CLOCK_THREAD_CPUTIME_ID);

	json_t *settings = json_object();
	struct neap_load_args args;

	if (neap_cluster_new(&cluster, &err) < 0 ||
	    neap_load_args_read(&args, settings, &err) < 0 ||
	    neap_cluster_set_load(cluster, &args, &err) < 0)
		return 1;
	json_decref(settings);
	for (int i = 0; i < nodes; i++)
		add_node(cluster, i);
	for (int i = 0; i < nodes * pods; i++) {
		char name[32], node[32];

		(void)snprintf(name, sizeof(name), "pod-%d", i);
		(void)snprintf(node, sizeof(node), "node-%d", i % nodes);
		(void)add_pod(cluster, name, node, "");
	}
	(void)neap_cluster_settle(cluster);
	printf("%d nodes, %d pods: made and read in %" PRId64 " ms\n", nodes,
	       nodes * pods, (neap_clock_usec(CLOCK_THREAD_CPUTIME_ID) - start) / 1000);
	measure(cluster, "plain", 0, "");
	measure(cluster, "plain, every node", 100, "");
	measure(cluster, "nodeSelector, every node", 100,
		",\"nodeSelector\":{\"disk\":\"ssd\"}");
	measure(cluster, "no node has room", 0, ",\"overhead\":{\"cpu\":\"100\"}");
	measure(cluster, "spread over zones", 0,
		",\"topologySpreadConstraints\":[{\"maxSkew\":5000,\"topologyKey\":\"zone\","
		"\"whenUnsatisfiable\":\"DoNotSchedule\",\"labelSelector\":{\"matchLabels\":{"
		"\"app\":\"web\"}}}]");
	measure(cluster, "near pods of its own kind", 0,
		",\"affinity\":{\"podAffinity\":{"
		"\"requiredDuringSchedulingIgnoredDuringExecution\":[{\"labelSelector\":{"
		"\"matchLabels\":{\"app\":\"web\"}},\"topologyKey\":\"zone\"}]}}");
	start = neap_clock_usec(CLOCK_THREAD_CPUTIME_ID);
	add_reports(cluster, nodes, pods);
	printf("reports of all nodes: made and read in %" PRId64 " ms\n",
	       (neap_clock_usec(CLOCK_THREAD_CPUTIME_ID) - start) / 1000);
	is_load_scored = true;
	measure(cluster, "plain, load-aware", 0, "");
	measure(cluster, "plain, load-aware, every node", 100, "");
	measure_load(cluster);
	is_load_scored = false;
	start = neap_clock_usec(CLOCK_THREAD_CPUTIME_ID);
	add_topologies(cluster, nodes);
	printf("topologies of all nodes: made and read in %" PRId64 " ms\n",
	       (neap_clock_usec(CLOCK_THREAD_CPUTIME_ID) - start) / 1000);
	measure(cluster, "plain, every node, topologies", 100, "");
	is_binding = true;
	measure(cluster, "whole cores, 500 nodes are enough", 0, "");
	measure(cluster, "whole cores, every node", 100, "");
	neap_cluster_free(cluster);
	return 0;
}
