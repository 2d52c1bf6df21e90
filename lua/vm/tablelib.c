/* SPDX-License-Identifier: Apache-2.0
 *
 * The table library on raw tables. Lua's own uses __len and __index, and a C loop over a
 * length invented by a script cannot be stopped. Here lengths are real, ranges are
 * bounded, and every loop checks the budget. Frozen tables can be read, not written.
 *
 * sort is a merge sort: stable, so equal elements keep their order in every process, with
 * n log n comparisons whatever the comparison function returns. */
#include <lauxlib.h>

#include "lua/vm/sandbox.h"
#include "lua/vm/vm.h"
#include "lua/vm/vm_priv.h"

#define SORT_MAX   50000
#define UNPACK_MAX 8000

/* Makes arg the raw table behind it. */
static void check_readable(lua_State *L, int arg)
{
	luaL_checktype(L, arg, LUA_TTABLE);
	(void)neap_sandbox_push_thawed(L, arg);
	lua_replace(L, arg);
}

/* rawgeti and rawseti, and a look at the budget each time: one that makes a table of
 * colliding keys grow takes 24 ms. */
static void copy_element(lua_State *L, int from, lua_Integer i, int to, lua_Integer at)
{
	lua_rawgeti(L, from, i);
	lua_rawseti(L, to, at);
	neap_vm_check(L);
}

/* Elements in first..last; raises when there are more than max. */
static lua_Integer range_count(lua_State *L, lua_Integer first, lua_Integer last,
			       lua_Integer max)
{
	lua_Unsigned span = (lua_Unsigned)last - (lua_Unsigned)first;

	if (first > last)
		return 0;
	if (span >= (lua_Unsigned)max)
		return luaL_error(L, "a range of over %d elements", (int)max);
	return (lua_Integer)span + 1;
}

/* table.concat(list [, sep [, i [, j]]]) -> string */
static int table_concat(lua_State *L)
{
	size_t sep_len, len, total = 0;
	const char *sep = luaL_optlstring(L, 2, "", &sep_len);
	lua_Integer first = luaL_optinteger(L, 3, 1), last, count, i;
	luaL_Buffer buffer;

	neap_string_check(L, 2);
	check_readable(L, 1);
	last = luaL_opt(L, luaL_checkinteger, 4, (lua_Integer)lua_rawlen(L, 1));
	count = range_count(L, first, last, NEAP_VM_RANGE_MAX);
	luaL_buffinit(L, &buffer);
	for (i = 0; i < count; i++) {
		if (i > 0)
			luaL_addlstring(&buffer, sep, sep_len);
		lua_rawgeti(L, 1, first + i);
		if (!lua_isstring(L, -1))
			return luaL_error(
				L,
				"invalid value (a %s) at index %I in table for 'concat'",
				luaL_typename(L, -1), (LUAI_UACINT)(first + i));
		(void)lua_tolstring(L, -1, &len);
		total += len + sep_len;
		if (total > NEAP_VM_TEXT_BYTES + sep_len)
			return luaL_error(L, "a result of over %d bytes",
					  NEAP_VM_TEXT_BYTES);
		luaL_addvalue(&buffer);
		neap_vm_check(L);
	}
	luaL_pushresult(&buffer);
	return 1;
}

/* table.insert(list, [pos,] value) */
static int table_insert(lua_State *L)
{
	lua_Integer end, pos, i;

	neap_sandbox_check_writable(L, 1);
	end = (lua_Integer)lua_rawlen(L, 1) + 1;
	switch (lua_gettop(L)) {
	case 2:
		lua_rawseti(L, 1, end);
		return 0;
	case 3:
		pos = luaL_checkinteger(L, 2);
		luaL_argcheck(L, pos >= 1 && pos <= end, 2, "position out of bounds");
		(void)range_count(L, pos, end, NEAP_VM_RANGE_MAX);
		for (i = end; i > pos; i--)
			copy_element(L, 1, i - 1, 1, i);
		lua_rawseti(L, 1, pos);
		return 0;
	default:
		return luaL_error(L, "wrong number of arguments to 'insert'");
	}
}

/* table.remove(list [, pos]) -> the removed value */
static int table_remove(lua_State *L)
{
	lua_Integer len, pos;

	neap_sandbox_check_writable(L, 1);
	len = (lua_Integer)lua_rawlen(L, 1);
	pos = luaL_optinteger(L, 2, len);
	if (!lua_isnoneornil(L, 2))
		luaL_argcheck(L, (pos >= 1 && pos <= len + 1) || (len == 0 && pos == 0),
			      2, "position out of bounds");
	(void)range_count(L, pos, len, NEAP_VM_RANGE_MAX);
	lua_rawgeti(L, 1, pos);
	for (; pos < len; pos++)
		copy_element(L, 1, pos + 1, 1, pos);
	lua_pushnil(L);
	lua_rawseti(L, 1, pos);
	return 1;
}

/* table.move(a1, f, e, t [, a2]) -> a2 */
static int table_move(lua_State *L)
{
	lua_Integer first = luaL_checkinteger(L, 2), last = luaL_checkinteger(L, 3);
	lua_Integer to = luaL_checkinteger(L, 4), count, i;
	int target = lua_isnoneornil(L, 5) ? 1 : 5;

	neap_sandbox_check_writable(L, target);
	lua_settop(L, 5);
	check_readable(L, 1);
	count = range_count(L, first, last, NEAP_VM_RANGE_MAX);
	luaL_argcheck(L, count == 0 || to <= LUA_MAXINTEGER - count + 1, 4,
		      "destination wrap around");
	if (to <= first || to > last || (target == 5 && !lua_rawequal(L, 1, 5))) {
		for (i = 0; i < count; i++)
			copy_element(L, 1, first + i, target, to + i);
	} else { /* they overlap: from the end */
		for (i = count - 1; i >= 0; i--)
			copy_element(L, 1, first + i, target, to + i);
	}
	lua_pushvalue(L, target);
	return 1;
}

/* table.pack(...) -> {n = count, ...} */
static int table_pack(lua_State *L)
{
	int count = lua_gettop(L), i;

	lua_createtable(L, NEAP_VM_LIST(count), 1);
	lua_insert(L, 1);
	for (i = count; i >= 1; i--)
		lua_rawseti(L, 1, i);
	lua_pushinteger(L, count);
	lua_setfield(L, 1, "n");
	return 1;
}

/* table.unpack(list [, i [, j]]) -> values */
static int table_unpack(lua_State *L)
{
	lua_Integer first = luaL_optinteger(L, 2, 1), last, count, i;

	check_readable(L, 1);
	last = luaL_opt(L, luaL_checkinteger, 3, (lua_Integer)lua_rawlen(L, 1));
	count = range_count(L, first, last, UNPACK_MAX);
	if (!lua_checkstack(L, (int)count))
		return luaL_error(L, "too many results to unpack");
	for (i = 0; i < count; i++) {
		lua_rawgeti(L, 1, first + i);
		neap_vm_check(L);
	}
	return (int)count;
}

/* Whether the value at the top comes before the one below it; both stay. */
static bool top_is_less(lua_State *L)
{
	bool is_less;

	if (lua_isnil(L, 2)) {
		/* Lua walks through both texts piece by piece at each NUL byte: 2 ms for
		 * 256 KiB. */
		neap_vm_check(L);
		return !lua_rawequal(L, -1, -2) && lua_compare(L, -1, -2, LUA_OPLT);
	}
	lua_pushvalue(L, 2);
	lua_pushvalue(L, -2);
	lua_pushvalue(L, -4);
	lua_call(L, 2, 1);
	is_less = lua_toboolean(L, -1);
	lua_pop(L, 1);
	return is_less;
}

/* Merges from[start..mid-1] and from[mid..end-1] into `to`; all at stack indexes. */
static void merge(lua_State *L, int from, int to, lua_Integer start, lua_Integer mid,
		  lua_Integer end)
{
	lua_Integer a = start, b = mid, at;

	for (at = start; at < end; at++) {
		bool takes_b = a >= mid;

		if (a < mid && b < end) {
			lua_rawgeti(L, from, a);
			lua_rawgeti(L, from, b);
			takes_b = top_is_less(L);
			lua_pop(L, 2);
		}
		copy_element(L, from, takes_b ? b++ : a++, to, at);
	}
}

/* table.sort(list [, comes_before]). Sorts in two scratch lists, so that a comparison
 * that changes the list, or raises, does no harm. */
static int table_sort(lua_State *L)
{
	lua_Integer len, width, i;
	int from = 3, to = 4;

	neap_sandbox_check_writable(L, 1);
	len = (lua_Integer)lua_rawlen(L, 1);
	if (!lua_isnoneornil(L, 2))
		luaL_checktype(L, 2, LUA_TFUNCTION);
	luaL_argcheck(L, len <= SORT_MAX, 1, "list of over 50000 elements");
	lua_settop(L, 2);
	if (len < 2)
		return 0;
	lua_createtable(L, NEAP_VM_LIST(len), 0);
	lua_createtable(L, NEAP_VM_LIST(len), 0);
	for (i = 1; i <= len; i++)
		copy_element(L, 1, i, from, i);
	for (width = 1; width < len; width *= 2) {
		lua_Integer start;
		int swap = from;

		for (start = 1; start <= len; start += 2 * width) {
			lua_Integer mid = start + width <= len ? start + width : len + 1;
			lua_Integer end = mid + width <= len ? mid + width : len + 1;

			merge(L, from, to, start, mid, end);
		}
		from = to;
		to = swap;
	}
	for (i = 1; i <= len; i++)
		copy_element(L, from, i, 1, i);
	return 0;
}

static const luaL_Reg functions[] = {
	{"concat", table_concat}, {"insert", table_insert},
	{"move", table_move},     {"pack", table_pack},
	{"remove", table_remove}, {"sort", table_sort},
	{"unpack", table_unpack}, {NULL, NULL},
};

void neap_table_open(lua_State *L)
{
	luaL_setfuncs(L, functions, 0);
}
