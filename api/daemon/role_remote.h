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

/* A role of which one works in the whole cluster, as two neapds would have it: it reads
 * the cluster by a client of its own, and has a Lease of its own. */
struct neap_role_leader {
	struct neap_role_remote *remote;
	enum neap_role role;
	struct neap_remote *client; /* NULL without the role */
	struct neap_lease *lease;   /* NULL with --leader-elect=false */
	bool is_filled, is_leading, has_begun;
	uint64_t reign; /* how often it has led */
};

enum neap_leader_number { NEAP_LEADER_SCHEDULER, NEAP_LEADER_DESCHEDULER, NEAP_LEADERS };

struct neap_role_remote {
	const struct neap_process *process;
	struct neap_link *link;          /* NULL without --kubeconfig */
	char by_name[300], by_node[300]; /* field selectors of this node's objects */
	struct neap_role_leader leaders[NEAP_LEADERS];
	struct neap_remote *node; /* client of the role node; NULL without */
	const struct neap_role_remote_events *events;
	void *arg;
	bool is_node_filled, is_ending;
};

struct neap_role_remote_events {
	/* begin: the role may work on what the client shows, because the client is filled
	 * and this neapd leads. end: it must stop. Called alternately for each role. */
	void (*begin)(void *arg, enum neap_leader_number which,
		      struct neap_client *client);
	void (*end)(void *arg, enum neap_leader_number which);
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
/* Returns whether the scheduler works, or the descheduler where that is the only role; if
 * not, *ret_why says why. */
bool neap_role_remote_is_working(const struct neap_role_remote *role,
				 const char **ret_why);
/* Adds its metrics, for /metrics; none before the start. */
void neap_role_remote_add_metrics(void *arg, struct neap_buf *out);
/* Call it after the loops have ended. Releases the Leases, which may take a second, and
 * frees everything. */
void neap_role_remote_free(struct neap_role_remote *role);

#endif
