/* SPDX-License-Identifier: Apache-2.0
 *
 * A crowd for the soak of watches: kube_crowd PORT WATCHERS OBJECTS SECONDS. So many
 * watches of every kind (with selectors, as Tables, from the beginning and from a
 * version), of which some read nothing for a while, some are cut and come again all the
 * time; lists, whole and in pages; and writers that create, change and delete. Everything
 * is closed at the end. Prints what there was; a request that is answered with neither
 * what was asked for nor what may happen (409, 404, 410) ends it. */
#include <errno.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include "engine/base/mem.h"
#include "t/bench/kube_wire.h"

#define WATCHERS_MAX 4096
#define WRITERS      4
#define OBJECT_BYTES 2048
#define PIECE        ((size_t)256 * 1024)

struct watcher {
	int fd; /* -1: none */
	bool is_asleep;
};

struct crowd {
	int port, epoll, count, objects;
	struct watcher watchers[WATCHERS_MAX];
	int writers[WRITERS];
	uint32_t seed;
	char *request, *body, *answer;
	long opened, ended, writes, lists;
	long version; /* newest that an answer told of */
	double bytes;
};

static unsigned draw(struct crowd *crowd, unsigned below)
{
	crowd->seed = crowd->seed * 1664525 + 1013904223;
	return (crowd->seed >> 8) % below;
}

static void set_reading(struct crowd *crowd, int index, int how)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)index};

	if (epoll_ctl(crowd->epoll, how, crowd->watchers[index].fd, &event) < 0)
		fail("epoll");
}

static void open_watch(struct crowd *crowd, int index)
{
	static const char *const queries[] = {
		"&resourceVersion=0",
		"", /* from the newest version */
		"&labelSelector=app%3Dbench&timeoutSeconds=5&sendInitialEvents=false"
		"&resourceVersionMatch=NotOlderThan",
		"&fieldSelector=metadata.name%3Dc-000007",
		"&allowWatchBookmarks=true&sendInitialEvents=true"
		"&resourceVersionMatch=NotOlderThan&labelSelector=app%3Dnone",
	};
	struct watcher *watcher = &crowd->watchers[index];
	/* The whole of what is there to a few only. */
	unsigned query = draw(crowd, 50) == 0 ? 0 : 1 + draw(crowd, 4);
	char path[512], head[1024];
	int len = snprintf(path, sizeof(path), "%s", MAPS "?watch=true");
	ssize_t n;

	if (query == 1)
		(void)snprintf(path + len, sizeof(path) - (size_t)len,
			       "&allowWatchBookmarks=true&resourceVersion=%ld",
			       crowd->version);
	else
		(void)snprintf(path + len, sizeof(path) - (size_t)len, "%s",
			       queries[query]);
	watcher->fd = dial(crowd->port);
	ask(crowd->request, watcher->fd, "GET", path, "");
	n = recv(watcher->fd, head, sizeof(head), 0);
	if (n < 12 || memcmp(head + 8, " 200", 4) != 0) {
		(void)fprintf(stderr, "kube_crowd: %s: %.*s\n", path, n > 0 ? (int)n : 0,
			      head);
		exit(1);
	}
	watcher->is_asleep = draw(crowd, 20) == 0;
	if (!watcher->is_asleep)
		set_reading(crowd, index, EPOLL_CTL_ADD);
	crowd->opened++;
}

static void close_watch(struct crowd *crowd, int index)
{
	if (crowd->watchers[index].fd >= 0)
		(void)close(crowd->watchers[index].fd);
	crowd->watchers[index].fd = -1;
}

static void read_watches(struct crowd *crowd, int wait_ms)
{
	struct epoll_event events[256];
	int ready = epoll_wait(crowd->epoll, events, 256, wait_ms);

	for (int i = 0; i < ready; i++) {
		int index = (int)events[i].data.u32;
		ssize_t n = recv(crowd->watchers[index].fd, crowd->answer, PIECE,
				 MSG_DONTWAIT);

		if (n > 0) {
			crowd->bytes += (double)n;
			continue;
		}
		if (n < 0 && errno == EAGAIN)
			continue;
		crowd->ended++;
		close_watch(crowd, index);
		open_watch(crowd, index);
	}
}

/* Reads while it waits: a server that waits for its readers would wait for ever. */
static int take_status(struct crowd *crowd, int fd)
{
	size_t got = 0, all = 0;
	char head[4096];
	int status = 0;

	while (!all || got < all) {
		ssize_t n = recv(fd, crowd->answer, PIECE, MSG_DONTWAIT);
		const char *field, *end;

		if (n < 0 && errno == EAGAIN) {
			read_watches(crowd, 1);
			continue;
		}
		if (n <= 0)
			fail("an answer");
		if (!all) {
			(void)snprintf(head, sizeof(head), "%.*s", (int)n, crowd->answer);
			end = strstr(head, "\r\n\r\n");
			field = strcasestr(head, "Content-Length: ");
			if (!end || !field || sscanf(head, "HTTP/1.%*c %d", &status) != 1)
				fail("a head");
			all = (size_t)(end + 4 - head) + strtoul(field + 16, NULL, 10);
			field = strstr(end, "\"resourceVersion\":\"");
			if (field && strtol(field + 19, NULL, 10) > crowd->version)
				crowd->version = strtol(field + 19, NULL, 10);
		}
		got += (size_t)n;
	}
	return status;
}

static void write_one(struct crowd *crowd, int writer)
{
	static const char *const methods[] = {"PUT", "PUT", "DELETE", "POST", "PUT"};
	const char *method = methods[draw(crowd, 5)];
	int name = (int)draw(crowd, (unsigned)crowd->objects), status;
	char path[128];

	name_path(path, sizeof(path), name);
	if (strcmp(method, "POST") == 0)
		(void)snprintf(path, sizeof(path), MAPS);
	make_object(crowd->body, REQUEST_MAX, name, OBJECT_BYTES, (int)crowd->writes);
	ask(crowd->request, crowd->writers[writer], method, path,
	    strcmp(method, "DELETE") == 0 ? "" : crowd->body);
	status = take_status(crowd, crowd->writers[writer]);
	if (status != 200 && status != 201 && status != 404 && status != 409) {
		(void)fprintf(stderr, "kube_crowd: %s: %d\n", method, status);
		exit(1);
	}
	crowd->writes++;
}

static void list_one(struct crowd *crowd)
{
	int status;

	ask(crowd->request, crowd->writers[0], "GET",
	    draw(crowd, 10) == 0 ? MAPS : MAPS "?limit=100", "");
	status = take_status(crowd, crowd->writers[0]);
	if (status != 200)
		fail("a list");
	crowd->lists++;
}

static void trouble(struct crowd *crowd)
{
	int index = (int)draw(crowd, (unsigned)crowd->count);
	struct watcher *watcher = &crowd->watchers[index];

	if (watcher->is_asleep && draw(crowd, 2) == 0) {
		watcher->is_asleep = false;
		set_reading(crowd, index, EPOLL_CTL_ADD);
	} else if (!watcher->is_asleep && draw(crowd, 10) == 0) {
		watcher->is_asleep = true;
		set_reading(crowd, index, EPOLL_CTL_DEL);
	} else {
		close_watch(crowd, index);
		open_watch(crowd, index);
	}
}

static double now(void)
{
	return seconds_of(CLOCK_MONOTONIC);
}

static void run(struct crowd *crowd, double seconds)
{
	double until = now() + seconds;

	for (int i = 0; i < WRITERS; i++)
		crowd->writers[i] = dial(crowd->port);
	list_one(crowd);
	for (int i = 0; i < crowd->count; i++)
		open_watch(crowd, i);
	while (now() < until) {
		for (int i = 0; i < WRITERS; i++)
			write_one(crowd, i);
		read_watches(crowd, 0);
		trouble(crowd);
		if (draw(crowd, 50) == 0)
			list_one(crowd);
	}
	for (int i = 0; i < crowd->count; i++)
		close_watch(crowd, i);
}

int main(int argc, char **argv)
{
	static struct crowd crowd = {.seed = 3};
	struct rlimit files = {0};

	if (argc != 5) {
		(void)fprintf(stderr,
			      "usage: kube_crowd PORT WATCHERS OBJECTS SECONDS\n");
		return 2;
	}
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files); /* then fewer watchers go */
	}
	crowd.port = (int)strtol(argv[1], NULL, 10);
	crowd.count = (int)strtol(argv[2], NULL, 10);
	crowd.objects = (int)strtol(argv[3], NULL, 10);
	crowd.epoll = epoll_create1(EPOLL_CLOEXEC);
	crowd.request = neap_alloc(REQUEST_MAX);
	crowd.body = neap_alloc(REQUEST_MAX);
	crowd.answer = neap_alloc(PIECE);
	if (crowd.count < 1 || crowd.count > WATCHERS_MAX || crowd.objects < 1)
		return 2;
	run(&crowd, strtod(argv[4], NULL));
	printf("%ld watches opened, %ld ended, %.0f MB read, %ld writes, %ld lists\n",
	       crowd.opened, crowd.ended, crowd.bytes / 1e6, crowd.writes, crowd.lists);
	return 0;
}
