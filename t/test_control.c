/* SPDX-License-Identifier: Apache-2.0
 *
 * The control API over a node that is only a table of functions. The test drives the loop
 * itself and talks through a unix socket. */
#include <event2/event.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/control/control.h"
#include "engine/base/mem.h"

struct fake {
	struct event_base *base;
	struct neap_http *http;
	struct neap_control *control;
	struct neap_control_audit *stream;
	struct neap_audit *audit;
	struct neap_topology *topology;
	char dir[64], path[96];
	bool is_ready, is_late;
	char verb[16];
	neap_control_done *done; /* of an operation that is kept back */
	void *done_arg;
	char run_text[512];
	int run_fd;
};

static json_t *fake_status(void *arg)
{
	(void)arg;
	return json_pack("{s:s}", "state", "acting");
}

static json_t *fake_list(void *arg)
{
	(void)arg;
	return json_pack("[{s:s}]", "id", "a");
}

static const struct neap_topology *fake_topology(void *arg)
{
	return ((struct fake *)arg)->topology;
}

static const struct neap_audit *fake_audit(void *arg)
{
	return ((struct fake *)arg)->audit;
}

static bool fake_is_ready(void *arg, const char **ret_why_not)
{
	*ret_why_not = "no tick yet";
	return ((struct fake *)arg)->is_ready;
}

static void fake_operate(void *arg, const char *verb, const char *by,
			 neap_control_done *done, void *done_arg)
{
	struct fake *fake = arg;
	struct neap_error err;

	assert_non_null(strstr(by, "uid "));
	neap_strcopy(fake->verb, sizeof(fake->verb), verb);
	fake->done = done;
	fake->done_arg = done_arg;
	if (fake->is_late)
		return;
	if (strcmp(verb, "release") == 0) {
		neap_error_set(&err, NEAP_EUNAVAILABLE, "no hand");
		done(done_arg, NULL, &err);
		return;
	}
	done(done_arg, json_pack("{s:s}", "did", verb), NULL);
}

static void fake_run(void *arg, json_t *input, int peer_fd,
		     const struct neap_http_peer *peer, neap_control_done *done,
		     void *done_arg)
{
	struct fake *fake = arg;
	char *text = json_dumps(input, JSON_COMPACT);

	assert_true(peer->is_unix && peer->pid == getpid());
	neap_strcopy(fake->run_text, sizeof(fake->run_text), text);
	free(text);
	fake->run_fd = peer_fd;
	done(done_arg, json_pack("{s:s}", "id", "run-1"), NULL);
}

static int fake_rotate(void *arg, const char *by, const char **ret_file,
		       struct neap_error *err)
{
	struct fake *fake = arg;

	assert_non_null(strstr(by, "uid "));
	if (fake->is_late)
		return neap_error_set(err, NEAP_ESYS, "disk full");
	*ret_file = "/data/token";
	return 0;
}

static int setup(void **state)
{
	static const struct neap_processor processors[] = {{0, 0, 0, 0}, {1, 1, 0, 0}};
	struct fake *fake = neap_alloc(sizeof(*fake));
	struct neap_http_config config = {
		.tcp_fd = -1, .unix_fd = -1, .own_uid = geteuid()};
	struct neap_control_node node = {.arg = fake,
					 .status = fake_status,
					 .workloads = fake_list,
					 .topology = fake_topology,
					 .audit = fake_audit,
					 .is_ready = fake_is_ready,
					 .is_started = fake_is_ready,
					 .rotate_token = fake_rotate,
					 .operate = fake_operate,
					 .run = fake_run};
	struct neap_error err;

	(void)signal(SIGPIPE, SIG_IGN);
	snprintf(fake->dir, sizeof(fake->dir), "/tmp/neap-control-XXXXXX");
	assert_non_null(mkdtemp(fake->dir));
	snprintf(fake->path, sizeof(fake->path), "%s/s", fake->dir);
	fake->is_ready = true;
	fake->base = event_base_new();
	fake->audit = neap_audit_new(16);
	assert_int_equal(
		neap_topology_new_from_processors(processors, 2, &fake->topology, &err),
		0);
	assert_int_equal(neap_http_bind_unix(fake->path, &config.unix_fd, &err), 0);
	assert_int_equal(neap_http_new(fake->base, &config, &fake->http, &err), 0);
	assert_int_equal(neap_control_new(fake->http, &node, NULL, &fake->control, &err),
			 0);
	assert_int_equal(neap_control_audit_new(fake->http, &node, &fake->stream, &err),
			 0);
	*state = fake;
	return 0;
}

static int teardown(void **state)
{
	struct fake *fake = *state;

	neap_http_free(fake->http);
	neap_control_free(fake->control);
	neap_control_audit_free(fake->stream);
	event_base_free(fake->base);
	neap_audit_free(fake->audit);
	neap_topology_unref(fake->topology);
	unlink(fake->path);
	rmdir(fake->dir);
	free(fake);
	return 0;
}

static int send_request(struct fake *fake, const char *method, const char *path,
			const char *body)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	neap_auto_free char *text =
		neap_asprintf("%s %s HTTP/1.1\r\nHost: x\r\nConnection: close"
			      "\r\nContent-Length: %zu\r\n\r\n%s",
			      method, path, strlen(body), body);

	neap_strcopy(addr.sun_path, sizeof(addr.sun_path), fake->path);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	return fd;
}

/* Turns the loop for about ms milliseconds. */
static void turn(struct fake *fake, int ms)
{
	struct timeval wait = {.tv_usec = ms * 1000L};

	event_base_loopexit(fake->base, &wait);
	event_base_dispatch(fake->base);
}

static void ask(struct fake *fake, const char *method, const char *path, const char *body,
		char *answer, size_t size)
{
	int fd = send_request(fake, method, path, body);
	struct pollfd p = {.fd = fd, .events = POLLIN};
	size_t len = 0;
	ssize_t n = 1;
	int i;

	for (i = 0; i < 200 && n > 0 && len + 1 < size; i++) {
		turn(fake, 5);
		if (poll(&p, 1, 0) > 0) {
			n = read(fd, answer + len, size - 1 - len);
			len += n > 0 ? (size_t)n : 0;
		}
	}
	answer[len] = '\0';
	close(fd);
	turn(fake, 5);
}

#define RUN "/control/v1/run"

/* "[,1,1,...", which is refused before it is seen to be no JSON. */
static char many[2 * 32001 + 1];

static void test_routes(void **state)
{
	static const struct {
		const char *name, *method, *path, *body, *want, *want_also;
	} rows[] = {
		{"healthz", "GET", "/healthz", "", " 200 ", "\r\n\r\nok\n"},
		{"livez", "GET", "/livez", "", " 200 ", "ok\n"},
		{"ping", "GET", "/healthz/ping", "", " 200 ", "ok\n"},
		{"ping, ready", "GET", "/readyz/ping", "", " 200 ", "ok\n"},
		{"version with a slash", "GET", "/version/", "", " 200 ", NEAP_VERSION},
		{"options", "OPTIONS", "/version", "", " 405 ", "Allow: GET, HEAD"},
		{"version", "GET", "/version", "", " 200 ", NEAP_VERSION},
		{"version of kubernetes", "GET", "/version?timeout=32s", "", " 200 ",
		 "\"major\":\"1\",\"minor\":\"31\","
		 "\"gitVersion\":\"v1.31.0+neap-" NEAP_VERSION "\""},
		{"head", "HEAD", "/version", "", " 200 ", "Content-Length: "},
		{"status", "GET", "/control/v1/status", "", " 200 ",
		 "{\"state\":\"acting\"}"},
		{"workloads", "GET", "/control/v1/workloads", "", " 200 ",
		 "[{\"id\":\"a\"}]"},
		{"rotate", "POST", "/control/v1/token/rotate", "", " 200", "/data/token"},
		{"topology", "GET", "/control/v1/topology", "", " 200 ",
		 "\"cpu_count\":2"},
		{"wrong verb", "GET", "/control/v1/freeze", "", " 405 ", "Allow: POST"},
		{"freeze", "POST", "/control/v1/freeze", "", " 200 ",
		 "{\"did\":\"freeze\"}"},
		{"release", "POST", "/control/v1/release", "", " 503 ", "no hand"},
		{"resume", "POST", "/control/v1/resume", "", " 200 ",
		 "{\"did\":\"resume\"}"},
		{"since", "GET", "/control/v1/audit?since=x", "", " 422 ",
		 "\"field\":\"since\""},
		{"limit", "GET", "/control/v1/audit?limit=1001", "", " 422 ",
		 "is no number from 0 to 1000"},
		{"run", "POST", RUN, "{\"qos\":\"BE\",\"command\":[\"a\"]}", " 200 ",
		 "{\"id\":\"run-1\"}"},
		{"run in full", "POST", RUN,
		 "{\"name\":\"n-1\",\"qos\":\"LS\",\"cpu_request_milli\":500,"
		 "\"cpu_limit_milli\":20,\"memory_limit_bytes\":4194304,\"command\":[\"a\",\"b\"]}",
		 " 200 ", "run-1"},
		{"run no body", "POST", RUN, "", " 422 ", "no JSON"},
		{"run list", "POST", RUN, "[]", " 422 ", "no JSON object"},
		{"run many values", "POST", RUN, many, " 413 ", "more than 32000 values"},
		{"run twice", "POST", RUN, "{\"qos\":\"BE\",\"qos\":\"LS\"}", " 422 ",
		 "duplicate"},
		{"run no qos", "POST", RUN, "{\"command\":[\"a\"]}", " 422 ",
		 "\"field\":\"qos\""},
		{"run wrong qos", "POST", RUN, "{\"qos\":\"LSE\",\"command\":[\"a\"]}",
		 " 422 ", "LS (latency-critical) or BE"},
		{"run no command", "POST", RUN, "{\"qos\":\"BE\",\"command\":[]}",
		 " 422 ", "\"field\":\"command\""},
		{"run command of numbers", "POST", RUN,
		 "{\"qos\":\"BE\",\"command\":[1]}", " 422 ", "every word is a string"},
		{"run negative", "POST", RUN,
		 "{\"qos\":\"BE\",\"command\":[\"a\"],\"cpu_limit_milli\":-1}", " 422 ",
		 "\"field\":\"cpu_limit_milli\""},
		{"run with less CPU than the kernel takes", "POST", RUN,
		 "{\"qos\":\"BE\",\"command\":[\"a\"],\"cpu_limit_milli\":19}", " 422 ",
		 "a whole number of at least 20"},
		{"run with a page of memory", "POST", RUN,
		 "{\"qos\":\"BE\",\"command\":[\"a\"],\"memory_limit_bytes\":4096}",
		 " 422 ", "at least 4194304"},
		{"run no program", "POST", RUN, "{\"qos\":\"BE\",\"command\":[\"\"]}",
		 " 422 ", "the first one names a program"},
		{"run name with capitals", "POST", RUN,
		 "{\"qos\":\"BE\",\"command\":[\"a\"],\"name\":\"Job\"}", " 422 ",
		 "of a-z 0-9 . _ -"},
		{"run name with slash", "POST", RUN,
		 "{\"qos\":\"BE\",\"command\":[\"a\"],\"name\":\"../x\"}", " 422 ",
		 "\"field\":\"name\""},
		{"run unknown", "POST", RUN,
		 "{\"qos\":\"BE\",\"command\":[\"a\"],\"cpu\":1}", " 422 ",
		 "\"field\":\"cpu\""},
	};
	char answer[8192];
	size_t i;

	for (i = 0; i + 1 < sizeof(many); i++)
		many[i] = i % 2 ? ',' : '1';
	many[0] = '[';
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		if (getenv("CASE") && *getenv("CASE") &&
		    strcmp(getenv("CASE"), rows[i].name) != 0)
			continue;
		ask(*state, rows[i].method, rows[i].path, rows[i].body, answer,
		    sizeof(answer));
		if (!strstr(answer, rows[i].want) || !strstr(answer, rows[i].want_also))
			fail_msg("%s: %s", rows[i].name, answer);
	}
}

static void test_ready(void **state)
{
	struct fake *fake = *state;
	char answer[4096];

	static const struct {
		const char *method, *path;
	} rows[] = {
		{"GET", "/readyz"},
		{"GET", "/control/v1/status"},
		{"GET", "/control/v1/workloads"},
		{"GET", "/control/v1/topology"},
		{"GET", "/control/v1/audit"},
		{"POST", "/control/v1/freeze"},
		{"POST", RUN},
	};
	size_t i;

	/* Without a node nothing is asked of it; health and version are there all the
	 * same. */
	fake->is_ready = false;
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		ask(fake, rows[i].method, rows[i].path, "", answer, sizeof(answer));
		if (!strstr(answer, " 503 ") || !strstr(answer, "no tick yet"))
			fail_msg("%s: %s", rows[i].path, answer);
	}
	ask(fake, "GET", "/version", "", answer, sizeof(answer));
	assert_non_null(strstr(answer, " 200 "));
	fake->is_ready = true;
	ask(fake, "GET", "/readyz", "", answer, sizeof(answer));
	assert_non_null(strstr(answer, " 200 "));
}

static size_t count(const char *text, const char *part)
{
	size_t n = 0;

	for (text = strstr(text, part); text; text = strstr(text + 1, part))
		n++;
	return n;
}

static void test_audit(void **state)
{
	static const struct {
		const char *query;
		size_t entries;
		const char *want;
	} rows[] = {
		{"", 16, "\"last\":20"}, /* the ring holds 16 of 20 */
		{"?since=18", 2, "\"seq\":19"},
		{"?since=20", 0, "\"entries\":[]"},
		{"?since=0&limit=3", 3, "\"seq\":5"},
		{"?limit=2", 2, "\"seq\":20"},
		{"?since=9223372036854775806", 0, "\"last\":20"},
	};
	struct fake *fake = *state;
	struct neap_audit_entry entry = {.unix_usec = 1000000,
					 .what = "set",
					 .group = "neap/\xff",
					 .key = "cpu.max_milli",
					 .errnum = 13,
					 .dry_run = true};
	char answer[16384];
	size_t i;

	for (i = 0; i < 20; i++)
		neap_audit_add(fake->audit, &entry);
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		char path[128];

		snprintf(path, sizeof(path), "/control/v1/audit%s", rows[i].query);
		ask(fake, "GET", path, "", answer, sizeof(answer));
		if (!strstr(answer, rows[i].want) ||
		    count(answer, "\"seq\"") != rows[i].entries)
			fail_msg("audit%s: %s", rows[i].query, answer);
	}
	ask(fake, "GET", "/control/v1/audit?limit=1", "", answer, sizeof(answer));
	assert_non_null(strstr(answer, "\"error\":\"Permission denied\""));
	assert_non_null(strstr(answer, "\"dry_run\":true"));
}

/* The answer comes after the client has gone, or after the API has. */
static void test_late_answers(void **state)
{
	struct fake *fake = *state;
	neap_control_done *done;
	void *done_arg;
	int fd;

	fake->is_late = true;
	fd = send_request(fake, "POST", "/control/v1/freeze", "");
	turn(fake, 30);
	assert_string_equal(fake->verb, "freeze");
	close(fd);
	turn(fake, 30);
	fake->done(fake->done_arg, json_pack("{s:s}", "too", "late"), NULL);
	turn(fake, 10);

	fd = send_request(fake, "POST", "/control/v1/resume", "");
	turn(fake, 30);
	assert_string_equal(fake->verb, "resume");
	done = fake->done;
	done_arg = fake->done_arg;
	neap_http_free(fake->http);
	neap_control_free(fake->control);
	fake->http = NULL;
	fake->control = NULL;
	done(done_arg, json_pack("{s:s}", "too", "late"), NULL);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_routes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ready, setup, teardown),
		cmocka_unit_test_setup_teardown(test_audit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_late_answers, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
