/* SPDX-License-Identifier: Apache-2.0
 *
 * Reservations: what each keeps, for whom, and whether any of it was promised twice. What
 * pods use, and what is kept and not in use, is never more than there is; but pods that
 * ignore reservations may use what is kept for others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "t/lib/cluster_book_priv.h"

/* --- counting --- */

static bool is_owner(const struct book_pod *pod, const struct book_kept *kept)
{
	return !pod->is_finished && strcmp(pod->uses, kept->uid) == 0 &&
	       strcmp(pod->uid, kept->uid) != 0;
}

/* How many pods on its node use it, and what they have, whatever of that it keeps. */
static int sum_owners(const struct book_node *node, const struct book_kept *kept,
		      int64_t ret[BOOK_NAMES])
{
	int count = 0;

	memset(ret, 0, sizeof(*ret) * BOOK_NAMES);
	for (const struct book_pod *pod = node->pods; pod; pod = pod->next) {
		if (!is_owner(pod, kept))
			continue;
		count++;
		for (int i = 0; i < BOOK_NAMES; i++)
			ret[i] += pod->needs[i];
	}
	return count;
}

static int64_t unused(int64_t kept, int64_t used)
{
	return kept > used ? kept - used : 0;
}

static struct book_kept *next_on(const struct book *book, const struct book_node *node,
				 size_t *at)
{
	while (*at < neap_map_count(book->kept)) {
		struct book_kept *kept = neap_map_at(book->kept, (*at)++, NULL);

		if (kept->state && strcmp(kept->node, node->name) == 0)
			return kept;
	}
	return NULL;
}

static void add_unused(const struct book_node *node, const struct book_kept *kept,
		       int64_t sum[BOOK_NAMES])
{
	int64_t used[BOOK_NAMES];

	(void)sum_owners(node, kept, used);
	for (int i = 0; i < BOOK_NAMES; i++)
		if (i != BOOK_PLACES)
			sum[i] += unused(kept->amounts[i], used[i]);
}

void book_add_rooms(const struct book *book, const struct book_node *node,
		    int64_t sum[BOOK_NAMES])
{
	const struct book_kept *kept;
	size_t at = 0;

	while ((kept = next_on(book, node, &at)))
		if (kept->pod && !kept->pod->was_ready)
			add_unused(node, kept, sum);
}

/* A node that was too full at the rest is blamed for what came since, but for what came
 * into what was kept for it. */
static bool is_to_blame(const struct book *book, const struct book_node *node, int name)
{
	const struct book_kept *kept;
	size_t at = 0;

	for (const struct book_pod *pod = node->pods; pod; pod = pod->next)
		if (!pod->is_finished && pod->needs[name] &&
		    (!node->is_stained ||
		     (pod->is_fresh && !*pod->uses && !pod->is_ignoring)))
			return true;
	while ((kept = next_on(book, node, &at)))
		if (kept->state == BOOK_KEPT_AVAILABLE && kept->amounts[name] &&
		    (!node->is_stained ||
		     (kept->is_fresh && !(kept->pod && *kept->pod->uses))))
			return true;
	return false;
}

static bool check_sums(struct book *book, const struct book_node *node)
{
	int64_t sum[BOOK_NAMES] = {0}, all[BOOK_NAMES] = {0};
	const struct book_kept *kept;
	size_t at = 0;

	for (const struct book_pod *pod = node->pods; pod; pod = pod->next)
		for (int i = 0; !pod->is_finished && !pod->is_ignoring && i < BOOK_NAMES;
		     i++)
			sum[i] += pod->is_room && i != BOOK_PLACES ? 0 : pod->needs[i];
	memcpy(all, sum, sizeof(all));
	while ((kept = next_on(book, node, &at)))
		if (kept->state == BOOK_KEPT_AVAILABLE)
			add_unused(node, kept, all);
	for (int i = 0; i < book->name_count; i++)
		if (all[i] > sum[i] && all[i] > node->room[i] &&
		    is_to_blame(book, node, i))
			return book_wrong(book,
					  "node %s: pods have %lld and %lld are kept of "
					  "%lld %s",
					  node->name, (long long)sum[i],
					  (long long)(all[i] - sum[i]),
					  (long long)node->room[i], book->names[i]);
	return true;
}

static bool has_cpu(const int *cpus, int count, int cpu)
{
	for (int i = 0; i < count; i++)
		if (cpus[i] == cpu)
			return true;
	return false;
}

/* A pod that keeps what it has of what another keeps. */
static bool is_inside(const struct book_kept *kept, const struct book_kept *other)
{
	return kept->pod && is_owner(kept->pod, other);
}

/* A CPU that is kept is nobody's, or that of whom it is kept for. */
static bool check_cpu(struct book *book, const struct book_node *node,
		      const struct book_kept *kept, int cpu)
{
	const struct book_kept *other;
	size_t at = 0;

	for (const struct book_pod *pod = node->pods; pod; pod = pod->next)
		if (!pod->is_finished && !pod->is_room && !pod->is_ignoring &&
		    !pod->is_blind && !is_owner(pod, kept) &&
		    has_cpu(pod->cpus, pod->cpu_count, cpu) &&
		    (!node->is_stained || pod->is_fresh || kept->is_fresh))
			return book_wrong(book, "node %s: %s has CPU %d, kept by %s",
					  node->name, pod->name, cpu, kept->name);
	while ((other = next_on(book, node, &at)))
		if (other != kept && other->state == BOOK_KEPT_AVAILABLE &&
		    !is_inside(other, kept) && !is_inside(kept, other) &&
		    has_cpu(other->cpus, other->cpu_count, cpu) &&
		    (!node->is_stained || other->is_fresh || kept->is_fresh))
			return book_wrong(book, "node %s: %s and %s keep CPU %d",
					  node->name, kept->name, other->name, cpu);
	return true;
}

static bool check_zones(struct book *book, const struct book_node *node)
{
	const struct book_kept *kept;

	for (int zone = 0; zone < BOOK_ZONES; zone++)
		for (int i = 0; i < book->name_count; i++) {
			int64_t sum = 0, room = node->topology->zones[zone].room[i];
			size_t at = 0;

			if (!node->topology->zones[zone].is_there || room < 0)
				continue;
			for (const struct book_pod *pod = node->pods; pod;
			     pod = pod->next)
				if (!pod->is_finished && !pod->is_ignoring &&
				    !pod->is_room)
					sum += pod->zone_needs[zone][i];
			while ((kept = next_on(book, node, &at))) {
				int64_t used = 0;

				for (const struct book_pod *pod = node->pods; pod;
				     pod = pod->next)
					if (is_owner(pod, kept))
						used += pod->zone_needs[zone][i];
				if (kept->state == BOOK_KEPT_AVAILABLE)
					sum += unused(kept->zone_needs[zone][i], used);
			}
			if (sum > room && !node->is_stained)
				return book_wrong(
					book,
					"node %s, NUMA node %d: %lld of %lld %s with "
					"what is kept",
					node->name, zone, (long long)sum, (long long)room,
					book->names[i]);
		}
	return true;
}

/* A pod asks for one place. Two who did not know of each other may have done it. */
static bool has_done_it(const struct book_node *node, const struct book_kept *kept,
			int name)
{
	bool is_it = !node->is_stained;

	for (const struct book_pod *pod = node->pods; pod; pod = pod->next)
		is_it |= is_owner(pod, kept) && pod->is_fresh && pod->needs[name];
	return is_it && !kept->is_excused;
}

/* Who it is for, and how much of it they have. */
static bool check_one(struct book *book, const struct book_node *node,
		      const struct book_kept *kept)
{
	int64_t used[BOOK_NAMES];
	int count = sum_owners(node, kept, used);

	if (kept->is_once && count > 1 && has_done_it(node, kept, BOOK_PLACES))
		return book_wrong(book, "%s is for one, and %d use it", kept->name,
				  count);
	for (int i = 0; kept->is_restricted && i < book->name_count; i++)
		if (i != BOOK_PLACES && kept->counts[i] && kept->amounts[i] &&
		    used[i] > kept->amounts[i] && has_done_it(node, kept, i))
			return book_wrong(book, "%s has %lld %s, and its owners %lld",
					  kept->name, (long long)kept->amounts[i],
					  book->names[i], (long long)used[i]);
	for (int i = 0;
	     node->topology && kept->state == BOOK_KEPT_AVAILABLE && i < kept->cpu_count;
	     i++)
		if (!check_cpu(book, node, kept, kept->cpus[i]))
			return false;
	return true;
}

/* Nobody uses what is kept elsewhere. Who was to be taken over for a place that never
 * came to be may still say so. */
static bool check_places(struct book *book, const struct book_node *node)
{
	for (const struct book_pod *pod = node->pods; pod; pod = pod->next)
		for (size_t i = 0; *pod->uses && !pod->is_finished && !pod->is_blind &&
				   !pod->is_taken && i < neap_map_count(book->kept);
		     i++) {
			const struct book_kept *kept = neap_map_at(book->kept, i, NULL);

			if (!kept->state || strcmp(kept->uid, pod->uses) != 0 ||
			    strcmp(kept->node, node->name) == 0)
				continue;
			return book_wrong(book, "%s on %s uses %s, which is on %s",
					  pod->name, node->name, kept->name, kept->node);
		}
	return true;
}

bool book_check_kept(struct book *book, const struct book_node *node)
{
	const struct book_kept *kept;
	size_t at = 0;

	if (!neap_map_count(book->kept))
		return true;
	while ((kept = next_on(book, node, &at)))
		if (!check_one(book, node, kept))
			return false;
	return check_places(book, node) && check_sums(book, node) &&
	       (!node->topology || check_zones(book, node));
}

/* --- what is not to blame --- */

size_t book_fresh_kept(const struct book *book, const struct book_node *node)
{
	const struct book_kept *kept;
	size_t at = 0, fresh = 0;

	while ((kept = next_on(book, node, &at)))
		fresh += !kept->pod && kept->is_fresh;
	return fresh;
}

void book_rest_kept(struct book *book)
{
	for (size_t i = 0; i < neap_map_count(book->kept); i++) {
		struct book_kept *kept = neap_map_at(book->kept, i, NULL);

		kept->is_fresh = kept->is_touched = false;
	}
	for (size_t i = 0; i < neap_map_count(book->nodes); i++) {
		struct book_node *node = neap_map_at(book->nodes, i, NULL);

		/* From the rest on what is so is known. */
		if (node->is_excused)
			book_mark(book, node);
		node->is_stained |= node->is_excused;
		node->is_excused = false;
	}
}

void book_excuse(struct book *book, const char *node)
{
	book_node(book, node)->is_excused = true;
}

void book_excuse_reservation(struct book *book, const char *name)
{
	struct book_kept *kept = neap_map_find(book->kept, name);

	if (!kept)
		return;
	kept->is_excused = kept->is_touched = true;
	if (*kept->node)
		book_excuse(book, kept->node);
}

/* --- what is asked --- */

static bool is_listed_once(const struct book_kept *kept, const struct book_pod *pod)
{
	int count = 0;

	for (size_t i = 0; i < json_array_size(kept->owners); i++) {
		const json_t *owner = json_array_get(kept->owners, i);

		count += strcmp(book_text(owner, "uid"), pod->uid) == 0 &&
			 strcmp(book_text(owner, "name"), pod->name) == 0 &&
			 strcmp(book_text(owner, "namespace"), pod->ns) == 0;
	}
	return count == 1;
}

/* Of a pod in operating mode: whom its annotation names, the first by uid if it has more
 * than one. */
static bool check_owner(struct book *book, const struct book_kept *kept)
{
	const struct book_pod *first = NULL;
	const char *told = book_text(kept->owners, "uid");

	for (const struct book_pod *pod = book_node(book, kept->node)->pods; pod;
	     pod = pod->next)
		if (is_owner(pod, kept) && (!first || strcmp(pod->uid, first->uid) < 0))
			first = pod;
	if (kept->pod->is_deleting || strcmp(told, first ? first->uid : "") == 0)
		return true;
	return book_wrong(book, "%s says that %s uses it, and it is %s", kept->name,
			  *told ? told : "nobody", first ? first->name : "nobody");
}

static bool check_owners(struct book *book, const struct book_kept *kept)
{
	const struct book_node *node = book_node(book, kept->node);
	int64_t used[BOOK_NAMES];
	int count = sum_owners(node, kept, used);

	if (!node->is_there)
		return book_wrong(book, "%s lives, and its node %s is gone", kept->name,
				  kept->node);
	if (count && kept->is_once)
		return book_wrong(book, "%s has its owner, and lives", kept->name);
	if (json_array_size(kept->owners) != (size_t)count)
		return book_wrong(book, "%s lists %zu owners of %d", kept->name,
				  json_array_size(kept->owners), count);
	for (const struct book_pod *pod = node->pods; pod; pod = pod->next)
		if (is_owner(pod, kept) && !is_listed_once(kept, pod))
			return book_wrong(book, "%s does not list %s once", kept->name,
					  pod->name);
	for (int i = 0; i < book->name_count; i++) {
		int64_t of_it = kept->amounts[i] ? used[i] : 0;

		if (i != BOOK_PLACES && kept->allocated[i] != of_it)
			return book_wrong(book, "%s: allocated %lld of %lld %s",
					  kept->name, (long long)kept->allocated[i],
					  (long long)used[i], book->names[i]);
	}
	return true;
}

const char *book_check_owners(struct book *book)
{
	if (*book->trouble)
		return book->trouble;
	for (size_t i = 0; i < neap_map_count(book->kept); i++) {
		const struct book_kept *kept = neap_map_at(book->kept, i, NULL);

		if (kept->state &&
		    !(kept->pod ? check_owner(book, kept) : check_owners(book, kept)))
			break;
	}
	/* It may be so a little later. */
	memcpy(book->told, book->trouble, sizeof(book->told));
	*book->trouble = '\0';
	return *book->told ? book->told : NULL;
}

int64_t book_total(struct book *book, const char *on, const char *resource)
{
	const struct book_node *node = book_node(book, on);
	int number = book_name(book, resource);
	const struct book_kept *kept;
	int64_t sum[BOOK_NAMES];
	size_t at = 0;

	book_sum(node, sum);
	while ((kept = next_on(book, node, &at)))
		add_unused(node, kept, sum);
	return sum[number];
}

int book_holders(struct book *book, const char *on, int cpu)
{
	const struct book_node *node = book_node(book, on);
	const struct book_kept *kept;
	size_t at = 0;
	int count = 0;

	for (const struct book_pod *pod = node->pods; pod; pod = pod->next)
		count += !pod->is_finished && !pod->is_room &&
			 has_cpu(pod->cpus, pod->cpu_count, cpu);
	while ((kept = next_on(book, node, &at)))
		count += has_cpu(kept->cpus, kept->cpu_count, cpu);
	return count;
}

size_t book_rooms(const struct book *book)
{
	size_t count = 0;

	for (size_t i = 0; i < neap_map_count(book->kept); i++)
		count += ((struct book_kept *)neap_map_at(book->kept, i, NULL))->pod !=
			 NULL;
	return count;
}

size_t book_reservations(const struct book *book)
{
	return neap_map_count(book->kept) - book_rooms(book);
}

size_t book_room_uses(const struct book *book)
{
	return book->room_uses;
}

size_t book_uses(const struct book *book)
{
	return book->uses;
}

size_t book_available(const struct book *book)
{
	return book->available;
}
