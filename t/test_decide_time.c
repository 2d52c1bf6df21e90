/* SPDX-License-Identifier: Apache-2.0
 *
 * However many policies of however many kinds mean harm, one question about a pod takes
 * no more CPU time than lua/call/purse.h says, and one step that nothing interrupts. Of
 * the time of this thread alone: load breaks nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lua/place/place.h"
#include "lua/vm/budget.h"
#include "t/lib/offer_rig.h"
#include "t/lib/place_rig.h"
#include "t/lib/policy_rule.h"
#include "t/lib/steps.h"

#define PURSE_USEC   45000
#define CALL_USEC    5000
#define STEP_USEC    50000
#define MEASURE_USEC 24000 /* on the machine of the figures */
#define EACH         20
#define OFFERS       200

/* 4096 keys in one chain, which Lua walks for each of them when the table grows. */
#define COLLIDE                                                                          \
	"while true do pcall(function() local t = {} for i = 1, 4097 do "                \
	"t[i * 33542145] = true end end) end "

/* Bodies of every function of every kind; is_slow: they end in time, else they are
 * stopped. */
static const struct {
	const char *name, *body;
	bool is_slow;
	int64_t step_usec;
} rows[] = {
	{"endless", "while true do end ", false, CALL_USEC},
	{"slow", "for i = 1, %d do end ", true, CALL_USEC},
	{"long steps", COLLIDE, false, STEP_USEC},
};

struct all {
	struct place_rig *places;
	struct offer_rig *offers;
	int loops; /* that take a millisecond */
};

static int loops_of_a_millisecond(void)
{
	static const char text[] =
		"return { api = 1, kind = 'qos', name = 'x', rules = { loop = function() "
		"for i = 1, 20000 do end return 1 end }, tick = function() return {} end }";
	struct neap_policy *policy = NULL;
	struct neap_error err;
	json_t *input = json_object(), *result;
	int64_t took = INT64_MAX;

	assert_int_equal(neap_policy_load(text, strlen(text), "x", &policy, &err), 0);
	for (int i = 0; i < 20; i++) {
		int64_t from = neap_budget_clock_usec(), now;

		assert_int_equal(
			neap_policy_call_rule(policy, "loop", input, &result, &err), 0);
		json_decref(result);
		now = neap_budget_clock_usec();
		took = now - from < took ? now - from : took;
	}
	json_decref(input);
	neap_policy_free(policy);
	return (int)(20000 * 1000 / (took > 0 ? took : 1));
}

static void put_all(struct all *all, const char *loop)
{
	char name[16], body[1024], text[1200];
	struct neap_policy *policy = NULL;
	struct neap_error err;

	for (int i = 0; i < EACH; i++) {
		(void)snprintf(name, sizeof(name), "p%d", i);
		(void)snprintf(body, sizeof(body),
			       "plan = function() %s return { { column = "
			       "'free_share.cpu' } } end",
			       loop);
		place_put(all->places, "score", name, i, body);
		(void)snprintf(body, sizeof(body),
			       "allow = function(ctx, pod, node) %s return true end",
			       loop);
		place_put(all->places, "filter", name, i, body);
		(void)snprintf(text, sizeof(text),
			       "return { api = 1, kind = 'filter', name = '%s', %s }",
			       name, body);
		assert_int_equal(
			neap_policy_load(text, strlen(text), "p.lua", &policy, &err), 0);
		place_slot(all->places, "filter", name)->shadow =
			neap_shadow_new_take(policy, 0);
		(void)snprintf(body, sizeof(body),
			       "match = function() %s return true end", loop);
		offer_put(all->offers, name, i, body);
	}
}

/* Offers of a reservation, then where the pod goes, as the scheduler asks; what it cost.
 * The purse is that of the places. */
static int64_t decide(struct all *all, struct neap_pod *pod)
{
	struct offer_rig *offers = all->offers;
	struct neap_reserve *reserve = offer_reserve(offers, offer_json("{'name':'r'}"),
						     offer_json("[{'object':{}}]"));
	struct neap_choice choice;
	struct neap_error err;
	int64_t from;
	int rc;

	neap_purse_fill(&all->places->purse);
	from = neap_budget_clock_usec();
	offers->pod = pod;
	offers->purse = all->places->purse;
	offers->matcher->begin(offers->matcher->arg, offers->resources, pod, OFFER_NOW,
			       true, &offers->asked);
	for (int i = 0; i < OFFERS; i++)
		(void)offer_match(offers, reserve, true);
	all->places->purse = offers->purse;
	rc = neap_decide_pod(all->places->decide, pod, &choice, &err);
	from = neap_budget_clock_usec() - from;
	neap_reserve_unref(reserve);
	assert_int_equal(rc, 1);
	return from;
}

static uint64_t calls_of(struct neap_registry *registry, const char *kind)
{
	uint64_t calls = 0;

	for (size_t i = 0; i < neap_registry_count(registry); i++) {
		const struct neap_registry_slot *slot = neap_registry_get(registry, i);

		if (strcmp(neap_policy_kind(slot->policy)->name, kind) == 0)
			calls += slot->stats.calls;
	}
	return calls;
}

static void test_decision(void **state)
{
	int64_t measure = steps_measure_usec();
	int loops = loops_of_a_millisecond();

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct all all = {.places = place_new(), .offers = offer_new()};
		int64_t most = neap_budget_scale(PURSE_USEC), step = rows[i].step_usec;
		struct neap_pod *pod;
		char body[300];
		int64_t took;

		place_add_nodes(all.places, 4);
		(void)snprintf(body, sizeof(body), rows[i].body, loops);
		put_all(&all, body);
		pod = cluster_pod(
			neap_cluster_resources(all.places->cluster), "pod", "'labels':{}",
			"{'containers':[{'resources':{'requests':{'cpu':'1'}}}]}", "{}");
		most += neap_budget_scale(step);
		if (step == STEP_USEC && measure > MEASURE_USEC)
			most = most * measure / MEASURE_USEC;
		took = decide(&all, pod);
		print_message("# %s: %lld us of at most %lld\n", rows[i].name,
			      (long long)took, (long long)most);
		assert_true(took <= most);
		/* What one kind uses up is not what the others are there for. */
		if (rows[i].is_slow) {
			assert_true(calls_of(all.offers->registry, "reservation") > 0);
			assert_true(calls_of(all.places->registry, "filter") > 0);
			assert_true(calls_of(all.places->registry, "score") > 0);
		}
		neap_pod_unref(pod);
		all.offers->pod = NULL;
		offer_free(all.offers);
		place_free(all.places);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decision),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
