/* SPDX-License-Identifier: Apache-2.0
 *
 * sd_notify(3), implemented here: the protocol is stable, and libsystemd would be linked
 * for one send. */
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/daemon/notify.h"
#include "engine/base/file.h"
#include "engine/base/quantity.h"

#define TRIES        3
#define MUST_WAIT_MS 1000 /* between the first try and the last one */

static int address_set(struct neap_notify *notify, const char *path,
		       struct neap_error *err)
{
	struct sockaddr_un *to = &notify->address;
	size_t len = strlen(path);

	if ((path[0] != '/' && path[0] != '@') || len < 2 || len >= sizeof(to->sun_path))
		return neap_error_field(
			err, NEAP_EINVAL, "NOTIFY_SOCKET",
			"'%.120s' is no socket: it must be an absolute path or begin "
			"with @, and have at most %zu bytes",
			path, sizeof(to->sun_path) - 1);
	to->sun_family = AF_UNIX;
	memcpy(to->sun_path, path, len + 1);
	notify->address_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
	if (path[0] == '@')
		to->sun_path[0] =
			'\0'; /* the abstract namespace, where every byte counts */
	else
		notify->address_len++;
	return 0;
}

static int connect_to(struct neap_notify *notify, const char *path,
		      struct neap_error *err)
{
	if (address_set(notify, path, err) < 0)
		return -(int)err->code;
	notify->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (notify->fd < 0)
		return neap_error_sys(err, "socket for NOTIFY_SOCKET");
	if (connect(notify->fd, (const struct sockaddr *)&notify->address,
		    notify->address_len) == 0)
		return 0;
	(void)neap_error_sys(err, "NOTIFY_SOCKET: connect to %.160s", path);
	neap_notify_close(notify);
	return -(int)err->code;
}

/* A watchdog for another process (WATCHDOG_PID) is ignored. */
static int watchdog_set(struct neap_notify *notify, const char *usec, const char *pid,
			struct neap_error *err)
{
	int64_t number;

	if (usec == NULL)
		return 0;
	if (pid != NULL && (neap_int_parse(pid, &number, NULL) < 0 || number < 1))
		return neap_error_field(err, NEAP_EINVAL, "WATCHDOG_PID",
					"'%.40s' is no process number", pid);
	if (pid != NULL && number != getpid())
		return 0;
	if (neap_int_parse(usec, &number, NULL) < 0 || number < 1)
		return neap_error_field(err, NEAP_EINVAL, "WATCHDOG_USEC",
					"'%.40s' is no number of microseconds", usec);
	notify->watchdog_usec = number;
	return 0;
}

int neap_notify_open(struct neap_notify *notify, struct neap_error *err)
{
	const char *path = getenv("NOTIFY_SOCKET");
	int rc = 0;

	memset(notify, 0, sizeof(*notify));
	notify->fd = -1;
	if (path != NULL)
		rc = connect_to(notify, path, err);
	if (rc == 0 && notify->fd >= 0)
		rc = watchdog_set(notify, getenv("WATCHDOG_USEC"), getenv("WATCHDOG_PID"),
				  err);
	(void)unsetenv("NOTIFY_SOCKET");
	(void)unsetenv("WATCHDOG_USEC");
	(void)unsetenv("WATCHDOG_PID");
	return rc;
}

void neap_notify_close(struct neap_notify *notify)
{
	neap_fd_close(&notify->fd);
}

/* False: not sent. A message with must waits for a slow manager, but not forever. */
static bool tell(struct neap_notify *notify, bool must, const char *text)
{
	struct pollfd writable = {.fd = notify->fd, .events = POLLOUT};
	size_t len = strlen(text);
	int tries;

	for (tries = 0; notify->fd >= 0 && tries < TRIES; tries++) {
		if (send(notify->fd, text, len, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
			return true;
		if (errno == EAGAIN && must && tries < TRIES - 1)
			(void)poll(&writable, 1, MUST_WAIT_MS / (TRIES - 1));
		else if (errno == ECONNREFUSED || errno == ENOTCONN ||
			 errno == ECONNRESET) /* another manager has replaced it */
			(void)connect(notify->fd,
				      (const struct sockaddr *)&notify->address,
				      notify->address_len);
		else if (errno != EINTR)
			break;
	}
	return false;
}

/* Sends "head" and a status of one line; a line end in it would start another message. */
static bool tell_status(struct neap_notify *notify, bool must, const char *head,
			const char *status)
{
	char text[NEAP_NOTIFY_STATUS + 128], *c;

	(void)snprintf(text, sizeof(text), "%sSTATUS=%.*s", head, NEAP_NOTIFY_STATUS - 1,
		       status);
	for (c = text + strlen(head); *c != '\0'; c++)
		if (*c == '\n' || *c == '\r')
			*c = ' ';
	if (!tell(notify, must, text))
		return false;
	(void)snprintf(notify->status, sizeof(notify->status), "%s", status);
	return true;
}

void neap_notify_ready(struct neap_notify *notify, const char *status)
{
	(void)tell_status(notify, true, "READY=1\n", status);
}

void neap_notify_status(struct neap_notify *notify, const char *status)
{
	if (notify->fd >= 0 &&
	    strncmp(notify->status, status, sizeof(notify->status) - 1) != 0)
		(void)tell_status(notify, false, "", status);
}

void neap_notify_reloading(struct neap_notify *notify, int64_t mono_usec)
{
	char text[80];

	(void)snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%lld",
		       (long long)mono_usec);
	(void)tell(notify, true, text);
}

void neap_notify_stopping(struct neap_notify *notify)
{
	(void)tell_status(notify, true, "STOPPING=1\n", "ending");
}

void neap_notify_failed(struct neap_notify *notify, int errnum, const char *why)
{
	char head[32] = "";

	if (errnum > 0)
		(void)snprintf(head, sizeof(head), "ERRNO=%d\n", errnum);
	(void)tell_status(notify, true, head, why);
}

void neap_notify_alive(struct neap_notify *notify)
{
	(void)tell(notify, false, "WATCHDOG=1");
}

bool neap_notify_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;
	char end;

	return stream != NULL && sscanf(stream, "%llu:%llu%c", &dev, &ino, &end) == 2 &&
	       fstat(STDERR_FILENO, &st) == 0 && st.st_dev == dev && st.st_ino == ino;
}
