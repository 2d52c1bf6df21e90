/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the patch types. Every tree walked here was measured before, so recursion is
 * bounded by NEAP_PATCH_DEPTH_MAX. const values are never modified; results are new trees
 * owned by the caller. */
#ifndef NEAP_API_KUBE_PATCH_PATCH_PRIV_H
#define NEAP_API_KUBE_PATCH_PATCH_PRIV_H

#include "api/kube/patch/patch.h"

/* The application of one patch. */
struct neap_patch_run {
	uint64_t work;          /* steps left; about one per visited value */
	struct neap_error *err; /* never NULL */
};

/* --- patch_value.c --- */

struct neap_patch_size {
	size_t nodes, bytes; /* about the length of its text, plus some per node */
	size_t height;       /* levels; 1 for a scalar */
};

/* Returns false when there are too many levels; the size is then invalid. */
bool neap_patch_measure(const json_t *value, struct neap_patch_size *ret);
/* Charges steps; -NEAP_ETOOLARGE when not enough are left. */
int neap_patch_spend(struct neap_patch_run *run, uint64_t steps);
int neap_patch_copy(struct neap_patch_run *run, const json_t *value, json_t **ret);
/* Numbers are equal by value: 1 and 1.0. The order of members does not matter. */
bool neap_patch_is_equal(const json_t *a, const json_t *b);
bool neap_patch_is_scalar(const json_t *value);
/* A total order of scalars; equal ones give 0. */
int neap_patch_scalar_compare(const json_t *a, const json_t *b);
/* Formats a value as Go prints it in messages: map[image:nginx name:c]. Cut to fit. */
void neap_patch_print(const json_t *value, char *to, size_t size);
/* "map[string]interface {}", "string", ... */
const char *neap_patch_type_name(const json_t *value);
/* Prefixes the field of an error in the patch with name. Returns rc. */
int neap_patch_at(struct neap_patch_run *run, int rc, const char *name);
int neap_patch_at_index(struct neap_patch_run *run, int rc, size_t index);

/* --- patch_json.c --- */

int neap_patch_json(struct neap_patch_run *run, const json_t *object, const json_t *patch,
		    json_t **ret);

/* --- patch_strategic.c --- */

enum neap_patch_directive {
	NEAP_DIRECTIVE_NONE,
	NEAP_DIRECTIVE_REPLACE,
	NEAP_DIRECTIVE_DELETE,
	NEAP_DIRECTIVE_MERGE,
};

int neap_patch_strategic(struct neap_patch_run *run, const struct neap_schema *schema,
			 const json_t *object, const json_t *patch, json_t **ret);
/* Reads $patch; unknown words are an error. */
int neap_patch_directive_get(struct neap_patch_run *run, const json_t *map,
			     enum neap_patch_directive *ret);
/* Merges two maps. schema NULL: unknown. */
int neap_patch_merge_map(struct neap_patch_run *run, const struct neap_schema *schema,
			 const json_t *object, const json_t *patch, json_t **ret);
/* Adopts a value of the patch that has nothing to merge with: removes directives and null
 * members. *ret is NULL when nothing remains. */
int neap_patch_adopt(struct neap_patch_run *run, const json_t *value, json_t **ret);

/* --- patch_list.c --- */

/* Merges a list of the object (NULL: none) with that of the patch (NULL: only an order),
 * in the patch's order (NULL: that of its items). At least one of the first two
 * exists. */
int neap_patch_merge_list(struct neap_patch_run *run,
			  const struct neap_schema_field *field, const json_t *old,
			  const json_t *change, const json_t *order, json_t **ret);
/* Removes the scalars in gone from *list, which the caller owns before and after. */
int neap_patch_list_subtract(struct neap_patch_run *run, json_t **list,
			     const json_t *gone);

/* --- patch.c --- */

/* Scalar lookup keys. */
struct neap_patch_keys {
	const json_t **keys; /* borrowed; NULL: not searched for */
	size_t *sorted;      /* indexes of the keys that are not NULL */
	size_t count, sorted_count;
};

#define NEAP_PATCH_NOWHERE SIZE_MAX

/* Allocates count keys, all NULL. -NEAP_ENOMEM without memory; done may follow either
 * way. */
int neap_patch_keys_init(struct neap_patch_run *run, struct neap_patch_keys *keys,
			 size_t count);
void neap_patch_keys_done(struct neap_patch_keys *keys);
/* Call it once all keys are set. */
void neap_patch_keys_sort(struct neap_patch_keys *keys);
/* Returns the index of the first equal key, or NEAP_PATCH_NOWHERE. */
size_t neap_patch_keys_find(const struct neap_patch_keys *keys, const json_t *key);
bool neap_patch_keys_has_text(const struct neap_patch_keys *keys, const char *text);

#endif
