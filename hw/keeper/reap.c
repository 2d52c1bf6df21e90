/* SPDX-License-Identifier: Apache-2.0
 *
 * Kills everything a command left. Its shim is the subreaper: an orphan becomes the
 * shim's child, so all of them stay descendants. A number from /proc can belong to
 * another process a moment later; so a process is signalled by number only while it is an
 * unwaited child, and otherwise through a descriptor. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "hw/keeper/keeper_priv.h"

#define STOP_ROUNDS 8
#define DEPTH_MAX   64
#define PIDS_MAX    (4 * 1024 * 1024)

/* A process and its parent. */
struct kin {
	int pid, parent;
};

struct kins {
	struct kin *list;
	size_t count, size;
};

static bool kin_add(struct kins *kins, int pid, int parent)
{
	if (kins->count >= PIDS_MAX ||
	    !neap_grow(&kins->list, kins->count, &kins->size, sizeof(*kins->list)))
		return false;
	kins->list[kins->count++] = (struct kin){pid, parent};
	return true;
}

/* 0 when it cannot be read: it has ended, or is hidden from us. */
static int parent_read(int pid)
{
	char path[64], stat[1024];
	const char *end;
	int parent = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	(void)neap_file_head(path, stat, sizeof(stat));
	end = strrchr(stat, ')'); /* the name may hold anything */
	if (!end || sscanf(end + 1, " %*c %d", &parent) != 1)
		return 0;
	return parent;
}

static int by_parent(const void *a, const void *b)
{
	const struct kin *x = a, *y = b;

	return (x->parent > y->parent) - (x->parent < y->parent);
}

static void kins_read(struct kins *kins)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	int pid, parent;

	kins->count = 0;
	if (!proc)
		return;
	while ((entry = readdir(proc)) != NULL) {
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		if (sscanf(entry->d_name, "%d", &pid) != 1)
			continue;
		parent = parent_read(pid);
		if (parent > 0 && !kin_add(kins, pid, parent))
			break;
	}
	(void)closedir(proc);
	if (kins->count)
		qsort(kins->list, kins->count, sizeof(*kins->list), by_parent);
}

/* The first child of a parent; its siblings follow. */
static size_t kins_find(const struct kins *kins, int parent)
{
	size_t low = 0, high = kins->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (kins->list[middle].parent < parent)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_there(int pidfd)
{
	return pidfd < 0 || syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) == 0;
}

/* Signals everything below a parent, which its descriptor holds (-1: this process). While
 * that descriptor exists, the number belongs to the parent, so a process seen as its
 * child after the descriptor was taken is one of ours, or has ended and the signal does
 * nothing. The deepest wait until those above are gone and they have become our
 * children. */
static size_t tree_signal(const struct kins *kins, int parent, int parent_fd, int depth,
			  int signo)
{
	size_t count = 0, i;

	for (i = kins_find(kins, parent);
	     i < kins->count && kins->list[i].parent == parent; i++) {
		int pid = kins->list[i].pid;
		neap_auto_fd int fd = (int)syscall(SYS_pidfd_open, pid, 0);

		if (fd < 0 || parent_read(pid) != parent || !is_there(parent_fd))
			continue;
		(void)syscall(SYS_pidfd_send_signal, fd, signo, NULL, 0);
		count++;
		if (depth < DEPTH_MAX)
			count += tree_signal(kins, pid, fd, depth + 1, signo);
	}
	return count;
}

/* Lists children with the kernel's own list, which works even where /proc hides other
 * users' processes. */
static void children_signal(int signo)
{
	char path[64];
	FILE *file;
	int pid;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	file = fopen(path, "re");
	if (!file)
		return;
	while (fscanf(file, "%d", &pid) == 1)
		if (pid > 0)
			(void)kill(pid, signo);
	(void)fclose(file); /* only read */
}

void neap_keeper_descendants_kill(void)
{
	struct kins kins = {0};
	size_t before = 0, count;
	int round;

	for (round = 0; round < STOP_ROUNDS; round++) {
		kins_read(&kins);
		count = tree_signal(&kins, (int)getpid(), -1, 0, SIGSTOP);
		if (count == before)
			break;
		before = count;
	}
	(void)tree_signal(&kins, (int)getpid(), -1, 0, SIGKILL);
	children_signal(SIGKILL);
	free(kins.list);
}
