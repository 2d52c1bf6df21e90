/* SPDX-License-Identifier: Apache-2.0
 *
 * The daemon's side. Nothing blocks except the start: requests are encoded at once, so
 * that they need nothing of the caller's any more, queued, and sent when the socket
 * accepts them. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "hw/hand/hand_priv.h"
#include "hw/packet.h"

#define QUEUE_MAX       16384
#define QUEUE_BYTES_MAX ((size_t)32 * 1024 * 1024)

/* Requests without a descriptor share packets: one message each would cost more than the
 * writes. */
struct packet {
	struct packet *next;
	int fd; /* -1 without one; owned */
	size_t requests;
	size_t len, size;
	unsigned char *data;
};

struct neap_hand {
	int sock;
	int pid;
	struct packet *first, *last;
	size_t count, bytes;
	unsigned char in[NEAP_WIRE_MAX]; /* holds the last answer returned */
	size_t in_at, in_len;
	int in_fd; /* came with the packet, not returned yet; -1 */
	int landlock;
};

static int hello_wait(struct neap_hand *hand, struct neap_error *err)
{
	int64_t until = neap_hand_now_usec() + NEAP_HAND_START_SEC * 1000000;
	struct neap_hand_answer hello;
	int rc;

	for (;;) {
		struct pollfd p = {.fd = hand->sock, .events = POLLIN};
		int64_t left = until - neap_hand_now_usec();

		rc = neap_hand_next(hand, &hello, err);
		if (rc != 0)
			break;
		if (left <= 0)
			return neap_error_set(err, NEAP_EUNAVAILABLE,
					      "the hand did not get ready within %d s",
					      NEAP_HAND_START_SEC);
		if (poll(&p, 1, (int)(left / 1000) + 1) < 0 && errno != EINTR)
			return neap_error_sys(err, "wait for the hand");
	}
	if (rc < 0)
		return neap_error_wrap(err, "start of the hand");
	if (hello.pid == 0) {
		int64_t version = 0;

		(void)neap_int_parse(hello.new_value, &version, NULL);
		hand->landlock = (int)version;
		return 0;
	}
	rc = neap_error_set(
		err, hello.pid < NEAP_CODE_COUNT ? (enum neap_code)hello.pid : NEAP_ESYS,
		"%s", hello.text);
	if (err)
		err->errnum = hello.errnum;
	return rc;
}

int neap_hand_start(const struct neap_hand_config *config, struct neap_hand **ret,
		    struct neap_error *err)
{
	struct neap_hand *hand = neap_alloc(sizeof(*hand));
	int daemon_pid = (int)getpid();
	int pair[2];
	int pid, rc;

	if (!hand)
		return neap_error_nomem(err);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		free(hand);
		return neap_error_sys(err, "socket to the hand");
	}
	hand->sock = pair[0];
	hand->in_fd = -1;
	pid = fork();
	if (pid == 0)
		neap_hand_serve(config, pair[1], daemon_pid);
	rc = pid < 0 ? neap_error_sys(err, "fork the hand") : 0;
	hand->pid = pid;
	(void)close(pair[1]);
	if (rc == 0 && fcntl(hand->sock, F_SETFL, O_NONBLOCK) < 0)
		rc = neap_error_sys(err, "socket to the hand");
	if (rc == 0)
		rc = hello_wait(hand, err);
	if (rc < 0) {
		if (pid > 0) {
			(void)kill(pid, SIGKILL); /* our own child, not yet waited for */
			(void)waitpid(pid, NULL, 0);
			hand->pid = 0;
		}
		neap_hand_free(hand);
		return rc;
	}
	*ret = hand;
	return 0;
}

static void packet_free(struct packet *packet)
{
	neap_fd_close(&packet->fd);
	free(packet->data);
	free(packet);
}

static void packet_drop(struct neap_hand *hand)
{
	struct packet *packet = hand->first;

	hand->first = packet->next;
	if (!hand->first)
		hand->last = NULL;
	hand->count -= packet->requests;
	hand->bytes -= packet->len;
	packet_free(packet);
}

/* The packet that takes len more bytes: the last one, or a new one at the end. NULL
 * without memory; then nothing changed. */
static struct packet *packet_for(struct neap_hand *hand, size_t len, bool is_alone)
{
	struct packet *packet = hand->last;
	size_t size = NEAP_WIRE_MAX / 16;

	if (packet && packet->fd < 0 && !is_alone && packet->len + len <= NEAP_WIRE_MAX) {
		unsigned char *grown = packet->data;

		for (size = packet->size; size < packet->len + len; size *= 2)
			;
		if (size > packet->size)
			grown = neap_realloc_array(packet->data, size, 1);
		if (!grown)
			return NULL;
		packet->data = grown;
		packet->size = size;
		return packet;
	}
	packet = neap_alloc(sizeof(*packet));
	if (!packet)
		return NULL;
	while (size < len)
		size *= 2;
	packet->fd = -1;
	packet->size = size;
	packet->data = neap_alloc(size);
	if (!packet->data) {
		free(packet);
		return NULL;
	}
	if (hand->last)
		hand->last->next = packet;
	else
		hand->first = packet;
	hand->last = packet;
	return packet;
}

void neap_hand_free(struct neap_hand *hand)
{
	if (!hand)
		return;
	while (hand->first)
		packet_drop(hand);
	(void)close(hand->sock);
	neap_fd_close(&hand->in_fd);
	if (hand->pid > 0)
		(void)waitpid(hand->pid, NULL, WNOHANG); /* it lives on, if it lives */
	free(hand);
}

int neap_hand_fd(const struct neap_hand *hand)
{
	return hand->sock;
}

int neap_hand_pid(const struct neap_hand *hand)
{
	return hand->pid;
}

int neap_hand_landlock(const struct neap_hand *hand)
{
	return hand->landlock;
}

int neap_hand_add(struct neap_hand *hand, const struct neap_hand_request *request,
		  struct neap_error *err)
{
	unsigned char msg[NEAP_WIRE_MAX];
	struct packet *packet;
	size_t len = 0;
	int fd = -1;
	int rc = neap_wire_format_request(request, msg, sizeof(msg), &len, err);

	if (rc < 0)
		return rc;
	if (request->op == NEAP_HAND_MOVE && request->fd < 0)
		return neap_error_set(err, NEAP_EINVAL, "a move without a connection");
	if (hand->count >= QUEUE_MAX || hand->bytes + len > QUEUE_BYTES_MAX)
		return neap_error_set(
			err, NEAP_EUNAVAILABLE,
			"the hand is %zu requests behind, no more are accepted",
			hand->count);
	if (request->op == NEAP_HAND_MOVE) {
		fd = fcntl(request->fd, F_DUPFD_CLOEXEC, 0);
		if (fd < 0)
			return neap_error_sys(err, "descriptor %d for the hand",
					      request->fd);
	}
	packet = packet_for(hand, len, fd >= 0);
	if (!packet) {
		neap_fd_close(&fd);
		return neap_error_nomem(err);
	}
	packet->fd = fd;
	memcpy(packet->data + packet->len, msg, len);
	packet->len += len;
	packet->requests++;
	hand->count++;
	hand->bytes += len;
	return 0;
}

static int hand_gone(struct neap_error *err)
{
	return neap_error_set(err, NEAP_EUNAVAILABLE, "the hand is gone");
}

int neap_hand_flush(struct neap_hand *hand, struct neap_error *err)
{
	while (hand->first) {
		ssize_t n = neap_packet_send(hand->sock, hand->first->data,
					     hand->first->len, hand->first->fd);

		if (n < 0 && errno == EINTR)
			continue;
		/* ETOOMANYREFS: too many descriptors in flight; the hand will receive
		 * them. */
		if (n < 0 && (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM ||
			      errno == ETOOMANYREFS))
			return 0;
		if (n < 0 && (errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN))
			return hand_gone(err);
		if (n < 0)
			return neap_error_sys(err, "send to the hand");
		packet_drop(hand);
	}
	return 1;
}

/* Receives one packet into hand->in. 1, 0 when none waits, -code. */
static int packet_receive(struct neap_hand *hand, struct neap_error *err)
{
	struct neap_packet packet;
	ssize_t n;

	neap_fd_close(&hand->in_fd);
	n = neap_packet_receive_all(hand->sock, hand->in, sizeof(hand->in), &packet);
	if (n < 0 && errno == EAGAIN)
		return 0;
	if (n == 0 || (n < 0 && errno == ECONNRESET))
		return hand_gone(err);
	if (n < 0)
		return neap_error_sys(err, "receive from the hand");
	/* If a descriptor is missing, the answer that needs it reports that. */
	if (packet.fd_count > 0)
		hand->in_fd = packet.fds[--packet.fd_count];
	neap_packet_done(&packet);
	if (packet.is_cut)
		return neap_error_set(err, NEAP_EINTERNAL, "the hand sent too much");
	hand->in_at = 0;
	hand->in_len = (size_t)n;
	return 1;
}

int neap_hand_next(struct neap_hand *hand, struct neap_hand_answer *ret,
		   struct neap_error *err)
{
	size_t len;
	int rc;

	if (hand->in_at == hand->in_len) {
		rc = packet_receive(hand, err);
		if (rc <= 0)
			return rc;
	}
	len = neap_wire_length(hand->in + hand->in_at, hand->in_len - hand->in_at);
	rc = neap_wire_parse_answer(hand->in + hand->in_at, len, ret, err);
	hand->in_at += len;
	if (rc < 0)
		return neap_error_wrap(err, "the hand's answer");
	/* When a descriptor should have come but did not (too many are open here),
	 * nothing was opened. */
	if (neap_wire_brings_fd(ret->op) && ret->errnum == 0) {
		ret->fd = hand->in_fd;
		hand->in_fd = -1;
		if (ret->fd < 0) {
			ret->errnum = EMFILE;
			ret->text = "the descriptor did not arrive";
		}
	}
	return 1;
}

static int give_back(const struct neap_hand_config *config, struct neap_error *err)
{
	struct neap_hand_server *server = NULL;
	int done, rc, groups;
	int left = 0;

	if (access(config->run_dir, F_OK) < 0 && errno == ENOENT)
		return 0;
	rc = neap_hand_server_new(config, &server, err);
	if (rc < 0)
		return rc;
	/* An orphaned hand leaves everything unchanged, and its journal to this
	 * process. */
	rc = neap_hand_server_open(server, false, err);
	if (rc < 0) {
		neap_hand_server_free(server);
		return rc;
	}
	done = neap_hand_values_undo(server, &left);
	groups = neap_hand_groups_undo(server);
	(void)neap_hand_stay_tell(server);
	neap_hand_server_free(server);
	if (left || groups)
		return neap_error_set(
			err, NEAP_ECONFLICT,
			"%d values given back; %d values and %d groups could not be, "
			"the log names them",
			done, left, groups);
	return done;
}

int neap_hand_stand_in(const struct neap_hand_config *config, struct neap_error *err)
{
	neap_auto_fd int run_dir_fd = -1;
	struct neap_hand *hand;
	int rc;

	if (access(config->run_dir, F_OK) < 0 && errno == ENOENT)
		return 0;
	run_dir_fd = neap_hand_run_dir_open(config->run_dir, false, err);
	if (run_dir_fd < 0)
		return run_dir_fd;
	if (neap_hand_is_held(run_dir_fd))
		return 0;
	rc = neap_hand_start(config, &hand, err);
	if (rc < 0)
		return rc;
	neap_hand_free(hand); /* from here on it acts as a hand whose daemon is gone */
	return 1;
}

/* A hand that starts meanwhile asks the holder of the lock to hand over, with SIGUSR1. */
int neap_hand_give_back(const struct neap_hand_config *config, struct neap_error *err)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
	int rc;

	(void)sigaction(SIGUSR1, &ignore, &before); /* cannot fail with this signal */
	rc = give_back(config, err);
	(void)sigaction(SIGUSR1, &before, NULL);
	return rc;
}
