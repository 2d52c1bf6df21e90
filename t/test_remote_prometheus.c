/* SPDX-License-Identifier: Apache-2.0
 *
 * Queries to a Prometheus that a server in another process plays, over HTTP and HTTPS: a
 * path of the URL says how it behaves. */
#include <arpa/inet.h>
#include <event2/event.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/http/server.h"
#include "api/http/tls/tls.h"
#include "api/remote/prometheus/prometheus.h"
#include "api/remote/roots.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "engine/log/log.h"
#include "t/lib/patience.h"
#include "t/lib/tls_rig.h"

#define BYTES_MAX 4096
#define QUERY     "avg by (instance) (rate(x{a=\"b+c\"}[5m])) / 2"
#define FORM                                                                             \
	"query=avg%20by%20%28instance%29%20%28rate%28x%7Ba%3D%22b%2Bc%22%7D%5B5m%5D%29"  \
	"%29%20%2F%202"

/* --- the server's side --- */

/* Gives back what was asked. */
static void give_body(void *arg, struct neap_http_request *request)
{
	size_t len;
	const char *body = neap_http_body_get(request, &len);

	(void)arg;
	neap_http_answer_text(request, 200, "application/json", body, len);
}

static void give_nothing(void *arg, struct neap_http_request *request)
{
	(void)arg;
	neap_http_answer_text(request, 200, "application/json", "", 0);
}

static void refuse(void *arg, struct neap_http_request *request)
{
	static const char text[] = "{\"status\":\"error\",\"errorType\":\"bad_data\","
				   "\"error\":\"1:9: parse error\"}";

	(void)arg;
	neap_http_answer_text(request, 400, "application/json", text, strlen(text));
}

static void give_page(void *arg, struct neap_http_request *request)
{
	(void)arg;
	neap_http_answer_text(request, 502, "text/html", "<html>", 6);
}

static void give_huge(void *arg, struct neap_http_request *request)
{
	neap_auto_free char *text = neap_alloc(TLS_RIG_BIG);

	(void)arg;
	memset(text, 'x', TLS_RIG_BIG);
	neap_http_answer_text(request, 200, "application/json", text, TLS_RIG_BIG);
}

static void left(void *arg)
{
	(void)arg;
}

static void stay_silent(void *arg, struct neap_http_request *request)
{
	(void)arg;
	neap_http_defer(request, left, NULL);
}

#define BELOW(name) "/" name "/api/v1/query"

static void add_routes(struct neap_http *http, struct event_base *base)
{
	static const struct neap_http_route routes[] = {
		{"POST", BELOW("good"), NEAP_HTTP_ANYBODY, give_body},
		{"POST", BELOW("none"), NEAP_HTTP_ANYBODY, give_nothing},
		{"POST", BELOW("wrong"), NEAP_HTTP_ANYBODY, refuse},
		{"POST", BELOW("page"), NEAP_HTTP_ANYBODY, give_page},
		{"POST", BELOW("huge"), NEAP_HTTP_ANYBODY, give_huge},
		{"POST", BELOW("slow"), NEAP_HTTP_ANYBODY, stay_silent},
		{"POST", BELOW("strict"), NEAP_HTTP_ADMIN, give_body},
		{0}};
	struct neap_error err;

	(void)base;
	if (neap_http_add_routes(http, routes, NULL, &err) < 0)
		exit(4);
}

static struct http_server plain, secret;

static int start(void **state)
{
	static char files[3][96];
	static const char *const names[][2] = {{"server.crt", "tls.crt"},
					       {"server.key", "tls.key"},
					       {"ca.crt", "c.crt"}};
	const struct neap_tls_config tls = {files[0], files[1], files[2], geteuid()};

	if (tls_rig_make(state) < 0)
		return -1;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(names); i++) {
		tls_copy(tls_rig_dir, names[i][0], names[i][1]);
		(void)snprintf(files[i], sizeof(files[i]), "%s/%s", tls_rig_dir,
			       names[i][1]);
	}
	(void)chmod(files[1], 0600);
	http_server_start(&plain, 0, add_routes);
	http_server_start_as(&secret, 0, add_routes, &(struct http_access){.tls = &tls});
	return 0;
}

static int stop(void **state)
{
	http_server_stop(&plain);
	http_server_stop(&secret);
	return tls_rig_remove(state);
}

/* --- who asks --- */

static struct {
	bool is_told;
	char *body;
	size_t len;
	char why[512];
} answer;

static void told(void *arg, char *body, size_t len, const char *why)
{
	(void)arg;
	assert_false(answer.is_told);
	answer.is_told = true;
	answer.body = body;
	answer.len = len;
	(void)snprintf(answer.why, sizeof(answer.why), "%s", why ? why : "");
}

static const struct neap_log quiet = {.fd = -1, .program = "test"};

static char *read_ca(void)
{
	static char text[8192];
	neap_auto_free char *path = neap_asprintf("%s/ca.crt", tls_rig_dir);
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	(void)fclose(file);
	return text;
}

struct asking {
	struct event_base *base;
	struct neap_transport *transport;
	struct neap_prometheus_query *query;
};

/* Instead of a CA of its own; NULL: it has one. */
static struct x509_store_st *roots;

static void begin(struct asking *asking, bool is_https, int port, const char *path,
		  const char *token, int64_t timeout_usec)
{
	char url[96];
	struct neap_error err = {0};
	const struct neap_transport_keys keys = {
		.ca = is_https && !roots ? read_ca() : NULL, .token = token};
	struct neap_transport_config transport = {
		.url = url, .log = &quiet, .roots = roots};
	struct neap_prometheus_config config = {
		.timeout_usec = timeout_usec, .bytes_max = BYTES_MAX, .told = told};

	free(answer.body);
	memset(&answer, 0, sizeof(answer));
	*asking = (struct asking){.base = event_base_new()};
	(void)snprintf(url, sizeof(url), "%s://127.0.0.1:%d/%s",
		       is_https ? "https" : "http", port, path);
	config.base = transport.base = asking->base;
	assert_int_equal(neap_transport_setup(&err), 0);
	assert_int_equal(neap_transport_new(&transport, &asking->transport, &err), 0);
	assert_int_equal(neap_transport_set_keys(asking->transport, &keys, &err), 0);
	config.transport = asking->transport;
	if (neap_prometheus_ask(&config, QUERY, &asking->query, &err) < 0)
		fail_msg("%s", err.msg);
}

static void end(struct asking *asking)
{
	neap_transport_free(asking->transport);
	event_base_free(asking->base);
}

static void ask(bool is_https, int port, const char *path, const char *token,
		int64_t timeout_usec)
{
	struct asking asking;

	begin(&asking, is_https, port, path, token, timeout_usec);
	if (!comes_true_in(asking.base, answer.is_told))
		fail_msg("%s: nothing came", path);
	end(&asking);
}

#define LONG INT64_C(600000000)

static const struct {
	const char *path, *token;
	int64_t timeout_usec;
	const char *body, *why; /* why: some of it; NULL: body */
} rows[] = {
	{"good", NULL, LONG, FORM, NULL},
	{"strict", "secret", LONG, FORM, NULL},
	{"strict", NULL, LONG, NULL, "HTTP status 401"},
	{"strict", NULL, LONG, NULL, "give a token (--prometheus-token, or authToken)"},
	{"none", NULL, LONG, NULL, "the answer is empty"},
	{"wrong", NULL, LONG, NULL, "HTTP status 400: 1:9: parse error"},
	{"page", NULL, LONG, NULL, "HTTP status 502"},
	{"nowhere", "secret", LONG, NULL,
	 "HTTP status 404: is it the URL of a Prometheus?"},
	{"huge", NULL, LONG, NULL, "the answer is too large"},
	{"slow", NULL, 300000, NULL, "there is no answer within 0.3 s"},
};

static void ask_all(bool is_https)
{
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		ask(is_https, is_https ? secret.port : plain.port, rows[i].path,
		    rows[i].token, rows[i].timeout_usec);
		if (!rows[i].why && (!answer.body || strcmp(answer.body, FORM) != 0 ||
				     answer.len != strlen(FORM)))
			fail_msg("%s: %s %s", rows[i].path, answer.body, answer.why);
		if (rows[i].why &&
		    (answer.body || !*answer.why || !strstr(answer.why, rows[i].why)))
			fail_msg("%s: %s %s", rows[i].path, answer.body, answer.why);
	}
}

static void test_plain(void **state)
{
	(void)state;
	ask_all(false);
}

static void test_tls(void **state)
{
	(void)state;
	ask_all(true);
	/* Nobody's authority has signed for what answers there. */
	ask(true, plain.port, "good", NULL, LONG);
	assert_null(answer.body);
}

/* The system's authorities are read beforehand. */
static void test_roots(void **state)
{
	static const struct {
		const char *file;
		bool is_known;
	} rows_of_roots[] = {{"ca.crt", true}, {"foreign.crt", false}};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows_of_roots); i++) {
		neap_auto_free char *file =
			neap_asprintf("%s/%s", tls_rig_dir, rows_of_roots[i].file);

		roots = neap_remote_roots_new(file);
		assert_non_null(roots);
		ask(true, secret.port, "good", NULL, LONG);
		neap_remote_roots_free(roots);
		roots = NULL;
		if ((answer.body != NULL) != rows_of_roots[i].is_known)
			fail_msg("%s: %s", rows_of_roots[i].file, answer.why);
	}
	assert_null(neap_remote_roots_new("/none"));
}

/* Ends a connection at once, or after a part of an answer. */
static void break_connections(int fd)
{
	static const char part[] = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
				   "{\"status\":";
	struct timespec pause = {.tv_nsec = 1000000};

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		int client = accept(fd, NULL, NULL);
		char text[4096];
		ssize_t n;

		if (client < 0) {
			(void)nanosleep(&pause, NULL);
			continue;
		}
		n = recv(client, text, sizeof(text) - 1, 0);
		text[n > 0 ? n : 0] = '\0';
		if (strstr(text, "/part/"))
			(void)send(client, part, strlen(part), MSG_NOSIGNAL);
		(void)shutdown(client, SHUT_WR);
		while (recv(client, text, sizeof(text), 0) > 0) {
		}
		(void)close(client);
	}
}

static void test_closing(void **state)
{
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);
	struct neap_error err;
	pid_t pid;
	int fd = -1;

	(void)state;
	assert_int_equal(neap_http_bind_tcp("127.0.0.1:0", &fd, &err), 0);
	(void)getsockname(fd, (struct sockaddr *)&addr, &len);
	pid = fork();
	if (pid == 0)
		break_connections(fd);
	for (int i = 0; i < 3; i++) {
		ask(i == 1, ntohs(addr.sin_port), i == 2 ? "part" : "good", NULL, LONG);
		assert_null(answer.body);
		assert_string_not_equal(answer.why, "");
	}
	(void)close(fd);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	/* And nobody listens there any more. */
	ask(false, ntohs(addr.sin_port), "good", NULL, LONG);
	assert_null(answer.body);
}

/* Nobody hears of what was cancelled, neither before nor after it was sent. */
static void test_cancel(void **state)
{
	(void)state;
	for (int turns = 0; turns < 3; turns++) {
		struct asking asking;

		begin(&asking, false, plain.port, turns ? "slow" : "good", NULL, 200000);
		for (int i = 0; i < turns; i++)
			(void)event_base_loop(asking.base, EVLOOP_ONCE);
		neap_prometheus_cancel(asking.query);
		for (int i = 0; i < 30; i++) {
			(void)event_base_loop(asking.base, EVLOOP_NONBLOCK);
			(void)usleep(10000);
		}
		assert_false(answer.is_told);
		end(&asking);
	}
	neap_prometheus_cancel(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),  cmocka_unit_test(test_tls),
		cmocka_unit_test(test_roots),  cmocka_unit_test(test_closing),
		cmocka_unit_test(test_cancel),
	};

	neap_json_setup();
	return cmocka_run_group_tests(tests, start, stop);
}
