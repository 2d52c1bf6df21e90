/* SPDX-License-Identifier: Apache-2.0
 *
 * The schema of one parameter: what its row in `params` may contain, and how it is
 * shown. */
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>

#include "engine/base/mem.h"
#include "engine/base/utf8.h"
#include "lua/call/params_priv.h"
#include "lua/value/convert.h"

static const char *const schema_keys[] = {"type",   "default", "min",       "max", "unit",
					  "values", "of",      "max_items", "doc", NULL};
static const char *const of_keys[] = {"type", "min", "max", "unit", "values", NULL};

void neap_param_done(struct neap_param *param)
{
	neap_param_value_done(&param->value);
	neap_param_value_done(&param->default_value);
	free(param->of);
	param->of = NULL;
}

/* of is "of." for what the elements are, else "". */
static int bad_field(const struct neap_param *param, const char *of, const char *key,
		     struct neap_error *err, const char *what)
{
	return neap_error_set(err, NEAP_EINVAL, "field 'params.%s%s%s%.40s': %s",
			      param->name, of[0] || key[0] ? "." : "", of, key, what);
}

/* The text at index, which JSON can show too; NULL for anything else and for "". */
static const char *get_text(lua_State *L, int index)
{
	const char *text = neap_lua_text(L, index);

	return text && *text && neap_utf8_is_valid(text, strlen(text)) ? text : NULL;
}

static int read_values(lua_State *L, int index, struct neap_param *param, const char *of,
		       struct neap_error *err)
{
	lua_Integer count = lua_istable(L, index) ? (lua_Integer)lua_rawlen(L, index) : 0;

	if (param->type != NEAP_PARAM_ENUM)
		return bad_field(param, of, "values", err, "only an enum has values");
	if (count < 1 || count > NEAP_PARAM_VALUES - 1)
		return bad_field(param, of, "values", err,
				 "an enum needs a list of 1 to 15 texts");
	for (lua_Integer i = 1; i <= count; i++) {
		char *to = param->values[i - 1];

		lua_rawgeti(L, index, i);
		if (!get_text(L, -1) ||
		    !neap_strcopy(to, sizeof(param->values[0]), get_text(L, -1)))
			return bad_field(
				param, of, "values", err,
				"every value is a text of 1 to 47 bytes (UTF-8)");
		lua_pop(L, 1);
	}
	return 0;
}

static int read_unit(lua_State *L, int index, struct neap_param *param, const char *of,
		     struct neap_error *err)
{
	const char *unit = neap_lua_name(L, index);

	param->is_milli = strcmp(unit, "milli") == 0;
	if (param->type != NEAP_PARAM_QUANTITY ||
	    (!param->is_milli && strcmp(unit, "bytes") != 0))
		return bad_field(param, of, "unit", err,
				 "only a quantity has a unit: \"milli\" or \"bytes\"");
	return 0;
}

static int read_type(lua_State *L, int index, struct neap_param *param, const char *of,
		     struct neap_error *err)
{
	const char *type = neap_lua_name(L, index);

	for (int i = 0; i < NEAP_PARAM_TYPE_COUNT; i++) {
		if (strcmp(type, neap_param_types[i].name) != 0 ||
		    (of[0] && neap_param_types[i].is_composite))
			continue;
		param->type = (enum neap_param_type)i;
		return 0;
	}
	return bad_field(
		param, of, "type", err,
		of[0] ? "known types of elements: integer, number, boolean, "
			"string, enum, percent, quantity, duration, time, zone"
		      : "known types: integer, number, boolean, string, enum, "
			"percent, quantity, duration, time, zone, selector, list, "
			"map");
}

static int read_bounds(lua_State *L, int index, struct neap_param *param, const char *of,
		       struct neap_error *err)
{
	struct neap_param_value *const bounds[] = {&param->min, &param->max};
	static const char *const names[] = {"min", "max"};

	if (param->type == NEAP_PARAM_PERCENT) {
		param->min = (struct neap_param_value){.is_set = true, .integer = 0};
		param->max = (struct neap_param_value){.is_set = true, .integer = 100};
	}
	for (size_t i = 0; i < NEAP_ARRAY_LEN(bounds); i++) {
		struct neap_param_value bound;
		int rc;

		if (neap_lua_get(L, index, names[i]) == LUA_TNIL)
			continue;
		if (!neap_param_types[param->type].has_range)
			return bad_field(param, of, names[i], err,
					 param->type == NEAP_PARAM_LIST ||
							 param->type == NEAP_PARAM_MAP
						 ? "the range of the elements belongs "
						   "into of = { type =, min =, max = }"
						 : "this type has no range");
		*bounds[i] = (struct neap_param_value){0};
		rc = neap_param_read_value(L, lua_gettop(L), param, &bound, err);
		if (rc < 0)
			return rc;
		*bounds[i] = bound; /* a type with a range holds nothing else */
	}
	return 0;
}

/* Type, unit, values and range, each in the order in which the next ones need it. */
static int read_form(lua_State *L, int index, struct neap_param *param, const char *of,
		     struct neap_error *err)
{
	int rc;

	neap_lua_get(L, index, "type");
	rc = read_type(L, lua_gettop(L), param, of, err);
	if (rc == 0 && neap_lua_get(L, index, "unit") != LUA_TNIL)
		rc = read_unit(L, lua_gettop(L), param, of, err);
	if (rc == 0 && (neap_lua_get(L, index, "values") != LUA_TNIL ||
			param->type == NEAP_PARAM_ENUM))
		rc = read_values(L, lua_gettop(L), param, of, err);
	return rc < 0 ? rc : read_bounds(L, index, param, of, err);
}

static int check_keys(lua_State *L, int index, const struct neap_param *param,
		      const char *of, const char *const *names, struct neap_error *err)
{
	lua_pushnil(L);
	while (lua_next(L, index)) {
		const char *key = neap_lua_name(L, -2);
		const char *const *name = names;

		while (*name && strcmp(*name, key) != 0)
			name++;
		if (!*name)
			return bad_field(param, of, key, err,
					 of[0] ? "known: type, min, max, unit, values"
					       : "known: type, default, min, max, unit, "
						 "values, of, max_items, doc");
		lua_pop(L, 1);
	}
	return 0;
}

/* of = "percent" or of = { type = "percent", max = 50 }. */
static int read_of(lua_State *L, int index, struct neap_param *param,
		   struct neap_error *err)
{
	int rc;

	param->of = neap_alloc(sizeof(*param->of));
	if (!param->of)
		return neap_error_nomem(err);
	memcpy(param->of->name, param->name, sizeof(param->name));
	if (lua_type(L, index) == LUA_TSTRING) {
		lua_createtable(L, 0, 1);
		lua_pushvalue(L, index);
		lua_setfield(L, -2, "type");
		index = lua_gettop(L);
	}
	if (!lua_istable(L, index))
		return bad_field(param, "", "of", err,
				 "the type of the elements is wanted: of = \"string\" or "
				 "of = { type = \"integer\", min = 1 }");
	rc = check_keys(L, index, param, "of.", of_keys, err);
	return rc < 0 ? rc : read_form(L, index, param->of, "of.", err);
}

static int read_items(lua_State *L, int index, struct neap_param *param,
		      struct neap_error *err)
{
	bool is_list = param->type == NEAP_PARAM_LIST;
	bool has_items = is_list || param->type == NEAP_PARAM_MAP;
	int top = is_list ? NEAP_PARAM_LIST_MAX : NEAP_PARAM_MAP_MAX, rc;
	lua_Integer items;

	if (neap_lua_get(L, index, "of") != LUA_TNIL || has_items) {
		if (!has_items)
			return bad_field(param, "", "of", err,
					 "only a list and a map have elements");
		rc = read_of(L, lua_gettop(L), param, err);
		if (rc < 0)
			return rc;
	}
	param->max_items = NEAP_PARAM_ITEMS;
	if (neap_lua_get(L, index, "max_items") == LUA_TNIL)
		return 0;
	items = lua_isinteger(L, -1) ? lua_tointeger(L, -1) : 0;
	if (!has_items || items < 1 || items > top)
		return bad_field(param, "", "max_items", err,
				 "a list has 1 to 1024, a map 1 to 64, others none");
	param->max_items = (int)items;
	return 0;
}

int neap_param_read_schema(lua_State *L, int index, struct neap_param *param,
			   struct neap_error *err)
{
	int rc;

	luaL_checkstack(L, 24, NULL);
	if (!lua_istable(L, index))
		return bad_field(param, "", "", err,
				 "a parameter is a table such as { type = "
				 "\"percent\", default = 65, doc = \"...\" }");
	rc = check_keys(L, index, param, "", schema_keys, err);
	rc = rc < 0 ? rc : read_form(L, index, param, "", err);
	if (rc < 0)
		return rc;
	(void)neap_lua_get(L, index, "doc");
	if (!get_text(L, -1))
		return bad_field(param, "", "doc", err,
				 "every parameter says in one text (UTF-8) what it does");
	(void)neap_strcopy(param->doc, sizeof(param->doc),
			   get_text(L, -1)); /* cut is fine */
	rc = read_items(L, index, param, err);
	if (rc < 0)
		return rc;
	if (neap_lua_get(L, index, "default") != LUA_TNIL) {
		rc = neap_param_read_value(L, lua_gettop(L), param, &param->default_value,
					   err);
		if (rc < 0)
			return rc;
	}
	neap_param_value_copy(&param->value, &param->default_value);
	return 0;
}

/* Adds a value that may be unset; false without memory. */
static bool add_value(json_t *row, const char *key, const struct neap_param *param,
		      const struct neap_param_value *value)
{
	return !value->is_set ||
	       json_object_set_new(row, key, neap_param_json(param, value)) == 0;
}

/* False without memory; what was added so far stays. */
static bool add_form(json_t *row, const struct neap_param *param)
{
	json_t *values;

	if (json_object_set_new(row, "type",
				json_string(neap_param_types[param->type].name)) < 0 ||
	    !add_value(row, "min", param, &param->min) ||
	    !add_value(row, "max", param, &param->max))
		return false;
	if (param->type == NEAP_PARAM_QUANTITY &&
	    json_object_set_new(row, "unit",
				json_string(param->is_milli ? "milli" : "bytes")) < 0)
		return false;
	if (param->type != NEAP_PARAM_ENUM)
		return true;
	values = json_array();
	if (json_object_set_new(row, "values", values) < 0)
		return false;
	for (int i = 0; i < NEAP_PARAM_VALUES && param->values[i][0]; i++)
		if (json_array_append_new(values, json_string(param->values[i])) < 0)
			return false;
	return true;
}

json_t *neap_param_schema_json(const struct neap_param *param)
{
	json_t *row = json_pack("{s:s}", "doc", param->doc), *of = NULL;
	bool ok = row && add_form(row, param) &&
		  add_value(row, "default", param, &param->default_value);

	if (ok && param->of) {
		of = json_object();
		ok = json_object_set_new(row, "of", of) == 0 && add_form(of, param->of) &&
		     json_object_set_new(row, "max_items",
					 json_integer(param->max_items)) == 0;
	}
	if (!ok) {
		json_decref(row);
		return NULL;
	}
	return row;
}
