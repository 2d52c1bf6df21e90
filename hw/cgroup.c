/* SPDX-License-Identifier: Apache-2.0
 *
 * Probes the cgroup hierarchies: where each controller is mounted, in which version, and
 * which of neap's files exist. libcgroup provides the mounts (its parser of /proc/mounts
 * knows every arrangement of v1 and v2); files are opened here, because libcgroup loses
 * the errno and does not check names. Probing runs once at start, opening some thousand
 * times. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libcgroup.h>
#include <limits.h>
#include <linux/openat2.h>
#include <mntent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "engine/machine/path.h"
#include "hw/cgroup_priv.h"

#define MAGIC_V1 0x27e0ebL
#define MAGIC_V2 0x63677270L
#define MOUNTS   "/proc/self/mounts"

static const struct {
	const char *v1, *v2;
} names[NEAP_CTL_COUNT] = {
	[NEAP_CTL_CPU] = {"cpu", "cpu"},
	/* v2 counts CPU time in every group, whichever controllers are enabled. */
	[NEAP_CTL_CPUACCT] = {"cpuacct", NULL},
	[NEAP_CTL_CPUSET] = {"cpuset", "cpuset"},
	[NEAP_CTL_MEMORY] = {"memory", "memory"},
	[NEAP_CTL_IO] = {"blkio", "io"},
	[NEAP_CTL_PIDS] = {"pids", "pids"},
	[NEAP_CTL_UNIFIED] = {NULL, NULL},
};

const char *neap_cgroup_controller_file_name(enum neap_controller controller, bool v2)
{
	return v2 ? names[controller].v2 : names[controller].v1;
}

int neap_cgroup_explain(struct neap_error *err, int errnum, const char *mount,
			const char *fmt, ...)
{
	char what[160];
	va_list args;

	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);

	errno = errnum;
	switch (errnum) {
	case EROFS:
		return neap_error_sys(err,
				      "%s: %s is mounted read-only, remount it writable "
				      "(mount -o remount,rw)",
				      what, mount);
	case EACCES:
	case EPERM:
		return neap_error_sys(
			err, "%s: run as root, or have %s delegated to this user", what,
			mount);
	default:
		return neap_error_sys(err, "%s", what);
	}
}

bool neap_cgroup_has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	while (*text) {
		size_t n = strcspn(text, " \n");

		if (n == len && !memcmp(text, word, n))
			return true;
		text += n;
		text += strspn(text, " \n");
	}
	return false;
}

/* For kernels before 5.6: every component by itself, no links, one file system. */
static int open_stepwise(int dirfd, const char *path, int flags)
{
	neap_auto_fd int at = -1;
	struct stat root, here;

	if (fstat(dirfd, &root) < 0)
		return -1;
	for (;;) {
		size_t n = strcspn(path, "/");
		bool is_last = path[n] == '\0';
		char name[NAME_MAX + 1];
		int from = at >= 0 ? at : dirfd;
		int fd;

		if (n == 0 || n > NAME_MAX) {
			errno = n ? ENAMETOOLONG : ENOENT;
			return -1;
		}
		memcpy(name, path, n);
		name[n] = '\0';
		if (!strcmp(name, "..")) {
			errno = EXDEV;
			return -1;
		}
		fd = openat(from, name,
			    O_NOFOLLOW | O_CLOEXEC |
				    (is_last ? flags : O_PATH | O_DIRECTORY));
		if (fd < 0)
			return -1;
		if (fstat(fd, &here) < 0 || here.st_dev != root.st_dev ||
		    S_ISLNK(here.st_mode)) {
			close(fd);
			errno = EXDEV;
			return -1;
		}
		if (is_last)
			return fd;
		if (at >= 0)
			close(at);
		at = fd;
		path += n + 1;
	}
}

int neap_cgroup_open_beneath(int dirfd, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(flags | O_CLOEXEC),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV |
			   RESOLVE_NO_MAGICLINKS,
	};
	long fd;

	if (!*path)
		path = ".";
	fd = syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
	/* Some container filters answer EPERM for calls they do not know; the slow way is
	 * as safe. */
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		return open_stepwise(dirfd, path, flags);
	return (int)fd;
}

long neap_cgroup_slurp(int dirfd, const char *file, char *buf, size_t size)
{
	neap_auto_fd int fd = neap_cgroup_open_beneath(dirfd, file, O_RDONLY);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = read(fd, buf, size - 1);
	if (n < 0)
		return -1;
	while (n > 0 && buf[n - 1] == '\n')
		n--;
	buf[n] = '\0';
	return n;
}

static bool file_system_is(const char *path, long magic)
{
	struct statfs fs;

	return statfs(path, &fs) == 0 && (long)fs.f_type == magic;
}

static int mount_set(struct neap_cgroup *cgroup, enum neap_controller controller,
		     const char *path, bool is_v2, struct neap_error *err)
{
	struct neap_cgroup_mount *mount = &cgroup->mount[controller];
	char real[PATH_MAX];
	int fd;

	if (mount->is_present)
		return 0;
	/* Links like cpu -> cpu,cpuacct resolve to one name, so that equal mounts compare
	 * equal. */
	if (!realpath(path, real))
		return neap_error_sys(err, "cgroup mount %s", path);
	if (strlen(real) >= sizeof(mount->path))
		return neap_error_set(err, NEAP_ETOOLARGE,
				      "cgroup mount %s: longer than %zu bytes", path,
				      sizeof(mount->path) - 1);
	fd = open(real, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return neap_error_sys(err, "cgroup mount %s", real);

	mount->is_present = true;
	mount->is_v2 = is_v2;
	mount->fd = fd;
	(void)neap_strcopy(mount->path, sizeof(mount->path),
			   real); /* length checked above */
	*(is_v2 ? &cgroup->has_v2 : &cgroup->has_v1) = true;
	return 0;
}

/* The cgroup2 tree at path: itself, and every controller its root offers. */
static int take_unified(struct neap_cgroup *cgroup, const char *path,
			struct neap_error *err)
{
	char offered[512];
	int r = mount_set(cgroup, NEAP_CTL_UNIFIED, path, true, err);

	if (r < 0)
		return r;
	if (neap_cgroup_slurp(cgroup->mount[NEAP_CTL_UNIFIED].fd, "cgroup.controllers",
			      offered, sizeof(offered)) < 0)
		return neap_error_sys(err, "read %s/cgroup.controllers", path);
	for (int i = 0; i < NEAP_CTL_COUNT; i++) {
		if (!names[i].v2 || !neap_cgroup_has_word(offered, names[i].v2))
			continue;
		r = mount_set(cgroup, (enum neap_controller)i, path, true, err);
		if (r < 0)
			return r;
	}
	return mount_set(cgroup, NEAP_CTL_CPUACCT, path, true, err);
}

/* 1: it is in buf; 0: there is none. */
static int find_cgroup2_mount(char *buf, size_t size, struct neap_error *err)
{
	FILE *file = setmntent(MOUNTS, "re");
	bool found = false;
	struct mntent row;
	char text[4096];
	int r;

	if (!file)
		return neap_error_sys(err, "open %s", MOUNTS);
	while (!found && getmntent_r(file, &row, text, sizeof(text)))
		found = !strcmp(row.mnt_type, "cgroup2") &&
			neap_strcopy(buf, size, row.mnt_dir);
	/* The end of the file, and that it could not be read, look alike above. */
	r = ferror(file) ? neap_error_sys(err, "read %s", MOUNTS) : found;
	endmntent(file);
	return r;
}

static int probe_machine(struct neap_cgroup *cgroup, struct neap_error *err)
{
	struct cgroup_mount_point info;
	char unified[PATH_MAX];
	void *handle = NULL;
	int r = 0, rc;

	errno = 0;
	rc = cgroup_init();
	if (rc && errno == ENOMEM)
		return neap_error_nomem(err);
	if (rc)
		return neap_error_set(
			err, NEAP_EUNSUPPORTED,
			"no cgroup hierarchy is mounted (%s): mount one, for example "
			"mount -t cgroup2 none /sys/fs/cgroup",
			cgroup_strerror(rc));

	rc = cgroup_get_controller_begin(&handle, &info);
	while (rc == 0 && r == 0) {
		for (int i = 0; i < NEAP_CTL_COUNT && r == 0; i++) {
			if (names[i].v1 && !strcmp(info.name, names[i].v1) &&
			    file_system_is(info.path, MAGIC_V1))
				r = mount_set(cgroup, (enum neap_controller)i, info.path,
					      false, err);
		}
		rc = cgroup_get_controller_next(&handle, &info);
	}
	(void)cgroup_get_controller_end(
		&handle); /* frees the handle, cannot fail after begin */
	if (r < 0)
		return r;
	if (rc != ECGEOF)
		return neap_error_nomem(err); /* nothing else stops it */

	/* libcgroup lists controllers, and a cgroup2 mount may have none of its own. */
	r = find_cgroup2_mount(unified, sizeof(unified), err);
	return r > 0 ? take_unified(cgroup, unified, err) : r;
}

static int probe_root(struct neap_cgroup *cgroup, const char *root,
		      struct neap_error *err)
{
	char path[PATH_MAX];
	bool is_kernel = false;
	int r;

	if (access(root, F_OK) < 0)
		return neap_error_sys(err, "cgroup root %s", root);
	snprintf(path, sizeof(path), "%s/cgroup.controllers", root);
	if (access(path, F_OK) == 0) {
		cgroup->is_by_hand = true;
		cgroup->is_fake = !file_system_is(root, MAGIC_V2);
		return take_unified(cgroup, root, err);
	}

	for (int i = 0; i < NEAP_CTL_COUNT; i++) {
		if (!names[i].v1)
			continue;
		snprintf(path, sizeof(path), "%s/%s", root, names[i].v1);
		if (access(path, F_OK) < 0 && i <= NEAP_CTL_CPUACCT)
			snprintf(path, sizeof(path), "%s/cpu,cpuacct", root);
		if (access(path, F_OK) < 0)
			continue;
		r = mount_set(cgroup, (enum neap_controller)i, path, false, err);
		if (r < 0)
			return r;
		is_kernel |= file_system_is(path, MAGIC_V1);
	}
	cgroup->is_by_hand = true;
	cgroup->is_fake = !is_kernel;
	snprintf(path, sizeof(path), "%s/unified/cgroup.controllers", root);
	if (access(path, F_OK) < 0)
		return 0;
	*strrchr(path, '/') = '\0';
	return take_unified(cgroup, path, err);
}

int neap_cgroup_probe(const char *root, struct neap_cgroup *ret, struct neap_error *err)
{
	struct neap_cgroup cgroup;
	int r;

	memset(&cgroup, 0, sizeof(cgroup));
	for (int i = 0; i < NEAP_CTL_COUNT; i++)
		cgroup.mount[i].fd = -1;

	r = root ? probe_root(&cgroup, root, err) : probe_machine(&cgroup, err);
	if (r == 0 && !cgroup.mount[NEAP_CTL_CPU].is_present && cgroup.has_v2)
		r = neap_error_set(
			err, NEAP_EUNSUPPORTED,
			"controller cpu is not in %s/cgroup.controllers: not built into "
			"the kernel, switched off (cgroup_disable=), or bound to a v1 "
			"mount elsewhere",
			cgroup.mount[NEAP_CTL_UNIFIED].path);
	else if (r == 0 && !cgroup.mount[NEAP_CTL_CPU].is_present)
		r = neap_error_set(
			err, NEAP_EUNSUPPORTED,
			"controller cpu is not mounted%s%s: mount -t cgroup2 none DIR, or "
			"mount -t cgroup -o cpu none DIR",
			root ? " below " : "", root ? root : "");
	if (r < 0) {
		neap_cgroup_done(&cgroup);
		return r;
	}
	*ret = cgroup;
	return 0;
}

void neap_cgroup_done(struct neap_cgroup *cgroup)
{
	for (int i = 0; i < NEAP_CTL_COUNT; i++) {
		if (cgroup->mount[i].is_present)
			close(cgroup->mount[i].fd);
		cgroup->mount[i].is_present = false;
		cgroup->mount[i].fd = -1;
	}
}

const char *neap_cgroup_file(const struct neap_cgroup *cgroup, enum neap_key key,
			     int *ret_mount_fd, bool *ret_v2)
{
	const struct neap_key_info *info = neap_key_get(key);
	const struct neap_cgroup_mount *mount = &cgroup->mount[info->controller];
	const char *file = mount->is_v2 ? info->v2_file : info->v1_file;

	if (!mount->is_present || !file)
		return NULL;
	if (ret_mount_fd)
		*ret_mount_fd = mount->fd;
	if (ret_v2)
		*ret_v2 = mount->is_v2;
	return file;
}

/* Without the group asked about (nothing may be created: no root, a dry run) any other
 * group answers: one of the root's children, or on v1 the root itself. */
static bool has_file_somewhere(const struct neap_cgroup_mount *mount, const char *file)
{
	int root_fd = openat(mount->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *root = root_fd < 0 ? NULL : fdopendir(root_fd);
	const struct dirent *child;
	bool has = !mount->is_v2 && faccessat(mount->fd, file, F_OK, 0) == 0;

	if (!root) {
		neap_fd_close(&root_fd);
		return has;
	}
	while (!has && (child = readdir(root)) != NULL) {
		char path[NAME_MAX * 2 + 2];

		if (child->d_type != DT_DIR || child->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", child->d_name, file);
		has = faccessat(mount->fd, path, F_OK, 0) == 0;
	}
	(void)closedir(root);
	return has;
}

/* Why a key has no file in dir; "" when it has one. */
static void look_for_key(const struct neap_cgroup *cgroup, const char *dir,
			 enum neap_key key, char *why, size_t size)
{
	const struct neap_key_info *info = neap_key_get(key);
	const struct neap_cgroup_mount *mount = &cgroup->mount[info->controller];
	const char *file = neap_cgroup_file(cgroup, key, NULL, NULL);
	const char *v2_name = names[info->controller].v2;
	const char *controller = neap_controller_name(info->controller);
	neap_auto_fd int dir_fd = -1, fd = -1;
	char enabled[512];

	why[0] = '\0';
	if (!mount->is_present) {
		snprintf(why, size, "%s: controller %s is not mounted", info->name,
			 controller);
		return;
	}
	if (!file) {
		snprintf(why, size, "%s: cgroup %s has no such file", info->name,
			 mount->is_v2 ? "v2" : "v1");
		return;
	}
	dir_fd = neap_cgroup_open_beneath(mount->fd, dir, O_PATH | O_DIRECTORY);
	if (dir_fd < 0 && errno == ENOENT) {
		if (!has_file_somewhere(mount, file))
			snprintf(why, size, "%s: not on this kernel", file);
		return;
	}
	if (dir_fd < 0) {
		snprintf(why, size, "%s: %s/%.40s: %s", file, controller, dir,
			 strerror(errno));
		return;
	}
	fd = neap_cgroup_open_beneath(dir_fd, file, O_PATH);
	if (fd >= 0)
		return;
	if (mount->is_v2 && v2_name &&
	    neap_cgroup_slurp(dir_fd, "cgroup.controllers", enabled, sizeof(enabled)) >=
		    0 &&
	    !neap_cgroup_has_word(enabled, v2_name))
		snprintf(why, size,
			 "%s: controller %s is not enabled in the parent group", file,
			 controller);
	else
		snprintf(why, size, "%s: not on this kernel", file);
}

void neap_cgroup_probe_keys(struct neap_cgroup *cgroup, const char *dir)
{
	cgroup->supports = 0;
	for (int key = 0; key < NEAP_KEY_COUNT; key++) {
		char *why = cgroup->why_not[key];

		look_for_key(cgroup, dir, (enum neap_key)key, why,
			     sizeof(cgroup->why_not[key]));
		if (!*why)
			cgroup->supports |= 1u << key;
	}
}

int neap_cgroup_open(const struct neap_cgroup *cgroup, enum neap_controller controller,
		     const char *dir, const char *file, int flags, struct neap_error *err)
{
	const struct neap_cgroup_mount *mount = &cgroup->mount[controller];
	char path[NEAP_PATH_MAX + NAME_MAX + 2];
	int fd;

	if (!mount->is_present) {
		errno = ENOENT;
		return neap_error_sys(err, "controller %s is not mounted",
				      neap_controller_name(controller));
	}
	if (*dir && !neap_path_is_safe(dir))
		return neap_error_set(err, NEAP_EINVAL, "group '%s': not a safe path",
				      dir);
	if (file && (strchr(file, '/') || !neap_path_is_safe(file)))
		return neap_error_set(err, NEAP_EINVAL, "file '%s': not a plain name",
				      file);
	if (snprintf(path, sizeof(path), "%s%s%s", dir, *dir && file ? "/" : "",
		     file ? file : "") >= (int)sizeof(path))
		return neap_error_set(err, NEAP_ETOOLARGE,
				      "group '%.60s...': path too long", dir);

	fd = neap_cgroup_open_beneath(mount->fd, path, flags);
	if (fd < 0)
		return neap_cgroup_explain(err, errno, mount->path, "open %s/%s",
					   mount->path, path);
	return fd;
}

int neap_cgroup_hierarchies(const struct neap_cgroup *cgroup,
			    enum neap_controller ret[NEAP_CTL_COUNT])
{
	/* v1 blkio has no key of ours, so its tree is left alone. */
	static const enum neap_controller used[] = {NEAP_CTL_CPU,    NEAP_CTL_CPUACCT,
						    NEAP_CTL_CPUSET, NEAP_CTL_MEMORY,
						    NEAP_CTL_PIDS,   NEAP_CTL_UNIFIED};
	int count = 0;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(used); i++) {
		const struct neap_cgroup_mount *mount = &cgroup->mount[used[i]];
		bool is_known = !mount->is_present;

		for (int j = 0; j < count && !is_known; j++)
			is_known = !strcmp(cgroup->mount[ret[j]].path, mount->path);
		if (!is_known)
			ret[count++] = used[i];
	}
	return count;
}
