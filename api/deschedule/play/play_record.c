/* SPDX-License-Identifier: Apache-2.0
 *
 * The record of a round, as the control API shows it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/deschedule/play/play_priv.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"

int play_record_begin(struct play_run *run)
{
	struct neap_play *play = run->play;

	play->record = json_pack("{s:[],s:[],s:[],s:[]}", "strategies", "evicted",
				 "stayed", "changes");
	if (!play->record)
		return neap_error_nomem(&play->err);
	run->strategies = json_object_get(play->record, "strategies");
	run->evicted = json_object_get(play->record, "evicted");
	run->stayed = json_object_get(play->record, "stayed");
	run->changes = json_object_get(play->record, "changes");
	return 0;
}

static json_t *add_row(json_t *list, size_t *cut, const struct neap_world_pod *pod,
		       const struct neap_play_profile *profile)
{
	const struct neap_object *object = pod->pod->object;
	json_t *row;

	if (json_array_size(list) == NEAP_PLAY_LIST_MAX) {
		++*cut;
		return NULL;
	}
	row = json_object();
	neap_json_set_text(row, "namespace", object->ns);
	neap_json_set_text(row, "pod", object->name);
	neap_json_set_text(row, "node", pod->node ? pod->node->name : "");
	neap_json_set_text(row, "profile", profile->of->name);
	if (!row || json_array_append_new(list, row) < 0) {
		++*cut;
		return NULL;
	}
	return row;
}

json_t *play_record_said(struct play_run *run, const struct neap_play_profile *profile,
			 const struct neap_play_plugin *plugin,
			 const struct neap_round_said *said, bool is_dry)
{
	bool is_evicted = said->answer.outcome == NEAP_ROUND_EVICTED;
	json_t *row = add_row(is_evicted ? run->evicted : run->stayed,
			      is_evicted ? &run->evicted_cut : &run->stayed_cut,
			      said->pod, profile);

	if (!row)
		return NULL;
	neap_json_set_text(row, "strategy", plugin->name);
	neap_json_set_text(row, "why", said->why);
	if (is_evicted) {
		neap_json_set_text(row, "to", said->answer.node);
		if (is_dry)
			(void)json_object_set_new(row, "dry_run", json_true());
	} else {
		neap_json_set_text(row, "outcome",
				   neap_round_outcome_name(said->answer.outcome));
		neap_json_set_text(row, "reason", said->answer.reason);
	}
	return row;
}

json_t *play_record_wish(struct play_run *run, const struct neap_play_profile *profile,
			 const struct neap_round_wish *wish, bool is_dry)
{
	static const char *const names[] = {[NEAP_WISH_DELETION_COST] = "deletion-cost",
					    [NEAP_WISH_CORDON] = "cordon",
					    [NEAP_WISH_UNCORDON] = "uncordon"};
	json_t *row = NULL;

	if (json_array_size(run->changes) < NEAP_PLAY_LIST_MAX)
		row = json_object();
	neap_json_set_text(row, "change", names[wish->type]);
	if (wish->type == NEAP_WISH_DELETION_COST) {
		neap_json_set_text(row, "namespace", wish->pod->pod->object->ns);
		neap_json_set_text(row, "pod", wish->pod->pod->object->name);
		neap_json_set_int(row, "cost", wish->cost);
	} else {
		neap_json_set_text(row, "node", wish->node->name);
	}
	neap_json_set_text(row, "profile", profile->of->name);
	neap_json_set_text(row, "strategy", wish->strategy);
	if (is_dry)
		(void)json_object_set_new(row, "dry_run", json_true());
	if (!row || json_array_append_new(run->changes, row) < 0) {
		run->changes_cut++;
		return NULL;
	}
	return row;
}

void play_record_kept(struct play_run *run, const struct neap_play_profile *profile)
{
	const struct neap_round *round = run->round;
	const struct neap_world *world = run->play->world;
	neap_auto_free bool *is_said =
		neap_alloc_array(world->pod_count + 1, sizeof(*is_said));

	if (!is_said)
		return;
	for (size_t i = 0; i < round->said_count; i++)
		is_said[round->said[i].pod->index] = true;
	for (size_t i = 0; i < world->pod_count; i++) {
		json_t *row;

		if (!round->kept[i] || is_said[i])
			continue;
		run->play->stayed++;
		row = add_row(run->stayed, &run->stayed_cut, world->pods[i], profile);
		if (!row)
			continue;
		neap_json_set_text(row, "outcome",
				   neap_round_outcome_name(NEAP_ROUND_KEPT));
		neap_json_set_text(row, "reason", round->kept[i]);
	}
}

/* --- strategies --- */

static const char *result_of(enum neap_tick_verdict verdict)
{
	switch (verdict) {
	case NEAP_TICK_WISHES:
		return "ok";
	case NEAP_TICK_BUDGET:
		return "stopped"; /* it used up its budget */
	case NEAP_TICK_STARVED:
		return "starved";
	default:
		return "failed";
	}
}

/* Rules are listed only when they failed. */
static bool is_told(const struct neap_play_plugin *plugin)
{
	return plugin->has_run &&
	       (plugin->verdict != NEAP_TICK_WISHES ||
		strcmp(neap_policy_kind(plugin->policy)->name, "deschedule") == 0);
}

static void add_strategy(struct play_run *run, const struct neap_play_profile *profile,
			 const struct neap_play_plugin *plugin)
{
	json_t *row = json_object();

	neap_json_set_text(row, "profile", profile->of->name);
	neap_json_set_text(row, "strategy", plugin->name);
	neap_json_set_text(row, "policy", plugin->label);
	neap_json_set_text(row, "result", result_of(plugin->verdict));
	if (plugin->verdict != NEAP_TICK_WISHES)
		neap_json_set_text(row, "error", plugin->err.msg);
	neap_json_set_int(row, "cpu_usec", plugin->cpu_usec);
	neap_json_set_int(row, "asked", (int64_t)plugin->asked);
	neap_json_set_int(row, "evicted", (int64_t)plugin->evicted);
	if (plugin->dry_run || run->play->is_dry)
		(void)json_object_set_new(row, "dry_run", json_true());
	(void)json_array_append_new(run->strategies, row);
}

/* --- use --- */

/* Percent of what is allocatable that pods of the nodes request, and what it will be. */
struct use {
	double sum[2], squares[2];
	size_t count;
};

static void add_use(struct use *use, double before, double after)
{
	use->sum[0] += before;
	use->sum[1] += after;
	use->squares[0] += before * before;
	use->squares[1] += after * after;
	use->count++;
}

static double spread(const struct use *use, int which)
{
	double mean = use->sum[which] / (double)use->count;
	double variance = use->squares[which] / (double)use->count - mean * mean;

	return variance > 0 ? sqrt(variance) : 0;
}

double play_record_measure(const struct neap_world *world, uint32_t resource)
{
	struct use use = {0};

	for (size_t i = 0; i < world->node_count; i++) {
		const struct neap_world_node *node = world->nodes[i];
		int64_t all = neap_amounts_get(&node->allocatable, resource);
		double share =
			100.0 * (double)neap_amounts_get(&node->requested, resource);

		if (all > 0)
			add_use(&use, share / (double)all, 0);
	}
	return use.count ? spread(&use, 0) : 0;
}

static void move(const struct play_run *run, const struct neap_round_said *said,
		 uint32_t resource, int64_t *moved)
{
	const struct neap_world *world = run->play->world;
	const struct neap_world_node *to = NULL;
	int64_t amount = neap_pod_request(said->pod->pod, resource);

	if (said->answer.outcome != NEAP_ROUND_EVICTED || said->is_taken_back ||
	    !said->pod->node)
		return;
	if (*said->answer.node)
		to = neap_world_find_node(world, said->answer.node);
	if (said->pod->node->object)
		moved[said->pod->node->index] -= amount;
	if (to && to->object)
		moved[to->index] += amount;
}

static void add_spread(struct play_run *run, json_t *spreads, const char *name,
		       uint32_t resource)
{
	const struct neap_round *round = run->round;
	const struct neap_world *world = run->play->world;
	neap_auto_free int64_t *moved =
		neap_alloc_array(world->node_count + 1, sizeof(*moved));
	struct use use = {0};

	for (size_t i = 0; moved && i < round->said_count; i++)
		move(run, &round->said[i], resource, moved);
	for (size_t i = 0; moved && i < world->node_count; i++) {
		const struct neap_world_node *node = world->nodes[i];
		int64_t all = neap_amounts_get(&node->allocatable, resource);
		int64_t used = neap_amounts_get(&node->requested, resource);

		if (all > 0)
			add_use(&use, 100.0 * (double)used / (double)all,
				100.0 * (double)(used + moved[i]) / (double)all);
	}
	if (use.count)
		(void)json_object_set_new(spreads, name,
					  json_pack("{s:f,s:f}", "before",
						    spread(&use, 0), "after",
						    spread(&use, 1)));
}

void play_record_end(struct play_run *run)
{
	struct neap_play *play = run->play;
	const struct neap_play_set *set = play->set;
	json_t *record = play->record, *spreads = json_object();
	char began[32];

	if (!record) {
		json_decref(spreads);
		return;
	}
	for (size_t i = 0; i < set->config->profile_count; i++)
		for (size_t n = 0; n < set->profiles[i].of->plugin_count; n++)
			if (is_told(&set->profiles[i].plugins[n]))
				add_strategy(run, &set->profiles[i],
					     &set->profiles[i].plugins[n]);
	add_spread(run, spreads, "cpu", NEAP_RESOURCE_CPU);
	add_spread(run, spreads, "memory", NEAP_RESOURCE_MEMORY);
	if (spreads)
		(void)json_object_set_new(record, "spread", spreads);
	neap_json_set_text(record, "began",
			   neap_time_format(play->now_usec, 0, began, sizeof(began)));
	neap_json_set_int(record, "usec", play->usec);
	neap_json_set_int(record, "nodes", (int64_t)run->nodes);
	neap_json_set_int(record, "pods", (int64_t)play->world->pod_count);
	neap_json_set_int(record, "evicted_count", (int64_t)play->evicted);
	neap_json_set_int(record, "stayed_count", (int64_t)play->stayed);
	if (run->evicted_cut + run->stayed_cut + run->changes_cut)
		neap_json_set_int(
			record, "cut",
			(int64_t)(run->evicted_cut + run->stayed_cut + run->changes_cut));
	(void)json_object_set_new(record, "dry_run", json_boolean(play->is_dry));
	if (play->err.code)
		neap_json_set_text(record, "error", play->err.msg);
}
