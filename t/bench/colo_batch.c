/* SPDX-License-Identifier: Apache-2.0
 *
 * The batch work of the colocation sweep: processes that never wait for anybody, of one
 * kind:
 *
 *   cpu     arithmetic in registers
 *   cache   a chase of pointers through an array as large as the last-level cache, in
 *           random order
 *   memory  copies from one large array to another, in order
 *   disk    writes of 128 KiB with fdatasync, and reads of what is not in memory any more
 *
 * Units of work are counted in a file that the client maps (colocation.h). A unit is 10
 * to 100 us on an idle machine; units of different kinds are not comparable. Ends with
 * SIGTERM. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "t/bench/colocation.h"

#define LINE        64
#define BLOCK       (128 * 1024)
#define DISK_BLOCKS 128 /* 16 MiB a process */
#define COPY_BYTES  ((size_t)64 << 20)

static const char help[] =
	"usage: colo_batch --kind cpu|cache|memory|disk --shared FILE [--processes N] [--dir DIR]\n"
	"  --shared FILE    where work is counted; made anew\n"
	"  --processes N    (default: one a CPU)\n"
	"  --dir DIR        folder for the file of kind disk (default .); it is removed at once\n"
	"Prints \"ready\" when all processes work.\n";

static uint64_t step(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void burn_cpu(struct colocation_slot *slot, uint64_t seed)
{
	volatile uint64_t sink;

	slot->is_ready = 1;
	for (;;) {
		for (int i = 0; i < 10000; i++)
			sink = step(&seed);
		slot->units++;
	}
	(void)sink;
}

static size_t cache_bytes(void)
{
	FILE *file = fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "re");
	unsigned long kib = 0;

	if (file) {
		if (fscanf(file, "%luK", &kib) != 1)
			kib = 0;
		(void)fclose(file); /* only read */
	}
	/* Unknown, or the sum over sockets that some virtual machines show. */
	if (kib < 4096 || kib > 65536)
		kib = 32768;
	return kib * 1024;
}

/* One cycle through all lines (Sattolo), so that the chase never falls into a short
 * one. */
static int chase(struct colocation_slot *slot, uint64_t seed)
{
	size_t bytes = cache_bytes(), count = bytes / LINE,
	       stride = LINE / sizeof(size_t);
	size_t *next = malloc(bytes), at = 0;

	if (!next)
		return 1;
	for (size_t i = 0; i < count; i++)
		next[i * stride] = i * stride;
	for (size_t i = count - 1; i > 0; i--) {
		size_t j = step(&seed) % i, kept = next[i * stride];

		next[i * stride] = next[j * stride];
		next[j * stride] = kept;
	}
	slot->is_ready = 1;
	for (;;) {
		for (int i = 0; i < 1000; i++)
			at = next[at];
		slot->units++;
		/* The chase must not be taken for needless. */
		__asm__ volatile("" : "+r"(at));
	}
}

static int copy(struct colocation_slot *slot)
{
	char *from = malloc(COPY_BYTES), *to = malloc(COPY_BYTES);

	if (!from || !to)
		return 1;
	memset(from, 1, COPY_BYTES);
	memset(to, 2, COPY_BYTES);
	slot->is_ready = 1;
	for (;;) {
		for (size_t at = 0; at < COPY_BYTES; at += BLOCK) {
			memcpy(to + at, from + at, BLOCK);
			__asm__ volatile("" : : "r"(to) : "memory");
			slot->units++;
		}
	}
}

static int use_disk(struct colocation_slot *slot, const char *dir, uint64_t seed)
{
	char path[4096];
	static char block[BLOCK];
	uint64_t written = 0;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/colo_batch.%d", dir, (int)getpid());
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || unlink(path) < 0)
		return 1;
	for (size_t i = 0; i < sizeof(block); i += 8)
		memcpy(block + i, &(uint64_t){step(&seed)}, 8);
	slot->is_ready = 1;
	for (;;) {
		off_t at = (off_t)(written % DISK_BLOCKS) * BLOCK;
		uint64_t there = written < DISK_BLOCKS ? written + 1 : DISK_BLOCKS;

		if (pwrite(fd, block, BLOCK, at) != BLOCK || fdatasync(fd) < 0)
			return 1;
		written++;
		at = (off_t)(step(&seed) % there) * BLOCK;
		/* What is on disk leaves memory, so that the read is one. */
		if (posix_fadvise(fd, at, BLOCK, POSIX_FADV_DONTNEED) ||
		    pread(fd, block, BLOCK, at) != BLOCK)
			return 1;
		slot->units++;
	}
}

static int be_batch(const char *kind, struct colocation_slot *slot, const char *dir)
{
	uint64_t seed = 0x9e3779b97f4a7c15u ^ (uint64_t)getpid();

	slot->pid = getpid();
	if (strcmp(kind, "cpu") == 0)
		burn_cpu(slot, seed);
	if (strcmp(kind, "cache") == 0)
		return chase(slot, seed);
	if (strcmp(kind, "memory") == 0)
		return copy(slot);
	return use_disk(slot, dir, seed);
}

static struct colocation_shared *map_shared(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	void *shared = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, sizeof(struct colocation_shared)) == 0)
		shared = mmap(NULL, sizeof(struct colocation_shared),
			      PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		(void)close(fd); /* the mapping stays */
	return shared == MAP_FAILED ? NULL : shared;
}

static int wrong(const char *what, const char *text)
{
	fprintf(stderr, "colo_batch: %s '%s'\n%s", what, text, help);
	return 2;
}

static int start_all(struct colocation_shared *shared, int count, const char *kind,
		     const char *dir)
{
	for (int i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return -1;
		if (pid == 0) {
			(void)prctl(PR_SET_PDEATHSIG,
				    SIGKILL); /* none may outlive the first */
			_exit(be_batch(kind, &shared->slots[i], dir));
		}
	}
	return 0;
}

/* Says so when all have their memory and files; returns without a word when one ended. */
static void wait_ready(const struct colocation_shared *shared, int count)
{
	struct timespec nap = {.tv_nsec = 2000000};

	for (int i = 0; i < count; i++) {
		while (!shared->slots[i].is_ready) {
			siginfo_t ended = {0};

			(void)waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT);
			if (ended.si_pid)
				return;
			nanosleep(&nap, NULL);
		}
	}
	puts("ready");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"kind", required_argument, NULL, 'k'},
		{"shared", required_argument, NULL, 's'},
		{"processes", required_argument, NULL, 'p'},
		{"dir", required_argument, NULL, 'd'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	const char *kind = "", *path = NULL, *dir = ".";
	long count = sysconf(_SC_NPROCESSORS_ONLN);
	struct colocation_shared *shared;
	int opt, status = 0;

	if (count > COLOCATION_SLOTS_MAX)
		count = COLOCATION_SLOTS_MAX;
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 'k':
			kind = optarg;
			break;
		case 's':
			path = optarg;
			break;
		case 'p':
			count = strtol(optarg, NULL, 10);
			if (count < 1 || count > COLOCATION_SLOTS_MAX)
				return wrong("--processes is 1 to 128, not", optarg);
			break;
		case 'd':
			dir = optarg;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			fputs(help, stderr);
			return 2;
		}
	}
	if (strcmp(kind, "cpu") != 0 && strcmp(kind, "cache") != 0 &&
	    strcmp(kind, "memory") != 0 && strcmp(kind, "disk") != 0)
		return wrong("--kind is cpu, cache, memory or disk, not", kind);
	if (!path)
		return wrong("--shared is needed", "");
	shared = map_shared(path);
	if (!shared || start_all(shared, (int)count, kind, dir) < 0) {
		fprintf(stderr, "colo_batch: %s: %s\n", path, strerror(errno));
		return 1;
	}
	wait_ready(shared, (int)count);
	/* Children end only by an error or with this process. */
	(void)wait(&status); /* its status says all */
	fprintf(stderr, "colo_batch: a process of kind %s ended: %s\n", kind,
		strerror(errno));
	return 1;
}
