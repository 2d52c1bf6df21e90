/* SPDX-License-Identifier: Apache-2.0
 *
 * Between watch.c (events, timer) and watch_look.c (what is on disk, what was told of it). */
#ifndef NEAP_API_POLICY_WATCH_PRIV_H
#define NEAP_API_POLICY_WATCH_PRIV_H

#include <sys/stat.h>

#include "api/policy/watch.h"
#include "engine/base/sha256.h"

#define NEAP_WATCH_QUIET_MS 100  /* without an event before a look */
#define NEAP_WATCH_LATE_MS  1000 /* from the first event to the look, at most */
#define NEAP_WATCH_AWAY_MS  2000 /* between looks for a directory that cannot be watched */

enum neap_watch_told { NEAP_WATCH_NOTHING, NEAP_WATCH_CHANGED, NEAP_WATCH_REFUSED };

/* One name in the directory, or the directory itself. */
struct neap_watch_file {
	char *name, *path;
	enum neap_watch_told told;
	uint8_t digest[NEAP_SHA256_BYTES]; /* of the text, or refusal, that was told */
	struct stat st; /* of the text that was told, or of a look that changed nothing */
	bool is_settled;    /* a later write would show in st */
	bool is_over;       /* beyond NEAP_WATCH_FILES */
	int64_t writing_ms; /* last event of a writer that has not closed yet; 0 none */
};

struct neap_watch_dir {
	const char *path;
	uid_t own_uid;
	struct neap_watch_calls calls;
	struct neap_watch_file self;
	struct neap_watch_file **files; /* by name */
	size_t count, size;
	bool is_looking; /* a call back may ask for a look */
};

/* Whether a name counts as a policy file. */
bool neap_watch_is_policy(const char *name);
/* The file of that name; made when can_make. NULL: none, or no memory. */
struct neap_watch_file *neap_watch_file(struct neap_watch_dir *dir, const char *name,
					bool can_make);
void neap_watch_dir_done(struct neap_watch_dir *dir);
/* Compares and tells. dir_fd: -1 and dir_err when the directory cannot be had. budget_bytes: read no
 * more in this turn. Returns after how many ms to look again though nothing happens, 0: never. */
int neap_watch_dir_look(struct neap_watch_dir *dir, int dir_fd,
			const struct neap_error *dir_err, size_t budget_bytes);
int64_t neap_watch_now_ms(void);

#endif
