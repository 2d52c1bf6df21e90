/* SPDX-License-Identifier: Apache-2.0
 *
 * setmetatable. Lua looks into a metatable in the middle of C, where no hook reaches it,
 * and at any time later: a table that is its own `__call` shifts the whole stack once per
 * link, weak tables make a collection quadratic, a finalizer runs with hooks off. So a
 * script's table never becomes a metatable: a copy does, of the events named here and
 * with a `__call` that is a function, and no script can reach or change that.
 *
 * A metatable without `__index` gets one that looks for a later one, because objects are
 * often made by "setmetatable(o, self) self.__index = self". A copy costs half a
 * microsecond and some 150 bytes; to find out whether the copy before it would still do
 * costs as much. */
#include <lauxlib.h>

#include "engine/base/base.h"
#include "lua/vm/vm.h"
#include "lua/vm/vm_priv.h"

static const char *const events[] = {
	"__index",  "__newindex", "__call", "__tostring", "__name", "__metatable",
	"__pairs",  "__close",    "__len",  "__eq",       "__lt",   "__le",
	"__concat", "__unm",      "__add",  "__sub",      "__mul",  "__div",
	"__mod",    "__pow",      "__idiv", "__band",     "__bor",  "__bxor",
	"__shl",    "__shr",      "__bnot",
};

enum { INDEX, CALL = 2 }; /* in the list */

/* Upvalues: the names. */
#define EVENT(i)     lua_upvalueindex(1 + (i))
#define EVENTS_COUNT ((int)NEAP_ARRAY_LEN(events))

/* (t, key) -> value. Upvalue: the table that had no __index when it was copied. */
static int late_index(lua_State *L)
{
	neap_vm_check(L);
	lua_settop(L, 2);
	lua_pushliteral(L, "__index");
	switch (lua_rawget(L, lua_upvalueindex(1))) {
	case LUA_TNIL:
		return 1;
	case LUA_TFUNCTION:
		lua_insert(L, 1);
		lua_call(L, 2, 1);
		return 1;
	default:
		lua_pushvalue(L, 2);
		lua_gettable(L, -2);
		return 1;
	}
}

/* Pushes a copy of the events of the table at 2. */
static void push_copy(lua_State *L)
{
	lua_createtable(L, 0, 2);
	for (int i = 0; i < EVENTS_COUNT; i++) {
		int type;

		lua_pushvalue(L, EVENT(i));
		type = lua_rawget(L, 2);
		if (type == LUA_TNIL && i == INDEX) {
			lua_pop(L, 1);
			lua_pushvalue(L, 2);
			lua_pushcclosure(L, late_index, 1);
		} else if (type == LUA_TNIL) {
			lua_pop(L, 1);
			continue;
		}
		if (i == CALL && type != LUA_TFUNCTION)
			luaL_error(L, "__call: a function is wanted, this is a %s",
				   luaL_typename(L, -1));
		lua_pushvalue(L, EVENT(i));
		lua_insert(L, -2);
		lua_rawset(L, -3);
	}
}

static void refuse(lua_State *L, const char *event, const char *why)
{
	(void)neap_sandbox_push_thawed(L, 2);
	lua_pushstring(L, event);
	if (lua_rawget(L, -2) != LUA_TNIL)
		luaL_error(L, "a metatable with %s is not allowed: %s", event, why);
	lua_pop(L, 2);
}

/* setmetatable(t, mt or nil) -> t */
static int set(lua_State *L)
{
	luaL_checktype(L, 1, LUA_TTABLE);
	if (!lua_isnil(L, 2))
		luaL_checktype(L, 2, LUA_TTABLE);
	lua_settop(L, 2);
	if (luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL)
		return luaL_error(L, "cannot change a protected metatable");
	if (lua_istable(L, 2)) {
		refuse(L, "__gc", "nothing stops a finalizer");
		refuse(L, "__mode", "nothing stops a collection of weak tables");
		push_copy(L);
		lua_replace(L, 2);
	}
	lua_setmetatable(L, 1);
	return 1;
}

void neap_metatable_open(lua_State *L)
{
	luaL_checkstack(L, EVENTS_COUNT + 1, NULL);
	for (int i = 0; i < EVENTS_COUNT; i++)
		lua_pushstring(L, events[i]);
	lua_pushcclosure(L, set, EVENTS_COUNT);
	lua_setfield(L, -2, "setmetatable");
}
