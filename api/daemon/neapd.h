/* SPDX-License-Identifier: Apache-2.0
 *
 * A running neapd: its roles, each in its own file. Only neapd.c, which starts and ends
 * them, and events.c, which joins them to the loop, see all of it. */
#ifndef NEAP_API_DAEMON_NEAPD_H
#define NEAP_API_DAEMON_NEAPD_H

#include <stdio.h>

#include "api/daemon/api.h"
#include "api/daemon/role_prometheus.h"
#include "api/daemon/role_remote.h"
#include "api/daemon/roles.h"
#include "api/daemon/service_status.h"

struct neap_clocks {
	int64_t mono_usec, boot_usec, real_usec;
};

struct neap_ticks {
	struct event *timer;
	int64_t next_usec;      /* of the monotonic clock */
	struct neap_clocks now; /* at the last tick */
};

struct neap_daemon {
	struct neap_process process;
	struct neap_role_policies policies;
	struct neap_role_node node;
	struct neap_role_server server;
	struct neap_role_control control;
	struct neap_role_scheduler scheduler;
	struct neap_role_descheduler descheduler;
	struct neap_role_prometheus prometheus;
	struct neap_role_remote remote;
	struct neap_role_kubelet kubelet;
	struct neap_role_pods pods;
	struct neap_kube_declared_folder crds;       /* until the API has started */
	struct neap_daemon_api *api;                 /* NULL without the role */
	struct neap_daemon_api_config loops;         /* what controllers start with */
	struct neap_daemon_controllers *controllers; /* NULL: none yet */
	struct neap_daemon_extender *extender;       /* NULL without --extender-listen */
	struct neap_service service;
	struct neap_ticks ticks;
	struct event *signals[3];
	struct neap_turns turns; /* of the loop */
};

/* --- banner.c --- */
/* Prints some ten lines: what was found, what neapd does, where to look. */
void neap_banner_print(FILE *out, const struct neap_role_node *role,
		       const struct neap_role_server *server, struct neap_live *live);

/* --- events.c --- */
/* Starts ticks, the hand's socket and signals. */
int neap_daemon_events_start(struct neap_daemon *daemon, struct neap_error *err);
void neap_daemon_events_free(struct neap_daemon *daemon);
struct neap_clocks neap_clocks_now(void);
/* Describes what happened between two readings in one sentence: the machine was
 * suspended, neapd was stopped or starved, or someone set the wall clock. Returns the log
 * level, or -1 when there is nothing to report. late_usec: how late the second reading
 * is. */
int neap_clocks_compare(const struct neap_clocks *before, const struct neap_clocks *now,
			int64_t late_usec, char *buf, size_t size);

#endif
