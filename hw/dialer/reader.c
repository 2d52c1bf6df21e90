/* SPDX-License-Identifier: Apache-2.0
 *
 * The process that reads files, one after the other. A file is opened by its name each
 * time: a kubelet renews tokens by replacing a symbolic link beside them. */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "hw/dialer/dialer_priv.h"
#include "hw/packet.h"

#define FOLDER_SIZE 512

/* Whether root is needed for one of the files. The kernel looks at the file system user
 * for that, and takes root's capabilities for files from any other. */
static bool needs_root(const struct neap_dialer_config *config)
{
	bool needs = false;

	if (geteuid() != 0 || config->uid == 0)
		return true; /* nobody else can be become */
	(void)setfsgid(config->gid);
	(void)setfsuid(config->uid);
	for (size_t i = 0; i < config->file_count && !needs; i++) {
		neap_auto_fd int fd =
			open(config->files[i], O_RDONLY | O_NONBLOCK | O_CLOEXEC);

		needs = fd < 0; /* one that does not exist yet may be root's, too */
	}
	(void)setfsuid(0);
	(void)setfsgid(0);
	return needs;
}

static int confine(const struct neap_dialer_config *config, const struct neap_log *log,
		   struct neap_error *err)
{
	struct neap_dialer_jail jail = {.kind = NEAP_JAIL_READER};
	neap_auto_free char(*names)[FOLDER_SIZE] = NULL;
	neap_auto_free const char **folders = NULL;

	names = neap_alloc_array(2 * config->file_count, sizeof(*names));
	folders = neap_alloc_array(2 * config->file_count, sizeof(*folders));
	if (!names || !folders)
		return neap_error_nomem(err);
	for (size_t i = 0; i < 2 * config->file_count; i++) {
		neap_dialer_folder(config->files[i / 2], i % 2, names[i], FOLDER_SIZE);
		folders[i] = names[i];
	}
	jail.folders = folders;
	jail.folder_count = 2 * config->file_count;
	jail.keeps_user = needs_root(config);
	return neap_dialer_confine(config, &jail, log, err);
}

/* Sends one packet, and waits for room. False when the loop is gone. */
static bool send_all(int sock, const struct neap_dialer_packet *head, const char *text)
{
	for (;;) {
		struct pollfd p = {.fd = sock, .events = POLLOUT};
		int rc = neap_dialer_send(sock, head, text, -1);

		if (rc != 0)
			return rc > 0;
		/* Without memory for a packet the socket has room all the same. */
		(void)poll(&p, 1, 100);
		if (p.revents & POLLOUT)
			(void)usleep(1000);
	}
}

/* False when the loop is gone. */
static bool file_send(const struct neap_dialer_config *config, int sock,
		      const struct neap_dialer_packet *request)
{
	struct neap_dialer_packet head = *request;
	neap_auto_buf struct neap_buf text = {0};
	struct neap_error err = {0};
	size_t at = 0;
	int rc;

	neap_buf_init(&text, NEAP_DIALER_FILE_MAX);
	rc = request->op == NEAP_DIALER_READ && request->index < config->file_count
		     ? neap_file_load(config->files[request->index], &text, &err)
		     : neap_error_set(&err, NEAP_EFORBIDDEN, "no file of this number");
	if (rc < 0) {
		head.code = -rc;
		head.is_last = 1;
		head.len = (uint32_t)strlen(err.msg);
		return send_all(sock, &head, err.msg);
	}
	do {
		size_t left = text.len - at;

		head.is_last = left <= NEAP_DIALER_PIECE;
		head.len = (uint32_t)(head.is_last ? left : NEAP_DIALER_PIECE);
		if (!send_all(sock, &head, text.data + at))
			return false;
		at += head.len;
	} while (!head.is_last);
	return true;
}

_Noreturn void neap_reader_serve(const struct neap_dialer_config *config, int sock)
{
	struct neap_log log = *config->log;
	struct neap_error err = {0};
	bool goes_on;
	int rc;

	log.program = "neap-reader";
	rc = neap_dialer_begin(config, "neap-reader", sock, &err);
	if (rc == 0)
		rc = confine(config, &log, &err);
	neap_dialer_hello(sock, rc, &err);
	goes_on = rc >= 0;
	while (goes_on) {
		struct pollfd p = {.fd = sock, .events = POLLIN};
		struct neap_dialer_packet request = {0};
		ssize_t n;
		int fd = -1;

		(void)poll(&p, 1, -1); /* interrupted: nothing waits */
		if (!p.revents)
			continue;
		n = neap_packet_receive(sock, &request, sizeof(request), &fd);
		neap_fd_close(&fd);
		goes_on = n == sizeof(request) && request.magic == NEAP_DIALER_MAGIC &&
			  file_send(config, sock, &request);
	}
	_exit(rc < 0);
}
