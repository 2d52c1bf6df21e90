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
/* Connections of those who are not known (yet), in all and of one address or of one user on the unix socket. At
 * these caps a newcomer takes the place of the one that has been silent longest. */
#define NEAP_HTTP_CONNECTIONS_MAX      512
#define NEAP_HTTP_CONNECTIONS_PEER_MAX 64
/* Of those who have shown a token or a certificate with a role, in all; fewer where the process may have fewer
 * descriptors. Half of these are the server's: NEAP_HTTP_OTHER_FDS and a quarter of the rest for strangers come
 * first, and the reserve. */
#define NEAP_HTTP_KNOWN_MAX 4096
#define NEAP_HTTP_OTHER_FDS 256
/* Connections above NEAP_HTTP_KNOWN_MAX: half of them for admins, all for root and the daemon's user over the
 * unix socket. */
#define NEAP_HTTP_RESERVE 128
/* Defaults for each user below admin: how many connections, watches and open requests it may have. */
#define NEAP_HTTP_USER_CONNECTIONS 1024
#define NEAP_HTTP_USER_WATCHES     896
#define NEAP_HTTP_USER_REQUESTS    256
/* Bytes of a request on the wire, as chunks can be many times what they carry; of one whose tree takes larger
 * bodies; and of all requests still being read. */
#define NEAP_HTTP_REQUEST_MAX       (2 * 1024 * 1024)
#define NEAP_HTTP_REQUEST_LARGE_MAX (6 * 1024 * 1024)
#define NEAP_HTTP_UNFINISHED_MAX    (32 * 1024 * 1024)
/* Share of these bytes for each user below admin. The reserve above all shares serves admins (one half) and root
 * over the unix socket (all of it), as the one of connections does. */
#define NEAP_HTTP_UNFINISHED_USER_MAX (12 * 1024 * 1024)
#define NEAP_HTTP_UNFINISHED_RESERVE  (16 * 1024 * 1024)
/* Of these, of those who are not known yet (no token, no certificate with a role; over the unix socket:
 * neither root nor the daemon's user): of one connection, and of all, where the oldest make room. What a TLS
 * handshake needs counts as such. */
#define NEAP_HTTP_UNFINISHED_UNKNOWN_MAX  (32 * 1024)
#define NEAP_HTTP_UNFINISHED_UNKNOWNS_MAX (4 * 1024 * 1024)
/* Streams in all and of one peer, but for those of a tree with a number of its own; bytes that one may leave unread before pieces are skipped; and
 * pieces skipped in a row before it is cut off. */
#define NEAP_HTTP_STREAMS_MAX       64
#define NEAP_HTTP_STREAMS_PEER_MAX  8
#define NEAP_HTTP_STREAMS_RESERVE   16
#define NEAP_HTTP_STREAM_UNREAD_MAX (256 * 1024)
#define NEAP_HTTP_STREAM_SKIPS_MAX  50

/* What somebody may do. Each role includes those before it, but for NODE: an editor may write all that a node
 * may, and no route is for nodes alone. */
enum neap_http_role {
	NEAP_HTTP_UNSET,   /* of a route: it was forgotten, and the table is refused */
	NEAP_HTTP_ANYBODY, /* strangers too: health, version */
	NEAP_HTTP_READER,  /* looks, and changes nothing */
	NEAP_HTTP_NODE, /* a reader that may write what belongs to the node it speaks for */
	NEAP_HTTP_EDITOR, /* freeze, release, resume; policies and their parameters; objects */
	NEAP_HTTP_ADMIN, /* all, the token too */
};

/* "reader", "node", "editor", "admin"; of ANYBODY "nobody". */
const char *neap_http_role_name(enum neap_http_role role);
/* One of the four that can be given. */
int neap_http_role_parse(const char *text, enum neap_http_role *ret,
			 struct neap_error *err);

/* As Kubernetes names people and programs. */
struct neap_http_user {
	const char *name;
	const char *const *groups;
	int group_count;
};

/* Who asks: over TCP by a bearer token or a certificate, over the unix socket by uid. */
struct neap_http_peer {
	bool is_unix;
	pid_t pid; /* of the unix peer, 0 over TCP */
	uid_t uid;
	enum neap_http_role role; /* ANYBODY: not known */
	/* For audit and log: "uid 0", "token", "user:alice" (by a token of the file), "cert:alice", ""
	 * of a stranger over TCP. As long as the request. */
	const char *name;
	/* "unix:1000", "neap:admin" by the token of DATA_DIR, a user of the token file, the CN of a
	 * certificate; "system:anonymous" of everybody else. As long as the request. */
	const struct neap_http_user *user;
};

/* The user that strangers are. */
extern const struct neap_http_user neap_http_anonymous;
/* What a user's groups are taken to end with: "system:authenticated" or "system:unauthenticated". */
const char *neap_http_user_standing(const struct neap_http_user *user);

typedef void neap_http_handler(void *arg, struct neap_http_request *request);

struct neap_http_route {
	const char *method; /* "GET" */
	const char
		*path; /* "/control/v1/policies/{kind}/{name}"; a "{...}" takes a segment,
			     * a trailing "*" the rest; the first row that matches serves */
	enum neap_http_role role; /* the least that is needed */
	neap_http_handler *handler;
};

/* A part of the address space with ways of its own. */
struct neap_http_tree {
	const char *const *paths; /* "/api": it and what lies below it; NULL ends */
	/* Of whoever is known: largest body, at most half of NEAP_HTTP_REQUEST_LARGE_MAX; streams that are open at
	 * once. Strangers have what strangers have everywhere. */
	size_t body_max, streams_max;
	/* The body of an answer with which the server refuses by itself (or a handler with one of the functions for
	 * errors), in place of {"code", "message"}; a new reference, NULL without memory. */
	json_t *(*refusal)(int status, const struct neap_error *err);
};

/* Classes of clients, in the order in which they lose their places. */
enum neap_http_rank {
	NEAP_HTTP_RANK_STRANGER,
	NEAP_HTTP_RANK_USER, /* a role below admin */
	NEAP_HTTP_RANK_ADMIN, /* with a token, a certificate, or by a grant to an account */
	NEAP_HTTP_RANK_LOCAL, /* root and the daemon's user, over the unix socket */
	NEAP_HTTP_RANK_COUNT
};

/* Resources of which each user has a share. */
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
	/* Connections in all, by rank: each may use what those below it have left. */
	size_t all_max[NEAP_HTTP_RANK_COUNT];
	uint64_t out_of_descriptors; /* times that accept failed for them */
};

/* 0: as above. */
struct neap_http_limits {
	size_t known_max;
	size_t user_max[NEAP_HTTP_THING_COUNT];
};

struct neap_http_config {
	const char *listen_fd_name; /* for messages */
	/* Bound and listening, each or -1. */
	int tcp_fd; /* plain HTTP */
	int tls_fd; /* not looked at without tls */
	int unix_fd;
	const char
		*token; /* accepted over TCP as "Authorization: Bearer"; NULL: none is */
	uid_t own_uid;
	/* Borrowed; looked at for each request, so that rows may change. NULL: none. */
	const struct neap_grants *grants;
	struct neap_tokens *tokens; /* of users; a reference is taken; NULL: none */
	struct neap_tls *tls;       /* borrowed; NULL: no TLS */
	int timeout_s;              /* 0: NEAP_HTTP_TIMEOUT_S */
	/* Of everybody over plain TCP, where only this machine can reach it; UNSET: of nobody. */
	enum neap_http_role plain_role;
	struct neap_http_limits limits;
	/* Borrowed: "a.example,b": what this server is called, beside its addresses and localhost. NULL: names are not
	 * looked at, nor where a page comes from. */
	const char *host_names;
};

/* "127.0.0.1:6327", "[::1]:0": numbers only. addr needs room for a struct sockaddr_storage. */
int neap_http_listen_parse(const char *listen, struct sockaddr *addr, int *ret_len,
			   struct neap_error *err);
/* Only this machine can reach it: 127/8, [::1]. False for what is no address. */
bool neap_http_listen_is_local(const char *listen);
/* Binds before privileges are dropped. "127.0.0.1:6327" or "[::1]:0". The error says what occupies or forbids it and what to do. */
int neap_http_bind_tcp(const char *listen, int *ret_fd, struct neap_error *err);
/* Mode 0666: who may do what is decided by the peer's uid. A socket file that nobody listens on is replaced. */
int neap_http_bind_unix(const char *path, int *ret_fd, struct neap_error *err);

/* A loop that suits the server: changes of what epoll watches are gathered and mostly cancel out. No
 * descriptor in it may be a duplicate of another. NULL without memory. */
struct event_base *neap_http_base_new(void);

/* Takes the descriptors over when it succeeds; the token is copied. */
int neap_http_new(struct event_base *base, const struct neap_http_config *config,
		  struct neap_http **ret, struct neap_error *err);
void neap_http_free(struct neap_http *http);
/* routes is kept by reference and ends with method NULL. A GET route serves HEAD as well. */
int neap_http_add_routes(struct neap_http *http, const struct neap_http_route *routes,
			 void *arg, struct neap_error *err);

/* From now on; kept by reference. There is one at most. Until it is open, what has no route below it is answered
 * with 503: it is not known yet what there will be. */
void neap_http_set_tree(struct neap_http *http, const struct neap_http_tree *tree,
			bool is_open);

/* Told of every request that a route or a refusal answers, when the answer is on its way (but streams), with its
 * status; 0: the client went before, or memory was too short for an answer. What was refused before it was read
 * whole was no request. */
typedef void neap_http_observer(void *arg, struct neap_http_request *request, int status);
void neap_http_set_observer(struct neap_http *http, neap_http_observer *observer,
			    void *arg);

/* Another token from the next request on; copied. Streams that are open go on. */
int neap_http_set_token(struct neap_http *http, const char *token,
			struct neap_error *err);
/* The same for the tokens of users; a reference is taken, NULL: none. */
void neap_http_set_tokens(struct neap_http *http, struct neap_tokens *tokens);
/* What a request would need; NEAP_HTTP_ADMIN where there is nothing. path: decoded. */
enum neap_http_role neap_http_needs(struct neap_http *http, const char *method,
				    const char *path);
/* Those of the configuration; may be NULL. */
const struct neap_grants *neap_http_grants_get(const struct neap_http *http);
/* When the certificate of the TCP listener ends, in Unix seconds; 0 without TLS. */
int64_t neap_http_certificate_end(const struct neap_http *http);
/* In which requests wait for their turn: for tests. */
struct neap_tasks *neap_http_tasks(struct neap_http *http);
/* Connections that are open at this moment. */
size_t neap_http_connection_count(const struct neap_http *http);
/* Who holds what, and what was refused; borrowed. */
const struct neap_http_shares *neap_http_shares_get(const struct neap_http *http);

/* --- in a handler --- */
const struct neap_http_peer *neap_http_peer_get(const struct neap_http_request *request);
/* Decoded; to an observer NULL where the address was none. */
const char *neap_http_path_get(const struct neap_http_request *request);
/* As it came, "" without memory. */
const char *neap_http_uri_get(const struct neap_http_request *request);
const char *neap_http_method_get(const struct neap_http_request *request);
/* When it was there whole, in Unix microseconds. */
int64_t neap_http_received_get(const struct neap_http_request *request);
/* "127.0.0.1"; "unix" over the unix socket. */
void neap_http_address_get(const struct neap_http_request *request, char *buf,
			   size_t size);
/* For observers: the name of what the request turned out to be about, "" if nobody said so; cut to size. */
void neap_http_note_set(struct neap_http_request *request, const char *note);
const char *neap_http_note_get(const struct neap_http_request *request);
/* The part that "*" took, "" if none. */
const char *neap_http_rest_get(const struct neap_http_request *request);
/* What the index-th "{...}" took: decoded, never empty, without a slash; NULL if there are not so
 * many. */
const char *neap_http_segment_get(const struct neap_http_request *request, int index);
/* Value of a header of the request (of the first one of that name), NULL if absent; valid until
 * the answer. */
const char *neap_http_header_find(const struct neap_http_request *request,
				  const char *name);
/* Whose token that is, the admin's and those of the file; NULL: nobody's. Valid until the answer. */
const struct neap_http_user *neap_http_token_find(const struct neap_http_request *request,
						  const char *token);
/* Whether the Accept header names this media type by itself: a client that says nothing, or takes
 * anything, gets JSON. */
bool neap_http_accepts(const struct neap_http_request *request, const char *type);
/* Decoded query parameter, NULL if absent; valid until the answer. */
const char *neap_http_query_find(struct neap_http_request *request, const char *name);
/* The n-th value of a parameter that is given more than once, from 0 on; NULL when there are not so many. */
const char *neap_http_query_nth(const struct neap_http_request *request, const char *name,
				int n);
/* Borrowed, with NUL at data[len]. */
const char *neap_http_body_get(struct neap_http_request *request, size_t *ret_len);
/* Descriptor of the connection, for SO_PEERCRED; borrowed. */
int neap_http_fd_get(const struct neap_http_request *request);
/* A header of the answer to come. -NEAP_EINVAL for a name that is none, a control character in the
 * value, and headers that frame the answer, which are the server's own. */
int neap_http_header_add(struct neap_http_request *request, const char *name,
			 const char *value);
/* Exactly one answer per request, at once or later from the loop. All take the request over. */
void neap_http_answer_json_take(struct neap_http_request *request, int status,
				json_t *body);
void neap_http_answer_text(struct neap_http_request *request, int status,
			   const char *type, const char *text, size_t len);
/* The same, and frees text (len bytes) with free(3) when it is on its way: a large one is not copied. */
void neap_http_answer_text_take(struct neap_http_request *request, int status,
				const char *type, char *text, size_t len);
/* {"code": "Invalid", "message": "...", "field": "..."} with the status of the error's code. */
void neap_http_answer_error(struct neap_http_request *request,
			    const struct neap_error *err);
/* The same with a status of its own and with the members of details (an object or NULL) beside
 * "code" and "message", which they cannot replace. A 503 gets "Retry-After: 1" unless the header
 * is there already. */
void neap_http_answer_problem_take(struct neap_http_request *request, int status,
				   const struct neap_error *err, json_t *details);
/* 401 or 403, with who asks and what would help: the peer's role is below needed. For routes that are
 * open at times only. */
void neap_http_answer_denied(struct neap_http_request *request,
			     enum neap_http_role needed);
/* For an answer later: gone is called (once) if the client goes first; the request must not be touched
 * after it. Called again it says who is told instead. */
void neap_http_defer(struct neap_http_request *request, void (*gone)(void *arg),
		     void *arg);
/* After neap_http_defer: late is called, with its arg, from the loop, if there is no answer after so long; it answers. Without
 * memory there is no such end. */
void neap_http_defer_until(struct neap_http_request *request, int64_t usec,
			   void (*late)(void *arg));

/* --- an answer without an end --- */
struct neap_http_stream;

/* Starts an answer of status 200 that goes on until its end or until the client goes; then gone is
 * called, once, always from the loop and never from a call of these, and the stream is no more.
 * NULL: the request has been answered already (to HEAD with the headers, with a 429 when its user has too many
 * streams, with a 503 when there are too many in all or memory is short), and gone will not be called. */
struct neap_http_stream *neap_http_stream_start_take(struct neap_http_request *request,
						     const char *type,
						     void (*gone)(void *arg), void *arg);
#define NEAP_HTTP_LENGTH_UNKNOWN SIZE_MAX
/* The same for an answer that ends by itself after len bytes, given by neap_http_stream_push and then
 * ended by neap_http_stream_end: no stream in the sense of the caps, and the connection is kept (with a length that is
 * not known where the client takes chunks). */
struct neap_http_stream *neap_http_answer_long_take(struct neap_http_request *request,
						    const char *type, size_t len,
						    void (*gone)(void *arg), void *arg);
/* 1: on its way. 0: skipped, as the client has too much unread; send the newest state later. A client
 * that gets skipped too often in a row is cut off, and gone follows. */
int neap_http_stream_send(struct neap_http_stream *stream, const char *data, size_t len);
/* What an answer is made of. A part with an owner is not copied, wherever it has to wait: it is held
 * meanwhile, and let go when it is on its way. */
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

/* For streams of which nothing may be left out: the next piece, of one part or more, none empty. 1: all of it is
 * on its way, and the next may come at once. 0: the rest waits for the client to read, and room is called,
 * from the loop, when all of it is on its way: the next piece not before. -NEAP_ENOMEM: the stream is broken
 * and can only be ended. Not both this and neap_http_stream_send on one stream. */
int neap_http_stream_push(struct neap_http_stream *stream,
			  const struct neap_http_part *parts, size_t count,
			  const struct neap_http_owners *owners, void (*room)(void *arg),
			  void *arg);
/* Closes the connection; gone follows, from the loop. */
void neap_http_stream_cut(struct neap_http_stream *stream);
/* What was sent still arrives. Not from within gone, and not after it. */
void neap_http_stream_end(struct neap_http_stream *stream);

#endif
