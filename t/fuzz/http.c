/* SPDX-License-Identifier: Apache-2.0
 *
 * The HTTP server with its real loop and a real connection over loopback or a unix
 * socket, in one process. The input is what a client sends, in pieces. What reaches a
 * handler must be a request of the one reading that the bytes have (lib/http_reading.h),
 * in order; afterwards nothing of the connection is left. */
#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "api/http/serve/address.h"
#include "api/http/server.h"
#include "engine/base/mem.h"
#include "t/fuzz/lib/fuzz.h"
#include "t/fuzz/lib/http_reading.h"

#define TURNS_MAX 2000
/* How long a deferred request waits for the end of its connection. */
#define TURNS_DEFERRED 10
#define LARGE          2048
#define LARGE_MAX      ((size_t)256 * 1024)

static struct machine {
	struct event_base *base;
	struct neap_http *http;
	struct sockaddr_in tcp;
	struct sockaddr_un path;
	struct http_reading reading;
	size_t read; /* how many of its requests have been asked for */
	struct neap_http_request *deferred;
} m;

/* The target of the request line as path, decoded. */
static bool is_target(const struct http_read_request *want, const char *path)
{
	size_t len = 0;
	char *text;
	bool is_same;

	while (len < want->target_len && want->target[len] != '?')
		len++;
	text = neap_strndup(want->target, len);
	FUZZ_CHECK(text != NULL);
	is_same = neap_url_decode(text, false, NULL) == 0 && strcmp(text, path) == 0;
	free(text);
	return is_same;
}

/* This request must be in the reading, behind the ones before it. */
static void note(struct neap_http_request *request, const char *method)
{
	const char *path = neap_http_path_get(request);
	size_t len;
	const char *body = neap_http_body_get(request, &len);

	FUZZ_CHECK(body[len] == '\0');
	while (m.read < m.reading.count) {
		const struct http_read_request *want = &m.reading.requests[m.read++];
		bool is_get =
			strcmp(want->method, "HEAD") == 0 && strcmp(method, "GET") == 0;

		if ((!is_get && strcmp(want->method, method) != 0) ||
		    !is_target(want, path))
			continue;
		/* Of a chunked body in odd form the length may be anything: it is the
		 * last. */
		if (want->is_chunked && !want->has_body)
			return;
		if (want->body_len == len && memcmp(want->body, body, len) == 0)
			return;
	}
	fprintf(stderr, "%s %s with %zu bytes is in no reading\n", method, path, len);
	abort();
}

static void answer(struct neap_http_request *request)
{
	const char *query = neap_http_query_find(request, "q");

	(void)neap_http_accepts(request, "text/plain");
	(void)neap_http_header_find(request, "X-Any");
	if (neap_http_segment_get(request, 0))
		FUZZ_CHECK(!strchr(neap_http_segment_get(request, 0), '/'));
	neap_http_answer_json_take(request, 200, json_pack("{s:s?}", "q", query));
}

static void get(void *arg, struct neap_http_request *request)
{
	(void)arg;
	note(request, "GET");
	answer(request);
}

static void put(void *arg, struct neap_http_request *request)
{
	(void)arg;
	note(request, "PUT");
	answer(request);
}

static void post(void *arg, struct neap_http_request *request)
{
	(void)arg;
	note(request, "POST");
	answer(request);
}

static void delete (void *arg, struct neap_http_request *request)
{
	(void)arg;
	note(request, "DELETE");
	answer(request);
}

static void patch(void *arg, struct neap_http_request *request)
{
	(void)arg;
	note(request, "PATCH");
	answer(request);
}

static void stream_gone(void *arg)
{
	(void)arg;
}

static void stream(void *arg, struct neap_http_request *request)
{
	struct neap_http_stream *to;

	(void)arg;
	note(request, "GET");
	to = neap_http_stream_start_take(request, "text/plain", stream_gone, NULL);
	if (to) {
		(void)neap_http_stream_send(to, "piece\n", 6);
		neap_http_stream_end(to);
	}
}

static void deferred_gone(void *arg)
{
	(void)arg;
	m.deferred = NULL;
}

/* Answered after the next piece of input, or never when the client goes first. */
static void defer(void *arg, struct neap_http_request *request)
{
	(void)arg;
	note(request, "GET");
	if (m.deferred) {
		answer(request);
		return;
	}
	m.deferred = request;
	neap_http_defer(request, deferred_gone, NULL);
}

static const struct neap_http_route routes[] = {
	{"GET", "/open", NEAP_HTTP_ANYBODY, get},
	{"POST", "/open", NEAP_HTTP_ANYBODY, post},
	{"GET", "/stream", NEAP_HTTP_READER, stream},
	{"GET", "/defer", NEAP_HTTP_READER, defer},
	{"GET", "/a/{x}/b", NEAP_HTTP_READER, get},
	{"GET", "/*", NEAP_HTTP_READER, get},
	{"PUT", "/*", NEAP_HTTP_READER, put},
	{"POST", "/*", NEAP_HTTP_READER, post},
	{"DELETE", "/*", NEAP_HTTP_READER, delete},
	{"PATCH", "/*", NEAP_HTTP_READER, patch},
	{0},
};

static void machine_make(void)
{
	struct neap_http_config config = {.token = "secret", .own_uid = geteuid()};
	socklen_t len = sizeof(m.tcp);
	struct neap_error err;

	(void)signal(SIGPIPE, SIG_IGN);
	m.path.sun_family = AF_UNIX;
	snprintf(m.path.sun_path, sizeof(m.path.sun_path), "%s/http.sock", fuzz_folder());
	FUZZ_CHECK(neap_http_bind_tcp("127.0.0.1:0", &config.tcp_fd, &err) == 0);
	FUZZ_CHECK(neap_http_bind_unix(m.path.sun_path, &config.unix_fd, &err) == 0);
	FUZZ_CHECK(getsockname(config.tcp_fd, (struct sockaddr *)&m.tcp, &len) == 0);
	m.base = neap_http_base_new();
	FUZZ_CHECK(m.base && neap_http_new(m.base, &config, &m.http, &err) == 0);
	FUZZ_CHECK(neap_http_add_routes(m.http, routes, NULL, &err) == 0);
}

/* libFuzzer's clock interrupts calls that wait. */
static bool connect_to(int fd, const void *addr, socklen_t len)
{
	int r;

	do
		r = connect(fd, addr, len);
	while (r < 0 && errno == EINTR);
	return r == 0 || errno == EISCONN;
}

/* From another address each time: the ports of one would run out, as ended connections
 * keep theirs for a minute. */
static void dial_tcp(int fd)
{
	static const struct linger at_once = {.l_onoff = 1};
	static const int on = 1;
	static uint32_t count;
	struct sockaddr_in from = {.sin_family = AF_INET};

	from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + ++count % 0xfffff0);
	(void)setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&from, sizeof(from)) < 0 ||
	    !connect_to(fd, &m.tcp, sizeof(m.tcp))) {
		perror("connect");
		abort();
	}
}

static int dial(bool over_unix)
{
	int fd = socket(over_unix ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	FUZZ_CHECK(fd >= 0);
	if (over_unix)
		FUZZ_CHECK(connect_to(fd, &m.path, sizeof(m.path)));
	else
		dial_tcp(fd);
	(void)fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

static void answer_deferred(struct neap_http_request *request)
{
	/* Another one may be deferred while this one is answered. */
	if (request && request == m.deferred) {
		m.deferred = NULL;
		answer(request);
	}
}

static void turn(void)
{
	FUZZ_CHECK(event_base_loop(m.base, EVLOOP_NONBLOCK) >= 0);
}

/* What the server says is thrown away, but it is HTTP. */
static void hear(int fd, bool *is_first)
{
	char buf[4096];
	ssize_t n;

	for (n = recv(fd, buf, sizeof(buf), 0); n > 0;
	     n = recv(fd, buf, sizeof(buf), 0)) {
		/* evhttp answers in the version that was asked in, be it one that there
		 * is not. */
		if (*is_first && !(n >= 7 && memcmp(buf, "HTTP/", 5) == 0)) {
			fprintf(stderr, "answered '%.*s'\n", (int)n, buf);
			abort();
		}
		*is_first = false;
	}
}

/* A piece that the socket does not take at once goes on after a turn, as the reading has
 * all of it. False: nobody takes more. */
static bool push(int fd, const char *bytes, size_t len, bool *is_first)
{
	for (int i = 0; i < TURNS_MAX; i++) {
		ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return false;
		turn();
		hear(fd, is_first);
		if (n > 0) {
			bytes += n;
			len -= (size_t)n;
		}
		if (!len)
			return true;
	}
	return false;
}

/* Pieces are parted by \1; a turn of the loop comes after each. */
static void say(int fd, const char *bytes, size_t len, bool *is_first)
{
	while (len) {
		const char *end = memchr(bytes, 1, len);
		size_t part = end ? (size_t)(end - bytes) : len;
		struct neap_http_request *before = m.deferred;
		bool is_taken = push(fd, bytes, part, is_first);

		answer_deferred(before);
		hear(fd, is_first);
		if (!is_taken)
			return;
		bytes += part + (end != NULL);
		len -= part + (end != NULL);
	}
}

/* Of \2 and the byte behind it many are made, so that a small input can be a large
 * request. */
static char *enlarge(const char *bytes, size_t len, size_t *ret_len)
{
	char *all = malloc(len * LARGE + 1);
	size_t n = 0;

	FUZZ_CHECK(all != NULL);
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] == 2 && i + 1 < len && n < LARGE_MAX) {
			memset(all + n, bytes[++i], LARGE);
			n += LARGE;
		} else {
			all[n++] = bytes[i];
		}
	}
	*ret_len = n;
	return all;
}

/* The bytes without the marks of the pieces. */
static char *join(const char *bytes, size_t len, size_t *ret_len)
{
	char *all = malloc(len + 1);
	size_t n = 0;

	FUZZ_CHECK(all != NULL);
	for (size_t i = 0; i < len; i++)
		if (bytes[i] != 1)
			all[n++] = bytes[i];
	*ret_len = n;
	return all;
}

/* A byte (1: over the unix socket, 2: half closed at the end), then what is sent. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool is_first = true;
	struct fuzz_in in;
	unsigned how;
	char *bytes, *all;
	size_t len, all_len;
	int fd;

	if (!m.base)
		machine_make();
	fuzz_in_init(&in, data, size);
	how = fuzz_byte(&in);
	bytes = fuzz_rest(&in, &len);
	bytes = enlarge(bytes, len, &len);
	all = join(bytes, len, &all_len);
	http_reading_make(&m.reading, all, all_len);
	m.read = 0;
	fd = dial(how & 1);
	turn();
	say(fd, bytes, len, &is_first);
	if (how & 2) {
		(void)shutdown(fd, SHUT_WR); /* it may be closed already */
		turn();
		hear(fd, &is_first);
	}
	(void)close(fd);
	for (int i = 0; i < TURNS_MAX && neap_http_connection_count(m.http); i++) {
		turn();
		/* Behind input that nobody has read the end shows only after a second. */
		if (i == TURNS_DEFERRED)
			answer_deferred(m.deferred);
	}
	FUZZ_CHECK(neap_http_connection_count(m.http) == 0);
	FUZZ_CHECK(!m.deferred);
	http_reading_done(&m.reading);
	free(all);
	free(bytes);
	fuzz_in_done(&in);
	return 0;
}
