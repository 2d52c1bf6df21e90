/* SPDX-License-Identifier: Apache-2.0
 *
 * The limit for the node tick (P9): reads the files of a list through kept descriptors by
 * pread, in the order of the list, and does nothing else with them. The list is what the
 * daemon reads: files of pods, as the kernel counts their containers in them. An empty
 * line in the list ends a tick, so files that are read in some ticks only are read as
 * often here. Prints the CPU time of a tick in microseconds, then the reads of a tick;
 * tab separated. It sleeps between ticks as long as the daemon that it is set beside. */
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define TICK_USEC 100000

static const char help[] =
	"usage: tick_limit LIST [ROUNDS]\n"
	"  LIST    file of paths, one a line; an empty line ends a tick\n"
	"  ROUNDS  how often the whole list is read (default 10)\n";

struct list {
	int *fds; /* -1 ends a tick */
	size_t count, room, ticks;
};

static int add(struct list *list, int fd)
{
	if (list->count == list->room) {
		size_t room = list->room ? list->room * 2 : 4096;
		int *fds = reallocarray(list->fds, room, sizeof(*fds));

		if (!fds)
			return -1;
		list->fds = fds;
		list->room = room;
	}
	list->fds[list->count++] = fd;
	return 0;
}

/* A file named again keeps its descriptor. */
static int fd_of(const char *path)
{
	ENTRY want = {.key = strdup(path)}, *found;
	int fd;

	if (!want.key)
		return -1;
	found = hsearch(want, FIND);
	if (found) {
		free(want.key);
		return (int)(long)found->data;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		fprintf(stderr, "tick_limit: %s: %s\n", path, strerror(errno));
	want.data = (void *)(long)fd;
	if (!hsearch(want, ENTER))
		fprintf(stderr, "tick_limit: too many files\n");
	return fd;
}

static int load(struct list *list, const char *name)
{
	FILE *file = fopen(name, "re");
	char *line = NULL;
	size_t size = 0;
	ssize_t len;
	int rc = 0;

	if (!file || !hcreate(1u << 16)) {
		fprintf(stderr, "tick_limit: %s: %s\n", name, strerror(errno));
		return -1;
	}
	while (rc == 0 && (len = getline(&line, &size, file)) > 0) {
		if (line[len - 1] == '\n')
			line[len - 1] = '\0';
		if (!line[0]) {
			list->ticks++;
			rc = add(list, -1);
			continue;
		}
		rc = fd_of(line);
		if (rc >= 0)
			rc = add(list, rc) < 0 ? -1 : 0;
	}
	free(line);
	(void)fclose(file); /* only read from */
	if (rc == 0 && list->ticks == 0)
		list->ticks = 1;
	return rc;
}

static double cpu_usec(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

int main(int argc, char **argv)
{
	static char buf[16384];
	struct list list = {0};
	struct rlimit limit;
	long rounds = argc > 2 ? strtol(argv[2], NULL, 10) : 10;
	double from = 0;
	size_t reads = 0;

	if (argc < 2 || argc > 3 || argv[1][0] == '-' || rounds < 1) {
		fputs(help,
		      argc == 2 && strcmp(argv[1], "--help") == 0 ? stdout : stderr);
		return argc == 2 && strcmp(argv[1], "--help") == 0 ? 0 : 2;
	}
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit); /* an open that fails tells */
	}
	if (load(&list, argv[1]) < 0)
		return 1;
	/* Round -1 warms up and is not counted. */
	for (long round = -1; round < rounds; round++) {
		if (round == 0)
			from = cpu_usec();
		for (size_t i = 0; i < list.count; i++) {
			if (list.fds[i] < 0) {
				(void)usleep(
					TICK_USEC); /* as the daemon: caches cool down */
				continue;
			}
			if (pread(list.fds[i], buf, sizeof(buf), 0) < 0) {
				fprintf(stderr, "tick_limit: read: %s\n",
					strerror(errno));
				return 1;
			}
			reads += round >= 0;
		}
	}
	printf("%.0f\t%.0f\n", (cpu_usec() - from) / (double)rounds / (double)list.ticks,
	       (double)reads / (double)rounds / (double)list.ticks);
	free(list.fds);
	return 0;
}
