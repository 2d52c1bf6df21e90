/* SPDX-License-Identifier: Apache-2.0
 *
 * The scheduler's picture of the cluster for other parts, and bindings through its
 * books. */
#include "api/schedule/view.h"

#include <string.h>

#include "api/schedule/schedule_priv.h"
#include "engine/base/mem.h"

bool neap_scheduler_view(struct neap_scheduler *scheduler, struct neap_schedule_view *ret)
{
	if (scheduler->is_lost || scheduler->is_reading)
		return false;
	if (scheduler_hear(scheduler) || scheduler->is_lost)
		scheduler_wake(scheduler, 0);
	if (scheduler->is_lost)
		return false;
	scheduler->decide = scheduler->profiles[0];
	neap_decide_set_now(scheduler->decide, scheduler->now());
	ret->cluster = scheduler->cluster;
	ret->decide = scheduler->decide;
	ret->readings = scheduler->readings;
	return true;
}

struct neap_decide *neap_scheduler_decide(struct neap_scheduler *scheduler,
					  const struct neap_pod *pod)
{
	scheduler_use_profile(scheduler, pod->scheduler);
	neap_decide_set_now(scheduler->decide, scheduler->now());
	return scheduler->decide;
}

/* Whether that very pod is on node, durably. */
static bool is_bound_to(const struct neap_scheduler *scheduler, const char *ns,
			const char *name, const char *uid, const char *node)
{
	struct neap_object *object =
		neap_client_find(scheduler->client, "pods", ns, name);
	json_t *tree;
	const char *there;
	bool is_same;

	if (!object || strcmp(object->uid, uid) != 0)
		return false;
	tree = neap_object_tree(object);
	there = json_string_value(
		json_object_get(json_object_get(tree, "spec"), "nodeName"));
	is_same = there && strcmp(there, node) == 0;
	json_decref(tree);
	return is_same;
}

void scheduler_tell_binder(struct neap_scheduler *scheduler, const struct bind *bind,
			   struct neap_pod *pod, const char *trouble)
{
	const char *name = strchr(bind->key, '/');
	struct neap_error err;

	if (trouble && name) {
		char ns[NEAP_POD_KEY];

		(void)snprintf(ns, sizeof(ns), "%.*s", (int)(name - bind->key),
			       bind->key);
		if (is_bound_to(scheduler, ns, name + 1, bind->uid, bind->node))
			trouble = NULL;
	}
	/* One of its own pods that another scheduler tried to place elsewhere. */
	if (trouble && pod && scheduler_wants(scheduler, pod) &&
	    !neap_queue_has(scheduler->queue, bind->key))
		(void)neap_queue_add(scheduler->queue, bind->key, pod->priority,
				     pod->created_usec, &err);
	bind->told(bind->arg, trouble);
}

/* Something may be kept there since the node was chosen. What others than Reservations
 * have is the chooser's to know. */
static int find_claim(const struct neap_schedule_view *view, const struct neap_pod *pod,
		      const struct neap_cluster_node *node, struct neap_claim **ret,
		      struct neap_error *err)
{
	const struct neap_columns *columns = neap_cluster_settle(view->cluster);
	int has_room = columns->flags[node->row] & NEAP_ROW_HAS_KEPT
			       ? neap_decide_has_room(view->decide, pod, node->row, err)
			       : 1;

	if (has_room == 0)
		return neap_error_set(err, NEAP_ECONFLICT,
				      "node %.64s has no room for pod %.64s/%.64s beside "
				      "what is kept there",
				      node->name, pod->object->ns, pod->object->name);
	return has_room < 0 ? has_room
			    : neap_decide_claim(view->decide, pod, node->row, ret, err);
}

static int bind_now(struct neap_scheduler *scheduler,
		    const struct neap_schedule_binding *binding, struct neap_error *err)
{
	struct neap_schedule_view view;
	const struct neap_cluster_node *node;
	struct neap_claim *claim = NULL;
	struct neap_pod *pod;
	struct bind *bind;
	int failed;

	if (!neap_scheduler_view(scheduler, &view))
		return neap_error_set(err, NEAP_EUNAVAILABLE,
				      "neapd is still reading the cluster");
	if (scheduler->bind_count >= BINDS_MAX)
		return neap_error_set(err, NEAP_EUNAVAILABLE,
				      "%d bindings are on their way already", BINDS_MAX);
	pod = neap_cluster_find_pod(view.cluster, binding->ns, binding->name);
	if (!pod || strcmp(pod->object->uid, binding->uid) != 0)
		return neap_error_set(err, NEAP_ENOTFOUND,
				      "there is no pod %.100s/%.100s with the uid %.64s",
				      binding->ns, binding->name, binding->uid);
	if (pod->seat.node)
		return neap_error_set(
			err, NEAP_ECONFLICT, "pod %.64s/%.64s %s node %.64s", binding->ns,
			binding->name,
			pod->seat.is_assumed ? "is being bound to" : "is on",
			pod->seat.node->name);
	node = neap_cluster_find_node(view.cluster, binding->node);
	if (!node || !node->object)
		return neap_error_set(err, NEAP_ENOTFOUND, "there is no node %.200s",
				      binding->node);
	view.decide = neap_scheduler_decide(scheduler, pod);
	failed = find_claim(&view, pod, node, &claim, err);
	if (failed < 0)
		return failed;
	bind = neap_alloc(sizeof(*bind));
	if (!bind) {
		neap_claim_free(claim);
		return neap_error_nomem(err);
	}
	bind->told = binding->told;
	bind->arg = binding->arg;
	return scheduler_bind_take(scheduler, pod, node->row, claim, bind, err);
}

void neap_scheduler_bind(struct neap_scheduler *scheduler,
			 const struct neap_schedule_binding *binding)
{
	struct neap_error err;

	if (is_bound_to(scheduler, binding->ns, binding->name, binding->uid,
			binding->node)) {
		binding->told(binding->arg, NULL);
		return;
	}
	if (bind_now(scheduler, binding, &err) < 0)
		binding->told(binding->arg, err.msg);
}
