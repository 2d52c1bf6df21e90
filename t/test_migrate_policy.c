/* SPDX-License-Identifier: Apache-2.0
 *
 * Kinds migration and evictor: what scripts may answer, and what becomes of wrong
 * answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/base.h"
#include "engine/json/json.h"
#include "lua/migrate/migrate_policy.h"

static struct neap_policy *load(const char *kind, const char *function, const char *body)
{
	struct neap_error err = {0};
	struct neap_policy *policy = NULL;
	char text[2000];

	(void)snprintf(text, sizeof(text),
		       "return { api = 1, kind = '%s', name = 'p', %s = %s }", kind,
		       function, body);
	if (neap_policy_load(text, strlen(text), "p.lua", &policy, &err) < 0)
		fail_msg("%s", err.msg);
	return policy;
}

static void test_order(void **state)
{
	static const struct {
		const char *body;
		enum neap_tick_verdict verdict;
		size_t want[3];
		const char *error;
	} rows[] = {
		{"function(ctx, jobs) return jobs end", NEAP_TICK_WISHES, {0, 1, 2}, ""},
		{"function(ctx, jobs) return { jobs[3], jobs[1], jobs[2] } end",
		 NEAP_TICK_WISHES,
		 {2, 0, 1},
		 ""},
		{"function(ctx, jobs) return { jobs[1], jobs[2] } end",
		 NEAP_TICK_WRONG,
		 {0},
		 "the 3 jobs in their order are wanted"},
		{"function(ctx, jobs) return { jobs[1], jobs[2], jobs[2] } end",
		 NEAP_TICK_WRONG,
		 {0},
		 "once more"},
		{"function(ctx, jobs) return { jobs[1], jobs[2], { name = 'x' } } end",
		 NEAP_TICK_WRONG,
		 {0},
		 "no job that was given"},
		{"function(ctx, jobs) return nil end", NEAP_TICK_WRONG, {0}, "in their"},
		{"function(ctx, jobs) return { jobs, print = function() end } end",
		 NEAP_TICK_WRONG,
		 {0},
		 ""},
		{"function(ctx, jobs) error('no') end", NEAP_TICK_ERROR, {0}, "no"},
		{"function(ctx, jobs) while true do end end", NEAP_TICK_BUDGET, {0}, ""},
	};
	json_t *jobs = json_loads("[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"c\"}]",
				  0, NULL);

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_policy *policy = load("migration", "order", rows[i].body);
		struct neap_error err = {0};
		size_t got[3];

		assert_int_equal(neap_policy_order(policy, jobs, 0, got, &err),
				 rows[i].verdict);
		if (rows[i].verdict == NEAP_TICK_WISHES)
			assert_memory_equal(got, rows[i].want, sizeof(got));
		else
			assert_non_null(strstr(err.msg, rows[i].error));
		neap_policy_free(policy);
	}
	json_decref(jobs);
}

#define PATCH(inner) "{ metadata = { annotations = { " inner " } } }"

static void test_leave(void **state)
{
	static const struct {
		const char *answer;
		enum neap_tick_verdict verdict;
		enum neap_leave_how how;
		const char *text; /* of the error, the reason, or take_back */
	} rows[] = {
		{"'eviction'", NEAP_TICK_WISHES, NEAP_LEAVE_EVICTION, ""},
		{"'deletion'", NEAP_TICK_WISHES, NEAP_LEAVE_DELETION, ""},
		{"false, 'it works'", NEAP_TICK_WISHES, NEAP_LEAVE_STAYS, "it works"},
		{"false", NEAP_TICK_WRONG, 0, "is wanted"},
		{"'kill'", NEAP_TICK_WRONG, 0, "is wanted"},
		{"{ patch = " PATCH("a = '1'") ", take_back = " PATCH("a = false") " }",
		 NEAP_TICK_WISHES, NEAP_LEAVE_PATCH,
		 "{\"metadata\":{\"annotations\":{\"a\":null}}}"},
		{"{ patch = " PATCH("a = '1'") " }", NEAP_TICK_WRONG, 0, "take_back"},
		{"{ patch = " PATCH("a = 1") ", take_back = " PATCH("a = false") " }",
		 NEAP_TICK_WRONG, 0, "metadata.annotations[\"a\"] is a text"},
		{"{ patch = { spec = { nodeName = 'x' } }, take_back = " PATCH(
			 "a = false") " }",
		 NEAP_TICK_WRONG, 0, "and nothing else"},
		{"{ patch = { metadata = { finalizers = { 'x' } } }, take_back = " PATCH(
			 "a = false") " }",
		 NEAP_TICK_WRONG, 0, "and nothing else"},
	};
	json_t *pod = json_loads("{\"metadata\":{\"name\":\"p\"}}", 0, NULL);

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_error err = {0};
		struct neap_policy *policy;
		struct neap_leave leave;
		char body[512], *back;

		(void)snprintf(body, sizeof(body),
			       "function(ctx, pod, job) assert(pod.metadata.name == 'p') "
			       "return %s end",
			       rows[i].answer);
		policy = load("evictor", "leave", body);
		assert_int_equal(neap_policy_leave(policy, pod, NULL, 0, &leave, &err),
				 rows[i].verdict);
		if (rows[i].verdict != NEAP_TICK_WISHES) {
			assert_non_null(strstr(err.msg, rows[i].text));
		} else {
			assert_int_equal(leave.how, rows[i].how);
			back = leave.take_back ? json_dumps(leave.take_back, JSON_COMPACT)
					       : NULL;
			assert_string_equal(back ? back : leave.why, rows[i].text);
			free(back);
		}
		json_decref(leave.patch);
		json_decref(leave.take_back);
		neap_policy_free(policy);
	}
	json_decref(pod);
}

/* Only admins load what decides about pods of others. */
static void test_admins(void **state)
{
	struct neap_policy *evictor =
		load("evictor", "leave", "function() return 'eviction' end");
	struct neap_policy *migration =
		load("migration", "order", "function(_, jobs) return jobs end");

	(void)state;
	assert_non_null(neap_policy_admins_why(evictor));
	assert_null(neap_policy_admins_why(migration));
	neap_policy_free(evictor);
	neap_policy_free(migration);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_leave),
		cmocka_unit_test(test_admins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
