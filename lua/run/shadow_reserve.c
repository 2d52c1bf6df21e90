/* SPDX-License-Identifier: Apache-2.0
 *
 * A shadow of kind reservation. It is asked about the reservations that the version in
 * service is asked about, in the same decisions. */
#include <stdio.h>

#include "lua/run/shadow_priv.h"

void neap_shadow_begin_offers(struct neap_shadow *shadow,
			      const struct neap_place_pod *pod)
{
	shadow->is_counted = shadow->is_different = false;
	shadow->is_out = shadow->is_failed;
	shadow->begun = (struct neap_answer){0};
	shadow->pod = pod;
	if (!shadow->is_out)
		shadow->begun.verdict =
			neap_policy_begin_offers(shadow->policy, pod, &shadow->begun.err);
}

/* Returns whether the answer is compared. Answers of a decision that it failed in end no
 * row of faults. */
static bool note(struct neap_shadow *shadow, enum neap_tick_verdict active,
		 const struct neap_answer *own)
{
	bool is_bad =
		own->verdict > NEAP_TICK_SKIPPED && own->verdict != NEAP_TICK_PUT_OFF;

	if (own->verdict == NEAP_TICK_PUT_OFF || active == NEAP_TICK_PUT_OFF) {
		shadow->put_off++;
		shadow->is_out = true;
		return false;
	}
	if (!shadow->is_counted) {
		shadow->is_counted = true;
		shadow->faults_before = shadow->faults_in_row;
		shadow->calls++;
		shadow->same++;
	}
	if (is_bad)
		shadow->faults_in_row = shadow->faults_before;
	neap_shadow_note_fault(shadow, own);
	shadow->is_out = is_bad;
	return true;
}

static json_t *text_of(const struct neap_answer *answer, const char *text)
{
	return answer->verdict == NEAP_TICK_WISHES ? neap_text_json(text)
						   : neap_answer_json(answer);
}

static void differ(struct neap_shadow *shadow, const struct neap_reserve_offer *offer,
		   json_t *active, json_t *own)
{
	const struct neap_place_pod *pod = shadow->pod;

	json_t *row = json_pack(
		"{s:I, s:o, s:s, s:o, s:o}", "unix",
		(json_int_t)(pod->now_usec / 1000000), "pod",
		json_sprintf("%s/%s", pod->pod->object->ns, pod->pod->object->name),
		"reservation", offer->reserve->object->name, "active", active, "shadow",
		own);

	if (!shadow->is_different) {
		shadow->is_different = true;
		shadow->same--;
		neap_shadow_note_difference(shadow, row);
		return;
	}
	json_decref(row);
}

static const char *match_text(const struct neap_reserve_verdict *said, char *buf,
			      size_t size)
{
	if (said->is_open)
		return "open";
	(void)snprintf(buf, size, "refused: %s", said->reason ? said->reason : "");
	return buf;
}

void neap_shadow_match(struct neap_shadow *shadow, const struct neap_reserve_offer *offer,
		       enum neap_tick_verdict verdict,
		       const struct neap_reserve_verdict *said, int64_t *left_usec)
{
	struct neap_answer active = {.verdict = verdict}, own = shadow->begun;
	char texts[2][NEAP_PLACE_REASON + 16];
	struct neap_reserve_verdict mine = {0};

	if (shadow->is_out)
		return;
	if (own.verdict == NEAP_TICK_WISHES)
		own.verdict = neap_policy_match_within(shadow->policy, offer, left_usec,
						       &mine, &own.err);
	if (!note(shadow, verdict, &own) ||
	    (verdict == own.verdict &&
	     (verdict != NEAP_TICK_WISHES || said->is_open == mine.is_open)))
		return;
	differ(shadow, offer,
	       text_of(&active, match_text(said, texts[0], sizeof(texts[0]))),
	       text_of(&own, match_text(&mine, texts[1], sizeof(texts[1]))));
}

static const char *rank_text(int rank, char buf[24])
{
	if (rank < 0)
		return "no rank";
	(void)snprintf(buf, 24, "rank %d", rank);
	return buf;
}

void neap_shadow_rank(struct neap_shadow *shadow, const struct neap_reserve_offer *offer,
		      enum neap_tick_verdict verdict, int rank, int64_t *left_usec)
{
	struct neap_answer active = {.verdict = verdict}, own = shadow->begun;
	char texts[2][24];
	int mine = -1;

	if (shadow->is_out)
		return;
	if (own.verdict == NEAP_TICK_WISHES && neap_policy_has_rank(shadow->policy))
		own.verdict = neap_policy_rank_within(shadow->policy, offer, left_usec,
						      &mine, &own.err);
	/* Nothing said is an answer, too. */
	if (active.verdict == NEAP_TICK_HOLD)
		active.verdict = NEAP_TICK_WISHES;
	if (own.verdict == NEAP_TICK_HOLD)
		own.verdict = NEAP_TICK_WISHES;
	if (!note(shadow, active.verdict, &own) ||
	    (active.verdict == own.verdict &&
	     (own.verdict != NEAP_TICK_WISHES || rank == mine)))
		return;
	differ(shadow, offer, text_of(&active, rank_text(rank, texts[0])),
	       text_of(&own, rank_text(mine, texts[1])));
}
