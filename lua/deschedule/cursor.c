/* SPDX-License-Identifier: Apache-2.0
 *
 * The seat of a state, and the cursors that scripts hold. In one call a node or pod
 * has one cursor, so that cursors can be compared and be keys. */
#include <string.h>

#include <lauxlib.h>

#include "engine/base/mem.h"
#include "lua/deschedule/deschedule_priv.h"
#include "lua/value/objects.h"
#include "lua/vm/vm_priv.h"

#define OVER "this %s belongs to a round that is over"

enum { CACHE_NODES = 1, CACHE_PODS };

/* --- checking --- */

static struct neap_seat *seat_of(lua_State *L)
{
	return lua_touserdata(L, lua_upvalueindex(NEAP_UP_SEAT));
}

struct neap_seat *neap_seat_get(lua_State *L)
{
	struct neap_seat *seat = seat_of(L);

	if (!seat->round)
		(void)luaL_error(L, OVER, "round");
	return seat;
}

static bool is_of(lua_State *L, int arg, int meta)
{
	bool is = lua_type(L, arg) == LUA_TUSERDATA && lua_getmetatable(L, arg);

	if (!is)
		return false;
	is = lua_rawequal(L, -1, lua_upvalueindex(meta));
	lua_pop(L, 1);
	return is;
}

static const void *check(lua_State *L, int arg, int meta, const char *what)
{
	const struct neap_seat *seat = seat_of(L);
	const struct neap_cursor *cursor;

	if (!is_of(L, arg, meta))
		(void)luaL_typeerror(L, arg, what);
	cursor = lua_touserdata(L, arg);
	if (!seat->round || cursor->call != seat->call)
		(void)luaL_error(L, OVER, what);
	return cursor->of;
}

const struct neap_world_pod *neap_check_pod(lua_State *L, int arg)
{
	return check(L, arg, NEAP_UP_POD, "pod");
}

const struct neap_world_node *neap_check_node(lua_State *L, int arg)
{
	return check(L, arg, NEAP_UP_NODE, "node");
}

const struct neap_spread_found *neap_check_spread(lua_State *L, int index)
{
	return check(L, index, NEAP_UP_SPREAD, "spread");
}

int neap_cursor_field(lua_State *L, const char *what)
{
	luaL_checkstack(L, 10, NULL);
	lua_pushvalue(L, 2);
	switch (lua_rawget(L, lua_upvalueindex(NEAP_UP_NAMES))) {
	case LUA_TFUNCTION:
		return -1;
	case LUA_TNUMBER:
		return (int)lua_tointeger(L, -1);
	default:
		return luaL_error(L, "a %s has no field '%s'", what, neap_lua_name(L, 2));
	}
}

uint32_t neap_check_resource(lua_State *L, int arg)
{
	const char *name = neap_lua_check_text(L, arg);
	const struct neap_seat *seat = neap_seat_get(L);

	return neap_resources_find(seat->round->args.world->resources, name);
}

/* --- pushing --- */

static void push_new(lua_State *L, int meta, const void *of)
{
	struct neap_cursor *cursor = lua_newuserdatauv(L, sizeof(*cursor), 0);

	*cursor = (struct neap_cursor){of, seat_of(L)->call};
	lua_pushvalue(L, lua_upvalueindex(meta));
	lua_setmetatable(L, -2);
}

void neap_push_spread(lua_State *L, const struct neap_spread_found *found)
{
	push_new(L, NEAP_UP_SPREAD, found);
}

static void push(lua_State *L, int cache, int meta, const void *of, uint32_t index)
{
	luaL_checkstack(L, 4, NULL);
	if (lua_getiuservalue(L, lua_upvalueindex(NEAP_UP_SEAT), cache) != LUA_TTABLE) {
		lua_pop(L, 1);
		push_new(L, meta, of);
		return;
	}
	if (lua_rawgeti(L, -1, (lua_Integer)index + 1) == LUA_TUSERDATA) {
		lua_remove(L, -2);
		return;
	}
	lua_pop(L, 1);
	push_new(L, meta, of);
	lua_pushvalue(L, -1);
	lua_rawseti(L, -3, (lua_Integer)index + 1);
	lua_remove(L, -2);
}

void neap_push_pod(lua_State *L, const struct neap_world_pod *pod)
{
	push(L, CACHE_PODS, NEAP_UP_POD, pod, pod->index);
}

void neap_push_node(lua_State *L, const struct neap_world_node *node)
{
	if (node && node->object)
		push(L, CACHE_NODES, NEAP_UP_NODE, node, node->index);
	else
		lua_pushnil(L);
}

void neap_push_pods(lua_State *L, struct neap_world_pod *const *pods, size_t count)
{
	luaL_checkstack(L, 8, NULL);
	lua_createtable(L, NEAP_VM_LIST(count), 0);
	for (size_t i = 0; i < count; i++) {
		neap_push_pod(L, pods[i]);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
		if (!(i & NEAP_VM_CHECK_MASK))
			neap_vm_check(L);
	}
}

static const void **check_list(lua_State *L, int arg, int meta, const char *what,
			       size_t *ret_count)
{
	const struct neap_seat *seat = neap_seat_get(L);
	const void **list;
	size_t count;
	int table;

	luaL_checkstack(L, 8, NULL);
	luaL_checktype(L, arg, LUA_TTABLE);
	(void)neap_sandbox_push_thawed(L, arg);
	table = lua_gettop(L);
	count = lua_rawlen(L, table);
	if (count > NEAP_CURSORS_MAX)
		(void)luaL_argerror(L, arg, "the list is too long");
	list = lua_newuserdatauv(L, (count + 1) * sizeof(*list), 0);
	for (size_t i = 0; i < count; i++) {
		const struct neap_cursor *cursor;

		lua_rawgeti(L, table, (lua_Integer)i + 1);
		if (!is_of(L, -1, meta))
			(void)luaL_argerror(L, arg,
					    lua_pushfstring(L, "element %d is no %s",
							    (int)i + 1, what));
		cursor = lua_touserdata(L, -1);
		if (cursor->call != seat->call)
			(void)luaL_error(L, OVER, what);
		list[i] = cursor->of;
		lua_pop(L, 1);
		if (!(i & NEAP_VM_CHECK_MASK))
			neap_vm_check(L);
	}
	lua_remove(L, table);
	*ret_count = count;
	return list;
}

static struct neap_set *check_set(lua_State *L, int arg, bool has_pods)
{
	struct neap_set *set = lua_touserdata(L, arg);
	const struct neap_seat *seat = seat_of(L);

	if (!seat->round || set->call != seat->call)
		(void)luaL_error(L, OVER, "set");
	if (set->has_pods != has_pods)
		(void)luaL_argerror(L, arg,
				    has_pods ? "a set of pods is wanted, it has nodes"
					     : "a set of nodes is wanted, it has pods");
	return set;
}

const struct neap_set *neap_check_pod_set(lua_State *L, int arg)
{
	if (!is_of(L, arg, NEAP_UP_SET))
		(void)luaL_typeerror(L, arg, "set");
	return check_set(L, arg, true);
}

struct neap_world_node **neap_check_nodes(lua_State *L, int arg, size_t *ret_count)
{
	if (is_of(L, arg, NEAP_UP_SET)) {
		struct neap_set *set = check_set(L, arg, false);

		*ret_count = set->count;
		return (struct neap_world_node **)set->items;
	}
	return (struct neap_world_node **)check_list(L, arg, NEAP_UP_NODE, "node",
						     ret_count);
}

struct neap_world_pod **neap_check_pods(lua_State *L, int arg, size_t *ret_count)
{
	return (struct neap_world_pod **)check_list(L, arg, NEAP_UP_POD, "pod",
						    ret_count);
}

/* --- the seat --- */

/* (light userdata) -> pod */
static int make_pod(lua_State *L)
{
	neap_push_pod(L, lua_touserdata(L, 1));
	return 1;
}

static void push_upvalues(lua_State *L, int index, int count)
{
	luaL_checkstack(L, count + 2, NULL);
	for (int i = 0; i < count; i++)
		lua_pushvalue(L, index + i);
}

void neap_add_methods(lua_State *L, int index, const luaL_Reg *methods)
{
	int names = lua_gettop(L);

	for (; methods->name; methods++) {
		push_upvalues(L, index, NEAP_UP_NAMES - 1);
		lua_pushcclosure(L, methods->func, NEAP_UP_NAMES - 1);
		lua_setfield(L, names, methods->name);
	}
}

static void name_type(lua_State *L, int meta, const char *name)
{
	lua_pushstring(L, name);
	lua_setfield(L, meta, "__name");
	lua_pushboolean(L, 0);
	lua_setfield(L, meta, "__metatable");
}

/* Fills the metatable at index meta. */
static void finish(lua_State *L, int index, int meta, const char *name,
		   void (*names)(lua_State *L, int index), lua_CFunction find)
{
	push_upvalues(L, index, NEAP_UP_NAMES - 1);
	lua_newtable(L);
	names(L, index);
	lua_pushcclosure(L, find, NEAP_UP_COUNT);
	lua_setfield(L, meta, "__index");
	name_type(L, meta, name);
}

void neap_seat_open(lua_State *L, struct neap_policy *policy)
{
	struct neap_seat *seat;
	int index;

	luaL_checkstack(L, 24, NULL);
	seat = lua_newuserdatauv(L, sizeof(*seat), CACHE_PODS);
	memset(seat, 0, sizeof(*seat));
	index = lua_gettop(L);
	for (int i = NEAP_UP_ROUND; i <= NEAP_UP_SPREAD; i++)
		lua_newtable(L);
	finish(L, index, index + NEAP_UP_ROUND - 1, "round", neap_round_names,
	       neap_round_index);
	finish(L, index, index + NEAP_UP_NODE - 1, "node", neap_node_names,
	       neap_node_index);
	finish(L, index, index + NEAP_UP_POD - 1, "pod", neap_pod_names, neap_pod_index);
	name_type(L, index + NEAP_UP_SET - 1, "set");
	name_type(L, index + NEAP_UP_SPREAD - 1, "spread");
	push_upvalues(L, index, NEAP_UP_NAMES - 1);
	lua_pushcclosure(L, make_pod, NEAP_UP_NAMES - 1);
	neap_policy_keep(L, policy, NEAP_REF_MAKE);
	lua_newuserdatauv(L, 1, 0);
	lua_pushvalue(L, index + NEAP_UP_ROUND - 1);
	lua_setmetatable(L, -2);
	neap_policy_keep(L, policy, NEAP_REF_ROUND);
	lua_pushvalue(L, index);
	neap_policy_keep(L, policy, NEAP_REF_SEAT);
	lua_settop(L, index - 1);
	seat->own = policy->deschedule;
	policy->deschedule->seat = seat;
}

static void set_cache(lua_State *L, const struct neap_policy *policy, int cache)
{
	neap_policy_push(L, policy, NEAP_REF_SEAT);
	lua_insert(L, -2);
	lua_setiuservalue(L, -2, cache);
	lua_pop(L, 1);
}

void neap_seat_begin(lua_State *L, struct neap_policy *policy, struct neap_round *round,
		     const char *strategy)
{
	struct neap_seat *seat = policy->deschedule->seat;
	const struct neap_world *world = round->args.world;

	luaL_checkstack(L, 4, NULL);
	if (strategy) { /* else one pod is asked about */
		lua_createtable(L, NEAP_VM_LIST(world->node_count), 0);
		set_cache(L, policy, CACHE_NODES);
		lua_createtable(L, NEAP_VM_LIST(world->pod_count), 0);
		set_cache(L, policy, CACHE_PODS);
	}
	seat->call++;
	seat->round = round;
	seat->strategy = strategy;
}

void neap_seat_end(struct neap_policy *policy)
{
	lua_State *L = neap_vm_state(policy->vm);

	policy->deschedule->seat->round = NULL;
	for (int cache = CACHE_NODES; cache <= CACHE_PODS; cache++) {
		lua_pushnil(L);
		set_cache(L, policy, cache);
	}
}
