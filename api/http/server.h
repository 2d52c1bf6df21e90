/* SPDX-License-Identifier: Apache-2.0
 *
 * The HTTP server: one evhttp for a TCP address and a unix socket, with limits on header
 * and body size, time and connections, and strict framing. Handlers are found by method
 * and path pattern. Everything runs on the loop's thread. */
#ifndef NEAP_API_HTTP_SERVER_H
#define NEAP_API_HTTP_SERVER_H

#include <jansson.h>
#include <sys/types.h>

#include "engine/base/error.h"

struct event_base;
struct sockaddr;
struct neap_grants;
struct neap_http;
struct neap_http_request;
struct neap_tasks;
struct neap_tls;
struct neap_tokens;

#define NEAP_HTTP_HEADER_MAX 16384
#define NEAP_HTTP_BODY_MAX   (1024 * 1024)
/* Seconds of silence, and from a request's first byte to its last. */
#define NEAP_HTTP_TIMEOUT_S 30
/* Connections of unidentified clients: in total, and per address or unix account. At
 * these caps a new connection replaces the longest silent one. */
#define NEAP_HTTP_CONNECTIONS_MAX      512
#define NEAP_HTTP_CONNECTIONS_PEER_MAX 64
/* Total connections of clients identified by a token or certificate with a role; fewer
 * when the process has fewer descriptors. Half of the descriptors are the server's, after
 * NEAP_HTTP_OTHER_FDS, the reserve, and a quarter of the rest for strangers. */
#define NEAP_HTTP_KNOWN_MAX 4096
#define NEAP_HTTP_OTHER_FDS 256
/* Connections beyond NEAP_HTTP_KNOWN_MAX: half of them for admins, all of them for root
 * and the daemon's user over the unix socket. */
#define NEAP_HTTP_RESERVE 128
/* Defaults for each user below admin: connections, watches and open requests. */
#define NEAP_HTTP_USER_CONNECTIONS 1024
#define NEAP_HTTP_USER_WATCHES     896
#define NEAP_HTTP_USER_REQUESTS    256
/* Bytes of a request on the wire (chunked encoding can multiply them); of one in a tree
 * with larger bodies; and of all requests still being read. */
#define NEAP_HTTP_REQUEST_MAX       (2 * 1024 * 1024)
#define NEAP_HTTP_REQUEST_LARGE_MAX (6 * 1024 * 1024)
#define NEAP_HTTP_UNFINISHED_MAX    (32 * 1024 * 1024)
/* Share of these bytes for each user below admin. The reserve above all shares is for
 * admins (one half) and root over the unix socket (all), like that of connections. */
#define NEAP_HTTP_UNFINISHED_USER_MAX (12 * 1024 * 1024)
#define NEAP_HTTP_UNFINISHED_RESERVE  (16 * 1024 * 1024)
/* Share of unidentified clients (no token, no certificate with a role; on the unix socket
 * neither root nor the daemon's user): per connection, and in total. Beyond the total the
 * oldest connection is closed. Bytes of a TLS handshake count here. */
#define NEAP_HTTP_UNFINISHED_UNKNOWN_MAX  (32 * 1024)
#define NEAP_HTTP_UNFINISHED_UNKNOWNS_MAX (4 * 1024 * 1024)
/* Streams in total and per peer, except in a tree with its own limit; unread bytes of one
 * before pieces are skipped; and consecutive skipped pieces before it is cut off. */
#define NEAP_HTTP_STREAMS_MAX       64
#define NEAP_HTTP_STREAMS_PEER_MAX  8
#define NEAP_HTTP_STREAMS_RESERVE   16
#define NEAP_HTTP_STREAM_UNREAD_MAX (256 * 1024)
#define NEAP_HTTP_STREAM_SKIPS_MAX  50

/* What a client may do. Each role includes those before it, except NODE: an editor may
 * write everything a node may, and no route requires node. */
enum neap_http_role {
	NEAP_HTTP_UNSET,   /* in a route: forgotten, and the table is refused */
	NEAP_HTTP_ANYBODY, /* strangers too: health, version */
	NEAP_HTTP_READER,  /* read-only */
	NEAP_HTTP_NODE,    /* a reader that may write what belongs to its own node */
	/* freeze, release, resume; policies and their parameters; objects */
	NEAP_HTTP_EDITOR,
	NEAP_HTTP_ADMIN, /* everything, including the token */
};

/* "reader", "node", "editor", "admin"; "nobody" for ANYBODY. */
const char *neap_http_role_name(enum neap_http_role role);

/* Users and programs as Kubernetes names them. */
struct neap_http_user {
	const char *name;
	const char *const *groups;
	int group_count;
};

/* The client: over TCP by bearer token or certificate, over the unix socket by uid. */
struct neap_http_peer {
	bool is_unix;
	pid_t pid; /* of the unix peer, 0 over TCP */
	uid_t uid;
	enum neap_http_role role; /* ANYBODY: not known */
	/* For audit and log: "uid 0", "token", "user:alice" (token file), "cert:alice",
	 * "" for a stranger over TCP. Valid as long as the request. */
	const char *name;
	/* "unix:1000", "neap:admin" for the token of DATA_DIR, a user of the token file,
	 * the CN of a certificate, else "system:anonymous". Valid as long as the
	 * request. */
	const struct neap_http_user *user;
};

/* The user of strangers. */
extern const struct neap_http_user neap_http_anonymous;
/* The implicit last group of a user: "system:authenticated" or
 * "system:unauthenticated". */
const char *neap_http_user_standing(const struct neap_http_user *user);

typedef void neap_http_handler(void *arg, struct neap_http_request *request);

struct neap_http_route {
	const char *method; /* "GET" */
	/* "/control/v1/policies/{kind}/{name}"; "{...}" matches a segment, a trailing "*"
	 * the rest; the first matching row serves */
	const char *path;
	enum neap_http_role role; /* the lowest role required */
	neap_http_handler *handler;
};

/* A part of the address space with its own rules. */
struct neap_http_tree {
	const char *const *paths; /* "/api": it and everything below; NULL-terminated */
	/* For identified clients: largest body, at most half of
	 * NEAP_HTTP_REQUEST_LARGE_MAX; open streams. Strangers have the same limits
	 * everywhere. */
	size_t body_max, streams_max;
	/* Returns the body of an error answer (from the server, or from a handler by the
	 * functions for errors) in place of {"code", "message"}; a new reference, NULL
	 * without memory. */
	json_t *(*refusal)(int status, const struct neap_error *err);
};

/* Classes of clients; lower ones lose their places first. */
enum neap_http_rank {
	NEAP_HTTP_RANK_STRANGER,
	NEAP_HTTP_RANK_USER,  /* a role below admin */
	NEAP_HTTP_RANK_ADMIN, /* with a token, a certificate, or an account grant */
	NEAP_HTTP_RANK_LOCAL, /* root and the daemon's user, over the unix socket */
	NEAP_HTTP_RANK_COUNT
};

/* Resources shared per user. */
enum neap_http_thing {
	NEAP_HTTP_CONNECTIONS,
	NEAP_HTTP_WATCHES,  /* streams of the tree */
	NEAP_HTTP_REQUESTS, /* with their handlers */
	NEAP_HTTP_THING_COUNT
};

/* For metrics: "stranger", ...; "connections", .... */
const char *neap_http_rank_name(enum neap_http_rank rank);
const char *neap_http_thing_name(enum neap_http_thing thing);

struct neap_http_shares {
	size_t held[NEAP_HTTP_RANK_COUNT][NEAP_HTTP_THING_COUNT];
	uint64_t refused[NEAP_HTTP_RANK_COUNT][NEAP_HTTP_THING_COUNT];
	size_t user_max[NEAP_HTTP_THING_COUNT]; /* of one user */
	/* Total connections by rank: each may use what lower ranks leave. */
	size_t all_max[NEAP_HTTP_RANK_COUNT];
	uint64_t out_of_descriptors; /* failures of accept for lack of descriptors */
};

/* 0: as above. */
struct neap_http_limits {
	size_t known_max;
	size_t user_max[NEAP_HTTP_THING_COUNT];
};

struct neap_http_config {
	const char *listen_fd_name; /* for messages */
	/* Bound and listening descriptors, each or -1. */
	int tcp_fd; /* plain HTTP */
	int tls_fd; /* ignored without tls */
	int unix_fd;
	const char
		*token; /* accepted over TCP as "Authorization: Bearer"; NULL: none is */
	uid_t own_uid;
	/* Borrowed; read for each request, so rows may change. NULL: none. */
	const struct neap_grants *grants;
	struct neap_tokens *tokens; /* user tokens; a reference is taken; NULL: none */
	struct neap_tls *tls;       /* borrowed; NULL: no TLS */
	int timeout_s;              /* 0: NEAP_HTTP_TIMEOUT_S */
	/* Role of every client over plain TCP, when only this machine can reach it;
	 * UNSET: none. */
	enum neap_http_role plain_role;
	struct neap_http_limits limits;
	/* Borrowed: "a.example,b": further names of this server besides its addresses and
	 * localhost. NULL: Host and Origin are not checked. */
	const char *host_names;
};

/* Parses "127.0.0.1:6327" or "[::1]:0", numbers only. addr needs room for a struct
 * sockaddr_storage. */
int neap_http_listen_parse(const char *listen, struct sockaddr *addr, int *ret_len,
			   struct neap_error *err);
/* Returns whether only this machine can reach it: 127/8, [::1]. False for other texts. */
bool neap_http_listen_is_local(const char *listen);
/* Binds "127.0.0.1:6327" or "[::1]:0"; call before privileges are dropped. The error says
 * what occupies or forbids the address, and what to do. */
int neap_http_bind_tcp(const char *listen, int *ret_fd, struct neap_error *err);
/* Mode 0666: the peer's uid decides what it may do. Replaces a socket file without a
 * listener. */
int neap_http_bind_unix(const char *path, int *ret_fd, struct neap_error *err);

/* Returns an event base suited to the server: epoll changes are batched and mostly cancel
 * out. No descriptor in it may duplicate another. NULL without memory. */
struct event_base *neap_http_base_new(void);

/* Takes over the descriptors on success; copies the token. */
int neap_http_new(struct event_base *base, const struct neap_http_config *config,
		  struct neap_http **ret, struct neap_error *err);
void neap_http_free(struct neap_http *http);
/* routes is kept by reference and ends with method NULL. GET routes also serve HEAD. */
int neap_http_add_routes(struct neap_http *http, const struct neap_http_route *routes,
			 void *arg, struct neap_error *err);

/* Sets the tree (at most one), kept by reference. Until is_open, paths in it without a
 * route are answered with 503, because their routes are not known yet. */
void neap_http_set_tree(struct neap_http *http, const struct neap_http_tree *tree,
			bool is_open);

/* Called for every request answered by a route or a refusal, when the answer is being
 * sent (not for streams), with its status; 0: the client left first, or there was no
 * memory for an answer. Requests refused before they were complete are not reported. */
typedef void neap_http_observer(void *arg, struct neap_http_request *request, int status);
void neap_http_set_observer(struct neap_http *http, neap_http_observer *observer,
			    void *arg);

/* Replaces the token from the next request on; copied. Open streams go on. */
int neap_http_set_token(struct neap_http *http, const char *token,
			struct neap_error *err);
/* The same for user tokens; takes a reference, NULL: none. */
void neap_http_set_tokens(struct neap_http *http, struct neap_tokens *tokens);
/* Returns the role a request needs; NEAP_HTTP_ADMIN for an unknown path. path:
 * decoded. */
enum neap_http_role neap_http_needs(struct neap_http *http, const char *method,
				    const char *path);
/* The grants of the configuration; may be NULL. */
const struct neap_grants *neap_http_grants_get(const struct neap_http *http);
/* Returns when the TCP listener's certificate expires, in Unix seconds; 0 without TLS. */
int64_t neap_http_certificate_end(const struct neap_http *http);
/* The queue of waiting requests, for tests. */
struct neap_tasks *neap_http_tasks(struct neap_http *http);
/* Number of open connections. */
size_t neap_http_connection_count(const struct neap_http *http);
/* What is held and what was refused; borrowed. */
const struct neap_http_shares *neap_http_shares_get(const struct neap_http *http);

/* --- in a handler --- */
const struct neap_http_peer *neap_http_peer_get(const struct neap_http_request *request);
/* Decoded; NULL to an observer when the address was invalid. */
const char *neap_http_path_get(const struct neap_http_request *request);
/* As received, "" without memory. */
const char *neap_http_uri_get(const struct neap_http_request *request);
const char *neap_http_method_get(const struct neap_http_request *request);
/* When the request was complete, in Unix microseconds. */
int64_t neap_http_received_get(const struct neap_http_request *request);
/* "127.0.0.1"; "unix" over the unix socket. */
void neap_http_address_get(const struct neap_http_request *request, char *buf,
			   size_t size);
/* For observers: sets the name of what the request is about, "" by default; cut to
 * size. */
void neap_http_note_set(struct neap_http_request *request, const char *note);
const char *neap_http_note_get(const struct neap_http_request *request);
/* The part matched by "*", "" if none. */
const char *neap_http_rest_get(const struct neap_http_request *request);
/* The part matched by the index-th "{...}": decoded, never empty, no slash; NULL if there
 * are fewer. */
const char *neap_http_segment_get(const struct neap_http_request *request, int index);
/* Returns the first value of a request header, NULL if absent; valid until the answer. */
const char *neap_http_header_find(const struct neap_http_request *request,
				  const char *name);
/* Returns the user of a token, the admin's or one of the file; NULL: unknown. Valid until
 * the answer. */
const struct neap_http_user *neap_http_token_find(const struct neap_http_request *request,
						  const char *token);
/* Returns whether the Accept header names this media type explicitly: clients that say
 * nothing or accept anything get JSON. */
bool neap_http_accepts(const struct neap_http_request *request, const char *type);
/* Decoded query parameter, NULL if absent; valid until the answer. */
const char *neap_http_query_find(struct neap_http_request *request, const char *name);
/* The n-th value (from 0) of a repeated parameter; NULL when there are fewer. */
const char *neap_http_query_nth(const struct neap_http_request *request, const char *name,
				int n);
/* Borrowed, with NUL at data[len]. */
const char *neap_http_body_get(struct neap_http_request *request, size_t *ret_len);
/* Descriptor of the connection, for SO_PEERCRED; borrowed. */
int neap_http_fd_get(const struct neap_http_request *request);
/* Adds a header to the answer. -NEAP_EINVAL for an invalid name, a control character in
 * the value, and framing headers, which the server sets itself. */
int neap_http_header_add(struct neap_http_request *request, const char *name,
			 const char *value);
/* Each request gets exactly one answer, immediately or later from the loop. All of these
 * take over the request. */
void neap_http_answer_json_take(struct neap_http_request *request, int status,
				json_t *body);
void neap_http_answer_text(struct neap_http_request *request, int status,
			   const char *type, const char *text, size_t len);
/* The same; text (len bytes) is freed with free(3) after sending, so a large one is not
 * copied. */
void neap_http_answer_text_take(struct neap_http_request *request, int status,
				const char *type, char *text, size_t len);
/* {"code": "Invalid", "message": "...", "field": "..."} with the status of the error's
 * code. */
void neap_http_answer_error(struct neap_http_request *request,
			    const struct neap_error *err);
/* The same with a given status, and with the members of details (an object or NULL) added
 * to "code" and "message", which they cannot replace. A 503 gets "Retry-After: 1" unless
 * the header exists. */
void neap_http_answer_problem_take(struct neap_http_request *request, int status,
				   const struct neap_error *err, json_t *details);
/* 401 or 403, naming the client and what would help, because its role is below needed.
 * For routes that are only sometimes open. */
void neap_http_answer_denied(struct neap_http_request *request,
			     enum neap_http_role needed);
/* Allows answering later: gone is called once if the client leaves first, and the request
 * must not be used after that. A second call replaces gone and arg. */
void neap_http_defer(struct neap_http_request *request, void (*gone)(void *arg),
		     void *arg);
/* After neap_http_defer: late is called, with the same arg, from the loop, if there is no
 * answer in time; it must answer. Without memory there is no time limit. */
void neap_http_defer_until(struct neap_http_request *request, int64_t usec,
			   void (*late)(void *arg));

/* --- an answer without an end --- */
struct neap_http_stream;

/* Starts a streaming answer with status 200, until its end or until the client leaves;
 * then gone is called once, always from the loop and never from within these functions,
 * and the stream is freed. NULL: the request was answered (HEAD with the headers, 429
 * when its user has too many streams, 503 when there are too many in total or memory is
 * short), and gone is not called. */
struct neap_http_stream *neap_http_stream_start_take(struct neap_http_request *request,
						     const char *type,
						     void (*gone)(void *arg), void *arg);
#define NEAP_HTTP_LENGTH_UNKNOWN SIZE_MAX
/* The same for an answer of len bytes, sent by neap_http_stream_push and ended by
 * neap_http_stream_end: it does not count as a stream, and the connection is kept (with
 * an unknown length, if the client accepts chunks). */
struct neap_http_stream *neap_http_answer_long_take(struct neap_http_request *request,
						    const char *type, size_t len,
						    void (*gone)(void *arg), void *arg);
/* Returns 1 when it is being sent; 0 when it was skipped because the client has too much
 * unread: send the newest state later. A client with too many skips in a row is cut off,
 * followed by gone. */
int neap_http_stream_send(struct neap_http_stream *stream, const char *data, size_t len);
/* A part of an answer. A part with an owner is not copied while it waits; the owner is
 * released after sending. */
struct neap_http_part {
	const char *data;
	size_t len;
	void *owner; /* NULL: copied */
};

/* Parts of one push. */
#define NEAP_HTTP_PARTS_MAX 320

struct neap_http_owners {
	void (*hold)(void *owner);
	void (*release)(void *owner);
};

/* For streams that must not lose anything: sends the next piece, one or more non-empty
 * parts. Returns 1 when all of it was sent, and the next may follow; 0 when the rest
 * waits for the client: room is called from the loop when it is sent, and no piece may
 * follow before. -NEAP_ENOMEM: the stream is broken and can only be ended. Do not mix
 * with neap_http_stream_send on one stream. */
int neap_http_stream_push(struct neap_http_stream *stream,
			  const struct neap_http_part *parts, size_t count,
			  const struct neap_http_owners *owners, void (*room)(void *arg),
			  void *arg);
/* Closes the connection; gone follows, from the loop. */
void neap_http_stream_cut(struct neap_http_stream *stream);
/* Ends the stream; sent data still arrives. Not from within gone, and not after it. */
void neap_http_stream_end(struct neap_http_stream *stream);

#endif
