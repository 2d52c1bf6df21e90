/* SPDX-License-Identifier: Apache-2.0
 *
 * A watch, of watch.c. */
#ifndef NEAP_API_KUBE_READ_WATCH_PRIV_H
#define NEAP_API_KUBE_READ_WATCH_PRIV_H

#include "api/kube/request/call.h"

/* A watcher gets the next piece when the last one was sent. */
#define PIECE_BYTES ((size_t)64 * 1024)
/* Size of the first piece, and of the next one after a piece that was not sent at once:
 * little waits for a slow watcher. */
#define PIECE_FIRST ((size_t)8 * 1024)

enum { HEADS = NEAP_STORE_DELETED + 1 };

struct watcher {
	struct watcher *next, **prev;
	struct call call; /* without a request */
	struct choice choice;
	struct neap_http_stream *stream;
	struct neap_store_watch *watch;
	struct neap_task *task; /* sends the pieces, one per slice */
	struct event *end, *bookmark;
	struct neap_store_place place; /* of the initial objects */
	bool is_listing;
	bool wants_bookmarks, wants_initial_end;
	bool has_columns;    /* were sent */
	bool waits, is_over; /* waits: for room */
	size_t piece_bytes;  /* of the next piece */
	int64_t after;       /* events up to this version are not wanted */
	int64_t told;        /* version of the last frame */
	/* The text before an object: the end of the previous frame and its own start. */
	const char *heads[HEADS];
	size_t head_lens[HEADS];
	char head_text[];
};

/* The next data for a watcher. */
struct piece {
	struct neap_http_part parts[NEAP_HTTP_PARTS_MAX];
	size_t count, bytes;
	bool is_in_frame; /* the last part is an object */
	struct neap_buf
		text; /* of all parts without data yet, because it moves while it grows */
	/* Objects that are not the store's, until the piece is sent. */
	struct neap_object *held[NEAP_HTTP_PARTS_MAX];
	size_t held_count;
};

#endif
