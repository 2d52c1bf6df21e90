/* SPDX-License-Identifier: Apache-2.0
 *
 * Recorded decisions, for kind reservation: a frame is one decision, an answer what a
 * version says about each reservation that was offered. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "lua/replay/decisions.h"
#include "lua/replay/replay_priv.h"
#include "lua/reserve/reserve_priv.h"

struct said {
	bool is_skipped, is_open;
	int rank; /* -1: no opinion */
	char reason[NEAP_PLACE_REASON];
};

/* What one version says: of each offer, unless the verdict says otherwise. */
struct version {
	struct neap_answer answer;
	struct said of[NEAP_DECISION_OFFERS];
};

struct versions {
	struct neap_reserve_row made;
	const json_t *offers;
	size_t count;
	struct version older, newer;
};

static size_t count(const struct neap_inputs *inputs)
{
	return inputs->decisions ? neap_decision_tape_count(inputs->decisions,
							    NEAP_DECISION_OF_OFFERS)
				 : 0;
}

static enum neap_tick_verdict ask_one(struct neap_policy *policy,
				      const struct neap_reserve_offer *offer,
				      struct said *ret, struct neap_error *err)
{
	struct neap_reserve_verdict verdict = {0};
	int64_t left = INT64_MAX;
	enum neap_tick_verdict how =
		neap_policy_match_within(policy, offer, &left, &verdict, err);

	ret->rank = -1;
	ret->is_skipped = how == NEAP_TICK_SKIPPED;
	ret->is_open = how == NEAP_TICK_WISHES && verdict.is_open;
	if (verdict.reason)
		(void)neap_strcopy(ret->reason, sizeof(ret->reason), verdict.reason);
	if (!ret->is_open || !neap_policy_has_rank(policy))
		return how;
	how = neap_policy_rank_within(policy, offer, &left, &ret->rank, err);
	return how == NEAP_TICK_HOLD ? NEAP_TICK_WISHES : how;
}

/* Makes the reservation again for each version, as their answers may take turns. */
static int ask(struct neap_policy *policy, struct versions *both, struct version *ret,
	       struct neap_error *err)
{
	struct neap_answer *answer = &ret->answer;
	int rc = 0;

	answer->verdict = neap_policy_begin_offers(policy, &both->made.pod, &answer->err);
	for (size_t i = 0;
	     rc == 0 && answer->verdict == NEAP_TICK_WISHES && i < both->count; i++) {
		enum neap_tick_verdict how;

		rc = neap_reserve_row_offer(&both->made, json_array_get(both->offers, i));
		if (rc < 0)
			break;
		how = ask_one(policy, &both->made.offer, &ret->of[i], &answer->err);
		if (how != NEAP_TICK_WISHES && how != NEAP_TICK_SKIPPED)
			answer->verdict = how;
	}
	/* Says nothing about either version. */
	if (answer->verdict == NEAP_TICK_STARVED && answer->err.code == NEAP_ENOMEM)
		return neap_error_nomem(err);
	return rc;
}

static bool is_same_said(const struct said *a, const struct said *b)
{
	return a->is_skipped == b->is_skipped && a->is_open == b->is_open &&
	       a->rank == b->rank;
}

static json_t *said_json(const struct versions *both, const struct said *said, size_t i)
{
	const char *name = neap_json_text(json_array_get(both->offers, i), "name");
	char text[NEAP_OBJECT_NAME + NEAP_PLACE_REASON + 40];

	if (said->is_skipped)
		(void)snprintf(text, sizeof(text), "%.253s: skip", name);
	else if (!said->is_open)
		(void)snprintf(text, sizeof(text), "%.253s: refused: %s", name,
			       said->reason);
	else if (said->rank < 0)
		(void)snprintf(text, sizeof(text), "%.253s: open", name);
	else
		(void)snprintf(text, sizeof(text), "%.253s: open, rank %d", name,
			       said->rank);
	return neap_text_json(text);
}

/* are_by_offer: both answered, and what differs is listed. */
static json_t *version_json(const struct versions *both, const struct version *version,
			    bool are_by_offer)
{
	json_t *list;

	if (version->answer.verdict != NEAP_TICK_WISHES)
		return neap_answer_json(&version->answer);
	list = json_array();
	for (size_t i = 0; i < both->count; i++)
		if (!are_by_offer ||
		    !is_same_said(&both->older.of[i], &both->newer.of[i]))
			(void)json_array_append_new(list,
						    said_json(both, &version->of[i], i));
	return list;
}

static bool is_same(const struct versions *both)
{
	if (!neap_answer_is_same(&both->older.answer, &both->newer.answer))
		return false;
	if (both->newer.answer.verdict != NEAP_TICK_WISHES)
		return true;
	for (size_t i = 0; i < both->count; i++)
		if (!is_same_said(&both->older.of[i], &both->newer.of[i]))
			return false;
	return true;
}

static int run_both(struct neap_replay *replay, size_t frame, struct versions *both,
		    struct neap_error *err)
{
	bool has_older = replay->older != NULL, same, by_offer;
	int rc = has_older ? ask(replay->older, both, &both->older, err) : 0;

	if (rc == 0)
		rc = ask(replay->newer, both, &both->newer, err);
	if (rc < 0)
		return rc;
	same = has_older && is_same(both);
	by_offer = both->older.answer.verdict == both->newer.answer.verdict;
	if (has_older && !same && neap_replay_has_room(replay))
		rc = neap_replay_list_take(
			replay, frame, both->made.pod.now_usec / 1000000,
			neap_replay_pod_json(both->made.row->json),
			version_json(both, &both->older, by_offer),
			version_json(both, &both->newer, by_offer), err);
	neap_replay_note(replay, &both->older.answer, &both->newer.answer, same);
	return rc;
}

static int run(struct neap_replay *replay, size_t frame, struct neap_error *err)
{
	neap_auto_json json_t *json = NULL;
	neap_auto_free struct versions *both = neap_alloc(sizeof(*both));
	struct neap_place_row row = {.err = err};
	int rc = both ? neap_decision_tape_get(replay->inputs->decisions,
					       NEAP_DECISION_OF_OFFERS, frame, &json, err)
		      : neap_error_nomem(err);

	if (rc < 0)
		return rc;
	row.json = json;
	both->made.row = &row;
	both->offers = json_object_get(json, "reservations");
	both->count = json_array_size(both->offers);
	if (both->count > NEAP_DECISION_OFFERS)
		both->count = NEAP_DECISION_OFFERS;
	rc = neap_reserve_row_pod(&both->made);
	both->made.pod.now_usec =
		json_integer_value(json_object_get(json, "unix")) * 1000000;
	if (rc == 0)
		rc = run_both(replay, frame, both, err);
	if (rc < 0 && rc != -NEAP_ENOMEM)
		rc = 0; /* not tried: it cannot be made again */
	neap_reserve_row_done(&both->made);
	return rc;
}

const struct neap_replay_family neap_replay_offers = {
	.what = "recorded decisions of this scheduler",
	.of = "decisions",
	.count = count,
	.run = run,
};
