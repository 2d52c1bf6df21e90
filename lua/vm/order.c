/* SPDX-License-Identifier: Apache-2.0
 *
 * pairs and next in an order that is the same in every process: numbers ascending,
 * strings by their bytes, then false and true. Lua's own order follows a random seed, and
 * a decision must be repeatable. Other keys (tables, functions) have nothing to be
 * ordered by and are refused.
 *
 * Shaped for lists and for small records. A list 1..n is walked as it is; other tables
 * get their keys sorted once per pairs (24 bytes a key while sorting, 16 while walking).
 * next(t, k) is "the smallest key after k": a walk keeps the sorted keys of its table in
 * a weak slot, so that it does not sort at every step; a key added during the walk may be
 * missed, as in Lua, but nil always means that nothing comes after k. next(t) looks at
 * all keys for the smallest, without sorting. */
#include <string.h>

#include <lauxlib.h>

#include "lua/vm/sandbox.h"
#include "lua/vm/vm.h"
#include "lua/vm/vm_priv.h"

#define KEYS_MAX NEAP_VM_RANGE_MAX

static const char walks_slot; /* its address is the registry key: table -> {keys, at} */

enum rank { RANK_INT, RANK_REAL, RANK_STRING, RANK_BOOL };

/* A key as the sort sees it. */
struct key {
	union {
		lua_Integer i;
		lua_Number n;
		const char *s; /* owned by the list of keys that is being sorted */
	} u;
	uint32_t len;
	uint32_t rank : 2, index : 30; /* of the key in that list, from 1 */
};

static int compare_bytes(const char *a, size_t a_len, const char *b, size_t b_len)
{
	int c = memcmp(a, b, a_len < b_len ? a_len : b_len);

	return c ? c : (a_len > b_len) - (a_len < b_len);
}

/* Exact for any pair: a float key never has an integer's value, Lua makes such keys
 * integers. */
static int compare_int_real(lua_Integer i, lua_Number n)
{
	lua_Number floor_n;

	if (n >= 9223372036854775808.0)
		return -1;
	if (n < -9223372036854775808.0)
		return 1;
	floor_n = (lua_Number)(lua_Integer)n;
	if (floor_n > n)
		floor_n -= 1;
	return i <= (lua_Integer)floor_n ? -1 : 1;
}

static int compare_keys(const struct key *a, const struct key *b)
{
	if (a->rank <= RANK_REAL && b->rank <= RANK_REAL) {
		if (a->rank == RANK_INT && b->rank == RANK_INT)
			return (a->u.i > b->u.i) - (a->u.i < b->u.i);
		if (a->rank == RANK_REAL && b->rank == RANK_REAL)
			return (a->u.n > b->u.n) - (a->u.n < b->u.n);
		if (a->rank == RANK_INT)
			return compare_int_real(a->u.i, b->u.n);
		return -compare_int_real(b->u.i, a->u.n);
	}
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (a->rank == RANK_STRING)
		return compare_bytes(a->u.s, a->len, b->u.s, b->len);
	return (a->u.i > b->u.i) - (a->u.i < b->u.i);
}

/* Reads the key at index, which stays there. */
static void read_key(lua_State *L, int index, struct key *ret)
{
	size_t len = 0;

	ret->index = 0;
	ret->len = 0;
	switch (lua_type(L, index)) {
	case LUA_TNUMBER:
		if (lua_isinteger(L, index)) {
			ret->rank = RANK_INT;
			ret->u.i = lua_tointeger(L, index);
		} else {
			ret->rank = RANK_REAL;
			ret->u.n = lua_tonumber(L, index);
			if (ret->u.n != ret->u.n)
				luaL_error(L, "NaN is no key");
		}
		return;
	case LUA_TSTRING:
		ret->rank = RANK_STRING;
		ret->u.s = lua_tolstring(L, index, &len);
		ret->len = (uint32_t)len; /* the memory ceiling is far below 4 GiB */
		return;
	case LUA_TBOOLEAN:
		ret->rank = RANK_BOOL;
		ret->u.i = lua_toboolean(L, index);
		return;
	default:
		luaL_error(L, "a table with a %s as key has no order to walk in",
			   luaL_typename(L, index));
	}
}

/* Merge sort, because it can be left by an error at any point: both halves lie in
 * userdata. */
static void sort_keys(lua_State *L, struct key *keys, struct key *spare, size_t count)
{
	size_t width, steps = 0;
	struct key *from = keys, *to = spare;

	for (width = 1; width < count; width *= 2) {
		struct key *swap = from;
		size_t start;

		for (start = 0; start < count; start += 2 * width) {
			size_t mid = start + width < count ? start + width : count;
			size_t end = mid + width < count ? mid + width : count;
			size_t a = start, b = mid, at;

			for (at = start; at < end; at++) {
				if (a < mid &&
				    (b >= end || compare_keys(&from[a], &from[b]) <= 0))
					to[at] = from[a++];
				else
					to[at] = from[b++];
				if ((++steps & NEAP_VM_CHECK_MASK) == 0)
					neap_vm_check(L);
			}
		}
		from = to;
		to = swap;
	}
	if (from != keys)
		memcpy(keys, from, count * sizeof(*keys));
}

/* Pushes nil when the table at index is exactly a list 1..n, else its keys, sorted, as a
 * list. Returns n. With is_forced a list is pushed in any case. */
static lua_Integer push_keys(lua_State *L, int index, bool is_forced)
{
	lua_Integer count = 0, i = 0;
	bool is_list = true;
	struct key *keys;
	int found; /* stack index of the keys as they come */

	lua_pushnil(L);
	while (lua_next(L, index)) {
		lua_pop(L, 1);
		count++;
		if (!lua_isinteger(L, -1) || lua_tointeger(L, -1) != count)
			is_list = false;
		if ((count & NEAP_VM_CHECK_MASK) == 0)
			neap_vm_check(L);
	}
	if (is_list && !is_forced) {
		lua_pushnil(L);
		return count;
	}
	if (count > KEYS_MAX)
		return luaL_error(L, "a table of over %d keys is too large to walk",
				  KEYS_MAX);
	lua_createtable(L, NEAP_VM_LIST(count), 0);
	found = lua_gettop(L);
	keys = lua_newuserdatauv(L, 2 * sizeof(*keys) * ((size_t)count + 1), 0);
	lua_pushnil(L);
	while (lua_next(L, index)) {
		lua_pop(L, 1);
		read_key(L, -1, &keys[i]);
		i++;
		keys[i - 1].index = (uint32_t)i & 0x3fffffff;
		lua_pushvalue(L, -1);
		lua_rawseti(L, found, i);
		if ((i & NEAP_VM_CHECK_MASK) == 0)
			neap_vm_check(L);
	}
	sort_keys(L, keys, keys + count, (size_t)count);
	lua_createtable(L, NEAP_VM_LIST(count), 0);
	for (i = 0; i < count; i++) {
		lua_rawgeti(L, found, keys[i].index);
		lua_rawseti(L, -2, i + 1);
	}
	lua_replace(L, found);
	lua_settop(L, found);
	return count;
}

/* The walk of pairs. Upvalues: keys or nil for a list, keys in all, keys done. */
static int pairs_step(lua_State *L)
{
	lua_Integer count = lua_tointeger(L, lua_upvalueindex(2));
	lua_Integer at = lua_tointeger(L, lua_upvalueindex(3));
	bool has_keys = lua_istable(L, lua_upvalueindex(1));
	bool has_found = false;

	luaL_checktype(L, 1, LUA_TTABLE);
	lua_settop(L, 1);
	if (neap_sandbox_push_thawed(L, 1))
		lua_replace(L, 1);
	lua_settop(L, 1);
	while (at < count && !has_found) {
		lua_settop(L, 1);
		at++;
		if (has_keys)
			lua_rawgeti(L, lua_upvalueindex(1), at);
		else
			lua_pushinteger(L, at);
		lua_pushvalue(L, -1);
		has_found = lua_rawget(L, 1) != LUA_TNIL; /* nil: taken out meanwhile */
		if ((at & NEAP_VM_CHECK_MASK) == 0)
			neap_vm_check(L);
	}
	lua_pushinteger(L, at);
	lua_replace(L, lua_upvalueindex(3));
	if (has_found)
		return 2;
	lua_pushnil(L);
	return 1;
}

/* pairs(t) -> iterator, t, nil */
int neap_order_pairs(lua_State *L)
{
	lua_Integer count;

	luaL_checkany(L, 1);
	lua_settop(L, 1);
	if (!neap_sandbox_push_thawed(L, 1) &&
	    luaL_getmetafield(L, 1, "__pairs") != LUA_TNIL) {
		lua_pushvalue(L, 1);
		lua_call(L, 1, 3);
		return 3;
	}
	luaL_checktype(L, 1, LUA_TTABLE);
	count = push_keys(L, 2, false);
	lua_pushinteger(L, count);
	lua_pushinteger(L, 0);
	lua_pushcclosure(L, pairs_step, 3);
	lua_pushvalue(L, 1);
	lua_pushnil(L);
	return 3;
}

/* Pushes the smallest key of the table at index that comes after *after (NULL: of all);
 * false (and nothing) when there is none. */
static bool push_first(lua_State *L, int index, const struct key *after)
{
	struct key least, key;
	lua_Integer seen = 0;
	bool has_found = false;
	int best;

	lua_pushnil(L);
	best = lua_gettop(L);
	lua_pushnil(L);
	while (lua_next(L, index)) {
		lua_pop(L, 1);
		read_key(L, -1, &key);
		if ((!has_found || compare_keys(&key, &least) < 0) &&
		    (!after || compare_keys(&key, after) > 0)) {
			lua_copy(L, -1, best);
			least = key;
			has_found = true;
		}
		if ((++seen & NEAP_VM_CHECK_MASK) == 0)
			neap_vm_check(L);
	}
	if (!has_found)
		lua_pop(L, 1);
	return has_found;
}

/* Pushes the table of walks: table -> its sorted keys, with the place of the walk at
 * [0]. */
static void push_walks(lua_State *L)
{
	if (lua_rawgetp(L, LUA_REGISTRYINDEX, &walks_slot) == LUA_TTABLE)
		return;
	lua_pop(L, 1);
	lua_newtable(L);
	lua_createtable(L, 0, 1);
	lua_pushliteral(L, "k");
	lua_setfield(L, -2, "__mode");
	lua_setmetatable(L, -2);
	lua_pushvalue(L, -1);
	lua_rawsetp(L, LUA_REGISTRYINDEX, &walks_slot);
}

static void drop_walk(lua_State *L, int walks, int table)
{
	lua_pushvalue(L, table);
	lua_pushnil(L);
	lua_rawset(L, walks);
}

/* First place in the sorted keys (at index keys) whose key comes after the one at stack
 * index key; places run from 1. */
static lua_Integer place_after(lua_State *L, int keys, lua_Integer count, int key)
{
	lua_Integer low = 1, high = count + 1;
	struct key want, have;

	read_key(L, key, &want);
	while (low < high) {
		lua_Integer mid = low + (high - low) / 2;

		lua_rawgeti(L, keys, mid);
		read_key(L, -1, &have);
		if (compare_keys(&have, &want) <= 0)
			low = mid + 1;
		else
			high = mid;
		lua_pop(L, 1);
	}
	return low;
}

/* next(t [, key]) -> key, value | nil */
int neap_order_next(lua_State *L)
{
	lua_Integer count, at;
	struct key last;

	luaL_checktype(L, 1, LUA_TTABLE);
	lua_settop(L, 2);
	(void)neap_sandbox_push_thawed(L, 1); /* at 3 */
	if (lua_isnil(L, 2)) {
		if (!push_first(L, 3, NULL)) {
			lua_pushnil(L);
			return 1;
		}
		push_walks(L);
		drop_walk(L, lua_gettop(L), 3);
		lua_pop(L, 1);
		lua_pushvalue(L, -1);
		lua_rawget(L, 3);
		return 2;
	}
	push_walks(L); /* at 4 */
	lua_pushvalue(L, 3);
	if (lua_rawget(L, 4) == LUA_TNIL) { /* at 5 */
		lua_pop(L, 1);
		(void)push_keys(L, 3, true);
		lua_pushvalue(L, 3);
		lua_pushvalue(L, 5);
		lua_rawset(L, 4);
	}
	count = (lua_Integer)lua_rawlen(L, 5);
	lua_rawgeti(L, 5, 0);
	at = lua_tointeger(L, -1); /* 0 for a fresh walk */
	lua_rawgeti(L, 5, at > 0 ? at : 1);
	at = lua_rawequal(L, -1, 2) ? (at > 0 ? at : 1) + 1 : place_after(L, 5, count, 2);
	for (; at <= count; at++) {
		lua_settop(L, 5);
		lua_rawgeti(L, 5, at);
		lua_pushvalue(L, -1);
		if (lua_rawget(L, 3) != LUA_TNIL) {
			lua_pushinteger(L, at);
			lua_rawseti(L, 5, 0);
			return 2;
		}
		if ((at & NEAP_VM_CHECK_MASK) == 0)
			neap_vm_check(L);
	}
	/* Keys that were added since the walk began could be missing: nil has to be
	 * true. */
	drop_walk(L, 4, 3);
	lua_settop(L, 5);
	read_key(L, 2, &last);
	if (!push_first(L, 3, &last)) {
		lua_pushnil(L);
		return 1;
	}
	lua_pushvalue(L, -1);
	lua_rawget(L, 3);
	return 2;
}
