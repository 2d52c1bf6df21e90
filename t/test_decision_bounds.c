/* SPDX-License-Identifier: Apache-2.0
 *
 * Which decisions are recorded: those that choose a node. And how much of one: it is made
 * on the loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/decide/report.h"
#include "engine/json/json.h"
#include "lua/replay/decisions.h"
#include "t/lib/place_rig.h"

#define NOW INT64_C(1700000000000000)

static size_t frames_of(const struct place_rig *rig)
{
	return neap_decisions_count(rig->decisions);
}

/* --- who asks --- */

static void test_who_asks(void **state)
{
	static const uint32_t rows[] = {0, 1, 2};
	struct place_rig *rig = place_new();
	struct neap_verdict verdict;
	struct neap_choice choice;
	struct neap_report report;
	struct neap_error err;
	struct neap_pod *pod;

	(void)state;
	place_add_nodes(rig, 3);
	place_put(rig, "filter", "p", 0,
		  "needs = {}, allow = function() return true end");
	(void)cluster_set_pod(rig->cluster, "p", "", "{'containers':[]}", "{}");
	pod = neap_cluster_find_pod(rig->cluster, "default", "p");
	neap_decide_set_now(rig->decide, NOW);
	/* explain, and an extender that asks for nobody's choice. */
	assert_int_equal(neap_decide_report(rig->decide, pod, &report, &err), 0);
	neap_report_done(&report);
	assert_int_equal(neap_decide_rows(rig->decide, pod, rows, 3, &verdict, &err), 0);
	assert_int_equal(neap_decide_scores(rig->decide, pod, rows, 3, &verdict, &err),
			 0);
	assert_int_equal(frames_of(rig), 0);
	/* A kube-scheduler's. */
	neap_decide_set_choice(rig->decide, true);
	assert_int_equal(neap_decide_rows(rig->decide, pod, rows, 3, &verdict, &err), 0);
	neap_decide_set_choice(rig->decide, false);
	assert_int_equal(frames_of(rig), 1);
	/* neap's own, which is over when it is made. */
	assert_int_equal(neap_decide_pod(rig->decide, pod, &choice, &err), 1);
	assert_int_equal(frames_of(rig), 2);
	assert_int_equal(neap_decide_report(rig->decide, pod, &report, &err), 0);
	neap_report_done(&report);
	assert_int_equal(frames_of(rig), 2);
	place_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_asks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
