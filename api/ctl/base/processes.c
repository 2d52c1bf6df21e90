/* SPDX-License-Identifier: Apache-2.0
 *
 * /proc/PID/cgroup has the group in every hierarchy, v1 or v2, wherever it is mounted. */
#include "api/ctl/base/processes.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "engine/base/file.h"
#include "engine/base/mem.h"

#define CGROUP_BYTES  8192
#define COMMAND_BYTES 4096

static ssize_t proc_read(pid_t pid, const char *name, char *text, size_t size)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return neap_file_head(path, text, size);
}

/* It ended, and only its parent does not know yet. */
static bool is_zombie(pid_t pid)
{
	char text[CGROUP_BYTES];
	const char *name_end;

	if (proc_read(pid, "stat", text, sizeof(text)) <= 0)
		return true;
	name_end = strrchr(text, ')');
	return name_end == NULL || strncmp(name_end, ") Z", 3) == 0;
}

/* A line of it ends in "/GROUP" or goes on below. */
static bool is_in(pid_t pid, const char *group)
{
	const size_t len = strlen(group);
	char text[CGROUP_BYTES];
	const char *at;

	if (proc_read(pid, "cgroup", text, sizeof(text)) <= 0)
		return false;
	for (at = strstr(text, group); at != NULL; at = strstr(at + 1, group)) {
		if (at > text && at[-1] == '/' &&
		    (at[len] == '/' || at[len] == '\n' || at[len] == '\0'))
			return !is_zombie(pid);
	}
	return false;
}

static int by_number(const void *a, const void *b)
{
	return *(const pid_t *)a - *(const pid_t *)b;
}

int neap_processes_find(const char *group, pid_t **ret, struct neap_error *err)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	pid_t *pids = NULL, pid;
	size_t count = 0, room = 0;

	*ret = NULL;
	if (proc == NULL)
		return neap_error_sys(err, "open /proc");
	while ((entry = readdir(proc)) != NULL) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		pid = (pid_t)strtol(entry->d_name, NULL, 10);
		if (!is_in(pid, group))
			continue;
		if (!neap_grow(&pids, count, &room, sizeof(*pids))) {
			free(pids);
			(void)closedir(proc); /* only read */
			return neap_error_nomem(err);
		}
		pids[count++] = pid;
	}
	(void)closedir(proc); /* only read */
	if (count > 0)
		qsort(pids, count, sizeof(*pids), by_number);
	*ret = pids;
	return (int)count;
}

int neap_processes_signal(const char *group, int number, struct neap_error *err)
{
	neap_auto_free pid_t *pids = NULL;
	int i, count = neap_processes_find(group, &pids, err), failed = 0;

	for (i = 0; i < count; i++) {
		neap_auto_fd int fd = pidfd_open(pids[i], 0);

		/* The number is the process's own while we hold it: so ask once more
		 * whose it is. */
		if (fd < 0 || !is_in(pids[i], group))
			continue;
		if (pidfd_send_signal(fd, number, NULL, 0) < 0 && errno != ESRCH)
			failed = neap_error_sys(err, "signal process %d", (int)pids[i]);
	}
	return failed < 0 ? failed : count;
}

void neap_processes_command(pid_t pid, struct neap_buf *out)
{
	char text[COMMAND_BYTES];
	ssize_t i, len = proc_read(pid, "cmdline", text, sizeof(text));

	for (i = 0; i + 1 < len; i++)
		neap_buf_addc(out, text[i] != '\0' ? text[i] : ' ');
}
