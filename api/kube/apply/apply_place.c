/* SPDX-License-Identifier: Apache-2.0
 *
 * For each place in an object, the schema determines whether apply merges its map or
 * list, and which keys identify list items. Without a schema, maps are merged and lists
 * are single values. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/apply/apply.h"
#include "engine/json/json.h"

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
