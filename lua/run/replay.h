/* SPDX-License-Identifier: Apache-2.0
 *
 * Two versions of a policy over the same recorded inputs, and where they differ. */
#ifndef NEAP_LUA_RUN_REPLAY_H
#define NEAP_LUA_RUN_REPLAY_H

#include "lua/run/policy.h"
#include "lua/run/record.h"

#define NEAP_REPLAY_DIFFERENCES_MAX 20

/* Runs both over the tape from its first frame, each with an empty memo and its own parameters; both
 * states belong to the caller's thread and are used up by it (their memo is reset at the end). older
 * may be NULL: then the answers of newer are only counted. At most budget_usec of CPU time in all:
 * past it the replay ends early and says so. *ret (a new reference):
 *   { "frames": 60, "ran": 60, "same": 58, "faults": 0, "is_complete": true, "is_failed": false,
 *     "differences": [ { "unix": 1700000000, "frame": 3, "older": ["besteffort cpu.max_milli=2400"],
 *       "newer": "hold" } ] }
 * where an answer is the list of writes as text (sorted; a long one ends in "and 12 more"), or "hold",
 * "skip", or "error: ..." . Answers are the same when they are as sets of target, key and value. At
 * most NEAP_REPLAY_DIFFERENCES_MAX are listed; "same" counts all. A fault of newer (error, spent
 * budget) is counted in "faults", its first message is in "first_fault". "is_failed" says that these
 * faults would have taken it out of service (its state was killed, or NEAP_POLICY_FAULTS_MAX in a row
 * in frames where older had none); a state that was killed ends the replay, one of older only the
 * comparison. Fails for want of memory only. */
int neap_policy_replay(struct neap_policy *older, struct neap_policy *newer,
		       const struct neap_tape *tape, int64_t budget_usec, json_t **ret,
		       struct neap_error *err);

#endif
