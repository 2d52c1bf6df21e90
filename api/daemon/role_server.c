/* SPDX-License-Identifier: Apache-2.0 */
#include "api/daemon/roles.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "api/daemon/start.h"
#include "api/http/users/tokens.h"
#include "api/kube/kube.h"

void neap_role_server_init(struct neap_role_server *server,
			   const struct neap_process *process)
{
	server->process = process;
	server->tcp_fd = server->tls_fd = server->unix_fd = -1;
}

/* The default address may be taken by another program: the node is managed all the
 * same. */
static int tls_open(struct neap_role_server *server, struct neap_error *err)
{
	const struct neap_config *config = &server->process->config;

	if (config->tls_cert[0] != '\0') {
		server->tls_fd = server->tcp_fd;
		server->tcp_fd = -1;
		return 0;
	}
	if (strcmp(config->tls_listen, "off") == 0)
		return 0;
	if (neap_http_bind_tcp(config->tls_listen, &server->tls_fd, err) == 0)
		return 0;
	if (config->has_tls_listen)
		return -(int)err->code;
	neap_log_line(&server->process->log, NEAP_LOG_WARN,
		      "no TLS for kubectl: %s (--tls-listen names another address)",
		      err->msg);
	return 0;
}

static int sockets_open(struct neap_role_server *server, struct neap_error *err)
{
	const struct neap_config *config = &server->process->config;

	if (neap_config_has_tcp(config) &&
	    neap_http_bind_tcp(config->listen, &server->tcp_fd, err) < 0)
		return neap_error_wrap(err, "--listen");
	if (tls_open(server, err) < 0)
		return neap_error_wrap(err, "--tls-listen");
	if (neap_http_bind_unix(config->unix_socket, &server->unix_fd, err) < 0)
		return neap_error_wrap(err, "--unix-socket");
	return 0;
}

/* --- tokens --- */

static int tokens_load(struct neap_role_server *server, struct neap_error *err)
{
	const char *file = server->process->config.token_file;

	return *file != '\0' ? neap_tokens_load(file, server->process->account.uid,
						&server->tokens, err)
			     : 0;
}

/* Logs the number of tokens, and an error if a changed file could not be read. */
static void tokens_tell(const struct neap_role_server *server)
{
	const struct neap_process *process = server->process;
	const char *file = process->config.token_file;

	if (*file == '\0')
		return;
	neap_log_line(&process->log, NEAP_LOG_INFO, "tokens: %zu of users",
		      neap_tokens_count(server->tokens));
	if (access(file, R_OK) < 0)
		neap_log_line(&process->log, NEAP_LOG_WARN,
			      "tokens: uid %u may not read --token-file %s: what changes "
			      "in it will need a restart of neapd",
			      (unsigned)geteuid(), file);
}

static void tokens_reload(struct neap_role_server *server)
{
	struct neap_tokens *before = server->tokens;
	struct neap_error err;

	server->tokens = NULL;
	if (tokens_load(server, &err) < 0) {
		server->tokens = before;
		neap_log_line(&server->process->log, NEAP_LOG_ERROR,
			      "tokens: they stay as they were: %s", err.msg);
		return;
	}
	neap_http_set_tokens(server->http, server->tokens);
	neap_tokens_unref(before);
	tokens_tell(server);
}

int neap_role_server_rotate(struct neap_role_server *server, const char *by,
			    struct neap_error *err)
{
	const struct neap_process *process = server->process;

	if (neap_token_rotate(&process->config, server->token, sizeof(server->token),
			      err) < 0)
		return -(int)err->code;
	neap_log_line(&process->log, NEAP_LOG_INFO, "operator (%s): a new token in %s",
		      by, server->token_file);
	if (neap_http_set_token(server->http, server->token, err) < 0)
		return -(int)err->code;
	return neap_kubeconfig_write(server, err);
}

/* --- start, reload, stop --- */

/* Each connection needs a descriptor. There may be thousands of watches, which may use
 * half of them. The server works with whatever limit results. */
static void descriptors_allow(void)
{
	const rlim_t enough =
		(rlim_t)2 * (NEAP_HTTP_KNOWN_MAX + NEAP_HTTP_CONNECTIONS_MAX +
			     NEAP_HTTP_RESERVE + NEAP_HTTP_OTHER_FDS);
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= enough)
		return;
	limit.rlim_cur = limit.rlim_max < enough ? limit.rlim_max : enough;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

int neap_role_server_open(struct neap_role_server *server, struct neap_error *err)
{
	const struct neap_process *process = server->process;

	if (sockets_open(server, err) < 0 ||
	    neap_daemon_tls_load(process, &server->tls, err) < 0 ||
	    tokens_load(server, err) < 0 ||
	    neap_token_load(&process->config, &process->account, server->token,
			    sizeof(server->token), err) < 0)
		return -(int)err->code;
	descriptors_allow();
	return 0;
}

int neap_role_server_start(struct neap_role_server *server, struct neap_error *err)
{
	const struct neap_process *process = server->process;
	const struct neap_config *config = &process->config;
	struct neap_http_config http = {
		.listen_fd_name = config->listen,
		.tcp_fd = server->tcp_fd,
		.tls_fd = server->tls_fd,
		.unix_fd = server->unix_fd,
		.token = server->token,
		.grants = &config->grants,
		.tokens = server->tokens,
		.own_uid = process->account.uid,
		.host_names = config->host_names,
	};
	size_t *user_max = http.limits.user_max;

	if (server->tls == NULL && server->tls_fd >= 0 &&
	    neap_daemon_tls_make(server, err) < 0)
		return -(int)err->code;
	http.tls = server->tls;
	(void)snprintf(server->token_file, sizeof(server->token_file), "%s/token",
		       config->data_dir);
	user_max[NEAP_HTTP_CONNECTIONS] = (size_t)config->user_connections;
	user_max[NEAP_HTTP_WATCHES] = (size_t)config->user_watches;
	user_max[NEAP_HTTP_REQUESTS] = (size_t)config->user_requests;
	if (server->tls != NULL && config->tls_cert[0] != '\0' &&
	    neap_daemon_tls_start(server, err) < 0)
		return -(int)err->code;
	tokens_tell(server);
	if (neap_http_new(process->base, &http, &server->http, err) < 0 ||
	    neap_daemon_trail_start(server, err) < 0)
		return -(int)err->code;
	if ((config->roles & NEAP_ROLE_API) != 0)
		neap_kube_announce(server->http);
	return 0;
}

void neap_role_server_reload(struct neap_role_server *server)
{
	neap_daemon_tls_look(server->tls_watch);
	tokens_reload(server);
	neap_daemon_trail_reopen(server->trail);
}

void neap_role_server_stop(struct neap_role_server *server)
{
	neap_http_free(server->http);
	server->http = NULL;
}

void neap_role_server_free(struct neap_role_server *server)
{
	neap_role_server_stop(server);
	neap_daemon_trail_free(server->trail);
	neap_tokens_unref(server->tokens);
	neap_daemon_tls_free(server->tls_watch);
	neap_tls_free(server->tls);
}
