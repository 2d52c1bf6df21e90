/* SPDX-License-Identifier: Apache-2.0
 *
 * Parameter schemas, and the values of all parameters of a policy together. */
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "lua/convert.h"
#include "lua/params_priv.h"

static const char *const schema_keys[] = {"type", "default", "min", "max",
					  "unit", "values",  "doc", NULL};

void neap_params_done(struct neap_params *params)
{
	free(params->rows);
	memset(params, 0, sizeof(*params));
}

static struct neap_param *find(const struct neap_params *params, const char *name)
{
	for (size_t i = 0; i < params->count; i++)
		if (strcmp(params->rows[i].name, name) == 0)
			return &params->rows[i];
	return NULL;
}

/* --- schema --- */

static int bad_field(const struct neap_param *param, const char *key,
		     struct neap_error *err, const char *what)
{
	return neap_error_set(err, NEAP_EINVAL, "field 'params.%s%s%s': %s", param->name,
			      key[0] ? "." : "", key, what);
}

static int read_values(lua_State *L, int index, struct neap_param *param,
		       struct neap_error *err)
{
	lua_Integer count = lua_istable(L, index) ? (lua_Integer)lua_rawlen(L, index) : 0;

	if (count < 1 || count > NEAP_PARAM_VALUES - 1)
		return bad_field(param, "values", err,
				 "an enum needs a list of 1 to 15 texts");
	for (lua_Integer i = 1; i <= count; i++) {
		char *to = param->values[i - 1];

		lua_rawgeti(L, index, i);
		if (lua_type(L, -1) != LUA_TSTRING || !lua_rawlen(L, -1) ||
		    !neap_strcopy(to, sizeof(param->values[0]), lua_tostring(L, -1)))
			return bad_field(param, "values", err,
					 "every value is a text of 1 to 47 bytes");
		lua_pop(L, 1);
	}
	return 0;
}

static int read_unit(lua_State *L, int index, struct neap_param *param,
		     struct neap_error *err)
{
	const char *unit =
		lua_type(L, index) == LUA_TSTRING ? lua_tostring(L, index) : "";

	param->is_milli = strcmp(unit, "milli") == 0;
	if (param->type != NEAP_PARAM_QUANTITY ||
	    (!param->is_milli && strcmp(unit, "bytes") != 0))
		return bad_field(param, "unit", err,
				 "only a quantity has a unit: \"milli\" or \"bytes\"");
	return 0;
}

static int read_type(lua_State *L, int index, struct neap_param *param,
		     struct neap_error *err)
{
	const char *type = "";

	if (neap_lua_get(L, index, "type") == LUA_TSTRING)
		type = lua_tostring(L, -1);
	for (int i = 0; i < NEAP_PARAM_TYPE_COUNT; i++) {
		if (strcmp(type, neap_param_types[i].name) != 0)
			continue;
		param->type = (enum neap_param_type)i;
		lua_pop(L, 1);
		return 0;
	}
	return bad_field(
		param, "type", err,
		"known types: integer, number, boolean, string, enum, percent, quantity, "
		"duration");
}

/* The rest of a row, each key in the order in which the next ones need it. */
static int read_rest(lua_State *L, int index, struct neap_param *param,
		     struct neap_error *err)
{
	struct neap_param_value *const bounds[] = {&param->min, &param->max};
	static const char *const bound_names[] = {"min", "max"};
	int rc;

	if (neap_lua_get(L, index, "doc") != LUA_TSTRING || !lua_rawlen(L, -1))
		return bad_field(param, "doc", err,
				 "every parameter says in one text what it does");
	(void)neap_strcopy(param->doc, sizeof(param->doc),
			   lua_tostring(L, -1)); /* cut is fine */

	if (neap_lua_get(L, index, "unit") != LUA_TNIL) {
		rc = read_unit(L, lua_gettop(L), param, err);
		if (rc < 0)
			return rc;
	}
	neap_lua_get(L, index, "values");
	if (param->type == NEAP_PARAM_ENUM || !lua_isnil(L, -1)) {
		if (param->type != NEAP_PARAM_ENUM)
			return bad_field(param, "values", err, "only an enum has values");
		rc = read_values(L, lua_gettop(L), param, err);
		if (rc < 0)
			return rc;
	}
	if (param->type == NEAP_PARAM_PERCENT)
		param->max = (struct neap_param_value){.is_set = true, .integer = 100};
	if (param->type == NEAP_PARAM_PERCENT)
		param->min = (struct neap_param_value){.is_set = true, .integer = 0};
	for (size_t i = 0; i < NEAP_ARRAY_LEN(bounds); i++) {
		struct neap_param_value bound;

		if (neap_lua_get(L, index, bound_names[i]) == LUA_TNIL)
			continue;
		if (!neap_param_types[param->type].has_range)
			return bad_field(param, bound_names[i], err,
					 "this type has no range");
		*bounds[i] = (struct neap_param_value){0};
		rc = neap_param_read_value(L, lua_gettop(L), param, &bound, err);
		if (rc < 0)
			return rc;
		*bounds[i] = bound;
	}
	if (neap_lua_get(L, index, "default") != LUA_TNIL) {
		rc = neap_param_read_value(L, lua_gettop(L), param, &param->default_value,
					   err);
		if (rc < 0)
			return rc;
	}
	param->value = param->default_value;
	return 0;
}

static bool is_name(const char *text)
{
	return text[0] &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(text);
}

static int read_row(lua_State *L, int index, struct neap_param *param,
		    struct neap_error *err)
{
	int rc;

	if (!lua_istable(L, index))
		return bad_field(param, "", err,
				 "a parameter is a table such as { type = "
				 "\"percent\", default = 65, doc = \"...\" }");
	lua_pushnil(L);
	while (lua_next(L, index)) {
		const char *key =
			lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?";
		int i = 0;

		while (schema_keys[i] && strcmp(schema_keys[i], key) != 0)
			i++;
		if (!schema_keys[i])
			return bad_field(
				param, key, err,
				"known: type, default, min, max, unit, values, doc");
		lua_pop(L, 1);
	}
	rc = read_type(L, index, param, err);
	return rc < 0 ? rc : read_rest(L, index, param, err);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct neap_param *)a)->name,
		      ((const struct neap_param *)b)->name);
}

int neap_params_read(lua_State *L, int index, struct neap_params *params,
		     struct neap_error *err)
{
	struct neap_param *fitting;
	int top = lua_gettop(L);

	if (lua_isnil(L, index))
		return 0;
	if (!lua_istable(L, index))
		return neap_error_set(
			err, NEAP_EINVAL,
			"field 'params': a table of parameters is wanted, this is a %s",
			luaL_typename(L, index));
	luaL_checkstack(L, 16, NULL);
	params->rows = neap_alloc_array(NEAP_PARAMS_MAX, sizeof(*params->rows));
	if (!params->rows)
		return neap_error_nomem(err);

	lua_pushnil(L);
	while (lua_next(L, index)) {
		struct neap_param *param = &params->rows[params->count];
		int rc;

		if (params->count == NEAP_PARAMS_MAX)
			return neap_error_set(err, NEAP_EINVAL,
					      "field 'params': at most %d parameters",
					      NEAP_PARAMS_MAX);
		if (lua_type(L, -2) != LUA_TSTRING || !is_name(lua_tostring(L, -2)) ||
		    !neap_strcopy(param->name, sizeof(param->name), lua_tostring(L, -2)))
			return neap_error_set(
				err, NEAP_EINVAL,
				"field 'params': a name has 1 to 47 of a-z, 0-9, _");
		rc = read_row(L, lua_gettop(L), param, err);
		if (rc < 0)
			return rc;
		params->count++;
		lua_settop(
			L,
			top + 2); /* index is absolute: only the key stays after the next line */
		lua_pop(L, 1);
	}
	fitting = neap_realloc_array(params->rows, params->count + 1,
				     sizeof(*params->rows));
	params->rows = fitting ? fitting : params->rows;
	/* The order of lua_next differs from process to process. */
	qsort(params->rows, params->count, sizeof(*params->rows), compare_names);
	return 0;
}

/* --- values --- */

static int unknown(const struct neap_params *params, const char *name,
		   struct neap_error *err)
{
	neap_auto_buf struct neap_buf known;

	neap_buf_init(&known, NEAP_BUF_LINE);
	for (size_t i = 0; i < params->count; i++)
		neap_buf_addf(&known, "%s%s", i ? ", " : "", params->rows[i].name);
	return neap_error_set(err, NEAP_ENOTFOUND,
			      "there is no parameter '%.48s'; known: %s", name,
			      params->count ? known.data : "none");
}

int neap_params_set_text(struct neap_params *params, const char *name, const char *text,
			 struct neap_error *err)
{
	struct neap_param *param = find(params, name);

	if (!param)
		return unknown(params, name, err);
	if (!text[0] && !param->default_value.is_set &&
	    param->type != NEAP_PARAM_STRING) {
		param->value.is_set = false;
		return 0;
	}
	return neap_param_parse(param, text, &param->value, err);
}

int neap_params_set_lua(lua_State *L, int index, struct neap_params *params,
			struct neap_error *err)
{
	if (!lua_istable(L, index))
		return neap_error_set(err, NEAP_EINVAL,
				      "params: a table is wanted, this is a %s",
				      luaL_typename(L, index));
	lua_pushnil(L);
	while (lua_next(L, index)) {
		const char *name =
			lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?";
		struct neap_param *param = find(params, name);
		int rc;

		if (!param)
			return unknown(params, name, err);
		rc = neap_param_read_value(L, lua_gettop(L), param, &param->value, err);
		if (rc < 0)
			return rc;
		lua_pop(L, 1);
	}
	return 0;
}

void neap_params_fill(lua_State *L, const struct neap_params *params)
{
	for (size_t i = 0; i < params->count; i++) {
		neap_param_push(L, &params->rows[i]);
		lua_setfield(L, -2, params->rows[i].name);
	}
}

json_t *neap_params_values_json(const struct neap_params *params)
{
	json_t *ret = json_object();

	for (size_t i = 0; ret && i < params->count; i++) {
		const struct neap_param *param = &params->rows[i];

		if (json_object_set_new(ret, param->name,
					neap_param_json(param, &param->value)) < 0) {
			json_decref(ret);
			return NULL;
		}
	}
	return ret;
}

/* Adds a value that may be unset; false without memory. */
static bool add_bound(json_t *row, const char *key, const struct neap_param *param,
		      const struct neap_param_value *value)
{
	return !value->is_set ||
	       json_object_set_new(row, key, neap_param_json(param, value)) == 0;
}

static json_t *row_json(const struct neap_param *param)
{
	json_t *row = json_pack("{s:s, s:s}", "type", neap_param_types[param->type].name,
				"doc", param->doc);
	json_t *values = NULL;
	bool ok = row && add_bound(row, "default", param, &param->default_value) &&
		  add_bound(row, "min", param, &param->min) &&
		  add_bound(row, "max", param, &param->max);

	if (ok && param->type == NEAP_PARAM_QUANTITY)
		ok = json_object_set_new(
			     row, "unit",
			     json_string(param->is_milli ? "milli" : "bytes")) == 0;
	if (ok && param->type == NEAP_PARAM_ENUM) {
		values = json_array();
		ok = json_object_set_new(row, "values", values) == 0;
	}
	for (int i = 0; ok && i < NEAP_PARAM_VALUES && param->values[i][0]; i++)
		ok = json_array_append_new(values, json_string(param->values[i])) == 0;
	if (!ok) {
		json_decref(row);
		return NULL;
	}
	return row;
}

json_t *neap_params_schema_json(const struct neap_params *params)
{
	json_t *ret = json_object();

	for (size_t i = 0; ret && i < params->count; i++) {
		const struct neap_param *param = &params->rows[i];

		if (json_object_set_new(ret, param->name, row_json(param)) < 0) {
			json_decref(ret);
			return NULL;
		}
	}
	return ret;
}
