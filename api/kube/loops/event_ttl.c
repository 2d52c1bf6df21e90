/* SPDX-License-Identifier: Apache-2.0
 *
 * Expires Events. A list has all Events in the order of their last writes, which is that
 * of their versions; expired ones are deleted from its head. A deletion is requested
 * once. The Event then waits in a second list until it is gone. A deletion that a full
 * disk refused is requested again. */
#include "api/kube/loops/event_ttl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "api/kube/loops/gc_priv.h"
#include "api/kube/write/write.h"
#include "api/task/task.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"

#define RESOURCE "events"
/* How long a deletion may take before it is requested again. */
#define PATIENCE_USEC 2000000
/* The most time between two looks; and until a retry, after a lack of memory or a
 * refusal. */
#define LOOK_USEC  (10 * 1000000LL)
#define RETRY_USEC 500000
#define KEY_SIZE   (NEAP_OBJECT_NAMESPACE + NEAP_OBJECT_NAME)

/* An Event. Only its name is kept; its content is in the store. */
struct known {
	TAILQ_ENTRY(known) entry;
	/* Unix microseconds when it was written, or its deletion requested; NEAP_MISSING:
	 * not read yet */
	int64_t at;
	int64_t version;
	size_t bytes;
	bool is_asked; /* its deletion is requested */
	char ns[NEAP_OBJECT_NAMESPACE], name[];
};

TAILQ_HEAD(known_list, known);

struct neap_kube_expire {
	struct neap_kube *kube;
	struct neap_kube_expire_config config;
	struct neap_store_watch *watch;
	struct neap_map *by_key;
	struct known_list waiting, asked;
	size_t bytes; /* of Events that wait */
	size_t count; /* of Events that wait */
	struct neap_task *turn;
	int64_t started; /* when it listed all Events */
	bool is_lost;    /* events of the store were missed */
	uint64_t asked_count;
};

static void wake(struct neap_kube_expire *expire, int64_t usec)
{
	neap_task_wake_later(expire->turn, usec);
}

static const char *key_of(const char *ns, const char *name, char *buf)
{
	(void)snprintf(buf, KEY_SIZE, "%s/%s", ns, name);
	return buf;
}

static void take_out(struct neap_kube_expire *expire, struct known *known)
{
	if (known->is_asked) {
		TAILQ_REMOVE(&expire->asked, known, entry);
		return;
	}
	TAILQ_REMOVE(&expire->waiting, known, entry);
	expire->bytes -= known->bytes;
	expire->count--;
}

static void put_last(struct neap_kube_expire *expire, struct known *known)
{
	known->is_asked = false;
	TAILQ_INSERT_TAIL(&expire->waiting, known, entry);
	expire->bytes += known->bytes;
	expire->count++;
}

static void forget(struct neap_kube_expire *expire, const struct neap_object *object)
{
	char key[KEY_SIZE];
	struct known *known =
		neap_map_remove(expire->by_key, key_of(object->ns, object->name, key));

	if (!known)
		return;
	take_out(expire, known);
	free(known);
}

/* False without memory. */
static bool note(struct neap_kube_expire *expire, const struct neap_object *object,
		 int64_t at)
{
	char key[KEY_SIZE];
	struct known *known;

	(void)key_of(object->ns, object->name, key);
	known = neap_map_find(expire->by_key, key);
	if (known) {
		take_out(expire, known);
	} else {
		size_t len = strlen(object->name) + 1;

		known = neap_alloc(sizeof(*known) + len);
		if (!known)
			return false;
		(void)neap_strcopy(known->ns, sizeof(known->ns), object->ns);
		memcpy(known->name, object->name, len);
		if (!neap_map_set(expire->by_key, key, known)) {
			free(known);
			return false;
		}
	}
	known->at = at;
	known->version = object->version;
	known->bytes = object->text_len;
	put_last(expire, known);
	return true;
}

/* --- how old it is --- */

static int64_t later(const json_t *time, int64_t other)
{
	const char *text = json_string_value(time);
	int64_t usec;

	return text && neap_time_parse(text, &usec, NULL) == 0 && usec > other ? usec
									       : other;
}

/* The time of an Event that existed at the start. A time after the start is not
 * believed. */
static int64_t find_time(const struct neap_object *object, int64_t started)
{
	json_t *tree = neap_object_tree(object);
	int64_t at = later(neap_json_at(tree, "metadata.creationTimestamp"), 0);

	at = later(json_object_get(tree, "eventTime"), at);
	at = later(json_object_get(tree, "lastTimestamp"), at);
	at = later(neap_json_at(tree, "series.lastObservedTime"), at);
	json_decref(tree);
	/* Without memory it is kept for now. */
	return tree && at < started ? at : started;
}

/* --- what happens --- */

static void ready(void *arg)
{
	wake(arg, 0);
}

static void forget_all(struct neap_kube_expire *expire)
{
	while (neap_map_count(expire->by_key)) {
		const char *key;
		struct known *known = neap_map_at(
			expire->by_key, neap_map_count(expire->by_key) - 1, &key);

		(void)neap_map_remove(expire->by_key, key);
		take_out(expire, known);
		free(known);
	}
}

struct found {
	struct neap_object **list;
	size_t count, size;
	bool failed;
};

static bool find_object(void *arg, struct neap_object *object)
{
	struct found *found = arg;

	if (found->count == found->size) {
		size_t size = found->size ? found->size * 2 : 256;
		struct neap_object **list =
			neap_realloc_array(found->list, size, sizeof(*list));

		found->failed = !list;
		if (!list)
			return false;
		found->list = list;
		found->size = size;
	}
	found->list[found->count++] = neap_object_ref(object);
	return true;
}

static int by_version(const void *a, const void *b)
{
	int64_t one = (*(struct neap_object *const *)a)->version;
	int64_t other = (*(struct neap_object *const *)b)->version;

	return (one > other) - (one < other);
}

/* Lists names only and parses nothing. Their number is limited by the quota. */
static int restart(struct neap_kube_expire *expire, struct neap_error *err)
{
	struct neap_store *store = expire->kube->store;
	struct neap_store_place place = {.version = neap_store_version(store)};
	struct found found = {0};
	int ret;

	neap_store_watch_free(expire->watch);
	expire->watch = NULL;
	forget_all(expire);
	ret = neap_store_watch_new(store, RESOURCE, place.version, ready, expire,
				   &expire->watch, err);
	if (ret < 0)
		return ret;
	ret = neap_store_list(store, RESOURCE, NULL, &place, find_object, &found, err);
	if (found.count)
		qsort(found.list, found.count, sizeof(*found.list), by_version);
	for (size_t i = 0; i < found.count; i++) {
		if (ret >= 0 && !note(expire, found.list[i], NEAP_MISSING))
			found.failed = true;
		(void)neap_object_unref(found.list[i]);
	}
	free(found.list);
	if (found.failed)
		return neap_error_nomem(err);
	if (ret < 0)
		return ret;
	expire->is_lost = false;
	expire->started = expire->kube->now();
	return 0;
}

static void take_events(struct neap_kube_expire *expire, size_t *left)
{
	int64_t now = expire->kube->now();
	struct neap_store_event *event;
	struct neap_error err;

	for (; *left; (*left)--) {
		int ret = neap_store_watch_next(expire->watch, &event, &err);

		if (ret == 0)
			return;
		if (ret < 0) {
			expire->is_lost = true;
			return;
		}
		if (event->what == NEAP_STORE_DELETED)
			forget(expire, event->object);
		else if (!note(expire, event->object, now))
			expire->is_lost = true;
	}
}

/* --- going --- */

/* Requests the deletion if the Event is unchanged. False: the store takes nothing now. */
static bool ask(struct neap_kube_expire *expire, struct known *known)
{
	struct neap_store *store = expire->kube->store;
	struct neap_object *newest =
		neap_store_newest(store, RESOURCE, known->ns, known->name);

	/* A newer version causes an event of the store. */
	if (newest && newest->version == known->version) {
		neap_kube_end(expire->kube, neap_kube_kind_stored(&neap_kube_event_view),
			      newest, NULL, NULL);
		if (neap_store_newest(store, RESOURCE, known->ns, known->name))
			return false;
		expire->asked_count++;
	}
	take_out(expire, known);
	known->is_asked = true;
	known->at = expire->kube->now();
	TAILQ_INSERT_TAIL(&expire->asked, known, entry);
	return true;
}

/* Microseconds until the first waiting Event expires; 0: it has. */
static int64_t due_in(struct neap_kube_expire *expire, int64_t now)
{
	struct known *first = TAILQ_FIRST(&expire->waiting);
	int64_t age;

	if (!first)
		return INT64_MAX;
	if (expire->count > expire->config.count_max ||
	    expire->bytes > expire->config.bytes_max)
		return 0;
	if (!expire->config.ttl_s)
		return INT64_MAX;
	if (first->at == NEAP_MISSING) {
		const struct neap_object *object = neap_store_find(
			expire->kube->store, RESOURCE, first->ns, first->name);

		first->at = object ? find_time(object, expire->started) : now;
	}
	/* The clock was set back. */
	if (first->at > now)
		first->at = now;
	age = now - first->at;
	return age < expire->config.ttl_s * 1000000 ? expire->config.ttl_s * 1000000 - age
						    : 0;
}

/* Handles Events whose accepted deletion did not happen. */
static bool ask_again(struct neap_kube_expire *expire, int64_t now, size_t *left)
{
	struct known *first;

	for (; *left && (first = TAILQ_FIRST(&expire->asked)) &&
	       (now < first->at || now - first->at >= PATIENCE_USEC);
	     (*left)--)
		if (!ask(expire, first))
			return false;
	return true;
}

/* Returns microseconds until the next look. */
static int64_t look(struct neap_kube_expire *expire)
{
	int64_t now = expire->kube->now(), due = 0;
	size_t left = NEAP_KUBE_EXPIRE_PIECE, seen = NEAP_KUBE_EXPIRE_PIECE;
	struct neap_error err;

	if (expire->is_lost && restart(expire, &err) < 0) {
		expire->is_lost = true;
		return RETRY_USEC;
	}
	take_events(expire, &seen);
	if (!ask_again(expire, now, &left))
		return RETRY_USEC;
	for (; left && (due = due_in(expire, now)) == 0; left--)
		if (!ask(expire, TAILQ_FIRST(&expire->waiting)))
			return RETRY_USEC;
	if (!left || !seen)
		return 0;
	if (expire->is_lost)
		return RETRY_USEC;
	if (!TAILQ_EMPTY(&expire->asked) && due > PATIENCE_USEC)
		due = PATIENCE_USEC;
	return due < LOOK_USEC ? due : LOOK_USEC;
}

static enum neap_task_next turn(void *arg)
{
	int64_t usec = look(arg);

	if (usec == 0)
		return NEAP_TASK_GOES_ON;
	wake(arg, usec);
	return NEAP_TASK_WAITS;
}

int neap_kube_expire_new(struct neap_kube *kube,
			 const struct neap_kube_expire_config *config,
			 struct neap_kube_expire **ret, struct neap_error *err)
{
	struct neap_kube_expire *expire = neap_alloc(sizeof(*expire));

	*ret = NULL;
	if (!expire)
		return neap_error_nomem(err);
	expire->kube = kube;
	expire->config = *config;
	if (!expire->config.count_max)
		expire->config.count_max = NEAP_KUBE_EVENTS_MAX;
	if (!expire->config.bytes_max)
		expire->config.bytes_max = NEAP_KUBE_EVENT_BYTES_MAX;
	TAILQ_INIT(&expire->waiting);
	TAILQ_INIT(&expire->asked);
	expire->is_lost = true;
	expire->by_key = neap_map_new();
	expire->turn = neap_task_new(kube->tasks, "", turn, expire);
	if (!expire->by_key || !expire->turn) {
		neap_kube_expire_free(expire);
		return neap_error_nomem(err);
	}
	wake(expire, 0);
	*ret = expire;
	return 0;
}

void neap_kube_expire_free(struct neap_kube_expire *expire)
{
	if (!expire)
		return;
	neap_store_watch_free(expire->watch);
	if (expire->by_key)
		forget_all(expire);
	neap_map_free(expire->by_key);
	neap_task_free(expire->turn);
	free(expire);
}

uint64_t neap_kube_expire_count(const struct neap_kube_expire *expire)
{
	return expire->asked_count;
}
