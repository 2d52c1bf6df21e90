/* SPDX-License-Identifier: Apache-2.0
 *
 * Policies of kind reservation that look at owners: of many reservations, more than are kept, and larger than are shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lua/reserve_priv.h"
#include "t/lib/offer_rig.h"

static int set_up(void **state)
{
	*state = offer_new();
	return 0;
}

static int tear_down(void **state)
{
	offer_free(*state);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)

static void test_many_reservations(void **state)
{
	struct offer_rig *rig = *state;
	size_t most = 0;

	offer_put_file(rig, "policies/reservation/owner-match.lua");
	for (int round = 0; round < 2; round++) {
		offer_begin(rig, "{'labels':{'app':'web'}}");
		for (int i = 0; i < 6000; i++) {
			struct neap_reserve *reserve = offer_reserve(
				rig, json_object(),
				json_pack("[{s:{s:{s:s}}}]", "labelSelector",
					  "matchLabels", "app", i % 2 ? "web" : "db"));
			const char *text = offer_match_alone(rig, reserve, i % 2);
			size_t bytes = neap_vm_memory(
				neap_policy_vm(offer_slot(rig, "owner-match")->policy));

			most = bytes > most ? bytes : most;
			if (strcmp(text, i % 2 ? "open"
					       : "policy owner-match: its owners do not "
						 "take the pod") != 0)
				fail_msg("%d: %s %s", i, text, rig->last_failed);
			(void)neap_reserve_unref(reserve);
		}
	}
	assert_true(most < NEAP_VM_MEMORY_BYTES);
	assert_int_equal(offer_slot(rig, "owner-match")->stats.faults, 0);
}

/* More in one decision than are kept: those that find no room are seen as well, each as it is. */
static void test_more_than_are_kept(void **state)
{
	enum { COUNT = 2000 };
	static struct neap_reserve *reserves[COUNT];
	struct offer_rig *rig = *state;
	const struct neap_reserve_own *own;

	offer_put_file(rig, "policies/reservation/owner-match.lua");
	own = offer_slot(rig, "owner-match")->policy->reserve;
	for (int i = 0; i < COUNT; i++)
		reserves[i] = offer_reserve(rig, json_object(),
					    json_pack("[{s:{s:{s:s}}}]", "labelSelector",
						      "matchLabels", "app",
						      i % 2 ? "web" : "db"));
	for (int round = 0; round < 2; round++) {
		offer_begin(rig, "{'labels':{'app':'web'}}");
		for (int i = 0; i < COUNT; i++) {
			const char *text = offer_match(rig, reserves[i], i % 2);

			if (strcmp(text, "failed") == 0) /* the machine had no time */
				text = offer_match_alone(rig, reserves[i], i % 2);
			if ((strcmp(text, "open") == 0) != (i % 2))
				fail_msg("%d: %s %s", i, text, rig->last_failed);
		}
		assert_in_range(own->held_count, 1, COUNT - 1);
	}
	assert_int_equal(offer_slot(rig, "owner-match")->stats.faults, 0);
	for (int i = 0; i < COUNT; i++)
		(void)neap_reserve_unref(reserves[i]);
}

/* Whoever writes a reservation does not put a policy out of service by it. */
static void test_large_owners(void **state)
{
	struct offer_rig *rig = *state;
	json_t *owners = json_array();
	struct neap_reserve *reserve;

	for (int i = 0; i < 512; i++) {
		json_t *labels = json_object();

		for (int n = 0; n < 60; n++) {
			char key[64];

			(void)snprintf(key, sizeof(key), "label-%d-%d", i, n);
			(void)json_object_set_new(labels, key, json_string("value"));
		}
		(void)json_array_append_new(
			owners,
			json_pack("{s:{s:o}}", "labelSelector", "matchLabels", labels));
	}
	reserve = offer_reserve(rig, json_object(), owners);
	assert_null(reserve->trouble);
	offer_put_file(rig, "policies/reservation/owner-match.lua");
	offer_begin(rig, "{}");
	assert_string_equal(offer_match(rig, reserve, true), "open");
	assert_string_equal(offer_ask(rig, "{}"), "open");
	assert_int_equal(rig->failed, 0);
	(void)neap_reserve_unref(reserve);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(many_reservations),
		TEST(more_than_are_kept),
		TEST(large_owners),
	};

	return cmocka_run_group_tests_name("facts of reservations", tests, NULL, NULL);
}
