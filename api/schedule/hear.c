/* SPDX-License-Identifier: Apache-2.0
 *
 * The scheduler's knowledge of the cluster: everything is read once, a piece per turn,
 * then updated by events. When events were missed, it is read again from nothing, but
 * only after every binding in progress was answered, because assumptions would be
 * forgotten. */
#include <string.h>

#include "api/schedule/config.h"
#include "api/schedule/schedule_priv.h"
#include "engine/cluster/volumes.h"

#define TROUBLE 256

/* --- what happened --- */

static bool is_same(const json_t *a, const json_t *b, const char *name)
{
	const json_t *x = json_object_get(a, name), *y = json_object_get(b, name);

	return x == y || (x && y && json_equal(x, y));
}

/* Whether something was changed that a decision may go by, and not only its status. */
static bool is_changed(const struct neap_client_event *event)
{
	json_t *before, *now;
	const json_t *meta_before, *meta_now;
	bool changed = true;

	if (!event->before)
		return false;
	before = neap_object_tree(event->before);
	now = neap_object_tree(event->object);
	if (before && now) {
		meta_before = json_object_get(before, "metadata");
		meta_now = json_object_get(now, "metadata");
		changed = !is_same(before, now, "spec") ||
			  !is_same(meta_before, meta_now, "labels") ||
			  !is_same(meta_before, meta_now, "annotations");
	}
	json_decref(before);
	json_decref(now);
	return changed;
}

int scheduler_queue(struct neap_scheduler *scheduler, const struct neap_pod *pod,
		    const struct neap_client_event *event, struct neap_error *err)
{
	char key[NEAP_POD_KEY];
	bool is_there = neap_queue_has(scheduler->queue, neap_pod_seat_key(pod, key));
	int ret = neap_queue_add(scheduler->queue, key, pod->priority, pod->created_usec,
				 err);

	if (ret == 0 && is_there && is_changed(event))
		neap_queue_wake_one(scheduler->queue, key, scheduler->now());
	return ret;
}

static bool is_finished(const struct neap_object *object)
{
	const char *phase = neap_object_field(object, "status.phase");

	return phase && (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0);
}

static int hear_pod(struct neap_scheduler *scheduler,
		    const struct neap_client_event *event, struct neap_error *err)
{
	const struct neap_object *object = event->object;
	const struct neap_pod *pod;
	char key[NEAP_POD_KEY];
	unsigned moved = 0;
	int ret;

	(void)neap_pod_key(object->ns, object->name, key);
	/* There may be many that ended, and nothing is asked about them any more. */
	if (event->what == NEAP_CLIENT_DELETED || is_finished(object)) {
		neap_cluster_remove_pod(scheduler->cluster, object->ns, object->name,
					&moved);
		neap_reserve_book_remove_pod(scheduler->book, object->ns, object->name);
		neap_queue_remove(scheduler->queue, key);
		scheduler->moved |= moved;
		return 0;
	}
	pod = neap_cluster_find_key(scheduler->cluster, key);
	/* By its binding it is known already. */
	if (pod && pod->object == object) {
		scheduler->moved |= NEAP_MOVED_POD_PLACED;
		return 0;
	}
	ret = neap_cluster_set_pod(scheduler->cluster, event->object, &moved, err);
	if (ret == 0)
		ret = neap_reserve_book_set_pod(scheduler->book, event->object, &moved,
						err);
	if (ret < 0)
		return ret;
	scheduler->moved |= moved;
	pod = neap_cluster_find_key(scheduler->cluster, key);
	if (!scheduler_wants(scheduler, pod)) {
		neap_queue_remove(scheduler->queue, key);
		if (pod->is_gated && !*pod->node_name && !pod->object->is_deleting)
			scheduler_tell_gated(scheduler, pod);
		return 0;
	}
	return scheduler_queue(scheduler, pod, event, err);
}

static int hear_node(struct neap_scheduler *scheduler,
		     const struct neap_client_event *event, struct neap_error *err)
{
	const struct neap_cluster_node *node =
		neap_cluster_find_node(scheduler->cluster, event->object->name);
	char before[TROUBLE] = "";
	unsigned moved = 0;
	int ret;

	if (event->what == NEAP_CLIENT_DELETED) {
		neap_cluster_remove_node(scheduler->cluster, event->object->name);
		scheduler->moved |= NEAP_MOVED_LABELS; /* there are fewer domains */
		return 0;
	}
	if (node && node->trouble)
		(void)snprintf(before, sizeof(before), "%s", node->trouble);
	ret = neap_cluster_set_node(scheduler->cluster, event->object, &moved, err);
	if (ret == 0)
		ret = neap_reserve_book_resolve(scheduler->book, &moved, err);
	scheduler->moved |= moved;
	node = neap_cluster_find_node(scheduler->cluster, event->object->name);
	if (ret == 0 && node->trouble &&
	    strncmp(node->trouble, before, sizeof(before) - 1) != 0)
		scheduler_tell_node(scheduler, node);
	if (ret != -NEAP_ETOOLARGE)
		return ret;
	neap_log_line(scheduler->log, NEAP_LOG_WARN, "scheduler: node %s is left out: %s",
		      event->object->name, err->msg);
	neap_cluster_remove_node(scheduler->cluster, event->object->name);
	return 0;
}

static int hear_namespace(struct neap_scheduler *scheduler,
			  const struct neap_client_event *event, struct neap_error *err)
{
	unsigned moved = 0;
	int ret;

	if (event->what == NEAP_CLIENT_DELETED) {
		neap_cluster_remove_namespace(scheduler->cluster, event->object->name);
		return 0;
	}
	ret = neap_cluster_set_namespace(scheduler->cluster, event->object, &moved, err);
	scheduler->moved |= moved;
	return ret;
}

static int hear_budget(struct neap_scheduler *scheduler,
		       const struct neap_client_event *event, struct neap_error *err)
{
	if (event->what == NEAP_CLIENT_DELETED) {
		neap_cluster_remove_budget(scheduler->cluster, event->object->ns,
					   event->object->name);
		return 0;
	}
	return neap_cluster_set_budget(scheduler->cluster, event->object, err);
}

static int hear_claim(struct neap_scheduler *scheduler,
		      const struct neap_client_event *event, struct neap_error *err)
{
	unsigned moved = 0;
	int ret = 0;

	if (event->what == NEAP_CLIENT_DELETED)
		neap_cluster_remove_claim(scheduler->cluster, event->object->ns,
					  event->object->name, &moved);
	else
		ret = neap_cluster_set_claim(scheduler->cluster, event->object, &moved,
					     err);
	scheduler->moved |= moved;
	return ret;
}

static int hear(const struct source *source, struct neap_scheduler *scheduler,
		const struct neap_client_event *event, struct neap_error *err)
{
	unsigned moved = 0;
	int ret = 0;

	if (source->hear)
		return source->hear(scheduler, event, err);
	if (event->what == NEAP_CLIENT_DELETED)
		source->remove(scheduler->cluster, event->object->name, &moved);
	else
		ret = source->set(scheduler->cluster, event->object, &moved, err);
	scheduler->moved |= moved;
	return ret;
}

/* Nobody may serve nodemetrics and topologies: then there are none. What CPUs a node has
 * is known before what its pods have of them. */
const struct source scheduler_sources[SOURCES] = {
	{.resource = "nodes", .hear = hear_node},
	{.resource = "namespaces", .hear = hear_namespace},
	{.resource = "poddisruptionbudgets.policy", .hear = hear_budget},
	{.resource = "nodemetrics.slo.koordinator.sh",
	 .set = neap_cluster_set_metric,
	 .remove = neap_cluster_remove_metric},
	{.resource = "noderesourcetopologies.topology.node.k8s.io",
	 .set = neap_cluster_set_topology,
	 .remove = neap_cluster_remove_topology},
	{.resource = "persistentvolumes",
	 .set = neap_cluster_set_volume,
	 .remove = neap_cluster_remove_volume},
	{.resource = "persistentvolumeclaims", .hear = hear_claim},
	{.resource = "storageclasses.storage.k8s.io",
	 .set = neap_cluster_set_class,
	 .remove = neap_cluster_remove_class},
	{.resource = RESERVATIONS, .hear = scheduler_hear_reservation},
	{.resource = "pods", .hear = hear_pod},
};

/* --- reading --- */

static void ready(void *arg)
{
	struct source *source = arg;

	source->is_ready = true;
	scheduler_wake(source->scheduler, 0);
}

static int open_source(struct neap_scheduler *scheduler, struct source *source,
		       struct neap_error *err)
{
	neap_client_watch_free(source->watch);
	source->watch = NULL;
	source->is_read = false;
	source->is_ready = true; /* events that come at once are not announced */
	source->place = (struct neap_client_place){
		.version = neap_client_version(scheduler->client)};
	return neap_client_watch_new(scheduler->client, source->resource,
				     source->place.version, ready, source, &source->watch,
				     err);
}

int scheduler_restart(struct neap_scheduler *scheduler, struct neap_error *err)
{
	struct neap_cluster *cluster = NULL;
	struct neap_reserve_book *book = NULL;
	struct neap_decide **profiles = NULL;
	struct neap_queue *queue = neap_queue_new();
	int ret = queue ? neap_cluster_new(&cluster, err) : neap_error_nomem(err);

	if (ret == 0)
		ret = neap_reserve_book_new(cluster, &book, err);
	if (ret == 0)
		ret = scheduler_profiles_new(scheduler, cluster, book, &profiles, err);
	for (size_t i = 0; ret == 0 && i < SOURCES; i++)
		ret = open_source(scheduler, &scheduler->sources[i], err);
	if (ret < 0) {
		neap_queue_free(queue);
		scheduler_profiles_free(profiles);
		neap_reserve_book_free(book);
		neap_cluster_free(cluster);
		return ret;
	}
	scheduler_profiles_free(scheduler->profiles);
	neap_reserve_book_free(scheduler->book);
	neap_cluster_free(scheduler->cluster);
	neap_queue_free(scheduler->queue);
	scheduler->cluster = cluster;
	scheduler->book = book;
	scheduler->again_usec = 0;
	scheduler->profiles = profiles;
	scheduler->decide = profiles[0];
	scheduler->queue = queue;
	if (scheduler->settings)
		neap_queue_set_pauses(queue, scheduler->settings->pause_usec,
				      scheduler->settings->pause_max_usec);
	scheduler->is_lost = false;
	scheduler->is_reading = true;
	scheduler->readings++;
	return 0;
}

/* Bytes of a text that are as much as an object: it is read. */
#define BYTES_A_PIECE 4096

static void take_left(size_t *left, const struct neap_object *object)
{
	size_t parts = 1 + object->text_len / BYTES_A_PIECE;

	*left -= parts < *left ? parts : *left;
}

struct piece {
	struct neap_scheduler *scheduler;
	const struct source *source;
	size_t left;
};

static void lose(struct neap_scheduler *scheduler, const struct neap_error *err)
{
	if (!scheduler->is_lost)
		neap_log_line(scheduler->log, NEAP_LOG_WARN,
			      "scheduler: reads everything again: %s", err->msg);
	scheduler->is_lost = true;
}

static bool take(void *arg, struct neap_object *object)
{
	struct piece *piece = arg;
	struct neap_client_event event = {.what = NEAP_CLIENT_ADDED, .object = object};
	struct neap_error err;

	if (!piece->left)
		return false;
	take_left(&piece->left, object);
	if (hear(piece->source, piece->scheduler, &event, &err) < 0)
		lose(piece->scheduler, &err);
	return !piece->scheduler->is_lost;
}

bool scheduler_read(struct neap_scheduler *scheduler)
{
	struct piece piece = {.scheduler = scheduler, .left = TURN_OBJECTS};
	struct neap_error err;

	for (size_t i = 0; i < SOURCES; i++) {
		struct source *source = &scheduler->sources[i];
		int ret;

		if (source->is_read)
			continue;
		piece.source = source;
		ret = neap_client_list(scheduler->client, source->resource, NULL,
				       &source->place, take, &piece, &err);
		if (ret < 0)
			lose(scheduler, &err);
		if (ret != 0 || scheduler->is_lost)
			return false;
		source->is_read = true;
	}
	scheduler->is_reading = false;
	return true;
}

bool scheduler_hear(struct neap_scheduler *scheduler)
{
	size_t left = TURN_EVENTS;
	const struct neap_client_event *event;
	struct neap_error err;

	for (size_t i = 0; i < SOURCES && !scheduler->is_lost; i++) {
		struct source *source = &scheduler->sources[i];

		while (left && source->is_ready && !scheduler->is_lost) {
			int ret = neap_client_watch_next(source->watch, &event, &err);

			source->is_ready = ret > 0;
			if (ret <= 0)
				left--;
			else
				take_left(&left, event->object);
			if (ret > 0)
				ret = hear(source, scheduler, event, &err);
			if (ret < 0)
				lose(scheduler, &err);
		}
	}
	if (scheduler->moved && !scheduler->is_lost) {
		neap_queue_wake(scheduler->queue, scheduler->moved, scheduler->now());
		scheduler->moved = 0;
	}
	return !left;
}
