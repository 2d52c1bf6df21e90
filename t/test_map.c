/* SPDX-License-Identifier: Apache-2.0
 *
 * The map against an array that is searched from end to end. */
#include "engine/base/map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"

#define KEYS 300

static void test_against_array(void **state)
{
	struct neap_map *map = neap_map_new();
	void *model[KEYS] = {NULL};
	uint32_t seed = 1;
	int op, i;

	(void)state;
	assert_non_null(map);
	for (op = 0; op < 20000; op++) {
		char key[16];
		size_t count = 0;

		seed = seed * 1664525 + 1013904223;
		i = (int)((seed >> 8) % KEYS);
		(void)snprintf(key, sizeof(key), "key-%d", i);
		if ((seed >> 28) < 10) {
			model[i] = &model[(seed >> 4) % KEYS];
			assert_true(neap_map_set(map, key, model[i]));
		} else {
			assert_ptr_equal(neap_map_remove(map, key), model[i]);
			model[i] = NULL;
		}
		assert_ptr_equal(neap_map_find(map, key), model[i]);
		if (op % 1000 != 0)
			continue;
		for (i = 0; i < KEYS; i++) {
			(void)snprintf(key, sizeof(key), "key-%d", i);
			assert_ptr_equal(neap_map_find(map, key), model[i]);
			count += model[i] != NULL;
		}
		assert_int_equal(neap_map_count(map), count);
	}
	neap_map_free(map);
}

/* As full as it gets, so that runs of slots are long and go round the end; emptied in
 * three orders. */
static void test_removal_keeps_the_rest(void **state)
{
	(void)state;
	for (int order = 0; order < 3; order++) {
		struct neap_map *map = neap_map_new();
		char keys[1024][16];
		bool is_there[1024];

		assert_non_null(map);
		for (int i = 0; i < 1024; i++) {
			(void)snprintf(keys[i], sizeof(keys[i]), "n%d", i);
			assert_true(neap_map_set(map, keys[i], keys[i]));
			is_there[i] = true;
		}
		for (int n = 0; n < 1024; n++) {
			int i = order == 0 ? n : order == 1 ? 1023 - n : n * 389 % 1024;

			assert_ptr_equal(neap_map_remove(map, keys[i]), keys[i]);
			assert_null(neap_map_remove(map, keys[i]));
			is_there[i] = false;
			assert_int_equal(neap_map_count(map), 1023 - n);
			if (n % 37 != 0 && n < 1000)
				continue;
			for (int k = 0; k < 1024; k++)
				assert_ptr_equal(neap_map_find(map, keys[k]),
						 is_there[k] ? keys[k] : NULL);
			for (size_t k = 0; k < neap_map_count(map); k++) {
				const char *key;
				void *value = neap_map_at(map, k, &key);

				assert_string_equal(key, value);
			}
		}
		neap_map_free(map);
	}
}

/* What walks from the end may remove what it stands on. */
static void test_removal_while_walking(void **state)
{
	struct neap_map *map = neap_map_new();
	char keys[500][16];

	(void)state;
	for (int i = 0; i < 500; i++) {
		(void)snprintf(keys[i], sizeof(keys[i]), "%d", i);
		assert_true(neap_map_set(map, keys[i], keys[i]));
	}
	for (size_t i = neap_map_count(map); i--;) {
		const char *key;
		const char *value = neap_map_at(map, i, &key);

		if ((value - keys[0]) / 16 % 3)
			assert_ptr_equal(neap_map_remove(map, key), value);
	}
	for (int i = 0; i < 500; i++)
		assert_ptr_equal(neap_map_find(map, keys[i]), i % 3 ? NULL : keys[i]);
	assert_int_equal(neap_map_count(map), 167);
	neap_map_free(map);
}

static void test_order_and_at(void **state)
{
	static const char *const keys[] = {"b", "a", "c", ""};
	struct neap_map *map = neap_map_new();
	const char *key;
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(keys); i++)
		assert_true(neap_map_set(map, keys[i], (void *)keys[i]));
	for (i = 0; i < NEAP_ARRAY_LEN(keys); i++) {
		assert_ptr_equal(neap_map_at(map, i, &key), keys[i]);
		assert_string_equal(key, keys[i]);
	}
	assert_null(neap_map_remove(map, "none"));
	neap_map_free(map);
	neap_map_free(NULL);
}

static void test_no_memory(void **state)
{
	uint64_t n;

	(void)state;
	for (n = 1; n < 200; n++) {
		struct neap_map *map;
		bool is_whole = true;
		int i;

		neap_mem_fail_at(n);
		map = neap_map_new();
		for (i = 0; map != NULL && i < 40; i++) {
			char key[16];

			(void)snprintf(key, sizeof(key), "k%d", i);
			if (!neap_map_set(map, key, map)) {
				is_whole = false;
				assert_null(neap_map_find(map, key));
			}
		}
		neap_mem_fail_at(0);
		neap_map_free(map);
		if (map != NULL && is_whole)
			return;
	}
	fail_msg("an allocation fails for ever");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_array),
		cmocka_unit_test(test_removal_keeps_the_rest),
		cmocka_unit_test(test_removal_while_walking),
		cmocka_unit_test(test_order_and_at),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
