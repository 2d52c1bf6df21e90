/* SPDX-License-Identifier: Apache-2.0
 *
 * Shares CPU layouts between machines of the same kind. A cluster has many equal
 * machines; one layout (80 KB for 64 CPUs) is stored once and stays in the processor's
 * caches. Single-threaded. */
#ifndef NEAP_ENGINE_CLUSTER_MACHINES_H
#define NEAP_ENGINE_CLUSTER_MACHINES_H

#include "engine/cpu/cpu_layout.h"

/* Kinds remembered, newest first; machines of other kinds have a layout of their own. */
#define NEAP_MACHINES_MAX 16

struct neap_machines {
	struct {
		struct neap_topology *topology;
		struct neap_cpu_layout *layout;
	} kinds[NEAP_MACHINES_MAX];
	size_t count, next;
};

/* Zero bytes are an empty table. */
void neap_machines_done(struct neap_machines *machines);
/* Replaces *topology by the shared one of its kind, and returns a new reference to that
 * kind's layout. Errors as in neap_cpu_layout_new; *topology is then unchanged. */
int neap_machines_share(struct neap_machines *machines, struct neap_topology **topology,
			struct neap_cpu_layout **ret_layout, struct neap_error *err);

#endif
