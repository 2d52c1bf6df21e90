/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages to a service manager by the protocol of sd_notify(3): one datagram of lines
 * per message, to the unix socket in NOTIFY_SOCKET. Without a manager every call does
 * nothing. The socket is opened once, as root, and kept, so the loop needs no path.
 * Nothing blocks for more than a second, and only for messages that a manager needs. */
#ifndef NEAP_API_DAEMON_NOTIFY_H
#define NEAP_API_DAEMON_NOTIFY_H

#include <sys/socket.h>
#include <sys/un.h>

#include "engine/base/error.h"

#define NEAP_NOTIFY_STATUS                                                               \
	480 /* bytes of a status line with its end; longer ones are cut */

struct neap_notify {
	int fd; /* -1: nobody listens */
	struct sockaddr_un address;
	socklen_t address_len;
	/* interval in which the manager expects messages; 0: none */
	int64_t watchdog_usec;
	char status[NEAP_NOTIFY_STATUS]; /* as told last */
};

/* Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, and removes them from the
 * environment, so that no child uses them. After an error there is no socket (unusable)
 * or no watchdog (invalid time), and neapd works without. */
int neap_notify_open(struct neap_notify *notify, struct neap_error *err);
/* Also for one that could not be opened. */
void neap_notify_close(struct neap_notify *notify);

/* The service works; also ends a reload. */
void neap_notify_ready(struct neap_notify *notify, const char *status);
/* The status line of `systemctl status`. Sent when it differs from the last one. */
void neap_notify_status(struct neap_notify *notify, const char *status);
/* A reload starts, at this time of CLOCK_MONOTONIC. */
void neap_notify_reloading(struct neap_notify *notify, int64_t mono_usec);
void neap_notify_stopping(struct neap_notify *notify);
/* It ends for this reason; errnum 0 if there is none. */
void neap_notify_failed(struct neap_notify *notify, int errnum, const char *why);
/* The loop turns. */
void neap_notify_alive(struct neap_notify *notify);

/* Returns whether standard error is the journal's stream, by JOURNAL_STREAM. */
bool neap_notify_is_journal(void);

#endif
