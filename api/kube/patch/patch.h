/* SPDX-License-Identifier: Apache-2.0
 *
 * The three patch types of Kubernetes. Pure functions: a tree in, a new tree out. */
#ifndef NEAP_API_KUBE_PATCH_PATCH_H
#define NEAP_API_KUBE_PATCH_PATCH_H

#include "engine/schema/schema.h"

/* Operations of one JSON patch, and bytes that all its copies may add, as in a
 * kube-apiserver. */
#define NEAP_PATCH_OPERATIONS_MAX 10000
#define NEAP_PATCH_COPY_MAX       (3 * 1024 * 1024)
/* Nesting levels of an object, a patch and a result; 1 is a single scalar. */
#define NEAP_PATCH_DEPTH_MAX 1000

enum neap_patch_type {
	NEAP_PATCH_JSON,      /* application/json-patch+json, RFC 6902 */
	NEAP_PATCH_MERGE,     /* application/merge-patch+json, RFC 7386 */
	NEAP_PATCH_STRATEGIC, /* application/strategic-merge-patch+json */
};

/* Parses a media type, ignoring parameters. False for any other. */
bool neap_patch_type_parse(const char *media_type, enum neap_patch_type *ret);

/* Applies patch to object and returns a new tree; neither is changed or shared. schema:
 * the object's, for STRATEGIC, which needs the merge keys of lists (NULL: unknown);
 * unknown fields are merged as maps and replaced as lists. JSON and MERGE can produce any
 * JSON value, as their standards allow; callers that need an object must check. STRATEGIC
 * merges an object whose field retains keys like any other, as a kube-apiserver does: the
 * patch's $retainKeys says what stays. No directive ever remains in the result. Time and
 * memory grow with both trees, not with their product. -NEAP_EINVAL: the patch is
 * malformed (400 in a kube-apiserver), with the place in field if there is one ("[3]",
 * "spec.containers[0]"); -NEAP_ECONFLICT: it does not fit the object, or has an invalid
 * operation (a failing "test", a missing path, "[3].path": 422); -NEAP_ETOOLARGE: too
 * many operations or levels, or a result or intermediate result far larger than both;
 * -NEAP_ENOMEM. */
int neap_patch_apply(enum neap_patch_type type, const struct neap_schema *schema,
		     const json_t *object, const json_t *patch, json_t **ret,
		     struct neap_error *err);

#endif
