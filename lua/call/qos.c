/* SPDX-License-Identifier: Apache-2.0
 *
 * Kind qos: one call of tick(ctx, node), in three protected steps: build the arguments,
 * run the script within its budget, check the result. */
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>

#include "lua/call/policy_priv.h"
#include "lua/vm/budget.h"

struct tick {
	struct neap_policy *policy;
	const struct neap_sample *sample;
	struct neap_policy_wish *wishes;
	size_t count;
	bool is_hold, is_wrong;
	int rc; /* of the judging; the error goes to err */
	struct neap_error *err;
};

static int push_call(lua_State *L)
{
	struct tick *tick = lua_touserdata(L, 1);

	neap_ctx_set_now(L, tick->policy, tick->sample->now_unix);
	neap_policy_push(L, tick->policy, NEAP_REF_TICK);
	neap_policy_push(L, tick->policy, NEAP_REF_CTX);
	neap_needs_push(L, tick->policy, tick->sample);
	return 3;
}

static int read_result(lua_State *L)
{
	struct tick *tick = lua_touserdata(L, 1);

	neap_policy_push(L, tick->policy, NEAP_REF_RESULT);
	neap_policy_push(L, tick->policy, NEAP_REF_HOLD);
	tick->is_hold = lua_rawequal(L, -1, -2);
	lua_pop(L, 1);
	tick->rc = 0;
	if (!tick->is_hold)
		tick->rc = neap_wishes_read(L, lua_gettop(L), true, &tick->wishes,
					    &tick->count, tick->err);
	if (tick->rc < 0)
		tick->rc = neap_error_wrap(tick->err, "tick returned");
	else
		tick->rc = neap_ctx_check_memo(L, tick->policy, tick->err);
	return 0;
}

enum neap_tick_verdict neap_policy_verdict_of(int rc)
{
	switch (-rc) {
	case NEAP_EBUDGET:
	case NEAP_ELIMIT:
		return NEAP_TICK_BUDGET;
	case NEAP_ENOMEM:
	case NEAP_EUNAVAILABLE:
		return NEAP_TICK_STARVED;
	default:
		return NEAP_TICK_ERROR;
	}
}

/* C's work for a call counts too: the budget covers the script and reading its result. */
static int charge(struct tick *tick, int64_t args_usec, int64_t result_usec)
{
	struct neap_vm *vm = tick->policy->vm;
	int64_t budget = neap_budget_scale(tick->policy->kind->call_budget_usec);
	bool is_spent =
		result_usec > 0 && neap_vm_last_cpu_usec(vm) + result_usec > budget;

	neap_vm_charge(vm, args_usec + result_usec);
	if (!is_spent)
		return 0;
	return neap_error_set(
		tick->err, NEAP_EBUDGET,
		"its CPU budget of %lld us is spent with reading its result",
		(long long)budget);
}

static int run(struct tick *tick)
{
	struct neap_vm *vm = tick->policy->vm;
	lua_State *L = neap_vm_state(vm);
	int64_t from = neap_budget_clock_usec(), called, ended;
	int rc, spent;

	rc = neap_vm_protect(vm, push_call, tick, 3, tick->err);
	if (rc < 0)
		return rc;
	called = neap_budget_clock_usec();
	rc = neap_vm_call(vm, 2, 1, tick->policy->kind->call_budget_usec, tick->err);
	if (rc < 0)
		return rc;
	ended = neap_budget_clock_usec();
	neap_policy_keep(L, tick->policy, NEAP_REF_RESULT);
	rc = neap_vm_protect(vm, read_result, tick, 0, tick->err);
	spent = charge(tick, called - from, neap_budget_clock_usec() - ended);
	if (rc == 0 && tick->rc == 0)
		rc = spent;
	tick->is_wrong = rc == 0 && tick->rc < 0 && tick->rc != -NEAP_ENOMEM;
	lua_pushboolean(L, 0);
	neap_policy_keep(L, tick->policy, NEAP_REF_RESULT);
	return rc < 0 ? rc : tick->rc;
}

enum neap_tick_verdict neap_policy_tick(struct neap_policy *policy,
					const struct neap_sample *sample,
					struct neap_policy_wish **ret_wishes,
					size_t *ret_count, struct neap_error *err)
{
	const struct neap_need *missing = neap_needs_find_missing(policy, sample);
	struct neap_error own = {0}, ignored;
	struct tick tick = {.policy = policy, .sample = sample, .err = err ? err : &own};
	int rc;

	if (missing) {
		(void)neap_error_field(err, NEAP_EUNAVAILABLE, missing->name,
				       "skipped: node.%s is missing", missing->name);
		return NEAP_TICK_SKIPPED;
	}
	rc = run(&tick);
	if (rc < 0) {
		(void)neap_policy_in(policy, NEAP_REF_TICK, "tick", tick.err);
		free(tick.wishes);
		if (!neap_vm_is_dead(policy->vm) &&
		    neap_policy_verdict_of(rc) != NEAP_TICK_STARVED)
			(void)neap_ctx_reset_memo(policy,
						  /* it may be the very thing that is
						   * wrong */
						  &ignored);
		return tick.is_wrong ? NEAP_TICK_WRONG : neap_policy_verdict_of(rc);
	}
	if (tick.is_hold)
		return NEAP_TICK_HOLD;
	*ret_wishes = tick.wishes;
	*ret_count = tick.count;
	return NEAP_TICK_WISHES;
}

enum neap_tick_verdict neap_policy_tick_within(struct neap_policy *policy,
					       const struct neap_sample *sample,
					       int64_t *left_usec,
					       struct neap_policy_wish **ret_wishes,
					       size_t *ret_count, struct neap_error *err)
{
	int64_t started = neap_budget_clock_usec();
	enum neap_tick_verdict verdict;

	if (*left_usec < neap_budget_scale(policy->kind->call_budget_usec) &&
	    !neap_needs_find_missing(policy, sample)) {
		(void)neap_error_set(err, NEAP_EUNAVAILABLE,
				     "put off: the policies before it used up the CPU "
				     "time of this tick");
		return NEAP_TICK_PUT_OFF;
	}
	verdict = neap_policy_tick(policy, sample, ret_wishes, ret_count, err);
	*left_usec -= neap_budget_clock_usec() - started;
	return verdict;
}
