/* SPDX-License-Identifier: Apache-2.0
 *
 * Recorded inputs of policies, one member for each family of kinds: samples of the node
 * (kind qos), decisions about a place (kinds score, filter, reservation), descheduling
 * rounds (kinds deschedule, evict). Whoever calls policies records; the policy thread
 * replays. */
#ifndef NEAP_LUA_REPLAY_INPUTS_H
#define NEAP_LUA_REPLAY_INPUTS_H

#include "lua/deschedule/round_tape.h"
#include "lua/replay/decisions.h"
#include "lua/run/record.h"

/* Borrowed, of the thread of the event loop. NULL: the family is not recorded. */
struct neap_recorders {
	struct neap_record *samples;
	struct neap_decisions *decisions;
	const char *rounds_dir;
};

/* What was recorded at one moment, immutable, for any thread; NULL: nothing. */
struct neap_inputs {
	struct neap_tape *samples;
	struct neap_decision_tape *decisions;
	struct neap_round_tape *rounds; /* of the folder, read when it is needed */
	/* Tells of texts that must not run, though they ran once and are recorded; for
	 * any thread. NULL: there are none. */
	bool (*is_banned)(const void *arg, const char *text, size_t len);
	const void *banned_arg;
};

/* Fills *ret with what the recorders hold now. Without memory a family is left out. */
void neap_inputs_share(const struct neap_recorders *recorders, struct neap_inputs *ret);
/* Reads a recording: { "of": "decisions", "frames": [..] }, whose frames are borrowed.
 * -NEAP_EINVAL: it is of nothing that can be read; -NEAP_ENOMEM. */
int neap_inputs_read(const json_t *recording, struct neap_inputs *ret,
		     struct neap_error *err);
/* Returns whether recordings of that can be read. */
bool neap_inputs_are_of(const char *of);
/* Returns whether a text must not run. inputs may be NULL. */
bool neap_inputs_ban(const struct neap_inputs *inputs, const char *text, size_t len);
/* Gives everything back; the inputs are empty then. */
void neap_inputs_done(struct neap_inputs *inputs);

#endif
