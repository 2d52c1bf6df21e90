/* SPDX-License-Identifier: Apache-2.0
 *
 * The HTTP server: one evhttp for a TCP address and a unix socket, with limits on header and body
 * size, on time and on connections; strict about framing headers. Handlers are found by method and
 * path pattern. Everything runs on the loop's thread. */
#ifndef NEAP_API_HTTP_SERVER_H
#define NEAP_API_HTTP_SERVER_H

#include <jansson.h>
#include <sys/types.h>

#include "engine/base/error.h"

struct event_base;
struct sockaddr;
struct neap_http;
struct neap_http_request;

#define NEAP_HTTP_HEADER_MAX      16384
#define NEAP_HTTP_BODY_MAX        (1024 * 1024)
#define NEAP_HTTP_CONNECTIONS_MAX 512
#define NEAP_HTTP_CONNECTIONS_PEER_MAX                                                   \
	64                     /* of one address, or of one user on the unix socket */
#define NEAP_HTTP_TIMEOUT_S 30 /* idle, and from a request's first byte to its last */
#define NEAP_HTTP_UNFINISHED_MAX                                                         \
	(16 * 1024 * 1024) /* bytes of all requests still being read */

/* Who asks. Over TCP a bearer token; over the unix socket the peer's uid. */
struct neap_http_peer {
	bool is_unix;
	pid_t pid; /* of the unix peer, 0 over TCP */
	uid_t uid;
	bool is_known; /* root or the daemon's user over the unix socket, or the right token */
};

typedef void neap_http_handler(void *arg, struct neap_http_request *request);

struct neap_http_route {
	const char *method; /* "GET" */
	const char *path;   /* "/control/v1/workloads"; a trailing "*" takes the rest */
	bool is_open;       /* no authentication (health, version) */
	neap_http_handler *handler;
};

struct neap_http_config {
	const char *listen_fd_name; /* for messages */
	int tcp_fd;                 /* bound and listening, or -1 */
	int unix_fd;                /* bound and listening, or -1 */
	const char
		*token; /* accepted over TCP as "Authorization: Bearer"; NULL: none is */
	uid_t own_uid;
	int timeout_s; /* 0: NEAP_HTTP_TIMEOUT_S */
};

/* "127.0.0.1:6327", "[::1]:0": numbers only. addr needs room for a struct sockaddr_storage. */
int neap_http_listen_parse(const char *listen, struct sockaddr *addr, int *ret_len,
			   struct neap_error *err);
/* Binds before privileges are dropped. "127.0.0.1:6327" or "[::1]:0". The error says what occupies or forbids it and what to do. */
int neap_http_bind_tcp(const char *listen, int *ret_fd, struct neap_error *err);
/* Mode 0666: who may do what is decided by the peer's uid. A socket file that nobody listens on is replaced. */
int neap_http_bind_unix(const char *path, int *ret_fd, struct neap_error *err);

/* Takes both descriptors over when it succeeds; the token is copied. */
int neap_http_new(struct event_base *base, const struct neap_http_config *config,
		  struct neap_http **ret, struct neap_error *err);
void neap_http_free(struct neap_http *http);
/* routes is kept by reference and ends with method NULL. A GET route serves HEAD as well. */
int neap_http_add_routes(struct neap_http *http, const struct neap_http_route *routes,
			 void *arg, struct neap_error *err);

/* Connections that are open at this moment. */
size_t neap_http_connection_count(const struct neap_http *http);

/* --- in a handler --- */
const struct neap_http_peer *neap_http_peer_get(const struct neap_http_request *request);
const char *neap_http_path_get(const struct neap_http_request *request);
/* The part that "*" took, "" if none. */
const char *neap_http_rest_get(const struct neap_http_request *request);
/* Decoded query parameter, NULL if absent; valid until the answer. */
const char *neap_http_query_find(struct neap_http_request *request, const char *name);
/* Borrowed, with NUL at data[len]. */
const char *neap_http_body_get(struct neap_http_request *request, size_t *ret_len);
/* Descriptor of the connection, for SO_PEERCRED; borrowed. */
int neap_http_fd_get(const struct neap_http_request *request);
/* Exactly one answer per request, at once or later from the loop. All take the request over. */
void neap_http_answer_json_take(struct neap_http_request *request, int status,
				json_t *body);
void neap_http_answer_text(struct neap_http_request *request, int status,
			   const char *type, const char *text, size_t len);
/* {"code": "Invalid", "message": "...", "field": "..."} with the status of the error's code. */
void neap_http_answer_error(struct neap_http_request *request,
			    const struct neap_error *err);
/* For an answer later: gone is called (once) if the client goes first; the request must not be touched
 * after it. */
void neap_http_defer(struct neap_http_request *request, void (*gone)(void *arg),
		     void *arg);

#endif
