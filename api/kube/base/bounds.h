/* SPDX-License-Identifier: Apache-2.0
 *
 * Limits on the content of one object besides its bytes, so that no write holds up the
 * loop: number of values, and items of each list and map. Bytes are a weak bound: a body
 * of 3 MiB can be 1,500,000 lists. */
#ifndef NEAP_API_KUBE_BASE_BOUNDS_H
#define NEAP_API_KUBE_BASE_BOUNDS_H

#include "api/kube/base/kind.h"

/* Values of a body and of an object: texts, numbers, lists, maps. */
#define NEAP_KUBE_VALUES_MAX 32000
/* The error for a body with more. */
#define NEAP_KUBE_VALUES_REFUSED                                                         \
	"the body has more than %d values, lists and maps counted"

/* Adds a cause for each list and map that is too long, in metadata, and in built-in kinds
 * everywhere; except where it was as long in before (NULL: a new object). Returns the
 * object's number of values. */
size_t neap_kube_check_bounds(const struct neap_kube_kind *kind, const json_t *object,
			      const json_t *before, struct neap_causes *causes);

#endif
