/* SPDX-License-Identifier: Apache-2.0
 *
 * kill -9 within a plan: waits until a kernel file shows another value, which is when the
 * hand has begun to write, then a random time, then kills. What is written in a tenth of
 * a second is over in a few milliseconds, and a kill at any moment would seldom meet
 * it. */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define WAIT_USEC 2000000

static const char help[] =
	"usage: strike FILE USEC PID...\n"
	"When FILE changes (or after two seconds), waits USEC more and kills each PID.\n";

static int64_t now_usec(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int main(int argc, char **argv)
{
	char before[256] = "", text[256];
	int64_t start = now_usec();
	int64_t strike_at;
	ssize_t len, n;
	int fd, i;
	int status = 0;

	if (argc < 4) {
		fputs(help, stderr);
		return 2;
	}
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -1 : pread(fd, before, sizeof(before), 0);
	while (len >= 0 && now_usec() - start < WAIT_USEC) {
		n = pread(fd, text, sizeof(text), 0);
		if (n != len || memcmp(text, before, (size_t)n) != 0)
			break;
	}
	strike_at = now_usec() + strtol(argv[2], NULL, 10);
	while (now_usec() < strike_at)
		; /* a sleep would come too late */
	for (i = 3; i < argc; i++) {
		long pid = strtol(argv[i], NULL, 10);

		if (pid <= 1 || kill((pid_t)pid, SIGKILL) < 0)
			status = 1;
	}
	if (fd >= 0)
		(void)close(fd);
	return status;
}
