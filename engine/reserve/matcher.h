/* SPDX-License-Identifier: Apache-2.0
 *
 * The interface by which policies influence which pods use a Reservation, beside its
 * owners, and which of several reservations a pod uses. Called within a decision for
 * usable reservations on existing nodes with some room left (for full ones too, while
 * room is made for the pod). The accounting is elsewhere: no answer can give the same
 * room to two pods. */
#ifndef NEAP_ENGINE_RESERVE_MATCHER_H
#define NEAP_ENGINE_RESERVE_MATCHER_H

#include "engine/reserve/ask.h"

/* Labels that must have equal values on both sides. */
struct neap_reserve_pair {
	const char *pod, *reservation; /* keys */
};
#define NEAP_RESERVE_PAIRS_MAX 8

enum neap_reserve_rule {
	NEAP_RESERVE_BY_OWNERS, /* only owners decide */
	NEAP_RESERVE_NARROWED,  /* owners decide, and match must agree */
	NEAP_RESERVE_REPLACED   /* match decides; owners are ignored */
};

/* The matching mode of one decision. Borrowed until the next. */
struct neap_reserve_asked {
	enum neap_reserve_rule rule;
	bool has_rank;
	const struct neap_reserve_pair *pairs; /* all must hold */
	size_t pair_count;
};

/* A reservation offered to a pod. Borrowed. */
struct neap_reserve_offer {
	const struct neap_reserve *reserve;
	const struct neap_object *node;       /* where it is */
	bool is_owner;                        /* whether an owner entry matches */
	const struct neap_amounts *allocated; /* used by its owners */
	size_t pods;                          /* number of owners */
};

struct neap_reserve_verdict {
	bool is_open;
	/* why not, for people; borrowed until the next call; NULL: none */
	const char *reason;
	/* Unix time at which the answer may change; 0: not by time alone */
	int64_t again_usec;
};

struct neap_reserve_matcher {
	void *arg;
	/* Starts a decision about pod; cheap until something is offered. resources: the
	 * cluster's, for resource names. Both stay valid until the next begin. is_choice:
	 * a node is being chosen for the pod; false: somebody only asks. */
	void (*begin)(void *arg, const struct neap_resources *resources,
		      const struct neap_pod *pod, int64_t now_usec, bool is_choice,
		      struct neap_reserve_asked *ret);
	/* Returns false when it failed; all its answers in this decision are then void,
	 * and owners decide. */
	bool (*match)(void *arg, const struct neap_reserve_offer *offer,
		      struct neap_reserve_verdict *ret);
	/* Returns 0..100, highest first. Equal ranks, and results below 0 (failure or no
	 * opinion), use the engine's order. */
	int (*rank)(void *arg, const struct neap_reserve_offer *offer);
};

#endif
