/* SPDX-License-Identifier: Apache-2.0
 *
 * A watch, as the two files share it: watch.c says who is told what and when, watch_frame.c in which bytes. */
#ifndef NEAP_API_KUBE_WATCH_PRIV_H
#define NEAP_API_KUBE_WATCH_PRIV_H

#include "api/kube/kube_priv.h"

/* A watcher gets the next piece when the last one is on its way. */
#define PIECE_BYTES ((size_t)64 * 1024)
/* The first piece, and the next one of a watcher that took the last not at once: what waits for a slow one
 * is little. */
#define PIECE_FIRST ((size_t)8 * 1024)

enum { HEADS = NEAP_STORE_DELETED + 1 };

struct watcher {
	struct watcher *next, **prev;
	struct call call; /* without a request */
	struct choice choice;
	struct neap_http_stream *stream;
	struct neap_store_watch *watch;
	struct neap_task *task; /* sends the pieces, one a slice */
	struct event *end, *bookmark;
	struct neap_store_place place; /* of the objects that are there already */
	bool is_listing;
	bool wants_bookmarks, wants_initial_end;
	bool has_columns;    /* were sent */
	bool waits, is_over; /* waits: for room */
	size_t piece_bytes;  /* of the next piece */
	int64_t after;       /* nothing up to this version is wanted */
	int64_t told;        /* version of the last frame */
	/* What stands before an object: the end of the frame before it, and its own beginning. */
	const char *heads[HEADS];
	size_t head_lens[HEADS];
	char head_text[];
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

/* All zero but for the heads; NULL without memory. */
struct watcher *watcher_alloc(const struct call *call);
/* watch.c: there is room for the next piece; arg is the watcher. */
void watcher_has_room(void *arg);

void piece_init(struct piece *piece);
/* It has so many bytes, or no room for a further frame. */
bool piece_is_full(const struct piece *piece, size_t bytes);
/* False without memory. */
bool piece_add_frame(struct watcher *watcher, enum neap_store_what what,
		     struct neap_object *object, struct piece *piece);
void piece_add_bookmark(const struct watcher *watcher, int64_t version,
			bool is_initial_end, struct piece *piece);
/* The ERROR that ends a watch whose version is forgotten. */
void piece_add_expired(struct watcher *watcher, int64_t version, struct piece *piece);
/* 1: it is on its way. 0: the watcher waits for room. -1: it cannot go on. The piece is used up. */
int piece_push(struct watcher *watcher, struct piece *piece);

#endif
