/* SPDX-License-Identifier: Apache-2.0
 *
 * The certificate in service, as the files of TLS share it: tls.c when to take what, tls_file.c from
 * files, tls_peer.c one connection. */
#ifndef NEAP_API_HTTP_TLS_PRIV_H
#define NEAP_API_HTTP_TLS_PRIV_H

#include <openssl/ssl.h>
#include <sys/stat.h>

#include "api/http/tls.h"

#define NEAP_TLS_FILES 3

/* What tells one content of the files from another; all zero for a file that cannot be looked at. */
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
	struct neap_tls_sign used; /* of what is in service */
	struct neap_tls_sign seen; /* of what could not be used at the last look */
	struct neap_tls_sign told; /* of what was told to be of no use */
};

/* A context from the files as they are. present (may be NULL): its key serves on if the key's file is
 * closed to this process. */
int neap_tls_load(const struct neap_tls_config *config, SSL_CTX *present, SSL_CTX **ret,
		  struct neap_tls_facts *ret_facts, struct neap_error *err);
/* "CN=node-1,O=example", in ASCII, cut to size. */
void neap_tls_subject(const X509 *cert, char *buf, size_t size);

#endif
