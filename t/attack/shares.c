/* SPDX-License-Identifier: Apache-2.0
 *
 * Takes all that neapd gives: shares PORT TLS_PORT COUNT TOKEN... Each TOKEN opens COUNT
 * connections, all watches but every eighth, which says nothing more; beside them as many
 * again that never end their headers, and some that never begin with TLS, from many
 * addresses. Prints "held N, refused N" when all have been tried, and holds what it got
 * until its input ends. Status 1 when it could not connect. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define STRANGERS 600
#define FDS_MAX   20000
#define AT_ONCE   64 /* asked before the answers are read */

static int fds[FDS_MAX], fd_count;

static int dial(long port, int from)
{
	struct sockaddr_in own = {.sin_family = AF_INET},
			   server = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	own.sin_addr.s_addr = htonl(0x7f020000U + (unsigned)(from % 200 + 1));
	server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	server.sin_port = htons((uint16_t)port);
	if (fd < 0 || fd_count == FDS_MAX ||
	    bind(fd, (struct sockaddr *)&own, sizeof(own)) < 0 ||
	    connect(fd, (struct sockaddr *)&server, sizeof(server)) < 0) {
		fprintf(stderr, "connection %d: %s\n", fd_count, strerror(errno));
		exit(1);
	}
	fds[fd_count++] = fd;
	return fd;
}

static void say(int fd, const char *text)
{
	(void)send(fd, text, strlen(text), MSG_NOSIGNAL);
}

/* The first line of the answer is a 200. */
static int is_taken(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char head[16] = "";

	return poll(&p, 1, 10000) > 0 && recv(fd, head, sizeof(head) - 1, 0) > 12 &&
	       !strncmp(head + 9, "200", 3);
}

int main(int argc, char **argv)
{
	struct rlimit limit = {0};
	int held = 0, heard = 0, refused;
	long port, tls_port, count;
	char request[1024], waste[64];

	if (argc < 5)
		return 2;
	port = strtol(argv[1], NULL, 10);
	tls_port = strtol(argv[2], NULL, 10);
	count = strtol(argv[3], NULL, 10);
	(void)getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	(void)signal(SIGPIPE, SIG_IGN);
	for (int user = 4; user < argc; user++)
		for (long i = 0; i < count; i++) {
			(void)snprintf(
				request, sizeof(request),
				"GET /api/v1/pods%s HTTP/1.1\r\nHost: 127.0.0.1\r\n"
				"Authorization: Bearer %s\r\n\r\n",
				i % 8 ? "?watch=true" : "", argv[user]);
			say(dial(port, (int)i), request);
			for (; heard < fd_count &&
			       (fd_count - heard >= AT_ONCE || i == count - 1);
			     heard++)
				held += is_taken(fds[heard]);
		}
	refused = heard - held;
	for (int i = 0; i < STRANGERS; i++) {
		say(dial(port, i), "GET /api/v1/pods HTTP/1.1\r\nHost: 127");
		(void)dial(tls_port, i);
	}
	printf("held %d, refused %d\n", held, refused);
	(void)fflush(stdout);
	while (read(STDIN_FILENO, waste, sizeof(waste)) > 0)
		;
	return 0;
}
