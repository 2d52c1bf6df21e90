/* SPDX-License-Identifier: Apache-2.0
 *
 * The limits for P11, P16 and P17: the physical work and nothing else.
 *   kube_limit fan WATCHERS EVENTS BURST BYTES   CPU in microseconds of a raw write, for
 *   each event and watcher
 *   kube_limit log FILE SECONDS BYTES GROUP      appended and fdatasync'ed once a GROUP:
 *   puts a second
 *   kube_limit dump COUNT BYTES ROUNDS           milliseconds: jansson's dump of so many
 *   objects; a copy of their text
 *   kube_limit serve BYTES                       a server that answers with so many
 *   bytes; prints its port */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/mem.h"

#define WATCHERS_MAX 4096

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static double seconds_of(clockid_t clock)
{
	struct timespec now = {0};

	(void)clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int listener(int *ret_port)
{
	struct sockaddr_in addr = {.sin_family = AF_INET};
	socklen_t len = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
	    listen(fd, 1024) < 0 || getsockname(fd, (struct sockaddr *)&addr, &len) < 0)
		fail("listen");
	*ret_port = ntohs(addr.sin_port);
	return fd;
}

static void read_all(int port, int count)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_port = htons((uint16_t)port)};
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	char *buf = neap_alloc(1 << 20);

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (int i = 0; i < count; i++) {
		struct epoll_event event = {.events = EPOLLIN};

		event.data.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (connect(event.data.fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
		    epoll_ctl(epoll, EPOLL_CTL_ADD, event.data.fd, &event) < 0)
			fail("connect");
	}
	for (;;) {
		struct epoll_event events[64];
		int ready = epoll_wait(epoll, events, 64, -1);

		for (int i = 0; i < ready; i++)
			if (recv(events[i].data.fd, buf, 1 << 20, 0) <= 0)
				exit(0);
	}
}

static int run_fan(int watchers, int events, int burst, size_t bytes)
{
	static int fds[WATCHERS_MAX];
	int port, fd = listener(&port);
	char *text = neap_alloc(bytes * (size_t)burst);
	pid_t child = fork();
	double cpu = 0;

	if (child == 0)
		read_all(port, watchers);
	for (int i = 0; i < watchers; i++)
		fds[i] = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	memset(text, 'x', bytes * (size_t)burst);
	for (int at = -2 * burst; at < events;
	     at += burst) { /* the first are not counted */
		const struct timespec pause = {.tv_nsec = 1000000};

		if (at == 0)
			cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
		for (int i = 0; i < watchers; i++)
			if (send(fds[i], text, bytes * (size_t)burst, MSG_NOSIGNAL) < 0)
				fail("send");
		/* As between two commits. */
		(void)nanosleep(&pause, NULL);
	}
	cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
	printf("%.2f\n", cpu * 1e6 / events / watchers);
	free(text);
	return 0;
}

static int run_log(const char *file, double seconds, size_t bytes, int group)
{
	int fd = open(file, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
	char *text = neap_alloc(bytes);
	double from, now;
	int64_t count = 0;

	if (fd < 0)
		fail(file);
	memset(text, 'x', bytes);
	from = seconds_of(CLOCK_MONOTONIC);
	do {
		for (int i = 0; i < group; i++)
			if (write(fd, text, bytes) != (ssize_t)bytes)
				fail("write");
		if (fdatasync(fd) < 0)
			fail("fdatasync");
		count += group;
		now = seconds_of(CLOCK_MONOTONIC);
	} while (now - from < seconds);
	printf("%.0f\n", (double)count / (now - from));
	(void)close(fd);
	(void)unlink(file);
	free(text);
	return 0;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static json_t *make_list(int count, size_t bytes)
{
	json_t *list = json_array();
	char *value = neap_alloc(bytes);

	memset(value, 'x', bytes > 400 ? bytes - 400 : 1);
	for (int i = 0; i < count; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "c-%06d", i);
		if (json_array_append_new(
			    list,
			    json_pack("{s:{s:s,s:{s:s},s:s,s:s,s:s,s:s},s:{s:s,s:s}}",
				      "metadata", "name", name, "labels", "app", "bench",
				      "namespace", "bench", "uid",
				      "2f161535-5344-44fb-bc77-de3f7f2947b8",
				      "creationTimestamp", "2026-09-21T14:13:20Z",
				      "resourceVersion", "12345", "data", "n", "0",
				      "text", value)) < 0)
			fail("no memory");
	}
	free(value);
	return list;
}

static int run_dump(int count, size_t bytes, int rounds)
{
	json_t *list = make_list(count, bytes);
	double dumped[101] = {0}, copied[101] = {0};
	char *copy = NULL;
	size_t len = 0;

	for (int i = 0; i < rounds; i++) {
		double from = seconds_of(CLOCK_MONOTONIC);
		char *text = json_dumps(list, JSON_COMPACT);

		dumped[i] = (seconds_of(CLOCK_MONOTONIC) - from) * 1e3;
		len = strlen(text);
		if (!copy)
			copy = neap_alloc(len);
		from = seconds_of(CLOCK_MONOTONIC);
		memcpy(copy, text, len);
		copied[i] = (seconds_of(CLOCK_MONOTONIC) - from) * 1e3;
		free(text);
	}
	qsort(dumped, (size_t)rounds, sizeof(double), compare);
	qsort(copied, (size_t)rounds, sizeof(double), compare);
	printf("%.2f\t%.2f\t%zu\n", dumped[rounds / 2], copied[rounds / 2], len);
	free(copy);
	json_decref(list);
	return 0;
}

static int run_serve(size_t bytes)
{
	int port, fd = listener(&port), client;
	char *text = neap_alloc(bytes + 128), request[4096];
	int head = snprintf(text, 128, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n",
			    bytes);

	memset(text + head, 'x', bytes);
	printf("%d\n", port);
	(void)fflush(stdout);
	while ((client = accept4(fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		while (recv(client, request, sizeof(request), 0) > 0) {
			size_t all = bytes + (size_t)head, at = 0;

			while (at < all) {
				ssize_t n =
					send(client, text + at, all - at, MSG_NOSIGNAL);

				if (n <= 0)
					break;
				at += (size_t)n;
			}
		}
		(void)close(client);
	}
	return 0;
}

static int number(const char *text, int max)
{
	long value = strtol(text, NULL, 10);

	return value < 1 ? 1 : value > max ? max : (int)value;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[1] : "";
	struct rlimit files = {0};

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files); /* then fewer watchers go */
	}
	if (argc == 6 && strcmp(mode, "fan") == 0)
		return run_fan(number(argv[2], WATCHERS_MAX), number(argv[3], 1000000),
			       number(argv[4], 64), strtoul(argv[5], NULL, 10));
	if (argc == 6 && strcmp(mode, "log") == 0)
		return run_log(argv[2], strtod(argv[3], NULL), strtoul(argv[4], NULL, 10),
			       number(argv[5], 100000));
	if (argc == 5 && strcmp(mode, "dump") == 0)
		return run_dump(number(argv[2], 1000000), strtoul(argv[3], NULL, 10),
				number(argv[4], 101));
	if (argc == 3 && strcmp(mode, "serve") == 0)
		return run_serve(strtoul(argv[2], NULL, 10));
	(void)fprintf(stderr, "kube_limit: see the head of t/bench/kube_limit.c\n");
	return 2;
}
