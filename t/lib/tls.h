/* SPDX-License-Identifier: Apache-2.0
 *
 * For tests of TLS: a certificate authority that issues what a test asks for, and a
 * client that does one step of TLS at a time. */
#ifndef NEAP_T_LIB_TLS_H
#define NEAP_T_LIB_TLS_H

#include <openssl/ssl.h>

#include "t/lib/http.h"

struct tls_order {
	const char *cn, *o; /* of the subject; o NULL: none; a '|' in it parts two */
	long from_s, for_s; /* from now on; for_s 0: an hour */
	const char *usage;  /* of the extended key usage; NULL: none is said */
	const char *issuer; /* a file before issued with usage "CA"; NULL: "ca" */
	const char *key;    /* of this name; NULL: a new one */
};

/* Writes DIR/NAME.crt (mode 0644) and DIR/NAME.key (mode 0600), each in the place of the
 * one before by renaming. The usage "CA" makes an authority, and the first one, "ca",
 * signs itself. */
void tls_issue(const char *dir, const char *name, const struct tls_order *order);
/* Copies a file of certificates or a key to dir/to, byte by byte into the file that is
 * there. */
void tls_copy(const char *dir, const char *from, const char *to);

/* What a client brings: certificate dir/name.crt with its key (name NULL: none), trust in
 * dir/ca.crt; the highest version (0: whatever there is). */
SSL_CTX *tls_context(const char *dir, const char *name, int max_version);
/* Connects, as NAME of dir. NULL: the handshake failed. */
SSL *tls_dial(const struct http_server *server, SSL_CTX *context);
void tls_close(SSL *ssl);
/* Sends a request and reads one answer with a Content-Length. Its status, 0 if none
 * came. */
int tls_ask(SSL *ssl, const char *request, size_t len, char *buf, size_t size);

#endif
