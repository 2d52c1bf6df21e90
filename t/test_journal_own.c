/* SPDX-License-Identifier: Apache-2.0
 *
 * What groups have by themselves, in the hand's journal: known after any end, cut and
 * damaged as it may be, and what becomes of a journal of before there was such a
 * thing. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "t/lib/journal_rig.h"

static const char *own_of(struct neap_journal *journal, const char *group,
			  enum neap_key key)
{
	int index = neap_journal_find(journal, group, key);

	return index < 0 ? NULL : neap_journal_get(journal, index)->own;
}

/* Also when the file was written anew, which each opening does. */
static void own_values_are_known(void **state)
{
	struct neap_journal *journal = journal_open(BOOT);
	int i;

	(void)state;
	assert_int_equal(
		journal_add(journal, "neap/one", NEAP_KEY_CPU_SHARES, "111", NULL), 0);
	assert_int_equal(
		journal_add(journal, "neap/two", NEAP_KEY_CPU_SHARES, "222", NULL), 0);
	journal_own_put(journal, "neap/one", "5");
	journal_own_put(journal, "neap/one", "7");
	journal_own_put(journal, "neap/two", "9");
	for (i = 0; i < 3; i++) {
		neap_journal_free(journal);
		journal = journal_open(BOOT);
		assert_string_equal(own_of(journal, "neap/one", NEAP_KEY_CPU_SHARES),
				    "7");
		assert_string_equal(
			journal_value_of(journal, "neap/one", NEAP_KEY_CPU_SHARES),
			"111");
		if (i == 0)
			journal_own_put(journal, "neap/two", NULL);
		else
			assert_null(own_of(journal, "neap/two", NEAP_KEY_CPU_SHARES));
	}
	/* It goes with its entry. */
	neap_journal_drop(journal,
			  neap_journal_find(journal, "neap/one", NEAP_KEY_CPU_SHARES));
	assert_int_equal(journal_add(journal, "neap/one", NEAP_KEY_CPU_SHARES, "1", NULL),
			 0);
	assert_null(own_of(journal, "neap/one", NEAP_KEY_CPU_SHARES));
	neap_journal_free(journal);
	journal = journal_open(BOOT);
	assert_null(own_of(journal, "neap/one", NEAP_KEY_CPU_SHARES));
	neap_journal_free(journal);
}

/* Cut or damaged anywhere, an own value is one that was told, or none, or there is no
 * entry. */
static void own_values_are_whole(void **state)
{
	struct neap_journal *journal = journal_open(BOOT);
	char text[4096];
	size_t len, at;
	int round;

	(void)state;
	assert_int_equal(
		journal_add(journal, "neap/one", NEAP_KEY_CPU_SHARES, "111", NULL), 0);
	journal_own_put(journal, "neap/one", "55");
	journal_own_put(journal, "neap/one", "77");
	len = journal_file_read(text, sizeof(text));
	neap_journal_free(journal);
	for (round = 0; round < 2; round++)
		for (at = 0; at < len; at++) {
			const char *own;

			text[at] ^= (char)(round ? FLIP : 0);
			journal_file_write(text, round ? len : at);
			text[at] ^= (char)(round ? FLIP : 0);
			journal = journal_open(BOOT);
			own = own_of(journal, "neap/one", NEAP_KEY_CPU_SHARES);
			if (own && strcmp(own, "55") != 0 && strcmp(own, "77") != 0)
				fail_msg("byte %zu: %s", at, own);
			if (neap_journal_count(journal) == 1)
				journal_own_put(journal, "neap/one", "88");
			neap_journal_free(journal);
			journal = journal_open(BOOT);
			if (neap_journal_count(journal) == 1)
				assert_string_equal(
					own_of(journal, "neap/one", NEAP_KEY_CPU_SHARES),
					"88");
			neap_journal_free(journal);
		}
}

/* What a pod had by itself a journal of before does not tell from what a policy wrote
 * over it: that stays as it is until it is told, and what it holds besides is taken
 * up. */
static void format_1_is_read(void **state)
{
	static const struct {
		const char *line, *group, *own;
		enum neap_key key;
	} old[] = {
		{"value\tneap\tcpu.shares\t1\t2\tasked\t1024", "neap", "-",
		 NEAP_KEY_CPU_SHARES},
		{"value\tneap\tcpu.max_milli\t1\t2\tasked\t-1", "neap", NULL,
		 NEAP_KEY_CPU_MAX_MILLI},
		{"value\tneap/p\tcpu.max_milli\t1\t2\tasked\t-1", "neap/p", "-",
		 NEAP_KEY_CPU_MAX_MILLI},
		{"value\tneap/p\tpids.max\t1\t2\tasked\tmax", "neap/p", "-",
		 NEAP_KEY_PIDS_MAX},
		{"value\tneap/p\tcpu.idle\t1\t2\tasked\t0", "neap/p", NULL,
		 NEAP_KEY_CPU_IDLE},
		{"value\tkubepods/x\tcpu.shares\t1\t2\tasked\t7", "kubepods/x", NULL,
		 NEAP_KEY_CPU_SHARES},
	};
	static const char *const more[] = {HEAD("1"), "made\tneap", "made\tneap/p",
					   "origin\tneap/p\tpod"};
	char text[2048];
	size_t len = 0, i;
	int round;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(more); i++)
		len += journal_line_make(text + len, sizeof(text) - len, more[i]);
	for (i = 0; i < NEAP_ARRAY_LEN(old); i++)
		len += journal_line_make(text + len, sizeof(text) - len, old[i].line);
	journal_file_write(text, len);
	/* As it was, and as the first opening wrote it anew. */
	for (round = 0; round < 2; round++) {
		struct neap_journal *journal = journal_open(BOOT);
		struct neap_journal_look look = {0};

		assert_int_equal(neap_journal_count(journal), NEAP_ARRAY_LEN(old));
		neap_journal_stay_look(journal, NULL, NULL);
		for (i = 0; i < NEAP_ARRAY_LEN(old); i++) {
			const struct neap_journal_entry *entry = neap_journal_get(
				journal,
				neap_journal_find(journal, old[i].group, old[i].key));

			if ((entry->own != NULL) != (old[i].own != NULL) ||
			    entry->stays != (old[i].own != NULL) ||
			    entry->is_back != entry->stays)
				fail_msg("%s: %s", old[i].line, entry->own);
		}
		assert_int_equal(neap_journal_look(journal_dir_fd, BOOT, &look, NULL), 0);
		assert_int_equal(look.values_of_pods, 3);
		neap_journal_free(journal);
		(void)journal_file_read(text, sizeof(text));
		assert_memory_equal(text, HEAD("2"), strlen(HEAD("2")));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(own_values_are_known, journal_rig_setup,
						journal_rig_teardown),
		cmocka_unit_test_setup_teardown(own_values_are_whole, journal_rig_setup,
						journal_rig_teardown),
		cmocka_unit_test_setup_teardown(format_1_is_read, journal_rig_setup,
						journal_rig_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
