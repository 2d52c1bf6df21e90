/* SPDX-License-Identifier: Apache-2.0
 *
 * Replay of recorded inputs: each frame costs a call of both versions and a comparison,
 * which are the family's part. */
#include "lua/replay/replay_priv.h"

#include "engine/base/mem.h"
#include "lua/run/registry.h"
#include "lua/value/convert.h"
#include "lua/vm/budget.h"

bool neap_replay_has_room(const struct neap_replay *replay)
{
	return json_array_size(replay->differences) < NEAP_REPLAY_DIFFERENCES_MAX;
}

bool neap_replay_is_late(const struct neap_replay *replay)
{
	return neap_budget_clock_usec() >= replay->until;
}

int neap_replay_list_take(struct neap_replay *replay, size_t frame, int64_t now_unix,
			  json_t *row, json_t *older, json_t *newer,
			  struct neap_error *err)
{
	json_t *all = json_pack("{s:I, s:I}", "unix", (json_int_t)now_unix, "frame",
				(json_int_t)frame);
	int rc = json_object_update(all, row);

	json_decref(row);
	/* The setters consume also when they fail. */
	rc |= json_object_set_new(all, "older", older) |
	      json_object_set_new(all, "newer", newer);
	if (rc == 0 && json_array_append(replay->differences, all) < 0)
		rc = -1;
	json_decref(all);
	return rc == 0 ? 0 : neap_error_nomem(err);
}

/* In service a policy goes at the third fault in a row or when its state was killed. An
 * input that the older version cannot cope with either is none of the newer one's
 * faults. */
static void count_faults(struct neap_replay *replay, const struct neap_answer *older,
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

void neap_replay_note(struct neap_replay *replay, const struct neap_answer *older,
		      const struct neap_answer *newer, bool is_same)
{
	replay->ran++;
	count_faults(replay, older, newer);
	if (replay->older && is_same)
		replay->same++;
	/* A state that was killed says nothing about the frames that follow. */
	if (replay->older && neap_vm_is_dead(neap_policy_vm(replay->older)))
		replay->older = NULL;
}

static int run(struct neap_replay *replay, int64_t budget_usec, struct neap_error *err)
{
	const struct neap_replay_family *family = replay->newer->kind->replay;
	int rc = 0;

	replay->until = neap_budget_clock_usec() + neap_budget_scale(budget_usec);
	for (size_t i = 0; rc == 0 && i < replay->frames && !replay->is_over; i++) {
		if (neap_replay_is_late(replay))
			break;
		rc = family->run(replay, i, err);
	}
	return rc;
}

static int reset(struct neap_policy *policy, struct neap_error *err)
{
	if (!policy || neap_vm_is_dead(policy->vm))
		return 0;
	return neap_ctx_reset_memo(policy, err);
}

static json_t *result(const struct neap_replay *replay)
{
	json_t *ret = json_pack("{s:s, s:I, s:I, s:I, s:I, s:b, s:b, s:O}", "of",
				replay->newer->kind->replay->of, "frames",
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

size_t neap_replay_count(const struct neap_kind *kind, const struct neap_inputs *inputs)
{
	return kind->replay ? kind->replay->count(inputs) : 0;
}

const char *neap_replay_what(const struct neap_kind *kind)
{
	return kind->replay ? kind->replay->what : NULL;
}

const char *neap_replay_of(const struct neap_kind *kind)
{
	return kind->replay ? kind->replay->of : NULL;
}

int neap_policy_replay(struct neap_policy *older, struct neap_policy *newer,
		       const struct neap_inputs *inputs, int64_t budget_usec,
		       json_t **ret, struct neap_error *err)
{
	const struct neap_replay_family *family = newer->kind->replay;
	struct neap_replay replay = {.older = older, .newer = newer, .inputs = inputs};
	json_t *json = NULL;
	int rc, after;

	replay.frames = neap_replay_count(newer->kind, inputs);
	replay.differences = json_array();
	if (!replay.differences)
		return neap_error_nomem(err);
	rc = reset(older, err);
	if (rc == 0)
		rc = reset(newer, err);
	if (rc == 0 && family->begin)
		rc = family->begin(&replay, err);
	if (rc == 0)
		rc = run(&replay, budget_usec, err);
	after = reset(older, rc < 0 ? NULL : err);
	if (after == 0)
		after = reset(newer, rc < 0 ? NULL : err);
	rc = rc < 0 ? rc : after;
	if (rc == 0) {
		json = result(&replay);
		rc = json ? 0 : neap_error_nomem(err);
	}
	if (family->end)
		family->end(&replay, json);
	json_decref(replay.differences);
	if (rc == 0)
		*ret = json;
	return rc;
}
