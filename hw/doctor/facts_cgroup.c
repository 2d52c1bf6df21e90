/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the hierarchies are mounted, which groups are at their roots, and which CPUs are
 * taken. Mounts are read from the root's own table, because libcgroup knows only this
 * machine. */
#include <dirent.h>
#include <mntent.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "hw/doctor/facts_priv.h"

/* Groups that are looked at for partitions: kubepods, class, pod, container. */
#define DEPTH_MAX 4
#define LOOK_MAX  2000 /* groups in all */

static const char *const controllers[] = {"cpu",   "cpuacct", "cpuset", "memory",
					  "blkio", "io",      "pids",   "hugetlb"};

static bool has_controller(const struct neap_facts_mount *mount, const char *name)
{
	return neap_facts_has_word(mount->controllers, name);
}

static void mount_fill(const char *root, const struct mntent *row, bool is_v2,
		       struct neap_facts_mount *mount)
{
	char path[NEAP_FACTS_PATH + 32];

	memset(mount, 0, sizeof(*mount));
	mount->is_v2 = is_v2;
	mount->is_read_only = hasmntopt(row, "ro") != NULL;
	(void)neap_strcopy(mount->path, sizeof(mount->path), row->mnt_dir);
	if (!is_v2) {
		for (size_t i = 0; i < NEAP_ARRAY_LEN(controllers); i++)
			if (hasmntopt(row, controllers[i]) != NULL)
				neap_facts_add_word(mount->controllers,
						    sizeof(mount->controllers),
						    controllers[i]);
		return;
	}
	(void)snprintf(path, sizeof(path), "%s/cgroup.controllers", mount->path);
	(void)neap_facts_read(root, path, mount->controllers, sizeof(mount->controllers));
	(void)snprintf(path, sizeof(path), "%s/cgroup.subtree_control", mount->path);
	(void)neap_facts_read(root, path, mount->handed_down, sizeof(mount->handed_down));
}

static void mounts_read(const char *root, struct neap_cgroup_facts *ret)
{
	FILE *file = neap_facts_open(root, "/proc/self/mounts");
	struct mntent row;
	char text[4096];
	bool is_v2;
	int i;

	if (file == NULL)
		return;
	while (ret->mount_count < NEAP_FACTS_MOUNTS &&
	       getmntent_r(file, &row, text, sizeof(text)) != NULL) {
		is_v2 = strcmp(row.mnt_type, "cgroup2") == 0;
		if (!is_v2 && strcmp(row.mnt_type, "cgroup") != 0)
			continue;
		/* Mounted over, or once more elsewhere: the first counts, as for neapd.
		 * Of v2 there is one hierarchy only, and agents mount it for
		 * themselves. */
		for (i = 0; i < ret->mount_count; i++)
			if (strcmp(ret->mounts[i].path, row.mnt_dir) == 0 ||
			    (is_v2 && ret->mounts[i].is_v2))
				break;
		if (i == ret->mount_count)
			mount_fill(root, &row, is_v2, &ret->mounts[ret->mount_count++]);
	}
	(void)fclose(file);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void groups_read(const char *root, const char *mount,
			struct neap_cgroup_facts *ret)
{
	char path[NEAP_FACTS_PATH * 2];
	const struct dirent *entry;
	DIR *dir;

	if (!neap_facts_path(root, mount, path, sizeof(path)))
		return;
	dir = opendir(path);
	if (dir == NULL)
		return;
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		if (ret->group_count == NEAP_FACTS_GROUPS) {
			ret->has_more_groups = true;
			break;
		}
		(void)neap_strcopy(ret->groups[ret->group_count++],
				   sizeof(ret->groups[0]), entry->d_name);
	}
	(void)closedir(dir);
	qsort(ret->groups, (size_t)ret->group_count, sizeof(ret->groups[0]), by_text);
}

struct look {
	const char *root;
	const struct neap_facts_mount *mount;
	struct neap_cgroup_facts *ret;
	int left;
};

static void partition_look(struct look *look, const char *group)
{
	char path[NEAP_FACTS_PATH * 2], text[64];
	struct neap_facts_partition *to;
	const char *file =
		look->mount->is_v2 ? "cpuset.cpus.partition" : "cpuset.cpu_exclusive";

	(void)snprintf(path, sizeof(path), "%s/%s/%s", look->mount->path, group, file);
	/* "root invalid (why)": asked for and not had. */
	if (neap_facts_read(look->root, path, text, sizeof(text)) <= 0 ||
	    strcmp(text, "member") == 0 || strcmp(text, "0") == 0 ||
	    strstr(text, " invalid") != NULL ||
	    look->ret->partition_count == NEAP_FACTS_PARTITIONS)
		return;
	to = &look->ret->partitions[look->ret->partition_count++];
	(void)neap_strcopy(to->group, sizeof(to->group), group);
	(void)snprintf(to->what, sizeof(to->what), "%s %.32s", file, text);
	(void)snprintf(path, sizeof(path), "%s/%s/cpuset.cpus", look->mount->path, group);
	(void)neap_facts_read(look->root, path, to->cpus, sizeof(to->cpus));
}

static void partitions_read(struct look *look, const char *group, int depth)
{
	char path[NEAP_FACTS_PATH * 3], below[NEAP_FACTS_PATH];
	const struct dirent *entry;
	DIR *dir;

	if (snprintf(path, sizeof(path), "%s%s/%s", look->root, look->mount->path,
		     group) >= (int)sizeof(path))
		return;
	dir = opendir(path);
	if (dir == NULL)
		return;
	while ((entry = readdir(dir)) != NULL && look->left > 0) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.' ||
		    snprintf(below, sizeof(below), "%s%s%s", group, *group ? "/" : "",
			     entry->d_name) >= (int)sizeof(below))
			continue;
		look->left--;
		partition_look(look, below);
		if (depth < DEPTH_MAX)
			partitions_read(look, below, depth + 1);
	}
	(void)closedir(dir);
}

void neap_facts_cgroup(const char *root, struct neap_cgroup_facts *ret)
{
	const struct neap_facts_mount *cpu = NULL;

	mounts_read(root, ret);
	for (int i = 0; i < ret->mount_count; i++) {
		const struct neap_facts_mount *mount = &ret->mounts[i];
		struct look look = {root, mount, ret, LOOK_MAX};

		if (cpu == NULL && has_controller(mount, "cpu"))
			cpu = mount;
		if (has_controller(mount, "cpuset"))
			partitions_read(&look, "", 1);
	}
	if (cpu != NULL)
		groups_read(root, cpu->path, ret);
}
