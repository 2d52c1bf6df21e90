/* SPDX-License-Identifier: Apache-2.0
 *
 * For P14 and P15: neap's HTTP server alone, with the guards and the token as neapd has
 * them. Prints its port; ends when its standard input does. "/tiny" answers with a small
 * JSON object, "/text?n=N" with N bytes. */
#include <event2/event.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/http/server.h"

#define TEXT_MAX ((size_t)1024 * 1024)

static char text[TEXT_MAX];

static void tiny(void *arg, struct neap_http_request *request)
{
	(void)arg;
	neap_http_answer_json_take(request, 200, json_pack("{s:b}", "ok", 1));
}

static void give_text(void *arg, struct neap_http_request *request)
{
	const char *n = neap_http_query_find(request, "n");
	size_t len = n ? strtoul(n, NULL, 10) : 0;

	(void)arg;
	neap_http_answer_text(request, 200, "text/plain", text,
			      len < TEXT_MAX ? len : TEXT_MAX);
}

static void end(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)event_base_loopbreak(arg);
}

/* The one that is asked for is not the first, as in neapd. */
static const struct neap_http_route routes[] = {
	{"GET", "/control/v1/health", NEAP_HTTP_ANYBODY, tiny},
	{"GET", "/control/v1/version", NEAP_HTTP_ANYBODY, tiny},
	{"GET", "/control/v1/status", NEAP_HTTP_READER, tiny},
	{"GET", "/control/v1/policies/{kind}/{name}", NEAP_HTTP_READER, tiny},
	{"PUT", "/control/v1/policies/{kind}/{name}", NEAP_HTTP_READER, tiny},
	{"GET", "/text", NEAP_HTTP_READER, give_text},
	{"GET", "/tiny", NEAP_HTTP_READER, tiny},
	{0},
};

int main(void)
{
	struct event_base *base = neap_http_base_new();
	struct neap_http_config config = {.unix_fd = -1, .token = "secret"};
	struct event *input =
		event_new(base, STDIN_FILENO, EV_READ, end, base); /* a pipe */
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);
	struct neap_http *http;
	struct neap_error err = {0};

	(void)signal(SIGPIPE, SIG_IGN);
	memset(text, 'x', sizeof(text));
	if (neap_http_bind_tcp("127.0.0.1:0", &config.tcp_fd, &err) < 0 ||
	    neap_http_new(base, &config, &http, &err) < 0 ||
	    neap_http_add_routes(http, routes, NULL, &err) < 0) {
		(void)fprintf(stderr, "http_server: %s\n", err.msg);
		return 1;
	}
	(void)getsockname(config.tcp_fd, (struct sockaddr *)&addr, &len);
	printf("%d\n", ntohs(addr.sin_port));
	(void)fflush(stdout);
	(void)event_add(input, NULL);
	(void)event_base_dispatch(base);
	neap_http_free(http);
	event_free(input);
	event_base_free(base);
	return 0;
}
