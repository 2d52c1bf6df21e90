/* SPDX-License-Identifier: Apache-2.0
 *
 * Packets of a SOCK_SEQPACKET pair, each with at most one descriptor. */
#ifndef NEAP_HW_PACKET_H
#define NEAP_HW_PACKET_H

#include <stdbool.h>
#include <sys/types.h>

#define NEAP_PACKET_FDS 8 /* that come with a packet at most */

struct neap_packet {
	int fds[NEAP_PACKET_FDS];
	size_t fd_count;
	bool is_cut;    /* it was longer than the room for it */
	bool lacks_fds; /* it had more descriptors than can be open here */
};

/* Sends one packet without blocking, with fd attached (-1: none). Like sendmsg(2). */
ssize_t neap_packet_send(int sock, const void *packet, size_t len, int fd);
/* Receives one packet without blocking, with at most one descriptor (-1: none), which the
 * caller owns. Returns bytes, 0 at the end of the connection, -1 with errno; EMSGSIZE:
 * longer than size, or with more descriptors. */
ssize_t neap_packet_receive(int sock, void *buf, size_t size, int *ret_fd);

/* The same with all that came, also when something is missing. */
ssize_t neap_packet_receive_all(int sock, void *buf, size_t size,
				struct neap_packet *ret);
/* Closes its descriptors. */
void neap_packet_done(struct neap_packet *packet);

#endif
