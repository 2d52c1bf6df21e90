/* SPDX-License-Identifier: Apache-2.0
 *
 * Packets of a SOCK_SEQPACKET pair, each with at most one descriptor. */
#ifndef NEAP_HW_PACKET_H
#define NEAP_HW_PACKET_H

#include <sys/types.h>

/* One packet, without waiting; fd goes with it, -1 for none. As sendmsg(2). */
ssize_t neap_packet_send(int sock, const void *packet, size_t len, int fd);
/* One packet, without waiting, with at most one descriptor (-1 for none), which is the caller's. Bytes, 0 at
 * the end of the connection, -1 with errno; EMSGSIZE: longer than size, or with more descriptors. */
ssize_t neap_packet_receive(int sock, void *buf, size_t size, int *ret_fd);

#endif
