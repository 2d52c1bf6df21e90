/* SPDX-License-Identifier: Apache-2.0
 *
 * The version inside an object's text. */
#ifndef NEAP_API_STORE_SQLITE_STAMP_H
#define NEAP_API_STORE_SQLITE_STAMP_H

#include "engine/object/object.h"

/* Returns whether both differ in nothing but their version. */
bool neap_stamp_is_same(const struct neap_object *a, const struct neap_object *b);
/* Returns the same object with another version. */
int neap_stamp_at(const struct neap_object *object, int64_t version,
		  struct neap_object **ret, struct neap_error *err);

#endif
