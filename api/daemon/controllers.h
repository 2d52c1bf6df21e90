/* SPDX-License-Identifier: Apache-2.0
 *
 * The roles scheduler and controllers of a running neapd: what works on the objects by
 * itself. */
#ifndef NEAP_API_DAEMON_CONTROLLERS_H
#define NEAP_API_DAEMON_CONTROLLERS_H

#include "api/daemon/api.h"

struct neap_daemon_controllers;
struct neap_scheduler;

/* Those of config->roles, on what the client shows, which outlives them. After an error
 * *ret is to be freed all the same. */
int neap_daemon_controllers_start(const struct neap_daemon_api_config *config,
				  struct neap_client *client,
				  struct neap_daemon_controllers **ret,
				  struct neap_error *err);
/* NULL without the role. */
struct neap_scheduler *
neap_daemon_controllers_scheduler(const struct neap_daemon_controllers *controllers);
/* Before the client ends. NULL is fine. */
void neap_daemon_controllers_free(struct neap_daemon_controllers *controllers);

#endif
