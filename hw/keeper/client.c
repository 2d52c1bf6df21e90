/* SPDX-License-Identifier: Apache-2.0
 *
 * The loop's side. Nothing blocks except the start. A command is a task with a connection
 * to its shim, received from the keeper or made through the socket in its directory. One
 * epoll holds all of them, the keeper's socket, and a counter for events produced
 * here. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "hw/jail.h"
#include "hw/keeper/client.h"
#include "hw/packet.h"

#define START_USEC 30000000

int neap_keeper_watch(struct neap_keeper *keeper, int how, int fd, uint32_t events,
		      void *what)
{
	struct epoll_event event = {.events = events, .data.ptr = what};

	return epoll_ctl(keeper->epoll_fd, how, fd, &event);
}

/* --- start --- */

/* SETUID, SETGID and SETPCAP to become other users, KILL to end what runs as one. */
#define NEEDED ((1ull << 5) | (1ull << 6) | (1ull << 7) | (1ull << 8))

static int config_check(const struct neap_keeper_config *config, struct neap_error *err)
{
	struct neap_jail_state state = {0};

	if (neap_jail_look(0, &state, err) < 0)
		return neap_error_wrap(err, "start of the keeper");
	if (state.uid != 0 || (state.caps & NEEDED) != NEEDED)
		return neap_error_set(err, NEAP_EUNSUPPORTED,
				      "the keeper needs root with the capabilities "
				      "kill, setgid, setuid and setpcap");
	if (config->uid == 0 || config->uid == (uid_t)-1 || config->gid == 0 ||
	    config->gid == (gid_t)-1)
		return neap_error_set(err, NEAP_EINVAL,
				      "commands of pods never run as root: user %u, "
				      "group %u",
				      (unsigned)config->uid, (unsigned)config->gid);
	if (config->uid == config->own_uid)
		return neap_error_set(err, NEAP_EINVAL,
				      "commands of pods never run as neapd's own user %u",
				      (unsigned)config->uid);
	return 0;
}

/* Root creates it and gives it to the loop's user; an existing one must already be that
 * user's. */
static int dir_open(const struct neap_keeper_config *config, struct neap_error *err)
{
	bool is_new = mkdir(config->dir, 0750) == 0;
	neap_auto_fd int fd = -1;
	struct stat st;
	int kept;

	if (!is_new && errno != EEXIST)
		return neap_error_sys(err, "make %s", config->dir);
	fd = open(config->dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return neap_error_sys(err, "open %s", config->dir);
	if (st.st_uid == 0 && is_new &&
	    fchownat(fd, "", config->own_uid, config->own_gid, AT_EMPTY_PATH) < 0)
		return neap_error_sys(err, "give %s to user %u", config->dir,
				      (unsigned)config->own_uid);
	if (!is_new && st.st_uid != config->own_uid)
		return neap_error_set(err, NEAP_EINVAL, "%s belongs to user %u, not %u",
				      config->dir, (unsigned)st.st_uid,
				      (unsigned)config->own_uid);
	kept = fd;
	fd = -1;
	return kept;
}

static int hello_wait(struct neap_keeper *keeper, struct neap_error *err)
{
	int64_t until = neap_clock_usec(CLOCK_MONOTONIC) + START_USEC;
	struct neap_keeper_spawn hello = {0};
	int fd;

	for (;;) {
		struct pollfd p = {.fd = keeper->sock, .events = POLLIN};
		int64_t left = until - neap_clock_usec(CLOCK_MONOTONIC);
		ssize_t n;

		if (left <= 0)
			return neap_error_set(err, NEAP_EUNAVAILABLE,
					      "the keeper did not get ready");
		if (poll(&p, 1, (int)(left / 1000) + 1) <= 0)
			continue;
		n = neap_packet_receive(keeper->sock, &hello, sizeof(hello), &fd);
		if (n < 0 && errno == EAGAIN)
			continue;
		if (n != sizeof(hello) || hello.magic != NEAP_KEEPER_SPAWN)
			return neap_error_set(err, NEAP_EUNAVAILABLE,
					      "the keeper ended at its start");
		if (hello.errnum == 0)
			return 0;
		errno = hello.errnum;
		return neap_error_sys(err, "start of the keeper");
	}
}

static int keeper_fork(struct neap_keeper *keeper,
		       const struct neap_keeper_config *config, struct neap_error *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) <
	    0)
		return neap_error_sys(err, "socket to the keeper");
	keeper->sock = pair[0];
	keeper->pid = fork();
	if (keeper->pid == 0)
		neap_keeper_serve(config, pair[1], keeper->dir_fd);
	(void)close(pair[1]);
	return keeper->pid < 0 ? neap_error_sys(err, "fork the keeper") : 0;
}

static int keeper_init(struct neap_keeper *keeper,
		       const struct neap_keeper_config *config, struct neap_error *err)
{
	int rc;

	keeper->dir_fd = dir_open(config, err);
	if (keeper->dir_fd < 0)
		return keeper->dir_fd;
	rc = keeper_fork(keeper, config, err);
	if (rc < 0)
		return rc;
	keeper->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	keeper->note_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (keeper->epoll_fd < 0 || keeper->note_fd < 0 ||
	    neap_keeper_watch(keeper, EPOLL_CTL_ADD, keeper->sock, EPOLLIN, keeper) < 0 ||
	    neap_keeper_watch(keeper, EPOLL_CTL_ADD, keeper->note_fd, EPOLLIN,
			      &keeper->note_fd) < 0)
		return neap_error_sys(err, "epoll for the keeper");
	return hello_wait(keeper, err);
}

int neap_keeper_start(const struct neap_keeper_config *config, struct neap_keeper **ret,
		      struct neap_error *err)
{
	struct neap_keeper *keeper;
	int rc = config_check(config, err);

	if (rc < 0)
		return rc;
	keeper = neap_alloc(sizeof(*keeper));
	if (!keeper)
		return neap_error_nomem(err);
	keeper->sock = keeper->epoll_fd = keeper->note_fd = keeper->dir_fd = -1;
	keeper->notes_end = &keeper->notes;
	keeper->asks_end = &keeper->asks;
	rc = keeper_init(keeper, config, err);
	if (rc < 0) {
		if (keeper->pid > 0) {
			(void)kill(keeper->pid, SIGKILL); /* ours, not yet waited for */
			(void)waitpid(keeper->pid, NULL, 0);
			keeper->pid = 0;
		}
		neap_keeper_free(keeper);
		return rc;
	}
	*ret = keeper;
	return 0;
}

int neap_keeper_pid(const struct neap_keeper *keeper)
{
	return keeper->pid;
}

int neap_keeper_fd(const struct neap_keeper *keeper)
{
	return keeper->epoll_fd;
}

/* --- requests --- */

static int keeper_gone(struct neap_error *err)
{
	return neap_error_set(err, NEAP_EUNAVAILABLE, "the keeper is gone");
}

int neap_keeper_run(struct neap_keeper *keeper, uint64_t id,
		    const struct neap_keeper_order *order, struct neap_error *err)
{
	struct keeper_task *task = NULL;
	struct keeper_ask *ask;
	int rc = neap_keeper_order_check(order, err);

	if (rc < 0)
		return rc;
	if (keeper->sock < 0)
		return keeper_gone(err);
	rc = neap_keeper_task_new(keeper, id, order->pod_uid, order->container,
				  order->attempt, &task, err);
	if (rc < 0)
		return rc;
	task->is_probe = order->probe_usec > 0;
	rc = neap_keeper_order_format(order, &task->order, &task->len, err);
	ask = rc < 0 ? NULL : neap_alloc(sizeof(*ask));
	if (!ask) {
		neap_keeper_task_free(keeper, task);
		return rc < 0 ? rc : neap_error_nomem(err);
	}
	ask->id = id;
	*keeper->asks_end = ask;
	keeper->asks_end = &ask->next;
	neap_keeper_task_add(keeper, task);
	neap_keeper_asks_flush(keeper);
	return 0;
}

int neap_keeper_go(struct neap_keeper *keeper, uint64_t id, struct neap_error *err)
{
	struct keeper_task *task = neap_keeper_task_find(keeper, id);

	(void)err;
	if (task && !task->is_over) {
		task->is_go = true;
		neap_keeper_task_flush(keeper, task);
	}
	return 0;
}

int neap_keeper_signal(struct neap_keeper *keeper, uint64_t id, int signo,
		       struct neap_error *err)
{
	struct keeper_task *task = neap_keeper_task_find(keeper, id);

	if (signo < 1 || signo > 64)
		return neap_error_set(err, NEAP_EINVAL, "no signal %d", signo);
	if (task && !task->is_over) {
		task->signals |= UINT64_C(1) << (signo - 1);
		neap_keeper_task_flush(keeper, task);
	}
	return 0;
}

/* A connection to the shim. -1: there is none, or, with *ret_rc set, that cannot be
 * determined. */
static int shim_connect(int folder_fd, int *ret_rc, struct neap_error *err)
{
	neap_auto_fd int fd =
		socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address;
	socklen_t len = neap_keeper_folder_address(folder_fd, &address);
	int kept = fd;

	if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, len) == 0) {
		fd = -1;
		return kept;
	}
	if (fd < 0 || (errno != ECONNREFUSED && errno != ENOENT))
		*ret_rc = neap_error_sys(err, "connect to the command");
	return -1;
}

int neap_keeper_attach(struct neap_keeper *keeper, uint64_t id, const char *pod_uid,
		       const char *container, unsigned attempt, struct neap_error *err)
{
	char text[NEAP_KEEPER_OUTPUT_MAX + 1];
	neap_auto_fd int folder_fd = -1;
	struct neap_keeper_event event;
	struct keeper_task *task = NULL;
	int fd = -1;
	int rc = neap_keeper_names_check(pod_uid, container, attempt, err);

	if (rc == 0)
		rc = neap_keeper_task_new(keeper, id, pod_uid, container, attempt, &task,
					  err);
	if (rc < 0)
		return rc;
	event = neap_keeper_folder_look(keeper, task, text);
	if (event.what == NEAP_KEEPER_LOST && event.errnum != ENOENT) {
		folder_fd = neap_keeper_folder_open(keeper->dir_fd, pod_uid, container,
						    attempt, err);
		if (folder_fd >= 0)
			fd = shim_connect(folder_fd, &rc, err);
		if (folder_fd < 0 || rc < 0) {
			neap_keeper_task_free(keeper, task);
			return folder_fd < 0 ? folder_fd : rc;
		}
		if (fd < 0)
			event = neap_keeper_folder_look(keeper, task,
							text); /* it ended just now */
	}
	if (fd >= 0) {
		rc = neap_keeper_task_connect(keeper, task, fd, err);
	} else {
		task->is_over = true;
		rc = neap_keeper_note_add(keeper, &event, err);
	}
	if (rc < 0) {
		neap_keeper_task_free(keeper, task);
		return rc;
	}
	neap_keeper_task_add(keeper, task);
	return 0;
}

void neap_keeper_forget(struct neap_keeper *keeper, uint64_t id)
{
	struct keeper_task *task = neap_keeper_task_find(keeper, id);
	struct keeper_note **at = &keeper->notes, *note;

	if (!task)
		return;
	neap_keeper_task_remove(keeper, task);
	while (*at) {
		note = *at;
		if (note->event.id != id) {
			at = &note->next;
			continue;
		}
		*at = note->next;
		free(note);
	}
	keeper->notes_end = at;
}

void neap_keeper_free(struct neap_keeper *keeper)
{
	if (!keeper)
		return;
	while (keeper->tasks)
		neap_keeper_task_remove(keeper, keeper->tasks);
	while (keeper->notes) {
		struct keeper_note *note = keeper->notes;

		keeper->notes = note->next;
		free(note);
	}
	while (keeper->asks) {
		struct keeper_ask *ask = keeper->asks;

		keeper->asks = ask->next;
		free(ask);
	}
	neap_fd_close(&keeper->sock);
	neap_fd_close(&keeper->epoll_fd);
	neap_fd_close(&keeper->note_fd);
	neap_fd_close(&keeper->dir_fd);
	if (keeper->pid > 0)
		(void)waitpid(keeper->pid, NULL, WNOHANG); /* it ends by itself */
	free(keeper);
}
