/* SPDX-License-Identifier: Apache-2.0
 *
 * Each piece lists the objects after the last name, at the present version. An event
 * about a name before that updates the findings; one about a later name can be
 * ignored. */
#include "api/workload/loop/search.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"

/* Entries that an insertion moves in one step. */
#define MOVED_A_STEP 16

struct neap_search {
	struct neap_search_config config;
	char ns[NEAP_OBJECT_NAMESPACE], uid[NEAP_OBJECT_UID]; /* uid "": none */
	struct neap_client_place place;
	bool is_done, is_short;
	size_t seen; /* in this piece */
	struct neap_found *found;
	size_t count, size;
};

struct neap_search *neap_search_new(const struct neap_search_config *config)
{
	struct neap_search *search = neap_alloc(sizeof(*search));

	if (search)
		search->config = *config;
	return search;
}

void neap_search_free(struct neap_search *search)
{
	if (!search)
		return;
	neap_search_end(search);
	free(search);
}

void neap_search_end(struct neap_search *search)
{
	for (size_t i = 0; i < search->count; i++)
		neap_object_unref(search->found[i].object);
	free(search->found);
	search->found = NULL;
	search->count = search->size = 0;
	search->uid[0] = '\0';
}

static bool insert(struct neap_search *search, size_t at, struct neap_object *object,
		   unsigned wanted)
{
	if (!neap_grow(&search->found, search->count, &search->size,
		       sizeof(*search->found)))
		return false;
	memmove(search->found + at + 1, search->found + at,
		(search->count - at) * sizeof(*search->found));
	neap_feed_spend(search->config.feed,
			(int64_t)((search->count - at) / MOVED_A_STEP));
	search->found[at] =
		(struct neap_found){.object = neap_object_ref(object), .wanted = wanted};
	search->count++;
	return true;
}

static void take_out(struct neap_search *search, size_t at)
{
	neap_object_unref(search->found[at].object);
	search->count--;
	memmove(search->found + at, search->found + at + 1,
		(search->count - at) * sizeof(*search->found));
	neap_feed_spend(search->config.feed,
			(int64_t)((search->count - at) / MOVED_A_STEP));
}

static unsigned wants(const struct neap_search *search, const struct neap_object *object)
{
	return search->config.wants(search->config.arg, search->uid, object);
}

/* --- listing --- */

static bool take(void *arg, struct neap_object *object)
{
	struct neap_search *search = arg;
	unsigned wanted;

	if (search->seen && !neap_feed_has_steps(search->config.feed))
		return false;
	search->seen++;
	neap_feed_spend(search->config.feed, 1);
	wanted = wants(search, object);
	search->is_short = wanted && !insert(search, search->count, object, wanted);
	return !search->is_short;
}

int neap_search_go(struct neap_search *search, const char *ns, const char *uid)
{
	struct neap_error err;
	int more;

	if (strcmp(search->uid, uid) != 0) {
		neap_search_end(search);
		(void)neap_strcopy(search->ns, sizeof(search->ns), ns);
		(void)neap_strcopy(search->uid, sizeof(search->uid), uid);
		search->place = (struct neap_client_place){0};
		search->is_done = search->is_short = false;
	}
	if (!search->is_done && !search->is_short) {
		search->seen = 0;
		search->place.version = neap_client_version(search->config.client);
		more = neap_client_list(search->config.client, search->config.resource,
					search->ns, &search->place, take, search, &err);
		search->is_short = search->is_short || more < 0;
		search->is_done = more == 0;
	}
	if (search->is_short) {
		neap_search_end(search);
		return -NEAP_ENOMEM;
	}
	return search->is_done ? 0 : 1;
}

const struct neap_found *neap_search_found(const struct neap_search *search,
					   size_t *ret_count)
{
	*ret_count = search->count;
	return search->found;
}

/* --- events --- */

/* The index of the name, or where to insert it. */
static size_t place_of(const struct neap_search *search, const char *name, bool *ret_is)
{
	size_t low = 0, high = search->count;

	*ret_is = false;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(search->found[middle].object->name, name);

		if (order == 0) {
			*ret_is = true;
			return middle;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void neap_search_hear(struct neap_search *search, const struct neap_client_event *event)
{
	const char *name = event->object->name;
	struct neap_object *object;
	unsigned wanted;
	bool is_found;
	size_t at;

	if (!search->uid[0] || strcmp(event->object->ns, search->ns) != 0 ||
	    (!search->is_done && strcmp(name, search->place.name) > 0))
		return;
	/* Several events collapse: only the present state counts. */
	object = neap_client_find(search->config.client, search->config.resource,
				  search->ns, name);
	at = place_of(search, name, &is_found);
	if (is_found && search->found[at].object == object)
		return;
	wanted = object ? wants(search, object) : 0;
	if (is_found)
		take_out(search, at);
	if (wanted && !insert(search, at, object, wanted))
		search->is_short = true;
}
