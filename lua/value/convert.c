/* SPDX-License-Identifier: Apache-2.0
 *
 * C structs as Lua tables and back. Tables are always new, so a script may keep or change
 * them without affecting C. */
#include "lua/value/convert.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>

#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/machine/key.h"
#include "lua/value/objects.h"
#include "lua/vm/vm.h"

/* Elements of one list in an example. */
#define LIST_MAX 4096

static const void *member(const void *base, size_t offset)
{
	return (const char *)base + offset;
}

/* --- names --- */

static void print_known(const struct neap_known *known, const char *wrong, char *buf,
			size_t size)
{
	const char *guess = NULL, *name;
	size_t best = strnlen(wrong, 64) / 3 + 2;
	size_t len = 0, n;

	for (n = 0; (name = known->name(known->arg, n)) != NULL; n++) {
		size_t d = neap_text_distance(wrong, name);

		/* A unit was left out. */
		if (strlen(wrong) >= 3 && strncmp(wrong, name, strlen(wrong)) == 0)
			d = 1;
		if (d >= best)
			continue;
		best = d;
		guess = name;
	}
	buf[0] = '\0';
	if (guess)
		len = (size_t)snprintf(buf, size, "did you mean '%s'? ", guess);
	for (n = 0; len < size && (name = known->name(known->arg, n)) != NULL; n++)
		len += (size_t)snprintf(buf + len, size - len, "%s%s",
					n == 0 ? "known: " : ", ", name);
}

const char *neap_field_known(const void *fields, size_t n)
{
	return ((const struct neap_field *)fields)[n].name; /* NULL ends a table */
}

void neap_field_print_known(const struct neap_field *fields, const char *wrong, char *buf,
			    size_t size)
{
	print_known(&(struct neap_known){neap_field_known, fields}, wrong, buf, size);
}

/* --- C to Lua --- */

int neap_lua_get(lua_State *L, int index, const char *name)
{
	index = lua_absindex(L, index);
	lua_pushstring(L, name);
	return lua_rawget(L, index);
}

const char *neap_lua_text(lua_State *L, int index)
{
	const char *text =
		lua_type(L, index) == LUA_TSTRING ? lua_tostring(L, index) : NULL;

	return text && strlen(text) == lua_rawlen(L, index) ? text : NULL;
}

const char *neap_lua_name(lua_State *L, int index)
{
	const char *text = neap_lua_text(L, index);

	return text ? text : "?";
}

/* The key is no name at all: "there is no node.capacity; did you mean
 * 'capacity_milli'?" */
static int raise_unknown(lua_State *L, const struct neap_known *known, const char *key)
{
	const char *message = lua_tostring(L, lua_upvalueindex(2));
	const char *rest = strstr(message, "%s");
	char text[200];

	print_known(known, key, text, sizeof(text));
	return luaL_error(
		L, "there is no %s%s; %s",
		lua_pushlstring(L, message, rest ? (size_t)(rest - message) : 0), key,
		text);
}

static bool is_known(const struct neap_known *known, const char *key)
{
	const char *name;

	for (size_t n = 0; (name = known->name(known->arg, n)) != NULL; n++)
		if (strcmp(name, key) == 0)
			return true;
	return false;
}

/* Upvalues: table of names, message, what names there are, or nil. Keys that are there
 * never come here. */
static int strict_index(lua_State *L)
{
	const struct neap_known *known;
	const char *key =
		lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : luaL_typename(L, 2);

	lua_pushvalue(L, 2);
	if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL)
		return 0;
	known = lua_touserdata(L, lua_upvalueindex(3));
	if (known && !is_known(known, key))
		return raise_unknown(L, known, key);
	return luaL_error(L, lua_tostring(L, lua_upvalueindex(2)), key);
}

static void push_strict_meta(lua_State *L, int names, const char *message,
			     const struct neap_known *known)
{
	lua_createtable(L, 0, 2);
	lua_pushvalue(L, names);
	lua_pushstring(L, message);
	if (known)
		lua_pushlightuserdata(L, (void *)known);
	else
		lua_pushnil(L);
	lua_pushcclosure(L, strict_index, 3);
	lua_setfield(L, -2, "__index");
	lua_pushboolean(L, 0);
	lua_setfield(L, -2, "__metatable");
}

void neap_lua_set_strict(lua_State *L, int index, const char *message)
{
	neap_lua_set_strict_of(L, index, message, NULL);
}

void neap_lua_set_strict_of(lua_State *L, int index, const char *message,
			    const struct neap_known *known)
{
	push_strict_meta(L, lua_absindex(L, index), message, known);
	lua_setmetatable(L, -2);
}

/* The metatable of tables with these fields; made once per state. */
static void push_strict(lua_State *L, const struct neap_field *fields, const char *what)
{
	const char *message;

	if (lua_rawgetp(L, LUA_REGISTRYINDEX, fields) != LUA_TNIL)
		return;
	lua_pop(L, 1);

	message = lua_pushfstring(L, "%s has no field '%%s'", what);
	lua_newtable(L);
	for (const struct neap_field *f = fields; f->name; f++) {
		lua_pushboolean(L, 1);
		lua_setfield(L, -2, f->name);
	}
	push_strict_meta(L, lua_gettop(L), message, NULL);
	lua_replace(L, -3);
	lua_pop(L, 1);
	lua_pushvalue(L, -1);
	lua_rawsetp(L, LUA_REGISTRYINDEX, fields);
}

static void push_list(lua_State *L, const struct neap_field *field, const void *base)
{
	const char *const *elements = member(base, field->offset);
	const size_t *count = member(base, field->count_offset);

	lua_createtable(L, (int)*count, 0);
	for (size_t i = 0; i < *count; i++) {
		neap_lua_push_struct(L, field->fields,
				     *elements + i * field->element_size, field->name);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
}

static void push_keys(lua_State *L, uint32_t mask)
{
	lua_newtable(L);
	for (int key = 0; key < NEAP_KEY_COUNT; key++) {
		if (!(mask >> key & 1))
			continue;
		lua_pushboolean(L, 1);
		lua_setfield(L, -2, neap_key_get((enum neap_key)key)->name);
	}
}

static void push_text(lua_State *L, const char *text)
{
	if (text && text[0])
		lua_pushstring(L, text);
	else
		lua_pushnil(L);
}

void neap_lua_push_field(lua_State *L, const struct neap_field *field, const void *base)
{
	const void *at = member(base, field->offset);

	luaL_checkstack(L, 10, NULL);
	switch (field->type) {
	case NEAP_FIELD_INT:
		if (*(const int64_t *)at == NEAP_MISSING)
			lua_pushnil(L);
		else
			lua_pushinteger(L, *(const int64_t *)at);
		return;
	case NEAP_FIELD_REAL:
		if (isnan(*(const double *)at))
			lua_pushnil(L);
		else
			lua_pushnumber(L, *(const double *)at);
		return;
	case NEAP_FIELD_BOOL:
		lua_pushboolean(L, *(const bool *)at);
		return;
	case NEAP_FIELD_TEXT:
		push_text(L, at);
		return;
	case NEAP_FIELD_NAME:
		push_text(L, *(const char *const *)at);
		return;
	case NEAP_FIELD_CPUSET:
		neap_lua_push_cpuset(L, at);
		return;
	case NEAP_FIELD_TOPOLOGY:
		if (*(struct neap_topology *const *)at)
			neap_lua_push_topology(L, *(struct neap_topology *const *)at);
		else
			lua_pushnil(L);
		return;
	case NEAP_FIELD_STRUCT:
		neap_lua_push_struct(L, field->fields, at, field->name);
		return;
	case NEAP_FIELD_LIST:
		push_list(L, field, base);
		return;
	case NEAP_FIELD_KEYS:
		push_keys(L, *(const uint32_t *)at);
		return;
	}
	lua_pushnil(L);
}

void neap_lua_push_struct(lua_State *L, const struct neap_field *fields, const void *base,
			  const char *what)
{
	luaL_checkstack(L, 10, NULL);
	lua_createtable(L, 0, 16);
	for (const struct neap_field *f = fields; f->name; f++) {
		neap_lua_push_field(L, f, base);
		lua_setfield(L, -2, f->name);
	}
	push_strict(L, fields, what);
	lua_setmetatable(L, -2);
}

/* --- Lua to C --- */

void neap_struct_clear(const struct neap_field *fields, void *base)
{
	for (const struct neap_field *f = fields; f->name; f++) {
		void *at = (char *)base + f->offset;

		if (f->type == NEAP_FIELD_INT)
			*(int64_t *)at = NEAP_MISSING;
		else if (f->type == NEAP_FIELD_REAL)
			*(double *)at = NAN;
		else if (f->type == NEAP_FIELD_STRUCT)
			neap_struct_clear(f->fields, at);
	}
}

void neap_struct_done(const struct neap_field *fields, void *base)
{
	for (const struct neap_field *f = fields; f->name; f++) {
		void *at = (char *)base + f->offset;

		if (f->type == NEAP_FIELD_LIST) {
			free(*(void **)at);
			*(void **)at = NULL;
			*(size_t *)((char *)base + f->count_offset) = 0;
		} else if (f->type == NEAP_FIELD_TOPOLOGY &&
			   *(struct neap_topology **)at) {
			*(struct neap_topology **)at =
				neap_topology_unref(*(struct neap_topology **)at);
		}
	}
}

static int mismatch(const char *name, const char *wanted, struct neap_error *err)
{
	return neap_error_set(err, NEAP_EINVAL, "field '%s': %s is wanted", name, wanted);
}

static int read_cpuset(lua_State *L, int index, const char *name, struct neap_cpuset *ret,
		       struct neap_error *err)
{
	int rc;

	if (neap_lua_to_cpuset(L, index, ret))
		return 0;
	if (!neap_lua_text(L, index))
		return mismatch(name, "a CPU list such as \"0-3,8\"", err);
	rc = neap_cpuset_parse(ret, neap_lua_text(L, index), err);
	return rc < 0 ? neap_error_wrap(err, "field '%s'", name) : 0;
}

static int read_list(lua_State *L, int index, const struct neap_field *field, void *base,
		     struct neap_error *err)
{
	char **elements = (void *)((char *)base + field->offset);
	size_t *count = (void *)((char *)base + field->count_offset);
	size_t wanted = lua_istable(L, index) ? lua_rawlen(L, index) : LIST_MAX + 1;

	if (wanted > LIST_MAX)
		return mismatch(field->name, "a list of at most 4096 tables", err);
	free(*elements);
	*elements = neap_alloc_array(wanted ? wanted : 1, field->element_size);
	*count = 0;
	if (!*elements)
		return neap_error_nomem(err);
	for (size_t i = 0; i < wanted; i++) {
		char *element = *elements + i * field->element_size;
		int rc;

		neap_struct_clear(field->fields, element);
		lua_rawgeti(L, index, (lua_Integer)i + 1);
		rc = neap_lua_read_struct(L, lua_gettop(L), field->fields, element, err);
		if (rc < 0)
			return neap_error_wrap(err, "%s[%zu]", field->name, i + 1);
		lua_pop(L, 1);
		*count = i + 1;
	}
	return 0;
}

/* { ["cpu.idle"] = true } or { "cpu.idle" } */
static int read_keys(lua_State *L, int index, const struct neap_field *field,
		     uint32_t *ret, struct neap_error *err)
{
	*ret = 0;
	if (!lua_istable(L, index))
		return mismatch(field->name, "a table of key names", err);
	lua_pushnil(L);
	while (lua_next(L, index)) {
		int at = lua_type(L, -2) == LUA_TNUMBER ? -1 : -2;
		bool is_on = at == -1 || lua_toboolean(L, -1);
		enum neap_key key = neap_key_find(neap_lua_name(L, at));
		int rc = neap_vm_spend_step(L, err);

		if (rc < 0)
			return rc;
		if (key == NEAP_KEY_COUNT)
			return mismatch(field->name,
					"the name of a key such as \"cpu.idle\"", err);
		if (is_on)
			*ret |= 1u << key;
		lua_pop(L, 1);
	}
	return 0;
}

/* A text member ends where the next one of the struct could begin: its size is not in the
 * table, so the smallest of all is used. */
#define TEXT_MAX 128

static int read_number(lua_State *L, int index, const struct neap_field *field, void *at,
		       struct neap_error *err)
{
	int ok = 0;

	if (lua_type(L, index) != LUA_TNUMBER)
		return mismatch(field->name, "a number", err);
	if (field->type == NEAP_FIELD_REAL) {
		*(double *)at = lua_tonumber(L, index);
		return 0;
	}
	*(int64_t *)at = lua_tointegerx(L, index, &ok);
	return ok ? 0 : mismatch(field->name, "a whole number", err);
}

static int read_field(lua_State *L, int index, const struct neap_field *field, void *base,
		      struct neap_error *err)
{
	void *at = (char *)base + field->offset;
	const char *text;
	int rc;

	switch (field->type) {
	case NEAP_FIELD_INT:
	case NEAP_FIELD_REAL:
		return read_number(L, index, field, at, err);
	case NEAP_FIELD_BOOL:
		if (!lua_isboolean(L, index))
			return mismatch(field->name, "true or false", err);
		*(bool *)at = lua_toboolean(L, index);
		return 0;
	case NEAP_FIELD_TEXT:
		text = neap_lua_text(L, index);
		if (!text || !neap_strcopy(at, TEXT_MAX, text))
			return mismatch(field->name, "a text of less than 128 bytes",
					err);
		return 0;
	case NEAP_FIELD_NAME:
		text = neap_lua_text(L, index);
		if (!text)
			return mismatch(field->name, "a text", err);
		*(const char **)at = text; /* the example's table keeps it */
		return 0;
	case NEAP_FIELD_CPUSET:
		return read_cpuset(L, index, field->name, at, err);
	case NEAP_FIELD_TOPOLOGY:
		if (*(struct neap_topology **)at)
			*(struct neap_topology **)at =
				neap_topology_unref(*(struct neap_topology **)at);
		return neap_lua_read_topology(L, index, at, err);
	case NEAP_FIELD_STRUCT:
		rc = neap_lua_read_struct(L, index, field->fields, at, err);
		return rc < 0 ? neap_error_wrap(err, "%s", field->name) : 0;
	case NEAP_FIELD_LIST:
		return read_list(L, index, field, base, err);
	case NEAP_FIELD_KEYS:
		return read_keys(L, index, field, at, err);
	}
	return 0;
}

static int read_members(lua_State *L, int index, const struct neap_field *fields,
			void *base, struct neap_error *err)
{
	int key_at;

	luaL_checkstack(L, 10, NULL);
	if (!lua_istable(L, index))
		return neap_error_set(err, NEAP_EINVAL, "a table is wanted, this is a %s",
				      luaL_typename(L, index));
	lua_pushnil(L);
	key_at = lua_gettop(L);
	while (lua_next(L, index)) {
		const char *key = neap_lua_name(L, -2);
		const struct neap_field *f = fields;
		char known[160];
		int rc = neap_vm_spend_step(L, err);

		if (rc < 0)
			return rc;
		while (f->name && strcmp(f->name, key) != 0)
			f++;
		if (!f->name) {
			neap_field_print_known(fields, key, known, sizeof(known));
			return neap_error_set(err, NEAP_EINVAL,
					      "there is no field '%.40s'; %s", key,
					      known);
		}
		rc = read_field(L, lua_gettop(L), f, base, err);
		if (rc < 0)
			return rc;
		lua_settop(L, key_at);
	}
	return 0;
}

int neap_lua_read_struct(lua_State *L, int index, const struct neap_field *fields,
			 void *base, struct neap_error *err)
{
	int top = lua_gettop(L), rc;

	rc = read_members(L, index, fields, base, err);
	lua_settop(L, top);
	return rc;
}
