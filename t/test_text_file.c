/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that operators name: what is read, and what is said of others. */
#include "api/config/text_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[] = "/tmp/neap-text-file-XXXXXX";

static const char *path_of(const char *name)
{
	static char path[sizeof(dir) + 32];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static int setup(void **state)
{
	FILE *file;

	(void)state;
	assert_non_null(mkdtemp(dir));
	file = fopen(path_of("ten"), "w");
	assert_non_null(file);
	assert_int_equal(fputs("0123456789", file) < 0, 0);
	assert_int_equal(fclose(file), 0);
	file = fopen(path_of("empty"), "w");
	assert_non_null(file);
	assert_int_equal(fclose(file), 0);
	/* Nobody writes to it: whoever waits here waits for ever. */
	return mkfifo(path_of("pipe"), 0600);
}

static int teardown(void **state)
{
	(void)state;
	(void)unlink(path_of("ten"));
	(void)unlink(path_of("empty"));
	(void)unlink(path_of("pipe"));
	return rmdir(dir);
}

static void test_rows(void **state)
{
	static const struct {
		const char *name;
		size_t max;
		const char *text, *error; /* one of them; the error behind the path */
	} rows[] = {
		{"ten", 64, "0123456789", NULL},
		{"ten", 10, "0123456789", NULL},
		{"ten", 9, NULL, ": over 9 bytes"},
		{"empty", 64, "", NULL},
		{"none", 64, NULL, ": No such file or directory"},
		{"pipe", 64, NULL, " is no regular file"},
		{".", 64, NULL, " is no regular file"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		neap_auto_buf struct neap_buf buf = {0};
		struct neap_error err = {0};
		const char *path = path_of(rows[i].name);
		int ret;

		neap_buf_init(&buf, rows[i].max);
		ret = neap_text_file_read(path, &buf, &err);
		if (ret != (rows[i].error ? -(int)err.code : 0))
			fail_msg("%s: %d %s", path, ret, err.msg);
		if (rows[i].text) {
			assert_int_equal(buf.len, strlen(rows[i].text));
			assert_true(!buf.len || strcmp(buf.data, rows[i].text) == 0);
		} else if (!strstr(err.msg, path) || !strstr(err.msg, rows[i].error)) {
			fail_msg("%s: %s", path, err.msg);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
