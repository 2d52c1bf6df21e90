/* SPDX-License-Identifier: Apache-2.0
 *
 * The hand's loop: handles one request at a time, in order. Signals come through a
 * descriptor, so that they do not interrupt a write. Answers that the daemon does not
 * fetch wait here, and meanwhile no request is taken. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "hw/hand/hand_priv.h"
#include "hw/packet.h"
#include "hw/process.h"

int neap_hand_server_new(const struct neap_hand_config *config,
			 struct neap_hand_server **ret, struct neap_error *err)
{
	struct neap_hand_server *server = neap_alloc(sizeof(*server));
	int rc;

	if (!server)
		return neap_error_nomem(err);
	server->config = *config;
	server->log = config->log;
	server->log.program = "neap-hand";
	server->sock = server->run_dir_fd = server->lock_fd = server->signal_fd = -1;
	server->daemon_fd = server->kubelet_fd = server->kubelet_place_fd = -1;
	server->out_end = &server->out;
	rc = neap_hand_files_init(&server->files, config->cgroup, err);
	if (rc < 0) {
		free(server);
		return rc;
	}
	server->plan = neap_plan_new();
	if (!server->plan) {
		neap_hand_server_free(server);
		return neap_error_nomem(err);
	}
	*ret = server;
	return 0;
}

int neap_hand_server_open(struct neap_hand_server *server, bool make,
			  struct neap_error *err)
{
	int rc;

	server->run_dir_fd = neap_hand_run_dir_open(server->config.run_dir, make, err);
	if (server->run_dir_fd < 0)
		return server->run_dir_fd;
	/* Checked before an orphaned hand is asked to hand over. The hand of a newer
	 * neapd can restore values that this one cannot, and must not end for this
	 * one. */
	rc = neap_journal_look(server->run_dir_fd, NULL, NULL, err);
	if (rc < 0)
		return neap_error_wrap(err, "%s", server->config.run_dir);
	server->lock_fd = neap_hand_lock(server->run_dir_fd, &server->log, err);
	if (server->lock_fd < 0)
		return server->lock_fd;
	return neap_journal_open(server->run_dir_fd, NULL, &server->log, &server->journal,
				 err);
}

void neap_hand_server_free(struct neap_hand_server *server)
{
	while (server->out)
		neap_hand_out_drop(server);
	neap_plan_free(server->plan);
	neap_hand_files_done(&server->files);
	neap_journal_free(server->journal);
	neap_fd_close(&server->sock);
	neap_fd_close(&server->signal_fd);
	neap_fd_close(&server->daemon_fd);
	neap_fd_close(&server->kubelet_fd);
	neap_fd_close(&server->kubelet_place_fd);
	neap_fd_close(&server->run_dir_fd);
	/* last: the next owner finds the journal closed */
	neap_fd_close(&server->lock_fd);
	free(server);
}

static void do_freeze(struct neap_hand_server *server, struct neap_hand_answer *answer)
{
	int fd = openat(server->run_dir_fd, "freeze",
			O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);

	if (fd >= 0)
		(void)close(fd);
	else
		neap_hand_refuse(server, answer, errno, "make %s/freeze: %s",
				 server->config.run_dir, strerror(errno));
}

static void do_resume(struct neap_hand_server *server, struct neap_hand_answer *answer)
{
	if (unlinkat(server->run_dir_fd, "freeze", 0) < 0 && errno != ENOENT)
		neap_hand_refuse(server, answer, errno, "remove %s/freeze: %s",
				 server->config.run_dir, strerror(errno));
}

static void do_list(struct neap_hand_server *server, uint64_t id)
{
	for (int i = 0; i < neap_journal_count(server->journal); i++) {
		const struct neap_journal_entry *entry =
			neap_journal_get(server->journal, i);
		struct neap_hand_answer answer = {
			.id = id,
			.op = NEAP_HAND_ENTRY,
			.key = entry->key,
			.group = entry->group,
			.old_value = entry->value,
			.text = entry->own,
			.fd = -1,
		};
		uint64_t dev, ino;
		int rc = neap_hand_file_read(&server->files, entry->group, entry->key,
					     server->new_value, &dev, &ino);

		if (rc == 0 && (dev != entry->dev || ino != entry->ino))
			rc = ENOENT;
		if (rc)
			neap_hand_refuse(server, &answer, rc, "%s", strerror(rc));
		else
			answer.new_value = server->new_value;
		neap_hand_out_add(server, &answer);
	}
}

static void do_give_back(struct neap_hand_server *server, struct neap_hand_answer *answer)
{
	int left = 0;
	int done = neap_hand_values_undo(server, &left);

	neap_log_line(&server->log, NEAP_LOG_INFO, "gave %d values back", done);
	(void)snprintf(server->old_value, sizeof(server->old_value), "%d",
		       neap_hand_stay_tell(server));
	answer->old_value = server->old_value;
	if (left)
		neap_hand_refuse(
			server, answer, EBUSY,
			"%d values given back, %d could not be; the log names them", done,
			left);
}

static void request_do(struct neap_hand_server *server,
		       const struct neap_hand_request *request)
{
	struct neap_hand_answer answer = {
		.id = request->id,
		.op = request->op,
		.key = request->key,
		.group = request->group,
		.fd = -1,
	};
	bool is_writing = request->op <= NEAP_HAND_MOVE ||
			  request->op == NEAP_HAND_MAKE_POD ||
			  request->op == NEAP_HAND_OWN;

	if (server->config.only_reads && request->op != NEAP_HAND_KUBELET) {
		neap_hand_refuse(server, &answer, EPERM,
				 "the hand of a dry run only reads");
		neap_hand_out_add(server, &answer);
		return;
	}
	if (is_writing && server->is_frozen) {
		neap_hand_refuse(server, &answer, EBUSY, "frozen");
		neap_hand_out_add(server, &answer);
		return;
	}
	switch (request->op) {
	case NEAP_HAND_SET:
		neap_hand_apply_set(server, request, &answer);
		break;
	case NEAP_HAND_RESTORE:
		neap_hand_apply_restore(server, request, &answer);
		break;
	case NEAP_HAND_OWN:
		neap_hand_apply_own(server, request, &answer);
		break;
	case NEAP_HAND_MAKE:
	case NEAP_HAND_MAKE_POD:
		neap_hand_group_make(server, request, &answer);
		break;
	case NEAP_HAND_REMOVE:
		neap_hand_group_remove(server, request, &answer);
		break;
	case NEAP_HAND_MOVE:
		neap_hand_group_move(server, request, &answer);
		break;
	case NEAP_HAND_FREEZE:
		do_freeze(server, &answer);
		break;
	case NEAP_HAND_RESUME:
		do_resume(server, &answer);
		break;
	case NEAP_HAND_GIVE_BACK:
		do_give_back(server, &answer);
		break;
	case NEAP_HAND_LIST:
		/* At most a few megabytes; a packet has room for more than a thousand of
		 * these requests. */
		if (server->has_listed) {
			neap_hand_refuse(server, &answer, EBUSY, "one list a packet");
			break;
		}
		server->has_listed = true;
		do_list(server, request->id);
		break;
	case NEAP_HAND_TRIGGER:
		neap_hand_trigger_open(server, request, &answer);
		break;
	case NEAP_HAND_KUBELET:
		neap_hand_kubelet_open(server, request, &answer);
		break;
	case NEAP_HAND_FIND:
		neap_hand_kubelet_group(server, &answer);
		break;
	case NEAP_HAND_ENTRY:
	case NEAP_HAND_OP_COUNT:
		return; /* the parser refuses all others */
	}
	neap_hand_out_add(server, &answer);
}

static void malformed(struct neap_hand_server *server, const void *msg, size_t len,
		      const char *why)
{
	struct neap_hand_answer answer = {.key = NEAP_KEY_COUNT, .fd = -1};

	neap_wire_guess(msg, len, &answer.id, &answer.op);
	neap_hand_refuse(server, &answer, EBADMSG, "%s", why);
	neap_log_line(&server->log, NEAP_LOG_WARN, "malformed request: %s", why);
	neap_hand_out_add(server, &answer);
}

/* Handles one message, which owns its descriptors. */
static void message_take(struct neap_hand_server *server, const void *msg, size_t len,
			 const int *fds, size_t fd_count)
{
	struct neap_hand_request request;
	struct neap_error err = {0};
	int rc = neap_wire_parse_request(msg, len, &request, &err);

	if (rc == 0 && fd_count != (request.op == NEAP_HAND_MOVE ? 1u : 0u))
		rc = neap_error_set(&err, NEAP_EINVAL, "%zu descriptors", fd_count);
	if (rc < 0) {
		malformed(server, msg, len, err.msg);
		return;
	}
	request.fd = fd_count ? fds[0] : -1;
	request_do(server, &request);
	if (request.op == NEAP_HAND_FREEZE || request.op == NEAP_HAND_RESUME)
		server->is_frozen = neap_hand_is_frozen(server);
}

bool neap_hand_packet_take(struct neap_hand_server *server)
{
	unsigned char msg[NEAP_WIRE_MAX];
	struct neap_packet packet;
	size_t at, len;
	ssize_t n = neap_packet_receive_all(server->sock, msg, sizeof(msg), &packet);

	if (n < 0)
		return false;
	if (n == 0 && packet.fd_count == 0)
		return false; /* end of file, or an empty message: see the poll */
	server->is_frozen = neap_hand_is_frozen(server);
	server->has_listed = false;
	if (packet.is_cut || packet.lacks_fds) {
		malformed(server, msg, (size_t)n,
			  "message too long, or with too many descriptors");
	} else if (packet.fd_count > 0) {
		message_take(server, msg, (size_t)n, packet.fds, packet.fd_count);
	} else {
		for (at = 0; at < (size_t)n; at += len) {
			len = neap_wire_length(msg + at, (size_t)n - at);
			message_take(server, msg + at, len, NULL, 0);
		}
	}
	neap_hand_out_close(server, -1);
	neap_packet_done(&packet);
	return true;
}

static bool peer_is_closed(const struct neap_hand_server *server)
{
	struct pollfd p = {.fd = server->sock, .events = 0};

	return server->sock < 0 || (poll(&p, 1, 0) > 0 && (p.revents & POLLHUP));
}

static int finish(struct neap_hand_server *server, const char *why)
{
	int left = 0, groups, done;

	if (server->config.only_reads)
		return 0;
	done = neap_hand_values_undo(server, &left);
	groups = neap_hand_groups_undo(server);
	/* A daemon whose start failed has reported why; no line is needed here. */
	neap_log_line(&server->log,
		      left || groups ? NEAP_LOG_WARN
		      : done         ? NEAP_LOG_INFO
				     : NEAP_LOG_DEBUG,
		      "%s: gave %d values back, %d values and %d groups stay", why, done,
		      left, groups);
	(void)neap_hand_stay_tell(server);
	return left || groups ? 1 : 0;
}

/* -1: go on; else the exit status. */
static int signal_take(struct neap_hand_server *server)
{
	struct signalfd_siginfo info;

	if (read(server->signal_fd, &info, sizeof(info)) != sizeof(info))
		return -1;
	if (info.ssi_signo == SIGUSR1) {
		if (!peer_is_closed(server))
			return -1; /* the daemon lives */
		neap_log_line(&server->log, NEAP_LOG_INFO, "handing over to process %u",
			      info.ssi_pid);
		return 0;
	}
	if (info.ssi_signo != SIGTERM)
		return -1;
	if (neap_hand_is_frozen(server)) {
		neap_log_line(
			&server->log, NEAP_LOG_WARN,
			"ended while frozen: everything stays as it is, in the journal");
		return 0;
	}
	return finish(server, "ended");
}

static int serve_loop(struct neap_hand_server *server)
{
	int64_t release_at = 0;

	for (;;) {
		struct pollfd p[2] = {
			{.fd = server->signal_fd, .events = POLLIN},
			{.fd = server->sock,
			 .events = server->out ? POLLOUT : POLLIN | POLLRDHUP},
		};
		bool is_empty;
		int wait_ms = -1;
		int rc;

		if (server->sock < 0) {
			int64_t left = release_at - neap_hand_now_usec();

			/* A freeze stops the time-out; it is checked now and then. */
			if (left <= 0 && !neap_hand_is_frozen(server))
				return finish(server, "no successor came");
			wait_ms = left <= 0         ? 500
				  : left > 60000000 ? 60000
						    : (int)(left / 1000) + 1;
		}
		if (poll(p, 2, wait_ms) < 0 && errno != EINTR && errno != EAGAIN)
			return finish(server, "poll failed");
		if (p[0].revents & POLLIN) {
			rc = signal_take(server);
			if (rc >= 0)
				return rc;
		}
		if (server->sock < 0 || !p[1].revents)
			continue;
		if (p[1].revents & POLLHUP)
			while (server->out)
				neap_hand_out_drop(server); /* their receiver is gone */
		is_empty = (p[1].revents & POLLIN) && !neap_hand_packet_take(server);
		neap_hand_out_flush(server);
		/* Requests of a dying daemon are handled before its end is noticed,
		 * because the end of file is readable too. A daemon that shut down only
		 * its side can send nothing more either, and its end of file would stay
		 * readable. */
		if (is_empty && (p[1].revents & (POLLHUP | POLLRDHUP))) {
			neap_fd_close(&server->sock);
			neap_hand_daemon_end(server);
			if (neap_journal_count(server->journal) == 0)
				return finish(server,
					      "the daemon is gone and set nothing");
			release_at =
				neap_hand_now_usec() + server->config.release_after_usec;
			neap_log_line(
				&server->log, NEAP_LOG_INFO,
				"the daemon is gone; all is given back in %lld s",
				(long long)(server->config.release_after_usec / 1000000));
		}
	}
}

/* Closes every descriptor except the socket, the log and the hierarchies. */
static void fds_close(const struct neap_hand_config *config, int sock)
{
	int keep[NEAP_CTL_COUNT + 2] = {sock, config->log.fd};

	for (int i = 0; i < NEAP_CTL_COUNT; i++)
		keep[2 + i] = config->cgroup->mount[i].is_present
				      ? config->cgroup->mount[i].fd
				      : -1;
	neap_process_fds_keep(keep, NEAP_ARRAY_LEN(keep));
}

static int signals_set(struct neap_error *err)
{
	static const int ignored[] = {SIGINT,  SIGQUIT, SIGHUP,  SIGPIPE,
				      SIGTTOU, SIGTTIN, SIGTSTP, 0};
	static const int blocked[] = {SIGTERM, SIGUSR1, 0};

	return neap_process_signals(ignored, blocked, err);
}

/* A starved machine needs neap most, so the hand gets priority there. */
static void process_favour(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0) {
		if (write(fd, "-999", 4) < 0)
			errno = 0; /* without the capability the hand works as it is */
		(void)close(fd);
	}
	(void)setpriority(PRIO_PROCESS, 0, -10); /* likewise */
	/* Needed where the kernel groups processes by session: the hand has its own
	 * session. */
	fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		if (write(fd, "-10", 3) < 0)
			errno = 0;
		(void)close(fd);
	}
}

static int server_start(const struct neap_hand_config *config, int sock, int daemon_pid,
			struct neap_hand_server **ret, struct neap_error *err)
{
	struct neap_hand_server *server = NULL;
	int rc, signal_fd;

	signal_fd = signals_set(err);
	if (signal_fd < 0)
		return signal_fd;
	rc = neap_hand_server_new(config, &server, err);
	if (rc < 0)
		return rc;
	server->signal_fd = signal_fd;
	server->daemon_pid = daemon_pid;
	server->daemon_fd = neap_hand_daemon_watch(daemon_pid);
	rc = config->only_reads ? 0 : neap_hand_server_open(server, true, err);
	if (rc < 0) {
		neap_hand_server_free(server);
		return rc;
	}
	if (!config->only_reads)
		neap_hand_groups_tidy(server);
	neap_hand_kubelet_find(server);
	server->sock = sock;
	*ret = server;
	return 0;
}

void neap_hand_serve(const struct neap_hand_config *config, int sock, int daemon_pid)
{
	struct neap_hand_server *server = NULL;
	struct neap_hand_answer hello = {.op = NEAP_HAND_LIST, .key = NEAP_KEY_COUNT};
	unsigned char msg[1024];
	struct neap_error err = {0};
	char version[16] = "";
	size_t len = 0;
	int rc;

	(void)setsid();
	(void)prctl(PR_SET_NAME, "neap-hand", 0, 0, 0);
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (chdir("/") < 0)
		errno = 0; /* any directory that holds no mount would do */
	(void)umask(022);
	fds_close(config, sock);
	process_favour();
	rc = server_start(config, sock, daemon_pid, &server, &err);
	if (rc == 0)
		rc = neap_hand_confine(server, &err);

	/* The first answer: pid has the code, 0 for ready; new_value has the version of
	 * Landlock. */
	(void)snprintf(version, sizeof(version), "%d", rc);
	hello.pid = rc < 0 ? -rc : 0;
	hello.errnum = rc < 0 ? err.errnum : 0;
	hello.new_value = version;
	hello.text = rc < 0 ? err.msg : "";
	if (neap_wire_format_answer(&hello, msg, sizeof(msg), &len, NULL) == 0)
		(void)send(sock, msg, len,
			   MSG_NOSIGNAL); /* a daemon that is gone is noticed below */
	if (rc < 0)
		_exit(1);
	neap_log_line(
		&server->log,
		neap_journal_count(server->journal) ? NEAP_LOG_INFO : NEAP_LOG_DEBUG,
		"ready, %d values in the journal", neap_journal_count(server->journal));
	rc = serve_loop(server);
	neap_hand_server_free(server);
	_exit(rc);
}
