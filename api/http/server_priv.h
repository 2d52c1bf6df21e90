/* SPDX-License-Identifier: Apache-2.0
 *
 * One request, as the files of api/http share it. */
#ifndef NEAP_API_HTTP_SERVER_PRIV_H
#define NEAP_API_HTTP_SERVER_PRIV_H

#include "api/http/server.h"

struct event;
struct evhttp_request;
struct neap_guard;

#define NEAP_HTTP_QUERY_MAX 16

struct neap_http_request {
	struct evhttp_request *ev;
	struct event_base *base;
	struct neap_guard *guard;
	struct neap_http_peer peer;
	char *path;
	const char *rest; /* into path */
	char *query;      /* cut into the pairs below */
	const char *names[NEAP_HTTP_QUERY_MAX], *values[NEAP_HTTP_QUERY_MAX];
	int query_count;
	const char *body;
	size_t body_len;
	struct event *hangup; /* of a deferred request */
	void (*gone)(void *arg);
	void *gone_arg;
};

/* As neap_http_answer_error with another status and code name. */
void neap_http_answer_coded(struct neap_http_request *request, int status,
			    const char *code, const struct neap_error *err);

#endif
