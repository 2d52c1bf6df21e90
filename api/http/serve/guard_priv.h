/* SPDX-License-Identifier: Apache-2.0
 *
 * The guard of a connection, shared by guard.c (its life, and TLS), share.c (who may
 * stay) and intake.c (input). */
#ifndef NEAP_API_HTTP_SERVE_GUARD_PRIV_H
#define NEAP_API_HTTP_SERVE_GUARD_PRIV_H

#include <netinet/in.h>
#include <sys/queue.h>
#include <sys/time.h>

#include "api/http/serve/guard.h"
#include "api/http/tls/tls.h"
#include "api/http/users/tokens.h"

struct evbuffer;
struct evbuffer_cb_info;
struct event;
struct neap_map;

/* Holds "Authorization: Bearer " and the longest token; longer values match none. */
#define NEAP_GUARD_LINE 256
/* An account of the unix socket, or an address. */
#define NEAP_GUARD_ACCOUNT 64
/* A user's name; as long as names in grants. */
#define NEAP_GUARD_KEY 260
/* A name with "cert:" in front; longer ones are cut, as in histories. */
#define NEAP_GUARD_NAME 64
/* The start of a TLS connection: the record header and the header of its message. */
#define NEAP_GUARD_HELLO 9

/* Everything held under one user name. Exists while anything is held. */
struct neap_share {
	enum neap_http_rank rank;
	size_t refs;
	size_t held[NEAP_HTTP_THING_COUNT]; /* connections, streams, requests */
	size_t unfinished;                  /* bytes */
	char name[];                        /* "alice", "unix:1000", "127.0.0.1" */
};

struct neap_guard {
	TAILQ_ENTRY(neap_guard) next; /* in fresh until it is admitted, then in list */
	struct neap_guards *guards;
	struct bufferevent *bev;
	bool is_admitted;
	bool is_new; /* not yet checked against the caps */
	bool is_refused;
	/* The identified user (by token, certificate or uid); NULL: unknown. */
	struct neap_share *share;
	bool is_busy;     /* a request is with its handler */
	bool has_request; /* which is counted */
	bool is_counted;  /* among the connections */
	bool is_stream;
	bool is_of_tree;    /* the stream belongs to the tree */
	bool asks_in_tree;  /* the request line being read is in the tree */
	size_t nuls;        /* bytes not accounted to a request */
	bool has_line;      /* the request line is complete */
	bool is_line_good;  /* it ends in an exact version and is not CONNECT */
	bool is_reading_on; /* beyond what libevent read */
	bool is_tls;
	bool is_greeted; /* the handshake is done and the client known */
	struct neap_tls_watch watch;
	size_t hello_len;
	unsigned char hello[NEAP_GUARD_HELLO];
	char name[NEAP_GUARD_NAME]; /* of the peer */
	char unix_name[24];         /* "unix:1000" */
	struct neap_http_user unix_user;
	struct neap_http_user *user; /* from a certificate; NULL: none */
	struct neap_http_peer peer;
	struct in6_addr addr;    /* of a TCP peer, IPv4-mapped */
	void (*gone)(void *arg); /* for requests answered later */
	void *gone_arg;
	struct timeval since; /* first byte of the request being read; 0: none */
	size_t unfinished;    /* its bytes so far */
	size_t line_len;      /* length of the unverified line being read */
	char line[NEAP_GUARD_LINE];
};

TAILQ_HEAD(neap_guard_list, neap_guard);

struct neap_guards {
	struct event_base *base;
	uid_t own_uid;
	struct neap_bearers bearers;
	struct neap_tls *tls;
	int timeout_s;
	enum neap_http_role plain_role; /* initially UNSET: no one */
	struct neap_guard_list list;    /* longest silent first */
	struct neap_guard_list fresh;   /* accepted in this turn of the loop */
	size_t count;                   /* of both lists */
	size_t leaving;                 /* of these, refused ones */
	struct neap_map *shares;        /* by rank and name */
	struct neap_http_shares facts;  /* what is held, by rank, and the limits */
	size_t streams, tree_streams;
	const struct neap_http_tree *tree;
	size_t unfinished;         /* bytes of all */
	size_t unfinished_unknown; /* of these, on unidentified connections */
	struct event *admission;   /* triggered manually: fresh is not empty */
	struct event *caps;        /* timer: there are new connections */
	struct event *second;      /* active while there is a guard */
	/* of the latest input, usually the next one asked for */
	struct neap_guard *last;
};

/* intake.c */
/* evbuffer_cb_func of a connection's input; arg is its guard. */
void neap_guard_input_changed(struct evbuffer *buffer,
			      const struct evbuffer_cb_info *info, void *arg);
/* Sets the connection's counted bytes to len; 0 when they now belong to someone else. */
void neap_guard_set_unfinished(struct neap_guard *guard, size_t len);
/* Sends "503 Service Unavailable" and header lines past evhttp in the middle of a
 * request; the caller then refuses the connection. Best effort: a client that is still
 * sending may see a reset first. */
void neap_guard_tell(struct neap_guard *guard, const char *status, const char *headers,
		     const struct neap_error *err);
/* Checks a complete request line at the start of the input, before evhttp consumes it. */
void neap_guard_look_at_line(struct neap_guard *guard);

/* The first bytes of a request arrived: identifies the client. */
void neap_guard_handshake_done(struct neap_guard *guard);
/* Returns whether the first byte of a plain connection is a TLS handshake. */
bool neap_guard_is_handshake(struct evbuffer *buffer);

/* share.c */
/* Assigns the connection to this user and counts it; may refuse it at the user's
 * limit. */
void neap_guard_join(struct neap_guard *guard, const struct neap_http_user *user,
		     enum neap_http_role role);
/* Count an admitted connection in and out. */
void neap_guard_count_in(struct neap_guard *guard);
void neap_guard_count_out(struct neap_guard *guard);
void neap_guard_end_request(struct neap_guard *guard);
/* Ends the guard. */
void neap_guard_leave(struct neap_guard *guard);
enum neap_http_rank neap_guard_rank(const struct neap_guard *guard);
/* Sets the limits from the configuration and the available descriptors. */
void neap_guards_set_limits(struct neap_guards *guards,
			    const struct neap_http_limits *limits);

/* Returns its role without a token, by uid or certificate; computed each time, because
 * grants and certificates can end. */
enum neap_http_role neap_guard_find_role(const struct neap_guard *guard);
/* Assigns it to its user, if that has any role without a token. */
void neap_guard_join_known(struct neap_guard *guard);
/* Identifies the client. False: it is gone already. */
bool neap_guard_resolve(struct neap_guard *guard);
/* Requires a free descriptor. */
void neap_guard_admit(struct neap_guard *guard);
/* Enforces the caps for strangers by dropping another connection or this one. */
void neap_guard_keep_caps(struct neap_guard *guard);
/* Enforces the total bytes of unidentified clients, by dropping others too. */
void neap_guards_make_room(struct neap_guards *guards);

#endif
