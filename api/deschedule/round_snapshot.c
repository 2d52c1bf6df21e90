/* SPDX-License-Identifier: Apache-2.0
 *
 * Each resource is read once, a piece per slice, then updated by events. When events were
 * missed, everything is read again. So it is without memory, a second later. */
#include "api/deschedule/round_snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "api/task/task.h"
#include "api/workload/loop/scaled.h"
#include "engine/base/mem.h"
#include "engine/cluster/cpus.h"
#include "engine/cluster/volumes.h"
#include "engine/decide/decide.h"
#include "engine/log/log.h"
#include "engine/migrate/migrate_cluster.h"
#include "engine/migrate/workload_kinds.h"
#include "engine/reserve/book.h"

#define AGAIN_USEC 1000000
/* Controllers that are read again for a round; the others in the next ones. */
#define SCALED_A_ROUND 16     /* as many as the client asks for at once */
#define SCALED_USEC    500000 /* until a late answer is looked for again */

struct state {
	struct neap_world *world;
	struct neap_cluster *cluster;
	struct neap_reserve_book *book;
	struct neap_decide *decide;
	struct neap_migrate_cluster migrating;
	struct neap_client *client;
	struct neap_scaled_walk scaled;
};

struct resource {
	const char *name;
	int (*hear)(struct state *state, const struct neap_client_event *event,
		    struct neap_error *err);
};

struct source {
	struct neap_snapshot *snapshot;
	const char *resource;
	/* NULL: a workload's. */
	int (*hear)(struct state *state, const struct neap_client_event *event,
		    struct neap_error *err);
	struct neap_client_watch *watch;
	struct neap_client_place place;
	bool is_read, is_ready;
};

/* Resources of the table, and workloads. */
#define OWN_SOURCES 11
#define SOURCES     (OWN_SOURCES + NEAP_WORKLOAD_KINDS)

struct neap_snapshot {
	struct neap_snapshot_config config;
	struct neap_task *task;
	struct state state;
	struct source sources[SOURCES];
	size_t scaled_at; /* the controller that is read again next */
	bool is_read, is_lost, is_held;
	bool is_behind; /* events that came while it was held or read are to be applied */
};

/* --- what happened --- */

static bool is_finished(const struct neap_object *object)
{
	const char *phase = neap_object_field(object, "status.phase");

	return phase && (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0);
}

/* Parses the object for set; -NEAP_ENOMEM. */
static int set_parsed(struct neap_migrate_cluster *migrating, const char *kind,
		      struct neap_object *object,
		      int (*set)(struct neap_migrate_cluster *migrating, const char *kind,
				 const json_t *tree, struct neap_error *err),
		      struct neap_error *err)
{
	json_t *tree = neap_object_tree(object);
	int rc = tree ? set(migrating, kind, tree, err) : neap_error_nomem(err);

	json_decref(tree);
	return rc;
}

static int set_migrating_pod(struct neap_migrate_cluster *migrating, const char *kind,
			     const json_t *tree, struct neap_error *err)
{
	(void)kind;
	return neap_migrate_set_pod(migrating, tree, err);
}

static int set_job(struct neap_migrate_cluster *migrating, const char *kind,
		   const json_t *tree, struct neap_error *err)
{
	(void)kind;
	return neap_migrate_set_job(migrating, tree, err);
}

static int hear_workload(struct state *state, const char *resource,
			 const struct neap_client_event *event, struct neap_error *err)
{
	const char *kind = neap_workload_kind_of(resource);

	if (event->what != NEAP_CLIENT_DELETED)
		return set_parsed(&state->migrating, kind, event->object,
				  neap_migrate_set_workload, err);
	neap_migrate_drop_workload(&state->migrating, kind, event->object->ns,
				   event->object->name);
	return 0;
}

static int hear_job(struct state *state, const struct neap_client_event *event,
		    struct neap_error *err)
{
	if (event->what != NEAP_CLIENT_DELETED)
		return set_parsed(&state->migrating, NULL, event->object, set_job, err);
	neap_migrate_drop_job(&state->migrating, event->object->name);
	return 0;
}

/* A finished pod takes no room, but strategies see it. */
static int hear_pod(struct state *state, const struct neap_client_event *event,
		    struct neap_error *err)
{
	struct neap_object *object = event->object;
	struct neap_pod *pod;
	unsigned moved = 0;
	int rc;

	if (event->what == NEAP_CLIENT_DELETED || is_finished(object)) {
		neap_cluster_remove_pod(state->cluster, object->ns, object->name, &moved);
		neap_reserve_book_remove_pod(state->book, object->ns, object->name);
	}
	if (event->what == NEAP_CLIENT_DELETED) {
		neap_world_remove_pod(state->world, object->ns, object->name);
		neap_migrate_drop_pod(&state->migrating, object->ns, object->name);
		return 0;
	}
	if (set_parsed(&state->migrating, NULL, object, set_migrating_pod, err) < 0)
		return -(int)err->code;
	neap_scaled_learn_new(state->client, &state->migrating, &state->scaled,
			      object->ns, object->name);
	if (is_finished(object))
		return neap_world_set_pod(state->world, object, NULL, err);
	rc = neap_cluster_set_pod(state->cluster, object, &moved, err);
	if (rc == 0)
		rc = neap_reserve_book_set_pod(state->book, object, &moved, err);
	if (rc < 0)
		return rc;
	pod = neap_cluster_find_pod(state->cluster, object->ns, object->name);
	return neap_world_set_pod(state->world, object,
				  pod && pod->object == object ? pod : NULL, err);
}

static int hear_node(struct state *state, const struct neap_client_event *event,
		     struct neap_error *err)
{
	struct neap_object *object = event->object;
	unsigned moved = 0;
	int rc;

	if (event->what == NEAP_CLIENT_DELETED) {
		neap_cluster_remove_node(state->cluster, object->name);
		neap_world_remove_node(state->world, object->name);
		return 0;
	}
	rc = neap_cluster_set_node(state->cluster, object, &moved, err);
	if (rc == 0)
		rc = neap_reserve_book_resolve(state->book, &moved, err);
	if (rc == 0)
		rc = neap_world_set_node(state->world, object, err);
	if (rc != -NEAP_ETOOLARGE)
		return rc;
	/* A node that cannot be read takes no part. */
	neap_cluster_remove_node(state->cluster, object->name);
	neap_world_remove_node(state->world, object->name);
	return 0;
}

static int hear_namespace(struct state *state, const struct neap_client_event *event,
			  struct neap_error *err)
{
	unsigned moved = 0;
	int rc;

	if (event->what == NEAP_CLIENT_DELETED) {
		neap_cluster_remove_namespace(state->cluster, event->object->name);
		neap_world_remove_namespace(state->world, event->object->name);
		return 0;
	}
	rc = neap_cluster_set_namespace(state->cluster, event->object, &moved, err);
	return rc < 0 ? rc : neap_world_set_namespace(state->world, event->object, err);
}

static int hear_budget(struct state *state, const struct neap_client_event *event,
		       struct neap_error *err)
{
	if (event->what != NEAP_CLIENT_DELETED)
		return neap_world_set_budget(state->world, event->object, err);
	neap_world_remove_budget(state->world, event->object->ns, event->object->name);
	return 0;
}

static int hear_claim(struct state *state, const struct neap_client_event *event,
		      struct neap_error *err)
{
	struct neap_object *object = event->object;
	unsigned moved = 0;
	int rc;

	if (event->what == NEAP_CLIENT_DELETED) {
		neap_cluster_remove_claim(state->cluster, object->ns, object->name,
					  &moved);
		neap_world_remove_claim(state->world, object->ns, object->name);
		return 0;
	}
	rc = neap_cluster_set_claim(state->cluster, object, &moved, err);
	return rc < 0 ? rc : neap_world_set_claim(state->world, object, err);
}

static int hear_metric(struct state *state, const struct neap_client_event *event,
		       struct neap_error *err)
{
	unsigned moved = 0;
	int rc;

	if (event->what == NEAP_CLIENT_DELETED) {
		neap_cluster_remove_metric(state->cluster, event->object->name, &moved);
		neap_world_remove_metric(state->world, event->object->name);
		return 0;
	}
	rc = neap_cluster_set_metric(state->cluster, event->object, &moved, err);
	return rc < 0 ? rc : neap_world_set_metric(state->world, event->object, err);
}

static int hear_topology(struct state *state, const struct neap_client_event *event,
			 struct neap_error *err)
{
	unsigned moved = 0;

	if (event->what != NEAP_CLIENT_DELETED)
		return neap_cluster_set_topology(state->cluster, event->object, &moved,
						 err);
	neap_cluster_remove_topology(state->cluster, event->object->name, &moved);
	return 0;
}

static int hear_volume(struct state *state, const struct neap_client_event *event,
		       struct neap_error *err)
{
	unsigned moved = 0;

	if (event->what != NEAP_CLIENT_DELETED)
		return neap_cluster_set_volume(state->cluster, event->object, &moved,
					       err);
	neap_cluster_remove_volume(state->cluster, event->object->name, &moved);
	return 0;
}

static int hear_class(struct state *state, const struct neap_client_event *event,
		      struct neap_error *err)
{
	unsigned moved = 0;

	if (event->what != NEAP_CLIENT_DELETED)
		return neap_cluster_set_class(state->cluster, event->object, &moved, err);
	neap_cluster_remove_class(state->cluster, event->object->name, &moved);
	return 0;
}

static int hear_reservation(struct state *state, const struct neap_client_event *event,
			    struct neap_error *err)
{
	unsigned moved = 0;

	if (event->what != NEAP_CLIENT_DELETED)
		return neap_reserve_book_set(state->book, event->object, &moved, err);
	neap_reserve_book_remove(state->book, event->object->name, &moved);
	return 0;
}

/* What CPUs a node has is known before what its pods have of them. */
static const struct resource resources[OWN_SOURCES] = {
	{"nodes", hear_node},
	{"namespaces", hear_namespace},
	{"poddisruptionbudgets.policy", hear_budget},
	{"nodemetrics.slo.koordinator.sh", hear_metric},
	{"noderesourcetopologies.topology.node.k8s.io", hear_topology},
	{"persistentvolumes", hear_volume},
	{"persistentvolumeclaims", hear_claim},
	{"storageclasses.storage.k8s.io", hear_class},
	{"reservations.scheduling.koordinator.sh", hear_reservation},
	{"podmigrationjobs.scheduling.koordinator.sh", hear_job},
	{"pods", hear_pod},
};

/* --- from nothing --- */

static void state_free(struct state *state)
{
	neap_decide_free(state->decide);
	neap_reserve_book_free(state->book);
	/* It shares numbers of resources with the cluster. */
	neap_world_free(state->world);
	neap_cluster_free(state->cluster);
	neap_migrate_cluster_done(&state->migrating);
	memset(state, 0, sizeof(*state));
}

static int state_new(struct state *ret, struct neap_error *err)
{
	struct neap_decide_config config = {0};
	struct state state = {0};
	int rc = neap_cluster_new(&state.cluster, err);

	if (rc == 0)
		rc = neap_migrate_cluster_init(&state.migrating, err);
	if (rc == 0)
		rc = neap_world_new(neap_cluster_resources(state.cluster), &state.world,
				    err);
	if (rc == 0)
		rc = neap_reserve_book_new(state.cluster, &state.book, err);
	config.cluster = state.cluster;
	config.book = state.book;
	if (rc == 0)
		rc = neap_decide_new(&config, &state.decide, err);
	if (rc < 0)
		state_free(&state);
	else
		*ret = state;
	return rc;
}

static void ready(void *arg)
{
	struct source *source = arg;

	source->is_ready = true;
	neap_task_wake(source->snapshot->task);
}

static int open_source(struct neap_snapshot *snapshot, struct source *source,
		       struct neap_error *err)
{
	neap_client_watch_free(source->watch);
	source->watch = NULL;
	source->is_read = false;
	source->is_ready = true; /* events that come at once are not announced */
	source->place = (struct neap_client_place){
		.version = neap_client_version(snapshot->config.client)};
	return neap_client_watch_new(snapshot->config.client, source->resource,
				     source->place.version, ready, source, &source->watch,
				     err);
}

static int begin(struct neap_snapshot *snapshot, struct neap_error *err)
{
	struct state state = {0};
	int rc = state_new(&state, err);

	if (rc < 0)
		return rc;
	state_free(&snapshot->state);
	snapshot->state = state;
	snapshot->state.client = snapshot->config.client;
	if (snapshot->config.anew)
		snapshot->config.anew(snapshot->config.arg);
	snapshot->is_read = false;
	snapshot->is_behind = true;
	for (size_t i = 0; rc == 0 && i < SOURCES; i++)
		rc = open_source(snapshot, &snapshot->sources[i], err);
	snapshot->is_lost = rc < 0; /* not all of them are open */
	return rc;
}

/* --- a slice --- */

static void lose(struct neap_snapshot *snapshot, const struct neap_error *err)
{
	if (!snapshot->is_lost)
		neap_log_line(snapshot->config.log, NEAP_LOG_WARN,
			      "descheduler: reads everything again: %s", err->msg);
	snapshot->is_lost = true;
}

static void hear(struct source *source, const struct neap_client_event *event)
{
	struct neap_snapshot *snapshot = source->snapshot;
	struct neap_error err = {0};

	if ((source->hear ? source->hear(&snapshot->state, event, &err)
			  : hear_workload(&snapshot->state, source->resource, event,
					  &err)) < 0) {
		lose(snapshot, &err);
		return;
	}
	if (snapshot->config.heard)
		snapshot->config.heard(snapshot->config.arg, source->resource, event);
}

static bool take(void *arg, struct neap_object *object)
{
	struct source *source = arg;
	const struct neap_client_event event = {.what = NEAP_CLIENT_ADDED,
						.object = object};

	if (source->snapshot->is_lost || !neap_task_has_time(source->snapshot->task))
		return false;
	hear(source, &event);
	return true;
}

/* Returns whether everything is read. */
static bool read_some(struct neap_snapshot *snapshot)
{
	struct neap_error err = {0};

	for (size_t i = 0; i < SOURCES; i++) {
		struct source *source = &snapshot->sources[i];
		int rc;

		if (source->is_read)
			continue;
		rc = neap_client_list(snapshot->config.client, source->resource, NULL,
				      &source->place, take, source, &err);
		if (rc < 0)
			lose(snapshot, &err);
		if (rc != 0 || snapshot->is_lost)
			return false;
		source->is_read = true;
	}
	return true;
}

/* Returns whether there may be more. */
static bool hear_some(struct neap_snapshot *snapshot)
{
	const struct neap_client_event *event;
	struct neap_error err = {0};

	for (size_t i = 0; i < SOURCES; i++) {
		struct source *source = &snapshot->sources[i];

		while (source->is_ready && !snapshot->is_lost) {
			int rc;

			if (!neap_task_has_time(snapshot->task))
				return true;
			rc = neap_client_watch_next(source->watch, &event, &err);
			source->is_ready = rc > 0;
			if (rc > 0)
				hear(source, event);
			if (rc < 0)
				lose(snapshot, &err);
		}
	}
	return false;
}

static enum neap_task_next again_later(struct neap_snapshot *snapshot)
{
	neap_task_wake_later(snapshot->task, AGAIN_USEC);
	return NEAP_TASK_WAITS;
}

static enum neap_task_next step(void *arg)
{
	struct neap_snapshot *snapshot = arg;
	struct neap_error err = {0};

	if (snapshot->is_held)
		return NEAP_TASK_WAITS;
	if (snapshot->is_lost && begin(snapshot, &err) < 0)
		return again_later(snapshot);
	if (!snapshot->is_read && !read_some(snapshot))
		return snapshot->is_lost ? again_later(snapshot) : NEAP_TASK_GOES_ON;
	snapshot->is_read = true;
	if (hear_some(snapshot))
		return NEAP_TASK_GOES_ON;
	if (snapshot->is_lost)
		return again_later(snapshot);
	snapshot->is_behind = false;
	/* What a round asks for it hears too late. */
	if (!neap_scaled_walk(snapshot->config.client, &snapshot->state.migrating,
			      &snapshot->state.scaled))
		neap_task_wake_later(snapshot->task, SCALED_USEC);
	if (snapshot->config.settled)
		snapshot->config.settled(snapshot->config.arg);
	return NEAP_TASK_WAITS;
}

/* --- outside --- */

int neap_snapshot_new(const struct neap_snapshot_config *config,
		      struct neap_snapshot **ret, struct neap_error *err)
{
	struct neap_snapshot *snapshot = neap_alloc(sizeof(*snapshot));

	if (!snapshot)
		return neap_error_nomem(err);
	snapshot->config = *config;
	for (size_t i = 0; i < SOURCES; i++) {
		snapshot->sources[i].snapshot = snapshot;
		if (i < OWN_SOURCES) {
			snapshot->sources[i].resource = resources[i].name;
			snapshot->sources[i].hear = resources[i].hear;
		} else {
			snapshot->sources[i].resource =
				neap_workload_kinds[i - OWN_SOURCES].resource;
		}
	}
	snapshot->task = neap_task_new(config->tasks, "", step, snapshot);
	if (!snapshot->task || !neap_task_prepare_later(snapshot->task)) {
		neap_snapshot_free(snapshot);
		return neap_error_nomem(err);
	}
	if (begin(snapshot, err) < 0) {
		neap_snapshot_free(snapshot);
		return -(int)err->code;
	}
	neap_task_wake(snapshot->task);
	*ret = snapshot;
	return 0;
}

void neap_snapshot_free(struct neap_snapshot *snapshot)
{
	if (!snapshot)
		return;
	for (size_t i = 0; i < SOURCES; i++)
		neap_client_watch_free(snapshot->sources[i].watch);
	neap_task_free(snapshot->task);
	state_free(&snapshot->state);
	free(snapshot);
}

bool neap_snapshot_is_read(const struct neap_snapshot *snapshot)
{
	return snapshot->is_read && !snapshot->is_lost;
}

int neap_snapshot_hold(struct neap_snapshot *snapshot, struct neap_error *err)
{
	if (snapshot->is_held || !neap_snapshot_is_read(snapshot))
		return neap_error_set(err, NEAP_EUNAVAILABLE, "%s",
				      snapshot->is_held
					      ? "another round is running"
					      : "the cluster is still being read");
	neap_scaled_learn_some(snapshot->config.client, &snapshot->state.migrating,
			       &snapshot->scaled_at, SCALED_A_ROUND);
	snapshot->is_held = true;
	return 0;
}

void neap_snapshot_release(struct neap_snapshot *snapshot)
{
	snapshot->is_held = false;
	snapshot->is_behind = true;
	neap_task_wake(snapshot->task);
}

bool neap_snapshot_is_current(const struct neap_snapshot *snapshot)
{
	return neap_snapshot_is_read(snapshot) && !snapshot->is_held &&
	       !snapshot->is_behind;
}

void neap_snapshot_read_again(struct neap_snapshot *snapshot)
{
	snapshot->is_lost = true;
}

struct neap_world *neap_snapshot_world(const struct neap_snapshot *snapshot)
{
	return snapshot->state.world;
}

struct neap_cluster *neap_snapshot_cluster(const struct neap_snapshot *snapshot)
{
	return snapshot->state.cluster;
}

struct neap_decide *neap_snapshot_decide(const struct neap_snapshot *snapshot)
{
	return snapshot->state.decide;
}

struct neap_migrate_cluster *neap_snapshot_migrating(struct neap_snapshot *snapshot)
{
	return &snapshot->state.migrating;
}
