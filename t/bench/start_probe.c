/* SPDX-License-Identifier: Apache-2.0
 *
 * Time from exec to the first answer (P18): starts a daemon, connects to its unix socket
 * in a tight loop, asks for /version, and takes the time when the first bytes of the
 * answer are there. Then the daemon is told to end. Prints microseconds. With START_PATH
 * it asks for that, until it is answered with 200: neapd tells its version before it has
 * loaded its objects. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char help[] = "usage: start_probe SOCKET COMMAND [ARGUMENT]...\n";

static double now_usec(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

/* True when something answered. */
static bool ask(const struct sockaddr_un *addr)
{
	const char *path = getenv("START_PATH");
	char request[512];
	int len = snprintf(request, sizeof(request),
			   "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: "
			   "close\r\n\r\n",
			   path ? path : "/version");
	struct timeval patience = {.tv_sec = 2};
	char answer[16];
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool ok;

	if (fd < 0)
		return false;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience,
			 sizeof(patience)); /* without it only a hang would take longer */
	ok = connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) == 0 &&
	     send(fd, request, (size_t)len, MSG_NOSIGNAL) > 0 &&
	     read(fd, answer, sizeof(answer)) == sizeof(answer) &&
	     memcmp(answer, "HTTP/1.", 7) == 0 &&
	     (!path || memcmp(answer + 8, " 200", 4) == 0);
	(void)close(fd); /* the answer's rest is not wanted */
	return ok;
}

int main(int argc, char **argv)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	const struct timespec nap = {.tv_nsec = 50000};
	double from, took = -1;
	pid_t pid;

	if (argc < 3 || strlen(argv[1]) >= sizeof(addr.sun_path)) {
		fputs(help, stderr);
		return 2;
	}
	memcpy(addr.sun_path, argv[1], strlen(argv[1]) + 1);
	from = now_usec();
	pid = fork();
	if (pid < 0)
		return 1;
	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY);

		if (null >= 0)
			(void)dup2(
				null,
				STDOUT_FILENO); /* its greeting is not for our reader */
		execv(argv[2], argv + 2);
		fprintf(stderr, "start_probe: %s: %s\n", argv[2], strerror(errno));
		_exit(127);
	}
	while (took < 0 && now_usec() - from < 10e6) {
		if (ask(&addr))
			took = now_usec() - from;
		else if (waitpid(pid, NULL, WNOHANG) == pid)
			return 1; /* it told why */
		else
			nanosleep(&nap, NULL);
	}
	(void)kill(pid, SIGTERM);    /* gone already is fine */
	(void)waitpid(pid, NULL, 0); /* its status is not the figure */
	if (took < 0) {
		fprintf(stderr, "start_probe: no answer in 10 s\n");
		return 1;
	}
	printf("%.0f\n", took);
	return 0;
}
