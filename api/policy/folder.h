/* SPDX-License-Identifier: Apache-2.0
 *
 * The directory of one policy on disk, open: reading trusted files, and the steps of a
 * change. All names below are relative to it; no link is followed. Used only by
 * versions*.c and history.c. */
#ifndef NEAP_API_POLICY_FOLDER_H
#define NEAP_API_POLICY_FOLDER_H

#include "api/policy/versions.h"

#define NEAP_FOLDER_PATH  512
#define NEAP_VERSION_SIZE 12 /* array for 8 hex digits */
#define NEAP_FOLDER_EXIT  99 /* exit status after neap_folder_fail_at ended the process */

#define NEAP_FILE_HISTORY "history.jsonl"
#define NEAP_FILE_PENDING                                                                \
	".history.next" /* the history as it will be once the present change is done */
#define NEAP_FILE_PARAMS "params.json"

struct neap_folder {
	int fd;
	char path[NEAP_FOLDER_PATH];
};

#define neap_auto_folder __attribute__((cleanup(neap_folder_close)))

/* The file of a version. */
struct neap_folder_version {
	char version[NEAP_VERSION_SIZE];
	int64_t bytes, unix_usec; /* last written */
};

/* "3f2a91c0" */
bool neap_version_is(const char *version);
/* Checks a kind or name: one or more of a-z, 0-9, "-". */
bool neap_policy_name_is(const char *name, size_t size);
/* Computes the version of a text; ret: NEAP_VERSION_SIZE. */
void neap_version_of(const void *text, size_t len, char *ret);

/* Opens for reading: NEAP_ENOTFOUND when it does not exist. can_write: creates missing
 * directories, locks out other processes until closed (NEAP_EUNAVAILABLE when one holds
 * the lock), and removes partial files of a killed writer. */
int neap_folder_open(const char *dir, const struct neap_policy_id *id, bool can_write,
		     struct neap_folder *ret, struct neap_error *err);
void neap_folder_close(struct neap_folder *folder);
/* Opens a directory below an open one, or with parent_fd AT_FDCWD, at a path. */
int neap_folder_enter(int parent_fd, const char *name, const char *path, bool can_make,
		      int *ret_fd, struct neap_error *err);

/* NEAP_ENOTFOUND without such a file. */
int neap_folder_read(const struct neap_folder *folder, const char *name, size_t max,
		     char **ret_text, size_t *ret_len, struct neap_error *err);
/* Reads the text of a version; refused when its digest does not match. */
int neap_folder_read_version(const struct neap_folder *folder, const char *version,
			     char **ret_text, size_t *ret_len, struct neap_error *err);
bool neap_folder_has(const struct neap_folder *folder, const char *name);
bool neap_folder_has_version(const struct neap_folder *folder, const char *version);
/* "" when none is active. Does not check that the version exists. */
int neap_folder_active(const struct neap_folder *folder, char ret[NEAP_VERSION_SIZE],
		       struct neap_error *err);
/* Lists trusted versions by name; the caller frees it. */
int neap_folder_versions(const struct neap_folder *folder,
			 struct neap_folder_version **ret, size_t *ret_count,
			 struct neap_error *err);

/* Each of these leaves either the old or the new file, complete and durable; the new name
 * is durable only after neap_folder_sync. */
int neap_folder_write(const struct neap_folder *folder, const char *name,
		      const char *text, size_t len, struct neap_error *err);
int neap_folder_move(const struct neap_folder *folder, const char *from, const char *to,
		     struct neap_error *err);
/* A missing file is not an error. */
int neap_folder_remove(const struct neap_folder *folder, const char *name,
		       struct neap_error *err);
/* Points "active" to a version, "" to none. */
int neap_folder_point(const struct neap_folder *folder, const char *version,
		      struct neap_error *err);
int neap_folder_sync(const struct neap_folder *folder, struct neap_error *err);

/* Test builds (NEAP_FAULTS) only: the n-th disk step of this thread from now on fails
 * with errnum, or with 0 ends the process there like a kill (a write half done). n 0:
 * off. Steps are all modifying calls, and opening for reading. */
void neap_folder_fail_at(uint64_t n, int errnum);
uint64_t neap_folder_steps(void);

#endif
