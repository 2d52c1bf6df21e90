/* SPDX-License-Identifier: Apache-2.0
 *
 * From the fork of a shim to its waiting command. Files are created as the loop's user
 * even while the shim is still root; the child needs root to become the pods' user, and
 * then the shim drops it. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "hw/jail.h"
#include "hw/keeper/shim.h"
#include "hw/packet.h"

#define ORDER_WAIT_USEC 60000000
#define CHILD_WAIT_USEC 60000000
#define SHIM_CAPS       (1ull << CAP_KILL)

/* Waits until there is something to read; false when the time is over. */
static bool wait_for(int fd, int64_t until)
{
	for (;;) {
		int64_t left = until - neap_clock_usec(CLOCK_MONOTONIC);
		struct pollfd p = {.fd = fd, .events = POLLIN};

		if (left <= 0)
			return false;
		if (poll(&p, 1, (int)(left / 1000) + 1) > 0)
			return true;
	}
}

static int order_receive(struct neap_shim *shim, struct neap_error *err)
{
	int64_t until = neap_clock_usec(CLOCK_MONOTONIC) + ORDER_WAIT_USEC;
	unsigned char packet[NEAP_KEEPER_PACKET];
	struct neap_keeper_request request;
	size_t total = 0, len = 0;
	ssize_t n;
	int fd, rc;

	do {
		if (!wait_for(shim->clients[0], until))
			return neap_error_set(err, NEAP_EUNAVAILABLE, "no order came");
		n = neap_packet_receive(shim->clients[0], packet, sizeof(packet), &fd);
		if (n < 0 && errno == EAGAIN)
			continue;
		neap_fd_close(&fd);
		if (n <= 0)
			return neap_error_set(err, NEAP_EUNAVAILABLE, "no order came");
		rc = neap_keeper_request_parse(packet, (size_t)n, &request, err);
		if (rc < 0)
			return rc;
		if (request.op != NEAP_KEEPER_OP_ORDER ||
		    (total && request.total != total) ||
		    request.len > request.total - len)
			return neap_error_set(err, NEAP_EINVAL, "not a part of an order");
		total = request.total;
		if (!shim->bytes)
			shim->bytes = neap_alloc(total);
		if (!shim->bytes)
			return neap_error_nomem(err);
		memcpy(shim->bytes + len, request.part, request.len);
		len += request.len;
	} while (total == 0 || len < total);
	return neap_keeper_order_parse(shim->bytes, len, &shim->job, err);
}

static bool has_variable(const char *const *envp, const char *name)
{
	size_t len = strlen(name), i;

	for (i = 0; envp[i]; i++)
		if (strncmp(envp[i], name, len) == 0 && envp[i][len] == '=')
			return true;
	return false;
}

static int environment_make(struct neap_shim *shim, struct neap_error *err)
{
	const struct neap_keeper_config *config = shim->config;
	size_t count = shim->job.envc, i;

	shim->envp = neap_alloc_array(count + 3, sizeof(*shim->envp));
	shim->user = neap_asprintf("USER=%s", config->user);
	shim->home = neap_asprintf("HOME=%s", config->home[0] ? config->home : "/");
	if (!shim->envp || !shim->user || !shim->home)
		return neap_error_nomem(err);
	for (i = 0; i < count; i++)
		shim->envp[i] = shim->job.order.envp[i];
	if (config->user[0] && !has_variable(shim->job.order.envp, "USER"))
		shim->envp[count++] = shim->user;
	if (!has_variable(shim->job.order.envp, "HOME"))
		shim->envp[count] = shim->home;
	return 0;
}

static int listener_make(struct neap_shim *shim, struct neap_error *err)
{
	struct sockaddr_un address;
	socklen_t len = neap_keeper_folder_address(shim->folder_fd, &address);

	shim->listener =
		socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (shim->listener < 0 ||
	    bind(shim->listener, (const struct sockaddr *)&address, len) < 0 ||
	    listen(shim->listener, 16) < 0)
		return neap_error_sys(err, "socket of the command");
	return 0;
}

static int folder_fill(struct neap_shim *shim, int dir_fd, bool *ret_is_made,
		       struct neap_error *err)
{
	int rc;

	shim->folder_fd = neap_keeper_folder_make(dir_fd, &shim->job.order, err);
	if (shim->folder_fd < 0)
		return shim->folder_fd;
	*ret_is_made = true;
	/* Before waiting for the disk: a daemon that finds the folder without a listener
	 * takes the command for lost. */
	rc = listener_make(shim, err);
	return rc < 0 ? rc : neap_keeper_record_prepare(shim->folder_fd, err);
}

/* As the loop's user: no file of root's can be reached by what lies there. */
static int folder_make(struct neap_shim *shim, int dir_fd, bool *ret_is_made,
		       struct neap_error *err)
{
	int rc;

	if (setegid(shim->config->own_gid) < 0 || seteuid(shim->config->own_uid) < 0)
		return neap_error_sys(err, "user %u", (unsigned)shim->config->own_uid);
	rc = shim->is_probe ? 0 : folder_fill(shim, dir_fd, ret_is_made, err);
	if (rc >= 0)
		rc = neap_keeper_output_init(&shim->output, shim->folder_fd,
					     &shim->job.order, err);
	if (seteuid(0) < 0 || setegid(0) < 0)
		return neap_error_sys(err, "user 0");
	return rc;
}

/* The kernel makes up a name, which no other process can have; who else connects is sent
 * away. */
static int door_make(struct neap_keeper_child *child, struct neap_error *err)
{
	struct sockaddr_un nameless = {.sun_family = AF_UNIX};
	neap_auto_fd int door = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int kept = door;

	child->address_len = sizeof(child->address);
	if (door < 0 ||
	    bind(door, (const struct sockaddr *)&nameless, sizeof(sa_family_t)) < 0 ||
	    listen(door, 64) < 0 ||
	    getsockname(door, (struct sockaddr *)&child->address, &child->address_len) <
		    0)
		return neap_error_sys(err, "socket for the child");
	door = -1;
	return kept;
}

static int child_accept(struct neap_shim *shim, int door, struct neap_error *err)
{
	int64_t until = neap_clock_usec(CLOCK_MONOTONIC) + CHILD_WAIT_USEC;

	for (;;) {
		struct ucred cred = {0};
		socklen_t len = sizeof(cred);
		struct pollfd p[2] = {
			{.fd = door, .events = POLLIN},
			{.fd = shim->status_fd, .events = POLLIN},
		};
		int fd;

		/* The child's end closes the other pipe: it did not get here. */
		if (neap_clock_usec(CLOCK_MONOTONIC) > until ||
		    (poll(p, 2, 1000) > 0 && p[1].revents))
			return neap_error_set(err, NEAP_EUNAVAILABLE,
					      "the child did not get ready");
		if (!p[0].revents)
			continue;
		fd = accept4(door, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			continue;
		if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 &&
		    cred.pid == shim->pid)
			return fd;
		(void)close(fd);
	}
}

/* *ret_write is the end for the child. */
static int pipe_make(int *ret_read, int *ret_write)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	*ret_read = ends[0];
	*ret_write = ends[1];
	/* Ours only: a command finds its own as it expects it. */
	return fcntl(ends[0], F_SETFL, O_NONBLOCK);
}

static int child_fork(struct neap_shim *shim, struct neap_error *err)
{
	struct neap_keeper_child child = {
		.config = shim->config,
		.order = &shim->job.order,
		.envp = shim->envp,
		.shim_pid = (int)getpid(),
	};
	neap_auto_fd int out = -1;
	neap_auto_fd int errors = -1;
	neap_auto_fd int status = -1;
	neap_auto_fd int door = door_make(&child, err);

	if (door < 0)
		return door;
	if (pipe_make(&shim->out_fds[0], &out) < 0 ||
	    pipe_make(&shim->out_fds[1], &errors) < 0 ||
	    pipe_make(&shim->status_fd, &status) < 0)
		return neap_error_sys(err, "pipe");
	child.out_fd = out;
	child.err_fd = errors;
	child.status_fd = status;
	shim->pid = fork();
	if (shim->pid == 0)
		neap_keeper_child_run(&child);
	if (shim->pid < 0)
		return neap_error_sys(err, "fork");
	shim->is_alive = true;
	neap_cleanup_fd(&out);
	neap_cleanup_fd(&errors);
	neap_cleanup_fd(&status);
	out = errors = status = -1;
	shim->conn = child_accept(shim, door, err);
	return shim->conn < 0 ? shim->conn : 0;
}

/* The loop's user, and of root nothing but the right to signal. */
static int root_drop(const struct neap_keeper_config *config, struct neap_error *err)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct set[2];
	int rc;

	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 ||
	    setresgid(config->own_gid, config->own_gid, config->own_gid) < 0 ||
	    setresuid(config->own_uid, config->own_uid, config->own_uid) < 0)
		return neap_error_sys(err, "user %u", (unsigned)config->own_uid);
	if (syscall(SYS_capget, &head, set) < 0)
		return neap_error_sys(err, "read the capabilities");
	set[0].effective = set[0].permitted;
	set[1].effective = set[1].permitted;
	if (syscall(SYS_capset, &head, set) < 0)
		return neap_error_sys(err, "capabilities");
	rc = neap_jail_bound(SHIM_CAPS, err);
	return rc < 0 ? rc : neap_jail_drop(SHIM_CAPS, err);
}

int neap_shim_start(struct neap_shim *shim, int dir_fd, bool *ret_is_made,
		    struct neap_error *err)
{
	int rc = order_receive(shim, err);

	*ret_is_made = false;
	if (rc < 0)
		return rc;
	shim->is_probe = shim->job.order.probe_usec > 0;
	if (setgroups(0, NULL) < 0)
		return neap_error_sys(err, "groups");
	rc = folder_make(shim, dir_fd, ret_is_made, err);
	(void)close(dir_fd);
	if (rc >= 0)
		rc = environment_make(shim, err);
	if (rc >= 0)
		rc = child_fork(shim, err);
	if (rc >= 0)
		rc = root_drop(shim->config, err);
	if (rc >= 0 || shim->pid <= 0)
		return rc;
	(void)kill(shim->pid, SIGKILL); /* ours, not yet waited for */
	(void)waitpid(shim->pid, NULL, 0);
	return rc;
}

void neap_shim_free(struct neap_shim *shim)
{
	neap_keeper_output_done(&shim->output);
	for (size_t i = 0; i < NEAP_SHIM_CLIENTS; i++)
		neap_fd_close(&shim->clients[i]);
	neap_fd_close(&shim->folder_fd);
	neap_fd_close(&shim->listener);
	neap_fd_close(&shim->signal_fd);
	neap_fd_close(&shim->conn);
	neap_fd_close(&shim->status_fd);
	neap_fd_close(&shim->out_fds[0]);
	neap_fd_close(&shim->out_fds[1]);
	neap_keeper_job_done(&shim->job);
	free(shim->bytes);
	free((void *)shim->envp);
	free(shim->user);
	free(shim->home);
	free(shim);
}
