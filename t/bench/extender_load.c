/* SPDX-License-Identifier: Apache-2.0
 *
 * The client of P3 to P5 and P22: extender_load PORT PID NAMES ROUNDS [UID] asks filter
 * for the pod default/p, whose uid is p or UID, and so many nodes, then prioritize about
 * those that filter let pass, in turn over one kept connection, as a kube-scheduler does.
 * Prints the median wall times of filter and of prioritize, and the CPU that process PID
 * took a request, all in microseconds; the nodes that filter let pass; and the 99th
 * percentiles of the times. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/base.h"
#include "engine/base/mem.h"

#define ANSWER_MAX  ((size_t)4 * 1024 * 1024)
#define ROUNDS_MAX  2001
#define PATIENCE_S  120
#define WARM_ROUNDS 5

static const char *uid = "p"; /* of the pod */

struct request {
	char *text;
	size_t len;
};

static double usec_of(clockid_t clock)
{
	struct timespec now = {0};

	(void)clock_gettime(clock, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* names: as they stand in a list. With what a pod has at the least: about 1 KB. */
static struct request make(const char *verb, const char *names)
{
	static const char pod[] =
		"{\"Pod\":{\"metadata\":{\"name\":\"p\",\"namespace\":\"default\",\"uid\":\"%s\","
		"\"resourceVersion\":\"131\",\"creationTimestamp\":\"2026-01-01T00:00:00Z\","
		"\"labels\":{\"app\":\"demo\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":"
		"\"i\",\"resources\":{\"requests\":{\"cpu\":\"1\",\"memory\":\"1Gi\"}},"
		"\"terminationMessagePath\":\"/dev/termination-log\",\"imagePullPolicy\":"
		"\"Always\"}],\"restartPolicy\":\"Always\",\"dnsPolicy\":\"ClusterFirst\","
		"\"schedulerName\":\"default-scheduler\"},\"status\":{\"phase\":\"Pending\"}},"
		"\"Nodes\":null,\"NodeNames\":[%s]}";
	size_t size = sizeof(pod) + strlen(names) + 512, len = 0;
	char *body = neap_alloc(size), *text = neap_alloc(size + 512);
	int head;

	if (!body || !text)
		fail("memory");
	len = (size_t)snprintf(body, size, pod, uid, names);
	head = snprintf(text, size + 512,
			"POST /extender/v1/%s HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: "
			"Go-http-client/1.1\r\nContent-Length: %zu\r\nContent-Type: "
			"application/json\r\nAccept-Encoding: gzip\r\n\r\n",
			verb, len);
	memcpy(text + head, body, len);
	free(body);
	return (struct request){text, (size_t)head + len};
}

static int dial(int port)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_port = htons((uint16_t)port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) < 0)
		fail("connect");
	return fd;
}

/* The length of the answer with its headers; 0: they are not all there yet. Go sends
 * large answers in chunks, whose last one is empty. */
static bool is_whole(const char *answer, size_t got)
{
	const char *body = strstr(answer, "\r\n\r\n"), *length;

	if (!body)
		return false;
	body += 4;
	length = strstr(answer, "Content-Length: ");
	if (length && length < body)
		return got >=
		       (size_t)(body - answer) +
			       strtoul(length + sizeof("Content-Length: ") - 1, NULL, 10);
	return got >= 7 && memcmp(answer + got - 7, "\r\n0\r\n\r\n", 7) == 0;
}

static double ask(int fd, const struct request *request, char *answer)
{
	double from = usec_of(CLOCK_MONOTONIC);
	size_t sent = 0, got = 0;

	while (sent < request->len) {
		ssize_t n =
			send(fd, request->text + sent, request->len - sent, MSG_NOSIGNAL);

		if (n <= 0)
			fail("send");
		sent += (size_t)n;
	}
	do {
		ssize_t n = recv(fd, answer + got, ANSWER_MAX - got - 1, 0);

		if (n <= 0)
			fail("recv");
		got += (size_t)n;
		answer[got] = '\0';
	} while (!is_whole(answer, got));
	if (strncmp(answer + 8, " 200", 4) != 0) {
		(void)fprintf(stderr, "extender_load: no 200 but: %.400s\n", answer);
		exit(1);
	}
	return usec_of(CLOCK_MONOTONIC) - from;
}

static char *make_names(int names)
{
	size_t size = (size_t)names * 16 + 1, len = 0;
	char *list = neap_alloc(size);

	if (!list)
		fail("memory");
	for (int i = 0; i < names; i++)
		len += (size_t)snprintf(list + len, size - len, "%s\"node-%05d\"",
					i ? "," : "", i);
	return list;
}

/* The list of names in an answer of filter, without what Go's chunks have between them;
 * *ret: how many. */
static char *names_of(const char *answer, size_t *ret)
{
	const char *at = strstr(answer, "\"NodeNames\":[");
	char *list = neap_alloc(strlen(answer) + 1), *to = list;

	if (!at || !list) {
		(void)fprintf(stderr, "extender_load: no NodeNames in: %.400s\n", answer);
		exit(1);
	}
	*ret = 0;
	for (at = strchr(at, '[') + 1; *at && *at != ']'; at++) {
		if (*at == '\r') { /* "\r\nLENGTH\r\n" */
			at = strstr(at + 2, "\r\n");
			if (!at)
				fail("a chunk");
			at++;
			continue;
		}
		*ret += *at == '"';
		*to++ = *at;
	}
	*ret /= 2;
	return list;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	static double took[2][ROUNDS_MAX];
	int names, rounds, fd;
	struct request requests[2];
	char *answer = neap_alloc(ANSWER_MAX), *list;
	size_t pass = 0;
	double cpu = 0;
	clockid_t clock;

	if (argc < 5 || argc > 6 || !answer) {
		(void)fprintf(stderr,
			      "usage: extender_load PORT PID NAMES ROUNDS [UID]\n");
		return 2;
	}
	if (argc == 6)
		uid = argv[5];
	names = (int)strtol(argv[3], NULL, 10);
	rounds = (int)strtol(argv[4], NULL, 10);
	if (rounds < 1 || rounds > ROUNDS_MAX || names < 1 || names > 65536 ||
	    clock_getcpuclockid((pid_t)strtol(argv[2], NULL, 10), &clock) != 0)
		fail("arguments");
	(void)alarm(PATIENCE_S); /* a server that does not answer any more */
	list = make_names(names);
	requests[0] = make("filter", list);
	free(list);
	fd = dial((int)strtol(argv[1], NULL, 10));
	(void)ask(fd, &requests[0], answer);
	list = names_of(answer, &pass);
	requests[1] = make("prioritize", list);
	free(list);
	for (int i = -WARM_ROUNDS; i < rounds; i++) {
		if (i == 0)
			cpu = usec_of(clock);
		for (int verb = 0; verb < 2; verb++) {
			double usec = ask(fd, &requests[verb], answer);

			if (i >= 0)
				took[verb][i] = usec;
		}
	}
	cpu = (usec_of(clock) - cpu) / rounds / 2;
	for (int verb = 0; verb < 2; verb++)
		qsort(took[verb], (size_t)rounds, sizeof(double), compare);
	printf("%.1f\t%.1f\t%.1f\t%zu\t%.1f\t%.1f\n", took[0][rounds / 2],
	       took[1][rounds / 2], cpu, pass, took[0][rounds * 99 / 100],
	       took[1][rounds * 99 / 100]);
	return 0;
}
