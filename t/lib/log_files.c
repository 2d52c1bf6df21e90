/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/log_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

void log_file_at(char *buf, size_t size, const char *dir, const char *name)
{
	(void)snprintf(buf, size, "%s/%s", dir, name);
}

void log_file_write(const char *dir, const char *name, const char *text, bool is_more)
{
	char path[256];
	FILE *file;

	log_file_at(path, sizeof(path), dir, name);
	file = fopen(path, is_more ? "a" : "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

void log_file_move(const char *dir, const char *from, const char *to)
{
	char a[256], b[256];

	log_file_at(a, sizeof(a), dir, from);
	log_file_at(b, sizeof(b), dir, to);
	assert_int_equal(rename(a, b), 0);
}

void log_files_clear(const char *dir, bool is_all)
{
	DIR *open = opendir(dir);
	const struct dirent *entry;

	while (open && (entry = readdir(open)))
		if (entry->d_name[0] != '.')
			(void)unlinkat(dirfd(open), entry->d_name, 0);
	if (open)
		closedir(open);
	if (is_all)
		assert_int_equal(rmdir(dir), 0);
}

struct neap_log_read *log_read_open(const char *dir, const struct neap_log_wish *wish)
{
	struct neap_log_read *read = NULL;
	struct neap_error err = {0};
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	if (neap_log_read_new_take(fd, wish, &read, &err) < 0)
		fail_msg("%s", err.msg);
	return read;
}

/* Steps until it waits or ends. */
int log_read_drain(struct neap_log_read *read, struct neap_buf *to)
{
	static char block[NEAP_LOG_BLOCK];
	struct neap_error err = {0};
	int state;

	do {
		size_t len;

		state = neap_log_read_next(read, block, &len, &err);
		if (state < 0)
			fail_msg("%s", err.msg);
		neap_buf_add(to, block, len);
	} while (state == NEAP_LOG_MORE);
	return state;
}
