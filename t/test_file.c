/* SPDX-License-Identifier: Apache-2.0
 *
 * Small files as a whole: what is read, what is said of others, and what is put in
 * place. */
#include "engine/base/file.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[] = "/tmp/neap-file-XXXXXX";

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
	file = fopen(path_of("lines"), "w");
	assert_non_null(file);
	assert_int_equal(fputs("first\nsecond\n", file) < 0, 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(mkdir(path_of("folder"), 0700), 0);
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
	(void)unlink(path_of("lines"));
	(void)unlink(path_of("put"));
	(void)rmdir(path_of("folder"));
	(void)rmdir(path_of("a/b"));
	(void)rmdir(path_of("a"));
	return rmdir(dir);
}

static void test_load(void **state)
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
		ret = neap_file_load(path, &buf, &err);
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

/* The text ends within the room, and at the line's end where that is asked for. */
static void test_head(void **state)
{
	char small[5], text[64];

	(void)state;
	assert_int_equal(neap_file_head(path_of("ten"), text, sizeof(text)), 10);
	assert_string_equal(text, "0123456789");
	assert_int_equal(neap_file_head(path_of("ten"), small, sizeof(small)), 4);
	assert_string_equal(small, "0123");
	assert_int_equal(neap_file_line(path_of("lines"), text, sizeof(text)), 5);
	assert_string_equal(text, "first");
	assert_int_equal(neap_file_line(path_of("none"), text, sizeof(text)), -1);
	assert_string_equal(text, "");
	assert_int_equal(neap_boot_id(text, NULL), 0);
	assert_int_equal(strlen(text), NEAP_BOOT_ID - 1);
}

/* More than one piece of the reader, and pieces as a pipe gives them. */
static void test_rest(void **state)
{
	static char all[20000];
	neap_auto_buf struct neap_buf buf = {0};
	int ends[2];

	(void)state;
	memset(all, 'x', sizeof(all));
	all[0] = 'a';
	all[sizeof(all) - 1] = 'z';
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(neap_fd_write(ends[1], all, sizeof(all)), 0);
	neap_fd_close(&ends[1]);
	assert_int_equal(ends[1], -1);
	neap_fd_close(&ends[1]);
	neap_buf_init(&buf, sizeof(all));
	assert_int_equal(neap_fd_read_rest(ends[0], "pipe", &buf, NULL), 0);
	assert_int_equal(buf.len, sizeof(all));
	assert_memory_equal(buf.data, all, sizeof(all));
	neap_fd_close(&ends[0]);
}

static void test_put(void **state)
{
	static const struct {
		const char *name;
		unsigned flags, mode;
		int rc;
	} rows[] = {
		{"put", 0, 0600, 0},
		{"put", NEAP_PUT_PUBLIC | NEAP_PUT_SYNCED | NEAP_PUT_OWNED, 0644, 0},
		/* A folder of that name is in the way: nothing of it stays behind. */
		{"folder", NEAP_PUT_SYNCED, 0, -NEAP_ESYS},
	};
	neap_auto_fd int folder = open(dir, O_RDONLY | O_DIRECTORY);
	char text[16];
	struct stat st;

	(void)state;
	(void)umask(022);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		/* Of one that was killed. */
		assert_int_equal(mknodat(folder, ".fresh", S_IFREG | 0600, 0), 0);
		assert_int_equal(neap_file_put(folder, ".fresh", rows[i].name, "new", 3,
					       rows[i].flags, NULL),
				 rows[i].rc);
		assert_int_equal(fstatat(folder, ".fresh", &st, 0), -1);
		if (rows[i].rc < 0)
			continue;
		assert_int_equal(stat(path_of(rows[i].name), &st), 0);
		assert_int_equal(st.st_mode & 0777, rows[i].mode);
		assert_int_equal(neap_file_head(path_of("put"), text, sizeof(text)), 3);
		assert_string_equal(text, "new");
	}
}

static void test_folder(void **state)
{
	struct stat st;

	(void)state;
	for (int i = 0; i < 2; i++)
		assert_int_equal(neap_folder_make(path_of("a/b"), 0700, NULL), 0);
	assert_int_equal(stat(path_of("a"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0755);
	assert_int_equal(stat(path_of("a/b"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(neap_folder_make(path_of("ten/b"), 0700, NULL), -NEAP_ESYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_load),   cmocka_unit_test(test_head),
		cmocka_unit_test(test_rest),   cmocka_unit_test(test_put),
		cmocka_unit_test(test_folder),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
