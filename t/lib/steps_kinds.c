/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/steps_kinds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "lua/reserve/reserve.h"
#include "lua/vm/budget.h"
#include "t/lib/offer_rig.h"
#include "t/lib/place_rig.h"
#include "t/lib/steps_rows.h"

#define NODES 2048 /* of one call of a filter */
/* One in so many is taken in the short form. */
#define ONE_IN     3
#define PURSE_USEC 45000

/* Of v, a value of steps_values, the places of results are made: times(n, x) is a list of
 * n times the same, with(x) has the column that a term must have (in place of a key where
 * there is no room), odd(x) has x for its events, keep(x) goes into ctx.memo, too. */
static const char helpers[] =
	"local memo local function keep(x, r) memo = x return r end "
	"local function times(n, x) local t = {} for i = 1, n do t[i] = x end return t end "
	"local function with(x) x = type(x) == 'table' and x or { x } "
	"if not pcall(rawset, x, 'column', 'free_share.cpu') then rawset(x, next(x), nil) "
	"rawset(x, 'column', 'free_share.cpu') end return x end "
	"local function odd(x) local m = {} for _, e in ipairs({ '__index', '__newindex', "
	"'__len', '__pairs', '__eq', '__tostring', '__name', '__lt', '__close' }) do "
	"m[e] = x end return setmetatable({}, m) end ";

struct world {
	struct place_rig *places;
	struct offer_rig *offers;
	struct neap_pod *pod;
	struct neap_reserve *reserve;
	uint32_t rows[NODES], answers[NODES];
	int64_t points[NODES];
	struct neap_curve_score score;
	struct steps *steps;
	char name[160];
};

/* Answers of the policy; how long they may take together. */
typedef int64_t ask_fn(struct world *world, struct neap_policy *policy);

static int64_t call_usec(const struct neap_policy *policy)
{
	return neap_policy_kind(policy)->call_budget_usec;
}

static struct neap_place place_of(const struct world *world)
{
	return (struct neap_place){world->places->cluster, world->pod, OFFER_NOW};
}

static int64_t ask_plan(struct world *world, struct neap_policy *policy)
{
	const struct neap_place place = place_of(world);
	int64_t left = PURSE_USEC, weigh = 0;
	struct neap_error err;

	if (neap_policy_plan_within(policy, &place, &left, &world->score, &err) ==
	    NEAP_TICK_WISHES) {
		weigh = left = call_usec(policy);
		(void)neap_place_weigh(&world->score, &place, world->rows, NODES, &left,
				       world->points);
	}
	return call_usec(policy) + weigh;
}

static int64_t ask_allow(struct world *world, struct neap_policy *policy)
{
	const struct neap_place place = place_of(world);
	struct neap_place_call call = {0};
	int64_t left = PURSE_USEC;
	struct neap_error err;

	(void)neap_policy_allow_within(policy, &place, &call, world->rows, NODES, &left,
				       world->answers, &err);
	return call_usec(policy) + NODES / NEAP_PLACE_NODES_A_USEC;
}

static int64_t ask_offer(struct world *world, struct neap_policy *policy)
{
	const struct neap_place_pod pod = {world->pod, world->offers->resources,
					   OFFER_NOW};
	const struct neap_reserve_offer offer = {world->reserve, world->offers->node,
						 true, &world->offers->allocated, 0};
	struct neap_reserve_verdict verdict;
	int64_t left = PURSE_USEC;
	struct neap_error err;
	int rank;

	(void)neap_policy_begin_offers(policy, &pod, &err);
	(void)neap_policy_match_within(policy, &offer, &left, &verdict, &err);
	(void)neap_policy_rank_within(policy, &offer, &left, &rank, &err);
	return 2 * call_usec(policy);
}

static const struct {
	const char *kind, *function, *result;
	ask_fn *ask;
} rows[] = {
	{"score", "plan", "v", ask_plan},
	{"score", "plan", "times(32, v)", ask_plan},
	{"score", "plan", "{ v, weight = v }", ask_plan},
	{"score", "plan", "{ with({}), weight = v }", ask_plan},
	{"score", "plan", "times(32, { column = v })", ask_plan},
	{"score", "plan", "times(32, with({ weight = v, missing = v }))", ask_plan},
	{"score", "plan", "times(32, with({ curve = v }))", ask_plan},
	{"score", "plan", "times(32, with({ curve = times(16, v) }))", ask_plan},
	{"score", "plan", "times(32, with({ curve = { { v, v } } }))", ask_plan},
	{"score", "plan", "times(32, { column = 'name', is = v })", ask_plan},
	{"score", "plan", "times(32, { column = 'name', is = times(16, v) })", ask_plan},
	{"score", "plan", "times(32, with({ [v] = 1 }))", ask_plan},
	{"score", "plan", "times(32, with(v))", ask_plan},
	{"score", "plan", "odd(v)", ask_plan},
	{"score", "plan", "times(32, with(odd(v)))", ask_plan},
	{"score", "plan", "keep(v, {})", ask_plan},
	{"filter", "allow", "v", ask_allow},
	{"filter", "allow", "true, v", ask_allow},
	{"filter", "allow", "false, v", ask_allow},
	{"filter", "allow", "false, odd(v)", ask_allow},
	{"filter", "allow", "v, v", ask_allow},
	{"filter", "allow", "table.unpack(times(8000, v))", ask_allow},
	{"filter", "allow", "keep(v, true)", ask_allow},
	{"reservation", "match", "v", ask_offer},
	{"reservation", "match", "false, v", ask_offer},
	{"reservation", "match", "false, 'r', v", ask_offer},
	{"reservation", "match", "true, odd(v), odd(v)", ask_offer},
	{"reservation", "match", "table.unpack(times(8000, v))", ask_offer},
	{"reservation", "match", "keep(v, true)", ask_offer},
	{"reservation", "match = function() return true end, rank", "v", ask_offer},
	{"reservation", "match = function() return true end, rank", "odd(v)", ask_offer},
};

static void note(struct world *world, int64_t usec)
{
	steps_note(world->steps, world->name, usec);
}

static void run_row(struct world *world, size_t row, const struct steps_value *value)
{
	struct neap_policy *policy = NULL;
	struct neap_error err;
	int64_t start, may;
	char text[8192];
	int len;

	(void)snprintf(world->name, sizeof(world->name), "%s %s: %s", rows[row].kind,
		       rows[row].result, value->name);
	len = snprintf(text, sizeof(text),
		       "%s local v = (function() %s end)() local r = table.pack(%s) "
		       "return { api = 1, kind = '%s', name = 'x', %s = function(ctx) "
		       "ctx.memo.m = memo return table.unpack(r, 1, r.n) end }",
		       helpers, value->text, rows[row].result, rows[row].kind,
		       rows[row].function);
	if (len >= (int)sizeof(text))
		abort();
	steps_begin(world->name);
	/* Some values do not fit in so many places: that ends at the load. */
	if (neap_policy_load(text, (size_t)len, "x", &policy, &err) < 0)
		return;
	start = neap_budget_clock_usec();
	may = rows[row].ask(world, policy);
	note(world, neap_budget_clock_usec() - start - neap_budget_scale(may));
	start = neap_budget_clock_usec();
	neap_policy_free(policy);
	note(world, neap_budget_clock_usec() - start);
}

void steps_kinds_run(unsigned seed, bool is_long, struct steps *ret)
{
	struct world *world = neap_alloc(sizeof(*world));
	unsigned at = seed;

	if (!world)
		abort();
	world->steps = ret;
	world->places = place_new();
	world->offers = offer_new();
	place_add_nodes(world->places, NODES);
	(void)neap_cluster_settle(world->places->cluster);
	for (uint32_t i = 0; i < NODES; i++)
		world->rows[i] = i;
	world->pod = cluster_pod(
		neap_cluster_resources(world->places->cluster), "pod", "'labels':{}",
		"{'containers':[{'resources':{'requests':{'cpu':'1'}}}]}", "{}");
	world->reserve = offer_reserve(world->offers, offer_json("{'name':'r'}"),
				       offer_json("[{'object':{}}]"));
	for (size_t row = 0; row < NEAP_ARRAY_LEN(rows); row++)
		for (size_t i = 0; i < steps_value_count; i++)
			if (is_long || at++ % ONE_IN == 0)
				run_row(world, row, &steps_values[i]);
	steps_begin(NULL);
	(void)neap_pod_unref(world->pod);
	neap_reserve_unref(world->reserve);
	offer_free(world->offers);
	place_free(world->places);
	free(world);
}
