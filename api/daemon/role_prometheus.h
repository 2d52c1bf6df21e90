/* SPDX-License-Identifier: Apache-2.0
 *
 * The Prometheus that strategies of the descheduler ask. Only the one that was named when
 * neapd started can be reached: neapd's loop has no network, and the process that
 * connects for it is bound to its server before root is given up. */
#ifndef NEAP_API_DAEMON_ROLE_PROMETHEUS_H
#define NEAP_API_DAEMON_ROLE_PROMETHEUS_H

#include "api/daemon/process.h"
#include "api/deschedule/descheduler.h"

struct neap_link;
struct neap_prometheus_request;
struct neap_role_remote;

struct neap_role_prometheus {
	const struct neap_process *process;
	const struct neap_role_remote *remote;    /* for tokens in Secrets */
	struct neap_link *link;                   /* NULL: no Prometheus is named */
	struct neap_prometheus_request *requests; /* not answered yet */
	bool is_ready;                            /* its credentials were read */
	bool is_lost;
};

/* Forks the processes that connect to it; call it as root, if possible. url: of the
 * configuration, without --prometheus; NULL: none. process is borrowed. */
int neap_role_prometheus_open(struct neap_role_prometheus *role,
			      const struct neap_process *process, const char *url,
			      struct neap_error *err);
/* Reads its credentials, as the loop's user. remote is borrowed. */
int neap_role_prometheus_start(struct neap_role_prometheus *role,
			       const struct neap_role_remote *remote,
			       struct neap_error *err);
/* The query function of the descheduler; arg: the role. */
void neap_role_prometheus_query(void *arg, const struct neap_deschedule_prometheus *from,
				const char *query, neap_deschedule_answered *told,
				void *told_arg);
/* Call it before the remote role ends. */
void neap_role_prometheus_free(struct neap_role_prometheus *role);

#endif
