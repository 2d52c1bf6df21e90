/* SPDX-License-Identifier: Apache-2.0
 *
 * What evhttp does not watch by itself: how many connections there are (in all, and of one peer),
 * how long a request may take to arrive (evhttp's time limit starts anew with every byte), how much
 * memory unfinished requests hold together, and header forms by which two servers in a row can
 * be made to see different requests. One guard stands beside each connection. */
#ifndef NEAP_API_HTTP_GUARD_H
#define NEAP_API_HTTP_GUARD_H

#include "api/http/server.h"

struct bufferevent;
struct neap_bearers;
struct evhttp_request;
struct neap_guard;
struct neap_guards;
struct neap_tls;

/* own_uid: the user that, beside root, is admin over the unix socket. bearers: copied, what is in it
 * borrowed. tls: borrowed, of the TCP connections; NULL: they are plain. timeout_s: from the first byte of a request to its last. */
struct neap_guards *neap_guards_new(struct event_base *base, uid_t own_uid,
				    const struct neap_bearers *bearers,
				    struct neap_tls *tls, int timeout_s,
				    const struct neap_http_limits *limits);
/* What everybody over plain TCP is, without showing anything; NEAP_HTTP_ANYBODY at first. */
void neap_guards_set_plain_role(struct neap_guards *guards, enum neap_http_role role);
/* After the evhttp is gone, and with it all connections. */
void neap_guards_free(struct neap_guards *guards);
/* For evhttp_set_bevcb, arg is the guards: the bufferevent of a connection just accepted. */
struct bufferevent *neap_guards_accept(struct event_base *base, void *arg);
/* The same for one that speaks TLS: from the accept to its first request it has the time of one. */
struct bufferevent *neap_guards_accept_tls(struct event_base *base, void *arg);
/* A whole request has come over bev: its guard, valid as long as the connection. NULL: close it. */
struct neap_guard *neap_guards_note_request(struct neap_guards *guards,
					    struct bufferevent *bev,
					    struct neap_http_peer *ret_peer);
/* Other tokens, borrowed as the first. */
void neap_guards_set_bearers(struct neap_guards *guards,
			     const struct neap_bearers *bearers);
/* Who asks is known, and so is the connection from now on. */
void neap_guard_note_known(struct neap_guard *guard, const struct neap_http_peer *peer);
/* The request at hand counts until its answer. False: its user has too many of them. */
bool neap_guard_take_request(struct neap_guard *guard, struct neap_error *err);
/* "127.0.0.1", "::1"; "unix". */
void neap_guard_address(const struct neap_guard *guard, char *buf, size_t size);
/* It speaks TLS. */
bool neap_guard_is_tls(const struct neap_guard *guard);
/* As neap_tls_explain; false also for a connection without TLS. */
bool neap_guard_explain(const struct neap_guard *guard, enum neap_http_role needed,
			struct neap_error *err);
/* The answer is on its way; nobody watches any more. */
void neap_guard_note_answer(struct neap_guard *guard);
/* gone is called when the connection ends, unless the answer comes before. */
void neap_guard_watch(struct neap_guard *guard, void (*gone)(void *arg), void *arg);
/* The tree whose connections are counted and refused as it says; borrowed. */
void neap_guards_set_tree(struct neap_guards *guards, const struct neap_http_tree *tree);
/* A place for a stream, which has no time limit. tree: of its request, or NULL. It comes free with the connection.
 * 0, or the status to refuse it with: 429 when its peer has all that it may have, 503 when all are taken. */
int neap_guard_take_stream(struct neap_guard *guard, const struct neap_http_tree *tree,
			   struct neap_error *err);
/* Ends the connection: from the loop, not from this call. */
void neap_guard_refuse(struct neap_guard *guard);
/* Other NUL bytes came than the so many that the body of the request at hand may have; else these are
 * done with. */
bool neap_guard_has_nul(struct neap_guard *guard, size_t in_body);
/* The line of the request with its handler ends in "HTTP/1.0" or "HTTP/1.1", to the letter, and no CONNECT
 * came before it. */
bool neap_guard_is_line_good(const struct neap_guard *guard);
/* Refuses the framing forms that invite smuggling. *ret_is_last: this request is to be the last of its
 * connection, as evhttp's idea of where its body ends may not be everybody's. */
int neap_guard_check_headers(struct evhttp_request *request, bool *ret_is_last,
			     struct neap_error *err);
/* Connections at this moment. */
size_t neap_guards_count(const struct neap_guards *guards);
const struct neap_http_shares *neap_guards_shares(const struct neap_guards *guards);
/* accept had no descriptor: somebody goes, if there is one to spare. False: nobody is, or enough are on their
 * way. */
bool neap_guards_make_descriptor(struct neap_guards *guards);

#endif
