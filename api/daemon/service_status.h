/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages to the service manager, if there is one: neapd is up, its state in one line,
 * and the loop turns. */
#ifndef NEAP_API_DAEMON_SERVICE_STATUS_H
#define NEAP_API_DAEMON_SERVICE_STATUS_H

#include "api/daemon/notify.h"
#include "api/daemon/process.h"

struct event;
struct neap_role_node;
struct neap_role_policies;

/* The parts that it reports on; borrowed. */
struct neap_service {
	const struct neap_process *process;
	const struct neap_role_node *node;
	const struct neap_role_policies *policies;
	const int64_t *next_tick_usec; /* of the monotonic clock */
	struct neap_notify notify;
	struct event *watchdog;
	bool is_told; /* that it is up was sent */
};

/* Sends that neapd is up as soon as it is (the hand answered, the first look is done).
 * After that sends its state and policies when they changed. */
void neap_service_tell(struct neap_service *service);
/* For SIGHUP: sent around a reload. */
void neap_service_reload_start(struct neap_service *service);
void neap_service_reload_end(struct neap_service *service);
/* Sends twice within the watchdog's time that the loop turns and ticks come. */
int neap_service_watchdog_start(struct neap_service *service, struct neap_error *err);
/* Writes why neapd ends to standard error and to the manager. */
void neap_service_complain(struct neap_service *service, const struct neap_error *err);
void neap_service_free(struct neap_service *service);

#endif
