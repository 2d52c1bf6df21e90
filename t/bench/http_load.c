/* SPDX-License-Identifier: Apache-2.0
 *
 * A client for P14 and P15, one thread. http_load rate PORT PID PATH CONNECTIONS SECONDS:
 * each connection asks again as soon as it has its answer; prints the CPU that process
 * PID took, in microseconds per request, and the requests per second. http_load sizes
 * PORT ROUNDS: on one connection, prints for each reply size the median time in
 * microseconds, and the longest. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/base.h"
#include "engine/base/mem.h"

#define CONNECTIONS_MAX 64
#define ROUNDS_MAX      1001
#define ANSWER_MAX      (1100 * 1024)

static const size_t sizes[] = {1,      1000,   4096,   16000,  16383,  16384,
			       16385,  32768,  65536,  131072, 230000, 262144,
			       320000, 524288, 700000, 1048576};

static char answer[ANSWER_MAX];

static double seconds_of(clockid_t clock)
{
	struct timespec now = {0};

	(void)clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static int dial(int port)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_port = htons((uint16_t)port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) < 0)
		fail("connect");
	return fd;
}

static size_t make_request(char *to, size_t size, const char *path)
{
	int len = snprintf(to, size,
			   "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer "
			   "secret\r\n\r\n",
			   path);

	return (size_t)len;
}

static void ask(int fd, const char *request, size_t len)
{
	if (send(fd, request, len, MSG_NOSIGNAL) != (ssize_t)len)
		fail("send");
}

/* Small answers come in one piece; its length is not looked at. */
static void take_small(int fd)
{
	ssize_t n = recv(fd, answer, 4096, 0);

	if (n < 12 || memcmp(answer + 8, " 200", 4) != 0) {
		(void)fprintf(stderr, "http_load: no 200 but: %.*s\n", n > 0 ? (int)n : 0,
			      answer);
		exit(1);
	}
}

static int run_rate(int port, pid_t pid, const char *path, int connections,
		    double seconds)
{
	int fds[CONNECTIONS_MAX], epoll = epoll_create1(EPOLL_CLOEXEC), i;
	char request[512];
	size_t len = make_request(request, sizeof(request), path);
	double from = 0, until, cpu = 0, now;
	clockid_t clock;
	int64_t count = 0;

	if (clock_getcpuclockid(pid, &clock) != 0)
		fail("CPU clock of the server");
	for (i = 0; i < connections; i++) {
		struct epoll_event event = {.events = EPOLLIN};

		fds[i] = event.data.fd = dial(port);
		if (epoll_ctl(epoll, EPOLL_CTL_ADD, fds[i], &event) < 0)
			fail("epoll");
		ask(fds[i], request, len);
	}
	(void)alarm(60); /* a server that does not answer any more */
	/* What the first requests cost, as of new connections, is left out. */
	until = seconds_of(CLOCK_MONOTONIC) + seconds * 0.1;
	for (;;) {
		struct epoll_event events[CONNECTIONS_MAX];
		/* Never asleep: waking a client up would be counted as CPU of the server,
		 * and of the slower one at each answer. */
		int ready = epoll_wait(epoll, events, CONNECTIONS_MAX, 0);

		if (ready < 0)
			fail("epoll_wait");
		for (i = 0; i < ready; i++) {
			take_small(events[i].data.fd);
			ask(events[i].data.fd, request, len);
		}
		count += ready;
		now = seconds_of(CLOCK_MONOTONIC);
		if (now < until)
			continue;
		if (from > 0)
			break;
		from = now;
		until = now + seconds;
		cpu = seconds_of(clock);
		count = 0;
	}
	printf("%.2f\t%.0f\n", (seconds_of(clock) - cpu) * 1e6 / (double)count,
	       (double)count / (now - from));
	return 0;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double time_size(int fd, size_t size)
{
	char path[64], request[512];
	size_t got = 0, len;
	const char *body = NULL;
	double from;

	(void)snprintf(path, sizeof(path), "/text?n=%zu", size);
	len = make_request(request, sizeof(request), path);
	from = seconds_of(CLOCK_MONOTONIC);
	ask(fd, request, len);
	while (!body || got < (size_t)(body - answer) + size) {
		ssize_t n = recv(fd, answer + got, sizeof(answer) - got - 1, 0);

		if (n <= 0)
			fail("recv");
		got += (size_t)n;
		answer[got] = '\0';
		if (!body && (body = strstr(answer, "\r\n\r\n")) != NULL)
			body += 4;
	}
	return (seconds_of(CLOCK_MONOTONIC) - from) * 1e6;
}

static int run_sizes(int port, int rounds)
{
	double took[ROUNDS_MAX] = {0};
	int fd = dial(port), round;
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (round = 0; round < rounds; round++)
			took[round] = time_size(fd, sizes[i]);
		qsort(took, (size_t)rounds, sizeof(took[0]), compare);
		printf("%zu\t%.0f\t%.0f\n", sizes[i], took[rounds / 2], took[rounds - 1]);
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
	if (argc == 7 && strcmp(argv[1], "rate") == 0)
		return run_rate(number(argv[2], 65535), number(argv[3], INT32_MAX),
				argv[4], number(argv[5], CONNECTIONS_MAX),
				strtod(argv[6], NULL));
	if (argc == 4 && strcmp(argv[1], "sizes") == 0)
		return run_sizes(number(argv[2], 65535), number(argv[3], ROUNDS_MAX));
	(void)fprintf(stderr, "usage: http_load rate PORT PID PATH CONNECTIONS SECONDS\n"
			      "       http_load sizes PORT ROUNDS\n");
	return 2;
}
