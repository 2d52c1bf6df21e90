/* SPDX-License-Identifier: Apache-2.0
 *
 * NodeMetrics are parsed one at a time and freed: those of thousands of nodes need much
 * memory. The results are small. */
#include "api/kube/types/metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/store/store.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

#define REPORTS "nodemetrics.slo.koordinator.sh"
/* The averaging window in seconds: the default for a NodeMetric without one, and the
 * minimum. */
#define WINDOW_S     300
#define WINDOW_MIN_S 60
/* So many bytes of a report take as long as one of its pods. */
#define REPORT_BYTES 1024

struct neap_kube_making {
	struct neap_store *store;
	bool is_of_pods;
	char ns[NEAP_OBJECT_NAMESPACE], name[NEAP_OBJECT_NAME]; /* "": all */
	/* The current report, and its next pod. */
	struct neap_store_place place;
	struct neap_object *object;
	json_t *report;
	size_t entry;
	bool is_last; /* there are no more reports */
	bool is_done, is_short_of_memory;
	struct neap_object **list;
	size_t count, size;
};

/* --- parts of a report --- */

/* The resources that metrics-server has, as texts; NULL: none of them, or no memory. */
static json_t *usage_of(const json_t *usage)
{
	static const char *const names[] = {"cpu", "memory"};
	const json_t *resources = json_object_get(usage, "resources");
	json_t *made = json_object();

	for (size_t i = 0; i < NEAP_ARRAY_LEN(names); i++) {
		const json_t *value = json_object_get(resources, names[i]);
		char number[32];

		if (json_is_string(value))
			neap_json_set_text(made, names[i], json_string_value(value));
		if (!json_is_integer(value))
			continue;
		(void)snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT,
			       json_integer_value(value));
		neap_json_set_text(made, names[i], number);
	}
	if (json_object_size(made) > 0)
		return made;
	json_decref(made);
	return NULL;
}

static const char *window_of(const json_t *report, char *buf, size_t size)
{
	const json_t *seconds =
		neap_json_at(report, "spec.metricCollectPolicy.aggregateDurationSeconds");
	json_int_t s = json_is_integer(seconds) ? json_integer_value(seconds) : WINDOW_S;

	if (s < WINDOW_MIN_S)
		s = WINDOW_MIN_S;
	if (s > INT32_MAX)
		s = INT32_MAX;
	(void)snprintf(buf, size, "%" JSON_INTEGER_FORMAT "m%" JSON_INTEGER_FORMAT "s",
		       s / 60, s % 60);
	return buf;
}

static const char *time_of(const json_t *report)
{
	return json_string_value(neap_json_at(report, "status.updateTime"));
}

/* The labels of the object that the metrics are about. */
static json_t *labels_of(const struct neap_object *object)
{
	json_t *labels = json_object();
	const char *at = object->labels;

	for (unsigned i = 0; i < object->label_count; i++) {
		const char *value = at + strlen(at) + 1;

		neap_json_set_text(labels, at, value);
		at = value + strlen(value) + 1;
	}
	return labels;
}

/* --- objects --- */

/* Takes tree; NULL means out of memory. */
static void keep_take(struct neap_kube_making *making, json_t *tree)
{
	struct neap_object *object;
	struct neap_error err;

	if (!neap_grow(&making->list, making->count, &making->size,
		       sizeof(*making->list))) {
		json_decref(tree);
		making->is_short_of_memory = true;
		return;
	}
	/* The version of a computed object does not matter. */
	if (neap_object_new_take(tree, NULL, 0, &object, &err) < 0)
		making->is_short_of_memory = true;
	else
		making->list[making->count++] = object;
}

/* The parts that both kinds have. about: the object measured. Takes usage. */
static json_t *make_metrics(const struct neap_object *about, const json_t *report,
			    const char *member, json_t *usage)
{
	const char *time = time_of(report);
	char window[48];
	json_t *made = json_pack(
		"{s:{s:s, s:s*, s:s, s:o}, s:s, s:s, s:o}", "metadata", "name",
		about->name, "namespace", *about->ns ? about->ns : NULL,
		"creationTimestamp", time, "labels", labels_of(about), "timestamp", time,
		"window", window_of(report, window, sizeof(window)), member, usage);

	if (made && about->label_count == 0)
		(void)json_object_del(json_object_get(made, "metadata"), "labels");
	return made;
}

/* --- nodes --- */

static void add_node(struct neap_kube_making *making, const struct neap_object *node,
		     const json_t *report)
{
	json_t *usage = usage_of(neap_json_at(report, "status.nodeMetric.nodeUsage"));

	if (usage)
		keep_take(making, make_metrics(node, report, "usage", usage));
}

/* --- pods --- */

static const char *container_name(const json_t *pod)
{
	const json_t *list = neap_json_at(pod, "spec.containers");
	const char *name =
		json_string_value(json_object_get(json_array_get(list, 0), "name"));

	return json_array_size(list) == 1 && name ? name : "(all)";
}

static void add_pod(struct neap_kube_making *making, const struct neap_object *pod,
		    const json_t *report, const json_t *entry)
{
	json_t *usage = usage_of(json_object_get(entry, "podUsage"));
	json_t *tree;

	if (!usage)
		return;
	tree = neap_object_tree(pod);
	if (!tree) {
		json_decref(usage);
		making->is_short_of_memory = true;
		return;
	}
	keep_take(making, make_metrics(pod, report, "containers",
				       json_pack("[{s:s, s:o}]", "name",
						 container_name(tree), "usage", usage)));
	json_decref(tree);
}

/* Handles the next pod of the report. */
static void look_at_pod(struct neap_kube_making *making, const json_t *entry)
{
	const char *ns = json_string_value(json_object_get(entry, "namespace"));
	const char *name = json_string_value(json_object_get(entry, "name"));
	const struct neap_object *pod;
	const char *place;

	if (!ns || !name || (*making->ns && strcmp(ns, making->ns) != 0) ||
	    (*making->name && strcmp(name, making->name) != 0))
		return;
	pod = neap_store_find(making->store, "pods", ns, name);
	place = pod ? neap_object_field(pod, "spec.nodeName") : NULL;
	if (place && strcmp(place, making->object->name) == 0)
		add_pod(making, pod, making->report, entry);
}

/* --- making --- */

static int compare(const void *a, const void *b)
{
	const struct neap_object *one = *(struct neap_object *const *)a;
	const struct neap_object *other = *(struct neap_object *const *)b;

	return neap_object_compare(one, other->ns, other->name);
}

/* Sorts into list order. If a report names a pod twice, the first counts. */
static void finish(struct neap_kube_making *making)
{
	size_t kept = 0;

	making->is_done = true;
	if (making->count)
		qsort(making->list, making->count, sizeof(struct neap_object *), compare);
	for (size_t i = 0; i < making->count; i++) {
		if (kept && compare(&making->list[kept - 1], &making->list[i]) == 0)
			(void)neap_object_unref(making->list[i]);
		else
			making->list[kept++] = making->list[i];
	}
	making->count = kept;
}

static void close_report(struct neap_kube_making *making)
{
	json_decref(making->report);
	making->report = NULL;
	making->object = neap_object_unref(making->object);
}

static bool take_first(void *arg, struct neap_object *object)
{
	struct neap_kube_making *making = arg;

	if (making->object)
		return false;
	making->object = neap_object_ref(object);
	return true;
}

/* False: there are no more. */
static bool find_report(struct neap_kube_making *making)
{
	struct neap_error err;
	int more;

	if (making->is_last)
		return false;
	more = neap_store_list(making->store, REPORTS, NULL, &making->place, take_first,
			       making, &err);
	if (more == -NEAP_EGONE) {
		/* The version is forgotten: continue with the present one. */
		making->place.version = neap_store_version(making->store);
		more = neap_store_list(making->store, REPORTS, NULL, &making->place,
				       take_first, making, &err);
	}
	making->is_last = more <= 0;
	return making->object;
}

static void open_report(struct neap_kube_making *making)
{
	const struct neap_object *node =
		neap_store_find(making->store, "nodes", "", making->object->name);

	making->entry = 0;
	making->report = neap_object_tree(making->object);
	if (!making->report) {
		making->is_short_of_memory = true;
		return;
	}
	if (time_of(making->report) && node && !making->is_of_pods)
		add_node(making, node, making->report);
	if (!time_of(making->report) || !making->is_of_pods)
		close_report(making);
}

int neap_kube_making_step(struct neap_kube_making *making, struct neap_error *err)
{
	uint64_t lost = neap_json_failures();

	for (int left = NEAP_KUBE_MAKING_STEP; left > 0 && !making->is_done; left--) {
		const json_t *list = neap_json_at(making->report, "status.podsMetric");

		if (making->report && making->entry < json_array_size(list)) {
			look_at_pod(making, json_array_get(list, making->entry++));
			continue;
		}
		close_report(making);
		if (!find_report(making)) {
			finish(making);
			continue;
		}
		left -= (int)(making->object->text_len / REPORT_BYTES);
		open_report(making);
	}
	if (making->is_short_of_memory || neap_json_failures() != lost)
		return neap_error_nomem(err);
	return !making->is_done;
}

struct neap_object *const *neap_kube_making_get(const struct neap_kube_making *making,
						size_t *ret_count)
{
	*ret_count = making->count;
	return making->list;
}

void neap_kube_making_free(struct neap_kube_making *making)
{
	if (!making)
		return;
	close_report(making);
	for (size_t i = 0; i < making->count; i++)
		(void)neap_object_unref(making->list[i]);
	free(making->list);
	free(making);
}

static struct neap_kube_making *making_new(struct neap_store *store, const char *ns,
					   const char *name)
{
	struct neap_kube_making *making = neap_alloc(sizeof(*making));

	if (!making)
		return NULL;
	making->store = store;
	making->place.version = neap_store_version(store);
	(void)neap_strcopy(making->ns, sizeof(making->ns), ns ? ns : "");
	(void)neap_strcopy(making->name, sizeof(making->name), name ? name : "");
	return making;
}

/* Reads only the report of one node; NULL: none. */
static void narrow(struct neap_kube_making *making, const char *node)
{
	struct neap_object *object =
		node ? neap_store_find(making->store, REPORTS, "", node) : NULL;

	making->is_last = true;
	making->object = object ? neap_object_ref(object) : NULL;
	if (object)
		open_report(making);
}

struct neap_kube_making *neap_kube_make_node_metrics(struct neap_store *store,
						     const char *ns, const char *name)
{
	struct neap_kube_making *making = making_new(store, ns, name);

	if (making && name)
		narrow(making, name);
	return making;
}

struct neap_kube_making *neap_kube_make_pod_metrics(struct neap_store *store,
						    const char *ns, const char *name)
{
	struct neap_kube_making *making = making_new(store, ns, name);
	const struct neap_object *pod;

	if (!making)
		return NULL;
	making->is_of_pods = true;
	if (ns && name) {
		pod = neap_store_find(store, "pods", ns, name);
		narrow(making, pod ? neap_object_field(pod, "spec.nodeName") : NULL);
	}
	return making;
}
