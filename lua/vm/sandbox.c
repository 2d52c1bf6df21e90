/* SPDX-License-Identifier: Apache-2.0
 *
 * The allow-list and the fences around it. The list below is what a script can reach,
 * nothing else: each name is taken from neap's own replacement if there is one, else from
 * Lua's library, wrapped so that it gets no text longer than NEAP_VM_TEXT_BYTES.
 * Libraries are opened in a scratch table that is dropped afterwards; load, coroutine,
 * debug, io, os and package are never opened or dropped.
 *
 * Globals of a script are an empty table in front of the list: reading an unknown name
 * and writing any name raise. Library tables are frozen: an empty proxy with the real
 * table behind it. */
#include "lua/vm/sandbox.h"

#include <string.h>

#include <lauxlib.h>
#include <lualib.h>

#include "engine/base/base.h"
#include "lua/vm/vm.h"
#include "lua/vm/vm_priv.h"

static const char
	frozen_slot; /* its address is the key in a proxy's metatable: the real table */

static const char *const names[] = {
	"assert",         "error",           "ipairs",
	"math",           "math.abs",        "math.acos",
	"math.asin",      "math.atan",       "math.ceil",
	"math.cos",       "math.deg",        "math.exp",
	"math.floor",     "math.fmod",       "math.huge",
	"math.log",       "math.max",        "math.maxinteger",
	"math.min",       "math.mininteger", "math.modf",
	"math.pi",        "math.rad",        "math.sin",
	"math.sqrt",      "math.tan",        "math.tointeger",
	"math.type",      "math.ult",        "next",
	"pairs",          "pcall",           "rawequal",
	"rawget",         "rawlen",          "rawset",
	"select",         "setmetatable",    "string",
	"string.byte",    "string.char",     "string.find",
	"string.format",  "string.gmatch",   "string.gsub",
	"string.len",     "string.lower",    "string.match",
	"string.rep",     "string.reverse",  "string.sub",
	"string.upper",   "table",           "table.concat",
	"table.insert",   "table.move",      "table.pack",
	"table.remove",   "table.sort",      "table.unpack",
	"tonumber",       "tostring",        "type",
	"utf8",           "utf8.char",       "utf8.charpattern",
	"utf8.codepoint", "utf8.codes",      "utf8.len",
	"utf8.offset",    "xpcall",          NULL,
};

/* Lua's own functions that look at no text beyond its length: handed out without the
 * wrapper. */
static const char *const plain[] = {
	"assert", "error", "ipairs", "rawequal", "string.len", "type", NULL,
};

const char *const *neap_sandbox_names(void)
{
	return names;
}

static bool is_in(const char *const *list, const char *name)
{
	for (; *list; list++)
		if (strcmp(*list, name) == 0)
			return true;
	return false;
}

bool neap_sandbox_push_thawed(lua_State *L, int index)
{
	index = lua_absindex(L, index);
	if (lua_type(L, index) == LUA_TTABLE && lua_getmetatable(L, index)) {
		if (lua_rawgetp(L, -1, &frozen_slot) == LUA_TTABLE) {
			lua_remove(L, -2);
			return true;
		}
		lua_pop(L, 2);
	}
	lua_pushvalue(L, index);
	return false;
}

void neap_sandbox_check_writable(lua_State *L, int arg)
{
	luaL_checktype(L, arg, LUA_TTABLE);
	if (neap_sandbox_push_thawed(L, arg))
		luaL_argerror(L, arg, "this table is read-only");
	lua_pop(L, 1);
}

static int frozen_write(lua_State *L)
{
	if (lua_type(L, 2) == LUA_TSTRING)
		return luaL_error(L, "field '%s' is in a read-only table",
				  lua_tostring(L, 2));
	return luaL_error(L, "this table is read-only");
}

static int frozen_len(lua_State *L)
{
	(void)neap_sandbox_push_thawed(L, 1);
	lua_pushinteger(L, (lua_Integer)lua_rawlen(L, -1));
	return 1;
}

void neap_sandbox_freeze(lua_State *L)
{
	luaL_checkstack(L, 4, NULL);
	lua_newtable(L);
	lua_createtable(L, 0, 5);
	lua_pushvalue(L, -3);
	lua_setfield(L, -2, "__index");
	lua_pushvalue(L, -3);
	lua_rawsetp(L, -2, &frozen_slot);
	lua_pushcfunction(L, frozen_write);
	lua_setfield(L, -2, "__newindex");
	lua_pushcfunction(L, frozen_len);
	lua_setfield(L, -2, "__len");
	lua_pushboolean(L, 0);
	lua_setfield(L, -2, "__metatable");
	lua_setmetatable(L, -2);
	lua_remove(L, -2);
}

/* Only fields that are there are set, and no text is made that is not one of their
 * keys. */
void neap_sandbox_refreeze(lua_State *L, int index)
{
	if (!lua_getmetatable(L, index))
		return;
	lua_pushvalue(L, -2);
	lua_setfield(L, -2, "__index");
	lua_pushvalue(L, -2);
	lua_rawsetp(L, -2, &frozen_slot);
	lua_pop(L, 2);
}

/* Upvalue 1: one of Lua's own functions, which has no upvalues of its own. */
static int call_checked(lua_State *L)
{
	int count = lua_gettop(L), i;

	for (i = 1; i <= count; i++)
		neap_string_check(L, i);
	return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

/* utf8.codes(s) -> iterator, s, 0. The iterator skips bytes in a loop, so its text is
 * checked too. */
static int call_codes(lua_State *L)
{
	int count = call_checked(L);

	lua_pushvalue(L, -count);
	lua_pushcclosure(L, call_checked, 1);
	lua_replace(L, -count - 1);
	return count;
}

/* rawget(t, key) -> value */
static int base_rawget(lua_State *L)
{
	luaL_checktype(L, 1, LUA_TTABLE);
	luaL_checkany(L, 2);
	lua_settop(L, 2);
	(void)neap_sandbox_push_thawed(L, 1);
	lua_insert(L, 2);
	lua_rawget(L, 2);
	return 1;
}

/* rawset(t, key, value) -> t */
static int base_rawset(lua_State *L)
{
	neap_sandbox_check_writable(L, 1);
	luaL_checkany(L, 2);
	luaL_checkany(L, 3);
	lua_settop(L, 3);
	lua_rawset(L, 1);
	return 1;
}

/* rawlen(t or s) -> integer */
static int base_rawlen(lua_State *L)
{
	int type = lua_type(L, 1);

	luaL_argexpected(L, type == LUA_TTABLE || type == LUA_TSTRING, 1,
			 "table or string");
	(void)neap_sandbox_push_thawed(L, 1);
	lua_pushinteger(L, (lua_Integer)lua_rawlen(L, -1));
	return 1;
}

static const char *global_name(lua_State *L)
{
	return lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : luaL_typename(L, 2);
}

static int global_read(lua_State *L)
{
	return luaL_error(L, "there is no '%s' here", global_name(L));
}

static int global_write(lua_State *L)
{
	return luaL_error(L, "global '%s' is not allowed: use local", global_name(L));
}

static const luaL_Reg base_functions[] = {
	{"next", neap_order_next},
	{"pairs", neap_order_pairs},
	{"pcall", neap_vm_script_pcall},
	{"rawget", base_rawget},
	{"rawlen", base_rawlen},
	{"rawset", base_rawset},
	{"tostring", neap_string_tostring},
	{"xpcall", neap_vm_script_xpcall},
	{NULL, NULL},
};

static void base_open(lua_State *L)
{
	luaL_setfuncs(L, base_functions, 0);
	neap_metatable_open(L);
}

static void no_functions(lua_State *L)
{
	(void)L;
}

/* Where the members of a library come from. */
static const struct library {
	const char *name;
	lua_CFunction lua;         /* NULL: nothing of Lua's */
	void (*own)(lua_State *L); /* adds neap's to the table at the top */
} libraries[] = {
	{"", luaopen_base, base_open},
	{"math", luaopen_math, no_functions},
	{"string", luaopen_string, neap_string_open},
	{"table", NULL, neap_table_open},
	{"utf8", luaopen_utf8, no_functions},
};

/* Pushes Lua's members of a library, wrapped, with neap's over them. */
static void push_library(lua_State *L, const struct library *library)
{
	if (library->lua) {
		lua_pushcfunction(L, library->lua);
		lua_call(L, 0, 1);
	} else {
		lua_newtable(L);
	}
	lua_newtable(L);
	lua_pushnil(L);
	while (lua_next(L, -3)) {
		const char *key = lua_tostring(L, -2); /* all keys there are strings */

		if (lua_iscfunction(L, -1)) {
			const char *full =
				lua_pushfstring(L, "%s%s%s", library->name,
						*library->name ? "." : "", key);
			bool is_plain = is_in(plain, full);
			bool is_codes = strcmp(full, "utf8.codes") == 0;

			lua_pop(L, 1);
			if (!is_plain)
				lua_pushcclosure(L, is_codes ? call_codes : call_checked,
						 1);
		}
		lua_setfield(L, -3, key);
	}
	library->own(L);
	lua_remove(L, -2);
}

/* Copies what the list allows of a library from the table at the top into the table
 * below. */
static void copy_allowed(lua_State *L, const struct library *library)
{
	size_t len = strlen(library->name);
	const char *const *name;

	for (name = names; *name; name++) {
		const char *dot = strchr(*name, '.');
		const char *member = dot ? dot + 1 : *name;

		if (dot ? (size_t)(dot - *name) != len ||
				    strncmp(*name, library->name, len) != 0
			: len != 0)
			continue;
		if (lua_getfield(L, -1, member) == LUA_TNIL)
			lua_pop(L, 1); /* the name of a library itself */
		else
			lua_setfield(L, -3, member);
	}
}

/* The metatable of all strings: s:method() finds the library, "10" + 1 works, nothing can
 * be set. */
static void fence_strings(lua_State *L)
{
	static const char *const events[] = {"__add", "__sub", "__mul",  "__div", "__mod",
					     "__pow", "__unm", "__idiv", NULL};
	const char *const *event;

	lua_pushliteral(L, "");
	lua_createtable(L, 0, 10);
	if (!lua_getmetatable(L, -2))
		lua_newtable(L);
	for (event = events; *event; event++) {
		if (lua_getfield(L, -1, *event) == LUA_TNIL) {
			lua_pop(L, 1);
			continue;
		}
		lua_pushcclosure(L, call_checked, 1);
		lua_setfield(L, -3, *event);
	}
	lua_pop(L, 1);
	lua_pushvalue(L, -3); /* the allowed part of the string library */
	lua_setfield(L, -2, "__index");
	lua_pushboolean(L, 0);
	lua_setfield(L, -2, "__metatable");
	lua_setmetatable(L, -2);
	lua_pop(L, 1);
}

/* Makes an empty table in front of the allowed names (at the top; popped) the globals. */
static void fence_globals(lua_State *L)
{
	lua_createtable(L, 0, 2); /* of the names: the end of every look-up */
	lua_pushcfunction(L, global_read);
	lua_setfield(L, -2, "__index");
	lua_setmetatable(L, -2);
	neap_sandbox_freeze(L);
	if (lua_getmetatable(L, -1)) {
		lua_pushcfunction(L, global_write);
		lua_setfield(L, -2, "__newindex");
		lua_pop(L, 1);
	}
	lua_rawseti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
}

void neap_sandbox_open(lua_State *L)
{
	size_t i;

	luaL_checkstack(L, 16, NULL);
	lua_newtable(L); /* the allowed names */
	for (i = 0; i < NEAP_ARRAY_LEN(libraries); i++) {
		const struct library *library = &libraries[i];

		if (!*library->name) {
			push_library(L, library);
			copy_allowed(L, library);
			lua_pop(L, 1);
			continue;
		}
		lua_newtable(L);
		push_library(L, library);
		copy_allowed(L, library);
		lua_pop(L, 1);
		if (strcmp(library->name, "string") == 0)
			fence_strings(L);
		neap_sandbox_freeze(L);
		lua_setfield(L, -2, library->name);
	}
	fence_globals(L);
}
