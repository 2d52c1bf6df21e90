/* SPDX-License-Identifier: Apache-2.0
 *
 * Limits that evhttp lacks: number of connections (total and per peer), time for a
 * request to arrive (evhttp's timeout restarts with every byte), total memory of
 * incomplete requests, and header forms used for request smuggling. One guard per
 * connection. */
#ifndef NEAP_API_HTTP_SERVE_GUARD_H
#define NEAP_API_HTTP_SERVE_GUARD_H

#include "api/http/server.h"

struct bufferevent;
struct neap_bearers;
struct evhttp_request;
struct neap_guard;
struct neap_guards;
struct neap_tls;

/* own_uid: the user that is admin over the unix socket, besides root. bearers: copied,
 * its contents borrowed. tls: for TCP connections, borrowed; NULL: they are plain.
 * timeout_s: from the first byte of a request to its last. */
struct neap_guards *neap_guards_new(struct event_base *base, uid_t own_uid,
				    const struct neap_bearers *bearers,
				    struct neap_tls *tls, int timeout_s,
				    const struct neap_http_limits *limits);
/* Sets the role of every client over plain TCP without credentials; initially
 * NEAP_HTTP_ANYBODY. */
void neap_guards_set_plain_role(struct neap_guards *guards, enum neap_http_role role);
/* Call after evhttp, with all connections, was freed. */
void neap_guards_free(struct neap_guards *guards);
/* For evhttp_set_bevcb, with the guards as arg: returns the bufferevent of a new
 * connection. */
struct bufferevent *neap_guards_accept(struct event_base *base, void *arg);
/* The same for TLS: the handshake up to the first request gets the time of one
 * request. */
struct bufferevent *neap_guards_accept_tls(struct event_base *base, void *arg);
/* Called when a complete request arrived on bev: returns its guard, valid as long as the
 * connection. NULL: close it. */
struct neap_guard *neap_guards_note_request(struct neap_guards *guards,
					    struct bufferevent *bev,
					    struct neap_http_peer *ret_peer);
/* Replaces the tokens, borrowed as at first. */
void neap_guards_set_bearers(struct neap_guards *guards,
			     const struct neap_bearers *bearers);
/* The request's user is identified, and the connection belongs to it from now on. */
void neap_guard_note_known(struct neap_guard *guard, const struct neap_http_peer *peer);
/* Counts the current request until its answer. False: its user has too many. */
bool neap_guard_take_request(struct neap_guard *guard, struct neap_error *err);
/* "127.0.0.1", "::1"; "unix". */
void neap_guard_address(const struct neap_guard *guard, char *buf, size_t size);
/* It speaks TLS. */
bool neap_guard_is_tls(const struct neap_guard *guard);
/* Like neap_tls_explain; also false for a connection without TLS. */
bool neap_guard_explain(const struct neap_guard *guard, enum neap_http_role needed,
			struct neap_error *err);
/* The answer is being sent; ends the watch. */
void neap_guard_note_answer(struct neap_guard *guard);
/* gone is called when the connection ends before the answer. */
void neap_guard_watch(struct neap_guard *guard, void (*gone)(void *arg), void *arg);
/* Sets the tree whose connections have limits of their own; borrowed. */
void neap_guards_set_tree(struct neap_guards *guards, const struct neap_http_tree *tree);
/* Reserves a stream, which has no time limit, until the connection ends. tree: of its
 * request, or NULL. Returns 0, or the status to refuse with: 429 when its peer is at its
 * limit, 503 when all are taken. */
int neap_guard_take_stream(struct neap_guard *guard, const struct neap_http_tree *tree,
			   struct neap_error *err);
/* Ends the connection, later from the loop. */
void neap_guard_refuse(struct neap_guard *guard);
/* Returns whether NUL bytes other than the in_body ones of the current request's body
 * arrived; otherwise these are accounted for. */
bool neap_guard_has_nul(struct neap_guard *guard, size_t in_body);
/* Returns whether the current request line ends exactly in "HTTP/1.0" or "HTTP/1.1" and
 * no CONNECT came before. */
bool neap_guard_is_line_good(const struct neap_guard *guard);
/* Refuses framing headers that allow smuggling. *ret_is_last: close the connection after
 * this request, because other servers might see its body end elsewhere. */
int neap_guard_check_headers(struct evhttp_request *request, bool *ret_is_last,
			     struct neap_error *err);
/* Number of open connections. */
size_t neap_guards_count(const struct neap_guards *guards);
const struct neap_http_shares *neap_guards_shares(const struct neap_guards *guards);
/* accept ran out of descriptors: drops a connection if one can be spared. False: none
 * can, or enough are closing already. */
bool neap_guards_make_descriptor(struct neap_guards *guards);

#endif
