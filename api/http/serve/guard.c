/* SPDX-License-Identifier: Apache-2.0
 *
 * A guard lives from accept to evhttp's close callback, which has it as argument. evhttp
 * exposes its connection only with a request. Before that, the connection is found as the
 * argument of the bufferevent's callbacks and verified by its bufferevent. Do not keep a
 * reference to the bufferevent: evhttp closes the descriptor, and a living bufferevent
 * would read from its next owner. A guard never closes the socket: it shuts it down, and
 * evhttp sees the end. */
#include "api/http/serve/guard.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "api/http/serve/guard_priv.h"
#include "api/http/serve/server_priv.h"
#include "engine/base/map.h"
#include "engine/base/mem.h"

/* --- the handshake ---
 *
 * The guard's part of TLS. Until the handshake is done, its bytes count as a stranger's
 * unfinished request. The length claimed by the client's hello counts too, because
 * OpenSSL allocates up to 128 KiB for it at once. The time limit of a request runs from
 * accept, so it ends an endless handshake too. */

#define RECORD_HANDSHAKE 22
#define CLIENT_HELLO     1

/* TLS starts with a small number; a letter means that the client uses HTTP. */
static bool is_plain(const struct neap_guard *guard)
{
	return guard->hello_len > 0 && guard->hello[0] >= 'A' && guard->hello[0] <= 'Z';
}

/* Length claimed by the hello, if that has come. */
static size_t claimed(const struct neap_guard *guard)
{
	const unsigned char *hello = guard->hello;

	if (guard->hello_len < NEAP_GUARD_HELLO || hello[0] != RECORD_HANDSHAKE ||
	    hello[5] != CLIENT_HELLO)
		return 0;
	return (size_t)hello[6] << 16 | (size_t)hello[7] << 8 | hello[8];
}

static void wire_input(void *arg, const char *data, size_t len)
{
	struct neap_guard *guard = arg;
	size_t room = NEAP_GUARD_HELLO - guard->hello_len;
	size_t kept = len < room ? len : room;
	size_t sum = guard->unfinished + len;

	if (guard->is_refused || guard->is_greeted)
		return;
	memcpy(guard->hello + guard->hello_len, data, kept);
	guard->hello_len += kept;
	neap_guard_set_unfinished(guard, sum > claimed(guard) ? sum : claimed(guard));
	if (guard->unfinished > NEAP_HTTP_UNFINISHED_UNKNOWN_MAX)
		neap_guard_refuse(guard);
	neap_guards_make_room(guard->guards);
}

/* Watches the input before the first request. */
static void neap_guard_handshake_start(struct neap_guard *guard)
{
	event_base_gettimeofday_cached(guard->guards->base, &guard->since);
	guard->watch.input = wire_input;
	guard->watch.arg = guard;
	neap_tls_watch(guard->bev, &guard->watch);
}

void neap_guard_handshake_done(struct neap_guard *guard)
{
	guard->is_greeted = true;
	neap_guard_set_unfinished(guard, 0);
	neap_tls_name(guard->bev, guard->name, sizeof(guard->name));
	guard->user = neap_tls_user_new(guard->bev);
	if (guard->user)
		guard->peer.user = guard->user;
	neap_guard_join_known(guard);
}

/* Tells a plain HTTP client at a TLS port so, before closing. */
static void neap_guard_handshake_end(struct neap_guard *guard)
{
	static const char text[] =
		"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\n"
		"Connection: close\r\n\r\n"
		"{\"code\":\"Invalid\",\"message\":\"TLS is spoken here, not plain HTTP: ask "
		"https://\"}\n";
	int fd = bufferevent_getfd(guard->bev);
	char waste[16384];

	neap_tls_end(guard->bev);
	if (!is_plain(guard))
		return;
	/* Unread bytes would turn the close into a reset, which can overtake the
	 * answer. */
	(void)recv(fd, waste, sizeof(waste), MSG_DONTWAIT);
	(void)send(fd, text, sizeof(text) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool neap_guard_is_handshake(struct evbuffer *buffer)
{
	const unsigned char *first = evbuffer_pullup(buffer, 1);

	return first && *first == RECORD_HANDSHAKE;
}

/* --- guards --- */

/* Number of newcomers that are checked against the limits in one turn of the loop. */
#define CAPS_EACH 64

void neap_guard_refuse(struct neap_guard *guard)
{
	if (guard->is_refused)
		return;
	neap_guard_count_out(guard);
	guard->is_refused = true;
	guard->guards->leaving++;
	/* Its memory will be free at once; counting it would refuse other clients. */
	neap_guard_set_unfinished(guard, 0);
	(void)shutdown(bufferevent_getfd(guard->bev),
		       SHUT_RDWR); /* it is gone already, as wanted */
}

static void guard_free(struct neap_guard *guard)
{
	struct neap_guards *guards = guard->guards;

	if (guard->is_admitted)
		TAILQ_REMOVE(&guards->list, guard, next);
	else
		TAILQ_REMOVE(&guards->fresh, guard, next);
	guards->count--;
	guards->leaving -= guard->is_refused;
	guards->streams -= guard->is_stream && !guard->is_of_tree;
	guards->tree_streams -= guard->is_of_tree;
	neap_guard_set_unfinished(guard, 0);
	neap_guard_leave(guard);
	if (guards->last == guard)
		guards->last = NULL;
	/* it may have a part of a token */
	explicit_bzero(guard->line, sizeof(guard->line));
	free(guard->user);
	free(guard);
}

static void closed_cb(struct evhttp_connection *connection NEAP_UNUSED, void *arg)
{
	struct neap_guard *guard = arg;

	if (guard->is_tls)
		neap_guard_handshake_end(guard);
	if (guard->gone)
		guard->gone(guard->gone_arg);
	guard_free(guard);
}

/* Ties the guard to its connection. False: the connection is gone already, and now the
 * guard is too. */
static bool tie(struct neap_guard *guard)
{
	struct bufferevent *bev = guard->bev;
	bufferevent_event_cb event_cb = NULL;
	void *connection = NULL;

	bufferevent_getcb(bev, NULL, NULL, &event_cb, &connection);
	if (!event_cb || evhttp_connection_get_bufferevent(connection) != bev) {
		(void)bufferevent_disable(
			bev, EV_READ | EV_WRITE); /* see above: it never reads again */
		if (guard->is_tls)
			neap_tls_end(bev);
		guard_free(guard);
		/* Without memory for a connection evhttp never took the bufferevent. */
		if (bufferevent_getfd(bev) < 0)
			bufferevent_free(bev);
		bufferevent_decref(bev);
		return false;
	}
	evhttp_connection_set_closecb(connection, closed_cb, guard);
	bufferevent_decref(bev);
	return true;
}

/* Checks newcomers against the limits some time after accept, when their first bytes were
 * read. When a thousand informers reconnect at once, each has sent its token by then and
 * is not a stranger. epoll reports a few at a time, so one turn is not enough. */
static void caps_cb(evutil_socket_t fd NEAP_UNUSED, short what NEAP_UNUSED, void *arg)
{
	static const struct timeval next_turn = {.tv_usec = 1000};
	struct neap_guards *guards = arg;
	struct neap_guard *guard;
	int count = 0;

	TAILQ_FOREACH(guard, &guards->list, next)
	if (guard->is_new) {
		/* Each check may walk the whole list. */
		if (count++ == CAPS_EACH) {
			(void)event_add(guards->caps,
					&next_turn); /* or the next newcomer starts it */
			return;
		}
		guard->is_new = false;
		neap_guard_keep_caps(guard);
	}
}

static void admission_cb(evutil_socket_t fd NEAP_UNUSED, short what NEAP_UNUSED,
			 void *arg)
{
	static const struct timeval soon = {.tv_usec = 20000};
	struct neap_guards *guards = arg;
	struct neap_guard *guard;
	bool has_new = false;

	for (guard = TAILQ_FIRST(&guards->fresh); guard;
	     guard = TAILQ_FIRST(&guards->fresh)) {
		if (!tie(guard))
			continue;
		TAILQ_REMOVE(&guards->fresh, guard, next);
		TAILQ_INSERT_TAIL(&guards->list, guard, next);
		guard->is_admitted = true;
		if (!guard->is_refused)
			neap_guard_count_in(guard);
		if (guard->is_tls)
			neap_guard_handshake_start(guard);
		if (!neap_guard_resolve(guard)) {
			neap_guard_refuse(guard);
			continue;
		}
		has_new |= guard->is_new = !guard->share;
		neap_guard_admit(guard);
	}
	if (has_new && !evtimer_pending(guards->caps, NULL) &&
	    event_add(guards->caps, &soon) < 0)
		caps_cb(-1, 0, guards);
}

static void second_cb(evutil_socket_t fd NEAP_UNUSED, short what NEAP_UNUSED, void *arg)
{
	struct neap_guards *guards = arg;
	struct neap_guard *guard;
	struct timeval now;

	event_base_gettimeofday_cached(guards->base, &now);
	TAILQ_FOREACH(guard, &guards->list, next)
	if (guard->since.tv_sec && !guard->is_busy && !guard->is_stream &&
	    now.tv_sec - guard->since.tv_sec > guards->timeout_s)
		neap_guard_refuse(guard);
	if (!guards->count)
		(void)event_del(guards->second); /* an idle daemon does not wake */
}

static struct bufferevent *accept_as(struct neap_guards *guards, struct bufferevent *bev,
				     bool is_tls)
{
	static const struct timeval one_second = {.tv_sec = 1};
	struct neap_guard *guard;

	/* evhttp then makes its own, without TLS. If it can, that connection has no
	 * guard, and its first request is refused. */
	if (!bev)
		return NULL;
	(void)bufferevent_set_max_single_write(
		bev, NEAP_HTTP_WRITE_MAX); /* a failure makes it only slower */
	guard = neap_alloc(sizeof(*guard));
	/* Without a guard evhttp makes its own, and its first request is refused. */
	if (!guard || !evbuffer_add_cb(bufferevent_get_input(bev),
				       neap_guard_input_changed, guard)) {
		free(guard);
		bufferevent_free(bev);
		return NULL;
	}
	guard->guards = guards;
	guard->bev = bev;
	guard->is_tls = is_tls;
	guard->peer.name = guard->name;
	guard->peer.role = NEAP_HTTP_ANYBODY;
	guard->peer.user = &neap_http_anonymous;
	bufferevent_incref(
		bev); /* until it is tied to its connection, in this turn of the loop */
	TAILQ_INSERT_TAIL(&guards->fresh, guard, next);
	guards->count++;
	event_active(guards->admission, EV_TIMEOUT, 0);
	if (!evtimer_pending(guards->second, NULL))
		(void)event_add(guards->second,
				&one_second); /* fails only without memory */
	return bev;
}

struct bufferevent *neap_guards_accept(struct event_base *base, void *arg)
{
	return accept_as(arg, bufferevent_socket_new(base, -1, 0), false);
}

struct bufferevent *neap_guards_accept_tls(struct event_base *base, void *arg)
{
	struct neap_guards *guards = arg;

	return accept_as(guards, neap_tls_accept(guards->tls, base), true);
}

struct neap_guard *neap_guards_note_request(struct neap_guards *guards,
					    struct bufferevent *bev,
					    struct neap_http_peer *ret_peer)
{
	struct neap_guard *guard = guards->last;

	if (!guard || guard->bev != bev)
		TAILQ_FOREACH(guard, &guards->list, next)
	if (guard->bev == bev)
		break;
	if (!guard || !guard->is_admitted || guard->is_refused)
		return NULL;
	/* The rest is the start of the next request. */
	neap_guard_set_unfinished(guard, evbuffer_get_length(bufferevent_get_input(bev)));
	guard->since.tv_sec = 0;
	guard->is_busy = true;
	*ret_peer = guard->peer;
	ret_peer->role = neap_guard_find_role(guard);
	return guard;
}

void neap_guards_set_plain_role(struct neap_guards *guards, enum neap_http_role role)
{
	guards->plain_role = role;
}

void neap_guards_set_bearers(struct neap_guards *guards,
			     const struct neap_bearers *bearers)
{
	guards->bearers = *bearers;
}

void neap_guard_note_known(struct neap_guard *guard, const struct neap_http_peer *peer)
{
	neap_guard_join(guard, peer->user, peer->role);
}

bool neap_guard_is_tls(const struct neap_guard *guard)
{
	return guard->is_tls;
}

bool neap_guard_explain(const struct neap_guard *guard, enum neap_http_role needed,
			struct neap_error *err)
{
	return guard->is_tls &&
	       neap_tls_explain(guard->bev, neap_guard_find_role(guard), needed, err);
}

void neap_guard_note_answer(struct neap_guard *guard)
{
	neap_guard_watch(guard, NULL, NULL);
	neap_guard_end_request(guard);
	guard->is_busy = false;
	neap_guard_look_at_line(guard); /* the next request's line */
	if (guard->unfinished)
		event_base_gettimeofday_cached(guard->guards->base, &guard->since);
}

void neap_guard_watch(struct neap_guard *guard, void (*gone)(void *arg), void *arg)
{
	guard->gone = gone;
	guard->gone_arg = arg;
}

bool neap_guard_has_nul(struct neap_guard *guard, size_t in_body)
{
	if (guard->nuls != in_body)
		return true;
	guard->nuls = 0;
	return false;
}

bool neap_guard_is_line_good(const struct neap_guard *guard)
{
	return guard->is_line_good;
}

void neap_guards_set_tree(struct neap_guards *guards, const struct neap_http_tree *tree)
{
	guards->tree = tree;
}

size_t neap_guards_count(const struct neap_guards *guards)
{
	return guards->count;
}

const struct neap_http_shares *neap_guards_shares(const struct neap_guards *guards)
{
	return &guards->facts;
}

struct neap_guards *neap_guards_new(struct event_base *base, uid_t own_uid,
				    const struct neap_bearers *bearers,
				    struct neap_tls *tls, int timeout_s,
				    const struct neap_http_limits *limits)
{
	struct neap_guards *guards = neap_alloc(sizeof(*guards));

	if (!guards)
		return NULL;
	guards->base = base;
	guards->own_uid = own_uid;
	guards->bearers = *bearers;
	guards->tls = tls;
	guards->timeout_s = timeout_s;
	neap_guards_set_limits(guards, limits);
	guards->shares = neap_map_new();
	TAILQ_INIT(&guards->list);
	TAILQ_INIT(&guards->fresh);
	guards->admission = event_new(base, -1, 0, admission_cb, guards);
	guards->caps = evtimer_new(base, caps_cb, guards);
	guards->second = event_new(base, -1, EV_PERSIST, second_cb, guards);
	if (!guards->admission || !guards->caps || !guards->second || !guards->shares) {
		neap_guards_free(guards);
		return NULL;
	}
	return guards;
}

void neap_guards_free(struct neap_guards *guards)
{
	struct neap_guard *guard;

	if (!guards)
		return;
	/* Only the guards that were accepted in an unfinished turn of the loop are
	 * left. */
	for (guard = TAILQ_FIRST(&guards->fresh); guard;
	     guard = TAILQ_FIRST(&guards->fresh))
		if (tie(guard))
			guard_free(guard);
	if (guards->admission)
		event_free(guards->admission);
	if (guards->caps)
		event_free(guards->caps);
	if (guards->second)
		event_free(guards->second);
	neap_map_free(guards->shares);
	free(guards);
}
