/* SPDX-License-Identifier: Apache-2.0
 *
 * Victims that are on their way out are waited for, and no others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/decide/decide.h"
#include "t/lib/cluster_rig.h"

#define ASKS(more, priority)                                                             \
	"{'priority':" priority                                                          \
	",'containers':[{'resources':{'requests':{'cpu':'4'}}}]" more "}"
#define GOING "'deletionTimestamp':'2026-01-01T00:00:00Z'"
#define TARGET(status, reason)                                                           \
	"{'conditions':[{'type':'Ready','status':'True'},{'type':'DisruptionTarget',"    \
	"'status':'" status "','reason':'" reason "'}]}"

/* What is known of the pod where room is made, and how many are to go there. */
static const struct {
	const char *meta, *status;
	bool is_victim; /* it was asked to go before */
	size_t count;
	const char *between; /* a status that came first; NULL: none */
} rows[] = {
	{GOING, "{}", false, 1}, /* by its user */
	{GOING, "{}", true, 0},
	{"", "{}", true, 1},
	{"", TARGET("True", "PreemptionByScheduler"), false, 1},
	{GOING, TARGET("True", "PreemptionByScheduler"), false, 0},
	{GOING, TARGET("False", "PreemptionByScheduler"), false, 1},
	{GOING, TARGET("True", "EvictionByEvictionAPI"), false, 1},
	{GOING, "{'conditions':[{'type':7}]}", false, 1},
	/* It was told why, and goes. */
	{GOING, TARGET("True", "PreemptionByScheduler"), true, 0,
	 TARGET("True", "PreemptionByScheduler")},
	/* It was not asked after all, and its user has it go. */
	{GOING, "{}", true, 1, "{}"},
};

static void check(size_t row)
{
	struct neap_cluster *cluster = cluster_new();
	const struct neap_decide_config config = {.cluster = cluster};
	struct neap_decide *decide = NULL;
	struct neap_victims victims = {0};
	struct neap_choice choice = {0};
	struct neap_error err = {0};
	struct neap_pod *pod;

	(void)cluster_set_node(cluster, "a", "", "{}", "'cpu':'4','pods':'9'");
	(void)cluster_set_pod(cluster, "new", "", ASKS("", "100"),
			      "{'nominatedNodeName':'a'}");
	(void)cluster_set_pod(cluster, "low", "", ASKS(",'nodeName':'a'", "1"), "{}");
	if (rows[row].is_victim)
		neap_cluster_mark_victim(
			neap_cluster_find_pod(cluster, "default", "low"));
	if (rows[row].between)
		(void)cluster_set_pod(cluster, "low", "", ASKS(",'nodeName':'a'", "1"),
				      rows[row].between);
	(void)cluster_set_pod(cluster, "low", rows[row].meta,
			      ASKS(",'nodeName':'a'", "1"), rows[row].status);
	pod = neap_cluster_find_pod(cluster, "default", "new");
	assert_int_equal(neap_decide_new(&config, &decide, &err), 0);
	assert_int_equal(neap_decide_pod(decide, pod, &choice, &err), 0);
	assert_int_equal(neap_decide_preempt(decide, pod, &victims, &err), 1);
	if (victims.count != rows[row].count)
		fail_msg("row %zu: %zu and not %zu", row, victims.count, rows[row].count);
	neap_decide_free(decide);
	neap_cluster_free(cluster);
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		check(i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
