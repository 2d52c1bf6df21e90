/* SPDX-License-Identifier: Apache-2.0
 *
 * Sends lists. The texts of a hundred thousand objects are sent in place, in pieces, as
 * the client reads: a list costs eight bytes per object and only kernel time. Later
 * changes create other objects; the listed ones are referenced until they are sent. */
#include <event2/event.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/base/view.h"
#include "api/kube/request/call.h"
#include "api/kube/request/slow.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"

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

static void is_late(int fd NEAP_UNUSED, short what NEAP_UNUSED, void *arg)
{
	struct list *list = arg;

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

/* --- collecting ---
 *
 * Collects a list in slices. Objects are immutable and the store keeps history for a
 * while, so the list still shows one version. */

/* If any version will do: how often the list restarts before it is gathered in one go. */
#define TRIES_MAX 3

struct slice {
	struct call *call;
	struct gather *gather;
	const struct neap_task *task;
	size_t seen;
	bool is_full;
};

static bool keep(struct gather *gather, struct neap_object *object)
{
	if (!neap_grow(&gather->objects, gather->count, &gather->size,
		       sizeof(*gather->objects)))
		return false;
	gather->objects[gather->count++] = object;
	return true;
}

bool gather_take(struct call *call, struct gather *gather, struct neap_object *object)
{
	if (!choice_has(&gather->choice, object))
		return true;
	if (gather->limit && (int64_t)gather->count == gather->limit)
		return false;
	gather->kube = call->kube;
	object = gather->is_shown ? shape_shown(call, object) : neap_object_ref(object);
	if (object && keep(gather, object))
		return true;
	(void)neap_object_unref(object);
	gather->is_short_of_memory = true;
	return false;
}

static bool take(void *arg, struct neap_object *object)
{
	struct slice *slice = arg;

	if (slice->task && slice->seen && !neap_task_has_time(slice->task))
		return false;
	slice->is_full = !gather_take(slice->call, slice->gather, object);
	if (slice->is_full)
		return false;
	slice->seen++;
	return true;
}

static void drop(struct gather *gather)
{
	objects_free(gather->kube, gather->objects, 0, gather->count);
	gather->objects = NULL;
	gather->count = gather->size = 0;
}

int gather_step(struct call *call, const struct neap_task *task, struct gather *gather,
		bool *ret_more, struct neap_error *err)
{
	struct neap_store *store = call->kube->store;
	const char *ns = call->target.ns;
	struct slice slice = {
		.call = call,
		.gather = gather,
		.task = gather->tries < TRIES_MAX ? task : NULL,
	};
	int more = neap_store_list(store, call->resource, *ns ? ns : NULL, &gather->place,
				   take, &slice, err);

	if (gather->is_short_of_memory)
		return neap_error_nomem(err);
	if (more == -NEAP_EGONE && gather->is_newest && gather->tries < TRIES_MAX) {
		drop(gather);
		gather->tries++;
		gather->place =
			(struct neap_store_place){.version = neap_store_version(store)};
		return 1;
	}
	*ret_more = more > 0 && slice.is_full;
	return more > 0 && !slice.is_full ? 1 : more < 0 ? more : 0;
}

void gather_done(struct gather *gather)
{
	drop(gather);
	choice_done(&gather->choice);
}

/* --- selection ---
 *
 * Which objects of a collection are requested. */

static int bad_selector(struct call *call, const char *parameter,
			const struct neap_error *err)
{
	if (err->code == NEAP_ENOMEM)
		return neap_kube_fail_error(&call->failure, call->target.kind, "", err);
	return call_bad(call, "unable to parse %s: %s%s%s", parameter, err->field,
			err->field[0] ? ": " : "", err->msg);
}

/* As in a kube-apiserver, a built-in kind without namespaces accepts metadata.namespace
 * only if it declares no selectable fields. */
static bool knows_namespace(const struct neap_kube_kind *kind)
{
	return kind->is_namespaced || (!kind->is_custom && !kind->fields);
}

int choice_parse(struct call *call, struct choice *ret)
{
	const struct neap_kube_kind *kind = call->target.kind;
	const char *labels = call_query(call, "labelSelector");
	const char *fields = call_query(call, "fieldSelector");
	struct neap_error err;
	int64_t ignored;

	*ret = (struct choice){0};
	/* Every request for a collection may have them, even where they have no
	 * effect. */
	if (call_number(call, "limit", 0, &ignored) < 0 ||
	    call_number(call, "timeoutSeconds", 0, &ignored) < 0)
		return -1;
	if (labels && *labels && neap_selector_parse_text(labels, &ret->labels, &err) < 0)
		return bad_selector(call, "labelSelector", &err);
	if (fields &&
	    neap_field_selector_parse(fields, kind->fields, knows_namespace(kind),
				      &ret->fields, &err) < 0) {
		choice_done(ret);
		return bad_selector(call, "fieldSelector", &err);
	}
	for (size_t i = 0; i < ret->fields.count; i++)
		ret->fields.terms[i].path = neap_kube_view_field(
			call->target.kind, ret->fields.terms[i].path);
	return 0;
}

void choice_done(struct choice *choice)
{
	neap_selector_free(choice->labels);
	choice->labels = NULL;
	neap_field_selector_done(&choice->fields);
}

bool choice_has(const struct choice *choice, const struct neap_object *object)
{
	return (!choice->labels || neap_object_is_selected(object, choice->labels)) &&
	       neap_field_selector_matches(&choice->fields, object);
}

/* --- tokens to continue --- */

/* Fits the longest version, namespace and name. */
#define PLAIN_SIZE 352

char *neap_kube_continue_format(const struct neap_store_place *place, char *buf)
{
	char plain[PLAIN_SIZE];
	int len = snprintf(plain, sizeof(plain), "%lld/%s/%s", (long long)place->version,
			   place->ns, place->name);

	len = EVP_EncodeBlock((unsigned char *)buf, (unsigned char *)plain, len);
	for (int i = 0; i < len; i++) {
		if (buf[i] == '+')
			buf[i] = '-';
		else if (buf[i] == '/')
			buf[i] = '_';
	}
	while (len && buf[len - 1] == '=')
		buf[--len] = '\0';
	return buf;
}

/* Translates to the alphabet of EVP and decodes. -1: too long, or an invalid
 * character. */
static int decode(const char *token, char *plain)
{
	char text[NEAP_KUBE_CONTINUE_SIZE];
	size_t len = strlen(token), pad;
	int n;

	if (len + 4 > sizeof(text) || len / 4 * 3 + 3 >= PLAIN_SIZE)
		return -1;
	for (size_t i = 0; i < len; i++)
		text[i] = token[i] == '-' ? '+' : token[i] == '_' ? '/' : token[i];
	pad = (4 - len % 4) % 4;
	memset(text + len, '=', pad);
	n = EVP_DecodeBlock((unsigned char *)plain, (unsigned char *)text,
			    (int)(len + pad));
	if (n < (int)pad)
		return -1;
	plain[n - (int)pad] = '\0';
	return n - (int)pad;
}

int neap_kube_continue_parse(const char *token, struct neap_store_place *ret,
			     struct neap_error *err)
{
	char plain[PLAIN_SIZE];
	int len = decode(token, plain);
	char *ns, *name;

	memset(ret, 0, sizeof(*ret));
	ns = len > 0 && strlen(plain) == (size_t)len ? strchr(plain, '/') : NULL;
	name = ns ? strchr(ns + 1, '/') : NULL;
	if (!name)
		return neap_error_set(err, NEAP_EINVAL, "it is not one of this server's");
	*ns++ = '\0';
	*name++ = '\0';
	if (neap_int_parse(plain, &ret->version, NULL) < 0 || ret->version <= 0 ||
	    !*name || !neap_strcopy(ret->ns, sizeof(ret->ns), ns) ||
	    !neap_strcopy(ret->name, sizeof(ret->name), name))
		return neap_error_set(err, NEAP_EINVAL, "it is not one of this server's");
	return 0;
}

/* --- Tables ---
 *
 * Sends lists as Tables. A row costs as much as fifty objects sent as they are, so rows
 * are built in slices, and only as fast as the client reads. A short Table is one
 * response with a length. */

/* The text that is built before it is sent. One more row stays within the limit. */
#define ROWS_BYTES ((size_t)64 * 1024)
#define TEXT_MAX   (4 * (size_t)NEAP_OBJECT_TEXT_MAX + ROWS_BYTES)
#define TABLE_END  "]}"

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

static void rows_gone(void *arg)
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

	while (has_time && rows->at < rows->count && rows->text.len < ROWS_BYTES &&
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

static void rows_room(void *arg)
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
			rows_gone, rows);
		call->request = NULL;
	}
	if (!rows->stream) {
		rows_free(rows);
		return NEAP_TASK_IS_OVER;
	}
	if (rows->has_ended)
		neap_buf_addc(&rows->text, '\n');
	part = (struct neap_http_part){rows->text.data, rows->text.len, NULL};
	pushed = neap_http_stream_push(rows->stream, &part, 1, NULL, rows_room, rows);
	neap_buf_clear(&rows->text);
	if (pushed < 0 || rows->has_ended) {
		neap_http_stream_end(rows->stream); /* what was sent still arrives */
		rows_free(rows);
		return NEAP_TASK_IS_OVER;
	}
	return pushed ? NEAP_TASK_GOES_ON : NEAP_TASK_WAITS;
}

static enum neap_task_next rows_step(void *arg)
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
	if (!rows->has_ended && rows->text.len < ROWS_BYTES)
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
	    slow_begin(&rows->slow, call, rows_step, rows_end) < 0) {
		objects_free(call->kube, objects, 0, count);
		if (rows)
			neap_buf_done(&rows->text);
		free(rows);
		return call_nomem(call);
	}
	rows->objects = objects;
	rows->count = count;
	slow_defer(&rows->slow, call, rows_gone);
	neap_task_go(rows->slow.task);
	return 0;
}
