/* SPDX-License-Identifier: Apache-2.0
 *
 * Attacks on the HTTP server by mass and by time: each is refused or bounded, delays
 * nobody else, and leaves nothing behind. Whether somebody is delayed is judged by a
 * second, which no scheduler mistakes; the figures are in make bench. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/http/server.h"
#include "engine/base/mem.h"
#include "t/lib/http.h"
#include "t/lib/patience.h"

#define POST     "POST /echo HTTP/1.1\r\n" HOST AUTH
#define CHUNKED  POST "Transfer-Encoding: chunked\r\n\r\n"
#define IDLE_MAX 10000

/* --- the server's side --- */

static void echo(void *arg, struct neap_http_request *request)
{
	size_t len;

	(void)arg;
	(void)neap_http_body_get(request, &len);
	neap_http_answer_json_take(request, 200, json_pack("{s:i}", "len", (int)len));
}

static struct neap_http *server_http; /* in the server's process */

static void count(void *arg, struct neap_http_request *request)
{
	(void)arg;
	neap_http_answer_json_take(
		request, 200,
		json_pack("{s:i}", "connections",
			  (int)neap_http_connection_count(server_http)));
}

static const struct neap_http_route routes[] = {
	{"GET", "/open", NEAP_HTTP_ANYBODY, echo},
	{"GET", "/echo", NEAP_HTTP_READER, echo},
	{"POST", "/echo", NEAP_HTTP_READER, echo},
	{"GET", "/count", NEAP_HTTP_READER, count},
	{0},
};

static void setup(struct neap_http *http, struct event_base *base)
{
	struct neap_error err;

	(void)base;
	server_http = http;
	neap_http_add_routes(http, routes, NULL, &err);
}

static int start_with(void **state, int timeout_s)
{
	struct http_server *server = neap_alloc(sizeof(*server));

	http_server_start(server, timeout_s, setup);
	*state = server;
	return 0;
}

static int start(void **state)
{
	return start_with(state, 0);
}

static int start_impatient(void **state)
{
	return start_with(state, 2);
}

static int stop(void **state)
{
	http_server_stop(*state);
	free(*state);
	return 0;
}

/* --- what the server must be after an attack --- */

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A known client is served on a connection of its own, whatever the others do. */
static void expect_served(const struct http_server *server)
{
	char answer[4096];

	http_ask(server, GET("/echo") "\r\n", answer, sizeof(answer));
	if (!strstr(answer, " 200 "))
		fail_msg("a known client got: %s", answer);
}

static int connections(const struct http_server *server)
{
	char answer[4096];
	const char *at;

	http_ask(server, GET("/count") "\r\n", answer, sizeof(answer));
	at = strstr(answer, "connections\":");
	assert_non_null(at);
	return (int)strtol(at + 13, NULL, 10);
}

/* Only the one that asks is left. A connection is no longer counted a little before its
 * descriptor is closed. */
static void expect_alone(const struct http_server *server)
{
	(void)comes_true(connections(server) == 1 && http_server_fds(server) <= 20);
	assert_int_equal(connections(server), 1);
	assert_in_range(http_server_fds(server), 1, 20);
}

/* The sanitizers keep freed memory, or much beside it, so that it says nothing there. */
static void expect_kib(const struct http_server *server, long before, long more_kib)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	long now = http_server_kib(server);

	if (now > before + more_kib)
		fail_msg("%ld KiB before, %ld now", before, now);
#else
	(void)server;
	(void)before;
	(void)more_kib;
#endif
}

/* --- without end --- */

static void test_endless(void **state)
{
	static const struct {
		const char *name, *head, *piece;
	} endless[] = {
		{"method", "", "GGGGGGGGGGGGGGGG"},
		{"address", "GET /", "aaaaaaaaaaaaaaaa"},
		{"header", "GET /open HTTP/1.1\r\n" HOST AUTH "X: ", "yyyyyyyyyyyyyyyy"},
		{"headers", "GET /open HTTP/1.1\r\n" HOST AUTH, "X: yyyyyyyyyyy\r\n"},
		{"tiny headers", "GET /open HTTP/1.1\r\n" HOST AUTH, "a:\r\n"},
		{"folds", "GET /open HTTP/1.1\r\n" HOST AUTH "X: ", "y\r\n "},
		{"empty lines", "", "\r\n"},
		{"chunk", CHUNKED "fffff\r\n", "zzzzzzzzzzzzzzzz"},
		{"chunks", CHUNKED, "1\r\nz\r\n"},
		{"chunk size", CHUNKED, "0000000000000000"},
		{"chunk extension", CHUNKED "1 ", "eeeeeeeeeeeeeeee"},
		{"trailers", CHUNKED "0\r\n", "X: yyyyyyyyyyy\r\n"},
		{"length", POST "Content-Length: 1048577\r\n\r\n", "bbbbbbbbbbbbbbbb"},
	};
	static char block[65536];
	long before = http_server_kib(*state);
	char answer[4096];
	size_t i, k;

	for (i = 0; i < sizeof(endless) / sizeof(endless[0]); i++) {
		int fd = http_dial(*state);
		size_t len = strlen(endless[i].piece);
		struct pollfd p = {.fd = fd, .events = POLLIN};
		size_t sent = 0;

		for (k = 0; k + len <= sizeof(block); k += len)
			memcpy(block + k, endless[i].piece, len);
		http_say(fd, endless[i].head, strlen(endless[i].head));
		/* Until it is cut off or refused; 8 MB is far over every limit. */
		while (sent < 8 * 1024 * 1024 && poll(&p, 1, 0) == 0) {
			http_say(fd, block, k);
			sent += k;
		}
		if (!http_hear_end(fd, answer, sizeof(answer)) || strstr(answer, " 200 "))
			fail_msg("%s without end: still open after %zu: %s",
				 endless[i].name, sent, answer);
		close(fd);
		expect_served(*state);
	}
	expect_alone(*state);
	expect_kib(*state, before, 8 * 1024);
}

/* --- time --- */

/* A byte now and then, in all places where a request can dawdle. evhttp would wait for
 * ever. */
static void test_drips(void **state)
{
	static const char *const heads[] = {
		"", "GET /op",
		"GET /open HTTP/1.1\r\n" HOST "X: ", POST "Content-Length: 1000\r\n\r\n",
		CHUNKED "ff\r\n"};
	enum { EACH = 6, ALL = 30 };
	int fds[ALL], i, open_count = ALL;
	int64_t from = now_ms();
	char answer[4096];

	for (i = 0; i < ALL; i++) {
		fds[i] = http_dial(*state);
		http_say(fds[i], heads[i / EACH], strlen(heads[i / EACH]));
	}
	while (open_count && now_ms() - from < PATIENCE_MS) {
		for (i = 0; i < ALL; i++) {
			if (fds[i] < 0)
				continue;
			http_say(fds[i], "1", 1);
			if (http_hear(fds[i], answer, sizeof(answer), 0)) {
				close(fds[i]);
				fds[i] = -1;
				open_count--;
			}
		}
		expect_served(*state);
		usleep(100000);
	}
	assert_int_equal(open_count, 0);
	assert_true(now_ms() - from >= 1500); /* 2 s, looked for once a second */
	expect_alone(*state);
}

/* --- memory --- */

static int open_of(const int *fds, int count_fds)
{
	char answer[4096];
	int i, open_count = 0;

	for (i = 0; i < count_fds; i++)
		open_count += !http_hear(fds[i], answer, sizeof(answer), 0);
	return open_count;
}

/* Starts count uploads of 900 KB out of a megabyte; how many stay open when they are
 * `most` or fewer. */
static int upload(const struct http_server *server, const char *head, int *fds,
		  int count_fds, int most)
{
	neap_auto_free char *filler = neap_alloc(900000);
	int i;

	memset(filler, 'u', 900000);
	for (i = 0; i < count_fds; i++) {
		fds[i] = http_dial(server);
		http_say(fds[i], head, strlen(head));
		http_say(fds[i], filler, 900000);
	}
	(void)comes_true(open_of(fds, count_fds) <= most); /* the caller looks */
	return open_of(fds, count_fds);
}

static void close_all(const int *fds, int count_fds)
{
	int i;

	for (i = 0; i < count_fds; i++)
		close(fds[i]);
}

static void test_unknown_uploads(void **state)
{
	static const char head[] =
		"POST /echo HTTP/1.1\r\n" HOST "Content-Length: 1000000\r\n\r\n";
	static const char wrong[] = "POST /echo HTTP/1.1\r\n" HOST
				    "Authorization: Bearer secre\r\nAuthorization: "
				    "Bearer secrett\r\nContent-Length: 1000000\r\n\r\n";
	long before = http_server_kib(*state);
	int fds[60];

	assert_int_equal(upload(*state, head, fds, 60, 0), 0);
	expect_served(*state);
	close_all(fds, 60);
	assert_int_equal(upload(*state, wrong, fds, 60, 0), 0);
	expect_kib(*state, before, 8 * 1024);
	close_all(fds, 60);
	expect_alone(*state);
}

/* Below the limit of one, and together below the limit of all: waiting, and in nobody's
 * way. */
static void test_small_unknown_uploads(void **state)
{
	static const char head[] =
		"POST /echo HTTP/1.1\r\n" HOST "Content-Length: 1000000\r\n\r\n";
	neap_auto_free char *filler = neap_alloc(30000);
	long before = http_server_kib(*state);
	enum { ALL = 400 };
	int fds[ALL], i, status;
	char from[32], answer[8192];
	size_t len;
	int known;

	memset(filler, 'u', 30000);
	for (i = 0; i < ALL; i++) {
		snprintf(from, sizeof(from), "127.0.1.%d", 1 + i / 40);
		fds[i] = http_dial_from(*state, from);
		assert_true(fds[i] >= 0);
		http_say(fds[i], head, strlen(head));
		http_say(fds[i], filler, 30000);
	}
	expect_kib(*state, before, 12 * 1024);
	/* A stranger's request and a known upload find room all the same. */
	for (i = 0; i < 200; i++) {
		http_ask(*state, "GET /open HTTP/1.1\r\n" HOST "\r\n", answer,
			 sizeof(answer));
		assert_non_null(strstr(answer, " 200 "));
	}
	known = http_dial(*state);
	http_say(known, POST "Content-Length: 900000\r\n\r\n",
		 strlen(POST "Content-Length: 900000\r\n\r\n"));
	for (i = 0; i < 30; i++)
		http_say(known, filler, 30000);
	assert_true(http_read(known, answer, sizeof(answer), &status, &len));
	assert_int_equal(status, 200);
	close(known);
	close_all(fds, ALL);
	expect_alone(*state);
}

/* What a test that failed left open is not held by the server of the next one. */
static void test_clients_of_before(void **state)
{
	struct http_server next = {0};
	int fds[60], i;

	for (i = 0; i < 60; i++) {
		fds[i] = http_dial(*state);
		assert_true(fds[i] >= 0);
	}
	http_server_start(&next, 0, setup);
	expect_alone(&next);
	http_server_stop(&next);
	close_all(fds, 60);
	expect_alone(*state);
}

/* Who has the token may take the one budget and half of the reserve, and not more. */
static void test_known_uploads(void **state)
{
	static const char head[] = POST "Content-Length: 1000000\r\n\r\n";
	enum {
		MOST = (NEAP_HTTP_UNFINISHED_MAX + NEAP_HTTP_UNFINISHED_RESERVE / 2) /
			       900000 +
		       1
	};
	int fds[60];

	assert_in_range(upload(*state, head, fds, 60, MOST), 1, MOST);
	close_all(fds, 60);
	expect_served(*state);
	expect_alone(*state);
}

/* The token may come in any pieces, and is found before the body is over the limit. */
static void test_token_in_pieces(void **state)
{
	static const char head[] =
		"POST /echo HTTP/1.1\r\n" HOST "aUTHORIZATION:  bearer secret \r\n"
		"Content-Length: 200000\r\n\r\n";
	neap_auto_free char *filler = neap_alloc(200000);
	char answer[4096];
	int fd = http_dial(*state), status, one = 1;
	size_t i, len;

	setsockopt(fd, 6 /* TCP */, 1 /* NODELAY */, &one, sizeof(one));
	for (i = 0; i < strlen(head); i++) {
		http_say(fd, head + i, 1);
		usleep(500);
	}
	memset(filler, 'u', 200000);
	http_say(fd, filler, 200000);
	assert_true(http_read(fd, answer, sizeof(answer), &status, &len));
	assert_int_equal(status, 200);
	close(fd);
}

/* --- idle connections --- */

static bool can_open(rlim_t count_fds)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur >= count_fds)
		return true;
	limit.rlim_cur = count_fds;
	if (limit.rlim_max < count_fds)
		limit.rlim_max = count_fds;
	return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

/* Opens connections that say nothing, per_address from one address each; every 100th time
 * a known client of the address 127.0.0.1 asks anew. */
static void flood(const struct http_server *server, int per_address)
{
	static int fds[IDLE_MAX];
	int i, status;
	int proved = http_dial(server);
	static const char request[] = GET("/echo") "\r\n";
	char answer[4096], from[32];
	size_t len;

	http_say(proved, request, strlen(request));
	assert_true(http_read(proved, answer, sizeof(answer), &status, &len));
	for (i = 0; i < IDLE_MAX; i++) {
		snprintf(from, sizeof(from), "127.0.%d.1", i / per_address);
		fds[i] = http_dial_from(server, from);
		if (i % 100 == 99)
			expect_served(server);
	}
	/* Newcomers have some time to say who they are; then the caps are kept. */
	assert_true(comes_true(connections(server) <= NEAP_HTTP_CONNECTIONS_MAX + 2));
	assert_true(
		comes_true(http_server_fds(server) <= NEAP_HTTP_CONNECTIONS_MAX + 30));
	/* Who proved himself was left in peace. */
	http_say(proved, request, strlen(request));
	assert_true(http_read(proved, answer, sizeof(answer), &status, &len));
	assert_int_equal(status, 200);
	close(proved);
	for (i = 0; i < IDLE_MAX; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	expect_alone(server);
}

static void test_idle(void **state)
{
	if (!can_open(IDLE_MAX + 100)) {
		print_message("# skipped: may not open %d descriptors\n", IDLE_MAX);
		skip();
	}
	flood(*state, IDLE_MAX); /* all from the operator's own address */
	flood(*state, 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_endless, start, stop),
		cmocka_unit_test_setup_teardown(test_drips, start_impatient, stop),
		cmocka_unit_test_setup_teardown(test_unknown_uploads, start, stop),
		cmocka_unit_test_setup_teardown(test_small_unknown_uploads, start, stop),
		cmocka_unit_test_setup_teardown(test_clients_of_before, start, stop),
		cmocka_unit_test_setup_teardown(test_known_uploads, start, stop),
		cmocka_unit_test_setup_teardown(test_token_in_pieces, start, stop),
		cmocka_unit_test_setup_teardown(test_idle, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
