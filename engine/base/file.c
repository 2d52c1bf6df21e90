/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/mem.h"

void neap_fd_close(int *fd)
{
	neap_cleanup_fd(fd);
	*fd = -1;
}

ssize_t neap_fd_read(int fd, void *to, size_t size)
{
	size_t len = 0;

	while (len < size) {
		ssize_t n = read(fd, (char *)to + len, size - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		len += (size_t)n;
	}
	return (ssize_t)len;
}

ssize_t neap_fd_read_text(int fd, char *to, size_t size)
{
	ssize_t n = neap_fd_read(fd, to, size - 1);

	to[n > 0 ? n : 0] = '\0';
	return n;
}

int neap_fd_read_rest(int fd, const char *name, struct neap_buf *ret,
		      struct neap_error *err)
{
	char part[8192];
	ssize_t n;

	do {
		n = neap_fd_read(fd, part, sizeof(part));
		if (n < 0)
			return neap_error_sys(err, "read %s", name);
		neap_buf_add(ret, part, (size_t)n);
		if (neap_buf_failed(ret))
			return neap_buf_error(ret, name, err);
	} while (n == (ssize_t)sizeof(part));
	return 0;
}

int neap_fd_write(int fd, const void *from, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, from, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			errno = ENOSPC;
		if (n <= 0)
			return -1;
		from = (const char *)from + n;
		len -= (size_t)n;
	}
	return 0;
}

ssize_t neap_file_head(const char *path, char *to, size_t size)
{
	neap_auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	to[0] = '\0';
	return fd < 0 ? -1 : neap_fd_read_text(fd, to, size);
}

ssize_t neap_file_line(const char *path, char *to, size_t size)
{
	if (neap_file_head(path, to, size) < 0)
		return -1;
	to[strcspn(to, "\n")] = '\0';
	return (ssize_t)strlen(to);
}

int neap_file_load(const char *path, struct neap_buf *ret, struct neap_error *err)
{
	neap_auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return neap_error_sys(err, "open %s", path);
	if (!S_ISREG(st.st_mode))
		return neap_error_set(err, NEAP_EINVAL, "%s is no regular file", path);
	return neap_fd_read_rest(fd, path, ret, err);
}

static int give_to_owner(int folder_fd, int fd)
{
	struct stat st;

	if (fstat(folder_fd, &st) < 0)
		return -1;
	/* A process that is root and sandboxed may not call fchown, and need not. */
	if (geteuid() != 0 || st.st_uid == 0)
		return 0;
	return fchown(fd, st.st_uid, st.st_gid);
}

int neap_file_put(int folder_fd, const char *fresh, const char *name, const void *text,
		  size_t len, unsigned flags, struct neap_error *err)
{
	neap_auto_fd int fd = -1;

	(void)unlinkat(folder_fd, fresh, 0); /* of a process that was killed */
	fd = openat(folder_fd, fresh,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    flags & NEAP_PUT_PUBLIC ? 0644 : 0600);
	if (fd < 0)
		return neap_error_sys(err, "make %s", fresh);
	if (((flags & NEAP_PUT_OWNED) && give_to_owner(folder_fd, fd) < 0) ||
	    neap_fd_write(fd, text, len) < 0 ||
	    ((flags & NEAP_PUT_SYNCED) && fsync(fd) < 0) ||
	    renameat(folder_fd, fresh, folder_fd, name) < 0) {
		int rc = neap_error_sys(err, "write %s", name);

		(void)unlinkat(folder_fd, fresh, 0);
		return rc;
	}
	/* EINVAL: a file system without it. */
	if ((flags & NEAP_PUT_SYNCED) && folder_fd >= 0 && fsync(folder_fd) < 0 &&
	    errno != EINVAL)
		return neap_error_sys(err, "sync the folder of %s", name);
	return 0;
}

int neap_folder_make(const char *path, mode_t mode, struct neap_error *err)
{
	char part[PATH_MAX];
	char *slash = part;

	if (!neap_strcopy(part, sizeof(part), path))
		return neap_error_set(err, NEAP_ETOOLARGE, "%s: the path is too long",
				      path);
	while (slash) {
		slash = strchr(slash + 1, '/');
		if (slash)
			*slash = '\0';
		if (mkdir(part, slash ? 0755 : mode) < 0 && errno != EEXIST)
			return neap_error_sys(err, "make the folder %s", part);
		if (slash)
			*slash = '/';
	}
	return 0;
}

int neap_boot_id(char ret[NEAP_BOOT_ID], struct neap_error *err)
{
	static const char path[] = "/proc/sys/kernel/random/boot_id";

	return neap_file_line(path, ret, NEAP_BOOT_ID) < 0
		       ? neap_error_sys(err, "read %s", path)
		       : 0;
}
