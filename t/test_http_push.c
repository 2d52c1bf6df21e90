/* SPDX-License-Identifier: Apache-2.0
 *
 * Pushed answers, with a length and without: what the socket does not take waits, is held
 * meanwhile and let go once, whether it arrives or the client goes before; a connection
 * with a length is kept. */
#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/http/server.h"
#include "api/http/tls/tls.h"
#include "engine/base/mem.h"
#include "t/lib/http.h"
#include "t/lib/patience.h"
#include "t/lib/tls_rig.h"

#define PART   ((size_t)1024 * 1024)
#define PIECES 8
#define ALL    ((PART + 2) * PIECES)

/* --- the server's side --- */

struct giver {
	struct neap_http_stream *stream;
	int left;
};

static struct {
	char part[PART];
	int held, released, rooms, gone, ended;
	struct giver *last;
} hub;

static void hold(void *owner)
{
	(*(int *)owner)++;
}

static void release(void *owner)
{
	(void)owner;
	hub.released++;
}

static void give(void *arg)
{
	static const struct neap_http_owners owners = {hold, release};
	const struct neap_http_part parts[] = {
		{"<", 1, NULL}, {hub.part, PART, &hub.held}, {">", 1, NULL}};
	struct giver *giver = arg;

	while (giver->left > 0) {
		int pushed;

		giver->left--;
		pushed = neap_http_stream_push(giver->stream, parts, 3, &owners, give,
					       giver);
		if (pushed == 0) {
			hub.rooms++;
			if (giver->left > 0)
				return;
		}
	}
	hub.ended++;
	neap_http_stream_end(giver->stream);
	hub.last = NULL;
	free(giver);
}

static void gone(void *arg)
{
	hub.gone++;
	hub.last = NULL;
	free(arg);
}

static struct giver *giver_new(void)
{
	struct giver *giver = neap_alloc(sizeof(*giver));

	giver->left = PIECES;
	hub.last = giver;
	for (size_t i = 0; i < PART; i++)
		hub.part[i] = (char)('a' + i % 23);
	return giver;
}

static void give_stream(void *arg, struct neap_http_request *request)
{
	struct giver *giver = giver_new();

	(void)arg;
	giver->stream = neap_http_stream_start_take(request, "text/plain", gone, giver);
	if (giver->stream)
		give(giver);
	else
		free(giver);
}

static void give_long(void *arg, struct neap_http_request *request)
{
	struct giver *giver = giver_new();

	(void)arg;
	giver->stream =
		neap_http_answer_long_take(request, "text/plain", ALL, gone, giver);
	if (giver->stream)
		give(giver);
	else
		free(giver);
}

static void cut(void *arg, struct neap_http_request *request)
{
	(void)arg;
	if (hub.last)
		neap_http_stream_cut(hub.last->stream);
	neap_http_answer_json_take(request, 200, json_object());
}

static void stats(void *arg, struct neap_http_request *request)
{
	(void)arg;
	neap_http_answer_json_take(request, 200,
				   json_pack("{s:i, s:i, s:i, s:i}", "waiting",
					     hub.held - hub.released, "rooms", hub.rooms,
					     "gone", hub.gone, "ended", hub.ended));
}

static const struct neap_http_route routes[] = {
	{"GET", "/stream", NEAP_HTTP_READER, give_stream},
	{"GET", "/long", NEAP_HTTP_READER, give_long},
	{"POST", "/cut", NEAP_HTTP_READER, cut},
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

	http_server_start(server, 20, setup);
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

static void expect(const struct http_server *server, const char *what)
{
	char answer[4096] = "";

	if (!comes_true((http_ask(server, GET("/stats") "\r\n", answer, sizeof(answer)),
			 strstr(answer, what) != NULL)))
		fail_msg("wanted %s: %s", what, answer);
}

/* What it was given, as it was given; to points behind the head. */
static void check_pieces(const char *at, bool is_chunked)
{
	for (int i = 0; i < PIECES; i++) {
		if (is_chunked) {
			assert_int_equal(strtoul(at, NULL, 16), PART + 2);
			at = strstr(at, "\r\n") + 2;
		}
		assert_int_equal(*at++, '<');
		for (size_t k = 0; k < PART; k++)
			if (at[k] != (char)('a' + k % 23))
				fail_msg("piece %d, byte %zu", i, k);
		at += PART;
		assert_int_equal(*at++, '>');
		if (is_chunked) {
			assert_memory_equal(at, "\r\n", 2);
			at += 2;
		}
	}
	if (is_chunked)
		assert_memory_equal(at, "0\r\n\r\n", 5);
}

static void test_length(void **state)
{
	char *answer = neap_alloc(ALL + 4096);
	int fd = http_dial(*state), status;
	const char request[] = GET("/long") "\r\n";
	size_t len;

	/* Twice on one connection, and another request behind. */
	for (int i = 0; i < 2; i++) {
		http_say(fd, request, strlen(request));
		expect(*state, "\"rooms\":"); /* the server is not held up */
		assert_true(http_read(fd, answer, ALL + 4096, &status, &len));
		assert_int_equal(status, 200);
		check_pieces(strstr(answer, "\r\n\r\n") + 4, false);
	}
	http_say(fd, GET("/stats") "\r\n", strlen(GET("/stats") "\r\n"));
	assert_true(http_read(fd, answer, 4096, &status, &len));
	assert_non_null(strstr(answer, "\"waiting\":0"));
	assert_non_null(strstr(answer, "\"gone\":0,\"ended\":2"));
	assert_null(strstr(answer, "\"rooms\":0"));
	(void)close(fd);
	free(answer);
}

static void test_stream(void **state)
{
	char *answer = neap_alloc(ALL + 4096);
	const char old[] = "GET /stream HTTP/1.0\r\n" AUTH "\r\n";
	int fd = http_dial(*state);

	http_say(fd, GET("/stream") "\r\n", strlen(GET("/stream") "\r\n"));
	expect(*state, "\"ended\":0");
	assert_true(http_hear_end(fd, answer, ALL + 4096));
	assert_non_null(strstr(answer, "Transfer-Encoding: chunked"));
	check_pieces(strstr(answer, "\r\n\r\n") + 4, true);
	(void)close(fd);
	fd = http_dial(*state);
	http_say(fd, old, strlen(old));
	assert_true(http_hear_end(fd, answer, ALL + 4096));
	check_pieces(strstr(answer, "\r\n\r\n") + 4, false);
	(void)close(fd);
	expect(*state, "\"waiting\":0");
	expect(*state, "\"ended\":2");
	free(answer);
}

/* What waits for a client that goes, or that is cut off, is let go. */
static void test_goes(void **state)
{
	static const char *const requests[] = {GET("/long") "\r\n",
					       GET("/stream") "\r\n"};
	char answer[4096];

	for (int i = 0; i < 4; i++) {
		int fd = http_dial(*state);
		char want[32];

		http_say(fd, requests[i % 2], strlen(requests[i % 2]));
		expect(*state, "\"waiting\":1");
		if (i < 2)
			(void)close(fd);
		else
			http_ask(*state,
				 "POST /cut HTTP/1.1\r\n" HOST AUTH
				 "Content-Length: 0\r\n\r\n",
				 answer, sizeof(answer));
		(void)snprintf(want, sizeof(want), "\"gone\":%d", i + 1);
		expect(*state, want);
		expect(*state, "\"waiting\":0");
		if (i >= 2)
			(void)close(fd);
	}
	expect(*state, "\"ended\":0");
}

static void test_head(void **state)
{
	const char request[] =
		"HEAD /long HTTP/1.1\r\n" HOST AUTH "Connection: close\r\n\r\n";
	char answer[4096], want[64];
	int fd = http_dial(*state);

	http_say(fd, request, strlen(request));
	assert_true(http_hear_end(fd, answer, sizeof(answer)));
	(void)snprintf(want, sizeof(want), "Content-Length: %zu", ALL);
	assert_non_null(strstr(answer, want));
	assert_string_equal(strstr(answer, "\r\n\r\n"), "\r\n\r\n");
	(void)close(fd);
}

/* --- over TLS, where nothing is written at once --- */

static int start_tls(void **state)
{
	char cert[96], key[96], ca[96];
	const struct neap_tls_config tls = {cert, key, ca, geteuid()};
	const struct http_access access = {.tls = &tls, .grants = &tls_rig_grants};
	struct http_server *server = neap_alloc(sizeof(*server));

	(void)snprintf(cert, sizeof(cert), "%s/server.crt", tls_rig_dir);
	(void)snprintf(key, sizeof(key), "%s/server.key", tls_rig_dir);
	(void)snprintf(ca, sizeof(ca), "%s/ca.crt", tls_rig_dir);
	http_server_start_as(server, 20, setup, &access);
	*state = server;
	return 0;
}

static size_t hear_tls(SSL *ssl, char *buf, size_t size)
{
	size_t have = 0;
	int n = 1;

	while (n > 0 && have < size - 1) {
		n = SSL_read(ssl, buf + have, (int)(size - 1 - have));
		have += n > 0 ? (size_t)n : 0;
	}
	buf[have] = '\0';
	return have;
}

static void test_tls(void **state)
{
	SSL_CTX *context = tls_context(tls_rig_dir, "bob", 0);
	SSL *ssl = tls_dial(*state, context);
	char *answer = neap_alloc(ALL + 4096);
	const char request[] = "GET /stream HTTP/1.1\r\n" HOST "\r\n";

	assert_non_null(ssl);
	/* Whole to the last byte, and the connection is kept. */
	for (int i = 0; i < 3; i++) {
		assert_int_equal(tls_ask(ssl, "GET /long HTTP/1.1\r\n" HOST "\r\n",
					 strlen("GET /long HTTP/1.1\r\n" HOST "\r\n"),
					 answer, ALL + 4096),
				 200);
		check_pieces(strstr(answer, "\r\n\r\n") + 4, false);
	}
	/* The last chunk is followed by the end. */
	assert_true(SSL_write(ssl, request, (int)strlen(request)) > 0);
	assert_true(hear_tls(ssl, answer, ALL + 4096) > ALL);
	check_pieces(strstr(answer, "\r\n\r\n") + 4, true);
	tls_close(ssl);
	SSL_CTX_free(context);
	free(answer);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(length), TEST(stream), TEST(goes), TEST(head),
		cmocka_unit_test_setup_teardown(test_tls, start_tls, stop)};

	return cmocka_run_group_tests(tests, tls_rig_make, tls_rig_remove);
}
