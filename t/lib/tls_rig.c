/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/tls_rig.h"
#include "t/lib/patience.h"

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

#include "api/http/tls/tls.h"
#include "engine/base/mem.h"

#define BIG TLS_RIG_BIG

/* --- the server's side --- */

static void echo(void *arg, struct neap_http_request *request)
{
	const struct neap_http_peer *peer = neap_http_peer_get(request);
	size_t len;

	(void)arg;
	(void)neap_http_body_get(request, &len);
	neap_http_answer_json_take(request, 200,
				   json_pack("{s:s, s:s, s:i}", "name", peer->name,
					     "role", neap_http_role_name(peer->role),
					     "len", (int)len));
}

static void big(void *arg, struct neap_http_request *request)
{
	neap_auto_free char *text = neap_alloc(BIG);

	(void)arg;
	memset(text, 'x', BIG);
	neap_http_answer_text(request, 200, "text/plain", text, BIG);
}

static struct neap_http *server_http; /* in the server's process */

static void count(void *arg, struct neap_http_request *request)
{
	(void)arg;
	neap_http_answer_json_take(
		request, 200,
		json_pack("{s:i}", "tls_rig_connections",
			  (int)neap_http_connection_count(server_http)));
}

static const struct neap_http_route routes[] = {
	{"GET", "/open", NEAP_HTTP_ANYBODY, echo},
	{"GET", "/view", NEAP_HTTP_READER, echo},
	{"POST", "/operate", NEAP_HTTP_EDITOR, echo},
	{"POST", "/rule", NEAP_HTTP_ADMIN, echo},
	{"GET", "/big", NEAP_HTTP_READER, big},
	{"GET", "/count", NEAP_HTTP_READER, count},
	{0},
};
static const struct neap_http_route no_role[] = {
	{.method = "GET", .path = "/forgotten", .handler = echo}, {0}};

void tls_rig_routes(struct neap_http *http, struct event_base *base)
{
	struct neap_error err;

	(void)base;
	server_http = http;
	neap_http_add_routes(http, routes, NULL, &err);
	/* A row that says no role is not served to anybody. */
	if (neap_http_add_routes(http, no_role, NULL, &err) != -NEAP_EINTERNAL ||
	    !strstr(err.msg, "GET /forgotten: no role is said"))
		exit(4);
}

char tls_rig_dir[64];
static char cert_file[96], key_file[96], ca_file[96];
const struct neap_grants tls_rig_grants = {
	{{NEAP_HTTP_READER, NEAP_GRANT_USER, 0, "bob"},
	 {NEAP_HTTP_EDITOR, NEAP_GRANT_GROUP, 0, "ops"},
	 {NEAP_HTTP_READER, NEAP_GRANT_GROUP, 0, "all"},
	 {NEAP_HTTP_ADMIN, NEAP_GRANT_USER, 0, "root"},
	 {NEAP_HTTP_READER, NEAP_GRANT_USER, 0, "brief"}},
	5};

int tls_rig_make(void **state)
{
	static const struct {
		const char *name;
		struct tls_order order;
	} orders[] = {
		{"ca", {"test CA", .usage = "CA"}},
		{"other", {"other CA", .usage = "CA", .issuer = "other"}},
		{"server", {"server", .usage = "serverAuth"}},
		{"server2", {"server2", .usage = "serverAuth"}},
		{"bob", {"bob", .usage = "clientAuth"}},
		{"alice", {"alice", "dev|ops|all", .usage = "clientAuth"}},
		{"root", {"root", "dev", .usage = "clientAuth"}},
		{"eve", {"eve", "nobody", .usage = "clientAuth"}},
		{"ops", {"ops"}}, /* a user by the name of a group */
		{"foreign", {"bob", .usage = "clientAuth", .issuer = "other"}},
		{"stale", {"bob", .from_s = -7200, .usage = "clientAuth"}},
	};
	size_t i;

	(void)state;
	snprintf(tls_rig_dir, sizeof(tls_rig_dir), "/tmp/neap-tls-XXXXXX");
	assert_non_null(mkdtemp(tls_rig_dir));
	for (i = 0; i < NEAP_ARRAY_LEN(orders); i++)
		tls_issue(tls_rig_dir, orders[i].name, &orders[i].order);
	snprintf(cert_file, sizeof(cert_file), "%s/tls.crt", tls_rig_dir);
	snprintf(key_file, sizeof(key_file), "%s/tls.key", tls_rig_dir);
	snprintf(ca_file, sizeof(ca_file), "%s/client-ca.crt", tls_rig_dir);
	return 0;
}

int tls_rig_remove(void **state)
{
	neap_auto_free char *command = neap_asprintf("rm -rf %s", tls_rig_dir);

	(void)state;
	return system(command);
}

static int start_with(void **state, int timeout_s)
{
	const struct neap_tls_config config = {cert_file, key_file, ca_file, geteuid()};
	struct http_server *server = neap_alloc(sizeof(*server));

	tls_copy(tls_rig_dir, "server.crt", "tls.crt");
	tls_copy(tls_rig_dir, "server.key", "tls.key");
	tls_copy(tls_rig_dir, "ca.crt", "client-ca.crt");
	chmod(key_file, 0600);
	http_server_start_as(server, timeout_s, tls_rig_routes,
			     &(struct http_access){&config, &tls_rig_grants, NULL});
	*state = server;
	return 0;
}

int tls_rig_start(void **state)
{
	return start_with(state, 0);
}

int tls_rig_start_impatient(void **state)
{
	return start_with(state, 2);
}

int tls_rig_stop(void **state)
{
	http_server_stop(*state);
	free(*state);
	return 0;
}

/* --- the client's side --- */

/* One request on a connection of its own, as name. -1: no connection; 0: no answer. */
int tls_rig_ask(const struct http_server *server, const char *name, const char *request,
		char *buf, size_t size)
{
	SSL_CTX *context = tls_context(tls_rig_dir, name, 0);
	SSL *ssl = tls_dial(server, context);
	int status = -1;

	buf[0] = '\0';
	if (ssl) {
		status = tls_ask(ssl, request, strlen(request), buf, size);
		tls_close(ssl);
	}
	SSL_CTX_free(context);
	return status;
}

void tls_rig_expect_served(const struct http_server *server)
{
	char answer[4096];

	assert_int_equal(tls_rig_ask(server, "bob", "GET /view HTTP/1.1\r\n" HOST "\r\n",
				     answer, sizeof(answer)),
			 200);
}

int tls_rig_connections(const struct http_server *server)
{
	char answer[4096];
	const char *at;

	(void)tls_rig_ask(server, "bob", "GET /count HTTP/1.1\r\n" HOST "\r\n", answer,
			  sizeof(answer));
	at = strstr(answer, "connections\":");
	return at ? (int)strtol(at + 13, NULL, 10) : -1;
}

void tls_rig_expect_alone(const struct http_server *server)
{
	(void)comes_true(tls_rig_connections(server) == 1);
	assert_int_equal(tls_rig_connections(server), 1);
	assert_in_range(http_server_fds(server), 1, 20);
}
