/* SPDX-License-Identifier: Apache-2.0
 *
 * Area load-aware: a cluster of the one node of the case, asked as a decision asks it. */
#include <string.h>

#include "engine/base/quantity.h"
#include "engine/decide/load.h"
#include "t/vectors/vectors.h"

/* Objects have a name and a uid, owners as well, which cases may leave out. */
static int make_object(const json_t *json, const char *name, struct neap_object **ret,
		       struct neap_error *err)
{
	json_t *tree = json_is_object(json) ? json_deep_copy(json) : json_object();
	json_t *meta = json_object_get(tree, "metadata"), *owner;
	size_t i;

	if (!json_is_object(meta)) {
		meta = json_object();
		(void)json_object_set_new(tree, "metadata", meta);
	}
	if (!json_object_get(meta, "name"))
		(void)json_object_set_new(meta, "name", json_string(name));
	if (!json_object_get(meta, "uid"))
		(void)json_object_set_new(meta, "uid", json_string(name));
	json_array_foreach (json_object_get(meta, "ownerReferences"), i, owner) {
		if (!json_object_get(owner, "uid"))
			(void)json_object_set_new(owner, "uid", json_string("owner"));
	}
	return neap_object_new_take(tree, NULL, 1, ret, err);
}

static int set_node(struct neap_cluster *cluster, const json_t *json,
		    struct neap_error *err)
{
	struct neap_object *object = NULL;
	unsigned moved;
	int rc = make_object(json, "node", &object, err);

	if (rc == 0)
		rc = neap_cluster_set_node(cluster, object, &moved, err);
	(void)neap_object_unref(object);
	return rc;
}

static int set_metric(struct neap_cluster *cluster, const json_t *json,
		      struct neap_error *err)
{
	struct neap_object *object = NULL;
	unsigned moved;
	int rc = make_object(json, "node", &object, err);

	if (rc == 0)
		rc = neap_cluster_set_metric(cluster, object, &moved, err);
	(void)neap_object_unref(object);
	return rc;
}

static int set_pods(struct neap_cluster *cluster, const json_t *list,
		    struct neap_error *err)
{
	int rc = 0;

	for (size_t i = 0; i < json_array_size(list) && rc == 0; i++) {
		struct neap_object *object = NULL;
		unsigned moved;

		rc = make_object(json_array_get(list, i), "pod", &object, err);
		if (rc == 0)
			rc = neap_cluster_set_pod(cluster, object, &moved, err);
		(void)neap_object_unref(object);
	}
	return rc;
}

static int make_pod(struct neap_cluster *cluster, const json_t *json,
		    struct neap_pod **ret, struct neap_error *err)
{
	struct neap_object *object = NULL;
	int rc = make_object(json, "the-pod", &object, err);

	if (rc == 0)
		rc = neap_pod_new(object, neap_cluster_resources(cluster), ret, err);
	(void)neap_object_unref(object);
	return rc;
}

static int make_cluster(const json_t *args, struct neap_cluster **ret,
			struct neap_error *err)
{
	struct neap_load_args load;
	int rc = neap_load_args_read(&load, args, err);

	if (rc == 0)
		rc = neap_cluster_new(ret, err);
	return rc < 0 ? rc : neap_cluster_set_load(*ret, &load, err);
}

struct asked {
	struct neap_cluster *cluster;
	struct neap_pod *pod;
	struct neap_load_ask ask;
	uint32_t row;
};

static void done(struct asked *asked)
{
	(void)neap_pod_unref(asked->pod);
	neap_cluster_free(asked->cluster);
}

static int prepare(json_t *given, struct asked *asked, struct neap_error *err)
{
	const json_t *node = json_object_get(given, "node");
	const json_t *metric = json_object_get(given, "nodeMetric");
	const char *now = vector_text(given, "now");
	const char *name = vector_text(json_object_get(node, "metadata"), "name");
	struct neap_cluster_node *found;
	int64_t now_usec;
	int rc;

	memset(asked, 0, sizeof(*asked));
	if (now == NULL || neap_time_parse(now, &now_usec, err) < 0)
		return vector_bad(err, "now is no time");
	rc = make_cluster(json_object_get(given, "args"), &asked->cluster, err);
	if (rc == 0)
		rc = set_node(asked->cluster, node, err);
	if (rc == 0 && json_is_object(metric))
		rc = set_metric(asked->cluster, metric, err);
	if (rc == 0)
		rc = set_pods(asked->cluster, json_object_get(given, "assignedPods"),
			      err);
	if (rc == 0)
		rc = make_pod(asked->cluster, json_object_get(given, "pod"), &asked->pod,
			      err);
	if (rc < 0)
		return rc;
	found = neap_cluster_find_node(asked->cluster, name == NULL ? "node" : name);
	if (found == NULL)
		return vector_bad(err, "the node is not there");
	asked->row = found->row;
	(void)neap_cluster_settle(asked->cluster);
	neap_load_ask_init(&asked->ask, asked->cluster, asked->pod, now_usec);
	return 0;
}

static int filter(struct vector_context *context, json_t *given, json_t **ret,
		  struct neap_error *err)
{
	static const char *const reasons[] = {[NEAP_LOAD_FITS] = "",
					      [NEAP_LOAD_EXPIRED] = "nodeMetricExpired",
					      [NEAP_LOAD_TOO_HIGH] = "usage",
					      [NEAP_LOAD_AGGREGATED_TOO_HIGH] =
						      "aggregatedUsage"};
	enum neap_load_answer answer = NEAP_LOAD_FITS;
	struct asked asked;
	uint32_t name = 0;
	json_t *object = NULL;
	int rc = prepare(given, &asked, err);

	(void)context;
	if (rc == 0 && neap_load_can_refuse(asked.cluster, asked.pod))
		answer = neap_load_filter(&asked.ask, asked.row, &name);
	if (rc == 0)
		object = answer == NEAP_LOAD_FITS
				 ? json_pack("{s:s}", "code", "Success")
				 : json_pack("{s:s,s:s}", "code", "Unschedulable",
					     "reason", reasons[answer]);
	if (object &&
	    (answer == NEAP_LOAD_TOO_HIGH || answer == NEAP_LOAD_AGGREGATED_TOO_HIGH))
		(void)json_object_set_new(object, "resource",
					  json_string(asked.ask.load->args.names[name]));
	done(&asked);
	return rc < 0 ? rc : vector_answer_new(object, ret, err);
}

static int score(struct vector_context *context, json_t *given, json_t **ret,
		 struct neap_error *err)
{
	struct asked asked;
	json_t *object = NULL;
	int rc = prepare(given, &asked, err);

	(void)context;
	if (rc == 0)
		object = json_pack("{s:I,s:s}", "score",
				   (json_int_t)neap_load_score(&asked.ask, asked.row),
				   "code", "Success");
	done(&asked);
	return rc < 0 ? rc : vector_answer_new(object, ret, err);
}

/* The estimate has all names that there is a factor for: those of the pod's own become
 * names of the settings. */
static int add_own_names(json_t *args, const json_t *pod, struct neap_error *err)
{
	struct neap_cluster *cluster = NULL;
	struct neap_pod *read = NULL;
	json_t *names = json_array();
	int rc = neap_cluster_new(&cluster, err);

	if (rc == 0)
		rc = make_pod(cluster, pod, &read, err);
	for (size_t i = 0; rc == 0 && i < read->load.factor_count; i++)
		(void)json_array_append_new(names,
					    json_string(read->load.factors[i].name));
	(void)json_object_set_new(args, "supportedResources", names);
	(void)neap_pod_unref(read);
	neap_cluster_free(cluster);
	return rc;
}

static int estimate_pod(struct vector_context *context, json_t *given, json_t **ret,
			struct neap_error *err)
{
	struct asked asked = {.cluster = NULL};
	int64_t estimate[NEAP_LOAD_NAMES_MAX];
	const json_t *pod = json_object_get(given, "pod");
	json_t *object = json_object(), *args = json_copy(given);
	int rc = 0;

	(void)context;
	if (json_is_true(json_object_get(args, "allowCustomizeEstimation")))
		rc = add_own_names(args, pod, err);
	if (rc == 0)
		rc = make_cluster(args, &asked.cluster, err);
	if (rc == 0)
		rc = make_pod(asked.cluster, pod, &asked.pod, err);
	if (rc == 0) {
		const struct neap_load *load = neap_cluster_load(asked.cluster);

		neap_load_estimate(load, asked.pod, estimate);
		for (size_t i = 0; i < load->args.count; i++)
			(void)json_object_set_new(object, load->args.names[i],
						  json_integer(estimate[i]));
	}
	json_decref(args);
	done(&asked);
	if (rc < 0)
		json_decref(object);
	return rc < 0 ? rc : vector_answer_new(object, ret, err);
}

/* Every name that the node tells of is one of the settings, as the estimate has all of
 * them. */
static json_t *settings_of(const json_t *node)
{
	static const char key[] = "node.koordinator.sh/raw-allocatable";
	const json_t *meta = json_object_get(node, "metadata");
	const char *text = vector_text(json_object_get(meta, "annotations"), key), *name;
	json_t *told = json_copy(
		json_object_get(json_object_get(node, "status"), "allocatable"));
	json_t *raw = text ? json_loads(text, 0, NULL) : NULL, *names = json_array(),
	       *value;

	told = told ? told : json_object();
	(void)json_object_update(told, raw);
	json_object_foreach (told, name, value)
		(void)json_array_append_new(names, json_string(name));
	json_decref(told);
	json_decref(raw);
	return json_pack("{s:o}", "supportedResources", names);
}

static bool is_named(const json_t *settings, const char *name)
{
	const json_t *list = json_object_get(settings, "supportedResources"), *one;
	size_t i;

	json_array_foreach (list, i, one)
		if (strcmp(json_string_value(one), name) == 0)
			return true;
	return false;
}

static int estimate_node(struct vector_context *context, json_t *given, json_t **ret,
			 struct neap_error *err)
{
	struct asked asked = {.cluster = NULL};
	json_t *object = json_object();
	/* A report, so that there are columns. */
	const json_t *node = json_object_get(given, "node");
	json_t *settings = settings_of(node);
	int rc = make_cluster(settings, &asked.cluster, err);

	(void)context;
	if (rc == 0)
		rc = set_node(asked.cluster, node, err);
	if (rc == 0) {
		json_t *metric = json_pack("{s:O*}", "metadata",
					   json_object_get(node, "metadata"));

		rc = set_metric(asked.cluster, metric, err);
		json_decref(metric);
	}
	if (rc == 0) {
		const struct neap_load *load = neap_cluster_load(asked.cluster);

		(void)neap_cluster_settle(asked.cluster);
		for (size_t i = 0; i < load->args.count; i++) {
			int64_t amount = load->columns[NEAP_LOAD_CAPACITY][i][0];
			const char *name = load->args.names[i];
			char text[32];

			if (!is_named(settings, name))
				continue;
			if (strcmp(name, "cpu") == 0)
				(void)neap_quantity_format_milli(amount, text,
								 sizeof(text));
			else
				(void)neap_quantity_format_bytes(amount, text,
								 sizeof(text));
			(void)json_object_set_new(object, name, json_string(text));
		}
	}
	json_decref(settings);
	done(&asked);
	if (rc < 0)
		json_decref(object);
	return rc < 0 ? rc : vector_answer_new(object, ret, err);
}

/* Quantities compare by value. */
static void settle_amounts(json_t *given, json_t *answer)
{
	const char *name;
	json_t *value;

	(void)given;
	json_object_foreach (answer, name, value) {
		int64_t milli;

		if (json_is_string(value) &&
		    neap_quantity_parse_milli(json_string_value(value), &milli, NULL) ==
			    0)
			(void)json_object_set_new(answer, name, json_integer(milli));
	}
}

/* Objects are read whole, whatever they have. */
#define DEEP(at) at ".*", at ".*.*", at ".*.*.*"
#define POD(at)  DEEP(at), at ".*.*[].*", at ".*.*[].*.*", at ".*.*[].*.*.*"
#define METRIC(at)                                                                       \
	POD(at), at ".*.*.*.*", at ".*.*.*.*.*", at ".*.*.*[].*", at ".*.*.*[].*.*",     \
		at ".*.*.*[].*.*.*", at ".*.*.*[].*.*.*.*"

static const char *const ask_keys[] = {"now",
				       "args",
				       "args.filterExpiredNodeMetrics",
				       "args.nodeMetricExpirationSeconds",
				       "args.enableScheduleWhenNodeMetricsExpired",
				       "args.resourceWeights",
				       "args.resourceWeights.*",
				       "args.dominantResourceWeight",
				       "args.usageThresholds",
				       "args.usageThresholds.*",
				       "args.prodUsageThresholds",
				       "args.prodUsageThresholds.*",
				       "args.prodUsageIncludeSys",
				       "args.scoreAccordingProdUsage",
				       "args.estimator",
				       "args.estimatedScalingFactors",
				       "args.estimatedScalingFactors.*",
				       "args.estimatedSecondsAfterPodScheduled",
				       "args.estimatedSecondsAfterInitialized",
				       "args.allowCustomizeEstimation",
				       "args.supportedResources",
				       "args.aggregated",
				       "args.aggregated.usageThresholds",
				       "args.aggregated.usageThresholds.*",
				       "args.aggregated.usageAggregationType",
				       "args.aggregated.usageAggregatedDuration",
				       "args.aggregated.scoreAggregationType",
				       "args.aggregated.scoreAggregatedDuration",
				       "node",
				       DEEP("node"),
				       "nodeMetric",
				       METRIC("nodeMetric"),
				       "assignedPods",
				       POD("assignedPods[]"),
				       "pod",
				       POD("pod"),
				       NULL};
static const char *const pod_keys[] = {"estimatedScalingFactors",
				       "estimatedScalingFactors.*",
				       "allowCustomizeEstimation",
				       "pod",
				       POD("pod"),
				       NULL};
static const char *const node_keys[] = {"node", POD("node"), DEEP("node.*.*"), NULL};

const struct vector_row vector_load_rows[] = {
	{.area = "load-aware", .op = "loadaware.filter", .keys = ask_keys, .fn = filter},
	{.area = "load-aware", .op = "loadaware.score", .keys = ask_keys, .fn = score},
	{.area = "load-aware",
	 .op = "loadaware.estimatePod",
	 .keys = pod_keys,
	 .fn = estimate_pod},
	{.area = "load-aware",
	 .op = "loadaware.estimateNode",
	 .keys = node_keys,
	 .fn = estimate_node,
	 .settle = settle_amounts},
	{.area = NULL},
};
