/* SPDX-License-Identifier: Apache-2.0
 *
 * Kind reservation: match(ctx, pod, resv) and rank(ctx, pod, resv), called for one
 * reservation after the other. Each is one protected call that sets the fields and calls
 * the function. It reads no clock: the ticks of the budget timer are charged, which is
 * accurate over many calls. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <lauxlib.h>

#include "lua/reserve/reserve_priv.h"
#include "lua/vm/budget.h"

/* The end of year 9999: what is beyond it is no time. */
#define UNIX_MAX INT64_C(253402300799)

struct ask {
	struct neap_policy *policy;
	const struct neap_reserve_offer *offer;
	bool is_rank;
	struct neap_reserve_verdict verdict;
	int rank; /* -1: nothing is said */
	bool is_skipped, is_wrong;
	struct neap_error *err;
};

/* --- one answer --- */

static void wrong(struct ask *ask, const char *what, const char *more, const char *wanted)
{
	ask->is_wrong = true;
	(void)neap_error_set(ask->err, NEAP_EINVAL,
			     "%s returned a %s%s for reservation %.60s: %s is wanted",
			     ask->is_rank ? "rank" : "match", what, more,
			     ask->offer->reserve->object->name, wanted);
}

static bool read_again(lua_State *L, struct ask *ask)
{
	int64_t now_unix = ask->policy->reserve->pod.now_usec / 1000000;
	double again;

	ask->verdict.again_usec = 0;
	if (lua_isnil(L, -1))
		return true;
	again = lua_type(L, -1) == LUA_TNUMBER ? ceil(lua_tonumber(L, -1)) : NAN;
	if (!(again > (double)now_unix && again <= (double)UNIX_MAX))
		return false;
	ask->verdict.again_usec = (int64_t)again * 1000000;
	return true;
}

/* The three results at the top. */
static void read_match(lua_State *L, struct ask *ask)
{
	int is = lua_type(L, -3), why = lua_type(L, -2);

	ask->verdict.is_open = is == LUA_TBOOLEAN && lua_toboolean(L, -3);
	ask->verdict.reason = NULL;
	if (is != LUA_TBOOLEAN || (why != LUA_TSTRING && why != LUA_TNIL) ||
	    (why == LUA_TSTRING &&
	     (!neap_lua_text(L, -2) || lua_rawlen(L, -2) > NEAP_RESULT_TEXT_MAX))) {
		wrong(ask, lua_typename(L, is),
		      is != LUA_TBOOLEAN ? "" : " and no text of a reason",
		      "true, or false and a text of at most 1000 bytes");
		return;
	}
	if (!read_again(L, ask)) {
		wrong(ask, "boolean", ", and no time to come as the third value",
		      "nothing or a Unix time after ctx.now_unix");
		return;
	}
	if (ask->verdict.is_open)
		return;
	neap_place_clean(why == LUA_TSTRING ? neap_lua_name(L, -2) : "",
			 ask->policy->reserve->reason);
	ask->verdict.reason = ask->policy->reserve->reason;
}

static void read_rank(lua_State *L, struct ask *ask)
{
	double rank;

	ask->rank = -1;
	neap_policy_push(L, ask->policy, NEAP_REF_HOLD);
	if (lua_isnil(L, -2) || lua_rawequal(L, -1, -2))
		return;
	rank = lua_type(L, -2) == LUA_TNUMBER ? floor(lua_tonumber(L, -2) + 0.5) : NAN;
	if (rank >= 0 && rank <= 100)
		ask->rank = (int)rank;
	else
		wrong(ask, luaL_typename(L, -2), lua_isnumber(L, -2) ? " out of it" : "",
		      "a number from 0 to 100, or nil");
}

static int ask_protected(lua_State *L)
{
	struct ask *ask = lua_touserdata(L, 1);
	struct neap_policy *policy = ask->policy;

	luaL_checkstack(L, 24, NULL);
	if (!neap_reserve_set(L, policy, ask->offer, ask->err)) {
		ask->is_skipped = true;
		return 0;
	}
	neap_policy_push(L, policy, ask->is_rank ? NEAP_REF_RANK : NEAP_REF_TICK);
	neap_policy_push(L, policy, NEAP_REF_CTX);
	neap_policy_push(L, policy, NEAP_REF_POD);
	neap_policy_push(L, policy, NEAP_REF_RESV);
	lua_call(L, 3, ask->is_rank ? 1 : 3);
	if (ask->is_rank)
		read_rank(L, ask);
	else
		read_match(L, ask);
	return 0;
}

/* --- a decision --- */

static int open_protected(lua_State *L)
{
	neap_reserve_open(L, lua_touserdata(L, 1));
	return 0;
}

/* With the first reservation, as most pods are offered none. ctx.memo lives as long as a
 * decision: what a policy says of a pod must not hang on who was asked about before. */
static enum neap_tick_verdict open(struct neap_policy *policy, struct neap_error *err)
{
	enum neap_tick_verdict verdict;
	int rc;

	if (policy->reserve->is_open)
		return NEAP_TICK_WISHES;
	verdict = neap_place_open(policy, &policy->reserve->pod, err);
	if (verdict != NEAP_TICK_WISHES)
		return verdict;
	rc = neap_ctx_reset_memo(policy, err);
	rc = rc < 0 ? rc : neap_reserve_tidy(policy, err);
	rc = rc < 0 ? rc : neap_vm_protect(policy->vm, open_protected, policy, 0, err);
	if (rc < 0)
		return neap_policy_verdict_of(rc);
	policy->reserve->is_open = true;
	return NEAP_TICK_WISHES;
}

enum neap_tick_verdict neap_policy_begin_offers(struct neap_policy *policy,
						const struct neap_place_pod *pod,
						struct neap_error *err)
{
	policy->reserve->pod = *pod;
	policy->reserve->is_open = false;
	return neap_place_check(policy, pod->pod, err);
}

static enum neap_tick_verdict ask_within(struct ask *ask, int64_t *left_usec)
{
	struct neap_policy *policy = ask->policy;
	lua_State *L = neap_vm_state(policy->vm);
	enum neap_tick_verdict verdict;
	int rc;

	if (*left_usec < neap_budget_scale(policy->kind->call_budget_usec)) {
		(void)neap_error_set(ask->err, NEAP_EUNAVAILABLE,
				     "put off: the CPU time of this decision is used up");
		return NEAP_TICK_PUT_OFF;
	}
	verdict = open(policy, ask->err);
	if (verdict == NEAP_TICK_WISHES)
		verdict = neap_reserve_know(policy, ask->offer->reserve, ask->err);
	if (verdict != NEAP_TICK_WISHES)
		return verdict;
	neap_vm_set_entry(policy->vm, ask->is_rank ? "rank" : "match");
	lua_pushcfunction(L, ask_protected);
	lua_pushlightuserdata(L, ask);
	rc = neap_vm_call(policy->vm, 1, 0, policy->kind->call_budget_usec, ask->err);
	*left_usec -= neap_vm_last_cpu_usec(policy->vm);
	if (rc < 0 || ask->is_wrong)
		(void)neap_policy_in(policy, ask->is_rank ? NEAP_REF_RANK : NEAP_REF_TICK,
				     ask->is_rank ? "rank" : "match", ask->err);
	if (rc < 0)
		return neap_policy_verdict_of(rc);
	return ask->is_wrong     ? NEAP_TICK_WRONG
	       : ask->is_skipped ? NEAP_TICK_SKIPPED
				 : NEAP_TICK_WISHES;
}

/* The pair that does not hold; NULL: all do. */
static const struct neap_reserve_pair *find_broken(const struct neap_reserve_own *own,
						   const struct neap_reserve *reserve)
{
	for (size_t i = 0; i < own->pair_count; i++) {
		const struct neap_reserve_pair *pair = &own->pairs[i];
		const char *of_pod = neap_object_label(own->pod.pod->object, pair->pod);
		const char *is = neap_object_label(reserve->object, pair->reservation);

		if (!of_pod || !is || strcmp(of_pod, is) != 0)
			return pair;
	}
	return NULL;
}

enum neap_tick_verdict neap_policy_match_within(struct neap_policy *policy,
						const struct neap_reserve_offer *offer,
						int64_t *left_usec,
						struct neap_reserve_verdict *ret,
						struct neap_error *err)
{
	struct neap_reserve_own *own = policy->reserve;
	struct ask ask = {.policy = policy, .offer = offer, .err = err};
	const struct neap_reserve_pair *broken = find_broken(own, offer->reserve);
	enum neap_tick_verdict verdict;

	if (broken) {
		(void)snprintf(own->reason, sizeof(own->reason), "label %.60s is not its",
			       broken->pod);
		*ret = (struct neap_reserve_verdict){.reason = own->reason};
		return NEAP_TICK_WISHES;
	}
	verdict = ask_within(&ask, left_usec);
	if (verdict == NEAP_TICK_WISHES)
		*ret = ask.verdict;
	return verdict;
}

enum neap_tick_verdict neap_policy_rank_within(struct neap_policy *policy,
					       const struct neap_reserve_offer *offer,
					       int64_t *left_usec, int *ret,
					       struct neap_error *err)
{
	struct ask ask = {.policy = policy, .offer = offer, .is_rank = true, .err = err};
	enum neap_tick_verdict verdict = ask_within(&ask, left_usec);

	if (verdict != NEAP_TICK_WISHES)
		return verdict;
	if (ask.rank < 0)
		return NEAP_TICK_HOLD;
	*ret = ask.rank;
	return NEAP_TICK_WISHES;
}
