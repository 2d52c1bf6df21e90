/* SPDX-License-Identifier: Apache-2.0
 *
 * The methods and fields of a node for scripts. */
#include <string.h>

#include <lauxlib.h>

#include "lua/deschedule/deschedule_priv.h"
#include "lua/place/place_priv.h"
#include "lua/value/objects.h"
#include "lua/vm/vm.h"

enum node_field {
	NODE_NAME,
	NODE_INDEX,
	NODE_IS_CORDONED,
	NODE_IS_READY,
	NODE_POD_COUNT,
	NODE_TAINTS,
	NODE_LABELS,
	NODE_HAS_USAGE,
	NODE_USAGE_AGE,
	NODE_IS_MEASURED,
	NODE_SAMPLE,
};

static const struct {
	const char *name;
	enum node_field field;
} node_fields[] = {
	{"name", NODE_NAME},
	{"index", NODE_INDEX},
	{"is_cordoned", NODE_IS_CORDONED},
	{"is_ready", NODE_IS_READY},
	{"pod_count", NODE_POD_COUNT},
	{"taints", NODE_TAINTS},
	{"labels", NODE_LABELS},
	{"has_usage", NODE_HAS_USAGE},
	{"usage_age_s", NODE_USAGE_AGE},
	{"is_measured", NODE_IS_MEASURED},
	{"sample", NODE_SAMPLE},
};

static void push_taints(lua_State *L, const struct neap_world_node *node)
{
	static const char *const effects[NEAP_TAINT_EFFECT_COUNT] = {
		"NoSchedule", "PreferNoSchedule", "NoExecute"};

	lua_newtable(L);
	for (size_t i = 0; i < node->taint_count; i++) {
		lua_createtable(L, 0, 3);
		lua_pushstring(L, node->taints[i].key);
		lua_setfield(L, -2, "key");
		lua_pushstring(L, node->taints[i].value);
		lua_setfield(L, -2, "value");
		lua_pushstring(L, effects[node->taints[i].effect]);
		lua_setfield(L, -2, "effect");
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
}

static void push_field(lua_State *L, const struct neap_round *round,
		       const struct neap_world_node *node, enum node_field field)
{
	const struct neap_world_metric *metric = node->metric;

	switch (field) {
	case NODE_NAME:
		lua_pushstring(L, node->name);
		return;
	case NODE_INDEX:
		lua_pushinteger(L, (lua_Integer)node->index + 1);
		return;
	case NODE_IS_CORDONED:
		lua_pushboolean(L, node->is_cordoned);
		return;
	case NODE_IS_READY:
		lua_pushboolean(L, node->is_ready);
		return;
	case NODE_POD_COUNT:
		lua_pushinteger(L, node->live_count);
		return;
	case NODE_TAINTS:
		push_taints(L, node);
		return;
	case NODE_LABELS:
		neap_place_push_labels(L, node->object);
		return;
	case NODE_HAS_USAGE:
		lua_pushboolean(L, metric && metric->has_usage);
		return;
	case NODE_USAGE_AGE:
		if (metric && metric->update_usec)
			lua_pushnumber(L, (lua_Number)(round->args.now_usec -
						       metric->update_usec) /
						  1e6);
		else
			lua_pushnil(L);
		return;
	case NODE_IS_MEASURED:
		lua_pushboolean(L, node->measured != NULL);
		return;
	default:
		if (node->sample >= 0)
			lua_pushnumber(L, node->sample);
		else
			lua_pushnil(L);
	}
}

int neap_node_index(lua_State *L)
{
	const struct neap_world_node *node = neap_check_node(L, 1);
	int field = neap_cursor_field(L, "node");

	if (field >= 0)
		push_field(L, neap_seat_get(L)->round, node, (enum node_field)field);
	return 1;
}

/* --- methods --- */

/* node:label(key) -> string | nil */
static int node_label(lua_State *L)
{
	const struct neap_world_node *node = neap_check_node(L, 1);

	lua_pushstring(L, neap_object_label(node->object, neap_lua_check_text(L, 2)));
	return 1;
}

/* Pushes the amount; nil where the list does not have it, and it may be missing. */
static int push_amount(lua_State *L, const struct neap_amounts *amounts, bool is_zero)
{
	uint32_t resource = neap_check_resource(L, 2);

	for (size_t i = 0; amounts && i < amounts->count; i++)
		if (amounts->of[i].resource == resource) {
			lua_pushinteger(L, amounts->of[i].amount);
			return 1;
		}
	if (is_zero)
		lua_pushinteger(L, 0);
	else
		lua_pushnil(L);
	return 1;
}

/* node:allocatable(resource) -> integer | nil */
static int node_allocatable(lua_State *L)
{
	return push_amount(L, &neap_check_node(L, 1)->allocatable, false);
}

/* node:raw_allocatable(resource) -> integer | nil */
static int node_raw(lua_State *L)
{
	return push_amount(L, &neap_check_node(L, 1)->raw, false);
}

/* node:requested(resource) -> integer */
static int node_requested(lua_State *L)
{
	return push_amount(L, &neap_check_node(L, 1)->requested, true);
}

/* node:usage(resource [, class]) -> integer | nil */
static int node_usage(lua_State *L)
{
	const struct neap_world_node *node = neap_check_node(L, 1);

	if (!node->metric || !node->metric->has_usage) {
		lua_pushnil(L);
		return 1;
	}
	if (lua_isnoneornil(L, 3))
		return push_amount(L, &node->used, true);
	if (strcmp(neap_lua_check_text(L, 3), "prod") != 0)
		return luaL_argerror(L, 3, "\"prod\" is wanted, or nothing");
	return push_amount(L, &node->prod_used, true);
}

/* node:measured(resource) -> integer | nil */
static int node_measured(lua_State *L)
{
	return push_amount(L, neap_check_node(L, 1)->measured, false);
}

/* node:pods([query]) -> pods */
static int node_pods(lua_State *L)
{
	struct neap_world_node *node =
		(struct neap_world_node *)(uintptr_t)neap_check_node(L, 1);

	neap_query_pods(L, 2, &node, 1);
	return 1;
}

static const luaL_Reg methods[] = {
	{"label", node_label},         {"allocatable", node_allocatable},
	{"raw_allocatable", node_raw}, {"requested", node_requested},
	{"usage", node_usage},         {"measured", node_measured},
	{"pods", node_pods},           {NULL, NULL},
};

void neap_node_names(lua_State *L, int index)
{
	for (size_t i = 0; i < NEAP_ARRAY_LEN(node_fields); i++) {
		lua_pushinteger(L, node_fields[i].field);
		lua_setfield(L, -2, node_fields[i].name);
	}
	neap_add_methods(L, index, methods);
}
