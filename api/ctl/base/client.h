/* SPDX-License-Identifier: Apache-2.0
 *
 * The client of neapd for neapctl: over the unix socket, or over TCP with a token. One
 * connection serves all calls of a client. Everything runs in the calling process and
 * thread, because the daemon identifies the process to move for `run` by the socket's
 * credentials.
 *
 * When neither options nor environment say where neapd is, the socket is tried first; if
 * nobody answers there or access is denied, the daemon's local TCP address with its token
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
	const char *type;   /* media type of the body [application/json] */
	const char *accept; /* media type of the answer [anything] */
	/* only if this version is live; "*": if any is; without quotes */
	const char *if_match;
};

struct neap_client_reply {
	long status;                 /* HTTP status, 0 when there was no answer */
	char etag[NEAP_CLIENT_ETAG]; /* without quotes, "" if missing */
	const char *text;            /* borrowed from the client until its next call */
	size_t len;
	json_t *json; /* owned; NULL when the text is not JSON */
};

/* Does not connect yet. Errors: no memory, an unreadable token file. */
int neap_client_new(const struct neap_ctl *ctl, struct neap_client **ret,
		    struct neap_error *err);
void neap_client_free(struct neap_client *client);

/* Returns 0 for status 200 to 299. Refusals return the daemon's message and field, with a
 * code by HTTP status. errnum is nonzero when nobody answered, which neap_ctl_fail uses.
 * *ret is filled in both cases; pass it to neap_client_reply_done. */
int neap_client_send(struct neap_client *client,
		     const struct neap_client_request *request,
		     struct neap_client_reply *ret, struct neap_error *err);
void neap_client_reply_done(struct neap_client_reply *reply);

/* The same with JSON in both directions. body (borrowed) may be NULL. *ret is a new
 * reference. */
int neap_client_call(struct neap_client *client, const char *method, const char *path,
		     json_t *body, json_t **ret, struct neap_error *err);

/* GETs path as an event stream and calls line for each line, without its end, until line
 * returns false or the daemon ends the stream: 0. NEAP_EUNSUPPORTED when the answer is
 * not a stream. */
int neap_client_stream(struct neap_client *client, const char *path,
		       bool (*line)(void *arg, const char *text), void *arg,
		       struct neap_error *err);

/* Returns whether the last call failed because nobody listens. */
bool neap_client_is_absent(const struct neap_client *client);

/* Makes one call with a temporary client. */
int neap_client_ask(const struct neap_ctl *ctl, const char *method, const char *path,
		    json_t **ret, struct neap_error *err);

#endif
