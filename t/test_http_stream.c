/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams: what is sent arrives, a slow reader is skipped and then cut off, and whoever
 * goes is noticed exactly once. */
#include <event2/event.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/http/server.h"
#include "engine/base/mem.h"
#include "t/lib/http.h"
#include "t/lib/patience.h"

#define PIECE (64 * 1024)

/* --- the server's side --- */

struct watcher {
	struct watcher *next, **prev;
	struct neap_http_stream *stream;
};

static struct {
	struct watcher *watchers;
	int started, gone, refused, sent, skipped;
	char piece[PIECE];
} hub;

static void watcher_free(struct watcher *watcher)
{
	*watcher->prev = watcher->next;
	if (watcher->next)
		watcher->next->prev = watcher->prev;
	free(watcher);
}

static void gone(void *arg)
{
	hub.gone++;
	watcher_free(arg);
}

static void start_stream(void *arg, struct neap_http_request *request)
{
	struct watcher *watcher = neap_alloc(sizeof(*watcher));

	(void)arg;
	watcher->stream =
		neap_http_stream_start_take(request, "text/event-stream", gone, watcher);
	if (!watcher->stream) {
		hub.refused++;
		free(watcher);
		return;
	}
	hub.started++;
	watcher->next = hub.watchers;
	watcher->prev = &hub.watchers;
	if (watcher->next)
		watcher->next->prev = &watcher->next;
	hub.watchers = watcher;
}

/* Sends a piece of n bytes to everybody, times times. */
static void send_all(void *arg, struct neap_http_request *request)
{
	size_t n = strtoul(neap_http_query_find(request, "n"), NULL, 10);
	int times = (int)strtol(neap_http_query_find(request, "times"), NULL, 10);
	struct watcher *watcher;

	(void)arg;
	memset(hub.piece, 'p', sizeof(hub.piece));
	while (times-- > 0)
		for (watcher = hub.watchers; watcher; watcher = watcher->next) {
			if (neap_http_stream_send(watcher->stream, hub.piece, n))
				hub.sent++;
			else
				hub.skipped++;
		}
	neap_http_answer_json_take(request, 200, json_object());
}

static void end_all(void *arg, struct neap_http_request *request)
{
	(void)arg;
	while (hub.watchers) {
		neap_http_stream_end(hub.watchers->stream);
		watcher_free(hub.watchers);
	}
	neap_http_answer_json_take(request, 200, json_object());
}

static void stats(void *arg, struct neap_http_request *request)
{
	(void)arg;
	neap_http_answer_json_take(request, 200,
				   json_pack("{s:i, s:i, s:i, s:i, s:i}", "started",
					     hub.started, "gone", hub.gone, "refused",
					     hub.refused, "sent", hub.sent, "skipped",
					     hub.skipped));
}

static const struct neap_http_route routes[] = {
	{"GET", "/stream", NEAP_HTTP_READER, start_stream},
	{"POST", "/send", NEAP_HTTP_READER, send_all},
	{"POST", "/end", NEAP_HTTP_READER, end_all},
	{"GET", "/stats", NEAP_HTTP_READER, stats},
	{0},
};

static void setup(struct neap_http *http, struct event_base *base)
{
	struct neap_error err;

	(void)base;
	neap_http_add_routes(http, routes, NULL, &err);
}

static int start(void **state)
{
	struct http_server *server = neap_alloc(sizeof(*server));

	http_server_start(server, 2, setup);
	*state = server;
	return 0;
}

static int stop(void **state)
{
	http_server_stop(*state);
	free(*state);
	return 0;
}

/* --- the client's side --- */

static int stat_of(const struct http_server *server, const char *name)
{
	char answer[4096], key[32];
	const char *at;

	http_ask(server, GET("/stats") "\r\n", answer, sizeof(answer));
	snprintf(key, sizeof(key), "\"%s\":", name);
	at = strstr(answer, key);
	assert_non_null(at);
	return (int)strtol(at + strlen(key), NULL, 10);
}

/* The server sees the end of a connection in a later turn of its loop. */
static void expect_stat(const struct http_server *server, const char *name, int want)
{
	int got = -1;

	if (!comes_true((got = stat_of(server, name)) == want))
		fail_msg("%s is %d, not %d", name, got, want);
}

static int open_stream(const struct http_server *server)
{
	const char request[] = GET("/stream") "\r\n";
	int fd = http_dial(server);

	http_say(fd, request, strlen(request));
	return fd;
}

static void post(const struct http_server *server, const char *path)
{
	char request[256], answer[4096];

	snprintf(request, sizeof(request),
		 "POST %s HTTP/1.1\r\n" HOST AUTH "Content-Length: 0\r\n\r\n", path);
	http_ask(server, request, answer, sizeof(answer));
	assert_non_null(strstr(answer, " 200 "));
}

static void test_arrives(void **state)
{
	char answer[8192];
	int fd = open_stream(*state), old = http_dial(*state);
	const char old_request[] = "GET /stream HTTP/1.0\r\n" AUTH "\r\n";

	http_say(old, old_request, strlen(old_request));
	expect_stat(*state, "started", 2);
	post(*state, "/send?n=5&times=2");
	post(*state, "/send?n=0&times=1"); /* would end a chunked answer */
	post(*state, "/send?n=3&times=1");
	post(*state, "/end");
	assert_true(http_hear_end(fd, answer, sizeof(answer)));
	assert_non_null(strstr(answer, "Content-Type: text/event-stream\r\n"));
	assert_non_null(strstr(answer, "Connection: close\r\n"));
	assert_null(strstr(answer, "Content-Length"));
	assert_non_null(strstr(
		answer, "\r\n\r\n5\r\nppppp\r\n5\r\nppppp\r\n3\r\nppp\r\n0\r\n\r\n"));
	assert_true(http_hear_end(old, answer, sizeof(answer)));
	assert_non_null(strstr(answer, "\r\n\r\nppppppppppppp"));
	close(fd);
	close(old);
	assert_int_equal(stat_of(*state, "gone"), 0); /* they were ended */
}

static void test_head(void **state)
{
	const char request[] = "HEAD /stream HTTP/1.1\r\n" HOST AUTH "\r\n";
	char answer[4096], more[64];
	int fd = http_dial(*state);

	http_say(fd, request, strlen(request));
	assert_true(http_hear_text(fd, answer, sizeof(answer), "\r\n\r\n"));
	assert_false(http_hear(fd, more, sizeof(more), 100)); /* stays open */
	assert_non_null(strstr(answer, " 200 "));
	assert_non_null(strstr(answer, "text/event-stream"));
	assert_null(strstr(answer, "Content-Length"));
	close(fd);
	assert_int_equal(stat_of(*state, "started"), 0);
}

static void test_caps(void **state)
{
	static const char request[] = GET("/stream") "\r\n";
	enum { ALL = NEAP_HTTP_STREAMS_MAX + NEAP_HTTP_STREAMS_RESERVE }; /* of admins */
	int fds[NEAP_HTTP_STREAMS_PEER_MAX], others[ALL], i;
	char answer[4096], from[32];

	for (i = 0; i < NEAP_HTTP_STREAMS_PEER_MAX; i++)
		fds[i] = open_stream(*state);
	expect_stat(*state, "started", NEAP_HTTP_STREAMS_PEER_MAX);
	http_ask(*state, request, answer, sizeof(answer));
	assert_non_null(strstr(answer, " 429 "));
	assert_non_null(strstr(answer, "Retry-After: 10\r\n"));
	/* A place comes free with the stream. */
	close(fds[0]);
	expect_stat(*state, "gone", 1);
	fds[0] = open_stream(*state);
	expect_stat(*state, "started", NEAP_HTTP_STREAMS_PEER_MAX + 1);
	/* Others have places of their own, until there are none. */
	for (i = 0; i < ALL; i++) {
		snprintf(from, sizeof(from), "127.0.0.%d", 2 + i / 4);
		others[i] = http_dial_from(*state, from);
		assert_true(others[i] >= 0);
		http_say(others[i], request, strlen(request));
	}
	expect_stat(*state, "started", ALL + 1);
	expect_stat(*state, "refused", NEAP_HTTP_STREAMS_PEER_MAX + 1);
	for (i = 0; i < ALL; i++)
		close(others[i]);
	for (i = 0; i < NEAP_HTTP_STREAMS_PEER_MAX; i++)
		close(fds[i]);
	expect_stat(*state, "gone", ALL + 1);
}

static void test_vanishes(void **state)
{
	struct linger hard = {.l_onoff = 1};
	int polite = open_stream(*state), rude = open_stream(*state);

	expect_stat(*state, "started", 2);
	close(polite);
	expect_stat(*state, "gone", 1);
	setsockopt(rude, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	close(rude); /* a reset */
	expect_stat(*state, "gone", 2);
	post(*state, "/send?n=5&times=3");
	assert_int_equal(stat_of(*state, "sent"), 0);
}

static void drain(int fd, char *to)
{
	while (!http_hear(fd, to, 64 * PIECE, 20) && strlen(to) == 64 * PIECE - 1)
		;
}

static void test_slow_reader(void **state)
{
	int slow = open_stream(*state), fast, i;
	neap_auto_free char *answer = neap_alloc(64 * PIECE);

	expect_stat(*state, "started", 1);
	/* The kernel takes a few megabytes, then they stay with the server. */
	for (i = 0; i < 1000 && stat_of(*state, "skipped") == 0; i++)
		post(*state, "/send?n=65536&times=4");
	assert_in_range(stat_of(*state, "skipped"), 1, 4);
	assert_int_equal(stat_of(*state, "gone"), 0);
	/* Once it reads again it is served again, and the skips are forgotten. */
	i = stat_of(*state, "sent");
	assert_true(comes_true((drain(slow, answer), post(*state, "/send?n=5&times=1"),
				stat_of(*state, "sent") > i)));
	/* Too many in a row, and it is cut off; nobody else is. */
	fast = open_stream(*state);
	expect_stat(*state, "started", 2);
	for (i = 0; i < 2000 && stat_of(*state, "gone") == 0; i++) {
		post(*state, "/send?n=65536&times=1");
		http_hear(fast, answer, 64 * PIECE, 0);
	}
	expect_stat(*state, "gone", 1);
	assert_true(stat_of(*state, "skipped") >= NEAP_HTTP_STREAM_SKIPS_MAX);
	close(slow);
	close(fast);
	expect_stat(*state, "gone", 2);
}

/* The server's time limit is 2 s here. */
static void test_idle(void **state)
{
	char answer[4096];
	int fd = open_stream(*state), talker = open_stream(*state);

	expect_stat(*state, "started", 2);
	http_say(talker, "x", 1);
	sleep(4);
	assert_int_equal(stat_of(*state, "gone"), 0);
	post(*state, "/send?n=5&times=1");
	assert_true(http_hear_text(fd, answer, sizeof(answer), "ppppp"));
	close(fd);
	close(talker);
	expect_stat(*state, "gone", 2);
}

/* What a client sends during a stream is kept nowhere for long. */
static void test_talker(void **state)
{
	neap_auto_free char *text = neap_alloc(100000);
	int fd = open_stream(*state);

	expect_stat(*state, "started", 1);
	memset(text, 't', 100000);
	http_say(fd, text, 100000);
	expect_stat(*state, "gone", 1);
	close(fd);
}

/* The server ends with streams open; a leak or a use after that shows with the
 * sanitizer. */
static void test_end_of_server(void **state)
{
	int fd = open_stream(*state), other = open_stream(*state);

	expect_stat(*state, "started", 2);
	post(*state, "/send?n=65536&times=60");
	stop(state);
	close(fd);
	close(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_arrives, start, stop),
		cmocka_unit_test_setup_teardown(test_head, start, stop),
		cmocka_unit_test_setup_teardown(test_caps, start, stop),
		cmocka_unit_test_setup_teardown(test_vanishes, start, stop),
		cmocka_unit_test_setup_teardown(test_slow_reader, start, stop),
		cmocka_unit_test_setup_teardown(test_idle, start, stop),
		cmocka_unit_test_setup_teardown(test_talker, start, stop),
		cmocka_unit_test_setup(test_end_of_server, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
