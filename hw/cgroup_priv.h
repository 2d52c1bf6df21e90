/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by hw/cgroup.c (probing, opening) and hw/cgroup_group.c (creating, removing,
 * moving). */
#ifndef NEAP_HW_CGROUP_PRIV_H
#define NEAP_HW_CGROUP_PRIV_H

#include "hw/cgroup.h"

/* Name of the controller in v1 and in v2 ("blkio", "io"); NULL where that version has
 * none. */
const char *neap_cgroup_controller_file_name(enum neap_controller controller, bool v2);

/* openat2 below dirfd without links, "..", or other mounts; emulated component by
 * component on kernels without openat2. path "" is dirfd itself. Returns the descriptor,
 * or -1 with errno. */
int neap_cgroup_open_beneath(int dirfd, const char *path, int flags);

/* Reads a small file below dirfd into buf, without the final newline. Length, or -1 with
 * errno. */
long neap_cgroup_slurp(int dirfd, const char *file, char *buf, size_t size);

/* Returns whether word is one of the blank-separated words of text. */
bool neap_cgroup_has_word(const char *text, const char *word);

/* Builds the error of a failed call on a cgroup file or directory, with advice. */
int neap_cgroup_explain(struct neap_error *err, int errnum, const char *mount,
			const char *fmt, ...) NEAP_PRINTF(4, 5);

/* Returns the number of distinct hierarchies in which neap creates groups, as indexes of
 * mount. */
int neap_cgroup_hierarchies(const struct neap_cgroup *cgroup,
			    enum neap_controller ret[NEAP_CTL_COUNT]);

/* hw/cgroup_fake.c: does in a tree of plain files what the kernel would do by itself. */
int neap_cgroup_fake_fill(const struct neap_cgroup *cgroup,
			  enum neap_controller hierarchy, int parent_fd, int group_fd,
			  struct neap_error *err);
/* Deletes the files of an empty group so that rmdir works. 0, or -1 with errno
 * (EBUSY). */
int neap_cgroup_fake_empty(int group_fd);

#endif
