/* SPDX-License-Identifier: Apache-2.0
 *
 * Controllers: they create and delete pods so that workloads have the wanted number. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/quantity.h"
#include "engine/deschedule/successor.h"
#include "engine/sim/sim_priv.h"

void sim_free_workload(struct neap_sim_workload *workload)
{
	free(workload->kind);
	free(workload->ns);
	free(workload->name);
	free(workload->uid);
	json_decref(workload->template);
	free(workload);
}

void sim_wake(struct neap_sim *sim, struct neap_sim_workload *workload)
{
	if (workload->due_usec == NEAP_SIM_NEVER)
		workload->due_usec = sim->now_usec + sim_wait(sim, &sim->args.react);
}

/* template is taken. */
static struct neap_sim_workload *make_take(struct neap_sim *sim, const char *kind,
					   const char *ns, const char *name,
					   const char *uid, json_t *template)
{
	struct neap_sim_workload *workload = neap_alloc(sizeof(*workload));

	if (!workload) {
		json_decref(template);
		(void)sim_is_made(sim, NULL);
		return NULL;
	}
	workload->kind = neap_strdup(kind);
	workload->ns = neap_strdup(ns);
	workload->name = neap_strdup(name);
	workload->uid = neap_strdup(uid);
	workload->template = template;
	workload->is_ordered = strcmp(kind, "StatefulSet") == 0;
	workload->due_usec = NEAP_SIM_NEVER;
	workload->use = 0.5;
	if (!workload->kind || !workload->ns || !workload->name || !workload->uid ||
	    !template ||
	    !neap_grow(&sim->workloads, sim->workload_count, &sim->workload_size,
		       sizeof(workload)) ||
	    !neap_map_set(sim->by_uid, uid, workload)) {
		sim_free_workload(workload);
		(void)sim_is_made(sim, NULL);
		return NULL;
	}
	sim->workloads[sim->workload_count++] = workload;
	return workload;
}

/* What migration has to know of it. */
static void tell_replicas(struct neap_sim *sim, const struct neap_sim_workload *workload)
{
	json_t *tree =
		json_pack("{s:{s:s, s:s, s:s}, s:{s:I}}", "metadata", "name",
			  workload->name, "namespace", workload->ns, "uid", workload->uid,
			  "spec", "replicas", (json_int_t)workload->replicas);
	struct neap_error err;
	int rc = tree ? neap_migrate_set_workload(&sim->migrate, workload->kind, tree,
						  &err)
		      : neap_error_nomem(&err);

	json_decref(tree);
	(void)sim_note(sim, rc, &err);
}

struct neap_sim_workload *sim_own(struct neap_sim *sim, const json_t *pod)
{
	const json_t *owner = neap_migrate_controller(pod);
	const char *uid = neap_json_text(owner, "uid");
	const char *kind = neap_json_text(owner, "kind");
	struct neap_sim_workload *workload =
		*uid ? neap_map_find(sim->by_uid, uid) : NULL;

	if (!*uid || strcmp(kind, "DaemonSet") == 0 || strcmp(kind, "Node") == 0)
		return NULL;
	if (!workload)
		workload = make_take(
			sim, kind,
			neap_json_text(json_object_get(pod, "metadata"), "namespace"),
			neap_json_text(owner, "name"), uid,
			neap_successor_new(pod, "", ""));
	return workload;
}

struct neap_sim_workload *neap_sim_new_workload(struct neap_sim *sim, const char *kind,
						const char *ns, const char *name,
						const json_t *template, int64_t replicas)
{
	json_t *copy = neap_json_deep_copy(template), *meta;
	struct neap_sim_workload *workload;
	char uid[NEAP_OBJECT_UID];

	neap_sim_uid(sim, uid);
	meta = copy ? neap_json_need_take(copy, "metadata", json_object()) : NULL;
	if (meta) {
		(void)json_object_set_new(meta, "namespace", json_string(ns));
		(void)json_object_set_new(meta, "ownerReferences",
					  json_pack("[{s:s, s:s, s:s, s:s, s:b}]",
						    "apiVersion", "apps/v1", "kind", kind,
						    "name", name, "uid", uid,
						    "controller", 1));
	}
	workload = make_take(sim, kind, ns, name, uid, copy);
	if (workload)
		neap_sim_scale(sim, workload, replicas);
	return workload;
}

/* --- what it has --- */

static bool has_ordinal(const struct neap_sim *sim,
			const struct neap_sim_workload *workload, int64_t ordinal,
			char name[NEAP_OBJECT_NAME])
{
	(void)snprintf(name, NEAP_OBJECT_NAME, "%s-%lld", workload->name,
		       (long long)ordinal);
	return neap_sim_find_pod(sim, workload->ns, name);
}

/* The next name; false: none is free yet. */
static bool name_next(struct neap_sim *sim, struct neap_sim_workload *workload,
		      char name[NEAP_OBJECT_NAME])
{
	if (workload->is_ordered) {
		for (int64_t i = 0; i < workload->replicas; i++)
			if (!has_ordinal(sim, workload, i, name))
				return true;
		return false;
	}
	do
		(void)snprintf(name, NEAP_OBJECT_NAME, "%.200s-s%llu", workload->name,
			       (unsigned long long)++workload->made);
	while (neap_sim_find_pod(sim, workload->ns, name));
	return true;
}

static bool make_pod(struct neap_sim *sim, struct neap_sim_workload *workload)
{
	char uid[NEAP_OBJECT_UID], name[NEAP_OBJECT_NAME], now[32];
	struct neap_sim_pod *pod;
	json_t *tree;

	if (!name_next(sim, workload, name))
		return false;
	neap_sim_uid(sim, uid);
	sim_time(sim->now_usec, now);
	tree = neap_successor_new(workload->template, name, uid);
	if (!sim_is_made(sim, tree))
		return false;
	(void)json_object_set_new(json_object_get(tree, "metadata"), "creationTimestamp",
				  json_string(now));
	pod = sim_add_pod_take(sim, tree, workload);
	if (!pod)
		return false;
	workload->active++;
	sim_note_made(sim, pod);
	return true;
}

/* The one that goes first: without a node, then the newest. */
static struct neap_sim_pod *find_surplus(const struct neap_sim *sim,
					 const struct neap_sim_workload *workload)
{
	struct neap_sim_pod *best = NULL;

	for (size_t i = 0; i < sim->pod_count; i++) {
		struct neap_sim_pod *pod = sim->pods[i];

		if (pod->workload != workload || pod->state == NEAP_SIM_LEAVING)
			continue;
		if (!best ||
		    (pod->state <= NEAP_SIM_WAITING) >
			    (best->state <= NEAP_SIM_WAITING) ||
		    ((pod->state <= NEAP_SIM_WAITING) ==
			     (best->state <= NEAP_SIM_WAITING) &&
		     pod->created_usec > best->created_usec))
			best = pod;
	}
	return best;
}

static void look(struct neap_sim *sim, struct neap_sim_workload *workload)
{
	while (sim->rc == 0 && workload->active < workload->replicas)
		if (!make_pod(sim, workload))
			break;
	while (sim->rc == 0 && workload->active > workload->replicas) {
		struct neap_sim_pod *pod = find_surplus(sim, workload);

		if (!pod)
			break;
		neap_sim_delete_pod(sim, pod);
	}
	if (workload->active >= workload->replicas)
		sim_note_unwanted(sim, workload);
}

void sim_look_at_workloads(struct neap_sim *sim)
{
	for (size_t i = 0; i < sim->workload_count && sim->rc == 0; i++) {
		struct neap_sim_workload *workload = sim->workloads[i];

		if (workload->due_usec > sim->now_usec)
			continue;
		workload->due_usec = NEAP_SIM_NEVER;
		look(sim, workload);
	}
}

void neap_sim_scale(struct neap_sim *sim, struct neap_sim_workload *workload,
		    int64_t replicas)
{
	workload->replicas = replicas;
	tell_replicas(sim, workload);
	sim_wake(sim, workload);
}
