/* SPDX-License-Identifier: Apache-2.0
 *
 * Two versions of a policy over the same recorded inputs, and where they differ. */
#ifndef NEAP_LUA_REPLAY_REPLAY_H
#define NEAP_LUA_REPLAY_REPLAY_H

#include "lua/call/policy.h"
#include "lua/replay/inputs.h"

#define NEAP_REPLAY_DIFFERENCES_MAX 20
/* Of one frame: nodes of which the answers are listed. */
#define NEAP_REPLAY_NODES_MAX 8

/* Returns how many frames there are for a policy of this kind. */
size_t neap_replay_count(const struct neap_kind *kind, const struct neap_inputs *inputs);
/* Returns what they are, for people: "recorded inputs of this node"; NULL: the kind is
 * not recorded. */
const char *neap_replay_what(const struct neap_kind *kind);
/* Returns what a frame is: "ticks"; NULL likewise. */
const char *neap_replay_of(const struct neap_kind *kind);
/* Runs both versions over the inputs from the first frame, each with an empty memo and
 * its own parameters. Both states belong to the caller's thread, and their memo is reset
 * at the end. older may be NULL: then only the answers of newer are counted. All runs
 * share budget_usec of CPU time; when it is used up, the replay ends early and says so.
 * *ret is a new reference:
 *   { "of": "ticks", "frames": 60, "ran": 60, "same": 58, "faults": 0,
 *     "is_complete": true, "is_failed": false,
 *     "differences": [ { "unix": 1700000000, "frame": 3,
 *       "older": ["besteffort cpu.max_milli=2400"], "newer": "hold" } ] }
 * "of" says what a frame is. The answer to a tick is the sorted list of writes as text
 * (a long one ends in "and 12 more"), or "hold", "skip" or "error: ...". Answers are
 * the same when their sets of target, key and value are. At most
 * NEAP_REPLAY_DIFFERENCES_MAX differences are listed; "same" counts all equal answers.
 * Faults of newer (error, budget exceeded) are counted in "faults", and "first_fault"
 * has the first message. "is_failed": these faults would have taken it out of service
 * (its state was killed, or NEAP_POLICY_FAULTS_MAX consecutive faults in frames where
 * older had none). A killed state of newer ends the replay, one of older ends the
 * comparison. Fails only without memory.  Of rounds an answer is a list of lines
 * (lua/deschedule/round_lines.h), and a difference has only those that the other
 * version lacks. Further members: "cut", rounds of which a part was recorded;
 * "unreadable", those that could not be read; "is_new", no round had the policy;
 * "older", the version that is compared where older is NULL. */
int neap_policy_replay(struct neap_policy *older, struct neap_policy *newer,
		       const struct neap_inputs *inputs, int64_t budget_usec,
		       json_t **ret, struct neap_error *err);

#endif
