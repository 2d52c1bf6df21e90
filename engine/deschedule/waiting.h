/* SPDX-License-Identifier: Apache-2.0
 *
 * The pods that wait for a node. They are placed before the successors of pods that
 * leave. */
#ifndef NEAP_ENGINE_DESCHEDULE_WAITING_H
#define NEAP_ENGINE_DESCHEDULE_WAITING_H

#include "engine/cluster/cluster.h"
#include "engine/deschedule/world.h"

/* Lists the pods of the world that wait in the cluster, in the order in which they are
 * placed: by priority, then by age. The caller owns the list and a reference on each pod;
 * after an error, too. */
int neap_waiting_list(struct neap_cluster *cluster, const struct neap_world *world,
		      struct neap_pod ***ret, size_t *ret_count, struct neap_error *err);

#endif
