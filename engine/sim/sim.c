/* SPDX-License-Identifier: Apache-2.0
 *
 * The clock, and the objects of the simulation. */
#include "engine/sim/sim.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/quantity.h"
#include "engine/decide/settings.h"
#include "engine/sim/sim_priv.h"

static const char *const no_fields[] = {NULL};

void neap_sim_args_init(struct neap_sim_args *args)
{
	*args = (struct neap_sim_args){
		.seed = 1,
		.now_usec = INT64_C(1767225600) * NEAP_SIM_SECOND, /* 2026-01-01 */
		.react = {NEAP_SIM_SECOND / 100, NEAP_SIM_SECOND / 25},
		.queue = {NEAP_SIM_SECOND / 200, NEAP_SIM_SECOND / 40},
		.start = {2 * NEAP_SIM_SECOND, 10 * NEAP_SIM_SECOND},
		.grace = {NEAP_SIM_SECOND, 30 * NEAP_SIM_SECOND},
	};
}

bool sim_note(struct neap_sim *sim, int rc, const struct neap_error *err)
{
	if (rc >= 0)
		return true;
	if (sim->rc == 0) {
		sim->rc = rc;
		sim->err = *err;
	}
	return false;
}

bool sim_is_made(struct neap_sim *sim, const void *made)
{
	struct neap_error err;

	return made || sim_note(sim, neap_error_nomem(&err), &err);
}

/* splitmix64 */
static uint64_t next(struct neap_sim *sim)
{
	uint64_t z = sim->random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

uint64_t neap_sim_roll(struct neap_sim *sim, uint64_t below)
{
	return below ? next(sim) % below : 0;
}

double neap_sim_chance(struct neap_sim *sim)
{
	return (double)(next(sim) >> 11) / (double)(UINT64_C(1) << 53);
}

int64_t sim_wait(struct neap_sim *sim, const struct neap_sim_delay *delay)
{
	return delay->least +
	       (int64_t)neap_sim_roll(sim, (uint64_t)(delay->most - delay->least) + 1);
}

void neap_sim_uid(struct neap_sim *sim, char ret[NEAP_OBJECT_UID])
{
	(void)snprintf(ret, NEAP_OBJECT_UID, "00000000-0000-4000-8000-%012" PRIx64,
		       ++sim->last_uid);
}

void sim_time(int64_t usec, char ret[32])
{
	(void)neap_time_format(usec, 0, ret, 32);
}

/* --- life --- */

static int make_decide(struct neap_sim *sim, bool packs, struct neap_error *err)
{
	struct neap_decide_config config = {
		.percentage = 100, .cluster = sim->cluster, .book = sim->book};
	int rc;

	config.settings = neap_settings_new();
	if (!config.settings)
		return neap_error_nomem(err);
	config.settings->percentage = 100;
	config.settings->is_most_allocated = packs;
	rc = neap_decide_new(&config, &sim->decide, err);
	(void)neap_settings_unref(config.settings);
	return rc;
}

int neap_sim_new(const struct neap_sim_args *args, struct neap_sim **ret,
		 struct neap_error *err)
{
	struct neap_sim *sim = neap_alloc(sizeof(*sim));
	int rc = sim ? neap_cluster_new(&sim->cluster, err) : neap_error_nomem(err);

	if (rc == 0)
		rc = neap_reserve_book_new(sim->cluster, &sim->book, err);
	if (rc == 0)
		rc = make_decide(sim, args->packs, err);
	if (rc == 0)
		rc = neap_world_new(neap_cluster_resources(sim->cluster), &sim->world,
				    err);
	if (rc == 0)
		rc = neap_migrate_cluster_init(&sim->migrate, err);
	if (rc == 0) {
		sim->by_key = neap_map_new();
		sim->by_uid = neap_map_new();
		rc = sim->by_key && sim->by_uid ? 0 : neap_error_nomem(err);
	}
	if (rc < 0) {
		neap_sim_free(sim);
		return rc;
	}
	sim->args = *args;
	sim->random = args->seed;
	sim->now_usec = args->now_usec;
	*ret = sim;
	return 0;
}

void neap_sim_free(struct neap_sim *sim)
{
	if (!sim)
		return;
	for (size_t i = 0; i < sim->pod_count; i++) {
		(void)neap_object_unref(sim->pods[i]->object);
		free(sim->pods[i]);
	}
	for (size_t i = 0; i < sim->workload_count; i++)
		sim_free_workload(sim->workloads[i]);
	for (size_t i = 0; i < sim->leave_count; i++)
		free(sim->leaves[i]);
	for (size_t i = 0; i < sim->job_count; i++)
		sim_free_job(sim->jobs[i]);
	for (size_t i = 0; i < sim->reservation_count; i++)
		sim_free_reservation(sim->reservations[i]);
	for (size_t i = 0; i < sim->budget_count; i++)
		sim_free_budget(sim->budgets[i]);
	free(sim->pods);
	free(sim->workloads);
	free(sim->leaves);
	free(sim->jobs);
	free(sim->reservations);
	free(sim->budgets);
	neap_map_free(sim->by_key);
	neap_map_free(sim->by_uid);
	neap_world_free(sim->world);
	neap_migrate_cluster_done(&sim->migrate);
	neap_decide_free(sim->decide);
	neap_reserve_book_free(sim->book);
	neap_cluster_free(sim->cluster);
	neap_arena_done(&sim->texts);
	free(sim);
}

/* --- what there is --- */

static int add_node(struct neap_sim *sim, struct neap_object *object,
		    struct neap_error *err)
{
	unsigned moved;
	int rc = neap_cluster_set_node(sim->cluster, object, &moved, err);

	sim->has_moved = true;
	return rc < 0 ? rc : neap_world_set_node(sim->world, object, err);
}

static int add_namespace(struct neap_sim *sim, struct neap_object *object,
			 struct neap_error *err)
{
	unsigned moved;
	int rc = neap_cluster_set_namespace(sim->cluster, object, &moved, err);

	return rc < 0 ? rc : neap_world_set_namespace(sim->world, object, err);
}

static int add_metric(struct neap_sim *sim, struct neap_object *object,
		      struct neap_error *err)
{
	unsigned moved;
	int rc = neap_cluster_set_metric(sim->cluster, object, &moved, err);

	return rc < 0 ? rc : neap_world_set_metric(sim->world, object, err);
}

static enum neap_sim_state state_of(const json_t *pod)
{
	const json_t *meta = json_object_get(pod, "metadata");
	const json_t *ready =
		neap_json_condition(json_object_get(pod, "status"), "Ready");

	if (!*neap_json_text(json_object_get(pod, "spec"), "nodeName"))
		return NEAP_SIM_NEW;
	if (json_object_get(meta, "deletionTimestamp"))
		return NEAP_SIM_LEAVING;
	return neap_json_is_text(ready, "status", "True") ? NEAP_SIM_READY
							  : NEAP_SIM_STARTING;
}

/* A pod of a server. */
static int add_pod(struct neap_sim *sim, const json_t *tree, struct neap_error *err)
{
	enum neap_sim_state state = state_of(tree);
	json_t *copy = neap_json_deep_copy(tree);
	struct neap_sim_workload *workload = sim_own(sim, tree);
	struct neap_sim_pod *pod = copy ? sim_add_pod_take(sim, copy, workload) : NULL;

	if (!pod) {
		(void)sim_is_made(sim, copy);
		*err = sim->err;
		return sim->rc;
	}
	pod->state = state;
	pod->bound_usec = pod->created_usec;
	if (state == NEAP_SIM_READY)
		pod->due_usec = NEAP_SIM_NEVER;
	else if (state == NEAP_SIM_STARTING)
		pod->due_usec = sim->now_usec + sim_wait(sim, &sim->args.start);
	else if (state == NEAP_SIM_LEAVING)
		pod->due_usec = sim->now_usec + sim_wait(sim, &sim->args.grace);
	if (workload && state != NEAP_SIM_LEAVING)
		workload->replicas = ++workload->active;
	*err = sim->err;
	return sim->rc;
}

int neap_sim_add(struct neap_sim *sim, const char *resource, const json_t *tree,
		 struct neap_error *err)
{
	static const struct {
		const char *resource;
		int (*add)(struct neap_sim *sim, struct neap_object *object,
			   struct neap_error *err);
	} rows[] = {{"nodes", add_node},
		    {"namespaces", add_namespace},
		    {"nodemetrics", add_metric}};
	struct neap_object *object = NULL;
	int rc;

	if (strcmp(resource, "pods") == 0)
		return add_pod(sim, tree, err);
	if (strcmp(resource, "poddisruptionbudgets") == 0)
		return sim_add_budget(sim, tree, err);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		json_t *copy;

		if (strcmp(resource, rows[i].resource) != 0)
			continue;
		copy = neap_json_deep_copy(tree);
		rc = copy ? neap_object_new_take(copy, no_fields, ++sim->last_version,
						 &object, err)
			  : neap_error_nomem(err);
		if (rc == 0)
			rc = rows[i].add(sim, object, err);
		(void)neap_object_unref(object);
		return rc;
	}
	return neap_error_set(err, NEAP_EINVAL, "%s are not played", resource);
}

void neap_sim_lose_node(struct neap_sim *sim, const char *name)
{
	unsigned moved;

	for (size_t i = sim->pod_count; i-- > 0;)
		if (strcmp(neap_object_field(sim->pods[i]->object, "spec.nodeName"),
			   name) == 0)
			sim_remove_pod(sim, sim->pods[i]);
	neap_cluster_remove_node(sim->cluster, name);
	neap_cluster_remove_metric(sim->cluster, name, &moved);
	neap_world_remove_metric(sim->world, name);
	neap_world_remove_node(sim->world, name);
}

/* --- time --- */

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t next_due(const struct neap_sim *sim)
{
	int64_t due = NEAP_SIM_NEVER;

	for (size_t i = 0; i < sim->pod_count; i++)
		due = earlier(due, sim->pods[i]->due_usec);
	for (size_t i = 0; i < sim->workload_count; i++)
		due = earlier(due, sim->workloads[i]->due_usec);
	for (size_t i = 0; i < sim->job_count; i++)
		due = earlier(due, sim->jobs[i]->due_usec);
	return due;
}

int neap_sim_advance(struct neap_sim *sim, int64_t until_usec, struct neap_error *err)
{
	while (sim->rc == 0) {
		int64_t due = next_due(sim);

		if (due > until_usec)
			break;
		sim->now_usec = due > sim->now_usec ? due : sim->now_usec;
		neap_decide_set_now(sim->decide, sim->now_usec);
		sim_move_pods(sim);
		sim_look_at_workloads(sim);
		sim_move_jobs(sim);
		sim_schedule(sim);
	}
	if (sim->now_usec < until_usec)
		sim->now_usec = until_usec;
	if (sim->rc < 0)
		*err = sim->err;
	return sim->rc;
}

int neap_sim_settle(struct neap_sim *sim, struct neap_error *err)
{
	sim_count_budgets(sim);
	if (sim->rc == 0)
		(void)sim_note(sim, neap_world_settle(sim->world, &sim->err), &sim->err);
	if (sim->rc < 0)
		*err = sim->err;
	return sim->rc;
}

double neap_sim_spread(struct neap_sim *sim, uint32_t resource, bool by_use)
{
	const struct neap_world *world = sim->world;
	double sum = 0, squares = 0;
	size_t count = 0;

	for (size_t i = 0; i < world->node_count; i++) {
		const struct neap_world_node *node = world->nodes[i];
		int64_t most = neap_amounts_get(&node->allocatable, resource);
		double share;

		if (node->is_cordoned || most <= 0)
			continue;
		share = (double)neap_amounts_get(by_use ? &node->used : &node->requested,
						 resource) /
			(double)most;
		sum += share;
		squares += share * share;
		count++;
	}
	if (count == 0)
		return 0;
	sum /= (double)count;
	squares = squares / (double)count - sum * sum;
	return squares > 0 ? sqrt(squares) : 0;
}
