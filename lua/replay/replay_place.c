/* SPDX-License-Identifier: Apache-2.0
 *
 * Recorded decisions, for kinds score and filter: a frame is one decision, an answer what
 * a version says about each of its nodes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "lua/place/compare.h"
#include "lua/place/place_priv.h"
#include "lua/replay/decision_play.h"
#include "lua/replay/replay_priv.h"

/* What one version says. */
struct version {
	struct neap_place_side side;
	struct neap_curve_score score;
	struct neap_place_call call;
	int64_t points[NEAP_DECISION_NODES];
	uint32_t answers[NEAP_DECISION_NODES];
};

struct versions {
	struct neap_play play;
	struct version older, newer;
};

static size_t count(const struct neap_inputs *inputs)
{
	return inputs->decisions ? neap_decision_tape_count(inputs->decisions,
							    NEAP_DECISION_OF_NODES)
				 : 0;
}

static int ask(struct neap_policy *policy, struct neap_play *play, struct version *ret,
	       struct neap_error *err)
{
	bool is_score = strcmp(policy->kind->name, "score") == 0;
	struct neap_place_side *side = &ret->side;
	int64_t left = INT64_MAX;

	if (is_score)
		side->verdict = neap_policy_plan_within(policy, &play->place, &left,
							&ret->score, &side->err);
	else
		side->verdict = neap_policy_allow_within(policy, &play->place, &ret->call,
							 play->rows, play->count, &left,
							 ret->answers, &side->err);
	if (is_score && side->verdict == NEAP_TICK_WISHES)
		(void)neap_place_weigh_fully(&ret->score, &play->place, play->rows,
					     play->count, &left, ret->points);
	side->points = is_score ? ret->points : NULL;
	side->call = &ret->call;
	side->answers = ret->answers;
	/* Says nothing about either version. */
	return side->verdict == NEAP_TICK_STARVED && side->err.code == NEAP_ENOMEM
		       ? neap_error_nomem(err)
		       : 0;
}

/* Lists what is said where the two differ: ["n1: 40 points", "and 3 more"]. */
static json_t *side_json(const struct versions *both, const struct neap_place_side *side,
			 bool are_by_node)
{
	const struct neap_answer answer = {.verdict = side->verdict, .err = side->err};
	size_t total = both->play.count, listed = 0, differ = 0;
	json_t *list;

	if (side->verdict != NEAP_TICK_WISHES)
		return neap_answer_json(&answer);
	list = json_array();
	for (size_t i = 0; i < total; i++, differ++) {
		char text[NEAP_OBJECT_NAME + NEAP_PLACE_SIDE_TEXT],
			said[NEAP_PLACE_SIDE_TEXT];

		if (are_by_node)
			i = neap_place_side_differs(&both->older.side, &both->newer.side,
						    i, total);
		if (i == total)
			break;
		if (listed == NEAP_REPLAY_NODES_MAX)
			continue;
		listed++;
		(void)snprintf(
			text, sizeof(text), "%s: %s",
			neap_cluster_node_at(both->play.cluster, both->play.rows[i])
				->name,
			neap_place_side_text(side, i, said));
		(void)json_array_append_new(list, neap_text_json(text));
	}
	if (differ > listed)
		(void)json_array_append_new(
			list, json_sprintf("and %zu more", differ - listed));
	return list;
}

static int list(struct neap_replay *replay, size_t frame, const struct versions *both,
		struct neap_error *err)
{
	const struct neap_place_side *older = &both->older.side,
				     *newer = &both->newer.side;
	bool are_by_node = older->verdict == newer->verdict;

	return neap_replay_list_take(replay, frame, both->play.place.now_usec / 1000000,
				     neap_replay_pod_json(both->play.json),
				     side_json(both, older, are_by_node),
				     side_json(both, newer, are_by_node), err);
}

static int compare(struct neap_replay *replay, size_t frame, const struct versions *both,
		   struct neap_error *err)
{
	const struct neap_place_side *older = &both->older.side,
				     *newer = &both->newer.side;
	const struct neap_answer before = {.verdict = older->verdict, .err = older->err};
	const struct neap_answer after = {.verdict = newer->verdict, .err = newer->err};
	bool is_same = replay->older && neap_answer_is_same(&before, &after);
	int rc = 0;

	if (is_same && newer->verdict == NEAP_TICK_WISHES)
		is_same = neap_place_side_differs(older, newer, 0, both->play.count) ==
			  both->play.count;
	if (replay->older && !is_same && neap_replay_has_room(replay))
		rc = list(replay, frame, both, err);
	neap_replay_note(replay, &before, &after, is_same);
	return rc;
}

static int run_both(struct neap_replay *replay, size_t frame, struct versions *both,
		    struct neap_error *err)
{
	int rc = 0;

	if (replay->older)
		rc = ask(replay->older, &both->play, &both->older, err);
	if (rc == 0)
		rc = ask(replay->newer, &both->play, &both->newer, err);
	return rc < 0 ? rc : compare(replay, frame, both, err);
}

static int run(struct neap_replay *replay, size_t frame, struct neap_error *err)
{
	neap_auto_json json_t *json = NULL;
	neap_auto_free struct versions *both = neap_alloc(sizeof(*both));
	int rc = both ? neap_decision_tape_get(replay->inputs->decisions,
					       NEAP_DECISION_OF_NODES, frame, &json, err)
		      : neap_error_nomem(err);

	if (rc < 0)
		return rc;
	rc = neap_play_open(&both->play, json, err);
	if (rc == 0)
		rc = run_both(replay, frame, both, err);
	else if (rc != -NEAP_ENOMEM)
		rc = 0; /* not tried: it cannot be made again */
	neap_play_close(&both->play);
	return rc;
}

json_t *neap_replay_pod_json(const json_t *frame)
{
	const json_t *pod = json_object_get(frame, "pod");

	return json_pack("{s:o}", "pod",
			 json_sprintf("%s/%s", neap_json_text(pod, "namespace"),
				      neap_json_text(pod, "name")));
}

const struct neap_replay_family neap_replay_decisions = {
	.what = "recorded decisions of this scheduler",
	.of = "decisions",
	.count = count,
	.run = run,
};
