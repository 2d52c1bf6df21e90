/* SPDX-License-Identifier: Apache-2.0
 *
 * What containers printed, read back from files as their shims write them: lines and
 * parts of lines, the last ones, by time, up to a limit, through renamed and removed
 * files. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "t/lib/log_files.h"

#define NOON_S INT64_C(1795305600) /* 2026-11-22T00:00:00Z */

/* --- tables --- */

#define ALL                                                                              \
	{                                                                                \
		-1, -1, 0, false, false                                                  \
	}

static const struct {
	const char *name;
	const char *files[8]; /* name and content */
	struct neap_log_wish wish;
	const char *want;
} rows[] = {
	{"nothing at all", {NULL}, ALL, ""},
	{"an empty file", {"log", ""}, ALL, ""},
	{"lines", {"log", F(1, "a") F(2, "") F(3, "c  ")}, ALL, "a\n\nc  \n"},
	{"no blank before no text", {"log", T(1) " stdout F\n"}, ALL, "\n"},
	{"with times",
	 {"log", F(1, "a") F(2, "b")},
	 {-1, -1, 0, true, false},
	 T(1) " a\n" T(2) " b\n"},
	{"parts of a line",
	 {"log", P(1, "a ") P(2, "b") F(3, "c") F(4, "d")},
	 ALL,
	 "a bc\nd\n"},
	{"one time for all parts",
	 {"log", P(1, "a") F(3, "c") F(4, "d")},
	 {-1, -1, 0, true, false},
	 T(1) " ac\n" T(4) " d\n"},
	{"a part that is the end", {"log", F(1, "a") P(2, "b")}, ALL, "a\nb"},
	{"half a line", {"log", F(1, "a") T(2) " stdout F half"}, ALL, "a\n"},
	{"half of the first line", {"log", T(2) " std"}, ALL, ""},
	{"what is no line",
	 {"log",
	  "x\n\n" F(1, "a") T(1) " stdxxx F b\n" T(1) " stdout X b\n" T(
		  1) " stdout Fb\n2026-11-22 00:00:00.000000000Z stdout F x\n" F(2, "c")},
	 ALL,
	 "a\nc\n"},
	{"older files first",
	 {"log", F(5, "e"), "log.1", F(3, "c") F(4, "d"), "log.10", F(1, "a"), "log.2",
	  F(2, "b")},
	 ALL,
	 "a\nb\nc\nd\ne\n"},
	{"names that are none of them",
	 {"log", F(5, "e"), "log.x", F(1, "x"), "log.01", F(1, "x"), "logs", F(1, "x")},
	 ALL,
	 "e\n"},
	{"no newest file", {"log.1", F(3, "c"), "log.3", F(1, "a")}, ALL, "a\nc\n"},
	{"half a line in an older file",
	 {"log", F(5, "e"), "log.1", F(3, "c") T(4) " stdout F ha"},
	 ALL,
	 "c\ne\n"},
	{"the last none", {"log", F(1, "a") F(2, "b")}, {0, -1, 0, false, false}, ""},
	{"the last one", {"log", F(1, "a") F(2, "b")}, {1, -1, 0, false, false}, "b\n"},
	{"the last two of two",
	 {"log", F(1, "a") F(2, "b")},
	 {2, -1, 0, false, false},
	 "a\nb\n"},
	{"the last of fewer",
	 {"log", F(1, "a") F(2, "b")},
	 {9, -1, 0, false, false},
	 "a\nb\n"},
	{"the last, with half a line behind",
	 {"log", F(1, "a") F(2, "b") T(3) " stdout F half"},
	 {1, -1, 0, false, false},
	 "b\n"},
	{"the last, whose parts count as one",
	 {"log", F(1, "a") P(2, "b") P(3, "c") F(4, "d")},
	 {1, -1, 0, false, false},
	 "bcd\n"},
	{"the last, without its end yet",
	 {"log", F(1, "a") P(2, "b") P(3, "c")},
	 {1, -1, 0, false, false},
	 "bc"},
	{"the last across files",
	 {"log", F(5, "e"), "log.1", F(3, "c") F(4, "d"), "log.2", F(1, "a") F(2, "b")},
	 {4, -1, 0, false, false},
	 "b\nc\nd\ne\n"},
	{"the last of the file before",
	 {"log", "", "log.1", F(3, "c") F(4, "d")},
	 {1, -1, 0, false, false},
	 "d\n"},
	{"the last of parts across files",
	 {"log", F(5, "e"), "log.1", F(3, "c") P(4, "d")},
	 {1, -1, 0, false, false},
	 "de\n"},
	{"since",
	 {"log", F(1, "a") F(2, "b") F(3, "c")},
	 {-1, -1, (NOON_S + 2) * 1000000, false, false},
	 "b\nc\n"},
	{"since a part of a second",
	 {"log", F(1, "a") F(2, "b") F(3, "c")},
	 {-1, -1, (NOON_S + 2) * 1000000 + 1, false, false},
	 "c\n"},
	{"since, of a line as its first part",
	 {"log", P(1, "a") F(3, "b") F(4, "c")},
	 {-1, -1, (NOON_S + 2) * 1000000, false, false},
	 "c\n"},
	{"since, of the last ones",
	 {"log", F(1, "a") F(2, "b") F(3, "c")},
	 {2, -1, (NOON_S + 3) * 1000000, false, false},
	 "c\n"},
	{"a limit",
	 {"log", F(1, "abc") F(2, "def")},
	 {-1, 6, 0, false, false},
	 "abc\nde"},
	{"a limit at an end",
	 {"log", F(1, "abc") F(2, "def")},
	 {-1, 4, 0, false, false},
	 "abc\n"},
	{"a limit that is not reached",
	 {"log", F(1, "abc")},
	 {-1, 100, 0, false, false},
	 "abc\n"},
	{"a limit with times",
	 {"log", F(1, "abc")},
	 {-1, 33, 0, true, false},
	 T(1) " ab"},
};

static void each_row(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		char dir[] = "/tmp/neap-log-XXXXXX";
		neap_auto_buf struct neap_buf out = {0};
		struct neap_log_wish wish = rows[i].wish;

		assert_non_null(mkdtemp(dir));
		for (int k = 0; k < 8 && rows[i].files[k]; k += 2)
			log_file_write(dir, rows[i].files[k], rows[i].files[k + 1],
				       false);
		neap_buf_init(&out, NEAP_BUF_FILE);
		/* And as who follows until the end sees it. */
		for (int k = 0; k < 2; k++) {
			struct neap_log_read *read = log_read_open(dir, &wish);

			neap_buf_clear(&out);
			if (log_read_drain(read, &out) != NEAP_LOG_END)
				fail_msg("%s: no end", rows[i].name);
			if (strcmp(out.data, rows[i].want) != 0)
				fail_msg("%s (follow %d): '%s', wanted '%s'",
					 rows[i].name, k, out.data, rows[i].want);
			neap_log_read_free(read);
			wish.is_follow = true;
			log_file_write(dir, "exit", "", false);
		}
		log_files_clear(dir, true);
	}
}

/* --- files that change under a reader --- */

static void follow(void **state)
{
	static const struct neap_log_wish wish = {-1, -1, 0, false, true};
	char dir[] = "/tmp/neap-log-XXXXXX";
	neap_auto_buf struct neap_buf out = {0};
	struct neap_log_read *read;

	(void)state;
	assert_non_null(mkdtemp(dir));
	neap_buf_init(&out, NEAP_BUF_FILE);
	read = log_read_open(dir, &wish);
	assert_int_equal(log_read_drain(read, &out), NEAP_LOG_WAITS); /* no file yet */
	log_file_write(dir, "log", F(1, "a") T(2) " stdout F ha", true);
	assert_int_equal(log_read_drain(read, &out), NEAP_LOG_WAITS);
	assert_string_equal(out.data, "a\n");
	log_file_write(dir, "log", "lf\n", true);
	assert_int_equal(log_read_drain(read, &out), NEAP_LOG_WAITS);
	assert_string_equal(out.data, "a\nhalf\n");
	/* Written just before it was renamed, twice while nobody looked, once without a
	 * newest file. */
	log_file_write(dir, "log", F(3, "b"), true);
	log_file_move(dir, "log", "log.1");
	log_file_write(dir, "log", F(4, "c"), true);
	log_file_move(dir, "log.1", "log.2");
	log_file_move(dir, "log", "log.1");
	assert_int_equal(log_read_drain(read, &out), NEAP_LOG_WAITS);
	assert_string_equal(out.data, "a\nhalf\nb\nc\n");
	log_file_write(dir, "log", F(5, "d"), true);
	assert_int_equal(log_read_drain(read, &out), NEAP_LOG_WAITS);
	/* The file that it is in goes: what is there comes. */
	log_files_clear(dir, false);
	log_file_write(dir, "log", F(6, "e"), true);
	log_file_write(dir, "exit", "", true);
	assert_int_equal(log_read_drain(read, &out), NEAP_LOG_END);
	assert_int_equal(log_read_drain(read, &out), NEAP_LOG_END);
	assert_string_equal(out.data, "a\nhalf\nb\nc\nd\ne\n");
	neap_log_read_free(read);
	/* The folder goes; or nobody writes it any more. */
	log_files_clear(dir, false);
	log_file_write(dir, "log", F(6, "e"), true);
	for (int i = 0; i < 2; i++) {
		read = log_read_open(dir, &wish);
		assert_int_equal(log_read_drain(read, &out), NEAP_LOG_WAITS);
		if (i)
			log_files_clear(dir, true);
		else
			neap_log_read_finish(read);
		assert_int_equal(log_read_drain(read, &out), NEAP_LOG_END);
		neap_log_read_free(read);
	}
}

/* Without follow it ends where it ended when it was asked. */
static void snapshot(void **state)
{
	static const struct neap_log_wish wishes[] = {ALL, {5, -1, 0, false, false}};
	neap_auto_buf struct neap_buf out = {0};
	static char block[NEAP_LOG_BLOCK];
	size_t len;

	(void)state;
	neap_buf_init(&out, NEAP_BUF_FILE);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(wishes); i++) {
		char dir[] = "/tmp/neap-log-XXXXXX";
		struct neap_log_read *read;
		struct neap_error err;

		assert_non_null(mkdtemp(dir));
		log_file_write(dir, "log", F(1, "a") F(2, "b") T(3) " stdout F ha", true);
		read = log_read_open(dir, &wishes[i]);
		assert_int_equal(neap_log_read_next(read, block, &len, &err),
				 NEAP_LOG_MORE);
		log_file_write(dir, "log", "lf\n" F(3, "c"), true);
		log_file_move(dir, "log", "log.1");
		log_file_write(dir, "log", F(4, "d"), true);
		neap_buf_clear(&out);
		assert_int_equal(log_read_drain(read, &out), NEAP_LOG_END);
		assert_string_equal(out.data, "a\nb\n");
		neap_log_read_free(read);
		log_files_clear(dir, true);
	}
}

/* Lines longer than what is looked at are none, forwards and backwards, and files of many
 * blocks. */
static void large(void **state)
{
	static const struct neap_log_wish all = ALL, last = {3, -1, 0, false, false};
	char dir[] = "/tmp/neap-log-XXXXXX";
	neap_auto_buf struct neap_buf text = {0}, want = {0}, out = {0};
	struct neap_log_read *read;
	size_t cut;

	(void)state;
	assert_non_null(mkdtemp(dir));
	neap_buf_init(&text, 4 * NEAP_BUF_FILE);
	neap_buf_init(&want, 4 * NEAP_BUF_FILE);
	neap_buf_init(&out, 4 * NEAP_BUF_FILE);
	for (int i = 0; i < 20000; i++) {
		neap_buf_addf(&text, T(1) " stdout F line %d\n", i);
		neap_buf_addf(&want, "line %d\n", i);
	}
	cut = want.len;
	neap_buf_adds(&text, F(2, "first"));
	neap_buf_adds(&text, T(3) " stdout F ");
	for (int i = 0; i < 200000; i++)
		neap_buf_addc(&text, 'x');
	neap_buf_addc(&text, '\n');
	neap_buf_adds(&text, F(4, "second") F(5, "third"));
	neap_buf_adds(&want, "first\nsecond\nthird\n");
	assert_false(neap_buf_failed(&text));
	log_file_write(dir, "log", text.data, false);
	read = log_read_open(dir, &all);
	assert_int_equal(log_read_drain(read, &out), NEAP_LOG_END);
	assert_string_equal(out.data, want.data);
	neap_log_read_free(read);
	neap_buf_clear(&out);
	read = log_read_open(dir, &last);
	assert_int_equal(log_read_drain(read, &out), NEAP_LOG_END);
	assert_string_equal(out.data, want.data + cut);
	neap_log_read_free(read);
	log_files_clear(dir, true);
}

static void attempts(void **state)
{
	static const struct {
		const char *names[5];
		int newest, before;
	} cases[] = {
		{{NULL}, -1, -1},
		{{"0"}, 0, -1},
		{{"0", "1", "10", "9"}, 10, 9},
		{{"3", "x", "-4", "007"}, 3, -1},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(cases); i++) {
		char dir[] = "/tmp/neap-log-XXXXXX";
		int fd;

		assert_non_null(mkdtemp(dir));
		for (int k = 0; k < 5 && cases[i].names[k]; k++)
			log_file_write(dir, cases[i].names[k], "", false);
		fd = open(dir, O_RDONLY | O_DIRECTORY);
		assert_int_equal(neap_log_attempt(fd, false), cases[i].newest);
		assert_int_equal(neap_log_attempt(fd, true), cases[i].before);
		close(fd);
		log_files_clear(dir, true);
	}
}

static void hostile_names(void **state)
{
	static const char *const names[] = {"", ".", "..", "a/b", "/etc", "link"};
	char dir[] = "/tmp/neap-log-XXXXXX", path[64];
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	log_file_at(path, sizeof(path), dir, "link");
	assert_int_equal(symlink("/etc", path), 0);
	fd = open(dir, O_RDONLY | O_DIRECTORY);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(names); i++)
		if (neap_log_open(fd, names[i], O_RDONLY) >= 0)
			fail_msg("'%s' was opened", names[i]);
	close(fd);
	log_files_clear(dir, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row), cmocka_unit_test(follow),
		cmocka_unit_test(snapshot), cmocka_unit_test(large),
		cmocka_unit_test(attempts), cmocka_unit_test(hostile_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
