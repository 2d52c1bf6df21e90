/* SPDX-License-Identifier: Apache-2.0
 *
 * A row being built from a CustomResourceDefinition. Its parts validate what they read
 * and add causes; invalid parts are left out of the row, which is discarded at the
 * end. */
#ifndef NEAP_API_KUBE_CRD_CRD_PRIV_H
#define NEAP_API_KUBE_CRD_CRD_PRIV_H

#include "api/kube/crd/crd.h"

#define NEAP_CRD_PATH 160

struct neap_crd_piece;

struct neap_crd {
	struct neap_kube_kind kind; /* first: the row that callers see */
	struct neap_kube_life life;
	struct neap_schema *parsed; /* the kind's schema, freed with the row */
	/* of versions that validate differently; also parsed */
	struct neap_schema *others[NEAP_KUBE_CRD_VERSIONS];
	size_t other_count;
	struct neap_crd_piece *pieces; /* everything else freed with it */
	struct neap_causes *causes;    /* while it is being built */
	bool is_short;                 /* memory was missing */
};

/* Returns zeroed memory that lives as long as the row; NULL, with is_short set, without
 * memory. */
void *neap_crd_keep(struct neap_crd *crd, size_t count, size_t size);
/* Copies text. "" without memory. */
const char *neap_crd_keep_text(struct neap_crd *crd, const char *text);

/* Returns a member, or NULL when it is absent, null, or of another type, which adds a
 * cause. path: of the object, "" at the top. */
const json_t *neap_crd_object(struct neap_crd *crd, const json_t *in, const char *path,
			      const char *name);
const json_t *neap_crd_list(struct neap_crd *crd, const json_t *in, const char *path,
			    const char *name, size_t max);
const char *neap_crd_text(struct neap_crd *crd, const json_t *in, const char *path,
			  const char *name);
/* The same for a text; absent or empty adds a cause. detail: its text. */
const char *neap_crd_need(struct neap_crd *crd, const json_t *in, const char *path,
			  const char *name, const char *detail);

/* Requires a lower case DNS label that starts with a letter, up to 63 bytes; else adds a
 * cause at path. */
void neap_crd_check_label(struct neap_crd *crd, const char *path, const char *label);

/* metadata.name, spec.group, spec.names, spec.scope. */
void neap_crd_names(struct neap_crd *crd, const json_t *definition, const json_t *spec);
/* additionalPrinterColumns of a version; sets those of the row if is_row. */
void neap_crd_columns(struct neap_crd *crd, const json_t *version, const char *path,
		      bool is_row);
/* subresources of a version; sets those of the row if is_row. */
void neap_crd_subresources(struct neap_crd *crd, const json_t *version, const char *path,
			   bool is_row);
/* selectableFields of the storage version, whose schema is parsed. */
void neap_crd_fields(struct neap_crd *crd, const json_t *version, const char *path);
/* Parses the schema of the storage version, number index. Returns 0, also with causes;
 * else codes as in neap_kube_crd_parse. */
int neap_crd_schema(struct neap_crd *crd, const json_t *version, size_t index,
		    struct neap_error *err);
/* The same for another version, into *ret, which lives as long as the row; NULL when it
 * equals main, the storage version, or is wrong: it may differ only in descriptions and
 * validations. */
int neap_crd_check_schema(struct neap_crd *crd, const json_t *version, size_t index,
			  const json_t *main, const struct neap_schema **ret,
			  struct neap_error *err);

#endif
