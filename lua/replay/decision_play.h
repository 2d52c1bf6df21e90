/* SPDX-License-Identifier: Apache-2.0
 *
 * A recorded decision as a place to which policies are called: the pod, and a cluster of
 * its nodes whose columns are told by the record. */
#ifndef NEAP_LUA_REPLAY_DECISION_PLAY_H
#define NEAP_LUA_REPLAY_DECISION_PLAY_H

#include "engine/decide/columns/told.h"
#include "lua/place/place.h"
#include "lua/replay/decisions.h"

struct neap_play_column {
	struct neap_play_column *next;
	struct neap_column column;
	int64_t *amounts; /* one of the two, by row; both NULL: no node has it */
	double *shares;
};

struct neap_play {
	const json_t *json; /* the frame; borrowed */
	struct neap_place place;
	struct neap_cluster *cluster;
	struct neap_pod *pod;
	uint32_t rows[NEAP_DECISION_NODES]; /* in the record's order */
	size_t count;
	struct neap_told told;
	struct neap_play_column *columns;
};

/* Fails without memory, and for a frame that is none (NEAP_EINVAL, NEAP_ETOOLARGE). The
 * play must stay where it is, and json must stay, until it is closed. */
int neap_play_open(struct neap_play *play, const json_t *json, struct neap_error *err);
/* Accepts one that could not be opened. */
void neap_play_close(struct neap_play *play);

#endif
