/* SPDX-License-Identifier: Apache-2.0
 *
 * A handler's access to the request, and headers of its answer; and when a request gets
 * to its handler. */
#include <event2/bufferevent.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <event2/util.h>
#include <string.h>
#include <sys/queue.h>

#include "api/http/serve/guard.h"
#include "api/http/serve/server_priv.h"
#include "api/task/task.h"
#include "engine/base/mem.h"

const struct neap_http_peer *neap_http_peer_get(const struct neap_http_request *request)
{
	return &request->peer;
}

const char *neap_http_path_get(const struct neap_http_request *request)
{
	return request->path;
}

const char *neap_http_uri_get(const struct neap_http_request *request)
{
	const char *uri = evhttp_request_get_uri(request->ev);

	return uri ? uri : "";
}

const char *neap_http_method_get(const struct neap_http_request *request)
{
	switch (evhttp_request_get_command(request->ev)) {
	case EVHTTP_REQ_GET:
		return "GET";
	case EVHTTP_REQ_HEAD:
		return "HEAD";
	case EVHTTP_REQ_POST:
		return "POST";
	case EVHTTP_REQ_PUT:
		return "PUT";
	case EVHTTP_REQ_PATCH:
		return "PATCH";
	case EVHTTP_REQ_DELETE:
		return "DELETE";
	default:
		return "";
	}
}

int64_t neap_http_received_get(const struct neap_http_request *request)
{
	return request->received_usec;
}

void neap_http_address_get(const struct neap_http_request *request, char *buf,
			   size_t size)
{
	neap_guard_address(request->guard, buf, size);
}

void neap_http_note_set(struct neap_http_request *request, const char *note)
{
	(void)neap_strcopy(request->note, sizeof(request->note), note);
}

const char *neap_http_note_get(const struct neap_http_request *request)
{
	return request->note;
}

void neap_http_observe(struct neap_http_request *request, int status)
{
	const struct neap_http_watcher *watcher = request->watcher;

	if (watcher->observer)
		watcher->observer(watcher->arg, request, status);
}

const char *neap_http_rest_get(const struct neap_http_request *request)
{
	return request->rest;
}

const char *neap_http_query_nth(const struct neap_http_request *request, const char *name,
				int n)
{
	int i;

	for (i = 0; i < request->query_count; i++)
		if (strcmp(request->names[i], name) == 0 && n-- == 0)
			return request->values[i];
	return NULL;
}

const char *neap_http_query_find(struct neap_http_request *request, const char *name)
{
	return neap_http_query_nth(request, name, 0);
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

const char *neap_http_segment_get(const struct neap_http_request *request, int index)
{
	if (index < 0 || index >= request->segment_count)
		return NULL;
	return request->segments[index];
}

const char *neap_http_header_find(const struct neap_http_request *request,
				  const char *name)
{
	return evhttp_find_header(evhttp_request_get_input_headers(request->ev), name);
}

int neap_http_header_add(struct neap_http_request *request, const char *name,
			 const char *value)
{
	static const char *const own[] = {"Content-Type", "Content-Length",
					  "Transfer-Encoding", "Connection", "Trailer"};
	const char *c;
	size_t i;

	if (!neap_http_is_token(name))
		return -NEAP_EINVAL;
	for (i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (evutil_ascii_strcasecmp(name, own[i]) == 0)
			return -NEAP_EINVAL;
	for (c = value; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			return -NEAP_EINVAL;
	if (evhttp_add_header(evhttp_request_get_output_headers(request->ev), name,
			      value) < 0)
		return -NEAP_ENOMEM;
	if (evutil_ascii_strcasecmp(name, "Cache-Control") == 0)
		request->has_cache_control = true;
	return 0;
}

/* Returns the end of one element of a header list: its comma or the end of the text. */
static const char *element_end(const char *text)
{
	bool is_quoted = false;

	for (; *text && (is_quoted || *text != ','); text++) {
		if (*text == '"')
			is_quoted = !is_quoted;
		else if (is_quoted && *text == '\\' && text[1])
			text++;
	}
	return text;
}

static const char *blanks_skip(const char *text, const char *end)
{
	while (text < end && (*text == ' ' || *text == '\t'))
		text++;
	return text;
}

/* ";q=0", "; Q=0.000": not wanted. */
static bool is_weight_zero(const char *text, const char *end)
{
	while (text < end) {
		const char *next = memchr(text, ';', (size_t)(end - text));

		text = blanks_skip(text, end);
		if (end - text >= 3 && (text[0] == 'q' || text[0] == 'Q') &&
		    text[1] == '=') {
			text += 2;
			return *text == '0' &&
			       text + strspn(text, "0. \t") >= (next ? next : end);
		}
		text = next ? next + 1 : end;
	}
	return false;
}

static bool list_accepts(const char *text, const char *type)
{
	size_t len = strlen(type);

	while (*text) {
		const char *end = element_end(text);
		const char *item = blanks_skip(text, end);
		const char *after = item + len;

		if ((size_t)(end - item) >= len &&
		    evutil_ascii_strncasecmp(item, type, len) == 0) {
			after = blanks_skip(after, end);
			if (after == end)
				return true;
			if (*after == ';')
				return !is_weight_zero(after + 1, end);
		}
		text = *end ? end + 1 : end;
	}
	return false;
}

bool neap_http_accepts(const struct neap_http_request *request, const char *type)
{
	const struct evkeyval *header;

	TAILQ_FOREACH(header, evhttp_request_get_input_headers(request->ev), next)
	if (evutil_ascii_strcasecmp(header->key, "Accept") == 0 &&
	    list_accepts(header->value, type))
		return true;
	return false;
}

/* --- its turn ---
 *
 * The order of requests. A single request goes to its handler at once. When the loop has
 * spent enough time on requests in this turn, others wait, in one queue per user, so that
 * a demanding user delays only itself. */

/* Limit for the bodies that wait; beyond it a request is handled at once, because no more
 * may be held for its peer. */
#define BYTES_MAX ((size_t)8 * 1024 * 1024)

/* Called for a request that no longer waits. */
static void leave(struct neap_http_request *request)
{
	neap_task_free(request->task);
	request->task = NULL;
	request->turns->bytes -= request->body_len;
}

static void client_gone(void *arg)
{
	struct neap_http_request *request = arg;

	if (request->task)
		leave(request);
}

static enum neap_task_next its_turn(void *arg)
{
	struct neap_http_request *request = arg;

	leave(request);
	request->handler(request->handler_arg, request);
	return NEAP_TASK_IS_OVER;
}

void neap_http_turn_run(struct neap_http_turns *turns, struct neap_http_request *request,
			const struct neap_http_route *route, void *arg)
{
	/* Health checks use open routes, so these are not deferred. */
	bool is_open = route->role == NEAP_HTTP_ANYBODY;

	if (is_open || neap_tasks_enter(turns->tasks)) {
		route->handler(arg, request);
		if (!is_open)
			neap_tasks_leave(turns->tasks);
		return;
	}
	if (request->body_len <= BYTES_MAX - turns->bytes)
		request->task = neap_task_new(turns->tasks, request->peer.user->name,
					      its_turn, request);
	if (!request->task) {
		route->handler(arg, request);
		return;
	}
	request->turns = turns;
	request->handler = route->handler;
	request->handler_arg = arg;
	turns->bytes += request->body_len;
	/* neap_http_hold, not neap_http_defer: a client that closed its side after the
	 * request is still answered, as it is without waiting. */
	neap_http_hold(request, client_gone, request);
	neap_task_wake(request->task);
}
