/* SPDX-License-Identifier: Apache-2.0
 *
 * Kind deschedule: its fields, and one call of run(ctx, round). */
#include "lua/deschedule/deschedule.h"

#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>

#include "engine/base/mem.h"
#include "engine/deschedule/anomaly.h"
#include "lua/deschedule/deschedule_priv.h"

/* A state that holds more than this after a call is cleaned at once. */
#define HELD_BYTES ((size_t)4 * 1024 * 1024)

static int wrong(const struct neap_policy *policy, const char *field, const char *what,
		 struct neap_error *err)
{
	char where[300];

	(void)neap_error_set(err, NEAP_EINVAL, "field '%s': %s", field, what);
	return neap_error_wrap(
		err, "%s", neap_policy_where(policy, field, NULL, where, sizeof(where)));
}

int neap_round_needs_read(lua_State *L, int index, struct neap_policy *policy,
			  struct neap_error *err)
{
	(void)policy;
	if (lua_isnil(L, index))
		return 0;
	return neap_error_set(
		err, NEAP_EINVAL,
		"field 'needs': rounds show everything; this kind has none");
}

/* --- triggers --- */

static const char *const events[NEAP_ROUND_EVENTS] = {
	"node-condition", "node-taint",  "node-label", "pod-condition",
	"pod-restarts",   "pod-pending", "node-usage"};

static const struct {
	bool has_key, has_value, has_bound;
} forms[NEAP_ROUND_EVENTS] = {
	{true, true, false}, {true, false, false}, {true, false, false},
	{true, true, false}, {false, false, true}, {false, false, true},
	{true, false, true},
};

static int bad_trigger(size_t index, const char *what, struct neap_error *err)
{
	return neap_error_set(err, NEAP_EINVAL, "triggers[%zu]: %s", index, what);
}

static bool read_text(lua_State *L, int table, const char *name, char *to, size_t size)
{
	bool is = neap_lua_get(L, table, name) == LUA_TNIL ||
		  (neap_lua_text(L, -1) && neap_strcopy(to, size, neap_lua_text(L, -1)));

	lua_pop(L, 1);
	return is;
}

static int read_trigger(lua_State *L, int table, size_t index,
			struct neap_round_trigger *to, struct neap_error *err)
{
	static const char *const names[] = {"event", "key", "value", "bound"};
	char event[32] = "";
	size_t at = 0;

	lua_pushnil(L);
	while (lua_next(L, table)) {
		const char *key = neap_lua_name(L, -2);
		size_t i = 0;

		while (i < NEAP_ARRAY_LEN(names) && strcmp(names[i], key) != 0)
			i++;
		if (i == NEAP_ARRAY_LEN(names))
			return bad_trigger(index, "known: event, key, value, bound", err);
		lua_pop(L, 1);
	}
	if (!read_text(L, table, "event", event, sizeof(event)) ||
	    !read_text(L, table, "key", to->key, sizeof(to->key)) ||
	    !read_text(L, table, "value", to->value, sizeof(to->value)))
		return bad_trigger(index, "event, key and value are texts", err);
	while (at < NEAP_ROUND_EVENTS && strcmp(events[at], event) != 0)
		at++;
	if (at == NEAP_ROUND_EVENTS)
		return bad_trigger(index,
				   "event is one of node-condition, node-taint, "
				   "node-label, pod-condition, pod-restarts, "
				   "pod-pending, node-usage",
				   err);
	to->event = (enum neap_round_event)at;
	if ((to->key[0] && !forms[at].has_key) || (to->value[0] && !forms[at].has_value))
		return bad_trigger(index, "this event has no such field", err);
	if (neap_lua_get(L, table, "bound") == LUA_TNIL) {
		lua_pop(L, 1);
		return forms[at].has_bound ? bad_trigger(index, "bound is wanted", err)
					   : 0;
	}
	if (!forms[at].has_bound || !lua_isinteger(L, -1) || lua_tointeger(L, -1) < 1)
		return bad_trigger(index,
				   "bound is a whole number above 0, of pod-restarts, "
				   "pod-pending (seconds) and node-usage (percent)",
				   err);
	to->bound = lua_tointeger(L, -1);
	lua_pop(L, 1);
	return 0;
}

static int read_triggers(lua_State *L, int index, struct neap_deschedule_own *own,
			 struct neap_error *err)
{
	size_t count = lua_istable(L, index) ? lua_rawlen(L, index) : 0;

	if (lua_isnil(L, index))
		return 0;
	if (count < 1 || count > NEAP_DESCHEDULE_TRIGGERS_MAX)
		return neap_error_set(err, NEAP_EINVAL, "a list of 1 to %d is wanted",
				      NEAP_DESCHEDULE_TRIGGERS_MAX);
	for (size_t i = 1; i <= count; i++) {
		int rc;

		if (lua_rawgeti(L, index, (lua_Integer)i) != LUA_TTABLE)
			return bad_trigger(i, "a table is wanted", err);
		rc = read_trigger(L, lua_gettop(L), i, &own->triggers[i - 1], err);
		if (rc < 0)
			return rc;
		lua_pop(L, 1);
		own->trigger_count = i;
	}
	return 0;
}

/* --- the table --- */

static bool is_plugin(const char *text)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

	return text[0] && strspn(text, letters) == strlen(text);
}

int neap_deschedule_read(lua_State *L, int table, struct neap_policy *policy,
			 struct neap_error *err)
{
	static const char *const points[] = {"deschedule", "balance"};
	struct neap_deschedule_own *own = neap_alloc(sizeof(*own));
	struct neap_error why;
	const char *point;

	if (!own)
		return neap_error_nomem(err);
	policy->deschedule = own;
	neap_lua_get(L, table, "point");
	point = neap_lua_name(L, -1);
	if (strcmp(point, points[0]) != 0 && strcmp(point, points[1]) != 0)
		return wrong(policy, "point", "\"deschedule\" or \"balance\" is wanted",
			     err);
	own->point = strcmp(point, points[1]) == 0 ? NEAP_POINT_BALANCE
						   : NEAP_POINT_DESCHEDULE;
	if (neap_lua_get(L, table, "plugin") != LUA_TNIL &&
	    (!neap_lua_text(L, -1) || !is_plugin(neap_lua_text(L, -1)) ||
	     !neap_strcopy(own->plugin, sizeof(own->plugin), neap_lua_text(L, -1))))
		return wrong(policy, "plugin",
			     "its name in configurations, 1 to 63 letters and digits, "
			     "is wanted",
			     err);
	neap_lua_get(L, table, "triggers");
	if (read_triggers(L, lua_gettop(L), own, &why) < 0)
		return wrong(policy, "triggers", why.msg, err);
	neap_seat_open(L, policy);
	return 0;
}

void neap_deschedule_forget(struct neap_deschedule_own *own)
{
	neap_anomalies_free(own->anomalies);
	own->anomalies = NULL;
}

void neap_deschedule_free(struct neap_deschedule_own *own)
{
	if (own)
		neap_deschedule_forget(own);
	free(own);
}

enum neap_deschedule_point neap_policy_point(const struct neap_policy *policy)
{
	return policy->deschedule->point;
}

const char *neap_policy_plugin(const struct neap_policy *policy)
{
	return policy->deschedule->plugin[0] ? policy->deschedule->plugin : policy->name;
}

const struct neap_round_trigger *
neap_policy_round_triggers(const struct neap_policy *policy, size_t *ret_count)
{
	*ret_count = policy->deschedule->trigger_count;
	return policy->deschedule->triggers;
}

/* --- a call --- */

struct run {
	struct neap_policy *policy;
	struct neap_round *round;
	const char *strategy;
	int rc;
	struct neap_error *err;
};

static int push_call(lua_State *L)
{
	struct run *run = lua_touserdata(L, 1);

	neap_seat_begin(L, run->policy, run->round, run->strategy);
	neap_ctx_set_now(L, run->policy, run->round->args.now_usec / 1000000);
	neap_policy_push(L, run->policy, NEAP_REF_TICK);
	neap_policy_push(L, run->policy, NEAP_REF_CTX);
	neap_policy_push(L, run->policy, NEAP_REF_ROUND);
	return 3;
}

static int check_memo(lua_State *L)
{
	struct run *run = lua_touserdata(L, 1);

	run->rc = neap_ctx_check_memo(L, run->policy, run->err);
	return 0;
}

static int call(struct run *run)
{
	struct neap_policy *policy = run->policy;
	int rc = neap_vm_protect(policy->vm, push_call, run, 3, run->err);

	if (rc < 0)
		return rc;
	rc = neap_vm_call(policy->vm, 2, 0, policy->kind->call_budget_usec, run->err);
	neap_seat_end(policy);
	if (rc < 0)
		return rc;
	return neap_vm_protect(policy->vm, check_memo, run, 0, run->err);
}

static int collect(lua_State *L)
{
	(void)lua_gc(L, LUA_GCCOLLECT);
	return 0;
}

enum neap_tick_verdict neap_policy_run_round(struct neap_policy *policy,
					     struct neap_round *round,
					     const char *strategy, struct neap_error *err)
{
	struct neap_error own = {0}, ignored;
	struct run run = {.policy = policy,
			  .round = round,
			  .strategy = strategy,
			  .err = err ? err : &own};
	enum neap_tick_verdict verdict;
	int rc = call(&run);

	if (rc == 0 && run.rc == 0) {
		if (neap_vm_memory(policy->vm) > HELD_BYTES)
			(void)neap_vm_protect(policy->vm, collect, NULL, 0, &ignored);
		return NEAP_TICK_WISHES;
	}
	(void)neap_policy_in(policy, NEAP_REF_TICK, "run", run.err);
	verdict = rc < 0                   ? neap_policy_verdict_of(rc)
		  : run.rc == -NEAP_ENOMEM ? NEAP_TICK_STARVED
					   : NEAP_TICK_WRONG;
	if (!neap_vm_is_dead(policy->vm) && verdict != NEAP_TICK_STARVED)
		(void)neap_ctx_reset_memo(policy, &ignored); /* it may be what is wrong */
	return verdict;
}
