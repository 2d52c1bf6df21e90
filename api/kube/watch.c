/* SPDX-License-Identifier: Apache-2.0
 *
 * Watches: what is there, where a client asks for it, then every change, a line each.
 *
 * A watcher is only ever given as much as its connection takes: what waits for it are events that the
 * store remembers anyway, for all watchers together. One that falls behind what the store remembers is
 * told so (410) and lists anew. An object's text is what the store keeps, so that a frame is a copy of it
 * between two short texts. */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/kube_priv.h"
#include "engine/base/json.h"
#include "engine/base/mem.h"

/* A watcher gets the next piece when the last one is on its way. */
#define PIECE_BYTES ((size_t)64 * 1024)
/* Without a wish of the client's: an hour. Clients then come again, from where they were. */
#define TIMEOUT_S  3600
#define BOOKMARK_S 60
/* Of one frame: the object as it is, or as a row of a Table. */
#define FRAME_MAX (4 * (size_t)NEAP_OBJECT_TEXT_MAX)

struct watcher {
	struct watcher *next, **prev;
	struct call call; /* without a request */
	struct choice choice;
	struct neap_http_stream *stream;
	struct neap_store_watch *watch;
	struct event *end, *bookmark;
	struct neap_store_place place; /* of the objects that are there already */
	bool is_listing;
	bool wants_bookmarks, wants_initial_end;
	bool has_columns; /* were sent */
	bool waits_for_room, is_over;
	int64_t told; /* version of the last frame */
};

static void pump(struct watcher *watcher);

static void watcher_free(struct watcher *watcher)
{
	*watcher->prev = watcher->next;
	if (watcher->next)
		watcher->next->prev = watcher->prev;
	watcher->call.kube->watcher_count--;
	if (watcher->watch)
		neap_store_watch_free(watcher->watch);
	if (watcher->end)
		event_free(watcher->end);
	if (watcher->bookmark)
		event_free(watcher->bookmark);
	choice_done(&watcher->choice);
	(void)neap_kube_kind_unref(watcher->call.target.kind);
	free(watcher);
}

static void client_gone(void *arg)
{
	watcher_free(arg);
}

static void watcher_end(struct watcher *watcher)
{
	neap_http_stream_end(watcher->stream);
	watcher_free(watcher);
}

void call_watch_end(struct watcher *watcher)
{
	watcher_end(watcher);
}

void kube_watch_end(struct neap_kube *kube, const struct neap_kube_kind *kind)
{
	struct watcher *next;

	for (struct watcher *watcher = kube->watchers; watcher; watcher = next) {
		next = watcher->next;
		if (watcher->call.target.kind == kind)
			watcher_end(watcher);
	}
}

/* --- frames --- */

static bool add_object(struct watcher *watcher, struct neap_object *object,
		       struct neap_buf *out)
{
	if (watcher->call.shape == SHAPE_OBJECT) {
		shape_object(&watcher->call, object, out);
		return true;
	}
	if (!shape_table(&watcher->call, &object, 1, !watcher->has_columns, "{}", out))
		return false;
	watcher->has_columns = true;
	return true;
}

static bool add_frame(struct watcher *watcher, const char *type,
		      struct neap_object *object, struct neap_buf *out)
{
	neap_buf_addf(out, "{\"type\":\"%s\",\"object\":", type);
	if (!add_object(watcher, object, out))
		return false;
	neap_buf_adds(out, "}\n");
	return true;
}

static void add_bookmark(const struct watcher *watcher, int64_t version,
			 bool is_initial_end, struct neap_buf *out)
{
	const char *annotations =
		is_initial_end
			? ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}"
			: "";

	neap_buf_addf(
		out,
		"{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"%s\",\"apiVersion\":\"%s\","
		"\"metadata\":{\"resourceVersion\":\"%lld\",\"creationTimestamp\":null%s}}}\n",
		watcher->call.target.kind->kind, watcher->call.api_version,
		(long long)version, annotations);
}

static void add_error(struct watcher *watcher, struct neap_buf *out)
{
	json_t *status = neap_kube_status(&watcher->call.failure);
	char *text = status ? neap_json_dump(status, JSON_COMPACT) : NULL;

	if (text)
		neap_buf_addf(out, "{\"type\":\"ERROR\",\"object\":%s}\n", text);
	free(text);
	json_decref(status);
}

static void add_expired(struct watcher *watcher, int64_t version, struct neap_buf *out)
{
	(void)neap_kube_fail(&watcher->call.failure, NEAP_KUBE_EXPIRED,
			     "too old resource version: %lld (%lld)", (long long)version,
			     (long long)neap_store_version(watcher->call.kube->store));
	add_error(watcher, out);
}

/* --- what is told of a change --- */

static bool is_mine(const struct watcher *watcher, const struct neap_object *object)
{
	const char *ns = watcher->call.target.ns;

	return object && (!*ns || strcmp(object->ns, ns) == 0) &&
	       choice_has(&watcher->choice, object);
}

/* NULL: nothing. To a watcher with a selector an object appears when it starts to match, and is gone when
 * it stops to. */
static const char *type_of(const struct watcher *watcher,
			   const struct neap_store_event *event)
{
	bool is_now = is_mine(watcher, event->object);
	bool was = is_mine(watcher, event->before);

	switch (event->what) {
	case NEAP_STORE_ADDED:
		return is_now ? "ADDED" : NULL;
	case NEAP_STORE_DELETED:
		return is_now || was ? "DELETED" : NULL;
	case NEAP_STORE_MODIFIED:
		break;
	}
	if (is_now)
		return was ? "MODIFIED" : "ADDED";
	return was ? "DELETED" : NULL;
}

/* --- giving --- */

struct listing {
	struct watcher *watcher;
	struct neap_buf *out;
	bool failed;
};

static bool take_listed(void *arg, struct neap_object *object)
{
	struct listing *listing = arg;

	if (listing->out->len >= PIECE_BYTES)
		return false;
	if (is_mine(listing->watcher, object) &&
	    !add_frame(listing->watcher, "ADDED", object, listing->out))
		listing->failed = true;
	return !listing->failed;
}

/* True: go on with events. */
static bool pump_listing(struct watcher *watcher, struct neap_buf *out)
{
	struct listing listing = {.watcher = watcher, .out = out};
	const char *ns = watcher->call.target.ns;
	struct neap_error err;
	int more = neap_store_list(watcher->call.kube->store, watcher->call.resource,
				   *ns ? ns : NULL, &watcher->place, take_listed,
				   &listing, &err);

	if (more < 0)
		add_expired(watcher, watcher->place.version, out);
	watcher->is_over = more < 0 || listing.failed;
	if (more || watcher->is_over)
		return false;
	watcher->is_listing = false;
	if (watcher->wants_initial_end)
		add_bookmark(watcher, watcher->place.version, true, out);
	return true;
}

static void pump_events(struct watcher *watcher, struct neap_buf *out)
{
	while (out->len < PIECE_BYTES) {
		struct neap_store_event *event;
		struct neap_error err;
		int ret = neap_store_watch_next(watcher->watch, &event, &err);
		const char *type;

		if (ret == 0)
			return;
		if (ret < 0) {
			add_expired(watcher, watcher->told, out);
			watcher->is_over = true;
			return;
		}
		type = type_of(watcher, event);
		if (type && !add_frame(watcher, type, event->object, out)) {
			watcher->is_over = true;
			return;
		}
		if (type)
			watcher->told = event->version;
	}
}

static void has_room(void *arg)
{
	struct watcher *watcher = arg;

	watcher->waits_for_room = false;
	pump(watcher);
}

/* Ends the watcher when there is nothing more to say. */
static void pump(struct watcher *watcher)
{
	neap_auto_buf struct neap_buf out = {0};
	bool is_over;

	neap_buf_init(&out, PIECE_BYTES + FRAME_MAX);
	if (watcher->waits_for_room)
		return;
	if (!watcher->is_over && (!watcher->is_listing || pump_listing(watcher, &out)))
		pump_events(watcher, &out);
	/* Half a frame helps nobody: the client comes again from where it was. */
	is_over = watcher->is_over || neap_buf_failed(&out);
	if (!neap_buf_failed(&out) && out.len) {
		watcher->waits_for_room = true;
		if (neap_http_stream_push(watcher->stream, out.data, out.len, has_room,
					  watcher) < 0)
			is_over = true;
	}
	if (is_over)
		watcher_end(watcher);
}

static void store_ready(void *arg)
{
	pump(arg);
}

/* Says how far the watcher is where nothing that it asked for happened, so that it need not list when it
 * comes again. */
static void say_version(struct watcher *watcher)
{
	int64_t version = neap_store_watch_version(watcher->watch);
	neap_auto_buf struct neap_buf out = {0};

	neap_buf_init(&out, NEAP_BUF_LINE);
	if (!watcher->wants_bookmarks || watcher->is_listing || watcher->waits_for_room ||
	    version <= watcher->told)
		return;
	add_bookmark(watcher, version, false, &out);
	if (neap_buf_failed(&out) ||
	    neap_http_stream_push(watcher->stream, out.data, out.len, has_room, watcher) <
		    0)
		return; /* the next one does as well */
	watcher->told = version;
	watcher->waits_for_room = true;
}

static void time_is_up(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	say_version(arg);
	watcher_end(arg);
}

static void bookmark_due(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	say_version(arg);
}

/* --- starting --- */

static bool start_timers(struct watcher *watcher, int64_t seconds)
{
	struct event_base *base = watcher->call.kube->base;
	struct timeval end = {.tv_sec = seconds}, each = {.tv_sec = BOOKMARK_S};

	watcher->end = event_new(base, -1, 0, time_is_up, watcher);
	if (!watcher->end || event_add(watcher->end, &end) < 0)
		return false;
	if (!watcher->wants_bookmarks)
		return true;
	watcher->bookmark = event_new(base, -1, EV_PERSIST, bookmark_due, watcher);
	return watcher->bookmark && event_add(watcher->bookmark, &each) == 0;
}

static struct watcher *watcher_new(struct call *call, int64_t version)
{
	struct watcher *watcher = neap_alloc(sizeof(*watcher));
	struct neap_kube *kube = call->kube;
	const char *initial;

	if (!watcher)
		return NULL;
	watcher->call = *call;
	(void)neap_kube_kind_ref(call->target.kind);
	watcher->call.request = NULL;
	watcher->wants_bookmarks = call_flag(call, "allowWatchBookmarks");
	initial = neap_http_query_find(call->request, "sendInitialEvents");
	watcher->is_listing =
		initial && *initial ? call_flag(call, "sendInitialEvents") : !version;
	watcher->wants_initial_end =
		watcher->wants_bookmarks && initial && watcher->is_listing;
	watcher->told = version ? version : neap_store_version(kube->store);
	watcher->place.version = neap_store_version(kube->store);
	watcher->next = kube->watchers;
	if (watcher->next)
		watcher->next->prev = &watcher->next;
	watcher->prev = &kube->watchers;
	kube->watchers = watcher;
	kube->watcher_count++;
	return watcher;
}

static void refuse(struct call *call, enum neap_code code, const char *what)
{
	struct neap_error err;

	(void)neap_error_set(&err, code, "%s", what);
	(void)neap_kube_fail_error(&call->failure, call->target.kind, "", &err);
	call_fail(call);
}

void call_watch(struct call *call)
{
	int64_t version, seconds;
	struct watcher *watcher;
	struct neap_error err;
	int64_t from;
	int ret;

	if (call_number(call, "resourceVersion", 0, &version) < 0 ||
	    call_number(call, "timeoutSeconds", TIMEOUT_S, &seconds) < 0) {
		call_fail(call);
		return;
	}
	if (call->kube->watcher_count >= NEAP_KUBE_WATCHES_MAX) {
		refuse(call, NEAP_EUNAVAILABLE, "too many watches are open");
		return;
	}
	watcher = watcher_new(call, version);
	if (!watcher) {
		refuse(call, NEAP_ENOMEM, "no memory for a watch");
		return;
	}
	if (choice_parse(call, &watcher->choice) < 0) {
		watcher_free(watcher);
		call_fail(call);
		return;
	}
	from = watcher->is_listing || !version ? watcher->place.version : version;
	ret = neap_store_watch_new(call->kube->store, call->resource, from, store_ready,
				   watcher, &watcher->watch, &err);
	if ((ret < 0 && ret != -NEAP_EGONE) ||
	    !start_timers(watcher, seconds ? seconds : TIMEOUT_S)) {
		watcher_free(watcher);
		refuse(call, NEAP_ENOMEM, "no memory for a watch");
		return;
	}
	watcher->stream = neap_http_stream_start_take(call->request, "application/json",
						      client_gone, watcher);
	call->request = NULL;
	if (!watcher->stream) {
		watcher_free(watcher);
		return;
	}
	if (ret == -NEAP_EGONE) {
		/* As a kube-apiserver tells it: the watch begins, and ends with its first frame. */
		neap_auto_buf struct neap_buf out = {0};

		neap_buf_init(&out, NEAP_BUF_LINE);
		add_expired(watcher, version, &out);
		if (!neap_buf_failed(&out))
			(void)neap_http_stream_push(watcher->stream, out.data, out.len,
						    has_room, watcher);
		watcher_end(watcher); /* what was sent still arrives */
		return;
	}
	pump(watcher);
}
