/* SPDX-License-Identifier: Apache-2.0
 *
 * --extender-listen of a running neapd: a server of its own, on which a kube-scheduler finds the extender and nothing
 * else. */
#ifndef NEAP_API_DAEMON_EXTENDER_H
#define NEAP_API_DAEMON_EXTENDER_H

#include "api/config/config.h"

struct neap_daemon;
struct neap_daemon_extender;

/* Its socket, while there still is the right to it. *ret stays NULL when it is off. */
int neap_daemon_extender_open(const struct neap_config *config,
			      struct neap_daemon_extender **ret, struct neap_error *err);
/* After controllers and TLS. Nothing when daemon->extender is NULL. */
int neap_daemon_extender_start(struct neap_daemon *daemon, struct neap_error *err);
/* Before the controllers end. NULL is fine. */
void neap_daemon_extender_free(struct neap_daemon_extender *extender);

#endif
