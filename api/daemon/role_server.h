/* SPDX-License-Identifier: Apache-2.0
 *
 * The HTTP server of a running neapd: its sockets, TLS, tokens and audit log. */
#ifndef NEAP_API_DAEMON_ROLE_SERVER_H
#define NEAP_API_DAEMON_ROLE_SERVER_H

#include "api/daemon/process.h"
#include "api/http/server.h"
#include "api/http/tls/tls.h"

struct neap_daemon_api;
struct neap_daemon_tls;
struct neap_daemon_trail;
struct neap_tokens;

struct neap_role_server {
	const struct neap_process *process;
	int tcp_fd, tls_fd, unix_fd; /* -1: it does not listen there */
	struct neap_tls *tls;        /* NULL without TLS */
	struct neap_daemon_tls *tls_watch;
	struct neap_tokens *tokens;      /* of users; NULL without --token-file */
	struct neap_daemon_trail *trail; /* NULL without --audit-log */
	struct neap_http *http;
	const struct neap_daemon_api *api; /* what it serves; NULL while there is none */
	char token[80], token_file[160];
	char tls_files[2][160]; /* of its own certificate, and its key */
};

/* Before anything else. process is borrowed. */
void neap_role_server_init(struct neap_role_server *server,
			   const struct neap_process *process);
/* Opens the sockets, and reads certificate and tokens. As root, if it is. */
int neap_role_server_open(struct neap_role_server *server, struct neap_error *err);
/* Serves from now on. As the loop's user. */
int neap_role_server_start(struct neap_role_server *server, struct neap_error *err);
/* SIGHUP: certificate and tokens are read again, the audit log is opened again. What
 * cannot be used is logged, and what was there stays. */
void neap_role_server_reload(struct neap_role_server *server);
/* Another token in DATA_DIR/token; the file is whole at any moment. by: who asks. */
int neap_role_server_rotate(struct neap_role_server *server, const char *by,
			    struct neap_error *err);
/* Nobody is answered any more. */
void neap_role_server_stop(struct neap_role_server *server);
void neap_role_server_free(struct neap_role_server *server);

/* --- kubeconfig.c --- */
/* Makes a certificate of neapd's own below DATA_DIR; fills server->tls. */
int neap_daemon_tls_make(struct neap_role_server *server, struct neap_error *err);
/* Writes DATA_DIR/kubeconfig for the address, token and certificate of now, with mode
 * 0600; removes it where nobody could use it. As the loop's user. */
int neap_kubeconfig_write(const struct neap_role_server *server, struct neap_error *err);
/* The same; a failure is only logged. */
void neap_kubeconfig_renew(const struct neap_role_server *server);

/* --- trail.c --- */
/* --audit-log, if it is given; when there is a server. */
int neap_daemon_trail_start(struct neap_role_server *server, struct neap_error *err);
/* SIGHUP: the file may have been renamed. NULL is fine. */
void neap_daemon_trail_reopen(struct neap_daemon_trail *trail);
/* After the server. NULL is fine. */
void neap_daemon_trail_free(struct neap_daemon_trail *trail);

/* --- tls.c --- */
/* Reads what --tls-cert and its like name, while it still may. *ret is NULL without TLS
 * or TCP. */
int neap_daemon_tls_load(const struct neap_process *process, struct neap_tls **ret,
			 struct neap_error *err);
/* Looks after the files from now on, as the loop's user: takes changed ones, and logs
 * what it took, what it could not take, and when the certificate is about to end. Writes
 * the kubeconfig when there is a new one. */
int neap_daemon_tls_start(struct neap_role_server *server, struct neap_error *err);
/* Looks now (SIGHUP); watch may be NULL. */
void neap_daemon_tls_look(struct neap_daemon_tls *watch);
void neap_daemon_tls_free(struct neap_daemon_tls *watch);

#endif
