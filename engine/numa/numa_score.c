/* SPDX-License-Identifier: Apache-2.0
 *
 * How full a node, or a set of its NUMA nodes, would be. */
#include "engine/numa/numa_room.h"

int64_t neap_numa_score(const struct neap_numa_scoring *scoring, const int64_t *requested,
			const int64_t *capacity)
{
	int64_t sum = 0, weights = 0;

	for (size_t i = 0; i < scoring->count; i++) {
		int64_t weight = scoring->weights[i].weight;

		if (capacity[i] <= 0)
			continue;
		sum += weight * neap_numa_score_one(scoring->is_most_allocated,
						    requested[i], capacity[i]);
		weights += weight;
	}
	return weights > 0 ? sum / weights : 0;
}

int64_t neap_numa_requested_cpu(int64_t requested, int64_t bound, double ratio)
{
	if (!(ratio > 1) || bound <= 0 || requested < bound)
		return requested;
	return neap_amount_sum(requested - bound, neap_numa_amplify(bound, ratio));
}

static int64_t asked(const struct neap_numa_ask *ask, uint32_t resource)
{
	for (size_t i = 0; i < ask->request_count; i++)
		if (ask->requests[i].resource == resource)
			return ask->requests[i].amount;
	return 0;
}

bool neap_numa_weighs(const struct neap_numa_ask *ask, uint32_t resource)
{
	return resource < NEAP_RESOURCE_FIXED || asked(ask, resource) > 0;
}

/* CPUs that anybody has, this pod included. */
static int64_t bound_milli(const struct neap_numa_room *room,
			   const struct neap_numa_grant *grant)
{
	const struct neap_cpu_layout *layout = room->node->layout;
	int64_t count = 0;

	for (int i = 0; i < layout->words; i++)
		for (uint64_t left = layout->all[i]; left != 0; left &= left - 1)
			count += (grant->cpus[i] & left & -left) != 0 ||
				 room->use->refs[i * 64 + __builtin_ctzll(left)] > 0;
	return count * 1000;
}

int64_t neap_numa_score_grant(const struct neap_numa_scoring *scoring,
			      const struct neap_numa_room *room,
			      const struct neap_numa_ask *ask,
			      const struct neap_numa_grant *grant)
{
	int64_t requested[NEAP_NUMA_RESOURCES_MAX] = {0};
	int64_t capacity[NEAP_NUMA_RESOURCES_MAX] = {0};
	struct neap_numa_scoring some = *scoring;
	const struct neap_numa_node *node = room->node;
	uint64_t nodes = grant->nodes ? grant->nodes : node->zones;

	if (some.count > NEAP_NUMA_RESOURCES_MAX)
		some.count = NEAP_NUMA_RESOURCES_MAX;
	for (size_t i = 0; i < some.count; i++) {
		uint32_t name = some.weights[i].resource;
		int at = neap_numa_node_resource(node, name);

		if (at < 0 || !neap_numa_weighs(ask, name))
			continue;
		/* Without a set no cell says what it gets. */
		requested[i] = grant->nodes ? 0 : asked(ask, name);
		for (int zone = 0; zone < node->zone_count; zone++) {
			int cell = zone * node->resource_count + at;

			if (!(nodes >> zone & 1))
				continue;
			capacity[i] = neap_amount_sum(capacity[i], node->total[cell]);
			requested[i] = neap_amount_sum(
				requested[i], node->total[cell] - room->cells[cell] +
						      grant->cells[cell]);
		}
		if (name == NEAP_RESOURCE_CPU && ask->is_binding)
			requested[i] = neap_numa_amplify(bound_milli(room, grant),
							 node->ratio[at]);
	}
	return neap_numa_score(&some, requested, capacity);
}

/* --- the tightest --- */

struct tightest {
	int64_t left; /* -1: none so far */
	int64_t of;
};

static void look_at(struct tightest *tightest, int64_t is_free, int64_t ask, int64_t of)
{
	if (of <= 0 || is_free < ask ||
	    (tightest->left >= 0 && is_free - ask >= tightest->left))
		return;
	tightest->left = is_free - ask;
	tightest->of = of;
}

static bool fullness(const struct tightest *tightest, double *ret)
{
	if (tightest->left < 0)
		return false;
	*ret = 1 - (double)tightest->left / (double)tightest->of;
	return true;
}

bool neap_numa_tightest(const struct neap_numa_room *room, uint32_t resource, int64_t ask,
			double *ret)
{
	const struct neap_numa_node *node = room->node;
	int at = neap_numa_node_resource(node, resource);
	struct tightest tightest = {.left = -1};

	for (int zone = 0; at >= 0 && zone < node->zone_count; zone++) {
		int cell = zone * node->resource_count + at;
		int64_t is_free = room->cells[cell];

		if (!(node->reported[zone] >> at & 1))
			continue;
		if (resource == NEAP_RESOURCE_CPU) {
			int cpus = neap_numa_node_cpus_in(node, zone, room->cpus);
			int64_t most =
				neap_numa_amplify((int64_t)cpus * 1000, node->ratio[at]);

			is_free = is_free < most ? is_free : most;
		}
		look_at(&tightest, is_free, ask, node->total[cell]);
	}
	return fullness(&tightest, ret);
}

bool neap_numa_tightest_cores(const struct neap_numa_room *room, int64_t milli,
			      double *ret)
{
	static const struct neap_numa_ask whole = {
		.is_binding = true, .is_required = true, .bind = NEAP_BIND_FULL_PCPUS};
	const struct neap_numa_node *node = room->node;
	int64_t core = node->layout->per_core;
	int64_t ask = (milli / 1000 + (milli % 1000 > 0) + core - 1) / core * core;
	uint64_t cpus[NEAP_CPU_WORDS_MAX];
	struct tightest tightest = {.left = -1};

	neap_numa_usable(room, &whole, cpus);
	for (int zone = 0; zone < node->zone_count; zone++)
		look_at(&tightest, neap_numa_node_cpus_in(node, zone, cpus), ask,
			neap_numa_node_cpus_in(node, zone, node->layout->all));
	return fullness(&tightest, ret);
}
