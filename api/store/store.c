/* SPDX-License-Identifier: Apache-2.0
 *
 * The interface: reading from memory, and lists of a state that has passed. */
#include "api/store/store.h"

#include <stdlib.h>
#include <string.h>

#include "api/store/store_priv.h"
#include "engine/base/mem.h"

int64_t neap_store_version(const struct neap_store *store)
{
	return store->version;
}

static struct neap_entry *find(struct neap_store *store, const char *name_of_resource,
			       const char *ns, const char *name)
{
	struct neap_resource *resource =
		neap_memory_resource(store, name_of_resource, false);

	return resource == NULL ? NULL : neap_index_find(resource->index, ns, name);
}

struct neap_object *neap_store_find(struct neap_store *store, const char *resource,
				    const char *ns, const char *name)
{
	const struct neap_entry *entry = find(store, resource, ns, name);

	return entry == NULL ? NULL : entry->visible;
}

struct neap_object *neap_store_newest(struct neap_store *store, const char *resource,
				      const char *ns, const char *name)
{
	const struct neap_entry *entry = find(store, resource, ns, name);

	return entry == NULL ? NULL : entry->newest;
}

size_t neap_store_count(struct neap_store *store, const char *resource)
{
	const struct neap_resource *found = neap_memory_resource(store, resource, false);

	return found == NULL ? 0 : found->visible_count;
}

/* --- lists --- */

/* What has happened since the version of the list: of each name the first event, sorted by name. */
struct undo {
	struct neap_store_event **events;
	size_t count, at;
};

static int compare_names(const struct neap_store_event *a,
			 const struct neap_store_event *b)
{
	return neap_object_compare(a->object, b->object->ns, b->object->name);
}

static int compare_events(const void *a, const void *b)
{
	const struct neap_store_event *left = *(struct neap_store_event *const *)a;
	const struct neap_store_event *right = *(struct neap_store_event *const *)b;
	int order = compare_names(left, right);

	if (order != 0)
		return order;
	return left->version < right->version ? -1 : left->version > right->version;
}

/* Of what is still to come in the list: with each page of a long one there is less to sort. */
static bool is_ahead(const struct neap_store_event *event,
		     const struct neap_store_place *place, const char *ns)
{
	return neap_object_compare(event->object, place->ns, place->name) > 0 &&
	       (ns == NULL || strcmp(event->object->ns, ns) == 0);
}

static int undo_make(const struct neap_resource *resource,
		     const struct neap_store_place *place, const char *ns,
		     struct undo *undo, struct neap_error *err)
{
	const struct neap_store_past *past = &resource->past;
	size_t i, from = past->count, kept = 0;

	while (from > 0 &&
	       past->events[(past->start + from - 1) % past->room].event.version >
		       place->version)
		from--;
	if (from == past->count)
		return 0;
	undo->events = neap_alloc_array(past->count - from, sizeof(*undo->events));
	if (undo->events == NULL)
		return neap_error_nomem(err);
	for (i = from; i < past->count; i++) {
		struct neap_store_event *event =
			&past->events[(past->start + i) % past->room].event;

		if (is_ahead(event, place, ns))
			undo->events[undo->count++] = event;
	}
	qsort(undo->events, undo->count, sizeof(*undo->events), compare_events);
	for (i = 0; i < undo->count; i++)
		if (kept == 0 ||
		    compare_names(undo->events[kept - 1], undo->events[i]) != 0)
			undo->events[kept++] = undo->events[i];
	undo->count = kept;
	return 0;
}

/* The next object of the list as it was, NULL at the end. *walked is the next of the present state. */
static struct neap_object *list_next(const struct neap_resource *resource,
				     struct neap_index_walk *walk,
				     struct neap_entry **walked, struct undo *undo)
{
	for (;;) {
		struct neap_store_event *event =
			undo->at < undo->count ? undo->events[undo->at] : NULL;
		struct neap_entry *entry = *walked;
		int order = entry == NULL ? 1
			    : event == NULL
				    ? -1
				    : -neap_object_compare(event->object, entry->ns,
							   entry->name);

		if (entry == NULL && event == NULL)
			return NULL;
		if (order <= 0)
			*walked = neap_index_walk_next(resource->index, walk);
		if (order >= 0)
			undo->at++;
		if (order < 0 && entry->visible != NULL)
			return entry->visible;
		if (order >= 0 && event->before != NULL)
			return event->before;
	}
}

int neap_store_list(struct neap_store *store, const char *resource, const char *ns,
		    struct neap_store_place *place,
		    bool (*take)(void *arg, struct neap_object *object), void *arg,
		    struct neap_error *err)
{
	struct neap_resource *of = neap_memory_resource(store, resource, false);
	struct neap_object *object, *last = NULL;
	struct neap_index_walk walk;
	struct neap_entry *walked;
	struct undo undo = {0};
	int r = 0;

	if (place->version == 0)
		place->version = store->version;
	if (of == NULL)
		return 0;
	if (place->version < of->past.forgotten)
		return neap_error_set(err, NEAP_EGONE,
				      "The provided continue parameter is too old to "
				      "display a consistent list result");
	/* A namespace begins behind the empty name. */
	if (ns != NULL && strcmp(place->ns, ns) < 0) {
		(void)neap_strcopy(place->ns, sizeof(place->ns), ns);
		place->name[0] = '\0';
	}
	if (undo_make(of, place, ns, &undo, err) < 0)
		return -(int)err->code;
	neap_index_walk_start(of->index, place->ns, place->name, &walk);
	walked = neap_index_walk_next(of->index, &walk);
	while ((object = list_next(of, &walk, &walked, &undo)) != NULL) {
		if (ns != NULL && strcmp(object->ns, ns) != 0)
			break;
		if (!take(arg, object)) {
			r = 1;
			break;
		}
		last = object;
	}
	free(undo.events);
	if (last != NULL) {
		(void)neap_strcopy(place->ns, sizeof(place->ns), last->ns);
		(void)neap_strcopy(place->name, sizeof(place->name), last->name);
	}
	return r;
}

/* --- what the backend does --- */

int neap_store_write_take(struct neap_store *store, struct neap_store_write *write,
			  struct neap_error *err)
{
	return store->backend->write_take(store, write, err);
}

int neap_store_fd(const struct neap_store *store)
{
	return store->backend->fd(store);
}

void neap_store_hear(struct neap_store *store)
{
	store->backend->hear(store);
}

void neap_store_free(struct neap_store *store)
{
	if (store != NULL)
		store->backend->free(store);
}
