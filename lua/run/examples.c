/* SPDX-License-Identifier: Apache-2.0
 *
 * `examples`: rows that a policy carries as its own tests. A row's partial node becomes a
 * real sample, and the real tick runs on it, so that needs, budgets and checks act as in
 * service.
 *
 * { name =, node = { ... }, params = { ... }, want = { writes } | "hold" | "skip" }, or
 * with steps = { { node = { ... }, after_s = 1, want = ... }, ... } that share ctx.memo;
 * a step's node lies over the row's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>

#include "engine/base/mem.h"
#include "lua/call/policy_priv.h"
#include "lua/value/convert.h"
#include "lua/vm/budget.h"

#define STEPS_MAX 1000
/* Time of the first step, when the node says nothing: a round number in 2023. */
#define START_UNIX 1700000000

struct example {
	struct neap_policy *policy;
	int index, step, steps; /* step: 0 while the row is opened, then 1.. */
	char name[80];
	int64_t now_unix;
	struct neap_sample sample;
	struct neap_params params; /* those in force outside of this row */
	enum neap_tick_verdict got_verdict;
	struct neap_policy_wish *got, *want;
	size_t got_count, want_count;
	int rc;
	struct neap_error *err, tick_err;
};

static int fail(struct example *ex, const char *what)
{
	return neap_error_set(ex->err, NEAP_EINVAL, "%s", what);
}

/* --- reading a row --- */

static void push_row(lua_State *L, const struct example *ex)
{
	neap_policy_push_row(L, ex->policy, ex->index);
}

static int check_names(lua_State *L, int table, const char *const *names,
		       struct example *ex)
{
	lua_pushnil(L);
	while (lua_next(L, table)) {
		const char *key = neap_lua_name(L, -2);
		const char *const *name = names;

		while (*name && strcmp(*name, key) != 0)
			name++;
		if (!*name)
			return neap_error_set(
				ex->err, NEAP_EINVAL,
				"there is no field '%.40s' here; known: name, params, "
				"node, want, steps; in a step: node, after_s, want",
				key);
		lua_pop(L, 1);
	}
	return 0;
}

static int open_row(lua_State *L, struct example *ex)
{
	static const char *const names[] = {"name", "params", "node",
					    "want", "steps",  NULL};
	int row, rc;

	push_row(L, ex);
	row = lua_gettop(L);
	(void)neap_lua_get(L, row, "name");
	if (neap_lua_text(L, -1))
		(void)neap_strcopy(ex->name, sizeof(ex->name),
				   neap_lua_text(L, -1)); /* cut */
	rc = check_names(L, row, names, ex);
	if (rc < 0)
		return rc;
	if (!ex->name[0])
		return fail(ex, "a name is wanted: name = \"...\"");

	neap_params_reset(&ex->policy->params);
	if (neap_lua_get(L, row, "params") != LUA_TNIL) {
		rc = neap_params_set_lua(L, lua_gettop(L), &ex->policy->params, ex->err);
		if (rc < 0)
			return rc;
	}
	ex->steps = 0;
	if (neap_lua_get(L, row, "steps") == LUA_TNIL)
		return neap_lua_get(L, row, "want") == LUA_TNIL
			       ? fail(ex, "want is missing")
			       : 0;
	ex->steps = lua_istable(L, -1) ? (int)lua_rawlen(L, -1) : 0;
	if (ex->steps < 1 || ex->steps > STEPS_MAX)
		return fail(ex, "steps: a list of 1 to 1000 tables is wanted");
	if (neap_lua_get(L, row, "want") != LUA_TNIL)
		return fail(ex, "want belongs into the steps");
	return 0;
}

/* Classes are there when the example says anything about them; a workload's target
 * follows its id. */
static void fill_in(lua_State *L, int node, struct neap_sample *sample)
{
	struct neap_class_sample *const classes[] = {&sample->besteffort,
						     &sample->burstable};
	static const char *const names[] = {"besteffort", "burstable"};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(classes); i++) {
		if (neap_lua_get(L, node, names[i]) == LUA_TTABLE &&
		    neap_lua_get(L, -1, "exists") == LUA_TNIL)
			classes[i]->exists = true;
		lua_settop(L, node);
	}
	for (size_t i = 0; i < sample->workload_count; i++) {
		struct neap_workload *w = &sample->workloads[i];

		if (!w->target[0] && w->id[0])
			snprintf(w->target, sizeof(w->target), "workload:%s", w->id);
	}
}

/* Reads the node of the table at index over the sample. */
static int read_node(lua_State *L, int index, struct example *ex)
{
	int rc;

	if (neap_lua_get(L, index, "node") == LUA_TNIL)
		return 0;
	rc = neap_lua_read_struct(L, lua_gettop(L), neap_sample_fields, &ex->sample,
				  ex->err);
	if (rc < 0)
		return neap_error_wrap(ex->err, "node");
	fill_in(L, lua_gettop(L), &ex->sample);
	return 0;
}

static int open_step(lua_State *L, struct example *ex)
{
	static const char *const names[] = {"node", "after_s", "want", NULL};
	int row, rc;

	push_row(L, ex);
	row = lua_gettop(L);
	neap_struct_done(neap_sample_fields, &ex->sample);
	memset(&ex->sample, 0, sizeof(ex->sample));
	neap_struct_clear(neap_sample_fields, &ex->sample);
	rc = read_node(L, row, ex);
	if (rc < 0)
		return rc;
	if (ex->steps) {
		neap_lua_get(L, row, "steps");
		if (lua_rawgeti(L, -1, ex->step) != LUA_TTABLE)
			return fail(ex, "a step is a table");
		row = lua_gettop(L);
		rc = check_names(L, row, names, ex);
		if (rc < 0)
			return rc;
		rc = read_node(L, row, ex);
		if (rc < 0)
			return rc;
		if (neap_lua_get(L, row, "after_s") != LUA_TNIL) {
			if (!lua_isinteger(L, -1) || lua_tointeger(L, -1) < 0 ||
			    lua_tointeger(L, -1) > INT32_MAX)
				return fail(ex, "after_s: whole seconds are wanted");
			ex->now_unix += lua_tointeger(L, -1);
		}
	}
	if (ex->sample.now_unix == NEAP_MISSING)
		ex->sample.now_unix = ex->now_unix;
	if (ex->sample.mono_usec == NEAP_MISSING)
		ex->sample.mono_usec = (ex->now_unix - START_UNIX) * 1000000;
	return 0;
}

/* --- comparing --- */

static void print_wish(const struct neap_policy_wish *wish, char *buf, size_t size)
{
	char value[128];

	(void)neap_value_print(wish->key, &wish->value, value,
			       sizeof(value)); /* cut is fine */
	snprintf(buf, size, "%.60s %s=%s", wish->target, neap_key_get(wish->key)->name,
		 value);
}

static bool is_match(const struct neap_policy_wish *want,
		     const struct neap_policy_wish *got)
{
	return want->key == got->key && strcmp(want->target, got->target) == 0 &&
	       neap_value_is_equal(want->key, &want->value, &got->value) &&
	       (!want->why[0] || strcmp(want->why, got->why) == 0);
}

/* The first of list that has no partner in other; each partner serves once. */
static const struct neap_policy_wish *find_single(const struct neap_policy_wish *list,
						  size_t count,
						  const struct neap_policy_wish *other,
						  size_t other_count, bool list_is_want)
{
	for (size_t i = 0; i < count; i++) {
		size_t alike = 0, partners = 0;

		for (size_t k = 0; k <= i; k++)
			alike += list_is_want ? is_match(&list[i], &list[k])
					      : is_match(&list[k], &list[i]);
		for (size_t k = 0; k < other_count; k++)
			partners += list_is_want ? is_match(&list[i], &other[k])
						 : is_match(&other[k], &list[i]);
		if (partners < alike)
			return &list[i];
	}
	return NULL;
}

static int compare(struct example *ex)
{
	const struct neap_policy_wish *lost, *extra;
	char lost_text[200] = "", extra_text[200] = "";

	lost = find_single(ex->want, ex->want_count, ex->got, ex->got_count, true);
	extra = find_single(ex->got, ex->got_count, ex->want, ex->want_count, false);
	if (!lost && !extra)
		return 0;
	if (lost)
		print_wish(lost, lost_text, sizeof(lost_text));
	if (extra)
		print_wish(extra, extra_text, sizeof(extra_text));
	return neap_error_set(ex->err, NEAP_ECONFLICT, "wanted %s; got %s",
			      lost ? lost_text : "nothing more",
			      extra ? extra_text : "nothing for it");
}

static const char *verdict_text(enum neap_tick_verdict verdict)
{
	switch (verdict) {
	case NEAP_TICK_HOLD:
		return "hold";
	case NEAP_TICK_SKIPPED:
		return "skip";
	default:
		return "a list of writes";
	}
}

static int judge(lua_State *L, struct example *ex)
{
	char text[100];
	int rc;

	if (!ex->index)
		return 0; /* any answer will do */
	push_row(L, ex);
	if (ex->steps) {
		neap_lua_get(L, -1, "steps");
		lua_rawgeti(L, -1, ex->step);
	}
	if (neap_lua_get(L, -1, "want") == LUA_TSTRING) {
		const char *want = neap_lua_name(L, -1);

		if (strcmp(want, "hold") != 0 && strcmp(want, "skip") != 0)
			return fail(ex, "want: a list of writes, \"hold\" or \"skip\"");
		if (strcmp(want, verdict_text(ex->got_verdict)) == 0)
			return 0;
		snprintf(text, sizeof(text), "wanted %s; got %s", want,
			 verdict_text(ex->got_verdict));
		return neap_error_set(ex->err, NEAP_ECONFLICT, "%s", text);
	}
	rc = neap_wishes_read(L, lua_gettop(L), false, &ex->want, &ex->want_count,
			      ex->err);
	if (rc < 0)
		return neap_error_wrap(ex->err, "want");
	if (ex->got_verdict == NEAP_TICK_WISHES)
		return compare(ex);
	return neap_error_set(
		ex->err, NEAP_ECONFLICT, "wanted a list of writes; got %s%s%s",
		verdict_text(ex->got_verdict),
		ex->got_verdict == NEAP_TICK_SKIPPED ? ", " : "",
		ex->got_verdict == NEAP_TICK_SKIPPED ? ex->tick_err.msg : "");
}

/* --- running --- */

static int open_protected(lua_State *L)
{
	struct example *ex = lua_touserdata(L, 1);

	luaL_checkstack(L, 20, NULL);
	ex->rc = ex->step ? open_step(L, ex) : open_row(L, ex);
	return 0;
}

static int judge_protected(lua_State *L)
{
	struct example *ex = lua_touserdata(L, 1);

	luaL_checkstack(L, 20, NULL);
	ex->rc = judge(L, ex);
	return 0;
}

static int protect(struct example *ex, lua_CFunction fn)
{
	int rc = neap_vm_protect(ex->policy->vm, fn, ex, 0, ex->err);

	return rc < 0 ? rc : ex->rc;
}

static int run_step(struct example *ex)
{
	int64_t until = ex->policy->row_until_usec;
	int rc;

	if (until && neap_budget_clock_usec() >= until)
		return neap_error_set(
			ex->err, NEAP_EBUDGET,
			"the CPU time of an upload is used up, %.3g s for loading, "
			"examples and replay together: fewer or shorter examples are "
			"wanted",
			(double)ex->policy->kind->upload_budget_usec / 1e6);
	rc = protect(ex, open_protected);
	if (rc < 0)
		return rc;
	ex->got_verdict = neap_policy_tick(ex->policy, &ex->sample, &ex->got,
					   &ex->got_count, &ex->tick_err);
	if (ex->got_verdict > NEAP_TICK_SKIPPED) {
		*ex->err = ex->tick_err;
		return -ex->tick_err.code;
	}
	rc = protect(ex, judge_protected);
	free(ex->got);
	free(ex->want);
	ex->got = ex->want = NULL;
	ex->got_count = ex->want_count = 0;
	return rc;
}

static int run_row(struct example *ex)
{
	int rc = neap_ctx_reset_memo(ex->policy, ex->err);

	if (rc == 0)
		rc = protect(ex, open_protected);
	if (rc == 0)
		rc = neap_ctx_refresh_params(ex->policy, ex->err);
	if (rc < 0)
		return rc;
	for (ex->step = 1; ex->step <= (ex->steps ? ex->steps : 1); ex->step++) {
		rc = run_step(ex);
		if (rc < 0 && ex->steps)
			return neap_error_wrap(ex->err, "step %d", ex->step);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* The row's own parameters go, those in force come back. */
static int restore(struct example *ex, struct neap_error *err)
{
	int rc;

	neap_params_done(&ex->policy->params);
	ex->policy->params = ex->params;
	if (neap_vm_is_dead(ex->policy->vm))
		return 0;
	rc = neap_ctx_refresh_params(ex->policy, err);
	return rc < 0 ? rc : neap_ctx_reset_memo(ex->policy, err);
}

int neap_qos_run_example(struct neap_policy *policy, int index, struct neap_error *err)
{
	struct neap_error own = {0};
	struct example *ex;
	char where[300];
	int rc, restored;

	err = err ? err : &own;
	ex = neap_alloc(sizeof(*ex));
	if (!ex)
		return neap_error_nomem(err);
	*ex = (struct example){
		.policy = policy, .index = index, .now_unix = START_UNIX, .err = err};
	rc = neap_params_dup(&policy->params, &ex->params, err);
	if (rc < 0) {
		free(ex);
		return rc;
	}

	rc = run_row(ex);
	restored = restore(ex, rc < 0 ? &ex->tick_err : err);
	if (rc < 0)
		(void)neap_error_wrap(err, "%s: example '%.60s'",
				      neap_policy_where(policy, "name",
							ex->name[0] ? ex->name : "?",
							where, sizeof(where)),
				      ex->name[0] ? ex->name : "?");
	neap_struct_done(neap_sample_fields, &ex->sample);
	free(ex->got);
	free(ex->want);
	free(ex);
	return rc < 0 ? rc : restored;
}

struct row_name {
	struct neap_policy *policy;
	int index;
	char name[80];
};

static int read_name(lua_State *L)
{
	struct row_name *row = lua_touserdata(L, 1);

	neap_policy_push_row(L, row->policy, row->index);
	if (neap_lua_get(L, -1, "name") == LUA_TSTRING)
		(void)neap_strcopy(row->name, sizeof(row->name),
				   neap_lua_name(L, -1)); /* cut */
	return 0;
}

int neap_policy_example_count(const struct neap_policy *policy)
{
	return policy->example_count;
}

int neap_policy_run_example(struct neap_policy *policy, int index, int64_t budget_usec,
			    char *ret_name, size_t name_size, struct neap_error *err)
{
	struct row_name row = {.policy = policy, .index = index};
	int rc;

	snprintf(row.name, sizeof(row.name), "%d", index);
	rc = neap_vm_protect(policy->vm, read_name, &row, 0, err);
	(void)neap_strcopy(ret_name, name_size, row.name); /* cut is fine */
	if (rc < 0)
		return rc;
	policy->row_until_usec = budget_usec ? neap_budget_clock_usec() + budget_usec : 0;
	rc = policy->kind->run_example(policy, index, err);
	policy->row_until_usec = 0;
	return rc;
}

int neap_policy_run_examples(struct neap_policy *policy,
			     void (*report)(void *arg, const char *row,
					    const struct neap_error *err),
			     void *arg, struct neap_error *err)
{
	int64_t until = neap_budget_clock_usec() +
			neap_budget_scale(policy->kind->upload_budget_usec);
	int failed = 0;

	for (int i = 1; i <= policy->example_count; i++) {
		int64_t left = until - neap_budget_clock_usec();
		struct neap_error row_err;
		char name[80];
		int rc = neap_policy_run_example(policy, i, left > 1 ? left : 1, name,
						 sizeof(name), &row_err);

		failed += rc < 0;
		if (rc < 0 && failed == 1 && err)
			*err = row_err;
		if (report)
			report(arg, name, rc < 0 ? &row_err : NULL);
		if (neap_vm_is_dead(policy->vm))
			return failed ? failed : 1;
		if (rc == -NEAP_EBUDGET)
			break;
	}
	return failed;
}
