/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the node for a tick: CPU time, memory, pressure, online CPUs. Kernel files are
 * opened once; files below another root (tests, recorded machines) are opened for every
 * read, because they may be replaced. Groups are in hw/group.c. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "hw/readings_priv.h"

/* Parses digits at *at and advances it. False without a digit or above int64. */
static bool text_take_number(const char **at, int64_t *ret)
{
	const char *p = *at;
	uint64_t value = 0;

	if (*p < '0' || *p > '9')
		return false;
	for (; *p >= '0' && *p <= '9'; p++) {
		if (value > (INT64_MAX - (uint64_t)(*p - '0')) / 10)
			return false;
		value = value * 10 + (uint64_t)(*p - '0');
	}
	*at = p;
	*ret = (int64_t)value;
	return true;
}

/* Most lines differ in their first bytes, so calls of the library would cost more than
 * they do. */
int64_t neap_text_find_number(const char *text, const char *name)
{
	while (*text) {
		const char *at = text;
		size_t len = 0;
		int64_t value;

		while (name[len] && at[len] == name[len])
			len++;
		at += len;
		if (!name[len] && (*at == ' ' || *at == ':')) {
			do
				at++;
			while (*at == ' ');
			return text_take_number(&at, &value) ? value : NEAP_MISSING;
		}
		text = strchrnul(at, '\n');
		text += *text == '\n';
	}
	return NEAP_MISSING;
}

int64_t neap_text_number(const char *text)
{
	int64_t value;

	return text_take_number(&text, &value) ? value : NEAP_MISSING;
}

/* The kernel prints two decimals always. */
double neap_text_pressure(const char *text, int64_t *ret_total_usec)
{
	const char *at = text, *total;
	int64_t whole, part;

	*ret_total_usec = NEAP_MISSING;
	if (strncmp(at, "some avg10=", 11) != 0)
		return NAN;
	at += 11;
	if (!text_take_number(&at, &whole) || at[0] != '.' || at[1] < '0' ||
	    at[1] > '9' || at[2] < '0' || at[2] > '9')
		return NAN;
	part = (at[1] - '0') * 10 + (at[2] - '0');
	total = strstr(at, "total=");
	if (total)
		*ret_total_usec = neap_text_number(total + 6);
	return ((double)whole + (double)part / 100) / 100;
}

/* Not by pread(), of which the C library makes a point of cancellation: in a process with
 * threads that costs two atomic operations for each of the some thousand reads of a tick.
 * The offset, 0, has room for every architecture's way to pass it. */
long neap_text_read(int fd, char *buf, size_t size)
{
	long n = syscall(SYS_pread64, fd, buf, size - 1, 0L, 0L, 0L);

	if (n < 0)
		return -1;
	buf[n] = '\0';
	return n;
}

#define FD_OTHERS_SHARE 2 /* the half is for connections, files, the rest of the daemon */

static const char *const node_paths[NODE_FILES] = {
	[NODE_STAT] = "/proc/stat",
	[NODE_MEMINFO] = "/proc/meminfo",
	[NODE_PSI_CPU] = "/proc/pressure/cpu",
	[NODE_PSI_MEMORY] = "/proc/pressure/memory",
	[NODE_PSI_IO] = "/proc/pressure/io",
	[NODE_ONLINE] = "/sys/devices/system/cpu/online",
};

static int64_t times(int64_t value, int64_t factor)
{
	int64_t product;

	if (value == NEAP_MISSING || __builtin_mul_overflow(value, factor, &product))
		return NEAP_MISSING;
	return product;
}

static int open_node_file(const struct neap_readings *readings, enum node_file file)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s%s", readings->sys_root, node_paths[file]) >=
	    (int)sizeof(path))
		return -1;
	return open(path, O_RDONLY | O_CLOEXEC);
}

static long read_node_file(struct neap_readings *readings, enum node_file file, char *buf,
			   size_t size)
{
	long n;
	int fd;

	if (readings->is_machine && readings->fd[file] >= 0)
		return neap_text_read(readings->fd[file], buf, size);
	if (readings->is_machine && readings->fd[file] == NEAP_FD_NOT_THERE)
		return -1;
	fd = open_node_file(readings, file);
	if (fd < 0)
		return -1;
	n = neap_text_read(fd, buf, size);
	if (readings->is_machine)
		readings->fd[file] = fd;
	else
		close(fd);
	return n;
}

/* A limit that is too low is raised as far as a user may; the remainder decides. */
static long descriptors_to_keep(void)
{
	struct rlimit limit;
	long left;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 0;
	if (limit.rlim_cur < limit.rlim_max) {
		struct rlimit raised = {limit.rlim_max, limit.rlim_max};

		if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
			limit = raised;
	}
	if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > 1000000)
		limit.rlim_cur = 1000000;
	left = (long)limit.rlim_cur - (long)limit.rlim_cur / NEAP_FD_SCAN_SHARE -
	       (long)limit.rlim_cur / FD_OTHERS_SHARE;
	return left > 0 ? left : 0;
}

int neap_readings_new(const char *sys_root, const struct neap_cgroup *cgroup,
		      struct neap_readings **ret, struct neap_error *err)
{
	struct neap_readings *readings = neap_alloc(sizeof(*readings));
	long hz = sysconf(_SC_CLK_TCK);
	char text[NEAP_READ_TEXT];
	int missing = 0;

	if (!readings)
		return neap_error_nomem(err);
	for (int i = 0; i < NODE_FILES; i++)
		readings->fd[i] = NEAP_FD_NOT_OPEN;
	readings->cgroup = cgroup;
	readings->is_machine = *sys_root == '\0';
	readings->usec_per_tick = 1000000 / (hz > 0 ? hz : 100);
	readings->kept_max = cgroup->is_fake ? 0 : descriptors_to_keep();
	readings->sys_root = neap_strdup(sys_root);
	if (!readings->sys_root) {
		neap_readings_free(readings);
		return neap_error_nomem(err);
	}

	/* Reading, not only opening: a kernel with pressure switched off has files that
	 * refuse. */
	for (int i = 0; i < NODE_FILES; i++) {
		if (read_node_file(readings, (enum node_file)i, text, sizeof(text)) >= 0)
			continue;
		readings->missing[missing++] = node_paths[i];
		if (readings->fd[i] >= 0)
			close(readings->fd[i]);
		readings->fd[i] = NEAP_FD_NOT_THERE;
	}
	*ret = readings;
	return 0;
}

void neap_readings_free(struct neap_readings *readings)
{
	if (!readings)
		return;
	for (int i = 0; i < NODE_FILES; i++) {
		if (readings->fd[i] >= 0)
			close(readings->fd[i]);
	}
	free(readings->sys_root);
	free(readings);
}

const char *neap_readings_missing(const struct neap_readings *readings, size_t index)
{
	return index < NODE_FILES ? readings->missing[index] : NULL;
}

/* "cpu  user nice system idle iowait irq softirq steal ...", in ticks. */
static void parse_cpu_line(const char *text, int64_t usec_per_tick, int64_t *ret_busy,
			   int64_t *ret_steal)
{
	int64_t column[8];
	const char *at = text + 3;

	*ret_busy = *ret_steal = NEAP_MISSING;
	if (strncmp(text, "cpu ", 4) != 0)
		return;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(column); i++) {
		at += strspn(at, " ");
		if (!text_take_number(&at, &column[i]) || column[i] > INT64_MAX / 16)
			return;
	}
	*ret_busy = times(column[0] + column[1] + column[2] + column[5] + column[6],
			  usec_per_tick);
	*ret_steal = times(column[7], usec_per_tick);
}

void neap_readings_node(struct neap_readings *readings, struct neap_node_reading *ret)
{
	double *pressures[] = {&ret->cpu_pressure, &ret->memory_pressure,
			       &ret->io_pressure};
	char text[NEAP_READ_TEXT];
	int64_t total;

	ret->cpu_busy_usec = ret->cpu_steal_usec = NEAP_MISSING;
	if (read_node_file(readings, NODE_STAT, text, sizeof(text)) >= 0)
		parse_cpu_line(text, readings->usec_per_tick, &ret->cpu_busy_usec,
			       &ret->cpu_steal_usec);

	if (read_node_file(readings, NODE_MEMINFO, text, sizeof(text)) < 0)
		text[0] = '\0';
	ret->memory_total_bytes = times(neap_text_find_number(text, "MemTotal"), 1024);
	ret->memory_free_bytes = times(neap_text_find_number(text, "MemFree"), 1024);
	ret->memory_available_bytes =
		times(neap_text_find_number(text, "MemAvailable"), 1024);

	for (int i = 0; i < 3; i++) {
		enum node_file file = (enum node_file)(NODE_PSI_CPU + i);

		*pressures[i] = NAN;
		if (read_node_file(readings, file, text, sizeof(text)) >= 0)
			*pressures[i] = neap_text_pressure(text, &total);
	}
}

bool neap_readings_online(struct neap_readings *readings, struct neap_cpuset *ret)
{
	char text[NEAP_CPUSET_TEXT];

	return read_node_file(readings, NODE_ONLINE, text, sizeof(text)) > 0 &&
	       neap_cpuset_parse_kernel(ret, text, NULL) == 0;
}
