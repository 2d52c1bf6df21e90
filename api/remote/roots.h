/* SPDX-License-Identifier: Apache-2.0
 *
 * The certificate authorities of the system, for servers that name none. Parsing them
 * takes some 20 ms, so it is done at the start and not at each connection on the loop. */
#ifndef NEAP_API_REMOTE_ROOTS_H
#define NEAP_API_REMOTE_ROOTS_H

struct x509_store_st;

/* Reads them from the file, NULL: the one of libcurl. Returns NULL when they cannot be
 * used so; libcurl then finds its own at each connection. */
struct x509_store_st *neap_remote_roots_new(const char *file);
void neap_remote_roots_free(struct x509_store_st *roots);

#endif
