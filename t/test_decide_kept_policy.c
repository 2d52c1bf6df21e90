/* SPDX-License-Identifier: Apache-2.0
 *
 * Reservations in a decision of which policies speak: which is taken, and what a pod is
 * told. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "t/lib/kept_rig.h"

/* As a policy that opens all. */
struct policy {
	enum neap_reserve_rule rule;
	bool is_closed; /* it opens none */
	bool has_rank;
	const char *ranked; /* this one gets 90, the others nothing; NULL: none does */
	struct neap_reserve_matcher matcher;
};

static void begin(void *arg, const struct neap_resources *resources,
		  const struct neap_pod *pod, int64_t now_usec, bool is_choice,
		  struct neap_reserve_asked *ret)
{
	const struct policy *policy = arg;

	(void)resources;
	(void)pod;
	(void)now_usec;
	(void)is_choice;
	*ret = (struct neap_reserve_asked){.rule = policy->rule,
					   .has_rank = policy->has_rank};
}

static bool match(void *arg, const struct neap_reserve_offer *offer,
		  struct neap_reserve_verdict *ret)
{
	(void)offer;
	ret->is_open = !((const struct policy *)arg)->is_closed;
	return true;
}

static int rank(void *arg, const struct neap_reserve_offer *offer)
{
	const struct policy *policy = arg;

	return policy->ranked && strcmp(policy->ranked, offer->reserve->object->name) == 0
		       ? 90
		       : -1;
}

static struct kept_rig *start(struct policy *policy)
{
	struct kept_rig *rig = kept_new();
	struct neap_decide_config config = {.percentage = 100,
					    .cluster = rig->cluster,
					    .book = rig->book,
					    .matcher = &policy->matcher};
	struct neap_error err = {0};

	policy->matcher = (struct neap_reserve_matcher){policy, begin, match, rank};
	neap_decide_free(rig->decide);
	rig->decide = NULL;
	assert_int_equal(neap_decide_new(&config, &rig->decide, &err), 0);
	(void)cluster_set_node(rig->cluster, "a", "", "{}",
			       "'cpu':'4','memory':'8','pods':'110'");
	return rig;
}

/* --- between nodes --- */

static const struct {
	const char *name;
	struct policy policy;
	const char *want;
} order_rows[] = {
	{"the order, where nobody ranks", {NEAP_RESERVE_NARROWED}, "b s"},
	{"... or says nothing of any", {NEAP_RESERVE_NARROWED, .has_rank = true}, "b s"},
	{"who ranks has the last word",
	 {NEAP_RESERVE_NARROWED, .has_rank = true, .ranked = "r"},
	 "a r"},
	{"... of the one that is first anyway",
	 {NEAP_RESERVE_NARROWED, .has_rank = true, .ranked = "s"},
	 "b s"},
};

static void test_order(void **state)
{
	static const struct kept_reservation r = {"r", "a", CPU("2"), MANY, ORDER("5")},
					     s = {"s", "b", CPU("4"), MANY, ORDER("1")};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(order_rows); i++) {
		struct policy policy = order_rows[i].policy;
		struct kept_rig *rig = start(&policy);
		const char *answer;

		(void)cluster_set_node(rig->cluster, "b", "", "{}",
				       "'cpu':'4','pods':'110'");
		(void)kept_set(rig, &r);
		(void)kept_set(rig, &s);
		answer = kept_place(rig, &(struct kept_pod){"p", NULL, CPU("1"), APP},
				    false);
		if (strcmp(answer, order_rows[i].want) != 0)
			fail_msg("%s: '%s', want '%s'", order_rows[i].name, answer,
				 order_rows[i].want);
		kept_free(rig);
	}
}

/* --- what is full --- */

#define FULL                                                                             \
	{                                                                                \
		"r", "a", CPU("2"), RESTRICTED "," MANY                                  \
	}
#define USED                                                                             \
	{                                                                                \
		"o", "a", CPU("1"), APP, KEPT_USES("r")                                  \
	}
#define IS_FULL ONE("Reservation(s) Insufficient cpu")

static const struct {
	const char *name;
	struct policy policy;
	struct kept_reservation kept[KEPT_ITEMS];
	struct kept_pod pods[KEPT_ITEMS];
	struct kept_pod pod;
	const char *want;
	bool wakes; /* the end of a pod is waited for */
} full_rows[] = {
	{"owners alone",
	 {NEAP_RESERVE_BY_OWNERS},
	 {FULL},
	 {USED},
	 {"p", NULL, CPU("2"), APP, MUST},
	 IS_FULL,
	 true},
	{"a policy that would open it",
	 {NEAP_RESERVE_NARROWED},
	 {FULL},
	 {USED},
	 {"p", NULL, CPU("2"), APP, MUST},
	 IS_FULL,
	 true},
	{"one that decides in the owners' place",
	 {NEAP_RESERVE_REPLACED},
	 {FULL},
	 {USED},
	 {"p", NULL, CPU("2"), NULL, MUST},
	 IS_FULL,
	 true},
	{"... which would not take the pod",
	 {NEAP_RESERVE_NARROWED},
	 {FULL},
	 {USED},
	 {"p", NULL, CPU("2"), NULL, MUST},
	 ONE("node(s) no reservations match reservation affinity")},
	{"two of them",
	 {NEAP_RESERVE_NARROWED},
	 {FULL, {"s", "a", CPU("1") ",'memory':'2'", RESTRICTED "," MANY}},
	 {USED},
	 {"p", NULL, CPU("2") ",'memory':'3'", APP, MUST},
	 "0/1 nodes are available: 1 Reservation(s) Insufficient memory, 2 "
	 "Reservation(s) Insufficient cpu.",
	 true},
	{"... as owners alone have it",
	 {NEAP_RESERVE_BY_OWNERS},
	 {FULL, {"s", "a", CPU("1") ",'memory':'2'", RESTRICTED "," MANY}},
	 {USED},
	 {"p", NULL, CPU("2") ",'memory':'3'", APP, MUST},
	 "0/1 nodes are available: 1 Reservation(s) Insufficient memory, 2 "
	 "Reservation(s) Insufficient cpu.",
	 true},
	{"beside one that has room",
	 {NEAP_RESERVE_NARROWED},
	 {FULL, {"s", "a", CPU("2"), RESTRICTED "," MANY}},
	 {USED},
	 {"p", NULL, CPU("2"), APP, MUST},
	 "a s"},
	{"a pod that need not use one",
	 {NEAP_RESERVE_NARROWED},
	 {FULL},
	 {USED},
	 {"p", NULL, CPU("2"), APP},
	 "a"},
	{"... and finds what is kept given away",
	 {NEAP_RESERVE_NARROWED},
	 {FULL},
	 {USED},
	 {"p", NULL, CPU("3"), APP},
	 ONE("Insufficient cpu")},
};

static void test_full(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(full_rows); i++) {
		struct policy policy = full_rows[i].policy;
		struct kept_rig *rig = start(&policy);
		const char *answer;

		for (size_t n = 0; full_rows[i].kept[n].name; n++)
			(void)kept_set(rig, &full_rows[i].kept[n]);
		for (size_t n = 0; full_rows[i].pods[n].name; n++)
			(void)kept_set_pod(rig, &full_rows[i].pods[n]);
		answer = kept_place(rig, &full_rows[i].pod, false);
		if (strcmp(answer, full_rows[i].want) != 0)
			fail_msg("%s: '%s', want '%s'", full_rows[i].name, answer,
				 full_rows[i].want);
		if (full_rows[i].wakes &&
		    !(neap_decide_wakes(rig->decide) & NEAP_MOVED_POD_GONE))
			fail_msg("%s: nobody wakes it", full_rows[i].name);
		kept_free(rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
