/* SPDX-License-Identifier: Apache-2.0
 *
 * Lifting placeholders, computing the room, choosing a reservation. */
#include "engine/decide/decide_priv.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"

bool neap_kept_is_required(const struct neap_kept *kept)
{
	return kept->has_ask && kept->ask.has_affinity;
}

void neap_kept_done(struct neap_kept *kept)
{
	free(kept->matches);
	free(kept->full);
	if (kept->work) {
		free(kept->work->options);
		free(kept->work->sorted);
		free(kept->work->parts);
	}
	free(kept->work);
}

/* --- lifting --- */

void neap_kept_lift(struct neap_cycle *cycle)
{
	for (size_t i = 0; i < cycle->kept.count; i++) {
		struct neap_kept_match *match = &cycle->kept.matches[i];

		match->lifted = neap_cluster_lift(cycle->cluster, match->stand);
	}
	if (cycle->kept.count)
		cycle->columns = neap_cluster_settle(cycle->cluster);
}

void neap_kept_put_back(struct neap_cycle *cycle)
{
	for (size_t i = cycle->kept.count; i--;) {
		struct neap_kept_match *match = &cycle->kept.matches[i];

		neap_cluster_put_back(cycle->cluster, match->stand, match->lifted);
		match->lifted = NULL;
	}
	if (cycle->kept.count)
		cycle->columns = neap_cluster_settle(cycle->cluster);
}

/* Returns where row starts among them. */
static size_t find_row(const struct neap_kept_match *list, size_t count, uint32_t row)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list[middle].row < row)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct neap_kept_match *neap_kept_on(struct neap_cycle *cycle, uint32_t row,
				     size_t *ret_count)
{
	struct neap_kept *kept = &cycle->kept;
	size_t at = kept->at, end;

	if (at < kept->count && kept->matches[at].row < row)
		while (at < kept->count &&
		       kept->matches[at].row == kept->matches[kept->at].row)
			at++;
	if ((at < kept->count && kept->matches[at].row < row) ||
	    (at > 0 && kept->matches[at - 1].row >= row))
		at = find_row(kept->matches, kept->count, row);
	kept->at = at;
	for (end = at; end < kept->count && kept->matches[end].row == row;)
		end++;
	*ret_count = end - at;
	return end > at ? &kept->matches[at] : NULL;
}

struct neap_kept_match *neap_kept_full_on(struct neap_cycle *cycle, uint32_t row,
					  size_t *ret_count)
{
	struct neap_kept *kept = &cycle->kept;
	size_t at = find_row(kept->full, kept->full_count, row), end = at;

	while (end < kept->full_count && kept->full[end].row == row)
		end++;
	*ret_count = end - at;
	return end > at ? &kept->full[at] : NULL;
}

const struct neap_pod *neap_kept_next_real(struct neap_cycle *cycle, uint32_t row,
					   size_t *at)
{
	size_t count = 0;
	const struct neap_kept_match *matches =
		cycle->kept.count ? neap_kept_on(cycle, row, &count) : NULL;

	while (*at < count) {
		const struct neap_kept_match *match = &matches[(*at)++];

		if (match->lifted && !neap_pod_is_stand(match->stand))
			return match->stand;
	}
	return NULL;
}

struct neap_kept_walk neap_kept_walk(const struct neap_cycle *cycle, size_t start)
{
	size_t rows = cycle->columns->rows;
	size_t kept = cycle->kept.ask.is_ignoring ? 0 : cycle->kept.count;

	return (struct neap_kept_walk){
		.kept = kept, .total = kept + rows, .row = start < rows ? start : 0};
}

bool neap_kept_next(struct neap_cycle *cycle, struct neap_kept_walk *walk, uint32_t *ret)
{
	const struct neap_kept_match *matches = cycle->kept.matches;
	size_t at = walk->at++, count;

	if (at < walk->kept) {
		*ret = matches[at].row;
		return at == 0 || matches[at - 1].row != *ret;
	}
	*ret = (uint32_t)walk->row;
	walk->row = walk->row + 1 == cycle->columns->rows ? 0 : walk->row + 1;
	return !walk->kept || !neap_kept_on(cycle, *ret, &count);
}

/* --- room --- */

/* Sums what its owners hold, including owners that are lifted themselves; returns their
 * number. */
static size_t find_given(struct neap_cycle *cycle, const struct neap_kept_match *match,
			 struct neap_amounts *ret)
{
	const struct neap_pod_keep *keep = match->stand->keep;
	size_t at = 0, pods;
	const struct neap_pod *pod;

	pods = neap_kept_given(cycle->columns->nodes[match->row], keep, ret);
	while ((pod = neap_kept_next_real(cycle, match->row, &at)))
		pods += neap_kept_add(pod, keep, ret);
	return pods;
}

struct neap_reserve_part neap_kept_part(struct neap_cycle *cycle,
					const struct neap_kept_match *match,
					struct neap_amounts *given)
{
	const struct neap_reserve *reserve = match->reserve;
	size_t pods = find_given(cycle, match, given);

	return (struct neap_reserve_part){
		.name = reserve->object->name,
		.is_restricted = reserve->policy == NEAP_RESERVE_RESTRICTED,
		.allocatable = &reserve->allocatable,
		.allocated = given,
		.inner = &reserve->inner,
		.names = reserve->names,
		.name_count = reserve->name_count,
		.assigned = pods,
		.is_once = reserve->is_once,
		.shares_ports = neap_ports_collide(cycle->pod, match->stand),
		.order = reserve->order};
}

/* Adds the overlap of one that is not lifted: its owners' amounts, up to what it
 * keeps. */
static void add_twice(struct neap_cycle *cycle, const struct neap_kept_match *match,
		      struct neap_kept_room *ret)
{
	struct neap_amounts given, twice = {0};

	(void)find_given(cycle, match, &given);
	for (size_t i = 0; i < given.count; i++) {
		int64_t kept = neap_pod_request(match->stand, given.of[i].resource);
		int64_t amount = given.of[i].amount < kept ? given.of[i].amount : kept;

		(void)neap_amounts_set(&twice, given.of[i].resource, amount);
	}
	(void)neap_amounts_add(&ret->given, &twice);
}

/* What it counts for by itself when it is not lifted. */
static int64_t unused(struct neap_cycle *cycle, const struct neap_kept_match *match,
		      uint32_t resource)
{
	int64_t kept = neap_pod_request(match->stand, resource), used;
	struct neap_amounts given;

	(void)find_given(cycle, match, &given);
	used = neap_amounts_get(&given, resource);
	return used < kept ? kept - used : 0;
}

static int64_t waited_for(const struct neap_cluster_node *node, uint32_t resource)
{
	int64_t sum = 0;

	for (size_t i = 0; i < node->pod_count; i++)
		if (node->pods[i]->keep && node->pods[i]->keep->waits)
			sum = neap_amount_sum(sum,
					      neap_pod_request(node->pods[i], resource));
	return sum;
}

int64_t neap_kept_beyond(struct neap_cycle *cycle, uint32_t row, uint32_t resource)
{
	const struct neap_columns *columns = cycle->columns;
	const struct neap_kept_match *matches;
	int64_t used, waited;
	size_t count;

	if (!(columns->flags[row] & NEAP_ROW_HAS_WAITING) || !columns->used[resource])
		return 0;
	matches = neap_kept_on(cycle, row, &count);
	if (!matches)
		return 0;
	waited = waited_for(columns->nodes[row], resource);
	used = columns->used[resource][row];
	for (size_t i = 0; i < count; i++)
		if (matches[i].lifted)
			used = neap_amount_sum(used,
					       unused(cycle, &matches[i], resource));
	used -= columns->allocatable[resource][row];
	if (used < 0)
		return 0;
	return used < waited ? used : waited;
}

void neap_kept_room(struct neap_cycle *cycle, uint32_t row,
		    const struct neap_kept_match *matches, size_t count,
		    struct neap_kept_room *ret)
{
	const struct neap_columns *columns = cycle->columns;
	const struct neap_cluster_node *node = columns->nodes[row];
	size_t lifted = 0, stands = 0;

	neap_pod_amounts(cycle->pod, &ret->requests);
	ret->given.count = ret->requested.count = 0;
	for (size_t i = 0; i < count; i++) {
		add_twice(cycle, &matches[i], ret);
		lifted += matches[i].lifted != NULL;
		stands += neap_pod_is_stand(matches[i].stand);
	}
	/* R0: everything pods request, placeholders included, minus what unmatched
	 * reservations have given. Columns include neither lifted placeholders nor the
	 * overlap of the others. */
	for (size_t i = 0; i < ret->requests.count; i++) {
		uint32_t resource = ret->requests.of[i].resource;
		int64_t used = columns->used[resource] ? columns->used[resource][row] : 0;

		for (size_t n = 0; n < count; n++)
			if (matches[n].lifted)
				used = neap_amount_sum(
					used,
					neap_pod_request(matches[n].stand, resource));
		if (!lifted)
			used = neap_amount_sum(used,
					       neap_amounts_get(&ret->given, resource));
		used -= neap_kept_beyond(cycle, row, resource);
		(void)neap_amounts_set(&ret->requested, resource, used);
	}
	ret->room = (struct neap_reserve_room){
		.resources = neap_cluster_resources(cycle->cluster),
		.node_allocatable = &node->allocatable,
		.requested = &ret->requested,
		.given = &ret->given,
		.pods = node->pod_count + lifted -
			(size_t)neap_kept_beyond(cycle, row, NEAP_RESOURCE_PODS),
		.matched = stands};
	ret->need = (struct neap_reserve_need){
		.requests = &ret->requests,
		.is_required = neap_kept_is_required(&cycle->kept),
		.named = cycle->kept.has_ask ? cycle->kept.ask.name : NULL};
}

/* --- which one --- */

struct neap_kept_work *neap_kept_work(struct neap_cycle *cycle, size_t count)
{
	struct neap_kept *kept = &cycle->kept;
	struct neap_kept_work *work = kept->work;

	if (!work)
		work = kept->work = neap_alloc(sizeof(*work));
	if (work && work->size < count) {
		free(work->options);
		free(work->sorted);
		free(work->parts);
		work->options = neap_alloc_array(count, sizeof(*work->options));
		work->sorted = neap_alloc_array(count, sizeof(struct neap_kept_option *));
		work->parts = neap_alloc_array(count, sizeof(*work->parts));
		work->size = work->options && work->sorted && work->parts ? count : 0;
	}
	if (work && work->size >= count)
		return work;
	cycle->is_short = true;
	return NULL;
}

static bool has_ports(const struct neap_cycle *cycle,
		      const struct neap_kept_match *matches, size_t count, size_t which)
{
	for (size_t i = 0; cycle->pod->port_count && i < count; i++)
		if (i != which && neap_ports_collide(cycle->pod, matches[i].stand))
			return false;
	return true;
}

struct neap_kept_work *neap_kept_options(struct neap_cycle *cycle,
					 struct neap_kept_match *matches, size_t count)
{
	struct neap_kept_work *work = neap_kept_work(cycle, count);

	if (!work)
		return NULL;
	neap_kept_room(cycle, matches->row, matches, count, &work->room);
	work->count = 0;
	for (size_t i = 0; i < count; i++) {
		struct neap_kept_option *option = &work->options[work->count];
		struct neap_reserve_part *part = &work->parts[work->count];

		if (!has_ports(cycle, matches, count, i))
			continue;
		option->match = &matches[i];
		option->part = part;
		*part = neap_kept_part(cycle, &matches[i], &option->given);
		work->count++;
	}
	return work;
}

static bool is_before(const struct neap_kept_option *a, const struct neap_kept_option *b,
		      const struct neap_amounts *requests)
{
	struct neap_reserve_part both[2] = {*a->part, *b->part};

	if (a->rank != b->rank)
		return a->rank > b->rank;
	return neap_reserve_nominate(both, 2, requests) == 0;
}

static int rank_of(struct neap_cycle *cycle, const struct neap_kept_option *option)
{
	const struct neap_reserve_matcher *matcher = cycle->kept.matcher;
	const struct neap_reserve_offer offer = {
		.reserve = option->match->reserve,
		.node = cycle->columns->nodes[option->match->row]->object,
		.is_owner = neap_reserve_owners_take(option->match->reserve,
						     &cycle->kept.ask),
		.allocated = &option->given,
		.pods = option->part->assigned};

	return matcher && cycle->kept.by.has_rank ? matcher->rank(matcher->arg, &offer)
						  : -1;
}

size_t neap_kept_nominate(struct neap_cycle *cycle, uint32_t row,
			  struct neap_kept_match **ret,
			  const struct neap_kept_option **ret_first)
{
	size_t count;
	struct neap_kept_match *matches = neap_kept_on(cycle, row, &count);
	struct neap_kept_work *work =
		matches ? neap_kept_options(cycle, matches, count) : NULL;
	const struct neap_amounts *requests;
	size_t fitting = 0;

	if (!work)
		return 0;
	requests = &work->room.requests;
	for (size_t i = 0; i < work->count; i++) {
		struct neap_kept_option *option = &work->options[i];
		size_t at;

		if (option->match->reserve->object->is_deleting ||
		    !neap_reserve_may_give(&work->room.room, &work->room.need,
					   work->parts, work->count, i))
			continue;
		option->rank = rank_of(cycle, option);
		option->points = option->rank >= 0
					 ? option->rank
					 : neap_reserve_score(option->part, requests);
		for (at = fitting++;
		     at > 0 && is_before(option, work->sorted[at - 1], requests); at--)
			work->sorted[at] = work->sorted[at - 1];
		work->sorted[at] = option;
	}
	for (size_t i = 0; i < fitting; i++)
		ret[i] = work->sorted[i]->match;
	if (fitting && ret_first)
		*ret_first = work->sorted[0];
	return fitting;
}
