/* SPDX-License-Identifier: Apache-2.0
 *
 * The control API of a running neapd. */
#ifndef NEAP_API_DAEMON_CONTROL_NODE_H
#define NEAP_API_DAEMON_CONTROL_NODE_H

#include "api/daemon/role_node.h"
#include "api/daemon/role_server.h"
#include "api/task/turns.h"

struct neap_control;
struct neap_control_audit;
struct neap_control_policies;
struct neap_daemon_controllers;
struct neap_look;
struct neap_metrics;
struct neap_client;
struct neap_role_remote;

/* The parts that it answers for; borrowed. */
struct neap_role_control {
	struct neap_role_node *node;
	struct neap_role_server *server;
	const struct neap_daemon_controllers *controllers; /* NULL: none yet */
	struct neap_client *client;            /* of the controllers; NULL: none yet */
	const struct neap_role_remote *remote; /* NULL: the objects are neapd's own */
	struct neap_control *control;
	struct neap_control_policies *policies;
	struct neap_control_audit *audit;
	struct neap_look *look;
	struct neap_metrics *metrics;
};

/* Adds its routes to the server. */
int neap_role_control_start(struct neap_role_control *role, struct neap_role_node *node,
			    struct neap_role_server *server,
			    const struct neap_role_policies *policies,
			    struct neap_turns *turns, struct neap_error *err);
/* Call it after the server's end. */
void neap_role_control_free(struct neap_role_control *role);

#endif
