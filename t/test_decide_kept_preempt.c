/* SPDX-License-Identifier: Apache-2.0
 *
 * Who would have to go where there are reservations: what an owner leaves is its
 * reservation's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "t/lib/kept_rig.h"

#define ITEMS 5

/* --- making room --- */

struct preempt_row {
	const char *name;
	struct kept_reservation kept[ITEMS];
	struct kept_pod pods[ITEMS];
	struct kept_pod pod;
	const char *want; /* victims; "" for none */
};

#define PRIORITY(n) "'priority':" n

/* On one node of 4 CPUs. */
static const struct preempt_row preempt_rows[] = {
	{"an owner of it goes for another",
	 {{"r", "a", CPU("4"), RESTRICTED "," MANY}},
	 {{"o", "a", CPU("4"), APP, KEPT_USES("r"), PRIORITY("1")}},
	 {"p", NULL, CPU("4"), APP, MUST, PRIORITY("9")},
	 "o"},
	{"... who need not have one",
	 {{"r", "a", CPU("4"), RESTRICTED "," MANY}},
	 {{"o", "a", CPU("4"), APP, KEPT_USES("r"), PRIORITY("1")}},
	 {"p", NULL, CPU("4"), APP, NULL, PRIORITY("9")},
	 "o"},
	{"only as many as must",
	 {{"r", "a", CPU("4"), RESTRICTED "," MANY}},
	 {{"o", "a", CPU("1"), APP, KEPT_USES("r"), PRIORITY("2")},
	  {"q", "a", CPU("3"), APP, KEPT_USES("r"), PRIORITY("1")}},
	 {"p", NULL, CPU("2"), APP, MUST, PRIORITY("9")},
	 "q"},
	{"what an owner leaves is not anybody's",
	 {{"r", "a", CPU("4"), RESTRICTED "," MANY}},
	 {{"o", "a", CPU("4"), APP, KEPT_USES("r"), PRIORITY("1")}},
	 {"p", NULL, CPU("1"), NULL, NULL, PRIORITY("9")},
	 ""},
	{"other pods' going does not help a full one",
	 {{"r", "a", CPU("2"), RESTRICTED "," MANY}},
	 {{"o", "a", CPU("2"), APP, KEPT_USES("r"), PRIORITY("99")},
	  {"m", "a", CPU("2"), NULL, NULL, PRIORITY("1")}},
	 {"p", NULL, CPU("2"), APP, MUST, PRIORITY("9")},
	 ""},
	{"... but the node",
	 {{"r", "a", CPU("2"), RESTRICTED "," MANY}},
	 {{"o", "a", CPU("2"), APP, KEPT_USES("r"), PRIORITY("99")},
	  {"m", "a", CPU("2"), NULL, NULL, PRIORITY("1")}},
	 {"p", NULL, CPU("2"), APP, NULL, PRIORITY("9")},
	 "m"},
	{"a reservation never goes",
	 {{"r", "a", CPU("4"), .template = PRIORITY("1")}},
	 {{0}},
	 {"p", NULL, CPU("1"), NULL, NULL, PRIORITY("9")},
	 ""},
	{"nor one that is spared",
	 {{0}},
	 {{"m", "a", CPU("4"), "'" KEPT_KEY "disable-preemptible':'true'", NULL,
	   PRIORITY("1")}},
	 {"p", NULL, CPU("1"), NULL, NULL, PRIORITY("9")},
	 ""},
	{"nor an owner of as much importance",
	 {{"r", "a", CPU("4"), RESTRICTED "," MANY}},
	 {{"o", "a", CPU("4"), APP, KEPT_USES("r"), PRIORITY("9")}},
	 {"p", NULL, CPU("4"), APP, MUST, PRIORITY("9")},
	 ""},
};

static const char *victims_of(struct kept_rig *rig, const struct kept_pod *pod)
{
	struct neap_decide *decide = rig->decide;
	static char text[256];
	struct neap_victims victims = {0};
	struct neap_choice choice;
	struct neap_error err = {0};
	struct neap_pod *found;
	int rc;

	(void)kept_set_pod(rig, pod);
	found = neap_cluster_find_pod(rig->cluster, "default", pod->name);
	assert_int_equal(neap_decide_pod(decide, found, &choice, &err), 0);
	rc = neap_decide_preempt(decide, found, &victims, &err);
	assert_true(rc >= 0);
	text[0] = '\0';
	for (size_t i = 0; rc > 0 && i < victims.count; i++)
		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
			       i ? " " : "", victims.pods[i]->object->name);
	return text;
}

static struct kept_rig *set_up(const struct kept_reservation *kept,
			       const struct kept_pod *pods)
{
	struct kept_rig *rig = kept_new();

	(void)cluster_set_node(rig->cluster, "a", "", "{}", "'cpu':'4','pods':'110'");
	for (size_t n = 0; n < ITEMS && kept[n].name; n++)
		(void)kept_set(rig, &kept[n]);
	for (size_t n = 0; n < ITEMS && pods[n].name; n++)
		(void)kept_set_pod(rig, &pods[n]);
	return rig;
}

static void check_victims(struct kept_rig *rig, const char *name,
			  const struct kept_pod *pod, const char *want)
{
	int64_t used = kept_used(rig, "a", "cpu");
	const char *victims = victims_of(rig, pod);

	if (strcmp(victims, want) != 0)
		fail_msg("%s: '%s', want '%s'", name, victims, want);
	/* All are in their places again. */
	assert_int_equal(kept_used(rig, "a", "cpu"), used);
}

static void test_preempt(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(preempt_rows); i++) {
		const struct preempt_row *row = &preempt_rows[i];
		struct kept_rig *rig = set_up(row->kept, row->pods);

		check_victims(rig, row->name, &row->pod, row->want);
		kept_free(rig);
	}
}

/* --- with policies --- */

static const struct neap_reserve_pair by_team = {"team", "team"};

/* As a policy that opens one of this name; NULL: every one. */
struct policy {
	enum neap_reserve_rule rule;
	const char *opens;
	bool is_paired;
	int fails_at; /* this call; 0: none */
	int64_t again_usec;
	int calls;
};

static void policy_begin(void *arg, const struct neap_resources *resources,
			 const struct neap_pod *pod, int64_t now_usec, bool is_choice,
			 struct neap_reserve_asked *ret)
{
	struct policy *policy = arg;

	(void)resources;
	(void)pod;
	(void)now_usec;
	(void)is_choice;
	*ret = (struct neap_reserve_asked){
		.rule = policy->rule, .pairs = &by_team, .pair_count = policy->is_paired};
}

static bool policy_match(void *arg, const struct neap_reserve_offer *offer,
			 struct neap_reserve_verdict *ret)
{
	struct policy *policy = arg;

	policy->calls++;
	*ret = (struct neap_reserve_verdict){
		.is_open = !policy->opens ||
			   strcmp(policy->opens, offer->reserve->object->name) == 0,
		.again_usec = policy->again_usec};
	return policy->calls != policy->fails_at;
}

/* Its decisions ask this one from now on. */
static void ask_policy(struct kept_rig *rig, struct policy *policy,
		       struct neap_reserve_matcher *matcher)
{
	struct neap_decide_config config = {.percentage = 100,
					    .cluster = rig->cluster,
					    .book = rig->book,
					    .matcher = matcher};
	struct neap_error err = {0};

	*matcher =
		(struct neap_reserve_matcher){policy, policy_begin, policy_match, NULL};
	neap_decide_free(rig->decide);
	rig->decide = NULL;
	assert_int_equal(neap_decide_new(&config, &rig->decide, &err), 0);
}

/* A policy that says what the owners say changes nothing. */
static void test_policy_as_owners(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(preempt_rows); i++) {
		const struct preempt_row *row = &preempt_rows[i];
		struct kept_rig *rig = set_up(row->kept, row->pods);
		struct policy policy = {NEAP_RESERVE_NARROWED};
		struct neap_reserve_matcher matcher;
		struct neap_buf texts[2];

		for (int n = 0; n < 2; n++) {
			neap_buf_init(&texts[n], NEAP_BUF_LINE);
			if (n == 1)
				ask_policy(rig, &policy, &matcher);
			check_victims(rig, row->name, &row->pod, row->want);
			neap_decide_explain(rig->decide, &texts[n]);
		}
		assert_string_equal(texts[0].data, texts[1].data);
		neap_buf_done(&texts[0]);
		neap_buf_done(&texts[1]);
		kept_free(rig);
	}
}

#define FULL                                                                             \
	{                                                                                \
		"r", "a", CPU("4"), RESTRICTED "," MANY, "'team':'red'"                  \
	}
#define LOW                                                                              \
	{                                                                                \
		"o", "a", CPU("4"), APP, KEPT_USES("r"), PRIORITY("1")                   \
	}
#define HIGH                                                                             \
	{                                                                                \
		"p", NULL, CPU("4"), APP ",'team':'red'", MUST, PRIORITY("9")            \
	}
#define BLUE                                                                             \
	{                                                                                \
		"p", NULL, CPU("4"), "'team':'blue'," APP, MUST, PRIORITY("9")           \
	}
#define ELSE                                                                             \
	{                                                                                \
		"p", NULL, CPU("4"), "'team':'red'", MUST, PRIORITY("9")                 \
	}

static const struct {
	const char *name;
	struct policy policy;
	struct kept_reservation kept[ITEMS];
	struct kept_pod pods[ITEMS];
	struct kept_pod pod;
	const char *want; /* victims */
	int calls;
} policy_rows[] = {
	{"it is asked once", {NEAP_RESERVE_NARROWED}, {FULL}, {LOW}, HIGH, "o", 1},
	{"one that it does not open",
	 {NEAP_RESERVE_NARROWED, "other"},
	 {FULL},
	 {LOW},
	 HIGH,
	 "",
	 1},
	{"whom owners do not take it is not asked about",
	 {NEAP_RESERVE_NARROWED},
	 {FULL},
	 {LOW},
	 ELSE,
	 "",
	 0},
	{"... but in their place",
	 {NEAP_RESERVE_REPLACED, .is_paired = true},
	 {FULL},
	 {LOW},
	 ELSE,
	 "o",
	 1},
	{"labels that it compares",
	 {NEAP_RESERVE_NARROWED, .is_paired = true},
	 {FULL},
	 {LOW},
	 BLUE,
	 "",
	 0},
	{"... that are the same",
	 {NEAP_RESERVE_NARROWED, .is_paired = true},
	 {FULL},
	 {LOW},
	 HIGH,
	 "o",
	 1},
	{"one with room is asked about in the decision, the full one here",
	 {NEAP_RESERVE_NARROWED, "r"},
	 {{"r", "a", CPU("2"), RESTRICTED "," MANY},
	  {"s", "a", CPU("2"), RESTRICTED "," MANY}},
	 {{"o", "a", CPU("2"), APP, KEPT_USES("r"), PRIORITY("1")}},
	 {"p", NULL, CPU("2"), APP, MUST, PRIORITY("9")},
	 "o",
	 2},
	{"when it fails, owners decide",
	 {NEAP_RESERVE_NARROWED, "other", .fails_at = 1},
	 {FULL},
	 {LOW},
	 HIGH,
	 "o",
	 1},
	{"a pod that takes of all of them",
	 {NEAP_RESERVE_NARROWED, "other"},
	 {FULL},
	 {LOW},
	 {"p", NULL, CPU("4"), "'" KEPT_KEY "reservation-ignored':'true'", NULL,
	  PRIORITY("9")},
	 "o",
	 0},
	{"one that is not restricted is asked about in the decision alone",
	 {NEAP_RESERVE_NARROWED},
	 {{"r", "a", CPU("4"), MANY}},
	 {LOW},
	 HIGH,
	 "o",
	 1},
	{"one for one pod, which it has",
	 {NEAP_RESERVE_NARROWED},
	 {{"r", "a", CPU("4"), RESTRICTED}},
	 {LOW},
	 HIGH,
	 "",
	 0},
};

static void test_policies(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(policy_rows); i++) {
		struct kept_rig *rig = set_up(policy_rows[i].kept, policy_rows[i].pods);
		struct policy policy = policy_rows[i].policy;
		struct neap_reserve_matcher matcher;

		ask_policy(rig, &policy, &matcher);
		check_victims(rig, policy_rows[i].name, &policy_rows[i].pod,
			      policy_rows[i].want);
		if (policy.calls != policy_rows[i].calls)
			fail_msg("%s: asked %d times", policy_rows[i].name, policy.calls);
		kept_free(rig);
	}
}

/* A pod that fits where owners alone decide, as a policy fails late, makes nobody go; it
 * comes back soon. */
static void test_policy_that_fails_late(void **state)
{
	static const struct kept_reservation kept[] = {
		{"r", "a", CPU("2"), RESTRICTED "," MANY},
		{"s", "a", CPU("2"), RESTRICTED "," MANY},
		{0}};
	static const struct kept_pod pods[] = {
		{"o", "a", CPU("2"), APP, KEPT_USES("r"), PRIORITY("1")}, {0}};
	struct kept_rig *rig = set_up(kept, pods);
	struct policy policy = {NEAP_RESERVE_NARROWED, "none", .fails_at = 2};
	struct neap_reserve_matcher matcher;

	(void)state;
	ask_policy(rig, &policy, &matcher);
	neap_decide_set_now(rig->decide, 5000000);
	check_victims(rig, "late",
		      &(struct kept_pod){"p", NULL, CPU("2"), APP, MUST, PRIORITY("9")},
		      "");
	assert_int_equal(neap_decide_again(rig->decide), 6000000);
	kept_free(rig);
}

/* When it may open a full one is known, too. */
static void test_policy_looks_again(void **state)
{
	static const struct kept_reservation kept[] = {FULL, {0}};
	static const struct kept_pod pods[] = {LOW, {0}};
	struct kept_rig *rig = set_up(kept, pods);
	struct policy policy = {NEAP_RESERVE_NARROWED, "none", .again_usec = 7000000};
	struct neap_reserve_matcher matcher;

	(void)state;
	ask_policy(rig, &policy, &matcher);
	check_victims(rig, "again", &(struct kept_pod)HIGH, "");
	assert_int_equal(neap_decide_again(rig->decide), 7000000);
	kept_free(rig);
}

/* Victims that somebody else chose: the same. */
static void test_policy_and_chosen_victims(void **state)
{
	static const struct kept_reservation kept[] = {FULL, {0}};
	static const struct kept_pod pods[] = {LOW, {0}};
	static const char *const opens[] = {NULL, "none"};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(opens); i++) {
		struct kept_rig *rig = set_up(kept, pods);
		struct policy policy = {NEAP_RESERVE_NARROWED, opens[i]};
		struct neap_reserve_matcher matcher;
		struct neap_pod *gone, *pod;
		struct neap_error err = {0};
		int64_t used = kept_used(rig, "a", "cpu");
		uint32_t row;

		ask_policy(rig, &policy, &matcher);
		(void)kept_set_pod(rig, &(struct kept_pod)HIGH);
		gone = neap_cluster_find_pod(rig->cluster, "default", "o");
		pod = neap_cluster_find_pod(rig->cluster, "default", "p");
		row = gone->seat.node->row;
		assert_int_equal(
			neap_decide_without(rig->decide, pod, row, &gone, 1, &err), !i);
		assert_int_equal(
			neap_decide_without(rig->decide, pod, row, &gone, 0, &err), 0);
		assert_int_equal(kept_used(rig, "a", "cpu"), used);
		kept_free(rig);
	}
}

/* Without leave a Reservation makes nobody go. */
static void test_reservation_preempts_nobody(void **state)
{
	struct kept_rig *rig = kept_new();
	struct neap_victims victims = {0};
	struct neap_choice choice;
	struct neap_error err = {0};
	struct neap_pod *stand;

	(void)state;
	(void)cluster_set_node(rig->cluster, "a", "", "{}", "'cpu':'4','pods':'110'");
	(void)kept_set(rig, &(struct kept_reservation){"r", NULL, CPU("4")});
	(void)kept_set_pod(
		rig, &(struct kept_pod){"m", "a", CPU("4"), NULL, NULL, PRIORITY("1")});
	stand = neap_cluster_find_stand(rig->cluster, "r");
	assert_int_equal(stand->priority, INT32_MAX);
	assert_int_equal(neap_decide_pod(rig->decide, stand, &choice, &err), 0);
	assert_int_equal(neap_decide_preempt(rig->decide, stand, &victims, &err), 0);
	kept_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_preempt),
		cmocka_unit_test(test_policy_as_owners),
		cmocka_unit_test(test_policies),
		cmocka_unit_test(test_policy_that_fails_late),
		cmocka_unit_test(test_policy_looks_again),
		cmocka_unit_test(test_policy_and_chosen_victims),
		cmocka_unit_test(test_reservation_preempts_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
