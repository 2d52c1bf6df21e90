/* SPDX-License-Identifier: Apache-2.0
 *
 * Decisions about Reservations, and one decision after the other: what was decided counts
 * before anybody hears of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "t/lib/kept_rig.h"

#define ITEMS 5
#define TAKES RESTRICTED ",'preAllocation':true"
/* A pod of 3 CPUs that will be on node a. */
#define MADE_ROOM(priority)                                                              \
	{                                                                                \
		"n", NULL, CPU("3"), .spec = "'priority':" priority,                     \
				     .status = "'nominatedNodeName':'a'"                 \
	}
#define OPERATING "'" KEPT_KEY "operating-mode':'Reservation'"
#define NO_ROOM   "0/2 nodes are available: 2 Insufficient cpu by node."

/* --- Reservations that are to be placed --- */

struct place_row {
	const char *name;
	struct kept_reservation kept[ITEMS]; /* the first is to be placed */
	struct kept_pod pods[ITEMS];
	const char *want;
};

/* On nodes a and b of 4 CPUs. */
static const struct place_row place_rows[] = {
	{"where there is room", {{"r", NULL, CPU("3")}}, {{"m", "a", CPU("2")}}, "b"},
	{"nowhere",
	 {{"r", NULL, CPU("5")}},
	 {{0}},
	 "0/2 nodes are available: 2 Insufficient cpu."},
	{"where its template says",
	 {{"r", NULL, CPU("1"), .template = "'nodeName':'b'"}},
	 {{"m", "b", CPU("2")}},
	 "b"},
	{"... or nowhere",
	 {{"r", NULL, CPU("3"), .template = "'nodeName':'b'"}},
	 {{"m", "b", CPU("2")}},
	 "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match the "
	 "nodeName specified by reservation."},
	{"by its template's selector",
	 {{"r", NULL, CPU("1"), .template = "'nodeSelector':{'is':'b'}"}},
	 {{"m", "b", CPU("2")}},
	 "b"},
	{"not beside one that has a policy",
	 {{"r", NULL, CPU("1")}, {"s", "a", CPU("1"), ALIGNED}},
	 {{"m", "b", CPU("2")}},
	 "b"},
	{"... and one with a policy not beside one without",
	 {{"r", NULL, CPU("1"), RESTRICTED}, {"s", "a", CPU("1")}},
	 {{"m", "b", CPU("2")}},
	 "b"},
	{"... as it says when that is all",
	 {{"r", NULL, CPU("1"), RESTRICTED}, {"s", "a", CPU("1")}, {"t", "b", CPU("1")}},
	 {{0}},
	 "0/2 nodes are available: 2 node(s) reservation allocate policy conflict."},
	{"... nor one without a policy beside a pod in operating mode, before it is ready",
	 {{"r", NULL, CPU("1")}},
	 {{"m", "b", CPU("2")}, {"o", "a", CPU("1"), OPERATING}},
	 "b"},
	{"... but one with a policy",
	 {{"r", NULL, CPU("1"), RESTRICTED}},
	 {{"m", "b", CPU("4")}, {"o", "a", CPU("1"), OPERATING}},
	 "a"},
	{"different policies do not mind",
	 {{"r", NULL, CPU("1"), RESTRICTED}, {"s", "a", CPU("1"), ALIGNED}},
	 {{"m", "b", CPU("3")}},
	 "a"},
	{"others' keep theirs, as their owner does not ask",
	 {{"r", NULL, CPU("2"), .labels = APP}, {"s", "a", CPU("3"), MANY}},
	 {{"m", "b", CPU("3")}},
	 "0/2 nodes are available: 2 Insufficient cpu."},
	{"as much as it will keep",
	 {{"r", NULL, CPU("1"),
	   .notes = KEPT_NOTE("reservation-resize-allocatable",
			      "{" QUOTE "resources" QUOTE ":{" QUOTE "cpu" QUOTE ":" QUOTE
			      "3" QUOTE "}}")}},
	 {{"m", "a", CPU("2")}},
	 "b"},
	{"... or less",
	 {{"r", NULL, CPU("9"),
	   .notes = KEPT_NOTE("reservation-resize-allocatable",
			      "{" QUOTE "resources" QUOTE ":{" QUOTE "cpu" QUOTE ":" QUOTE
			      "3" QUOTE "}}")}},
	 {{"m", "a", CPU("2")}},
	 "b"},
	{"... or cannot be read",
	 {{"r", NULL, CPU("1"),
	   .notes = KEPT_NOTE("reservation-resize-allocatable", "{")}},
	 {{0}},
	 "annotation scheduling.koordinator.sh/reservation-resize-allocatable: string or "
	 "'}' expected near end of file"},
	{"with the room of a pod that it takes over",
	 {{"r", NULL, CPU("4"), TAKES}},
	 {{"m", "b", CPU("1")}, {"o", "a", CPU("4"), APP}},
	 "a"},
	{"... that was told so before, for nothing",
	 {{"r", NULL, CPU("4"), TAKES}},
	 {{"m", "b", CPU("1")}, {"o", "a", CPU("4"), APP, KEPT_USES("r")}},
	 "a"},
	{"... but not of one that says that it uses another, be that gone",
	 {{"r", NULL, CPU("4"), TAKES}},
	 {{"m", "b", CPU("1")}, {"o", "a", CPU("4"), APP, KEPT_USES("gone")}},
	 NO_ROOM},
	{"... with its place, where all have been given out",
	 {{"r", NULL, "'cpu':'2'", TAKES, .template = "'nodeSelector':{'is':'c'}"}},
	 {{"m", "c", CPU("1")}, {"o", "c", CPU("2"), APP}},
	 "c"},
	{"... which one that it does not take over keeps",
	 {{"r", NULL, "'cpu':'1'", TAKES, .template = "'nodeSelector':{'is':'c'}"}},
	 {{"m", "c", CPU("1")}, {"o", "c", CPU("1")}},
	 "0/3 nodes are available: 1 Insufficient pods by node, 2 node(s) didn't match "
	 "Pod's node affinity/selector."},
	{"room that is made for a more important pod is not taken",
	 {{"r", NULL, CPU("4"), TAKES, .template = "'priority':5"}},
	 {{"m", "b", CPU("1")}, MADE_ROOM("10")},
	 NO_ROOM},
	{"... nor with that of a pod that it takes over",
	 {{"r", NULL, CPU("4"), TAKES, .template = "'priority':5"}},
	 {{"m", "b", CPU("1")}, {"o", "a", CPU("2"), APP}, MADE_ROOM("10")},
	 NO_ROOM},
	{"... that of a less important one is",
	 {{"r", NULL, CPU("4"), TAKES, .template = "'priority':5"}},
	 {{"m", "b", CPU("1")}, {"o", "a", CPU("2"), APP}, MADE_ROOM("4")},
	 "a"},
};

static struct kept_rig *start(const struct kept_reservation *kept,
			      const struct kept_pod *pods)
{
	struct kept_rig *rig = kept_new();

	(void)cluster_set_node(rig->cluster, "a", "'labels':{'is':'a'}", "{}",
			       "'cpu':'4','pods':'110'");
	(void)cluster_set_node(rig->cluster, "b", "'labels':{'is':'b'}", "{}",
			       "'cpu':'4','pods':'110'");
	/* Of few places; only where a row speaks of it. */
	for (size_t i = 0; i < ITEMS && pods[i].name; i++)
		if (pods[i].node && strcmp(pods[i].node, "c") == 0)
			(void)cluster_set_node(rig->cluster, "c", "'labels':{'is':'c'}",
					       "{}", "'cpu':'4','pods':'2'");
	for (size_t i = 0; i < ITEMS && kept[i].name; i++)
		(void)kept_set(rig, &kept[i]);
	for (size_t i = 0; i < ITEMS && pods[i].name; i++)
		(void)kept_set_pod(rig, &pods[i]);
	return rig;
}

static void test_places(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(place_rows); i++) {
		const struct place_row *row = &place_rows[i];
		struct kept_rig *rig = start(row->kept, row->pods);
		const char *answer = kept_decide(
			rig, neap_cluster_find_stand(rig->cluster, row->kept[0].name),
			false);

		if (strcmp(answer, row->want) != 0)
			fail_msg("%s: '%s', want '%s'", row->name, answer, row->want);
		kept_free(rig);
	}
}

/* --- one after the other --- */

/* What was decided counts at once, before anybody writes or hears of it. */
static void test_assumed(void **state)
{
	struct kept_rig *rig = kept_new();
	const struct kept_reservation once = {"r", "a", CPU("4")},
				      many = {"s", "a", CPU("4"), MANY};
	const struct kept_pod p = {"p", NULL, CPU("3"), APP},
			      q = {"q", NULL, CPU("3"), APP},
			      t = {"t", NULL, CPU("1"), APP, MUST},
			      u = {"u", NULL, CPU("4"), APP, MUST},
			      p_bound = {"p", "a", CPU("3"), APP, KEPT_USES("r")};

	(void)state;
	(void)cluster_set_node(rig->cluster, "a", "", "{}", "'cpu':'8','pods':'110'");
	(void)kept_set(rig, &once);
	(void)kept_set(rig, &many);
	assert_string_equal(kept_place(rig, &p, true), "a r");
	assert_int_equal(kept_used(rig, "a", "cpu"), 8000);
	/* Once is once, also when it is not known yet. */
	assert_string_equal(kept_place(rig, &q, true), "a s");
	assert_string_equal(kept_place(rig, &t, true), "a s");
	assert_string_equal(kept_place(rig, &u, false), ONE("Insufficient cpu"));
	assert_int_equal(kept_used(rig, "a", "cpu"), 8000);
	/* One binding was refused. */
	neap_cluster_forget(rig->cluster,
			    neap_cluster_find_pod(rig->cluster, "default", "q"));
	assert_int_equal(kept_used(rig, "a", "cpu"), 8000);
	assert_string_equal(kept_place(rig, &q, true), "a s");
	/* The other is seen; then its reservation has done its work. */
	(void)kept_set_pod(rig, &p_bound);
	assert_int_equal(kept_used(rig, "a", "cpu"), 8000);
	(void)kept_set(rig, &(struct kept_reservation){"r", "a", CPU("4"),
						       .phase = "Succeeded"});
	assert_int_equal(kept_used(rig, "a", "cpu"), 7000);
	assert_string_equal(
		kept_place(rig, &(struct kept_pod){"v", NULL, CPU("1")}, false), "a");
	kept_free(rig);
}

/* What stands for one that is on its way counts, and is not used. */
static void test_assumed_reservation(void **state)
{
	struct kept_rig *rig = kept_new();
	const struct kept_reservation waits = {"r", NULL, CPU("3")},
				      placed = {"r", "a", CPU("3")};
	const struct kept_pod p = {"p", NULL, CPU("2"), APP};

	(void)state;
	(void)cluster_set_node(rig->cluster, "a", "", "{}", "'cpu':'4','pods':'110'");
	(void)kept_set(rig, &waits);
	assert_string_equal(
		kept_decide(rig, neap_cluster_find_stand(rig->cluster, "r"), true), "a");
	assert_int_equal(kept_used(rig, "a", "cpu"), 3000);
	assert_string_equal(kept_place(rig, &p, false), ONE("Insufficient cpu"));
	/* It is told again before it is seen where it is. */
	(void)kept_set(rig, &waits);
	assert_int_equal(kept_used(rig, "a", "cpu"), 3000);
	(void)kept_set(rig, &placed);
	assert_int_equal(kept_used(rig, "a", "cpu"), 3000);
	assert_string_equal(kept_place(rig, &p, true), "a r");
	kept_remove(rig, "r");
	assert_int_equal(kept_used(rig, "a", "cpu"), 2000);
	kept_free(rig);
}

/* Its owners stay owners when it is resized, and what is beyond it counts. */
static void test_resized(void **state)
{
	struct kept_rig *rig = kept_new();
	const struct kept_pod o = {"o", "a", CPU("3"), APP, KEPT_USES("r")},
			      p = {"p", NULL, CPU("2"), APP, MUST};

	(void)state;
	(void)cluster_set_node(rig->cluster, "a", "", "{}", "'cpu':'8','pods':'110'");
	(void)kept_set(
		rig, &(struct kept_reservation){"r", "a", CPU("4"), RESTRICTED "," MANY});
	(void)kept_set_pod(rig, &o);
	assert_int_equal(kept_used(rig, "a", "cpu"), 4000);
	assert_string_equal(kept_place(rig, &p, false),
			    ONE("Reservation(s) Insufficient cpu"));
	(void)kept_set(
		rig, &(struct kept_reservation){"r", "a", CPU("6"), RESTRICTED "," MANY});
	assert_int_equal(kept_used(rig, "a", "cpu"), 6000);
	assert_string_equal(kept_place(rig, &p, false), "a r");
	(void)kept_set(
		rig, &(struct kept_reservation){"r", "a", CPU("1"), RESTRICTED "," MANY});
	assert_int_equal(kept_used(rig, "a", "cpu"), 3000);
	(void)kept_remove_pod(rig, "o");
	assert_int_equal(kept_used(rig, "a", "cpu"), 1000);
	kept_free(rig);
}

/* --- what may help one that has no place --- */

#define ZONE(name)                                                                       \
	KEPT_NOTE("reservation-affinity",                                                \
		  "{" QUOTE "reservationSelector" QUOTE ":{" QUOTE "zone" QUOTE          \
		  ":" QUOTE name QUOTE "}}")

static unsigned set_node(struct kept_rig *rig, const char *labels)
{
	return cluster_set_node(rig->cluster, "a", labels, "{}", "'cpu':'4','pods':'9'");
}

static bool is_woken(struct kept_rig *rig, unsigned moved)
{
	return neap_decide_wakes(rig->decide) & moved;
}

/* Labels of the node are those of its reservations. */
static void test_wakes_by_labels(void **state)
{
	struct kept_rig *rig = kept_new();
	const struct kept_pod p = {"p", NULL, CPU("4"), APP, ZONE("z")};

	(void)state;
	(void)set_node(rig, "'labels':{}");
	(void)kept_set(rig, &(struct kept_reservation){"r", "a", CPU("4")});
	assert_string_equal(kept_place(rig, &p, false),
			    ONE("node(s) no reservations match reservation affinity"));
	assert_true(is_woken(rig, set_node(rig, "'labels':{'zone':'z'}")));
	assert_string_equal(kept_place(rig, &p, false), "a r");
	kept_free(rig);
}

/* Pods that can be taken over come, and become so. */
static void test_wakes_to_take_over(void **state)
{
	struct kept_rig *rig = kept_new();
	const struct kept_pod other = {"x", "a", CPU("2")},
			      own = {"x", "a", CPU("2"), APP},
			      more = {"y", "a", CPU("2")};
	unsigned moved;

	(void)state;
	(void)set_node(rig, "'labels':{}");
	(void)kept_set(rig,
		       &(struct kept_reservation){
			       "r", NULL, CPU("2"), TAKES,
			       .labels = "'" KEPT_KEY "pre-allocation-required':'true'"});
	for (int i = 0; i < 2; i++) {
		const struct kept_pod *pod = i ? &own : &other;

		(void)kept_set_pod(rig, i ? &other : &more);
		assert_string_equal(
			kept_decide(rig, neap_cluster_find_stand(rig->cluster, "r"),
				    false),
			ONE("node(s) no pod match reservation with pre allocation "
			    "required"));
		/* Nodes are told again and again. */
		assert_false(is_woken(rig, set_node(rig, "'labels':{}")));
		moved = kept_set_pod(rig, pod);
		assert_true(is_woken(rig, moved & ~(unsigned)NEAP_MOVED_RESERVATION));
	}
	assert_string_equal(
		kept_decide(rig, neap_cluster_find_stand(rig->cluster, "r"), false), "a");
	kept_free(rig);
}

/* Beside a pod in operating mode there may be no Reservation without a policy. */
static void test_leaves_mode(void **state)
{
	static const char refused[] = ONE("node(s) reservation allocate policy conflict");
	struct kept_rig *rig = kept_new();
	struct neap_pod *stand;

	(void)state;
	(void)set_node(rig, "'labels':{}");
	(void)kept_set_pod(rig, &(struct kept_pod){"x", "a", CPU("1"), OPERATING});
	(void)kept_set(rig, &(struct kept_reservation){"r", NULL, CPU("1")});
	stand = neap_cluster_find_stand(rig->cluster, "r");
	assert_string_equal(kept_decide(rig, stand, false), refused);
	assert_true(
		is_woken(rig, kept_set_pod(rig, &(struct kept_pod){"x", "a", CPU("1")})));
	assert_string_equal(kept_decide(rig, stand, false), "a");
	kept_free(rig);
}

/* What a pod does not use any more another may use, be the pod there or not. */
static void test_gives_back(void **state)
{
	struct kept_rig *rig = kept_new();
	const struct kept_pod p = {"p", NULL, CPU("4"), APP, MUST},
			      q = {"q", NULL, CPU("4"), APP, MUST},
			      bound = {"p", "a", CPU("4"), APP, KEPT_USES("r")},
			      free = {"p", "a", CPU("4"), APP};

	(void)state;
	(void)set_node(rig, "'labels':{}");
	(void)kept_set(rig, &(struct kept_reservation){"r", "a", CPU("4")});
	assert_string_equal(kept_place(rig, &p, true), "a r");
	assert_string_equal(kept_place(rig, &q, false),
			    ONE("node(s) no reservations match reservation affinity"));
	assert_true(is_woken(rig, kept_remove_pod(rig, "p")));
	assert_string_equal(kept_place(rig, &p, true), "a r");
	/* Bound where it was to be it gives nothing back. */
	assert_false(kept_set_pod(rig, &bound) & NEAP_MOVED_RESERVATION);
	assert_true(kept_set_pod(rig, &free) & NEAP_MOVED_RESERVATION);
	assert_false(kept_remove_pod(rig, "p") & NEAP_MOVED_RESERVATION);
	kept_free(rig);
}

/* --- points --- */

static void test_points(void **state)
{
	struct kept_rig *rig = kept_new();
	const struct kept_pod p = {"p", NULL, CPU("1"), APP};
	struct neap_verdict verdict;
	struct neap_error err;
	const struct neap_pod *pod;
	uint32_t asked[3];
	int64_t plain[3];

	(void)state;
	for (int i = 0; i < 3; i++) {
		const char *const names[] = {"a", "b", "c"};

		(void)cluster_set_node(rig->cluster, names[i], "", "{}",
				       "'cpu':'8','pods':'110'");
		asked[i] = neap_cluster_find_node(rig->cluster, names[i])->row;
	}
	(void)kept_set(rig, &(struct kept_reservation){"r", "a", CPU("4")});
	(void)kept_set(rig, &(struct kept_reservation){"s", "b", CPU("2")});
	(void)kept_set_pod(rig, &p);
	pod = neap_cluster_find_pod(rig->cluster, "default", "p");
	assert_int_equal(neap_decide_scores(rig->decide, pod, asked, 3, &verdict, &err),
			 0);
	memcpy(plain, verdict.scores, sizeof(plain));
	/* 25 and 50 of a hundred: brought to 50 and 100, by weight 5000. */
	assert_int_equal(plain[1] / 5000, 100);
	assert_int_equal(plain[0] / 5000, 50);
	assert_int_equal(plain[2] / 5000, 0);
	/* The smallest order has a thousand, and the others shrink. */
	(void)kept_set(rig, &(struct kept_reservation){"r", "a", CPU("4"),
						       .labels = ORDER("3")});
	assert_int_equal(neap_decide_scores(rig->decide, pod, asked, 3, &verdict, &err),
			 0);
	assert_int_equal(verdict.scores[0] / 5000, 100);
	assert_int_equal(verdict.scores[1] / 5000, 5);
	assert_int_equal(verdict.scores[2] / 5000, 0);
	kept_free(rig);
}

/* Somebody else's nodes, of which it says why not. */
static void test_chosen_rows(void **state)
{
	struct kept_rig *rig = kept_new();
	const struct kept_pod p = {"p", NULL, CPU("3"), APP, MUST};
	struct neap_verdict verdict;
	struct neap_error err;
	const struct neap_refusal *refusals;
	char buf[128];
	uint32_t asked[2];
	size_t count;

	(void)state;
	(void)cluster_set_node(rig->cluster, "a", "", "{}", "'cpu':'4','pods':'110'");
	(void)cluster_set_node(rig->cluster, "b", "", "{}", "'cpu':'4','pods':'110'");
	asked[0] = neap_cluster_find_node(rig->cluster, "a")->row;
	asked[1] = neap_cluster_find_node(rig->cluster, "b")->row;
	(void)kept_set(rig, &(struct kept_reservation){"r", "b", CPU("4")});
	(void)kept_set_pod(rig, &p);
	assert_int_equal(
		neap_decide_rows(rig->decide,
				 neap_cluster_find_pod(rig->cluster, "default", "p"),
				 asked, 2, &verdict, &err),
		0);
	assert_int_equal(verdict.count, 1);
	assert_int_equal(verdict.rows[0], asked[1]);
	refusals = neap_decide_refusals(rig->decide, &count);
	assert_int_equal(count, 1);
	assert_string_equal(
		neap_decide_reason(rig->decide, refusals[0].code, buf, sizeof(buf)),
		"node(s) no reservations match reservation affinity");
	kept_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_assumed),
		cmocka_unit_test(test_assumed_reservation),
		cmocka_unit_test(test_resized),
		cmocka_unit_test(test_wakes_by_labels),
		cmocka_unit_test(test_wakes_to_take_over),
		cmocka_unit_test(test_leaves_mode),
		cmocka_unit_test(test_gives_back),
		cmocka_unit_test(test_points),
		cmocka_unit_test(test_chosen_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
