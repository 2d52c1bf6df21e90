/* SPDX-License-Identifier: Apache-2.0
 *
 * Uploaded policies on disk:
 *
 *   DIR/KIND/NAME/3f2a91c0.lua    a version, never changed once it is there
 *   DIR/KIND/NAME/active          link to the version that is live; absent: none is
 *   DIR/KIND/NAME/params.json     parameters set while it ran
 *   DIR/KIND/NAME/history.jsonl   what happened, one line each, newest last
 *
 * Every change is written beside, synced, renamed, and its directory synced: a kill at any
 * instruction leaves the old or the new state, never a part. Directories, links and files must
 * belong to root or to us and not be writable by others; one that is not so is refused by name.
 * Called by the policy thread and, before that exists, by the start; it keeps nothing open between calls. */
#ifndef NEAP_API_POLICY_VERSIONS_H
#define NEAP_API_POLICY_VERSIONS_H

#include <jansson.h>
#include <sys/types.h>

#include "engine/base/error.h"

#define NEAP_VERSIONS_KEPT                                                               \
	20 /* files per policy; the active and its predecessors stay longest */
/* And bytes of these, beside the active one, the newest and the one to go back to. */
#define NEAP_VERSIONS_KEPT_BYTES (1024 * 1024)
#define NEAP_DELETED_KEPT        256 /* policies that were deleted */
#define NEAP_HISTORY_KEPT        200 /* lines */

struct neap_policy_id {
	char kind[24], name[48];
};

/* What a line of the history says. */
struct neap_history_line {
	int64_t unix_usec;
	char verb
		[24]; /* "put", "rollback", "rolled-back" (by itself), "deleted", "params", "failed" */
	char version
		[12]; /* that is live after it, "" when none is; of "failed": the one that failed */
	char by[64]; /* "uid 0", "token", "neapd" */
	char why[256];
	bool is_by_editor; /* asked for by somebody who is no admin */
};

/* Saves the text of a version unless it is there (with this very text), then, with line,
 * makes it the active one and notes the line. version: 8 hex digits. text NULL: the
 * version must be there already; version "": no version is active any more (line
 * required). Old versions beyond NEAP_VERSIONS_KEPT and their bytes go; for an editor's
 * change only those that no admin put or rolled back to. */
int neap_versions_put(const char *dir, const struct neap_policy_id *id,
		      const char *version, const char *text, size_t len,
		      const struct neap_history_line *line, struct neap_error *err);
/* Only the line ("failed", "params"). */
int neap_versions_note(const char *dir, const struct neap_policy_id *id,
		       const struct neap_history_line *line, struct neap_error *err);
/* Text of a version, NULL or "" for the active one; to be freed. NEAP_ENOTFOUND. ret_version: 12 bytes, may be
 * NULL. A file whose text does not fit its version (SHA-256) is refused. */
int neap_versions_read(const char *dir, const struct neap_policy_id *id,
		       const char *version, char **ret_text, size_t *ret_len,
		       char *ret_version, struct neap_error *err);
/* The parameters, an object; NULL removes them. Load gives an empty object when there are none. */
int neap_versions_save_params(const char *dir, const struct neap_policy_id *id,
			      const json_t *params, const struct neap_history_line *line,
			      struct neap_error *err);
int neap_versions_load_params(const char *dir, const struct neap_policy_id *id,
			      json_t **ret, struct neap_error *err);
/* { "active": "3f2a91c0"|null, "versions": [{"version", "bytes", "unix_usec", "time", "is_active", "has_failed", "by", "why"}] newest
 * first, "history": [{"unix_usec", "time", "verb", "version", "by", "why"}] newest first }. has_failed: the last line
 * about it says "failed" or "rolled-back" away from it. */
int neap_versions_list(const char *dir, const struct neap_policy_id *id, json_t **ret,
		       struct neap_error *err);
/* The version that was live before the active one (of before, if not ""), that is still there and has not failed since.
 * NEAP_ENOTFOUND without one. ret: 12 bytes. */
int neap_versions_find_before(const char *dir, const struct neap_policy_id *id,
			      const char *before, char *ret, struct neap_error *err);
/* Calls found for every policy below DIR, ordered by kind and name, whether a version is active or
 * only parameters are kept. What is not ours (ownership, names) is told by refused and passed over. */
int neap_versions_walk(const char *dir,
		       void (*found)(void *arg, const struct neap_policy_id *id,
				     bool has_active),
		       void (*refused)(void *arg, const struct neap_error *err),
		       void *arg, struct neap_error *err);

/* Lets policies go that were deleted longest ago, with all that is kept of them, until
 * the others have at most max_bytes and are NEAP_DELETED_KEPT at most. What no admin put
 * or rolled back to goes before what one did. ret_bytes: what is left of them. */
int neap_versions_bound(const char *dir, int64_t max_bytes, int64_t *ret_bytes,
			struct neap_error *err);

/* One file on disk that is not ours to trust blindly: a plain file, owner root or own_uid, not
 * writable by others (group included, unless the group is the owner's own), nor the directory it is in; symbolic links are
 * followed and judged alike. On a read-only mount the mode bits do not count (a ConfigMap volume). At most max bytes; text
 * is to be freed. The error names the file and what would be right. */
int neap_trusted_read(const char *file, uid_t own_uid, size_t max, char **ret_text,
		      size_t *ret_len, struct neap_error *err);

#endif
