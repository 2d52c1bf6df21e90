/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns objects into sets of fields. Both walks cost the objects' values plus the names
 * of items. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/apply/apply.h"
#include "engine/json/json.h"

struct walk {
	enum apply_set_how how;
	struct neap_error *err;
};

static int set_new(struct walk *walk, json_t *node, const char *name, json_t *child)
{
	return json_object_set_new_nocheck(node, name, child) < 0
		       ? neap_error_nomem(walk->err)
		       : 0;
}

/* Puts child under the name of a member. Takes child, which may be NULL. */
static int set_member_take(struct walk *walk, json_t *node, const char *name,
			   json_t *child)
{
	neap_auto_free char *text = child ? neap_asprintf("f:%s", name) : NULL;

	if (!child)
		return 0;
	if (text)
		return set_new(walk, node, text, child);
	json_decref(child);
	return neap_error_nomem(walk->err);
}

/* Adds the place in the object to err, which may have the place below already. */
static int at(struct walk *walk, int rc, const char *name)
{
	if (rc == -NEAP_EINVAL)
		(void)neap_error_infield(walk->err, "%.80s", name);
	return rc;
}

/* --- all of one object --- */

static int node_of(struct walk *walk, const struct apply_place *place,
		   const json_t *value, unsigned depth, json_t **ret);

static int members_of(struct walk *walk, const struct apply_place *place,
		      const json_t *value, unsigned depth, json_t *node)
{
	const char *name;
	json_t *member;

	json_object_foreach ((json_t *)(uintptr_t)value, name, member) {
		struct apply_place inner = apply_place_member(place, name);
		json_t *child = NULL;
		int rc = node_of(walk, &inner, member, depth + 1, &child);

		if (rc == 0)
			rc = set_member_take(walk, node, name, child);
		if (rc < 0)
			return at(walk, rc, name);
	}
	return 0;
}

static int items_of(struct walk *walk, const struct apply_place *place,
		    const json_t *value, unsigned depth, json_t *node)
{
	struct apply_place inner = apply_place_item(place);
	json_auto_t *index = NULL;
	const char *name;
	json_t *item;
	int rc = apply_index(place, value, &index, walk->err);

	if (rc == 0 && walk->how == APPLY_NAMED)
		return -NEAP_EINVAL;
	if (rc <= 0)
		return rc;
	json_object_foreach (index, name, item) {
		json_t *child = NULL;

		rc = node_of(walk, &inner, item, depth + 1, &child);
		if (rc == 0)
			rc = set_new(walk, node, name, child);
		if (rc < 0)
			return at(walk, rc, "[]");
	}
	return 0;
}

static int node_of(struct walk *walk, const struct apply_place *place,
		   const json_t *value, unsigned depth, json_t **ret)
{
	json_auto_t *node = json_object();
	bool has = !place->is_field || (walk->how == APPLY_WHOLE && !place->is_struct);
	int rc = 0;

	if (!node)
		return neap_error_nomem(walk->err);
	if (depth < APPLY_DEPTH_MAX && apply_are_maps(place, value, value))
		rc = members_of(walk, place, value, depth, node);
	else if (depth < APPLY_DEPTH_MAX && apply_are_lists(place, value, value))
		rc = items_of(walk, place, value, depth, node);
	if (rc == 0 && has && json_object_size(node) > 0)
		rc = set_new(walk, node, ".", json_object());
	if (rc == 0)
		*ret = neap_steal(node);
	return rc;
}

int apply_set_of(const struct neap_schema *schema, const json_t *object,
		 enum apply_set_how how, json_t **ret, struct neap_error *err)
{
	struct walk walk = {how, err};
	struct apply_place root = apply_place_root(schema);

	return node_of(&walk, &root, object, 0, ret);
}

/* --- what differs --- */

/* NULL where empty: most of an object. */
struct difference {
	json_t *changed, *removed;
};

static int differ(struct walk *walk, const struct apply_place *place,
		  const json_t *before, const json_t *after, unsigned depth,
		  struct difference *ret);

/* Takes what child has. Creates node's members when needed. */
static int difference_take(struct walk *walk, struct difference *to, const char *name,
			   bool is_member, struct difference *child)
{
	json_t **nodes[] = {&to->changed, &to->removed};
	json_t *children[] = {child->changed, child->removed};
	int rc = 0;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(nodes); i++) {
		if (children[i] && !*nodes[i])
			*nodes[i] = json_object();
		if (rc < 0 || (children[i] && !*nodes[i])) {
			json_decref(children[i]);
			rc = neap_error_nomem(walk->err);
		} else if (children[i] && is_member) {
			rc = set_member_take(walk, *nodes[i], name, children[i]);
		} else if (children[i]) {
			rc = set_new(walk, *nodes[i], name, children[i]);
		}
	}
	return rc;
}

/* Either may be missing. */
static int differ_child(struct walk *walk, const struct apply_place *place,
			const json_t *before, const json_t *after, unsigned depth,
			struct difference *ret)
{
	if (before && after)
		return differ(walk, place, before, after, depth, ret);
	if (after)
		return node_of(walk, place, after, depth, &ret->changed);
	ret->removed = json_object();
	return ret->removed ? 0 : neap_error_nomem(walk->err);
}

/* Compares two maps, or two indexed lists. */
static int differ_all(struct walk *walk, const struct apply_place *place, bool is_map,
		      const json_t *before, const json_t *after, unsigned depth,
		      struct difference *ret)
{
	const json_t *sides[] = {before, after};
	struct apply_place inner = apply_place_item(place);
	const char *name;
	json_t *value;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(sides); i++)
		json_object_foreach ((json_t *)(uintptr_t)sides[i], name, value) {
			const json_t *other = json_object_get(sides[1 - i], name);
			struct difference child = {NULL, NULL};
			int rc;

			if (i == 1 && other)
				continue;
			if (is_map)
				inner = apply_place_member(place, name);
			rc = differ_child(walk, &inner, i == 0 ? value : NULL,
					  i == 0 ? other : value, depth + 1, &child);
			if (rc == 0) {
				rc = difference_take(walk, ret, name, is_map, &child);
			} else {
				json_decref(child.changed);
				json_decref(child.removed);
			}
			if (rc < 0)
				return rc;
		}
	return 0;
}

/* 1: both lists have named items, and were compared. */
static int differ_lists(struct walk *walk, const struct apply_place *place,
			const json_t *before, const json_t *after, unsigned depth,
			struct difference *ret)
{
	json_auto_t *left = NULL, *right = NULL;
	int rc = apply_index(place, before, &left, walk->err);

	if (rc > 0)
		rc = apply_index(place, after, &right, walk->err);
	if (rc <= 0)
		return rc;
	rc = differ_all(walk, place, false, left, right, depth, ret);
	return rc < 0 ? rc : 1;
}

static int differ(struct walk *walk, const struct apply_place *place,
		  const json_t *before, const json_t *after, unsigned depth,
		  struct difference *ret)
{
	int rc;

	if (depth < APPLY_DEPTH_MAX && apply_are_maps(place, before, after))
		return differ_all(walk, place, true, before, after, depth, ret);
	if (depth < APPLY_DEPTH_MAX && apply_are_lists(place, before, after)) {
		rc = differ_lists(walk, place, before, after, depth, ret);
		if (rc != 0)
			return rc < 0 ? rc : 0;
	}
	if (json_equal(before, after))
		return 0;
	/* All fields that were within it lose their owners. */
	if (json_is_object(before) || json_is_array(before)) {
		ret->removed = json_object();
		if (!ret->removed)
			return neap_error_nomem(walk->err);
	}
	return node_of(walk, place, after, depth, &ret->changed);
}

int apply_compare(const struct neap_schema *schema, const json_t *before,
		  const json_t *after, json_t **ret_changed, json_t **ret_removed,
		  struct neap_error *err)
{
	struct walk walk = {APPLY_WHOLE, err};
	struct apply_place root = apply_place_root(schema);
	struct difference all = {json_object(), json_object()};
	int rc = all.changed && all.removed
			 ? differ_all(&walk, &root, true, before, after, 0, &all)
			 : neap_error_nomem(err);

	if (rc < 0) {
		json_decref(all.changed);
		json_decref(all.removed);
		return rc;
	}
	*ret_changed = all.changed;
	*ret_removed = all.removed;
	return 0;
}

/* --- places ---
 *
 * For each place in an object, the schema determines whether apply merges its map or
 * list, and which keys identify list items. Without a schema, maps are merged and lists
 * are single values. */

#define SHOWN 120 /* bytes of a name in messages */

struct apply_place apply_place_root(const struct neap_schema *schema)
{
	return (struct apply_place){
		.schema = schema, .is_field = true, .is_struct = true};
}

struct apply_place apply_place_member(const struct apply_place *in, const char *name)
{
	const struct neap_schema *schema = in->schema;
	const struct neap_schema_field *field =
		schema ? neap_schema_field_find(schema, name) : NULL;
	struct apply_place place = {.list = NEAP_LIST_ATOMIC};

	if (field) {
		place.schema = field->schema;
		place.list = field->merge;
		place.own[0] = field->merge_key;
		place.own[1] = field->merge_key ? field->other_key : NULL;
		place.is_field = true;
		place.is_struct =
			!field->schema->is_declared &&
			(field->is_required || field->schema->type == NEAP_SCHEMA_OBJECT);
	} else if (schema && schema->type == NEAP_SCHEMA_MAP) {
		place.schema = schema->items;
	}
	if (place.schema && place.list == NEAP_LIST_ATOMIC)
		place.list = place.schema->list;
	return place;
}

struct apply_place apply_place_item(const struct apply_place *in)
{
	struct apply_place place = {.schema = in->schema ? in->schema->items : NULL};

	if (place.schema)
		place.list = place.schema->list;
	return place;
}

bool apply_are_maps(const struct apply_place *place, const json_t *a, const json_t *b)
{
	return json_is_object(a) && json_is_object(b) &&
	       json_object_size(a) + json_object_size(b) > 0 &&
	       !(place->schema && place->schema->is_atomic);
}

bool apply_are_lists(const struct apply_place *place, const json_t *a, const json_t *b)
{
	return json_is_array(a) && json_is_array(b) &&
	       json_array_size(a) + json_array_size(b) > 0 &&
	       place->list != NEAP_LIST_ATOMIC;
}

/* --- names of items --- */

static int refuse(struct neap_error *err, size_t at, const char *fmt, const char *what)
{
	(void)neap_error_set(err, NEAP_EINVAL, fmt, what);
	(void)neap_error_infield(err, "[%zu]", at);
	return 0;
}

/* The value of a key, or its default; a new reference. NULL: it has neither. */
static json_t *key_value(const struct apply_place *list, const json_t *item,
			 const char *key)
{
	const struct neap_schema *items = list->schema ? list->schema->items : NULL;
	const struct neap_schema_field *field =
		items ? neap_schema_field_find(items, key) : NULL;
	json_t *value = json_object_get(item, key);
	json_error_t where;

	if (value && !json_is_null(value))
		return json_incref(value);
	if (!field || !field->fallback)
		return NULL;
	value = NULL;
	(void)neap_json_parse(field->fallback, strlen(field->fallback), JSON_DECODE_ANY,
			      &value, &where); /* NULL without one */
	return value;
}

/* Whether JSON needs no escapes for the text: true of nearly all names. */
static bool is_plain(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == '"' || *text == '\\')
			return false;
	return true;
}

/* 1; 0 with err set; -NEAP_ENOMEM */
static int keyed_name(const struct apply_place *list, const json_t *item, size_t at,
		      char **ret, struct neap_error *err)
{
	const char *const *keys = list->schema && list->schema->list_keys && !list->own[0]
					  ? list->schema->list_keys
					  : list->own;
	const char *only;
	neap_auto_free char *text = NULL;
	json_auto_t *named = NULL;

	if (!json_is_object(item) || !keys[0])
		return refuse(err, at, "%s", "an item of a list with keys is no object");
	only = keys[1] ? NULL : json_string_value(json_object_get(item, keys[0]));
	if (only && strlen(only) == json_string_length(json_object_get(item, keys[0])) &&
	    is_plain(only) && is_plain(keys[0])) {
		*ret = neap_asprintf("k:{\"%s\":\"%s\"}", keys[0], only);
		return *ret ? 1 : neap_error_nomem(err);
	}
	named = json_object();
	if (!named)
		return neap_error_nomem(err);
	for (; *keys; keys++) {
		json_t *value = key_value(list, item, *keys);

		if (!value || json_is_object(value) || json_is_array(value)) {
			json_decref(value);
			return refuse(err, at,
				      "an item of a list with keys omits key field "
				      "\"%.100s\"",
				      *keys);
		}
		if (json_object_set_new_nocheck(named, *keys, value) < 0)
			return neap_error_nomem(err);
	}
	text = neap_json_dump(named, JSON_COMPACT | JSON_SORT_KEYS);
	*ret = text ? neap_asprintf("k:%s", text) : NULL;
	return *ret ? 1 : neap_error_nomem(err);
}

static int item_name(const struct apply_place *list, const json_t *item, size_t at,
		     char **ret, struct neap_error *err)
{
	neap_auto_free char *text = NULL;

	if (list->list == NEAP_LIST_MAP)
		return keyed_name(list, item, at, ret, err);
	if (json_is_object(item) || json_is_array(item))
		return refuse(err, at, "%s", "an item of a set is no scalar");
	text = neap_json_dump(item, JSON_COMPACT | JSON_ENCODE_ANY);
	*ret = text ? neap_asprintf("v:%s", text) : NULL;
	return *ret ? 1 : neap_error_nomem(err);
}

int apply_index(const struct apply_place *place, const json_t *list, json_t **ret,
		struct neap_error *err)
{
	json_auto_t *index = json_object();
	json_t *item;
	size_t i;

	if (!index)
		return neap_error_nomem(err);
	json_array_foreach (list, i, item) {
		neap_auto_free char *name = NULL;
		int rc = item_name(place, item, i, &name, err);

		if (rc <= 0)
			return rc;
		if (json_object_get(index, name)) {
			char shown[SHOWN];

			(void)neap_strcopy(shown, sizeof(shown), name + 2);
			return refuse(err, i, "duplicate entries for key %s", shown);
		}
		if (json_object_set_nocheck(index, name, item) < 0)
			return neap_error_nomem(err);
	}
	*ret = neap_steal(index);
	return 1;
}
