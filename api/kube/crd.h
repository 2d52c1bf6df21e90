/* SPDX-License-Identifier: Apache-2.0
 *
 * Kinds that are declared: a CustomResourceDefinition (apiextensions.k8s.io/v1) made into a row as the
 * built-in kinds have one. The Koordinator kinds are such files, under doc/deploy/crds. */
#ifndef NEAP_API_KUBE_CRD_H
#define NEAP_API_KUBE_CRD_H

#include "api/kube/kind.h"

/* Of one CustomResourceDefinition. */
#define NEAP_KUBE_CRD_VERSIONS 32
#define NEAP_KUBE_CRD_COLUMNS  128
#define NEAP_KUBE_CRD_NAMES    64 /* short names; categories */
#define NEAP_KUBE_CRD_FIELDS   8  /* that field selectors may name */

/* One YAML file can hold several documents. */
#define NEAP_KUBE_YAML_MAX       (4 * 1024 * 1024)
#define NEAP_KUBE_YAML_DOCUMENTS 1000
#define NEAP_KUBE_YAML_DEPTH     160 /* lists and mappings inside each other */
/* In all documents, keys too, each alias counted as what it stands for: how many, and bytes of text. */
#define NEAP_KUBE_YAML_VALUES 500000
#define NEAP_KUBE_YAML_TEXT   (16 * 1024 * 1024)
/* Of the body of a request: reading it costs many times what JSON does, and others wait meanwhile. */
#define NEAP_KUBE_YAML_BODY_MAX (512 * 1024)

/* Checks a CustomResourceDefinition and makes its row. Absent singular and list kind are made of the kind.
 * The version that stores is served, and so are others whose schema and subresources are equal to its own, or
 * who have no schema: objects are not converted. All causes at once, with the fields as
 * "spec.versions[1].schema.openAPIV3Schema".
 * The row has one user, the caller: it ends with neap_kube_kind_unref, or at once with neap_kube_crd_free. It
 * keeps nothing of definition. NEAP_EINVAL (see causes; err has the first),
 * NEAP_ETOOLARGE, NEAP_ENOMEM. */
int neap_kube_crd_parse(const json_t *definition, struct neap_kube_kind **ret,
			struct neap_causes *causes, struct neap_error *err);
void neap_kube_crd_free(struct neap_kube_kind *kind);

/* YAML as kubectl reads it (YAML 1.1 scalars: yes, no, on, off are booleans, 0777 is octal; anchors,
 * aliases and "<<" within bounds; duplicate keys and tags refused) to JSON: an array with a value a document,
 * empty documents left out. Keys that are numbers or booleans become texts ("80", "true"). Errors name the line:
 * "FILE:12: ...". NEAP_EINVAL, NEAP_ETOOLARGE, NEAP_ENOMEM. */
int neap_kube_yaml_parse(const char *text, size_t len, const char *file, json_t **ret,
			 struct neap_error *err);
/* The same of the first document alone, with its own bound of values; *ret is null where there is none. Errors name
 * the line: "line:12: ...". */
int neap_kube_yaml_parse_one(const char *text, size_t len, size_t values_max,
			     json_t **ret, struct neap_error *err);
/* In which line of YAML (or JSON) the field of that path ("spec.rules[1].name") begins, or what of the path there is;
 * 0: nobody knows. For messages. */
size_t neap_kube_yaml_line(const char *text, size_t len, const char *path);

#endif
