/* SPDX-License-Identifier: Apache-2.0
 *
 * Kind score: plan(ctx, pod), called once per pod. It returns data that C evaluates for
 * all nodes. */
#include <math.h>
#include <string.h>

#include <lauxlib.h>

#include "engine/base/mem.h"
#include "lua/place/place_priv.h"
#include "lua/value/convert.h"
#include "lua/vm/budget.h"

#define WEIGHT_MAX 100
/* Terms that look at every node before they give points: what is done in one go stays
 * a few milliseconds. */
#define COUNTED_MAX 4
/* Nodes between two looks at the clock: 6 ms at most. */
#define WEIGH_PIECE 1024

static int wrong(struct neap_error *err, const char *field, const char *what)
{
	return neap_error_set(err, NEAP_EINVAL, "%s: %s", field, what);
}

static bool is_number(lua_State *L, int index, double least, double most)
{
	double value;

	if (lua_type(L, index) != LUA_TNUMBER)
		return false;
	value = lua_tonumber(L, index);
	return value >= least && value <= most;
}

/* --- one term --- */

static int read_values(lua_State *L, int index, struct neap_curve_term *term,
		       struct neap_error *err)
{
	size_t count = lua_istable(L, index) ? lua_rawlen(L, index) : 0;

	if (lua_isnil(L, index))
		return 0;
	if (!neap_column_is_text(term->column.family))
		return wrong(err, "is", "of name and labels.KEY only");
	if (lua_type(L, index) == LUA_TSTRING) {
		term->value_count = 1;
		if (neap_lua_text(L, index) &&
		    neap_strcopy(term->values[0], NEAP_CURVE_VALUE,
				 neap_lua_text(L, index)))
			return 0;
		return wrong(err, "is",
			     "a text of at most 63 bytes, without NUL, is wanted");
	}
	if (!count || count > NEAP_CURVE_VALUES_MAX)
		return wrong(err, "is", "a text or a list of 1 to 16 is wanted");
	for (size_t i = 0; i < count; i++) {
		lua_rawgeti(L, index, (lua_Integer)i + 1);
		if (!neap_lua_text(L, -1) ||
		    !neap_strcopy(term->values[i], NEAP_CURVE_VALUE,
				  neap_lua_text(L, -1)))
			return wrong(
				err, "is",
				"texts of at most 63 bytes, without NUL, are wanted");
		lua_pop(L, 1);
	}
	term->value_count = count;
	return 0;
}

static int read_curve(lua_State *L, int index, struct neap_curve_term *term,
		      struct neap_error *err)
{
	size_t count = lua_istable(L, index) ? lua_rawlen(L, index) : 0;

	if (lua_isnil(L, index)) {
		if (!neap_column_is_share(term->column.family) && !term->value_count)
			return wrong(err, "curve",
				     "wanted of a column that is no share of 1");
		term->at_count = 2;
		term->at[0].x = term->at[0].points = 0;
		term->at[1].x = 1;
		term->at[1].points = 100;
		return 0;
	}
	if (!count || count > NEAP_CURVE_POINTS_MAX)
		return wrong(err, "curve",
			     "a list of 1 to 16 pairs { x, points } is wanted");
	for (size_t i = 0; i < count; i++) {
		if (lua_rawgeti(L, index, (lua_Integer)i + 1) != LUA_TTABLE)
			return wrong(err, "curve", "pairs { x, points } are wanted");
		lua_rawgeti(L, -1, 1);
		lua_rawgeti(L, -2, 2);
		if (!is_number(L, -2, -1e15, 1e15) || !is_number(L, -1, 0, 100))
			return wrong(err, "curve",
				     "x of at most 1e15 and points from 0 to 100 are "
				     "wanted");
		term->at[i].x = lua_tonumber(L, -2);
		term->at[i].points = lua_tonumber(L, -1);
		if (i && term->at[i].x <= term->at[i - 1].x)
			return wrong(err, "curve", "x grows from pair to pair");
		lua_pop(L, 3);
	}
	term->at_count = count;
	return 0;
}

static int check_keys(lua_State *L, int index, struct neap_error *err)
{
	static const char *const names[] = {"column", "weight", "curve", "is", "missing"};

	lua_pushnil(L);
	while (lua_next(L, index)) {
		const char *key = neap_lua_name(L, -2);
		size_t i = 0;

		while (i < NEAP_ARRAY_LEN(names) && strcmp(names[i], key) != 0)
			i++;
		if (i == NEAP_ARRAY_LEN(names))
			return neap_error_set(err, NEAP_EINVAL,
					      "there is no field '%.40s'; known: column, "
					      "weight, curve, is, missing",
					      key);
		lua_pop(L, 1);
	}
	return 0;
}

static int read_term(lua_State *L, int index, struct neap_curve_term *term,
		     struct neap_error *err)
{
	int rc;

	if (!lua_istable(L, index))
		return wrong(err, "term", "a table is wanted");
	rc = check_keys(L, index, err);
	if (rc < 0)
		return rc;
	neap_lua_get(L, index, "column");
	if (!neap_lua_text(L, -1))
		return wrong(err, "column",
			     "a name such as \"free_share.cpu\" is wanted");
	rc = neap_column_parse(neap_lua_text(L, -1), &term->column, err);
	if (rc < 0)
		return rc;
	term->weight = 1;
	if (neap_lua_get(L, index, "weight") != LUA_TNIL) {
		if (!is_number(L, -1, 1e-6, 1e6))
			return wrong(err, "weight", "a number above 0 is wanted");
		term->weight = lua_tonumber(L, -1);
	}
	term->missing = 0;
	if (neap_lua_get(L, index, "missing") != LUA_TNIL) {
		if (!is_number(L, -1, 0, 100))
			return wrong(err, "missing", "points from 0 to 100 are wanted");
		term->missing = lua_tonumber(L, -1);
	}
	term->value_count = 0;
	neap_lua_get(L, index, "is");
	rc = read_values(L, lua_gettop(L), term, err);
	if (rc < 0)
		return rc;
	neap_lua_get(L, index, "curve");
	return read_curve(L, lua_gettop(L), term, err);
}

/* --- the whole --- */

/* Reads what plan returned, at index; does not raise. 1: there are terms, 0:
 * none. */
static int place_read_plan(lua_State *L, int index, const struct neap_policy *policy,
			   struct neap_curve_score *ret, struct neap_error *err)
{
	size_t count;
	int rc;

	if (!lua_checkstack(L, 24))
		return neap_error_nomem(err);
	ret->count = 0;
	ret->weight = 1;
	neap_policy_push(L, policy, NEAP_REF_HOLD);
	if (lua_isnil(L, index) || lua_rawequal(L, index, -1))
		return 0;
	if (!lua_istable(L, index))
		return neap_error_set(err, NEAP_EINVAL,
				      "a list of terms is wanted, this is a %s",
				      luaL_typename(L, index));
	if (neap_lua_get(L, index, "weight") != LUA_TNIL) {
		if (!lua_isinteger(L, -1) || !is_number(L, -1, 0, WEIGHT_MAX))
			return wrong(err, "weight",
				     "a whole number from 0 to 100 is wanted");
		ret->weight = (int)lua_tointeger(L, -1);
	}
	count = lua_rawlen(L, index);
	if (count > NEAP_CURVE_TERMS_MAX)
		return neap_error_set(err, NEAP_EINVAL, "at most %d terms are taken",
				      NEAP_CURVE_TERMS_MAX);
	for (size_t i = 0; i < count; i++) {
		int top = lua_gettop(L);

		lua_rawgeti(L, index, (lua_Integer)i + 1);
		rc = read_term(L, top + 1, &ret->terms[i], err);
		lua_settop(L, top);
		if (rc < 0)
			return neap_error_wrap(err, "[%zu]", i + 1);
	}
	ret->count = count;
	if (neap_curve_counted(ret) > COUNTED_MAX)
		return neap_error_set(err, NEAP_EINVAL,
				      "at most %d terms of pods_same are taken",
				      COUNTED_MAX);
	ret->count = ret->weight ? count : 0;
	return ret->count > 0;
}

struct plan {
	struct neap_policy *policy;
	struct neap_curve_score *score;
	bool is_wrong;
	int rc;
	struct neap_error *err;
};

static int push_call(lua_State *L)
{
	const struct plan *plan = lua_touserdata(L, 1);

	neap_policy_push(L, plan->policy, NEAP_REF_TICK);
	neap_policy_push(L, plan->policy, NEAP_REF_CTX);
	neap_policy_push(L, plan->policy, NEAP_REF_POD);
	return 3;
}

static int read_result(lua_State *L)
{
	struct plan *plan = lua_touserdata(L, 1);
	int rc;

	neap_policy_push(L, plan->policy, NEAP_REF_RESULT);
	plan->rc =
		place_read_plan(L, lua_gettop(L), plan->policy, plan->score, plan->err);
	if (plan->rc < 0) {
		plan->rc = neap_error_wrap(plan->err, "plan returned");
		return 0;
	}
	rc = neap_ctx_check_memo(L, plan->policy, plan->err);
	plan->rc = rc < 0 ? rc : plan->rc;
	return 0;
}

static int run(struct plan *plan)
{
	struct neap_policy *policy = plan->policy;
	lua_State *L = neap_vm_state(policy->vm);
	int rc = neap_vm_protect(policy->vm, push_call, plan, 3, plan->err);

	if (rc < 0)
		return rc;
	rc = neap_vm_call(policy->vm, 2, 1, policy->kind->call_budget_usec, plan->err);
	if (rc < 0)
		return rc;
	neap_policy_keep(L, policy, NEAP_REF_RESULT);
	rc = neap_vm_protect(policy->vm, read_result, plan, 0, plan->err);
	plan->is_wrong = rc == 0 && plan->rc < 0 && plan->rc != -NEAP_ENOMEM;
	lua_pushboolean(L, 0);
	neap_policy_keep(L, policy, NEAP_REF_RESULT);
	return rc < 0 ? rc : plan->rc;
}

static enum neap_tick_verdict call_plan(struct neap_policy *policy,
					const struct neap_place *place,
					struct neap_curve_score *ret,
					struct neap_error *err)
{
	struct plan plan = {.policy = policy, .score = ret, .err = err};
	const struct neap_place_pod pod = {
		place->pod, neap_cluster_resources(place->cluster), place->now_usec};
	enum neap_tick_verdict verdict = neap_place_open(policy, &pod, err);
	struct neap_error ignored;
	int rc;

	if (verdict != NEAP_TICK_WISHES)
		return verdict;
	rc = run(&plan);
	if (rc >= 0)
		return rc ? NEAP_TICK_WISHES : NEAP_TICK_HOLD;
	(void)neap_policy_in(policy, NEAP_REF_TICK, "plan", err);
	verdict = plan.is_wrong ? NEAP_TICK_WRONG : neap_policy_verdict_of(rc);
	if (!neap_vm_is_dead(policy->vm) && verdict != NEAP_TICK_STARVED)
		(void)neap_ctx_reset_memo(policy, &ignored); /* it may be what is wrong */
	return verdict;
}

enum neap_tick_verdict neap_policy_plan_within(struct neap_policy *policy,
					       const struct neap_place *place,
					       int64_t *left_usec,
					       struct neap_curve_score *ret,
					       struct neap_error *err)
{
	int64_t started = neap_budget_clock_usec();
	enum neap_tick_verdict verdict;

	if (*left_usec < neap_budget_scale(policy->kind->call_budget_usec)) {
		(void)neap_error_set(err, NEAP_EUNAVAILABLE,
				     "put off: the policies before it used up the CPU "
				     "time of this decision");
		return NEAP_TICK_PUT_OFF;
	}
	verdict = call_plan(policy, place, ret, err);
	*left_usec -= neap_budget_clock_usec() - started;
	return verdict;
}

size_t neap_place_weigh(const struct neap_curve_score *score,
			const struct neap_place *place, const uint32_t *rows,
			size_t count, int64_t *left_usec, int64_t *ret)
{
	int64_t started = neap_budget_clock_usec();
	struct neap_curve_view view;
	size_t done = 0;

	neap_curve_open(&view, score, place->cluster, place->pod, place->now_usec);
	*left_usec -= neap_budget_clock_usec() - started;
	while (done<count && * left_usec> 0) {
		size_t piece = count - done < WEIGH_PIECE ? count - done : WEIGH_PIECE;

		started = neap_budget_clock_usec();
		neap_curve_points(&view, rows + done, piece, ret + done);
		*left_usec -= neap_budget_clock_usec() - started;
		done += piece;
	}
	neap_curve_close(&view);
	return done;
}
