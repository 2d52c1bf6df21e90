/* SPDX-License-Identifier: Apache-2.0
 *
 * engine/base: errors, buffers, memory, log, cleanup. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/buf.h"
#include "engine/base/error.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "engine/log/log.h"

static void error_set_and_wrap(void **state)
{
	struct neap_error err;

	(void)state;
	assert_int_equal(neap_error_set(&err, NEAP_EINVAL, "no %s", "good"),
			 -NEAP_EINVAL);
	assert_string_equal(err.msg, "no good");
	assert_string_equal(err.field, "");
	assert_int_equal(neap_error_wrap(&err, "file %d", 7), -NEAP_EINVAL);
	assert_string_equal(err.msg, "file 7: no good");

	assert_int_equal(neap_error_field(&err, NEAP_ENOTFOUND, "name", "gone"),
			 -NEAP_ENOTFOUND);
	assert_string_equal(err.field, "name");
	assert_int_equal(neap_error_infield(&err, "owners[%d]", 0), -NEAP_ENOTFOUND);
	assert_string_equal(err.field, "owners[0].name");
	assert_int_equal(neap_error_infield(&err, "spec"), -NEAP_ENOTFOUND);
	assert_string_equal(err.field, "spec.owners[0].name");
	neap_error_field(&err, NEAP_EINVAL, "[3]", "bad");
	neap_error_infield(&err, "list");
	assert_string_equal(err.field, "list[3]");
	neap_error_set(&err, NEAP_EINVAL, "bad");
	neap_error_infield(&err, "spec");
	assert_string_equal(err.field, "spec");

	/* Without an error to fill. */
	assert_int_equal(neap_error_set(NULL, NEAP_EINVAL, "x"), -NEAP_EINVAL);
	assert_int_equal(neap_error_field(NULL, NEAP_EEXISTS, "f", "x"), -NEAP_EEXISTS);
	assert_int_equal(neap_error_nomem(NULL), -NEAP_ENOMEM);
	assert_true(neap_error_wrap(NULL, "x") < 0);
	assert_true(neap_error_infield(NULL, "x") < 0);
}

static void error_sys(void **state)
{
	struct neap_error err;
	char path[512];

	(void)state;
	errno = ENOENT;
	assert_int_equal(neap_error_sys(&err, "open %s", "/x"), -NEAP_ESYS);
	assert_int_equal(err.errnum, ENOENT);
	assert_string_equal(err.msg, "open /x: No such file or directory");
	errno = ENOMEM;
	assert_int_equal(neap_error_sys(&err, "open"), -NEAP_ENOMEM);
	assert_int_equal(err.errnum, ENOMEM);
	errno = ENOMEM;
	assert_int_equal(neap_error_sys(NULL, "open"), -NEAP_ENOMEM);

	/* A path that is too long does not push out the reason. */
	memset(path, 'p', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	errno = EACCES;
	neap_error_sys(&err, "open %s", path);
	assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
	assert_non_null(strstr(err.msg, "ppp: Permission denied"));
}

/* The texts below consist of letters and characters of four bytes. */
static bool ends_whole(const char *text)
{
	const char *lead = strrchr(text, 0xf0);

	return !lead || strlen(lead) >= 4;
}

/* A cut text never ends inside a character, whatever stands at the border. */
static void error_cut(void **state)
{
	struct neap_error err;
	char text[600];

	(void)state;
	for (size_t shift = 0; shift < 4; shift++) {
		memset(text, 'a', shift);
		for (size_t at = shift; at + 4 < sizeof(text); at += 4)
			memcpy(text + at, "\xf0\x9f\x8c\x8a", 5);
		neap_error_field(&err, NEAP_EINVAL, text, "%s", text);
		assert_true(strlen(err.msg) >= sizeof(err.msg) - 4);
		assert_true(ends_whole(err.msg) && ends_whole(err.field));
		for (int i = 0; i < 4; i++) {
			neap_error_wrap(&err, "b");
			neap_error_infield(&err, "c");
			assert_true(ends_whole(err.msg) && ends_whole(err.field));
		}
		assert_memory_equal(err.msg, "b: b: b: b: ", 12);
		neap_error_infield(&err, "%s", text);
		neap_error_wrap(&err, "%s", text);
		assert_true(ends_whole(err.msg) && ends_whole(err.field));
		errno = ENOENT;
		neap_error_sys(&err, "%s", text);
		assert_true(ends_whole(err.msg));
	}
}

static void error_codes(void **state)
{
	(void)state;
	for (int code = 0; code < NEAP_CODE_COUNT; code++) {
		assert_non_null(neap_code_name((enum neap_code)code));
		assert_true(neap_code_http((enum neap_code)code) >= 200);
	}
	assert_string_equal(neap_code_name(NEAP_EINVAL), "Invalid");
	assert_int_equal(neap_code_http(NEAP_EINVAL), 422);
	assert_int_equal(neap_code_http(NEAP_ENOTFOUND), 404);
	assert_int_equal(neap_code_http(NEAP_ENOFIT), 200);
	assert_int_equal(neap_code_http(NEAP_EPRECONDITION), 412);
	assert_string_equal(neap_code_name(NEAP_EPRECONDITION), "PreconditionFailed");
	assert_int_equal(neap_code_http((enum neap_code)999), 500);
}

/* Buffers */

static void buf_by_hand(void **state)
{
	neap_auto_buf struct neap_buf buf = {0};
	char *at;

	(void)state;
	neap_buf_init(&buf, 100);
	neap_buf_adds(&buf, "a");
	at = neap_buf_room(&buf, 90);
	assert_non_null(at);
	assert_int_equal(buf.len, 1);
	at[0] = 'b';
	at[1] = 'c';
	neap_buf_added(&buf, at + 2);
	neap_buf_addc(&buf, 'd');
	assert_string_equal(buf.data, "abcd");
	assert_int_equal(buf.len, 4);
	assert_null(neap_buf_room(&buf, 97));
	assert_true(neap_buf_failed(&buf));
	assert_string_equal(buf.data, "abcd");
}

static void buf_basics(void **state)
{
	neap_auto_buf struct neap_buf buf = {0};
	char *text;

	(void)state;
	neap_buf_init(&buf, 1000);
	assert_string_equal(buf.data, "");
	neap_buf_adds(&buf, "");
	neap_buf_addf(&buf, "%s", "");
	assert_string_equal(buf.data, "");
	for (int i = 0; i < 100; i++)
		neap_buf_addf(&buf, "%d,", i);
	neap_buf_addc(&buf, '.');
	assert_false(neap_buf_failed(&buf));
	assert_int_equal(buf.len, 291);
	assert_string_equal(buf.data + 285, "8,99,.");
	text = neap_buf_take(&buf);
	assert_int_equal(strlen(text), 291);
	free(text);
	assert_string_equal(buf.data, "");
	text = neap_buf_take(&buf); /* also an empty one is to be freed */
	assert_string_equal(text, "");
	free(text);
	neap_buf_adds(&buf, "again");
	neap_buf_clear(&buf);
	assert_string_equal(buf.data, "");
}

static void buf_ceiling(void **state)
{
	(void)state;
	for (size_t ceiling = 0; ceiling < 200; ceiling++) {
		neap_auto_buf struct neap_buf buf = {0};

		neap_buf_init(&buf, ceiling);
		for (size_t i = 0; i < ceiling; i++)
			neap_buf_addc(&buf, 'x');
		assert_false(neap_buf_failed(&buf));
		assert_int_equal(buf.len, ceiling);
		assert_int_equal(strlen(buf.data), ceiling);
		neap_buf_addf(&buf, "%s", "y");
		assert_true(neap_buf_failed(&buf));
		neap_buf_adds(&buf, "");
		neap_buf_addc(&buf, 'z');
		assert_int_equal(strlen(buf.data), ceiling);
		assert_null(strchr(buf.data, 'y'));
		assert_null(neap_buf_take(&buf));
		assert_false(neap_buf_failed(&buf));
		assert_int_equal(buf.len, 0);
	}
	neap_auto_buf struct neap_buf buf = {0};

	neap_buf_init(&buf, 100);
	neap_buf_adds(&buf, "x");
	neap_buf_add(&buf, "y", SIZE_MAX); /* never read: refused first */
	assert_true(neap_buf_failed(&buf));
	assert_string_equal(buf.data, "x");
}

/* Fails the 1st, 2nd, ... allocation until all goes through. */
static void buf_torture(void **state)
{
	bool did_fail = true;

	(void)state;
	for (uint64_t n = 1; did_fail; n++) {
		neap_auto_buf struct neap_buf buf = {0};

		neap_buf_init(&buf, 10000);
		neap_mem_fail_at(n);
		for (int i = 0; i < 200; i++)
			neap_buf_addf(&buf, "row %d\n", i);
		neap_mem_fail_at(0);
		did_fail = neap_buf_failed(&buf);
		assert_int_equal(strlen(buf.data), buf.len);
		assert_true(n < 20);
	}
}

/* Memory */

static void mem_rows(void **state)
{
	uint64_t before = neap_mem_count();
	neap_auto_free char *a = neap_strdup("abc");
	neap_auto_free char *b = neap_strndup("abcdef", 4);
	neap_auto_free char *c = neap_strndup("ab", 4);
	neap_auto_free char *d = neap_asprintf("%d-%s", 7, "x");
	neap_auto_free char *zero = neap_alloc(0);
	char *grown = neap_realloc_array(NULL, 2, 4);

	(void)state;
	assert_string_equal(a, "abc");
	assert_string_equal(b, "abcd");
	assert_string_equal(c, "ab");
	assert_string_equal(d, "7-x");
	assert_non_null(zero);
	assert_int_equal(neap_mem_count() - before, 6);
	assert_null(neap_alloc_array(SIZE_MAX / 2, 3));
	assert_null(neap_realloc_array(grown, SIZE_MAX / 2, 3));
	grown = neap_realloc_array(grown, 100, 4);
	assert_non_null(grown);
	free(grown);

	neap_mem_fail_at(2);
	neap_auto_free char *first = neap_strdup("1");
	char *second = neap_strdup("2");
	neap_auto_free char *third = neap_strdup("3");

	assert_non_null(first);
	assert_null(second);
	assert_non_null(third);
	neap_mem_fail_at(1);
	assert_null(neap_asprintf("x"));
	neap_mem_fail_at(1);
	neap_mem_fail_at(0);
	neap_auto_free char *fine = neap_strdup("4");

	assert_non_null(fine);
}

static const struct {
	const char *text;
	size_t size;
	const char *want;
	bool fits;
} copies[] = {
	{"abc", 4, "abc", true},
	{"abc", 3, "ab", false},
	{"", 1, "", true},
	{"abc", 1, "", false},
	{"aµ", 4, "aµ", true},
	{"aµ", 3, "a", false},
	{"a€", 4, "a", false},
	{"a€", 3, "a", false},
	{"€€", 7, "€€", true},
	{"€€", 6, "€", false},
	{"\x80\x80\x80\x80x", 5, "\x80\x80\x80\x80", false},
	{"\xff\xff\xff", 3, "\xff", false},
};

static void strcopy_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(copies); i++) {
		char to[8];
		bool fits = neap_strcopy(to, copies[i].size, copies[i].text);

		if (fits != copies[i].fits || strcmp(to, copies[i].want) != 0)
			fail_msg("row %zu '%s': '%s'", i, copies[i].text, to);
	}
	assert_false(neap_strcopy(NULL, 0, "x"));
}

/* Log */

static const struct {
	const char *message, *text, *json; /* after the time and in the JSON message */
} log_rows[] = {
	{"plain", "plain", "plain"},
	{"a\"b\\c", "a\"b\\c", "a\\\"b\\\\c"},
	{"1\n2\r3\t4", "1\\n2\\r3\\t4", "1\\n2\\r3\\t4"},
	{"\x1b[31m\x7f", "\\x1b[31m\\x7f", "\\u001b[31m\\u007f"},
	{"µ€\xf0\x9f\x8c\x8a", "µ€\xf0\x9f\x8c\x8a", "µ€\xf0\x9f\x8c\x8a"},
	{"\xff", "\\xff", "\\ufffd"},
	{"\xc2\x9b"
	 "1m",
	 "\\u009b1m", "\\u009b1m"},                   /* C1 control */
	{"\xc0\x8a", "\\xc0\\x8a", "\\ufffd\\ufffd"}, /* newline in two bytes */
	{"\xe2\x80\xa8", "\\u2028", "\\u2028"},       /* line separator */
	{"a\xe2\x80\xae"
	 "b",
	 "a\\u202eb", "a\\u202eb"}, /* writing that turns */
	{"\xe2\x80\x8b\xe2\x81\xa7", "\\u200b\\u2067", "\\u200b\\u2067"},
	{"\xf3\xa0\x80\x81", "\\U000e0001", "\\udb40\\udc01"},        /* a tag */
	{"\xed\xa0\x80", "\\xed\\xa0\\x80", "\\ufffd\\ufffd\\ufffd"}, /* surrogate */
	{"\xe2\x82", "\\xe2\\x82", "\\ufffd\\ufffd"},
};

/* What a line looks like in a pipe; the caller's buffer. */
static void log_to(char *line, size_t size, enum neap_log_format format,
		   enum neap_log_level level, const char *message)
{
	int fds[2];
	ssize_t n;

	assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
	neap_auto_fd int in = fds[0], out = fds[1];
	struct neap_log log = {out, NEAP_LOG_INFO, format, "neapd"};

	errno = EDOM;
	neap_log_line(&log, level, "%s", message);
	assert_int_equal(errno, EDOM);
	n = read(in, line, size - 1);
	line[n > 0 ? n : 0] = '\0';
}

static void log_lines(void **state)
{
	static const char json_mid[] =
		"\",\"program\":\"neapd\",\"level\":\"info\",\"message\":\"";
	char line[8192], want[200];

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(log_rows); i++) {
		log_to(line, sizeof(line), NEAP_LOG_TEXT, NEAP_LOG_INFO,
		       log_rows[i].message);
		(void)snprintf(want, sizeof(want), "Z neapd info: %s\n",
			       log_rows[i].text);
		assert_string_equal(line + 19, want);
		log_to(line, sizeof(line), NEAP_LOG_JSON, NEAP_LOG_INFO,
		       log_rows[i].message);
		(void)snprintf(want, sizeof(want), "Z%s%s\"}\n", json_mid,
			       log_rows[i].json);
		assert_memory_equal(line, "{\"time\":\"20", 11);
		assert_string_equal(line + 28, want);
	}
	log_to(line, sizeof(line), NEAP_LOG_TEXT, NEAP_LOG_DEBUG, "below the level");
	assert_string_equal(line, "");
	log_to(line, sizeof(line), NEAP_LOG_TEXT, NEAP_LOG_ERROR, "x");
	assert_string_equal(line + 20, " neapd error: x\n");
}

/* Long messages are cut, the form stays whole, an escape is never halved. */
static void log_cut(void **state)
{
	char message[6000], line[8192];

	(void)state;
	for (int shift = 0; shift < 8; shift++)
		for (int format = NEAP_LOG_TEXT; format <= NEAP_LOG_JSON; format++) {
			const char *end = format == NEAP_LOG_JSON ? "...\"}\n" : "...\n";
			size_t len;

			memset(message, '\x01', sizeof(message) - 1);
			memset(message, 'a', (size_t)shift);
			message[sizeof(message) - 1] = '\0';
			log_to(line, sizeof(line), (enum neap_log_format)format,
			       NEAP_LOG_INFO, message);
			len = strlen(line);
			assert_in_range(len, 4096 - 8, 4096);
			assert_string_equal(line + len - strlen(end), end);
			assert_memory_equal(line + len - strlen(end) - 2, "01", 2);
		}
}

/* One call reaches every log of the process, also those that were copied before. */
static void log_override(void **state)
{
	static const struct {
		enum neap_log_level set, line;
		enum neap_log_format set_format, format;
		bool is_there, is_json;
	} rows[] = {
		{NEAP_LOG_DEBUG, NEAP_LOG_DEBUG, NEAP_LOG_TEXT, NEAP_LOG_TEXT, true,
		 false},
		{NEAP_LOG_ERROR, NEAP_LOG_WARN, NEAP_LOG_TEXT, NEAP_LOG_TEXT, false,
		 false},
		{NEAP_LOG_ERROR, NEAP_LOG_ERROR, NEAP_LOG_JSON, NEAP_LOG_TEXT, true,
		 true},
		{NEAP_LOG_INFO, NEAP_LOG_INFO, NEAP_LOG_TEXT, NEAP_LOG_JSON, true, false},
		{NEAP_LOG_INFO, NEAP_LOG_DEBUG, NEAP_LOG_TEXT, NEAP_LOG_TEXT, false,
		 false},
	};
	char line[8192];

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		neap_log_override(rows[i].set, rows[i].set_format);
		log_to(line, sizeof(line), rows[i].format, rows[i].line, "x");
		if ((line[0] != '\0') != rows[i].is_there ||
		    (line[0] == '{') != rows[i].is_json)
			fail_msg("row %zu: '%s'", i, line);
	}
}

static int *own_steal(int *from)
{
	neap_auto_free int *p = from;

	return neap_steal(p);
}

static void cleanup(void **state)
{
	int *p = neap_alloc(sizeof(*p)), fd;

	(void)state;
	p = own_steal(p);
	*p = 7;
	free(p);
	{
		neap_auto_fd int own = open("/dev/null", O_RDONLY | O_CLOEXEC);
		neap_auto_fd int none = -1;

		fd = own;
		assert_true(fd >= 0);
		assert_int_equal(none, -1);
		errno = ENOENT;
	}
	assert_int_equal(errno, ENOENT);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
}

/* What is not known, and what JSON cannot hold, is left out. */
static void json_members(void **state)
{
	json_t *got = json_object(),
	       *want = json_pack("{s:s, s:i, s:f}", "text", "a", "int", 0, "real", 0.5);

	(void)state;
	neap_json_set_text(got, "text", "a");
	neap_json_set_text(got, "empty", "");
	neap_json_set_text(got, "null", NULL);
	neap_json_set_text(got, "no UTF-8", "\xff");
	neap_json_set_int(got, "int", 0);
	neap_json_set_int(got, "missing", NEAP_MISSING);
	neap_json_set_real(got, "real", 0.5);
	neap_json_set_real(got, "nan", NAN);
	neap_json_set_real(got, "infinite", INFINITY);
	assert_true(json_equal(got, want));
	json_decref(got);
	json_decref(want);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {

		cmocka_unit_test(error_set_and_wrap),
		cmocka_unit_test(error_sys),
		cmocka_unit_test(error_cut),
		cmocka_unit_test(error_codes),
		cmocka_unit_test(buf_basics),
		cmocka_unit_test(buf_by_hand),
		cmocka_unit_test(buf_ceiling),
		cmocka_unit_test(buf_torture),
		cmocka_unit_test(mem_rows),
		cmocka_unit_test(strcopy_rows),
		cmocka_unit_test(cleanup),
		cmocka_unit_test(log_lines),
		cmocka_unit_test(log_cut),
		cmocka_unit_test(log_override),
		cmocka_unit_test(json_members),
	};
	const char *only = getenv("CASE");

	if (only && *only)
		cmocka_set_test_filter(only);
	return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
