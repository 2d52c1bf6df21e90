/* SPDX-License-Identifier: Apache-2.0 */
#include "hw/packet.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

ssize_t neap_packet_send(int sock, const void *packet, size_t len, int fd)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = {(void *)packet, len}; /* sendmsg only reads it */
	struct msghdr head = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *part;

	if (fd >= 0) {
		memset(&control, 0, sizeof(control));
		head.msg_control = control.room;
		head.msg_controllen = sizeof(control.room);
		part = CMSG_FIRSTHDR(&head);
		part->cmsg_level = SOL_SOCKET;
		part->cmsg_type = SCM_RIGHTS;
		part->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(part), &fd, sizeof(int));
	}
	return sendmsg(sock, &head, MSG_DONTWAIT | MSG_NOSIGNAL);
}

ssize_t neap_packet_receive_all(int sock, void *buf, size_t size, struct neap_packet *ret)
{
	union {
		char room[CMSG_SPACE(sizeof(int) * NEAP_PACKET_FDS)];
		struct cmsghdr align;
	} control;
	struct iovec iov = {buf, size};
	struct msghdr head = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *part;
	int resets = 0;
	ssize_t n;

	ret->fd_count = 0;
	do {
		head.msg_control = control.room;
		head.msg_controllen = sizeof(control.room);
		n = recvmsg(sock, &head, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		/* A reset is reported once, when the other side ended without reading
		 * everything; its earlier messages are still there. */
	} while (n < 0 && (errno == EINTR || (errno == ECONNRESET && !resets++)));
	if (n < 0)
		return n;
	for (part = CMSG_FIRSTHDR(&head); part; part = CMSG_NXTHDR(&head, part)) {
		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
			continue;
		ret->fd_count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(ret->fds, CMSG_DATA(part), ret->fd_count * sizeof(int));
	}
	ret->is_cut = head.msg_flags & MSG_TRUNC;
	ret->lacks_fds = head.msg_flags & MSG_CTRUNC;
	return n;
}

void neap_packet_done(struct neap_packet *packet)
{
	while (packet->fd_count > 0)
		(void)close(packet->fds[--packet->fd_count]);
}

ssize_t neap_packet_receive(int sock, void *buf, size_t size, int *ret_fd)
{
	struct neap_packet packet;
	ssize_t n = neap_packet_receive_all(sock, buf, size, &packet);

	*ret_fd = -1;
	if (n < 0)
		return n;
	if (packet.fd_count <= 1 && !packet.is_cut && !packet.lacks_fds) {
		if (packet.fd_count)
			*ret_fd = packet.fds[0];
		return n;
	}
	neap_packet_done(&packet);
	errno = EMSGSIZE;
	return -1;
}
