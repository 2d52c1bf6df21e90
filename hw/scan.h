/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the pods and containers by scanning the directories of the managed trees: neap's
 * own root and the kubelet's, if there is one. The kernel reports groups that come and go
 * (inotify). Where it cannot, a directory is read again when its link count or change
 * time changed, and every tenth scan in any case. */
#ifndef NEAP_HW_SCAN_H
#define NEAP_HW_SCAN_H

#include "engine/machine/path.h"
#include "hw/cgroup.h"

struct neap_tree {
	char root[128]; /* "neap", "kubepods", "kubepods.slice" */
	enum neap_cgroup_driver driver;
	bool is_own;             /* created by neap; else managed by a kubelet */
	bool is_best_effort;     /* only best-effort pods, directly below the root */
	bool has_no_best_effort; /* best-effort pods have their own tree */
};

#define NEAP_TREES_OWN 2 /* services, then best-effort work */
#define NEAP_TREES_MAX (NEAP_TREES_OWN + 1)

/* Fills in neap's own trees. Best-effort work has its own root group, because the kernel
 * compares weights between siblings only: inside the services' group it would share their
 * weight against the rest of the machine. A besteffort group inside the services' group,
 * from an earlier neapd, is managed while it exists. */
void neap_trees_own(const struct neap_cgroup *cgroup, const char *group,
		    const char *best_effort_group,
		    struct neap_tree trees[NEAP_TREES_OWN]);
/* The directory of a class; false where the tree has none. */
bool neap_tree_class_dir(const struct neap_tree *tree, enum neap_kube_qos qos, char *buf,
			 size_t size);
/* Returns which of neap's own trees a new pod of this class goes to. */
const struct neap_tree *neap_tree_of_class(const struct neap_tree *trees,
					   enum neap_kube_qos qos);
/* The directory of a pod in its class's tree. 0 or -NEAP_EINVAL. */
int neap_tree_pod_dir(const struct neap_tree *tree, enum neap_kube_qos qos,
		      const char *uid, char *buf, size_t size, struct neap_error *err);

struct neap_scan_container {
	char name[256]; /* last component */
};

struct neap_scan_pod {
	const struct neap_tree *tree;
	enum neap_kube_qos kube_qos;
	char uid[128]; /* with dashes, even where systemd names have underscores */
	char dir[NEAP_PATH_MAX];
	struct neap_scan_container *containers;
	size_t container_count;
};

struct neap_scan;

/* trees are copied. */
int neap_scan_new(const struct neap_cgroup *cgroup, const struct neap_tree *trees,
		  size_t count, struct neap_scan **ret, struct neap_error *err);
void neap_scan_free(struct neap_scan *scan);
/* Scans. Returns 1 when something changed since the last scan, 0 when not, or -code. */
int neap_scan_look(struct neap_scan *scan, struct neap_error *err);
/* Call it when a group of the last scan has vanished: the next scan reopens and reads
 * every directory. Otherwise, where the kernel does not report changes, an empty pod
 * recreated under the same name could go unnoticed for up to ten scans. */
void neap_scan_doubt(struct neap_scan *scan);
/* Results of the last scan, sorted by dir; valid until the next. */
size_t neap_scan_pod_count(const struct neap_scan *scan);
const struct neap_scan_pod *neap_scan_pod_get(const struct neap_scan *scan, size_t index);
/* Finds the kubelet's tree: kubepods.slice or kubepods with its QoS directories, at the
 * root of the hierarchy or directly below one of its groups. False if there is none. */
bool neap_scan_find_kubelet(const struct neap_cgroup *cgroup, struct neap_tree *ret);

#endif
