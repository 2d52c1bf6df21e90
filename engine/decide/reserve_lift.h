/* SPDX-License-Identifier: Apache-2.0
 *
 * Reservations in one decision: which ones the pod may use, and on which nodes. While
 * nodes are examined, the placeholders of these are lifted off their nodes, so that every
 * filter sees what is reserved for the pod as free. The filter Reservation then checks
 * that the reserved room suffices and that nothing reserved for others is taken. The
 * placeholders return when the decision ends. */
#ifndef NEAP_ENGINE_DECIDE_RESERVE_LIFT_H
#define NEAP_ENGINE_DECIDE_RESERVE_LIFT_H

#include "engine/reserve/book.h"
#include "engine/reserve/room.h"

/* A reservation that the pod may use. All borrowed. */
struct neap_kept_match {
	struct neap_reserve *reserve;
	struct neap_pod *stand;
	uint32_t row;
	/* The node it was lifted off; NULL: not lifted. */
	struct neap_cluster_node *lifted;
};

/* Step budget (rank.c) for the owner rules of all reservations together; once it is used
 * up, the remaining reservations are closed to the pod. */
#define NEAP_KEPT_OWNER_STEPS 200000

/* Reservation state of one decision, part of struct neap_cycle. */
struct neap_kept {
	struct neap_reserve_book *book;             /* NULL: there are no reservations */
	const struct neap_reserve_matcher *matcher; /* NULL: only owner rules decide */
	/* What the pod's annotations say; true once they were read. */
	bool has_ask;
	struct neap_reserve_ask ask;
	struct neap_reserve_asked by;
	/* Sorted by row, then by name. */
	struct neap_kept_match *matches;
	size_t count, size;
	size_t at; /* the first match of the row asked about last, or where it would be */
	/* Matches without room for the pod; policies were not asked about them, and they
	 * are not lifted. */
	struct neap_kept_match *full;
	size_t full_count, full_size;
	/* work memory for the current row; allocated for the first match */
	struct neap_kept_work *work;
	/* The first time at which a policy may answer differently; 0: none. */
	int64_t again_usec;
	int64_t owner_steps; /* steps left for owner rules */
	/* what a policy said about a reservation that it did not open; NULL */
	const char *closed;
	/* The Reservation being placed, when the pod is its placeholder; NULL: an
	 * ordinary pod. */
	const struct neap_reserve *placed;
};

struct neap_cycle;

/* Finds the reservations that the pod may use; row UINT32_MAX: on all nodes.
 * -NEAP_EINVAL: the pod's reservation annotations cannot be read; -NEAP_ENOMEM. */
int neap_kept_begin(struct neap_cycle *cycle, const struct neap_pod *pod, uint32_t row,
		    struct neap_error *err);
/* Asks policies about full reservations too, when room is to be made and no placeholder
 * is lifted. If a policy fails, only owner rules count from here on. Returns 1 when the
 * usable set may have changed and nodes must be filtered again; 0 when not; -NEAP_EINVAL,
 * -NEAP_ENOMEM. */
int neap_kept_open_full(struct neap_cycle *cycle, uint32_t row, struct neap_error *err);
/* Charges a reservation's owner rules to the step budget; returns false when the budget
 * is used up and its owners are not checked. */
bool neap_kept_spend(struct neap_kept *kept, const struct neap_reserve *reserve);
/* Returns whether pods of the profile use reservations at all. */
bool neap_kept_is_on(const struct neap_cycle *cycle);
void neap_kept_lift(struct neap_cycle *cycle);
void neap_kept_put_back(struct neap_cycle *cycle);
void neap_kept_done(struct neap_kept *kept);

/* Returns the matches of a row; NULL: none. Cheap when rows are asked about in ascending
 * order. */
struct neap_kept_match *neap_kept_on(struct neap_cycle *cycle, uint32_t row,
				     size_t *ret_count);
/* The same for full reservations. */
struct neap_kept_match *neap_kept_full_on(struct neap_cycle *cycle, uint32_t row,
					  size_t *ret_count);
/* A pod in operating mode keeps its place and host ports on its node, whichever pod uses
 * it. Returns the next such pod lifted off a row; at starts at 0. NULL at the end. */
const struct neap_pod *neap_kept_next_real(struct neap_cycle *cycle, uint32_t row,
					   size_t *at);
/* An order of all rows from a given one on, with the rows that have matches first, so
 * that the percentage of nodes never cuts them off. */
struct neap_kept_walk {
	size_t kept, total, row, at;
};
struct neap_kept_walk neap_kept_walk(const struct neap_cycle *cycle, size_t start);
/* Returns the next row, until total rows were returned; false at the end. */
bool neap_kept_next(struct neap_cycle *cycle, struct neap_kept_walk *walk, uint32_t *ret);
/* Returns whether the labels that a policy compares are equal. */
bool neap_kept_has_pairs(const struct neap_reserve *reserve, const struct neap_pod *pod,
			 const struct neap_reserve_asked *by);
/* Returns by how much waiting placeholders make a row's count exceed the node's capacity
 * on a row with a match. That excess blocks other pods, but not those that use the
 * reservation. */
int64_t neap_kept_beyond(struct neap_cycle *cycle, uint32_t row, uint32_t resource);
/* Returns whether the pod must use a reservation. */
bool neap_kept_is_required(const struct neap_kept *kept);

/* The inputs for judging a row's room. */
struct neap_kept_room {
	struct neap_amounts requests, requested, given;
	struct neap_reserve_room room;
	struct neap_reserve_need need;
};
void neap_kept_room(struct neap_cycle *cycle, uint32_t row,
		    const struct neap_kept_match *matches, size_t count,
		    struct neap_kept_room *ret);
/* A match as a part of it; given: what its owners have, filled in here. */
struct neap_reserve_part neap_kept_part(struct neap_cycle *cycle,
					const struct neap_kept_match *match,
					struct neap_amounts *given);

/* One of several candidates. */
struct neap_kept_option {
	struct neap_kept_match *match;
	const struct neap_reserve_part *part;
	struct neap_amounts given;
	int rank; /* below 0: no policy ranked it */
	int64_t points;
};

/* Work memory for a row, reused for every row. */
struct neap_kept_work {
	struct neap_kept_room room;
	struct neap_kept_option *options, **sorted;
	struct neap_reserve_part *parts; /* the options' parts */
	size_t count, size;
};
/* Returns work memory for count options; NULL without memory, and the cycle is marked
 * short. */
struct neap_kept_work *neap_kept_work(struct neap_cycle *cycle, size_t count);
/* Fills in the room of the matches' row, and as options the matches, except those where
 * another match keeps a host port that the pod wants (that one is lifted too, and would
 * be taken from it). NULL: the cycle is short of memory. */
struct neap_kept_work *neap_kept_options(struct neap_cycle *cycle,
					 struct neap_kept_match *matches, size_t count);
/* Lists a row's matches that have room for the pod, preferred first; ret has room for
 * count. Returns how many. first: the preferred one, valid until the next row; may be
 * NULL. */
size_t neap_kept_nominate(struct neap_cycle *cycle, uint32_t row,
			  struct neap_kept_match **ret,
			  const struct neap_kept_option **ret_first);

#endif
