/* SPDX-License-Identifier: Apache-2.0
 *
 * Open kernel files: a tick writes the same few hundred files repeatedly, and opening
 * costs more than writing. A bounded table, least recently used first out. A descriptor
 * of a removed group returns ENODEV even if a group of the same name exists again; the
 * file is then reopened once. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "hw/hand/hand_priv.h"

int neap_hand_files_init(struct neap_hand_files *files, const struct neap_cgroup *cgroup,
			 struct neap_error *err)
{
	*files = (struct neap_hand_files){.cgroup = cgroup};
	files->file = neap_alloc_array(NEAP_HAND_FILES_MAX, sizeof(*files->file));
	files->hash = neap_alloc_array(NEAP_HAND_FILES_MAX, sizeof(*files->hash));
	if (files->file && files->hash)
		return 0;
	neap_hand_files_done(files);
	return neap_error_nomem(err);
}

static void file_drop(struct neap_hand_files *files, int index)
{
	(void)close(
		files->file[index].fd); /* kernel files report at write, not at close */
	files->file[index] = files->file[--files->count];
	files->hash[index] = files->hash[files->count];
}

void neap_hand_files_done(struct neap_hand_files *files)
{
	while (files->count)
		file_drop(files, files->count - 1);
	free(files->file);
	free(files->hash);
	files->file = NULL;
	files->hash = NULL;
}

void neap_hand_files_forget(struct neap_hand_files *files, const char *group)
{
	for (int i = files->count - 1; i >= 0; i--)
		if (strcmp(files->file[i].group, group) == 0)
			file_drop(files, i);
}

static uint32_t text_hash(const char *text, enum neap_key key)
{
	uint32_t hash = 2166136261u ^ (uint32_t)key;

	while (*text)
		hash = (hash ^ (unsigned char)*text++) * 16777619u;
	return hash;
}

/* Opens the directory, then the file in it, so that both belong to the same group. */
static int file_open(const struct neap_hand_files *files, const char *group,
		     enum neap_key key, struct neap_hand_file *ret)
{
	const char *name = neap_cgroup_file(files->cgroup, key, NULL, NULL);
	neap_auto_fd int dir_fd = -1;
	struct neap_error err = {0};
	struct stat st;

	if (!name)
		return EOPNOTSUPP;
	dir_fd = neap_cgroup_open(files->cgroup, neap_key_get(key)->controller, group,
				  NULL, O_PATH | O_DIRECTORY | O_CLOEXEC, &err);
	if (dir_fd < 0)
		return err.errnum == ENODEV ? ENOENT : err.errnum ? err.errnum : EPERM;
	if (fstat(dir_fd, &st) < 0)
		return errno;
	ret->fd = openat(dir_fd, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (ret->fd >= 0) {
		ret->dev = st.st_dev;
		ret->ino = st.st_ino;
		return 0;
	}
	if (errno == ENODEV)
		return ENOENT;
	if (errno != ENOENT)
		return errno;
	/* Either the group vanished between the two, or the kernel lacks the file: a dead
	 * directory has no links. */
	if (fstatat(dir_fd, "cgroup.procs", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return ENOENT;
	return EOPNOTSUPP;
}

static void room_make(struct neap_hand_files *files)
{
	int oldest = 0;

	for (int i = 1; i < files->count; i++)
		if (files->file[i].used < files->file[oldest].used)
			oldest = i;
	if (files->count)
		file_drop(files, oldest);
}

static bool is_file(const struct neap_hand_file *file, const char *group,
		    enum neap_key key)
{
	return file->key == key && strcmp(file->group, group) == 0;
}

/* Index, or -1. A change reads, writes and reads one file, and the same groups are
 * changed in the same order each time: usually it is the last one found, or the next. */
static int file_find(const struct neap_hand_files *files, const char *group,
		     enum neap_key key)
{
	uint32_t hash;

	for (int i = files->last; i < files->count && i <= files->last + 1; i++)
		if (is_file(&files->file[i], group, key))
			return i;
	hash = text_hash(group, key);
	for (int i = 0; i < files->count; i++)
		if (files->hash[i] == hash && is_file(&files->file[i], group, key))
			return i;
	return -1;
}

/* 0 and the table's entry, or an errno. is_fresh: opened now. */
static int file_get(struct neap_hand_files *files, const char *group, enum neap_key key,
		    struct neap_hand_file **ret, bool *is_fresh)
{
	struct neap_hand_file fresh;
	int i = file_find(files, group, key);
	struct stat st;
	int rc;

	/* Plain files of a fake tree live on after their removal. */
	if (i >= 0 && files->cgroup->is_fake &&
	    (fstat(files->file[i].fd, &st) < 0 || st.st_nlink == 0)) {
		file_drop(files, i);
		i = -1;
	}
	if (i >= 0) {
		files->last = i;
		files->file[i].used = ++files->uses;
		*ret = &files->file[i];
		*is_fresh = false;
		return 0;
	}
	fresh.key = key;
	if (!neap_strcopy(fresh.group, sizeof(fresh.group), group))
		return ENAMETOOLONG;
	rc = file_open(files, group, key, &fresh);
	if (rc == EMFILE || rc == ENFILE) {
		while (files->count)
			file_drop(files, files->count - 1);
		rc = file_open(files, group, key, &fresh);
	}
	if (rc)
		return rc;
	if (files->count == NEAP_HAND_FILES_MAX)
		room_make(files);
	fresh.used = ++files->uses;
	files->file[files->count] = fresh;
	files->hash[files->count] = text_hash(group, key);
	files->last = files->count;
	*ret = &files->file[files->count++];
	*is_fresh = true;
	return 0;
}

static int text_read(int fd, char *buf)
{
	size_t len = 0;
	ssize_t n;

	for (;;) {
		n = pread(fd, buf + len, NEAP_CPUSET_TEXT - 1 - len, (off_t)len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno;
		if (n == 0)
			break;
		len += (size_t)n;
		if (len == NEAP_CPUSET_TEXT - 1)
			return EFBIG;
		/* The kernel returns a one-line file whole; only a cut line needs a
		 * second read. */
		if (buf[len - 1] == '\n')
			break;
	}
	while (len && (buf[len - 1] == '\n' || buf[len - 1] == ' '))
		len--;
	buf[len] = '\0';
	return strlen(buf) == len ? 0 : EBADMSG;
}

static int text_write(const struct neap_hand_files *files, int fd, const char *text)
{
	size_t len = strlen(text);
	ssize_t n;

	if (files->cgroup->is_fake && ftruncate(fd, 0) < 0)
		return errno;
	do
		n = pwrite(fd, text, len, 0);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno;
	return (size_t)n == len ? 0 : EIO;
}

int neap_hand_file_read(struct neap_hand_files *files, const char *group,
			enum neap_key key, char *buf, uint64_t *ret_dev,
			uint64_t *ret_ino)
{
	struct neap_hand_file *file;
	bool is_fresh = false;
	int rc;

	while (!is_fresh) {
		rc = file_get(files, group, key, &file, &is_fresh);
		if (rc)
			return rc;
		rc = text_read(file->fd, buf);
		if (rc == 0) {
			*ret_dev = file->dev;
			*ret_ino = file->ino;
			return 0;
		}
		if (rc != ENODEV)
			return rc;
		file_drop(files, (int)(file - files->file));
	}
	return ENOENT;
}

int neap_hand_file_write(struct neap_hand_files *files, const char *group,
			 enum neap_key key, uint64_t dev, uint64_t ino, const char *text)
{
	struct neap_hand_file *file;
	bool is_fresh;
	int rc = file_get(files, group, key, &file, &is_fresh);

	if (rc)
		return rc;
	if (file->dev != dev || file->ino != ino)
		return ENOENT;
	/* "\n" clears a set; an empty write would do nothing. */
	rc = text_write(files, file->fd, *text ? text : "\n");
	if (rc != ENODEV)
		return rc;
	file_drop(files, (int)(file - files->file));
	return ENOENT;
}
