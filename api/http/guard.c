/* SPDX-License-Identifier: Apache-2.0
 *
 * A guard holds a reference to its connection's bufferevent. evhttp closes the descriptor itself and
 * clears the callbacks when it lets a connection go; that is the sign to drop the guard. Signs are
 * looked for once a second and whenever a cap seems reached, so that short connections cost nothing
 * extra. A guard never closes: it shuts the socket down, and evhttp sees the end of the file. */
#include "api/http/guard.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "engine/base/mem.h"

/* Largest single write; without it replies go out in pieces of 16 KB. */
#define WRITE_MAX (1024 * 1024)

struct guard {
	TAILQ_ENTRY(guard) next;
	struct neap_guards *guards;
	struct bufferevent *bev;
	struct evbuffer_cb_entry *watch; /* input_changed on its input */
	bool is_resolved;
	bool is_refused;
	struct neap_http_peer peer;
	struct in6_addr addr; /* of a TCP peer, IPv4 mapped */
	struct timeval
		since;     /* of the first byte of the request being read, 0: none is */
	size_t unfinished; /* its bytes so far */
};

struct neap_guards {
	struct event_base *base;
	uid_t own_uid;
	TAILQ_HEAD(guard_list, guard) list;
	size_t count;
	size_t unfinished;
	struct event *
		fresh; /* fired by hand: a connection was accepted, its peer is to be found */
	struct event *second; /* armed while there is a guard */
	struct guard *last;   /* of the last input, mostly the one asked for next */
};

static bool is_closed(struct guard *guard)
{
	bufferevent_event_cb event_cb = NULL;

	bufferevent_getcb(guard->bev, NULL, NULL, &event_cb, NULL);
	return !event_cb;
}

static void refuse(struct guard *guard)
{
	if (guard->is_refused || is_closed(guard))
		return;
	guard->is_refused = true;
	(void)shutdown(bufferevent_getfd(guard->bev),
		       SHUT_RDWR); /* gone already: as wanted */
}

static void guard_free(struct guard *guard)
{
	struct neap_guards *guards = guard->guards;

	TAILQ_REMOVE(&guards->list, guard, next);
	guards->count--;
	guards->unfinished -= guard->unfinished;
	if (guards->last == guard)
		guards->last = NULL;
	(void)evbuffer_remove_cb_entry(bufferevent_get_input(guard->bev), guard->watch);
	bufferevent_decref(guard->bev);
	free(guard);
}

/* Guards of connections that are gone go too. */
static void sweep(struct neap_guards *guards)
{
	struct guard *guard = TAILQ_FIRST(&guards->list);

	while (guard) {
		struct guard *next = TAILQ_NEXT(guard, next);

		if (guard->is_resolved && is_closed(guard))
			guard_free(guard);
		guard = next;
	}
}

static void input_changed(struct evbuffer *buffer, const struct evbuffer_cb_info *info,
			  void *arg)
{
	struct guard *guard = arg;
	struct neap_guards *guards = guard->guards;

	(void)buffer;
	if (!info->n_added)
		return;
	guards->last = guard;
	if (!guard->since.tv_sec)
		event_base_gettimeofday_cached(guards->base, &guard->since);
	guard->unfinished += info->n_added;
	guards->unfinished += info->n_added;
	if (guards->unfinished > NEAP_HTTP_UNFINISHED_MAX)
		sweep(guards); /* what closed connections still seem to hold */
	if (guards->unfinished > NEAP_HTTP_UNFINISHED_MAX)
		refuse(guard);
}

static bool resolve_tcp(struct guard *guard, int fd)
{
	struct sockaddr_storage addr;
	socklen_t len = sizeof(addr);

	if (getpeername(fd, (struct sockaddr *)&addr, &len) < 0)
		return false;
	if (addr.ss_family == AF_INET6) {
		guard->addr = ((struct sockaddr_in6 *)&addr)->sin6_addr;
		return true;
	}
	if (addr.ss_family != AF_INET)
		return false;
	guard->addr.s6_addr[10] = guard->addr.s6_addr[11] = 0xff;
	memcpy(&guard->addr.s6_addr[12], &((struct sockaddr_in *)&addr)->sin_addr, 4);
	return true;
}

static bool resolve(struct guard *guard)
{
	int fd = bufferevent_getfd(guard->bev), domain = 0;
	socklen_t len = sizeof(domain);
	struct ucred cred;

	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) < 0)
		return false;
	if (domain != AF_UNIX)
		return resolve_tcp(guard, fd);
	len = sizeof(cred);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return false;
	guard->peer.is_unix = true;
	guard->peer.pid = cred.pid;
	guard->peer.uid = cred.uid;
	guard->peer.is_known = cred.uid == 0 || cred.uid == guard->guards->own_uid;
	return true;
}

static bool is_same_peer(const struct guard *a, const struct guard *b)
{
	if (a->peer.is_unix != b->peer.is_unix)
		return false;
	if (a->peer.is_unix)
		return a->peer.uid == b->peer.uid;
	return memcmp(&a->addr, &b->addr, sizeof(a->addr)) == 0;
}

static size_t count_peer(struct neap_guards *guards, const struct guard *of)
{
	struct guard *guard;
	size_t count = 0;

	TAILQ_FOREACH(guard, &guards->list, next)
	if (guard->is_resolved && !guard->is_refused && is_same_peer(guard, of))
		count++;
	return count;
}

static void admit(struct guard *guard)
{
	struct neap_guards *guards = guard->guards;

	guard->is_resolved = true;
	if (is_closed(guard))
		return;
	if (!resolve(guard)) {
		refuse(guard);
		return;
	}
	if (guards->count <= NEAP_HTTP_CONNECTIONS_PEER_MAX)
		return;
	if (guards->count > NEAP_HTTP_CONNECTIONS_MAX ||
	    count_peer(guards, guard) > NEAP_HTTP_CONNECTIONS_PEER_MAX)
		refuse(guard);
}

/* The list is in order of arrival, so the fresh ones are at its end. */
static void fresh_cb(evutil_socket_t fd, short what, void *arg)
{
	struct neap_guards *guards = arg;
	struct guard *guard = TAILQ_LAST(&guards->list, guard_list);

	(void)fd;
	(void)what;
	if (guards->count > NEAP_HTTP_CONNECTIONS_PEER_MAX)
		sweep(guards);
	while (guard && !guard->is_resolved)
		guard = TAILQ_PREV(guard, guard_list, next);
	guard = guard ? TAILQ_NEXT(guard, next) : TAILQ_FIRST(&guards->list);
	for (; guard; guard = TAILQ_NEXT(guard, next))
		admit(guard);
}

static void second_cb(evutil_socket_t fd, short what, void *arg)
{
	struct neap_guards *guards = arg;
	struct guard *guard;
	struct timeval now;

	(void)fd;
	(void)what;
	sweep(guards);
	event_base_gettimeofday_cached(guards->base, &now);
	TAILQ_FOREACH(guard, &guards->list, next)
	if (guard->since.tv_sec && now.tv_sec - guard->since.tv_sec > NEAP_HTTP_TIMEOUT_S)
		refuse(guard);
	if (!guards->count)
		(void)event_del(guards->second); /* an idle daemon is not woken */
}

struct bufferevent *neap_guards_accept(struct event_base *base, void *arg)
{
	static const struct timeval one_second = {.tv_sec = 1};
	struct neap_guards *guards = arg;
	struct bufferevent *bev = bufferevent_socket_new(base, -1, 0);
	struct guard *guard;

	if (!bev)
		return NULL; /* evhttp then tries by itself, and fails alike */
	(void)bufferevent_set_max_single_write(bev,
					       WRITE_MAX); /* slower without, not wrong */
	guard = neap_alloc(sizeof(*guard));
	if (!guard)
		return bev; /* unguarded: its first request is refused */
	guard->guards = guards;
	guard->bev = bev;
	guard->watch = evbuffer_add_cb(bufferevent_get_input(bev), input_changed, guard);
	if (!guard->watch) {
		free(guard);
		return bev;
	}
	bufferevent_incref(bev);
	TAILQ_INSERT_TAIL(&guards->list, guard, next);
	guards->count++;
	event_active(guards->fresh, EV_TIMEOUT, 0);
	if (!evtimer_pending(guards->second, NULL))
		(void)event_add(guards->second,
				&one_second); /* fails only without memory */
	return bev;
}

bool neap_guards_note_request(struct neap_guards *guards, struct bufferevent *bev,
			      struct neap_http_peer *ret_peer)
{
	struct guard *guard = guards->last;

	if (!guard || guard->bev != bev)
		TAILQ_FOREACH(guard, &guards->list, next)
	if (guard->bev == bev)
		break;
	if (!guard)
		return false;
	if (!guard->is_resolved)
		admit(guard);
	guards->unfinished -= guard->unfinished;
	guard->unfinished = 0;
	guard->since.tv_sec = 0;
	*ret_peer = guard->peer;
	return !guard->is_refused;
}

size_t neap_guards_count(struct neap_guards *guards)
{
	sweep(guards);
	return guards->count;
}

struct neap_guards *neap_guards_new(struct event_base *base, uid_t own_uid)
{
	struct neap_guards *guards = neap_alloc(sizeof(*guards));

	if (!guards)
		return NULL;
	guards->base = base;
	guards->own_uid = own_uid;
	TAILQ_INIT(&guards->list);
	guards->fresh = event_new(base, -1, 0, fresh_cb, guards);
	guards->second = event_new(base, -1, EV_PERSIST, second_cb, guards);
	if (!guards->fresh || !guards->second) {
		neap_guards_free(guards);
		return NULL;
	}
	return guards;
}

void neap_guards_free(struct neap_guards *guards)
{
	struct guard *guard;

	if (!guards)
		return;
	for (guard = TAILQ_FIRST(&guards->list); guard;
	     guard = TAILQ_FIRST(&guards->list))
		guard_free(guard);
	if (guards->fresh)
		event_free(guards->fresh);
	if (guards->second)
		event_free(guards->second);
	free(guards);
}

/* --- header forms --- */

static bool is_token(const char *text)
{
	static const char others[] = "!#$%&'*+-.^_`|~";
	const char *c;

	for (c = text; *c; c++)
		if (!(*c >= '0' && *c <= '9') && !(*c >= 'A' && *c <= 'Z') &&
		    !(*c >= 'a' && *c <= 'z') && !strchr(others, *c))
			return false;
	return c > text;
}

static int refused(struct neap_error *err, const char *why)
{
	return neap_error_set(err, NEAP_EINVAL, "refused: %s", why);
}

int neap_guard_check_headers(struct evhttp_request *request, struct neap_error *err)
{
	const struct evkeyval *header;
	int hosts = 0, lengths = 0, encodings = 0;

	TAILQ_FOREACH(header, evhttp_request_get_input_headers(request), next)
	{
		if (!is_token(header->key))
			return refused(err,
				       "a header name with other than token characters");
		if (evutil_ascii_strcasecmp(header->key, "Host") == 0)
			hosts++;
		if (evutil_ascii_strcasecmp(header->key, "Content-Length") == 0) {
			lengths++;
			if (!*header->value ||
			    header->value[strspn(header->value, "0123456789")])
				return refused(err,
					       "a Content-Length that is not all digits");
		}
		if (evutil_ascii_strcasecmp(header->key, "Transfer-Encoding") == 0) {
			encodings++;
			if (evutil_ascii_strcasecmp(header->value, "chunked") != 0)
				return refused(err,
					       "a Transfer-Encoding other than chunked");
		}
	}
	if (lengths > 1)
		return refused(err, "Content-Length more than once");
	if (encodings > 1)
		return refused(err, "Transfer-Encoding more than once");
	if (lengths && encodings)
		return refused(err, "Content-Length beside Transfer-Encoding");
	if (hosts > 1)
		return refused(err, "Host more than once");
	if (!hosts &&
	    (request->major > 1 || (request->major == 1 && request->minor >= 1)))
		return refused(err, "no Host");
	return 0;
}
