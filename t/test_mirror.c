/* SPDX-License-Identifier: Apache-2.0
 *
 * A store that shows what another server keeps, and what this process wrote there. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "api/store/mirror.h"

#define PODS "pods"

static struct neap_store *mirror;

static int setup(void **state)
{
	struct neap_error err;

	(void)state;
	return neap_mirror_new(60000000, 1 << 20, &mirror, &err);
}

static int teardown(void **state)
{
	(void)state;
	neap_store_free(mirror);
	return 0;
}

static struct neap_object *make(const char *name, const char *uid, const char *version)
{
	static const char *const fields[] = {"metadata.resourceVersion", NULL};
	struct neap_object *object;
	struct neap_error err;

	assert_int_equal(neap_object_new_seen_take(
				 json_pack("{s:{s:s, s:s, s:s, s:s}}", "metadata", "name",
					   name, "namespace", "a", "uid", uid,
					   "resourceVersion", version),
				 fields, neap_mirror_next(mirror), &object, &err),
			 0);
	return object;
}

static void show(const char *name, const char *uid, const char *version, bool is_settled)
{
	struct neap_error err;

	assert_int_equal(neap_mirror_show_take(mirror, PODS, make(name, uid, version),
					       is_settled, 1, &err),
			 0);
}

static void lay(const char *name, const char *uid, const char *version)
{
	struct neap_error err;

	assert_int_equal(
		neap_mirror_lay_take(mirror, PODS, make(name, uid, version), &err), 0);
}

/* Versions of what is shown and of the newest, "-" for none. */
static void want(const char *name, const char *shown, const char *newest)
{
	char buf[2][NEAP_OBJECT_VERSION];
	const struct neap_object *a = neap_store_find(mirror, PODS, "a", name);
	const struct neap_object *b = neap_store_newest(mirror, PODS, "a", name);

	assert_string_equal(a ? neap_object_resource_version(a, buf[0]) : "-", shown);
	assert_string_equal(b ? neap_object_resource_version(b, buf[1]) : "-", newest);
}

static void test_layers(void **state)
{
	struct neap_error err;

	(void)state;
	show("p", "1", "10", true);
	want("p", "10", "10");
	lay("p", "1", "12");
	want("p", "10", "12");
	show("p", "1", "11", false); /* somebody else's change of before */
	want("p", "11", "12");
	show("p", "1", "12", true);
	want("p", "12", "12");
	lay("p", "1", "13");
	neap_mirror_lift(mirror, PODS, "a", "p");
	want("p", "12", "12");
	neap_mirror_lay_gone(mirror, PODS, "a", "p");
	want("p", "12", "-");
	assert_int_equal(neap_mirror_hide_take(mirror, PODS, "a", "p", NULL, 1, &err), 0);
	want("p", "-", "-");
	assert_int_equal(neap_store_count(mirror, PODS), 0);
}

/* What a list does not name is gone, also what was written before it began; what was
 * written since stays. */
static void test_sweep(void **state)
{
	struct neap_error err;

	(void)state;
	show("stays", "1", "10", true);
	show("goes", "2", "11", true);
	lay("ghost", "3", "12");
	neap_mirror_mark(mirror, PODS);
	neap_mirror_keep(mirror, PODS, "a", "stays");
	show("comes", "4", "13", true);
	lay("written", "5", "14");
	assert_int_equal(neap_mirror_sweep(mirror, PODS, 1, &err), 0);
	want("stays", "10", "10");
	want("goes", "-", "-");
	want("ghost", "-", "-");
	want("comes", "13", "13");
	want("written", "-", "14");
	assert_int_equal(neap_store_count(mirror, PODS), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_layers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sweep, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
