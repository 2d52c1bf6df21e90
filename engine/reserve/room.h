/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a pod has room on a node with reservations, computed on amounts alone. Amounts
 * are by resource; a missing one is 0. In the formulas, R0 is what all pods of the node
 * request, placeholders included, minus what unmatched reservations have given to their
 * owners (who count themselves). */
#ifndef NEAP_ENGINE_RESERVE_ROOM_H
#define NEAP_ENGINE_RESERVE_ROOM_H

#include "engine/base/buf.h"
#include "engine/object/amounts.h"
#include "engine/reserve/reserve.h"

/* A reservation that the pod may use. All borrowed. */
struct neap_reserve_part {
	const char *name;
	bool is_restricted;
	const struct neap_amounts *allocatable, *allocated;
	const struct neap_amounts *inner;       /* withheld; NULL: nothing */
	const struct neap_amounts *preemptible; /* held by its owners; NULL: nothing */
	/* resources for which a restricted one limits its owners */
	const uint32_t *names;
	size_t name_count;
	size_t assigned; /* pods */
	bool is_once;
	bool shares_ports; /* it keeps a host port that the pod requests */
	int64_t order;
};

struct neap_reserve_room {
	const struct neap_resources *resources;
	const struct neap_amounts *node_allocatable;
	const struct neap_amounts *requested; /* R0 */
	/* allocated from all matched reservations */
	const struct neap_amounts *given;
	/* held by the node's pods; NULL: nothing */
	const struct neap_amounts *preemptible;
	/* on the node; placeholders of matched reservations among them */
	size_t pods, matched;
};

struct neap_reserve_need {
	const struct neap_amounts *requests;
	/* the pod must use a reservation, even one from which it needs nothing */
	bool is_required;
	/* the required reservation, and reasons include amounts; NULL */
	const char *named;
	bool skips_node; /* with one match, the ordinary filter has checked the node */
	bool has_passed; /* the filter has found room for it */
};

/* Returns whether some part has room for the pod. reasons: why not, one per line, in
 * order; may be NULL. */
bool neap_reserve_fits(const struct neap_reserve_room *room,
		       const struct neap_reserve_need *need,
		       const struct neap_reserve_part *parts, size_t count,
		       struct neap_buf *reasons);
/* Returns whether this reservation alone has room; room on the node is not enough. */
bool neap_reserve_accepts(const struct neap_reserve_room *room,
			  const struct neap_reserve_need *need,
			  const struct neap_reserve_part *part, struct neap_buf *reasons);
/* Returns whether the pod may be given this one of all its options. When the pod must use
 * a reservation and has only one option that has passed, it is not checked again. */
bool neap_reserve_may_give(const struct neap_reserve_room *room,
			   const struct neap_reserve_need *need,
			   const struct neap_reserve_part *parts, size_t count,
			   size_t which);

/* Computes R0: subtracts what an unmatched reservation has given from the requests on the
 * node. */
void neap_reserve_uncount(struct neap_amounts *requested,
			  const struct neap_amounts *allocated);
/* Computes what the ordinary filters see: subtracts everything a matched reservation
 * keeps. */
void neap_reserve_lift(struct neap_amounts *requested,
		       const struct neap_amounts *allocatable);

/* --- points --- */

/* Returns 0..100: how full it would be, over the resources that it keeps. */
int64_t neap_reserve_score(const struct neap_reserve_part *part,
			   const struct neap_amounts *requests);
/* Returns the option that the pod takes: the smallest order, else the fullest, else the
 * first by name. count is not 0. */
size_t neap_reserve_nominate(const struct neap_reserve_part *parts, size_t count,
			     const struct neap_amounts *requests);
#define NEAP_RESERVE_SCORE_ORDER 1000
/* Scores nodes by the reservation that would be used there: the smallest order of all (0:
 * none) gets NEAP_RESERVE_SCORE_ORDER. */
void neap_reserve_order(int64_t *scores, const int64_t *orders, size_t count);

/* --- taking over running pods --- */

struct neap_reserve_candidate {
	const char *name; /* borrowed */
	const struct neap_amounts *requests;
	/* The part of them that will count as taken from the reservation; NULL: all. */
	const struct neap_amounts *given;
};

struct neap_reserve_takeover {
	const struct neap_amounts *requests;             /* of the reservation */
	const struct neap_reserve_candidate *candidates; /* the best first */
	size_t count;
	bool is_required; /* at least one pod must be taken over */
	bool takes_several;
	bool prefers_free; /* use free room of the node first */
};

/* Returns whether the node has room once the selected pods belong to the reservation.
 * selected: count flags, set for the pods taken over. */
bool neap_reserve_take_over(const struct neap_reserve_room *room,
			    const struct neap_reserve_takeover *takeover, bool *selected,
			    struct neap_buf *reasons);

#endif
