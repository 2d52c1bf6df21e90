/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by decisions.c (what is recorded, the ring, tapes) and decisions_frame.c (a
 * frame's JSON). */
#ifndef NEAP_LUA_REPLAY_DECISIONS_PRIV_H
#define NEAP_LUA_REPLAY_DECISIONS_PRIV_H

#include "lua/replay/decisions.h"

/* A reservation as it was offered. */
struct neap_decision_offer {
	struct neap_reserve *reserve; /* references */
	struct neap_object *node;
	bool is_owner;
	size_t pods;
	struct neap_amounts allocated;
};

/* The decision at hand; borrows cluster and pod. */
struct neap_decision {
	struct neap_cluster *cluster;
	const struct neap_pod *pod;
	int64_t now_usec;
	uint32_t rows[NEAP_DECISION_NODES];
	size_t row_count, rows_asked;
	struct neap_decision_offer offers[NEAP_DECISION_OFFERS];
	size_t offer_count, offers_asked;
};

/* Incomplete or NULL without memory; neap_json_failures says so. */
json_t *neap_decision_json(const struct neap_decision *decision);

#endif
