/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls a pure function under `rules` with JSON in and out, for tests and vectors. */
#include <lauxlib.h>

#include "lua/call/policy_priv.h"
#include "lua/value/convert.h"

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
