/* SPDX-License-Identifier: Apache-2.0
 *
 * What others feel of a request, for slow.t and the bench. slow SOCKET COUNT MILLISECONDS
 * METHOD PATH [ACCEPT [BODY]]: another client asks for /healthz, again and again over a
 * connection of its own, while COUNT clients send the request at once and read what they
 * are answered, to the end or for so many milliseconds (0: to the end), and for a moment
 * more. Prints the slowest of the other's answers, the time until all were answered (both
 * in milliseconds), the status of the first, and the megabytes. With LATE_UNTIL=PATH it
 * goes on when that is answered with 404. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/mem.h"

#define PIECE   ((size_t)1024 * 1024)
#define REST_MS 300
#define END_MS  120000

static struct sockaddr_un address = {.sun_family = AF_UNIX};

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static double now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static int dial(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		fail("connect");
	return fd;
}

static void ask(int fd, const char *method, const char *path, const char *accept,
		const char *body)
{
	char request[4096];
	int len = snprintf(request, sizeof(request),
			   "%s %s HTTP/1.1\r\nHost: x\r\nAccept: %s\r\nContent-Type: "
			   "application/json\r\nContent-Length: %zu\r\n\r\n%s",
			   method, path, accept, strlen(body), body);

	if (send(fd, request, (size_t)len, MSG_NOSIGNAL) != len)
		fail("send");
}

/* --- the other --- */

static volatile bool is_over;
static double slowest;

static void *look(void *arg)
{
	const struct timespec pause = {.tv_nsec = 500000};
	int fd = dial();
	char answer[4096];

	while (!is_over) {
		double from = now_ms();

		ask(fd, "GET", "/healthz", "*/*", "");
		if (recv(fd, answer, sizeof(answer), 0) <= 0)
			fail("/healthz");
		if (now_ms() - from > slowest)
			slowest = now_ms() - from;
		(void)nanosleep(&pause, NULL);
	}
	(void)close(fd);
	return arg;
}

/* --- the request --- */

struct client {
	int fd;
	bool is_chunked, has_head;
	size_t left;  /* of an answer with a length */
	char tail[8]; /* the last bytes of a chunked one */
};

static int status;
static double bytes;

/* True at the end of the answer. */
static bool take(struct client *client, char *data, size_t len)
{
	bytes += (double)len;
	if (!client->has_head) {
		char *end, *field;

		data[len] = '\0';
		end = strstr(data, "\r\n\r\n");
		if (!end)
			fail("a head");
		*end = '\0';
		if (!status)
			status = (int)strtol(data + 9, NULL, 10);
		field = strcasestr(data, "content-length: ");
		client->has_head = true;
		client->is_chunked = !field;
		client->left = field ? strtoul(field + 16, NULL, 10) : 0;
		len -= (size_t)(end + 4 - data);
		data = end + 4;
	}
	if (!client->is_chunked) {
		client->left -= len;
		return !client->left;
	}
	if (len >= 7)
		memcpy(client->tail, data + len - 7, 7);
	else if (len) {
		memmove(client->tail, client->tail + len, 7 - len);
		memcpy(client->tail + 7 - len, data, len);
	}
	return memcmp(client->tail, "\r\n0\r\n\r\n", 7) == 0;
}

static void read_all(struct client *clients, int count, double until)
{
	char *data = neap_alloc(PIECE + 1);
	int epoll = epoll_create1(EPOLL_CLOEXEC), open = count;

	for (int i = 0; i < count; i++) {
		struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)i};

		if (!data || epoll_ctl(epoll, EPOLL_CTL_ADD, clients[i].fd, &event) < 0)
			fail("epoll");
	}
	while (open && now_ms() < until) {
		struct epoll_event ready[64];
		int n = epoll_wait(epoll, ready, 64, 100);

		for (int i = 0; i < n; i++) {
			struct client *client = &clients[ready[i].data.u32];
			ssize_t len = recv(client->fd, data, PIECE, 0);

			if (len > 0 && !take(client, data, (size_t)len))
				continue;
			(void)close(client->fd);
			client->fd = -1;
			open--;
		}
	}
	for (int i = 0; i < count; i++)
		if (clients[i].fd >= 0)
			(void)close(clients[i].fd);
	(void)close(epoll);
	free(data);
}

static void wait_for(const char *path)
{
	const struct timespec pause = {.tv_nsec = 20000000};
	double until = now_ms() + END_MS;
	bool is_there = true;

	while (is_there && now_ms() < until) {
		int fd = dial();
		char answer[4096];

		ask(fd, "GET", path, "*/*", "");
		is_there = recv(fd, answer, sizeof(answer), 0) < 12 ||
			   memcmp(answer + 9, "404", 3) != 0;
		(void)close(fd);
		(void)nanosleep(&pause, NULL);
	}
	if (is_there)
		(void)fprintf(stderr, "slow: %s is still there\n", path);
}

int main(int argc, char **argv)
{
	int count = argc > 5 ? (int)strtol(argv[2], NULL, 10) : 0;
	const struct timespec rest = {.tv_nsec = REST_MS % 1000 * 1000000L,
				      .tv_sec = REST_MS / 1000};
	struct client *clients = neap_alloc_array((size_t)count + 1, sizeof(*clients));
	struct rlimit files = {0};
	const char *path = getenv("LATE_UNTIL");
	double from, limit, took;
	pthread_t other;

	if (count < 1 || !clients || strlen(argv[1]) >= sizeof(address.sun_path)) {
		(void)fprintf(stderr, "usage: slow SOCKET COUNT MILLISECONDS METHOD PATH "
				      "[ACCEPT [BODY]]\n");
		return 2;
	}
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files); /* then fewer go */
	}
	memcpy(address.sun_path, argv[1], strlen(argv[1]) + 1);
	limit = strtod(argv[3], NULL);
	if (pthread_create(&other, NULL, look, NULL) != 0)
		fail("a thread");
	from = now_ms();
	for (int i = 0; i < count; i++) {
		clients[i].fd = dial();
		ask(clients[i].fd, argv[4], argv[5], argc > 6 ? argv[6] : "*/*",
		    argc > 7 ? argv[7] : "");
	}
	read_all(clients, count, from + (limit > 0 ? limit : END_MS));
	took = now_ms() - from;
	if (path && *path)
		wait_for(path);
	(void)nanosleep(&rest, NULL);
	is_over = true;
	(void)pthread_join(other, NULL);
	printf("%.1f\t%.1f\t%d\t%.1f\n", slowest, took, status, bytes / 1e6);
	free(clients);
	return 0;
}
