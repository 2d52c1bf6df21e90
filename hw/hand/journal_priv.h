/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files of the journal. */
#ifndef NEAP_HW_HAND_JOURNAL_PRIV_H
#define NEAP_HW_HAND_JOURNAL_PRIV_H

#include <sys/types.h>

#include "engine/base/buf.h"
#include "hw/hand/journal.h"

#define NEAP_JOURNAL_FILE  "hand.journal"
#define NEAP_JOURNAL_MAGIC "neap-hand-journal"
/* Raised when an older hand would misread a line. The header of every version starts with
 * magic, version and boot id. */
#define NEAP_JOURNAL_VERSION 2
/* The oldest version that can be read. */
#define NEAP_JOURNAL_VERSION_MIN 1
#define NEAP_JOURNAL_BUCKETS     4096
#define NEAP_JOURNAL_FIELDS      8

struct neap_journal {
	int dir_fd; /* not ours */
	int fd;
	char boot_id[64];
	const struct neap_log *log;
	struct neap_journal_entry *entries;
	int count, size;
	struct neap_journal_made *made;
	int made_count, made_size;
	int bucket[NEAP_JOURNAL_BUCKETS];
	size_t lines;
	bool is_void; /* the file was of another boot */
	/* length of the file found at the start, up to its last complete line; -1: not
	 * used */
	off_t good_len;
	/* a line could not be written: the file lists more than is true */
	bool is_behind;
};

uint32_t neap_journal_hash(uint32_t hash, const void *data, size_t len);

/* Append a complete line to the buffer. more may be NULL. */
void neap_journal_header_line(const struct neap_journal *journal, struct neap_buf *line);
void neap_journal_entry_line(const struct neap_journal_entry *entry,
			     struct neap_buf *line);
void neap_journal_simple_line(struct neap_buf *line, const char *what, const char *group,
			      const char *more);
/* own NULL: the group has no baseline. */
void neap_journal_own_line(struct neap_buf *line, const char *group, enum neap_key key,
			   const char *own);

/* Appends one complete line to the file, or nothing. */
int neap_journal_append(struct neap_journal *journal, struct neap_buf *line,
			struct neap_error *err);

/* In memory only. */
int neap_journal_entry_put(struct neap_journal *journal,
			   const struct neap_journal_entry *entry,
			   struct neap_error *err);
void neap_journal_entry_remove(struct neap_journal *journal, int index);
int neap_journal_made_put(struct neap_journal *journal, const char *group,
			  struct neap_error *err);
void neap_journal_made_remove(struct neap_journal *journal, int index);

/* own NULL: nothing. */
int neap_journal_own_put(struct neap_journal_entry *entry, const char *own,
			 struct neap_error *err);
/* The journal was of format 1, which did not separate a pod's baseline from a policy's
 * value: the present value is assumed until a neapd sets the baseline. */
int neap_journal_own_assume(struct neap_journal *journal, struct neap_error *err);

/* Returns an empty journal in memory. */
int neap_journal_new(int dir_fd, const char *boot_id, const struct neap_log *log,
		     struct neap_journal **ret, struct neap_error *err);
/* Loads the file; a missing file is fine (ret_is_there, may be NULL). Returns the number
 * of wrong lines. */
int neap_journal_load(struct neap_journal *journal, bool *ret_is_there,
		      struct neap_error *err);
/* The file had wrong lines: keeps it for people to inspect. */
void neap_journal_keep_bad(const struct neap_journal *journal);

#endif
