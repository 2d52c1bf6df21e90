/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by watch.c (events, timer) and watch_look.c (what is on disk, and what was
 * reported). */
#ifndef NEAP_API_POLICY_WATCH_PRIV_H
#define NEAP_API_POLICY_WATCH_PRIV_H

#include <sys/stat.h>

#include "api/policy/watch.h"
#include "engine/base/sha256.h"

#define NEAP_WATCH_QUIET_MS 100  /* quiet time before a check */
#define NEAP_WATCH_LATE_MS  1000 /* longest delay from the first event to the check */
/* between checks for a directory that cannot be watched */
#define NEAP_WATCH_AWAY_MS 2000

enum neap_watch_told { NEAP_WATCH_NOTHING, NEAP_WATCH_CHANGED, NEAP_WATCH_REFUSED };

/* One name in the directory, or the directory itself. */
struct neap_watch_file {
	char *name, *path;
	enum neap_watch_told told;
	uint8_t digest[NEAP_SHA256_BYTES]; /* of the reported text or refusal */
	struct stat st;  /* of the reported text, or of a check that found no change */
	bool is_settled; /* a later write would change st */
	bool is_over;    /* beyond NEAP_WATCH_FILES */
	/* last event of a writer that has not closed the file yet; 0 none */
	int64_t writing_ms;
};

struct neap_watch_dir {
	const char *path;
	uid_t own_uid;
	struct neap_watch_calls calls;
	struct neap_watch_file self;
	struct neap_watch_file **files; /* by name */
	size_t count, size;
	bool is_looking; /* a callback may request a check */
};

/* Returns whether a name counts as a policy file. */
bool neap_watch_is_policy(const char *name);
/* Returns the file of that name, created with can_make. NULL: none, or no memory. */
struct neap_watch_file *neap_watch_file(struct neap_watch_dir *dir, const char *name,
					bool can_make);
void neap_watch_dir_done(struct neap_watch_dir *dir);
/* Compares and reports. dir_fd: -1 and dir_err when the directory is unavailable.
 * budget_bytes: limit on reading in this turn. Returns the ms until the next check
 * without an event, 0: none. */
int neap_watch_dir_look(struct neap_watch_dir *dir, int dir_fd,
			const struct neap_error *dir_err, size_t budget_bytes);
int64_t neap_watch_now_ms(void);

#endif
