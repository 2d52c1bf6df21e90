/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads files in folders that others may write to. A path is walked component by
 * component with descriptors. So the checked file is the opened one, even if links change
 * meanwhile. */
#include "api/policy/trusted.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "api/policy/versions.h"
#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "engine/base/text.h"

#define LINKS_MAX 16 /* symbolic links on one path; a ConfigMap needs two */
#define TRIES     3  /* a link may be swapped while it is followed */

struct walk {
	const char *file;
	uid_t own_uid;
	int dir_fd; /* the present directory of the walk, O_PATH */
	int links;
	char rest[PATH_MAX]; /* the components that are left */
};

/* A group with no member but the owner; Debian makes one for each user. */
static bool is_own_group(uid_t uid, gid_t gid)
{
	char user_text[2048], group_text[2048];
	struct passwd user, *has_user = NULL;
	struct group group, *has_group = NULL;
	char **member;

	if (getpwuid_r(uid, &user, user_text, sizeof(user_text), &has_user) != 0 ||
	    !has_user || user.pw_gid != gid)
		return false;
	if (getgrgid_r(gid, &group, group_text, sizeof(group_text), &has_group) != 0 ||
	    !has_group || strcmp(group.gr_name, user.pw_name) != 0)
		return false;
	for (member = group.gr_mem; *member; member++) {
		if (strcmp(*member, user.pw_name) != 0)
			return false;
	}
	return true;
}

/* A kubelet makes the directory of a ConfigMap volume 0777 and mounts it read-only. */
static bool is_read_only(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && ((unsigned long)fs.f_flags & ST_RDONLY) != 0;
}

/* what: "", or " is in a directory that". */
static int judge(const struct walk *walk, int fd, const struct stat *st, const char *what,
		 struct neap_error *err)
{
	if (st->st_uid != 0 && st->st_uid != walk->own_uid)
		return neap_error_set(err, NEAP_EFORBIDDEN,
				      "%s%s belongs to uid %u: it must belong to root or "
				      "uid %u (chown)",
				      walk->file, what, (unsigned)st->st_uid,
				      (unsigned)walk->own_uid);
	/* A link's mode has no meaning. */
	if (S_ISLNK(st->st_mode) || (st->st_mode & 022) == 0)
		return 0;
	if ((st->st_mode & 002) == 0 && is_own_group(st->st_uid, st->st_gid))
		return 0;
	if (is_read_only(fd))
		return 0;
	return neap_error_set(err, NEAP_EFORBIDDEN,
			      "%s%s can be written by others (mode %04o): chmod go-w it",
			      walk->file, what, (unsigned)st->st_mode & 07777);
}

static int judge_dir(const struct walk *walk, struct neap_error *err)
{
	struct stat st;

	if (fstat(walk->dir_fd, &st) < 0)
		return neap_error_sys(err, "look at the directory of %s", walk->file);
	return judge(walk, walk->dir_fd, &st, " is in a directory that", err);
}

static int enter(struct walk *walk, int fd)
{
	neap_fd_close(&walk->dir_fd);
	walk->dir_fd = fd;
	return fd;
}

/* Opens the directory where the walk begins, for a path or a link's target. */
static int begin(struct walk *walk, const char *path, struct neap_error *err)
{
	int fd;

	if (path[0] != '/' && walk->dir_fd >= 0)
		return 0;
	fd = open(path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return neap_error_sys(err, "open %s", walk->file);
	enter(walk, fd);
	return 0;
}

/* Puts the target of a link in front of the rest. */
static int follow(struct walk *walk, int link_fd, const struct stat *st,
		  struct neap_error *err)
{
	char target[PATH_MAX], rest[PATH_MAX];
	ssize_t len;

	if (judge(walk, link_fd, st, " is reached by a link that", err) < 0 ||
	    judge_dir(walk, err) < 0)
		return -(int)err->code;
	if (++walk->links > LINKS_MAX)
		return neap_error_set(
			err, NEAP_EFORBIDDEN,
			"%s: more than %d symbolic links: name the file itself",
			walk->file, LINKS_MAX);
	len = readlinkat(link_fd, "", target, sizeof(target) - 1);
	if (len < 0)
		return neap_error_sys(err, "read a link of %s", walk->file);
	target[len] = '\0';
	if (snprintf(rest, sizeof(rest), "%s/%s", target, walk->rest) >=
	    (int)sizeof(rest))
		return neap_error_set(err, NEAP_ETOOLARGE, "%s: its links are too long",
				      walk->file);
	memcpy(walk->rest, rest, sizeof(rest));
	return begin(walk, target, err);
}

/* Takes the first name off the rest; false at the end. */
static bool next_name(struct walk *walk, char name[NAME_MAX + 1], bool *ret_is_last)
{
	char *at = walk->rest + strspn(walk->rest, "/");
	size_t len = strcspn(at, "/");

	if (!len)
		return false;
	if (len > NAME_MAX)
		len = NAME_MAX; /* such a name fails: ENOENT or ENAMETOOLONG */
	memcpy(name, at, len);
	name[len] = '\0';
	at += len;
	at += strspn(at, "/");
	*ret_is_last = *at == '\0';
	memmove(walk->rest, at, strlen(at) + 1);
	return true;
}

static int open_failed(const struct walk *walk, struct neap_error *err)
{
	if (errno == ENOENT || errno == ENOTDIR)
		return neap_error_set(err, NEAP_ENOTFOUND, "%s is not there%s",
				      walk->file,
				      walk->links ? " (a link leads nowhere)" : "");
	return neap_error_sys(err, "open %s", walk->file);
}

/* The end of the walk: fd is an O_PATH descriptor of a plain file or directory. */
static int open_last(struct walk *walk, const char *name, int fd, bool is_dir,
		     int *ret_fd, struct stat *ret_st, struct neap_error *err)
{
	neap_auto_fd int real = -1;
	struct stat st, now;

	if (fstat(fd, &st) < 0)
		return neap_error_sys(err, "look at %s", walk->file);
	if (is_dir ? !S_ISDIR(st.st_mode) : !S_ISREG(st.st_mode))
		return neap_error_set(err, NEAP_EFORBIDDEN, "%s is no %s", walk->file,
				      is_dir ? "directory" : "plain file");
	if (judge(walk, fd, &st, "", err) < 0)
		return -(int)err->code;
	if (!is_dir && judge_dir(walk, err) < 0)
		return -(int)err->code;
	/* Only now, because opening a device or a pipe may have effects. */
	real = openat(walk->dir_fd, name,
		      O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (real < 0)
		return open_failed(walk, err);
	if (fstat(real, &now) < 0)
		return neap_error_sys(err, "look at %s", walk->file);
	if (now.st_dev != st.st_dev || now.st_ino != st.st_ino)
		return neap_error_set(err, NEAP_EUNAVAILABLE,
				      "%s is being replaced: try again", walk->file);
	*ret_fd = real;
	real = -1;
	*ret_st = st;
	return 0;
}

static int walk_path(struct walk *walk, bool is_dir, int *ret_fd, struct stat *ret_st,
		     struct neap_error *err)
{
	char name[NAME_MAX + 1] = ".";
	bool is_last = false;
	struct stat st;

	while (next_name(walk, name, &is_last)) {
		neap_auto_fd int fd =
			openat(walk->dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

		if (fd < 0)
			return open_failed(walk, err);
		if (fstat(fd, &st) < 0)
			return neap_error_sys(err, "look at %s", walk->file);
		if (S_ISLNK(st.st_mode)) {
			if (follow(walk, fd, &st, err) < 0)
				return -(int)err->code;
			continue;
		}
		if (is_last)
			return open_last(walk, name, fd, is_dir, ret_fd, ret_st, err);
		enter(walk, fd);
		fd = -1;
	}
	/* The path has only slashes, or is a link to "/": the walk is already there. */
	return open_last(walk, ".", walk->dir_fd, is_dir, ret_fd, ret_st, err);
}

int neap_trusted_open(const char *file, uid_t own_uid, bool is_dir, int *ret_fd,
		      struct stat *ret_st, struct neap_error *err)
{
	struct neap_error own_err;
	int rc = 0, tries;

	if (!err)
		err = &own_err;
	for (tries = 0; tries < TRIES; tries++) {
		struct walk walk = {.file = file, .own_uid = own_uid, .dir_fd = -1};

		if (!*file)
			return neap_error_set(err, NEAP_ENOTFOUND, "no file is named");
		if (!neap_strcopy(walk.rest, sizeof(walk.rest), file))
			return neap_error_set(err, NEAP_ETOOLARGE,
					      "%.80s...: the path is too long", file);
		rc = begin(&walk, file, err);
		if (rc == 0)
			rc = walk_path(&walk, is_dir, ret_fd, ret_st, err);
		enter(&walk, -1);
		/* A swap of links removes the targets of the old ones. */
		if (rc != -NEAP_EUNAVAILABLE && (rc != -NEAP_ENOTFOUND || !walk.links))
			break;
	}
	return rc;
}

bool neap_stat_is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
	       a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

int neap_fd_read_all(int fd, const char *file, size_t max, char **ret_text,
		     size_t *ret_len, struct neap_error *err)
{
	neap_auto_free char *text = NULL;
	struct stat before, after;
	size_t len = 0, size;

	if (fstat(fd, &before) < 0)
		return neap_error_sys(err, "look at %s", file);
	if ((uint64_t)before.st_size > max)
		return neap_error_set(err, NEAP_ETOOLARGE,
				      "%s has %lld bytes: at most %zu are taken", file,
				      (long long)before.st_size, max);
	/* One byte more than needed shows that the file grew. */
	size = (size_t)before.st_size + 1;
	text = neap_alloc(size + 1);
	if (!text)
		return neap_error_nomem(err);
	while (len < size) {
		ssize_t n = read(fd, text + len, size - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return neap_error_sys(err, "read %s", file);
		if (n == 0)
			break;
		len += (size_t)n;
	}
	if (fstat(fd, &after) < 0)
		return neap_error_sys(err, "look at %s", file);
	if (len != (size_t)before.st_size || !neap_stat_is_same(&before, &after))
		return neap_error_set(err, NEAP_EUNAVAILABLE,
				      "%s is being written: try again", file);
	text[len] = '\0';
	*ret_text = neap_steal(text);
	*ret_len = len;
	return 0;
}

static int names_fill(DIR *stream, const char *path, struct neap_names *names,
		      struct neap_error *err)
{
	size_t size = 0;

	for (;;) {
		struct dirent *entry;

		errno = 0;
		entry = readdir(stream);
		if (!entry && errno)
			return neap_error_sys(err, "list %s", path);
		if (!entry)
			return 0;
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (names->count == NEAP_NAMES_MAX)
			return neap_error_set(err, NEAP_ETOOLARGE,
					      "%s has over %d entries: take some out",
					      path, NEAP_NAMES_MAX);
		if (!neap_grow(&names->list, names->count, &size, sizeof(*names->list)))
			return neap_error_nomem(err);
		names->list[names->count] = neap_strdup(entry->d_name);
		if (!names->list[names->count])
			return neap_error_nomem(err);
		names->count++;
	}
}

int neap_names_read(int dir_fd, const char *path, struct neap_names *ret,
		    struct neap_error *err)
{
	/* A new open file description: a duplicate would share the read position. */
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct neap_names names = {NULL, 0};
	DIR *stream;
	int rc;

	if (fd < 0)
		return neap_error_sys(err, "open %s", path);
	stream = fdopendir(fd);
	if (!stream) {
		rc = neap_error_sys(err, "list %s", path);
		(void)close(fd);
		return rc;
	}
	rc = names_fill(stream, path, &names, err);
	(void)closedir(stream);
	if (rc < 0) {
		neap_names_done(&names);
		return rc;
	}
	if (names.count)
		qsort(names.list, names.count, sizeof(*names.list), neap_text_compare);
	*ret = names;
	return 0;
}

void neap_names_done(struct neap_names *names)
{
	size_t i;

	for (i = 0; i < names->count; i++)
		free(names->list[i]);
	free(names->list);
	names->list = NULL;
	names->count = 0;
}
