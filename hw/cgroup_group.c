/* SPDX-License-Identifier: Apache-2.0
 *
 * Creates and removes groups and moves processes, in every hierarchy neap uses. Rare (a
 * workload starts or ends), so clarity goes before speed. A group is created level by
 * level from the root, because each level must be usable before the next: v1 CPU sets are
 * filled from the parent, v2 controllers are enabled in the parent. */
#include <errno.h>
#include <fcntl.h>
#include <libcgroup.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/machine/path.h"
#include "hw/cgroup_priv.h"

/* Without these neap's keys do not exist; a group that lacks the others is still of
 * use. */
static const struct {
	enum neap_controller controller;
	bool is_needed;
} v2_controllers[] = {
	{NEAP_CTL_CPU, true}, {NEAP_CTL_CPUSET, true}, {NEAP_CTL_MEMORY, true},
	{NEAP_CTL_IO, false}, {NEAP_CTL_PIDS, false},
};

static int write_text(int dirfd, const char *file, const char *text, int flags)
{
	neap_auto_fd int fd = neap_cgroup_open_beneath(dirfd, file, O_WRONLY | flags);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = write(fd, text, strlen(text));
	return n < 0 ? -1 : 0;
}

/* v2: switches one controller on in cgroup.subtree_control of the parent. */
static int enable_controller(const struct neap_cgroup *cgroup, const char *mount_path,
			     const char *parent, int parent_fd, const char *name,
			     char *enabled, size_t size, struct neap_error *err)
{
	char text[32];
	int saved;

	if (neap_cgroup_has_word(enabled, name))
		return 0;
	if (cgroup->is_fake) {
		/* A plain file takes words as they come; the kernel would merge them
		 * itself. */
		size_t len = strlen(enabled);

		snprintf(enabled + len, size - len, "%s%s", len ? " " : "", name);
		if (write_text(parent_fd, "cgroup.subtree_control", enabled, O_TRUNC) ==
		    0)
			return 0;
	} else {
		snprintf(text, sizeof(text), "+%s", name);
		if (write_text(parent_fd, "cgroup.subtree_control", text, 0) == 0)
			return 0;
	}
	saved = errno;
	if (saved == EBUSY)
		return neap_error_sys(
			err,
			"enable controller %s in %s/%s: processes live in that group "
			"itself, move them to a group below",
			name, mount_path, parent);
	if (saved == ENOENT)
		return neap_error_sys(
			err,
			"enable controller %s in %s/%s: not handed down to that "
			"group, enable it in the groups above",
			name, mount_path, parent);
	return neap_cgroup_explain(err, saved, mount_path,
				   "enable controller %s in %s/%s", name, mount_path,
				   parent);
}

static int enable_controllers(const struct neap_cgroup *cgroup,
			      enum neap_controller hierarchy, const char *parent,
			      int parent_fd, struct neap_error *err)
{
	const struct neap_cgroup_mount *mount = &cgroup->mount[hierarchy];
	char enabled[512] = "";
	int r;

	if (neap_cgroup_slurp(parent_fd, "cgroup.subtree_control", enabled,
			      sizeof(enabled) - 64) < 0 &&
	    errno != ENOENT)
		return neap_cgroup_explain(err, errno, mount->path,
					   "read %s/%s/cgroup.subtree_control",
					   mount->path, parent);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(v2_controllers); i++) {
		enum neap_controller controller = v2_controllers[i].controller;
		const struct neap_cgroup_mount *own = &cgroup->mount[controller];

		/* On a mixed machine some controllers belong to v1 mounts. */
		if (!own->is_present || strcmp(own->path, mount->path) != 0)
			continue;
		r = enable_controller(cgroup, mount->path, parent, parent_fd,
				      neap_cgroup_controller_file_name(controller, true),
				      enabled, sizeof(enabled), err);
		if (r < 0 && v2_controllers[i].is_needed)
			return r;
	}
	return 0;
}

/* v1: a new CPU set is empty and takes no process; it gets what its parent has. */
static int fill_cpuset(const char *mount_path, const char *dir, int parent_fd,
		       int group_fd, struct neap_error *err)
{
	static const char *const files[] = {"cpuset.mems", "cpuset.cpus"};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(files); i++) {
		char text[NEAP_CPUSET_TEXT];
		long n = neap_cgroup_slurp(group_fd, files[i], text, sizeof(text));

		if (n < 0)
			return neap_error_sys(err, "read %s/%s/%s", mount_path, dir,
					      files[i]);
		if (n > 0)
			continue;
		n = neap_cgroup_slurp(parent_fd, files[i], text, sizeof(text));
		if (n < 0)
			return neap_error_sys(err, "read %s of the parent of %s/%s",
					      files[i], mount_path, dir);
		if (n > 0 && write_text(group_fd, files[i], text, 0) < 0)
			return neap_cgroup_explain(err, errno, mount_path,
						   "write '%.40s' to %s/%s/%s", text,
						   mount_path, dir, files[i]);
	}
	return 0;
}

/* libcgroup creates the group of one level in all hierarchies that carry a controller.
 * Its own result is of little use, because most failures lose their errno; the mkdir
 * afterwards shows the outcome. */
static void make_through_library(const struct neap_cgroup *cgroup,
				 const enum neap_controller *hierarchies, int count,
				 const char *dir)
{
	struct cgroup *group = cgroup_new_cgroup(dir);
	bool has_controller = false;

	if (!group)
		return;
	for (int i = 0; i < count; i++) {
		bool v2 = cgroup->mount[hierarchies[i]].is_v2;
		const char *name = neap_cgroup_controller_file_name(hierarchies[i], v2);

		/* A cgroup2 tree without controllers of ours (mixed machines) is made by
		 * mkdir. */
		if (name && cgroup_add_controller(group, name))
			has_controller = true;
	}
	/* 1: it would change owner and mode of every file. */
	if (has_controller)
		(void)cgroup_create_cgroup(group,
					   1); /* checked by the mkdir that follows */
	cgroup_free(&group);
}

/* One level in one hierarchy: there already, or made by the library, or made now. */
static int finish_level(const struct neap_cgroup *cgroup, enum neap_controller hierarchy,
			const char *parent, const char *dir, const char *name,
			struct neap_error *err)
{
	const struct neap_cgroup_mount *mount = &cgroup->mount[hierarchy];
	neap_auto_fd int parent_fd = -1, group_fd = -1;

	parent_fd = neap_cgroup_open_beneath(mount->fd, parent, O_RDONLY | O_DIRECTORY);
	if (parent_fd < 0)
		return neap_cgroup_explain(err, errno, mount->path, "open %s/%s",
					   mount->path, parent);
	if (mkdirat(parent_fd, name, 0755) < 0 && errno != EEXIST)
		return neap_cgroup_explain(err, errno, mount->path, "make group %s/%s",
					   mount->path, dir);
	group_fd = neap_cgroup_open_beneath(parent_fd, name, O_RDONLY | O_DIRECTORY);
	if (group_fd < 0)
		return neap_cgroup_explain(err, errno, mount->path, "open %s/%s",
					   mount->path, dir);
	if (cgroup->is_fake) {
		int r = neap_cgroup_fake_fill(cgroup, hierarchy, parent_fd, group_fd,
					      err);

		if (r < 0)
			return r;
	}
	if (!cgroup->mount[NEAP_CTL_CPUSET].is_present || mount->is_v2 ||
	    strcmp(cgroup->mount[NEAP_CTL_CPUSET].path, mount->path) != 0)
		return 0;
	return fill_cpuset(mount->path, dir, parent_fd, group_fd, err);
}

static int enable_level(const struct neap_cgroup *cgroup, enum neap_controller hierarchy,
			const char *parent, struct neap_error *err)
{
	const struct neap_cgroup_mount *mount = &cgroup->mount[hierarchy];
	neap_auto_fd int parent_fd = -1;

	if (!mount->is_v2)
		return 0;
	parent_fd = neap_cgroup_open_beneath(mount->fd, parent, O_RDONLY | O_DIRECTORY);
	if (parent_fd < 0)
		return neap_cgroup_explain(err, errno, mount->path, "open %s/%s",
					   mount->path, parent);
	return enable_controllers(cgroup, hierarchy, parent, parent_fd, err);
}

static bool is_there(const struct neap_cgroup *cgroup, enum neap_controller hierarchy,
		     const char *dir)
{
	neap_auto_fd int fd = neap_cgroup_open_beneath(cgroup->mount[hierarchy].fd, dir,
						       O_PATH | O_DIRECTORY);

	return fd >= 0;
}

static int make_level(const struct neap_cgroup *cgroup,
		      const enum neap_controller *hierarchies, int count,
		      const char *parent, const char *dir, bool *ret_made,
		      struct neap_error *err)
{
	const char *slash = strrchr(dir, '/');
	bool made = false;
	int r;

	for (int i = 0; i < count; i++) {
		r = enable_level(cgroup, hierarchies[i], parent, err);
		if (r < 0)
			return r;
		made |= !is_there(cgroup, hierarchies[i], dir);
	}
	if (made && !cgroup->is_by_hand)
		make_through_library(cgroup, hierarchies, count, dir);
	for (int i = 0; i < count; i++) {
		r = finish_level(cgroup, hierarchies[i], parent, dir,
				 slash ? slash + 1 : dir, err);
		if (r < 0)
			return r;
	}
	*ret_made = made;
	return 0;
}

static int check_dir(const char *dir, struct neap_error *err)
{
	if (!neap_path_is_safe(dir) || strlen(dir) >= NEAP_PATH_MAX)
		return neap_error_set(err, NEAP_EINVAL, "group '%.80s': not a safe path",
				      dir);
	return 0;
}

int neap_cgroup_make(const struct neap_cgroup *cgroup, const char *dir, bool *ret_made,
		     struct neap_error *err)
{
	enum neap_controller hierarchies[NEAP_CTL_COUNT];
	char parent[NEAP_PATH_MAX] = "", level[NEAP_PATH_MAX];
	const char *end = dir;
	bool made = false;
	int count, r;

	r = check_dir(dir, err);
	if (r < 0)
		return r;
	count = neap_cgroup_hierarchies(cgroup, hierarchies);
	while (*end) {
		end += *end == '/';
		end += strcspn(end, "/");
		snprintf(level, sizeof(level), "%.*s", (int)(end - dir), dir);
		r = make_level(cgroup, hierarchies, count, parent, level, &made, err);
		if (r < 0)
			return r;
		memcpy(parent, level, sizeof(parent));
	}
	if (ret_made)
		*ret_made = made;
	return 0;
}

static int remove_one(const struct neap_cgroup *cgroup, enum neap_controller hierarchy,
		      const char *parent, const char *dir, const char *name,
		      struct neap_error *err)
{
	const struct neap_cgroup_mount *mount = &cgroup->mount[hierarchy];
	neap_auto_fd int parent_fd = -1;

	parent_fd = neap_cgroup_open_beneath(mount->fd, parent, O_RDONLY | O_DIRECTORY);
	if (parent_fd < 0 && errno == ENOENT)
		return 0;
	if (parent_fd < 0)
		return neap_error_sys(err, "open %s/%s", mount->path, parent);
	if (cgroup->is_fake) {
		neap_auto_fd int group_fd =
			neap_cgroup_open_beneath(parent_fd, name, O_RDONLY | O_DIRECTORY);

		if (group_fd >= 0 && neap_cgroup_fake_empty(group_fd) < 0)
			return neap_error_sys(err, "remove group %s/%s", mount->path,
					      dir);
	}
	/* Not through the library: on v1 it would move the processes inside to the
	 * parent. */
	if (unlinkat(parent_fd, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return neap_cgroup_explain(err, errno, mount->path, "remove group %s/%s",
					   mount->path, dir);
	return 0;
}

int neap_cgroup_remove(const struct neap_cgroup *cgroup, const char *dir,
		       struct neap_error *err)
{
	enum neap_controller hierarchies[NEAP_CTL_COUNT];
	char parent[NEAP_PATH_MAX] = "";
	const char *slash;
	int count, r;

	r = check_dir(dir, err);
	if (r < 0)
		return r;
	slash = strrchr(dir, '/');
	if (slash)
		snprintf(parent, sizeof(parent), "%.*s", (int)(slash - dir), dir);
	count = neap_cgroup_hierarchies(cgroup, hierarchies);
	for (int i = 0; i < count; i++) {
		r = remove_one(cgroup, hierarchies[i], parent, dir,
			       slash ? slash + 1 : dir, err);
		if (r < 0)
			return r;
	}
	return 0;
}

bool neap_cgroup_is_partial(const struct neap_cgroup *cgroup, const char *dir)
{
	enum neap_controller hierarchies[NEAP_CTL_COUNT];
	int count = neap_cgroup_hierarchies(cgroup, hierarchies);
	int there = 0;

	for (int i = 0; i < count; i++) {
		neap_auto_fd int fd = neap_cgroup_open(cgroup, hierarchies[i], dir, NULL,
						       O_PATH | O_DIRECTORY, NULL);

		there += fd >= 0;
	}
	return there > 0 && there < count;
}

int neap_cgroup_move(const struct neap_cgroup *cgroup, const char *dir, int pid,
		     struct neap_error *err)
{
	enum neap_controller hierarchies[NEAP_CTL_COUNT];
	char text[16];
	int count, r;

	r = check_dir(dir, err);
	if (r < 0)
		return r;
	/* 0 would be the caller itself. */
	if (pid <= 0)
		return neap_error_set(err, NEAP_EINVAL, "process %d: not a process id",
				      pid);
	snprintf(text, sizeof(text), "%d\n", pid);
	count = neap_cgroup_hierarchies(cgroup, hierarchies);
	for (int i = 0; i < count; i++) {
		const struct neap_cgroup_mount *mount = &cgroup->mount[hierarchies[i]];
		neap_auto_fd int fd = -1;

		fd = neap_cgroup_open(cgroup, hierarchies[i], dir, "cgroup.procs",
				      O_WRONLY | (cgroup->is_fake ? O_APPEND : 0), err);
		if (fd < 0)
			return fd;
		if (write(fd, text, strlen(text)) >= 0)
			continue;
		if (errno == EBUSY)
			return neap_error_sys(
				err,
				"move process %d to %s/%s: that group hands "
				"controllers down, move it to a group below",
				pid, mount->path, dir);
		if (errno == ENOSPC)
			return neap_error_sys(
				err,
				"move process %d to %s/%s: its cpuset.cpus or "
				"cpuset.mems is empty",
				pid, mount->path, dir);
		return neap_cgroup_explain(err, errno, mount->path,
					   "move process %d to %s/%s", pid, mount->path,
					   dir);
	}
	return 0;
}
