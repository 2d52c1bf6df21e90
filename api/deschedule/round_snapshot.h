/* SPDX-License-Identifier: Apache-2.0
 *
 * The cluster as descheduling rounds see it, kept up to date by watches: a world, and a
 * separate cluster with the Reservations, in which the decision core places pods
 * tentatively. While a round runs on its thread, the snapshot is held: events wait,
 * nothing is copied. */
#ifndef NEAP_API_DESCHEDULE_ROUND_SNAPSHOT_H
#define NEAP_API_DESCHEDULE_ROUND_SNAPSHOT_H

#include "api/client/client.h"
#include "engine/cluster/cluster.h"
#include "engine/deschedule/world.h"

struct neap_decide;
struct neap_log;
struct neap_migrate_cluster;
struct neap_snapshot;
struct neap_task;
struct neap_tasks;

struct neap_snapshot_config {
	struct neap_tasks *tasks;
	struct neap_client *client;
	const struct neap_log *log;
	/* Called for each event after it was applied, and for objects of the initial
	 * reading, where before is NULL. May be NULL. */
	void (*heard)(void *arg, const char *resource,
		      const struct neap_client_event *event);
	/* Called before everything is read again: earlier events are void. May be
	 * NULL. */
	void (*anew)(void *arg);
	/* Called when everything is read, and when all events so far are applied. May be
	 * NULL. */
	void (*settled)(void *arg);
	void *arg;
};

/* config is copied, what it points to borrowed. */
int neap_snapshot_new(const struct neap_snapshot_config *config,
		      struct neap_snapshot **ret, struct neap_error *err);
/* It must not be held. */
void neap_snapshot_free(struct neap_snapshot *snapshot);
/* Returns whether everything was read. */
bool neap_snapshot_is_read(const struct neap_snapshot *snapshot);

/* Holds the snapshot: until neap_snapshot_release it does not change and may be used by
 * one other thread, which settles world and cluster first. -NEAP_EUNAVAILABLE: not read
 * yet, or held. */
int neap_snapshot_hold(struct neap_snapshot *snapshot, struct neap_error *err);
void neap_snapshot_release(struct neap_snapshot *snapshot);
/* Returns whether it was read, is not held, and the events that came meanwhile are
 * applied, which begins with the release. */
bool neap_snapshot_is_current(const struct neap_snapshot *snapshot);
/* Declares the held data invalid, because it was changed: everything is read again after
 * the release. */
void neap_snapshot_read_again(struct neap_snapshot *snapshot);

/* The held data; while it is not held, the loop's thread may use it, too. */
struct neap_world *neap_snapshot_world(const struct neap_snapshot *snapshot);
struct neap_cluster *neap_snapshot_cluster(const struct neap_snapshot *snapshot);
struct neap_decide *neap_snapshot_decide(const struct neap_snapshot *snapshot);
/* Workloads and PodMigrationJobs, for the filter of MigrationController. */
struct neap_migrate_cluster *neap_snapshot_migrating(struct neap_snapshot *snapshot);

#endif
