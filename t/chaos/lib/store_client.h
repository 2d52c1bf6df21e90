/* SPDX-License-Identifier: Apache-2.0
 *
 * A small client of the API over a unix socket, for programs that kill the server. What
 * must not be ends the program. */
#ifndef NEAP_T_CHAOS_LIB_STORE_CLIENT_H
#define NEAP_T_CHAOS_LIB_STORE_CLIENT_H

#include <jansson.h>
#include <sys/types.h>

#include "engine/base/buf.h"

#define STORE_CLIENT_READY_MS 10000
#define STORE_CLIENT_MAX      ((size_t)16 * 1024 * 1024)

/* Killed by store_client_wrong; 0: none. */
extern pid_t store_client_server;
/* Says why and ends with 1. */
void store_client_wrong(const char *fmt, ...) NEAP_PRINTF(1, 2);
/* -1 when nobody listens. */
int store_client_dial(const char *path);
/* False when the server went. */
bool store_client_ask(int fd, const char *method, const char *path, const char *body);
/* What can be read without waiting; false at the end of the connection. */
bool store_client_take(int fd, struct neap_buf *in);
/* Until there is something to read. */
void store_client_wait(int fd);
/* The status of a whole answer, 0 while it is not whole. */
int store_client_whole(const struct neap_buf *in, const char **ret_body, size_t *ret_len);
json_t *store_client_parse(const char *text, size_t len);
/* metadata.resourceVersion, 0 without. */
int64_t store_client_version(const json_t *object);
/* One request on a connection of its own; its status. */
int store_client_ask_whole(const char *socket_path, const char *method, const char *path,
			   const char *body, json_t **ret);

#endif
