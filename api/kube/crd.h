/* SPDX-License-Identifier: Apache-2.0
 *
 * Kinds that are declared: a CustomResourceDefinition (apiextensions.k8s.io/v1) made into a row as the
 * built-in kinds have one. The Koordinator kinds are such files, under doc/deploy/crds. */
#ifndef NEAP_API_KUBE_CRD_H
#define NEAP_API_KUBE_CRD_H

#include "api/kube/kind.h"

/* One YAML file can hold several documents. */
#define NEAP_KUBE_YAML_MAX       (4 * 1024 * 1024)
#define NEAP_KUBE_YAML_DOCUMENTS 1000

/* Checks a CustomResourceDefinition (defaults filled in: plural names, list kind, scope) and makes its row.
 * The version that is served is the one that stores; others that are served must have an equal schema or
 * none of their own, as objects are not converted: "spec.versions[1]..." else. All causes at once.
 * The row is one that the caller frees; it keeps nothing of crd. NEAP_EINVAL (see causes), NEAP_ENOMEM. */
int neap_kube_crd_parse(const json_t *crd, struct neap_kube_kind **ret,
			struct neap_causes *causes, struct neap_error *err);
void neap_kube_crd_free(struct neap_kube_kind *kind);

/* YAML as kubectl reads it (YAML 1.1 scalars: yes, no, on, off are booleans, 0777 is octal; anchors
 * and aliases within bounds; duplicate keys and tags refused) to JSON: an array with a value a document, empty
 * documents left out. Errors name the line: "FILE:12: ...". */
int neap_kube_yaml_parse(const char *text, size_t len, const char *file, json_t **ret,
			 struct neap_error *err);

#endif
