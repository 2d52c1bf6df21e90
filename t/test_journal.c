/* SPDX-License-Identifier: Apache-2.0
 *
 * The hand's journal: what was noted is there again after any end, torn and corrupt lines
 * cost only themselves, another boot makes it void, it does not grow without end, and
 * every failed allocation leaves it whole. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "t/lib/journal_rig.h"

static const struct {
	const char *group;
	enum neap_key key;
	const char *value;
} rows[] = {
	{"neap", NEAP_KEY_CPU_SHARES, "1024"},
	{"neap/a b", NEAP_KEY_CPU_MAX_MILLI, "max 100000"},
	{"neap/back\\slash", NEAP_KEY_CPUSET_CPUS, ""},
	{"neap/\xc3\xa4#%", NEAP_KEY_CPUSET_CPUS, "0-3,7"},
	{"neap/odd", NEAP_KEY_CPUSET_MEMS, "line\nand\ttab"},
	{"neap", NEAP_KEY_MEMORY_MAX_BYTES, "9223372036854771712"},
};

static void remembers(void **state)
{
	struct neap_journal *journal = journal_open(BOOT);
	struct stat st;
	size_t i;
	int index;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		assert_int_equal(journal_add(journal, rows[i].group, rows[i].key,
					     rows[i].value, NULL),
				 0);
	assert_int_equal(neap_journal_made_add(journal, "neap", NULL), 0);
	assert_int_equal(neap_journal_made_add(journal, "neap/x", NULL), 0);
	index = neap_journal_made_find(journal, "neap/x");
	assert_int_equal(
		neap_journal_origin_add(journal, index, "3:cpu:/u\n0::/\n", NULL), 0);
	assert_int_equal(neap_journal_origin_add(journal, index, "later", NULL), 0);
	neap_journal_free(journal);
	assert_int_equal(fstatat(journal_dir_fd, "hand.journal", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0600);

	journal = journal_open(BOOT);
	assert_int_equal(neap_journal_count(journal), NEAP_ARRAY_LEN(rows));
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		index = neap_journal_find(journal, rows[i].group, rows[i].key);
		if (index < 0)
			fail_msg("%s: forgotten", rows[i].group);
		assert_string_equal(neap_journal_get(journal, index)->value,
				    rows[i].value);
		assert_true(neap_journal_get(journal, index)->ino == UINT64_MAX - 1);
	}
	assert_int_equal(neap_journal_made_count(journal), 2);
	index = neap_journal_made_find(journal, "neap/x");
	assert_string_equal(neap_journal_made_get(journal, index)->origin,
			    "3:cpu:/u\n0::/\n");

	neap_journal_drop_group(journal, "neap");
	neap_journal_made_drop(journal, neap_journal_made_find(journal, "neap"));
	neap_journal_free(journal);
	journal = journal_open(BOOT);
	assert_int_equal(neap_journal_count(journal), NEAP_ARRAY_LEN(rows) - 2);
	assert_null(journal_value_of(journal, "neap", NEAP_KEY_CPU_SHARES));
	assert_int_equal(neap_journal_made_count(journal), 1);
	while (neap_journal_count(journal))
		neap_journal_drop(journal, 0);
	neap_journal_made_drop(journal, 0);
	neap_journal_free(journal);
	assert_true(fstatat(journal_dir_fd, "hand.journal", &st, 0) < 0);
}

static void side_effects_are_claimed(void **state)
{
	struct neap_journal_entry entry = {.group = (char *)"g",
					   .value = (char *)"7",
					   .key = NEAP_KEY_CPU_SHARES,
					   .is_side_effect = true};
	struct neap_journal *journal = journal_open(BOOT);

	(void)state;
	assert_int_equal(neap_journal_add(journal, &entry, NULL), 0);
	neap_journal_free(journal);
	journal = journal_open(BOOT);
	assert_true(neap_journal_get(journal, 0)->is_side_effect);
	assert_int_equal(neap_journal_claim(journal, 0, NULL), 0);
	neap_journal_free(journal);
	journal = journal_open(BOOT);
	assert_false(neap_journal_get(journal, 0)->is_side_effect);
	neap_journal_free(journal);
}

/* Cut anywhere, the whole lines before the cut count and nothing else does. */
static void torn_anywhere(void **state)
{
	struct neap_journal *journal = journal_open(BOOT);
	char text[4096];
	size_t len, cut;

	(void)state;
	assert_int_equal(
		journal_add(journal, "neap/one", NEAP_KEY_CPU_SHARES, "111", NULL), 0);
	assert_int_equal(
		journal_add(journal, "neap/two", NEAP_KEY_CPU_SHARES, "222", NULL), 0);
	neap_journal_free(journal);
	len = journal_file_read(text, sizeof(text));
	for (cut = 0; cut <= len; cut++) {
		int lines = 0;
		size_t i;

		for (i = 0; i < cut; i++)
			lines += text[i] == '\n';
		journal_file_write(text, cut);
		journal = journal_open(BOOT);
		assert_int_equal(neap_journal_count(journal), lines > 1 ? lines - 1 : 0);
		/* And it can be written on. */
		assert_int_equal(journal_add(journal, "neap/three", NEAP_KEY_CPU_SHARES,
					     "3", NULL),
				 0);
		neap_journal_free(journal);
		journal = journal_open(BOOT);
		assert_string_equal(
			journal_value_of(journal, "neap/three", NEAP_KEY_CPU_SHARES),
			"3");
		neap_journal_free(journal);
	}
}

/* Without room for a new file the old one goes on, torn line or not, and of this boot or
 * not; what is no journal of ours is left alone. */
static void full_disk_at_start(void **state)
{
	static const char *const boots[] = {BOOT, "another"};
	struct neap_journal *journal = journal_open(BOOT);
	struct neap_error err = {0};
	char text[4096];
	size_t len, i;

	(void)state;
	assert_int_equal(
		journal_add(journal, "neap/one", NEAP_KEY_CPU_SHARES, "111", NULL), 0);
	assert_int_equal(
		journal_add(journal, "neap/two", NEAP_KEY_CPU_SHARES, "222", NULL), 0);
	neap_journal_free(journal);
	len = journal_file_read(text, sizeof(text));
	/* What takes the place of the new file stands in for a disk that has no room for
	 * it. */
	assert_int_equal(mkdirat(journal_dir_fd, "hand.journal.new", 0700), 0);
	for (i = 0; i < NEAP_ARRAY_LEN(boots); i++) {
		journal_file_write(text, len - 3);
		journal = journal_open(boots[i]);
		assert_int_equal(neap_journal_count(journal), i == 0 ? 1 : 0);
		assert_int_equal(journal_add(journal, "neap/three", NEAP_KEY_CPU_SHARES,
					     "3", NULL),
				 0);
		neap_journal_free(journal);
		journal = journal_open(boots[i]);
		assert_int_equal(neap_journal_count(journal), i == 0 ? 2 : 1);
		assert_string_equal(
			journal_value_of(journal, "neap/three", NEAP_KEY_CPU_SHARES),
			"3");
		neap_journal_free(journal);
	}
	journal_file_write("something else\n", 15);
	assert_true(neap_journal_open(journal_dir_fd, BOOT, &journal_quiet, &journal,
				      &err) < 0);
	assert_non_null(strstr(err.msg, "hand.journal.new"));
	assert_int_equal(journal_file_read(text, sizeof(text)), 15);
	assert_int_equal(unlinkat(journal_dir_fd, "hand.journal.new", AT_REMOVEDIR), 0);
}

/* Any changed byte loses the line it is in (the head: everything) and never yields
 * another value. */
static void flipped_anywhere(void **state)
{
	struct neap_journal *journal = journal_open(BOOT);
	char text[4096];
	struct stat st;
	size_t len, at;

	(void)state;
	assert_int_equal(
		journal_add(journal, "neap/one", NEAP_KEY_CPU_SHARES, "111", NULL), 0);
	assert_int_equal(
		journal_add(journal, "neap/two", NEAP_KEY_CPU_SHARES, "222", NULL), 0);
	neap_journal_free(journal);
	len = journal_file_read(text, sizeof(text));
	for (at = 0; at < len; at++) {
		const char *one, *two;

		text[at] ^= FLIP;
		journal_file_write(text, len);
		text[at] ^= FLIP;
		journal = journal_open(BOOT);
		one = journal_value_of(journal, "neap/one", NEAP_KEY_CPU_SHARES);
		two = journal_value_of(journal, "neap/two", NEAP_KEY_CPU_SHARES);
		if ((one && strcmp(one, "111") != 0) ||
		    (two && strcmp(two, "222") != 0) ||
		    neap_journal_count(journal) != (one != NULL) + (two != NULL) ||
		    (one && two))
			fail_msg("byte %zu: %s %s of %d", at, one, two,
				 neap_journal_count(journal));
		neap_journal_free(journal);
	}
	assert_int_equal(fstatat(journal_dir_fd, "hand.journal.bad", &st, 0), 0);
}

/* Bytes that a disk lost are no end of the file. */
static void zeroed_in_between(void **state)
{
	struct neap_journal *journal = journal_open(BOOT);
	char text[4096];
	struct stat st;
	size_t len;
	char *at;

	(void)state;
	assert_int_equal(
		journal_add(journal, "neap/one", NEAP_KEY_CPU_SHARES, "111", NULL), 0);
	assert_int_equal(
		journal_add(journal, "neap/two", NEAP_KEY_CPU_SHARES, "222", NULL), 0);
	neap_journal_free(journal);
	len = journal_file_read(text, sizeof(text) - 1);
	text[len] = '\0';
	at = strstr(text, "\t111\t");
	assert_non_null(at);
	memset(at, 0, 5);
	journal_file_write(text, len);
	journal = journal_open(BOOT);
	assert_int_equal(neap_journal_count(journal), 1);
	assert_string_equal(journal_value_of(journal, "neap/two", NEAP_KEY_CPU_SHARES),
			    "222");
	neap_journal_free(journal);
	assert_int_equal(fstatat(journal_dir_fd, "hand.journal.bad", &st, 0), 0);
}

static void other_boot(void **state)
{
	struct neap_journal *journal = journal_open(BOOT);

	(void)state;
	assert_int_equal(journal_add(journal, "neap", NEAP_KEY_CPU_SHARES, "1", NULL), 0);
	assert_int_equal(neap_journal_made_add(journal, "neap", NULL), 0);
	neap_journal_free(journal);
	journal = journal_open("another");
	assert_int_equal(neap_journal_count(journal), 0);
	assert_int_equal(neap_journal_made_count(journal), 0);
	neap_journal_free(journal);
	journal = journal_open(NULL); /* the machine's own */
	neap_journal_free(journal);
}

#define VALUE_KNOWN "value\tneap/one\tcpu.shares\t1\t2\tasked\t111"

/* What a newer neapd left in force is neither acted on nor lost. */
static void newer_is_refused(void **state)
{
	static const struct {
		const char *name, *head, *line;
		bool refused;
		const char *says;
	} newer[] = {
		{"next version", HEAD("3"), VALUE_KNOWN, true, "version 3,"},
		{"with a longer head", "neap-hand-journal\t12\t" BOOT "\tmore", "any",
		 true, "version 12,"},
		{"next version, other boot", "neap-hand-journal\t3\tother", VALUE_KNOWN,
		 false, ""},
		{"new key", HEAD("2"), "value\tneap\tcpu.novel\t1\t2\tasked\t1", true,
		 "the key cpu.novel,"},
		{"new key, other boot", "neap-hand-journal\t1\tother",
		 "value\tneap\tcpu.novel\t1\t2\tasked\t1", false, ""},
		{"new kind", HEAD("2"), "moved\tneap\t7", true,
		 "a line of another kind,"},
		{"new key in an older one", HEAD("1"),
		 "value\tneap\tcpu.novel\t1\t2\tasked\t1", true, "the key cpu.novel,"},
		{"own value of a later form", HEAD("2"),
		 "own\tneap/one\tcpu.shares\t7\tmore", true, "a line of another kind,"},
	};
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(newer); i++) {
		struct neap_journal *journal = NULL;
		struct neap_journal_look look = {0};
		struct neap_error err = {0};
		char text[1024], after[1024];
		struct stat st;
		size_t len;
		int rc;

		len = journal_line_make(text, sizeof(text), newer[i].head);
		len += journal_line_make(text + len, sizeof(text) - len, newer[i].line);
		journal_file_write(text, len);
		rc = neap_journal_look(journal_dir_fd, BOOT, &look, &err);
		if (rc != (newer[i].refused ? -NEAP_EUNSUPPORTED : 0))
			fail_msg("%s: look gives %d", newer[i].name, rc);
		if (!newer[i].refused)
			assert_true(look.is_there && look.is_void && look.values == 0);
		rc = neap_journal_open(journal_dir_fd, BOOT, &journal_quiet, &journal,
				       &err);
		neap_journal_free(journal);
		if (!newer[i].refused) {
			assert_int_equal(rc, 0);
			continue;
		}
		if (rc != -NEAP_EUNSUPPORTED || !strstr(err.msg, newer[i].says) ||
		    !strstr(err.msg, "then start this one"))
			fail_msg("%s: %d '%s'", newer[i].name, rc, err.msg);
		if (journal_file_read(after, sizeof(after)) != len ||
		    memcmp(after, text, len) != 0)
			fail_msg("%s: the file was changed", newer[i].name);
		assert_true(fstatat(journal_dir_fd, "hand.journal.bad", &st, 0) < 0);
	}
}

/* A newer head whose check sum is made in another way, or is damaged: nobody can tell
 * which. */
static void newer_with_another_sum(void **state)
{
	static const char text[] = "neap-hand-journal\t3\t" BOOT "\t!abcdef\n";
	struct neap_error err = {0};

	(void)state;
	journal_file_write(text, sizeof(text) - 1);
	assert_int_equal(neap_journal_look(journal_dir_fd, BOOT, NULL, &err),
			 -NEAP_EUNSUPPORTED);
	assert_non_null(strstr(err.msg, "version 3,"));
}

static void look_counts(void **state)
{
	struct neap_journal *journal = journal_open(BOOT);
	struct neap_journal_look look = {0};
	char text[2048], after[2048];
	size_t len;

	(void)state;
	assert_int_equal(
		journal_add(journal, "neap/one", NEAP_KEY_CPU_SHARES, "111", NULL), 0);
	assert_int_equal(
		journal_add(journal, "neap/two", NEAP_KEY_CPU_SHARES, "222", NULL), 0);
	assert_int_equal(neap_journal_made_add(journal, "neap", NULL), 0);
	len = journal_file_read(text, sizeof(text));
	assert_int_equal(neap_journal_look(journal_dir_fd, BOOT, &look, NULL), 0);
	assert_true(look.is_there && !look.is_void);
	assert_int_equal(look.values, 2);
	assert_int_equal(look.groups, 1);
	assert_int_equal(journal_file_read(after, sizeof(after)), len);
	neap_journal_free(journal);
	assert_int_equal(unlinkat(journal_dir_fd, "hand.journal", 0), 0);
	assert_int_equal(neap_journal_look(journal_dir_fd, BOOT, &look, NULL), 0);
	assert_false(look.is_there);
}

static void stays_small(void **state)
{
	struct neap_journal *journal = journal_open(BOOT);
	size_t most = 0;
	int i;

	(void)state;
	assert_int_equal(
		journal_add(journal, "neap/kept", NEAP_KEY_CPU_SHARES, "9", NULL), 0);
	for (i = 0; i < 5000; i++) {
		assert_int_equal(
			journal_add(journal, "neap", NEAP_KEY_CPU_IDLE, "0", NULL), 0);
		neap_journal_drop(journal,
				  neap_journal_find(journal, "neap", NEAP_KEY_CPU_IDLE));
		journal_own_put(journal, "neap/kept", i % 2 ? "1" : "2");
		if (neap_journal_line_count(journal) > most)
			most = neap_journal_line_count(journal);
	}
	assert_true(most < 1200);
	neap_journal_free(journal);
	journal = journal_open(BOOT);
	assert_int_equal(neap_journal_count(journal), 1);
	neap_journal_free(journal);
}

static void unsafe_files(void **state)
{
	static const struct {
		const char *name;
		mode_t mode;
		bool is_link, is_dir;
	} bad[] = {
		{"writable by others", 0602, false, false},
		{"link", 0600, true, false},
		{"directory", 0700, false, true},
	};
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(bad); i++) {
		struct neap_journal *journal = NULL;
		struct neap_error err = {0};

		if (bad[i].is_link)
			assert_int_equal(
				symlinkat("/dev/null", journal_dir_fd, "hand.journal"),
				0);
		else if (bad[i].is_dir)
			assert_int_equal(mkdirat(journal_dir_fd, "hand.journal", 0700),
					 0);
		else
			journal_file_write("", 0);
		if (!bad[i].is_link)
			assert_int_equal(
				fchmodat(journal_dir_fd, "hand.journal", bad[i].mode, 0),
				0);
		if (neap_journal_open(journal_dir_fd, BOOT, &journal_quiet, &journal,
				      &err) >= 0)
			fail_msg("%s: taken", bad[i].name);
		assert_int_equal(unlinkat(journal_dir_fd, "hand.journal",
					  bad[i].is_dir ? AT_REMOVEDIR : 0),
				 0);
	}
}

/* Each allocation fails once: either the call fails and nothing is noted, or it is there
 * again. */
static void torture(void **state)
{
	uint64_t n;
	int rc = -1;

	(void)state;
	for (n = 1; rc < 0 && n < 200; n++) {
		struct neap_journal *journal = NULL;
		struct neap_error err = {0};
		int added = -1;

		neap_mem_fail_at(n);
		rc = neap_journal_open(journal_dir_fd, BOOT, &journal_quiet, &journal,
				       &err);
		if (rc == 0) {
			rc = added = journal_add(journal, "neap", NEAP_KEY_CPU_SHARES,
						 "5", &err);
			if (rc == 0)
				rc = neap_journal_made_add(journal, "neap", &err);
			if (rc == 0)
				rc = neap_journal_origin_add(journal, 0, "0::/", &err);
			if (rc == 0)
				rc = neap_journal_own_set(journal, 0, "7", &err);
		}
		neap_mem_fail_at(0);
		neap_journal_free(journal);
		journal = journal_open(BOOT);
		assert_int_equal(neap_journal_count(journal), added == 0);
		if (rc == 0)
			assert_string_equal(neap_journal_get(journal, 0)->own, "7");
		if (rc == 0)
			assert_int_equal(neap_journal_made_count(journal), 1);
		if (neap_journal_count(journal))
			neap_journal_drop(journal, 0);
		if (neap_journal_made_count(journal))
			neap_journal_made_drop(journal, 0);
		neap_journal_free(journal);
	}
	assert_int_equal(rc, 0);
	assert_true(n > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(remembers, journal_rig_setup,
						journal_rig_teardown),
		cmocka_unit_test_setup_teardown(side_effects_are_claimed,
						journal_rig_setup, journal_rig_teardown),
		cmocka_unit_test_setup_teardown(torn_anywhere, journal_rig_setup,
						journal_rig_teardown),
		cmocka_unit_test_setup_teardown(full_disk_at_start, journal_rig_setup,
						journal_rig_teardown),
		cmocka_unit_test_setup_teardown(flipped_anywhere, journal_rig_setup,
						journal_rig_teardown),
		cmocka_unit_test_setup_teardown(zeroed_in_between, journal_rig_setup,
						journal_rig_teardown),
		cmocka_unit_test_setup_teardown(other_boot, journal_rig_setup,
						journal_rig_teardown),
		cmocka_unit_test_setup_teardown(newer_is_refused, journal_rig_setup,
						journal_rig_teardown),
		cmocka_unit_test_setup_teardown(newer_with_another_sum, journal_rig_setup,
						journal_rig_teardown),
		cmocka_unit_test_setup_teardown(look_counts, journal_rig_setup,
						journal_rig_teardown),
		cmocka_unit_test_setup_teardown(stays_small, journal_rig_setup,
						journal_rig_teardown),
		cmocka_unit_test_setup_teardown(unsafe_files, journal_rig_setup,
						journal_rig_teardown),
		cmocka_unit_test_setup_teardown(torture, journal_rig_setup,
						journal_rig_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
