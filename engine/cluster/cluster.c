/* SPDX-License-Identifier: Apache-2.0
 *
 * The cluster as a whole, and its pods. */
#include "engine/cluster/cluster.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/cluster/cluster_priv.h"
#include "engine/cluster/cpus_priv.h"
#include "engine/cluster/kept.h"

static bool set_defaults(struct neap_cluster *cluster, struct neap_error *err)
{
	struct neap_load_args args;

	neap_load_args_init(&args);
	return neap_cluster_set_load(cluster, &args, err) == 0;
}

int neap_cluster_new(struct neap_cluster **ret, struct neap_error *err)
{
	struct neap_cluster *cluster = neap_alloc(sizeof(*cluster));

	if (!cluster)
		return neap_error_nomem(err);
	cluster->resources = neap_resources_new();
	cluster->nodes = neap_map_new();
	cluster->pods = neap_map_new();
	cluster->namespaces = neap_map_new();
	cluster->images = neap_map_new();
	cluster->taints = neap_map_new();
	cluster->assumed = neap_map_new();
	cluster->kinds = neap_map_new();
	cluster->nominees = neap_map_new();
	cluster->budgets = neap_map_new();
	cluster->metrics = neap_map_new();
	cluster->topologies = neap_map_new();
	neap_cpus_args_init(&cluster->cpus_args);
	cluster->volumes = neap_map_new();
	cluster->claims = neap_map_new();
	cluster->classes = neap_map_new();
	if (!cluster->resources || !cluster->nodes || !cluster->pods ||
	    !cluster->namespaces || !cluster->images || !cluster->taints ||
	    !cluster->assumed || !cluster->kinds || !cluster->nominees ||
	    !cluster->budgets || !cluster->metrics || !cluster->topologies ||
	    !cluster->volumes || !cluster->claims || !cluster->classes ||
	    !set_defaults(cluster, err)) {
		neap_cluster_free(cluster);
		return neap_error_nomem(err);
	}
	*ret = cluster;
	return 0;
}

static void free_pods(struct neap_cluster *cluster)
{
	while (cluster->pods && neap_map_count(cluster->pods)) {
		const char *key;
		struct neap_pod *pod = neap_map_at(
			cluster->pods, neap_map_count(cluster->pods) - 1, &key);

		neap_cluster_unseat(cluster, pod);
		neap_cluster_unuse_kind(cluster, pod);
		(void)neap_map_remove(cluster->pods, key);
		(void)neap_pod_unref(pod);
	}
}

void neap_cluster_free(struct neap_cluster *cluster)
{
	if (!cluster)
		return;
	free_pods(cluster);
	for (size_t i = 0; i < cluster->columns.rows; i++)
		if (cluster->columns.nodes[i])
			neap_cluster_remove_node(cluster,
						 cluster->columns.nodes[i]->name);
	for (size_t i = cluster->namespaces ? neap_map_count(cluster->namespaces) : 0;
	     i--;)
		(void)neap_object_unref(neap_map_at(cluster->namespaces, i, NULL));
	neap_map_free(cluster->nodes);
	neap_map_free(cluster->pods);
	neap_map_free(cluster->namespaces);
	neap_map_free(cluster->images);
	neap_map_free(cluster->taints);
	neap_map_free(cluster->assumed);
	neap_map_free(cluster->kinds);
	free(cluster->kind_free);
	neap_cluster_free_labels(cluster);
	neap_map_free(cluster->nominees);
	neap_cluster_free_budgets(cluster);
	neap_cluster_free_volumes(cluster);
	neap_cluster_free_load(cluster);
	neap_cluster_free_topologies(cluster);
	free(cluster->taint_of);
	free(cluster->dirty);
	free(cluster->columns.nodes);
	free(cluster->columns.names);
	free(cluster->columns.flags);
	free(cluster->columns.cpu_class);
	free(cluster->columns.pods);
	free(cluster->columns.kinds);
	free(cluster->columns.scored_cpu_milli);
	free(cluster->columns.scored_bytes);
	for (uint32_t i = 0; i < NEAP_RESOURCES_MAX; i++) {
		free(cluster->columns.allocatable[i]);
		free(cluster->columns.used[i]);
	}
	neap_resources_free(cluster->resources);
	free(cluster);
}

/* --- pods --- */

static struct neap_pod *find(const struct neap_cluster *cluster, const char *ns,
			     const char *name)
{
	char key[NEAP_POD_KEY];

	return neap_map_find(cluster->pods, neap_pod_key(ns, name, key));
}

static void end_assumption(struct neap_cluster *cluster, struct neap_pod *pod)
{
	char key[NEAP_POD_KEY];

	if (!pod->seat.is_assumed)
		return;
	pod->seat.is_assumed = false;
	(void)neap_map_remove(cluster->assumed, neap_pod_seat_key(pod, key));
}

static bool is_placed(const struct neap_pod *pod)
{
	return *pod->node_name && !pod->is_finished;
}

/* Takes over what was assumed of the one before. */
static int keep_assumption(struct neap_cluster *cluster, struct neap_pod *pod,
			   const struct neap_pod *before, struct neap_error *err)
{
	char key[NEAP_POD_KEY];
	int ret;

	if (!neap_cluster_keep_claim(pod, before))
		return neap_error_nomem(err);
	ret = neap_cluster_seat(cluster, pod, before->seat.node, err);
	if (ret < 0)
		return ret;
	/* The name exists already, so this needs no memory. */
	(void)neap_map_set(cluster->assumed, neap_pod_seat_key(pod, key), pod);
	pod->seat.is_assumed = true;
	pod->seat.until_usec = before->seat.until_usec;
	return 0;
}

/* It asks for less of something. */
static bool is_smaller(const struct neap_pod *before, const struct neap_pod *pod)
{
	for (size_t i = 0; i < before->request_count; i++)
		if (neap_pod_request(pod, before->requests[i].resource) <
		    before->requests[i].amount)
			return true;
	return false;
}

static bool has_same_ports(const struct neap_pod *a, const struct neap_pod *b)
{
	if (a->port_count != b->port_count)
		return false;
	for (size_t i = 0; i < a->port_count; i++)
		if (!neap_host_port_collides(&a->ports[i], &b->ports[i]))
			return false;
	return true;
}

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool has_same_cpus(const struct neap_pod *a, const struct neap_pod *b)
{
	if (!a->cpus || !b->cpus)
		return a->cpus == b->cpus;
	return is_same_text(a->cpus->from.resource_spec, b->cpus->from.resource_spec) &&
	       is_same_text(a->cpus->from.numa_spec, b->cpus->from.numa_spec);
}

/* For a nominated pod: its room is still its own, or it is placed there. */
static bool keeps_room(const struct neap_pod *before, const struct neap_pod *pod)
{
	const char *node = pod->seat.node ? pod->seat.node->name : pod->nominated;

	return !pod->is_finished && strcmp(node, before->nominated) == 0 &&
	       pod->priority >= before->priority && !is_smaller(before, pod) &&
	       pod->seat.kind == before->seat.kind && has_same_ports(before, pod) &&
	       has_same_cpus(before, pod);
}

/* CPUs and amounts of NUMA nodes that it has, as it says itself. */
static const char *status_of(const struct neap_pod *pod)
{
	return pod->cpus && pod->cpus->status ? pod->cpus->status : "";
}

static unsigned compare(const struct neap_pod *before, const struct neap_pod *pod)
{
	unsigned room;
	bool was = before && before->seat.node && !before->seat.is_assumed;
	bool is = pod && is_placed(pod);

	if (was && !is)
		return NEAP_MOVED_POD_GONE;
	if (!was && is)
		return NEAP_MOVED_POD_PLACED;
	if (!is)
		return 0;
	room = is_smaller(before, pod) ? NEAP_MOVED_ROOM : 0;
	if (strcmp(status_of(before), status_of(pod)) != 0)
		room |= NEAP_MOVED_CPUS;
	return NEAP_MOVED_POD_PLACED | NEAP_MOVED_OTHER | room;
}

/* It uses a reservation no more, which another may use now. now: NULL when it is gone. */
static unsigned gives_back(const struct neap_pod *before, const struct neap_pod *now)
{
	const char *had = before && before->seat.node ? neap_pod_reservation(before) : "";
	bool has = now && now->seat.node && strcmp(neap_pod_reservation(now), had) == 0;

	return *had && !has ? NEAP_MOVED_RESERVATION : 0;
}

static int seat(struct neap_cluster *cluster, struct neap_pod *pod,
		const struct neap_pod *before, struct neap_error *err)
{
	struct neap_cluster_node *node;
	int ret;

	if (is_placed(pod)) {
		ret = neap_cluster_row(cluster, pod->node_name, &node, err);
		if (ret < 0)
			return ret;
		ret = neap_cluster_seat(cluster, pod, node, err);
		if (ret < 0)
			neap_cluster_drop_row(cluster, node);
		return ret;
	}
	if (before && before->seat.is_assumed && !pod->is_finished &&
	    strcmp(before->object->uid, pod->object->uid) == 0)
		return keep_assumption(cluster, pod, before, err);
	return 0;
}

/* Keeps state about preemption, which no object has. */
static void keep_trials(struct neap_pod *pod, const struct neap_pod *before)
{
	pod->trials_begin = before->trials_begin;
	pod->trials_next = before->trials_next;
	/* Until it is deleted; any other change means that it was not asked to leave. */
	pod->seat.is_victim =
		before->seat.is_victim &&
		(pod->object->is_deleting || pod->is_preempted > before->is_preempted);
	/* For a placeholder, nomination is known here only. */
	if (neap_pod_is_stand(pod) && *before->nominated)
		pod->nominated = neap_arena_strdup(&pod->arena, before->nominated);
}

/* Takes the pod, which is counted; in place of the one of its name. */
static int put_pod(struct neap_cluster *cluster, struct neap_pod *pod,
		   unsigned *ret_moved, struct neap_error *err)
{
	char key[NEAP_POD_KEY];
	struct neap_pod *before =
		neap_map_find(cluster->pods, neap_pod_seat_key(pod, key));
	int ret;

	if (!before && !neap_map_set(cluster->pods, key, pod)) {
		(void)neap_pod_unref(pod);
		return neap_error_nomem(err);
	}
	ret = neap_cluster_use_kind(cluster, pod, err);
	if (ret == 0)
		ret = seat(cluster, pod, before, err);
	if (ret < 0) {
		neap_cluster_unuse_kind(cluster, pod);
		if (!before)
			(void)neap_map_remove(cluster->pods, key);
		(void)neap_pod_unref(pod);
		return ret;
	}
	*ret_moved = compare(before, pod) | gives_back(before, pod);
	cluster->generation++;
	if (before && strcmp(before->object->uid, pod->object->uid) == 0)
		keep_trials(pod, before);
	if (!pod->nominated)
		pod->nominated = "";
	if (before && neap_cluster_end_nomination(cluster, before) &&
	    !keeps_room(before, pod))
		*ret_moved |= NEAP_MOVED_POD_GONE;
	if (*pod->nominated && !pod->seat.node && !pod->is_finished &&
	    !neap_cluster_nominate(cluster, pod, pod->nominated))
		pod->nominated = ""; /* it is only a wish */
	if (!before)
		return 0;
	(void)neap_map_set(cluster->pods, key, pod);
	if (pod->seat.is_assumed)
		before->seat.is_assumed = false;
	end_assumption(cluster, before);
	neap_cluster_unseat(cluster, before);
	/* Its holdings are keyed by name, and belonged to the previous object until
	 * now. */
	neap_cluster_hold_cpus(cluster, pod);
	neap_cluster_unuse_kind(cluster, before);
	(void)neap_pod_unref(before);
	return 0;
}

int neap_cluster_set_pod(struct neap_cluster *cluster, struct neap_object *object,
			 unsigned *ret_moved, struct neap_error *err)
{
	struct neap_pod *pod;
	int ret = neap_pod_new(object, cluster->resources, &pod, err);

	return ret < 0 ? ret : put_pod(cluster, pod, ret_moved, err);
}

int neap_cluster_set_stand(struct neap_cluster *cluster, struct neap_pod *stand,
			   unsigned *ret_moved, struct neap_error *err)
{
	return put_pod(cluster, neap_pod_ref(stand), ret_moved, err);
}

static void remove_pod(struct neap_cluster *cluster, const char *key, unsigned *ret_moved)
{
	struct neap_pod *pod = neap_map_find(cluster->pods, key);

	*ret_moved = 0;
	if (!pod)
		return;
	*ret_moved = gives_back(pod, NULL);
	if (neap_cluster_end_nomination(cluster, pod) || pod->seat.node)
		*ret_moved |= NEAP_MOVED_POD_GONE;
	cluster->generation++;
	end_assumption(cluster, pod);
	neap_cluster_unseat(cluster, pod);
	neap_cluster_unuse_kind(cluster, pod);
	(void)neap_map_remove(cluster->pods, key);
	(void)neap_pod_unref(pod);
}

void neap_cluster_remove_pod(struct neap_cluster *cluster, const char *ns,
			     const char *name, unsigned *ret_moved)
{
	char key[NEAP_POD_KEY];

	remove_pod(cluster, neap_pod_key(ns, name, key), ret_moved);
}

void neap_cluster_remove_stand(struct neap_cluster *cluster, const char *name,
			       unsigned *ret_moved)
{
	neap_cluster_remove_pod(cluster, "", name, ret_moved);
}

int neap_cluster_check_seat(const struct neap_cluster *cluster,
			    const struct neap_pod *pod, uint32_t row,
			    struct neap_error *err)
{
	if (pod->seat.node || row >= cluster->columns.rows ||
	    !cluster->columns.nodes[row])
		return neap_error_set(err, NEAP_ECONFLICT,
				      "has a place, or there is no such row");
	return 0;
}

int neap_cluster_assume_seat(struct neap_cluster *cluster, struct neap_pod *pod,
			     uint32_t row, struct neap_error *err)
{
	char key[NEAP_POD_KEY];
	int ret;

	(void)neap_pod_seat_key(pod, key);
	if (!neap_map_set(cluster->assumed, key, pod))
		return neap_error_nomem(err);
	ret = neap_cluster_seat(cluster, pod, cluster->columns.nodes[row], err);
	if (ret < 0) {
		(void)neap_map_remove(cluster->assumed, key);
		return ret;
	}
	pod->seat.is_assumed = true;
	pod->seat.until_usec = INT64_MAX;
	if (neap_cluster_end_nomination(cluster, pod) && !keeps_room(pod, pod))
		cluster->moved |= NEAP_MOVED_POD_GONE;
	return 0;
}

void neap_cluster_confirm(struct neap_cluster *cluster, struct neap_pod *pod,
			  int64_t until_usec)
{
	(void)cluster;
	if (pod->seat.is_assumed)
		pod->seat.until_usec = until_usec;
}

bool neap_cluster_bind(struct neap_cluster *cluster, struct neap_pod *pod,
		       struct neap_object *object, const char *spec, const char *status)
{
	enum neap_cpu_exclusive exclusive = pod->seat.exclusive;

	if (!pod->seat.is_assumed || *pod->nominated ||
	    !neap_pod_bind(pod, object, pod->seat.node->name, spec, status))
		return false;
	end_assumption(cluster, pod);
	neap_cluster_end_claim(pod);
	/* From now on its own annotations count. */
	if (pod->cpus && pod->cpus->exclusive != exclusive) {
		neap_cluster_release_cpus(pod);
		neap_cluster_hold_cpus(cluster, pod);
	}
	neap_cluster_mark(cluster, pod->seat.node);
	return true;
}

void neap_cluster_forget(struct neap_cluster *cluster, struct neap_pod *pod)
{
	if (!pod->seat.is_assumed)
		return;
	end_assumption(cluster, pod);
	neap_cluster_unseat(cluster, pod);
	neap_cluster_end_claim(pod);
}

struct neap_pod *neap_cluster_expire(struct neap_cluster *cluster, int64_t now_usec)
{
	for (size_t i = neap_map_count(cluster->assumed); i--;) {
		struct neap_pod *pod = neap_map_at(cluster->assumed, i, NULL);

		if (pod->seat.until_usec > now_usec)
			continue;
		neap_cluster_forget(cluster, pod);
		return pod;
	}
	return NULL;
}

/* --- the rest --- */

int neap_cluster_set_namespace(struct neap_cluster *cluster, struct neap_object *object,
			       unsigned *ret_moved, struct neap_error *err)
{
	struct neap_object *before = neap_map_find(cluster->namespaces, object->name);

	if (!neap_map_set(cluster->namespaces, object->name, object))
		return neap_error_nomem(err);
	(void)neap_object_ref(object);
	*ret_moved = before && neap_cluster_has_same_labels(before, object)
			     ? 0
			     : NEAP_MOVED_LABELS;
	(void)neap_object_unref(before);
	cluster->generation++;
	return 0;
}

void neap_cluster_remove_namespace(struct neap_cluster *cluster, const char *name)
{
	(void)neap_object_unref(neap_map_remove(cluster->namespaces, name));
	cluster->generation++;
}

void neap_cluster_set_told(struct neap_cluster *cluster, const struct neap_told *told)
{
	cluster->told = told;
}

const struct neap_told *neap_cluster_told(const struct neap_cluster *cluster)
{
	return cluster->told;
}

struct neap_resources *neap_cluster_resources(struct neap_cluster *cluster)
{
	return cluster->resources;
}

size_t neap_cluster_node_count(const struct neap_cluster *cluster)
{
	return cluster->node_count;
}

uint64_t neap_cluster_generation(const struct neap_cluster *cluster)
{
	return cluster->generation;
}

struct neap_pod *neap_cluster_find_pod(const struct neap_cluster *cluster, const char *ns,
				       const char *name)
{
	return find(cluster, ns, name);
}

struct neap_pod *neap_cluster_find_stand(const struct neap_cluster *cluster,
					 const char *name)
{
	return find(cluster, "", name);
}

struct neap_pod *neap_cluster_find_key(const struct neap_cluster *cluster,
				       const char *key)
{
	return neap_map_find(cluster->pods, key);
}

struct neap_cluster_node *neap_cluster_find_node(const struct neap_cluster *cluster,
						 const char *name)
{
	return neap_map_find(cluster->nodes, name);
}

struct neap_cluster_node *neap_cluster_node_at(const struct neap_cluster *cluster,
					       uint32_t row)
{
	return row < cluster->columns.rows ? cluster->columns.nodes[row] : NULL;
}

struct neap_object *neap_cluster_find_namespace(const struct neap_cluster *cluster,
						const char *name)
{
	return neap_map_find(cluster->namespaces, name);
}

const struct neap_image *neap_cluster_find_image(const struct neap_cluster *cluster,
						 const char *name)
{
	return neap_map_find(cluster->images, name);
}

uint32_t neap_cluster_taint_end(const struct neap_cluster *cluster)
{
	return cluster->taint_end;
}

const struct neap_taint *neap_cluster_taint(const struct neap_cluster *cluster,
					    uint32_t number)
{
	return number < cluster->taint_end ? cluster->taint_of[number] : NULL;
}
