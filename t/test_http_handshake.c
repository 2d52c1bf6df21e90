/* SPDX-License-Identifier: Apache-2.0
 *
 * Attacks on the HTTP server before and around the handshake of TLS, by form, by time and
 * by mass: each is refused or bounded, and those who are known are served meanwhile. */
#include <openssl/err.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/http/server.h"
#include "engine/base/mem.h"
#include "t/lib/patience.h"
#include "t/lib/tls_rig.h"

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* --- what is no TLS, or not yet --- */

static void test_plain(void **state)
{
	static const char *const requests[] = {
		"GET /open HTTP/1.1\r\n" HOST "\r\n",
		"DELETE /x HTTP/1.1\r\n" HOST "\r\n",
		"PATCH /x HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nabcde", "OPTIONS"};
	char answer[4096];
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(requests); i++) {
		int fd = http_dial(*state);

		http_say(fd, requests[i], strlen(requests[i]));
		assert_true(http_hear_end(fd, answer, sizeof(answer)));
		if (!strstr(answer, "HTTP/1.1 400") ||
		    !strstr(answer, "TLS is spoken here, not plain HTTP"))
			fail_msg("%s: %s", requests[i], answer);
		close(fd);
	}
	tls_rig_expect_alone(*state);
}

/* The reverse: TLS where plain HTTP is spoken. */
static void test_tls_to_plain(void **state)
{
	SSL_CTX *context = tls_context(tls_rig_dir, NULL, 0);
	struct http_server server = {0};

	(void)state;
	http_server_start(&server, 0, tls_rig_routes);
	ERR_clear_error();
	assert_null(tls_dial(&server, context));
	http_server_stop(&server);
	SSL_CTX_free(context);
}

static void test_no_handshake(void **state)
{
	/* What claims to be a hello of 100 KB; what is none; an alert; half a record. */
	static const struct {
		const char *bytes;
		size_t len;
	} heads[] = {
		{"\x16\x03\x01\x40\x00\x01\x01\x86\xa0\x03\x03", 11},
		{"\xff\xff\xff\xff\xff\xff\xff\xff", 8},
		{"\x15\x03\x01\x00\x02\x02\x28", 7},
		{"\x17\x03\x03\x00\x05hello", 10},
	};
	char answer[4096];
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(heads); i++) {
		int fd = http_dial(*state);

		http_say(fd, heads[i].bytes, heads[i].len);
		if (!http_hear_end(fd, answer, sizeof(answer)))
			fail_msg("row %zu is still open", i);
		close(fd);
	}
	tls_rig_expect_served(*state);
	tls_rig_expect_alone(*state);
}

/* The first bytes of a true handshake, without its end. */
static size_t hello_of(char *buf, size_t size)
{
	SSL_CTX *context = tls_context(tls_rig_dir, "bob", 0);
	SSL *ssl = SSL_new(context);
	BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());
	int len;

	SSL_set_bio(ssl, in, out);
	(void)SSL_connect(ssl);
	len = BIO_read(out, buf, (int)size);
	SSL_free(ssl);
	SSL_CTX_free(context);
	ERR_clear_error();
	assert_true(len > 100);
	return (size_t)len;
}

/* Silence, half a hello, a byte now and then, all but the last message: the time of a
 * request, not more. */
static void test_slow_handshakes(void **state)
{
	enum { EACH = 4, ALL = 16 };
	int fds[ALL], i, open_count = ALL;
	int64_t from = now_ms();
	char hello[4096], answer[8192];
	size_t len = hello_of(hello, sizeof(hello)), at = 1;

	for (i = 0; i < ALL; i++) {
		fds[i] = http_dial(*state);
		if (i / EACH == 1)
			http_say(fds[i], hello, len / 2);
		if (i / EACH == 2)
			http_say(fds[i], hello, 1);
		if (i / EACH == 3)
			http_say(fds[i], hello, len);
	}
	while (open_count && now_ms() - from < PATIENCE_MS) {
		for (i = 0; i < ALL; i++) {
			if (fds[i] < 0)
				continue;
			if (i / EACH == 2)
				http_say(fds[i], hello + at, 1);
			if (http_hear(fds[i], answer, sizeof(answer), 0)) {
				close(fds[i]);
				fds[i] = -1;
				open_count--;
			}
		}
		at++;
		tls_rig_expect_served(*state);
		usleep(50000);
	}
	assert_int_equal(open_count, 0);
	assert_true(now_ms() - from >= 1500); /* 2 s, looked for once a second */
	tls_rig_expect_alone(*state);
}

/* A hundred that begin and go no further, beside one who has shown a certificate. */
static void test_half_open(void **state)
{
	enum { ALL = 100 };
	SSL_CTX *context = tls_context(tls_rig_dir, "bob", 0);
	SSL *ssl = tls_dial(*state, context);
	char hello[4096], answer[4096];
	size_t len = hello_of(hello, sizeof(hello));
	int fds[ALL], i, refused = 0;

	assert_non_null(ssl);
	assert_int_equal(
		tls_ask(ssl, VIEW "\r\n", strlen(VIEW "\r\n"), answer, sizeof(answer)),
		200);
	for (i = 0; i < ALL; i++) {
		fds[i] = http_dial(*state);
		http_say(fds[i], hello, i % 2 ? len : len / 2);
		if (i % 10 == 0)
			tls_rig_expect_served(*state);
	}
	for (i = 0; i < 20; i++)
		assert_int_equal(tls_ask(ssl, VIEW "\r\n", strlen(VIEW "\r\n"), answer,
					 sizeof(answer)),
				 200);
	tls_rig_expect_served(*state);
	/* The caps are kept some time after each newcomer. The two that are known count
	 * by themselves. */
	assert_true(comes_true(tls_rig_connections(*state) <=
			       NEAP_HTTP_CONNECTIONS_PEER_MAX + 2));
	for (i = 0; i < ALL; i++) {
		refused += http_hear(fds[i], answer, sizeof(answer), 0);
		close(fds[i]);
	}
	assert_in_range(refused, ALL - NEAP_HTTP_CONNECTIONS_PEER_MAX, ALL);
	tls_close(ssl);
	SSL_CTX_free(context);
	tls_rig_expect_alone(*state);
}

/* Each claims nearly all that a stranger may hold, and together they claim more than all
 * may: those go that came first. */
static void test_claims(void **state)
{
	static const char head[] = "\x16\x03\x01\x40\x00\x01\x00\x7d\x00\x03\x03";
	enum { ALL = 180 };
	char from[32];
	int fds[ALL], i;

	for (i = 0; i < ALL; i++) {
		snprintf(from, sizeof(from), "127.0.2.%d", 1 + i / 60);
		fds[i] = http_dial_from(*state, from);
		assert_true(fds[i] >= 0);
		http_say(fds[i], head, sizeof(head) - 1);
	}
	for (i = 0; i < 5; i++)
		tls_rig_expect_served(*state);
	for (i = 0; i < ALL; i++)
		close(fds[i]);
	tls_rig_expect_alone(*state);
}

/* Connections that are there, asked over one of them: a new one would be a stranger until
 * it is known. */
static int count_by(SSL *ssl)
{
	char answer[4096];
	const char *at;

	if (tls_ask(ssl, "GET /count HTTP/1.1\r\n" HOST "\r\n",
		    strlen("GET /count HTTP/1.1\r\n" HOST "\r\n"), answer,
		    sizeof(answer)) != 200)
		return -1;
	at = strstr(answer, "connections\":");
	return at ? (int)strtol(at + 13, NULL, 10) : -1;
}

/* Over the cap everybody who is known stays, and strangers go. */
static void test_caps(void **state)
{
	enum { KNOWN = 80, ALL = 170 };
	SSL_CTX *known = tls_context(tls_rig_dir, "bob", 0),
		*unknown = tls_context(tls_rig_dir, "eve", 0);
	SSL *all[ALL];
	char answer[4096];
	int i, kept = 0;

	for (i = 0; i < ALL; i++) {
		all[i] = tls_dial(*state, i < KNOWN ? known : unknown);
		assert_non_null(all[i]);
		assert_int_equal(tls_ask(all[i], OPEN "\r\n", strlen(OPEN "\r\n"), answer,
					 sizeof(answer)),
				 200);
	}
	/* The caps are kept some time after each newcomer. */
	assert_true(
		comes_true(count_by(all[0]) == KNOWN + NEAP_HTTP_CONNECTIONS_PEER_MAX));
	for (i = 0; i < ALL; i++)
		kept += tls_ask(all[i], OPEN "\r\n", strlen(OPEN "\r\n"), answer,
				sizeof(answer)) == 200;
	assert_int_equal(kept, KNOWN + NEAP_HTTP_CONNECTIONS_PEER_MAX);
	for (i = 0; i < ALL; i++)
		tls_close(all[i]);
	SSL_CTX_free(known);
	SSL_CTX_free(unknown);
	tls_rig_expect_alone(*state);
}

/* Who is not known holds 32 KiB and hears why not more. */
static void test_unknown_upload(void **state)
{
	static const char *const names[] = {"eve", NULL};
	neap_auto_free char *upload = neap_alloc(TLS_RIG_BIG + 256);
	char answer[4096];
	size_t i;
	int head =
		snprintf(upload, 256,
			 "POST /operate HTTP/1.1\r\n" HOST "Content-Length: %d\r\n\r\n",
			 TLS_RIG_BIG);

	memset(upload + head, 'y', TLS_RIG_BIG);
	for (i = 0; i < NEAP_ARRAY_LEN(names); i++) {
		SSL_CTX *context = tls_context(tls_rig_dir, names[i], 0);
		SSL *ssl = tls_dial(*state, context);

		assert_non_null(ssl);
		/* More would be answered by a reset. */
		(void)tls_ask(ssl, upload, 40000, answer, sizeof(answer));
		if (!strstr(answer, "HTTP/1.1 401") ||
		    !strstr(answer, "before a large body"))
			fail_msg("%s", answer);
		tls_close(ssl);
		SSL_CTX_free(context);
	}
	tls_rig_expect_alone(*state);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, tls_rig_start, tls_rig_stop)
#define TEST_IMPATIENT(f)                                                                \
	cmocka_unit_test_setup_teardown(f, tls_rig_start_impatient, tls_rig_stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_plain),        cmocka_unit_test(test_tls_to_plain),
		TEST(test_no_handshake), TEST_IMPATIENT(test_slow_handshakes),
		TEST(test_half_open),    TEST(test_caps),
		TEST(test_claims),       TEST(test_unknown_upload),
	};

	return cmocka_run_group_tests(tests, tls_rig_make, tls_rig_remove);
}
