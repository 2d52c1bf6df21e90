/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of a shim: starts its command on request, reads its output, kills its
 * remaining processes, and records the exit before it reports it. Each client that
 * connects to its socket gets the present state. */
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
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "hw/keeper/shim.h"
#include "hw/packet.h"
#include "hw/process.h"

/* for a new loop, when the one that ordered the task has ended */
#define GO_WAIT_USEC     60000000
#define KILL_FIRST_USEC  10000 /* between two checks for remaining processes */
#define KILL_LAST_USEC   1000000
#define RECORD_WAIT_USEC 5000000 /* between two tries to write on a full disk */
#define READ_BYTES       65536
/* This much output in this time, then the command waits, so that it cannot fill a disk or
 * use up a CPU. */
#define STRETCH_USEC  100000
#define STRETCH_BYTES (2 * 1024 * 1024)
#define DRAIN_READS   64 /* more than a pipe holds */

/* --- clients --- */

static bool has_client(const struct neap_shim *shim)
{
	for (size_t i = 0; i < NEAP_SHIM_CLIENTS; i++)
		if (shim->clients[i] >= 0)
			return true;
	return false;
}

static void client_drop(struct neap_shim *shim, size_t i)
{
	if (shim->clients[i] < 0)
		return;
	(void)close(shim->clients[i]);
	shim->clients[i] = -1;
	if (!has_client(shim))
		shim->go_until = neap_clock_steady() + GO_WAIT_USEC;
}

static bool tell_one(struct neap_shim *shim, size_t i,
		     const struct neap_keeper_event *event, int fd)
{
	unsigned char packet[NEAP_KEEPER_OUTPUT_MAX + 256];
	size_t len = 0;

	if (shim->clients[i] < 0)
		return false;
	if (neap_keeper_event_format(event, packet, sizeof(packet), &len, NULL) == 0 &&
	    neap_packet_send(shim->clients[i], packet, len, fd) == (ssize_t)len)
		return true;
	client_drop(shim, i); /* the client asks again if it lives */
	return false;
}

static bool tell(struct neap_shim *shim, const struct neap_keeper_event *event, int fd)
{
	bool is_told = false;

	for (size_t i = 0; i < NEAP_SHIM_CLIENTS; i++)
		if (tell_one(shim, i, event, fd))
			is_told = true;
	return is_told;
}

static struct neap_keeper_event event_of(const struct neap_shim *shim,
					 enum neap_keeper_what what)
{
	return (struct neap_keeper_event){
		.what = what,
		.pid = shim->pid,
		.started_usec = shim->event.started_usec,
		.text = "",
	};
}

static void client_greet(struct neap_shim *shim, size_t i)
{
	struct neap_keeper_event event = event_of(shim, NEAP_KEEPER_WAITING);

	if (shim->step == NEAP_SHIM_WAITING) {
		(void)tell_one(shim, i, &event, shim->conn);
		return;
	}
	event.what = NEAP_KEEPER_STARTED;
	if (shim->event.started_usec)
		(void)tell_one(shim, i, &event, -1);
	if (shim->step == NEAP_SHIM_GONE)
		(void)tell_one(shim, i, &shim->event, -1);
}

static void client_accept(struct neap_shim *shim)
{
	struct ucred cred = {0};
	socklen_t len = sizeof(cred);
	int fd = accept4(shim->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	size_t i;

	if (fd < 0)
		return;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0 ||
	    (cred.uid != shim->config->own_uid && cred.uid != 0)) {
		(void)close(fd);
		return;
	}
	for (i = 0; i < NEAP_SHIM_CLIENTS && shim->clients[i] >= 0; i++)
		;
	/* Drops the oldest client. */
	if (i == NEAP_SHIM_CLIENTS) {
		(void)close(shim->clients[0]);
		memmove(shim->clients, shim->clients + 1,
			(NEAP_SHIM_CLIENTS - 1) * sizeof(*shim->clients));
		i--;
	}
	shim->clients[i] = fd;
	client_greet(shim, i);
}

/* --- steps --- */

/* From here on no process of the command may remain. */
static void end_begin(struct neap_shim *shim)
{
	if (shim->step >= NEAP_SHIM_ENDING)
		return;
	shim->step = NEAP_SHIM_ENDING;
	neap_fd_close(&shim->conn);
	neap_fd_close(&shim->status_fd);
	shim->kill_at = neap_clock_steady();
	shim->kill_wait = KILL_FIRST_USEC;
}

static void failed(struct neap_shim *shim, int errnum, const char *text)
{
	if (shim->step >= NEAP_SHIM_ENDING)
		return;
	shim->event = event_of(shim, NEAP_KEEPER_FAILED);
	shim->event.errnum = errnum;
	shim->event.ended_usec = neap_clock_usec(CLOCK_REALTIME);
	(void)neap_strcopy(shim->text, 512, text);
	neap_keeper_text_clean(shim->text, strlen(shim->text));
	shim->event.text = shim->text;
	end_begin(shim);
}

static void failure_tell(struct neap_shim *shim,
			 const struct neap_keeper_failure *failure)
{
	const struct neap_keeper_order *order = &shim->job.order;
	const char *what = strerror(failure->errnum);
	char text[512];

	switch (failure->stage) {
	case NEAP_KEEPER_AT_EXEC:
		if (failure->errnum == ENOENT && !strchr(order->argv[0], '/'))
			what = "executable file not found in $PATH";
		(void)snprintf(text, sizeof(text), "exec: \"%.256s\": %s", order->argv[0],
			       what);
		break;
	case NEAP_KEEPER_AT_FOLDER:
		(void)snprintf(text, sizeof(text), "chdir to \"%.256s\": %s",
			       order->cwd ? order->cwd : "/", what);
		break;
	case NEAP_KEEPER_AT_USER:
		(void)snprintf(text, sizeof(text), "become user %u: %s",
			       (unsigned)shim->config->uid, what);
		break;
	default:
		(void)snprintf(text, sizeof(text), "prepare the process: %s", what);
		break;
	}
	failed(shim, failure->errnum, text);
}

static void go(struct neap_shim *shim)
{
	const char byte = NEAP_KEEPER_GO_BYTE;

	if (shim->step != NEAP_SHIM_WAITING)
		return;
	shim->step = NEAP_SHIM_STARTING;
	if (send(shim->conn, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1)
		errno = 0; /* it has ended; the next event says so */
	neap_fd_close(&shim->conn);
}

/* The failure pipe has data, or exec closed it. */
static void status_take(struct neap_shim *shim)
{
	struct neap_keeper_failure failure;
	struct neap_keeper_event event;
	ssize_t n = read(shim->status_fd, &failure, sizeof(failure));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n == sizeof(failure)) {
		failure_tell(shim, &failure);
		return;
	}
	neap_fd_close(&shim->status_fd);
	/* Without GO the process has ended; its exit status says so. */
	if (shim->step != NEAP_SHIM_STARTING)
		return;
	shim->step = NEAP_SHIM_RUNNING;
	shim->event.started_usec = neap_clock_usec(CLOCK_REALTIME);
	if (shim->is_probe)
		shim->probe_until = neap_clock_steady() + shim->job.order.probe_usec;
	else
		neap_keeper_start_write(shim->folder_fd, shim->pid,
					shim->event.started_usec);
	event = event_of(shim, NEAP_KEEPER_STARTED);
	(void)tell(shim, &event, -1);
}

static void first_ended(struct neap_shim *shim, int status)
{
	bool is_timeout = shim->event.is_timeout;
	int64_t ended = neap_clock_usec(CLOCK_REALTIME);

	shim->is_alive = false;
	/* The end may come together with its last message. */
	if (shim->step <= NEAP_SHIM_STARTING && shim->status_fd >= 0)
		status_take(shim);
	if (shim->step <= NEAP_SHIM_STARTING) {
		failed(shim, ECANCELED, "the process ended before it was started");
		return;
	}
	if (shim->step != NEAP_SHIM_RUNNING)
		return;
	shim->event = event_of(shim, NEAP_KEEPER_ENDED);
	shim->event.is_timeout = is_timeout;
	shim->event.ended_usec =
		ended > shim->event.started_usec ? ended : shim->event.started_usec;
	if (WIFSIGNALED(status)) {
		shim->event.signo = WTERMSIG(status);
		shim->event.exit_code = 128 + WTERMSIG(status);
	} else {
		shim->event.exit_code = WEXITSTATUS(status);
	}
	end_begin(shim);
}

/* Reaps all children that ended; true while there are others. */
static bool children_reap(struct neap_shim *shim)
{
	struct signalfd_siginfo info;
	int status, pid;

	while (read(shim->signal_fd, &info, sizeof(info)) == sizeof(info))
		;
	for (;;) {
		pid = waitpid(-1, &status, WNOHANG);
		if (pid < 0)
			return errno != ECHILD;
		if (pid == 0)
			return true;
		if (pid == shim->pid && shim->is_alive)
			first_ended(shim, status);
	}
}

static void signal_give(struct neap_shim *shim, int signo)
{
	if (signo == SIGKILL)
		neap_keeper_descendants_kill();
	else if (shim->is_alive)
		(void)kill(shim->pid, signo); /* the pid is ours until we wait for it */
}

static void client_take(struct neap_shim *shim, size_t i)
{
	unsigned char packet[NEAP_KEEPER_PACKET];
	struct neap_keeper_request request;
	int fd;
	ssize_t n = neap_packet_receive(shim->clients[i], packet, sizeof(packet), &fd);

	if (n < 0 && errno == EAGAIN)
		return;
	neap_fd_close(&fd);
	if (n <= 0 || fd >= 0 ||
	    neap_keeper_request_parse(packet, (size_t)n, &request, NULL) < 0 ||
	    request.op == NEAP_KEEPER_OP_ORDER) {
		client_drop(shim, i);
		return;
	}
	if (request.op == NEAP_KEEPER_OP_GO)
		go(shim);
	else
		signal_give(shim, request.signo);
}

/* --- output --- */

static bool is_flood(struct neap_shim *shim)
{
	int64_t now = neap_clock_steady();

	if (now - shim->read_from >= STRETCH_USEC) {
		shim->read_from = now;
		shim->read_bytes = 0;
	}
	return shim->read_bytes >= STRETCH_BYTES && shim->step < NEAP_SHIM_ENDING;
}

/* False when there is no more output for now. */
static bool output_take(struct neap_shim *shim, int stream)
{
	static char bytes[READ_BYTES];
	ssize_t n = read(shim->out_fds[stream], bytes, sizeof(bytes));

	if (n > 0) {
		shim->read_bytes += n;
		neap_keeper_output_add(&shim->output, stream, bytes, (size_t)n);
		return true;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	neap_keeper_output_end(&shim->output, stream);
	neap_fd_close(&shim->out_fds[stream]);
	return false;
}

/* Reads the rest of the pipes. They may still be open elsewhere, if a process passed its
 * end on. */
static void output_drain(struct neap_shim *shim)
{
	int stream, i;

	for (stream = 0; stream < 2; stream++) {
		for (i = 0; i < DRAIN_READS && shim->out_fds[stream] >= 0 &&
			    output_take(shim, stream);
		     i++)
			;
		neap_keeper_output_end(&shim->output, stream);
		neap_fd_close(&shim->out_fds[stream]);
	}
	neap_keeper_output_done(&shim->output);
	if (!shim->is_probe || shim->event.what != NEAP_KEEPER_ENDED)
		return;
	memcpy(shim->text, shim->output.kept, sizeof(shim->text));
	neap_keeper_text_clean(shim->text, shim->output.kept_len);
	neap_utf8_trim(shim->text);
	shim->event.text = shim->text;
}

/* --- the loop --- */

/* The folder was removed, so the recorded exit will not be read. */
static bool is_folder_gone(const struct neap_shim *shim)
{
	struct stat folder;

	return fstat(shim->folder_fd, &folder) == 0 && folder.st_nlink == 0;
}

/* Records the exit, then reports it. True when this process is no longer needed. */
static bool end_tell(struct neap_shim *shim)
{
	bool is_written = shim->is_probe;

	if (!is_written)
		is_written = neap_keeper_record_write(shim->folder_fd, &shim->event,
						      NULL) == 0;
	if (tell(shim, &shim->event, -1) || is_written || is_folder_gone(shim))
		return true;
	shim->kill_at = neap_clock_steady() + RECORD_WAIT_USEC;
	return false;
}

/* Does the work whose time has come. True at the end. */
static bool times_look(struct neap_shim *shim)
{
	int64_t now = neap_clock_steady();

	if (shim->step == NEAP_SHIM_WAITING && !has_client(shim) &&
	    (shim->is_probe || now >= shim->go_until)) {
		failed(shim, ETIMEDOUT, "neapd did not let it run in time");
	} else if (shim->step == NEAP_SHIM_RUNNING && shim->is_probe &&
		   (now >= shim->probe_until || !has_client(shim))) {
		shim->event.is_timeout = now >= shim->probe_until;
		shim->probe_until = now + KILL_LAST_USEC;
		neap_keeper_descendants_kill();
	}
	if (shim->step == NEAP_SHIM_ENDING && !children_reap(shim)) {
		shim->step = NEAP_SHIM_GONE;
		shim->kill_at = 0;
		output_drain(shim);
	}
	if (shim->step == NEAP_SHIM_GONE)
		return now >= shim->kill_at ? end_tell(shim) : false;
	if (shim->step == NEAP_SHIM_ENDING && now >= shim->kill_at) {
		neap_keeper_descendants_kill();
		shim->kill_at = now + shim->kill_wait;
		shim->kill_wait = shim->kill_wait * 2 < KILL_LAST_USEC
					  ? shim->kill_wait * 2
					  : KILL_LAST_USEC;
	}
	return false;
}

static void earlier(int64_t *until, int64_t other)
{
	if (*until == 0 || other < *until)
		*until = other;
}

static int wait_ms(const struct neap_shim *shim, bool flooded)
{
	int64_t until = 0, left;

	if (shim->step == NEAP_SHIM_WAITING && !has_client(shim))
		earlier(&until, shim->go_until);
	if (shim->step == NEAP_SHIM_RUNNING && shim->is_probe)
		earlier(&until, shim->probe_until);
	if (shim->step >= NEAP_SHIM_ENDING)
		earlier(&until, shim->kill_at);
	if (flooded)
		earlier(&until, shim->read_from + STRETCH_USEC);
	if (until == 0)
		return -1;
	left = (until - neap_clock_steady()) / 1000 + 1;
	return left < 0 ? 0 : left > 60000 ? 60000 : (int)left;
}

enum { AT_SIGNAL, AT_LISTENER, AT_STATUS, AT_OUT, AT_ERR, AT_CLIENT };

static void live(struct neap_shim *shim)
{
	struct pollfd p[AT_CLIENT + NEAP_SHIM_CLIENTS];

	while (!times_look(shim)) {
		bool flooded = is_flood(shim);

		for (size_t i = 0; i < NEAP_ARRAY_LEN(p); i++)
			p[i] = (struct pollfd){.fd = -1, .events = POLLIN};
		p[AT_SIGNAL].fd = shim->signal_fd;
		p[AT_LISTENER].fd = shim->listener;
		p[AT_STATUS].fd = shim->status_fd;
		for (size_t i = 0; i < 2 && !flooded; i++)
			p[AT_OUT + i].fd = shim->out_fds[i];
		for (size_t i = 0; i < NEAP_SHIM_CLIENTS; i++)
			p[AT_CLIENT + i].fd = shim->clients[i];
		if (poll(p, NEAP_ARRAY_LEN(p), wait_ms(shim, flooded)) < 0)
			continue;
		if (p[AT_STATUS].revents && shim->status_fd >= 0)
			status_take(shim);
		for (size_t i = 0; i < 2; i++)
			if (p[AT_OUT + i].revents)
				(void)output_take(shim, (int)i);
		for (size_t i = 0; i < NEAP_SHIM_CLIENTS; i++)
			if (p[AT_CLIENT + i].revents && shim->clients[i] >= 0)
				client_take(shim, i);
		if (p[AT_LISTENER].revents)
			client_accept(shim);
		if (p[AT_SIGNAL].revents)
			(void)children_reap(shim);
	}
}

/* The command did not start: reports that, and records it if the folder is ours. */
static void start_failed(struct neap_shim *shim, bool is_made,
			 const struct neap_error *err)
{
	shim->event = event_of(shim, NEAP_KEEPER_FAILED);
	shim->event.pid = 0;
	shim->event.errnum = err->errnum                 ? err->errnum
			     : err->code == NEAP_EEXISTS ? EEXIST
			     : err->code == NEAP_EINVAL  ? EINVAL
							 : EAGAIN;
	shim->event.ended_usec = neap_clock_usec(CLOCK_REALTIME);
	(void)neap_strcopy(shim->text, sizeof(shim->text), err->msg);
	shim->event.text = shim->text;
	if (is_made && shim->folder_fd >= 0 && seteuid(shim->config->own_uid) == 0)
		(void)neap_keeper_record_write(shim->folder_fd, &shim->event, NULL);
	(void)tell(shim, &shim->event, -1);
}

static void favour(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, "-900", 4) < 0)
		errno = 0; /* without the capability the shim works as it is */
	(void)close(fd);
}

_Noreturn void neap_keeper_shim(const struct neap_keeper_config *config, int dir_fd,
				int channel)
{
	struct neap_shim *shim = neap_alloc(sizeof(*shim));
	const int keep[] = {dir_fd, channel};
	struct neap_error err = {0};
	bool is_made = false;
	int rc;

	if (!shim)
		_exit(1);
	(void)setsid();
	(void)prctl(PR_SET_NAME, "neap-shim", 0, 0, 0);
	neap_process_fds_keep(keep, NEAP_ARRAY_LEN(keep));
	shim->config = config;
	shim->folder_fd = shim->listener = shim->conn = shim->status_fd = -1;
	shim->out_fds[0] = shim->out_fds[1] = shim->output.fd = -1;
	for (size_t i = 0; i < NEAP_SHIM_CLIENTS; i++)
		shim->clients[i] = -1;
	shim->clients[0] = channel;
	shim->event.text = "";
	favour();
	shim->signal_fd = neap_keeper_signals_set(&err);
	rc = shim->signal_fd < 0 ? shim->signal_fd : 0;
	if (rc == 0 && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		rc = neap_error_sys(&err, "subreaper");
	if (rc == 0)
		rc = neap_shim_start(shim, dir_fd, &is_made, &err);
	if (rc < 0) {
		start_failed(shim, is_made, &err);
	} else {
		client_greet(shim, 0);
		live(shim);
	}
	if (shim->folder_fd >= 0 && rc == 0)
		(void)unlinkat(shim->folder_fd, "sock", 0); /* clients read the record */
	neap_shim_free(shim);
	_exit(0);
}
