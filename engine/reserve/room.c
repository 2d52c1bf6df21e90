/* SPDX-License-Identifier: Apache-2.0
 *
 * Missing amounts are collected by resource number and reported at the end: those of the
 * node sorted by name without duplicates, then those of the reservations in order. */
#include "engine/reserve/room.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int64_t get(const struct neap_amounts *amounts, uint32_t resource)
{
	return amounts ? neap_amounts_get(amounts, resource) : 0;
}

static int64_t floored(int64_t amount)
{
	return amount > 0 ? amount : 0;
}

/* --- what is lacking --- */

struct lacking {
	const struct neap_resources *resources;
	uint32_t of_node[NEAP_AMOUNTS_MAX];
	size_t count;
	struct neap_buf *reasons; /* NULL: nobody asks */
	size_t told;
};

static void lack_of_node(struct lacking *lacking, uint32_t resource)
{
	for (size_t i = 0; i < lacking->count; i++)
		if (lacking->of_node[i] == resource)
			return;
	if (lacking->count < NEAP_AMOUNTS_MAX)
		lacking->of_node[lacking->count++] = resource;
}

static void sort_by_name(struct lacking *lacking)
{
	for (size_t i = 1; i < lacking->count; i++)
		for (size_t k = i; k > 0; k--) {
			uint32_t *a = &lacking->of_node[k - 1], *b = a + 1, spare = *a;

			if (strcmp(neap_resources_name(lacking->resources, *a),
				   neap_resources_name(lacking->resources, *b)) <= 0)
				break;
			*a = *b;
			*b = spare;
		}
}

static void tell_node(struct lacking *lacking)
{
	if (!lacking->reasons)
		return;
	sort_by_name(lacking);
	for (size_t i = 0; i < lacking->count; i++)
		neap_buf_addf(
			lacking->reasons, "Insufficient %s by node\n",
			neap_resources_name(lacking->resources, lacking->of_node[i]));
	lacking->told += lacking->count;
}

/* --- checks --- */

/* What a part still has for owners, including resources it is not restricted to. */
static int64_t left_of(const struct neap_reserve_part *part, uint32_t resource)
{
	return floored(get(part->allocatable, resource) - get(part->allocated, resource) -
		       get(part->inner, resource));
}

/* less, fewer: further amounts and pods to subtract, such as those taken over. */
static bool fits_node(const struct neap_reserve_room *room,
		      const struct neap_amounts *requests,
		      const struct neap_reserve_part *part,
		      const struct neap_amounts *less, size_t fewer,
		      struct lacking *lacking)
{
	int64_t places = get(room->node_allocatable, NEAP_RESOURCE_PODS);
	/* Without a part all of them stay. */
	size_t before = room->pods - (part ? room->matched : 0) - fewer;
	bool fits = true;

	if (room->pods > 0 && (int64_t)before + 1 > places) {
		lack_of_node(lacking, NEAP_RESOURCE_PODS);
		fits = false;
	}
	for (size_t i = 0; i < requests->count; i++) {
		uint32_t resource = requests->of[i].resource;
		int64_t used = get(room->requested, resource) -
			       get(room->given, resource) -
			       get(room->preemptible, resource) - get(less, resource);

		if (requests->of[i].amount <= 0)
			continue;
		if (part)
			used -= left_of(part, resource) +
				get(part->preemptible, resource);
		if (requests->of[i].amount <=
		    get(room->node_allocatable, resource) - used)
			continue;
		lack_of_node(lacking, resource);
		fits = false;
	}
	return fits;
}

static void tell_part(struct lacking *lacking, const char *what, const char *name,
		      bool with_amounts, const int64_t amounts[3])
{
	if (!lacking->reasons)
		return;
	neap_buf_addf(lacking->reasons, "Reservation(s) %s%s", what, name);
	if (with_amounts)
		neap_buf_addf(lacking->reasons,
			      ", requested: %" PRId64 ", used: %" PRId64
			      ", capacity: %" PRId64,
			      amounts[0], amounts[1], amounts[2]);
	neap_buf_addc(lacking->reasons, '\n');
	lacking->told++;
}

/* So many pods may use it; -1: it does not say. */
static int64_t places_of(const struct neap_reserve_part *part)
{
	for (size_t i = 0; i < part->allocatable->count; i++)
		if (part->allocatable->of[i].resource == NEAP_RESOURCE_PODS)
			return part->allocatable->of[i].amount;
	return -1;
}

/* A restricted one must provide everything itself. */
static bool fits_part(const struct neap_reserve_part *part,
		      const struct neap_amounts *requests, bool with_amounts,
		      struct lacking *lacking)
{
	int64_t places = places_of(part);
	int64_t pods =
		(int64_t)part->assigned - get(part->preemptible, NEAP_RESOURCE_PODS);
	bool fits = true;

	if (places >= 0 && floored(pods) + 1 > places) {
		tell_part(lacking, "Too many pods", "", with_amounts,
			  (const int64_t[]){1, floored(pods), places});
		fits = false;
	}
	for (size_t i = 0; i < part->name_count; i++) {
		uint32_t resource = part->names[i];
		int64_t asked = get(requests, resource);
		int64_t capacity = floored(get(part->allocatable, resource) -
					   get(part->inner, resource));
		int64_t used = floored(get(part->allocated, resource) -
				       get(part->preemptible, resource));

		if (resource == NEAP_RESOURCE_PODS || asked <= 0 ||
		    asked <= capacity - used)
			continue;
		if (lacking->reasons)
			tell_part(lacking, "Insufficient ",
				  neap_resources_name(lacking->resources, resource),
				  with_amounts, (const int64_t[]){asked, used, capacity});
		fits = false;
	}
	return fits;
}

static bool shares_a_name(const struct neap_reserve_part *part,
			  const struct neap_amounts *requests)
{
	for (size_t i = 0; i < part->name_count; i++)
		if (get(requests, part->names[i]) > 0)
			return true;
	return false;
}

static bool is_tried(const struct neap_reserve_need *need,
		     const struct neap_reserve_part *part)
{
	if (need->named)
		return strcmp(need->named, part->name) == 0;
	return need->is_required || part->shares_ports ||
	       shares_a_name(part, need->requests);
}

/* must: the node alone is not enough, also where the pod may do without. */
static bool fits(const struct neap_reserve_room *room,
		 const struct neap_reserve_need *need,
		 const struct neap_reserve_part *parts, size_t count, bool must,
		 struct neap_buf *reasons)
{
	struct lacking lacking = {.resources = room->resources};
	struct neap_buf words;
	bool is_there = false;

	neap_buf_init(&words, NEAP_BUF_LINE);
	lacking.reasons = reasons ? &words : NULL;
	for (size_t i = 0; i < count && !is_there; i++) {
		if (!is_tried(need, &parts[i]))
			continue;
		is_there = (need->skips_node && count == 1) ||
			   fits_node(room, need->requests, &parts[i], NULL, 0, &lacking);
		/* Asked in any case, for its reasons. */
		if (parts[i].is_restricted &&
		    !fits_part(&parts[i], need->requests, need->named != NULL, &lacking))
			is_there = false;
	}
	if (!is_there && !must && lacking.count == 0)
		is_there = fits_node(room, need->requests, NULL, NULL, 0, &lacking);
	if (!is_there && reasons) {
		lacking.reasons = reasons;
		tell_node(&lacking);
		if (must && lacking.told == 0)
			neap_buf_adds(
				reasons,
				"node(s) no reservation(s) to meet the requirements\n");
		else if (must)
			neap_buf_add(reasons, words.data, words.len);
	}
	neap_buf_done(&words);
	return is_there;
}

bool neap_reserve_fits(const struct neap_reserve_room *room,
		       const struct neap_reserve_need *need,
		       const struct neap_reserve_part *parts, size_t count,
		       struct neap_buf *reasons)
{
	return fits(room, need, parts, count, need->is_required, reasons);
}

bool neap_reserve_accepts(const struct neap_reserve_room *room,
			  const struct neap_reserve_need *need,
			  const struct neap_reserve_part *part, struct neap_buf *reasons)
{
	if (part->is_once && part->assigned > 0) {
		if (reasons)
			neap_buf_adds(reasons, "reservation has allocateOnce enabled and "
					       "has already been allocated\n");
		return false;
	}
	return fits(room, need, part, 1, true, reasons);
}

bool neap_reserve_may_give(const struct neap_reserve_room *room,
			   const struct neap_reserve_need *need,
			   const struct neap_reserve_part *parts, size_t count,
			   size_t which)
{
	return (count == 1 && need->is_required && need->has_passed) ||
	       neap_reserve_accepts(room, need, &parts[which], NULL);
}

/* --- the books of a node --- */

static void take_off(struct neap_amounts *from, const struct neap_amounts *what)
{
	for (size_t i = 0; i < from->count; i++)
		from->of[i].amount -= get(what, from->of[i].resource);
}

void neap_reserve_uncount(struct neap_amounts *requested,
			  const struct neap_amounts *allocated)
{
	take_off(requested, allocated);
}

void neap_reserve_lift(struct neap_amounts *requested,
		       const struct neap_amounts *allocatable)
{
	take_off(requested, allocatable);
}

/* --- taking over running pods --- */

/* Of the resources the reservation keeps, not more than it keeps. */
static bool is_within(const struct neap_amounts *reserved,
		      const struct neap_amounts *requests, struct lacking *lacking)
{
	bool is_it = true;

	for (size_t i = 0; i < reserved->count; i++) {
		uint32_t resource = reserved->of[i].resource;

		if (get(requests, resource) <= reserved->of[i].amount)
			continue;
		if (lacking)
			tell_part(lacking, "Insufficient ",
				  neap_resources_name(lacking->resources, resource),
				  false, NULL);
		is_it = false;
	}
	return is_it;
}

static const struct neap_amounts *given_of(const struct neap_reserve_candidate *candidate)
{
	return candidate->given ? candidate->given : candidate->requests;
}

static bool take_one(const struct neap_reserve_room *room,
		     const struct neap_reserve_takeover *takeover, bool *selected,
		     struct lacking *lacking)
{
	for (size_t i = 0; i < takeover->count; i++) {
		const struct neap_amounts *candidate = takeover->candidates[i].requests;
		bool fits = fits_node(room, takeover->requests, NULL,
				      given_of(&takeover->candidates[i]), 1, lacking);

		if (is_within(takeover->requests, candidate, lacking) && fits) {
			selected[i] = true;
			return true;
		}
	}
	return false;
}

static bool take_several(const struct neap_reserve_room *room,
			 const struct neap_reserve_takeover *takeover, bool *selected,
			 struct lacking *lacking)
{
	struct neap_amounts sum = {0}, given = {0}, more;
	size_t count = 0;

	for (size_t i = 0; i < takeover->count; i++) {
		more = sum;
		if (!neap_amounts_add(&more, takeover->candidates[i].requests) ||
		    !is_within(takeover->requests, &more, NULL))
			continue;
		sum = more;
		/* As many names as are in the sum at most. */
		(void)neap_amounts_add(&given, given_of(&takeover->candidates[i]));
		selected[i] = true;
		lacking->count = 0;
		if (fits_node(room, takeover->requests, NULL, &given, ++count, lacking))
			return true;
	}
	for (size_t i = 0; i < takeover->count; i++)
		selected[i] = false;
	return false;
}

bool neap_reserve_take_over(const struct neap_reserve_room *room,
			    const struct neap_reserve_takeover *takeover, bool *selected,
			    struct neap_buf *reasons)
{
	struct lacking lacking = {.resources = room->resources};
	struct neap_buf words;
	bool is_there;

	neap_buf_init(&words, NEAP_BUF_LINE);
	lacking.reasons = reasons ? &words : NULL;
	for (size_t i = 0; i < takeover->count; i++)
		selected[i] = false;
	/* Without anybody to take over the ordinary filter says whether it fits. */
	is_there = !takeover->is_required &&
		   (takeover->count == 0 ||
		    (takeover->prefers_free &&
		     fits_node(room, takeover->requests, NULL, NULL, 0, &lacking)));
	if (!is_there)
		is_there = takeover->takes_several
				   ? take_several(room, takeover, selected, &lacking)
				   : take_one(room, takeover, selected, &lacking);
	if (!is_there && !takeover->is_required)
		is_there = fits_node(room, takeover->requests, NULL, NULL, 0, &lacking);
	if (!is_there && reasons) {
		lacking.reasons = reasons;
		tell_node(&lacking);
		neap_buf_add(reasons, words.data, words.len);
		if (lacking.told == 0)
			neap_buf_adds(reasons, "node(s) no pod(s) to meet the "
					       "pre-allocation requirements\n");
	}
	neap_buf_done(&words);
	return is_there;
}
