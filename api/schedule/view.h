/* SPDX-License-Identifier: Apache-2.0
 *
 * What the scheduler knows, for those who decide beside it, and bindings that they decided: both go by one picture of
 * the cluster. On the loop's thread. */
#ifndef NEAP_API_SCHEDULE_VIEW_H
#define NEAP_API_SCHEDULE_VIEW_H

#include "api/schedule/schedule.h"

struct neap_cluster;
struct neap_decide;
struct neap_pod;

/* Borrowed until the loop goes on. */
struct neap_schedule_view {
	struct neap_cluster *cluster;
	struct neap_decide *decide;
	uint64_t readings; /* of everything: with each there is another cluster */
};

/* As it is now: what happened up to now is heard first. False while everything is being read. */
bool neap_scheduler_view(struct neap_scheduler *scheduler,
			 struct neap_schedule_view *ret);

/* What decides of the pod: the profile that its schedulerName names, or the first for one that no profile has. In place
 * of the view's, which is the first; borrowed as that. */
struct neap_decide *neap_scheduler_decide(struct neap_scheduler *scheduler,
					  const struct neap_pod *pod);

/* Texts are copied. */
struct neap_schedule_binding {
	const char *ns, *name, *uid, *node;
	/* Called once, be it before the function returns. trouble, borrowed: why the pod is not bound; NULL: it is
	 * bound to the node, by this or before. */
	void (*told)(void *arg, const char *trouble);
	void *arg;
};

/* The pod counts as being there from now on, until its binding is refused, or was not seen in time. */
void neap_scheduler_bind(struct neap_scheduler *scheduler,
			 const struct neap_schedule_binding *binding);

#endif
