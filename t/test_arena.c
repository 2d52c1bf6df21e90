/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/base/arena.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"

#define PIECES 500

/* Pieces do not overlap: each keeps what was written into it. */
static void test_pieces(void **state)
{
	struct neap_arena arena;
	unsigned char *pieces[PIECES];
	size_t sizes[PIECES];
	uint32_t seed = 7;

	(void)state;
	neap_arena_init(&arena);
	for (int i = 0; i < PIECES; i++) {
		seed = seed * 1664525 + 1013904223;
		sizes[i] = (seed >> 8) % ((i % 10) ? 60 : 3000);
		pieces[i] = neap_arena_alloc(&arena, sizes[i]);
		assert_non_null(pieces[i]);
		assert_int_equal((uintptr_t)pieces[i] % 16, 0);
		for (size_t n = 0; n < sizes[i]; n++)
			assert_int_equal(pieces[i][n], 0);
		memset(pieces[i], i & 0xff, sizes[i]);
	}
	for (int i = 0; i < PIECES; i++)
		for (size_t n = 0; n < sizes[i]; n++)
			assert_int_equal(pieces[i][n], i & 0xff);
	assert_string_equal(neap_arena_strdup(&arena, "text"), "text");
	assert_false(arena.failed);
	assert_null(neap_arena_array(&arena, SIZE_MAX / 4, 16));
	assert_true(arena.failed);
	neap_arena_done(&arena);
	neap_arena_done(&arena);
}

static void test_short_memory(void **state)
{
	struct neap_arena arena = {0};

	(void)state;
	neap_mem_fail_at(1);
	assert_null(neap_arena_strdup(&arena, "text"));
	assert_true(arena.failed);
	assert_string_equal(neap_arena_strdup(&arena, "text"), "text");
	neap_mem_fail_at(1);
	assert_null(neap_arena_alloc(&arena, 5000));
	neap_mem_fail_at(0);
	neap_arena_done(&arena);
}

/* There are many arenas of a few pieces: they need one block, and a small one. */
static void test_small(void **state)
{
	struct neap_arena arena = {0};

	(void)state;
	neap_mem_fail_at(1);
	assert_non_null(neap_arena_alloc(&arena, 0));
	neap_mem_fail_at(2);
	for (int i = 0; i < 10; i++)
		assert_non_null(neap_arena_alloc(&arena, 32));
	assert_true(malloc_usable_size(arena.block) < 400);
	assert_null(neap_arena_alloc(&arena, 32));
	neap_mem_fail_at(0);
	neap_arena_done(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_short_memory),
		cmocka_unit_test(test_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
