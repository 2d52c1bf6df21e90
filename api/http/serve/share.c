/* SPDX-License-Identifier: Apache-2.0
 *
 * Shares of users: connections, watches, requests, bytes being read. A user has at most
 * its share. When several users use up all connections, the one with the most loses one
 * to a user with fewer. Admins have no share, and a reserve above the users. root and the
 * daemon's own user over the unix socket have another reserve above that. So freeze and
 * release get through, whatever others hold. */
#include <arpa/inet.h>
#include <event2/bufferevent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "api/http/serve/guard_priv.h"
#include "api/http/users/grants.h"
#include "engine/base/map.h"
#include "engine/base/mem.h"

/* --- admission ---
 *
 * Identifies the other end of a connection, and decides which connection is dropped when
 * there are too many. Strangers are counted separately: a new one is admitted and the one
 * silent longest is dropped. So a flood of connections only displaces its own kind, and
 * an operator at the same address gets in and stays. Among identified clients the new
 * connection is refused. Memory works the same way: new bytes displace the oldest
 * holders, because otherwise requests and handshakes that never end would block all
 * clients. */

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

/* Same address, or same account on the unix socket. */
static bool neap_guard_is_same_peer(const struct neap_guard *a,
				    const struct neap_guard *b)
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

/* Finds the connection that has been silent longest, is not identified and waits for no
 * answer, from the newcomer's peer or from all. If there is no other, the newcomer
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

/* Counts a refusal. */
static void guard_note_refused(struct neap_guard *guard, enum neap_http_thing thing)
{
	guard->guards->facts.refused[neap_guard_rank(guard)][thing]++;
}

static void drop(struct neap_guard *guard)
{
	guard_note_refused(guard, NEAP_HTTP_CONNECTIONS);
	neap_guard_refuse(guard);
}

/* Returns the longest silent idle connection of the user of this rank with the most of
 * them, if more than more_than; NULL: none. */
static struct neap_guard *guards_find_greedy(struct neap_guards *guards,
					     enum neap_http_rank rank, size_t more_than)
{
	const struct neap_share *greedy = NULL;
	struct neap_guard *guard;

	for (size_t i = 0; i < neap_map_count(guards->shares); i++) {
		const struct neap_share *share = neap_map_at(guards->shares, i, NULL);

		if (share->rank == rank &&
		    share->held[NEAP_HTTP_CONNECTIONS] > more_than) {
			more_than = share->held[NEAP_HTTP_CONNECTIONS];
			greedy = share;
		}
	}
	if (!greedy)
		return NULL;
	TAILQ_FOREACH(guard, &guards->list, next)
	if (guard->share == greedy && !guard->is_busy && !guard->is_refused)
		return guard;
	return NULL;
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
		guard = guards_find_greedy(guards, (enum neap_http_rank)rank, SPARED);
	if (!guard)
		return false;
	drop(guard);
	return true;
}

/* Number of identified connections. */
static size_t guards_known(const struct neap_guards *guards)
{
	size_t known = 0;

	for (int rank = NEAP_HTTP_RANK_USER; rank < NEAP_HTTP_RANK_COUNT; rank++)
		known += guards->facts.held[rank][NEAP_HTTP_CONNECTIONS];
	return known;
}

void neap_guard_admit(struct neap_guard *guard)
{
	const size_t *max = guard->guards->facts.all_max;

	if (!guard->share &&
	    strangers(guard->guards) + guards_known(guard->guards) >
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

/* --- shares --- */

/* "1:alice" */
#define KEY_SIZE (NEAP_GUARD_KEY + 2)

static const char *const rank_names[NEAP_HTTP_RANK_COUNT] = {
	[NEAP_HTTP_RANK_STRANGER] = "stranger",
	[NEAP_HTTP_RANK_USER] = "user",
	[NEAP_HTTP_RANK_ADMIN] = "admin",
	[NEAP_HTTP_RANK_LOCAL] = "local",
};

/* The things, and the option that limits each of them per user. */
static const struct {
	const char *name, *option;
	size_t max;
} things[NEAP_HTTP_THING_COUNT] = {
	[NEAP_HTTP_CONNECTIONS] = {"connections", "--user-connections",
				   NEAP_HTTP_USER_CONNECTIONS},
	[NEAP_HTTP_WATCHES] = {"watches", "--user-watches", NEAP_HTTP_USER_WATCHES},
	[NEAP_HTTP_REQUESTS] = {"requests", "--user-requests", NEAP_HTTP_USER_REQUESTS},
};

const char *neap_http_rank_name(enum neap_http_rank rank)
{
	return rank_names[rank];
}

const char *neap_http_thing_name(enum neap_http_thing thing)
{
	return things[thing].name;
}

enum neap_http_rank neap_guard_rank(const struct neap_guard *guard)
{
	return guard->share ? guard->share->rank : NEAP_HTTP_RANK_STRANGER;
}

static enum neap_http_rank rank_of(const struct neap_guard *guard,
				   enum neap_http_role role)
{
	const struct neap_http_peer *peer = &guard->peer;

	if (peer->is_unix && (peer->uid == 0 || peer->uid == guard->guards->own_uid))
		return NEAP_HTTP_RANK_LOCAL;
	return role == NEAP_HTTP_ADMIN ? NEAP_HTTP_RANK_ADMIN : NEAP_HTTP_RANK_USER;
}

/* --- shares --- */

static void make_key(const struct neap_share *share, char *key)
{
	(void)snprintf(key, KEY_SIZE, "%d%s", (int)share->rank, share->name);
}

/* Returns it with a reference, NULL without memory. */
static struct neap_share *share_ref(struct neap_guards *guards, enum neap_http_rank rank,
				    const char *name)
{
	size_t size = strnlen(name, NEAP_GUARD_KEY - 1) + 1;
	struct neap_share *share = neap_alloc(sizeof(*share) + size), *there;
	char key[KEY_SIZE];

	if (!share)
		return NULL;
	share->rank = rank;
	share->refs = 1;
	(void)neap_strcopy(share->name, size, name);
	make_key(share, key);
	there = neap_map_find(guards->shares, key);
	if (there || !neap_map_set(guards->shares, key, share)) {
		free(share);
		share = there;
		if (there)
			there->refs++;
	}
	return share;
}

static void share_unref(struct neap_guards *guards, struct neap_share *share)
{
	char key[KEY_SIZE];

	if (!share || --share->refs)
		return;
	make_key(share, key);
	(void)neap_map_remove(guards->shares, key);
	free(share);
}

/* by: 1 or -1 */
static void count(struct neap_guard *guard, enum neap_http_thing thing, int by)
{
	guard->guards->facts.held[neap_guard_rank(guard)][thing] += (size_t)by;
	if (guard->share)
		guard->share->held[thing] += (size_t)by;
}

void neap_guard_count_in(struct neap_guard *guard)
{
	guard->is_counted = true;
	count(guard, NEAP_HTTP_CONNECTIONS, 1);
}

void neap_guard_end_request(struct neap_guard *guard)
{
	if (guard->has_request)
		count(guard, NEAP_HTTP_REQUESTS, -1);
	guard->has_request = false;
}

void neap_guard_count_out(struct neap_guard *guard)
{
	neap_guard_end_request(guard);
	if (guard->is_counted)
		count(guard, NEAP_HTTP_CONNECTIONS, -1);
	guard->is_counted = false;
}

void neap_guard_leave(struct neap_guard *guard)
{
	neap_guard_count_out(guard);
	if (guard->is_of_tree)
		count(guard, NEAP_HTTP_WATCHES, -1);
	guard->is_of_tree = false;
	share_unref(guard->guards, guard->share);
	guard->share = NULL;
}

/* --- limits --- */

static bool neap_guard_may_have(struct neap_guard *guard, enum neap_http_thing thing,
				struct neap_error *err)
{
	size_t max = guard->guards->facts.user_max[thing];

	if (neap_guard_rank(guard) != NEAP_HTTP_RANK_USER ||
	    guard->share->held[thing] < max)
		return true;
	guard_note_refused(guard, thing);
	(void)neap_error_set(err, NEAP_EUNAVAILABLE,
			     "%.100s has %zu %s open, as many as one user may have: end "
			     "some, or raise %s of neapd",
			     guard->share->name, guard->share->held[thing],
			     things[thing].name, things[thing].option);
	return false;
}

/* Takes a place among the connections; without one the connection is closed. */
static void keep(struct neap_guard *guard)
{
	struct neap_guards *guards = guard->guards;
	const struct neap_share *share = guard->share;
	size_t max = guards->facts.all_max[share->rank];
	struct neap_guard *greedy;
	struct neap_error err;

	if (guards_known(guards) <= max)
		return;
	greedy = share->rank == NEAP_HTTP_RANK_USER
			 ? guards_find_greedy(guards, NEAP_HTTP_RANK_USER,
					      share->held[NEAP_HTTP_CONNECTIONS])
			 : NULL;
	guard_note_refused(greedy ? greedy : guard, NEAP_HTTP_CONNECTIONS);
	if (greedy) {
		neap_guard_refuse(greedy);
		return;
	}
	(void)neap_error_set(&err, NEAP_EUNAVAILABLE,
			     "too many connections are open: %zu", max);
	neap_guard_tell(guard, "503 Service Unavailable", "Retry-After: 1\r\n", &err);
	neap_guard_refuse(guard);
}

void neap_guard_join(struct neap_guard *guard, const struct neap_http_user *user,
		     enum neap_http_role role)
{
	enum neap_http_rank rank = rank_of(guard, role);
	struct neap_guards *guards = guard->guards;
	bool was_counted = guard->is_counted;
	size_t unfinished = guard->unfinished;
	char address[NEAP_GUARD_ACCOUNT];
	const char *name = user->name;
	struct neap_share *share;
	struct neap_error err;

	/* All clients over plain TCP, if anonymous clients have a role. */
	if (user == &neap_http_anonymous) {
		neap_guard_address(guard, address, sizeof(address));
		name = address;
	}
	if (guard->share && guard->share->rank == rank &&
	    strncmp(guard->share->name, name, NEAP_GUARD_KEY - 1) == 0)
		return;
	share = share_ref(guards, rank, name);
	if (!share)
		return; /* it stays a stranger, with those limits */
	neap_guard_set_unfinished(guard, 0);
	neap_guard_leave(guard);
	guard->share = share;
	neap_guard_set_unfinished(guard, unfinished);
	explicit_bzero(guard->line, sizeof(guard->line)); /* it may have the token */
	if (!was_counted)
		return;
	if (!neap_guard_may_have(guard, NEAP_HTTP_CONNECTIONS, &err)) {
		neap_guard_tell(guard, "429 Too Many Requests", "Retry-After: 1\r\n",
				&err);
		neap_guard_refuse(guard);
		return;
	}
	neap_guard_count_in(guard);
	keep(guard);
}

bool neap_guard_take_request(struct neap_guard *guard, struct neap_error *err)
{
	if (!neap_guard_may_have(guard, NEAP_HTTP_REQUESTS, err))
		return false;
	if (guard->is_counted && !guard->has_request) {
		guard->has_request = true;
		count(guard, NEAP_HTTP_REQUESTS, 1);
	}
	return true;
}

static int all_taken(struct neap_error *err, size_t max)
{
	(void)neap_error_set(err, NEAP_EUNAVAILABLE, "too many streams are open: %zu",
			     max);
	return 503;
}

/* Admins may have some more. */
static size_t streams_max(const struct neap_guard *guard, size_t max, size_t reserve)
{
	return neap_guard_rank(guard) > NEAP_HTTP_RANK_USER ? max + reserve : max;
}

static size_t count_streams(const struct neap_guard *of)
{
	const struct neap_guard *guard;
	bool is_user = neap_guard_rank(of) == NEAP_HTTP_RANK_USER;
	size_t held = 0;

	TAILQ_FOREACH(guard, &of->guards->list, next)
	if (!guard->is_refused && guard->is_stream && !guard->is_of_tree)
		held += is_user ? guard->share == of->share
				: neap_guard_is_same_peer(guard, of);
	return held;
}

int neap_guard_take_stream(struct neap_guard *guard, const struct neap_http_tree *tree,
			   struct neap_error *err)
{
	struct neap_guards *guards = guard->guards;
	size_t max;

	if (guard->is_refused)
		return all_taken(err, 0);
	if (tree && guard->share) {
		max = streams_max(guard, tree->streams_max, NEAP_HTTP_RESERVE);
		if (!neap_guard_may_have(guard, NEAP_HTTP_WATCHES, err))
			return 429;
		if (guards->tree_streams >= max) {
			guard_note_refused(guard, NEAP_HTTP_WATCHES);
			return all_taken(err, max);
		}
		guard->is_of_tree = true;
		guards->tree_streams++;
		count(guard, NEAP_HTTP_WATCHES, 1);
	} else {
		max = streams_max(guard, NEAP_HTTP_STREAMS_MAX,
				  NEAP_HTTP_STREAMS_RESERVE);
		if (guards->streams >= max)
			return all_taken(err, max);
		if (count_streams(guard) >= NEAP_HTTP_STREAMS_PEER_MAX) {
			(void)neap_error_set(
				err, NEAP_EUNAVAILABLE,
				"too many streams of one client are open: %d",
				NEAP_HTTP_STREAMS_PEER_MAX);
			return 429;
		}
		guards->streams++;
	}
	guard->is_stream = true;
	return 0;
}

static size_t min(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Each connection needs a descriptor. Half of the descriptors are reserved for other
 * uses. */
void neap_guards_set_limits(struct neap_guards *guards,
			    const struct neap_http_limits *limits)
{
	struct neap_http_shares *facts = &guards->facts;
	struct rlimit limit = {.rlim_cur = 0};
	size_t room, reserve, known;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		limit.rlim_cur = limit.rlim_cur == RLIM_INFINITY ? 1 << 20 : 256;
	room = (size_t)limit.rlim_cur / 2;
	room -= min(NEAP_HTTP_OTHER_FDS, room / 4);
	known = limits->known_max ? limits->known_max : NEAP_HTTP_KNOWN_MAX;
	facts->all_max[NEAP_HTTP_RANK_STRANGER] =
		min(min(NEAP_HTTP_CONNECTIONS_MAX, known), room / 4);
	reserve = min(min(NEAP_HTTP_RESERVE, known), room / 8);
	known = min(known, room - facts->all_max[NEAP_HTTP_RANK_STRANGER] - reserve);
	facts->all_max[NEAP_HTTP_RANK_USER] = known;
	facts->all_max[NEAP_HTTP_RANK_ADMIN] = known + reserve / 2;
	facts->all_max[NEAP_HTTP_RANK_LOCAL] = known + reserve;
	for (int thing = 0; thing < NEAP_HTTP_THING_COUNT; thing++)
		facts->user_max[thing] = limits->user_max[thing] ? limits->user_max[thing]
								 : things[thing].max;
}
