/* SPDX-License-Identifier: Apache-2.0
 *
 * What every controller is made of: watches of some resources, a set of keys ("NAMESPACE/NAME") that are due, and
 * a function that looks at one of them. A change makes a key due; it is looked at a moment later, so that many
 * changes share one look; at most a piece of them a turn of the loop. A look that failed is taken up again with
 * doubling pauses. Missed changes (a watch that was too slow) lead to a look at everything. */
#ifndef NEAP_API_WORKLOAD_LOOP_FEED_H
#define NEAP_API_WORKLOAD_LOOP_FEED_H

#include "api/workload/workload.h"

#define NEAP_FEED_SOURCES 6
/* Looks in one turn of the loop. */
#define NEAP_FEED_PIECE 50

struct neap_feed;

struct neap_feed_config {
	struct event_base *base;
	struct neap_store *store;
	void *arg;
	const char *resources
		[NEAP_FEED_SOURCES]; /* NULL ends. All objects of the first are due at the start */
	/* What an event makes due: calls neap_feed_due as often as it likes. */
	void (*heard)(void *arg, const char *resource,
		      const struct neap_store_event *event);
	/* For who keeps what was heard: it is to be forgotten, and all objects of all resources are told next, as
	 * added, before there is a look. At the start, and when changes were missed. May be NULL: then only the
	 * changes are heard. */
	void (*anew)(void *arg);
	/* Looks at one. 0; or when to look again in microseconds, from now; -1: it failed, again with backoff. */
	int64_t (*look)(void *arg, const char *ns, const char *name);
	int64_t delay_usec; /* between a change and the look; 0: 20 ms */
};

int neap_feed_new(const struct neap_feed_config *config, struct neap_feed **ret,
		  struct neap_error *err);
void neap_feed_free(struct neap_feed *feed);
/* after_usec 0: as soon as may be. An earlier time stands. Without memory everything becomes due. */
void neap_feed_due(struct neap_feed *feed, const char *ns, const char *name,
		   int64_t after_usec);
/* Begins anew, a little later: what was heard could not be kept. */
void neap_feed_restart(struct neap_feed *feed);

#endif
