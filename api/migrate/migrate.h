/* SPDX-License-Identifier: Apache-2.0
 *
 * Carries PodMigrationJobs on, until each has ended and what was made for it is gone. All
 * that it knows stands in the objects: it may be stopped in any state, and the next one
 * goes on. It works on whatever serves its client. */
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
	/* NEAP_MIGRATE_SOFT: merge patches of the pod, for somebody else to act on, and
	 * what takes that back. NULL: the annotation soft-eviction. Freed by whoever
	 * asked. */
	json_t *patch, *take_back;
	char why_not[256]; /* not now; "": it leaves */
};

struct neap_migrate_config {
	struct neap_tasks *tasks;
	struct neap_client *client;
	int64_t (*now)(void); /* Unix microseconds; NULL: the clock */
	const struct neap_log *log;
	/* Further scheduler names whose pods a Reservation can be made for, beside those
	 * of the arguments; NULL-terminated, or NULL. */
	const char *const *schedulers;
	/* A say of policies; each may be NULL. Called with arg. */
	/* Sorts the jobs that wait; false: they stay in the order that they are in. */
	bool (*order)(void *arg, struct neap_migrate_waiting *list, size_t count);
	/* Changes *way, which is what labels and arguments say. */
	void (*leave)(void *arg, const json_t *pod, const json_t *job,
		      struct neap_migrate_way *way);
	/* Whether the pod fits another ready node; for nodeFit. */
	bool (*fits_elsewhere)(void *arg, const json_t *pod);
	/* What came of an eviction that was asked for; node: the pod's. */
	void (*evicted)(void *arg, bool is_done, const char *strategy, const char *ns,
			const char *node);
	void *arg;
};

/* args: MigrationControllerArgs, NULL for its defaults. config is copied, what it points
 * to borrowed. -NEAP_EINVAL with the field of args. */
int neap_migrate_new(const struct neap_migrate_config *config, const json_t *args,
		     struct neap_migrate **ret, struct neap_error *err);
void neap_migrate_free(struct neap_migrate *migrate);
/* Goes by these arguments from now on, NULL: by the defaults; costs little when they are
 * those of before. On an error those of before stay. */
int neap_migrate_use(struct neap_migrate *migrate, const struct neap_migrate_args *args,
		     struct neap_error *err);

/* A pod that a descheduling round wants to leave; borrowed. */
struct neap_migrate_wish {
	const char *ns, *name, *uid;  /* uid NULL: whoever has the name */
	const char *reason, *trigger; /* text for people; the strategy. NULL: none */
	const char *landing; /* where its successor is to land; NULL, "": not known */
	const char *mode;    /* NULL: that of the arguments */
	int64_t ttl_usec;    /* 0: that of the arguments */
	const json_t *delete_options; /* NULL: those of the arguments */
};

/* Makes a job for the pod. told is called once, before it returns or from the loop: with
 * NULL when there is a job (in dryRun: when there would be one), else with the check that
 * refuses the pod, or why there is no job. */
void neap_migrate_ask(struct neap_migrate *migrate, const struct neap_migrate_wish *wish,
		      void (*told)(void *told_arg, const char *trouble), void *told_arg);

/* What the object limiters have left, for rounds that ask them elsewhere; NULL without
 * memory. */
struct neap_limiter *neap_migrate_copy_limiter(const struct neap_migrate *migrate);

/* The metrics neap_migration_jobs, neap_migration_stage_seconds and
 * neap_arbitration_waiting, as a scrape shows them. */
void neap_migrate_metrics(const struct neap_migrate *migrate, struct neap_buf *out);

#endif
