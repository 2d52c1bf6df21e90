/* SPDX-License-Identifier: Apache-2.0
 *
 * Deletes the objects of a kind that ends, as a client would, a piece per turn. Creation
 * is refused once the definition's deletion is accepted, and earlier writes become
 * durable before it. So there are no new objects. */
#include "api/kube/loops/crd_loop_priv.h"
#include "api/kube/loops/gc_priv.h"
#include "api/kube/write/write.h"
#include "engine/base/mem.h"

static void ready(void *arg)
{
	struct declared_entry *entry = arg;

	entry->is_ready = true;
	declared_wake(entry->declared);
}

void declared_empty_begin(struct declared_entry *entry)
{
	if (entry->watch || entry->is_due)
		return;
	entry->is_due = true;
	entry->was_asked = false;
	entry->place = (struct neap_store_place){0};
	declared_wake(entry->declared);
}

void declared_empty_end(struct declared_entry *entry)
{
	if (entry->watch)
		neap_store_watch_free(entry->watch);
	entry->watch = NULL;
	entry->is_due = entry->is_ready = entry->was_asked = false;
}

/* The watch only tells whether anything happened. False: there is no watch. */
static bool hear(const char *name, struct declared_entry *entry)
{
	struct neap_store *store = entry->declared->kube->store;
	struct neap_store_event *event;
	struct neap_error err;
	int ret = entry->watch ? 1 : -1;

	entry->is_ready = false;
	while (ret > 0)
		ret = neap_store_watch_next(entry->watch, &event, &err);
	if (ret == 0)
		return true;
	if (entry->watch)
		neap_store_watch_free(entry->watch);
	entry->watch = NULL;
	if (neap_store_watch_new(store, name, neap_store_version(store), ready, entry,
				 &entry->watch, &err) < 0) {
		entry->watch = NULL;
		return false;
	}
	while ((ret = neap_store_watch_next(entry->watch, &event, &err)) > 0)
		;
	return ret == 0;
}

/* Objects are deleted after the list, during which no writes are allowed. */
struct piece {
	size_t *left;
	struct neap_object *found[NEAP_KUBE_DECLARED_PIECE];
	size_t count;
};

static bool look_at(void *arg, struct neap_object *object)
{
	struct piece *piece = arg;

	if (!*piece->left || piece->count == NEAP_KUBE_DECLARED_PIECE)
		return false;
	(*piece->left)--;
	if (!object->is_deleting)
		piece->found[piece->count++] = neap_object_ref(object);
	return true;
}

static void pass(const char *name, struct declared_entry *entry, size_t *left)
{
	struct neap_kube *kube = entry->declared->kube;
	struct piece piece = {.left = left};
	struct neap_error err;
	int more;

	/* Continues from where the last piece ended, but in the present version. */
	entry->place.version = neap_store_version(kube->store);
	more = neap_store_list(kube->store, name, NULL, &entry->place, look_at, &piece,
			       &err);
	for (size_t i = 0; i < piece.count; i++) {
		neap_kube_remove(kube, entry->kind, piece.found[i], NULL, NULL);
		(void)neap_object_unref(piece.found[i]);
	}
	entry->was_asked = entry->was_asked || piece.count;
	entry->is_due = more > 0;
	if (more < 0)
		entry->was_asked = true; /* causes another pass */
}

bool declared_empty(const char *name, struct declared_entry *entry, size_t *left)
{
	struct neap_store *store = entry->declared->kube->store;

	/* Without memory for the watch, make another pass. */
	if (!hear(name, entry))
		entry->was_asked = true;
	if (neap_store_count(store, name) == 0) {
		declared_empty_end(entry);
		return true;
	}
	if (entry->is_due && *left)
		pass(name, entry, left);
	return false;
}
