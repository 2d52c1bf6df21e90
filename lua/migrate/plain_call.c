/* SPDX-License-Identifier: Apache-2.0 */
#include "lua/migrate/plain_call.h"

#include <string.h>

#include <lauxlib.h>

#include "engine/base/mem.h"
#include "lua/value/convert.h"

#define RESULTS      2
#define VALUES_MAX   100000
#define RESULT_BYTES (1024 * 1024)
#define LEVELS_MAX   40

struct call {
	struct neap_policy *policy;
	const json_t *const *args;
	int arg_count;
	int64_t now_unix;
	json_t *ret;
	int rc;
	struct neap_error *err;
};

/* Pushes a value as a script sees it: null is nil, so it is missing. Raises. */
static void push(lua_State *L, const json_t *value, int level)
{
	const char *key;
	json_t *member;
	size_t i;

	if (level > LEVELS_MAX)
		(void)luaL_error(L, "more than %d levels", LEVELS_MAX);
	luaL_checkstack(L, 4, NULL);
	switch (value ? json_typeof(value) : JSON_NULL) {
	case JSON_OBJECT:
		lua_createtable(L, 0, (int)json_object_size(value));
		json_object_foreach ((json_t *)(uintptr_t)value, key, member) {
			push(L, member, level + 1);
			lua_setfield(L, -2, key);
		}
		break;
	case JSON_ARRAY:
		lua_createtable(L, (int)json_array_size(value), 0);
		json_array_foreach (value, i, member) {
			push(L, member, level + 1);
			lua_rawseti(L, -2, (lua_Integer)i + 1);
		}
		break;
	case JSON_STRING:
		lua_pushlstring(L, json_string_value(value), json_string_length(value));
		break;
	case JSON_INTEGER:
		lua_pushinteger(L, json_integer_value(value));
		break;
	case JSON_REAL:
		lua_pushnumber(L, json_real_value(value));
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		lua_pushboolean(L, json_is_true(value));
		break;
	case JSON_NULL:
		lua_pushnil(L);
		break;
	}
}

/* (function, arguments...) -> a table of its results */
static int run_packed(lua_State *L)
{
	lua_call(L, lua_gettop(L) - 1, RESULTS);
	lua_createtable(L, RESULTS, 0);
	lua_insert(L, 1);
	lua_rawseti(L, 1, 2);
	lua_rawseti(L, 1, 1);
	return 1;
}

static int push_call(lua_State *L)
{
	struct call *call = lua_touserdata(L, 1);

	neap_ctx_set_now(L, call->policy, call->now_unix);
	lua_pushcfunction(L, run_packed);
	neap_policy_push(L, call->policy, NEAP_REF_TICK);
	neap_policy_push(L, call->policy, NEAP_REF_CTX);
	for (int i = 0; i < NEAP_PLAIN_ARGS; i++)
		if (i < call->arg_count)
			push(L, call->args[i], 0);
		else
			lua_pushnil(L);
	return 3 + NEAP_PLAIN_ARGS;
}

static int read_results(lua_State *L)
{
	struct call *call = lua_touserdata(L, 1);

	neap_policy_push(L, call->policy, NEAP_REF_RESULT);
	for (lua_Integer i = 1; call->rc == 0 && i <= RESULTS; i++) {
		json_t *one = NULL;

		if (lua_rawgeti(L, 2, i) == LUA_TNIL)
			one = json_null();
		else
			call->rc = neap_lua_to_json_within(L, -1, VALUES_MAX,
							   RESULT_BYTES, &one, call->err);
		lua_pop(L, 1);
		if (call->rc < 0)
			json_decref(one);
		else if (json_array_append_new(call->ret, one) < 0)
			call->rc = neap_error_nomem(call->err);
	}
	return 0;
}

static int read_back(struct call *call, bool *ret_is_wrong)
{
	struct neap_policy *policy = call->policy;
	lua_State *L = neap_vm_state(policy->vm);
	int rc;

	call->ret = json_array();
	if (!call->ret)
		return neap_error_nomem(call->err);
	neap_policy_keep(L, policy, NEAP_REF_RESULT);
	rc = neap_vm_protect(policy->vm, read_results, call, 0, call->err);
	lua_pushboolean(L, 0);
	neap_policy_keep(L, policy, NEAP_REF_RESULT);
	if (rc == 0 && call->rc < 0) {
		*ret_is_wrong = call->rc == -NEAP_EINVAL || call->rc == -NEAP_ETOOLARGE;
		rc = call->rc;
	}
	return rc;
}

int neap_plain_call(struct neap_policy *policy, const char *name,
		    const json_t *const args[NEAP_PLAIN_ARGS], int64_t now_unix,
		    json_t **ret, bool *ret_is_wrong, struct neap_error *err)
{
	struct call call = {
		.policy = policy, .args = args, .now_unix = now_unix, .err = err};
	int rc;

	*ret_is_wrong = false;
	while (call.arg_count < NEAP_PLAIN_ARGS && args[call.arg_count])
		call.arg_count++;
	neap_vm_set_entry(policy->vm, name);
	rc = neap_vm_protect(policy->vm, push_call, &call, 3 + NEAP_PLAIN_ARGS, err);
	if (rc == 0)
		rc = neap_vm_call(policy->vm, 2 + NEAP_PLAIN_ARGS, 1,
				  policy->kind->call_budget_usec, err);
	if (rc == 0)
		rc = read_back(&call, ret_is_wrong);
	if (rc < 0) {
		json_decref(call.ret);
		return neap_policy_in(policy, NEAP_REF_TICK, name, err);
	}
	*ret = call.ret;
	return 0;
}
