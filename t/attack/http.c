/* SPDX-License-Identifier: Apache-2.0
 *
 * Attacks on a running neapd over TCP, by one who may even have the token: http PORT
 * TOKEN. Forms by which servers are deceived, requests without end, drips, and as many
 * silent connections as may be opened. Each must be refused or cut off; a client with the
 * token asks in between and must be served within a second. Prints a line for each kind;
 * status 1 when something was not as it must be. */
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/base.h"

#define HOST       "Host: x\r\n"
#define GET        "GET /readyz HTTP/1.1\r\n" HOST
#define PUT        "PUT /control/v1/policies/qos/evil HTTP/1.1\r\n" HOST
#define TOKEN      "\x01" /* stands for the Authorization header */
#define CHUNKED    PUT TOKEN "Transfer-Encoding: chunked\r\n\r\n"
#define BEHIND     "GET /version HTTP/1.1\r\n" HOST "\r\n"
#define ENDLESS    (8 * 1024 * 1024) /* bytes, far over every limit */
#define IDLE_MAX   10000
#define DRIPS      40
#define DRIP_MAX_S 40 /* a request has 30 s */

static struct sockaddr_in server = {.sin_family = AF_INET};
static const char *token;
static int failures;
static int64_t slowest_usec;

static void wrong(const char *name, const char *what, const char *answer)
{
	printf("wrong: %s: %s: %.200s\n", name, what, answer);
	failures++;
}

static int64_t now_usec(void)
{
	struct timespec now = {0};

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* From an address of 127/8; -1 when that is refused. */
static int dial(const char *from)
{
	struct sockaddr_in addr = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)inet_pton(AF_INET, from, &addr.sin_addr);
	if (fd >= 0 && bind(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0 &&
	    connect(fd, (struct sockaddr *)&server, sizeof(server)) == 0)
		return fd;
	if (fd >= 0)
		(void)close(fd);
	return -1;
}

/* A refusing server may close before everything is taken. */
static void say(int fd, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, text, len, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		text += n;
		len -= (size_t)n;
	}
}

static void say_text(int fd, const char *text)
{
	char buf[512];
	const char *at = strchr(text, TOKEN[0]);

	if (at == NULL) {
		say(fd, text, strlen(text));
		return;
	}
	say(fd, text, (size_t)(at - text));
	(void)snprintf(buf, sizeof(buf), "Authorization: Bearer %s\r\n", token);
	say(fd, buf, strlen(buf));
	say(fd, at + 1, strlen(at + 1));
}

/* True when the server closed; false after ms of silence. */
static bool hear(int fd, char *buf, size_t size, int ms)
{
	size_t len = 0;

	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		ssize_t n;

		buf[len] = '\0';
		if (len + 1 == size || poll(&p, 1, ms) <= 0)
			return false;
		n = recv(fd, buf + len, size - 1 - len, 0);
		if (n <= 0)
			return true;
		len += (size_t)n;
	}
}

/* One with the token is served, and soon. */
static void expect_served(const char *during)
{
	int64_t from = now_usec(), took;
	int fd = dial("127.0.0.1");
	char answer[4096] = "";

	if (fd < 0) {
		wrong(during, "a known client cannot connect", "");
		return;
	}
	say_text(fd,
		 "GET /control/v1/policies HTTP/1.1\r\nConnection: close\r\n" HOST TOKEN
		 "\r\n");
	(void)hear(fd, answer, sizeof(answer), 3000);
	(void)close(fd);
	took = now_usec() - from;
	if (strncmp(answer, "HTTP/1.1 200 ", 13) != 0)
		wrong(during, "a known client got", answer);
	if (took > slowest_usec)
		slowest_usec = took;
}

/* --- forms --- */

static const struct {
	const char *name, *text;
} forms[] = {
	{"length and chunks", PUT TOKEN
	 "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" BEHIND},
	{"two lengths",
	 PUT TOKEN "Content-Length: 0\r\nContent-Length: 5\r\n\r\n" BEHIND},
	{"a list of lengths", PUT TOKEN "Content-Length: 5, 5\r\n\r\nabcde" BEHIND},
	{"a negative length", PUT TOKEN "Content-Length: -1\r\n\r\n" BEHIND},
	{"a blank behind the name", PUT TOKEN "Content-Length : 5\r\n\r\n" BEHIND},
	{"a folded length", PUT TOKEN "Content-Length: 5\r\n 0\r\n\r\nabcde" BEHIND},
	{"xchunked", PUT TOKEN "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" BEHIND},
	{"chunked twice",
	 PUT TOKEN "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n" BEHIND},
	{"a negative chunk", CHUNKED "-1\r\na\r\n0\r\n\r\n" BEHIND},
	{"a chunk size of letters", CHUNKED "zz\r\na\r\n0\r\n\r\n" BEHIND},
	{"a chunk of 63 bits", CHUNKED "7fffffffffffffff\r\na\r\n" BEHIND},
	{"a chunk longer than it says", CHUNKED "1\r\naxyz\r\n0\r\n\r\n" BEHIND},
	{"no host", "GET /readyz HTTP/1.1\r\n\r\n" BEHIND},
	{"two hosts", GET "Host: y\r\n\r\n" BEHIND},
	{"two tokens", GET TOKEN "Authorization: Bearer x\r\n\r\n" BEHIND},
	{"a body with no token", PUT "Content-Length: 5\r\n\r\nabcde"},
};

static void run_forms(void)
{
	char answer[8192];
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(forms); i++) {
		int fd = dial("127.0.0.9");

		if (fd < 0) {
			wrong(forms[i].name, "cannot connect", "");
			continue;
		}
		say_text(fd, forms[i].text);
		(void)hear(fd, answer, sizeof(answer), 300);
		if (strncmp(answer, "HTTP/1.1 4", 10) != 0 || strstr(answer, " 200 "))
			wrong(forms[i].name, "got", answer);
		(void)close(fd);
	}
	expect_served("forms");
	printf("%zu forms refused\n", i);
}

/* --- without end --- */

static const struct {
	const char *name, *head, *piece;
} endless[] = {
	{"method", "", "GGGGGGGGGGGGGGGG"},
	{"address", "GET /", "aaaaaaaaaaaaaaaa"},
	{"header", GET TOKEN "X: ", "yyyyyyyyyyyyyyyy"},
	{"headers", GET TOKEN, "X: yyyyyyyyyyy\r\n"},
	{"empty lines", "", "\r\n"},
	{"body with no token", PUT "Content-Length: 1000000\r\n\r\n", "bbbbbbbbbbbbbbbb"},
	{"chunks with no token", PUT "Transfer-Encoding: chunked\r\n\r\n", "1\r\nz\r\n"},
	{"length", PUT TOKEN "Content-Length: 8000000\r\n\r\n", "bbbbbbbbbbbbbbbb"},
	{"chunk", CHUNKED "fffff\r\n", "zzzzzzzzzzzzzzzz"},
	{"chunks", CHUNKED, "1\r\nz\r\n"},
	{"chunk size", CHUNKED, "0000000000000000"},
	{"chunk extension", CHUNKED "1 ", "eeeeeeeeeeeeeeee"},
	{"trailers", CHUNKED "0\r\n", "X: yyyyyyyyyyy\r\n"},
};

static void run_endless(void)
{
	static char block[65536];
	char answer[4096];
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(endless); i++) {
		size_t len = strlen(endless[i].piece), sent = 0, k;
		int fd = dial("127.0.0.9");
		struct pollfd p = {.fd = fd, .events = POLLIN};

		if (fd < 0) {
			wrong(endless[i].name, "cannot connect", "");
			continue;
		}
		for (k = 0; k + len <= sizeof(block); k += len)
			memcpy(block + k, endless[i].piece, len);
		say_text(fd, endless[i].head);
		while (sent < ENDLESS && poll(&p, 1, 0) == 0) {
			say(fd, block, k);
			sent += k;
		}
		if (!hear(fd, answer, sizeof(answer), 2000) || strstr(answer, " 200 "))
			wrong(endless[i].name, "without end, still open or answered",
			      answer);
		(void)close(fd);
		expect_served(endless[i].name);
	}
	printf("%zu requests without end cut off\n", i);
}

/* --- a byte now and then --- */

static int run_drips(void)
{
	static const char *const heads[] = {
		"", "GET /op", GET "X: ", PUT TOKEN "Content-Length: 1000\r\n\r\n",
		CHUNKED "ff\r\n"};
	int64_t from = now_usec();
	int fds[DRIPS], i, left = DRIPS;
	char answer[4096];

	for (i = 0; i < DRIPS; i++) {
		fds[i] = dial("127.0.0.8");
		if (fds[i] < 0)
			return 1;
		say_text(fds[i], heads[i % (int)NEAP_ARRAY_LEN(heads)]);
	}
	while (left > 0 && now_usec() - from < DRIP_MAX_S * (int64_t)1000000) {
		for (i = 0; i < DRIPS; i++) {
			if (fds[i] < 0)
				continue;
			say(fds[i], "1", 1);
			if (!hear(fds[i], answer, sizeof(answer), 0))
				continue;
			(void)close(fds[i]);
			fds[i] = -1;
			left--;
		}
		(void)usleep(500000);
	}
	printf("%d drips, %d left after %lld s\n", DRIPS, left,
	       (long long)(now_usec() - from) / 1000000);
	return left > 0;
}

/* --- silence --- */

static int can_open(void)
{
	struct rlimit limit = {0};

	(void)getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	(void)getrlimit(RLIMIT_NOFILE, &limit);
	return limit.rlim_cur > IDLE_MAX + 100 ? IDLE_MAX : (int)limit.rlim_cur - 100;
}

/* First all from one address, then from many. */
static void run_idle(int per_address)
{
	static int fds[IDLE_MAX];
	int count = can_open(), i, refused = 0;
	int64_t start = now_usec();
	char from[32];

	for (i = 0; i < count; i++) {
		(void)snprintf(from, sizeof(from), "127.1.%d.1", i / per_address % 250);
		fds[i] = dial(from);
		refused += fds[i] < 0;
		if (i % 100 == 99)
			expect_served("silence");
	}
	printf("%d silent connections, %d from an address, %d refused, in %lld ms\n",
	       count, per_address, refused, (long long)(now_usec() - start) / 1000);
	for (i = 0; i < count; i++)
		if (fds[i] >= 0)
			(void)close(fds[i]);
}

int main(int argc, char **argv)
{
	int status = 0;
	pid_t drips;

	if (argc != 3) {
		fputs("usage: http PORT TOKEN\n", stderr);
		return 2;
	}
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	(void)signal(SIGPIPE, SIG_IGN);
	server.sin_port = htons((uint16_t)strtol(argv[1], NULL, 10));
	server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	token = argv[2];
	drips = fork();
	if (drips < 0)
		return 2;
	if (drips == 0)
		return run_drips();
	expect_served("drips");
	run_forms();
	run_endless();
	run_idle(IDLE_MAX);
	run_idle(50);
	while (waitpid(drips, &status, WNOHANG) == 0) {
		expect_served("drips");
		(void)usleep(100000);
	}
	failures += status != 0;
	printf("slowest answer to a known client %lld us\n", (long long)slowest_usec);
	if (slowest_usec > 1000000)
		wrong("all", "a known client waited too long", "");
	return failures > 0;
}
