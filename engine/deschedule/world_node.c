/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads nodes and reports of their use. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/deschedule/world_priv.h"
#include "engine/json/json.h"
#include "engine/numa/node_reserve.h"

#define RAW_ANNOTATION "node.koordinator.sh/raw-allocatable"

/* A new reading, which then replaces the node's. */
struct reading {
	struct neap_amounts allocatable, capacity, raw;
	struct neap_world_taint *taints;
	size_t taint_count;
	struct neap_arena arena;
};

/* What cannot be read counts as missing; only memory and a full table stop it. */
static int amounts_of(struct neap_world *world, struct neap_amounts *to,
		      const json_t *map, struct neap_error *err)
{
	int rc = neap_amounts_read(to, map, world->resources, err);

	return rc == -NEAP_EINVAL ? 0 : rc;
}

static int read_taints(struct reading *reading, const json_t *list,
		       struct neap_error *err)
{
	size_t count = json_array_size(list);

	count = count < NEAP_WORLD_ITEMS_MAX ? count : NEAP_WORLD_ITEMS_MAX;
	reading->taints =
		neap_arena_array(&reading->arena, count, sizeof(*reading->taints));
	if (!reading->taints)
		return neap_error_nomem(err);
	for (size_t i = 0; i < count; i++) {
		const json_t *json = json_array_get(list, i);
		struct neap_world_taint *to = &reading->taints[reading->taint_count];

		if (!neap_taint_effect_parse(neap_json_text(json, "effect"), &to->effect))
			continue;
		to->key = neap_arena_strdup(&reading->arena, neap_json_text(json, "key"));
		to->value =
			neap_arena_strdup(&reading->arena, neap_json_text(json, "value"));
		reading->taint_count++;
	}
	return reading->arena.failed ? neap_error_nomem(err) : 0;
}

/* An annotation that holds JSON; NULL: there is none, or it cannot be read. */
static int note_of(const json_t *tree, const char *name, json_t **ret,
		   struct neap_error *err)
{
	const char *text = neap_json_text(
		json_object_get(json_object_get(tree, "metadata"), "annotations"), name);
	json_error_t where;

	*ret = NULL;
	if (*text && neap_json_parse_note(text, ret, &where) == -NEAP_ENOMEM)
		return neap_error_nomem(err);
	return 0;
}

static int read_notes(struct neap_world *world, struct reading *reading,
		      const json_t *tree, struct neap_error *err)
{
	struct neap_node_reserve reserve;
	neap_auto_json json_t *raw = NULL;
	neap_auto_json json_t *kept = NULL;
	int rc = note_of(tree, RAW_ANNOTATION, &raw, err);

	if (rc == 0)
		rc = note_of(tree, NEAP_KEY_NODE_RESERVATION, &kept, err);
	if (rc < 0)
		return rc;
	reading->raw = reading->allocatable;
	if (json_is_object(raw)) {
		struct neap_amounts amounts = {0};

		rc = neap_amounts_read(&amounts, raw, world->resources, err);
		for (size_t i = 0; rc == 0 && i < amounts.count; i++)
			(void)neap_amounts_set(&reading->raw, amounts.of[i].resource,
					       amounts.of[i].amount);
		if (rc == -NEAP_ENOMEM)
			return rc;
	}
	rc = neap_node_reserve_read(kept, world->resources, &reserve, err);
	if (rc == -NEAP_ENOMEM)
		return rc;
	if (rc == 0) {
		(void)neap_node_reserve_trim(&reserve, world->resources,
					     &reading->allocatable);
		(void)neap_node_reserve_trim(&reserve, world->resources, &reading->raw);
	}
	return 0;
}

static int read_tree(struct neap_world *world, struct reading *reading,
		     const json_t *tree, struct neap_error *err)
{
	const json_t *status = json_object_get(tree, "status");
	const json_t *allocatable = json_object_get(status, "allocatable");
	const json_t *capacity = json_object_get(status, "capacity");
	int rc = amounts_of(world, &reading->capacity, capacity, err);

	if (rc == 0)
		rc = amounts_of(world, &reading->allocatable,
				json_object_size(allocatable) ? allocatable : capacity,
				err);
	if (rc == 0)
		rc = read_taints(reading, neap_json_at(tree, "spec.taints"), err);
	return rc < 0 ? rc : read_notes(world, reading, tree, err);
}

/* A node without the condition counts as ready. */
static bool is_ready(const json_t *tree)
{
	const json_t *condition =
		neap_json_condition(json_object_get(tree, "status"), "Ready");

	return !condition || neap_json_is_text(condition, "status", "True");
}

void neap_world_clear_node(struct neap_world_node *node)
{
	node->object = neap_object_unref(node->object);
	node->taints = NULL;
	node->taint_count = 0;
	node->allocatable.count = node->capacity.count = node->raw.count = 0;
	neap_arena_done(&node->arena);
}

int neap_world_read_node(struct neap_world *world, struct neap_world_node *node,
			 struct neap_object *object, struct neap_error *err)
{
	neap_auto_json json_t *tree = neap_object_tree(object);
	struct reading *reading = neap_alloc(sizeof(*reading));
	int rc = tree && reading ? read_tree(world, reading, tree, err)
				 : neap_error_nomem(err);

	if (rc < 0) {
		if (reading)
			neap_arena_done(&reading->arena);
		free(reading);
		return rc;
	}
	neap_world_clear_node(node);
	node->object = neap_object_ref(object);
	node->allocatable = reading->allocatable;
	node->capacity = reading->capacity;
	node->raw = reading->raw;
	node->taints = reading->taints;
	node->taint_count = reading->taint_count;
	node->arena = reading->arena;
	node->is_cordoned = json_is_true(neap_json_at(tree, "spec.unschedulable"));
	node->is_ready = is_ready(tree);
	free(reading);
	return 0;
}

void neap_world_free_node(struct neap_world_node *node)
{
	if (!node)
		return;
	neap_world_clear_node(node);
	neap_world_free_metric(node->metric);
	free(node->pods);
	free(node->name);
	free(node);
}

/* --- reports --- */

static int read_usage(struct neap_world *world, struct neap_amounts *to,
		      const json_t *usage, struct neap_error *err)
{
	return amounts_of(world, to, json_object_get(usage, "resources"), err);
}

static int read_pods(struct neap_world *world, struct neap_world_metric *metric,
		     const json_t *list, struct neap_error *err)
{
	const json_t *json;
	size_t i;

	json_array_foreach ((json_t *)list, i, json) {
		struct neap_amounts used = {0}, *kept;
		size_t size;
		char key[NEAP_POD_KEY];
		int rc = read_usage(world, &used, json_object_get(json, "podUsage"), err);

		if (rc < 0)
			return rc;
		size = offsetof(struct neap_amounts, of) +
		       used.count * sizeof(used.of[0]);
		kept = neap_arena_alloc(&metric->arena, size);
		(void)neap_pod_key(neap_json_text(json, "namespace"),
				   neap_json_text(json, "name"), key);
		if (!kept || !neap_map_set(metric->pods, key, memcpy(kept, &used, size)))
			return neap_error_nomem(err);
	}
	return 0;
}

static int fill_metric(struct neap_world *world, struct neap_world_metric *metric,
		       const json_t *tree, struct neap_error *err)
{
	const json_t *status = json_object_get(tree, "status");
	const json_t *usage = json_object_get(status, "nodeMetric");
	const json_t *node = json_object_get(usage, "nodeUsage");
	int rc;

	metric->has_usage = json_is_object(usage);
	metric->has_node = json_is_object(node);
	if (neap_time_parse(neap_json_text(status, "updateTime"), &metric->update_usec,
			    NULL) < 0)
		metric->update_usec = 0;
	rc = read_usage(world, &metric->node, node, err);
	if (rc == 0)
		rc = read_usage(world, &metric->system,
				json_object_get(usage, "systemUsage"), err);
	return rc < 0 ? rc
		      : read_pods(world, metric, json_object_get(status, "podsMetric"),
				  err);
}

int neap_world_read_metric(struct neap_world *world, struct neap_object *object,
			   struct neap_world_metric **ret, struct neap_error *err)
{
	neap_auto_json json_t *tree = neap_object_tree(object);
	struct neap_world_metric *metric = neap_alloc(sizeof(*metric));
	int rc = -NEAP_ENOMEM;

	if (metric)
		metric->pods = neap_map_new();
	if (tree && metric && metric->pods)
		rc = fill_metric(world, metric, tree, err);
	else
		rc = neap_error_nomem(err);
	if (rc < 0) {
		neap_world_free_metric(metric);
		return rc;
	}
	metric->object = neap_object_ref(object);
	*ret = metric;
	return 0;
}

void neap_world_free_metric(struct neap_world_metric *metric)
{
	if (!metric)
		return;
	(void)neap_object_unref(metric->object);
	neap_map_free(metric->pods);
	neap_arena_done(&metric->arena);
	free(metric);
}
