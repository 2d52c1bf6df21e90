/* SPDX-License-Identifier: Apache-2.0
 *
 * The active policies: order, replacement, and when one is taken out of service. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/base.h"
#include "engine/base/mem.h"
#include "lua/run/registry.h"

static struct neap_policy *load(const char *name, const char *body)
{
	static char text[500];
	struct neap_policy *policy = NULL;
	struct neap_error err;

	snprintf(
		text, sizeof(text),
		"return { api = 1, kind = \"qos\", name = \"%s\", tick = function() %s end }",
		name, body);
	if (neap_policy_load(text, strlen(text), "p.lua", &policy, &err) < 0)
		fail_msg("%s", err.msg);
	return policy;
}

static const char *name_at(struct neap_registry *registry, size_t index)
{
	struct neap_policy_info info;

	neap_policy_get_info(neap_registry_get(registry, index)->policy, &info);
	return info.name;
}

static void test_order(void **state)
{
	struct neap_registry *registry = neap_registry_new();
	struct neap_policy *again = load("a", "return {}, 1");
	char name[16];

	(void)state;
	assert_null(neap_registry_get(registry, 0));
	assert_int_equal(
		neap_registry_put_take(registry, load("b", "return {}"), 0, 0, NULL), 0);
	assert_int_equal(
		neap_registry_put_take(registry, load("c", "return {}"), 9, 0, NULL), 0);
	assert_int_equal(
		neap_registry_put_take(registry, load("a", "return {}"), 1, 0, NULL), 0);
	neap_registry_get(registry, 1)->stats.calls = 7;
	assert_int_equal(neap_registry_put_take(registry, again, 1, 0, NULL), 0);
	assert_int_equal(neap_registry_count(registry), 3);
	assert_string_equal(name_at(registry, 0), "b");
	assert_string_equal(name_at(registry, 1), "a");
	assert_ptr_equal(neap_registry_get(registry, 1)->policy, again);
	assert_int_equal(neap_registry_get(registry, 1)->stats.calls, 0);
	assert_string_equal(name_at(registry, 2), "c");

	for (int i = 3; i < 64; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		assert_int_equal(
			neap_registry_put_take(registry, load(name, ""), 9, 0, NULL), 0);
	}
	assert_int_equal(neap_registry_put_take(registry, load("more", ""), 9, 0, NULL),
			 -NEAP_ETOOLARGE);
	assert_ptr_equal(neap_registry_find(registry, "qos", "a")->policy, again);
	assert_null(neap_registry_find(registry, "qos", "nobody"));
	neap_registry_remove(registry, "qos", "nobody");
	neap_registry_remove(registry, "qos", "b");
	assert_int_equal(neap_registry_count(registry), 63);
	assert_string_equal(name_at(registry, 0), "a");
	assert_string_equal(name_at(registry, 1), "c");
	neap_registry_free(registry);
	neap_registry_free(NULL);
}

/* A version that takes over holds what the one before it wanted, under that one's
 * name. */
static void test_wishes_are_held(void **state)
{
	struct neap_registry *registry = neap_registry_new();
	struct neap_registry_slot *slot;
	struct neap_policy_info info;
	char label[80];

	(void)state;
	(void)neap_registry_put_take(registry, load("a", "return {}"), 0, 0, NULL);
	slot = neap_registry_get(registry, 0);
	neap_registry_hold_take(slot, calloc(2, sizeof(struct neap_policy_wish)), 2);
	neap_policy_get_info(slot->policy, &info);
	(void)snprintf(label, sizeof(label), "%s", info.label);
	assert_string_equal(slot->wishes_label, label);
	(void)neap_registry_put_take(registry, load("a", "return {}, 2"), 0, 0, NULL);
	slot = neap_registry_get(registry, 0);
	assert_int_equal(slot->wish_count, 2);
	assert_string_equal(slot->wishes_label, label);
	neap_registry_hold_take(slot, calloc(1, sizeof(struct neap_policy_wish)), 1);
	assert_int_equal(slot->wish_count, 1);
	assert_string_not_equal(slot->wishes_label, label);
	neap_registry_free(registry);
}

/* During probation faults count in all, not in a row; good calls end it. */
static void test_probation(void **state)
{
	struct neap_registry *registry = neap_registry_new();
	struct neap_error err = {.code = NEAP_EINVAL, .msg = "what"};
	struct neap_registry_slot *slot;

	(void)state;
	(void)neap_registry_put_take(registry, load("a", "return {}"), 0, 4, NULL);
	slot = neap_registry_get(registry, 0);
	assert_false(neap_registry_note(slot, NEAP_TICK_ERROR, &err, 1));
	assert_false(neap_registry_note(slot, NEAP_TICK_WISHES, NULL, 2));
	assert_false(neap_registry_note(slot, NEAP_TICK_SKIPPED, &err, 3));
	assert_int_equal(slot->probation, 3);
	assert_false(neap_registry_note(slot, NEAP_TICK_ERROR, &err, 4));
	assert_false(neap_registry_note(slot, NEAP_TICK_HOLD, NULL, 5));
	assert_true(neap_registry_note(slot, NEAP_TICK_ERROR, &err, 6));
	assert_true(slot->stats.is_failed);

	(void)neap_registry_put_take(registry, load("a", "return {}"), 0, 2, NULL);
	slot = neap_registry_get(registry, 0);
	(void)neap_registry_note(slot, NEAP_TICK_ERROR, &err, 1);
	(void)neap_registry_note(slot, NEAP_TICK_WISHES, NULL, 2);
	(void)neap_registry_note(slot, NEAP_TICK_WISHES, NULL, 3);
	assert_int_equal(slot->probation, 0);
	(void)neap_registry_note(slot, NEAP_TICK_ERROR, &err, 4);
	(void)neap_registry_note(slot, NEAP_TICK_WISHES, NULL, 5);
	assert_false(neap_registry_note(slot, NEAP_TICK_ERROR, &err, 6));
	assert_false(slot->stats.is_failed);
	neap_registry_free(registry);
}

/* w wishes, h hold, s skipped, e error, b budget, t starved, p put off, x wrong; '!'
 * after the one that fails it. */
static const struct {
	const char *verdicts;
	uint64_t calls, errors, skipped;
	bool is_failed;
} rows[] = {
	{"whswh", 4, 0, 1, false},  {"ee", 2, 2, 0, false},    {"eee!", 3, 3, 0, true},
	{"eeweeh", 6, 4, 0, false}, {"esese!", 3, 3, 2, true}, {"eebw", 4, 2, 0, true},
	{"exe!", 3, 2, 0, true},    {"eebe", 4, 3, 0, true},   {"tttttw", 6, 0, 0, false},
	{"etete!", 5, 3, 0, true},  {"wpph", 2, 0, 0, false},  {"epepe!", 3, 3, 0, true},
};

static void test_faults(void **state)
{
	static const char letters[] = "whsebtpx";
	struct neap_error err = {.code = NEAP_EINVAL, .msg = "what"};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_registry *registry = neap_registry_new();
		struct neap_registry_slot *slot;
		int ended = 0;

		(void)neap_registry_put_take(registry, load("a", "return {}"), 0, 0,
					     NULL);
		slot = neap_registry_get(registry, 0);
		for (const char *v = rows[i].verdicts; *v; v++) {
			enum neap_tick_verdict verdict;

			if (*v == '!')
				continue;
			verdict = (enum neap_tick_verdict)(strchr(letters, *v) - letters);
			if (neap_registry_note(slot, verdict, &err, 5)) {
				ended++;
				if (v[1] && v[1] != '!' && !strchr(rows[i].verdicts, 'b'))
					fail_msg("%s: ended at %s", rows[i].verdicts, v);
			}
		}
		if (slot->stats.calls != rows[i].calls ||
		    slot->stats.errors != rows[i].errors ||
		    slot->stats.skipped != rows[i].skipped ||
		    slot->stats.is_failed != rows[i].is_failed ||
		    ended != rows[i].is_failed)
			fail_msg("%s: calls %d, errors %d, failed %d", rows[i].verdicts,
				 (int)slot->stats.calls, (int)slot->stats.errors,
				 slot->stats.is_failed);
		if (slot->stats.errors)
			assert_string_equal(slot->stats.last_error, "what");
		neap_registry_free(registry);
	}
}

/* A state that was killed cannot run again: one spent budget is enough. */
static void test_dead(void **state)
{
	struct neap_registry *registry = neap_registry_new();
	struct neap_sample sample = {.now_unix = 1};
	struct neap_registry_slot *slot;
	struct neap_policy_wish *wishes;
	struct neap_error err;
	size_t count;
	enum neap_tick_verdict verdict;

	(void)state;
	(void)neap_registry_put_take(registry, load("a", "while true do end"), 0, 0,
				     NULL);
	slot = neap_registry_get(registry, 0);
	verdict = neap_policy_tick(slot->policy, &sample, &wishes, &count, &err);
	assert_int_equal(verdict, NEAP_TICK_BUDGET);
	assert_true(neap_registry_note(slot, verdict, &err, 9));
	assert_int_equal(slot->stats.spent, 1);
	assert_int_equal(slot->stats.last_error_unix_usec, 9);
	assert_true(slot->stats.cpu_usec >= 1000);
	neap_registry_free(registry);
}

static void renew(void *arg, const char *kind, const char *name)
{
	struct neap_registry_slot *slot = neap_registry_find(arg, kind, name);
	struct neap_policy *fresh = NULL;
	struct neap_error err = {0};

	if (neap_policy_load_again(slot->policy, &fresh, &err) == 0)
		neap_registry_renew_take(slot, fresh);
}

/* A script that got no CPU is not punished: a state anew is asked for, which has its
 * parameters. */
static void test_starved(void **state)
{
	static const char text[] =
		"return { api = 1, kind = 'qos', name = 'a',\n"
		"  params = { n = { type = 'integer', default = 1, doc = 'n' } },\n"
		"  tick = function(ctx) while ctx.params.n == 2 do end return {} end }";
	struct neap_registry *registry = neap_registry_new();
	struct neap_sample sample = {.now_unix = 1};
	struct neap_policy *policy = NULL;
	struct neap_registry_slot *slot;
	struct neap_policy_wish *wishes;
	struct neap_error err = {0};
	json_t *params;
	size_t count;

	(void)state;
	neap_registry_set_renew(registry, renew, registry);
	assert_int_equal(neap_policy_load(text, strlen(text), "a.lua", &policy, &err), 0);
	assert_int_equal(neap_policy_set_param(policy, "n", "2", &err), 0);
	assert_int_equal(neap_registry_put_take(registry, policy, 0, 0, &err), 0);
	slot = neap_registry_get(registry, 0);
	(void)neap_policy_tick(slot->policy, &sample, &wishes, &count, &err);
	assert_true(neap_vm_is_dead(neap_policy_vm(slot->policy)));
	assert_false(neap_registry_note(slot, NEAP_TICK_STARVED, &err, 9));
	assert_false(slot->stats.is_failed);
	assert_false(neap_vm_is_dead(neap_policy_vm(slot->policy)));
	params = neap_policy_params(slot->policy);
	assert_int_equal(json_integer_value(json_object_get(params, "n")), 2);
	json_decref(params);
	/* No memory, or no time, for a new one: later then. */
	(void)neap_policy_tick(slot->policy, &sample, &wishes, &count, &err);
	neap_mem_fail_at(1);
	assert_false(neap_registry_note(slot, NEAP_TICK_STARVED, &err, 9));
	neap_mem_fail_at(0);
	assert_true(neap_vm_is_dead(neap_policy_vm(slot->policy)));
	assert_false(neap_registry_note(slot, NEAP_TICK_SKIPPED, &err, 9));
	assert_false(neap_registry_note(slot, NEAP_TICK_PUT_OFF, &err, 9));
	assert_false(slot->stats.is_failed);
	assert_false(neap_registry_note(slot, NEAP_TICK_STARVED, &err, 9));
	assert_false(neap_vm_is_dead(neap_policy_vm(slot->policy)));
	neap_registry_free(registry);
}

/* Another place, as the configuration says it anew, with all that the slot holds. */
static void test_reorder(void **state)
{
	struct neap_registry *registry = neap_registry_new();

	(void)state;
	(void)neap_registry_put_take(registry, load("a", "return {}"), 5, 0, NULL);
	(void)neap_registry_put_take(registry, load("b", "return {}"), 6, 0, NULL);
	(void)neap_registry_put_take(registry, load("c", "return {}"), 7, 0, NULL);
	neap_registry_hold_take(neap_registry_find(registry, "qos", "c"),
				calloc(2, sizeof(struct neap_policy_wish)), 2);
	neap_registry_reorder(registry, "qos", "c", 1);
	neap_registry_reorder(registry, "qos", "nobody", 1);
	assert_string_equal(name_at(registry, 0), "c");
	assert_int_equal(neap_registry_get(registry, 0)->wish_count, 2);
	(void)neap_registry_put_take(registry, load("c", "return {}, 2"), 9, 0, NULL);
	assert_string_equal(name_at(registry, 0), "a");
	assert_string_equal(name_at(registry, 2), "c");
	assert_int_equal(neap_registry_get(registry, 2)->wish_count, 2);
	assert_int_equal(neap_registry_count(registry), 3);
	assert_false(neap_registry_is_full(registry));
	neap_registry_free(registry);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),     cmocka_unit_test(test_wishes_are_held),
		cmocka_unit_test(test_probation), cmocka_unit_test(test_faults),
		cmocka_unit_test(test_dead),      cmocka_unit_test(test_starved),
		cmocka_unit_test(test_reorder),
	};

	return cmocka_run_group_tests_name("registry", tests, NULL, NULL);
}
