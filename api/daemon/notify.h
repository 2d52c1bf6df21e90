/* SPDX-License-Identifier: Apache-2.0
 *
 * What a service manager is told, by the protocol of sd_notify(3): one datagram of lines a message, to the
 * unix socket that NOTIFY_SOCKET names. Without a manager every call does nothing. The socket is opened
 * once, as root, and kept: the loop needs no path later. Nothing here waits for longer than a second,
 * and only for messages that a manager cannot do without. */
#ifndef NEAP_API_DAEMON_NOTIFY_H
#define NEAP_API_DAEMON_NOTIFY_H

#include <sys/socket.h>
#include <sys/un.h>

#include "engine/base/error.h"

#define NEAP_NOTIFY_STATUS                                                               \
	480 /* bytes of a status line, its end included; longer ones are cut */

struct neap_notify {
	int fd; /* -1: nobody listens */
	struct sockaddr_un address;
	socklen_t address_len;
	int64_t watchdog_usec; /* within which the manager wants to hear from us; 0: it does not */
	char status[NEAP_NOTIFY_STATUS]; /* as told last */
};

/* Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, and takes them out of the environment, so that no
 * child speaks for us. After an error there is no socket (one that cannot be used) or no watchdog (a time
 * that is none): neapd works without. */
int neap_notify_open(struct neap_notify *notify, struct neap_error *err);
/* Also of one that could not be opened. */
void neap_notify_close(struct neap_notify *notify);

/* The service works; also ends a reload. */
void neap_notify_ready(struct neap_notify *notify, const char *status);
/* What `systemctl status` shows. Sent when it differs from what was told last. */
void neap_notify_status(struct neap_notify *notify, const char *status);
/* A reload begins, at this time of CLOCK_MONOTONIC. */
void neap_notify_reloading(struct neap_notify *notify, int64_t mono_usec);
void neap_notify_stopping(struct neap_notify *notify);
/* It ends for this reason; errnum 0 where there is none. */
void neap_notify_failed(struct neap_notify *notify, int errnum, const char *why);
/* The loop turns. */
void neap_notify_alive(struct neap_notify *notify);

/* Standard error is a stream of the journal: JOURNAL_STREAM names the file that it is. */
bool neap_notify_is_journal(void);

#endif
