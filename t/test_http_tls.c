/* SPDX-License-Identifier: Apache-2.0
 *
 * The HTTP server over TLS: who is let in as what, what HTTP needs of it, and changed
 * certificates. What is no proper handshake: test_http_handshake.c; files of
 * certificates: test_tls_files.c; a whole neapd: t/sh/tls.t. */
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

/* --- who may do what --- */

static const struct {
	const char *name; /* of the certificate */
	const char *request;
	int status;
	const char *want;
} asked[] = {
	{"bob", VIEW, 200, "\"name\":\"cert:bob\",\"role\":\"reader\""},
	{"bob", OPERATE, 403, "CN=bob is reader here, and this needs editor"},
	{"bob", RULE, 403, "needs admin: neapd gives it with --grant admin="},
	{"bob", LOST, 404, "nothing at /lost"},
	{"bob", "PUT /view HTTP/1.1\r\n" HOST "Content-Length: 0\r\n", 405, "Allow: GET"},
	{"alice", VIEW, 200, "\"name\":\"cert:alice\",\"role\":\"editor\""},
	{"alice", OPERATE, 200, "editor"},
	{"alice", RULE, 403, "O=dev,O=ops,O=all,CN=alice is editor here"},
	{"root", VIEW, 200, "\"role\":\"admin\""},
	{"root", RULE, 200, "\"name\":\"cert:root\""},
	{"eve", OPEN, 200, "\"name\":\"cert:eve\",\"role\":\"nobody\""},
	{"eve", VIEW, 403, "O=nobody,CN=eve has no role here: neapd gives one with"},
	{"eve", RULE, 403, "--grant reader="},
	{"eve", LOST, 403, "--grant reader="},
	{"eve", RULE AUTH, 200, "\"name\":\"token\""},
	{"eve", VIEW WRONG, 403, "CN=eve has no role here"},
	{"ops", VIEW, 403, "CN=ops has no role"},
	{"bob", VIEW WRONG, 200, "\"name\":\"cert:bob\""},
	{"bob", RULE AUTH, 200, "\"name\":\"token\",\"role\":\"admin\""},
	{NULL, OPEN, 200, "\"name\":\"\",\"role\":\"nobody\""},
	{NULL, VIEW, 401, "WWW-Authenticate: Bearer"},
	{NULL, LOST, 401, "DATA_DIR/token"},
	{NULL, VIEW WRONG, 401, NULL},
	{NULL, RULE AUTH, 200, "\"name\":\"token\""},
	{"foreign", OPEN, 0, NULL},
	{"stale", OPEN, 0, NULL},
	{"server", OPEN, 0, NULL}, /* not meant for clients */
};

static void test_roles(void **state)
{
	char answer[4096], request[512];
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(asked); i++) {
		int status;

		snprintf(request, sizeof(request), "%s\r\n", asked[i].request);
		status = tls_rig_ask(*state, asked[i].name, request, answer,
				     sizeof(answer));
		if (status != asked[i].status ||
		    (asked[i].want && !strstr(answer, asked[i].want)))
			fail_msg("row %zu, %s, %.30s: %d %s", i,
				 asked[i].name ? asked[i].name : "nobody",
				 asked[i].request, status, answer);
	}
	tls_rig_expect_alone(*state);
}

/* A connection can be older than its certificate. */
static void test_ends_meanwhile(void **state)
{
	SSL_CTX *context;
	char answer[4096];
	SSL *ssl;
	int i, status = 200;

	/* Longer where the machine does not come to the first request before its end. */
	for (i = 2; i < 128; i *= 2) {
		tls_issue(
			tls_rig_dir, "brief",
			&(struct tls_order){"brief", .for_s = i, .usage = "clientAuth"});
		context = tls_context(tls_rig_dir, "brief", 0);
		ssl = tls_dial(*state, context);
		if (ssl && tls_ask(ssl, VIEW "\r\n", strlen(VIEW "\r\n"), answer,
				   sizeof(answer)) == 200)
			break;
		tls_close(ssl);
		SSL_CTX_free(context);
	}
	assert_true(i < 128);
	assert_true(comes_true((status = tls_ask(ssl, VIEW "\r\n", strlen(VIEW "\r\n"),
						 answer, sizeof(answer))) != 200));
	assert_int_equal(status, 403);
	assert_non_null(strstr(answer, "the certificate of CN=brief has expired"));
	tls_close(ssl);
	SSL_CTX_free(context);
}

/* --- what HTTP needs of it --- */

static void test_one_connection(void **state)
{
	static char answer[TLS_RIG_BIG + 4096];
	neap_auto_free char *upload = neap_alloc(TLS_RIG_BIG + 256);
	SSL_CTX *context = tls_context(tls_rig_dir, "alice", 0);
	const unsigned char *protocol;
	unsigned protocol_len = 0;
	SSL *ssl;
	int i, head;

	assert_int_equal(SSL_CTX_set_alpn_protos(
				 context, (const unsigned char *)"\2h2\10http/1.1", 12),
			 0);
	ssl = tls_dial(*state, context);
	assert_non_null(ssl);
	SSL_get0_alpn_selected(ssl, &protocol, &protocol_len);
	assert_int_equal(protocol_len, 8);
	assert_memory_equal(protocol, "http/1.1", 8);
	head = snprintf(upload, 256,
			"POST /operate HTTP/1.1\r\n" HOST "Content-Length: %d\r\n\r\n",
			TLS_RIG_BIG);
	memset(upload + head, 'y', TLS_RIG_BIG);
	for (i = 0; i < 3; i++) {
		assert_int_equal(tls_ask(ssl, upload, (size_t)head + TLS_RIG_BIG, answer,
					 sizeof(answer)),
				 200);
		assert_non_null(strstr(answer, "\"len\":1000000"));
		assert_int_equal(tls_ask(ssl, "GET /big HTTP/1.1\r\n" HOST "\r\n",
					 strlen("GET /big HTTP/1.1\r\n" HOST "\r\n"),
					 answer, sizeof(answer)),
				 200);
		assert_int_equal(strspn(strstr(answer, "\r\n\r\n") + 4, "x"),
				 TLS_RIG_BIG);
	}
	/* The server's farewell is one of TLS, not a connection that breaks off. */
	assert_int_equal(tls_ask(ssl, OPEN "Connection: close\r\n\r\n",
				 strlen(OPEN "Connection: close\r\n\r\n"), answer,
				 sizeof(answer)),
			 200);
	assert_int_equal(SSL_read(ssl, answer, 1), 0);
	assert_int_equal(SSL_get_error(ssl, 0), SSL_ERROR_ZERO_RETURN);
	tls_close(ssl);
	SSL_CTX_set_alpn_protos(context, (const unsigned char *)"\2h2", 3);
	assert_null(tls_dial(*state, context));
	SSL_CTX_free(context);
}

static void test_versions(void **state)
{
	SSL_CTX *context = tls_context(tls_rig_dir, "bob", TLS1_1_VERSION);
	SSL *ssl;

	SSL_CTX_set_security_level(context, 0);
	assert_null(tls_dial(*state, context));
	SSL_CTX_free(context);
	context = tls_context(tls_rig_dir, "bob", TLS1_2_VERSION);
	ssl = tls_dial(*state, context);
	assert_non_null(ssl);
	assert_int_equal(SSL_version(ssl), TLS1_2_VERSION);
	tls_close(ssl);
	SSL_CTX_free(context);
}

/* The client that asks for another handshake gets none, and whatever it does then, nobody
 * else sees it. */
static void test_renegotiation(void **state)
{
	SSL_CTX *context = tls_context(tls_rig_dir, "bob", TLS1_2_VERSION);
	SSL *ssl = tls_dial(*state, context);
	char answer[4096];

	assert_non_null(ssl);
	assert_int_equal(
		tls_ask(ssl, VIEW "\r\n", strlen(VIEW "\r\n"), answer, sizeof(answer)),
		200);
	assert_int_equal(SSL_renegotiate(ssl), 1);
	assert_int_not_equal(SSL_do_handshake(ssl), 1);
	assert_int_equal(ERR_GET_REASON(ERR_peek_last_error()), SSL_R_NO_RENEGOTIATION);
	tls_close(ssl);
	SSL_CTX_free(context);
	tls_rig_expect_served(*state);
	tls_rig_expect_alone(*state);
}

/* A NUL byte is found in what was encrypted, too. */
static void test_nul(void **state)
{
	static const char request[] = "GET /view HTTP/1.1\r\n" HOST "X: a\0b\r\n\r\n";
	SSL_CTX *context = tls_context(tls_rig_dir, "bob", 0);
	SSL *ssl = tls_dial(*state, context);
	char answer[4096];

	assert_int_equal(
		tls_ask(ssl, request, sizeof(request) - 1, answer, sizeof(answer)), 400);
	assert_non_null(strstr(answer, "a NUL byte"));
	tls_close(ssl);
	SSL_CTX_free(context);
}

/* --- reload --- */

static bool serves_as(const struct http_server *server, SSL_CTX *context, const char *cn)
{
	SSL *ssl = tls_dial(server, context);
	char text[64] = "";
	X509 *cert;

	if (!ssl)
		return false;
	cert = SSL_get1_peer_certificate(ssl);
	X509_NAME_get_text_by_NID(X509_get_subject_name(cert), NID_commonName, text,
				  sizeof(text));
	X509_free(cert);
	tls_close(ssl);
	return strcmp(text, cn) == 0;
}

static void test_reload(void **state)
{
	SSL_CTX *context = tls_context(tls_rig_dir, "bob", 0);
	SSL *ssl = tls_dial(*state, context);
	SSL_SESSION *session;
	char answer[4096];

	assert_int_equal(
		tls_ask(ssl, VIEW "\r\n", strlen(VIEW "\r\n"), answer, sizeof(answer)),
		200);
	session = SSL_get1_session(ssl); /* its ticket came before the answer */
	assert_true(serves_as(*state, context, "server"));
	tls_copy(tls_rig_dir, "server2.crt", "tls.crt");
	usleep(100000);
	assert_true(serves_as(*state, context, "server"));
	tls_copy(tls_rig_dir, "server2.key", "tls.key");
	assert_true(comes_true(serves_as(*state, context, "server2")));
	/* The connection from before goes on. */
	assert_int_equal(
		tls_ask(ssl, VIEW "\r\n", strlen(VIEW "\r\n"), answer, sizeof(answer)),
		200);
	/* Another CA of the clients: who knew the old one is not let in, by no ticket
	 * either. */
	tls_copy(tls_rig_dir, "other.crt", "client-ca.crt");
	assert_true(comes_true(tls_rig_ask(*state, "foreign", VIEW "\r\n", answer,
					   sizeof(answer)) == 200));
	assert_int_equal(tls_rig_ask(*state, "bob", VIEW "\r\n", answer, sizeof(answer)),
			 0);
	assert_int_equal(
		tls_ask(ssl, VIEW "\r\n", strlen(VIEW "\r\n"), answer, sizeof(answer)),
		200);
	tls_close(ssl);
	ssl = SSL_new(context);
	SSL_set_session(ssl, session);
	SSL_set_fd(ssl, http_dial(*state));
	if (SSL_connect(ssl) == 1) {
		assert_false(SSL_session_reused(ssl));
		assert_int_equal(tls_ask(ssl, VIEW "\r\n", strlen(VIEW "\r\n"), answer,
					 sizeof(answer)),
				 0);
	}
	tls_close(ssl);
	SSL_SESSION_free(session);
	SSL_CTX_free(context);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, tls_rig_start, tls_rig_stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_roles),    TEST(test_ends_meanwhile), TEST(test_one_connection),
		TEST(test_versions), TEST(test_renegotiation),  TEST(test_nul),
		TEST(test_reload),
	};

	return cmocka_run_group_tests(tests, tls_rig_make, tls_rig_remove);
}
