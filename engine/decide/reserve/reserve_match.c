/* SPDX-License-Identifier: Apache-2.0
 *
 * Which reservations the pod may use. Cheap checks (the book's index, the node, whether
 * there is any room) select candidates, and only these are shown to policies.
 * Reservations without room are recorded, and policies are asked about them when room is
 * to be made, because less important owners may have to leave. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/decide/decide_priv.h"

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

/* Asks the policies; a failure is recorded, and owners decide from the start. */
static bool asks_policy(struct neap_kept *kept, const struct neap_reserve_offer *offer,
			struct neap_reserve_verdict *ret, bool *ret_failed)
{
	*ret = (struct neap_reserve_verdict){0};
	if (!kept->matcher->match(kept->matcher->arg, offer, ret)) {
		*ret_failed = true;
		return false;
	}
	if (ret->again_usec > 0 &&
	    (!kept->again_usec || ret->again_usec < kept->again_usec))
		kept->again_usec = ret->again_usec;
	return ret->is_open;
}

static bool add(struct neap_kept_match **list, size_t *count, size_t *size,
		struct neap_reserve *reserve, struct neap_pod *stand)
{
	if (!neap_grow(list, *count, size, sizeof(**list)))
		return false;
	(*list)[(*count)++] = (struct neap_kept_match){
		.reserve = reserve, .stand = stand, .row = stand->seat.node->row};
	return true;
}

static bool add_match(struct neap_kept *kept, struct neap_reserve *reserve,
		      struct neap_pod *stand)
{
	return add(&kept->matches, &kept->count, &kept->size, reserve, stand);
}

static bool add_full(struct neap_kept *kept, struct neap_reserve *reserve,
		     struct neap_pod *stand)
{
	return add(&kept->full, &kept->full_count, &kept->full_size, reserve, stand);
}

static int by_row(const void *a, const void *b)
{
	const struct neap_kept_match *x = a, *y = b;

	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return strcmp(x->reserve->object->name, y->reserve->object->name);
}

static void sort(struct neap_kept_match *list, size_t count)
{
	if (count > 1)
		qsort(list, count, sizeof(*list), by_row);
}

static void empty(struct neap_kept *kept)
{
	kept->count = kept->at = kept->full_count = 0;
}

/* FULL: a policy has a say, and was not asked. */
enum use { CLOSED, OPEN, FULL };

/* It keeps a resource or a host port that the pod asks for. */
static bool concerns(const struct neap_reserve *reserve, const struct neap_pod *stand,
		     const struct neap_pod *pod)
{
	for (size_t i = 0; i < reserve->name_count; i++)
		if (neap_pod_request(pod, reserve->names[i]) > 0)
			return true;
	return neap_ports_collide(pod, stand);
}

bool neap_kept_spend(struct neap_kept *kept, const struct neap_reserve *reserve)
{
	kept->owner_steps -= (int64_t)reserve->owner_count;
	for (size_t i = 0; i < reserve->owner_count; i++)
		if (reserve->owners[i].selector)
			kept->owner_steps -=
				(int64_t)neap_selector_count(reserve->owners[i].selector);
	if (kept->owner_steps >= 0)
		return true;
	if (!kept->closed)
		kept->closed =
			"node(s) had reservations that were not looked at: too many rules of owners";
	return false;
}

static enum use may_use(struct neap_cycle *cycle, const struct neap_reserve *reserve,
			const struct neap_pod *stand, bool *ret_failed)
{
	struct neap_kept *kept = &cycle->kept;
	struct neap_amounts given;
	const struct neap_cluster_node *node = stand->seat.node;
	size_t pods = neap_kept_given(node, stand->keep, &given);
	struct neap_reserve_verdict verdict;
	bool is_owner;

	if (kept->ask.is_ignoring)
		return OPEN;
	if (!neap_reserve_is_usable(reserve, pods))
		return CLOSED;
	/* A pod that need not use a reservation uses none that keeps nothing it requests:
	 * there it sees the node like any pod. */
	if (!neap_kept_is_required(kept) && !concerns(reserve, stand, cycle->pod))
		return CLOSED;
	if (!neap_kept_spend(kept, reserve))
		return CLOSED;
	is_owner = neap_reserve_owners_take(reserve, &kept->ask);
	if (kept->by.rule != NEAP_RESERVE_REPLACED && !is_owner)
		return CLOSED;
	/* The rest of what both sides say is cheap, and nobody's to change. */
	if (neap_reserve_match(reserve, node->object, &kept->ask, true) !=
	    NEAP_RESERVE_MATCHED)
		return CLOSED;
	/* One without room is kept for the reasons, and because less important owners may
	 * have to leave. */
	if (kept->by.rule == NEAP_RESERVE_BY_OWNERS)
		return OPEN;
	if (!neap_kept_has_pairs(reserve, kept->ask.pod, &kept->by))
		return CLOSED;
	if (!has_room(reserve, kept->ask.pod, &given))
		return FULL;
	if (asks_policy(kept,
			&(struct neap_reserve_offer){.reserve = reserve,
						     .node = node->object,
						     .is_owner = is_owner,
						     .allocated = &given,
						     .pods = pods},
			&verdict, ret_failed))
		return OPEN;
	/* The words for a pod that waits. */
	if (verdict.reason && !kept->closed)
		kept->closed = neap_arena_strdup(&cycle->arena, verdict.reason);
	return CLOSED;
}

/* Reads what the pod says about reservations, and its owners in full. */
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

/* For a pod without reservation annotations only its owners are read, and rarely
 * needed. */
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

	empty(kept);
	kept->owner_steps = NEAP_KEPT_OWNER_STEPS;
	if (ret == 0 && !kept->has_ask && asks_controller(list, count))
		ret = read_ask(cycle, err);
	for (size_t i = 0; ret == 0 && i < count && !*ret_failed; i++) {
		struct neap_pod *stand = neap_reserve_book_stand(kept->book, list[i]);
		enum use use;

		/* It uses itself no more than it goes where nothing is. */
		if (!stand || stand == cycle->pod || !stand->seat.node ||
		    !stand->seat.node->object || stand->seat.is_assumed ||
		    (row != UINT32_MAX && stand->seat.node->row != row))
			continue;
		use = may_use(cycle, list[i], stand, ret_failed);
		if ((use == OPEN && !add_match(kept, list[i], stand)) ||
		    (use == FULL && !add_full(kept, list[i], stand)))
			ret = neap_error_nomem(err);
	}
	return ret;
}

/* After a policy failed: finds all of them again. */
static int find_by_owners(struct neap_cycle *cycle, uint32_t row, struct neap_error *err)
{
	struct neap_kept *kept = &cycle->kept;
	bool fails_again = false;

	kept->by = (struct neap_reserve_asked){0};
	kept->again_usec = 0;
	kept->closed = NULL;
	return find_matches(cycle, row, &fails_again, err);
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

	empty(kept);
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
				     cycle->now_usec, cycle->is_choice, &kept->by);
	ret = find_matches(cycle, row, &has_failed, err);
	if (ret == 0 && has_failed)
		ret = find_by_owners(cycle, row, err);
	sort(kept->matches, kept->count);
	sort(kept->full, kept->full_count);
	return ret;
}

/* True: a policy opens it. */
static bool asks_full(struct neap_cycle *cycle, const struct neap_kept_match *match,
		      bool *ret_failed)
{
	struct neap_kept *kept = &cycle->kept;
	const struct neap_cluster_node *node = cycle->columns->nodes[match->row];
	struct neap_amounts given;
	struct neap_reserve_verdict verdict;
	const struct neap_reserve_offer offer = {
		.reserve = match->reserve,
		.node = node->object,
		.is_owner = neap_reserve_owners_take(match->reserve, &kept->ask),
		.allocated = &given,
		.pods = neap_kept_given(node, match->stand->keep, &given)};

	return asks_policy(kept, &offer, &verdict, ret_failed);
}

int neap_kept_open_full(struct neap_cycle *cycle, uint32_t row, struct neap_error *err)
{
	struct neap_kept *kept = &cycle->kept;
	size_t before = kept->count, full = kept->full_count;
	bool has_failed = false;
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < full && !has_failed; i++) {
		const struct neap_kept_match *match = &kept->full[i];

		if (row != UINT32_MAX && match->row != row)
			continue;
		if (asks_full(cycle, match, &has_failed) &&
		    !add_match(kept, match->reserve, match->stand))
			ret = neap_error_nomem(err);
	}
	kept->full_count = kept->at = 0;
	if (ret == 0 && has_failed)
		ret = find_by_owners(cycle, row, err);
	sort(kept->matches, kept->count);
	if (ret < 0)
		return ret;
	/* For a pod that must use one, the reasons include reservations that stay
	 * closed. */
	return has_failed || kept->count > before ||
	       (full && neap_kept_is_required(kept));
}
