/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by decisions.c (what is recorded, the ring, tapes) and decisions_frame.c (a
 * frame's JSON). */
#ifndef NEAP_LUA_REPLAY_DECISIONS_PRIV_H
#define NEAP_LUA_REPLAY_DECISIONS_PRIV_H

#include "engine/base/buf.h"
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
	size_t offers_bytes,
		offers_cut; /* texts of those here; those that are too long */
};

/* What a frame has, and what had no room. */
struct neap_decision_made {
	size_t nodes, offers, cut;
	bool is_short; /* of memory */
};

/* Writes the frame, of at most NEAP_DECISION_BYTES. Returns false without memory, or when
 * not even the pod has room. */
bool neap_decision_write(const struct neap_decision *decision, struct neap_buf *out,
			 struct neap_decision_made *ret);

#endif
