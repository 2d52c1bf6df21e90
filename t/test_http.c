/* SPDX-License-Identifier: Apache-2.0
 *
 * The HTTP server against a raw client: what it answers, what it refuses, and that
 * refusing one client leaves the others served. More of what is refused:
 * test_http_attack.c. */
#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/http/server.h"
#include "engine/base/mem.h"
#include "t/lib/http.h"
#include "t/lib/patience.h"

/* --- the server's side --- */

static void echo(void *arg, struct neap_http_request *request)
{
	size_t len;
	const char *body = neap_http_body_get(request, &len);
	const char *q = neap_http_query_find(request, "q");

	assert_int_equal(body[len], 0);
	(void)arg;
	neap_http_answer_json_take(request, 200,
				   json_pack("{s:s#, s:s, s:s?, s:b}", "body", body,
					     (int)len, "rest",
					     neap_http_rest_get(request), "q", q, "unix",
					     neap_http_peer_get(request)->is_unix));
}

static void big(void *arg, struct neap_http_request *request)
{
	size_t len = (size_t)strtoul(neap_http_query_find(request, "n"), NULL, 10);
	neap_auto_free char *text = neap_alloc(len + 1);

	(void)arg;
	memset(text, 'x', len);
	neap_http_answer_text(request, 200, "text/plain", text, len);
}

static int gone_count;

struct late {
	struct event *timer;
	struct neap_http_request *request;
};

static void late_gone(void *arg)
{
	struct late *late = arg;

	gone_count++;
	event_free(late->timer);
	free(late);
}

static void late_answer(evutil_socket_t fd, short what, void *arg)
{
	struct late *late = arg;

	(void)fd;
	(void)what;
	neap_http_answer_json_take(late->request, 200,
				   json_pack("{s:i}", "gone", gone_count));
	event_free(late->timer);
	free(late);
}

static void later(void *arg, struct neap_http_request *request)
{
	long ms = strtol(neap_http_query_find(request, "ms"), NULL, 10);
	struct timeval wait = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
	struct late *late = neap_alloc(sizeof(*late));

	late->request = request;
	late->timer = evtimer_new(arg, late_answer, late);
	event_add(late->timer, &wait);
	neap_http_defer(request, late_gone, late);
}

/* The n-th allocation from here on fails: of this answer, or of a request to come. */
static void starve(void *arg, struct neap_http_request *request)
{
	(void)arg;
	neap_mem_fail_at(strtoul(neap_http_query_find(request, "n"), NULL, 10));
	neap_http_answer_json_take(request, 200, json_object());
}

static const struct neap_http_route routes[] = {
	{"GET", "/starve/{x}", NEAP_HTTP_READER, starve},
	{"GET", "/open", NEAP_HTTP_ANYBODY, echo},
	{"GET", "/echo", NEAP_HTTP_READER, echo},
	{"POST", "/echo", NEAP_HTTP_READER, echo},
	{"PATCH", "/echo", NEAP_HTTP_READER, echo},
	{"DELETE", "/tree/*", NEAP_HTTP_READER, echo},
	{"GET", "/big", NEAP_HTTP_READER, big},
	{0},
};
static const struct neap_http_route late_routes[] = {
	{"GET", "/late", NEAP_HTTP_READER, later}, {0}};

static void setup(struct neap_http *http, struct event_base *base)
{
	struct neap_error err;

	neap_http_add_routes(http, routes, NULL, &err);
	neap_http_add_routes(http, late_routes, base, &err);
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

struct row {
	const char *name, *request;
	const char *want; /* in the answer */
	const char *want_also;
	bool closes;
	const char *unwanted;
};

static const struct row rows[] = {
	{"open", "GET /open HTTP/1.1\r\n" HOST "\r\n", "200 OK", "\"rest\":\"\"", false},
	{"with token", GET("/echo?q=a%20b+c") "\r\n", "200 OK", "\"q\":\"a b c\"", false},
	{"no token", "GET /echo HTTP/1.1\r\n" HOST "\r\n", " 401 ", "DATA_DIR/token",
	 false},
	{"wrong token",
	 "GET /echo HTTP/1.1\r\n" HOST "Authorization: Bearer secreT\r\n\r\n", " 401 ",
	 "WWW-Authenticate: Bearer", false},
	{"token and more",
	 "GET /echo HTTP/1.1\r\n" HOST "Authorization: Bearer secretsecret\r\n\r\n",
	 " 401 ", NULL, false},
	{"empty token", "GET /echo HTTP/1.1\r\n" HOST "Authorization: Bearer \r\n\r\n",
	 " 401 ", NULL, false},
	{"other scheme",
	 "GET /echo HTTP/1.1\r\n" HOST "Authorization: Basic secret\r\n\r\n", " 401 ",
	 NULL, false},
	{"unknown path without token", "GET /nothing HTTP/1.1\r\n" HOST "\r\n", " 401 ",
	 NULL, false},
	{"unknown path", GET("/nothing") "\r\n", " 404 ", "there is nothing at /nothing",
	 false},
	{"unknown path not UTF-8", GET("/%ff") "\r\n", " 404 ", "there is nothing at /?",
	 false},
	{"method", "PUT /echo HTTP/1.1\r\n" HOST AUTH "Content-Length: 0\r\n\r\n",
	 " 405 ", "Allow: GET, HEAD, POST, PATCH\r\n", false},
	{"unknown method", "BREW /echo HTTP/1.1\r\n" HOST AUTH "\r\n", " 501 ", NULL,
	 true},
	{"head", "HEAD /big?n=5 HTTP/1.1\r\n" HOST AUTH "\r\n", "Content-Length: 5\r\n",
	 "text/plain", false, "xxxxx"},
	{"post", "POST /echo HTTP/1.1\r\n" HOST AUTH "Content-Length: 3\r\n\r\nabc",
	 " 200 ", "\"body\":\"abc\"", false},
	{"post in chunks",
	 "POST /echo HTTP/1.1\r\n" HOST AUTH
	 "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
	 " 200 ", "\"body\":\"abc\"", true},
	{"patch", "PATCH /echo HTTP/1.1\r\n" HOST AUTH "Content-Length: 1\r\n\r\na",
	 " 200 ", "\"body\":\"a\"", false},
	{"star", "DELETE /tree/a/b%20c HTTP/1.1\r\n" HOST AUTH "\r\n", " 200 ",
	 "\"rest\":\"a/b c\"", false},
	{"pipeline", GET("/echo?q=1") "\r\n" GET("/echo?q=2") "\r\n", "\"q\":\"1\"",
	 "\"q\":\"2\"", false},
	{"pipeline with an odd version",
	 GET("/echo?q=1") "\r\n"
			  "GET /echo?q=2 HTTP/1.01\r\n" HOST AUTH "\r\n",
	 "\"q\":\"1\"", "neither HTTP/1.0 nor HTTP/1.1", true, "\"q\":\"2\""},
	{"behind a connect",
	 "CONNECT x:80 HTTP/1.1\r\n" HOST "\r\nGET /open HTTP/1.1\r\n" HOST "\r\n",
	 " 501 ", "behind a CONNECT", true, " 200 "},
	{"behind a broken connect",
	 "CONNECT x:80 HTTP/1.1\r\nX\r\n\r\nGET /open HTTP/1.1\r\n" HOST "\r\n", " 400 ",
	 NULL, true, " 200 "},
	{"HTTP/1.0 needs no host", "GET /open HTTP/1.0\r\n\r\n", " 200 ", NULL, true},
	{"encoded slash", GET("/tree%2fa") "\r\n", " 400 ", "encoded slash", true},
	{"bad escape", GET("/a%2") "\r\n", " 400 ", NULL, true},
	{"NUL in path", GET("/a%00b") "\r\n", " 400 ", NULL, true},
	{"control character in query", GET("/echo?q=%0d%0a") "\r\n", " 400 ",
	 "control character", true},
	{"no host", "GET /open HTTP/1.1\r\n\r\n", " 400 ", "no Host", true},
	{"two hosts", "GET /open HTTP/1.1\r\n" HOST HOST "\r\n", " 400 ",
	 "Host more than once", true},
	{"two equal lengths",
	 "POST /echo HTTP/1.1\r\n" HOST AUTH
	 "Content-Length: 1\r\nContent-Length: 1\r\n\r\na",
	 " 400 ", "Content-Length more than once", true},
	{"two lengths",
	 "POST /echo HTTP/1.1\r\n" HOST AUTH
	 "Content-Length: 1\r\nContent-Length: 42\r\n\r\n"
	 "aGET /open?smuggled HTTP/1.1\r\n" HOST "\r\n",
	 " 400 ", NULL, true, " 200 "},
	{"signed length",
	 "POST /echo HTTP/1.1\r\n" HOST AUTH "Content-Length: +1\r\n\r\na", " 400 ", NULL,
	 true},
	{"negative length",
	 "POST /echo HTTP/1.1\r\n" HOST AUTH "Content-Length: -1\r\n\r\n", " 400 ", NULL,
	 true},
	{"blank before colon",
	 "POST /echo HTTP/1.1\r\n" HOST AUTH "Content-Length : 30\r\n\r\n"
	 "GET /open HTTP/1.1\r\n" HOST "\r\n",
	 " 400 ", "token", true, " 200 "},
	{"xchunked",
	 "POST /echo HTTP/1.1\r\n" HOST AUTH "Transfer-Encoding: xchunked\r\n\r\n"
	 "GET /open HTTP/1.1\r\n" HOST "\r\n",
	 " 400 ", "Transfer-Encoding", true, " 200 "},
	{"gzip, chunked",
	 "POST /echo HTTP/1.1\r\n" HOST AUTH
	 "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
	 " 400 ", NULL, true},
	{"length and chunked",
	 "POST /echo HTTP/1.1\r\n" HOST AUTH
	 "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	 " 400 ", NULL, true},
	{"empty header name", "GET /open HTTP/1.1\r\n" HOST ": a\r\n\r\n", " 400 ", NULL,
	 true},
	{"header name with a quote", "GET /open HTTP/1.1\r\n" HOST "a\"b: c\r\n\r\n",
	 " 400 ", NULL, true},
	{"too many parameters", GET("/echo?a&b&c&d&e&f&g&h&i&j&k&l&m&n&o&p&q") "\r\n",
	 " 400 ", "more than 16 query parameters", true},
};

static int count_of(const char *text, const char *part)
{
	int n = 0;

	for (text = strstr(text, part); text != NULL; text = strstr(text + 1, part))
		n++;
	return n;
}

static void test_rows(void **state)
{
	char answer[16384];
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		int fd = http_dial(*state);
		bool is_end;
		size_t len;

		if (getenv("CASE") && *getenv("CASE") &&
		    strcmp(getenv("CASE"), row->name) != 0) {
			close(fd);
			continue;
		}
		http_say(fd, row->request, strlen(row->request));
		if (row->closes) {
			is_end = http_hear_end(fd, answer, sizeof(answer));
		} else {
			(void)http_hear_text(fd, answer, sizeof(answer), row->want);
			len = strlen(answer);
			if (row->want_also && !strstr(answer, row->want_also))
				(void)http_hear_text(fd, answer + len,
						     sizeof(answer) - len,
						     row->want_also);
			len = strlen(answer);
			is_end = http_hear(fd, answer + len, sizeof(answer) - len, 50);
		}
		close(fd);
		if (!strstr(answer, row->want) ||
		    (row->want_also && !strstr(answer, row->want_also)) ||
		    (row->unwanted && strstr(answer, row->unwanted)) ||
		    count_of(answer, "\nContent-Type: ") > count_of(answer, "HTTP/1.") ||
		    is_end != row->closes)
			fail_msg("%s: %s, answer: %s", row->name,
				 is_end ? "closed" : "left open", answer);
	}
}

static void test_sizes(void **state)
{
	static const struct {
		const char *name;
		size_t header, body;
		const char *want;
	} sizes[] = {
		{"small", 100, 100, " 200 "},
		{"large body", 100, 1000000, " 200 "},
		{"body over the limit", 100, NEAP_HTTP_BODY_MAX + 1, " 413 "},
		{"headers over the limit", NEAP_HTTP_HEADER_MAX + 1, 10, " 400 "},
		{"headers far over the limit", NEAP_HTTP_BODY_MAX, 10, " 400 "},
	};
	neap_auto_free char *filler = neap_alloc(NEAP_HTTP_BODY_MAX + 2);
	neap_auto_free char *answer = neap_alloc(2 * 1024 * 1024);
	size_t i;

	memset(filler, 'y', NEAP_HTTP_BODY_MAX + 1);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		int fd = http_dial(*state);
		char line[256];

		snprintf(line, sizeof(line),
			 "POST /echo HTTP/1.1\r\n" HOST AUTH "Content-Length: %zu\r\nX: ",
			 sizes[i].body);
		http_say(fd, line, strlen(line));
		http_say(fd, filler, sizes[i].header);
		http_say(fd, "\r\n\r\n", 4);
		http_say(fd, filler, sizes[i].body);
		(void)http_hear_text(fd, answer, 2 * 1024 * 1024, sizes[i].want);
		close(fd);
		if (!strstr(answer, sizes[i].want))
			fail_msg("%s: %.400s", sizes[i].name, answer);
	}
}

/* A byte now and then keeps evhttp's own time limit from ever ending; the request's
 * does. */
static void test_drip(void **state)
{
	const char head[] = "GET /open HTTP/1.1\r\n" HOST "X: ";
	int fd = http_dial(*state), idle = http_dial(*state), i;
	char answer[256];
	bool is_end = false;

	http_say(fd, head, strlen(head));
	for (i = 0; i < PATIENCE_MS / 200 && !is_end; i++) {
		http_say(fd, "y", 1);
		is_end = http_hear(fd, answer, sizeof(answer), 200);
	}
	close(fd);
	assert_true(is_end);
	assert_true(http_hear_end(idle, answer, sizeof(answer)));
	close(idle);
}

static int gone_of(void *server)
{
	char answer[4096];
	const char *at;

	http_ask(server, GET("/late?ms=1") "Connection: close\r\n\r\n", answer,
		 sizeof(answer));
	at = strstr(answer, "\"gone\":");
	assert_non_null(at);
	return (int)strtol(at + 7, NULL, 10);
}

/* A client that resets its connection, and one that goes after it sent more than its
 * request. */
static void test_late_reset(void **state)
{
	static const struct linger at_once = {.l_onoff = 1};
	const char slow[] = GET("/late?ms=5000") "\r\n" GET("/late?ms=1") "\r\n";
	int before = gone_of(*state), fd, i;

	for (i = 1; i <= 2; i++) {
		size_t len =
			i == 1 ? sizeof(GET("/late?ms=5000") "\r\n") - 1 : strlen(slow);

		fd = http_dial(*state);
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
		http_say(fd, slow, len);
		usleep(50000); /* it may go before it is read or behind that */
		close(fd);
		if (!comes_true(gone_of(*state) >= before + i))
			fail_msg("connection %d: nobody saw it go", i);
	}
}

static void test_late(void **state)
{
	const char request[] = GET("/late?ms=50") "\r\n";
	const char slow[] = GET("/late?ms=900") "\r\n";
	char answer[4096];
	int fd = http_dial(*state), other = http_dial(*state), status, i;
	size_t len;

	http_say(fd, slow, strlen(slow));
	close(fd); /* the client goes first: its handler is told, once */
	assert_true(comes_true(gone_of(*state) == 1));
	for (i = 0; i < 2; i++) {
		http_say(other, request, strlen(request));
		assert_true(http_read(other, answer, sizeof(answer), &status, &len));
		assert_non_null(strstr(answer, "\"gone\":1"));
	}
	close(other);
}

/* Whatever fails for want of memory, that client is answered or cut off, and the next is
 * served. */
static void test_no_memory(void **state)
{
	char request[128], answer[4096];
	int n, failed = 0;

	for (n = 1; n <= 16; n++) {
		snprintf(request, sizeof(request), GET("/starve/a?n=%d") "\r\n", n);
		http_ask(*state, request, answer, sizeof(answer));
		failed += !strstr(answer, " 200 ");
		http_ask(*state, request, answer,
			 sizeof(answer)); /* meets what is left */
		failed += !strstr(answer, " 200 ");
		http_ask(*state, GET("/starve/a?n=0") "\r\n", answer, sizeof(answer));
		http_ask(*state, GET("/echo") "\r\n", answer, sizeof(answer));
		if (!strstr(answer, " 200 "))
			fail_msg("after a failed allocation (%d): %s", n, answer);
	}
	assert_in_range(failed, 3, 32);
}

static size_t open_of(const int *fds, size_t count)
{
	char answer[4096];
	size_t open_count = 0;

	for (size_t i = 0; i < count; i++)
		open_count += !http_hear(fds[i], answer, sizeof(answer), 0);
	return open_count;
}

static void test_cap_of_peer(void **state)
{
	const char request[] = GET("/open") "\r\n";
	int fds[NEAP_HTTP_CONNECTIONS_PEER_MAX + 8];
	char answer[4096];
	size_t i;
	int fd;

	for (i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		fds[i] = http_dial(*state);
	assert_true(comes_true(open_of(fds, sizeof(fds) / sizeof(fds[0])) ==
			       NEAP_HTTP_CONNECTIONS_PEER_MAX));
	for (i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		close(fds[i]);
	fd = http_dial(*state); /* places come free again */
	http_say(fd, request, strlen(request));
	(void)http_hear_text(fd, answer, sizeof(answer), " 200 ");
	close(fd);
	assert_non_null(strstr(answer, " 200 "));
}

static void ask_unix(const struct http_server *server, char *answer, size_t size)
{
	const char request[] = "GET /echo HTTP/1.1\r\n" HOST "\r\n";
	int fd = http_dial_unix(server);

	if (fd < 0)
		_exit(9);
	http_say(fd, request, strlen(request));
	(void)http_hear_text(fd, answer, size, "}");
	close(fd);
}

static void test_unix_peer(void **state)
{
	char answer[4096];
	int status;
	pid_t pid;

	if (geteuid() != 0)
		skip(); /* needs root: to be a user that is known and one that is not */
	ask_unix(*state, answer, sizeof(answer));
	assert_non_null(strstr(answer, "\"unix\":true"));
	pid = fork();
	if (!pid) {
		if (setgid(65534) < 0 || setuid(65534) < 0)
			_exit(8);
		ask_unix(*state, answer, sizeof(answer));
		_exit(strstr(answer, " 403 ") &&
				      strstr(answer,
					     "unix:65534 has no role here: neapd gives one with --grant reader=unix:65534")
			      ? 0
			      : 7);
	}
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	pid = fork();
	if (!pid) {
		if (setgid(12345) < 0 || setuid(12345) < 0)
			_exit(8);
		ask_unix(*state, answer, sizeof(answer));
		_exit(strstr(answer, " 200 ") ? 0 : 7);
	}
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_rows, start, stop),
		cmocka_unit_test_setup_teardown(test_sizes, start, stop),
		cmocka_unit_test_setup_teardown(test_drip, start_impatient, stop),
		cmocka_unit_test_setup_teardown(test_late, start, stop),
		cmocka_unit_test_setup_teardown(test_late_reset, start, stop),
		cmocka_unit_test_setup_teardown(test_no_memory, start, stop),
		cmocka_unit_test_setup_teardown(test_cap_of_peer, start, stop),
		cmocka_unit_test_setup_teardown(test_unix_peer, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
