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
struct evhttp_request;
struct neap_guard;
struct neap_guards;

/* own_uid: the user that, beside root, is known over the unix socket. timeout_s: from the first
 * byte of a request to its last. */
struct neap_guards *neap_guards_new(struct event_base *base, uid_t own_uid,
				    int timeout_s);
/* After the evhttp is gone, and with it all connections. */
void neap_guards_free(struct neap_guards *guards);
/* For evhttp_set_bevcb, arg is the guards: the bufferevent of a connection just accepted. */
struct bufferevent *neap_guards_accept(struct event_base *base, void *arg);
/* A whole request has come over bev: its guard, valid as long as the connection. NULL: close it. */
struct neap_guard *neap_guards_note_request(struct neap_guards *guards,
					    struct bufferevent *bev,
					    struct neap_http_peer *ret_peer);
/* gone is called when the connection ends, unless it was taken back (NULL) before. */
void neap_guard_watch(struct neap_guard *guard, void (*gone)(void *arg), void *arg);
/* Refuses the framing forms that invite smuggling. */
int neap_guard_check_headers(struct evhttp_request *request, struct neap_error *err);
/* Connections at this moment. */
size_t neap_guards_count(const struct neap_guards *guards);

#endif
