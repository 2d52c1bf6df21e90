/* SPDX-License-Identifier: Apache-2.0
 *
 * The API and its store alone on DIR/sock and DIR/neap.db, with the built-in kinds: what
 * neapd's loop serves, without a node, so that it is there again a few milliseconds after
 * it was killed. */
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "api/kube/kube.h"
#include "api/store/sqlite/sqlite.h"
#include "engine/json/json.h"

struct served {
	struct event_base *base;
	struct neap_store *store;
	struct neap_kube_registry *registry;
	struct neap_kube *kube;
	struct neap_http *http;
};

static void hear(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	neap_store_hear(arg);
}

static int start(const char *dir, struct served *served, struct neap_error *err)
{
	char file[256], path[256];
	struct neap_store_sqlite_config store = {
		.file = file,
		.history_usec = INT64_C(300) * 1000000,
		.history_bytes = (size_t)64 * 1024 * 1024,
	};
	struct neap_kube_config kube = {0};
	struct neap_http_config http = {.tcp_fd = -1, .own_uid = geteuid()};

	(void)snprintf(file, sizeof(file), "%s/neap.db", dir);
	(void)snprintf(path, sizeof(path), "%s/sock", dir);
	served->base = neap_http_base_new();
	served->registry = neap_kube_registry_new();
	if (served->base == NULL || served->registry == NULL)
		return neap_error_nomem(err);
	if (neap_store_sqlite_open(&store, &served->store, err) < 0 ||
	    neap_kube_registry_add_all(served->registry, neap_kube_core_kinds, err) < 0)
		return -(int)err->code;
	kube.base = served->base;
	kube.store = served->store;
	kube.registry = served->registry;
	if (neap_kube_new(&kube, &served->kube, err) < 0 ||
	    neap_http_bind_unix(path, &http.unix_fd, err) < 0 ||
	    neap_http_new(served->base, &http, &served->http, err) < 0)
		return -(int)err->code;
	return neap_kube_serve(served->kube, served->http, err);
}

int main(int argc, char **argv)
{
	struct served served = {0};
	struct neap_error err = {0};
	struct event *heard;

	if (argc != 2) {
		(void)fprintf(stderr, "usage: store_serve DIR\n");
		return 2;
	}
	neap_json_setup();
	(void)signal(SIGPIPE, SIG_IGN); /* clients go when they like, as neapd has it */
	if (start(argv[1], &served, &err) < 0) {
		(void)fprintf(stderr, "store_serve: %s\n", err.msg);
		return 1;
	}
	heard = event_new(served.base, neap_store_fd(served.store), EV_READ | EV_PERSIST,
			  hear, served.store);
	if (heard == NULL || event_add(heard, NULL) < 0)
		return 1;
	return event_base_dispatch(served.base) < 0; /* until it is killed */
}
