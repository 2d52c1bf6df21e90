/* SPDX-License-Identifier: Apache-2.0
 *
 * A client for P11, P14, P16 and P17: objects of a server (kube_server or neapd with the
 * token in BENCH_TOKEN, default "secret"), ConfigMaps of namespace "bench".
 *   kube_load fill PORT COUNT BYTES              makes them, 32 at once
 *   kube_load watch PORT PID WATCHERS EVENTS BURST BYTES
 *     CPU of process PID in microseconds for each event and watcher, without what the
 *     writes take (a run without watchers before), and with; one watcher more does not
 *     read
 *   kube_load put PORT CLIENTS SECONDS BYTES     answered changes a second
 *   kube_load etcd PORT CLIENTS SECONDS BYTES    the same of etcd, by its HTTP gateway
 *   kube_load list PORT PID ROUNDS               milliseconds, bytes, and CPU of PID in
 *   ms for all of them
 *   kube_load sizes PORT ROUNDS                  by size of the object: median and
 *   longest, microseconds */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "t/bench/kube_wire.h"

#define CLIENTS_MAX 64
#define FILLERS     32
#define ROUNDS_MAX  1001
#define ANSWER_MAX  ((size_t)64 * 1024 * 1024)
#define REFUSED     INT64_MIN

static char *answer, *request;

static double cpu_of(pid_t pid)
{
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0)
		fail("CPU clock of the server");
	return seconds_of(clock) * 1e6;
}

/* Reads one answer with a length; returns that of the body. Its head is at answer. */
static size_t take(int fd, int status_wanted)
{
	size_t got = 0, all = 0;
	int status = 0;

	while (!all || got < all) {
		ssize_t n = recv(fd, answer + got, ANSWER_MAX - got - 1, 0);
		const char *end, *field;

		if (n <= 0)
			fail("recv");
		got += (size_t)n;
		answer[got] = '\0';
		if (all || !(end = strstr(answer, "\r\n\r\n")))
			continue;
		field = strcasestr(answer, "Content-Length: ");
		all = (size_t)(end + 4 - answer) +
		      (field ? strtoul(field + 16, NULL, 10) : 0);
	}
	if (sscanf(answer, "HTTP/1.%*c %d", &status) != 1 ||
	    (status_wanted && status != status_wanted)) {
		(void)fprintf(stderr, "kube_load: %.600s\n", answer);
		exit(1);
	}
	return all;
}

static void fill(int port, int count, size_t bytes)
{
	int fds[FILLERS];
	char *body = neap_alloc(REQUEST_MAX);

	for (int i = 0; i < FILLERS; i++)
		fds[i] = dial(port);
	ask(request, fds[0], "POST", "/api/v1/namespaces",
	    "{\"metadata\":{\"name\":\"bench\"}}");
	(void)take(fds[0], 0); /* it may be there */
	for (int at = 0; at < count; at += FILLERS) {
		int some = count - at < FILLERS ? count - at : FILLERS;

		for (int i = 0; i < some; i++) {
			make_object(body, REQUEST_MAX, at + i, bytes, 0);
			ask(request, fds[i], "POST", MAPS, body);
		}
		for (int i = 0; i < some; i++)
			(void)take(fds[i], 0);
	}
	for (int i = 0; i < FILLERS; i++)
		(void)close(fds[i]);
	free(body);
}

/* --- watch --- */

/* The head of an answer of status 200 comes, before anything happens. */
static bool begins(int fd)
{
	char head[1024];

	return recv(fd, head, sizeof(head), 0) > 12 && memcmp(head + 8, " 200", 4) == 0;
}

/* Reads what comes and counts the ends of lines. */
static void follow(int port, int watchers, volatile int64_t *lines)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC), fd = dial(port);
	const char *version;
	char path[256];

	ask(request, fd, "GET", MAPS "?limit=1", "");
	(void)take(fd, 200);
	version = strstr(answer, "\"resourceVersion\":\"");
	(void)snprintf(path, sizeof(path), MAPS "?watch=true&resourceVersion=%ld",
		       version ? strtol(version + 19, NULL, 10) : 0);
	for (int i = 0; i <= watchers; i++) {
		struct epoll_event event = {.events = EPOLLIN};

		event.data.fd = dial(port);
		ask(request, event.data.fd, "GET", path, "");
		/* One after the other: a server takes a crowd at its door for an
		 * attack. */
		if (!begins(event.data.fd)) {
			*lines = REFUSED;
			exit(1);
		}
		/* The last one does not read. */
		if (i < watchers &&
		    epoll_ctl(epoll, EPOLL_CTL_ADD, event.data.fd, &event))
			fail("epoll");
	}
	*lines = 0;
	for (;;) {
		struct epoll_event events[64];
		int ready = epoll_wait(epoll, events, 64, -1);

		for (int i = 0; i < ready; i++) {
			ssize_t n = recv(events[i].data.fd, answer, ANSWER_MAX, 0);
			const char *at = answer, *end = answer + (n > 0 ? n : 0);

			if (n <= 0)
				fail("a watch ended");
			/* "}\n" ends a frame, and nothing else. */
			while ((at = memmem(at, (size_t)(end - at), "}}\n", 3)) != NULL) {
				at += 3;
				(*lines)++;
			}
		}
	}
}

static void change_all(const int *fds, int burst, int events, size_t bytes, char *body)
{
	static int n;

	for (int at = 0; at < events; at += burst) {
		n++;
		for (int i = 0; i < burst; i++) {
			char path[128];

			make_object(body, REQUEST_MAX, i, bytes, n);
			name_path(path, sizeof(path), i);
			ask(request, fds[i], "PUT", path, body);
		}
		for (int i = 0; i < burst; i++)
			(void)take(fds[i], 200);
	}
}

static void wait_for(const volatile int64_t *lines, int64_t wanted)
{
	double until = seconds_of(CLOCK_MONOTONIC) + 60;

	while (*lines < wanted) {
		const struct timespec nap = {.tv_nsec = 2000000};

		if (*lines == REFUSED) {
			(void)fprintf(stderr, "kube_load: so many watches are refused\n");
			exit(1);
		}
		if (seconds_of(CLOCK_MONOTONIC) > until) {
			(void)fprintf(stderr, "kube_load: %lld frames of %lld came\n",
				      (long long)*lines, (long long)wanted);
			exit(1);
		}
		(void)nanosleep(&nap, NULL);
	}
}

static int run_watch(char **argv)
{
	int port = (int)strtol(argv[2], NULL, 10), watchers, events, burst;
	pid_t pid = (pid_t)strtol(argv[3], NULL, 10), child;
	size_t bytes = strtoul(argv[7], NULL, 10);
	volatile int64_t *lines = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int fds[CLIENTS_MAX];
	char *body = neap_alloc(REQUEST_MAX);
	double alone, with;

	watchers = (int)strtol(argv[4], NULL, 10);
	events = (int)strtol(argv[5], NULL, 10);
	burst = (int)strtol(argv[6], NULL, 10);
	fill(port, burst, bytes);
	for (int i = 0; i < burst; i++)
		fds[i] = dial(port);
	change_all(fds, burst, events, bytes, body);
	alone = cpu_of(pid);
	change_all(fds, burst, events, bytes, body);
	alone = cpu_of(pid) - alone;
	*lines = -1;
	child = fork();
	if (child == 0)
		follow(port, watchers, lines);
	wait_for(lines, 0);
	usleep(500000); /* their requests have been read */
	with = cpu_of(pid);
	change_all(fds, burst, events, bytes, body);
	wait_for(lines, (int64_t)events * watchers);
	with = cpu_of(pid) - with;
	(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
	printf("%.2f\t%.2f\n", (with - alone) / events / watchers,
	       with / events / watchers);
	free(body);
	return 0;
}

/* --- put --- */

/* Base 64 of a text without what would need padding. */
static void add_base64(char *to, const char *from, size_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i + 2 < len; i += 3) {
		const unsigned char *at = (const unsigned char *)from + i;
		unsigned bits = (unsigned)at[0] << 16 | (unsigned)at[1] << 8 | at[2];

		for (int k = 18; k >= 0; k -= 6)
			*to++ = digits[bits >> k & 63];
	}
	*to = '\0';
}

static void make_etcd(char *to, size_t size, int name, size_t bytes, int n)
{
	char key[16], text[8192], key64[32];
	char *value64 = neap_alloc(sizeof(text) * 2);

	(void)snprintf(key, sizeof(key), "bench-%06d", name);
	(void)snprintf(text, sizeof(text), "%09d", n);
	memset(text + 9, 'x', sizeof(text) - 9);
	add_base64(key64, key, 12);
	add_base64(value64, text,
		   bytes < sizeof(text) ? bytes / 3 * 3 : sizeof(text) / 3 * 3);
	(void)snprintf(to, size, "{\"key\":\"%s\",\"value\":\"%s\"}", key64, value64);
	free(value64);
}

static int run_put(bool is_etcd, int port, int clients, double seconds, size_t bytes)
{
	int fds[CLIENTS_MAX], epoll = epoll_create1(EPOLL_CLOEXEC), n = 0;
	char *body = neap_alloc(REQUEST_MAX), path[128] = "/v3/kv/put";
	double from = 0, now, until = seconds_of(CLOCK_MONOTONIC) + 0.3;
	int64_t count = 0;

	if (!is_etcd)
		fill(port, clients, bytes);
	for (int i = 0; i < clients; i++) {
		struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)i};

		fds[i] = dial(port);
		if (epoll_ctl(epoll, EPOLL_CTL_ADD, fds[i], &event) < 0)
			fail("epoll");
	}
	for (int i = -clients;;) {
		struct epoll_event events[CLIENTS_MAX];
		int ready = i < 0 ? clients : epoll_wait(epoll, events, CLIENTS_MAX, -1);

		for (int k = 0; k < ready; k++) {
			int client = i < 0 ? k : (int)events[k].data.u32;

			if (i >= 0)
				(void)take(fds[client], 200);
			n++;
			if (is_etcd) {
				make_etcd(body, REQUEST_MAX, client, bytes, n);
			} else {
				make_object(body, REQUEST_MAX, client, bytes, n);
				name_path(path, sizeof(path), client);
			}
			ask(request, fds[client], is_etcd ? "POST" : "PUT", path, body);
		}
		count += i < 0 ? 0 : ready;
		i = 0;
		now = seconds_of(CLOCK_MONOTONIC);
		if (now < until)
			continue;
		if (from > 0)
			break;
		from = now;
		until = now + seconds;
		count = 0;
	}
	printf("%.0f\n", (double)count / (now - from));
	free(body);
	return 0;
}

/* --- reads --- */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int run_list(int port, pid_t pid, int rounds)
{
	double took[ROUNDS_MAX] = {0}, cpu = 0;
	size_t len = 0;
	int fd = dial(port);

	for (int i = -1; i < rounds; i++) { /* the first one finds its memory */
		double from;

		if (i == 0)
			cpu = cpu_of(pid);
		from = seconds_of(CLOCK_MONOTONIC);
		ask(request, fd, "GET", MAPS, "");
		len = take(fd, 200);
		took[i < 0 ? 0 : i] = (seconds_of(CLOCK_MONOTONIC) - from) * 1e3;
	}
	cpu = (cpu_of(pid) - cpu) / 1e3 / rounds;
	qsort(took, (size_t)rounds, sizeof(took[0]), compare);
	printf("%.2f\t%zu\t%.2f\n", took[rounds / 2], len, cpu);
	return 0;
}

static int run_sizes(int port, int rounds)
{
	static const size_t sizes[] = {300,   1000,  4096,   16000,  16384,  16385,
				       32768, 65536, 131072, 262144, 524288, 1000000};
	double took[ROUNDS_MAX] = {0};
	char *body = neap_alloc(REQUEST_MAX), path[128];
	int fd = dial(port);

	fill(port, 1, 300);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t len = 0;

		make_object(body, REQUEST_MAX, 0, sizes[i], (int)i);
		name_path(path, sizeof(path), 0);
		ask(request, fd, "PUT", path, body);
		(void)take(fd, 200);
		for (int round = 0; round < rounds; round++) {
			double from = seconds_of(CLOCK_MONOTONIC);

			ask(request, fd, "GET", path, "");
			len = take(fd, 200);
			took[round] = (seconds_of(CLOCK_MONOTONIC) - from) * 1e6;
		}
		qsort(took, (size_t)rounds, sizeof(took[0]), compare);
		printf("%zu\t%.0f\t%.0f\n", len, took[rounds / 2], took[rounds - 1]);
	}
	free(body);
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

	(void)alarm(300); /* a server that does not answer any more */
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files); /* then fewer watchers go */
	}
	answer = neap_alloc(ANSWER_MAX);
	request = neap_alloc(REQUEST_MAX);
	if (argc == 5 && strcmp(mode, "fill") == 0) {
		fill(number(argv[2], 65535), number(argv[3], 1000000),
		     strtoul(argv[4], NULL, 10));
		return 0;
	}
	if (argc == 8 && strcmp(mode, "watch") == 0)
		return run_watch(argv);
	if (argc == 6 && (strcmp(mode, "put") == 0 || strcmp(mode, "etcd") == 0))
		return run_put(strcmp(mode, "etcd") == 0, number(argv[2], 65535),
			       number(argv[3], CLIENTS_MAX), strtod(argv[4], NULL),
			       strtoul(argv[5], NULL, 10));
	if (argc == 5 && strcmp(mode, "list") == 0)
		return run_list(number(argv[2], 65535), number(argv[3], INT32_MAX),
				number(argv[4], ROUNDS_MAX));
	if (argc == 4 && strcmp(mode, "sizes") == 0)
		return run_sizes(number(argv[2], 65535), number(argv[3], ROUNDS_MAX));
	(void)fprintf(stderr, "kube_load: see the head of t/bench/kube_load.c\n");
	return 2;
}
