/* SPDX-License-Identifier: Apache-2.0
 *
 * Kind filter: allow(ctx, pod, node), or by value allow(ctx, pod, FIELD, ...), called for
 * many nodes in a row. One protected call with one budget handles a block of nodes, in a
 * Lua loop (place_needs.c) that calls C for the next node's fields and for refusals. */
#include <string.h>

#include <lauxlib.h>

#include "engine/base/mem.h"
#include "engine/base/utf8.h"
#include "lua/place/place_priv.h"
#include "lua/value/convert.h"
#include "lua/vm/budget.h"

/* Nodes of one call: of more there are several, so that none may hold the loop for
 * long. */
#define NODES_MAX 2048

struct block {
	struct neap_policy *policy;
	const struct neap_place *place;
	struct neap_place_call *call;
	const uint32_t *rows;
	size_t count, at; /* at: the next one */
	uint32_t *answers;
	const struct neap_column_view *views;
	bool is_wrong;
	int rc;
	struct neap_error *err;
};

static const char others[] = "other reasons";

void neap_place_clean(const char *text, char *ret)
{
	(void)neap_strcopy(ret, NEAP_PLACE_REASON, text); /* cut is fine */
	neap_utf8_trim(ret);
	for (size_t i = 0; ret[i];) {
		size_t len = neap_utf8_next(ret + i, strlen(ret + i), NULL);

		if (!len || (unsigned char)ret[i] < 0x20 || ret[i] == 0x7f)
			ret[i] = '?';
		i += len ? len : 1;
	}
	if (!ret[0])
		(void)neap_strcopy(ret, NEAP_PLACE_REASON, "no reason given");
}

static uint32_t note_reason(struct neap_place_call *call, const char *text)
{
	char reason[NEAP_PLACE_REASON];
	size_t i;

	neap_place_clean(text, reason);
	for (i = 0; i < call->reason_count; i++)
		if (strcmp(call->reasons[i], reason) == 0)
			return (uint32_t)i + 1;
	if (i == NEAP_PLACE_REASONS_MAX)
		return NEAP_PLACE_REASONS_MAX;
	memcpy(call->reasons[i], i + 1 == NEAP_PLACE_REASONS_MAX ? others : reason,
	       i + 1 == NEAP_PLACE_REASONS_MAX ? sizeof(others) : strlen(reason) + 1);
	call->reason_count++;
	return (uint32_t)i + 1;
}

static bool is_for(const struct block *block, uint32_t row)
{
	const struct neap_selector *where = block->policy->where;

	return !where || neap_object_is_selected(
				 block->views[0].columns->nodes[row]->object, where);
}

/* The iterator: the next nodes that the policy is for and that have all that is needed.
 * The others stay allowed. */
static int following(lua_State *L)
{
	struct block *block = lua_touserdata(L, lua_upvalueindex(1));
	const struct neap_place_needs *needs = block->policy->place;
	int each = (int)needs->node_count + 1, room = each * (int)needs->batch, top = 0;

	lua_settop(L, 0);
	luaL_checkstack(L, room, NULL);
	while (top < room && block->at < block->count) {
		uint32_t row = block->rows[block->at];

		lua_pushinteger(L, (lua_Integer)block->at++);
		if (is_for(block, row) &&
		    neap_place_push_fields(L, needs, block->views, row)) {
			top += each;
			continue;
		}
		lua_settop(L, top);
		neap_vm_check(L); /* there may be thousands that it is not for */
	}
	return top;
}

/* What allow returned for a node, when that is not just true. */
static int refuse(lua_State *L)
{
	struct block *block = lua_touserdata(L, lua_upvalueindex(1));
	const struct neap_columns *columns = block->views[0].columns;
	size_t at = (size_t)lua_tointeger(L, 1);
	int is = lua_type(L, 2), why = lua_type(L, 3);

	if (is == LUA_TBOOLEAN &&
	    (why == LUA_TNIL ||
	     (neap_lua_text(L, 3) && lua_rawlen(L, 3) <= NEAP_RESULT_TEXT_MAX))) {
		block->answers[at] = note_reason(
			block->call, why == LUA_TSTRING ? neap_lua_name(L, 3) : "");
		return 0;
	}
	if (block->is_wrong)
		return 0;
	block->at = block->count; /* but for those that Lua has the fields of */
	block->is_wrong = true;
	block->rc =
		neap_error_set(block->err, NEAP_EINVAL,
			       "allow returned a %s%s%s for node %.60s: true, or false "
			       "and a text of at most 1000 bytes, is wanted",
			       lua_typename(L, is), is == LUA_TBOOLEAN ? " and a " : "",
			       is == LUA_TBOOLEAN ? lua_typename(L, why) : "",
			       columns->nodes[block->rows[at]]->name);
	return 0;
}

static int run_block(lua_State *L)
{
	struct block *block = lua_touserdata(L, 1);
	const struct neap_policy *policy = block->policy;
	int targets;

	luaL_checkstack(L, 16, NULL);
	memset(block->answers, 0, block->count * sizeof(*block->answers));
	neap_policy_push(L, policy, NEAP_REF_LOOP);
	neap_policy_push(L, policy, NEAP_REF_TICK);
	neap_policy_push(L, policy, NEAP_REF_CTX);
	neap_policy_push(L, policy, NEAP_REF_POD);
	neap_policy_push(L, policy, NEAP_REF_NODE);
	lua_pushlightuserdata(L, block);
	lua_pushcclosure(L, following, 1);
	lua_pushlightuserdata(L, block);
	lua_pushcclosure(L, refuse, 1);
	targets = neap_place_push_targets(L, policy);
	lua_call(L, 6 + targets, 0);
	return 0;
}

static int check_memo(lua_State *L)
{
	struct block *block = lua_touserdata(L, 1);

	block->rc = neap_ctx_check_memo(L, block->policy, block->err);
	block->is_wrong = block->rc < 0 && block->rc != -NEAP_ENOMEM;
	return 0;
}

int neap_filter_read(lua_State *L, int table, struct neap_policy *policy,
		     struct neap_error *err)
{
	int type = neap_lua_get(L, table, "by_value");
	char where[300];

	if (type != LUA_TNIL && type != LUA_TBOOLEAN) {
		(void)neap_error_set(err, NEAP_EINVAL,
				     "field 'by_value': true or false is wanted");
		return neap_error_wrap(err, "%s",
				       neap_policy_where(policy, "by_value", NULL, where,
							 sizeof(where)));
	}
	policy->place->by_value = type == LUA_TBOOLEAN && lua_toboolean(L, -1);
	neap_place_make_loop(L, policy);
	return 0;
}

static int64_t budget_of(const struct neap_policy *policy, size_t count)
{
	return policy->kind->call_budget_usec + (int64_t)count / NEAP_PLACE_NODES_A_USEC;
}

static int push_call(lua_State *L)
{
	struct block *block = lua_touserdata(L, 1);

	lua_pushcfunction(L, run_block);
	lua_pushlightuserdata(L, block);
	return 2;
}

static int run(struct block *block)
{
	struct neap_policy *policy = block->policy;
	int rc = neap_vm_protect(policy->vm, push_call, block, 2, block->err);

	if (rc == 0)
		rc = neap_vm_call(policy->vm, 1, 0, budget_of(policy, block->count),
				  block->err);
	if (rc < 0 || block->rc < 0)
		return rc < 0 ? rc : block->rc;
	rc = neap_vm_protect(policy->vm, check_memo, block, 0, block->err);
	return rc < 0 ? rc : block->rc;
}

static enum neap_tick_verdict allow(struct block *block)
{
	struct neap_column_view views[NEAP_NEEDS_MAX];
	struct neap_policy *policy = block->policy;
	const struct neap_place *place = block->place;
	enum neap_tick_verdict verdict;
	struct neap_error ignored;
	int rc;

	if (!block->call->is_open) {
		const struct neap_place_pod pod = {place->pod,
						   neap_cluster_resources(place->cluster),
						   place->now_usec};

		verdict = neap_place_open(policy, &pod, block->err);
		if (verdict != NEAP_TICK_WISHES)
			return verdict;
		block->call->is_open = true;
	}
	views[0].columns = neap_cluster_settle(place->cluster);
	for (size_t i = 0; i < policy->place->count; i++)
		neap_column_open(&views[i], &policy->place->rows[i].column,
				 place->cluster, place->pod, place->now_usec);
	block->views = views;
	rc = run(block);
	if (rc == 0)
		return NEAP_TICK_WISHES;
	(void)neap_policy_in(policy, NEAP_REF_TICK, "allow", block->err);
	verdict = block->is_wrong ? NEAP_TICK_WRONG : neap_policy_verdict_of(rc);
	if (!neap_vm_is_dead(policy->vm) && verdict != NEAP_TICK_STARVED)
		(void)neap_ctx_reset_memo(policy, &ignored); /* it may be what is wrong */
	return verdict;
}

enum neap_tick_verdict
neap_policy_allow_within(struct neap_policy *policy, const struct neap_place *place,
			 struct neap_place_call *call, const uint32_t *rows, size_t count,
			 int64_t *left_usec, uint32_t *ret, struct neap_error *err)
{
	enum neap_tick_verdict verdict = NEAP_TICK_WISHES;
	int64_t before_usec = 0; /* of the calls before the last */

	for (size_t at = 0; at < count && verdict == NEAP_TICK_WISHES; at += NODES_MAX) {
		struct block block = {.policy = policy,
				      .place = place,
				      .call = call,
				      .rows = rows + at,
				      .count = count - at < NODES_MAX ? count - at
								      : NODES_MAX,
				      .answers = ret + at,
				      .err = err};
		int64_t started = neap_budget_clock_usec();

		if (*left_usec < neap_budget_scale(budget_of(policy, block.count))) {
			(void)neap_error_set(err, NEAP_EUNAVAILABLE,
					     "put off: the policies before it used up "
					     "the CPU time of this decision");
			return NEAP_TICK_PUT_OFF;
		}
		before_usec += at ? neap_vm_last_cpu_usec(policy->vm) : 0;
		verdict = allow(&block);
		*left_usec -= neap_budget_clock_usec() - started;
	}
	neap_vm_charge(policy->vm, before_usec);
	return verdict;
}
