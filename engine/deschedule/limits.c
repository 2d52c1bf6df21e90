/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/deschedule/limits.h"

#include <stdlib.h>

#include "engine/base/map.h"
#include "engine/base/mem.h"

int neap_limit_counts_init(struct neap_limit_counts *counts,
			   const struct neap_world *world, struct neap_error *err)
{
	*counts = (struct neap_limit_counts){
		.nodes = neap_alloc_array(world->node_count + 1, sizeof(uint32_t)),
		.groups = neap_alloc_array(world->group_end + 1, sizeof(uint32_t)),
		.namespaces = neap_map_new()};
	if (counts->nodes && counts->groups && counts->namespaces)
		return 0;
	neap_limit_counts_done(counts);
	return neap_error_nomem(err);
}

void neap_limit_counts_done(struct neap_limit_counts *counts)
{
	free(counts->nodes);
	free(counts->groups);
	neap_map_free(counts->namespaces);
	neap_arena_done(&counts->arena);
	*counts = (struct neap_limit_counts){0};
}

/* The workload is the owner that controls the pod, else the first one. */
static const struct neap_world_group *workload_of(const struct neap_world_pod *pod)
{
	for (size_t i = 0; i < pod->owner_count; i++)
		if (pod->owners[i].is_controller)
			return pod->owners[i].group;
	return pod->owner_count ? pod->owners[0].group : NULL;
}

/* A node without an object has no number, and pods there are no candidates. */
static uint32_t *node_of(const struct neap_limit_counts *counts,
			 const struct neap_world_pod *pod)
{
	return pod->node && pod->node->object ? &counts->nodes[pod->node->index] : NULL;
}

enum neap_limit neap_limits_find(const struct neap_limits *limits,
				 const struct neap_limit_counts *counts,
				 const struct neap_world_pod *pod)
{
	const struct neap_world_group *group = workload_of(pod);
	const uint32_t *node = node_of(counts, pod);
	const uint32_t *ns = neap_map_find(counts->namespaces, pod->pod->object->ns);
	bool is_total = counts->total >= limits->total;

	if (is_total && limits->is_total_first)
		return NEAP_LIMIT_TOTAL;
	if (node && (int64_t)*node >= limits->per_node)
		return NEAP_LIMIT_NODE;
	if ((ns ? (int64_t)*ns : 0) >= limits->per_namespace)
		return NEAP_LIMIT_NAMESPACE;
	if (is_total)
		return NEAP_LIMIT_TOTAL;
	if (group && (int64_t)counts->groups[group->number] >= limits->per_workload)
		return NEAP_LIMIT_WORKLOAD;
	return NEAP_LIMIT_NONE;
}

int neap_limit_counts_add(struct neap_limit_counts *counts,
			  const struct neap_world_pod *pod, struct neap_error *err)
{
	const struct neap_world_group *group = workload_of(pod);
	uint32_t *node = node_of(counts, pod);
	uint32_t *ns = neap_map_find(counts->namespaces, pod->pod->object->ns);

	if (!ns) {
		ns = neap_arena_alloc(&counts->arena, sizeof(*ns));
		if (!ns || !neap_map_set(counts->namespaces, pod->pod->object->ns, ns))
			return neap_error_nomem(err);
	}
	(*ns)++;
	if (node)
		(*node)++;
	if (group)
		counts->groups[group->number]++;
	counts->total++;
	return 0;
}

void neap_limit_counts_remove(struct neap_limit_counts *counts,
			      const struct neap_world_pod *pod)
{
	const struct neap_world_group *group = workload_of(pod);
	uint32_t *node = node_of(counts, pod);
	uint32_t *ns = neap_map_find(counts->namespaces, pod->pod->object->ns);

	if (ns)
		(*ns)--;
	if (node)
		(*node)--;
	if (group)
		counts->groups[group->number]--;
	counts->total--;
}
