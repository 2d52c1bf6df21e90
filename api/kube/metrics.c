/* SPDX-License-Identifier: Apache-2.0
 *
 * NodeMetrics are parsed one at a time and let go of, as those of thousands of nodes come to much; what is
 * made of them is small. */
#include "api/kube/metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/store/store.h"
#include "engine/base/json.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"

#define REPORTS "nodemetrics.slo.koordinator.sh"
/* Seconds that averages are over, where the NodeMetric does not say, and at least. */
#define WINDOW_S     300
#define WINDOW_MIN_S 60

struct making {
	struct neap_store *store;
	const char *ns, *name; /* NULL: all */
	bool is_short_of_memory;
	uint64_t lost; /* failures of memory before */
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
	const json_t *seconds = json_object_get(
		json_object_get(json_object_get(report, "spec"), "metricCollectPolicy"),
		"aggregateDurationSeconds");
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
	return json_string_value(
		json_object_get(json_object_get(report, "status"), "updateTime"));
}

/* Those of the object that it is about. */
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

/* tree: taken, NULL without memory. */
static void keep_take(struct making *making, json_t *tree)
{
	struct neap_object *object;
	struct neap_error err;

	if (making->count == making->size) {
		size_t size = making->size ? making->size * 2 : 64;
		struct neap_object **list =
			neap_realloc_array(making->list, size, sizeof(*list));

		if (!list) {
			json_decref(tree);
			making->is_short_of_memory = true;
			return;
		}
		making->list = list;
		making->size = size;
	}
	/* The version of what is computed is no matter to anybody. */
	if (neap_object_new_take(tree, NULL, 0, &object, &err) < 0)
		making->is_short_of_memory = true;
	else
		making->list[making->count++] = object;
}

/* Of the object that it is about, with what both kinds have; usage is taken. */
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

static void add_node(struct making *making, const struct neap_object *node,
		     const json_t *report)
{
	json_t *usage = usage_of(json_object_get(
		json_object_get(json_object_get(report, "status"), "nodeMetric"),
		"nodeUsage"));

	if (usage)
		keep_take(making, make_metrics(node, report, "usage", usage));
}

static bool look_at_node(void *arg, struct neap_object *object)
{
	struct making *making = arg;
	const struct neap_object *node =
		neap_store_find(making->store, "nodes", "", object->name);
	json_t *report = node ? neap_object_tree(object) : NULL;

	if (report && time_of(report))
		add_node(making, node, report);
	making->is_short_of_memory = making->is_short_of_memory || (node && !report);
	json_decref(report);
	return !making->is_short_of_memory;
}

/* --- pods --- */

static const char *container_name(const json_t *pod)
{
	const json_t *list = json_object_get(json_object_get(pod, "spec"), "containers");
	const char *name =
		json_string_value(json_object_get(json_array_get(list, 0), "name"));

	return json_array_size(list) == 1 && name ? name : "(all)";
}

static void add_pod(struct making *making, const struct neap_object *pod,
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

static void add_pods(struct making *making, const char *node, const json_t *report)
{
	const json_t *list =
		json_object_get(json_object_get(report, "status"), "podsMetric");
	const json_t *entry;
	size_t i;

	json_array_foreach (list, i, entry) {
		const char *ns = json_string_value(json_object_get(entry, "namespace"));
		const char *name = json_string_value(json_object_get(entry, "name"));
		const struct neap_object *pod;
		const char *place;

		if (!ns || !name || (making->ns && strcmp(ns, making->ns) != 0) ||
		    (making->name && strcmp(name, making->name) != 0))
			continue;
		pod = neap_store_find(making->store, "pods", ns, name);
		place = pod ? neap_object_field(pod, "spec.nodeName") : NULL;
		if (place && strcmp(place, node) == 0)
			add_pod(making, pod, report, entry);
		if (making->is_short_of_memory)
			return;
	}
}

static bool look_at_pods(void *arg, struct neap_object *object)
{
	struct making *making = arg;
	json_t *report = neap_object_tree(object);

	if (!report)
		making->is_short_of_memory = true;
	else if (time_of(report))
		add_pods(making, object->name, report);
	json_decref(report);
	return !making->is_short_of_memory;
}

/* --- making --- */

static int compare(const void *a, const void *b)
{
	const struct neap_object *one = *(struct neap_object *const *)a;
	const struct neap_object *other = *(struct neap_object *const *)b;

	return neap_object_compare(one, other->ns, other->name);
}

static int finish(struct making *making, int code,
		  bool (*take)(void *arg, struct neap_object *object), void *arg,
		  struct neap_error *err)
{
	bool is_taking;

	if (neap_json_failures() != making->lost)
		making->is_short_of_memory = true;
	is_taking = code >= 0 && !making->is_short_of_memory;
	if (making->count)
		qsort(making->list, making->count, sizeof(struct neap_object *), compare);
	for (size_t i = 0; i < making->count; i++) {
		/* A report may name one twice. */
		bool is_new =
			i == 0 || compare(&making->list[i - 1], &making->list[i]) != 0;

		is_taking = is_taking && (!is_new || take(arg, making->list[i]));
	}
	for (size_t i = 0; i < making->count; i++)
		(void)neap_object_unref(making->list[i]);
	free(making->list);
	if (making->is_short_of_memory)
		return neap_error_nomem(err);
	return code < 0 ? code : 0;
}

/* The report of one node, or all. */
static int look(struct making *making, const char *node,
		bool (*at)(void *arg, struct neap_object *object), struct neap_error *err)
{
	struct neap_store_place place = {.version = neap_store_version(making->store)};
	struct neap_object *object;

	if (!node)
		return neap_store_list(making->store, REPORTS, NULL, &place, at, making,
				       err);
	object = neap_store_find(making->store, REPORTS, "", node);
	if (object)
		(void)at(making, object);
	return 0;
}

int neap_kube_make_node_metrics(struct neap_store *store, const char *ns,
				const char *name,
				bool (*take)(void *arg, struct neap_object *object),
				void *arg, struct neap_error *err)
{
	struct making making = {.store = store, .lost = neap_json_failures()};
	int code = look(&making, name, look_at_node, err);

	(void)ns;
	return finish(&making, code, take, arg, err);
}

int neap_kube_make_pod_metrics(struct neap_store *store, const char *ns, const char *name,
			       bool (*take)(void *arg, struct neap_object *object),
			       void *arg, struct neap_error *err)
{
	struct making making = {
		.store = store, .ns = ns, .name = name, .lost = neap_json_failures()};
	const struct neap_object *pod;
	const char *node = NULL;
	int code;

	if (ns && name) {
		pod = neap_store_find(store, "pods", ns, name);
		node = pod ? neap_object_field(pod, "spec.nodeName") : NULL;
		if (!node)
			return 0;
	}
	code = look(&making, node, look_at_pods, err);
	return finish(&making, code, take, arg, err);
}
