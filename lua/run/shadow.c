/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts agreements and differences of two versions, per tick or decision. */
#include "lua/run/shadow_priv.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "lua/deschedule/round_lines.h"
#include "lua/place/compare.h"
#include "lua/run/registry.h"
#include "lua/vm/budget.h"

struct neap_shadow *neap_shadow_new_take(struct neap_policy *policy,
					 int64_t now_unix_usec)
{
	struct neap_shadow *shadow = neap_alloc(sizeof(*shadow));

	if (!shadow) {
		neap_policy_free(policy);
		return NULL;
	}
	if (neap_policy_kind(policy)->is_place)
		shadow->call = neap_alloc(sizeof(*shadow->call));
	if (neap_policy_kind(policy)->is_place && !shadow->call) {
		neap_policy_free(policy);
		free(shadow);
		return NULL;
	}
	shadow->policy = policy;
	shadow->since_unix_usec = now_unix_usec;
	shadow->is_out = true; /* until a decision begins */
	return shadow;
}

void neap_shadow_free(struct neap_shadow *shadow)
{
	if (!shadow)
		return;
	neap_policy_free(shadow->policy);
	json_decref(shadow->last);
	free(shadow->call);
	free(shadow);
}

void neap_shadow_note_fault(struct neap_shadow *shadow, const struct neap_answer *answer)
{
	bool is_dead = neap_vm_is_dead(neap_policy_vm(shadow->policy));

	if (neap_answer_is_fault(answer)) {
		shadow->faults++;
		shadow->faults_in_row++;
		(void)neap_strcopy(shadow->last_error, sizeof(shadow->last_error),
				   answer->err.msg);
	} else if (answer->verdict <= NEAP_TICK_HOLD) {
		shadow->faults_in_row = 0;
	}
	shadow->is_failed = is_dead || shadow->faults_in_row >= NEAP_POLICY_FAULTS_MAX;
}

void neap_shadow_note_difference(struct neap_shadow *shadow, json_t *row)
{
	shadow->different++;
	if (!row)
		return;
	json_decref(shadow->last);
	shadow->last = row;
}

/* Both are sorted. */
static void compare(struct neap_shadow *shadow, int64_t now_unix,
		    const struct neap_answer *active, const struct neap_answer *own)
{
	if (neap_answer_is_same(active, own))
		shadow->same++;
	else
		neap_shadow_note_difference(
			shadow, json_pack("{s:I, s:o, s:o}", "unix", (json_int_t)now_unix,
					  "active", neap_answer_json(active), "shadow",
					  neap_answer_json(own)));
}

void neap_shadow_ask(struct neap_shadow *shadow, const struct neap_sample *sample,
		     enum neap_tick_verdict verdict,
		     const struct neap_policy_wish *wishes, size_t count,
		     int64_t *left_usec)
{
	struct neap_answer own = {0}, active = {.verdict = verdict};
	int64_t started;

	if (shadow->is_failed)
		return;
	own.verdict = neap_policy_tick_within(shadow->policy, sample, left_usec,
					      &own.wishes, &own.count, &own.err);
	if (own.verdict == NEAP_TICK_PUT_OFF || verdict == NEAP_TICK_PUT_OFF) {
		shadow->put_off++;
		neap_answer_done(&own);
		return;
	}
	started = neap_budget_clock_usec();
	shadow->calls++;
	neap_shadow_note_fault(shadow, &own);
	/* Lent for the comparison, taken back before the end. */
	active.wishes = (struct neap_policy_wish *)(uintptr_t)wishes;
	active.count = verdict == NEAP_TICK_WISHES ? count : 0;
	if (neap_answer_sort(&active, NULL) == 0 && neap_answer_sort(&own, NULL) == 0)
		compare(shadow, sample->now_unix, &active, &own);
	active.wishes = NULL;
	neap_answer_done(&active);
	neap_answer_done(&own);
	*left_usec -= neap_budget_clock_usec() - started;
}

/* --- of a decision --- */

void neap_shadow_begin(struct neap_shadow *shadow)
{
	if (shadow->call)
		*shadow->call = (struct neap_place_call){0};
}

static json_t *side_json(const struct neap_place_side *side, size_t i)
{
	const struct neap_answer answer = {.verdict = side->verdict, .err = side->err};
	char text[NEAP_PLACE_SIDE_TEXT];

	return side->verdict == NEAP_TICK_WISHES
		       ? neap_text_json(neap_place_side_text(side, i, text))
		       : neap_answer_json(&answer);
}

/* Counts what the shadow said beside the other, row by row. */
static void compare_places(struct neap_shadow *shadow, const struct neap_place *place,
			   const struct neap_place_side *active,
			   const struct neap_place_side *own, const uint32_t *rows,
			   size_t count)
{
	const struct neap_answer answer = {.verdict = own->verdict, .err = own->err};
	size_t at = 0;

	if (own->verdict == NEAP_TICK_PUT_OFF || active->verdict == NEAP_TICK_PUT_OFF) {
		shadow->put_off++;
		return;
	}
	shadow->calls++;
	neap_shadow_note_fault(shadow, &answer);
	if (active->verdict == own->verdict)
		at = own->verdict == NEAP_TICK_WISHES
			     ? neap_place_side_differs(active, own, 0, count)
			     : count;
	if (at == count) {
		shadow->same++;
		return;
	}
	neap_shadow_note_difference(
		shadow,
		json_pack("{s:I, s:o, s:s, s:o, s:o}", "unix",
			  (json_int_t)(place->now_usec / 1000000), "pod",
			  json_sprintf("%s/%s", place->pod->object->ns,
				       place->pod->object->name),
			  "node", neap_cluster_node_at(place->cluster, rows[at])->name,
			  "active", side_json(active, at), "shadow", side_json(own, at)));
}

void neap_shadow_plan(struct neap_shadow *shadow, const struct neap_place *place,
		      enum neap_tick_verdict verdict,
		      const struct neap_curve_score *score, const uint32_t *rows,
		      size_t count, int64_t *left_usec)
{
	neap_auto_free struct neap_curve_score *mine = neap_alloc(sizeof(*mine));
	neap_auto_free int64_t *points = neap_alloc_array(count + 1, 2 * sizeof(*points));
	int64_t *own_points = points ? points + count : NULL, always = INT64_MAX;
	struct neap_place_side active = {.verdict = verdict, .points = points};
	struct neap_place_side own = {.points = own_points};

	if (shadow->is_failed || !count)
		return;
	if (!mine || !points) {
		shadow->put_off++;
		return;
	}
	own.verdict =
		neap_policy_plan_within(shadow->policy, place, left_usec, mine, &own.err);
	if (verdict != own.verdict) {
		/* They differ whatever they say; one row is told of. */
		count = 1;
		left_usec = &always;
	}
	if (verdict == NEAP_TICK_WISHES)
		count = neap_place_weigh_fully(score, place, rows, count, left_usec,
					       points);
	if (own.verdict == NEAP_TICK_WISHES)
		count = neap_place_weigh_fully(mine, place, rows, count, left_usec,
					       own_points);
	if (!count)
		own.verdict = NEAP_TICK_PUT_OFF;
	compare_places(shadow, place, &active, &own, rows, count);
}

void neap_shadow_allow(struct neap_shadow *shadow, const struct neap_place *place,
		       enum neap_tick_verdict verdict, const struct neap_place_call *call,
		       const uint32_t *answers, const uint32_t *rows, size_t count,
		       int64_t *left_usec)
{
	neap_auto_free uint32_t *mine = neap_alloc_array(count + 1, sizeof(*mine));
	struct neap_place_side active = {
		.verdict = verdict, .call = call, .answers = answers};
	struct neap_place_side own = {.call = shadow->call, .answers = mine};

	if (shadow->is_failed || !count)
		return;
	if (!mine) {
		shadow->put_off++;
		return;
	}
	own.verdict = neap_policy_allow_within(shadow->policy, place, shadow->call, rows,
					       count, left_usec, mine, &own.err);
	compare_places(shadow, place, &active, &own, rows, count);
}

/* --- of rounds --- */

void neap_shadow_tally_add(struct neap_shadow_tally *tally, int64_t now_unix,
			   const json_t *active, const json_t *own,
			   enum neap_tick_verdict verdict, const struct neap_error *err,
			   bool is_dead)
{
	const struct neap_answer answer = {.verdict = verdict};

	tally->calls++;
	if (neap_answer_is_fault(&answer)) {
		tally->faults++;
		tally->faults_in_row++;
		(void)neap_strcopy(tally->last_error, sizeof(tally->last_error),
				   err->msg);
	} else if (verdict <= NEAP_TICK_HOLD) {
		tally->faults_in_row = 0;
	}
	tally->is_failed = is_dead || tally->faults_in_row >= NEAP_POLICY_FAULTS_MAX;
	if (!active || !own)
		return;
	if (json_equal(active, own)) {
		tally->same++;
		return;
	}
	tally->different++;
	json_decref(tally->last);
	tally->last = json_pack("{s:I, s:o, s:o}", "unix", (json_int_t)now_unix, "active",
				neap_lines_only(active, own), "shadow",
				neap_lines_only(own, active));
}

void neap_shadow_tally_clear(struct neap_shadow_tally *tally)
{
	json_decref(tally->last);
	*tally = (struct neap_shadow_tally){.faults_in_row = tally->faults_in_row,
					    .is_failed = tally->is_failed};
}

void neap_shadow_add(struct neap_shadow *shadow, const struct neap_shadow_tally *tally)
{
	shadow->calls += tally->calls;
	shadow->same += tally->same;
	shadow->different += tally->different;
	shadow->faults += tally->faults;
	shadow->put_off += tally->put_off;
	shadow->is_failed = shadow->is_failed || tally->is_failed;
	if (tally->last_error[0])
		(void)neap_strcopy(shadow->last_error, sizeof(shadow->last_error),
				   tally->last_error);
	if (!tally->last)
		return;
	json_decref(shadow->last);
	shadow->last = json_incref(tally->last);
}

struct neap_policy *neap_shadow_policy(const struct neap_shadow *shadow)
{
	return shadow->policy;
}

/* --- what is told --- */

json_t *neap_shadow_json(const struct neap_shadow *shadow)
{
	struct neap_policy_info info;
	json_t *row;

	neap_policy_get_info(shadow->policy, &info);
	row = json_pack(
		"{s:s, s:I, s:b, s:I, s:I, s:I, s:I, s:I}", "version", info.version,
		"since_unix_usec", (json_int_t)shadow->since_unix_usec, "is_failed",
		shadow->is_failed, "calls", (json_int_t)shadow->calls, "same",
		(json_int_t)shadow->same, "different", (json_int_t)shadow->different,
		"faults", (json_int_t)shadow->faults, "put_off",
		(json_int_t)shadow->put_off);
	if (row && shadow->last)
		(void)json_object_set(row, "last_difference", shadow->last);
	if (row && shadow->last_error[0])
		(void)json_object_set_new(row, "last_error",
					  neap_text_json(shadow->last_error));
	return row;
}
