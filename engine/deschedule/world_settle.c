/* SPDX-License-Identifier: Apache-2.0
 *
 * Prepares the world for a round: sorts nodes by name and their pods by namespace and
 * name, and computes sums of requests and each pod's measured usage. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/deschedule/world_priv.h"

static int compare_nodes(const void *a, const void *b)
{
	const struct neap_world_node *const *one = a, *const *other = b;

	return strcmp((*one)->name, (*other)->name);
}

static int compare_pods(const void *a, const void *b)
{
	const struct neap_object *one = (*(struct neap_world_pod *const *)a)->pod->object;
	const struct neap_object *other =
		(*(struct neap_world_pod *const *)b)->pod->object;

	return neap_object_compare(one, other->ns, other->name);
}

/* More names of resources are known than before: requests by name get their numbers. */
static void resolve(struct neap_world *world)
{
	struct neap_world_own *own = world->own;
	uint32_t count = neap_resources_count(world->resources);

	if (count == own->resources_seen)
		return;
	own->resources_seen = count;
	for (size_t i = neap_map_count(own->pods); i-- > 0;) {
		struct neap_world_pod *pod = neap_map_at(own->pods, i, NULL);

		if (pod->pod->unknown_count &&
		    neap_pod_resolve(pod->pod, world->resources) && pod->node)
			pod->node->is_dirty = true;
	}
}

/* Adds what the report says of a pod, as far as there is room for its names. */
static void add_usage(struct neap_world_node *node, const struct neap_world_pod *pod)
{
	if (pod->usage && pod->band == NEAP_BAND_PROD)
		(void)neap_amounts_add(&node->prod_used, pod->usage);
}

static void sum_usage(struct neap_world_node *node)
{
	const struct neap_world_metric *metric = node->metric;

	node->used.count = node->prod_used.count = 0;
	if (!metric)
		return;
	node->used = metric->system;
	for (size_t i = neap_map_count(metric->pods); i-- > 0;)
		(void)neap_amounts_add(&node->used, neap_map_at(metric->pods, i, NULL));
}

void neap_world_count_node(struct neap_world *world, struct neap_world_node *node)
{
	const struct neap_world_measure *measure =
		neap_map_find(world->own->measures[0], node->name);
	bool has_measures = neap_map_count(world->own->measures[1]) > 0;

	if (node->pod_count)
		qsort(node->pods, node->pod_count, sizeof(struct neap_world_pod *),
		      compare_pods);
	node->measured = measure                                  ? &measure->used
			 : node->metric && node->metric->has_node ? &node->metric->node
								  : NULL;
	node->requested.count = 0;
	node->live_count = 0;
	sum_usage(node);
	for (size_t i = 0; i < node->pod_count; i++) {
		struct neap_world_pod *pod = node->pods[i];
		struct neap_amounts requests;
		char key[NEAP_POD_KEY];

		pod->usage = pod->measured = NULL;
		if (node->metric || has_measures) {
			(void)neap_pod_key(pod->pod->object->ns, pod->pod->object->name,
					   key);
			if (node->metric)
				pod->usage = neap_map_find(node->metric->pods, key);
			measure = neap_map_find(world->own->measures[1], key);
			pod->measured = measure ? &measure->used : pod->usage;
		}
		add_usage(node, pod);
		if (!(pod->flags & NEAP_WORLD_IS_LIVE))
			continue;
		neap_pod_amounts(pod->pod, &requests);
		/* More than fit are not counted: a node has no more either. */
		(void)neap_amounts_add(&node->requested, &requests);
		node->live_count++;
	}
	(void)neap_amounts_set(&node->requested, NEAP_RESOURCE_PODS, node->live_count);
	node->is_dirty = false;
}

struct neap_world_node *neap_world_node_at(struct neap_world *world, size_t at)
{
	const struct neap_map *nodes = world->own->nodes;

	resolve(world);
	return at < neap_map_count(nodes) ? neap_map_at(nodes, at, NULL) : NULL;
}

static void number_groups(struct neap_world *world)
{
	struct neap_world_own *own = world->own;

	world->group_end = (uint32_t)neap_map_count(own->groups);
	for (uint32_t i = 0; i < world->group_end; i++) {
		struct neap_world_group *group = neap_map_at(own->groups, i, NULL);

		group->number = i;
	}
	world->budget_end = 0;
	for (size_t i = neap_map_count(own->budgets); i-- > 0;)
		for (struct neap_world_budget *budget =
			     neap_map_at(own->budgets, i, NULL);
		     budget; budget = budget->next)
			budget->number = world->budget_end++;
}

static bool grow_lists(struct neap_world *world)
{
	struct neap_world_own *own = world->own;
	size_t nodes = neap_map_count(own->nodes) + 1,
	       pods = neap_map_count(own->pods) + 1;

	if (nodes > own->node_size) {
		void *list = neap_realloc_array(world->nodes, nodes + nodes / 4,
						sizeof(struct neap_world_node *));

		if (!list)
			return false;
		world->nodes = list;
		own->node_size = nodes + nodes / 4;
	}
	if (pods > own->pod_size) {
		void *list = neap_realloc_array(world->pods, pods + pods / 4,
						sizeof(struct neap_world_pod *));

		if (!list)
			return false;
		world->pods = list;
		own->pod_size = pods + pods / 4;
	}
	return true;
}

static void list_pods(struct neap_world *world)
{
	struct neap_world_own *own = world->own;
	size_t count = 0;

	for (size_t i = 0; i < world->node_count; i++) {
		struct neap_world_node *node = world->nodes[i];

		node->index = (uint32_t)i;
		for (size_t n = 0; n < node->pod_count; n++)
			world->pods[count++] = node->pods[n];
	}
	world->bound_count = count;
	for (size_t i = 0; i < neap_map_count(own->pods); i++) {
		struct neap_world_pod *pod = neap_map_at(own->pods, i, NULL);

		if (!pod->node || !pod->node->object)
			world->pods[count++] = pod;
	}
	qsort(world->pods + world->bound_count, count - world->bound_count,
	      sizeof(struct neap_world_pod *), compare_pods);
	world->pod_count = count;
	for (size_t i = 0; i < count; i++)
		world->pods[i]->index = (uint32_t)i;
}

int neap_world_settle(struct neap_world *world, struct neap_error *err)
{
	struct neap_world_own *own = world->own;

	if (!grow_lists(world))
		return neap_error_nomem(err);
	resolve(world);
	world->node_count = 0;
	for (size_t i = 0; i < neap_map_count(own->nodes); i++) {
		struct neap_world_node *node = neap_map_at(own->nodes, i, NULL);

		if (node->is_dirty)
			neap_world_count_node(world, node);
		node->index = UINT32_MAX;
		if (node->object)
			world->nodes[world->node_count++] = node;
	}
	qsort(world->nodes, world->node_count, sizeof(struct neap_world_node *),
	      compare_nodes);
	list_pods(world);
	number_groups(world);
	return 0;
}
