/* SPDX-License-Identifier: Apache-2.0
 *
 * A part of the address space with ways of its own: how its refusals look, how large its
 * bodies and how many its streams may be, for those who are known; and that strangers
 * have no more than elsewhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/http/server.h"
#include "api/http/users/grants.h"
#include "engine/base/mem.h"
#include "t/lib/http.h"
#include "t/lib/patience.h"

#define MIB ((size_t)1024 * 1024)

static void tell(void *arg, struct neap_http_request *request)
{
	size_t len;

	(void)arg;
	(void)neap_http_body_get(request, &len);
	neap_http_answer_json_take(request, 200, json_pack("{s:i}", "len", (int)len));
}

static unsigned sum_of(const char *body, size_t len)
{
	unsigned sum = 1;

	for (size_t i = 0; i < len; i++)
		sum = sum * 31 + (unsigned char)body[i];
	return sum;
}

static void sum(void *arg, struct neap_http_request *request)
{
	char text[64];
	size_t len;
	const char *body = neap_http_body_get(request, &len);

	(void)arg;
	(void)snprintf(text, sizeof(text), "<%zu %u>", len, sum_of(body, len));
	neap_http_answer_text(request, 200, "text/plain", text, strlen(text));
}

static void gone(void *arg)
{
	(void)arg;
}

static void flow(void *arg, struct neap_http_request *request)
{
	struct neap_http_stream *stream =
		neap_http_stream_start_take(request, "text/plain", gone, arg);

	if (stream)
		(void)neap_http_stream_send(stream, "begun\n", 6);
}

static json_t *refusal(int status, const struct neap_error *err)
{
	return json_pack("{s:s, s:i, s:s}", "kind", "Own", "status", status, "why",
			 err->msg);
}

static const struct neap_http_route routes[] = {
	{"POST", "/tree/a", NEAP_HTTP_READER, tell},
	{"POST", "/tree/sum", NEAP_HTTP_READER, sum},
	{"POST", "/other", NEAP_HTTP_READER, tell},
	{"GET", "/tree/flow", NEAP_HTTP_READER, flow},
	{"GET", "/other/flow", NEAP_HTTP_READER, flow},
	{"GET", "/tree/admin", NEAP_HTTP_ADMIN, tell},
	{"GET", "/tree/open", NEAP_HTTP_ANYBODY, tell},
	{0},
};
static const char *const paths[] = {"/tree", NULL};
static const struct neap_http_tree tree = {paths, 3 * MIB, 100, refusal};

static void setup(struct neap_http *http, struct event_base *base)
{
	struct neap_error err;

	(void)base;
	neap_http_set_tree(http, &tree, true);
	neap_http_add_routes(http, routes, NULL, &err);
}

static void setup_early(struct neap_http *http, struct event_base *base)
{
	struct neap_error err;

	(void)base;
	neap_http_set_tree(http, &tree, false);
	neap_http_add_routes(http, routes, NULL, &err);
}

static int start(void **state, const char *grant)
{
	static struct neap_grants grants;
	static struct http_server server;
	struct neap_error err;

	memset(&grants, 0, sizeof(grants));
	memset(&server, 0, sizeof(server));
	if (grant)
		assert_int_equal(neap_grants_parse(&grants, grant, &err), 0);
	http_server_start_as(&server, 0, setup, &(struct http_access){.grants = &grants});
	*state = &server;
	return 0;
}

static int start_closed(void **state)
{
	return start(state, NULL);
}

static int start_open(void **state)
{
	return start(state, "reader=anonymous");
}

static int stop(void **state)
{
	http_server_stop(*state);
	return 0;
}

/* --- refusals --- */

static void test_refusals(void **state)
{
	static const struct {
		const char *request, *want;
	} rows[] = {
		{"GET /tree/lost HTTP/1.1\r\n" HOST AUTH "\r\n",
		 " 404 |\"kind\":\"Own\",\"status\":404"},
		{"GET /tree HTTP/1.1\r\n" HOST AUTH "\r\n", " 404 |\"kind\":\"Own\""},
		{"GET /tree?x=y HTTP/1.1\r\n" HOST AUTH "\r\n", " 404 |\"kind\":\"Own\""},
		{"GET /%74ree HTTP/1.1\r\n" HOST AUTH "\r\n", " 404 |\"kind\":\"Own\""},
		{"GET http://x/tree HTTP/1.1\r\n" HOST AUTH "\r\n",
		 " 404 |\"kind\":\"Own\""},
		{"GET /trees HTTP/1.1\r\n" HOST AUTH "\r\n",
		 " 404 |\"code\":\"NotFound\""},
		{"GET /lost HTTP/1.1\r\n" HOST AUTH "\r\n",
		 " 404 |\"code\":\"NotFound\""},
		{"DELETE /tree/a HTTP/1.1\r\n" HOST AUTH "\r\n",
		 " 405 |\"kind\":\"Own\",\"status\":405"},
		{"GET /tree/admin HTTP/1.1\r\n" HOST "\r\n",
		 " 401 |\"kind\":\"Own\",\"status\":401"},
		{"GET /tree/admin HTTP/1.1\r\n" HOST "\r\n",
		 " 401 |WWW-Authenticate: Bearer"},
		{"GET /tree/a%00 HTTP/1.1\r\n" HOST AUTH "\r\n",
		 " 400 |\"kind\":\"Own\",\"status\":400"},
		{"GET /tree/open HTTP/1.1\r\n" HOST "\r\n", " 200 |\"len\":0"},
	};
	char answer[4096], status[8];

	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		const char *bar = strchr(rows[i].want, '|');

		snprintf(status, sizeof(status), "%.*s", (int)(bar - rows[i].want),
			 rows[i].want);
		http_ask(*state, rows[i].request, answer, sizeof(answer));
		if (!strstr(answer, status) || !strstr(answer, bar + 1))
			fail_msg("row %zu: %s", i, answer);
	}
}

/* While nobody knows yet what there will be. */
static void test_not_open_yet(void **state)
{
	struct http_server server = {0};
	struct neap_grants grants = {0};
	char answer[4096];

	(void)state;
	http_server_start_as(&server, 0, setup_early,
			     &(struct http_access){.grants = &grants});
	http_ask(&server, "GET /tree/lost HTTP/1.1\r\n" HOST AUTH "\r\n", answer,
		 sizeof(answer));
	assert_non_null(strstr(answer, " 503 "));
	assert_non_null(strstr(answer, "Retry-After: 1"));
	assert_non_null(strstr(answer, "\"kind\":\"Own\",\"status\":503"));
	http_ask(&server, "GET /tree/lost HTTP/1.1\r\n" HOST "\r\n", answer,
		 sizeof(answer));
	assert_non_null(strstr(answer, " 401 "));
	http_ask(&server, "GET /tree/open HTTP/1.1\r\n" HOST "\r\n", answer,
		 sizeof(answer));
	assert_non_null(strstr(answer, " 200 "));
	http_ask(&server, "GET /lost HTTP/1.1\r\n" HOST AUTH "\r\n", answer,
		 sizeof(answer));
	assert_non_null(strstr(answer, " 404 "));
	http_server_stop(&server);
}

/* --- bodies --- */

static void send_body(const struct http_server *server, const char *head, size_t len,
		      char *answer, size_t size)
{
	neap_auto_free char *body = neap_alloc(len);
	int fd = http_dial(server);
	char text[512];

	assert_non_null(body);
	memset(body, 'x', len);
	snprintf(text, sizeof(text), "%sContent-Length: %zu\r\nConnection: close\r\n\r\n",
		 head, len);
	http_say(fd, text, strlen(text));
	http_say(fd, body, len);
	(void)http_hear_end(fd, answer, size); /* the caller looks at what came */
	close(fd);
}

static void test_bodies(void **state)
{
	static const struct {
		const char *head;
		size_t len;
		const char *want;
	} rows[] = {
		{"POST /tree/a HTTP/1.1\r\n" HOST AUTH, 3 * MIB, "\"len\":3145728"},
		{"POST /tree/a HTTP/1.1\r\n" HOST AUTH, 3 * MIB + 1,
		 "\"kind\":\"Own\",\"status\":413"},
		{"POST /tree/a HTTP/1.1\r\n" HOST AUTH, 8 * MIB,
		 "\"kind\":\"Own\",\"status\":413"},
		{"POST /other HTTP/1.1\r\n" HOST AUTH, 1 * MIB, "\"len\":1048576"},
		{"POST /other HTTP/1.1\r\n" HOST AUTH, 1 * MIB + 1, " 413 "},
		{"POST /other HTTP/1.1\r\n" HOST AUTH, 3 * MIB,
		 "\"code\":\"RequestEntityTooLarge\""},
		{"POST /tree/a HTTP/1.1\r\n" HOST, 1 * MIB,
		 "\"kind\":\"Own\",\"status\":401"},
		{"POST /other HTTP/1.1\r\n" HOST, 1 * MIB, "\"code\":\"Unauthorized\""},
	};
	char answer[4096];

	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		send_body(*state, rows[i].head, rows[i].len, answer, sizeof(answer));
		if (!strstr(answer, rows[i].want))
			fail_msg("row %zu: %s", i, answer);
	}
}

/* A request of size bytes in all, with close behind its answer or not. Returns its
 * length. */
static size_t make_sum(char *to, size_t size, bool is_last, char *want, size_t want_size)
{
	size_t len = size, head;
	int n;

	/* The head has its own length in it. */
	do {
		n = snprintf(to, size,
			     "POST /tree/sum HTTP/1.1\r\n" HOST AUTH
			     "%sContent-Length: %zu\r\n\r\n",
			     is_last ? "Connection: close\r\n" : "", len);
		head = (size_t)n;
		len--;
	} while (head + len + 1 > size);
	len++;
	for (size_t i = 0; i < len; i++)
		to[head + i] = (char)('a' + (i + i / 251 + i / 65521) % 26);
	(void)snprintf(want, want_size, "<%zu %u>", len, sum_of(to + head, len));
	return head + len;
}

/* Requests around the sizes that are read at a time, a small one right behind each:
 * nothing of one is lost, nor in the other. In one piece and in pieces, the end of the
 * connection behind the last byte or not. */
static void test_bodies_behind_each_other(void **state)
{
	static const size_t sizes[] = {4095,   4096,   4097,   8191,  8192,
				       8193,   65535,  65536,  69631, 69632,
				       69633,  73728,  73729,  77824, 77825,
				       131072, 135168, 300000, MIB,   3 * MIB};
	neap_auto_free char *text = neap_alloc(4 * MIB);
	char answer[4096], first[64], second[64];

	for (size_t i = 0; i < NEAP_ARRAY_LEN(sizes) * 3; i++) {
		size_t size = sizes[i / 3], piece = i % 3 == 1 ? 4096 : 4 * MIB, len;
		int fd = http_dial(*state);

		len = make_sum(text, size, false, first, sizeof(first));
		len += make_sum(text + len, 300, true, second, sizeof(second));
		for (size_t at = 0; at < len; at += piece)
			http_say(fd, text + at, len - at < piece ? len - at : piece);
		if (i % 3 == 2)
			(void)shutdown(fd, SHUT_WR);
		if (!http_hear_end(fd, answer, sizeof(answer)) ||
		    !strstr(answer, first) || !strstr(answer, second))
			fail_msg("%zu bytes: want %s and %s, got %s", size, first, second,
				 answer);
		close(fd);
	}
}

/* --- streams and connections --- */

/* Opens streams until one is refused, or ALL; how many. */
#define ALL 240

static int open_streams(const struct http_server *server, const char *request, int *fds,
			char *answer, size_t size)
{
	for (int i = 0; i < ALL; i++) {
		fds[i] = http_dial(server);
		http_say(fds[i], request, strlen(request));
		answer[0] = '\0';
		while (!strstr(answer, "begun") && !strstr(answer, "too many")) {
			size_t len = strlen(answer);

			if (http_hear(fds[i], answer + len, size - len, 1))
				break;
		}
		if (!strstr(answer, "begun"))
			return i;
	}
	return ALL;
}

static void close_streams(const int *fds, int count)
{
	for (int i = 0; i < count; i++)
		close(fds[i]);
}

/* As many, once the server has seen that earlier ones ended; they are closed again. */
static bool opens(const struct http_server *server, const char *request, char *answer,
		  size_t size, int want)
{
	int fds[ALL], count;

	return comes_true((count = open_streams(server, request, fds, answer, size),
			   close_streams(fds, count < ALL ? count + 1 : ALL),
			   count == want));
}

static void test_streams(void **state)
{
	char answer[4096];
	int fds[ALL], count;

	assert_true(opens(*state, GET("/other/flow") "\r\n", answer, sizeof(answer),
			  NEAP_HTTP_STREAMS_PEER_MAX));
	assert_non_null(strstr(answer, "too many streams of one client are open: 8"));
	count = open_streams(*state, GET("/tree/flow") "\r\n", fds, answer,
			     sizeof(answer));
	assert_int_equal(count, 100 + NEAP_HTTP_RESERVE);
	assert_non_null(strstr(answer, "\"kind\":\"Own\",\"status\":503"));
	assert_non_null(strstr(answer, "too many streams are open: 228"));
	/* They are counted apart. */
	http_ask(*state, GET("/tree/open") "\r\n", answer, sizeof(answer));
	assert_non_null(strstr(answer, " 200 "));
	close_streams(fds, count + 1);
	assert_true(opens(*state, GET("/tree/flow") "\r\n", answer, sizeof(answer),
			  100 + NEAP_HTTP_RESERVE));
}

static void test_streams_of_strangers(void **state)
{
	char answer[4096];

	assert_true(opens(*state, "GET /tree/flow HTTP/1.1\r\n" HOST "\r\n", answer,
			  sizeof(answer), NEAP_HTTP_STREAMS_PEER_MAX));
}

static int open_of(const int *fds, int count)
{
	char answer[1024];
	int open_count = 0;

	for (int i = 0; i < count; i++)
		open_count += !http_hear(fds[i], answer, sizeof(answer), 0);
	return open_count;
}

/* Says something and hears the answer; false: the connection has ended. */
static bool is_served(int fd, const char *request)
{
	char answer[1024];
	int status = 0;
	size_t len;

	http_say(fd, request, strlen(request));
	return http_read(fd, answer, sizeof(answer), &status, &len) && status == 200;
}

/* Those who are known fill what there is for them, and no more; strangers neither drive
 * them out nor are kept out by them. */
static void test_connections(void **state)
{
	enum { KNOWN = 264, STRANGERS = 80 };
	static const char known[] = GET("/tree/open") "\r\n",
			  stranger[] = "GET /tree/open HTTP/1.1\r\n" HOST "\r\n";
	struct rlimit limit, low = {1024, 0};
	struct http_server server = {0};
	int fds[KNOWN], others[STRANGERS], i;
	char answer[1024];

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	low.rlim_max = limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	http_server_start(&server, 0, setup);
	for (i = 0; i < KNOWN; i++) {
		fds[i] = http_dial(&server);
		assert_true(is_served(fds[i], known));
	}
	/* One more finds no room. */
	i = http_dial(&server);
	http_say(i, known, strlen(known));
	assert_true(http_hear_end(i, answer, sizeof(answer)));
	assert_non_null(strstr(answer, " 503 "));
	assert_non_null(strstr(answer, "\"kind\":\"Own\",\"status\":503"));
	close(i);
	for (i = 0; i < STRANGERS; i++) {
		others[i] = http_dial(&server);
		assert_true(is_served(others[i], stranger));
	}
	/* The caps are kept some time after each newcomer. */
	assert_true(
		comes_true(open_of(others, STRANGERS) == NEAP_HTTP_CONNECTIONS_PEER_MAX));
	for (i = 0; i < KNOWN; i++)
		assert_true(is_served(fds[i], known));
	/* A place comes free. */
	assert_true(comes_true(
		(close(fds[0]), fds[0] = http_dial(&server), is_served(fds[0], known))));
	for (i = 0; i < KNOWN; i++)
		close(fds[i]);
	for (i = 0; i < STRANGERS; i++)
		close(others[i]);
	http_server_stop(&server);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_not_open_yet),
		cmocka_unit_test_setup_teardown(test_refusals, start_closed, stop),
		cmocka_unit_test_setup_teardown(test_bodies, start_closed, stop),
		cmocka_unit_test_setup_teardown(test_bodies_behind_each_other,
						start_closed, stop),
		cmocka_unit_test_setup_teardown(test_streams, start_closed, stop),
		cmocka_unit_test_setup_teardown(test_streams_of_strangers, start_open,
						stop),
		cmocka_unit_test(test_connections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
