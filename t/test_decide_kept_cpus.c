/* SPDX-License-Identifier: Apache-2.0
 *
 * CPUs and NUMA amounts that are kept: for those whom they are kept for first, and for
 * nobody else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "t/lib/cpus_rig.h"
#include "t/lib/kept_rig.h"

#define ITEMS 4

struct row {
	const char *name;
	int numa_nodes; /* of 8 CPUs, siblings are neighbours */
	struct kept_reservation kept[ITEMS];
	struct kept_pod pods[ITEMS];
	struct kept_pod pod;
	const char *want;
};

#define LSR "'koordinator.sh/qosClass':'LSR','koordinator.sh/priority-class':'koord-prod'"
#define HAS(cpus)                                                                        \
	KEPT_NOTE("resource-status", "{" QUOTE "cpuset" QUOTE ":" QUOTE cpus QUOTE "}")
/* With so much of a NUMA node. */
#define HAS_OF(cpus, node, amount)                                                       \
	KEPT_NOTE("resource-status",                                                     \
		  "{" QUOTE "cpuset" QUOTE ":" QUOTE cpus QUOTE "," QUOTE                \
		  "numaNodeResources" QUOTE ":[{" QUOTE "node" QUOTE ":" node "," QUOTE  \
		  "resources" QUOTE ":{" QUOTE "cpu" QUOTE ":" QUOTE amount QUOTE        \
		  "}}]}")
/* No CPUs of its own, and so much of both NUMA nodes. */
#define HAS_BOTH(a, b)                                                                   \
	KEPT_NOTE("resource-status",                                                     \
		  "{" QUOTE "numaNodeResources" QUOTE ":[{" QUOTE "node" QUOTE           \
		  ":0," QUOTE "resources" QUOTE ":{" QUOTE "cpu" QUOTE ":" QUOTE a QUOTE \
		  "}},{" QUOTE "node" QUOTE ":1," QUOTE "resources" QUOTE ":{" QUOTE     \
		  "cpu" QUOTE ":" QUOTE b QUOTE "}}]}")
#define BEST                                                                             \
	KEPT_NOTE("numa-topology-spec",                                                  \
		  "{" QUOTE "numaTopologyPolicy" QUOTE ":" QUOTE "BestEffort" QUOTE "}")
#define SINGLE                                                                           \
	KEPT_NOTE("numa-topology-spec", "{" QUOTE "numaTopologyPolicy" QUOTE ":" QUOTE   \
					"SingleNUMANode" QUOTE "}")
#define SPREAD                                                                           \
	KEPT_NOTE("resource-spec", "{" QUOTE "requiredCPUBindPolicy" QUOTE ":" QUOTE     \
				   "SpreadByPCPUs" QUOTE "}")
#define IGNORES "'" KEPT_KEY "reservation-ignored':'true'," LSR
#define OWNER   APP "," LSR

static const struct row rows[] = {
	{"its CPUs",
	 1,
	 {{"r", "a", CPU("4"), ALIGNED, .notes = HAS("4-7")}},
	 {{0}},
	 {"p", NULL, CPU("4"), OWNER},
	 "a r 4-7"},
	{"... of one without a policy",
	 1,
	 {{"r", "a", CPU("4"), .notes = HAS("4-7")}},
	 {{0}},
	 {"p", NULL, CPU("4"), OWNER},
	 "a r 4-7"},
	{"... of a restricted one",
	 1,
	 {{"r", "a", CPU("4"), RESTRICTED, .notes = HAS("4-7")}},
	 {{0}},
	 {"p", NULL, CPU("4"), OWNER},
	 "a r 4-7"},
	{"some of them",
	 1,
	 {{"r", "a", CPU("4"), ALIGNED, .notes = HAS("4-7")}},
	 {{0}},
	 {"p", NULL, CPU("2"), OWNER},
	 "a r 4-5"},
	{"those that no owner has",
	 1,
	 {{"r", "a", CPU("4"), ALIGNED "," MANY, .notes = HAS("4-7")}},
	 {{"o", "a", CPU("2"), OWNER, KEPT_USES("r") "," HAS("4-5")}},
	 {"p", NULL, CPU("2"), OWNER},
	 "a r 6-7"},
	{"... of a restricted one",
	 1,
	 {{"r", "a", CPU("4"), RESTRICTED "," MANY, .notes = HAS("4-7")}},
	 {{"o", "a", CPU("2"), OWNER, KEPT_USES("r") "," HAS("4-5")}},
	 {"p", NULL, CPU("2"), OWNER},
	 "a r 6-7"},
	{"those first, and of the node",
	 1,
	 {{"r", "a", CPU("4"), ALIGNED, .notes = HAS("4-7")}},
	 {{0}},
	 {"p", NULL, CPU("6"), OWNER},
	 "a r 0-1,4-7"},
	{"... but not of a restricted one",
	 1,
	 {{"r", "a", CPU("4"), RESTRICTED, .notes = HAS("4-7")}},
	 {{0}},
	 {"p", NULL, CPU("6"), OWNER, MUST},
	 ONE("Reservation(s) Insufficient cpu")},
	{"one that has lost some",
	 1,
	 {{"r", "a", CPU("4"), RESTRICTED, .notes = HAS("4-7")}},
	 {{"i", "a", CPU("2"), IGNORES, HAS("4-5")}},
	 {"p", NULL, CPU("4"), OWNER, MUST},
	 "Reservation(s) not enough cpus available to satisfy request"},
	{"... and the node has others",
	 1,
	 {{"r", "a", CPU("4"), ALIGNED, .notes = HAS("4-7")}},
	 {{"i", "a", CPU("2"), IGNORES, HAS("4-5")}},
	 {"p", NULL, CPU("4"), OWNER, MUST},
	 "a r 0-1,6-7"},
	{"nobody else's",
	 1,
	 {{"r", "a", CPU("4"), ALIGNED, .notes = HAS("0-3")}},
	 {{0}},
	 {"p", NULL, CPU("4"), LSR},
	 "a 4-7"},
	{"... as long as it is there",
	 1,
	 {{"r", "a", CPU("4"), ALIGNED, .notes = HAS("0-3"), .phase = "Succeeded"}},
	 {{0}},
	 {"p", NULL, CPU("4"), LSR},
	 "a 0-3"},
	{"... but its owner's, when it has succeeded",
	 1,
	 {{"r", "a", CPU("4"), ALIGNED, .notes = HAS("0-3"), .phase = "Succeeded"}},
	 {{"o", "a", CPU("2"), OWNER, KEPT_USES("r") "," HAS("0-1")}},
	 {"p", NULL, CPU("4"), LSR},
	 "a 2-5"},
	{"of two only one's",
	 1,
	 {{"r", "a", CPU("4"), RESTRICTED, .notes = HAS("0-1,4-5")},
	  {"s", "a", CPU("4"), RESTRICTED, .notes = HAS("2-3,6-7")}},
	 {{0}},
	 {"p", NULL, CPU("4"), OWNER},
	 "a r 0-1,4-5"},
	{"... also when both could give",
	 1,
	 {{"r", "a", CPU("2"), ALIGNED, .notes = HAS("0-1")},
	  {"s", "a", CPU("4"), ALIGNED, .notes = HAS("2-5")}},
	 {{0}},
	 {"p", NULL, CPU("4"), OWNER},
	 "a s 2-5"},
	{"who ignores them takes any, and owns none",
	 1,
	 {{"r", "a", CPU("4"), RESTRICTED, .notes = HAS("0-3")}},
	 {{0}},
	 {"p", NULL, CPU("8"), IGNORES},
	 "a 0-7"},
	{"... but not what owners have",
	 1,
	 {{"r", "a", CPU("4"), RESTRICTED "," MANY, .notes = HAS("0-3")}},
	 {{"o", "a", CPU("2"), OWNER, KEPT_USES("r") "," HAS("0-1")}},
	 {"p", NULL, CPU("6"), IGNORES},
	 "a 2-7"},
	{"who wants none of its own gets none",
	 1,
	 {{"r", "a", CPU("4"), ALIGNED, .notes = HAS("4-7")}},
	 {{0}},
	 {"p", NULL, CPU("4"), APP},
	 "a r"},
	{"as the pod wants them",
	 1,
	 {{"r", "a", CPU("4"), ALIGNED, .notes = HAS("4-7")}},
	 {{0}},
	 {"p", NULL, CPU("2"), OWNER, SPREAD},
	 "a r 4,6"},
	{"one that keeps amounts and no CPUs",
	 1,
	 {{"r", "a", CPU("4"), ALIGNED}},
	 {{0}},
	 {"p", NULL, CPU("4"), OWNER},
	 "a r 0-3"},
	{"of its NUMA node",
	 2,
	 {{"r", "a", CPU("4"), RESTRICTED, .notes = HAS_OF("8-11", "1", "4")}},
	 {{0}},
	 {"p", NULL, CPU("2"), OWNER, SINGLE},
	 "a r 8-9"},
	{"... where it has enough left",
	 2,
	 {{"r", "a", CPU("8"), RESTRICTED "," MANY, .notes = HAS_OF("8-15", "1", "8")}},
	 {{"o", "a", CPU("4"), OWNER, KEPT_USES("r") "," HAS_OF("8-11", "1", "4")},
	  {"m", "a", CPU("8"), LSR, HAS_OF("0-7", "0", "8")}},
	 {"p", NULL, CPU("4"), OWNER, SINGLE},
	 "a r 12-15"},
	{"amounts of both",
	 2,
	 {{"r", "a", CPU("8"), RESTRICTED, .notes = HAS_BOTH("4", "4")}},
	 {{"m", "a", CPU("4"), NULL, HAS_BOTH("0", "4")}},
	 {"p", NULL, CPU("6"), APP, BEST "," MUST},
	 "a r"},
	{"... of which somebody who ignores them has taken some",
	 2,
	 {{"r", "a", CPU("8"), RESTRICTED, .notes = HAS_BOTH("4", "4")}},
	 {{"m", "a", CPU("4"), NULL, HAS_BOTH("0", "4")},
	  {"i", "a", CPU("4"), "'" KEPT_KEY "reservation-ignored':'true'",
	   HAS_BOTH("0", "4")}},
	 {"p", NULL, CPU("6"), APP, BEST "," MUST},
	 "Reservation(s) Insufficient NUMA cpu"},
	{"amounts of a NUMA node are kept",
	 2,
	 {{"r", "a", CPU("6"), RESTRICTED, .notes = HAS_OF("8-13", "1", "6")}},
	 {{"m", "a", CPU("6"), LSR, HAS_OF("0-5", "0", "6")}},
	 {"p", NULL, CPU("4"), LSR, SINGLE},
	 ONE("Unaligned NUMA Hint cause cpu prefer [11] among [11]")},
};

static void add_machine(struct kept_rig *rig, int numa_nodes)
{
	const struct cpus_machine machine = {numa_nodes, 4, 2, NULL, NULL};
	char room[64];

	(void)snprintf(room, sizeof(room), "'cpu':'%d','pods':'110'", numa_nodes * 8);
	(void)cpus_set_topology(rig->cluster, "a", &machine);
	(void)cluster_set_node(rig->cluster, "a", "", "{}", room);
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		const struct row *row = &rows[i];
		struct kept_rig *rig = kept_new();
		const char *answer;

		add_machine(rig, row->numa_nodes);
		for (size_t n = 0; n < ITEMS && row->kept[n].name; n++)
			(void)kept_set(rig, &row->kept[n]);
		for (size_t n = 0; n < ITEMS && row->pods[n].name; n++)
			(void)kept_set_pod(rig, &row->pods[n]);
		answer = kept_place(rig, &row->pod, true);
		if (strcmp(answer, row->want) != 0)
			fail_msg("%s: '%s', want '%s'", row->name, answer, row->want);
		kept_free(rig);
	}
}

/* A Reservation is given CPUs as a pod is; they are counted from the decision on, and go
 * from hand to hand. */
static void test_hands(void **state)
{
	struct kept_rig *rig = kept_new();
	const struct kept_reservation waits = {"r", NULL, CPU("4"), MANY,
					       .template_labels = LSR},
				      placed = {"r",
						"a",
						CPU("4"),
						MANY,
						.notes = HAS("0-3"),
						.template_labels = LSR};
	const struct kept_pod p = {"p", NULL, CPU("2"), OWNER},
			      p_bound = {"p", "a", CPU("2"), OWNER,
					 KEPT_USES("r") "," HAS("0-1")},
			      m = {"m", NULL, CPU("4"), LSR};

	(void)state;
	add_machine(rig, 1);
	(void)kept_set(rig, &waits);
	assert_string_equal(
		kept_decide(rig, neap_cluster_find_stand(rig->cluster, "r"), true),
		"a 0-3");
	assert_int_equal(cpus_refs(rig->cluster, "a", 0), 1);
	(void)kept_set(rig, &placed);
	assert_int_equal(cpus_refs(rig->cluster, "a", 0), 1);
	assert_string_equal(kept_place(rig, &p, true), "a r 0-1");
	assert_int_equal(cpus_refs(rig->cluster, "a", 0), 2);
	assert_int_equal(cpus_refs(rig->cluster, "a", 2), 1);
	(void)kept_set_pod(rig, &p_bound);
	assert_string_equal(kept_place(rig, &m, true), "a 4-7");
	/* The owner goes, and they are kept again. */
	(void)kept_remove_pod(rig, "p");
	assert_int_equal(cpus_refs(rig->cluster, "a", 0), 1);
	(void)kept_remove_pod(rig, "m");
	assert_string_equal(kept_place(rig, &m, false), "a 4-7");
	/* It goes, and its owner stays. */
	(void)kept_set_pod(rig, &p_bound);
	kept_remove(rig, "r");
	assert_int_equal(cpus_refs(rig->cluster, "a", 0), 1);
	assert_int_equal(cpus_refs(rig->cluster, "a", 2), 0);
	assert_string_equal(kept_place(rig, &m, false), "a 2-5");
	kept_free(rig);
}

/* One that waited for room holds what it is given then, before anybody has written it. */
static void test_given(void **state)
{
	struct kept_rig *rig = kept_new();
	const struct kept_reservation waits = {"r", "a", CPU("4"), .phase = "Waiting",
					       .template_labels = LSR};
	const struct kept_pod p = {"p", NULL, CPU("4"), LSR};
	struct neap_cluster_node *node;
	struct neap_claim *claim = NULL;
	struct neap_pod *stand;
	struct neap_error err;

	(void)state;
	add_machine(rig, 1);
	(void)kept_set(rig, &waits);
	stand = neap_cluster_find_stand(rig->cluster, "r");
	node = neap_cluster_lift(rig->cluster, stand);
	assert_int_equal(neap_decide_claim(rig->decide, stand, node->row, &claim, &err),
			 1);
	neap_cluster_put_back(rig->cluster, stand, node);
	assert_int_equal(cpus_refs(rig->cluster, "a", 0), 0);
	assert_int_equal(neap_cluster_give(rig->cluster, stand, claim, &err), 0);
	assert_int_equal(cpus_refs(rig->cluster, "a", 0), 1);
	assert_string_equal(kept_place(rig, &p, false), "a 4-7");
	/* It could not be written. */
	neap_cluster_take_back(rig->cluster, stand);
	assert_int_equal(cpus_refs(rig->cluster, "a", 0), 0);
	assert_string_equal(kept_place(rig, &p, true), "a 0-3");
	/* And somebody has come between. */
	assert_int_equal(neap_cluster_give(rig->cluster, stand, claim, &err),
			 -NEAP_ECONFLICT);
	assert_int_equal(cpus_refs(rig->cluster, "a", 0), 1);
	neap_claim_free(claim);
	kept_free(rig);
}

/* What may help where the amounts were enough and the CPUs were not, and the node alone
 * would not do. */
static void test_wakes(void **state)
{
	struct kept_rig *rig = kept_new();
	const struct kept_reservation r = {"r", "a", CPU("6"), RESTRICTED,
					   .notes = HAS("2-7")};
	const struct kept_pod i = {"i", "a", CPU("2"), IGNORES, HAS("4-5")},
			      p = {"p", NULL, CPU("5"), OWNER};

	(void)state;
	add_machine(rig, 1);
	(void)kept_set(rig, &r);
	(void)kept_set_pod(rig, &i);
	assert_string_equal(
		kept_place(rig, &p, true),
		"Reservation(s) not enough cpus available to satisfy request");
	assert_int_equal(neap_decide_wakes(rig->decide),
			 NEAP_MOVED_NODE_ADDED | NEAP_MOVED_RESERVATION |
				 NEAP_MOVED_ROOM | NEAP_MOVED_POD_GONE | NEAP_MOVED_CPUS);
	kept_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_hands),
		cmocka_unit_test(test_given),
		cmocka_unit_test(test_wakes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
