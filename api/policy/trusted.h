/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens and reads files in places that others may write to: shared by the files of
 * api/policy. */
#ifndef NEAP_API_POLICY_TRUSTED_H
#define NEAP_API_POLICY_TRUSTED_H

#include <sys/stat.h>

#include "engine/base/error.h"

#define NEAP_NAMES_MAX 4096 /* entries of a directory; larger ones are refused */

/* The sorted names of a directory, without "." and "..". */
struct neap_names {
	char **list;
	size_t count;
};

/* Opens a file (or, with is_dir, a directory) that must be trusted: owned by root or
 * own_uid, neither it nor its directory writable by others (nor by a group, unless it is
 * the owner's own); symbolic links are followed and judged alike. On a read-only mount
 * mode bits are ignored (a ConfigMap volume). ret_st: the attributes that were checked.
 * NEAP_ENOTFOUND: it, or the target of a link, does not exist. The error names the file
 * and what would be right. */
int neap_trusted_open(const char *file, uid_t own_uid, bool is_dir, int *ret_fd,
		      struct stat *ret_st, struct neap_error *err);

/* Reads the rest of an open plain file; NEAP_ETOOLARGE over max bytes, NEAP_EUNAVAILABLE
 * when it changed meanwhile. The text ends with a NUL that len does not count; the caller
 * frees it. */
int neap_fd_read_all(int fd, const char *file, size_t max, char **ret_text,
		     size_t *ret_len, struct neap_error *err);

/* Same inode and, by the kernel's timestamps, same content. */
bool neap_stat_is_same(const struct stat *a, const struct stat *b);

/* path: for messages. */
int neap_names_read(int dir_fd, const char *path, struct neap_names *ret,
		    struct neap_error *err);
void neap_names_done(struct neap_names *names);

#endif
