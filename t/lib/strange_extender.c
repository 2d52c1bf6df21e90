/* SPDX-License-Identifier: Apache-2.0
 *
 * What a kube-scheduler asks its extender, about a pod and nodes that there are,
 * changed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/base.h"
#include "engine/base/mem.h"
#include "t/lib/strange_priv.h"

static const struct {
	const char *verb, *file;
} rows[] = {
	{"filter", "filter-names"},
	{"filter", "filter-full"},
	{"filter", "filter-managed-resource"},
	{"prioritize", "prioritize-names"},
	{"prioritize", "prioritize-full"},
	{"preempt", "preempt-names"},
	{"preempt", "preempt-full"},
	{"bind", "bind"},
};
static json_t *bodies[NEAP_ARRAY_LEN(rows)];

bool strange_load_extender(void)
{
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		char path[256];

		(void)snprintf(path, sizeof(path), "t/cases/extender/%s.request.json",
			       rows[i].file);
		bodies[i] = json_load_file(path, 0, NULL);
		if (bodies[i])
			continue;
		printf("%s cannot be read\n", path);
		return false;
	}
	return true;
}

void strange_drop_extender(void)
{
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		json_decref(bodies[i]);
}

/* Metadata of any object of such a list, of one without a node if there is one; NULL: the
 * list is empty. A new reference. */
static json_t *draw_meta(const char *path)
{
	json_t *list = strange_ask(path), *items = json_object_get(list, "items"),
	       *meta = NULL;
	uint32_t size = (uint32_t)json_array_size(items);

	for (int tries = 0; size && tries < 8; tries++) {
		const json_t *item =
			json_array_get(items, mutate_draw(&strange_rng, size));

		json_decref(meta);
		meta = json_incref(json_object_get(item, "metadata"));
		if (!json_object_get(json_object_get(item, "spec"), "nodeName"))
			break;
	}
	json_decref(list);
	return meta;
}

static void set_pod(json_t *body, json_t *meta)
{
	static const char *const pairs[][2] = {
		{"PodName", "name"}, {"PodNamespace", "namespace"}, {"PodUID", "uid"}};
	json_t *pod = json_object_get(body, "Pod");

	if (pod)
		json_object_set(pod, "metadata", meta);
	else
		for (size_t i = 0; i < NEAP_ARRAY_LEN(pairs); i++)
			json_object_set(body, pairs[i][0],
					json_object_get(meta, pairs[i][1]));
}

/* The first node of each list, and the one of a binding, is one that there is. */
static void set_node(json_t *body, json_t *name)
{
	json_t *names = json_object_get(body, "NodeNames"),
	       *items = json_object_get(json_object_get(body, "Nodes"), "items");
	static const char *const maps[] = {"NodeNameToVictims", "NodeNameToMetaVictims"};

	json_array_set(names, 0, name);
	json_object_set(json_object_get(json_array_get(items, 0), "metadata"), "name",
			name);
	if (json_object_get(body, "Node"))
		json_object_set(body, "Node", name);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(maps); i++) {
		json_t *map = json_object_get(body, maps[i]);

		if (json_object_size(map) > 0)
			json_object_set(map, json_string_value(name),
					json_object_iter_value(json_object_iter(map)));
	}
}

void strange_make_extender(struct strange_request *request)
{
	uint32_t row = mutate_draw(&strange_rng, NEAP_ARRAY_LEN(rows));
	json_t *body = json_deep_copy(bodies[row]), *pod = NULL, *node = NULL;
	char path[64];

	if (mutate_draw(&strange_rng, 8)) {
		pod = draw_meta("/api/v1/pods?limit=100");
		node = draw_meta("/api/v1/nodes?limit=100");
	}
	if (pod)
		set_pod(body, pod);
	if (node)
		set_node(body, json_object_get(node, "name"));
	json_decref(pod);
	json_decref(node);
	if (mutate_draw(&strange_rng, 3))
		mutate_object(&strange_rng, body, 4);
	(void)snprintf(path, sizeof(path), "/extender/v1/%s", rows[row].verb);
	request->is_extender = true;
	strange_fill_json(request, mutate_draw(&strange_rng, 20) ? "POST" : "GET", path,
			  "application/json", body);
}
