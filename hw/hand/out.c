/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers on their way to the daemon: gathered into packets, because one packet per
 * answer costs more than the writes, and sent when the socket accepts them. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "hw/hand/hand_priv.h"
#include "hw/packet.h"

#define FULL_WAIT_MS 20
#define WAIT_MS      5000
#define TRY_MS       50

void neap_hand_out_drop(struct neap_hand_server *server)
{
	struct neap_hand_packet *packet = server->out;

	server->out = packet->next;
	if (!server->out)
		server->out_end = &server->out;
	neap_fd_close(&packet->fd);
	free(packet);
}

void neap_hand_out_flush(struct neap_hand_server *server)
{
	while (server->out && server->sock >= 0) {
		ssize_t n = neap_packet_send(server->sock, server->out->data,
					     server->out->len, server->out->fd);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		/* The socket is writable all the same, so that nothing else would make us
		 * wait: too many descriptors on their way to a daemon that does not take
		 * them, or no memory. */
		if (n < 0 &&
		    (errno == ENOBUFS || errno == ENOMEM || errno == ETOOMANYREFS)) {
			(void)poll(NULL, 0, FULL_WAIT_MS);
			return;
		}
		/* Another failure means that the daemon is gone; the hangup says so in a
		 * moment. */
		neap_hand_out_drop(server);
	}
}

/* Without memory for a packet, the gathered answers are sent directly, after all earlier
 * ones; the hand waits a while for that. A daemon would wait forever for a lost
 * answer. */
static bool send_at_once(struct neap_hand_server *server, int fd)
{
	struct pollfd p = {.fd = server->sock, .events = POLLOUT};

	for (int i = 0; i < WAIT_MS / TRY_MS && server->sock >= 0; i++) {
		neap_hand_out_flush(server);
		if (!server->out && neap_packet_send(server->sock, server->gather,
						     server->gathered, fd) >= 0)
			return true;
		if (poll(&p, 1, TRY_MS) <= 0)
			continue;
		if (p.revents & POLLHUP)
			return true; /* nobody waits */
		(void)poll(NULL, 0,
			   TRY_MS); /* writable: the kernel has no memory either */
	}
	return false;
}

void neap_hand_out_close(struct neap_hand_server *server, int fd)
{
	struct neap_hand_packet *packet;

	if (server->gathered == 0)
		return;
	packet = neap_alloc(sizeof(*packet) + server->gathered);
	if (!packet) {
		if (!send_at_once(server, fd))
			neap_log_line(&server->log, NEAP_LOG_ERROR,
				      "answers lost: no memory");
		server->gathered = 0;
		neap_fd_close(&fd);
		return;
	}
	packet->fd = fd;
	packet->len = server->gathered;
	memcpy(packet->data, server->gather, server->gathered);
	*server->out_end = packet;
	server->out_end = &packet->next;
	server->gathered = 0;
}

void neap_hand_out_add(struct neap_hand_server *server,
		       const struct neap_hand_answer *answer)
{
	unsigned char msg[NEAP_WIRE_MAX];
	struct neap_error err = {0};
	int fd = neap_wire_brings_fd(answer->op) ? answer->fd : -1;
	size_t len = 0;

	if (neap_wire_format_answer(answer, msg, sizeof(msg), &len, &err) < 0) {
		neap_log_line(&server->log, NEAP_LOG_ERROR, "answer lost: %s", err.msg);
		neap_fd_close(&fd);
		return;
	}
	if (fd >= 0 || server->gathered + len > sizeof(server->gather))
		neap_hand_out_close(server, -1);
	memcpy(server->gather + server->gathered, msg, len);
	server->gathered += len;
	if (fd >= 0)
		neap_hand_out_close(server, fd);
}
