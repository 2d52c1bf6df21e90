/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps the objects by name, and sorts nodes and pods before a round. */
#include "engine/deschedule/world.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/deschedule/world_priv.h"
#include "engine/json/json.h"

static const char *const pod_fields[] = {"spec.nodeName", NULL};

int neap_world_new(struct neap_resources *resources, struct neap_world **ret,
		   struct neap_error *err)
{
	struct neap_world *world = neap_alloc(sizeof(*world));
	struct neap_world_own *own = neap_alloc(sizeof(*own));
	bool is_made = world && own;

	if (is_made) {
		struct neap_map **maps[] = {
			&own->nodes,  &own->pods,   &own->namespaces,  &own->budgets,
			&own->claims, &own->groups, &own->measures[0], &own->measures[1]};

		world->own = own;
		for (size_t i = 0; i < NEAP_ARRAY_LEN(maps); i++) {
			*maps[i] = neap_map_new();
			is_made = is_made && *maps[i];
		}
		if (!resources)
			resources = own->own_resources = neap_resources_new();
		world->resources = resources;
		is_made = is_made && resources;
	}
	if (!is_made) {
		if (world && own)
			neap_world_free(world);
		else {
			free(world);
			free(own);
		}
		return neap_error_nomem(err);
	}
	*ret = world;
	return 0;
}

static void free_budget(struct neap_world_budget *budget)
{
	(void)neap_object_unref(budget->object);
	neap_selector_free(budget->selector);
	free(budget);
}

/* Calls drop for each value, and frees the map. */
static void drain(struct neap_map *map, void (*drop)(void *value))
{
	for (size_t i = map ? neap_map_count(map) : 0; i-- > 0;)
		drop(neap_map_at(map, i, NULL));
	neap_map_free(map);
}

static void drop_node(void *value)
{
	neap_world_free_node(value);
}

static void drop_object(void *value)
{
	(void)neap_object_unref(value);
}

static void drop_budgets(void *value)
{
	for (struct neap_world_budget *budget = value, *next; budget; budget = next) {
		next = budget->next;
		free_budget(budget);
	}
}

void neap_world_free(struct neap_world *world)
{
	struct neap_world_own *own;

	if (!world)
		return;
	own = world->own;
	for (size_t i = own->pods ? neap_map_count(own->pods) : 0; i-- > 0;)
		neap_world_free_pod(world, neap_map_at(own->pods, i, NULL));
	neap_map_free(own->pods);
	drain(own->nodes, drop_node);
	drain(own->namespaces, drop_object);
	drain(own->budgets, drop_budgets);
	drain(own->claims, free);
	drain(own->groups, free);
	drain(own->measures[0], free);
	drain(own->measures[1], free);
	neap_resources_free(own->own_resources);
	free(world->nodes);
	free(world->pods);
	free(own);
	free(world);
}

/* --- nodes --- */

struct neap_world_node *neap_world_find_node(const struct neap_world *world,
					     const char *name)
{
	return neap_map_find(world->own->nodes, name);
}

static struct neap_world_node *need_node(struct neap_world *world, const char *name)
{
	struct neap_world_node *node = neap_world_find_node(world, name);

	if (node)
		return node;
	node = neap_alloc(sizeof(*node));
	if (node)
		node->name = neap_strdup(name);
	if (!node || !node->name || !neap_map_set(world->own->nodes, name, node)) {
		neap_world_free_node(node);
		return NULL;
	}
	node->sample = -1;
	node->is_dirty = true;
	return node;
}

/* A node that nothing names any more goes. */
static void tidy_node(struct neap_world *world, struct neap_world_node *node)
{
	if (node->object || node->pod_count || node->metric || node->sample >= 0)
		return;
	(void)neap_map_remove(world->own->nodes, node->name);
	neap_world_free_node(node);
}

int neap_world_set_node(struct neap_world *world, struct neap_object *object,
			struct neap_error *err)
{
	struct neap_world_node *node = need_node(world, object->name);
	int rc = node ? neap_world_read_node(world, node, object, err)
		      : neap_error_nomem(err);

	if (rc < 0 && node)
		tidy_node(world, node);
	return rc;
}

void neap_world_remove_node(struct neap_world *world, const char *name)
{
	struct neap_world_node *node = neap_world_find_node(world, name);

	if (!node)
		return;
	neap_world_clear_node(node);
	free(neap_map_remove(world->own->measures[0], name));
	node->measured = NULL;
	node->sample = -1;
	tidy_node(world, node);
}

int neap_world_set_metric(struct neap_world *world, struct neap_object *object,
			  struct neap_error *err)
{
	struct neap_world_metric *metric = NULL;
	struct neap_world_node *node;
	int rc = neap_world_read_metric(world, object, &metric, err);

	if (rc < 0)
		return rc;
	node = need_node(world, object->name);
	if (!node) {
		neap_world_free_metric(metric);
		return neap_error_nomem(err);
	}
	neap_world_free_metric(node->metric);
	node->metric = metric;
	node->is_dirty = true;
	return 0;
}

void neap_world_remove_metric(struct neap_world *world, const char *name)
{
	struct neap_world_node *node = neap_world_find_node(world, name);

	if (!node)
		return;
	neap_world_free_metric(node->metric);
	node->metric = NULL;
	node->is_dirty = true;
	tidy_node(world, node);
}

int neap_world_set_sample(struct neap_world *world, const char *name, double sample,
			  struct neap_error *err)
{
	struct neap_world_node *node = need_node(world, name);

	if (!node)
		return neap_error_nomem(err);
	node->sample = sample;
	tidy_node(world, node);
	return 0;
}

/* --- pods --- */

struct neap_world_pod *neap_world_find_pod(const struct neap_world *world, const char *ns,
					   const char *name)
{
	char key[NEAP_POD_KEY];

	return neap_map_find(world->own->pods, neap_pod_key(ns, name, key));
}

static void take_off(struct neap_world *world, struct neap_world_pod *pod)
{
	struct neap_world_node *node = pod->node;

	if (!node)
		return;
	for (size_t i = 0; i < node->pod_count; i++)
		if (node->pods[i] == pod) {
			node->pods[i] = node->pods[--node->pod_count];
			break;
		}
	node->is_dirty = true;
	pod->node = NULL;
	tidy_node(world, node);
}

static int put_on(struct neap_world *world, struct neap_world_pod *pod,
		  struct neap_error *err)
{
	struct neap_world_node *node;

	if (!*pod->pod->node_name)
		return 0;
	node = need_node(world, pod->pod->node_name);
	if (!node)
		return neap_error_nomem(err);
	if (!neap_grow(&node->pods, node->pod_count, &node->pod_size,
		       sizeof(struct neap_world_pod *))) {
		tidy_node(world, node);
		return neap_error_nomem(err);
	}
	node->pods[node->pod_count++] = pod;
	node->is_dirty = true;
	pod->node = node;
	return 0;
}

static int make_pod(struct neap_world *world, struct neap_object *object,
		    struct neap_pod *shared, struct neap_world_pod *pod,
		    struct neap_error *err)
{
	neap_auto_json json_t *tree = NULL;
	int rc = 0;

	if (shared)
		pod->pod = neap_pod_ref(shared);
	else
		rc = neap_pod_new(object, world->resources, &pod->pod, err);
	if (rc < 0)
		return rc;
	tree = neap_object_tree(object);
	return tree ? neap_world_read_pod(world, pod, tree, err) : neap_error_nomem(err);
}

int neap_world_set_pod(struct neap_world *world, struct neap_object *object,
		       struct neap_pod *shared, struct neap_error *err)
{
	struct neap_world_pod *old = neap_world_find_pod(world, object->ns, object->name);
	struct neap_world_pod *pod = neap_alloc(sizeof(*pod));
	char key[NEAP_POD_KEY];
	int rc = pod ? make_pod(world, object, shared, pod, err) : neap_error_nomem(err);

	if (rc == 0)
		rc = put_on(world, pod, err);
	if (rc == 0 && !neap_map_set(world->own->pods,
				     neap_pod_key(object->ns, object->name, key), pod)) {
		take_off(world, pod);
		rc = neap_error_nomem(err);
	}
	if (rc < 0) {
		neap_world_free_pod(world, pod);
		return rc;
	}
	if (old) {
		take_off(world, old);
		neap_world_free_pod(world, old);
	}
	return 0;
}

void neap_world_remove_pod(struct neap_world *world, const char *ns, const char *name)
{
	char key[NEAP_POD_KEY];
	struct neap_world_pod *pod =
		neap_map_remove(world->own->pods, neap_pod_key(ns, name, key));

	if (!pod)
		return;
	free(neap_map_remove(world->own->measures[1], key));
	take_off(world, pod);
	neap_world_free_pod(world, pod);
}

/* --- the metrics API --- */

static int measure(struct neap_world *world, const json_t *usage,
		   struct neap_amounts *used, struct neap_error *err)
{
	struct neap_amounts one = {0};
	int rc = neap_amounts_read(&one, usage, world->resources, err);

	if (rc == 0 && !neap_amounts_add(used, &one))
		rc = neap_error_set(err, NEAP_ETOOLARGE, "more than %d resources",
				    NEAP_AMOUNTS_MAX);
	return rc;
}

int neap_world_set_measured(struct neap_world *world, const json_t *json,
			    struct neap_error *err)
{
	const json_t *meta = json_object_get(json, "metadata");
	const json_t *containers = json_object_get(json, "containers"), *container;
	bool is_pod = neap_json_is_text(json, "kind", "PodMetrics");
	struct neap_map *map = world->own->measures[is_pod];
	struct neap_world_measure *fresh = neap_alloc(sizeof(*fresh)), *old;
	struct neap_world_pod *pod = NULL;
	struct neap_world_node *node = NULL;
	char key[NEAP_POD_KEY];
	size_t i;
	int rc = fresh ? 0 : neap_error_nomem(err);

	(void)neap_strcopy(key, sizeof(key), neap_json_text(meta, "name"));
	if (is_pod)
		(void)neap_pod_key(neap_json_text(meta, "namespace"),
				   neap_json_text(meta, "name"), key);
	if (rc == 0 && !is_pod)
		rc = measure(world, json_object_get(json, "usage"), &fresh->used, err);
	json_array_foreach ((json_t *)containers, i, container)
		if (rc == 0 && is_pod)
			rc = measure(world, json_object_get(container, "usage"),
				     &fresh->used, err);
	old = neap_map_find(map, key);
	if (rc == 0 && !neap_map_set(map, key, fresh))
		rc = neap_error_nomem(err);
	if (rc < 0) {
		free(fresh);
		return rc;
	}
	free(old);
	if (is_pod)
		pod = neap_map_find(world->own->pods, key);
	node = pod ? pod->node : is_pod ? NULL : neap_world_find_node(world, key);
	if (node)
		node->is_dirty = true;
	return 0;
}

/* --- namespaces, claims, budgets --- */

int neap_world_set_namespace(struct neap_world *world, struct neap_object *object,
			     struct neap_error *err)
{
	struct neap_object *old = neap_map_find(world->own->namespaces, object->name);

	if (!neap_map_set(world->own->namespaces, object->name, object))
		return neap_error_nomem(err);
	(void)neap_object_ref(object);
	(void)neap_object_unref(old);
	return 0;
}

void neap_world_remove_namespace(struct neap_world *world, const char *name)
{
	(void)neap_object_unref(neap_map_remove(world->own->namespaces, name));
}

struct neap_object *neap_world_find_namespace(const struct neap_world *world,
					      const char *name)
{
	return neap_map_find(world->own->namespaces, name);
}

int neap_world_set_claim(struct neap_world *world, struct neap_object *object,
			 struct neap_error *err)
{
	neap_auto_json json_t *tree = neap_object_tree(object);
	const char *class =
		neap_json_text(json_object_get(tree, "spec"), "storageClassName");
	struct neap_world_claim *claim = neap_alloc(sizeof(*claim) + strlen(class) + 1);
	struct neap_world_claim *old;
	char key[NEAP_POD_KEY];

	(void)neap_pod_key(object->ns, object->name, key);
	old = neap_map_find(world->own->claims, key);
	if (claim) {
		memcpy(claim->text, class, strlen(class) + 1);
		claim->storage_class = *class ? claim->text : NULL;
	}
	if (!tree || !claim || !neap_map_set(world->own->claims, key, claim)) {
		free(claim);
		return neap_error_nomem(err);
	}
	free(old);
	return 0;
}

void neap_world_remove_claim(struct neap_world *world, const char *ns, const char *name)
{
	char key[NEAP_POD_KEY];

	free(neap_map_remove(world->own->claims, neap_pod_key(ns, name, key)));
}

const struct neap_world_claim *neap_world_find_claim(const struct neap_world *world,
						     const char *ns, const char *name)
{
	char key[NEAP_POD_KEY];

	return neap_map_find(world->own->claims, neap_pod_key(ns, name, key));
}

struct neap_world_budget *neap_world_find_budgets(const struct neap_world *world,
						  const char *ns)
{
	return neap_map_find(world->own->budgets, ns);
}

bool neap_world_asks_budgets(const struct neap_world_pod *pod)
{
	return (pod->flags & NEAP_WORLD_IS_LIVE) && strcmp(pod->phase, "Pending") != 0 &&
	       !pod->pod->object->is_deleting;
}

bool neap_world_is_pod_ready(const struct neap_world_pod *pod)
{
	for (size_t i = 0; i < pod->condition_count; i++)
		if (strcmp(pod->conditions[i].type, "Ready") == 0)
			return strcmp(pod->conditions[i].status, "True") == 0;
	return false;
}

static bool lets_unready(const json_t *tree)
{
	const char *policy = neap_json_text(json_object_get(tree, "spec"),
					    "unhealthyPodEvictionPolicy");
	const json_t *status = json_object_get(tree, "status");
	const json_t *need = json_object_get(status, "desiredHealthy");

	return strcmp(policy, "AlwaysAllow") == 0 ||
	       (json_is_integer(need) &&
		json_integer_value(json_object_get(status, "currentHealthy")) >=
			json_integer_value(need));
}

bool neap_world_budget_takes(const struct neap_world_budget *budget,
			     const struct neap_world_pod *pod)
{
	return budget->selector &&
	       neap_object_is_selected(pod->pod->object, budget->selector);
}

int neap_world_set_budget(struct neap_world *world, struct neap_object *object,
			  struct neap_error *err)
{
	neap_auto_json json_t *tree = neap_object_tree(object);
	const json_t *selector = neap_json_at(tree, "spec.selector");
	struct neap_world_budget *budget = neap_alloc(sizeof(*budget)), *first;
	struct neap_error why;

	if (!tree || !budget) {
		free(budget);
		return neap_error_nomem(err);
	}
	if (json_is_object(selector) &&
	    neap_selector_parse(selector, &budget->selector, &why) == -NEAP_ENOMEM) {
		free(budget);
		return neap_error_nomem(err);
	}
	budget->object = neap_object_ref(object);
	budget->allowed =
		json_integer_value(neap_json_at(tree, "status.disruptionsAllowed"));
	budget->lets_unready = lets_unready(tree);
	neap_world_remove_budget(world, object->ns, object->name);
	first = neap_world_find_budgets(world, object->ns);
	budget->next = first;
	if (neap_map_set(world->own->budgets, object->ns, budget))
		return 0;
	free_budget(budget);
	return neap_error_nomem(err);
}

void neap_world_remove_budget(struct neap_world *world, const char *ns, const char *name)
{
	struct neap_world_budget *first = neap_world_find_budgets(world, ns),
				 **at = &first;
	struct neap_world_budget *gone;

	while (*at && strcmp((*at)->object->name, name) != 0)
		at = &(*at)->next;
	gone = *at;
	if (!gone)
		return;
	*at = gone->next;
	if (first)
		(void)neap_map_set(world->own->budgets, ns, first); /* it has the key */
	else
		(void)neap_map_remove(world->own->budgets, ns);
	free_budget(gone);
}

/* --- from JSON --- */

static int set_pod(struct neap_world *world, struct neap_object *object,
		   struct neap_error *err)
{
	return neap_world_set_pod(world, object, NULL, err);
}

int neap_world_add(struct neap_world *world, const char *resource, const json_t *json,
		   struct neap_error *err)
{
	static const struct {
		const char *resource;
		int (*set)(struct neap_world *world, struct neap_object *object,
			   struct neap_error *err);
	} rows[] = {
		{"nodes", neap_world_set_node},
		{"pods", set_pod},
		{"namespaces", neap_world_set_namespace},
		{"poddisruptionbudgets", neap_world_set_budget},
		{"persistentvolumeclaims", neap_world_set_claim},
		{"nodemetrics", neap_world_set_metric},
	};
	struct neap_object *object = NULL;
	json_t *copy;
	size_t i = 0;
	int rc;

	if (strcmp(resource, "measured") == 0)
		return neap_world_set_measured(world, json, err);
	while (i < NEAP_ARRAY_LEN(rows) && strcmp(rows[i].resource, resource) != 0)
		i++;
	if (i == NEAP_ARRAY_LEN(rows))
		return neap_error_set(err, NEAP_EINVAL, "there is no resource %.60s here",
				      resource);
	copy = neap_json_deep_copy(json);
	if (!copy)
		return neap_error_nomem(err);
	rc = neap_object_new_take(copy, pod_fields, 1, &object, err);
	if (rc == 0)
		rc = rows[i].set(world, object, err);
	(void)neap_object_unref(object);
	return rc;
}
