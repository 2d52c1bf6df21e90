/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/rounds_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/deschedule/play/play_open.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

struct neap_strategies *rounds_strategies;

void rounds_need(int rc, const struct neap_error *err, const char *what)
{
	if (rc < 0)
		fail_msg("%s: %s%s%s", what, err->field, *err->field ? ": " : "",
			 err->msg);
}

json_t *rounds_quoted(const char *text)
{
	char *copy = neap_strdup(text);
	json_error_t where;
	json_t *json;

	for (char *c = copy; *c; c++)
		if (*c == '\'')
			*c = '"';
	json = json_loads(copy, 0, &where);
	if (!json)
		fail_msg("%s", where.text);
	free(copy);
	return json;
}

/* --- a round that is played and recorded --- */

struct neap_play_set *rounds_open_set(const struct neap_policy *policy,
				      const json_t *params, const json_t *evictor)
{
	const char *plugin = neap_policy_plugin(policy);
	const char *at = neap_policy_point(policy) == NEAP_POINT_BALANCE ? "balance"
									 : "deschedule";
	json_t *none = json_object();
	json_t *json = json_pack(
		"{s:s,s:s,s:[{s:s,s:[{s:s,s:O},{s:s,s:O}],s:{s:{s:[s]},s:{s:[s]}}}]}",
		"apiVersion", "descheduler/v1alpha2", "kind", "DeschedulerPolicy",
		"profiles", "name", "p", "pluginConfig", "name", "DefaultEvictor", "args",
		evictor ? evictor : none, "name", plugin, "args", params ? params : none,
		"plugins", "filter", "enabled", "DefaultEvictor", at, "enabled", plugin);
	char *text = json_dumps(json, 0);
	struct neap_deschedule_lines lines = {0};
	struct neap_deschedule_config *config = NULL;
	struct neap_play_opening *opening = NULL;
	struct neap_play_set *set = NULL;
	struct neap_error err = {0};

	assert_non_null(text);
	rounds_need(
		neap_deschedule_config_parse(text, strlen(text), "f.yaml",
					     neap_strategies_plugins(rounds_strategies),
					     &config, &lines, &err),
		&err, text);
	rounds_need(neap_play_set_new(config, NULL, NULL, NULL, &set, &err), &err,
		    plugin);
	rounds_need(neap_play_opening_new(set, rounds_strategies, &opening, &err), &err,
		    plugin);
	neap_play_opening_work(opening);
	rounds_need(neap_play_opening_end(opening, &err), &err, plugin);
	(void)neap_deschedule_config_unref(config);
	neap_deschedule_lines_done(&lines);
	free(text);
	json_decref(json);
	json_decref(none);
	return set;
}

/* A round needs two nodes. */
static json_t *with_spare(const json_t *cluster)
{
	json_t *copy = json_deep_copy(cluster);
	json_t *nodes = neap_json_need_take(copy, "nodes", json_array());

	while (json_array_size(nodes) < 2)
		(void)json_array_append_new(
			nodes,
			json_pack("{s:{s:s},s:{s:{s:s,s:s,s:s}}}", "metadata", "name",
				  json_array_size(nodes) ? "spare-2" : "spare-1",
				  "status", "allocatable", "cpu", "100", "memory", "1Ti",
				  "pods", "500"));
	return copy;
}

/* Returns the recording. */
json_t *rounds_play(struct neap_play_set *set, const json_t *cluster, int64_t now_usec,
		    const struct neap_limits *limits)
{
	struct round_frame frame;
	struct neap_play one = {.set = set, .is_recorded = true, .limits = *limits};
	json_t *from = json_pack("{s:s,s:o}", "began", ROUNDS_BEGAN, "cluster",
				 with_spare(cluster));
	neap_auto_buf struct neap_buf text = {0};
	struct neap_error err = {0};
	json_error_t where;
	json_t *ret;

	rounds_need(round_frame_open(&frame, from, &err), &err, "cluster");
	one.world = frame.world;
	one.cluster = frame.cluster;
	one.decide = frame.decide;
	one.now_usec = now_usec;
	neap_play_run(&one);
	if (one.err.code)
		fail_msg("%s", one.err.msg);
	assert_non_null(one.recording);
	neap_buf_init(&text, NEAP_ROUND_BYTES);
	rounds_need(neap_recording_write(one.recording, &text, &err), &err, "write");
	ret = json_loadb(text.data, text.len, JSON_REJECT_DUPLICATES, &where);
	if (!ret)
		fail_msg("%s: %s", where.text, text.data);
	neap_play_done(&one);
	round_frame_close(&frame);
	json_decref(from);
	return ret;
}

json_t *rounds_replay(struct neap_policy *older, struct neap_policy *newer,
		      const json_t *list)
{
	struct neap_inputs inputs = {.rounds = neap_round_tape_of(list)};
	struct neap_error err = {0};
	json_t *ret = NULL;

	rounds_need(
		neap_policy_replay(older, newer, &inputs, 60 * ROUNDS_SECOND, &ret, &err),
		&err, "replay");
	neap_inputs_done(&inputs);
	return ret;
}

/* --- life --- */

int rounds_setup(void **state)
{
	struct neap_error err = {0};

	(void)state;
	neap_json_setup();
	rounds_need(neap_strategies_new("policies", NULL, &rounds_strategies, &err), &err,
		    "policies");
	return 0;
}

int rounds_teardown(void **state)
{
	(void)state;
	neap_strategies_free(rounds_strategies);
	return 0;
}
