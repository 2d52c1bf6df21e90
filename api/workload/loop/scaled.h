/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps up to date what is known of controllers whose objects no loop reads. */
#ifndef NEAP_API_WORKLOAD_LOOP_SCALED_H
#define NEAP_API_WORKLOAD_LOOP_SCALED_H

#include "api/client/client.h"
#include "engine/migrate/scaled_owner.h"

/* Asks for the replicas of the pod's controller, if it is such a one; reads its object,
 * which costs some 50 us. False: the answer is late, and until it comes what was heard
 * last counts. */
bool neap_scaled_learn(struct neap_client *client, struct neap_migrate_cluster *cluster,
		       const char *ns, const char *name);

/* Over the controllers of which nothing is known yet. All zero at first. */
struct neap_scaled_walk {
	bool is_under_way;
	size_t at, known; /* how many in a row something is known of */
};

/* Does so if nothing was heard of it yet; a late answer begins a walk. */
void neap_scaled_learn_new(struct neap_client *client,
			   struct neap_migrate_cluster *cluster,
			   struct neap_scaled_walk *walk, const char *ns,
			   const char *name);
/* Looks at some controllers, and does so for those of which nothing is known. True: none
 * is left; false: to be called again a little later. */
bool neap_scaled_walk(struct neap_client *client, struct neap_migrate_cluster *cluster,
		      struct neap_scaled_walk *walk);

/* Does so for count controllers from *at on, in turn. */
void neap_scaled_learn_some(struct neap_client *client,
			    struct neap_migrate_cluster *cluster, size_t *at,
			    size_t count);

#endif
