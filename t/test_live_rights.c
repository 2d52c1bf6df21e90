/* SPDX-License-Identifier: Apache-2.0
 *
 * What only an admin may load comes live, is changed and goes by an admin's act alone:
 * role by verb by what is in service, and the ways on which it could come back by
 * itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "t/lib/live_rig.h"
#include "t/lib/patience.h"

#define EDITOR false
#define ADMIN  true

enum verb {
	PUT_NARROW,
	PUT_REPLACE,
	DRY_NARROW,
	SHADOW,
	DELETE,
	NO_SHADOW,
	BACK,
	PARAMS
};

static const char *text_of(const char *combine, int number)
{
	static char text[400];

	(void)snprintf(text, sizeof(text),
		       "return { api = 1, kind = 'reservation', name = 'one', "
		       "combine = '%s', params = { open = { type = 'boolean', default = "
		       "true, doc = 'd' } }, match = function() return %d > 0 end }",
		       combine, number);
	return text;
}

static int put(struct live_rig *rig, const char *combine, int number, bool is_admin,
	       bool is_dry_run, bool is_shadow)
{
	struct neap_live_change change = live_change(rig, "one");
	const char *text = text_of(combine, number);
	struct neap_error err = {0};

	change.kind = "reservation";
	change.is_admin = is_admin;
	change.is_dry_run = is_dry_run;
	change.is_shadow = is_shadow;
	return live_ask(rig, neap_live_put(rig->live, &change, text, strlen(text), &err),
			&err);
}

static int act(struct live_rig *rig, enum verb verb, bool is_admin)
{
	struct neap_live_change change = live_change(rig, "one");
	struct neap_error err = {0};
	json_t *params;
	int status;

	change.kind = "reservation";
	change.is_admin = is_admin;
	switch (verb) {
	case PUT_NARROW:
		return put(rig, "narrow", 7, is_admin, false, false);
	case PUT_REPLACE:
		return put(rig, "replace", 8, is_admin, false, false);
	case DRY_NARROW:
		return put(rig, "narrow", 7, is_admin, true, false);
	case SHADOW:
		return put(rig, "narrow", 7, is_admin, false, true);
	case DELETE:
		return live_ask(rig, neap_live_delete(rig->live, &change, &err), &err);
	case NO_SHADOW:
		change.is_shadow = true;
		return live_ask(rig, neap_live_delete(rig->live, &change, &err), &err);
	case BACK:
		return live_ask(rig, neap_live_rollback(rig->live, &change, "", &err),
				&err);
	case PARAMS:
		params = json_pack("{s:b}", "open", 0);
		status = live_ask(rig,
				  neap_live_set_params(rig->live, &change, params, &err),
				  &err);
		json_decref(params);
		return status;
	}
	return 0;
}

/* Whether one is in service, and of which sort: 'R' in place of the owners, 'N', '-'. */
static char sort_of(struct live_rig *rig)
{
	const struct neap_registry_slot *slot =
		neap_registry_find(rig->registry, "reservation", "one");

	if (!slot || slot->stats.is_failed)
		return '-';
	return neap_policy_admins_why(slot->policy) ? 'R' : 'N';
}

static void fail_in_service(struct live_rig *rig)
{
	struct neap_registry_slot *slot =
		neap_registry_find(rig->registry, "reservation", "one");
	struct neap_error err = {.msg = "one.lua:1: boom"};
	bool is_out = false;

	assert_non_null(slot);
	for (int i = 0; i < NEAP_POLICY_FAULTS_MAX; i++)
		is_out = neap_registry_note(slot, NEAP_TICK_ERROR, &err, 1);
	assert_true(is_out);
	neap_live_failed(rig->live, "reservation", "one", err.msg);
	live_settle(rig);
}

static const struct row {
	enum verb verb;
	const char *name;
	int editor, admin;               /* status with an ordinary one in service */
	int editor_admins, admin_admins; /* with one that only an admin may load */
} rows[] = {
	{PUT_NARROW, "put narrow", 200, 200, 403, 200},
	{PUT_REPLACE, "put replace", 403, 200, 403, 200},
	{DRY_NARROW, "dry run", 200, 200, 200, 200},
	{SHADOW, "shadow", 200, 200, 403, 200},
	{NO_SHADOW, "end a shadow", 404, 404, 403, 404},
	{DELETE, "delete", 200, 200, 403, 200},
	{BACK, "roll back", 200, 200, 403, 200}, /* to an ordinary one */
	{PARAMS, "parameters", 200, 200, 403, 200},
};

static void test_matrix(void **state)
{
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		for (int is_admins = 0; is_admins < 2; is_admins++)
			for (int is_admin = 0; is_admin < 2; is_admin++) {
				const struct row *row = &rows[i];
				struct live_rig *rig = live_open(state);
				int want =
					is_admins ? (is_admin ? row->admin_admins
							      : row->editor_admins)
						  : (is_admin ? row->admin : row->editor);
				char before = is_admins ? 'R' : 'N';
				int status;

				assert_int_equal(
					put(rig, "narrow", 1, ADMIN, false, false), 201);
				assert_int_equal(put(rig,
						     is_admins ? "replace" : "narrow", 2,
						     ADMIN, false, false),
						 200);
				status = act(rig, row->verb, is_admin);
				if (status != want)
					fail_msg("%s by %s over %c: %d, not %d: %s",
						 row->name, is_admin ? "admin" : "editor",
						 before, status, want,
						 rig->answer.err.msg);
				if (want == 403 && sort_of(rig) != before)
					fail_msg("%s: %c", row->name, sort_of(rig));
				live_teardown(state);
			}
}

/* What an editor loaded fails: nothing of an admin's comes back for it. */
static void test_not_by_a_failure(void **state)
{
	struct live_rig *rig = live_open(state);
	struct neap_error err = {0};

	assert_int_equal(put(rig, "replace", 1, ADMIN, false, false), 201);
	assert_int_equal(act(rig, DELETE, ADMIN), 200);
	assert_int_equal(put(rig, "narrow", 1, EDITOR, false, false), 201);
	fail_in_service(rig);
	assert_int_equal(sort_of(rig), '-');
	live_stop(rig);
	assert_int_equal(live_start(rig, &err), 0);
	assert_int_equal(sort_of(rig), '-');
	/* The admin's is still there, for an admin. */
	assert_int_equal(act(rig, BACK, EDITOR), 403);
	live_teardown(state);
}

/* Beyond it there is an ordinary one, which does come back. */
static void test_passed_over(void **state)
{
	struct live_rig *rig = live_open(state);

	assert_int_equal(put(rig, "narrow", 1, EDITOR, false, false), 201);
	assert_int_equal(put(rig, "replace", 1, ADMIN, false, false), 200);
	assert_int_equal(put(rig, "narrow", 2, ADMIN, false, false), 200);
	fail_in_service(rig);
	assert_int_equal(sort_of(rig), 'N');
	live_teardown(state);
}

/* An admin's next version of the same sort failed: the one before it is his as well. But
 * not one that he deleted. */
static void test_among_admins(void **state)
{
	struct live_rig *rig = live_open(state);

	assert_int_equal(put(rig, "replace", 1, ADMIN, false, false), 201);
	assert_int_equal(put(rig, "replace", 2, ADMIN, false, false), 200);
	fail_in_service(rig);
	assert_int_equal(sort_of(rig), 'R');
	live_teardown(state);

	rig = live_open(state);
	assert_int_equal(put(rig, "replace", 1, ADMIN, false, false), 201);
	assert_int_equal(act(rig, DELETE, ADMIN), 200);
	assert_int_equal(put(rig, "replace", 2, ADMIN, false, false), 201);
	fail_in_service(rig);
	assert_int_equal(sort_of(rig), '-');
	/* Out of service it is still an admin's. */
	assert_int_equal(put(rig, "narrow", 1, EDITOR, false, false), 403);
	assert_int_equal(act(rig, DELETE, EDITOR), 403);
	assert_int_equal(act(rig, DELETE, ADMIN), 200);
	live_teardown(state);
}

/* One whose file was damaged does not come live at a start, and is stored still. Nobody
 * can tell what it was, so it is an admin's. */
static void test_stored(void **state)
{
	struct live_rig *rig = live_open(state);
	const char *text = text_of("replace", 1);
	struct neap_error err = {0};
	char version[12], file[160];
	FILE *out;

	neap_live_version_of(text, strlen(text), version);
	assert_int_equal(put(rig, "replace", 1, ADMIN, false, false), 201);
	live_stop(rig);
	(void)snprintf(file, sizeof(file), "%s/reservation/one/%s.lua", rig->dir,
		       version);
	out = fopen(file, "ae");
	assert_non_null(out);
	(void)fputs("-- more\n", out);
	(void)fclose(out);
	assert_int_equal(live_start(rig, &err), 0);
	assert_int_equal(sort_of(rig), '-');
	assert_int_equal(put(rig, "narrow", 1, EDITOR, false, false), 403);
	assert_int_equal(act(rig, DELETE, EDITOR), 403);
	assert_int_equal(put(rig, "narrow", 1, ADMIN, false, false), 201);
	live_teardown(state);
}

/* An editor has the name that an admin deleted, and the admin's version is there for the
 * admin. */
static void test_not_displaced(void **state)
{
	struct live_rig *rig = live_open(state);
	struct neap_live_change change;
	const char *text = text_of("replace", 1);
	struct neap_error err = {0};
	char version[12];

	neap_live_version_of(text, strlen(text), version);
	assert_int_equal(put(rig, "replace", 1, ADMIN, false, false), 201);
	assert_int_equal(act(rig, DELETE, ADMIN), 200);
	for (int i = 0; i < 2 * NEAP_VERSIONS_KEPT; i++)
		assert_int_equal(put(rig, "narrow", i, EDITOR, false, false),
				 i == 0 ? 201 : 200);
	change = live_change(rig, "one");
	change.kind = "reservation";
	change.is_admin = true;
	assert_int_equal(live_ask(rig,
				  neap_live_rollback(rig->live, &change, version, &err),
				  &err),
			 200);
	assert_int_equal(sort_of(rig), 'R');
	live_teardown(state);
}

/* Parameters that an editor set do not come live with what only an admin may load. */
static void test_kept_parameters(void **state)
{
	struct live_rig *rig = live_open(state);

	assert_int_equal(put(rig, "narrow", 1, EDITOR, false, false), 201);
	assert_int_equal(act(rig, PARAMS, EDITOR), 200);
	assert_int_equal(put(rig, "replace", 1, ADMIN, false, false), 409);
	assert_int_equal(sort_of(rig), 'N');
	assert_int_equal(act(rig, DELETE, EDITOR), 200);
	assert_int_equal(put(rig, "replace", 1, ADMIN, false, false), 201);
	assert_int_equal(act(rig, PARAMS, ADMIN), 200);
	assert_int_equal(put(rig, "replace", 2, ADMIN, false, false), 200);
	live_teardown(state);
}

/* A kind says by name that editors may load it: one that says nothing is of admins. */
static void test_kinds(void **state)
{
	const struct neap_kind *kind;

	(void)state;
	assert_int_equal((struct neap_kind){0}.loader, NEAP_BY_ADMINS);
	for (size_t i = 0; (kind = neap_kind_at(i)) != NULL; i++) {
		if (kind->loader == NEAP_BY_TEXT &&
		    (!kind->is_admins || !kind->admins_field))
			fail_msg("%s: nothing says which are an admin's", kind->name);
		if (kind->loader != NEAP_BY_EDITORS && !kind->admins_why)
			fail_msg("%s: nothing says why", kind->name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_matrix),
		cmocka_unit_test(test_not_by_a_failure),
		cmocka_unit_test(test_passed_over),
		cmocka_unit_test(test_among_admins),
		cmocka_unit_test(test_stored),
		cmocka_unit_test(test_not_displaced),
		cmocka_unit_test(test_kept_parameters),
		cmocka_unit_test(test_kinds),
	};

	patience_with_scripts();
	return cmocka_run_group_tests_name("rights on policies", tests, NULL, NULL);
}
