/* SPDX-License-Identifier: Apache-2.0
 *
 * For tests of the HTTP server: a server in a child process of its own, and a raw client
 * that can send what no proper client does. */
#ifndef NEAP_T_LIB_HTTP_H
#define NEAP_T_LIB_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "api/http/server.h"

#define HOST      "Host: x\r\n"
#define AUTH      "Authorization: Bearer secret\r\n"
#define GET(path) "GET " path " HTTP/1.1\r\n" HOST AUTH

struct event_base;
struct neap_grants;
struct neap_http;
struct neap_tls_config;
struct neap_tokens;

struct http_server {
	pid_t pid;
	int port;
	char dir[64], path[96]; /* of the unix socket */
};

/* Adds the routes of the test. */
typedef void http_setup(struct neap_http *http, struct event_base *base);

/* Forks a server with the token "secret" and own_uid 12345; it dies with the test, or
 * after ten minutes. timeout_s 0: the server's own. */
void http_server_start(struct http_server *server, int timeout_s, http_setup *setup);
/* Each may be NULL. With TLS it looks for changed files every 20 ms. */
struct http_access {
	const struct neap_tls_config *tls;
	const struct neap_grants *grants;
	struct neap_tokens *tokens;
	struct neap_http_limits limits;
	const char *host_names;
	/* RLIMIT_NOFILE that it gets without knowing of it; 0: as it is */
	int descriptors;
};

void http_server_start_as(struct http_server *server, int timeout_s, http_setup *setup,
			  const struct http_access *access);
/* Fails the test if the server is not alive any more, or does not end well. */
void http_server_stop(struct http_server *server);
/* Descriptors that the server has open; anonymous resident memory in KiB, as pages of
 * libraries come with the first use. */
int http_server_fds(const struct http_server *server);
long http_server_kib(const struct http_server *server);

/* Connects, from an address of 127/8 if from is not NULL. -1 when that is refused. */
int http_dial_from(const struct http_server *server, const char *from);
int http_dial(const struct http_server *server);
int http_dial_unix(const struct http_server *server);
/* Sends what it can: a refusing server may close before everything is taken. */
void http_say(int fd, const char *text, size_t len);
/* Reads until the end of the connection (true), or until ms pass without a byte (false):
 * for what must stay open or be silent. On a busy machine that is no proof of anything
 * that should have come. */
bool http_hear(int fd, char *buf, size_t size, int ms);
/* Reads until the end, as long as that takes: false if it did not come, or buf is
 * full. */
bool http_hear_end(int fd, char *buf, size_t size);
/* Reads until text has come, as long as that takes: false if the end came before. */
bool http_hear_text(int fd, char *buf, size_t size, const char *text);
/* Asks on a connection of its own; the answer is cut to size. */
void http_ask(const struct http_server *server, const char *request, char *buf,
	      size_t size);
/* Reads one answer with a Content-Length, as long as that takes: true if it came whole.
 * *ret_status 0 else. */
bool http_read(int fd, char *buf, size_t size, int *ret_status, size_t *ret_len);

#endif
