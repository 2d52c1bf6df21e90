/* SPDX-License-Identifier: Apache-2.0
 *
 * Pods and containers as directories. A look at 250 pods is 250 fstat calls of kept descriptors and
 * little else while no pod came or went: the number of links of a cgroup directory is that of the
 * groups in it. One that went and one that came leave it as it was, and not every kernel moves the
 * change time then, so every directory is read in every tenth look, a tenth of the pods in each.
 * The kernel refuses to read a removed directory (ENOENT); then the path is asked again.
 * Everything is looked for in the hierarchy of the CPU controller. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "hw/readings_priv.h"
#include "hw/scan.h"

#define FULL_EVERY 10
#define NAMES_MAX  65536 /* entries of one directory; more is an error, not more memory */
#define ROOM       8192  /* for entries of a directory, at a time */

/* What a directory looked like when it was read. All zero: never read, or not there. */
struct stamp {
	uint64_t inode, links;
	int64_t changed_nsec;
};

/* A directory that is looked at again and again. */
struct place {
	struct stamp stamp;
	int fd; /* of the directory that the stamp is of; -1 when not kept */
};

struct names {
	struct neap_scan_container *rows;
	size_t count;
};

struct pod {
	struct neap_scan_pod row;
	struct place place;
	bool is_kept; /* place and containers were handed on to the next look */
};

/* One directory in which pods are looked for. */
struct class_dir {
	const struct neap_tree *tree;
	enum neap_kube_qos qos;
	char dir[NEAP_PATH_MAX];
	struct place place;
	struct names names; /* subdirectories that are named as pods */
};

struct neap_scan {
	const struct neap_cgroup *cgroup;
	struct neap_tree *trees;
	struct class_dir *classes;
	size_t class_count;
	struct pod *pods;
	size_t pod_count;
	unsigned looks;
	long kept, kept_max; /* descriptors of places */
	bool is_doubted;     /* the next look goes by paths and reads all */
	bool is_stale; /* a look failed half way: the list of pods is not that of the names */
};

static struct stamp stamp_of(const struct stat *st)
{
	struct stamp stamp = {
		.inode = st->st_ino,
		.links = st->st_nlink,
		.changed_nsec =
			(int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
	};

	return stamp;
}

static struct stamp stamp_of_path(int mount_fd, const char *dir)
{
	struct stamp none = {0};
	struct stat st;

	if (fstatat(mount_fd, dir, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
		return none;
	return stamp_of(&st);
}

static void place_close(struct neap_scan *scan, struct place *place)
{
	if (place->fd < 0)
		return;
	close(place->fd);
	place->fd = -1;
	scan->kept--;
}

/* A removed directory keeps its links until it is read, unless groups were in it. */
static struct stamp stamp_now(const struct neap_scan *scan, const struct place *place,
			      const char *dir)
{
	struct stat st;

	if (place->fd >= 0 && fstat(place->fd, &st) == 0)
		return stamp_of(&st);
	return stamp_of_path(scan->cgroup->mount[NEAP_CTL_CPU].fd, dir);
}

static bool is_same(const struct stamp *a, const struct stamp *b)
{
	return a->inode == b->inode && a->links == b->links &&
	       a->changed_nsec == b->changed_nsec;
}

static int compare_names(const void *a, const void *b)
{
	const struct neap_scan_container *x = a, *y = b;

	return strcmp(x->name, y->name);
}

typedef bool is_wanted_fn(enum neap_cgroup_driver driver, const char *name);

static bool is_pod_name(enum neap_cgroup_driver driver, const char *name)
{
	char uid[128];

	return neap_path_is_safe(name) &&
	       neap_path_parse_pod(driver, name, uid, sizeof(uid), NULL) == 0;
}

static bool is_container_name(enum neap_cgroup_driver driver, const char *name)
{
	char id[256];

	return neap_path_is_safe(name) &&
	       neap_path_parse_container(driver, name, id, sizeof(id), NULL) == 0;
}

static int add_name(struct names *names, size_t *room, const char *name,
		    struct neap_error *err)
{
	if (names->count == NAMES_MAX)
		return neap_error_set(err, NEAP_ETOOLARGE, "more than %d groups",
				      NAMES_MAX);
	if (names->count == *room) {
		size_t more = *room ? *room * 2 : 8;
		void *rows = neap_realloc_array(names->rows, more, sizeof(*names->rows));

		if (!rows)
			return neap_error_nomem(err);
		names->rows = rows;
		*room = more;
	}
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
static int list_names(int fd, const char *path, enum neap_cgroup_driver driver,
		      is_wanted_fn *is_wanted, struct names *names,
		      struct neap_error *err)
{
	_Alignas(struct dirent64) char room[ROOM];
	size_t size = 0;
	ssize_t n;
	int r = 0;

	if (lseek(fd, 0, SEEK_SET) < 0)
		return neap_error_sys(err, "read directory %s", path);
	while (r == 0 && (n = getdents64(fd, room, sizeof(room))) != 0) {
		if (n < 0 && errno == ENOENT)
			return -NEAP_ENOTFOUND;
		if (n < 0)
			return neap_error_sys(err, "read directory %s", path);
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

/* Sorted names of the wanted subdirectories, through the kept descriptor, and anew by the path when
 * that is of a removed directory. The stamp is taken before the reading: what comes in between is
 * seen by the next look. A directory that is not there has no names. */
static int read_names(struct neap_scan *scan, struct place *place, const char *path,
		      enum neap_cgroup_driver driver, is_wanted_fn *is_wanted,
		      struct names *ret, struct neap_error *err)
{
	bool was_kept = place->fd >= 0;
	struct names names = {NULL, 0};
	struct stamp stamp = {0};
	struct neap_error why;
	struct stat st;
	int r, fd = place->fd;

	if (!was_kept)
		fd = neap_cgroup_open(scan->cgroup, NEAP_CTL_CPU, path, NULL,
				      O_RDONLY | O_DIRECTORY, &why);
	if (fd < 0 && why.errnum != ENOENT) {
		if (err)
			*err = why;
		return fd;
	}
	r = fd < 0 ? -NEAP_ENOTFOUND : 0;
	if (r == 0 && fstat(fd, &st) < 0)
		r = neap_error_sys(err, "stat directory %s", path);
	if (r == 0) {
		stamp = stamp_of(&st);
		r = list_names(fd, path, driver, is_wanted, &names, err);
	}
	if (r == 0 && !was_kept && scan->kept < scan->kept_max) {
		place->fd = fd;
		scan->kept++;
	} else if (!was_kept && fd >= 0) {
		close(fd);
	} else if (r < 0) {
		place_close(scan, place);
	}
	if (r < 0)
		free(names.rows);
	if (r == -NEAP_ENOTFOUND && was_kept)
		return read_names(scan, place, path, driver, is_wanted, ret, err);
	if (r == -NEAP_ENOTFOUND) {
		memset(&names, 0, sizeof(names));
		memset(&stamp, 0, sizeof(stamp));
	} else if (r < 0) {
		return neap_error_wrap(err, "look into %s", path);
	}
	if (names.count)
		qsort(names.rows, names.count, sizeof(*names.rows), compare_names);
	place->stamp = stamp;
	*ret = names;
	return 0;
}

static bool are_names_same(const struct names *a, const struct names *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		if (strcmp(a->rows[i].name, b->rows[i].name) != 0)
			return false;
	}
	return true;
}

/* Reads dir again if its stamp moved or is_full. 1 when the names changed, 0 when not. */
static int refresh(struct neap_scan *scan, struct place *place, const char *dir,
		   enum neap_cgroup_driver driver, is_wanted_fn *is_wanted, bool is_full,
		   struct names *names, struct neap_error *err)
{
	struct stamp now;
	struct names fresh;
	bool is_changed;
	int r;

	if (!is_full) {
		now = stamp_now(scan, place, dir);
		if (is_same(&now, &place->stamp))
			return 0;
	}
	r = read_names(scan, place, dir, driver, is_wanted, &fresh, err);
	if (r < 0)
		return r;
	is_changed = !are_names_same(names, &fresh);
	free(names->rows);
	*names = fresh;
	return is_changed;
}

static int compare_pods(const void *a, const void *b)
{
	const struct pod *x = a, *y = b;

	return strcmp(x->row.dir, y->row.dir);
}

static void free_pods(struct neap_scan *scan)
{
	for (size_t i = 0; i < scan->pod_count; i++) {
		if (scan->pods[i].is_kept)
			continue;
		place_close(scan, &scan->pods[i].place);
		free(scan->pods[i].row.containers);
	}
	free(scan->pods);
}

/* The pods that the class directories name now; what is known of the old ones goes along. */
static int rebuild_pods(struct neap_scan *scan, struct neap_error *err)
{
	size_t count = 0, made = 0;
	struct pod *pods;

	for (size_t i = 0; i < scan->class_count; i++)
		count += scan->classes[i].names.count;
	pods = neap_alloc_array(count, sizeof(*pods));
	if (!pods)
		return neap_error_nomem(err);
	for (size_t i = 0; i < scan->class_count; i++) {
		const struct class_dir *class = &scan->classes[i];

		for (size_t j = 0; j < class->names.count; j++) {
			const char *name = class->names.rows[j].name;
			struct neap_scan_pod *row = &pods[made].row;

			if (neap_path_parse_pod(class->tree->driver, name, row->uid,
						sizeof(row->uid), NULL) < 0 ||
			    snprintf(row->dir, sizeof(row->dir), "%s/%s", class->dir,
				     name) >= (int)sizeof(row->dir))
				continue;
			/* systemd takes "-" for a level, so kubelets write "_"; uids have none. */
			for (char *at = row->uid;
			     *at && class->tree->driver == NEAP_DRIVER_SYSTEMD; at++)
				*at = *at == '_' ? '-' : *at;
			row->tree = class->tree;
			row->kube_qos = class->qos;
			pods[made].place.fd = -1;
			made++;
		}
	}
	if (made)
		qsort(pods, made, sizeof(*pods), compare_pods);
	/* Nothing can fail from here on, so the old list may be taken apart. */
	for (size_t i = 0; i < made && scan->pod_count; i++) {
		struct pod *old = bsearch(&pods[i], scan->pods, scan->pod_count,
					  sizeof(*pods), compare_pods);

		if (!old || old->is_kept)
			continue;
		pods[i].row.containers = old->row.containers;
		pods[i].row.container_count = old->row.container_count;
		pods[i].place = old->place;
		old->is_kept = true;
	}
	free_pods(scan);
	scan->pods = pods;
	scan->pod_count = made;
	return 0;
}

static int look_at_pod(struct neap_scan *scan, struct pod *pod, bool is_full,
		       struct neap_error *err)
{
	struct names names = {pod->row.containers, pod->row.container_count};
	uint64_t inode = pod->place.stamp.inode;
	int r;

	r = refresh(scan, &pod->place, pod->row.dir, pod->row.tree->driver,
		    is_container_name, is_full, &names, err);
	if (r < 0)
		return r;
	pod->row.containers = names.rows;
	pod->row.container_count = names.count;
	/* Another directory under the old name is another pod. */
	return r || inode != pod->place.stamp.inode;
}

/* An eighth of what a process may open; a directory beyond that is asked by its path. Directories of
 * plain files may be moved away alive, so their descriptors tell too little. */
static long directories_to_keep(const struct neap_cgroup *cgroup)
{
	struct rlimit limit;

	if (cgroup->is_fake || getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 0;
	if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > 1000000)
		return 1000000 / NEAP_FD_SCAN_SHARE;
	return (long)limit.rlim_cur / NEAP_FD_SCAN_SHARE;
}

int neap_scan_new(const struct neap_cgroup *cgroup, const struct neap_tree *trees,
		  size_t count, struct neap_scan **ret, struct neap_error *err)
{
	static const enum neap_kube_qos classes[] = {
		NEAP_KUBE_GUARANTEED, NEAP_KUBE_BURSTABLE, NEAP_KUBE_BESTEFFORT};
	struct neap_scan *scan = neap_alloc(sizeof(*scan));

	if (!scan)
		return neap_error_nomem(err);
	scan->cgroup = cgroup;
	scan->kept_max = directories_to_keep(cgroup);
	scan->trees = neap_alloc_array(count, sizeof(*scan->trees));
	scan->classes = neap_alloc_array(count * 3, sizeof(*scan->classes));
	if (!scan->trees || !scan->classes) {
		neap_scan_free(scan);
		return neap_error_nomem(err);
	}
	if (count)
		memcpy(scan->trees, trees, count * sizeof(*trees));
	scan->class_count = count * 3;
	for (size_t i = 0; i < scan->class_count; i++)
		scan->classes[i].place.fd = -1;
	for (size_t i = 0; i < scan->class_count; i++) {
		struct class_dir *class = &scan->classes[i];
		int r;

		class->tree = &scan->trees[i / 3];
		class->qos = classes[i % 3];
		r = neap_path_qos_dir(class->tree->driver, class->tree->root, class->qos,
				      class->dir, sizeof(class->dir), err);
		if (r == 0 && !neap_path_is_safe(class->dir))
			r = neap_error_set(err, NEAP_EINVAL,
					   "group '%s': not a safe path", class->dir);
		if (r < 0) {
			neap_scan_free(scan);
			return r;
		}
	}
	*ret = scan;
	return 0;
}

void neap_scan_free(struct neap_scan *scan)
{
	if (!scan)
		return;
	for (size_t i = 0; i < scan->class_count; i++) {
		place_close(scan, &scan->classes[i].place);
		free(scan->classes[i].names.rows);
	}
	free_pods(scan);
	free(scan->classes);
	free(scan->trees);
	free(scan);
}

void neap_scan_doubt(struct neap_scan *scan)
{
	scan->is_doubted = true;
}

static void forget_descriptors(struct neap_scan *scan)
{
	for (size_t i = 0; i < scan->class_count; i++)
		place_close(scan, &scan->classes[i].place);
	for (size_t i = 0; i < scan->pod_count; i++)
		place_close(scan, &scan->pods[i].place);
}

int neap_scan_look(struct neap_scan *scan, struct neap_error *err)
{
	unsigned phase = scan->looks % FULL_EVERY;
	bool is_doubted = scan->is_doubted || scan->is_stale;
	bool is_changed = scan->is_stale;
	int r;

	if (is_doubted)
		forget_descriptors(scan);
	for (size_t i = 0; i < scan->class_count; i++) {
		struct class_dir *class = &scan->classes[i];

		r = refresh(scan, &class->place, class->dir, class->tree->driver,
			    is_pod_name, is_doubted || phase == 0, &class->names, err);
		if (r < 0)
			goto again;
		is_changed |= r > 0;
	}
	if (is_changed) {
		r = rebuild_pods(scan, err);
		if (r < 0)
			goto again;
	}
	for (size_t i = 0; i < scan->pod_count; i++) {
		r = look_at_pod(scan, &scan->pods[i],
				is_doubted || i % FULL_EVERY == phase, err);
		if (r < 0)
			goto again;
		is_changed |= r > 0;
	}
	scan->is_stale = false;
	scan->is_doubted = false;
	scan->looks++;
	return is_changed;

again:
	/* Half a look: the next one trusts nothing. */
	for (size_t i = 0; i < scan->class_count; i++) {
		free(scan->classes[i].names.rows);
		memset(&scan->classes[i].names, 0, sizeof(scan->classes[i].names));
	}
	scan->is_stale = true;
	return r;
}

size_t neap_scan_pod_count(const struct neap_scan *scan)
{
	return scan->pod_count;
}

const struct neap_scan_pod *neap_scan_pod_get(const struct neap_scan *scan, size_t index)
{
	return index < scan->pod_count ? &scan->pods[index].row : NULL;
}

bool neap_scan_find_kubelet(const struct neap_cgroup *cgroup, struct neap_tree *ret)
{
	static const enum neap_cgroup_driver drivers[] = {NEAP_DRIVER_SYSTEMD,
							  NEAP_DRIVER_CGROUPFS};
	static const enum neap_kube_qos classes[] = {NEAP_KUBE_BURSTABLE,
						     NEAP_KUBE_BESTEFFORT};
	const struct neap_cgroup_mount *mount = &cgroup->mount[NEAP_CTL_CPU];

	for (size_t i = 0; mount->is_present && i < NEAP_ARRAY_LEN(drivers); i++) {
		const char *root = neap_path_kube_root(drivers[i]);
		bool has_all = true;

		for (size_t j = 0; j < NEAP_ARRAY_LEN(classes); j++) {
			char dir[NEAP_PATH_MAX];

			has_all &= neap_path_qos_dir(drivers[i], root, classes[j], dir,
						     sizeof(dir), NULL) == 0 &&
				   stamp_of_path(mount->fd, dir).inode != 0;
		}
		if (!has_all)
			continue;
		(void)neap_strcopy(ret->root, sizeof(ret->root),
				   root); /* a constant that fits */
		ret->driver = drivers[i];
		ret->is_own = false;
		return true;
	}
	return false;
}
