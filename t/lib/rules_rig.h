/* SPDX-License-Identifier: Apache-2.0
 *
 * For the tests of rules: a manifest of each kind, changes to it in one line, and what is
 * told about it. */
#ifndef NEAP_T_LIB_RULES_RIG_H
#define NEAP_T_LIB_RULES_RIG_H

#include "api/kube/base/kind.h"

/* A row: the manifest of KIND with changes; was: with which it was there before, NULL: it
 * was not.
 *
 * Changes are "path=JSON" with ' for ", "path-" takes out what is there; "; " between
 * them. Paths have "/" between their steps ("~1" within one), numbers are places in
 * lists, one past the end appends; "@" in front of a path: spec/containers/0/ (of
 * templates: spec/template/spec/containers/0/). */
struct rules_row {
	const char *kind, *now, *was;
	/* "field: message", a line each, "" when all is well; "*" at the end: any rest */
	const char *want;
};

/* The row of a kind by its name. */
const struct neap_kube_kind *rules_kind(const char *name);
/* The manifest with changes, with all defaults; the caller's. */
json_t *rules_object(const char *name, const char *changes);
/* What is told of an object: by its schema and by its rules. */
void rules_check(const struct neap_kube_kind *kind, const json_t *object,
		 const json_t *before, struct neap_causes *causes);
/* "field: message", a line each; the caller's. */
char *rules_text(const struct neap_causes *causes);
/* Checks rows; and that each is survived when memory is short. */
void rules_rows(const struct rules_row *rows, size_t count);
void rules_rows_short(const struct rules_row *rows, size_t count);
/* Names of the kinds there are manifests of; NULL ends. */
extern const char *const rules_kinds[];

#endif
