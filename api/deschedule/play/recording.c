/* SPDX-License-Identifier: Apache-2.0 */
#include "api/deschedule/play/recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/deschedule/play/play_priv.h"
#include "api/deschedule/play/samples.h"
#include "api/deschedule/play/strategies.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/deschedule/world_copy.h"
#include "engine/json/json.h"
#include "lua/call/answer.h"

struct neap_recording {
	struct neap_world_copy *copy;
	json_t *json;            /* all but the cluster */
	json_t *runs, *profiles; /* of json */
	uint64_t failures;       /* of jansson before */
	bool is_void;            /* memory was short */
};

static const char *const points[] = {
	[NEAP_AT_DESCHEDULE] = "deschedule", [NEAP_AT_BALANCE] = "balance"};

/* Lasts over one thread's work on the recording. */
static void begin(struct neap_recording *recording)
{
	recording->failures = neap_json_failures();
}

static void end(struct neap_recording *recording)
{
	if (neap_json_failures() != recording->failures)
		recording->is_void = true;
}

/* --- a new one --- */

static void set_limit(json_t *limits, const char *name, int64_t value)
{
	if (value != NEAP_LIMITS_NONE)
		neap_json_set_int(limits, name, value);
}

static json_t *limits_of(const struct neap_limits *limits)
{
	json_t *json = json_object();

	set_limit(json, "total", limits->total);
	set_limit(json, "node", limits->per_node);
	set_limit(json, "namespace", limits->per_namespace);
	set_limit(json, "workload", limits->per_workload);
	if (limits->is_total_first)
		(void)json_object_set_new(json, "total_first", json_true());
	return json;
}

static void set_head(struct neap_recording *recording, const struct neap_play *play)
{
	const struct neap_world_copy *copy = recording->copy;
	json_t *json = recording->json;
	char began[32];

	neap_json_set_text(json, "began",
			   neap_time_format(play->now_usec, 6, began, sizeof(began)));
	neap_json_set_int(json, "interval_s", play->interval_usec / 1000000);
	neap_json_set_int(json, "nodes", (int64_t)copy->nodes);
	neap_json_set_int(json, "pods", (int64_t)copy->pods);
	if (play->is_dry)
		(void)json_object_set_new(json, "dry_run", json_true());
	if (copy->nodes_cut + copy->pods_cut + copy->others_cut)
		(void)json_object_set_new(json, "cut",
					  json_pack("{s:I,s:I,s:I}", "nodes",
						    (json_int_t)copy->nodes_cut, "pods",
						    (json_int_t)copy->pods_cut, "others",
						    (json_int_t)copy->others_cut));
	(void)json_object_set_new(json, "limits", limits_of(&play->limits));
}

struct neap_recording *neap_recording_new(const struct neap_play *play)
{
	struct neap_recording *recording = neap_alloc(sizeof(*recording));
	struct neap_error err;

	if (!recording)
		return NULL;
	begin(recording);
	recording->json = json_pack("{s:i,s:[],s:[]}", "version", 1, "profiles", "runs");
	if (!recording->json ||
	    neap_world_copy_new(play->world, NEAP_WORLD_COPY_BYTES, &recording->copy,
				&err) < 0 ||
	    !recording->copy->nodes) {
		neap_recording_free(recording);
		return NULL;
	}
	recording->runs = json_object_get(recording->json, "runs");
	recording->profiles = json_object_get(recording->json, "profiles");
	set_head(recording, play);
	end(recording);
	return recording;
}

void neap_recording_free(struct neap_recording *recording)
{
	if (!recording)
		return;
	neap_world_copy_free(recording->copy);
	json_decref(recording->json);
	free(recording);
}

/* --- a run --- */

static bool has_pod(const struct neap_recording *recording,
		    const struct neap_world_pod *pod)
{
	return recording->copy->has_pod[pod->index];
}

static json_t *pod_row(const struct neap_world_pod *pod)
{
	const struct neap_object *object = pod->pod->object;
	json_t *row = json_object();
	char key[NEAP_POD_KEY];

	neap_json_set_text(row, "pod", neap_pod_key(object->ns, object->name, key));
	return row;
}

static void add_said(const struct neap_round_said *said, json_t *evicted, json_t *stayed)
{
	bool is_evicted = said->answer.outcome == NEAP_ROUND_EVICTED;
	json_t *row = pod_row(said->pod);

	(void)json_object_set_new(row, "why", neap_text_json(said->why));
	if (is_evicted) {
		neap_json_set_text(row, "to", said->answer.node);
	} else {
		neap_json_set_text(row, "outcome",
				   neap_round_outcome_name(said->answer.outcome));
		(void)json_object_set_new(row, "reason",
					  neap_text_json(said->answer.reason));
	}
	(void)json_array_append_new(is_evicted ? evicted : stayed, row);
}

/* What a Prometheus said of the nodes for this strategy alone. */
static void add_samples(const struct neap_recording *recording, json_t *row,
			const struct neap_world *world,
			const struct neap_samples *samples)
{
	json_t *map = samples ? json_object() : NULL;

	for (size_t i = 0; map && i < samples->count; i++) {
		const struct neap_world_node *node =
			neap_world_find_node(world, samples->list[i].node);

		if (node && node->object && recording->copy->has_node[node->index])
			neap_json_set_real(map, node->name, samples->list[i].value);
	}
	if (map)
		(void)json_object_set_new(row, "samples", map);
}

static void add_policy(json_t *row, const struct neap_play_plugin *plugin)
{
	neap_json_set_text(row, "strategy", plugin->name);
	neap_json_set_text(row, "policy", plugin->label);
	(void)json_object_set_new(row, "args",
				  plugin->args ? neap_json_deep_copy(plugin->args)
					       : json_object());
	if (plugin->policy)
		neap_json_set_text(row, "text", neap_policy_text(plugin->policy, NULL));
}

void neap_recording_add_run(struct neap_recording *recording,
			    const struct neap_round *round,
			    const struct neap_play_profile *profile,
			    const struct neap_play_plugin *plugin,
			    enum neap_plugin_point point, size_t said, size_t wished)
{
	json_t *row, *evicted, *stayed;

	if (plugin->unanswered[0]) /* it was not called */
		return;
	begin(recording);
	row = json_pack("{s:s,s:s,s:[],s:[]}", "profile", profile->of->name, "point",
			points[point], "evicted", "stayed");
	evicted = json_object_get(row, "evicted");
	stayed = json_object_get(row, "stayed");
	add_policy(row, plugin);
	add_samples(recording, row, round->args.world, plugin->samples);
	if (plugin->dry_run)
		(void)json_object_set_new(row, "dry_run", json_true());
	if (plugin->verdict != NEAP_TICK_WISHES)
		(void)json_object_set_new(row, "error", neap_text_json(plugin->err.msg));
	for (size_t i = said; i < round->said_count; i++)
		if (has_pod(recording, round->said[i].pod))
			add_said(&round->said[i], evicted, stayed);
	if (round->wish_count > wished)
		neap_json_set_int(row, "changes", (int64_t)(round->wish_count - wished));
	(void)json_array_append_new(recording->runs, row);
	end(recording);
}

/* --- rules --- */

static bool is_at(const struct neap_deschedule_profile *of, size_t index)
{
	static const int at[] = {NEAP_AT_FILTER, NEAP_AT_BEFORE};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(at); i++)
		for (size_t n = 0; n < of->at_count[at[i]]; n++)
			if (of->at[at[i]][n] == index)
				return true;
	return false;
}

/* Its arguments, with the value of the PriorityClass instead of its name. */
static json_t *evictor_of(const struct neap_play_profile *profile, const json_t *args)
{
	json_t *copy = args ? neap_json_deep_copy(args) : json_object();

	if (profile->evictor.has_threshold)
		(void)json_object_set_new(
			copy, "priorityThreshold",
			json_pack("{s:I}", "value",
				  (json_int_t)profile->evictor.threshold));
	return copy;
}

static void add_plugins(json_t *row, const struct neap_play_profile *profile)
{
	json_t *rules = json_object_get(row, "rules");

	for (size_t i = 0; i < profile->of->plugin_count; i++) {
		const struct neap_play_plugin *plugin = &profile->plugins[i];
		json_t *rule;

		if (!is_at(profile->of, i))
			continue;
		if (strcmp(plugin->name, NEAP_PLUGIN_EVICTOR) == 0)
			(void)json_object_set_new(row, "evictor",
						  evictor_of(profile, plugin->args));
		if (!plugin->policy)
			continue;
		rule = json_object();
		add_policy(rule, plugin);
		(void)json_array_append_new(rules, rule);
	}
}

/* Names of its nodes, if it does not have all that are ready. */
static void add_nodes(const struct neap_recording *recording, json_t *row,
		      const struct neap_round *round)
{
	const struct neap_world *world = round->args.world;
	json_t *names = json_array();
	size_t ready = 0;

	for (size_t i = 0; i < world->node_count; i++)
		ready += recording->copy->has_node[i] && world->nodes[i]->is_ready;
	for (size_t i = 0; i < round->node_count; i++)
		if (recording->copy->has_node[round->nodes[i]->index])
			(void)json_array_append_new(names,
						    json_string(round->nodes[i]->name));
	if (json_array_size(names) < ready)
		(void)json_object_set(row, "nodes", names);
	json_decref(names);
}

static json_t *profile_row(struct neap_recording *recording,
			   const struct neap_round *round,
			   const struct neap_play_profile *profile)
{
	json_t *row = neap_json_find(recording->profiles, "name", profile->of->name);

	if (row)
		return row;
	row = json_pack("{s:s,s:[]}", "name", profile->of->name, "rules");
	if (play_migrates(profile) && !profile->migrate.is_direct)
		(void)json_object_set_new(row, "keeps_place", json_true());
	add_plugins(row, profile);
	add_nodes(recording, row, round);
	(void)json_array_append_new(recording->profiles, row);
	return row;
}

void neap_recording_add_rules(struct neap_recording *recording, struct neap_round *round,
			      const struct neap_play_profile *profile,
			      enum neap_plugin_point point)
{
	const struct neap_world *world = round->args.world;
	json_t *row, *said, *kept, *not_now;
	char key[NEAP_POD_KEY];

	begin(recording);
	row = profile_row(recording, round, profile);
	said = json_pack("{s:{},s:{}}", "kept", "not_now");
	kept = json_object_get(said, "kept");
	not_now = json_object_get(said, "not_now");
	for (size_t i = 0; i < world->pod_count; i++) {
		const char *why = round->kept[i];
		const struct neap_object *object;
		bool is_last;

		if (!why || !recording->copy->has_pod[i])
			continue;
		object = world->pods[i]->pod->object;
		/* It was asked already, so this asks no policy. */
		is_last = neap_round_may_leave(round, world->pods[i], NULL);
		(void)json_object_set_new(is_last ? not_now : kept,
					  neap_pod_key(object->ns, object->name, key),
					  neap_text_json(why));
	}
	(void)json_object_set_new(row, points[point], said);
	end(recording);
}

/* --- writing --- */

void neap_recording_set_text(struct neap_recording *recording, const char *name,
			     const char *text)
{
	begin(recording);
	(void)json_object_set_new(recording->json, name, neap_text_json(text));
	end(recording);
}

void neap_recording_set_int(struct neap_recording *recording, const char *name,
			    int64_t value)
{
	begin(recording);
	neap_json_set_int(recording->json, name, value);
	end(recording);
}

size_t neap_recording_cut(const struct neap_recording *recording)
{
	return recording->copy->nodes_cut;
}

int neap_recording_write(const struct neap_recording *recording, struct neap_buf *out,
			 struct neap_error *err)
{
	neap_auto_free char *head = NULL;
	int rc;

	if (recording->is_void)
		return neap_error_nomem(err);
	head = neap_json_dump(recording->json, JSON_COMPACT);
	if (!head)
		return neap_error_set(
			err, NEAP_ETOOLARGE,
			"what its strategies asked and were answered is too "
			"long, or memory is short");
	/* The cluster stands at the end, in place of the closing brace. */
	neap_buf_add(out, head, strlen(head) - 1);
	neap_buf_adds(out, ",\n\"cluster\":");
	rc = neap_world_copy_write(recording->copy, out, err);
	neap_buf_adds(out, "}\n");
	if (rc == 0 && neap_buf_failed(out))
		rc = neap_buf_error(out, "a recorded round", err);
	return rc;
}
