/* SPDX-License-Identifier: Apache-2.0
 *
 * What every controller is made of: watches of some resources, a set of keys
 * ("NAMESPACE/NAME") that are due, and a function that looks at one of them. A change
 * makes a key due; it is looked at a moment later, so that many changes share one look;
 * at most a piece of them a turn of the loop. A look that failed is taken up again with
 * doubling pauses. Missed changes (a watch that was too slow) lead to a look at
 * everything.
 *
 * A turn has NEAP_FEED_STEPS steps, some 50 ns each: hearing and looking take them, and
 * what goes on for longer comes in pieces. */
#ifndef NEAP_API_WORKLOAD_LOOP_FEED_H
#define NEAP_API_WORKLOAD_LOOP_FEED_H

#include "api/workload/workload.h"

#define NEAP_FEED_SOURCES 6
/* Looks in one turn of the loop. */
#define NEAP_FEED_PIECE 50
/* Steps of one turn: 10 ms. */
#define NEAP_FEED_STEPS 200000
/* What a look returns that goes on in the next turn, before any other look. */
#define NEAP_FEED_GOES_ON INT64_MAX

struct neap_feed;

struct neap_feed_config {
	struct event_base *base;
	struct neap_client *client;
	void *arg;
	const char *resources
		[NEAP_FEED_SOURCES]; /* NULL ends. All objects of the first are due at the start */
	/* What an event makes due: calls neap_feed_due as often as it likes. */
	void (*heard)(void *arg, const char *resource,
		      const struct neap_client_event *event);
	/* For what an event means that takes many steps: does some of what heard has
	 * left. False: there is more of it, and nothing else is heard before. May be
	 * NULL: nothing is left. */
	bool (*rest)(void *arg);
	/* For who keeps what was heard: it is to be forgotten, and all objects of all
	 * resources are told next, as added, before there is a look. At the start, and
	 * when changes were missed. May be NULL: then only the changes are heard. */
	void (*anew)(void *arg);
	/* Looks at one. 0; or when to look again in microseconds, from now; -1: it
	 * failed, again with backoff; NEAP_FEED_GOES_ON. */
	int64_t (*look)(void *arg, const char *ns, const char *name);
	int64_t delay_usec; /* between a change and the look; 0: 20 ms */
};

int neap_feed_new(const struct neap_feed_config *config, struct neap_feed **ret,
		  struct neap_error *err);
void neap_feed_free(struct neap_feed *feed);
/* after_usec 0: as soon as may be. An earlier time stands. Without memory everything
 * becomes due. */
void neap_feed_due(struct neap_feed *feed, const char *ns, const char *name,
		   int64_t after_usec);
/* Whether this turn has steps left; a turn does a piece of everything first, and then
 * asks. */
bool neap_feed_has_steps(const struct neap_feed *feed);
void neap_feed_spend(struct neap_feed *feed, int64_t steps);
/* The most that a turn has taken. */
int64_t neap_feed_most_steps(const struct neap_feed *feed);
/* What it takes to ask an object for owners and labels, and to read its text. */
int64_t neap_feed_steps_of(const struct neap_object *object,
			   const struct neap_selector *selector);
int64_t neap_feed_steps_of_text(const struct neap_object *object);
/* Begins anew, a little later: what was heard could not be kept. */
void neap_feed_restart(struct neap_feed *feed);

#endif
