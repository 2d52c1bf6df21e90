/* SPDX-License-Identifier: Apache-2.0
 *
 * The recorder of decisions about a place: the inputs of policies of kind score, filter
 * and reservation. A frame is one decision as JSON text, in the form of an example with
 * more fields: only what policies can see of the pod, of up to NEAP_DECISION_NODES nodes
 * that neap's own filters accepted (taken evenly when there were more) and of up to
 * NEAP_DECISION_OFFERS reservations. At most one decision a second is recorded, after a
 * burst; the others cost a look at a number. A frame is made on the loop, so that all of
 * it is bounded: nodes and reservations that are too long, or have no room in it, are
 * left out and counted as cut. Frames are immutable and (atomically) reference
 * counted. */
#ifndef NEAP_LUA_REPLAY_DECISIONS_H
#define NEAP_LUA_REPLAY_DECISIONS_H

#include "engine/cluster/cluster.h"
#include "engine/reserve/matcher.h"

#define NEAP_DECISIONS_MAX        64
#define NEAP_DECISIONS_BYTES      ((size_t)4 * 1024 * 1024)
#define NEAP_DECISIONS_BURST      8
#define NEAP_DECISIONS_EVERY_USEC INT64_C(1000000)
#define NEAP_DECISION_NODES       16
#define NEAP_DECISION_OFFERS      16
#define NEAP_DECISION_BYTES       ((size_t)64 * 1024)
/* A decision about a longer pod is not recorded, a longer Reservation is cut, and so is
 * one past the sum: all are read again, on the loop. */
#define NEAP_DECISION_OBJECT_BYTES ((size_t)16 * 1024)
#define NEAP_DECISION_OFFERS_BYTES ((size_t)64 * 1024)

struct neap_decisions;
struct neap_decision_tape;

/* Of one thread. bytes, frames: upper limits; 0 for the defaults above. */
struct neap_decisions *neap_decisions_new(size_t bytes, int frames);
void neap_decisions_free(struct neap_decisions *decisions);

/* --- within a decision, in this order --- */

/* Reservations are going to be offered to a pod. */
void neap_decisions_offers(struct neap_decisions *decisions, const struct neap_pod *pod,
			   int64_t now_usec);
/* ... this one, when policies are asked about it. */
void neap_decisions_offer(struct neap_decisions *decisions,
			  const struct neap_reserve_offer *offer);
/* The decision about pod begins; cluster is settled. Returns whether it is recorded. The
 * pod and the cluster must stay until the end. */
bool neap_decisions_begin(struct neap_decisions *decisions, struct neap_cluster *cluster,
			  const struct neap_pod *pod, int64_t now_usec);
/* Policies are asked about these rows. */
void neap_decisions_rows(struct neap_decisions *decisions, const uint32_t *rows,
			 size_t count);
/* ... and will be asked about all of them again. */
void neap_decisions_again(struct neap_decisions *decisions);
bool neap_decisions_has_rows(const struct neap_decisions *decisions);
/* Records it, if anything was asked. Without memory it is left out. */
void neap_decisions_end(struct neap_decisions *decisions);

/* --- what was recorded --- */

size_t neap_decisions_count(const struct neap_decisions *decisions);
size_t neap_decisions_bytes(const struct neap_decisions *decisions);
/* How many decisions were left out because the pod, or all else, was too long. */
uint64_t neap_decisions_left_out(const struct neap_decisions *decisions);
/* [ { "number": 12, "bytes": 8123, "cut": 0 } ], oldest first; NULL without memory. */
json_t *neap_decisions_list(const struct neap_decisions *decisions);
/* Returns the frame of that number as JSON text, borrowed until the next decision; NULL:
 * it has gone, or there was none. */
const char *neap_decisions_text(const struct neap_decisions *decisions, int64_t number);
/* Returns the present frames, oldest first; NULL without memory. */
struct neap_decision_tape *neap_decisions_share(const struct neap_decisions *decisions);

/* Makes a tape of frames in JSON, which may be anything: what is no decision is found out
 * when it is tried. NULL without memory. */
struct neap_decision_tape *neap_decision_tape_of(const json_t *list);
/* Thread-safe reference counting. unref returns NULL and accepts NULL. */
struct neap_decision_tape *neap_decision_tape_ref(struct neap_decision_tape *tape);
struct neap_decision_tape *neap_decision_tape_unref(struct neap_decision_tape *tape);
/* Which frames: those with nodes, for score and filter, or with reservations. */
enum neap_decision_part { NEAP_DECISION_OF_NODES, NEAP_DECISION_OF_OFFERS };
size_t neap_decision_tape_count(const struct neap_decision_tape *tape,
				enum neap_decision_part part);
/* Parses a frame, by index among those of the part: { "unix", "band", "is_daemon", "pod":
 * {..}, "nodes": { NAME: {..} }, "nodes_asked", "reservations": [..],
 * "reservations_asked", "cut" }. A new reference. NEAP_ENOTFOUND past the end. */
int neap_decision_tape_get(const struct neap_decision_tape *tape,
			   enum neap_decision_part part, size_t index, json_t **ret,
			   struct neap_error *err);

#endif
