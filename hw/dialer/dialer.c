/* SPDX-License-Identifier: Apache-2.0
 *
 * The loop's side. Nothing blocks except the start. A request is one small packet, and
 * the sockets have room for all pending ones. */
#include "hw/dialer/dialer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "hw/dialer/dialer_priv.h"
#include "hw/packet.h"

#define START_USEC  30000000
#define PACKETS_MAX 64 /* taken from one process in one call of hear */

static const struct {
	const char *name;
	enum neap_dialer_op op;
} ends[NEAP_DIALER_ENDS] = {
	{"neap-dialer", NEAP_DIALER_CONNECT},
	{"neap-reader", NEAP_DIALER_READ},
};

/* --- start --- */

static int config_check(const struct neap_dialer_config *config, struct neap_error *err)
{
	if (config->server_count > NEAP_DIALER_SERVERS ||
	    config->file_count > NEAP_DIALER_FILES)
		return neap_error_set(
			err, NEAP_ETOOLARGE,
			"%zu servers and %zu files to connect with, at most "
			"%d and %d are possible",
			config->server_count, config->file_count, NEAP_DIALER_SERVERS,
			NEAP_DIALER_FILES);
	for (size_t i = 0; i < config->file_count; i++)
		if (config->files[i][0] != '/')
			return neap_error_set(err, NEAP_EINVAL,
					      "%s: a file to read needs its whole path",
					      config->files[i]);
	return 0;
}

static int end_start(struct neap_dialer *dialer, int which, size_t count,
		     const struct neap_dialer_config *config, struct neap_error *err)
{
	int pair[2];
	int pid;

	if (count == 0)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) <
	    0)
		return neap_error_sys(err, "socket to %s", ends[which].name);
	pid = fork();
	if (pid == 0 && which == NEAP_DIALER_DIALS)
		neap_dialer_serve(config, pair[1]);
	if (pid == 0)
		neap_reader_serve(config, pair[1]);
	dialer->ends[which].sock = pair[0];
	dialer->ends[which].pid = pid;
	dialer->ends[which].count = count;
	(void)close(pair[1]);
	return pid < 0 ? neap_error_sys(err, "fork %s", ends[which].name) : 0;
}

static int hello_read(struct neap_dialer *dialer, int which, struct neap_error *err)
{
	char packet[sizeof(struct neap_dialer_packet) + NEAP_ERROR_MSG + 1] = "";
	struct neap_dialer_packet head = {0};
	int fd = -1;
	ssize_t n = neap_packet_receive(dialer->ends[which].sock, packet,
					sizeof(packet) - 1, &fd);

	neap_fd_close(&fd);
	if (n < 0 && errno == EAGAIN)
		return 0;
	if (n >= (ssize_t)sizeof(head))
		memcpy(&head, packet, sizeof(head));
	if (head.magic != NEAP_DIALER_MAGIC || head.op != NEAP_DIALER_HELLO)
		return neap_error_set(err, NEAP_EUNAVAILABLE, "%s ended at its start",
				      ends[which].name);
	packet[n] = '\0';
	dialer->ends[which].landlock = (int)head.index;
	if (head.code == 0)
		return 1;
	return neap_error_set(
		err, head.code < NEAP_CODE_COUNT ? (enum neap_code)head.code : NEAP_ESYS,
		"start of %s: %s", ends[which].name, packet + sizeof(head));
}

static int hello_wait(struct neap_dialer *dialer, int which, struct neap_error *err)
{
	int64_t until = neap_clock_usec(CLOCK_MONOTONIC) + START_USEC;

	while (dialer->ends[which].sock >= 0) {
		struct pollfd p = {.fd = dialer->ends[which].sock, .events = POLLIN};
		int64_t left = until - neap_clock_usec(CLOCK_MONOTONIC);
		int rc = hello_read(dialer, which, err);

		if (rc != 0)
			return rc < 0 ? rc : 0;
		if (left <= 0)
			return neap_error_set(err, NEAP_EUNAVAILABLE,
					      "%s did not get ready", ends[which].name);
		(void)poll(&p, 1, (int)(left / 1000) + 1); /* looked at again anyway */
	}
	return 0;
}

static int epoll_make(struct neap_dialer *dialer, struct neap_error *err)
{
	dialer->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	for (int i = 0; i < NEAP_DIALER_ENDS; i++) {
		struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)i};

		if (dialer->ends[i].sock >= 0 &&
		    epoll_ctl(dialer->epoll_fd, EPOLL_CTL_ADD, dialer->ends[i].sock,
			      &event) < 0)
			return neap_error_sys(err, "epoll for the dialer");
	}
	return dialer->epoll_fd < 0 ? neap_error_sys(err, "epoll for the dialer") : 0;
}

int neap_dialer_start(const struct neap_dialer_config *config, struct neap_dialer **ret,
		      struct neap_error *err)
{
	struct neap_dialer *dialer;
	int rc = config_check(config, err);

	if (rc < 0)
		return rc;
	dialer = neap_alloc(sizeof(*dialer));
	if (!dialer)
		return neap_error_nomem(err);
	dialer->epoll_fd = -1;
	for (int i = 0; i < NEAP_DIALER_ENDS; i++)
		dialer->ends[i].sock = -1;
	rc = end_start(dialer, NEAP_DIALER_DIALS, config->server_count, config, err);
	if (rc == 0)
		rc = end_start(dialer, NEAP_DIALER_READS, config->file_count, config,
			       err);
	for (int i = 0; i < NEAP_DIALER_ENDS && rc == 0; i++)
		rc = hello_wait(dialer, i, err);
	if (rc == 0)
		rc = epoll_make(dialer, err);
	if (rc == 0) {
		*ret = dialer;
		return 0;
	}
	for (int i = 0; i < NEAP_DIALER_ENDS; i++)
		if (dialer->ends[i].pid > 0) {
			/* our own child, not yet waited for */
			(void)kill(dialer->ends[i].pid, SIGKILL);
			(void)waitpid(dialer->ends[i].pid, NULL, 0);
			dialer->ends[i].pid = 0;
		}
	neap_dialer_free(dialer);
	return rc;
}

void neap_dialer_free(struct neap_dialer *dialer)
{
	if (!dialer)
		return;
	for (int i = 0; i < NEAP_DIALER_ENDS; i++) {
		neap_fd_close(&dialer->ends[i].sock);
		if (dialer->ends[i].pid > 0)
			(void)waitpid(dialer->ends[i].pid, NULL, WNOHANG); /* it ends */
	}
	neap_fd_close(&dialer->epoll_fd);
	for (size_t i = 0; i < NEAP_DIALER_REQUESTS; i++)
		neap_buf_done(&dialer->asked[i].text);
	free(dialer);
}

int neap_dialer_fd(const struct neap_dialer *dialer)
{
	return dialer->epoll_fd;
}

int neap_dialer_pid(const struct neap_dialer *dialer)
{
	return dialer->ends[NEAP_DIALER_DIALS].pid;
}

int neap_dialer_reader_pid(const struct neap_dialer *dialer)
{
	return dialer->ends[NEAP_DIALER_READS].pid;
}

int neap_dialer_landlock(const struct neap_dialer *dialer)
{
	int version = -1;

	for (int i = 0; i < NEAP_DIALER_ENDS; i++)
		if (dialer->ends[i].sock >= 0 &&
		    (version < 0 || dialer->ends[i].landlock < version))
			version = dialer->ends[i].landlock;
	return version < 0 ? 0 : version;
}

/* --- requests --- */

static int ask(struct neap_dialer *dialer, int which, unsigned index, uint64_t id,
	       struct neap_error *err)
{
	struct neap_dialer_packet request = {
		.magic = NEAP_DIALER_MAGIC,
		.op = ends[which].op,
		.index = index,
		.id = dialer->last_number + 1,
	};
	struct neap_dialer_asked *asked = NULL;

	if (index >= dialer->ends[which].count)
		return neap_error_set(err, NEAP_EINVAL, "%s was given no number %u",
				      ends[which].name, index);
	if (dialer->has_ended)
		return neap_error_set(err, NEAP_EUNAVAILABLE,
				      "%s ended, start neapd again", ends[which].name);
	for (size_t i = 0; i < NEAP_DIALER_REQUESTS && !asked; i++)
		if (dialer->asked[i].number == 0)
			asked = &dialer->asked[i];
	if (!asked)
		return neap_error_set(err, NEAP_EUNAVAILABLE,
				      "%d connections and files are asked for already",
				      NEAP_DIALER_REQUESTS);
	/* One that has ended shows as that by hear. */
	if (neap_dialer_send(dialer->ends[which].sock, &request, NULL, -1) == 0)
		return neap_error_set(err, NEAP_EUNAVAILABLE, "%s takes no request now",
				      ends[which].name);
	asked->number = ++dialer->last_number;
	asked->id = id;
	asked->op = ends[which].op;
	neap_buf_init(&asked->text, NEAP_DIALER_FILE_MAX);
	return 0;
}

int neap_dialer_connect(struct neap_dialer *dialer, unsigned server, uint64_t id,
			struct neap_error *err)
{
	return ask(dialer, NEAP_DIALER_DIALS, server, id, err);
}

int neap_dialer_read(struct neap_dialer *dialer, unsigned file, uint64_t id,
		     struct neap_error *err)
{
	return ask(dialer, NEAP_DIALER_READS, file, id, err);
}

/* --- answers --- */

/* Ends the request and calls back. why NULL: with fd or what was read. Takes fd over. */
static void answered(struct neap_dialer_asked *asked,
		     const struct neap_dialer_heard *heard, void *arg, int fd,
		     const char *why)
{
	neap_auto_buf struct neap_buf text = asked->text;
	uint64_t id = asked->id;

	/* The callback may ask for more, which takes this place. */
	asked->number = 0;
	memset(&asked->text, 0, sizeof(asked->text));
	if (asked->op == NEAP_DIALER_CONNECT) {
		heard->connected(arg, id, fd, why);
		return;
	}
	neap_fd_close(&fd);
	heard->read(arg, id, why ? NULL : text.data, why ? 0 : text.len, why);
}

/* A connection, and nothing else: the one that speaks with the network may have been
 * taken over. */
static bool is_connection(int fd)
{
	socklen_t len = sizeof(int);
	int type = 0, family = 0;
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 &&
	       getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &len) == 0 &&
	       type == SOCK_STREAM && (family == AF_INET || family == AF_INET6) &&
	       ((flags & O_NONBLOCK) || fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0);
}

/* Takes one packet. False when it is none that this process sends. Takes fd over. */
static bool packet_take(struct neap_dialer *dialer, int which,
			const struct neap_dialer_packet *head, char *text, int fd,
			const struct neap_dialer_heard *heard, void *arg)
{
	struct neap_dialer_asked *asked = NULL;
	const char *why = NULL;

	for (size_t i = 0; i < NEAP_DIALER_REQUESTS && head->id; i++)
		if (dialer->asked[i].number == head->id &&
		    dialer->asked[i].op == ends[which].op)
			asked = &dialer->asked[i];
	if (!asked) {
		neap_fd_close(&fd);
		return false;
	}
	if (head->code != 0)
		why = text;
	else if (asked->op == NEAP_DIALER_READ)
		neap_buf_add(&asked->text, text, head->len);
	else if (fd < 0)
		why = "the connection did not arrive: too many files are open";
	else if (!is_connection(fd))
		why = "neap-dialer sent what is no connection";
	if (!head->is_last && !why)
		return true;
	if (!why && neap_buf_failed(&asked->text))
		why = "no memory";
	if (why)
		neap_fd_close(&fd);
	answered(asked, heard, arg, fd, why);
	return true;
}

/* Takes the next packet of a process. 1; 0 when none waits; -1 when it has ended. */
static int packet_next(struct neap_dialer *dialer, int which,
		       const struct neap_dialer_heard *heard, void *arg)
{
	char packet[sizeof(struct neap_dialer_packet) + NEAP_DIALER_PIECE + 1];
	struct neap_dialer_packet head = {0};
	struct neap_packet got;
	ssize_t n = neap_packet_receive_all(dialer->ends[which].sock, packet,
					    sizeof(packet) - 1, &got);
	int fd = -1;

	if (n < 0 && errno == EAGAIN)
		return 0;
	if (n < 0)
		return -1;
	/* If a descriptor is missing, the answer that needs it reports that. */
	if (got.fd_count > 0)
		fd = got.fds[--got.fd_count];
	neap_packet_done(&got);
	if (n >= (ssize_t)sizeof(head))
		memcpy(&head, packet, sizeof(head));
	if (n < (ssize_t)sizeof(head) || got.is_cut || head.magic != NEAP_DIALER_MAGIC ||
	    head.op != ends[which].op || head.len != (size_t)n - sizeof(head)) {
		neap_fd_close(&fd);
		return -1;
	}
	packet[n] = '\0';
	return packet_take(dialer, which, &head, packet + sizeof(head), fd, heard, arg)
		       ? 1
		       : -1;
}

static void all_end(struct neap_dialer *dialer, int which,
		    const struct neap_dialer_heard *heard, void *arg)
{
	dialer->has_ended = true; /* so that nobody asks for more */
	for (size_t i = 0; i < NEAP_DIALER_REQUESTS; i++)
		if (dialer->asked[i].number)
			answered(&dialer->asked[i], heard, arg, -1,
				 which == NEAP_DIALER_DIALS ? "neap-dialer has ended"
							    : "neap-reader has ended");
	heard->ended(arg);
}

void neap_dialer_hear(struct neap_dialer *dialer, const struct neap_dialer_heard *heard,
		      void *arg)
{
	for (int which = 0; which < NEAP_DIALER_ENDS; which++) {
		int rc = 1;

		if (dialer->ends[which].sock < 0)
			continue;
		for (int i = 0; i < PACKETS_MAX && rc > 0 && !dialer->has_ended; i++)
			rc = packet_next(dialer, which, heard, arg);
		if (rc < 0)
			all_end(dialer, which, heard, arg);
	}
}
