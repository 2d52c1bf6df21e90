/* SPDX-License-Identifier: Apache-2.0
 *
 * What users may take of the HTTP server, and what stays for others, for admins, and for
 * root over the unix socket; also when the process has no descriptor left. A whole neapd
 * under such an attack: t/attack/shares.t. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/http/server.h"
#include "api/http/users/grants.h"
#include "api/http/users/tokens.h"
#include "engine/base/mem.h"
#include "t/lib/http.h"
#include "t/lib/patience.h"

#define AS(user)         "Authorization: Bearer token-of-" user "-0000\r\n"
#define ASK(path, user)  "GET " path " HTTP/1.1\r\n" HOST AS(user) "\r\n"
#define ROOT(path)       "GET " path " HTTP/1.1\r\n" HOST "\r\n"
#define ADMIN(path)      GET(path) "\r\n"
#define MANY             64
#define DESCRIPTORS      48
#define DESCRIPTORS_NONE 13

static struct neap_http *server_http; /* in the server's process */

static void held(void *arg, struct neap_http_request *request)
{
	const struct neap_http_shares *shares = neap_http_shares_get(server_http);
	char text[1024] = "";
	size_t len = 0;

	(void)arg;
	for (int rank = 0; rank < NEAP_HTTP_RANK_COUNT; rank++)
		for (int thing = 0; thing < NEAP_HTTP_THING_COUNT; thing++)
			len += (size_t)snprintf(
				text + len, sizeof(text) - len,
				"%s %s: %zu, refused %llu\n", neap_http_rank_name(rank),
				neap_http_thing_name(thing), shares->held[rank][thing],
				(unsigned long long)shares->refused[rank][thing]);
	neap_http_answer_text(request, 200, "text/plain", text, len);
}

static void gone(void *arg)
{
	(void)arg;
}

static void wait_for_ever(void *arg, struct neap_http_request *request)
{
	neap_http_defer(request, gone, arg);
}

static void flow(void *arg, struct neap_http_request *request)
{
	struct neap_http_stream *stream =
		neap_http_stream_start_take(request, "text/plain", gone, arg);

	if (stream)
		(void)neap_http_stream_send(stream, "begun\n", 6);
}

static json_t *refusal(int status, const struct neap_error *err)
{
	return json_pack("{s:i, s:s}", "status", status, "why", err->msg);
}

static const struct neap_http_route routes[] = {
	{"GET", "/held", NEAP_HTTP_READER, held},
	{"GET", "/tree/flow", NEAP_HTTP_READER, flow},
	{"GET", "/tree/wait", NEAP_HTTP_READER, wait_for_ever},
	{"GET", "/open", NEAP_HTTP_ANYBODY, held},
	{0},
};
static const char *const paths[] = {"/tree", NULL};
static const struct neap_http_tree tree = {paths, 1 << 20, 20, refusal};

static void setup(struct neap_http *http, struct event_base *base)
{
	struct neap_error err;

	(void)base;
	server_http = http;
	neap_http_set_tree(http, &tree, true);
	(void)neap_http_add_routes(http, routes, NULL, &err);
}

static int start_with(void **state, const struct neap_http_limits *limits,
		      int descriptors)
{
	static struct neap_grants grants;
	static struct http_server server;
	char text[] = "token-of-ann-0000,ann,1\ntoken-of-bob-0000,bob,2\n"
		      "token-of-cid-0000,cid,3\n";
	struct http_access access = {
		.grants = &grants, .limits = *limits, .descriptors = descriptors};
	struct neap_error err;

	memset(&grants, 0, sizeof(grants));
	for (const char *const *user = (const char *const[]){"ann", "bob", "cid", NULL};
	     *user; user++) {
		char grant[64];

		(void)snprintf(grant, sizeof(grant), "reader=user:%s", *user);
		assert_int_equal(neap_grants_parse(&grants, grant, &err), 0);
	}
	assert_int_equal(neap_tokens_parse(text, strlen(text), "F", &access.tokens, &err),
			 0);
	memset(&server, 0, sizeof(server));
	http_server_start_as(&server, 0, setup, &access);
	neap_tokens_unref(access.tokens);
	*state = &server;
	return 0;
}

static int start(void **state)
{
	return start_with(
		state,
		&(struct neap_http_limits){.known_max = 24, .user_max = {16, 5, 4}}, 0);
}

static int start_short(void **state)
{
	return start_with(state, &(struct neap_http_limits){0}, DESCRIPTORS);
}

static int start_none(void **state)
{
	return start_with(state, &(struct neap_http_limits){0}, DESCRIPTORS_NONE);
}

static int stop(void **state)
{
	http_server_stop(*state);
	return 0;
}

/* Opens a connection that stays, and asks; the status of the answer, 0: cut off without
 * one. */
static int stay(int fd, const char *request, char *answer, size_t size)
{
	int status = 0;

	assert_true(fd >= 0);
	http_say(fd, request, strlen(request));
	for (size_t len = 0; !strchr(answer, '\n') || len == 0;) {
		if (http_hear(fd, answer + len, size - len, 100))
			break;
		len = strlen(answer);
	}
	(void)sscanf(answer, "HTTP/1.1 %d", &status);
	return status;
}

static int ask_tcp(const struct http_server *server, const char *request, int *ret_fd,
		   char *answer, size_t size)
{
	answer[0] = '\0';
	*ret_fd = http_dial(server);
	return stay(*ret_fd, request, answer, size);
}

static int open_as(const struct http_server *server, const char *request, int *fds,
		   int count)
{
	char answer[2048];
	int got = 0;

	for (int i = 0; i < count; i++)
		got += ask_tcp(server, request, &fds[i], answer, sizeof(answer)) == 200;
	return got;
}

static int count_open(const int *fds, int count)
{
	char waste[2048];
	int got = 0;

	for (int i = 0; i < count; i++)
		got += !http_hear(fds[i], waste, sizeof(waste), 0);
	return got;
}

static void close_all(const int *fds, int count)
{
	for (int i = 0; i < count; i++)
		close(fds[i]);
}

static bool is_root(void)
{
	return geteuid() == 0;
}

static void expect_root(const struct http_server *server)
{
	char answer[2048] = "";
	int fd;

	if (!is_root())
		return; /* the test's own uid is a stranger there */
	fd = http_dial_unix(server);
	if (stay(fd, ROOT("/held"), answer, sizeof(answer)) != 200)
		fail_msg("root got: %s", answer);
	close(fd);
}

static void expect_admin(const struct http_server *server)
{
	char answer[2048] = "";
	int fd;

	if (ask_tcp(server, ADMIN("/held"), &fd, answer, sizeof(answer)) != 200)
		fail_msg("an admin got: %s", answer);
	close(fd);
}

/* Until the server has seen it: a line of what it holds. */
static void expect_held(const struct http_server *server, const char *line)
{
	char answer[2048] = "";

	for (int i = 0; i < PATIENCE_MS / 20; i++) {
		int fd;

		(void)ask_tcp(server, ADMIN("/held"), &fd, answer, sizeof(answer));
		close(fd);
		if (strstr(answer, line))
			return;
		usleep(20000);
	}
	fail_msg("want %s, got %s", line, answer);
}

static void test_connections(void **state)
{
	int fds[MANY], fd;
	char answer[2048];

	assert_int_equal(open_as(*state, ASK("/held", "ann"), fds, 16), 16);
	assert_int_equal(
		ask_tcp(*state, ASK("/held", "ann"), &fd, answer, sizeof(answer)), 429);
	assert_non_null(strstr(answer, "Retry-After: 1\r\n"));
	assert_non_null(strstr(answer, "\"code\":\"TooManyRequests\""));
	assert_non_null(strstr(answer,
			       "ann has 16 connections open, as many as one user "
			       "may have: end some, or raise --user-connections"));
	close(fd);
	assert_int_equal(open_as(*state, ASK("/held", "bob"), &fd, 1), 1);
	close(fd);
	expect_held(*state, "user connections: 16, refused 1\n");
	expect_admin(*state);
	expect_root(*state);
	close_all(fds, 16);
	expect_held(*state, "user connections: 0, refused 1\n");
	assert_int_equal(open_as(*state, ASK("/held", "ann"), fds, 1), 1);
	close(fds[0]);
}

/* Two that take all they may; a third one has as much as they in the end, and admins and
 * root are not theirs to keep out. */
static void test_collusion(void **state)
{
	int ann[MANY], bob[MANY], cid[MANY], admins[MANY], got = 0, fd;
	char answer[2048];

	assert_int_equal(open_as(*state, ASK("/held", "ann"), ann, 16), 16);
	assert_int_equal(open_as(*state, ASK("/held", "bob"), bob, 8), 8);
	assert_int_equal(open_as(*state, ASK("/held", "cid"), cid, 8), 8);
	assert_int_equal(count_open(ann, 16), 8);
	assert_int_equal(count_open(bob, 8), 8);
	assert_int_equal(count_open(cid, 8), 8);
	/* Now that all have the same, nobody gets more. */
	assert_int_equal(
		ask_tcp(*state, ASK("/held", "cid"), &fd, answer, sizeof(answer)), 503);
	assert_non_null(strstr(answer, "too many connections are open: 24"));
	close(fd);
	/* All places of admins, and one that finds none. */
	while (got < MANY && ask_tcp(*state, ADMIN("/held"), &admins[got], answer,
				     sizeof(answer)) == 200)
		got++;
	assert_int_equal(got, 12);
	close(admins[got]);
	expect_root(*state);
	close_all(admins, got);
	close_all(ann, 16);
	close_all(bob, 8);
	close_all(cid, 8);
	expect_held(*state, "user connections: 0, refused 9\n");
}

static void test_watches(void **state)
{
	int fds[MANY], others[MANY], fd;
	char answer[2048];

	assert_int_equal(open_as(*state, ASK("/tree/flow", "ann"), fds, 5), 5);
	assert_int_equal(
		ask_tcp(*state, ASK("/tree/flow", "ann"), &fd, answer, sizeof(answer)),
		429);
	assert_non_null(strstr(answer, "Retry-After: 10\r\n"));
	assert_non_null(strstr(answer, "ann has 5 watches open"));
	assert_non_null(strstr(answer, "--user-watches"));
	/* The connection is good for other things. */
	answer[0] = '\0';
	assert_int_equal(stay(fd, ASK("/held", "ann"), answer, sizeof(answer)), 200);
	close(fd);
	assert_int_equal(open_as(*state, ASK("/tree/flow", "bob"), others, 5), 5);
	expect_held(*state, "user watches: 10, refused 1\n");
	expect_admin(*state);
	expect_root(*state);
	close_all(fds, 5);
	close_all(others, 5);
	expect_held(*state, "user watches: 0, refused 1\n");
}

static void test_requests(void **state)
{
	static const char request[] = ASK("/tree/wait", "ann");
	int fds[4], fd;
	char answer[2048];

	for (int i = 0; i < 4; i++) {
		fds[i] = http_dial(*state);
		http_say(fds[i], request, strlen(request));
	}
	expect_held(*state, "user requests: 4, refused 0\n");
	assert_int_equal(
		ask_tcp(*state, ASK("/held", "ann"), &fd, answer, sizeof(answer)), 429);
	assert_non_null(strstr(answer, "Retry-After: 1\r\n"));
	assert_non_null(strstr(answer, "ann has 4 requests open"));
	assert_non_null(strstr(answer, "--user-requests"));
	close(fd);
	assert_int_equal(open_as(*state, ASK("/held", "bob"), &fd, 1), 1);
	close(fd);
	expect_root(*state);
	close(fds[0]);
	expect_held(*state, "user requests: 3, refused 1\n");
	assert_int_equal(open_as(*state, ASK("/held", "ann"), &fd, 1), 1);
	close(fd);
	close_all(fds + 1, 3);
}

/* The limit is lower than the server believes: strangers, users and admins give way, in
 * this order. */
static void test_descriptors(void **state)
{
	static const struct {
		const char *name, *request;
		int at_least; /* of MANY that are served, one after the other */
	} rows[] = {
		{"strangers", "GET /open HTTP/1.1\r\n" HOST "\r\n", MANY},
		{"ann", ASK("/held", "ann"), MANY},
		{"admins", ADMIN("/held"), MANY},
	};
	int fds[MANY];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int got = open_as(*state, rows[i].request, fds, MANY);

		if (got < rows[i].at_least)
			fail_msg("%s: %d of %d served", rows[i].name, got, MANY);
		assert_in_range(count_open(fds, MANY), 1, DESCRIPTORS);
		expect_root(*state);
		expect_admin(*state);
		close_all(fds, MANY);
	}
}

static long cpu_ticks(const struct http_server *server)
{
	unsigned long user = 0, system = 0;
	char path[64];
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)server->pid);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_int_equal(fscanf(file,
				"%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u "
				"%*u %lu %lu",
				&user, &system),
			 2);
	(void)fclose(file);
	return (long)(user + system);
}

/* Where as good as nothing is left, accepting waits, and does not spin. */
static void test_no_descriptor(void **state)
{
	const struct http_server *server = *state;
	int fds[MANY];
	long before;

	expect_admin(server); /* it has begun */
	assert_in_range(http_server_fds(server), 1, DESCRIPTORS_NONE);
	for (int i = 0; i < MANY; i++)
		fds[i] = http_dial(server);
	usleep(300000);
	before = cpu_ticks(server);
	sleep(2);
	assert_in_range(cpu_ticks(server) - before, 0, sysconf(_SC_CLK_TCK));
	close_all(fds, MANY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_connections, start, stop),
		cmocka_unit_test_setup_teardown(test_collusion, start, stop),
		cmocka_unit_test_setup_teardown(test_watches, start, stop),
		cmocka_unit_test_setup_teardown(test_requests, start, stop),
		cmocka_unit_test_setup_teardown(test_descriptors, start_short, stop),
		cmocka_unit_test_setup_teardown(test_no_descriptor, start_none, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
