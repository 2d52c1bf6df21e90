/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples of the node, for kind qos: a frame is one tick, an answer its list of
 * writes. */
#include "lua/replay/replay_priv.h"

static size_t count(const struct neap_inputs *inputs)
{
	return inputs->samples ? neap_tape_count(inputs->samples) : 0;
}

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

static int run_both(struct neap_replay *replay, size_t frame,
		    const struct neap_sample *sample, struct neap_error *err)
{
	struct neap_answer older = {0}, newer = {0};
	bool is_same = false;
	int rc = 0;

	if (replay->older)
		rc = run_one(replay->older, sample, &older, err);
	if (rc == 0)
		rc = run_one(replay->newer, sample, &newer, err);
	if (rc == 0 && replay->older) {
		is_same = neap_answer_is_same(&older, &newer);
		if (!is_same && neap_replay_has_room(replay))
			rc = neap_replay_list_take(
				replay, frame, sample->now_unix, json_object(),
				neap_answer_json(&older), neap_answer_json(&newer), err);
	}
	if (rc == 0)
		neap_replay_note(replay, &older, &newer, is_same);
	neap_answer_done(&older);
	neap_answer_done(&newer);
	return rc;
}

static int run(struct neap_replay *replay, size_t frame, struct neap_error *err)
{
	struct neap_sample sample;
	int rc = neap_tape_get(replay->inputs->samples, frame, &sample, err);

	if (rc < 0)
		return rc;
	rc = run_both(replay, frame, &sample, err);
	neap_tape_forget(&sample);
	return rc;
}

const struct neap_replay_family neap_replay_samples = {
	.what = "recorded inputs of this node",
	.of = "ticks",
	.count = count,
	.run = run,
};
