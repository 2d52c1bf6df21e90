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
	bool is_own;             /* neap made it; else a kubelet manages it */
	bool is_best_effort;     /* best-effort pods alone, directly below the root */
	bool has_no_best_effort; /* such pods have a tree of their own */
};

#define NEAP_TREES_OWN 2 /* services, then best-effort work */
#define NEAP_TREES_MAX (NEAP_TREES_OWN + 1)

/* Fills in neap's own trees. Best-effort work has a root group of its own: the kernel compares weights
 * between neighbours only, so below the group of the services it would share their weight against the rest
 * of the machine. A besteffort group in that of the services, where an earlier neapd put such work, is
 * managed as long as it is there. */
void neap_trees_own(const struct neap_cgroup *cgroup, const char *group,
		    const char *best_effort_group,
		    struct neap_tree trees[NEAP_TREES_OWN]);
/* Directory of a class; false where the tree has none. */
bool neap_tree_class_dir(const struct neap_tree *tree, enum neap_kube_qos qos, char *buf,
			 size_t size);
/* Which of neap's own trees a new pod of this class belongs to. */
const struct neap_tree *neap_tree_of_class(const struct neap_tree *trees,
					   enum neap_kube_qos qos);
/* Directory of a pod in the tree of its class. 0 or -NEAP_EINVAL. */
int neap_tree_pod_dir(const struct neap_tree *tree, enum neap_kube_qos qos,
		      const char *uid, char *buf, size_t size, struct neap_error *err);

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
/* Finds the kubelet's tree: kubepods.slice or kubepods with the QoS directories in it, at
 * the root of the hierarchy or directly below a group of it. False if none. */
bool neap_scan_find_kubelet(const struct neap_cgroup *cgroup, struct neap_tree *ret);

#endif
