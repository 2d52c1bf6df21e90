/* SPDX-License-Identifier: Apache-2.0
 *
 * The connection to one server, for a loop in a jail without network and without root's
 * files: the processes that connect and read credentials (hw/dialer), the credentials
 * with their rotation, and the transport that uses both.
 *
 * Credentials are read again from time to time; unusable ones replace nothing. A
 * certificate and its key are replaced together, and only if they match, because a
 * rotation writes two files and a read may come between. */
#ifndef NEAP_API_REMOTE_LINK_LINK_H
#define NEAP_API_REMOTE_LINK_LINK_H

#include <sys/types.h>

#include "api/remote/kubeconfig.h"
#include "api/remote/transport.h"
#include "engine/log/log.h"
#include "hw/jail.h"

struct event_base;
struct neap_link;

struct neap_link_config {
	const char *name; /* of the server, in log lines: "api server"; a literal */
	/* For the processes that connect and read. */
	uid_t uid;
	gid_t gid;
	enum neap_jail_mode jail;
	double rate, burst; /* of struct neap_transport_config */
	const struct neap_log *log;
};

struct neap_link_events {
	/* Called once, when all credentials were read and requests can be sent. On a
	 * failure neapd goes on without the server. */
	int (*ready)(void *arg, struct neap_error *err);
	/* The dialer has ended. No other one can be started, because root is gone. */
	void (*lost)(void *arg);
};

/* Forks the processes that connect and read; call it as root, if possible. Takes target,
 * even on failure. */
int neap_link_open(const struct neap_link_config *config,
		   struct neap_remote_target *target, struct neap_link **ret,
		   struct neap_error *err);
/* Starts to read, as the loop's user. ready may be called before this returns; then its
 * failure is returned. events is borrowed. */
int neap_link_start(struct neap_link *link, struct event_base *base,
		    const struct neap_link_events *events, void *arg,
		    struct neap_error *err);
/* Reads all files again now (SIGHUP). Does nothing before the start; NULL is fine. */
void neap_link_reread(struct neap_link *link);
/* Sets the token, of a target without a token file, for requests to come; copied. NULL:
 * none. -NEAP_ENOMEM. */
int neap_link_set_token(struct neap_link *link, const char *token,
			struct neap_error *err);
/* Transfers are cancelled. NULL is fine. */
void neap_link_free(struct neap_link *link);

const struct neap_remote_target *neap_link_target(const struct neap_link *link);
/* NULL before the start. */
struct neap_transport *neap_link_transport(const struct neap_link *link);

#endif
