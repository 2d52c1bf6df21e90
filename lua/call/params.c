/* SPDX-License-Identifier: Apache-2.0
 *
 * All parameters of a policy together: reading, setting, showing. */
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "lua/call/params_priv.h"
#include "lua/value/convert.h"

void neap_params_done(struct neap_params *params)
{
	for (size_t i = 0; i < params->count; i++)
		neap_param_done(&params->rows[i]);
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

bool neap_param_is_name(const char *text)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
	size_t len = strlen(text);

	return len && len < 48 && strspn(text, letters) == len;
}

int neap_param_compare(const void *a, const void *b)
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
		if (lua_type(L, -2) != LUA_TSTRING ||
		    !neap_param_is_name(neap_lua_name(L, -2)) ||
		    !neap_strcopy(param->name, sizeof(param->name), neap_lua_name(L, -2)))
			return neap_error_set(
				err, NEAP_EINVAL,
				"field 'params': a name has 1 to 47 letters, digits and _");
		params->count++; /* what it holds is dropped with the others */
		rc = neap_param_read_schema(L, lua_gettop(L), param, err);
		if (rc < 0)
			return rc;
		lua_settop(L,
			   /* index is absolute: only the key stays after the next line */
			   top + 2);
		lua_pop(L, 1);
	}
	fitting = neap_realloc_array(params->rows, params->count + 1,
				     sizeof(*params->rows));
	params->rows = fitting ? fitting : params->rows;
	/* The order of lua_next differs from process to process. */
	qsort(params->rows, params->count, sizeof(*params->rows), neap_param_compare);
	return 0;
}

/* --- values --- */

static int unknown(const struct neap_params *params, const char *name,
		   struct neap_error *err)
{
	neap_auto_buf struct neap_buf known = {0};

	neap_buf_init(&known, NEAP_BUF_LINE);
	for (size_t i = 0; i < params->count; i++)
		neap_buf_addf(&known, "%s%s", i ? ", " : "", params->rows[i].name);
	return neap_error_field(err, NEAP_ENOTFOUND, name,
				"there is no parameter '%.48s'; known: %s", name,
				params->count ? known.data : "none");
}

int neap_params_dup(const struct neap_params *params, struct neap_params *ret,
		    struct neap_error *err)
{
	struct neap_params copy = {0};

	copy.rows = neap_alloc_array(params->count + 1, sizeof(*copy.rows));
	if (!copy.rows)
		return neap_error_nomem(err);
	for (; copy.count < params->count; copy.count++) {
		const struct neap_param *from = &params->rows[copy.count];
		struct neap_param *to = &copy.rows[copy.count];

		*to = *from;
		to->kids = neap_param_kids_ref(from->kids);
		neap_param_value_copy(&to->value, &from->value);
		neap_param_value_copy(&to->default_value, &from->default_value);
	}
	*ret = copy;
	return 0;
}

int neap_params_check(const struct neap_params *params, struct neap_error *err)
{
	for (size_t i = 0; i < params->count; i++) {
		const struct neap_param *param = &params->rows[i];

		if (param->is_required && !param->value.is_set)
			return neap_error_field(err, NEAP_EINVAL, param->name,
						"parameter '%s' is required: %.100s",
						param->name, param->doc);
	}
	return 0;
}

int neap_params_set_text(struct neap_params *params, const char *name, const char *text,
			 struct neap_error *err)
{
	struct neap_param *param = find(params, name);
	struct neap_param_value value = {0};
	int rc = 0;

	if (!param)
		return unknown(params, name, err);
	if (text[0] || param->default_value.is_set || param->type == NEAP_PARAM_STRING)
		rc = neap_param_parse(param, text, &value, err);
	if (rc == 0)
		neap_param_value_take(&param->value, &value);
	return rc;
}

int neap_params_set_json(struct neap_params *params, const json_t *values,
			 struct neap_error *err)
{
	const char *name;
	json_t *json;

	if (!json_is_object(values))
		return neap_error_set(err, NEAP_EINVAL,
				      "params: an object of values by name is wanted");
	json_object_foreach ((json_t *)values, name, json) {
		struct neap_param *param = find(params, name);
		struct neap_param_value value = {0};
		int rc;

		if (!param)
			return unknown(params, name, err);
		if (json_is_null(json)) {
			neap_param_value_copy(&value, &param->default_value);
		} else {
			rc = neap_param_parse_json(param, json, &value, err);
			if (rc < 0)
				return rc;
		}
		neap_param_value_take(&param->value, &value);
	}
	return 0;
}

void neap_params_reset(struct neap_params *params)
{
	for (size_t i = 0; i < params->count; i++) {
		struct neap_param_value value;

		neap_param_value_copy(&value, &params->rows[i].default_value);
		neap_param_value_take(&params->rows[i].value, &value);
	}
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
		const char *name = neap_lua_name(L, -2);
		struct neap_param *param = find(params, name);
		struct neap_param_value value = {0};
		int rc;

		if (!param)
			return unknown(params, name, err);
		rc = neap_param_read_value(L, lua_gettop(L), param, &value, err);
		if (rc < 0)
			return rc;
		neap_param_value_take(&param->value, &value);
		lua_pop(L, 1);
	}
	return 0;
}

void neap_params_fill(lua_State *L, const struct neap_params *params)
{
	for (size_t i = 0; i < params->count; i++) {
		neap_param_push(L, &params->rows[i], &params->rows[i].value);
		lua_setfield(L, -2, params->rows[i].name);
	}
}

static json_t *rows_json(const struct neap_params *params, bool is_schema)
{
	json_t *ret = json_object();

	for (size_t i = 0; ret && i < params->count; i++) {
		const struct neap_param *param = &params->rows[i];
		json_t *one = is_schema ? neap_param_schema_json(param)
					: neap_param_json(param, &param->value);

		if (json_object_set_new(ret, param->name, one) < 0) {
			json_decref(ret);
			return NULL;
		}
	}
	return ret;
}

json_t *neap_params_values_json(const struct neap_params *params)
{
	return rows_json(params, false);
}

json_t *neap_params_schema_json(const struct neap_params *params)
{
	return rows_json(params, true);
}
