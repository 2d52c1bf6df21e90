/* SPDX-License-Identifier: Apache-2.0
 *
 * Watches: the present objects if requested, then every change, one line each.
 *
 * A watcher gets only as much as its connection accepts. Events that wait for it are in
 * the store's history, which all watchers share. A watcher that falls behind the history
 * gets 410, and lists again. */
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/read/read.h"
#include "api/kube/read/watch_priv.h"
#include "api/task/task.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

/* --- frames ---
 *
 * The bytes sent to a watcher. A frame is the store's text between two short texts. It is
 * not copied: the kernel reads it in place. The object is referenced while it waits. */

/* A frame is a short text and an object. At the end comes another short text, and maybe a
 * frame without an object. */
#define PARTS_MAX (NEAP_HTTP_PARTS_MAX - 8)
/* The size of one frame: the object as it is, or as a row of a Table. */
#define FRAME_MAX (4 * (size_t)NEAP_OBJECT_TEXT_MAX)
#define FRAME_END "}\n"

static const char *const types[HEADS] = {
	[NEAP_STORE_ADDED] = "ADDED",
	[NEAP_STORE_MODIFIED] = "MODIFIED",
	[NEAP_STORE_DELETED] = "DELETED",
};

/* Zeroed except for the heads; NULL without memory. */
static struct watcher *watcher_alloc(const struct call *call)
{
	static const char head[] = FRAME_END
		"{\"type\":\"%s\",\"object\":{\"kind\":\"%s\",\"apiVersion\":\"%s\",";
	const char *kind = shape_kind(call), *version = shape_version(call);
	size_t size = sizeof(head) + strlen("MODIFIED") + strlen(kind) + strlen(version);
	struct watcher *watcher = neap_alloc(sizeof(*watcher) + size * HEADS);

	for (size_t i = 0; watcher && i < HEADS; i++) {
		char *to = watcher->head_text + size * i;

		watcher->heads[i] = to;
		watcher->head_lens[i] =
			(size_t)snprintf(to, size, head, types[i], kind, version);
	}
	return watcher;
}

static void piece_init(struct piece *piece)
{
	piece->count = piece->bytes = piece->held_count = 0;
	piece->is_in_frame = false;
	neap_buf_init(&piece->text, PIECE_BYTES + FRAME_MAX);
}

/* Returns whether it has that many bytes, or no room for another frame. */
static bool piece_is_full(const struct piece *piece, size_t bytes)
{
	return piece->bytes >= bytes || piece->count >= PARTS_MAX;
}

static void add_part(struct piece *piece, const char *data, size_t len, void *owner)
{
	piece->parts[piece->count++] = (struct neap_http_part){data, len, owner};
	piece->bytes += len;
}

static void end_frame(struct piece *piece)
{
	if (piece->is_in_frame)
		add_part(piece, FRAME_END, strlen(FRAME_END), NULL);
	piece->is_in_frame = false;
}

/* Adds what was appended to piece->text after since bytes. */
static void add_text(struct piece *piece, size_t since)
{
	size_t len = piece->text.len - since;

	if (neap_buf_failed(&piece->text) || !len)
		return;
	end_frame(piece);
	add_part(piece, NULL, len, NULL);
}

static void add_object(const struct watcher *watcher, enum neap_store_what what,
		       struct neap_object *object, struct piece *piece)
{
	size_t skip = piece->is_in_frame ? 0 : strlen(FRAME_END);

	add_part(piece, watcher->heads[what] + skip, watcher->head_lens[what] - skip,
		 NULL);
	add_part(piece, object->text + 1, object->text_len - 1, object);
	piece->is_in_frame = true;
}

static bool add_row(struct watcher *watcher, enum neap_store_what what,
		    struct neap_object *object, struct piece *piece)
{
	size_t since = piece->text.len;

	neap_buf_addf(&piece->text, "{\"type\":\"%s\",\"object\":", types[what]);
	if (!shape_table(&watcher->call, object, !watcher->has_columns, &piece->text))
		return false;
	neap_buf_adds(&piece->text, FRAME_END);
	add_text(piece, since);
	watcher->has_columns = true;
	return true;
}

/* False without memory. */
static bool piece_add_frame(struct watcher *watcher, enum neap_store_what what,
			    struct neap_object *object, struct piece *piece)
{
	if (watcher->call.shape == SHAPE_TABLE)
		return add_row(watcher, what, object, piece);
	if (shape_is_other(&watcher->call)) {
		object = shape_shown(&watcher->call, object);
		if (!object)
			return false;
		piece->held[piece->held_count++] = object;
	}
	add_object(watcher, what, object, piece);
	return true;
}

static void piece_add_bookmark(const struct watcher *watcher, int64_t version,
			       bool is_initial_end, struct piece *piece)
{
	size_t since = piece->text.len;
	const char *annotations =
		is_initial_end
			? ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}"
			: "";

	neap_buf_addf(
		&piece->text,
		"{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"%s\",\"apiVersion\":\"%s\","
		"\"metadata\":{\"resourceVersion\":\"%lld\",\"creationTimestamp\":null%s}}}\n",
		shape_kind(&watcher->call), shape_version(&watcher->call),
		(long long)version, annotations);
	add_text(piece, since);
}

/* Adds the ERROR that ends a watch whose version left the history. */
static void piece_add_expired(struct watcher *watcher, int64_t version,
			      struct piece *piece)
{
	size_t since = piece->text.len;
	json_t *status;
	char *text;

	(void)neap_kube_fail(&watcher->call.failure, NEAP_CLIENT_EXPIRED,
			     "too old resource version: %lld (%lld)", (long long)version,
			     (long long)neap_store_version(watcher->call.kube->store));
	status = neap_kube_status(&watcher->call.failure);
	text = status ? neap_json_dump(status, JSON_COMPACT) : NULL;
	if (text)
		neap_buf_addf(&piece->text, "{\"type\":\"ERROR\",\"object\":%s" FRAME_END,
			      text);
	add_text(piece, since);
	free(text);
	json_decref(status);
}

static void hold(void *owner)
{
	(void)neap_object_ref(owner);
}

static void release(void *owner)
{
	(void)neap_object_unref(owner);
}

/* There is room for the next piece; arg is the watcher. */
static void watcher_has_room(void *arg)
{
	struct watcher *watcher = arg;

	watcher->waits = false;
	neap_task_go(watcher->task);
}

/* 1: sent or queued. 0: the watcher waits for room. -1: it cannot go on. */
static int piece_push(struct watcher *watcher, struct piece *piece)
{
	static const struct neap_http_owners owners = {hold, release};
	const char *text = piece->text.data;
	int pushed = 1;

	end_frame(piece);
	for (size_t i = 0; i < piece->count; i++) {
		if (piece->parts[i].data)
			continue;
		piece->parts[i].data = text;
		text += piece->parts[i].len;
	}
	if (piece->count)
		pushed =
			neap_http_stream_push(watcher->stream, piece->parts, piece->count,
					      &owners, watcher_has_room, watcher);
	watcher->waits = pushed == 0;
	watcher->piece_bytes = watcher->waits ? PIECE_FIRST : watcher->piece_bytes * 2;
	if (watcher->piece_bytes > PIECE_BYTES)
		watcher->piece_bytes = PIECE_BYTES;
	/* Half a frame is useless. The client comes again from its last version. */
	if (neap_buf_failed(&piece->text))
		pushed = -1;
	neap_buf_done(&piece->text);
	for (size_t i = 0; i < piece->held_count; i++)
		(void)neap_object_unref(piece->held[i]);
	return pushed < 0 ? -1 : pushed;
}

/* --- watches --- */

/* Events between two checks of the time. */
#define EVENTS_A_LOOK 16
/* The default is an hour. Clients then come again with the last version. */
#define TIMEOUT_S     3600
#define TIMEOUT_S_MAX (24 * 3600)
#define BOOKMARK_S    60

/* The parameters of a request. */
struct wish {
	int64_t version, seconds;
	bool is_listing;   /* present objects come first */
	bool is_asked_for; /* ... by name, so that their end is reported */
};

static void watcher_free(struct watcher *watcher)
{
	*watcher->prev = watcher->next;
	if (watcher->next)
		watcher->next->prev = watcher->prev;
	watcher->call.kube->watcher_count--;
	kube_tidy_later(watcher->call.kube);
	if (watcher->watch)
		neap_store_watch_free(watcher->watch);
	if (watcher->end)
		event_free(watcher->end);
	if (watcher->bookmark)
		event_free(watcher->bookmark);
	neap_task_free(watcher->task);
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

/* --- what is told of a change --- */

static bool is_mine(const struct watcher *watcher, const struct neap_object *object)
{
	const char *ns = watcher->call.target.ns, *name = watcher->call.target.name;

	return object && (!*ns || strcmp(object->ns, ns) == 0) &&
	       (!*name || strcmp(object->name, name) == 0) &&
	       choice_has(&watcher->choice, object);
}

/* False: nothing to send. For a watcher with a selector, an object is added when it
 * begins to match, and deleted when it ceases to. */
static bool what_of(const struct watcher *watcher, const struct neap_store_event *event,
		    enum neap_store_what *ret)
{
	bool is_now = is_mine(watcher, event->object);
	bool was = is_mine(watcher, event->before);

	*ret = event->what;
	if (event->what == NEAP_STORE_MODIFIED)
		*ret = !was     ? NEAP_STORE_ADDED
		       : is_now ? NEAP_STORE_MODIFIED
				: NEAP_STORE_DELETED;
	return is_now || was;
}

/* --- giving --- */

struct listing {
	struct watcher *watcher;
	struct piece *piece;
	size_t seen;
	bool failed;
};

static bool take_listed(void *arg, struct neap_object *object)
{
	struct listing *listing = arg;

	if (piece_is_full(listing->piece, PIECE_BYTES) ||
	    (listing->seen && !neap_task_has_time(listing->watcher->task)))
		return false;
	listing->seen++;
	if (is_mine(listing->watcher, object) &&
	    !piece_add_frame(listing->watcher, NEAP_STORE_ADDED, object, listing->piece))
		listing->failed = true;
	return !listing->failed;
}

/* True: continue with events. */
static bool take_listing(struct watcher *watcher, struct piece *piece)
{
	struct listing listing = {.watcher = watcher, .piece = piece};
	const char *ns = watcher->call.target.ns;
	struct neap_error err;
	int more = neap_store_list(watcher->call.kube->store, watcher->call.resource,
				   *ns ? ns : NULL, &watcher->place, take_listed,
				   &listing, &err);

	if (more < 0)
		piece_add_expired(watcher, watcher->place.version, piece);
	watcher->is_over = more < 0 || listing.failed;
	if (more || watcher->is_over)
		return false;
	watcher->is_listing = false;
	if (watcher->wants_initial_end)
		piece_add_bookmark(watcher, watcher->place.version, true, piece);
	return true;
}

/* False: no more events for now. */
static bool take_events(struct watcher *watcher, struct piece *piece)
{
	for (size_t i = 1; !piece_is_full(piece, watcher->piece_bytes) &&
			   (i % EVENTS_A_LOOK || neap_task_has_time(watcher->task));
	     i++) {
		struct neap_store_event *event;
		enum neap_store_what what;
		struct neap_error err;
		int ret = neap_store_watch_next(watcher->watch, &event, &err);

		if (ret < 0) {
			piece_add_expired(watcher, watcher->told, piece);
			watcher->is_over = true;
		}
		if (ret <= 0)
			return false;
		if (event->version <= watcher->after || !what_of(watcher, event, &what))
			continue;
		if (!piece_add_frame(watcher, what, event->object, piece)) {
			watcher->is_over = true;
			return false;
		}
		watcher->told = event->version;
	}
	return true;
}

/* Sends a piece. Ends the watcher when nothing more is to be sent. */
static enum neap_task_next step(void *arg)
{
	struct watcher *watcher = arg;
	bool has_more = true;
	struct piece piece;
	int pushed;

	if (watcher->waits)
		return NEAP_TASK_WAITS;
	piece_init(&piece);
	if (!watcher->is_over && (!watcher->is_listing || take_listing(watcher, &piece)))
		has_more = take_events(watcher, &piece);
	pushed = piece_push(watcher, &piece);
	if (pushed < 0 || watcher->is_over) {
		watcher_end(watcher); /* what was sent still arrives */
		return NEAP_TASK_IS_OVER;
	}
	return has_more && !watcher->waits ? NEAP_TASK_GOES_ON : NEAP_TASK_WAITS;
}

static void store_ready(void *arg)
{
	struct watcher *watcher = arg;

	neap_task_go(watcher->task);
}

/* Reports the version reached (a bookmark) when no matching event occurred, so that the
 * client need not list when it comes again. False: the stream is broken. */
static bool say_version(struct watcher *watcher)
{
	int64_t version = neap_store_watch_version(watcher->watch);
	struct piece piece;

	if (!watcher->wants_bookmarks || watcher->is_listing || watcher->waits ||
	    version <= watcher->told)
		return true;
	piece_init(&piece);
	piece_add_bookmark(watcher, version, false, &piece);
	watcher->told = version;
	return piece_push(watcher, &piece) >= 0;
}

static void time_is_up(int fd NEAP_UNUSED, short what NEAP_UNUSED, void *arg)
{
	(void)say_version(arg);
	watcher_end(arg);
}

static void bookmark_due(int fd NEAP_UNUSED, short what NEAP_UNUSED, void *arg)
{
	if (!say_version(arg))
		watcher_end(arg);
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

static struct watcher *watcher_new(struct call *call, const struct wish *wish)
{
	struct watcher *watcher = watcher_alloc(call);
	struct neap_kube *kube = call->kube;

	if (watcher)
		watcher->task = neap_task_new(
			kube->tasks, neap_http_peer_get(call->request)->user->name, step,
			watcher);
	if (!watcher || !watcher->task) {
		free(watcher);
		return NULL;
	}
	watcher->call = *call;
	(void)neap_kube_kind_ref(call->target.kind);
	watcher->call.request = NULL;
	watcher->wants_bookmarks = call_flag(call, "allowWatchBookmarks");
	watcher->piece_bytes = PIECE_FIRST;
	watcher->is_listing = wish->is_listing;
	watcher->wants_initial_end = watcher->wants_bookmarks && wish->is_asked_for;
	watcher->told = wish->version ? wish->version : neap_store_version(kube->store);
	watcher->place.version = neap_store_version(kube->store);
	watcher->after = wish->is_listing || !wish->version ? watcher->place.version
							    : wish->version;
	watcher->next = kube->watchers;
	if (watcher->next)
		watcher->next->prev = &watcher->next;
	watcher->prev = &kube->watchers;
	kube->watchers = watcher;
	kube->watcher_count++;
	return watcher;
}

static int refuse_nomem(struct call *call)
{
	struct neap_error err;

	(void)neap_error_set(&err, NEAP_ENOMEM, "no memory for a watch");
	return neap_kube_fail_error(&call->failure, call->target.kind, "", &err);
}

/* As in a kube-apiserver, the watch begins, and its first frame ends it. */
static void end_expired(struct watcher *watcher, int64_t version)
{
	struct piece piece;

	piece_init(&piece);
	piece_add_expired(watcher, version, &piece);
	(void)piece_push(watcher, &piece);
	watcher_end(watcher); /* what was sent still arrives */
}

/* "timeoutSeconds=300". Watches ignore "timeout=5s", which kubectl sends with every
 * request for --request-timeout: clients enforce it themselves. */
static int parse_timeout(struct call *call, int64_t *ret)
{
	if (call_number(call, "timeoutSeconds", 0, ret) < 0)
		return -1;
	if (!*ret)
		*ret = TIMEOUT_S;
	if (*ret > TIMEOUT_S_MAX)
		*ret = TIMEOUT_S_MAX;
	if (*ret < 0)
		*ret = 0; /* ends before it begins */
	return 0;
}

/* The version to start from, and whether present objects come first. */
static int parse_wish(struct call *call, struct wish *ret)
{
	const char *initial = call_query(call, "sendInitialEvents");
	const char *match = call_query(call, "resourceVersionMatch");

	if (call_version(call, &ret->version) < 0 ||
	    parse_timeout(call, &ret->seconds) < 0 || call_check_match(call, true) < 0)
		return -1;
	ret->is_asked_for = call_flag(call, "sendInitialEvents");
	ret->is_listing = initial ? ret->is_asked_for : !ret->version;
	/* The present state must not be older than the version. */
	if (ret->is_asked_for && match && *match)
		return call_check_version(call, ret->version);
	return 0;
}

int call_watch(struct call *call)
{
	struct watcher *watcher;
	struct neap_error err;
	struct wish wish;
	int ret;

	if (parse_wish(call, &wish) < 0)
		return -1;
	watcher = watcher_new(call, &wish);
	if (!watcher)
		return refuse_nomem(call);
	if (choice_parse(call, &watcher->choice) < 0) {
		watcher_free(watcher);
		return -1;
	}
	ret = neap_store_watch_new(call->kube->store, call->resource, watcher->after,
				   store_ready, watcher, &watcher->watch, &err);
	if ((ret < 0 && ret != -NEAP_EGONE) || !start_timers(watcher, wish.seconds)) {
		watcher_free(watcher);
		return refuse_nomem(call);
	}
	watcher->stream = neap_http_stream_start_take(call->request, "application/json",
						      client_gone, watcher);
	call->request = NULL;
	if (!watcher->stream)
		watcher_free(watcher);
	else if (ret == -NEAP_EGONE)
		end_expired(watcher, wish.version);
	else
		neap_task_go(watcher->task);
	return 0;
}
