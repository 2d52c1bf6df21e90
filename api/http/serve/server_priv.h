/* SPDX-License-Identifier: Apache-2.0
 *
 * One request, shared by the files of api/http. */
#ifndef NEAP_API_HTTP_SERVE_SERVER_PRIV_H
#define NEAP_API_HTTP_SERVE_SERVER_PRIV_H

#include <time.h>

#include "api/http/serve/address.h"
#include "api/http/server.h"

struct event;
struct evhttp_request;
struct neap_bearers;
struct neap_guard;
struct neap_task;
struct neap_tasks;

#define NEAP_HTTP_QUERY_MAX 16
/* Largest single write; libevent's own limit makes 16 KB pieces. */
#define NEAP_HTTP_WRITE_MAX (1024 * 1024)

/* Header lines common to nearly all answers, rebuilt once a second. */
struct neap_http_lines {
	time_t at; /* 0: not built yet */
	char type[64];
	char text[256]; /* the value of Date, and further complete lines */
};

/* Requests waiting for their turn (request.c). */
struct neap_http_turns {
	struct neap_tasks *tasks;
	size_t bytes; /* of their bodies */
};

struct neap_http_watcher {
	neap_http_observer *observer; /* NULL: none */
	void *arg;
};

struct neap_http_request {
	struct evhttp_request *ev;
	struct event_base *base;
	struct neap_guard *guard;
	int timeout_s;                     /* of the server */
	struct neap_http_lines *lines;     /* of the server */
	const struct neap_http_tree *tree; /* the tree it is in; NULL: none */
	bool has_cache_control;            /* by the handler */
	struct neap_http_peer peer;
	char peer_name[64];                 /* of a token's user */
	const struct neap_bearers *bearers; /* of the server */
	struct neap_tokens *tokens;         /* owner of the peer's user */
	bool has_wrong_token;
	char *path;
	const char *host_names; /* of the server */
	const char *rest;       /* into path */
	char *segment_text;     /* split into segments; NULL when the pattern has none */
	const char *segments[NEAP_ROUTE_SEGMENT_MAX];
	int segment_count;
	char *query; /* split into the pairs below */
	const char *names[NEAP_HTTP_QUERY_MAX], *values[NEAP_HTTP_QUERY_MAX];
	int query_count;
	const char *body;
	size_t body_len;
	uint64_t json_failures; /* when it began */
	int64_t received_usec;
	const struct neap_http_watcher *watcher; /* of the server */
	char note[254];
	/* For a waiting request; task is NULL before and after. */
	struct neap_http_turns *turns;
	struct neap_task *task;
	neap_http_handler *handler;
	void *handler_arg;
	struct event *hangup; /* of a deferred request */
	bool is_polled;       /* hangup is a timer, because there is unread input */
	struct event *end;    /* for a request deferred with a time limit */
	void (*gone)(void *arg), (*late)(void *arg);
	void *gone_arg;
};

/* Like neap_http_answer_problem_take with another code name. */
void neap_http_answer_coded_take(struct neap_http_request *request, int status,
				 const char *code, const struct neap_error *err,
				 json_t *details);

/* Answers 429 when the user has too much, 503 when all is taken. */
void neap_http_answer_busy_take(struct neap_http_request *request, int status,
				const struct neap_error *err);

/* Identifies the peer by token, or as a stranger: a token overrides where the request
 * comes from. */
void neap_http_identify(struct neap_http_request *request);

/* Without a token: returns 0, or the status to refuse with when the request came from a
 * foreign web page. */
int neap_http_check_origin(const struct neap_http_request *request,
			   struct neap_error *err);

/* Decodes path and query into the request. 0 or -code. */
int neap_http_read_address(struct neap_http_request *request, struct neap_error *err);

/* Returns whether the path (up to a blank or '?') is in the tree, which may be NULL. */
bool neap_http_tree_has(const struct neap_http_tree *tree, const char *path);

/* The request waits briefly: gone is called if its connection is freed meanwhile. */
void neap_http_hold(struct neap_http_request *request, void (*gone)(void *arg),
		    void *arg);
/* Passes the request to the route's handler, now or in its turn. */
void neap_http_turn_run(struct neap_http_turns *turns, struct neap_http_request *request,
			const struct neap_http_route *route, void *arg);

/* Checks a token as RFC 9110 defines it for header and method names. */
bool neap_http_is_token(const char *text);

/* Adds the headers common to all answers, except the length; type is a short constant. 0
 * or -NEAP_ENOMEM. */
int neap_http_headers_finish(struct neap_http_request *request, const char *type);
/* Reserves memory for the status line and headers, because evhttp does not check that it
 * could print them. False without memory. */
bool neap_http_headers_reserve(struct neap_http_request *request);
/* Closes the connection of a request whose answer there is no memory for. */
void neap_http_drop_take(struct neap_http_request *request);
/* Calls the observer, if there is one, before the request is passed on. */
void neap_http_observe(struct neap_http_request *request, int status);
/* Does not free evhttp's request. */
void neap_http_request_free(struct neap_http_request *request);

#endif
