/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files of api/deschedule/play*.c. */
#ifndef NEAP_API_DESCHEDULE_PLAY_PRIV_H
#define NEAP_API_DESCHEDULE_PLAY_PRIV_H

#include "api/deschedule/play/play.h"
#include "api/deschedule/play/recording.h"
#include "engine/deschedule/landing.h"
#include "engine/migrate/migrate_filter.h"

/* A round that runs. */
struct play_run {
	struct neap_play *play;
	struct neap_round *round;
	struct neap_landing *landing; /* NULL: no place is asked for */
	size_t nodes;
	json_t *evicted, *stayed, *strategies, *changes; /* of the record; borrowed */
	size_t evicted_cut, stayed_cut, changes_cut;
	json_t **rows; /* of answers of the round, by number; NULL: it has none */
	size_t row_count, row_size;
	size_t wishes_seen;
	const struct neap_play_profile *profile; /* that runs */
	enum neap_plugin_point point;            /* likewise */
	/* Text of each check that refuses a migration; NULL: not made yet. */
	const char *migration_why[NEAP_CHECK_COUNT];
	struct neap_map *changed; /* objects with a change: row 1 */
	bool is_shadow;           /* a strategy's shadow plays */
	bool is_void; /* memory ran out while a job was counted: the counts are wrong */
};

/* A rule of a profile in a running round. */
struct play_rule {
	struct play_run *run;
	struct neap_play_profile *profile;
	struct neap_play_plugin *plugin;
};

/* --- play_migrate.c --- */

/* Returns whether pods of the profile leave by a PodMigrationJob. */
bool play_migrates(const struct neap_play_profile *profile);
/* The filter of MigrationController, with the checks of neap_migrate_ask: first those
 * that do not change in the round, then the others, where jobs of this round count too.
 * arg: a struct play_rule. */
const char *play_allow_migration(void *arg, struct neap_round *round,
				 const struct neap_world_pod *pod);
const char *play_allow_migration_again(void *arg, struct neap_round *round,
				       const struct neap_world_pod *pod);
/* Adds a job that counts for later pods until the round ends. -NEAP_ENOMEM. */
int play_add_job(struct play_run *run, const struct neap_world_pod *pod,
		 struct neap_error *err);
/* Drops the job of the pod. */
void play_drop_job(const struct play_run *run, const struct neap_world_pod *pod);
/* Drops the jobs since that answer of the round. */
void play_drop_jobs(const struct play_run *run, size_t from);

/* --- play_samples.c --- */

/* Gives the nodes the figures that the plugin has asked for. A plugin without a query
 * needs none. Fills plugin->err when there are none. */
int play_samples_set(const struct play_run *run, struct neap_play_plugin *plugin);
/* Takes them away. */
void play_samples_clear(const struct play_run *run,
			const struct neap_play_plugin *plugin);

/* --- play_shadow.c --- */

/* Has the plugin's shadow play the round from here on, and puts all back as it was. Does
 * nothing without a shadow. */
void play_shadow_run(struct play_run *run, struct neap_play_plugin *plugin);
/* Compares it with what the plugin said since these questions and wishes. */
void play_shadow_compare(struct play_run *run, struct neap_play_plugin *plugin,
			 size_t said, size_t wished);
/* Asks the shadow of a rule about a pod, and compares; why: what the rule said, NULL: the
 * pod may leave. Does nothing while the shadow of a strategy asks. */
void play_shadow_ask(struct play_run *run, struct neap_play_plugin *plugin,
		     const struct neap_world_pod *pod, bool is_last, const char *why);
/* Before a round. */
void play_shadow_begin(struct neap_play_plugin *plugin);

/* --- play_record.c --- */

int play_record_begin(struct play_run *run);
/* Adds the row of an answer and returns it; NULL: the list is full, or memory ran out. */
json_t *play_record_said(struct play_run *run, const struct neap_play_profile *profile,
			 const struct neap_play_plugin *plugin,
			 const struct neap_round_said *said, bool is_dry);
/* The same for a change. */
json_t *play_record_wish(struct play_run *run, const struct neap_play_profile *profile,
			 const struct neap_round_wish *wish, bool is_dry);
/* Adds the pods that the profile's rules keep and no strategy asked for. */
void play_record_kept(struct play_run *run, const struct neap_play_profile *profile);
/* Returns the standard deviation of requests over the nodes, in percent. */
double play_record_measure(const struct neap_world *world, uint32_t resource);
/* Adds the strategies, and use before and after. */
void play_record_end(struct play_run *run);

#endif
