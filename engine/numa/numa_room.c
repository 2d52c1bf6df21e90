/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/numa/numa_room.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"

/* --- what is free --- */

static void hand_back(struct neap_cpu_use *use, const uint64_t *cpus)
{
	for (int i = 0; cpus && i < use->layout->words; i++)
		for (uint64_t left = cpus[i]; left != 0; left &= left - 1) {
			int slot = i * 64 + __builtin_ctzll(left);
			uint64_t bit = left & -left;

			if (use->refs[slot] > 0 && --use->refs[slot] == 0) {
				use->pcpu[i] &= ~bit;
				use->numa[i] &= ~bit;
			}
		}
}

static int copy_use(struct neap_numa_room *room, const struct neap_numa_held *back,
		    size_t back_count, struct neap_error *err)
{
	const struct neap_cpu_use *from = room->node->use;
	size_t words = (size_t)room->node->layout->words;
	int ret;

	if (back_count == 0)
		return 0;
	ret = neap_cpu_use_new(room->node->layout, &room->own, err);
	if (ret < 0)
		return ret;
	memcpy(room->own->refs, from->refs, words * 64 * sizeof(*from->refs));
	memcpy(room->own->pcpu, from->pcpu, words * sizeof(*from->pcpu));
	memcpy(room->own->numa, from->numa, words * sizeof(*from->numa));
	for (size_t i = 0; i < back_count; i++)
		hand_back(room->own, back[i].cpus);
	room->use = room->own;
	return 0;
}

static void find_cpus(struct neap_numa_room *room)
{
	const struct neap_numa_node *node = room->node;

	for (int i = 0; i < node->layout->words; i++) {
		uint64_t set = node->layout->all[i] & ~node->reserved[i];

		for (uint64_t left = set; left != 0; left &= left - 1)
			if (room->use->refs[i * 64 + __builtin_ctzll(left)] >=
			    node->max_refs)
				set &= ~(left & -left);
		room->cpus[i] = set;
	}
}

/* CPUs of a zone that some pod has. */
static int64_t bound_milli(const struct neap_numa_node *node,
			   const struct neap_cpu_use *use, int zone)
{
	int words = node->layout->words;
	const uint64_t *mask = node->zone_cpus + (size_t)zone * (size_t)words;
	int64_t count = 0;

	for (int i = 0; i < words; i++)
		for (uint64_t left = mask[i]; left != 0; left &= left - 1)
			count += use->refs[i * 64 + __builtin_ctzll(left)] > 0;
	return count * 1000;
}

int64_t neap_numa_counted(const struct neap_numa_node *node,
			  const struct neap_cpu_use *use, int zone, int resource,
			  int64_t used)
{
	double ratio = node->ratio[resource];
	int64_t bound;

	if (node->resource[resource] != NEAP_RESOURCE_CPU || !(ratio > 1))
		return used;
	bound = bound_milli(node, use, zone);
	return neap_amount_sum(used - bound, neap_numa_amplify(bound, ratio));
}

int neap_numa_room_open(struct neap_numa_room *room, const struct neap_numa_node *node,
			const struct neap_numa_held *back, size_t back_count,
			struct neap_error *err)
{
	int cells = node->zone_count * node->resource_count, ret;

	room->node = node;
	room->use = node->use;
	room->own = NULL;
	ret = copy_use(room, back, back_count, err);
	if (ret < 0)
		return ret;
	find_cpus(room);
	for (int i = 0; i < cells; i++) {
		int64_t used = node->used[i] - (node->twice ? node->twice[i] : 0);

		for (size_t k = 0; k < back_count; k++)
			if (back[k].cells)
				used -= back[k].cells[i] < used ? back[k].cells[i] : used;
		used = neap_numa_counted(node, room->use, i / node->resource_count,
					 i % node->resource_count, used);
		room->cells[i] = node->total[i] > used ? node->total[i] - used : 0;
	}
	return 0;
}

void neap_numa_room_close(struct neap_numa_room *room)
{
	neap_cpu_use_free(room->own);
	room->own = NULL;
}

/* --- taking --- */

struct taking {
	const struct neap_numa_room *room;
	const struct neap_numa_ask *ask;
	uint64_t nodes;
	uint64_t usable[NEAP_CPU_WORDS_MAX];
	struct neap_numa_grant *grant;
};

static bool has_zone(const struct taking *taking, int zone)
{
	return taking->nodes >> zone & 1;
}

/* The CPUs of one core that may be used when the policy is required. all: that it has. */
static uint64_t core_part(const struct neap_numa_ask *ask, uint64_t cpus, uint64_t all)
{
	if (ask->bind == NEAP_BIND_FULL_PCPUS)
		return cpus == all ? cpus : 0;
	return ask->bind == NEAP_BIND_SPREAD ? cpus & -cpus : cpus;
}

static uint64_t core_mask(const struct neap_cpu_layout *layout)
{
	return layout->stride == 64 ? ~UINT64_C(0) : (UINT64_C(1) << layout->stride) - 1;
}

void neap_numa_usable(const struct neap_numa_room *room, const struct neap_numa_ask *ask,
		      uint64_t *ret)
{
	const struct neap_cpu_layout *layout = room->node->layout;

	for (int i = 0; i < layout->words; i++) {
		uint64_t cpus = room->cpus[i], usable = 0;

		if (!ask->is_binding || !ask->is_required) {
			ret[i] = cpus;
			continue;
		}
		for (int at = 0; at < 64; at += layout->stride) {
			uint64_t core = core_mask(layout) << at;

			usable |= core_part(ask, cpus & core, layout->all[i] & core);
		}
		ret[i] = usable;
	}
}

static int64_t free_of(const struct taking *taking, int zone, int resource)
{
	const struct neap_numa_node *node = taking->room->node;
	int64_t amount = taking->room->cells[zone * node->resource_count + resource], cut;

	if (node->resource[resource] != NEAP_RESOURCE_CPU || !taking->ask->is_binding ||
	    !taking->ask->is_required)
		return amount;
	cut = (int64_t)neap_numa_node_cpus_in(node, zone, taking->usable) * 1000;
	return cut < amount ? cut : amount;
}

static bool needs_whole_cores(const struct taking *taking, int resource)
{
	return taking->room->node->layout->is_mixed &&
	       taking->room->node->resource[resource] == NEAP_RESOURCE_CPU &&
	       taking->ask->is_binding && taking->ask->is_required &&
	       taking->ask->bind == NEAP_BIND_FULL_PCPUS;
}

/* The unit that a zone's amount is a multiple of. */
static int64_t grain(const struct taking *taking, int resource)
{
	const struct neap_numa_ask *ask = taking->ask;

	if (taking->room->node->resource[resource] != NEAP_RESOURCE_CPU ||
	    !ask->is_binding)
		return 1;
	return ask->is_required && ask->bind == NEAP_BIND_FULL_PCPUS
		       ? 1000 * (int64_t)taking->room->node->layout->per_core
		       : 1000;
}

/* The zones of the set, the one with the least first. */
static int order_zones(const struct taking *taking, int resource, int *ret)
{
	int count = 0;

	for (int zone = 0; zone < taking->room->node->zone_count; zone++) {
		int at = count;

		if (!has_zone(taking, zone))
			continue;
		while (at > 0 && free_of(taking, ret[at - 1], resource) >
					 free_of(taking, zone, resource)) {
			ret[at] = ret[at - 1];
			at--;
		}
		ret[at] = zone;
		count++;
	}
	return count;
}

static bool is_reported(const struct taking *taking, int resource)
{
	for (int zone = 0; zone < taking->room->node->zone_count; zone++)
		if (has_zone(taking, zone) &&
		    taking->room->node->reported[zone] >> resource & 1)
			return true;
	return false;
}

/* Usable CPUs of these zones. */
static void cpus_of(const struct taking *taking, const int *zones, int count,
		    uint64_t *ret)
{
	const struct neap_numa_node *node = taking->room->node;
	size_t words = (size_t)node->layout->words;

	memset(ret, 0, words * sizeof(*ret));
	for (int k = 0; k < count; k++)
		for (size_t i = 0; i < words; i++)
			ret[i] |= taking->usable[i] &
				  node->zone_cpus[(size_t)zones[k] * words + i];
}

/* Cores of unequal threads: the most, up to share, that whole cores of the first zone
 * come to and leaves what those of the others can. */
static int64_t whole_share(const struct taking *taking, const int *zones, int count,
			   int64_t share, int64_t amount)
{
	const struct neap_cpu_layout *layout = taking->room->node->layout;
	uint64_t here[NEAP_CPU_WORDS_MAX], others[NEAP_CPU_WORDS_MAX];
	int cpus = (int)(share / 1000), all = (int)(amount / 1000);

	cpus_of(taking, zones, 1, here);
	cpus_of(taking, zones + 1, count - 1, others);
	while (cpus > 0 && !(neap_accumulator_can_make(layout, here, cpus) &&
			     neap_accumulator_can_make(layout, others, all - cpus)))
		cpus--;
	return cpus * INT64_C(1000);
}

/* As evenly as the zones can. False: some is left over. */
static bool split(struct taking *taking, int resource, int64_t amount)
{
	int zones[NEAP_NUMA_NODES_MAX], count = order_zones(taking, resource, zones);
	int64_t unit = grain(taking, resource);

	for (int k = 0; k < count; k++) {
		int64_t share = amount / (count - k);
		int64_t room = free_of(taking, zones[k], resource);

		share -= share % unit;
		share = share < room ? share : room;
		if (needs_whole_cores(taking, resource))
			share = whole_share(taking, zones + k, count - k, share, amount);
		taking->grant->cells[zones[k] * taking->room->node->resource_count +
				     resource] = share;
		amount -= share;
	}
	return amount <= 0;
}

static int split_all(struct taking *taking, struct neap_error *err)
{
	const struct neap_numa_node *node = taking->room->node;
	char missing[NEAP_ERROR_MSG] = "";

	for (size_t i = 0; i < taking->ask->request_count; i++) {
		const struct neap_amount *request = &taking->ask->requests[i];
		int resource = neap_numa_node_resource(node, request->resource);
		const char *name = neap_resources_name(node->names, request->resource);
		size_t len = strlen(missing);

		if (resource < 0 || !is_reported(taking, resource) ||
		    split(taking, resource, request->amount))
			continue;
		(void)snprintf(missing + len, sizeof(missing) - len,
			       "%sInsufficient NUMA %s", len > 0 ? ", " : "",
			       name ? name : "?");
		if (taking->ask->why)
			neap_buf_addf(taking->ask->why, "%sInsufficient NUMA %s",
				      len > 0 ? ", " : "", name ? name : "?");
	}
	return missing[0] != '\0' ? neap_error_set(err, NEAP_ENOFIT, "%s", missing) : 0;
}

static int no_cpus(struct neap_error *err)
{
	return neap_error_set(err, NEAP_ENOFIT,
			      "not enough cpus available to satisfy request");
}

/* So many of these. */
static int take_some(struct taking *taking, const uint64_t *available, int need,
		     struct neap_error *err)
{
	uint64_t got[NEAP_CPU_WORDS_MAX];
	struct neap_cpu_take take = {.layout = taking->room->node->layout,
				     .use = taking->room->use,
				     .available = available,
				     .preferred = taking->ask->preferred,
				     .need = need,
				     .max_refs = taking->room->node->max_refs,
				     .bind = taking->ask->bind,
				     .exclusive = taking->ask->exclusive,
				     .is_most_allocated = taking->ask->is_most_allocated};
	int ret = neap_accumulator_take(&take, got, err);

	if (ret < 0 || need < 1)
		return ret;
	for (int i = 0; i < take.layout->words; i++)
		taking->grant->cpus[i] |= got[i];
	taking->grant->cpu_count += need;
	return 0;
}

static int take_by_zones(struct taking *taking, struct neap_error *err)
{
	const struct neap_numa_node *node = taking->room->node;
	int words = node->layout->words;
	int cpu = neap_numa_node_resource(node, NEAP_RESOURCE_CPU), ret = 0;

	for (int zone = 0; cpu >= 0 && zone < node->zone_count && ret == 0; zone++) {
		uint64_t available[NEAP_CPU_WORDS_MAX];
		const uint64_t *mask = node->zone_cpus + (size_t)zone * (size_t)words;
		int64_t need =
			taking->grant->cells[zone * node->resource_count + cpu] / 1000;
		int most = neap_numa_node_cpus_in(node, zone, taking->usable);

		if (!has_zone(taking, zone))
			continue;
		for (int i = 0; i < words; i++)
			available[i] = taking->usable[i] & mask[i];
		ret = take_some(taking, available, need < most ? (int)need : most, err);
	}
	if (ret == 0 && taking->grant->cpu_count != taking->ask->cpus)
		return no_cpus(err);
	return ret;
}

/* Whether the cores are as the policy wants them. */
static int check_cores(const struct taking *taking, struct neap_error *err)
{
	const struct neap_cpu_layout *layout = taking->room->node->layout;
	bool is_full = taking->ask->bind == NEAP_BIND_FULL_PCPUS;
	int count = 0; /* number of CPUs that these cores stand for */

	if (!taking->ask->is_required || taking->ask->bind == NEAP_BIND_DEFAULT)
		return 0;
	for (int i = 0; i < layout->words; i++)
		for (int at = 0; at < 64; at += layout->stride) {
			uint64_t core = core_mask(layout) << at;

			if (taking->grant->cpus[i] & core)
				count += is_full ? __builtin_popcountll(layout->all[i] &
									core)
						 : 1;
		}
	if (count == taking->grant->cpu_count)
		return 0;
	return neap_error_set(err, NEAP_ENOFIT,
			      "insufficient CPUs to satisfy required cpu bind policy %s",
			      is_full ? "FullPCPUs" : "SpreadByPCPUs");
}

int neap_numa_take(const struct neap_numa_room *room, const struct neap_numa_ask *ask,
		   uint64_t nodes, struct neap_numa_grant *ret, struct neap_error *err)
{
	const struct neap_numa_node *node = room->node;
	struct taking taking = {.room = room, .ask = ask, .nodes = nodes, .grant = ret};
	size_t cells = (size_t)node->zone_count * (size_t)node->resource_count;
	int failed = 0;

	memset(ret->cpus, 0, (size_t)node->layout->words * sizeof(*ret->cpus));
	memset(ret->cells, 0, cells * sizeof(*ret->cells));
	ret->cpu_count = 0;
	ret->nodes = nodes;
	neap_numa_usable(room, ask, taking.usable);
	if (nodes != 0)
		failed = split_all(&taking, err);
	if (failed < 0 || !ask->is_binding)
		return failed;
	failed = nodes != 0 ? take_by_zones(&taking, err)
			    : take_some(&taking, taking.usable, ask->cpus, err);
	return failed < 0 ? failed : check_cores(&taking, err);
}

/* --- from what is kept --- */

/* Only reserved amounts, as far as there are any: a pod that ignores reservations may
 * have taken some. */
static int take_restricted(const struct neap_numa_room *room,
			   const struct neap_numa_ask *ask, uint64_t nodes,
			   const struct neap_numa_kept *kept, struct neap_numa_grant *ret,
			   struct neap_error *err)
{
	const struct neap_numa_node *node = room->node;
	struct neap_numa_room *less = neap_alloc(sizeof(*less));
	size_t cells = (size_t)node->zone_count * (size_t)node->resource_count;
	int count = 0, failed;

	if (!less)
		return neap_error_nomem(err);
	*less = *room;
	for (int i = 0; i < node->layout->words; i++) {
		less->cpus[i] &= kept->cpus[i];
		count += __builtin_popcountll(less->cpus[i]);
	}
	for (size_t i = 0; kept->cells && i < cells; i++)
		if (kept->cells[i] < less->cells[i])
			less->cells[i] = kept->cells[i];
	failed = ask->is_binding && ask->cpus > count
			 ? no_cpus(err)
			 : neap_numa_take(less, ask, nodes, ret, err);
	free(less);
	return failed;
}

int neap_numa_take_kept(const struct neap_numa_room *room,
			const struct neap_numa_ask *ask, uint64_t nodes,
			const struct neap_numa_kept *kept, struct neap_numa_grant *ret,
			struct neap_error *err)
{
	struct neap_numa_ask first = *ask;
	int failed;

	first.preferred = kept->cpus;
	failed = neap_numa_take(room, &first, nodes, ret, err);
	if (failed == 0 && kept->is_restricted) {
		struct neap_error why;

		if (ask->why)
			neap_buf_adds(ask->why, "Reservation(s) ");
		failed = take_restricted(room, &first, nodes, kept, ret, &why);
		if (failed == -NEAP_ENOFIT)
			return neap_error_set(err, NEAP_ENOFIT, "Reservation(s) %s",
					      why.msg);
		if (failed < 0)
			return neap_error_nomem(err);
	}
	return failed;
}
