/* SPDX-License-Identifier: Apache-2.0
 *
 * The bytes sent to a watcher. A frame is the store's text between two short texts. It is
 * not copied: the kernel reads it in place. The object is referenced while it waits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/read/watch_priv.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

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

struct watcher *watcher_alloc(const struct call *call)
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

void piece_init(struct piece *piece)
{
	piece->count = piece->bytes = piece->held_count = 0;
	piece->is_in_frame = false;
	neap_buf_init(&piece->text, PIECE_BYTES + FRAME_MAX);
}

bool piece_is_full(const struct piece *piece, size_t bytes)
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

bool piece_add_frame(struct watcher *watcher, enum neap_store_what what,
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

void piece_add_bookmark(const struct watcher *watcher, int64_t version,
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

void piece_add_expired(struct watcher *watcher, int64_t version, struct piece *piece)
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

/* 1: sent or queued. 0: the watcher waits for room. -1: it cannot go on. */
int piece_push(struct watcher *watcher, struct piece *piece)
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
