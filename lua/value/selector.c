/* SPDX-License-Identifier: Apache-2.0
 *
 * The selector object: a label selector with one method. Its own bytes are in the Lua
 * state and count against the memory ceiling; it can also show a borrowed selector. */
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>

#include "engine/base/selector.h"
#include "lua/value/convert.h"
#include "lua/value/objects.h"
#include "lua/vm/vm.h"
#include "lua/vm/vm_priv.h"

#define SELECTOR_TYPE "neap.Selector"

/* Of a table that is to become a selector: tables, numbers and texts in it, and bytes of
 * these. */
#define VALUES_MAX 2000
#define BYTES_MAX  ((size_t)128 * 1024)

/* {} of Lua is an empty list for JSON. */
static int make_object(json_t *parent, const char *key, json_t **root,
		       struct neap_error *err)
{
	const json_t *value = parent ? json_object_get(parent, key) : *root;
	json_t *empty;

	if (!json_is_array(value) || json_array_size(value))
		return 0;
	empty = json_object();
	if (!empty || (parent && json_object_set_new(parent, key, empty) < 0))
		return neap_error_nomem(err);
	if (!parent) {
		json_decref(*root);
		*root = empty;
	}
	return 0;
}

int neap_lua_read_labels_json(lua_State *L, int index, json_t **ret,
			      struct neap_error *err)
{
	json_t *json = NULL;
	int rc = neap_lua_to_json_within(L, index, VALUES_MAX, BYTES_MAX, &json, err);

	rc = rc < 0 ? rc : make_object(NULL, NULL, &json, err);
	rc = rc < 0 ? rc : make_object(json, "matchLabels", NULL, err);
	if (rc < 0) {
		json_decref(json);
		return rc;
	}
	*ret = json;
	return 0;
}

/* Does not raise. */
static int read_selector(lua_State *L, int index, struct neap_selector **ret,
			 struct neap_error *err)
{
	json_t *json = NULL;
	int rc = neap_lua_read_labels_json(L, index, &json, err);

	rc = rc < 0 ? rc : neap_selector_parse(json, ret, err);
	json_decref(json);
	return rc;
}

struct object {
	const struct neap_selector *selector; /* NULL: none (any more) */
};

static struct object *push_object(lua_State *L, size_t bytes)
{
	struct object *object = lua_newuserdatauv(L, sizeof(*object) + bytes, 0);

	object->selector = NULL;
	luaL_setmetatable(L, SELECTOR_TYPE);
	return object;
}

const struct neap_selector **neap_lua_new_selector(lua_State *L)
{
	return &push_object(L, 0)->selector;
}

const struct neap_selector *neap_lua_to_selector(lua_State *L, int index)
{
	const struct object *object = luaL_testudata(L, index, SELECTOR_TYPE);

	return object ? object->selector : NULL;
}

static void push_own(lua_State *L, const struct neap_selector *selector)
{
	size_t size = neap_selector_size(selector);
	struct object *object = push_object(L, size);

	object->selector = memcpy(object + 1, selector, size);
}

/* Puts the selector of the block at the top in the block's place. */
static void push_copy(lua_State *L, void **block)
{
	push_own(L, *block);
	neap_lua_drop_block(block);
	lua_remove(L, -2);
}

void neap_lua_push_selector(lua_State *L, const json_t *json)
{
	void **block = neap_lua_new_block(L);
	struct neap_selector *selector = NULL;
	struct neap_error err;

	if (neap_selector_parse(json, &selector, &err) < 0)
		neap_vm_raise_nomem(L); /* nothing else: it was checked */
	*block = selector;
	push_copy(L, block);
}

int neap_lua_selector_new(lua_State *L)
{
	struct neap_selector *selector = NULL;
	struct neap_error err;
	void **block;

	luaL_checktype(L, 1, LUA_TTABLE);
	luaL_checkstack(L, 10, NULL);
	neap_vm_check(L);
	block = neap_lua_new_block(L);
	if (read_selector(L, 1, &selector, &err) < 0) {
		if (err.code == NEAP_ENOMEM)
			neap_vm_raise_nomem(L);
		luaL_pushfail(L);
		lua_pushfstring(L, "%s%s%s", err.field, err.field[0] ? ": " : "",
				err.msg);
		return 2;
	}
	*block = selector;
	push_copy(L, block);
	return 1;
}

/* arg: the state, with the table of labels at index 3. */
static bool get_label(void *arg, const char *key, const char **ret_value, size_t *ret_len)
{
	lua_State *L = arg;
	int type;

	lua_pushstring(L, key);
	type = lua_rawget(L, 3);
	if (type != LUA_TNIL && type != LUA_TSTRING)
		luaL_error(L, "label '%s' is a %s: a string is wanted", key,
			   luaL_typename(L, -1));
	*ret_value = type == LUA_TNIL ? NULL : lua_tolstring(L, -1, ret_len);
	lua_pop(L, 1); /* the table keeps it */
	return type == LUA_TSTRING;
}

static bool get_none(void *arg, const char *key, const char **ret_value, size_t *ret_len)
{
	(void)arg;
	(void)key;
	(void)ret_value;
	(void)ret_len;
	return false;
}

/* selector:matches(labels) -> boolean */
static int selector_matches(lua_State *L)
{
	const struct object *object = luaL_checkudata(L, 1, SELECTOR_TYPE);
	bool has_labels = !lua_isnoneornil(L, 2);

	neap_vm_check(L);
	if (!object->selector)
		return luaL_argerror(
			L, 1, "it is of a reservation that is not at hand any more");
	if (has_labels)
		luaL_checktype(L, 2, LUA_TTABLE);
	lua_settop(L, 2);
	(void)neap_sandbox_push_thawed(L, 2);
	lua_pushboolean(L,
			neap_selector_matches_with(object->selector,
						   has_labels ? get_label : get_none, L));
	return 1;
}

static const luaL_Reg selector_methods[] = {
	{"matches", selector_matches},
	{NULL, NULL},
};

void neap_lua_open_selector(lua_State *L)
{
	luaL_newmetatable(L, SELECTOR_TYPE);
	luaL_newlib(L, selector_methods);
	lua_setfield(L, -2, "__index");
	lua_pushboolean(L, 0);
	lua_setfield(L, -2, "__metatable");
	lua_pop(L, 1);
}
