/* SPDX-License-Identifier: Apache-2.0
 *
 * What handlers do with a request: look at it, answer it, at once or later. */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/http/guard.h"
#include "api/http/server_priv.h"
#include "engine/base/mem.h"

const struct neap_http_peer *neap_http_peer_get(const struct neap_http_request *request)
{
	return &request->peer;
}

const char *neap_http_path_get(const struct neap_http_request *request)
{
	return request->path;
}

const char *neap_http_rest_get(const struct neap_http_request *request)
{
	return request->rest;
}

const char *neap_http_query_find(struct neap_http_request *request, const char *name)
{
	int i;

	for (i = 0; i < request->query_count; i++)
		if (strcmp(request->names[i], name) == 0)
			return request->values[i];
	return NULL;
}

const char *neap_http_body_get(struct neap_http_request *request, size_t *ret_len)
{
	*ret_len = request->body_len;
	return request->body;
}

static struct bufferevent *bufferevent_of(const struct neap_http_request *request)
{
	return evhttp_connection_get_bufferevent(
		evhttp_request_get_connection(request->ev));
}

int neap_http_fd_get(const struct neap_http_request *request)
{
	return bufferevent_getfd(bufferevent_of(request));
}

static void request_free(struct neap_http_request *request)
{
	if (request->hangup)
		event_free(request->hangup);
	free(request->path);
	free(request->query);
	free(request);
}

/* Content and length are set by hand: evhttp leaves the length out of the answer to HEAD. The
 * data belongs to body already. */
static void send_take(struct neap_http_request *request, int status, const char *type,
		      struct evbuffer *body)
{
	struct evhttp_request *ev = request->ev;
	struct evkeyvalq *headers = evhttp_request_get_output_headers(ev);
	bool is_head = evhttp_request_get_command(ev) == EVHTTP_REQ_HEAD;
	char length[32];

	neap_guard_watch(request->guard, NULL, NULL);
	(void)snprintf(length, sizeof(length), "%zu", evbuffer_get_length(body));
	/* A header that is lost for want of memory leaves an answer that is still framed right:
	 * evhttp adds the length again, and the rest is advice. */
	evhttp_add_header(headers, "Content-Type", type);
	evhttp_add_header(headers, "Content-Length", length);
	evhttp_add_header(headers, "Cache-Control", "no-store");
	evhttp_add_header(headers, "X-Content-Type-Options", "nosniff");
	request_free(request);
	evhttp_send_reply(ev, status, NULL, is_head ? NULL : body);
	evbuffer_free(body);
}

/* No memory for an answer: closing is the only thing left. */
static void drop(struct neap_http_request *request)
{
	struct evhttp_connection *connection = evhttp_request_get_connection(request->ev);

	neap_guard_watch(request->guard, NULL, NULL);
	request_free(request);
	evhttp_connection_free(connection);
}

void neap_http_answer_text(struct neap_http_request *request, int status,
			   const char *type, const char *text, size_t len)
{
	struct evbuffer *body = evbuffer_new();

	if (!body || evbuffer_add(body, text, len) < 0) {
		if (body)
			evbuffer_free(body);
		drop(request);
		return;
	}
	send_take(request, status, type, body);
}

static void release_text(const void *data, size_t len, void *arg)
{
	(void)data;
	(void)len;
	free(arg);
}

void neap_http_answer_json_take(struct neap_http_request *request, int status,
				json_t *body)
{
	struct evbuffer *out = evbuffer_new();
	char *text = body ? json_dumps(body, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;

	json_decref(body);
	if (!out || !text ||
	    evbuffer_add_reference(out, text, strlen(text), release_text, text) < 0) {
		free(text);
		if (out)
			evbuffer_free(out);
		drop(request);
		return;
	}
	(void)evbuffer_add(out, "\n", 1); /* for terminals; nothing is lost without it */
	send_take(request, status, "application/json", out);
}

void neap_http_answer_coded(struct neap_http_request *request, int status,
			    const char *code, const struct neap_error *err)
{
	json_t *body = json_pack("{s:s, s:s}", "code", code, "message", err->msg);

	/* Messages quote input, and a cut may fall inside a character: then say less. */
	if (!body)
		body = json_pack("{s:s, s:s}", "code", code, "message",
				 "(the message quotes text that is not UTF-8)");
	if (body && *err->field)
		json_object_set_new(body, "field", json_string(err->field));
	neap_http_answer_json_take(request, status, body);
}

void neap_http_answer_error(struct neap_http_request *request,
			    const struct neap_error *err)
{
	neap_http_answer_coded(request, neap_code_http(err->code),
			       neap_code_name(err->code), err);
}

/* evhttp frees its request with the connection after this. */
static void gone_cb(void *arg)
{
	struct neap_http_request *request = arg;

	request->gone(request->gone_arg);
	request_free(request);
}

static void hangup_cb(evutil_socket_t fd, short what, void *arg)
{
	struct neap_http_request *request = arg;

	(void)fd;
	(void)what;
	evhttp_connection_free(
		evhttp_request_get_connection(request->ev)); /* calls gone_cb */
}

void neap_http_defer(struct neap_http_request *request, void (*gone)(void *arg),
		     void *arg)
{
	request->gone = gone;
	request->gone_arg = arg;
	neap_guard_watch(request->guard, gone_cb, request);
	/* evhttp does not read while a request is with its handler, so it would see the client go
	 * only at the answer. Without memory for the event it is so. */
	request->hangup = event_new(request->base, neap_http_fd_get(request), EV_CLOSED,
				    hangup_cb, request);
	if (request->hangup)
		(void)event_add(request->hangup, NULL);
}
