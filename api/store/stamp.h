/* SPDX-License-Identifier: Apache-2.0
 *
 * The version that an object's text tells of itself. */
#ifndef NEAP_API_STORE_STAMP_H
#define NEAP_API_STORE_STAMP_H

#include "engine/object/object.h"

/* Both differ in nothing but their version. */
bool neap_stamp_is_same(const struct neap_object *a, const struct neap_object *b);
/* The same object at another version. */
int neap_stamp_at(const struct neap_object *object, int64_t version,
		  struct neap_object **ret, struct neap_error *err);

#endif
