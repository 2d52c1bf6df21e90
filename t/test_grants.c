/* SPDX-License-Identifier: Apache-2.0
 *
 * Who has which role: rows of grants, token files (also hostile ones, and without
 * memory), and both over HTTP. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/http/users/grants.h"
#include "api/http/users/tokens.h"
#include "engine/base/mem.h"
#include "t/lib/http.h"

/* --- grants --- */

static void test_find(void **state)
{
	static const char *const rows[] = {
		"reader=user:ann", "editor=group:dev", "node=group:system:nodes",
		"admin=user:root", "reader=unix:7",    "editor=unix:7",
	};
	static const struct {
		const char *name, *groups[3];
		enum neap_http_role role;
	} users[] = {
		{"ann", {0}, NEAP_HTTP_READER},
		{"ann", {"x", "dev"}, NEAP_HTTP_EDITOR}, /* the highest */
		{"dev", {0}, NEAP_HTTP_ANYBODY},         /* a user by a group's name */
		{"x", {"ann"}, NEAP_HTTP_ANYBODY},
		{"system:node:n", {"system:nodes"}, NEAP_HTTP_NODE},
		{"system:node:n", {"system:nodes", "dev"}, NEAP_HTTP_EDITOR},
		{"root", {"dev"}, NEAP_HTTP_ADMIN},
		{"roo", {0}, NEAP_HTTP_ANYBODY},
	};
	struct neap_grants grants = {0};
	struct neap_error err;

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		assert_int_equal(neap_grants_parse(&grants, rows[i], &err), 0);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(users); i++) {
		int count = 0;
		struct neap_http_user *user;

		while (users[i].groups[count])
			count++;
		user = neap_http_user_new(users[i].name, users[i].groups, count);
		assert_non_null(user);
		if (neap_grants_find_user(&grants, user) != users[i].role)
			fail_msg("row %zu, %s", i, users[i].name);
		free(user);
	}
	assert_int_equal(neap_grants_find_unix(&grants, 7), NEAP_HTTP_EDITOR);
	assert_int_equal(neap_grants_find_unix(&grants, 0), NEAP_HTTP_ANYBODY);
	assert_int_equal(neap_grants_find_anonymous(&grants), NEAP_HTTP_ANYBODY);
	assert_int_equal(neap_grants_parse(&grants, "reader=anonymous", &err), 0);
	assert_int_equal(neap_grants_find_anonymous(&grants), NEAP_HTTP_READER);
	assert_int_equal(neap_grants_find_unix(NULL, 7), NEAP_HTTP_ANYBODY);
	while (neap_grants_parse(&grants, "reader=user:x", &err) == 0)
		;
	assert_int_equal(grants.count, NEAP_GRANTS_MAX);
	assert_int_equal(err.code, NEAP_ETOOLARGE);
}

/* --- token files --- */

#define T "0123456789abcdef"

static const struct {
	const char *text;
	const char *want; /* "user groups;" of the token T, or the message */
} files[] = {
	{"", "-"},
	{"\n\r\n\n", "-"},
	{T ",ann,1\n", "ann"},
	{T ",ann,1", "ann"},
	{T ",ann,1\r\n", "ann"},
	{T ",ann,1,dev", "ann dev"},
	{T ",ann,1,\"dev,ops\"\n", "ann dev ops"},
	{T ",ann,1,\" dev , , ops \"\n", "ann dev ops"},
	{T ",ann,,\n", "ann"},
	{"\"" T "\",\"a,\"\"n\"\"\",1\n", "a,\"n\""},
	{"another-token-of-16,bob,2\n" T ",ann,1\n", "ann"},
	{"fedcba9876543210,bob,2\n", "-"},
	{T ",ann\n", "F:1: a line has 3 or 4 fields: TOKEN,USER,UID or TOKEN,USER,UID,"
		     "\"GROUP1,GROUP2\""},
	{T ",ann,1\n\n" T "x",
	 "F:3: a line has 3 or 4 fields: TOKEN,USER,UID or TOKEN,USER,"
	 "UID,\"GROUP1,GROUP2\""},
	{T ",ann,1,a,b\n", "F:1: more than 4 fields: groups stand in quotes, as in "
			   "\"GROUP1,GROUP2\""},
	{"short,ann,1\n", "F:1: the token has less than 16 bytes"},
	{",ann,1\n", "F:1: the token has less than 16 bytes"},
	{T " x,ann,1\n", "F:1: the token has a blank or what is no ASCII in it"},
	{T ",,1\n", "F:1: the user's name must have 1 to 259 bytes"},
	{T ",ann,1\n" T ",bob,1\n", "F:2: this token is there already"},
	{"ab\"c" T ",ann,1\n", "F:1: a quote amid a field"},
	{"\"" T ",ann,1\n",
	 "F:1: a quoted field must end with a quote and a comma or the "
	 "end of the line"},
	{"\"" T "\"\",ann,1\n",
	 "F:1: a quoted field must end with a quote and a comma or "
	 "the end of the line"},
	{"\"" T "\"x,ann,1\n", "F:1: a quoted field must end with a quote and a comma or "
			       "the end of the line"},
	{"\"",
	 "F:1: a quoted field must end with a quote and a comma or the end of the line"},
};

static void show(const struct neap_http_user *user, char *buf, size_t size)
{
	int n = snprintf(buf, size, "%s", user ? user->name : "-");

	for (int i = 0; user && i < user->group_count; i++)
		n += snprintf(buf + n, size - (size_t)n, " %s", user->groups[i]);
}

static void test_parse(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(files); i++) {
		neap_auto_free char *text = neap_strdup(files[i].text);
		struct neap_tokens *tokens = NULL;
		char got[512];
		struct neap_error err;

		if (neap_tokens_parse(text, strlen(text), "F", &tokens, &err) < 0)
			snprintf(got, sizeof(got), "%s", err.msg);
		else
			show(neap_tokens_find(tokens, T, 16), got, sizeof(got));
		if (strcmp(got, files[i].want) != 0)
			fail_msg("row %zu: %s, not %s", i, got, files[i].want);
		assert_null(neap_tokens_find(tokens, T, 15));
		neap_tokens_unref(tokens);
	}
	assert_null(neap_tokens_find(NULL, T, 16));
}

static void test_bounds(void **state)
{
	size_t size = 200000, len = 0;
	neap_auto_free char *text = neap_alloc(size);
	struct neap_tokens *tokens = NULL;
	struct neap_error err;
	char nul[] = T ",a\0b,1\n";

	(void)state;
	for (int i = 0; i <= NEAP_TOKENS_MAX; i++)
		len += (size_t)snprintf(text + len, size - len, "%016d,u%d,%d\n", i, i,
					i);
	assert_int_equal(neap_tokens_parse(text, len, "F", &tokens, &err), -NEAP_EINVAL);
	assert_string_equal(err.msg, "F:1001: more than 1000 tokens");
	assert_int_equal(neap_tokens_parse(nul, sizeof(nul) - 1, "F", &tokens, &err),
			 -NEAP_EINVAL);
	memset(text, 'x', NEAP_TOKEN_MAX + 1);
	snprintf(text + NEAP_TOKEN_MAX + 1, 100, ",a,1\n");
	assert_int_equal(neap_tokens_parse(text, strlen(text), "F", &tokens, &err),
			 -NEAP_EINVAL);
	assert_string_equal(err.msg, "F:1: the token has more than 200 bytes");
}

static void test_parse_no_memory(void **state)
{
	struct neap_error err;
	bool is_done = false;

	(void)state;
	for (uint64_t n = 1; !is_done; n++) {
		char text[] = T ",ann,1,\"dev,ops\"\nanother-token-of-16,bob,2\n";
		struct neap_tokens *tokens = NULL;

		neap_mem_fail_at(n);
		is_done = neap_tokens_parse(text, sizeof(text) - 1, "F", &tokens, &err) ==
			  0;
		neap_mem_fail_at(0);
		if (!is_done)
			assert_int_equal(err.code, NEAP_ENOMEM);
		assert_in_range(n, 1, 50);
		neap_tokens_unref(tokens);
	}
}

static void test_file(void **state)
{
	static const struct {
		int mode;
		uid_t owner;
		int want;
	} rows[] = {{0600, 0, 0},
		    {0640, 0, 0},
		    {0644, 0, -NEAP_EFORBIDDEN},
		    {0660, 0, -NEAP_EFORBIDDEN},
		    {0600, 4711, -NEAP_EFORBIDDEN}};
	char name[] = "/tmp/neap-tokens-XXXXXX", want[128];
	int fd = mkstemp(name);
	struct neap_tokens *tokens;
	struct neap_error err;

	(void)state;
	assert_true(fd >= 0 && write(fd, T ",a,1\n", 21) == 21);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		if (rows[i].owner && geteuid() != 0)
			continue;
		assert_int_equal(fchmod(fd, (mode_t)rows[i].mode), 0);
		if (rows[i].owner)
			assert_int_equal(fchown(fd, rows[i].owner, 0), 0);
		tokens = NULL;
		if (neap_tokens_load(name, geteuid(), &tokens, &err) != rows[i].want)
			fail_msg("row %zu: %s", i, err.msg);
		assert_int_equal(neap_tokens_count(tokens), rows[i].want == 0);
		neap_tokens_unref(tokens);
	}
	close(fd);
	unlink(name);
	assert_int_equal(neap_tokens_load(name, geteuid(), &tokens, &err), -NEAP_ESYS);
	snprintf(want, sizeof(want), "--token-file %s: ", name);
	assert_memory_equal(err.msg, want, strlen(want));
	assert_int_equal(neap_tokens_load("/tmp", geteuid(), &tokens, &err),
			 -NEAP_EINVAL);
}

/* --- over HTTP --- */

static void tell(void *arg, struct neap_http_request *request)
{
	const struct neap_http_peer *peer = neap_http_peer_get(request);

	(void)arg;
	neap_http_answer_json_take(
		request, 200,
		json_pack("{s:s, s:s, s:s, s:s*, s:s}", "name", peer->name, "user",
			  peer->user->name, "role", neap_http_role_name(peer->role),
			  "group", peer->user->group_count ? peer->user->groups[0] : NULL,
			  "standing", neap_http_user_standing(peer->user)));
}

static const struct neap_http_route routes[] = {
	{"GET", "/open", NEAP_HTTP_ANYBODY, tell},
	{"GET", "/read", NEAP_HTTP_READER, tell},
	{"GET", "/edit", NEAP_HTTP_EDITOR, tell},
	{"GET", "/rule", NEAP_HTTP_ADMIN, tell},
	{0},
};

static void setup(struct neap_http *http, struct event_base *base)
{
	struct neap_error err;

	(void)base;
	neap_http_add_routes(http, routes, NULL, &err);
}

#define BEARER(token) "Authorization: Bearer " token "\r\n"

static const struct {
	const char *path, *headers, *want;
} asked[] = {
	{"/open", "",
	 "\"name\":\"\",\"user\":\"system:anonymous\",\"role\":\"nobody\",\"group\":"
	 "\"system:unauthenticated\",\"standing\":\"system:unauthenticated\""},
	{"/read", "", " 401 "},
	{"/read", AUTH,
	 "\"name\":\"token\",\"user\":\"neap:admin\",\"role\":\"admin\",\"group\":"
	 "\"system:masters\",\"standing\":\"system:authenticated\""},
	{"/read", BEARER("anns-token-of-16"),
	 "\"name\":\"user:ann\",\"user\":\"ann\",\"role\":\"reader\",\"standing\":"
	 "\"system:authenticated\""},
	{"/read", "authorization: bearer anns-token-of-16\r\n", "\"role\":\"reader\""},
	{"/edit", BEARER("anns-token-of-16"),
	 "user:ann is reader here, and this needs editor"},
	{"/edit", BEARER("devs-token-of-16"), "\"role\":\"editor\",\"group\":\"dev\""},
	{"/rule", BEARER("devs-token-of-16"), " 403 "},
	{"/lost", BEARER("devs-token-of-16"), " 404 "},
	{"/read", BEARER("node-token-of-16"),
	 "\"user\":\"system:node:n1\",\"role\":\"node\""},
	{"/edit", BEARER("node-token-of-16"), "and this needs editor"},
	{"/read", BEARER("eves-token-of-16"), "user:eve has no role here"},
	{"/open", BEARER("eves-token-of-16"),
	 "\"name\":\"user:eve\",\"user\":\"eve\",\"role\":"
	 "\"nobody\""},
	{"/read", BEARER("anns-token-of-1"), " 401 "},
	{"/read", BEARER("anns-token-of-166"), " 401 "},
	{"/read", BEARER(""), " 401 "},
	{"/read", "Authorization: Basic anns-token-of-16\r\n", " 401 "},
};

static void ask_all(const struct http_server *server, const char *anonymous)
{
	char answer[4096], request[512];

	for (size_t i = 0; i < NEAP_ARRAY_LEN(asked); i++) {
		const char *want = i == 1 && anonymous ? anonymous : asked[i].want;

		/* What everybody may, those without a role may, too. */
		if (anonymous && (i == 0 || strstr(asked[i].headers, "eve")))
			continue;
		snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\n" HOST "%s\r\n",
			 asked[i].path, asked[i].headers);
		http_ask(server, request, answer, sizeof(answer));
		if (!strstr(answer, want))
			fail_msg("row %zu: %s, not %s", i, answer, want);
	}
}

static void test_served(void **state)
{
	char text[] = "anns-token-of-16,ann,1\ndevs-token-of-16,dora,2,\"dev\"\n"
		      "node-token-of-16,system:node:n1,3,system:nodes\n"
		      "eves-token-of-16,eve,4\n";
	struct neap_grants grants = {0};
	struct http_access access = {.grants = &grants};
	struct http_server server = {0};
	struct neap_error err;

	(void)state;
	assert_int_equal(
		neap_tokens_parse(text, sizeof(text) - 1, "F", &access.tokens, &err), 0);
	assert_int_equal(neap_grants_parse(&grants, "reader=user:ann", &err), 0);
	assert_int_equal(neap_grants_parse(&grants, "editor=group:dev", &err), 0);
	assert_int_equal(neap_grants_parse(&grants, "node=group:system:nodes", &err), 0);
	http_server_start_as(&server, 0, setup, &access);
	ask_all(&server, NULL);
	http_server_stop(&server);
	assert_int_equal(neap_grants_parse(&grants, "reader=anonymous", &err), 0);
	http_server_start_as(&server, 0, setup, &access);
	ask_all(&server, "\"user\":\"system:anonymous\",\"role\":\"reader\"");
	http_server_stop(&server);
	neap_tokens_unref(access.tokens);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),   cmocka_unit_test(test_parse),
		cmocka_unit_test(test_bounds), cmocka_unit_test(test_parse_no_memory),
		cmocka_unit_test(test_file),   cmocka_unit_test(test_served),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
