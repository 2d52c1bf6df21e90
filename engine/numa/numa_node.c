/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/numa/numa_node.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"

int64_t neap_numa_amplify(int64_t amount, double ratio)
{
	double more;

	if (!(ratio > 1))
		return amount;
	more = ceil((double)amount * ratio);
	return more < 9.2e18 ? (int64_t)more : INT64_MAX;
}

int neap_numa_node_resource(const struct neap_numa_node *node, uint32_t resource)
{
	for (int i = 0; i < node->resource_count; i++)
		if (node->resource[i] == resource)
			return i;
	return -1;
}

int neap_numa_node_cpus_in(const struct neap_numa_node *node, int zone,
			   const uint64_t *cpus)
{
	size_t words = (size_t)node->layout->words;
	const uint64_t *mask = node->zone_cpus + (size_t)zone * words;
	int count = 0;

	for (size_t i = 0; i < words; i++)
		count += __builtin_popcountll(cpus[i] & mask[i]);
	return count;
}

/* --- making one --- */

static void add_resource(struct neap_numa_node *node, uint32_t resource)
{
	if (neap_numa_node_resource(node, resource) >= 0)
		return;
	if (node->resource_count == NEAP_NUMA_RESOURCES_MAX) {
		node->has_left_out = true;
		return;
	}
	node->ratio[node->resource_count] = 1;
	node->resource[node->resource_count++] = resource;
}

/* In the order of the zones; CPU and memory of any of them before all others. */
static void add_resources(struct neap_numa_node *node, const struct neap_numa_spec *spec)
{
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < spec->zone_count; i++) {
			const struct neap_amounts *total = &spec->zones[i].total;

			for (size_t k = 0; k < total->count; k++)
				if ((total->of[k].resource > NEAP_RESOURCE_MEMORY) ==
				    (pass > 0))
					add_resource(node, total->of[k].resource);
		}
}

static int count_zones(struct neap_numa_node *node, const struct neap_numa_spec *spec,
		       struct neap_error *err)
{
	if (spec->zone_count > NEAP_NUMA_NODES_MAX)
		return neap_error_set(err, NEAP_ETOOLARGE, "%zu NUMA nodes: at most %d",
				      spec->zone_count, NEAP_NUMA_NODES_MAX);
	for (size_t i = 0; i < spec->zone_count; i++) {
		int number = spec->zones[i].node, at = node->zone_count++;

		for (; at > 0 && node->zone_node[at - 1] > number; at--)
			node->zone_node[at] = node->zone_node[at - 1];
		if (number < 0 || (at > 0 && node->zone_node[at - 1] == number))
			return neap_error_set(err, NEAP_EINVAL,
					      "NUMA node %d is there twice, or below 0",
					      number);
		node->zone_node[at] = number;
		node->zones = node->zones << 1 | 1;
	}
	add_resources(node, spec);
	for (size_t i = 0; i < spec->ratio_count; i++) {
		int at = neap_numa_node_resource(node, spec->ratios[i].resource);

		if (at >= 0 && spec->ratios[i].ratio > 1)
			node->ratio[at] = spec->ratios[i].ratio;
	}
	return 0;
}

int neap_numa_node_zone(const struct neap_numa_node *node, int64_t number)
{
	for (int zone = 0; zone < node->zone_count; zone++)
		if (node->zone_node[zone] == number)
			return zone;
	return -1;
}

static void fill_cells(struct neap_numa_node *node, const struct neap_numa_spec *spec)
{
	for (size_t i = 0; i < spec->zone_count; i++) {
		const struct neap_amounts *total = &spec->zones[i].total;
		int zone = neap_numa_node_zone(node, spec->zones[i].node);

		for (size_t k = 0; k < total->count; k++) {
			int at = neap_numa_node_resource(node, total->of[k].resource);
			double ratio = spec->is_amplified || at < 0 ? 1 : node->ratio[at];

			if (at < 0)
				continue;
			node->reported[zone] |= (uint16_t)(1U << at);
			node->total[zone * node->resource_count + at] =
				neap_numa_amplify(total->of[k].amount, ratio);
		}
	}
}

static void fill_cpus(struct neap_numa_node *node, const struct neap_numa_spec *spec)
{
	size_t words = (size_t)node->layout->words;

	for (int i = 0; i < spec->topology->node_count; i++) {
		const struct neap_numa *numa = &spec->topology->nodes[i];
		int zone = neap_numa_node_zone(node, numa->os_node);

		if (zone >= 0)
			neap_cpu_layout_to_slots(node->layout, &numa->cpus,
						 node->zone_cpus + (size_t)zone * words);
	}
	if (spec->reserved)
		neap_cpu_layout_to_slots(node->layout, spec->reserved, node->reserved);
}

int neap_numa_node_new(const struct neap_numa_spec *spec, struct neap_numa_node **ret,
		       struct neap_error *err)
{
	struct neap_numa_node *node = neap_alloc(sizeof(*node));
	size_t words, cells;
	int failed;

	*ret = NULL;
	if (!node)
		return neap_error_nomem(err);
	node->names = spec->resources;
	node->max_refs = spec->max_refs > 1 ? spec->max_refs : 1;
	failed = count_zones(node, spec, err);
	if (failed == 0 && spec->layout)
		node->layout = neap_cpu_layout_ref(spec->layout);
	else if (failed == 0)
		failed = neap_cpu_layout_new(spec->topology, &node->layout, err);
	if (failed == 0)
		failed = neap_cpu_use_new(node->layout, &node->use, err);
	if (failed < 0) {
		neap_numa_node_free(node);
		return failed;
	}
	words = (size_t)node->layout->words;
	cells = (size_t)node->zone_count * (size_t)node->resource_count;
	node->reserved = neap_alloc_array(words, sizeof(*node->reserved));
	node->zone_cpus = neap_alloc_array(words * (size_t)node->zone_count,
					   sizeof(*node->zone_cpus));
	node->total = neap_alloc_array(cells, sizeof(*node->total));
	node->used = neap_alloc_array(cells, sizeof(*node->used));
	if (!node->reserved || !node->zone_cpus || !node->total || !node->used) {
		neap_numa_node_free(node);
		return neap_error_nomem(err);
	}
	fill_cells(node, spec);
	fill_cpus(node, spec);
	*ret = node;
	return 0;
}

static void held_done(struct neap_numa_held *held)
{
	free(held->uid);
	free(held->cpus);
	free(held->cells);
}

void neap_numa_node_free(struct neap_numa_node *node)
{
	if (!node)
		return;
	for (size_t i = 0; i < node->pod_count; i++)
		held_done(&node->pods[i]);
	free(node->pods);
	free(node->reserved);
	free(node->zone_cpus);
	free(node->total);
	free(node->used);
	free(node->twice);
	neap_cpu_use_free(node->use);
	(void)neap_cpu_layout_unref(node->layout);
	free(node);
}

/* --- who has what --- */

static struct neap_numa_held *find(const struct neap_numa_node *node, const char *uid)
{
	for (size_t i = 0; i < node->pod_count; i++)
		if (strcmp(node->pods[i].uid, uid) == 0)
			return &node->pods[i];
	return NULL;
}

const struct neap_numa_held *neap_numa_node_find(const struct neap_numa_node *node,
						 const char *uid)
{
	return find(node, uid);
}

/* CPUs by their references; the policy of the newest stays until nobody has them. */
static void count_cpus(struct neap_numa_node *node, const struct neap_numa_held *held,
		       int step)
{
	struct neap_cpu_use *use = node->use;

	for (int i = 0; held->cpus && i < node->layout->words; i++)
		for (uint64_t left = held->cpus[i]; left != 0; left &= left - 1) {
			int slot = i * 64 + __builtin_ctzll(left);
			uint64_t bit = left & -left;
			int refs = use->refs[slot] + step;
			enum neap_cpu_exclusive policy = held->exclusive;

			if (step < 0)
				policy = (use->pcpu[i] & bit)   ? NEAP_EXCLUSIVE_PCPU
					 : (use->numa[i] & bit) ? NEAP_EXCLUSIVE_NUMA
								: NEAP_EXCLUSIVE_NONE;
			neap_cpu_use_set(use, node->layout->cpu_of[slot], refs,
					 refs > 0 ? policy : NEAP_EXCLUSIVE_NONE);
		}
}

/* Always from the start: sums that are carried on do not come back from where they
 * stopped at INT64_MAX. */
static void count_cells(struct neap_numa_node *node)
{
	int cells = node->zone_count * node->resource_count;

	for (int i = 0; i < cells; i++) {
		node->used[i] = 0;
		for (size_t k = 0; k < node->pod_count; k++)
			if (node->pods[k].cells)
				node->used[i] = neap_amount_sum(node->used[i],
								node->pods[k].cells[i]);
	}
}

static bool grow(struct neap_numa_node *node)
{
	return neap_grow(&node->pods, node->pod_count, &node->pod_size,
			 sizeof(*node->pods));
}

static bool copy_held(const struct neap_numa_node *node, const uint64_t *cpus,
		      const int64_t *cells, struct neap_numa_held *held)
{
	size_t words = (size_t)node->layout->words;
	size_t count = (size_t)node->zone_count * (size_t)node->resource_count;

	if (cpus) {
		held->cpus = neap_alloc_array(words, sizeof(*cpus));
		for (size_t i = 0; held->cpus && i < words; i++)
			held->cpus[i] = cpus[i] & node->layout->all[i];
	}
	if (cells) {
		held->cells = neap_alloc_array(count, sizeof(*cells));
		for (size_t i = 0; held->cells && i < count; i++)
			held->cells[i] = cells[i] > 0 ? cells[i] : 0;
	}
	return (!cpus || held->cpus) && (!cells || held->cells);
}

int neap_numa_node_hold(struct neap_numa_node *node, const char *uid,
			const uint64_t *cpus, const int64_t *cells,
			enum neap_cpu_exclusive exclusive, struct neap_error *err)
{
	struct neap_numa_held held = {.exclusive = exclusive};

	if (find(node, uid))
		return 0;
	held.uid = neap_strdup(uid);
	if (!held.uid || !copy_held(node, cpus, cells, &held) || !grow(node)) {
		held_done(&held);
		return neap_error_nomem(err);
	}
	node->pods[node->pod_count++] = held;
	count_cpus(node, &held, 1);
	count_cells(node);
	return 0;
}

void neap_numa_node_release(struct neap_numa_node *node, const char *uid)
{
	struct neap_numa_held *held = find(node, uid);

	if (!held)
		return;
	count_cpus(node, held, -1);
	held_done(held);
	*held = node->pods[--node->pod_count];
	count_cells(node);
}

void neap_numa_node_states(const struct neap_numa_node *node,
			   enum neap_numa_state states[NEAP_NUMA_NODES_MAX])
{
	memset(states, 0, NEAP_NUMA_NODES_MAX * sizeof(*states));
	for (size_t i = 0; i < node->pod_count; i++) {
		const struct neap_numa_held *held = &node->pods[i];
		uint64_t on = 0;

		for (int zone = 0; held->cpus && zone < node->zone_count; zone++)
			if (neap_numa_node_cpus_in(node, zone, held->cpus) > 0)
				on |= UINT64_C(1) << zone;
		for (uint64_t left = on; left != 0; left &= left - 1) {
			enum neap_numa_state *state = &states[__builtin_ctzll(left)];

			if ((on & (on - 1)) != 0)
				*state = NEAP_NUMA_SHARED;
			else if (*state == NEAP_NUMA_IDLE)
				*state = NEAP_NUMA_ALONE;
		}
	}
}
