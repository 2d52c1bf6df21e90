/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions of a round about many pods at once (engine/deschedule/round_domains.h),
 * detectors of anomalies, and sets. */
#include <string.h>

#include <lauxlib.h>

#include "engine/deschedule/anomaly.h"
#include "engine/deschedule/round_domains.h"
#include "lua/deschedule/deschedule_priv.h"
#include "lua/value/objects.h"
#include "lua/vm/vm_priv.h"

static void raise(lua_State *L, const struct neap_error *err)
{
	if (err->code == NEAP_ENOMEM)
		neap_vm_raise_nomem(L);
	(void)luaL_error(L, "%s", err->msg);
}

/* --- sets --- */

static struct neap_set *push_set(lua_State *L, size_t bytes, bool has_pods)
{
	struct neap_set *set = lua_newuserdatauv(L, sizeof(*set) + bytes, 0);

	memset(set, 0, sizeof(*set) + bytes);
	set->call = neap_seat_get(L)->call;
	set->has_pods = has_pods;
	lua_pushvalue(L, lua_upvalueindex(NEAP_UP_SET));
	lua_setmetatable(L, -2);
	return set;
}

/* round:set(list) -> set */
int neap_round_set(lua_State *L)
{
	const struct neap_world *world = neap_seat_get(L)->round->args.world;
	size_t words = (world->pod_count + 63) / 64 + 1, count;
	struct neap_set *set;
	bool has_pods;

	luaL_checktype(L, 2, LUA_TTABLE);
	luaL_checkstack(L, 12, NULL);
	lua_settop(L, 2);
	(void)neap_sandbox_push_thawed(L, 2);
	lua_rawgeti(L, -1, 1);
	has_pods = lua_type(L, -1) == LUA_TUSERDATA && lua_getmetatable(L, -1) &&
		   lua_rawequal(L, -1, lua_upvalueindex(NEAP_UP_POD));
	lua_settop(L, 2);
	if (!has_pods) {
		struct neap_world_node **nodes = neap_check_nodes(L, 2, &count);

		set = push_set(L, count * sizeof(*nodes), false);
		memcpy(set->items, nodes, count * sizeof(*nodes));
	} else {
		struct neap_world_pod **pods = neap_check_pods(L, 2, &count);
		uint64_t *bits;

		set = push_set(L, words * sizeof(*bits), true);
		bits = (uint64_t *)(void *)set->items;
		for (size_t i = 0; i < count; i++)
			bits[pods[i]->index / 64] |= UINT64_C(1) << (pods[i]->index % 64);
	}
	set->count = count;
	return 1;
}

/* --- anti-affinity --- */

/* round:is_repelled(pod, set) -> boolean */
static int round_is_repelled(lua_State *L)
{
	struct neap_seat *seat = neap_seat_get(L);
	const struct neap_world_pod *pod = neap_check_pod(L, 2);
	const struct neap_set *set = neap_check_pod_set(L, 3);
	const struct neap_pod_set bits = {(uint64_t *)(uintptr_t)set->items};

	neap_vm_check(L);
	lua_pushboolean(L, neap_round_is_repelled(seat->round, pod, &bits));
	return 1;
}

/* --- spread --- */

static void read_constraints(lua_State *L, int arg, bool *with_required, bool *with_soft)
{
	luaL_checktype(L, arg, LUA_TTABLE);
	(void)neap_sandbox_push_thawed(L, arg);
	for (size_t i = 1; i <= lua_rawlen(L, -1); i++) {
		const char *text;

		lua_rawgeti(L, -1, (lua_Integer)i);
		text = neap_lua_name(L, -1);
		*with_required = *with_required || strcmp(text, "DoNotSchedule") == 0;
		*with_soft = *with_soft || strcmp(text, "ScheduleAnyway") == 0;
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
}

/* The sizes of the domains are there at once, their pods by round:domains(spread). */
static void push_spread(lua_State *L, const struct neap_spread_found *found)
{
	lua_createtable(L, 0, 8);
	lua_pushstring(L, found->ns);
	lua_setfield(L, -2, "namespace");
	lua_pushstring(L, found->constraint->topology_key);
	lua_setfield(L, -2, "topology_key");
	lua_pushinteger(L, found->constraint->max_skew);
	lua_setfield(L, -2, "max_skew");
	lua_pushinteger(L, (lua_Integer)found->pod_count);
	lua_setfield(L, -2, "pod_count");
	lua_createtable(L, NEAP_VM_LIST(found->domain_count), 0);
	for (size_t i = 0; i < found->domain_count; i++) {
		lua_pushinteger(L, (lua_Integer)found->domains[i].count);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	lua_setfield(L, -2, "sizes");
	neap_push_spread(L, found);
	lua_setfield(L, -2, "ref");
}

/* round:spreads(pods, kinds) -> spreads */
static int round_spreads(lua_State *L)
{
	struct neap_seat *seat = neap_seat_get(L);
	bool with_required = false, with_soft = false;
	struct neap_spread_found *found;
	struct neap_world_pod **pods;
	struct neap_error err;
	size_t count, found_count;

	luaL_checkstack(L, 12, NULL);
	read_constraints(L, 3, &with_required, &with_soft);
	pods = neap_check_pods(L, 2, &count);
	if (neap_round_find_spreads(seat->round, pods, count, with_required, with_soft,
				    &found, &found_count, &err) < 0)
		raise(L, &err);
	neap_vm_check(L);
	lua_createtable(L, NEAP_VM_LIST(found_count), 0);
	for (size_t i = 0; i < found_count; i++) {
		push_spread(L, &found[i]);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
		neap_vm_check(L);
	}
	return 1;
}

static const struct neap_spread_found *check_spread(lua_State *L, int arg)
{
	const struct neap_spread_found *found;

	luaL_checktype(L, arg, LUA_TTABLE);
	neap_lua_get(L, arg, "ref");
	found = neap_check_spread(L, lua_gettop(L));
	lua_pop(L, 1);
	return found;
}

/* round:domains(spread) -> { { value =, pods = }, ... } */
static int round_domains(lua_State *L)
{
	const struct neap_spread_found *found = check_spread(L, 2);

	luaL_checkstack(L, 12, NULL);
	lua_createtable(L, NEAP_VM_LIST(found->domain_count), 0);
	for (size_t i = 0; i < found->domain_count; i++) {
		lua_createtable(L, 0, 2);
		lua_pushstring(L, found->domains[i].value);
		lua_setfield(L, -2, "value");
		neap_push_pods(L, found->domains[i].pods, found->domains[i].count);
		lua_setfield(L, -2, "pods");
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	return 1;
}

/* round:fits_below(spread, pod) -> boolean */
static int round_fits_below(lua_State *L)
{
	const struct neap_seat *seat = neap_seat_get(L);

	lua_pushboolean(L, neap_spread_fits_below(seat->round, check_spread(L, 2),
						  neap_check_pod(L, 3)));
	neap_vm_check(L);
	return 1;
}

/* --- duplicates --- */

/* round:duplicates(pods) -> { { namespace =, kind =, name =, counted =, feasible =,
 * pods = }, ... } */
static int round_duplicates(lua_State *L)
{
	struct neap_seat *seat = neap_seat_get(L);
	struct neap_duplicates *found;
	struct neap_world_pod **pods;
	struct neap_error err;
	size_t count, found_count;

	luaL_checkstack(L, 12, NULL);
	pods = neap_check_pods(L, 2, &count);
	if (neap_round_find_duplicates(seat->round, pods, count, &found, &found_count,
				       &err) < 0)
		raise(L, &err);
	neap_vm_check(L);
	lua_createtable(L, NEAP_VM_LIST(found_count), 0);
	for (size_t i = 0; i < found_count; i++) {
		lua_createtable(L, 0, 6);
		lua_pushstring(L, found[i].ns);
		lua_setfield(L, -2, "namespace");
		lua_pushstring(L, found[i].kind);
		lua_setfield(L, -2, "kind");
		lua_pushstring(L, found[i].name);
		lua_setfield(L, -2, "name");
		lua_pushinteger(L, (lua_Integer)found[i].counted);
		lua_setfield(L, -2, "counted");
		lua_pushinteger(L, (lua_Integer)neap_round_count_feasible(
					   seat->round, found[i].pods, found[i].count));
		lua_setfield(L, -2, "feasible");
		neap_push_pods(L, found[i].pods, found[i].count);
		lua_setfield(L, -2, "pods");
		lua_rawseti(L, -2, (lua_Integer)i + 1);
		neap_vm_check(L);
	}
	return 1;
}

/* --- anomalies --- */

static struct neap_anomalies *need_anomalies(lua_State *L, struct neap_seat *seat)
{
	if (!seat->own->anomalies)
		seat->own->anomalies = neap_anomalies_new();
	if (!seat->own->anomalies)
		neap_vm_raise_nomem(L);
	return seat->own->anomalies;
}

static int64_t check_number(lua_State *L, int table, const char *name, double most)
{
	double value;

	neap_lua_get(L, table, name);
	value = lua_tonumber(L, -1);
	if (lua_type(L, -1) != LUA_TNUMBER || !(value >= 0 && value <= most))
		(void)luaL_error(L, "%s: a number that is not negative is wanted", name);
	lua_pop(L, 1);
	return (int64_t)value;
}

/* round:mark(key, is_normal, { abnormal =, normal =, timeout_s = }) -> boolean */
static int round_mark(lua_State *L)
{
	struct neap_seat *seat = neap_seat_get(L);
	const char *key = neap_lua_check_text(L, 2);
	struct neap_anomaly_rule rule;
	struct neap_error err;
	bool is = false;

	luaL_checktype(L, 3, LUA_TBOOLEAN);
	luaL_checktype(L, 4, LUA_TTABLE);
	rule.abnormal_least = check_number(L, 4, "abnormal", 1e9);
	rule.normal_least = check_number(L, 4, "normal", 1e9);
	rule.timeout_usec = check_number(L, 4, "timeout_s", 1e9) * 1000000;
	if (neap_anomalies_mark(need_anomalies(L, seat), key, &rule, lua_toboolean(L, 3),
				seat->round->args.now_usec, &is, &err) < 0)
		raise(L, &err);
	lua_pushboolean(L, is);
	return 1;
}

/* round:unmark(key) */
static int round_unmark(lua_State *L)
{
	struct neap_seat *seat = neap_seat_get(L);

	neap_anomalies_reset(need_anomalies(L, seat), neap_lua_check_text(L, 2));
	return 0;
}

/* round:forget(seconds) */
static int round_forget(lua_State *L)
{
	struct neap_seat *seat = neap_seat_get(L);
	double seconds = luaL_checknumber(L, 2);

	luaL_argexpected(L, seconds >= 0 && seconds < 1e9, 2, "seconds");
	neap_anomalies_forget(need_anomalies(L, seat),
			      seat->round->args.now_usec - (int64_t)(seconds * 1e6));
	return 0;
}

const luaL_Reg neap_round_finders[] = {
	{"is_repelled", round_is_repelled},
	{"spreads", round_spreads},
	{"domains", round_domains},
	{"fits_below", round_fits_below},
	{"duplicates", round_duplicates},
	{"mark", round_mark},
	{"unmark", round_unmark},
	{"forget", round_forget},
	{NULL, NULL},
};
