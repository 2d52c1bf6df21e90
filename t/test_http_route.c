/* SPDX-License-Identifier: Apache-2.0
 *
 * Path patterns, and what a handler sees of a request and adds to its answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/http/serve/address.h"
#include "api/http/server.h"
#include "t/lib/http.h"

/* --- patterns alone --- */

static const struct {
	const char *pattern, *path;
	const char *want; /* segments and rest, each behind a '|'; NULL: no match */
} matches[] = {
	{"/a", "/a", "|"},
	{"/a", "/a/", NULL},
	{"/a", "/", NULL},
	{"/a", "/ab", NULL},
	{"/ab", "/a", NULL},
	{"/a/*", "/a/", "|"},
	{"/a/*", "/a/b/c", "|b/c"},
	{"/a/*", "/a", NULL},
	{"/{x}", "/", NULL},
	{"/{x}", "/b", "|b|"},
	{"/{x}", "/b/", NULL},
	{"/{x}/c", "/b/c", "|b|"},
	{"/{x}/c", "//c", NULL},
	{"/{x}/c", "/b/d", NULL},
	{"/{x}/c", "/b", NULL},
	{"/a/{kind}/{name}/rollback", "/a/qos/mine/rollback", "|qos|mine|"},
	{"/a/{kind}/{name}/rollback", "/a/qos/rollback", NULL},
	{"/a/{kind}/{name}/rollback", "/a/qos/b/c/rollback", NULL},
	{"/a/{kind}/{name}/rollback", "/a/qos//rollback", NULL},
	{"/{a}/{b}/*", "/1/2/3/4", "|1|2|3/4"},
	{"/{a}", "/*", "|*|"},
	{"/{a}", "/{a}", "|{a}|"},
};

static void test_match(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(matches) / sizeof(matches[0]); i++) {
		struct neap_route_match match = {.count = -1};
		char got[256] = "";
		int k, len = 0;

		if (!neap_route_match(matches[i].pattern, matches[i].path, &match)) {
			if (matches[i].want || match.count != -1)
				fail_msg("%s on %s: no match", matches[i].pattern,
					 matches[i].path);
			continue;
		}
		for (k = 0; k < match.count; k++)
			len += snprintf(got + len, sizeof(got) - (size_t)len, "|%.*s",
					(int)match.segments[k].len,
					match.segments[k].start);
		(void)snprintf(got + len, sizeof(got) - (size_t)len, "|%s", match.rest);
		if (!matches[i].want || strcmp(got, matches[i].want) != 0)
			fail_msg("%s on %s: %s", matches[i].pattern, matches[i].path,
				 got);
	}
}

static void test_patterns(void **state)
{
	static const char *const good[] = {"/",      "/a/b", "/{a}",
					   "/{a}/b", "/a/*", "/{a}/{b}/{c}/{d}"};
	static const char *const bad[] = {"",       "a",     "/a*b",
					  "/a{b}",  "/{b}a", "/{b",
					  "/{b/c}", "/b}",   "/{a}/{b}/{c}/{d}/{e}"};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (!neap_route_is_pattern(good[i]))
			fail_msg("refused: %s", good[i]);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (neap_route_is_pattern(bad[i]))
			fail_msg("accepted: %s", bad[i]);
}

/* --- through the server --- */

static void tell(void *arg, struct neap_http_request *request)
{
	(void)arg;
	assert_null(neap_http_segment_get(request, -1));
	assert_null(neap_http_segment_get(request, 4));
	neap_http_answer_json_take(request, 200,
				   json_pack("{s:s?, s:s?, s:s, s:s?, s:b, s:s}", "first",
					     neap_http_segment_get(request, 0), "second",
					     neap_http_segment_get(request, 1), "rest",
					     neap_http_rest_get(request), "if-match",
					     neap_http_header_find(request, "if-match"),
					     "lua",
					     neap_http_accepts(request, "text/x-lua"),
					     "path", neap_http_path_get(request)));
}

static void add_headers(void *arg, struct neap_http_request *request)
{
	static const struct {
		const char *name, *value;
		int want;
	} rows[] = {
		{"ETag", "\"7\"", 0},
		{"Cache-Control", "max-age=5", 0},
		{"X-Blank", "", 0},
		{"Bad", "a\r\nInjected: yes", -NEAP_EINVAL},
		{"Bad", "a\nb", -NEAP_EINVAL},
		{"Bad", "a\r\n b", -NEAP_EINVAL},
		{"Bad\r\nInjected", "yes", -NEAP_EINVAL},
		{"Bad name", "yes", -NEAP_EINVAL},
		{"", "yes", -NEAP_EINVAL},
		{"content-length", "7", -NEAP_EINVAL},
		{"Transfer-Encoding", "chunked", -NEAP_EINVAL},
	};
	const char *wrong = "none";
	size_t i;

	(void)arg;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (neap_http_header_add(request, rows[i].name, rows[i].value) !=
		    rows[i].want)
			wrong = rows[i].name;
	neap_http_answer_json_take(request, 200, json_pack("{s:s}", "wrong", wrong));
}

static void problem(void *arg, struct neap_http_request *request)
{
	const char *which = neap_http_segment_get(request, 0);
	struct neap_error err;

	(void)arg;
	if (strcmp(which, "412") == 0) {
		neap_error_field(&err, NEAP_EPRECONDITION, "If-Match", "it moved on");
		neap_http_answer_problem_take(
			request, neap_code_http(err.code), &err,
			json_pack("{s:i, s:s}", "revision", 9, "code", "Mine"));
	} else if (strcmp(which, "409") == 0) {
		neap_error_set(&err, NEAP_EINVAL, "another status");
		neap_http_answer_problem_take(request, 409, &err, NULL);
	} else if (strcmp(which, "503") == 0) {
		neap_error_set(&err, NEAP_EUNAVAILABLE, "not now");
		neap_http_answer_error(request, &err);
	} else {
		neap_http_header_add(request, "Retry-After", "30");
		neap_error_set(&err, NEAP_EUNAVAILABLE, "not now");
		neap_http_answer_error(request, &err);
	}
}

#define ROLLBACK "/policies/{kind}/{name}/rollback"
static const struct neap_http_route routes[] = {
	{"GET", "/policies/self", NEAP_HTTP_READER, tell},
	{"GET", "/policies/{kind}", NEAP_HTTP_READER, tell},
	{"PUT", "/policies/{kind}/{name}", NEAP_HTTP_READER, tell},
	{"POST", ROLLBACK, NEAP_HTTP_READER, tell},
	{"GET", "/tree/{root}/*", NEAP_HTTP_READER, tell},
	{"GET", "/headers", NEAP_HTTP_READER, add_headers},
	{"GET", "/problem/{which}", NEAP_HTTP_READER, problem},
	{0},
};
static const struct neap_http_route no_pattern[] = {
	{"GET", "/a{b}", NEAP_HTTP_READER, tell}, {0}};

static void setup(struct neap_http *http, struct event_base *base)
{
	struct neap_error err;

	(void)base;
	assert_int_equal(neap_http_add_routes(http, routes, NULL, &err), 0);
	assert_int_equal(neap_http_add_routes(http, no_pattern, NULL, &err),
			 -NEAP_EINTERNAL);
}

static const struct {
	const char *name, *request, *want, *want_also, *unwanted;
} rows[] = {
	{"literal before a segment", GET("/policies/self") "\r\n", "\"first\":null",
	 " 200 ", NULL},
	{"segment", GET("/policies/qos") "\r\n", "\"first\":\"qos\"", "\"second\":null",
	 NULL},
	{"decoded", GET("/policies/q%20s%2a") "\r\n", "\"first\":\"q s*\"",
	 "\"path\":\"/policies/q s*\"", NULL},
	{"no encoded slash", GET("/policies/q%2fs") "\r\n", " 400 ", NULL, NULL},
	{"empty segment", GET("/policies/") "\r\n", " 404 ", NULL, NULL},
	{"two segments", "POST /policies/a/b/rollback HTTP/1.1\r\n" HOST AUTH "\r\n",
	 "\"first\":\"a\"", "\"second\":\"b\"", NULL},
	{"segment and star", GET("/tree/a/b/c") "\r\n", "\"first\":\"a\"",
	 "\"rest\":\"b/c\"", NULL},
	{"method of a pattern", GET("/policies/a/b") "\r\n", " 405 ", "Allow: PUT\r\n",
	 NULL},
	{"header", GET("/policies/a") "IF-MATCH: \"3\"\r\n\r\n", "\"if-match\":\"\\\"3",
	 NULL, NULL},
	{"no header", GET("/policies/a") "\r\n", "\"if-match\":null", "\"lua\":false",
	 NULL},
	{"accept", GET("/policies/a") "Accept: text/x-lua\r\n\r\n", "\"lua\":true", NULL,
	 NULL},
	{"accept in a list",
	 GET("/policies/a") "Accept: application/json;q=0.5 , Text/X-Lua;v=1\r\n\r\n",
	 "\"lua\":true", NULL, NULL},
	{"accept in a second header",
	 GET("/policies/a") "Accept: a/b\r\nAccept: text/x-lua\r\n\r\n", "\"lua\":true",
	 NULL, NULL},
	{"accept anything", GET("/policies/a") "Accept: */*, text/*\r\n\r\n",
	 "\"lua\":false", NULL, NULL},
	{"accept a longer type", GET("/policies/a") "Accept: text/x-luajit\r\n\r\n",
	 "\"lua\":false", NULL, NULL},
	{"accept a shorter type", GET("/policies/a") "Accept: text/x-lu\r\n\r\n",
	 "\"lua\":false", NULL, NULL},
	{"accept in quotes", GET("/policies/a") "Accept: a/b;c=\", text/x-lua,\"\r\n\r\n",
	 "\"lua\":false", NULL, NULL},
	{"accept with weight 0", GET("/policies/a") "Accept: text/x-lua;q=0\r\n\r\n",
	 "\"lua\":false", NULL, NULL},
	{"accept with weight 0.00",
	 GET("/policies/a") "Accept: text/x-lua; v=1; Q=0.00 , a/b\r\n\r\n",
	 "\"lua\":false", NULL, NULL},
	{"accept with weight 0.01",
	 GET("/policies/a") "Accept: text/x-lua;q=0.01\r\n\r\n", "\"lua\":true", NULL,
	 NULL},
	{"accept commas", GET("/policies/a") "Accept: ,, ,text/x-lua\r\n\r\n",
	 "\"lua\":true", NULL, NULL},
	{"headers of the answer", GET("/headers") "\r\n", "ETag: \"7\"\r\n",
	 "\"wrong\":\"none\"", "Injected"},
	{"own cache control", GET("/headers") "\r\n", "Cache-Control: max-age=5\r\n",
	 NULL, "no-store"},
	{"412 with details", GET("/problem/412") "\r\n", " 412 Precondition Failed",
	 "\"code\":\"PreconditionFailed\",\"message\":\"it moved on\",\"field\":"
	 "\"If-Match\",\"revision\":9",
	 "Mine"},
	{"a status of its own", GET("/problem/409") "\r\n", " 409 Conflict",
	 "\"code\":\"Invalid\"", "Retry-After"},
	{"503", GET("/problem/503") "\r\n", " 503 ", "Retry-After: 1\r\n", NULL},
	{"503 with a time", GET("/problem/late") "\r\n", " 503 ", "Retry-After: 30\r\n",
	 "Retry-After: 1\r\n"},
};

static void test_rows(void **state)
{
	struct http_server server = {0};
	char answer[8192];
	size_t i;

	(void)state;
	http_server_start(&server, 0, setup);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (getenv("CASE") && *getenv("CASE") &&
		    strcmp(getenv("CASE"), rows[i].name) != 0)
			continue;
		http_ask(&server, rows[i].request, answer, sizeof(answer));
		if (!strstr(answer, rows[i].want) ||
		    (rows[i].want_also && !strstr(answer, rows[i].want_also)) ||
		    (rows[i].unwanted && strstr(answer, rows[i].unwanted)))
			fail_msg("%s: %s", rows[i].name, answer);
	}
	http_server_stop(&server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_match),
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
