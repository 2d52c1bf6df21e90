/* SPDX-License-Identifier: Apache-2.0
 *
 * Features of the kernel, and the environment it runs in; where the hierarchies are
 * mounted, which groups are at their roots, and which CPUs are taken. Mounts are read
 * from the root's own table, because libcgroup knows only this machine. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <mntent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "hw/doctor/facts_priv.h"

/* Headers of older systems lack it. */
#ifndef PR_SCHED_CORE
#define PR_SCHED_CORE     62
#define PR_SCHED_CORE_GET 0
#endif

/* The inode of the first cgroup namespace: PROC_CGROUP_INIT_INO of the kernel. */
#define FIRST_CGROUP_NS "cgroup:[4026531835]"

static void release_read(const char *root, struct neap_kernel_facts *ret)
{
	if (neap_facts_read(root, "/proc/sys/kernel/osrelease", ret->release,
			    sizeof(ret->release)) < 0)
		return;
	(void)sscanf(ret->release, "%d.%d", &ret->major, &ret->minor);
}

/* The words behind "flags" of the first processor that are about cache and bandwidth, and
 * whether a hypervisor is beneath. */
static bool cpuinfo_read(const char *root, char *resctrl, size_t size)
{
	static const char *const wanted[] = {"rdt_a",         "cat_l2",       "cat_l3",
					     "cdp_l3",        "mba",          "cqm_llc",
					     "cqm_occup_llc", "cqm_mbm_total"};
	FILE *file = neap_facts_open(root, "/proc/cpuinfo");
	bool is_guest = false;
	char line[8192];

	if (file == NULL)
		return false;
	while (fgets(line, sizeof(line), file) != NULL) {
		if (strncmp(line, "flags", 5) != 0)
			continue;
		is_guest = neap_facts_has_word(line, "hypervisor");
		for (size_t i = 0; i < NEAP_ARRAY_LEN(wanted); i++)
			if (neap_facts_has_word(line, wanted[i]))
				neap_facts_add_word(resctrl, size, wanted[i]);
		break;
	}
	(void)fclose(file);
	return is_guest;
}

static void surroundings_read(const char *root, struct neap_kernel_facts *ret)
{
	static const struct {
		const char *path, *name;
	} traces[] = {
		{"/.dockerenv", "docker"},
		{"/run/.containerenv", "podman"},
		{"/var/run/secrets/kubernetes.io", "kubernetes"},
	};
	char path[NEAP_FACTS_PATH], link[64];
	ssize_t n = -1;

	if (cpuinfo_read(root, ret->resctrl_cpu, sizeof(ret->resctrl_cpu)) &&
	    neap_facts_read(root, "/sys/class/dmi/id/sys_vendor", ret->machine,
			    sizeof(ret->machine)) <= 0)
		(void)neap_strcopy(ret->machine, sizeof(ret->machine),
				   "a hypervisor that does not tell its name");
	(void)neap_facts_read(root, "/run/systemd/container", ret->container,
			      sizeof(ret->container));
	for (size_t i = 0; !ret->container[0] && i < NEAP_ARRAY_LEN(traces); i++)
		if (neap_facts_is_there(root, traces[i].path) == NEAP_YES)
			(void)neap_strcopy(ret->container, sizeof(ret->container),
					   traces[i].name);
	ret->cgroup_ns = NEAP_UNSEEN;
	if (neap_facts_path(root, "/proc/self/ns/cgroup", path, sizeof(path)))
		n = readlink(path, link, sizeof(link) - 1);
	if (n > 0) {
		link[n] = '\0';
		ret->cgroup_ns = strcmp(link, FIRST_CGROUP_NS) == 0 ? NEAP_NO : NEAP_YES;
	}
}

/* Opened as a policy's trigger is; the end of the descriptor ends it. */
static void trigger_try(struct neap_kernel_facts *ret)
{
	static const char *const texts[] = {"some 100000 500000", "some 100000 2000000"};
	static const enum neap_psi_trigger means[] = {NEAP_PSI_FINE, NEAP_PSI_COARSE};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(texts); i++) {
		neap_auto_fd int fd =
			open("/proc/pressure/cpu", O_RDWR | O_NONBLOCK | O_CLOEXEC);

		if (fd >= 0 && write(fd, texts[i], strlen(texts[i]) + 1) > 0) {
			ret->trigger = means[i];
			return;
		}
		ret->trigger = NEAP_PSI_REFUSED;
		ret->trigger_errnum = errno;
		if (fd < 0 || errno != EINVAL)
			return;
	}
}

static void pressure_read(const char *root, struct neap_kernel_facts *ret)
{
	static const char *const files[] = {"/proc/pressure/cpu", "/proc/pressure/memory",
					    "/proc/pressure/io"};
	char text[256], status[4096];
	const char *line;
	int n;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(files); i++) {
		/* With psi=0 the file exists but cannot be read. */
		n = neap_facts_read(root, files[i], text, sizeof(text));
		ret->pressure[i] = n > 0 ? NEAP_YES
				   : n == -ENOENT || n == -EOPNOTSUPP || n == -ENOTDIR
					   ? NEAP_NO
					   : NEAP_UNSEEN;
	}
	ret->resource = NEAP_UNSEEN;
	if (neap_facts_read(root, "/proc/self/status", status, sizeof(status)) > 0) {
		line = strstr(status, "CapEff:");
		if (line != NULL)
			ret->resource =
				strtoull(line + 7, NULL, 16) >> CAP_SYS_RESOURCE & 1
					? NEAP_YES
					: NEAP_NO;
	}
	if (root[0] == '\0' && ret->pressure[0] == NEAP_YES)
		trigger_try(ret);
}

/* Names of folders below path, except those that resctrl always has. */
static void folders_read(const char *root, const char *path, char *text, size_t size)
{
	char whole[NEAP_FACTS_PATH];
	const struct dirent *entry;
	DIR *dir;

	if (!neap_facts_path(root, path, whole, sizeof(whole)))
		return;
	dir = opendir(whole);
	if (dir == NULL)
		return;
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.' ||
		    strcmp(entry->d_name, "info") == 0 ||
		    strncmp(entry->d_name, "mon_", 4) == 0)
			continue;
		neap_facts_add_word(text, size, entry->d_name);
	}
	(void)closedir(dir);
}

static void resctrl_read(const char *root, struct neap_kernel_facts *ret)
{
	char systems[4096];

	ret->resctrl = NEAP_UNSEEN;
	if (neap_facts_read(root, "/proc/filesystems", systems, sizeof(systems)) > 0)
		ret->resctrl =
			neap_facts_has_word(systems, "resctrl") ? NEAP_YES : NEAP_NO;
	ret->is_resctrl_mounted =
		neap_facts_is_there(root, "/sys/fs/resctrl/schemata") == NEAP_YES;
	folders_read(root, "/sys/fs/resctrl/info", ret->resctrl_info,
		     sizeof(ret->resctrl_info));
	folders_read(root, "/sys/fs/resctrl", ret->resctrl_groups,
		     sizeof(ret->resctrl_groups));
}

/* Facts that only a system call reveals. */
static void calls_ask(const char *root, struct neap_kernel_facts *ret)
{
	struct rlimit limit;
	unsigned long cookie = 0;
	long abi;

	ret->core_scheduling = NEAP_UNSEEN;
	ret->landlock = NEAP_UNSEEN;
	ret->nofile_soft = ret->nofile_hard = NEAP_MISSING;
	if (root[0] != '\0')
		return;
	/* ENODEV: supported, but this machine has no SMT. */
	ret->core_scheduling =
		prctl(PR_SCHED_CORE, PR_SCHED_CORE_GET, 0, 0, &cookie) == 0 ||
				errno == ENODEV
			? NEAP_YES
			: NEAP_NO;
	abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
		      LANDLOCK_CREATE_RULESET_VERSION);
	ret->landlock = abi > 0 ? NEAP_YES : NEAP_NO;
	ret->landlock_abi = abi > 0 ? (int)abi : 0;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		ret->nofile_soft = (int64_t)limit.rlim_cur;
		ret->nofile_hard = (int64_t)limit.rlim_max;
	}
}

static int64_t swap_read(const char *root)
{
	char text[8192];
	const char *line;
	long long size;
	int64_t sum = 0;

	if (neap_facts_read(root, "/proc/swaps", text, sizeof(text)) < 0)
		return NEAP_MISSING;
	for (line = strchr(text, '\n'); line != NULL; line = strchr(line + 1, '\n'))
		if (sscanf(line, " %*s %*s %lld", &size) == 1 && size > 0)
			sum += size * 1024;
	return sum;
}

static enum neap_known switch_read(const char *root, const char *path)
{
	char text[16];
	int n = neap_facts_read(root, path, text, sizeof(text));

	if (n == -ENOENT)
		return NEAP_NO;
	if (n <= 0)
		return NEAP_UNSEEN;
	return text[0] == '0' ? NEAP_NO : NEAP_YES;
}

void neap_facts_kernel(const char *root, struct neap_kernel_facts *ret)
{
	char text[256];
	int n;

	release_read(root, ret);
	surroundings_read(root, ret);
	pressure_read(root, ret);
	resctrl_read(root, ret);
	calls_ask(root, ret);
	ret->autogroup = switch_read(root, "/proc/sys/kernel/sched_autogroup_enabled");
	ret->smt = switch_read(root, "/sys/devices/system/cpu/smt/active");
	ret->swap_bytes = swap_read(root);
	n = neap_facts_read(root, "/proc/sys/kernel/seccomp/actions_avail", text,
			    sizeof(text));
	ret->seccomp = n > 0 ? NEAP_YES : n == -ENOENT ? NEAP_NO : NEAP_UNSEEN;
	(void)neap_facts_read(root, "/sys/devices/system/cpu/online", ret->online,
			      sizeof(ret->online));
	(void)neap_facts_read(root, "/sys/devices/system/cpu/offline", ret->offline,
			      sizeof(ret->offline));
	(void)neap_facts_read(root, "/sys/devices/system/cpu/isolated", ret->isolated,
			      sizeof(ret->isolated));
	(void)neap_facts_read(root, "/sys/devices/system/cpu/nohz_full", ret->nohz_full,
			      sizeof(ret->nohz_full));
	/* Without any the kernel says so. */
	if (strstr(ret->nohz_full, "(null)") != NULL)
		ret->nohz_full[0] = '\0';
}

/* --- hierarchies, groups, partitions --- */

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
