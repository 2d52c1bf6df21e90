/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads small files at a high rate and remembers every text that each of them ever
 * showed, so that a value which was wrong for a moment cannot hide. Made for some ten
 * kernel files, some thousand rounds a second. What lies between two rounds is not seen;
 * the longest such gap is printed. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FILES_MAX 64
#define TEXTS_MAX 64
#define TEXT_SIZE 256

static const char help[] =
	"usage: watch PAUSE_USEC FILE...\n"
	"Reads the files one after another, then pauses, until TERM. Prints, tab separated, for each\n"
	"text that a file showed: file, text, times seen, first and last time seen in microseconds since\n"
	"the start; last \"rounds N longest_gap_usec N\". A file that cannot be read shows \"-\".\n";

struct text {
	char text[TEXT_SIZE];
	uint64_t count;
	int64_t first_usec, last_usec;
};

struct watched {
	const char *path;
	int fd;
	struct text texts[TEXTS_MAX];
	int count;
};

static volatile sig_atomic_t is_ended;

static void ended(int number)
{
	(void)number;
	is_ended = 1;
}

static int64_t now_usec(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* A kept descriptor costs one call; it is opened anew when its group went. */
static void text_read(struct watched *watched, char *buf)
{
	ssize_t n = -1;
	int try;

	for (try = 0; try < 2 && n < 0; try++) {
		if (watched->fd < 0)
			watched->fd = open(watched->path, O_RDONLY | O_CLOEXEC);
		if (watched->fd < 0)
			break;
		n = pread(watched->fd, buf, TEXT_SIZE - 1, 0);
		if (n < 0) {
			(void)close(watched->fd);
			watched->fd = -1;
		}
	}
	if (n < 0) {
		memcpy(buf, "-", 2);
		return;
	}
	while (n > 0 && buf[n - 1] == '\n')
		n--;
	buf[n] = '\0';
	for (; n > 0; n--)
		if (buf[n - 1] == '\n' || buf[n - 1] == '\t')
			buf[n - 1] = ' ';
}

static bool note(struct watched *watched, const char *text, int64_t at_usec)
{
	struct text *seen = NULL;
	int i;

	for (i = 0; i < watched->count && !seen; i++)
		if (strcmp(watched->texts[i].text, text) == 0)
			seen = &watched->texts[i];
	if (!seen && watched->count == TEXTS_MAX)
		return false;
	if (!seen) {
		seen = &watched->texts[watched->count++];
		memcpy(seen->text, text, strlen(text) + 1);
		seen->first_usec = at_usec;
	}
	seen->count++;
	seen->last_usec = at_usec;
	return true;
}

int main(int argc, char **argv)
{
	static struct watched watched[FILES_MAX];
	struct sigaction action = {.sa_handler = ended};
	const struct sched_param realtime = {.sched_priority = 10};
	int64_t start = now_usec();
	int64_t last = start;
	int64_t gap = 0;
	uint64_t rounds = 0;
	int count = argc - 2;
	int i, j;
	long pause_usec;

	if (count < 1 || count > FILES_MAX) {
		fputs(help, stderr);
		return 2;
	}
	pause_usec = strtol(argv[1], NULL, 10);
	for (i = 0; i < count; i++)
		watched[i] = (struct watched){.path = argv[i + 2], .fd = -1};
	(void)sigaction(SIGTERM, &action, NULL);
	/* A full machine must not keep it from looking; without the right it looks less
	 * often. */
	(void)sched_setscheduler(0, SCHED_FIFO, &realtime);
	while (!is_ended) {
		const struct timespec pause = {0, pause_usec * 1000};
		int64_t now = now_usec();

		if (now - last > gap)
			gap = now - last;
		last = now;
		for (i = 0; i < count; i++) {
			char text[TEXT_SIZE];

			text_read(&watched[i], text);
			if (!note(&watched[i], text, now - start)) {
				fprintf(stderr, "watch: %s has more than %d texts\n",
					watched[i].path, TEXTS_MAX);
				return 1;
			}
		}
		rounds++;
		if (pause_usec > 0)
			(void)nanosleep(&pause, NULL); /* a signal ends it: fine */
	}
	for (i = 0; i < count; i++)
		for (j = 0; j < watched[i].count; j++)
			printf("%s\t%s\t%llu\t%lld\t%lld\n", watched[i].path,
			       watched[i].texts[j].text,
			       (unsigned long long)watched[i].texts[j].count,
			       (long long)watched[i].texts[j].first_usec,
			       (long long)watched[i].texts[j].last_usec);
	printf("rounds %llu longest_gap_usec %lld\n", (unsigned long long)rounds,
	       (long long)gap);
	return 0;
}
