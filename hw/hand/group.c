/* SPDX-License-Identifier: Apache-2.0
 *
 * Groups that neap created and their processes: create, remove, move, and undoing all of
 * it. Only below own_root. A group is in the journal before it exists; a group that
 * existed before is never removed at the end. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "hw/hand/hand_priv.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif
#define KTHREAD_FLAG 0x00200000UL /* PF_KTHREAD in field 9 of /proc/PID/stat */
#define MOVE_ROUNDS  10           /* a group may fork while it is emptied */

static bool group_exists(const struct neap_cgroup *cgroup, const char *group)
{
	for (int i = 0; i < NEAP_CTL_COUNT; i++) {
		neap_auto_fd int fd = -1;

		if (!cgroup->mount[i].is_present)
			continue;
		fd = neap_cgroup_open(cgroup, (enum neap_controller)i, group, NULL,
				      O_PATH | O_DIRECTORY | O_CLOEXEC, NULL);
		if (fd >= 0)
			return true;
	}
	return false;
}

const char *neap_hand_own_root(const struct neap_hand_config *config, const char *group)
{
	for (int i = 0; i < NEAP_HAND_OWN_MAX; i++)
		if (*config->own_roots[i] && neap_path_is_safe(group) &&
		    neap_path_is_safe(config->own_roots[i]) &&
		    neap_path_is_below(group, config->own_roots[i]))
			return config->own_roots[i];
	return NULL;
}

static bool own_check(struct neap_hand_server *server, const char *group, bool with_root,
		      struct neap_hand_answer *answer)
{
	const char *root = neap_hand_own_root(&server->config, group);

	if (root && (with_root || strcmp(group, root) != 0))
		return true;
	neap_hand_refuse(server, answer, EPERM, "%s is not below neap's own group %s",
			 group, server->config.own_roots[0]);
	return false;
}

static void refuse_by(struct neap_hand_server *server, struct neap_hand_answer *answer,
		      const struct neap_error *err)
{
	neap_hand_refuse(server, answer, neap_hand_errnum(err), "%s", err->msg);
}

void neap_hand_group_make(struct neap_hand_server *server,
			  const struct neap_hand_request *request,
			  struct neap_hand_answer *answer)
{
	const struct neap_cgroup *cgroup = server->config.cgroup;
	char part[NEAP_PATH_MAX];
	struct neap_error err = {0};
	const char *end = request->group;
	bool exists;
	int index, rc;

	if (!own_check(server, request->group, request->op == NEAP_HAND_MAKE, answer))
		return;
	/* Level by level, so that newly created parents are known as neap's too. */
	do {
		end = strchr(end + 1, '/');
		snprintf(part, sizeof(part), "%.*s",
			 end ? (int)(end - request->group) : (int)strlen(request->group),
			 request->group);
		exists = group_exists(cgroup, part);
		if (exists && end)
			continue;
		index = neap_journal_made_find(server->journal, part);
		if (!exists && index < 0) {
			rc = neap_journal_made_add(server->journal, part, &err);
			index = neap_journal_made_count(server->journal) - 1;
			if (rc < 0) {
				refuse_by(server, answer, &err);
				return;
			}
		}
		/* Of a pod are the levels that come into being for it; one that is left
		 * over, too. */
		if (request->op == NEAP_HAND_MAKE_POD && index >= 0) {
			rc = neap_journal_origin_add(server->journal, index,
						     NEAP_JOURNAL_ORIGIN_POD, &err);
			if (rc < 0) {
				refuse_by(server, answer, &err);
				return;
			}
		}
		/* The last level even when it exists: a hierarchy may lack it. */
		rc = neap_cgroup_make(cgroup, part, NULL, &err);
		if (rc == 0)
			continue;
		refuse_by(server, answer, &err);
		index = neap_journal_made_find(server->journal, part);
		if (index >= 0 && !group_exists(cgroup, part))
			neap_journal_made_drop(server->journal, index);
		return;
	} while (end);
}

static void group_forget(struct neap_hand_server *server, const char *group)
{
	int index = neap_journal_made_find(server->journal, group);

	neap_journal_drop_group(server->journal, group);
	if (index >= 0)
		neap_journal_made_drop(server->journal, index);
}

void neap_hand_group_remove(struct neap_hand_server *server,
			    const struct neap_hand_request *request,
			    struct neap_hand_answer *answer)
{
	struct neap_error err = {0};
	int rc;

	if (!own_check(server, request->group, true, answer))
		return;
	neap_hand_files_forget(&server->files, request->group);
	rc = neap_cgroup_remove(server->config.cgroup, request->group, &err);
	if (rc < 0) {
		refuse_by(server, answer, &err);
		return;
	}
	group_forget(server, request->group);
}

/* Reads a file of /proc whole. */
static bool proc_read(int pid, const char *file, char *buf, size_t size)
{
	char path[64];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	len = neap_file_head(path, buf, size);
	return len >= 0 && len < (ssize_t)size - 1;
}

static bool is_kernel_thread(int pid)
{
	char stat[1024];
	char *p;
	unsigned long flags;

	if (!proc_read(pid, "stat", stat, sizeof(stat)))
		return false;
	p = strrchr(stat, ')'); /* the name may hold anything, blanks and brackets too */
	if (!p || sscanf(p + 1, " %*c %*d %*d %*d %*d %*d %lu", &flags) != 1)
		return false;
	return flags & KTHREAD_FLAG;
}

static bool has_hung_up(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLRDHUP};

	return poll(&p, 1, 0) < 0 || (p.revents & (POLLHUP | POLLERR | POLLNVAL));
}

static bool has_ended(int pidfd)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};

	return poll(&p, 1, 0) != 0;
}

/* The process at the other end, with a pidfd that shows when it ended, because its number
 * may then be reused. 0, or an errno with *ret_why. Two kinds of connection do not count,
 * because the process did not ask to be moved: one accepted by somebody else (a system
 * service that the loop talks to, for example), and a socket pair, which some service
 * managers use for standard input and output. */
static int peer_get(int sock, int *ret_pid, int *ret_pidfd, const char **ret_why)
{
	struct sockaddr_storage name;
	struct ucred cred;
	socklen_t len = sizeof(cred);
	socklen_t name_len = sizeof(name);
	int pidfd = -1;

	*ret_why = "not a connection of a unix socket";
	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return EPERM;
	if (getpeername(sock, (struct sockaddr *)&name, &name_len) < 0)
		return errno == ENOTCONN ? ESRCH : EPERM;
	if (name.ss_family != AF_UNIX)
		return EPERM;
	*ret_why = "the peer did not connect to us";
	if (name_len > sizeof(sa_family_t))
		return EPERM;
	name_len = sizeof(name);
	if (getsockname(sock, (struct sockaddr *)&name, &name_len) < 0 ||
	    name_len <= sizeof(sa_family_t))
		return EPERM;
	*ret_why = "the peer is not visible from here";
	if (cred.pid <= 0)
		return EPERM;
	*ret_why = "the peer has ended";
	len = sizeof(pidfd);
	if (getsockopt(sock, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &len) < 0) {
		if (errno != ENOPROTOOPT && errno != EINVAL)
			return ESRCH;
		pidfd = (int)syscall(SYS_pidfd_open, cred.pid, 0);
		if (pidfd < 0)
			return errno;
		/* While the connection stands, its creator is assumed to still own the
		 * number. */
		if (has_hung_up(sock)) {
			(void)close(pidfd);
			return ESRCH;
		}
	}
	*ret_pid = cred.pid;
	*ret_pidfd = pidfd;
	return 0;
}

static int origin_keep(struct neap_hand_server *server, const char *group, int pid,
		       struct neap_error *err)
{
	int index = neap_journal_made_find(server->journal, group);
	char origin[NEAP_JOURNAL_ORIGIN_MAX];

	if (index < 0 || !proc_read(pid, "cgroup", origin, sizeof(origin)))
		return 0; /* not ours to empty, or ended: the move will show */
	return neap_journal_origin_add(server->journal, index, origin, err);
}

void neap_hand_group_move(struct neap_hand_server *server,
			  const struct neap_hand_request *request,
			  struct neap_hand_answer *answer)
{
	neap_auto_fd int pidfd = -1;
	struct neap_error err = {0};
	const char *why = "";
	int pid = 0;
	int rc;

	if (!own_check(server, request->group, false, answer))
		return;
	rc = peer_get(request->fd, &pid, &pidfd, &why);
	if (rc) {
		neap_hand_refuse(server, answer, rc, "%s", why);
		return;
	}
	answer->pid = pid;
	if (pid <= 1 || pid == (int)getpid() || pid == server->daemon_pid ||
	    is_kernel_thread(pid)) {
		neap_hand_refuse(server, answer, EPERM, "process %d is never moved", pid);
		return;
	}
	if (!group_exists(server->config.cgroup, request->group)) {
		neap_hand_refuse(server, answer, ENOENT, "the group is gone");
		return;
	}
	if (has_ended(pidfd)) {
		neap_hand_refuse(server, answer, ESRCH, "the peer has ended");
		return;
	}
	rc = origin_keep(server, request->group, pid, &err);
	if (rc == 0)
		rc = neap_cgroup_move(server->config.cgroup, request->group, pid, &err);
	if (rc < 0) {
		refuse_by(server, answer, &err);
		return;
	}
	if (has_ended(pidfd))
		neap_hand_refuse(server, answer, ESRCH, "the peer ended meanwhile");
}

/* The line of a mount's hierarchy in a /proc/PID/cgroup text; "" (the root) without
 * one. */
static void origin_path(const struct neap_cgroup *cgroup, enum neap_controller controller,
			const char *origin, char *buf, size_t size)
{
	const struct neap_cgroup_mount *mount = &cgroup->mount[controller];
	const char *name =
		controller == NEAP_CTL_IO ? "blkio" : neap_controller_name(controller);
	const char *line = origin ? origin : "";

	buf[0] = '\0';
	for (; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *list = strchr(line, ':');
		const char *path = list ? strchr(list + 1, ':') : NULL;
		size_t len = path ? (size_t)(path - list - 1) : 0;
		char names[128];
		bool is_it;

		if (!path || len + 3 > sizeof(names))
			continue;
		snprintf(names, sizeof(names), ",%.*s,", (int)len, list + 1);
		if (mount->is_v2) {
			is_it = len == 0;
		} else {
			char want[32];

			snprintf(want, sizeof(want), ",%s,", name);
			is_it = strstr(names, want) != NULL;
		}
		if (!is_it)
			continue;
		path += path[1] == '/' ? 2 : 1;
		if (strcspn(path, "\n") < size)
			snprintf(buf, size, "%.*s", (int)strcspn(path, "\n"), path);
		return;
	}
}

static bool pid_put(const struct neap_cgroup *cgroup, enum neap_controller controller,
		    const char *group, int pid)
{
	neap_auto_fd int fd = neap_cgroup_open(cgroup, controller, group, "cgroup.procs",
					       O_WRONLY | O_CLOEXEC, NULL);
	char text[16];
	int len = snprintf(text, sizeof(text), "%d", pid);

	if (fd < 0)
		return false;
	return write(fd, text, (size_t)len) == len || errno == ESRCH;
}

/* One hierarchy: processes still in the group go back to the origin, or to the root. */
static void hierarchy_empty(struct neap_hand_server *server,
			    enum neap_controller controller, const char *group,
			    const char *origin)
{
	const struct neap_cgroup *cgroup = server->config.cgroup;
	char path[NEAP_PATH_MAX];
	int round;

	origin_path(cgroup, controller, origin, path, sizeof(path));
	if (!neap_path_is_safe(path) || neap_hand_own_root(&server->config, path))
		path[0] = '\0';
	for (round = 0; round < MOVE_ROUNDS; round++) {
		neap_auto_fd int fd =
			neap_cgroup_open(cgroup, controller, group, "cgroup.procs",
					 O_RDONLY | O_CLOEXEC, NULL);
		FILE *file;
		int moved = 0;
		int pid;

		if (fd < 0)
			return;
		file = fdopen(fd, "re");
		if (!file)
			return;
		fd = -1;
		while (fscanf(file, "%d", &pid) == 1) {
			if (pid <= 0)
				continue; /* of another PID namespace */
			if (!*path || !pid_put(cgroup, controller, path, pid))
				(void)pid_put(cgroup, controller, "",
					      pid); /* next round looks */
			moved++;
		}
		(void)fclose(file); /* only read */
		if (!moved)
			return;
	}
}

/* Same tree under several controllers: once is enough. */
static bool is_same_mount(const struct neap_cgroup *cgroup, int a)
{
	for (int i = 0; i < a; i++)
		if (cgroup->mount[i].is_present &&
		    strcmp(cgroup->mount[i].path, cgroup->mount[a].path) == 0)
			return true;
	return false;
}

static void group_empty(struct neap_hand_server *server,
			const struct neap_journal_made *made)
{
	const struct neap_cgroup *cgroup = server->config.cgroup;

	for (int i = 0; i < NEAP_CTL_COUNT && !cgroup->is_fake; i++)
		if (cgroup->mount[i].is_present && !is_same_mount(cgroup, i))
			hierarchy_empty(server, (enum neap_controller)i, made->group,
					made->origin);
}

/* The deepest group not tried yet; -1 at the end. */
static int deepest_find(const struct neap_journal *journal, const bool *is_tried)
{
	int best = -1;

	for (int i = 0; i < neap_journal_made_count(journal); i++) {
		if (is_tried[i])
			continue;
		if (best < 0 ||
		    neap_path_depth(neap_journal_made_get(journal, i)->group) >
			    neap_path_depth(neap_journal_made_get(journal, best)->group))
			best = i;
	}
	return best;
}

void neap_hand_groups_tidy(struct neap_hand_server *server)
{
	struct neap_journal *journal = server->journal;
	neap_auto_free bool *is_tried = NULL;

	is_tried = neap_alloc_array((size_t)neap_journal_made_count(journal),
				    sizeof(*is_tried));
	if (!is_tried || server->config.cgroup->is_fake || neap_hand_is_frozen(server))
		return;
	for (int i = deepest_find(journal, is_tried); i >= 0;
	     i = deepest_find(journal, is_tried)) {
		const char *group = neap_journal_made_get(journal, i)->group;
		int last = neap_journal_made_count(journal) - 1;

		/* A group with a process inside, or a group below, stays until the
		 * end. */
		if (!neap_cgroup_is_partial(server->config.cgroup, group) ||
		    neap_cgroup_remove(server->config.cgroup, group, NULL) < 0) {
			is_tried[i] = true;
			continue;
		}
		neap_log_line(&server->log, NEAP_LOG_INFO,
			      "removed %s, which was half made or half removed", group);
		is_tried[i] = is_tried[last];
		neap_journal_drop_group(journal, group);
		neap_journal_made_drop(journal, i);
	}
}

int neap_hand_groups_undo(struct neap_hand_server *server)
{
	struct neap_journal *journal = server->journal;
	neap_auto_free bool *is_tried = NULL;
	int i, left = 0;

	is_tried = neap_alloc_array((size_t)neap_journal_made_count(journal),
				    sizeof(*is_tried));
	if (!is_tried)
		return neap_journal_made_count(journal);
	neap_hand_stay_look(server);
	for (i = 0; i < neap_journal_made_count(journal); i++) {
		const struct neap_journal_made *made = neap_journal_made_get(journal, i);

		is_tried[i] = made->stays;
		if (!made->stays)
			group_empty(server, made);
	}
	for (i = deepest_find(journal, is_tried); i >= 0;
	     i = deepest_find(journal, is_tried)) {
		const char *group = neap_journal_made_get(journal, i)->group;
		struct neap_error err = {0};
		int last = neap_journal_made_count(journal) - 1;
		int try, rc = -1;

		neap_hand_files_forget(&server->files, group);
		for (try = 0; try < 5 && rc < 0; try++) {
			if (try) /* processes that are just ending still count */
				(void)poll(NULL, 0, 20);
			rc = neap_cgroup_remove(server->config.cgroup, group, &err);
			if (rc < 0 && err.errnum != EBUSY)
				break;
		}
		if (rc < 0) {
			neap_log_line(&server->log, NEAP_LOG_WARN, "group %s stays: %s",
				      group, err.msg);
			is_tried[i] = true;
			left++;
			continue;
		}
		is_tried[i] = is_tried[last];
		neap_journal_drop_group(journal, group);
		neap_journal_made_drop(journal, i);
	}
	return left;
}
