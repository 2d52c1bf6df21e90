/* SPDX-License-Identifier: Apache-2.0
 *
 * What "kubectl get" shows: objects as rows of a Table. Cells of built-in kinds are computed, those of
 * kinds that are declared come from their JSONPaths. */
#ifndef NEAP_API_KUBE_TABLE_H
#define NEAP_API_KUBE_TABLE_H

#include "api/kube/kind.h"

/* The columnDefinitions; a new reference, NULL without memory. */
json_t *neap_kube_columns(const struct neap_kube_kind *kind);
/* The cells of one row; a new reference, NULL without memory. now: Unix microseconds. A cell whose path leads
 * nowhere, or to something that is not of the column's type, is null. */
json_t *neap_kube_cells(const struct neap_kube_kind *kind, const json_t *object,
			int64_t now);

/* What a JSONPath as columns have it leads to: ".status.phase", ".spec['a.b/c'].d",
 * ".status.conditions[?(@.type=='Ready')].status", ".spec.ports[*].port"; braces around it are taken. Of
 * several values a string with commas between them. A new reference; NULL: nothing there, or no memory. */
json_t *neap_kube_path_get(const json_t *object, const char *path);
/* 0, or why it is no such path. */
int neap_kube_path_check(const char *path, struct neap_error *err);

/* "5s", "2m5s", "18m", "3h12m", "2d3h", "400d", "2y10d": as kubectl users know it (duration.HumanDuration of
 * apimachinery). "<invalid>" for what lies over two seconds in the future. buf of 24 bytes. */
char *neap_kube_age(int64_t from_usec, int64_t now_usec, char *buf, size_t size);

#endif
