/* SPDX-License-Identifier: Apache-2.0
 *
 * The methods and fields of a round for scripts. */
#include <string.h>

#include <lauxlib.h>

#include "lua/deschedule/deschedule_priv.h"
#include "lua/value/objects.h"
#include "lua/vm/budget.h"
#include "lua/vm/vm_priv.h"

/* round:evict(pod, why [, targets]) -> true, nil, node | false, reason, text */
static int round_evict(lua_State *L)
{
	struct neap_seat *seat = neap_seat_get(L);
	const struct neap_world_pod *pod = neap_check_pod(L, 2);
	const char *why = neap_lua_check_text(L, 3);
	struct neap_world_node **targets = NULL;
	struct neap_budget_pause pause;
	struct neap_round_answer answer;
	struct neap_error err;
	size_t count = 0;
	int rc;

	luaL_argexpected(L, strlen(why) < NEAP_ROUND_WHY, 3, "text of at most 511 bytes");
	lua_settop(L, 4);
	if (!lua_isnil(L, 4))
		targets = neap_check_nodes(L, 4, &count);
	/* Placing the pod, and rules that are scripts, have budgets of their own. */
	neap_budget_pause(&pause);
	rc = neap_round_evict_to(seat->round, pod, seat->strategy, why, targets, count,
				 &answer, &err);
	neap_budget_resume(&pause);
	neap_vm_check(L);
	if (rc == -NEAP_ENOMEM)
		neap_vm_raise_nomem(L);
	if (rc < 0)
		return luaL_error(L, "%s", err.msg);
	lua_pushboolean(L, answer.outcome == NEAP_ROUND_EVICTED);
	if (answer.outcome == NEAP_ROUND_EVICTED)
		lua_pushnil(L);
	else
		lua_pushstring(L, neap_round_outcome_name(answer.outcome));
	if (answer.outcome == NEAP_ROUND_EVICTED && !*answer.node)
		lua_pushnil(L);
	else
		lua_pushstring(L, answer.outcome == NEAP_ROUND_EVICTED ? answer.node
								       : answer.reason);
	return 3;
}

typedef bool may_fn(struct neap_round *round, const struct neap_world_pod *pod,
		    const char **ret_why);

static int may(lua_State *L, may_fn *ask)
{
	struct neap_seat *seat = neap_seat_get(L);
	const struct neap_world_pod *pod = neap_check_pod(L, 2);
	struct neap_budget_pause pause;
	const char *why = NULL;
	bool is;

	neap_budget_pause(&pause);
	is = ask(seat->round, pod, &why);
	neap_budget_resume(&pause);
	neap_vm_check(L);
	lua_pushboolean(L, is);
	if (is)
		return 1;
	lua_pushstring(L, why ? why : "");
	return 2;
}

/* round:may_leave(pod) -> boolean, reason */
static int round_may_leave(lua_State *L)
{
	return may(L, neap_round_may_leave);
}

/* round:may_leave_now(pod) -> boolean, reason */
static int round_may_leave_now(lua_State *L)
{
	return may(L, neap_round_may_leave_now);
}

/* round:nodes([selector]) -> nodes */
static int round_nodes(lua_State *L)
{
	const struct neap_round *round = neap_seat_get(L)->round;
	const struct neap_selector *selector = NULL;
	lua_Integer count = 0;

	if (!lua_isnoneornil(L, 2)) {
		selector = neap_lua_to_selector(L, 2);
		luaL_argexpected(L, selector != NULL, 2, "selector");
	}
	luaL_checkstack(L, 8, NULL);
	lua_createtable(L, NEAP_VM_LIST(round->node_count), 0);
	for (size_t i = 0; i < round->node_count; i++) {
		neap_vm_check(L);
		if (selector &&
		    !neap_object_is_selected(round->nodes[i]->object, selector))
			continue;
		neap_push_node(L, round->nodes[i]);
		lua_rawseti(L, -2, ++count);
	}
	return 1;
}

/* round:pods([query [, nodes]]) -> pods */
static int round_pods(lua_State *L)
{
	const struct neap_round *round = neap_seat_get(L)->round;
	struct neap_world_node **nodes = round->nodes;
	size_t count = round->node_count;

	lua_settop(L, 3);
	if (!lua_isnil(L, 3))
		nodes = neap_check_nodes(L, 3, &count);
	neap_query_pods(L, 2, nodes, count);
	return 1;
}

static int add_wish(lua_State *L, struct neap_round_wish wish)
{
	struct neap_seat *seat = neap_seat_get(L);
	struct neap_error err;
	int rc;

	wish.strategy = seat->strategy;
	rc = neap_round_add_wish(seat->round, &wish, &err);
	if (rc == -NEAP_ENOMEM)
		neap_vm_raise_nomem(L);
	return rc < 0 ? luaL_error(L, "%s", err.msg) : 0;
}

/* round:set_deletion_cost(pod, cost) */
static int round_set_deletion_cost(lua_State *L)
{
	const struct neap_world_pod *pod = neap_check_pod(L, 2);
	lua_Integer cost = luaL_checkinteger(L, 3);

	luaL_argexpected(L, cost >= INT32_MIN && cost <= INT32_MAX, 3,
			 "integer of 32 bits");
	return add_wish(L, (struct neap_round_wish){.type = NEAP_WISH_DELETION_COST,
						    .pod = pod,
						    .cost = (int32_t)cost});
}

/* round:cordon(node) */
static int round_cordon(lua_State *L)
{
	return add_wish(L, (struct neap_round_wish){.type = NEAP_WISH_CORDON,
						    .node = neap_check_node(L, 2)});
}

/* round:uncordon(node) */
static int round_uncordon(lua_State *L)
{
	return add_wish(L, (struct neap_round_wish){.type = NEAP_WISH_UNCORDON,
						    .node = neap_check_node(L, 2)});
}

static const luaL_Reg methods[] = {
	{"evict", round_evict},
	{"may_leave", round_may_leave},
	{"may_leave_now", round_may_leave_now},
	{"nodes", round_nodes},
	{"pods", round_pods},
	{"sort", neap_round_sort},
	{"set", neap_round_set},
	{"set_deletion_cost", round_set_deletion_cost},
	{"cordon", round_cordon},
	{"uncordon", round_uncordon},
	{NULL, NULL},
};

enum round_field { ROUND_IS_DRY, ROUND_NOW, ROUND_INTERVAL, ROUND_NODES };

static const struct {
	const char *name;
	enum round_field field;
} round_fields[] = {
	{"is_dry", ROUND_IS_DRY},
	{"now_unix", ROUND_NOW},
	{"interval_s", ROUND_INTERVAL},
	{"node_count", ROUND_NODES},
};

static void push_field(lua_State *L, const struct neap_round *round,
		       enum round_field field)
{
	switch (field) {
	case ROUND_IS_DRY:
		lua_pushboolean(L, round->args.is_dry);
		return;
	case ROUND_NOW:
		lua_pushinteger(L, round->args.now_usec / 1000000);
		return;
	case ROUND_INTERVAL:
		lua_pushinteger(L, round->args.interval_usec / 1000000);
		return;
	default:
		lua_pushinteger(L, (lua_Integer)round->node_count);
	}
}

int neap_round_index(lua_State *L)
{
	const struct neap_seat *seat = neap_seat_get(L);

	luaL_checkstack(L, 6, NULL);
	lua_pushvalue(L, 2);
	switch (lua_rawget(L, lua_upvalueindex(NEAP_UP_NAMES))) {
	case LUA_TFUNCTION:
		return 1;
	case LUA_TNUMBER:
		push_field(L, seat->round, (enum round_field)lua_tointeger(L, -1));
		return 1;
	default:
		return luaL_error(L, "a round has no field '%s'", neap_lua_name(L, 2));
	}
}

void neap_round_names(lua_State *L, int index)
{
	for (size_t i = 0; i < NEAP_ARRAY_LEN(round_fields); i++) {
		lua_pushinteger(L, round_fields[i].field);
		lua_setfield(L, -2, round_fields[i].name);
	}
	neap_add_methods(L, index, methods);
	neap_add_methods(L, index, neap_round_finders);
}
