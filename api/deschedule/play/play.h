/* SPDX-License-Identifier: Apache-2.0
 *
 * One descheduling round, or a simulation of one: which pods would leave, why, and where
 * their successors would land. It runs on a thread of its own over a held snapshot, and
 * writes nothing: what is to leave is a list for the loop. */
#ifndef NEAP_API_DESCHEDULE_PLAY_H
#define NEAP_API_DESCHEDULE_PLAY_H

#include "api/deschedule/config/config.h"
#include "engine/deschedule/round.h"
#include "engine/migrate/migrate_args.h"
#include "lua/call/policy.h"
#include "lua/run/shadow.h"

struct neap_cluster;
struct neap_decide;
struct neap_limiter;
struct neap_migrate_cluster;
struct neap_moved;
struct neap_samples;
struct neap_recording;
struct neap_strategies;

/* Limit of the items of a list in a record; further ones are only counted. */
#define NEAP_PLAY_LIST_MAX 2000

/* Another version of a plugin's policy, which runs in the same rounds and moves
 * nothing. */
struct neap_play_shadow {
	struct neap_policy *policy;  /* NULL: it takes other arguments */
	struct neap_policy *of;      /* counted: of the registry, never called */
	char broken[NEAP_ERROR_MSG]; /* why there is none; "" */
	int64_t left_usec;           /* CPU time that a rule has in this round */
	/* What the present call answered. */
	json_t *said;
	enum neap_tick_verdict verdict;
	struct neap_error err;
	/* The results. */
	struct neap_shadow_tally tally;
};

/* A plugin of a profile, ready to run. */
struct neap_play_plugin {
	const char *name;           /* of the configuration */
	const json_t *args;         /* likewise */
	struct neap_policy *policy; /* NULL: one in C, or not opened */
	char label[80];             /* of the policy */
	bool dry_run;
	char broken[NEAP_ERROR_MSG]; /* why it cannot run; "" */
	/* The query that source Prometheus stands for; NULL: it needs none. */
	const char *query;
	/* The answer to the newest query (JSON, until the thread has read it), or why
	 * there is none. */
	bool is_asked;
	char *answer;
	size_t answer_len;
	struct neap_samples *samples;
	char unanswered[NEAP_ERROR_MSG];
	bool lacks_samples; /* the answer has none of some node of the call */
	struct neap_play_shadow *shadow; /* NULL: there is none */
	/* The results. */
	bool has_run;
	enum neap_tick_verdict verdict;
	struct neap_error err;
	int64_t cpu_usec;
	size_t asked, evicted;
};

struct neap_play_profile {
	const struct neap_deschedule_profile *of;
	struct neap_play_plugin *plugins; /* as in of */
	struct neap_evictor evictor;      /* when has_evictor */
	struct neap_migrate_args migrate; /* when has_migrate */
	bool has_evictor, has_migrate;
};

/* What the plugins of a configuration keep between rounds: their policies, with arguments
 * set, and the memo of these. */
struct neap_play_set {
	struct neap_deschedule_config *config; /* counted */
	struct neap_play_profile profiles[NEAP_DESCHEDULE_PROFILES_MAX];
	bool has_shadows; /* those of the policies in service run, too */
};

/* The plugins of a configuration, whose policies are still to be opened (play_open.h).
 * served: further schedulers whose pods a Reservation can be made for, as of
 * neap_migrate_args. priority_of returns the value of a PriorityClass, or false.
 * -NEAP_ENOMEM; -NEAP_EINVAL: a PriorityClass is missing. */
int neap_play_set_new(struct neap_deschedule_config *config, const char *const *served,
		      bool (*priority_of)(void *arg, const char *name, int64_t *ret),
		      void *arg, struct neap_play_set **ret, struct neap_error *err);
/* Returns whether the argument dryRun of a strategy is set. */
bool neap_play_is_asked_dry(const json_t *args);
void neap_play_set_free(struct neap_play_set *set);
/* Returns the query of a strategy whose arguments say source Prometheus, or NULL. */
const char *neap_play_query(const json_t *args);
/* Gives the plugin the answer to its query for the rounds to come: text is from malloc
 * and is taken over; NULL: why says why there is none, and the plugin will fail. */
void neap_play_answer_take(struct neap_play_plugin *plugin, char *text, size_t len,
			   const char *why);
/* Drops it; why there was none stays. */
void neap_play_answer_forget(struct neap_play_plugin *plugin);
/* Accepts NULL. */
void neap_play_shadow_free(struct neap_play_shadow *shadow);

/* A pod that leaves. */
struct neap_play_evict {
	const struct neap_deschedule_profile *profile;
	const char *strategy; /* of the configuration */
	bool migrates;        /* by a PodMigrationJob, else by an eviction */
	char ns[NEAP_OBJECT_NAMESPACE], name[NEAP_OBJECT_NAME], uid[NEAP_OBJECT_UID];
	char node[NEAP_OBJECT_NAME], to[NEAP_OBJECT_NAME];
	char why[NEAP_ROUND_WHY];
	size_t said; /* its answer in the round */
	json_t *row; /* of the record; borrowed */
};

/* A change that a strategy requests besides evictions. */
struct neap_play_change {
	enum neap_round_wish_type type;
	/* The pod, for a cost; else the node, with ns and uid "". */
	char ns[NEAP_OBJECT_NAMESPACE], name[NEAP_OBJECT_NAME], uid[NEAP_OBJECT_UID];
	int32_t cost;
	json_t *row; /* of the record; borrowed */
};

struct neap_play {
	/* The inputs; borrowed. */
	struct neap_play_set *set;
	struct neap_world *world;
	struct neap_cluster *cluster;
	struct neap_decide *decide;             /* NULL: no place is asked for */
	struct neap_migrate_cluster *migrating; /* NULL: it is not asked */
	struct neap_limiter *limiter;           /* of migrating; NULL: it is not asked */
	struct neap_moved *moved;               /* NULL: nobody rests */
	int64_t now_usec, interval_usec;        /* as of neap_round_args */
	struct neap_limits limits;
	bool is_dry;
	bool is_recorded;
	const char *only; /* the plugin that runs alone; NULL: all */
	/* What came of it. */
	struct neap_play_evict *evicts; /* not those of a dry run */
	size_t evict_count, evict_size;
	struct neap_play_change *changes; /* likewise; in order, before the evictions */
	size_t change_count, change_size;
	size_t evicted, stayed; /* dry ones too */
	int64_t usec;
	json_t *record;
	/* With is_recorded; NULL: memory was short, or there was no round. */
	struct neap_recording *recording;
	struct neap_error err; /* code 0, or why there was no round */
};

/* May run on any thread that holds the snapshot. */
void neap_play_run(struct neap_play *play);
/* Frees the results. */
void neap_play_done(struct neap_play *play);

#endif
