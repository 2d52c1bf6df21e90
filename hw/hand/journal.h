/* SPDX-License-Identifier: Apache-2.0
 *
 * The hand's journal: what was found at first, before neap wrote. One entry per (group, key), one
 * record per group that neap made. It lies in run_dir/hand.journal (0600) as text lines that are
 * only ever appended, each with one write(2) before the kernel write it describes, so that a
 * killed hand's successor knows at least all that was done. It outlives processes, not the
 * machine: another boot id makes it void, as groups do not survive a reboot; so nothing is synced.
 *
 * Workload: some thousand entries at most, looked up once per write. A hash of (group, key) over
 * one array; memory is about 100 bytes and two short texts per entry. */
#ifndef NEAP_HW_HAND_JOURNAL_H
#define NEAP_HW_HAND_JOURNAL_H

#include "engine/base/log.h"
#include "engine/machine/key.h"
#include "engine/machine/path.h"

#define NEAP_JOURNAL_ENTRIES_MAX 16384
#define NEAP_JOURNAL_MADE_MAX    8192
#define NEAP_JOURNAL_ORIGIN_MAX  8192 /* bytes of one /proc/PID/cgroup with its NUL */
/* An origin that is none: the group is of a pod, whose processes stay in it. An older hand finds no
 * group in it, as in that of a process whose group is gone. */
#define NEAP_JOURNAL_ORIGIN_POD "pod"
/* An own value that is none: a journal of format 1 does not say it. It is no text of
 * any key. */
#define NEAP_JOURNAL_OWN_AS_IS "-"

struct neap_journal_entry {
	char *group;
	char *value; /* kernel text found at first, without its newline */
	/* Kernel text of what a group of neap's own has by itself, whatever a policy
	 * writes: it is given back while the group stays. NULL: nothing. */
	char *own;
	uint64_t dev, ino; /* the group's directory at that time */
	enum neap_key key;
	/* Nobody asked for this key: the kernel changes it as a side effect of another one. */
	bool is_side_effect;
	/* Its own value is given back now, see neap_journal_stay_look; and that is done.
	 * In memory only. */
	bool stays, is_back;
	uint32_t hash;
	int next; /* index in the same bucket, -1 ends; the journal's own */
};

struct neap_journal_made {
	char *group;
	char *origin; /* /proc/PID/cgroup of the first process moved in, NULL without one */
	bool stays;   /* as with an entry */
};

struct neap_journal;

/* What a journal below a directory comes to. */
struct neap_journal_look {
	bool is_there;
	bool is_void; /* of an earlier boot: nothing of it is in force */
	int values, groups;
	int values_of_pods,
		groups_of_pods; /* of these, what a give-back leaves while the pods run */
};

/* Looks without changing anything, also while a hand writes it. NEAP_EUNSUPPORTED when a newer neapd
 * wrote it in this boot: of a later version, or with a key or a kind of line that is not known here.
 * Then values are in force that only that neapd can give back, so nobody may write here before. ret
 * may be NULL; boot_id NULL: that of the machine. */
int neap_journal_look(int dir_fd, const char *boot_id, struct neap_journal_look *ret,
		      struct neap_error *err);

/* Reads the journal below dir_fd or starts an empty one. Lines that are wrong are logged by number
 * and left out; the file is then kept as hand.journal.bad. Refuses as neap_journal_look does, and
 * leaves the file as it is. boot_id NULL: that of the machine. */
int neap_journal_open(int dir_fd, const char *boot_id, const struct neap_log *log,
		      struct neap_journal **ret, struct neap_error *err);
/* Closes. An empty journal's file is removed. */
void neap_journal_free(struct neap_journal *journal);

/* Entries and records by index, for loops; a drop moves the last one to its place, so that a loop
 * that drops runs downwards. Pointers die at the next change. */
/* NULL: 0. */
int neap_journal_count(const struct neap_journal *journal);
const struct neap_journal_entry *neap_journal_get(const struct neap_journal *journal,
						  int index);
/* -1 without one. */
int neap_journal_find(const struct neap_journal *journal, const char *group,
		      enum neap_key key);
/* A new entry, on disk when this returns 0. The pair must not be there. */
int neap_journal_add(struct neap_journal *journal, const struct neap_journal_entry *entry,
		     struct neap_error *err);
/* Another value is given back: in memory, and on disk when it is written anew. Without
 * memory it stays. */
void neap_journal_reword(struct neap_journal *journal, int index, const char *value);
/* What the group has by itself from now on; NULL: nothing. On disk when this returns
 * 0. */
int neap_journal_own_set(struct neap_journal *journal, int index, const char *own,
			 struct neap_error *err);
/* Somebody asked for the key after all. */
int neap_journal_claim(struct neap_journal *journal, int index, struct neap_error *err);
/* Forgets. Memory forgets in any case; when the disk cannot follow now it does so later. */
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

/* Whether a value of the key can be one that the group of a pod, or one above it, has
 * by itself. */
bool neap_journal_key_stays(enum neap_key key, bool is_of_pod);
/* What a give-back writes: what the group has by itself where it stays, else what was
 * found. */
const char *neap_journal_back(const struct neap_journal_entry *entry);
void neap_journal_back_note(struct neap_journal *journal, int index);
/* Marks what stays, in memory only and until the next such call. runs: whether a process
 * is in the group of a pod; NULL: in all. */
void neap_journal_stay_look(struct neap_journal *journal,
			    bool (*runs)(void *arg, const char *group), void *arg);

/* All goes back to what was found from here on. */
void neap_journal_stay_end(struct neap_journal *journal);

/* Lines in the file, for tests of the compaction. */
size_t neap_journal_line_count(const struct neap_journal *journal);

#endif
