/* SPDX-License-Identifier: Apache-2.0
 *
 * Sends lists. The texts of a hundred thousand objects are sent in place, in pieces, as
 * the client reads: a list costs eight bytes per object and only kernel time. Later
 * changes create other objects; the listed ones are referenced until they are sent. */
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/request/slow.h"
#include "engine/base/mem.h"

#define PARTS_MAX (NEAP_HTTP_PARTS_MAX - 4)
/* A piece is sent per slice. It ends with the object that reaches this size. */
#define PIECE_BYTES ((size_t)128 * 1024)
#define LIST_END    "]}\n"
/* A slower client would hold objects that have long changed. */
#define TIME_S 300
/* A list of so many objects leaves something to clean up. */
#define TIDY_COUNT 1000

struct list {
	struct slow slow;
	struct neap_http_stream *stream;
	struct event *late;
	struct neap_object **objects;
	size_t count, at;
	struct neap_buf head; /* up to the first object */
	/* Text before every further object, and how many bytes of each object's text are
	 * skipped. */
	char between[NEAP_OBJECT_NAME + 192];
	size_t between_len, skip;
	bool has_begun, has_ended;
};

static void list_free(struct list *list)
{
	if (list->count > TIDY_COUNT)
		kube_tidy_later(list->slow.call.kube);
	objects_free(list->slow.call.kube, list->objects, 0, list->count);
	if (list->late)
		event_free(list->late);
	neap_buf_done(&list->head);
	slow_done(&list->slow);
	free(list);
}

static void hold(void *owner)
{
	(void)neap_object_ref(owner);
}

static void release(void *owner)
{
	(void)neap_object_unref(owner);
}

static size_t fill(struct list *list, struct neap_http_part *parts)
{
	size_t count = 0, bytes = 0;

	if (!list->has_begun)
		parts[count++] =
			(struct neap_http_part){list->head.data, list->head.len, NULL};
	list->has_begun = true;
	for (; list->at < list->count && count < PARTS_MAX && bytes < PIECE_BYTES;
	     list->at++) {
		struct neap_object *object = list->objects[list->at];

		if (list->at > 0)
			parts[count++] = (struct neap_http_part){list->between,
								 list->between_len, NULL};
		parts[count++] = (struct neap_http_part){
			object->text + list->skip, object->text_len - list->skip, object};
	}
	if (list->at < list->count)
		return count;
	parts[count++] = (struct neap_http_part){LIST_END, strlen(LIST_END), NULL};
	list->has_ended = true;
	return count;
}

static void room(void *arg)
{
	struct list *list = arg;

	neap_task_go(list->slow.task);
}

static enum neap_task_next step(void *arg)
{
	static const struct neap_http_owners owners = {hold, release};
	struct neap_http_part parts[NEAP_HTTP_PARTS_MAX];
	struct list *list = arg;
	size_t count = fill(list, parts);
	int pushed =
		neap_http_stream_push(list->stream, parts, count, &owners, room, list);

	/* A broken stream: the client sees that bytes are missing. */
	if (pushed >= 0 && !list->has_ended)
		return pushed ? NEAP_TASK_GOES_ON : NEAP_TASK_WAITS;
	/* The stream holds what is not sent yet. */
	neap_http_stream_end(list->stream);
	list_free(list);
	return NEAP_TASK_IS_OVER;
}

static void is_late(int fd, short what, void *arg)
{
	struct list *list = arg;

	(void)fd;
	(void)what;
	neap_http_stream_cut(list->stream);
}

static void client_gone(void *arg)
{
	list_free(arg);
}

static void list_end(struct slow *slow)
{
	struct list *list = (struct list *)slow;

	neap_http_stream_end(list->stream);
	list_free(list);
}

/* As in a kube-apiserver, items of built-in kinds have no kind of their own; items of
 * declared kinds do. */
static struct list *list_new(struct call *call, const char *metadata,
			     struct neap_object **objects, size_t count)
{
	struct list *list = neap_alloc(sizeof(*list));
	/* So do items that are metadata alone. */
	bool has_kind = call->target.kind->is_custom || call->shape == SHAPE_METADATA;
	static const struct timeval limit = {.tv_sec = TIME_S};

	if (!list)
		return NULL;
	list->late = event_new(call->kube->base, -1, 0, is_late, list);
	neap_buf_init(&list->head, NEAP_BUF_LINE);
	(void)snprintf(list->between, sizeof(list->between), ",");
	if (has_kind)
		(void)snprintf(list->between, sizeof(list->between),
			       ",{\"kind\":\"%s\",\"apiVersion\":\"%s\",",
			       shape_kind(call), shape_version(call));
	list->between_len = strlen(list->between);
	list->skip = has_kind;
	neap_buf_addf(
		&list->head,
		"{\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":%s,\"items\":[%s",
		shape_list_kind(call), shape_version(call), metadata,
		count ? list->between + 1 : "");
	if (!list->late || event_add(list->late, &limit) < 0 ||
	    neap_buf_failed(&list->head) ||
	    slow_begin(&list->slow, call, step, list_end) < 0) {
		list_free(list);
		return NULL;
	}
	list->slow.call.request = NULL;
	list->objects = objects;
	list->count = count;
	return list;
}

static size_t length_of(const struct list *list)
{
	size_t len = list->head.len + strlen(LIST_END);

	for (size_t i = 0; i < list->count; i++)
		len += list->objects[i]->text_len - list->skip +
		       (i ? list->between_len : 0);
	return len;
}

int call_answer_list_take(struct call *call, const char *metadata,
			  struct neap_object **objects, size_t count)
{
	struct list *list = list_new(call, metadata, objects, count);

	if (!list) {
		objects_free(call->kube, objects, 0, count);
		return call_nomem(call);
	}
	list->stream = neap_http_answer_long_take(call->request, "application/json",
						  length_of(list), client_gone, list);
	call->request = NULL;
	if (list->stream)
		neap_task_go(list->slow.task);
	else
		list_free(list);
	return 0;
}
