/* SPDX-License-Identifier: Apache-2.0
 *
 * The topology object: a reference to the machine's arrays, with methods. */
#include <lauxlib.h>

#include "engine/cpu/pick.h"
#include "lua/value/objects.h"
#include "lua/vm/vm.h"

#define TOPOLOGY_TYPE "neap.Topology"

static const char
	last_slot; /* its address is the registry key of the object pushed last */

struct object {
	struct neap_topology *topology;
};

static struct neap_topology *check_topology(lua_State *L)
{
	struct object *object = luaL_checkudata(L, 1, TOPOLOGY_TYPE);

	neap_vm_check(L);
	luaL_argcheck(L, object->topology, 1, "a topology without a machine");
	return object->topology;
}

struct neap_topology *neap_lua_to_topology(lua_State *L, int index)
{
	struct object *object = luaL_testudata(L, index, TOPOLOGY_TYPE);

	return object ? object->topology : NULL;
}

struct neap_topology **neap_lua_new_topology(lua_State *L)
{
	struct object *object = lua_newuserdatauv(L, sizeof(*object), 0);

	object->topology = NULL;
	luaL_setmetatable(L, TOPOLOGY_TYPE); /* __gc owns it from here on */
	return &object->topology;
}

void neap_lua_push_topology(lua_State *L, struct neap_topology *topology)
{
	lua_rawgetp(L, LUA_REGISTRYINDEX, &last_slot);
	if (neap_lua_to_topology(L, -1) == topology)
		return;
	lua_pop(L, 1);

	*neap_lua_new_topology(L) = neap_topology_ref(topology);
	lua_pushvalue(L, -1);
	lua_rawsetp(L, LUA_REGISTRYINDEX, &last_slot);
}

static int topo_gc(lua_State *L)
{
	struct object *object = luaL_checkudata(L, 1, TOPOLOGY_TYPE);

	if (object->topology)
		object->topology = neap_topology_unref(object->topology);
	return 0;
}

/* topology:cpus() -> cpu set */
static int topo_cpus(lua_State *L)
{
	neap_lua_push_cpuset(L, &check_topology(L)->online);
	return 1;
}

/* topology:count() -> integer */
static int topo_count(lua_State *L)
{
	lua_pushinteger(L, check_topology(L)->cpu_count);
	return 1;
}

/* Picks the n of the arguments (topology, set, n). Leaves the userdata that holds the
 * numbers on the stack and returns how many there are. */
static int pick(lua_State *L, int **ret_order)
{
	struct neap_topology *topology = check_topology(L);
	struct neap_cpuset from;
	lua_Integer wanted = luaL_checkinteger(L, 3);

	neap_lua_check_cpuset(L, 2, &from);
	if (wanted <= 0 || wanted > topology->cpu_count)
		return 0;
	*ret_order = lua_newuserdatauv(L, (size_t)wanted * sizeof(**ret_order), 0);
	return neap_pick_scatter(topology, &from, (int)wanted, *ret_order);
}

/* topology:pick(set, n) -> array of CPU numbers in picking order, {} when set has
 * fewer */
static int topo_pick(lua_State *L)
{
	int *order = NULL;
	int count = pick(L, &order);

	lua_createtable(L, count, 0);
	for (int i = 0; i < count; i++) {
		lua_pushinteger(L, order[i]);
		lua_rawseti(L, -2, i + 1);
	}
	return 1;
}

/* topology:pick_set(set, n) -> cpu set of the same, empty when set has fewer */
static int topo_pick_set(lua_State *L)
{
	struct neap_cpuset ret;
	int *order = NULL;
	int count = pick(L, &order);

	neap_cpuset_clear(&ret);
	for (int i = 0; i < count; i++)
		neap_cpuset_add(&ret, order[i]);
	neap_lua_push_cpuset(L, &ret);
	return 1;
}

/* topology:siblings(cpu) -> cpu set of its core, itself included; empty for an unknown
 * CPU */
static int topo_siblings(lua_State *L)
{
	struct neap_topology *topology = check_topology(L);
	lua_Integer number = luaL_checkinteger(L, 2);
	const struct neap_cpu *cpu = NULL;
	struct neap_cpuset none;

	if (number >= 0 && number < NEAP_CPU_MAX)
		cpu = neap_topology_find_cpu(topology, (int)number);
	neap_cpuset_clear(&none);
	neap_lua_push_cpuset(L, cpu ? &topology->cores[cpu->core].cpus : &none);
	return 1;
}

/* topology:whole_cores(set) -> cpu set: of set those CPUs whose siblings are all in it */
static int topo_whole_cores(lua_State *L)
{
	struct neap_topology *topology = check_topology(L);
	struct neap_cpuset set, ret;

	neap_lua_check_cpuset(L, 2, &set);
	neap_cpuset_clear(&ret);
	for (int i = 0; i < topology->core_count; i++)
		if (neap_cpuset_is_subset(&topology->cores[i].cpus, &set))
			neap_cpuset_or(&ret, &ret, &topology->cores[i].cpus);
	neap_lua_push_cpuset(L, &ret);
	return 1;
}

static int push_cpus(lua_State *L, const struct neap_cpuset *cpus)
{
	neap_lua_push_cpuset(L, cpus);
	return 1;
}

static int push_none(lua_State *L, const char *what, lua_Integer number)
{
	luaL_pushfail(L);
	lua_pushfstring(L, "there is no %s %I", what, (LUAI_UACINT)number);
	return 2;
}

/* topology:nodes() -> array of NUMA node numbers */
static int topo_nodes(lua_State *L)
{
	struct neap_topology *topology = check_topology(L);

	lua_createtable(L, topology->node_count, 0);
	for (int i = 0; i < topology->node_count; i++) {
		lua_pushinteger(L, topology->nodes[i].os_node);
		lua_rawseti(L, -2, i + 1);
	}
	return 1;
}

/* topology:node_cpus(node) -> cpu set | nil, message */
static int topo_node_cpus(lua_State *L)
{
	struct neap_topology *topology = check_topology(L);
	lua_Integer number = luaL_checkinteger(L, 2);

	for (int i = 0; i < topology->node_count; i++)
		if (topology->nodes[i].os_node == number)
			return push_cpus(L, &topology->nodes[i].cpus);
	return push_none(L, "NUMA node", number);
}

/* topology:sockets() -> array of socket numbers */
static int topo_sockets(lua_State *L)
{
	struct neap_topology *topology = check_topology(L);

	lua_createtable(L, topology->socket_count, 0);
	for (int i = 0; i < topology->socket_count; i++) {
		lua_pushinteger(L, topology->sockets[i].os_socket);
		lua_rawseti(L, -2, i + 1);
	}
	return 1;
}

/* topology:socket_cpus(socket) -> cpu set | nil, message */
static int topo_socket_cpus(lua_State *L)
{
	struct neap_topology *topology = check_topology(L);
	lua_Integer number = luaL_checkinteger(L, 2);

	for (int i = 0; i < topology->socket_count; i++)
		if (topology->sockets[i].os_socket == number)
			return push_cpus(L, &topology->sockets[i].cpus);
	return push_none(L, "socket", number);
}

static const luaL_Reg topo_methods[] = {
	{"cpus", topo_cpus},
	{"count", topo_count},
	{"pick", topo_pick},
	{"pick_set", topo_pick_set},
	{"siblings", topo_siblings},
	{"whole_cores", topo_whole_cores},
	{"nodes", topo_nodes},
	{"node_cpus", topo_node_cpus},
	{"sockets", topo_sockets},
	{"socket_cpus", topo_socket_cpus},
	{NULL, NULL},
};

void neap_lua_open_topology(lua_State *L)
{
	luaL_newmetatable(L, TOPOLOGY_TYPE);
	lua_pushcfunction(L, topo_gc);
	lua_setfield(L, -2, "__gc");
	luaL_newlib(L, topo_methods);
	lua_setfield(L, -2, "__index");
	lua_pushboolean(L, 0);
	lua_setfield(L, -2, "__metatable");
	lua_pop(L, 1);
}
