/* SPDX-License-Identifier: Apache-2.0
 *
 * One directory that is scanned repeatedly. Groups are created and removed by mkdir and
 * rmdir, so inotify reports it, and scanning an unchanged directory costs nothing.
 *
 * Not every directory has a watch (user limits, trees of plain files): its link count is
 * the number of its groups, and is checked in every scan. One group removed and one added
 * leave the count unchanged, and not every kernel updates the change time, so the
 * directory is also read in every tenth scan. As a safety net, watched directories are
 * read too, ten times less often.
 *
 * The kernel refuses to read a removed directory (ENOENT); then the path is looked up
 * again. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "hw/readings_priv.h"
#include "hw/scan_priv.h"

#define ROOM      8192 /* for entries of a directory, or events, at a time */
#define HEARD_MAX 256  /* reads of events in one look; who makes more loses them */
#define WATCH_MASK                                                                       \
	(IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR |              \
	 IN_DONT_FOLLOW)

/* An eighth of the descriptors a process may open; further directories are looked up by
 * path. Directories of plain files may be moved while in use, so their descriptors do not
 * suffice. */
static long directories_to_keep(const struct neap_cgroup *cgroup)
{
	struct rlimit limit;

	if (cgroup->is_fake || getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 0;
	if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > 1000000)
		limit.rlim_cur = 1000000;
	return (long)limit.rlim_cur / NEAP_FD_SCAN_SHARE;
}

void neap_scan_places_init(struct neap_scan_places *places,
			   const struct neap_cgroup *cgroup)
{
	places->cgroup = cgroup;
	places->kept = 0;
	places->kept_max = directories_to_keep(cgroup);
	places->inotify =
		places->kept_max > 0 ? inotify_init1(IN_NONBLOCK | IN_CLOEXEC) : -1;
}

void neap_scan_places_done(struct neap_scan_places *places)
{
	if (places->inotify >= 0)
		close(places->inotify);
	places->inotify = -1;
}

bool neap_scan_places_hear(const struct neap_scan_places *places,
			   neap_scan_place_told_fn *told, void *arg)
{
	_Alignas(struct inotify_event) char room[ROOM];
	bool is_whole = true;
	ssize_t n;

	if (places->inotify < 0)
		return true;
	for (int i = 0; i < HEARD_MAX; i++) {
		n = read(places->inotify, room, sizeof(room));
		if (n <= 0)
			return is_whole && n < 0 && errno == EAGAIN;
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *event = (const void *)(room + at);

			at += (ssize_t)(sizeof(*event) + event->len);
			if (event->mask & IN_Q_OVERFLOW)
				is_whole = false;
			else if (!(event->mask & IN_IGNORED))
				told(arg, event->wd);
		}
	}
	return false;
}

void neap_scan_place_init(struct neap_scan_place *place)
{
	memset(place, 0, sizeof(*place));
	place->fd = place->watch = -1;
}

void neap_scan_place_close(struct neap_scan_places *places, struct neap_scan_place *place)
{
	if (place->watch >= 0)
		(void)inotify_rm_watch(places->inotify,
				       place->watch); /* gone with its directory */
	place->watch = -1;
	if (place->fd < 0)
		return;
	close(place->fd);
	place->fd = -1;
	places->kept--;
}

static struct neap_scan_place_stamp stamp_of(const struct stat *st)
{
	struct neap_scan_place_stamp stamp = {
		.inode = st->st_ino,
		.links = st->st_nlink,
	};

	stamp.changed_nsec = (int64_t)st->st_mtim.tv_sec * 1000000000;
	stamp.changed_nsec += st->st_mtim.tv_nsec;
	return stamp;
}

static struct neap_scan_place_stamp stamp_of_path(const struct neap_cgroup *cgroup,
						  const char *dir)
{
	struct neap_scan_place_stamp none = {0};
	struct stat st;

	if (fstatat(cgroup->mount[NEAP_CTL_CPU].fd, dir, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISDIR(st.st_mode))
		return none;
	return stamp_of(&st);
}

uint64_t neap_scan_place_inode(const struct neap_cgroup *cgroup, const char *dir)
{
	return stamp_of_path(cgroup, dir).inode;
}

/* Through the descriptor, which still works for a removed cgroup directory; the watch,
 * every tenth look and neap_scan_doubt cover that case. */
static struct neap_scan_place_stamp stamp_now(const struct neap_scan_places *places,
					      const struct neap_scan_place *place,
					      const char *dir)
{
	struct stat st;

	if (place->fd >= 0 && fstat(place->fd, &st) == 0)
		return stamp_of(&st);
	return stamp_of_path(places->cgroup, dir);
}

/* By path, because a descriptor cannot name a directory once the daemon is no longer
 * root. If the path leads to the same directory before and after, the watch is on it. */
static int watch_add(const struct neap_scan_places *places, const char *dir, int fd)
{
	char path[NEAP_PATH_MAX + 256];
	struct stat st;
	int watch;

	if (places->inotify < 0 || fstat(fd, &st) < 0 ||
	    snprintf(path, sizeof(path), "%s/%s",
		     places->cgroup->mount[NEAP_CTL_CPU].path, dir) >= (int)sizeof(path))
		return -1;
	watch = inotify_add_watch(places->inotify, path, WATCH_MASK);
	if (watch >= 0 && neap_scan_place_inode(places->cgroup, dir) != st.st_ino) {
		(void)inotify_rm_watch(places->inotify, watch); /* of another directory */
		return -1;
	}
	return watch;
}

static int compare_names(const void *a, const void *b)
{
	const struct neap_scan_container *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int add_name(struct neap_scan_place_names *names, size_t *room, const char *name,
		    struct neap_error *err)
{
	if (names->count == NEAP_PLACE_NAMES_MAX)
		return neap_error_set(err, NEAP_ETOOLARGE, "more than %d groups",
				      NEAP_PLACE_NAMES_MAX);
	if (!neap_grow(&names->rows, names->count, room, sizeof(*names->rows)))
		return neap_error_nomem(err);
	if (neap_strcopy(names->rows[names->count].name, sizeof(names->rows[0].name),
			 name))
		names->count++;
	return 0;
}

static bool is_directory(int fd, const struct dirent64 *entry)
{
	struct stat st;

	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type == DT_DIR;
	return fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(st.st_mode);
}

/* Adds the wanted subdirectories of fd. NEAP_ENOTFOUND when the directory was removed. */
static int list_names(int fd, enum neap_cgroup_driver driver,
		      neap_scan_place_wanted_fn *is_wanted,
		      struct neap_scan_place_names *names, struct neap_error *err)
{
	_Alignas(struct dirent64) char room[ROOM];
	size_t size = 0;
	ssize_t n;
	int r = 0;

	if (lseek(fd, 0, SEEK_SET) < 0)
		return neap_error_sys(err, "go to the first entry");
	while (r == 0 && (n = getdents64(fd, room, sizeof(room))) != 0) {
		if (n < 0 && errno == ENOENT)
			return -NEAP_ENOTFOUND;
		if (n < 0)
			return neap_error_sys(err, "read entries");
		for (ssize_t at = 0; at < n && r == 0;) {
			const struct dirent64 *entry = (const void *)(room + at);

			at += entry->d_reclen;
			if (entry->d_name[0] != '.' && is_directory(fd, entry) &&
			    is_wanted(driver, entry->d_name))
				r = add_name(names, &size, entry->d_name, err);
		}
	}
	return r;
}

/* The directory that has the path now; kept, with a watch, if there is room.
 * NEAP_ENOTFOUND when there is none. */
static int place_open(struct neap_scan_places *places, struct neap_scan_place *place,
		      const char *dir, int *ret_fd, struct neap_error *err)
{
	struct neap_error why;
	int fd = neap_cgroup_open(places->cgroup, NEAP_CTL_CPU, dir, NULL,
				  O_RDONLY | O_DIRECTORY, &why);

	if (fd < 0 && why.errnum == ENOENT)
		return -NEAP_ENOTFOUND;
	if (fd < 0) {
		if (err)
			*err = why;
		return fd;
	}
	*ret_fd = fd;
	if (places->kept < places->kept_max) {
		place->fd = fd;
		places->kept++;
		place->watch = watch_add(places, dir, fd);
	}
	return 0;
}

/* Names through the kept descriptor, or by the path without one. The stamp is taken
 * before the reading, and the watch set: what comes in between is seen by the next look.
 * On failure nothing is kept. */
static int read_names(struct neap_scan_places *places, struct neap_scan_place *place,
		      const char *dir, enum neap_cgroup_driver driver,
		      neap_scan_place_wanted_fn *is_wanted,
		      struct neap_scan_place_names *ret, struct neap_error *err)
{
	struct neap_scan_place_names names = {NULL, 0};
	struct stat st;
	int fd = place->fd;
	int r = fd < 0 ? place_open(places, place, dir, &fd, err) : 0;

	if (r < 0)
		return r;
	r = fstat(fd, &st) < 0 ? neap_error_sys(err, "stat") : 0;
	if (r == 0)
		r = list_names(fd, driver, is_wanted, &names, err);
	if (place->fd < 0)
		close(fd);
	if (r < 0) {
		neap_scan_place_close(places, place);
		free(names.rows);
		return r;
	}
	if (names.count)
		qsort(names.rows, names.count, sizeof(*names.rows), compare_names);
	place->stamp = stamp_of(&st);
	*ret = names;
	return 0;
}

static bool are_names_same(const struct neap_scan_place_names *a,
			   const struct neap_scan_place_names *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		if (strcmp(a->rows[i].name, b->rows[i].name) != 0)
			return false;
	}
	return true;
}

static bool is_same(const struct neap_scan_place_stamp *a,
		    const struct neap_scan_place_stamp *b)
{
	return a->inode == b->inode && a->links == b->links &&
	       a->changed_nsec == b->changed_nsec;
}

enum neap_scan_place_look neap_scan_place_due(const struct neap_scan_place *place,
					      size_t turn)
{
	bool is_watched = place->watch >= 0;
	size_t every = is_watched ? NEAP_PLACE_WATCHED_EVERY : NEAP_PLACE_EVERY;

	if (place->is_moved || turn % every == 0)
		return NEAP_LOOK_READ;
	return is_watched ? NEAP_LOOK_NONE : NEAP_LOOK_STAT;
}

int neap_scan_place_refresh(struct neap_scan_places *places,
			    struct neap_scan_place *place, const char *dir,
			    enum neap_cgroup_driver driver,
			    neap_scan_place_wanted_fn *is_wanted,
			    enum neap_scan_place_look look,
			    struct neap_scan_place_names *names, struct neap_error *err)
{
	struct neap_scan_place_names fresh = {NULL, 0};
	bool was_kept = place->fd >= 0;
	bool is_changed;
	int r;

	if (look == NEAP_LOOK_NONE)
		return 0;
	if (look == NEAP_LOOK_STAT) {
		struct neap_scan_place_stamp now = stamp_now(places, place, dir);

		if (is_same(&now, &place->stamp))
			return 0;
	}
	r = read_names(places, place, dir, driver, is_wanted, &fresh, err);
	if (r == -NEAP_ENOTFOUND && was_kept)
		r = read_names(places, place, dir, driver, is_wanted, &fresh, err);
	if (r == -NEAP_ENOTFOUND)
		memset(&place->stamp, 0, sizeof(place->stamp));
	else if (r < 0)
		return neap_error_wrap(err, "look into %s", dir);
	place->is_moved = false;
	is_changed = !are_names_same(names, &fresh);
	free(names->rows);
	*names = fresh;
	return is_changed;
}
