/* SPDX-License-Identifier: Apache-2.0
 *
 * Where neapd is when nothing says so, and the token that opens it. */
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

/* The socket when nothing names one: that of a neapd which this very user started with
 * `make run`, if it answers, else NEAP_FIND_SOCKET. Root has the latter alone. */
void neap_socket_find(char *ret, size_t size);

/* From the file that --token-file names, else $NEAP_TOKEN, else NEAP_FIND_TOKEN_FILE,
 * else that of the caller's own neapd; these two are never used for another machine than
 * this. Errors: a named file that cannot be read or is empty; without any token *ret is
 * empty. */
int neap_token_find(const struct neap_ctl *ctl, struct neap_token *ret,
		    struct neap_error *err);

enum neap_listener {
	NEAP_LISTENER_NONE,
	NEAP_LISTENER_TRUSTED,
	NEAP_LISTENER_FOREIGN, /* some other user took the port, while neapd does not run */
};
/* Who listens on this port of NEAP_FIND_HOST: root, we, or the user too are trusted with a token.
 * ret_uid (may be NULL): of the foreign one. */
enum neap_listener neap_listener_judge(int port, uid_t too, uid_t *ret_uid);

#endif
