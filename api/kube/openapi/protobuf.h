/* SPDX-License-Identifier: Apache-2.0
 *
 * Bodies in the protobuf of Kubernetes, which its own programs write by default (kubectl of 1.32 and later for a few kinds)
 * and for which they do not come again with JSON when they are refused. Read are the built-in kinds that are kept, but
 * definitions of kinds, and the bodies of requests (api/kube/types/bodies.h). Answers are JSON, which everybody takes. */
#ifndef NEAP_API_KUBE_OPENAPI_PROTOBUF_H
#define NEAP_API_KUBE_OPENAPI_PROTOBUF_H

#include <jansson.h>

#include "engine/base/error.h"

#define NEAP_PROTOBUF_MEDIA_TYPE "application/vnd.kubernetes.protobuf"

/* The object as its JSON would have been, with kind and apiVersion; the caller's. As in
 * JSON, members that are empty and no pointers in Go are left out. Fields that are not
 * known are skipped, as protobuf wants it; so are metadata.managedFields and the status
 * of reviews. len: in bytes. -NEAP_EUNSUPPORTED: another kind; -NEAP_EINVAL: it is no
 * such body, with the place in field where there is one; -NEAP_ENOMEM. */
int neap_protobuf_decode(const void *body, size_t len, json_t **ret,
			 struct neap_error *err);

#endif
