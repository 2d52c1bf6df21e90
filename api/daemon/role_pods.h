/* SPDX-License-Identifier: Apache-2.0
 *
 * The pods of this node in a running neapd: the keeper, the agent, the node's objects. */
#ifndef NEAP_API_DAEMON_ROLE_PODS_H
#define NEAP_API_DAEMON_ROLE_PODS_H

#include "api/daemon/process.h"
#include "engine/machine/cpuset.h"

struct neap_agent;
struct neap_client;
struct neap_daemon_api;
struct neap_keeper;
struct neap_node;
struct neap_node_keep;
struct neap_pins;

struct neap_role_pods {
	struct neap_keeper *keeper; /* NULL without --run-pods */
	uid_t uid;                  /* of --run-pods-user */
	char dir[160];              /* folder of pods, below DATA_DIR */
	struct neap_node_keep *keep;
	struct neap_agent *agent;
	struct neap_pins *pins;
	struct neap_cpuset reserved_cpus, system_cpus; /* of the options */
};

/* Forks the keeper, with --run-pods. Needs root; before any thread or socket. */
int neap_role_pods_fork(struct neap_role_pods *role, const struct neap_process *process,
			struct neap_error *err);
/* Starts this node's objects, and with --run-pods its pods. client: what the objects
 * are seen through; api: for logs of pods, NULL without. Does nothing when client or node
 * is NULL. labels are the node's. Everything is borrowed. */
int neap_role_pods_start(struct neap_role_pods *role, const struct neap_process *process,
			 struct neap_client *client, const struct neap_daemon_api *api,
			 struct neap_node *node, const json_t *labels,
			 struct neap_error *err);
/* Call it before node and API end. Pods go on running. */
void neap_role_pods_stop(struct neap_role_pods *role);
void neap_role_pods_free(struct neap_role_pods *role);

#endif
