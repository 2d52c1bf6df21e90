/* SPDX-License-Identifier: Apache-2.0
 *
 * The descheduler's loop: rounds by interval and by event, what becomes of their
 * decisions, simulations. Without a configuration it does nothing. A configuration comes
 * from a file, which wins, or from ConfigMap koordinator-system/koord-descheduler-config.
 *
 * A round is played on a thread of its own over the held snapshot; then the loop evicts
 * through api/client, or asks for PodMigrationJobs. On the loop's thread alone. */
#ifndef NEAP_API_DESCHEDULE_DESCHEDULER_H
#define NEAP_API_DESCHEDULE_DESCHEDULER_H

#include "api/client/client.h"
#include "api/deschedule/config.h"

struct event_base;
struct neap_buf;
struct neap_descheduler;
struct neap_limiter;
struct neap_log;
struct neap_migrate_args;
struct neap_strategies;
struct neap_tasks;

#define NEAP_DESCHEDULE_MAP_NS   "koordinator-system"
#define NEAP_DESCHEDULE_MAP_NAME "koord-descheduler-config"

/* A PodMigrationJob that is wanted; borrowed. */
struct neap_deschedule_wish {
	const char *ns, *name, *uid; /* of the pod */
	const char *strategy, *why;
	const char *landing; /* where its successor is to land; "": not known */
	const struct neap_migrate_args *args;
};

struct neap_descheduler_config {
	struct event_base *base;
	struct neap_tasks *tasks;
	struct neap_client *client;
	struct neap_strategies *strategies;
	const struct neap_log *log;
	int64_t (*now)(void); /* Unix microseconds; NULL: the clock */
	/* Between two rounds where the configuration has no interval, as a
	 * DeschedulerPolicy; 0: one round. */
	int64_t interval_usec;
	bool dry_run; /* whatever the configuration says */
	/* Ceilings that no configuration lifts; -1: none. */
	int64_t per_node, per_namespace, total;
	/* Further schedulers whose pods a Reservation can be made for, NULL-terminated;
	 * NULL: none. What makes the jobs must have the same. */
	const char *const *schedulers;
	/* Makes a job. Calls told once, with NULL or why there is none. NULL: nobody
	 * migrates, and pods of MigrationController stay. */
	void (*migrate)(void *arg, const struct neap_deschedule_wish *wish,
			void (*told)(void *told_arg, const char *trouble),
			void *told_arg);
	/* Called with the arguments of the first profile that migrates, and NULL when
	 * there is none any more: jobs that users make go by them, too. NULL: not
	 * called. */
	void (*configured)(void *arg, const struct neap_migrate_args *args);
	/* A copy of the object limiters that jobs go by, for a round; NULL: without. */
	struct neap_limiter *(*limiter)(void *arg);
	void *migrate_arg;
};

/* config is copied, what it points to borrowed. */
int neap_descheduler_new(const struct neap_descheduler_config *config,
			 struct neap_descheduler **ret, struct neap_error *err);
/* Waits for a round that runs; what it decided is not done. Accepts NULL. */
void neap_descheduler_free(struct neap_descheduler *descheduler);

/* The configuration of the file, which wins over the ConfigMap; counted. NULL: there is
 * none. */
void neap_descheduler_set_file(struct neap_descheduler *descheduler,
			       struct neap_deschedule_config *file, const char *name);
/* The file cannot be used. One that was set goes on; without one the descheduler waits,
 * as the ConfigMap does not stand in for a file. */
void neap_descheduler_set_file_trouble(struct neap_descheduler *descheduler,
				       const char *name, const char *trouble);
/* A version of a policy went live or out of service: the next round uses it. */
void neap_descheduler_policies_changed(struct neap_descheduler *descheduler);

/* --- what people ask --- */

/* No rounds until resume; a round that runs goes on. by: for the status; "" ends it. */
void neap_descheduler_pause(struct neap_descheduler *descheduler, const char *by);
void neap_descheduler_resume(struct neap_descheduler *descheduler);
/* A round as soon as possible, also while it is paused or outside its window.
 * -NEAP_ECONFLICT: there is no configuration. */
int neap_descheduler_run(struct neap_descheduler *descheduler, const char *by,
			 struct neap_error *err);
/* The state; a new reference, NULL without memory. with_round: with the last record. */
json_t *neap_descheduler_status(const struct neap_descheduler *descheduler,
				bool with_round);

struct neap_simulation {
	const char *plugin; /* only this one; NULL: all */
	/* A policy that is not in service: runs in the place of that plugin, or of its
	 * own. NULL: none. */
	const char *policy;
	size_t policy_len;
	/* A configuration to use instead; NULL: the one in force. */
	const char *config;
	size_t config_len;
	/* So many rounds are played, one after another, on a copy of the cluster
	 * (play_rounds.h); 0: one is asked for against the cluster as it is. */
	int64_t rounds;
};

/* Plays a round that changes nothing; everything is copied. done gets the record (taken
 * over) or err, once: at once, or from the loop. */
void neap_descheduler_simulate(
	struct neap_descheduler *descheduler, const struct neap_simulation *simulation,
	void (*done)(void *arg, json_t *record, const struct neap_error *err), void *arg);
/* Counts an eviction of migration in descheduler_pods_evicted. */
void neap_descheduler_count_evicted(struct neap_descheduler *descheduler, bool is_done,
				    const char *strategy, const char *ns,
				    const char *node);
/* For /metrics. */
void neap_descheduler_add_metrics(const struct neap_descheduler *descheduler,
				  struct neap_buf *out);

#endif
