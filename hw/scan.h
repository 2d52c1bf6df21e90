/* SPDX-License-Identifier: Apache-2.0
 *
 * Which pods and containers exist, by looking at the directories of the managed trees: neap's own
 * root and, where there is one, the kubelet's. The kernel tells of groups that come and go; where it
 * cannot, a directory is read again when its number of subdirectories or its change time moved, and
 * every tenth time in any case. */
#ifndef NEAP_HW_SCAN_H
#define NEAP_HW_SCAN_H

#include "engine/machine/path.h"
#include "hw/cgroup.h"

struct neap_tree {
	char root[128]; /* "neap", "kubepods", "kubepods.slice" */
	enum neap_cgroup_driver driver;
	bool is_own; /* neap made it; else a kubelet manages it */
};

struct neap_scan_container {
	char name[256]; /* last component */
};

struct neap_scan_pod {
	const struct neap_tree *tree;
	enum neap_kube_qos kube_qos;
	char uid[128]; /* with dashes, also where systemd's names have underscores */
	char dir[NEAP_PATH_MAX];
	struct neap_scan_container *containers;
	size_t container_count;
};

struct neap_scan;

/* trees are copied. */
int neap_scan_new(const struct neap_cgroup *cgroup, const struct neap_tree *trees,
		  size_t count, struct neap_scan **ret, struct neap_error *err);
void neap_scan_free(struct neap_scan *scan);
/* Looks. Returns 1 when something changed since the last look, 0 when not, -code. */
int neap_scan_look(struct neap_scan *scan, struct neap_error *err);
/* Somebody saw a group of the last look vanish: the next look opens and reads every directory anew. Where
 * the kernel does not tell, an empty pod that was made anew under its name between two looks would else
 * be seen up to ten looks later. */
void neap_scan_doubt(struct neap_scan *scan);
/* Result of the last look, sorted by dir; valid until the next. */
size_t neap_scan_pod_count(const struct neap_scan *scan);
const struct neap_scan_pod *neap_scan_pod_get(const struct neap_scan *scan, size_t index);
/* Finds the kubelet's tree: kubepods.slice or kubepods with the QoS directories in it. False if none. */
bool neap_scan_find_kubelet(const struct neap_cgroup *cgroup, struct neap_tree *ret);

#endif
