/* SPDX-License-Identifier: Apache-2.0
 *
 * The hand's journal: the original values, found before neap wrote. One entry per (group,
 * key), one record per group that neap created. Stored as text lines in
 * run_dir/hand.journal (0600), only appended, each by one write(2) before the kernel
 * write it describes; so the successor of a killed hand knows at least everything that
 * was done. It outlives processes, but not a reboot: groups do not survive one, so
 * another boot id makes it void, and nothing is synced.
 *
 * Workload: a few thousand entries, looked up once per write. A hash of (group, key) over
 * one array; about 100 bytes and two short texts per entry. */
#ifndef NEAP_HW_HAND_JOURNAL_H
#define NEAP_HW_HAND_JOURNAL_H

#include "engine/log/log.h"
#include "engine/machine/key.h"
#include "engine/machine/path.h"

#define NEAP_JOURNAL_ENTRIES_MAX 16384
#define NEAP_JOURNAL_MADE_MAX    8192
#define NEAP_JOURNAL_ORIGIN_MAX  8192 /* bytes of one /proc/PID/cgroup with its NUL */
/* An origin that marks a pod's group, whose processes stay inside. An older hand treats
 * it like an origin whose group is gone. */
#define NEAP_JOURNAL_ORIGIN_POD "pod"
/* Marks an unknown baseline: a journal of format 1 does not record it. Not a valid text
 * of any key. */
#define NEAP_JOURNAL_OWN_AS_IS "-"

struct neap_journal_entry {
	char *group;
	char *value; /* original kernel text, without its newline */
	/* Baseline of a group that neap created, as kernel text; restored while the group
	 * stays. NULL: none. */
	char *own;
	uint64_t dev, ino; /* identity of the group's directory at that time */
	enum neap_key key;
	/* No request named this key: the kernel changes it as a side effect of another
	 * key. */
	bool is_side_effect;
	/* Its baseline is restored now, see neap_journal_stay_look; and that has been
	 * done. In memory only. */
	bool stays, is_back;
	uint32_t hash;
	int next; /* index in the same bucket, -1 at the end; private to the journal */
};

struct neap_journal_made {
	char *group;
	char *origin; /* /proc/PID/cgroup of the first process moved in, NULL: none */
	bool stays;   /* as in an entry */
};

struct neap_journal;

/* Summary of a journal. */
struct neap_journal_look {
	bool is_there;
	bool is_void; /* from an earlier boot: nothing in it is in force */
	int values, groups;
	int values_of_pods,
		/* of these, how many a restore leaves while their pods run */
		groups_of_pods;
};

/* Reads without changing anything, even while a hand writes. NEAP_EUNSUPPORTED when a
 * newer neapd wrote the journal in this boot, with a later version, an unknown key or an
 * unknown kind of line: only that neapd can restore those values, and nobody may write
 * here before. ret may be NULL; boot_id NULL: this machine's. */
int neap_journal_look(int dir_fd, const char *boot_id, struct neap_journal_look *ret,
		      struct neap_error *err);

/* Reads the journal below dir_fd, or starts an empty one. Wrong lines are logged by
 * number and skipped, and the file is kept as hand.journal.bad. Refuses like
 * neap_journal_look and leaves the file unchanged. boot_id NULL: this machine's. */
int neap_journal_open(int dir_fd, const char *boot_id, const struct neap_log *log,
		      struct neap_journal **ret, struct neap_error *err);
/* Closes it. The file of an empty journal is removed. */
void neap_journal_free(struct neap_journal *journal);

/* Entries and records by index. A drop moves the last one into the gap, so loops that
 * drop run downwards. Pointers are valid until the next change. */
/* NULL: 0. */
int neap_journal_count(const struct neap_journal *journal);
const struct neap_journal_entry *neap_journal_get(const struct neap_journal *journal,
						  int index);
/* -1 without one. */
int neap_journal_find(const struct neap_journal *journal, const char *group,
		      enum neap_key key);
/* Adds an entry, on disk when this returns 0. The pair must be new. */
int neap_journal_add(struct neap_journal *journal, const struct neap_journal_entry *entry,
		     struct neap_error *err);
/* Replaces the value to restore: in memory now, on disk at the next rewrite of the file.
 * Without memory nothing changes. */
void neap_journal_reword(struct neap_journal *journal, int index, const char *value);
/* Sets the group's baseline; NULL: none. On disk when this returns 0. */
int neap_journal_own_set(struct neap_journal *journal, int index, const char *own,
			 struct neap_error *err);
/* Clears is_side_effect: a request names the key now. */
int neap_journal_claim(struct neap_journal *journal, int index, struct neap_error *err);
/* Drops it. Always removed from memory; the disk follows later if it cannot now. */
void neap_journal_drop(struct neap_journal *journal, int index);
void neap_journal_drop_group(struct neap_journal *journal, const char *group);

int neap_journal_made_count(const struct neap_journal *journal);
const struct neap_journal_made *neap_journal_made_get(const struct neap_journal *journal,
						      int index);
int neap_journal_made_find(const struct neap_journal *journal, const char *group);
int neap_journal_made_add(struct neap_journal *journal, const char *group,
			  struct neap_error *err);
/* Only the first origin of a group is kept. */
int neap_journal_origin_add(struct neap_journal *journal, int index, const char *origin,
			    struct neap_error *err);
void neap_journal_made_drop(struct neap_journal *journal, int index);
bool neap_journal_made_is_pod(const struct neap_journal_made *made);

/* Returns whether a value of the key can be the baseline of a pod's group or of its
 * parents. */
bool neap_journal_key_stays(enum neap_key key, bool is_of_pod);
/* Returns the value to restore: the baseline where the group stays, else the original. */
const char *neap_journal_back(const struct neap_journal_entry *entry);
void neap_journal_back_note(struct neap_journal *journal, int index);
/* Marks what stays, in memory only and until the next call. runs: whether a process is in
 * a pod's group; NULL: in all of them. */
void neap_journal_stay_look(struct neap_journal *journal,
			    bool (*runs)(void *arg, const char *group), void *arg);

/* From here on everything is restored to the original. */
void neap_journal_stay_end(struct neap_journal *journal);

/* Lines in the file, for tests of the compaction. */
size_t neap_journal_line_count(const struct neap_journal *journal);

#endif
