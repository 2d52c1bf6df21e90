/* SPDX-License-Identifier: Apache-2.0
 *
 * The objects of a real kube-apiserver (--kubeconfig) in a running neapd: the connection,
 * the credentials and their rotation, the clients of the loops, and the Lease that
 * decides which of several neapds works. */
#ifndef NEAP_API_DAEMON_ROLE_REMOTE_H
#define NEAP_API_DAEMON_ROLE_REMOTE_H

#include "api/daemon/process.h"
#include "api/remote/lease.h"
#include "api/remote/link/link.h"
#include "api/remote/remote.h"

struct neap_buf;

struct neap_role_remote {
	const struct neap_process *process;
	struct neap_link *link;          /* NULL without --kubeconfig */
	char by_name[300], by_node[300]; /* field selectors of this node's objects */
	/* Clients of these roles, NULL without; the first is the descheduler's where that
	 * is the role. */
	struct neap_remote *scheduler, *node;
	struct neap_lease *lease; /* of the first; NULL with --leader-elect=false */
	const struct neap_role_remote_events *events;
	void *arg;
	bool is_filled, is_node_filled; /* these clients */
	bool is_leading, has_begun, is_ending;
	uint64_t reign; /* how often it has led */
};

struct neap_role_remote_events {
	/* begin: the scheduler may work, because its client is filled and this neapd
	 * leads. end: it must stop. Called alternately. */
	void (*begin)(void *arg);
	void (*end)(void *arg);
	/* Called once, when the client of the role node is filled. */
	void (*node_filled)(void *arg);
	/* The dialer has ended, and neapd cannot start another one. neapd must end; its
	 * supervisor then starts it again. */
	void (*lost)(void *arg);
};

/* Finds the server and forks the processes that connect to it; call it as root, if
 * possible. Does nothing without --kubeconfig. process is borrowed. */
int neap_role_remote_open(struct neap_role_remote *role,
			  const struct neap_process *process, struct neap_error *err);
/* Starts to read, as the loop's user. events is borrowed. */
int neap_role_remote_start(struct neap_role_remote *role,
			   const struct neap_role_remote_events *events, void *arg,
			   struct neap_error *err);
/* Returns whether everything that its roles need was read. */
bool neap_role_remote_is_filled(const struct neap_role_remote *role);
/* Returns whether the scheduler works; if not, *ret_why says why. */
bool neap_role_remote_is_working(const struct neap_role_remote *role,
				 const char **ret_why);
/* Adds its metrics, for /metrics; none before the start. */
void neap_role_remote_add_metrics(void *arg, struct neap_buf *out);
/* Call it after the loops have ended. Releases the Lease, which may take a second, and
 * frees everything. */
void neap_role_remote_free(struct neap_role_remote *role);

#endif
