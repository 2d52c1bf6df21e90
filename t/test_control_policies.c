/* SPDX-License-Identifier: Apache-2.0
 *
 * Live policies over HTTP: statuses, headers, and clients that go away. The test drives
 * the loop itself and talks through a unix socket. */
#include <event2/event.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/control/control.h"
#include "api/http/server.h"
#include "engine/base/mem.h"
#include "t/lib/live_rig.h"
#include "t/lib/patience.h"

#define ROOT "/control/v1/policies"
#define ONE  ROOT "/qos/one"

struct web {
	struct live_rig *rig;
	struct neap_http *http;
	struct neap_control_policies *policies;
	char path[96];
};

static int setup(void **state)
{
	struct neap_http_config config = {
		.tcp_fd = -1, .unix_fd = -1, .own_uid = geteuid()};
	struct web *web = calloc(1, sizeof(*web));
	struct neap_error err = {0};
	void *rig;

	(void)signal(SIGPIPE, SIG_IGN);
	assert_int_equal(live_setup(&rig), 0);
	web->rig = rig;
	web->rig->has_dir = true;
	snprintf(web->path, sizeof(web->path), "%s/s", web->rig->base_dir);
	assert_int_equal(live_start(web->rig, &err), 0);
	assert_int_equal(neap_http_bind_unix(web->path, &config.unix_fd, &err), 0);
	assert_int_equal(neap_http_new(web->rig->base, &config, &web->http, &err), 0);
	assert_int_equal(neap_control_policies_new(web->http, web->rig->live,
						   &web->policies, &err),
			 0);
	*state = web;
	return 0;
}

static int teardown(void **state)
{
	struct web *web = *state;
	void *rig = web->rig;

	neap_http_free(web->http);
	neap_control_policies_free(web->policies);
	(void)live_teardown(&rig);
	free(web);
	return 0;
}

static int send_request(struct web *web, const char *method, const char *path,
			const char *headers, const char *body)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	neap_auto_free char *text =
		neap_asprintf("%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s"
			      "Content-Length: %zu\r\n\r\n%s",
			      method, path, headers, strlen(body), body);

	neap_strcopy(addr.sun_path, sizeof(addr.sun_path), web->path);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	return fd;
}

static void turn(struct web *web, int ms)
{
	struct timeval wait = {.tv_usec = ms * 1000L};

	event_base_loopexit(web->rig->base, &wait);
	event_base_dispatch(web->rig->base);
}

static char answer[65536];

static void ask(struct web *web, const char *method, const char *path,
		const char *headers, const char *body)
{
	int fd = send_request(web, method, path, headers, body);
	struct pollfd p = {.fd = fd, .events = POLLIN};
	size_t len = 0;
	ssize_t n = 1;
	int i;

	for (i = 0; i < 2000 && n > 0 && len + 1 < sizeof(answer); i++) {
		turn(web, 2);
		if (poll(&p, 1, 0) > 0) {
			n = read(fd, answer + len, sizeof(answer) - 1 - len);
			len += n > 0 ? (size_t)n : 0;
		}
	}
	answer[len] = '\0';
	close(fd);
}

/* In order, each after the one above. A letter as body is its text. */
static const struct {
	const char *name, *method, *path, *headers, *body, *want, *want_also;
} rows[] = {
	{"empty list", "GET", ROOT, "", "", " 200 ", "\r\n\r\n[]"},
	{"none yet", "GET", ONE, "", "", " 404 ", "\"code\":\"NotFound\""},
	{"no versions", "GET", ONE "/versions", "", "", " 404 ", "no policy qos/one"},
	{"a dry run", "PUT", ONE "?dryRun=true", "", "A", " 200 ",
	 "\"result\":\"checked\""},
	{"a dry run says what it would replace", "PUT", ONE "?dryRun=true", "", "A",
	 " 200 ", "\"replaced\":null"},
	{"dryRun=maybe", "PUT", ONE "?dryRun=maybe", "", "A", " 400 ",
	 "\"field\":\"dryRun\""},
	{"put", "PUT", ONE, "If-None-Match: *\r\n", "A", " 201 ", "\"result\":\"live\""},
	{"again", "PUT", ONE, "", "A", " 200 ", "\"result\":\"unchanged\""},
	{"there is one", "PUT", ONE, "If-None-Match: *\r\n", "B", " 412 ",
	 "\"code\":\"PreconditionFailed\""},
	{"another match", "PUT", ONE, "If-Match: \"00000000\"\r\n", "B", " 412 ", ""},
	{"a wrong match", "PUT", ONE, "If-Match: 12\r\n", "B", " 400 ",
	 "\"field\":\"If-Match\""},
	{"two matches", "PUT", ONE, "If-Match: \"a\", \"b\"\r\n", "B", " 400 ", ""},
	{"none but one", "PUT", ONE, "If-None-Match: \"a\"\r\n", "B", " 400 ", ""},
	{"a refused one", "PUT", ONE, "", "return {", " 422 ", "\"problems\":[{"},
	{"an empty one", "PUT", ONE, "", "", " 422 ", "the text is empty"},
	{"a name that is none", "PUT", ROOT "/qos/One", "", "A", " 422 ", ""},
	{"a kind that is none", "PUT", ROOT "/magic/one", "", "A", " 404 ",
	 "there is qos"},
	{"B", "PUT", ONE, "", "B", " 200 ", "\"replaced\":\""},
	{"a dry run over one", "PUT", ONE "?dryRun=true", "", "A", " 200 ",
	 "\"replaced\":\""},
	{"the row", "GET", ONE, "", "", "ETag: \"", "\"state\":\"probation\""},
	{"the text", "GET", ONE, "Accept: text/x-lua\r\n", "", "Content-Type: text/x-lua",
	 "\r\n\r\n-- B\n"},
	{"its head", "HEAD", ONE, "", "", " 200 ", "ETag: \""},
	{"versions", "GET", ONE "/versions", "", "", "\"before\":\"",
	 "\"layer\":\"uploaded\""},
	{"a version that is none", "GET", ONE "/versions/00000000", "", "", " 404 ", ""},
	{"a long version", "GET", ONE "/versions/0000000000000000000000000000", "", "",
	 " 404 ", ""},
	{"no delete by a dry run", "DELETE", ONE "?dryRun=true", "", "", " 400 ",
	 "only a PUT can be tried"},
	{"no rollback by a dry run", "POST", ONE "/rollback?dryRun=true", "", "", " 400 ",
	 ""},
	{"rollback to what", "POST", ONE "/rollback", "", "{\"to\": 5}", " 422 ",
	 "\"field\":\"to\""},
	{"rollback and what", "POST", ONE "/rollback", "", "{\"x\": 5}", " 422 ",
	 "\"field\":\"x\""},
	{"rollback of a list", "POST", ONE "/rollback", "", "[]", " 422 ", "JSON object"},
	{"rollback to none", "POST", ONE "/rollback", "", "{\"to\": \"00000000\"}",
	 " 404 ", ""},
	{"rollback", "POST", ONE "/rollback", "", "", " 200 ", "\"result\":\"live\""},
	{"parameters", "GET", ONE "/params", "", "", " 200 ",
	 "\"values\":{\"milli\":100}"},
	{"PATCH", "PATCH", ONE "/params", "", "{\"milli\": 300}", " 200 ",
	 "\"set\":{\"milli\":300}"},
	{"PATCH out of range", "PATCH", ONE "/params", "", "{\"milli\": 3}", " 422 ",
	 "\"field\":\"milli\""},
	{"PATCH twice", "PATCH", ONE "/params", "", "{\"milli\": 3, \"milli\": 4}",
	 " 422 ", "duplicate"},
	{"PATCH no JSON", "PATCH", ONE "/params", "", "{", " 422 ", "no JSON"},
	{"PATCH with another match", "PATCH", ONE "/params", "If-Match: \"00000000\"\r\n",
	 "{}", " 412 ", ""},
	{"delete with another match", "DELETE", ONE, "If-Match: \"00000000\"\r\n", "",
	 " 412 ", ""},
	{"delete", "DELETE", ONE, "If-Match: *\r\n", "", " 200 ", "\"now\":null"},
	{"delete again", "DELETE", ONE, "", "", " 404 ", ""},
	{"parameters of none", "GET", ONE "/params", "", "", " 404 ", ""},
	{"a refused name", "PUT", ROOT "/qos/new", "", "return {", " 422 ", ""},
	{"is in the list", "GET", ROOT, "", "", " 200 ", "\"state\":\"refused\""},
	{"and has a row", "GET", ROOT "/qos/new", "Accept: text/x-lua\r\n", "", " 200 ",
	 "\"refused\":{"},
	{"until it is deleted", "DELETE", ROOT "/qos/new", "", "", " 200 ",
	 "\"version\":null"},
	{"the verb is none", "POST", ONE, "", "", " 405 ", "Allow: "},
};

static void test_rows(void **state)
{
	struct web *web = *state;
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		const char *body = rows[i].body;

		if (strlen(body) == 1 && body[0] != '{')
			body = live_text("one", body[0]);
		ask(web, rows[i].method, rows[i].path, rows[i].headers, body);
		if (!strstr(answer, rows[i].want) || !strstr(answer, rows[i].want_also))
			fail_msg("%s: %s", rows[i].name, answer);
	}
}

/* What the directory owns is changed there. */
static void test_owned(void **state)
{
	struct web *web = *state;
	static const struct {
		const char *method, *path, *body;
		int status;
	} owned[] = {{"PUT", ONE, "A", 409},
		     {"PUT", ONE "?dryRun=true", "A", 409},
		     {"DELETE", ONE, "", 409},
		     {"POST", ONE "/rollback", "", 409},
		     {"PATCH", ONE "/params", "{\"milli\": 300}", 200}};
	size_t i;

	live_file(web->rig, "mine.lua", live_text("one", 'D'));
	for (i = 0; i < NEAP_ARRAY_LEN(owned); i++) {
		char want[16];

		snprintf(want, sizeof(want), " %d ", owned[i].status);
		ask(web, owned[i].method, owned[i].path, "",
		    owned[i].body[0] == 'A' ? live_text("one", 'A') : owned[i].body);
		if (!strstr(answer, want) ||
		    (owned[i].status == 409 && !strstr(answer, "/mine.lua")))
			fail_msg("%s %s: %s", owned[i].method, owned[i].path, answer);
	}
	ask(web, "GET", ONE "/versions", "", "");
	assert_non_null(strstr(answer, "\"before\":null"));
}

/* Sixteen wait, the next one is asked to come again; all of them go away, and the changes
 * are made. */
static void test_crowd(void **state)
{
	struct web *web = *state;
	int fds[17], i, busy = 0;

	for (i = 0; i < 17; i++)
		fds[i] = send_request(web, "PUT", ONE, "",
				      live_text("one", (char)('A' + i)));
	for (i = 0; i < 20; i++)
		(void)event_base_loop(web->rig->base, EVLOOP_NONBLOCK);
	for (i = 0; i < 17; i++) {
		struct pollfd p = {.fd = fds[i], .events = POLLIN};
		ssize_t n =
			poll(&p, 1, 0) > 0 ? read(fds[i], answer, sizeof(answer) - 1) : 0;

		answer[n > 0 ? n : 0] = '\0';
		busy += strstr(answer, " 503 ") != NULL &&
			strstr(answer, "Retry-After: 1") != NULL;
		close(fds[i]);
	}
	live_settle(web->rig);
	turn(web, 20);
	live_settle(web->rig);
	print_message("# %d of 17 were asked to come again\n", busy);
	assert_true(live_state(web->rig, "one")[0] == 'u');
	assert_int_equal(web->rig->live->waiting, 0);
	ask(web, "GET", ONE, "", "");
	assert_non_null(strstr(answer, " 200 "));
}

/* The API ends while a change is at work and its client waits. */
static void test_end(void **state)
{
	struct web *web = *state;
	int fd = send_request(web, "PUT", ONE, "", live_text("one", 'A'));

	assert_true(comes_true_in(web->rig->base, web->rig->live->waiting > 0));
	neap_http_free(web->http);
	neap_control_policies_free(web->policies);
	web->http = NULL;
	web->policies = NULL;
	live_settle(web->rig);
	assert_string_equal(live_state(web->rig, "one"), "uA*");
	close(fd);
}

/* Before the start is done there is nothing yet, not "no such policy". */
static void test_early(void **state)
{
	struct web *web = *state;
	static const char *const paths[] = {ROOT, ONE, ONE "/params", ONE "/versions"};
	size_t i;

	web->rig->live->is_inline = true;
	for (i = 0; i < NEAP_ARRAY_LEN(paths); i++) {
		ask(web, "GET", paths[i], "", "");
		if (!strstr(answer, " 503 "))
			fail_msg("%s: %s", paths[i], answer);
	}
	web->rig->live->is_inline = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_rows, setup, teardown),
		cmocka_unit_test_setup_teardown(test_owned, setup, teardown),
		cmocka_unit_test_setup_teardown(test_crowd, setup, teardown),
		cmocka_unit_test_setup_teardown(test_end, setup, teardown),
		cmocka_unit_test_setup_teardown(test_early, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
