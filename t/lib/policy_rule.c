/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/policy_rule.h"

#include <lauxlib.h>
#include <string.h>

#include "engine/machine/topology.h"
#include "lua/call/policy_priv.h"
#include "lua/value/convert.h"
#include "lua/value/objects.h"

#define DEPTH_MAX      32
#define VALUES_MAX     200000
#define BYTES_MAX      ((size_t)16 * 1024 * 1024)
#define PROCESSORS_MAX NEAP_CPU_MAX

/* --- JSON to Lua --- */

static int build(struct neap_processor *rows, size_t count, struct neap_topology **ret,
		 struct neap_error *err)
{
	if (count)
		return neap_topology_new_from_processors(rows, count, ret, err);
	*ret = neap_topology_new(0, 0, 0, 0, 0);
	return *ret ? 0 : neap_error_nomem(err);
}

static int bad_topology(struct neap_error *err)
{
	return neap_error_set(err, NEAP_EINVAL,
			      "a topology is a list of [cpu, core, socket, node]");
}

static int push_processors(lua_State *L, const json_t *list, struct neap_error *err)
{
	size_t count = json_array_size(list);
	struct neap_processor *rows;
	int rc;

	if (count > PROCESSORS_MAX)
		return bad_topology(err);
	rows = lua_newuserdatauv(L, count * sizeof(*rows), 0);
	for (size_t i = 0; i < count; i++) {
		const json_t *row = json_array_get(list, i);
		int *const to[] = {&rows[i].os_cpu, &rows[i].core, &rows[i].socket,
				   &rows[i].node};

		for (size_t k = 0; k < 4; k++) {
			const json_t *number = json_array_get(row, k);

			if (!json_is_integer(number) || json_array_size(row) != 4 ||
			    json_integer_value(number) < -1 ||
			    json_integer_value(number) > INT32_MAX)
				return bad_topology(err);
			*to[k] = (int)json_integer_value(number);
		}
	}
	/* The object owns what is built from the start, whatever raises later. */
	rc = build(rows, count, neap_lua_new_topology(L), err);
	if (rc < 0)
		return rc;
	lua_remove(L, -2);
	return 0;
}

static int push_json(lua_State *L, const json_t *json, int depth, struct neap_error *err);

static int push_object(lua_State *L, json_t *json, int depth, struct neap_error *err)
{
	const char *key;
	json_t *value;
	int rc;

	lua_createtable(L, 0, (int)json_object_size(json));
	json_object_foreach (json, key, value) {
		if (strcmp(key, "processors") == 0 && json_is_array(value))
			rc = push_processors(L, value, err);
		else
			rc = push_json(L, value, depth + 1, err);
		if (rc < 0)
			return neap_error_infield(err, "%s", key);
		lua_setfield(L, -2, key);
	}
	return 0;
}

static int push_json(lua_State *L, const json_t *json, int depth, struct neap_error *err)
{
	int rc;

	luaL_checkstack(L, 10, NULL);
	if (depth > DEPTH_MAX)
		return neap_error_set(err, NEAP_ETOOLARGE, "more than %d levels",
				      DEPTH_MAX);
	switch (json_typeof(json)) {
	case JSON_OBJECT:
		return push_object(L, (json_t *)json, depth, err);
	case JSON_ARRAY:
		lua_createtable(L, (int)json_array_size(json), 0);
		for (size_t i = 0; i < json_array_size(json); i++) {
			rc = push_json(L, json_array_get(json, i), depth + 1, err);
			if (rc < 0)
				return neap_error_infield(err, "[%zu]", i);
			lua_rawseti(L, -2, (lua_Integer)i + 1);
		}
		return 0;
	case JSON_STRING:
		lua_pushlstring(L, json_string_value(json), json_string_length(json));
		return 0;
	case JSON_INTEGER:
		lua_pushinteger(L, json_integer_value(json));
		return 0;
	case JSON_REAL:
		lua_pushnumber(L, json_real_value(json));
		return 0;
	case JSON_TRUE:
	case JSON_FALSE:
		lua_pushboolean(L, json_is_true(json));
		return 0;
	case JSON_NULL:
		lua_pushnil(L);
		return 0;
	}
	return neap_error_set(err, NEAP_EINTERNAL, "a JSON value of no known type");
}

int neap_lua_push_json(lua_State *L, const json_t *json, struct neap_error *err)
{
	int top = lua_gettop(L);
	int rc = push_json(L, json, 0, err);

	if (rc < 0)
		lua_settop(L, top);
	return rc;
}

/* --- and back --- */

int neap_lua_to_json(lua_State *L, int index, json_t **ret, struct neap_error *err)
{
	return neap_lua_to_json_within(L, index, VALUES_MAX, BYTES_MAX, ret, err);
}

/* --- a rule --- */

struct rule_call {
	struct neap_policy *policy;
	const char *rule;
	json_t *input, *output;
	int rc;
	struct neap_error *err;
};

static int push_rule(lua_State *L)
{
	struct rule_call *call = lua_touserdata(L, 1);

	neap_policy_push(L, call->policy, NEAP_REF_TABLE);
	if (neap_lua_get(L, -1, "rules") == LUA_TTABLE)
		neap_lua_get(L, -1, call->rule);
	if (!lua_isfunction(L, -1)) {
		call->rc = neap_error_set(call->err, NEAP_ENOTFOUND,
					  "%s has no rule '%.60s'", call->policy->label,
					  call->rule);
		return 0;
	}
	neap_policy_push(L, call->policy, NEAP_REF_CTX);
	call->rc = neap_lua_push_json(L, call->input, call->err);
	return call->rc < 0 ? 0 : 3;
}

static int read_rule_result(lua_State *L)
{
	struct rule_call *call = lua_touserdata(L, 1);

	neap_policy_push(L, call->policy, NEAP_REF_RESULT);
	call->rc = neap_lua_to_json(L, -1, &call->output, call->err);
	return 0;
}

int neap_policy_call_rule(struct neap_policy *policy, const char *rule, json_t *input,
			  json_t **ret, struct neap_error *err)
{
	struct neap_error own = {0};
	struct rule_call call = {
		.policy = policy, .rule = rule, .input = input, .err = err ? err : &own};
	lua_State *L = neap_vm_state(policy->vm);
	int rc;

	rc = neap_vm_protect(policy->vm, push_rule, &call, 3, call.err);
	if (rc < 0)
		return rc;
	if (call.rc < 0) {
		lua_pop(L, 3);
		return call.rc;
	}
	neap_vm_set_entry(policy->vm, rule);
	rc = neap_vm_call(policy->vm, 2, 1, policy->kind->load_budget_usec, call.err);
	neap_vm_set_entry(policy->vm, policy->kind->functions[0]);
	if (rc < 0)
		return rc;
	neap_policy_keep(L, policy, NEAP_REF_RESULT);
	rc = neap_vm_protect(policy->vm, read_rule_result, &call, 0, call.err);
	lua_pushboolean(L, 0);
	neap_policy_keep(L, policy, NEAP_REF_RESULT);
	if (rc < 0 || call.rc < 0) {
		json_decref(call.output);
		return rc < 0 ? rc : call.rc;
	}
	*ret = call.output;
	return 0;
}
