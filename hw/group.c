/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads one cgroup for a tick. About 750 groups of up to 6 files each second, so every
 * file is opened once and read with pread at 0 onto the stack: half a microsecond for a
 * small file, against 6 for open, read, close.
 *
 * Descriptors are kept up to the limit minus a reserve for sockets; beyond that, and in
 * trees of plain files (where an old descriptor shows an old file), a file is opened for
 * every read. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "hw/readings_priv.h"

/* A group's missing files are tried again in reads 2, 4, 8 and so on, and in each
 * RETRY_EVERY-th: its parts in several hierarchies are made one after the other, and on a
 * slow machine that takes long. What is made late is so found before the group is twice
 * as old. */
#define RETRY_EVERY 1024

enum group_file {
	FILE_USAGE,
	FILE_CPU_STAT,
	FILE_MEMORY,
	FILE_MEMORY_STAT,
	FILE_PSI_CPU,
	FILE_PSI_MEMORY,
	FILE_PSI_IO,
	GROUP_FILES
};

/* v1: in the tree of its controller. v2: the tree of that controller too. */
static const struct {
	enum neap_controller controller;
	const char *v1, *v2;
} group_files[GROUP_FILES] = {
	[FILE_USAGE] = {NEAP_CTL_CPUACCT, "cpuacct.usage", "cpu.stat"},
	[FILE_CPU_STAT] = {NEAP_CTL_CPU, "cpu.stat", "cpu.stat"},
	[FILE_MEMORY] = {NEAP_CTL_MEMORY, "memory.usage_in_bytes", "memory.current"},
	[FILE_MEMORY_STAT] = {NEAP_CTL_MEMORY, "memory.stat", "memory.stat"},
	/* v1 has pressure only in Anolis kernels, in cpuacct; see pressure_controller. */
	[FILE_PSI_CPU] = {NEAP_CTL_UNIFIED, "cpu.pressure", "cpu.pressure"},
	[FILE_PSI_MEMORY] = {NEAP_CTL_UNIFIED, "memory.pressure", "memory.pressure"},
	[FILE_PSI_IO] = {NEAP_CTL_UNIFIED, "io.pressure", "io.pressure"},
};

struct neap_group {
	struct neap_readings *readings;
	char *dir;
	unsigned parts;
	unsigned reads;
	unsigned came; /* of readings, when missing files were last tried */
	int fd[GROUP_FILES + NEAP_KEY_COUNT];
};

struct neap_group *neap_group_new(struct neap_readings *readings, const char *dir,
				  unsigned parts)
{
	struct neap_group *group = neap_alloc(sizeof(*group));

	if (!group)
		return NULL;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(group->fd); i++)
		group->fd[i] = NEAP_FD_NOT_OPEN;
	group->readings = readings;
	group->came = readings->came;
	group->parts = parts;
	group->dir = neap_strdup(dir);
	if (!group->dir) {
		free(group);
		return NULL;
	}
	return group;
}

static void close_slot(struct neap_group *group, int slot, int state)
{
	if (group->fd[slot] >= 0) {
		close(group->fd[slot]);
		group->readings->kept--;
	}
	group->fd[slot] = state;
}

static void close_all(struct neap_group *group)
{
	for (size_t i = 0; i < NEAP_ARRAY_LEN(group->fd); i++)
		close_slot(group, (int)i, NEAP_FD_NOT_OPEN);
}

void neap_group_free(struct neap_group *group)
{
	if (!group)
		return;
	close_all(group);
	free(group->dir);
	free(group);
}

const char *neap_group_dir(const struct neap_group *group)
{
	return group->dir;
}

uint64_t neap_group_id(struct neap_group *group)
{
	neap_auto_fd int fd =
		neap_cgroup_open(group->readings->cgroup, NEAP_CTL_CPU, group->dir, NULL,
				 O_PATH | O_DIRECTORY, NULL);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return 0;
	return st.st_ino;
}

enum fetched { FETCH_ABSENT = -1, FETCH_GONE = -2 };

/* Text of one file of the group: its length, FETCH_ABSENT, or FETCH_GONE when the
 * descriptor belongs to a group that was removed. The name may be in use again: then a
 * later call sees it. *ret_v2 is whether the file has the format of v2. */
static long fetch(struct neap_group *group, int slot, enum neap_controller controller,
		  const char *v1_file, const char *v2_file, char *buf, size_t size,
		  bool *ret_v2)
{
	struct neap_readings *readings = group->readings;
	const struct neap_cgroup_mount *mount = &readings->cgroup->mount[controller];
	const char *file = mount->is_v2 ? v2_file : v1_file;
	struct neap_error err;
	long n;
	int fd = group->fd[slot];
	bool was_missing = fd == NEAP_FD_AGAIN;

	if (!mount->is_present || !file || fd == NEAP_FD_NOT_THERE)
		return FETCH_ABSENT;
	*ret_v2 = mount->is_v2;
	if (fd < 0) {
		fd = neap_cgroup_open(readings->cgroup, controller, group->dir, file,
				      O_RDONLY, &err);
		if (fd < 0) {
			/* Out of descriptors and the like pass; a missing file stays
			 * missing. */
			if (err.errnum == ENOENT)
				group->fd[slot] = NEAP_FD_NOT_THERE;
			return FETCH_ABSENT;
		}
		group->fd[slot] = NEAP_FD_NOT_OPEN;
		if (readings->kept < readings->kept_max) {
			group->fd[slot] = fd;
			readings->kept++;
		}
	}
	n = neap_text_read(fd, buf, size);
	if (n < 0) {
		int saved = errno;

		if (group->fd[slot] == fd)
			close_slot(group, slot,
				   saved == ENODEV ? NEAP_FD_NOT_OPEN
						   : NEAP_FD_NOT_THERE);
		else
			close(fd);
		/* systemd may remove an empty group of the unified tree and leave the
		 * others. */
		if (saved == ENODEV && controller != NEAP_CTL_UNIFIED)
			return FETCH_GONE;
		return FETCH_ABSENT;
	}
	/* A v2 controller was switched on: every group may have more files. */
	readings->came += was_missing && controller != NEAP_CTL_UNIFIED;
	if (group->fd[slot] != fd)
		close(fd);
	return n;
}

static enum neap_controller controller_of(const struct neap_cgroup *cgroup,
					  enum group_file file)
{
	enum neap_controller controller = group_files[file].controller;

	/* Without a cgroup2 mount only Anolis kernels have pressure, among the files of
	 * cpuacct. */
	if (controller == NEAP_CTL_UNIFIED && !cgroup->mount[controller].is_present)
		return NEAP_CTL_CPUACCT;
	return controller;
}

static void clear_reading(struct neap_reading *ret)
{
	ret->cpu_usage_usec = ret->periods = ret->throttled_periods = NEAP_MISSING;
	ret->throttled_usec = ret->memory_bytes = ret->memory_working_bytes =
		NEAP_MISSING;
	ret->cpu_pressure_total_usec = NEAP_MISSING;
	ret->cpu_pressure = ret->memory_pressure = ret->io_pressure = NAN;
}

static void parse_throttling(const char *text, bool v2, struct neap_reading *ret)
{
	int64_t nsec;

	ret->periods = neap_text_find_number(text, "nr_periods");
	ret->throttled_periods = neap_text_find_number(text, "nr_throttled");
	if (v2) {
		ret->throttled_usec = neap_text_find_number(text, "throttled_usec");
		return;
	}
	nsec = neap_text_find_number(text, "throttled_time");
	ret->throttled_usec = nsec == NEAP_MISSING ? NEAP_MISSING : nsec / 1000;
}

static int64_t parse_working(const char *text, bool v2)
{
	static const char *const names[2][3] = {
		{"total_inactive_anon", "total_active_anon", "total_unevictable"},
		{"inactive_anon", "active_anon", "unevictable"},
	};
	int64_t sum = 0;

	for (int i = 0; i < 3; i++) {
		int64_t part = neap_text_find_number(text, names[v2][i]);

		if (part == NEAP_MISSING || __builtin_add_overflow(sum, part, &sum))
			return NEAP_MISSING;
	}
	return sum;
}

/* Puts what a file says where it belongs. */
static void parse_file(enum group_file file, const char *text, bool v2, unsigned parts,
		       struct neap_reading *ret)
{
	int64_t number;

	switch (file) {
	case FILE_USAGE:
		number = v2 ? neap_text_find_number(text, "usage_usec")
			    : neap_text_number(text);
		if (!v2 && number != NEAP_MISSING)
			number /= 1000;
		ret->cpu_usage_usec = number;
		/* The same file: not read twice. */
		if (v2 && (parts & NEAP_READ_THROTTLE))
			parse_throttling(text, v2, ret);
		break;
	case FILE_CPU_STAT:
		parse_throttling(text, v2, ret);
		break;
	case FILE_MEMORY:
		ret->memory_bytes = neap_text_number(text);
		break;
	case FILE_MEMORY_STAT:
		ret->memory_working_bytes = parse_working(text, v2);
		break;
	case FILE_PSI_CPU:
		ret->cpu_pressure =
			neap_text_pressure(text, &ret->cpu_pressure_total_usec);
		break;
	case FILE_PSI_MEMORY:
		ret->memory_pressure = neap_text_pressure(text, &number);
		break;
	case FILE_PSI_IO:
		ret->io_pressure = neap_text_pressure(text, &number);
		break;
	case GROUP_FILES:
		break;
	}
}

static const unsigned file_parts[GROUP_FILES] = {
	NEAP_READ_CPU,         NEAP_READ_THROTTLE,     NEAP_READ_MEMORY,
	NEAP_READ_MEMORY_STAT, NEAP_READ_CPU_PRESSURE, NEAP_READ_PRESSURE,
	NEAP_READ_PRESSURE,
};

static void retry_sometimes(struct neap_group *group)
{
	const struct neap_readings *readings = group->readings;
	unsigned reads = ++group->reads;
	bool is_early = reads < RETRY_EVERY && (reads & (reads - 1)) == 0;

	if (!is_early && reads % RETRY_EVERY != 0 && group->came == readings->came)
		return;
	group->came = readings->came;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(group->fd); i++) {
		if (group->fd[i] == NEAP_FD_NOT_THERE)
			group->fd[i] = NEAP_FD_AGAIN;
	}
}

void neap_group_doubt(struct neap_group *group)
{
	close_all(group);
}

void neap_group_prefetch(const struct neap_group *group)
{
	neap_prefetch(group, sizeof(*group));
}

int neap_group_read(struct neap_group *group, unsigned parts, struct neap_reading *ret)
{
	const struct neap_cgroup *cgroup = group->readings->cgroup;
	bool is_one_stat = cgroup->mount[NEAP_CTL_CPUACCT].is_v2 &&
			   cgroup->mount[NEAP_CTL_CPU].is_v2;
	struct neap_reading reading;
	bool is_seen = false;

	clear_reading(&reading);
	retry_sometimes(group);
	parts &= group->parts;
	for (int i = 0; i < GROUP_FILES; i++) {
		enum group_file file = (enum group_file)i;
		enum neap_controller controller;
		char text[NEAP_READ_TEXT];
		bool v2 = false;
		long n;

		if (!(parts & file_parts[i]))
			continue;
		if (file == FILE_CPU_STAT && is_one_stat && (parts & NEAP_READ_CPU))
			continue;
		controller = controller_of(cgroup, file);
		n = fetch(group, i, controller, group_files[i].v1, group_files[i].v2,
			  text, sizeof(text), &v2);
		if (n == FETCH_GONE) {
			close_all(group);
			return 0;
		}
		if (n < 0)
			continue;
		/* The unified group may exist without the others. */
		is_seen |= group->fd[i] >= 0 && controller != NEAP_CTL_UNIFIED;
		parse_file(file, text, v2, parts, &reading);
	}
	/* No kept descriptor spoke for the group, so ask for the directory. */
	if (!is_seen && neap_group_id(group) == 0) {
		close_all(group);
		return 0;
	}
	*ret = reading;
	return 1;
}

int neap_group_read_key(struct neap_group *group, enum neap_key key,
			struct neap_value *ret, struct neap_error *err)
{
	const struct neap_key_info *info = neap_key_get(key);
	char text[NEAP_CPUSET_TEXT];
	bool v2 = false;
	long n;
	int r;

	if (group->fd[GROUP_FILES + (int)key] == NEAP_FD_NOT_THERE)
		retry_sometimes(group);
	n = fetch(group, GROUP_FILES + (int)key, info->controller, info->v1_file,
		  info->v2_file, text, sizeof(text), &v2);
	/* A group created later must not be held to what this one lacked. */
	if (n == FETCH_GONE || (n < 0 && neap_group_id(group) == 0))
		close_all(group);
	if (n < 0)
		return 0;
	r = neap_value_parse(key, v2, text, ret, err);
	if (r < 0)
		return neap_error_wrap(err, "%s/%s", group->dir,
				       v2 ? info->v2_file : info->v1_file);
	return 1;
}

int neap_group_process_count(struct neap_group *group)
{
	neap_auto_fd int fd =
		neap_cgroup_open(group->readings->cgroup, NEAP_CTL_CPU, group->dir,
				 "cgroup.procs", O_RDONLY, NULL);
	char text[NEAP_READ_TEXT];
	int count = 0;
	ssize_t n;

	if (fd < 0)
		return -1;
	for (n = read(fd, text, sizeof(text)); n > 0; n = read(fd, text, sizeof(text))) {
		for (ssize_t i = 0; i < n; i++)
			count += text[i] == '\n';
	}
	return n < 0 ? -1 : count;
}
