/* SPDX-License-Identifier: Apache-2.0
 *
 * The controller of PodMigrationJobs: takes each job to its end, and removes what was
 * created for it. All its state is in the objects, so it may be stopped at any moment,
 * and the next one continues. Its client may be the embedded server's or a
 * kube-apiserver's. */
#ifndef NEAP_API_MIGRATE_MIGRATE_H
#define NEAP_API_MIGRATE_MIGRATE_H

#include "api/client/client.h"
#include "engine/base/buf.h"
#include "engine/migrate/arbitrate.h"
#include "engine/migrate/job.h"

struct neap_limiter;
struct neap_log;
struct neap_migrate;
struct neap_tasks;

/* How one pod leaves. */
struct neap_migrate_way {
	enum neap_migrate_policy policy;
	/* NEAP_MIGRATE_SOFT: a merge patch of the pod for another evictor to act on, and
	 * one that undoes it. NULL: the annotation soft-eviction. Owned by the caller of
	 * leave. */
	json_t *patch, *take_back;
	char why_not[256]; /* why the pod does not leave now; "": it leaves */
};

struct neap_migrate_config {
	struct neap_tasks *tasks;
	struct neap_client *client;
	int64_t (*now)(void); /* Unix microseconds; NULL: the clock */
	const struct neap_log *log;
	/* Scheduler names for whose pods a Reservation can be made, besides those of the
	 * arguments; NULL-terminated, or NULL. */
	const char *const *schedulers;
	/* Decisions of policies, called with arg; each may be NULL. */
	/* Sorts those of the waiting jobs that one policy decides about, and marks them
	 * as placed. Returns whether others are left: then it is called again in a later
	 * turn, with the jobs that still wait. */
	bool (*order)(void *arg, struct neap_migrate_waiting *list, size_t count);
	/* Changes *way, which is set from labels and arguments. */
	void (*leave)(void *arg, const json_t *pod, const json_t *job,
		      struct neap_migrate_way *way);
	/* For nodeFit, as in struct neap_migrate_question; jobs wait while the answer is
	 * NEAP_ELSEWHERE_UNKNOWN. */
	enum neap_elsewhere (*fits_elsewhere)(void *arg,
					      const struct neap_migrate_args *args,
					      const char *ns, const char *name);
	/* Asked before each look at jobs; while it is false they wait, as it is not known
	 * yet by which arguments they go. */
	bool (*may_go)(void *arg);
	/* Reports the result of an eviction; node: the pod's. */
	void (*evicted)(void *arg, bool is_done, const char *strategy, const char *ns,
			const char *node);
	void *arg;
};

/* args: MigrationControllerArgs, NULL for its defaults. config is copied, what it points
 * to borrowed. -NEAP_EINVAL with the field of args. */
int neap_migrate_new(const struct neap_migrate_config *config, const json_t *args,
		     struct neap_migrate **ret, struct neap_error *err);
void neap_migrate_free(struct neap_migrate *migrate);
/* Replaces the arguments; NULL: the defaults. Cheap when they are unchanged. On an error
 * the old ones stay. */
int neap_migrate_use(struct neap_migrate *migrate, const struct neap_migrate_args *args,
		     struct neap_error *err);

/* A pod that a descheduling round decided to evict; borrowed. */
struct neap_migrate_wish {
	const char *ns, *name, *uid;  /* uid NULL: any pod of that name */
	const char *reason, *trigger; /* text for people; the strategy. NULL: none */
	const char *profile;          /* of the configuration; NULL, "": none */
	const char *evictor;          /* the policy that the profile names; NULL: none */
	const char *landing; /* where its successor should land; NULL, "": not known */
	const char *mode;    /* NULL: that of the arguments */
	int64_t ttl_usec;    /* 0: that of the arguments */
	const json_t *delete_options; /* NULL: those of the arguments */
};

/* Creates a job for the pod. told is called once, before this returns or from the loop:
 * with NULL when there is a job (with dryRun: when there would be one), else with the
 * check that refuses the pod, or why there is no job. */
void neap_migrate_ask(struct neap_migrate *migrate, const struct neap_migrate_wish *wish,
		      void (*told)(void *told_arg, const char *trouble), void *told_arg);

/* Returns a copy of the object limiters, for use by a round; NULL without memory. */
struct neap_limiter *neap_migrate_copy_limiter(const struct neap_migrate *migrate);

/* The metrics neap_migration_jobs, neap_migration_stage_seconds and
 * neap_arbitration_waiting, as a scrape shows them. */
void neap_migrate_metrics(const struct neap_migrate *migrate, struct neap_buf *out);

#endif
