/* SPDX-License-Identifier: Apache-2.0
 *
 * The frame of every controller: watches of some resources, a set of due keys
 * ("NAMESPACE/NAME"), and a function that reconciles one of them (a look). A change makes
 * a key due; it is looked at shortly after, so that many changes share one look; a
 * limited number per turn of the loop. A failed look is retried with doubling pauses.
 * Missed events (a watch that was too slow) make all keys due.
 *
 * Events and looks charge the steps of a turn, and longer work comes in pieces. All
 * controllers take turns, so that many of them delay others no more than one does. */
#ifndef NEAP_API_WORKLOAD_LOOP_FEED_H
#define NEAP_API_WORKLOAD_LOOP_FEED_H

#include "api/workload/loop/turn_steps.h"
#include "api/workload/workload.h"

#define NEAP_FEED_SOURCES 12
/* Looks per turn of the loop. */
#define NEAP_FEED_PIECE 50
/* Result of a look that continues in the next turn, before any other look. */
#define NEAP_FEED_GOES_ON INT64_MAX

struct neap_feed;

struct neap_feed_config {
	struct neap_tasks *tasks;
	struct neap_client *client;
	void *arg;
	/* NULL-terminated. All objects of the first are due at the start */
	const char *resources[NEAP_FEED_SOURCES];
	/* Handles an event: calls neap_feed_due for the keys it affects. */
	void (*heard)(void *arg, const char *resource,
		      const struct neap_client_event *event);
	/* For events that take many steps: continues what heard left over. False: more is
	 * left, and no other event is handled before. May be NULL: nothing is left
	 * over. */
	bool (*rest)(void *arg);
	/* For controllers that keep state from events: drop it; all objects of all
	 * resources follow as added, before any look. At the start, and after missed
	 * events. May be NULL: then only changes are reported. */
	void (*anew)(void *arg);
	/* Reconciles one key. Returns 0; or the microseconds until the next look; -1: it
	 * failed, retry with back-off; NEAP_FEED_GOES_ON. */
	int64_t (*look)(void *arg, const char *ns, const char *name);
	int64_t delay_usec; /* between a change and the look; 0: 20 ms */
};

int neap_feed_new(const struct neap_feed_config *config, struct neap_feed **ret,
		  struct neap_error *err);
void neap_feed_free(struct neap_feed *feed);
/* after_usec 0: as soon as possible. An earlier due time is kept. Without memory
 * everything becomes due. */
void neap_feed_due(struct neap_feed *feed, const char *ns, const char *name,
		   int64_t after_usec);
/* Returns whether this turn has steps left; a turn does a piece of everything first, and
 * then asks. */
bool neap_feed_has_steps(const struct neap_feed *feed);
void neap_feed_spend(struct neap_feed *feed, int64_t steps);
/* The most steps that any turn has taken; those of all turns. */
int64_t neap_feed_most_steps(const struct neap_feed *feed);
int64_t neap_feed_all_steps(const struct neap_feed *feed);
/* Steps for checking an object's owners and labels. */
int64_t neap_feed_steps_of(const struct neap_object *object,
			   const struct neap_selector *selector);
/* Starts over a little later: state from events could not be kept. */
void neap_feed_restart(struct neap_feed *feed);

#endif
