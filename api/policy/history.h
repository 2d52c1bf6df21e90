/* SPDX-License-Identifier: Apache-2.0
 *
 * The history of a policy in memory: loaded, appended, and saved as a whole (it is
 * short), and queried for which version was live when. Used only by versions*.c.
 *
 * Besides what is shown of a line, the file has "from", the version that was live before
 * a line that changed it, and "params", the digest of params.json after a line that
 * changed it. They distinguish an interrupted change from a finished one. */
#ifndef NEAP_API_POLICY_HISTORY_H
#define NEAP_API_POLICY_HISTORY_H

#include "api/policy/folder.h"

struct neap_history_entry {
	struct neap_history_line line;
	bool is_change;               /* the live version was changed or confirmed */
	char from[NEAP_VERSION_SIZE]; /* of a change; "" when none was live */
	bool has_params;
	char params[NEAP_VERSION_SIZE];
};

struct neap_history {
	struct neap_history_entry *list; /* oldest first */
	size_t count, size;
};

#define neap_auto_history __attribute__((cleanup(neap_history_done)))

/* Empty when there is none yet. Torn or wrong lines are skipped. If a change was
 * interrupted after it took effect, this is the history that it was about to save. */
int neap_history_load(const struct neap_folder *folder, struct neap_history *ret,
		      struct neap_error *err);
/* Completes or discards an interrupted change. Call before every change. */
int neap_history_settle(const struct neap_folder *folder, struct neap_error *err);
void neap_history_done(struct neap_history *history);

/* Appends a line and drops old ones. Texts are cut, and invalid UTF-8 is replaced. */
int neap_history_add(struct neap_history *history, const struct neap_history_entry *entry,
		     struct neap_error *err);
/* Writes it to NEAP_FILE_HISTORY or NEAP_FILE_PENDING. */
int neap_history_save(const struct neap_history *history,
		      const struct neap_folder *folder, const char *name,
		      struct neap_error *err);

/* Returns whether the last line about the version says that it failed or was rolled back
 * automatically. */
bool neap_history_has_failed(const struct neap_history *history, const char *version);
/* Ranks how recently it was live: 0 never (as far as known), else the higher the
 * later. */
size_t neap_history_rank(const struct neap_history *history, const char *version);
/* Returns whether an admin uploaded it or rolled back to it. A change by an unknown role,
 * in an old history, counts as an admin's. */
bool neap_history_is_admins(const struct neap_history *history, const char *version);
/* See neap_versions_find_before. False when there is none. */
bool neap_history_find_before(const struct neap_history *history,
			      const struct neap_folder *folder, const char *active,
			      const char *before, char ret[NEAP_VERSION_SIZE]);

#endif
