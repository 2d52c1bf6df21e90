/* SPDX-License-Identifier: Apache-2.0
 *
 * The certificate of a running daemon: read again when its files change; a warning
 * comes before it expires. The loop does this as its own user. A key that only root can
 * read is read once, at the start; after that a new certificate for the same key is
 * still accepted.
 *
 * DATA_DIR/kubeconfig lets kubectl in as admin. It has the token, and the certificate
 * as the CA, so it is written again when one of them changes. kubectl sends no token
 * without TLS. So neapd uses TLS even if no option asks for it, with its own
 * certificate. */
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "api/daemon/roles.h"
#include "engine/base/buf.h"
#include "engine/base/file.h"
#include "engine/base/mem.h"

/* Files that are written one after the other must be complete within one interval. */
#define LOOK_S 1
#define DAY_S  INT64_C(86400)
#define SOON_S (7 * DAY_S)

struct neap_daemon_tls {
	struct neap_tls *tls;
	const struct neap_log *log;
	struct neap_role_server *server;
	struct event *look;
	int64_t warned_sec; /* when the coming expiry was reported; 0: not yet */
};

int neap_daemon_tls_load(const struct neap_process *process, struct neap_tls **ret,
			 struct neap_error *err)
{
	const struct neap_config *config = &process->config;
	const struct neap_tls_config tls = {
		.cert_file = config->tls_cert,
		.key_file = config->tls_key,
		.client_ca_file = config->tls_client_ca,
		.own_uid = process->account.uid,
	};

	if (config->tls_cert[0] == '\0' ||
	    (!neap_config_has_tcp(config) && strcmp(config->extender_listen, "off") == 0))
		return 0;
	return neap_tls_new(&tls, ret, err);
}

static void tell_service(const struct neap_daemon_tls *watch, const char *what)
{
	const struct neap_tls_facts *facts = neap_tls_facts_get(watch->tls);

	neap_log_line(watch->log, NEAP_LOG_INFO, "tls: %s of %s, valid until %s", what,
		      facts->subject, facts->not_after);
}

/* Warns once a day, from a week before the expiry. After a jump back of the clock it
 * warns again. */
static void warn(struct neap_daemon_tls *watch)
{
	const struct neap_tls_facts *facts = neap_tls_facts_get(watch->tls);
	int64_t now = (int64_t)time(NULL), left = facts->not_after_sec - now;

	if (left >= SOON_S || (watch->warned_sec != 0 && now >= watch->warned_sec &&
			       now - watch->warned_sec < DAY_S))
		return;
	watch->warned_sec = now;
	if (left < 0)
		neap_log_line(
			watch->log, NEAP_LOG_ERROR,
			"tls: the certificate of %s expired on %s: clients refuse it",
			facts->subject, facts->not_after);
	else
		neap_log_line(watch->log, NEAP_LOG_WARN,
			      "tls: the certificate of %s ends on %s, in %lld day%s",
			      facts->subject, facts->not_after, (long long)(left / DAY_S),
			      left / DAY_S == 1 ? "" : "s");
}

static void look(struct neap_daemon_tls *watch, bool is_asked)
{
	struct neap_error err;
	int r = neap_tls_look(watch->tls, is_asked, &err);

	if (r < 0)
		neap_log_line(watch->log, NEAP_LOG_ERROR,
			      "tls: the certificate stays as it was: %s", err.msg);
	if (r > 0) {
		watch->warned_sec = 0;
		tell_service(watch, "a new certificate");
		neap_kubeconfig_renew(watch->server);
	}
	warn(watch);
}

static void look_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	look(arg, false);
}

void neap_daemon_tls_look(struct neap_daemon_tls *watch)
{
	if (watch != NULL)
		look(watch, true);
}

int neap_daemon_tls_start(struct neap_role_server *server, struct neap_error *err)
{
	static const struct timeval each = {LOOK_S, 0};
	const struct neap_process *process = server->process;
	const char *key = process->config.tls_key;
	struct neap_daemon_tls *watch = neap_alloc(sizeof(*watch));

	if (watch == NULL)
		return neap_error_nomem(err);
	watch->tls = server->tls;
	watch->log = &process->log;
	watch->server = server;
	watch->look = event_new(process->base, -1, EV_PERSIST, look_cb, watch);
	if (watch->look == NULL || event_add(watch->look, &each) < 0) {
		neap_daemon_tls_free(watch);
		return neap_error_nomem(err);
	}
	tell_service(watch, "certificate");
	if (access(key, R_OK) < 0)
		neap_log_line(watch->log, NEAP_LOG_WARN,
			      "tls: uid %u may not read --tls-key %s: a certificate with "
			      "another key will need a restart of neapd",
			      (unsigned)geteuid(), key);
	warn(watch);
	server->tls_watch = watch;
	return 0;
}

void neap_daemon_tls_free(struct neap_daemon_tls *watch)
{
	if (watch == NULL)
		return;
	if (watch->look != NULL)
		event_free(watch->look);
	free(watch);
}

/* --- DATA_DIR/kubeconfig --- */

#define TEXT_MAX ((size_t)256 * 1024)

/* The server's address from this machine: a server that listens on every address is
 * reached on the loopback. */
static int add_server(const struct neap_role_server *server, struct neap_buf *out)
{
	struct sockaddr_storage addr = {0};
	const struct sockaddr_in *four = (const struct sockaddr_in *)&addr;
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&addr;
	socklen_t len = sizeof(addr);
	const char *listen = server->process->config.tls_cert[0] != '\0'
				     ? server->process->config.listen
				     : server->process->config.tls_listen;
	const char *host = "";
	int port;

	if (getsockname(server->tls_fd, (struct sockaddr *)&addr, &len) < 0)
		return -1;
	if (addr.ss_family == AF_INET6) {
		port = ntohs(six->sin6_port);
		if (IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr))
			host = "[::1]";
	} else {
		port = ntohs(four->sin_port);
		if (four->sin_addr.s_addr == htonl(INADDR_ANY))
			host = "127.0.0.1";
	}
	neap_buf_adds(out, "    server: https://");
	if (host[0] != '\0')
		neap_buf_adds(out, host);
	else
		neap_buf_add(out, listen, (size_t)(strrchr(listen, ':') - listen));
	neap_buf_addf(out, ":%d\n", port);
	return 0;
}

/* The certificate itself is trusted, whatever CA signed it. */
static int add_authority(const struct neap_role_server *server, struct neap_buf *out,
			 struct neap_error *err)
{
	neap_auto_free char *chain = NULL, *text = NULL;
	size_t len;

	chain = neap_tls_chain(server->tls);
	len = chain != NULL ? strlen(chain) : 0;
	text = neap_alloc(4 * ((len + 2) / 3) + 1);
	if (chain == NULL || text == NULL)
		return neap_error_nomem(err);
	(void)EVP_EncodeBlock((unsigned char *)text, (const unsigned char *)chain,
			      (int)len);
	neap_buf_addf(out, "    certificate-authority-data: %s\n", text);
	return 0;
}

int neap_daemon_tls_make(struct neap_role_server *server, struct neap_error *err)
{
	static const char *const files[] = {"tls.crt", "tls.key"};
	const char *listen = server->process->config.tls_listen;
	struct neap_tls_config config = {.client_ca_file = "",
					 .own_uid = server->process->account.uid};
	const char *names[] = {"localhost", "127.0.0.1",
			       "::1",       server->process->config.node_name,
			       NULL,        NULL};
	char host[64];

	for (size_t i = 0; i < NEAP_ARRAY_LEN(files); i++)
		(void)snprintf(server->tls_files[i], sizeof(server->tls_files[i]),
			       "%s/%s", server->process->config.data_dir, files[i]);
	/* "[::1]:6328" */
	(void)snprintf(host, sizeof(host), "%.*s",
		       (int)(strrchr(listen, ':') - listen - (listen[0] == '[' ? 2 : 0)),
		       listen + (listen[0] == '[' ? 1 : 0));
	names[4] = host;
	if (neap_tls_make(server->tls_files[0], server->tls_files[1], names, err) < 0)
		return -(int)err->code;
	config.cert_file = server->tls_files[0];
	config.key_file = server->tls_files[1];
	return neap_tls_new(&config, &server->tls, err);
}

int neap_kubeconfig_write(const struct neap_role_server *server, struct neap_error *err)
{
	neap_auto_buf struct neap_buf out = {0};
	char path[160], fresh[170];

	(void)snprintf(path, sizeof(path), "%s/kubeconfig",
		       server->process->config.data_dir);
	(void)snprintf(fresh, sizeof(fresh), "%s.new", path);
	if (server->api == NULL || server->tls_fd < 0) {
		/* A file of an earlier start would lead to no server, or to a foreign
		 * one. */
		if (unlink(path) < 0 && errno != ENOENT)
			return neap_error_sys(err, "remove %s", path);
		return 0;
	}
	neap_buf_init(&out, TEXT_MAX);
	neap_buf_adds(&out, "apiVersion: v1\n"
			    "kind: Config\n"
			    "current-context: neap\n"
			    "contexts:\n"
			    "- name: neap\n"
			    "  context:\n"
			    "    cluster: neap\n"
			    "    user: admin\n"
			    "clusters:\n"
			    "- name: neap\n"
			    "  cluster:\n");
	if (add_server(server, &out) < 0)
		return neap_error_sys(err, "name the address of --listen");
	if (add_authority(server, &out, err) < 0)
		return -(int)err->code;
	neap_buf_addf(&out,
		      "users:\n"
		      "- name: admin\n"
		      "  user:\n"
		      "    token: %s\n",
		      server->token);
	if (neap_buf_failed(&out))
		return neap_error_nomem(err);
	/* Not synced: each start writes it again. */
	return neap_file_put(AT_FDCWD, fresh, path, out.data, out.len, 0, err);
}

/* On a full disk the old file stays usable. */
void neap_kubeconfig_renew(const struct neap_role_server *server)
{
	struct neap_error err;

	if (neap_kubeconfig_write(server, &err) < 0)
		neap_log_line(&server->process->log, NEAP_LOG_WARN, "%s", err.msg);
}
