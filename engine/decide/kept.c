/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding, lifting, and what room there is. Candidates come from the book by cheap looks (its index, the node, whether
 * there is any room); only these are shown to policies. */
#include "engine/decide/kept.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/decide/decide_priv.h"

/* --- finding --- */

static int64_t left_of(const struct neap_reserve *reserve,
		       const struct neap_amounts *given, uint32_t resource)
{
	return neap_amounts_get(&reserve->allocatable, resource) -
	       neap_amounts_get(&reserve->inner, resource) -
	       neap_amounts_get(given, resource);
}

/* A restricted one without room for the pod is not shown to policies. */
static bool has_room(const struct neap_reserve *reserve, const struct neap_pod *pod,
		     const struct neap_amounts *given)
{
	if (reserve->policy != NEAP_RESERVE_RESTRICTED)
		return true;
	for (size_t i = 0; i < reserve->name_count; i++)
		for (size_t n = 0; n < pod->request_count; n++)
			if (pod->requests[n].resource == reserve->names[i] &&
			    reserve->names[i] != NEAP_RESOURCE_PODS &&
			    pod->requests[n].amount > 0 &&
			    pod->requests[n].amount >
				    left_of(reserve, given, reserve->names[i]))
				return false;
	return true;
}

bool neap_kept_has_pairs(const struct neap_reserve *reserve, const struct neap_pod *pod,
			 const struct neap_reserve_asked *by)
{
	for (size_t i = 0; i < by->pair_count; i++) {
		const char *is = neap_object_label(pod->object, by->pairs[i].pod);
		const char *wanted =
			neap_object_label(reserve->object, by->pairs[i].reservation);

		if (!is || !wanted || strcmp(is, wanted) != 0)
			return false;
	}
	return true;
}

/* What policies say; when one fails that is noted, and owners decide from the start. */
static bool asks_policy(struct neap_cycle *cycle, const struct neap_reserve_offer *offer,
			bool *ret_failed)
{
	struct neap_kept *kept = &cycle->kept;
	struct neap_reserve_verdict verdict = {0};

	if (kept->by.rule == NEAP_RESERVE_BY_OWNERS)
		return offer->is_owner;
	if (kept->by.rule == NEAP_RESERVE_NARROWED && !offer->is_owner)
		return false;
	if (!neap_kept_has_pairs(offer->reserve, kept->ask.pod, &kept->by))
		return false;
	if (!kept->matcher->match(kept->matcher->arg, offer, &verdict)) {
		*ret_failed = true;
		return false;
	}
	if (verdict.again_usec > 0 &&
	    (!kept->again_usec || verdict.again_usec < kept->again_usec))
		kept->again_usec = verdict.again_usec;
	if (!verdict.is_open && verdict.reason && !kept->closed)
		kept->closed = neap_arena_strdup(&cycle->arena, verdict.reason);
	return verdict.is_open;
}

static bool add_match(struct neap_kept *kept, struct neap_reserve *reserve,
		      struct neap_pod *stand)
{
	if (kept->count == kept->size) {
		size_t size = kept->size ? kept->size * 2 : 16;
		struct neap_kept_match *list =
			neap_realloc_array(kept->matches, size, sizeof(*list));

		if (!list)
			return false;
		kept->matches = list;
		kept->size = size;
	}
	kept->matches[kept->count++] = (struct neap_kept_match){
		.reserve = reserve, .stand = stand, .row = stand->seat.node->row};
	return true;
}

static int by_row(const void *a, const void *b)
{
	const struct neap_kept_match *x = a, *y = b;

	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return strcmp(x->reserve->object->name, y->reserve->object->name);
}

static bool may_use(struct neap_cycle *cycle, struct neap_reserve *reserve,
		    const struct neap_pod *stand, bool *ret_failed)
{
	struct neap_kept *kept = &cycle->kept;
	struct neap_amounts given;
	const struct neap_cluster_node *node = stand->seat.node;
	size_t pods = neap_kept_given(node, stand->keep, &given);
	bool is_open;

	if (kept->ask.is_ignoring)
		return true;
	if (!neap_reserve_is_usable(reserve, pods))
		return false;
	is_open = neap_reserve_owners_take(reserve, &kept->ask);
	if (kept->by.rule != NEAP_RESERVE_REPLACED && !is_open)
		return false;
	/* The rest of what both sides say is cheap, and nobody's to change. */
	if (neap_reserve_match(reserve, node->object, &kept->ask, true) !=
	    NEAP_RESERVE_MATCHED)
		return false;
	/* One without room is there for the reasons, and as less important owners of it may have to go. */
	if (!has_room(reserve, kept->ask.pod, &given))
		return kept->by.rule == NEAP_RESERVE_BY_OWNERS;
	return asks_policy(cycle,
			   &(struct neap_reserve_offer){.reserve = reserve,
							.node = node->object,
							.is_owner = is_open,
							.allocated = &given,
							.pods = pods},
			   ret_failed);
}

/* What the pod says of reservations, and its owners in full. */
static int read_ask(struct neap_cycle *cycle, struct neap_error *err)
{
	struct neap_kept *kept = &cycle->kept;
	json_t *tree = neap_object_tree(cycle->pod->object);
	int ret;

	if (!tree)
		return neap_error_nomem(err);
	ret = neap_reserve_ask_read(cycle->pod, tree,
				    neap_cluster_resources(cycle->cluster), &cycle->arena,
				    &kept->ask, err);
	json_decref(tree);
	kept->has_ask = ret == 0;
	return ret;
}

/* Of a pod that says nothing of reservations nothing but its owners is to be read, and hardly anybody asks. */
static bool asks_controller(struct neap_reserve *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t n = 0; n < list[i]->owner_count; n++)
			if (list[i]->owners[n].has_controller)
				return true;
	return false;
}

static int find_matches(struct neap_cycle *cycle, uint32_t row, bool *ret_failed,
			struct neap_error *err)
{
	struct neap_kept *kept = &cycle->kept;
	struct neap_reserve **list;
	bool is_ignoring = kept->has_ask && kept->ask.is_ignoring;
	size_t count;
	int ret = neap_reserve_book_candidates(kept->book, cycle->pod, &kept->by,
					       is_ignoring, &list, &count, err);

	if (ret == 0 && !kept->has_ask && asks_controller(list, count))
		ret = read_ask(cycle, err);
	for (size_t i = 0; ret == 0 && i < count && !*ret_failed; i++) {
		struct neap_pod *stand = neap_reserve_book_stand(kept->book, list[i]);

		/* It uses itself no more than it goes where nothing is. */
		if (!stand || stand == cycle->pod || !stand->seat.node ||
		    !stand->seat.node->object || stand->seat.is_assumed ||
		    (row != UINT32_MAX && stand->seat.node->row != row))
			continue;
		if (may_use(cycle, list[i], stand, ret_failed) &&
		    !add_match(kept, list[i], stand))
			ret = neap_error_nomem(err);
	}
	return ret;
}

bool neap_kept_is_on(const struct neap_cycle *cycle)
{
	return !(cycle->settings->filters_off >>
			 neap_settings_find_filter(neap_filter_kept.name) &
		 1);
}

int neap_kept_begin(struct neap_cycle *cycle, const struct neap_pod *pod, uint32_t row,
		    struct neap_error *err)
{
	struct neap_kept *kept = &cycle->kept;
	bool has_failed = false;
	int ret = 0;

	kept->count = kept->at = 0;
	kept->has_ask = false;
	kept->ask = (struct neap_reserve_ask){.pod = pod};
	kept->by = (struct neap_reserve_asked){0};
	kept->again_usec = 0;
	kept->closed = NULL;
	kept->placed = NULL;
	if (!kept->book)
		return 0;
	if (neap_pod_is_stand(pod)) {
		kept->placed = neap_reserve_book_find(kept->book, pod->keep->name);
		return 0;
	}
	/* A profile without the filter leaves them all to others. */
	if (!neap_kept_is_on(cycle))
		return 0;
	if (pod->asks_reservations)
		ret = read_ask(cycle, err);
	if (ret < 0 || !neap_reserve_book_count(kept->book))
		return ret;
	if (kept->matcher)
		kept->matcher->begin(kept->matcher->arg,
				     neap_cluster_resources(cycle->cluster), pod,
				     cycle->now_usec, &kept->by);
	ret = find_matches(cycle, row, &has_failed, err);
	if (ret == 0 && has_failed) {
		kept->by = (struct neap_reserve_asked){0};
		kept->count = kept->at = 0;
		kept->again_usec = 0;
		kept->closed = NULL;
		has_failed = false;
		ret = find_matches(cycle, row, &has_failed, err);
	}
	if (kept->count > 1)
		qsort(kept->matches, kept->count, sizeof(*kept->matches), by_row);
	return ret;
}

bool neap_kept_is_required(const struct neap_kept *kept)
{
	return kept->has_ask && kept->ask.has_affinity;
}

void neap_kept_done(struct neap_kept *kept)
{
	free(kept->matches);
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

/* Where row begins among the matches. */
static size_t find_row(const struct neap_kept *kept, uint32_t row)
{
	size_t low = 0, high = kept->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (kept->matches[middle].row < row)
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
		at = find_row(kept, row);
	kept->at = at;
	for (end = at; end < kept->count && kept->matches[end].row == row;)
		end++;
	*ret_count = end - at;
	return end > at ? &kept->matches[at] : NULL;
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

/* What its owners have, those among them that were lifted off themselves; returns how many they are. */
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

	return (struct neap_reserve_part){.name = reserve->object->name,
					  .is_restricted = reserve->policy ==
							   NEAP_RESERVE_RESTRICTED,
					  .allocatable = &reserve->allocatable,
					  .allocated = given,
					  .inner = &reserve->inner,
					  .names = reserve->names,
					  .name_count = reserve->name_count,
					  .assigned = pods,
					  .is_once = reserve->is_once,
					  .order = reserve->order};
}

/* What is counted twice of one that is in its place: what its owners have, but not more than it keeps. */
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
	/* R0: all that pods ask for, stands among them, less what unmatched ones have given. Columns have neither what was
	 * lifted off, nor what is counted twice of those in their place. */
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
		(void)neap_amounts_set(&ret->requested, resource, used);
	}
	ret->room = (struct neap_reserve_room){
		.resources = neap_cluster_resources(cycle->cluster),
		.node_allocatable = &node->allocatable,
		.requested = &ret->requested,
		.given = &ret->given,
		.pods = node->pod_count + lifted,
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

struct neap_kept_work *neap_kept_options(struct neap_cycle *cycle, uint32_t row)
{
	size_t count;
	struct neap_kept_match *matches = neap_kept_on(cycle, row, &count);
	struct neap_kept_work *work = matches ? neap_kept_work(cycle, count) : NULL;

	if (!work)
		return NULL;
	neap_kept_room(cycle, row, matches, count, &work->room);
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
			  struct neap_kept_match **ret, int64_t *ret_points)
{
	struct neap_kept_work *work = neap_kept_options(cycle, row);
	const struct neap_amounts *requests;
	size_t fitting = 0;

	if (!work)
		return 0;
	requests = &work->room.requests;
	for (size_t i = 0; i < work->count; i++) {
		struct neap_kept_option *option = &work->options[i];
		size_t at;

		if (option->match->reserve->object->is_deleting ||
		    !neap_reserve_accepts(&work->room.room, &work->room.need,
					  option->part, NULL))
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
	if (fitting && ret_points)
		*ret_points = work->sorted[0]->points;
	return fitting;
}
