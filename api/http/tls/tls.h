/* SPDX-License-Identifier: Apache-2.0
 *
 * TLS for the HTTP server: certificate, key and client CA, loaded from files and reloaded
 * when they change; and the TLS state of a connection. A connection keeps the certificate
 * of its handshake. */
#ifndef NEAP_API_HTTP_TLS_TLS_H
#define NEAP_API_HTTP_TLS_TLS_H

#include <sys/types.h>

#include "api/http/server.h"

struct bufferevent;

/* A file of certificates, or of a key. */
#define NEAP_TLS_FILE_MAX (1024 * 1024)
/* How long a session can be resumed without checking the client's certificate again. */
#define NEAP_TLS_SESSION_S 300

/* Everything is borrowed for the life of the neap_tls. */
struct neap_tls_config {
	const char *cert_file; /* PEM: the certificate, then intermediate certificates */
	const char *key_file;  /* PEM, without a passphrase */
	const char *client_ca_file; /* PEM; "": clients are not asked for certificates */
	uid_t own_uid;              /* the user that may own the files, besides root */
};

struct neap_tls_facts {
	char subject[128];     /* "CN=node-1,O=example" */
	int64_t not_after_sec; /* Unix seconds */
	char not_after[32];    /* "2026-11-22T01:02:03Z" */
};

/* Makes sure that a certificate for these names (hosts or addresses; NULL-terminated) and
 * its key exist; called as neapd's own user. An existing one is kept while it is valid
 * for another year and has all names. */
int neap_tls_make(const char *cert_file, const char *key_file, const char *const *names,
		  struct neap_error *err);
/* Loads the files. Errors name option and file. */
int neap_tls_new(const struct neap_tls_config *config, struct neap_tls **ret,
		 struct neap_error *err);
/* Call after the server was freed, because its connections may still use it. */
void neap_tls_free(struct neap_tls *tls);
/* Checks whether the files changed. Returns 1: the new content serves future connections;
 * 0: nothing to report; -code: the new content is unusable, and the old one stays. An
 * error is reported once per change, and only if it persists to the next check, because
 * the files are written one after the other; loading is retried at each check. is_asked:
 * report in any case, at once. */
int neap_tls_look(struct neap_tls *tls, bool is_asked, struct neap_error *err);
/* Returns the certificate in service and its chain as PEM, which the caller frees; NULL
 * without memory. */
char *neap_tls_chain(const struct neap_tls *tls);
/* The certificate in service; valid until the next check. */
const struct neap_tls_facts *neap_tls_facts_get(const struct neap_tls *tls);

/* --- one connection --- */

struct neap_tls_watch {
	void (*input)(void *arg, const char *data, size_t len);
	void *arg;
	struct ssl_st *ssl; /* filled in */
};

/* Returns a bufferevent for a connection to accept; it owns its descriptor. NULL without
 * memory. */
struct bufferevent *neap_tls_accept(struct neap_tls *tls, struct event_base *base);
/* Call once it has its descriptor: input is called with the bytes received until the
 * handshake is done. It must not free anything. watch is borrowed until neap_tls_end. */
void neap_tls_watch(struct bufferevent *bev, struct neap_tls_watch *watch);
/* Writes the client certificate's name for audit and log: "cert:NAME"; "" without a
 * certificate. Cut to size. */
void neap_tls_name(struct bufferevent *bev, char *buf, size_t size);
/* Returns the user: the subject's last CN, with each O as a group. NULL without a
 * certificate, without a CN, or without memory. The caller frees it with free(3). */
struct neap_http_user *neap_tls_user_new(struct bufferevent *bev);
/* Returns whether the client showed a certificate that has not expired since. */
bool neap_tls_is_good(struct bufferevent *bev);
/* Fills err with why role, from its certificate, is below needed, and what would help.
 * False: it showed no certificate. */
bool neap_tls_explain(struct bufferevent *bev, enum neap_http_role role,
		      enum neap_http_role needed, struct neap_error *err);
/* Sends a last message past the bufferevent, whose output must be empty. Best effort. */
void neap_tls_say(struct bufferevent *bev, const char *text, size_t len);
/* Call before the connection is freed: ends neap_tls_watch, and sends the TLS close. */
void neap_tls_end(struct bufferevent *bev);

#endif
