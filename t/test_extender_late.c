/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests whose time is over: what is answered, and that nothing is left behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <event2/event.h>

#include "t/lib/extender_rig.h"

/* When time is over at once, and when there is some. */
static void test_late(void **state)
{
	static const char *const names =
		"{" POD ",'NodeNames':['node-0','node-1','node-2']}";
	static const char *const candidates =
		"{" POD
		",'NodeNameToMetaVictims':{'node-1':{'Pods':[]},'node-2':{'Pods':[]}}}";
	static const struct {
		const char *ask;
		const char *late[5], *timely[5];
	} rows[] = {
		{FILTER,
		 {"Error~no time: 0 of 3 nodes", "!NodeNames"},
		 {"Error=", "#NodeNames=2"}},
		{PRIORITIZE,
		 {"0.Host=node-0", "0.Score=10", "1.Score=10", "2.Score=10"},
		 {"0.Host=node-0", "1.Score=0", "2.Score=10"}},
		/* node-1 is too small, which nobody looked at. */
		{PREEMPT,
		 {"#NodeNameToMetaVictims.node-1.Pods=0",
		  "#NodeNameToMetaVictims.node-2.Pods=0"},
		 {"!NodeNameToMetaVictims.node-1",
		  "#NodeNameToMetaVictims.node-2.Pods=0"}},
	};
	struct kube_rig *rig = *state;
	char uid[64];

	(void)snprintf(uid, sizeof(uid), "%s", extender_pod_uid(rig, "p", "1", false));
	for (int is_late = 1; is_late >= 0; is_late--)
		for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
			extender_step_usec = is_late ? DEADLINE_USEC : 0;
			assert_int_equal(extender_ask_as(rig, rows[i].ask,
							 i < 2 ? names : candidates, uid),
					 200);
			extender_must_be(rig, rows[i].ask,
					 is_late ? rows[i].late : rows[i].timely);
		}
	/* The scheduler's own loop is in no hurry afterwards. */
	extender_step_usec = DEADLINE_USEC;
	schedule_add_pod(rig, "own", "", "'cpu':'1'", "");
	assert_non_null(schedule_wait_node(rig, "own"));
	extender_step_usec = 0;
}

/* One score after the other is asked, so that some are known when time is over. */
static void test_some_scores(void **state)
{
	static const char *const names = "{" POD ",'NodeNames':['node-0','node-2']}";
	struct kube_rig *rig = *state;
	int with_scores = 0;
	char uid[64];

	(void)snprintf(uid, sizeof(uid), "%s", extender_pod_uid(rig, "p", "1", false));
	for (int looks = 1; looks < 24; looks++) {
		extender_step_usec = DEADLINE_USEC / looks;
		assert_int_equal(extender_ask_as(rig, PRIORITIZE, names, uid), 200);
		extender_must_be(rig, "names",
				 (const char *const[]){"0.Host=node-0", "1.Host=node-2",
						       "1.Score=10", NULL});
		with_scores += kube_differs(rig->body, "0.Score=10") != NULL;
	}
	/* node-2 has more room, which the third score knows. */
	assert_in_range(with_scores, 12, 22);
	extender_step_usec = 0;
}

/* The answer comes without the store's, and the binding after it. */
static void test_late_binding(void **state)
{
	struct kube_rig *rig = *state;
	char uid[64];

	(void)snprintf(uid, sizeof(uid), "%s", extender_pod_uid(rig, "p", "1", false));
	(void)event_del(rig->heard);
	assert_int_equal(extender_bind(rig, uid, "node-0"), 200);
	extender_must_be(rig, "late",
			 (const char *const[]){
				 "Error~no time: the binding is not on disk yet", NULL});
	assert_int_equal(event_add(rig->heard, NULL), 0);
	for (int i = 0; i < 4000; i++) {
		assert_int_equal(extender_bind(rig, uid, "node-0"), 200);
		if (!kube_differs(rig->body, "Error="))
			break;
		/* Meanwhile it is told so. */
		extender_must_be(rig, "again",
				 (const char *const[]){
					 "Error~is being bound to node node-0", NULL});
	}
	assert_int_equal(kube_ask(rig, "GET " SCHEDULE_PODS "/p", NULL), 200);
	assert_string_equal(kube_text(rig->body, "spec.nodeName"), "node-0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_late, extender_setup,
						extender_teardown),
		cmocka_unit_test_setup_teardown(test_some_scores, extender_setup,
						extender_teardown),
		cmocka_unit_test_setup_teardown(test_late_binding, extender_setup_binder,
						extender_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
