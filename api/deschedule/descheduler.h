/* SPDX-License-Identifier: Apache-2.0
 *
 * The descheduler's loop: rounds by interval and by event, the execution of their
 * decisions, simulations. Without a configuration it does nothing. The configuration
 * comes from a file, which wins, or from ConfigMap
 * koordinator-system/koord-descheduler-config.
 *
 * A round runs on a thread of its own over the held snapshot; then the loop evicts
 * through api/client, or requests PodMigrationJobs. All functions are for the loop's
 * thread. */
#ifndef NEAP_API_DESCHEDULE_DESCHEDULER_H
#define NEAP_API_DESCHEDULE_DESCHEDULER_H

#include "api/client/client.h"
#include "api/deschedule/config/config.h"
#include "engine/migrate/migrate_filter.h"

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

/* A requested PodMigrationJob; borrowed. */
struct neap_deschedule_wish {
	const char *ns, *name, *uid; /* of the pod */
	const char *profile, *strategy, *why;
	const char *evictor; /* the policy that the profile names; NULL: none */
	const char *landing; /* where its successor should land; "": not known */
	const struct neap_migrate_args *args;
};

/* The answer of a Prometheus: text is its JSON, from malloc, taken over; or NULL, and why
 * there is none. */
typedef void neap_deschedule_answered(void *arg, char *text, size_t len, const char *why);

struct neap_descheduler_config {
	struct event_base *base;
	struct neap_tasks *tasks;
	struct neap_client *client;
	struct neap_strategies *strategies;
	const struct neap_log *log;
	int64_t (*now)(void); /* Unix microseconds; NULL: the clock */
	/* Time between two rounds for a configuration without an interval, such as a
	 * DeschedulerPolicy; 0: one round. */
	int64_t interval_usec;
	bool dry_run; /* whatever the configuration says */
	/* Path of a file, with its folder, that exists while it is paused, also over a
	 * restart; NULL: a pause is not kept. */
	const char *pause_file;
	/* Folder of recorded rounds; NULL: they are not recorded. */
	const char *rounds_dir;
	/* Limits that no configuration can raise; -1: none. */
	int64_t per_node, per_namespace, total;
	/* Further schedulers for whose pods a Reservation can be made, NULL-terminated;
	 * NULL: none. The migration controller must have the same. */
	const char *const *schedulers;
	/* Creates a job. Calls told once, with NULL or why there is none. NULL: there is
	 * no migration, and pods of MigrationController stay. */
	void (*migrate)(void *arg, const struct neap_deschedule_wish *wish,
			void (*told)(void *told_arg, const char *trouble),
			void *told_arg);
	/* Called with the arguments of the first profile that migrates, and with NULL
	 * when there is none any more: they also apply to jobs that users create. NULL:
	 * not called. */
	void (*configured)(void *arg, const struct neap_migrate_args *args);
	/* Returns a copy of the migration's object limiters for a round; NULL: none. */
	struct neap_limiter *(*limiter)(void *arg);
	void *migrate_arg;
	/* Asks a Prometheus for the figures of a strategy. from: what the configuration
	 * says about it; both are borrowed. Calls told once, at once or from the loop,
	 * also after the descheduler has ended. NULL: such strategies fail. */
	void (*query)(void *arg, const struct neap_deschedule_prometheus *from,
		      const char *query, neap_deschedule_answered *told, void *told_arg);
	void *query_arg;
};

/* config is copied, what it points to borrowed. */
int neap_descheduler_new(const struct neap_descheduler_config *config,
			 struct neap_descheduler **ret, struct neap_error *err);
/* Waits for a running round, and drops its decisions. For a recording that is written or
 * read it waits half a second at most, and leaves it to its thread. Accepts NULL. */
void neap_descheduler_free(struct neap_descheduler *descheduler);

/* Sets the configuration of the file, which wins over the ConfigMap; reference counted.
 * NULL: none. */
void neap_descheduler_set_file(struct neap_descheduler *descheduler,
			       struct neap_deschedule_config *file, const char *name);
/* The file cannot be used. One that was set goes on; without one the descheduler waits,
 * as the ConfigMap does not stand in for a file. */
void neap_descheduler_set_file_trouble(struct neap_descheduler *descheduler,
				       const char *name, const char *trouble);
/* Returns whether it is known which arguments migration jobs go by. false: there is a
 * configuration, and it cannot be used (yet). */
bool neap_descheduler_is_settled(const struct neap_descheduler *descheduler);
/* Returns the name of the policy of kind "evictor" or "migration" that decides about the
 * jobs of that profile, by the configuration in force; NULL: it names none. */
const char *neap_descheduler_policy_of(const struct neap_descheduler *descheduler,
				       const char *kind, const char *profile);
/* Returns whether the configuration in force has a profile of that name. */
bool neap_descheduler_has_profile(const struct neap_descheduler *descheduler,
				  const char *profile);
/* Returns whether some profile names that policy: then it decides about no other jobs. */
bool neap_descheduler_is_named(const struct neap_descheduler *descheduler,
			       const char *kind, const char *name);
/* Reads a configuration on the thread of the rounds, as policies check their arguments.
 * Calls told from the loop with the configuration, or NULL and why there is none; all is
 * borrowed. Not called when the descheduler ends before. */
typedef void neap_descheduler_told(void *arg, struct neap_deschedule_config *config,
				   const struct neap_deschedule_lines *lines,
				   const struct neap_error *err);
int neap_descheduler_read(struct neap_descheduler *descheduler, const char *text,
			  const char *name, neap_descheduler_told *told, void *arg,
			  struct neap_error *err);
/* A version of a policy went live or out of service: the next round uses it. */
void neap_descheduler_policies_changed(struct neap_descheduler *descheduler);

/* --- requests of users --- */

/* Stops rounds until resume; a running round goes on. by: who, for the status; ""
 * resumes. */
void neap_descheduler_pause(struct neap_descheduler *descheduler, const char *by);
void neap_descheduler_resume(struct neap_descheduler *descheduler);
/* Starts a round as soon as possible, also while paused or outside the window.
 * -NEAP_ECONFLICT: there is no configuration. */
int neap_descheduler_run(struct neap_descheduler *descheduler, const char *by,
			 struct neap_error *err);
/* Returns the state; a new reference, NULL without memory. with_round: with the last
 * record. */
json_t *neap_descheduler_status(const struct neap_descheduler *descheduler,
				bool with_round);

/* Reads the list of recorded rounds (number -1), or one of them as text. Calls told once
 * from the loop, with err, or with one of the other two, which are borrowed, but for the
 * memory of the text. -NEAP_ENOTFOUND: rounds are not recorded; -NEAP_EUNAVAILABLE:
 * somebody else asks, and one at a time is served. */
typedef void neap_descheduler_recorded(void *arg, json_t *list, struct neap_buf *text,
				       const struct neap_error *err);
int neap_descheduler_recordings(struct neap_descheduler *descheduler, int64_t number,
				neap_descheduler_recorded *told, void *arg,
				struct neap_error *err);

struct neap_simulation {
	const char *plugin; /* only this one; NULL: all */
	/* Text of a policy that is not in service; it runs instead of plugin, or of the
	 * one of its own name. NULL: none. */
	const char *policy;
	/* A configuration to use instead; NULL: the one in force. */
	const char *config;
	/* Number of rounds that run in a row on a copy of the cluster (play_rounds.h); 0:
	 * one round on the cluster as it is. */
	int64_t rounds;
};

/* Runs a round that changes nothing; everything is copied. done is called once, at once
 * or from the loop, with the record (taken over) or err. The policy and the configuration
 * are compiled on the thread of rounds. */
void neap_descheduler_simulate(
	struct neap_descheduler *descheduler, const struct neap_simulation *simulation,
	void (*done)(void *arg, json_t *record, const struct neap_error *err), void *arg);
/* For nodeFit of migration, as of struct neap_migrate_config: whether the pod fits
 * another node. It is not known before the cluster is read, and while a round runs. */
enum neap_elsewhere neap_descheduler_fits_elsewhere(struct neap_descheduler *descheduler,
						    const struct neap_migrate_args *args,
						    const char *ns, const char *name);
/* Counts an eviction of migration in descheduler_pods_evicted. */
void neap_descheduler_count_evicted(struct neap_descheduler *descheduler, bool is_done,
				    const char *strategy, const char *ns,
				    const char *node);
/* For /metrics. */
void neap_descheduler_add_metrics(const struct neap_descheduler *descheduler,
				  struct neap_buf *out);

#endif
