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
#include "lua/registry.h"

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
	assert_int_equal(neap_registry_put_take(registry, load("b", "return {}"), NULL),
			 0);
	assert_int_equal(neap_registry_put_take(registry, load("a", "return {}"), NULL),
			 0);
	assert_int_equal(neap_registry_put_take(registry, load("c", "return {}"), NULL),
			 0);
	neap_registry_get(registry, 1)->stats.calls = 7;
	assert_int_equal(neap_registry_put_take(registry, again, NULL), 0);
	assert_int_equal(neap_registry_count(registry), 3);
	assert_string_equal(name_at(registry, 0), "b");
	assert_string_equal(name_at(registry, 1), "a");
	assert_ptr_equal(neap_registry_get(registry, 1)->policy, again);
	assert_int_equal(neap_registry_get(registry, 1)->stats.calls, 0);
	assert_string_equal(name_at(registry, 2), "c");

	for (int i = 3; i < 64; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		assert_int_equal(neap_registry_put_take(registry, load(name, ""), NULL),
				 0);
	}
	assert_int_equal(neap_registry_put_take(registry, load("more", ""), NULL),
			 -NEAP_ETOOLARGE);
	neap_registry_free(registry);
	neap_registry_free(NULL);
}

/* w wishes, h hold, s skipped, e error, b budget, t starved; '!' after the one that fails it. */
static const struct {
	const char *verdicts;
	uint64_t calls, errors, skipped;
	bool is_failed;
} rows[] = {
	{"whswh", 4, 0, 1, false},  {"ee", 2, 2, 0, false},     {"eee!", 3, 3, 0, true},
	{"eeweeh", 6, 4, 0, false}, {"esese!", 3, 3, 2, true},  {"eebw", 4, 2, 0, true},
	{"eebe", 4, 3, 0, true},    {"tttttw", 6, 0, 0, false}, {"etete!", 5, 3, 0, true},
};

static void test_faults(void **state)
{
	static const char letters[] = "whsebt";
	struct neap_error err = {.code = NEAP_EINVAL, .msg = "what"};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_registry *registry = neap_registry_new();
		struct neap_registry_slot *slot;
		int ended = 0;

		(void)neap_registry_put_take(registry, load("a", "return {}"), NULL);
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
	(void)neap_registry_put_take(registry, load("a", "while true do end"), NULL);
	slot = neap_registry_get(registry, 0);
	verdict = neap_policy_tick(slot->policy, &sample, &wishes, &count, &err);
	assert_int_equal(verdict, NEAP_TICK_BUDGET);
	assert_true(neap_registry_note(slot, verdict, &err, 9));
	assert_int_equal(slot->stats.spent, 1);
	assert_int_equal(slot->stats.last_error_unix_usec, 9);
	assert_true(slot->stats.cpu_usec >= 1000);
	neap_registry_free(registry);
}

/* A script that got no CPU is not punished: it gets a state anew, with its parameters. */
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
	assert_int_equal(neap_policy_load(text, strlen(text), "a.lua", &policy, &err), 0);
	assert_int_equal(neap_policy_set_param(policy, "n", "2", &err), 0);
	assert_int_equal(neap_registry_put_take(registry, policy, &err), 0);
	slot = neap_registry_get(registry, 0);
	(void)neap_policy_tick(slot->policy, &sample, &wishes, &count, &err);
	assert_true(neap_vm_is_dead(neap_policy_vm(slot->policy)));
	assert_false(neap_registry_note(slot, NEAP_TICK_STARVED, &err, 9));
	assert_false(slot->stats.is_failed);
	assert_false(neap_vm_is_dead(neap_policy_vm(slot->policy)));
	params = neap_policy_params(slot->policy);
	assert_int_equal(json_integer_value(json_object_get(params, "n")), 2);
	json_decref(params);
	neap_registry_free(registry);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_dead),
		cmocka_unit_test(test_starved),
	};

	return cmocka_run_group_tests_name("registry", tests, NULL, NULL);
}
