/* SPDX-License-Identifier: Apache-2.0
 *
 * Copied are nodes, namespaces, pods that are not finished, disruption budgets, and
 * reports of use. A pod's use is taken from the reports and stays the same share of its
 * requests. Existing Reservations, jobs and volumes are left out. */
#include "api/deschedule/play/play_rounds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/deschedule/play/play_priv.h"
#include "engine/base/clock.h"
#include "engine/base/map.h"
#include "engine/base/quantity.h"
#include "engine/deschedule/moved.h"
#include "engine/json/json.h"
#include "engine/sim/sim.h"

/* As with evictQPS: 10. */
#define EVICT_PACE (NEAP_SIM_SECOND / 10)
#define INTERVAL   (5 * NEAP_SIM_MINUTE)

struct playing {
	struct neap_play *play;
	struct neap_sim *sim;
	struct neap_moved *moved;
	struct neap_map *spaces; /* namespaces that were copied */
	bool has_reports;
	int64_t end_usec; /* of the thread's CPU time */
	json_t *rounds, *evicted;
	size_t leaves_told;
};

/* --- the copy --- */

static int copy_object(struct playing *playing, const char *resource,
		       const struct neap_object *object, struct neap_error *err)
{
	json_t *tree = neap_object_tree(object);
	int rc = tree ? neap_sim_add(playing->sim, resource, tree, err)
		      : neap_error_nomem(err);

	json_decref(tree);
	return rc;
}

/* The namespace of a pod, with its budgets. */
static int copy_space(struct playing *playing, const char *ns, struct neap_error *err)
{
	const struct neap_world *world = playing->play->world;
	const struct neap_object *object = neap_world_find_namespace(world, ns);
	const struct neap_world_budget *budget = neap_world_find_budgets(world, ns);
	int rc = 0;

	if (neap_map_find(playing->spaces, ns))
		return 0;
	if (!neap_map_set(playing->spaces, ns, playing))
		return neap_error_nomem(err);
	if (object)
		rc = copy_object(playing, "namespaces", object, err);
	for (; rc == 0 && budget; budget = budget->next)
		rc = copy_object(playing, "poddisruptionbudgets", budget->object, err);
	return rc;
}

static int copy_pods(struct playing *playing, struct neap_error *err)
{
	const struct neap_world *world = playing->play->world;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < world->pod_count; i++) {
		const struct neap_world_pod *pod = world->pods[i];

		if (!(pod->flags & NEAP_WORLD_IS_LIVE))
			continue;
		rc = copy_space(playing, pod->pod->object->ns, err);
		if (rc == 0)
			rc = copy_object(playing, "pods", pod->pod->object, err);
	}
	return rc;
}

/* What the workload's pods use of their CPU requests, by the last one that was
 * reported. */
static void copy_use(struct playing *playing, const struct neap_world_pod *pod)
{
	const struct neap_object *object = pod->pod->object;
	const struct neap_world_metric *metric = pod->node ? pod->node->metric : NULL;
	struct neap_sim_pod *copy =
		neap_sim_find_pod(playing->sim, object->ns, object->name);
	const struct neap_amounts *used;
	int64_t requested = neap_pod_request(pod->pod, NEAP_RESOURCE_CPU);
	char key[NEAP_POD_KEY];

	if (!metric || !copy || !copy->workload || requested <= 0)
		return;
	used = neap_map_find(metric->pods, neap_pod_key(object->ns, object->name, key));
	if (!used)
		return;
	playing->has_reports = true;
	copy->workload->use =
		(double)neap_amounts_get(used, NEAP_RESOURCE_CPU) / (double)requested;
}

static int copy_cluster(struct playing *playing, struct neap_error *err)
{
	const struct neap_world *world = playing->play->world;
	struct neap_sim *sim = playing->sim;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < world->node_count; i++)
		if (world->nodes[i]->object)
			rc = copy_object(playing, "nodes", world->nodes[i]->object, err);
	if (rc == 0)
		rc = copy_pods(playing, err);
	for (size_t i = 0; rc == 0 && i < world->pod_count; i++)
		copy_use(playing, world->pods[i]);
	/* Migration has to know how many there are. */
	for (size_t i = 0; rc == 0 && i < sim->workload_count; i++)
		neap_sim_scale(sim, sim->workloads[i], sim->workloads[i]->replicas);
	return rc;
}

/* --- what a round wants --- */

static int cordon(struct playing *playing, const struct neap_play_change *change,
		  struct neap_error *err)
{
	const struct neap_world_node *node =
		neap_world_find_node(playing->sim->world, change->name);
	json_t *tree, *spec;
	int rc;

	if (change->type == NEAP_WISH_DELETION_COST || !node || !node->object)
		return 0;
	tree = neap_object_tree(node->object);
	spec = tree ? neap_json_need_take(tree, "spec", json_object()) : NULL;
	rc = spec && json_object_set_new(
			     spec, "unschedulable",
			     json_boolean(change->type == NEAP_WISH_CORDON)) == 0
		     ? neap_sim_add(playing->sim, "nodes", tree, err)
		     : neap_error_nomem(err);
	json_decref(tree);
	return rc;
}

static const struct neap_play_profile *profile_of(const struct playing *playing,
						  const struct neap_play_evict *evict)
{
	struct neap_play_set *set = playing->play->set;

	for (size_t i = 0; i < set->config->profile_count; i++)
		if (set->profiles[i].of == evict->profile)
			return &set->profiles[i];
	return NULL;
}

static bool has_time(const struct playing *playing)
{
	return neap_clock_usec(CLOCK_THREAD_CPUTIME_ID) < playing->end_usec;
}

static int act(struct playing *playing, const struct neap_play *round,
	       struct neap_error *err)
{
	struct neap_sim *sim = playing->sim;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < round->change_count; i++)
		rc = cordon(playing, &round->changes[i], err);
	for (size_t i = 0; rc == 0 && i < round->evict_count && has_time(playing); i++) {
		const struct neap_play_evict *evict = &round->evicts[i];
		const struct neap_play_profile *profile = profile_of(playing, evict);
		bool by_job = evict->migrates && profile && !profile->migrate.is_direct;

		(void)neap_sim_evict(sim, evict->ns, evict->name, evict->strategy,
				     evict->why, evict->to,
				     by_job ? NEAP_SIM_BY_JOB : NEAP_SIM_DIRECTLY);
		rc = neap_sim_advance(sim, sim->now_usec + EVICT_PACE, err);
	}
	return rc;
}

/* --- what is told --- */

static void tell_round(struct playing *playing, const struct neap_play *round,
		       unsigned number)
{
	static const char *const members[] = {"began", "evicted_count", "stayed_count",
					      "spread", "strategies"};
	json_t *row = json_object();

	neap_json_set_int(row, "round", number);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(members); i++) {
		json_t *value = json_object_get(round->record, members[i]);

		if (value)
			(void)json_object_set(row, members[i], value);
	}
	(void)json_array_append_new(playing->rounds, row);
}

/* Evictions of the round, whose fate is known at the end. */
static void tell_leaves(struct playing *playing, unsigned number)
{
	const struct neap_sim *sim = playing->sim;

	for (; playing->leaves_told < sim->leave_count; playing->leaves_told++) {
		const struct neap_sim_leave *leave = sim->leaves[playing->leaves_told];
		const char *slash = strchr(leave->pod, '/');
		json_t *row;

		if (json_array_size(playing->evicted) == NEAP_PLAY_LIST_MAX || !slash)
			continue;
		row = json_object();
		neap_json_set_int(row, "round", number);
		if (row)
			(void)json_object_set_new(
				row, "namespace",
				json_stringn(leave->pod, (size_t)(slash - leave->pod)));
		neap_json_set_text(row, "pod", slash + 1);
		neap_json_set_text(row, "node", leave->from);
		neap_json_set_text(row, "to", leave->told);
		neap_json_set_text(row, "strategy", leave->strategy);
		neap_json_set_text(row, "why", leave->why);
		(void)json_array_append_new(playing->evicted, row);
	}
}

static void tell_fates(struct playing *playing)
{
	static const char *const names[] = {
		[NEAP_LEAVE_ASKED] = "migrating",     [NEAP_LEAVE_GONE] = "pending",
		[NEAP_LEAVE_PLACED] = "landed",       [NEAP_LEAVE_UNWANTED] = "gone",
		[NEAP_LEAVE_REFUSED] = "not-evicted",
	};
	const struct neap_sim *sim = playing->sim;
	json_t *record = playing->play->record, *counts = json_object();
	size_t sums[NEAP_ARRAY_LEN(names)] = {0}, as_told = 0;

	for (size_t i = 0; i < sim->leave_count; i++) {
		const struct neap_sim_leave *leave = sim->leaves[i];
		json_t *row = json_array_get(playing->evicted, i);

		sums[leave->state]++;
		as_told += leave->state == NEAP_LEAVE_PLACED &&
			   strcmp(leave->landed, leave->told) == 0;
		neap_json_set_text(row, "result", names[leave->state]);
		neap_json_set_text(row, "landed", leave->landed);
		neap_json_set_text(row, "error", leave->refusal);
	}
	for (size_t i = 0; i < NEAP_ARRAY_LEN(names); i++)
		neap_json_set_int(counts, names[i], (int64_t)sums[i]);
	neap_json_set_int(counts, "as_told", (int64_t)as_told);
	if (counts)
		(void)json_object_set_new(record, "results", counts);
	neap_json_set_int(record, "evicted_count", (int64_t)sim->leave_count);
	if (sim->leave_count > json_array_size(playing->evicted))
		neap_json_set_int(
			record, "cut",
			(int64_t)(sim->leave_count - json_array_size(playing->evicted)));
}

static void measure(struct playing *playing, double ret[2])
{
	ret[0] = play_record_measure(playing->sim->world, NEAP_RESOURCE_CPU);
	ret[1] = play_record_measure(playing->sim->world, NEAP_RESOURCE_MEMORY);
}

static void tell_spread(struct playing *playing, const double before[2],
			const double after[2])
{
	json_t *spread = json_pack("{s:{s:f,s:f},s:{s:f,s:f}}", "cpu", "before",
				   before[0], "after", after[0], "memory", "before",
				   before[1], "after", after[1]);

	if (spread)
		(void)json_object_set_new(playing->play->record, "spread", spread);
}

/* --- rounds --- */

static int play_one(struct playing *playing, unsigned number)
{
	struct neap_play *play = playing->play;
	struct neap_sim *sim = playing->sim;
	struct neap_play round = {.set = play->set,
				  .world = sim->world,
				  .cluster = sim->cluster,
				  .decide = sim->decide,
				  .migrating = &sim->migrate,
				  .moved = playing->moved,
				  .now_usec = sim->now_usec,
				  .interval_usec = play->interval_usec,
				  .limits = play->limits,
				  .only = play->only};
	int rc = playing->has_reports ? neap_sim_report(sim, &play->err) : 0;

	if (rc == 0)
		rc = neap_sim_settle(sim, &play->err);
	if (rc == 0)
		neap_play_run(&round);
	if (rc == 0 && round.err.code) {
		play->err = round.err;
		rc = -(int)round.err.code;
	}
	if (rc == 0) {
		tell_round(playing, &round, number);
		play->stayed = round.stayed;
		rc = act(playing, &round, &play->err);
		tell_leaves(playing, number);
	}
	neap_play_done(&round);
	return rc;
}

static int play_all(struct playing *playing, unsigned count)
{
	struct neap_play *play = playing->play;
	struct neap_sim *sim = playing->sim;
	int64_t interval = play->interval_usec ? play->interval_usec : INTERVAL;
	double before[2], after[2];
	unsigned done = 0;
	int rc = neap_sim_settle(sim, &play->err);

	if (rc < 0)
		return rc;
	measure(playing, before);
	while (rc == 0 && done < count && has_time(playing)) {
		int64_t next = sim->now_usec + interval;

		rc = play_one(playing, ++done);
		if (rc == 0)
			rc = neap_sim_advance(sim, next, &play->err);
	}
	if (rc == 0)
		rc = neap_sim_settle(sim, &play->err);
	if (rc < 0)
		return rc;
	measure(playing, after);
	tell_spread(playing, before, after);
	tell_fates(playing);
	neap_json_set_int(play->record, "rounds_asked", count);
	return 0;
}

static int begin(struct playing *playing)
{
	struct neap_play *play = playing->play;
	const struct neap_play_set *set = play->set;
	struct neap_sim_args args;
	char text[32];
	int rc;

	neap_sim_args_init(&args);
	args.now_usec = play->now_usec;
	playing->end_usec = neap_clock_usec(CLOCK_THREAD_CPUTIME_ID) + NEAP_PLAY_CPU_USEC;
	rc = neap_world_settle(play->world, &play->err);
	if (rc == 0 && play->world->pod_count > NEAP_PLAY_PODS_MAX)
		rc = neap_error_set(&play->err, NEAP_ETOOLARGE,
				    "rounds are played with up to %d pods, and there are "
				    "%zu: play one",
				    NEAP_PLAY_PODS_MAX, play->world->pod_count);
	if (rc == 0)
		rc = neap_sim_new(&args, &playing->sim, &play->err);
	if (rc < 0)
		return rc;
	for (size_t i = set->config->profile_count; i-- > 0;)
		if (set->profiles[i].has_migrate)
			playing->sim->migrate_args = &play->set->profiles[i].migrate;
	playing->moved = neap_moved_new(NEAP_SIM_HOUR);
	playing->spaces = neap_map_new();
	play->record = json_pack("{s:[],s:[],s:b}", "rounds", "evicted", "dry_run", 1);
	if (!playing->moved || !playing->spaces || !play->record)
		return neap_error_nomem(&play->err);
	playing->rounds = json_object_get(play->record, "rounds");
	playing->evicted = json_object_get(play->record, "evicted");
	neap_json_set_text(
		play->record, "interval",
		neap_duration_format(play->interval_usec ? play->interval_usec : INTERVAL,
				     text, sizeof(text)));
	neap_json_set_int(play->record, "nodes", (int64_t)play->world->node_count);
	neap_json_set_int(play->record, "pods", (int64_t)play->world->pod_count);
	return copy_cluster(playing, &play->err);
}

void neap_play_rounds(struct neap_play *play, unsigned count)
{
	struct playing playing = {.play = play};
	int64_t start = neap_clock_usec(CLOCK_MONOTONIC);
	int rc = begin(&playing);

	if (rc == 0)
		rc = play_all(&playing, count);
	neap_moved_free(playing.moved);
	neap_map_free(playing.spaces);
	neap_sim_free(playing.sim);
	play->usec = neap_clock_usec(CLOCK_MONOTONIC) - start;
	neap_json_set_int(play->record, "usec", play->usec);
	if (rc == 0)
		play->err.code = NEAP_OK;
}
