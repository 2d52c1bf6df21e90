/* SPDX-License-Identifier: Apache-2.0
 *
 * ctx, the first argument of every function of a policy: one read-only table for the life
 * of the policy. Only now_unix and the values of params change behind it; memo belongs to
 * the script. */
#include <string.h>

#include <lauxlib.h>

#include "engine/base/quantity.h"
#include "lua/call/policy_priv.h"
#include "lua/value/convert.h"
#include "lua/value/objects.h"
#include "lua/vm/sandbox.h"
#include "lua/vm/vm_priv.h"

#define MEMO_DEPTH  8
#define ENTRY_BYTES 16

void neap_policy_push(lua_State *L, const struct neap_policy *policy,
		      enum neap_policy_ref ref)
{
	lua_rawgeti(L, LUA_REGISTRYINDEX, policy->ref[ref]);
}

void neap_policy_keep(lua_State *L, const struct neap_policy *policy,
		      enum neap_policy_ref ref)
{
	lua_rawseti(L, LUA_REGISTRYINDEX, policy->ref[ref]);
}

/* ctx.log(text) */
static int ctx_log(lua_State *L)
{
	neap_vm_log(L, neap_lua_check_text(L, 1));
	return 0;
}

typedef int parse_fn(const char *text, int64_t *ret, struct neap_error *err);

static int parse_quantity(lua_State *L, parse_fn *parse)
{
	const char *text = neap_lua_check_text(L, 1);
	struct neap_error err;
	int64_t value;

	if (parse(text, &value, &err) < 0) {
		luaL_pushfail(L);
		lua_pushstring(L, err.msg);
		return 2;
	}
	lua_pushinteger(L, value);
	return 1;
}

/* ctx.quantity.milli(text) -> integer | nil, message */
static int quantity_milli(lua_State *L)
{
	return parse_quantity(L, neap_quantity_parse_milli);
}

/* ctx.quantity.bytes(text) -> integer | nil, message */
static int quantity_bytes(lua_State *L)
{
	return parse_quantity(L, neap_quantity_parse_units);
}

static const luaL_Reg ctx_functions[] = {
	{"log", ctx_log},
	{"cpuset", neap_lua_cpuset_new},
	{"selector", neap_lua_selector_new},
	{NULL, NULL},
};

static const luaL_Reg quantity_functions[] = {
	{"milli", quantity_milli},
	{"bytes", quantity_bytes},
	{NULL, NULL},
};

static const char *const ctx_names[] = {"params",   "now_unix", "policy", "memo",
					"log",      "hold",     "cpuset", "quantity",
					"selector", "time",     NULL};

void neap_ctx_open(lua_State *L, struct neap_policy *policy)
{
	luaL_checkstack(L, 10, NULL);
	for (int i = 0; i < NEAP_REF_COUNT; i++) {
		lua_pushboolean(L, 0);
		policy->ref[i] = luaL_ref(L, LUA_REGISTRYINDEX);
	}
	lua_newuserdatauv(L, 0, 0); /* equal to nothing but itself */
	neap_policy_keep(L, policy, NEAP_REF_HOLD);
	lua_newtable(L);
	neap_policy_keep(L, policy, NEAP_REF_METAS);

	lua_newtable(L); /* fields */
	luaL_setfuncs(L, ctx_functions, 0);
	luaL_newlib(L, quantity_functions);
	neap_sandbox_freeze(L);
	lua_setfield(L, -2, "quantity");
	neap_time_open(L);
	lua_setfield(L, -2, "time");
	neap_policy_push(L, policy, NEAP_REF_HOLD);
	lua_setfield(L, -2, "hold");
	lua_newtable(L);
	lua_setfield(L, -2, "memo");
	lua_pushinteger(L, 0);
	lua_setfield(L, -2, "now_unix");

	lua_newtable(L); /* names */
	for (int i = 0; ctx_names[i]; i++) {
		lua_pushboolean(L, 1);
		lua_setfield(L, -2, ctx_names[i]);
	}
	lua_insert(L, -2);
	neap_lua_set_strict(L, -2, "ctx has no field '%s'");
	lua_pushvalue(L, -1);
	neap_policy_keep(L, policy, NEAP_REF_FIELDS);
	neap_sandbox_freeze(L);
	neap_policy_keep(L, policy, NEAP_REF_CTX);
	lua_pop(L, 1);
}

void neap_ctx_fill(lua_State *L, struct neap_policy *policy)
{
	luaL_checkstack(L, 10, NULL);
	neap_policy_push(L, policy, NEAP_REF_FIELDS);

	lua_newtable(L);
	lua_pushstring(L, policy->name);
	lua_setfield(L, -2, "name");
	lua_pushstring(L, policy->version);
	lua_setfield(L, -2, "version");
	neap_sandbox_freeze(L);
	lua_setfield(L, -2, "policy");

	lua_newtable(L); /* names of the parameters */
	for (size_t i = 0; i < policy->params.count; i++) {
		lua_pushboolean(L, 1);
		lua_setfield(L, -2, policy->params.rows[i].name);
	}
	lua_newtable(L);
	neap_params_fill(L, &policy->params);
	neap_lua_set_strict(L, -2, "there is no parameter '%s' in params");
	neap_sandbox_freeze(L);
	lua_pushvalue(L, -1);
	neap_policy_keep(L, policy, NEAP_REF_PARAMS);
	lua_setfield(L, -3, "params");
	lua_pop(L, 2);
}

void neap_ctx_set_now(lua_State *L, const struct neap_policy *policy, int64_t now_unix)
{
	neap_policy_push(L, policy, NEAP_REF_FIELDS);
	lua_pushinteger(L, now_unix);
	lua_setfield(L, -2, "now_unix");
	lua_pop(L, 1);
}

static int refresh_params(lua_State *L)
{
	struct neap_policy *policy = lua_touserdata(L, 1);

	/* A whole new table, then one step that cannot fail. */
	luaL_checkstack(L, 10, NULL);
	neap_policy_push(L, policy, NEAP_REF_PARAMS);
	lua_newtable(L);
	neap_params_fill(L, &policy->params);
	(void)neap_sandbox_push_thawed(L, -2);
	if (lua_getmetatable(L, -1))
		lua_setmetatable(L, -3);
	lua_pop(L, 1);
	neap_sandbox_refreeze(L, -2);
	return 0;
}

int neap_ctx_refresh_params(struct neap_policy *policy, struct neap_error *err)
{
	return neap_vm_protect(policy->vm, refresh_params, policy, 0, err);
}

static int reset_memo(lua_State *L)
{
	struct neap_policy *policy = lua_touserdata(L, 1);

	neap_policy_push(L, policy, NEAP_REF_FIELDS);
	lua_newtable(L);
	lua_setfield(L, -2, "memo");
	return 0;
}

int neap_ctx_reset_memo(struct neap_policy *policy, struct neap_error *err)
{
	return neap_vm_protect(policy->vm, reset_memo, policy, 0, err);
}

/* Takes the size of the value at index off *left. */
static int check_memo(lua_State *L, int index, int depth, int64_t *left,
		      struct neap_error *err)
{
	*left -= ENTRY_BYTES;
	switch (lua_type(L, index)) {
	case LUA_TNIL:
	case LUA_TBOOLEAN:
	case LUA_TNUMBER:
		break;
	case LUA_TSTRING:
		*left -= (int64_t)lua_rawlen(L, index);
		break;
	case LUA_TTABLE:
		if (depth >= MEMO_DEPTH)
			return neap_error_set(err, NEAP_EINVAL,
					      "ctx.memo has more than %d levels",
					      MEMO_DEPTH);
		if (!lua_checkstack(L, 4))
			return neap_error_nomem(err);
		lua_pushnil(L);
		while (lua_next(L, index)) {
			int top = lua_gettop(L);
			int rc = neap_vm_spend_step(L, err);

			rc = rc < 0 ? rc : check_memo(L, top - 1, MEMO_DEPTH, left, err);
			rc = rc < 0 ? rc : check_memo(L, top, depth + 1, left, err);
			if (rc < 0)
				return rc;
			lua_pop(L, 1);
		}
		break;
	default:
		return neap_error_set(
			err, NEAP_EINVAL,
			"ctx.memo holds a %s: it keeps numbers, texts, booleans and "
			"tables of them (a cpu set as tostring(set))",
			luaL_typename(L, index));
	}
	if (*left >= 0)
		return 0;
	return neap_error_set(err, NEAP_ETOOLARGE, "ctx.memo holds more than %d KiB",
			      NEAP_MEMO_BYTES / 1024);
}

int neap_ctx_check_memo(lua_State *L, const struct neap_policy *policy,
			struct neap_error *err)
{
	int64_t left = NEAP_MEMO_BYTES;
	int top = lua_gettop(L);
	int rc;

	neap_policy_push(L, policy, NEAP_REF_FIELDS);
	lua_pushliteral(L, "memo");
	lua_rawget(L, -2);
	rc = check_memo(L, lua_gettop(L), 0, &left, err);
	lua_settop(L, top);
	return rc;
}
