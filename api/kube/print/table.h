/* SPDX-License-Identifier: Apache-2.0
 *
 * What "kubectl get" shows: objects as rows of a Table. Cells of built-in kinds are computed, those of
 * kinds that are declared come from their JSONPaths. */
#ifndef NEAP_API_KUBE_PRINT_TABLE_H
#define NEAP_API_KUBE_PRINT_TABLE_H

#include "api/kube/base/kind.h"

/* The columnDefinitions; a new reference, NULL without memory. */
json_t *neap_kube_columns(const struct neap_kube_kind *kind);
/* The cells of one row, one for each column; a new reference, NULL without memory. now: Unix
 * microseconds. A cell whose path leads nowhere, or to something that is not of the column's type, is
 * null; but anything can be shown as a string, and a text that is no time makes a date "<invalid>". Of
 * several values a column that is no string takes the first. Cells may be shared with the object. */
json_t *neap_kube_cells(const struct neap_kube_kind *kind, const json_t *object,
			int64_t now);

/* What a JSONPath as columns have it leads to: ".status.phase", ".spec['a.b/c'].d", ".metadata.labels.a\.b",
 * ".status.conditions[?(@.type=='Ready')].status", ".spec.ports[*].port", "[0]", "[-1]", "[1:3]", "..name";
 * braces around it are taken. Of several values a string with commas between them, at most 64 KiB. A new
 * reference, to a part of object if there is but one; NULL: nothing there (or null), no such path, far too
 * much to look at, or no memory. */
json_t *neap_kube_path_get(const json_t *object, const char *path);
/* 0, or why it is no such path: NEAP_EINVAL. */
int neap_kube_path_check(const char *path, struct neap_error *err);

/* "5s", "2m5s", "18m", "3h12m", "2d3h", "400d", "2y10d": as kubectl users know it (duration.HumanDuration of
 * apimachinery). "<invalid>" for what lies two seconds or more in the future. buf of 24 bytes; returned. */
char *neap_kube_age(int64_t from_usec, int64_t now_usec, char *buf, size_t size);

#endif
