/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory of a store without a file. An entry's id, the row of a file elsewhere, is
 * the number of the list that named it last. */
#include "api/store/mirror.h"

#include <stdlib.h>
#include <string.h>

#include "api/store/store_priv.h"
#include "engine/base/mem.h"

struct mirror {
	struct neap_store store;
	int64_t last; /* number given out */
};

static int mirror_write_take(struct neap_store *store NEAP_UNUSED,
			     struct neap_store_write *write, struct neap_error *err)
{
	json_decref(write->object);
	return neap_error_set(err, NEAP_EUNSUPPORTED,
			      "a mirror shows the objects of another server");
}

static int mirror_fd(const struct neap_store *store NEAP_UNUSED)
{
	return -1;
}

static void mirror_hear(struct neap_store *store)
{
	(void)neap_memory_call(store);
}

static void mirror_hold(struct neap_store *store NEAP_UNUSED, int step NEAP_UNUSED)
{
}

static void mirror_free(struct neap_store *store)
{
	neap_memory_done(store);
	free((struct mirror *)store);
}

static const struct neap_store_backend backend = {.write_take = mirror_write_take,
						  .fd = mirror_fd,
						  .hear = mirror_hear,
						  .hold = mirror_hold,
						  .free = mirror_free};

int neap_mirror_new(int64_t history_usec, size_t history_bytes, struct neap_store **ret,
		    struct neap_error *err)
{
	struct mirror *mirror = neap_alloc(sizeof(*mirror));

	if (!mirror)
		return neap_error_nomem(err);
	if (neap_memory_init(&mirror->store, &backend, history_usec, history_bytes, err) <
	    0) {
		mirror_free(&mirror->store);
		return -(int)err->code;
	}
	/* Versions count from 1, so that a list of version 0 is one of now. */
	mirror->last = mirror->store.version = mirror->store.loaded = 1;
	*ret = &mirror->store;
	return 0;
}

int64_t neap_mirror_next(struct neap_store *store)
{
	return ++((struct mirror *)store)->last;
}

/* Watches that miss an event start over. */
static int forgotten(bool is_kept, struct neap_error *err)
{
	return is_kept ? 0 : neap_error_nomem(err);
}

int neap_mirror_show_take(struct neap_store *store, const char *name_of_resource,
			  struct neap_object *object, bool is_settled, int64_t now_usec,
			  struct neap_error *err)
{
	struct neap_resource *resource =
		neap_memory_resource(store, name_of_resource, true);
	struct neap_entry *entry =
		resource ? neap_index_add(resource->index, object->ns, object->name)
			 : NULL;
	bool is_kept;

	if (!entry) {
		(void)neap_object_unref(object);
		return neap_error_nomem(err);
	}
	entry->id = resource->id;
	if (is_settled || entry->newest == entry->visible)
		neap_memory_accept_take(store, entry, neap_object_ref(object));
	is_kept = neap_memory_show(store, resource, entry, object, NULL, object->version,
				   now_usec);
	(void)neap_object_unref(object);
	return forgotten(is_kept, err);
}

/* The version of the deletion is that of its event. */
static struct neap_object *last_state(struct neap_store *store,
				      const struct neap_object *shown)
{
	struct neap_object *last =
		neap_object_with_text(shown, shown->text, shown->text_len);

	if (last)
		last->version = neap_mirror_next(store);
	return last;
}

static int hide(struct neap_store *store, struct neap_resource *resource,
		struct neap_entry *entry, struct neap_object *last, int64_t now_usec,
		struct neap_error *err)
{
	bool is_kept = neap_memory_show(store, resource, entry, NULL, last, last->version,
					now_usec);

	neap_memory_accept_take(store, entry, NULL);
	(void)neap_object_unref(last);
	neap_memory_drop(resource, entry);
	return forgotten(is_kept, err);
}

static struct neap_entry *find(struct neap_store *store, const char *name_of_resource,
			       const char *ns, const char *name,
			       struct neap_resource **ret)
{
	*ret = neap_memory_resource(store, name_of_resource, false);
	return *ret ? neap_index_find((*ret)->index, ns, name) : NULL;
}

int neap_mirror_hide_take(struct neap_store *store, const char *name_of_resource,
			  const char *ns, const char *name, struct neap_object *last,
			  int64_t now_usec, struct neap_error *err)
{
	struct neap_resource *resource;
	struct neap_entry *entry = find(store, name_of_resource, ns, name, &resource);

	if (!entry || !entry->visible) {
		(void)neap_object_unref(last);
		if (entry)
			neap_mirror_lift(store, name_of_resource, ns, name);
		return 0;
	}
	if (!last)
		last = last_state(store, entry->visible);
	return last ? hide(store, resource, entry, last, now_usec, err)
		    : neap_error_nomem(err);
}

int neap_mirror_lay_take(struct neap_store *store, const char *name_of_resource,
			 struct neap_object *object, struct neap_error *err)
{
	struct neap_resource *resource =
		neap_memory_resource(store, name_of_resource, true);
	struct neap_entry *entry =
		resource ? neap_index_add(resource->index, object->ns, object->name)
			 : NULL;

	if (!entry) {
		(void)neap_object_unref(object);
		return neap_error_nomem(err);
	}
	entry->id = resource->id; /* a list that is under way need not name it */
	neap_memory_accept_take(store, entry, object);
	return 0;
}

void neap_mirror_lay_gone(struct neap_store *store, const char *name_of_resource,
			  const char *ns, const char *name)
{
	struct neap_resource *resource;
	struct neap_entry *entry = find(store, name_of_resource, ns, name, &resource);

	if (!entry)
		return;
	neap_memory_accept_take(store, entry, NULL);
	neap_memory_drop(resource, entry);
}

void neap_mirror_lift(struct neap_store *store, const char *name_of_resource,
		      const char *ns, const char *name)
{
	struct neap_resource *resource;
	struct neap_entry *entry = find(store, name_of_resource, ns, name, &resource);

	if (!entry || entry->newest == entry->visible)
		return;
	neap_memory_accept_take(store, entry,
				entry->visible ? neap_object_ref(entry->visible) : NULL);
	neap_memory_drop(resource, entry);
}

void neap_mirror_mark(struct neap_store *store, const char *name_of_resource)
{
	struct neap_resource *resource =
		neap_memory_resource(store, name_of_resource, true);

	if (resource)
		resource->id++;
}

void neap_mirror_keep(struct neap_store *store, const char *name_of_resource,
		      const char *ns, const char *name)
{
	struct neap_resource *resource;
	struct neap_entry *entry = find(store, name_of_resource, ns, name, &resource);

	if (entry)
		entry->id = resource->id;
}

int neap_mirror_sweep(struct neap_store *store, const char *name_of_resource,
		      int64_t now_usec, struct neap_error *err)
{
	struct neap_resource *resource =
		neap_memory_resource(store, name_of_resource, false);
	struct neap_entry *entry = NULL;
	char ns[NEAP_OBJECT_NAMESPACE] = "", name[NEAP_OBJECT_NAME] = "";
	struct neap_object *last;

	while (resource && (entry = neap_index_after(resource->index, ns, name))) {
		(void)neap_strcopy(ns, sizeof(ns), entry->ns);
		(void)neap_strcopy(name, sizeof(name), entry->name);
		if (entry->id == resource->id)
			continue;
		if (entry->visible == NULL) { /* what was written is not there */
			neap_memory_accept_take(store, entry, NULL);
			neap_memory_drop(resource, entry);
			continue;
		}
		last = last_state(store, entry->visible);
		if (!last)
			return neap_error_nomem(err);
		if (hide(store, resource, entry, last, now_usec, err) < 0)
			return -(int)err->code;
	}
	return 0;
}

bool neap_mirror_call(struct neap_store *store, int64_t now_usec)
{
	neap_memory_forget(store, now_usec);
	return neap_memory_call(store);
}
