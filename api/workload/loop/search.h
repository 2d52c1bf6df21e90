/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects of a namespace that a look of a controller works on. There may be 50,000 to
 * ask, each for many labels and owners, so they are found in pieces, a piece a turn of
 * the feed, and kept in the order of their names. What changes meanwhile is told by the
 * events that the feed hears: what was found is as it is when the last of them was
 * heard.
 *
 * A look that goes on later asks again; it is free where nothing is left to find. */
#ifndef NEAP_API_WORKLOAD_LOOP_SEARCH_H
#define NEAP_API_WORKLOAD_LOOP_SEARCH_H

#include "api/workload/loop/feed.h"

struct neap_search;

/* What one is wanted for, in bits of the caller's; 0: it is not wanted. uid: for whom.
 * Asking is paid for here. */
typedef unsigned neap_search_wants(void *arg, const char *uid,
				   const struct neap_object *object);

struct neap_search_config {
	struct neap_client *client;
	struct neap_feed
		*feed; /* whose steps are taken, and which hears of the resource */
	const char *resource;
	void *arg;
	neap_search_wants *wants;
};

struct neap_found {
	struct neap_object *object; /* counted */
	unsigned wanted;
};

/* Borrowed: config and what it points to. NULL without memory. */
struct neap_search *neap_search_new(const struct neap_search_config *config);
void neap_search_free(struct neap_search *search);
/* A piece for the object of that uid; for another one than the last time it begins anew.
 * 1: it goes on in the next turn; 0: all is found; -NEAP_ENOMEM, and it has ended. */
int neap_search_go(struct neap_search *search, const char *ns, const char *uid);
/* Borrowed until the next call. */
const struct neap_found *neap_search_found(const struct neap_search *search,
					   size_t *ret_count);
/* Forgets what was found: the look is over. */
void neap_search_end(struct neap_search *search);
/* Each event of the resource. */
void neap_search_hear(struct neap_search *search, const struct neap_client_event *event);

#endif
