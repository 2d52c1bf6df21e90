/* SPDX-License-Identifier: Apache-2.0
 *
 * Streaming answers: events in one chunked answer. evhttp's output buffer is unbounded,
 * and its read timeout counts the client's silence, so both are handled here: unread
 * output is checked before each piece, and TCP keep-alive replaces the read timeout.
 *
 * A push writes directly from the memory of its parts. Only the rest that the socket does
 * not accept goes through libevent's buffer. So an event for five hundred watchers costs
 * little more than five hundred system calls. */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "api/http/serve/guard.h"
#include "api/http/serve/server_priv.h"
#include "engine/base/mem.h"

/* A client that vanished is noticed after 30 + 3 * 10 s. */
#define PROBE_IDLE_S  30
#define PROBE_EACH_S  10
#define PROBE_COUNT   3
#define RETRY_AFTER_S "10"
#define CHUNK_ROOM    64 /* its length and that line's end */
/* Waiting bytes up to this size are copied, because a reference takes about as much
 * memory. */
#define COPY_MAX 256
/* In practice never. Without a timeout, the old one would return with the client's first
 * byte: libevent keeps it with an event that is added without one. */
#define READ_TIMEOUT_S (365 * 24 * 3600)

struct neap_http_stream {
	struct evhttp_request *ev;
	struct neap_guard *guard;
	void (*gone)(void *arg);
	void *gone_arg;
	struct evbuffer *piece; /* empty between two sends */
	int skips;              /* in a row */
	bool is_chunked;        /* false: the client uses HTTP/1.0 */
	bool is_plain;          /* without TLS */
	bool is_ending;         /* its owner has released it */
	bool is_clear;          /* no bytes wait in output */
	int fd;
	struct evbuffer *output;           /* the connection's */
	struct evbuffer_cb_entry *changes; /* the callback of output */
	struct event *empty;               /* fired by hand when output is empty */
	void (*room)(void *arg);           /* of the last push; NULL: no callback */
	void *room_arg;
};

static void stream_free(struct neap_http_stream *stream)
{
	if (stream->changes)
		(void)evbuffer_remove_cb_entry(stream->output, stream->changes);
	if (stream->empty)
		event_free(stream->empty);
	if (stream->piece)
		evbuffer_free(stream->piece);
	free(stream);
}

static void end_now(struct neap_http_stream *stream)
{
	struct evhttp_request *ev = stream->ev;

	neap_guard_watch(stream->guard, NULL, NULL);
	stream_free(stream);
	evhttp_send_reply_end(ev);
}

static void empty_cb(evutil_socket_t fd NEAP_UNUSED, short what NEAP_UNUSED, void *arg)
{
	struct neap_http_stream *stream = arg;
	void (*room)(void *room_arg) = stream->room;

	stream->room = NULL;
	if (stream->is_ending)
		end_now(stream);
	else if (room)
		room(stream->room_arg);
}

/* Over TLS libevent tells evhttp later that all was written. For evhttp that is the end
 * of its answer, so it must not come while bytes added meanwhile would be dropped. So the
 * loop turns once more. */
static void call_later(struct neap_http_stream *stream)
{
	static const struct timeval soon = {0};

	if (stream->is_plain || event_add(stream->empty, &soon) < 0)
		event_active(stream->empty, EV_TIMEOUT, 0);
}

/* This runs in the middle of libevent's writing, so it must do nothing else. */
static void output_changed(struct evbuffer *output,
			   const struct evbuffer_cb_info *info NEAP_UNUSED, void *arg)
{
	struct neap_http_stream *stream = arg;

	stream->is_clear = !evbuffer_get_length(output);
	if ((stream->room || stream->is_ending) && stream->is_clear)
		call_later(stream);
}

static struct neap_http_stream *stream_new(const struct neap_http_request *request)
{
	struct bufferevent *bev = evhttp_connection_get_bufferevent(
		evhttp_request_get_connection(request->ev));
	struct neap_http_stream *stream = neap_alloc(sizeof(*stream));

	if (!stream)
		return NULL;
	stream->ev = request->ev;
	stream->guard = request->guard;
	stream->fd = bufferevent_getfd(bev);
	stream->is_plain = !neap_guard_is_tls(request->guard);
	stream->output = bufferevent_get_output(bev);
	stream->is_clear = !evbuffer_get_length(stream->output);
	stream->piece = evbuffer_new();
	stream->empty = event_new(request->base, -1, 0, empty_cb, stream);
	stream->changes = evbuffer_add_cb(stream->output, output_changed, stream);
	if (stream->piece && stream->empty && stream->changes)
		return stream;
	stream_free(stream);
	return NULL;
}

static void gone_cb(void *arg)
{
	struct neap_http_stream *stream = arg;
	struct evhttp_request *ev = stream->ev;

	if (!stream->is_ending)
		stream->gone(stream->gone_arg);
	stream_free(stream);
	/* evhttp drops the request when it saw the end itself; then it must be freed
	 * here. */
	if (!evhttp_request_get_connection(ev))
		evhttp_request_free(ev);
}

/* A failure only delays the notice of a lost client to the next write. */
static void set_timeouts(struct bufferevent *bev, int timeout_s)
{
	struct timeval read_timeout = {.tv_sec = READ_TIMEOUT_S};
	struct timeval write_timeout = {.tv_sec = timeout_s};
	int fd = bufferevent_getfd(bev), one = 1, idle = PROBE_IDLE_S,
	    each = PROBE_EACH_S, count = PROBE_COUNT;

	(void)bufferevent_set_timeouts(bev, &read_timeout, &write_timeout);
	if (setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one)) < 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle)) < 0)
		return; /* a unix socket needs none */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &each, sizeof(each));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
}

static void answer_nomem(struct neap_http_request *request)
{
	struct neap_error err;

	neap_error_nomem(&err);
	neap_http_answer_error(request, &err);
}

/* Adds one more header, unless name is NULL. */
static bool finish_headers(struct neap_http_request *request, const char *type,
			   const char *name, const char *value)
{
	struct evkeyvalq *headers = evhttp_request_get_output_headers(request->ev);

	return neap_http_headers_finish(request, type) == 0 &&
	       (!name || evhttp_add_header(headers, name, value) == 0) &&
	       neap_http_headers_reserve(request);
}

static void answer_head(struct neap_http_request *request, const char *type,
			const char *length)
{
	struct evhttp_request *ev = request->ev;

	if (!finish_headers(request, type, length ? "Content-Length" : NULL, length)) {
		neap_http_drop_take(request);
		return;
	}
	neap_guard_note_answer(request->guard);
	neap_http_request_free(request);
	evhttp_send_reply(ev, 200, NULL, NULL);
}

/* Sends the head at once, so that later bytes need not wait behind it. */
static void start(struct neap_http_stream *stream, struct neap_http_request *request,
		  void (*gone)(void *arg), void *arg)
{
	stream->gone = gone;
	stream->gone_arg = arg;
	neap_http_request_free(request);
	neap_guard_note_answer(stream->guard);
	neap_guard_watch(stream->guard, gone_cb, stream);
	evhttp_send_reply_start(stream->ev, 200, NULL);
	stream->is_chunked = stream->ev->chunked;
	if (!stream->is_plain || evbuffer_unfreeze(stream->output, 1) < 0)
		return;
	/* The loop handles a failure or a rest. */
	(void)evbuffer_write_atmost(stream->output, stream->fd, NEAP_HTTP_WRITE_MAX);
	/* cannot fail, because the unfreeze worked */
	(void)evbuffer_freeze(stream->output, 1);
}

struct neap_http_stream *neap_http_stream_start_take(struct neap_http_request *request,
						     const char *type,
						     void (*gone)(void *arg), void *arg)
{
	struct neap_http_stream *stream;
	struct neap_error err;
	int status;

	if (evhttp_request_get_command(request->ev) == EVHTTP_REQ_HEAD) {
		answer_head(request, type, NULL);
		return NULL;
	}
	stream = stream_new(request);
	if (!stream) {
		answer_nomem(request);
		return NULL;
	}
	status = neap_guard_take_stream(request->guard, request->tree, &err);
	if (status) {
		stream_free(stream);
		(void)neap_http_header_add(request, "Retry-After", RETRY_AFTER_S);
		neap_http_answer_busy_take(request, status, &err);
		return NULL;
	}
	/* Bytes that the client sends meanwhile are not read as a request. */
	if (!finish_headers(request, type, "Connection", "close")) {
		stream_free(stream);
		neap_http_drop_take(request);
		return NULL;
	}
	set_timeouts(evhttp_connection_get_bufferevent(
			     evhttp_request_get_connection(request->ev)),
		     request->timeout_s);
	start(stream, request, gone, arg);
	return stream;
}

struct neap_http_stream *neap_http_answer_long_take(struct neap_http_request *request,
						    const char *type, size_t len,
						    void (*gone)(void *arg), void *arg)
{
	struct neap_http_stream *stream;
	bool is_known = len != NEAP_HTTP_LENGTH_UNKNOWN;
	bool has_chunks = request->ev->major == 1 && request->ev->minor >= 1;
	const char *name = is_known ? "Content-Length" : has_chunks ? NULL : "Connection";
	char length[32] = "close";

	if (is_known)
		(void)snprintf(length, sizeof(length), "%zu", len);
	if (evhttp_request_get_command(request->ev) == EVHTTP_REQ_HEAD) {
		answer_head(request, type, is_known ? length : NULL);
		return NULL;
	}
	stream = stream_new(request);
	if (!stream) {
		answer_nomem(request);
		return NULL;
	}
	if (!finish_headers(request, type, name, length)) {
		stream_free(stream);
		neap_http_drop_take(request);
		return NULL;
	}
	start(stream, request, gone, arg);
	return stream;
}

int neap_http_stream_send(struct neap_http_stream *stream, const char *data, size_t len)
{
	struct evhttp_connection *connection = evhttp_request_get_connection(stream->ev);
	struct bufferevent *bev = evhttp_connection_get_bufferevent(connection);

	if (!len)
		return 1; /* an empty chunk would end the answer */
	if (evbuffer_get_length(bufferevent_get_output(bev)) >
		    NEAP_HTTP_STREAM_UNREAD_MAX ||
	    /* evhttp does not check the memory for the chunk's length and for the line
	     * end after it, which goes behind the piece. */
	    evbuffer_expand(bufferevent_get_output(bev), CHUNK_ROOM) < 0 ||
	    evbuffer_expand(stream->piece, len + strlen("\r\n")) < 0 ||
	    evbuffer_add(stream->piece, data, len) < 0) {
		if (++stream->skips >= NEAP_HTTP_STREAM_SKIPS_MAX)
			neap_guard_refuse(stream->guard);
		return 0;
	}
	stream->skips = 0;
	evhttp_send_reply_chunk(stream->ev, stream->piece);
	return 1;
}

/* --- pushing --- */

/* Returns the bytes that the socket took; 0 also after an error, which the next write
 * reports. */
static size_t send_now(int fd, struct iovec *pieces, size_t count)
{
	struct msghdr message = {.msg_iov = pieces, .msg_iovlen = count};
	ssize_t n = sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);

	return n > 0 ? (size_t)n : 0;
}

/* Finds the owner of a reference when it has been sent. */
struct held {
	void (*release)(void *owner);
	void *owner;
};

static void release_held(const void *data NEAP_UNUSED, size_t len NEAP_UNUSED, void *arg)
{
	struct held *held = arg;

	held->release(held->owner);
	free(held);
}

static int keep_part(struct evbuffer *piece, const char *data, size_t len, void *owner,
		     const struct neap_http_owners *owners)
{
	struct held *held;

	if (!owner || len <= COPY_MAX)
		return evbuffer_add(piece, data, len);
	held = neap_alloc(sizeof(*held));
	if (!held)
		return -1;
	*held = (struct held){owners->release, owner};
	if (evbuffer_add_reference(piece, data, len, release_held, held) < 0) {
		free(held);
		return -1;
	}
	owners->hold(owner);
	return 0;
}

/* Adds all bytes behind the first sent ones to the connection's buffer. */
static int keep_rest(struct neap_http_stream *stream, const struct iovec *pieces,
		     size_t piece_count, const struct neap_http_part *parts,
		     const struct neap_http_owners *owners, size_t all, size_t sent)
{
	size_t at = 0, first = stream->is_chunked;
	size_t part_count = piece_count - 2 * first;

	/* Each block is encrypted by itself, so there is one for all. */
	if (!stream->is_plain && evbuffer_expand(stream->piece, all) < 0)
		return -NEAP_ENOMEM;
	for (size_t i = 0; i < piece_count; at += pieces[i].iov_len, i++) {
		size_t skip = sent > at ? sent - at : 0;
		bool is_part = i >= first && i - first < part_count;

		if (skip < pieces[i].iov_len &&
		    keep_part(stream->piece, (const char *)pieces[i].iov_base + skip,
			      pieces[i].iov_len - skip,
			      is_part && stream->is_plain ? parts[i - first].owner : NULL,
			      owners) < 0)
			break;
		if (i + 1 == piece_count &&
		    evbuffer_add_buffer(stream->output, stream->piece) == 0)
			return 0;
	}
	(void)evbuffer_drain(stream->piece, evbuffer_get_length(stream->piece));
	return -NEAP_ENOMEM;
}

int neap_http_stream_push(struct neap_http_stream *stream,
			  const struct neap_http_part *parts, size_t count,
			  const struct neap_http_owners *owners, void (*room)(void *arg),
			  void *arg)
{
	struct iovec pieces[NEAP_HTTP_PARTS_MAX + 2];
	size_t at = stream->is_chunked, all = 0, sent = 0;
	char head[CHUNK_ROOM];

	for (size_t i = 0; i < count; i++) {
		pieces[at++] =
			(struct iovec){(void *)(uintptr_t)parts[i].data, parts[i].len};
		all += parts[i].len;
	}
	if (stream->is_chunked) {
		int len = snprintf(head, sizeof(head), "%zx\r\n", all);

		pieces[0] = (struct iovec){head, (size_t)len};
		pieces[at++] = (struct iovec){(void *)(uintptr_t) "\r\n", 2};
		all += (size_t)len + 2;
	}
	/* If bytes wait, or over TLS, only the bufferevent may write. */
	if (stream->is_clear && stream->is_plain)
		sent = send_now(stream->fd, pieces, at);
	if (sent == all)
		return 1;
	if (keep_rest(stream, pieces, at, parts, owners, all, sent) < 0) {
		/* half a chunk would break the answer */
		neap_guard_refuse(stream->guard);
		return -NEAP_ENOMEM;
	}
	stream->room = room;
	stream->room_arg = arg;
	return 0;
}

void neap_http_stream_cut(struct neap_http_stream *stream)
{
	neap_guard_refuse(stream->guard);
}

void neap_http_stream_end(struct neap_http_stream *stream)
{
	stream->is_ending = true;
	stream->room = NULL;
	if (stream->is_plain)
		end_now(stream);
	else if (stream->is_clear)
		call_later(stream);
}
