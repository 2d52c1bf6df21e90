/* SPDX-License-Identifier: Apache-2.0
 *
 * Reservations in one decision: which ones the pod may use, and on which nodes. While nodes are looked at the stands of
 * these are lifted off, so that everybody who looks sees what is kept for the pod as free; the filter Reservation then
 * sees to it that what is kept for it is enough, and nothing of what is kept for others is taken. They are back on their
 * nodes when the decision is made. */
#ifndef NEAP_ENGINE_DECIDE_RESERVE_LIFT_H
#define NEAP_ENGINE_DECIDE_RESERVE_LIFT_H

#include "engine/reserve/book.h"
#include "engine/reserve/room.h"

/* One that the pod may use. All borrowed. */
struct neap_kept_match {
	struct neap_reserve *reserve;
	struct neap_pod *stand;
	uint32_t row;
	/* Where it was lifted off from; NULL: it is in its place. */
	struct neap_cluster_node *lifted;
};

/* Steps (cost.c) for the owners of all reservations together; beyond them the others are
 * closed to the pod. */
#define NEAP_KEPT_OWNER_STEPS 200000

/* Of one decision, in struct neap_cycle. */
struct neap_kept {
	struct neap_reserve_book *book;             /* NULL: there are no reservations */
	const struct neap_reserve_matcher *matcher; /* NULL: owners alone decide */
	/* What the pod says; true when it was read. */
	bool has_ask;
	struct neap_reserve_ask ask;
	struct neap_reserve_asked by;
	/* By row, then by name. */
	struct neap_kept_match *matches;
	size_t count, size;
	size_t at; /* the first of the row that was asked about last, or where it would be */
	/* So are those without room for it, about which policies have not been asked: they stay in their places. */
	struct neap_kept_match *full;
	size_t full_count, full_size;
	struct neap_kept_work *work; /* of the row at hand; from the first one on */
	/* The first time at which a policy may answer otherwise; 0: none. */
	int64_t again_usec;
	int64_t owner_steps; /* that are left for rules of owners */
	const char *closed;  /* what a policy said of one that it did not open; NULL */
	/* The pod stands for this one, which is to be placed; NULL: it is an ordinary pod. */
	const struct neap_reserve *placed;
};

struct neap_cycle;

/* Which reservations the pod may use; row UINT32_MAX: of all nodes. -NEAP_EINVAL: what it says of them cannot be read;
 * -NEAP_ENOMEM. */
int neap_kept_begin(struct neap_cycle *cycle, const struct neap_pod *pod, uint32_t row,
		    struct neap_error *err);
/* Where room is to be made, and all stands are in their places: policies are asked about those without room, too. When
 * one fails, owners alone decide from here on. 1: there may be others now that the pod may use, and what was found of
 * nodes is to be found anew; 0: there are not; -NEAP_EINVAL, -NEAP_ENOMEM. */
int neap_kept_open_full(struct neap_cycle *cycle, uint32_t row, struct neap_error *err);
/* Takes the rules of its owners off the steps of the decision; false: there are none left,
 * and its owners are not asked. */
bool neap_kept_spend(struct neap_kept *kept, const struct neap_reserve *reserve);
/* Whether pods of the profile use reservations at all. */
bool neap_kept_is_on(const struct neap_cycle *cycle);
void neap_kept_lift(struct neap_cycle *cycle);
void neap_kept_put_back(struct neap_cycle *cycle);
void neap_kept_done(struct neap_kept *kept);

/* The matches of a row; NULL: none. Rows are mostly asked about one after the other, and that is cheap. */
struct neap_kept_match *neap_kept_on(struct neap_cycle *cycle, uint32_t row,
				     size_t *ret_count);
/* ... and those that are full. */
struct neap_kept_match *neap_kept_full_on(struct neap_cycle *cycle, uint32_t row,
					  size_t *ret_count);
/* A pod in operating mode keeps its place among the pods of its node, and its ports, whoever uses it: the next one of a
 * row that was lifted off; at begins at 0. NULL: there are no more. */
const struct neap_pod *neap_kept_next_real(struct neap_cycle *cycle, uint32_t row,
					   size_t *at);
/* An order of all rows, from one on: those where something is kept for the pod come first, so that enough others never
 * hide them. */
struct neap_kept_walk {
	size_t kept, total, row, at;
};
struct neap_kept_walk neap_kept_walk(const struct neap_cycle *cycle, size_t start);
/* The next row, until total were asked for; false: it was there before. */
bool neap_kept_next(struct neap_cycle *cycle, struct neap_kept_walk *walk, uint32_t *ret);
/* The labels that a policy compares are the same. */
bool neap_kept_has_pairs(const struct neap_reserve *reserve, const struct neap_pod *pod,
			 const struct neap_reserve_asked *by);
/* What stands that wait for their room make a row count beyond what its node has, where something is kept for the pod:
 * they hold up others, but nobody who uses what is kept for him. */
int64_t neap_kept_beyond(struct neap_cycle *cycle, uint32_t row, uint32_t resource);
/* Whether the pod must use one. */
bool neap_kept_is_required(const struct neap_kept *kept);

/* What the room of a row is judged by. */
struct neap_kept_room {
	struct neap_amounts requests, requested, given;
	struct neap_reserve_room room;
	struct neap_reserve_need need;
};
void neap_kept_room(struct neap_cycle *cycle, uint32_t row,
		    const struct neap_kept_match *matches, size_t count,
		    struct neap_kept_room *ret);
/* A match as a part of it; given: what its owners have, filled here. */
struct neap_reserve_part neap_kept_part(struct neap_cycle *cycle,
					const struct neap_kept_match *match,
					struct neap_amounts *given);

/* One of several that are compared. */
struct neap_kept_option {
	struct neap_kept_match *match;
	const struct neap_reserve_part *part;
	struct neap_amounts given;
	int rank; /* below 0: no policy has ranked it */
	int64_t points;
};

/* Where a row is worked on, used again from row to row. */
struct neap_kept_work {
	struct neap_kept_room room;
	struct neap_kept_option *options, **sorted;
	struct neap_reserve_part *parts; /* those of the options */
	size_t count, size;
};
/* With room for count options; NULL, and the cycle is short, without memory. */
struct neap_kept_work *neap_kept_work(struct neap_cycle *cycle, size_t count);
/* The room of the row of these, all that it has, and as options those of which no other keeps a port that the pod wants:
 * that was lifted off, too, and is not the pod's. NULL: the cycle is short. */
struct neap_kept_work *neap_kept_options(struct neap_cycle *cycle,
					 struct neap_kept_match *matches, size_t count);
/* Those of a row that have room for the pod, the one that it takes first; ret has room for count of them. Returns how
 * many. first: the first one, until the next row; may be NULL. */
size_t neap_kept_nominate(struct neap_cycle *cycle, uint32_t row,
			  struct neap_kept_match **ret,
			  const struct neap_kept_option **ret_first);

#endif
