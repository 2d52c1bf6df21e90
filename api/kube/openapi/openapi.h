/* SPDX-License-Identifier: Apache-2.0
 *
 * The document of /openapi/v2, as kubectl reads it: protobuf (gnostic's openapi.v2.Document). From it kubectl
 * finds unknown fields before it sends anything, merges lists by their keys, explains fields, and learns
 * that a dry run is possible. */
#ifndef NEAP_API_KUBE_OPENAPI_OPENAPI_H
#define NEAP_API_KUBE_OPENAPI_OPENAPI_H

#include "api/kube/base/kind.h"

/* Bytes of the definition of one declared kind; a longer one is left open (any object), and so are those
 * that come when half of the document is full. */
#define NEAP_KUBE_OPENAPI_KIND_MAX (1024 * 1024)

/* Makes the document of these kinds, in all their versions: their definitions and those that they refer to,
 * each once, and their paths. title and version: of its info. *ret, of *ret_len bytes, is freed by the
 * caller with free(3). The same kinds give the same bytes. 0; -NEAP_ETOOLARGE over NEAP_BUF_REPLY;
 * -NEAP_ENOMEM; -NEAP_EINTERNAL: a table of C that goes in a circle without a name. */
int neap_kube_openapi(const struct neap_kube_kind *const *kinds, size_t count,
		      const char *title, const char *version, char **ret, size_t *ret_len,
		      struct neap_error *err);

#endif
