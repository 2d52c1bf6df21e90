/* SPDX-License-Identifier: Apache-2.0
 *
 * The "continue" token of a list: the version that all pages show, and the last object
 * returned. Opaque to clients; a forged one can do no more than a query. */
#ifndef NEAP_API_KUBE_REQUEST_CONTINUE_TOKEN_H
#define NEAP_API_KUBE_REQUEST_CONTINUE_TOKEN_H

#include "api/store/store.h"

/* base64url of "VERSION/NAMESPACE/NAME", with NUL. */
#define NEAP_KUBE_CONTINUE_SIZE 512

/* Returns buf, of NEAP_KUBE_CONTINUE_SIZE bytes. */
char *neap_kube_continue_format(const struct neap_store_place *place, char *buf);
/* -NEAP_EINVAL for what neap_kube_continue_format does not write. */
int neap_kube_continue_parse(const char *token, struct neap_store_place *ret,
			     struct neap_error *err);

#endif
