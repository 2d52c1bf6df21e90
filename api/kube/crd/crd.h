/* SPDX-License-Identifier: Apache-2.0
 *
 * Kinds that are declared: a CustomResourceDefinition (apiextensions.k8s.io/v1) made into a row as the
 * built-in kinds have one. The Koordinator kinds are such files, under doc/deploy/crds. */
#ifndef NEAP_API_KUBE_CRD_CRD_H
#define NEAP_API_KUBE_CRD_CRD_H

#include "api/kube/base/kind.h"

/* Limits of one CustomResourceDefinition. */
#define NEAP_KUBE_CRD_VERSIONS 32
#define NEAP_KUBE_CRD_COLUMNS  128
#define NEAP_KUBE_CRD_NAMES    64 /* short names; categories */
#define NEAP_KUBE_CRD_FIELDS   8  /* that field selectors may name */

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

#endif
