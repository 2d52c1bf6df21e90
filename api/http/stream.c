/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers without an end: events as they come, over one chunked answer. evhttp's output buffer grows
 * without bound and its read timeout counts the client's silence, so both are taken in hand here: what
 * a slow client has not read is looked at before each piece, and the time limit of reading gives way
 * to keep-alive probes of TCP. */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "api/http/guard.h"
#include "api/http/server_priv.h"
#include "engine/base/mem.h"

/* A client that went without a word is noticed after 30 + 3 * 10 s. */
#define PROBE_IDLE_S  30
#define PROBE_EACH_S  10
#define PROBE_COUNT   3
#define RETRY_AFTER_S "10"
#define CHUNK_ROOM    64 /* its length and the end of that line */
/* As good as never. None at all would bring the old one back with the first byte the client sends:
 * libevent keeps it with the event when that is added without one. */
#define READ_TIMEOUT_S (365 * 24 * 3600)

struct neap_http_stream {
	struct evhttp_request *ev;
	struct neap_guard *guard;
	void (*gone)(void *arg);
	void *gone_arg;
	struct evbuffer *piece;  /* empty between two sends */
	int skips;               /* in a row */
	void (*room)(void *arg); /* of the last push */
	void *room_arg;
};

static void stream_free(struct neap_http_stream *stream)
{
	evbuffer_free(stream->piece);
	free(stream);
}

static void gone_cb(void *arg)
{
	struct neap_http_stream *stream = arg;
	struct evhttp_request *ev = stream->ev;

	stream->gone(stream->gone_arg);
	stream_free(stream);
	/* When evhttp saw the end itself it has let go of the request, which would be lost. */
	if (!evhttp_request_get_connection(ev))
		evhttp_request_free(ev);
}

/* What fails here costs only that a lost client is noticed later, at a write. */
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

static void answer_full(struct neap_http_request *request)
{
	struct neap_error err;

	neap_error_set(&err, NEAP_EUNAVAILABLE,
		       "too many streams are open: %d in all, %d of one client",
		       NEAP_HTTP_STREAMS_MAX, NEAP_HTTP_STREAMS_PEER_MAX);
	if (request->tree && request->peer.role > NEAP_HTTP_ANYBODY)
		neap_error_set(&err, NEAP_EUNAVAILABLE, "too many streams are open: %zu",
			       request->tree->streams_max);
	(void)neap_http_header_add(request, "Retry-After", RETRY_AFTER_S);
	neap_http_answer_error(request, &err);
}

static void answer_nomem(struct neap_http_request *request)
{
	struct neap_error err;

	neap_error_nomem(&err);
	neap_http_answer_error(request, &err);
}

/* Without a length, as a GET has none either. */
static void answer_head(struct neap_http_request *request, const char *type)
{
	struct evhttp_request *ev = request->ev;

	if (neap_http_headers_finish(request, type) < 0 ||
	    !neap_http_headers_reserve(request)) {
		neap_http_drop_take(request);
		return;
	}
	neap_guard_note_answer(request->guard);
	neap_http_request_free(request);
	evhttp_send_reply(ev, 200, NULL, NULL);
}

struct neap_http_stream *neap_http_stream_start_take(struct neap_http_request *request,
						     const char *type,
						     void (*gone)(void *arg), void *arg)
{
	struct evhttp_request *ev = request->ev;
	struct neap_http_stream *stream;

	if (evhttp_request_get_command(ev) == EVHTTP_REQ_HEAD) {
		answer_head(request, type);
		return NULL;
	}
	stream = neap_alloc(sizeof(*stream));
	if (stream)
		stream->piece = evbuffer_new();
	if (!stream || !stream->piece) {
		free(stream);
		answer_nomem(request);
		return NULL;
	}
	if (!neap_guard_take_stream(request->guard, request->tree)) {
		stream_free(stream);
		answer_full(request);
		return NULL;
	}
	/* Whatever the client says meanwhile is not read as a request. */
	if (neap_http_headers_finish(request, type) < 0 ||
	    evhttp_add_header(evhttp_request_get_output_headers(ev), "Connection",
			      "close") < 0 ||
	    !neap_http_headers_reserve(request)) {
		stream_free(stream);
		neap_http_drop_take(request);
		return NULL;
	}
	stream->ev = ev;
	stream->guard = request->guard;
	stream->gone = gone;
	stream->gone_arg = arg;
	set_timeouts(evhttp_connection_get_bufferevent(evhttp_request_get_connection(ev)),
		     request->timeout_s);
	neap_http_request_free(request);
	neap_guard_note_answer(stream->guard);
	neap_guard_watch(stream->guard, gone_cb, stream);
	evhttp_send_reply_start(ev, 200, NULL);
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
	    /* evhttp does not look whether it could print the length of the chunk, and the end of line
	     * behind it, which goes where the piece ends. */
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

static void all_written(struct evhttp_connection *connection, void *arg)
{
	struct neap_http_stream *stream = arg;

	(void)connection;
	stream->room(stream->room_arg);
}

int neap_http_stream_push(struct neap_http_stream *stream, const char *data, size_t len,
			  void (*room)(void *arg), void *arg)
{
	struct evhttp_connection *connection = evhttp_request_get_connection(stream->ev);
	struct bufferevent *bev = evhttp_connection_get_bufferevent(connection);

	if (evbuffer_expand(bufferevent_get_output(bev), CHUNK_ROOM) < 0 ||
	    evbuffer_expand(stream->piece, len + strlen("\r\n")) < 0 ||
	    evbuffer_add(stream->piece, data, len) < 0)
		return -NEAP_ENOMEM;
	stream->room = room;
	stream->room_arg = arg;
	evhttp_send_reply_chunk_with_cb(stream->ev, stream->piece, all_written, stream);
	return 0;
}

void neap_http_stream_end(struct neap_http_stream *stream)
{
	struct evhttp_request *ev = stream->ev;

	neap_guard_watch(stream->guard, NULL, NULL);
	stream_free(stream);
	evhttp_send_reply_end(ev);
}
