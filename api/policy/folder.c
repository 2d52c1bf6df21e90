/* SPDX-License-Identifier: Apache-2.0
 *
 * The directory of a policy. may_go() runs before every disk access, so that a test build
 * (NEAP_FAULTS) can stop at each of them. */
#include "api/policy/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/policy/judge.h"
#include "api/policy/trusted.h"
#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "engine/base/sha256.h"

#define TEMPORARY   ".new-" /* the name of a file in writing begins with it */
#define ACTIVE      "active"
#define NAME_SIZE   64
#define VERSION_HEX 8

#ifdef NEAP_FAULTS
static _Thread_local uint64_t steps;
static _Thread_local uint64_t fail_at; /* value of steps that fails; 0: none */
static _Thread_local int fail_errnum;

void neap_folder_fail_at(uint64_t n, int errnum)
{
	fail_at = n ? steps + n : 0;
	fail_errnum = errnum;
}

uint64_t neap_folder_steps(void)
{
	return steps;
}

/* False: this step fails with errno. */
static bool may_go(void)
{
	if (++steps != fail_at)
		return true;
	if (fail_errnum == 0)
		_exit(NEAP_FOLDER_EXIT);
	errno = fail_errnum;
	return false;
}

/* Ends the process after half of the text, as a kill may do. */
static void half_write(int fd, const char *text, size_t len)
{
	if (steps + 1 == fail_at && fail_errnum == 0)
		(void)!write(fd, text, len / 2);
}
#else
static bool may_go(void)
{
	return true;
}

static void half_write(int fd, const char *text, size_t len)
{
	(void)fd, (void)text, (void)len;
}
#endif

bool neap_version_is(const char *version)
{
	return strspn(version, "0123456789abcdef") == VERSION_HEX &&
	       version[VERSION_HEX] == '\0';
}

bool neap_policy_name_is(const char *name, size_t size)
{
	size_t len = strnlen(name, size);

	return len > 0 && len < size &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == len;
}

void neap_version_of(const void *text, size_t len, char *ret)
{
	char hex[NEAP_SHA256_HEX];

	neap_sha256_hex(text, len, hex);
	memcpy(ret, hex, VERSION_HEX);
	ret[VERSION_HEX] = '\0';
}

static int owned(const struct stat *st, const char *path, const char *name,
		 struct neap_error *err)
{
	const char *slash = *name ? "/" : "";

	if (st->st_uid != 0 && st->st_uid != geteuid())
		return neap_error_set(
			err, NEAP_EFORBIDDEN,
			"%s%s%s belongs to uid %u: it must belong to root or "
			"uid %u (chown)",
			path, slash, name, (unsigned)st->st_uid, (unsigned)geteuid());
	if (!S_ISLNK(st->st_mode) && (st->st_mode & 022) != 0)
		return neap_error_set(err, NEAP_EFORBIDDEN,
				      "%s%s%s can be written by others (mode %04o): "
				      "chmod go-w it",
				      path, slash, name, (unsigned)st->st_mode & 07777);
	return 0;
}

int neap_folder_enter(int parent_fd, const char *name, const char *path, bool can_make,
		      int *ret_fd, struct neap_error *err)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	neap_auto_fd int fd = -1;
	struct stat st;

	fd = may_go() ? openat(parent_fd, name, flags) : -1;
	if (fd < 0 && errno == ENOENT && can_make) {
		if (!may_go() || (mkdirat(parent_fd, name, 0700) < 0 && errno != EEXIST))
			return neap_error_sys(err, "make the folder %s", path);
		fd = may_go() ? openat(parent_fd, name, flags) : -1;
	}
	if (fd < 0 && errno == ENOENT)
		return neap_error_set(err, NEAP_ENOTFOUND, "%s is not there", path);
	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
		return neap_error_set(err, NEAP_EFORBIDDEN,
				      "%s is no folder (links are not followed here): "
				      "remove it, or put a folder there",
				      path);
	if (fd < 0)
		return neap_error_sys(err, "open %s", path);
	if (fstat(fd, &st) < 0)
		return neap_error_sys(err, "look at %s", path);
	if (owned(&st, path, "", err) < 0)
		return -(int)err->code;
	*ret_fd = fd;
	fd = -1;
	return 0;
}

static int sync_fd(int fd, const char *path, struct neap_error *err)
{
	/* EINVAL: a file system without fsync. */
	if (!may_go() || (fsync(fd) < 0 && errno != EINVAL))
		return neap_error_sys(err, "sync %s", path);
	return 0;
}

/* Removes the files that a killed writer left; they are not needed. */
static int clean(const struct neap_folder *folder, struct neap_error *err)
{
	struct neap_names names;
	size_t i;
	int rc = neap_names_read(folder->fd, folder->path, &names, err);

	if (rc < 0)
		return rc;
	for (i = 0; rc == 0 && i < names.count; i++) {
		if (!strncmp(names.list[i], TEMPORARY, strlen(TEMPORARY)))
			rc = neap_folder_remove(folder, names.list[i], err);
	}
	neap_names_done(&names);
	return rc;
}

/* A new folder survives a power cut only if its parent is synced. */
static int sync_above(const struct neap_folder *folder, int kind_fd, int dir_fd,
		      struct neap_error *err)
{
	neap_auto_fd int above_fd = -1;

	if (sync_fd(kind_fd, folder->path, err) < 0 ||
	    sync_fd(dir_fd, folder->path, err) < 0)
		return -(int)err->code;
	above_fd = openat(dir_fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (above_fd < 0)
		return 0; /* we cannot read it, so we made nothing in it */
	return sync_fd(above_fd, folder->path, err);
}

int neap_folder_open(const char *dir, const struct neap_policy_id *id, bool can_write,
		     struct neap_folder *ret, struct neap_error *err)
{
	neap_auto_fd int dir_fd = -1;
	neap_auto_fd int kind_fd = -1;
	neap_auto_folder struct neap_folder folder = {.fd = -1};
	char kind_path[NEAP_FOLDER_PATH];

	if (!neap_policy_name_is(id->kind, sizeof(id->kind)) ||
	    !neap_policy_name_is(id->name, sizeof(id->name)))
		return neap_error_set(
			err, NEAP_EINVAL,
			"'%.23s/%.47s' names no policy: kind and name are made "
			"of a-z, 0-9 and \"-\"",
			id->kind, id->name);
	if (snprintf(folder.path, sizeof(folder.path), "%s/%s/%s", dir, id->kind,
		     id->name) >= (int)sizeof(folder.path))
		return neap_error_set(err, NEAP_ETOOLARGE,
				      "%.80s...: the path is too long", dir);
	(void)snprintf(kind_path, sizeof(kind_path), "%s/%s", dir, id->kind);
	if (neap_folder_enter(AT_FDCWD, dir, dir, can_write, &dir_fd, err) < 0 ||
	    neap_folder_enter(dir_fd, id->kind, kind_path, can_write, &kind_fd, err) <
		    0 ||
	    neap_folder_enter(kind_fd, id->name, folder.path, can_write, &folder.fd,
			      err) < 0) {
		if (err->code == NEAP_ENOTFOUND)
			(void)neap_error_set(err, NEAP_ENOTFOUND,
					     "nothing was ever uploaded as %s/%s",
					     id->kind, id->name);
		return -(int)err->code;
	}
	if (can_write) {
		if (flock(folder.fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
			return neap_error_set(
				err, NEAP_EUNAVAILABLE,
				"%s is being changed by another process: try "
				"again",
				folder.path);
		if (clean(&folder, err) < 0)
			return -(int)err->code;
		if (!neap_folder_has(&folder, NEAP_FILE_HISTORY) &&
		    sync_above(&folder, kind_fd, dir_fd, err) < 0)
			return -(int)err->code;
	}
	*ret = folder;
	folder.fd = -1;
	return 0;
}

void neap_folder_close(struct neap_folder *folder)
{
	neap_fd_close(&folder->fd);
}

int neap_folder_read(const struct neap_folder *folder, const char *name, size_t max,
		     char **ret_text, size_t *ret_len, struct neap_error *err)
{
	char file[NEAP_FOLDER_PATH + NAME_SIZE];
	neap_auto_fd int fd = -1;
	struct stat st;

	(void)snprintf(file, sizeof(file), "%s/%s", folder->path, name);
	fd = may_go() ? openat(folder->fd, name,
			       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
		      : -1;
	if (fd < 0 && errno == ENOENT)
		return neap_error_set(err, NEAP_ENOTFOUND, "%s is not there", file);
	if (fd < 0 && errno == ELOOP)
		return neap_error_set(
			err, NEAP_EFORBIDDEN,
			"%s is a link, where a plain file must be: remove it", file);
	if (fd < 0)
		return neap_error_sys(err, "open %s", file);
	if (fstat(fd, &st) < 0)
		return neap_error_sys(err, "look at %s", file);
	if (!S_ISREG(st.st_mode))
		return neap_error_set(err, NEAP_EFORBIDDEN,
				      "%s is no plain file: remove it", file);
	if (owned(&st, folder->path, name, err) < 0)
		return -(int)err->code;
	return neap_fd_read_all(fd, file, max, ret_text, ret_len, err);
}

static void file_of(const char *version, char buf[NAME_SIZE])
{
	(void)snprintf(buf, NAME_SIZE, "%s.lua", version);
}

int neap_folder_read_version(const struct neap_folder *folder, const char *version,
			     char **ret_text, size_t *ret_len, struct neap_error *err)
{
	char name[NAME_SIZE], is[NEAP_VERSION_SIZE];
	neap_auto_free char *text = NULL;
	size_t len;

	file_of(version, name);
	if (neap_folder_read(folder, name, NEAP_UPLOAD_BYTES, &text, &len, err) < 0)
		return -(int)err->code;
	neap_version_of(text, len, is);
	if (strcmp(is, version) != 0)
		return neap_error_set(err, NEAP_EINVAL,
				      "%s/%s was changed: its text has the version %s. "
				      "Remove it, and put the text again",
				      folder->path, name, is);
	*ret_text = neap_steal(text);
	*ret_len = len;
	return 0;
}

bool neap_folder_has(const struct neap_folder *folder, const char *name)
{
	struct stat st;

	return fstatat(folder->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* A plain file with the name and format of a version. */
static bool is_version_file(const struct neap_folder *folder, const char *name,
			    struct stat *ret_st)
{
	char version[NAME_SIZE];
	size_t len = strlen(name);
	struct neap_error ignored;

	if (len != VERSION_HEX + 4 || strcmp(name + VERSION_HEX, ".lua") != 0)
		return false;
	(void)snprintf(version, sizeof(version), "%.*s", VERSION_HEX, name);
	return neap_version_is(version) &&
	       fstatat(folder->fd, name, ret_st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(ret_st->st_mode) &&
	       owned(ret_st, folder->path, name, &ignored) == 0;
}

bool neap_folder_has_version(const struct neap_folder *folder, const char *version)
{
	char name[NAME_SIZE];
	struct stat st;

	file_of(version, name);
	return is_version_file(folder, name, &st);
}

int neap_folder_active(const struct neap_folder *folder, char ret[NEAP_VERSION_SIZE],
		       struct neap_error *err)
{
	char target[NAME_SIZE];
	struct stat st;
	ssize_t len;

	len = may_go() ? readlinkat(folder->fd, ACTIVE, target, sizeof(target) - 1) : -1;
	if (len < 0 && errno == ENOENT) {
		ret[0] = '\0';
		return 0;
	}
	if (len < 0 && errno == EINVAL)
		return neap_error_set(err, NEAP_EFORBIDDEN,
				      "%s/" ACTIVE " is no link: remove it",
				      folder->path);
	if (len < 0 || fstatat(folder->fd, ACTIVE, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return neap_error_sys(err, "read %s/" ACTIVE, folder->path);
	if (owned(&st, folder->path, ACTIVE, err) < 0)
		return -(int)err->code;
	target[len] = '\0';
	if (len == VERSION_HEX + 4 && !strcmp(target + VERSION_HEX, ".lua")) {
		target[VERSION_HEX] = '\0';
		if (neap_version_is(target)) {
			memcpy(ret, target, VERSION_HEX + 1);
			return 0;
		}
		target[VERSION_HEX] = '.';
	}
	return neap_error_set(err, NEAP_EFORBIDDEN,
			      "%s/" ACTIVE " points to '%s', which is no version in this "
			      "folder: remove it",
			      folder->path, target);
}

int neap_folder_versions(const struct neap_folder *folder,
			 struct neap_folder_version **ret, size_t *ret_count,
			 struct neap_error *err)
{
	struct neap_folder_version *list;
	struct neap_names names;
	size_t i, count = 0;

	if (neap_names_read(folder->fd, folder->path, &names, err) < 0)
		return -(int)err->code;
	list = neap_alloc_array(names.count + 1, sizeof(*list));
	for (i = 0; list && i < names.count; i++) {
		struct neap_folder_version *one = &list[count];
		struct stat st;

		if (!is_version_file(folder, names.list[i], &st))
			continue;
		memcpy(one->version, names.list[i], VERSION_HEX);
		one->bytes = st.st_size;
		one->unix_usec =
			(int64_t)st.st_mtim.tv_sec * 1000000 + st.st_mtim.tv_nsec / 1000;
		count++;
	}
	neap_names_done(&names);
	if (!list)
		return neap_error_nomem(err);
	*ret = list;
	*ret_count = count;
	return 0;
}

static bool write_all(int fd, const char *text, size_t len)
{
	half_write(fd, text, len);
	return may_go() && neap_fd_write(fd, text, len) == 0;
}

int neap_folder_write(const struct neap_folder *folder, const char *name,
		      const char *text, size_t len, struct neap_error *err)
{
	char temporary[NAME_SIZE];
	neap_auto_fd int fd = -1;

	(void)snprintf(temporary, sizeof(temporary), TEMPORARY "%s", name);
	fd = may_go() ? openat(folder->fd, temporary,
			       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)
		      : -1;
	if (fd < 0)
		return neap_error_sys(err, "make %s/%s", folder->path, name);
	if (!write_all(fd, text, len) || !may_go() || fsync(fd) < 0) {
		(void)neap_error_sys(err, "write %s/%s", folder->path, name);
		/* or the next change removes it */
		(void)unlinkat(folder->fd, temporary, 0);
		return -(int)err->code;
	}
	if (neap_folder_move(folder, temporary, name, err) < 0) {
		/* or the next change removes it */
		(void)unlinkat(folder->fd, temporary, 0);
		return -(int)err->code;
	}
	return 0;
}

int neap_folder_move(const struct neap_folder *folder, const char *from, const char *to,
		     struct neap_error *err)
{
	if (!may_go() || renameat(folder->fd, from, folder->fd, to) < 0)
		return neap_error_sys(err, "put %s/%s in place", folder->path, to);
	return 0;
}

int neap_folder_remove(const struct neap_folder *folder, const char *name,
		       struct neap_error *err)
{
	if (!may_go() || (unlinkat(folder->fd, name, 0) < 0 && errno != ENOENT))
		return neap_error_sys(err, "remove %s/%s", folder->path, name);
	return 0;
}

int neap_folder_point(const struct neap_folder *folder, const char *version,
		      struct neap_error *err)
{
	char target[NAME_SIZE];

	if (!*version)
		return neap_folder_remove(folder, ACTIVE, err);
	file_of(version, target);
	if (!may_go() || symlinkat(target, folder->fd, TEMPORARY ACTIVE) < 0)
		return neap_error_sys(err, "make the link %s/" ACTIVE, folder->path);
	if (neap_folder_move(folder, TEMPORARY ACTIVE, ACTIVE, err) < 0) {
		(void)unlinkat(folder->fd, TEMPORARY ACTIVE,
			       0); /* or the next change removes it */
		return -(int)err->code;
	}
	return 0;
}

int neap_folder_sync(const struct neap_folder *folder, struct neap_error *err)
{
	return sync_fd(folder->fd, folder->path, err);
}
