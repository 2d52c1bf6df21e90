/* SPDX-License-Identifier: Apache-2.0
 *
 * Sends lists as Tables. A row costs as much as fifty objects sent as they are, so rows
 * are built in slices, and only as fast as the client reads. A short Table is one
 * response with a length. */
#include <stdlib.h>
#include <string.h>

#include "api/kube/request/slow.h"
#include "engine/base/mem.h"

/* The text that is built before it is sent. One more row stays within the limit. */
#define PIECE_BYTES ((size_t)64 * 1024)
#define TEXT_MAX    (4 * (size_t)NEAP_OBJECT_TEXT_MAX + PIECE_BYTES)
#define TABLE_END   "]}"

struct rows {
	struct slow slow;
	struct neap_http_stream *stream; /* NULL: nothing sent yet */
	struct neap_object **objects;
	size_t count, at;
	struct neap_buf text; /* not sent yet */
	bool has_ended;       /* text holds the end */
};

static void rows_free(struct rows *rows)
{
	objects_free(rows->slow.call.kube, rows->objects, rows->at, rows->count);
	neap_buf_done(&rows->text);
	slow_done(&rows->slow);
	free(rows);
}

static void client_gone(void *arg)
{
	rows_free(arg);
}

static void rows_end(struct slow *slow)
{
	struct rows *rows = (struct rows *)slow;

	if (rows->stream)
		neap_http_stream_end(rows->stream);
	else
		slow_refuse_end(slow);
	rows_free(rows);
}

static void make_text(struct rows *rows)
{
	bool has_time = true;

	while (has_time && rows->at < rows->count && rows->text.len < PIECE_BYTES &&
	       !rows->text.failed) {
		struct neap_object *object = rows->objects[rows->at];

		if (rows->at)
			neap_buf_addc(&rows->text, ',');
		if (!shape_row(&rows->slow.call, object, &rows->text))
			rows->text.failed = true;
		rows->at++;
		(void)neap_object_unref(object);
		has_time = neap_task_has_time(rows->slow.task);
	}
	if (rows->at < rows->count)
		return;
	neap_buf_adds(&rows->text, TABLE_END);
	rows->has_ended = true;
}

static void room(void *arg)
{
	struct rows *rows = arg;

	neap_task_go(rows->slow.task);
}

/* The client sees that bytes are missing, or gets an error if nothing was sent. */
static enum neap_task_next fail(struct rows *rows)
{
	if (rows->stream) {
		neap_http_stream_cut(rows->stream); /* gone follows */
		return NEAP_TASK_WAITS;
	}
	call_end(&rows->slow.call, call_nomem(&rows->slow.call));
	rows_free(rows);
	return NEAP_TASK_IS_OVER;
}

static enum neap_task_next send_text(struct rows *rows)
{
	struct call *call = &rows->slow.call;
	struct neap_http_part part;
	int pushed;

	if (!rows->stream) {
		rows->stream = neap_http_answer_long_take(
			call->request, "application/json", NEAP_HTTP_LENGTH_UNKNOWN,
			client_gone, rows);
		call->request = NULL;
	}
	if (!rows->stream) {
		rows_free(rows);
		return NEAP_TASK_IS_OVER;
	}
	if (rows->has_ended)
		neap_buf_addc(&rows->text, '\n');
	part = (struct neap_http_part){rows->text.data, rows->text.len, NULL};
	pushed = neap_http_stream_push(rows->stream, &part, 1, NULL, room, rows);
	neap_buf_clear(&rows->text);
	if (pushed < 0 || rows->has_ended) {
		neap_http_stream_end(rows->stream); /* what was sent still arrives */
		rows_free(rows);
		return NEAP_TASK_IS_OVER;
	}
	return pushed ? NEAP_TASK_GOES_ON : NEAP_TASK_WAITS;
}

static enum neap_task_next step(void *arg)
{
	struct rows *rows = arg;

	make_text(rows);
	if (neap_buf_failed(&rows->text))
		return fail(rows);
	if (rows->has_ended && !rows->stream) {
		call_end(&rows->slow.call,
			 call_answer_buf(&rows->slow.call, 200, &rows->text));
		rows_free(rows);
		return NEAP_TASK_IS_OVER;
	}
	if (!rows->has_ended && rows->text.len < PIECE_BYTES)
		return NEAP_TASK_GOES_ON;
	return send_text(rows);
}

int call_answer_table_take(struct call *call, const char *metadata,
			   struct neap_object **objects, size_t count)
{
	struct rows *rows = neap_alloc(sizeof(*rows));

	if (rows)
		neap_buf_init(&rows->text, TEXT_MAX);
	if (!rows || !shape_head(call, true, metadata, &rows->text) ||
	    slow_begin(&rows->slow, call, step, rows_end) < 0) {
		objects_free(call->kube, objects, 0, count);
		if (rows)
			neap_buf_done(&rows->text);
		free(rows);
		return call_nomem(call);
	}
	rows->objects = objects;
	rows->count = count;
	slow_defer(&rows->slow, call, client_gone);
	neap_task_go(rows->slow.task);
	return 0;
}
