/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening and reading what others may have put there: shared by the files of api/policy. The public
 * part, neap_trusted_read, is declared in versions.h. */
#ifndef NEAP_API_POLICY_TRUSTED_H
#define NEAP_API_POLICY_TRUSTED_H

#include <sys/stat.h>

#include "engine/base/error.h"

#define NEAP_NAMES_MAX 4096 /* entries of a directory; one with more is refused */

/* Names of a directory, sorted, without "." and "..". */
struct neap_names {
	char **list;
	size_t count;
};

/* Opens file (or, with is_dir, a directory) for reading by the rules of neap_trusted_read. ret_st is
 * what was judged. NEAP_ENOTFOUND: it, or what a link leads to, is not there. */
int neap_trusted_open(const char *file, uid_t own_uid, bool is_dir, int *ret_fd,
		      struct stat *ret_st, struct neap_error *err);

/* The rest of an open plain file; NEAP_ETOOLARGE over max bytes, NEAP_EUNAVAILABLE when it changed
 * meanwhile. The text ends in a NUL that len does not count; to be freed. */
int neap_fd_read_all(int fd, const char *file, size_t max, char **ret_text,
		     size_t *ret_len, struct neap_error *err);

/* Same inode, same content as far as the kernel's stamps tell. */
bool neap_stat_is_same(const struct stat *a, const struct stat *b);

/* path: for messages. */
int neap_names_read(int dir_fd, const char *path, struct neap_names *ret,
		    struct neap_error *err);
void neap_names_done(struct neap_names *names);

#endif
