/* SPDX-License-Identifier: Apache-2.0
 *
 * Open-loop load for ls_server: requests leave at times fixed beforehand (Poisson or
 * evenly spaced), whether or not earlier ones were answered, and a latency counts from
 * the time the request was due. So a stall of the server is paid by every request that
 * fell into it (no coordinated omission). One thread sends and receives over
 * --connections sockets; a request goes to the idle connection longest unused, and waits
 * in line when all are busy. Up to some 20,000 requests a second. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define CONNECTIONS_MAX 512
#define NSEC            INT64_C(1000000000)

static const char help[] =
	"usage: load [--port N | --unix PATH] [--rate N] [--seconds N] [--warmup N]\n"
	"            [--connections N] [--arrivals poisson|fixed] [--seed N] [--json]\n"
	"  --rate N         requests per second (default 1000)\n"
	"  --seconds N      measured time (default 10), after --warmup N (default 2) not measured\n"
	"  --connections N  sockets (default 32)\n"
	"  --seed N         of the arrival times (default 1: the same times at each run)\n"
	"Prints one line: requests, errors, p50, p99, p99.9 and max in milliseconds, tab separated.\n"
	"Requests not answered a second after the end are errors.\n";

struct load {
	int fds[CONNECTIONS_MAX];
	int64_t due[CONNECTIONS_MAX]; /* of the request under way; 0 when idle */
	int idle[CONNECTIONS_MAX];    /* ring of idle connections, oldest first */
	int idle_head, idle_count, connections;
	int64_t *times; /* due times, nsec from the start */
	int32_t *usec;  /* results of measured requests, tenths of a microsecond */
	size_t count, sent, measured_from, results;
	uint64_t errors;
	int under_way;
};

static int64_t now_nsec(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NSEC + ts.tv_nsec;
}

static double random_unit(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (double)(*state >> 11) / 9007199254740992.0;
}

/* Due times for the whole run. */
static bool plan_times(struct load *load, double rate, int warmup, int seconds,
		       bool poisson, uint64_t seed)
{
	size_t room = (size_t)(rate * (warmup + seconds) * 1.2) + 1000;
	uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
	double at = 0;

	load->times = calloc(room, sizeof(*load->times));
	load->usec = calloc(room, sizeof(*load->usec));
	if (!load->times || !load->usec)
		return false;
	while (load->count < room) {
		at += poisson ? -log(1 - random_unit(&state)) / rate : 1 / rate;
		if (at >= warmup + seconds)
			break;
		if (at < warmup)
			load->measured_from = load->count + 1;
		load->times[load->count++] = (int64_t)(at * 1e9);
	}
	return true;
}

static int dial(int port, const char *path)
{
	struct sockaddr_in in = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port)};
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	int one = 1, fd, rc;

	if (path && strlen(path) >= sizeof(un.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = socket(path ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	if (path) {
		memcpy(un.sun_path, path, strlen(path) + 1);
		rc = connect(fd, (struct sockaddr *)&un, sizeof(un));
	} else {
		in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		rc = connect(fd, (struct sockaddr *)&in, sizeof(in));
	}
	if (rc < 0) {
		(void)close(fd); /* never used */
		return -1;
	}
	return fd;
}

static bool open_all(struct load *load, int epoll_fd, int port, const char *path)
{
	for (int i = 0; i < load->connections; i++) {
		struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)i};

		load->fds[i] = dial(port, path);
		if (load->fds[i] < 0 ||
		    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, load->fds[i], &event) < 0) {
			fprintf(stderr, "load: cannot connect: %s\n", strerror(errno));
			return false;
		}
		load->idle[i] = i;
	}
	load->idle_count = load->connections;
	return true;
}

static void set_idle(struct load *load, int i)
{
	load->due[i] = 0;
	load->idle[(load->idle_head + load->idle_count++) % load->connections] = i;
}

/* Sends what is due, as long as a connection is idle. */
static void send_due(struct load *load, int64_t start)
{
	while (load->sent < load->count && load->idle_count > 0 &&
	       start + load->times[load->sent] <= now_nsec()) {
		int i = load->idle[load->idle_head];

		load->idle_head = (load->idle_head + 1) % load->connections;
		load->idle_count--;
		/* One more than the index, so that 0 is "idle". */
		load->due[i] = (int64_t)load->sent + 1;
		load->sent++;
		if (send(load->fds[i], "r", 1, MSG_NOSIGNAL) == 1) {
			load->under_way++;
		} else {
			load->errors++;
			load->due[i] = 0; /* the connection is dead: not idle again */
		}
	}
}

static void receive(struct load *load, int i, int64_t start, int epoll_fd)
{
	char bytes[8];
	ssize_t n = read(load->fds[i], bytes, sizeof(bytes));
	size_t request = (size_t)load->due[i] - 1;
	int64_t nsec;

	if (n < 0 && errno == EINTR)
		return;
	if (n <= 0 || !load->due[i]) {
		if (load->due[i]) {
			load->errors++;
			load->under_way--;
		}
		load->due[i] = 0;
		(void)epoll_ctl(epoll_fd, EPOLL_CTL_DEL, load->fds[i],
				NULL); /* it is dead */
		return;
	}
	nsec = now_nsec() - start - load->times[request];
	if (request >= load->measured_from)
		load->usec[load->results++] = nsec > INT32_MAX * INT64_C(100)
						      ? INT32_MAX
						      : (int32_t)(nsec / 100);
	load->under_way--;
	set_idle(load, i);
}

static void run(struct load *load, int epoll_fd, int64_t end_nsec)
{
	int64_t start = now_nsec() + NSEC / 100;
	struct epoll_event events[64];

	while (load->sent < load->count || load->under_way > 0) {
		int64_t now = now_nsec(), wait = 100 * INT64_C(1000000);
		struct timespec timeout;
		int n;

		if (now > start + end_nsec + NSEC)
			break;
		send_due(load, start);
		if (load->sent < load->count && load->idle_count > 0)
			wait = start + load->times[load->sent] - now_nsec();
		if (wait < 0)
			wait = 0;
		timeout.tv_sec = wait / NSEC;
		timeout.tv_nsec = wait % NSEC;
		n = epoll_pwait2(epoll_fd, events, 64, &timeout, NULL);
		for (int i = 0; i < n; i++)
			receive(load, (int)events[i].data.u32, start, epoll_fd);
	}
	load->errors += (uint64_t)load->under_way + (load->count - load->sent);
}

static int compare(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

/* Nearest rank, in milliseconds. */
static double percentile(const struct load *load, double share)
{
	size_t rank;

	if (load->results == 0)
		return NAN;
	rank = (size_t)ceil(share * (double)load->results);
	return load->usec[rank > 0 ? rank - 1 : 0] / 10000.0;
}

static void print(struct load *load, bool json)
{
	qsort(load->usec, load->results, sizeof(*load->usec), compare);
	printf(json ? "{\"requests\":%zu,\"errors\":%" PRIu64
		      ",\"p50_ms\":%.3f,\"p99_ms\":%.3f,"
		      "\"p999_ms\":%.3f,\"max_ms\":%.3f}\n"
		    : "%zu\t%" PRIu64 "\t%.3f\t%.3f\t%.3f\t%.3f\n",
	       load->results, load->errors, percentile(load, 0.5), percentile(load, 0.99),
	       percentile(load, 0.999), percentile(load, 1));
}

static double number(const char *name, const char *text, double low, double high)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= low && value <= high)) {
		fprintf(stderr, "load: --%s is %g to %g, not '%s'\n", name, low, high,
			text);
		exit(2);
	}
	return value;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"port", required_argument, NULL, 'p'},
		{"unix", required_argument, NULL, 'u'},
		{"rate", required_argument, NULL, 'r'},
		{"seconds", required_argument, NULL, 's'},
		{"warmup", required_argument, NULL, 'w'},
		{"connections", required_argument, NULL, 'c'},
		{"arrivals", required_argument, NULL, 'a'},
		{"seed", required_argument, NULL, 'e'},
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	static struct load load = {.connections = 32};
	int port = 6400, seconds = 10, warmup = 2, opt, epoll_fd;
	const char *path = NULL;
	double rate = 1000;
	uint64_t seed = 1;
	bool poisson = true, json = false;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 'p':
			port = (int)number("port", optarg, 1, 65535);
			break;
		case 'u':
			path = optarg;
			break;
		case 'r':
			rate = number("rate", optarg, 1, 100000);
			break;
		case 's':
			seconds = (int)number("seconds", optarg, 1, 3600);
			break;
		case 'w':
			warmup = (int)number("warmup", optarg, 0, 600);
			break;
		case 'c':
			load.connections =
				(int)number("connections", optarg, 1, CONNECTIONS_MAX);
			break;
		case 'e':
			seed = (uint64_t)number("seed", optarg, 0, 1e15);
			break;
		case 'j':
			json = true;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		case 'a':
			poisson = strcmp(optarg, "poisson") == 0;
			if (poisson || strcmp(optarg, "fixed") == 0)
				break;
			/* fall through */
		default:
			fputs(help, stderr);
			return 2;
		}
	}
	/* The kernel may else wake a sleeper 50 us late, to save power. */
	(void)prctl(PR_SET_TIMERSLACK, 1UL, 0, 0,
		    0); /* later wakeups only blur the figures */
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (epoll_fd < 0 || !plan_times(&load, rate, warmup, seconds, poisson, seed)) {
		fprintf(stderr, "load: out of memory or descriptors\n");
		return 1;
	}
	if (!open_all(&load, epoll_fd, port, path))
		return 1;
	run(&load, epoll_fd, (int64_t)(warmup + seconds) * NSEC);
	print(&load, json);
	free(load.times);
	free(load.usec);
	return load.results > 0 ? 0 : 1;
}
