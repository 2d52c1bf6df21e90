/* SPDX-License-Identifier: Apache-2.0
 *
 * One request, as the files of api/http share it. */
#ifndef NEAP_API_HTTP_SERVER_PRIV_H
#define NEAP_API_HTTP_SERVER_PRIV_H

#include <time.h>

#include "api/http/route.h"
#include "api/http/server.h"

struct event;
struct evhttp_request;
struct neap_bearers;
struct neap_guard;
struct neap_task;
struct neap_tasks;

#define NEAP_HTTP_QUERY_MAX 16
/* Largest single write; libevent's own limit makes pieces of 16 KB. */
#define NEAP_HTTP_WRITE_MAX (1024 * 1024)

/* The header lines that nearly all answers share, made once a second. */
struct neap_http_lines {
	time_t at; /* 0: not made yet */
	char type[64];
	char text[256]; /* the value of Date, and further lines with their names */
};

/* Requests that wait for their turn (turn.c). */
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
	const struct neap_http_tree *tree; /* that it is in; NULL: none */
	bool has_cache_control;            /* by the handler */
	struct neap_http_peer peer;
	char peer_name[64];                 /* of a token's user */
	const struct neap_bearers *bearers; /* of the server */
	struct neap_tokens *tokens;         /* whose user may be the peer's */
	bool has_wrong_token;
	char *path;
	const char *host_names; /* of the server */
	const char *rest;       /* into path */
	char *segment_text; /* NULL when the pattern has none; cut into the segments */
	const char *segments[NEAP_ROUTE_SEGMENT_MAX];
	int segment_count;
	char *query; /* cut into the pairs below */
	const char *names[NEAP_HTTP_QUERY_MAX], *values[NEAP_HTTP_QUERY_MAX];
	int query_count;
	const char *body;
	size_t body_len;
	uint64_t json_failures; /* when it began */
	int64_t received_usec;
	const struct neap_http_watcher *watcher; /* of the server */
	char note[254];
	/* Of one that waits for its turn; task is NULL before and after it. */
	struct neap_http_turns *turns;
	struct neap_task *task;
	neap_http_handler *handler;
	void *handler_arg;
	struct event *hangup; /* of a deferred request */
	bool is_polled; /* hangup is a timer, as there is input that nobody reads yet */
	struct event *end; /* of one that is not deferred for ever */
	void (*gone)(void *arg), (*late)(void *arg);
	void *gone_arg;
};

/* As neap_http_answer_problem_take with another code name. */
void neap_http_answer_coded_take(struct neap_http_request *request, int status,
				 const char *code, const struct neap_error *err,
				 json_t *details);

/* 429 of whoever has too much already, 503 when all is taken. */
void neap_http_answer_busy_take(struct neap_http_request *request, int status,
				const struct neap_error *err);

/* Completes the peer, with a token, or as a stranger: a token says more than where the request comes from. */
void neap_http_identify(struct neap_http_request *request);

/* Where no token is shown: 0, or the status to refuse it with, as it was sent for a page of somebody else. */
int neap_http_check_origin(const struct neap_http_request *request,
			   struct neap_error *err);

/* Path and query, decoded, into the request. 0 or -code. */
int neap_http_read_address(struct neap_http_request *request, struct neap_error *err);

/* Whether the path (up to a blank or '?', too) is in the tree, which may be NULL. */
bool neap_http_tree_has(const struct neap_http_tree *tree, const char *path);

/* The request waits for a moment: gone is called if its connection is freed meanwhile. */
void neap_http_hold(struct neap_http_request *request, void (*gone)(void *arg),
		    void *arg);
/* Gives the request to the route's handler, now or when it is its turn. */
void neap_http_turn_run(struct neap_http_turns *turns, struct neap_http_request *request,
			const struct neap_http_route *route, void *arg);

/* A name as RFC 9110 has it for headers and methods. */
bool neap_http_is_token(const char *text);

/* The headers that every answer has, but for its length; type is a short constant. 0 or
 * -NEAP_ENOMEM. */
int neap_http_headers_finish(struct neap_http_request *request, const char *type);
/* Room for the status line and the headers that the request has by now: evhttp does not look whether it
 * could print them. False without memory. */
bool neap_http_headers_reserve(struct neap_http_request *request);
/* Closes the connection of a request for whose answer there is no memory. */
void neap_http_drop_take(struct neap_http_request *request);
/* To the observer, if there is one; before the request is given away. */
void neap_http_observe(struct neap_http_request *request, int status);
/* The request of evhttp stays. */
void neap_http_request_free(struct neap_http_request *request);

#endif
