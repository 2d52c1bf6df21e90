/* SPDX-License-Identifier: Apache-2.0
 *
 * A connection to this machine, with one request. The first line of the answer decides;
 * the rest is read up to a limit and dropped, so that a small server does not write to a
 * closed connection. */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <event2/event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/agent/pod/probe_priv.h"
#include "engine/base/mem.h"

enum stage { CONNECTING, SENDING, READING, TRAILING, CLOSED };

struct probe_net {
	struct event_base *base;
	const struct probe_target *target;
	probe_net_done *done;
	void *arg;
	struct event *timer, *ready;
	int fd;
	enum stage stage;
	bool is_v6; /* the present address is IPv6 */
	size_t sent;
	size_t body_left; /* bytes of the body still to read */
	size_t head_len;
	/* PROBE_HEAD_MAX bytes and a NUL; NULL: not yet, or no longer needed */
	char *head;
};

static void net_ready(evutil_socket_t fd, short what, void *arg);

static void net_close(struct probe_net *net)
{
	if (net->ready)
		event_free(net->ready);
	net->ready = NULL;
	if (net->fd >= 0)
		close(net->fd);
	net->fd = -1;
	net->stage = CLOSED;
	free(net->head);
	net->head = NULL;
	if (net->timer)
		(void)event_del(net->timer);
}

/* Do not use net after this: the callback may free it. */
static void NEAP_PRINTF(2, 3) fail(struct probe_net *net, const char *fmt, ...)
{
	char why[NEAP_PROBE_TEXT_MAX], text[NEAP_PROBE_TEXT_MAX + PROBE_URL_MAX];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	if (net->target->request)
		(void)snprintf(text, sizeof(text), "Get \"%s\": %s", net->target->url,
			       why);
	else
		(void)snprintf(text, sizeof(text), "%s", why);
	net_close(net);
	net->done(net->arg, false, text);
}

static const char *address_of(const struct probe_net *net, char *buf, size_t size)
{
	(void)snprintf(buf, size, "%s:%d", net->is_v6 ? "[::1]" : "127.0.0.1",
		       net->target->port);
	return buf;
}

/* "connect: connection refused", as in kubelets' messages. */
static void fail_errno(struct probe_net *net, const char *doing, const char *call,
		       int errnum)
{
	char address[32], text[128];

	(void)snprintf(text, sizeof(text), "%s", strerror(errnum));
	text[0] = (char)tolower((unsigned char)text[0]);
	fail(net, "%s tcp %s: %s: %s", doing, address_of(net, address, sizeof(address)),
	     call, text);
}

/* --- the answer --- */

/* Where the body begins; 0: the head is incomplete. */
static size_t head_end(const struct probe_net *net)
{
	const char *at = net->head;

	while ((at = memchr(at, '\n', net->head_len - (size_t)(at - net->head)))) {
		at++;
		if (at[0] == '\n')
			return (size_t)(at + 1 - net->head);
		if (at[0] == '\r' && at[1] == '\n')
			return (size_t)(at + 2 - net->head);
	}
	return 0;
}

/* 0: not a status line. */
static int status_of(const struct probe_net *net)
{
	const char *at = net->head;
	int status = 0;

	if (strncmp(at, "HTTP/1.", 7) != 0 || !isdigit((unsigned char)at[7]) ||
	    at[8] != ' ')
		return 0;
	for (int i = 9; i < 12; i++) {
		if (!isdigit((unsigned char)at[i]))
			return 0;
		status = status * 10 + (at[i] - '0');
	}
	return !isdigit((unsigned char)at[12]) && status >= 100 ? status : 0;
}

/* How many bytes of the body are still read. */
static size_t body_of(const struct probe_net *net, size_t head_len, int status)
{
	static const char field[] = "Content-Length:";
	size_t max = PROBE_BODY_MAX, length;
	const char *at = net->head;

	if (status == 204 || status == 304)
		return 0;
	while ((at = memchr(at, '\n', head_len - (size_t)(at - net->head)))) {
		at++;
		if (strncasecmp(at, field, sizeof(field) - 1) != 0)
			continue;
		length = strtoul(at + sizeof(field) - 1, NULL, 10);
		return length < max ? length : max;
	}
	return max;
}

static void fail_malformed(struct probe_net *net)
{
	char quoted[160];
	size_t len = 0;

	for (size_t i = 0; i < net->head_len && net->head[i] != '\n' && len < 100; i++) {
		unsigned char c = (unsigned char)net->head[i];

		if (c == '\r')
			continue;
		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
			len += (size_t)snprintf(quoted + len, sizeof(quoted) - len,
						"\\x%02x", c);
		else
			quoted[len++] = (char)c;
	}
	quoted[len] = '\0';
	fail(net,
	     "net/http: HTTP/1.x transport connection broken: malformed HTTP response "
	     "\"%s\"",
	     quoted);
}

/* The result does not wait for the rest of the body, which is read if it comes. */
static void answer(struct probe_net *net, size_t head_len, int status)
{
	size_t wanted = body_of(net, head_len, status);
	size_t came = net->head_len - head_len;
	bool is_success = status >= 200 && status < 400;
	char text[64] = "";

	net->body_left = came < wanted ? wanted - came : 0;
	net->stage = TRAILING;
	free(net->head);
	net->head = NULL;
	if (net->body_left == 0)
		net_close(net);
	if (!is_success)
		(void)snprintf(text, sizeof(text),
			       "HTTP probe failed with statuscode: %d", status);
	net->done(net->arg, is_success, text);
}

/* Parses the received bytes; true: more are needed. */
static bool head_take(struct probe_net *net)
{
	for (;;) {
		size_t len;
		int status;

		net->head[net->head_len] = '\0';
		len = head_end(net);
		if (!len)
			break;
		status = status_of(net);
		if (status == 0) {
			fail_malformed(net);
			return false;
		}
		if (status >= 200 || status == 101) {
			answer(net, len, status);
			return false;
		}
		/* An interim answer ("100 Continue") is followed by another one. */
		memmove(net->head, net->head + len, net->head_len - len);
		net->head_len -= len;
	}
	if (memchr(net->head, '\n', net->head_len) && !status_of(net)) {
		fail_malformed(net);
		return false;
	}
	if (net->head_len < PROBE_HEAD_MAX)
		return true;
	fail(net, "net/http: server response headers exceeded %zu bytes; aborted",
	     PROBE_HEAD_MAX);
	return false;
}

static void net_read(struct probe_net *net)
{
	ssize_t n = recv(net->fd, net->head + net->head_len,
			 PROBE_HEAD_MAX - net->head_len, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		fail_errno(net, "read", "read", errno);
		return;
	}
	if (n == 0) {
		fail(net, net->head_len ? "unexpected EOF" : "EOF");
		return;
	}
	net->head_len += (size_t)n;
	(void)head_take(net);
}

static void net_trail(struct probe_net *net)
{
	char piece[4096];
	ssize_t n =
		recv(net->fd, piece,
		     net->body_left < sizeof(piece) ? net->body_left : sizeof(piece), 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		net->body_left -= (size_t)n;
	if (n <= 0 || net->body_left == 0)
		net_close(net);
}

/* --- the connection --- */

/* False: the loop cannot wait for it. */
static bool wait_for(struct probe_net *net, short what)
{
	if (net->ready)
		event_free(net->ready);
	net->ready = event_new(net->base, net->fd, what | EV_PERSIST, net_ready, net);
	return net->ready && event_add(net->ready, NULL) == 0;
}

/* 0: the connection is in progress; else an errno. */
static int dial(struct probe_net *net)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)net->target->port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
				  .sin6_port = htons((uint16_t)net->target->port),
				  .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	const struct sockaddr *to =
		net->is_v6 ? (const struct sockaddr *)&v6 : (const struct sockaddr *)&v4;
	socklen_t len = net->is_v6 ? sizeof(v6) : sizeof(v4);

	net->stage = CONNECTING;
	net->fd = socket(to->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (net->fd < 0)
		return errno;
	if (connect(net->fd, to, len) < 0 && errno != EINPROGRESS)
		return errno;
	return wait_for(net, EV_WRITE) ? 0 : ENOMEM;
}

/* Opens the connection, or reports the failure. */
static void net_dial(struct probe_net *net)
{
	int errnum = dial(net);

	if (errnum && !net->is_v6 && net->target->is_v6) {
		if (net->ready)
			event_free(net->ready);
		net->ready = NULL;
		if (net->fd >= 0)
			close(net->fd);
		net->is_v6 = true;
		errnum = dial(net);
	}
	if (errnum)
		fail_errno(net, "dial", net->fd < 0 ? "socket" : "connect", errnum);
}

static void net_send(struct probe_net *net)
{
	const struct probe_target *target = net->target;
	ssize_t n = send(net->fd, target->request + net->sent,
			 target->request_len - net->sent, MSG_NOSIGNAL);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		fail_errno(net, "write", "write", errno);
		return;
	}
	net->sent += (size_t)n;
	if (net->sent < target->request_len)
		return;
	net->stage = READING;
	net->head = neap_alloc(PROBE_HEAD_MAX + 1);
	if (!net->head || !wait_for(net, EV_READ))
		fail(net, "no memory");
}

/* If the port is free and the kernel chose it for our own end, the socket is connected to
 * itself. */
static bool is_own_end(const struct probe_net *net)
{
	struct sockaddr_storage own, peer;
	socklen_t own_len = sizeof(own), peer_len = sizeof(peer);

	memset(&own, 0, sizeof(own));
	memset(&peer, 0, sizeof(peer));
	return getsockname(net->fd, (struct sockaddr *)&own, &own_len) == 0 &&
	       getpeername(net->fd, (struct sockaddr *)&peer, &peer_len) == 0 &&
	       own_len == peer_len && memcmp(&own, &peer, own_len) == 0;
}

static void net_connected(struct probe_net *net)
{
	int errnum = 0;
	socklen_t len = sizeof(errnum);

	if (getsockopt(net->fd, SOL_SOCKET, SO_ERROR, &errnum, &len) < 0)
		errnum = errno;
	if (!errnum && is_own_end(net))
		errnum = ECONNREFUSED;
	if (errnum && !net->is_v6 && net->target->is_v6) {
		event_free(net->ready);
		net->ready = NULL;
		close(net->fd);
		net->fd = -1;
		net->is_v6 = true;
		net_dial(net);
	} else if (errnum) {
		fail_errno(net, "dial", "connect", errnum);
	} else if (net->target->request) {
		net->stage = SENDING;
		net_send(net);
	} else {
		net_close(net);
		net->done(net->arg, true, "");
	}
}

static void net_ready(evutil_socket_t fd, short what, void *arg)
{
	struct probe_net *net = arg;

	(void)fd;
	(void)what;
	switch (net->stage) {
	case CONNECTING:
		net_connected(net);
		break;
	case SENDING:
		net_send(net);
		break;
	case READING:
		net_read(net);
		break;
	case TRAILING:
		net_trail(net);
		break;
	case CLOSED:
		break;
	}
}

static void net_start(evutil_socket_t fd, short what, void *arg)
{
	struct probe_net *net = arg;

	(void)fd;
	(void)what;
	event_free(net->ready);
	net->ready = NULL;
	net_dial(net);
}

/* The timeout has passed. */
static void net_timer(evutil_socket_t fd, short what, void *arg)
{
	struct probe_net *net = arg;
	char address[32];

	(void)fd;
	(void)what;
	if (net->stage == TRAILING)
		net_close(net);
	else if (net->stage == CONNECTING && !net->target->request)
		fail(net, "dial tcp %s: i/o timeout",
		     address_of(net, address, sizeof(address)));
	else if (net->stage == CONNECTING)
		fail(net,
		     "dial tcp %s: i/o timeout (Client.Timeout exceeded while "
		     "awaiting headers)",
		     address_of(net, address, sizeof(address)));
	else if (net->stage != CLOSED)
		fail(net, "context deadline exceeded (Client.Timeout exceeded while "
			  "awaiting headers)");
}

void probe_net_free(struct probe_net *net)
{
	if (!net)
		return;
	net_close(net);
	if (net->timer)
		event_free(net->timer);
	free(net);
}

struct probe_net *probe_net_new(struct event_base *base,
				const struct probe_target *target, int64_t timeout_usec,
				probe_net_done *done, void *arg)
{
	static const struct timeval soon = {0};
	struct probe_net *net = neap_alloc(sizeof(*net));
	struct timeval timeout = {.tv_sec = timeout_usec / 1000000,
				  .tv_usec = timeout_usec % 1000000};

	if (!net)
		return NULL;
	net->base = base;
	net->target = target;
	net->done = done;
	net->arg = arg;
	net->fd = -1;
	net->is_v6 = !target->is_v4;
	net->timer = event_new(base, -1, 0, net_timer, net);
	/* not from within this call */
	net->ready = event_new(base, -1, 0, net_start, net);
	if (net->timer && net->ready && event_add(net->timer, &timeout) == 0 &&
	    event_add(net->ready, &soon) == 0)
		return net;
	probe_net_free(net);
	return NULL;
}
