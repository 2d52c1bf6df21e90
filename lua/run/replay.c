/* SPDX-License-Identifier: Apache-2.0
 *
 * Replay of recorded inputs: each frame costs two ticks and a comparison. */
#include "lua/run/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "lua/call/answer.h"
#include "lua/call/policy_priv.h"
#include "lua/run/registry.h"
#include "lua/vm/budget.h"

struct replay {
	struct neap_policy *older, *newer;
	size_t frames, ran, same, faults, faults_in_row;
	bool is_failed, is_over;
	struct neap_error first_fault;
	json_t *differences;
};

/* Consumes older and newer, which may be NULL for want of memory. */
static int list_difference(struct replay *replay, size_t frame, int64_t now_unix,
			   json_t *older, json_t *newer, struct neap_error *err)
{
	json_t *row = json_pack("{s:I, s:I}", "unix", (json_int_t)now_unix, "frame",
				(json_int_t)frame);

	/* The setters consume also when they fail. */
	int rc = json_object_set_new(row, "older", older) |
		 json_object_set_new(row, "newer", newer);

	if (rc == 0 && json_array_append(replay->differences, row) < 0)
		rc = -1;
	json_decref(row);
	return rc == 0 ? 0 : neap_error_nomem(err);
}

/* --- running --- */

static int run_one(struct neap_policy *policy, const struct neap_sample *sample,
		   struct neap_answer *ret, struct neap_error *err)
{
	ret->verdict =
		neap_policy_tick(policy, sample, &ret->wishes, &ret->count, &ret->err);
	/* Says nothing about either version. */
	if (ret->verdict == NEAP_TICK_STARVED && ret->err.code == NEAP_ENOMEM)
		return neap_error_nomem(err);
	return neap_answer_sort(ret, err);
}

/* In service a policy goes at the third fault in a row or when its state was killed. An
 * input that the older version cannot cope with either is none of the newer one's
 * faults. */
static void count_faults(struct replay *replay, const struct neap_answer *older,
			 const struct neap_answer *newer)
{
	bool is_dead = neap_vm_is_dead(neap_policy_vm(replay->newer));

	if (neap_answer_is_fault(newer)) {
		if (replay->faults++ == 0)
			replay->first_fault = newer->err;
		if (!replay->older || !neap_answer_is_fault(older))
			replay->faults_in_row++;
		if (is_dead || replay->faults_in_row >= NEAP_POLICY_FAULTS_MAX)
			replay->is_failed = true;
	} else if (newer->verdict <= NEAP_TICK_HOLD) {
		replay->faults_in_row = 0;
	}
	replay->is_over = is_dead;
}

static int compare(struct replay *replay, size_t frame, int64_t now_unix,
		   const struct neap_answer *older, const struct neap_answer *newer,
		   struct neap_error *err)
{
	if (!replay->older)
		return 0;
	if (neap_answer_is_same(older, newer)) {
		replay->same++;
		return 0;
	}
	if (json_array_size(replay->differences) >= NEAP_REPLAY_DIFFERENCES_MAX)
		return 0;
	return list_difference(replay, frame, now_unix, neap_answer_json(older),
			       neap_answer_json(newer), err);
}

static int run_frame(struct replay *replay, const struct neap_tape *tape, size_t frame,
		     struct neap_error *err)
{
	struct neap_answer older = {0}, newer = {0};
	struct neap_sample sample;
	int rc = neap_tape_get(tape, frame, &sample, err);

	if (rc < 0)
		return rc;
	if (replay->older)
		rc = run_one(replay->older, &sample, &older, err);
	if (rc == 0)
		rc = run_one(replay->newer, &sample, &newer, err);
	if (rc == 0) {
		replay->ran++;
		count_faults(replay, &older, &newer);
		rc = compare(replay, frame, sample.now_unix, &older, &newer, err);
		/* A state that was killed says nothing about the frames that follow. */
		if (replay->older && neap_vm_is_dead(neap_policy_vm(replay->older)))
			replay->older = NULL;
	}
	neap_answer_done(&older);
	neap_answer_done(&newer);
	neap_tape_forget(&sample);
	return rc;
}

static int run(struct replay *replay, const struct neap_tape *tape, int64_t budget_usec,
	       struct neap_error *err)
{
	int64_t until = neap_budget_clock_usec() + neap_budget_scale(budget_usec);
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < replay->frames && !replay->is_over; i++) {
		if (neap_budget_clock_usec() >= until)
			break;
		rc = run_frame(replay, tape, i, err);
	}
	return rc;
}

static int reset(struct neap_policy *policy, struct neap_error *err)
{
	if (!policy || neap_vm_is_dead(policy->vm))
		return 0;
	return neap_ctx_reset_memo(policy, err);
}

static json_t *result(const struct replay *replay)
{
	json_t *ret = json_pack("{s:I, s:I, s:I, s:I, s:b, s:b, s:O}", "frames",
				(json_int_t)replay->frames, "ran",
				(json_int_t)replay->ran, "same", (json_int_t)replay->same,
				"faults", (json_int_t)replay->faults, "is_complete",
				replay->ran == replay->frames, "is_failed",
				replay->is_failed, "differences", replay->differences);

	if (ret && replay->faults &&
	    json_object_set_new(ret, "first_fault",
				neap_text_json(replay->first_fault.msg)) < 0) {
		json_decref(ret);
		return NULL;
	}
	return ret;
}

int neap_policy_replay(struct neap_policy *older, struct neap_policy *newer,
		       const struct neap_tape *tape, int64_t budget_usec, json_t **ret,
		       struct neap_error *err)
{
	struct replay replay = {.older = older, .newer = newer};
	json_t *json = NULL;
	int rc, after;

	replay.frames = neap_tape_count(tape);
	replay.differences = json_array();
	if (!replay.differences)
		return neap_error_nomem(err);
	rc = reset(older, err);
	if (rc == 0)
		rc = reset(newer, err);
	if (rc == 0)
		rc = run(&replay, tape, budget_usec, err);
	after = reset(older, rc < 0 ? NULL : err);
	if (after == 0)
		after = reset(newer, rc < 0 ? NULL : err);
	rc = rc < 0 ? rc : after;
	if (rc == 0) {
		json = result(&replay);
		rc = json ? 0 : neap_error_nomem(err);
	}
	json_decref(replay.differences);
	if (rc == 0)
		*ret = json;
	return rc;
}
