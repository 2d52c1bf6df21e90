/* SPDX-License-Identifier: Apache-2.0
 *
 * What the kinds of patches share. Every tree that is walked here was measured before, so
 * that recursion is bounded by NEAP_PATCH_DEPTH_MAX. Values named const are never
 * changed; results are new trees that the caller owns. */
#ifndef NEAP_API_KUBE_PATCH_PATCH_PRIV_H
#define NEAP_API_KUBE_PATCH_PATCH_PRIV_H

#include "api/kube/patch/patch.h"

/* One patch that is applied. */
struct neap_patch_run {
	uint64_t work; /* steps that are left; about one for each value that is touched */
	struct neap_error *err; /* never NULL */
};

/* --- patch_value.c --- */

struct neap_patch_size {
	size_t nodes,
		bytes; /* bytes: about as many as its text has, and some for each node */
	size_t height; /* levels; 1 of a scalar */
};

/* False when it has more levels than there may be; the size is then of no use. */
bool neap_patch_measure(const json_t *value, struct neap_patch_size *ret);
/* Takes steps off; -NEAP_ETOOLARGE when there are not that many. */
int neap_patch_spend(struct neap_patch_run *run, uint64_t steps);
int neap_patch_copy(struct neap_patch_run *run, const json_t *value, json_t **ret);
/* Numbers are equal by value: 1 and 1.0. Members may stand in any order. */
bool neap_patch_is_equal(const json_t *a, const json_t *b);
bool neap_patch_is_scalar(const json_t *value);
/* An order of all scalars, by which equal ones are 0. */
int neap_patch_scalar_compare(const json_t *a, const json_t *b);
/* As Go prints it in messages: map[image:nginx name:c]. What does not fit is cut. */
void neap_patch_print(const json_t *value, char *to, size_t size);
/* "map[string]interface {}", "string", ... */
const char *neap_patch_type_name(const json_t *value);
/* Puts the name before the field of an error that has a place in the patch. Returns
 * rc. */
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
/* What $patch says; any other word is an error. */
int neap_patch_directive_get(struct neap_patch_run *run, const json_t *map,
			     enum neap_patch_directive *ret);
/* Two maps. schema NULL: nothing is known. */
int neap_patch_merge_map(struct neap_patch_run *run, const struct neap_schema *schema,
			 const json_t *object, const json_t *patch, json_t **ret);
/* A value of the patch where the object has nothing to merge it with: without directives
 * and without members that are null. *ret is NULL when nothing of it stays. */
int neap_patch_adopt(struct neap_patch_run *run, const json_t *value, json_t **ret);

/* --- patch_list.c --- */

/* A list of the object (NULL: none) with what the patch has for it (NULL: nothing but an
 * order), in the order that the patch wants (NULL: in that of its items). At least one of
 * the first two is there. */
int neap_patch_merge_list(struct neap_patch_run *run,
			  const struct neap_schema_field *field, const json_t *old,
			  const json_t *change, const json_t *order, json_t **ret);
/* *list without the scalars in gone; *list is the caller's before and after. */
int neap_patch_list_subtract(struct neap_patch_run *run, json_t **list,
			     const json_t *gone);

/* --- patch_keys.c --- */

/* Scalars by which something is found. */
struct neap_patch_keys {
	const json_t **keys; /* borrowed; NULL: this one is not looked for */
	size_t *sorted;      /* indexes of those that are not NULL */
	size_t count, sorted_count;
};

#define NEAP_PATCH_NOWHERE SIZE_MAX

/* Room for count keys, all NULL. Without memory -NEAP_ENOMEM; done may follow either
 * way. */
int neap_patch_keys_init(struct neap_patch_run *run, struct neap_patch_keys *keys,
			 size_t count);
void neap_patch_keys_done(struct neap_patch_keys *keys);
/* Once all keys are set. */
void neap_patch_keys_sort(struct neap_patch_keys *keys);
/* Index of the first that is equal, or NEAP_PATCH_NOWHERE. */
size_t neap_patch_keys_find(const struct neap_patch_keys *keys, const json_t *key);
bool neap_patch_keys_has_text(const struct neap_patch_keys *keys, const char *text);

#endif
