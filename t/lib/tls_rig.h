/* SPDX-License-Identifier: Apache-2.0
 *
 * For tests of the server over TLS: a server with routes for each role, and certificates
 * of those who have one or have none. */
#ifndef NEAP_T_LIB_TLS_RIG_H
#define NEAP_T_LIB_TLS_RIG_H

#include "api/http/users/grants.h"
#include "t/lib/tls.h"

/* Bytes of GET /big. */
#define TLS_RIG_BIG (1000 * 1000)

/* Without the empty line at the end. */
#define VIEW    "GET /view HTTP/1.1\r\n" HOST
#define OPERATE "POST /operate HTTP/1.1\r\n" HOST "Content-Length: 0\r\n"
#define RULE    "POST /rule HTTP/1.1\r\n" HOST "Content-Length: 0\r\n"
#define LOST    "GET /lost HTTP/1.1\r\n" HOST
#define OPEN    "GET /open HTTP/1.1\r\n" HOST
#define WRONG   "Authorization: Bearer wrong\r\n"

/* Certificates: bob (reader), alice (group ops, editor), root (admin), eve and ops (no
 * role), foreign (another CA), stale (expired), server, server2; "brief" would be a
 * reader. */
extern char tls_rig_dir[64];
extern const struct neap_grants tls_rig_grants;

/* Of a group of tests. */
int tls_rig_make(void **state);
int tls_rig_remove(void **state);
/* Of a test: *state is a struct http_server; the impatient one gives a request 2 s. */
int tls_rig_start(void **state);
int tls_rig_start_impatient(void **state);
int tls_rig_stop(void **state);
/* The routes, for another server. */
void tls_rig_routes(struct neap_http *http, struct event_base *base);

/* One request on a connection of its own, as name (NULL: nobody). -1: no connection; 0:
 * no answer. */
int tls_rig_ask(const struct http_server *server, const char *name, const char *request,
		char *buf, size_t size);
/* Somebody who is known gets an answer within a second. */
void tls_rig_expect_served(const struct http_server *server);
int tls_rig_connections(const struct http_server *server);
/* Only the one that asks is left, after at most ms. */
void tls_rig_expect_alone(const struct http_server *server);

#endif
