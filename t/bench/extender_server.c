/* SPDX-License-Identifier: Apache-2.0
 *
 * For P3 to P5: neap's extender as neapd serves it, on its API, store and scheduler, and
 * nothing beside. extender_server FILE NODES: the store's file, and how many nodes
 * (node-00000 and so on) there are beside the pod default/p with the uid "p", which is
 * nobody's. Prints its port; ends when its standard input does. */
#include <event2/event.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/extender/extender.h"
#include "api/http/server.h"
#include "api/kube/kube.h"
#include "api/kube/serve/client_local.h"
#include "api/schedule/schedule.h"
#include "api/schedule/view.h"
#include "api/store/sqlite/sqlite.h"
#include "api/store/write.h"
#include "engine/json/json.h"

#define HISTORY_USEC  (INT64_C(3600) * 1000000)
#define HISTORY_BYTES ((size_t)64 * 1024 * 1024)

struct bench {
	struct event_base *base;
	struct neap_kube *kube;
	struct neap_store *store;
	struct neap_scheduler *scheduler;
	struct event *look;
	int port;
};

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

/* Until the scheduler has read everything. */
static void look(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval soon = {.tv_usec = 10000};
	struct bench *bench = arg;
	struct neap_schedule_view view;

	(void)fd;
	(void)what;
	if (!neap_scheduler_view(bench->scheduler, &view)) {
		(void)event_add(bench->look, &soon);
		return;
	}
	printf("%d\n", bench->port);
	(void)fflush(stdout);
}

static int put(struct neap_store *store, const char *resource, const char *ns,
	       const char *name, const char *text, struct neap_error *err)
{
	static const char *const fields[] = {"spec.nodeName", "status.phase", NULL};
	struct neap_store_write write = {.verb = NEAP_STORE_CREATE,
					 .resource = resource,
					 .ns = ns,
					 .name = name,
					 .fields = fields};

	if (neap_json_parse(text, strlen(text), 0, &write.object, NULL) < 0)
		return neap_error_set(err, NEAP_EINTERNAL, "%s is no JSON", name);
	return neap_store_write_take(store, &write, err);
}

/* What fits and how well differs from node to node. */
static int fill(struct neap_store *store, int nodes, struct neap_error *err)
{
	char name[32], text[2048];
	int failed = 0;

	for (int i = 0; i < nodes && failed == 0; i++) {
		(void)snprintf(name, sizeof(name), "node-%05d", i);
		(void)snprintf(
			text, sizeof(text),
			"{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"%s\",\"uid\":"
			"\"%s\",\"labels\":{\"kubernetes.io/hostname\":\"%s\",\"zone\":\"z%d\"}},\"spec\":{"
			"%s},\"status\":{\"allocatable\":{\"cpu\":\"%dm\",\"memory\":\"%dGi\",\"pods\":"
			"\"110\"}}}",
			name, name, name, i % 3, i % 50 ? "" : "\"unschedulable\":true",
			i % 20 ? 4000 + i % 61 * 1000 : 500, 16 + i % 17);
		failed = put(store, "nodes", "", name, text, err);
		/* A store takes so many at a time. */
		if (i % 8192 == 8191) {
			usleep(500000);
			neap_store_hear(store);
		}
	}
	return failed < 0
		       ? failed
		       : put(store, "pods", "default", "p",
			     "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"p\","
			     "\"namespace\":\"default\",\"uid\":\"p\"},\"spec\":{\"schedulerName\":"
			     "\"default-scheduler\",\"containers\":[{\"name\":\"c\",\"image\":\"i\","
			     "\"resources\":{\"requests\":{\"cpu\":\"1\",\"memory\":\"1Gi\"}}}]}}",
			     err);
}

static int start(struct bench *bench, struct neap_http_config *http,
		 const struct neap_store_sqlite_config *store, int nodes,
		 struct neap_error *err)
{
	static const struct neap_kube_kind *const *const tables[] = {
		neap_kube_core_kinds, neap_kube_apps_kinds, neap_kube_other_kinds};
	static const char *const names[] = {"neap-scheduler", NULL};
	struct neap_kube_config kube = {.base = bench->base,
					.registry = neap_kube_registry_new()};
	struct neap_scheduler_config scheduler = {.base = bench->base, .names = names};
	struct neap_extender_config extender = {0};
	struct neap_extender *made;
	struct event *heard;

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		if (neap_kube_registry_add_all(kube.registry, tables[i], err) < 0)
			return -1;
	if (neap_store_sqlite_open(store, &kube.store, err) < 0 ||
	    fill(kube.store, nodes, err) < 0 ||
	    neap_kube_new(&kube, &bench->kube, err) < 0 ||
	    neap_http_new(bench->base, http, &extender.http, err) < 0)
		return -1;
	bench->store = kube.store;
	while (neap_store_count(kube.store, "pods") == 0) {
		usleep(10000);
		neap_store_hear(kube.store);
	}
	scheduler.client = neap_kube_client(bench->kube);
	if (neap_scheduler_new(&scheduler, &bench->scheduler, err) < 0)
		return -1;
	extender.scheduler = bench->scheduler;
	if (neap_extender_new(&extender, &made, err) < 0)
		return -1;
	heard = event_new(bench->base, neap_store_fd(kube.store), EV_READ | EV_PERSIST,
			  hear, kube.store);
	return heard && event_add(heard, NULL) == 0 ? 0 : neap_error_nomem(err);
}

int main(int argc, char **argv)
{
	struct bench bench = {.base = neap_http_base_new()};
	struct neap_http_config http = {.tls_fd = -1,
					.unix_fd = -1,
					.own_uid = geteuid(),
					.plain_role = NEAP_HTTP_READER};
	struct neap_store_sqlite_config store = {.history_usec = HISTORY_USEC,
						 .history_bytes = HISTORY_BYTES};
	struct event *input =
		event_new(bench.base, STDIN_FILENO, EV_READ, end, bench.base);
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);
	struct neap_error err = {0};

	if (argc != 3) {
		(void)fprintf(stderr, "usage: extender_server FILE NODES\n");
		return 2;
	}
	store.file = argv[1];
	(void)signal(SIGPIPE, SIG_IGN);
	neap_json_setup();
	if (neap_http_bind_tcp("127.0.0.1:0", &http.tcp_fd, &err) < 0 ||
	    start(&bench, &http, &store, (int)strtol(argv[2], NULL, 10), &err) < 0) {
		(void)fprintf(stderr, "extender_server: %s\n", err.msg);
		return 1;
	}
	(void)getsockname(http.tcp_fd, (struct sockaddr *)&addr, &len);
	bench.port = ntohs(addr.sin_port);
	bench.look = evtimer_new(bench.base, look, &bench);
	look(-1, 0, &bench);
	(void)event_add(input, NULL);
	(void)event_base_dispatch(bench.base);
	return 0; /* the file is as after a kill, which a start must bear anyway */
}
