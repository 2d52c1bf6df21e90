/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys are in a map; those with a due time also in a heap. A key leaves both when its
 * look succeeded and nothing made it due again. A failing key stays, with its number of
 * failures. */
#include "api/workload/loop/feed.h"

#include <stdlib.h>
#include <string.h>

#include "api/task/task.h"
#include "engine/base/clock.h"
#include "engine/base/map.h"
#include "engine/base/mem.h"

#define DELAY_USEC     20000
#define RETRY_USEC     500000 /* after a lack of memory */
#define PAUSE_MIN_USEC 20000  /* after the first failure */
#define PAUSE_MAX_USEC (60 * 1000000LL)
#define EVENTS_PIECE   500
#define LIST_PIECE     500
/* Steps for one event. */
#define EVENT_STEPS 20

#define NOT_DUE SIZE_MAX

struct key {
	int64_t due; /* monotonic clock */
	size_t at;   /* in the heap, or NOT_DUE */
	unsigned failures;
	const char *name; /* after ns */
	char ns[];
};

struct source {
	struct neap_feed *feed;
	const char *resource;
	struct neap_client_watch *watch;
	bool is_ready; /* has events to take */
};

struct neap_feed {
	struct neap_feed_config config;
	struct neap_task *turn;
	struct source sources[NEAP_FEED_SOURCES];
	size_t source_count;
	struct neap_map *keys; /* "NAMESPACE/NAME": struct key */
	struct key **heap;     /* has room for all keys */
	size_t heap_count, heap_size;
	bool is_lost; /* changes were missed */
	bool is_listing;
	bool is_hearing;
	bool has_rest;     /* see rest */
	struct key *going; /* the look to continue; NULL: none */
	struct neap_steps steps;
	size_t listed; /* the source being listed */
	int64_t list_version;
	struct neap_client_place place; /* position in the list */
};

static void wake(struct neap_feed *feed, int64_t usec)
{
	if (usec)
		neap_task_wake_later(feed->turn, usec);
	else
		neap_task_wake(feed->turn);
}

/* --- steps --- */

bool neap_feed_has_steps(const struct neap_feed *feed)
{
	return neap_steps_has(&feed->steps);
}

void neap_feed_spend(struct neap_feed *feed, int64_t steps)
{
	neap_steps_spend(&feed->steps, steps);
}

int64_t neap_feed_most_steps(const struct neap_feed *feed)
{
	return feed->steps.most;
}

int64_t neap_feed_all_steps(const struct neap_feed *feed)
{
	return feed->steps.all;
}

int64_t neap_feed_steps_of(const struct neap_object *object,
			   const struct neap_selector *selector)
{
	return 1 + object->owner_count +
	       (selector ? neap_object_selection_steps(object, selector) : 0);
}

/* --- the heap --- */

static void put(struct neap_feed *feed, size_t at, struct key *key)
{
	feed->heap[at] = key;
	key->at = at;
}

static void sift_up(struct neap_feed *feed, struct key *key)
{
	size_t at = key->at;

	while (at && feed->heap[(at - 1) / 2]->due > key->due) {
		put(feed, at, feed->heap[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	put(feed, at, key);
}

static void sift_down(struct neap_feed *feed, struct key *key)
{
	size_t at = key->at, child;

	while ((child = 2 * at + 1) < feed->heap_count) {
		if (child + 1 < feed->heap_count &&
		    feed->heap[child + 1]->due < feed->heap[child]->due)
			child++;
		if (feed->heap[child]->due >= key->due)
			break;
		put(feed, at, feed->heap[child]);
		at = child;
	}
	put(feed, at, key);
}

/* The first key, which must exist. */
static struct key *pop(struct neap_feed *feed)
{
	struct key *first = feed->heap[0], *last = feed->heap[--feed->heap_count];

	if (last != first) {
		last->at = 0;
		sift_down(feed, last);
	}
	first->at = NOT_DUE;
	return first;
}

/* True when it is now the first. */
static bool make_due(struct neap_feed *feed, struct key *key, int64_t due)
{
	if (key->at == NOT_DUE)
		key->at = feed->heap_count++;
	else if (key->due <= due)
		return false;
	key->due = due;
	sift_up(feed, key);
	return key->at == 0;
}

/* --- keys --- */

static struct key *key_new(struct neap_feed *feed, const char *text, const char *ns)
{
	size_t len = strlen(ns) + 1;
	struct key *key;

	if (!neap_grow(&feed->heap, neap_map_count(feed->keys), &feed->heap_size,
		       sizeof(*feed->heap)))
		return NULL;
	key = neap_alloc(sizeof(*key) + strlen(text) + 1);
	if (!key)
		return NULL;
	memcpy(key->ns, text, strlen(text) + 1);
	key->ns[len - 1] = '\0'; /* the slash */
	key->name = key->ns + len;
	key->at = NOT_DUE;
	if (!neap_map_set(feed->keys, text, key)) {
		free(key);
		return NULL;
	}
	return key;
}

static void key_text(const char *ns, const char *name, char *buf, size_t size)
{
	size_t len = strlen(ns);

	(void)neap_strcopy(buf, size, ns);
	if (len + 1 < size) {
		buf[len] = '/';
		(void)neap_strcopy(buf + len + 1, size - len - 1, name);
	}
}

static void key_drop(struct neap_feed *feed, struct key *key)
{
	char text[NEAP_OBJECT_NAMESPACE + NEAP_OBJECT_NAME];

	key_text(key->ns, key->name, text, sizeof(text));
	(void)neap_map_remove(feed->keys, text);
	free(key);
}

void neap_feed_due(struct neap_feed *feed, const char *ns, const char *name,
		   int64_t after_usec)
{
	char text[NEAP_OBJECT_NAMESPACE + NEAP_OBJECT_NAME];
	struct key *key;

	if (strlen(ns) >= NEAP_OBJECT_NAMESPACE || strlen(name) >= NEAP_OBJECT_NAME)
		return; /* no object has a name this long */
	key_text(ns, name, text, sizeof(text));
	key = neap_map_find(feed->keys, text);
	if (!key)
		key = key_new(feed, text, ns);
	if (feed->is_hearing && after_usec < feed->config.delay_usec)
		after_usec = feed->config.delay_usec;
	if (key) {
		/* A running turn computes its sleep itself. */
		if (make_due(feed, key, neap_clock_steady() + after_usec) &&
		    !feed->is_hearing)
			wake(feed, after_usec);
	} else {
		neap_feed_restart(feed);
	}
}

void neap_feed_restart(struct neap_feed *feed)
{
	feed->is_lost = true;
	wake(feed, RETRY_USEC);
}

/* --- what happens --- */

static void ready(void *arg)
{
	struct source *source = arg;

	source->is_ready = true;
	wake(source->feed, 0);
}

/* Begins to watch, and lists everything. */
static int restart(struct neap_feed *feed, struct neap_error *err)
{
	struct neap_client *client = feed->config.client;

	for (size_t i = 0; i < feed->source_count; i++) {
		struct source *source = &feed->sources[i];
		int ret;

		neap_client_watch_free(source->watch);
		source->watch = NULL;
		source->is_ready = true; /* no callback comes for events that exist */
		ret = neap_client_watch_new(client, source->resource,
					    neap_client_version(client), ready, source,
					    &source->watch, err);
		if (ret < 0)
			return ret;
	}
	feed->is_lost = false;
	feed->is_listing = true;
	feed->listed = 0;
	feed->list_version = neap_client_version(client);
	feed->place = (struct neap_client_place){.version = feed->list_version};
	if (feed->config.anew)
		feed->config.anew(feed->config.arg);
	return 0;
}

/* True: continue with the next event. */
static bool hear(struct neap_feed *feed, const char *resource,
		 const struct neap_client_event *event)
{
	neap_feed_spend(feed, EVENT_STEPS + event->object->owner_count +
				      (event->before ? event->before->owner_count : 0));
	feed->config.heard(feed->config.arg, resource, event);
	feed->has_rest = feed->config.rest && !feed->config.rest(feed->config.arg);
	return !feed->has_rest && neap_feed_has_steps(feed);
}

struct piece {
	struct neap_feed *feed;
	size_t left;
};

static bool note_listed(void *arg, struct neap_object *object)
{
	struct piece *piece = arg;
	struct neap_feed *feed = piece->feed;
	const struct neap_client_event event = {
		.what = NEAP_CLIENT_ADDED, .version = object->version, .object = object};

	if (!piece->left)
		return false;
	piece->left--;
	if (feed->listed == 0)
		neap_feed_due(feed, object->ns, object->name, 0);
	if (feed->config.anew &&
	    !hear(feed, feed->sources[feed->listed].resource, &event))
		piece->left = 0; /* this one is processed */
	return !feed->is_lost;
}

static void list_some(struct neap_feed *feed)
{
	struct piece piece = {feed, LIST_PIECE};
	struct neap_error err;
	int more = neap_client_list(feed->config.client,
				    feed->sources[feed->listed].resource, NULL,
				    &feed->place, note_listed, &piece, &err);

	if (more > 0)
		return;
	if (more < 0) { /* the version is forgotten: continue with the present one */
		feed->list_version = neap_client_version(feed->config.client);
		feed->place.version = feed->list_version;
		return;
	}
	feed->listed++;
	feed->is_listing = feed->config.anew && feed->listed < feed->source_count;
	feed->place = (struct neap_client_place){.version = feed->list_version};
}

static void hear_some(struct neap_feed *feed, struct source *source, size_t *left)
{
	const struct neap_client_event *event;
	struct neap_error err;

	for (; *left; (*left)--) {
		int ret = neap_client_watch_next(source->watch, &event, &err);

		if (ret <= 0) {
			source->is_ready = false;
			feed->is_lost = feed->is_lost || ret < 0;
			return;
		}
		if (!hear(feed, source->resource, event))
			*left = 1;
	}
}

/* --- looking --- */

static int64_t pause_of(unsigned failures)
{
	int64_t pause = PAUSE_MIN_USEC;

	while (--failures && pause < PAUSE_MAX_USEC)
		pause *= 2;
	return pause < PAUSE_MAX_USEC ? pause : PAUSE_MAX_USEC;
}

static void look_at_first(struct neap_feed *feed)
{
	struct key *key = feed->going ? feed->going : pop(feed);
	int64_t after = feed->config.look(feed->config.arg, key->ns, key->name);

	feed->going = after == NEAP_FEED_GOES_ON ? key : NULL;
	if (feed->going)
		return;
	key->failures = after < 0 ? key->failures + (key->failures < 32) : 0;
	if (after < 0)
		after = pause_of(key->failures);
	if (after > 0)
		(void)make_due(feed, key, neap_clock_steady() + after);
	if (key->at == NOT_DUE)
		key_drop(feed, key);
}

static bool is_any_ready(const struct neap_feed *feed)
{
	for (size_t i = 0; i < feed->source_count; i++)
		if (feed->sources[i].is_ready)
			return true;
	return false;
}

static void look_at_some(struct neap_feed *feed)
{
	int64_t at = neap_clock_steady();

	/* Slow looks mean fewer per turn. */
	for (int i = 0; i < NEAP_FEED_PIECE && (i == 0 || at < feed->steps.until); i++) {
		if (!feed->going && (!feed->heap_count || feed->heap[0]->due > at))
			return;
		look_at_first(feed);
		if (feed->going || !neap_feed_has_steps(feed))
			return;
		at = neap_clock_steady();
	}
}

static enum neap_task_next turn(void *arg)
{
	struct neap_feed *feed = arg;
	size_t left = EVENTS_PIECE;
	struct neap_error err;
	bool has_heard;

	if (feed->is_lost && restart(feed, &err) < 0) {
		feed->is_lost = true;
		wake(feed, RETRY_USEC);
		return NEAP_TASK_WAITS;
	}
	neap_steps_begin(&feed->steps, feed->config.tasks);
	feed->is_hearing = true;
	if (feed->has_rest)
		feed->has_rest = !feed->config.rest(feed->config.arg);
	if (feed->has_rest || !neap_feed_has_steps(feed))
		left = 0;
	/* The listed state is older than the events. */
	if (feed->is_listing && feed->config.anew)
		left = 0;
	for (size_t i = 0; i < feed->source_count && left; i++)
		if (feed->sources[i].is_ready)
			hear_some(feed, &feed->sources[i], &left);
	if (feed->is_listing && !feed->has_rest)
		list_some(feed);
	feed->is_hearing = false;
	/* Events come first: a look may depend on them. Both may be a write or two, so
	 * that a turn is not for both when it is used up. */
	has_heard = !is_any_ready(feed) && !feed->has_rest &&
		    !(feed->is_listing && feed->config.anew);
	if (has_heard && !feed->is_lost && neap_feed_has_steps(feed))
		look_at_some(feed);
	if (feed->is_lost)
		wake(feed, RETRY_USEC);
	else if (!has_heard || is_any_ready(feed) || feed->is_listing || feed->going)
		return NEAP_TASK_GOES_ON;
	else if (feed->heap_count) {
		int64_t after = feed->heap[0]->due - neap_clock_steady();

		wake(feed, after > 0 ? after : 0);
	}
	return NEAP_TASK_WAITS;
}

/* --- its life --- */

int neap_feed_new(const struct neap_feed_config *config, struct neap_feed **ret,
		  struct neap_error *err)
{
	struct neap_feed *feed = neap_alloc(sizeof(*feed));

	*ret = NULL;
	if (!feed)
		return neap_error_nomem(err);
	feed->config = *config;
	if (!feed->config.delay_usec)
		feed->config.delay_usec = DELAY_USEC;
	while (feed->source_count < NEAP_FEED_SOURCES &&
	       config->resources[feed->source_count]) {
		feed->sources[feed->source_count] = (struct source){
			.feed = feed, .resource = config->resources[feed->source_count]};
		feed->source_count++;
	}
	feed->keys = neap_map_new();
	feed->turn = neap_task_new(config->tasks, config->resources[0], turn, feed);
	if (!feed->keys || !feed->turn || !neap_task_prepare_later(feed->turn)) {
		neap_feed_free(feed);
		return neap_error_nomem(err);
	}
	feed->is_lost = true;
	wake(feed, 0);
	*ret = feed;
	return 0;
}

void neap_feed_free(struct neap_feed *feed)
{
	if (!feed)
		return;
	for (size_t i = 0; i < feed->source_count; i++)
		neap_client_watch_free(feed->sources[i].watch);
	for (size_t i = 0; feed->keys && i < neap_map_count(feed->keys); i++)
		free(neap_map_at(feed->keys, i, NULL));
	neap_map_free(feed->keys);
	free(feed->heap);
	neap_task_free(feed->turn);
	free(feed);
}
