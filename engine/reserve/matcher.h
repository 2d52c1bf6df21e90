/* SPDX-License-Identifier: Apache-2.0
 *
 * Who has a say, beside the owners that a Reservation names, in which pods use it and which one of several they use:
 * policies are that. Asked within a decision, about candidates alone: usable, on a node that is there, and with some
 * room left; about full ones where room is made for the pod. Whatever is answered, the books are kept by others: no answer gives the same room to two pods. */
#ifndef NEAP_ENGINE_RESERVE_MATCHER_H
#define NEAP_ENGINE_RESERVE_MATCHER_H

#include "engine/reserve/ask.h"

/* Labels that must have the same value on both sides, or there is no match. */
struct neap_reserve_pair {
	const char *pod, *reservation; /* keys */
};
#define NEAP_RESERVE_PAIRS_MAX 8

enum neap_reserve_rule {
	NEAP_RESERVE_BY_OWNERS, /* nobody else is asked */
	NEAP_RESERVE_NARROWED,  /* whom owners take, and match allows */
	NEAP_RESERVE_REPLACED   /* whom match allows; owners do not count */
};

/* How it is in one decision. Borrowed until the next. */
struct neap_reserve_asked {
	enum neap_reserve_rule rule;
	bool has_rank;
	const struct neap_reserve_pair *pairs; /* all must hold */
	size_t pair_count;
};

/* What a pod is offered. Borrowed. */
struct neap_reserve_offer {
	const struct neap_reserve *reserve;
	const struct neap_object *node;       /* where it is */
	bool is_owner;                        /* what the owners say */
	const struct neap_amounts *allocated; /* what its owners have of it */
	size_t pods;                          /* how many they are */
};

struct neap_reserve_verdict {
	bool is_open;
	const char *
		reason; /* when it is not, for people; borrowed until the next call; NULL: none */
	int64_t again_usec; /* Unix time at which the answer may be another one; 0: not by time alone */
};

struct neap_reserve_matcher {
	void *arg;
	/* A decision about pod begins; it costs little until something is offered. resources: of the cluster, for names of
	 * amounts. Both stay until the next one begins. */
	void (*begin)(void *arg, const struct neap_resources *resources,
		      const struct neap_pod *pod, int64_t now_usec,
		      struct neap_reserve_asked *ret);
	/* False: it failed; what it said in this decision does not count any more, and owners decide. */
	bool (*match)(void *arg, const struct neap_reserve_offer *offer,
		      struct neap_reserve_verdict *ret);
	/* 0..100, the most is taken first; of equals the engine's own order decides, as it does when this is below 0: it
	 * failed, or says nothing of this one. */
	int (*rank)(void *arg, const struct neap_reserve_offer *offer);
};

#endif
