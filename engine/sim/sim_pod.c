/* SPDX-License-Identifier: Apache-2.0
 *
 * Pods, and the kubelets that start and end them and make them ready. */
#include <stdlib.h>
#include <string.h>

#include "engine/sim/sim_priv.h"

static const char *const fields[] = {"spec.nodeName", NULL};

static int publish(struct neap_sim *sim, struct neap_sim_pod *pod,
		   struct neap_object *object, struct neap_error *err)
{
	unsigned moved;
	int rc = neap_cluster_set_pod(sim->cluster, object, &moved, err);

	if (rc == 0)
		rc = neap_reserve_book_set_pod(sim->book, object, &moved, err);
	if (rc == 0)
		rc = neap_world_set_pod(
			sim->world, object,
			neap_cluster_find_pod(sim->cluster, object->ns, object->name),
			err);
	if (rc < 0)
		return rc;
	(void)neap_object_unref(pod->object);
	pod->object = neap_object_ref(object);
	return 0;
}

void sim_publish_take(struct neap_sim *sim, struct neap_sim_pod *pod, json_t *tree)
{
	struct neap_object *object = NULL;
	struct neap_error err;
	int rc = tree ? neap_migrate_set_pod(&sim->migrate, tree, &err)
		      : neap_error_nomem(&err);

	if (rc < 0)
		json_decref(tree);
	else
		rc = neap_object_new_take(tree, fields, ++sim->last_version, &object,
					  &err);
	if (rc == 0)
		rc = publish(sim, pod, object, &err);
	(void)neap_object_unref(object);
	(void)sim_note(sim, rc, &err);
}

struct neap_sim_pod *neap_sim_find_pod(const struct neap_sim *sim, const char *ns,
				       const char *name)
{
	char key[NEAP_POD_KEY];

	return neap_map_find(sim->by_key, neap_pod_key(ns, name, key));
}

/* Takes it out of the list and everywhere. */
static void drop(struct neap_sim *sim, struct neap_sim_pod *pod)
{
	const struct neap_object *object = pod->object;
	char key[NEAP_POD_KEY];
	unsigned moved;

	sim->pods[pod->at] = sim->pods[--sim->pod_count];
	sim->pods[pod->at]->at = pod->at;
	if (object) {
		(void)neap_map_remove(sim->by_key,
				      neap_pod_key(object->ns, object->name, key));
		neap_reserve_book_remove_pod(sim->book, object->ns, object->name);
		neap_cluster_remove_pod(sim->cluster, object->ns, object->name, &moved);
		neap_world_remove_pod(sim->world, object->ns, object->name);
		neap_migrate_drop_pod(&sim->migrate, object->ns, object->name);
	}
	(void)neap_object_unref(pod->object);
	free(pod);
}

static bool enter(struct neap_sim *sim, struct neap_sim_pod *pod)
{
	char key[NEAP_POD_KEY];

	(void)neap_pod_key(pod->object->ns, pod->object->name, key);
	return sim_is_made(sim, neap_map_set(sim->by_key, key, pod) ? pod : NULL);
}

struct neap_sim_pod *sim_add_pod_take(struct neap_sim *sim, json_t *tree,
				      struct neap_sim_workload *workload)
{
	struct neap_sim_pod *pod = neap_alloc(sizeof(*pod));

	if (!pod || !neap_grow(&sim->pods, sim->pod_count, &sim->pod_size, sizeof(pod))) {
		free(pod);
		json_decref(tree);
		(void)sim_is_made(sim, NULL);
		return NULL;
	}
	*pod = (struct neap_sim_pod){
		.workload = workload,
		.created_usec = sim->now_usec,
		.due_usec = sim->now_usec + sim_wait(sim, &sim->args.queue),
		.ends_usec = NEAP_SIM_NEVER,
		.at = sim->pod_count,
	};
	sim->pods[sim->pod_count++] = pod;
	sim_publish_take(sim, pod, tree);
	if (sim->rc < 0 || !enter(sim, pod)) {
		drop(sim, pod);
		return NULL;
	}
	return pod;
}

struct neap_sim_pod *neap_sim_new_pod_take(struct neap_sim *sim, json_t *tree,
					   int64_t life_usec)
{
	json_t *meta = json_object_get(tree, "metadata");
	char uid[NEAP_OBJECT_UID], now[32];
	struct neap_sim_pod *pod;

	neap_sim_uid(sim, uid);
	sim_time(sim->now_usec, now);
	if (!*neap_json_text(meta, "uid"))
		(void)json_object_set_new(meta, "uid", json_string(uid));
	(void)json_object_set_new(meta, "creationTimestamp", json_string(now));
	pod = sim_add_pod_take(sim, tree, NULL);
	if (!pod)
		return NULL;
	pod->is_single = true;
	pod->state = *neap_object_field(pod->object, "spec.nodeName") ? NEAP_SIM_STARTING
								      : NEAP_SIM_NEW;
	if (life_usec != NEAP_SIM_NEVER)
		pod->ends_usec = sim->now_usec + life_usec;
	return pod;
}

void sim_remove_pod(struct neap_sim *sim, struct neap_sim_pod *pod)
{
	struct neap_sim_workload *workload = pod->workload;

	if (workload && pod->state != NEAP_SIM_LEAVING)
		workload->active--;
	drop(sim, pod);
	sim->has_moved = true;
	if (workload)
		sim_wake(sim, workload);
}

static json_t *set_condition(json_t *status, const char *type, const char *now)
{
	json_t *list = neap_json_need_take(status, "conditions", json_array());

	(void)json_array_append_new(list,
				    json_pack("{s:s, s:s, s:s}", "type", type, "status",
					      "True", "lastTransitionTime", now));
	return list;
}

void sim_bind(struct neap_sim *sim, struct neap_sim_pod *pod, const char *node,
	      json_t *notes)
{
	json_t *tree = neap_object_tree(pod->object), *meta;
	char now[32];

	sim_time(sim->now_usec, now);
	meta = json_object_get(tree, "metadata");
	if (tree)
		(void)json_object_set_new(json_object_get(tree, "spec"), "nodeName",
					  json_string(node));
	if (tree && json_object_size(notes))
		(void)json_object_update(
			neap_json_need_take(meta, "annotations", json_object()), notes);
	(void)set_condition(json_object_get(tree, "status"), "PodScheduled", now);
	pod->state = NEAP_SIM_STARTING;
	pod->bound_usec = sim->now_usec;
	pod->due_usec = sim->now_usec + sim_wait(sim, &sim->args.start);
	sim_publish_take(sim, pod, tree);
}

static void make_ready(struct neap_sim *sim, struct neap_sim_pod *pod)
{
	json_t *tree = neap_object_tree(pod->object);
	json_t *status = json_object_get(tree, "status");
	char now[32];

	sim_time(sim->now_usec, now);
	(void)json_object_set_new(status, "phase", json_string("Running"));
	(void)json_object_set_new(status, "startTime", json_string(now));
	(void)set_condition(status, "Ready", now);
	pod->state = NEAP_SIM_READY;
	pod->due_usec = pod->ends_usec;
	sim_publish_take(sim, pod, tree);
}

void neap_sim_delete_pod(struct neap_sim *sim, struct neap_sim_pod *pod)
{
	json_t *tree;
	char now[32];

	if (pod->state == NEAP_SIM_LEAVING)
		return;
	if (pod->state == NEAP_SIM_NEW || pod->state == NEAP_SIM_WAITING) {
		sim_remove_pod(sim, pod);
		return;
	}
	sim_time(sim->now_usec, now);
	tree = neap_object_tree(pod->object);
	(void)json_object_set_new(json_object_get(tree, "metadata"), "deletionTimestamp",
				  json_string(now));
	pod->state = NEAP_SIM_LEAVING;
	pod->due_usec = sim->now_usec + sim_wait(sim, &sim->args.grace);
	if (pod->workload) {
		pod->workload->active--;
		if (!pod->workload->is_ordered)
			sim_wake(sim, pod->workload);
	}
	sim_publish_take(sim, pod, tree);
}

void sim_move_pods(struct neap_sim *sim)
{
	/* Those behind one that goes were looked at already. */
	for (size_t i = sim->pod_count; i-- > 0 && sim->rc == 0;) {
		struct neap_sim_pod *pod = sim->pods[i];

		if (pod->due_usec > sim->now_usec)
			continue;
		if (pod->state == NEAP_SIM_STARTING)
			make_ready(sim, pod);
		else if (pod->state == NEAP_SIM_READY || pod->state == NEAP_SIM_LEAVING)
			sim_remove_pod(sim, pod);
		/* New ones are the scheduler's. */
	}
}
