/* SPDX-License-Identifier: Apache-2.0
 *
 * Places Reservations: each is decided through its placeholder pod, and the decision is
 * written as its status. CPUs are written to its annotations first; annotations of a
 * placement that never happened are ignored, because nothing is held before the status
 * names the node. */
#include <stdlib.h>
#include <string.h>

#include "api/client/client.h"
#include "api/schedule/schedule_priv.h"
#include "engine/base/mem.h"
#include "engine/decide/decide.h"
#include "engine/reserve/life.h"

bool scheduler_wants_stand(const struct neap_scheduler *scheduler,
			   const struct neap_pod *stand)
{
	const struct neap_reserve *reserve =
		neap_reserve_book_find(scheduler->book, stand->keep->name);

	if (!reserve || reserve->pod != stand || reserve->object->is_deleting ||
	    scheduler_profile(scheduler, stand->scheduler) < 0)
		return false;
	return reserve->phase == NEAP_RESERVE_WAITING ||
	       (reserve->phase == NEAP_RESERVE_PENDING && !*reserve->node_name);
}

int scheduler_hear_reservation(struct neap_scheduler *scheduler,
			       const struct neap_client_event *event,
			       struct neap_error *err)
{
	const char *name = event->object->name;
	char key[NEAP_POD_KEY];
	const struct neap_pod *stand;
	unsigned moved = 0;
	int ret;

	(void)neap_pod_key("", name, key);
	if (event->what == NEAP_CLIENT_DELETED) {
		neap_reserve_book_remove(scheduler->book, name, &moved);
		neap_queue_remove(scheduler->queue, key);
		scheduler->moved |= moved;
		return 0;
	}
	ret = neap_reserve_book_set(scheduler->book, event->object, &moved, err);
	scheduler->moved |= moved;
	if (ret < 0)
		return ret;
	stand = neap_cluster_find_stand(scheduler->cluster, name);
	if (stand && scheduler_wants_stand(scheduler, stand))
		return scheduler_queue(scheduler, stand, event, err);
	neap_queue_remove(scheduler->queue, key);
	return 0;
}

/* --- what is written --- */

/* The whole object with that status, onto the version that the tree is of. Takes both. */
static void write_status(struct neap_scheduler *scheduler,
			 const struct neap_client_ask *ask, json_t *tree, json_t *status)
{
	if (json_object_set_new(tree, "status", status) < 0) {
		json_decref(tree);
		tree = NULL;
	}
	neap_client_update_take(scheduler->client, ask, true, tree);
}

static void told_status(void *arg, struct neap_object *object,
			const struct neap_client_failure *failure)
{
	if (object)
		scheduler_bound(arg, object, failure);
	else
		scheduler_not_placed(arg, failure);
}

/* The annotations are there: now the status. */
static void noted(void *arg, struct neap_object *object,
		  const struct neap_client_failure *failure)
{
	struct bind *bind = arg;
	struct neap_client_ask ask = {.resource = RESERVATIONS,
				      .ns = "",
				      .name = bind->key + 1,
				      .told = told_status,
				      .arg = bind};
	json_t *tree = object && bind->scheduler ? neap_object_tree(object) : NULL;
	json_t *status = bind->status;

	if (!tree) {
		scheduler_not_placed(bind, failure);
		return;
	}
	bind->status = NULL;
	write_status(bind->scheduler, &ask, tree, status);
}

/* Its newest state, if it is still the same one. */
static const struct neap_object *newest_of(const struct neap_scheduler *scheduler,
					   const struct neap_pod *stand)
{
	const struct neap_object *newest = neap_client_newest(
		scheduler->client, RESERVATIONS, "", stand->keep->name);

	return newest && strcmp(newest->uid, stand->object->uid) == 0 ? newest : NULL;
}

static int make_status(struct neap_scheduler *scheduler, const struct neap_pod *stand,
		       const json_t *tree, const char *node, bool is_waiting,
		       json_t **ret, struct neap_error *err)
{
	const struct neap_reserve *reserve =
		neap_reserve_book_find(scheduler->book, stand->keep->name);

	if (!reserve)
		return neap_error_set(err, NEAP_ENOTFOUND, "it is gone");
	return neap_reserve_status_placed(tree, reserve, node, is_waiting,
					  neap_cluster_resources(scheduler->cluster),
					  scheduler->now(), ret, err);
}

static json_t *patch_of(const json_t *tree, json_t *notes)
{
	const json_t *meta = json_object_get(tree, "metadata");

	return json_pack("{s:{s:O, s:O, s:O}}", "metadata", "uid",
			 json_object_get(meta, "uid"), "resourceVersion",
			 json_object_get(meta, "resourceVersion"), "annotations", notes);
}

void scheduler_write_stand(struct bind *bind)
{
	struct neap_scheduler *scheduler = bind->scheduler;
	const struct neap_pod *stand =
		neap_cluster_find_key(scheduler->cluster, bind->key);
	const struct neap_object *newest = stand ? newest_of(scheduler, stand) : NULL;
	/* Somebody else may have placed it meanwhile. */
	bool is_same = newest && strcmp(newest->uid, bind->uid) == 0 &&
		       newest->version == stand->object->version && stand->seat.node &&
		       strcmp(stand->seat.node->name, bind->node) == 0;
	struct neap_client_ask ask = {.resource = RESERVATIONS,
				      .ns = "",
				      .name = bind->key + 1,
				      .told = told_status,
				      .arg = bind};
	json_t *tree = is_same ? neap_object_tree(newest) : NULL;
	json_t *status = bind->status;

	if (!tree) {
		scheduler_not_placed(bind, NULL);
		return;
	}
	if (json_object_size(bind->notes)) {
		ask.told = noted;
		neap_client_patch_take(scheduler->client, &ask, false,
				       patch_of(tree, bind->notes));
		json_decref(tree);
		return;
	}
	bind->status = NULL;
	write_status(scheduler, &ask, tree, status);
}

/* Removes CPUs from its annotations that belong to a placement that never happened. */
static bool forget_cpus(const json_t *tree, json_t *notes)
{
	const json_t *before =
		json_object_get(json_object_get(tree, "metadata"), "annotations");

	return json_object_get(notes, NEAP_KEY_RESOURCE_STATUS) ||
	       !json_object_get(before, NEAP_KEY_RESOURCE_STATUS) ||
	       json_object_set_new(notes, NEAP_KEY_RESOURCE_STATUS, json_null()) == 0;
}

/* Builds what is written, for the version that was decided on: a newer one may keep other
 * amounts. */
static int fill_bind(struct neap_scheduler *scheduler, struct neap_pod *stand,
		     uint32_t row, const struct neap_claim *claim, bool is_waiting,
		     struct bind *bind, struct neap_error *err)
{
	const struct neap_cluster_node *place =
		neap_cluster_settle(scheduler->cluster)->nodes[row];
	const char *node = place->name;
	const struct neap_object *newest = newest_of(scheduler, stand);
	json_t *tree;
	int failed;

	if (!newest || newest->version != stand->object->version)
		return neap_error_set(err, NEAP_ECONFLICT, "it is another one now");
	if (scheduler_take_back(scheduler, stand, place, claim))
		return neap_error_set(err, NEAP_ECONFLICT, "pods say that they use it");
	tree = neap_object_tree(newest);
	if (!tree)
		return neap_error_nomem(err);
	bind->notes = claim ? neap_claim_annotations(stand, claim) : json_object();
	failed = bind->notes && forget_cpus(tree, bind->notes) &&
				 scheduler_note_taken(bind, claim)
			 ? make_status(scheduler, stand, tree, node, is_waiting,
				       &bind->status, err)
			 : neap_error_nomem(err);
	json_decref(tree);
	/* A waiting one is placed already. */
	if (failed == 0)
		failed =
			stand->seat.node
				? neap_cluster_give(scheduler->cluster, stand, claim, err)
				: neap_cluster_assume_with(scheduler->cluster, stand, row,
							   claim, err);
	if (failed < 0)
		return failed;
	scheduler_wake_for_room(scheduler);
	scheduler_add_bind(scheduler, stand, node, bind);
	return 0;
}

int scheduler_place_stand_take(struct neap_scheduler *scheduler, struct neap_pod *stand,
			       uint32_t row, struct neap_claim *claim, bool is_waiting,
			       struct bind *bind, struct neap_error *err)
{
	int failed = fill_bind(scheduler, stand, row, claim, is_waiting, bind, err);

	neap_claim_free(claim);
	if (failed < 0) {
		scheduler_bind_free(bind);
		return failed;
	}
	if (bind->taken_count)
		scheduler_take_over(bind);
	else
		scheduler_write_stand(bind);
	return 0;
}

/* --- waiting --- */

bool scheduler_place_waiting(struct neap_scheduler *scheduler, struct neap_pod *stand,
			     const char *key)
{
	struct neap_error err;
	struct bind *bind;
	uint32_t row;

	if (neap_decide_wait(scheduler->decide, stand, &row, &err) <= 0)
		return false;
	bind = neap_alloc(sizeof(*bind));
	if (!bind ||
	    scheduler_place_stand_take(scheduler, stand, row, NULL, true, bind, &err) < 0)
		neap_queue_retry(scheduler->queue, key, scheduler->now());
	return true;
}

static bool has_ports(const struct neap_pod *stand)
{
	const struct neap_cluster_node *node = stand->seat.node;

	for (size_t i = 0; stand->port_count && i < node->pod_count; i++)
		for (size_t a = 0; node->pods[i] != stand && a < stand->port_count; a++)
			for (size_t b = 0; b < node->pods[i]->port_count; b++)
				if (neap_host_port_collides(&stand->ports[a],
							    &node->pods[i]->ports[b]))
					return false;
	return true;
}

/* Of the Reservations that wait on a node, the oldest gets its room first. */
static bool waits_behind(const struct neap_pod *other, const struct neap_pod *stand)
{
	if (!neap_pod_is_stand(other) || !other->keep->waits)
		return false;
	if (other->created_usec != stand->created_usec)
		return other->created_usec > stand->created_usec;
	return strcmp(other->keep->name, stand->keep->name) > 0;
}

static int64_t used_behind(const struct neap_pod *stand, uint32_t resource)
{
	const struct neap_cluster_node *node = stand->seat.node;
	int64_t sum = 0;

	for (size_t i = 0; i < node->pod_count; i++)
		if (waits_behind(node->pods[i], stand))
			sum = neap_amount_sum(sum,
					      neap_pod_request(node->pods[i], resource));
	return sum;
}

/* Returns whether the node's pods leave room for everything kept there, except by younger
 * waiting Reservations. */
static bool is_free(const struct neap_columns *columns, const struct neap_pod *stand)
{
	uint32_t row = stand->seat.node->row;

	if (!has_ports(stand))
		return false;
	for (size_t i = 0; i < stand->request_count; i++) {
		uint32_t resource = stand->requests[i].resource;

		if (!columns->used[resource] ||
		    columns->used[resource][row] - used_behind(stand, resource) >
			    columns->allocatable[resource][row])
			return false;
	}
	return true;
}

static bool is_on_its_way(const struct neap_scheduler *scheduler, const char *key)
{
	for (const struct bind *bind = scheduler->binds; bind; bind = bind->next)
		if (strcmp(bind->key, key) == 0)
			return true;
	return false;
}

static int claim_place(struct neap_scheduler *scheduler, struct neap_pod *stand,
		       struct neap_claim **ret, struct neap_error *err)
{
	uint32_t row = stand->seat.node->row;
	struct neap_cluster_node *node = neap_cluster_lift(scheduler->cluster, stand);
	int answer = neap_decide_claim(scheduler->decide, stand, row, ret, err);

	neap_cluster_put_back(scheduler->cluster, stand, node);
	return answer;
}

void scheduler_look_at_waiting(struct neap_scheduler *scheduler, struct neap_pod *stand,
			       const char *key)
{
	const struct neap_columns *columns = neap_cluster_settle(scheduler->cluster);
	struct neap_claim *claim = NULL;
	struct neap_error err;
	struct bind *bind;
	int answer;

	neap_queue_park(scheduler->queue, key,
			NEAP_MOVED_POD_GONE | NEAP_MOVED_ROOM | NEAP_MOVED_CPUS |
				NEAP_MOVED_RESERVATION,
			scheduler->now());
	if (!stand->seat.node->object || !is_free(columns, stand) ||
	    is_on_its_way(scheduler, key))
		return;
	scheduler_use_profile(scheduler, stand->scheduler);
	answer = claim_place(scheduler, stand, &claim, &err);
	bind = answer < 0 ? NULL : neap_alloc(sizeof(*bind));
	if (!bind) {
		neap_claim_free(claim);
		return;
	}
	if (scheduler_place_stand_take(scheduler, stand, stand->seat.node->row, claim,
				       false, bind, &err) < 0)
		neap_queue_retry(scheduler->queue, key, scheduler->now());
}

/* --- no place --- */

static bool says_so(const json_t *tree, const char *message)
{
	const json_t *one;
	size_t i;

	json_array_foreach (
		json_object_get(json_object_get(tree, "status"), "conditions"), i, one) {
		const char *type = json_string_value(json_object_get(one, "type"));
		const char *is = json_string_value(json_object_get(one, "message"));

		if (type && is && strcmp(type, "Scheduled") == 0)
			return strcmp(is, message) == 0;
	}
	return false;
}

void scheduler_tell_unplaced(struct neap_scheduler *scheduler,
			     const struct neap_pod *stand, const char *message)
{
	const struct neap_client_ask ask = {
		.resource = RESERVATIONS, .ns = "", .name = stand->keep->name};
	const struct neap_object *newest = newest_of(scheduler, stand);
	char key[NEAP_POD_KEY];
	json_t *tree;

	/* It may have ended or been placed; the message follows after the next look. */
	if (!newest || newest->version != stand->object->version) {
		neap_queue_retry(scheduler->queue, neap_pod_seat_key(stand, key),
				 scheduler->now());
		return;
	}
	tree = neap_object_tree(newest);
	if (tree && !says_so(tree, message)) {
		json_t *status =
			neap_reserve_status_unplaced(tree, message, scheduler->now());

		if (status) {
			write_status(scheduler, &ask, tree, status);
			return;
		}
	}
	json_decref(tree);
}
