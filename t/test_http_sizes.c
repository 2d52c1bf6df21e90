/* SPDX-License-Identifier: Apache-2.0
 *
 * Replies of all sizes on one kept connection arrive whole. Sizes around libevent's
 * pieces of 16 KB and around buffers of the kernel are those where replies have stalled;
 * how long each takes is measured by make bench (P14), here is seen that the socket's own
 * delay is off. */
#include <netinet/in.h>
#include <netinet/tcp.h>
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

#define SIZE_MAX_BYTES (1024 * 1024)

/* Different at every place for a long way, so that a piece lost or sent twice is seen. */
static char byte_at(size_t i)
{
	return (char)('a' + (i + i / 251 + i / 65521) % 26);
}

static void give(void *arg, struct neap_http_request *request)
{
	size_t len = strtoul(neap_http_query_find(request, "n"), NULL, 10), i;
	neap_auto_free char *text = neap_alloc(len + 1);

	(void)arg;
	for (i = 0; i < len; i++)
		text[i] = byte_at(i);
	neap_http_answer_text(request, 200, "text/plain", text, len);
}

static void socket_options(void *arg, struct neap_http_request *request)
{
	int nodelay = 0;
	socklen_t len = sizeof(nodelay);

	(void)arg;
	getsockopt(neap_http_fd_get(request), IPPROTO_TCP, TCP_NODELAY, &nodelay, &len);
	neap_http_answer_json_take(request, 200,
				   json_pack("{s:b}", "nodelay", nodelay != 0));
}

static const struct neap_http_route routes[] = {
	{"GET", "/give", NEAP_HTTP_READER, give},
	{"GET", "/options", NEAP_HTTP_READER, socket_options},
	{0},
};

static void setup(struct neap_http *http, struct event_base *base)
{
	struct neap_error err;

	(void)base;
	neap_http_add_routes(http, routes, NULL, &err);
}

static void ask_size(int fd, size_t size, char *answer)
{
	char request[128];
	int status;
	size_t len, i;
	const char *body;

	snprintf(request, sizeof(request), GET("/give?n=%zu") "\r\n", size);
	http_say(fd, request, strlen(request));
	if (!http_read(fd, answer, SIZE_MAX_BYTES + 4096, &status, &len) ||
	    status != 200 || len != size)
		fail_msg("%zu bytes: status %d, %zu bytes", size, status, len);
	body = strstr(answer, "\r\n\r\n") + 4;
	for (i = 0; i < size; i++)
		if (body[i] != byte_at(i))
			fail_msg("%zu bytes: wrong at %zu", size, i);
}

static void sweep(int fd)
{
	static const size_t sizes[] = {
		0,      1,      2,      100,    1000,    1447,
		1448,   1449,   4095,   4096,   4097,    8192,
		15900,  16000,  16383,  16384,  16385,   16600,
		32768,  65535,  65536,  65537,  100000,  131071,
		131072, 131073, 200000, 230000, 262144,  262145,
		320000, 524288, 700000, 999999, 1048575, SIZE_MAX_BYTES,
	};
	neap_auto_free char *answer = neap_alloc(SIZE_MAX_BYTES + 4096);
	size_t count = sizeof(sizes) / sizeof(sizes[0]), i;

	for (i = 0; i < count; i++)
		ask_size(fd, sizes[i], answer);
	/* Small after large: nothing of the one before is left over. */
	for (i = count; i-- > 0;)
		ask_size(fd, sizes[i], answer);
}

static void test_sweep_tcp(void **state)
{
	struct http_server server = {0};
	int fd;

	(void)state;
	http_server_start(&server, 0, setup);
	fd = http_dial(&server);
	sweep(fd);
	close(fd);
	http_server_stop(&server);
}

static void test_sweep_unix(void **state)
{
	struct http_server server = {0};
	int fd;

	(void)state;
	if (geteuid() != 0)
		skip(); /* needs root: only root and neapd's user are known there */
	http_server_start(&server, 0, setup);
	fd = http_dial_unix(&server);
	assert_true(fd >= 0);
	sweep(fd);
	close(fd);
	http_server_stop(&server);
}

static void test_nodelay(void **state)
{
	struct http_server server = {0};
	char answer[4096];

	(void)state;
	http_server_start(&server, 0, setup);
	http_ask(&server, GET("/options") "\r\n", answer, sizeof(answer));
	assert_non_null(strstr(answer, "\"nodelay\":true"));
	http_server_stop(&server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sweep_tcp),
		cmocka_unit_test(test_sweep_unix),
		cmocka_unit_test(test_nodelay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
