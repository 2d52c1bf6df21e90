/* SPDX-License-Identifier: Apache-2.0
 *
 * Kind evict: allow(ctx, pod) and before(ctx, pod), called for one candidate after the
 * other, after the evictor's own rules. */
#include <string.h>

#include <lauxlib.h>

#include "engine/base/mem.h"
#include "lua/deschedule/deschedule_priv.h"
#include "lua/place/place_priv.h"
#include "lua/vm/budget.h"

struct ask {
	struct neap_policy *policy;
	struct neap_round *round;
	const struct neap_world_pod *pod;
	enum neap_policy_ref ref;
	bool is_kept, is_wrong;
	char why[NEAP_PLACE_REASON];
	int rc;
	struct neap_error *err;
};

int neap_evict_read(lua_State *L, int table, struct neap_policy *policy,
		    struct neap_error *err)
{
	char where[300];

	policy->deschedule = neap_alloc(sizeof(*policy->deschedule));
	if (!policy->deschedule)
		return neap_error_nomem(err);
	if (neap_lua_get(L, table, "before") != LUA_TNIL) {
		if (!lua_isfunction(L, -1)) {
			(void)neap_error_set(err, NEAP_EINVAL,
					     "field 'before': a function is wanted");
			return neap_error_wrap(err, "%s",
					       neap_policy_where(policy, "before", NULL,
								 where, sizeof(where)));
		}
		policy->deschedule->has_before = true;
		neap_policy_keep(L, policy, NEAP_REF_BEFORE);
	}
	neap_seat_open(L, policy);
	return 0;
}

void neap_policy_push_pod(lua_State *L, const struct neap_policy *policy,
			  const struct neap_world_pod *pod)
{
	neap_policy_push(L, policy, NEAP_REF_MAKE);
	lua_pushlightuserdata(L, (void *)(uintptr_t)pod);
	lua_call(L, 1, 1);
}

/* (function, arguments...) -> a table of its two results */
static int run_packed(lua_State *L)
{
	lua_call(L, lua_gettop(L) - 1, 2);
	lua_createtable(L, 2, 0);
	lua_insert(L, 1);
	lua_rawseti(L, 1, 2);
	lua_rawseti(L, 1, 1);
	return 1;
}

static int push_call(lua_State *L)
{
	struct ask *ask = lua_touserdata(L, 1);

	neap_seat_begin(L, ask->policy, ask->round, NULL);
	neap_ctx_set_now(L, ask->policy, ask->round->args.now_usec / 1000000);
	lua_pushcfunction(L, run_packed);
	neap_policy_push(L, ask->policy, ask->ref);
	neap_policy_push(L, ask->policy, NEAP_REF_CTX);
	neap_policy_push_pod(L, ask->policy, ask->pod);
	return 4;
}

static int read_result(lua_State *L)
{
	struct ask *ask = lua_touserdata(L, 1);
	int is, why;

	neap_policy_push(L, ask->policy, NEAP_REF_RESULT);
	lua_rawgeti(L, -1, 1);
	lua_rawgeti(L, -2, 2);
	is = lua_type(L, -2);
	why = lua_type(L, -1);
	ask->is_kept = is == LUA_TBOOLEAN && !lua_toboolean(L, -2);
	if (is != LUA_TBOOLEAN || (why != LUA_TNIL && !neap_lua_text(L, -1)) ||
	    (why == LUA_TSTRING && lua_rawlen(L, -1) > NEAP_RESULT_TEXT_MAX)) {
		ask->is_wrong = true;
		(void)neap_error_set(ask->err, NEAP_EINVAL,
				     "it returned a %s for pod %.60s: true, or false and "
				     "a text of at most 1000 bytes, is wanted",
				     lua_typename(L, is), ask->pod->pod->object->name);
		return 0;
	}
	neap_place_clean(why == LUA_TSTRING ? neap_lua_name(L, -1) : "", ask->why);
	return 0;
}

static int ask_call(struct ask *ask)
{
	struct neap_policy *policy = ask->policy;
	lua_State *L = neap_vm_state(policy->vm);
	int rc = neap_vm_protect(policy->vm, push_call, ask, 4, ask->err);

	if (rc < 0)
		return rc;
	rc = neap_vm_call(policy->vm, 3, 1, policy->kind->call_budget_usec, ask->err);
	neap_seat_end(policy);
	if (rc < 0)
		return rc;
	neap_policy_keep(L, policy, NEAP_REF_RESULT);
	rc = neap_vm_protect(policy->vm, read_result, ask, 0, ask->err);
	lua_pushboolean(L, 0);
	neap_policy_keep(L, policy, NEAP_REF_RESULT);
	return rc;
}

enum neap_tick_verdict neap_policy_ask_evict(struct neap_policy *policy,
					     struct neap_round *round,
					     const struct neap_world_pod *pod,
					     bool is_last, const char **ret_why,
					     struct neap_error *err)
{
	struct neap_error own = {0};
	struct ask ask = {.policy = policy,
			  .round = round,
			  .pod = pod,
			  .ref = is_last ? NEAP_REF_BEFORE : NEAP_REF_TICK,
			  .err = err ? err : &own};
	const char *name = is_last ? "before" : "allow";
	struct neap_budget_pause pause;
	int rc;

	*ret_why = NULL;
	if (is_last && !policy->deschedule->has_before)
		return NEAP_TICK_WISHES;
	neap_budget_pause(&pause);
	neap_vm_set_entry(policy->vm, name);
	rc = ask_call(&ask);
	neap_budget_resume(&pause);
	if (rc < 0 || ask.is_wrong) {
		(void)neap_policy_in(policy, ask.ref, name, ask.err);
		return rc < 0 ? neap_policy_verdict_of(rc) : NEAP_TICK_WRONG;
	}
	if (ask.is_kept)
		*ret_why = neap_round_keep_text(round, ask.why);
	return NEAP_TICK_WISHES;
}
