/* SPDX-License-Identifier: Apache-2.0
 *
 * Which reservations the pod may use. Candidates come from the book by cheap looks (its index, the node, whether there
 * is any room); only these are shown to policies. Those without room can be of no use in a decision, and policies are
 * asked about them when room is to be made: owners of less importance may have to go. */
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

/* Which of those that policies speak about are looked for. */
enum find { WITH_ROOM, FULL };

/* What policies say; when one fails that is noted, and owners decide from the start. */
static bool asks_policy(struct neap_cycle *cycle, const struct neap_reserve_offer *offer,
			enum find find, bool *ret_failed)
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
	/* The words for a pod that waits are about those that had room. */
	if (!verdict.is_open && verdict.reason && !kept->closed && find == WITH_ROOM)
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
		    const struct neap_pod *stand, enum find find, bool *ret_failed)
{
	struct neap_kept *kept = &cycle->kept;
	struct neap_amounts given;
	const struct neap_cluster_node *node = stand->seat.node;
	size_t pods = neap_kept_given(node, stand->keep, &given);
	bool is_open, is_full;

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
	is_full = !has_room(reserve, kept->ask.pod, &given);
	if (is_full && kept->by.rule == NEAP_RESERVE_BY_OWNERS)
		return true;
	if (is_full != (find == FULL))
		return false;
	return asks_policy(cycle,
			   &(struct neap_reserve_offer){.reserve = reserve,
							.node = node->object,
							.is_owner = is_open,
							.allocated = &given,
							.pods = pods},
			   find, ret_failed);
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

/* Adds to the matches. */
static int find_matches(struct neap_cycle *cycle, uint32_t row, enum find find,
			bool *ret_failed, struct neap_error *err)
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
		if (may_use(cycle, list[i], stand, find, ret_failed) &&
		    !add_match(kept, list[i], stand))
			ret = neap_error_nomem(err);
	}
	return ret;
}

/* ... and when a policy fails all of them anew, as owners say. */
static int find_all(struct neap_cycle *cycle, uint32_t row, enum find find,
		    bool *ret_failed, struct neap_error *err)
{
	struct neap_kept *kept = &cycle->kept;
	bool fails_again = false;
	int ret = find_matches(cycle, row, find, ret_failed, err);

	if (ret == 0 && *ret_failed) {
		kept->by = (struct neap_reserve_asked){0};
		kept->count = 0;
		kept->again_usec = 0;
		kept->closed = NULL;
		ret = find_matches(cycle, row, WITH_ROOM, &fails_again, err);
	}
	if (kept->count > 1)
		qsort(kept->matches, kept->count, sizeof(*kept->matches), by_row);
	kept->at = 0;
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
	return find_all(cycle, row, WITH_ROOM, &has_failed, err);
}

int neap_kept_open_full(struct neap_cycle *cycle, uint32_t row, struct neap_error *err)
{
	struct neap_kept *kept = &cycle->kept;
	size_t before = kept->count;
	bool has_failed = false;
	int ret;

	/* Owners take those without room at once, and a pod that ignores reservations takes of all. */
	if (!kept->book || kept->by.rule == NEAP_RESERVE_BY_OWNERS ||
	    kept->ask.is_ignoring)
		return 0;
	ret = find_all(cycle, row, FULL, &has_failed, err);
	return ret < 0 ? ret : has_failed || kept->count > before;
}
