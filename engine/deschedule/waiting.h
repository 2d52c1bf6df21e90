/* SPDX-License-Identifier: Apache-2.0
 *
 * The pods that wait for a node. They get one before successors of pods that leave. */
#ifndef NEAP_ENGINE_DESCHEDULE_WAITING_H
#define NEAP_ENGINE_DESCHEDULE_WAITING_H

#include "engine/cluster/cluster.h"
#include "engine/deschedule/world.h"

/* The pods of the world that the cluster knows as waiting, the first to be placed first:
 * by priority, then by age. ret is the caller's, and so is a reference on each pod; on an
 * error what it lists so far is. */
int neap_waiting_list(struct neap_cluster *cluster, const struct neap_world *world,
		      struct neap_pod ***ret, size_t *ret_count, struct neap_error *err);

#endif
