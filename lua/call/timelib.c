/* SPDX-License-Identifier: Apache-2.0
 *
 * ctx.time: local time of the sample's now_unix, the only clock of a script. A few zones
 * are cached in the state, as bytes that count against its memory ceiling. */
#include <string.h>

#include <lauxlib.h>

#include "lua/call/policy_priv.h"
#include "lua/value/objects.h"
#include "lua/vm/sandbox.h"
#include "lua/vm/vm.h"
#include "lua/vm/vm_priv.h"
#include "lua/vm/zone.h"

#define ZONES_KEPT 8
#define DAY        86400

static const char
	zones_slot; /* its address is the registry key: name -> zone, [1] = count */

/* Pushes the zone that arg names (it must stay on the stack while it is used), or nil and
 * a message: then it returns NULL. */
static const struct neap_zone *find_zone(lua_State *L, int arg)
{
	const char *name = neap_lua_check_text(L, arg);
	struct neap_zone *zone = NULL, *copy;
	lua_Integer count;
	struct neap_error err;
	void **block;

	luaL_checkstack(L, 10, NULL);
	neap_vm_check(L);
	lua_rawgetp(L, LUA_REGISTRYINDEX, &zones_slot);
	lua_pushvalue(L, arg);
	if (lua_rawget(L, -2) != LUA_TNIL)
		return lua_touserdata(L, -1);
	lua_pop(L, 1);

	block = neap_lua_new_block(L);
	if (neap_zone_load(name, &zone, &err) < 0) {
		if (err.code == NEAP_ENOMEM)
			neap_vm_raise_nomem(L);
		luaL_pushfail(L);
		lua_pushstring(L, err.msg);
		return NULL;
	}
	*block = zone;
	copy = lua_newuserdatauv(L, neap_zone_size(zone), 0);
	memcpy(copy, zone, neap_zone_size(zone));
	neap_lua_drop_block(block);

	lua_rawgeti(L, -3, 1);
	count = lua_tointeger(L, -1);
	lua_pop(L, 1);
	if (count >= ZONES_KEPT) {
		lua_newtable(L);
		lua_copy(L, -1, -4);
		lua_rawsetp(L, LUA_REGISTRYINDEX, &zones_slot);
		count = 0;
	}
	lua_pushinteger(L, count + 1);
	lua_rawseti(L, -4, 1);
	lua_pushvalue(L, arg);
	lua_pushvalue(L, -2);
	lua_rawset(L, -5);
	return copy;
}

/* ctx.now_unix; false after pushing nil and a message. Upvalue 1: the table behind
 * ctx. */
static bool read_now(lua_State *L, int64_t *ret)
{
	lua_pushliteral(L, "now_unix");
	lua_rawget(L, lua_upvalueindex(1));
	*ret = lua_tointeger(L, -1);
	lua_pop(L, 1);
	if (*ret >= NEAP_ZONE_UNIX_MIN + DAY && *ret <= NEAP_ZONE_UNIX_MAX - 366 * DAY)
		return true;
	luaL_pushfail(L);
	lua_pushliteral(L, "ctx.now_unix is not in the years 1 to 9998");
	return false;
}

/* "22:00", "6:30", "06:30:15"; with is_end also "24:00". False after pushing nil and a
 * message. */
static bool read_time(lua_State *L, int arg, bool is_end, int *ret)
{
	const char *text = neap_lua_check_text(L, arg);

	if (neap_zone_time_parse(text, is_end, ret) == 0)
		return true;
	luaL_pushfail(L);
	lua_pushfstring(L,
			"'%s' is no time of day: HH:MM or HH:MM:SS is wanted, 00:00 to "
			"23:59:59%s",
			strlen(text) < 40 ? text : "...",
			is_end ? ", or 24:00 for the end" : "");
	return false;
}

/* ctx.time.next(time, zone) -> integer | nil, message */
static int time_next(lua_State *L)
{
	const struct neap_zone *zone;
	int64_t now_unix;
	int second;

	if (!read_time(L, 1, false, &second) || !read_now(L, &now_unix))
		return 2;
	zone = find_zone(L, 2);
	if (!zone)
		return 2;
	lua_pushinteger(L, neap_zone_next(zone, now_unix, second));
	return 1;
}

/* ctx.time.now(zone) -> table | nil, message */
static int time_now(lua_State *L)
{
	static const char *const names[] = {"year",   "month",  "day",     "hour",
					    "minute", "second", "weekday", "offset_s"};
	struct neap_zone_clock clock;
	const struct neap_zone *zone;
	int64_t now_unix;

	if (!read_now(L, &now_unix))
		return 2;
	zone = find_zone(L, 1);
	if (!zone)
		return 2;
	neap_zone_read_clock(zone, now_unix, &clock);
	lua_createtable(L, 0, (int)NEAP_ARRAY_LEN(names));
	for (size_t i = 0; i < NEAP_ARRAY_LEN(names); i++) {
		const int64_t values[] = {clock.year,    clock.month,   clock.day,
					  clock.hour,    clock.minute,  clock.second,
					  clock.weekday, clock.offset_s};

		lua_pushinteger(L, values[i]);
		lua_setfield(L, -2, names[i]);
	}
	return 1;
}

/* ctx.time.is_between(from, to, zone) -> boolean | nil, message. What is no time raises:
 * nil would read as "not now", for ever. */
static int time_is_between(lua_State *L)
{
	struct neap_zone_clock clock;
	const struct neap_zone *zone;
	int64_t now_unix;
	int from, to, now;

	if (!read_time(L, 1, false, &from) || !read_time(L, 2, true, &to))
		return luaL_error(L, "%s", lua_tostring(L, -1));
	if (!read_now(L, &now_unix))
		return 2;
	zone = find_zone(L, 3);
	if (!zone)
		return 2;
	neap_zone_read_clock(zone, now_unix, &clock);
	now = clock.hour * 3600 + clock.minute * 60 + clock.second;
	lua_pushboolean(L,
			from <= to ? now >= from && now < to : now >= from || now < to);
	return 1;
}

static const luaL_Reg time_functions[] = {
	{"next", time_next},
	{"now", time_now},
	{"is_between", time_is_between},
	{NULL, NULL},
};

void neap_time_open(lua_State *L)
{
	luaL_checkstack(L, 6, NULL);
	lua_newtable(L);
	lua_rawsetp(L, LUA_REGISTRYINDEX, &zones_slot);
	luaL_newlibtable(L, time_functions);
	lua_pushvalue(L, -2);
	luaL_setfuncs(L, time_functions, 1);
	neap_sandbox_freeze(L);
}
