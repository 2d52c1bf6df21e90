/* SPDX-License-Identifier: Apache-2.0
 *
 * What a pod is told of the reservations of a node: the words agree with what is decided,
 * and telling changes nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/decide/report.h"
#include "engine/decide/settings.h"
#include "t/lib/kept_rig.h"

/* "NAME: used|first|open|WHY", with "; " between. In a static buffer. */
static const char *offers(struct kept_rig *rig, struct neap_decide *decide,
			  const char *pod, const char *node)
{
	static char text[2048];
	struct neap_report_offer *list;
	struct neap_error err = {0};
	size_t count, len = 0;

	text[0] = '\0';
	if (neap_decide_offers(decide,
			       neap_cluster_find_pod(rig->cluster, "default", pod),
			       neap_cluster_find_node(rig->cluster, node)->row, &list,
			       &count, &err) < 0)
		fail_msg("%s", err.msg);
	for (size_t i = 0; i < count; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s: %s",
					i ? " | " : "", list[i].reserve->object->name,
					list[i].is_used    ? "used"
					: list[i].is_first ? "first"
					: list[i].is_open  ? "open"
							   : list[i].why);
	free(list);
	return text;
}

static const struct {
	const char *name;
	struct kept_reservation kept[KEPT_ITEMS];
	struct kept_pod pods[KEPT_ITEMS];
	struct kept_pod pod;
	const char *want;
	const char *placed; /* as kept_decide has it */
} rows[] = {
	{"of two with room the fuller one is taken",
	 {{"big", "a", CPU("4"), ""}, {"fit", "a", CPU("2"), ""}},
	 {{0}},
	 {"p", NULL, CPU("2"), APP},
	 "big: open | fit: first",
	 "a fit"},
	{"owners",
	 {{"r", "a", CPU("4"), ""}},
	 {{0}},
	 {"p", NULL, CPU("1"), "'app':'y'"},
	 "r: its owners do not name the pod",
	 "a"},
	{"for one pod",
	 {{"r", "a", CPU("4"), ""}},
	 {{"has", "a", CPU("1"), APP, KEPT_USES("r")}},
	 {"p", NULL, CPU("1"), APP},
	 "r: it is for one pod, and has it (allocateOnce)",
	 "a"},
	{"the one that has it",
	 {{"r", "a", CPU("4"), ""}},
	 {{0}},
	 {"p", "a", CPU("1"), APP, KEPT_USES("r")},
	 "r: used",
	 NULL},
	{"waiting",
	 {{.name = "r",
	   .node = "a",
	   .requests = CPU("4"),
	   .spec = "",
	   .phase = "Waiting"}},
	 {{0}},
	 {"p", NULL, CPU("1"), APP},
	 "r: it waits for room",
	 "a"},
	{"closed",
	 {{"r", "a", CPU("4"), "'unschedulable':true"}},
	 {{0}},
	 {"p", NULL, CPU("1"), APP},
	 "r: it takes no new owners",
	 "a"},
	{"taints, where the pod says anything of reservations",
	 {{"r", "a", CPU("4"), "'taints':[{'key':'k','effect':'NoSchedule'}]"}},
	 {{0}},
	 {"p", NULL, CPU("1"), APP, MUST},
	 "r: it has a taint that the pod's reservation-affinity does not tolerate",
	 ONE("node(s) no reservations match reservation affinity")},
	{"another name",
	 {{"r", "a", CPU("4"), ""}},
	 {{0}},
	 {"p", NULL, CPU("1"), APP,
	  KEPT_NOTE("reservation-affinity",
		    "{" QUOTE "name" QUOTE ":" QUOTE "s" QUOTE "}")},
	 "r: the pod names another one",
	 ONE("node(s) no reservations match reservation affinity")},
	{"selectors",
	 {{"r", "a", CPU("4"), ""}},
	 {{0}},
	 {"p", NULL, CPU("1"), APP,
	  KEPT_NOTE("reservation-affinity",
		    "{" QUOTE "reservationSelector" QUOTE ":{" QUOTE "x" QUOTE ":" QUOTE
		    "y" QUOTE "}}")},
	 "r: the pod's reservation-affinity does not select it",
	 ONE("node(s) no reservations match reservation affinity")},
	{"exact amounts",
	 {{"r", "a", CPU("4"), ""}},
	 {{0}},
	 {"p", NULL, CPU("1"), APP,
	  KEPT_NOTE("exact-match-reservation",
		    "{" QUOTE "resourceNames" QUOTE ":[" QUOTE "cpu" QUOTE "]}")},
	 "r: it has not exactly the amounts that the pod asks for",
	 "a"},
	{"no room in it",
	 {{"r", "a", CPU("4"), RESTRICTED "," MANY}},
	 {{"has", "a", CPU("3"), APP, KEPT_USES("r")}},
	 {"p", NULL, CPU("2"), APP, MUST},
	 "r: Reservation(s) Insufficient cpu",
	 ONE("Reservation(s) Insufficient cpu")},
};

static struct kept_rig *make(size_t row)
{
	struct kept_rig *rig = kept_new();

	(void)cluster_set_node(rig->cluster, "a", "", "{}", "'cpu':'8','pods':'110'");
	for (size_t i = 0; i < KEPT_ITEMS && rows[row].kept[i].name; i++)
		(void)kept_set(rig, &rows[row].kept[i]);
	for (size_t i = 0; i < KEPT_ITEMS && rows[row].pods[i].name; i++)
		(void)kept_set_pod(rig, &rows[row].pods[i]);
	(void)kept_set_pod(rig, &rows[row].pod);
	return rig;
}

static void test_words(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct kept_rig *rig = make(i);
		int64_t used = kept_used(rig, "a", "cpu");
		const char *text = offers(rig, rig->decide, "p", "a");

		if (strcmp(text, rows[i].want) != 0)
			fail_msg("%s: %s", rows[i].name, text);
		assert_int_equal(kept_used(rig, "a", "cpu"), used);
		if (rows[i].placed) {
			text = kept_decide(
				rig, neap_cluster_find_pod(rig->cluster, "default", "p"),
				false);
			if (strcmp(text, rows[i].placed) != 0)
				fail_msg("%s: placed: %s", rows[i].name, text);
		}
		kept_free(rig);
	}
}

/* --- with a policy --- */

static const struct neap_reserve_pair pair = {"team", "team"};

static void begin(void *arg, const struct neap_resources *resources,
		  const struct neap_pod *pod, int64_t now_usec, bool is_choice,
		  struct neap_reserve_asked *ret)
{
	(void)arg;
	(void)resources;
	(void)pod;
	(void)now_usec;
	(void)is_choice;
	*ret = (struct neap_reserve_asked){
		.rule = NEAP_RESERVE_NARROWED, .pairs = &pair, .pair_count = 1};
}

static bool match(void *arg, const struct neap_reserve_offer *offer,
		  struct neap_reserve_verdict *ret)
{
	(void)arg;
	*ret = (struct neap_reserve_verdict){
		.is_open = strcmp(offer->reserve->object->name, "open") == 0 ||
			   strcmp(offer->reserve->object->name, "full") == 0,
		.reason = strcmp(offer->reserve->object->name, "night") == 0
				  ? "at night only"
				  : NULL};
	return true;
}

static void test_policy(void **state)
{
	static const struct neap_reserve_matcher matcher = {NULL, begin, match, NULL};
	static const char *const red = "'team':'red'";
	const struct kept_reservation kept[] = {
		{"night", "a", CPU("1"), "", red},
		{"open", "a", CPU("1"), "", red},
		{"other", "a", CPU("1"), ""},
		{"full", "a", CPU("0"), RESTRICTED "," MANY, red},
		{"silent", "a", CPU("1"), "", red}};
	struct kept_rig *rig = kept_new();
	struct neap_decide_config config = {
		.cluster = rig->cluster, .book = rig->book, .matcher = &matcher};
	struct neap_decide *decide = NULL;
	struct neap_error err = {0};

	(void)state;
	assert_int_equal(neap_decide_new(&config, &decide, &err), 0);
	(void)cluster_set_node(rig->cluster, "a", "", "{}", "'cpu':'8','pods':'110'");
	for (size_t i = 0; i < NEAP_ARRAY_LEN(kept); i++)
		(void)kept_set(rig, &kept[i]);
	(void)kept_set_pod(rig,
			   &(struct kept_pod){"p", NULL, CPU("1"), APP ",'team':'red'"});
	assert_string_equal(
		offers(rig, decide, "p", "a"),
		"full: it has no room | night: at night only | open: first | other: "
		"labels that a policy "
		"compares are not the same | silent: a policy does not open it");
	neap_decide_free(decide);
	kept_free(rig);
}

/* A profile without the filter uses none, and nobody gets what is kept. */
static void test_off(void **state)
{
	struct neap_settings *settings = neap_settings_new();
	struct kept_rig *rig = kept_new();
	struct neap_decide_config config = {
		.cluster = rig->cluster, .book = rig->book, .settings = settings};
	struct neap_choice choice;
	struct neap_error err = {0};

	(void)state;
	assert_non_null(settings);
	settings->filters_off |= UINT64_C(1) << neap_settings_find_filter("Reservation");
	neap_decide_free(rig->decide);
	rig->decide = NULL;
	assert_int_equal(neap_decide_new(&config, &rig->decide, &err), 0);
	(void)neap_settings_unref(settings);
	(void)cluster_set_node(rig->cluster, "a", "", "{}", "'cpu':'8','pods':'110'");
	(void)kept_set(rig, &(struct kept_reservation){"r", "a", CPU("6"), ""});
	(void)kept_set_pod(rig, &(struct kept_pod){"p", NULL, CPU("2"), APP});
	(void)kept_set_pod(rig, &(struct kept_pod){"q", NULL, CPU("3"), APP});
	assert_string_equal(offers(rig, rig->decide, "p", "a"), "");
	assert_string_equal(
		kept_decide(rig, neap_cluster_find_pod(rig->cluster, "default", "p"),
			    false),
		"a");
	assert_int_equal(
		neap_decide_pod(rig->decide,
				neap_cluster_find_pod(rig->cluster, "default", "q"),
				&choice, &err),
		0);
	kept_free(rig);
}

/* Of a large cluster a part is looked at, but always the nodes with something for the
 * pod. */
static void test_is_found(void **state)
{
	struct neap_settings *settings = neap_settings_new();
	struct kept_rig *rig = kept_new();
	struct neap_decide_config config = {
		.cluster = rig->cluster, .book = rig->book, .settings = settings};
	struct neap_error err = {0};
	char name[16];

	(void)state;
	assert_non_null(settings);
	settings->percentage = 10;
	neap_decide_free(rig->decide);
	rig->decide = NULL;
	assert_int_equal(neap_decide_new(&config, &rig->decide, &err), 0);
	(void)neap_settings_unref(settings);
	for (int i = 0; i < 400; i++) {
		(void)snprintf(name, sizeof(name), "n%d", i);
		(void)cluster_set_node(rig->cluster, name, "", "{}",
				       "'cpu':'8','pods':'110'");
	}
	(void)kept_set(rig, &(struct kept_reservation){"r", "n399", CPU("2"), ""});
	(void)kept_set(rig, &(struct kept_reservation){"s", "n200", CPU("4"), ""});
	(void)kept_set_pod(rig, &(struct kept_pod){"p", NULL, CPU("2"), APP});
	for (int i = 0; i < 5; i++)
		assert_string_equal(
			kept_decide(rig,
				    neap_cluster_find_pod(rig->cluster, "default", "p"),
				    false),
			"n399 r");
	kept_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_policy),
		cmocka_unit_test(test_off),
		cmocka_unit_test(test_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
