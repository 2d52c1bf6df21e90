/* SPDX-License-Identifier: Apache-2.0
 *
 * Who would have to go where there are reservations: what an owner leaves is its reservation's. */
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
	static char text[256];
	struct neap_victims victims = {0};
	struct neap_choice choice;
	struct neap_error err = {0};
	struct neap_pod *found;
	int rc;

	kept_set_pod(rig, pod);
	found = neap_cluster_find_pod(rig->cluster, "default", pod->name);
	assert_int_equal(neap_decide_pod(rig->decide, found, &choice, &err), 0);
	rc = neap_decide_preempt(rig->decide, found, &victims, &err);
	assert_true(rc >= 0);
	text[0] = '\0';
	for (size_t i = 0; rc > 0 && i < victims.count; i++)
		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
			       i ? " " : "", victims.pods[i]->object->name);
	return text;
}

static void test_preempt(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(preempt_rows); i++) {
		const struct preempt_row *row = &preempt_rows[i];
		struct kept_rig *rig = kept_new();
		const char *victims;
		int64_t used;

		(void)cluster_set_node(rig->cluster, "a", "", "{}",
				       "'cpu':'4','pods':'110'");
		for (size_t n = 0; n < ITEMS && row->kept[n].name; n++)
			(void)kept_set(rig, &row->kept[n]);
		for (size_t n = 0; n < ITEMS && row->pods[n].name; n++)
			kept_set_pod(rig, &row->pods[n]);
		used = kept_used(rig, "a", "cpu");
		victims = victims_of(rig, &row->pod);
		if (strcmp(victims, row->want) != 0)
			fail_msg("%s: '%s', want '%s'", row->name, victims, row->want);
		/* All are in their places again. */
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
	const struct neap_pod *stand;

	(void)state;
	(void)cluster_set_node(rig->cluster, "a", "", "{}", "'cpu':'4','pods':'110'");
	(void)kept_set(rig, &(struct kept_reservation){"r", NULL, CPU("4")});
	kept_set_pod(rig,
		     &(struct kept_pod){"m", "a", CPU("4"), NULL, NULL, PRIORITY("1")});
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
		cmocka_unit_test(test_reservation_preempts_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
