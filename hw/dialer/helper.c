/* SPDX-License-Identifier: Apache-2.0
 *
 * The first steps of both processes, and sending. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "hw/dialer/dialer_priv.h"
#include "hw/packet.h"
#include "hw/process.h"

#define FOLDERS_MAX (2 * NEAP_DIALER_FILES)

int neap_dialer_begin(const struct neap_dialer_config *config, const char *name, int sock,
		      struct neap_error *err)
{
	/* SIGTERM too, which a supervisor sends to all: the loop still gives back leases,
	 * and ends this process by closing its socket. */
	static const int ignored[] = {SIGINT,  SIGQUIT, SIGHUP,  SIGPIPE,
				      SIGTERM, SIGTTOU, SIGTTIN, SIGTSTP,
				      SIGUSR1, SIGUSR2, 0};
	static const int blocked[] = {0};
	const int keep[] = {sock, config->log->fd};
	int signal_fd;

	(void)setsid();
	(void)prctl(PR_SET_NAME, name, 0, 0, 0);
	if (chdir("/") < 0)
		errno = 0; /* any directory that holds no mount would do */
	neap_process_fds_keep(keep, NEAP_ARRAY_LEN(keep));
	signal_fd = neap_process_signals(ignored, blocked, err);
	if (signal_fd < 0)
		return signal_fd;
	(void)close(signal_fd);
	return 0;
}

void neap_dialer_folder(const char *file, bool real, char *ret, size_t size)
{
	neap_auto_free char *resolved = real ? realpath(file, NULL) : NULL;
	const char *path = real ? resolved : file;
	char *slash;

	ret[0] = '\0';
	if (!path || !neap_strcopy(ret, size, path))
		return;
	slash = strrchr(ret, '/');
	if (slash)
		slash[slash == ret] = '\0'; /* of "/token" it is "/" */
}

static int user_become(const struct neap_dialer_config *config, struct neap_error *err)
{
	if (geteuid() != 0 || config->uid == 0)
		return 0;
	if (setgroups(0, NULL) < 0 ||
	    setresgid(config->gid, config->gid, config->gid) < 0 ||
	    setresuid(config->uid, config->uid, config->uid) < 0)
		return neap_error_sys(err, "become user %u", (unsigned)config->uid);
	if (setuid(0) == 0 || geteuid() != config->uid)
		return neap_error_set(err, NEAP_EINTERNAL, "root could not be given up");
	return 0;
}

static int places_set(struct neap_jail_place *places, size_t count,
		      const struct neap_dialer_jail *jail, struct neap_error *err)
{
	int version =
		neap_jail_places_dial(places, count, jail->ports, jail->port_count, err);

	while (count > 0)
		neap_fd_close(&places[--count].fd);
	return version;
}

int neap_dialer_confine(const struct neap_dialer_config *config,
			const struct neap_dialer_jail *jail, const struct neap_log *log,
			struct neap_error *err)
{
	struct neap_jail_place places[FOLDERS_MAX];
	struct neap_error why = {0};
	size_t count = 0;
	int version, rc;

	for (size_t i = 0; i < jail->folder_count && count < FOLDERS_MAX; i++) {
		const char *folder = jail->folders[i];
		int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (fd >= 0)
			places[count++] = (struct neap_jail_place){.fd = fd};
		else if (folder[0] != '\0')
			neap_log_line(
				log, NEAP_LOG_WARN,
				"%s cannot be opened (%s): what appears in it later "
				"will not be read",
				folder, strerror(errno));
	}
	if (neap_jail_bound(0, err) < 0 ||
	    (!jail->keeps_user && user_become(config, err) < 0) ||
	    neap_jail_drop(0, err) < 0)
		return -(int)err->code;
	version = places_set(places, count, jail, err);
	if (version < 0)
		return version;
	if (version == 0)
		neap_log_line(log, NEAP_LOG_DEBUG,
			      "this kernel has no Landlock: places are not confined");
	rc = neap_jail_filter(jail->kind, config->jail, &why);
	if (rc == -NEAP_EUNSUPPORTED) {
		/* The daemon runs into the same problem, and warns. */
		neap_log_line(log, NEAP_LOG_DEBUG, "system calls are not filtered: %s",
			      why.msg);
	} else if (rc < 0) {
		*err = why;
		return rc;
	}
	return version;
}

void neap_dialer_hello(int sock, int code, const struct neap_error *err)
{
	const char *text = code < 0 ? err->msg : "";
	const struct neap_dialer_packet head = {
		.magic = NEAP_DIALER_MAGIC,
		.op = NEAP_DIALER_HELLO,
		.index = code < 0 ? 0 : (uint32_t)code,
		.code = code < 0 ? -code : 0,
		.is_last = 1,
		.len = (uint32_t)strlen(text),
	};

	/* A loop that is gone shows at the first receive. */
	(void)neap_dialer_send(sock, &head, text, -1);
}

int neap_dialer_send(int sock, const struct neap_dialer_packet *head, const char *text,
		     int fd)
{
	char packet[sizeof(*head) + NEAP_DIALER_PIECE];
	ssize_t n;

	memcpy(packet, head, sizeof(*head));
	if (head->len)
		memcpy(packet + sizeof(*head), text, head->len);
	do
		n = neap_packet_send(sock, packet, sizeof(*head) + head->len, fd);
	while (n < 0 && errno == EINTR);
	if (n >= 0)
		return 1;
	return errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM ||
			       errno == ETOOMANYREFS
		       ? 0
		       : -1;
}
