/* SPDX-License-Identifier: Apache-2.0
 *
 * The cgroup hierarchies of this machine: which controller is mounted where and in which version
 * (v1, v2, or some of each), and which of neap's files the kernel has. Probed once at start. */
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
	bool is_fake; /* a tree of plain files below --cgroup-root, not kernel mounts */
	bool is_by_hand;   /* a root was given, so libcgroup does not know these mounts */
	uint32_t supports; /* bit 1 << key */
	char why_not[NEAP_KEY_COUNT]
		    [96]; /* "cpu.cfs_burst_us: not on this kernel", "" when supported */
};

/* root NULL: the machine's mounts, found through libcgroup. Else a directory that looks like
 * /sys/fs/cgroup: with cgroup.controllers in it (v2), or with a directory per v1 controller; a
 * plain-file tree is told from a mounted one by its file system. NEAP_EUNSUPPORTED names what is
 * missing and how to get it. */
int neap_cgroup_probe(const char *root, struct neap_cgroup *ret, struct neap_error *err);
/* Finds out which keys the kernel has by looking into dir (a group, not a root: root groups lack
 * files); when there is no such group, into whatever group there is. Fills supports and why_not. */
void neap_cgroup_probe_keys(struct neap_cgroup *cgroup, const char *dir);
void neap_cgroup_done(struct neap_cgroup *cgroup);

/* The file of a key on this machine and the hierarchy it lies in; NULL when it has none. */
const char *neap_cgroup_file(const struct neap_cgroup *cgroup, enum neap_key key,
			     int *ret_mount_fd, bool *ret_v2);
/* Opens dir/file below the controller's mount without following links or leaving the mount. dir ""
 * is the mount itself, file NULL the directory. flags as open(2), O_CLOEXEC is added. Returns the
 * descriptor, or -code with errnum (ENOENT: gone). */
int neap_cgroup_open(const struct neap_cgroup *cgroup, enum neap_controller controller,
		     const char *dir, const char *file, int flags,
		     struct neap_error *err);

/* Makes the group in every hierarchy neap uses (parents too), with cpuset.cpus and cpuset.mems of
 * v1 filled from the parent and v2 controllers enabled on the way down. Through libcgroup, or by
 * hand in a fake tree. Already there is fine: *ret_made tells (may be NULL). */
int neap_cgroup_make(const struct neap_cgroup *cgroup, const char *dir, bool *ret_made,
		     struct neap_error *err);
/* Removes the (empty) group in every hierarchy. Gone is fine. EBUSY when something is inside. */
int neap_cgroup_remove(const struct neap_cgroup *cgroup, const char *dir,
		       struct neap_error *err);
/* A group that is in some of the hierarchies that neap uses and not in others: whoever made or removed
 * it did not come to the end. */
bool neap_cgroup_is_partial(const struct neap_cgroup *cgroup, const char *dir);
/* Moves a whole process into the group in every hierarchy. ESRCH in errnum when it ended. */
int neap_cgroup_move(const struct neap_cgroup *cgroup, const char *dir, int pid,
		     struct neap_error *err);

#endif
