/* SPDX-License-Identifier: Apache-2.0
 *
 * For P11, P14, P16 to P19: objects over HTTP as neapd serves them, and nothing beside.
 * kube_server FILE [SOCKET]: the store's file, and a unix socket to listen on too. Prints
 * its port (token "secret"); ends when its standard input does. */
#include <event2/event.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/http/server.h"
#include "api/kube/kube.h"
#include "api/store/sqlite/sqlite.h"
#include "engine/json/json.h"

#define HISTORY_USEC  (INT64_C(3600) * 1000000)
#define HISTORY_BYTES ((size_t)64 * 1024 * 1024) /* BENCH_HISTORY: other than that */

static void end(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)event_base_loopbreak(arg);
}

static void hear(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	neap_store_hear(arg);
}

static void version(void *arg, struct neap_http_request *request)
{
	(void)arg;
	neap_http_answer_json_take(request, 200, json_pack("{s:s}", "gitVersion", "v0"));
}

static const struct neap_http_route routes[] = {
	{"GET", "/version", NEAP_HTTP_ANYBODY, version},
	{0},
};

static int start(struct event_base *base, struct neap_http_config *http,
		 const struct neap_store_sqlite_config *store, struct neap_error *err)
{
	static const struct neap_kube_kind *const *const tables[] = {
		neap_kube_core_kinds, neap_kube_apps_kinds, neap_kube_other_kinds};
	struct neap_kube_config config = {.base = base,
					  .registry = neap_kube_registry_new()};
	struct neap_http *server;
	struct neap_kube *kube;
	struct event *heard;

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		if (neap_kube_registry_add_all(config.registry, tables[i], err) < 0)
			return -1;
	if (neap_store_sqlite_open(store, &config.store, err) < 0 ||
	    neap_kube_new(&config, &kube, err) < 0 ||
	    neap_http_new(base, http, &server, err) < 0 ||
	    neap_http_add_routes(server, routes, NULL, err) < 0 ||
	    neap_kube_serve(kube, server, err) < 0)
		return -1;
	heard = event_new(base, neap_store_fd(config.store), EV_READ | EV_PERSIST, hear,
			  config.store);
	return heard && event_add(heard, NULL) == 0 ? 0 : neap_error_nomem(err);
}

int main(int argc, char **argv)
{
	struct event_base *base = neap_http_base_new();
	struct neap_http_config http = {
		.unix_fd = -1, .token = "secret", .own_uid = geteuid()};
	struct neap_store_sqlite_config store = {.file = argc > 1 ? argv[1] : NULL,
						 .history_usec = HISTORY_USEC,
						 .history_bytes = HISTORY_BYTES};
	struct event *input = event_new(base, STDIN_FILENO, EV_READ, end, base);
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);
	const char *history = getenv("BENCH_HISTORY");
	struct neap_error err = {0};

	if (history)
		store.history_bytes = strtoul(history, NULL, 10);
	if (!store.file) {
		(void)fprintf(stderr, "usage: kube_server FILE [SOCKET]\n");
		return 2;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	neap_json_setup();
	if (neap_http_bind_tcp("127.0.0.1:0", &http.tcp_fd, &err) < 0 ||
	    (argc > 2 && neap_http_bind_unix(argv[2], &http.unix_fd, &err) < 0) ||
	    start(base, &http, &store, &err) < 0) {
		(void)fprintf(stderr, "kube_server: %s\n", err.msg);
		return 1;
	}
	(void)getsockname(http.tcp_fd, (struct sockaddr *)&addr, &len);
	printf("%d\n", ntohs(addr.sin_port));
	(void)fflush(stdout);
	if (event_add(input, NULL) < 0) /* epoll takes no file: then a signal ends it */
		(void)fprintf(stderr, "kube_server: ends by a signal\n");
	(void)event_base_dispatch(base);
	return 0; /* the file is as after a kill, which a start must bear anyway */
}
