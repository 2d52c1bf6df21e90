/* SPDX-License-Identifier: Apache-2.0
 *
 * The limit for P15: a bare epoll loop that looks for the end of a request and answers
 * with fixed bytes, without parsing anything. Prints its port; ends when its standard
 * input does. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/base/base.h"

static const char reply[] =
	"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 12\r\n"
	"\r\n{\"ok\":true}\n";

/* False: the connection is to be closed. A benchmark's client sends one request at a
 * time. */
static bool serve(int fd)
{
	char buf[4096];
	ssize_t n = recv(fd, buf, sizeof(buf), 0);

	if (n <= 0)
		return false;
	if (n >= 4 && memcmp(buf + n - 4, "\r\n\r\n", 4) == 0)
		return send(fd, reply, sizeof(reply) - 1, MSG_NOSIGNAL) > 0;
	return true;
}

static void add(int epoll, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	(void)epoll_ctl(epoll, EPOLL_CTL_ADD, fd,
			&event); /* then it is just not served */
}

int main(void)
{
	struct sockaddr_in addr = {.sin_family = AF_INET};
	socklen_t len = sizeof(addr);
	int epoll = epoll_create1(EPOLL_CLOEXEC), one = 1, i;
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	(void)setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (bind(listener, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
	    listen(listener, 64) < 0 ||
	    getsockname(listener, (struct sockaddr *)&addr, &len) < 0) {
		perror("http_limit");
		return 1;
	}
	printf("%d\n", ntohs(addr.sin_port));
	(void)fflush(stdout);
	add(epoll, listener);
	add(epoll, STDIN_FILENO);
	for (;;) {
		struct epoll_event events[64];
		int count = epoll_wait(epoll, events, 64, -1);

		for (i = 0; i < count; i++) {
			int fd = events[i].data.fd;

			if (fd == STDIN_FILENO)
				return 0;
			if (fd == listener)
				add(epoll, accept4(listener, NULL, NULL, SOCK_CLOEXEC));
			else if (!serve(fd))
				close(fd);
		}
	}
}
