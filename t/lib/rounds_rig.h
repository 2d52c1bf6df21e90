/* SPDX-License-Identifier: Apache-2.0
 *
 * Rounds of one shipped strategy over a cluster that is JSON, recorded and played
 * again. */
#ifndef NEAP_T_LIB_ROUNDS_RIG_H
#define NEAP_T_LIB_ROUNDS_RIG_H

#include "api/deschedule/play/recording_files.h"
#include "api/deschedule/play/strategies.h"
#include "lua/deschedule/round_tape_priv.h"
#include "lua/replay/replay.h"

#define ROUNDS_SECOND INT64_C(1000000)
#define ROUNDS_BEGAN  "2026-01-01T00:00:00Z"

extern struct neap_strategies *rounds_strategies;

int rounds_setup(void **state);
int rounds_teardown(void **state);
/* Fails the test on an error. */
void rounds_need(int rc, const struct neap_error *err, const char *what);
/* JSON with single quotes. */
json_t *rounds_quoted(const char *text);
/* A configuration with that strategy and the DefaultEvictor; NULL: no arguments. */
struct neap_play_set *rounds_open_set(const struct neap_policy *policy,
				      const json_t *params, const json_t *evictor);
/* Plays a round over the cluster, with more nodes if it has less than two. Returns the
 * recording. */
json_t *rounds_play(struct neap_play_set *set, const json_t *cluster, int64_t now_usec,
		    const struct neap_limits *limits);
/* list: recordings. */
json_t *rounds_replay(struct neap_policy *older, struct neap_policy *newer,
		      const json_t *list);

#endif
