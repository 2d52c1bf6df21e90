/* SPDX-License-Identifier: Apache-2.0
 *
 * The directory of a command and its small files. All of this runs as the loop's user,
 * never as root, so that nothing placed there by the loop can mislead root. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "hw/keeper/keeper_priv.h"

#define FOLDER_MODE 0750
#define FILE_MODE   0640
#define RECORD_NEW  "exit.new"
#define FLAGS       (O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static int below(int fd, const char *name, bool make, bool is_last,
		 struct neap_error *err)
{
	int below_fd;

	if (make && mkdirat(fd, name, FOLDER_MODE) < 0 && (errno != EEXIST || is_last)) {
		if (errno == EEXIST)
			return neap_error_set(err, NEAP_EEXISTS,
					      "this attempt was started before");
		return neap_error_sys(err, "make the folder %s", name);
	}
	below_fd = openat(fd, name, (make ? O_RDONLY : O_PATH) | FLAGS);
	if (below_fd >= 0)
		return below_fd;
	if (errno == ENOENT)
		return neap_error_set(err, NEAP_ENOTFOUND, "there is no folder %s", name);
	return neap_error_sys(err, "open the folder %s", name);
}

static int walk(int dir_fd, const char *pod_uid, const char *container, unsigned attempt,
		bool make, struct neap_error *err)
{
	neap_auto_fd int pod_fd = -1;
	neap_auto_fd int container_fd = -1;
	char name[16];

	pod_fd = below(dir_fd, pod_uid, make, false, err);
	if (pod_fd < 0)
		return pod_fd;
	container_fd = below(pod_fd, container, make, false, err);
	if (container_fd < 0)
		return container_fd;
	(void)snprintf(name, sizeof(name), "%u", attempt);
	return below(container_fd, name, make, true, err);
}

int neap_keeper_folder_make(int dir_fd, const struct neap_keeper_order *order,
			    struct neap_error *err)
{
	return walk(dir_fd, order->pod_uid, order->container, order->attempt, true, err);
}

int neap_keeper_folder_open(int dir_fd, const char *pod_uid, const char *container,
			    unsigned attempt, struct neap_error *err)
{
	return walk(dir_fd, pod_uid, container, attempt, false, err);
}

socklen_t neap_keeper_folder_address(int folder_fd, struct sockaddr_un *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->sun_family = AF_UNIX;
	(void)snprintf(ret->sun_path, sizeof(ret->sun_path), "/proc/self/fd/%d/sock",
		       folder_fd);
	return sizeof(*ret);
}

/* --- the end --- */

static int whole_write(int fd, const char *text, size_t len)
{
	ssize_t n;

	while (len > 0) {
		n = pwrite(fd, text, len, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n == (ssize_t)len)
			return 0;
		if (n >= 0)
			errno = ENOSPC;
		return -1;
	}
	return 0;
}

/* The rest of the space is blanks: the bytes written over exist already. */
static int padded_write(int folder_fd, const char *text, struct neap_error *err)
{
	neap_auto_fd int fd =
		openat(folder_fd, RECORD_NEW, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
		       FILE_MODE);
	char room[NEAP_KEEPER_RECORD_MAX];
	size_t len = strlen(text);

	if (fd < 0)
		return neap_error_sys(err, "open %s", RECORD_NEW);
	memset(room, ' ', sizeof(room));
	memcpy(room, text, len);
	room[sizeof(room) - 1] = '\n';
	if (whole_write(fd, room, sizeof(room)) < 0 || fdatasync(fd) < 0)
		return neap_error_sys(err, "write %s", RECORD_NEW);
	return 0;
}

int neap_keeper_record_prepare(int folder_fd, struct neap_error *err)
{
	return padded_write(folder_fd, "", err);
}

int neap_keeper_record_write(int folder_fd, const struct neap_keeper_event *event,
			     struct neap_error *err)
{
	char text[NEAP_KEEPER_RECORD_MAX];
	int rc = neap_keeper_record_format(event, text, sizeof(text), err);

	if (rc >= 0)
		rc = padded_write(folder_fd, text, err);
	if (rc < 0)
		return rc;
	if (renameat(folder_fd, RECORD_NEW, folder_fd, "exit") < 0)
		return neap_error_sys(err, "rename %s", RECORD_NEW);
	(void)fsync(folder_fd); /* some file systems cannot; the name exists */
	return 0;
}

static ssize_t file_read(int folder_fd, const char *name, char *buf, size_t size)
{
	neap_auto_fd int fd =
		openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	return fd < 0 ? -1 : read(fd, buf, size);
}

int neap_keeper_record_read(int folder_fd, char *text, struct neap_keeper_event *ret,
			    struct neap_error *err)
{
	char bytes[NEAP_KEEPER_RECORD_MAX];
	ssize_t n = file_read(folder_fd, "exit", bytes, sizeof(bytes));

	if (n < 0 && errno == ENOENT)
		return neap_error_set(err, NEAP_ENOTFOUND, "it did not end yet");
	if (n < 0)
		return neap_error_sys(err, "read the file exit");
	return neap_keeper_record_parse(bytes, (size_t)n, text, ret, err);
}

/* --- the start --- */

/* Field 22 of /proc/PID/stat: which process had the number. */
static unsigned long long start_ticks(int pid)
{
	unsigned long long ticks = 0;
	char path[64], stat[1024];
	const char *end;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	(void)neap_file_head(path, stat, sizeof(stat));
	end = strrchr(stat, ')'); /* the name may hold anything */
	if (end)
		(void)sscanf(end + 1,
			     " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d "
			     "%*d %*d %*d %*d %*d %llu",
			     &ticks);
	return ticks;
}

void neap_keeper_start_write(int folder_fd, int pid, int64_t started_usec)
{
	neap_auto_fd int fd =
		openat(folder_fd, "start",
		       O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
	char text[256], boot[NEAP_BOOT_ID];
	int n;

	(void)neap_boot_id(boot, NULL);
	n = snprintf(text, sizeof(text),
		     "pid %d\nstarted_usec %" PRId64 "\nstart_ticks %llu\nboot_id %s\n",
		     pid, started_usec, start_ticks(pid), boot);
	/* For people; what cannot be written is not there. */
	if (fd >= 0 && n > 0 && write(fd, text, (size_t)n) < 0)
		errno = 0;
}

void neap_keeper_start_read(int folder_fd, int *ret_pid, int64_t *ret_started_usec)
{
	char text[256];
	ssize_t n = file_read(folder_fd, "start", text, sizeof(text) - 1);
	int64_t started;
	int pid;

	text[n > 0 ? n : 0] = '\0';
	if (sscanf(text, "pid %d started_usec %" SCNd64, &pid, &started) != 2 ||
	    pid <= 0 || started < 0)
		return;
	*ret_pid = pid;
	*ret_started_usec = started;
}
