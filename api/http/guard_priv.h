/* SPDX-License-Identifier: Apache-2.0
 *
 * The guard of a connection, as the files that make it up share it: guard.c its life, admit.c who
 * may stay, intake.c what comes in. */
#ifndef NEAP_API_HTTP_GUARD_PRIV_H
#define NEAP_API_HTTP_GUARD_PRIV_H

#include <netinet/in.h>
#include <sys/queue.h>
#include <sys/time.h>

#include "api/http/bearer.h"
#include "api/http/guard.h"
#include "api/http/tls.h"

struct evbuffer;
struct evbuffer_cb_info;
struct event;
struct neap_map;

/* Holds "Authorization: Bearer " and the longest token; what is longer is none. */
#define NEAP_GUARD_LINE 256
/* An account of the unix socket, or an address. */
#define NEAP_GUARD_ACCOUNT 64
/* A user's name; as long as names in grants. */
#define NEAP_GUARD_KEY 260
/* A name with "cert:" before it; what is longer is cut, where histories cut it too. */
#define NEAP_GUARD_NAME 64
/* What a TLS connection says first: the record's head, and that of the message in it. */
#define NEAP_GUARD_HELLO 9

/* What those hold together who go by one name. It lives as long as somebody goes by it. */
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
	bool is_new; /* the caps have not been looked at for it */
	bool is_refused;
	/* Whose it is: who has shown a token or a certificate, or is known by the uid; NULL: nobody knows. */
	struct neap_share *share;
	bool is_busy;     /* a request is with its handler */
	bool has_request; /* which is counted */
	bool is_counted;  /* among the connections */
	bool is_stream;
	bool is_of_tree;   /* the stream is one of the tree's */
	bool asks_in_tree; /* so does the line of the request being read */
	size_t nuls;       /* among its bytes that no request has accounted for */
	bool has_line;     /* the line of the request being read is there whole */
	bool is_line_good; /* that line ends in a version to the letter, and is no CONNECT */
	bool is_reading_on; /* beyond what libevent read */
	bool is_tls;
	bool is_greeted; /* the handshake is done, and who is there is known */
	struct neap_tls_watch watch;
	size_t hello_len;
	unsigned char hello[NEAP_GUARD_HELLO];
	char name[NEAP_GUARD_NAME]; /* of the peer */
	char unix_name[24];         /* "unix:1000" */
	struct neap_http_user unix_user;
	struct neap_http_user *user; /* of a certificate; NULL: none */
	struct neap_http_peer peer;
	struct in6_addr addr;    /* of a TCP peer, IPv4 mapped */
	void (*gone)(void *arg); /* tells who answers a request later */
	void *gone_arg;
	struct timeval since; /* first byte of the request being read; 0: none is */
	size_t unfinished;    /* its bytes so far */
	size_t line_len;      /* the line being read, while not proved */
	char line[NEAP_GUARD_LINE];
};

TAILQ_HEAD(neap_guard_list, neap_guard);

struct neap_guards {
	struct event_base *base;
	uid_t own_uid;
	struct neap_bearers bearers;
	struct neap_tls *tls;
	int timeout_s;
	enum neap_http_role plain_role; /* UNSET, as at first: of nobody */
	struct neap_guard_list list;    /* the one longest without input first */
	struct neap_guard_list fresh;   /* accepted in this turn of the loop */
	size_t count;                   /* of both lists */
	size_t leaving;                 /* of these, those refused */
	struct neap_map *shares;        /* by rank and name */
	struct neap_http_shares facts;  /* what is held, by rank, and the limits */
	size_t streams, tree_streams;
	const struct neap_http_tree *tree;
	size_t unfinished;         /* bytes of all */
	size_t unfinished_unknown; /* of these, those of connections not proved */
	struct event *admission;   /* fired by hand: somebody is in fresh */
	struct event *caps;        /* a timer: somebody is new */
	struct event *second;      /* armed while there is a guard */
	struct neap_guard *last;   /* of the last input, mostly the one asked for next */
};

/* intake.c */
/* evbuffer_cb_func of a connection's input, arg is its guard. */
void neap_guard_input_changed(struct evbuffer *buffer,
			      const struct evbuffer_cb_info *info, void *arg);
/* Counts the bytes of this connection as len; 0 when they are somebody else's now. */
void neap_guard_set_unfinished(struct neap_guard *guard, size_t len);
/* Amid a request, past evhttp: "503 Service Unavailable" and header lines; the connection has to be refused after
 * it. Best effort: a client that still sends may see a reset before it looks at this. */
void neap_guard_tell(struct neap_guard *guard, const char *status, const char *headers,
		     const struct neap_error *err);
/* Judges the request line at the start of the input, once it is there whole; done before evhttp takes it. */
void neap_guard_look_at_line(struct neap_guard *guard);

/* handshake.c */
/* Watches over what comes before the first request. */
void neap_guard_handshake_start(struct neap_guard *guard);
/* The first bytes of a request are here: who is it? */
void neap_guard_handshake_done(struct neap_guard *guard);
/* Plain HTTP at a TLS port hears so, just before it is closed. */
void neap_guard_handshake_end(struct neap_guard *guard);
/* The first byte of a connection without TLS is that of a TLS handshake. */
bool neap_guard_is_handshake(struct evbuffer *buffer);

/* share.c */
/* The connection is that of this user from now on, and counts to it; may refuse it, if that is too many. */
void neap_guard_join(struct neap_guard *guard, const struct neap_http_user *user,
		     enum neap_http_role role);
/* A connection that was admitted begins to count, and ends. */
void neap_guard_count_in(struct neap_guard *guard);
void neap_guard_count_out(struct neap_guard *guard);
void neap_guard_end_request(struct neap_guard *guard);
/* The end of the guard. */
void neap_guard_leave(struct neap_guard *guard);
enum neap_http_rank neap_guard_rank(const struct neap_guard *guard);
/* Connections of all that are known. */
size_t neap_guards_known(const struct neap_guards *guards);
/* False: its user has all that it may have of these; and why. It counts as refused. */
bool neap_guard_may_have(struct neap_guard *guard, enum neap_http_thing thing,
			 struct neap_error *err);
void neap_guard_note_refused(struct neap_guard *guard, enum neap_http_thing thing);
/* The idle connection of the user of this rank with most of them that has been silent longest, if these are more
 * than so many; NULL: there is none. */
struct neap_guard *neap_guards_find_greedy(struct neap_guards *guards,
					   enum neap_http_rank rank, size_t more_than);
/* The limits, from the configuration and what descriptors there are. */
void neap_guards_set_limits(struct neap_guards *guards,
			    const struct neap_http_limits *limits);

/* admit.c */
/* What it may do without a token, by uid or by certificate; each time anew, as grants can be taken away and
 * certificates end. */
enum neap_http_role neap_guard_find_role(const struct neap_guard *guard);
/* It counts to whom it is, if it may anything without a token. */
void neap_guard_join_known(struct neap_guard *guard);
/* Finds out who is there. False: gone already. */
bool neap_guard_resolve(struct neap_guard *guard);
/* There must be a descriptor for it. */
void neap_guard_admit(struct neap_guard *guard);
/* The same address, or the same account of the unix socket. */
bool neap_guard_is_same_peer(const struct neap_guard *a, const struct neap_guard *b);
/* Keeps the caps of strangers, by dropping another or this one. */
void neap_guard_keep_caps(struct neap_guard *guard);
/* Keeps the bytes that those not known hold together in bounds, by dropping others as well. */
void neap_guards_make_room(struct neap_guards *guards);

#endif
