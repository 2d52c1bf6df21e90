/* SPDX-License-Identifier: Apache-2.0
 *
 * What neapctl prints and reads: clean texts, cut texts, tables, options. */
#include "api/ctl/draw/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/ctl/base/option.h"
#include "api/ctl/draw/text.h"
#include "engine/base/mem.h"

static void check_text(const char *name, const char *got, const char *want)
{
	if (strcmp(got, want) != 0)
		fail_msg("%s: got '%s', wanted '%s'", name, got, want);
}

static void test_clean(void **state)
{
	static const struct {
		const char *name, *text, *want;
		bool keep_lines;
	} rows[] = {
		{"plain", "batch-1", "batch-1"},
		{"UTF-8 stays", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\xa7",
		 "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\xa7"},
		{"escape sequence", "a\033[31mb", "a\\x1b[31mb"},
		{"bell and delete", "\a\x7f", "\\x07\\x7f"},
		{"C1 in UTF-8",
		 "a\xc2\x9b"
		 "31m",
		 "a\\u009b31m"},
		{"C1 as a byte",
		 "a\x9b"
		 "31m",
		 "a\\x9b31m"},
		{"turned writing",
		 "a\xe2\x80\xae"
		 "b",
		 "a\\u202eb"},
		{"no width", "a\xe2\x80\x8b\xef\xbb\xbf", "a\\u200b\\ufeff"},
		{"isolates", "\xe2\x81\xa6x\xe2\x81\xa9", "\\u2066x\\u2069"},
		{"lines", "\xe2\x80\xa8\xe2\x80\xa9", "\\u2028\\u2029"},
		{"tags", "\xf3\xa0\x80\x81", "\\U000e0001"},
		{"overlong NUL", "\xc0\x80", "\\xc0\\x80"},
		{"overlong slash", "\xe0\x80\xaf", "\\xe0\\x80\\xaf"},
		{"surrogate", "\xed\xa0\x80", "\\xed\\xa0\\x80"},
		{"above the last", "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
		{"cut character", "a\xe2\x82", "a\\xe2\\x82"},
		{"line end", "a\nb", "a\\nb"},
		{"line end kept", "a\nb\tc\r\n", "a\nb\\tc\\r\n", true},
	};
	struct neap_buf out;
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		neap_buf_init(&out, NEAP_BUF_LINE);
		neap_text_add_clean(&out, rows[i].text, rows[i].keep_lines);
		check_text(rows[i].name, out.data, rows[i].want);
		neap_buf_done(&out);
	}
}

static void test_cut(void **state)
{
	static const struct {
		const char *name, *text;
		int columns;
		const char *want;
	} rows[] = {
		{"fits", "abc", 3, "abc"},
		{"cut", "abcd", 3, "ab~"},
		{"one column", "abcd", 1, "~"},
		{"none", "abcd", 0, ""},
		{"between characters", "\xc3\xa9\xc3\xa9\xc3\xa9", 2, "\xc3\xa9~"},
	};
	struct neap_buf out;
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		neap_buf_init(&out, NEAP_BUF_LINE);
		neap_text_add_cut(&out, rows[i].text, rows[i].columns);
		check_text(rows[i].name, out.data, rows[i].want);
		neap_buf_done(&out);
	}
}

static const struct neap_table_column columns[] = {
	{"NAME", false, 6}, {"CPU", true}, {"WHY"}, {NULL}};

static struct neap_table *table_new(void)
{
	static const char *const cells[][3] = {{"a", "0.50", "x\033[2J"},
					       {"longer-name", NULL, ""},
					       {"c", "12.00", "busy"}};
	struct neap_table *table = neap_table_new(columns);
	size_t i;

	for (i = 0; table != NULL && i < NEAP_ARRAY_LEN(cells); i++)
		neap_table_add(table, cells[i]);
	return table;
}

static void test_table(void **state)
{
	static const struct {
		const char *name;
		struct neap_table_style style;
		const char *want;
	} rows[] = {
		{"whole",
		 {0},
		 "NAME      CPU  WHY\na        0.50  x\\x1b[2J\nlonge~      -  -\nc       12.00  busy\n"},
		{"narrow",
		 {.columns = 17},
		 "NAME      CPU  W~\na        0.50  x~\nlonge~      -  -\nc       12.00  b~\n"},
		{"a column has no room", {.columns = 8}, "NAME\na\nlonge~\nc\n"},
		{"few rows",
		 {.rows_max = 2},
		 "NAME   CPU  WHY\na     0.50  x\\x1b[2J\nand 2 more\n"},
		{"as many rows as there are",
		 {.rows_max = 3, .columns = 6},
		 "NAME\na\nlonge~\nc\n"},
		{"bold",
		 {.rows_max = 1, .use_color = true},
		 "\033[1mNAME  CPU  WHY\033[0m\nand 3 more\n"},
	};
	struct neap_table *table = table_new();
	struct neap_buf out;
	size_t i;

	(void)state;
	assert_non_null(table);
	assert_int_equal(neap_table_rows(table), 3);
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		neap_buf_init(&out, NEAP_BUF_LINE);
		assert_true(neap_table_format(table, &rows[i].style, &out));
		check_text(rows[i].name, out.data, rows[i].want);
		neap_buf_done(&out);
	}
	neap_table_free(table);
}

/* Of the last column: goes on below itself, or is left out. */
static void test_last_column(void **state)
{
	static const struct {
		const char *name, *text;
		bool wraps;
		int columns_min, columns;
		const char *want;
	} rows[] = {
		{"fits", "one two three four five", true, 0, 40,
		 "N  DOC\na  one two three four five\n"},
		{"no terminal", "one two three four five", true, 0, 0,
		 "N  DOC\na  one two three four five\n"},
		{"at blanks", "one two three four five six", true, 0, 23,
		 "N  DOC\na  one two three four\n   five six\n"},
		{"a long word", "abcdefghijklmnopqrstuvwxyz 1", true, 0, 23,
		 "N  DOC\na  abcdefghijklmnopqrst\n   uvwxyz 1\n"},
		{"wide characters",
		 "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
		 "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
		 "x",
		 true, 0, 23,
		 "N  DOC\na  \xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3"
		 "\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\n"
		 "   x\n"},
		{"too little room to wrap", "one two three four", true, 0, 13,
		 "N  DOC\na  one two t~\n"},
		{"just enough for some of it", "one two three four", false, 10, 13,
		 "N  DOC\na  one two t~\n"},
		{"left out", "one two three four", false, 11, 13, "N\na\n"},
		{"never without a terminal", "one", false, 11, 0, "N  DOC\na  one\n"},
	};
	struct neap_buf out;
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_table_column two[] = {{.title = "N"},
						  {.title = "DOC",
						   .wraps = rows[i].wraps,
						   .columns_min = rows[i].columns_min},
						  {NULL}};
		struct neap_table_style style = {.columns = rows[i].columns};
		struct neap_table *table = neap_table_new(two);

		neap_table_add(table, (const char *[]){"a", rows[i].text});
		neap_buf_init(&out, NEAP_BUF_LINE);
		assert_true(neap_table_format(table, &style, &out));
		check_text(rows[i].name, out.data, rows[i].want);
		neap_buf_done(&out);
		neap_table_free(table);
	}
}

/* Columns that go, and that are cut, so that the last one has some place. */
static void test_narrow(void **state)
{
	static const struct neap_table_column narrow[] = {
		{"NAME", .shrinks_to = 6},
		{"CPU", true},
		{"THROTTLED", true, .is_minor = true},
		{"CPUS", .is_minor = true},
		{"WHY", .columns_min = 12},
		{NULL},
	};
	static const struct {
		const char *name;
		struct neap_table_style style;
		const char *want;
	} rows[] = {
		{"all",
		 {.columns = 80},
		 "NAME        CPU  THROTTLED  CPUS  WHY\n"
		 "long-name  1.00        2 %  0-3   a reason of words\n"
		 "b          2.00        3 %  1     short\n"},
		{"no terminal",
		 {0},
		 "NAME        CPU  THROTTLED  CPUS  WHY\n"
		 "long-name  1.00        2 %  0-3   a reason of words\n"
		 "b          2.00        3 %  1     short\n"},
		{"the last minor one goes first",
		 {.columns = 41},
		 "NAME        CPU  THROTTLED  WHY\n"
		 "long-name  1.00        2 %  a reason of ~\n"
		 "b          2.00        3 %  short\n"},
		{"all minor ones go",
		 {.columns = 33},
		 "NAME        CPU  WHY\n"
		 "long-name  1.00  a reason of wor~\n"
		 "b          2.00  short\n"},
		{"names are cut",
		 {.columns = 27},
		 "NAME      CPU  WHY\n"
		 "long-n~  1.00  a reason of~\n"
		 "b        2.00  short\n"},
		{"some rows, from the second on",
		 {.columns = 33, .rows_skip = 1, .rows_max = 4},
		 "NAME   CPU  THROTTLED  WHY\n"
		 "b     2.00        3 %  short\n"},
		{"beyond the last",
		 {.columns = 33, .rows_skip = 9},
		 "NAME  CPU  THROTTLED  CPUS  WHY\n"},
	};
	struct neap_buf out;
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_table *table = neap_table_new(narrow);

		neap_table_add(table, (const char *[]){"long-name", "1.00", "2 %", "0-3",
						       "a reason of words"});
		neap_table_add(table, (const char *[]){"b", "2.00", "3 %", "1", "short"});
		neap_buf_init(&out, NEAP_BUF_LINE);
		assert_true(neap_table_format(table, &rows[i].style, &out));
		check_text(rows[i].name, out.data, rows[i].want);
		neap_buf_done(&out);
		neap_table_free(table);
	}
}

/* Every allocation fails once: told, nothing leaks, nothing is touched that is not
 * there. */
static void test_table_without_memory(void **state)
{
	struct neap_table_style style = {0};
	struct neap_table *table;
	struct neap_buf out;
	uint64_t n;
	bool is_whole = false;

	(void)state;
	for (n = 1; !is_whole && n < 200; n++) {
		neap_mem_fail_at(n);
		table = table_new();
		neap_buf_init(&out, NEAP_BUF_LINE);
		/* A cell that was lost on the way to its copy prints short, which is seen
		 * here. */
		is_whole = table != NULL && neap_table_format(table, &style, &out) &&
			   strstr(out.data, "x\\x1b[2J") != NULL &&
			   strstr(out.data, "busy") != NULL;
		neap_buf_done(&out);
		neap_table_free(table);
	}
	neap_mem_fail_at(0);
	assert_true(is_whole);
	assert_true(n > 3);
}

struct values {
	bool flag;
	const char *text;
	int64_t number, usec, milli, bytes;
};

static const struct neap_option options[] = {
	{"flag", 'f', NEAP_OPTION_FLAG, offsetof(struct values, flag), NULL, "a flag"},
	{"text", 't', NEAP_OPTION_TEXT, offsetof(struct values, text), "TEXT", "a text"},
	{"number", 'n', NEAP_OPTION_INT, offsetof(struct values, number), "N", "a number",
	 1, 9},
	{"wait", 0, NEAP_OPTION_DURATION, offsetof(struct values, usec), "TIME", "a time",
	 1000, 2000000},
	{"cpus", 0, NEAP_OPTION_MILLI, offsetof(struct values, milli), "CPUS", "CPUs"},
	{"memory", 0, NEAP_OPTION_BYTES, offsetof(struct values, bytes), "BYTES",
	 "bytes"},
	{"rounds", 0, NEAP_OPTION_COUNT, offsetof(struct values, number), "N", "rounds",
	 1, 9},
	{""},
};

#define WORDS_MAX 8

static const struct {
	const char *name;
	const char *words[WORDS_MAX + 1];
	bool is_prefix;
	/* "flag text number usec milli bytes | words left", or part of the error */
	const char *want;
} option_rows[] = {
	{"nothing", {NULL}, false, "0 - - - - - |"},
	{"every form",
	 {"-f", "--text=a", "-n3", "--wait", "2s", "--cpus=500m", "--memory=1Ki"},
	 false,
	 "1 a 3 2000000 500 1024 |"},
	{"among words", {"a", "-f", "b", "--", "-f"}, false, "1 - - - - - | a b -f"},
	{"a program's own", {"-f", "prog", "--frob"}, true, "1 - - - - - | prog --frob"},
	{"a lone dash is a word", {"-", "-f"}, false, "1 - - - - - | -"},
	{"an empty value", {"--text="}, false, "0  - - - - |"},
	{"the last one counts", {"-ta", "-t", "b"}, false, "0 b - - - - |"},
	{"a count alone", {"--rounds", "4"}, false, "0 - 0 - - - | 4"},
	{"a count", {"--rounds=4"}, false, "0 - 4 - - - |"},
	{"a count too high", {"--rounds=10"}, false, "--rounds: '10' is not between 1"},
	{"unknown", {"--flog"}, false, "did you mean --flag"},
	{"unknown and far", {"--zzzzzz"}, false, "there is --flag --text"},
	{"unknown letter", {"-z"}, false, "unknown option '-z'"},
	{"prefix of a name", {"--fla"}, false, "did you mean --flag"},
	{"value for a flag", {"--flag=1"}, false, "takes no value"},
	{"no value", {"--text"}, false, "--text: needs a value: TEXT"},
	{"no number", {"-nx"}, false, "-n: 'x' is not a whole number"},
	{"too low", {"-n", "0"}, false, "not between 1 and 9"},
	{"too short", {"--wait", "1us"}, false, "--wait"},
	{"too long", {"--wait", "3s"}, false, "not between 1ms and 2s"},
	{"bad quantity", {"--cpus", "5x"}, false, "--cpus: '5x' is not CPUs"},
	{"zero quantity", {"--memory", "0"}, false, "--memory: '0' is not bytes above 0"},
	{"negative quantity", {"--cpus", "-1"}, false, "--cpus: '-1' is not CPUs"},
};

static void number_add(struct neap_buf *out, int64_t number)
{
	if (number == NEAP_MISSING)
		neap_buf_adds(out, " -");
	else
		neap_buf_addf(out, " %lld", (long long)number);
}

static void test_options(void **state)
{
	struct values values;
	const struct neap_option_set set = {options, &values};
	char *words[WORDS_MAX + 1];
	struct neap_buf out;
	int argc, i;
	size_t row;

	(void)state;
	for (row = 0; row < NEAP_ARRAY_LEN(option_rows); row++) {
		struct neap_error err = {0};

		for (argc = 0; argc < WORDS_MAX && option_rows[row].words[argc]; argc++)
			words[argc] = (char *)option_rows[row].words[argc];
		words[argc] = NULL;
		neap_options_clear(&set);
		neap_buf_init(&out, NEAP_BUF_LINE);
		if (neap_options_parse(&set, 1, option_rows[row].is_prefix, &argc, words,
				       &err) < 0) {
			neap_buf_addf(&out, "%s: %s", err.field, err.msg);
			if (strstr(out.data, option_rows[row].want) == NULL)
				check_text(option_rows[row].name, out.data,
					   option_rows[row].want);
			neap_buf_done(&out);
			continue;
		}
		neap_buf_addf(&out, "%d %s", values.flag,
			      values.text != NULL ? values.text : "-");
		number_add(&out, values.number);
		number_add(&out, values.usec);
		number_add(&out, values.milli);
		number_add(&out, values.bytes);
		neap_buf_adds(&out, " |");
		for (i = 0; words[i] != NULL; i++)
			neap_buf_addf(&out, " %s", words[i]);
		assert_int_equal(i, argc);
		check_text(option_rows[row].name, out.data, option_rows[row].want);
		neap_buf_done(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clean),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_last_column),
		cmocka_unit_test(test_narrow),
		cmocka_unit_test(test_table_without_memory),
		cmocka_unit_test(test_options),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
