/* SPDX-License-Identifier: Apache-2.0
 *
 * Listening sockets and what is said when they cannot be had; decoding of addresses. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/http/serve/address.h"
#include "api/http/server.h"
#include "engine/base/mem.h"

static void test_tcp(void **state)
{
	static const struct {
		const char *listen;
		enum neap_code code;
		const char *want;
	} rows[] = {
		{"localhost", NEAP_EINVAL, "'localhost' is no address: give for example"},
		{"localhost:6327", NEAP_EINVAL, "is no address"},
		{"127.0.0.1", NEAP_EINVAL, "is no address"},
		{"127.0.0.1:", NEAP_EINVAL, "is no address"},
		{"127.0.0.1:+1", NEAP_EINVAL, "is no address"},
		{"127.0.0.1:65536", NEAP_EINVAL, "is no address"},
		{"127.0.0.1:99999999999999999999", NEAP_EINVAL, "is no address"},
		{"::1:6327", NEAP_EINVAL, "is no address"},
		{"[::1:6327", NEAP_EINVAL, "is no address"},
		{"[]:6327", NEAP_EINVAL, "is no address"},
		{":6327", NEAP_EINVAL, "is no address"},
		{"", NEAP_EINVAL, "is no address"},
		{"192.0.2.77:6327", NEAP_EINVAL, "this machine has no such address"},
	};
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);
	struct neap_error err;
	char text[64];
	int fd, other = -1, on = 0;
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		if (neap_http_bind_tcp(rows[i].listen, &fd, &err) != -(int)rows[i].code ||
		    !strstr(err.msg, rows[i].want))
			fail_msg("'%s': %s", rows[i].listen, err.msg);

	assert_int_equal(neap_http_bind_tcp("127.0.0.1:0", &fd, &err), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
	snprintf(text, sizeof(text), "127.0.0.1:%d", ntohs(addr.sin_port));
	assert_int_equal(neap_http_bind_tcp(text, &other, &err), -NEAP_ECONFLICT);
	assert_int_equal(other, -1);
	assert_non_null(strstr(err.msg,
			       "is in use: another neapd? choose another address with "
			       "--listen, or --listen off"));
	/* Accepted sockets inherit it; without it large replies can wait 40 ms. */
	len = sizeof(on);
	assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, &len), 0);
	assert_true(on);
	close(fd);
}

static void test_listen_parse(void **state)
{
	struct sockaddr_storage addr;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&addr;
	int len = 0;

	(void)state;
	assert_int_equal(neap_http_listen_parse("[::1]:6327", (struct sockaddr *)&addr,
						&len, NULL),
			 0);
	assert_int_equal(v6->sin6_family, AF_INET6);
	assert_int_equal(ntohs(v6->sin6_port), 6327);
	assert_int_equal(len, sizeof(*v6));
}

static void test_unix(void **state)
{
	char dir[] = "/tmp/neap-bind-XXXXXX", path[256];
	struct neap_error err;
	FILE *file;
	int fd, other = -1;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/neap.sock", dir);
	assert_int_equal(neap_http_bind_unix(path, &fd, &err), 0);
	assert_int_equal(neap_http_bind_unix(path, &other, &err), -NEAP_ECONFLICT);
	assert_int_equal(other, -1);
	assert_non_null(strstr(err.msg, "is in use: another neapd runs"));
	close(fd); /* left behind, as by a killed daemon: replaced */
	assert_int_equal(neap_http_bind_unix(path, &fd, &err), 0);
	close(fd);
	unlink(path);
	file = fopen(path, "w");
	assert_non_null(file);
	fclose(file);
	assert_int_equal(neap_http_bind_unix(path, &fd, &err), -NEAP_EEXISTS);
	unlink(path);
	assert_int_equal(symlink("/etc/hostname", path), 0);
	assert_int_equal(neap_http_bind_unix(path, &fd, &err), -NEAP_EEXISTS);
	unlink(path);
	assert_int_equal(neap_http_bind_unix("", &fd, &err), -NEAP_EINVAL);
	snprintf(path, sizeof(path), "%s/%0100d", dir, 0);
	assert_int_equal(neap_http_bind_unix(path, &fd, &err), -NEAP_EINVAL);
	assert_non_null(strstr(err.msg, "1 to 107 bytes"));
	snprintf(path, sizeof(path), "%s/none/neap.sock", dir);
	assert_int_equal(neap_http_bind_unix(path, &fd, &err), -NEAP_ESYS);
	rmdir(dir);
}

static void test_decode(void **state)
{
	static const struct {
		const char *text;
		bool is_query;
		const char *want; /* NULL: refused */
	} rows[] = {
		{"", false, ""},
		{"/a/b", false, "/a/b"},
		{"/a%20b+c", false, "/a b+c"},
		{"a%20b+c", true, "a b c"},
		{"%41%7a", false, "Az"},
		{"%c3%a4", false, "\xc3\xa4"},
		{"%2f", false, NULL},
		{"%2F", true, "/"},
		{"%", false, NULL},
		{"%4", false, NULL},
		{"%4g", false, NULL},
		{"%00", false, NULL},
		{"%0a", true, NULL},
		{"%7f", true, NULL},
		{"%25%32%66", false, "%2f"}, /* decoded once only */
	};
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		neap_auto_free char *text = neap_strdup(rows[i].text);
		int r = neap_url_decode(text, rows[i].is_query, NULL);

		if ((r == 0) != (rows[i].want != NULL) ||
		    (rows[i].want && strcmp(text, rows[i].want) != 0))
			fail_msg("'%s': %d, '%s'", rows[i].text, r, text);
	}
}

static void test_query(void **state)
{
	const char *names[4], *values[4];
	char good[] = "a=1&&b=x%3Dy&c", bad[] = "a=%zz", many[] = "a&b&c&d&e";

	(void)state;
	assert_int_equal(neap_url_query_parse(good, names, values, 4, NULL), 3);
	assert_string_equal(names[1], "b");
	assert_string_equal(values[1], "x=y");
	assert_string_equal(names[2], "c");
	assert_string_equal(values[2], "");
	assert_int_equal(neap_url_query_parse(bad, names, values, 4, NULL), -NEAP_EINVAL);
	assert_int_equal(neap_url_query_parse(many, names, values, 4, NULL),
			 -NEAP_EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tcp),   cmocka_unit_test(test_listen_parse),
		cmocka_unit_test(test_unix),  cmocka_unit_test(test_decode),
		cmocka_unit_test(test_query),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
