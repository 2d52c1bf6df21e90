/* SPDX-License-Identifier: Apache-2.0
 *
 * The history of a policy in memory: read, added to, written as a whole (it is short), and asked
 * which version was live when. Used by versions*.c only.
 *
 * Beside what a line shows, two things are kept in the file: "from", the version that was live
 * before a line that changed it, and "params", the digest of params.json after a line that changed
 * those. With them a change that was cut off is told from one that is done. */
#ifndef NEAP_API_POLICY_HISTORY_H
#define NEAP_API_POLICY_HISTORY_H

#include "api/policy/folder.h"

struct neap_history_entry {
	struct neap_history_line line;
	bool is_change; /* which version is live was changed, or confirmed */
	char from[NEAP_VERSION_SIZE]; /* of a change; "" when none was */
	bool has_params;
	char params[NEAP_VERSION_SIZE];
};

struct neap_history {
	struct neap_history_entry *list; /* oldest first */
	size_t count, size;
};

#define neap_auto_history __attribute__((cleanup(neap_history_done)))

/* Empty when there is none yet. A line that is torn or wrong is left out. When a change was cut off
 * after it took effect, the history is the one that it was about to put in place. */
int neap_history_load(const struct neap_folder *folder, struct neap_history *ret,
		      struct neap_error *err);
/* Finishes or forgets a change that was cut off. Before every change. */
int neap_history_settle(const struct neap_folder *folder, struct neap_error *err);
void neap_history_done(struct neap_history *history);

/* Adds a line and lets old ones go. Texts are cut and mended to be UTF-8. */
int neap_history_add(struct neap_history *history, const struct neap_history_entry *entry,
		     struct neap_error *err);
/* Writes it to NEAP_FILE_HISTORY or NEAP_FILE_PENDING. */
int neap_history_save(const struct neap_history *history,
		      const struct neap_folder *folder, const char *name,
		      struct neap_error *err);

/* "" when there are no parameters, else of a text. */
int neap_params_digest(const struct neap_folder *folder, char ret[NEAP_VERSION_SIZE],
		       struct neap_error *err);

/* The last line about it says that it failed, or was rolled back by itself. */
bool neap_history_has_failed(const struct neap_history *history, const char *version);
/* How late it was live: 0 never (as far as is known), else the higher the later. */
size_t neap_history_rank(const struct neap_history *history, const char *version);
/* An admin put it or rolled back to it. Nobody whose rights are known did: of a history
 * of before, an admin. */
bool neap_history_is_admins(const struct neap_history *history, const char *version);
/* See neap_versions_find_before. False without one. */
bool neap_history_find_before(const struct neap_history *history,
			      const struct neap_folder *folder, const char *active,
			      const char *before, char ret[NEAP_VERSION_SIZE]);

#endif
