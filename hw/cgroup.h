/* SPDX-License-Identifier: Apache-2.0
 *
 * The cgroup hierarchies of this machine: which controller is mounted where and in which
 * version (v1, v2, or some of each), and which of neap's files the kernel has. Probed
 * once at start. */
#ifndef NEAP_HW_CGROUP_H
#define NEAP_HW_CGROUP_H

#include "engine/machine/key.h"

struct neap_cgroup_mount {
	bool is_present;
	bool is_v2;
	char path[256]; /* "/sys/fs/cgroup/cpu" */
	int fd;         /* O_PATH directory, -1 when absent; kept for openat2 */
};

struct neap_cgroup {
	struct neap_cgroup_mount mount[NEAP_CTL_COUNT];
	bool has_v1, has_v2;
	/* a tree of plain files below --cgroup-root instead of kernel mounts */
	bool is_fake;
	bool is_by_hand;   /* a root was given, so libcgroup does not know these mounts */
	uint32_t supports; /* bit 1 << key */
	char why_not[NEAP_KEY_COUNT]
		    [96]; /* "cpu.cfs_burst_us: not on this kernel", "" when supported */
};

/* root NULL: uses the machine's mounts, found by libcgroup. Otherwise root is a directory
 * in the form of /sys/fs/cgroup: with cgroup.controllers (v2) or one directory per v1
 * controller; whether it is a mount or plain files is read from its file system.
 * NEAP_EUNSUPPORTED says what is missing and how to get it. */
int neap_cgroup_probe(const char *root, struct neap_cgroup *ret, struct neap_error *err);
/* Fills supports and why_not by looking into dir, a group but not a root (root groups
 * lack files); if dir does not exist, into any group. */
void neap_cgroup_probe_keys(struct neap_cgroup *cgroup, const char *dir);
void neap_cgroup_done(struct neap_cgroup *cgroup);

/* Returns the file name of a key on this machine and its hierarchy; NULL when there is
 * none. */
const char *neap_cgroup_file(const struct neap_cgroup *cgroup, enum neap_key key,
			     int *ret_mount_fd, bool *ret_v2);
/* Opens dir/file below the controller's mount without following links or leaving the
 * mount. dir "" is the mount itself, file NULL the directory. flags as open(2), O_CLOEXEC
 * is added. Returns the descriptor, or -code with errnum (ENOENT: gone). */
int neap_cgroup_open(const struct neap_cgroup *cgroup, enum neap_controller controller,
		     const char *dir, const char *file, int flags,
		     struct neap_error *err);

/* Creates the group and its parents in every hierarchy neap uses; fills v1 cpuset.cpus
 * and cpuset.mems from the parent, and enables v2 controllers on the way down. Uses
 * libcgroup, or plain directories in a fake tree. An existing group is not an error;
 * *ret_made (may be NULL) tells. */
int neap_cgroup_make(const struct neap_cgroup *cgroup, const char *dir, bool *ret_made,
		     struct neap_error *err);
/* Removes the empty group from every hierarchy. A missing group is not an error. EBUSY
 * when it is not empty. */
int neap_cgroup_remove(const struct neap_cgroup *cgroup, const char *dir,
		       struct neap_error *err);
/* Returns whether the group exists in only some of the hierarchies neap uses, because
 * creating or removing it was interrupted. */
bool neap_cgroup_is_partial(const struct neap_cgroup *cgroup, const char *dir);
/* Moves a process with all threads into the group in every hierarchy. errnum ESRCH when
 * it has ended. */
int neap_cgroup_move(const struct neap_cgroup *cgroup, const char *dir, int pid,
		     struct neap_error *err);

#endif
