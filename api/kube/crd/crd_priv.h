/* SPDX-License-Identifier: Apache-2.0
 *
 * A row that is being made of a CustomResourceDefinition. Its parts check what they read and add causes; what
 * is wrong is left out of the row, which is thrown away in the end. */
#ifndef NEAP_API_KUBE_CRD_CRD_PRIV_H
#define NEAP_API_KUBE_CRD_CRD_PRIV_H

#include "api/kube/crd/crd.h"

#define NEAP_CRD_PATH 160

struct neap_crd_piece;

struct neap_crd {
	struct neap_kube_kind kind; /* first: the row that callers have */
	struct neap_kube_life life;
	struct neap_schema *parsed; /* the schema of the kind, to be freed */
	struct neap_schema *others
		[NEAP_KUBE_CRD_VERSIONS]; /* of versions that check otherwise; as parsed */
	size_t other_count;
	struct neap_crd_piece *pieces; /* all else that is freed with it */
	struct neap_causes *causes;    /* while it is being made */
	bool is_short;                 /* memory was missing */
};

/* Zeroed memory that lives as long as the row; NULL, and is_short, without memory. */
void *neap_crd_keep(struct neap_crd *crd, size_t count, size_t size);
/* A copy of text. "" without memory. */
const char *neap_crd_keep_text(struct neap_crd *crd, const char *text);

/* A member, or NULL when it is absent, or null, or of another type, which is a cause. path is that of the
 * object, "" at the top. */
const json_t *neap_crd_object(struct neap_crd *crd, const json_t *in, const char *path,
			      const char *name);
const json_t *neap_crd_list(struct neap_crd *crd, const json_t *in, const char *path,
			    const char *name, size_t max);
const char *neap_crd_text(struct neap_crd *crd, const json_t *in, const char *path,
			  const char *name);
/* False when absent. */
bool neap_crd_bool(struct neap_crd *crd, const json_t *in, const char *path,
		   const char *name);
/* As text, and a cause when absent or empty. detail: what is said of that. */
const char *neap_crd_need(struct neap_crd *crd, const json_t *in, const char *path,
			  const char *name, const char *detail);

/* A lower case DNS label that begins with a letter, up to 63 bytes; else a cause at path. */
void neap_crd_check_label(struct neap_crd *crd, const char *path, const char *label);

/* metadata.name, spec.group, spec.names, spec.scope. */
void neap_crd_names(struct neap_crd *crd, const json_t *definition, const json_t *spec);
/* additionalPrinterColumns of a version; the row gets them if is_row. */
void neap_crd_columns(struct neap_crd *crd, const json_t *version, const char *path,
		      bool is_row);
/* subresources of a version; the row gets them if is_row. */
void neap_crd_subresources(struct neap_crd *crd, const json_t *version, const char *path,
			   bool is_row);
/* selectableFields of the version that stores, whose schema is parsed. */
void neap_crd_fields(struct neap_crd *crd, const json_t *version, const char *path);
/* The schema of the version that stores, which is that of index. 0 with causes; else codes as those of
 * neap_kube_crd_parse. */
int neap_crd_schema(struct neap_crd *crd, const json_t *version, size_t index,
		    struct neap_error *err);
/* That of another version, *ret, which lives as long as the row; NULL where it is the same as that of main, the one that
 * stores, or wrong: it may differ only in what describes and what validates. */
int neap_crd_check_schema(struct neap_crd *crd, const json_t *version, size_t index,
			  const json_t *main, const struct neap_schema **ret,
			  struct neap_error *err);

#endif
