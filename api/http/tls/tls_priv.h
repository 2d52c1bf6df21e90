/* SPDX-License-Identifier: Apache-2.0
 *
 * The certificate in service, shared by tls.c (connections, and when to load) and
 * tls_file.c (files). */
#ifndef NEAP_API_HTTP_TLS_TLS_PRIV_H
#define NEAP_API_HTTP_TLS_TLS_PRIV_H

#include <openssl/ssl.h>
#include <sys/stat.h>

#include "api/http/tls/tls.h"

#define NEAP_TLS_FILES 3

/* Distinguishes contents of the files; zero for a file that cannot be examined. */
struct neap_tls_sign {
	struct {
		dev_t dev;
		ino_t ino;
		off_t size;
		struct timespec mtime, ctime;
	} files[NEAP_TLS_FILES];
};

struct neap_tls {
	struct neap_tls_config config;
	SSL_CTX *context;
	struct neap_tls_facts facts;
	struct neap_tls_sign used; /* of the content in service */
	struct neap_tls_sign seen; /* unusable at the last check */
	struct neap_tls_sign told; /* reported as unusable */
};

/* Builds a context from the files. present (may be NULL): its key is kept if this process
 * cannot read the key file. */
int neap_tls_load(const struct neap_tls_config *config, SSL_CTX *present, SSL_CTX **ret,
		  struct neap_tls_facts *ret_facts, struct neap_error *err);
/* "CN=node-1,O=example", in ASCII, cut to size. */
void neap_tls_subject(const X509 *cert, char *buf, size_t size);

#endif
