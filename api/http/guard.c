/* SPDX-License-Identifier: Apache-2.0
 *
 * A guard lives from the accept to evhttp's close callback, which carries it. evhttp hands its
 * connection over only with a request; before that the connection is found as the argument of the
 * bufferevent's callbacks, and proved to be it by its bufferevent. A reference to the bufferevent must
 * not be kept: evhttp closes the descriptor, and a bufferevent that is still alive reads from whoever
 * gets that number next. A guard never closes: it shuts the socket down, and evhttp sees the end. */
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

struct neap_guard {
	TAILQ_ENTRY(neap_guard) next;
	struct neap_guards *guards;
	struct bufferevent *bev;
	bool is_resolved;
	bool is_refused;
	struct neap_http_peer peer;
	struct in6_addr addr;    /* of a TCP peer, IPv4 mapped */
	void (*gone)(void *arg); /* tells who answers a request later */
	void *gone_arg;
	struct timeval since; /* first byte of the request being read; 0: none is */
	size_t unfinished;    /* its bytes so far */
};

struct neap_guards {
	struct event_base *base;
	uid_t own_uid;
	int timeout_s; /* from a request's first byte to its last */
	TAILQ_HEAD(guard_list, neap_guard) list;
	size_t count;
	size_t unfinished;
	struct event *
		fresh; /* fired by hand: a connection was accepted, its peer is to be found */
	struct event *second;    /* armed while there is a guard */
	struct neap_guard *last; /* of the last input, mostly the one asked for next */
};

static void refuse(struct neap_guard *guard)
{
	if (guard->is_refused)
		return;
	guard->is_refused = true;
	/* Its memory is as good as free; counting it on would refuse the innocent, too. */
	guard->guards->unfinished -= guard->unfinished;
	guard->unfinished = 0;
	(void)shutdown(bufferevent_getfd(guard->bev),
		       SHUT_RDWR); /* gone already: as wanted */
}

static void guard_free(struct neap_guard *guard)
{
	struct neap_guards *guards = guard->guards;

	TAILQ_REMOVE(&guards->list, guard, next);
	guards->count--;
	guards->unfinished -= guard->unfinished;
	if (guards->last == guard)
		guards->last = NULL;
	free(guard);
}

static void closed_cb(struct evhttp_connection *connection, void *arg)
{
	struct neap_guard *guard = arg;

	(void)connection;
	if (guard->gone)
		guard->gone(guard->gone_arg);
	guard_free(guard);
}

static void input_changed(struct evbuffer *buffer, const struct evbuffer_cb_info *info,
			  void *arg)
{
	struct neap_guard *guard = arg;
	struct neap_guards *guards = guard->guards;

	(void)buffer;
	if (!info->n_added || guard->is_refused)
		return;
	guards->last = guard;
	if (!guard->since.tv_sec)
		event_base_gettimeofday_cached(guards->base, &guard->since);
	guard->unfinished += info->n_added;
	guards->unfinished += info->n_added;
	if (guards->unfinished > NEAP_HTTP_UNFINISHED_MAX)
		refuse(guard);
}

static bool resolve_tcp(struct neap_guard *guard, int fd)
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

static bool resolve(struct neap_guard *guard)
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

static bool is_same_peer(const struct neap_guard *a, const struct neap_guard *b)
{
	if (a->peer.is_unix != b->peer.is_unix)
		return false;
	if (a->peer.is_unix)
		return a->peer.uid == b->peer.uid;
	return memcmp(&a->addr, &b->addr, sizeof(a->addr)) == 0;
}

static size_t count_peer(struct neap_guards *guards, const struct neap_guard *of)
{
	struct neap_guard *guard;
	size_t count = 0;

	TAILQ_FOREACH(guard, &guards->list, next)
	if (guard->is_resolved && !guard->is_refused && is_same_peer(guard, of))
		count++;
	return count;
}

/* Ties the guard to its connection. False: that is gone already, and now so is the guard. */
static bool tie(struct neap_guard *guard)
{
	struct bufferevent *bev = guard->bev;
	bufferevent_event_cb event_cb = NULL;
	void *connection = NULL;

	bufferevent_getcb(bev, NULL, NULL, &event_cb, &connection);
	if (!event_cb || evhttp_connection_get_bufferevent(connection) != bev) {
		(void)bufferevent_disable(
			bev, EV_READ | EV_WRITE); /* see above: never read again */
		guard_free(guard);
		bufferevent_decref(bev);
		return false;
	}
	evhttp_connection_set_closecb(connection, closed_cb, guard);
	bufferevent_decref(bev);
	return true;
}

static void admit(struct neap_guard *guard)
{
	struct neap_guards *guards = guard->guards;

	guard->is_resolved = true;
	if (!tie(guard))
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
	struct neap_guard *guard = TAILQ_LAST(&guards->list, guard_list);

	(void)fd;
	(void)what;
	while (guard && !guard->is_resolved)
		guard = TAILQ_PREV(guard, guard_list, next);
	guard = guard ? TAILQ_NEXT(guard, next) : TAILQ_FIRST(&guards->list);
	while (guard) {
		struct neap_guard *next = TAILQ_NEXT(guard, next);

		admit(guard);
		guard = next;
	}
}

static void second_cb(evutil_socket_t fd, short what, void *arg)
{
	struct neap_guards *guards = arg;
	struct neap_guard *guard;
	struct timeval now;

	(void)fd;
	(void)what;
	event_base_gettimeofday_cached(guards->base, &now);
	TAILQ_FOREACH(guard, &guards->list, next)
	if (guard->since.tv_sec && now.tv_sec - guard->since.tv_sec > guards->timeout_s)
		refuse(guard);
	if (!guards->count)
		(void)event_del(guards->second); /* an idle daemon is not woken */
}

struct bufferevent *neap_guards_accept(struct event_base *base, void *arg)
{
	static const struct timeval one_second = {.tv_sec = 1};
	struct neap_guards *guards = arg;
	struct bufferevent *bev = bufferevent_socket_new(base, -1, 0);
	struct neap_guard *guard;

	if (!bev)
		return NULL; /* evhttp then tries by itself, and fails alike */
	(void)bufferevent_set_max_single_write(bev,
					       WRITE_MAX); /* slower without, not wrong */
	guard = neap_alloc(sizeof(*guard));
	if (!guard)
		return bev; /* unguarded: its first request is refused */
	guard->guards = guards;
	guard->bev = bev;
	if (!evbuffer_add_cb(bufferevent_get_input(bev), input_changed, guard)) {
		free(guard);
		return bev;
	}
	bufferevent_incref(
		bev); /* until it is tied to its connection, in this turn of the loop */
	TAILQ_INSERT_TAIL(&guards->list, guard, next);
	guards->count++;
	event_active(guards->fresh, EV_TIMEOUT, 0);
	if (!evtimer_pending(guards->second, NULL))
		(void)event_add(guards->second,
				&one_second); /* fails only without memory */
	return bev;
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
	if (!guard || !guard->is_resolved || guard->is_refused)
		return NULL;
	guards->unfinished -= guard->unfinished;
	guard->unfinished = 0;
	guard->since.tv_sec = 0;
	*ret_peer = guard->peer;
	return guard;
}

void neap_guard_watch(struct neap_guard *guard, void (*gone)(void *arg), void *arg)
{
	guard->gone = gone;
	guard->gone_arg = arg;
}

size_t neap_guards_count(const struct neap_guards *guards)
{
	return guards->count;
}

struct neap_guards *neap_guards_new(struct event_base *base, uid_t own_uid, int timeout_s)
{
	struct neap_guards *guards = neap_alloc(sizeof(*guards));

	if (!guards)
		return NULL;
	guards->base = base;
	guards->own_uid = own_uid;
	guards->timeout_s = timeout_s;
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
	struct neap_guard *guard;

	if (!guards)
		return;
	/* Left are only those accepted in a turn of the loop that did not end. */
	for (guard = TAILQ_FIRST(&guards->list); guard;
	     guard = TAILQ_FIRST(&guards->list))
		(void)tie(guard);
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
	size_t size = 0;

	TAILQ_FOREACH(header, evhttp_request_get_input_headers(request), next)
	{
		/* evhttp looks at its limit only when a line is not there whole. */
		size += strlen(header->key) + strlen(header->value) + 4;
		if (size > NEAP_HTTP_HEADER_MAX)
			return refused(err, "headers over 16 KiB");
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
