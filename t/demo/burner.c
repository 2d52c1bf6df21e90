/* SPDX-License-Identifier: Apache-2.0
 *
 * The batch job of the demo: one thread per CPU that never waits, mixing arithmetic with
 * walks over a block of memory larger than the second-level cache, and counts units of
 * work. A unit is a few microseconds on an idle CPU. Takes as much CPU as it is given;
 * what it got done is the figure. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 1024
#define WORDS       (1u << 19) /* 4 MiB a thread */

static const char help[] =
	"usage: burner [--threads N] [--seconds N] [--warmup N]\n"
	"  --threads N   (default: one per online CPU)\n"
	"  --seconds N   stop by itself (default 0: at SIGTERM)\n"
	"  --warmup N    seconds that do not count (default 0)\n"
	"At the end prints: units of work, units per second, CPU seconds used; tab separated.\n";

struct thread {
	pthread_t id;
	uint64_t *memory;
	uint64_t seed;
	_Alignas(64) volatile uint64_t units; /* a line of its own */
};

static volatile sig_atomic_t stop;

static void on_signal(int signo)
{
	(void)signo;
	stop = 1;
}

static double now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void *burn(void *arg)
{
	struct thread *thread = arg;
	uint64_t x = thread->seed;

	while (!stop) {
		for (int i = 0; i < 200; i++) {
			for (int k = 0; k < 8; k++) {
				x ^= x << 13;
				x ^= x >> 7;
				x ^= x << 17;
			}
			thread->memory[x % WORDS] += x;
		}
		thread->units++;
	}
	return NULL;
}

static uint64_t sum(const struct thread *threads, int count)
{
	uint64_t units = 0;

	for (int i = 0; i < count; i++)
		units += threads[i].units;
	return units;
}

static void rest(double seconds)
{
	double end = now(CLOCK_MONOTONIC) + seconds;
	struct timespec nap = {.tv_nsec = 20000000};

	while (!stop && now(CLOCK_MONOTONIC) < end)
		nanosleep(&nap, NULL);
}

static int number(const char *name, const char *text, long low, long high)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, 10);
	if (errno || end == text || *end || value < low || value > high) {
		fprintf(stderr, "burner: --%s is %ld to %ld, not '%s'\n", name, low, high,
			text);
		exit(2);
	}
	return (int)value;
}

static bool start(struct thread *threads, int count)
{
	for (int i = 0; i < count; i++) {
		threads[i].seed = 88172645463325252u + (uint64_t)i * 7919;
		threads[i].memory = calloc(WORDS, sizeof(uint64_t));
		if (!threads[i].memory ||
		    pthread_create(&threads[i].id, NULL, burn, &threads[i]))
			return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"threads", required_argument, NULL, 't'},
		{"seconds", required_argument, NULL, 's'},
		{"warmup", required_argument, NULL, 'w'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	static struct thread threads[THREADS_MAX];
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int count = cpus < 1 ? 1 : cpus > THREADS_MAX ? THREADS_MAX : (int)cpus;
	int seconds = 0, warmup = 0, opt;
	struct sigaction action = {.sa_handler = on_signal};
	double from, cpu_from, wall;
	uint64_t units;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 't':
			count = number("threads", optarg, 1, THREADS_MAX);
			break;
		case 's':
			seconds = number("seconds", optarg, 0, 86400);
			break;
		case 'w':
			warmup = number("warmup", optarg, 0, 3600);
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			fputs(help, stderr);
			return 2;
		}
	}
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	if (!start(threads, count)) {
		fprintf(stderr, "burner: no memory or threads\n");
		return 1;
	}
	rest(warmup);
	from = now(CLOCK_MONOTONIC);
	cpu_from = now(CLOCK_PROCESS_CPUTIME_ID);
	units = sum(threads, count);
	rest(seconds ? seconds : 1e9);
	/* Read before the threads are told: what they do while ending is not counted. */
	units = sum(threads, count) - units;
	wall = now(CLOCK_MONOTONIC) - from;
	printf("%" PRIu64 "\t%.0f\t%.2f\n", units, (double)units / wall,
	       now(CLOCK_PROCESS_CPUTIME_ID) - cpu_from);
	stop = 1;
	for (int i = 0; i < count; i++) {
		pthread_join(threads[i].id, NULL);
		free(threads[i].memory);
	}
	return 0;
}
