/* SPDX-License-Identifier: Apache-2.0
 *
 * One measurement of the colocation sweep: open-loop load on colo_server, and everything
 * that tells whether the figures may be believed. Requests leave at times fixed
 * beforehand (Poisson by a seed, so that every variant of a round gets the very same
 * ones) and a latency counts from the time the request was due, so a stall is paid by
 * every request that fell into it. What has no answer two seconds after the window counts
 * with the time it has waited, and as an error.
 *
 * The client stands for other machines, and must not queue for a CPU behind what it
 * measures: it runs with real-time priority on one CPU and says how late it was all the
 * same. On every CPU a canary of higher priority sleeps 4 ms at a time: when it is late,
 * the machine itself (its host, or a kernel that cannot be preempted) stood still. More
 * often would be load of its own. Prints one line, tab separated. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "t/bench/colocation.h"

#define CONNECTIONS  64
#define NSEC         INT64_C(1000000000)
#define STALL_NSEC   INT64_C(50000000)
#define CANARY_NSEC  INT64_C(4000000)
#define CANARIES_MAX 256
#define PRIO_CLIENT  10
#define PRIO_CANARY  20

static const char help[] =
	"usage: colo_client --port N --rate N [--seconds N] [--settle N] [--seed N] [--cpu N]\n"
	"                   [--server PID] [--shared FILE]\n"
	"  --rate N       requests a second\n"
	"  --seconds N    of the window (default 2), after --settle N (default 0.3) not counted\n"
	"  --seed N       of the times (default 1)\n"
	"  --cpu N        where the client runs (default 0)\n"
	"  --server PID   whose CPU time to read\n"
	"  --shared FILE  of colo_batch: whose work to count\n"
	"  --columns      prints the names of what is printed, and ends\n";

static const char columns[] =
	"requests\terrors\tp50_ms\tp99_ms\tp999_ms\tmax_ms\tover_50ms\tlate_p99_ms\tlate_max_ms\t"
	"canary_p99_ms\tcanary_max_ms\tsteal\tothers\tserver_cpus\tbatch_cpus\tclient_cpus\t"
	"work_per_s\trealtime\n";

struct client {
	int fds[CONNECTIONS];
	int64_t request[CONNECTIONS]; /* one more than the one under way; 0 when idle */
	int idle[CONNECTIONS];        /* ring, longest idle first */
	int idle_head, idle_count, under_way, epoll_fd;
	int64_t room_at;            /* since when a connection is idle */
	int64_t start, settle, end; /* these two count from start, as times do */
	int64_t *times;
	float *latency, *late; /* ms, by request; NAN: not measured */
	size_t count, sent, first;
	uint64_t errors;
};

struct canary {
	pthread_t thread;
	int cpu;
	float *late; /* ms */
	size_t room, count;
};

/* What the machine had done at one moment. */
struct meter {
	int64_t at;
	double busy, steal; /* CPU seconds */
	double server, batch, client;
	uint64_t work;
};

static struct canary canaries[CANARIES_MAX];
static volatile bool is_measuring, is_over;

static int64_t clock_nsec(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * NSEC + ts.tv_nsec;
}

static double random_unit(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (double)(*state >> 11) / 9007199254740992.0;
}

/* Adds due times from FROM to TO, in seconds from the start. */
static void plan_part(struct client *client, double rate, uint64_t seed, double from,
		      double to, size_t room)
{
	uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
	double at = from - log(1 - random_unit(&state)) / rate;

	for (; at < to && client->count < room; client->count++) {
		client->times[client->count] = (int64_t)(at * 1e9);
		at += -log(1 - random_unit(&state)) / rate;
	}
}

/* The window has the same times whatever the length of what comes before. */
static bool plan_times(struct client *client, double rate, uint64_t seed)
{
	double settle = (double)client->settle / 1e9, end = (double)client->end / 1e9;
	size_t room = (size_t)(rate * end * 1.5) + 1000;

	client->times = calloc(room, sizeof(*client->times));
	client->latency = calloc(room, sizeof(*client->latency));
	client->late = calloc(room, sizeof(*client->late));
	if (!client->times || !client->latency || !client->late)
		return false;
	plan_part(client, rate, seed + 0x5eed, 0, settle, room);
	client->first = client->count;
	plan_part(client, rate, seed, settle, end, room);
	return client->count > client->first;
}

static bool dial_all(struct client *client, int port)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port)};
	int one = 1;

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	client->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	for (int i = 0; i < CONNECTIONS; i++) {
		struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)i};
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 ||
		    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) < 0 ||
		    epoll_ctl(client->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
			return false;
		client->fds[i] = fd;
		client->idle[i] = i;
	}
	client->idle_count = CONNECTIONS;
	return true;
}

/* --- load --- */

static void send_due(struct client *client)
{
	while (client->sent < client->count && client->idle_count > 0) {
		int64_t now = clock_nsec(CLOCK_MONOTONIC) - client->start;
		int64_t due = client->times[client->sent];
		int i = client->idle[client->idle_head];

		if (due > now)
			return;
		client->idle_head = (client->idle_head + 1) % CONNECTIONS;
		client->idle_count--;
		/* That all connections waited for answers is the server's doing. */
		if (due < client->room_at)
			due = client->room_at;
		client->late[client->sent] = (float)((double)(now - due) / 1e6);
		client->request[i] = (int64_t)++client->sent;
		client->under_way++;
		/* What cannot be sent is never answered, and counts as that. */
		(void)!send(client->fds[i], "r", 1, MSG_NOSIGNAL);
	}
}

static void receive(struct client *client, int i)
{
	char bytes[8];
	ssize_t n = read(client->fds[i], bytes, sizeof(bytes));
	size_t request = (size_t)client->request[i] - 1;
	int64_t now = clock_nsec(CLOCK_MONOTONIC) - client->start;

	if (n < 0 && errno == EINTR)
		return;
	if (n != 1 || !client->request[i]) {
		/* A dead server: the connection is given up, its request is never
		 * answered. */
		(void)epoll_ctl(client->epoll_fd, EPOLL_CTL_DEL, client->fds[i], NULL);
		return;
	}
	client->latency[request] = (float)((double)(now - client->times[request]) / 1e6);
	client->request[i] = 0;
	client->under_way--;
	if (client->idle_count == 0)
		client->room_at = now;
	client->idle[(client->idle_head + client->idle_count++) % CONNECTIONS] = i;
}

/* Until UNTIL (from the start), or until all is answered. */
static void run(struct client *client, int64_t until)
{
	struct epoll_event events[CONNECTIONS];

	for (;;) {
		int64_t now = clock_nsec(CLOCK_MONOTONIC) - client->start;
		int64_t wake = until;
		struct timespec timeout = {0};
		int n;

		if (now >= until ||
		    (client->sent == client->count && client->under_way == 0))
			return;
		send_due(client);
		if (client->sent < client->count && client->idle_count > 0 &&
		    client->times[client->sent] < wake)
			wake = client->times[client->sent];
		wake -= clock_nsec(CLOCK_MONOTONIC) - client->start;
		if (wake > 0)
			timeout = (struct timespec){wake / NSEC, wake % NSEC};
		n = epoll_pwait2(client->epoll_fd, events, CONNECTIONS, &timeout, NULL);
		for (int i = 0; i < n; i++)
			receive(client, (int)events[i].data.u32);
	}
}

/* --- what else happened --- */

static bool be_realtime(int cpu, int prio)
{
	struct sched_param param = {.sched_priority = prio};
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		fprintf(stderr, "colo_client: CPU %d: %s\n", cpu, strerror(errno));
	return sched_setscheduler(0, SCHED_FIFO, &param) == 0;
}

static void *watch(void *arg)
{
	struct canary *canary = arg;
	int64_t next;

	(void)be_realtime(canary->cpu, PRIO_CANARY); /* the client says whether it may */
	next = clock_nsec(CLOCK_MONOTONIC);
	while (!is_over) {
		struct timespec at;
		int64_t now;

		next += CANARY_NSEC;
		at = (struct timespec){next / NSEC, next % NSEC};
		(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		now = clock_nsec(CLOCK_MONOTONIC);
		if (is_measuring && canary->count < canary->room)
			canary->late[canary->count++] =
				(float)((double)(now - next) / 1e6);
		/* A long sleep is one late wake-up, not many. */
		if (now > next)
			next = now;
	}
	return NULL;
}

static int start_canaries(size_t room)
{
	cpu_set_t set;
	int count = 0;

	CPU_ZERO(&set);
	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return 0;
	for (int cpu = 0; cpu < CPU_SETSIZE && count < CANARIES_MAX; cpu++) {
		struct canary *canary = &canaries[count];

		if (!CPU_ISSET((size_t)cpu, &set))
			continue;
		canary->cpu = cpu;
		canary->room = room;
		canary->late = calloc(room, sizeof(float));
		if (!canary->late ||
		    pthread_create(&canary->thread, NULL, watch, canary) != 0)
			break;
		count++;
	}
	return count;
}

/* CPU seconds of a process with its threads. */
static double process_cpu(int pid)
{
	clockid_t clock;

	if (pid <= 0 || clock_getcpuclockid(pid, &clock) != 0)
		return 0;
	return (double)clock_nsec(clock) / 1e9;
}

static void read_meter(struct meter *meter, int server,
		       const struct colocation_shared *shared)
{
	double tick = (double)sysconf(_SC_CLK_TCK), v[8] = {0};
	FILE *file = fopen("/proc/stat", "re");

	memset(meter, 0, sizeof(*meter));
	meter->at = clock_nsec(CLOCK_MONOTONIC);
	if (file) {
		if (fscanf(file, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &v[0], &v[1],
			   &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]) != 8)
			memset(v, 0, sizeof(v));
		(void)fclose(file); /* only read */
	}
	meter->busy = (v[0] + v[1] + v[2] + v[5] + v[6]) / tick;
	meter->steal = v[7] / tick;
	meter->server = process_cpu(server);
	meter->client = process_cpu(getpid());
	for (int i = 0; shared && i < COLOCATION_SLOTS_MAX; i++) {
		meter->batch += process_cpu(shared->slots[i].pid);
		meter->work += shared->slots[i].units;
	}
}

static int compare(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

/* Nearest rank. */
static double percentile(const float *sorted, size_t count, double share)
{
	size_t rank = (size_t)ceil(share * (double)count);

	if (count == 0)
		return NAN;
	return (double)sorted[rank > 0 ? rank - 1 : 0];
}

static void print_canaries(int count)
{
	size_t all = 0, at = 0;
	float *late;

	for (int i = 0; i < count; i++)
		all += canaries[i].count;
	late = calloc(all + 1, sizeof(float));
	for (int i = 0; late && i < count; i++) {
		memcpy(late + at, canaries[i].late, canaries[i].count * sizeof(float));
		at += canaries[i].count;
	}
	if (!late || all == 0) {
		printf("\tnan\tnan");
	} else {
		qsort(late, all, sizeof(float), compare);
		printf("\t%.3f\t%.3f", percentile(late, all, 0.99),
		       percentile(late, all, 1));
	}
	free(late);
}

static void print(struct client *client, const struct meter *from, const struct meter *to,
		  int canary_count, bool is_realtime)
{
	double wall = (double)(to->at - from->at) / 1e9;
	double cpus = (double)sysconf(_SC_NPROCESSORS_ONLN);
	double ours = to->server - from->server + to->batch - from->batch + to->client -
		      from->client;
	float *latency = client->latency + client->first,
	      *late = client->late + client->first;
	int64_t now = clock_nsec(CLOCK_MONOTONIC) - client->start;
	size_t count = client->count - client->first, over = 0;

	for (size_t i = 0; i < count; i++) {
		if (latency[i] == 0) {
			latency[i] =
				(float)((double)(now - client->times[client->first + i]) /
					1e6);
			client->errors++;
		}
		over += latency[i] > (float)((double)STALL_NSEC / 1e6);
	}
	qsort(latency, count, sizeof(float), compare);
	qsort(late, count, sizeof(float), compare);
	printf("%zu\t%" PRIu64 "\t%.3f\t%.3f\t%.3f\t%.3f\t%zu\t%.3f\t%.3f", count,
	       client->errors, percentile(latency, count, 0.5),
	       percentile(latency, count, 0.99), percentile(latency, count, 0.999),
	       percentile(latency, count, 1), over, percentile(late, count, 0.99),
	       percentile(late, count, 1));
	print_canaries(canary_count);
	printf("\t%.4f\t%.4f\t%.3f\t%.3f\t%.3f\t%.1f\t%d\n",
	       (to->steal - from->steal) / wall / cpus,
	       fmax(0, to->busy - from->busy - ours) / wall / cpus,
	       (to->server - from->server) / wall, (to->batch - from->batch) / wall,
	       (to->client - from->client) / wall, (double)(to->work - from->work) / wall,
	       is_realtime);
}

/* --- start --- */

static double number(const char *name, const char *text, double low, double high)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= low && value <= high)) {
		fprintf(stderr, "colo_client: --%s is %g to %g, not '%s'\n", name, low,
			high, text);
		exit(2);
	}
	return value;
}

static const struct colocation_shared *map_shared(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *shared = MAP_FAILED;

	if (fd >= 0)
		shared = mmap(NULL, sizeof(struct colocation_shared), PROT_READ,
			      MAP_SHARED, fd, 0);
	if (fd >= 0)
		(void)close(fd); /* the mapping stays */
	return shared == MAP_FAILED ? NULL : shared;
}

struct settings {
	int port, cpu, server;
	double rate, seconds, settle;
	uint64_t seed;
	const char *shared;
};

static int measure(struct client *client, const struct settings *set)
{
	const struct colocation_shared *shared = NULL;
	struct meter from, to;
	bool is_realtime;
	int count;

	client->settle = (int64_t)(set->settle * 1e9);
	client->end = client->settle + (int64_t)(set->seconds * 1e9);
	if (set->shared) {
		shared = map_shared(set->shared);
		if (!shared) {
			fprintf(stderr, "colo_client: %s: %s\n", set->shared,
				strerror(errno));
			return 1;
		}
	}
	if (!plan_times(client, set->rate, set->seed)) {
		fprintf(stderr, "colo_client: no memory, or no request in the window\n");
		return 1;
	}
	if (!dial_all(client, set->port)) {
		fprintf(stderr, "colo_client: port %d: %s\n", set->port, strerror(errno));
		return 1;
	}
	count = start_canaries((size_t)(set->seconds * 1e9 / CANARY_NSEC) + 100);
	(void)mlockall(MCL_CURRENT |
		       MCL_FUTURE); /* page faults would be lateness: it is told */
	is_realtime = be_realtime(set->cpu, PRIO_CLIENT);

	client->start = clock_nsec(CLOCK_MONOTONIC) + NSEC / 100;
	run(client, client->settle);
	is_measuring = true;
	read_meter(&from, set->server, shared);
	run(client, client->end);
	read_meter(&to, set->server, shared);
	is_measuring = false;
	run(client, client->end + 2 * NSEC);
	is_over = true;
	for (int i = 0; i < count; i++)
		pthread_join(canaries[i].thread, NULL);
	print(client, &from, &to, count, is_realtime);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"port", required_argument, NULL, 'p'},
		{"rate", required_argument, NULL, 'r'},
		{"seconds", required_argument, NULL, 's'},
		{"settle", required_argument, NULL, 'w'},
		{"seed", required_argument, NULL, 'e'},
		{"cpu", required_argument, NULL, 'c'},
		{"server", required_argument, NULL, 'v'},
		{"shared", required_argument, NULL, 'f'},
		{"columns", no_argument, NULL, 'n'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	static struct client client;
	struct settings set = {.seconds = 2, .settle = 0.3, .seed = 1};
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 'p':
			set.port = (int)number("port", optarg, 1, 65535);
			break;
		case 'r':
			set.rate = number("rate", optarg, 1, 200000);
			break;
		case 's':
			set.seconds = number("seconds", optarg, 0.05, 3600);
			break;
		case 'w':
			set.settle = number("settle", optarg, 0, 600);
			break;
		case 'e':
			set.seed = (uint64_t)number("seed", optarg, 0, 1e15);
			break;
		case 'c':
			set.cpu = (int)number("cpu", optarg, 0, CPU_SETSIZE - 1);
			break;
		case 'v':
			set.server = (int)number("server", optarg, 1, 1 << 30);
			break;
		case 'f':
			set.shared = optarg;
			break;
		case 'n':
			fputs(columns, stdout);
			return 0;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			fputs(help, stderr);
			return 2;
		}
	}
	if (!set.port || set.rate <= 0) {
		fprintf(stderr, "colo_client: --port and --rate are needed\n%s", help);
		return 2;
	}
	return measure(&client, &set);
}
