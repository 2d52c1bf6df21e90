/* SPDX-License-Identifier: Apache-2.0
 *
 * A tree of plain files instead of a kernel's (--cgroup-root, tests, recorded machines).
 * The kernel creates and removes the files of a group; this does the same by hand, with
 * the initial values of a 6.x kernel. Nothing else is imitated: writes are not checked,
 * and counters do not move. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hw/cgroup_priv.h"

struct fake_file {
	enum neap_controller controller;
	const char *name;
	const char *text; /* NULL: as the parent has it */
};

#define PRESSURE                                                                         \
	"some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"                               \
	"full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
#define V1_NO_LIMIT "9223372036854771712\n"

static const struct fake_file v1_files[] = {
	{NEAP_CTL_CPU, "cpu.shares", "1024\n"},
	{NEAP_CTL_CPU, "cpu.cfs_quota_us", "-1\n"},
	{NEAP_CTL_CPU, "cpu.cfs_period_us", "100000\n"},
	{NEAP_CTL_CPU, "cpu.cfs_burst_us", "0\n"},
	{NEAP_CTL_CPU, "cpu.idle", "0\n"},
	{NEAP_CTL_CPU, "cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n"},
	{NEAP_CTL_CPUACCT, "cpuacct.usage", "0\n"},
	{NEAP_CTL_CPUACCT, "cpuacct.stat", "user 0\nsystem 0\n"},
	{NEAP_CTL_CPUSET, "cpuset.cpus", ""},
	{NEAP_CTL_CPUSET, "cpuset.mems", ""},
	{NEAP_CTL_MEMORY, "memory.limit_in_bytes", V1_NO_LIMIT},
	{NEAP_CTL_MEMORY, "memory.usage_in_bytes", "0\n"},
	{NEAP_CTL_MEMORY, "memory.stat",
	 "total_inactive_anon 0\ntotal_active_anon 0\ntotal_unevictable 0\n"},
	{NEAP_CTL_PIDS, "pids.max", "max\n"},
};

static const struct fake_file v2_files[] = {
	{NEAP_CTL_UNIFIED, "cgroup.controllers", NULL}, /* see inherit */
	{NEAP_CTL_UNIFIED, "cgroup.subtree_control", ""},
	{NEAP_CTL_UNIFIED, "cpu.pressure", PRESSURE},
	{NEAP_CTL_UNIFIED, "memory.pressure", PRESSURE},
	{NEAP_CTL_UNIFIED, "io.pressure", PRESSURE},
	{NEAP_CTL_UNIFIED, "cpu.stat",
	 "usage_usec 0\nuser_usec 0\nsystem_usec 0\n"
	 "nr_periods 0\nnr_throttled 0\nthrottled_usec 0\nnr_bursts 0\nburst_usec 0\n"},
	{NEAP_CTL_CPU, "cpu.weight", "100\n"},
	{NEAP_CTL_CPU, "cpu.max", "max 100000\n"},
	{NEAP_CTL_CPU, "cpu.max.burst", "0\n"},
	{NEAP_CTL_CPU, "cpu.idle", "0\n"},
	{NEAP_CTL_CPUSET, "cpuset.cpus", ""},
	{NEAP_CTL_CPUSET, "cpuset.cpus.effective", NULL},
	{NEAP_CTL_CPUSET, "cpuset.mems", ""},
	{NEAP_CTL_CPUSET, "cpuset.mems.effective", NULL},
	{NEAP_CTL_MEMORY, "memory.max", "max\n"},
	{NEAP_CTL_MEMORY, "memory.high", "max\n"},
	{NEAP_CTL_MEMORY, "memory.low", "0\n"},
	{NEAP_CTL_MEMORY, "memory.min", "0\n"},
	{NEAP_CTL_MEMORY, "memory.current", "0\n"},
	{NEAP_CTL_MEMORY, "memory.stat",
	 "inactive_anon 0\nactive_anon 0\nunevictable 0\n"},
	{NEAP_CTL_PIDS, "pids.max", "max\n"},
};

/* Text that a new group takes from above: the controllers handed down, the effective
 * CPUs. */
static void inherit(int parent_fd, const char *name, char *buf, size_t size)
{
	const char *from =
		strcmp(name, "cgroup.controllers") == 0 ? "cgroup.subtree_control" : name;

	if (neap_cgroup_slurp(parent_fd, from, buf, size) < 0)
		buf[0] = '\0';
}

static int put(int group_fd, const char *name, const char *text)
{
	neap_auto_fd int fd =
		openat(group_fd, name,
		       O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);

	if (fd < 0)
		return errno == EEXIST ? 0 : -1;
	return write(fd, text, strlen(text)) < 0 ? -1 : 0;
}

int neap_cgroup_fake_fill(const struct neap_cgroup *cgroup,
			  enum neap_controller hierarchy, int parent_fd, int group_fd,
			  struct neap_error *err)
{
	const struct neap_cgroup_mount *mount = &cgroup->mount[hierarchy];
	const struct fake_file *files = mount->is_v2 ? v2_files : v1_files;
	size_t count = mount->is_v2 ? NEAP_ARRAY_LEN(v2_files) : NEAP_ARRAY_LEN(v1_files);

	if (put(group_fd, "cgroup.procs", "") < 0)
		return neap_error_sys(err, "make cgroup.procs below %s", mount->path);
	for (size_t i = 0; i < count; i++) {
		const struct neap_cgroup_mount *own = &cgroup->mount[files[i].controller];
		const char *text = files[i].text;
		char above[NEAP_CPUSET_TEXT];

		if (!own->is_present || strcmp(own->path, mount->path) != 0)
			continue;
		if (!text) {
			inherit(parent_fd, files[i].name, above, sizeof(above));
			text = above;
		}
		if (put(group_fd, files[i].name, text) < 0)
			return neap_error_sys(err, "make %s below %s", files[i].name,
					      mount->path);
	}
	return 0;
}

static bool has_live_process(int group_fd)
{
	char text[4096];
	char *at = text;

	if (neap_cgroup_slurp(group_fd, "cgroup.procs", text, sizeof(text)) <= 0)
		return false;
	while (*at) {
		char *end;
		long pid = strtol(at, &end, 10);

		if (end == at)
			break;
		/* Whichever user owns it: only ESRCH means that it ended. */
		if (pid > 0 && (kill((pid_t)pid, 0) == 0 || errno != ESRCH))
			return true;
		at = end + strspn(end, "\n ");
	}
	return false;
}

static int each_file(int group_fd, bool do_unlink)
{
	int fd = openat(group_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *entry;
	int r = 0;
	DIR *dir;

	if (fd < 0)
		return -1;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -1;
	}
	for (entry = readdir(dir); r == 0 && entry; entry = readdir(dir)) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (do_unlink)
			r = unlinkat(group_fd, entry->d_name, 0);
		else if (entry->d_type == DT_DIR)
			r = EBUSY;
	}
	closedir(dir);
	if (r == EBUSY)
		errno = EBUSY;
	return r ? -1 : 0;
}

int neap_cgroup_fake_empty(int group_fd)
{
	if (has_live_process(group_fd)) {
		errno = EBUSY;
		return -1;
	}
	/* A group below keeps its parent, as in the kernel; so look first, then take
	 * away. */
	if (each_file(group_fd, false) < 0)
		return -1;
	return each_file(group_fd, true);
}
