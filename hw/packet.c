/* SPDX-License-Identifier: Apache-2.0 */
#include "hw/packet.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FDS_MAX 8 /* that a packet can bring; more than one are closed again */

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

ssize_t neap_packet_receive(int sock, void *buf, size_t size, int *ret_fd)
{
	union {
		char room[CMSG_SPACE(sizeof(int) * FDS_MAX)];
		struct cmsghdr align;
	} control;
	struct iovec iov = {buf, size};
	struct msghdr head = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *part;
	int fds[FDS_MAX];
	size_t count = 0;
	int resets = 0;
	ssize_t n;

	*ret_fd = -1;
	do {
		head.msg_control = control.room;
		head.msg_controllen = sizeof(control.room);
		n = recvmsg(sock, &head, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		/* Reset is told once, by a side that ended without reading all; what it sent before is
		 * still there. */
	} while (n < 0 && (errno == EINTR || (errno == ECONNRESET && !resets++)));
	if (n < 0)
		return n;
	for (part = CMSG_FIRSTHDR(&head); part; part = CMSG_NXTHDR(&head, part)) {
		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
			continue;
		count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds, CMSG_DATA(part), count * sizeof(int));
	}
	if (count <= 1 && !(head.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
		if (count)
			*ret_fd = fds[0];
		return n;
	}
	while (count > 0)
		(void)close(fds[--count]);
	errno = EMSGSIZE;
	return -1;
}
