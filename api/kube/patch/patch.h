/* SPDX-License-Identifier: Apache-2.0
 *
 * The three kinds of patches of Kubernetes. Pure functions: a tree in, a new tree out. */
#ifndef NEAP_API_KUBE_PATCH_PATCH_H
#define NEAP_API_KUBE_PATCH_PATCH_H

#include "engine/schema/schema.h"

/* Operations of one JSON patch, and bytes that all its copies may add, as a kube-apiserver allows. */
#define NEAP_PATCH_OPERATIONS_MAX 10000
#define NEAP_PATCH_COPY_MAX       (3 * 1024 * 1024)
/* Levels of an object, of a patch and of what comes out; 1 is a tree of one scalar. */
#define NEAP_PATCH_DEPTH_MAX 1000

enum neap_patch_type {
	NEAP_PATCH_JSON,      /* application/json-patch+json, RFC 6902 */
	NEAP_PATCH_MERGE,     /* application/merge-patch+json, RFC 7386 */
	NEAP_PATCH_STRATEGIC, /* application/strategic-merge-patch+json */
};

/* By media type, parameters aside. False for any other. */
bool neap_patch_type_parse(const char *media_type, enum neap_patch_type *ret);

/* Applies patch to object and gives a new tree; neither is changed, and the new one
 * shares nothing with them. schema: what the object is, for STRATEGIC, which needs the
 * merge keys of lists (NULL: nothing is known); unknown fields are merged as maps and
 * replaced as lists. What comes out of JSON and MERGE can be any JSON value, as their
 * standards have it: whoever wants an object has to look. STRATEGIC merges an object
 * whose field retains keys as any other, as a kube-apiserver does: the patch says by
 * $retainKeys what stays. No directive is ever in the result, wherever it stood in the
 * patch. Time and memory grow with both trees, not with their product. Errors:
 * -NEAP_EINVAL: the patch is malformed (a kube-apiserver's 400) with the place in field
 * where there is one ("[3]", "spec.containers[0]"); -NEAP_ECONFLICT: it does not fit the
 * object, or is no such operation (a failing "test", a path that is not there,
 * "[3].path": 422); -NEAP_ETOOLARGE: too many operations, too many levels, or a result or
 * a way to it that is far larger than both; -NEAP_ENOMEM. */
int neap_patch_apply(enum neap_patch_type type, const struct neap_schema *schema,
		     const json_t *object, const json_t *patch, json_t **ret,
		     struct neap_error *err);

#endif
