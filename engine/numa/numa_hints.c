/* SPDX-License-Identifier: Apache-2.0
 *
 * Which NUMA nodes could serve the pod: tries every set of them. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/numa/numa_room.h"

struct making {
	const struct neap_numa_room *room;
	struct neap_numa_ask ask; /* with no text for a refusal */
	const struct neap_numa_scoring *scoring;
	const struct neap_numa_kept *kept;
	struct neap_numa_hint_set *set;
	int resource[NEAP_NUMA_RESOURCES_MAX]; /* of the lists */
	size_t each;                           /* hints that a list has room for */
	int64_t cells[NEAP_NUMA_CELLS_MAX];    /* that are free */
	struct neap_numa_grant grant;
};

/* As full as the zones are without the pod. */
static int64_t score(const struct making *making, uint64_t zones)
{
	int64_t requested[NEAP_NUMA_RESOURCES_MAX] = {0};
	int64_t capacity[NEAP_NUMA_RESOURCES_MAX] = {0};
	const struct neap_numa_node *node = making->room->node;
	struct neap_numa_scoring some = *making->scoring;

	if (some.count > NEAP_NUMA_RESOURCES_MAX)
		some.count = NEAP_NUMA_RESOURCES_MAX;
	for (size_t i = 0; i < some.count; i++) {
		uint32_t name = some.weights[i].resource;
		int at = neap_numa_node_resource(node, name);

		if (at < 0 || !neap_numa_weighs(&making->ask, name))
			continue;
		for (uint64_t left = zones; left != 0; left &= left - 1) {
			int cell = __builtin_ctzll(left) * node->resource_count + at;

			capacity[i] = neap_amount_sum(capacity[i], node->total[cell]);
			requested[i] = neap_amount_sum(
				requested[i], node->total[cell] - making->cells[cell]);
		}
	}
	return neap_numa_score(&some, requested, capacity);
}

/* What is free, with CPUs cut to those a required policy can use. */
static void find_free(struct making *making)
{
	const struct neap_numa_node *node = making->room->node;
	int cells = node->zone_count * node->resource_count;
	int cpu = neap_numa_node_resource(node, NEAP_RESOURCE_CPU);
	uint64_t usable[NEAP_CPU_WORDS_MAX];

	for (int i = 0; i < cells; i++)
		making->cells[i] = making->room->cells[i];
	if (cpu < 0 || !making->ask.is_binding || !making->ask.is_required)
		return;
	neap_numa_usable(making->room, &making->ask, usable);
	for (int zone = 0; zone < node->zone_count; zone++) {
		int64_t *cell = &making->cells[zone * node->resource_count + cpu];
		int64_t cut = neap_numa_node_cpus_in(node, zone, usable) * INT64_C(1000);

		*cell = cut < *cell ? cut : *cell;
	}
}

/* Whether every zone has some of it left. */
static bool is_given(const struct making *making, uint64_t zones, int resource)
{
	const struct neap_numa_node *node = making->room->node;

	for (; zones != 0; zones &= zones - 1)
		if (making->cells[__builtin_ctzll(zones) * node->resource_count +
				  resource] <= 0)
			return false;
	return true;
}

static int try_zones(struct making *making, uint64_t zones, struct neap_error *err)
{
	int ret = making->kept ? neap_numa_take_kept(making->room, &making->ask, zones,
						     making->kept, &making->grant, err)
			       : -NEAP_ENOFIT;
	int64_t points;

	/* A restricted reservation adds nothing from elsewhere. */
	if (ret == -NEAP_ENOFIT && !(making->kept && making->kept->is_restricted))
		ret = neap_numa_take(making->room, &making->ask, zones, &making->grant,
				     err);
	if (ret < 0)
		return ret == -NEAP_ENOFIT ? 0 : ret;
	points = score(making, zones);
	for (size_t i = 0; i < making->set->count; i++) {
		struct neap_numa_hints *list = &making->set->lists[i];

		if (is_given(making, zones, making->resource[i]))
			making->set->hints[i * making->each + list->count++] =
				(struct neap_numa_hint){.nodes = zones, .score = points};
	}
	return 0;
}

static void make_lists(struct making *making)
{
	const struct neap_numa_node *node = making->room->node;
	struct neap_numa_hint_set *set = making->set;

	for (size_t i = 0; i < making->ask.request_count; i++) {
		uint32_t name = making->ask.requests[i].resource;
		int at = neap_numa_node_resource(node, name);

		if (at < 0 || set->count == NEAP_NUMA_RESOURCES_MAX)
			continue;
		making->resource[set->count] = at;
		set->lists[set->count] = (struct neap_numa_hints){
			.resource = neap_resources_name(node->names, name),
			.hints = set->hints + set->count * making->each};
		set->count++;
	}
}

/* The smallest sets are the preferred ones. */
static void prefer(struct neap_numa_hint_set *set, size_t each, bool is_every)
{
	for (size_t i = 0; i < set->count; i++)
		for (size_t k = 0; k < set->lists[i].count; k++) {
			struct neap_numa_hint *hint = &set->hints[i * each + k];

			hint->is_preferred =
				is_every ||
				__builtin_popcountll(hint->nodes) ==
					__builtin_popcountll(set->hints[i * each].nodes);
		}
}

int neap_numa_hints_make(const struct neap_numa_room *room,
			 const struct neap_numa_ask *ask, enum neap_numa_policy policy,
			 const struct neap_numa_scoring *scoring,
			 const struct neap_numa_kept *kept,
			 struct neap_numa_hint_set *ret, struct neap_error *err)
{
	struct making *making = neap_alloc(sizeof(*making));
	int zones = room->node->zone_count, failed = 0;
	uint64_t set = 0;

	*ret = (struct neap_numa_hint_set){0};
	if (!making)
		return neap_error_nomem(err);
	making->room = room;
	making->ask = *ask;
	making->ask.why = NULL;
	making->scoring = scoring;
	making->kept = kept;
	making->set = ret;
	making->each =
		zones < 12 ? (size_t)1 << (zones > 0 ? zones : 0) : NEAP_NUMA_SUBSETS_MAX;
	ret->hints =
		neap_alloc_array(making->each * ask->request_count, sizeof(*ret->hints));
	if (!ret->hints) {
		free(making);
		return neap_error_nomem(err);
	}
	make_lists(making);
	find_free(making);
	for (size_t i = 0; failed == 0 && i < making->each; i++) {
		set = neap_numa_next_subset(set, zones);
		if (set == 0)
			break;
		if (i + 1 == making->each)
			set = room->node->zones;
		failed = try_zones(making, set, err);
	}
	prefer(ret, making->each, policy == NEAP_NUMA_RESTRICTED);
	free(making);
	return failed;
}

void neap_numa_hints_done(struct neap_numa_hint_set *set)
{
	free(set->hints);
	*set = (struct neap_numa_hint_set){0};
}

/* The reasons by commas. */
static int refuse(const struct neap_numa_ask *ask, const struct neap_numa_merge *merge,
		  struct neap_error *err)
{
	neap_auto_buf struct neap_buf own = {0};
	struct neap_buf *why = ask->why ? ask->why : &own;

	neap_buf_init(&own, NEAP_NUMA_WHY_MAX);
	for (size_t i = 0; i < neap_numa_reason_count(merge); i++) {
		neap_buf_adds(why, i > 0 ? ", " : "");
		neap_numa_reason(merge, i, why);
	}
	if (why->failed && !why->is_over)
		return neap_error_nomem(err);
	return neap_error_set(err, NEAP_ENOFIT, "%s", why->data);
}

int neap_numa_align(const struct neap_numa_room *room, const struct neap_numa_ask *ask,
		    enum neap_numa_policy policy, enum neap_numa_exclusive exclusive,
		    const struct neap_numa_scoring *scoring,
		    const struct neap_numa_kept *kept, uint64_t *ret_nodes,
		    struct neap_error *err)
{
	enum neap_numa_state states[NEAP_NUMA_NODES_MAX];
	struct neap_numa_hint_set set;
	struct neap_numa_merge merge = {.policy = policy,
					.all = room->node->zones,
					.numbers = room->node->zone_node,
					.exclusive = exclusive,
					.states = states};
	struct neap_numa_hint hint;
	int ret = 0;

	*ret_nodes = 0;
	if (policy == NEAP_NUMA_ANY)
		return 0;
	neap_numa_node_states(room->node, states);
	ret = neap_numa_hints_make(room, ask, policy, scoring, kept, &set, err);
	merge.lists = set.lists;
	merge.list_count = set.count;
	if (ret == 0 && !neap_numa_merge(&merge, &hint))
		ret = refuse(ask, &merge, err);
	else if (ret == 0)
		*ret_nodes = hint.nodes;
	neap_numa_hints_done(&set);
	return ret;
}
