/* SPDX-License-Identifier: Apache-2.0
 *
 * The latency-critical service of the colocation sweep. A request is one byte, the answer
 * is one byte; in between lies a fixed amount of work, in units of some 100 ns on an idle
 * machine. The amount is found once (--calibrate) so that it takes so much CPU time
 * alone, and is then the same in every measurement: where batch work takes cache or
 * memory bandwidth away, a request takes longer, as it would in a real service. (A server
 * that burns CPU time would not notice.)
 *
 * All workers wait on one epoll, so any idle one takes the next request: with the workers
 * as many as CPUs this is one queue with several servers. Each has a working set of about
 * a second-level cache. Made for up to some hundred connections. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 256
#define TRIALS      61

static const char help[] =
	"usage: colo_server [--threads N] [--units N] [--memory-kib N] [--slice-usec N]\n"
	"       colo_server --calibrate USEC [--memory-kib N]\n"
	"  --threads N     worker threads (default 2)\n"
	"  --units N       work of a request (default 1000)\n"
	"  --memory-kib N  working set of a worker (default 512)\n"
	"  --slice-usec N  the scheduler's slice of the workers (default: the kernel's)\n"
	"  --calibrate N   prints how many units take N microseconds of CPU time, and ends\n"
	"Prints \"ready PORT\" (127.0.0.1) when it listens; ends with SIGTERM.\n";

struct worker {
	pthread_t thread;
	int epoll_fd;
	uint64_t units, slice_nsec, seed;
	uint64_t *memory;
	size_t words; /* a power of two */
};

/* Linux has it since 3.14, libc not yet. */
struct sched_attr_v0 {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static int64_t cpu_nsec(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* The state goes on from request to request, so that no two walk the same way. */
static void work(struct worker *worker, uint64_t units)
{
	uint64_t x = worker->seed;

	for (uint64_t u = 0; u < units; u++) {
		for (int i = 0; i < 16; i++) {
			for (int k = 0; k < 4; k++) {
				x ^= x << 13;
				x ^= x >> 7;
				x ^= x << 17;
			}
			worker->memory[x & (worker->words - 1)] += x;
		}
	}
	worker->seed = x;
}

static int set_slice(uint64_t nsec)
{
	struct sched_attr_v0 attr = {.size = sizeof(attr), .runtime = nsec};

	return (int)syscall(SYS_sched_setattr, 0, &attr, 0);
}

static void *serve(void *arg)
{
	struct worker *worker = arg;
	struct epoll_event event;
	char byte;

	if (worker->slice_nsec && set_slice(worker->slice_nsec) < 0) {
		perror("colo_server: sched_setattr");
		exit(1);
	}
	for (;;) {
		/* Edge-triggered: one request on a connection wakes one worker. */
		if (epoll_wait(worker->epoll_fd, &event, 1, -1) <= 0)
			continue;
		while (recv(event.data.fd, &byte, 1, MSG_DONTWAIT) == 1) {
			work(worker, worker->units);
			if (send(event.data.fd, &byte, 1, MSG_NOSIGNAL) != 1)
				break; /* the client went */
		}
	}
	return NULL;
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* The median of many short trials: what an undisturbed stretch takes. */
static void calibrate(struct worker *worker, uint64_t usec)
{
	int64_t took[TRIALS];
	uint64_t units = 1000;
	int rounds = 3;

	while (rounds-- > 0) {
		for (int i = 0; i < TRIALS; i++) {
			int64_t from = cpu_nsec();

			work(worker, units);
			took[i] = cpu_nsec() - from;
		}
		qsort(took, TRIALS, sizeof(took[0]), compare);
		if (took[TRIALS / 2] < 1)
			took[TRIALS / 2] = 1;
		units = units * usec * 1000 / (uint64_t)took[TRIALS / 2];
		if (units < 1)
			units = 1;
	}
	printf("%" PRIu64 "\n", units);
}

static uint64_t number(const char *name, const char *text, uint64_t low, uint64_t high)
{
	char *end;
	uint64_t value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || end == text || *end || value < low || value > high) {
		fprintf(stderr,
			"colo_server: --%s is %" PRIu64 " to %" PRIu64 ", not '%s'\n",
			name, low, high, text);
		exit(2);
	}
	return value;
}

static int listen_any(int *ret_port)
{
	struct sockaddr_in addr = {.sin_family = AF_INET};
	socklen_t len = sizeof(addr);
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) < 0 ||
	    bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 || listen(fd, 512) < 0 ||
	    getsockname(fd, (struct sockaddr *)&addr, &len) < 0)
		return -1;
	*ret_port = ntohs(addr.sin_port);
	return fd;
}

static int run(struct worker *workers, int threads)
{
	int port = 0, fd = listen_any(&port), epoll_fd = epoll_create1(EPOLL_CLOEXEC);

	if (fd < 0 || epoll_fd < 0) {
		perror("colo_server: listen");
		return 1;
	}
	for (int i = 0; i < threads; i++) {
		workers[i].epoll_fd = epoll_fd;
		if (pthread_create(&workers[i].thread, NULL, serve, &workers[i])) {
			fprintf(stderr, "colo_server: cannot start thread %d\n", i);
			return 1;
		}
	}
	printf("ready %d\n", port);
	fflush(stdout);
	for (;;) {
		struct epoll_event event = {.events = EPOLLIN | EPOLLET};

		event.data.fd = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
		if (event.data.fd >= 0 &&
		    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, event.data.fd, &event) < 0)
			(void)close(event.data.fd); /* the client sees it */
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"threads", required_argument, NULL, 't'},
		{"units", required_argument, NULL, 'u'},
		{"memory-kib", required_argument, NULL, 'm'},
		{"slice-usec", required_argument, NULL, 's'},
		{"calibrate", required_argument, NULL, 'c'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	static struct worker workers[THREADS_MAX];
	uint64_t units = 1000, kib = 512, slice_usec = 0, usec = 0;
	int threads = 2, opt;
	size_t words = 1;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 't':
			threads = (int)number("threads", optarg, 1, THREADS_MAX);
			break;
		case 'u':
			units = number("units", optarg, 1, 1000000000);
			break;
		case 'm':
			kib = number("memory-kib", optarg, 4, 1 << 20);
			break;
		case 's':
			slice_usec = number("slice-usec", optarg, 100, 100000);
			break;
		case 'c':
			usec = number("calibrate", optarg, 10, 1000000);
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			fputs(help, stderr);
			return 2;
		}
	}
	while (words * 2 * sizeof(uint64_t) <= kib * 1024)
		words *= 2;
	for (int i = 0; i < threads; i++) {
		workers[i].units = units;
		workers[i].slice_nsec = slice_usec * 1000;
		workers[i].seed = 88172645463325252u + (uint64_t)i * 7919;
		workers[i].words = words;
		workers[i].memory = malloc(words * sizeof(uint64_t));
		if (!workers[i].memory) {
			fprintf(stderr, "colo_server: no memory\n");
			return 1;
		}
		memset(workers[i].memory, 1, words * sizeof(uint64_t));
	}
	if (usec) {
		calibrate(&workers[0], usec);
		return 0;
	}
	return run(workers, threads);
}
