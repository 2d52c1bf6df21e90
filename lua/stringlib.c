/* SPDX-License-Identifier: Apache-2.0
 *
 * tostring, string.format and string.rep: bounded, and without addresses, which would make the
 * output of a policy differ from process to process. */
#include <string.h>

#include <lauxlib.h>
#include <lualib.h>

#include "lua/sandbox.h"
#include "lua/vm.h"
#include "lua/vm_priv.h"

#define CONVERSIONS_MAX 200 /* of one format: each can take a microsecond */

static const char
	format_slot; /* its address is the registry key of Lua's own string.format */

void neap_string_check(lua_State *L, int arg)
{
	if (lua_type(L, arg) == LUA_TSTRING && lua_rawlen(L, arg) > NEAP_VM_TEXT_BYTES)
		luaL_argerror(
			L, arg,
			lua_pushfstring(L, "text of over %d bytes", NEAP_VM_TEXT_BYTES));
}

void neap_string_push(lua_State *L, int index)
{
	index = lua_absindex(L, index);
	if (luaL_callmeta(L, index, "__tostring")) {
		if (lua_type(L, -1) != LUA_TSTRING)
			luaL_error(L, "'__tostring' must return a string");
		return;
	}
	switch (lua_type(L, index)) {
	case LUA_TNIL:
	case LUA_TBOOLEAN:
	case LUA_TNUMBER:
	case LUA_TSTRING:
		(void)luaL_tolstring(L, index, NULL);
		return;
	default:
		switch (luaL_getmetafield(L, index, "__name")) {
		case LUA_TSTRING:
			return;
		case LUA_TNIL:
			break; /* nothing was pushed */
		default:
			lua_pop(L, 1);
		}
		lua_pushstring(L, luaL_typename(L, index));
	}
}

/* tostring(v) -> string */
int neap_string_tostring(lua_State *L)
{
	luaL_checkany(L, 1);
	neap_string_push(L, 1);
	return 1;
}

/* string.format(format, ...) -> string. Texts for %s are made here, the rest is Lua's. */
static int string_format(lua_State *L)
{
	const char *format = luaL_checkstring(L, 1), *at, *end;
	size_t len = lua_rawlen(L, 1), total = len;
	int arg = 1, count = 0;

	neap_string_check(L, 1);
	end = format + len;
	for (at = format; at < end; at++) {
		if (*at != '%')
			continue;
		at++;
		if (at < end && *at == '%')
			continue;
		while (at < end && *at && strchr("-+ #0123456789.", *at))
			at++;
		if (at >= end)
			break; /* Lua's own words for it */
		if (++count > CONVERSIONS_MAX)
			return luaL_error(L, "a format of over %d conversions",
					  CONVERSIONS_MAX);
		arg++;
		if (*at == 'p')
			return luaL_error(
				L, "%%p is not allowed: addresses are not repeatable");
		if ((*at != 's' && *at != 'q') || lua_isnone(L, arg))
			continue;
		if (*at == 's' && lua_type(L, arg) != LUA_TSTRING) {
			neap_string_push(L, arg);
			lua_replace(L, arg);
		}
		if (lua_type(L, arg) != LUA_TSTRING)
			continue;
		neap_string_check(L, arg);
		total += lua_rawlen(L, arg);
		if (total > NEAP_VM_TEXT_BYTES)
			return luaL_error(L, "a result of over %d bytes",
					  NEAP_VM_TEXT_BYTES);
	}
	for (arg = 2; arg <= lua_gettop(L); arg++)
		neap_string_check(L, arg); /* "%d" reads numbers from text */
	lua_rawgetp(L, LUA_REGISTRYINDEX, &format_slot);
	lua_insert(L, 1);
	lua_call(L, lua_gettop(L) - 1, 1);
	return 1;
}

/* string.rep(s, n [, sep]) -> string */
static int string_rep(lua_State *L)
{
	size_t len, sep_len, total;
	const char *s = luaL_checklstring(L, 1, &len);
	lua_Integer count = luaL_checkinteger(L, 2), i;
	const char *sep = luaL_optlstring(L, 3, "", &sep_len);
	luaL_Buffer buffer;
	char *to;

	neap_string_check(L, 1);
	neap_string_check(L, 2);
	neap_string_check(L, 3);
	if (count <= 0 || len + sep_len == 0) {
		lua_pushliteral(L, "");
		return 1;
	}
	/* Both lengths are at most 64 KiB: nothing overflows. */
	if (count > NEAP_VM_TEXT_BYTES + 1 ||
	    (size_t)count * len + (size_t)(count - 1) * sep_len > NEAP_VM_TEXT_BYTES)
		return luaL_error(L, "a result of over %d bytes", NEAP_VM_TEXT_BYTES);
	total = (size_t)count * len + (size_t)(count - 1) * sep_len;
	to = luaL_buffinitsize(L, &buffer, total);
	for (i = 0; i < count; i++) {
		if (i > 0) {
			memcpy(to, sep, sep_len);
			to += sep_len;
		}
		memcpy(to, s, len);
		to += len;
	}
	luaL_pushresultsize(&buffer, total);
	return 1;
}

static const luaL_Reg functions[] = {
	{"format", string_format},
	{"rep", string_rep},
	{NULL, NULL},
};

/* Lua's own format, wrapped, is still in the table at the top. */
void neap_string_open(lua_State *L)
{
	lua_getfield(L, -1, "format");
	lua_rawsetp(L, LUA_REGISTRYINDEX, &format_slot);
	luaL_setfuncs(L, functions, 0);
	neap_pattern_open(L);
}
