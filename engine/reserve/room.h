/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a pod has room on a node of which parts are reserved; in amounts, so that it can be asked about anything.
 * All amounts are by resource; one that is not there is 0. Formulas: R0 is what all pods of the node request, reserve
 * pods among them, less what unmatched reservations have given to their owners (who count themselves). */
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
	const struct neap_amounts *preemptible; /* of its owners; NULL: nothing */
	const uint32_t *names; /* resources that a restricted one holds its owners to */
	size_t name_count;
	size_t assigned; /* pods */
	bool is_once;
	bool shares_ports; /* it keeps a host port that the pod asks for */
	int64_t order;
};

struct neap_reserve_room {
	const struct neap_resources *resources;
	const struct neap_amounts *node_allocatable;
	const struct neap_amounts *requested; /* R0 */
	const struct neap_amounts *given;     /* sum of what all matched have allocated */
	const struct neap_amounts *preemptible; /* of the node's pods; NULL: nothing */
	size_t pods, matched; /* on the node; of them reserve pods of matched ones */
};

struct neap_reserve_need {
	const struct neap_amounts *requests;
	bool is_required; /* it must use a reservation, also one of which it asks nothing */
	const char *named; /* that one, and reasons have amounts; NULL */
	bool skips_node;   /* with one match the ordinary filter has looked at the node */
	bool has_passed;   /* the filter has found room for it */
};

/* Whether some part has room for the pod. reasons: one a line, in order, when it has not; may be NULL. */
bool neap_reserve_fits(const struct neap_reserve_room *room,
		       const struct neap_reserve_need *need,
		       const struct neap_reserve_part *parts, size_t count,
		       struct neap_buf *reasons);
/* Whether this one can be the pod's, by itself; the node alone is not enough. */
bool neap_reserve_accepts(const struct neap_reserve_room *room,
			  const struct neap_reserve_need *need,
			  const struct neap_reserve_part *part, struct neap_buf *reasons);
/* Whether the pod may be given that one of all that there are for it. The only one of a pod that must use one, and has
 * passed, is not looked at again. */
bool neap_reserve_may_give(const struct neap_reserve_room *room,
			   const struct neap_reserve_need *need,
			   const struct neap_reserve_part *parts, size_t count,
			   size_t which);

/* R0 of what the pods of a node request: takes off what an unmatched one has given. */
void neap_reserve_uncount(struct neap_amounts *requested,
			  const struct neap_amounts *allocated);
/* What the ordinary filters see: takes off all that a matched one keeps. */
void neap_reserve_lift(struct neap_amounts *requested,
		       const struct neap_amounts *allocatable);

/* --- points --- */

/* 0..100: how full it would be, over the resources that it has any of. */
int64_t neap_reserve_score(const struct neap_reserve_part *part,
			   const struct neap_amounts *requests);
/* Which of those with room the pod takes: the smallest order, else the fullest, else the first by name. count is not
 * 0. */
size_t neap_reserve_nominate(const struct neap_reserve_part *parts, size_t count,
			     const struct neap_amounts *requests);
#define NEAP_RESERVE_SCORE_ORDER 1000
/* Points of nodes, each of the reservation that would be taken there: that with the smallest order of all (0: none)
 * gets NEAP_RESERVE_SCORE_ORDER. */
void neap_reserve_order(int64_t *scores, const int64_t *orders, size_t count);

/* --- taking over running pods --- */

struct neap_reserve_candidate {
	const char *name; /* borrowed */
	const struct neap_amounts *requests;
	/* Of them, what will count as taken from the reservation; NULL: all. */
	const struct neap_amounts *given;
};

struct neap_reserve_takeover {
	const struct neap_amounts *requests;             /* of the reservation */
	const struct neap_reserve_candidate *candidates; /* the best first */
	size_t count;
	bool is_required; /* without a pod there is no place */
	bool takes_several;
	bool prefers_free; /* room that is free anyway comes first */
};

/* Whether the node has room when such pods become the reservation's. selected: of count flags, those that are
 * taken. */
bool neap_reserve_take_over(const struct neap_reserve_room *room,
			    const struct neap_reserve_takeover *takeover, bool *selected,
			    struct neap_buf *reasons);

#endif
