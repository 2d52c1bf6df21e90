/* SPDX-License-Identifier: Apache-2.0
 *
 * The metadata of objects: what the server sets, what clients may set, and the rules for it. Pure
 * functions over trees, but for random numbers. */
#ifndef NEAP_API_KUBE_BASE_META_H
#define NEAP_API_KUBE_BASE_META_H

#include "api/kube/base/kind.h"

/* Of all annotations of an object, keys and values. */
#define NEAP_KUBE_ANNOTATIONS_MAX (256 * 1024)

/* A random one, in text. */
#define NEAP_KUBE_UUID_SIZE 37
void neap_kube_uuid(char to[NEAP_KUBE_UUID_SIZE]);

/* Lists and maps of metadata that are empty are none. */
void neap_kube_meta_tidy(json_t *object);
/* A new object: takes out what clients cannot set, makes a name out of generateName, sets uid,
 * creationTimestamp and generation. ns: that of the path. False without memory. */
bool neap_kube_meta_begin(const struct neap_kube_kind *kind, json_t *object,
			  const char *ns, int64_t now);
/* An update: what the server set stays as it was before; generation grows when anything but metadata and
 * status differs, for kinds that count it. */
bool neap_kube_meta_keep(const struct neap_kube_kind *kind, json_t *object,
			 const json_t *before);
/* Whether anything but metadata, and a status that is a part of its own, is not as
 * before. */
bool neap_kube_meta_wants_other(const struct neap_kube_kind *kind, const json_t *object,
				const json_t *before);
/* Marks it as being deleted. grace_s: of pods; 0 else. */
bool neap_kube_meta_delete(json_t *object, int64_t now, int64_t grace_s);

/* Name (RFC 1123 subdomain, or as the kind has it), namespace, labels, annotations, finalizers,
 * owner references. before: NULL for a new one; name, namespace and uid must be the same. */
void neap_kube_meta_check(const struct neap_kube_kind *kind, const json_t *object,
			  const json_t *before, struct neap_causes *causes);

/* Rules for names, with the words of Kubernetes; NULL: fine. */
const char *neap_kube_dns_label_fault(const char *name); /* RFC 1123 label, 63 bytes */
const char *neap_kube_dns_subdomain_fault(const char *name); /* 253 bytes */

/* The members of metadata, "" when missing. */
const char *neap_kube_meta_text(const json_t *object, const char *member);
bool neap_kube_meta_has_finalizers(const json_t *object);
bool neap_kube_meta_is_deleting(const json_t *object);
/* It is being deleted, and nothing is left to wait for. */
bool neap_kube_meta_may_end(const json_t *object);

#endif
