/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading and making the trees of objects that controllers work on: members at a path, conditions, owners. */
#ifndef NEAP_API_WORKLOAD_LOOP_TREE_H
#define NEAP_API_WORKLOAD_LOOP_TREE_H

#include <jansson.h>

#include "engine/base/error.h"

/* The member at "spec.template.metadata"; NULL when there is none. Keys with dots are not reached. */
json_t *neap_tree_at(const json_t *tree, const char *path);
/* Its text, "" when it is none. */
const char *neap_tree_text(const json_t *tree, const char *path);
/* Its number, fallback when it is none. */
int64_t neap_tree_int(const json_t *tree, const char *path, int64_t fallback);
/* A member whose name may have dots, of the map at path: "" when it is no text. */
const char *neap_tree_entry(const json_t *tree, const char *path, const char *key);

/* Unix microseconds of a member; NEAP_MISSING. */
int64_t neap_tree_time(const json_t *tree, const char *path);
/* Such a text, to the second; NULL without memory. */
json_t *neap_tree_time_new(int64_t unix_usec);

/* The item of that type in the list status.conditions; NULL when there is none. */
json_t *neap_tree_condition(const json_t *tree, const char *type);
/* Whether it is there and "True". */
bool neap_tree_is_true(const json_t *tree, const char *type);

/* The owner reference that says "controller"; NULL when there is none. */
const json_t *neap_tree_controller(const json_t *tree);
/* A reference to tree as the controller of something; NULL without memory. */
json_t *neap_tree_owner_new(const json_t *tree, const char *api_version,
			    const char *kind);
/* A merge patch that makes tree the controller of child; lets go of it again. Both hold only for the child as it
 * is: uid and resourceVersion are in it. NULL without memory. */
json_t *neap_tree_adopt_new(const json_t *child, const json_t *tree,
			    const char *api_version, const char *kind);
json_t *neap_tree_release_new(const json_t *child, const char *uid);

#endif
