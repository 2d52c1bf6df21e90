/* SPDX-License-Identifier: Apache-2.0
 *
 * For the tests of kinds that are declared. */
#ifndef NEAP_T_LIB_CRD_RIG_H
#define NEAP_T_LIB_CRD_RIG_H

#include "api/kube/crd/crd.h"
#include "engine/base/buf.h"

/* What "Name" and "Age" alone are in crd_add_row. */
#define NAME_AGE                                                                         \
	" | Name string/name .metadata.name | Age date .metadata.creationTimestamp"

/* The definition of a kind with little in it. */
extern const char crd_base[];

#define CRD_CHANGES 3

struct crd_change {
	const char *from, *to;
};

/* Adds the base to text, with each change made at the first place where it fits. */
void crd_build(const char *name, const struct crd_change *changes, struct neap_buf *text);

extern struct neap_causes crd_causes; /* of the call before */

/* A text with one document; fails the test when it is none. The caller's. */
json_t *crd_yaml(const char *text, const char *name);
/* neap_kube_crd_parse, with crd_causes. */
int crd_parse(const json_t *definition, struct neap_kube_kind **ret,
	      struct neap_error *err);
/* "field: message" of each, with " | " between them; of the last call. */
const char *crd_causes_text(void);
/* A row in one line. */
void crd_add_row(struct neap_buf *buf, const struct neap_kube_kind *kind);

#endif
