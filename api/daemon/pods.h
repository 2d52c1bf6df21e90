/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a running neapd joins what runs pods: the keeper, the agent, the objects of this node. */
#ifndef NEAP_API_DAEMON_PODS_H
#define NEAP_API_DAEMON_PODS_H

struct neap_daemon;
struct neap_daemon_pods;
struct neap_error;

/* With --run-pods: forks the keeper; as root, before any thread or socket. */
int neap_daemon_keeper_start(struct neap_daemon *daemon, struct neap_error *err);
/* This node's objects, and with --run-pods its pods; when API and node are there. *daemon->pods is to be freed
 * also after an error. */
int neap_daemon_pods_start(struct neap_daemon *daemon, struct neap_error *err);
/* Before node and API end. Pods go on. */
void neap_daemon_pods_free(struct neap_daemon *daemon);

#endif
