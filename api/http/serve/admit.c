/* SPDX-License-Identifier: Apache-2.0
 *
 * Identifies the other end of a connection, and decides which connection is dropped when
 * there are too many. Strangers are counted separately: a new one is admitted and the one
 * silent longest is dropped. So a flood of connections only displaces its own kind, and
 * an operator at the same address gets in and stays. Among identified clients the new
 * connection is refused. Memory works the same way: new bytes displace the oldest
 * holders, because otherwise requests and handshakes that never end would block all
 * clients. */
#include <arpa/inet.h>
#include <event2/bufferevent.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "api/http/serve/guard_priv.h"
#include "api/http/users/grants.h"
#include "engine/base/mem.h"

/* Connections that a user keeps when descriptors run out. */
#define SPARED 8

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

void neap_guard_join_known(struct neap_guard *guard)
{
	enum neap_http_role role = neap_guard_find_role(guard);

	if (role > NEAP_HTTP_ANYBODY)
		neap_guard_join(guard, guard->peer.user, role);
}

bool neap_guard_resolve(struct neap_guard *guard)
{
	int fd = bufferevent_getfd(guard->bev), domain = 0;
	socklen_t len = sizeof(domain);
	struct ucred cred;

	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) < 0)
		return false;
	if (domain != AF_UNIX) {
		if (!resolve_tcp(guard, fd))
			return false;
		neap_guard_join_known(guard);
		return true;
	}
	len = sizeof(cred);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return false;
	guard->peer.is_unix = true;
	guard->peer.pid = cred.pid;
	guard->peer.uid = cred.uid;
	(void)snprintf(guard->name, sizeof(guard->name), "uid %u", (unsigned)cred.uid);
	(void)snprintf(guard->unix_name, sizeof(guard->unix_name), "unix:%u",
		       (unsigned)cred.uid);
	guard->unix_user.name = guard->unix_name;
	guard->peer.user = &guard->unix_user;
	neap_guard_join_known(guard);
	return true;
}

enum neap_http_role neap_guard_find_role(const struct neap_guard *guard)
{
	const struct neap_guards *guards = guard->guards;
	const struct neap_http_peer *peer = &guard->peer;

	if (peer->is_unix)
		return peer->uid == 0 || peer->uid == guards->own_uid
			       ? NEAP_HTTP_ADMIN
			       : neap_grants_find_unix(guards->bearers.grants, peer->uid);
	if (guard->user && neap_tls_is_good(guard->bev))
		return neap_grants_find_user(guards->bearers.grants, guard->user);
	if (!guard->is_tls && guards->plain_role)
		return guards->plain_role;
	return NEAP_HTTP_ANYBODY;
}

void neap_guard_address(const struct neap_guard *guard, char *buf, size_t size)
{
	const struct in6_addr *addr = &guard->addr;
	bool is_ipv4 = IN6_IS_ADDR_V4MAPPED(addr);

	if (guard->peer.is_unix)
		(void)neap_strcopy(buf, size, "unix");
	else if (!inet_ntop(is_ipv4 ? AF_INET : AF_INET6,
			    is_ipv4 ? (const void *)&addr->s6_addr[12] : addr, buf,
			    (socklen_t)size))
		buf[0] = '\0';
}

bool neap_guard_is_same_peer(const struct neap_guard *a, const struct neap_guard *b)
{
	if (a->peer.is_unix != b->peer.is_unix)
		return false;
	if (a->peer.is_unix)
		return a->peer.uid == b->peer.uid;
	return memcmp(&a->addr, &b->addr, sizeof(a->addr)) == 0;
}

static size_t count_strangers(const struct neap_guard *of)
{
	const struct neap_guard *guard;
	size_t count = 0;

	TAILQ_FOREACH(guard, &of->guards->list, next)
	if (!guard->is_refused && !guard->share && neap_guard_is_same_peer(guard, of))
		count++;
	return count;
}

/* Finds the connection that has been silent longest, is not identified and is owed no
 * answer, among the newcomer's peer or among all. If there is no other, the newcomer
 * itself. */
static struct neap_guard *find_victim(struct neap_guard *newcomer, bool only_peer)
{
	struct neap_guard *guard;

	TAILQ_FOREACH(guard, &newcomer->guards->list, next)
	if (!guard->is_refused && !guard->share && !guard->is_busy && guard != newcomer &&
	    (!only_peer || neap_guard_is_same_peer(guard, newcomer)))
		return guard;
	return newcomer;
}

static size_t strangers(const struct neap_guards *guards)
{
	return guards->facts.held[NEAP_HTTP_RANK_STRANGER][NEAP_HTTP_CONNECTIONS];
}

static void drop(struct neap_guard *guard)
{
	neap_guard_note_refused(guard, NEAP_HTTP_CONNECTIONS);
	neap_guard_refuse(guard);
}

bool neap_guards_make_descriptor(struct neap_guards *guards)
{
	struct neap_guard *guard;

	guards->facts.out_of_descriptors++;
	if (guards->leaving)
		return false; /* these connections are free in a moment */
	TAILQ_FOREACH(guard, &guards->list, next)
	if (!guard->is_refused && !guard->share && !guard->is_busy)
		break;
	for (int rank = NEAP_HTTP_RANK_USER; !guard && rank <= NEAP_HTTP_RANK_ADMIN;
	     rank++)
		guard = neap_guards_find_greedy(guards, (enum neap_http_rank)rank,
						SPARED);
	if (!guard)
		return false;
	drop(guard);
	return true;
}

void neap_guard_admit(struct neap_guard *guard)
{
	const size_t *max = guard->guards->facts.all_max;

	if (!guard->share &&
	    strangers(guard->guards) + neap_guards_known(guard->guards) >
		    max[NEAP_HTTP_RANK_LOCAL] + max[NEAP_HTTP_RANK_STRANGER])
		drop(find_victim(guard, false));
}

void neap_guard_keep_caps(struct neap_guard *guard)
{
	const struct neap_guards *guards = guard->guards;

	if (guard->share || guard->is_refused)
		return;
	if (strangers(guards) > NEAP_HTTP_CONNECTIONS_PEER_MAX &&
	    count_strangers(guard) > NEAP_HTTP_CONNECTIONS_PEER_MAX)
		drop(find_victim(guard, true));
	if (strangers(guards) > guards->facts.all_max[NEAP_HTTP_RANK_STRANGER])
		drop(find_victim(guard, false));
}

void neap_guards_make_room(struct neap_guards *guards)
{
	struct neap_guard *guard;

	for (guard = TAILQ_FIRST(&guards->list); guard; guard = TAILQ_NEXT(guard, next)) {
		if (guards->unfinished_unknown <= NEAP_HTTP_UNFINISHED_UNKNOWNS_MAX)
			return;
		if (guard->unfinished && !guard->share && !guard->is_busy)
			neap_guard_refuse(guard);
	}
}
