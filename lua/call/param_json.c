/* SPDX-License-Identifier: Apache-2.0
 *
 * Parameter values as JSON and as Lua values: scalars, and those that contain others.
 * Lists, maps and selectors are stored as the JSON that the control API shows; a Lua
 * state receives tables. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>

#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/base/selector.h"
#include "engine/base/text.h"
#include "engine/json/json.h"
#include "lua/call/params_priv.h"
#include "lua/value/convert.h"
#include "lua/value/objects.h"
#include "lua/vm/sandbox.h"

/* For a value from Lua: more than the elements a list can have. */
#define VALUES_MAX (2 * NEAP_PARAM_LIST_MAX)

/* --- from JSON --- */

/* The text that the parser takes; NULL when the type cannot be right. */
static const char *scalar_text(const struct neap_param *param, const json_t *json,
			       char *buf, size_t size)
{
	bool wants_text = neap_param_types[param->type].is_text;
	const char *unit =
		param->type == NEAP_PARAM_QUANTITY && param->is_milli ? "m" : "";

	switch (json_typeof(json)) {
	case JSON_STRING:
		return strlen(json_string_value(json)) == json_string_length(json)
			       ? json_string_value(json)
			       : NULL;
	case JSON_TRUE:
	case JSON_FALSE:
		return param->type != NEAP_PARAM_BOOLEAN ? NULL
		       : json_is_true(json)              ? "true"
							 : "false";
	case JSON_INTEGER:
		snprintf(buf, size, "%lld%s", (long long)json_integer_value(json), unit);
		return wants_text ? NULL : buf;
	case JSON_REAL:
		snprintf(buf, size, "%.17g%s", json_real_value(json), unit);
		return wants_text ? NULL : buf;
	default:
		return NULL;
	}
}

static const char *json_type_name(const json_t *json)
{
	return json_is_object(json)   ? "object"
	       : json_is_array(json)  ? "list"
	       : json_is_string(json) ? "string"
	       : json_is_number(json) ? "number"
	       : json_is_null(json)   ? "null"
				      : "boolean";
}

/* The place of an error within an element: behind the part that names the list. */
static void place_error(const struct neap_param *param, const char *where,
			struct neap_error *err)
{
	char rest[NEAP_ERROR_FIELD] = "";
	size_t len = strlen(param->name);

	if (strncmp(err->field, param->name, len) == 0)
		(void)neap_strcopy(rest, sizeof(rest), err->field + len);
	(void)snprintf(err->field, sizeof(err->field), "%s%s%s", param->name, where,
		       rest);
}

/* Checks a value of a composite and gives it in the form in which it is kept; NULL
 * with err set. */
static json_t *take_value(const struct neap_param *param, const json_t *json,
			  struct neap_error *err)
{
	struct neap_param_value value = {0};
	json_t *ret;

	if (param->type == NEAP_PARAM_STRING && json_is_string(json) &&
	    json_string_length(json) < NEAP_PARAM_STRING_MAX &&
	    strlen(json_string_value(json)) == json_string_length(json)) {
		ret = neap_json_deep_copy(json);
		if (!ret)
			(void)neap_error_nomem(err);
		return ret;
	}
	if (neap_param_parse_json(param, json, &value, err) < 0)
		return NULL;
	ret = neap_param_json(param, &value);
	neap_param_value_done(&value);
	if (!ret)
		(void)neap_error_nomem(err);
	return ret;
}

static json_t *take_element(const struct neap_param *param, const json_t *json,
			    const char *where, struct neap_error *err)
{
	json_t *ret = take_value(&param->kids->rows[0], json, err);

	if (ret || err->code == NEAP_ENOMEM)
		return ret;
	place_error(param, where, err);
	(void)neap_error_wrap(err, "element %.80s", where);
	return NULL;
}

/* --- objects --- */

/* An empty list asks for nothing, and generated configurations have both lists. */
static bool is_set(const json_t *value)
{
	return !json_is_null(value) &&
	       !(json_is_array(value) && json_array_size(value) == 0);
}

static int check_fields(const struct neap_param *param, const json_t *json,
			struct neap_error *err)
{
	const char *set[2] = {NULL, NULL}, *key;
	json_t *value;

	json_object_foreach ((json_t *)(uintptr_t)json, key, value) {
		size_t i = 0;

		while (i < param->kids->count &&
		       strcmp(param->kids->rows[i].name + param->kids->rows[i].key_at,
			      key) != 0)
			i++;
		if (i == param->kids->count) {
			(void)neap_param_refuse(param, key, err);
			(void)snprintf(err->field, sizeof(err->field), "%s.%s",
				       param->name, key);
			return neap_error_wrap(err, "there is no field '%.48s'", key);
		}
		if (!is_set(value) || !(param->at_most_one >> i & 1))
			continue;
		set[set[0] ? 1 : 0] = key;
	}
	if (!set[1])
		return 0;
	return neap_error_field(err, NEAP_EINVAL, param->name,
				"parameter '%s': at most one of %s and %s may be set",
				param->name, set[0], set[1]);
}

static int parse_object(const struct neap_param *param, const json_t *json, json_t **ret,
			struct neap_error *err)
{
	int rc;

	if (!json_is_object(json))
		return neap_param_refuse(param, json_type_name(json), err);
	rc = check_fields(param, json, err);
	if (rc < 0)
		return rc;
	*ret = json_object();
	for (size_t i = 0; *ret && i < param->kids->count; i++) {
		const struct neap_param *field = &param->kids->rows[i];
		const char *key = field->name + field->key_at;
		const json_t *value = json_object_get(json, key);
		json_t *kept;

		if (!value || json_is_null(value)) {
			if (field->is_required && !field->default_value.is_set)
				return neap_error_field(err, NEAP_EINVAL, field->name,
							"parameter '%s' is required",
							field->name);
			if (!field->default_value.is_set)
				continue;
			kept = neap_param_json(field, &field->default_value);
			if (!kept)
				return neap_error_nomem(err);
		} else {
			kept = take_value(field, value, err);
			if (!kept)
				return -(int)err->code;
		}
		if (json_object_set_new(*ret, key, kept) < 0)
			return neap_error_nomem(err);
	}
	return *ret ? 0 : neap_error_nomem(err);
}

static int parse_list(const struct neap_param *param, const json_t *json, json_t **ret,
		      struct neap_error *err)
{
	size_t count = json_array_size(json);
	char where[40];

	if (!json_is_array(json) || count > (size_t)param->max_items) {
		snprintf(where, sizeof(where), "%zu elements", count);
		return neap_param_refuse(
			param, json_is_array(json) ? where : json_type_name(json), err);
	}
	*ret = json_array();
	for (size_t i = 0; i < count; i++) {
		json_t *element;

		snprintf(where, sizeof(where), "[%zu]", i);
		element = take_element(param, json_array_get(json, i), where, err);
		if (!element)
			return -(int)err->code;
		if (json_array_append_new(*ret, element) < 0)
			return neap_error_nomem(err);
	}
	return *ret ? 0 : neap_error_nomem(err);
}

/* The members come in the order of their keys, so that it is the same in every
 * process. */
static int parse_map(const struct neap_param *param, const json_t *json, json_t **ret,
		     struct neap_error *err)
{
	const char *keys[NEAP_PARAM_MAP_MAX], *key;
	size_t size = json_object_size(json), count = 0;
	char where[80];
	json_t *value;

	if (!json_is_object(json) || size > (size_t)param->max_items) {
		snprintf(where, sizeof(where), "%zu elements", size);
		return neap_param_refuse(
			param, json_is_object(json) ? where : json_type_name(json), err);
	}
	json_object_foreach ((json_t *)json, key, value)
		keys[count++] = key;
	qsort(keys, count, sizeof(*keys), neap_text_compare);
	*ret = json_object();
	for (size_t i = 0; i < count; i++) {
		if (neap_label_check_key(keys[i], err) < 0) {
			(void)neap_error_infield(err, "%s", param->name);
			return neap_error_wrap(err, "parameter '%s': key '%.48s'",
					       param->name, keys[i]);
		}
		snprintf(where, sizeof(where), "[\"%.70s\"]", keys[i]);
		value = take_element(param, json_object_get(json, keys[i]), where, err);
		if (!value)
			return -(int)err->code;
		if (json_object_set_new(*ret, keys[i], value) < 0)
			return neap_error_nomem(err);
	}
	return *ret ? 0 : neap_error_nomem(err);
}

static int parse_selector(const struct neap_param *param, const json_t *json,
			  json_t **ret, struct neap_error *err)
{
	struct neap_selector *selector = NULL;
	json_error_t where;
	char *text;

	if (!json_is_object(json))
		return neap_param_refuse(param, json_type_name(json), err);
	if (neap_selector_parse(json, &selector, err) < 0) {
		(void)neap_error_wrap(err, "parameter '%s': %s", param->name, err->field);
		return neap_error_infield(err, "%s", param->name);
	}
	neap_selector_free(selector);
	/* A copy with sorted keys. */
	text = neap_json_dump(json, JSON_COMPACT | JSON_SORT_KEYS);
	if (!text || neap_json_parse(text, strlen(text), 0, ret, &where) < 0) {
		free(text);
		return neap_error_nomem(err);
	}
	free(text);
	return 0;
}

int neap_param_parse_json(const struct neap_param *param, const json_t *json,
			  struct neap_param_value *ret, struct neap_error *err)
{
	struct neap_param_value value = {.is_set = true};
	struct neap_error own = {0};
	char number[40];
	const char *text;
	int rc;

	err = err ? err : &own;
	if (param->type == NEAP_PARAM_LIST)
		rc = parse_list(param, json, &value.json, err);
	else if (param->type == NEAP_PARAM_MAP)
		rc = parse_map(param, json, &value.json, err);
	else if (param->type == NEAP_PARAM_OBJECT)
		rc = parse_object(param, json, &value.json, err);
	else if (param->type == NEAP_PARAM_SELECTOR)
		rc = parse_selector(param, json, &value.json, err);
	else {
		text = scalar_text(param, json, number, sizeof(number));
		return text ? neap_param_parse(param, text, ret, err)
			    : neap_param_refuse(param, json_type_name(json), err);
	}
	if (rc < 0) {
		json_decref(value.json);
		return rc;
	}
	*ret = value;
	return 0;
}

/* {} of Lua is an empty list for JSON, wherever an object is wanted. False without
 * memory. */
static bool mend_empty(const struct neap_param *param, json_t **json)
{
	enum neap_param_type type = param->type;
	size_t i;

	if (json_is_array(*json) && !json_array_size(*json) &&
	    (type == NEAP_PARAM_MAP || type == NEAP_PARAM_OBJECT ||
	     type == NEAP_PARAM_SELECTOR)) {
		json_decref(*json);
		*json = json_object();
		return *json != NULL;
	}
	for (i = 0; type == NEAP_PARAM_LIST && i < json_array_size(*json); i++) {
		json_t *one = json_incref(json_array_get(*json, i));

		if (!mend_empty(&param->kids->rows[0], &one) ||
		    json_array_set_new(*json, i, one) < 0)
			return false;
	}
	for (i = 0; type == NEAP_PARAM_OBJECT && i < param->kids->count; i++) {
		const struct neap_param *field = &param->kids->rows[i];
		const char *key = field->name + field->key_at;
		json_t *one = json_incref(json_object_get(*json, key));

		if (one && (!mend_empty(field, &one) ||
			    json_object_set_new(*json, key, one) < 0))
			return false;
	}
	return true;
}

int neap_param_read_value(lua_State *L, int index, const struct neap_param *param,
			  struct neap_param_value *ret, struct neap_error *err)
{
	bool is_composite = neap_param_types[param->type].is_composite;
	json_t *json = NULL;
	int rc;

	if (lua_istable(L, index) != is_composite)
		return neap_param_refuse(param, luaL_typename(L, index), err);
	rc = param->type == NEAP_PARAM_MAP || param->type == NEAP_PARAM_SELECTOR
		     ? neap_lua_read_labels_json(L, index, &json, err)
		     : neap_lua_to_json_within(L, index, VALUES_MAX,
					       NEAP_PARAM_JSON_BYTES, &json, err);
	if (rc < 0) {
		json_decref(json);
		return is_composite || rc == -NEAP_ENOMEM
			       ? neap_error_wrap(err, "parameter '%s'", param->name)
			       : neap_param_refuse(param, luaL_typename(L, index), err);
	}
	rc = mend_empty(param, &json) ? neap_param_parse_json(param, json, ret, err)
				      : neap_error_nomem(err);
	json_decref(json);
	return rc;
}

/* --- to Lua --- */

/* Pushes a kept value of a composite. */
static void push_kept(lua_State *L, const struct neap_param *param, json_t *json)
{
	struct neap_param_value value = {.is_set = true, .json = json};

	if (param->type == NEAP_PARAM_STRING) {
		lua_pushstring(L, json_string_value(json));
		return;
	}
	/* It was checked when it came. Scalars hold no memory, and others share the
	 * JSON. */
	if (!neap_param_types[param->type].is_composite)
		(void)neap_param_parse_json(param, json, &value, NULL);
	neap_param_push(L, param, &value);
}

/* Sets t[key] to the elements of the JSON in the table on top, and makes it read-only. */
static void push_elements(lua_State *L, const struct neap_param *param, json_t *json)
{
	const char *key;
	json_t *element;

	luaL_checkstack(L, 10, NULL);
	for (size_t i = 0; i < json_array_size(json); i++) {
		push_kept(L, &param->kids->rows[0], json_array_get(json, i));
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	for (size_t i = 0; param->type == NEAP_PARAM_OBJECT && i < param->kids->count;
	     i++) {
		const struct neap_param *field = &param->kids->rows[i];

		key = field->name + field->key_at;
		element = json_object_get(json, key);
		if (!element)
			continue;
		push_kept(L, field, element);
		lua_setfield(L, -2, key);
	}
	if (param->type == NEAP_PARAM_MAP)
		json_object_foreach (json, key, element) {
			push_kept(L, &param->kids->rows[0], element);
			lua_setfield(L, -2, key);
		}
	neap_sandbox_freeze(L);
}

void neap_param_push(lua_State *L, const struct neap_param *param,
		     const struct neap_param_value *value)
{
	luaL_checkstack(L, 10, NULL);
	if (!value->is_set) {
		lua_pushnil(L);
		return;
	}
	switch (param->type) {
	case NEAP_PARAM_NUMBER:
		lua_pushnumber(L, value->real);
		return;
	case NEAP_PARAM_BOOLEAN:
		lua_pushboolean(L, value->integer != 0);
		return;
	case NEAP_PARAM_DURATION:
		if (value->integer % 1000000 == 0)
			lua_pushinteger(L, value->integer / 1000000);
		else
			lua_pushnumber(L, (lua_Number)value->integer / 1e6);
		return;
	case NEAP_PARAM_SELECTOR:
		neap_lua_push_selector(L, value->json);
		return;
	case NEAP_PARAM_LIST:
	case NEAP_PARAM_MAP:
	case NEAP_PARAM_OBJECT:
		lua_newtable(L);
		push_elements(L, param, value->json);
		return;
	default:
		if (neap_param_types[param->type].is_text)
			lua_pushstring(L, value->text);
		else
			lua_pushinteger(L, value->integer);
	}
}
