/* SPDX-License-Identifier: Apache-2.0
 *
 * What "kubectl get" shows: objects as rows of a Table. Cells of built-in kinds are
 * computed; those of declared kinds come from their JSONPaths. */
#ifndef NEAP_API_KUBE_PRINT_TABLE_H
#define NEAP_API_KUBE_PRINT_TABLE_H

#include "api/kube/base/kind.h"

/* Returns the columnDefinitions; a new reference, NULL without memory. */
json_t *neap_kube_columns(const struct neap_kube_kind *kind);
/* Returns the cells of one row, one per column; a new reference, NULL without memory.
 * now: Unix microseconds. A cell is null when its path finds nothing, or a value of
 * another type than the column's; but a string column shows any value, and a date column
 * shows "<invalid>" for a text that is not a time. Of several values, columns other than
 * string take the first. Cells may be shared with the object. */
json_t *neap_kube_cells(const struct neap_kube_kind *kind, const json_t *object,
			int64_t now);

/* Evaluates a JSONPath of a column: ".status.phase", ".spec['a.b/c'].d",
 * ".metadata.labels.a\.b", ".status.conditions[?(@.type=='Ready')].status",
 * ".spec.ports[*].port", "[0]", "[-1]", "[1:3]", "..name"; surrounding braces are
 * allowed. Several values become a string separated by commas, at most 64 KiB. Returns a
 * new reference, to a part of object for a single value; NULL: nothing (or null), an
 * invalid path, too many values, or no memory. */
json_t *neap_kube_path_get(const json_t *object, const char *path);
/* Returns 0, or NEAP_EINVAL with what is wrong with the path. */
int neap_kube_path_check(const char *path, struct neap_error *err);

/* Writes "5s", "2m5s", "18m", "3h12m", "2d3h", "400d", "2y10d", as kubectl does
 * (duration.HumanDuration of apimachinery); "<invalid>" for times two seconds or more in
 * the future. buf needs 24 bytes; it is returned. */
char *neap_kube_age(int64_t from_usec, int64_t now_usec, char *buf, size_t size);

#endif
