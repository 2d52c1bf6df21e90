/* SPDX-License-Identifier: Apache-2.0
 *
 * The schema of one parameter: what its row in `params` may contain, and how it is
 * shown. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>

#include "engine/base/mem.h"
#include "engine/base/utf8.h"
#include "engine/json/json.h"
#include "lua/call/params_priv.h"
#include "lua/value/convert.h"

static const char *const schema_keys[] = {
	"type",      "default", "min",      "max",    "unit",        "values", "of",
	"max_items", "doc",     "required", "fields", "at_most_one", NULL};
static const char *const of_keys[] = {"type",   "min",    "max",         "unit",
				      "values", "fields", "at_most_one", NULL};

struct neap_param_kids *neap_param_kids_new(size_t count)
{
	struct neap_param_kids *kids =
		neap_alloc(sizeof(*kids) + count * sizeof(kids->rows[0]));

	if (kids)
		kids->refs = 1;
	return kids;
}

struct neap_param_kids *neap_param_kids_ref(struct neap_param_kids *kids)
{
	if (kids)
		(void)atomic_fetch_add_explicit(&kids->refs, 1, memory_order_relaxed);
	return kids;
}

void neap_param_kids_unref(struct neap_param_kids *kids)
{
	if (!kids || atomic_fetch_sub_explicit(&kids->refs, 1, memory_order_acq_rel) > 1)
		return;
	for (size_t i = 0; i < kids->count; i++)
		neap_param_done(&kids->rows[i]);
	free(kids);
}

void neap_param_done(struct neap_param *param)
{
	neap_param_value_done(&param->value);
	neap_param_value_done(&param->default_value);
	neap_param_kids_unref(param->kids);
	param->kids = NULL;
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
				 "an enum needs a list of 1 to 31 texts");
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
		    (of[0] && (i == NEAP_PARAM_LIST || i == NEAP_PARAM_MAP)))
			continue;
		param->type = (enum neap_param_type)i;
		return 0;
	}
	return bad_field(
		param, of, "type", err,
		of[0] ? "known types of elements: integer, number, boolean, "
			"string, enum, percent, quantity, duration, time, zone, "
			"selector, object"
		      : "known types: integer, number, boolean, string, enum, "
			"percent, quantity, duration, time, zone, selector, list, "
			"map, object");
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
					 of[0] ? "known: type, min, max, unit, values, "
						 "fields, at_most_one"
					       : "known: type, default, min, max, unit, "
						 "values, of, max_items, doc, required, "
						 "fields, at_most_one");
		lua_pop(L, 1);
	}
	return 0;
}

static int read_fields(lua_State *L, int index, struct neap_param *param, const char *of,
		       int depth, struct neap_error *err);

/* of = "percent" or of = { type = "percent", max = 50 }. */
static int read_of(lua_State *L, int index, struct neap_param *param, int depth,
		   struct neap_error *err)
{
	struct neap_param *of;
	int rc;

	param->kids = neap_param_kids_new(1);
	if (!param->kids)
		return neap_error_nomem(err);
	param->kids->count = 1;
	of = &param->kids->rows[0];
	memcpy(of->name, param->name, sizeof(param->name));
	of->key_at = param->key_at;
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
	rc = rc < 0 ? rc : read_form(L, index, of, "of.", err);
	return rc < 0 ? rc : read_fields(L, index, of, "of.", depth, err);
}

static int read_items(lua_State *L, int index, struct neap_param *param, int depth,
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
		rc = read_of(L, lua_gettop(L), param, depth, err);
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

/* One row; the doc of a field may be missing. */
static int read_row(lua_State *L, int index, struct neap_param *param, int depth,
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
	if (neap_lua_get(L, index, "doc") != LUA_TNIL || !depth) {
		if (!get_text(L, -1))
			return bad_field(
				param, "", "doc", err,
				"every parameter says in one text (UTF-8) what it does");
		(void)neap_strcopy(param->doc, sizeof(param->doc),
				   get_text(L, -1)); /* cut is fine */
	}
	if (neap_lua_get(L, index, "required") != LUA_TNIL && !lua_isboolean(L, -1))
		return bad_field(param, "", "required", err, "true or false is wanted");
	param->is_required = lua_toboolean(L, -1);
	rc = read_items(L, index, param, depth, err);
	rc = rc < 0 ? rc : read_fields(L, index, param, "", depth, err);
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

/* at_most_one = { "include", "exclude" } */
static int read_at_most_one(lua_State *L, int index, struct neap_param *param,
			    const char *of, struct neap_error *err)
{
	size_t count = lua_istable(L, index) ? lua_rawlen(L, index) : 0;

	if (count < 2)
		return bad_field(param, of, "at_most_one", err,
				 "a list of two or more fields is wanted");
	for (size_t i = 1; i <= count; i++) {
		size_t at = 0;

		lua_rawgeti(L, index, (lua_Integer)i);
		while (at < param->kids->count &&
		       strcmp(param->kids->rows[at].name + param->kids->rows[at].key_at,
			      neap_lua_name(L, -1)) != 0)
			at++;
		if (at == param->kids->count)
			return bad_field(param, of, "at_most_one", err,
					 "it names a field that is not there");
		param->at_most_one |= UINT64_C(1) << at;
		lua_pop(L, 1);
	}
	return 0;
}

static int read_field(lua_State *L, struct neap_param *param, const char *of, int depth,
		      struct neap_error *err)
{
	struct neap_param *field = &param->kids->rows[param->kids->count];
	const char *name = neap_lua_name(L, -2);
	int len;

	if (lua_type(L, -2) != LUA_TSTRING || !neap_param_is_name(name))
		return bad_field(param, of, "fields", err,
				 "a name has 1 to 47 letters, digits and _");
	len = snprintf(field->name, sizeof(field->name), "%s.%s", param->name, name);
	if (len >= (int)sizeof(field->name))
		return bad_field(param, of, "fields", err, "the names are too long");
	field->key_at = (uint8_t)(strlen(param->name) + 1);
	param->kids->count++; /* what it holds is dropped with the others */
	return read_row(L, lua_gettop(L), field, depth + 1, err);
}

/* A row takes 3 KB. */
static struct neap_param_kids *fit(struct neap_param_kids *kids)
{
	struct neap_param_kids *fitting = neap_realloc_array(
		kids, 1, sizeof(*kids) + kids->count * sizeof(kids->rows[0]));

	return fitting ? fitting : kids;
}

static int read_fields(lua_State *L, int index, struct neap_param *param, const char *of,
		       int depth, struct neap_error *err)
{
	bool is_object = param->type == NEAP_PARAM_OBJECT;
	int table, rc;

	luaL_checkstack(L, 24, NULL);
	if (neap_lua_get(L, index, "fields") == LUA_TNIL && !is_object) {
		if (neap_lua_get(L, index, "at_most_one") != LUA_TNIL)
			return bad_field(param, of, "at_most_one", err,
					 "only an object has it");
		lua_pop(L, 2);
		return 0;
	}
	if (!is_object)
		return bad_field(param, of, "fields", err, "only an object has fields");
	table = lua_gettop(L);
	if (!lua_istable(L, table) || depth >= NEAP_PARAM_DEPTH)
		return bad_field(param, of, "fields", err,
				 depth >= NEAP_PARAM_DEPTH
					 ? "objects within objects are too deep"
					 : "a table of fields is wanted");
	param->kids = neap_param_kids_new(NEAP_PARAM_FIELDS_MAX);
	if (!param->kids)
		return neap_error_nomem(err);
	lua_pushnil(L);
	while (lua_next(L, table)) {
		if (param->kids->count == NEAP_PARAM_FIELDS_MAX)
			return bad_field(param, of, "fields", err,
					 "at most 64 are taken");
		rc = read_field(L, param, of, depth, err);
		if (rc < 0)
			return rc;
		lua_settop(L, table + 1); /* the key */
	}
	param->kids = fit(param->kids);
	/* The order of lua_next differs from process to process. */
	qsort(param->kids->rows, param->kids->count, sizeof(param->kids->rows[0]),
	      neap_param_compare);
	if (neap_lua_get(L, index, "at_most_one") != LUA_TNIL) {
		rc = read_at_most_one(L, lua_gettop(L), param, of, err);
		if (rc < 0)
			return rc;
	}
	lua_settop(L, table - 1);
	return 0;
}

int neap_param_read_schema(lua_State *L, int index, struct neap_param *param,
			   struct neap_error *err)
{
	return read_row(L, index, param, 0, err);
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

static json_t *fields_json(const struct neap_param *param)
{
	json_t *fields = json_object();

	for (size_t i = 0; fields && i < param->kids->count; i++) {
		const struct neap_param *field = &param->kids->rows[i];

		if (json_object_set_new(fields, field->name + field->key_at,
					neap_param_schema_json(field)) < 0) {
			json_decref(fields);
			return NULL;
		}
	}
	return fields;
}

/* Fields of an object, and of which of them one at most is allowed. */
static bool add_fields(json_t *row, const struct neap_param *param)
{
	json_t *one;

	if (param->type != NEAP_PARAM_OBJECT)
		return true;
	if (json_object_set_new(row, "fields", fields_json(param)) < 0)
		return false;
	if (!param->at_most_one)
		return true;
	one = json_array();
	if (json_object_set_new(row, "at_most_one", one) < 0)
		return false;
	for (size_t i = 0; i < param->kids->count; i++) {
		const struct neap_param *field = &param->kids->rows[i];

		if (param->at_most_one >> i & 1 &&
		    json_array_append_new(one, json_string(field->name + field->key_at)) <
			    0)
			return false;
	}
	return true;
}

static bool add_of(json_t *row, const struct neap_param *param)
{
	const struct neap_param *of = param->kids ? &param->kids->rows[0] : NULL;
	json_t *json;

	if (!of || param->type == NEAP_PARAM_OBJECT)
		return true;
	json = json_object();
	return json_object_set_new(row, "of", json) == 0 && add_form(json, of) &&
	       add_fields(json, of) &&
	       json_object_set_new(row, "max_items", json_integer(param->max_items)) == 0;
}

json_t *neap_param_schema_json(const struct neap_param *param)
{
	json_t *row = json_pack("{s:s}", "doc", param->doc);
	bool ok = row && add_form(row, param) &&
		  add_value(row, "default", param, &param->default_value) &&
		  (!param->is_required ||
		   json_object_set_new(row, "required", json_true()) == 0) &&
		  add_of(row, param) && add_fields(row, param);

	return neap_json_made(ok, row);
}
