/* SPDX-License-Identifier: Apache-2.0
 *
 * How much one object may hold beside its bytes, so that no write keeps the loop: values in all, and items of each
 * list and map. Bytes say little: a body of 3 MiB can be 1,500,000 lists. */
#ifndef NEAP_API_KUBE_BASE_BOUNDS_H
#define NEAP_API_KUBE_BASE_BOUNDS_H

#include "api/kube/base/kind.h"

/* Values of a body, and of an object: texts, numbers, lists, maps. */
#define NEAP_KUBE_VALUES_MAX 32000
/* What a body with more of them hears. */
#define NEAP_KUBE_VALUES_REFUSED                                                         \
	"the body has more than %d values, lists and maps counted"

/* Adds a cause for each list and map that is too long, of metadata, and of built-in kinds all of them. Not of what
 * was there before (NULL: a new object). Returns how many values the object has. */
size_t neap_kube_check_bounds(const struct neap_kube_kind *kind, const json_t *object,
			      const json_t *before, struct neap_causes *causes);

#endif
