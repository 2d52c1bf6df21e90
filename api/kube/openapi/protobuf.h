/* SPDX-License-Identifier: Apache-2.0
 *
 * Bodies in the protobuf of Kubernetes, which its own programs send by default (kubectl
 * of 1.32 and later for a few kinds), and which they do not repeat in JSON when refused.
 * Accepted are the stored built-in kinds except definitions, and the bodies of requests
 * (api/kube/types/bodies.h). Answers are JSON, which everyone accepts. */
#ifndef NEAP_API_KUBE_OPENAPI_PROTOBUF_H
#define NEAP_API_KUBE_OPENAPI_PROTOBUF_H

#include <jansson.h>

#include "engine/base/error.h"

#define NEAP_PROTOBUF_MEDIA_TYPE "application/vnd.kubernetes.protobuf"

/* Decodes an object into the form of its JSON, with kind and apiVersion; owned by the
 * caller. As in JSON, empty members that are not pointers in Go are omitted. Unknown
 * fields are skipped, as protobuf requires, and so are metadata.managedFields and the
 * status of reviews. len: in bytes. -NEAP_EUNSUPPORTED: another kind; -NEAP_EINVAL: not
 * such a body, with the place in field if there is one; -NEAP_ENOMEM. */
int neap_protobuf_decode(const void *body, size_t len, json_t **ret,
			 struct neap_error *err);

#endif
