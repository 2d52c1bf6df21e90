/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers a request, at once or later. */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

#include "api/http/serve/guard.h"
#include "api/http/serve/server_priv.h"
#include "api/http/users/tokens.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

/* Texts up to this size are copied into one piece with the bytes around them. */
#define STATUS_ROOM 256 /* a status line, the end of the headers, what evhttp adds */
#define COPY_MAX    4096

void neap_http_request_free(struct neap_http_request *request)
{
	if (request->hangup)
		event_free(request->hangup);
	if (request->end)
		event_free(request->end);
	free(request->path);
	free(request->segment_text);
	free(request->query);
	neap_tokens_unref(request->tokens);
	free(request);
}

static void make_lines(struct neap_http_lines *lines, time_t now, const char *type)
{
	struct tm tm;
	char date[64];

	lines->at = 0;
	if (!gmtime_r(&now, &tm) || evutil_date_rfc1123(date, sizeof(date), &tm) <= 0)
		date[0] = '\0';
	(void)snprintf(lines->text, sizeof(lines->text),
		       "%s\r\nContent-Type: %s\r\nX-Content-Type-Options: nosniff"
		       "\r\nCache-Control: no-store",
		       date, type);
	if (neap_strcopy(lines->type, sizeof(lines->type), type))
		lines->at = now;
}

/* evhttp prints each header by itself, after three allocations: a fifth of the cost of a
 * small answer. So constant headers are added as lines of one value, which
 * evhttp_add_header would refuse. libevent frees with free(3), because neap sets no other
 * functions. */
static int add_lines(struct neap_http_request *request, const char *text, size_t len)
{
	struct evkeyval *header = neap_alloc(sizeof(*header));

	if (!header)
		return -NEAP_ENOMEM;
	header->key = neap_strdup("Date");
	header->value = neap_strndup(text, len);
	if (!header->key || !header->value) {
		free(header->key);
		free(header->value);
		free(header);
		return -NEAP_ENOMEM;
	}
	TAILQ_INSERT_HEAD(evhttp_request_get_output_headers(request->ev), header, next);
	return 0;
}

int neap_http_headers_finish(struct neap_http_request *request, const char *type)
{
	struct neap_http_lines *lines = request->lines;
	struct timeval now;
	size_t len;

	event_base_gettimeofday_cached(request->base, &now);
	if (lines->at != now.tv_sec || strcmp(lines->type, type) != 0)
		make_lines(lines, now.tv_sec, type);
	len = strlen(lines->text);
	if (request->has_cache_control)
		len = (size_t)(strstr(lines->text, "\r\nCache-Control") - lines->text);
	return add_lines(request, lines->text, len);
}

bool neap_http_headers_reserve(struct neap_http_request *request)
{
	struct evhttp_connection *connection = evhttp_request_get_connection(request->ev);
	struct evbuffer *output =
		bufferevent_get_output(evhttp_connection_get_bufferevent(connection));
	struct evkeyval *header;
	size_t len = STATUS_ROOM;

	TAILQ_FOREACH(header, evhttp_request_get_output_headers(request->ev), next)
	len += strlen(header->key) + strlen(header->value) + strlen(": \r\n");
	return evbuffer_expand(output, len) == 0;
}

/* Most answers fit into the socket's buffer. Writing them here saves a turn of the loop
 * and, with a base of neap_http_base_new, every call of epoll_ctl. evhttp's callback for
 * "all is written" then starts the next request, or frees the connection. The rest, and
 * errors, are left to the loop. */
static void write_now(struct bufferevent *bev)
{
	struct evbuffer *output = bufferevent_get_output(bev);
	int n;

	/* Only a bufferevent itself may drain its output. */
	if (evbuffer_unfreeze(output, 1) < 0)
		return;
	n = evbuffer_write_atmost(output, bufferevent_getfd(bev), NEAP_HTTP_WRITE_MAX);
	(void)evbuffer_freeze(output, 1); /* cannot fail, because the unfreeze worked */
	if (n > 0 && evbuffer_get_length(output) == 0)
		bufferevent_trigger(bev, EV_WRITE, 0);
}

/* There is no memory for an answer, so the connection is closed. */
void neap_http_drop_take(struct neap_http_request *request)
{
	struct evhttp_connection *connection = evhttp_request_get_connection(request->ev);

	neap_http_observe(request, 0);
	neap_guard_note_answer(request->guard);
	neap_http_request_free(request);
	evhttp_connection_free(connection);
}

/* libevent does not know 422 and says "Client Error". NULL: libevent knows it. */
static const char *reason_find(int status)
{
	return status == 422 ? "Unprocessable Content" : NULL;
}

/* A report omits members when memory is short. For a read that is not an answer; a change
 * was made, and its answer is sent even if incomplete. */
static bool is_lacking(const struct neap_http_request *request, int status)
{
	enum evhttp_cmd_type method = evhttp_request_get_command(request->ev);

	return status < 300 && (method == EVHTTP_REQ_GET || method == EVHTTP_REQ_HEAD) &&
	       neap_json_failures() != request->json_failures;
}

/* The body is in evhttp's output buffer. The length is set here, because evhttp omits it
 * in the answer to HEAD. */
static void send_take(struct neap_http_request *request, int status, const char *type)
{
	struct evhttp_request *ev = request->ev;
	struct evbuffer *body = evhttp_request_get_output_buffer(ev);
	struct bufferevent *bev =
		evhttp_connection_get_bufferevent(evhttp_request_get_connection(ev));
	struct neap_error err;
	char length[32];
	bool is_tls;

	if (is_lacking(request, status)) {
		(void)evbuffer_drain(body, evbuffer_get_length(body));
		(void)neap_error_nomem(&err);
		neap_http_answer_error(request, &err);
		return;
	}
	(void)snprintf(length, sizeof(length), "%zu", evbuffer_get_length(body));
	if (neap_http_headers_finish(request, type) < 0 ||
	    evhttp_add_header(evhttp_request_get_output_headers(ev), "Content-Length",
			      length) < 0 ||
	    !neap_http_headers_reserve(request)) {
		neap_http_drop_take(request);
		return;
	}
	if (evhttp_request_get_command(ev) == EVHTTP_REQ_HEAD)
		(void)evbuffer_drain(body, evbuffer_get_length(body));
	neap_http_observe(request, status);
	is_tls = neap_guard_is_tls(request->guard);
	neap_guard_note_answer(request->guard);
	neap_http_request_free(request);
	evhttp_send_reply(ev, status, reason_find(status), NULL);
	if (!is_tls) /* over TLS only the bufferevent can encrypt */
		write_now(bev);
}

void neap_http_answer_text(struct neap_http_request *request, int status,
			   const char *type, const char *text, size_t len)
{
	if (evbuffer_add(evhttp_request_get_output_buffer(request->ev), text, len) < 0)
		neap_http_drop_take(request);
	else
		send_take(request, status, type);
}

static void release_text(const void *data NEAP_UNUSED, size_t len NEAP_UNUSED, void *arg)
{
	free(arg);
}

/* Takes text over, also when it fails. A large text is not copied. */
static int add_text_take(struct evbuffer *to, char *text, size_t len)
{
	int r;

	if (len > COPY_MAX) {
		r = evbuffer_add_reference(to, text, len, release_text, text);
		if (r < 0)
			free(text);
		return r;
	}
	r = evbuffer_expand(to, len + 1);
	if (r == 0)
		r = evbuffer_add(to, text, len);
	free(text);
	return r;
}

void neap_http_answer_text_take(struct neap_http_request *request, int status,
				const char *type, char *text, size_t len)
{
	if (add_text_take(evhttp_request_get_output_buffer(request->ev), text, len) < 0)
		neap_http_drop_take(request);
	else
		send_take(request, status, type);
}

void neap_http_answer_json_take(struct neap_http_request *request, int status,
				json_t *body)
{
	struct evbuffer *out = evhttp_request_get_output_buffer(request->ev);
	char *text = body ? neap_json_dump(body, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;

	json_decref(body);
	if (!text || add_text_take(out, text, strlen(text)) < 0) {
		neap_http_drop_take(request);
		return;
	}
	(void)evbuffer_add(out, "\n", 1); /* for terminals; optional */
	send_take(request, status, "application/json");
}

void neap_http_answer_coded_take(struct neap_http_request *request, int status,
				 const char *code, const struct neap_error *err,
				 json_t *details)
{
	json_t *body = request->tree ? request->tree->refusal(status, err)
				     : json_pack("{s:s, s:s}", "code", code, "message",
						 err->msg);

	if (body && !request->tree && *err->field &&
	    json_object_set_new(body, "field", json_string(err->field)) < 0) {
		json_decref(body);
		body = NULL; /* without memory, as below */
	}
	if (body && details && !request->tree)
		(void)json_object_update_missing(body, details); /* optional */
	json_decref(details);
	if ((status == 503 || status == 429) &&
	    !evhttp_find_header(evhttp_request_get_output_headers(request->ev),
				"Retry-After"))
		(void)neap_http_header_add(request, "Retry-After", "1");
	neap_http_answer_json_take(request, status, body);
}

void neap_http_answer_busy_take(struct neap_http_request *request, int status,
				const struct neap_error *err)
{
	neap_http_answer_coded_take(
		request, status,
		status == 429 ? "TooManyRequests" : neap_code_name(err->code), err, NULL);
}

void neap_http_answer_problem_take(struct neap_http_request *request, int status,
				   const struct neap_error *err, json_t *details)
{
	neap_http_answer_coded_take(request, status, neap_code_name(err->code), err,
				    details);
}

void neap_http_answer_error(struct neap_http_request *request,
			    const struct neap_error *err)
{
	neap_http_answer_problem_take(request, neap_code_http(err->code), err, NULL);
}

/* evhttp frees its request with the connection after this. */
static void gone_cb(void *arg)
{
	struct neap_http_request *request = arg;

	request->gone(request->gone_arg);
	neap_http_observe(request, 0);
	neap_http_request_free(request);
}

static bool is_gone(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLRDHUP};

	return poll(&p, 1, 0) > 0;
}

/* The end of a connection comes as EV_CLOSED, but a reset comes as EV_READ, like input.
 * Input behind a request stays unread, and would wake the loop all the time. In that case
 * the connection is checked once a second. */
static void hangup_cb(evutil_socket_t fd NEAP_UNUSED, short what NEAP_UNUSED, void *arg)
{
	static const struct timeval one_second = {.tv_sec = 1};
	struct neap_http_request *request = arg;

	if (is_gone(neap_http_fd_get(request))) {
		evhttp_connection_free(
			evhttp_request_get_connection(request->ev)); /* calls gone_cb */
		return;
	}
	if (!request->is_polled) {
		request->is_polled = true;
		(void)event_assign(request->hangup, request->base, -1, EV_PERSIST,
				   hangup_cb, request);
		(void)event_add(request->hangup, &one_second);
	}
}

void neap_http_hold(struct neap_http_request *request, void (*gone)(void *arg), void *arg)
{
	request->gone = gone;
	request->gone_arg = arg;
	neap_guard_watch(request->guard, gone_cb, request);
}

void neap_http_defer(struct neap_http_request *request, void (*gone)(void *arg),
		     void *arg)
{
	/* it belongs to another request, which is watched already */
	if (request->hangup) {
		request->gone = gone;
		request->gone_arg = arg;
		return;
	}
	neap_http_hold(request, gone, arg);
	/* evhttp does not read while a handler has the request, so it would notice the
	 * client's end only at the answer. Without memory for the event that is the
	 * case. */
	request->hangup = event_new(request->base, neap_http_fd_get(request),
				    EV_CLOSED | EV_READ, hangup_cb, request);
	if (request->hangup)
		(void)event_add(request->hangup, NULL);
}

static void end_cb(evutil_socket_t fd NEAP_UNUSED, short what NEAP_UNUSED, void *arg)
{
	struct neap_http_request *request = arg;

	request->late(request->gone_arg);
}

void neap_http_defer_until(struct neap_http_request *request, int64_t usec,
			   void (*late)(void *arg))
{
	const struct timeval after = {.tv_sec = usec / 1000000,
				      .tv_usec = usec % 1000000};

	request->late = late;
	request->end = evtimer_new(request->base, end_cb, request);
	if (request->end)
		(void)event_add(request->end, &after);
}
