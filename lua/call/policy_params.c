/* SPDX-License-Identifier: Apache-2.0
 *
 * The parameters of a loaded policy: a change takes effect completely, in ctx.params too,
 * or not at all. */
#include <string.h>

#include <lauxlib.h>

#include "engine/base/mem.h"
#include "lua/call/policy_priv.h"

/* CPU time of valid(params): it may run on the event loop. */
#define VALID_USEC 5000

/* --- as a whole --- */

struct check {
	struct neap_policy *policy;
	int rc;
	struct neap_error *err;
};

static int push_valid(lua_State *L)
{
	const struct check *check = lua_touserdata(L, 1);

	neap_policy_push(L, check->policy, NEAP_REF_VALID);
	neap_policy_push(L, check->policy, NEAP_REF_PARAMS);
	return 2;
}

/* { field = "thresholds", message = "..." } at the top. */
static int read_objection(lua_State *L, struct check *check)
{
	int at = lua_gettop(L);
	const char *field, *text;

	(void)neap_lua_get(L, at, "field");
	(void)neap_lua_get(L, at, "message");
	field = lua_isnil(L, -2) ? "" : neap_lua_text(L, -2);
	text = neap_lua_text(L, -1);
	if (!field || !text || lua_rawlen(L, -1) > NEAP_RESULT_TEXT_MAX)
		return neap_error_set(check->err, NEAP_EINVAL,
				      "valid returned a row that is not { field = "
				      "\"...\", message = \"...\" }");
	return neap_error_field(check->err, NEAP_EINVAL, field, "%s%s%s", field,
				*field ? ": " : "", text);
}

static int read_valid(lua_State *L)
{
	struct check *check = lua_touserdata(L, 1);
	int type;

	luaL_checkstack(L, 10, NULL);
	neap_policy_push(L, check->policy, NEAP_REF_RESULT);
	type = lua_type(L, -1);
	if (type == LUA_TNIL || (type == LUA_TBOOLEAN && lua_toboolean(L, -1)))
		return 0;
	if (type == LUA_TSTRING && neap_lua_text(L, -1))
		check->rc = neap_error_set(check->err, NEAP_EINVAL, "%.200s",
					   neap_lua_text(L, -1));
	else if (type != LUA_TTABLE)
		check->rc = neap_error_set(check->err, NEAP_EINVAL,
					   "valid returned a %s: nothing, or a list of "
					   "{ field =, message = }, is wanted",
					   lua_typename(L, type));
	else if (lua_rawgeti(L, -1, 1) == LUA_TTABLE)
		check->rc = read_objection(L, check);
	return 0;
}

static int ask_valid(struct check *check)
{
	struct neap_policy *policy = check->policy;
	lua_State *L = neap_vm_state(policy->vm);
	int rc = neap_vm_protect(policy->vm, push_valid, check, 2, check->err);

	if (rc < 0)
		return rc;
	if (!lua_isfunction(L, -2)) {
		lua_pop(L, 2);
		return 0;
	}
	neap_vm_set_entry(policy->vm, "valid");
	rc = neap_vm_call(policy->vm, 1, 1, VALID_USEC, check->err);
	neap_vm_set_entry(policy->vm, policy->kind->functions[0]);
	if (rc < 0)
		return neap_policy_in(policy, NEAP_REF_VALID, "valid", check->err);
	neap_policy_keep(L, policy, NEAP_REF_RESULT);
	rc = neap_vm_protect(policy->vm, read_valid, check, 0, check->err);
	lua_pushboolean(L, 0);
	neap_policy_keep(L, policy, NEAP_REF_RESULT);
	return rc < 0 ? rc : check->rc;
}

int neap_policy_check_params(struct neap_policy *policy, struct neap_error *err)
{
	struct neap_error own = {0};
	struct check check = {.policy = policy, .err = err ? err : &own};
	int rc = neap_params_check(&policy->params, check.err);

	return rc < 0 ? rc : ask_valid(&check);
}

/* --- changes --- */

/* After a change with outcome rc: shows it in ctx.params, or puts before (taken) back. */
static int commit(struct neap_policy *policy, struct neap_params *before, bool is_checked,
		  int rc, struct neap_error *err)
{
	struct neap_error ignored;

	rc = rc < 0 ? rc : neap_ctx_refresh_params(policy, err);
	if (rc == 0 && is_checked)
		rc = neap_policy_check_params(policy, err);
	if (rc < 0) {
		struct neap_params swap = policy->params;

		policy->params = *before;
		*before = swap;
		if (is_checked && !neap_vm_is_dead(policy->vm))
			(void)neap_ctx_refresh_params(policy, &ignored);
	}
	neap_params_done(before);
	return rc;
}

int neap_policy_set_param(struct neap_policy *policy, const char *name, const char *text,
			  struct neap_error *err)
{
	struct neap_params before = {0};
	int rc = neap_params_dup(&policy->params, &before, err);

	if (rc < 0)
		return rc;
	rc = neap_params_set_text(&policy->params, name, text, err);
	return commit(policy, &before, true, rc, err);
}

/* Sets base, then values, over what is in force, or with is_anew over the defaults. */
static int change(struct neap_policy *policy, bool is_anew,
		  const struct neap_param_text *base, int base_count,
		  const json_t *values, struct neap_error *err)
{
	struct neap_params before = {0};
	int rc = neap_params_dup(&policy->params, &before, err);

	if (rc < 0)
		return rc;
	if (is_anew)
		neap_params_reset(&policy->params);
	for (int i = 0; i < base_count && rc == 0; i++)
		rc = neap_params_set_text(&policy->params, base[i].name, base[i].value,
					  err);
	if (rc == 0 && values)
		rc = neap_params_set_json(&policy->params, values, err);
	return commit(policy, &before, json_object_size(values) > 0, rc, err);
}

int neap_policy_set_params(struct neap_policy *policy, const json_t *values,
			   struct neap_error *err)
{
	return change(policy, false, NULL, 0, values, err);
}

int neap_policy_reset_params(struct neap_policy *policy, struct neap_error *err)
{
	return change(policy, true, NULL, 0, NULL, err);
}

int neap_policy_put_params(struct neap_policy *policy, const struct neap_param_text *base,
			   int base_count, const json_t *values, struct neap_error *err)
{
	return change(policy, true, base, base_count, values, err);
}

json_t *neap_policy_params(struct neap_policy *policy)
{
	return neap_params_values_json(&policy->params);
}

json_t *neap_policy_schema(struct neap_policy *policy)
{
	return neap_params_schema_json(&policy->params);
}
