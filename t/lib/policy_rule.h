/* SPDX-License-Identifier: Apache-2.0
 *
 * The pure parts of a policy (its `rules`) with JSON in and out. */
#ifndef NEAP_T_LIB_POLICY_RULE_H
#define NEAP_T_LIB_POLICY_RULE_H

#include "lua/call/policy.h"

struct lua_State;

/* Calls rules[rule](ctx, input) and returns the result as JSON (CPU sets as list text,
 * nil as null, an empty table as []): for tests of a policy's pure parts. NEAP_ENOTFOUND
 * without such a rule. input is borrowed; null in it is nil. An array of [cpu, core,
 * socket, node] under "processors" becomes a topology object. */
int neap_policy_call_rule(struct neap_policy *policy, const char *rule, json_t *input,
			  json_t **ret, struct neap_error *err);
/* Pushes a JSON value; null becomes nil, and "processors" with a list of [cpu, core,
 * socket, node] a topology object. NEAP_EINVAL, with nothing pushed, when that list is
 * not a valid topology. */
int neap_lua_push_json(struct lua_State *L, const json_t *json, struct neap_error *err);
/* neap_lua_to_json_within, with bounds that no test meets. */
int neap_lua_to_json(struct lua_State *L, int index, json_t **ret,
		     struct neap_error *err);

#endif
