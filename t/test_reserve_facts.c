/* SPDX-License-Identifier: Apache-2.0
 *
 * Policies of kind reservation that look at owners: of many reservations, more than are
 * kept, and larger than are shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "lua/reserve/reserve_priv.h"
#include "t/lib/offer_rig.h"
#include "t/lib/patience.h"

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

/* More in one decision than are kept: those that find no room are seen as well, each as
 * it is. */
static void test_more_than_are_kept(void **state)
{
	enum { COUNT = 5000 };
	static struct neap_reserve *reserves[COUNT];
	struct offer_rig *rig = *state;
	const struct neap_reserve_own *own;

	offer_put(rig, "labels", 0,
		  "needs = { 'pod.labels.app', 'resv.labels' }, match = function(_, pod, "
		  "resv) return resv.labels.app == pod.labels.app end");
	own = offer_slot(rig, "labels")->policy->reserve;
	for (int i = 0; i < COUNT; i++)
		reserves[i] = offer_reserve(
			rig,
			json_pack("{s:{s:s}}", "labels", "app", i % 2 ? "web" : "db"),
			json_pack("[{}]"));
	for (int round = 0; round < 2; round++) {
		offer_begin(rig, "{'labels':{'app':'web'}}");
		for (int i = 0; i < COUNT; i++) {
			const char *text = offer_match(rig, reserves[i], true);

			if (strcmp(text, "failed") == 0) /* the machine had no time */
				text = offer_match_alone(rig, reserves[i], true);
			if ((strcmp(text, "open") == 0) != (i % 2))
				fail_msg("%d: %s %s", i, text, rig->last_failed);
		}
		assert_in_range(own->held_count, 1, COUNT - 1);
	}
	assert_int_equal(offer_slot(rig, "labels")->stats.faults, 0);
	for (int i = 0; i < COUNT; i++)
		(void)neap_reserve_unref(reserves[i]);
}

/* --- owners --- */

/* All that is in them, as the reason. */
#define DUMP                                                                             \
	"local function dump(owners) local all = {} "                                    \
	"for i, entry in ipairs(owners) do local texts = {} "                            \
	"for name, what in pairs(entry) do local of = {} "                               \
	"if name == 'labelSelector' then "                                               \
	"of[1] = tostring(what:matches({ app = 'web' })) else "                          \
	"for k, v in pairs(what) do of[#of + 1] = k .. '=' .. tostring(v) end end "      \
	"texts[#texts + 1] = name .. '(' .. table.concat(of, ',') .. ')' end "           \
	"all[i] = table.concat(texts, '+') end "                                         \
	"return #owners .. ' ' .. table.concat(all, ' ') end "

#define WEB "{'labelSelector':{'matchLabels':{'app':'web'}}}"
#define DB  "{'labelSelector':{'matchLabels':{'app':'db'}}}"

static const struct {
	const char *owners, *want;
} shapes[] = {
	{"[" WEB "]", "1 labelSelector(true)"},
	{"[" DB "]", "1 labelSelector(false)"},
	{"[]", "0 "},
	{"[{'object':{'name':'x'}}]", "1 object(name=x)"},
	{"[{}]", "1 "},
	{"[{'object':{'namespace':'n','uid':'u','kind':'Pod','apiVersion':'v1'}}]",
	 "1 object(apiVersion=v1,kind=Pod,namespace=n,uid=u)"},
	{"[{'controller':{'name':'c','controller':true}}," DB ",{'object':{'name':'y'}}]",
	 "3 controller(controller=true,name=c) labelSelector(false) object(name=y)"},
	{"[" WEB "," WEB "]", "2 labelSelector(true) labelSelector(true)"},
	{"[{'controller':{'controller':false},'object':{'uid':'u'},'labelSelector':{}}]",
	 "1 controller(controller=false)+labelSelector(true)+object(uid=u)"},
	{"[{'controller':{'name':'d'}}]", "1 controller(name=d)"},
};

static struct neap_reserve *with_owners(struct offer_rig *rig, const char *owners)
{
	return offer_reserve(rig, json_object(), offer_json(owners));
}

static void check_dump(struct offer_rig *rig, const struct neap_reserve *reserve,
		       const char *want)
{
	const char *text = offer_match_alone(rig, reserve, true);

	if (strncmp(text, "policy dump: ", 13) != 0 || strcmp(text + 13, want) != 0)
		fail_msg("'%s', want '%s' %s", text, want, rig->last_failed);
}

/* The tables are the same ones: nothing of one reservation is left when the next is
 * shown. */
static void test_one_after_the_other(void **state)
{
	struct neap_reserve *reserves[NEAP_ARRAY_LEN(shapes)];
	struct offer_rig *rig = *state;

	offer_put(rig, "dump", 0,
		  "needs = { 'resv.owners' }, match = function(_, _, resv) " DUMP
		  "return false, dump(resv.owners) end");
	offer_begin(rig, "{}");
	for (size_t i = 0; i < NEAP_ARRAY_LEN(shapes); i++)
		reserves[i] = with_owners(rig, shapes[i].owners);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(shapes); i++)
		for (size_t n = 0; n < NEAP_ARRAY_LEN(shapes); n++) {
			check_dump(rig, reserves[i], shapes[i].want);
			check_dump(rig, reserves[n], shapes[n].want);
			check_dump(rig, reserves[n], shapes[n].want);
		}
	for (size_t i = 0; i < NEAP_ARRAY_LEN(shapes); i++)
		(void)neap_reserve_unref(reserves[i]);
}

/* Many entries are shown, too, and then few again. */
static void test_many_entries(void **state)
{
	struct offer_rig *rig = *state;
	struct neap_reserve *few = with_owners(rig, shapes[0].owners), *many;
	const struct neap_reserve_own *own;
	json_t *owners = json_array();

	offer_put(
		rig, "dump", 0,
		"needs = { 'resv.owners' }, match = function(_, _, resv) local n = 0 "
		"for i, entry in ipairs(resv.owners) do "
		"if entry.object and entry.object.name == 'o' .. i then n = n + 1 end end "
		"return false, n .. ' of ' .. #resv.owners end");
	offer_begin(rig, "{}");
	for (int i = 1; i <= 200; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "o%d", i);
		(void)json_array_append_new(
			owners, json_pack("{s:{s:s}}", "object", "name", name));
	}
	many = offer_reserve(rig, json_object(), owners);
	own = offer_slot(rig, "dump")->policy->reserve;
	for (int i = 0; i < 3; i++) {
		check_dump(rig, few, "0 of 1");
		assert_int_equal(own->slot_count, 1);
		check_dump(rig, many, "200 of 200");
		assert_int_equal(own->slot_count, 200);
	}
	(void)neap_reserve_unref(few);
	(void)neap_reserve_unref(many);
}

/* A script cannot write to them: what it wrote would be that of other reservations. */
static void test_owners_are_read_only(void **state)
{
	struct offer_rig *rig = *state;
	struct neap_reserve *reserve = with_owners(
		rig, "[{'object':{'name':'x'},'labelSelector':{}},{'object':{}}]");

	offer_put(rig, "dump", 0,
		  "needs = { 'resv.owners' }, match = function(_, _, resv) " DUMP
		  "local o = resv.owners local e = o[1] "
		  "assert(not pcall(function() o[1] = nil end)) "
		  "assert(not pcall(function() o[3] = {} end)) "
		  "assert(not pcall(function() e.object = nil end)) "
		  "assert(not pcall(function() e.object.name = 'y' end)) "
		  "assert(not pcall(function() e.object.uid = 'y' end)) "
		  "assert(not pcall(rawset, e, 'controller', {})) "
		  "assert(not pcall(rawset, e.object, 'name', 'z')) "
		  "assert(not pcall(table.remove, o)) "
		  "assert(not pcall(table.insert, o, {})) "
		  "assert(not pcall(table.sort, o, function() return true end)) "
		  "assert(not pcall(setmetatable, o, {})) "
		  "assert(not pcall(setmetatable, e, nil)) "
		  "return false, dump(o) end");
	offer_begin(rig, "{}");
	check_dump(rig, reserve, "2 labelSelector(true)+object(name=x) object()");
	check_dump(rig, reserve, "2 labelSelector(true)+object(name=x) object()");
	(void)neap_reserve_unref(reserve);
}

/* A script may hold a selector longer than there is a reservation of it. */
static void test_selector_that_is_gone(void **state)
{
	struct offer_rig *rig = *state;
	struct neap_reserve *reserve = with_owners(rig, "[" WEB "]");

	offer_put(rig, "dump", 0,
		  "needs = { 'resv.owners' }, match = (function() local held "
		  "return function(_, _, resv) local first = resv.owners[1] "
		  "held = held or first.labelSelector "
		  "local is, why = pcall(held.matches, held, { app = 'web' }) "
		  "return false, tostring(is) .. ' ' .. tostring(why) end end)()");
	offer_begin(rig, "{}");
	check_dump(rig, reserve, "true true");
	(void)neap_reserve_unref(reserve);
	reserve = with_owners(rig, "[]");
	assert_non_null(strstr(offer_match_alone(rig, reserve, true), "false "));
	assert_non_null(strstr(offer_match_alone(rig, reserve, true), "not at hand"));
	(void)neap_reserve_unref(reserve);
	/* It is that of the reservation at hand. */
	reserve = with_owners(rig, "[" DB "]");
	check_dump(rig, reserve, "true false");
	(void)neap_reserve_unref(reserve);
}

/* Where memory ends while owners are set, what is seen next is what there is. */
static void test_short_of_memory(void **state)
{
	struct offer_rig *rig = *state;
	struct neap_reserve *one = with_owners(rig, shapes[0].owners);
	struct neap_reserve *other = with_owners(rig, shapes[6].owners);

	for (uint64_t n = 1, is_over = 0; !is_over; n++) {
		uint64_t failed = neap_mem_failures();

		offer_put(rig, "dump", 0,
			  "needs = { 'resv.owners' }, match = function(_, _, resv) " DUMP
			  "return false, dump(resv.owners) end");
		offer_begin(rig, "{}");
		check_dump(rig, one, shapes[0].want);
		neap_mem_fail_at(n);
		(void)offer_match(rig, other, true);
		is_over = neap_mem_failures() == failed;
		neap_mem_fail_at(0);
		check_dump(rig, other, shapes[6].want);
		check_dump(rig, one, shapes[0].want);
		assert_int_equal(offer_slot(rig, "dump")->stats.is_failed, 0);
	}
	(void)neap_reserve_unref(one);
	(void)neap_reserve_unref(other);
}

/* The same where a script has used up what its state may have: one that could not be
 * shown is not taken for shown. */
static void test_full_state(void **state)
{
	static char name[100000];
	struct offer_rig *rig = *state;
	struct neap_reserve *one = with_owners(rig, shapes[0].owners), *other;

	memset(name, 'x', sizeof(name) - 1);
	other = offer_reserve(rig, json_object(),
			      json_pack("[{},{s:{s:s}}]", "object", "name", name));
	offer_put(
		rig, "dump", 0,
		"needs = { 'resv.owners' }, match = (function() local all, is_full = {} "
		"return function(_, _, resv) " DUMP "if is_full then all = {} "
		"elseif not pcall(function() for _ = 1, 2 do "
		"all[#all + 1] = ('x'):rep(30000 + #all) end end) then "
		"is_full = true all[#all] = nil return false, 'full' end "
		"return false, #resv.owners == 2 and '2' or dump(resv.owners) end end)()");
	offer_begin(rig, "{}");
	for (int i = 0;
	     strcmp(offer_match_alone(rig, one, true), "policy dump: full") != 0; i++)
		if (i == 200)
			fail_msg("%s", rig->last_failed);
	for (int i = 0; i < 2; i++) {
		offer_begin(rig, "{}");
		assert_string_equal(offer_match(rig, other, true), "failed");
		if (!strstr(rig->last_failed, "the memory limit"))
			fail_msg("%s", rig->last_failed);
	}
	check_dump(rig, one, shapes[0].want);
	check_dump(rig, other, "2");
	(void)neap_reserve_unref(one);
	(void)neap_reserve_unref(other);
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
		TEST(one_after_the_other),
		TEST(many_entries),
		TEST(owners_are_read_only),
		TEST(selector_that_is_gone),
		TEST(short_of_memory),
		TEST(full_state),
	};

	patience_with_scripts();
	return cmocka_run_group_tests_name("facts of reservations", tests, NULL, NULL);
}
