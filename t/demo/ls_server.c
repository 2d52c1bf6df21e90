/* SPDX-License-Identifier: Apache-2.0
 *
 * The latency-critical service of the demo: answers requests over loopback TCP or a unix
 * socket, each after burning a known amount of CPU time. A request is one byte, the
 * answer is one byte. Every connection belongs to one worker thread, which serves its
 * connections by epoll; so at most --threads requests are worked on at once, as in a real
 * service with a pool. Made for up to some hundred connections and some ten thousand
 * requests a second. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 64

static const char help[] =
	"usage: ls_server [--port N | --unix PATH] [--threads N] [--work-usec N] [--seconds N]\n"
	"  --port N       listen on 127.0.0.1:N (default 6400; 0 picks one)\n"
	"  --unix PATH    listen on a unix socket instead\n"
	"  --threads N    worker threads (default 2)\n"
	"  --work-usec N  CPU time that each request burns (default 200)\n"
	"  --seconds N    stop by itself (default 0: at SIGTERM)\n"
	"Prints \"ready PORT\" when it listens, and the number of requests served at the end.\n";

struct worker {
	pthread_t thread;
	int epoll_fd;
	int64_t work_nsec;
	uint64_t served;
};

static volatile sig_atomic_t stop;
static volatile uint64_t sink;

static void on_signal(int signo)
{
	(void)signo;
	stop = 1;
}

static int64_t clock_nsec(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Burns CPU time, not wall time: a preempted worker goes on where it was. */
static void burn(int64_t nsec)
{
	int64_t until = clock_nsec(CLOCK_THREAD_CPUTIME_ID) + nsec;
	uint64_t x = 88172645463325252u;

	do {
		for (int i = 0; i < 500; i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
		}
	} while (clock_nsec(CLOCK_THREAD_CPUTIME_ID) < until);
	sink = x;
}

static void serve(struct worker *worker, int fd)
{
	char bytes[64];
	ssize_t n = read(fd, bytes, sizeof(bytes));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		(void)close(fd); /* the client went; nothing is owed */
		return;
	}
	/* A client may have sent ahead: each byte is a request with an answer of its
	 * own. */
	for (ssize_t i = 0; i < n; i++) {
		burn(worker->work_nsec);
		if (send(fd, bytes + i, 1, MSG_NOSIGNAL) != 1) {
			(void)close(fd); /* as above */
			return;
		}
		worker->served++;
	}
}

static void *worker_main(void *arg)
{
	struct worker *worker = arg;
	struct epoll_event event;

	while (!stop) {
		/* One at a time, so that a burst on many connections is served in
		 * turn. */
		int n = epoll_wait(worker->epoll_fd, &event, 1, 100);

		if (n > 0)
			serve(worker, event.data.fd);
	}
	return NULL;
}

static int listen_tcp(int *port)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_port = htons((uint16_t)*port)};
	socklen_t len = sizeof(addr);
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) < 0 ||
	    bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 || listen(fd, 128) < 0 ||
	    getsockname(fd, (struct sockaddr *)&addr, &len) < 0) {
		fprintf(stderr, "ls_server: 127.0.0.1:%d: %s\n", *port, strerror(errno));
		return -1;
	}
	*port = ntohs(addr.sin_port);
	return fd;
}

static int listen_unix(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (strlen(path) >= sizeof(addr.sun_path)) {
		fprintf(stderr, "ls_server: %s: longer than a socket's name may be\n",
			path);
		return -1;
	}
	memcpy(addr.sun_path, path, strlen(path) + 1);
	(void)unlink(path); /* left by an earlier run, or not there */
	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
	    listen(fd, 128) < 0) {
		fprintf(stderr, "ls_server: %s: %s\n", path, strerror(errno));
		return -1;
	}
	return fd;
}

static int number(const char *name, const char *text, long low, long high)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, 10);
	if (errno || end == text || *end || value < low || value > high) {
		fprintf(stderr, "ls_server: --%s is %ld to %ld, not '%s'\n", name, low,
			high, text);
		exit(2);
	}
	return (int)value;
}

static void accept_all(int fd, struct worker *workers, int threads, int seconds)
{
	int64_t end =
		seconds ? clock_nsec(CLOCK_MONOTONIC) + seconds * INT64_C(1000000000)
			: INT64_MAX;
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC), next = 0;

	if (epoll_fd < 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
		return;
	while (!stop && clock_nsec(CLOCK_MONOTONIC) < end) {
		int peer;

		if (epoll_wait(epoll_fd, &event, 1, 100) <= 0)
			continue;
		peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
		if (peer < 0)
			continue;
		event.events = EPOLLIN;
		event.data.fd = peer;
		if (epoll_ctl(workers[next].epoll_fd, EPOLL_CTL_ADD, peer, &event) < 0)
			(void)close(peer); /* the client sees it */
		next = (next + 1) % threads;
	}
	(void)close(epoll_fd); /* only read from */
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"port", required_argument, NULL, 'p'},
		{"unix", required_argument, NULL, 'u'},
		{"threads", required_argument, NULL, 't'},
		{"work-usec", required_argument, NULL, 'w'},
		{"seconds", required_argument, NULL, 's'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	struct worker workers[THREADS_MAX] = {0};
	int port = 6400, threads = 2, work_usec = 200, seconds = 0, opt, fd;
	const char *path = NULL;
	struct sigaction action = {.sa_handler = on_signal};
	uint64_t served = 0;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 'p':
			port = number("port", optarg, 0, 65535);
			break;
		case 'u':
			path = optarg;
			break;
		case 't':
			threads = number("threads", optarg, 1, THREADS_MAX);
			break;
		case 'w':
			work_usec = number("work-usec", optarg, 0, 1000000);
			break;
		case 's':
			seconds = number("seconds", optarg, 0, 86400);
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			fputs(help, stderr);
			return 2;
		}
	}
	if (optind < argc) {
		fputs(help, stderr);
		return 2;
	}
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	fd = path ? listen_unix(path) : listen_tcp(&port);
	if (fd < 0)
		return 1;

	for (int i = 0; i < threads; i++) {
		workers[i].work_nsec = work_usec * INT64_C(1000);
		workers[i].epoll_fd = epoll_create1(EPOLL_CLOEXEC);
		if (workers[i].epoll_fd < 0 ||
		    pthread_create(&workers[i].thread, NULL, worker_main, &workers[i])) {
			fprintf(stderr, "ls_server: cannot start thread %d\n", i);
			return 1;
		}
	}
	printf("ready %d\n", path ? 0 : port);
	fflush(stdout);
	accept_all(fd, workers, threads, seconds);
	stop = 1;
	for (int i = 0; i < threads; i++) {
		pthread_join(workers[i].thread, NULL);
		served += workers[i].served;
	}
	if (path)
		(void)unlink(path); /* nobody can be sure that it is still ours */
	printf("served %" PRIu64 "\n", served);
	return 0;
}
