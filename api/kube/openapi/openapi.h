/* SPDX-License-Identifier: Apache-2.0
 *
 * The document /openapi/v2 for kubectl, in protobuf (gnostic's openapi.v2.Document). From
 * it kubectl detects unknown fields before sending, merges lists by their keys, explains
 * fields, and learns that dry run is supported. */
#ifndef NEAP_API_KUBE_OPENAPI_OPENAPI_H
#define NEAP_API_KUBE_OPENAPI_OPENAPI_H

#include "api/kube/base/kind.h"

/* Size of the definition of a declared kind; larger ones become "any object", and so do
 * further ones when half of the document is full. */
#define NEAP_KUBE_OPENAPI_KIND_MAX (1024 * 1024)

/* Builds the document of these kinds in all versions: their definitions and those they
 * reference, each once, and their paths. title and version: for its info. The caller
 * frees *ret (*ret_len bytes) with free(3). Equal kinds give equal bytes. Returns 0;
 * -NEAP_ETOOLARGE over NEAP_BUF_REPLY; -NEAP_ENOMEM; -NEAP_EINTERNAL: a cyclic C table
 * without a name. */
int neap_kube_openapi(const struct neap_kube_kind *const *kinds, size_t count,
		      const char *title, const char *version, char **ret, size_t *ret_len,
		      struct neap_error *err);

#endif
