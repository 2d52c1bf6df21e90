/* SPDX-License-Identifier: Apache-2.0
 *
 * Request bodies that are not stored objects: bodies of subresources, options, and
 * reviews. Each has a schema, as kinds do, and is decoded by it before use. */
#ifndef NEAP_API_KUBE_TYPES_BODIES_H
#define NEAP_API_KUBE_TYPES_BODIES_H

#include "engine/schema/schema.h"

struct neap_kube_body {
	const char *kind;
	const char *const
		*versions; /* the valid values of apiVersion, NULL ends; NULL: any */
	const struct neap_schema *schema;
};

extern const struct neap_kube_body neap_kube_body_binding, neap_kube_body_eviction,
	neap_kube_body_scale, neap_kube_body_delete_options, neap_kube_body_self_review,
	neap_kube_body_self_access_review, neap_kube_body_self_rules_review,
	neap_kube_body_access_review, neap_kube_body_local_access_review,
	neap_kube_body_token_review;

#endif
