/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks neapd over its unix socket, or over TCP with a token. One connection serves all calls of a
 * client. Everything happens in the calling process and thread, as the daemon knows by the
 * socket's credentials whom to move for `run`. */
#ifndef NEAP_API_CTL_CLIENT_H
#define NEAP_API_CTL_CLIENT_H

#include "api/ctl/ctl.h"

struct neap_client;

/* Errors: no memory, a token file that cannot be read. Does not connect yet. */
int neap_client_new(const struct neap_ctl *ctl, struct neap_client **ret,
		    struct neap_error *err);
void neap_client_free(struct neap_client *client);
/* method "GET" or "POST"; body (borrowed) may be NULL. *ret is a new reference to the JSON of a
 * 200. Refusals come back with the daemon's message and field, codes by HTTP status. */
int neap_client_call(struct neap_client *client, const char *method, const char *path,
		     json_t *body, json_t **ret, struct neap_error *err);
/* The last call failed because nobody listens there. */
bool neap_client_is_absent(const struct neap_client *client);

/* One call by a client of its own. */
int neap_client_ask(const struct neap_ctl *ctl, const char *method, const char *path,
		    json_t **ret, struct neap_error *err);

#endif
