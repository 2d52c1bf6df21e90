/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds neapd when no option says where it is, and its token. */
#ifndef NEAP_API_CTL_BASE_FIND_H
#define NEAP_API_CTL_BASE_FIND_H

#include <sys/types.h>

#include "api/ctl/base/ctl.h"

#define NEAP_FIND_SOCKET     "/run/neap/neap.sock"
#define NEAP_FIND_HOST       "127.0.0.1"
#define NEAP_FIND_PORT       6327
#define NEAP_FIND_SERVER     "127.0.0.1:6327"
#define NEAP_FIND_TOKEN_FILE "/var/lib/neap/token"

#define NEAP_TOKEN_MAX 256

struct neap_token {
	char text[NEAP_TOKEN_MAX]; /* "" without one */
	uid_t owner;               /* of its file, else our own */
};

/* The default socket: that of a neapd which this user started with `make run`, if it
 * answers, else NEAP_FIND_SOCKET. Root always gets the latter. */
void neap_socket_find(char *ret, size_t size);

/* Reads the token from --token-file, else $NEAP_TOKEN, else NEAP_FIND_TOKEN_FILE, else
 * from the caller's own neapd; the last two are used for this machine only. Errors: a
 * given file that is unreadable or empty. Without any token *ret is empty. */
int neap_token_find(const struct neap_ctl *ctl, struct neap_token *ret,
		    struct neap_error *err);

enum neap_listener {
	NEAP_LISTENER_NONE,
	NEAP_LISTENER_TRUSTED,
	NEAP_LISTENER_FOREIGN, /* another user holds the port while neapd is down */
};
/* Judges who listens on this port of NEAP_FIND_HOST: a token may go to root, to us, or to
 * user too. ret_uid (may be NULL): the foreign user. */
enum neap_listener neap_listener_judge(int port, uid_t too, uid_t *ret_uid);

#endif
