/* SPDX-License-Identifier: Apache-2.0
 *
 * `examples` of the kinds score and filter. A row describes a pod and nodes; a cluster is
 * made of them as of real objects, and the real call runs on it.
 *
 * { name =, params = { ... }, pod = { ... }, nodes = { a = { ... }, b = { ... } },
 *   want = { a = 75, b = 20 } | { a = true, b = "reason" } | "skip" | "hold" } */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>

#include "engine/base/mem.h"
#include "engine/cluster/cpus.h"
#include "engine/json/json.h"
#include "lua/place/place_priv.h"
#include "lua/value/convert.h"
#include "lua/vm/budget.h"

#define NODES_MAX 64
#define PODS_MAX  256
/* The moment of every row, and its reports. */
#define START_TEXT "2023-11-14T22:13:20Z"
#define LONG_AGO   "2023-01-01T00:00:00Z"

struct example {
	const struct neap_place_row *row;
	struct neap_cluster *cluster;
	struct neap_pod *pod;
	uint32_t rows[NODES_MAX];
	size_t count;
};

/* --- objects --- */

static int set_node(struct example *ex, const char *name, const json_t *node)
{
	json_t *allocatable = json_object();
	struct neap_object *object = NULL;
	unsigned moved;
	int rc = allocatable ? 0 : neap_error_nomem(ex->row->err);

	if (rc == 0 && json_object_set_new(allocatable, "pods", json_string("110")) < 0)
		rc = neap_error_nomem(ex->row->err);
	if (rc == 0)
		rc = neap_place_row_amounts(ex->row, json_object_get(node, "allocatable"),
					    "allocatable", allocatable);
	if (rc < 0) {
		json_decref(allocatable);
		return rc;
	}
	rc = neap_place_row_object(
		ex->row,
		json_pack("{s:{s:s,s:s,s:o},s:{s:o}}", "metadata", "name", name, "uid",
			  name, "labels",
			  neap_place_row_map(json_object_get(node, "labels")), "status",
			  "allocatable", allocatable),
		&object);
	if (rc == 0)
		rc = neap_cluster_set_node(ex->cluster, object, &moved, ex->row->err);
	(void)neap_object_unref(object);
	return rc;
}

static int set_topology(struct example *ex, json_t *tree)
{
	struct neap_object *object = NULL;
	unsigned moved;
	int rc = neap_place_row_object(ex->row, tree, &object);

	if (rc == 0)
		rc = neap_cluster_set_topology(ex->cluster, object, &moved, ex->row->err);
	(void)neap_object_unref(object);
	return rc;
}

/* Pods with labels are in the namespace of the pod that is decided about; those that
 * are only counted in one of their own. */
static const char *namespace_of(const struct example *ex, const json_t *labels)
{
	const char *ns = json_string_value(
		json_object_get(json_object_get(ex->row->json, "pod"), "namespace"));

	return !labels ? "there" : ns ? ns : "default";
}

/* A pod of a node; labels NULL: only counted. */
static int set_pod(struct example *ex, const char *node, int number, const json_t *labels,
		   const json_t *requested, const json_t *annotations)
{
	json_t *requests = json_object();
	struct neap_object *object = NULL;
	unsigned moved;
	char name[300];
	int rc = requests ? 0 : neap_error_nomem(ex->row->err);

	(void)snprintf(name, sizeof(name), "%.250s-%d", node, number);
	if (rc == 0)
		rc = neap_place_row_amounts(ex->row, requested, "requested", requests);
	if (rc < 0) {
		json_decref(requests);
		return rc;
	}
	rc = neap_place_row_object(
		ex->row,
		json_pack("{s:{s:s,s:s,s:s,s:o,s:O*},s:{s:s,s:[{s:{s:o}}]},s:{s:s,s:s}}",
			  "metadata", "name", name, "namespace", namespace_of(ex, labels),
			  "uid", name, "labels", neap_place_row_map(labels),
			  "annotations", annotations, "spec", "nodeName", node,
			  "containers", "resources", "requests", requests, "status",
			  "phase", "Running", "startTime", LONG_AGO),
		&object);
	if (rc == 0)
		rc = neap_cluster_set_pod(ex->cluster, object, &moved, ex->row->err);
	(void)neap_object_unref(object);
	return rc;
}

/* Pods that are there are in the report with nothing, so that they add no estimate. */
static int set_metric(struct example *ex, const char *name, const json_t *node, int pods)
{
	const json_t *allocatable = json_object_get(node, "allocatable");
	json_t *used = json_object(), *list = json_array();
	struct neap_object *object = NULL;
	const char *key;
	unsigned moved;
	json_t *value;
	int rc = used && list ? 0 : neap_error_nomem(ex->row->err);

	json_object_foreach (json_object_get(node, "load_share"), key, value) {
		double all =
			(double)json_integer_value(json_object_get(allocatable, key));
		double share = json_number_value(value);

		if (rc == 0 &&
		    (!json_is_number(value) || share < 0 || share > 10 || all <= 0))
			rc = neap_place_row_fail(
				ex->row, "load_share",
				"shares from 0 to 10 of what allocatable says are wanted");
		if (rc == 0 &&
		    json_object_set_new(
			    used, key,
			    json_sprintf("%lld%s", (long long)(all * share + 0.5),
					 strcmp(key, "cpu") == 0 ? "m" : "")) < 0)
			rc = neap_error_nomem(ex->row->err);
	}
	for (int i = 0; rc == 0 && i < pods; i++)
		if (json_array_append_new(
			    list,
			    json_pack("{s:s,s:o,s:{s:{s:s,s:s}}}", "namespace",
				      namespace_of(ex,
						   json_array_get(
							   json_object_get(node, "pods"),
							   (size_t)i)),
				      "name", json_sprintf("%.250s-%d", name, i),
				      "podUsage", "resources", "cpu", "0", "memory",
				      "0")) < 0)
			rc = neap_error_nomem(ex->row->err);
	if (rc < 0) {
		json_decref(used);
		json_decref(list);
		return rc;
	}
	rc = neap_place_row_object(ex->row,
				   json_pack("{s:{s:s,s:s},s:{s:s,s:{s:{s:o}},s:o}}",
					     "metadata", "name", name, "uid", name,
					     "status", "updateTime", START_TEXT,
					     "nodeMetric", "nodeUsage", "resources", used,
					     "podsMetric", list),
				   &object);
	if (rc == 0)
		rc = neap_cluster_set_metric(ex->cluster, object, &moved, ex->row->err);
	(void)neap_object_unref(object);
	return rc;
}

/* How many are told; -1: it is neither a number nor labels of each. */
static int count_pods(const json_t *told, bool has_any)
{
	const json_t *labels, *value;
	const char *key;
	size_t i;

	if (!told)
		return has_any;
	if (json_is_integer(told)) {
		json_int_t count = json_integer_value(told);

		return count < 0 || count > PODS_MAX ? -1 : (int)count;
	}
	if (!json_is_array(told) || json_array_size(told) > PODS_MAX)
		return -1;
	json_array_foreach (told, i, labels) {
		/* An empty table of Lua is a list. */
		if (!json_is_object(labels) && json_array_size(labels))
			return -1;
		json_object_foreach ((json_t *)labels, key, value)
			if (!json_is_string(value))
				return -1;
	}
	return (int)json_array_size(told);
}

/* The first pod has what is taken: all of requested, and the CPUs and memory of NUMA
 * nodes. */
static int add_pods(struct example *ex, const char *name, const json_t *node,
		    const json_t *annotations)
{
	const json_t *requested = json_object_get(node, "requested");
	const json_t *told = json_object_get(node, "pods");
	bool has_any = json_object_size(requested) || json_object_size(annotations);
	int rc = 0, pods = count_pods(told, has_any);

	if (pods < 0)
		return neap_place_row_fail(
			ex->row, "pods",
			"a whole number, or a list of tables of labels, "
			"up to 256, is wanted");
	if (!pods && has_any)
		return neap_place_row_fail(
			ex->row, "pods", "no pods, and something is requested or bound");
	for (int i = 0; rc == 0 && i < pods; i++)
		rc = set_pod(ex, name, i, json_array_get(told, (size_t)i),
			     i ? NULL : requested, i ? NULL : annotations);
	if (rc == 0 && json_object_get(node, "load_share"))
		rc = set_metric(ex, name, node, pods);
	return rc;
}

static int add_node(struct example *ex, const char *name, const json_t *node)
{
	static const char *const names[] = {
		"labels", "allocatable", "requested", "load_share", "pods", "numa", NULL};
	const json_t *numa = json_object_get(node, "numa");
	json_t *topology = NULL, *annotations = NULL;
	int rc = neap_place_row_check(ex->row, node, "a node", names);

	if (rc == 0 && numa)
		rc = neap_place_example_numa(numa, name, &topology, &annotations,
					     ex->row->err);
	if (rc == 0)
		rc = set_node(ex, name, node);
	if (rc == 0 && topology)
		rc = set_topology(ex, json_incref(topology));
	if (rc == 0)
		rc = add_pods(ex, name, node, annotations);
	json_decref(topology);
	json_decref(annotations);
	return rc;
}

static int make_cluster(struct example *ex)
{
	const json_t *nodes = json_object_get(ex->row->json, "nodes");
	const char *name;
	json_t *node;
	int rc;

	if (json_object_size(nodes) > NODES_MAX || (nodes && !json_is_object(nodes)))
		return neap_place_row_fail(ex->row, "nodes",
					   "at most 64 tables by name are wanted");
	rc = neap_cluster_new(&ex->cluster, ex->row->err);
	json_object_foreach ((json_t *)nodes, name, node) {
		rc = rc < 0 ? rc : add_node(ex, name, node);
		if (rc < 0)
			return neap_error_wrap(ex->row->err, "nodes.%.60s", name);
	}
	if (rc == 0)
		rc = neap_place_row_pod(ex->row, neap_cluster_resources(ex->cluster),
					&ex->pod);
	if (rc < 0)
		return rc;
	(void)neap_cluster_settle(ex->cluster);
	json_object_foreach ((json_t *)nodes, name, node) {
		ex->rows[ex->count++] = neap_cluster_find_node(ex->cluster, name)->row;
	}
	return 0;
}

/* --- comparing --- */

static int differ(const struct example *ex, const char *wanted, const char *got)
{
	return neap_error_set(ex->row->err, NEAP_ECONFLICT, "wanted %s; got %s", wanted,
			      got);
}

static const char *verdict_text(enum neap_tick_verdict verdict)
{
	return verdict == NEAP_TICK_SKIPPED ? "skip"
	       : verdict == NEAP_TICK_HOLD  ? "hold"
					    : "answers by node";
}

/* The verdict against want; 1: it is by node, and so is the answer. */
static int compare_verdict(const struct example *ex, enum neap_tick_verdict verdict,
			   const struct neap_error *err)
{
	const json_t *want = json_object_get(ex->row->json, "want");
	const char *text = json_string_value(want);

	if (!ex->row->index && verdict <= NEAP_TICK_SKIPPED)
		return 0; /* any answer will do */
	if (ex->row->index && text && strcmp(text, "skip") != 0 &&
	    strcmp(text, "hold") != 0)
		return neap_place_row_fail(ex->row, "want",
					   "answers by node, \"skip\" or \"hold\"");
	if (verdict > NEAP_TICK_SKIPPED) {
		*ex->row->err = *err;
		return -(int)err->code;
	}
	if (!text && !json_is_object(want))
		return neap_place_row_fail(ex->row, "want",
					   "answers by node, \"skip\" or \"hold\"");
	if (!text && verdict == NEAP_TICK_SKIPPED)
		return differ(ex, "answers by node", err->msg);
	if (strcmp(text ? text : "answers by node", verdict_text(verdict)) != 0)
		return differ(ex, text ? text : "answers by node", verdict_text(verdict));
	if (!text && json_object_size(want) != ex->count)
		return neap_place_row_fail(ex->row, "want",
					   "an answer for each of the nodes");
	return !text;
}

static const json_t *want_of(const struct example *ex, size_t i, const char **ret_name)
{
	*ret_name = neap_cluster_settle(ex->cluster)->nodes[ex->rows[i]]->name;
	return json_object_get(json_object_get(ex->row->json, "want"), *ret_name);
}

static int compare_points(const struct example *ex, const int64_t *points)
{
	for (size_t i = 0; i < ex->count; i++) {
		const char *name;
		const json_t *want = want_of(ex, i, &name);
		char wanted[100], got[32];

		if (!json_is_integer(want))
			return neap_place_row_fail(ex->row, "want",
						   "whole points by node are wanted");
		if (json_integer_value(want) == points[i])
			continue;
		(void)snprintf(wanted, sizeof(wanted), "%lld for node %.60s",
			       (long long)json_integer_value(want), name);
		(void)snprintf(got, sizeof(got), "%lld", (long long)points[i]);
		return differ(ex, wanted, got);
	}
	return 0;
}

static int compare_answers(const struct example *ex, const struct neap_place_call *call,
			   const uint32_t *answers)
{
	for (size_t i = 0; i < ex->count; i++) {
		const char *name,
			*reason = answers[i] ? call->reasons[answers[i] - 1] : NULL;
		const json_t *want = want_of(ex, i, &name);
		const char *text = json_string_value(want);
		char wanted[NEAP_PLACE_REASON + 100];

		if (!json_is_boolean(want) && !text)
			return neap_place_row_fail(
				ex->row, "want",
				"true, false or a reason by node is wanted");
		if (text ? reason && strcmp(text, reason) == 0
			 : json_is_true(want) == !reason)
			continue;
		(void)snprintf(wanted, sizeof(wanted), "%.127s for node %.60s",
			       text                 ? text
			       : json_is_true(want) ? "true"
						    : "false",
			       name);
		return differ(ex, wanted, reason ? reason : "true");
	}
	return 0;
}

/* --- running --- */

static int run_score(const struct example *ex, const struct neap_place *place)
{
	struct neap_curve_score *score = neap_alloc(sizeof(*score));
	int64_t points[NODES_MAX], left = INT64_MAX;
	struct neap_error err = {0};
	enum neap_tick_verdict verdict;
	int rc;

	if (!score)
		return neap_error_nomem(ex->row->err);
	verdict = neap_policy_plan_within(ex->row->policy, place, &left, score, &err);
	rc = compare_verdict(ex, verdict, &err);
	if (rc > 0) {
		neap_curve_score(score, ex->cluster, ex->pod, place->now_usec, ex->rows,
				 ex->count, points);
		rc = compare_points(ex, points);
	}
	free(score);
	return rc;
}

static int run_filter(const struct example *ex, const struct neap_place *place)
{
	struct neap_place_call *call = neap_alloc(sizeof(*call));
	struct neap_error err = {0};
	enum neap_tick_verdict verdict;
	uint32_t answers[NODES_MAX];
	int64_t left = INT64_MAX;
	int rc;

	if (!call)
		return neap_error_nomem(ex->row->err);
	verdict = neap_policy_allow_within(ex->row->policy, place, call, ex->rows,
					   ex->count, &left, answers, &err);
	rc = compare_verdict(ex, verdict, &err);
	if (rc > 0)
		rc = compare_answers(ex, call, answers);
	free(call);
	return rc;
}

static int run_row(struct neap_place_row *row, void *arg)
{
	struct example *ex = arg;
	struct neap_place place = {.now_usec = NEAP_PLACE_ROW_UNIX * 1000000};
	int rc;

	ex->row = row;
	rc = make_cluster(ex);
	if (rc < 0)
		return rc;
	place.cluster = ex->cluster;
	place.pod = ex->pod;
	return strcmp(row->policy->kind->name, "score") == 0 ? run_score(ex, &place)
							     : run_filter(ex, &place);
}

int neap_place_run_example(struct neap_policy *policy, int index, struct neap_error *err)
{
	static const char *const fields[] = {"name",  "params", "pod",
					     "nodes", "want",   NULL};
	struct example ex = {0};
	int rc = neap_place_row_run(policy, index, fields, run_row, &ex, err);

	(void)neap_pod_unref(ex.pod);
	neap_cluster_free(ex.cluster);
	return rc;
}
