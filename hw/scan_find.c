/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds a kubelet's tree by the form of its groups: kubepods or kubepods.slice with both
 * class directories, at the root of the hierarchy or directly below one of its groups (a
 * kubelet with its own cgroupRoot, as in kind). Deeper levels are groups of containers: a
 * kubelet there is not of this machine. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "hw/scan_priv.h"

static const enum neap_cgroup_driver drivers[] = {NEAP_DRIVER_SYSTEMD,
						  NEAP_DRIVER_CGROUPFS};

/* The kubelet's root below a group, "" for the root of the hierarchy: systemd's slices
 * carry the names of those above. */
static bool root_name(enum neap_cgroup_driver driver, const char *group, char *buf,
		      size_t size)
{
	static const char slice[] = ".slice";
	const char *root = neap_path_kube_root(driver);
	size_t len = strlen(group), tail = sizeof(slice) - 1;
	int n;

	if (group[0] == '\0')
		return neap_strcopy(buf, size, root);
	if (driver == NEAP_DRIVER_CGROUPFS) {
		n = snprintf(buf, size, "%s/%s", group, root);
	} else {
		if (len <= tail || strcmp(group + len - tail, slice) != 0)
			return false;
		n = snprintf(buf, size, "%s/%.*s-%s", group, (int)(len - tail), group,
			     root);
	}
	return n > 0 && (size_t)n < size;
}

static bool is_kubelet(const struct neap_cgroup *cgroup, const char *group,
		       struct neap_tree *ret)
{
	static const enum neap_kube_qos classes[] = {NEAP_KUBE_BURSTABLE,
						     NEAP_KUBE_BESTEFFORT};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(drivers); i++) {
		struct neap_tree tree = {.driver = drivers[i]};
		bool has_all =
			root_name(tree.driver, group, tree.root, sizeof(tree.root));

		for (size_t j = 0; has_all && j < NEAP_ARRAY_LEN(classes); j++) {
			char dir[NEAP_PATH_MAX];

			has_all = neap_tree_class_dir(&tree, classes[j], dir,
						      sizeof(dir)) &&
				  neap_scan_place_inode(cgroup, dir) != 0;
		}
		if (!has_all)
			continue;
		*ret = tree;
		return true;
	}
	return false;
}

bool neap_scan_find_kubelet(const struct neap_cgroup *cgroup, struct neap_tree *ret)
{
	struct neap_tree tree;
	const struct dirent *entry;
	bool has_found = false;
	DIR *dir = NULL;
	int fd;

	if (!cgroup->mount[NEAP_CTL_CPU].is_present)
		return false;
	if (is_kubelet(cgroup, "", ret))
		return true;
	fd = neap_cgroup_open(cgroup, NEAP_CTL_CPU, "", NULL, O_RDONLY | O_DIRECTORY,
			      NULL);
	if (fd >= 0)
		dir = fdopendir(fd);
	if (dir == NULL) {
		neap_fd_close(&fd);
		return false;
	}
	/* The first by name, so that every start finds the same one. */
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.' || !neap_path_is_safe(entry->d_name) ||
		    !is_kubelet(cgroup, entry->d_name, &tree) ||
		    (has_found && strcmp(tree.root, ret->root) > 0))
			continue;
		*ret = tree;
		has_found = true;
	}
	(void)closedir(dir);
	return has_found;
}
