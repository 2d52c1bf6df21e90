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
	const struct neap_daemon_api *api; /* what it serves; NULL: nothing yet */
	char token[80], token_file[160];
	char tls_files[2][160]; /* its own certificate and key */
};

/* Call it first. process is borrowed. */
void neap_role_server_init(struct neap_role_server *server,
			   const struct neap_process *process);
/* Opens the sockets, and reads certificate and tokens, as root if neapd has it. */
int neap_role_server_open(struct neap_role_server *server, struct neap_error *err);
/* Starts to serve. Needs the loop's user. */
int neap_role_server_start(struct neap_role_server *server, struct neap_error *err);
/* For SIGHUP: reads certificate and tokens again and reopens the audit log. What cannot
 * be used is logged, and the old one stays. */
void neap_role_server_reload(struct neap_role_server *server);
/* Replaces the token in DATA_DIR/token; the file is complete at any moment. by: who
 * asks. */
int neap_role_server_rotate(struct neap_role_server *server, const char *by,
			    struct neap_error *err);
/* Ends the server: no request is answered after it. */
void neap_role_server_stop(struct neap_role_server *server);
void neap_role_server_free(struct neap_role_server *server);

/* --- kubeconfig.c --- */
/* Makes neapd's own certificate below DATA_DIR and fills server->tls. */
int neap_daemon_tls_make(struct neap_role_server *server, struct neap_error *err);
/* Writes DATA_DIR/kubeconfig for the present address, token and certificate, with mode
 * 0600. Removes the file when no client could use it. Needs the loop's user. */
int neap_kubeconfig_write(const struct neap_role_server *server, struct neap_error *err);
/* Does the same; a failure is only logged. */
void neap_kubeconfig_renew(const struct neap_role_server *server);

/* --- trail.c --- */
/* Starts the audit log of --audit-log, if it is given. Call it when there is a server. */
int neap_daemon_trail_start(struct neap_role_server *server, struct neap_error *err);
/* For SIGHUP: opens the file again, which may have been renamed. NULL is fine. */
void neap_daemon_trail_reopen(struct neap_daemon_trail *trail);
/* Call it after the server's end. NULL is fine. */
void neap_daemon_trail_free(struct neap_daemon_trail *trail);

/* --- tls.c --- */
/* Reads the files of --tls-cert and the other TLS options, while it still may. *ret is
 * NULL without TLS or TCP. */
int neap_daemon_tls_load(const struct neap_process *process, struct neap_tls **ret,
			 struct neap_error *err);
/* Watches the files from now on, as the loop's user. Takes changed ones, and logs what it
 * took, what it could not take, and when the certificate expires soon. Writes the
 * kubeconfig when there is a new certificate. */
int neap_daemon_tls_start(struct neap_role_server *server, struct neap_error *err);
/* Looks now, for SIGHUP; watch may be NULL. */
void neap_daemon_tls_look(struct neap_daemon_tls *watch);
void neap_daemon_tls_free(struct neap_daemon_tls *watch);

#endif
