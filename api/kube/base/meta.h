/* SPDX-License-Identifier: Apache-2.0
 *
 * The metadata of objects: what the server sets, what clients may set, and the rules.
 * Pure functions over trees, except for random numbers. */
#ifndef NEAP_API_KUBE_BASE_META_H
#define NEAP_API_KUBE_BASE_META_H

#include "api/kube/base/kind.h"

/* Limit on all annotations of an object, keys and values. */
#define NEAP_KUBE_ANNOTATIONS_MAX (256 * 1024)

/* A random UUID as text. */
#define NEAP_KUBE_UUID_SIZE 37
void neap_kube_uuid(char to[NEAP_KUBE_UUID_SIZE]);

/* Removes empty lists and maps from metadata. */
void neap_kube_meta_tidy(json_t *object);
/* For a new object: removes what clients cannot set, expands generateName, and sets uid,
 * creationTimestamp and generation. ns: of the path. False without memory. */
bool neap_kube_meta_begin(const struct neap_kube_kind *kind, json_t *object,
			  const char *ns, int64_t now);
/* For an update: keeps what the server set; raises generation when anything except
 * metadata and status differs, for kinds that count it. */
bool neap_kube_meta_keep(const struct neap_kube_kind *kind, json_t *object,
			 const json_t *before);
/* Returns whether anything differs except metadata, and a status that is a
 * subresource. */
bool neap_kube_meta_wants_other(const struct neap_kube_kind *kind, const json_t *object,
				const json_t *before);
/* Marks it as being deleted. grace_s: for pods; otherwise 0. */
bool neap_kube_meta_delete(json_t *object, int64_t now, int64_t grace_s);

/* Validates name (RFC 1123 subdomain, or the kind's own rule), namespace, labels,
 * annotations, finalizers, owner references. before: NULL for a new object; name,
 * namespace and uid must not change. */
void neap_kube_meta_check(const struct neap_kube_kind *kind, const json_t *object,
			  const json_t *before, struct neap_causes *causes);

/* Rules for names; returns the error in the words of Kubernetes, NULL when valid. */
const char *neap_kube_dns_label_fault(const char *name); /* RFC 1123 label, 63 bytes */
const char *neap_kube_dns_subdomain_fault(const char *name); /* 253 bytes */

/* Returns a member of metadata, "" when missing. */
const char *neap_kube_meta_text(const json_t *object, const char *member);
bool neap_kube_meta_has_finalizers(const json_t *object);
bool neap_kube_meta_is_deleting(const json_t *object);
/* Returns whether it is being deleted with nothing left to wait for. */
bool neap_kube_meta_may_end(const json_t *object);

/* Adds a finalizer, if it is not there. False without memory. */
bool neap_kube_meta_add_finalizer(json_t *object, const char *finalizer);
/* Sets a condition in the status. Its time changes only when its status ("True") does.
 * False without memory. */
bool neap_kube_condition_set(json_t *object, const char *type, const char *status,
			     const char *reason, const char *message, int64_t now);

#endif
