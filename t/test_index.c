/* SPDX-License-Identifier: Apache-2.0
 *
 * The index against an array of flags, over enough names that pieces split and go. */
#include "api/store/index.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define NAMES 4000

static void name_of(int i, char *ns, char *name, size_t size)
{
	(void)snprintf(ns, size, "ns-%d", i % 3);
	(void)snprintf(name, size, "%05d", i / 3);
}

/* The order of lists: namespace first. */
static int in_order(int k)
{
	int per_ns = (NAMES + 2) / 3;

	return (k % per_ns) * 3 + k / per_ns;
}

static void check_all(const struct neap_index *index, const bool *model)
{
	struct neap_index_walk walk;
	const struct neap_entry *entry;
	size_t count = 0;
	int k = 0, per_ns = (NAMES + 2) / 3;

	neap_index_walk_start(index, "", "", &walk);
	while ((entry = neap_index_walk_next(index, &walk)) != NULL) {
		char ns[32], name[32];

		while (k < per_ns * 3 && (in_order(k) >= NAMES || !model[in_order(k)]))
			k++;
		assert_true(k < per_ns * 3);
		name_of(in_order(k), ns, name, sizeof(ns));
		assert_string_equal(entry->ns, ns);
		assert_string_equal(entry->name, name);
		k++;
		count++;
	}
	assert_int_equal(count, neap_index_count(index));
}

static void test_against_flags(void **state)
{
	struct neap_index *index = neap_index_new();
	static bool model[NAMES];
	uint32_t seed = 7;
	int op;

	(void)state;
	for (op = 0; op < 60000; op++) {
		char ns[32], name[32];
		struct neap_entry *entry;
		int i;

		seed = seed * 1664525 + 1013904223;
		i = (int)((seed >> 8) % NAMES);
		name_of(i, ns, name, sizeof(ns));
		entry = neap_index_find(index, ns, name);
		assert_int_equal(entry != NULL, model[i]);
		/* Fills up, then empties. */
		if ((seed >> 24) % 10 < (op < 30000 ? 7 : 2)) {
			struct neap_entry *added = neap_index_add(index, ns, name);

			assert_non_null(added);
			assert_true(entry == NULL || entry == added);
			model[i] = true;
		} else if (entry != NULL) {
			neap_index_remove(index, entry);
			model[i] = false;
		}
		if (op % 5000 == 0)
			check_all(index, model);
	}
	check_all(index, model);
	neap_index_free(index);
}

static void test_after(void **state)
{
	struct neap_index *index = neap_index_new();

	(void)state;
	assert_null(neap_index_after(index, "", ""));
	assert_non_null(neap_index_add(index, "a", "x"));
	assert_non_null(neap_index_add(index, "b", "a"));
	assert_string_equal(neap_index_after(index, "", "")->name, "x");
	assert_string_equal(neap_index_after(index, "a", "")->name, "x");
	assert_string_equal(neap_index_after(index, "a", "w")->name, "x");
	assert_string_equal(neap_index_after(index, "a", "x")->name, "a");
	assert_null(neap_index_after(index, "b", "a"));
	assert_null(neap_index_after(index, "c", ""));
	neap_index_free(index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_flags),
		cmocka_unit_test(test_after),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
