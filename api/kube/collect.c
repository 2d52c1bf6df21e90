/* SPDX-License-Identifier: Apache-2.0
 *
 * Garbage collection. It watches every kind and counts, for each uid, what names it as its owner; when one
 * that is named has gone, a pass over all objects, a piece a turn of the loop, finds them. Many that go
 * together share a pass. Looking twice does no harm: everything is judged by the newest state, and a write
 * that was overtaken by another is refused by the store and judged anew at the event of that other. */
#include "api/kube/collect.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/collect_priv.h"
#include "api/kube/meta.h"
#include "engine/base/mem.h"

static void wake(struct neap_kube_collect *collect)
{
	struct timeval now = {0};

	if (!event_pending(collect->turn, EV_TIMEOUT, NULL))
		(void)event_add(collect->turn, &now);
}

/* --- sets of uids and names; without memory a later event or the next start comes back to it --- */

static void put(struct neap_map *set, const char *key)
{
	static char here;

	(void)neap_map_set(set, key, &here);
}

static void put_gone(struct neap_kube_collect *collect, const struct source *source,
		     const char *uid)
{
	static struct neap_collect_scope of_namespace = {true}, of_cluster;

	(void)neap_map_set(collect->gone, uid,
			   source->kind->is_namespaced ? &of_namespace : &of_cluster);
}

/* Counts are kept in the pointers themselves. */
static void count_owners(struct neap_kube_collect *collect,
			 const struct neap_object *object, int step)
{
	const char *uid = object->owners;

	for (unsigned i = 0; i < object->owner_count; i++, uid += strlen(uid) + 1) {
		uintptr_t n = (uintptr_t)neap_map_find(collect->owned, uid);

		if (step > 0)
			n++;
		else if (n)
			n--;
		if (n)
			(void)neap_map_set(collect->owned, uid, (void *)n);
		else
			(void)neap_map_remove(collect->owned, uid);
	}
}

/* --- what happened --- */

static bool is_namespace(const struct source *source)
{
	return strcmp(source->resource, "namespaces") == 0;
}

static void see_deleting(struct source *source, const struct neap_object *object)
{
	struct neap_kube_collect *collect = source->collect;

	if (is_namespace(source))
		put(collect->namespaces, object->name);
	/* Whether "orphan" is among its finalizers says the newest state. */
	if (object->has_finalizers)
		neap_collect_note_orphans(collect, source, object);
}

static bool has_same_owners(const struct neap_object *a, const struct neap_object *b)
{
	const char *uid = a->owners;

	for (unsigned i = 0; i < a->owner_count; i++, uid += strlen(uid) + 1)
		if (!neap_object_has_owner(b, uid))
			return false;
	return true;
}

static void see_event(struct source *source, const struct neap_store_event *event)
{
	struct neap_kube_collect *collect = source->collect;

	if (event->before)
		count_owners(collect, event->before, -1);
	if (event->what == NEAP_STORE_DELETED) {
		struct neap_object *place;

		if (neap_map_find(collect->owned, event->object->uid))
			put_gone(collect, source, event->object->uid);
		/* Its namespace may be waiting for it. */
		place = neap_store_find(collect->kube->store, "namespaces", "",
					event->object->ns);
		if (place && place->is_deleting)
			put(collect->namespaces, event->object->ns);
		return;
	}
	count_owners(collect, event->object, 1);
	if (event->object->is_deleting)
		see_deleting(source, event->object);
	/* An owner that has gone already, or never was. */
	if (event->object->owner_count &&
	    (!event->before || !has_same_owners(event->object, event->before)))
		neap_collect_judge(collect, source, event->object);
}

static void ready(void *arg)
{
	struct source *source = arg;

	source->is_ready = true;
	wake(source->collect);
}

static void take_events(struct source *source, size_t *left)
{
	struct neap_store_event *event;
	struct neap_error err;

	while (*left) {
		int ret = neap_store_watch_next(source->watch, &event, &err);

		if (ret == 0) {
			source->is_ready = false;
			return;
		}
		if (ret < 0) {
			/* Overtaken: the counts are wrong now. */
			source->collect->is_lost = true;
			source->is_ready = false;
			return;
		}
		see_event(source, event);
		(*left)--;
	}
}

/* --- starting anew --- */

static void sources_free(struct neap_kube_collect *collect)
{
	for (size_t i = 0; i < collect->source_count; i++) {
		if (collect->sources[i].watch)
			neap_store_watch_free(collect->sources[i].watch);
		(void)neap_kube_kind_unref(collect->sources[i].kind);
	}
	free(collect->sources);
	collect->sources = NULL;
	collect->source_count = 0;
}

static bool count_listed(void *arg, struct neap_object *object)
{
	struct source *source = arg;

	count_owners(source->collect, object, 1);
	if (object->is_deleting)
		see_deleting(source, object);
	return true;
}

static void clear(struct neap_map *map)
{
	const char *key;

	while (neap_map_count(map)) {
		(void)neap_map_at(map, neap_map_count(map) - 1, &key);
		(void)neap_map_remove(map, key);
	}
}

/* Everything is counted, and everything that has an owner looked at. */
static int restart(struct neap_kube_collect *collect, struct neap_error *err)
{
	struct neap_store *store = collect->kube->store;
	const struct neap_kube_registry *registry = collect->kube->registry;
	size_t count = neap_kube_registry_count(registry);

	sources_free(collect);
	clear(collect->owned);
	neap_collect_forget_orphans(collect);
	clear(collect->orphans);
	collect->generation = neap_kube_registry_generation(registry);
	collect->sources = neap_alloc_array(count, sizeof(*collect->sources));
	if (!collect->sources)
		return neap_error_nomem(err);
	for (size_t i = 0; i < count; i++) {
		const struct neap_kube_kind *kind = neap_kube_registry_at(registry, i);
		struct source *source = &collect->sources[collect->source_count];
		struct neap_store_place place = {.version = neap_store_version(store)};
		int ret;

		if (kind->view || kind->make)
			continue; /* its objects are those of another, or of nobody */
		collect->source_count++;
		source->collect = collect;
		source->is_ready = true; /* what comes at once is not told */
		source->kind = neap_kube_kind_ref(kind);
		neap_kube_kind_resource(source->kind, source->resource,
					sizeof(source->resource));
		ret = neap_store_watch_new(store, source->resource, place.version, ready,
					   source, &source->watch, err);
		if (ret < 0)
			return ret;
		ret = neap_store_list(store, source->resource, NULL, &place, count_listed,
				      source, err);
		if (ret < 0)
			return ret;
	}
	collect->is_lost = false;
	neap_collect_pass_all(collect);
	return 0;
}

/* --- a turn --- */

static void turn(int fd, short what, void *arg)
{
	struct neap_kube_collect *collect = arg;
	size_t left = NEAP_KUBE_COLLECT_PIECE;
	struct timeval soon = {.tv_usec = 100000};
	struct neap_error err;
	bool is_other;

	(void)fd;
	(void)what;
	for (size_t i = 0; i < collect->source_count && left && !collect->is_lost; i++)
		if (collect->sources[i].is_ready)
			take_events(&collect->sources[i], &left);
	/* Other kinds: after what was still told of those that are no more. */
	is_other = collect->generation !=
		   neap_kube_registry_generation(collect->kube->registry);
	if (collect->is_lost || (is_other && left)) {
		if (restart(collect, &err) < 0) {
			collect->is_lost = true;
			(void)event_add(collect->turn, &soon);
			return;
		}
		wake(collect);
	}
	neap_collect_pass(collect, &left);
	neap_collect_namespaces(collect, &left);
	if (!left || collect->is_lost)
		wake(collect);
}

int neap_kube_collect_new(struct neap_kube *kube, struct neap_kube_collect **ret,
			  struct neap_error *err)
{
	struct neap_kube_collect *collect = neap_alloc(sizeof(*collect));

	*ret = NULL;
	if (!collect)
		return neap_error_nomem(err);
	collect->kube = kube;
	collect->owned = neap_map_new();
	collect->gone = neap_map_new();
	collect->orphans = neap_map_new();
	collect->namespaces = neap_map_new();
	collect->turn = event_new(kube->base, -1, 0, turn, collect);
	if (!collect->owned || !collect->gone || !collect->orphans ||
	    !collect->namespaces || !collect->turn) {
		neap_kube_collect_free(collect);
		return neap_error_nomem(err);
	}
	collect->is_lost = true;
	wake(collect);
	*ret = collect;
	return 0;
}

void neap_kube_collect_free(struct neap_kube_collect *collect)
{
	if (!collect)
		return;
	sources_free(collect);
	if (collect->orphans)
		neap_collect_forget_orphans(collect);
	neap_map_free(collect->owned);
	neap_map_free(collect->gone);
	neap_map_free(collect->orphans);
	neap_map_free(collect->namespaces);
	if (collect->turn)
		event_free(collect->turn);
	free(collect);
}

uint64_t neap_kube_collect_count(const struct neap_kube_collect *collect)
{
	return collect->count;
}
