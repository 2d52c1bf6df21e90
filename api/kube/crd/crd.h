/* SPDX-License-Identifier: Apache-2.0
 *
 * Declared kinds: turns a CustomResourceDefinition (apiextensions.k8s.io/v1) into a row
 * like those of the built-in kinds. The Koordinator kinds are such files, in
 * doc/deploy/crds. */
#ifndef NEAP_API_KUBE_CRD_CRD_H
#define NEAP_API_KUBE_CRD_CRD_H

#include "api/kube/base/kind.h"

/* Limits of one CustomResourceDefinition. */
#define NEAP_KUBE_CRD_VERSIONS 32
#define NEAP_KUBE_CRD_COLUMNS  128
#define NEAP_KUBE_CRD_NAMES    64 /* short names; categories */
#define NEAP_KUBE_CRD_FIELDS   8  /* available to field selectors */

/* Validates a CustomResourceDefinition and builds its row. Missing singular and list kind
 * are derived from the kind. The storage version is served, and so are others whose
 * schema and subresources are equal, or that have no schema: objects are not converted.
 * All causes are reported, with fields such as "spec.versions[1].schema.openAPIV3Schema".
 * The row has one user, the caller: it ends with neap_kube_kind_unref, or at once with
 * neap_kube_crd_free. It keeps no reference to definition. NEAP_EINVAL (see causes; err
 * has the first), NEAP_ETOOLARGE, NEAP_ENOMEM. */
int neap_kube_crd_parse(const json_t *definition, struct neap_kube_kind **ret,
			struct neap_causes *causes, struct neap_error *err);
void neap_kube_crd_free(struct neap_kube_kind *kind);

#endif
