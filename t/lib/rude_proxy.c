/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/rude_proxy.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/queue.h>

#include <cmocka.h>

#include "engine/base/mem.h"

struct wire {
	TAILQ_ENTRY(wire) link;
	struct rude_proxy *proxy;
	struct bufferevent *client, *server; /* server NULL: no request was passed yet */
	enum rude_fate fate;                 /* of the present request */
	size_t left;                         /* of RUDE_CUT: bytes until the end */
	bool is_mute;                        /* of RUDE_LOSE */
};

TAILQ_HEAD(wires, wire);

struct rude_proxy {
	struct event_base *base;
	struct evconnlistener *listener;
	int server_port, port, rude;
	uint64_t random;
	bool is_hanging, is_refusing;
	int taken;
	int counts[RUDE_FATES];
	struct wires wires;
};

static uint64_t draw(struct rude_proxy *proxy)
{
	proxy->random ^= proxy->random << 13;
	proxy->random ^= proxy->random >> 7;
	proxy->random ^= proxy->random << 17;
	return proxy->random;
}

static void wire_free(struct wire *wire)
{
	TAILQ_REMOVE(&wire->proxy->wires, wire, link);
	bufferevent_free(wire->client);
	if (wire->server != NULL)
		bufferevent_free(wire->server);
	free(wire);
}

/* --- answers --- */

static void from_server(struct bufferevent *server, void *arg)
{
	struct wire *wire = arg;
	struct evbuffer *in = bufferevent_get_input(server);
	size_t len = evbuffer_get_length(in);
	char bytes[4096];

	if (wire->is_mute) {
		(void)evbuffer_drain(in, len);
		wire_free(wire);
		return;
	}
	while ((len = evbuffer_get_length(in)) > 0) {
		size_t piece = 1 + draw(wire->proxy) % sizeof(bytes);
		int got;

		if (wire->fate == RUDE_CUT && piece > wire->left)
			piece = wire->left;
		got = evbuffer_remove(in, bytes, piece);
		if (got > 0)
			(void)bufferevent_write(wire->client, bytes, (size_t)got);
		if (wire->fate != RUDE_CUT)
			continue;
		wire->left -= got > 0 ? (size_t)got : 0;
		if (wire->left == 0) {
			(void)bufferevent_flush(wire->client, EV_WRITE, BEV_FLUSH);
			wire_free(wire);
			return;
		}
	}
}

static void server_ended(struct bufferevent *server, short what, void *arg)
{
	(void)server;
	if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
		wire_free(arg);
}

static const char *const answers[RUDE_FATES] = {
	[RUDE_BUSY] = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 0\r\n"
		      "Content-Length: 0\r\n\r\n",
	[RUDE_LATER] = "HTTP/1.1 503 Service Unavailable\r\n"
		       "Retry-After: Wed, 21 Oct 2026 07:28:00 GMT\r\n"
		       "Content-Length: 0\r\n\r\n",
	[RUDE_BROKEN] = "HTTP/1.1 500 Internal Server Error\r\n"
			"Content-Length: 0\r\n\r\n",
	[RUDE_PAGE] = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
		      "Content-Length: 27\r\n\r\n<html><body>Hello!</body>  ",
	[RUDE_PARTIAL] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
			 "Content-Length: 18\r\n\r\n{\"kind\":\"PodList\",",
	[RUDE_OLD] = "HTTP/1.1 410 Gone\r\nContent-Type: application/json\r\n"
		     "Content-Length: 95\r\n\r\n"
		     "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Expired\","
		     "\"message\":\"too old\",\"code\":410}         ",
};

/* --- requests --- */

/* Bytes of the first request, with its body; 0: it is not whole. */
static size_t request_length(struct evbuffer *in, bool *ret_is_get)
{
	size_t len = evbuffer_get_length(in), body = 0;
	const char *text = (const char *)evbuffer_pullup(in, -1), *end, *at;

	end = len > 0 ? memmem(text, len, "\r\n\r\n", 4) : NULL;
	if (end == NULL)
		return 0;
	*ret_is_get = strncmp(text, "GET ", 4) == 0;
	for (at = text; at < end; at++)
		if (strncasecmp(at, "\ncontent-length:", 16) == 0)
			body = strtoul(at + 16, NULL, 10);
	body += (size_t)(end + 4 - text);
	return body <= len ? body : 0;
}

static enum rude_fate draw_fate(struct rude_proxy *proxy, bool is_get)
{
	enum rude_fate fate;

	if ((int)(draw(proxy) % 1000) >= proxy->rude)
		return RUDE_PASS;
	fate = (enum rude_fate)(1 + draw(proxy) % (RUDE_FATES - 1));
	/* A proxy's page in place of a write's answer: what a client cannot tell from
	 * success is not asked of it. */
	if (!is_get && (fate == RUDE_OLD || fate == RUDE_PAGE || fate == RUDE_PARTIAL))
		return RUDE_BROKEN;
	return fate;
}

static void pass(struct wire *wire, struct evbuffer *in, size_t len)
{
	const struct sockaddr_in to = {.sin_family = AF_INET,
				       .sin_port =
					       htons((uint16_t)wire->proxy->server_port),
				       .sin_addr = {htonl(INADDR_LOOPBACK)}};
	struct evbuffer *request = evbuffer_new();

	assert_non_null(request);
	(void)evbuffer_remove_buffer(in, request, len);
	if (wire->server == NULL) {
		wire->server = bufferevent_socket_new(wire->proxy->base, -1,
						      BEV_OPT_CLOSE_ON_FREE);
		assert_non_null(wire->server);
		bufferevent_setcb(wire->server, from_server, NULL, server_ended, wire);
		assert_int_equal(bufferevent_socket_connect(
					 wire->server, (const void *)&to, sizeof(to)),
				 0);
		(void)bufferevent_enable(wire->server, EV_READ | EV_WRITE);
	}
	(void)bufferevent_write_buffer(wire->server, request);
	evbuffer_free(request);
}

static void from_client(struct bufferevent *client, void *arg)
{
	struct wire *wire = arg;
	struct evbuffer *in = bufferevent_get_input(client);
	bool is_get = false;
	size_t len = wire->proxy->is_hanging ? 0 : request_length(in, &is_get);

	if (len == 0)
		return;
	wire->fate = draw_fate(wire->proxy, is_get);
	wire->proxy->counts[wire->fate]++;
	switch (wire->fate) {
	case RUDE_CLOSE:
		wire_free(wire);
		return;
	case RUDE_PASS:
		break;
	case RUDE_CUT:
		wire->left = 1 + draw(wire->proxy) % 2000;
		break;
	case RUDE_LOSE:
		wire->is_mute = true;
		break;
	default:
		(void)evbuffer_drain(in, len);
		(void)bufferevent_write(client, answers[wire->fate],
					strlen(answers[wire->fate]));
		return;
	}
	pass(wire, in, len);
}

static void client_ended(struct bufferevent *client, short what, void *arg)
{
	(void)client;
	if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
		wire_free(arg);
}

static void accepted(struct evconnlistener *listener, evutil_socket_t fd,
		     struct sockaddr *address, int len, void *arg)
{
	struct rude_proxy *proxy = arg;
	struct wire *wire;

	(void)listener;
	(void)address;
	(void)len;
	proxy->taken++;
	if (proxy->is_refusing) {
		(void)evutil_closesocket(fd);
		return;
	}
	wire = neap_alloc(sizeof(*wire));
	assert_non_null(wire);
	wire->proxy = proxy;
	wire->client = bufferevent_socket_new(proxy->base, fd, BEV_OPT_CLOSE_ON_FREE);
	assert_non_null(wire->client);
	bufferevent_setcb(wire->client, from_client, NULL, client_ended, wire);
	TAILQ_INSERT_TAIL(&proxy->wires, wire, link);
	(void)bufferevent_enable(wire->client, EV_READ | EV_WRITE);
}

/* --- its life --- */

struct rude_proxy *rude_proxy_new(struct event_base *base, int port, uint64_t seed,
				  int rude)
{
	struct rude_proxy *proxy = neap_alloc(sizeof(*proxy));
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof(address);

	assert_non_null(proxy);
	*proxy = (struct rude_proxy){.base = base,
				     .server_port = port,
				     .rude = rude,
				     .random = seed * 0x9e3779b97f4a7c15u + 1};
	TAILQ_INIT(&proxy->wires);
	proxy->listener =
		evconnlistener_new_bind(base, accepted, proxy, LEV_OPT_CLOSE_ON_FREE, 64,
					(struct sockaddr *)&address, len);
	assert_non_null(proxy->listener);
	assert_int_equal(getsockname(evconnlistener_get_fd(proxy->listener),
				     (struct sockaddr *)&address, &len),
			 0);
	proxy->port = ntohs(address.sin_port);
	return proxy;
}

int rude_proxy_port(const struct rude_proxy *proxy)
{
	return proxy->port;
}

void rude_proxy_calm(struct rude_proxy *proxy)
{
	proxy->rude = 0;
}

void rude_proxy_cut_all(struct rude_proxy *proxy)
{
	while (!TAILQ_EMPTY(&proxy->wires))
		wire_free(TAILQ_FIRST(&proxy->wires));
}

void rude_proxy_hang(struct rude_proxy *proxy, bool is_hanging)
{
	struct wire *wire, *next;

	proxy->is_hanging = is_hanging;
	for (wire = TAILQ_FIRST(&proxy->wires); wire != NULL && !is_hanging;
	     wire = next) {
		next = TAILQ_NEXT(wire, link);
		from_client(wire->client, wire);
	}
}

void rude_proxy_refuse(struct rude_proxy *proxy, bool is_refusing)
{
	proxy->is_refusing = is_refusing;
}

int rude_proxy_taken(const struct rude_proxy *proxy)
{
	return proxy->taken;
}

const int *rude_proxy_counts(const struct rude_proxy *proxy)
{
	return proxy->counts;
}

void rude_proxy_free(struct rude_proxy *proxy)
{
	rude_proxy_cut_all(proxy);
	evconnlistener_free(proxy->listener);
	free(proxy);
}
