/* SPDX-License-Identifier: Apache-2.0
 *
 * What the clients of the benches for objects share: connections that wait, requests with
 * the token in BENCH_TOKEN ("secret"), and ConfigMaps of namespace "bench". What fails
 * ends the program. */
#ifndef NEAP_T_BENCH_KUBE_WIRE_H
#define NEAP_T_BENCH_KUBE_WIRE_H

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define REQUEST_MAX ((size_t)3 * 1024 * 1024)
#define MAPS        "/api/v1/namespaces/bench/configmaps"

static inline void fail(const char *what)
{
	perror(what);
	exit(1);
}

static inline double seconds_of(clockid_t clock)
{
	struct timespec now = {0};

	(void)clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static inline int dial(int port)
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

/* request: room of REQUEST_MAX bytes. */
static inline void ask(char *request, int fd, const char *method, const char *path,
		       const char *body)
{
	const char *token = getenv("BENCH_TOKEN"), *at = request;
	char proof[160] = "";
	size_t len;

	if (strncmp(path, "/v3/", 4) !=
	    0) /* etcd would look for a session of that name */
		(void)snprintf(proof, sizeof(proof), "Authorization: Bearer %s\r\n",
			       token ? token : "secret");
	len = (size_t)snprintf(request, REQUEST_MAX,
			       "%s %s HTTP/1.1\r\nHost: x\r\nContent-Type: "
			       "application/json\r\nContent-Length: %zu\r\n%s\r\n%s",
			       method, path, strlen(body), proof, body);

	while (len) {
		ssize_t n = send(fd, at, len, MSG_NOSIGNAL);

		if (n <= 0)
			fail("send");
		at += n;
		len -= (size_t)n;
	}
}

static inline void make_object(char *to, size_t size, int name, size_t bytes, int n)
{
	int len = snprintf(
		to, size,
		"{\"metadata\":{\"name\":\"c-%06d\",\"labels\":{\"app\":\"bench\"}},"
		"\"data\":{\"n\":\"%d\",\"text\":\"",
		name, n);
	/* What the server adds is about so much. */
	size_t fixed = (size_t)len + 150, text = bytes > fixed ? bytes - fixed : 1;

	memset(to + len, 'x', text);
	(void)snprintf(to + len + text, size - (size_t)len - text, "\"}}");
}

static inline void name_path(char *to, size_t size, int name)
{
	(void)snprintf(to, size, MAPS "/c-%06d", name);
}

#endif
