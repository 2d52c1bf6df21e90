/* SPDX-License-Identifier: Apache-2.0
 *
 * TLS of the HTTP server: the certificate in service with its key and the CA of the clients, taken from
 * files and from changed files again while the server runs; and what one connection needs of it.
 * A connection keeps the certificate that it was greeted with. */
#ifndef NEAP_API_HTTP_TLS_H
#define NEAP_API_HTTP_TLS_H

#include <sys/types.h>

#include "api/http/server.h"

struct bufferevent;

/* A file of certificates, or of a key. */
#define NEAP_TLS_FILE_MAX (1024 * 1024)
/* How long a session can be taken up again without another look at the client's certificate. */
#define NEAP_TLS_SESSION_S 300

/* All borrowed for the life of the neap_tls. */
struct neap_tls_config {
	const char
		*cert_file;   /* PEM: the certificate, then those between it and the CA */
	const char *key_file; /* PEM, without a passphrase */
	const char *client_ca_file; /* PEM; "": clients are asked for no certificate */
	uid_t own_uid;              /* who, beside root, may own the files */
};

struct neap_tls_facts {
	char subject[128];     /* "CN=node-1,O=example" */
	int64_t not_after_sec; /* Unix seconds */
	char not_after[32];    /* "2026-11-22T01:02:03Z" */
};

/* Sees to it that there are a certificate for these names (of hosts, or addresses; NULL ends) and its key, as
 * neapd's own user: what is there is kept while it is good for another year and has all of them. */
int neap_tls_make(const char *cert_file, const char *key_file, const char *const *names,
		  struct neap_error *err);
/* Reads the files. Errors name option and file. */
int neap_tls_new(const struct neap_tls_config *config, struct neap_tls **ret,
		 struct neap_error *err);
/* After the server, whose connections may still use it. */
void neap_tls_free(struct neap_tls *tls);
/* Looks whether the files changed. 1: what they hold now serves the connections to come. 0: nothing to
 * say. -code: they changed into what cannot be used, and what there was goes on; told once for
 * each change, and only when it has lasted from one look to the next, as files are written one
 * after the other, but tried again at each look. is_asked: told in any case and at once. */
int neap_tls_look(struct neap_tls *tls, bool is_asked, struct neap_error *err);
/* The certificate in service and those that were sent with it, as PEM, to be freed; NULL without memory. */
char *neap_tls_chain(const struct neap_tls *tls);
/* The certificate in service; valid until the next look. */
const struct neap_tls_facts *neap_tls_facts_get(const struct neap_tls *tls);

/* --- one connection --- */

struct neap_tls_watch {
	void (*input)(void *arg, const char *data, size_t len);
	void *arg;
	struct ssl_st *ssl; /* filled in */
};

/* A bufferevent for a connection to be accepted; its descriptor goes with it. NULL without memory. */
struct bufferevent *neap_tls_accept(struct neap_tls *tls, struct event_base *base);
/* Once it has its descriptor: input is called with the bytes that come over the wire until the
 * handshake is done. It must not free anything. watch is borrowed until neap_tls_end. */
void neap_tls_watch(struct bufferevent *bev, struct neap_tls_watch *watch);
/* Who the client's certificate says it is, for audit and log: "cert:NAME"; "" without a certificate. The
 * name is cut to size. */
void neap_tls_name(struct bufferevent *bev, char *buf, size_t size);
/* Who that is: of the subject the last CN is the user, each O a group. NULL without a certificate, without a
 * CN, and without memory. To be freed with free(3). */
struct neap_http_user *neap_tls_user_new(struct bufferevent *bev);
/* A certificate was shown, and it has not ended since. */
bool neap_tls_is_good(struct bufferevent *bev);
/* Fills err with why role, that of its certificate, is below needed, and what would help. False: no
 * certificate was shown. */
bool neap_tls_explain(struct bufferevent *bev, enum neap_http_role role,
		      enum neap_http_role needed, struct neap_error *err);
/* Says a last word past the bufferevent, whose output must be empty. Best effort. */
void neap_tls_say(struct bufferevent *bev, const char *text, size_t len);
/* Before the connection is freed: neap_tls_watch ends, and the client hears a proper end of TLS. */
void neap_tls_end(struct bufferevent *bev);

#endif
