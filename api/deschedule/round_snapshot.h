/* SPDX-License-Identifier: Apache-2.0
 *
 * The cluster as descheduling rounds see it, kept by watches: a world, and a cluster of
 * its own with the Reservations, in which the decision core places pods tentatively.
 * While a round runs on its thread, the snapshot is held: events wait, nothing is
 * copied. */
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
	/* Told of each event after it was taken, and of objects that are read at first:
	 * before is NULL then. May be NULL. */
	void (*heard)(void *arg, const char *resource,
		      const struct neap_client_event *event);
	/* Reads everything from nothing: what was heard before is void. May be NULL. */
	void (*anew)(void *arg);
	/* Everything is read, or all events so far are taken. May be NULL. */
	void (*settled)(void *arg);
	void *arg;
};

/* config is copied, what it points to borrowed. */
int neap_snapshot_new(const struct neap_snapshot_config *config,
		      struct neap_snapshot **ret, struct neap_error *err);
/* It must not be held. */
void neap_snapshot_free(struct neap_snapshot *snapshot);
/* Whether everything was read. */
bool neap_snapshot_is_read(const struct neap_snapshot *snapshot);

/* Holds the snapshot: until neap_snapshot_release it does not change and may be used by
 * one other thread, which settles world and cluster first. -NEAP_EUNAVAILABLE: not read
 * yet, or held. */
int neap_snapshot_hold(struct neap_snapshot *snapshot, struct neap_error *err);
void neap_snapshot_release(struct neap_snapshot *snapshot);
/* What is held was changed, and is not worth anything: everything is read again once it
 * is released. */
void neap_snapshot_read_again(struct neap_snapshot *snapshot);

/* What is held. */
struct neap_world *neap_snapshot_world(const struct neap_snapshot *snapshot);
struct neap_cluster *neap_snapshot_cluster(const struct neap_snapshot *snapshot);
struct neap_decide *neap_snapshot_decide(const struct neap_snapshot *snapshot);
/* Workloads and PodMigrationJobs, for the filter of MigrationController. */
struct neap_migrate_cluster *neap_snapshot_migrating(struct neap_snapshot *snapshot);

#endif
