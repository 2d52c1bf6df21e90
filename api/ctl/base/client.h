/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks neapd over its unix socket, or over TCP with a token. One connection serves all calls of a
 * client. Everything happens in the calling process and thread, as the daemon knows by the
 * socket's credentials whom to move for `run`.
 *
 * Where neither option nor environment says where neapd is, the socket is asked first; when nobody
 * answers there, or it does not let us in, the daemon's address on this machine is, with its token
 * (api/ctl/base/find.h). */
#ifndef NEAP_API_CTL_BASE_CLIENT_H
#define NEAP_API_CTL_BASE_CLIENT_H

#include "api/ctl/base/ctl.h"

#define NEAP_CLIENT_ETAG 32

struct neap_client;

/* Everything is borrowed; NULL is none. */
struct neap_client_request {
	const char *method, *path;
	const char *body;
	size_t body_len;
	const char *type;   /* of the body [application/json] */
	const char *accept; /* what the answer is to be [anything] */
	const char *
		if_match; /* only if this version is live; "*": if any is, without quotes */
};

struct neap_client_reply {
	long status;                 /* of HTTP, 0 when there was no answer */
	char etag[NEAP_CLIENT_ETAG]; /* without quotes, "" without one */
	const char *text;            /* borrowed from the client until its next call */
	size_t len;
	json_t *json; /* owned; NULL when the text is none */
};

/* Errors: no memory, a token file that cannot be read. Does not connect yet. */
int neap_client_new(const struct neap_ctl *ctl, struct neap_client **ret,
		    struct neap_error *err);
void neap_client_free(struct neap_client *client);

/* 0 for an answer of 200 to 299. Refusals come back with the daemon's message and field, codes by
 * HTTP status. errnum is not 0 when nobody answers: neap_ctl_fail knows it by that. *ret is filled
 * in both cases, and is to be given to neap_client_reply_done. */
int neap_client_send(struct neap_client *client,
		     const struct neap_client_request *request,
		     struct neap_client_reply *ret, struct neap_error *err);
void neap_client_reply_done(struct neap_client_reply *reply);

/* The same for JSON in both directions. body (borrowed) may be NULL. *ret is a new reference. */
int neap_client_call(struct neap_client *client, const char *method, const char *path,
		     json_t *body, json_t **ret, struct neap_error *err);

/* GETs path as an event stream and calls line for every line of it, without its end, until that
 * gives false or the daemon ends it: 0. NEAP_EUNSUPPORTED when the daemon answers otherwise. */
int neap_client_stream(struct neap_client *client, const char *path,
		       bool (*line)(void *arg, const char *text), void *arg,
		       struct neap_error *err);

/* The last call failed because nobody listens there. */
bool neap_client_is_absent(const struct neap_client *client);

/* One call by a client of its own. */
int neap_client_ask(const struct neap_ctl *ctl, const char *method, const char *path,
		    json_t **ret, struct neap_error *err);

#endif
