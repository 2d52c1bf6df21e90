/* SPDX-License-Identifier: Apache-2.0
 *
 * For tests of the hand's journal: a folder of its own, and its file as bytes. */
#ifndef NEAP_T_LIB_JOURNAL_RIG_H
#define NEAP_T_LIB_JOURNAL_RIG_H

#include "hw/hand/journal.h"

#define BOOT    "11111111-2222-3333-4444-555555555555"
#define HEAD(n) "neap-hand-journal\t" n "\t" BOOT
/* Changes a byte; makes no later version of the head's. */
#define FLIP 0x02

extern int journal_dir_fd;
extern const struct neap_log journal_quiet;

/* The folder comes and goes with each test. */
int journal_rig_setup(void **state);
int journal_rig_teardown(void **state);
/* Fails the test when it cannot be opened. */
struct neap_journal *journal_open(const char *boot);
int journal_add(struct neap_journal *journal, const char *group, enum neap_key key,
		const char *value, struct neap_error *err);
/* The weight that the group has by itself. */
void journal_own_put(struct neap_journal *journal, const char *group, const char *own);
/* Of an entry; NULL without one. */
const char *journal_value_of(struct neap_journal *journal, const char *group,
			     enum neap_key key);
/* The whole file; size counts a NUL. */
size_t journal_file_read(char *buf, size_t size);
void journal_file_write(const char *data, size_t len);
/* A line with its check sum; its length. */
size_t journal_line_make(char *buf, size_t size, const char *fields);

#endif
