/* SPDX-License-Identifier: Apache-2.0
 *
 * The interface: reads from memory, and lists of a past state: for each name what was
 * visible then, so a page costs only its entries and the history since. */
#include "api/store/store.h"

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
	neap_index_walk_start(of->index, place->ns, place->name, &walk);
	while ((entry = neap_index_walk_next(of->index, &walk)) != NULL) {
		if (ns != NULL && strcmp(entry->ns, ns) != 0)
			break;
		object = neap_memory_at(of, entry, place->version);
		if (object == NULL)
			continue;
		if (!take(arg, object)) {
			r = 1;
			break;
		}
		last = object;
	}
	if (last != NULL) {
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

	if (of == NULL)
		return;
	neap_index_walk_start(of->index, ns, after, &walk);
	while ((entry = neap_index_walk_next(of->index, &walk)) != NULL &&
	       strcmp(entry->ns, ns) == 0)
		if (entry->newest != NULL && !take(arg, entry->newest))
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
	if (store->backend->replace_new == NULL)
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
	if (store != NULL)
		store->backend->free(store);
}
