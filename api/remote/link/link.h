/* SPDX-License-Identifier: Apache-2.0
 *
 * The way to one server, for a loop in a jail without network and without root's files:
 * the processes that connect and read credentials (hw/dialer), the credentials with
 * their rotation, and the transport that uses both.
 *
 * Credentials are read again from time to time, and what cannot be used replaces
 * nothing: a certificate and its key are taken together, when they belong together. A
 * rotation writes two files, and a read may come between. */
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
	/* Who connects and reads. */
	uid_t uid;
	gid_t gid;
	enum neap_jail_mode jail;
	double rate, burst; /* of struct neap_transport_config */
	const struct neap_log *log;
};

struct neap_link_events {
	/* Once: everything that proves both sides was read, and the server can be asked.
	 * On a failure neapd goes on without the server. */
	int (*ready)(void *arg, struct neap_error *err);
	/* Who connects has ended. No other one can be started, as root is gone. */
	void (*lost)(void *arg);
};

/* Forks who connects and reads; as root, if this process has it. Takes target, even on
 * failure. */
int neap_link_open(const struct neap_link_config *config,
		   struct neap_remote_target *target, struct neap_link **ret,
		   struct neap_error *err);
/* Begins to read, as the loop's user. ready may be called before it returns; then its
 * failure is returned. events is borrowed. */
int neap_link_start(struct neap_link *link, struct event_base *base,
		    const struct neap_link_events *events, void *arg,
		    struct neap_error *err);
/* Reads all files again now, as for SIGHUP. Does nothing before the start; NULL is
 * fine. */
void neap_link_reread(struct neap_link *link);
/* Transfers are cancelled. NULL is fine. */
void neap_link_free(struct neap_link *link);

const struct neap_remote_target *neap_link_target(const struct neap_link *link);
/* NULL before the start. */
struct neap_transport *neap_link_transport(const struct neap_link *link);

#endif
