/* SPDX-License-Identifier: Apache-2.0
 *
 * Machines of the same kind, of which a cluster has many: what is known of their CPUs is there once, 80 KB of a machine
 * with 64 CPUs, and stays in the processor's caches while now this node gives CPUs and now that one. Of one thread. */
#ifndef NEAP_ENGINE_CLUSTER_MACHINES_H
#define NEAP_ENGINE_CLUSTER_MACHINES_H

#include "engine/machine/cpu_layout.h"

/* Kinds that are remembered, the newest; machines of others have theirs for themselves. */
#define NEAP_MACHINES_MAX 16

struct neap_machines {
	struct {
		struct neap_topology *topology;
		struct neap_cpu_layout *layout;
	} kinds[NEAP_MACHINES_MAX];
	size_t count, next;
};

/* All 0 is an empty one. */
void neap_machines_done(struct neap_machines *machines);
/* Has *topology be the one of its kind, in place of a machine's own, and *ret_layout a new reference to the kind's
 * layout. Errors as of neap_cpu_layout_new; then *topology is as it was. */
int neap_machines_share(struct neap_machines *machines, struct neap_topology **topology,
			struct neap_cpu_layout **ret_layout, struct neap_error *err);

#endif
