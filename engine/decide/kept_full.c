/* SPDX-License-Identifier: Apache-2.0
 *
 * Reservations without room, where policies say who uses them: nobody is asked about these in a decision, as they can be
 * of no use in it. When room is to be made for the pod they can: owners of less importance may have to go. So they are
 * asked about then. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/decide/decide_priv.h"

struct full {
	struct neap_cycle *cycle;
	struct neap_kept_match *opened; /* room for all candidates */
	size_t count;
	bool has_failed; /* a policy, and nobody is asked any more */
};

static bool is_known(struct neap_cycle *cycle, const struct neap_kept_match *match)
{
	size_t count;
	const struct neap_kept_match *matches = neap_kept_on(cycle, match->row, &count);

	for (size_t i = 0; i < count; i++)
		if (matches[i].reserve == match->reserve)
			return true;
	return false;
}

/* It has no room, and is else as one that policies are asked about. */
static bool is_full(struct neap_cycle *cycle, const struct neap_kept_match *match,
		    const struct neap_amounts *requests, struct neap_reserve_offer *offer,
		    struct neap_amounts *given)
{
	const struct neap_kept *kept = &cycle->kept;
	const struct neap_cluster_node *node = match->stand->seat.node;
	struct neap_reserve_part part;

	if (match->reserve->policy != NEAP_RESERVE_RESTRICTED)
		return false;
	part = neap_kept_part(cycle, match, given);
	if (neap_reserve_part_fits(&part, requests) ||
	    !neap_reserve_is_usable(match->reserve, part.assigned))
		return false;
	*offer = (struct neap_reserve_offer){
		.reserve = match->reserve,
		.node = node->object,
		.is_owner = neap_reserve_owners_take(match->reserve, &kept->ask),
		.allocated = given,
		.pods = part.assigned};
	return (offer->is_owner || kept->by.rule == NEAP_RESERVE_REPLACED) &&
	       neap_reserve_match(match->reserve, node->object, &kept->ask, true) ==
		       NEAP_RESERVE_MATCHED &&
	       neap_kept_has_pairs(match->reserve, cycle->pod, &kept->by) &&
	       !is_known(cycle, match);
}

static void ask(struct full *full, const struct neap_kept_match *match,
		const struct neap_amounts *requests)
{
	struct neap_kept *kept = &full->cycle->kept;
	struct neap_reserve_verdict verdict = {0};
	struct neap_reserve_offer offer;
	struct neap_amounts given;

	if (!is_full(full->cycle, match, requests, &offer, &given))
		return;
	if (!kept->matcher->match(kept->matcher->arg, &offer, &verdict)) {
		full->has_failed = true;
		return;
	}
	if (verdict.again_usec > 0 &&
	    (!kept->again_usec || verdict.again_usec < kept->again_usec))
		kept->again_usec = verdict.again_usec;
	if (verdict.is_open)
		full->opened[full->count++] = *match;
}

static int by_row(const void *a, const void *b)
{
	const struct neap_kept_match *x = a, *y = b;

	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return strcmp(x->reserve->object->name, y->reserve->object->name);
}

static int add(struct full *full, struct neap_error *err)
{
	struct neap_kept *kept = &full->cycle->kept;
	size_t count = kept->count + full->count;
	struct neap_kept_match *list;

	if (count > kept->size) {
		list = neap_realloc_array(kept->matches, count, sizeof(*list));
		if (!list)
			return neap_error_nomem(err);
		kept->matches = list;
		kept->size = count;
	}
	for (size_t i = 0; i < full->count; i++)
		kept->matches[kept->count++] = full->opened[i];
	qsort(kept->matches, count, sizeof(*kept->matches), by_row);
	kept->at = 0;
	return 1;
}

static int ask_all(struct full *full, uint32_t row, struct neap_error *err)
{
	struct neap_cycle *cycle = full->cycle;
	struct neap_kept *kept = &cycle->kept;
	struct neap_amounts requests;
	struct neap_reserve **list;
	size_t count;
	int rc = neap_reserve_book_candidates(kept->book, cycle->pod, &kept->by, false,
					      &list, &count, err);

	if (rc < 0 || !count)
		return rc;
	full->opened = neap_alloc_array(count, sizeof(*full->opened));
	if (!full->opened)
		return neap_error_nomem(err);
	neap_pod_amounts(cycle->pod, &requests);
	for (size_t i = 0; i < count && !full->has_failed; i++) {
		struct neap_pod *stand = neap_reserve_book_stand(kept->book, list[i]);
		struct neap_kept_match match = {.reserve = list[i], .stand = stand};

		if (!stand || stand == cycle->pod || !stand->seat.node ||
		    !stand->seat.node->object || stand->seat.is_assumed)
			continue;
		match.row = stand->seat.node->row;
		if (row == UINT32_MAX || match.row == row)
			ask(full, &match, &requests);
	}
	return full->count && !full->has_failed ? add(full, err) : 0;
}

int neap_kept_open_full(struct neap_cycle *cycle, uint32_t row, struct neap_error *err)
{
	struct neap_kept *kept = &cycle->kept;
	const struct neap_reserve_matcher *matcher = kept->matcher;
	struct full full = {.cycle = cycle};
	int rc;

	/* Owners take those without room at once, and a pod that ignores reservations takes of all. */
	if (!kept->book || kept->by.rule == NEAP_RESERVE_BY_OWNERS ||
	    kept->ask.is_ignoring)
		return 0;
	rc = ask_all(&full, row, err);
	free(full.opened);
	if (rc < 0 || !full.has_failed)
		return rc;
	/* As in a decision: what policies said counts no more. */
	kept->matcher = NULL;
	rc = neap_kept_begin(cycle, cycle->pod, row, err);
	kept->matcher = matcher;
	return rc < 0 ? rc : 1;
}
