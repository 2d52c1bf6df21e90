/* SPDX-License-Identifier: Apache-2.0
 *
 * See journal_rig.h. */
#include "t/lib/journal_rig.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/mem.h"

static char dir[64];
int journal_dir_fd = -1;
const struct neap_log journal_quiet = {-1, NEAP_LOG_ERROR, NEAP_LOG_TEXT, "test"};

int journal_rig_setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/neap-journal-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	journal_dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return journal_dir_fd < 0 ? -1 : 0;
}

int journal_rig_teardown(void **state)
{
	static const char *const names[] = {"hand.journal", "hand.journal.bad",
					    "hand.journal.new"};
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(names); i++)
		(void)unlinkat(journal_dir_fd, names[i], 0);
	(void)close(journal_dir_fd);
	return rmdir(dir);
}

struct neap_journal *journal_open(const char *boot)
{
	struct neap_journal *journal = NULL;
	struct neap_error err = {0};

	if (neap_journal_open(journal_dir_fd, boot, &journal_quiet, &journal, &err) < 0)
		fail_msg("open: %s", err.msg);
	return journal;
}

int journal_add(struct neap_journal *journal, const char *group, enum neap_key key,
		const char *value, struct neap_error *err)
{
	struct neap_journal_entry entry = {
		.group = (char *)group,
		.value = (char *)value,
		.dev = 24,
		.ino = UINT64_MAX - 1,
		.key = key,
	};

	return neap_journal_add(journal, &entry, err);
}

size_t journal_file_read(char *buf, size_t size)
{
	int fd = openat(journal_dir_fd, "hand.journal", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	assert_true(fd >= 0);
	n = read(fd, buf, size - 1);
	assert_true(n >= 0);
	close(fd);
	buf[n] = '\0';
	return (size_t)n;
}

void journal_file_write(const char *data, size_t len)
{
	int fd = openat(journal_dir_fd, "hand.journal",
			O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	close(fd);
}

const char *journal_value_of(struct neap_journal *journal, const char *group,
			     enum neap_key key)
{
	int index = neap_journal_find(journal, group, key);

	return index < 0 ? NULL : neap_journal_get(journal, index)->value;
}

void journal_own_put(struct neap_journal *journal, const char *group, const char *own)
{
	int index = neap_journal_find(journal, group, NEAP_KEY_CPU_SHARES);

	assert_int_equal(neap_journal_own_set(journal, index, own, NULL), 0);
}

/* As journal_file.c does. */
size_t journal_line_make(char *buf, size_t size, const char *fields)
{
	uint32_t sum = 2166136261u;
	const char *p;

	for (p = fields; *p; p++)
		sum = (sum ^ (unsigned char)*p) * 16777619u;
	return (size_t)snprintf(buf, size, "%s\t#%08x\n", fields, (unsigned)sum);
}
