/* SPDX-License-Identifier: Apache-2.0
 *
 * Between replay.c (the loop over frames, what counts, what is listed) and the families
 * of recorded inputs, each of which runs a frame. struct neap_kind names its family. */
#ifndef NEAP_LUA_REPLAY_REPLAY_PRIV_H
#define NEAP_LUA_REPLAY_REPLAY_PRIV_H

#include "lua/call/answer.h"
#include "lua/call/policy_priv.h"
#include "lua/replay/replay.h"

struct neap_replay_own;

struct neap_replay {
	struct neap_policy *older,
		*newer; /* older NULL: there is none, or none any more */
	const struct neap_inputs *inputs;
	int64_t until; /* of the thread's CPU time */
	size_t frames, ran, same, faults, faults_in_row;
	bool is_failed, is_over;
	struct neap_error first_fault;
	json_t *differences;
	struct neap_replay_own *own; /* the family's, from begin to end */
};

struct neap_replay_family {
	/* For people: "recorded inputs of this node", and what a frame is: "ticks". */
	const char *what, *of;
	size_t (*count)(const struct neap_inputs *inputs);
	/* Before the first frame; NULL: nothing. end is called after it in any case. */
	int (*begin)(struct neap_replay *replay, struct neap_error *err);
	/* Runs both versions over one frame, notes how it went and lists where they
	 * differ. A frame of many calls looks at neap_replay_is_late between them, and
	 * notes nothing of one that it leaves so. Fails only without memory. */
	int (*run)(struct neap_replay *replay, size_t frame, struct neap_error *err);
	/* After the last: adds what else is to tell to ret (NULL: it failed). */
	void (*end)(struct neap_replay *replay, json_t *ret);
};

/* Returns whether the time is used up. */
bool neap_replay_is_late(const struct neap_replay *replay);
/* Called once per frame. Of an answer only verdict and err are read. older is not used
 * without an older version. */
void neap_replay_note(struct neap_replay *replay, const struct neap_answer *older,
		      const struct neap_answer *newer, bool is_same);
/* Returns whether another difference is listed. */
bool neap_replay_has_room(const struct neap_replay *replay);
/* Lists a difference: row with "older" and "newer", after "unix" and "frame". Consumes
 * all three, which may be NULL for want of memory. Call it only while there is room. */
int neap_replay_list_take(struct neap_replay *replay, size_t frame, int64_t now_unix,
			  json_t *row, json_t *older, json_t *newer,
			  struct neap_error *err);
/* replay_place.c: {"pod": "NAMESPACE/NAME"} of a recorded decision, as the row above. */
json_t *neap_replay_pod_json(const json_t *frame);

#endif
