/* SPDX-License-Identifier: Apache-2.0
 *
 * Resources and their visible objects, in memory: what happened, who watches, and the
 * answers of the interface. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/store/store.h"
#include "api/store/store_priv.h"
#include "engine/base/mem.h"

/* Watches that are called at once. The others come after whatever else waits for the
 * loop, and take what has become durable meanwhile together with what they were called
 * for. */
#define CALLS_MAX 64

int neap_memory_init(struct neap_store *store, const struct neap_store_backend *backend,
		     int64_t history_usec, size_t history_bytes, struct neap_error *err)
{
	store->backend = backend;
	store->history_usec = history_usec;
	store->history_bytes = history_bytes;
	TAILQ_INIT(&store->due);
	store->resources = neap_map_new();
	store->owned = neap_map_new();
	return store->resources && store->owned ? 0 : neap_error_nomem(err);
}

static void event_done(struct past_event *past)
{
	neap_object_unref(past->event.object);
	neap_object_unref(past->event.before);
}

static struct past_event *event_at(const struct neap_store_past *past, size_t index)
{
	return &past->events[(past->start + index) % past->room];
}

/* Without memory one is not counted. */
static void count_owners(struct neap_store *store, const struct neap_object *object,
			 bool is_more)
{
	const char *uid = object->owners;

	for (unsigned i = 0; i < object->owner_count; i++, uid += strlen(uid) + 1) {
		uintptr_t count = (uintptr_t)neap_map_find(store->owned, uid);

		if (is_more)
			(void)neap_map_set(store->owned, uid, (void *)(count + 1));
		else if (count > 1)
			(void)neap_map_set(store->owned, uid, (void *)(count - 1));
		else
			(void)neap_map_remove(store->owned, uid);
	}
}

static size_t bytes_of(const struct neap_object *object)
{
	return !object ? 0 : sizeof(*object) + object->meta_len + object->text_len;
}

void neap_memory_accept_take(struct neap_store *store, struct neap_entry *entry,
			     struct neap_object *object)
{
	struct neap_object *before = entry->newest;

	if (!object || !before || !neap_object_same_owners(object, before)) {
		if (object)
			count_owners(store, object, true);
		if (before)
			count_owners(store, before, false);
	}
	store->used.objects += object != NULL;
	store->used.objects -= before != NULL;
	store->used.bytes += bytes_of(object);
	store->used.bytes -= bytes_of(before);
	entry->newest = object;
	neap_object_unref(before);
}

void neap_memory_drop(struct neap_resource *resource, struct neap_entry *entry)
{
	if (entry->writes == 0 && !entry->visible && !entry->newest &&
	    entry->past_count == 0)
		neap_index_remove(resource->index, entry);
}

/* Returns what was visible at a version within the history; NULL: nothing. */
static struct neap_object *neap_memory_at(const struct neap_resource *resource,
					  const struct neap_entry *entry, int64_t version)
{
	const struct neap_store_past *past = &resource->past;
	const struct past_event *event;
	uint64_t number;

	if (entry->past_count == 0 ||
	    event_at(past, (size_t)(entry->past_last - past->first))->event.version <=
		    version)
		return entry->visible;
	for (number = entry->past_first;; number = event->next) {
		event = event_at(past, (size_t)(number - past->first));
		if (event->event.version > version)
			return event->event.before;
	}
}

static void forget_first(struct neap_store *store, struct neap_resource *resource)
{
	struct neap_store_past *past = &resource->past;
	struct past_event *first = event_at(past, 0);
	struct neap_entry *entry = first->entry;

	entry->past_first = first->next;
	entry->past_count--;
	past->forgotten = first->event.version;
	store->past_bytes -= first->bytes;
	event_done(first);
	past->start = (past->start + 1) % past->room;
	past->first++;
	past->count--;
	neap_memory_drop(resource, entry);
}

void neap_memory_done(struct neap_store *store)
{
	size_t i;

	for (i = 0; store->resources && i < neap_map_count(store->resources); i++) {
		struct neap_resource *resource = neap_map_at(store->resources, i, NULL);

		while (resource->past.count > 0)
			forget_first(store, resource);
		free(resource->past.events);
		neap_index_free(resource->index);
		free(resource);
	}
	neap_map_free(store->resources);
	neap_map_free(store->owned);
}

struct neap_resource *neap_memory_resource(struct neap_store *store, const char *name,
					   bool is_made)
{
	struct neap_resource *resource = neap_map_find(store->resources, name);

	if (resource || !is_made)
		return resource;
	resource = neap_alloc(sizeof(*resource));
	if (!resource)
		return NULL;
	TAILQ_INIT(&resource->watches);
	resource->past.forgotten = store->loaded;
	resource->index = neap_index_new();
	if (!resource->index ||
	    !neap_strcopy(resource->name, sizeof(resource->name), name) ||
	    !neap_map_set(store->resources, name, resource)) {
		neap_index_free(resource->index);
		free(resource);
		return NULL;
	}
	return resource;
}

/* --- what happened --- */

static bool past_grow(struct neap_store_past *past)
{
	size_t room = past->room != 0 ? past->room * 2 : 64, i;
	struct past_event *events;

	if (past->count < past->room)
		return true;
	events = neap_alloc_array(room, sizeof(*events));
	if (!events)
		return false;
	for (i = 0; i < past->count; i++)
		events[i] = *event_at(past, i);
	free(past->events);
	past->events = events;
	past->room = room;
	past->start = 0;
	return true;
}

static void add_to_entry(const struct neap_store_past *past, struct neap_entry *entry,
			 uint64_t number)
{
	if (entry->past_count > 0)
		event_at(past, (size_t)(entry->past_last - past->first))->next = number;
	else
		entry->past_first = number;
	entry->past_last = number;
	entry->past_count++;
}

/* Without memory the past of the resource ends here. */
static bool remember(struct neap_store *store, struct neap_resource *resource,
		     struct neap_entry *entry, const struct neap_store_event *event,
		     int64_t now_usec)
{
	struct neap_store_past *past = &resource->past;
	struct past_event *slot;

	if (!past_grow(past)) {
		while (past->count > 0)
			forget_first(store, resource);
		past->forgotten = event->version;
		past->first++;
		return false;
	}
	slot = event_at(past, past->count);
	*slot = (struct past_event){.event = *event, .at_usec = now_usec, .entry = entry};
	add_to_entry(past, entry, past->first + past->count);
	neap_object_ref(slot->event.object);
	if (slot->event.before)
		neap_object_ref(slot->event.before);
	slot->bytes = sizeof(*slot) + bytes_of(event->before);
	if (event->what == NEAP_STORE_DELETED)
		slot->bytes += bytes_of(event->object) + sizeof(*entry);
	store->past_bytes += slot->bytes;
	past->count++;
	return true;
}

void neap_memory_forget(struct neap_store *store, int64_t now_usec)
{
	size_t i, count = neap_map_count(store->resources);

	for (i = 0; i < count; i++) {
		struct neap_resource *resource = neap_map_at(store->resources, i, NULL);

		while (resource->past.count > 0 &&
		       now_usec - event_at(&resource->past, 0)->at_usec >
			       store->history_usec)
			forget_first(store, resource);
	}
	while (store->past_bytes > store->history_bytes) {
		struct neap_resource *oldest = NULL;

		for (i = 0; i < count; i++) {
			struct neap_resource *resource =
				neap_map_at(store->resources, i, NULL);

			if (resource->past.count > 0 &&
			    (!oldest ||
			     event_at(&resource->past, 0)->event.version <
				     event_at(&oldest->past, 0)->event.version))
				oldest = resource;
		}
		if (!oldest)
			break;
		forget_first(store, oldest);
	}
}

static void make_due(struct neap_store *store, const struct neap_resource *resource)
{
	struct neap_store_watch *watch;

	for (watch = TAILQ_FIRST(&resource->watches); watch;
	     watch = TAILQ_NEXT(watch, of_resource)) {
		if (!watch->is_waiting || watch->is_due)
			continue;
		watch->is_due = true;
		TAILQ_INSERT_TAIL(&store->due, watch, of_due);
	}
}

bool neap_memory_show(struct neap_store *store, struct neap_resource *resource,
		      struct neap_entry *entry, struct neap_object *object,
		      struct neap_object *last, int64_t version, int64_t now_usec)
{
	struct neap_store_event event = {.version = version, .before = entry->visible};
	bool is_kept;

	event.what = !object           ? NEAP_STORE_DELETED
		     : !entry->visible ? NEAP_STORE_ADDED
				       : NEAP_STORE_MODIFIED;
	event.object = object ? object : last;
	is_kept = remember(store, resource, entry, &event, now_usec);
	resource->visible_count += (object != NULL) - (entry->visible != NULL);
	neap_object_unref(entry->visible);
	entry->visible = object ? neap_object_ref(object) : NULL;
	store->version = version;
	make_due(store, resource);
	return is_kept;
}

bool neap_memory_call(struct neap_store *store)
{
	struct neap_store_watch *watch;

	for (int i = 0; i < CALLS_MAX && (watch = TAILQ_FIRST(&store->due)); i++) {
		TAILQ_REMOVE(&store->due, watch, of_due);
		watch->is_due = false;
		watch->is_waiting = false;
		watch->ready(watch->arg); /* may end it */
	}
	return !TAILQ_EMPTY(&store->due);
}

/* --- watching --- */

int neap_store_watch_new(struct neap_store *store, const char *resource, int64_t version,
			 void (*ready)(void *arg), void *arg,
			 struct neap_store_watch **ret, struct neap_error *err)
{
	struct neap_resource *of = neap_memory_resource(store, resource, true);
	struct neap_store_watch *watch;
	size_t low = 0, high;

	if (!of)
		return neap_error_nomem(err);
	if (version < of->past.forgotten)
		return neap_error_set(err, NEAP_EGONE,
				      "too old resource version: %lld (%lld)",
				      (long long)version, (long long)of->past.forgotten);
	watch = neap_alloc(sizeof(*watch));
	if (!watch)
		return neap_error_nomem(err);
	high = of->past.count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (event_at(&of->past, middle)->event.version <= version)
			low = middle + 1;
		else
			high = middle;
	}
	*watch = (struct neap_store_watch){.store = store,
					   .resource = of,
					   .next = of->past.first + low,
					   .version = version,
					   .ready = ready,
					   .arg = arg};
	TAILQ_INSERT_TAIL(&of->watches, watch, of_resource);
	*ret = watch;
	return 0;
}

int neap_store_watch_next(struct neap_store_watch *watch, struct neap_store_event **ret,
			  struct neap_error *err)
{
	struct neap_store_past *past = &watch->resource->past;

	if (watch->next < past->first)
		return neap_error_set(
			err, NEAP_EGONE, "too old resource version: %lld (%lld)",
			(long long)watch->version, (long long)past->forgotten);
	if (watch->next == past->first + past->count) {
		watch->is_waiting = true;
		if (watch->store->version > watch->version)
			watch->version = watch->store->version;
		return 0;
	}
	*ret = &event_at(past, (size_t)(watch->next - past->first))->event;
	watch->next++;
	watch->version = (*ret)->version;
	return 1;
}

int64_t neap_store_watch_version(const struct neap_store_watch *watch)
{
	return watch->version;
}

void neap_store_watch_free(struct neap_store_watch *watch)
{
	if (!watch)
		return;
	TAILQ_REMOVE(&watch->resource->watches, watch, of_resource);
	if (watch->is_due)
		TAILQ_REMOVE(&watch->store->due, watch, of_due);
	free(watch);
}

/* --- the interface ---
 *
 * The interface: reads from memory, and lists of a past state: for each name what was
 * visible then, so a page costs only its entries and the history since. */

int64_t neap_store_version(const struct neap_store *store)
{
	return store->version;
}

static struct neap_entry *find(struct neap_store *store, const char *name_of_resource,
			       const char *ns, const char *name)
{
	struct neap_resource *resource =
		neap_memory_resource(store, name_of_resource, false);

	return !resource ? NULL : neap_index_find(resource->index, ns, name);
}

struct neap_object *neap_store_find(struct neap_store *store, const char *resource,
				    const char *ns, const char *name)
{
	const struct neap_entry *entry = find(store, resource, ns, name);

	return !entry ? NULL : entry->visible;
}

struct neap_object *neap_store_newest(struct neap_store *store, const char *resource,
				      const char *ns, const char *name)
{
	const struct neap_entry *entry = find(store, resource, ns, name);

	return !entry ? NULL : entry->newest;
}

size_t neap_store_count(struct neap_store *store, const char *resource)
{
	const struct neap_resource *found = neap_memory_resource(store, resource, false);

	return !found ? 0 : found->visible_count;
}

/* --- lists --- */

int neap_store_list(struct neap_store *store, const char *resource, const char *ns,
		    struct neap_store_place *place,
		    bool (*take)(void *arg, struct neap_object *object), void *arg,
		    struct neap_error *err)
{
	struct neap_resource *of = neap_memory_resource(store, resource, false);
	struct neap_object *object, *last = NULL;
	struct neap_index_walk walk;
	const struct neap_entry *entry;
	int r = 0;

	if (place->version == 0)
		place->version = store->version;
	if (!of)
		return 0;
	if (place->version < of->past.forgotten)
		return neap_error_set(err, NEAP_EGONE,
				      "The provided continue parameter is too old to "
				      "display a consistent list result");
	/* A namespace begins behind the empty name. */
	if (ns && strcmp(place->ns, ns) < 0) {
		(void)neap_strcopy(place->ns, sizeof(place->ns), ns);
		place->name[0] = '\0';
	}
	neap_index_walk_start(of->index, place->ns, place->name, &walk);
	while ((entry = neap_index_walk_next(of->index, &walk))) {
		if (ns && strcmp(entry->ns, ns) != 0)
			break;
		object = neap_memory_at(of, entry, place->version);
		if (!object)
			continue;
		if (!take(arg, object)) {
			r = 1;
			break;
		}
		last = object;
	}
	if (last) {
		(void)neap_strcopy(place->ns, sizeof(place->ns), last->ns);
		(void)neap_strcopy(place->name, sizeof(place->name), last->name);
	}
	return r;
}

void neap_store_list_newest(struct neap_store *store, const char *resource,
			    const char *ns, const char *after,
			    bool (*take)(void *arg, struct neap_object *object),
			    void *arg)
{
	struct neap_resource *of = neap_memory_resource(store, resource, false);
	struct neap_index_walk walk;
	const struct neap_entry *entry;

	if (!of)
		return;
	neap_index_walk_start(of->index, ns, after, &walk);
	while ((entry = neap_index_walk_next(of->index, &walk)) &&
	       strcmp(entry->ns, ns) == 0)
		if (entry->newest && !take(arg, entry->newest))
			break;
}

/* --- what the backend does --- */

int neap_store_write_take(struct neap_store *store, struct neap_store_write *write,
			  struct neap_error *err)
{
	return store->backend->write_take(store, write, err);
}

struct neap_store_used neap_store_used(const struct neap_store *store)
{
	return store->used;
}

void neap_store_set_limits(struct neap_store *store,
			   const struct neap_store_limits *limits)
{
	store->limits = *limits;
}

struct neap_store_limits neap_store_limits(const struct neap_store *store)
{
	return store->limits;
}

size_t neap_store_owned(const struct neap_store *store, const char *uid)
{
	return (size_t)(uintptr_t)neap_map_find(store->owned, uid);
}

size_t neap_store_owned_most(const struct neap_store *store)
{
	size_t most = 0;

	for (size_t i = 0; i < neap_map_count(store->owned); i++) {
		size_t count = (size_t)(uintptr_t)neap_map_at(store->owned, i, NULL);

		most = count > most ? count : most;
	}
	return most;
}

void neap_store_hold(struct neap_store *store)
{
	store->backend->hold(store, 1);
}

void neap_store_release(struct neap_store *store)
{
	store->backend->hold(store, -1);
}

int neap_store_replace_new(struct neap_store *store, struct neap_store_replace **ret,
			   struct neap_error *err)
{
	if (!store->backend->replace_new)
		return neap_error_set(
			err, NEAP_EUNSUPPORTED,
			"this store takes no backups: restore them where its "
			"objects are kept");
	return store->backend->replace_new(store, ret, err);
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
	if (store)
		store->backend->free(store);
}
