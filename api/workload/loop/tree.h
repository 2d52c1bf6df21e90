/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads and builds the trees of objects for controllers: members at a path, conditions,
 * owners. */
#ifndef NEAP_API_WORKLOAD_LOOP_TREE_H
#define NEAP_API_WORKLOAD_LOOP_TREE_H

#include <jansson.h>

#include "engine/base/error.h"

/* Returns the member at "spec.template.metadata"; NULL when there is none. Keys with dots
 * cannot be reached. */
json_t *neap_tree_at(const json_t *tree, const char *path);
/* Returns its text, "" when it is not a text. */
const char *neap_tree_text(const json_t *tree, const char *path);
/* Returns its number, fallback when it is not one. */
int64_t neap_tree_int(const json_t *tree, const char *path, int64_t fallback);
/* Returns a member, whose name may have dots, of the map at path: "" when it is not a
 * text. */
const char *neap_tree_entry(const json_t *tree, const char *path, const char *key);

/* Returns a member as Unix microseconds; NEAP_MISSING. */
int64_t neap_tree_time(const json_t *tree, const char *path);
/* Returns such a text, to the second; NULL without memory. */
json_t *neap_tree_time_new(int64_t unix_usec);

/* Returns a number, or the value of a percentage of whole; 0 when it is neither. */
int64_t neap_tree_part(const json_t *value, int64_t whole, bool rounds_up);

/* Returns the item of that type in status.conditions; NULL when there is none. */
json_t *neap_tree_condition(const json_t *tree, const char *type);

/* Returns the owner reference marked "controller"; NULL when there is none. */
const json_t *neap_tree_controller(const json_t *tree);
/* Returns a controller reference to tree; NULL without memory. */
json_t *neap_tree_owner_new(const json_t *tree, const char *api_version,
			    const char *kind);
/* Returns a merge patch that makes tree the controller of child, or releases it. Both
 * apply only to the child's present state: they include uid and resourceVersion. NULL
 * without memory. */
json_t *neap_tree_adopt_new(const json_t *child, const json_t *tree,
			    const char *api_version, const char *kind);
json_t *neap_tree_release_new(const json_t *child, const char *uid);

/* Whether all members of a merge patch are so already. */
bool neap_tree_is_so(const json_t *is, const json_t *patch);

#endif
