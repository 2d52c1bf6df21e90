/* SPDX-License-Identifier: Apache-2.0
 *
 * Garbage collection. It watches every kind, and counts for each uid how many objects
 * name it as an owner. When an owner is deleted, a pass over all objects, a piece per
 * turn, finds its dependents. Owners deleted at about the same time share a pass. Looking
 * twice is harmless: judgement is by the newest state. If another write comes first, the
 * store refuses ours, and the event of the other write causes a new judgement. */
#include "api/kube/loops/gc.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/loops/gc_priv.h"
#include "api/task/task.h"
#include "engine/base/mem.h"

/* The most writes that are not durable yet, a part of NEAP_STORE_WRITES_MAX; and how few
 * allow more. */
#define WAITING_MAX 2048
#define WAITING_LOW 1024
/* Microseconds until refused writes are retried. Doubled each time that the store accepts
 * none. */
#define RETRY_USEC     500000
#define RETRY_USEC_MAX (60 * 1000000LL)
/* Until the next try, after a restart failed. */
#define RESTART_USEC 100000

static void wake(struct neap_kube_collect *collect)
{
	neap_task_wake(collect->turn);
}

/* --- writes --- */

bool neap_collect_may_write(const struct neap_kube_collect *collect)
{
	return !collect->is_refused && collect->writes->waiting < WAITING_MAX;
}

struct collect_writes *neap_collect_write(struct neap_kube_collect *collect)
{
	collect->writes->waiting++;
	return collect->writes;
}

/* A full queue, a full disk, no memory. If another write came first, its event causes a
 * new judgement. */
static bool is_worth_another_try(const struct neap_kube_failure *failure)
{
	return failure->reason == NEAP_CLIENT_TOO_MANY_REQUESTS ||
	       failure->reason == NEAP_CLIENT_UNAVAILABLE;
}

static void try_later(struct neap_kube_collect *collect)
{
	const struct timeval after = {.tv_sec = collect->retry_usec / 1000000,
				      .tv_usec = collect->retry_usec % 1000000};

	if (collect->is_refused)
		return;
	collect->is_refused = true;
	collect->retry_usec *= 2;
	if (collect->retry_usec > RETRY_USEC_MAX)
		collect->retry_usec = RETRY_USEC_MAX;
	(void)event_add(collect->retry, &after);
}

void neap_collect_told(void *arg, struct neap_object *object NEAP_UNUSED,
		       const struct neap_kube_failure *failure)
{
	struct collect_writes *writes = arg;
	struct neap_kube_collect *collect = writes->collect;

	writes->waiting--;
	if (!collect) {
		if (!writes->waiting)
			free(writes);
		return;
	}
	if (!failure)
		collect->retry_usec = RETRY_USEC;
	else if (is_worth_another_try(failure))
		try_later(collect);
	if (writes->waiting == WAITING_LOW)
		wake(collect);
}

/* --- sets of uids and names; without memory a later event or the next start comes back
 * to it --- */

void neap_collect_put_namespace(struct neap_kube_collect *collect, const char *name)
{
	static char here;

	(void)neap_map_set(collect->namespaces, name, &here);
}

static void put_gone(struct neap_kube_collect *collect, const struct source *source,
		     const char *uid)
{
	static struct neap_collect_scope of_namespace = {true}, of_cluster;

	(void)neap_map_set(collect->gone, uid,
			   source->kind->is_namespaced ? &of_namespace : &of_cluster);
}

/* The map's pointers are the counts. */
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

bool neap_collect_is_namespace(const struct source *source)
{
	return strcmp(source->resource, "namespaces") == 0;
}

static void see_deleting(struct source *source, const struct neap_object *object)
{
	struct neap_kube_collect *collect = source->collect;

	if (neap_collect_is_namespace(source))
		neap_collect_put_namespace(collect, object->name);
	/* The newest state says whether it has the finalizer "orphan". */
	if (object->has_finalizers)
		neap_collect_note_orphans(collect, source, object);
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
		/* Its namespace may be waiting for its deletion. */
		place = neap_store_find(collect->kube->store, "namespaces", "",
					event->object->ns);
		if (place && place->is_deleting)
			neap_collect_put_namespace(collect, event->object->ns);
		return;
	}
	count_owners(collect, event->object, 1);
	if (event->object->is_deleting)
		see_deleting(source, event->object);
	/* An owner may be deleted already, or never have existed. */
	if (event->object->owner_count &&
	    (!event->before || !neap_object_same_owners(event->object, event->before)))
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
			/* The watch fell behind: the counts are wrong now. */
			source->collect->is_lost = true;
			source->is_ready = false;
			return;
		}
		neap_collect_take_left(left, event->object);
		if (event->before)
			neap_collect_take_left(left, event->before);
		see_event(source, event);
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

/* Watches every kind from now on, and starts to count all stored objects. */
static int restart(struct neap_kube_collect *collect, struct neap_error *err)
{
	struct neap_store *store = collect->kube->store;
	const struct neap_kube_registry *registry = collect->kube->registry;
	size_t count = neap_kube_registry_count(registry);

	sources_free(collect);
	collect->emptying.name[0] = '\0'; /* it is found again by the listing */
	collect->generation = neap_kube_registry_generation(registry);
	collect->is_counting = true;
	collect->has_forgotten = false;
	collect->count_source = 0;
	collect->count_place =
		(struct neap_store_place){.version = neap_store_version(store)};
	collect->sources = neap_alloc_array(count, sizeof(*collect->sources));
	if (!collect->sources)
		return neap_error_nomem(err);
	for (size_t i = 0; i < count; i++) {
		const struct neap_kube_kind *kind = neap_kube_registry_at(registry, i);
		struct source *source = &collect->sources[collect->source_count];
		int ret;

		if (kind->view || kind->make)
			continue; /* its objects belong to another kind, or to none */
		collect->source_count++;
		source->collect = collect;
		source->is_ready = true; /* no callback comes for events that exist */
		source->kind = neap_kube_kind_ref(kind);
		neap_kube_kind_resource(source->kind, source->resource,
					sizeof(source->resource));
		ret = neap_store_watch_new(store, source->resource,
					   collect->count_place.version, ready, source,
					   &source->watch, err);
		if (ret < 0)
			return ret;
	}
	collect->is_lost = false;
	return 0;
}

struct counting {
	struct source *source;
	size_t *left;
};

static bool count_listed(void *arg, struct neap_object *object)
{
	const struct counting *counting = arg;

	if (!*counting->left)
		return false;
	neap_collect_take_left(counting->left, object);
	count_owners(counting->source->collect, object, 1);
	if (object->is_deleting)
		see_deleting(counting->source, object);
	return true;
}

/* Frees the former counts, also in pieces. */
static bool forget_counts(struct neap_kube_collect *collect, size_t *left)
{
	for (; *left && neap_map_count(collect->owned); (*left)--) {
		const char *uid;

		(void)neap_map_at(collect->owned, neap_map_count(collect->owned) - 1,
				  &uid);
		(void)neap_map_remove(collect->owned, uid);
	}
	return neap_collect_forget_orphans(collect, left) &&
	       !neap_map_count(collect->owned);
}

/* Counts a piece. At the end, every object with an owner is to be judged. */
static void count_on(struct neap_kube_collect *collect, size_t *left)
{
	const int64_t version = collect->count_place.version;

	if (!collect->has_forgotten && !forget_counts(collect, left))
		return;
	collect->has_forgotten = true;
	while (*left && collect->count_source < collect->source_count) {
		struct source *source = &collect->sources[collect->count_source];
		struct counting counting = {source, left};
		struct neap_error err;
		int more = neap_store_list(collect->kube->store, source->resource, NULL,
					   &collect->count_place, count_listed, &counting,
					   &err);

		if (more < 0) {
			/* The version is forgotten, as when a watch falls behind. */
			collect->is_lost = true;
			return;
		}
		if (more)
			continue;
		collect->count_source++;
		collect->count_place = (struct neap_store_place){.version = version};
	}
	if (collect->count_source < collect->source_count)
		return;
	collect->is_counting = false;
	neap_collect_pass_all(collect);
}

/* --- a turn --- */

/* It covers all that was refused. */
static void retry(evutil_socket_t fd NEAP_UNUSED, short what NEAP_UNUSED, void *arg)
{
	struct neap_kube_collect *collect = arg;

	collect->is_refused = false;
	collect->emptying.name[0] = '\0';
	neap_collect_pass_all(collect);
	wake(collect);
}

static enum neap_task_next turn(void *arg)
{
	struct neap_kube_collect *collect = arg;
	size_t left = NEAP_KUBE_COLLECT_PIECE;
	struct neap_error err;
	bool is_other;

	for (size_t i = 0; i < collect->source_count && left && !collect->is_lost &&
			   !collect->is_counting;
	     i++)
		if (collect->sources[i].is_ready)
			take_events(&collect->sources[i], &left);
	/* The kinds changed. First takes the remaining events of kinds that are gone. */
	is_other = collect->generation !=
		   neap_kube_registry_generation(collect->kube->registry);
	if ((collect->is_lost || (is_other && left && !collect->is_counting)) &&
	    restart(collect, &err) < 0) {
		collect->is_lost = true;
		neap_task_wake_later(collect->turn, RESTART_USEC);
		return NEAP_TASK_WAITS;
	}
	if (collect->is_counting) {
		count_on(collect, &left);
		return NEAP_TASK_GOES_ON; /* takes events once the counting is done */
	}
	neap_collect_pass(collect, &left);
	neap_collect_namespaces(collect, &left);
	return !left || collect->is_lost ? NEAP_TASK_GOES_ON : NEAP_TASK_WAITS;
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
	collect->turn = neap_task_new(kube->tasks, "", turn, collect);
	collect->retry = event_new(kube->base, -1, 0, retry, collect);
	collect->retry_usec = RETRY_USEC;
	collect->writes = neap_alloc(sizeof(*collect->writes));
	if (collect->writes)
		collect->writes->collect = collect;
	if (!collect->owned || !collect->gone || !collect->orphans ||
	    !collect->namespaces || !collect->turn ||
	    !neap_task_prepare_later(collect->turn) || !collect->retry ||
	    !collect->writes) {
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
	size_t all = SIZE_MAX;

	if (!collect)
		return;
	sources_free(collect);
	if (collect->orphans)
		(void)neap_collect_forget_orphans(collect, &all);
	neap_map_free(collect->owned);
	neap_map_free(collect->gone);
	neap_map_free(collect->orphans);
	neap_map_free(collect->namespaces);
	neap_task_free(collect->turn);
	if (collect->retry)
		event_free(collect->retry);
	if (collect->writes && collect->writes->waiting)
		collect->writes->collect = NULL;
	else
		free(collect->writes);
	free(collect);
}

uint64_t neap_kube_collect_count(const struct neap_kube_collect *collect)
{
	return collect->count;
}
