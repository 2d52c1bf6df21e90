/* SPDX-License-Identifier: Apache-2.0
 *
 * Watches: what is there, where a client asks for it, then every change, a line each.
 *
 * A watcher is only ever given as much as its connection takes: what waits for it are events that the
 * store remembers anyway, for all watchers together. One that falls behind what the store remembers is
 * told so (410) and lists anew. A frame is the text that the store keeps between two short ones, and nothing
 * of it is copied: the kernel takes it from where it lies, and where it has to wait the object is held. */
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/kube_priv.h"
#include "engine/base/json.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"

/* A watcher gets the next piece when the last one is on its way; so many at once, then it is the turn of
 * others. */
#define PIECE_BYTES ((size_t)64 * 1024)
#define PIECES_MAX  8
/* The first piece, and the next one of a watcher that took the last not at once: what waits for a slow one
 * is little. */
#define PIECE_FIRST ((size_t)8 * 1024)
/* Of what is there at the start more at once, as each piece of a state that has passed has to be found. */
#define LISTED_BYTES (4 * PIECE_BYTES)
/* A frame is a short text and an object; at the end comes another short text, and maybe a frame that is no object. */
#define PARTS_MAX (NEAP_HTTP_PARTS_MAX - 8)
/* Without a wish of the client's: an hour. Clients then come again, from where they were. */
#define TIMEOUT_S     3600
#define TIMEOUT_S_MAX (24 * 3600)
#define BOOKMARK_S    60
/* Of one frame: the object as it is, or as a row of a Table. */
#define FRAME_MAX (4 * (size_t)NEAP_OBJECT_TEXT_MAX)
#define FRAME_END "}\n"

enum { HEADS = NEAP_STORE_DELETED + 1 };

static const char *const types[HEADS] = {
	[NEAP_STORE_ADDED] = "ADDED",
	[NEAP_STORE_MODIFIED] = "MODIFIED",
	[NEAP_STORE_DELETED] = "DELETED",
};

struct watcher {
	struct watcher *next, **prev;
	struct call call; /* without a request */
	struct choice choice;
	struct neap_http_stream *stream;
	struct neap_store_watch *watch;
	struct event *end, *bookmark, *again;
	struct neap_store_place place; /* of the objects that are there already */
	bool is_listing;
	bool wants_bookmarks, wants_initial_end;
	bool has_columns;    /* were sent */
	bool waits, is_over; /* waits: for room, or for its turn */
	size_t piece_bytes;  /* of the next piece */
	int64_t after;       /* nothing up to this version is wanted */
	int64_t told;        /* version of the last frame */
	/* What stands before an object: the end of the frame before it, and its own beginning. */
	const char *heads[HEADS];
	size_t head_lens[HEADS];
	char head_text[];
};

/* What a client asks for. */
struct wish {
	int64_t version, seconds;
	bool is_listing;   /* what is there comes first */
	bool is_asked_for; /* ... by name, so that its end is told */
};

/* What a watcher is given next. */
struct piece {
	struct neap_http_part parts[NEAP_HTTP_PARTS_MAX];
	size_t count, bytes;
	bool is_in_frame; /* the last part is an object */
	struct neap_buf
		text; /* of all parts that have no data yet: it moves while it grows */
	/* Objects that are not the store's, until the piece is given away. */
	struct neap_object *held[NEAP_HTTP_PARTS_MAX];
	size_t held_count;
};

static void pump(struct watcher *watcher);
static void has_room(void *arg);

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
	if (watcher->again)
		event_free(watcher->again);
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

static void piece_init(struct piece *piece)
{
	piece->count = piece->bytes = piece->held_count = 0;
	piece->is_in_frame = false;
	neap_buf_init(&piece->text, LISTED_BYTES + FRAME_MAX);
}

static bool is_full(const struct piece *piece, size_t bytes)
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

/* What was added to piece->text since it had so many bytes. */
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
	if (!shape_table(&watcher->call, &object, 1, !watcher->has_columns, "{}",
			 &piece->text))
		return false;
	neap_buf_adds(&piece->text, FRAME_END);
	add_text(piece, since);
	watcher->has_columns = true;
	return true;
}

static bool add_frame(struct watcher *watcher, enum neap_store_what what,
		      struct neap_object *object, struct piece *piece)
{
	if (watcher->call.shape == SHAPE_TABLE)
		return add_row(watcher, what, object, piece);
	if (watcher->call.target.kind->view) {
		object = shape_shown(&watcher->call, object);
		if (!object)
			return false;
		piece->held[piece->held_count++] = object;
	}
	add_object(watcher, what, object, piece);
	return true;
}

static void add_bookmark(const struct watcher *watcher, int64_t version,
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
		watcher->call.target.kind->kind, watcher->call.api_version,
		(long long)version, annotations);
	add_text(piece, since);
}

static void add_expired(struct watcher *watcher, int64_t version, struct piece *piece)
{
	size_t since = piece->text.len;
	json_t *status;
	char *text;

	(void)neap_kube_fail(&watcher->call.failure, NEAP_KUBE_EXPIRED,
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

/* 1: it is on its way. 0: the watcher waits for room. -1: it cannot go on. */
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
		pushed = neap_http_stream_push(watcher->stream, piece->parts,
					       piece->count, &owners, has_room, watcher);
	watcher->waits = pushed == 0;
	watcher->piece_bytes = watcher->waits ? PIECE_FIRST : watcher->piece_bytes * 2;
	if (watcher->piece_bytes > PIECE_BYTES)
		watcher->piece_bytes = PIECE_BYTES;
	/* Half a frame helps nobody: the client comes again from where it was. */
	if (neap_buf_failed(&piece->text))
		pushed = -1;
	neap_buf_done(&piece->text);
	for (size_t i = 0; i < piece->held_count; i++)
		(void)neap_object_unref(piece->held[i]);
	return pushed < 0 ? -1 : pushed;
}

/* --- what is told of a change --- */

static bool is_mine(const struct watcher *watcher, const struct neap_object *object)
{
	const char *ns = watcher->call.target.ns;

	return object && (!*ns || strcmp(object->ns, ns) == 0) &&
	       choice_has(&watcher->choice, object);
}

/* False: nothing. To a watcher with a selector an object appears when it starts to match, and is gone when
 * it stops to. */
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
	bool failed;
};

static bool take_listed(void *arg, struct neap_object *object)
{
	struct listing *listing = arg;

	if (is_full(listing->piece, LISTED_BYTES))
		return false;
	if (is_mine(listing->watcher, object) &&
	    !add_frame(listing->watcher, NEAP_STORE_ADDED, object, listing->piece))
		listing->failed = true;
	return !listing->failed;
}

/* True: go on with events. */
static bool take_listing(struct watcher *watcher, struct piece *piece)
{
	struct listing listing = {.watcher = watcher, .piece = piece};
	const char *ns = watcher->call.target.ns;
	struct neap_error err;
	int more = neap_store_list(watcher->call.kube->store, watcher->call.resource,
				   *ns ? ns : NULL, &watcher->place, take_listed,
				   &listing, &err);

	if (more < 0)
		add_expired(watcher, watcher->place.version, piece);
	watcher->is_over = more < 0 || listing.failed;
	if (more || watcher->is_over)
		return false;
	watcher->is_listing = false;
	if (watcher->wants_initial_end)
		add_bookmark(watcher, watcher->place.version, true, piece);
	return true;
}

/* False: nothing is left for now. */
static bool take_events(struct watcher *watcher, struct piece *piece)
{
	while (!is_full(piece, watcher->piece_bytes)) {
		struct neap_store_event *event;
		enum neap_store_what what;
		struct neap_error err;
		int ret = neap_store_watch_next(watcher->watch, &event, &err);

		if (ret < 0) {
			add_expired(watcher, watcher->told, piece);
			watcher->is_over = true;
		}
		if (ret <= 0)
			return false;
		if (event->version <= watcher->after || !what_of(watcher, event, &what))
			continue;
		if (!add_frame(watcher, what, event->object, piece)) {
			watcher->is_over = true;
			return false;
		}
		watcher->told = event->version;
	}
	return true;
}

static void has_room(void *arg)
{
	struct watcher *watcher = arg;

	watcher->waits = false;
	pump(watcher);
}

static void its_turn(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	has_room(arg);
}

/* Ends the watcher when there is nothing more to say. */
static void pump(struct watcher *watcher)
{
	static const struct timeval soon = {0};
	bool has_more = true;

	for (int i = 0; i < PIECES_MAX && has_more; i++) {
		struct piece piece;
		int pushed;

		if (watcher->waits)
			return;
		piece_init(&piece);
		if (!watcher->is_over &&
		    (!watcher->is_listing || take_listing(watcher, &piece)))
			has_more = take_events(watcher, &piece);
		pushed = piece_push(watcher, &piece);
		if (pushed < 0 || watcher->is_over) {
			watcher_end(watcher); /* what was sent still arrives */
			return;
		}
	}
	/* It takes everything at once: others have their turn. */
	if (has_more && !watcher->waits)
		watcher->waits = event_add(watcher->again, &soon) == 0;
}

static void store_ready(void *arg)
{
	pump(arg);
}

/* Says how far the watcher is where nothing that it asked for happened, so that it need not list when it
 * comes again. False: its stream is broken. */
static bool say_version(struct watcher *watcher)
{
	int64_t version = neap_store_watch_version(watcher->watch);
	struct piece piece;

	if (!watcher->wants_bookmarks || watcher->is_listing || watcher->waits ||
	    version <= watcher->told)
		return true;
	piece_init(&piece);
	add_bookmark(watcher, version, false, &piece);
	watcher->told = version;
	return piece_push(watcher, &piece) >= 0;
}

static void time_is_up(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)say_version(arg);
	watcher_end(arg);
}

static void bookmark_due(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	if (!say_version(arg))
		watcher_end(arg);
}

/* --- starting --- */

static bool start_timers(struct watcher *watcher, int64_t seconds)
{
	struct event_base *base = watcher->call.kube->base;
	struct timeval end = {.tv_sec = seconds}, each = {.tv_sec = BOOKMARK_S};

	watcher->again = event_new(base, -1, 0, its_turn, watcher);
	watcher->end = event_new(base, -1, 0, time_is_up, watcher);
	if (!watcher->again || !watcher->end || event_add(watcher->end, &end) < 0)
		return false;
	if (!watcher->wants_bookmarks)
		return true;
	watcher->bookmark = event_new(base, -1, EV_PERSIST, bookmark_due, watcher);
	return watcher->bookmark && event_add(watcher->bookmark, &each) == 0;
}

static struct watcher *watcher_alloc(const struct call *call)
{
	static const char head[] = FRAME_END
		"{\"type\":\"%s\",\"object\":{\"kind\":\"%s\",\"apiVersion\":\"%s\",";
	const char *kind = call->target.kind->kind;
	size_t size = sizeof(head) + strlen("MODIFIED") + strlen(kind) +
		      strlen(call->api_version);
	struct watcher *watcher = neap_alloc(sizeof(*watcher) + size * HEADS);

	for (size_t i = 0; watcher && i < HEADS; i++) {
		char *to = watcher->head_text + size * i;

		watcher->heads[i] = to;
		watcher->head_lens[i] = (size_t)snprintf(to, size, head, types[i], kind,
							 call->api_version);
	}
	return watcher;
}

static struct watcher *watcher_new(struct call *call, const struct wish *wish)
{
	struct watcher *watcher = watcher_alloc(call);
	struct neap_kube *kube = call->kube;

	if (!watcher)
		return NULL;
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

static void refuse(struct call *call, enum neap_code code, const char *what)
{
	struct neap_error err;

	(void)neap_error_set(&err, code, "%s", what);
	(void)neap_kube_fail_error(&call->failure, call->target.kind, "", &err);
	call_fail(call);
}

/* As a kube-apiserver tells it: the watch begins, and ends with its first frame. */
static void end_expired(struct watcher *watcher, int64_t version)
{
	struct piece piece;

	piece_init(&piece);
	add_expired(watcher, version, &piece);
	(void)piece_push(watcher, &piece);
	watcher_end(watcher); /* what was sent still arrives */
}

/* "timeoutSeconds=300"; "timeout=5s", too, as kubectl has it for every request. */
static int parse_timeout(struct call *call, int64_t *ret)
{
	const char *text = neap_http_query_find(call->request, "timeout");
	int64_t usec;

	if (call_number(call, "timeoutSeconds", 0, ret) < 0)
		return -1;
	if (!*ret && text && neap_duration_parse(text, &usec, NULL) == 0 && usec > 0)
		*ret = (usec + 999999) / 1000000;
	if (!*ret)
		*ret = TIMEOUT_S;
	if (*ret > TIMEOUT_S_MAX)
		*ret = TIMEOUT_S_MAX;
	return 0;
}

/* From where on, and whether what is there comes first. */
static int parse_wish(struct call *call, struct wish *ret)
{
	const char *initial = neap_http_query_find(call->request, "sendInitialEvents");
	const char *match = neap_http_query_find(call->request, "resourceVersionMatch");

	if (call_number(call, "resourceVersion", 0, &ret->version) < 0 ||
	    parse_timeout(call, &ret->seconds) < 0 || call_check_match(call, true) < 0)
		return -1;
	ret->is_asked_for = initial && *initial && call_flag(call, "sendInitialEvents");
	ret->is_listing = initial && *initial ? ret->is_asked_for : !ret->version;
	/* What there is must not be older than that. */
	if (ret->is_asked_for && match && *match)
		return call_check_version(call, ret->version);
	return 0;
}

void call_watch(struct call *call)
{
	struct watcher *watcher;
	struct neap_error err;
	struct wish wish;
	int ret;

	if (parse_wish(call, &wish) < 0) {
		call_fail(call);
		return;
	}
	if (call->kube->watcher_count >= NEAP_KUBE_WATCHES_MAX) {
		refuse(call, NEAP_EUNAVAILABLE, "too many watches are open");
		return;
	}
	watcher = watcher_new(call, &wish);
	if (!watcher) {
		refuse(call, NEAP_ENOMEM, "no memory for a watch");
		return;
	}
	if (choice_parse(call, &watcher->choice) < 0) {
		watcher_free(watcher);
		call_fail(call);
		return;
	}
	ret = neap_store_watch_new(call->kube->store, call->resource, watcher->after,
				   store_ready, watcher, &watcher->watch, &err);
	if ((ret < 0 && ret != -NEAP_EGONE) || !start_timers(watcher, wish.seconds)) {
		watcher_free(watcher);
		refuse(call, NEAP_ENOMEM, "no memory for a watch");
		return;
	}
	watcher->stream = neap_http_stream_start_take(call->request, "application/json",
						      client_gone, watcher);
	call->request = NULL;
	if (!watcher->stream)
		watcher_free(watcher);
	else if (ret == -NEAP_EGONE)
		end_expired(watcher, wish.version);
	else
		pump(watcher);
}
