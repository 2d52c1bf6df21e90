/* SPDX-License-Identifier: Apache-2.0
 *
 * The guard's part of TLS. Until the handshake is done, its bytes count as a stranger's
 * unfinished request. The length claimed by the client's hello counts too, because
 * OpenSSL allocates up to 128 KiB for it at once. The time limit of a request runs from
 * accept, so it ends an endless handshake too. */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <string.h>
#include <sys/socket.h>

#include "api/http/serve/guard_priv.h"

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

void neap_guard_handshake_start(struct neap_guard *guard)
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

void neap_guard_handshake_end(struct neap_guard *guard)
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
