/* SPDX-License-Identifier: Apache-2.0
 *
 * Uploaded policies on disk:
 *
 * DIR/KIND/NAME/3f2a91c0.lua    a version, immutable
 * DIR/KIND/NAME/active          link to the live version; absent: none
 * DIR/KIND/NAME/params.json     parameters set over the API
 * DIR/KIND/NAME/history.jsonl   what happened, one line each, newest last
 *
 * Every change is written to a temporary file, synced, renamed, and its directory synced:
 * a kill at any instruction leaves the old or the new state. Directories, links and files
 * must belong to root or the daemon's user and not be writable by others; otherwise they
 * are refused by name. Called by the policy thread and, before it exists, at start;
 * nothing stays open between calls. */
#ifndef NEAP_API_POLICY_VERSIONS_H
#define NEAP_API_POLICY_VERSIONS_H

#include <jansson.h>
#include <sys/types.h>

#include "engine/base/error.h"

#define NEAP_VERSIONS_KEPT                                                               \
	20 /* files per policy; the active one and its predecessors are kept longest */
/* And bytes of these, beyond the active one, the newest and the one to roll back to. */
#define NEAP_VERSIONS_KEPT_BYTES (1024 * 1024)
#define NEAP_DELETED_KEPT        256 /* policies that were deleted */
#define NEAP_HISTORY_KEPT        200 /* lines */

struct neap_policy_id {
	char kind[24], name[48];
};

/* A line of the history. */
struct neap_history_line {
	int64_t unix_usec;
	/* "put", "rollback", "rolled-back" (automatic), "deleted", "params", "failed" */
	char verb[24];
	/* live afterwards, "" when none is; for "failed": the one that failed */
	char version[12];
	char by[64]; /* "uid 0", "token", "neapd" */
	char why[256];
	bool is_by_editor; /* requested by a user who is not an admin */
};

/* Stores the text of a version unless it exists (with the same text); with line, makes it
 * active and records the line. version: 8 hex digits. text NULL: the version must exist;
 * version "": no version is active any more (line required). Versions beyond
 * NEAP_VERSIONS_KEPT and the byte limit are removed; for an editor's change only those
 * that no admin uploaded or rolled back to. */
int neap_versions_put(const char *dir, const struct neap_policy_id *id,
		      const char *version, const char *text, size_t len,
		      const struct neap_history_line *line, struct neap_error *err);
/* Records only the line ("failed", "params"). */
int neap_versions_note(const char *dir, const struct neap_policy_id *id,
		       const struct neap_history_line *line, struct neap_error *err);
/* Reads the text of a version, NULL or "" for the active one; the caller frees it.
 * NEAP_ENOTFOUND. ret_version: 12 bytes, may be NULL. A file that does not match its
 * version (SHA-256) is refused. */
int neap_versions_read(const char *dir, const struct neap_policy_id *id,
		       const char *version, char **ret_text, size_t *ret_len,
		       char *ret_version, struct neap_error *err);
/* Parameters, an object; NULL removes them. Loading returns an empty object when there
 * are none. */
int neap_versions_save_params(const char *dir, const struct neap_policy_id *id,
			      const json_t *params, const struct neap_history_line *line,
			      struct neap_error *err);
int neap_versions_load_params(const char *dir, const struct neap_policy_id *id,
			      json_t **ret, struct neap_error *err);
/* { "active": "3f2a91c0"|null, "versions": [{"version", "bytes", "unix_usec", "time",
 * "is_active", "has_failed", "by", "why"}] newest first, "history": [{"unix_usec",
 * "time", "verb", "version", "by", "why"}] newest first }. has_failed: the last line
 * about it is "failed", or "rolled-back" away from it. */
int neap_versions_list(const char *dir, const struct neap_policy_id *id, json_t **ret,
		       struct neap_error *err);
/* Returns the version that was live before the active one (before `before`, if not ""),
 * still exists, and has not failed since. NEAP_ENOTFOUND without one. ret: 12 bytes. */
int neap_versions_find_before(const char *dir, const struct neap_policy_id *id,
			      const char *before, char *ret, struct neap_error *err);
/* Calls found for every policy below DIR, by kind and name, with an active version or
 * only parameters. Untrusted entries (ownership, names) are reported to refused and
 * skipped. */
int neap_versions_walk(const char *dir,
		       void (*found)(void *arg, const struct neap_policy_id *id,
				     bool has_active),
		       void (*refused)(void *arg, const struct neap_error *err),
		       void *arg, struct neap_error *err);

/* Removes the longest deleted policies completely until the rest takes at most max_bytes
 * and is at most NEAP_DELETED_KEPT. Policies that no admin uploaded or rolled back go
 * first. ret_bytes: what remains. */
int neap_versions_bound(const char *dir, int64_t max_bytes, int64_t *ret_bytes,
			struct neap_error *err);

#endif
