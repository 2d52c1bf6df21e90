/* SPDX-License-Identifier: Apache-2.0
 *
 * neap's own scheduling loop: takes pods that wait and are its to place (by schedulerName), decides with
 * engine/decide over the cache of engine/cluster, assumes, binds, and says FailedScheduling with the counted
 * reasons when none fits. Runs on the loop in small pieces. */
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
	const char *const *names; /* schedulerName of pods that are its own; NULL ends */
	int64_t (*now)(void);     /* Unix microseconds; NULL: the clock */
	/* Copied. By what nodes really use; with it, that is a score of weight 1, too. NULL: neap_load_args_init, and
	 * no score. */
	const struct neap_load_args *load;
	const struct neap_cpus_args *cpus; /* copied; NULL: neap_cpus_args_init */
	/* Further filters and scores, borrowed; NULL: none. */
	const struct neap_decide_more *more;
	/* Who has a say in which pods use which reservation, beside its owners, borrowed; NULL: nobody. */
	const struct neap_reserve_matcher *matcher;
	/* The CPU time of more and matcher, filled for each question about a pod. Borrowed; NULL: they need none. */
	struct neap_purse *purse;
	/* Counted. Its profiles beat names and load; NULL: one profile, kube-scheduler's. */
	struct neap_schedule_config *settings;
	const struct neap_log *log;
};

int neap_scheduler_new(const struct neap_scheduler_config *config,
		       struct neap_scheduler **ret, struct neap_error *err);
/* The further filters and scores are others now: whoever waits is tried again. NULL is fine. */
void neap_scheduler_more_changed(struct neap_scheduler *scheduler);
void neap_scheduler_free(struct neap_scheduler *scheduler);
/* Other settings, which are counted, for a running one: it reads everything again, and goes by them from then on. */
void neap_scheduler_configure(struct neap_scheduler *scheduler,
			      struct neap_schedule_config *settings);

#endif
