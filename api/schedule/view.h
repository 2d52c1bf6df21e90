/* SPDX-License-Identifier: Apache-2.0
 *
 * The scheduler's picture of the cluster for other deciders, and their bindings: both use
 * one set of books. On the loop's thread. */
#ifndef NEAP_API_SCHEDULE_VIEW_H
#define NEAP_API_SCHEDULE_VIEW_H

#include "api/schedule/schedule.h"

struct neap_cluster;
struct neap_decide;
struct neap_pod;

/* Borrowed until the next turn of the loop. */
struct neap_schedule_view {
	struct neap_cluster *cluster;
	struct neap_decide *decide;
	uint64_t readings; /* number of complete readings; each creates another cluster */
};

/* Returns the present state, after processing all events so far. False while everything
 * is being read. */
bool neap_scheduler_view(struct neap_scheduler *scheduler,
			 struct neap_schedule_view *ret);

/* Returns the decider for a pod: the profile of its schedulerName, or the first one. It
 * replaces the view's decide, which is the first one; borrowed likewise. */
struct neap_decide *neap_scheduler_decide(struct neap_scheduler *scheduler,
					  const struct neap_pod *pod);

/* Texts are copied. */
struct neap_schedule_binding {
	const char *ns, *name, *uid, *node;
	/* Called once, possibly before the function returns. trouble, borrowed: why the
	 * pod is not bound; NULL: it is bound to the node, by this call or before. */
	void (*told)(void *arg, const char *trouble);
	void *arg;
};

/* The pod counts on the node from now on, until its binding is refused or not seen in
 * time. */
void neap_scheduler_bind(struct neap_scheduler *scheduler,
			 const struct neap_schedule_binding *binding);

#endif
