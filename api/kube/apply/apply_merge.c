/* SPDX-License-Identifier: Apache-2.0
 *
 * Merges an apply patch into an object, and removes what its manager applied before and
 * omits now. List items keep their order; new ones follow. */
#include <string.h>

#include "api/kube/apply/apply.h"

static int merge(const struct apply_place *place, json_t *object, json_t *config,
		 json_t **ret, struct neap_error *err);

static int merge_member(const struct apply_place *place, json_t *object, const char *name,
			json_t *config, struct neap_error *err)
{
	json_t *own = json_object_get(object, name), *merged = NULL;
	int rc = own ? merge(place, own, config, &merged, err) : 0;

	if (rc < 0)
		return rc;
	if (!own)
		merged = json_incref(config);
	return json_object_set_new_nocheck(object, name, merged) < 0
		       ? neap_error_nomem(err)
		       : 0;
}

static int merge_maps(const struct apply_place *place, json_t *object, json_t *config,
		      struct neap_error *err)
{
	const char *name;
	json_t *value;

	json_object_foreach (config, name, value) {
		struct apply_place inner = apply_place_member(place, name);
		int rc = merge_member(&inner, object, name, value, err);

		if (rc < 0)
			return rc;
	}
	return 0;
}

static json_t *list_of(const json_t *index)
{
	json_t *list = json_array(), *item;
	const char *name;

	json_object_foreach ((json_t *)(uintptr_t)index, name, item)
		if (json_array_append(list, item) < 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

/* 1: done; 0: the items of one list have no unique names. */
static int merge_lists(const struct apply_place *place, const json_t *object,
		       const json_t *config, json_t **ret, struct neap_error *err)
{
	struct apply_place inner = apply_place_item(place);
	json_auto_t *index = NULL, *more = NULL;
	const char *name;
	json_t *item;
	int rc = apply_index(place, object, &index, err);

	if (rc > 0)
		rc = apply_index(place, config, &more, err);
	if (rc <= 0)
		return rc;
	json_object_foreach (more, name, item) {
		rc = merge_member(&inner, index, name, item, err);
		if (rc < 0)
			return rc;
	}
	*ret = list_of(index);
	return *ret ? 1 : neap_error_nomem(err);
}

/* *ret is a new reference. */
static int merge(const struct apply_place *place, json_t *object, json_t *config,
		 json_t **ret, struct neap_error *err)
{
	bool is_map = apply_are_maps(place, object, object);
	int rc = 0;

	/* null for a map or list changes nothing. */
	if (json_is_null(config) && (is_map || apply_are_lists(place, object, object))) {
		*ret = json_incref(object);
		return 0;
	}
	if (apply_are_maps(place, object, config)) {
		rc = merge_maps(place, object, config, err);
		if (rc == 0)
			*ret = json_incref(object);
		return rc;
	}
	if (apply_are_lists(place, object, config))
		rc = merge_lists(place, object, config, ret, err);
	if (rc == 0)
		*ret = json_incref(config);
	return rc < 0 ? rc : 0;
}

int apply_merge(const struct neap_schema *schema, json_t *object, json_t *config,
		struct neap_error *err)
{
	struct apply_place root = apply_place_root(schema);

	return merge_maps(&root, object, config, err);
}

/* --- taking out --- */

/* Fields that the schema names exist if they have content, even when the set omits
 * them. */
static bool has(const struct apply_place *place, const char *name, const json_t *node)
{
	return node && (apply_set_has(node) || (place->is_field && name[0] == 'f'));
}

static int prune(const struct apply_place *place, json_t *value, const json_t *last,
		 const json_t *kept, struct neap_error *err);

/* Removes members that last has and kept has not. The member's name is the name in the
 * set after skip bytes: 2 ("f:") in a map, 0 in an indexed list. */
static int prune_all(const struct apply_place *place, json_t *members, size_t skip,
		     const json_t *last, const json_t *kept, struct neap_error *err)
{
	struct apply_place inner = apply_place_item(place);
	const char *name;
	json_t *node;

	json_object_foreach ((json_t *)(uintptr_t)last, name, node) {
		const json_t *other = json_object_get(kept, name);
		json_t *own;
		size_t size;
		int rc;

		if (strlen(name) < skip || (name[0] == 'f') != (skip > 0))
			continue;
		own = json_object_get(members, name + skip);
		if (!own)
			continue;
		if (skip)
			inner = apply_place_member(place, name + skip);
		if (has(&inner, name, node) && !has(&inner, name, other)) {
			(void)json_object_del(members, name + skip);
			continue;
		}
		size = json_object_size(own) + json_array_size(own);
		rc = prune(&inner, own, node, other, err);
		if (rc < 0)
			return rc;
		if (skip && size > 0 && json_object_size(own) + json_array_size(own) == 0)
			(void)json_object_del(members, name + skip);
	}
	return 0;
}

static int prune_list(const struct apply_place *place, json_t *list, const json_t *last,
		      const json_t *kept, struct neap_error *err)
{
	json_auto_t *index = NULL, *left = NULL;
	size_t count = json_array_size(list);
	int rc = apply_index(place, list, &index, err);

	if (rc > 0)
		rc = prune_all(place, index, 0, last, kept, err);
	if (rc < 0 || !index || json_object_size(index) == count)
		return rc < 0 ? rc : 0;
	left = list_of(index);
	if (!left || json_array_clear(list) < 0 || json_array_extend(list, left) < 0)
		return neap_error_nomem(err);
	return 0;
}

static int prune(const struct apply_place *place, json_t *value, const json_t *last,
		 const json_t *kept, struct neap_error *err)
{
	if (apply_are_maps(place, value, value))
		return prune_all(place, value, 2, last, kept, err);
	if (apply_are_lists(place, value, value))
		return prune_list(place, value, last, kept, err);
	return 0;
}

int apply_prune(const struct neap_schema *schema, json_t *object, const json_t *last,
		const json_t *kept, struct neap_error *err)
{
	struct apply_place root = apply_place_root(schema);

	return prune(&root, object, last, kept, err);
}
