/* SPDX-License-Identifier: Apache-2.0
 *
 * DATA_DIR/format: what is taken, what is refused and how that reads, that nothing is
 * touched by a refusal, and that a kill at any moment leaves the old format or the new
 * one. */
#include "api/daemon/format.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/base.h"

static char dir[64], file[128];

static int setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/neap-format-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(file, sizeof(file), "%s/format", dir);
	return 0;
}

static int teardown(void **state)
{
	char fresh[128];

	(void)state;
	snprintf(fresh, sizeof(fresh), "%s/.format.new", dir);
	(void)unlink(fresh);
	(void)unlink(file);
	return rmdir(dir);
}

static void put(const char *text, size_t len)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), len);
	close(fd);
}

static size_t get(char *buf, size_t size)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, buf, size - 1);
	assert_true(n >= 0);
	close(fd);
	buf[n] = '\0';
	return (size_t)n;
}

#define ROW(text) text, sizeof(text) - 1

static const struct {
	const char *name, *text;
	size_t len;
	enum neap_code code; /* 0: taken */
	const char *says;
} rows[] = {
	{"ours", ROW("neap data 1\nwritten by neapd 0.1.0\n"), 0, ""},
	{"without its second line", ROW("neap data 1\n"), 0, ""},
	{"with more behind", ROW("neap data 1\nwritten by neapd 0.1.0\nx 3\n"), 0, ""},
	{"newer", ROW("neap data 2\nwritten by neapd 0.4.0\n"), NEAP_EUNSUPPORTED,
	 "format 2 of neapd 0.4.0"},
	{"newer says what to install", ROW("neap data 2\nwritten by neapd 0.4.0\n"),
	 NEAP_EUNSUPPORTED, "Install neapd 0.4.0 or newer"},
	{"newer says what we read", ROW("neap data 77\n"), NEAP_EUNSUPPORTED,
	 "neapd " NEAP_VERSION " reads up to 1."},
	{"newer without a writer", ROW("neap data 77\n"), NEAP_EUNSUPPORTED,
	 "format 77 of a newer neapd"},
	{"a writer that would act on a terminal",
	 ROW("neap data 2\nwritten by a\033[31mb\n"), NEAP_EUNSUPPORTED,
	 "format 2 of a; neapd"},
	{"empty", ROW(""), NEAP_EINVAL, "is damaged: ''"},
	{"half a line", ROW("neap da"), NEAP_EINVAL, "'neap da' is not"},
	{"number that may be cut", ROW("neap data 1"), NEAP_EINVAL, "is damaged"},
	{"no number", ROW("neap data \n"), NEAP_EINVAL, "is damaged"},
	{"nought", ROW("neap data 0\n"), NEAP_EINVAL, "is damaged"},
	{"negative", ROW("neap data -1\n"), NEAP_EINVAL, "is damaged"},
	{"leading nought", ROW("neap data 01\n"), NEAP_EINVAL, "is damaged"},
	{"more than a number", ROW("neap data 1x\n"), NEAP_EINVAL, "is damaged"},
	{"huge", ROW("neap data 99999999999999999999\n"), NEAP_EINVAL, "is damaged"},
	{"another file", ROW("\177ELF\001\n"), NEAP_EINVAL, "'?ELF?' is not"},
	{"noughts", ROW("\0\0\0\0\0\0"), NEAP_EINVAL, "is damaged"},
};

static void test_judged(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_error err = {0};
		char after[256];
		int rc;

		put(rows[i].text, rows[i].len);
		rc = neap_format_check(dir, &err);
		if (rc != -(int)rows[i].code)
			fail_msg("%s: %d '%s'", rows[i].name, rc, err.msg);
		if (rc < 0 && (!strstr(err.msg, rows[i].says) || !strstr(err.msg, file)))
			fail_msg("%s: '%s' has no '%s'", rows[i].name, err.msg,
				 rows[i].says);
		if (rc < 0 && !strstr(err.msg, "Nothing was changed"))
			fail_msg("%s: cut: '%s'", rows[i].name, err.msg);
		/* Raising must not do what the check refuses. */
		rc = neap_format_raise(dir, &err);
		if (rows[i].code == NEAP_EINVAL ? rc >= 0 : rc < 0)
			fail_msg("%s: raised: %d", rows[i].name, rc);
		if (get(after, sizeof(after)) != rows[i].len ||
		    memcmp(after, rows[i].text, rows[i].len) != 0)
			fail_msg("%s: was changed", rows[i].name);
	}
}

static void test_other_kinds(void **state)
{
	struct neap_error err = {0};

	(void)state;
	assert_int_equal(mkdir(file, 0700), 0);
	assert_int_equal(neap_format_check(dir, &err), -NEAP_EINVAL);
	assert_non_null(strstr(err.msg, "no plain file"));
	assert_int_equal(rmdir(file), 0);
	assert_int_equal(mkfifo(file, 0600), 0); /* must not wait for a writer */
	assert_int_equal(neap_format_check(dir, &err), -NEAP_EINVAL);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(symlink("/etc/hostname", file), 0);
	assert_true(neap_format_check(dir, &err) < 0);
	assert_non_null(strstr(err.msg, file));
}

static void test_none(void **state)
{
	struct neap_error err = {0};
	struct neap_format format = {.version = 7};
	char text[256];

	(void)state;
	assert_int_equal(neap_format_check("/nonexistent/neap", &err), 0);
	assert_int_equal(neap_format_read(dir, &format, &err), 0);
	assert_int_equal(format.version, 0);
	assert_int_equal(neap_format_check(dir, &err), 0);
	assert_int_equal(get(text, sizeof(text)), 0); /* a check makes nothing */
	assert_int_equal(neap_format_raise(dir, &err), 0);
	get(text, sizeof(text));
	assert_string_equal(text, "neap data 1\nwritten by neapd " NEAP_VERSION "\n");
	assert_int_equal(neap_format_read(dir, &format, &err), 0);
	assert_int_equal(format.version, NEAP_DATA_FORMAT);
	assert_string_equal(format.writer, "neapd " NEAP_VERSION);
	assert_int_equal(neap_format_raise("/nonexistent/neap", &err), -NEAP_ESYS);
}

static void test_killed(void **state)
{
	struct neap_error err;
	char text[256];
	int i, status, seen[2] = {0, 0};

	(void)state;
	for (i = 0; i < 150; i++) {
		int pid = fork();

		assert_true(pid >= 0);
		if (pid == 0) {
			for (;;) {
				if (neap_format_raise(dir, NULL) < 0)
					_exit(1);
				if (unlink(file) < 0)
					_exit(1);
			}
		}
		usleep((useconds_t)(200 + i * 7));
		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		if (get(text, sizeof(text)) > 0)
			assert_string_equal(
				text, "neap data 1\nwritten by neapd " NEAP_VERSION "\n");
		seen[access(file, F_OK) == 0]++;
		err.msg[0] = '\0';
		if (neap_format_check(dir, &err) < 0 || neap_format_raise(dir, &err) < 0)
			fail_msg("kill %d: %s", i, err.msg);
	}
	print_message("# killed before: %d, behind: %d\n", seen[0], seen[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_judged, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_kinds, setup, teardown),
		cmocka_unit_test_setup_teardown(test_none, setup, teardown),
		cmocka_unit_test_setup_teardown(test_killed, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
