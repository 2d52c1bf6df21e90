/* SPDX-License-Identifier: Apache-2.0
 *
 * Pages in browsers that ask for somebody else: by a name that leads here, or across
 * sites. */
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
#include "api/http/users/grants.h"
#include "t/lib/http.h"

static void tell(void *arg, struct neap_http_request *request)
{
	(void)arg;
	neap_http_answer_text(request, 200, "text/plain", "told\n", 5);
}

static const struct neap_http_route routes[] = {
	{"GET", "/open", NEAP_HTTP_ANYBODY, tell},
	{"GET", "/view", NEAP_HTTP_READER, tell},
	{"POST", "/view", NEAP_HTTP_READER, tell},
	{0},
};

static void setup(struct neap_http *http, struct event_base *base)
{
	struct neap_error err;

	(void)base;
	(void)neap_http_add_routes(http, routes, NULL, &err);
}

static int start(void **state)
{
	static struct neap_grants grants;
	static struct http_server server;
	struct neap_error err;

	memset(&grants, 0, sizeof(grants));
	assert_int_equal(neap_grants_parse(&grants, "reader=anonymous", &err), 0);
	http_server_start_as(&server, 0, setup,
			     &(struct http_access){.grants = &grants,
						   .host_names = "n1,Neap.example"});
	*state = &server;
	return 0;
}

static int stop(void **state)
{
	http_server_stop(*state);
	return 0;
}

static const struct {
	const char *headers;
	int status;
	const char *want;
} rows[] = {
	{"Host: 127.0.0.1:6327\r\n", 200, ""},
	{"Host: 10.1.2.3\r\n", 200, ""},
	{"Host: [::1]:6327\r\n", 200, ""},
	{"Host: [fe80::1]\r\n", 200, ""},
	{"Host: localhost:6327\r\n", 200, ""},
	{"Host: LOCALHOST\r\n", 200, ""},
	{"Host: n1:80\r\n", 200, ""},
	{"Host: neap.example\r\n", 200, ""},
	{"Host: evil.example:6327\r\n", 421,
	 "evil.example:6327 is no name of this server: ask by its address, send a "
	 "token, or start neapd with --host-names"},
	{"Host: neap.example.evil\r\n", 421, ""},
	{"Host: n\r\n", 421, ""},
	{"Host: localhost.evil\r\n", 421, ""},
	{"Host: 127.0.0.1.evil.example\r\n", 421, ""},
	{"Host: 127.1\r\n", 421, ""},
	{"Host: [::1].evil\r\n", 200, ""}, /* no resolver takes it for a name */
	{"Host: \r\n", 421, ""},
	{"Host: :80\r\n", 421, ""},
	{"Host: evil.example\r\n" AUTH, 200, ""},
	{"Host: evil.example\r\nAuthorization: Bearer wrong\r\n", 421, ""},
	{"Host: 127.0.0.1:6327\r\nOrigin: http://127.0.0.1:6327\r\n", 200, ""},
	{"Host: 127.0.0.1:6327\r\nOrigin: http://127.0.0.1\r\n", 403, ""},
	{"Host: 127.0.0.1:6327\r\nOrigin: https://evil.example\r\n", 403,
	 "a page of https://evil.example may not ask here without a token"},
	{"Host: 127.0.0.1:6327\r\nOrigin: null\r\n", 403, ""},
	{"Host: evil.example\r\nOrigin: http://evil.example\r\n", 421, ""},
	{"Host: 127.0.0.1\r\nOrigin: https://evil.example\r\n" AUTH, 200, ""},
};

static void test_hosts(void **state)
{
	static const char *const lines[] = {"GET /open", "GET /view", "POST /view"};
	char request[512], answer[2048];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (size_t k = 0; k < sizeof(lines) / sizeof(lines[0]); k++) {
			int status = 0;

			(void)snprintf(request, sizeof(request),
				       "%s HTTP/1.1\r\n%sConnection: close\r\n%s\r\n",
				       lines[k], rows[i].headers,
				       k == 2 ? "Content-Length: 0\r\n" : "");
			http_ask(*state, request, answer, sizeof(answer));
			(void)sscanf(answer, "HTTP/1.1 %d", &status);
			if (status != rows[i].status || !strstr(answer, rows[i].want))
				fail_msg("%s, %s: %s", lines[k], rows[i].headers, answer);
		}
}

/* Over the unix socket no browser comes. */
static void test_unix(void **state)
{
	static const char request[] = "GET /open HTTP/1.1\r\nHost: x\r\nOrigin: "
				      "http://x.example\r\nConnection: close\r\n\r\n";
	char answer[1024];
	int fd = http_dial_unix(*state);

	http_say(fd, request, strlen(request));
	assert_true(http_hear(fd, answer, sizeof(answer), 5000));
	assert_non_null(strstr(answer, " 200 "));
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_hosts, start, stop),
		cmocka_unit_test_setup_teardown(test_unix, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
