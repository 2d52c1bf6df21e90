/* SPDX-License-Identifier: Apache-2.0
 *
 * Steady traffic beside whatever else goes on: http_steady SOCKET RATE SECONDS
 * CONNECTIONS PATH... asks for the paths in turn over kept connections to a unix socket,
 * RATE times a second, for so many seconds or until SIGTERM, and prints "sent N failed N
 * p50_usec N p99_usec N max_usec N held_usec N". Times run from the moment at which a
 * request was due, so that a server that stalls cannot hide it by slowing the client
 * down. held is the most CPU time that the first thread of the server spent while a
 * request was out: what a busy machine cannot make longer. Status 1 when one failed: no
 * answer, or another status than 200. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/base.h"
#include "engine/base/mem.h"

#define CONNECTIONS_MAX 32
#define ANSWER_MAX      (1024 * 1024)
#define PATIENCE_USEC   10000000 /* for the last answers */

struct client {
	int fd;
	int64_t due; /* of the request that is out; 0: none is */
	int64_t cpu; /* of the server when it was sent */
	size_t len, want;
	char *answer;
};

static int64_t *times;
static size_t sent, failed, answered;
static int64_t held_usec;
static FILE *server_times; /* NULL: not to be had */
static volatile sig_atomic_t is_ended;

static void end(int signal)
{
	(void)signal;
	is_ended = 1;
}

static int64_t now_usec(void)
{
	struct timespec now = {0};

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* CPU time of the server's first thread, 0 if unknown. */
static int64_t server_cpu_usec(void)
{
	char line[64] = "";

	if (server_times == NULL)
		return 0;
	rewind(server_times);
	(void)fflush(server_times); /* what was read before is forgotten */
	return fgets(line, sizeof(line), server_times) != NULL
		       ? strtoll(line, NULL, 10) / 1000
		       : 0;
}

static void find_server(int fd)
{
	struct ucred who = {0};
	socklen_t len = sizeof(who);
	char path[64];

	if (server_times != NULL)
		(void)fclose(server_times);
	server_times = NULL;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) < 0)
		return;
	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)who.pid,
		       (int)who.pid);
	server_times = fopen(path, "re");
	if (server_times != NULL)
		(void)setvbuf(server_times, NULL, _IONBF, 0);
}

static int dial(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)neap_strcopy(addr.sun_path, sizeof(addr.sun_path), path);
	if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0) {
		perror(path);
		exit(2);
	}
	if (server_times == NULL)
		find_server(fd);
	return fd;
}

static void ask(struct client *client, const char *path, int64_t due)
{
	char request[256];
	int len = snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: x\r\n\r\n",
			   path);

	sent++;
	client->due = due;
	client->cpu = server_cpu_usec();
	client->len = client->want = 0;
	if (write(client->fd, request, (size_t)len) != len) {
		failed++;
		client->due = 0;
	}
}

/* Whether the answer is there whole. */
static bool is_whole(struct client *client)
{
	const char *end, *length;

	client->answer[client->len] = '\0';
	if (client->want == 0) {
		end = strstr(client->answer, "\r\n\r\n");
		length = strcasestr(client->answer, "content-length:");
		if (end == NULL || length == NULL || length > end)
			return false;
		client->want = (size_t)(end - client->answer) + 4 +
			       (size_t)strtoul(length + 15, NULL, 10);
	}
	return client->len >= client->want;
}

static void hear(struct client *client)
{
	ssize_t n = read(client->fd, client->answer + client->len,
			 ANSWER_MAX - client->len - 1);
	int64_t held;

	if (n <= 0) {
		failed += client->due != 0;
		client->due = 0;
		(void)close(client->fd);
		client->fd = -1;
		return;
	}
	client->len += (size_t)n;
	if (client->due == 0 || !is_whole(client))
		return;
	failed += strncmp(client->answer, "HTTP/1.1 200", 12) != 0;
	times[answered++] = now_usec() - client->due;
	held = server_cpu_usec() - client->cpu;
	held_usec = held > held_usec ? held : held_usec;
	client->due = 0;
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static struct client *find_free(struct client *clients, int count)
{
	int i;

	for (i = 0; i < count; i++)
		if (clients[i].due == 0)
			return &clients[i];
	return NULL;
}

int main(int argc, char **argv)
{
	struct client clients[CONNECTIONS_MAX] = {0};
	struct pollfd fds[CONNECTIONS_MAX];
	int64_t start, step, total, until, next = 0;
	int rate, seconds, count, i;

	if (argc < 6) {
		fputs("usage: http_steady SOCKET RATE SECONDS CONNECTIONS PATH...\n",
		      stderr);
		return 2;
	}
	rate = (int)strtol(argv[2], NULL, 10);
	seconds = (int)strtol(argv[3], NULL, 10);
	count = (int)strtol(argv[4], NULL, 10);
	if (rate < 1 || seconds < 1 || count < 1 || count > CONNECTIONS_MAX)
		return 2;
	total = (int64_t)rate * seconds;
	step = 1000000 / rate;
	times = neap_alloc_array((size_t)total, sizeof(*times));
	for (i = 0; i < count; i++) {
		clients[i].fd = dial(argv[1]);
		clients[i].answer = neap_alloc(ANSWER_MAX);
	}
	(void)signal(SIGTERM, end);
	start = now_usec();
	until = start + (int64_t)seconds * 1000000 + PATIENCE_USEC;
	while (next < total || find_free(clients, count) == NULL ||
	       answered + failed < sent) {
		int64_t due = start + next * step, now = now_usec();
		struct client *client = find_free(clients, count);
		int wait_msec = 10;

		if (is_ended && next < total) {
			total = next;
			until = now + PATIENCE_USEC;
		}
		if (now > until)
			break;
		if (next < total && now >= due && client != NULL) {
			if (client->fd < 0)
				client->fd = dial(argv[1]);
			ask(client, argv[5 + next % (argc - 5)], due);
			next++;
			wait_msec = 0;
		} else if (next < total && client != NULL) {
			wait_msec = (int)((due - now) / 1000);
		}
		for (i = 0; i < count; i++)
			fds[i] = (struct pollfd){.fd = clients[i].fd, .events = POLLIN};
		if (poll(fds, (nfds_t)count, wait_msec) <= 0)
			continue;
		for (i = 0; i < count; i++)
			if (fds[i].revents != 0)
				hear(&clients[i]);
	}
	failed += sent - answered > failed ? sent - answered - failed : 0;
	qsort(times, answered, sizeof(*times), compare);
	printf("sent %zu failed %zu p50_usec %lld p99_usec %lld max_usec %lld held_usec %lld\n",
	       sent, failed, answered ? (long long)times[answered / 2] : -1,
	       answered ? (long long)times[answered * 99 / 100] : -1,
	       answered ? (long long)times[answered - 1] : -1,
	       server_times != NULL ? (long long)held_usec : -1);
	for (i = 0; i < count; i++)
		free(clients[i].answer);
	free(times);
	return failed != 0;
}
