/* SPDX-License-Identifier: Apache-2.0
 *
 * --extender-listen of a running neapd: a separate server, which offers the extender to a
 * kube-scheduler and nothing else. */
#ifndef NEAP_API_DAEMON_ROLE_EXTENDER_H
#define NEAP_API_DAEMON_ROLE_EXTENDER_H

#include "api/daemon/process.h"

struct neap_daemon_extender;
struct neap_scheduler;
struct neap_tls;

/* Opens its socket, as root if neapd has it. *ret stays NULL when the option is off. */
int neap_daemon_extender_open(const struct neap_config *config,
			      struct neap_daemon_extender **ret, struct neap_error *err);
/* Starts to serve; every request gets 503 until there is a scheduler. Everything is
 * borrowed. Does nothing when extender is NULL, here and below. */
int neap_daemon_extender_start(struct neap_daemon_extender *extender,
			       const struct neap_process *process, struct neap_tls *tls,
			       struct neap_error *err);
/* The scheduler answers from now on; NULL: none does. */
void neap_daemon_extender_set(struct neap_daemon_extender *extender,
			      struct neap_scheduler *scheduler);
/* Call it before the controllers end. NULL is fine. */
void neap_daemon_extender_free(struct neap_daemon_extender *extender);

#endif
