/* SPDX-License-Identifier: Apache-2.0
 *
 * From evhttp's request to a handler: framing, address, identity, route. Access is
 * decided here, before any handler runs. A handler sees only requests of known peers,
 * unless its route is open. */
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

#include "api/http/serve/guard.h"
#include "api/http/serve/server_priv.h"
#include "api/http/tls/tls.h"
#include "api/http/users/grants.h"
#include "api/http/users/tokens.h"
#include "api/task/task.h"
#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

#define TABLES_MAX     16
#define BODY_OF_NOBODY (1024 * 1024 * 1024)
#define METHODS                                                                          \
	(EVHTTP_REQ_GET | EVHTTP_REQ_HEAD | EVHTTP_REQ_POST | EVHTTP_REQ_PUT |           \
	 EVHTTP_REQ_PATCH | EVHTTP_REQ_DELETE | EVHTTP_REQ_OPTIONS)

struct table {
	const struct neap_http_route *routes;
	void *arg;
};

enum { PLAIN, TLS, UNIX, LISTENERS };

struct neap_http {
	struct event_base *base;
	/* One per listener, because evhttp's callback for a new connection does not say
	 * which listener it is. */
	struct evhttp *evhttp[LISTENERS];
	struct neap_guards *guards;
	struct neap_tls *tls;
	char *token;
	struct neap_tokens *tokens;
	struct neap_bearers bearers; /* it borrows both */
	int timeout_s;
	const char *host_names;
	const struct neap_http_tree *tree;
	bool is_tree_open;
	struct table tables[TABLES_MAX];
	int table_count;
	struct neap_http_lines lines;
	struct neap_http_watcher watcher;
	struct neap_http_turns turns;
	/* listening pauses for a second when descriptors run out; always pending */
	struct event *reopen;
	struct evconnlistener *listeners[LISTENERS];
	int listener_count;
	int owned_fds[LISTENERS]; /* -1 until the start has succeeded */
};

/* Finds the route. NULL with the methods that this path has; "" when there is no such
 * path. */
static const struct neap_http_route *
find_route(struct neap_http *http, const char *method, const char *path, void **ret_arg,
	   struct neap_route_match *ret_match, struct neap_buf *allowed)
{
	const struct neap_http_route *route;
	int i;

	for (i = 0; i < http->table_count; i++)
		for (route = http->tables[i].routes; route->method; route++) {
			bool is_get = strcmp(route->method, "GET") == 0;

			if (!neap_route_match(route->path, path, ret_match))
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

/* Copies the parts that the pattern matched; the path itself stays whole for messages. */
static int keep_match(struct neap_http_request *request,
		      const struct neap_route_match *match, struct neap_error *err)
{
	int i;

	request->rest = match->rest;
	if (!match->count)
		return 0;
	request->segment_text = neap_strdup(request->path);
	if (!request->segment_text)
		return neap_error_nomem(err);
	for (i = 0; i < match->count; i++) {
		char *start = request->segment_text +
			      (match->segments[i].start - request->path);

		start[match->segments[i].len] = '\0';
		request->segments[i] = start;
	}
	request->segment_count = match->count;
	return 0;
}

/* Reads the body in one piece, with a NUL behind it. */
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
	neap_http_answer_coded_take(request, 405, "MethodNotAllowed", &err, NULL);
}

/* The content type of binary bodies; only requests that declare it may have them. */
#define BINARY_TYPE "application/vnd.kubernetes.protobuf"

static int count_nuls(const struct neap_http_request *request, size_t *ret,
		      struct neap_error *err)
{
	struct evbuffer *in = evhttp_request_get_input_buffer(request->ev);
	size_t len = evbuffer_get_length(in);
	const char *type = neap_http_header_find(request, "Content-Type");
	const char *body;

	*ret = 0;
	if (!len || !type || strcmp(type, BINARY_TYPE) != 0)
		return 0;
	body = (const char *)evbuffer_pullup(in, -1);
	if (!body)
		return neap_error_nomem(err);
	for (size_t i = 0; i < len; i++)
		*ret += !body[i];
	return 0;
}

static int check_framing(struct neap_http_request *request, bool *ret_is_last,
			 struct neap_error *err)
{
	size_t nuls;

	if (count_nuls(request, &nuls, err) < 0)
		return -NEAP_ENOMEM;
	if (neap_guard_has_nul(request->guard, nuls))
		return neap_error_set(err, NEAP_EINVAL, "refused: a NUL byte");
	if (!neap_guard_is_line_good(request->guard))
		return neap_error_set(err, NEAP_EINVAL,
				      "refused: neither HTTP/1.0 nor HTTP/1.1, or a "
				      "request behind a CONNECT");
	return neap_guard_check_headers(request->ev, ret_is_last, err);
}

static void find_tree(const struct neap_http *http, struct neap_http_request *request,
		      const char *path)
{
	request->tree = path && neap_http_tree_has(http->tree, path) ? http->tree : NULL;
}

static int check_size(const struct neap_http_request *request, struct neap_error *err)
{
	size_t max = request->tree ? request->tree->body_max : NEAP_HTTP_BODY_MAX;

	if (request->body_len <= max)
		return 0;
	return neap_error_set(err, NEAP_ETOOLARGE, "the body has more than %zu bytes",
			      max);
}

static void dispatch(struct neap_http *http, struct neap_http_request *request)
{
	const struct neap_http_route *route;
	const char *method = neap_http_method_get(request);
	neap_auto_buf struct neap_buf allowed = {0};
	struct neap_route_match match = {.rest = ""};
	enum neap_http_role needed;
	struct neap_error err;
	bool is_last = false, is_wrong = false;
	int foreign;
	void *arg = NULL;

	neap_buf_init(&allowed, 256);
	request->rest = "";
	find_tree(http, request, evhttp_request_get_uri(request->ev));
	if (check_framing(request, &is_last, &err) < 0 ||
	    neap_http_read_address(request, &err) < 0)
		is_last = is_wrong = true;
	if (is_last && evhttp_add_header(evhttp_request_get_output_headers(request->ev),
					 "Connection", "close") < 0) {
		neap_http_drop_take(request); /* the rest must not be read */
		return;
	}
	if (is_wrong) {
		neap_http_answer_problem_take(
			request, err.code == NEAP_EINVAL ? 400 : 503, &err, NULL);
		return;
	}
	find_tree(http, request, request->path);
	neap_http_identify(request);
	foreign = neap_http_check_origin(request, &err);
	if (foreign) {
		neap_http_answer_problem_take(request, foreign, &err, NULL);
		return;
	}
	if (!neap_guard_take_request(request->guard, &err)) {
		neap_http_answer_busy_take(request, 429, &err);
		return;
	}
	route = find_route(http, method, request->path, &arg, &match, &allowed);
	/* Any user with read access may know the paths. */
	needed = route ? route->role : NEAP_HTTP_READER;
	if (request->peer.role < needed) {
		neap_http_answer_denied(request, needed);
		return;
	}
	if (!route && request->tree && !http->is_tree_open) {
		(void)neap_error_set(&err, NEAP_EUNAVAILABLE, "neapd is starting");
		neap_http_answer_error(request, &err);
		return;
	}
	if (!route) {
		answer_no_route(request, method, allowed.data);
		return;
	}
	if (keep_match(request, &match, &err) < 0 || read_body(request, &err) < 0 ||
	    check_size(request, &err) < 0) {
		neap_http_answer_error(request, &err);
		return;
	}
	neap_http_turn_run(&http->turns, request, route, arg);
}

static void request_cb(struct evhttp_request *ev, void *arg)
{
	struct neap_http *http = arg;
	struct evhttp_connection *connection = evhttp_request_get_connection(ev);
	struct neap_http_request *request = neap_alloc(sizeof(*request));
	struct timeval now;

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
	request->timeout_s = http->timeout_s;
	request->lines = &http->lines;
	request->host_names = http->host_names;
	request->bearers = &http->bearers;
	request->json_failures = neap_json_failures();
	request->watcher = &http->watcher;
	event_base_gettimeofday_cached(http->base, &now);
	request->received_usec = (int64_t)now.tv_sec * 1000000 + now.tv_usec;
	dispatch(http, request);
}

static bool listen_all(struct neap_http *http)
{
	bool is_all = true;
	int i;

	for (i = 0; i < http->listener_count; i++)
		is_all &= evconnlistener_enable(http->listeners[i]) == 0;
	return is_all;
}

static const struct timeval pause = {.tv_sec = 1};
/* In practice never. */
static const struct timeval dormant = {.tv_sec = 365 * 24 * 3600};

static void reopen_cb(evutil_socket_t fd NEAP_UNUSED, short what NEAP_UNUSED, void *arg)
{
	struct neap_http *http = arg;

	/* Cannot fail: its memory was just freed. */
	(void)event_add(http->reopen, listen_all(http) ? &dormant : &pause);
}

struct search {
	const struct evconnlistener *listener;
	struct neap_http *found;
};

static int is_of_listener(const struct event_base *base NEAP_UNUSED,
			  const struct event *event, void *arg)
{
	struct search *search = arg;
	struct neap_http *http;

	if (event_get_callback(event) != reopen_cb)
		return 0;
	http = event_get_callback_arg(event);
	for (int i = 0; i < http->listener_count; i++)
		if (http->listeners[i] == search->listener)
			search->found = http;
	return search->found != NULL;
}

/* The callback's argument is the evhttp of the listener, whatever it was set with, and
 * has no way to the server. The timer that is always pending has one. */
static void accept_failed(struct evconnlistener *listener, void *evhttp NEAP_UNUSED)
{
	struct search search = {.listener = listener};

	if (errno == ECONNABORTED || errno == EINTR)
		return;
	(void)event_base_foreach_event(evconnlistener_get_base(listener), is_of_listener,
				       &search);
	if (!search.found || neap_guards_make_descriptor(search.found->guards))
		return;
	/* An immediate accept would only spin. Without a timer to resume, listening goes
	 * on. */
	if (event_add(search.found->reopen, &pause) == 0)
		(void)evconnlistener_disable(listener);
}

static int add_listener(struct neap_http *http, struct evhttp *evhttp, int fd,
			struct neap_error *err)
{
	struct evhttp_bound_socket *bound;
	struct evconnlistener *listener = evconnlistener_new(
		http->base, NULL, NULL, LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_DISABLED, 0, fd);

	if (!listener)
		return neap_error_nomem(err);
	bound = evhttp_bind_listener(evhttp, listener);
	if (!bound) {
		evconnlistener_free(listener);
		return neap_error_nomem(err);
	}
	evconnlistener_set_error_cb(listener, accept_failed);
	http->listeners[http->listener_count++] = listener;
	return 0;
}

struct event_base *neap_http_base_new(void)
{
	struct event_config *config = event_config_new();
	struct event_base *base = NULL;

	if (config &&
	    event_config_set_flag(config, EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST) == 0)
		base = event_base_new_with_config(config);
	if (config)
		event_config_free(config);
	return base;
}

static bool add_evhttp(struct neap_http *http, int index, bool is_tls)
{
	struct evhttp *evhttp = evhttp_new(http->base);

	http->evhttp[index] = evhttp;
	if (!evhttp)
		return false;
	evhttp_set_allowed_methods(evhttp, METHODS);
	evhttp_set_max_headers_size(evhttp, NEAP_HTTP_HEADER_MAX);
	/* Guards and dispatch answer large bodies in the tree's format. */
	evhttp_set_max_body_size(evhttp, BODY_OF_NOBODY);
	evhttp_set_timeout(evhttp, http->timeout_s);
	/* Every answer sets its own type, not through evhttp (answer.c). */
	evhttp_set_default_content_type(evhttp, NULL);
	evhttp_set_bevcb(evhttp, is_tls ? neap_guards_accept_tls : neap_guards_accept,
			 http->guards);
	evhttp_set_gencb(evhttp, request_cb, http);
	return true;
}

int neap_http_new(struct event_base *base, const struct neap_http_config *config,
		  struct neap_http **ret, struct neap_error *err)
{
	struct neap_http *http = neap_alloc(sizeof(*http));
	const int fds[LISTENERS] = {[PLAIN] = config->tcp_fd,
				    [TLS] = config->tls ? config->tls_fd : -1,
				    [UNIX] = config->unix_fd};
	int timeout_s = config->timeout_s ? config->timeout_s : NEAP_HTTP_TIMEOUT_S;

	if (!http)
		return neap_error_nomem(err);
	http->base = base;
	for (int i = 0; i < LISTENERS; i++)
		http->owned_fds[i] = -1;
	http->timeout_s = timeout_s;
	http->tls = config->tls;
	http->host_names = config->host_names;
	http->reopen = evtimer_new(base, reopen_cb, http);
	http->turns.tasks = neap_tasks_new(base);
	http->token = config->token ? neap_strdup(config->token) : NULL;
	http->tokens = neap_tokens_ref(config->tokens);
	http->bearers = (struct neap_bearers){http->token, http->tokens, config->grants};
	http->guards = neap_guards_new(base, config->own_uid, &http->bearers, config->tls,
				       timeout_s, &config->limits);
	if (http->guards && config->plain_role > NEAP_HTTP_ANYBODY)
		neap_guards_set_plain_role(http->guards, config->plain_role);
	if (!http->guards || !http->reopen || !http->turns.tasks ||
	    (config->token && !http->token)) {
		neap_http_free(http);
		return neap_error_nomem(err);
	}
	for (int i = 0; i < LISTENERS; i++)
		if (fds[i] >= 0 &&
		    (!add_evhttp(http, i, i == TLS) ||
		     add_listener(http, http->evhttp[i], fds[i], err) < 0)) {
			neap_http_free(http);
			return neap_error_nomem(err);
		}
	if (event_add(http->reopen, &dormant) < 0 || !listen_all(http)) {
		neap_http_free(http);
		return neap_error_nomem(err);
	}
	/* Only now the server owns the descriptors and closes them. */
	memcpy(http->owned_fds, fds, sizeof(fds));
	*ret = http;
	return 0;
}

static void token_forget(struct neap_http *http)
{
	if (http->token)
		explicit_bzero(http->token, strlen(http->token));
	free(http->token);
}

int neap_http_set_token(struct neap_http *http, const char *token, struct neap_error *err)
{
	char *copy = neap_strdup(token);

	if (!copy)
		return neap_error_nomem(err);
	token_forget(http);
	http->token = copy;
	http->bearers.token = copy;
	neap_guards_set_bearers(http->guards, &http->bearers);
	return 0;
}

void neap_http_set_tokens(struct neap_http *http, struct neap_tokens *tokens)
{
	neap_tokens_ref(tokens);
	neap_tokens_unref(http->tokens);
	http->tokens = tokens;
	http->bearers.tokens = tokens;
	neap_guards_set_bearers(http->guards, &http->bearers);
}

void neap_http_free(struct neap_http *http)
{
	if (!http)
		return;
	for (int i = 0; i < LISTENERS; i++)
		if (http->evhttp[i]) /* frees its listener and connections too */
			evhttp_free(http->evhttp[i]);
	for (int i = 0; i < LISTENERS; i++)
		neap_cleanup_fd(&http->owned_fds[i]);
	neap_guards_free(http->guards);
	if (http->reopen)
		event_free(http->reopen);
	token_forget(http);
	neap_tokens_unref(http->tokens);
	neap_tasks_free(http->turns.tasks);
	free(http);
}

int neap_http_add_routes(struct neap_http *http, const struct neap_http_route *routes,
			 void *arg, struct neap_error *err)
{
	const struct neap_http_route *route;

	for (route = routes; route->method; route++) {
		if (!neap_route_is_pattern(route->path))
			return neap_error_set(err, NEAP_EINTERNAL,
					      "'%s' is no path pattern", route->path);
		if (route->role < NEAP_HTTP_ANYBODY || route->role > NEAP_HTTP_ADMIN)
			return neap_error_set(err, NEAP_EINTERNAL,
					      "%s %s: no role is said", route->method,
					      route->path);
	}
	if (http->table_count == TABLES_MAX)
		return neap_error_set(err, NEAP_EINTERNAL, "more than %d route tables",
				      TABLES_MAX);
	http->tables[http->table_count++] = (struct table){routes, arg};
	return 0;
}

enum neap_http_role neap_http_needs(struct neap_http *http, const char *method,
				    const char *path)
{
	neap_auto_buf struct neap_buf allowed = {0};
	struct neap_route_match match;
	const struct neap_http_route *route;
	void *arg;

	neap_buf_init(&allowed, 256);
	route = find_route(http, method, path, &arg, &match, &allowed);
	return route ? route->role : NEAP_HTTP_ADMIN;
}

const struct neap_grants *neap_http_grants_get(const struct neap_http *http)
{
	return http->bearers.grants;
}

void neap_http_set_observer(struct neap_http *http, neap_http_observer *observer,
			    void *arg)
{
	http->watcher = (struct neap_http_watcher){observer, arg};
}

void neap_http_set_tree(struct neap_http *http, const struct neap_http_tree *tree,
			bool is_open)
{
	http->tree = tree;
	http->is_tree_open = is_open;
	neap_guards_set_tree(http->guards, tree);
}

int64_t neap_http_certificate_end(const struct neap_http *http)
{
	return http->tls ? neap_tls_facts_get(http->tls)->not_after_sec : 0;
}

const struct neap_http_shares *neap_http_shares_get(const struct neap_http *http)
{
	return neap_guards_shares(http->guards);
}

struct neap_tasks *neap_http_tasks(struct neap_http *http)
{
	return http->turns.tasks;
}

size_t neap_http_connection_count(const struct neap_http *http)
{
	return neap_guards_count(http->guards);
}
