/* SPDX-License-Identifier: Apache-2.0
 *
 * neap's scheduler: takes unscheduled pods that name it (schedulerName), decides with
 * engine/decide over the cluster of engine/cluster, assumes, binds, and reports
 * FailedScheduling with counted reasons when no node fits. Runs on the loop in small
 * pieces. */
#ifndef NEAP_API_SCHEDULE_SCHEDULE_H
#define NEAP_API_SCHEDULE_SCHEDULE_H

#include "api/client/client.h"

struct event_base;
struct neap_cpus_args;
struct neap_decide_more;
struct neap_load_args;
struct neap_purse;
struct neap_reserve_matcher;
struct neap_schedule_config;
struct neap_scheduler;

struct neap_scheduler_config {
	struct event_base *base;
	struct neap_client *client;
	const char *const *names; /* schedulerNames of its own pods; NULL-terminated */
	int64_t (*now)(void);     /* Unix microseconds; NULL: the clock */
	/* Copied. Settings for measured load; if given, its score has weight 1. NULL:
	 * neap_load_args_init, and no score. */
	const struct neap_load_args *load;
	const struct neap_cpus_args *cpus; /* copied; NULL: neap_cpus_args_init */
	/* Plugin filters and scores, borrowed; NULL: none. */
	const struct neap_decide_more *more;
	/* The matcher for reservations besides their owners, borrowed; NULL: none. */
	const struct neap_reserve_matcher *matcher;
	/* CPU time for more and matcher, filled for each question about a pod. Borrowed;
	 * NULL: not needed. */
	struct neap_purse *purse;
	/* Reference counted. Its profiles override names and load; NULL: one profile,
	 * kube-scheduler's. */
	struct neap_schedule_config *settings;
	const struct neap_log *log;
};

int neap_scheduler_new(const struct neap_scheduler_config *config,
		       struct neap_scheduler **ret, struct neap_error *err);
/* The plugin filters and scores changed: retries all parked pods. Accepts NULL. */
void neap_scheduler_more_changed(struct neap_scheduler *scheduler);
void neap_scheduler_free(struct neap_scheduler *scheduler);
/* Replaces the settings (reference counted) of a running scheduler, which rereads
 * everything and uses them from then on. */
void neap_scheduler_configure(struct neap_scheduler *scheduler,
			      struct neap_schedule_config *settings);

#endif
