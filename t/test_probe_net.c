/* SPDX-License-Identifier: Apache-2.0
 *
 * Probes of servers that answer well, badly, slowly or not at all. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "t/lib/probe_rig.h"

enum manner { SAYS_AND_CLOSES, SAYS_AND_STAYS, RESETS };

struct server {
	int fd, port;
	struct event *event;
	const char *reply;
	size_t repeat; /* of the reply's last byte: that many in all */
	enum manner manner;
	int client; /* the last one; -1 */
	struct event *heard;
	size_t left;
	char asked[1024];
	bool was_cut; /* writing failed */
};

static void say_more(struct server *server)
{
	static char filler[4096];

	memset(filler, 'x', sizeof(filler));
	while (server->left > 0) {
		ssize_t n = send(server->client, filler,
				 server->left < sizeof(filler) ? server->left
							       : sizeof(filler),
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0)
			server->was_cut = true;
		if (n <= 0)
			break;
		server->left -= (size_t)n;
	}
}

static void client_heard(evutil_socket_t fd, short what, void *arg)
{
	struct server *server = arg;
	struct linger linger = {.l_onoff = 1};
	size_t len = strlen(server->asked);
	ssize_t n = recv(fd, server->asked + len, sizeof(server->asked) - 1 - len, 0);

	(void)what;
	if (n > 0) {
		server->asked[len + (size_t)n] = '\0';
		if (!strstr(server->asked, "\r\n\r\n"))
			return;
		if (server->manner == RESETS)
			(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger,
					 sizeof(linger));
		(void)send(fd, server->reply, strlen(server->reply), MSG_NOSIGNAL);
		server->left = server->repeat;
		say_more(server);
		if (server->manner == SAYS_AND_STAYS)
			return;
	}
	event_free(server->heard);
	server->heard = NULL;
	close(fd);
	server->client = -1;
}

static void client_comes(evutil_socket_t fd, short what, void *arg)
{
	struct server *server = arg;
	int client = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	(void)what;
	if (client < 0)
		return;
	if (server->heard) {
		event_free(server->heard);
		close(server->client);
	}
	server->asked[0] = '\0';
	server->client = client;
	server->heard = event_new(probe_world.base, client, EV_READ | EV_PERSIST,
				  client_heard, server);
	assert_non_null(server->heard);
	assert_int_equal(event_add(server->heard, NULL), 0);
}

static bool server_start(struct server *server, int family)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
				  .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	struct sockaddr *addr =
		family == AF_INET ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6;
	socklen_t len = family == AF_INET ? sizeof(v4) : sizeof(v6);

	server->client = -1;
	server->fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (server->fd < 0 || bind(server->fd, addr, len) < 0)
		return false;
	assert_int_equal(listen(server->fd, 8), 0);
	assert_int_equal(getsockname(server->fd, addr, &len), 0);
	server->port = ntohs(family == AF_INET ? v4.sin_port : v6.sin6_port);
	server->event = event_new(probe_world.base, server->fd, EV_READ | EV_PERSIST,
				  client_comes, server);
	assert_int_equal(event_add(server->event, NULL), 0);
	return true;
}

static void server_stop(struct server *server)
{
	if (server->heard) {
		event_free(server->heard);
		close(server->client);
	}
	if (server->event)
		event_free(server->event);
	if (server->fd >= 0)
		close(server->fd);
}

#define OK_200 "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define GET_   "Readiness probe failed: Get \"http://127.0.0.1:%d/\": "

static const struct {
	const char *name, *reply;
	size_t repeat;
	enum manner manner;
	const char *text; /* of a failure, %d is the port; NULL: well */
	bool is_quick;    /* it is to run out of time */
} servers[] = {
	{"well", OK_200, 0, SAYS_AND_CLOSES, NULL, false},
	{"well, and stays", OK_200, 0, SAYS_AND_STAYS, NULL, false},
	{"without a length", "HTTP/1.1 200 OK\r\n\r\nhello", 0, SAYS_AND_STAYS, NULL,
	 false},
	{"HTTP/1.0, lines without CR", "HTTP/1.0 204 none\n\n", 0, SAYS_AND_CLOSES, NULL,
	 false},
	{"no reason", "HTTP/1.1 200\r\n\r\n", 0, SAYS_AND_CLOSES, NULL, false},
	{"399", "HTTP/1.1 399 x\r\n\r\n", 0, SAYS_AND_CLOSES, NULL, false},
	{"a redirect is not followed",
	 "HTTP/1.1 302 x\r\nLocation: http://192.0.2.1/\r\n\r\n", 0, SAYS_AND_CLOSES,
	 NULL, false},
	{"one that only tells of more",
	 "HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", 0,
	 SAYS_AND_CLOSES, NULL, false},
	{"a huge body", "HTTP/1.1 200 OK\r\n\r\n", 8 << 20, SAYS_AND_STAYS, NULL, false},
	{"503", "HTTP/1.1 503 x\r\nContent-Length: 3\r\n\r\nbad", 0, SAYS_AND_CLOSES,
	 "Readiness probe failed: HTTP probe failed with statuscode: 503", false},
	{"400", "HTTP/1.1 400 x\r\n\r\n", 0, SAYS_AND_CLOSES,
	 "Readiness probe failed: HTTP probe failed with statuscode: 400", false},
	{"101", "HTTP/1.1 101 x\r\n\r\n", 0, SAYS_AND_CLOSES,
	 "Readiness probe failed: HTTP probe failed with statuscode: 101", false},
	{"says nothing and closes", "", 0, SAYS_AND_CLOSES, GET_ "EOF", false},
	{"closes within the head", "HTTP/1.1 200 OK\r\nA: ", 0, SAYS_AND_CLOSES,
	 GET_ "unexpected EOF", false},
	{"resets", "", 0, RESETS,
	 GET_ "read tcp 127.0.0.1:%d: read: connection reset by peer", false},
	{"no HTTP", "SSH-2.0-\"x\"\r\n", 0, SAYS_AND_STAYS,
	 GET_ "net/http: HTTP/1.x transport connection broken: malformed HTTP response "
	      "\"SSH-2.0-\\x22x\\x22\"",
	 false},
	{"a status that is none", "HTTP/1.1 20x OK\r\n\r\n", 0, SAYS_AND_STAYS,
	 GET_ "net/http: HTTP/1.x transport connection broken: malformed HTTP response "
	      "\"HTTP/1.1 20x OK\"",
	 false},
	{"a huge head", "HTTP/1.1 200 OK\r\nA: ", 100000, SAYS_AND_STAYS,
	 GET_ "net/http: server response headers exceeded 16384 bytes; aborted", false},
	{"a line without an end", "", 100000, SAYS_AND_STAYS,
	 GET_ "net/http: server response headers exceeded 16384 bytes; aborted", false},
	{"slow", "", 0, SAYS_AND_STAYS,
	 GET_
	 "context deadline exceeded (Client.Timeout exceeded while awaiting headers)",
	 true},
	{"slow within the head", "HTTP/1.1 200 OK\r\n", 0, SAYS_AND_STAYS,
	 GET_
	 "context deadline exceeded (Client.Timeout exceeded while awaiting headers)",
	 true},
};

static void each_server(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(servers); i++) {
		struct server server = {.reply = servers[i].reply,
					.repeat = servers[i].repeat,
					.manner = servers[i].manner};
		char want[512], spec[160];

		probe_rig_init(NULL, "");
		assert_true(server_start(&server, AF_INET));
		(void)snprintf(spec, sizeof(spec),
			       "{'httpGet':{'port':%d},'periodSeconds':1,"
			       "'timeoutSeconds':%d,'failureThreshold':1}",
			       server.port, servers[i].is_quick ? 20 : 2000);
		probe_rig_begin(NEAP_PROBE_READINESS, probe_rig_json(spec));
		UNTIL(probe_world.count >= 1);
		if (servers[i].text) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
			(void)snprintf(want, sizeof(want), servers[i].text, server.port,
				       server.port);
#pragma GCC diagnostic pop
			if (probe_world.told[0] != 'F' ||
			    strcmp(probe_world.text, want) != 0)
				fail_msg("%s: %s '%s'", servers[i].name, probe_world.told,
					 probe_world.text);
		} else if (probe_world.told[0] != 'S' || *probe_world.text) {
			fail_msg("%s: %s '%s'", servers[i].name, probe_world.told,
				 probe_world.text);
		}
		/* And again, while it may still be reading what followed. */
		if (servers[i].text && !servers[i].is_quick)
			UNTIL(probe_world.count >= 2);
		else if (!servers[i].text)
			probe_rig_run(25);
		if (probe_world.told[probe_world.count - 1] != probe_world.told[0])
			fail_msg("%s: %s", servers[i].name, probe_world.told);
		probe_rig_done();
		server_stop(&server);
	}
}

/* A small server can say all that it has to say. */
static void server_is_not_cut(void **state)
{
	struct server server = {.reply = "HTTP/1.1 200 OK\r\n\r\n",
				.repeat = 5000,
				.manner = SAYS_AND_STAYS};
	char spec[128];

	(void)state;
	probe_rig_init(NULL, "");
	assert_true(server_start(&server, AF_INET));
	(void)snprintf(spec, sizeof(spec),
		       "{'httpGet':{'port':%d},'periodSeconds':1000000,"
		       "'timeoutSeconds':2000}",
		       server.port);
	probe_rig_begin(NEAP_PROBE_READINESS, probe_rig_json(spec));
	UNTIL(probe_world.count == 1);
	server.left = 2000; /* after the verdict */
	say_more(&server);
	assert_false(server.was_cut);
	assert_non_null(strstr(server.asked, "GET / HTTP/1.1\r\n"));
	probe_rig_done();
	server_stop(&server);
}

static void connections(void **state)
{
	static const struct {
		const char *name, *host;
		int family; /* of who listens; 0: nobody */
		const char *text;
	} cases[] = {
		{"listens", "", AF_INET, NULL},
		{"listens, by name", "localhost", AF_INET, NULL},
		{"IPv6", "::1", AF_INET6, NULL},
		{"IPv6 alone, by name", "localhost", AF_INET6, NULL},
		{"nobody", "", 0,
		 "Liveness probe failed: dial tcp 127.0.0.1:%d: connect: connection "
		 "refused"},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(cases); i++) {
		struct server server = {.reply = ""};
		char spec[160], want[128];
		bool has_one;

		probe_rig_init(NULL, "");
		has_one = server_start(&server,
				       cases[i].family ? cases[i].family : AF_INET);
		if (!has_one) {
			print_message("# %s: not on this machine\n", cases[i].name);
			probe_rig_done();
			server_stop(&server);
			continue;
		}
		if (!cases[i].family) {
			event_free(server.event);
			close(server.fd);
			server.event = NULL;
			server.fd = -1;
		}
		(void)snprintf(spec, sizeof(spec),
			       "{'tcpSocket':{'port':%d,'host':'%s'},'periodSeconds':1,"
			       "'timeoutSeconds':2000,'failureThreshold':2}",
			       server.port, cases[i].host);
		/* Success is told of by a readiness probe, as it is unready at first. */
		probe_rig_begin(cases[i].text ? NEAP_PROBE_LIVENESS
					      : NEAP_PROBE_READINESS,
				probe_rig_json(spec));
		UNTIL(probe_world.count >= (cases[i].text ? 2 : 1));
		if (cases[i].text) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
			(void)snprintf(want, sizeof(want), cases[i].text, server.port);
#pragma GCC diagnostic pop
			assert_string_equal(probe_world.text, want);
			assert_string_equal(probe_world.told, "SF");
			probe_rig_run(25); /* it has done its work */
			assert_int_equal(probe_world.count, 2);
		} else if (strcmp(probe_world.told, "S") != 0) {
			fail_msg("%s: %s %s", cases[i].name, probe_world.told,
				 probe_world.text);
		}
		probe_rig_done();
		server_stop(&server);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_server),
		cmocka_unit_test(server_is_not_cut),
		cmocka_unit_test(connections),
	};

	neap_json_setup();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
