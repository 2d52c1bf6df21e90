/* SPDX-License-Identifier: Apache-2.0
 *
 * From evhttp's request to a handler: framing, address, who asks, route. What may be asked at all
 * is decided here, before any handler runs; a handler sees only requests of known peers, unless
 * its route is open. */
#include "api/http/server.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/listener.h>
#include <stdlib.h>
#include <string.h>

#include "api/http/guard.h"
#include "api/http/server_priv.h"
#include "api/http/url.h"
#include "engine/base/buf.h"
#include "engine/base/mem.h"

#define TABLES_MAX 8
#define METHODS                                                                          \
	(EVHTTP_REQ_GET | EVHTTP_REQ_HEAD | EVHTTP_REQ_POST | EVHTTP_REQ_PUT |           \
	 EVHTTP_REQ_PATCH | EVHTTP_REQ_DELETE)

struct table {
	const struct neap_http_route *routes;
	void *arg;
};

struct neap_http {
	struct event_base *base;
	struct evhttp *evhttp;
	struct neap_guards *guards;
	char *token;
	struct table tables[TABLES_MAX];
	int table_count;
	struct event *reopen; /* listening pauses for a second when descriptors run out */
	struct evconnlistener *listeners[2];
	int listener_count;
	int owned_fds[2]; /* -1 until the start has succeeded */
};

static const char *method_name(enum evhttp_cmd_type type)
{
	switch (type) {
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

/* Takes the same time whatever the difference; the length of the given text may show. */
static bool is_token_right(const char *want, const char *given)
{
	size_t want_len = strlen(want), given_len = strlen(given), i;
	unsigned char difference = want_len != given_len;

	for (i = 0; i < given_len; i++)
		difference |=
			(unsigned char)(given[i] ^ want[want_len ? i % want_len : 0]);
	return !difference && want_len > 0;
}

static bool has_token(const struct neap_http *http, struct evhttp_request *ev)
{
	const char *value =
		evhttp_find_header(evhttp_request_get_input_headers(ev), "Authorization");

	if (!http->token || !value || evutil_ascii_strncasecmp(value, "Bearer ", 7) != 0)
		return false;
	return is_token_right(http->token, value + 7);
}

/* "/a/b" or "/a/" followed by anything; *ret_rest is what the star took. */
static bool is_path_match(const char *pattern, const char *path, const char **ret_rest)
{
	size_t len = strlen(pattern);

	if (len && pattern[len - 1] == '*') {
		if (strncmp(pattern, path, len - 1) != 0)
			return false;
		*ret_rest = path + len - 1;
		return true;
	}
	if (strcmp(pattern, path) != 0)
		return false;
	*ret_rest = "";
	return true;
}

/* The route, or NULL with the methods that this path has ("" when there is no such path). */
static const struct neap_http_route *find_route(struct neap_http *http,
						const char *method, const char *path,
						void **ret_arg, const char **ret_rest,
						struct neap_buf *allowed)
{
	const struct neap_http_route *route;
	int i;

	for (i = 0; i < http->table_count; i++)
		for (route = http->tables[i].routes; route->method; route++) {
			bool is_get = strcmp(route->method, "GET") == 0;

			if (!is_path_match(route->path, path, ret_rest))
				continue;
			if (strcmp(route->method, method) == 0 ||
			    (is_get && strcmp(method, "HEAD") == 0)) {
				*ret_arg = http->tables[i].arg;
				return route;
			}
			neap_buf_addf(allowed, "%s%s%s", allowed->len ? ", " : "",
				      route->method, is_get ? ", HEAD" : "");
		}
	return NULL;
}

/* Path and query out of the request line, decoded. */
static int read_address(struct neap_http_request *request, struct neap_error *err)
{
	const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(request->ev);
	const char *path = uri ? evhttp_uri_get_path(uri) : NULL;
	const char *query = uri ? evhttp_uri_get_query(uri) : NULL;
	int count;

	request->path = neap_strdup(path && *path ? path : "/");
	request->query = neap_strdup(query ? query : "");
	if (!request->path || !request->query)
		return neap_error_nomem(err);
	if (neap_url_decode(request->path, false, err) < 0)
		return -NEAP_EINVAL;
	count = neap_url_query_parse(request->query, request->names, request->values,
				     NEAP_HTTP_QUERY_MAX, err);
	if (count < 0)
		return count;
	request->query_count = count;
	return 0;
}

/* The body in one piece, with a NUL behind it. */
static int read_body(struct neap_http_request *request, struct neap_error *err)
{
	struct evbuffer *in = evhttp_request_get_input_buffer(request->ev);

	request->body = "";
	request->body_len = evbuffer_get_length(in);
	if (!request->body_len)
		return 0;
	if (evbuffer_add(in, "", 1) < 0)
		return neap_error_nomem(err);
	request->body = (const char *)evbuffer_pullup(in, -1);
	return request->body ? 0 : neap_error_nomem(err);
}

static void answer_unknown_peer(struct neap_http_request *request)
{
	struct neap_error err;

	if (request->peer.is_unix) {
		neap_error_set(&err, NEAP_EFORBIDDEN,
			       "user %u may not: only root and neapd's own user may",
			       (unsigned)request->peer.uid);
	} else {
		neap_error_set(&err, NEAP_EAUTH,
			       "no token or a wrong one: send \"Authorization: Bearer "
			       "TOKEN\", the token is in DATA_DIR/token");
		evhttp_add_header(evhttp_request_get_output_headers(request->ev),
				  "WWW-Authenticate", "Bearer");
	}
	neap_http_answer_error(request, &err);
}

static void answer_no_route(struct neap_http_request *request, const char *method,
			    const char *allowed)
{
	struct neap_error err;

	if (!*allowed) {
		neap_error_set(&err, NEAP_ENOTFOUND, "there is nothing at %s",
			       request->path);
		neap_http_answer_error(request, &err);
		return;
	}
	evhttp_add_header(evhttp_request_get_output_headers(request->ev), "Allow",
			  allowed);
	neap_error_set(&err, NEAP_EINVAL, "%s takes %s, not %s", request->path, allowed,
		       method);
	neap_http_answer_coded(request, 405, "MethodNotAllowed", &err);
}

static void dispatch(struct neap_http *http, struct neap_http_request *request)
{
	const struct neap_http_route *route;
	const char *method = method_name(evhttp_request_get_command(request->ev));
	neap_auto_buf struct neap_buf allowed;
	struct neap_error err;
	void *arg = NULL;

	neap_buf_init(&allowed, 256);
	request->rest = "";
	if (neap_guard_check_headers(request->ev, &err) < 0 ||
	    read_address(request, &err) < 0) {
		evhttp_add_header(evhttp_request_get_output_headers(request->ev),
				  "Connection", "close");
		neap_http_answer_coded(request, err.code == NEAP_EINVAL ? 400 : 500,
				       neap_code_name(err.code), &err);
		return;
	}
	if (!request->peer.is_unix)
		request->peer.is_known = has_token(http, request->ev);
	route = find_route(http, method, request->path, &arg, &request->rest, &allowed);
	if (!request->peer.is_known && (!route || !route->is_open)) {
		answer_unknown_peer(request);
		return;
	}
	if (!route) {
		answer_no_route(request, method, allowed.data);
		return;
	}
	if (read_body(request, &err) < 0) {
		neap_http_answer_error(request, &err);
		return;
	}
	route->handler(arg, request);
}

static void request_cb(struct evhttp_request *ev, void *arg)
{
	struct neap_http *http = arg;
	struct evhttp_connection *connection = evhttp_request_get_connection(ev);
	struct neap_http_request *request = neap_alloc(sizeof(*request));

	if (request)
		request->guard = neap_guards_note_request(
			http->guards, evhttp_connection_get_bufferevent(connection),
			&request->peer);
	if (!request || !request->guard) {
		free(request);
		evhttp_connection_free(connection);
		return;
	}
	request->ev = ev;
	request->base = http->base;
	dispatch(http, request);
}

/* Out of descriptors: accepting again at once would only spin. */
static void accept_failed(struct evconnlistener *listener, void *arg)
{
	static const struct timeval pause = {.tv_sec = 1};
	struct neap_http *http = arg;

	if (errno == ECONNABORTED || errno == EINTR)
		return;
	(void)evconnlistener_disable(listener);
	(void)event_add(http->reopen, &pause);
}

static void reopen_cb(evutil_socket_t fd, short what, void *arg)
{
	struct neap_http *http = arg;
	int i;

	(void)fd;
	(void)what;
	for (i = 0; i < http->listener_count; i++)
		(void)evconnlistener_enable(http->listeners[i]);
}

static int add_listener(struct neap_http *http, int fd, struct neap_error *err)
{
	struct evhttp_bound_socket *bound;
	struct evconnlistener *listener = evconnlistener_new(
		http->base, NULL, NULL, LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_DISABLED, 0, fd);

	if (!listener)
		return neap_error_nomem(err);
	bound = evhttp_bind_listener(http->evhttp, listener);
	if (!bound) {
		evconnlistener_free(listener);
		return neap_error_nomem(err);
	}
	evconnlistener_set_error_cb(listener, accept_failed);
	http->listeners[http->listener_count++] = listener;
	return 0;
}

int neap_http_new(struct event_base *base, const struct neap_http_config *config,
		  struct neap_http **ret, struct neap_error *err)
{
	struct neap_http *http = neap_alloc(sizeof(*http));
	int fds[2] = {config->tcp_fd, config->unix_fd}, i;
	int timeout_s = config->timeout_s ? config->timeout_s : NEAP_HTTP_TIMEOUT_S;

	if (!http)
		return neap_error_nomem(err);
	http->base = base;
	http->owned_fds[0] = http->owned_fds[1] = -1;
	http->guards = neap_guards_new(base, config->own_uid, timeout_s);
	http->evhttp = evhttp_new(base);
	http->reopen = evtimer_new(base, reopen_cb, http);
	http->token = config->token ? neap_strdup(config->token) : NULL;
	if (!http->guards || !http->evhttp || !http->reopen ||
	    (config->token && !http->token)) {
		neap_http_free(http);
		return neap_error_nomem(err);
	}
	evhttp_set_allowed_methods(http->evhttp, METHODS);
	evhttp_set_max_headers_size(http->evhttp, NEAP_HTTP_HEADER_MAX);
	evhttp_set_max_body_size(http->evhttp, NEAP_HTTP_BODY_MAX);
	evhttp_set_timeout(http->evhttp, timeout_s);
	evhttp_set_default_content_type(http->evhttp, "application/json");
	evhttp_set_bevcb(http->evhttp, neap_guards_accept, http->guards);
	evhttp_set_gencb(http->evhttp, request_cb, http);
	for (i = 0; i < 2; i++)
		if (fds[i] >= 0 && add_listener(http, fds[i], err) < 0) {
			neap_http_free(http);
			return -NEAP_ENOMEM;
		}
	/* Only now do the descriptors belong to the server, and only now are they its to close. */
	reopen_cb(-1, 0, http);
	http->owned_fds[0] = config->tcp_fd;
	http->owned_fds[1] = config->unix_fd;
	*ret = http;
	return 0;
}

void neap_http_free(struct neap_http *http)
{
	int i;

	if (!http)
		return;
	if (http->evhttp)
		evhttp_free(http->evhttp); /* frees the listeners and connections, too */
	for (i = 0; i < 2; i++)
		neap_cleanup_fd(&http->owned_fds[i]);
	neap_guards_free(http->guards);
	if (http->reopen)
		event_free(http->reopen);
	if (http->token)
		explicit_bzero(http->token, strlen(http->token));
	free(http->token);
	free(http);
}

int neap_http_add_routes(struct neap_http *http, const struct neap_http_route *routes,
			 void *arg, struct neap_error *err)
{
	if (http->table_count == TABLES_MAX)
		return neap_error_set(err, NEAP_EINTERNAL, "more than %d route tables",
				      TABLES_MAX);
	http->tables[http->table_count++] = (struct table){routes, arg};
	return 0;
}

size_t neap_http_connection_count(const struct neap_http *http)
{
	return neap_guards_count(http->guards);
}
