/* SPDX-License-Identifier: Apache-2.0
 *
 * Which policies of the kinds migration and evictor decide about a job: the ones that its
 * profile names, else the first that no profile names. */
#include "api/daemon/job_policies.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/daemon/roles.h"
#include "api/deschedule/play/strategies.h"
#include "engine/base/mem.h"
#include "lua/run/registry.h"
#include "t/lib/descheduler_rig.h"

#define PROFILES                                                                         \
	"apiVersion: descheduler/v1alpha2\n"                                             \
	"kind: DeschedulerConfiguration\n"                                               \
	"profiles:\n"

/* --- what a configuration may name --- */

static void upload(struct descheduler_rig *rig, const char *kind, const char *name,
		   const char *function, const char *body)
{
	char text[1000];

	(void)snprintf(text, sizeof(text),
		       "return { api = 1, kind = '%s', name = '%s', %s = %s }", kind,
		       name, function, body);
	descheduler_upload(rig, text);
}

static const struct {
	const char *text, *want; /* of the only fault; "": there is none */
	size_t of_policies;
} rows[] = {
	{PROFILES "- name: a\n  plugins: {}\n  neap: {evictor: marks, migration: back}\n",
	 "", 0},
	{PROFILES "- name: a\n  plugins: {}\n  neap:\n    evictor: gone\n",
	 "f.yaml:7: profiles[0].neap.evictor: no policy evictor/gone is in service", 1},
	{PROFILES "- name: a\n  plugins: {}\n  neap: {migration: marks}\n",
	 "f.yaml:6: profiles[0].neap.migration: no policy migration/marks is in service",
	 1},
	{PROFILES "- name: a\n  plugins: {}\n  neap: {evictor: 7}\n",
	 "f.yaml:6: profiles[0].neap.evictor: must be a text", 0},
	{PROFILES "- name: a\n  plugins: {}\n  neap: {evict: marks}\n",
	 "f.yaml:6: profiles[0].neap.evict: unknown field: did you mean evictor?", 0},
	{PROFILES "- name: a\n  plugins:\n"
		  "    evict: {disabled: [{name: '*'}], enabled: [{name: "
		  "DefaultEvictor}]}\n"
		  "  neap: {evictor: marks}\n",
	 "f.yaml:7: profiles[0].neap: its policies are for PodMigrationJobs, and this "
	 "profile makes none: enable MigrationController at evict",
	 0},
	{"apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\nprofiles:\n"
	 "- name: a\n  plugins: {}\n  neap: {evictor: marks}\n",
	 "f.yaml:6: profiles[0].neap: belongs to the top of the text", 0},
};

static void test_configuration(void **state)
{
	struct descheduler_rig *rig = *state;
	struct neap_strategies *copy = NULL;
	struct neap_error err = {0};

	upload(rig, "evictor", "marks", "leave", "function() return 'eviction' end");
	upload(rig, "migration", "back", "order", "function(_, jobs) return jobs end");
	/* It is read on another thread. */
	assert_int_equal(neap_strategies_copy(rig->strategies, &copy, &err), 0);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_deschedule_lines lines = {0};
		struct neap_deschedule_config *config = NULL;

		(void)neap_deschedule_config_parse(
			rows[i].text, strlen(rows[i].text), "f.yaml",
			neap_strategies_plugins(copy), &config, &lines, &err);
		if (lines.faults != (*rows[i].want != '\0') ||
		    (lines.faults &&
		     strncmp(lines.line[0], rows[i].want, strlen(rows[i].want)) != 0))
			fail_msg("row %zu: %s", i, lines.count ? lines.line[0] : "none");
		assert_int_equal(lines.of_policies, rows[i].of_policies);
		if (!*rows[i].want) {
			assert_string_equal(config->profiles[0].evictor, "marks");
			assert_string_equal(config->profiles[0].migration, "back");
		}
		neap_deschedule_lines_done(&lines);
		(void)neap_deschedule_config_unref(config);
	}
	neap_strategies_free(copy);
}

/* --- who is asked --- */

struct deciders {
	struct neap_process process;
	struct neap_role_policies policies;
	struct neap_role_descheduler role;
};

/* The profiles a and b name policies, the profile c none. */
static struct neap_role_descheduler *begin(struct descheduler_rig *rig,
					   struct deciders *deciders)
{
	upload(rig, "evictor", "all", "leave", "function() return 'deletion' end");
	upload(rig, "evictor", "waits", "leave",
	       "function(ctx, pod, job) return false, 'wait for ' .. pod.metadata.name end");
	upload(rig, "evictor", "raises", "leave", "function() error('broken') end");
	upload(rig, "migration", "all", "order",
	       "function(_, jobs) table.sort(jobs, function(a, b) return a.name < b.name "
	       "end) return jobs end");
	upload(rig, "migration", "back", "order",
	       "function(_, jobs) table.sort(jobs, function(a, b) return a.name > b.name "
	       "end) return jobs end");
	descheduler_begin(rig);
	descheduler_use(rig, PROFILES "- name: a\n  plugins: {}\n"
				      "  neap: {evictor: waits, migration: back}\n"
				      "- name: b\n  plugins: {}\n"
				      "  neap: {evictor: raises}\n"
				      "- name: c\n  plugins: {}\n");
	*deciders = (struct deciders){.process = {.log = {.fd = -1, .program = "test"}},
				      .policies = {.registry = rig->registry}};
	deciders->role = (struct neap_role_descheduler){.process = &deciders->process,
							.policies = &deciders->policies,
							.descheduler = rig->descheduler};
	return &deciders->role;
}

/* profile NULL: a job of a user. evictor: the one that its annotation names; NULL. */
static struct neap_migrate_way way_under(struct neap_role_descheduler *role,
					 const char *profile, const char *evictor)
{
	struct neap_migrate_way way = {.policy = NEAP_MIGRATE_EVICTION};
	json_t *pod = json_pack("{s:{s:s}}", "metadata", "name", "p");
	json_t *job = json_pack("{s:{s:s, s:{s:s*, s:s*}}}", "metadata", "name", "j",
				"annotations", NEAP_KEY_JOB_PROFILE, profile,
				NEAP_KEY_JOB_EVICTOR, evictor);

	neap_job_policies_leave(role, pod, job, &way);
	json_decref(pod);
	json_decref(job);
	return way;
}

static struct neap_migrate_way way_of(struct neap_role_descheduler *role,
				      const char *profile)
{
	return way_under(role, profile, NULL);
}

static void test_leave(void **state)
{
	struct descheduler_rig *rig = *state;
	struct deciders deciders;
	struct neap_role_descheduler *role = begin(rig, &deciders);
	struct neap_migrate_way way;

	static const char *const others[] = {"c", "unheard of", NULL};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(others); i++) {
		way = way_of(role, others[i]);
		assert_int_equal(way.policy, NEAP_MIGRATE_DELETE);
		assert_string_equal(way.why_not, "");
	}
	way = way_of(role, "a");
	assert_string_equal(way.why_not, "wait for p");
	/* It is taken out of service, and its pods stay all the same. */
	for (int i = 0; i < NEAP_POLICY_FAULTS_MAX; i++) {
		way = way_of(role, "b");
		assert_non_null(strstr(way.why_not, "policy evictor/raises gives no "
						    "answer: "));
		assert_non_null(strstr(way.why_not, "broken"));
	}
	way = way_of(role, "b");
	assert_string_equal(way.why_not, "policy evictor/raises, which profile b names, "
					 "is not in service");
	neap_registry_remove(rig->registry, "evictor", "waits");
	way = way_of(role, "a");
	assert_string_equal(way.why_not,
			    "policy evictor/waits, which profile a names, is "
			    "not in service");
	/* Another configuration holds for jobs that are there. */
	descheduler_use(rig, PROFILES "- name: a\n  plugins: {}\n"
				      "- name: b\n  plugins: {}\n"
				      "  neap: {evictor: all}\n");
	assert_int_equal(way_of(role, "b").policy, NEAP_MIGRATE_DELETE);
	assert_int_equal(way_of(role, "a").policy, NEAP_MIGRATE_EVICTION);
}

/* A job asks the evictor under which it was made, once its profile is gone. */
static void test_profile_is_gone(void **state)
{
	struct descheduler_rig *rig = *state;
	struct deciders deciders;
	struct neap_role_descheduler *role = begin(rig, &deciders);
	struct neap_migrate_way way;

	/* The configuration in force decides for the profiles that it has. */
	assert_string_equal(way_under(role, "a", "all").why_not, "wait for p");
	assert_int_equal(way_under(role, "c", "waits").policy, NEAP_MIGRATE_DELETE);
	descheduler_use(rig, PROFILES "- name: renamed\n  plugins: {}\n"
				      "  neap: {evictor: waits}\n");
	assert_string_equal(way_under(role, "a", "waits").why_not, "wait for p");
	assert_int_equal(way_under(role, "a", "all").policy, NEAP_MIGRATE_DELETE);
	/* Others as before: of an older neapd, whose profile named none, of users. */
	assert_int_equal(way_of(role, "a").policy, NEAP_MIGRATE_DELETE);
	assert_int_equal(way_of(role, NULL).policy, NEAP_MIGRATE_DELETE);
	neap_registry_remove(rig->registry, "evictor", "waits");
	way = way_under(role, "a", "waits");
	assert_string_equal(way.why_not,
			    "policy evictor/waits, which profile a named when it made "
			    "this job, is not in service");
	neap_descheduler_set_file(rig->descheduler, NULL, "");
	way = way_under(role, "a", "waits");
	assert_non_null(strstr(way.why_not, "named when it made this job"));
	role->descheduler = NULL;
	way = way_under(role, "a", "waits");
	assert_non_null(strstr(way.why_not, "named when it made this job"));
	assert_int_equal(way_of(role, NULL).policy, NEAP_MIGRATE_DELETE);
}

/* Names of the jobs in their order, after the policies were asked so many times, each
 * call about the jobs of one. */
static void order(struct neap_role_descheduler *role, struct neap_migrate_waiting *list,
		  size_t count, const char *const *want)
{
	for (size_t i = 0; i < count; i++)
		list[i].is_placed = false;
	for (; *want; want++) {
		bool is_left = neap_job_policies_order(role, list, count);
		char got[32] = "";

		for (size_t i = 0; i < count; i++)
			(void)snprintf(got + strlen(got), sizeof(got) - strlen(got),
				       "%s ", list[i].job->name);
		assert_string_equal(got, want[0]);
		assert_int_equal(is_left, want[1] != NULL);
	}
	for (size_t i = 0; i < count; i++)
		assert_true(list[i].is_placed);
}

static void test_order(void **state)
{
	static const char *const names[] = {"k", "a2", "c", "a1", "b", "a3"};
	static const char *const profiles[] = {"", "a", "c", "a", "b", "a"};
	struct descheduler_rig *rig = *state;
	struct deciders deciders;
	struct neap_role_descheduler *role = begin(rig, &deciders);
	struct neap_migrate_job jobs[NEAP_ARRAY_LEN(names)];
	struct neap_migrate_waiting list[NEAP_ARRAY_LEN(names)];

	for (size_t i = 0; i < NEAP_ARRAY_LEN(names); i++) {
		jobs[i] = (struct neap_migrate_job){.name = names[i],
						    .profile = profiles[i],
						    .pod_ns = "",
						    .pod_name = ""};
		list[i] = (struct neap_migrate_waiting){.job = &jobs[i], .batch = ""};
	}
	/* One policy a call: first the others go forth, within their places, then those
	 * of a go back, within theirs. */
	order(role, list, NEAP_ARRAY_LEN(names),
	      (const char *const[]){"b a2 c a1 k a3 ", "b a3 c a2 k a1 ", NULL});
	neap_registry_remove(rig->registry, "migration", "all");
	order(role, list, NEAP_ARRAY_LEN(names),
	      (const char *const[]){"b a3 c a2 k a1 ", NULL});
	neap_registry_remove(rig->registry, "migration", "back");
	order(role, list, NEAP_ARRAY_LEN(names),
	      (const char *const[]){"b a3 c a2 k a1 ", NULL});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_configuration, descheduler_setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_leave, descheduler_setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_profile_is_gone, descheduler_setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_order, descheduler_setup,
						descheduler_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
