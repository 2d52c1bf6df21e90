/* SPDX-License-Identifier: Apache-2.0
 *
 * tostring, string.format and string.rep: bounded, and without addresses, which would
 * make a policy's output differ between processes. */
#include <string.h>

#include <lauxlib.h>
#include <lualib.h>

#include "lua/vm/sandbox.h"
#include "lua/vm/vm.h"
#include "lua/vm/vm_priv.h"

#define CONVERSIONS_MAX   200 /* of one format */
#define PIECE_CONVERSIONS 20  /* between two looks at the budget */

static const char
	format_slot; /* its address is the registry key of Lua's own string.format */

void neap_string_check(lua_State *L, int arg)
{
	if (lua_type(L, arg) == LUA_TSTRING && lua_rawlen(L, arg) > NEAP_VM_TEXT_BYTES)
		luaL_argerror(
			L, arg,
			lua_pushfstring(L, "text of over %d bytes", NEAP_VM_TEXT_BYTES));
}

/* stringlib.c: pushes the text of the value at index, never an address. */
static void string_push(lua_State *L, int index)
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
	string_push(L, 1);
	return 1;
}

/* Lua's own format with `format` and the arguments from `first` on, which stay; the
 * result is pushed. */
static void push_piece(lua_State *L, const char *format, size_t len, int first, int last)
{
	luaL_checkstack(L, last - first + 4, NULL);
	lua_rawgetp(L, LUA_REGISTRYINDEX, &format_slot);
	lua_pushlstring(L, format, len);
	for (int arg = first; arg <= last; arg++)
		lua_pushvalue(L, arg);
	lua_call(L, last - first + 2 > 0 ? last - first + 2 : 1, 1);
	neap_vm_check(L);
}

/* string.format(format, ...) -> string. Texts for %s are made here, the rest is Lua's, in
 * pieces: a number of 300 digits takes some 10 us, and nothing looks at the budget
 * meanwhile. */
static int string_format(lua_State *L)
{
	const char *format = luaL_checkstring(L, 1), *at, *end, *piece = format;
	size_t len = lua_rawlen(L, 1), total = len;
	int arg = 1, count = 0, first = 2, pieces = 0, last = lua_gettop(L);

	neap_string_check(L, 1);
	for (int i = 2; i <= last; i++)
		neap_string_check(L, i); /* "%d" reads numbers from text */
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
		if ((*at == 's' || *at == 'q') && arg <= last) {
			if (*at == 's' && lua_type(L, arg) != LUA_TSTRING) {
				string_push(L, arg);
				lua_replace(L, arg);
			}
			neap_string_check(L, arg);
			if (lua_type(L, arg) == LUA_TSTRING)
				total += lua_rawlen(L, arg);
			if (total > NEAP_VM_TEXT_BYTES)
				return luaL_error(L, "a result of over %d bytes",
						  NEAP_VM_TEXT_BYTES);
		}
		if (count % PIECE_CONVERSIONS == 0 && arg <= last) {
			push_piece(L, piece, (size_t)(at + 1 - piece), first, arg);
			pieces++;
			piece = at + 1;
			first = arg + 1;
		}
	}
	push_piece(L, piece, (size_t)(end - piece), first, last);
	lua_concat(L, pieces + 1);
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
