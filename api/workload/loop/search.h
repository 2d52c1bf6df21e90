/* SPDX-License-Identifier: Apache-2.0
 *
 * The objects of a namespace that a look needs. There may be 50,000 to check, each with
 * many labels and owners, so they are found in pieces, one per turn of the feed, and kept
 * sorted by name. Changes meanwhile arrive as events of the feed, so the result is as of
 * the last event.
 *
 * A look that continues later calls it again; it costs nothing when nothing is left to
 * find. */
#ifndef NEAP_API_WORKLOAD_LOOP_SEARCH_H
#define NEAP_API_WORKLOAD_LOOP_SEARCH_H

#include "api/workload/loop/feed.h"

struct neap_search;

/* Returns what an object is wanted for, as the caller's bits; 0: not wanted. uid: for
 * whom. Charges its own steps. */
typedef unsigned neap_search_wants(void *arg, const char *uid,
				   const struct neap_object *object);

struct neap_search_config {
	struct neap_client *client;
	struct neap_feed *feed; /* pays the steps, and must watch the resource */
	const char *resource;
	void *arg;
	neap_search_wants *wants;
};

struct neap_found {
	struct neap_object *object; /* counted */
	unsigned wanted;
};

/* config and what it points to are borrowed. NULL without memory. */
struct neap_search *neap_search_new(const struct neap_search_config *config);
void neap_search_free(struct neap_search *search);
/* Searches a piece for the object with that uid; for another uid than last time it starts
 * over. Returns 1: continues in the next turn; 0: complete; -NEAP_ENOMEM, and it has
 * ended. */
int neap_search_go(struct neap_search *search, const char *ns, const char *uid);
/* Borrowed until the next call. */
const struct neap_found *neap_search_found(const struct neap_search *search,
					   size_t *ret_count);
/* Forgets the findings at the end of a look. */
void neap_search_end(struct neap_search *search);
/* Call it for each event of the resource. */
void neap_search_hear(struct neap_search *search, const struct neap_client_event *event);

#endif
