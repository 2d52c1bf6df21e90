/* SPDX-License-Identifier: Apache-2.0
 *
 * The audit ring. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <string.h>

#include "engine/base/mem.h"
#include "engine/log/audit.h"

static void fill(struct neap_audit *audit, uint64_t count)
{
	for (uint64_t i = 1; i <= count; i++) {
		struct neap_audit_entry entry = {.unix_usec = (int64_t)i * 10,
						 .what = "set"};

		assert_int_equal(neap_audit_add(audit, &entry), i);
	}
}

/* size of the ring, entries added, number asked for, number got (0 none). */
static const struct {
	size_t size;
	uint64_t added, asked, got;
} rows[] = {
	{4, 0, 0, 0},
	{4, 0, 1, 0},
	{4, 1, 0, 1},
	{4, 1, 1, 1},
	{4, 1, 2, 0},
	{4, 4, 1, 1},
	{4, 4, 4, 4},
	{4, 4, 5, 0},
	{4, 5, 0, 2},
	{4, 5, 1, 2},
	{4, 5, 2, 2},
	{4, 5, 5, 5},
	{4, 11, 1, 8},
	{4, 11, 9, 9},
	{4, 11, 12, 0},
	{1, 3, 1, 3},
	{0, 3, 1, 3},
	{7, 100, 1, 94},
	{7, 100, UINT64_MAX, 0},
};

static void find_from(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_audit *audit = neap_audit_new(rows[i].size);
		const struct neap_audit_entry *entry;

		fill(audit, rows[i].added);
		entry = neap_audit_find_from(audit, rows[i].asked);
		if ((entry ? entry->seq : 0) != rows[i].got)
			fail_msg("row %zu: got %llu", i,
				 entry ? (unsigned long long)entry->seq : 0);
		if (entry)
			assert_int_equal(entry->unix_usec, entry->seq * 10);
		assert_int_equal(neap_audit_last(audit), rows[i].added);
		neap_audit_free(audit);
	}
}

/* Reading on from the last number seen gives each entry once. */
static void read_on(void **state)
{
	struct neap_audit *audit = neap_audit_new(8);
	const struct neap_audit_entry *entry;
	uint64_t seen = 0, want = 3;

	(void)state;
	fill(audit, 10);
	for (; (entry = neap_audit_find_from(audit, seen + 1)); seen = entry->seq)
		assert_int_equal(entry->seq, want++);
	assert_int_equal(want, 11);
	neap_audit_free(audit);
}

static void texts_end(void **state)
{
	struct neap_audit *audit = neap_audit_new(2);
	const struct neap_audit_entry *got;
	struct neap_audit_entry entry;

	(void)state;
	memset(&entry, 'x', sizeof(entry));
	entry.dry_run = true;
	got = neap_audit_find_from(audit, neap_audit_add(audit, &entry));
	assert_int_equal(strlen(got->what), sizeof(got->what) - 1);
	assert_int_equal(strlen(got->group), sizeof(got->group) - 1);
	assert_int_equal(strlen(got->key), sizeof(got->key) - 1);
	assert_int_equal(strlen(got->old_value), sizeof(got->old_value) - 1);
	assert_int_equal(strlen(got->new_value), sizeof(got->new_value) - 1);
	assert_int_equal(strlen(got->policy), sizeof(got->policy) - 1);
	assert_int_equal(strlen(got->why), sizeof(got->why) - 1);
	neap_audit_free(audit);
}

static void no_memory(void **state)
{
	(void)state;
	neap_mem_fail_at(1);
	assert_null(neap_audit_new(10));
	assert_null(neap_audit_new(SIZE_MAX / 4));
	neap_audit_free(NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(find_from),
		cmocka_unit_test(read_on),
		cmocka_unit_test(texts_end),
		cmocka_unit_test(no_memory),
	};
	const char *only = getenv("CASE");

	if (only && *only)
		cmocka_set_test_filter(only);
	return cmocka_run_group_tests_name("audit", tests, NULL, NULL);
}
