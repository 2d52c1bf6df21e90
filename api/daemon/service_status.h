/* SPDX-License-Identifier: Apache-2.0
 *
 * What a service manager is told, if there is one: that neapd is up, how it fares in one
 * line, and that the loop turns. */
#ifndef NEAP_API_DAEMON_SERVICE_STATUS_H
#define NEAP_API_DAEMON_SERVICE_STATUS_H

#include "api/daemon/notify.h"
#include "api/daemon/process.h"

struct event;
struct neap_role_node;
struct neap_role_policies;

/* What it tells of is borrowed. */
struct neap_service {
	const struct neap_process *process;
	const struct neap_role_node *node;
	const struct neap_role_policies *policies;
	const int64_t *next_tick_usec; /* of the monotonic clock */
	struct neap_notify notify;
	struct event *watchdog;
	bool is_told; /* that it is up */
};

/* Tells that neapd is up, once it is (the hand answered, the first look is done); after
 * that its state and policies, when they differ from what was told. */
void neap_service_tell(struct neap_service *service);
/* SIGHUP: around a reload. */
void neap_service_reload_start(struct neap_service *service);
void neap_service_reload_end(struct neap_service *service);
/* Tells twice within the watchdog's time that the loop turns and ticks come. */
int neap_service_watchdog_start(struct neap_service *service, struct neap_error *err);
/* Why neapd ends: to standard error and to the manager. */
void neap_service_complain(struct neap_service *service, const struct neap_error *err);
void neap_service_free(struct neap_service *service);

#endif
